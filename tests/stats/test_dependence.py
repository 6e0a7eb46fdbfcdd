"""Images that come in groups and classes that do: against leaving each group out again, and by simulation."""

from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest
from refusal import refuses

from fslcore.stats import jackknife_influence, three_intervals
from fslcore.stats.dependence import square, units_of, variances
from fslcore.tasks import sample_closed

LABELS = np.arange(6).repeat(4)
WAYS = 3
KIN = np.array([0, 0, 1, 1, 1, 2])  # group of each class


def every_task(labels=LABELS, ways=WAYS):
    """All 1-shot 1-query tasks: support and query (T, K)."""
    of_class = [list(permutations(np.flatnonzero(labels == c), 2)) for c in range(labels.max() + 1)]
    chosen = combinations(range(len(of_class)), ways)
    tasks = np.array(
        [pairs for classes in chosen for pairs in product(*(of_class[c] for c in classes))]
    )
    return tasks[..., 0], tasks[..., 1]


def squares_of_left_out(value, labels, groups):
    """Sum over groups of the squared change of the mean over classes when all images of the group are left out."""

    def mean(keep):
        return np.mean([value[keep & (labels == c)].mean() for c in np.unique(labels)])

    everything = np.ones(len(labels), bool)
    return sum((mean(everything) - mean(groups != g)) ** 2 for g in np.unique(groups))


GROUPS = {  # uneven, a pair and two single images, or a half: in each class its own, or the same in all
    "nested": np.tile([0, 0, 1, 2], 6) + 3 * LABELS,
    "crossed": np.tile([0, 0, 1, 2], 6),
    "partly crossed": np.tile([0, 0, 1, 2], 6) + 3 * (LABELS // 2),
}


@pytest.mark.parametrize("method", GROUPS)
@pytest.mark.parametrize("kin", [None, KIN], ids=["classes", "class groups"])
def test_against_leaving_groups_of_images_out(method, kin):
    """Where each image is right or wrong whatever the task, leaving its group out can be done by hand."""
    score_of_image = np.random.default_rng(3).normal(size=len(LABELS)) + LABELS
    support, query = every_task()
    groups, class_groups = GROUPS[method], None if kin is None else kin[LABELS]
    answers = score_of_image[query], support, query, LABELS
    intervals = three_intervals(*answers, groups=groups, class_groups=class_groups)
    ungrouped = three_intervals(*answers, class_groups=class_groups)
    of_groups = squares_of_left_out(score_of_image, LABELS, groups)
    cell = LABELS if kin is None else kin[LABELS]
    of_cells = squares_of_left_out(score_of_image, LABELS, groups * 100 + cell)
    assert intervals.image_variance == pytest.approx(of_groups, rel=0.01)
    added = intervals.class_variance - ungrouped.class_variance
    if method == "nested" or of_groups <= of_cells:
        is_least = intervals.class_variance == intervals.image_variance
        assert added == pytest.approx(0, abs=1e-9) or is_least
    else:
        assert added == pytest.approx(of_groups - of_cells, rel=0.02)
        assert kin is not None or added > 0.02 * ungrouped.class_variance


def test_against_leaving_groups_of_classes_out():
    """By the mean over all tasks that hold no class of the group, where classes add up to what a task gives."""
    rng = np.random.default_rng(1)
    support, query = every_task()
    scores = rng.normal(size=6)[LABELS[query]]
    intervals = three_intervals(scores, support, query, LABELS, class_groups=KIN[LABELS])
    left = [scores.mean() - scores[~(KIN[LABELS[query]] == g).any(axis=1)].mean() for g in range(3)]
    assert intervals.class_variance == pytest.approx(np.square(left).sum(), rel=0.02)
    order = rng.permutation(len(scores))
    images = np.concatenate([support, query], axis=1)[order]
    by_influence = jackknife_influence(
        scores.mean(axis=1)[order], images, LABELS, class_groups=KIN[LABELS]
    ).intervals()
    assert by_influence.class_variance == pytest.approx(intervals.class_variance, rel=0.03)
    assert by_influence.classes.df == pytest.approx(intervals.classes.df, rel=0.1)


@pytest.mark.parametrize("sizes", [[5, 5, 5], [10, 3, 2], [8, 7], [1] * 9])
def test_degrees_of_freedom_are_those_of_the_estimated_variance(sizes):
    """By Satterthwaite on effects drawn at random: twice the squared mean of a variance over its variance."""
    groups = np.arange(len(sizes)).repeat(sizes)
    n, rng = len(groups), np.random.default_rng(0)
    effect = rng.normal(size=(100_000, len(sizes)))
    share = np.array(sizes) / n
    of_one = ((share / (1 - share) * (effect - (effect @ share)[:, None])) ** 2).sum(axis=1)
    df = units_of(np.zeros(n, int), groups, None).freedom[0]
    assert df == pytest.approx(2 * of_one.mean() ** 2 / of_one.var(), rel=0.04)
    if len(set(sizes)) == 1:
        assert df == pytest.approx(len(sizes) - 1)


def test_degrees_of_freedom_of_several_classes_add_up():
    groups = np.tile(np.arange(3).repeat(5), 7) + 3 * np.arange(7).repeat(15)
    assert units_of(np.arange(7).repeat(15), groups, None).freedom[0] == pytest.approx(7 * 2)
    crossed = units_of(np.arange(7).repeat(15), groups % 3, None)
    assert crossed.freedom[:2] == (pytest.approx(2), pytest.approx(2))


@pytest.fixture(scope="module")
def run():
    """Tasks on 8 classes of 20 images, whose difficulty comes by the pair of classes and the five of images."""
    rng = np.random.default_rng(0)
    labels = np.arange(8).repeat(20)
    tasks = sample_closed(labels, tasks=600, ways=4, shots=2, queries=5, seed=1)
    chance = 0.6 + 0.3 * np.sin(labels // 2)[tasks.query]
    return 100.0 * (rng.random(tasks.query.shape) < chance), tasks.support, tasks.query, labels


def test_a_class_of_one_group_leaves_new_images_to_the_interval_for_classes(run):
    groups = np.arange(160) // 5
    sound = three_intervals(*run, groups=groups)
    groups[:20] = 0  # all of the first class
    intervals = three_intervals(*run, groups=groups)
    assert np.isfinite(sound.image_variance) and sound.images.half_width < sound.classes.half_width
    assert intervals.image_variance == np.inf and np.isfinite(intervals.class_variance)
    assert (
        intervals.images.half_width
        == intervals.classes.half_width
        == pytest.approx(sound.classes.half_width, rel=0.05)
    )
    groups[19] = 1000  # all but one
    assert three_intervals(*run, groups=groups).image_variance == np.inf
    groups[10:19] = 1000  # half of it: known
    assert np.isfinite(three_intervals(*run, groups=groups).image_variance)


def test_class_groups_of_a_difference_of_runs(run):
    values, support, query, labels = run
    images = np.concatenate([support, query], axis=1)
    pairs = [
        jackknife_influence(v, images, labels, groups=np.arange(160) // 5, class_groups=labels // 2)
        for v in (values.mean(axis=1), values.reshape(600, 4, 5).mean(axis=2).min(axis=1))
    ]
    gap = pairs[0] - pairs[1]
    assert np.array_equal(gap.groups, pairs[0].groups) and np.array_equal(
        gap.class_groups, pairs[0].class_groups
    )
    np.testing.assert_allclose(gap.classes, pairs[0].classes - pairs[1].classes)
    intervals = three_intervals(values - 20, support, query, labels, class_groups=labels // 2)
    assert gap.intervals().classes.df < 4 and intervals.classes.df < 4  # of four pairs
    with refuses("class_groups"):
        pairs[0] - jackknife_influence(
            values.mean(axis=1), images, labels, groups=np.arange(160) // 5
        )


def run_of(seed, labels=LABELS):
    rng = np.random.default_rng(seed)
    tasks = sample_closed(labels, ways=WAYS, shots=1, queries=1, tasks=400, seed=seed)
    return jackknife_influence(
        rng.normal(70, 9, 400), np.concatenate([tasks.support, tasks.query], axis=1), labels
    )


def test_a_difference_is_of_classes_that_either_run_holds():
    first, second = (replace(run_of(c), held=np.arange(6) != c) for c in (0, 5))
    assert (first - second).held.all()


def test_classes_of_which_nothing_is_known_leave_new_classes_open():
    intervals = run_of(0)
    intervals = replace(intervals, classes=np.full_like(intervals.classes, np.inf)).intervals()
    assert np.isinf(intervals.classes.half_width) and np.isfinite(intervals.images.half_width)
    assert intervals.classes.n == intervals.images.n
    assert intervals.classes.target == "new classes"


def test_intervals_scale_with_the_values_where_images_tell_nothing_alone():
    """Classes that are one group, but for one image: the variance of classes is bounded by nothing of the images."""
    labels = np.arange(8).repeat(4)
    tasks = sample_closed(labels, ways=WAYS, shots=1, queries=1, tasks=2000, seed=0)
    places = tasks.support, tasks.query, labels
    right = np.random.default_rng(0).random((2000, WAYS)) < 0.5 + 0.05 * labels[tasks.query]
    groups = np.concatenate([[8], labels[1:]])
    shares, percent = (
        three_intervals(unit * right, *places, groups=groups) for unit in (1.0, 100.0)
    )
    assert np.isinf(shares.image_variance) and shares.class_variance < 1
    assert percent.classes.half_width == pytest.approx(100 * shares.classes.half_width)


def test_the_noise_of_classes_is_of_all_that_their_variance_is_made_of():
    """Groups across classes: classes, plus images in groups, less images in cells, each with its products of parts."""
    rng = np.random.default_rng(0)
    units = units_of(LABELS, GROUPS["crossed"], None)
    image, of_class, cell = (changes @ changes.T for changes in rng.normal(size=(3, 10, 5)))
    from_images, from_classes = variances(
        units,
        lambda m: (3.0, image) if m is units.images else (1.0, cell),
        lambda m: (2.0, of_class),
    )
    assert (from_images.estimate, from_classes.estimate) == (3.0, 2.0 + 3.0 - 1.0)
    noises = square(image)[1], square(of_class + image - cell)[1]
    assert (from_images.noise, from_classes.noise) == pytest.approx(noises)


@pytest.mark.parametrize("of_class", [2.0, 0.3, -0.5])
def test_freedom_of_both_ways_is_satterthwaite_s(of_class):
    """Of a sum of two variances with degrees of freedom of their own; one that was estimated below 0 counts as 0."""
    units, parts = units_of(LABELS, GROUPS["crossed"], None), np.ones((10, 10))
    _, between_df, class_df = units.freedom
    _, variance = variances(
        units, lambda m: (3.0 if m is units.images else 1.0, parts), lambda m: (of_class, parts)
    )
    first, second = max(of_class, 0.0), 3.0 - 1.0
    assert variance.df == pytest.approx(
        (first + second) ** 2 / (first**2 / class_df + second**2 / between_df)
    )


@pytest.mark.parametrize(
    "groups, words",
    [
        ({"class_groups": np.arange(160) // 30}, "^class_groups .*got several for 1$"),
        ({"class_groups": np.zeros(160)}, "^class_groups .*at least 2"),
        ({"groups": np.arange(160) // 20}, "groups: each class is one group"),
        ({"groups": np.zeros(160)}, "^groups .*at least 2"),
    ],
)
def test_bad_groups_are_refused(run, groups, words):
    values, support, query, labels = run
    images = np.concatenate([support, query], axis=1)
    for call in (
        lambda: three_intervals(*run, **groups),
        lambda: jackknife_influence(values.mean(axis=1), images, labels, **groups),
    ):
        with refuses(words):
            call()


def test_values_without_a_query_are_needed_for_each(run):
    values, support, query, labels = run
    with refuses("^scores_without", "query", r"\(600, 20\), got \(600, 19\)"):
        jackknife_influence(
            values.mean(axis=1), support, labels, query=query, scores_without=values[:, 1:]
        )
