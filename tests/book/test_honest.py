"""Intervals of any number that a task gives: against enumeration, against `three_intervals`, and their properties."""

from itertools import combinations, product

import numpy as np
import pytest
from refusal import refuses

from fslbook.beyond import coverage, coverage_gaps, worlds, worst_class
from fslbook.biased_tasks import sample_biased
from fslcore.evaluation import Outcomes
from fslcore.stats import jackknife_influence, paired_interval
from fslcore.tasks import sample_closed

CLASSES, IMAGES, WAYS, QUERIES = 4, 5, 3, 2
LABELS = np.arange(CLASSES).repeat(IMAGES)


def scores(x, support, query):
    """Which queries (…, K, Q) are nearest to the support (…, K) of their own class."""
    distance = (x[query][..., None] - x[support][..., None, None, :]) ** 2
    return distance.argmin(axis=-1) == np.arange(support.shape[-1])[:, None]


def every_task(images, chosen, queries):
    """All 1-shot tasks of these classes: support (T, K), query (T, K, Q) in order, the last the spare."""
    rows = []
    for c in chosen:
        of_class = [i for i in images if LABELS[i] == c]
        rows.append(
            [
                (s, q)
                for s in of_class
                for q in combinations([i for i in of_class if i != s], queries)
            ]
        )
    choices = list(product(*rows))
    return np.array([[s for s, _ in t] for t in choices]), np.array(
        [[q for _, q in t] for t in choices]
    )


def worst_over_all(x, images, classes):
    """Mean over all tasks of the share of the worst class; each set of classes counts once."""
    means = []
    for chosen in combinations(classes, WAYS):
        support, query = every_task(images, chosen, QUERIES)
        means.append(scores(x, support, query).mean(axis=2).min(axis=1).mean())
    return np.mean(means)


@pytest.fixture(scope="module")
def tiny():
    rng = np.random.default_rng(3)
    return 1.5 * rng.normal(size=CLASSES)[LABELS] + rng.normal(size=len(LABELS))


@pytest.fixture(scope="module")
def counted(tiny):
    """The worst class over all tasks, and what it loses without each image and without each class."""
    truth, images = worst_over_all(tiny, range(len(LABELS)), range(CLASSES)), range(len(LABELS))
    image = [
        truth - worst_over_all(tiny, [j for j in images if j != i], range(CLASSES)) for i in images
    ]
    classes = [
        truth - worst_over_all(tiny, images, [k for k in range(CLASSES) if k != c])
        for c in range(CLASSES)
    ]
    return truth, image, classes


@pytest.mark.slow
@pytest.mark.parametrize("spare", [False, True])
def test_the_worst_class_against_deleting_each_image_and_counting_all_tasks_again(
    tiny, counted, spare
):
    truth, image, classes = counted
    tasks = sample_closed(LABELS, tasks=20_000, ways=WAYS, shots=1, queries=QUERIES + 1, seed=0)
    query = tasks.query.reshape(-1, WAYS, QUERIES + 1)
    record = Outcomes(scores(tiny, tasks.support, query).reshape(len(tasks), -1), tasks.query_label)
    values, values_without = worst_class.worst_class(record)
    query = query[..., :-1].reshape(len(tasks), -1)
    if spare:
        result = jackknife_influence(
            values, tasks.support, LABELS, query=query, scores_without=values_without
        )
    else:
        result = jackknife_influence(values, np.concatenate([tasks.support, query], axis=1), LABELS)
    assert result.mean == pytest.approx(100 * truth, abs=0.8)
    np.testing.assert_allclose(
        result.images.mean(axis=0), 100 * np.array(image), atol=0.45 if spare else 0.7
    )
    np.testing.assert_allclose(result.classes.mean(axis=0), 100 * np.array(classes), atol=1.0)
    assert np.ptp(image) > 0.02 and np.ptp(classes) > 0.02  # there is something to find


def test_what_a_spare_query_changes():
    """Two classes, two queries and a spare: by hand."""
    right = np.array([[1, 0, 1, 1, 1, 0]], bool)
    record = Outcomes(right, np.array([[0, 0, 0, 1, 1, 1]]))
    values, values_without = worst_class.worst_class(record)
    assert values.tolist() == [50.0] and values_without.tolist() == [[50.0, 100.0, 50.0, 50.0]]
    values, values_without = worst_class.mean_accuracy(record)
    assert values.tolist() == [75.0] and values_without.tolist() == [[75.0, 100.0, 50.0, 50.0]]


def test_pool_holds_the_support_and_only_images_with_the_own_attribute():
    rng = np.random.default_rng(5)
    labels, has = np.arange(6).repeat(30), rng.random((180, 5)) < 0.35
    tasks, attribute = sample_biased(labels, has, tasks=30, ways=3, shots=2, queries=4)
    pool = worst_class.pool(labels, has, tasks, attribute)
    for t in range(len(tasks)):
        inside = pool[t][pool[t] >= 0]
        assert set(tasks.support[t]) <= set(inside) and not set(tasks.query[t]) & set(inside)
        assert (has[inside][:, attribute[t]].sum(axis=1) == 1).all()
        held = set(labels[tasks.support[t]])
        assert len(inside) == sum(
            has[i, attribute[t][k]] and has[i, attribute[t]].sum() == 1
            for k in range(3)
            for i in np.flatnonzero(labels == labels[tasks.support[t, 2 * k]])
        ) and held == set(labels[inside])


def test_random_and_biased_tasks_come_of_different_random_streams(monkeypatch):
    """The same stream twice would bind the two kinds of task together, whose difference is taken as independent."""
    rng = np.random.default_rng(5)
    labels, has = np.arange(6).repeat(30), rng.random((180, 5)) < 0.35
    seeds, real = [], np.random.default_rng
    monkeypatch.setattr(
        np.random, "default_rng", lambda *seed: (seeds.append(seed), real(*seed))[1]
    )
    for seed in (0, 7):
        seeds.clear()
        worst_class.draw(labels, has, queries=4, seed=seed, tasks=10, ways=3, shots=2)
        assert len(seeds) >= 2 and len(set(map(repr, seeds))) == len(seeds)


def test_tables_of_a_small_run():
    rng = np.random.default_rng(0)
    world = worlds.World(classes=8, tasks=60)
    runs = worlds.test_set(
        world, (worlds.shifts_of(world, rng), *worlds.classes_of(world, rng)), rng
    )
    measured, ordered = worst_class.table(runs), worst_class.orderings(runs)
    assert list(measured["measure"]) == [*worst_class.MEASURES] * 2 and set(
        ordered["measure"]
    ) == set(worst_class.MEASURES)
    r, a, gap = (row.closed for row in measured["result"][:3])
    assert gap.estimate == pytest.approx(r.estimate - a.estimate)
    assert gap.standard_error == pytest.approx(np.hypot(r.standard_error, a.standard_error))
    random = runs.records["random"]
    difference = paired_interval(*(worst_class.worst_class(random[name])[0] for name in "ab"))
    assert ordered["result"][0].closed.estimate == pytest.approx(difference.estimate)
    assert ordered["result"][0].closed.half_width == pytest.approx(difference.half_width, rel=0.03)
    assert worst_class.measure_table(measured).shape == (6, 4) and worst_class.measure_table(
        ordered
    ).shape == (3, 4)


def test_the_study_that_ships_is_what_the_code_makes():
    stored = coverage.load("gaps")
    repeated = coverage_gaps.replicates(worlds.WORLD, "classes", 1, 1, seed=1)
    first = stored[(stored["new"] == "classes") & (stored["world"] == 0)]
    assert first["mean"].tolist() == pytest.approx(repeated["mean"].tolist(), rel=1e-5)
    assert first["low"].tolist() == pytest.approx(repeated["low"].tolist(), rel=1e-4)
    shares = coverage_gaps.summary(stored).set_index(["target", "statement", "interval"])["share"]
    assert len(shares) == 20 and shares.between(0, 100).all()


OF_TWO_CLASSES = np.tile([0, 1, 10, 11], (30, 1))


@pytest.mark.parametrize(
    "tasks, labels, message",
    [
        ([[0, 1, 5, 6]] * 10, np.arange(2).repeat(5), "at least 20"),
        (
            [[0, 1, 2, 7, 8, 9]] * 30,
            [7] * 7 + [5] * 3,
            "class 5 .*4 images.*got 3",
        ),
        ([[0, 1, 2]] * 30, [0, 0, 1, 1, 1], "equal numbers"),
        *(
            (
                [*OF_TWO_CLASSES, uneven],
                np.arange(2).repeat(10),
                "^images .* equal numbers of images of 2 classes in",
            )
            for uneven in ([0, 10, 11, 12], [0, 1, 2, 3])
        ),
    ],
)
def test_tasks_from_which_nothing_can_be_left_out(tasks, labels, message):
    with refuses(message):
        jackknife_influence(np.zeros(len(tasks)), np.array(tasks), np.array(labels))


def test_methods_that_take_queries_together_are_refused():
    shape = dict(tasks=20, ways=2, shots=1, queries=2)
    with refuses("methods", "glyph-conv OpTA", "transductive"):
        worst_class.run(
            "coloured/hebrew?per_class=20", ["glyph-conv ncc", "glyph-conv opta"], **shape
        )


def test_what_does_not_go_together():
    labels = np.arange(2).repeat(10)
    options = dict(groups=np.arange(20), group_disjoint=True, pool=OF_TWO_CLASSES)
    with refuses("group_disjoint", "True", "pool"):
        jackknife_influence(np.zeros(30), OF_TWO_CLASSES, labels, **options)
    with refuses("spare"):
        worst_class.worst_class(Outcomes(np.ones((3, 2), bool), np.tile([0, 1], (3, 1))))
    first = jackknife_influence(np.arange(30.0), OF_TWO_CLASSES, labels)
    with refuses("same images.*different labels"):
        first - jackknife_influence(np.arange(30.0), OF_TWO_CLASSES, np.append(labels, 1))
