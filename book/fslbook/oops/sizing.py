"""The experiments on the number of queries per task: real sweeps, pilots and what they cost.

The name of a `Method`, or 'A − B' for a paired
difference, is in the column ``method`` of every table; variances are in squared points of accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
import pandas as pd

from fslbook.oops.difficulty import regression_interval, sample_by_difficulty, weighted_interval
from fslcore import evaluation, stats
from fslcore.datasets import Source
from fslcore.errors import InputError
from fslcore.evaluation import Method
from fslcore.stats.pilot import Pilot, moments
from fslcore.tasks import Tasks, sample_closed, sample_open

from . import gaussians, optima

__all__ = [
    "QUERIES",
    "by_difficulty",
    "by_method",
    "by_size",
    "by_target",
    "common_optima",
    "curve",
    "equal_optima",
    "gaussian_curve",
    "gaussian_optima",
    "gaussian_regrets",
    "minima",
    "pilot_values",
    "ratio_table",
    "recommended",
    "regret_rows",
    "regret_table",
    "sweep",
]

QUERIES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 100]


def sweep(
    datasets: list[str],
    methods: list[Method],
    shots: list[int],
    queries: list[int] = QUERIES,
    *,
    ways: int = 5,
    images: int = 60_000,
    seed: int = 0,
    skip_small_classes: bool = False,
) -> pd.DataFrame:
    """Open intervals for each Q, over several trials: one row a trial and method, and one a pair of methods.

    A trial draws tasks until the images are used up. Small data get more trials, about ``images`` images in
    all for each Q and at least 2 trials, with seeds ``seed``, ``seed`` + 1, …; all methods see the same tasks.
    A Q that some class cannot serve, or that leaves fewer than 2 tasks, is left out.

    Returns
    -------
    DataFrame
        dataset, method, shots, queries, trial, n_tasks, variance (s²/T, squared points), fourth (fourth
        central moment over T²), half_width (points, 95 %).
    """
    rows = []
    for dataset in datasets:
        source = evaluation.load_source(dataset)
        runs_of = _runs(source, methods)
        room = np.sort(np.bincount(source.labels))[-ways if skip_small_classes else 0]
        for s, q in product(shots, queries):
            if s + q > room or len(source.labels) < 4 * ways * (s + q):
                continue
            seeds = range(seed, seed + max(2, round(images / len(source.labels))))
            shape = dict(ways=ways, shots=s, queries=q, skip_small_classes=skip_small_classes)
            trials = [sample_open(source.labels, seed=i, **shape) for i in seeds]
            ends = np.cumsum([len(t) for t in trials])[:-1]
            values = _values(runs_of, _joined(trials))
            for method, v in _with_pairs(values).items():
                accuracy = 100 * v.mean(axis=(1, 2))
                for trial, part in enumerate(np.split(accuracy, ends)):
                    r = stats.open_interval(part)
                    t, square = r.n_tasks, part.var(ddof=1)
                    fourth = ((part - r.mean) ** 4).mean() * (t / (t - 1)) ** 2
                    rows.append((dataset, method, s, q, trial, t, square / t, fourth / t**2, r.half_width))
    columns = ["dataset", "method", "shots", "queries", "trial", "n_tasks", "variance", "fourth", "half_width"]
    return pd.DataFrame(rows, columns=columns)


def curve(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials of `sweep`, and the model fitted to them.

    Returns
    -------
    DataFrame
        dataset, method, shots, queries; n_tasks, variance, half_width; ``error`` of the variance, from the
        fourth moment; ``fitted``, the variance by the model, fitted with whole numbers of tasks; p_value of the
        fit's chi-square; trials.

    Raises
    ------
    InputError
        Fewer than 4 numbers of queries, of which no curve can be fitted.
    """
    groups = trials.groupby(["dataset", "method", "shots", "queries"], sort=False)
    out = groups[["n_tasks", "variance", "fourth", "half_width"]].mean().reset_index()
    out["trials"] = groups.size().to_numpy()
    tail = (out["fourth"] / out["variance"] ** 2 - 1).clip(lower=1)
    out["error"] = out["variance"] * np.sqrt(tail / groups["n_tasks"].sum().to_numpy())
    parts = []
    for (dataset, _, shots), part in out.groupby(["dataset", "method", "shots"], sort=False):
        if len(part) < 4:
            raise InputError(
                f"{dataset} holds open tasks at {shots} shots for {len(part)} numbers of queries only, and a curve "
                "needs 4: lower ways or shots, or leave this data set out"
            )
        q, t = part["queries"], part["n_tasks"]
        fit = optima.fit_variance(q, t, part["variance"], part["error"], shots)
        parts.append(part.assign(fitted=fit.model.variance(q, t), p_value=fit.p_value))
    return pd.concat(parts, ignore_index=True).drop(columns="fourth")


def minima(curves: pd.DataFrame, within: float = 1.05) -> pd.DataFrame:
    """Where the mean half-width is least, and how flat it is there.

    Parameters
    ----------
    curves : DataFrame
        From `curve`.

    Returns
    -------
    DataFrame
        dataset, method, shots; best (Q on the grid); low and high, the least and largest Q with at most
        ``within`` times the least half-width; half_width (points); at_15, the half-width at 15 queries over
        the least one (NaN where 15 is not on the grid).
    """
    rows = []
    for key, part in curves.groupby(["dataset", "method", "shots"], sort=False):
        width = part.set_index("queries")["half_width"]
        good = width.index[width <= within * width.min()]
        rows.append((*key, width.idxmin(), good.min(), good.max(), width.min(), width.get(15, np.nan) / width.min()))
    columns = ["dataset", "method", "shots", "best", "low", "high", "half_width", "at_15"]
    return pd.DataFrame(rows, columns=columns)


def pilot_values(
    datasets: list[str],
    methods: list[Method],
    shots: list[int],
    *,
    sampling: str = "closed",
    ways: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    runs: int = 1,
    seed: int = 0,
    skip_small_classes: bool = False,
) -> dict[tuple[str, int, int], dict[str, np.ndarray]]:
    """What `stats.pilot` takes: (dataset, shots, run) → method or pair of methods → (T, K, Q) values.

    Run i draws its tasks with seed ``seed`` + i.

    Raises
    ------
    InputError
        Fewer than 3 open tasks, of which `stats.pilot` can tell nothing; what the samplers raise.
    """
    out = {}
    for dataset in datasets:
        source = evaluation.load_source(dataset)
        runs_of = _runs(source, methods)
        for s, run in product(shots, range(runs)):
            shape = dict(ways=ways, shots=s, queries=queries, seed=seed + run, skip_small_classes=skip_small_classes)
            if sampling == "closed":
                drawn = sample_closed(source.labels, tasks=tasks, **shape)
            else:
                drawn = sample_open(source.labels, max_tasks=tasks, **shape)
            if len(drawn) < 3 and sampling == "open":
                raise InputError(
                    f"{dataset} holds {len(drawn)} open tasks of {ways} ways, {s} shots and {queries} queries, and a "
                    "pilot needs 3: lower ways, shots or queries, or leave this data set out"
                )
            out[dataset, s, run] = _with_pairs(_values(runs_of, drawn))
    return out


def by_method(values: dict[str, np.ndarray], shots: int) -> dict[str, Pilot]:
    """A pilot of each method and pair of methods."""
    return {method: stats.pilot(v, shots) for method, v in values.items()}


def by_target(
    datasets: list[str],
    methods: list[Method],
    shots: int,
    *,
    ways: int = 5,
    queries: int = 15,
    tasks: int = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
) -> pd.DataFrame:
    """Q* of one closed run, for tasks with new classes each and for new images of these classes (`stats.pilot`).

    Returns
    -------
    DataFrame
        dataset, method; ``classes`` and ``images``, a `Pilot` each.
    """
    rows = []
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
    for dataset in datasets:
        source = evaluation.load_source(dataset)
        drawn = sample_closed(source.labels, tasks=tasks, **shape)
        # As `Record.by_class` has them: the classes of a task by their number in it.
        order = np.argsort(drawn.query_label, axis=1, kind="stable")[:, ::queries]
        labels = np.asarray(source.labels)[np.take_along_axis(drawn.query, order, axis=1)]
        for method, values in _with_pairs(_values(_runs(source, methods), drawn)).items():
            of = {target: stats.pilot(values, shots, labels=labels, target=target) for target in ("classes", "images")}
            rows.append((dataset, method, of["classes"], of["images"]))
    return pd.DataFrame(rows, columns=["dataset", "method", "classes", "images"])


def recommended(curves: pd.DataFrame, runs: dict) -> pd.DataFrame:
    """What each pilot run recommends and what that costs.

    The recommendation is the Q of the grid with the least expected variance, given the numbers of
    tasks, which the sampler tells without any evaluation. Its *regret* is the variance there over the
    least variance of the sweep: of measured variances, whose errors make the least one look too small
    and the regret too large, and of the curve fitted to them.

    Parameters
    ----------
    curves : DataFrame
        From `curve`.
    runs : dict
        From `pilot_values`.

    Returns
    -------
    DataFrame
        dataset, method, shots, run, optimum (Q*), low, high, chosen (Q), measured and regret (of the fitted
        curve).

    Raises
    ------
    InputError
        No curve of a data set and number of shots.
    """
    grids = dict(list(curves.groupby(["dataset", "method", "shots"], sort=False)))
    rows = []
    for (dataset, shots, run), values in runs.items():
        for method, p in by_method(values, shots).items():
            if (dataset, method, shots) not in grids:
                raise InputError(
                    f"{dataset} holds too few images for open tasks at {shots} shots and any number of queries: lower "
                    "ways or shots, or leave this data set out"
                )
            grid = grids[dataset, method, shots]
            chosen = stats.best_queries(p.expected, grid["queries"], grid["n_tasks"])
            there = grid[grid["queries"] == chosen].iloc[0]
            regret = [there[name] / grid[name].min() for name in ("variance", "fitted")]
            rows.append((dataset, method, shots, run, p.optimum, p.low, p.high, chosen, *regret))
    columns = ["dataset", "method", "shots", "run", "optimum", "low", "high", "chosen", "measured", "regret"]
    return pd.DataFrame(rows, columns=columns)


def regret_rows(trials: pd.DataFrame, row: str) -> pd.DataFrame:
    """Regrets of pilots as `fslbook.figures.forest` draws them: the median, with a line to the 90th percentile.

    A panel for one method and one for differences, a row per value of the column ``row``, a series per kind of pilot.
    """
    found = trials.groupby(["values", row, "pilot"], sort=False)["regret"]
    rows = found.agg(low="median", mean="median", high=lambda regret: regret.quantile(0.9)).reset_index()
    return rows.rename(columns={"values": "panel", row: "row"}).assign(series=rows["pilot"] + " pilot")


def regret_table(choices: pd.DataFrame, rows: list[str], regrets: dict[str, str]) -> pd.DataFrame:
    """Median and 90 % quantile of regrets, by the columns ``rows``, for closed and open pilots.

    Parameters
    ----------
    choices : DataFrame
        From `recommended` or `gaussian_regrets`, with a column ``pilot``.
    rows : list of str
        Columns that name a row.
    regrets : dict
        Column of ``choices`` → how the table calls it.
    """
    groups = choices.groupby([*rows, "pilot"])
    out = {}
    for column, name in regrets.items():
        middle, high = (groups[column].quantile(q).map("{:.2f}".format) for q in (0.5, 0.9))
        out[f"{name}: median (90 %)"] = middle + " (" + high + ")"
    return pd.DataFrame(out).unstack("pilot").reindex(choices.drop_duplicates(rows).set_index(rows).index)


def equal_optima(runs: dict, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Test for each pair of methods, data set and number of shots whether both have the same Q*.

    Returns
    -------
    DataFrame
        dataset, shots, first, second, ratio of Q*, z, p, and ``cost``: the variance of the first at the
        Q* of the second over its least, by the expected model and for many tasks.
    """
    rows = []
    for (dataset, shots, _), values in runs.items():
        for first, second in pairs:
            r = optima.compare_optima(values[first], values[second])
            model, other = (stats.pilot(values[name], shots).expected for name in (first, second))
            at = np.array([other.optimum, model.optimum])
            there, least = model.variance(at, 1 / (shots + at))
            rows.append((dataset, shots, first, second, r.ratio, r.z, r.p_value, there / least))
    return pd.DataFrame(rows, columns=["dataset", "shots", "first", "second", "ratio", "z", "p", "cost"])


def ratio_table(tests: pd.DataFrame, rows: list[str], level: float = 0.95) -> pd.DataFrame:
    """Ratios of Q* by ``rows`` and data set, '*' where different from 1 after Holm's correction for all tests."""
    tests = tests.assign(star=np.where(stats.holm(tests["p"]) < 1 - level, " *", ""))
    tests["cell"] = tests["ratio"].map("{:.2f}".format).replace("nan", "—") + tests["star"]  # where both are infinite
    out = tests.pivot(index=rows, columns="dataset", values="cell")
    return out.reindex(columns=tests["dataset"].unique(), index=tests.drop_duplicates(rows).set_index(rows).index)


def common_optima(runs: dict) -> pd.DataFrame:
    """Test for each method and number of shots whether all data sets have the same Q*.

    Returns
    -------
    DataFrame
        method, shots, number of data sets, the common Q*, chi_square and p; empty for one data set.
    """
    pilots: dict[tuple[str, int], list[Pilot]] = {}
    for (_, shots, _), values in runs.items():
        for method, p in by_method(values, shots).items():
            pilots.setdefault((method, shots), []).append(p)
    rows = []
    for (method, shots), group in pilots.items():
        if len(group) < 2:
            continue
        r = optima.common_optimum(group)
        rows.append((method, shots, len(group), r.optimum, r.chi_square, r.p_value))
    return pd.DataFrame(rows, columns=["method", "shots", "data sets", "Q*", "chi_square", "p"])


def by_size(
    dataset: str,
    method: Method,
    shots: int,
    parts: int = 4,
    *,
    ways: int = 5,
    queries: int = 5,
    seed: int = 0,
    skip_small_classes: bool = False,
) -> tuple[pd.DataFrame, optima.CommonOptimum]:
    """Q* from disjoint parts of one data set, each half as large as the one before, and a test of equality.

    Each part takes the same share of every class and gives one open run.

    Raises
    ------
    InputError
        The smallest part holds too few images for 3 tasks.
    """
    source = evaluation.load_source(dataset)
    (run,) = _runs(source, [method]).values()
    rng = np.random.default_rng(seed)
    # Position of an image in its shuffled class, from 0 to 1, decides its part: 1/2, 1/4, 1/8, …
    rank = pd.Series(rng.random(len(source.labels))).groupby(source.labels).rank(pct=True).to_numpy()
    part = np.minimum(np.ceil(-np.log2(np.clip(rank, 1e-9, 1))).astype(int).clip(1), parts)
    rows, pilots = [], []
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
    for size in range(1, parts + 1):
        of_part = np.flatnonzero(part == size)
        drawn = sample_open(source.labels[of_part], **shape)
        if len(drawn) < 3:
            raise InputError(
                f"large = {dataset}; of its parts one of {len(of_part)} images holds {len(drawn)} tasks, and at least "
                "3 are needed: name a larger data set"
            )
        there = Tasks(of_part[drawn.support], drawn.support_label, of_part[drawn.query], drawn.query_label, ways)
        p = stats.pilot(run.record(there).by_class(), shots)
        pilots.append(p)
        rows.append((len(of_part), len(there), p.optimum, p.low, p.high))
    table = pd.DataFrame(rows, columns=["images", "tasks", "optimum", "low", "high"])
    return table, optima.common_optimum(pilots)


def gaussian_regrets(
    regimes: list[tuple[int, float, int, int]],
    *,
    queries: int = 15,
    tasks: int = 600,
    runs: int = 50,
    truth_numbers: int = 10_000_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Regret of pilots on Gaussian classes, for one method and for the difference of two.

    The method is the nearest mean; the second one, for the difference, sees the same images with
    noise added. Variances are those of Q = 1, 2, … with whole numbers of tasks: for fresh tasks, the variance
    of a task is exactly α + β/(SQ). α and β are integrals for one method on two classes, else from a long run.

    Parameters
    ----------
    regimes : list of (ways, separation, shots, n)
        Classes, distance between their means, S, and images per class.
    queries, tasks : int
        Of a closed pilot; an open pilot has as many tasks as the images allow.
    runs : int
        Pilots of each kind, each on fresh images.
    truth_numbers : int
        Numbers drawn for the long run, which has 50 queries per class.

    Returns
    -------
    DataFrame
        A row per run: ways, separation, shots, n, values ('one method', 'difference'), pilot ('closed',
        'open'), truth (the true Q*), optimum, low, high, chosen (Q), regret, plain (regret of the Q
        chosen by the plain estimates in place of the expected model).
    """
    rows = []
    for (ways, separation, shots, n), (kind, noise) in product(regimes, [("one method", 0.0), ("difference", 0.5)]):
        rng = np.random.default_rng([seed, ways, int(100 * separation), shots, n, int(noise > 0)])
        means = gaussians.centres(ways, separation)
        if ways == 2 and not noise:
            truth = gaussians.gaussian_moments(shots, separation).model(shots)
        else:
            long = truth_numbers // (means.size * (shots + 50))
            truth = moments(gaussians.gaussian_tasks(means, long, shots, 50, rng, noise)).model(shots)
        grid = np.arange(1, n // 2 - shots + 1)
        count = n // (shots + grid)
        variance = truth.variance(grid, count)
        for pilot, _ in product(("closed", "open"), range(runs)):
            if pilot == "closed":
                values = gaussians.gaussian_pilot(means, n, tasks, shots, queries, int(rng.integers(2**31)), noise)
            else:
                values = gaussians.gaussian_tasks(means, n // (shots + queries), shots, queries, rng, noise)
            p = stats.pilot(values, shots)
            chosen, plain = (stats.best_queries(m, grid, count) for m in (p.expected, p.model))
            regret = variance[[chosen - 1, plain - 1]] / variance.min()
            facts = (ways, separation, shots, n, kind, pilot, truth.optimum)
            rows.append((*facts, p.optimum, p.low, p.high, chosen, *regret))
    columns = [
        "ways",
        "separation",
        "shots",
        "n",
        "values",
        "pilot",
        "truth",
        "optimum",
        "low",
        "high",
        "chosen",
        "regret",
        "plain",
    ]
    return pd.DataFrame(rows, columns=columns)


def gaussian_curve(images: int, shots: int, largest: int, repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Variance of the mean accuracy against Q on the OOPS paper's two Gaussian classes.

    Parameters
    ----------
    images : int
        N, in both classes together.
    shots, largest : int
        S, and the largest Q.
    repetitions : int
        Fresh data sets for each Q.

    Returns
    -------
    DataFrame
        As `gaussians.open_variances`, with ``predicted``: the variance from the exact moments.
    """
    rng = np.random.default_rng([seed, images, shots])
    queries = np.unique(np.geomspace(1, largest, 24).round().astype(int))
    table = gaussians.open_variances(images // 2, shots, queries.tolist(), repetitions, rng)
    model = gaussians.gaussian_moments(shots).model(shots)
    return table.assign(predicted=model.variance(table["queries"], table["tasks"]))


def gaussian_optima(settings: Iterable[tuple[int, int]]) -> pd.DataFrame:
    """The best Q on the two Gaussian classes, from their exact moments, for settings (images, shots).

    Returns
    -------
    DataFrame
        images, shots, Q* (for any number of tasks), the best whole Q with whole numbers of tasks, tasks there;
        cost_of_one_query and cost_of_one_task: the variance at Q = 1 and at T = 1 over the least.
    """
    rows = []
    for images, shots in settings:
        model = gaussians.gaussian_moments(shots).model(shots)
        queries = np.arange(1, images // 2 - shots + 1)
        tasks = images // 2 // (shots + queries)
        variance = model.variance(queries, tasks)
        best = variance.argmin()
        ends = variance[[0, -1]] / variance[best]
        rows.append((images, shots, model.optimum, queries[best], tasks[best], *ends))
    columns = ["images", "shots", "Q*", "best", "tasks", "cost_of_one_query", "cost_of_one_task"]
    return pd.DataFrame(rows, columns=columns)


def _runs(source: Source, methods: list[Method]) -> dict[str, evaluation.Ready]:
    """The methods by their labels, ready to run; those of one backbone read one bank, which is computed once."""
    out, banks = {}, {}
    for method in (Method(*m) for m in methods):
        run = evaluation.ready(source, *method)
        if not run.slow and run.backbone is not None:
            if method.backbone not in banks:
                banks[method.backbone] = run.bank()
            run = evaluation.Ready(banks[method.backbone], None, run.learner)
        out[method.label] = run
    return out


def _values(runs: dict[str, evaluation.Ready], tasks: Tasks) -> dict[str, np.ndarray]:
    """(T, K, Q) values of each method on the same tasks; records are kept in the cache."""
    return {name: run.record(tasks).by_class() for name, run in runs.items()}


def _with_pairs(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same, and the difference of each two methods."""
    return values | {f"{a} − {b}": values[a] - values[b] for a, b in combinations(values, 2)}


def _joined(trials: list[Tasks]) -> Tasks:
    arrays = (
        np.concatenate([getattr(t, name) for t in trials])
        for name in ("support", "support_label", "query", "query_label")
    )
    return Tasks(*arrays, trials[0].ways)


def by_difficulty(
    dataset: str,
    pairs: Iterable[tuple[Method, Method]],
    *,
    tasks: int = 600,
    proposals: int = 6000,
    seeds: Iterable[int] = range(5),
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    level: float = 0.95,
    skip_small_classes: bool = False,
) -> pd.DataFrame:
    """Tasks drawn uniformly over their difficulty against tasks drawn alike, as many of each (Arnold et al., 2021).

    Parameters
    ----------
    pairs : of (Method, Method)
        A cheap one, whose errors on ``proposals`` tasks are the difficulty, and one measured on ``tasks`` of them.
    seeds : of int
        Of the proposals; a repetition each.

    Returns
    -------
    DataFrame
        A row a pair: ``difficulty``, ``measured``, ``correlation`` of the two over tasks, ``weighted`` and
        ``regressed``: half-widths of the weighted mean (`weighted_interval`), and of tasks drawn alike
        with what the cheap method tells (`regression_interval`), over that of these tasks alone; means over seeds with
        a Student interval, as `fslcore.stats.Interval`.
    """
    images, rows = evaluation.load_source(dataset), []
    for cheap, dear in pairs:
        easy, hard = (evaluation.ready(images, *method) for method in (cheap, dear))
        ratios, regressed, correlations = [], [], []
        for seed in seeds:
            shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
            drawn = sample_closed(images.labels, tasks=proposals, **shape)
            known, plain = easy.record(drawn).accuracy(), hard.record(drawn[:tasks]).accuracy()
            chosen, weights = sample_by_difficulty(drawn, 1 - known, tasks=tasks, seed=seed)
            alone = stats.closed_interval(plain, level).half_width
            weighted = weighted_interval(hard.record(chosen).accuracy(), weights, level)
            ratios.append(weighted.half_width / alone)
            regressed.append(regression_interval(plain, known[:tasks], known, level).half_width / alone)
            correlations.append(np.corrcoef(known[:tasks], plain)[0, 1])
        of = (stats.open_interval(r, level) for r in (ratios, regressed))
        rows.append((cheap.label, dear.label, np.mean(correlations), *of))
    return pd.DataFrame(rows, columns=["difficulty", "measured", "correlation", "weighted", "regressed"])
