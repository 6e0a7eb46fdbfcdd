"""Functions of `fslcore.stats`: every argument of every one with bad values, and what is known to be right."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from .common import fine, near, of_area

case = of_area("stats functions")


@cache
def world(
    open_tasks: bool = False, classes: int = 8, per: int = 12, ways: int = 5, shots: int = 1, queries: int = 3
) -> dict:
    """Support, query and labels of 200 tasks, and which queries were right; classes differ."""
    import numpy as np

    rng = np.random.default_rng(0)
    labels = np.arange(classes).repeat(per)
    if open_tasks:  # no image twice, in all tasks together
        classes, per = 25, 160
        labels = np.arange(classes).repeat(per)
        order = np.array([rng.permutation(per) + per * c for c in range(classes)]).reshape(classes, -1, shots + queries)
        tasks = [np.stack([order[5 * g + k, t] for k in range(ways)]) for g in range(5) for t in range(order.shape[1])]
        images = np.array(tasks)
    else:
        m = shots + queries
        images = np.array(
            [[rng.permutation(per)[:m] + per * c for c in rng.permutation(classes)[:ways]] for _ in range(200)]
        )
    support, query = images[..., :shots].reshape(len(images), -1), images[..., shots:].reshape(len(images), -1)
    right = (rng.random(query.shape) < 0.5 + 0.4 * (labels[query] % 2)).astype(float)
    return dict(values=right, support=support, query=query, labels=labels)


@cache
def good() -> dict[str, dict]:
    """Good arguments of every function."""
    import numpy as np

    from fslcore import stats

    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 0.8, 50), rng.uniform(0.4, 0.7, 50)
    right = (rng.random((60, 5, 15)) < rng.uniform(0.3, 0.9, (60, 5, 1))).astype(float)
    w = world()
    drawn = np.concatenate([w["support"], w["query"]], axis=1)
    other = right[:, :, ::-1]
    difference = {**w, "values": w["values"] - np.roll(w["values"], 1)}
    q = np.array([1, 2, 4, 8, 16.0])
    return {
        "closed_interval": dict(accuracies=a, level=0.95),
        "open_interval": dict(accuracies=a, level=0.95),
        "paired_interval": dict(a=a, b=b, level=0.95),
        "independent_interval": dict(a=a, b=b[:40], level=0.95),
        "bootstrap_interval": dict(accuracies=a, level=0.95, method="BCa", resamples=999, seed=0),
        "weighted_interval": dict(accuracies=a, weights=b, level=0.95),
        "compare": dict(a=stats.open_interval(a), b=stats.open_interval(b)),
        "from_printed": dict(a=(65.1, 0.6), b=(63.9, 0.6), tasks=600, images=600, classes=20, level=0.95),
        "regression_interval": dict(accuracies=a, cheap=b, more=np.concatenate([b, a]), level=0.95),
        "conclusions": dict(accuracies={"ours": a, "base": b}, kind="paired", level=0.95),
        "conformal_quantile": dict(scores=a, level=0.9),
        "influence": dict(values=w["values"].mean(axis=1), drawn=drawn, labels=w["labels"]),
        "three_intervals": dict(**w, level=0.95),
        "moments": dict(values=right),
        "pilot": dict(values=right, shots=5, level=0.95),
        "compare_optima": dict(a=right, b=other),
        "common_optimum": dict(pilots=[stats.pilot(right, 5), stats.pilot(other, 5)]),
        "fit_variance": dict(
            queries=q, tasks=600 / (5 + q), variance=(0.01 * q + 0.2 / q + 0.1) / 600, error=np.full(5, 1e-5), shots=5
        ),
        "best_queries": dict(model=stats.VarianceModel(0.01, 0.2, 0.1, 5)),
        "task_count": dict(images=6000, ways=5, shots=5, queries=15),
        "power": dict(difference=1.0, standard_error=0.5, df=20.0, level=0.95),
        "detectable": dict(standard_error=0.5, df=20.0, power=0.8, level=0.95),
        "plan": dict(
            pilot=stats.three_intervals(**difference),
            images_per_class=12,
            n_classes=8,
            ways=5,
            shots=1,
            difference=0.1,
            power=0.8,
            level=0.95,
        ),
        "new_runs": dict(accuracies=a.reshape(5, 10), other=b.reshape(5, 10), level=0.95),
        "run_intervals": {**w, "values": np.stack([w["values"], 1 - w["values"]]), "level": 0.95},
        "chance_better": dict(a=a[:5], b=b[:5], level=0.95),
        "plan_runs": dict(
            pilot=stats.new_runs(a.reshape(5, 10), b.reshape(5, 10)), difference=0.1, power=0.8, level=0.95
        ),
        "holm": dict(p=rng.random(9)),
        "benjamini_hochberg": dict(p=rng.random(9)),
        "rank_correlation": dict(a=rng.random((9, 4)), b=rng.random((9, 4))),
        "picked": dict(estimate=rng.random((9, 4)), value=rng.random((9, 4)), default=0),
    }


def pilot_of_a_difference() -> object:
    from fslcore import stats

    arguments = good()["compare_optima"]
    return stats.pilot(arguments["a"] - arguments["b"], 5)


def call(function: str, **changed: object) -> object:
    """The function with its good arguments, but for these; a callable is asked for the value."""
    from fslbook.oops import optima
    from fslcore import stats

    given = {**good()[function], **{k: v() if callable(v) else v for k, v in changed.items()}}
    return getattr(optima if function in optima.__all__ else stats, function)(**given)


def arr(*values) -> Callable:
    return lambda: __import__("numpy").array(values)


def bent(function: str, argument: str, change: Callable) -> Callable:
    """The good argument, changed: ``change(np, value)``."""
    return lambda: change(__import__("numpy"), good()[function][argument])


def put(np, value, what):
    out = np.array(value, float)
    out.flat[3] = what
    return out


BENT = {
    "with a NaN": lambda np, v: put(np, v, np.nan),
    "with inf": lambda np, v: put(np, v, np.inf),
    "as text": lambda np, v: np.asarray(v).astype(str),
    "with a dimension more": lambda np, v: np.asarray(v)[None],
    "empty": lambda np, v: np.asarray(v)[:0],
    "a number": lambda np, v: 0.5,
}
VALUE = {"None": None, "ragged": [[1.0], [1.0, 2.0]]}
ARRAYS = {
    "closed_interval": ["accuracies"],
    "bootstrap_interval": ["accuracies"],
    "weighted_interval": ["accuracies", "weights"],
    "regression_interval": ["accuracies", "cheap", "more"],
    "open_interval": ["accuracies"],
    "paired_interval": ["a", "b"],
    "independent_interval": ["b"],
    "conformal_quantile": ["scores"],
    "influence": ["values", "drawn"],
    "three_intervals": ["values", "support", "query"],
    "moments": ["values"],
    "pilot": ["values"],
    "compare_optima": ["b"],
    "fit_variance": ["queries", "variance", "error"],
    "new_runs": ["accuracies"],
    "run_intervals": ["values"],
    "chance_better": ["a", "b"],
    "holm": ["p"],
    "benjamini_hochberg": ["p"],
    "rank_correlation": ["a", "b"],
    "picked": ["estimate", "value"],
}
shapes = []
for function, arguments in ARRAYS.items():
    for argument in arguments:
        for name, change in BENT.items():
            # Texts of numbers may be read as numbers; an infinite score stands for a case without an answer; no
            # tests have no p-values.
            allowed = name == "as text" or (function, name) == ("conformal_quantile", "with inf")
            wanted = dict(right=fine) if allowed or (argument, name) == ("p", "empty") else {}
            shapes.append(
                case(
                    f"{function}: {argument} {name}",
                    lambda f=function, a=argument, c=change: call(f, **{a: bent(f, a, c)}),
                    says=("",) if name == "as text" else (argument + "|values|accuracies|task|shape|estimates",),
                    **wanted,
                )
            )
        for name, value in VALUE.items():
            shapes.append(
                case(
                    f"{function}: {argument} = {name}",
                    lambda f=function, a=argument, v=value: call(f, **{a: v}),
                    says=("",),
                )
            )

LEVEL = [0, 1, 95, math.nan, "0.95", None]
POSITIVE = [0, -1.0, math.nan, math.inf, "1", None]
COUNT = [0, -1, 2.5, math.nan, math.inf, "5", None]
NUMBERS = {
    **{
        (f, "level"): LEVEL
        for f in (
            "closed_interval",
            "open_interval",
            "paired_interval",
            "independent_interval",
            "conclusions",
            "conformal_quantile",
            "three_intervals",
            "new_runs",
            "run_intervals",
            "chance_better",
            "from_printed",
            "regression_interval",
            "plan_runs",
            "pilot",
            "power",
            "detectable",
            "plan",
        )
    },
    ("power", "difference"): [math.nan, math.inf, "1", None],
    ("power", "standard_error"): POSITIVE,
    ("power", "df"): [0, -1, 0.5, math.nan, "9", None],
    ("detectable", "standard_error"): POSITIVE,
    ("detectable", "df"): [0, -1, math.nan, "9", None],
    ("detectable", "power"): LEVEL + [0.01],
    ("plan", "images_per_class"): POSITIVE,
    ("plan", "n_classes"): COUNT,
    ("plan", "ways"): COUNT,
    ("plan", "shots"): COUNT,
    ("plan", "difference"): [0, math.nan, math.inf, "1", None],
    ("plan", "power"): LEVEL + [0.01],
    ("plan", "pilot"): [None, 3, "x"],
    ("plan_runs", "pilot"): [None, 3, "x"],
    ("plan_runs", "difference"): [0, math.nan, math.inf, "1", None],
    ("plan_runs", "power"): LEVEL + [0.01],
    ("from_printed", "a"): [None, 65.1, (65.1,), ("65.1", 0.6), (0.651, 0.006), (101, 0.6), (65.1, 0), (math.nan, 0.6)],
    ("from_printed", "tasks"): [0, 1, -1, 2.5, math.nan, "600", None, (600,), (600, 600, 600)],
    ("from_printed", "images"): [0, 10, -1, 2.5, math.nan, "600"],
    ("from_printed", "classes"): [0, 2, -1, 2.5, math.nan, "20"],
    ("from_printed", "ways"): COUNT,
    ("from_printed", "shots"): COUNT,
    ("from_printed", "queries"): COUNT,
    ("from_printed", "same_tasks"): ["maybe", "", None, True],
    ("from_printed", "sampling"): ["clsoed", "", None, 3],
    ("task_count", "images"): [-1, math.nan, math.inf, "6000", None, 0],
    ("task_count", "ways"): COUNT,
    ("task_count", "shots"): COUNT,
    ("task_count", "queries"): [0, -1, -5, math.nan, math.inf, None],
    ("pilot", "shots"): COUNT,
    ("fit_variance", "shots"): COUNT,
    ("picked", "default"): [-1, 4, 1.5, math.nan, "0"],
    ("conclusions", "kind"): ["pared", "", None, 3],
    ("conclusions", "accuracies"): [None, [], {"a": [0.5, 0.6], "b": [0.5]}, "x"],
    ("compare", "a"): [None, 0.5, "x"],
    ("common_optimum", "pilots"): [None, [], [1, 2], "ab"],
    ("best_queries", "model"): [None, 3, "x"],
}
numbers = [
    case(
        f"{f}: {a} = {v!r}",
        lambda f=f, a=a, v=v: call(f, **{a: v}),
        says=(a + {"a": "|interval", "accuracies": "|shape"}.get(a, ""),),
    )
    for (f, a), values in NUMBERS.items()
    for v in values
]


def stats_of(function: str, *arguments, **named) -> Callable[[], object]:
    """A call whose arguments are made when it runs: each is ``make(np, pd)`` or a plain value."""

    def run() -> object:
        import numpy as np
        import pandas as pd

        from fslcore import stats

        made = [a(np, pd) if callable(a) else a for a in arguments]
        return getattr(stats, function)(*made, **{k: v(np, pd) if callable(v) else v for k, v in named.items()})

    return run


def half(wanted: Callable) -> Callable:
    """Mean and half-width as ``wanted(np, scipy.stats)`` says."""

    def check(r) -> str | None:
        import numpy as np
        import scipy.stats

        return near(wanted(np, scipy.stats))([r.mean, r.half_width])

    return check


def student(np, st, d):
    return d.mean(), st.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d))


A = lambda np, pd: np.random.default_rng(0).uniform(0.5, 0.8, 50)  # noqa: E731
B = lambda np, pd: np.random.default_rng(0).uniform(0.5, 0.8, 50) - 0.05 + np.random.default_rng(1).normal(0, 0.02, 50)  # noqa: E731
nothing = lambda r: None if r.conclusion == 0 else f"conclusive: {r.mean!r} ± {r.half_width!r}"  # noqa: E731
truths = [
    case(
        "paired_interval is SciPy's",
        stats_of("paired_interval", A, B),
        right=half(lambda np, st: student(np, st, A(np, 0) - B(np, 0))),
    ),
    case(
        "open_interval is SciPy's", stats_of("open_interval", A), right=half(lambda np, st: student(np, st, A(np, 0)))
    ),
    case(
        "of lists",
        stats_of("paired_interval", lambda np, pd: A(np, pd).tolist(), lambda np, pd: tuple(B(np, pd))),
        right=half(lambda np, st: student(np, st, A(np, 0) - B(np, 0))),
    ),
    case(
        "of Series with the same index",
        stats_of("paired_interval", lambda np, pd: pd.Series(A(np, pd)), lambda np, pd: pd.Series(B(np, pd))),
        right=half(lambda np, st: student(np, st, A(np, 0) - B(np, 0))),
    ),
    case(
        "of Series with the same index in another order",
        stats_of(
            "paired_interval",
            lambda np, pd: pd.Series(A(np, pd)),
            lambda np, pd: pd.Series(B(np, pd)).sample(frac=1, random_state=0),
        ),
        right=half(lambda np, st: student(np, st, A(np, 0) - B(np, 0))),
        says=("index",),
    ),
    case(
        "of Series with another index",
        stats_of(
            "paired_interval",
            lambda np, pd: pd.Series(A(np, pd)),
            lambda np, pd: pd.Series(B(np, pd), index=range(10, 60)),
        ),
        says=("index",),
    ),
    case(
        "of a Series and an array",
        stats_of("paired_interval", lambda np, pd: pd.Series(A(np, pd)), B),
        right=half(lambda np, st: student(np, st, A(np, 0) - B(np, 0))),
        says=("index",),
    ),
    case(
        "independent_interval of Series with other indices",
        stats_of(
            "independent_interval",
            lambda np, pd: pd.Series(A(np, pd)),
            lambda np, pd: pd.Series(B(np, pd), index=range(10, 60)),
        ),
        right=lambda r: None if abs(r.mean - 0.05) < 0.02 else f"{r}",
    ),
    case(
        "conclusions of Series in another order",
        stats_of(
            "conclusions",
            lambda np, pd: {
                "a": pd.Series(A(np, pd)),
                "b": pd.Series(A(np, pd) + 1e-3 * np.random.default_rng(2).normal(1, 0.5, 50)).sample(
                    frac=1, random_state=0
                ),
            },
            "paired",
        ),
        right=lambda m: None if m[1, 0] == 1 else f"paired by position: {m.tolist()}",
        says=("index",),
    ),
    case(
        "percent against shares",
        stats_of("paired_interval", lambda np, pd: 100 * A(np, pd), B),
        says=("percent|share|unit",),
        warns=("percent|share|unit",),
    ),
    case(
        "shares against percent",
        stats_of("paired_interval", A, lambda np, pd: 100 * B(np, pd)),
        says=("percent|share|unit",),
        warns=("percent|share|unit",),
    ),
    case(
        "independent, percent against shares",
        stats_of("independent_interval", lambda np, pd: 100 * A(np, pd), B),
        says=("percent|share|unit",),
        warns=("percent|share|unit",),
    ),
    case(
        "conclusions, percent against shares",
        stats_of("conclusions", lambda np, pd: {"a": 100 * A(np, pd), "b": B(np, pd)}, "open"),
        says=("percent|share|unit",),
        warns=("percent|share|unit",),
    ),
    case(
        "masked out, closed",
        stats_of("closed_interval", lambda np, pd: np.ma.masked_greater([0.5, 0.6, 99.0], 1)),
        says=("mask",),
        right=lambda r: near(0.55)(r.mean),
    ),
    case(
        "masked out, open",
        stats_of("open_interval", lambda np, pd: np.ma.masked_greater([0.5, 0.6, 99.0], 1)),
        says=("mask",),
        right=lambda r: near(0.55)(r.mean),
    ),
    case(
        "masked out, paired",
        stats_of(
            "paired_interval",
            lambda np, pd: np.ma.masked_greater([0.5, 0.6, 99.0], 1),
            lambda np, pd: np.array([0.4, 0.5, 0.6]),
        ),
        says=("mask",),
        right=lambda r: near(0.1)(r.mean),
    ),
    case(
        "masked out, moments",
        stats_of("moments", lambda np, pd: np.ma.masked_less(np.random.default_rng(0).random((9, 2, 3)), 0.2)),
        says=("mask",),
    ),
    case(
        "masked out, conformal",
        stats_of("conformal_quantile", lambda np, pd: np.ma.masked_greater([0.1] * 20 + [99.0] * 9, 1)),
        says=("mask",),
        right=near(0.1),
    ),
    case(
        "masked out, ranks",
        stats_of("picked", lambda np, pd: np.ma.masked_greater([[0.1, 9.0]], 1), lambda np, pd: np.array([[0.3, 0.7]])),
        says=("mask",),
    ),
    case(
        "masked out, three",
        lambda: call(
            "three_intervals", values=bent("three_intervals", "values", lambda np, v: np.ma.masked_equal(v, 0))
        ),
        says=("mask",),
    ),
    case(
        "nothing masked",
        stats_of("closed_interval", lambda np, pd: np.ma.masked_greater([0.5, 0.6], 1)),
        right=lambda r: near(0.55)(r.mean),
        says=("mask",),
    ),
    case("0.3 against 0.1 + 0.2", stats_of("paired_interval", [0.3] * 50, [0.1 + 0.2] * 50), right=nothing),
    case(
        "0.3 against 0.1 + 0.2, one task apart",
        stats_of("paired_interval", [0.3] * 50, [0.1 + 0.2] * 49 + [0.3]),
        right=nothing,
    ),
    case(
        "float32 against float64", stats_of("paired_interval", A, lambda np, pd: A(np, pd).astype("f4")), right=nothing
    ),
    case(
        "float32 against float64, percent",
        stats_of("paired_interval", lambda np, pd: 100 * A(np, pd), lambda np, pd: (100 * A(np, pd)).astype("f4")),
        right=nothing,
    ),
    case(
        "float16 against float64", stats_of("paired_interval", A, lambda np, pd: A(np, pd).astype("f2")), right=nothing
    ),
    case(
        "float32 that is rounded down against float64",
        stats_of("paired_interval", [0.1] * 50, lambda np, pd: np.full(50, 0.1, "f4")),
        right=nothing,
    ),
    case(
        "torch against NumPy",
        stats_of("paired_interval", lambda np, pd: __import__("torch").tensor(A(np, pd)).float(), A),
        right=nothing,
    ),
    case(
        "the same gap on every task",
        stats_of("paired_interval", [0.6, 0.7, 0.8], [0.5, 0.6, 0.7]),
        right=lambda r: near(0.1)(r.mean),
    ),
    case(
        "a true small gap",
        stats_of(
            "paired_interval", lambda np, pd: A(np, pd) + 1e-4 + 1e-5 * np.random.default_rng(3).normal(size=50), A
        ),
        right=lambda r: None if r.conclusion == 1 else f"not found: {r.mean} ± {r.half_width}",
    ),
    case("two tasks, equal", stats_of("open_interval", [0.5, 0.5]), right=lambda r: near(0.5)(r.mean)),
    case("accuracies of 170", stats_of("closed_interval", [170.0, 60.0, 70.0]), says=("170",), right=fine),
    case("negative accuracies", stats_of("closed_interval", [-0.5, 0.6, 0.7]), says=("-0.5",), right=fine),
    case(
        "truth values",
        stats_of("closed_interval", [True, False, True]),
        right=lambda r: near(2 / 3)(r.mean),
        says=("bool",),
    ),
    case("whole numbers", stats_of("closed_interval", [1, 0, 1]), right=lambda r: near(2 / 3)(r.mean)),
    case(
        "Decimal",
        stats_of("closed_interval", lambda np, pd: [__import__("decimal").Decimal("0.5")] * 3),
        right=lambda r: near(0.5)(r.mean),
    ),
    case("with None", stats_of("closed_interval", [0.5, None, 0.7]), says=("accuracies|NaN",)),
    case(
        "pandas with NA",
        stats_of("closed_interval", lambda np, pd: pd.array([0.5, None, 0.7], "Float64")),
        says=("accuracies|NaN",),
    ),
    case(
        "a DataFrame",
        stats_of("closed_interval", lambda np, pd: pd.DataFrame({"a": [0.5, 0.6]})),
        says=("shape|dimension",),
    ),
    case(
        "paired, other lengths",
        stats_of("paired_interval", [0.5, 0.6, 0.7], [0.5, 0.6]),
        says=("shape|length", "3", "2"),
    ),
    case(
        "paired, one a column",
        stats_of("paired_interval", lambda np, pd: A(np, pd)[:, None], A),
        says=("shape|dimension",),
    ),
    case(
        "compare closed with open",
        lambda: __import__("fslcore.stats", fromlist=["x"]).compare(call("closed_interval"), call("open_interval")),
        says=("closed", "open"),
    ),
    case(
        "compare at two levels",
        lambda: __import__("fslcore.stats", fromlist=["x"]).compare(
            call("open_interval"), call("open_interval", level=0.9)
        ),
        says=("0.95", "0.9"),
    ),
    case(
        "compare paired",
        lambda: __import__("fslcore.stats", fromlist=["x"]).compare(call("paired_interval"), call("paired_interval")),
        says=("paired",),
    ),
    case(
        "closed of three is closed_interval",
        lambda: call("three_intervals"),
        right=lambda r: near(
            lambda: (lambda s, v: [s.closed_interval(v).mean, s.closed_interval(v).half_width])(
                __import__("fslcore.stats", fromlist=["x"]), world()["values"].mean(axis=1)
            )
        )([r.closed.mean, r.closed.half_width]),
    ),
    case(
        "three_intervals of open tasks",
        lambda: __import__("fslcore.stats", fromlist=["x"]).three_intervals(**world(open_tasks=True)),
        says=("reuse|again|open|share",),
        warns=("reuse|again|open|share",),
    ),
    case(
        "influence of open tasks",
        lambda: (
            lambda w, np, s: s.influence(
                w["values"].mean(axis=1), np.concatenate([w["support"], w["query"]], axis=1), w["labels"]
            )
        )(world(open_tasks=True), __import__("numpy"), __import__("fslcore.stats", fromlist=["x"])),
        says=("reuse|again|open|share",),
        warns=("reuse|again|open|share",),
    ),
    case(
        "three: an image is support and query",
        lambda: call(
            "three_intervals",
            query=bent(
                "three_intervals", "query", lambda np, q: np.concatenate([world()["support"][:, :1], q[:, 1:]], axis=1)
            ),
        ),
        says=("twice",),
    ),
    case(
        "three: padding",
        lambda: call(
            "three_intervals", query=bent("three_intervals", "query", lambda np, q: np.where(np.arange(15) < 14, q, -1))
        ),
        says=("padding|-1",),
    ),
    case(
        "three: an image beyond",
        lambda: call("three_intervals", query=bent("three_intervals", "query", lambda np, q: q + 50)),
        says=("images 0 to|95",),
    ),
    case(
        "three: labels too few",
        lambda: call("three_intervals", labels=bent("three_intervals", "labels", lambda np, v: v[:50])),
        says=("49|50|labels",),
    ),
    case(
        "three: labels with NaN",
        lambda: call(
            "three_intervals",
            labels=bent("three_intervals", "labels", lambda np, v: np.where(np.arange(96) == 3, np.nan, v)),
        ),
        says=("labels", "NaN"),
    ),
    case("three: labels None", lambda: call("three_intervals", labels=None), says=("labels",)),
    case(
        "three: labels (N, 1)",
        lambda: call("three_intervals", labels=bent("three_intervals", "labels", lambda np, v: v[:, None])),
        says=("labels",),
    ),
    case(
        "three: labels of texts",
        lambda: call("three_intervals", labels=bent("three_intervals", "labels", lambda np, v: v.astype(str))),
        right=fine,
    ),
    case(
        "three: floats as images",
        lambda: call("three_intervals", support=bent("three_intervals", "support", lambda np, s: s.astype(float))),
        says=("float64|whole|integer",),
    ),
    case("three: groups of other length", lambda: call("three_intervals", groups=[1, 2, 3]), says=("groups",)),
    case(
        "three: one group",
        lambda: call("three_intervals", groups=bent("three_intervals", "labels", lambda np, v: 0 * v)),
        says=("groups",),
    ),
    case(
        "three: groups with NaN",
        lambda: call(
            "three_intervals", groups=bent("three_intervals", "labels", lambda np, v: np.where(v == 3, np.nan, v))
        ),
        says=("groups", "NaN"),
    ),
    case(
        "three: values of a task each",
        lambda: call("three_intervals", values=bent("three_intervals", "values", lambda np, v: v.mean(axis=1))),
        says=("values", "shape"),
    ),
    case(
        "three: 19 tasks",
        lambda: call(
            "three_intervals",
            **{k: bent("three_intervals", k, lambda np, v: v[:19]) for k in ("values", "support", "query")},
        ),
        says=("19", "20"),
    ),
    case("influence: query without replaced", lambda: call("influence", query=world()["query"]), says=("replaced",)),
    case("influence: groups None texts", lambda: call("influence", groups="abc"), says=("groups",)),
    case(
        "influence: labels with NaN",
        lambda: call(
            "influence", labels=bent("influence", "labels", lambda np, v: np.where(np.arange(96) == 3, np.nan, v))
        ),
        says=("labels", "NaN"),
    ),
    case(
        "influence: minus one on other images",
        lambda: (
            call("influence")
            - (
                lambda s, w, np: s.influence(
                    w["values"].mean(axis=1), np.concatenate([w["support"], w["query"]], axis=1), w["labels"]
                )
            )(__import__("fslcore.stats", fromlist=["x"]), world(classes=9), __import__("numpy"))
        ),
        says=("images",),
    ),
]


def queries_of(classes_of: Callable) -> Callable[[], object]:
    """A pilot of which the queries of a task are in any order, with their labels."""

    def run() -> object:
        import numpy as np

        from fslcore import stats

        if not any("label" in name for name in inspect.signature(stats.pilot).parameters):
            return "pilot takes no labels"
        rng = np.random.default_rng(0)
        right = good()["pilot"]["values"]
        label = np.broadcast_to(np.arange(5).repeat(15), (60, 75))
        order = rng.random(label.shape).argsort(axis=1)
        flat, label = (np.take_along_axis(v, order, axis=1) for v in (right.reshape(60, 75), label))
        name = next(n for n in inspect.signature(stats.pilot).parameters if "label" in n)
        return classes_of(stats, flat, label, name)

    return run


def as_grouped(found) -> str | None:
    return found if isinstance(found, str) else near(lambda: call("pilot").optimum, 1e-6)(found.optimum)


def _shuffled() -> object:
    """What the README's reshape does to shuffled queries: refused where there is a way to give labels."""
    import numpy as np

    from fslcore import stats

    right = good()["pilot"]["values"].reshape(60, 75)
    rng = np.random.default_rng(0)
    flat = np.take_along_axis(right, rng.random(right.shape).argsort(axis=1), axis=1)
    return stats.pilot(flat, shots=5)  # (T, K·Q), as a record has it, and no labels


sizing = [
    case(
        "pilot of shuffled queries with their labels",
        queries_of(lambda s, v, label, name: s.pilot(v, shots=5, **{name: label})),
        right=as_grouped,
    ),
    case("pilot of (T, K·Q) without labels", _shuffled, says=("label|shape",)),
    case(
        "pilot: labels of another shape",
        queries_of(lambda s, v, label, name: s.pilot(v, shots=5, **{name: label[:, :-1]})),
        says=("label",),
    ),
    case(
        "pilot: unequal numbers of a class",
        queries_of(lambda s, v, label, name: s.pilot(v, shots=5, **{name: label * (label > 1)})),
        says=("label|class|queries",),
    ),
    case(
        "pilot of percent",
        lambda: call("pilot", values=bent("pilot", "values", lambda np, v: 100 * v)),
        right=lambda p: near(lambda: call("pilot").optimum, 1e-6)(p.optimum),
    ),
    case(
        "pilot of accuracies, not of queries",
        lambda: call("pilot", values=bent("pilot", "values", lambda np, v: v.mean(axis=2))),
        says=("shape",),
    ),
    case(
        "pilot of constant values",
        lambda: call("pilot", values=bent("pilot", "values", lambda np, v: 0 * v)),
        says=("vary",),
    ),
    case(
        "pilot of two tasks",
        lambda: call("pilot", values=bent("pilot", "values", lambda np, v: v[:2])),
        says=("3", "(2, 5, 15)"),
    ),
    case(
        "plan of one method, not of a difference",
        lambda: call("plan", pilot=call("three_intervals")),
        says=("difference|one method|paired",),
        warns=("difference|one method|paired",),
    ),
    case(
        "plan of a pilot of open tasks",
        lambda: call("plan", pilot=pilot_of_a_difference(), images_per_class=None, ways=None, shots=None),
        right=lambda r: None if r.n_tasks > 1 and r.queries > 0 else f"no plan: {r}",
    ),
    case(
        "plan of a pilot of open tasks that is told its shots again",
        lambda: call("plan", pilot=pilot_of_a_difference(), images_per_class=None, ways=None),
        says=("shots", "left out"),
    ),
    case("plan: fewer classes than ways", lambda: call("plan", n_classes=4), says=("classes", "ways|4")),
    case(
        "plan: a difference that needs 10^12 tasks",
        lambda: call("plan", difference=1e-9),
        right=fine,
        says=("difference",),
    ),
    case("plan: a difference of 1e-300", lambda: call("plan", difference=1e-300), right=fine, says=("difference",)),
    case("power of a difference of 0", lambda: call("power", difference=0.0), right=near(0.05, 1e-6)),
    case("power of a huge difference", lambda: call("power", difference=1e12), right=near(1.0, 1e-6)),
    case("power of infinite df", lambda: call("power", df=math.inf), right=near(0.516, 1e-3)),
    case("power of huge df", lambda: call("power", df=1e300), right=near(0.516, 1e-3)),
    case("detectable of infinite df", lambda: call("detectable", df=math.inf), right=near(1.4008, 1e-3)),
    case("task_count", lambda: call("task_count"), right=near(60.0)),
    case("task_count of arrays", lambda: call("task_count", queries=[5, 15]), right=near([120.0, 60.0])),
    case("task_count of arrays with a NaN", lambda: call("task_count", queries=[5, math.nan]), says=("queries",)),
    case("best_queries: queries without tasks", lambda: call("best_queries", queries=[1, 2, 3]), says=("tasks",)),
    case("best_queries: tasks without queries", lambda: call("best_queries", tasks=[10, 20, 30]), says=("queries",)),
    case(
        "best_queries: negative queries",
        lambda: call("best_queries", queries=[-3, -2, 1], tasks=[50, 40, 30]),
        says=("queries", "-3|1"),
    ),
    case(
        "best_queries: queries of 0",
        lambda: call("best_queries", queries=[0, 1], tasks=[50, 40]),
        says=("queries", "0|1"),
    ),
    case(
        "best_queries: queries of 2.5",
        lambda: call("best_queries", queries=[2.5, 3.5], tasks=[50, 40]),
        says=("queries", "2.5|whole"),
    ),
    case(
        "best_queries: tasks with NaN",
        lambda: call("best_queries", queries=[1, 2], tasks=[50, math.nan]),
        says=("tasks", "NaN|nan|2"),
    ),
    case(
        "best_queries: queries with NaN",
        lambda: call("best_queries", queries=[1, math.nan], tasks=[50, 40]),
        says=("queries", "NaN|nan"),
    ),
    case(
        "best_queries: none to choose from",
        lambda: call("best_queries", queries=[], tasks=[]),
        says=("queries|empty|shape",),
    ),
    case(
        "best_queries: other lengths",
        lambda: call("best_queries", queries=[1, 2, 3], tasks=[50, 40]),
        says=("queries", "tasks"),
    ),
    case(
        "best_queries: a model of NaN",
        lambda: call(
            "best_queries", model=__import__("fslcore.stats", fromlist=["x"]).VarianceModel(math.nan, 0.2, 0.1, 5)
        ),
        says=("nan|alpha|Q*",),
    ),
    case(
        "best_queries: a model of infinity",
        lambda: call("best_queries", model=__import__("fslcore.stats", fromlist=["x"]).VarianceModel(0.0, 0.2, 0.1, 5)),
        says=("Q*|inf",),
    ),
    case(
        "fit_variance: negative queries",
        lambda: call("fit_variance", queries=[-1, 2, 4, 8, 16]),
        says=("queries", "-1|1"),
    ),
    case("fit_variance: queries of 0", lambda: call("fit_variance", queries=[0, 2, 4, 8, 16]), says=("queries", "0|1")),
    case(
        "fit_variance: negative variance",
        lambda: call("fit_variance", variance=[-1, 2, 4, 8, 16]),
        says=("variance", "-1|0"),
    ),
    case("fit_variance: tasks of 0", lambda: call("fit_variance", tasks=[0, 2, 4, 8, 16]), says=("tasks", "0")),
    case(
        "fit_variance: negative tasks", lambda: call("fit_variance", tasks=[-10, 2, 4, 8, 16]), says=("tasks", "-10|0")
    ),
    case(
        "fit_variance: tasks with NaN",
        lambda: call("fit_variance", tasks=[math.nan, 2, 4, 8, 16]),
        says=("tasks", "NaN|nan|0"),
    ),
    case("fit_variance: three values of Q", lambda: call("fit_variance", queries=[1, 1, 2, 2, 4]), says=("4",)),
    case("fit_variance: errors of 0", lambda: call("fit_variance", error=[0, 1, 1, 1, 1]), says=("error",)),
    case(
        "smallest that never comes",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: False, 2),
        says=("most|never|enough|none",),
        right=lambda v: None if v is None else f"{v}",
    ),
    case(
        "smallest up to 10^30",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 10**29, 2, 10**30),
        says=("most|10",),
        right=lambda v: None if v == 10**29 else f"{v}",
    ),
    case(
        "smallest of 10^12",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 10**12, 2),
        right=near(1e12),
    ),
    case(
        "smallest from 0",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 5, 0),
        right=near(5),
        says=("least",),
    ),
    case(
        "smallest from -3",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 5, -3),
        right=near(5),
        says=("least",),
    ),
    case(
        "smallest from 2.5",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 5, 2.5),
        says=("least",),
    ),
    case(
        "smallest from NaN",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 5, math.nan),
        says=("least",),
    ),
    case(
        "smallest, most below least",
        lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(lambda n: n >= 50, 20, 10),
        says=("most",),
        right=lambda v: None if v is None else f"{v}",
    ),
    case(
        "smallest of no function", lambda: __import__("fslcore.stats", fromlist=["x"]).smallest(3, 2), says=("enough",)
    ),
    case(
        "common_optimum of other shots",
        lambda: call("common_optimum", pilots=lambda: [call("pilot"), call("pilot", shots=1)]),
        says=("shots",),
    ),
    case("common_optimum of one", lambda: call("common_optimum", pilots=lambda: [call("pilot")]), says=("2",)),
    case(
        "compare_optima of other shapes",
        lambda: call("compare_optima", b=bent("compare_optima", "b", lambda np, v: v[:, :, :9])),
        says=("shape",),
    ),
    case("VarianceModel: queries of 0", lambda: good()["best_queries"]["model"].variance(0, 10), says=("queries",)),
    case("VarianceModel: negative tasks", lambda: good()["best_queries"]["model"].variance(5, -10), says=("tasks",)),
    case("VarianceModel: NaN", lambda: good()["best_queries"]["model"].variance(math.nan, 10), says=("queries",)),
    case(
        "conformal: one score",
        lambda: call("conformal_quantile", scores=[0.1]),
        right=lambda v: None if v == math.inf else f"{v}",
    ),
    case(
        "conformal: negative scores",
        lambda: call("conformal_quantile", scores=[-0.1] * 20),
        right=fine,
        says=("scores",),
    ),
    case(
        "rank_correlation of constants",
        lambda: call("rank_correlation", a=bent("rank_correlation", "a", lambda np, v: 0 * v)),
        right=near([math.nan] * 9),
    ),
    case(
        "rank_correlation of one candidate",
        lambda: call("rank_correlation", a=[[1.0]], b=[[1.0]]),
        says=("2|candidates",),
    ),
    case("Moments.model of 0 shots", lambda: call("moments").model(0), says=("shots",)),
    case("Moments.model of NaN shots", lambda: call("moments").model(math.nan), says=("shots",)),
]
CASES = [
    replace(c, limit=8.0) for c in (*shapes, *numbers, *truths, *sizing)
]  # they take milliseconds, but for the first
