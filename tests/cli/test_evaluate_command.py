"""`fslcore evaluate` on data that give less than was asked for, and on settings that ask too much."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from fslcore import evaluation, learners
from fslcore.cli import app
from fslcore.cli.evaluate import task_count
from fslcore.datasets.bank import Bank
from fslcore.evaluation import records
from fslcore.stats import anytime_interval
from fslcore.tasks import sample_closed


@pytest.fixture
def command(tmp_path):
    """The command on features of classes of given sizes, in shuffled order."""

    def of(*sizes):
        rng = np.random.default_rng(0)
        labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        np.savez(tmp_path / "f.npz", features=rng.normal(size=(len(labels), 8)) + 3 * np.eye(8)[labels], labels=labels)
        return ["evaluate", f"features:{tmp_path}/f.npz", "none", "-o", str(tmp_path / "t.csv"), "--tasks", "6"]

    return of


def test_what_small_data_give_is_written_and_the_rest_named(command, tmp_path, capsys):
    """Six classes of 30 images hold one open task of 5 × 20, and any number of closed ones."""
    assert app.main(command(*[30] * 6)) == 0
    told = capsys.readouterr().err.strip()
    assert told.startswith("fslcore: no open tasks: the data hold 1 task of 5 ways") and "\n" not in told
    assert "--samplings closed" in told
    table = pd.read_csv(tmp_path / "t.csv")
    assert table.groupby(["learner", "sampling"]).size().to_dict() == {("ncc", "closed"): 6, ("lr", "closed"): 6}


@pytest.mark.parametrize(
    "given, message",
    [
        (["--samplings", "open"], "the data hold 1 task of 5 ways"),
        (["--samplings", "open", "closed", "--ways", "7"], "ways = 7; the data have 6 classes"),
        (["--shots", "20"], "class 0 has 30 images (lower them, or skip small classes: --skip-small-classes)"),
        (["--learners", "ncc", "lr", "ncc"], "learners = ncc lr ncc; ncc is allowed once"),
        (["--samplings", "open", "open"], "samplings = open open; open is allowed once"),
        (["--samplings", "opened"], "sampling = opened; closed, open are allowed (did you mean open?)"),
        (["--learners", "ncc", "svm"], "learner = svm"),
        (["--learners", "ncc", "leo"], "learner = leo; it needs weights"),
        (["--learners", "ncc", "dn4"], "learner = dn4; features of length 8"),
        (["--intervals"], "tasks with --intervals (ncc) = 6; a whole number of at least 20 is allowed"),
        (["--until", "1", "--samplings", "open"], "until = 1; closed tasks, of one number for all"),
        (["--until", "1", "--ft-tasks", "5"], "until = 1; closed tasks, of one number for all"),
        (["--until", "0"], "until = 0"),
        (["--until", "narrow"], "until = narrow"),
        (["--ft-tasks", "0"], "0"),
        (["--ft-tasks", "-1"], "-1"),
        (["--ft-open", "1"], "1"),
    ],
)
def test_what_can_fail_does_so_before_the_work(command, tmp_path, capsys, monkeypatch, given, message):
    monkeypatch.setattr(evaluation, "record", None)  # would fail if it were called
    try:
        code = app.main([*command(*[30] * 6), *given])
    except SystemExit as error:  # the parser's own
        code = error.code
    assert code == 2 and message in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "t.csv").exists()


UNEVEN = [60, 60, 400, 60, 400, 300, 400, 400]


def test_open_tasks_of_unequal_classes_are_noted_and_can_be_balanced(command, tmp_path, capsys):
    """Each of eight classes has images for three open tasks of 5 × 20, and so for 24 of their places."""
    assert app.main([*command(*UNEVEN), "--learners", "ncc"]) == 0
    table = pd.read_csv(tmp_path / "t.csv")
    weight = 24 / 5 / (table["sampling"] == "open").sum()
    assert capsys.readouterr().err.strip() == (
        f"fslcore: open tasks: larger classes are in more of them; the smallest has {weight:.2f} times the average "
        "weight in their mean (--balanced gives all classes the same weight, in 4 tasks)"
    )
    assert app.main([*command(*UNEVEN), "--learners", "ncc", "--balanced"]) == 0
    assert capsys.readouterr().err == ""
    balanced = pd.read_csv(tmp_path / "t.csv")
    assert balanced.groupby("sampling").size().to_dict() == {"closed": 6, "open": 4}
    closed = [of.loc[of["sampling"] == "closed", "accuracy"].tolist() for of in (table, balanced)]
    assert closed[0] == closed[1]


@pytest.mark.parametrize(
    "sizes, given, ending",
    [
        ([25, 25, 200, 200, 200, 200, 400, 100], [], "weight in their mean"),  # equal weights leave one task
        ([60] * 6, [], ""),  # of equal size
        ([60, 60, 70, 60, 79, 100, 60, 60], [], ""),  # none is in many more
        ([60, 400, 60, 60, 60, 60], [], ""),  # the large one needs four others
        (UNEVEN, ["--max-open", "3"], ""),  # before the small classes are used up
        (UNEVEN, ["--samplings", "closed"], ""),
        (UNEVEN, ["--quiet"], ""),
    ],
)
def test_when_unequal_weights_are_noted(command, capsys, sizes, given, ending):
    assert app.main([*command(*sizes), "--learners", "ncc", *given]) == 0
    err = capsys.readouterr().err.strip()
    assert err.endswith(ending) if ending else not err


@pytest.mark.parametrize("given", [["--samplings", "closed"], ["--apart", "family"]])
def test_balanced_is_refused_where_it_means_nothing(command, tmp_path, capsys, given):
    assert app.main([*command(*UNEVEN), "--balanced", *given]) == 2
    assert "--balanced: only with open tasks, and not with --apart" in capsys.readouterr().err
    assert not (tmp_path / "t.csv").exists()


def test_small_classes_are_skipped_by_an_option(command, tmp_path, capsys):
    small = command(60, 60, 7, 60, 60, 60, 60)
    assert app.main(small) == 2
    assert "class 2 has 7 images" in capsys.readouterr().err
    assert app.main([*small, "--skip-small-classes", "--intervals", "--tasks", "20"]) == 0
    told = capsys.readouterr()
    assert told.err.strip() == "fslcore: 1 of 7 classes are left out as small: 2" and "new images" in told.out
    assert set(pd.read_csv(tmp_path / "t.csv")["sampling"]) == {"closed", "open"}
    assert app.main([*small, "--skip-small-classes", "--queries", "58"]) == 2  # in the words of images, none of groups
    assert capsys.readouterr().err == "fslcore: ways = 5; 0 classes have shots + queries = 63 images or more\n"
    source = evaluation.load_source(small[1])
    assert evaluation.left_out(source, ways=5, shots=5, queries=58) == list("0123456")


def test_fine_tuning_has_its_own_number_of_tasks(command, monkeypatch):
    given = command(*[60] * 6)
    options = app._program().parser.parse_args([*given, "--ft-tasks", "3", "--ft-open", "2"])
    assert [task_count(options, "ft", s) for s in ("closed", "open")] == [3, 2]
    assert [task_count(options, "lr", s) for s in ("closed", "open")] == [6, None]
    options = app._program().parser.parse_args(given)
    assert [task_count(options, "ft", s) for s in ("closed", "open")] == [6, None]


def test_the_bar_counts_tasks(monkeypatch):
    """600 tasks in chunks of 256 are 600, not 768; and none is shown where none is wanted."""
    import torch

    shown = io.StringIO()
    real = records.tqdm
    monkeypatch.setattr(records, "tqdm", lambda **k: real(**{**k, "delay": 0, "file": shown, "mininterval": 0}))
    rng, labels = np.random.default_rng(0), np.arange(6).repeat(30)
    bank = Bank(torch.from_numpy(rng.normal(size=(180, 4)).astype(np.float32)), labels, "")
    tasks = sample_closed(labels, tasks=600)
    evaluation.evaluate(learners.NearestCentroid(), bank, tasks, progress=True)
    assert "600/600" in shown.getvalue() and "768/" not in shown.getvalue()
    shown.truncate(0)
    evaluation.evaluate(learners.NearestCentroid(), bank, tasks)
    assert not shown.getvalue().strip("\0")


def test_drawing_stops_once_the_interval_is_narrow(command, tmp_path, capsys):
    """The same first tasks, whatever the most is; both learners the same number; what is said is what is written."""
    asked, written = command(*[60] * 6)[:-2], []
    for most in ("2000", "1500"):
        assert app.main([*asked, "--samplings", "closed", "--until", "1.5", "--tasks", most, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        table = pd.read_csv(tmp_path / "t.csv")
        counts = table.groupby("learner").size()
        assert counts.nunique() == 1 and counts.iloc[0] % 100 == 0 and 100 < counts.iloc[0] < 1500
        for learner, own in table.groupby("learner"):
            ends = [anytime_interval(own["accuracy"][:n], bounds=(0, 100)) for n in (len(own) - 100, len(own))]
            assert told["until"][learner]["low"] == pytest.approx(ends[1].low) and ends[1].half_width <= 1.5
        widths = [
            anytime_interval(o["accuracy"][:-100], bounds=(0, 100)).half_width for _, o in table.groupby("learner")
        ]
        assert max(widths) > 1.5  # one look earlier it was not yet narrow
        written.append(table)
    pd.testing.assert_frame_equal(*written)
    assert app.main([*asked, "--samplings", "closed", "--tasks", str(counts.iloc[0])]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), table)  # those of a fixed number
    capsys.readouterr()
    assert app.main([*asked, "--until", "0.01", "--tasks", "150", "--learners", "ncc"]) == 0
    assert len(pd.read_csv(tmp_path / "t.csv").query("sampling == 'closed'")) == 150
    assert "% whenever one stops" in capsys.readouterr().out


def test_it_is_said_whether_answers_depend_on_neighbours(command, monkeypatch, capsys):
    assert app.main([*command(*[30] * 6), "--samplings", "closed"]) == 0
    said = capsys.readouterr().out
    assert all(f"{name}: answers do not depend on the other queries" in said for name in ("ncc", "lr"))

    class Leaning(learners.NearestCentroid):  # a user's own, in the place of NCC
        def config(self):
            return {"learner": "leaning"}

        def scores(self, bank, tasks):
            found = super().scores(bank, tasks)
            return found - found.mean(dim=1, keepdim=True)

    monkeypatch.setitem(learners.of_features, "ncc", Leaning)
    assert app.main([*command(*[30] * 6), "--samplings", "closed", "--learners", "ncc"]) == 0
    assert "ncc: answers DEPEND on the other queries of a task" in capsys.readouterr().out
    assert app.main([*command(*[30] * 6), "--samplings", "closed", "--learners", "ncc", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["neighbours"]["ncc"]
    assert told["depends"] and told["moved"]["alone"] > 0.05
