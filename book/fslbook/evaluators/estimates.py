"""How accurately estimators predict the accuracy on a task: tables and figures of Shimabucoro et
al. (2024).

`collect` runs methods on tasks and keeps, a row per task, the accuracy by the oracle, as each
estimator puts it, and on a *fresh* test set as large as the support. All else is arithmetic on that
table. Accuracies and errors are in percent (points). A method is a backbone and a learner, written
with a space between them: ``conv4-protonet protonet``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from fslcore import datasets, evaluation, stats
from fslcore.errors import InputError
from fslcore.evaluation import Method
from fslcore.stats.formatting import format_interval
from fslcore.tasks import LEAVE_ONE_OUT_REFILLED, Tasks

from .. import published
from ..catalogue import LEARNER_TITLES, method_title
from ..cells import listed
from ..checks import DATASETS
from ..contributed import RESPLIT, Pack
from ..estimation import fresh_test_sets, resampled
from ..estimation.fresh_test_sets import FRESH
from ..estimation.resampled import ESTIMATORS, ORACLE
from ..reported import each

HALVES = ("even queries", "odd queries")  # of each class, so that both are balanced
KEYS = ["dataset", "method"]
SHAPE = {"ways": 5, "shots": 5, "queries": 15, "tasks": 600}  # of tasks, by default
FINDINGS = (
    "5-fold is best",
    "leave-one-out is low",
    "bootstrap is low",
    "5-fold is far off",
    "fresh is far off",
)
SIGNS = {
    1: "+",
    0: "0",
    -1: "−",
}
NETWORKS = "trained:evaluators/"  # those that are trained as the paper has them


def collect(
    sets: Sequence[str],
    methods: Sequence[str],
    *,
    seed: int = 0,
    settings: dict | None = None,
    **options,
) -> pd.DataFrame:
    """Accuracy of each task by the oracle, by estimators, and on a fresh test set of the support's
    size.

    The tasks are closed ones. Each has S more queries per class than ``queries``; these are the
    fresh test set, and the oracle does not see them.

    Parameters
    ----------
    sets, methods : sequences of str
        Data sets as for `fslcore.evaluation.load_images_or_features`; methods as for
        `fslcore.evaluation.Method.parse`.
    ways, shots, queries, tasks, seed
        As for `fslcore.tasks.sample_closed`; classes with too few images are left out.
    image_tasks : int
        Learners that read images are slow: they run on this many of the first tasks.
    rounds : int
        Of the bootstrap.
    names : sequence of str
        Estimators, as for `fslcore.tasks.resplit`.
    stored : bool
        Compute nothing for learners that read images, and leave out those of which no results are
        kept.
    settings : dict, optional
        Arguments of the learners, {'C': 10} say.
    halves : bool
        Add the accuracy on each of the `HALVES` of the query.

    Returns
    -------
    DataFrame
        dataset, method, task, oracle, the names, fresh; accuracies in percent.

    Raises
    ------
    InputError
        What `Method.parse`, the loaders, samplers and estimators raise.
    """
    shape = {name: options.pop(name, default) for name, default in SHAPE.items()}
    tables = []
    for dataset in sets:
        source = evaluation.load_images_or_features(dataset)
        sampled = draw(source, seed=seed, **shape)
        for method in map(Method.parse, methods):
            run = evaluation.configure(source, *method, **(settings or {}))
            table = _estimates(run, *sampled, seed, **options)
            if table is not None:
                table = (100 * table).reset_index()
                tables.append(table.assign(dataset=dataset, method=method_title(*method)))
    if not tables:
        raise InputError(f"methods = {methods}; no results of them are at hand")
    table = pd.concat(tables, ignore_index=True)
    return table[[*KEYS, *table.columns.drop(KEYS)]]


def _estimates(
    run,
    sampled,
    new,
    seed,
    *,
    image_tasks=100,
    rounds=30,
    names=ESTIMATORS,
    stored=True,
    halves=False,
):
    """The accuracies of `collect`, or None if not all results are kept."""
    if run.slow:
        sampled = sampled[:image_tasks]
        new = new[:image_tasks]
    options = dict(rounds=rounds, seed=seed, stored=stored and run.slow)
    table = resampled.run(run, sampled, [ORACLE, *names], **options)
    on_new = resampled.run(run, new, [ORACLE], **options)
    if table is None or on_new is None:
        return None
    table[FRESH] = on_new[ORACLE]
    if halves:
        correct = run.outcomes(sampled, stored=True).by_class()
        for i, half in enumerate(HALVES):
            table[half] = correct[..., i::2].mean(axis=(1, 2))
    return table


def draw(source: datasets.Source, **shape: int | Sequence[int]) -> tuple[Tasks, Tasks]:
    """The tasks of `collect`: with the queries of the oracle, and the same with the fresh test set;
    as `fresh_test_sets.draw`."""
    labels = source.classes if source.needs_backbone else source.labels
    return fresh_test_sets.draw(labels, fresh_test_sets.parts_of(source), **shape)


def own_cells(
    table: pd.DataFrame,
    number: int,
    methods: Sequence[str],
    level: float = 0.95,
    theirs: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """A table of the paper on its own data, by networks trained as it has them, beside the printed
    cells.

    The three sets of Meta-Album, each tested on once, count as one data set, of all their tasks.

    Parameters
    ----------
    table : DataFrame
        Of `collect`.
    number : int
        1, 4, 5 (means), 2 or 3 (mean absolute errors).
    methods : sequence of str
        As for `collect`. Nothing is compared unless `fslbook.training.train_paper` made the
        networks of all.
    theirs : DataFrame, optional
        The printed cells, by default those of `printed`.

    Returns
    -------
    DataFrame
        As of `fslbook.published.comparison`.
    """
    pooled = table.assign(
        dataset=table["dataset"].str.replace(r"^meta-album\?test_set=\d$", "meta-album", regex=True)
    )
    live = maes(pooled, level) if number in (2, 3) else means(pooled, level)
    theirs = printed(number) if theirs is None else theirs
    live, theirs = (cells.rename(columns={"mae": "mean"}) for cells in (live, theirs))
    names = DATASETS if all(name.startswith(NETWORKS) for name in methods) else {}
    return published.comparison(live, theirs, level, names.get)


def contributed_table(pack: Pack, **shape: int) -> pd.DataFrame:
    """The table of `collect` as a contributed file has it, by networks trained as the paper has
    them.

    Parameters
    ----------
    pack : Pack
    **shape
        ways, shots, queries, seed and rounds.
    """
    tables = []
    for row, accuracies in pack.arrays:
        same_shape = {name: row[name] for name in shape} == shape and row["sampling"] == "re-split"
        if same_shape and row["backbone"].startswith(NETWORKS):
            table = (
                pd.DataFrame(100 * accuracies, columns=list(RESPLIT))
                .rename_axis("task")
                .reset_index()
            )
            name = method_title(row["backbone"], row["learner"])
            tables.append(table.assign(dataset=row["dataset"], method=name)[[*KEYS, *table]])
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def reported(number: int, level: float = 0.95, **shape: int) -> pd.DataFrame:
    """Table 1 or 2 as others report it, beside the printed cells; ``shape`` as for
    `contributed_table`."""

    def cells(pack: Pack) -> pd.DataFrame:
        table = contributed_table(pack, **shape)
        return own_cells(table, number, [NETWORKS], level) if len(table) else table

    return each(cells)


def by_shots(dataset: str, methods: Sequence[str], shots: Sequence[int], **options) -> pd.DataFrame:
    """`collect` at each number of shots, in a column ``shots`` (Figure 3).

    At one shot there is no bootstrap: a draw that holds every class holds every image, and leaves
    none to test on."""
    tables = []
    for s in shots:
        names = [n for n in ESTIMATORS if s > 1 or n != "bootstrap"]
        tables.append(collect([dataset], methods, shots=s, names=names, **options).assign(shots=s))
    return pd.concat(tables, ignore_index=True)


def by_ways(
    dataset: str, methods: Sequence[str], ways: Sequence[int], size: int, **options
) -> pd.DataFrame:
    """`collect` with leave-one-out at each number of ways, the support ``size`` images each time
    (Figure 7, right).

    Raises
    ------
    InputError
        A number of ways that does not divide ``size``.
    """
    odd = [k for k in ways if size % k]
    if odd:
        raise InputError(f"ways = {odd[0]}; it must divide the {size} support images")
    names = ["leave-one-out", LEAVE_ONE_OUT_REFILLED]
    tables = []
    for k in ways:
        # One image a class has no other to take its place.
        estimators = names if size > k else names[:1]
        tables.append(
            collect(
                [dataset], methods, ways=k, shots=size // k, names=estimators, **options
            ).assign(ways=k)
        )
    return pd.concat(tables, ignore_index=True)


def errors(table: pd.DataFrame) -> pd.DataFrame:
    """Long form: the columns that are no accuracy, estimator, accuracy, and error = accuracy -
    oracle (points)."""
    keys = [c for c in table if c in ("dataset", "method", "task", "shots", "ways", ORACLE)]
    out = table.melt(keys, var_name="estimator", value_name="accuracy").dropna(subset="accuracy")
    return out.assign(error=out["accuracy"] - out[ORACLE])


def means(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Table 1: dataset, method, estimator (the oracle too), mean and half_width of the closed
    interval, tasks."""
    long = table.melt([*KEYS, "task"], var_name="estimator", value_name="accuracy")
    return _by(long, "accuracy", level)


def maes(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """Tables 2 and 3: dataset, method, estimator, mean absolute error (``mae``), half_width of its
    closed interval."""
    long = errors(table).eval("size = abs(error)")
    return _by(long, "size", level).rename(columns={"mean": "mae"})


def share_far_off(table: pd.DataFrame, points: float = 10, level: float = 0.95) -> pd.DataFrame:
    """Share of tasks (percent) where an estimator is off by more than so many points, with its
    closed interval."""
    long = errors(table)
    long["far"] = 100.0 * (long["error"].abs() > points)
    return _by(long, "far", level)


def _by(long, column, level):
    rows = []
    for key, part in long.groupby([*KEYS, "estimator"], sort=False):
        r = stats.closed_task_interval(part[column], level)
        rows.append((*key, r.estimate, r.half_width, r.n))
    return pd.DataFrame(rows, columns=[*KEYS, "estimator", "mean", "half_width", "tasks"])


def biases(
    table: pd.DataFrame, names: Sequence[str] = ESTIMATORS, level: float = 0.95
) -> pd.DataFrame:
    """Bias of each estimator: paired differences estimate - oracle.

    Returns
    -------
    DataFrame
        dataset, method, estimator, mean, half_width (points), p_value, tasks and ``verdict``: -1, 0
        or +1 by Holm's correction over all rows at once.
    """
    return paired(table, names, lambda t, name: (t[name], t[ORACLE]), level)


def error_differences(
    table: pd.DataFrame,
    best: str = "5-fold",
    names: Sequence[str] = ESTIMATORS,
    level: float = 0.95,
) -> pd.DataFrame:
    """Paired differences of absolute errors, other - best, to test whether the error of one
    estimator is the smallest.

    Returns
    -------
    DataFrame
        As for `biases`; +1 where the other's error is larger.
    """

    def pair(t, name):
        return (t[name] - t[ORACLE]).abs(), (t[best] - t[ORACLE]).abs()

    return paired(table, [n for n in names if n != best], pair, level)


def paired(table: pd.DataFrame, names: Sequence[str], pair, level: float = 0.95) -> pd.DataFrame:
    """Paired differences over tasks, in the form of `biases`.

    Parameters
    ----------
    table : DataFrame
        dataset, method, task and columns to compare.
    names : sequence of str
        What goes to the column ``estimator``.
    pair : callable
        From a table of one dataset and method, and a name, to the two columns whose difference it
        is.
    """
    rows = []
    for (key, part), name in product(table.groupby(KEYS, sort=False), names):
        r = stats.paired_interval(*pair(part, name), level)
        rows.append((*key, name, r.estimate, r.half_width, r.p_value, r.n))
    out = pd.DataFrame(rows, columns=[*KEYS, "estimator", "mean", "half_width", "p_value", "tasks"])
    sure = stats.holm(out["p_value"]) < 1 - level
    return out.assign(verdict=np.where(sure, np.sign(out["mean"]), 0).astype(int))


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """`biases` or `error_differences` as a page shows them: 'mean ± half-width', a column per
    estimator; * by verdict."""
    mark = np.where(table["verdict"] != 0, "\u00a0*", "\u00a0\u2007")  # of equal width
    cell = pd.Series(format_interval(table["mean"], table["half_width"], spec="+.1f"), table.index)
    return _laid_out(table, cell.str.replace("-", "−") + mark)


def findings(table: pd.DataFrame, points: float = 10, level: float = 0.95) -> pd.DataFrame:
    """The paper's findings by method, here and as printed, a symbol per data set.

    Here, differences are paired and Holm-corrected, and shares of tasks have their intervals: '+'
    the finding holds, '−' its contrary does, '0' neither is significant. Printed numbers are
    compared as they stand; '·' where nothing is printed.
    """
    best = by_estimator(error_differences(table, level=level), "verdict").min(axis=1)
    bias = by_estimator(biases(table, level=level), "verdict")
    share = share_far_off(table, points, level)
    excess = share["mean"] - 50
    verdict = np.sign(excess).where(excess.abs() > share["half_width"], 0)
    most = by_estimator(share.assign(verdict=verdict), "verdict")
    cells = {"here": _symbols(best, -bias, most["5-fold"], most[FRESH])}

    errors_there = by_estimator(printed(2), "mae")
    means_there = by_estimator(printed(1), "mean")
    best = (errors_there.idxmin(axis=1) == "5-fold").map({True: 1, False: -1})
    # Nothing is printed of single tasks, but one sentence about one data set.
    prose = best.index.to_frame()["dataset"].map({"miniImageNet": 1})
    bias = np.sign(means_there.sub(means_there[ORACLE], axis=0))
    cells["printed"] = _symbols(best, -bias, prose, prose * np.nan)
    methods = cells["here"].index
    both = pd.concat(cells).swaplevel().sort_index(level=1)
    return both.loc[methods.union(cells["printed"].index, sort=False)]


def _symbols(best, too_low, far_off, fresh_far_off):
    """Verdicts by data set and method as text by method, a symbol per data set."""
    columns = [
        best,
        too_low["leave-one-out"],
        too_low["bootstrap"],
        far_off,
        fresh_far_off,
    ]
    symbols = pd.concat(columns, axis=1, keys=FINDINGS).map(lambda sign: SIGNS.get(sign, "·"))
    return symbols.groupby(level="method", sort=False).agg(" ".join)


def by_estimator(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The values of a column by data set and method, in their order, a column per estimator."""
    rows = pd.MultiIndex.from_frame(table[KEYS].drop_duplicates())
    wide = table.pivot(index=KEYS, columns="estimator", values=column)
    return wide.reindex(index=rows, columns=table["estimator"].unique())


def curve(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean absolute error with its standard error against a column, ``shots`` or ``ways``, or
    against ``folds``.

    Returns
    -------
    DataFrame
        dataset, method, estimator, ``by``, mae, error (of one standard error).
    """
    long = errors(table)
    if by == "folds":
        folds = long["estimator"].str.extract(r"^(\d+)-fold$")[0].astype(float)
        long = long.assign(
            folds=folds, estimator=np.where(folds.isna(), long["estimator"], "K-fold")
        )
    groups = long.assign(size=long["error"].abs()).groupby(
        [*KEYS, "estimator", by], sort=False, dropna=False
    )["size"]
    return groups.agg(mae="mean", error="sem").reset_index()


def rises(curve: pd.DataFrame, by: str) -> list[str]:
    """Where the error of `curve` does not fall: a text for each method and step between two values
    of ``by``."""
    steps = curve.pivot(index=["method", "estimator"], columns=by, values="mae")
    texts = []
    for low, high in zip(steps.columns, steps.columns[1:]):
        for method, part in steps[steps[high] > steps[low]].groupby(level="method", sort=False):
            change = (
                f"{part[low].mean():.1f} points at {low}, {part[high].mean():.1f} at {high} {by}"
            )
            texts.append(f"{method} by {listed(part.index.unique('estimator'))} ({change})")
    return texts


def printed(table: int) -> pd.DataFrame:
    """Table 1, 2 or 3 of the paper in the form of `means` and `maes`; half_width is NaN where none
    is printed."""
    read = published.table(table, "evaluators")
    read = read.assign(
        dataset=read["dataset"].map(DATASETS), method=read["learner"].map(LEARNER_TITLES)
    )
    return read.reindex(columns=[*KEYS, "estimator", "mean" if table == 1 else "mae", "half_width"])


def rows(
    here: pd.DataFrame, printed: pd.DataFrame | None = None, row: str = "method"
) -> pd.DataFrame:
    """Tables of `means`, `maes`, `biases` or `error_differences` as `fslbook.figures.forest` draws
    them.

    A panel per data set, those of the paper after ours, a row per method and a series per
    estimator; or, with ``row="estimator"``, the other way round."""
    tables = (
        [here]
        if printed is None
        else [here, printed.assign(dataset=printed["dataset"] + ", as printed")]
    )
    table = pd.concat([t.rename(columns={"mae": "mean"}) for t in tables], ignore_index=True)
    series = "estimator" if row == "method" else "method"
    return table.rename(columns={"dataset": "panel", row: "row", series: "series"})


def wide(table: pd.DataFrame, digits: int = 1) -> pd.DataFrame:
    """A table of `means` or `maes` as text, a column per estimator; a dash where there is none."""
    value = table["mean"] if "mean" in table else table["mae"]
    return _laid_out(table, format_interval(value, table["half_width"], spec=f".{digits}f"))


def as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """A table of `printed` laid out as by `wide`, with the paper's digits: two, and three of a
    half-width."""
    value = table["mean"] if "mean" in table else table["mae"]
    half = table["half_width"].map(" ± {:.3f}".format).where(table["half_width"].notna(), "")
    return _laid_out(table, value.map("{:.2f}".format) + half)


def _laid_out(table, cell):
    """Cells by dataset and method, and by estimator, in order of appearance; a dash where there is
    none.

    A method that was run on fewer tasks than others says so.
    """
    if "tasks" in table and (few := table["tasks"] < table["tasks"].max()).any():
        count = " (" + table["tasks"].astype("Int64").astype(str) + " tasks)"
        table = table.assign(method=table["method"] + count.where(few, ""))
    out = by_estimator(table.assign(cell=cell), "cell")
    return out.fillna("—").rename_axis(columns=None)
