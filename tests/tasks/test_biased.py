"""Biased tasks: what the paper asks of each, and that starting again from scratch gives the same distribution."""

import re
from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy import stats

from fslbook.fewstab.tables import gaps
from fslcore.errors import InputError
from fslcore.evaluation import Record
from fslcore.stats import closed_interval, independent_interval, paired_interval
from fslcore.tasks import sample_biased, sample_matched, weighted_sampler
from fslcore.tasks.weighted_sampler import _AttributeTree, _matching, _matching_weights

METHODS = [("SC1", "QC3"), ("SC2", "QC2"), ("SC3", "QC1"), ("SC3", "QC2"), ("SC3", "QC3")]


def world(seed, sizes, attributes, share=0.4):
    """Shuffled labels, and attributes that images have at random, each with a frequency of its own a class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(
        np.repeat(np.arange(len(sizes)) * 3, sizes)
    )  # labels need not be 0, 1, 2, …
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
        is_of_class = labels == c
        others = has[:, np.delete(attributes, k)].any(axis=1)
        has_own = is_of_class & has[:, attributes[k]]
        yield (
            set(np.flatnonzero(is_of_class)),
            set(np.flatnonzero(has_own)),
            set(np.flatnonzero(others)),
        )


def candidates_of_support(support, images, has_own, others):
    return {"SC1": images, "SC2": has_own, "SC3": has_own - others}[support]


def choices(labels, has, ways, shots, queries, support):
    """Every set of (class, attribute) that starting again from scratch would accept, with its weight."""
    names = np.unique(labels)
    spurious = {
        c: [a for a in range(has.shape[1]) if 0 < has[labels == c, a].mean() < 1] for c in names
    }
    weights = {}
    for classes in combinations(names, ways):
        for attributes in product(*(spurious[c] for c in classes)):
            is_feasible = len(set(attributes)) == ways
            for images, has_own, others in parts(labels, has, classes, attributes):
                candidates = candidates_of_support(support, images, has_own, others)
                n_without = len(images) - len(has_own) - shots * (support == "SC1")
                is_feasible &= len(candidates) >= shots and n_without >= queries
            if is_feasible:
                choice = frozenset(zip(classes, attributes))
                weights[choice] = prod(Fraction(1, len(spurious[c])) for c in classes)
    return weights


def check_frequencies(counts, weights):
    """Choices are drawn in proportion to their weights."""
    observed = np.array([counts.count(choice) for choice in weights])
    assert observed.sum() == len(counts)
    weight = np.array([float(value) for value in weights.values()])
    expected = len(counts) * weight / weight.sum()
    rare = expected < 5  # chi-square wants no small cells
    observed, expected = (np.append(x[~rare], x[rare].sum()) for x in (observed, expected))
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-3


def score(image, candidates, has, attributes):
    """Equation 6, as fractions."""
    free = [a for a in np.flatnonzero(has[image]) if a not in attributes]
    return sum(Fraction(int(has[list(candidates), a].sum()), len(candidates)) for a in free)


@pytest.mark.parametrize(
    "patience", [0, 500]
)  # by attributes, where support is SC3, and by classes
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_a_task_has_what_its_construction_asks_for(monkeypatch, patience, case):
    monkeypatch.setattr(weighted_sampler, "PATIENCE", patience)
    labels, has, shape, methods = case
    possible = choices(labels, has, **shape, support=methods["support"])
    if not possible:
        with pytest.raises(InputError) as error:
            sample_biased(labels, has, tasks=4, **shape, **methods)
        assert "\n" not in str(error.value)
        return
    tasks, attribute = sample_biased(labels, has, tasks=12, seed=3, **shape, **methods)
    shots, queries, ways = shape["shots"], shape["queries"], shape["ways"]
    assert attribute.shape == (12, ways) and tasks.sampler["relaxed"] == 0
    assert tasks.sampler["sampling"] == "biased"
    fallbacks = 0
    for support, query, attributes in zip(tasks.support, tasks.query, attribute):
        assert len({*support, *query}) == ways * (shots + queries)
        classes = labels[support[::shots]]
        assert frozenset(zip(classes, attributes)) in possible
        supports, queries_by_class = support.reshape(ways, shots), query.reshape(ways, queries)
        for s, q, sets in zip(supports, queries_by_class, parts(labels, has, classes, attributes)):
            assert set(s) <= candidates_of_support(methods["support"], *sets)
            images, has_own, others = sets
            candidates = images - has_own - set(s)
            if methods["query"] != "QC1":
                if len(candidates & others) >= queries:
                    candidates &= others
                else:
                    fallbacks += 1
            assert set(q) <= candidates
            if methods["query"] == "QC3":
                scores = {i: score(i, candidates, has, attributes) for i in candidates}
                assert max(scores[i] for i in q) <= min(
                    (scores[i] for i in candidates - set(q)), default=np.inf
                )
    assert tasks.sampler["fallbacks"] == fallbacks
    fewer, first_attributes = sample_biased(labels, has, tasks=5, seed=3, **shape, **methods)
    assert fewer.digest == tasks[:5].digest and (first_attributes == attribute[:5]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "support, patience", [("SC1", 500), ("SC2", 500), ("SC3", 500), ("SC3", 0)]
)
@pytest.mark.parametrize("seed, share", [(9, 0.3), (4, 0.4)])
def test_choices_are_those_of_starting_again_from_scratch(
    monkeypatch, support, patience, seed, share
):
    monkeypatch.setattr(weighted_sampler, "PATIENCE", patience)
    labels, has = world(seed, (14, 16, 22, 15), 5, share)
    shape = dict(ways=3, shots=2, queries=3)
    possible = choices(labels, has, **shape, support=support)
    assert 20 < len(possible) < len(choices(labels, has, 3, 0, 0, "SC2"))  # some are refused
    # The first tasks of many draws: later ones profit from what the sampler has learnt of its bounds.
    runs = [
        sample_biased(labels, has, tasks=2, seed=s, support=support, query="QC1", **shape)
        for s in range(1000)
    ]
    images, attribute = (
        np.concatenate([r[0].support for r in runs]),
        np.concatenate([r[1] for r in runs]),
    )
    check_frequencies(
        [frozenset(zip(labels[s[::2]], a)) for s, a in zip(images, attribute)], possible
    )
    assert len(set(possible.values())) > 1  # classes differ in their numbers of spurious attributes
    # the order of the classes, too, is any
    first = np.bincount(labels[images[:, 0]] // 3, minlength=4)
    third = np.bincount(labels[images[:, 4]] // 3, minlength=4)
    assert stats.chi2_contingency([first, third]).pvalue > 1e-3


def test_every_candidate_is_equally_likely():
    # Two classes, one attribute each that suits: the choice is always the same, the images are not.
    labels = np.repeat([0, 1], 12)
    has = np.zeros((24, 2), dtype=bool)
    has[:8, 0] = has[12:20, 1] = True
    has[6:10, 1] = has[18:22, 0] = (
        True  # of class 0, 6 images suit the support; 2 the query across classes, 4 within
    )

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
    with pytest.raises(InputError, match="in 2,000 tries no task of 5 ways"):  # what it took before
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
        (dict(ways=7), "ways = 7; the data have 6 classes"),
        (
            dict(shots=11),
            "0 of 6 classes have an attribute that 11 images have and 3 lack; none has 0, 1, 2, 3, 4 and 1",
        ),
        (dict(queries=50), "that 2 images have and 50 lack"),
        (dict(support="SC4"), "support = SC4; SC1, SC2, SC3 are allowed"),
        (dict(query="QC0"), "query = QC0; QC1, QC2, QC3"),
        (dict(variant="released", query="QC1"), "the released variant knows SC3 and QC3 only"),
        (
            dict(variant="released", shots=11),
            "that, in a class, 11 images have and 3 lack: 0; at least 3",
        ),
        (dict(shots=(1, 2, 3)), "equal numbers per class"),
        (dict(tasks=1), "tasks = 1; a whole number of at least 2"),
        (dict(seed=-1), "seed = -1"),
        (dict(attributes=np.zeros((60, 4))), "bool (images, attributes) are needed"),
        (dict(attributes=np.zeros((59, 4), bool)), "labels (60,)"),
    ],
)
def test_bad_input_names_value_and_bound(change, message):
    labels = np.arange(6).repeat(10)
    has = np.random.default_rng(0).random((60, 4)) < 0.4
    shape = {"tasks": 4, "ways": 3, "shots": 2, "queries": 3, **change}
    with pytest.raises(InputError) as error:
        sample_biased(labels, shape.pop("attributes", has), **shape)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_where_no_task_can_be_built_the_error_says_which_condition_fails_for_which_classes():
    labels = np.array(["ant", "bee", "cat", "dog"]).repeat(10)
    has = np.zeros((40, 4), dtype=bool)
    has[:6, 0] = has[10:16, 1] = has[20:26, 2] = has[30:36, 3] = True
    sample_biased(labels, has, tasks=2, ways=4, shots=3, queries=4)
    has[20:26] = has[30:36] = True  # cats and dogs that have one attribute have them all
    shape = dict(tasks=2, ways=3, shots=3, queries=4)
    with pytest.raises(
        InputError, match="SC3 with 3 shots: no task of 3 ways; too few .* ant, bee, cat, dog"
    ):
        sample_biased(labels, has, **shape)
    sample_biased(labels, has, **shape, support="SC2")
    has[:, 1:] = False
    with pytest.raises(InputError, match="3 images have and 4 lack: 1; at least 3 are needed"):
        sample_biased(labels, has, **shape, support="SC2")
    # Each two go together, three never do: half of the images with an attribute have the one, half the other.
    has[:] = False
    for c in range(3):
        a, b = {0, 1, 2} - {c}
        has[10 * c : 10 * c + 6, c] = has[10 * c : 10 * c + 3, a] = has[
            10 * c + 3 : 10 * c + 6, b
        ] = True
    sample_biased(labels, has, tasks=2, ways=2, shots=3, queries=4)
    with pytest.raises(
        InputError,
        match="SC3 with 3 shots: no task .*, though pairs .* of ant, bee, cat never 3 at",
    ):
        sample_biased(labels, has, **shape)


def released_choices(labels, has, ways, shots, queries):
    """Every choice of the released code, if images never fall short, with its weight."""
    names = np.unique(labels)
    count = np.array([has[labels == c].sum(axis=0) for c in names])
    size = np.array([[np.sum(labels == c)] for c in names])
    fits = (count >= shots) & (size - count >= queries)
    out = {}

    def add(attributes, classes, weight):
        k = len(classes)
        if k == ways:
            choice = frozenset(zip(classes, attributes))
            out[choice] = out.get(choice, 0) + weight
            return
        others = np.delete(attributes, k)
        able = fits[:, attributes[k]] & fits[:, others].any(axis=1)
        allowed = [c for c in np.flatnonzero(able) if c not in classes]
        for c in allowed:
            add(attributes, (*classes, c), weight / len(allowed))

    for chosen in combinations(np.flatnonzero(fits.any(axis=0)), ways):
        for attributes in sorted(set(product(chosen, repeat=ways))):
            if len(set(attributes)) == ways:
                add(attributes, (), 1.0)
    return out


def test_released_variant_draws_attributes_first():
    # Attributes of a class are on different images and frequent enough, so that only the classes can run out.
    labels = np.arange(4).repeat(60)
    has = np.zeros((240, 5), dtype=bool)
    for c, of_class in enumerate(([0, 1, 2], [0, 1, 3], [1, 2, 3], [0, 2, 4])):
        for i, a in enumerate(of_class):
            has[60 * c + 12 * i : 60 * c + 12 * i + 12, a] = True
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
        assert "tries made no task" in str(error) or "at least 3 are needed" in str(error)
        return
    count = np.array([has[labels == c].sum(axis=0) for c in np.unique(labels)])
    size = np.bincount(labels)[::3, None]
    pool = np.flatnonzero(((count >= 2) & (size - count >= 5)).any(axis=0))
    fallbacks = relaxed = 0
    for support, query, attributes in zip(tasks.support, tasks.query, attribute):
        sets = parts(labels, has, labels[support[::2]], attributes)
        for s, q, (images, has_own, others) in zip(
            support.reshape(3, 2), query.reshape(3, 5), sets
        ):
            s, q, candidates = set(s), set(q), images - has_own
            assert s <= has_own
            relaxed += not s.isdisjoint(others)
            if q <= others and len(candidates & others) >= 5:
                candidates &= others
            else:
                fallbacks += 1
            assert q <= candidates
            x = has[sorted(candidates)][:, np.setdiff1d(pool, attributes)]
            scores = dict(zip(sorted(candidates), np.log(x * x.mean(axis=0) + 1e-10).sum(axis=1)))
            lowest_left = min((scores[i] for i in candidates - q), default=np.inf)
            assert max(scores[i] for i in q) <= lowest_left + 1e-6 or not (q <= others or fallbacks)
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
    with pytest.raises(InputError, match="SC3 with 3 shots: no task of 2 ways; .* 0, 1"):
        sample_biased(labels, has, **shape)
    # Where both classes need it, the first success takes the tolerance away: that goes on for ever.
    has[24:48] = has[:24]
    says = "20,000 tries made no task of 2 ways: 0 .*, [0-9,]+ no support .* of 0, 1"
    with pytest.raises(InputError, match=says) as error:
        sample_biased(labels, has, **shape, variant="released")
    counts = re.findall(r"(\S+) (?:found )?no (?:class|support|query)", str(error.value))
    assert (
        len(counts) == 3 and sum(int(n.replace(",", "")) for n in counts) == 20_000
    )  # each try failed once
    has[24:48] = False  # one class has all attributes, so the second finds none
    with pytest.raises(InputError, match="20,000 found no class for an attribute, 0 no support"):
        sample_biased(labels, has, **{**shape, "shots": 2}, variant="released")
    # Of class 0 too few images have only the other attribute: after five such queries one is intra-class.
    has[:] = False
    has[:6, 0] = has[2:8, 1] = has[24:32, 0] = has[30:38, 1] = True
    tasks, attribute = sample_biased(
        labels, has, tasks=10, ways=2, shots=2, queries=3, variant="released"
    )
    assert tasks.sampler["fallbacks"] == 10 and tasks.sampler["relaxed"] == 0


def test_matched_tasks_hold_the_same_classes_and_any_images():
    labels, has = world(1, (30, 35, 40, 30, 30), 6, 0.5)
    tasks, _ = sample_biased(labels, has, tasks=3000, ways=3, shots=2, queries=4, seed=1)
    matched = sample_matched(labels, tasks, seed=5)
    assert (labels[matched.support] == labels[tasks.support]).all() and (
        labels[matched.query] == labels[tasks.query]
    ).all()
    images = np.concatenate([matched.support, matched.query], axis=1)
    assert (np.diff(np.sort(images, axis=1)) > 0).all()
    for part in (matched.support, matched.query):
        counts = np.bincount(part[labels[part] == 3], minlength=len(labels))[labels == 3]
        assert stats.chisquare(counts).pvalue > 1e-3
    assert matched[:7].digest == sample_matched(labels, tasks, seed=5)[:7].digest
    assert matched.digest != sample_matched(labels, tasks, seed=6).digest
    with pytest.raises(InputError, match="fewer images than shots"):
        sample_matched(np.arange(len(labels)), tasks)


def test_gaps_are_those_of_the_worst_class():
    rng = np.random.default_rng(0)
    label = np.broadcast_to(np.arange(3).repeat(6), (50, 18))
    random, of_bias = (
        {m: Record(rng.random((50, 18)) < p, label) for m in ("ncc", "lr")} for p in (0.8, 0.6)
    )
    table = gaps(random, of_bias, level=0.9)
    r, a = (
        100 * x["lr"].correct.reshape(50, 3, 6).mean(axis=2).min(axis=1) for x in (random, of_bias)
    )
    expected = [closed_interval(r, 0.9), closed_interval(a, 0.9), independent_interval(r, a, 0.9)]
    assert table.loc["lr", ["wAcc-R", "wAcc-A", "gap"]].tolist() == expected
    assert gaps(random, of_bias, paired=True).loc["lr", "gap"] == paired_interval(r, a)
    with pytest.raises(InputError, match="the same are needed for both"):
        gaps(random, {"ncc": of_bias["ncc"]})
    with pytest.raises(InputError, match="the same are needed"):
        gaps({}, {})
