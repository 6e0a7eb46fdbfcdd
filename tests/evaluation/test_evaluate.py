"""Records, results tables, the cache, and the fine-tuning results that ship with the book."""

import numpy as np
import pandas as pd
import pytest
import torch

from fslcore import datasets, evaluation, learners, store
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import cache
from fslcore.models import backbones
from fslcore.paths import DATA
from fslcore.tasks import sample_closed

SHIPPED = sorted((DATA / "results").glob("*.ft.*.npz"))


@pytest.fixture
def features_file(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(7).repeat(60)
    np.savez(tmp_path / "f.npz", features=rng.normal(size=(7, 16))[labels] + rng.normal(size=(420, 16)), labels=labels)
    return f"features:{tmp_path}/f.npz"


def test_record_metrics():
    correct = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 1, 0]], bool)
    label = np.array([[0, 0, 1, 1, -1], [0, 1, 1, 0, -1]])
    record = evaluation.Record(correct, label)
    assert record.accuracy().tolist() == [0.75, 0.25]
    assert record.class_accuracy().tolist() == [[1, 0.5], [0.5, 0]]
    assert record.worst_class().tolist() == [0.5, 0]


def test_record_round_trip(tmp_path):
    record = evaluation.Record(np.eye(3, dtype=bool), np.arange(9).reshape(3, 3) % 2)
    record.save(tmp_path / "r.npz", {"seed": 1})
    again, provenance = evaluation.Record.load(tmp_path / "r.npz")
    assert (again.correct == record.correct).all() and (again.query_label == record.query_label).all()
    assert provenance == {"seed": 1}


@pytest.mark.parametrize("sampling", ["closed", "open"])
def test_results_table(features_file, sampling):
    table = evaluation.run(
        features_file, "none", "ncc", sampling, tasks=30 if sampling == "closed" else None, queries=5
    )
    assert list(table) == list(evaluation.COLUMNS)
    assert (table["task"] == np.arange(len(table))).all() and table["accuracy"].between(0, 100).all()
    assert (table["backbone"] == "none").all() and (table["sampling"] == sampling).all()
    assert table.equals(
        evaluation.run(features_file, "none", "ncc", sampling, tasks=30 if sampling == "closed" else None, queries=5)
    )


def test_stored_computes_nothing(features_file, monkeypatch):
    assert evaluation.run(features_file, "none", "lr", "closed", tasks=5, stored=True) is None
    evaluation.run(features_file, "none", "lr", "closed", tasks=5)
    monkeypatch.setattr(cache, "evaluate", None)  # would fail if it were called
    assert len(evaluation.run(features_file, "none", "lr", "closed", tasks=5, stored=True)) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b"",
        lambda b: b[: len(b) // 2],
        lambda b: b"garbage" * 50,
        lambda b: b[:200] + bytes(40) + b[240:],
    ],
)
def test_damaged_records_are_told_and_made_again(features_file, damage, capsys):
    table = evaluation.run(features_file, "none", "ncc", "closed", tasks=40)
    (path,) = store.path("records").iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert table.equals(evaluation.run(features_file, "none", "ncc", "closed", tasks=40))
    said = capsys.readouterr().err
    assert f"fslcore: {path} is damaged and made again" in said and "Traceback" not in said
    assert evaluation.Record.load(path)[0].correct.shape == (40, 75)
    other = evaluation.run(features_file, "none", "ncc", "closed", tasks=40, seed=1)
    for file in path.parent.iterdir():
        if file != path:
            path.write_bytes(file.read_bytes())  # whole, and of other tasks
    assert not table.equals(other) and table.equals(evaluation.run(features_file, "none", "ncc", "closed", tasks=40))


def test_small_classes_can_be_skipped(tmp_path):
    labels = np.repeat(np.arange(7), [60] * 6 + [5])
    np.savez(tmp_path / "f.npz", features=np.random.default_rng(0).normal(size=(365, 4)), labels=labels)
    for sampling in ("closed", "open"):
        with pytest.raises(InputError, match="class 6 has 5 images"):
            evaluation.run(f"features:{tmp_path}/f.npz", "none", "ncc", sampling, tasks=4)
        table = evaluation.run(f"features:{tmp_path}/f.npz", "none", "ncc", sampling, tasks=4, skip_small_classes=True)
        assert len(table) == (4 if sampling == "closed" else 3)


def test_finetuning_goes_on_from_the_blocks_that_were_kept(monkeypatch):
    images = datasets.load("clipart")
    backbone = backbones.load("glyph-conv")
    learner = learners.FineTune(backbone, epochs=1)
    monkeypatch.setattr(cache, "BLOCK", 2)
    tasks = sample_closed(images.labels, tasks=6)
    run, done = evaluation.evaluate, []

    def stops_after_two(*a, **k):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return run(*a, **k)

    monkeypatch.setattr(cache, "evaluate", stops_after_two)
    with pytest.raises(KeyboardInterrupt):
        evaluation.record(images, backbone, learner, tasks)
    whole, key = evaluation.record(images, backbone, learner, tasks[:4], stored=True)
    part, same = evaluation.record(images, backbone, learner, tasks, stored=True)  # four of the six
    assert (part.correct == whole.correct).all() and key == same
    # … and where the four are kept in one piece
    whole.save(store.path("records", f"{key}.npz"), {"key": key})
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_find", lambda k, find=cache._find: find(k) if k == key else None)
        assert (evaluation.record(images, backbone, learner, tasks, stored=True)[0].correct == whole.correct).all()
    done.clear()
    record, _ = evaluation.record(images, backbone, learner, tasks)
    assert len(done) == 1  # one block was missing
    bank = Bank(torch.from_numpy(images.images[:]), images.labels, "")
    assert (record.correct == run(learner, bank, tasks, chunk=1).correct).all()


@pytest.mark.parametrize("chunk", [0, -1, 2.0, True])
def test_a_chunk_of_no_tasks_is_refused(chunk):
    labels = np.arange(4).repeat(9)
    bank = Bank(torch.randn(36, 3), labels, "")
    with pytest.raises(InputError, match=f"chunk = {chunk}; a whole number of at least 1 is allowed"):
        evaluation.evaluate(
            learners.make("ncc", None), bank, sample_closed(labels, tasks=3, ways=2, shots=1, queries=2), chunk=chunk
        )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("clipart", "glyph-conv", "svm", "closed"), "learner = svm; ncc, lr, "),
        (("clipart", "glyph-conv", "ncc", "opened"), "sampling = opened; closed, open"),
        (("clipart", "none", "ncc", "closed"), "backbone = none"),
        (("photos", "glyph-conv", "ncc", "closed"), "dataset = photos"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        evaluation.run(*arguments)


class Own:
    """A learner as a user writes one, of whose scores a function makes others."""

    def __init__(self, given):
        self.given = given

    def scores(self, bank, tasks):
        return self.given(learners.NearestCentroid().scores(bank, tasks).clone())  # of inference mode no more


def test_the_scores_of_a_learner_of_the_users_own(features_file):
    bank = evaluation.load_source(features_file)
    tasks = sample_closed(bank.labels, tasks=20, queries=4)  # as many tasks as queries
    wanted = evaluation.evaluate(learners.NearestCentroid(), bank, tasks).correct
    for good in (lambda x: x, lambda x: x.numpy(), lambda x: x.bfloat16().double(), lambda x: x.requires_grad_()):
        found = evaluation.evaluate(Own(good), bank, tasks)
        assert (found.correct == wanted).mean() > 0.98 and not evaluation.probe(Own(good), bank, tasks).depends
    shape = r"\(20, 20, 5\) is needed: a score for each task, query and class"
    for bad, words in (
        (lambda x: x.argmax(dim=-1), rf"of shape \(20, 20\); a tensor or array of shape {shape}"),
        (lambda x: x.mT, rf"of shape \(20, 5, 20\); .* {shape}"),
        (lambda x: torch.cat([x, x], dim=-1), rf"of shape \(20, 20, 10\); .* {shape}"),
        (lambda x: x.tolist(), f"a list; .* {shape}"),
        (lambda x: None, f"a NoneType; .* {shape}"),
        (lambda x: x / 0 - x / 0, "NaN for 400 of 400 queries"),
        (lambda x: x.index_fill(2, torch.tensor([1]), np.nan), "NaN for 400 of 400 queries"),
    ):
        for ask in (evaluation.evaluate, evaluation.probe):
            with pytest.raises(InputError, match=f"^learner = Own; its scores are {words}"):
                ask(Own(bad), bank, tasks)


def test_features_cannot_be_fine_tuned(features_file):
    with pytest.raises(InputError, match="learner = ft"):
        evaluation.run(features_file, "none", "ft", "closed")


def test_a_small_class_is_named():
    with pytest.raises(InputError, match="class body part has 27 images"):
        evaluation.run("clipart", "glyph-conv", "ncc", "closed", queries=50)


def test_results_files_are_csv_or_parquet(tmp_path):
    with pytest.raises(InputError, match=".parquet and .csv are allowed"):
        evaluation.write_table(pd.DataFrame(), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_finetuning_ships_for_every_row_of_the_default_build():
    if not SHIPPED:
        pytest.skip("no results under data/results")
    from fslbook import notebooks
    from fslbook.paths import PROFILES

    rows = notebooks.profile(PROFILES / "quick.yml")["closed-vs-open"]["datasets"]
    made = {(m["dataset"], m["backbone"], m["sampling"]) for m in (evaluation.Record.load(p)[1] for p in SHIPPED)}
    assert made == {(d, b, s) for d in rows for b in ("efficientnet-lite0", "glyph-conv") for s in ("closed", "open")}
