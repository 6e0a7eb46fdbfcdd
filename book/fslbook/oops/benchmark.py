"""Tables 1 to 6 and Figure 6 of the OOPS paper, computed live and as printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy import ndarray

from fslcore import evaluation, stats
from fslcore.errors import InputError
from fslcore.evaluation import Method
from fslcore.stats.formatting import format_interval

from .. import published, reported
from ..catalogue import LEARNER_TITLES
from ..checks import OOPS_BACKBONES, OOPS_DATASETS
from ..published import claims

SYMBOLS = {1: "+", -1: "−", 0: "0"}  # as the paper prints conclusions


def collect(
    datasets: list[str],
    backbones: list[str],
    learners: list[str],
    *,
    shots: int | Sequence[int] = 5,
    queries: int | Sequence[int] = 15,
    samplings: Sequence[str] = ("closed", "open"),
    **options,
) -> pd.DataFrame:
    """Evaluate every combination of data set, backbone and learner, and return one results table.

    Parameters
    ----------
    shots, queries : int or sequences of one length
        S and Q; of sequences, the first S goes with the first Q and so on.
    samplings : sequence of str
        'closed', 'open' or both.
    **options
        ``tasks`` (600) and ``ft_tasks`` (100), the closed tasks of the learners and of fine-tuning;
        ``max_tasks`` and ``ft_open``, their maximum number of open tasks, by default until the data
        are used up; ``fine_tuning``, 'stored' for only results that are at hand, or 'run' to
        compute what is missing; the others as for `fslcore.evaluation.evaluate_setting`.

    Raises
    ------
    InputError
        As for `fslcore.evaluation.evaluate_setting`; shots and queries of different lengths; no results at hand.
    """
    sizes = [np.atleast_1d(numbers).tolist() for numbers in (shots, queries)]
    if len(sizes[0]) != len(sizes[1]):
        raise InputError(f"shots and queries must have the same length, got {shots} and {queries}")
    settings = product(datasets, backbones, learners, samplings, zip(*sizes))
    tables = [_table(*setting, **options) for setting in settings]
    if all(table is None for table in tables):
        raise InputError(
            f"learners = {learners}; no results of them are at hand, and fine_tuning = "
            f"{options.get('fine_tuning', 'stored')}"
        )
    return pd.concat(tables, ignore_index=True)


def intervals(
    results: pd.DataFrame, level: float = 0.95, images: dict[str, int] | None = None
) -> pd.DataFrame:
    """One row per setting: n_images of the test set, mean, half_width (percent) and T (n_tasks).

    Parameters
    ----------
    images : dict, optional
        Number of images by data set, where the data are not at hand.
    """
    make = {"closed": stats.closed_task_interval, "open": stats.open_task_interval}
    rows = []
    for key, part in results.groupby(["dataset", "backbone", "learner", "sampling"], sort=False):
        r = make[key[3]](part["accuracy"], level)
        rows.append((*key, r.estimate, r.half_width, r.n))
    columns = ["dataset", "backbone", "learner", "sampling", "mean", "half_width", "n_tasks"]
    table = pd.DataFrame(rows, columns=columns)
    names = table["dataset"].unique()
    sizes = (
        {name: len(evaluation.load_images_or_features(name)) for name in names}
        if images is None
        else images
    )
    table.insert(1, "n_images", table["dataset"].map(sizes))
    return table.sort_values("n_images", kind="stable", ignore_index=True)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """Table 2's layout: a row per data set and learner, a column per backbone and sampling; 'mean ± half-width'."""
    cell = format_interval(table["mean"], table["half_width"], spec=".2f")
    return _laid_out(table.assign(cell=cell), ["backbone", "sampling"])


def in_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The intervals of `intervals`, or of a printed table of this form, as `fslbook.figures.forest` draws them.

    A panel per data set, a row per method, the sampling as the series.
    """
    rows = table.dropna(subset="mean")
    rows = rows.assign(
        dataset=rows["dataset"].replace(OOPS_DATASETS),
        backbone=rows["backbone"].replace(OOPS_BACKBONES),
    )
    return rows.assign(
        panel=rows["dataset"],
        row=[f"{b} {n.upper()}" for b, n in zip(rows["backbone"], rows["learner"])],
        series=rows["sampling"],
    )


def task_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Number of tasks T behind each cell, in one row per data set; from least to most where backbones differ."""
    count = table.groupby(["dataset", "n_images", "learner", "sampling"], sort=False)[
        "n_tasks"
    ].agg(["min", "max"])
    cells = [
        f"{low}" if low == high else f"{low} to {high}"
        for low, high in count.itertuples(index=False)
    ]
    out = _laid_out(count.reset_index().assign(cell=cells), ["sampling"])
    return out.unstack("learner", sort=False)


def _laid_out(table: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The column ``cell`` with rows and columns in order of appearance; a dash where there is none."""
    table = table.assign(learner=table["learner"].map(LEARNER_TITLES))
    rows = ["dataset", "n_images", "learner"]
    out = table.pivot(index=rows, columns=columns, values="cell")
    index, header = (
        pd.MultiIndex.from_frame(table[c].drop_duplicates()) for c in (rows, sorted(columns))
    )
    index = index.sortlevel("n_images", sort_remaining=False)[0]
    return out.reindex(
        index=index, columns=header if len(columns) > 1 else header.get_level_values(0)
    ).fillna("—")


def width_ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Open over closed half-width of every setting that has both, in column ``ratio``."""
    keys = ["dataset", "n_images", "backbone", "learner"]
    half = table.pivot(index=keys, columns="sampling", values="half_width")
    half = half.reindex(columns=["closed", "open"]).dropna()
    ratio = (half["open"] / half["closed"]).rename("ratio").reset_index()
    return ratio.sort_values("n_images", ignore_index=True)


def mean_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Open minus closed mean by data set, and the number of settings whose two intervals do not overlap."""
    keys = ["dataset", "n_images", "backbone", "learner"]
    settings = table.pivot(index=keys, columns="sampling", values=["mean", "half_width"]).dropna()
    gap = settings["mean", "open"] - settings["mean", "closed"]
    disjoint = gap.abs() > settings["half_width", "open"] + settings["half_width", "closed"]
    out = pd.DataFrame(
        {"mean of open − closed (points)": gap, "settings": 1, "intervals apart": disjoint}
    )
    out = out.groupby(["dataset", "n_images"]).agg(dict(zip(out, ("mean", "sum", "sum"))))
    return out.sort_index(level="n_images")


def methods(results: pd.DataFrame, dataset: str, sampling: str) -> dict[Method, ndarray]:
    """`Method` → per-task accuracies on one data set, tasks in the same order."""
    part = results[(results["dataset"] == dataset) & (results["sampling"] == sampling)].sort_values(
        "task"
    )
    groups = part.groupby(["backbone", "learner"], sort=False)["accuracy"]
    return {Method(*key): accuracies.to_numpy() for key, accuracies in groups}


def correlations(results: pd.DataFrame) -> pd.DataFrame:
    """Lowest, median and highest correlation of two methods over open tasks, by data set; only where both vary."""
    rows = {}
    for dataset in results["dataset"].unique():
        per_task = methods(results, dataset, "open").values()
        pairs = [common(a, b) for a, b in combinations(per_task, 2)]
        r = pd.Series(
            [np.corrcoef(a, b)[0, 1] for a, b in pairs if np.ptp(a) and np.ptp(b)], dtype=float
        )
        quantiles = {"lowest": r.min(), "median": r.median(), "highest": r.max()}
        rows[dataset] = {"pairs": len(r), **quantiles}
    return pd.DataFrame(rows).T.astype({"pairs": int}).round(2)


def common(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Accuracies on the tasks that the two methods share, which are the first ones."""
    n = min(len(a), len(b))
    return a[:n], b[:n]


def pair_table(results: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Every pair of methods on every data set, with its conclusions by each rule.

    Closed conclusions come from the closed tasks and the others from the open tasks, paired ones
    from those that the two methods share. Closed and open: the two intervals do not overlap.
    Unpaired: the interval of the difference excludes 0, as if the two methods had been run on
    unrelated tasks. ``results`` holds one number of shots and of queries; without any closed tasks
    there is no column of closed conclusions.

    Returns
    -------
    DataFrame
        dataset, a, b (each (backbone, learner)), closed, open, unpaired, paired: +1 a is better,
        -1, 0; and the p_value of the paired comparison.
    """
    rows = []
    only_open = not (results["sampling"] == "closed").any()
    for dataset in results["dataset"].unique():
        closed, opened = (methods(results, dataset, s) for s in ("closed", "open"))
        for a, b in combinations([m for m in opened if only_open or m in closed], 2):
            row = {
                "dataset": dataset,
                "a": tuple(a),
                "b": tuple(b),
            }  # pandas tells a named tuple from a plain one
            if not only_open:
                row["closed"] = stats.compare_by_overlap(
                    *(stats.closed_task_interval(closed[m], level) for m in (a, b))
                )
            row["open"] = stats.compare_by_overlap(
                *(stats.open_task_interval(opened[m], level) for m in (a, b))
            )
            row["unpaired"] = stats.welch_interval(opened[a], opened[b], level).sign
            paired = stats.paired_interval(*common(opened[a], opened[b]), level)
            rows.append({**row, "paired": paired.sign, "p_value": paired.p_value})
    return pd.DataFrame(rows)


def printed_pairs(table: int) -> pd.DataFrame:
    """Table 1 or 3 of the OOPS paper in the form of `pair_table`, each pair as printed."""
    t = published.table(table)
    values = {
        k: t[k].map({"+": 1, "-": -1, "0": 0}) for k in ("closed", "open", "paired") if k in t
    }
    a, b = (list(zip(t[f"{side}_backbone"], t[f"{side}_learner"])) for side in "ab")
    return pd.DataFrame({"dataset": t["dataset"], "a": a, "b": b, **values})


def agreement(pairs: pd.DataFrame, printed: pd.DataFrame) -> pd.Series:
    """How many pairs of `pair_table` on the paper's own data are printed too, and how many agree."""
    ours = pairs.assign(dataset=pairs["dataset"].map(published.own_data)).dropna(subset="dataset")
    for side in "ab":
        ours[side] = [(published.own_backbone(backbone), name) for backbone, name in ours[side]]
    kinds = [kind for kind in ("closed", "open", "paired") if kind in printed]
    ours = either_way(ours, [kind for kind in kinds if kind in ours])
    shared = printed.merge(ours, on=["dataset", "a", "b"], suffixes=("_printed", ""))
    agreeing = {kind: int((shared[kind] == shared[f"{kind}_printed"]).sum()) for kind in kinds}
    return pd.Series({"pairs": len(shared), **agreeing})


def reported_agreement(level: float, **shape) -> pd.DataFrame:
    """`agreement` with Tables 1 and 3 of what others have contributed, a row per reporter and table; empty without any.

    ``shape`` as for `fslbook.reported.results`.
    """
    rows = {
        (by, f"Table {n}"): agreement(pair_table(results, level), printed_pairs(n))
        for by, results, _ in reported.results(**shape)
        for n in (1, 3)
    }
    if not rows:
        return pd.DataFrame()
    results = pd.DataFrame(rows).T.rename_axis(["reported by", "table"])
    return results[results["pairs"] > 0]


# Pairs of `pair_table` that `conclusive_counts` counts: conclusive by a rule, or otherwise by another one.
CONCLUSIVE = {
    "conclusive, closed": "closed != 0",
    "conclusive, open": "open != 0",
    "conclusive, unpaired difference": "unpaired != 0",
    "conclusive, paired": "paired != 0",
    "closed conclusive, open not": "closed != 0 and open == 0",
    "open conclusive, closed not": "closed == 0 and open != 0",
    "closed and open conclusive, opposite": "closed * open < 0",
    "open conclusive, paired not": "open != 0 and paired == 0",
    "paired conclusive, open not": "paired != 0 and open == 0",
    "unpaired difference conclusive, paired not": "unpaired != 0 and paired == 0",
    "paired conclusive, unpaired difference not": "paired != 0 and unpaired == 0",
    "closed conclusive, lost open, back paired": "closed != 0 and open == 0 and paired != 0",
    "closed conclusive, paired not": "closed != 0 and paired == 0",
    "closed and paired conclusive, opposite": "closed * paired < 0",
}


def conclusive_counts(pairs: pd.DataFrame) -> pd.Series:
    """How many pairs are conclusive by each rule, and how many conclusions change between rules."""
    counts = {name: pairs.eval(rule).sum() for name, rule in CONCLUSIVE.items()}
    return pd.Series({"pairs of methods": len(pairs), **counts}, name="count")


def corrected_counts(pairs: pd.DataFrame, level: float = 0.95) -> pd.Series:
    """Number of conclusive pairs of `pair_table`: open, unpaired, paired, and paired with a correction for all pairs.

    Holm's method bounds the probability of any false conclusion by 1 - level; that of Benjamini and
    Hochberg bounds the expected share of false conclusions among all conclusions."""
    counts = {kind: (pairs[kind] != 0).sum() for kind in ("open", "unpaired", "paired")}
    for name, adjust in (
        ("Holm", stats.holm),
        ("Benjamini–Hochberg", stats.benjamini_hochberg),
    ):
        counts[f"paired, {name}"] = (adjust(pairs["p_value"]) < 1 - level).sum()
    return pd.Series({"pairs": len(pairs), **counts}, name="count")


def counts_by_size(tables: Iterable[pd.DataFrame], level: float = 0.95) -> pd.DataFrame:
    """`corrected_counts` of each number of shots S and queries Q in results tables, in rows (shots, Q)."""
    rows = {}
    for table in tables:
        for size, part in table.groupby(["shots", "queries"]):
            rows[size] = corrected_counts(pair_table(part, level), level)
    return pd.DataFrame(rows).T.rename_axis(["shots", "Q"]).sort_index(kind="stable")


def papers_methods(released: pd.DataFrame) -> pd.DataFrame:
    """The released results of the paper's six methods: LR, NCC and FT on CLIP and DINO."""
    return released[
        released["backbone"].isin(["clip", "dino"]) & released["learner"].isin(["lr", "ncc", "ft"])
    ]


def figure_6(counts: pd.DataFrame, usual: int) -> pd.DataFrame:
    """The bars of Figure 6: share of conclusive pairs by rule, from `counts_by_size` and in the paper.

    The paper's counts are printed without a correction, and recomputed from its released tasks with one.

    Parameters
    ----------
    counts : DataFrame
        For every number of shots two rows: the usual Q and the optimised one.
    usual : int
        The usual Q.

    Returns
    -------
    DataFrame
        rule, shots (0 for the paper's), conclusive, pairs.
    """
    is_usual = counts.index.get_level_values("Q") == usual
    bars = {
        f"open, Q = {usual}": (is_usual, "open", "open-conclusive"),
        f"paired, Q = {usual}": (is_usual, "paired", "paired-conclusive"),
        "paired, optimised Q": (~is_usual, "paired", "paired-optimised-conclusive"),
        "… and Holm": (~is_usual, "paired, Holm", None),
        "… and\nBenjamini–Hochberg": (~is_usual, "paired, Benjamini–Hochberg", None),
    }
    printed, recomputed = claims()["value"], published.recomputed_counts()
    rows = []
    for rule, (selected, column, claim) in bars.items():
        rows += [
            (rule, s, row[column], row["pairs"]) for (s, _), row in counts[selected].iterrows()
        ]
        papers = int(printed[claim]) if claim else recomputed[column]
        rows.append((rule, 0, papers, int(printed["n-comparisons"])))
    return pd.DataFrame(rows, columns=["rule", "shots", "conclusive", "pairs"])


def counts_table(live: pd.DataFrame, released: pd.DataFrame | None) -> pd.DataFrame:
    """`counts_by_size` of the live results and of the released ones, beside what the paper prints.

    Without released results, their 5-shot counts are those of `fslbook.published.recomputed_counts`.
    """
    printed = claims()["value"]
    pairs = printed["n-comparisons"]
    parts = {
        "this book": live.astype(str),
        "OOPS, printed": pd.DataFrame(
            [
                [pairs, printed["open-conclusive"], printed["paired-conclusive"]],
                [pairs, None, printed["paired-optimised-conclusive"]],
            ],
            columns=["pairs", "open", "paired"],
            index=pd.MultiIndex.from_tuples([(5, 15), (5, 5)]),
        ),
    }
    if released is None:
        row = published.recomputed_counts().rename((5, 5))
        parts["OOPS, released"] = row.to_frame().T.astype(str)
    else:
        parts["OOPS, released"] = counts_by_size([papers_methods(released)]).astype(str)
    return pd.concat(parts, names=["", "shots", "Q"]).fillna("—")


def finetuning_pairs(results: pd.DataFrame) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """(FT, other learner) on every backbone, as (backbone, learner) each."""
    methods = results[["backbone", "learner"]].drop_duplicates().itertuples(index=False, name=None)
    return [
        ((backbone, "ft"), (backbone, learner)) for backbone, learner in methods if learner != "ft"
    ]


def crossed_pairs(results: pd.DataFrame) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Table 4's pairs: FT on the last backbone, against LR on each backbone and NCC on its own."""
    backbones = results["backbone"].unique()
    last = backbones[-1]
    return [((last, "ft"), (backbone, "lr")) for backbone in backbones] + [
        ((last, "ft"), (last, "ncc"))
    ]


def paired_differences(results: pd.DataFrame, pairs: Iterable, level: float = 0.95) -> pd.DataFrame:
    """Paired interval of a - b by data set and shots, on the open tasks that they share.

    Parameters
    ----------
    pairs : iterable of (a, b)
        Each (backbone, learner); pairs without results of both methods are left out.

    Returns
    -------
    DataFrame
        The form in which Tables 4 to 6 are transcribed: dataset, shots, a_backbone, a_learner,
        b_backbone, b_learner, mean, half_width (points); and n_tasks.
    """
    rows = []
    pairs = list(pairs)
    for (dataset, shots), part in results.groupby(["dataset", "shots"], sort=False):
        per_task = methods(part, dataset, "open")
        for a, b in ((a, b) for a, b in pairs if a in per_task and b in per_task):
            r = stats.paired_interval(*common(per_task[a], per_task[b]), level)
            rows.append((dataset, shots, *a, *b, r.estimate, r.half_width, r.n))
    return pd.DataFrame(rows, columns=[*PAIR_KEYS, "mean", "half_width", "n_tasks"])


def all_differences(results: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """`paired_differences` of the open tasks, of all pairs of Tables 4 to 6: within a backbone, and across."""
    open_tasks = results[results["sampling"] == "open"]
    pairs = (
        dict.fromkeys([*finetuning_pairs(open_tasks), *crossed_pairs(open_tasks)])
        if len(open_tasks)
        else ()
    )
    return paired_differences(open_tasks, pairs, level)


PAIR_KEYS = ["dataset", "shots", "a_backbone", "a_learner", "b_backbone", "b_learner"]


def against_printed(table: int, released: pd.DataFrame | None) -> pd.DataFrame:
    """Table 4, 5 or 6 as printed, and what the released tasks give, at 95 %.

    Returns
    -------
    DataFrame
        The printed table with the columns ``recomputed_mean``, ``recomputed_half_width`` (without
        the tasks those of `fslbook.published.recomputed`, NaN where it has none) and ``same``:
        whether both agree in every printed digit; None where one of them is missing, or the printed
        cell was not read from the paper.
    """
    printed = published.table(table)
    a, b = (zip(printed[f"{side}_backbone"], printed[f"{side}_learner"]) for side in "ab")
    if released is None:
        ours = published.recomputed(table)
    else:
        ours = paired_differences(released, dict.fromkeys(zip(a, b))).drop(columns="n_tasks")
    values = {v: f"recomputed_{v}" for v in ("mean", "half_width")}
    out = printed.merge(ours.rename(columns=values), on=PAIR_KEYS, how="left")
    digits = [out[[v, w]].astype(float).map("{:.3f}".format) for v, w in values.items()]
    agree = np.logical_and.reduce([d.iloc[:, 0] == d.iloc[:, 1] for d in digits])
    comparable = out["recomputed_mean"].notna() & (out["reading"] == "printed")
    return out.assign(same=pd.Series(agree, out.index, dtype=object).where(comparable, None))


def difference_table(table: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """Tables 4 to 6's layout: a row per data set and shots, a column per method b, cells 'mean ± half-width'.

    An asterisk marks a conclusive difference, a dash one that is not at hand, a dagger one that
    could not be read and is recomputed."""
    mark = (table["mean"].abs() > table["half_width"]).map(
        {True: "\u00a0*", False: "\u00a0\u2007"}
    )  # of equal width
    if "reading" in table:
        mark += (table["reading"] == "recomputed").map({True: "†", False: ""})
    cell = pd.Series(
        format_interval(table["mean"], table["half_width"], spec=f".{digits}f"), table.index
    )
    cell = (cell.str.replace("-", "−") + mark).where(table["mean"].notna(), "—")
    column = [Method(*b).label for b in zip(table["b_backbone"], table["b_learner"])]
    out = table.assign(cell=cell, column=column).pivot(
        index=["dataset", "shots"], columns="column", values="cell"
    )
    order = pd.MultiIndex.from_frame(table[["dataset", "shots"]].drop_duplicates())
    return (
        out.reindex(index=order, columns=pd.unique(np.array(column)))
        .fillna("—")
        .rename_axis(columns=None)
    )


def difference_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Differences as `difference_table` takes them, as `fslbook.figures.forest` draws them.

    A panel per method that is subtracted, a row per data set, a series per number of shots.
    """
    rows = table.dropna(subset="mean")
    a, b = (rows[side].replace(OOPS_BACKBONES) for side in ("a_backbone", "b_backbone"))
    panels = [
        f"{x}: FT − {LEARNER_TITLES[learner]}"
        if x == y
        else f"FT on {x} − {Method(y, learner).label}"
        for x, y, learner in zip(a, b, rows["b_learner"])
    ]
    rows_by_panel = rows.assign(panel=panels, row=rows["dataset"].replace(OOPS_DATASETS))
    return rows_by_panel.assign(series=rows["shots"].map("{}-shot".format))


def side_by_side(compared: pd.DataFrame) -> pd.DataFrame:
    """What `against_printed` gives, in the layout of the paper: the printed cell, and the recomputed one beside it.

    Rows without any recomputed cell say 'printed only'; if all are such, only printed cells are
    shown."""
    theirs = difference_table(compared)
    ours = compared[[*PAIR_KEYS, "recomputed_mean", "recomputed_half_width"]]
    ours = difference_table(ours.rename(columns=lambda c: c.removeprefix("recomputed_")))
    missing = (ours == "—").all(axis=1)
    if missing.all():
        return theirs
    columns = pd.concat({"printed": theirs, "recomputed": ours}, axis=1).swaplevel(axis=1)[
        list(theirs)
    ]
    rows = [(d, f"{s}, printed only" if gone else str(s)) for (d, s), gone in missing.items()]
    return columns.set_axis(pd.MultiIndex.from_tuples(rows, names=columns.index.names))


def verdict_counts(table: pd.DataFrame, by: str = "shots") -> pd.DataFrame:
    """Number of differences of `paired_differences` whose interval is above 0, below 0 or contains 0."""
    table = table.dropna(subset="mean")
    sign = np.sign(table["mean"]).where(table["mean"].abs() > table["half_width"], 0)
    names = {1: "FT better", 0: "inconclusive", -1: "FT worse"}
    counts = pd.crosstab(table[by], sign.map(names)).rename_axis(columns=None)
    return counts.reindex(columns=names.values(), fill_value=0)


def either_way(pairs: pd.DataFrame, kinds: Sequence[str]) -> pd.DataFrame:
    """The pairs in both orders, with verdicts of these kinds of the opposite sign the other way."""
    back = pairs.rename(columns={"a": "b", "b": "a"})
    return pd.concat([pairs, back.assign(**{kind: -pairs[kind] for kind in kinds})])


def symbols(pairs: pd.DataFrame, kinds: tuple[str, ...]) -> pd.Series:
    """The pairs' symbols, such as '+ 0 +', by dataset, a and b, in both directions."""
    keys = ["dataset", "a", "b"]
    both_orders = either_way(pairs, kinds).drop_duplicates(keys).set_index(keys)[list(kinds)]
    return both_orders.map(lambda verdict: SYMBOLS.get(verdict, "?")).agg(" ".join, axis=1)


def grid_table(
    pairs: pd.DataFrame, lower: str, upper: str, methods: list[tuple[str, str]]
) -> pd.DataFrame:
    """Table 1's layout: row against column method; below the diagonal one data set, above it another.

    A question mark stands for a symbol that is unknown, a dash for a pair that is not at hand.
    """
    cells = symbols(pairs, ("closed", "open", "paired"))
    names = [Method(*m).label for m in methods]
    grid = pd.DataFrame("", index=names, columns=names)
    for i, j in product(range(len(methods)), repeat=2):
        if i != j:
            grid.iat[i, j] = cells.get((lower if i > j else upper, methods[i], methods[j]), "—")
    return grid


def finetuning_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Table 3's layout: fine-tuning (row) against every other method, open and paired symbols."""
    cells = symbols(pairs, ("open", "paired")).rename("symbols").reset_index()
    ft = cells[cells["a"].map(lambda m: m[1] == "ft")]
    ft = ft.assign(
        **{k: [Method(*m).label for m in ft[c]] for k, c in (("row", "a"), ("column", "b"))}
    )
    order = {c: ft[c].drop_duplicates() for c in ("row", "dataset")}
    out = ft.pivot(index=["row", "dataset"], columns="column", values="symbols").fillna("")
    return out.reindex(pd.MultiIndex.from_product(order.values(), names=order))


def finetuning_verdicts(pairs: pd.DataFrame) -> pd.Series:
    """Paired verdicts on fine-tuning against the other learners on the same backbone."""
    pairs = either_way(pairs, ["paired"]).drop_duplicates(["dataset", "a", "b"])
    ft = pairs[[a[1] == "ft" and a[0] == b[0] for a, b in zip(pairs["a"], pairs["b"])]]
    names = {1: "fine-tuning better", 0: "inconclusive", -1: "fine-tuning worse"}
    counts = {name: (ft["paired"] == verdict).sum() for verdict, name in names.items()}
    return pd.Series({"pairs": len(ft), **counts})


def _table(
    dataset,
    backbone,
    learner,
    sampling,
    size,
    *,
    tasks=600,
    max_tasks=None,
    ft_tasks=100,
    ft_open=None,
    fine_tuning="stored",
    **shape,
) -> pd.DataFrame | None:
    """Results of one setting; None for fine-tuning that is not at hand and not to be run."""
    closed, opened = (ft_tasks, ft_open) if learner == "ft" else (tasks, max_tasks)
    shape |= dict(zip(("shots", "queries"), size), tasks=closed if sampling == "closed" else opened)
    stored = learner == "ft" and fine_tuning == "stored"
    result = evaluation.evaluate_setting(
        dataset, backbone, learner, sampling, stored=stored, **shape
    )
    return None if result is None else result.table
