"""The three intervals: against enumeration, against re-evaluation, and by simulation."""

import sys
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from fslbook.beyond import coverage, worlds
from fslcore.errors import InputError
from fslcore.stats import Interval, closed_interval, influence, plan, three_intervals
from fslcore.tasks import sample_closed, sample_open

CLASSES, IMAGES, WAYS = 4, 5, 3
LABELS = np.arange(CLASSES).repeat(IMAGES)


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
    support, query, right = (np.concatenate(arrays) for arrays in zip(*tasks))
    intervals = three_intervals(right, support, query, LABELS)

    without_image = [mean_over_all(x, [j for j in images if j != i], classes) for i in images]
    without_class = [mean_over_all(x, images, [k for k in classes if k != c]) for c in classes]
    image = np.array(without_image).reshape(CLASSES, IMAGES).var(axis=1).sum() * (IMAGES - 1)
    # all tasks at once stand for very many drawn at random, up to a noise of one in their number
    assert intervals.closed.mean == pytest.approx(mean_over_all(x, images, classes))
    assert intervals.image_variance == pytest.approx(image, rel=5e-3)
    assert intervals.class_variance == pytest.approx(
        np.var(without_class) * (CLASSES - 1), rel=5e-3
    )


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
        values = np.array([getattr(r, name) for r in few])
        standard_error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - getattr(many, name)) < 3 * standard_error
        assert standard_error < 0.1 * getattr(many, name)


def test_the_closed_interval_is_the_usual_one(run):
    values, *places = run(500)
    intervals = three_intervals(values, *places, bounds=(0, 100))
    assert intervals.closed == closed_interval(values.mean(axis=1), bounds=(0, 100))
    assert intervals.sampling_variance == pytest.approx(
        (intervals.closed.half_width / 1.959964) ** 2, rel=1e-5
    )
    assert intervals.closed.half_width < intervals.images.half_width < intervals.classes.half_width
    assert [r.kind for r in (intervals.closed, intervals.images, intervals.classes)] == [
        "closed",
        "images",
        "classes",
    ]
    assert {r.mean for r in (intervals.closed, intervals.images, intervals.classes)} == {
        values.mean(axis=1).mean()
    }


@given(st.randoms(use_true_random=False), st.floats(-9, 9).map(lambda power: 10**power))
def test_order_names_and_unit_do_not_matter(run, random, unit):
    values, support, query, labels = run(200)
    rng = np.random.default_rng(random.randrange(2**32))
    tasks, places = rng.permutation(len(values)), rng.permutation(query.shape[1])
    names = np.array(["k", "b", "x", "a", "q", "z", "c", "w", "e", "m"])[rng.permutation(10)]
    images = rng.permutation(len(labels))  # image i is called images[i] now
    renamed = names[labels][np.argsort(images)]
    intervals = three_intervals(
        unit * values[tasks][:, places],
        images[support[tasks]],
        images[query[tasks][:, places]],
        renamed,
    )
    plain_values = three_intervals(values, support, query, labels)
    assert intervals.image_variance == pytest.approx(
        unit**2 * plain_values.image_variance, rel=1e-9
    )
    assert intervals.class_variance == pytest.approx(
        unit**2 * plain_values.class_variance, rel=1e-9
    )


def test_groups_of_one_image_or_one_class_change_nothing(run):
    values, support, query, labels = run(2000)
    alone = three_intervals(values, support, query, labels, groups=np.arange(len(labels)))
    intervals = three_intervals(values, support, query, labels)
    assert alone == intervals
    assert three_intervals(values, support, query, labels, class_groups=labels) == intervals
    answers = values.mean(axis=1), support, labels
    assert influence(*answers, groups=np.arange(len(labels)), class_groups=labels).intervals() == (
        influence(*answers).intervals()
    )


@pytest.mark.slow
@pytest.mark.parametrize("new", ["images", "classes"])
def test_variance_is_that_of_repeated_test_sets(new):
    sets = {"images": (2, 30), "classes": (60, 1)}[new]
    case = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, *sets, seed=7)
    shares = coverage.summary(case).set_index(["target", "interval"])["share"]
    assert 88 <= shares[f"new {new}", new] <= 99
    assert shares[f"new {new}", "closed"] < 60
    assert shares[f"new {new}", "paired"] <= 10
    repeated = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, 2, 1, seed=7)
    first = case[(case["world"] < 2) & (case["set"] == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(repeated, first)


def test_no_error_at_all_is_no_certainty(run):
    values, support, query, labels = run(50)
    for groups in (None, np.arange(len(labels)) % 4):
        for unit in (1, 100):
            part = np.full(values.shape, unit)
            r = three_intervals(part, support, query, labels, groups=groups, bounds=(0, unit))
            assert (
                r.closed.high == r.classes.high == unit
                and r.closed.few_errors
                and r.classes.few_errors
            )
            units = 10 if groups is None else 4
            assert r.classes.low == pytest.approx(
                unit * units / (units + 1)
            )  # as if one more were all wrong
            assert r.classes.low <= r.images.low <= r.closed.low
    assert str(r).count(", few errors)") == 3
    wrong = three_intervals(np.zeros_like(values), support, query, labels, bounds=(0, 1))
    assert wrong.classes.high == pytest.approx(1 / 11) and wrong.classes.low == 0
    none = three_intervals(
        np.zeros_like(values), support, query, labels, bounds=(-1, 1)
    )  # two methods that are equal
    assert (
        none.classes.high == -none.classes.low == pytest.approx(1 - 0.025**0.1)
        and not none.classes.few_errors
    )


def test_equal_values_count_the_units_of_each_target(run):
    values, support, query, labels = run(50)
    equal = np.full_like(values, 0.1, dtype=float)
    intervals = three_intervals(equal, support, query, labels, bounds=(-1, 1))
    element = intervals.closed, intervals.images, intervals.classes
    classes, images = len(np.unique(labels[query])), np.isin(labels, labels[query]).sum()
    assert [i.half_width for i in element] == [0, 0, 0]
    units = 50, min(50, images), classes
    assert [i.p_value for i in element] == pytest.approx(
        [min(2 * (1 / 1.1) ** n, 1) for n in units]
    )
    assert intervals.classes.low <= intervals.images.low <= intervals.closed.low
    assert [
        i.p_value
        for i in vars(three_intervals(equal, support, query, labels)).values()
        if isinstance(i, Interval)
    ] == [1] * 3


def test_how_many_units_are_held_at_once_changes_nothing(run, monkeypatch):
    intervals = [three_intervals(*run(400))]
    monkeypatch.setattr(sys.modules["fslcore.stats.three_intervals"], "AT_ONCE", 7)
    intervals.append(three_intervals(*run(400)))
    assert intervals[0].image_variance == pytest.approx(intervals[1].image_variance, rel=1e-12)
    assert intervals[0].classes.half_width == pytest.approx(
        intervals[1].classes.half_width, rel=1e-12
    )


@pytest.mark.parametrize("part", ["three", "influence"])
def test_tasks_that_share_no_image_are_sent_to_the_open_interval(part):
    labels = np.arange(3).repeat(80)
    tasks = sample_open(labels, ways=3, shots=2, queries=1)
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    subject = {"three": "support and query", "influence": "images"}[part]
    with pytest.raises(InputError, match=f"^{subject}: no image is in two tasks; .* open_interval"):
        if part == "three":
            three_intervals(np.ones(tasks.query.shape), tasks.support, tasks.query, labels)
        else:
            influence(np.ones(len(tasks)), images, labels)


def moved(x, support, query, steps):
    """Right or wrong, where the class means first move towards all queries of the task (soft k-means)."""
    means, options = x[support], x[query]
    for _ in range(steps):
        near_values = np.exp(-2 * ((options[:, :, None] - means[:, None]) ** 2).sum(axis=3))
        near_values /= near_values.sum(axis=2, keepdims=True)
        sums = np.einsum("tqk,tqd->tkd", near_values, options)
        means = (x[support] + 5 * sums) / (1 + 5 * near_values.sum(axis=1)[..., None])
    nearest = ((options[:, :, None] - means[:, None]) ** 2).sum(axis=3).argmin(axis=2)
    return nearest == np.arange(support.shape[1]).repeat(query.shape[1] // support.shape[1])


def test_of_transductive_learners_what_an_image_changes_in_other_answers_counts():
    """Against leaving each image and class out of all 2-way 1-shot 2-query tasks: formulas, influence and truth."""
    pairs = list(combinations(range(CLASSES), 2))
    of_class = [
        [(s, *q) for s in own_values for q in combinations(np.delete(own_values, s % IMAGES), 2)]
        for own_values in np.arange(len(LABELS)).reshape(CLASSES, IMAGES)
    ]
    tasks = np.concatenate([list(product(of_class[a], of_class[b])) for a, b in pairs])
    tasks = np.random.default_rng(0).permutation(tasks)
    support, query, held = (
        tasks[..., 0],
        tasks[..., 1:].reshape(len(tasks), -1),
        tasks.reshape(len(tasks), -1),
    )
    positions = np.unique(LABELS[support], axis=0, return_inverse=True)[1]
    result = {0: [], 3: []}
    for seed, steps in product(range(4), result):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(len(LABELS), 2)) + 0.9 * rng.normal(size=(CLASSES, 2))[LABELS]
        right = moved(x, support, query, steps)
        mean = right.mean(axis=1)

        def without(kept_tasks, weights, mean=mean):
            return (
                np.bincount(positions[kept_tasks], mean[kept_tasks])
                / np.bincount(positions[kept_tasks])
            )[weights].mean()

        images = [without(~(held == i).any(axis=1), slice(None)) for i in range(len(LABELS))]
        classes = [without(slice(None), [c not in pair for pair in pairs]) for c in range(CLASSES)]
        intervals = three_intervals(right, support, query, LABELS)
        text = three_intervals(right, support, query, LABELS, transductive=True)
        by_images = influence(mean, held, LABELS).intervals().image_variance
        options = min(intervals.class_variance, text.class_variance) > max(
            intervals.image_variance, text.image_variance
        )
        result[steps].append(
            [
                (1 - 1 / IMAGES) * np.square(mean.mean() - images).sum(),
                intervals.image_variance,
                by_images,
                (1 - 1 / CLASSES) * np.square(mean.mean() - classes).sum() if options else 0.0,
                text.class_variance if options else 0.0,
                text.image_variance,
            ]
        )
        assert text.closed == intervals.closed
    alone, together = (np.sum(result[steps], axis=0) for steps in result)
    assert alone[1] == pytest.approx(alone[0], rel=0.03) and together[1] < 0.75 * together[0]
    for column in (2, 5):
        assert [x[column] for x in (alone, together)] == pytest.approx(
            [x[0] for x in (alone, together)], rel=0.06
        )
    assert alone[4] == pytest.approx(alone[3], rel=0.01) and together[4] == pytest.approx(
        together[3], rel=0.01
    )


def test_true_and_false_have_bounds_and_numbers_have_those_that_are_given(run):
    right, *places = run(100)
    soft = np.random.default_rng(0).random(right.shape)
    for values in (soft, soft - 0.5, 1.5 * soft, right, 1.0 * (right > 0)):
        assert three_intervals(values, *places).classes.bounds is None
    for part in (right > 0, right < 0, right >= 0):  # some, none and all of them right
        intervals = three_intervals(part, *places)
        assert intervals.classes.bounds == (0, 1)
    assert intervals.classes.low < 1 == intervals.classes.high
    wrong = three_intervals(right < 0, *places)
    assert wrong.classes.low == 0 < wrong.classes.high and wrong.classes.few_errors


def test_near_a_bound_the_interval_for_new_classes_holds_one_more_class_at_the_other():
    def ends(mean, half, bounds=(0, 100), classes=12, kind="classes"):
        interval = Interval(mean, half, 0.95, 600, kind, 11.0, classes, bounds, classes)
        return interval.low, interval.high

    assert ends(100, 0)[0] == pytest.approx(100 * 12 / 13)
    for mean, part in (
        (99.999, 0.9999),
        (99, 0.9),
        (95, 0.5),
    ):  # no jump where the first errors come, and a tenth fades
        assert ends(mean, 1e-5)[0] == pytest.approx(mean - part * mean / 13)
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
    inside, before = [], []
    for _ in range(400):
        of_class = np.where(
            rng.random(count) < share, 60.0, rng.normal(99.9, 0.05, count).clip(99.7, 100)
        )
        truth, half = (
            99.9 - 39.9 * share,
            stats.t.ppf(0.975, count - 1) * of_class.std(ddof=1) / count**0.5,
        )
        for into, classes in ((inside, count), (before, None)):
            interval = Interval(
                of_class.mean(), half, 0.95, 600, "classes", count - 1, None, (0, 100), classes
            )
            into.append(interval.low <= truth <= interval.high)
    assert np.mean(inside) > 0.92 > np.mean(before)


def test_a_plan_is_of_a_difference():
    labels = np.arange(6).repeat(12)
    tasks = sample_closed(labels, tasks=50, shots=1, queries=3)
    right = np.random.default_rng(0).integers(0, 2, (2, *tasks.query.shape))
    places = tasks.support, tasks.query, labels
    first, pair = (
        three_intervals(right[0] == 1, *places),
        three_intervals(right[0] - right[1], *places),
    )
    shape = dict(images_per_class=12, n_classes=6, ways=5, shots=1, difference=0.1)
    assert plan(pair, **shape).n_tasks > 1
    for pilot in (first, three_intervals(100 * right[0], *places, bounds=(0, 100))):
        with pytest.raises(
            InputError, match="pilot: its values lie between 0 and 1(00)?, as those of one method"
        ):
            plan(pilot, **shape)
    with pytest.raises(InputError, match="difference = 1e-300; more than 4.6e"):
        plan(pair, **shape | {"difference": 1e-300})


def tiny(spanning, seed, count=5):
    """Images of three classes, an image a cell: features, classes and groups, which may span classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(3).repeat(count)
    groups = (
        np.concatenate([rng.permutation(count + 2)[:count] for _ in range(3)])
        if spanning
        else np.arange(len(labels))
    )
    style = rng.normal(size=(groups.max() + 1, 2))
    return (
        rng.normal(size=(3, 2))[labels]
        + 0.8 * style[groups]
        + 0.6 * rng.normal(size=(len(labels), 2)),
        labels,
        groups,
    )


def all_apart(x, labels, groups, kept_tasks, steps):
    """Every 2-way 1-shot 1-query task that keeps groups apart: images, right or wrong, and its probability."""
    out = []
    for a, b in combinations(range(3), 2):
        part = [[i for i in kept_tasks if labels[i] == c] for c in (a, b)]
        for support in product(*part):
            held = {groups[i] for i in support}
            options = [[i for i in images if groups[i] not in held] for images in part]
            for query in product(*options):
                chance = 1 / (3 * len(part[0]) * len(part[1]) * len(options[0]) * len(options[1]))
                out.append((*support, *query, chance))
    out = np.array(out)
    support, query = out[:, :2].astype(int), out[:, 2:4].astype(int)
    return support, query, moved(x, support, query, steps), out[:, 4]


@pytest.mark.parametrize("spanning, steps", list(product([False, True], [0, 3])))
def test_tasks_kept_apart_against_all_tasks_without_each_group(spanning, steps):
    result, expected = 0.0, 0.0
    for seed in range(3):
        x, labels, groups = tiny(spanning, seed)
        *tasks, chance = all_apart(x, labels, groups, range(len(x)), steps)
        mean = tasks[2].mean(axis=1) @ chance
        changes = []
        for group in np.unique(groups):
            *_, right, left = all_apart(x, labels, groups, np.flatnonzero(groups != group), steps)
            changes.append(mean - right.mean(axis=1) @ left)
        truth = (1 - 1 / 5) * np.square(changes).sum()
        rng = np.random.default_rng(seed)
        images = rng.choice(len(chance), 40_000, p=chance)
        support, query, right = (part[images] for part in tasks)
        kin = dict(groups=groups, group_disjoint=True, transductive=steps > 0)
        interval = three_intervals(right, support, query, labels, **kin)
        assert interval.closed.mean == pytest.approx(mean, abs=0.01)
        assert interval.image_variance == pytest.approx(truth, rel=0.06)
        result, expected = result + interval.image_variance, expected + truth
    assert result == pytest.approx(expected, rel=0.03)


def test_groups_of_which_tasks_leave_one_are_told():
    """Four groups, with images in every class: the supports of three classes hold three, and a query is of the last."""
    labels, groups = np.arange(6).repeat(8), np.tile(np.arange(4).repeat(2), 6)
    tasks = sample_closed(labels, tasks=100, ways=3, shots=1, queries=1, groups=groups)
    with pytest.raises(
        InputError, match="^groups: a class has too few to leave one out; fewer shots"
    ):
        three_intervals(
            np.ones((100, 3)),
            tasks.support,
            tasks.query,
            labels,
            groups=groups,
            group_disjoint=True,
        )


def test_the_influence_of_tasks_kept_apart_agrees_with_the_three_intervals():
    rng = np.random.default_rng(0)
    labels = np.arange(6).repeat(40)
    groups = np.arange(6).repeat(40) * 100 + rng.integers(0, 14, 240)
    tasks = sample_closed(labels, tasks=20_000, ways=4, shots=1, queries=3, groups=groups)
    skill = rng.normal(size=2000)[groups % 2000]
    right = 100.0 * (skill[tasks.query] + rng.normal(size=tasks.query.shape) > -0.5)
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    exact = three_intervals(
        right, tasks.support, tasks.query, labels, groups=groups, group_disjoint=True
    )
    intervals = influence(
        right.mean(axis=1), images, labels, groups=groups, group_disjoint=True
    ).intervals()
    assert intervals.image_variance == pytest.approx(exact.image_variance, rel=0.15)
    assert intervals.class_variance == pytest.approx(exact.class_variance, rel=0.15)


def test_a_class_that_no_task_holds_changes_nothing_where_groups_are_apart():
    labels, groups = np.arange(6).repeat(8), np.arange(48) // 2
    held = labels < 5
    tasks = sample_closed(
        labels[held], groups=groups[held], ways=3, shots=1, queries=1, tasks=600, seed=0
    )
    right = 1.0 * (np.random.default_rng(0).random((600, 3)) < 0.6)
    places = right, tasks.support, tasks.query
    intervals = three_intervals(*places, labels, groups=groups, group_disjoint=True)
    assert intervals == three_intervals(
        *places, labels[held], groups=groups[held], group_disjoint=True
    )


def test_groups_of_classes_are_those_of_the_classes_that_tasks_hold():
    """Tasks that keep groups apart, and a first class that none of them holds."""
    labels, groups = np.arange(7).repeat(8), np.arange(56) // 2
    kin, held = (labels + 1) // 2, labels > 0
    tasks = sample_closed(
        labels[held], groups=groups[held], ways=3, shots=1, queries=2, tasks=600, seed=0
    )
    values = np.random.default_rng(0).normal(70, 9, 600)
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    intervals = influence(
        values,
        images,
        labels[held],
        groups=groups[held],
        class_groups=kin[held],
        group_disjoint=True,
    ).intervals()
    whole_set = influence(
        values, images + 8, labels, groups=groups, class_groups=kin, group_disjoint=True
    ).intervals()
    assert whole_set.classes == intervals.classes and whole_set.images == intervals.images
    hard = values + 5 * (kin[held][tasks.support] == 1).sum(axis=1)  # classes of one kind are alike
    arguments = dict(groups=groups[held], group_disjoint=True)
    element, kinds = (
        influence(hard, images, labels[held], class_groups=part, **arguments).intervals()
        for part in (None, kin[held])
    )
    assert (
        kinds.image_variance == element.image_variance
        and kinds.class_variance > 1.3 * element.class_variance > 0
    )


def test_groups_are_refused_for_what_the_tasks_hold():
    """A class of two groups that no task holds does not tell what other groups of the held classes would be like."""
    labels = np.arange(6).repeat(8)
    groups = labels + 10 * (np.arange(48) >= 44)  # the last class alone has two
    images = sample_closed(labels[labels < 5], ways=3, shots=1, queries=2, tasks=60, seed=0)
    all_images = np.concatenate([images.support, images.query], axis=1)
    with pytest.raises(InputError, match="each class is one group"):
        influence(np.random.default_rng(0).normal(70, 9, 60), all_images, labels, groups=groups)


def test_bounds_are_those_that_are_given(run):
    values, *places = run(200)
    percent, share = (
        three_intervals(values / unit, *places, bounds=(0, 100 / unit)) for unit in (1, 100)
    )
    assert percent.images.bounds == percent.classes.bounds == (0, 100) and share.images.bounds == (
        0,
        1,
    )
    assert share.classes.low == pytest.approx(percent.classes.low / 100)
    without = three_intervals(values, *places).images
    assert without.bounds is None and without.high == without.mean + without.half_width
    from_tasks = influence(values.mean(axis=1), places[0], places[2])
    assert from_tasks.intervals(bounds=(0, 100)).images.bounds == (0, 100)
    for call in (
        lambda b: three_intervals(values, *places, bounds=b),
        lambda b: from_tasks.intervals(bounds=b),
    ):
        with pytest.raises(InputError, match="mean = .*; 0 to 1 is allowed"):
            call((0, 1))


@pytest.mark.parametrize("grouped", [{}, {"groups": 2}, {"class_groups": 24}], ids=str)
@pytest.mark.parametrize("function", ["three_intervals", "influence"])
def test_images_of_classes_that_no_task_holds_do_not_matter(function, grouped):
    labels, extra = np.arange(8).repeat(12), np.full(7, -1)  # of a class before all others
    tasks = sample_closed(labels, tasks=60, ways=4, shots=2, queries=3)
    right = np.random.default_rng(0).random(tasks.query.shape) < 0.4 + 0.06 * labels[tasks.query]
    groups = {name: np.arange(96) // size for name, size in grouped.items()}

    def intervals(shift, labels, groups):
        support, query = tasks.support + shift, tasks.query + shift
        if function == "three_intervals":
            return three_intervals(1.0 * right, support, query, labels, **groups)
        return influence(
            right.mean(axis=1), np.concatenate([support, query], axis=1), labels, **groups
        ).intervals()

    without = intervals(0, labels, groups)
    with_extra = intervals(
        7, np.r_[extra, labels], {name: np.r_[extra, group] for name, group in groups.items()}
    )
    for kind in ("closed", "images", "classes"):
        first, second = getattr(without, kind), getattr(with_extra, kind)
        assert (first.mean, first.half_width, first.df) == pytest.approx(
            (second.mean, second.half_width, second.df)
        )
        assert first.n_tasks == second.n_tasks and np.isfinite(first.half_width)


BAD_TASKS = [
    (lambda a: {"values": a["values"][:, 1:]}, r"values have shape \(20, 8\), query \(20, 9\)"),
    (lambda a: {"query": np.where(a["query"] > 40, -1, a["query"])}, "without padding"),
    (lambda a: {"labels": a["labels"][:40]}, "images 0 to 39 are allowed"),
    (
        lambda a: {"query": np.concatenate([a["support"][:, :1], a["query"][:, 1:]], axis=1)},
        "twice in a task",
    ),
    (lambda a: {"support": a["support"][:, 1:]}, "^support: 3 classes with equal numbers"),
    (
        lambda a: {name: a[name][:, 1:] for name in ("query", "values")},
        "^query: 3 classes with equal numbers",
    ),
    (lambda a: other_support(a, [0, 8, 9, 10, 16, 17]), "^support: 3 classes with equal numbers"),
    (lambda a: other_support(a, [0, 1, 2, 3, 8, 9]), "^support: 3 classes with equal numbers"),
    (lambda a: {"support": np.roll(a["support"], 1, axis=0)}, "different classes|twice in a task"),
    (
        lambda a: {name: a[name][:19] for name in ("values", "support", "query")},
        "19 tasks; at least 20",
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
        values=np.ones((20, 9)), support=tasks.support, query=tasks.query, labels=labels
    )
    with pytest.raises(InputError, match=words):
        three_intervals(**arguments | change(arguments))


def test_a_class_too_small_to_leave_an_image_out():
    labels = np.arange(3).repeat(4)
    tasks = sample_closed(labels, tasks=20, ways=2, shots=3, queries=1)
    with pytest.raises(InputError, match="class 0 has 4 images; 5 are needed"):
        three_intervals(np.ones((20, 2)), tasks.support, tasks.query, labels)


def test_tasks_that_are_not_kept_apart_are_refused():
    labels, groups = np.arange(4).repeat(12), np.arange(48) // 2
    ordinary, is_disjoint = (
        sample_closed(labels, tasks=100, ways=3, shots=1, queries=3, groups=part)
        for part in (None, groups)
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
        ((ordinary.support, ordinary.query), None, "group_disjoint = True; the groups"),
        ((is_disjoint.support, twice), groups, "two images of a group in a class"),
    ):
        with pytest.raises(InputError, match=words):
            three_intervals(
                np.ones(ordinary.query.shape),
                *tasks,
                labels,
                groups=given_groups,
                group_disjoint=True,
            )
