"""The declared format of results: what is read, what is asked about, and what is refused with the way out."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from fslcore.errors import InputError
from fslcore.tools import report
from fslcore.tools.cli import app
from fslcore.tools.report import questions

RNG = np.random.default_rng(0)
HARD = RNG.normal(70, 8, 40)
ACC = pd.DataFrame({"ours": HARD + 2 + RNG.normal(0, 3, 40), "base": HARD + RNG.normal(0, 3, 40)}).clip(2, 99).round(2)
EASY = pd.DataFrame({"ours": [72.5, 80.0, 64.25, 71.0], "base": [70.5, 79.0, 66.0, 70.25]})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def long(frame):
    return frame.assign(task=range(len(frame))).melt("task", var_name="method", value_name="accuracy")


def means(content, name="t.csv", **how):
    """Means by method of a file with this content."""
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    table, _, _ = report.tables.read(name, **how)
    return table.groupby("method")["accuracy"].mean().round(6).to_dict()


# ---------------------------------------------------------------- columns of other measures

ALONG = (
    *("x_error", "ours_err", "test_loss", "nll", "x ece", "ours_std", "95% CI", "se", "time_s", "Wall time", "x_sec"),
    *("epoch", "Step", "lr", "f1", "precision", "recall", "auc", "top5", "top-5", "kappa", "wer", "peak_mem", "gpu"),
    *("valLoss", "ours__MAX", "m1 ±", "m1 (+/- std)", "mean", "diff", "train_acc", "global_step", "trainAcc"),
)


@pytest.mark.parametrize("share", [1, 100])
@pytest.mark.parametrize("one", ALONG)
def test_a_column_with_a_word_of_another_measure_is_asked_about(one, share):
    frame = (ACC / share).assign(**{one: ACC["base"] / share - 0.001})
    for of in (frame, long(frame)):
        message = rf"^results: {re.escape(one)} \(.*\) of mine.csv looks like something else than accuracies; .*"
        with pytest.raises(
            InputError, match=message + rf"--drop {re.escape(shlex.quote(one))}\).*--methods ours base\)"
        ):
            report.tables.normalise(of, "mine.csv")
        for how in (dict(drop=[one]), dict(methods=["ours", "base"])):
            assert set(report.tables.normalise(of, "mine.csv", **how)[0]["method"]) == {"ours", "base"}
        every = report.tables.normalise(of, "mine.csv", methods=["ours", "base", one])[0]
        assert set(every["method"]) == {"ours", "base", one}


def test_errors_alone_are_no_accuracies():
    errors = (100 - ACC).add_suffix("_error")
    with pytest.raises(InputError, match="ours_error .error., base_error .error. of e.csv .*bring accuracies instead"):
        report.tables.normalise(errors, "e.csv")


@pytest.mark.parametrize(
    "one",
    ["ours", "ProtoNet", "k-NN", "5-way", "zero-shot", "R2D2", "MAML++", "miniImageNet", "resnet12", "DeiT-S", "top1"],
)
def test_names_of_methods_are_not_asked_about(one):
    table, _ = report.tables.normalise(ACC.rename(columns={"ours": one}), "mine.csv")
    assert set(table["method"]) == {one, "base"}


def test_names_that_the_library_gives_are_not_asked_about():
    """The learner of ``fslcore evaluate`` is called lr too, as the learning rate is."""
    frame = long(ACC).rename(columns={"method": "learner"}).replace({"learner": {"base": "lr"}})
    assert set(report.tables.normalise(frame.assign(backbone="conv4"), "m.csv")[0]["method"]) == {
        "conv4 ours",
        "conv4 lr",
    }


def test_an_export_of_a_tracking_tool_is_asked_about_at_once():
    export = pd.DataFrame({"Step": range(0, 80, 2), "train_loss": 1.5, "_timestamp": 1.7e9, "gpu_mem": 40.25})
    export = export.assign(**{"a - test_acc": ACC["ours"], "a - test_acc__MIN": ACC["base"], "lr": 0.001})
    with pytest.raises(InputError) as error:
        report.tables.normalise(export, "wandb.csv")
    assert "--drop Step train_loss _timestamp gpu_mem 'a - test_acc__MIN' lr)" in str(error.value)
    table, notes = report.tables.normalise(export, "wandb.csv", methods=["a - test_acc"])
    assert table["accuracy"].tolist() == ACC["ours"].tolist()
    assert "Not read, as they are not among the methods: Step, train_loss" in " ".join(notes)


def test_a_name_that_is_none_is_told():
    with pytest.raises(InputError, match=r"^methods = our; no column or method of m.csv has .*did you mean ours"):
        report.tables.normalise(ACC, "m.csv", methods=["our"])


# ---------------------------------------------------------------- counts, repeats, seeds, summaries


def test_whole_numbers_are_asked_about_and_out_of_answers():
    counts = pd.DataFrame({"ours": np.arange(40) * 7 % 51, "base": np.arange(40) * 11 % 51})
    message = r"^results: ours, base of c.csv have whole numbers alone, as counts .*--out-of 100 .*--out-of 75"
    with pytest.raises(InputError, match=message):
        report.tables.normalise(counts, "c.csv")
    for out_of in (50, 75, 100):
        table, notes = report.tables.normalise(counts, "c.csv", out_of=out_of)
        of = table[table["method"] == "ours"]["accuracy"]
        assert np.allclose(of, counts["ours"] * 100 / out_of) and f"out of {out_of}, as told" in " ".join(notes)
    with pytest.raises(InputError, match=r"in row \d+ of c.csv is \d+; 0 to 30, as told, is allowed"):
        report.tables.normalise(counts, "c.csv", out_of=30)
    with pytest.raises(InputError, match="n of c.csv has whole numbers alone"):
        report.tables.normalise(ACC.assign(n=75), "c.csv")
    assert len(report.tables.normalise(counts / 50, "c.csv")[0]) == 80


def test_whole_percentages_are_known_where_the_queries_are():
    """Twenty queries make steps of 5 points; 57 of 75 queries are no whole percentage."""
    steps = pd.DataFrame(5 * np.random.default_rng(3).integers(0, 20, (40, 2)), columns=["ours", "base"])
    assert len(report.tables.normalise(steps.assign(ways=5, queries=4), "c.csv")[0]) == 80
    with pytest.raises(InputError, match="whole numbers alone"):
        report.tables.normalise(steps.assign(ways=5, queries=15, task=range(40)) + [1, 0, 0, 0, 0], "c.csv")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "again",
    [
        lambda f: pd.concat([f] * 6),
        lambda f: pd.concat([f, f, f[:7]]),
        lambda f: f.loc[np.repeat(f.index, 3)],
        lambda f: pd.concat([f[:5]] * 2),
    ],
)
def test_rows_that_come_again_are_asked_about(again, named):
    """Six copies of 40 tasks would make the ± smaller by a factor of 2.5."""
    frame = again(ACC).reset_index(drop=True)
    frame = frame.assign(task=[f"t{i}" for i in range(len(frame))]) if named else frame
    with pytest.raises(InputError, match="accuracies of r.csv repeat those above them.*--repeats copies.*column run"):
        report.tables.normalise(frame, "r.csv")
    single = ACC if len(frame) > 10 else ACC[:5]
    left = report.tables.normalise(frame, "r.csv", repeats="copies")[0]
    assert sorted(left["accuracy"]) == sorted(report.tables.normalise(single, "r.csv")[0]["accuracy"])
    assert len(report.tables.normalise(frame, "r.csv", repeats="tasks")[0]) == 2 * len(frame)


def test_values_that_come_again_by_chance_are_tasks():
    """Ten queries have eleven accuracies; a constant method and two that alternate are methods too."""
    for seed in range(200):
        right = np.random.default_rng(seed).integers(0, 11, (30, 1)) / 10
        assert not questions.repeated(pd.DataFrame({"method": "a", "accuracy": right[:, 0]})).any()
    frame = pd.DataFrame({"a": [0.5] * 20, "b": [0.4, 0.6] * 10})
    assert len(report.tables.normalise(frame, "m.csv")[0]) == 40


def test_a_seed_of_several_values_is_asked_about():
    frame = pd.concat([(ACC + s / 100).assign(task=range(40), seed=s) for s in range(3)])
    with pytest.raises(InputError, match="column seed of s.csv has 3 values; .*--seed run .*--seed tasks"):
        report.tables.normalise(frame, "s.csv")
    runs, tasks = (report.tables.normalise(frame, "s.csv", seed=of)[0] for of in ("run", "tasks"))
    assert runs["setting"].nunique() == 1 and set(runs["run"]) == {"0", "1", "2"} and "seed" not in runs
    assert tasks["setting"].nunique() == 3 and "run" not in tasks
    assert set(report.tables.normalise(ACC.assign(seed=7), "s.csv")[0]["seed"]) == {7}
    for s in range(2):
        (ACC + s / 100).assign(seed=s, task=range(40)).to_csv(f"{s}.csv", index=False)
    with pytest.raises(InputError, match="column seed of the 2 files has 2 values"):
        report.tables.read(["0.csv", "1.csv"])
    with pytest.raises(InputError, match="has a column run and a column seed"):
        report.tables.normalise(frame.assign(run=1), "s.csv", seed="run")


@pytest.mark.parametrize("decimals", [1, 2, 4, 15])
def test_a_last_row_of_means_or_sums_is_told_where_no_column_names_tasks(decimals):
    for made in (ACC.mean().round(decimals), (ACC / 1e4).sum()):
        frame = pd.concat([ACC if made.max() > 1 else ACC / 1e4, made.to_frame().T], ignore_index=True)
        if made.max() > 1:
            with pytest.raises(InputError, match="row 41 of m.csv is the mean of the rows above; take it out, or"):
                report.tables.normalise(frame, "m.csv")
            assert len(report.tables.normalise(frame.assign(task=range(41)), "m.csv")[0]) == 82
        else:
            with pytest.raises(InputError, match="row 41 of m.csv is the sum"):
                report.tables.normalise(frame, "m.csv")


@pytest.mark.parametrize(
    "fault, message",
    [
        (lambda f: f.assign(task=["Mean", *map(str, range(39))]), "task Mean of m.csv looks like a summary"),
        (lambda f: f.assign(task=["all", *map(str, range(39))]), "task all of"),
        (lambda f: f.assign(nr=range(1, 41)), r"column nr of m.csv counts the rows; .*--drop nr"),
        (lambda f: f.assign(**{"Unnamed: 0": [3, 1, 2, 9] * 10}), "column 'Unnamed: 0' of .* looks like an index"),
        (lambda f: (f > 70).astype(int), "only 0 and 1, as single queries do; .* add columns task and query"),
        (lambda f: (f > 70).assign(task=f.index // 4), "only 0 and 1.* name the queries in a column query"),
        (lambda f: long((f > 70).astype(float)), "only 0 and 1,"),
        (lambda f: 100 * (f > 70), "only 0 and 100,"),
        (lambda f: (f > 70).astype(float).assign(query=f.index), "column query but lacks task"),
        (lambda f: (f > 70).astype(float).assign(query=0, task=f.index // 4), "query 0 of task 0 twice"),
    ],
)
def test_what_is_no_method_and_no_task_is_refused(fault, message):
    with pytest.raises(InputError, match=message):
        report.tables.normalise(fault(ACC), "m.csv")


def test_all_problems_of_all_files_are_told_at_once():
    bad = ACC.assign(ways="five", seed=[0, 1] * 20, x_loss=1.5).astype({"ours": object})
    bad.loc[3, "ours"], bad.loc[5, "base"] = "n.a.", 170
    bad.to_csv("a.csv", index=False)
    pd.DataFrame({"other": range(40), "m": range(40)}).to_csv("b.csv", index=False)
    pd.DataFrame({"m": [1.5]}).to_json("c.json")
    with pytest.raises(InputError) as error:
        report.tables.read(["a.csv", "b.csv", "c.json"])
    for said in (
        "c.json; .csv, .tsv, .txt, .parquet, .npz are allowed; in Python",
        "column ways of a.csv must hold int",
        "x_loss (loss) of a.csv looks like",
        "ours in row 4 of a.csv is n.a.; a number is needed",
        "base in row 6 of a.csv is 170.0; 0 to 1",
        "column other of b.csv counts the rows",
        "a.csv has a column ways and b.csv has none",
        "column seed of the 2 files has 2 values",
    ):
        assert said in str(error.value)
    assert str(error.value).startswith("results: ") and "\n" not in str(error.value)
    assert re.search(r"^results: \d+ problems: \(1\) ", str(error.value))


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    "ending, text, how",
    [
        ("csv", "ours,base\n72.5,70.5\n80,79\n64.25,66\n71,70.25\n", {}),
        ("CSV", "\ufeffours, base\r\n72.5, 70.5\r\n80, 79\r\n64.25, 66\r\n71, 70.25\r\n", {}),
        ("tsv", "ours\tbase\n72.5\t70.5\n80\t79\n64.25\t66\n71\t70.25\n", {}),
        ("csv", "ours;base\n72,5;70,5\n80;79\n64,25;66\n71;70,25\n", dict(decimal=",")),
        ("csv", 'ours,base\n"72,5","70,5"\n"80","79"\n"64,25","66"\n"71","70,25"\n', dict(decimal=",")),
        ("txt", "ours base\n72.5  70.5\n80 79\n64.25 66\n71 70.25\n", dict(separator="blanks")),
        ("csv", ",ours,base\n0,72.5,70.5\n1,80,79\n2,64.25,66\n3,71,70.25\n", {}),  # the index of pandas
        ("csv", "index,ours,base,\n1,72.5,70.5,\n2,80,79,\n3,64.25,66,\n4,71,70.25,\n", {}),
        ("csv", '\n\n"ours"|"base"\n72.5|70.5\n80|79\n64.25|66\n71|70.25\n\n\n', {}),
    ],
    ids=range(9),
)
def test_text_of_the_declared_format_is_read(folder, ending, text, how):
    path = folder / f"t.{ending}"
    path.write_bytes(text.encode())
    table, _, _ = report.tables.read(path, **how)
    pd.testing.assert_frame_equal(table, report.tables.normalise(EASY, f"t.{ending}")[0])
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "t.csv has no rows"),
        ("m0,m1\n", "t.csv has no rows"),
        ("m0,m0\n70,71\n72,73\n", "two columns m0"),
        ("m0,Task,task\n70,0,1\n", "two columns task"),
        ("m0,m1\n70,71,72\n72,73,74\n", "row 1 of t.csv, 70,71,72, has 3 cells and the line of names 2; .*and 1 more"),
        ("m0,m1\n70,71\n72\n", "row 2 of t.csv, 72, has 1 cells"),
        ("m0,m1\n70,71\n\n72,73\n", "row 2 of t.csv, '', has 0 cells .* no empty line"),
        ('m0,m1\n70,"71\n72,73\n', "t.csv cannot be read .unexpected end of data"),
        ("m0,m1\nTrue,70\nFalse,72\n", "m0 in row 1 of t.csv is True; a number"),
        ("m0,m1\n70.5,71\n72,NaN\n", "m1 in row 2 of t.csv is empty"),
        ("m0,m1\n70,71\nm0,m1\n72,73\n", "row 2 of t.csv is its line of names again"),
        ("72.5,70.5\n80,79\n", "first line of t.csv has a number, 72.5, among its names"),
        ("0,1,2\n72.5,70.5,60\n80,79,61.5\n", "first line of t.csv has a number, 0, among its names"),
        ("# Monday\nm0,m1\n70,71\n", "begins with #, and comments are not read"),
        ("m0;m1\n72,5;71,5\n70,5;71\n", r"m0 in row 1 of t.csv is 72,5; a number is needed \(--decimal ,"),
        ('m0,m1\n"1,234",71.5\n70,70.5\n', r"m0 in row 1 of t.csv is 1,234; a number is needed \(--decimal ,"),
        ("m0 m1\n72.5 71.5\n70.5 71\n", r"m0 m1 in row 1 of t.csv is 72.5 71.5; .*\(--separator blanks"),
        ("m0;m1,b\n72.5;71.5\n70.5;71\n", r"more than one separator \(comma, semicolon\); .*--separator comma"),
        ("m0,m1\n72.5%,71.5%\n70.5%,71%\n", "m0 in row 1 of t.csv is 72.5%; a number is needed, without a percent"),
        ("m0,m1\n1_0,71.5\n70.5,71\n", "m0 in row 1 of t.csv is 1_0; a number is needed"),
        ("Größe,m\n72.5,70.5\n".encode("cp1252"), "t.csv is not UTF-8; save it as UTF-8"),
        ("m0,m1\n72.5,70.5\n".encode("utf-16"), "t.csv is not UTF-8"),
        ("m0,m1\n72.5,70.5\n".encode("utf-16-le"), "t.csv is not UTF-8"),
        (b"\0\1\2", "t.csv is not UTF-8"),
    ],
)
def test_text_of_another_format_is_refused_with_what_to_type(text, message):
    with pytest.raises(InputError, match=message) as error:
        means(text)
    assert "\n" not in str(error.value)


def test_a_row_without_a_value_keeps_its_place():
    first = ["70.5", "75", "71", "79", "62", "68", "73", "77", "64"]
    for name, gap in (("ours", 2), ("theirs", 6)):
        cells = ["nan" if i == gap else v for i, v in enumerate(first)]
        with open(f"{name}.csv", "w") as file:
            file.write("\n".join([name, *cells, ""]))
    with pytest.raises(InputError, match="ours in row 3 of ours.csv is empty"):
        report.tables.read(["ours.csv", "theirs.csv"])
    found = report.tables.read(["ours.csv", "theirs.csv"], common=True)[0]
    assert sorted(set(found["task"])) == [0, 1, 3, 4, 5, 7, 8]


def test_names_are_kept_as_they_are_written():
    rows = [f"{m},{t},{70.5 + 3 * i + 2 * t}" for i, m in enumerate(["NA", "None", "#1 ours", " m"]) for t in (0, 1)]
    found = means("\n".join(["method,task,accuracy", *rows]))
    assert found == {"NA": 71.5, "None": 74.5, "#1 ours": 77.5, "m": 80.5}
    assert means("task,ours\nNA,70.5\nDE,72.5\n") == {"ours": 71.5}
    assert means("task,a…b,c\u2028d\na\x85b,72.5,70.5\r\nb,80,79\r\n") == {"a…b": 76.25, "c\\u2028d": 74.75}
    with pytest.raises(InputError, match="column method of t.csv is empty in row 2"):
        means("\n".join(["method,task,accuracy", rows[0], rows[1][2:]]))
    with pytest.raises(InputError, match="column task of t.csv is empty in row 1"):
        means("task,ours\n,70.5\nDE,72.5\n")


def test_every_digit_of_text_counts():
    values = np.random.default_rng(1).random(500)
    ACC_ = pd.DataFrame({"ours": values})
    ACC_.to_csv("d.csv", index=False)
    assert (report.tables.read("d.csv")[0]["accuracy"].to_numpy() == 100 * values).all()


# ---------------------------------------------------------------- files of other kinds, and the way out


def other_kinds():
    torch = pytest.importorskip("torch")
    ACC.to_json("a.json")
    ACC.to_json("a.jsonl", orient="records", lines=True)
    ACC.to_pickle("a.pkl")
    for ending in ("pt", "pth"):
        torch.save({m: torch.tensor(ACC[m].to_numpy()) for m in ACC}, f"a.{ending}")
    np.save("a.npy", ACC.rename(columns={"base": "theirs"}).to_numpy())


@pytest.mark.parametrize("ending", ["json", "jsonl", "pkl", "pt", "pth", "npy"])
def test_files_of_other_kinds_are_refused_with_lines_that_make_a_table_of_them(ending):
    other_kinds()
    with pytest.raises(
        InputError, match=f"^results: a.{ending}; .csv, .tsv, .txt, .parquet, .npz are allowed"
    ) as error:
        report.tables.read(f"a.{ending}")
    exec(str(error.value).partition("; in Python: ")[2], {})
    table, _, _ = report.tables.read("a.csv")
    wide = table.pivot(index="task", columns="method", values="accuracy")
    assert np.allclose(np.sort(wide.mean()), np.sort(ACC.mean())) and len(wide) == 40


def test_files_that_nobody_can_turn_into_a_table_are_refused_alone():
    with open("a.doc", "w") as file:
        file.write("x")
    with pytest.raises(InputError, match=r"\.npz are allowed$"):
        report.tables.read("a.doc")
    with open("bad.parquet", "w") as file:
        file.write("no")
    with pytest.raises(InputError, match="bad.parquet cannot be read"):
        report.tables.read("bad.parquet")
    np.savez("r.npz", ours=np.full(9, 0.5))
    with pytest.raises(InputError, match="r.npz is not a recording .*; accuracies are read from the columns of a .csv"):
        report.tables.read("r.npz")


# ---------------------------------------------------------------- the command


def test_the_command_takes_every_answer(capsys):
    """One file that raises all questions, and the options that answer them."""
    counts = pd.DataFrame({"ours": np.arange(24) * 7 % 51, "base": np.arange(24) * 11 % 51})
    rows = pd.concat([counts.assign(seed=s, task=range(24), x_loss=12) + [s, 0, 0, 0, 0] for s in (0, 1)])
    rows.to_csv("q.csv", index=False, sep=";")
    assert app.main(["report", "q.csv"]) == 2
    assert re.search(r"\d problems: .*--methods ours base.*--out-of 100.*--seed run", capsys.readouterr().err)
    answers = ["--methods", "ours", "base", "--seed", "run", "--out-of", "75", "--separator", "semicolon"]
    assert app.main(["report", "q.csv", *answers, "--json", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert '"method": "ours"' in out and "out of 75, as told" in out and "q.html" in out


def test_the_answers_hold_for_the_page_too(folder):
    EASY.assign(x_loss=1.5).to_csv("e.csv", index=False, sep=";", decimal=",")
    assert app.main(["report", "e.csv", "--decimal", ",", "--drop", "x_loss", "--quiet"]) == 0
    assert "Commas are read as decimal points" in (folder / "e.html").read_text("utf-8")
