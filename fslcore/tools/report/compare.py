"""What a results table lets one conclude: intervals, pairs of methods, groups, and what more tasks would tell."""

from __future__ import annotations

from itertools import combinations, islice

import networkx
import numpy as np
import pandas as pd
import scipy.stats

from ... import stats
from .arguments import READING, RECORDED, SETTLES, UNTOLD, checked
from .tables import DIGITS, SHARED

__all__ = [
    "comparisons",
    "group_letters",
    "groups",
    "intervals",
    "needed",
    "panels",
    "reading",
    "settings",
    "settles",
    "tasks_for_power",
    "tasks_for_width",
]

GROUPS = 200  # sets of methods; n pairs of twins that are told apart, and from nobody else, make 2^n
MOST = 10**6  # tasks; beyond it a number of tasks is no advice


@checked
def reading(table: pd.DataFrame, three: dict[str, stats.ThreeIntervals] | None = None) -> list[str]:
    """What intervals and conclusions speak of, for each way of sampling in the table.

    Parameters
    ----------
    three : dict, optional
        Of a recording, what `three_intervals` found: then these tell what closed tasks alone do not.
    """
    found = [READING[s] for s in READING if (table["sampling"] == s).any()]
    return [text.replace(UNTOLD, RECORDED) for text in found] if three else found


@checked
def settles(table: pd.DataFrame) -> list[str]:
    """What more tasks leave open (`needed`), for each way of sampling in the table."""
    return [SETTLES[s] for s in SETTLES if (table["sampling"] == s).any()]


@checked
def settings(table: pd.DataFrame) -> pd.DataFrame:
    """A row a setting: how its tasks were drawn, their shape where it is known, their number, the methods'."""
    parts = table.groupby("setting")
    shape = parts[[c for c in SHARED if c in table and c != "dataset"]].first()
    return shape.assign(tasks=parts["task"].nunique(), methods=parts["method"].nunique())


def grids(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Setting → accuracies, a row a task and a column a method, the best mean first; of several runs their mean."""
    out = {}
    if "run" in table:
        table = table.groupby(["setting", "method", "task"], sort=False, as_index=False)["accuracy"].mean()
    for setting, part in table.groupby("setting"):
        grid = part.pivot(index="task", columns="method", values="accuracy").round(DIGITS)
        out[setting] = grid[sorted(grid, key=lambda m: (-round(grid[m].mean(), DIGITS), m))]
    return out


def single(table: pd.DataFrame, level: float) -> dict[tuple[str, str], dict[str, stats.Interval]]:
    """By setting and method, the best first, the intervals its sampling allows: ``new_images``, ``these_images``."""
    sampling = table.groupby("setting")["sampling"].first()
    makers = {"new_images": ("closed", stats.open_interval), "these_images": ("open", stats.closed_interval)}
    return {
        (setting, method): {
            name: make(accuracies, level, (0, 100))
            for name, (never, make) in makers.items()
            if sampling[setting] != never
        }
        for setting, grid in grids(table).items()
        for method, accuracies in grid.items()
    }


@checked
def intervals(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Mean and intervals of every method in percent, the best first.

    Returns
    -------
    DataFrame
        By setting and method: mean, tasks, and of ``new_images`` (open interval; NaN
        for closed tasks, which cannot give it) and ``these_images`` (closed interval; NaN for
        open tasks) the half-width and, with ``_low`` and ``_high`` behind the name, the ends, which lie between 0 and
        100 (`fslcore.stats.limits`). Where the sampling is unknown both stand there, and one of them holds.
        ``few_errors``: whether so few queries went wrong, or right, that an interval is rough
        (`fslcore.stats.Interval`).
    """
    rows = {}
    for key, of in single(table, level).items():
        first, *_ = of.values()
        rows[key] = {"mean": first.mean}
        for name in ("new_images", "these_images"):
            r = of.get(name)
            ends = (r.half_width, r.low, r.high) if r else (np.nan,) * 3
            rows[key] |= dict(zip((name, f"{name}_low", f"{name}_high"), ends))
        rows[key] |= {"tasks": first.n_tasks, "few_errors": any(r.few_errors for r in of.values())}
    out = pd.DataFrame.from_dict(rows, orient="index")
    out.index.names = ["setting", "method"]
    return out


@checked
def comparisons(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Every pair of methods of every setting, compared task by task.

    Paired t-tests (OOPS, equation 5), corrected over all pairs of the table together: by Holm
    (1979), which bounds the chance of even one false conclusion, and by Benjamini and Hochberg
    (1995), which bounds the expected share of false ones among the conclusions.

    Returns
    -------
    DataFrame
        setting; a and b, a with the higher mean; tasks; difference a - b, its half_width and
        standard deviation sd over tasks (points); p, p_holm, p_bh; and verdicts at ``level``, whether a
        and b are told apart: ``paired`` (without correction), ``holm``, ``bh``, and ``unpaired``, the
        usual way: their closed intervals do not meet.
    """
    parts = [_compared(grid, level).assign(setting=setting) for setting, grid in grids(table).items()]
    out = pd.concat(parts, ignore_index=True)
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
    fixed = {d: stats.paired_interval([d] * tasks, [0] * tasks, level).p_value for d in (0, 1)}
    names = grid.columns.to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "a": names[a],
            "b": names[b],
            "tasks": tasks,
            "difference": mean,
            "half_width": scipy.stats.t.ppf((1 + level) / 2, tasks - 1) * error,
            "sd": sd,
            "p": np.where(sd > 0, p, np.where(mean > 0, fixed[1], fixed[0])),
            "unpaired": _unpaired(grid, level)[a, b] & ((mean > 0) | (sd > 0)),
        }
    )


def _unpaired(grid: pd.DataFrame, level: float) -> np.ndarray:
    """(M, M) truth values: whether two closed intervals do not meet (`stats.compare`)."""
    closed = [stats.closed_interval(grid[m], level) for m in grid]
    low, high = (np.array([getattr(r, end) for r in closed]) for end in ("low", "high"))
    apart = (low[:, None] > high) | (low > high[:, None])
    for i in [i for i, r in enumerate(closed) if r.half_width == 0]:  # which has rules of its own
        apart[i] = apart[:, i] = [stats.compare(closed[i], r) != 0 for r in closed]
    return apart


@checked
def groups(methods: list[str], apart: pd.DataFrame, most: int | None = None) -> list[list[str]]:
    """Largest sets of methods of which no two are told apart.

    Not being told apart does not carry over (a from b no, b from c no, yet a from c), so the sets
    may overlap. They are the maximal cliques of the graph whose edges are the pairs not told apart.

    Parameters
    ----------
    methods : list
        Of one setting, in the order wanted.
    apart : DataFrame
        Pairs that are told apart, in columns a and b; all others are not.
    most : int, optional
        Where there are more sets, none is returned: their number can double with each pair.

    Returns
    -------
    list of lists
        Members and sets in the order of ``methods``; every method is in one set at least.
    """
    told = {frozenset(pair) for pair in zip(apart["a"], apart["b"])}
    graph = networkx.Graph([pair for pair in combinations(methods, 2) if frozenset(pair) not in told])
    graph.add_nodes_from(methods)
    at = {m: i for i, m in enumerate(methods)}.get
    found = list(islice(networkx.find_cliques(graph), None if most is None else min(most, 10**9) + 1))
    if most is not None and len(found) > most:
        return []
    return sorted((sorted(c, key=at) for c in found), key=lambda c: [at(m) for m in c])


def cliques(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, list[list[str]]]:
    apart = pairs[pairs["holm"]]
    return {s: groups(list(grid), apart[apart["setting"] == s], GROUPS) for s, grid in grids(table).items()}


@checked
def panels(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[str, tuple[pd.Series, list[list[str]]]]:
    """Setting → mean accuracies (the best first) and groups after Holm's correction, for `figures.groups`."""
    found = cliques(table, pairs)
    return {setting: (grid.mean(), found[setting]) for setting, grid in grids(table).items()}


def names_of_groups(table: pd.DataFrame, pairs: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """By setting and method, the names of its groups: letters, or numbers where letters do not suffice."""
    names = {}
    for setting, found in cliques(table, pairs).items():
        labels = [chr(97 + i) if len(found) <= 26 else f"g{i}" for i in range(len(found))]
        for method in table.loc[table["setting"] == setting, "method"].unique():
            names[setting, method] = [label for label, group in zip(labels, found) if method in group]
    return names


@checked
def group_letters(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """By setting and method, the letters of its groups: methods that share one are not told apart.

    Where they are more than letters, groups have numbers: 'g3–g7 g9'; where they are too many, there are none
    (`crowded`).
    """

    def text(names: list[str]) -> str:
        if not names or len(names[0]) == 1:
            return " ".join(names) or "—"
        at = np.array([int(n[1:]) for n in names])
        runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
        return " ".join(f"g{run[0]}" + f"–g{run[-1]}" * (len(run) > 1) for run in runs)

    return pd.Series({key: text(names) for key, names in names_of_groups(table, pairs).items()}, name="group")


def unnested(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Without the level 'setting' of the rows where the table has one setting only."""
    if table["setting"].nunique() > 1:
        return frame
    frame = frame.droplevel("setting")
    return frame.rename_axis(index=None, columns=frame.index.name)  # else the name takes a header row of its own


def in_words(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    out = pairs.rename(columns={"a": "higher mean", "b": "lower mean"})
    return unnested(table, out.set_index(["setting", "higher mean"]))


def plus_minus(pairs: pd.DataFrame) -> pd.Series:
    """Text also without rows, where pandas would keep the type of the numbers."""
    cells = stats.intervals.plus_minus(pairs["difference"], pairs["half_width"], ".2f")
    return pd.Series(cells, pairs.index, dtype=object).map(lambda cell: cell.replace(" ", "\N{NO-BREAK SPACE}"))


def p_value_text(value: float) -> str:
    return "<\N{NO-BREAK SPACE}0.0001" if value < 1e-4 else f"{value:.4f}"


@checked
def tasks_for_width(effect: float, level: float = 0.95) -> int | None:
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
        None where it is beyond a million, as for an effect of 0.
    """
    return _whole(_for_width(np.array([effect]), level)[0])


@checked
def tasks_for_power(effect: float, level: float = 0.95, power: float = 0.8) -> int | None:
    """Smallest number of tasks at which a two-sided paired t-test finds a true difference in ``power`` of the cases.

    Parameters and result as for `tasks_for_width`; the test is made at 1 - ``level``.
    """
    return _whole(_for_power(np.array([effect]), level, power)[0])


def _whole(tasks: float) -> int | None:
    return None if np.isnan(tasks) else int(tasks)


def _for_width(effects: np.ndarray, level: float) -> np.ndarray:
    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:
        return scipy.stats.t.ppf((1 + level) / 2, tasks - 1) / np.sqrt(tasks) < np.abs(effect)

    return _smallest(enough, effects, level)


def _for_power(effects: np.ndarray, level: float, power: float = 0.8) -> np.ndarray:
    def enough(effect: np.ndarray, tasks: np.ndarray) -> np.ndarray:  # `stats.power` of many at once
        limit, shift = scipy.stats.t.ppf((1 + level) / 2, tasks - 1), np.abs(effect) * np.sqrt(tasks)
        other = np.nan_to_num(scipy.stats.nct.cdf(-limit, tasks - 1, shift))
        return scipy.stats.nct.sf(limit, tasks - 1, shift) + other >= power

    return _smallest(enough, effects, level)


def _smallest(enough, effects: np.ndarray, level: float) -> np.ndarray:
    """`stats.smallest` number of tasks for each of many effects at once; NaN where it is beyond `MOST`.

    An infinite effect, of equal differences, is told by the sign test, as in `comparisons`.
    """
    out, finite = np.full(len(effects), np.floor(2 - np.log2(1 - level))), np.isfinite(effects)
    out[finite] = _search(enough, effects[finite])
    return out


def _search(enough, effects: np.ndarray) -> np.ndarray:
    low, high = np.full((2, len(effects)), 2)
    going = ~enough(effects, high)
    while going.any() and high.max() < MOST:
        low[going], high[going] = high[going], np.minimum(2 * high[going], MOST)
        going[going] = ~enough(effects[going], high[going])
    while (at := np.flatnonzero((low < high) & ~going)).size:
        middle = (low[at] + high[at]) // 2
        yes = enough(effects[at], middle)
        high[at[yes]], low[at[~yes]] = middle[yes], middle[~yes] + 1
    return np.where(going, np.nan, high)


@checked
def needed(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """For each pair not told apart after Holm's correction, how many tasks would tell it apart.

    All numbers take the observed difference for the true one.

    Returns
    -------
    DataFrame
        By pair: the difference, tasks now, tasks for a half-width below the difference, and tasks
        for 80 % power, as the only comparison and among all pairs of the table (at (1 - level) / pairs,
        which is enough for Holm's correction whatever the others give); for open tasks of known
        shape also the images of that last number.
    """
    shape = settings(table)
    sized = {"ways", "shots", "queries"} <= set(shape)
    images = shape["ways"] * (shape["shots"] + shape["queries"]) if sized else pd.Series(np.nan, shape.index)
    a_task = images.where(shape["sampling"] == "open")  # closed tasks use images again
    out = pairs[~pairs["holm"]]
    effect = (out["difference"] / out["sd"]).fillna(0).to_numpy()  # identical accuracies: 0 / 0
    among = 1 - (1 - level) / max(len(pairs), 1)
    count = pd.Series(_for_power(effect, among), out.index)
    shown = {
        "difference (points)": plus_minus(out),
        "tasks now": out["tasks"].map("{:,}".format),
        "for ± below the difference": [_count(t) for t in _for_width(effect, level)],
        "for 80 % power, alone": [_count(t) for t in _for_power(effect, level)],
        f"for 80 % power, one of {len(pairs)}": count.map(_count),
    }
    if a_task.notna().any():
        of_pair = out["setting"].map(a_task)
        shown["images for that"] = (count * of_pair).map(_count).where(of_pair.notna(), "—")
    return in_words(table, out.assign(**shown))[["lower mean", *shown]]


def _count(value: float | None) -> str:
    return f"over {MOST:,}" if pd.isna(value) else f"{int(value):,}"
