"""Every table of a report, over random and over hard results; and how long they take."""

import math
import time

import numpy as np
import pandas as pd
import proposed
import pytest
import scipy.stats
from hypothesis import given, settings, strategies as st

from .judging import judge, row


def frame(methods, tasks, gap=0.0, *, seed=0, noise=5.0, spread=10.0, decimals=None):
    """A wide table in percent: tasks differ by ``spread``, methods by ``gap`` each, and by ``noise`` on a task."""
    rng = np.random.default_rng(seed)
    hard = 50 + spread * rng.normal(size=(tasks, 1))
    values = np.clip(
        hard + gap * np.arange(methods) + noise * rng.normal(size=(tasks, methods)), 2, 99
    )
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(methods)]).round(
        15 if decimals is None else decimals
    )


def everything(wide):
    """All that a report makes of a table."""
    methods = [name for name in wide if name != "task"]
    results = proposed.from_frame(wide, "r.csv", methods=methods)
    assert results.lines() and results.record()
    return results


@given(
    methods=st.integers(2, 6),
    tasks=st.sampled_from([2, 3, 5, 20, 100]),
    gap=st.sampled_from([0, 0.01, 0.3, 3.0]),
    noise=st.sampled_from([0.001, 2.0, 8.0]),
    spread=st.sampled_from([0, 1, 10]),
    decimals=st.sampled_from([None, 2]),
)
@settings(max_examples=12)
def test_means_differences_and_p_values_are_those_of_scipy(**options):
    wide = frame(**options)
    results = proposed.from_frame(wide, "r.csv")
    means = results.methods.set_index("method")["mean"]
    assert means.to_dict() == pytest.approx(wide.mean().to_dict(), abs=1e-6)
    assert len(results.pairs) == math.comb(wide.shape[1], 2)
    for pair in results.pairs.itertuples():
        d = wide[pair.a] - wide[pair.b]
        assert pair.difference == pytest.approx(d.mean(), abs=1e-4)
        if d.std() > 0.01:
            assert pair.p == pytest.approx(
                scipy.stats.ttest_rel(wide[pair.a], wide[pair.b]).pvalue, abs=1e-6
            )


def together(done):
    """No two are significantly different."""
    return not done.value.pairs["verdict"].eq("better").any()


def first_pair(done):
    return done.value.pairs.iloc[0]


def interval_of_a_constant_gap(done):
    """40 tasks with one gap of 0.5 do not exclude that others have none."""
    pair = first_pair(done)
    return pair.low < 0 < pair.difference == 0.5 < pair.high and pair.p == 1


def has_the_p_of_one_sample(done):
    """A test of one sample; and the constant method's interval has a width."""
    methods = done.value.methods.set_index("method")
    is_wide = methods["low"]["m1"] < 50 < methods["high"]["m1"]
    return is_wide and np.isclose(first_pair(done).p, scipy.stats.ttest_1samp(F.m0, 50).pvalue)


def better_by_a_constant_gap(done):
    """Ten points on each of 40 tasks: the interval allows for a share of other tasks that 40 may miss."""
    pair = first_pair(done)
    return pair.a == "m1" and 0 < pair.low < 10 < pair.high < 40 and 0.02 < pair.p < 0.05


def of_40_tasks(done):
    return set(done.value.methods["n"]) == {40}


F = frame(2, 40)


@pytest.mark.parametrize(
    "wide, expected",
    [
        row("equal but for 32 bits", F.assign(m1=F.m0.astype("f4").astype(float)), together),
        row(
            "0.3 against 0.1 + 0.2",
            pd.DataFrame({"x": [0.3] * 40, "y": [0.1 + 0.2] * 40}),
            together,
        ),
        row("the same gap on every task", F.assign(m1=F.m0 + 0.5), interval_of_a_constant_gap),
        row("one method constant", F.assign(m1=50.0), has_the_p_of_one_sample),
        row("both constant, apart", F.assign(m0=50.0, m1=60.0), better_by_a_constant_gap),
        row("no columns", F[[]], "r.csv"),
        row(
            "columns of two levels",
            F.set_axis(pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), axis=1),
            "level",
        ),
        row("tasks that are numbers and texts", F.assign(task=[*range(39), "last"]), of_40_tasks),
    ],
)
def test_hard_tables(wide, expected):
    judge(lambda: everything(wide), expected)


def test_a_difference_and_a_mean_are_methods_only_where_they_are_named():
    summaries = F.set_axis(["difference", "mean"], axis=1)
    judge(lambda: proposed.from_frame(summaries, "r.csv"), "r.csv & difference, mean have no role")
    judge(lambda: everything(summaries), of_40_tasks)


@pytest.mark.parametrize("path", [3, []], ids=repr)
def test_what_is_no_path_is_refused(path):
    judge(lambda: proposed.read(path), "path")


def test_many_methods_take_seconds():
    start = time.process_time()
    everything(frame(20, 600, 0.05, noise=3))
    assert time.process_time() - start < 8
