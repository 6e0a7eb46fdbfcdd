"""Choosing a learner or a setting for each task: Figures 4, 5 and 8, Tables 4 and 5 of Shimabucoro
et al. (2024).

All start from the table of `fslbook.evaluators.estimates.collect`, in which every candidate ran on
the same tasks. A candidate is a method, or one method with another setting (`grid`). An estimator
sees a task's support and names the candidate with the highest estimate; the oracle gives its
accuracy. Accuracies are in percent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from fslcore import evaluation, stats
from fslcore.errors import InputError
from fslcore.evaluation import Method
from fslcore.tasks import Tasks, sample_all_classes
from fslcore.tasks.resplits import BootstrapFailed

from .. import published
from ..catalogue import LEARNER_TITLES
from ..checks import DATASETS
from ..contributed import Pack
from ..estimation import resampled
from ..estimation.ranks import rank_correlation, selected_value
from ..estimation.resampled import ESTIMATORS, ORACLE
from ..reported import each
from . import estimates
from .estimates import FRESH, HALVES, KEYS

ALWAYS = "best on average"
ANY = "at random"
DEFAULT = "default"
TUNED = "5-fold"
FIVE = "5 learners"  # the paper's
JUDGES = (*ESTIMATORS, FRESH)
DIGITS = 6  # printed means have two decimals
EVEN = "even folds"  # with equally many images of each class; not in the paper


def grid(
    sets: Sequence[str], method: str, setting: str, values: Sequence, **options
) -> pd.DataFrame:
    """`fslbook.evaluators.estimates.collect` of one method with each value of a setting; they are
    the candidates.

    Parameters
    ----------
    sets : sequence of str
    method : str
        As for `fslcore.evaluation.Method.parse`.
    setting : str
        An argument of its learner: 'C' of lr, 'steps' of maml.
    values : sequence
        At least two.
    options
        Of `collect`.

    Returns
    -------
    DataFrame
        As `collect` gives it; the column ``method`` reads 'C = 10'.
    """
    tables = []
    for value in values:
        table = estimates.collect(sets, [method], settings={setting: value}, **options)
        tables.append(table.assign(method=f"{setting} = {value:g}"))
    return pd.concat(tables, ignore_index=True)


def _grids(table, names):
    """Data set by data set: its name, tasks, and for each name the accuracies (T, M) of all
    candidates.

    Of the tasks that all candidates of the data set ran on: slow ones run on the first few.
    """
    for dataset, part in table.groupby("dataset", sort=False):
        wide = part.pivot(index="task", columns="method", values=list(names)).dropna()
        if wide.columns.get_level_values("method").nunique() < 2:
            raise InputError(
                f"methods of {dataset} must be at least 2 candidates to choose from, got "
                f"{part['method'].iloc[0]} alone"
            )
        yield dataset, wide.index.to_numpy(), {name: wide[name] for name in names}


def ranks(
    table: pd.DataFrame,
    names: Sequence[str] = JUDGES,
    candidates: str = "learners",
    empty: float = 0.0,
) -> pd.DataFrame:
    """Figure 4: Spearman's rank correlation of each estimator with the oracle over the candidates,
    task by task.

    Parameters
    ----------
    table : DataFrame
        Of `fslbook.evaluators.estimates.collect` or `grid`.
    names : sequence of str
        Its columns to rank by.
    candidates : str
        What they are; goes to the column ``method``.
    empty : float
        What stands where the estimates or the oracle rank all candidates equal: 0, as no order was
        found. NaN to see where that is.

    Returns
    -------
    DataFrame
        dataset, method, task and a column per name, as `fslbook.evaluators.estimates.means` takes
        it.
    """
    tables = []
    for dataset, tasks, by in _grids(table, [ORACLE, *names]):
        correlations = {
            name: np.nan_to_num(rank_correlation(by[name], by[ORACLE]), nan=empty) for name in names
        }
        ids = {
            "dataset": dataset,
            "method": f"{by[ORACLE].shape[1]} {candidates}",
            "task": tasks,
        }
        tables.append(pd.DataFrame({**ids, **correlations}))
    return pd.concat(tables, ignore_index=True)


def undefined(table: pd.DataFrame, names: Sequence[str] = JUDGES) -> pd.DataFrame:
    """How many tasks (percent) have no rank correlation, and its mean over the others, by dataset
    and estimator."""
    correlations = ranks(table, names, empty=np.nan).set_index("dataset")[list(names)]
    correlations.columns.name = "estimator"
    by = correlations.groupby("dataset", sort=False)
    columns = {
        "undefined (%)": by.agg(lambda c: 100 * c.isna().mean()),
        "mean of the others": by.mean(),
    }
    return pd.concat(columns, axis=1).stack("estimator", future_stack=True)


def picks(
    table: pd.DataFrame,
    names: Sequence[str] = ESTIMATORS,
    *,
    default: str | None = None,
    candidates: str = "learners",
) -> pd.DataFrame:
    """Accuracy (oracle) of the candidate that each rule takes, task by task; ties in equal shares.

    Rules besides the estimators: `FRESH`, the best on as many new images as the support has, and
    the oracle itself; `ALWAYS` takes one candidate for all tasks, that with the best mean on the
    other half of the tasks (those of even number for the odd ones, and the reverse), so it has no
    hindsight; `ANY` is the mean of all.

    Parameters
    ----------
    table, names, candidates
        As for `ranks`.
    default : str, optional
        The candidate that is in use if nothing is chosen, 'C = 1' say. It is kept wherever it ties
        for the first place, and has the column `DEFAULT`.

    Returns
    -------
    DataFrame
        dataset, method, task and a column per rule, in percent, as
        `fslbook.evaluators.estimates.means` takes it.

    Raises
    ------
    InputError
        One candidate only; ``default`` is none of them.
    """
    tables = []
    for dataset, tasks, by in _grids(table, [ORACLE, FRESH, *names]):
        oracle = by[ORACLE]
        if default is not None and default not in oracle:
            raise InputError(f"default = {default}; {', '.join(oracle)} are the candidates")
        at = None if default is None else oracle.columns.get_loc(default)
        rules = {} if default is None else {DEFAULT: oracle[default]}
        rules |= {name: selected_value(by[name], oracle, at) for name in names}
        rules |= {
            ALWAYS: _always(oracle),
            ANY: oracle.mean(axis=1),
            FRESH: selected_value(by[FRESH], oracle, at),
        }
        rules |= {ORACLE: oracle.max(axis=1)}
        ids = {"dataset": dataset, "method": f"{oracle.shape[1]} {candidates}", "task": tasks}
        tables.append(
            pd.DataFrame({**ids, **{name: np.asarray(column) for name, column in rules.items()}})
        )
    return pd.concat(tables, ignore_index=True)


def _always(oracle):
    """(T,) accuracy of the candidate that is best on average over the tasks of the other parity."""
    odd = np.arange(len(oracle)) % 2
    best = [int(oracle[odd != parity].to_numpy().mean(axis=0).argmax()) for parity in (0, 1)]
    return oracle.to_numpy()[np.arange(len(oracle)), np.take(best, odd)]


def optimism(table: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """The chance part of the oracle's choice: its accuracy on the queries used for choosing, and on
    other queries.

    Parameters
    ----------
    table : DataFrame
        Of `fslbook.evaluators.estimates.collect` with ``halves``.

    Returns
    -------
    DataFrame
        By dataset: ``same half`` and ``other half``, the accuracy on the half chosen by and on the
        other one, mean of both ways around; their difference with its paired half_width; and ``rank
        correlation`` of the halves.
    """
    rows = {}
    for dataset, _, by in _grids(table, HALVES):
        a, b = (by[name] for name in HALVES)
        same_half = (a.max(axis=1) + b.max(axis=1)) / 2
        other_half = (selected_value(a, b) + selected_value(b, a)) / 2
        r = stats.paired_interval(same_half, other_half, level)
        rows[dataset] = {
            "same half": same_half.mean(),
            "other half": other_half.mean(),
            "difference": r.estimate,
            "half_width": r.half_width,
            "rank correlation": np.nan_to_num(rank_correlation(a, b)).mean(),
        }
    return pd.DataFrame(rows).T


def differences_from(
    picked: pd.DataFrame, base: str, names: Sequence[str], level: float = 0.95
) -> pd.DataFrame:
    """Paired differences, rules minus ``base``, as of `fslbook.evaluators.estimates.biases` (Holm
    over all rows)."""
    return estimates.paired(picked, names, lambda t, name: (t[name], t[base]), level)


def decided_cases(verdicts: pd.Series) -> tuple[int, int] | None:
    """How many significant differences are above 0, and how many there are.

    None if fewer than half of all differences are significant.

    Parameters
    ----------
    verdicts : Series
        1, 0 or -1, as in the column ``verdict`` of `differences_from`.
    """
    significant = verdicts[verdicts != 0]
    if 2 * len(significant) < len(verdicts):
        return None
    return int((significant == 1).sum()), len(significant)


def favoured(verdicts: pd.Series, none: str) -> str:
    """'2 of 3': how many significant differences are above 0; the word ``none`` if none is significant."""
    significant = verdicts[verdicts != 0]
    return f"{(significant == 1).sum()} of {len(significant)}" if len(significant) else none


def first_kind(scores: pd.DataFrame, names: Sequence[str], level: float = 0.95) -> pd.DataFrame:
    """By data set, the best of some estimators minus the best of the others, task by task.

    Parameters
    ----------
    scores : DataFrame
        Of `ranks` or `picks`.
    names : sequence of str
        Some of `ESTIMATORS`. The best has the highest mean over the tasks of the data set.

    Returns
    -------
    DataFrame
        As of `differences_from`.
    """
    others = [name for name in ESTIMATORS if name not in names]
    of_kinds = []
    for _, of_dataset in scores.groupby("dataset", sort=False):
        means = of_dataset[list(ESTIMATORS)].mean()
        best, rival = means[list(names)].idxmax(), means[others].idxmax()
        kinds = {"these": of_dataset[best], "others": of_dataset[rival]}
        of_kinds.append(of_dataset[["dataset", "method", "task"]].assign(**kinds))
    return differences_from(pd.concat(of_kinds), "others", ["these"], level)


def even_folds(shots: int) -> str:
    """The estimator '4-fold' for 8 shots: the most folds, up to five, that hold equally many images
    of each class.

    A prime number of shots above five has that many folds. One shot cannot be divided: its two
    folds are uninformative."""
    return f"{max((k for k in range(2, 6) if shots % k == 0), default=max(shots, 2))}-fold"


def _five(images):
    """5-fold, or as many folds as there are images."""
    return f"{min(5, images)}-fold"


def by_shots(
    sets: Sequence[str],
    method: str,
    setting: str,
    values: Sequence,
    default: str,
    *,
    ways: Sequence[int],
    shots: Sequence[int],
    queries: int,
    **options,
) -> pd.DataFrame:
    """Figure 8: with a setting tuned for each task, and not, for each number of ways and shots.

    With fewer shots the tasks have more queries, so that S + Q + S is the same throughout: then
    classes and tasks are the same for all shots, and a smaller support is part of a larger one.

    Parameters
    ----------
    sets, method, setting, values
        As for `grid`.
    default : str
        As for `picks`.
    queries : int
        Q at the most shots.
    options
        Of `fslbook.evaluators.estimates.collect`.

    Returns
    -------
    DataFrame
        dataset, ways, shots, task, and in percent the accuracy at the ``default``, tuned by `TUNED`
        (with as many folds as images, where these are fewer than five) and by `EVEN`, and with the
        value that is best on average.
    """
    run = partial(grid, sets, method, setting, values, **options)
    images = 2 * max(shots) + queries
    tables = [
        _by_rule(run, default, ways=k, shots=s, queries=images - 2 * s)
        for k, s in product(ways, shots)
    ]
    return pd.concat(tables, ignore_index=True)


def _by_rule(run, default, **shape):
    """`by_shots` at one number of ways and shots."""
    ways, shots = shape["ways"], shape["shots"]
    five, even = _five(ways * shots), even_folds(shots)
    names = list(dict.fromkeys([five, even]))
    table = picks(run(names=names, **shape), names, default=default)
    table[EVEN], table[TUNED] = table[even], table[five]
    columns = ["dataset", "ways", "shots", "task", DEFAULT, TUNED, EVEN, ALWAYS]
    return table.assign(ways=ways, shots=shots)[columns]


def all_classes(
    sets: Sequence[str],
    method: str,
    shots: Sequence[int],
    *,
    tasks: int = 10,
    seed: int = 0,
    rounds: int = 30,
    largest: int = 100,
) -> pd.DataFrame:
    """Figure 5: estimates on tasks of all classes of a data set, tested on all its other images.

    Where the release of a data set has a test part, it is the query set, and supports are of its
    other images.

    Parameters
    ----------
    sets : sequence of str
    method : str
        As for `fslcore.evaluation.Method.parse`.
    shots, tasks, seed
        As for `fslcore.tasks.sample_all_classes`.
    rounds : int
        Of the bootstrap.
    largest : int
        Largest support for leave-one-out, which fits as many models as there are images.

    Returns
    -------
    DataFrame
        dataset, ways, shots, task, oracle, `ESTIMATORS` and `EVEN`, in percent; NaN where there is
        none.
    """
    tables = []
    for dataset in sets:
        run = evaluation.configure(dataset, *Method.parse(method))
        for count in shots:
            sampled = _of_all_classes(run.source, shots=count, tasks=tasks, seed=seed)
            options = dict(rounds=rounds, seed=seed)
            table = _estimates_of(run, sampled, count, largest, options)
            tables.append(table.assign(dataset=dataset, ways=sampled.ways, shots=count))
    columns = ["dataset", "ways", "shots", "task", ORACLE, *ESTIMATORS, EVEN]
    return pd.concat(tables, ignore_index=True).reindex(columns=columns)


def _estimates_of(run, tasks, shots, largest, options):
    images = tasks.support.shape[1]
    five, even = _five(images), even_folds(shots)
    names = [ORACLE, "hold-out"]
    if shots > 1:
        names.append("bootstrap")
    if images <= largest:
        names.append("leave-one-out")
    names += dict.fromkeys([five, even])
    try:
        table = resampled.run(run, tasks, names, **options)
    except BootstrapFailed:  # of a hundred classes with two images each, a draw holds all but never
        names.remove("bootstrap")
        table = resampled.run(run, tasks, names, **options)
    table[EVEN], table[TUNED] = table[even], table[five]
    return (100 * table).reset_index()


def _of_all_classes(source, *, shots, tasks, seed):
    labels, facts = source.labels, source.facts
    part = None if facts is None or "part" not in facts else facts["part"].to_numpy()
    if part is None or set(part) <= {"test"} or "test" not in part:
        return sample_all_classes(labels, shots=shots, tasks=tasks, seed=seed)
    train, test = np.flatnonzero(part != "test"), np.flatnonzero(part == "test")
    sampled = sample_all_classes(labels[train], shots=shots, tasks=tasks, seed=seed)
    query = np.tile(test, (tasks, 1))
    label = np.tile(np.searchsorted(np.unique(labels[train]), labels[test]), (tasks, 1))
    sampler = {**sampled.sampler, "queries": "test"}
    return Tasks(train[sampled.support], sampled.support_label, query, label, sampled.ways, sampler)


def curves(table: pd.DataFrame, panels: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Means over tasks against shots, as `fslbook.evaluators.figures.shot_panels` takes them.

    Parameters
    ----------
    table : DataFrame
        Columns dataset, ways and shots.
    panels : dict
        Title of a panel → values of the rows of ``table``, a column per rule.

    Returns
    -------
    DataFrame
        dataset, panel, ways, rule, shots, mean, error (one standard error); without rows that have
        no value.
    """
    by = ["dataset", "panel", "ways", "rule", "shots"]
    parts = [
        pd.concat([table[["dataset", "ways", "shots"]], values], axis=1)
        .melt(["dataset", "ways", "shots"], var_name="rule")
        .assign(panel=title)
        for title, values in panels.items()
    ]
    groups = pd.concat(parts).dropna().groupby(by, sort=False)["value"]
    return groups.agg(mean="mean", error="sem").reset_index()


def exponents(table: pd.DataFrame, estimator: str = EVEN, level: float = 0.95) -> pd.DataFrame:
    """Fitted exponents of the error in the variance p (1 - p) of a single test and in n, and those
    of chance alone.

    A test of an unbiased estimator on n images is off by √(2 p (1 - p) / (π n)) on average. So in
    log(mean absolute error) = c + a log(p (1 - p)) + b log n, by least squares over the settings
    (data set and shots, 2 or more), chance alone has a = ½ and b = -½.

    Parameters
    ----------
    table : DataFrame
        Of `all_classes`.
    estimator : str
        One of its columns, which tests each support image once.

    Returns
    -------
    DataFrame
        Rows p (1 - p) and n: exponent, low and high of its interval, chance, and ``alone``: the
        share of the variance of log(error) that this factor explains by itself.
    """
    t = table[table["shots"] > 1].assign(error=lambda t: (t[estimator] - t[ORACLE]).abs())
    t = t.groupby(["dataset", "ways", "shots"], sort=False)[["error", ORACLE]].mean().reset_index()
    p = t[ORACLE] / 100
    t = t.assign(
        error=np.log(t["error"]),
        spread=np.log(p * (1 - p)),
        size=np.log(t["ways"] * t["shots"]),
    )
    fit = smf.ols("error ~ spread + size", t).fit()
    ends = fit.conf_int(1 - level)
    rows = {
        name: {
            "exponent": fit.params[column],
            "low": ends.loc[column, 0],
            "high": ends.loc[column, 1],
            "chance": chance,
            "alone": smf.ols(f"error ~ {column}", t).fit().rsquared,
        }
        for name, column, chance in (("p (1 − p)", "spread", 0.5), ("n", "size", -0.5))
    }
    return pd.DataFrame(rows).T


def printed(table: int) -> pd.DataFrame:
    """Table 4 or 5 of the paper in the form of `fslbook.evaluators.estimates.means`.

    In Table 4 the columns are `DEFAULT` and '5-fold'. To Table 5 `ALWAYS` and `ANY` are added from
    Table 1: the best of the five learners, by hindsight, and their mean."""
    read = published.table(table, "evaluators")
    if table == 4:
        read = read.assign(
            estimator=read["tuned"].map({"no": DEFAULT, "yes": TUNED}),
            method=read["learner"].map(LEARNER_TITLES),
        )
    else:
        read["method"] = FIVE
    read["dataset"] = read["dataset"].map(DATASETS)
    read = read[[*KEYS, "estimator", "mean", "half_width"]]
    if table == 5:
        alone = estimates.printed(1).query("estimator == @ORACLE").groupby("dataset", sort=False)
        best = alone.apply(
            lambda t: t.loc[t["mean"].idxmax(), ["mean", "half_width"]], include_groups=False
        )
        mean = alone["mean"].mean().to_frame()
        from_table_1 = [
            t.assign(method=FIVE, estimator=name).reset_index()
            for name, t in ((ALWAYS, best), (ANY, mean))
        ]
        read = pd.concat([read, *from_table_1], ignore_index=True)
    return read.astype({"mean": float, "half_width": float})


def own_cells(
    number: int, picked: pd.DataFrame, methods: Sequence[str], level: float = 0.95
) -> pd.DataFrame:
    """Table 4 or 5 on the paper's own data, by networks trained as it has them, beside the printed
    cells.

    Parameters
    ----------
    number : int
        Of the table.
    picked : DataFrame
        Of `picks`; for Table 4 with 'Baseline' or 'MAML' in the column ``method``.
    methods, level
        As for `fslbook.evaluators.estimates.own_cells`.
    """
    rules = (DEFAULT, TUNED) if number == 4 else (ORACLE, *ESTIMATORS)
    theirs = printed(number).query("estimator in @rules")
    return estimates.own_cells(picked[[*KEYS, "task", *rules]], number, methods, level, theirs)


def reported(level: float = 0.95, **shape: int) -> pd.DataFrame:
    """Table 5 as others report it, beside the printed cells; ``shape`` as for
    `estimates.contributed_table`."""

    def cells(pack: Pack) -> pd.DataFrame:
        table = estimates.contributed_table(pack, **shape)
        five = (
            table.groupby("dataset").filter(lambda t: f"{t['method'].nunique()} learners" == FIVE)
            if len(table)
            else table
        )
        return own_cells(5, picks(five), [estimates.NETWORKS], level) if len(five) else five

    return each(cells)


def tally(differences: pd.DataFrame) -> str:
    """'2 of 9 better, 1 worse; −0.3 to +1.2 points', from the form of `differences_from`."""
    up, down = ((differences["verdict"] == sign).sum() for sign in (1, -1))
    ends = (f"{differences['mean'].agg(f):+.1f}".replace("-", "−") for f in ("min", "max"))
    return f"{up} of {len(differences)} better, {down} worse; " + " to ".join(ends) + " points"


def findings(
    picked: pd.DataFrame, tuned: dict[str, pd.DataFrame], level: float = 0.95
) -> pd.DataFrame:
    """The paper's findings on choosing: in how many comparisons (data sets, estimators) each holds,
    there and here.

    Printed means are compared as they stand. Here differences are paired, and corrected by Holm's
    method over the comparisons of a row.

    Parameters
    ----------
    picked : DataFrame
        Of `picks` among learners.
    tuned : dict
        'Baseline' and 'MAML', or one of them, to `picks` among settings, with a default.
    """
    printed_5, printed_4 = printed(5), printed(4)
    many = ["leave-one-out", "bootstrap"]
    comparisons = {
        "Resampling chooses better than hold-out": ([TUNED, *many], "hold-out"),
        "Leave-one-out and bootstrap choose better than 5-fold": (many, TUNED),
        "Estimators come up to the oracle": (ESTIMATORS, ORACLE),
        "… to as many fresh images": (ESTIMATORS, FRESH),
        "Choosing beats the learner that is best on average": (ESTIMATORS, ALWAYS),
        "Choosing beats a learner at random": (ESTIMATORS, ANY),
    }
    rows = {name: _counts(printed_5, picked, *rules, level) for name, rules in comparisons.items()}
    for name, setting in (("Baseline", "the regularisation"), ("MAML", "MAML's steps")):
        if name in tuned:
            data = printed_4[printed_4["method"] == name], tuned[name], [TUNED]
            rows[f"Tuning {setting} by 5-fold helps"] = _counts(*data, DEFAULT, level)
            rows[f"… beats one value for all tasks ({name})"] = _counts(*data, ALWAYS, level)
    return pd.DataFrame(rows, index=["printed", "here"]).T.rename_axis("finding")


def _counts(theirs, ours, names, base, level):
    """`tally` of these rules against another one, as printed and here."""
    mean = theirs.pivot(index="dataset", columns="estimator", values="mean")
    text = tally(differences_from(ours, base, names, level))
    if base not in mean:
        return "—", text
    gap = pd.concat([mean[name] - mean[base] for name in names])
    return tally(pd.DataFrame({"mean": gap, "verdict": np.sign(gap.round(DIGITS))})), text
