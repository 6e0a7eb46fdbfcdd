"""Results of anybody's methods: what is read, what is refused, and what is concluded."""

import contextlib
import gc
import io
from itertools import combinations

import jupytext
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from fslcore import cli, evaluate, paths, plots, results
from fslcore.errors import InputError


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
    return results.comparisons(results.normalise(frame, "mine.csv", **how)[0])


@pytest.fixture(autouse=True, scope="module")
def no_collection():
    """statsmodels collects garbage at every Holm correction, which is most of the time of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["mine.csv", "mine.parquet"])
def test_both_formats_and_both_kinds_of_file_give_the_same_table(tmp_path, name):
    frame = wide()
    tables = [results.read(written(f, tmp_path, name))[0] for f in (frame, long(frame))]
    pd.testing.assert_frame_equal(*[t.sort_values(["method", "task"], ignore_index=True) for t in tables])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_evaluate_writes_is_read_with_every_digit(tmp_path, ending):
    columns = {c: {str: "x", int: 1, float: 0.0}[kind] for c, kind in evaluate.COLUMNS.items()}
    assert set(columns) <= results.KNOWN
    accuracy = 1 + 99 * np.random.default_rng(0).random(2000)
    table = pd.DataFrame({**columns, "sampling": "open", "accuracy": accuracy, "task": range(2000)})
    evaluate.write_table(table, tmp_path / f"t.{ending}")
    again, notes = results.read(tmp_path / f"t.{ending}")
    assert (again["accuracy"] == accuracy).all() and (again["method"] == "x x").all()
    assert again[list(results.SHARED)].equals(table[list(results.SHARED)])
    assert "t: " not in notes[0] and any("one method only" in n for n in notes)


def test_a_task_column_may_be_the_index_of_a_parquet_file(tmp_path):
    wide().rename_axis("task").to_parquet(tmp_path / "t.parquet")
    table, notes = results.read(tmp_path / "t.parquet")
    assert table["method"].nunique() == 4 and not any("in their order" in n for n in notes)


def test_the_choices_are_told():
    frame = wide() / 100
    _, notes = results.normalise(frame, "mine.csv", sampling="closed")
    told = " ".join(notes)
    assert "wide table" in told and "read as shares" in told and "closed, as told" in told and "in their order" in told
    _, notes = results.normalise(long(100 * frame).assign(comment="x"), "mine.csv")
    told = " ".join(notes)
    assert "long table" in told and "percentages" in told and "Not read: comment" in told and "is unknown" in told


def test_known_columns_are_known_in_any_case():
    table, _ = results.normalise(wide().assign(Task=range(40), DATASET="d"), "mine.csv")
    assert set(table["method"]) == {"m0", "m1", "m2", "m3"} and set(table["dataset"]) == {"d"}


def test_settings_are_kept_apart():
    one, other = long(wide(0)), long(wide(1, tasks=30))
    both = pd.concat([one.assign(sampling="closed"), other.assign(sampling="open")]).assign(dataset="d")
    table, notes = results.normalise(both, "mine.csv")
    facts = results.settings(table)
    assert facts.to_dict("index") == {
        "d, closed": {"sampling": "closed", "tasks": 40, "methods": 4},
        "d, open": {"sampling": "open", "tasks": 30, "methods": 4},
    }
    assert len(results.comparisons(table)) == 12 and "2 settings, each on its own" in notes[-1]
    found = results.intervals(table)
    assert found.loc["d, closed", "new_images"].isna().all() and found.loc["d, open", "these_images"].isna().all()
    assert [text[:30] for text in results.reading(table)] == [results.READING[s][:30] for s in ("open", "closed")]


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
    (lambda f: f.assign(episode=range(40)), "column episode of mine.csv counts the rows"),
    (lambda f: f.assign(dataset=["d"] * 39 + [None]), "column dataset of mine.csv must hold str"),
    (lambda f: f.assign(ways=5.5), "column ways of mine.csv must hold int"),
    (lambda f: f.assign(ways="five"), "column ways of mine.csv must hold int"),
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
        results.read(path)
    assert cli.main(["report", str(path), "-o", str(tmp_path / "out.html")]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("fslcore: results: ") and "\n" not in error
    assert [p.name for p in tmp_path.iterdir()] == ["mine.csv"]


@pytest.mark.parametrize("text, message", [
    ("", "cannot be read"),
    ("m0,m0\n70,71\n72,73\n", "two columns m0"),
    ("m0,m1\n70,71,72\n72,73,74\n", "more cells than its header"),
    ("m0,Task,task\n70,0,1\n", "two columns task"),
    ("m0,m1\n70,71\n72\n", "m1 in row 2 of mine.csv is empty"),
    ("m0;m1\n70;71\n72;73\n", "m0;m1 in row 1 of mine.csv is 70;71"),
    ("m0,m1\nTrue,70\nFalse,72\n", "m0 in row 1 of mine.csv is True; a number"),
])
def test_files_that_are_no_tables(tmp_path, text, message):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        results.read(tmp_path / "mine.csv")


@pytest.mark.parametrize("arguments, message", [
    (["none.csv"], "no such file"),
    (["mine.xlsx"], ".parquet and .csv are allowed"),
    (["mine.csv", "-o", "out.pdf"], "output = out.pdf; a name that ends in .html"),
    (["mine.csv", "--level", "95"], "parameter level = 95.0; 0.5..0.999"),
    (["open.csv", "--sampling", "closed"], "sampling = closed; row 1 of open.csv says open"),
])
def test_bad_commands(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    written(wide(), tmp_path), (tmp_path / "mine.xlsx").write_bytes(b"")
    written(wide().assign(sampling="open"), tmp_path, "open.csv")
    assert cli.main(["report", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "mine.xlsx", "open.csv"]


def test_common_uses_the_shared_tasks_and_counts_the_rest():
    frame = wide()
    holes = frame.copy()
    holes.loc[3, "m1"] = holes.loc[7, "m2"] = holes.loc[7, "m3"] = np.nan
    table, notes = results.normalise(holes, "mine.csv", common=True)
    assert "Empty cells left out: 3." in notes and any("2 of 40 tasks are left out" in n for n in notes)
    expected = verdicts(frame.drop([3, 7]))
    pd.testing.assert_frame_equal(results.comparisons(table), expected)
    ragged = long(frame)
    shorter = ragged[~((ragged["method"] == "m0") & (ragged["task"] >= 30))]
    table, _ = results.normalise(shorter, "mine.csv", common=True)
    pd.testing.assert_frame_equal(results.comparisons(table), verdicts(frame[:30]))
    with pytest.raises(InputError, match="mine: 1 task for every method"):
        results.normalise(ragged[(ragged["method"] != "m0") | (ragged["task"] == 0)], "mine.csv", common=True)


def test_one_method_and_methods_absent_from_a_data_set():
    one = wide(methods=1)
    table, notes = results.normalise(one, "mine.csv")
    pairs = results.comparisons(table)
    assert pairs.empty and notes[-1] == "mine: one method only, so no comparison is possible."
    assert results.summary(table, pairs)[-2] == "One method a setting: no comparison is possible."
    for made in (results.pair_list(table, pairs), results.changed(table, pairs), results.needed(table, pairs)):
        assert made.empty
    both = pd.concat([long(wide()).assign(dataset="d"), long(one).assign(dataset="e")])
    table, notes = results.normalise(both, "mine.csv")
    assert "e: no results of m1, m2, m3." in notes and len(results.comparisons(table)) == 6


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
    a = np.array([70.1, 80.3, 90.7])
    pairs = verdicts(pd.DataFrame({"a": a, "same": a + [0, 1e-14, 0], "less": a - 1})).set_index(["a", "b"])
    assert pairs.loc[("a", "same"), ["p", "p_holm", "difference", "holm"]].tolist() == [1, 1, 0, False]
    assert pairs.loc[("a", "less"), ["p", "p_holm", "holm"]].tolist() == [0, 0, True]
    assert pairs.loc[("a", "less"), "difference"] == pytest.approx(1)
    table, _ = results.normalise(pd.DataFrame({"a": a / 100, "b": a / 100}), "mine.csv")
    pairs = results.comparisons(table)
    assert results.needed(table, pairs).iloc[0, 3:].tolist() == ["over 1,000,000"] * 3
    assert results.group_letters(table, pairs).tolist() == ["a", "a"]


def test_false_conclusions_are_as_rare_as_promised():
    """Five equal methods, 400 studies: Holm's chance of even one false conclusion is at most 5 %."""
    any_false = {"holm": 0, "paired": 0}
    for seed in range(400):
        pairs = verdicts(wide(seed, tasks=20, methods=5, spread=0))
        for name in any_false:
            any_false[name] += pairs[name].any()
    assert any_false["holm"] <= 35  # expected 20 or fewer; P(more than 35) < 0.001 at 5 %
    assert any_false["paired"] >= 60  # without correction it is far more often


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_groups_against_all_subsets(n, seed):
    rng = np.random.default_rng(seed)
    methods = [f"m{i}" for i in range(n)]
    every = list(combinations(methods, 2))
    apart = [pair for pair in every if rng.random() < 0.5]
    flat = pd.DataFrame([(b, a) for a, b in apart], columns=["a", "b"])
    alike = [set(s) for k in range(1, n + 1) for s in combinations(methods, k)
             if not any(pair in apart for pair in combinations(s, 2))]
    largest = [s for s in alike if not any(s < other for other in alike)]
    found = results.groups(methods, flat)
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest)) and found == sorted(found)


def test_groups_that_overlap_and_their_bars():
    """a and b alike, b and c alike, a and c apart: two bars that share b, and one that passes it by."""
    apart = pd.DataFrame({"a": ["a", "a", "b", "c"], "b": ["c", "d", "d", "d"]})
    assert results.groups(list("abcd"), apart) == [["a", "b"], ["b", "c"], ["d"]]
    skips = results.groups(list("abc"), pd.DataFrame({"a": ["a", "b"], "b": ["b", "c"]}))
    assert skips == [["a", "c"], ["b"]]
    figure = plots.groups({"one": (pd.Series({"a": 80.0, "b": 79.0, "c": 78.0}), skips)})
    dots, bar = figure.axes[0].lines
    assert dots.get_xdata().tolist() == [80, 79, 78] and list(bar.get_ydata()) == [0, 2]


@pytest.mark.parametrize("effect", [0.005, 0.05, 0.2, 0.5, 1.5, 8])
@pytest.mark.parametrize("level", [0.95, 0.997])
def test_tasks_needed(effect, level):
    def half(t):
        return scipy_stats.t.ppf((1 + level) / 2, t - 1) / np.sqrt(t)

    t = results.tasks_for_width(effect, level)
    assert half(t) < effect and (t == 2 or half(t - 1) >= effect)
    n = results.tasks_for_power(-effect, level)
    if 0.01 < effect < 5:  # where statsmodels' solver converges without complaint
        assert n == np.ceil(TTestPower().solve_power(effect, alpha=1 - level, power=0.8))
    assert n >= t or n <= 4
    assert results.tasks_for_width(0) is results.tasks_for_power(0) is None


def test_tasks_for_power_by_simulation():
    n = results.tasks_for_power(0.4)
    d = np.random.default_rng(0).normal(0.4, 1, (4000, n))
    found = (scipy_stats.ttest_1samp(d, 0, axis=1).pvalue < 0.05).mean()
    assert found == pytest.approx(0.8, abs=0.025)  # standard error 0.006


def test_needed_counts_images_of_open_tasks_only():
    frame = wide(tasks=8).assign(ways=5, shots=5, queries=5)
    for sampling in ("open", "closed"):
        table, _ = results.normalise(frame, "mine.csv", sampling=sampling)
        pairs = results.comparisons(table)
        made = results.needed(table, pairs)
        assert len(made) == (~pairs["holm"]).sum() > 0
        assert ("images for that" in made) == (sampling == "open")
        if sampling == "open":
            number = made[["for 80 % power, one of 6", "images for that"]].map(lambda v: int(v.replace(",", "")))
            assert (number.iloc[:, 1] == 50 * number.iloc[:, 0]).all()


def test_the_tables_for_a_reader():
    rng = np.random.default_rng(4)
    hard = rng.normal(60, 15, 60)
    frame = pd.DataFrame({"top": hard + 2 + rng.normal(0, 2, 60), "low": hard, "far": hard - 30}).clip(2, 100)
    table, _ = results.normalise(frame, "mine.csv")
    pairs = results.comparisons(table)
    cells = results.matrix(table, pairs)
    assert cells.loc["top", "low"].startswith("▲") and cells.loc["low", "top"].startswith("▼")
    assert (np.diag(cells) == "—").all() and list(cells) == list(cells.index) == ["top", "low", "far"]
    other = results.changed(table, pairs)  # closed intervals of top and low meet
    assert other.index.tolist() == ["top"] and other["lower mean"].tolist() == ["low"]
    assert results.interval_list(table, pairs)["group"].tolist() == ["a", "b", "c"]
    two = pd.concat([frame.assign(dataset="d"), frame[["far"]].assign(dataset="e")])  # each row says its setting
    table, _ = results.normalise(two, "mine.csv", common=True)
    assert results.changed(table, results.comparisons(table)).index.tolist() == [("d", "top")]


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
    return pd.concat(parts).assign(**shape), dict(sampling=sampling, common=common), draw(st.sampled_from([0.5, 0.95]))


@settings(max_examples=40, phases=[Phase.generate])  # a random table shrinks slowly, to nothing that says more
@given(files())
def test_the_report_holds_together_whatever_the_table(file):
    frame, how, level = file
    before = frame.copy()
    table, notes = results.normalise(frame, "mine.csv", **how)
    pd.testing.assert_frame_equal(frame, before)
    pairs = results.comparisons(table, level)
    facts, found = results.settings(table), results.intervals(table, level)
    sizes = facts["methods"]
    assert len(pairs) == (sizes * (sizes - 1) // 2).sum() and len(found) == sizes.sum() and all(notes)
    assert pairs.notna().all(axis=None) and (pairs["difference"] >= 0).all()
    assert (pairs["p"] <= pairs["p_bh"] + 1e-12).all() and (pairs["p_bh"] <= pairs["p_holm"] + 1e-12).all()
    assert pairs["p_holm"].between(0, 1).all() and not (pairs["holm"] & ~pairs["bh"]).any()
    assert not (pairs["holm"] & (pairs["difference"] < 1e-9)).any()  # rounding tells nobody apart

    cells = results.matrix(table, pairs).to_numpy().ravel().astype(str)
    marks = pd.Series(cells).str[0].value_counts()
    decided = pairs["holm"].sum()
    assert marks.get("▲", 0) == marks.get("▼", 0) == decided
    assert marks.get("△", 0) == marks.get("▽", 0) == (pairs["bh"] & ~pairs["holm"]).sum()
    assert marks.get("○", 0) == 2 * (~pairs["bh"]).sum() and not pd.Series(cells).str.contains("nan").any()

    letters = results.group_letters(table, pairs)
    for row in pairs.itertuples():
        shared = set(letters[row.setting, row.a].split()) & set(letters[row.setting, row.b].split())
        assert bool(shared) != row.holm
    for setting, (means, sets) in results.panels(table, pairs).items():
        assert means.is_monotonic_decreasing or np.ptp(means) < 1e-6
        assert {m for group in sets for m in group} == set(means.index) and len(means) == sizes[setting]

    listed, other, open_ones = (
        results.pair_list(table, pairs), results.changed(table, pairs), results.needed(table, pairs, level)
    )
    assert len(listed) == len(pairs) and len(open_ones) == len(pairs) - decided
    assert len(other) == (pairs["unpaired"] != pairs["holm"]).sum()
    for made in (listed, other, open_ones, results.interval_list(table, pairs, level)):
        assert "nan" not in made.to_html() and made.notna().all(axis=None)
    lines = results.summary(table, pairs, level)
    assert len(lines) >= len(facts) + len(found) + 2 and not any("nan" in line for line in lines)
    assert len(results.reading(table)) == 1


@pytest.mark.parametrize("gap, noise", [(5, 0.5), (0, 0), (5, 5)], ids=["all told apart", "none", "some"])
def test_the_notebook_s_cells_survive_every_outcome(tmp_path, gap, noise):
    """Nothing changed, nothing needed, one method: the code of the very notebook, without a kernel."""
    rng = np.random.default_rng(0)
    for methods in (1, 2, 5):
        hard = rng.normal(60, 5, (40, 1))
        x = hard + gap * np.arange(methods) + noise * rng.normal(size=(40, methods))
        frame = pd.DataFrame(x.clip(2, 100), columns=[f"m{i}" for i in range(methods)])
        path = written(frame, tmp_path)
        scope = dict(results=str(path), sampling="open", common=False, level=0.95)
        with contextlib.redirect_stdout(io.StringIO()):
            for cell in jupytext.read(paths.NOTEBOOKS / "your-results.md").cells:
                if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []):
                    exec(cell.source, scope)
        plt.close("all")
        assert len(scope["pairs"]) == methods * (methods - 1) / 2


# ---------------------------------------------------------------- the command


def test_report_where_every_pair_is_told_apart(tmp_path, monkeypatch, capsys):
    """The two columns of the book's own example."""
    monkeypatch.chdir(tmp_path)
    written(wide(tasks=100, methods=2, spread=20), tmp_path)
    assert cli.main(["report", "mine.csv"]) == 0
    assert "1 of 1 pairs are told apart" in capsys.readouterr().out
    assert "No pair is left open" in (tmp_path / "mine.html").read_text()


def test_report_is_one_whole_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(wide(tasks=30).rename(columns={"m3": "<b>&m3"}), tmp_path)
    assert cli.main(["report", "mine.csv", "--sampling", "open"]) == 0
    out = capsys.readouterr().out
    assert "told apart" in out and "new images" in out and out.splitlines()[-1] == "mine.html"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv", "mine.html"]
    html = (tmp_path / "mine.html").read_text()
    table, notes = results.read(tmp_path / "mine.csv", "open")
    for cell in results.pair_list(table, results.comparisons(table))["difference (points)"]:
        assert cell in html
    assert all(note.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in html for note in notes)
    assert "<b>&m3" not in html and "▲" in html and "data:image/png;base64," in html
    assert "<title>mine.csv: report</title>" in html and "Exercises" not in html
    for fetched in ("<script", "<link", 'src="http', "@import", "url(http"):
        assert fetched not in html


def test_report_on_one_method_and_on_several_settings(tmp_path, capsys):
    path = written(wide(methods=1), tmp_path, "one.csv")
    assert cli.main(["report", str(path), "-o", str(tmp_path / "one.html")]) == 0
    assert "no comparison is possible" in capsys.readouterr().out
    assert "nothing to compare" in (tmp_path / "one.html").read_text()
    both = pd.concat([wide(s).assign(dataset=d, sampling="closed") for s, d in enumerate(("first", "second"))])
    path = written(both, tmp_path, "both.parquet")
    assert cli.main(["report", str(path), "-o", str(tmp_path / "both.html")]) == 0
    out = capsys.readouterr().out
    assert "first: 4 methods, 40 tasks, sampling closed" in out and "these very images only" in out
    assert "cannot be told from this file" in (tmp_path / "both.html").read_text()
