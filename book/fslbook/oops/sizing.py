"""The experiments on the number of queries per task: real sweeps, pilots and what they cost.

The name of a `Method`, or 'A − B' for a paired
difference, is in the column ``method`` of every table; variances are in squared points of accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator

from fslbook.oops.difficulty import regression_interval, sample_by_difficulty, weighted_interval
from fslcore import evaluation, stats
from fslcore.errors import InputError
from fslcore.evaluation import Method
from fslcore.stats.pilot import Pilot, moments
from fslcore.tasks import Tasks, sample_closed, sample_open

from . import gaussians, optima

QUERIES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 100]


def sweep(
    datasets: list[str],
    methods: list[Method],
    shots: list[int],
    queries: list[int] = QUERIES,
    *,
    images: int = 60_000,
    seed: int = 0,
    **shape,
) -> pd.DataFrame:
    """Open intervals for each Q over several trials, of each method and each pair of methods.

    A trial draws tasks until the images are used up. Small data sets get more trials, about
    ``images`` images in all for each Q and at least 2 trials, with seeds ``seed``, ``seed`` + 1, …;
    all methods see the same tasks. A Q that some class cannot serve, or that leaves fewer than 2
    tasks, is left out. ``shape`` is ``ways`` and ``skip_small_classes``, as for `sample_open`.

    Returns
    -------
    DataFrame
        dataset, method, shots, queries, trial, n_tasks, variance (s²/T, squared points), fourth
        (fourth central moment over T²), half_width (points, 95 %).
    """
    rows = []
    for dataset in datasets:
        source = evaluation.load_images_or_features(dataset)
        ready = _ready(source, methods)
        seeds = range(seed, seed + max(2, round(images / len(source.labels))))
        for size in product(shots, queries):
            if _has_room(source.labels, sum(size), **shape):
                rows += [
                    (dataset, *row) for row in _trials(source.labels, ready, seeds, size, **shape)
                ]
    columns = ["dataset", "method", "shots", "queries", "trial", "n_tasks"]
    return pd.DataFrame(rows, columns=[*columns, "variance", "fourth", "half_width"])


def curve(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials of `sweep`, and the model fitted to them.

    Returns
    -------
    DataFrame
        dataset, method, shots, queries; n_tasks, variance, half_width; ``error`` of the variance,
        from the fourth moment; ``fitted``, the variance by the model, fitted with whole numbers of
        tasks; p_value of the fit's chi-square; trials.

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


def minima(curves: pd.DataFrame, factor: float = 1.05) -> pd.DataFrame:
    """Where the mean half-width is least, and how flat it is there.

    Parameters
    ----------
    curves : DataFrame
        From `curve`.

    Returns
    -------
    DataFrame
        dataset, method, shots; best (Q on the grid); low and high, the least and largest Q with at
        most ``factor`` times the least half-width; half_width (points); at_15, the half-width at 15
        queries over the least one (NaN where 15 is not on the grid).
    """
    rows = []
    for key, part in curves.groupby(["dataset", "method", "shots"], sort=False):
        width = part.set_index("queries")["half_width"]
        good = width.index[width <= factor * width.min()]
        rows.append(
            (
                *key,
                width.idxmin(),
                good.min(),
                good.max(),
                width.min(),
                width.get(15, np.nan) / width.min(),
            )
        )
    columns = ["dataset", "method", "shots", "best", "low", "high", "half_width", "at_15"]
    return pd.DataFrame(rows, columns=columns)


def _has_room(labels, images: int, *, ways: int = 5, skip_small_classes=False) -> bool:
    """Whether each class can serve a task with so many of its images, and all at least 4 tasks."""
    sizes = np.sort(np.bincount(labels))
    smallest = sizes[-ways if skip_small_classes else 0]
    return images <= smallest and len(labels) >= 4 * ways * images


def _trials(labels, ready, seeds, size, **shape) -> Iterator[tuple]:
    """The rows of `sweep` for one number of shots and queries, without the data set."""
    shots, queries = size
    trials = [sample_open(labels, shots=shots, queries=queries, seed=s, **shape) for s in seeds]
    ends = np.cumsum([len(tasks) for tasks in trials])[:-1]
    for method, values in _with_pairs(_values(ready, _joined(trials))).items():
        for trial, accuracy in enumerate(np.split(100 * values.mean(axis=(1, 2)), ends)):
            yield method, *size, trial, *_spread(accuracy)


def _spread(accuracy: ndarray) -> tuple:
    """T, variance and fourth central moment of the mean, and half-width of the open interval."""
    interval = stats.open_task_interval(accuracy)
    t, square = interval.n, accuracy.var(ddof=1)
    fourth = ((accuracy - interval.estimate) ** 4).mean() * (t / (t - 1)) ** 2
    return t, square / t, fourth / t**2, interval.half_width


def pilot_values(
    datasets: list[str],
    methods: list[Method],
    shots: list[int],
    *,
    runs: int = 1,
    seed: int = 0,
    **options,
) -> dict[tuple[str, int, int], dict[str, ndarray]]:
    """(dataset, shots, run) → method or pair of methods → (T, K, Q) values, for `stats.estimate_variance`.

    Run i draws its tasks with seed ``seed`` + i. Options are ``sampling`` ('closed' by default),
    ``tasks`` (600, or for open tasks their maximum), and those of `sample_closed`.

    Raises
    ------
    InputError
        Fewer than 3 open tasks, of which `stats.estimate_variance` can tell nothing; what the samplers raise.
    """
    values = {}
    for dataset in datasets:
        source = evaluation.load_images_or_features(dataset)
        ready = _ready(source, methods)
        for s, run in product(shots, range(runs)):
            sampled = _sample(dataset, source.labels, shots=s, seed=seed + run, **options)
            values[dataset, s, run] = _with_pairs(_values(ready, sampled))
    return values


def image_counts(datasets: list[str]) -> dict[str, int]:
    """The number of images of each data set."""
    return {
        dataset: len(evaluation.load_images_or_features(dataset).labels) for dataset in datasets
    }


def by_method(values: dict[str, ndarray], shots: int) -> dict[str, Pilot]:
    """A pilot of each method and pair of methods."""
    return {method: stats.estimate_variance(v, shots) for method, v in values.items()}


def _queries(tasks: Tasks) -> int:
    """Q, of tasks with equally many queries per class."""
    return tasks.query.shape[1] // tasks.ways


def _sample(dataset, labels, *, sampling="closed", tasks=600, **shape) -> Tasks:
    if sampling == "closed":
        return sample_closed(labels, tasks=tasks, **shape)
    sampled = sample_open(labels, max_tasks=tasks, **shape)
    if len(sampled) < 3:
        raise InputError(
            f"{dataset} holds {len(sampled)} open tasks of {sampled.ways} ways, {shape['shots']} "
            f"shots and {_queries(sampled)} queries, and a pilot needs 3: lower ways, shots or "
            "queries, or leave this data set out"
        )
    return sampled


def by_target(
    datasets: list[str], methods: list[Method], shots: int, *, tasks: int = 600, **shape
) -> pd.DataFrame:
    """Q* of a closed run, for tasks with new classes each, and for new images (`stats.estimate_variance`).

    ``shape`` as for `sample_closed`.

    Returns
    -------
    DataFrame
        dataset, method; ``classes`` and ``images``, a `Pilot` each.
    """
    rows = []
    for dataset in datasets:
        source = evaluation.load_images_or_features(dataset)
        sampled = sample_closed(source.labels, tasks=tasks, shots=shots, **shape)
        # As `Outcomes.by_class` has them: the classes of a task by their number in it.
        order = np.argsort(sampled.query_label, axis=1, kind="stable")[:, :: _queries(sampled)]
        labels = np.asarray(source.labels)[np.take_along_axis(sampled.query, order, axis=1)]
        by_label = _with_pairs(_values(_ready(source, methods), sampled))
        for name, values in by_label.items():
            images = len(source.labels)
            pilot = partial(stats.estimate_variance, values, shots, labels=labels, images=images)
            rows.append(
                (
                    dataset,
                    name,
                    pilot(target=stats.Target.NEW_CLASSES),
                    pilot(target=stats.Target.NEW_IMAGES),
                )
            )
    return pd.DataFrame(rows, columns=["dataset", "method", "classes", "images"])


def recommended(curves: pd.DataFrame, runs: dict) -> pd.DataFrame:
    """What each pilot run recommends and what that costs.

    The recommendation is the Q of the grid with the least expected variance, given the numbers of
    tasks, which the sampler tells without any evaluation. Its *regret* is the variance there over
    the least variance of the sweep: of measured variances, whose errors make the least one look too
    small and the regret too large, and of the curve fitted to them.

    Parameters
    ----------
    curves : DataFrame
        From `curve`.
    runs : dict
        From `pilot_values`.

    Returns
    -------
    DataFrame
        dataset, method, shots, run, optimum (Q*), low, high, chosen (Q), measured and regret (of the
        fitted curve).

    Raises
    ------
    InputError
        No curve of a data set and number of shots.
    """
    grids = dict(list(curves.groupby(["dataset", "method", "shots"], sort=False)))
    rows = []
    for (dataset, shots, run), values in runs.items():
        for method, p in by_method(values, shots).items():
            key = dataset, method, shots
            if key not in grids:
                raise InputError(
                    f"{dataset} holds too few images for open tasks at {shots} shots and any number "
                    "of queries: lower ways or shots, or leave this data set out"
                )
            rows.append((*key, run, p.optimum, p.low, p.high, *_choice(p, grids[key])))
    columns = ["dataset", "method", "shots", "run", "optimum", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "chosen", "measured", "regret"])


def regret_rows(trials: pd.DataFrame, row: str) -> pd.DataFrame:
    """Regrets of pilots as `fslbook.figures.forest` draws them: the median, with a line to the 90th percentile.

    A panel for one method and one for differences, a row per value of the column ``row``, a series
    per kind of pilot."""
    regrets = trials.groupby(["values", row, "pilot"], sort=False)["regret"]
    rows = regrets.agg(
        low="median", mean="median", high=lambda regret: regret.quantile(0.9)
    ).reset_index()
    return rows.rename(columns={"values": "panel", row: "row"}).assign(
        series=rows["pilot"] + " pilot"
    )


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
    return (
        pd.DataFrame(out)
        .unstack("pilot")
        .reindex(choices.drop_duplicates(rows).set_index(rows).index)
    )


def _choice(p: Pilot, grid: pd.DataFrame) -> tuple:
    """The Q that a pilot recommends, and its measured and fitted variance over the least."""
    chosen = stats.optimal_queries(p.expected, grid["queries"], grid["n_tasks"])
    row = grid[grid["queries"] == chosen].iloc[0]
    measured, fitted = (row[name] / grid[name].min() for name in ("variance", "fitted"))
    return chosen, measured, fitted


def equal_optima(runs: dict, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Test for each pair of methods, data set and number of shots whether both have the same Q*.

    Returns
    -------
    DataFrame
        dataset, shots, first, second, ratio of Q*, z, p, and ``cost``: the variance of the first at
        the Q* of the second over its least, by the expected model and for many tasks.
    """
    rows = []
    for ((dataset, shots, _), values), names in product(runs.items(), pairs):
        pair = [values[name] for name in names]
        test = optima.compare_optima(*pair)
        facts = test.ratio, test.z, test.p_value, _cost(*pair, shots)
        rows.append((dataset, shots, *names, *facts))
    columns = ["dataset", "shots", "first", "second", "ratio", "z", "p", "cost"]
    return pd.DataFrame(rows, columns=columns)


def ratio_table(tests: pd.DataFrame, rows: list[str], level: float = 0.95) -> pd.DataFrame:
    """Ratios of Q* by ``rows`` and data set, '*' where different from 1 after Holm's correction for all tests."""
    tests = tests.assign(star=np.where(stats.holm(tests["p"]) < 1 - level, " *", ""))
    tests["cell"] = (
        tests["ratio"].map("{:.2f}".format).replace("nan", "—") + tests["star"]
    )  # where both are infinite
    out = tests.pivot(index=rows, columns="dataset", values="cell")
    return out.reindex(
        columns=tests["dataset"].unique(),
        index=tests.drop_duplicates(rows).set_index(rows).index,
    )


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


def _cost(values: ndarray, against: ndarray, shots: int) -> float:
    """Variance of the first method at the Q* of the second, over its least."""
    model, second = (stats.estimate_variance(x, shots).expected for x in (values, against))
    queries = np.array([second.optimum, model.optimum])
    variance, least_variance = model.variance(queries, 1 / (shots + queries))
    return variance / least_variance


def by_size(
    dataset: str,
    method: Method,
    shots: int,
    parts: int = 4,
    *,
    queries: int = 5,
    seed: int = 0,
    **shape,
) -> tuple[pd.DataFrame, optima.CommonOptimum]:
    """Q* from disjoint parts of a data set, each half as large as the last, and a test of equality.

    Each part takes the same share of every class and gives one open run; ``shape`` as for
    `sample_open`.

    Raises
    ------
    InputError
        The smallest part holds too few images for 3 tasks.
    """
    source = evaluation.load_images_or_features(dataset)
    (ready,) = _ready(source, [method]).values()
    sizes, pilots = [], []
    for rows in _halving_parts(source.labels, parts, seed):
        tasks = sample_open(source.labels[rows], shots=shots, queries=queries, seed=seed, **shape)
        if len(tasks) < 3:
            raise InputError(
                f"large must be larger than {dataset}, of whose parts each must hold at least 3 "
                f"tasks, got {len(tasks)} in one of {len(rows)} images"
            )
        tasks = _of_rows(tasks, rows)
        p = stats.estimate_variance(ready.outcomes(tasks).by_class(), shots)
        pilots.append(p)
        sizes.append((len(rows), len(tasks), p.optimum, p.low, p.high))
    table = pd.DataFrame(sizes, columns=["images", "tasks", "optimum", "low", "high"])
    return table, optima.common_optimum(pilots)


def _of_rows(tasks, rows) -> Tasks:
    """The tasks of part of a data set, with numbers of images in all of it."""
    support, query = rows[tasks.support], rows[tasks.query]
    return Tasks(support, tasks.support_label, query, tasks.query_label, tasks.ways)


def _halving_parts(labels, parts: int, seed: int) -> list[ndarray]:
    """Rows of 1/2, 1/4, 1/8, … of every class, and of what is left in the last part."""
    random = pd.Series(np.random.default_rng(seed).random(len(labels)))
    # The position of an image in its shuffled class, from 0 to 1, decides its part.
    rank = random.groupby(labels).rank(pct=True).to_numpy()
    part = np.ceil(-np.log2(np.clip(rank, 1e-9, 1))).astype(int).clip(1)
    return [np.flatnonzero(np.minimum(part, parts) == number) for number in range(1, parts + 1)]


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
    noise added. Variances are those of Q = 1, 2, … with whole numbers of tasks: for fresh tasks,
    the variance of a task is exactly α + β/(SQ). α and β are integrals for one method on two
    classes, else from a long run.

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
        A row per run: ways, separation, shots, n, values ('one method', 'difference'), pilot
        ('closed', 'open'), truth (the true Q*), optimum, low, high, chosen (Q), regret, plain
        (regret of the Q chosen by the plain estimates in place of the expected model).
    """
    rows = []
    for regime, kind in product(regimes, NOISE):
        world = GaussianWorld(*regime, noise=NOISE[kind])
        rng = world.stream(seed)
        truth = world.truth(truth_numbers, rng)
        for sampling, _ in product(("closed", "open"), range(runs)):
            images = world.ways * world.n if sampling == "closed" else None
            values = world.pilot(sampling, tasks, queries, rng)
            p = stats.estimate_variance(values, world.shots, images=images)
            rows.append((*regime, kind, sampling, *_gaussian_regret(p, truth, *regime[2:])))
    return pd.DataFrame(rows, columns=REGRETS)


def gaussian_curve(
    images: int, shots: int, largest: int, repetitions: int, seed: int = 0
) -> pd.DataFrame:
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
        images, shots, Q* (for any number of tasks), the best whole Q with whole numbers of tasks,
        tasks there; cost_of_one_query and cost_of_one_task: the variance at Q = 1 and at T = 1 over
        the least.
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
    columns = [
        "images",
        "shots",
        "Q*",
        "best",
        "tasks",
        "cost_of_one_query",
        "cost_of_one_task",
    ]
    return pd.DataFrame(rows, columns=columns)


def _difficulty_ratios(
    cheap, measured, proposals: Tasks, tasks: int, seed: int, level: float
) -> tuple:
    """Correlation of two methods, and the ratios of half-widths of `by_difficulty`, for one seed."""
    easy = cheap.outcomes(proposals).accuracy()
    accuracy = measured.outcomes(proposals[:tasks]).accuracy()
    chosen, weights = sample_by_difficulty(proposals, 1 - easy, tasks=tasks, seed=seed)
    uniform = stats.closed_task_interval(accuracy, level).half_width
    weighted = weighted_interval(measured.outcomes(chosen).accuracy(), weights, level).half_width
    regressed = regression_interval(accuracy, easy[:tasks], easy, level).half_width
    correlation = np.corrcoef(easy[:tasks], accuracy)[0, 1]
    return correlation, weighted / uniform, regressed / uniform


def _ready(source, methods) -> dict[str, evaluation.ConfiguredMethod]:
    """The methods by their labels; those of one backbone read one bank, which is computed once."""
    by_label, banks = {}, {}
    for method in (Method(*m) for m in methods):
        ready = evaluation.configure(source, *method)
        if not ready.slow and ready.backbone is not None:
            if method.backbone not in banks:
                banks[method.backbone] = ready.bank()
            ready = evaluation.ConfiguredMethod(banks[method.backbone], None, ready.learner)
        by_label[method.label] = ready
    return by_label


def _values(ready, tasks: Tasks) -> dict[str, ndarray]:
    """(T, K, Q) values of each method on the same tasks; records are kept in the cache."""
    return {name: method.outcomes(tasks).by_class() for name, method in ready.items()}


def _with_pairs(values: dict) -> dict[str, ndarray]:
    """The same, and the difference of each two methods."""
    return values | {f"{a} − {b}": values[a] - values[b] for a, b in combinations(values, 2)}


def _joined(trials: list) -> Tasks:
    arrays = (
        np.concatenate([getattr(t, name) for t in trials])
        for name in ("support", "support_label", "query", "query_label")
    )
    return Tasks(*arrays, trials[0].ways)


REGRETS = ["ways", "separation", "shots", "n", "values", "pilot", "truth"]
REGRETS += ["optimum", "low", "high", "chosen", "regret", "plain"]
NOISE = {"one method": 0.0, "difference": 0.5}


@dataclass(frozen=True)
class GaussianWorld:
    """Gaussian classes at equal distances, with ``n`` images each, and nearest means on them.

    With ``noise``, values are the difference to a second learner, which sees noisier images.
    """

    ways: int
    separation: float
    shots: int
    n: int
    noise: float

    def stream(self, seed: int) -> Generator:
        """The random numbers of this world."""
        sizes = self.ways, int(100 * self.separation), self.shots, self.n
        return np.random.default_rng([seed, *sizes, int(self.noise > 0)])

    @property
    def means(self) -> ndarray:
        """(K, D) class means."""
        return gaussians.centres(self.ways, self.separation)

    def truth(self, numbers: int, rng) -> stats.VarianceModel:
        """α and β, exact for one method on two classes, else from that many numbers drawn."""
        if self.ways == 2 and not self.noise:
            exact = gaussians.gaussian_moments(self.shots, self.separation)
            return exact.model(self.shots)
        tasks = numbers // (self.means.size * (self.shots + 50))
        values = gaussians.gaussian_tasks(self.means, tasks, self.shots, 50, rng, self.noise)
        return moments(values).model(self.shots)

    def pilot(self, sampling: str, tasks: int, queries: int, rng) -> ndarray:
        """(T, K, Q) values of a closed pilot, or of as many open tasks as the images allow."""
        if sampling == "closed":
            seed = int(rng.integers(2**31))
            sizes = self.n, tasks, self.shots, queries
            return gaussians.gaussian_pilot(self.means, *sizes, seed, self.noise)
        sizes = self.n // (self.shots + queries), self.shots, queries
        return gaussians.gaussian_tasks(self.means, *sizes, rng, self.noise)


def _gaussian_regret(p: Pilot, truth, shots: int, n: int) -> tuple:
    """The true Q*, that of a pilot with its interval, the Q chosen from n images, and two regrets."""
    grid = np.arange(1, n // 2 - shots + 1)
    tasks = n // (shots + grid)
    variance = truth.variance(grid, tasks)
    chosen, plain_choice = (stats.optimal_queries(m, grid, tasks) for m in (p.expected, p.model))
    regret = variance[[chosen - 1, plain_choice - 1]] / variance.min()
    return truth.optimum, p.optimum, p.low, p.high, chosen, *regret


def by_difficulty(
    dataset: str, pairs: Iterable[tuple[Method, Method]], *, level: float = 0.95, **options
) -> pd.DataFrame:
    """Tasks uniform over their difficulty against as many uniform tasks (Arnold et al., 2021).

    Parameters
    ----------
    pairs : of (Method, Method)
        A cheap one, whose errors on many tasks are the difficulty, and one measured on some.
    **options
        ``proposals`` (6000) and ``tasks`` (600), the numbers of these tasks; ``seeds`` of the
        proposals, a repetition each (0 to 4); the others as for `sample_closed`.

    Returns
    -------
    DataFrame
        A row per pair: ``difficulty``, ``measured``, ``correlation`` of the two over tasks,
        ``weighted`` and ``regressed``: half-widths of the weighted mean (`weighted_interval`), and
        of uniform tasks with what the cheap method tells (`regression_interval`), over that of
        these tasks alone; means over seeds with a Student interval, as `fslcore.stats.Interval`.
    """
    images, rows = evaluation.load_images_or_features(dataset), []
    for pair in pairs:
        correlations, *ratios = np.transpose(_difficulty_repeats(images, pair, level, **options))
        intervals = [stats.open_task_interval(values, level) for values in ratios]
        labels = [method.label for method in pair]
        rows.append((*labels, np.mean(correlations), *intervals))
    columns = ["difficulty", "measured", "correlation", "weighted", "regressed"]
    return pd.DataFrame(rows, columns=columns)


def _difficulty_repeats(
    images, pair, level, *, tasks=600, proposals=6000, seeds=range(5), **shape
) -> list[tuple]:
    """For each seed the correlation of two methods, and the ratios of `by_difficulty`."""
    ready = [evaluation.configure(images, *method) for method in pair]
    repeats = []
    for seed in seeds:
        sampled = sample_closed(images.labels, tasks=proposals, seed=seed, **shape)
        repeats.append(_difficulty_ratios(*ready, sampled, tasks, seed, level))
    return repeats
