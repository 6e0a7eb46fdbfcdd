"""The paragraph on the evaluation that a report writes for a paper."""

import re

import numpy as np
import pandas as pd
import pytest

from fslcore import stats
from fslcore.tools import report


def made(methods=3, tasks=300, seed=0, **columns):
    rng = np.random.default_rng(seed)
    x = rng.normal(70, 6, (tasks, 1)) + 2.0 * np.arange(methods) + rng.normal(0, 4, (tasks, methods))
    frame = pd.DataFrame(x.round(2).clip(1, 100), columns=[f"m_{i}" for i in range(methods)])
    long = frame.rename_axis("task").reset_index().melt("task", var_name="method", value_name="accuracy")
    table, _ = report.tables.normalise(long.assign(**columns), "x.csv")
    return table, report.Results(table).pairs, frame


def test_numbers_are_those_of_the_tests():
    table, pairs, frame = made(sampling="open", ways=5, shots=1, queries=15)
    (text,) = report.Results(table).paragraphs().values()
    assert "300 5-way 1-shot tasks with 15 queries per class" in text and "new images of these classes" in text
    assert f"{pairs['holm'].sum()} of 3 pairs are significantly different" in text and "all 3 comparisons" in text
    for name in frame:
        assert f"{name} {stats.open_interval(frame[name]):.2f} %" in text
    told = pairs[(pairs["a"] == "m_2") | (pairs["b"] == "m_2")]["holm"].sum()
    assert f"that of m_2, is significantly different from {told} of 2 others" in text
    assert re.findall(r"\[[^]]*\]", text) == ["[data set: C classes, N images]"]  # the rest is known


def test_what_is_not_known_is_left_to_the_author():
    table, pairs, _ = made()
    (text,) = report.Results(table).paragraphs().values()
    for gap in ("[K]-way [S]-shot", "[Q] queries", "/ no two tasks share an image", "[of Student's t / normal]"):
        assert gap in text
    closed, of_closed, frame = made(sampling="closed")
    (text,) = report.Results(closed).paragraphs().values()
    assert "these images only" in text and "new images" not in text and "normal distribution" in text
    assert f"m_0 {stats.closed_interval(frame['m_0']):.2f} %" in text


def test_several_trainings_are_said():
    long = pd.DataFrame(np.random.default_rng(0).normal(60, 5, (50, 6)).round(2)).melt(ignore_index=False)
    long = long.rename_axis("task").reset_index().rename(columns={"value": "accuracy"})
    long = long.assign(method=np.where(long["variable"] < 3, "a", "b"), run=long["variable"] % 3)
    for left_out, counts in ((None, "3"), (5, "2 to 3"), (3, "2 to 3")):
        table, _ = report.tables.normalise(long[long["variable"] != left_out].drop(columns="variable"), "x.csv")
        (text,) = report.Results(table).paragraphs().values()
        assert f"means over tasks and over {counts} training runs of each method, with 95 % confidence" in text
        assert "which apply to these trained networks." in text
    table, _ = report.tables.normalise(long[long["run"] == 0].drop(columns="variable"), "x.csv")
    (text,) = report.Results(table).paragraphs().values()
    assert "training" not in text and "trained" not in text


def test_one_method_two_methods_and_very_many():
    table, pairs, _ = made(1, sampling="open")
    (text,) = report.Results(table).paragraphs().values()
    assert "Found were: m_0" in text and "significantly different" not in text
    for gap, words in (
        (8.0, "; the two are significantly different."),
        (0.0, "; the two are not significantly different."),
    ):
        x = np.random.default_rng(1).normal(60, 5, (200, 2)).round(2)
        table, _ = report.tables.normalise(pd.DataFrame({"a": x[:, 0], "b": x[:, 1] + gap}), "x.csv")
        (text,) = report.Results(table).paragraphs().values()
        assert words in text and "Holm" not in text
    table, pairs, _ = made(20, sampling="open")
    (text,) = report.Results(table).paragraphs().values()
    assert "Found were: m_19" in text and "m_3" not in text


@pytest.mark.parametrize("settings", [1, 2])
def test_tables_of_pairs_name_both_methods(tmp_path, settings):
    x = np.random.default_rng(0).normal(60, 5, (50 * settings, 2)).round(2)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "dataset": np.repeat(["one", "two"][:settings], 50)})
    table, _ = report.tables.normalise(frame, "x.csv")
    report.Results(table).write_tables(tmp_path)
    for name in ("pairs", "needed"):
        head = (tmp_path / f"{name}.tex").read_text("utf-8").splitlines()[2]
        assert head.startswith("setting & " * (settings > 1) + "higher mean & lower mean & difference (points) & ")
        assert "| higher mean" in (tmp_path / f"{name}.md").read_text("utf-8").splitlines()[0]
    assert "method & " in (tmp_path / "methods.tex").read_text("utf-8").splitlines()[2]


@pytest.mark.parametrize("name", ["a_b & 50% {x}", "back\\slash~^#$"])
def test_files_for_latex_escape_names(tmp_path, name):
    x = np.random.default_rng(0).normal(60, 5, (50, 2)).round(2)
    table, _ = report.tables.normalise(pd.DataFrame({name: x[:, 0], "b": x[:, 1]}), "x.csv")
    report.Results(table).write_tables(tmp_path)
    assert name in (tmp_path / "evaluation.md").read_text("utf-8")
    latex = (tmp_path / "evaluation.tex").read_text("utf-8")
    assert latex.startswith(r"\paragraph{Evaluation.} ") and "±" not in latex
    for reference in (name, "b"):  # with differences, of which one has a minus sign
        report.Results(table, reference=reference).write_tables(tmp_path)
        assert all(path.read_text("utf-8").isascii() for path in tmp_path.glob("*.tex"))
    bare = re.sub(r"\\(text\w+\{\}|[&%$#_{}])|\$\\pm\$|\\paragraph\{Evaluation\.\}", "", latex)
    assert not set(bare) & set("\\&%$#_{}~^")
