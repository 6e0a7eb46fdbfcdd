"""However a file of any shape is written, it gets the same answer; and what changes its meaning is noticed."""

import json
import os
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import proposed
import pytest
from hypothesis import given, settings, strategies as st
from test_every_shape import CASES, OF_ANSWERS, drawn

from fslcore.errors import InputError
from fslcore.report import Results

EVERY = {**CASES, **OF_ANSWERS}
NUMBERS = ["difference", "low", "high", "half_width", "p", "p_holm", "n"]


def table_of(name, seed=11):
    """The rows of a shape, and the options that they need."""
    _, table, options = EVERY[name]
    return table(drawn(name, "usual", seed, effect=0.02)), options


def answer(results, names=None):
    """What is compared, in an order of its own; ``names`` turns new names of methods back."""
    pairs = results.pairs.replace({"a": names or {}, "b": names or {}})
    pairs = pairs.assign(verdict=pairs["verdict"] + " " + pairs["a"])
    return pairs.set_index(["place", "target", "unit"])[["verdict", *NUMBERS]].sort_index()


def check_same(found, expected):
    """The same up to rounding, as sums in another order are."""
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-7, check_dtype=False)


# ---------------------------------------------------------------- the same answer


def in_percent(frame):
    """Accuracies in percent in place of shares; printed ones are in percent already."""
    if frame["accuracy"].dtype.kind not in "fi":
        return frame
    return frame.assign(accuracy=frame["accuracy"] * 100)


def with_commas(frame, path):
    """Decimal commas, also in printed cells."""
    if frame["accuracy"].dtype == object:
        frame = frame.assign(accuracy=frame["accuracy"].str.replace(".", ","))
    frame.to_csv(path, sep=";", decimal=",", index=False)


def by_columns(frame, path):
    """Lists by name, as JSON."""
    path.write_text(json.dumps(frame.to_dict("list")))


def as_lines(frame, path):
    """A record per line, as JSON."""
    frame.to_json(path, orient="records", lines=True, double_precision=15)


REORDERED = {
    "rows": lambda frame, rng: frame.sample(frac=1, random_state=rng),
    "columns": lambda frame, rng: frame[rng.permutation(frame.columns)],
    "both": lambda frame, rng: frame.sample(frac=1, random_state=rng)[rng.permutation(frame.columns)],
}  # fmt: skip
WRITTEN = {
    "CSV": ("r.csv", lambda frame, path: frame.to_csv(path, index=False)),
    "percent": ("r.csv", lambda frame, path: in_percent(frame).to_csv(path, index=False)),
    "tabs": ("r.tsv", lambda frame, path: frame.to_csv(path, sep="\t", index=False)),
    "decimal commas": ("r.csv", with_commas),
    "UTF-16": ("r.csv", lambda frame, path: frame.to_csv(path, encoding="utf-16", index=False)),
    "records": ("r.json", lambda frame, path: frame.to_json(path, orient="records", double_precision=15)),
    "JSON lines": ("r.jsonl", as_lines),
    "lists": ("r.json", by_columns),
    "Parquet": ("r.parquet", lambda frame, path: frame.to_parquet(path, index=False)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    order=st.sampled_from([*REORDERED]),
    form=st.sampled_from([*WRITTEN]),
    names=st.sampled_from([{"a": "z 9", "b": "Ours, v2"}, {"a": "10", "b": "9"}, {"a": "b", "b": "a"}]),
)  # fmt: skip
def test_the_same_answer_in_any_order_form_and_name(name, seed, order, form, names):
    frame, options = table_of(name)
    expected = answer(proposed.from_frame(frame, **options))
    changed = REORDERED[order](frame, np.random.default_rng(seed))
    changed = changed.assign(method=changed["method"].map(names))
    file, write = WRITTEN[form]
    with TemporaryDirectory() as folder:
        path = Path(folder, file)
        write(changed, path)
        found = proposed.read(path, **options)
    check_same(answer(found, {new: old for old, new in names.items()}), expected)


@pytest.mark.parametrize("name", EVERY)
def test_the_same_answer_of_a_file_per_method_in_any_order(name, tmp_path):
    frame, options = table_of(name)
    expected = answer(proposed.from_frame(frame, **options))
    with chdir(tmp_path):
        for method, part in frame.groupby("method"):
            part.drop(columns="method").to_csv(f"{method}.csv", index=False)
        for files in (["a.csv", "b.csv"], ["b.csv", "a.csv"]):
            check_same(answer(proposed.read(files, method="file", **options)), expected)
        check_same(answer(proposed.read("{method}.csv", **options)), expected)
        os.mkdir("other")
        os.rename("b.csv", "other/b.csv")
        patterns = ["{method}.csv", "other/{method}.csv"]
        check_same(answer(proposed.read(patterns, **options)), expected)


@pytest.mark.parametrize("name", EVERY)
def test_a_gap_is_a_row_that_is_absent(name):
    frame, options = table_of(name)
    if name == "printed":
        frame = pd.concat([frame, frame.iloc[:1].assign(method="c")], ignore_index=True)
    place = len(frame) - 1
    empty = frame.astype({"accuracy": object})
    empty.loc[place, "accuracy"] = None
    answers = []
    for table in (empty, frame.drop(index=place)):
        try:
            answers.append(answer(proposed.from_frame(table, **options)))
        except InputError as error:
            answers.append(str(error))
    if isinstance(answers[0], str):
        assert answers[0] == answers[1]
    else:
        check_same(*answers)


@pytest.mark.parametrize("name", EVERY)
def test_exchanging_two_methods_negates_the_difference_exactly(name):
    values = drawn(name, "usual", 5, effect=0.02)
    _, table, options = EVERY[name]
    one = proposed.from_frame(table(values), **options).pairs
    exchanged = dict(zip(values, reversed(values.values()), strict=True))
    other = proposed.from_frame(table(exchanged), **options).pairs
    turned = {"a": "b", "b": "a"}
    assert [*other["a"].map(turned)] == [*one["a"]]
    for column in ("difference", "low", "high", "p"):
        np.testing.assert_array_equal(other[column], one[column], column)


# ---------------------------------------------------------------- what must be noticed


def repeated(frame):
    return pd.concat([frame, frame.iloc[:1]])


def too_large(frame):
    if frame["accuracy"].dtype == object:
        return frame.assign(accuracy=frame["accuracy"].str.replace(r"^\d+", "105", regex=True))
    frame = in_percent(frame).astype({"accuracy": float})
    frame.loc[0, "accuracy"] = 105.0
    return frame


def in_two_units(frame):
    frame = frame.copy()
    if frame["accuracy"].dtype == object:
        is_b = frame["method"] == "b"
        frame.loc[is_b, "accuracy"] = "0.79 ± 0.01"
        return frame
    return frame.assign(accuracy=frame["accuracy"] * np.where(frame["method"] == "b", 100.0, 1.0))


REFUSED = {"a row twice": repeated, "105 %": too_large, "shares beside percent": in_two_units}


@pytest.mark.parametrize("change", REFUSED)
@pytest.mark.parametrize("name", EVERY)
def test_what_changes_the_meaning_of_a_file_is_refused(name, change):
    frame, options = table_of(name)
    with pytest.raises(InputError) as error:
        Results.from_frame(REFUSED[change](frame), **{"pm": "ci", **options})
    assert not proposed.commands(error.value)


@pytest.mark.parametrize("name", EVERY)
def test_a_missing_cell_is_said(name):
    frame, options = table_of(name)
    frame = frame.astype({"accuracy": object})
    frame.loc[0, "accuracy"] = None
    try:
        results = proposed.from_frame(frame, **options)
    except InputError:  # as nothing is left to compare
        return
    assert any("1 empty values are left out" in note for note in results.reading)


@pytest.mark.parametrize("name", EVERY)
def test_a_column_and_a_key_that_stand_twice_are_refused(name, tmp_path):
    frame, options = table_of(name)
    twice = pd.concat([frame, frame[["accuracy"]]], axis=1)
    twice.to_csv(tmp_path / "r.csv", index=False)
    records = frame.to_json(orient="records")
    (tmp_path / "r.json").write_text(
        records.replace('"accuracy":', '"accuracy":0.5,"accuracy":', 1)
    )
    for file in ("r.csv", "r.json"):
        with pytest.raises(InputError, match="accuracy"):
            proposed.read(tmp_path / file, **options)
