"""Several results files are one table: what is one method, one data set, one unit, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fslcore
from fslcore.errors import InputError
from fslcore.tasks import sample_closed
from fslcore.tools import recorder, report
from fslcore.tools.cli import app

TASKS = 30
HARD = np.random.default_rng(0).normal(70, 8, TASKS).clip(40, 90).round(2)


def column(seed=0, more=0.0):
    return (HARD + more + np.random.default_rng(seed).normal(0, 2, TASKS)).round(2)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def csv(name, index=False, **columns):
    pd.DataFrame(columns).to_csv(name, index=index)
    return name


def grid(paths, **how):
    """Accuracies by setting and method, a column each, and the notes."""
    table, notes, _ = report.tables.read(paths, **how)
    return table.pivot(index="task", columns=["setting", "method"], values="accuracy"), notes


def test_a_file_a_method_whatever_each_calls_its_accuracies():
    a, b, c, d, e = (column(seed) for seed in range(5))
    csv("protonet.csv", accuracy=a)
    csv("maml.csv", task=range(TASKS), accuracy=b / 100)  # shares, the others percent
    csv("ours.csv", index=True, test_acc=c)
    pd.DataFrame({"acc": d}).to_parquet("linear.parquet", index=False)
    csv("bare.txt", score=e)
    files = ["protonet.csv", "maml.csv", "ours.csv", "linear.parquet", "bare.txt"]
    found, notes = grid(files)
    assert sorted(found) == [("5 files", m) for m in ("bare", "linear", "maml", "ours", "protonet")]
    for method, values in dict(protonet=a, maml=b, ours=c, linear=d, bare=e).items():
        assert np.allclose(found["5 files", method], values)
    assert "Of maml.csv: No accuracy is above 1: they are read as shares and shown in percent." in notes
    assert len(notes) == len(set(notes)) and any("they are one data set" in note for note in notes)
    # the order of the files changes nothing but the notes
    assert grid(files[::-1])[0].sort_index(axis=1).equals(found.sort_index(axis=1))


def test_one_file_is_as_before():
    csv("a.csv", ours=column(1), base=column(2))
    alone, listed = report.tables.read("a.csv"), report.tables.read(["a.csv"])
    assert alone[0].equals(listed[0]) and alone[1] == listed[1] and set(alone[0]["setting"]) == {"a"}


def test_one_file_may_leave_out_its_method_unless_it_holds_several():
    csv("mine.csv", task=range(TASKS), accuracy=column())
    found, notes = grid("mine.csv")
    assert [*found] == [("mine", "mine")] and "mine.csv names no method: it is called mine." in notes
    csv("mine.csv", task=[*range(TASKS)] * 2, accuracy=np.concatenate([column(), column(1)]))
    with pytest.raises(InputError, match=r"mine.csv has a column accuracy but lacks method \(or backbone, learner\)"):
        report.tables.read("mine.csv")
    csv("mine.csv", task=range(TASKS), accuracy=column(), algorithm="ncc")
    with pytest.raises(InputError, match="lacks method"):
        report.tables.read("mine.csv")


def test_files_of_one_name_are_called_by_their_folders(folder):
    for method in ("protonet", "maml"):
        (folder / method).mkdir()
        csv(f"{method}/results.csv", acc=column(len(method)))
    assert {m for _, m in grid(["protonet/results.csv", "maml/results.csv"])[0]} == {"maml", "protonet"}
    csv("ours.csv", acc=column(3))
    found, _ = grid(["protonet/results.csv", "maml/results.csv", "ours.csv"])
    assert sorted(m for _, m in found) == sorted(["maml/results", "protonet/results", f"{folder.name}/ours"])
    csv("ours.txt", acc=column(4))  # of one name but for its ending
    assert len({m for _, m in grid(["ours.csv", "ours.txt"])[0]}) == 2


def test_methods_that_come_again_make_data_sets_of_the_files():
    csv("cub.csv", ours=column(1), base=column(2))
    csv("dtd.csv", ours=column(3), base=column(4))
    found, notes = grid(["cub.csv", "dtd.csv"])
    assert {s for s, _ in found} == {"cub", "dtd"} and found.shape[1] == 4
    assert any("ours is in several: each file is a data set of its own" in note for note in notes)


@pytest.mark.parametrize(
    "called",
    [
        "protonet-seed{}",
        "protonet_s{}",
        "protonet.run-{}",
        "protonetseed{}",
        "protonet {}",
        "protonet/seed{}",
        "protonet/{}/acc",
    ],
)
def test_files_are_training_runs_by_the_number_that_their_names_end_with(folder, called):
    files = {s: called.format(s) + ".csv" for s in (0, 1, 12)}
    for s, file in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        csv(file, accuracy=column(s))
    csv("r2d2.csv", accuracy=column(5))
    more = [] if "acc" in called else ["r2d2.csv"]  # folders tell the runs where all files have one name
    table, notes, _ = report.tables.read([*files.values(), *more], runs=True)
    runs = table[table["method"] == "protonet"].groupby("run", sort=False)["accuracy"]
    assert {run: of.tolist() for run, of in runs} == {str(s): column(s).tolist() for s in files}
    assert set(table["method"]) - {"protonet"} == (set() if "acc" in called else {"r2d2"})
    assert table["setting"].nunique() == 1 and any("no run of a method is in two" in note for note in notes)
    mean, found = np.mean([column(s).mean() for s in files]), report.Results(table).new_runs.droplevel("setting")
    assert found.loc["protonet", "runs"] == 3 and np.isclose(found.loc["protonet", "mean"], mean)


def test_training_runs_of_files_with_names_inside():
    for s in range(2):
        for name in ("mini", "tiered"):
            csv(f"{name}-{s}.csv", ours=column(s), base=column(s + 2))
    table, notes, _ = report.tables.read([f"{n}-{s}.csv" for n in ("mini", "tiered") for s in range(2)], runs=True)
    assert set(table["setting"]) == {"mini", "tiered"} and set(table["run"]) == {"0", "1"}
    assert any("ours, run 0, is in several: their names tell the data sets" in note for note in notes)


def test_weights_of_a_backbone_are_the_run(folder):
    for s in range(2):
        csv(
            f"{s}.csv",
            backbone=f"conv4-protonet:/w/{s}.safetensors",
            learner="lr",
            task=range(TASKS),
            accuracy=column(s),
        )
    table, _, _ = report.tables.read(["0.csv", "1.csv"], runs=True)
    assert set(table["method"]) == {"conv4-protonet lr"} and set(table["run"]) == {"0", "1"}
    assert report.tables.read(["0.csv", "1.csv"])[0]["method"].nunique() == 2


def test_files_that_may_be_training_runs_are_told(folder, capsys):
    for s in range(2):
        csv(f"ours-{s}.csv", accuracy=column(s))
        csv(f"both-{s}.csv", task=range(TASKS), dataset="mini", ours=column(s), base=column(s + 2))
    note = "ours-0, ours-1 are methods of their own here; if files are training runs of one method, say so (--runs)."
    assert note in grid(["ours-0.csv", "ours-1.csv"])[1]
    assert app.main(["report", "ours-0.csv", "ours-1.csv"]) == 0 and note in capsys.readouterr().out
    assert app.main(["report", "ours-0.csv", "ours-1.csv", "--runs"]) == 0
    told = capsys.readouterr().out
    assert note not in told and "2 files: 1 method, 30 tasks" in told and "For new training runs (0.95):" in told
    assert "2 runs" in told and "2 training runs of each method" in (folder / "report.html").read_text()
    with pytest.raises(
        InputError, match=r"\(rows 1 of both-0.csv and 1 of both-1.csv\); if each file is a training run"
    ):
        report.tables.read(["both-0.csv", "both-1.csv"])
    with pytest.raises(InputError, match="runs = True; one file is given"):
        report.tables.read("ours-0.csv", runs=True)
    csv("run-0.csv", index=True, run=[0] * TASKS, ours=column())
    with pytest.raises(InputError, match="runs = True; run-0.csv has a column run"):
        report.tables.read(["run-0.csv", "ours-1.csv"], runs=True)


def test_data_sets_that_are_named_are_kept_and_a_task_twice_names_both_files():
    for i, name in enumerate(["a.csv", "b.csv"]):
        csv(name, dataset="cub", task=[f"t{t}" for t in range(TASKS)], **{f"m{i}": column(i)})
    assert {s for s, _ in grid(["a.csv", "b.csv"])[0]} == {"cub"}
    csv("b.csv", dataset="cub", task=[f"t{t}" for t in range(TASKS)], m0=column(5))
    with pytest.raises(InputError, match=r"cub: method m0 has task t0 twice \(rows 1 of a.csv and 1 of b.csv\)"):
        report.tables.read(["a.csv", "b.csv"])


def test_tasks_go_by_their_names_and_not_by_their_order():
    a, b, order = column(1), column(2), np.random.default_rng(9).permutation(TASKS)
    csv("a.csv", task=range(TASKS), accuracy=a)
    csv("b.csv", task=order, accuracy=b[order])
    found, _ = grid(["a.csv", "b.csv"])
    assert np.allclose(found["2 files", "b"], b)
    csv("b.csv", task=order[2:], accuracy=b[order[2:]])
    with pytest.raises(InputError, match="2 files: method b lacks 2 of 30 tasks"):
        report.tables.read(["a.csv", "b.csv"])
    assert len(grid(["a.csv", "b.csv"], common=True)[0]) == TASKS - 2


@pytest.mark.parametrize("extra", [dict(shots=5), dict(dataset="cub"), dict(run=0), dict(sampling="open")])
def test_columns_that_only_some_files_have_are_named(extra):
    name, value = next(iter(extra.items()))
    csv("a.csv", task=range(TASKS), a=column(), **extra)
    csv("b.csv", task=range(TASKS), b=column(1))
    with pytest.raises(InputError, match=f"a.csv has a column {name} and b.csv has none; give it to .*--drop"):
        report.tables.read(["a.csv", "b.csv"])
    assert grid(["a.csv", "b.csv"], drop=[name])[0].shape == (TASKS, 2)
    if name == "sampling":
        table, _, _ = report.tables.read(["a.csv", "b.csv"], sampling=value)
        assert set(table["sampling"]) == {"open"} and table["setting"].nunique() == 1


def test_what_is_left_out_may_be_in_any_file_and_must_be_in_one():
    csv("a.csv", ours=column(1), mean=column(2))
    csv("b.csv", base=column(3))
    found, notes = grid(["a.csv", "b.csv"], drop=["mean"])
    assert sorted(m for _, m in found) == ["base", "ours"] and "Left out, as told: mean." in notes
    assert [m for _, m in grid(["a.csv", "b.csv"], drop=["base", "mean"])[0]] == ["ours"]
    with pytest.raises(InputError, match="drop = bass; no column, method or task of the 2 files .*base"):
        report.tables.read(["a.csv", "b.csv"], drop=["bass"])
    with pytest.raises(InputError, match="nothing of the 2 files is left"):
        report.tables.read(["a.csv", "b.csv"], drop=["ours", "base", "mean"])


def test_faults_name_their_file_and_row():
    csv("a.csv", ours=column(1))
    csv("b.csv", base=[*column(2)[:-1], 170])
    with pytest.raises(InputError, match="base in row 30 of b.csv is 170"):
        report.tables.read(["a.csv", "b.csv"])
    with pytest.raises(InputError, match="a.csv is given twice"):
        report.tables.read(["a.csv", "./a.csv"])
    with pytest.raises(InputError, match="no file c.csv"):
        report.tables.read(["a.csv", "c.csv"])
    for wrong in ([], [3], ["a.csv", ""], 3, b"a.csv"):
        with pytest.raises(InputError, match="results: path = .*the name of a file or folder is allowed"):
            report.tables.read(wrong)


def recorded(path, method, tasks, share, seed, of=8, **facts):
    labels = np.arange(of).repeat(160 // of)
    right = np.random.default_rng(seed).random(tasks.query.shape) < share
    with fslcore.record(path, method, **facts) as r:
        for s, q, ok in zip(tasks.support, tasks.query, right):
            r.task([f"i{i}" for i in s], [f"i{i}" for i in q], labels[q], np.where(ok, labels[q], -1), labels[s])
    return path


@pytest.fixture(scope="module")
def closed():
    return sample_closed(np.arange(8).repeat(20), tasks=80, ways=5, shots=2, queries=4)


def test_recordings_of_several_processes_are_as_one(closed):
    few = closed[:20]  # leaves some images out, so places in the two files differ
    for name in ("both.npz", "a.npz"):
        recorded(name, "A", closed, 0.7, 1)
    for name in ("both.npz", "b.npz"):
        recorded(name, "B", few, 0.8, 2)
    table, notes, _ = report.tables.read(["b.npz", "a.npz"], common=True)
    wanted, _, _ = report.tables.read("both.npz", common=True)
    ours, theirs = (
        of.pivot(index="task", columns="method", values="accuracy").sort_values(["A", "B"]).to_numpy()
        for of in (table, wanted)
    )
    assert len({len(recorder.load(name).images) for name in ("a.npz", "b.npz")}) == 2
    assert len(table) == 40 and np.array_equal(ours, theirs) and set(table["sampling"]) == {"closed"}
    assert "2 recordings are one table: their tasks reuse images." in notes
    found, wanted = (
        report.recorded.Recorded(["a.npz", "b.npz"]).three_intervals()[0],
        report.recorded.Recorded("both.npz").three_intervals()[0],
    )
    assert [*found] == [*wanted] == ["A", "B", "A − B"]
    for name, one in found.items():
        for kind in ("closed", "images", "classes"):
            assert getattr(one, kind).half_width == pytest.approx(getattr(wanted[name], kind).half_width, rel=1e-12)


def test_recordings_are_known_in_any_case_of_their_ending(closed, capsys):
    """By their images: the second has the tasks of the first in another order."""
    turned = closed[np.arange(len(closed))[::-1]]
    for ending in ("npz", "NPZ"):
        for name, of, share in (("a", closed, 0.7), ("b", turned, 0.8)):
            Path(recorded(f"{name}.npz", name, of, share, 1)).rename(f"{name}.{ending}")
        files = [f"a.{ending}", f"b.{ending}"]
        assert app.main(["report", *files, "--json", "--quiet", "-o", "r.html"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [*found["three_intervals"]] == ["a", "b", "a − b"]
        assert found["notes"][0].startswith("2 recordings are one table")
        assert "so one run answers three questions" in Path("r.html").read_text("utf-8")
        if ending == "npz":
            wanted = report.tables.read(files)[0]
        pd.testing.assert_frame_equal(report.tables.read(files)[0], wanted)


def test_recordings_that_do_not_fit_are_named(closed):
    recorded("a.npz", "A", closed, 0.7, 1, dataset="birds")
    recorded("b.npz", "A", closed, 0.7, 1, dataset="birds")
    with pytest.raises(InputError, match="method A is in a.npz and in b.npz"):
        report.tables.read(["a.npz", "b.npz"])
    recorded("c.npz", "C", closed, 0.7, 1, dataset="planes")
    with pytest.raises(InputError, match="dataset is planes in c.npz, elsewhere birds"):
        report.tables.read(["a.npz", "c.npz"])
    recorded("d.npz", "D", closed, 0.7, 1, of=16)
    with pytest.raises(InputError, match="the class of image i[0-9]+ is [0-9]+ in d.npz, elsewhere [0-9]+"):
        report.tables.read(["a.npz", "d.npz"])
    csv("e.csv", e=column())
    with pytest.raises(InputError, match="a.npz is a recording and e.csv is not"):
        report.tables.read(["e.csv", "a.npz"])


def test_the_command_reports_on_all(capsys):
    for i, name in enumerate(["protonet.csv", "maml.csv", "ours.csv"]):
        csv(name, accuracy=column(i, 3 * i))
    assert app.main(["report", "protonet.csv", "maml.csv", "ours.csv", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["report"] == "report.html" and {m["method"] for m in found["methods"]} == {"protonet", "maml", "ours"}
    page = Path("report.html").read_text("utf-8")
    assert "protonet.csv and 2 more: report" in page and "maml" in page
    assert app.main(["report", "protonet.csv", "ours.csv", "-o", "ours.csv", "--quiet"]) == 2


def test_the_command_reports_on_recordings(closed, capsys):
    recorded("a.npz", "A", closed, 0.7, 1)
    recorded("b.npz", "B", closed, 0.8, 2)
    assert app.main(["report", "a.npz", "b.npz", "--json", "--quiet"]) == 0
    assert [*json.loads(capsys.readouterr().out)["three_intervals"]] == ["A", "B", "A − B"]
