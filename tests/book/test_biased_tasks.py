"""Biased tasks: what the paper asks of each, and that starting again from scratch gives the same distribution."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from refusal import refuses
from scipy import stats

from fslbook.biased_tasks import sample_biased, weighted_sampler
from fslbook.biased_tasks.candidates import Candidates
from fslbook.biased_tasks.released_choices import as_released
from fslbook.biased_tasks.weighted_sampler import _AttributeTree, _matching, _matching_weights
from fslcore.errors import InputError
from fslcore.tasks import sample_class_matched

METHODS = [("SC1", "QC3"), ("SC2", "QC2"), ("SC3", "QC1"), ("SC3", "QC2"), ("SC3", "QC3")]


def world(seed, sizes, attributes, share=0.4):
    """Shuffled labels, and attributes that images have at random, each with a frequency of its own a class."""
    rng = np.random.default_rng(seed)
    # Labels need not be 0, 1, 2, …
    labels = rng.permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    often = rng.beta(share * 2, (1 - share) * 2, (len(sizes), attributes))
    return labels, rng.random((len(labels), attributes)) < often[labels // 3]


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.integers(2, 25), min_size=3, max_size=5))
    labels, has = world(draw(st.integers(0, 999)), sizes, draw(st.integers(2, 5)))
    shape = dict(
        ways=draw(st.integers(2, 3)), shots=draw(st.integers(1, 3)), queries=draw(st.integers(1, 4))
    )
    return labels, has, shape, dict(zip(("support", "query"), draw(st.sampled_from(METHODS))))


def parts(labels, has, classes, attributes):
    """By class of a task: all its images, those with its attribute and those with another class's attribute."""
    for k, c in enumerate(classes):
        has_others = has[:, np.delete(attributes, k)].any(axis=1)
        sets = labels == c, (labels == c) & has[:, attributes[k]], has_others
        yield tuple(set(np.flatnonzero(is_in)) for is_in in sets)


def candidates_of_support(support, images, has_own, others):
    return {"SC1": images, "SC2": has_own, "SC3": has_own - others}[support]


def is_enough(images, has_own, others, *, shots, queries, support):
    """Whether a class has images for its support and its query."""
    needed = queries + shots if support == "SC1" else queries
    candidates = candidates_of_support(support, images, has_own, others)
    return len(candidates) >= shots and len(images - has_own) >= needed


def choices(labels, has, ways, **shape):
    """Every set of (class, attribute) that starting again from scratch would accept, with its weight."""
    spurious = {}
    for c in np.unique(labels):
        share = has[labels == c].mean(axis=0)
        spurious[c] = np.flatnonzero((share > 0) & (share < 1)).tolist()
    weights = {}
    for classes in combinations(spurious, ways):
        for attributes in product(*(spurious[c] for c in classes)):
            sets = parts(labels, has, classes, attributes)
            if len(set(attributes)) == ways and all(is_enough(*s, **shape) for s in sets):
                choice = frozenset(zip(classes, attributes))
                weights[choice] = prod(Fraction(1, len(spurious[c])) for c in classes)
    return weights


def candidates_of_query(images, has_own, others, *, support_images, queries, query):
    """Images that a class's query may be of beside this support, and whether QC1 replaces the construction."""
    candidates = images - has_own - support_images
    if query == "QC1":
        return candidates, False
    is_short = len(candidates & others) < queries
    return (candidates if is_short else candidates & others), is_short


def are_lowest(images, scores, tolerance=0):
    """Whether these images have the lowest of all scores."""
    lowest_left = min((s for i, s in scores.items() if i not in images), default=np.inf)
    return max(scores[i] for i in images) <= lowest_left + tolerance


def check_frequencies(counts, weights):
    """Choices are drawn in proportion to their weights."""
    observed = np.array([counts.count(choice) for choice in weights])
    assert observed.sum() == len(counts)
    weight = np.array([float(share) for share in weights.values()])
    expected = len(counts) * weight / weight.sum()
    rare = expected < 5  # chi-square wants no small cells
    observed, expected = (np.append(x[~rare], x[rare].sum()) for x in (observed, expected))
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-3


def score(image, candidates, has, attributes):
    """Equation 6, as fractions."""
    free = [a for a in np.flatnonzero(has[image]) if a not in attributes]
    return sum(Fraction(int(has[list(candidates), a].sum()), len(candidates)) for a in free)


def by_task(tasks, attribute, labels):
    """Classes, attributes and, of each class, the images of support and query (as sets) of each task."""
    for support, query, attributes in zip(tasks.support, tasks.query, attribute):
        supports = support.reshape(tasks.ways, -1)
        queries = query.reshape(tasks.ways, -1)
        assert len({*support, *query}) == support.size + query.size
        images = [(set(s), set(q)) for s, q in zip(supports, queries)]
        yield labels[supports[:, 0]], attributes, images


def checked_class(images, sets, attributes, has, *, queries, support, query):
    """Check the support and the query of a class in a task; whether QC1 replaced the construction of the query."""
    support_images, queried = images
    assert support_images <= candidates_of_support(support, *sets)
    candidates, is_short = candidates_of_query(
        *sets, support_images=support_images, queries=queries, query=query
    )
    assert queried <= candidates
    if query == "QC3":
        assert are_lowest(queried, {i: score(i, candidates, has, attributes) for i in candidates})
    return is_short


# By attributes, where support is SC3, and by classes.
@pytest.mark.parametrize("patience", [0, 500])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_a_task_has_what_its_construction_asks_for(monkeypatch, patience, case):
    monkeypatch.setattr(weighted_sampler, "PATIENCE", patience)
    labels, has, shape, methods = case
    possible = choices(labels, has, **shape, support=methods["support"])
    if not possible:
        with refuses():
            sample_biased(labels, has, tasks=4, **shape, **methods)
        return
    tasks, attribute = sample_biased(labels, has, tasks=12, seed=3, **shape, **methods)
    assert attribute.shape == (12, shape["ways"]) and tasks.sampler["relaxed"] == 0
    assert tasks.sampler["sampling"] == "biased"
    fallbacks = [
        checked_class(*sets, attributes, has, queries=shape["queries"], **methods)
        for classes, attributes, images in by_task(tasks, attribute, labels)
        for sets in zip(images, parts(labels, has, classes, attributes))
    ]
    chosen = [frozenset(zip(c, a)) for c, a, _ in by_task(tasks, attribute, labels)]
    assert possible.keys() >= {*chosen} and tasks.sampler["fallbacks"] == sum(fallbacks)
    fewer, first_attributes = sample_biased(labels, has, tasks=5, seed=3, **shape, **methods)
    assert fewer.digest == tasks[:5].digest and (first_attributes == attribute[:5]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "support, patience", [("SC1", 500), ("SC2", 500), ("SC3", 500), ("SC3", 0)]
)
def test_choices_are_those_of_starting_again_from_scratch(monkeypatch, support, patience):
    monkeypatch.setattr(weighted_sampler, "PATIENCE", patience)
    labels, has = world(9, (14, 16, 22, 15), 5, 0.3)
    shape = dict(ways=3, shots=2, queries=3)
    possible = choices(labels, has, **shape, support=support)
    everything = choices(labels, has, 3, shots=0, queries=0, support="SC2")
    assert 20 < len(possible) < len(everything)  # some are refused
    # The first tasks of many draws: later ones profit from what the sampler has learnt of its bounds.
    runs = [
        sample_biased(labels, has, tasks=2, seed=s, support=support, query="QC1", **shape)
        for s in range(1000)
    ]
    classes = np.concatenate([labels[tasks.support[:, ::2]] for tasks, _ in runs])
    attribute = np.concatenate([attribute for _, attribute in runs])
    check_frequencies([frozenset(zip(*pair)) for pair in zip(classes, attribute)], possible)
    assert len(set(possible.values())) > 1  # classes differ in their numbers of spurious attributes
    # The order of the classes, too, is any.
    first, third = (np.bincount(classes[:, place] // 3, minlength=4) for place in (0, 2))
    assert stats.chi2_contingency([first, third]).pvalue > 1e-3


def test_every_candidate_is_equally_likely():
    # Two classes, one attribute each that suits: the choice is always the same, the images are not.
    labels = np.repeat([0, 1], 12)
    has = np.zeros((24, 2), dtype=bool)
    has[:8, 0] = has[12:20, 1] = True
    # Of class 0, 6 images suit the support; 2 the query across classes, 4 within.
    has[6:10, 1] = has[18:22, 0] = True

    def counts(index, attribute):
        """How often the images of class 0 are drawn where each class has the attribute of its number."""
        is_own = (labels[tasks.support[:, ::3]] == attribute).all(axis=1)
        return np.bincount(index[is_own].ravel(), minlength=24)[:12]

    tasks, attribute = sample_biased(
        labels, has, tasks=6000, ways=2, shots=3, queries=2, query="QC1", seed=2
    )
    support, query = counts(tasks.support, attribute), counts(tasks.query, attribute)
    assert stats.chisquare(support[:6]).pvalue > 1e-3 and (support[6:] == 0).all()
    assert stats.chisquare(query[8:]).pvalue > 1e-3 and (query[:8] == 0).all()
    # Equal scores: the lowest are taken at random.
    tasks, attribute = sample_biased(
        labels, has, tasks=6000, ways=2, shots=3, queries=1, query="QC3", seed=2
    )
    query = counts(tasks.query, attribute)
    assert stats.chisquare(query[8:10]).pvalue > 1e-3 and query[10:].sum() == 0


def test_what_is_rare_is_found():
    # 12 classes with 40 attributes each; only attributes 0 to 4 of classes 0 to 4 leave each other a support:
    # one choice of some 10^11.
    rng = np.random.default_rng(0)
    labels = np.arange(12).repeat(40)
    has = np.zeros((480, 60), dtype=bool)
    for c, images in enumerate(np.arange(480).reshape(12, 40)):
        has[images[:20], 20:] = True  # each with the others on all of its images but one
        has[rng.choice(images[:20], 40), np.arange(20, 60)] = False
        if c < 5:
            has[images[:10], c] = True
    tasks, attribute = sample_biased(labels, has, tasks=20, shots=5, queries=10)
    assert (np.sort(attribute, axis=1) == np.arange(5)).all()
    assert (labels[tasks.support[:, ::5]] == attribute).all()


def test_where_pairs_go_together_and_all_at_once_hardly_ever_attributes_come_first(monkeypatch):
    # Of 60 images per class some 3 have one of 8 attributes and none of four others, where 6 are needed.
    labels = np.arange(40).repeat(60)
    has = np.random.default_rng(0).random((2400, 8)) < 0.39
    shape = dict(tasks=100, shots=6, queries=15)
    monkeypatch.setattr(weighted_sampler, "TRIES", 500)
    tasks, attribute = sample_biased(labels, has, **shape)
    n_others = has[tasks.support[..., None], attribute[:, None]].sum(axis=-1)
    assert (n_others == 1).all() and len(np.unique(attribute)) == 8
    monkeypatch.setattr(_AttributeTree, "WAYS", 4)
    monkeypatch.setattr(weighted_sampler, "TRIES", 2000)
    with refuses("2,000 tries", "5 ways"):  # what it took before
        sample_biased(labels, has, **shape)


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_weight_of_a_set_is_the_permanent_and_only_possible_classes_are_drawn(ways, classes, seed):
    rng = np.random.default_rng(seed)
    weight = rng.random((ways, classes)) * (rng.random((ways, classes)) < 0.7)
    places = np.arange(ways)
    products = {
        chosen: weight[places, list(chosen)].prod() for chosen in permutations(range(classes), ways)
    }
    total = sum(products.values())
    assert _matching_weights(weight)[-1, -1] == pytest.approx(total)
    if total:
        assert all(products[tuple(_matching(weight, rng).tolist())] > 0 for _ in range(40))


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(ways=7), "ways .* 6, .*got 7"),
        (dict(shots=11), "ways .*at most 0, .*11 images have and 3 lack, got"),
        (dict(support="SC4"), "support must be 'SC1', 'SC2' or 'SC3', got 'SC4'"),
        (dict(variant="released", query="QC1"), "the released variant knows SC3 and QC3 only"),
        (dict(variant="released", shots=11), "at most 0, .*11 images have and 3 lack, got 3"),
        (dict(shots=(1, 2, 3)), "equal numbers per class"),
        (dict(queries=(1, 2, 3)), "equal numbers per class"),
        (dict(attributes=np.zeros((60, 4))), r"attributes .*\(images, attributes\) of bool, got"),
    ],
)
def test_bad_input_names_value_and_bound(change, message):
    labels = np.arange(6).repeat(10)
    has = np.random.default_rng(0).random((60, 4)) < 0.4
    shape = {"tasks": 4, "ways": 3, "shots": 2, "queries": 3, **change}
    with refuses(message):
        sample_biased(labels, shape.pop("attributes", has), **shape)


def test_where_no_task_can_be_built_the_error_says_which_condition_fails_for_which_classes():
    labels = np.array(["ant", "bee", "cat", "dog"]).repeat(10)
    has = np.zeros((40, 4), dtype=bool)
    has[:6, 0] = has[10:16, 1] = has[20:26, 2] = has[30:36, 3] = True
    sample_biased(labels, has, tasks=2, ways=4, shots=3, queries=4)
    has[20:26] = has[30:36] = True  # cats and dogs that have one attribute have them all
    shape = dict(tasks=2, ways=3, shots=3, queries=4)
    with refuses("SC3", "3 shots", "3 ways", "ant, bee, cat, dog"):
        sample_biased(labels, has, **shape)
    sample_biased(labels, has, **shape, support="SC2")
    has[:, 1:] = False
    with refuses("at most 1", "3 images have and 4 lack", "got 3"):
        sample_biased(labels, has, **shape, support="SC2")
    # Each two go together, three never do: half of the images with an attribute have the one, half the other.
    has[:] = False
    for c, images in enumerate(has[:30].reshape(3, 10, 4)):
        a, b = {0, 1, 2} - {c}
        images[:6, c] = images[:3, a] = images[3:6, b] = True
    sample_biased(labels, has, tasks=2, ways=2, shots=3, queries=4)
    with refuses("SC3", "3 shots", "pairs", "ant, bee, cat"):
        sample_biased(labels, has, **shape)


def attributes_by_class(labels, has, shots, queries):
    """(C, A) attributes that enough images of a class have for a support, and lack for a query."""
    counts = [
        [has[labels == c].sum(axis=0), (~has[labels == c]).sum(axis=0)] for c in np.unique(labels)
    ]
    return np.array([(count >= shots) & (left >= queries) for count, left in counts])


def released_choices(labels, has, ways, shots, queries):
    """Every choice of the released code, if images never fall short, with its weight."""
    fits = attributes_by_class(labels, has, shots, queries)
    weights = {}

    def add(attributes, classes, weight):
        k = len(classes)
        if k == ways:
            choice = frozenset(zip(classes, attributes))
            weights[choice] = weights.get(choice, 0) + weight
            return
        is_able = fits[:, attributes[k]] & fits[:, np.delete(attributes, k)].any(axis=1)
        allowed = [c for c in np.flatnonzero(is_able) if c not in classes]
        for c in allowed:
            add(attributes, (*classes, c), weight / len(allowed))

    for attributes in permutations(np.flatnonzero(fits.any(axis=0)), ways):
        add(attributes, (), 1.0)
    return weights


def test_released_variant_draws_attributes_first():
    # Attributes of a class are on different images and frequent enough, so that only the classes can run out.
    labels = np.arange(4).repeat(60)
    has = np.zeros((240, 5), dtype=bool)
    for block, a in enumerate([0, 1, 2, 0, 1, 3, 1, 2, 3, 0, 2, 4]):
        image = 60 * (block // 3) + 12 * (block % 3)
        has[image : image + 12, a] = True
    shape = dict(ways=3, shots=2, queries=3)
    possible = released_choices(labels, has, **shape)
    assert len(possible) > 20 and len(set(possible.values())) > 1
    tasks, attribute = sample_biased(labels, has, tasks=4000, variant="released", seed=4, **shape)
    check_frequencies(
        [frozenset(zip(labels[s[::2]], a)) for s, a in zip(tasks.support, attribute)], possible
    )
    assert tasks.sampler["fallbacks"] == 0


@settings(max_examples=40)
@given(st.integers(0, 200))
def test_released_variant_ranks_by_the_number_of_other_attributes(seed):
    labels, has = world(seed, (40, 45, 50, 40), 8, 0.3)
    try:
        tasks, attribute = sample_biased(
            labels, has, tasks=6, ways=3, shots=2, queries=5, variant="released", seed=seed
        )
    except InputError as error:
        assert "tries made no task" in str(error) or "ways must be at most" in str(error)
        return
    pool = np.flatnonzero(attributes_by_class(labels, has, shots=2, queries=5).any(axis=0))
    fallbacks = relaxed = 0
    for classes, attributes, images in by_task(tasks, attribute, labels):
        sets = parts(labels, has, classes, attributes)
        for (support, query), (of_class, has_own, others) in zip(images, sets):
            candidates = of_class - has_own
            assert support <= has_own
            relaxed += not support.isdisjoint(others)
            if query <= others and len(candidates & others) >= 5:
                candidates &= others
            else:
                fallbacks += 1
            assert query <= candidates
            x = has[sorted(candidates)][:, np.setdiff1d(pool, attributes)]
            scores = np.log(x * x.mean(axis=0) + 1e-10).sum(axis=1)
            assert are_lowest(query, dict(zip(sorted(candidates), scores)), tolerance=1e-6)
    assert relaxed == tasks.sampler["relaxed"] and fallbacks <= tasks.sampler["fallbacks"]


def test_released_variant_relaxes_and_gives_up():
    # Of class 0 too few images have one attribute only; of class 1 enough.
    labels = np.arange(2).repeat(24)
    has = np.zeros((48, 2), dtype=bool)
    has[:8] = has[8:10, 1] = has[10:12, 0] = has[24:32, 0] = has[32:40, 1] = True
    shape = dict(tasks=10, ways=2, shots=3, queries=2)
    tasks, attribute = sample_biased(labels, has, **shape, variant="released")
    assert tasks.sampler["relaxed"] == 10 and tasks.sampler["fallbacks"] == 0
    for support in tasks.support:
        with_both = [has[support[labels[support] == c]].all(axis=1).sum() for c in (0, 1)]
        assert with_both[0] >= 1 and with_both[1] == 0  # as many as needed, where needed
    with refuses("SC3", "3 shots", "2 ways", "0, 1"):
        sample_biased(labels, has, **shape)
    # Where both classes need it, the first success takes the tolerance away: that goes on for ever.
    has[24:48] = has[:24]
    says = "20,000 tries made no task of 2 ways: 0 .*, [0-9,]+ no support .* of 0, 1"
    with refuses(says) as error:
        sample_biased(labels, has, **shape, variant="released")
    counts = re.findall(r"(\S+) (?:found )?no (?:class|support|query)", str(error.value))
    assert len(counts) == 3
    assert sum(int(n.replace(",", "")) for n in counts) == 20_000  # each try failed once
    has[24:48] = False  # one class has all attributes, so the second finds none
    with refuses("20,000", "class", "0 no support", "0 no query"):
        sample_biased(labels, has, **{**shape, "shots": 2}, variant="released")
    # Of class 0 too few images have only the other attribute: after five such queries one is intra-class.
    has[:] = False
    has[:6, 0] = has[2:8, 1] = has[24:32, 0] = has[30:38, 1] = True
    tasks, attribute = sample_biased(
        labels, has, tasks=10, ways=2, shots=2, queries=3, variant="released"
    )
    assert tasks.sampler["fallbacks"] == 10 and tasks.sampler["relaxed"] == 0


class InOrder:
    """In place of a random generator: attributes in their order, and the first class that is allowed."""

    def __init__(self):
        self.tries = 0

    def choice(self, pool, size, replace):
        self.tries += 1
        return pool[:size]

    def integers(self, high):
        return 0


@pytest.mark.parametrize("others", range(1, 7))
def test_released_variant_tolerates_as_many_attributes_as_the_sum_of_its_steps(others):
    """The released code adds 0.2 after each failed support and compares the sum with the others' attributes."""
    ways = others + 1
    labels = np.arange(ways).repeat(12)
    has = np.zeros((12 * ways, ways), dtype=bool)
    has[:4] = True  # of the first class, whoever has its attribute has all others too
    for c in range(1, ways):
        has[12 * c : 12 * c + 4, c] = has[12 * c + 4 : 12 * c + 8, c - 1] = True
        has[4:6, c] = True
    failed, tolerance = 0, 0.0
    while others > tolerance:
        failed, tolerance = failed + 1, tolerance + 0.2
    assert failed == {1: 5, 2: 11, 3: 15, 4: 20, 5: 25, 6: 30}[others]
    rng = InOrder()
    choice = next(as_released(Candidates(labels, has, ways), ways, 3, 2, rng))
    assert (
        choice.classes.tolist() == list(range(ways)) and choice.tolerated == [others] + [0] * others
    )
    assert rng.tries == failed + 1


def test_matched_tasks_hold_the_same_classes_and_any_images():
    labels, has = world(1, (30, 35, 40, 30, 30), 6, 0.5)
    tasks, _ = sample_biased(labels, has, tasks=3000, ways=3, shots=2, queries=4, seed=1)
    matched = sample_class_matched(labels, tasks, seed=5)
    drawn = {"sampling": "matched", "seed": 5, "tasks": 3000, "to": tasks.digest}
    assert matched.sampler.items() >= drawn.items()
    for name in ("support", "query"):
        images = getattr(matched, name)
        assert (labels[images] == labels[getattr(tasks, name)]).all()
        counts = np.bincount(images[labels[images] == 3], minlength=len(labels))[labels == 3]
        assert stats.chisquare(counts).pvalue > 1e-3
    images = np.concatenate([matched.support, matched.query], axis=1)
    assert (np.diff(np.sort(images, axis=1)) > 0).all()
    assert matched[:7].digest == sample_class_matched(labels, tasks, seed=5)[:7].digest
    assert matched.digest != sample_class_matched(labels, tasks, seed=6).digest
    with refuses(r"class \d+ .*shots \+ queries = .*got fewer"):
        sample_class_matched(np.arange(len(labels)), tasks)
    padded = (
        np.pad(x, [(0, 0), (0, 1)], constant_values=-1) for x in (tasks.query, tasks.query_label)
    )
    with refuses("equal numbers of images per class"):
        sample_class_matched(labels, replace(tasks, **dict(zip(("query", "query_label"), padded))))
