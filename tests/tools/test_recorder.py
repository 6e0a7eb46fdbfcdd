"""Recording an evaluation loop."""

import errno
import os
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from recording import LABELS, played
from refusal import refuses, says_in_one_line, warned
from running import run_code

import fslcore
from fslcore import recorder
from fslcore.errors import InputError
from fslcore.evaluation import Outcomes
from fslcore.paths import locked
from fslcore.tasks import sample_closed

GOOD = dict(
    support=[0, 20], query=[1, 21], labels=[0, 1], predictions=[0, 1], support_labels=[0, 1]
)


def recorded(path, *predictions, method="A"):
    """A file with a task for each pair of predictions."""
    with fslcore.record(path, method) as record:
        for pair in predictions or ([0, 1],):
            record.task(**GOOD | dict(predictions=pair))
    return path


@pytest.fixture(scope="module")
def closed():
    return sample_closed(LABELS, tasks=30, ways=5, shots=2, queries=4)


def record_tensors(path, tasks, right):
    """The same tasks as `played`, in tensors, with labels within a task."""
    with fslcore.record(path, "A") as record:
        for support, query, correct in zip(tasks.support, tasks.query, right):
            names, labels = np.unique(LABELS[query], return_inverse=True)
            predictions = [
                torch.tensor([label]) for label in np.where(correct, labels, (labels + 1) % 5)
            ]
            support_labels = torch.from_numpy(np.searchsorted(names, LABELS[support])).float()
            images = torch.from_numpy(support), torch.from_numpy(query)
            record.task(
                *images, torch.from_numpy(labels), predictions, support_labels, classes=names
            )


def test_names_numbers_and_tensors_are_the_same(tmp_path, closed):
    right = played(tmp_path / "a.jsonl", closed)
    played(tmp_path / "b.jsonl", closed, name=str)
    record_tensors(tmp_path / "c.jsonl", closed, right)
    numbers, *others = (recorder.load(tmp_path / f"{name}.jsonl") for name in "abc")
    query = numbers.images[numbers.query["A"]].astype(int)
    for task in range(len(closed)):
        correct = dict(zip(closed.query[task], right[task]))
        assert numbers.correct["A"][task].tolist() == [correct[image] for image in query[task]]
    for recording in others:
        assert (numbers.images == recording.images).all() and (
            numbers.classes == recording.classes
        ).all()
        for part in ("support", "query", "correct"):
            assert (getattr(numbers, part)["A"] == getattr(recording, part)["A"]).all()


LOOP = """
import itertools, sys
import fslcore
with fslcore.record(sys.argv[1], "ours", dataset="birds") as r:
    for t in itertools.count():
        a, b, c, d = (f"{k}{t % 9}.jpg" for k in range(4))
        r.task([a, b], [c, d], ["cat", "dog"], ["cat", "cat"], ["cat", "dog"])
        print(t + 1, flush=True)
"""


def test_a_loop_that_is_killed_loses_at_most_the_task_in_hand(tmp_path):
    path, part = tmp_path / "r.jsonl", tmp_path / "r.part.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", LOOP, path], stdout=subprocess.PIPE, text=True
    ) as process:
        done = next(int(line) for line in process.stdout if int(line) >= 53)
        process.kill()
        done += len(process.stdout.read().split())
    recording = recorder.load(part)
    assert (
        len(recording.correct["ours"]) in (done, done + 1)
        and recording.unfinished == ("ours",)
        and not path.exists()
    )
    assert (recording.correct["ours"] == [True, False]).all() and recording.facts == {
        "dataset": "birds"
    }
    assert recording.support["ours"].shape[1] == 2 and len(recording.images) == 36
    recorded(path, method="ours")
    assert sorted(os.listdir(tmp_path)) == ["r.jsonl", "r.part-1.jsonl"]
    assert not recorder.load(path).unfinished
    kept = recorder.load(tmp_path / "r.part-1.jsonl")
    assert len(kept.correct["ours"]) == len(recording.correct["ours"])


def test_a_stopped_loop_that_is_run_again_keeps_its_first_tasks(tmp_path, recwarn):
    """Each under a name of its own, said once; a part without tasks is no loss."""
    path, part = tmp_path / "r.jsonl", tmp_path / "r.part.jsonl"
    for tasks in (0, 3, 2):
        with suppress(KeyboardInterrupt), fslcore.record(path, "A") as record:
            for _ in range(tasks):
                record.task(**GOOD)
            raise KeyboardInterrupt
    first = tmp_path / "r.part-1.jsonl"
    kept = [line for line in warned(recwarn).splitlines() if str(first) in line]
    assert len(kept) == 1 and str(part) in kept[0]
    recorded(path)
    second = tmp_path / "r.part-2.jsonl"
    assert sorted(tmp_path.iterdir()) == [path, first, second]
    assert str(second) in warned(recwarn)
    assert [len(recorder.load(file).correct["A"]) for file in (first, second)] == [3, 2]


def test_a_finished_recording_is_not_replaced_without_a_word(tmp_path, recwarn):
    path = recorded(tmp_path / "r.jsonl")
    assert warned(recwarn) == ""
    recorded(path)
    assert re.fullmatch(
        rf"record = {re.escape(str(path))}; the file of [\d: -]{{16}} there will be "
        r"replaced when this is done\n",
        warned(recwarn),
    )


def test_a_file_that_is_cut_off_anywhere_holds_whole_lines(tmp_path, recwarn):
    path, cut = recorded(tmp_path / "r.jsonl", [0, 1], [1, 1], [0, 0]), tmp_path / "cut.jsonl"
    content = path.read_bytes()
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    for size in range(len(content)):
        cut.write_bytes(content[:size])
        tasks = sum(size >= end for end in ends[1:4])
        if not tasks:
            with refuses(r"is not a recording|no task after it"):
                recorder.load(cut)
            continue
        recording = recorder.load(cut)
        assert (
            recording.correct["A"].tolist() == [[True, True], [False, True], [True, False]][:tasks]
        )
        assert recording.unfinished == (() if size >= ends[4] else ("A",))
    (line,) = set(warned(recwarn).splitlines())
    assert says_in_one_line(line, "last line", cut, "left out")


def test_what_is_finished_stays_until_the_next_is(tmp_path, recwarn):
    path, part = recorded(tmp_path / "r.jsonl"), tmp_path / "r.part.jsonl"
    warnings.simplefilter("always")  # `recwarn` restores it
    for _ in range(2):  # the second begins anew
        with pytest.raises(ZeroDivisionError), fslcore.record(path, "A") as record:
            record.task(**GOOD)
            record.task(**GOOD)
            raise ZeroDivisionError
        last_line = warned(recwarn).splitlines()[-1]
        assert says_in_one_line(last_line, part, "2 tasks of A", "not finished")
        assert len(recorder.load(path).correct["A"]) == 1 and recorder.load(part).unfinished == (
            "A",
        )
        with refuses("method A once, got it in .*r.jsonl and in .*r.part.jsonl"):
            recorder.load([path, part])
    recorded(path, [0, 0], [0, 1], [1, 0])
    assert len(recorder.load(path).correct["A"]) == 3 and not part.exists()


def test_two_processes_do_not_write_into_one_file(tmp_path):
    path = tmp_path / "r.jsonl"
    first = fslcore.record(path, "A")
    first.task(**GOOD)
    second = fslcore.record(path, "A")
    with refuses("r.part.jsonl", "one file per method and process"):
        first.task(**GOOD)
    child = os.fork()
    if not child:  # as a worker of a loader is
        try:
            second.task(**GOOD)
        except InputError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    second.task(**GOOD)
    second.save()
    assert len(recorder.load(path).correct["A"]) == 1
    with refuses("one file per method and process, got .*r.part.jsonl"):
        second.task(**GOOD)


FULL = """
import resource, sys
import fslcore
with fslcore.record(sys.argv[1], "A") as r:
    for t in range(40):
        if t == 30:
            resource.setrlimit(resource.RLIMIT_FSIZE, (r.part.stat().st_size + 20, resource.RLIM_INFINITY))
        r.task([0, 20], [1, f"{t} new"], [0, 1], [0, t % 2], [0, 1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit to the size of files")
def test_where_the_disk_is_full_the_tasks_before_are_kept(tmp_path, recwarn):
    path, part = tmp_path / "r.jsonl", tmp_path / "r.part.jsonl"
    done = run_code(FULL, path)
    assert "30 tasks of A" in done.stderr and "OSError" in done.stderr.splitlines()[-1]
    recording = recorder.load(part)
    assert recording.correct["A"][:, 1].tolist() == [False, True] * 15 and recording.unfinished == (
        "A",
    )
    assert f"last line of {part}" in warned(recwarn) and not path.exists()


def test_tasks_of_any_size_and_names_of_any_letters(tmp_path):
    names = ["", "a b", "caf\udce9", "图 {}\n", '"', "\u2028"]
    with fslcore.record(
        tmp_path / "r.jsonl", " m: ü", dataset=Path("/data/birds"), seed=np.int64(3)
    ) as record:
        record.task([], names[:1], ["x"], ["x"], [])
        record.task(names[1:3], names[3:], ["y", "y", "x"], ["y", None, "y"], ["x", "x"])
    recording = recorder.load(tmp_path / "r.jsonl")
    assert recording.methods == ["m: ü"] and recording.facts == {
        "dataset": "/data/birds",
        "seed": 3,
    }
    tasks = [([], [("", True)]), (names[1:3], sorted(zip(names[3:], [True, False, False])))]
    for number, (support, query) in enumerate(tasks):
        of_support, of_query = (
            part["m: ü"][number] for part in (recording.support, recording.query)
        )
        correct = recording.correct["m: ü"][number][of_query >= 0]
        assert sorted(recording.images[of_support[of_support >= 0]]) == sorted(support)
        assert sorted(zip(recording.images[of_query[of_query >= 0]], correct)) == query
    assert dict(zip(recording.images, recording.classes))["caf\udce9"] == "x"


@pytest.mark.parametrize(
    "changed, words",
    [
        (
            dict(labels=[0]),
            "task 1: labels, .*got 1, 2 and 2 for 2 queries and 2 support images",
        ),
        (dict(query=[], labels=[], predictions=[]), "0 queries"),
        (dict(query=[0, 21]), "task 1: images .*got '0' twice"),
        (
            dict(labels=[1, 0]),
            "is of class 1, and was of 0 in an earlier task; labels are classes of the data set",
        ),
        (dict(classes=["x"]), "task 1: labels .* 0 to 0, got 1"),
        # What could never be right would make an accuracy of 0, and nothing else would say so.
        (
            dict(predictions=torch.eye(2)),
            r"predictions .*argmax of scores, got \[1.0, 0.0\]",
        ),
        (
            dict(predictions=["0", "1"]),
            "task 1: predictions .*labels, got '1' for 1",
        ),
        (
            dict(labels=[0, None], predictions=[0, None]),
            "task 1: labels .*class of each image, got None",
        ),
        (
            dict(support=[torch.zeros(4, 4), torch.ones(4, 4)]),
            "images .*names or numbers, not pixels",
        ),
    ],
)
def test_of_a_task_that_is_refused_nothing_is_kept(tmp_path, changed, words):
    record = fslcore.record(tmp_path / "r.jsonl", "A")
    record.task(**GOOD)
    before = record.part.read_bytes()
    with refuses(words) as error:
        record.task(**GOOD | changed)
    assert str(error.value).startswith("task 1: ")
    assert len(record) == 1 and record.part.read_bytes() == before
    record.task([40], [41], [2], [2], [2])
    assert len(recorder.load(record.save()).images) == 6


def test_predictions_of_other_classes_are_told_when_they_are_most(tmp_path, recwarn):
    task = GOOD | dict(labels=[6, 8], support_labels=[6, 8])
    for name, predictions in (
        ("local", [0, 1]),
        ("wrong", [8, 6]),
        ("none", [None, None]),
        ("some", [7, 8]),
    ):
        with fslcore.record(tmp_path / f"{name}.jsonl", name) as record:
            record.task(**task | dict(predictions=predictions))
        expected = "record: 100% of the predictions of local are not a class of their task"
        assert warned(recwarn).startswith(expected) == (name == "local")


def test_bad_files_are_named_before_the_work(tmp_path):
    (tmp_path / "other.jsonl").write_text('{"accuracy": 0.5}\n')
    recorded(tmp_path / "b.jsonl", method="B")
    path = tmp_path / "r.jsonl"
    for path, method, facts, words in (
        (tmp_path / "r.npz", "A", {}, "a name ending in .jsonl, got"),
        (tmp_path / "other.jsonl", "A", {}, "is not a recording"),
        (tmp_path / "b.jsonl", "A", {}, "one file per method.*got a recording of B"),
        (None, "A", {}, "record .*name of a file, got None"),
        (path, " ", {}, "method .*name, got ' '"),
        (path, "A", {"seed": 2**64}, "seed must be an integer from 0"),
        (path, "A", {"transductive": "yes"}, "transductive must be True or False, got 'yes'"),
    ):
        with refuses(words):
            fslcore.record(path, method, **facts)
    for _ in range(2):  # the second finds a header alone
        with (
            refuses("no task of A"),
            fslcore.record(tmp_path / "r.jsonl", "A") as record,
        ):
            pass
    record.part.write_bytes(record.part.read_bytes()[:40])
    recorded(tmp_path / "r.jsonl")


HEADER = '{"format":"fslcore recording 1","method":"A"}'
IMAGES = '{"images":{"a":{"class":"x"},"b":{"class":"y"}}}'


@pytest.mark.parametrize(
    "line, words",
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"query":[1],"correct":[1]}', "KeyError: 'support'"),
        ('{"support":[0],"query":[2],"correct":[1]}', "numbers from 0 to 1, each once"),
        ('{"support":[0],"query":[0],"correct":[1]}', "each once in a task"),
        ('{"support":[0],"query":[1.0],"correct":[1]}', "numbers from 0 to 1, each once"),
        ('{"support":[0],"query":[1],"correct":[1,1]}', "correct .* each of 1 queries, got 2"),
        ('{"support":[0],"query":[1],"correct":[2]}', "0 or 1 for each"),
        ('{"support":[0,1],"query":[],"correct":[]}', "correct .* each of 0 queries, got 0"),
        (
            '{"images":{"a":{"class":"y"}}}',
            "image a must have one class, as text, got {'class': 'y'}",
        ),
        ('{"images":{"c":{"class":3}}}', "image c must have one class, as text, got {'class': 3}"),
        ('{"tasks":3}', "3 tasks, but 0 lines"),
        (HEADER.replace("1", "9"), "format .*'fslcore recording 1', got 'fslcore recording 9'"),
    ],
)
def test_a_line_that_is_none_of_a_recording_is_named(tmp_path, line, words):
    (tmp_path / "r.jsonl").write_text(f"{HEADER}\n{IMAGES}\n{line}\n")
    with refuses(words) as error:
        recorder.load(tmp_path / "r.jsonl")
    assert f"record: line 3 of {tmp_path / 'r.jsonl'} is " in str(error.value)
    assert len(str(error.value)) < 500


def test_several_files_are_one_recording_of_the_same_images(tmp_path, closed):
    authors = {
        f"{i:03}": {"class": f"c{LABELS[i]}", "groups": f"author {i // 2}"} for i in range(160)
    }
    without = {name: {"class": facts["class"]} for name, facts in authors.items()}
    results = Outcomes(
        np.random.default_rng(0).random(closed.query.shape) < 0.7, closed.query_label
    )
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    recorder.save(
        a, authors, {"A": (closed, results, False), "D": (closed, results, True)}, {"seed": 0}
    )
    recorder.save(b, without, {"B": (closed[::-1], results, False)}, {"seed": 0})
    recording = recorder.load([a, b])
    assert recording.methods == ["A", "D", "B"] and recording.transductive == {
        "A": False,
        "D": True,
        "B": False,
    }
    assert (
        recording.images.tolist() == [*authors]
        and recording.facts == {"seed": 0}
        and not recording.unfinished
    )
    assert recording.groups["groups"].tolist() == [facts["groups"] for facts in authors.values()]
    assert (recording.support["B"] == np.sort(closed.support[::-1], axis=1)).all()
    order = np.argsort(closed.query, axis=1)
    assert (recording.correct["D"] == np.take_along_axis(results.correct, order, axis=1)).all()
    played(tmp_path / "c.jsonl", closed, "C", name="other {}".format)
    with refuses("record", "groups", "all or none", "got 160 of"):
        recorder.load([a, tmp_path / "c.jsonl"])
    for images, facts, words in (
        (
            authors | {"000": {"class": "c0", "groups": "me"}},
            {},
            "groups of image 000 .*same.*, got 'me' in .* and 'author 0' elsewhere",
        ),
        (
            without | {"000": {"class": "c5"}},
            {},
            "class of image 000 .*same.*, got 'c5' in .* and 'c0' elsewhere",
        ),
        (
            without,
            {"dataset": "cars", "seed": 1},
            "seed .*same.*, got 1 in .*b.jsonl and 0 elsewhere",
        ),
    ):
        recorder.save(b, images, {"B": (closed, results, False)}, facts)
        with refuses(f"^record: {words}"):
            recorder.load([a, b])


def test_links_and_the_home_folder_are_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    recorded("~/new/r.jsonl")
    Path("link.jsonl").symlink_to("home/new/r.jsonl")
    recorded("link.jsonl", [0, 1], [0, 1])
    assert (
        Path("link.jsonl").is_symlink() and len(recorder.load("home/new/r.jsonl").correct["A"]) == 2
    )
    assert [p.relative_to(tmp_path) for p in tmp_path.rglob("*.*")] == [
        Path("link.jsonl"),
        Path("home/new/r.jsonl"),
    ]


def test_the_lock_of_windows_is_waited_for_too(tmp_path, monkeypatch):
    calls = []

    def locking(file, mode, size):
        calls.append((mode, size))
        if len(calls) < 3:
            raise OSError(errno.EDEADLOCK, "after ten seconds")

    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_LOCK=1, locking=locking))
    with locked(tmp_path / "r.jsonl"):
        assert [p.name for p in tmp_path.iterdir()] == [".r.jsonl.lock"]
    assert calls == [(1, 1)] * 3 and not list(tmp_path.iterdir())


def test_without_locks_and_with_another_who_removed_it_the_file_is_written(tmp_path, monkeypatch):
    taken = []

    def flock(*_):
        taken.append(None)
        if len(taken) == 1:
            (tmp_path / ".r.jsonl.lock").unlink()
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(OSError, match="of its own"), locked(tmp_path / "r.jsonl"):
        raise OSError("of its own")
    assert len(taken) == 2 and not list(tmp_path.iterdir())
