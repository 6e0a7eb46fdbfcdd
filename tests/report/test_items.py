"""Scores of items under supports: each design, its targets, and what is said where one is not supported."""

import numpy as np
import pandas as pd
import proposed
import pytest
import scipy.stats
from lookup import row, targets
from refusal import refuses

from fslcore import stats
from fslcore.report import Shape

report_on = proposed.from_frame

SUPPORTS, ITEMS = 4, 30
CROSSED = ["new items and supports", "new items", "new supports"]
NUMBERS = ["mean", "half_width", "low", "high"]


def scores(models="ab"):
    rng = np.random.default_rng(0)
    chance = 0.7 + rng.normal(0, 0.1, (SUPPORTS, 1)) + rng.uniform(-0.3, 0.3, ITEMS)
    chance = np.clip(chance, 0, 1)
    return {
        name: (rng.random(chance.shape) < chance - 0.1 * i).astype(float)
        for i, name in enumerate(models)
    }


def table(values):
    rows = [
        {"item": f"q{item}", "support": f"s{support}", "accuracy": score, "model": model}
        for model, grid in values.items()
        for (support, item), score in np.ndenumerate(grid)
    ]
    return pd.DataFrame(rows)


def grouped(frame):
    return frame.assign(group=frame["item"].str[1:].astype(int) // 3)


def test_crossed_scores_have_three_targets():
    values = scores()
    results = report_on(
        table(values).sample(frac=1, random_state=0)
    )  # the order of rows means nothing
    assert results.shape is Shape.ITEMS and targets(results) == CROSSED
    assert results.pairs["unit"].tolist() == ["item", "item", "support"]
    single = stats.crossed_intervals(100 * values["a"], bounds=(0, 100))
    pair = stats.crossed_intervals(100 * values["a"] - 100 * values["b"])
    for target, kind in zip(CROSSED, ("both", "items", "supports"), strict=True):
        mine, expected = row(results, target, "a"), getattr(single, kind)
        assert mine[NUMBERS].tolist() == pytest.approx(
            [expected.estimate, expected.half_width, expected.low, expected.high], rel=1e-9
        )
        mine, expected = row(results, target, "a", "b"), getattr(pair, kind)
        assert mine["half_width"] == pytest.approx(expected.half_width, rel=1e-9)
        assert mine["p"] == pytest.approx(expected.p_value, rel=1e-9)
    assert results.lines()[0].startswith("new items and supports: a and b are not significantly")


def test_targets_are_families_of_their_own():
    pairs = report_on(table(scores("abc"))).pairs
    for _, family in pairs.groupby("target"):
        assert np.allclose(family["p_holm"], stats.holm(family["p"].to_numpy()))
    one_pair_each = report_on(table(scores()))
    assert "Holm" not in one_pair_each._repr_html_()


@pytest.mark.parametrize(
    "change, options, target, sentence, settings",
    [
        (grouped, {}, "items", "10 groups", {"groups": np.arange(ITEMS) // 3}),
        (
            lambda frame: frame,
            {"pool": 20, "shots": 5},
            "both",
            "5 out of 20",
            {"pool": 20, "shots": 5},
        ),
        (
            lambda frame: grouped(frame[frame["support"] == "s0"]).drop(columns="support"),
            {},
            "items",
            "10 groups",
            {"groups": np.arange(ITEMS) // 3},
        ),
        (lambda frame: frame.rename(columns={"support": "seed"}), {}, "both", "new supports", {}),
    ],
    ids=["groups", "pool", "groups, one support", "seeds"],
)
def test_groups_pools_and_seeds_are_used(change, options, target, sentence, settings):
    values = scores("a")
    frame = change(table(values))
    results = report_on(frame, **options)
    grid = 100 * values["a"][: len(frame) // ITEMS]
    expected = getattr(stats.crossed_intervals(grid, bounds=(0, 100), **settings), target)
    words = dict(zip(("both", "items"), CROSSED))[target]
    assert row(results, words, "a")["half_width"] == pytest.approx(expected.half_width)
    assert any(sentence in line for line in results.applies)


@pytest.mark.parametrize(
    "missing, common_targets",
    [
        ("model == 'b' & support == 's0' & item == 'q3'", CROSSED),
        ("model == 'b' & item == 'q3'", CROSSED),
        ("model == 'b' & support == 's3'", ["new items"]),
    ],
)
def test_uneven_scores_apply_to_items_and_name_the_way_to_more(missing, common_targets):
    frame = table(scores())
    frame = frame.drop(frame.query(missing).index)
    results = report_on(frame)
    assert targets(results) == ["new items"] and "not every support" in results.applies[0]
    assert any("option common" in line for line in results.cautions)
    common = report_on(frame, common=True)
    assert targets(common) == common_targets
    if common_targets == CROSSED:
        assert row(common, "new items", "a")["n"] == ITEMS - 1


def test_an_item_in_two_groups_is_refused():
    frame = grouped(table(scores()))
    frame.loc[frame["item"].eq("q3") & frame["support"].eq("s2"), "group"] = 7
    with refuses("q3", "2 groups", r"ignore=\['COLUMN'\]"):
        report_on(frame)


def classes_of_items(rng, classes, items, spread):
    """Right answers of two methods that are equally good over all classes, and not within one."""
    ease = rng.normal(1, 0.7, (classes, 1)) + rng.normal(0, 1, (classes, items))
    skill = ease + rng.normal(0, spread, (2, classes, 1))
    return rng.random((2, classes, items)) < 1 / (1 + np.exp(-skill))


def table_of_classes(right):
    methods, labels, _ = right.shape
    frame = pd.DataFrame({name: right[i].ravel() for i, name in zip(range(methods), "ab")})
    frame["class"] = np.arange(labels).repeat(right.shape[2])
    return frame.assign(item=range(len(frame)))


@pytest.mark.parametrize("answers", [True, False])
def test_items_of_classes_have_a_target_for_each_of_the_two(answers):
    right = classes_of_items(np.random.default_rng(4), 10, 20, 1.0)
    values = right if answers else (right + 1) / 3
    results = report_on(table_of_classes(values))
    assert targets(results) == ["new classes", "new items of these classes"]
    assert results.pairs["n"].tolist() == [10, 200]
    assert results.pairs["unit"].tolist() == ["class", "item"]
    assert "take classes as the units" in results.applies[0]
    assert "McNemar's test" in results.pairs["test"][1] or not answers
    differences = 100 * values[0] - 100 * values[1]
    grouped = stats.crossed_intervals(differences.reshape(1, -1), groups=np.arange(10).repeat(20))
    assert results.pairs["p"][0] == pytest.approx(grouped.items.p_value, rel=1e-9)
    # A t-test of the classes' means, up to the factor of a jackknife.
    of_classes = scipy.stats.ttest_1samp(differences.mean(axis=1), 0)
    assert results.pairs["p"][0] == pytest.approx(of_classes.pvalue, abs=0.02)
    assert any("Only 10 classes" in line for line in results.cautions)


def test_verdicts_for_new_classes_are_wrong_in_5_percent_of_studies_where_items_are_in_20():
    rng = np.random.default_rng(5)
    labels = np.arange(10).repeat(30)
    wrong = np.zeros(2)
    studies = 300
    for _ in range(studies):
        a, b = classes_of_items(rng, 10, 30, 1.0).reshape(2, -1)
        by_class = stats.crossed_intervals((1.0 * a - b)[None], groups=labels, bounds=(-1, 1))
        by_item = stats.mcnemar(a, b)
        wrong += by_class.items.p_value < 0.05, by_item.p_value < 0.05
    assert wrong[0] / studies < 0.085 and wrong[1] / studies > 0.2


def test_items_that_are_numbered_within_classes_are_not_one_item():
    frame = table_of_classes(classes_of_items(np.random.default_rng(4), 10, 20, 1.0))
    results = report_on(frame)
    numbered = report_on(frame.assign(item=frame["item"] % 20))
    assert numbered.pairs["p"].tolist() == results.pairs["p"].tolist()
    assert any("numbered within classes" in line for line in numbered.reading)


def test_classes_that_are_no_clusters_of_items_are_not_the_sample():
    frame = table_of_classes(classes_of_items(np.random.default_rng(4), 2, 40, 0.0))
    two = report_on(frame)
    assert targets(two) == ["new items of these classes"]
    assert "say nothing about new classes" in two.applies[0]
    alone = report_on(frame.assign(**{"class": frame["item"]}))
    assert targets(alone) == [""] and "new classes" not in alone.applies[0]
    guesses = frame.melt(["item", "class"], var_name="method", value_name="correct")
    guesses["class"] = (guesses["class"] + (guesses["method"] == "b")) % 2  # what it answered
    results = report_on(guesses)
    assert targets(results) == [""] and any("another method" in line for line in results.reading)


def test_a_class_that_holds_nearly_all_items_shows_nothing_of_new_classes():
    frame = table_of_classes(classes_of_items(np.random.default_rng(4), 6, 40, 0.5))
    frame["class"] = frame["class"].where(frame["item"] % 40 == 0, 0)
    results = report_on(frame)
    assert targets(results) == ["new items of these classes"]
    assert "say nothing about new classes" in results.applies[0]
