"""Intervals of any number that a task gives: against enumeration, against `three_intervals`, and their properties."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fslbook.beyond import coverage, coverage_gaps, worlds, worst_class
from fslcore.errors import InputError
from fslcore.evaluation import Record
from fslcore.stats import independent_interval, influence, paired_interval, three_intervals
from fslcore.tasks import sample_biased, sample_closed

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
        own = [i for i in images if LABELS[i] == c]
        rows.append([(s, q) for s in own for q in combinations([i for i in own if i != s], queries)])
    found = list(product(*rows))
    return np.array([[s for s, _ in t] for t in found]), np.array([[q for _, q in t] for t in found])


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
    whole, images = worst_over_all(tiny, range(len(LABELS)), range(CLASSES)), range(len(LABELS))
    image = [whole - worst_over_all(tiny, [j for j in images if j != i], range(CLASSES)) for i in images]
    classes = [whole - worst_over_all(tiny, images, [k for k in range(CLASSES) if k != c]) for c in range(CLASSES)]
    return whole, image, classes


@pytest.mark.slow
@pytest.mark.parametrize("spare", [False, True])
def test_the_worst_class_against_deleting_each_image_and_counting_all_tasks_again(tiny, counted, spare):
    whole, image, classes = counted
    tasks = sample_closed(LABELS, tasks=20_000, ways=WAYS, shots=1, queries=QUERIES + 1, seed=0)
    query = tasks.query.reshape(-1, WAYS, QUERIES + 1)
    record = Record(scores(tiny, tasks.support, query).reshape(len(tasks), -1), tasks.query_label)
    values, replaced = worst_class.worst_class(record)
    query = query[..., :-1].reshape(len(tasks), -1)
    if spare:
        found = influence(values, tasks.support, LABELS, query=query, replaced=replaced)
    else:
        found = influence(values, np.concatenate([tasks.support, query], axis=1), LABELS)
    assert found.mean == pytest.approx(100 * whole, abs=0.8)
    np.testing.assert_allclose(found.images.mean(axis=0), 100 * np.array(image), atol=0.45 if spare else 0.7)
    np.testing.assert_allclose(found.classes.mean(axis=0), 100 * np.array(classes), atol=1.0)
    assert np.ptp(image) > 0.02 and np.ptp(classes) > 0.02  # there is something to find


@pytest.mark.parametrize("picking", ["QC2", "QC3"])
def test_biased_tasks_against_drawing_them_again_without_an_image(picking):
    """Exact for what the support and the query owe to an image; the other scores hardly change without it."""
    rng = np.random.default_rng(0)
    labels = np.arange(4).repeat(14)
    has = rng.random((len(labels), 4)) < 0.45
    x = 1.2 * rng.normal(size=4)[labels] + has @ rng.normal(size=4) + 0.5 * rng.normal(size=len(labels))

    def drawn(keep, tasks, queries):
        t, attribute = sample_biased(
            labels[keep], has[keep], tasks=tasks, ways=2, shots=1, queries=queries, query=picking, seed=4
        )
        kept = np.flatnonzero(keep)
        query = kept[t.query].reshape(len(t), 2, queries)
        record = Record(scores(x, kept[t.support], query).reshape(len(t), -1), t.query_label)
        return t, attribute, record, kept[t.support], query

    everything = np.ones(len(labels), bool)
    t, attribute, record, support, query = drawn(everything, 1500, 4)
    values, replaced = worst_class.worst_class(record)
    pool = worst_class.pool(labels, has, t, attribute)
    query = query[..., :-1].reshape(len(t), -1)
    change = influence(values, support, labels, pool=pool, query=query, replaced=replaced).images.mean(axis=0)
    i = int(np.abs(change).argmax())
    again = drawn(everything & (np.arange(len(labels)) != i), 1500, 4)[2]
    # two runs of 1,500 tasks differ by chance by about 1 point (one standard error)
    assert abs(change[i]) > 1.5
    assert change[i] == pytest.approx(values.mean() - worst_class.worst_class(again)[0].mean(), abs=2)


@pytest.fixture(scope="module")
def run():
    """A test set, tasks with a spare query on it, and the record."""
    regime = worlds.Regime(10, 20, 1, 0.8)
    rng = np.random.default_rng(1)
    (bank, _), labels = worlds.draw(*worlds.world(regime, 0.0, rng), regime.images, regime.alike, rng)
    tasks = sample_closed(labels, tasks=6000, shots=1, queries=6, seed=0)
    right = worlds.correct(bank, tasks) > 0
    return (
        Record(right, tasks.query_label),
        tasks.support,
        tasks.query.reshape(6000, 5, 6)[..., :-1].reshape(6000, -1),
        labels,
    )


@pytest.mark.parametrize("spare", [False, True])
def test_of_a_mean_accuracy_it_agrees_with_three_intervals(run, spare):
    record, support, query, labels = run
    values, replaced = worst_class.mean_accuracy(record)
    right = 100.0 * record.by_class()[..., :-1].reshape(len(query), -1)
    plain = three_intervals(right, support, query, labels, bounds=(0, 100))
    if spare:
        found = influence(values, support, labels, query=query, replaced=replaced).intervals(bounds=(0, 100))
    else:
        found = influence(values, np.concatenate([support, query], axis=1), labels).intervals(bounds=(0, 100))
    assert found.closed == plain.closed
    assert found.image_variance == pytest.approx(plain.image_variance, rel=0.1 if spare else 0.3)
    assert found.class_variance == pytest.approx(plain.class_variance, rel=0.05)
    alone = influence(
        values, support, labels, query=query, replaced=replaced, groups=np.arange(len(labels))
    ).intervals()
    if spare:  # groups of one image are images, up to n/(n - 1) in all or in a class
        assert alone.image_variance == pytest.approx(found.image_variance, rel=0.06)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100), st.floats(-50, 50))
def test_names_unit_and_origin_do_not_matter(run, seed, unit, origin):
    record, support, query, labels = run
    few = slice(0, 400)
    values, replaced = (a[few] for a in worst_class.worst_class(record))
    support, query = support[few], query[few]
    plain = influence(values, support, labels, query=query, replaced=replaced)
    rng = np.random.default_rng(seed)
    images = rng.permutation(len(labels))  # image i is called images[i] now
    renamed = np.array(list("kbxaqzcwem"))[rng.permutation(10)][labels][np.argsort(images)]
    places, queries = rng.permutation(support.shape[1]), rng.permutation(query.shape[1])
    other = influence(
        unit * values + origin,
        images[support[:, places]],
        renamed,
        query=images[query[:, queries]],
        replaced=unit * replaced[:, queries] + origin,
    )
    np.testing.assert_allclose(other.images[:, images], unit * plain.images, rtol=1e-6, atol=1e-7 * unit)
    r, s = other.intervals(), plain.intervals()
    assert r.images.half_width == pytest.approx(unit * s.images.half_width, rel=1e-6)
    assert r.classes.half_width == pytest.approx(unit * s.classes.half_width, rel=1e-6)


def test_all_images_as_the_pool_is_no_pool_when_the_support_alone_counts(run):
    record, support, _, labels = run
    values = worst_class.worst_class(record)[0]
    members = np.array([np.flatnonzero(np.isin(labels, labels[row])) for row in support])
    there, none = influence(values, support, labels, pool=members), influence(values, support, labels)
    np.testing.assert_allclose(there.images, none.images, atol=1e-9)


def test_a_difference_of_runs_is_not_a_sum_of_variances(run):
    record, support, query, labels = run
    values, replaced = worst_class.worst_class(record)
    even, odd = (
        influence(values[part], support[part], labels, query=query[part], replaced=replaced[part])
        for part in (slice(0, None, 2), slice(1, None, 2))
    )
    gap = (even - odd).intervals()
    usual = independent_interval(values[::2], values[1::2])
    assert gap.closed.mean == pytest.approx(usual.mean)
    assert gap.closed.half_width == pytest.approx(usual.half_width, rel=1e-3)
    # what images and classes do to both halves alike cancels
    assert gap.image_variance < 0.3 * even.intervals().image_variance
    assert gap.class_variance < 0.3 * even.intervals().class_variance


def test_what_a_spare_query_changes():
    """Two classes, two queries and a spare: by hand."""
    right = np.array([[1, 0, 1, 1, 1, 0]], bool)
    record = Record(right, np.array([[0, 0, 0, 1, 1, 1]]))
    values, replaced = worst_class.worst_class(record)
    assert values.tolist() == [50.0] and replaced.tolist() == [[50.0, 100.0, 50.0, 50.0]]
    values, replaced = worst_class.mean_accuracy(record)
    assert values.tolist() == [75.0] and replaced.tolist() == [[75.0, 100.0, 50.0, 50.0]]


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
    monkeypatch.setattr(np.random, "default_rng", lambda *seed: (seeds.append(seed), real(*seed))[1])
    for seed in (0, 7):
        seeds.clear()
        worst_class.draw(labels, has, queries=4, seed=seed, tasks=10, ways=3, shots=2)
        assert len(seeds) >= 2 and len(set(map(repr, seeds))) == len(seeds)


def test_tables_of_a_small_run():
    rng = np.random.default_rng(0)
    world = worlds.World(classes=8, tasks=60)
    runs = worlds.test_set(world, worlds.shifts_of(world, rng), *worlds.classes_of(world, rng), rng, seed=1)
    found, ordered = worst_class.table(runs), worst_class.orderings(runs)
    assert list(found["measure"]) == [*worst_class.MEASURES] * 2 and set(ordered["measure"]) == set(
        worst_class.MEASURES
    )
    r, a, gap = (row.closed for row in found["result"][:3])
    assert gap.mean == pytest.approx(r.mean - a.mean)
    assert gap.standard_error == pytest.approx(np.hypot(r.standard_error, a.standard_error))
    random = runs.records["random"]
    difference = paired_interval(*(worst_class.worst_class(random[name])[0] for name in "ab"))
    assert ordered["result"][0].closed.mean == pytest.approx(difference.mean)
    assert ordered["result"][0].closed.half_width == pytest.approx(difference.half_width, rel=0.03)
    plain, holm = worst_class.verdicts({"x": ordered}), worst_class.verdicts({"x": ordered}, holm=True)
    assert (holm <= plain).all(axis=None) and (plain["pairs"] == 1).all()
    sizes = pd.DataFrame({"classes": [8], "images": [len(runs.labels)]}, index=["same"])
    factors = worst_class.scaled(runs, ordered, sizes, tasks=60)
    one = ordered["result"][0]
    assert factors.loc[("same", "wAcc-R"), "new images"] == pytest.approx(
        np.sqrt(1 + one.image_variance / one.sampling_variance)
    )
    assert worst_class.shown(found).shape == (6, 4) and worst_class.shown(ordered).shape == (3, 4)


def test_printed_orderings_with_intervals_as_they_are_and_very_wide():
    sets = ["miniimagenet", "tieredimagenet", "cub"]
    index = pd.MultiIndex.from_product([sets, worst_class.MEASURES])
    factors = pd.DataFrame({"none": 1.0, "all": 1e9}, index=index)
    found = worst_class.printed_orderings(factors)
    assert (found["none"] == found["difference"]).all() and (found["all"] == 0).all()
    assert (found["pairs"] == 3 * 45).all() and (found["intervals apart"] <= found["difference"]).all()


def test_the_study_that_ships_is_what_the_code_makes():
    made = coverage.load("gaps")
    again = coverage_gaps.replicates(worlds.WORLD, "classes", 1, 1, seed=1)
    first = made[(made["new"] == "classes") & (made["world"] == 0)]
    assert first["mean"].tolist() == pytest.approx(again["mean"].tolist(), rel=1e-5)
    assert first["low"].tolist() == pytest.approx(again["low"].tolist(), rel=1e-4)
    found = coverage_gaps.summary(made).set_index(["target", "statement", "interval"])["share"]
    assert len(found) == 20 and found.between(0, 100).all()


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(values=np.full(400, np.nan)), "NaN"),
        (dict(values=np.zeros(399)), "399 tasks"),
        (dict(replaced=None), "without the other"),
        (dict(replaced=np.zeros((400, 3))), "finite number"),
        (dict(replaced=np.full((400, 25), np.nan)), "^replaced: 10000 values are NaN"),
        (dict(drawn=np.zeros((400, 5), int)), "twice"),
        (dict(drawn=np.full((400, 5), 10_000)), "10000"),
        (dict(drawn=np.zeros((400, 5))), "whole numbers"),
        (dict(pool=np.full((400, 3), -1)), "pool"),
        (dict(groups=np.zeros(200)), "groups"),
    ],
)
def test_bad_input_is_one_line(run, change, words):
    record, support, query, labels = run
    values, replaced = (a[:400] for a in worst_class.worst_class(record))
    given = dict(values=values, drawn=support[:400], query=query[:400], replaced=replaced, groups=None, pool=None)
    with pytest.raises(InputError, match=words) as error:
        influence(**(given | change), labels=labels)
    assert "\n" not in str(error.value)


def test_methods_that_take_queries_together_are_refused():
    shape = dict(tasks=20, ways=2, shots=1, queries=2)
    with pytest.raises(InputError, match="^methods: glyph-conv OpTA is transductive: an answer depends on") as error:
        worst_class.run("coloured/hebrew?per_class=20", ["glyph-conv ncc", "glyph-conv opta"], **shape)
    assert "\n" not in str(error.value)


def test_too_few_tasks_images_or_queries(run):
    record, support, query, labels = run
    with pytest.raises(InputError, match="at least 20"):
        influence(np.zeros(10), support[:10], labels)
    with pytest.raises(InputError, match="class 5 has 3 images; 4 are needed, to leave one out"):
        influence(np.zeros(30), np.tile([0, 1, 2, 7, 8, 9], (30, 1)), np.array([7] * 7 + [5] * 3))
    with pytest.raises(InputError, match="equal numbers"):
        influence(np.zeros(30), np.tile([0, 1, 2], (30, 1)), [0, 0, 1, 1, 1])
    of_two = np.tile([0, 1, 10, 11], (30, 1))  # classes 0 and 1 in each task but one: one and three images, one class
    for other in ([0, 10, 11, 12], [0, 1, 2, 3]):
        with pytest.raises(InputError, match="^drawn: 2 classes with equal numbers of images in each task are needed"):
            influence(np.zeros(31), np.vstack([of_two, other]), np.arange(2).repeat(10))
    with pytest.raises(InputError, match="^apart = True; tasks drawn from all images are needed, without pool"):
        influence(np.zeros(30), of_two, np.arange(2).repeat(10), groups=np.arange(20), apart=True, pool=of_two)
    with pytest.raises(InputError, match="spare"):
        worst_class.worst_class(Record(np.ones((3, 2), bool), np.tile([0, 1], (3, 1))))
    one, other = (influence(np.arange(30.0), support[:30], of) for of in (labels, np.append(labels, labels[-1])))
    with pytest.raises(InputError, match="different images"):
        one - other
