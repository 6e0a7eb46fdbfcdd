"""Records, results tables, and the cache."""

import numpy as np
import pandas as pd
import pytest
import torch
from features import features_file
from refusal import refuses, says_in_one_line, warned

from fslcore import evaluation, learners, store
from fslcore.datasets.bank import Bank
from fslcore.tasks import sample_closed


@pytest.fixture
def features(tmp_path):
    return features_file(tmp_path, np.arange(7).repeat(60), 16)


def test_record_metrics():
    correct = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 1, 0]], bool)
    label = np.array([[0, 0, 1, 1, -1], [0, 1, 1, 0, -1]])
    record = evaluation.Outcomes(correct, label)
    assert record.accuracy().tolist() == [0.75, 0.25]
    assert record.class_accuracy().tolist() == [[1, 0.5], [0.5, 0]]
    assert record.worst_class().tolist() == [0.5, 0]


def test_record_round_trip(tmp_path):
    record = evaluation.Outcomes(np.eye(3, dtype=bool), np.arange(9).reshape(3, 3) % 2)
    record.save(tmp_path / "r.npz", {"seed": 1})
    loaded, provenance = evaluation.Outcomes.load(tmp_path / "r.npz")
    assert (loaded.correct == record.correct).all() and (
        loaded.query_label == record.query_label
    ).all()
    assert provenance == {"seed": 1}


def run(source, learner="ncc", sampling="closed", **options):
    return evaluation.evaluate_setting(source, "none", learner, sampling, **options).table


def test_a_setting_is_its_three_steps(features):
    """By name or loaded; the accuracy, the table and the outcomes are of the same tasks."""
    shape = dict(ways=4, shots=2, queries=3, seed=7)
    result = evaluation.evaluate_setting(features, "none", "ncc", tasks=9, **shape)
    bank = evaluation.load_images_or_features(features)
    sampled = sample_closed(bank.classes, tasks=9, **shape)
    correct = evaluation.evaluate(learners.NearestCentroid(), bank, sampled).correct
    assert result.tasks.digest == sampled.digest and (result.outcomes.correct == correct).all()
    assert result.accuracy == pytest.approx(100 * correct.mean(axis=1))
    assert (result.table["accuracy"] == result.accuracy).all()
    constant = {"backbone": "none", "learner": "ncc", "sampling": "closed", **shape}
    for column, value in constant.items():
        assert (result.table[column] == value).all(), column
    again = evaluation.evaluate_setting(bank, "none", learners.make("ncc"), tasks=9, **shape)
    assert again.table.drop(columns="dataset").equals(result.table.drop(columns="dataset"))
    assert (result.table["dataset"] == features).all()
    assert (again.table["dataset"] == "features").all()


def test_of_stored_outcomes_the_first_tasks_are_returned(features):
    options = dict(stored=True, queries=5)
    assert evaluation.evaluate_setting(features, "none", "ncc", tasks=30, **options) is None
    evaluation.evaluate_setting(features, "none", "ncc", tasks=2048, queries=5)
    result = evaluation.evaluate_setting(features, "none", "ncc", tasks=5000, **options)
    assert len(result.tasks) == len(result.outcomes.correct) == len(result.table) == 2048


@pytest.mark.parametrize("sampling, tasks", [("closed", 30), ("open", None)])
def test_results_table(features, sampling, tasks):
    table = run(features, sampling=sampling, tasks=tasks, queries=5)
    assert list(table) == list(evaluation.RESULT_COLUMNS)
    assert (table["task"] == np.arange(len(table))).all() and table["accuracy"].between(
        0, 100
    ).all()
    assert (table["backbone"] == "none").all() and (table["sampling"] == sampling).all()
    assert table.equals(run(features, sampling=sampling, tasks=tasks, queries=5))


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b"",
        lambda b: b[:200] + bytes(40) + b[240:],
    ],
)
def test_damaged_records_are_reported_and_made_again(features, damage, recwarn):
    table = run(features, tasks=40)
    (path,) = store.path("records").iterdir()
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert table.equals(run(features, tasks=40))
    message = warned(recwarn)
    assert says_in_one_line(message, path, "damaged")
    assert evaluation.Outcomes.load(path)[0].correct.shape == (40, 75)


@pytest.mark.parametrize("provenance", [{}, {"sha256": None}, "its own"])
def test_a_record_with_other_answers_is_made_again(features, provenance, recwarn):
    table = run(features, tasks=40)
    (path,) = store.path("records").iterdir()
    record, facts = evaluation.Outcomes.load(path)
    changed = evaluation.Outcomes(np.ones_like(record.correct), record.query_label)
    if provenance == "its own":
        provenance = {"sha256": facts["sha256"]}
    changed.save(path, {"key": facts["key"], **provenance})
    assert table.equals(run(features, tasks=40))
    assert says_in_one_line(warned(recwarn), path, "damaged", "SHA-256")


def test_a_record_of_other_tasks_is_not_taken(features):
    table = run(features, tasks=40)
    (path,) = store.path("records").iterdir()
    table_of_others = run(features, tasks=40, seed=1)
    (other_path,) = {*store.path("records").iterdir()} - {path}
    path.write_bytes(other_path.read_bytes())
    assert not table.equals(table_of_others) and table.equals(run(features, tasks=40))


def test_small_classes_can_be_skipped(tmp_path):
    labels = np.repeat(np.arange(7), [60] * 6 + [5])
    assert len(run(features_file(tmp_path, labels), tasks=4, skip_small_classes=True)) == 4


def test_chunks_change_no_answer(features):
    bank = evaluation.load_images_or_features(features)
    tasks = sample_closed(bank.labels, tasks=12)
    records = [evaluation.evaluate(learners.make("ncc"), bank, tasks, chunk=n) for n in (12, 5)]
    assert np.array_equal(*(record.correct for record in records))


@pytest.mark.parametrize("chunk", [0, 2.0])
def test_a_chunk_of_no_tasks_is_refused(chunk):
    labels = np.arange(4).repeat(9)
    tasks = sample_closed(labels, tasks=3, ways=2, shots=1, queries=2)
    with refuses("chunk", str(chunk), "1"):
        evaluation.evaluate(
            learners.make("ncc", None), Bank(torch.randn(36, 3), labels, ""), tasks, chunk=chunk
        )


class Own:
    """A learner as a user writes one, of whose scores a function makes others."""

    def __init__(self, change):
        self.change = change

    def scores(self, bank, tasks):
        return self.change(
            learners.NearestCentroid().scores(bank, tasks).clone()
        )  # of inference mode no more


def test_the_scores_of_a_learner_of_the_users_own(features):
    bank = evaluation.load_images_or_features(features)
    tasks = sample_closed(bank.labels, tasks=20, queries=4)  # as many tasks as queries
    wanted = evaluation.evaluate(learners.NearestCentroid(), bank, tasks).correct
    for good in (
        lambda x: x,
        lambda x: x.numpy(),
        lambda x: x.bfloat16().double(),
        lambda x: x.requires_grad_(),
    ):
        correct = evaluation.evaluate(Own(good), bank, tasks).correct
        assert (correct == wanted).mean() > 0.98 and not evaluation.check_transductive(
            Own(good), bank, tasks
        ).depends
    shape = r"tensor or array of shape \(20, 20, 5\), one for each task, query and class, got"
    for bad, words in (
        (lambda x: x.argmax(dim=-1), rf"{shape} shape \(20, 20\)"),
        (lambda x: x.mT, rf"{shape} shape \(20, 5, 20\)"),
        (lambda x: torch.cat([x, x], dim=-1), rf"{shape} shape \(20, 20, 10\)"),
        (lambda x: x.tolist(), f"{shape} a list"),
        (lambda x: None, f"{shape} a NoneType"),
        (lambda x: x / 0 - x / 0, "NaN for 400 of 400 queries"),
        (lambda x: x.index_fill(2, torch.tensor([1]), np.nan), "NaN for 400 of 400 queries"),
    ):
        for function in (evaluation.evaluate, evaluation.check_transductive):
            with refuses("scores", "[Oo]wn", words):
                function(Own(bad), bank, tasks)


def test_results_files_are_csv_or_parquet(tmp_path):
    with refuses(".parquet or .csv, got"):
        evaluation.write_table(pd.DataFrame(), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_answers_by_class():
    label = np.array([[0, 1, 0, 1], [1, 1, 0, 0]])
    right = np.array([[True, False, False, True], [False, True, True, True]])
    assert evaluation.Outcomes(right, label).by_class().tolist() == [
        [[1, 0], [0, 1]],
        [[1, 1], [0, 1]],
    ]
    with refuses("record .*equal numbers of queries"):
        evaluation.Outcomes(right, np.where(right, label, -1)).by_class()
