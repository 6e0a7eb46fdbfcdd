"""Every table of a report, over random and over hard results; and how long they take."""

import math
import time

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from fslcore.tools import report as results

from .judging import fine, judge, near, row


def frame(methods, tasks, gap=0.0, *, seed=0, noise=5.0, spread=10.0, decimals=None):
    """A wide table in percent: tasks differ by ``spread``, methods by ``gap`` each, and by ``noise`` on a task."""
    rng = np.random.default_rng(seed)
    hard = 50 + spread * rng.normal(size=(tasks, 1))
    values = np.clip(hard + gap * np.arange(methods) + noise * rng.normal(size=(tasks, methods)), 2, 99)
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(methods)]).round(15 if decimals is None else decimals)


def everything(wide):
    """All that a report makes of a table."""
    found = results.Results.of(wide, "r.csv")
    assert found.panels and found.summary() and found.paragraphs() and found.record()
    return {"pairs": found.pairs, "needed": found.tables["needed"], "intervals": found.intervals}


@given(
    methods=st.integers(2, 6),
    tasks=st.sampled_from([2, 3, 5, 20, 100]),
    gap=st.sampled_from([0, 0.01, 0.3, 3.0]),
    noise=st.sampled_from([0.001, 2.0, 8.0]),
    spread=st.sampled_from([0, 1, 10]),
    decimals=st.sampled_from([None, 2]),
)
@settings(max_examples=4)
def test_means_differences_and_p_values_are_those_of_scipy(**made):
    wide = frame(**made)
    found = everything(wide)
    for (_, method), of in found["intervals"].iterrows():
        assert of["mean"] == pytest.approx(wide[method].mean(), abs=1e-6)
    assert len(found["pairs"]) == math.comb(wide.shape[1], 2)
    for pair in found["pairs"].itertuples():
        d = wide[pair.a] - wide[pair.b]
        assert pair.difference == pytest.approx(d.mean(), abs=1e-4)
        if d.std() > 0.01:
            assert pair.p == pytest.approx(scipy.stats.ttest_rel(wide[pair.a], wide[pair.b]).pvalue, abs=1e-6)
    assert len(found["needed"]) == (~found["pairs"]["holm"].astype(bool)).sum()


def together(done):
    """No two are significantly different."""
    return not done.value["pairs"]["holm"].any()


F = frame(2, 40)
SETTINGS = F.assign(ways=[5] * 20 + [10] * 20, task=[*range(20)] * 2)


@pytest.mark.parametrize(
    "wide, expected",
    [
        row("equal", F.assign(m1=F.m0), together),
        row("equal but for rounding", F.assign(m1=F.m0 + 1e-13), together),
        row("equal but for 32 bits", F.assign(m1=F.m0.astype("f4").astype(float)), together),
        row("equal but for 32 bits, in both types", F.assign(m1=F.m0.astype("f4")), together),
        row("equal but for 32 bits, shares", (F / 100).assign(m1=(F.m0 / 100).astype("f4").astype(float)), together),
        row("with 15 digits", F.assign(m1=F.m0.map(lambda v: float(f"{v:.15g}"))), together),
        row("one task apart", F.assign(m1=np.r_[F.m0[:-1], F.m0.iloc[-1] + 1]), together),
        row("0.3 against 0.1 + 0.2", pd.DataFrame({"x": [0.3] * 40, "y": [0.1 + 0.2] * 40}), together),
        row("the same gap on every task", F.assign(m1=F.m0 + 0.5), fine),
        row("one method constant", F.assign(m1=50.0), "--out-of 100"),
        row("both constant, apart", F.assign(m0=50.0, m1=60.0), "--out-of 100"),
        row("all 0 and all 100", F.assign(m0=0.0, m1=100.0), fine),
        row("one method", F[["m0"]], fine),
        row("an infinite value", F.assign(m1=np.r_[np.inf, F.m1[1:]]), "m1 & inf"),
        row("a NaN", F.assign(m1=np.r_[np.nan, F.m1[1:]]), "m1 & row 1"),
        row("texts", F.astype(str), fine),
        row("truth values", F > 50, "m0|0 and 1"),
        row("no rows", F.head(0), "no rows"),
        row("no columns", F[[]], "r.csv"),
        row("columns of two levels", F.set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1), "level"),
        row("columns that are numbers", F.set_axis([0, 1], axis=1), fine),
        row("an index of dates", F.set_axis(pd.date_range("2024", periods=40)), fine),
        row("nullable floats", F.astype("Float64"), fine),
        row("tasks that are numbers and texts", F.assign(task=[*range(39), "last"]), fine),
        row("methods a and b", F.set_axis(["a", "b"], axis=1), fine),
        row("methods difference and lower mean", F.set_axis(["difference", "lower mean"], axis=1), "--methods"),
        row("methods setting and verdict", F.set_axis(["setting", "verdict"], axis=1), fine),
        row("open tasks of known shape", F.assign(sampling="open", ways=5, shots=5, queries=15), fine),
        row("closed tasks", F.assign(sampling="closed"), fine),
        row("two settings", SETTINGS, fine),
    ],
)
def test_hard_tables(wide, expected):
    judge(lambda: everything(wide), expected)


def nothing(done):
    return done.value is None


PAIRS = results.Results.of(frame(3, 40), "r.csv").pairs


@pytest.mark.parametrize(
    "call, expected",
    [
        row("width of no effect", lambda: results.tasks_for_width(0.0), nothing),
        row("power of no effect", lambda: results.tasks_for_power(0.0), nothing),
        row("power of 1e-9", lambda: results.tasks_for_power(1e-9), nothing),
        # Of differences that are all equal their size decides, and the effect does not say it.
        row("power of an infinite effect", lambda: results.tasks_for_power(math.inf), nothing),
        row("power of 0.5, by any textbook", lambda: results.tasks_for_power(0.5), near(34)),
        row("power of -0.5", lambda: results.tasks_for_power(-0.5), near(34)),
        row("width of 0.5", lambda: results.tasks_for_width(0.5), near(18)),
        row("groups of no methods", lambda: results.compare.groups([], PAIRS.head(0)), lambda done: done.value == []),
        row("groups of others", lambda: results.compare.groups(["x"], PAIRS), fine),
        row("groups of a method twice", lambda: results.compare.groups(["x", "x"], PAIRS.head(0)), fine),
        *(row(f"reading {v!r}", lambda v=v: results.Results.read(v), "path") for v in (None, 3, "", b"r.csv")),
    ],
)
def test_functions(call, expected):
    judge(call, expected)


def test_many_methods_take_seconds():
    start = time.process_time()
    everything(frame(20, 600, 0.05, noise=3))
    assert time.process_time() - start < 8
