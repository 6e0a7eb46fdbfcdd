"""Recording an evaluation loop."""

import errno
import multiprocessing
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fslcore
from fslcore import datasets, recorder
from fslcore.errors import InputError
from fslcore.evaluation import Record, draw
from fslcore.paths import locked
from fslcore.tasks import sample_closed

LABELS = np.arange(8).repeat(20)


def played(path, tasks, method="A", share=0.7, seed=0, order=None, name=lambda i: int(i), **facts):
    """A loop that guesses; whether each query is right, as it is known besides."""
    rng = np.random.default_rng(seed)
    right = rng.random(tasks.query.shape) < share
    with fslcore.record(path, method, **facts) as r:
        for t in range(len(tasks)) if order is None else order:
            s, q = tasks.support[t], tasks.query[t]
            said = np.where(right[t], LABELS[q], (LABELS[q] + 1) % 8)
            r.task([name(i) for i in s], [name(i) for i in q], LABELS[q], said, LABELS[s])
    return right


@pytest.fixture(scope="module")
def closed():
    return sample_closed(LABELS, tasks=300, ways=5, shots=2, queries=4)


def test_names_numbers_and_tensors_are_the_same(tmp_path, closed):
    played(tmp_path / "a.npz", closed[:30])
    played(tmp_path / "b.npz", closed[:30], name=str)
    with fslcore.record(tmp_path / "c.npz", "A") as r:
        rng = np.random.default_rng(0)
        right = rng.random(closed.query.shape)[:30] < 0.7
        for s, q, ok in zip(closed.support[:30], closed.query[:30], right):
            said = torch.from_numpy(np.where(ok, LABELS[q], (LABELS[q] + 1) % 8))
            names, inside = np.unique(LABELS[q], return_inverse=True)
            local = torch.tensor([list(names).index(c) if c in names else -1 for c in said.tolist()])
            support = torch.tensor([list(names).index(c) for c in LABELS[s]])
            r.task(torch.from_numpy(s), torch.from_numpy(q), torch.from_numpy(inside), local, support, classes=names)
    a, b, c = (recorder.load(tmp_path / f"{name}.npz") for name in "abc")
    for other in (b, c):
        assert (a.images == other.images).all() and (a.classes == other.classes).all()
        for part in ("support", "query", "correct"):
            assert (getattr(a, part)["A"] == getattr(other, part)["A"]).all()


def test_a_method_is_replaced_and_others_stay(tmp_path, closed):
    path = tmp_path / "r.npz"
    played(path, closed[:30])
    kept = played(path, closed[:40], "B", 0.8, 1)
    again = played(path, closed[:50], "A", 0.9, 3)
    found = recorder.load(path)
    assert found.methods == ["A", "B"]
    assert found.correct["A"].mean() == again.mean() and found.correct["B"].mean() == kept.mean()


def test_an_error_in_the_loop_keeps_its_tasks_as_not_finished(tmp_path, closed, capsys):
    path = tmp_path / "r.npz"
    played(path, closed[:30])
    before = recorder.load(path)
    with pytest.raises(ZeroDivisionError), fslcore.record(path, "B") as r:
        r.task(**GOOD)
        raise ZeroDivisionError
    assert f"{path} holds the 1 tasks of B until here; not finished" in capsys.readouterr().err
    found = recorder.load(path)
    assert found.methods == ["A", "B"] and found.unfinished == {"B": 1} and not found.left_out
    assert found.correct["B"].tolist() == [[True, True]]
    for part in ("support", "query", "correct"):
        assert (getattr(found, part)["A"] == getattr(before, part)["A"]).all()
    with pytest.raises(ZeroDivisionError), fslcore.record(path, "A") as r:  # what is finished stays until this is
        r.task(**GOOD)
        raise ZeroDivisionError
    found = recorder.load(path)
    assert found.unfinished == {"B": 1} and found.left_out == {"A": 1} and len(found.correct["A"]) == 30
    played(path, closed[:50], "B")
    played(path, closed[:50], "A")
    found = recorder.load(path)
    assert {m: len(of) for m, of in found.correct.items()} == {"A": 50, "B": 50}
    assert not found.unfinished and not found.left_out and recorder.UNFINISHED not in path.read_bytes()


LOOP = """
import itertools, sys
import fslcore
with fslcore.record(sys.argv[1], sys.argv[2], dataset="birds") as r:
    for t in itertools.count():
        a, b, c, d = (f"{k}{t % 9}.jpg" for k in range(4))
        r.task([a, b], [c, d], ["cat", "dog"], ["cat", "cat"], ["cat", "dog"])
        print(t + 1, flush=True)
"""


def test_of_a_loop_that_is_killed_at_most_20_tasks_are_lost(tmp_path, capsys, closed):
    path = tmp_path / "r.npz"
    with subprocess.Popen([sys.executable, "-c", LOOP, path, "ours"], stdout=subprocess.PIPE, text=True) as process:
        done = next(int(line) for line in process.stdout if int(line) >= 53)
        process.kill()
        done += len(process.stdout.read().split())
    found = recorder.load(path)
    held = len(found.correct["ours"])
    assert done - 20 <= held <= done + 1 and found.unfinished == {"ours": held} and held >= 40
    assert found.correct["ours"].tolist() == [[True, False]] * held and found.facts == {"dataset": "birds"}
    assert found.support["ours"].shape == (held, 2) and len(found.images) == 36


def test_a_file_that_is_cut_off_anywhere_holds_whole_blocks(tmp_path):
    path, cut = tmp_path / "r.npz", tmp_path / "cut.npz"
    with fslcore.record(path, "A") as r:
        r.task(**GOOD)
    finished = path.stat().st_size
    r = fslcore.record(path, "B")
    right = np.random.default_rng(0).random(60) < 0.5
    ends = []
    for k, yes in enumerate(right):
        r.task(**GOOD | dict(predictions=[0, int(yes)]))
        if k % 20 == 19:
            ends.append(path.stat().st_size)
    whole = path.read_bytes()
    for size in range(finished, len(whole) + 1):
        cut.write_bytes(whole[:size])
        held = 20 * sum(size >= end for end in ends)
        found = recorder.load(cut)
        assert found.unfinished == ({"B": held} if held else {})
        assert not held or found.correct["B"][:, 1].tolist() == right[:held].tolist()
    cut.write_bytes(whole[:finished] + whole[ends[0] :])  # the first block is gone, which named the images
    assert recorder.load(cut).methods == ["A"]
    cut.write_bytes(whole[: ends[0] - 3] + whole[ends[0] :])  # or damaged
    assert recorder.load(cut).methods == ["A"]
    cut.write_bytes(whole[: ends[0]] + whole[ends[1] :])
    assert recorder.load(cut).unfinished == {"B": 20}
    cut.write_bytes(whole[: ends[0] + 9] + whole[ends[0] :])  # another process was cut off between the two
    assert recorder.load(cut).unfinished == {"B": 60}


def test_a_file_that_was_cut_off_in_its_first_block_can_be_recorded_into(tmp_path):
    path = tmp_path / "r.npz"
    for begin in (b"", recorder.UNFINISHED[:9], recorder.UNFINISHED + b"torn"):
        path.write_bytes(begin)
        with pytest.raises(InputError, match="is not a recording .it was stopped before the first 20 tasks"):
            recorder.load(path)
        with fslcore.record(path, "A") as r:
            r.task(**GOOD)
        assert len(recorder.load(path).correct["A"]) == 1 and path.read_bytes()[:2] == b"PK"


def test_tasks_whose_support_has_no_class_yet_wait_for_it(tmp_path):
    path = tmp_path / "r.npz"
    r = fslcore.record(path, "A")
    for k in range(20):
        r.task([f"s{k}"], ["q", "p"], [0, 1], [0, 1])
    with pytest.raises(InputError, match="is not a recording"):
        recorder.load(path)
    for k in range(20):
        r.task([f"t{k}"], [f"s{k}", "p"], [k % 2, 1], [0, 1])
    found = recorder.load(path)
    assert found.unfinished == {"A": 20}
    assert dict(zip(found.images, found.classes))["s3"] == "1"


def test_unfinished_tasks_stay_when_others_finish(tmp_path, closed):
    path = tmp_path / "r.npz"
    running = fslcore.record(path, "A")
    for _ in range(25):
        running.task(**GOOD)
    played(path, closed[:30], "B")
    found = recorder.load(path)
    assert found.unfinished == {"A": 20} and len(found.correct["B"]) == 30
    for _ in range(25):
        running.task(**GOOD)
    assert recorder.load(path).unfinished == {"A": 40}
    played(path, closed[:30], "A")  # in place of what was written of it until here
    assert not recorder.load(path).left_out
    for _ in range(10):
        running.task(**GOOD)
    assert recorder.load(path).left_out == {"A": 60}
    running.save()
    found = recorder.load(path)
    assert {m: len(of) for m, of in found.correct.items()} == {"B": 30, "A": 30, "A (2)": 60}
    assert not found.unfinished and not found.left_out


def same_method(path, share, begun, start):
    with fslcore.record(path, "A") as r:
        begun.wait(60)
        for _ in range(25):
            r.task(**GOOD | dict(predictions=[0, share]))
        start.wait(60)


def test_processes_that_record_one_method_are_kept_apart(tmp_path):
    path, context = tmp_path / "r.npz", multiprocessing.get_context("fork")
    begun, start = context.Barrier(3), context.Barrier(3)
    running = [context.Process(target=same_method, args=(path, k, begun, start)) for k in range(2)]
    for process in running:
        process.start()
    begun.wait(60)
    start.wait(60)
    for process in running:
        process.join(120)
    assert [process.exitcode for process in running] == [0, 0]
    found = recorder.load(path)
    assert found.methods == ["A", "A (2)"] and not found.unfinished and not found.left_out
    assert sorted(of[:, 1].tolist() for of in found.correct.values()) == [[False] * 25, [True] * 25]


def test_a_method_that_another_wrote_meanwhile_is_told_and_not_replaced(tmp_path, closed, capsys):
    path = tmp_path / "r.npz"
    played(path, closed[:30])
    slow = fslcore.record(path, "A")  # replaces these, and nothing that comes now
    played(path, closed[:40])
    slow.task(**GOOD)
    slow.save()
    assert f"A was recorded in {path} by another process meanwhile; this recording of it is A (2) there" in (
        capsys.readouterr().err
    )
    slow.task(**GOOD)
    slow.save()  # its own again
    assert {m: len(of) for m, of in recorder.load(path).correct.items()} == {"A": 40, "A (2)": 2}


def test_a_fork_goes_on_with_a_recording_of_its_own(tmp_path):
    path = tmp_path / "r.npz"
    r = fslcore.record(path, "A")

    def go_on(tasks, save):
        for _ in range(tasks):
            r.task(**GOOD)
        if save:
            r.save()

    def forked(save):
        context = multiprocessing.get_context("fork")
        running = [context.Process(target=go_on, args=(n, save)) for n in (15, 35)]
        for process in running:
            process.start()
        for process in running:
            process.join(60)

    for _ in range(25):
        r.task(**GOOD)
    forked(save=False)
    found = recorder.load(path)
    assert found.unfinished == {"A": 60} and found.left_out == {"A": 20 + 40}
    forked(save=True)
    assert sorted(len(of) for of in recorder.load(path).correct.values()) == [40, 60]


FULL = """
import resource, sys
import fslcore
r = fslcore.record(sys.argv[1], "A")
for t in range(100):
    if t == 30:
        size = open(sys.argv[1], "rb").seek(0, 2)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 70, resource.RLIM_INFINITY))
    if t == 70:
        assert open(sys.argv[1], "rb").seek(0, 2) == size
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    r.task([0, 20], [1, f"{t} new"], [0, 1], [0, t % 2], [0, 1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit to the size of files")
def test_where_the_disk_is_full_the_loop_goes_on_and_writes_later(tmp_path):
    path = tmp_path / "r.npz"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("tasks of A are in memory only") == 1
    found = recorder.load(path)
    assert found.unfinished == {"A": 100} and found.correct["A"][:, 1].tolist() == [False, True] * 50
    assert {f"{t} new" for t in range(100)} < set(found.images)


GOOD = dict(support=[0, 20], query=[1, 21], labels=[0, 1], predictions=[0, 1], support_labels=[0, 1])


@pytest.mark.parametrize(
    "changed, words",
    [
        (dict(labels=[0]), "task 1: 1 labels for 2 images"),
        (dict(predictions=[0, 1, 1]), "task 1: 3 predictions for 2 images"),
        (dict(support_labels=[0]), "task 1: 1 support_labels for 2 images"),
        (dict(query=[1, 1]), "task 1: image 1 occurs twice in it"),
        (dict(query=[0, 21]), "task 1: image 0 occurs twice in it"),
        (dict(query=[], labels=[], predictions=[]), "task 1: no query"),
        (dict(labels=[1, 0]), "is of class 1, and was of 0 in task 0; labels are classes of the data set"),
        (dict(classes=["x"]), "task 1: label 1; 0 to 0"),
        (dict(classes=["x", "y"]), "and was of 0 in task 0"),
        # What could never be right would make an accuracy of 0, and nothing else would say so.
        (dict(predictions=np.eye(2)), "task 1: prediction [1.0, 0.0]; one class per image is needed, the argmax"),
        (dict(predictions=torch.eye(2)), "task 1: prediction [1.0, 0.0]; one class per image is needed, the argmax"),
        (dict(labels=np.eye(2)), "task 1: label [1.0, 0.0]; one class per image is needed"),
        (dict(predictions=["0", "1"]), "task 1: label 1 and prediction '1'; predictions in the same terms"),
        (dict(labels=["0", "1"], support_labels=["0", "1"]), "task 1: label '1' and prediction 1; predictions in"),
        (dict(labels=[b"0", b"1"], support_labels=[b"0", b"1"], predictions=["0", "1"]), "label b'1' and prediction"),
        (dict(labels=[0, None], predictions=[0, None]), "task 1: label None; the class of each image is needed"),
        (dict(labels=np.array([0, np.nan])), "task 1: label nan; the class of each image is needed"),
        (dict(query=np.zeros((2, 4, 4))), "names or numbers are needed, not pixels"),
        (dict(support=[np.zeros((4, 4)), np.ones((4, 4))]), "names or numbers are needed, not pixels"),
        (dict(support=torch.zeros(2, 1, 4, 4)), "names or numbers are needed, not pixels"),
        (dict(classes=[0, 1], predictions=[0, 7]), "task 1: prediction 7; 0 to 1, indices in classes like the labels"),
    ],
)
def test_bad_tasks_are_named(tmp_path, changed, words):
    r = fslcore.record(tmp_path / "r.npz", "A")
    r.task(**GOOD)
    with pytest.raises(InputError) as error:
        r.task(**GOOD | changed)
    assert words in str(error.value)
    assert len(r) == 1


def test_predictions_of_other_classes_are_told_when_they_are_most(tmp_path, capsys):
    def kept(name, *predictions, **more):
        with fslcore.record(tmp_path / "r.npz", name) as r:
            for said in predictions:
                r.task([0, 20], [1, 21], [6, 8], said, [6, 8], **more)
        return capsys.readouterr().err

    assert kept("local", [0, 1], [0, 0]) == (  # of classes 6 and 8
        "fslcore: record: 100% of the predictions of local are not a class of their task; are they in the same terms "
        "as the labels?\n"
    )
    for name, said in {"wrong": [8, 6], "floats": np.array([8.0, 6.0]), "none": [None, None], "some": [7, 8]}.items():
        assert kept(name, said, said) == ""
    assert recorder.load(tmp_path / "r.npz").correct["some"].tolist() == [[False, True]] * 2
    assert repr(fslcore.record("a.npz", "A")) == "Recorder('a.npz', 'A'): 0 tasks"


def test_bad_files_are_named_before_the_work(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    (tmp_path / "folder.npz").mkdir()
    for path, method, facts, words in (
        (tmp_path / "r.csv", "A", {}, "a name ending in .npz is allowed"),
        (tmp_path / "other.npz", "A", {}, "is not a recording"),
        (tmp_path, "A", {}, "a name ending in .npz"),
        (tmp_path / "folder.npz", "A", {}, "this is a folder"),
        (tmp_path / "other.npz" / "r.npz", "A", {}, "other.npz is a file, a folder is needed"),
        ("/proc/1/r.npz", "A", {}, "nothing can be written to /proc/1"),
        (f"{'r' * 251}.npz", "A", {}, "File name too long"),
        (None, "A", {}, "record = None; the name of a file"),
        (tmp_path / "r.npz", " ", {}, "method = ' '; a name is needed"),
        (tmp_path / "r.npz", None, {}, "method = None; a name is needed"),
        (tmp_path / "r.npz", "caf\udce9", {}, r"method = 'caf\\udce9'; text that can be written as UTF-8"),
        (tmp_path / "r.npz", "A", {"ways": 5}, "ways: dataset, seed and transductive can"),
        (tmp_path / "r.npz", "A", {"dataset": ["a", "b"]}, r"dataset = \['a', 'b'\]; a name is needed"),
        (tmp_path / "r.npz", "A", {"dataset": ""}, "dataset = ''; a name is needed"),
        (tmp_path / "r.npz", "A", {"seed": 3.7}, "seed = 3.7; a whole number from 0"),
        (tmp_path / "r.npz", "A", {"seed": "zero"}, "seed = zero; a whole number from 0"),
        (tmp_path / "r.npz", "A", {"seed": -1}, "seed = -1; a whole number from 0"),
        (tmp_path / "r.npz", "A", {"seed": 2**64}, "seed = 18446744073709551616; a whole number from 0"),
    ):
        with pytest.raises(InputError, match=words):
            fslcore.record(path, method, **facts)
    with pytest.raises(InputError, match="no task of A"):
        fslcore.record(tmp_path / "r.npz", "A").save()
    r = fslcore.record(tmp_path / "r.npz", "A")
    r.task(**{name: value for name, value in GOOD.items() if name != "support_labels"})
    with pytest.raises(InputError, match="is never a query, so its class is not known"):
        r.save()
    assert not (tmp_path / "r.npz").exists()


def test_a_recording_keeps_which_images_depend_on_each_other(tmp_path):
    source, path = datasets.load("clipart"), tmp_path / "r.npz"
    groups = source.facts["author"].to_numpy()
    drawn = {m: draw(source, "closed", tasks=60, ways=5, shots=2, queries=3, seed=s) for m, s in (("A", 0), ("B", 1))}
    rng = np.random.default_rng(0)
    runs = {m: (t, Record(rng.random(t.query.shape) < 0.7, t.query_label), False) for m, t in drawn.items()}
    recorder.save(
        path, recorder.recording(source.names, source.classes, {"A": runs["A"]}, {"seed": 0}, {"groups": groups})
    )
    assert recorder.load(path).groups.keys() == {"groups"}
    second = tmp_path / "b.npz"
    recorder.save(
        second,
        recorder.recording(source.names, source.classes, {"B": runs["B"]}, {"seed": 0}, {"groups": groups}),
    )
    both = recorder.load([path, second])
    author = dict(zip(source.names, groups))
    assert both.groups["groups"].tolist() == [author[name] for name in both.images.tolist()]
    recorder.save(second, recorder.recording(source.names, source.classes, {"B": runs["B"]}, {"seed": 0}, {}))
    assert (recorder.load([path, second]).groups["groups"] == both.groups["groups"]).all()  # of the same images
    with fslcore.record(tmp_path / "c.npz", "C", seed=0) as r:
        r.task(**GOOD)
    with pytest.raises(InputError, match="^record: groups of image .* is in none of the files, but known for others"):
        recorder.load([path, tmp_path / "c.npz"])
    recorder.save(
        second,
        recorder.recording(source.names, source.classes, {"B": runs["B"]}, {"seed": 0}, {"groups": groups[::-1]}),
    )
    with pytest.raises(InputError, match="^record: groups of image .* is .* elsewhere"):
        recorder.load([path, second])
    with pytest.raises(InputError, match="it holds groups of images, which fslcore evaluate wrote"):
        fslcore.record(path, "mine")


@pytest.mark.parametrize("seed", [3, np.int64(3), np.uint8(3), torch.tensor(3)])
def test_facts_are_kept_as_plain_values(tmp_path, seed):
    path = tmp_path / "r.npz"
    for method, facts in {"A": (Path("/data/birds"), seed), "B": (None, None)}.items():  # None is what the file says
        with fslcore.record(path, method, dataset=facts[0], seed=facts[1]) as r:
            r.task(**GOOD)
            r.task(**GOOD | dict(predictions=[1, 1]))
    assert recorder.load(path).facts == {"dataset": "/data/birds", "seed": 3}


def test_the_home_folder_is_no_folder_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with fslcore.record("~/new/r.npz", "A") as r:
        r.task(**GOOD)
    assert [p.relative_to(tmp_path) for p in tmp_path.rglob("*.*")] == [Path("home/new/r.npz")]


def test_other_classes_than_the_file_has_are_told_at_the_first_task(tmp_path):
    path = tmp_path / "r.npz"
    with fslcore.record(path, "A") as r:
        r.task(**GOOD)
    r = fslcore.record(path, "B")
    with pytest.raises(InputError, match="task 0: image 1 is of class 1, and of 0 in .*r.npz"):
        r.task(**GOOD | dict(labels=[1, 0]))


def test_truth_values_are_the_classes_of_their_numbers(tmp_path):
    r = fslcore.record(tmp_path / "r.npz", "m")
    r.task([0, 1], [2, 3], torch.tensor([False, True]), np.array([0, 0]), [0, 1])
    found = recorder.load(r.save())
    assert found.classes.tolist() == ["0", "0", "1", "1"] and found.correct["m"].tolist() == [[True, False]]


def test_of_a_task_that_is_refused_nothing_is_kept(tmp_path):
    """In a notebook the same task is given again, mended."""
    r = fslcore.record(tmp_path / "r.npz", "m")
    r.task(["a", "b"], ["c", "d"], ["cat", "dog"], ["cat", "dog"], ["cat", "dog"])
    with pytest.raises(InputError, match="image c is of class 1, and was of cat in task 0"):
        r.task(["e", "f"], ["g", "c"], [0, 1], [1, 1], [0, 1])
    r.task(["e", "f"], ["g", "d"], [0, 1], [1, 1], [0, 1], classes=["cat", "dog"])
    r.save()
    assert recorder.load(tmp_path / "r.npz").images.tolist() == list("acegbdf")


def test_whole_floats_are_the_classes_of_their_numbers(tmp_path):
    with fslcore.record(tmp_path / "r.npz", "A") as r:
        r.task([0.0, 20.0], np.array([1.0, 21.0]), [0.0, 1.0], torch.tensor([0.0, -1.0]), [0, 1])
    found = recorder.load(tmp_path / "r.npz")
    assert found.images.tolist() == ["0", "1", "20", "21"] and found.classes.tolist() == ["0", "0", "1", "1"]
    assert found.correct["A"].tolist() == [[True, False]]


def at_once(path, method, start):
    with fslcore.record(path, method) as r:
        for _ in range(3):
            r.task(**GOOD)
        start.wait(60)


def test_processes_that_record_into_one_file_keep_all_methods(tmp_path):
    context = multiprocessing.get_context("fork")
    names = [f"method {i}" for i in range(4)]
    start = context.Barrier(len(names))
    running = [context.Process(target=at_once, args=(tmp_path / "r.npz", n, start)) for n in names]
    for process in running:
        process.start()
    for process in running:
        process.join(120)
    assert [process.exitcode for process in running] == [0] * 4
    assert sorted(recorder.load(tmp_path / "r.npz").methods) == names
    assert [p.name for p in tmp_path.iterdir()] == ["r.npz"]


def test_the_lock_of_windows_is_waited_for_too(tmp_path, monkeypatch):
    asked = []

    def locking(file, mode, size):
        asked.append((mode, size))
        if len(asked) < 3:
            raise OSError(errno.EDEADLOCK, "after ten seconds")

    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_LOCK=1, locking=locking))
    with locked(tmp_path / "r.npz"):
        assert [p.name for p in tmp_path.iterdir()] == [".r.npz.lock"]
    assert asked == [(1, 1)] * 3 and not list(tmp_path.iterdir())


def test_without_locks_and_with_another_who_removed_it_the_file_is_written(tmp_path, monkeypatch):
    taken = []

    def flock(*_):
        taken.append(None)
        if len(taken) == 1:
            (tmp_path / ".r.npz.lock").unlink()
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(OSError, match="of its own"), locked(tmp_path / "r.npz"):
        raise OSError("of its own")
    assert len(taken) == 2 and not list(tmp_path.iterdir())
