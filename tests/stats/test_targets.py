"""The three intervals: against enumeration, against re-evaluation, and by simulation."""

from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from refusal import refuses
from scipy import stats

from fslbook.beyond import coverage, worlds
from fslcore.stats import (
    Interval,
    closed_task_interval,
    image_intervals,
    jackknife_influence,
    new_run_intervals,
    plan_sample_size,
    three_intervals,
)
from fslcore.tasks import sample_closed, sample_open

CLASSES, IMAGES, WAYS = 4, 5, 3
LABELS = np.arange(CLASSES).repeat(IMAGES)
KINDS = "closed", "images", "classes"


def every_task(x, images, classes):
    """All 1-shot 1-query tasks of some of the images with exactly these classes: support, query, right or wrong."""
    pairs = [
        [(s, q) for s in images for q in images if LABELS[s] == LABELS[q] == c and s != q]
        for c in classes
    ]
    tasks = np.array(list(product(*pairs)))
    support, query = tasks[..., 0], tasks[..., 1]
    nearest = ((x[query][:, :, None] - x[support][:, None]) ** 2).sum(axis=3).argmin(axis=2)
    return support, query, nearest == np.arange(len(classes))


def mean_over_all(x, images, classes):
    """Each set of classes counts once, however many tasks the images at hand allow."""
    return np.mean(
        [every_task(x, images, chosen)[2].mean() for chosen in combinations(classes, WAYS)]
    )


def test_against_a_jackknife_that_evaluates_all_tasks_again():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CLASSES * IMAGES, 2)) + rng.normal(size=(CLASSES, 2))[LABELS]
    images, classes = range(len(x)), range(CLASSES)
    tasks = [every_task(x, images, chosen) for chosen in combinations(classes, WAYS)]
    support, query, right = map(np.concatenate, zip(*tasks))
    intervals = three_intervals(right, support, query, LABELS)
    without_image = [mean_over_all(x, np.delete(images, i), classes) for i in images]
    without_class = [mean_over_all(x, images, np.delete(classes, c)) for c in classes]
    by_images = np.reshape(without_image, (CLASSES, IMAGES)).var(axis=1).sum() * (IMAGES - 1)
    by_classes = np.var(without_class) * (CLASSES - 1)
    # All tasks at once stand for very many drawn at random, up to a noise of one in their number.
    assert intervals.closed.estimate == pytest.approx(mean_over_all(x, images, classes))
    assert intervals.image_variance == pytest.approx(by_images, rel=5e-3)
    assert intervals.class_variance == pytest.approx(by_classes, rel=5e-3)


@pytest.fixture(scope="module")
def run():
    """A test set, tasks on it, and which queries were right, in percent."""
    regime = worlds.Regime(10, 20, 5, 0.5)
    rng = np.random.default_rng(1)
    sample = worlds.sample(worlds.population(regime, 0.0, rng), rng)
    bank, labels = sample.banks[0], sample.labels

    def evaluated(tasks, seed=0):
        images = sample_closed(labels, tasks=tasks, seed=seed)
        return worlds.correct(bank, images), images.support, images.query, labels

    return evaluated


@pytest.mark.slow
def test_noise_of_few_tasks_is_subtracted_without_bias(run):
    many = three_intervals(*run(40_000))
    few = [three_intervals(*run(300, seed)) for seed in range(60)]
    for name in ("image_variance", "class_variance"):
        estimates = np.array([getattr(intervals, name) for intervals in few])
        standard_error = stats.sem(estimates)
        assert abs(estimates.mean() - getattr(many, name)) < 3 * standard_error
        assert standard_error < 0.1 * getattr(many, name)


def test_the_closed_interval_is_the_usual_one(run):
    values, *places = run(500)
    intervals = three_intervals(values, *places, bounds=(0, 100))
    assert intervals.closed == closed_task_interval(values.mean(axis=1), bounds=(0, 100))
    assert intervals.sampling_variance == pytest.approx(intervals.closed.standard_error**2)
    assert intervals.closed.half_width < intervals.images.half_width < intervals.classes.half_width
    for kind in KINDS:
        interval = getattr(intervals, kind)
        assert interval.estimate == intervals.closed.estimate
    assert all(interval.target == target for target, interval in intervals.by_target.items())
    assert [*intervals.by_target.values()] == [getattr(intervals, kind) for kind in KINDS]


@given(st.randoms(use_true_random=False), st.floats(-9, 9).map(lambda power: 10**power))
def test_order_names_and_unit_do_not_matter(run, random, unit):
    values, support, query, labels = run(200)
    rng = np.random.default_rng(random.randrange(2**32))
    tasks, places = rng.permutation(len(values)), rng.permutation(query.shape[1])
    names = rng.permutation([*"kbxaqzcwem"])
    number = rng.permutation(len(labels))  # of each image, in place of its own
    moved = three_intervals(
        unit * values[tasks][:, places],
        number[support[tasks]],
        number[query[tasks][:, places]],
        names[labels][np.argsort(number)],
    )
    intervals = three_intervals(values, support, query, labels)
    for name in ("image_variance", "class_variance"):
        expected = unit**2 * getattr(intervals, name)
        assert getattr(moved, name) == pytest.approx(expected, rel=1e-9)


def test_groups_of_one_image_or_one_class_change_nothing(run):
    values, support, query, labels = run(2000)
    alone = three_intervals(values, support, query, labels, groups=np.arange(len(labels)))
    intervals = three_intervals(values, support, query, labels)
    assert alone == intervals
    assert three_intervals(values, support, query, labels, class_groups=labels) == intervals
    answers = values.mean(axis=1), support, labels
    assert jackknife_influence(
        *answers, groups=np.arange(len(labels)), class_groups=labels
    ).intervals() == (jackknife_influence(*answers).intervals())


@pytest.mark.slow
@pytest.mark.parametrize("new", ["images", "classes"])
def test_variance_is_that_of_repeated_test_sets(new):
    sets = {"images": (2, 20), "classes": (40, 1)}[new]
    replicates = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, *sets, seed=7)
    shares = coverage.summary(replicates).set_index(["target", "interval"])["share"]
    assert 88 <= shares[f"new {new}", new] <= 99
    assert shares[f"new {new}", "closed"] < 60
    assert shares[f"new {new}", "paired"] <= 10
    repeated = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, 2, 1, seed=7)
    first = replicates[(replicates["world"] < 2) & (replicates["set"] == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(repeated, first)


def test_no_error_at_all_is_no_certainty(run):
    values, support, query, labels = run(50)
    right = np.full(values.shape, 100)
    for groups, units in ((None, 10), (np.arange(len(labels)) % 4, 4)):
        intervals = three_intervals(right, support, query, labels, groups=groups, bounds=(0, 100))
        assert intervals.closed.high == intervals.classes.high == 100
        # As if one more class were all wrong.
        assert intervals.classes.low == pytest.approx(100 * units / (units + 1))
        assert intervals.classes.low <= intervals.images.low <= intervals.closed.low
    assert str(intervals).count(", few errors)") == 3
    wrong = three_intervals(0 * right, support, query, labels, bounds=(0, 1)).classes
    assert (wrong.low, wrong.high) == (0, pytest.approx(1 / 11))
    equal_methods = three_intervals(0 * right, support, query, labels, bounds=(-1, 1)).classes
    assert equal_methods.high == -equal_methods.low == pytest.approx(1 - 0.025**0.1)
    assert not equal_methods.few_errors


def test_equal_values_count_the_units_of_each_target(run):
    values, support, query, labels = run(50)
    answers = np.full(values.shape, 0.1), support, query, labels
    intervals = three_intervals(*answers, bounds=(-1, 1))
    p_values = [getattr(intervals, kind).p_value for kind in KINDS]
    # There are 10 classes, and more images than tasks.
    assert p_values == pytest.approx([min(2 * (1 / 1.1) ** units, 1) for units in (50, 50, 10)])
    assert intervals.classes.low <= intervals.images.low <= intervals.closed.low
    assert three_intervals(*answers).classes.p_value == 1


def test_how_many_units_are_held_at_once_changes_nothing(run, monkeypatch):
    at_once = three_intervals(*run(400))
    monkeypatch.setattr(image_intervals, "AT_ONCE", 7)
    in_parts = three_intervals(*run(400))
    assert in_parts.image_variance == pytest.approx(at_once.image_variance, rel=1e-12)
    assert in_parts.classes.half_width == pytest.approx(at_once.classes.half_width, rel=1e-12)


def test_tasks_that_share_no_image_are_sent_to_the_open_interval():
    labels = np.arange(3).repeat(80)
    tasks = sample_open(labels, ways=3, shots=2, queries=1)
    with refuses("support and query", "none", "open_task_interval"):
        three_intervals(np.ones(tasks.query.shape), tasks.support, tasks.query, labels)
    with refuses("images", "none", "two tasks"):
        jackknife_influence(np.ones(len(tasks)), tasks.support, labels)


def moved(x, support, query, steps):
    """Right or wrong, where the class means first move towards all queries of the task (soft k-means)."""
    means, queries = x[support], x[query]
    for _ in range(steps):
        share = np.exp(-2 * ((queries[:, :, None] - means[:, None]) ** 2).sum(axis=3))
        share /= share.sum(axis=2, keepdims=True)
        sums = np.einsum("tqk,tqd->tkd", share, queries)
        means = (x[support] + 5 * sums) / (1 + 5 * share.sum(axis=1)[..., None])
    nearest = ((queries[:, :, None] - means[:, None]) ** 2).sum(axis=3).argmin(axis=2)
    return nearest == np.arange(support.shape[1]).repeat(query.shape[1] // support.shape[1])


def every_task_of_two():
    """All 2-way 1-shot 2-query tasks in random order: support (T, 2) and query (T, 4)."""
    of_class = [
        [(s, *q) for s in images for q in combinations(np.delete(images, s % IMAGES), 2)]
        for images in np.arange(len(LABELS)).reshape(CLASSES, IMAGES)
    ]
    tasks = [pair for classes in combinations(of_class, 2) for pair in product(*classes)]
    tasks = np.random.default_rng(0).permutation(tasks)
    return tasks[..., 0], tasks[..., 1:].reshape(len(tasks), -1)


def left_out_variances(accuracy, support, query):
    """Jackknife variances of a mean, with each pair of classes at equal weight, from images and from classes."""
    held = np.concatenate([support, query], axis=1)
    pairs, pair = np.unique(LABELS[support], axis=0, return_inverse=True)

    def mean(is_left):
        return np.bincount(pair[is_left], accuracy[is_left]) / np.bincount(pair[is_left])

    images = [mean(~(held == image).any(axis=1)).mean() for image in range(len(LABELS))]
    by_pair = mean(np.ones(len(pair), bool))
    classes = [by_pair[~(pairs == c).any(axis=1)].mean() for c in range(CLASSES)]
    return (
        (1 - 1 / IMAGES) * np.square(accuracy.mean() - images).sum(),
        (1 - 1 / CLASSES) * np.square(accuracy.mean() - classes).sum(),
    )


@pytest.mark.parametrize("steps", [0, 3])
def test_of_transductive_learners_what_an_image_changes_in_other_answers_counts(steps):
    """Summed over four test sets, against leaving each image and class out of all tasks."""
    support, query = every_task_of_two()
    held = np.concatenate([support, query], axis=1)
    variances = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(len(LABELS), 2)) + 0.9 * rng.normal(size=(CLASSES, 2))[LABELS]
        right = moved(x, support, query, steps)
        accuracy = right.mean(axis=1)
        single = three_intervals(right, support, query, LABELS)
        joint = three_intervals(right, support, query, LABELS, transductive=True)
        assert joint.closed == single.closed
        by_images, by_classes = left_out_variances(accuracy, support, query)
        # The variance from classes is no less than that from images, which may be the larger.
        has_classes = joint.class_variance > joint.image_variance
        variances.append(
            [
                by_images,
                single.image_variance,
                joint.image_variance,
                jackknife_influence(accuracy, held, LABELS).intervals().image_variance,
                has_classes * by_classes,
                has_classes * joint.class_variance,
            ]
        )
    by_images, single, joint, by_influence, by_classes, of_classes = np.sum(variances, axis=0)
    assert [joint, by_influence] == pytest.approx([by_images] * 2, rel=0.06)
    assert of_classes == pytest.approx(by_classes, rel=0.01)
    if steps:
        assert single < 0.75 * by_images
    else:
        assert single == pytest.approx(by_images, rel=0.03)


def test_true_and_false_have_bounds(run):
    right, *places = run(100)
    for answers in (right > 0, right < 0, right >= 0):  # some, none and all of them right
        assert three_intervals(answers, *places).classes.bounds == (0, 1)
    assert three_intervals(1.0 * (right > 0), *places).classes.bounds is None


def test_near_a_bound_the_interval_for_new_classes_holds_one_more_class_at_the_other():
    def ends(mean, half, bounds=(0, 100), classes=12, target="new classes"):
        interval = Interval(mean, half, 0.95, 600, target, 11.0, classes, bounds, classes)
        return interval.low, interval.high

    assert ends(100, 0)[0] == pytest.approx(100 * 12 / 13)
    # Of many classes without an error the 600 tasks decide.
    assert ends(100, 0, classes=1000)[0] == pytest.approx(100 * 0.025 ** (1 / 600))
    # No jump where the first errors come, and from a tenth on there is nothing.
    for mean, share in ((99.999, 0.9999), (99, 0.9), (95, 0.5)):
        assert ends(mean, 1e-5)[0] == pytest.approx(mean - share * mean / 13)
        assert ends(mean, 1e-5)[1] == pytest.approx(mean, abs=2e-5)
        mirrored = ends(-mean, 1e-5, (-100, 0))
        assert mirrored == pytest.approx(tuple(-end for end in reversed(ends(mean, 1e-5))))
        low, high = ends(mean / 100, 1e-7, (0, 1))
        assert (100 * low, 100 * high) == pytest.approx(ends(mean, 1e-5))
    assert ends(1.0, 1e-5)[1] == pytest.approx(1 + 0.9 * 99 / 13)
    # Farther off, without bounds, and for new images alone, it changes nothing; nor does it narrow anything.
    for mean, half, bounds in ((89.9, 0.1, (0, 100)), (99.9, 0.1, None), (99.0, 20.0, (0, 100))):
        assert ends(mean, half, bounds) == ends(mean, half, bounds, None)


@pytest.mark.parametrize("share, count", [(0.02, 60), (0.04, 60), (0.1, 20), (0.15, 12)])
def test_rare_hard_classes_near_the_ceiling_are_not_excluded(share, count):
    """Classes drawn again and again, some of them at 60 %, the others near 100 %."""
    rng = np.random.default_rng(0)
    truth = 99.9 - 39.9 * share
    extended = usual = 0
    for _ in range(400):
        easy = rng.random(count) >= share
        accuracy = np.where(easy, rng.normal(99.9, 0.05, count).clip(99.7, 100), 60.0)
        half = stats.t.ppf(0.975, count - 1) * stats.sem(accuracy)
        interval = Interval(
            accuracy.mean(), half, 0.95, 600, "new classes", count - 1, None, (0, 100)
        )
        usual += interval.low <= truth <= interval.high
        interval = replace(interval, classes=count)
        extended += interval.low <= truth <= interval.high
    assert extended > 0.92 * 400 > usual


def test_a_plan_is_of_a_difference():
    labels = np.arange(6).repeat(12)
    tasks = sample_closed(labels, tasks=50, shots=1, queries=3)
    right = np.random.default_rng(0).integers(0, 2, (2, *tasks.query.shape))
    places = tasks.support, tasks.query, labels
    shape = dict(images_per_class=12, n_classes=6, ways=5, shots=1, difference=0.1)
    assert plan_sample_size(three_intervals(right[0] - right[1], *places), **shape).n_tasks > 1
    with refuses("^pilot .*difference", "from 0 to 1"):
        plan_sample_size(three_intervals(right[0] == 1, *places), **shape)


def tiny(spanning, seed, count=5):
    """Images of three classes, an image a cell: features, classes and groups, which may span classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(3).repeat(count)
    groups = np.arange(len(labels))
    if spanning:
        groups = np.concatenate([rng.permutation(count + 2)[:count] for _ in range(3)])
    style = rng.normal(size=(groups.max() + 1, 2))[groups]
    x = rng.normal(size=(3, 2))[labels] + 0.8 * style + 0.6 * rng.normal(size=(len(labels), 2))
    return x, labels, groups


def all_apart(x, labels, groups, images, steps):
    """Every 2-way 1-shot 1-query task of these images that keeps groups apart: images, right or wrong, chance."""
    places, chances = [], []
    for classes in combinations(range(3), 2):
        supports = list(product(*([i for i in images if labels[i] == c] for c in classes)))
        for support in supports:
            held = groups[list(support)]
            free = [i for i in images if groups[i] not in held]
            queries = list(product(*([i for i in free if labels[i] == c] for c in classes)))
            places += [support + query for query in queries]
            chances += [1 / (3 * len(supports) * len(queries))] * len(queries)
    support, query = np.split(np.array(places), 2, axis=1)
    return support, query, moved(x, support, query, steps), np.array(chances)


@pytest.mark.parametrize("spanning, steps", list(product([False, True], [0, 3])))
def test_tasks_kept_apart_against_all_tasks_without_each_group(spanning, steps):
    estimates, truths = [], []
    for seed in range(3):
        x, labels, groups = tiny(spanning, seed)
        *tasks, chance = all_apart(x, labels, groups, range(len(x)), steps)
        mean = tasks[2].mean(axis=1) @ chance
        changes = []
        for group in np.unique(groups):
            *_, right, left = all_apart(x, labels, groups, np.flatnonzero(groups != group), steps)
            changes.append(mean - right.mean(axis=1) @ left)
        truths.append((1 - 1 / 5) * np.square(changes).sum())
        drawn_tasks = np.random.default_rng(seed).choice(len(chance), 40_000, p=chance)
        support, query, right = (array[drawn_tasks] for array in tasks)
        kin = dict(groups=groups, group_disjoint=True, transductive=steps > 0)
        intervals = three_intervals(right, support, query, labels, **kin)
        assert intervals.closed.estimate == pytest.approx(mean, abs=0.01)
        estimates.append(intervals.image_variance)
    assert estimates == pytest.approx(truths, rel=0.06)
    assert sum(estimates) == pytest.approx(sum(truths), rel=0.03)


def test_groups_of_which_tasks_leave_one_are_told():
    """Four groups, with images in every class: the supports of three classes hold three, and a query is of the last."""
    labels, groups = np.arange(6).repeat(8), np.tile(np.arange(4).repeat(2), 6)
    tasks = sample_closed(labels, tasks=100, ways=3, shots=1, queries=1, groups=groups)
    answers = np.ones((100, 3)), tasks.support, tasks.query, labels
    with refuses("^groups: ", "too few"):
        three_intervals(*answers, groups=groups, group_disjoint=True)


def test_the_influence_of_tasks_kept_apart_agrees_with_the_three_intervals():
    rng = np.random.default_rng(0)
    labels = np.arange(6).repeat(40)
    groups = labels * 100 + rng.integers(0, 14, 240)
    tasks = sample_closed(labels, tasks=20_000, ways=4, shots=1, queries=3, groups=groups)
    skill = rng.normal(size=600)[groups]
    right = 100.0 * (skill[tasks.query] + rng.normal(size=tasks.query.shape) > -0.5)
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    kin = dict(groups=groups, group_disjoint=True)
    exact = three_intervals(right, tasks.support, tasks.query, labels, **kin)
    intervals = jackknife_influence(right.mean(axis=1), images, labels, **kin).intervals()
    assert intervals.image_variance == pytest.approx(exact.image_variance, rel=0.15)
    assert intervals.class_variance == pytest.approx(exact.class_variance, rel=0.15)


def test_classes_of_one_kind_count_together_where_groups_are_apart():
    labels, groups = np.arange(6).repeat(8), np.arange(48) // 2
    kinds = labels // 2
    tasks = sample_closed(labels, groups=groups, ways=3, shots=1, queries=2, tasks=600, seed=0)
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    values = np.random.default_rng(0).normal(70, 9, 600)
    values += 5 * (kinds[tasks.support] == 1).sum(axis=1)  # classes of one kind are alike
    single, together = (
        jackknife_influence(
            values, images, labels, groups=groups, class_groups=class_groups, group_disjoint=True
        ).intervals()
        for class_groups in (None, kinds)
    )
    assert together.image_variance == single.image_variance
    assert together.class_variance > 1.3 * single.class_variance > 0


def test_groups_are_refused_for_what_the_tasks_hold():
    """A class of two groups that no task holds does not tell what other groups of the held classes would be like."""
    labels = np.arange(6).repeat(8)
    groups = labels + 10 * (np.arange(48) >= 44)  # the last class alone has two
    images = sample_closed(labels[labels < 5], ways=3, shots=1, queries=2, tasks=60, seed=0)
    all_images = np.concatenate([images.support, images.query], axis=1)
    with refuses("each class", "group"):
        jackknife_influence(
            np.random.default_rng(0).normal(70, 9, 60), all_images, labels, groups=groups
        )


def test_bounds_are_those_that_are_given(run):
    values, *places = run(200)
    percent, shares = (
        three_intervals(values / unit, *places, bounds=(0, 100 / unit)) for unit in (1, 100)
    )
    assert percent.images.bounds == percent.classes.bounds == (0, 100)
    assert shares.classes.low == pytest.approx(percent.classes.low / 100)
    without = three_intervals(values, *places).images
    assert without.bounds is None and without.high == without.estimate + without.half_width
    from_tasks = jackknife_influence(values.mean(axis=1), places[0], places[2])
    assert from_tasks.intervals(bounds=(0, 100)).images.bounds == (0, 100)
    with refuses("^mean", "from 0 to 1", "got 52"):
        from_tasks.intervals(bounds=(0, 1))


@pytest.mark.parametrize("sizes", [{}, {"groups": 2}, {"class_groups": 24}], ids=str)
@pytest.mark.parametrize("is_disjoint", [False, True])
@pytest.mark.parametrize("function", ["three_intervals", "influence"])
def test_images_of_classes_that_no_task_holds_do_not_matter(function, is_disjoint, sizes):
    """With seven images more, of a class before all others."""
    sizes = sizes | {"groups": 2} if is_disjoint else sizes
    labels = np.arange(8).repeat(12)
    groups = {name: np.arange(96) // size for name, size in sizes.items()}
    drawn_by = groups["groups"] if is_disjoint else None
    tasks = sample_closed(labels, tasks=60, ways=4, shots=2, queries=3, groups=drawn_by)
    right = np.random.default_rng(0).random(tasks.query.shape) < 0.4 + 0.06 * labels[tasks.query]

    def intervals(extra):
        by_image = {name: np.r_[np.full(extra, -1), group] for name, group in groups.items()}
        arguments = np.r_[np.full(extra, -1), labels], by_image | {"group_disjoint": is_disjoint}
        support, query = tasks.support + extra, tasks.query + extra
        if function == "three_intervals":
            return three_intervals(1.0 * right, support, query, arguments[0], **arguments[1])
        images = np.concatenate([support, query], axis=1)
        return jackknife_influence(
            right.mean(axis=1), images, arguments[0], **arguments[1]
        ).intervals()

    for first, second in zip(*(map(vars(intervals(extra)).get, KINDS) for extra in (0, 7))):
        assert (first.estimate, first.half_width, first.df) == pytest.approx(
            (second.estimate, second.half_width, second.df)
        )
        assert first.n == second.n and np.isfinite(first.half_width)


BAD_TASKS = [
    (lambda a: {"scores": a["scores"][:, 1:]}, r"scores, query .*\(20, 8\), \(20, 9\)"),
    (lambda a: {"query": np.where(a["query"] > 40, -1, a["query"])}, "without padding"),
    (lambda a: {"labels": a["labels"][:40]}, "images 0 to 39, .*got 0 to 47"),
    (
        lambda a: {"query": np.concatenate([a["support"][:, :1], a["query"][:, 1:]], axis=1)},
        "an image twice",
    ),
    (
        lambda a: {name: a[name][:, 1:] for name in ("query", "scores")},
        "^query .* equal numbers .*3 classes",
    ),
    (lambda a: other_support(a, [0, 8, 9, 10, 16, 17]), "^support .* equal numbers .*3 classes"),
    (lambda a: other_support(a, [0, 1, 2, 3, 8, 9]), "^support .* equal numbers .*3 classes"),
    (lambda a: {"support": np.roll(a["support"], 1, axis=0)}, "same classes|an image twice"),
    (
        lambda a: {name: a[name][:19] for name in ("scores", "support", "query")},
        "^tasks .*20.*got 19",
    ),
]


def other_support(arguments, images):
    """With these support images in the last task, and queries that are none of them."""
    support, query = (arguments[name].copy() for name in ("support", "query"))
    support[-1], query[-1] = images, [5, 6, 7, 13, 14, 15, 21, 22, 23]
    return {"support": support, "query": query}


@pytest.mark.parametrize("change, words", BAD_TASKS)
def test_bad_tasks_are_refused(change, words):
    labels = np.arange(6).repeat(8)
    tasks = sample_closed(labels, tasks=20, ways=3, shots=2, queries=3)
    arguments = dict(
        scores=np.ones((20, 9)), support=tasks.support, query=tasks.query, labels=labels
    )
    with refuses(words):
        three_intervals(**arguments | change(arguments))


def test_a_class_too_small_to_leave_an_image_out():
    labels = np.arange(3).repeat(4)
    tasks = sample_closed(labels, tasks=20, ways=2, shots=3, queries=1)
    with refuses("class 0", r"\b5 images", "got 4"):
        three_intervals(np.ones((20, 2)), tasks.support, tasks.query, labels)


def test_tasks_that_are_not_kept_apart_are_refused():
    labels, groups = np.arange(4).repeat(12), np.arange(48) // 2
    ordinary, is_disjoint = (
        sample_closed(labels, tasks=100, ways=3, shots=1, queries=3, groups=kept_groups)
        for kept_groups in (None, groups)
    )
    shared = [set(groups[s]) & set(groups[q]) for s, q in zip(ordinary.support, ordinary.query)]
    first = next(task for task, names in enumerate(shared) if names)
    twice = is_disjoint.query.copy()
    twice[:, 1] = twice[:, 0] ^ 1  # the other image of the same group
    for tasks, given_groups, words in (
        (
            (ordinary.support, ordinary.query),
            groups,
            f"groups: {min(shared[first])} is in .* of task {first}, which",
        ),
        ((ordinary.support, ordinary.query), None, "^groups .*group_disjoint=True.*None"),
        ((is_disjoint.support, twice), groups, "two images of a group in a class"),
    ):
        with refuses(words):
            three_intervals(
                np.ones(ordinary.query.shape),
                *tasks,
                labels,
                groups=given_groups,
                group_disjoint=True,
            )


def test_variances_of_runs_images_and_classes_add_up():
    """A query counts for itself, whatever its support, and runs are better on all images by the same amount."""
    labels = np.arange(3).repeat(4)
    pairs = [list(permutations(np.flatnonzero(labels == c).tolist(), 2)) for c in range(3)]
    tasks = [task for c, d in combinations(range(3), 2) for task in product(pairs[c], pairs[d])]
    support, query = np.tile(tasks, (20, 1, 1)).swapaxes(0, 2).swapaxes(1, 2)
    ease = np.random.default_rng(8).uniform(0, 4, 12) + np.array([70.0, 73, 79])[labels]
    runs = np.array([-2.0, 0.0, 1.0, 3.0])
    values = ease[query] + runs[:, None, None]
    found = new_run_intervals(values, support, query, labels)
    influence = jackknife_influence(ease[query].mean(axis=1), np.hstack([support, query]), labels)
    by_class = ease.reshape(3, 4)
    of_images = by_class.var(axis=1, ddof=1).sum() / 4 / 9
    of_classes = by_class.mean(axis=1).var(ddof=1) / 3
    variances = influence.intervals()
    assert variances.image_variance == pytest.approx(of_images, rel=0.1)
    assert variances.class_variance == pytest.approx(of_classes, rel=0.1)
    for interval, variance in ((found.images, of_images), (found.classes, of_classes)):
        error = np.sqrt(variance + runs.var(ddof=1) / 4)
        assert interval.interval.standard_error == pytest.approx(error, rel=0.02)
