"""What printed accuracies and their ± were worth: reproductions, steps, and the tops of tables.

The cells stand in ``data/published/leaderboards.csv``, each with its source. Differences are in
points. `laboratories` has what separates those who ran the same method. Shares of steps resample
whole methods (cluster bootstrap; Davison and Hinkley, 1997, section 3.8). Few methods make such
intervals too short, so their level is raised as Student's quantile exceeds the normal one
(Hesterberg, 2015).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import bootstrap, norm, t

from fslcore import stats
from fslcore.paths import DATA
from fslcore.stats.published import BETWEEN, PrintedReading

from .. import labs

__all__ = [
    "Estimate",
    "boards",
    "both_half_widths",
    "by_laboratory",
    "by_method",
    "cells",
    "expected_within_original",
    "highest_two",
    "inside",
    "may_be_best",
    "overview",
    "pairs",
    "printed_difference",
    "ranked_boards",
    "readings",
    "share_over",
    "shares_exceeding",
    "spread",
    "standing_lab",
    "steps",
    "top_rows",
    "top_table",
    "tops",
]

SETTING = ["dataset", "ways", "shots", "transductive"]
NORMAL = norm.isf(0.025)  # a printed ± is taken as a 95 % interval
RESAMPLES = 2000
#: Images and classes of test splits (``fslcore/sources.yml``; CUB to the nearest hundred images).
#: FC100 has 20 classes of CIFAR-100 (Oreshkin et al., 2018).
TEST_SPLITS = {
    "miniImageNet": (12_000, 20),
    "tieredImageNet": (206_200, 160),
    "CUB": (3_000, 50),
    "CIFAR-FS": (12_000, 20),
    "FC100": (12_000, 20),
}
INTERVAL = "95 % interval"  # a value of the column ``plus_minus_is``
WAYS, QUERIES = 5, 15  # of usual tasks; queries per class
NO_SCRIPTS = (
    "With scripts enabled, this page shows each table with three widths, and where your own mean "
    "stands in it. The steps above need none."
)
#: Columns of `steps`, in words.
WIDTHS = {
    "unpaired": "printed ±, unpaired",
    "paired": "printed ±, paired",
    "beside": "a reproduction",
    "between": "two other laboratories",
}


@dataclass(frozen=True)
class Estimate:
    """A statistic of cells, with the interval that resampling whole methods gives.

    Attributes
    ----------
    value, low, high : float
        The interval is NaN where there are fewer than 5 methods.
    cells, methods : int
        How many cells there are, and of how many methods.
    """

    value: float
    low: float
    high: float
    cells: int
    methods: int


def cells() -> pd.DataFrame:
    """The published cells; ``plus_minus`` is NaN where a source prints none."""
    text = pd.read_csv(DATA / "published" / "leaderboards.csv", dtype=str, keep_default_na=False)
    numbers = {name: pd.to_numeric(text[name]) for name in ("mean", "plus_minus", "year", "tasks")}
    return text.assign(**numbers)


def pairs(table: pd.DataFrame) -> pd.DataFrame:
    """One row per reproduction of which the original is known, with its ``pair_kind``.

    Parameters
    ----------
    table : DataFrame
        `cells`.

    Returns
    -------
    DataFrame
        Columns of the network and setting, ``reported``, ``reproduced``, their ± (``plus_minus``,
        ``plus_minus_reproduced``) and what these are (``plus_minus_is``, ``_reproduced``),
        ``source`` and ``laboratory`` of the reproduction, ``difference``, reproduced minus reported,
        the same as ``relative``, in percent of the reported error rate, and ``period`` of the
        method. ``pair_kind`` is explained in ``data/published/README.md``.
    """
    paired = table[table["pair"] != ""]
    is_reproduced = paired["role"] == "reproduced"
    of_reproduction = ["source", "laboratory", "pair_kind"]
    of_both = ["pair", "mean", "plus_minus", "plus_minus_is"]
    reproduced = paired.loc[is_reproduced, of_both + of_reproduction]
    reported = paired[~is_reproduced].drop(columns=of_reproduction)
    merged = reported.merge(reproduced, on="pair", suffixes=("", "_reproduced"))
    merged = merged.rename(columns={"mean": "reported", "mean_reproduced": "reproduced"})
    difference = merged["reproduced"] - merged["reported"]
    return merged.assign(
        difference=difference,
        relative=100 * difference / (100 - merged["reported"]),
        period=np.where(merged["year"] < 2020, "2019 or before", "2020 or later"),
    )


def spread(differences: pd.Series) -> float:
    """Root mean square of differences, bias included."""
    return float(np.sqrt(np.square(differences).mean()))


def share_over(differences: pd.Series, points: float = 1.0) -> float:
    """Share of differences of more than so many points."""
    return float(np.mean(np.abs(differences) > points))


def both_half_widths(table: pd.DataFrame) -> pd.Series:
    """Both ± of each of `pairs` combined, as for independent tasks; NaN where one is missing."""
    return np.hypot(table["plus_minus"], table["plus_minus_reproduced"])


def inside(pairs_with_both: pd.DataFrame) -> np.ndarray:
    """Which differences of `pairs` lie within both ± combined, as for independent tasks."""
    return (pairs_with_both["difference"].abs() <= both_half_widths(pairs_with_both)).to_numpy()


def expected_within_original(pairs_with_both: pd.DataFrame) -> float:
    """Share of differences within the original's ± alone if both ± are right 95 % intervals."""
    both = both_half_widths(pairs_with_both)
    return float(np.mean(1 - 2 * norm.sf(NORMAL * pairs_with_both["plus_minus"] / both)))


def by_method(
    values: pd.Series,
    methods: pd.Series,
    statistic: Callable[[pd.Series], float],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """A statistic of values with its interval (BCa, `scipy.stats.bootstrap`) over methods.

    Parameters
    ----------
    values, methods : Series of n
        The values, and the method of each.
    statistic : callable
        Of an array of values.
    """
    groups = [group.to_numpy() for _, group in values.groupby(methods.to_numpy())]
    count = len(groups)
    value = statistic(values.to_numpy())
    if count < 5:
        return Estimate(value, np.nan, np.nan, len(values), count)
    tail = norm.cdf(np.sqrt(count / (count - 1)) * t.ppf((1 - level) / 2, count - 1))

    def of_methods(indices: np.ndarray) -> float:
        return statistic(np.concatenate([groups[int(i)] for i in indices]))

    resampled = bootstrap(
        (np.arange(count),),
        of_methods,
        vectorized=False,
        n_resamples=RESAMPLES,
        confidence_level=1 - 2 * tail,
        method="BCa",
        rng=np.random.default_rng(seed),
    )
    ends = resampled.confidence_interval
    return Estimate(value, ends.low, ends.high, len(values), count)


def _forest_row(name: str, estimate: Estimate) -> dict:
    return {
        "row": name,
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
    }


def boards(table: pd.DataFrame, *, with_backbone: bool = True) -> pd.DataFrame:
    """The leaderboards: of each method in each setting the number that its authors print.

    Where a source of the authors is not among the cells, the number that others report or quote
    stands for it; reproductions are left out, and methods that trained on validation classes too.

    Parameters
    ----------
    with_backbone : bool
        Whether networks of different backbones stand on leaderboards of their own.

    Returns
    -------
    DataFrame
        Rows of `cells`, with ``board``, the name of their leaderboard.
    """
    order = {"own": 0, "reported": 1, "quoted": 2}
    printed = table[table["role"].isin(order) & table["year"].notna()]
    printed = printed[printed["trained_on"] != "train+val"]
    printed = printed.sort_values("role", key=lambda role: role.map(order), kind="stable")
    setting = [*SETTING, "backbone"] if with_backbone else SETTING
    if with_backbone:
        printed = printed[printed["backbone"] != ""]
    printed = printed.drop_duplicates(["method", *setting])
    names = printed["dataset"] + ", " + printed["shots"] + "-shot"
    names += np.where(printed["transductive"] == "yes", ", transductive", "")
    if with_backbone:
        names += ", " + printed["backbone"]
    return printed.assign(board=names)


def steps(
    board_rows: pd.DataFrame, *, beside: float, between: float, tasks: int = 600
) -> pd.DataFrame:
    """Each method that printed more than all of earlier years in its setting, and by how much.

    Parameters
    ----------
    board_rows : DataFrame
        `boards`.
    beside, between : float
        In points: by how much a reproduction differs from its target, and two other laboratories
        from each other, in 19 of 20 cases (`laboratories`).
    tasks : int
        Behind numbers of which neither source says how many, as `stats.compare_printed` needs them.

    Returns
    -------
    DataFrame
        ``step`` in points, and the half-widths that it is compared with: ``unpaired`` and
        ``paired`` (at best) of `stats.compare_printed`, ``beside`` and ``between``. The first two are
        NaN where a ± is missing.
    """
    rows = []
    for board, group in board_rows.groupby("board"):
        for year in sorted(group["year"].unique())[1:]:
            earlier = group[group["year"] < year]
            best = earlier.loc[earlier["mean"].idxmax()]
            better = group[(group["year"] == year) & (group["mean"] > best["mean"])]
            for _, now in better.iterrows():
                unpaired, paired = _half_widths(now, best, tasks)
                rows.append(
                    {
                        "board": board,
                        "method": now["method"],
                        "year": year,
                        "before": best["method"],
                        "step": now["mean"] - best["mean"],
                        "unpaired": unpaired,
                        "paired": paired,
                        "beside": beside,
                        "between": between,
                    }
                )
    return pd.DataFrame(rows)


def _half_widths(first: pd.Series, second: pd.Series, tasks: int) -> tuple[float, float]:
    """Of the difference of two cells, unpaired and paired at best; a ± is read as an interval."""
    figures = [(row["mean"], row["plus_minus"]) for row in (first, second)]
    if np.isnan(figures).any():
        return np.nan, np.nan
    found = stats.compare_printed(*figures, _tasks_of_both(first, second, tasks))
    difference = found.readings[0].tasks
    return difference.widest.half_width, difference.narrowest.half_width


def _tasks_of_both(first: pd.Series, second: pd.Series, tasks: int) -> tuple[int, int]:
    """As their sources say; a number that is not known is the other's, or the given one."""
    known = [row["tasks"] for row in (first, second) if not np.isnan(row["tasks"])]
    default = known[0] if len(known) == 1 else tasks
    numbers = [default if np.isnan(row["tasks"]) else row["tasks"] for row in (first, second)]
    return int(numbers[0]), int(numbers[1])


def printed_difference(
    first: pd.Series, second: pd.Series, tasks: int, **split: float
) -> PrintedReading:
    """The difference of two `cells` by what their ± are (`stats.compare_printed`).

    Where a source says that its ± is a 95 % interval, both are read so; otherwise the likelier
    reading is taken.

    Parameters
    ----------
    tasks : int
        Where neither source says how many.
    **split
        ``images``, ``classes``, ``shots`` and ``confidence_level``, as `stats.compare_printed` takes them.
    """
    figures = [(row["mean"], row["plus_minus"]) for row in (first, second)]
    found = stats.compare_printed(*figures, _tasks_of_both(first, second, tasks), **split)
    is_said = INTERVAL in (first["plus_minus_is"], second["plus_minus_is"])
    return found.readings[0] if is_said else found.likely


def tops(board_rows: pd.DataFrame, reproduction: float, least: int = 5) -> pd.DataFrame:
    """The first of each leaderboard, corrected for having been chosen, and who else may be first.

    Parameters
    ----------
    board_rows : DataFrame
        `boards`.
    reproduction : float
        Root mean square of reproduced minus reported. Half of its square, which contains the tasks
        of the number, is taken as its variance with a laboratory, unless the ± gives a larger one.
    least : int
        Methods with a ± that a leaderboard must have.

    Returns
    -------
    DataFrame
        Per leaderboard: ``methods``, the ``first``, its ``mean`` and ``lead`` over the second; and
        by the printed ± alone and with the variance of a laboratory (``_laboratory``) the
        estimate, its interval and ``candidates``, how many methods may be the best.
    """
    rows = []
    for ranked, variances_by in ranked_boards(board_rows, reproduction, least):
        means = ranked["mean"].to_numpy()
        row = {
            "board": ranked["board"].iloc[0],
            "methods": len(ranked),
            "first": ranked["method"].iloc[0],
            "mean": means[0],
            "lead": means[0] - means[1],
        }
        for suffix, variances in variances_by.items():
            winner = stats.winner_interval(means, np.diag(variances), bounds=(0, 100))
            row |= {
                f"estimate{suffix}": winner.corrected.estimate,
                f"low{suffix}": winner.corrected.low,
                f"high{suffix}": winner.corrected.high,
                f"candidates{suffix}": may_be_best(means, variances).sum(),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def ranked_boards(
    board_rows: pd.DataFrame, reproduction: float, least: int
) -> Iterator[tuple[pd.DataFrame, dict[str, np.ndarray]]]:
    """Each leaderboard of at least so many methods with a ±, the best first, and the variances of their scores.

    Parameters
    ----------
    board_rows, reproduction, least
        As for `tops`.

    Yields
    ------
    (DataFrame, dict)
        The variances by the printed ± alone (``""``) and with the variance of a laboratory (``"_laboratory"``).
    """
    for _, group in board_rows.dropna(subset=["plus_minus"]).groupby("board"):
        if len(group) >= least:
            ranked = group.sort_values("mean", ascending=False)
            sampling = (ranked["plus_minus"].to_numpy() / NORMAL) ** 2
            laboratory = np.maximum(sampling, reproduction**2 / 2)
            yield ranked, {"": sampling, "_laboratory": laboratory}


def may_be_best(means: np.ndarray, variances: np.ndarray, level: float = 0.95) -> np.ndarray:
    """Which methods no other is significantly better than: the best is among them at this level.

    Parameters
    ----------
    means, variances : array of n
        Of independent estimates.

    Notes
    -----
    Comparison with the best (Hsu, 1996, chapter 4): for the best of n methods n - 1 one-sided
    comparisons could go wrong, not those of all pairs. Their correlations are positive, so Šidák's
    level holds (Slepian, 1962).
    """
    quantile = norm.isf(1 - level ** (1 / (len(means) - 1)))
    errors = np.sqrt(np.add.outer(variances, variances))
    return ~(np.subtract.outer(means, means) > quantile * errors).any(axis=0)


def top_rows(table: pd.DataFrame) -> pd.DataFrame:
    """`tops` minus the printed accuracies, as rows of a forest plot."""
    parts = []
    for suffix, series in {"": "printed ± alone", "_laboratory": "with a laboratory"}.items():
        part = pd.DataFrame({"series": series}, index=table.index)
        part["row"] = table["board"].str.replace(r", \d+-shot", "", regex=True)
        part["panel"] = table["board"].str.extract(r"(\d+-shot)", expand=False)
        for end, column in {"mean": "estimate", "low": "low", "high": "high"}.items():
            part[end] = table[column + suffix] - table["mean"]
        parts.append(part)
    return pd.concat(parts)


def top_table(table: pd.DataFrame) -> pd.DataFrame:
    """`tops` as text."""
    rows = []
    for row in table.itertuples():
        rows.append(
            {
                "leaderboard": row.board,
                "first of": f"{row.first}, {row.methods}",
                "lead": f"{row.lead:.2f}",
                "corrected": f"{row.estimate:.1f} ({row.low:.1f} to {row.high:.1f})",
                "may be first": row.candidates,
                "with a laboratory's variance": f"{row.estimate_laboratory:.1f} "
                f"({row.low_laboratory:.1f} to {row.high_laboratory:.1f})",
                "then may be first": row.candidates_laboratory,
            }
        )
    return pd.DataFrame(rows).set_index("leaderboard")


def highest_two(board_rows: pd.DataFrame, dataset: str) -> tuple[pd.Series, pd.Series]:
    """The first two of the largest 1-shot leaderboard of a data set, of the cells with a ±."""
    mine = board_rows.dropna(subset=["plus_minus"])
    mine = mine[(mine["dataset"] == dataset) & (mine["shots"] == "1")]
    mine = mine[mine["transductive"] == "no"]
    largest = mine["board"].value_counts().index[0]
    ranked = mine[mine["board"] == largest].sort_values("mean", ascending=False)
    return ranked.iloc[0], ranked.iloc[1]


def standing_lab(board_rows: pd.DataFrame, reproduction: float, least: int) -> str:
    """The lab "Where does your number stand?": leaderboards of so many methods or more.

    ``reproduction`` is the ± that holds 19 of 20 differences of a reproduction from its target.
    ``spread`` is the usual standard deviation of a task's accuracy of mean p over √(p(100 - p));
    see `stats.compare_printed`. ``tasks`` of a leaderboard share no image, as many as its test split
    allows.
    """
    answers = WAYS * QUERIES
    tables = {}
    for board, count in board_rows["board"].value_counts().items():
        if count >= least:
            ranked = board_rows[board_rows["board"] == board].sort_values("mean", ascending=False)
            images, _ = TEST_SPLITS.get(ranked["dataset"].iloc[0], (0, 0))
            per_class = int(ranked["shots"].iloc[0]) + QUERIES
            rows = ranked[["method", "year", "mean", "plus_minus"]].to_json(orient="values")
            tables[board] = {
                "tasks": images // (WAYS * per_class),
                "rows": json.loads(rows),
            }
    task_spread = np.sqrt(1 / answers + BETWEEN * (1 - 1 / answers))
    data = {
        "reproduction": reproduction,
        "spread": task_spread,
        "boards": tables,
    }
    return labs.html("standing", NO_SCRIPTS, data)


def shares_exceeding(table: pd.DataFrame, *, level: float, seed: int) -> pd.DataFrame:
    """Share of `steps` that exceed each width, in percent, as rows of a forest plot."""
    rows = []
    for column, name in WIDTHS.items():
        excess = table["step"] - table[column]
        share = by_method(excess, table["method"], _percent_over_zero, level=level, seed=seed)
        rows.append(_forest_row(name, share))
    return pd.DataFrame(rows)


def _percent_over_zero(excess: pd.Series) -> float:
    return 100 * float(np.mean(np.asarray(excess) > 0))


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """Cells, sources, methods, ± and copies by role."""
    roles = table.assign(copies=table["copy_of"] != "").groupby("role")
    counts = {
        "cells": roles.size(),
        "sources": roles["source"].nunique(),
        "methods": roles["method"].nunique(),
        "with a ±": roles["plus_minus"].count(),
        "copies": roles["copies"].sum(),
    }
    return pd.DataFrame(counts).loc[["own", "reported", "quoted", "reproduced"]]


def by_laboratory(table: pd.DataFrame, points: float) -> pd.DataFrame:
    """Differences of `pairs` by laboratory: number, mean, root mean square, share over some points."""
    laboratories = table.groupby("laboratory")
    differences = laboratories["difference"]
    columns = {
        "pairs": laboratories.size(),
        "methods": laboratories["method"].nunique(),
        "mean": differences.mean().map("{:+.2f}".format),
        "root mean square": differences.agg(spread).map("{:.2f}".format),
        f"over {points:g}": differences.agg(share_over, points).map("{:.0%}".format),
    }
    return pd.DataFrame(columns)


def readings(table: pd.DataFrame) -> pd.DataFrame:
    """What each ± is said to be, and what the spread over tasks that it implies makes of it.

    Returns
    -------
    DataFrame
        ``said`` and ``implied``, '—' where a source does not say it, and where the number of tasks
        is unknown; ``cells`` and ``sources``.
    """
    widths = table.dropna(subset=["plus_minus"])
    said = widths["plus_minus_is"].replace("", "—")
    implied = [
        "—" if np.isnan(row.tasks) else _implied(row.mean, row.plus_minus, int(row.tasks))
        for row in widths.itertuples()
    ]
    counted = widths.assign(said=said, implied=implied).groupby(["said", "implied"])
    counts = counted.agg(cells=("mean", "size"), sources=("source", "nunique"))
    return counts.sort_values("cells", ascending=False).reset_index()


def _implied(mean: float, plus_minus: float, tasks: int) -> str:
    figure = (mean, plus_minus)
    return stats.compare_printed(figure, figure, tasks).likely.meaning
