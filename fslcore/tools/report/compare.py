"""Methods compared two by two, the sets that are not significantly different, and how many tasks would tell more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import scipy.stats

from ... import stats
from ...errors import InputError, number
from ...stats.chosen import FEWEST_TASKS, RankSets, Winner, joint_means
from ...stats.intervals import chance_of_equal
from ...stats.power import powers, smallest_each
from .tables import DIGITS, MANY
from .targets import TARGETS
from .wording import of_reference

if TYPE_CHECKING:
    from .results import Results

POINTS = (-100.0, 100.0)  # bounds of a difference of two accuracies in percent
MOST = 10**6  # tasks; beyond it a number of tasks is no advice


def all_pairs(grids: dict[str, pd.DataFrame], level: float, reference: str | None = None) -> pd.DataFrame:
    """`Results.pairs` of these ``grids``."""
    parts = [_compared(grid, level).assign(setting=setting) for setting, grid in grids.items()]
    out = pd.concat(parts, ignore_index=True)
    out = out if reference is None else _against(out, grids, level, reference)
    for name, adjust in (("holm", stats.holm), ("bh", stats.benjamini_hochberg)):
        out[f"p_{name}"] = adjust(out["p"])
        out[name] = out[f"p_{name}"] < 1 - level
    out["paired"] = out["p"] < 1 - level
    first = ["setting", "a", "b", "tasks", "difference", "half_width", "sd", "p", "unpaired"]
    return out[[*first, *out.columns.drop(first)]]


def _compared(grid: pd.DataFrame, level: float) -> pd.DataFrame:
    """Every pair of one setting, a row of differences at a time: `stats.paired_interval` for thousands of pairs."""
    x = np.ascontiguousarray(grid.T)
    (methods, tasks), coarse = x.shape, x.astype(np.float32)
    mean, sd = np.zeros((2, methods, methods))
    for i in range(methods - 1):
        d = (x[i] - x[i + 1 :]).round(DIGITS)
        # A file may hold one method in 32 bits and another in 64, and text does not say so: what 32 bits cannot tell
        # apart is equal. No task has the millions of queries that it would take to differ by so little.
        equal = stats.paired_differences(*np.broadcast_arrays(coarse[i], coarse[i + 1 :]), axis=1)
        d[(equal == 0).all(axis=1)] = 0
        mean[i, i + 1 :] = d.mean(axis=1)
        sd[i, i + 1 :] = np.where(np.ptp(equal, axis=1) > 0, d.std(ddof=1, axis=1), 0)
    a, b = np.triu_indices(methods, 1)
    mean, sd = mean[a, b].clip(min=0), sd[a, b]  # of equal means that of a may come out the lower by rounding
    error = sd / np.sqrt(tasks)
    p = 2 * scipy.stats.t.sf(mean / np.where(sd > 0, error, 1), tasks - 1)
    equal = np.minimum(2 * chance_of_equal(mean, 0.0, POINTS, tasks), 1.0)  # p-value where a difference does not vary
    share = 1 - ((1 - level) / 2) ** (1 / tasks)  # of tasks that may differ from it
    half = np.where(sd > 0, scipy.stats.t.ppf((1 + level) / 2, tasks - 1) * error, share * (POINTS[1] + mean))
    names = grid.columns.to_numpy(dtype=object)
    closed = [stats.closed_interval(of, level, None if np.ptp(of) else (0, 100)) for of in x]
    unpaired = [stats.compare(closed[i], closed[j]) != 0 for i, j in zip(a, b)]
    return pd.DataFrame(
        {
            "a": names[a],
            "b": names[b],
            "tasks": tasks,
            "difference": mean,
            "half_width": half,
            "sd": sd,
            "p": np.where(sd > 0, p, equal),
            "unpaired": np.array(unpaired, bool) & ((mean > 0) | (sd > 0)),
        }
    )


def _against(pairs: pd.DataFrame, grids: dict[str, pd.DataFrame], level: float, reference: str) -> pd.DataFrame:
    """The pairs of one method, with intervals and p-values that hold for all of them together."""
    out = pairs.loc[of_reference(pairs, reference).index].reset_index(drop=True)
    out, settings = out.assign(half_width_all=np.nan, p_all=np.nan), out["setting"].nunique()
    for setting, mine in out.groupby("setting"):
        grid = grids[setting]
        d = grid[[reference]].to_numpy() - grid[of_reference(mine, reference)["b"]].to_numpy()
        d = np.where(mine["sd"] > 0, d.round(DIGITS), mine["difference"])
        found = stats.simultaneous_intervals(d.T, 1 - (1 - level) / settings, bounds=POINTS)
        out.loc[mine.index, "half_width_all"] = found.half_width
        out.loc[mine.index, "p_all"] = np.minimum(settings * found.p_values, 1)
    return out


def with_margin(pairs: pd.DataFrame, margin: float, level: float) -> pd.DataFrame:
    """The pairs with ``margin``, ``p_equivalent`` and ``equivalent``: two one-sided tests a pair, Holm's correction."""
    half = pairs["half_width"].where(pairs["sd"] > 0, 0.0)  # Student's
    p = [
        stats.equivalence(stats.Interval(d, h, level, tasks, "paired", tasks - 1, bounds=POINTS), margin).p_value
        for d, h, tasks in zip(pairs["difference"], half, pairs["tasks"])
    ]
    corrected = stats.holm(p)
    return pairs.assign(margin=float(margin), p_equivalent=corrected, equivalent=corrected < 1 - level)


class Chosen(NamedTuple):
    """Methods, the highest mean first, the ranks that each may have, and the interval of the first, if there is one."""

    methods: list[str]
    ranks: RankSets
    winner: Winner | None


def chosen(results: Results) -> dict[tuple[str, str], Chosen]:
    """By setting and target, the ranks that methods may have, and the highest mean corrected for its choice.

    ``ranks`` (`fslcore.stats.rank_sets`) follow from the pairs that are significant after Holm's correction, and
    ``winner`` is of `fslcore.stats.winner_interval`, or None if tasks (or classes, for new ones) are fewer than it
    needs. The target is 'new images' of open tasks, 'these images' of closed ones, and '' where it is unknown. A
    recording has all targets that its tasks show; for new images and new classes the pairs of that target are tested
    and corrected together. Empty with a ``reference``, for one method, and for more than 40.
    """
    out = {}
    for setting, grid in results.grids.items():
        methods, drawn, pairs = list(grid), results.settings["sampling"][setting], results.pairs
        if results.reference is not None or not 1 < len(methods) <= MANY:
            continue
        target = {"open": TARGETS["images"], "closed": TARGETS["closed"]}.get(drawn, "")
        verdicts = {target: (pairs.loc[pairs["setting"] == setting, "holm"], (grid.T, None, None), np.inf)}
        verdicts |= _of_new(methods, results.three or {}, results.level) if drawn == "closed" else {}
        for target, (significant, means, classes) in verdicts.items():
            better = np.zeros((len(methods), len(methods)), bool)
            better[np.triu_indices(len(methods), 1)] = significant  # of every two the first has the higher mean
            enough = min(len(grid), classes) >= FEWEST_TASKS
            winner = stats.winner_interval(*means, results.level, (0, 100)) if enough else None
            out[setting, target] = Chosen(methods, stats.rank_sets(better), winner)
    return out


def _of_new(methods: list[str], three: dict[str, stats.ThreeIntervals], level: float) -> dict[str, tuple]:
    """For new images and new classes, as far as known: which pairs differ significantly, joint means, classes."""
    single = [three.get(method) for method in methods]
    differences = [three.get(f"{a} − {b}", three.get(f"{b} − {a}")) for a, b in combinations(methods, 2)]
    out = {}
    for kind in ("images", "classes") if all(single + differences) else ():
        with suppress(InputError):  # not known from these tasks
            means = joint_means(single, differences, kind)
            p = stats.holm([getattr(difference, kind).p_value for difference in differences])
            out[TARGETS[kind]] = p < 1 - level, means, getattr(single[0], kind).classes or np.inf
    return out


def groups(methods: list[str], apart: pd.DataFrame, most: int | None = None) -> list[list[str]]:
    """Largest sets of methods of which no two are significantly different.

    Not being significantly different does not carry over (a from b no, b from c no, yet a from c), so the sets
    may overlap. They are the maximal cliques of the graph whose edges are the pairs not significantly different.

    Parameters
    ----------
    methods : list
        Of one setting, in the order wanted.
    apart : DataFrame
        Pairs that are significantly different, in columns a and b; all others are not.
    most : int, optional
        Where there are more sets, none is returned: their number can double with each pair.

    Returns
    -------
    list of lists
        Members and sets in the order of ``methods``; every method is in one set at least.
    """
    import networkx  # late, as few pages need it

    told = {frozenset(pair) for pair in zip(apart["a"], apart["b"])}
    graph = networkx.Graph([pair for pair in combinations(methods, 2) if frozenset(pair) not in told])
    graph.add_nodes_from(methods)
    at = {m: i for i, m in enumerate(methods)}.get
    found = list(islice(networkx.find_cliques(graph), None if most is None else min(most, 10**9) + 1))
    if most is not None and len(found) > most:
        return []
    return sorted((sorted(c, key=at) for c in found), key=lambda c: [at(m) for m in c])


def tasks_for_width(effect: float, level: float = stats.LEVEL) -> int | None:
    """Smallest number of tasks at which a paired interval's half-width is below the difference.

    Parameters
    ----------
    effect : float
        Mean difference over its standard deviation over tasks; only its size counts.
    level : float
        Nominal coverage.

    Returns
    -------
    int or None
        None where it is beyond a million, as for an effect of 0, and where it is not known, as for an infinite one.

    Raises
    ------
    InputError
        An effect that is no number, a level not between 0 and 1.
    """
    number("effect", effect, infinite=True), number("level", level, above=0, below=1)
    return _whole(for_width(np.array([effect]), level))


def tasks_for_power(effect: float, level: float = stats.LEVEL, power: float = 0.8) -> int | None:
    """Smallest number of tasks at which a two-sided paired t-test finds a true difference in ``power`` of the cases.

    Parameters, result and errors as for `tasks_for_width`; the test is made at 1 - ``level``.
    """
    number("effect", effect, infinite=True), number("level", level, above=0, below=1)
    return _whole(for_power(np.array([effect]), level, number("power", power, above=0, below=1)))


def _whole(tasks: np.ndarray) -> int | None:
    return None if np.isnan(tasks[0]) else int(tasks[0])


def for_width(effects: np.ndarray, level: float) -> np.ndarray:
    """`tasks_for_width` of many effects at once; NaN where it is None."""

    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        return scipy.stats.t.ppf((1 + level) / 2, tasks - 1) / np.sqrt(tasks) < np.abs(effect)

    return _smallest(enough, effects)


def for_power(effects: np.ndarray, level: float, power: float = 0.8) -> np.ndarray:
    """`tasks_for_power` of many effects at once; NaN where it is None."""

    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        return powers(effect, 1 / np.sqrt(tasks), tasks - 1, level) >= power

    return _smallest(enough, effects)


def for_equal_differences(differences: np.ndarray, level: float) -> np.ndarray:
    """Smallest numbers of tasks at which differences (points) that are the same on every task are significant.

    Solved for T: 2 (100 / (100 + d))^T < 1 - level (`fslcore.stats.Interval`). NaN where it is beyond `MOST`.
    """
    with np.errstate(divide="ignore"):
        tasks = np.log(2 / (1 - level)) / np.log1p(np.abs(differences) / POINTS[1])
    return np.where(tasks < MOST, np.floor(tasks) + 1, np.nan)


def _smallest(enough: Callable, effects: np.ndarray) -> np.ndarray:
    """The number of tasks that is enough for each of many effects; NaN where it is beyond `MOST`, or not known.

    An infinite effect, of equal differences, says nothing of it (`for_equal_differences`).
    """
    out, finite = np.full(len(effects), np.nan), np.isfinite(effects)
    effects = effects[finite]
    found = smallest_each(lambda at, tasks: enough(effects[at], tasks), len(effects), 2, MOST)
    out[finite] = np.where(found, found, np.nan)
    return out
