"""A test set that is used many times: how far the best score on it lies above its true accuracy.

Methods are simulated whose true accuracies are known, so the excess of the best score is known, too. Scores are in
percent, excesses in points. If errors of scores are normal, the excess of the best of k equally good methods is their
standard error times the expected maximum of k standard normal variables (David and Nagaraja, 2003, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.typing import ArrayLike
from scipy.integrate import quad, trapezoid
from scipy.special import log_ndtr
from scipy.stats import norm

from fslcore.stats import open_task_interval

from .leaderboards import may_be_best, ranked_boards

__all__ = [
    "correlated_scores",
    "excesses",
    "expected_excess",
    "expected_maximum",
    "leader_rows",
    "leaders",
    "revised",
]

GRID = np.linspace(-8, 8, 801)  # standard errors: of the integral over the error of one score
DRAWS = 20_000  # of all scores of a leaderboard: a hundredth of the expected lead is its standard error, or less


def expected_maximum(count: int) -> float:
    """Expected maximum of so many independent standard normal variables.

    Examples
    --------
    >>> round(expected_maximum(2) * np.pi**0.5, 6)
    1.0
    """
    mean, _ = quad(lambda x: x * count * norm.pdf(x) * norm.cdf(x) ** (count - 1), -10, 10)
    return float(mean)


def expected_excess(truths: ArrayLike, errors: ArrayLike) -> float:
    """By how much the best of several scores lies above the true accuracy of its method, on average.

    Parameters
    ----------
    truths, errors : array of n
        True accuracies, and standard errors of the scores (more than 0). Errors are normal and independent. Where each
        two are correlated by r, the excess is that of independent errors of √(1 - r) times the size, since a part that
        all scores share neither chooses a method nor has a mean.

    Notes
    -----
    The integral over the error z of one score is of z times the probability that all other scores are lower.
    """
    truths, errors = np.broadcast_arrays(np.asarray(truths, float), np.asarray(errors, float))
    excess = 0.0
    for truth, error in zip(truths, errors):
        score = truth + error * GRID
        is_highest = log_ndtr((score - truths[:, None]) / errors[:, None]).sum(axis=0) - log_ndtr(
            GRID
        )
        excess += error * trapezoid(GRID * norm.pdf(GRID) * np.exp(is_highest), GRID)
    return float(excess)


def correlated_scores(
    accuracies: ArrayLike,
    *,
    items: int,
    correlation: float,
    repetitions: int,
    rng: np.random.Generator,
) -> ndarray:
    """Scores of methods on a test set, many times with new items; their true accuracies are known.

    On an item, a method repeats the answer of a source that all methods share, or else answers on its own.
    So the outcomes of equally good methods are correlated.

    Parameters
    ----------
    accuracies : array of k
        True accuracies in percent; the shared source has their mean.
    items : int
        Of the test set, independent of each other.
    correlation : float
        Between the outcomes of two equally good methods on an item, 0 to 1 (not 1).
    repetitions : int
        Test sets.

    Returns
    -------
    array of (repetitions, k)
        In percent.

    Raises
    ------
    ValueError
        True accuracies that differ by more than this correlation allows.
    """
    p = np.asarray(accuracies, float) / 100
    repeated = np.sqrt(correlation)
    source = p.mean()
    own = (p - repeated * source) / (1 - repeated)
    if own.min() < 0 or own.max() > 1:
        raise ValueError(
            f"correlation = {correlation:g}; accuracies of {p.min():.0%} to {p.max():.0%} allow less"
        )
    known = rng.binomial(items, source, (repetitions, 1))
    shape = (repetitions, len(p))
    right = rng.binomial(known, repeated + (1 - repeated) * own, shape)
    right += rng.binomial(items - known, (1 - repeated) * own, shape)
    return 100 * right / items


def excesses(
    counts: Sequence[int],
    worlds: Sequence[tuple[float, float]],
    *,
    accuracy: float,
    items: int,
    repetitions: int,
    seed: int,
    level: float = 0.95,
) -> pd.DataFrame:
    """By how much the best score of several methods lies above its true accuracy: simulated and in theory.

    Parameters
    ----------
    counts : sequence of int
        Numbers of methods.
    worlds : sequence of (correlation, gain)
        The correlation of `correlated_scores`, and by how many points each method is better than the one before.
    accuracy, items, repetitions
        As for `correlated_scores`; the accuracy is that of the first method.

    Returns
    -------
    DataFrame
        ``methods``, ``correlation`` and ``gain``; ``simulated`` with its interval (``low``, ``high``); and
        ``expected``, which is exact for normal errors if the methods are equally good or not correlated.
    """
    rows = []
    for number, (correlation, gain) in enumerate(worlds):
        for count in counts:
            truths = accuracy + gain * np.arange(count)
            scores = correlated_scores(
                truths,
                items=items,
                correlation=correlation,
                repetitions=repetitions,
                rng=np.random.default_rng([seed, number, count]),
            )
            found = open_task_interval(scores.max(axis=1) - truths[scores.argmax(axis=1)], level)
            errors = np.sqrt(truths * (100 - truths) / items * (1 - correlation))
            rows.append(
                {
                    "methods": count,
                    "correlation": correlation,
                    "gain": gain,
                    "simulated": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "expected": expected_excess(truths, errors),
                }
            )
    return pd.DataFrame(rows)


def revised(
    accuracy: float,
    *,
    items: int,
    variants: int,
    changed: float,
    margin: float,
    repetitions: int,
    rng: np.random.Generator,
) -> ndarray:
    """Best score so far of a method that is revised again and again, and scored on the same items each time.

    A variant has new answers to a share of the items and repeats the best method so far on the others. It is no
    better: on a new item, every variant is right with the same probability. It becomes the best one if its score is
    higher by more than a margin, which is the rule of the ladder (Blum and Hardt, 2015); without a margin, every
    higher score counts.

    Parameters
    ----------
    accuracy : float
        The true accuracy of every variant, in percent.
    items, variants : int
        Of the test set; revisions of the first method.
    changed : float
        Share of items with new answers of a variant, 0 to 1.
    margin : float
        In points.
    repetitions : int
        Test sets.

    Returns
    -------
    array of (variants + 1, repetitions)
        In percent.
    """
    share = accuracy / 100
    answered = round(changed * items)
    best = rng.binomial(items, share, repetitions)
    path = [best]
    for _ in range(variants):
        given_up = rng.hypergeometric(best, items - best, answered)
        right = best - given_up + rng.binomial(answered, share, repetitions)
        best = np.where(right > best + margin / 100 * items, right, best)
        path.append(best)
    return 100 * np.array(path) / items


def leaders(board_rows: pd.DataFrame, reproduction: float, least: int = 8) -> pd.DataFrame:
    """By how much choosing alone is expected to put the first of each leaderboard ahead.

    Parameters
    ----------
    board_rows, reproduction, least
        As for `fslbook.beyond.leaderboards.tops`.

    Returns
    -------
    DataFrame
        Per leaderboard: ``methods`` with a ±, the ``first`` and its ``lead`` over the second, in points. By the
        printed ± alone and with the variance of a laboratory (``_laboratory``): ``close``, how many methods may be
        the best (`fslbook.beyond.leaderboards.may_be_best`); ``excess``, by how much the score of the first lies
        above its true accuracy, and ``chance_lead``, by how much it leads, both expected if the close methods are
        equally good; and ``least``, the excess if the true accuracies are as printed. Scores are taken as
        independent.
    """
    rows = []
    for ranked, variances_by in ranked_boards(board_rows, reproduction, least):
        means = ranked["mean"].to_numpy()
        row = {
            "board": ranked["board"].iloc[0],
            "methods": len(ranked),
            "first": ranked["method"].iloc[0],
            "lead": means[0] - means[1],
        }
        for suffix, variances in variances_by.items():
            close = may_be_best(means, variances)
            errors = np.sqrt(variances)
            row[f"close{suffix}"] = int(close.sum())
            row[f"excess{suffix}"] = expected_excess(0.0, errors[close])
            row[f"chance_lead{suffix}"] = _expected_lead(errors[close])
            row[f"least{suffix}"] = expected_excess(means, errors)
        rows.append(row)
    return pd.DataFrame(rows)


def _expected_lead(errors: ndarray) -> float:
    """Of the highest over the second of independent normal scores with the same mean, from `DRAWS`; 0 for one score."""
    if len(errors) == 1:
        return 0.0
    scores = np.random.default_rng(0).normal(0.0, errors, (DRAWS, len(errors)))
    second, highest = np.partition(scores, -2, axis=1)[:, -2:].T
    return float((highest - second).mean())


def leader_rows(table: pd.DataFrame) -> pd.DataFrame:
    """`leaders` as `fslbook.figures.forest` draws them: leads, and what choosing is expected to add."""
    columns = {
        "lead": "printed lead over the second",
        "excess": "choosing, by the printed ±",
        "excess_laboratory": "choosing, with a laboratory",
    }
    parts = []
    for column, series in columns.items():
        parts.append(
            pd.DataFrame(
                {
                    "series": series,
                    "row": table["board"].str.replace(r", \d+-shot", "", regex=True),
                    "panel": table["board"].str.extract(r"(\d+-shot)", expand=False),
                    "mean": table[column],
                }
            )
        )
    return pd.concat(parts)
