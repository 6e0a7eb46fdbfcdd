"""The text of every result, in shares and in percent, near a bound, on one side of it, and where an interval is
infinite: it says what the object holds.
"""

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from refusal import refuses

from fslcore import stats
from fslcore.errors import InputError
from fslcore.report import words
from fslcore.report.numbers import interval_text
from fslcore.stats.formatting import format_interval
from fslcore.stats.intervals import Interval
from fslcore.stats.proportions import PairedProportions
from fslcore.stats.targets import IMAGE_TARGETS
from fslcore.tasks import sample_closed

RNG = np.random.default_rng(5)
LABELS = np.arange(8).repeat(12)
TASKS = sample_closed(LABELS, tasks=60, ways=4, shots=2, queries=3, seed=0)
PLACES = TASKS.support, TASKS.query, LABELS
ANSWERS = (4, *TASKS.query.shape)
WORLDS = {  # the values of runs, tasks and queries, in shares
    "usual": lambda shape: (RNG.random(shape) < 0.7) * 1.0,
    "near a bound": lambda shape: (RNG.random(shape) < 0.995) * 1.0,
    "one wrong": lambda shape: np.where(np.arange(math.prod(shape)) == 7, 0.0, 1.0).reshape(shape),
    "all right": np.ones,
    "equal": lambda shape: np.full(shape, 0.9),
}


def results(world, unit, bounds):
    """Every result with an interval, by name."""
    answers = unit * WORLDS[world](ANSWERS)
    difference_bounds = bounds and (-unit, unit)
    runs = answers.mean(axis=2)
    tasks = runs[0]
    paired = stats.paired_interval(tasks, runs[1], bounds=difference_bounds)
    many = unit * WORLDS[world]((2, 120, 5)).mean(axis=2)
    return {
        "closed": stats.closed_task_interval(tasks, bounds=bounds),
        "open": stats.open_task_interval(tasks, bounds=bounds),
        "paired": paired,
        "independent": stats.welch_interval(tasks, runs[1][:30], bounds=difference_bounds),
        "equivalence": stats.tost(paired, unit / 100),
        "three": stats.three_intervals(answers[0], *PLACES, bounds=bounds),
        "new runs": stats.new_run_interval(runs, bounds=bounds),
        "difference of runs": stats.new_run_interval(runs[:2], runs[2:], bounds=difference_bounds),
        "run intervals": stats.new_run_intervals(answers, *PLACES, bounds=bounds),
        "crossed": stats.crossed_intervals(answers[:, 0], bounds=bounds),
        "one support": stats.crossed_intervals(answers[:1, 0], bounds=bounds),
        "winner": stats.winner_interval(many, bounds=bounds),
        "anytime": stats.confidence_sequence(tasks, bounds=bounds or (0, unit)),
        "proportions": stats.mcnemar(answers[0, 0] > 0, answers[1, 0] > 0),
        "chance": stats.probability_of_improvement(runs.mean(axis=1)[:2], runs.mean(axis=1)[2:]),
    }


def intervals_of(result):
    """The intervals that the text of a result is about, in its order."""
    if isinstance(result, stats.ThreeIntervals):
        return [result.closed, result.images, result.classes]
    names = [
        ("items", "supports", "both"),
        ("fixed", "interval"),
        ("difference",),
        ("corrected",),
    ]
    for held in names:
        if hasattr(result, held[0]) and isinstance(getattr(result, held[0]), Interval):
            return [getattr(result, name) for name in held]
    if hasattr(result, "closed"):  # of runs
        return [getattr(result, name).interval for name in ("closed", "images", "classes")]
    return [result.interval if isinstance(result, PairedProportions) else result]


def ends_in(text):
    """(low, high) that each part of a text says, with the mean that it begins with."""
    number = r"(-?\d+\.\d+)"
    mean = float(re.match(number, text)[1])
    parts = re.findall(rf"± unknown|± {number}|{number} to {number}", text)
    whole = re.findall(r"± unknown|± [\d.]+|-?[\d.]+ to -?[\d.]+", text)
    ends = []
    for (half, low, high), part in zip(parts, whole, strict=True):
        if part == "± unknown":
            ends.append((-math.inf, math.inf))
        else:
            ends.append(
                (mean - float(half), mean + float(half)) if half else (float(low), float(high))
            )
    return ends


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("unit", [1, 100])
@pytest.mark.parametrize("world", WORLDS)
def test_a_text_says_the_ends(world, unit, bounded):
    for name, result in results(world, unit, (0, unit) if bounded else None).items():
        text = str(result)
        assert "inf" not in text and "∞" not in text and "nan" not in text, (name, text)
        intervals = intervals_of(result)
        said = ends_in(text)
        assert len(said) == len(intervals), (name, text)
        for interval, (low, high) in zip(intervals, said, strict=True):
            if math.isinf(interval.half_width) or math.isinf(interval.low):
                assert math.isinf(low), (name, text)  # with bounds, these are the ends
                continue
            length = interval.high - interval.low
            # A tenth of the half-width is left out, and two digits are shown.
            assert abs(low - interval.low) <= 0.12 * length + 1e-9, (name, text)
            assert abs(high - interval.high) <= 0.12 * length + 1e-9, (name, text)


@given(
    mean=st.floats(-100, 100),
    exponent=st.floats(-7, 1.5),
)
def test_a_text_keeps_two_digits_of_the_half_width_in_any_unit(mean, exponent):
    """And as many decimals of the mean: never ± 0.00 for what is not 0."""
    half_width = 10**exponent
    text = format_interval(mean, half_width)
    of_mean, of_half = text.split(" ± ")
    assert abs(float(of_half) - half_width) <= 0.05 * half_width
    assert abs(float(of_mean) - mean) <= 0.05 * half_width + 0.005
    assert len(of_mean.partition(".")[2]) == len(of_half.partition(".")[2]) >= 2
    assert text == str(Interval(mean, half_width, 0.95, 100, "these images"))
    assert format_interval(mean, math.inf).endswith("± unknown")


@pytest.mark.parametrize(
    "estimate, half_width, low, high, text",
    [
        (99.9, 0.1, 99.69, 99.97, "99.90 (99.69 to 99.97)"),
        (80.0, 0.5, 79.46, 80.46, "80.00 ± 0.50"),  # off by less than a tenth
        (80.0, 0.5, 79.44, 80.5, "80.00 (79.44 to 80.50)"),
        (0.5, math.inf, 0.0, 1.0, "0.50 ± unknown"),
        (0.5, 0.0, -math.inf, math.inf, "0.50 ± unknown"),
        (0.0, 2e-5, -2e-5, 2e-5, "0.000000 ± 0.000020"),
    ],
)
def test_every_place_writes_an_interval_alike(estimate, half_width, low, high, text):
    """In a print, a table of a report and a cell of three targets."""
    assert format_interval(estimate, half_width, low, high) == text
    frame = pd.DataFrame([dict(mean=estimate, half_width=half_width, low=low, high=high)])
    assert words.mean_text(frame.iloc[0], words.digits_of(frame)) == text
    unknown = "unknown" in text
    assert (interval_text(low, high, 2) == "unknown") is (unknown and half_width == 0)
    made = Interval(estimate, half_width, 0.95, 100, "these images")
    for name, value in (("low", low), ("high", high)):
        object.__setattr__(made, name, value)
    assert str(made) == text
    anytime = format_interval(estimate, low=low, high=high)
    assert ("unknown" in anytime) is math.isinf(low)


def test_an_end_without_the_other_is_refused():
    for ends in (dict(low=1.0), dict(high=1.0), {}):
        with pytest.raises(InputError, match="given"):
            format_interval(1.0, **ends)


def test_targets_say_what_an_interval_applies_to():
    found = results("usual", 1, (0, 1))
    runs = found["new runs"]
    assert (runs.fixed.target, runs.interval.target) == ("new tasks", "new runs")
    for target, added in zip(IMAGE_TARGETS, ("", " and images", " and classes"), strict=True):
        runs = found["run intervals"].by_target[target]
        assert (runs.fixed.target, runs.interval.target) == (target, f"new runs{added}")
    for name in ("three", "crossed", "one support"):
        for target, interval in found[name].by_target.items():
            assert interval.target == target
    for name in ("paired", "independent"):
        assert found[name].target == "new tasks" and found[name].is_difference
    assert (found["closed"].target, found["open"].target) == ("these images", "new images")
    with refuses("target must be 'these images', 'new images'"):
        Interval(0.5, 0.1, 0.95, 100, "closed")


def test_every_estimate_with_two_ends_is_an_interval():
    found = results("usual", 1, (0, 1))
    held = {
        "winner": [found["winner"].observed, found["winner"].corrected],
        "proportions": [found["proportions"].interval],
        "anytime": [found["anytime"]],
        "chance": [found["chance"]],
        "simultaneous": stats.simultaneous_intervals(RNG.normal(0, 1, (3, 40))).intervals,
    }
    for name, intervals in held.items():
        for interval in intervals:
            assert isinstance(interval, Interval) and interval.ends == (interval.low, interval.high)
            assert interval.half_width == pytest.approx((interval.high - interval.low) / 2)
            assert interval.sign == int(interval.low > 0) - int(interval.high < 0), name
            for of_a_test in ("p_value", "standard_error"):
                with refuses("computed from its ends"):
                    getattr(interval, of_a_test)
    proportions = found["proportions"]
    assert (proportions.interval.sign != 0) == (proportions.p_value < 0.05)


def test_given_ends_are_kept():
    interval = Interval.from_ends(0.99, 0.95, 0.999, confidence_level=0.9, n=50, target="new items")
    assert (interval.low, interval.high) == (0.95, 0.999) and not interval.few_errors
    assert f"{interval}" == "0.990 (0.950 to 0.999)" and f"{interval:.0%}" == "99% (95% to 100%)"
