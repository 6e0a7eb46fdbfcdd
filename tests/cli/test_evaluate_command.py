"""`fslcore evaluate` on data that give less than was asked for, and on settings that ask too much."""

import io
import json
import os
import resource

import numpy as np
import pandas as pd
import pytest
from features import features_file
from refusal import says_in_one_line

from fslcore import evaluation, learners
from fslcore.cli import app
from fslcore.cli.evaluate import task_count
from fslcore.datasets.bank import Bank
from fslcore.evaluation import outcomes
from fslcore.stats import confidence_sequence
from fslcore.tasks import sample_closed


@pytest.fixture
def command(tmp_path):
    """The command on features of classes of given sizes, in shuffled order."""

    def of_sizes(*sizes):
        labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
        dataset = features_file(tmp_path, labels, apart=3.0)
        return f"evaluate {dataset} none -o {tmp_path}/t.csv --tasks 6".split()

    return of_sizes


def test_results_of_small_data_are_written_and_what_is_missing_is_named(command, tmp_path, capsys):
    """Six classes of 30 images hold one open task of 5 × 20, and any number of closed ones."""
    assert app.main(command(*[30] * 6)) == 0
    out, err = capsys.readouterr()
    assert says_in_one_line(err, "open", "1 task", "5 ways", "--samplings closed")
    table = pd.read_csv(tmp_path / "t.csv")
    for learner, rows in table.groupby("learner"):
        mean = f"{rows['accuracy'].mean():.2f} %"
        assert any(
            f"{learner} closed: 6 tasks" in line and mean in line for line in out.splitlines()
        )
    assert table.groupby(["learner", "sampling"]).size().to_dict() == {
        ("ncc", "closed"): 6,
        ("lr", "closed"): 6,
    }


def test_earlier_results_are_not_replaced_without_a_word(command, tmp_path, capsys):
    """The note comes before the work, names the file's time, and is silent with --quiet."""
    line = [*command(*[30] * 6), "--samplings", "closed", "--learners", "ncc"]
    assert app.main(line) == 0 and capsys.readouterr().err == ""
    os.utime(tmp_path / "t.csv", (0, 86_400 * 365))
    assert app.main([*line, "--seed", "1"]) == 0
    note = capsys.readouterr().err
    assert f"output = {tmp_path}/t.csv; the file of 1971-01-01" in note and note.count("\n") == 1
    assert app.main([*line, "--quiet"]) == 0 and capsys.readouterr().err == ""


def test_an_unknown_learner_is_told_how_one_s_own_is_named(command, capsys):
    for name in ("missing", "mylearner.py", "nccc"):
        assert app.main([*command(*[30] * 6), "--learners", name]) == 2
        line = capsys.readouterr().err
        assert says_in_one_line(line, "learner", name, "module:Class", "mylearner:MyLearner")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--samplings", "open"], "at least 2 tasks of 5 ways"),
        ("--samplings open closed --ways 7".split(), "the classes of the data, got 7"),
        (
            ["--shots", "20"],
            "images, got 30 (lower them, or skip small classes: --skip-small-classes)",
        ),
        (["--learners", "ncc", "fslbook.learners:LEO"], "learner = leo; it needs weights"),
        (
            ["--learners", "ncc", "fslcore.learners:NearestCentroid"],
            "learners must be different, got 'ncc'",
        ),
        (["--learners", "ncc", "fslbook.learners.dn4:DN4"], "features of dn4 must be"),
        (
            ["--intervals"],
            "tasks with --intervals (ncc) must be an integer >= 20, got 6",
        ),
        (
            "--intervals --tasks 30 --ft-tasks 6 --learners ncc ft".split(),
            "tasks with --intervals (ft) must be an integer >= 20, got 6",
        ),
        (
            ["--until", "1", "--samplings", "open"],
            "until must be with closed tasks, of one number for all",
        ),
        (
            ["--until", "1", "--ft-tasks", "5"],
            "until must be with closed tasks, of one number for all",
        ),
        (["--until", "0"], "until must be a number > 0"),
        (
            ["--balanced", "--samplings", "closed"],
            "--balanced: only with open tasks, and not with --apart",
        ),
        (
            ["--balanced", "--apart", "family"],
            "--balanced: only with open tasks, and not with --apart",
        ),
    ],
)
def test_what_can_fail_does_so_before_the_work(
    command, tmp_path, capsys, monkeypatch, options, message
):
    monkeypatch.setattr(evaluation, "cached_outcomes", None)  # would fail if it were called
    assert app.main([*command(*[30] * 6), *options]) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "t.csv").exists()


def test_a_disk_without_room(command, tmp_path, capsys):
    small = command(*[30] * 6)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        assert app.main(small) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "large" in capsys.readouterr().err.splitlines()[-1]
    assert os.listdir(tmp_path) == ["f.npz"]


@pytest.mark.parametrize(
    "options, words", [("--samplings open", "new images"), ("--ways 6", "± unknown\n")]
)
def test_intervals_of_open_tasks_and_of_all_classes(command, capsys, options, words):
    sizes = [*command(*[200] * 6)[:-2], *"--queries 3 --tasks 30 --intervals".split()]
    assert app.main([*sizes, *options.split()]) == 0
    assert words in capsys.readouterr().out


UNEVEN = [60, 60, 400, 60, 400, 300, 400, 400]


def test_open_tasks_of_unequal_classes_are_noted_and_can_be_balanced(command, tmp_path, capsys):
    """Each of eight classes has images for three open tasks of 5 × 20, and so for 24 of their places."""
    assert app.main([*command(*UNEVEN), "--learners", "ncc"]) == 0
    table = pd.read_csv(tmp_path / "t.csv")
    weight = 24 / 5 / (table["sampling"] == "open").sum()
    note = capsys.readouterr().err
    assert says_in_one_line(note, "open tasks", f"{weight:.2f} times", "--balanced", "in 4 tasks")
    assert app.main([*command(*UNEVEN), "--learners", "ncc", "--balanced"]) == 0
    assert "open tasks" not in capsys.readouterr().err
    balanced = pd.read_csv(tmp_path / "t.csv")
    assert balanced.groupby("sampling").size().to_dict() == {"closed": 6, "open": 4}
    closed = [
        frame.query("sampling == 'closed'")["accuracy"].tolist() for frame in (table, balanced)
    ]
    assert closed[0] == closed[1]


@pytest.mark.parametrize(
    "sizes, options, ending",
    [
        (
            [25, 25, 200, 200, 200, 200, 400, 100],
            [],
            "weight in their mean",
        ),  # equal weights leave one task
        ([60] * 6, [], ""),  # of equal size
        ([60, 60, 70, 60, 79, 100, 60, 60], [], ""),  # none is in many more
        ([60, 400, 60, 60, 60, 60], [], ""),  # the large one needs four others
        (UNEVEN, ["--max-open", "3"], ""),  # before the small classes are used up
        (UNEVEN, ["--samplings", "closed"], ""),
        (UNEVEN, ["--quiet"], ""),
    ],
)
def test_when_unequal_weights_are_noted(command, capsys, sizes, options, ending):
    assert app.main([*command(*sizes), "--learners", "ncc", *options]) == 0
    err = capsys.readouterr().err.strip()
    assert err.endswith(ending) if ending else not err


def test_small_classes_are_skipped_by_an_option(command, tmp_path, capsys):
    small = command(60, 60, 7, 60, 60, 60, 60)
    assert app.main(small) == 2
    assert "class 2 must have shots + queries = 20 images, got 7" in capsys.readouterr().err
    assert app.main([*small, "--skip-small-classes", "--intervals", "--tasks", "20"]) == 0
    out, err = capsys.readouterr()
    assert says_in_one_line(err, "1 of 7 classes", "small", ": 2") and "new images" in out
    assert set(pd.read_csv(tmp_path / "t.csv")["sampling"]) == {"closed", "open"}
    assert (
        app.main([*small, "--skip-small-classes", "--queries", "58"]) == 2
    )  # in the words of images, none of groups
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert says_in_one_line(refusal, "ways must be at most 0", "63 images", "got 5")
    source = evaluation.load_images_or_features(small[1])
    assert evaluation.excluded_classes(source, ways=5, shots=5, queries=58) == list("0123456")


@pytest.mark.parametrize(
    "options, counts", [([], [6, None]), (["--ft-tasks", "3", "--ft-open", "2"], [3, 2])]
)
def test_fine_tuning_has_its_own_number_of_tasks(command, options, counts):
    parsed = app._program().parser.parse_args([*command(*[60] * 6), *options])
    assert [task_count(parsed, "ft", sampling) for sampling in ("closed", "open")] == counts
    assert [task_count(parsed, "lr", sampling) for sampling in ("closed", "open")] == [6, None]


def test_the_bar_counts_tasks(monkeypatch):
    """600 tasks in chunks of 256 are 600, not 768; and none is shown where none is wanted."""
    import torch

    bars = io.StringIO()
    real = outcomes.tqdm
    monkeypatch.setattr(
        outcomes, "tqdm", lambda **k: real(**{**k, "delay": 0, "file": bars, "mininterval": 0})
    )
    rng, labels = np.random.default_rng(0), np.arange(6).repeat(30)
    bank = Bank(torch.from_numpy(rng.normal(size=(180, 4)).astype(np.float32)), labels, "")
    tasks = sample_closed(labels, tasks=600)
    evaluation.evaluate(learners.NearestCentroid(), bank, tasks, progress=True)
    assert "600/600" in bars.getvalue() and "768/" not in bars.getvalue()
    bars.truncate(0)
    evaluation.evaluate(learners.NearestCentroid(), bank, tasks)
    assert not bars.getvalue().strip("\0")


def test_drawing_stops_once_the_interval_is_narrow(command, tmp_path, capsys):
    """The same first tasks, whatever the most is; both learners the same number; what is printed is what is written."""

    def half_width(accuracies):
        return confidence_sequence(accuracies, bounds=(0, 100)).half_width

    tables, closed = [], [*command(*[60] * 6)[:-2], "--samplings", "closed"]
    for most in ("2000", "1500"):
        assert app.main([*closed, "--until", "1.5", "--tasks", most, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)["until"]
        tables.append(pd.read_csv(tmp_path / "t.csv"))
        accuracies = {
            learner: rows["accuracy"].to_numpy() for learner, rows in tables[-1].groupby("learner")
        }
        (count,) = {len(values) for values in accuracies.values()}
        assert count % 100 == 0 and 100 < count < 1500
        for learner, values in accuracies.items():
            interval = confidence_sequence(values, bounds=(0, 100))
            assert (
                record[learner]["low"] == pytest.approx(interval.low) and interval.half_width <= 1.5
            )
        assert (
            max(half_width(values[:-100]) for values in accuracies.values()) > 1.5
        )  # one look earlier
    pd.testing.assert_frame_equal(*tables)
    assert app.main([*closed, "--tasks", str(count)]) == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "t.csv"), tables[0]
    )  # those of a fixed number
    capsys.readouterr()
    assert app.main([*closed, *"--until 0.01 --tasks 150 --learners ncc".split()]) == 0
    assert (
        len(pd.read_csv(tmp_path / "t.csv")) == 150
        and "% whenever one stops" in capsys.readouterr().out
    )


def test_it_is_printed_whether_answers_depend_on_neighbours(command, monkeypatch, capsys):
    class Leaning(learners.NearestCentroid):  # a user's own, in the place of NCC
        def config(self):
            return {"learner": "leaning"}

        def scores(self, bank, tasks):
            scores = super().scores(bank, tasks)
            return scores - scores.mean(dim=1, keepdim=True)

    closed = [*command(*[30] * 6), "--samplings", "closed", "--learners", "ncc"]
    assert app.main(closed) == 0
    line = next(row for row in capsys.readouterr().out.splitlines() if row.startswith("ncc: "))
    assert says_in_one_line(line, "answers do not depend", "10 asked")
    monkeypatch.setattr(learners, "NearestCentroid", Leaning)
    assert app.main(closed) == 0
    assert "ncc: answers DEPEND" in capsys.readouterr().out
    assert app.main([*closed, "--json"]) == 0
    transductivity = json.loads(capsys.readouterr().out)["transductivity"]["ncc"]
    assert transductivity["depends"] and transductivity["moved"]["alone"] > 0.05
