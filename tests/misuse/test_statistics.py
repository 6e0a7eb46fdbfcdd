"""`fslcore.stats`: mistakes that belong to one function, and what is known to be right. See `test_arguments` too."""

import decimal
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

from fslbook.oops import optima
from fslcore import stats
from fslcore.stats.pilot import moments
from fslcore.stats.power import smallest
from fslcore.tasks import sample_closed, sample_open

from .judging import fine, judge, near, row

RNG = np.random.default_rng(0)
A = RNG.uniform(0.5, 0.8, 50)
B = A - 0.05 + np.random.default_rng(1).normal(0, 0.02, 50)
LABELS = np.arange(8).repeat(12)
TASKS = sample_closed(LABELS, tasks=200, ways=5, shots=1, queries=3)
VALUES = (RNG.random(TASKS.query.shape) < 0.5 + 0.4 * (LABELS[TASKS.query] % 2)).astype(float)
GIVEN = dict(values=VALUES, support=TASKS.support, query=TASKS.query, labels=LABELS)
OPEN_LABELS = np.arange(25).repeat(160)
OPEN = sample_open(OPEN_LABELS, ways=5, shots=1, queries=3)
RIGHT = (RNG.random((60, 5, 15)) < RNG.uniform(0.3, 0.9, (60, 5, 1))).astype(float)
FLAT, QUERIES = RIGHT.reshape(60, 75), np.arange(5).repeat(15)
PILOT, MODEL = stats.pilot(RIGHT, 5), stats.VarianceModel(0.01, 0.2, 0.1, 5)
INTERVAL = stats.open_interval(A)


def student(d):
    """Mean and half-width, as SciPy gives them."""
    wanted = d.mean(), scipy.stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))
    return lambda done: near(wanted)(type(done)(0, value=[done.value.mean, done.value.half_width]))


def mean(wanted):
    return lambda done: math.isclose(done.value.mean, wanted, abs_tol=1e-9)


def conclusion(wanted):
    return lambda done: done.value.conclusion == wanted


def series(values, **options):
    return pd.Series(values, **options)


def shuffled(values):
    return pd.Series(values).sample(frac=1, random_state=0)


def masked(values, above=1):
    return np.ma.masked_greater(values, above)


UNIT = "percent|share|unit"
SMALL_GAP = A + 1e-4 + 1e-5 * np.random.default_rng(3).normal(size=50)
INTERVALS = [
    row("paired", stats.paired_interval, (A, B), student(A - B)),
    row("open", stats.open_interval, (A,), student(A)),
    row("lists", stats.paired_interval, (A.tolist(), tuple(B)), student(A - B)),
    row("Series of one index", stats.paired_interval, (series(A), series(B)), student(A - B)),
    row("Series of one index, in another order", stats.paired_interval, (series(A), shuffled(B)), student(A - B)),
    row("Series of another index", stats.paired_interval, (series(A), series(B, index=range(10, 60))), "index"),
    row("a Series and an array", stats.paired_interval, (series(A), B), student(A - B)),
    row(
        "independent Series",
        stats.independent_interval,
        (series(A), series(B, index=range(10, 60))),
        lambda done: abs(done.value.mean - 0.05) < 0.02,
    ),
    row("percent against shares", stats.paired_interval, (100 * A, B), UNIT),
    row("shares against percent", stats.paired_interval, (A, 100 * B), UNIT),
    row("independent, percent against shares", stats.independent_interval, (100 * A, B), UNIT),
    row("masked, closed", stats.closed_interval, (masked([0.5, 0.6, 99.0]),), "mask"),
    row("masked, ranks", stats.picked, (masked([[0.1, 9.0]]), [[0.3, 0.7]]), "mask"),
    row("nothing masked", stats.closed_interval, (masked([0.5, 0.6]),), mean(0.55)),
    row("0.3 against 0.1 + 0.2", stats.paired_interval, ([0.3] * 50, [0.1 + 0.2] * 50), conclusion(0)),
    row("the same, one task apart", stats.paired_interval, ([0.3] * 50, [0.1 + 0.2] * 49 + [0.3]), conclusion(0)),
    row("32 against 64 bits", stats.paired_interval, (A, A.astype("f4")), conclusion(0)),
    row("32 against 64 bits, percent", stats.paired_interval, (100 * A, (100 * A).astype("f4")), conclusion(0)),
    row("16 against 64 bits", stats.paired_interval, (A, A.astype("f2")), conclusion(0)),
    row("rounded down to 32 bits", stats.paired_interval, ([0.1] * 50, np.full(50, 0.1, "f4")), conclusion(0)),
    row("PyTorch against NumPy", stats.paired_interval, (torch.tensor(A).float(), A), conclusion(0)),
    row("one gap on every task", stats.paired_interval, ([0.6, 0.7, 0.8], [0.5, 0.6, 0.7]), mean(0.1)),
    row("a true small gap", stats.paired_interval, (SMALL_GAP, A), conclusion(1)),
    row("two tasks, equal", stats.open_interval, ([0.5, 0.5],), mean(0.5)),
    row("truth values", stats.closed_interval, ([True, False, True],), mean(2 / 3)),
    row("whole numbers", stats.closed_interval, ([1, 0, 1],), mean(2 / 3)),
    row("Decimal", stats.closed_interval, ([decimal.Decimal("0.5")] * 3,), mean(0.5)),
    row("with None", stats.closed_interval, ([0.5, None, 0.7],), "accuracies|NaN"),
    row("pandas' NA", stats.closed_interval, (pd.array([0.5, None, 0.7], "Float64"),), "accuracies|NaN"),
    row("a DataFrame", stats.closed_interval, (pd.DataFrame({"a": [0.5, 0.6]}),), "shape|dimension"),
    row("other lengths", stats.paired_interval, ([0.5, 0.6, 0.7], [0.5, 0.6]), "3 & 2"),
    row("a column each", stats.paired_interval, (A[:, None], A), "shape|dimension"),
    row("closed with open", stats.compare, (stats.closed_interval(A), INTERVAL), "closed & open"),
    row("two levels", stats.compare, (INTERVAL, stats.open_interval(A, 0.9)), "0.95 & 0.9"),
    row("compare paired", stats.compare, (stats.paired_interval(A, B),) * 2, "paired"),
    *(
        row(f"printed {a}", stats.from_printed, (a, (63.9, 0.6), 600), words)
        for a, words in {
            65.1: "a = 65.1",
            (65.1,): "a = ",
            ("65.1", 0.6): "mean of a",
            (0.651, 0.006): "mean of a & share",
            (101, 0.6): "mean of a & 101",
            (65.1, 0): "± of a",
            (math.nan, 0.6): "mean of a & nan",
        }.items()
    ),
    row("printed, three numbers of tasks", stats.from_printed, ((65, 1), (63, 1), (600,) * 3), "tasks"),
    row(
        "printed, sampling clsoed",
        lambda *a: stats.from_printed(*a, sampling="clsoed"),
        ((65, 1), (63, 1), 600),
        "clsoed",
    ),
    *(
        row(f"picked by default {v}", stats.picked, (RIGHT[0], RIGHT[0], v), "default & 0 to 14")
        for v in (15, 1.5, "0")
    ),
    row("ranks of constants", stats.rank_correlation, (0 * RIGHT[0], RIGHT[0]), near([math.nan] * 5)),
    row("ranks of one candidate", stats.rank_correlation, ([[1.0]], [[1.0]]), "2|candidates"),
    row("a level that one score cannot vouch for", stats.conformal_quantile, ([0.1],), near(math.inf)),
]


@pytest.mark.parametrize("function, arguments, expected", INTERVALS)
def test_intervals(function, arguments, expected):
    judge(lambda: function(*arguments), expected)


def drawn(tasks):
    return np.concatenate([tasks.support, tasks.query], axis=1)


def influence(**changed):
    given = dict(values=VALUES.mean(axis=1), drawn=drawn(TASKS), labels=LABELS)
    return stats.influence(**{**given, **changed})


NAN_LABELS = np.where(np.arange(96) == 3, np.nan, LABELS)
OPEN_VALUES = (RNG.random(OPEN.query.shape) < 0.7).astype(float)
OPEN_GIVEN = dict(values=OPEN_VALUES, support=OPEN.support, query=OPEN.query, labels=OPEN_LABELS)
TOLD = "reuse|again|open|share"


@pytest.mark.parametrize(
    "changed, expected",
    [
        row("closed", {}, lambda done: done.value.closed.mean == pytest.approx(VALUES.mean())),
        row("open tasks", OPEN_GIVEN, TOLD),
        row("support in the query", {"query": np.c_[TASKS.support[:, :1], TASKS.query[:, 1:]]}, "twice"),
        row("padding", {"query": np.where(np.arange(15) < 14, TASKS.query, -1)}, "padding|-1"),
        row("an image beyond", {"query": TASKS.query + 50}, "95"),
        row("labels too few", {"labels": LABELS[:50]}, "49|50|labels"),
        row("labels with NaN", {"labels": NAN_LABELS}, "labels & NaN"),
        row("labels (N, 1)", {"labels": LABELS[:, None]}, "labels"),
        row("labels of texts", {"labels": LABELS.astype(str)}, fine),
        row("floats as images", {"support": TASKS.support.astype(float)}, "float64|whole|integer"),
        row("groups of another length", {"groups": [1, 2, 3]}, "groups"),
        row("one group", {"groups": 0 * LABELS}, "groups"),
        row("groups with NaN", {"groups": np.where(LABELS == 3, np.nan, LABELS)}, "groups & NaN"),
        row("a value of a task", {"values": VALUES.mean(axis=1)}, "values & shape"),
        row("19 tasks", {k: GIVEN[k][:19] for k in ("values", "support", "query")}, "19 & 20"),
    ],
)
def test_three_intervals(changed, expected):
    judge(lambda: stats.three_intervals(**{**GIVEN, **changed}), expected)


OTHER = sample_closed(np.arange(9).repeat(12), tasks=200, ways=5, shots=1, queries=3)


@pytest.mark.parametrize(
    "call, expected",
    [
        row(
            "of open tasks",
            lambda: influence(values=OPEN_VALUES.mean(axis=1), drawn=drawn(OPEN), labels=OPEN_LABELS),
            TOLD,
        ),
        row("query without replaced", lambda: influence(query=TASKS.query), "replaced"),
        row("groups in a text", lambda: influence(groups="abc"), "groups"),
        row("labels with NaN", lambda: influence(labels=NAN_LABELS), "labels & NaN"),
        row(
            "minus one on other images",
            lambda: influence() - influence(drawn=drawn(OTHER), labels=np.arange(9).repeat(12)),
            "images",
        ),
    ],
)
def test_influence(call, expected):
    judge(call, expected)


ORDER = np.random.default_rng(0).random((60, 75)).argsort(axis=1)
SHUFFLED, IN_ORDER = np.take_along_axis(FLAT, ORDER, axis=1), np.broadcast_to(QUERIES, (60, 75))
ASKED = np.take_along_axis(IN_ORDER, ORDER, axis=1)


def optimum(done):
    return done.value.optimum == pytest.approx(PILOT.optimum, abs=1e-6)


def plan(**changed):
    of = stats.three_intervals(**{**GIVEN, "values": VALUES - np.roll(VALUES, 1)})
    given = dict(pilot=of, images_per_class=12, n_classes=8, ways=5, shots=1, difference=0.1)
    return stats.plan(**{**given, **changed})


def best(queries, tasks):
    return stats.best_queries(MODEL, queries, tasks)


Q = np.array([1, 2, 4, 8, 16.0])


def fit(**changed):
    given = dict(
        queries=Q, tasks=600 / (5 + Q), variance=(0.01 * Q + 0.2 / Q + 0.1) / 600, error=np.full(5, 1e-5), shots=5
    )
    return optima.fit_variance(**{**given, **changed})


DIFFERENCE = stats.pilot(RIGHT - RIGHT[:, :, ::-1], 5)
SIZING = [
    row("pilot of shuffled queries", lambda: stats.pilot(SHUFFLED, shots=5, labels=ASKED), optimum),
    row("pilot without labels", lambda: stats.pilot(SHUFFLED, shots=5), "label|shape"),
    row("pilot, labels of another shape", lambda: stats.pilot(SHUFFLED, shots=5, labels=ASKED[:, :-1]), "label"),
    row("pilot, unequal classes", lambda: stats.pilot(SHUFFLED, 5, labels=ASKED * (ASKED > 1)), "label|class|queries"),
    row("pilot of percent", lambda: stats.pilot(100 * RIGHT, 5), optimum),
    row("pilot of accuracies", lambda: stats.pilot(RIGHT.mean(axis=2), 5), "shape"),
    row("pilot of constants", lambda: stats.pilot(0 * RIGHT, 5), "vary"),
    row("pilot of two tasks", lambda: stats.pilot(RIGHT[:2], 5), "3 & (2, 5, 15)"),
    row(
        "plan of one method",
        lambda: plan(pilot=stats.three_intervals(**GIVEN, bounds=(0, 1))),
        "difference|one method|paired",
    ),
    row(
        "plan of open tasks",
        lambda: plan(pilot=DIFFERENCE, images_per_class=None, ways=None, shots=None),
        lambda done: done.value.n_tasks > 1 and done.value.queries > 0,
    ),
    row("plan, shots again", lambda: plan(pilot=DIFFERENCE, images_per_class=None, ways=None), "shots & left out"),
    row("plan, fewer classes than ways", lambda: plan(n_classes=4), "classes & ways|4"),
    row("plan of 10^12 tasks", lambda: plan(difference=1e-9), fine),
    row("plan of a difference of 1e-300", lambda: plan(difference=1e-300), "difference"),
    row("power of a difference of 0", lambda: stats.power(0.0, 0.5, 20), near(0.05, 1e-6)),
    row("power of a huge difference", lambda: stats.power(1e12, 0.5, 20), near(1, 1e-6)),
    row("power of infinite df", lambda: stats.power(1.0, 0.5, math.inf), near(0.516, 1e-3)),
    row("power of huge df", lambda: stats.power(1.0, 0.5, 1e300), near(0.516, 1e-3)),
    row("detectable of infinite df", lambda: stats.detectable(0.5, math.inf), near(1.4008, 1e-3)),
    row("detectable at a power below chance", lambda: stats.detectable(0.5, 20, power=0.01), "power"),
    row("task_count", lambda: stats.task_count(6000, 5, 5, [5, 15]), near([120, 60])),
    row("task_count with NaN", lambda: stats.task_count(6000, 5, 5, [5, math.nan]), "queries"),
    row("task_count of negative queries", lambda: stats.task_count(6000, 5, 5, -5), "queries"),
    row("best, no tasks", lambda: best([1, 2, 3], None), "tasks"),
    row("best, no queries", lambda: best(None, [10, 20, 30]), "queries"),
    *(row(f"best of queries {v}", lambda v=v: best([v, 1], [50, 40]), "queries") for v in (-3, 0, 2.5, math.nan)),
    row("best, tasks with NaN", lambda: best([1, 2], [50, math.nan]), "tasks"),
    row("best of none", lambda: best([], []), "queries|empty|shape"),
    row("best, other lengths", lambda: best([1, 2, 3], [50, 40]), "queries & tasks"),
    row("best of a model of NaN", lambda: stats.best_queries(stats.VarianceModel(math.nan, 0.2, 0.1, 5)), "alpha"),
    row("best of a model of infinity", lambda: stats.best_queries(stats.VarianceModel(0.0, 0.2, 0.1, 5)), "Q*|inf"),
    *(
        row(f"fit of {name} from {v}", lambda name=name, v=v: fit(**{name: [v, 2, 4, 8, 16]}), name)
        for name, values in {"queries": (-1, 0), "variance": (-1,), "tasks": (0, -10, math.nan), "error": (0,)}.items()
        for v in values
    ),
    row("fit of three values of Q", lambda: fit(queries=[1, 1, 2, 2, 4]), "4"),
    row("smallest that never comes", lambda: smallest(lambda n: False, 2), lambda done: done.value is None),
    row("smallest up to 10^30", lambda: smallest(lambda n: n >= 10**29, 2, 10**30), "most|10"),
    row("smallest of 10^12", lambda: smallest(lambda n: n >= 10**12, 2), near(1e12)),
    *(row(f"smallest from {v}", lambda v=v: smallest(lambda n: n >= 5, v), "least") for v in (0, -3, 2.5, math.nan)),
    row("smallest, most below least", lambda: smallest(lambda n: n >= 50, 20, 10), "most"),
    row("common optimum of other shots", lambda: optima.common_optimum([PILOT, stats.pilot(RIGHT, 1)]), "shots"),
    row("common optimum of one", lambda: optima.common_optimum([PILOT]), "2"),
    row("optima of other shapes", lambda: optima.compare_optima(RIGHT, RIGHT[:, :, :9]), "shape"),
    row("variance of no queries", lambda: MODEL.variance(0, 10), "queries"),
    row("variance of negative tasks", lambda: MODEL.variance(5, -10), "tasks"),
    row("variance of NaN queries", lambda: MODEL.variance(math.nan, 10), "queries"),
    row("model of 0 shots", lambda: moments(RIGHT).model(0), "shots"),
    row("model of NaN shots", lambda: moments(RIGHT).model(math.nan), "shots"),
]


@pytest.mark.parametrize("call, expected", SIZING)
def test_sizing(call, expected):
    judge(call, expected)
