"""Results of anybody's methods: what is read, what is refused, and what is concluded."""

import gc
import inspect
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import FrozenInstanceError, fields
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from fslcore import evaluation, stats
from fslcore.errors import InputError
from fslcore.stats.power import smallest
from fslcore.tools import notebooks, report
from fslcore.tools.cli import app
from fslcore.tools.report import figures
from fslcore.tools.report.results import READING
from fslcore.tools.report.tables import KNOWN, SHARED, Choices


def wide(seed=0, tasks=40, methods=4, spread=3.0):
    """Accuracies of methods that differ, on tasks that are hard or easy for all; 2 to 100 percent."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(70, 8, tasks)
    columns = {f"m{i}": hard + spread * i / 2 + rng.normal(0, 4, tasks) for i in range(methods)}
    return pd.DataFrame(columns).clip(2, 100).round(2)


def long(frame):
    return frame.assign(task=range(len(frame))).melt("task", var_name="method", value_name="accuracy")


def written(frame, folder, name="mine.csv"):
    (frame.to_csv if name.endswith("csv") else frame.to_parquet)(folder / name, index=False)
    return folder / name


def verdicts(frame, **how):
    return report.Results(report.tables.normalise(frame, "mine.csv", **how)[0]).pairs


@pytest.fixture(autouse=True, scope="module")
def no_collection():
    """statsmodels collects garbage at every Holm correction, which is most of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


# ---------------------------------------------------------------- arguments


BAD = {  # values for every name of an argument
    "frame": [None, "r.csv", 3, [1, 2], {"a": [0.5]}, pd.concat([wide()], axis=1, keys=["level"])],
    "name": [None, 3, "", b"r"],
    "path": [None, 3, "", b"r.csv"],
    "level": [0, 1, -0.5, 95, np.nan, np.inf, "0.95", None, True],
    "margin": [0, -1, np.nan, np.inf, "1", True],
    "power": [0, 1, 2, np.nan, "0.8", None],
    "effect": [np.nan, "1", None, [1, 2], 1j],
    "sampling": ["random", "", None, 3, ["open"]],
    "seed": ["runs", "", None, 0],
    "repeats": ["rows", "", None, True],
    "out_of": [0, -1, np.nan, np.inf, "75", True],
    "separator": [",", "", None, 3],
    "decimal": [";", "", None, 3],
    "common": ["yes", None, 3],
    "runs": ["yes", None, 3],
    "drop": ["m0", None, 3, [3]],
    "methods": ["m0", None, 3, [3]],
    "reference": ["m9", "", 3, ["m0"]],
}
CHOICES = "sampling common drop methods seed repeats out_of level margin reference".split()
TAKE = {  # what has to be given, and the names of all arguments
    report.Results.read: ({"path": "none.csv"}, ["path", "runs", "separator", "decimal", *CHOICES]),
    report.Results.of: ({"frame": wide(), "name": "mine.csv"}, ["frame", "name", *CHOICES]),
    report.tasks_for_width: ({"effect": 0.5}, ["effect", "level"]),
    report.tasks_for_power: ({"effect": 0.5}, ["effect", "level", "power"]),
}


@pytest.mark.parametrize("call", TAKE, ids=lambda call: call.__name__)
def test_every_function_names_what_it_cannot_take(call):
    good, names = TAKE[call]
    assert {n for n in inspect.signature(call).parameters if n != "how"} <= {*names}
    assert {f.name for f in fields(Choices)} <= {*TAKE[report.Results.read][1]}
    for name in names:
        if name == "reference" and call == report.Results.read:
            continue  # a method is known once the file is read: tests/tools/test_reference.py
        for bad in BAD[name]:
            with pytest.raises(InputError, match=name) as error:
                call(**{**good, name: bad})
            assert "\n" not in str(error.value)


def test_what_was_a_function_of_a_table_is_told_in_one_line():
    with pytest.raises(InputError, match=r"report.comparisons is gone; make Results once.*take from it: pairs$"):
        from fslcore.tools.report import comparisons  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute comparison$"):
        getattr(report, "comparison")  # noqa: B009
    results = report.Results.of(wide(), "mine.csv")
    for name, of in report.former.FORMER.items():
        first = of.partition("(")[0].partition(" ")[0].partition(",")[0].partition("[")[0].removeprefix("Results.")
        assert hasattr(results, first), name


def test_results_are_computed_once():
    results = report.Results.of(wide(), "mine.csv")
    assert results.pairs is results.pairs and results.tables is results.tables
    with pytest.raises(FrozenInstanceError):
        results.level = 0.9


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["mine.csv", "mine.parquet"])
def test_both_formats_and_both_kinds_of_file_give_the_same_table(tmp_path, name):
    frame = wide()
    tables = [report.tables.read(written(f, tmp_path, name))[0] for f in (frame, long(frame))]
    pd.testing.assert_frame_equal(*[t.sort_values(["method", "task"], ignore_index=True) for t in tables])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_evaluate_writes_is_read_with_every_digit(tmp_path, ending):
    columns = {c: {str: "x", int: 1, float: 0.0}[kind] for c, kind in evaluation.COLUMNS.items()}
    assert set(columns) <= KNOWN
    accuracy = 1 + 99 * np.random.default_rng(0).random(2000)
    table = pd.DataFrame({**columns, "sampling": "open", "accuracy": accuracy, "task": range(2000)})
    evaluation.write_table(table, tmp_path / f"t.{ending}")
    again, notes, _ = report.tables.read(tmp_path / f"t.{ending}")
    assert (again["accuracy"] == accuracy).all() and (again["method"] == "x x").all()
    assert again[list(SHARED)].equals(table[list(SHARED)])
    assert "t: " not in notes[0] and any("one method only" in n for n in notes)


def test_a_task_column_may_be_the_index_of_a_parquet_file(tmp_path):
    wide().rename_axis("task").to_parquet(tmp_path / "t.parquet")
    table, notes, _ = report.tables.read(tmp_path / "t.parquet")
    assert table["method"].nunique() == 4 and not any("in their order" in n for n in notes)


def test_the_choices_are_told():
    frame = wide() / 100
    _, notes = report.tables.normalise(frame, "mine.csv", sampling="closed")
    told = " ".join(notes)
    assert "wide table" in told and "read as shares" in told and "closed, as told" in told and "in their order" in told
    _, notes = report.tables.normalise(long(100 * frame).assign(comment="x"), "mine.csv")
    told = " ".join(notes)
    assert "long table" in told and "percentages" in told and "Not read: comment" in told and "is unknown" in told


def test_known_columns_are_known_in_any_case():
    table, _ = report.tables.normalise(wide().assign(Task=range(40), DATASET="d"), "mine.csv")
    assert set(table["method"]) == {"m0", "m1", "m2", "m3"} and set(table["dataset"]) == {"d"}


def test_settings_are_kept_apart():
    one, other = long(wide(0)), long(wide(1, tasks=30))
    both = pd.concat([one.assign(sampling="closed"), other.assign(sampling="open")]).assign(dataset="d")
    table, notes = report.tables.normalise(both, "mine.csv")
    facts = report.Results(table).settings
    assert facts.to_dict("index") == {
        "d, closed": {"sampling": "closed", "tasks": 40, "methods": 4},
        "d, open": {"sampling": "open", "tasks": 30, "methods": 4},
    }
    assert len(report.Results(table).pairs) == 12 and "2 settings, each on its own" in notes[-1]
    found = report.Results(table).intervals
    assert found.loc["d, closed", "new_images"].isna().all() and found.loc["d, open", "these_images"].isna().all()
    assert [text[:30] for text in report.Results(table).reading] == [READING[s][:30] for s in ("open", "closed")]


def change(row, column, value):
    def changed(frame):
        frame = frame.astype(object)
        frame.loc[row, column] = value
        return frame

    return changed


FAULTS = [
    (change(3, "m1", None), "m1 in row 4 of mine.csv is empty"),
    (change(3, "m1", "n.a."), "m1 in row 4 of mine.csv is n.a.; a number is needed"),
    (change(3, "m1", 100.5), "m1 in row 4 of mine.csv is 100.5; 0 to 1"),
    (change(3, "m1", -1), "m1 in row 4 of mine.csv is -1.0; 0 to 1"),
    (change(3, "m1", np.inf), "m1 in row 4 of mine.csv is inf"),
    (change(3, "m1", 0.7), "m1 in row 4 of mine.csv is 0.7, a share, while"),
    (lambda f: f.assign(m1=f["m1"] / 100), r"m1 in row 1 of mine.csv is 0\.\d+, a share, while m"),
    (lambda f: f.assign(task=[0, 0, *range(2, 40)]), r"mine: method m0 has task 0 twice \(rows 1 and 2\)"),
    (lambda f: f.assign(task=[None, *range(1, 40)]), "column task of mine.csv is empty in row 1"),
    (lambda f: f.assign(episode=range(40)), r"column episode of mine.csv counts the rows; .* \(--drop episode\)"),
    (lambda f: f.assign(dataset=["d"] * 39 + [None]), "column dataset of mine.csv must hold str"),
    (lambda f: f.assign(ways=5.5), "column ways of mine.csv must hold int"),
    (lambda f: f.assign(ways="five"), "column ways of mine.csv must hold int"),
    (
        lambda f: pd.concat([f.head(2)] * 126, axis=1).set_axis([f"c{i}" for i in range(504)], axis=1),
        "504 methods and 2 tasks; up to 400",
    ),
    (change(3, "ways", 5), "column ways of mine.csv must hold int"),
    (lambda f: f.assign(ways=[5] * 9 + [-5] * 31), "ways in row 10 of mine.csv is -5; a whole number of at least 1"),
    (lambda f: f.assign(shots=0), "shots in row 1 of mine.csv is 0"),
    (lambda f: f.assign(queries=-1), "queries in row 1 of mine.csv is -1"),
    (lambda f: f.assign(seed=-1), "seed in row 1 of mine.csv is -1; a whole number of at least 0"),
    (lambda f: f.assign(sampling="opened"), "sampling in row 1 of mine.csv is opened; open and closed"),
    (lambda f: f.assign(learner="ncc"), "column learner but lacks accuracy"),
    (lambda f: f[:1], "mine: 1 task for every method; it needs 2"),
    (lambda f: f[:0], "mine.csv has no rows"),
    (lambda f: f[[]].assign(task=range(40)), "no column of accuracies"),
    (lambda f: long(f)[1:], r"mine: method m0 lacks 1 of 40 tasks \(the first: 0\)"),
    (lambda f: long(f).drop(columns="task"), "lacks task"),
    (lambda f: long(f).drop(columns="method"), r"lacks method \(or backbone, learner\)"),
    (lambda f: change(2, "method", None)(long(f)), "column method of mine.csv is empty in row 3"),
    (lambda f: change(2, "accuracy", None)(long(f)), "accuracy in row 3 of mine.csv is empty"),
    (lambda f: change(2, "accuracy", 120)(long(f)), "accuracy in row 3 of mine.csv is 120"),
    (lambda f: pd.concat([long(f), long(f)[5:6]]), r"method m0 has task 5 twice \(rows 6 and 161\)"),
]


@pytest.mark.parametrize("fault, message", FAULTS, ids=[m[:40] for _, m in FAULTS])
def test_faults_name_what_is_wrong(tmp_path, capsys, fault, message):
    path = written(fault(wide()), tmp_path)
    with pytest.raises(InputError, match=message):
        report.tables.read(path)
    assert app.main(["report", str(path), "-o", str(tmp_path / "out.html")]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("fslcore: results: ") and "\n" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["mine.csv"]


def test_what_groupby_and_pivot_leave_in_the_index_is_read():
    """Two data sets would be one, and two methods one method with twice as many tasks."""
    values = np.random.default_rng(0).uniform(0.5, 0.9, (2, 12, 2)).round(4)
    index = pd.MultiIndex.from_product([["cub", "dtd"], range(12)], names=["dataset", "Task"])
    wide = pd.DataFrame(values.reshape(24, 2), index, ["ours", "base"]).rename_axis(columns="method")
    table, notes = report.tables.normalise(wide.reset_index(), "mine")
    long = wide.stack().to_frame("accuracy")
    for frame in (wide, long, long.reset_index("method"), wide.set_index(index, drop=True).rename_axis(columns=None)):
        found, _ = report.tables.normalise(frame, "mine")
        keys = ["setting", "method", "task"]
        found, wanted = (t.sort_values(keys, ignore_index=True) for t in (found, table))
        pd.testing.assert_frame_equal(found, wanted)
    assert report.Results(table).settings["tasks"].to_dict() == {"cub": 12, "dtd": 12}
    both = wide.reset_index().set_index(["dataset", "Task"], drop=False)  # the columns count
    assert report.tables.normalise(both, "mine")[0].equals(table)
    other = wide.loc["cub"].rename_axis(index="number")
    assert report.tables.normalise(other, "mine")[1] == report.tables.normalise(other.reset_index(drop=True), "mine")[1]


def test_what_is_all_right_or_all_wrong_is_no_query():
    table, _ = report.tables.normalise(pd.DataFrame({"a": [100.0] * 9, "b": [0.0] * 9}), "mine.csv")
    assert report.Results(table).intervals["mean"].tolist() == [100, 0]


def test_small_differences_stay_where_not_all_of_a_pair_are_rounding():
    """Methods that differ by 1e-5 to 1e-3 points, below and above what 32 bits can tell of 60 %."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(60 + 0.0001 * rng.normal(size=(20, 3)), columns=list("abc"))
    for _, row in verdicts(frame).iterrows():
        d = frame[row["a"]] - frame[row["b"]]
        assert row["difference"] == pytest.approx(d.mean(), abs=1e-8) and row["sd"] == pytest.approx(d.std(), abs=1e-8)


def test_what_is_to_be_left_out():
    frame = wide().assign(mean=1.5, Odd=[3, 1, 2, 9] * 10)
    frame = frame.assign(task=[*map(str, range(39)), "total"])
    expected = report.tables.normalise(wide()[:39].assign(task=[*map(str, range(39))]), "mine.csv")[0]
    for one in (frame, frame.melt("task", var_name="method", value_name="accuracy")):
        table, notes = report.tables.normalise(one, "mine.csv", drop=["mean", "Odd", "total"])
        pd.testing.assert_frame_equal(table, expected)
        assert "Left out, as told: mean, Odd, total." in notes
    with pytest.raises(InputError, match=r"drop = m01; no column, method or task of mine.csv .*did you mean m1"):
        report.tables.normalise(wide(), "mine.csv", drop=["m01"])
    with pytest.raises(InputError, match="nothing of mine.csv is left"):
        report.tables.normalise(long(wide()), "mine.csv", drop=["m0", "m1", "m2", "m3"])


def test_queries_are_averaged_where_a_column_names_them():
    rng = np.random.default_rng(0)
    right = pd.DataFrame(rng.integers(0, 2, (120, 3)), columns=list("abc"))
    keys = dict(task=np.arange(120) // 15, query=np.arange(120) % 15)
    expected = report.tables.normalise(
        right.groupby(keys["task"]).mean().rename_axis("task").reset_index(), "mine.csv"
    )[0]
    both = right.assign(**keys), right.assign(**keys).melt(["task", "query"], var_name="method", value_name="accuracy")
    for frame in both:
        table, notes = report.tables.normalise(frame, "mine.csv")
        pd.testing.assert_frame_equal(table, expected, check_dtype=False)
        assert "Column query: the accuracy of a task is the mean of its 15 queries." in notes


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.csv"], "no such file"),
        (
            ["mine.xlsx"],
            ".parquet, .npz are allowed; in Python: import pandas as pd; pd.read_excel('mine.xlsx').to_csv(",
        ),
        (["mine.csv", "-o", "out.pdf"], "output = out.pdf; a name ending in .html"),
        (["mine.csv", "--level", "95"], "level = 95.0; a number between 0 and 1"),
        (["open.csv", "--sampling", "closed"], "sampling = closed; row 1 of open.csv says open"),
    ],
)
def test_bad_commands(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    written(wide(), tmp_path), (tmp_path / "mine.xlsx").write_bytes(b"")
    written(wide().assign(sampling="open"), tmp_path, "open.csv")
    assert app.main(["report", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "mine.xlsx", "open.csv"]


@pytest.mark.parametrize("most, unit", [(0.9, 100), (1.0, 100), (1.01, 1), (1.5, 1), (2.0, 1), (99.0, 1)])
def test_what_goes_beyond_1_is_in_percent_and_nothing_else(most, unit):
    """Many ways and hard tasks leave accuracies of one or two percent: they are no shares."""
    x = np.linspace(0.5, 1, 30) * (most - 1) + 1 if unit == 1 else np.linspace(0.01, most, 30)
    table, notes = report.tables.normalise(pd.DataFrame({"a": x, "b": x[::-1]}), "mine.csv")
    of_a = table.loc[table["method"] == "a", "accuracy"].to_numpy()
    np.testing.assert_allclose(of_a, unit * x)
    assert ("read as shares" in " ".join(notes)) == (unit == 100)


@pytest.mark.parametrize("sampling", ["open", "closed", "unknown"])
def test_intervals_of_a_report_are_students_for_open_tasks_and_normal_for_closed(sampling):
    """OOPS, equations 2 and 4."""
    table, _ = report.tables.normalise(wide(tasks=144, methods=2), "mine.csv", sampling=sampling)
    made = report.Results(table, level=0.9).intervals
    for method, x in table.groupby("method")["accuracy"]:
        row, error = made.xs(method, level="method").iloc[0], x.std() / 12
        opened = x.mean() - scipy_stats.t.interval(0.9, 143, x.mean(), error)[0]
        closed = scipy_stats.norm.ppf(0.95) * error
        assert row["mean"] == pytest.approx(x.mean()) and row["tasks"] == 144
        expected = {"open": [opened, np.nan], "closed": [np.nan, closed], "unknown": [opened, closed]}[sampling]
        np.testing.assert_allclose(row[["new_images", "these_images"]].astype(float), expected, rtol=1e-9)


def test_common_uses_the_shared_tasks_and_counts_the_rest():
    frame = wide()
    holes = frame.copy()
    holes.loc[3, "m1"] = holes.loc[7, "m2"] = holes.loc[7, "m3"] = np.nan
    table, notes = report.tables.normalise(holes, "mine.csv", common=True)
    assert "Empty cells left out: 3." in notes and any("2 of 40 tasks are left out" in n for n in notes)
    expected = verdicts(frame.drop([3, 7]))
    pd.testing.assert_frame_equal(report.Results(table).pairs, expected)
    ragged = long(frame)
    shorter = ragged[~((ragged["method"] == "m0") & (ragged["task"] >= 30))]
    table, _ = report.tables.normalise(shorter, "mine.csv", common=True)
    pd.testing.assert_frame_equal(report.Results(table).pairs, verdicts(frame[:30]))
    with pytest.raises(InputError, match="mine: 1 task for every method"):
        report.tables.normalise(ragged[(ragged["method"] != "m0") | (ragged["task"] == 0)], "mine.csv", common=True)


def test_one_method_and_methods_absent_from_a_data_set():
    one = wide(methods=1)
    table, notes = report.tables.normalise(one, "mine.csv")
    found = report.Results(table)
    pairs = found.pairs
    assert pairs.empty and notes[-1] == "mine: one method only, so no comparison is possible."
    assert found.summary()[-2] == "One method a setting: no comparison is possible."
    for name in ("pairs", "changed", "needed"):
        assert found.tables[name].empty
    both = pd.concat([long(wide()).assign(dataset="d"), long(one).assign(dataset="e")])
    found = report.Results.of(both, "mine.csv")
    assert "e: no results of m1, m2, m3." in found.notes and len(found.pairs) == 6


# ---------------------------------------------------------------- comparing


@given(st.integers(0, 1000), st.integers(2, 30), st.integers(2, 6))
def test_comparisons_against_scipy_and_statsmodels(seed, tasks, methods):
    frame = wide(seed, tasks, methods)
    pairs = verdicts(frame)
    assert len(pairs) == methods * (methods - 1) / 2
    p = []
    for row in pairs.itertuples():
        test = scipy_stats.ttest_rel(frame[row.a], frame[row.b])
        ends = test.confidence_interval(0.95)
        assert row.p == pytest.approx(test.pvalue, rel=1e-6)
        low, high = row.difference - row.half_width, row.difference + row.half_width
        assert (low, high) == pytest.approx((ends.low, ends.high))
        assert row.paired == (ends.low > 0 or ends.high < 0) and row.difference >= 0
        p.append(test.pvalue)
    for name, method in (("holm", "holm"), ("bh", "fdr_bh")):
        rejected, adjusted = multipletests(p, 0.05, method)[:2]
        assert pairs[name].tolist() == rejected.tolist()
        assert pairs[f"p_{name}"].to_numpy() == pytest.approx(adjusted, rel=1e-6)
    assert (pairs["holm"] <= pairs["bh"]).all() and (pairs["bh"] <= pairs["paired"]).all()


@settings(max_examples=25)  # nearly every order is another
@given(st.integers(0, 1000), st.randoms())
def test_order_and_unit_do_not_matter(seed, random):
    frame = wide(seed, tasks=25)
    expected = verdicts(frame)
    rows, columns = random.sample(range(25), 25), random.sample(list(frame), 4)
    mixed = frame.assign(task=range(25)).loc[rows, [*columns, "task"]]
    pd.testing.assert_frame_equal(verdicts(mixed), expected)
    pd.testing.assert_frame_equal(verdicts(long(frame).sample(frac=1, random_state=seed)), expected)
    shares = verdicts(frame / 100)
    says = ["a", "b", "tasks", "paired", "holm", "bh", "unpaired"]
    assert shares[says].equals(expected[says])
    assert shares["p"].to_numpy() == pytest.approx(expected["p"].to_numpy(), rel=1e-6)


def test_differences_without_variance():
    """Of a constant gap d, p = 2 (100 / (100 + d))^T: a point on eight tasks concludes nothing, also alone."""
    a = np.array([70.1, 80.3, 90.7, 60.2, 50.9, 44.4, 81.3, 77.7])
    for tasks in (3, 8):
        frame = pd.DataFrame({"a": a, "same": a + [0, 1e-14] * 4, "less": a - 1})[:tasks]
        table, _ = report.tables.normalise(frame, "mine.csv")
        pairs = report.Results(table).pairs
        found = pairs.set_index(["a", "b"])
        assert found.loc[("a", "same"), ["p", "p_holm", "difference", "holm"]].tolist() == [1, 1, 0, False]
        assert found.loc[("a", "less"), ["p", "p_holm", "holm", "paired"]].tolist() == [1, 1, False, False]
        wanted = stats.paired_interval(frame["a"], frame["less"], bounds=(-100, 100))
        half = found.loc[("a", "less"), "half_width"]
        assert half == pytest.approx(1 - wanted.low) and half > 1
        assert found.loc[("a", "less"), "difference"] == pytest.approx(1)
        assert stats.paired_interval(frame["a"], frame["less"], bounds=(-100, 100)).p_value == 1
        needed = report.Results(table).tables["needed"].set_index("lower mean", append=True)
        alone, of_three = (math.floor(math.log(2 / alpha) / math.log(1.01)) + 1 for alpha in (0.05, 0.05 / 3))
        assert needed.loc[("a", "less")].iloc[2:].tolist() == [f"{alone}", f"{alone}", f"{of_three}"]
    far = pd.DataFrame({"a": a / 2 + 50, "less": a / 2})  # 50 points on each of eight tasks
    for tasks, p in ((8, 2 / 1.5**8), (6, 2 / 1.5**6)):
        pairs = report.Results(report.tables.normalise(far[:tasks], "mine.csv")[0]).pairs
        assert pairs["p"].tolist() == [pytest.approx(p)] and pairs["paired"].tolist() == [p < 0.05]
        assert (pairs["half_width"] < 50).tolist() == [p < 0.05]
    table, _ = report.tables.normalise(pd.DataFrame({"a": a / 100, "b": a / 100}), "mine.csv")
    pairs = report.Results(table).pairs
    assert report.Results(table).tables["needed"].iloc[0, 3:].tolist() == ["over 1,000,000"] * 3
    assert report.show.group_letters(report.Results(table)).tolist() == ["a", "a"]


@settings(max_examples=12)
@given(st.integers(0, 1000), st.sampled_from(["parquet", "csv"]), st.sampled_from([0.01, 1]))
def test_methods_that_are_equal_but_for_rounding_are_never_told_apart(seed, ending, unit):
    """32 bits beside 64, in a file that says so and in text; sums in another order; the same with a shift."""
    rng = np.random.default_rng(seed)
    right = rng.integers(10, 76, 600)
    x = pd.DataFrame({"a": right / 75 * 100 * unit})
    x["half"] = (right / 75).astype(np.float32) * np.float32(100 * unit)
    x["added"] = sum([right / 75 * 10 * unit] * 10)
    x["less"] = x["a"].where(x.index > 2, x["a"] - 0.05 * unit)
    with tempfile.TemporaryDirectory() as folder:
        table, _, _ = report.tables.read(written(x, Path(folder), f"t.{ending}"))
    pairs = report.Results(table).pairs
    alike = ~(pairs["a"].eq("less") | pairs["b"].eq("less"))
    assert (pairs.loc[alike, ["p", "p_holm"]] == 1).all(axis=None) and (pairs.loc[alike, "difference"] == 0).all()
    assert not pairs[["holm", "bh", "paired", "unpaired"]].any(axis=None) and (pairs.loc[~alike, "sd"] > 0).all()
    shifted = pd.DataFrame({"a": x["a"], "half": x["half"] - np.float32(5 * unit)})  # equal shifts, of 5 points
    for tasks in (5, 40):
        p = min(2 / 1.05 ** len(shifted[:tasks]), 1)
        assert verdicts(shifted[:tasks])["p"].tolist() == [pytest.approx(p, rel=1e-4)]


def test_false_conclusions_are_as_rare_as_promised():
    """Five equal methods, 400 studies: Holm's chance of even one false conclusion is at most 5 %."""
    studies = {f"{seed:03}": wide(seed, tasks=20, methods=5, spread=0) for seed in range(400)}
    every = pd.concat(long(of).assign(dataset=name) for name, of in studies.items())
    table, _ = report.tables.normalise(every, "mine.csv")
    pairs = {name: report.Results(of).pairs for name, of in table.groupby("setting")}  # to read each alone takes longer
    pd.testing.assert_frame_equal(
        pairs["007"].drop(columns="setting"), verdicts(studies["007"]).drop(columns="setting")
    )
    any_false = {name: sum(of[name].any() for of in pairs.values()) for name in ("holm", "paired")}
    assert any_false["holm"] <= 35  # expected 20 or fewer; P(more than 35) < 0.001 at 5 %
    assert any_false["paired"] >= 60  # without correction it is far more often


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_groups_against_all_subsets(n, seed):
    rng = np.random.default_rng(seed)
    methods = [f"m{i}" for i in range(n)]
    every = list(combinations(methods, 2))
    apart = [pair for pair in every if rng.random() < 0.5]
    flat = pd.DataFrame([(b, a) for a, b in apart], columns=["a", "b"])
    alike = [
        set(s)
        for k in range(1, n + 1)
        for s in combinations(methods, k)
        if not any(pair in apart for pair in combinations(s, 2))
    ]
    largest = [s for s in alike if not any(s < other for other in alike)]
    found = report.compare.groups(methods, flat)
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest)) and found == sorted(found)


def test_groups_that_overlap_and_their_bars():
    """a and b alike, b and c alike, a and c apart: two bars that share b, and one that passes it by."""
    apart = pd.DataFrame({"a": ["a", "a", "b", "c"], "b": ["c", "d", "d", "d"]})
    assert report.compare.groups(list("abcd"), apart) == [["a", "b"], ["b", "c"], ["d"]]
    skips = report.compare.groups(list("abc"), pd.DataFrame({"a": ["a", "b"], "b": ["b", "c"]}))
    assert skips == [["a", "c"], ["b"]]
    figure = figures.groups({"one": (pd.Series({"a": 80.0, "b": 79.0, "c": 78.0}), skips)})
    many = [[f"m{i}", f"m{i + 1}"] for i in range(41)]
    crowd = figures.groups({"one": (pd.Series(1.0, [f"m{i}" for i in range(42)]), many)}).axes[0]
    assert len(crowd.lines) == 1 and crowd.texts[0].get_text() == "41 bars are left out"
    plt.close("all")
    dots, bar = figure.axes[0].lines
    assert dots.get_xdata().tolist() == [80, 79, 78] and list(bar.get_ydata()) == [0, 2]


def test_twins_make_more_groups_than_can_be_named():
    """Thirty pairs, each told apart in itself and from nobody else: 2^30 sets, of which none is made."""
    rng = np.random.default_rng(0)
    one = rng.normal(60, 10, (50, 30))
    both = np.hstack([one, one + 0.5 + rng.normal(0, 0.1, one.shape)])
    table, notes = report.tables.normalise(pd.DataFrame(both, columns=[f"m{i}" for i in range(60)]), "mine.csv")
    found = report.Results(table, notes)
    pairs = found.pairs
    assert pairs["holm"].sum() >= 30
    letters = report.show.group_letters(found)
    assert len(letters) == 60 and set(letters) == {"—"} and len(found.tables["methods"]) == 60
    assert any("over 200 sets of methods" in line for line in found.summary())
    told = found.record()
    assert "over 200 sets" in told["notes"][-1] and all(m["groups"] == [] for m in told["methods"])
    assert len(figures.groups(found.panels).axes[0].lines) == 1
    plt.close("all")
    few = wide(methods=3)
    assert report.Results.of(few, "mine.csv").warnings == []


@pytest.mark.parametrize("effect", [0.005, 0.05, 0.2, 0.5, 1.5, 8])
@pytest.mark.parametrize("level", [0.95, 0.997])
def test_tasks_needed(effect, level):
    def half(t):
        return scipy_stats.t.ppf((1 + level) / 2, t - 1) / np.sqrt(t)

    t = report.tasks_for_width(effect, level)
    assert half(t) < effect and (t == 2 or half(t - 1) >= effect)
    n = report.tasks_for_power(-effect, level)
    if 0.01 < effect < 5:  # where statsmodels' solver converges without complaint
        assert n == np.ceil(TTestPower().solve_power(effect, alpha=1 - level, power=0.8))
    assert n >= t or n <= 4
    assert report.tasks_for_width(0) is report.tasks_for_power(0) is None


def test_tasks_needed_of_many_at_once():
    rng = np.random.default_rng(0)
    effects = [*rng.lognormal(-2, 1.5, 40), 1e12]  # of huge ones SciPy gives no power
    table, _ = report.tables.normalise(wide(methods=7, spread=0.3), "mine.csv")
    found = report.Results(table)
    pairs = found.pairs
    made = found.tables["needed"]
    for (_, row), (_, pair) in zip(made.iterrows(), pairs[~pairs["holm"]].iterrows()):
        effect = pair["difference"] / pair["sd"]
        alone, among = report.tasks_for_power(effect), report.tasks_for_power(effect, 1 - 0.05 / 21)
        assert row.iloc[3:].tolist() == [f"{n:,}" for n in (report.tasks_for_width(effect), alone, among)]
    for effect in effects:
        n = report.tasks_for_power(effect)
        assert n == smallest(lambda t: stats.power(effect, 1 / np.sqrt(t), t - 1) >= 0.8, 2, 10**6)


def test_tasks_for_power_by_simulation():
    n = report.tasks_for_power(0.4)
    d = np.random.default_rng(0).normal(0.4, 1, (4000, n))
    found = (scipy_stats.ttest_1samp(d, 0, axis=1).pvalue < 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.025)  # standard error 0.006


def test_among_many_pairs_the_power_is_that_of_a_corrected_test():
    """The smallest number of tasks with 80 % power at 5 % over the number of pairs, by statsmodels."""
    table, _ = report.tables.normalise(wide(tasks=12, methods=5, spread=2.0), "mine.csv")
    results = report.Results(table)
    pairs = results.pairs
    made = results.tables["needed"].reset_index()
    left = pairs[~pairs["holm"]].reset_index(drop=True)
    assert len(pairs) == 10 and len(left) > 4
    for column, tests in (("for 80 % power, alone", 1), ("for 80 % power, one of 10", 10)):
        for row, text in zip(left.itertuples(), made[column]):
            n, effect = int(text.replace(",", "")), row.difference / row.sd
            found = [TTestPower().power(effect, t, 0.05 / tests) for t in (n - 1, n)]
            assert found[0] < 0.8 <= found[1] + 1e-9


def test_needed_counts_images_of_open_tasks_only():
    frame = wide(tasks=8).assign(ways=5, shots=5, queries=5)
    for sampling in ("open", "closed"):
        table, _ = report.tables.normalise(frame, "mine.csv", sampling=sampling)
        found = report.Results(table)
        pairs = found.pairs
        made = found.tables["needed"]
        assert len(made) == (~pairs["holm"]).sum() > 0
        assert ("images for that" in made) == (sampling == "open")
        if sampling == "open":
            number = made[["for 80 % power, one of 6", "images for that"]].map(lambda v: int(v.replace(",", "")))
            assert (number.iloc[:, 1] == 50 * number.iloc[:, 0]).all()


def test_the_tables_for_a_reader():
    rng = np.random.default_rng(4)
    hard = rng.normal(60, 15, 60)
    frame = pd.DataFrame({"low": hard, "far": hard - 30, "top": hard + 2 + rng.normal(0, 2, 60)}).clip(2, 100)
    table, _ = report.tables.normalise(frame, "mine.csv")
    found = report.Results(table)
    cells = found.tables["matrix"]
    assert cells.loc["top", "low"].startswith("▲") and cells.loc["low", "top"].startswith("▼")
    assert (np.diag(cells) == "—").all() and list(cells) == list(cells.index) == ["top", "low", "far"]
    other = found.tables["changed"]  # closed intervals of top and low meet
    assert other.index.tolist() == ["top"] and other["lower mean"].tolist() == ["low"]
    listed = found.tables["methods"]
    assert listed["group"].tolist() == ["a", "b", "c"]
    means = found.intervals["mean"].droplevel("setting")
    assert [cell.split(" ± ")[0] for cell in listed.iloc[:, 0]] == [f"{means[m]:.2f}" for m in listed.index]
    two = pd.concat([frame.assign(dataset="d"), frame[["far"]].assign(dataset="e")])  # each row says its setting
    found = report.Results.of(two, "mine.csv", common=True)
    assert found.tables["changed"].index.tolist() == [("d", "top")]


# ---------------------------------------------------------------- the whole report, over random tables


@st.composite
def files(draw):
    """A table as people bring it, and how it is to be read: wide or long, with gaps, ties, doubles and holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    methods, tasks = draw(st.integers(1, 12)), draw(st.integers(2, 40))
    gap, noise = draw(st.sampled_from([0, 1e-12, 0.01, 1, 20])), draw(st.sampled_from([0, 1e-13, 0.1, 4]))
    digits, shares = draw(st.sampled_from([0, 1, 6, 15])), draw(st.booleans())
    parts, common = [], draw(st.booleans())
    for s in range(draw(st.integers(1, 3))):
        of = methods if s == 0 else draw(st.integers(1, methods))
        hard = rng.normal(60, draw(st.sampled_from([0, 10])), tasks)
        x = hard[:, None] + gap * np.arange(of) + noise * rng.normal(size=(tasks, of))
        if of > 2 and draw(st.booleans()):
            x[:, 1] = x[:, 0]  # one method twice
            x[0, 2] += 5  # and one that differs on one task only, where there is no noise
        frame = pd.DataFrame(x.clip(2, 100).round(digits), columns=[f"m{i}" for i in range(of)])
        frame = frame / 100 if shares else frame
        frame = frame.assign(task=range(tasks)).melt("task", var_name="method", value_name="accuracy")
        if common and tasks > 2:
            frame = frame.iloc[1:] if draw(st.booleans()) else frame  # the first method lacks a task
        parts.append(frame.assign(dataset=f"d{s}"))
    shape = dict(ways=5, shots=1, queries=15) if draw(st.booleans()) else {}
    sampling = draw(st.sampled_from(["open", "closed", "unknown"]))
    how = dict(sampling=sampling, common=common) | ({} if shares else {"out_of": 100})  # digits = 0 looks like counts
    return pd.concat(parts).assign(**shape), how, draw(st.sampled_from([0.5, 0.95]))


@settings(max_examples=40, phases=[Phase.generate])  # a random table shrinks slowly, to nothing that says more
@given(files())
def test_the_report_holds_together_whatever_the_table(file):
    frame, how, level = file
    before = frame.copy()
    table, notes = report.tables.normalise(frame, "mine.csv", **how)
    pd.testing.assert_frame_equal(frame, before)
    results = report.Results(table, level=level)
    pairs = results.pairs
    facts, found = results.settings, results.intervals
    sizes = facts["methods"]
    assert len(pairs) == (sizes * (sizes - 1) // 2).sum() and len(found) == sizes.sum() and all(notes)
    assert pairs.notna().all(axis=None) and (pairs["difference"] >= 0).all()
    assert (pairs["p"] <= pairs["p_bh"] + 1e-12).all() and (pairs["p_bh"] <= pairs["p_holm"] + 1e-12).all()
    assert pairs["p_holm"].between(0, 1).all() and not (pairs["holm"] & ~pairs["bh"]).any()
    assert not (pairs["holm"] & (pairs["difference"] < 1e-9)).any()  # rounding tells nobody apart

    cells = results.tables["matrix"].to_numpy().ravel().astype(str)
    marks = pd.Series(cells).str[0].value_counts()
    decided = pairs["holm"].sum()
    assert marks.get("▲", 0) == marks.get("▼", 0) == decided
    assert marks.get("△", 0) == marks.get("▽", 0) == (pairs["bh"] & ~pairs["holm"]).sum()
    assert marks.get("○", 0) == 2 * (~pairs["bh"]).sum() and not pd.Series(cells).str.contains("nan").any()

    letters = report.show.group_letters(results)
    for row in pairs.itertuples():
        shared = set(letters[row.setting, row.a].split()) & set(letters[row.setting, row.b].split())
        assert bool(shared) != row.holm
    for setting, (means, sets) in results.panels.items():
        assert means.is_monotonic_decreasing or np.ptp(means) < 1e-6
        assert {m for group in sets for m in group} == set(means.index) and len(means) == sizes[setting]

    listed, other, open_ones = (results.tables[name] for name in ("pairs", "changed", "needed"))
    assert len(listed) == len(pairs) and len(open_ones) == len(pairs) - decided
    assert len(other) == (pairs["unpaired"] != pairs["holm"]).sum()
    for made in (listed, other, open_ones, results.tables["methods"]):
        assert "nan" not in made.to_html() and made.notna().all(axis=None)
    lines = results.summary()
    assert len(lines) >= len(facts) + len(found) + 2 and not any("nan" in line for line in lines)
    assert len(results.reading) == 1


@pytest.mark.parametrize("gap, noise", [(5, 0.5), (0, 0), (5, 5)], ids=["all told apart", "none", "some"])
def test_the_notebook_s_cells_survive_every_outcome(tmp_path, gap, noise):
    """Nothing changed, nothing needed, one method."""
    rng = np.random.default_rng(0)
    for methods in (1, 2, 5):
        hard = rng.normal(60, 5, (40, 1))
        x = hard + gap * np.arange(methods) + noise * rng.normal(size=(40, methods))
        frame = pd.DataFrame(x.clip(2, 100), columns=[f"m{i}" for i in range(methods)])
        path = written(frame, tmp_path)
        found = notebooks.executed("your-results", dict(results=[str(path)], sampling="open"))
        assert sum(len(cell.outputs) for cell in found.cells if cell.cell_type == "code") >= 12


def test_a_notebook_executed_here_is_that_of_a_kernel(tmp_path):
    given = dict(results=[str(written(wide(tasks=8), tmp_path))], sampling="open", drop=["m1"])
    here = notebooks.executed("your-results", given)
    there = nbformat.read(notebooks.run("your-results", given, tmp_path / "out.ipynb"), as_version=4)
    outputs = [
        [
            [o["data"].get("text/html", o["data"].get("text/markdown")) for o in cell.outputs if "data" in o]
            for cell in n.cells
            if cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])
        ]
        for n in (here, there)
    ]
    assert outputs[0] == outputs[1] and sum(map(len, outputs[0])) >= 12
    drawn = [o.data.keys() for n in (here, there) for c in n.cells for o in c.get("outputs", []) if "data" in o]
    assert [sum(f"image/{kind}" in data for data in drawn) for kind in ("png", "svg+xml")] == [2, 2]
    (tmp_path / "mine.csv").write_text("m0,m1\n")
    with pytest.raises(InputError, match="mine.csv has no rows"):
        notebooks.executed("your-results", given)


# ---------------------------------------------------------------- the command


def test_report_where_every_pair_is_told_apart(tmp_path, monkeypatch, capsys):
    """The two columns of the book's own example."""
    monkeypatch.chdir(tmp_path)
    written(wide(tasks=100, methods=2, spread=20), tmp_path)
    assert app.main(["report", "mine.csv"]) == 0
    assert "1 of 1 pairs are significantly different" in capsys.readouterr().out
    assert "No pair is left open" in (tmp_path / "mine.html").read_text()


def test_report_reads_and_compares_once(tmp_path, monkeypatch, capsys):
    calls = []
    new_runs = vars(report.Results)["new_runs"], "func"  # of the cached property
    for module, name in ((report.tables, "read"), (report.compare, "all_pairs"), new_runs):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, real=real, name=name, **k: calls.append(name) or real(*a, **k))
    path = written(long(wide()).assign(run=0), tmp_path)
    more = ["--tables", str(tmp_path), "--figures", str(tmp_path), "--margin", "1"]
    assert app.main(["report", str(path), "-o", str(tmp_path / "mine.html"), *more]) == 0
    assert sorted(calls) == ["all_pairs", "func", "read"]


def test_report_is_one_whole_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(wide(tasks=30).rename(columns={"m3": "<b>&m3"}), tmp_path)
    assert app.main(["report", "mine.csv", "--sampling", "open"]) == 0
    out = capsys.readouterr().out
    assert "significantly different" in out and "new images" in out and out.splitlines()[-1] == "mine.html"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "mine.html"]
    html = (tmp_path / "mine.html").read_text()
    table, notes, _ = report.tables.read(tmp_path / "mine.csv", "open")
    for cell in report.Results(table).tables["pairs"]["difference (points)"]:
        assert cell in html
    assert all(note.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in html for note in notes)
    assert "<b>&m3" not in html and "▲" in html and "data:image/png;base64," in html
    assert "<title>mine.csv: report</title>" in html and "Exercises" not in html
    for fetched in ("<script", "<link", 'src="http', "@import", "url(http"):
        assert fetched not in html


def test_report_of_a_hundred_methods_leaves_out_what_nobody_reads(tmp_path, capsys):
    path = written(wide(tasks=30, methods=60, spread=0.1), tmp_path)
    before = plt.rcParams["figure.dpi"], pd.get_option("display.max_rows"), sys.modules["__main__"]
    assert app.main(["report", str(path), "-o", str(tmp_path / "mine.html"), "--quiet"]) == 0
    assert (plt.rcParams["figure.dpi"], pd.get_option("display.max_rows"), sys.modules["__main__"]) == before
    html = (tmp_path / "mine.html").read_text()
    assert html.count("Left out: unreadable for more than 40 methods") == 2 and "data:image/png" not in html
    assert "The first 500 of 1,770 rows" in html and "<td>...</td>" not in html
    found = report.tables.read(path)[0]
    assert len(report.Results(found).tables["methods"]) == 60


def test_report_as_json_tables_and_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = wide(tasks=30).rename(columns={"m0": "a_b & 50%", "m1": "p|q"})
    written(frame.assign(dataset="one"), tmp_path)
    extra = ["--json", "--tables", "out", "--figures", "out", "--separator", "comma"]  # beside p|q
    assert app.main(["report", "mine.csv", "--sampling", "closed", *extra]) == 0
    told = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    table, notes, _ = report.tables.read("mine.csv", "closed", separator="comma")
    found = report.Results(table)
    pairs = found.pairs
    assert told["report"] == "mine.html" and told["notes"] == notes and told["level"] == 0.95
    assert told["settings"] == [{"setting": "one", "sampling": "closed", "tasks": 30, "methods": 4}]
    assert [m["mean"] for m in told["methods"]] == found.intervals["mean"].tolist()
    assert all(m["new_images"] is None and m["these_images"] > 0 for m in told["methods"])
    assert {(p["a"], p["b"]): p["p_holm"] for p in told["pairs"]} == dict(zip(zip(pairs.a, pairs.b), pairs.p_holm))
    groups = report.compare.groups([m["method"] for m in told["methods"]], pairs[pairs["holm"]])
    assert [[m["method"] for m in told["methods"] if g in m["groups"]] for g in "abcd"[: len(groups)]] == groups
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert {"methods.tex", "methods.md", "matrix.tex", "pairs.md", "groups.png", "groups.pdf", "groups.svg"} <= names
    latex, text = ((tmp_path / "out" / f"pairs.{e}").read_text() for e in ("tex", "md"))
    assert r"a\_b \& 50\%" in latex and r"$\pm$" in latex and latex.isascii() and latex.count(r"\\") == 1 + len(pairs)
    assert r"p\|q" in text and len(text.splitlines()) == 2 + len(pairs)
    assert r"$\blacktriangle$" in (tmp_path / "out" / "matrix.tex").read_text()
    with Image.open(tmp_path / "out" / "groups.png") as image:
        assert image.width > 500 and image.getextrema()[0] != (255, 255)
    assert (tmp_path / "out" / "groups.pdf").read_bytes()[:5] == b"%PDF-"


def test_what_report_imports(tmp_path):
    """It starts in a second or two, which torch and statsmodels' tables would double."""
    path = written(wide(tasks=10), tmp_path)
    code = f"""
import sys
from fslcore.tools.cli import app
assert app.main(["report", {str(path)!r}, "-o", {str(tmp_path / "mine.html")!r}]) == 0
slow = {{"torch", "sklearn", "papermill", "statsmodels.stats.multitest", "ipykernel"}} & set(sys.modules)
assert not slow, slow
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_report_on_one_method_and_on_several_settings(tmp_path, capsys):
    path = written(wide(methods=1), tmp_path, "one.csv")
    assert app.main(["report", str(path), "-o", str(tmp_path / "one.html")]) == 0
    assert "no comparison is possible" in capsys.readouterr().out
    assert "nothing to compare" in (tmp_path / "one.html").read_text()
    both = pd.concat([wide(s).assign(dataset=d, sampling="closed") for s, d in enumerate(("first", "second"))])
    path = written(both, tmp_path, "both.parquet")
    assert app.main(["report", str(path), "-o", str(tmp_path / "both.html")]) == 0
    out = capsys.readouterr().out
    assert "first: 4 methods, 40 tasks, sampling closed" in out and "these images only" in out
    assert "this file does not show" in (tmp_path / "both.html").read_text()


def test_limits_of_methods_stay_below_100_and_few_errors_are_told():
    rng = np.random.default_rng(0)
    easy = np.where(np.arange(40) == 3, 96.0, 100.0)
    wide = pd.DataFrame({"easy": easy, "sure": np.full(40, 100.0), "hard": 100 * rng.binomial(75, 0.8, 40) / 75})
    results = report.Results.of(wide, "mine.csv", "open", out_of=100)
    found = results.intervals.droplevel("setting")
    assert (found["new_images_high"] <= 100).all() and (found["new_images_low"] < found["mean"]).all()
    assert found["few_errors"].to_dict() == {"sure": True, "easy": True, "hard": False}
    listed = results.tables["methods"]["on new images"]
    low, high = found.loc["easy", ["new_images_low", "new_images_high"]]
    assert listed["easy"] == f"99.90 ({low:.2f} to {high:.2f}, few errors)" and " ± " in listed["hard"]
    told = [line for line in results.summary() if "so few errors" in line]
    assert len(told) == 1 and "sure, easy" in told[0] and "hard" not in told[0]
    record = results.record()
    assert told[0] in record["notes"] and record["methods"][0]["new_images_low"] < 100


def test_every_colour_of_lines_and_marks_stands_out_from_white():
    linear = np.array(figures.COLOURS)
    linear = np.where(linear <= 0.04045, linear / 12.92, ((linear + 0.055) / 1.055) ** 2.4)
    assert (1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05) >= 3).all()  # WCAG 2.2, 1.4.11
    assert len(set(figures.COLOURS)) == 10
