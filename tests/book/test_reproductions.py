"""How unusual a gap to a paper is, by what differs: counts on tables with a known answer, and widths of the library."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, ttest_1samp

from fslbook.beyond import reproductions, runs
from fslbook.beyond.reproductions import KINDS, TARGET
from fslcore import stats

AUTHORS, SEEDS, TWO = KINDS[3].name, KINDS[2].name, KINDS[6].name


def pair(kind, difference, laboratory="L", plus_minus=np.nan, reproduced=np.nan):
    return {
        "pair_kind": kind,
        "difference": difference,
        "laboratory": laboratory,
        "plus_minus": plus_minus,
        "plus_minus_reproduced": reproduced,
    }


def percentile(gap, rows, kind):
    table = pd.DataFrame(rows, columns=["kind", "difference", "group"])
    return {found.kind: found for found in reproductions.percentiles(gap, table)}[kind]


def test_a_gap_is_counted_on_its_side_with_ties():
    rows = [(TARGET, d, g) for d, g in [(-3.0, "A"), (-1.1, "A"), (1.1, "A"), (2.0, "B")]]
    below = percentile(48.0 - 49.1, rows, TARGET)  # -1.1000000000000014
    assert (below.farther, below.pairs, below.percentile) == (2, 4, 50)
    assert (below.groups_farther, below.groups) == (1, 2)
    assert below.with_yours == pytest.approx(100 * (2 / 3 + 0 + 1) / 3)
    assert percentile(1.2, rows, TARGET).farther == 1
    assert percentile(0.0, rows, TARGET).farther == 2


def test_half_of_the_differences_without_an_original_count_on_each_side():
    rows = [(TWO, 1.0, "A and B"), (TWO, 2.0, "A and C"), (TWO, 3.0, "A and C")]
    for gap in (-2.0, 2.0):
        found = percentile(gap, rows, TWO)
        assert found.farther == 2 and found.percentile == pytest.approx(100 / 3)
        assert found.with_yours == pytest.approx(100 / 3)  # half of (0 + 1 + 1) / 3


def test_a_kind_without_pairs_has_no_share():
    found = percentile(-1.0, [(TWO, 1.0, "A and B")], AUTHORS)
    assert found.pairs == 0 and np.isnan(found.percentile)
    table = pd.DataFrame([(TWO, 1.0, "A and B")], columns=["kind", "difference", "group"])
    text = reproductions.percentile_table([1.0], table)
    assert text.loc[AUTHORS, "−1"] == "—" and text.loc[TWO, "−1"] == "50 %"


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.0, 0.6])
def test_a_share_with_yours_is_rarely_small_where_nothing_is_wrong(scatter):
    """Laboratories of about the sizes that the file has, which differ in mean and in spread."""
    rng = np.random.default_rng(7)
    sizes = [66, 10, 8, 4, 2, 2, 2, 2]
    small, pooled = [], []
    for _ in range(400):
        spreads = np.exp(scatter * rng.normal(size=len(sizes) + 1))
        centres = 1.5 * rng.normal(size=len(sizes) + 1) * spreads
        *others, yours = [rng.normal(c, s, n) for c, s, n in zip(centres, spreads, [*sizes, 1])]
        groups = np.repeat([*"ABCDEFGH"], sizes)
        rows = pd.DataFrame({"difference": np.concatenate(others), "group": groups})
        found = reproductions._percentile(float(yours[0]), KINDS[4], rows)
        small.append(found.with_yours <= 15)
        pooled.append(found.percentile <= 5)
    assert np.mean(small) < 0.3  # on either side
    assert np.mean(pooled) > 0.15  # where the same share of independent pairs is 0.1


def test_differences_are_of_each_kind_and_leave_out_shared_networks():
    rows = [pair("paper", -1.0), pair("authors' code", -2.0, "M"), pair("third party", 9.0)]
    two = pd.DataFrame([{"laboratory": "A", "other": "B", "difference": -4.0}])
    table = reproductions.differences(pd.DataFrame(rows), two).set_index("kind")
    assert table.loc[[TARGET, AUTHORS, TWO], "difference"].tolist() == [-1.0, -2.0, 4.0]
    assert table.loc[TWO, "group"] == "A and B" and 9.0 not in table["difference"].tolist()
    for kind in KINDS[:2]:
        groups = table.loc[kind.name, "group"]
        assert "baseline" in set(groups) and not {"leo", "mtl"} & set(groups)
        assert (groups == "protonet").sum() == 10  # of five trainings
    assert 0.39 in table.loc[SEEDS, "difference"].tolist()


def test_published_seeds_have_their_source_and_two_trainings_or_more():
    seeds = reproductions.published_seeds()
    assert seeds.notna().all(axis=None) and seeds["mean"].between(1, 100).all()
    recipes = seeds.groupby(["source", "method", "dataset", "ways", "shots"])
    assert (recipes["run"].nunique() == recipes.size()).all() and recipes.size().min() >= 2


def test_agreement_is_within_both_half_widths():
    rows = [
        pair("paper", 1.0, plus_minus=0.6, reproduced=0.8),
        pair("paper", -1.01, plus_minus=0.6, reproduced=0.8),
        pair("paper", 0.1, plus_minus=0.6),
    ]
    two = pd.DataFrame([{"laboratory": "A", "other": "B", "difference": 5.0, "plus_minus": 0.7}])
    found = reproductions.agreement(pd.DataFrame(rows), two)
    assert found.loc[TARGET, ["pairs", "within", "share"]].tolist() == [2, 1, 50]
    assert found.loc[TWO, ["pairs", "within", "rms"]].tolist() == [1, 0, 5]
    assert found.loc[AUTHORS, "pairs"] == 0


def test_other_tasks_give_the_p_value_of_the_difference():
    two_sided = 2 * reproductions.of_tasks(-1.2, 0.8, 0.6) / 100
    assert two_sided == pytest.approx(0.0186, abs=0.0002)  # 1.2 ± 1.0: z = 2.352


@pytest.mark.parametrize("plus_minus, dataset", [(0.8, "miniImageNet"), (0.8, "CUB")])
def test_split_widths_are_those_of_from_printed(plus_minus, dataset):
    images, classes = reproductions.TEST_SPLITS[dataset]
    found = reproductions.split_widths(48.7, plus_minus, 600, dataset, 1)
    figure = (48.7, plus_minus)
    split = dict(images=images, classes=classes, shots=1)
    reading = stats.compare_printed(figure, figure, 600, **split).readings[0]
    sizes = {"images": images // 80, "classes": classes // 5}
    for target, m in sizes.items():
        widest = getattr(reading, target).widest  # of a difference, with more degrees of freedom
        error = widest.standard_error / np.sqrt(2)
        own_error = getattr(found, target) / t.ppf(0.975, m - 1)
        assert own_error == pytest.approx(error, rel=0.002)
    assert found.tasks == pytest.approx(plus_minus)
    assert reproductions.split_widths(48.7, None, 600, "elsewhere", 1).images is None


def test_training_widths_are_students():
    means = [48.7, 49.4, 47.9]
    found = reproductions.training_widths(means, 0.9)
    ends = ttest_1samp(means, 0).confidence_interval(0.9)
    assert found.mean - found.new_runs == pytest.approx(ends.low)
    accuracies = np.array(means)[:, None] + np.random.default_rng(0).normal(0, 8, 400)
    runs = stats.new_run_interval(accuracies, confidence_level=0.9)
    assert found.prediction == pytest.approx(runs.prediction_half_width)
    assert reproductions.training_widths(means[:1]) is None


def test_the_largest_usual_difference_holds_its_share():
    rows = pd.DataFrame({"kind": TARGET, "difference": np.arange(-100.0, 1.0), "group": "A"})
    assert reproductions.largest_usual(rows) == 95
    assert np.isnan(reproductions.largest_usual(rows, TWO))


def test_a_sentence_of_trainings_has_the_intervals_of_its_three_targets_in_order():
    right = runs.answers("clipart", "protonet")
    places = runs.places("clipart", tasks=right.shape[1])
    found = stats.new_run_intervals(right, **places, confidence_level=0.9)
    text = reproductions.run_sentence(found, "ProtoNet", "tasks")
    order = [
        text.index(f"± {part.interval.half_width:.1f} ")
        for part in (found.closed, found.images, found.classes)
    ]
    assert order == sorted(order) and f"{right.mean():.1f} %" in text
