"""`fslcore.tools.report`: every table of a report, over random and over hard results; and how long they take."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from .common import fine, near, of_area

case = of_area("results functions")
LONG = ["method", "task", "accuracy"]


def frame(
    methods: int,
    tasks: int,
    gap: float = 0.0,
    *,
    seed: int = 0,
    noise: float = 5,
    spread: float = 10,
    decimals: int | None = None,
):
    """A wide table in percent: tasks differ by ``spread``, methods by ``gap`` each, and by ``noise`` on a task."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    values = (
        50 + spread * rng.normal(size=(tasks, 1)) + gap * np.arange(methods) + noise * rng.normal(size=(tasks, methods))
    )
    values = np.clip(values, 2, 99)
    return pd.DataFrame(
        values if decimals is None else values.round(decimals), columns=[f"m{i}" for i in range(methods)]
    )


def everything(wide, level: float = 0.95, **options) -> dict:
    """All that a report makes of a table."""
    from fslcore.tools import report
    from fslcore.tools.report import comparisons, intervals, normalise

    table, notes = normalise(wide, "r.csv", **options)
    pairs = comparisons(table, level)
    made = {
        name: getattr(report, name)(table, pairs)
        for name in ("matrix", "pair_list", "changed", "group_letters", "panels")
    }
    made |= {name: getattr(report, name)(table, pairs, level) for name in ("interval_list", "needed", "summary")}
    return {**made, "table": table, "pairs": pairs, "intervals": intervals(table, level), "notes": notes}


def sound(wide) -> Callable[[dict], str | None]:
    """Means, differences and p-values are those of NumPy and SciPy; every pair stands in one of the two lists."""

    def check(made: dict) -> str | None:
        import numpy as np
        import scipy.stats

        given = wide() if callable(wide) else wide
        for (_, method), row in made["intervals"].iterrows():
            if abs(row["mean"] - given[method].mean()) > 1e-6:
                return f"{method}: {row['mean']} instead of {given[method].mean()}"
        pairs = made["pairs"]
        if len(pairs) != given.shape[1] * (given.shape[1] - 1) // 2:
            return f"{len(pairs)} pairs of {given.shape[1]} methods"
        for row in pairs.itertuples():
            d = given[row.a] - given[row.b]
            if abs(d.mean() - row.difference) > 1e-4:
                return f"{row.a} - {row.b}: {row.difference} instead of {d.mean()}"
            if d.std() > 0.01 and abs(scipy.stats.ttest_rel(given[row.a], given[row.b]).pvalue - row.p) > 1e-6:
                return f"{row.a} - {row.b}: p = {row.p}"
            if np.abs(d).max() < 1e-7 and row.holm:
                return f"{row.a} and {row.b} differ by rounding and are told apart"
        if len(made["needed"]) != (~pairs["holm"].astype(bool)).sum():
            return f"{len(made['needed'])} pairs need tasks, of {(~pairs['holm']).sum()} that are not told apart"
        return None

    return check


def random_table(seed: int) -> dict:
    """What a random report holds: 2 to 12 methods, gaps from none to huge, ties."""
    rng = random.Random(seed)
    return dict(
        methods=rng.randint(2, 12),
        tasks=rng.choice([2, 3, 5, 20, 100, 600]),
        gap=rng.choice([0, 0.01, 0.3, 3.0]),
        seed=seed,
        noise=rng.choice([0, 0.001, 2.0, 8.0]),
        spread=rng.choice([0, 1, 10]),
        decimals=rng.choice([None, 2, 0]),
    )


cases = []
for seed in range(40):
    made = random_table(seed)
    cases.append(
        case(
            f"random table {seed}: " + ", ".join(f"{k} {v}" for k, v in made.items() if k != "seed"),
            lambda made=made: everything(frame(**made)),
            right=lambda found, made=made: sound(frame(**made))(found),
            # Whole numbers of two or three tasks may count the rows by chance.
            says=("counts the rows",) if made["decimals"] == 0 and made["tasks"] < 4 else None,
        )
    )


def changed(name: str, change: Callable, check: Callable = fine, **wanted) -> None:
    """A case: a table of two methods, changed."""

    def call() -> dict:
        import numpy as np
        import pandas as pd

        return everything(change(np, pd, frame(2, 40)))

    cases.append(case(name, call, **{"right": check, **wanted} if check else wanted))


apart = lambda found: "told apart" if bool(found["pairs"]["holm"].any()) else None  # noqa: E731
changed("two equal methods", lambda np, pd, f: f.assign(m1=f.m0), apart)
changed("equal but for rounding", lambda np, pd, f: f.assign(m1=f.m0 + 1e-13), apart)
changed("equal but for the rounding of 32 bits", lambda np, pd, f: f.assign(m1=f.m0.astype("f4").astype(float)), apart)
changed(
    "equal but for the rounding of 32 bits, as columns of both kinds",
    lambda np, pd, f: f.assign(m1=f.m0.astype("f4")),
    apart,
)
changed(
    "equal but for the rounding of 32 bits, shares",
    lambda np, pd, f: (f / 100).assign(m1=(f.m0 / 100).astype("f4").astype(float)),
    apart,
)
changed("written with 15 digits", lambda np, pd, f: f.assign(m1=f.m0.map(lambda v: float(f"{v:.15g}"))), apart)
changed("one task apart", lambda np, pd, f: f.assign(m1=np.r_[f.m0[:-1], f.m0.iloc[-1] + 1]), apart)
changed("the same gap on every task", lambda np, pd, f: f.assign(m1=f.m0 + 0.5))
changed("one method constant", lambda np, pd, f: f.assign(m1=50.0))
changed("both constant, apart", lambda np, pd, f: f.assign(m0=50.0, m1=60.0))
changed("all 0 and all 100", lambda np, pd, f: f.assign(m0=0.0, m1=100.0))
changed("one method", lambda np, pd, f: f[["m0"]])
changed("an infinite value", lambda np, pd, f: f.assign(m1=np.r_[np.inf, f.m1[1:]]), None, says=("m1", "inf"))
changed("a NaN", lambda np, pd, f: f.assign(m1=np.r_[np.nan, f.m1[1:]]), None, says=("m1", "row 1"))
changed("texts", lambda np, pd, f: f.astype(str))
changed("truth values", lambda np, pd, f: f > 50, None, says=("m0|0 and 1",))
changed("no rows", lambda np, pd, f: f.head(0), None, says=("no rows",))
changed("no columns", lambda np, pd, f: f[[]], None, says=("r.csv",))
changed(
    "columns of two levels",
    lambda np, pd, f: f.set_axis(pd.MultiIndex.from_tuples([("a", "m0"), ("a", "m1")]), axis=1),
    fine,
    says=("r.csv|level",),
)
changed("columns that are numbers", lambda np, pd, f: f.set_axis([0, 1], axis=1))
changed("an index of dates", lambda np, pd, f: f.set_axis(pd.date_range("2024", periods=40)))
changed("nullable floats", lambda np, pd, f: f.astype("Float64"))
changed(
    "categories",
    lambda np, pd, f: (
        f.assign(task=range(40)).melt("task", var_name="method", value_name="accuracy").astype({"method": "category"})
    ),
)
changed("tasks that are numbers and texts", lambda np, pd, f: f.assign(task=[*range(39), "last"]))
changed("a method called a", lambda np, pd, f: f.set_axis(["a", "b"], axis=1))
changed("a method called difference", lambda np, pd, f: f.set_axis(["difference", "lower mean"], axis=1))
changed("a method called setting", lambda np, pd, f: f.set_axis(["setting", "verdict"], axis=1))
changed("open tasks of known shape", lambda np, pd, f: f.assign(sampling="open", ways=5, shots=5, queries=15))
changed("closed tasks", lambda np, pd, f: f.assign(sampling="closed"))
changed("two settings", lambda np, pd, f: f.assign(ways=[5] * 20 + [10] * 20, task=[*range(20)] * 2))


def with_arguments(name: str, call: Callable, **wanted) -> None:
    cases.append(case(name, call, **wanted))


def results():
    from fslcore.tools import report as module

    return module


def tables():
    table, _ = results().normalise(frame(3, 40), "r.csv")
    return table, results().comparisons(table)


for value in (0, 1, -0.5, 95, math.nan, math.inf, "0.95", None):
    for function in ("intervals", "comparisons"):
        with_arguments(
            f"{function}: level = {value!r}",
            lambda f=function, v=value: getattr(results(), f)(tables()[0], v),
            says=("level",),
        )
    for function in ("needed", "interval_list", "summary"):
        with_arguments(
            f"{function}: level = {value!r}",
            lambda f=function, v=value: getattr(results(), f)(*tables(), v),
            says=("level",),
        )
    for function in ("tasks_for_width", "tasks_for_power"):
        with_arguments(
            f"{function}: level = {value!r}", lambda f=function, v=value: getattr(results(), f)(0.5, v), says=("level",)
        )
for value in (math.nan, "1", None):
    for function in ("tasks_for_width", "tasks_for_power"):
        with_arguments(
            f"{function}: effect = {value!r}",
            lambda f=function, v=value: getattr(results(), f)(v),
            says=("effect|difference",),
        )
for value in (0, 1, 2, math.nan, "0.8", None):
    with_arguments(
        f"tasks_for_power: power = {value!r}", lambda v=value: results().tasks_for_power(0.5, 0.95, v), says=("power",)
    )
none = lambda v: None if v is None else f"{v}"  # noqa: E731
with_arguments("tasks_for_width of no effect", lambda: results().tasks_for_width(0.0), right=none)
with_arguments("tasks_for_power of no effect", lambda: results().tasks_for_power(0.0), right=none)
with_arguments("tasks_for_power of 1e-9", lambda: results().tasks_for_power(1e-9), right=none)
# Differences that are all equal are told apart by a sign test: 2^(1 - T) < 0.05 from 6 tasks on.
with_arguments(
    "tasks_for_power of an infinite effect",
    lambda: results().tasks_for_power(math.inf),
    right=near(6),
    says=("effect",),
)
with_arguments("tasks_for_power of 0.5 (34, by any textbook)", lambda: results().tasks_for_power(0.5), right=near(34))
with_arguments("tasks_for_power of -0.5", lambda: results().tasks_for_power(-0.5), right=near(34))
with_arguments("tasks_for_width of 0.5", lambda: results().tasks_for_width(0.5), right=near(18))
for value in ("random", None, 3, ""):
    with_arguments(
        f"normalise: sampling = {value!r}",
        lambda v=value: results().normalise(frame(2, 9), "r.csv", v),
        says=("sampling",),
    )
for value in ("yes", None, 3):
    with_arguments(
        f"normalise: common = {value!r}",
        lambda v=value: results().normalise(frame(2, 9), "r.csv", common=v),
        says=("common",),
    )
for value in (None, [1, 2], {"a": [0.5, 0.6]}, "r.csv", 3):
    with_arguments(
        f"normalise: frame = {value!r}",
        lambda v=value: results().normalise(v, "r.csv"),
        says=("frame|table|DataFrame",),
    )
for value in (None, 3, "", b"r.csv"):
    with_arguments(f"read: path = {value!r}", lambda v=value: results().read(v), says=("results|path|file",))
with_arguments(
    "groups: no methods", lambda: results().groups([], tables()[1].head(0)), right=lambda v: None if v == [] else f"{v}"
)
with_arguments(
    "groups: a pair of others", lambda: results().groups(["x"], tables()[1]), right=fine, says=("m0|m1|m2|x",)
)
with_arguments(
    "groups: a method twice",
    lambda: results().groups(["x", "x"], tables()[1].head(0)),
    says=("x", "twice|once"),
    right=lambda v: None if v == [["x"]] else f"{v}",
)
cases.append(
    case("needed of 60 methods in 20 s", lambda: everything(frame(60, 600, 0.05, noise=3)), right=fine, limit=20)
)
cases.append(case("all of 20 methods in 8 s", lambda: everything(frame(20, 600, 0.05, noise=3)), right=fine, limit=8))
CASES = cases
