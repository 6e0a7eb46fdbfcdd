"""What holds for the results of every shape: ends within the bounds of the measure, p-values and intervals that agree,
an answer for true results that vary little, JSON that keeps its schema."""

import importlib.resources
import json
import re

import jsonschema
import numpy as np
import pandas as pd
import proposed
import pytest
from hypothesis import given, settings, strategies as st
from recording import LABELS, played

from fslcore.report import Shape, words
from fslcore.tasks import sample_closed

SCHEMA = json.loads(
    (importlib.resources.files("fslcore.report") / "schema.json").read_text("utf-8")
)
METHODS = ("a", "b")


def long(shape, keys, values, **columns):
    """Rows of an array per method, named by its axes."""
    indices = np.indices(shape).reshape(len(shape), -1)
    parts = []
    for method, array in values.items():
        part = pd.DataFrame(dict(zip(keys, indices, strict=True)))
        parts.append(part.assign(method=method, accuracy=np.ravel(array)))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(**{name: of(frame) for name, of in columns.items()})


def nested(values, shape=(4, 12)):
    """Runs that have tasks of their own: the rows of a long table numbered through."""
    frame = long(shape, ["seed", "task"], values)
    return frame.assign(task=frame["task"] + shape[1] * frame["seed"])


def printed(values):
    cells = [f"{100 * x.mean():.2f} ± {100 * x.std() / 3:.2f}" for x in values.values()]
    return pd.DataFrame({"method": list(values), "accuracy": cells})


def unpaired(values):
    frame = long((30,), ["task"], values)
    return frame.assign(task=frame["task"] + 30 * (frame["method"] == "b"))


def by_class(frame):
    return "c" + (frame["item"] % 6).astype(str)


# By name: the shape of a method's values, their table, and options.
CASES = {
    "tasks": ((40,), lambda values: long((40,), ["task"], values), {}),
    "closed tasks": ((120,), lambda values: long((120,), ["task"], values), {"sampling": "closed"}),
    "unpaired tasks": ((30,), unpaired, {}),
    "draws": ((4, 12), nested, {"seed": "tasks"}),
    "draws of one task": ((9, 1), lambda values: nested(values, (9, 1)), {"seed": "tasks"}),
    "runs": ((3, 20), lambda values: long((3, 20), ["run", "task"], values), {}),
    "runs of other tasks": ((4, 12), nested, {"seed": "runs"}),
    "data sets": ((7,), lambda values: long((7,), ["dataset"], values), {}),
    "seeds": ((5,), lambda values: long((5,), ["seed"], values), {}),
    "means of draws": ((5,), lambda values: long((5,), ["draw"], values), {}),
    "folds": ((10,), lambda values: long((10,), ["fold"], values), {}),
    "data sets and seeds": ((4, 3), lambda values: long((4, 3), ["dataset", "seed"], values), {}),
    "printed": ((30,), printed, {}),
    "items": ((60,), lambda values: long((60,), ["item"], values), {}),
    "items of classes": ((60,), lambda values: long((60,), ["item"], values, **{"class": by_class}), {}),
    "items under supports": ((3, 30), lambda values: long((3, 30), ["support", "item"], values), {}),
    "items in groups": ((60,), lambda values: long((60,), ["item"], values, group=by_class), {}),
    "classes": ((8,), lambda values: long((8,), ["class"], values), {}),
}  # fmt: skip
ANSWERS = ["items", "items of classes", "items under supports", "items in groups", "runs"]
OF_ANSWERS = {f"{name}, right or wrong": CASES[name] for name in ANSWERS}


def drawn(name, world, seed=0, effect=0.0):
    """Values of both methods, in shares, in one of several worlds."""
    rng = np.random.default_rng(seed)
    size = {**CASES, **OF_ANSWERS}[name][0]
    hard = rng.normal(0, 0.1, size)
    first = 0.8 + hard + effect + rng.normal(0, 0.05, size)
    second = 0.8 + hard + rng.normal(0, 0.05, size)
    if world == "near 1":
        first, second = 1 - np.abs(first - 0.8) / 10, 1 - np.abs(second - 0.8) / 10
    first, second = np.clip(first, 0, 1), np.clip(second, 0, 1)
    if name in OF_ANSWERS:
        first, second = (rng.random(size) < first) * 1.0, (rng.random(size) < second) * 1.0
    if world == "constant":
        second = np.full(size, 0.75 if name in CASES else 0.0)
    if world == "all right":
        first = np.ones(size)
    if world == "equal":
        second = first
    return dict(zip(METHODS, (first, second), strict=True))


def report_on(name, values, **more):
    _, table, options = {**CASES, **OF_ANSWERS}[name]
    return proposed.from_frame(table(values), **options, **more)


WORLDS = ("usual", "near 1", "constant", "all right", "equal")
EVERY = [(name, world) for name in (*CASES, *OF_ANSWERS) for world in WORLDS]


def check_ends(results):
    """Ends lie on either side of the mean and within what the measure allows."""
    methods, pairs = results.methods, results.pairs
    for frame, mean, lowest in ((methods, "mean", 0), (pairs, "difference", -100)):
        assert (frame["low"] >= lowest).all() and (frame["high"] <= 100).all(), frame
        assert (frame["low"] <= frame[mean] + 1e-9).all(), frame
        assert (frame["high"] >= frame[mean] - 1e-9).all(), frame


def check_half_widths(results):
    """In the unit of the ends, which need not be equally far from the mean."""
    for frame in (results.methods, results.pairs):
        extent = (frame["high"] - frame["low"]) / 2
        assert (extent.between(frame["half_width"] / 2, 2 * frame["half_width"])).all(), frame


def check_agreement(results):
    """An interval excludes 0 exactly where its p-value is below 1 - level."""
    pairs = results.pairs
    excludes_0 = (pairs["low"] > 0) | (pairs["high"] < 0)
    is_significant = pairs["p"] < 1 - results.options.level
    assert (excludes_0 == is_significant).all(), pairs[["low", "high", "p", "test"]]


def check_bars(results):
    """Drawn bars overlap exactly where the interval of a difference holds 0."""
    methods = words.bars(results).set_index(["place", "target", "method"])
    count = 0
    for pair in results.pairs.itertuples():
        first, second = (methods.loc[(pair.place, pair.target, name)] for name in (pair.a, pair.b))
        if np.isnan([first["comparison_half_width"], second["comparison_half_width"]]).any():
            continue
        count += 1
        nearer = min(first["high"], second["high"]) - max(first["low"], second["low"])
        assert (nearer < 0) == (pair.low > 0 or pair.high < 0), (first, second, pair)
    assert count == np.isfinite(results.pairs["low"] + results.pairs["high"]).sum()


def check_text(text):
    """No infinity or NaN reaches a reader."""
    assert not re.search(r"\b(?:inf|nan)\b", text, re.IGNORECASE), text


def check_record(results):
    """JSON is strict and keeps its schema."""
    record = json.loads(json.dumps(results.record(), default=lambda x: x.item(), allow_nan=False))
    jsonschema.validate(record, SCHEMA)


@pytest.mark.parametrize("name, world", EVERY)
def test_true_results_of_every_shape_get_an_answer_within_bounds(name, world):
    results = report_on(name, drawn(name, world))
    assert set(results.methods["method"]) == set(METHODS) and len(results.pairs)
    check_ends(results)
    if world == "usual":
        check_half_widths(results)
    check_agreement(results)
    check_bars(results)
    check_text("\n".join(results.lines()))
    check_record(results)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *OF_ANSWERS])
def test_pages_of_methods_that_never_vary_name_no_infinity(name):
    page = report_on(name, drawn(name, "equal"))._repr_html_()
    check_text(re.sub(r"<svg.*?</svg>|base64,[^\"]*|<style>.*?</style>", "", page, flags=re.S))


@pytest.mark.parametrize("world", WORLDS)
def test_so_do_recordings(tmp_path, world):
    tasks = sample_closed(LABELS, tasks=60, ways=5, shots=2, queries=3)
    skills = {"near 1": 0.98, "all right": 1.0}
    played(tmp_path / "a.jsonl", tasks, "a", skills.get(world, 0.8), transductive=False)
    second = {"constant": 0.0}.get(world, 0.7)
    seed = 0 if world == "equal" else 1
    skill = skills.get(world, 0.8) if world == "equal" else second
    played(tmp_path / "b.jsonl", tasks, "b", skill, seed, transductive=False)
    results = proposed.read(tmp_path)
    assert results.shape is Shape.RECORDED and len(results.pairs) == 3
    check_ends(results)
    check_agreement(results)
    check_bars(results)
    check_text("\n".join(results.lines()))
    check_record(results)


@pytest.mark.parametrize("name", [*CASES, *OF_ANSWERS])
def test_the_same_is_said_where_methods_exchange_their_names(name):
    values = drawn(name, "usual", seed=3, effect=0.02)
    one = report_on(name, values)
    other = report_on(name, dict(zip(METHODS, reversed(values.values()), strict=True)))
    columns = ["difference", "low", "high", "half_width", "p", "p_holm", "n", "verdict"]
    expected = one.pairs[columns]
    pd.testing.assert_frame_equal(other.pairs[columns], expected, check_exact=False, rtol=1e-9)
    if (expected["difference"] != 0).all():
        assert other.pairs["a"].replace({"a": "b", "b": "a"}).tolist() == one.pairs["a"].tolist()


@pytest.mark.parametrize("name", [*CASES, *OF_ANSWERS])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    effect=st.floats(-0.1, 0.1),
    world=st.sampled_from(["usual", "near 1"]),
    level=st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
@pytest.mark.slow
def test_p_values_and_intervals_never_contradict_each_other(name, seed, effect, world, level):
    results = report_on(name, drawn(name, world, seed, effect), level=level)
    check_agreement(results)
    check_ends(results)


def test_the_schema_lists_every_shape():
    assert SCHEMA["properties"]["shape"]["enum"] == [str(shape) for shape in Shape]
    shapes = {report_on(name, drawn(name, "usual")).shape for name in (*CASES, *OF_ANSWERS)}
    assert {*Shape} - shapes == {Shape.RECORDED}
