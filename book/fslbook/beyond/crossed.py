"""One test set and several supports: simulated studies with known truth, and a benchmark's protocol on real features.

A simulated score is a chance Φ(μ + support + item + interaction), with Gaussian effects, or a right or wrong answer
with that chance: the mean over whatever is new then has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr

from fslcore import stats

from .coverage import share_of

__all__ = ["DESIGNS", "TARGETS", "Design", "simulated", "summary"]

TARGETS = {  # what each interval is held against
    "naive": "both",
    "items": "items",
    "supports": "supports",
    "items alone": "both",
    "both": "both",
}


@dataclass(frozen=True)
class Design:
    """One setting: sizes, and standard deviations of the effects on the scale of μ.

    Attributes
    ----------
    called : str
    supports, items, shots : int
        R, N and S.
    pool : int or None
        n labelled examples per class from which the supports are drawn; None for independent supports.
    mean, support, item, interaction : float
        μ, and what supports, items and both together vary by.
    soft : bool
        Whether a score is the chance itself; else an answer with that chance.
    classes : int
        C; their μ lie within 0.5 of the mean. Labels are given to the interval if there are several.
    skewed : bool
        Whether classes differ in size, and count alike in the mean.
    group : int
        Consecutive items that share their effects.
    second : float or None
        μ of a second model, which shares half of the variance of each effect: scores are differences.
    """

    called: str
    supports: int = 10
    items: int = 400
    shots: int = 8
    pool: int | None = None
    mean: float = 0.8
    support: float = 0.15
    item: float = 1.0
    interaction: float = 0.5
    soft: bool = False
    classes: int = 1
    skewed: bool = False
    group: int = 1
    second: float | None = None


DESIGNS = (
    Design("independent supports"),
    Design("two supports", supports=2),
    Design("three supports", supports=3, items=1000),
    Design("50 supports", supports=50, items=200),
    Design("pool of 100", pool=100),
    Design("pool of 16", pool=16, items=1000),
    Design("one shot from 10", pool=10, shots=1, support=0.3),
    Design("few items", items=60),
    Design("many items", items=4000),
    Design("supports alike", support=0.0),
    Design("unlike supports", support=0.5),
    Design("95 % right", mean=2.4),
    Design("soft scores", soft=True),
    Design("soft scores, pool of 16", soft=True, pool=16),
    Design("ten classes", classes=10),
    Design("unequal classes, pool of 40", classes=10, skewed=True, pool=40, support=0.4),
    Design("groups of 10 items", group=10),
    Design("groups across classes", group=10, classes=5, support=0.3),
    Design("difference", second=0.6),
    Design("difference, pool of 24", second=0.6, pool=24),
)


def simulated(
    design: Design, studies: int, *, seed: int = 0, first: int = 0, level: float = stats.LEVEL
) -> pd.DataFrame:
    """Intervals of many studies of a design.

    Returns
    -------
    DataFrame
        A row per study and interval, those of `TARGETS`: ``design``, ``study``, ``interval``, its ends ``low`` and
        ``high``, and the ``truth`` of its target. 'naive' is Student's of the R means, and
        'items alone' that for new items, each read as one for both.
    """
    rows = []
    for study in range(first, first + studies):
        rng = np.random.default_rng([seed, study])
        scores, label, group, truth = _drawn(design, rng)
        several = dict(weights=np.ones(design.classes)) if design.skewed else {}
        if design.pool is not None:
            several |= dict(pool=design.pool, shots=design.shots)
        labels, groups = (label if design.classes > 1 else None), (group if design.group > 1 else None)
        found = stats.crossed_intervals(scores, labels, groups=groups, level=level, **several)
        naive = stats.open_interval(scores @ _weights(design, label), level)
        made = dict(zip(TARGETS, (naive, found.items, found.supports, found.items, found.both), strict=True))
        rows += [(design.called, study, name, of.low, of.high, truth[TARGETS[name]]) for name, of in made.items()]
    return pd.DataFrame(rows, columns=["design", "study", "interval", "low", "high", "truth"])


def _weights(design: Design, label: np.ndarray) -> np.ndarray:
    """Of each item in the mean."""
    size = np.bincount(label)
    return 1 / (design.classes * size[label]) if design.skewed else np.full(len(label), 1 / len(label))


def _drawn(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, float]]:
    """Scores (R, N), class and group of each item, and the truth by target."""
    d, items = design, np.arange(design.items)
    label = (d.classes * items / d.items * (items / d.items if d.skewed else 1)).astype(int)
    label = label if d.group == 1 else items % d.classes
    group = items // d.group
    weight = _weights(d, label)
    drawn = None
    if d.pool is not None:  # which of the pool of a class are in each support
        drawn = rng.random((d.supports, d.classes, d.pool)).argsort(axis=2) < d.shots
    means = [d.mean] if d.second is None else [d.mean, d.second]
    common = None
    scores, truth = [], []
    for mean in means:
        effects = _effects(d, label, group, drawn, rng)
        if common is None:
            common = effects
        else:
            effects = [np.sqrt(0.5) * (a + b) for a, b in zip(common, effects, strict=True)]
        by_support, by_item, by_both = effects
        by_class = mean + np.linspace(-0.5, 0.5, d.classes) if d.classes > 1 else np.array([mean])
        of_support, of_item = by_class + d.support * by_support, by_class[label] + d.item * by_item
        chance = ndtr(of_item + d.support * by_support[:, label] + d.interaction * by_both)
        scores.append(chance if d.soft else rng.random(chance.shape) < chance)
        new_support, new_item = d.support**2 + d.interaction**2, d.item**2 + d.interaction**2
        truth.append(
            {
                "items": ndtr(of_support / np.sqrt(1 + new_item))[:, label] @ weight,
                "supports": ndtr(of_item / np.sqrt(1 + new_support)) @ weight,
                "both": ndtr(by_class / np.sqrt(1 + new_support + d.item**2))[label] @ weight,
            }
        )
    first, *second = scores
    found = first.astype(float) - second[0] if second else first
    truths = {name: np.mean(truth[0][name]) - (np.mean(truth[1][name]) if second else 0) for name in truth[0]}
    return found, label, group, truths


def _effects(
    d: Design, label: np.ndarray, group: np.ndarray, drawn: np.ndarray | None, rng: np.random.Generator
) -> list[np.ndarray]:
    """Standard normal effects of supports (R, C), items (N,) and both (R, N): of sums over labelled examples."""
    by_item, groups = rng.standard_normal(group.max() + 1)[group], group.max() + 1
    if drawn is None:
        return [
            rng.standard_normal((d.supports, d.classes)),
            by_item,
            rng.standard_normal((d.supports, groups))[:, group],
        ]
    examples = rng.standard_normal((d.classes, d.pool))
    by_support = (drawn * examples).sum(axis=2) / np.sqrt(d.shots)
    # An example changes an item of its own class; groups have their changes in common within a class.
    in_item = rng.standard_normal((groups, d.pool))[group]
    by_both = np.empty((d.supports, len(label)))
    for c in range(d.classes):
        by_both[:, label == c] = drawn[:, c] @ in_item[label == c].T / np.sqrt(d.shots)
    return [by_support, by_item, by_both]


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """By design and interval: the share (%) of intervals that hold the truth, and their mean width.

    Returns
    -------
    DataFrame
        design, interval, share, n (studies), low and high (95 %, Clopper and Pearson), width (points).
    """
    rows = []
    for (design, interval), of in table.groupby(["design", "interval"], sort=False, observed=True):
        hit = (of["low"] <= of["truth"]) & (of["truth"] <= of["high"])
        rows.append((design, interval, *share_of(hit), 100 * (of["high"] - of["low"]).mean() / 2))
    return pd.DataFrame(rows, columns=["design", "interval", "share", "n", "low", "high", "width"])
