"""The three intervals: against enumeration, against re-evaluation, and by simulation."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fslbook.beyond import coverage, worlds
from fslcore.errors import InputError
from fslcore.stats import closed_interval, influence, plan, three_intervals
from fslcore.tasks import sample_closed, sample_open

CLASSES, IMAGES, WAYS = 4, 5, 3
LABELS = np.arange(CLASSES).repeat(IMAGES)


def every_task(x, images, classes):
    """All 1-shot 1-query tasks of some of the images with exactly these classes: support, query, right or wrong."""
    pairs = [[(s, q) for s in images for q in images if LABELS[s] == LABELS[q] == c and s != q] for c in classes]
    tasks = np.array(list(product(*pairs)))
    support, query = tasks[..., 0], tasks[..., 1]
    nearest = ((x[query][:, :, None] - x[support][:, None]) ** 2).sum(axis=3).argmin(axis=2)
    return support, query, nearest == np.arange(len(classes))


def mean_over_all(x, images, classes):
    """Each set of classes counts once, however many tasks the images at hand allow."""
    return np.mean([every_task(x, images, chosen)[2].mean() for chosen in combinations(classes, WAYS)])


def test_against_a_jackknife_that_evaluates_all_tasks_again():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(CLASSES * IMAGES, 2)) + rng.normal(size=(CLASSES, 2))[LABELS]
    images, classes = range(len(x)), range(CLASSES)
    tasks = [every_task(x, images, chosen) for chosen in combinations(classes, WAYS)]
    support, query, right = (np.concatenate(arrays) for arrays in zip(*tasks))
    found = three_intervals(right, support, query, LABELS)

    without_image = [mean_over_all(x, [j for j in images if j != i], classes) for i in images]
    without_class = [mean_over_all(x, images, [k for k in classes if k != c]) for c in classes]
    image = np.array(without_image).reshape(CLASSES, IMAGES).var(axis=1).sum() * (IMAGES - 1)
    # all tasks at once stand for very many drawn at random, up to a noise of one in their number
    assert found.closed.mean == pytest.approx(mean_over_all(x, images, classes))
    assert found.image_variance == pytest.approx(image, rel=5e-3)
    assert found.class_variance == pytest.approx(np.var(without_class) * (CLASSES - 1), rel=5e-3)


@pytest.fixture(scope="module")
def run():
    """A test set, tasks on it, and which queries were right, in percent."""
    regime = worlds.Regime(10, 20, 5, 0.5)
    rng = np.random.default_rng(1)
    (bank, _), labels = worlds.draw(*worlds.world(regime, 0.0, rng), regime.images, regime.alike, rng)

    def evaluated(tasks, seed=0):
        drawn = sample_closed(labels, tasks=tasks, seed=seed)
        return worlds.correct(bank, drawn), drawn.support, drawn.query, labels

    return evaluated


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
    found = three_intervals(values, *places)
    assert found.closed == closed_interval(values.mean(axis=1))
    assert found.sampling_variance == pytest.approx((found.closed.half_width / 1.959964) ** 2, rel=1e-5)
    assert found.closed.half_width < found.images.half_width < found.classes.half_width
    assert {r.mean for r in (found.closed, found.images, found.classes)} == {values.mean(axis=1).mean()}


@given(st.randoms(use_true_random=False), st.floats(0.01, 100))
def test_order_names_and_unit_do_not_matter(run, random, unit):
    values, support, query, labels = run(200)
    rng = np.random.default_rng(random.randrange(2**32))
    tasks, places = rng.permutation(len(values)), rng.permutation(query.shape[1])
    names = np.array(["k", "b", "x", "a", "q", "z", "c", "w", "e", "m"])[rng.permutation(10)]
    images = rng.permutation(len(labels))  # image i is called images[i] now
    renamed = names[labels][np.argsort(images)]
    other = three_intervals(
        unit * values[tasks][:, places], images[support[tasks]], images[query[tasks][:, places]], renamed
    )
    plain = three_intervals(values, support, query, labels)
    assert other.image_variance == pytest.approx(unit**2 * plain.image_variance, rel=1e-9)
    assert other.class_variance == pytest.approx(unit**2 * plain.class_variance, rel=1e-9)


def test_a_swap_of_two_methods_turns_the_difference_around(run):
    a, *places = run(200)
    b = np.roll(a, 1, axis=0)
    there, back = three_intervals(a - b, *places), three_intervals(b - a, *places)
    assert there.images.mean == -back.images.mean and there.image_variance == pytest.approx(back.image_variance)


def test_groups_of_one_image_are_images(run):
    values, support, query, labels = run(2000)
    alone = three_intervals(values, support, query, labels, groups=np.arange(len(labels)))
    plain = three_intervals(values, support, query, labels)
    assert alone.image_variance == pytest.approx(plain.image_variance, rel=0.06)  # n/(n - 1) a class or in all
    assert alone.class_variance == pytest.approx(plain.class_variance, rel=0.06)


def test_groups_cover_when_images_of_a_group_are_alike():
    """Test sets of 20 scenes, each seen in every class; the spread of their means is known from themselves."""
    rng = np.random.default_rng(2)
    classes, scenes = 6, 20
    labels, scene = np.divmod(np.arange(classes * scenes), scenes)
    centre = 1.2 * rng.normal(size=(classes, 4))
    means, plain, grouped = [], [], []
    for seed in range(150):
        x = centre[labels] + 0.8 * rng.normal(size=(scenes, 4))[scene] + 0.6 * rng.normal(size=(len(labels), 4))
        tasks = sample_closed(labels, tasks=1500, ways=5, shots=1, queries=5, seed=seed)
        nearest = ((x[tasks.query][:, :, None] - x[tasks.support][:, None]) ** 2).sum(axis=3).argmin(axis=2)
        right = 100.0 * (nearest == tasks.query_label)
        means.append(right.mean())
        plain.append(three_intervals(right, tasks.support, tasks.query, labels).image_variance)
        grouped.append(three_intervals(right, tasks.support, tasks.query, labels, groups=scene).image_variance)
    spread = np.var(means, ddof=1)
    assert 0.8 < np.mean(grouped) / spread < 1.4
    assert np.mean(plain) < 0.8 * np.mean(grouped)


@pytest.mark.parametrize("new", ["images", "classes"])
def test_variance_is_that_of_repeated_test_sets(new):
    sets = {"images": (2, 30), "classes": (60, 1)}[new]
    made = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, *sets, seed=7)
    shares = coverage.summary(made).set_index(["target", "interval"])["share"]
    assert 88 <= shares[f"new {new}", new] <= 99
    assert shares[f"new {new}", "closed"] < 60
    assert shares[f"new {new}", "paired"] <= 10
    again = coverage.replicates(worlds.Regime(10, 20, 5, 0.5), new, 2, 1, seed=7)
    assert again["mean"].tolist() == made.groupby("world")["mean"].first()[:2].tolist()


def test_all_classes_in_each_task_tell_nothing_of_new_classes(run):
    values, support, query, labels = run(50)
    held = labels < 5
    tasks = sample_closed(labels[held], tasks=50, seed=0)
    found = three_intervals(values, tasks.support, tasks.query, labels[held])
    assert found.classes.half_width == np.inf and np.isfinite(found.images.half_width)


def test_equal_values_give_no_width(run):
    values, *places = run(50)
    found = three_intervals(np.ones_like(values), *places)
    assert max(found.images.half_width, found.classes.half_width) < 1e-9


def test_equal_values_conclude_as_a_sign_test_of_the_units_does(run):
    values, support, query, labels = run(50)
    found = three_intervals(np.full_like(values, 0.1, dtype=float), support, query, labels)
    classes = len(np.unique(labels[query]))
    assert [i.half_width for i in (found.closed, found.images, found.classes)] == [0, 0, 0]
    assert (found.closed.p_value, found.classes.p_value) == (2.0**-49, 2.0 ** (1 - classes))
    assert found.images.p_value == 2.0 ** (1 - np.isin(labels, labels[query]).sum())
    tasks = sample_closed(labels[labels < 5], tasks=50, ways=4, seed=0)
    five = three_intervals(np.full(tasks.query.shape, 0.1), tasks.support, tasks.query, labels[labels < 5])
    assert (five.classes.p_value, five.classes.conclusion, five.closed.conclusion) == (2.0**-4, 0, 1)


def broken(change):
    rng = np.random.default_rng(0)
    labels = np.arange(6).repeat(8)
    tasks = sample_closed(labels, tasks=20, ways=3, shots=2, queries=3)
    arguments = {"values": rng.random((20, 9)), "support": tasks.support, "query": tasks.query, "labels": labels}
    return change(arguments) or arguments


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda a: a | {"values": a["values"][:, 1:]}, r"values have shape \(20, 8\), query \(20, 9\)"),
        (lambda a: a | {"values": np.where(a["values"] > 0.9, np.nan, a["values"])}, "NaN or infinite"),
        (lambda a: a | {"query": np.where(a["query"] > 40, -1, a["query"])}, "without padding"),
        (lambda a: a | {"labels": a["labels"][:40]}, "images 0 to 39 are allowed"),
        (lambda a: a | {"support": a["support"] * 1.0}, "support holds float64"),
        (lambda a: a | {"query": np.concatenate([a["support"][:, :1], a["query"][:, 1:]], axis=1)}, "twice in a task"),
        (lambda a: a | {"support": a["support"][:, 1:]}, "support: 3 classes with equal numbers"),
        (lambda a: a | {"support": np.roll(a["support"], 1, axis=0)}, "different classes|twice in a task"),
        (lambda a: a | {"groups": np.zeros(3)}, r"groups: shape \(3,\)"),
        (lambda a: a | {"groups": np.zeros(48)}, "groups: all images are in one"),
        (lambda a: a | {"level": 1.0}, "level = 1.0"),
    ],
)
def test_bad_input_is_told_in_one_line(change, message):
    with pytest.raises(InputError, match=message) as error:
        three_intervals(**broken(change))
    assert "\n" not in str(error.value)


def test_a_class_too_small_to_leave_an_image_out():
    labels = np.arange(3).repeat(4)
    tasks = sample_closed(labels, tasks=20, ways=2, shots=3, queries=1)
    with pytest.raises(InputError, match="class 0 has 4 images; 5 are needed"):
        three_intervals(np.ones((20, 2)), tasks.support, tasks.query, labels)


@pytest.mark.parametrize("of", ["three", "influence"])
def test_tasks_that_share_no_image_are_sent_to_the_open_interval(of):
    labels = np.arange(3).repeat(80)
    tasks = sample_open(labels, ways=3, shots=2, queries=1)
    drawn = np.concatenate([tasks.support, tasks.query], axis=1)
    with pytest.raises(InputError, match="no image is in two tasks; .* open_interval"):
        if of == "three":
            three_intervals(np.ones(tasks.query.shape), tasks.support, tasks.query, labels)
        else:
            influence(np.ones(len(tasks)), drawn, labels)


def test_a_plan_is_of_a_difference():
    labels = np.arange(6).repeat(12)
    tasks = sample_closed(labels, tasks=50, shots=1, queries=3)
    right = np.random.default_rng(0).integers(0, 2, (2, *tasks.query.shape))
    one, both = (three_intervals(v, tasks.support, tasks.query, labels) for v in (right[0], right[0] - right[1]))
    shape = dict(images_per_class=12, n_classes=6, ways=5, shots=1, difference=0.1)
    assert plan(both, **shape).n_tasks > 1 and both.difference and one.difference is False
    with pytest.raises(InputError, match="pilot: its values are those of one method"):
        plan(one, **shape)
    with pytest.raises(InputError, match="difference = 1e-300; more than 4.6e"):
        plan(both, **shape | {"difference": 1e-300})
