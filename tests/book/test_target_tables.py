"""Tables of the chapters on three intervals and planning, on features made here."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from features import features_file
from scipy.stats import norm

from fslbook.beyond import planning
from fslbook.beyond.targets import verdicts
from fslcore import evaluation, stats
from fslcore.evaluation import three_targets
from fslcore.report.interval_table import interval_cells, interval_table, legend
from fslcore.stats.dependence import Variance
from fslcore.stats.image_intervals import three_intervals_of

SHAPE = dict(ways=5, shots=2, queries=3, seed=0)


@pytest.fixture
def features(tmp_path):
    return features_file(tmp_path, np.arange(8).repeat(12), apart=1.5)


def test_intervals_are_those_of_the_record(features):
    answers = three_targets.answers(
        [features], ["none"], ["ncc", "lr"], tasks=60, groups=["family"], **SHAPE
    )
    result = evaluation.evaluate_setting(features, "none", "lr", tasks=60, **SHAPE)
    tasks = result.tasks
    right = answers[features].right["none", "lr"]
    assert (right == 100 * result.outcomes.correct).all()
    assert answers[features].groups is None  # features know no families
    expected = stats.three_intervals(
        right,
        tasks.support,
        tasks.query,
        answers[features].labels,
        confidence_level=0.9,
        bounds=(0, 100),
    )
    table = three_targets.intervals(answers, 0.9)
    assert (
        table["result"][1] == expected and table["n_images"][1] == 96 and table["classes"][1] == 8
    )
    cells = interval_table(table)
    assert cells.iloc[1]["mean"] == f"{expected.closed.estimate:.2f}"
    assert table["result"][1].images.bounds == (0, 100)
    assert cells.iloc[1]["these images"] == f"± {expected.closed.half_width:.2f}"
    assert cells.iloc[1]["new classes"] == interval_cells(expected)["new classes"]
    of_two = pd.concat([table.assign(dataset="x"), table.assign(dataset="y", classes=20)])
    names = interval_table(of_two).index.get_level_values("dataset").unique()
    assert [*names] == ["x (8 classes)", "y (20 classes)"]


def test_one_interval_for_two_targets_is_named_once():
    """New classes bring new images: where no more is seen of classes, or nothing of images alone, a cell says so."""
    settled = dict(mean=70.0, tasks=500, sampling=0.01, confidence_level=0.95)

    def cells(images, classes, freedom=(50.0, 9.0), **options):
        estimates = Variance(images, freedom[0], 0.0, 60), Variance(classes, freedom[1], 0.0, 10)
        return interval_cells(three_intervals_of(estimates=estimates, **settled | options))

    separate, floor = cells(1.0, 4.0), cells(1.0, 0.2)
    assert separate["new images"].startswith("± ") and separate["new classes"].startswith("± ")
    assert floor["new images"] == separate["new images"]
    wide, floored = (float(cell["new classes"].split()[1]) for cell in (separate, floor))
    assert (
        wide > 1.9 * floored > 1.9 * float(floor["new images"][2:])
    )  # of fewer degrees of freedom than images have
    assert floor["new classes"] == f"± {floored:.2f} (floor)"
    many = dict(freedom=np.array([50.0, 50.0]))
    assert cells(1.0, 0.2, **many)["new classes"] == "as new images"
    assert legend(pd.DataFrame([separate])) == []
    for cell, mark in ((floor, "(floor): "), (cells(1.0, 0.2, **many), "as new images: ")):
        (line,) = legend(pd.DataFrame([separate, cell]))
        assert line.startswith(mark)
    unknown = cells(1.0, 4.0, freedom=np.array([0.0, 9.0]))
    assert (
        unknown["new images"] == "as new classes"
        and unknown["new classes"] == separate["new classes"]
    )
    assert cells(1.0, 4.0, freedom=np.zeros(2))["new classes"] == "± unknown"


def test_the_intervals_of_a_transductive_learner_count_its_other_answers(features):
    by_source = three_targets.answers(
        [features], ["none"], ["ncc", "lr", "opta"], tasks=400, **SHAPE
    )
    (answers,) = by_source.values()
    result = pd.concat(
        [three_targets.intervals(by_source), three_targets.pairs(by_source)], ignore_index=True
    )["result"]
    places = answers.support, answers.query, answers.labels
    for (a, b), got in zip([(0, None), (2, None), (0, 2)], result[[0, 2, 4]]):
        right = [answers.right[m] for m in answers.right]
        values = right[a] if b is None else right[a] - right[b]
        options = dict(transductive=2 in (a, b), bounds=(0, 100) if b is None else (-100, 100))
        assert got == stats.three_intervals(values, *places, **options)
        assert np.isfinite(got.images.half_width)
    assert result[2] != stats.three_intervals(right[2], *places, bounds=(0, 100))


def test_pairs_verdicts_and_needs(features):
    by_source = three_targets.answers([features], ["none"], ["ncc", "lr"], tasks=60, **SHAPE)
    pairs, answers = three_targets.pairs(by_source), by_source[features]
    first, second = answers.right.values()
    places = answers.support, answers.query, answers.labels
    (result,) = pairs["result"]
    assert result == stats.three_intervals(first - second, *places, bounds=(-100, 100))
    counts = verdicts(pairs)
    assert counts.loc["all", "pairs"] == 1
    assert counts.loc["all", "these images"] == int(result.closed.sign != 0)
    needs = planning.needs(by_source, pairs, [1.0, 5.0], ways=5, shots=2, power=0.8, level=0.95)
    plan = stats.plan_sample_size(
        result, images_per_class=12, n_classes=8, ways=5, shots=2, difference=5.0
    )
    sizes = [plan.n_tasks, plan.images_per_class, plan.n_classes]
    assert needs.loc[1, ["tasks", "images per class", "classes"]].tolist() == sizes
    reach = planning.reach(pairs, power=0.8, level=0.95)
    assert (
        reach["new images"].iloc[0]
        == f"{stats.minimum_detectable_difference(result.images.standard_error, result.images.df):.2f}"
    )
    assert planning.plan_table(needs).shape == (2, 3)
    larger = needs.assign(tasks=[7 * needs["tasks"][0], 1], classes=[np.inf, 1])
    growth = planning.growth(larger, needs)  # for the smaller difference, of the first row
    assert growth["tasks"].tolist() == [7.0] and growth["images per class"].tolist() == [1.0]
    assert growth["classes"].isna().all() and growth.index.tolist() == [features]


def test_verdicts_are_corrected_for_the_pairs_of_all_data_sets():
    """p-values 0.01, 0.02, 0.03 and 0.2: Holm keeps the first alone, Benjamini and Hochberg the first three."""
    halves = 1.96 / np.abs(norm.ppf(np.array([0.01, 0.02, 0.03, 0.2]) / 2))
    results = [
        stats.ThreeIntervals(*3 * [stats.Interval(1.0, h, 0.95, 100, "new tasks")], 1.0, 0.0, 0.0)
        for h in halves
    ]
    pairs = pd.DataFrame({"dataset": ["one", "one", "other", "other"], "result": results})
    counts = {
        adjust: verdicts(pairs, adjust)["new images"]
        for adjust in (None, stats.holm, stats.benjamini_hochberg)
    }
    assert [c["all"] for c in counts.values()] == [3, 1, 3]
    assert counts[stats.holm][["one", "other"]].tolist() == [1, 0]


def test_groups_come_from_the_facts(monkeypatch):
    from fslcore import datasets

    images = datasets.load("clipart")
    rng = np.random.default_rng(0)

    class Made:
        learner = SimpleNamespace(transductive=False)

        def outcomes(self, tasks):
            return evaluation.Outcomes(rng.random(tasks.query.shape) < 0.5, tasks.query_label)

    monkeypatch.setattr(three_targets, "configure", lambda *_: Made())
    by_source = three_targets.answers(
        ["clipart"], ["x"], ["ncc"], tasks=30, groups=["family", "author"], **SHAPE
    )
    assert (by_source["clipart"].groups == images.facts["author"]).all()
    assert isinstance(images.facts, pd.DataFrame)


def test_class_groups_are_facts_that_tell_classes_apart():
    from types import SimpleNamespace

    labels = np.arange(6).repeat(4)
    facts = pd.DataFrame(
        {
            "domain": np.array(list("aab"))[labels // 2],
            "family": np.tile(list("vwxy"), 6),
            "split": "s",
        }
    )
    source = SimpleNamespace(facts=facts, labels=labels)
    assert (three_targets.groups_of_classes(source, ["genus", "domain"]) == facts["domain"]).all()
    assert three_targets.groups_of_classes(source, ["split"]) is None  # all in one
    assert three_targets.groups_of_classes(source, ["family"]) is None  # a class is in several
    assert (
        three_targets.groups_of_classes(source, ["genus"]) is None
        and three_targets.groups_of_classes(SimpleNamespace(facts=None, labels=labels), ["a"])
        is None
    )
