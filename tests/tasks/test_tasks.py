"""The samplers' invariants, on class sizes of every kind."""

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from refusal import refuses
from running import run_code
from scipy import stats

from fslcore.errors import InputError
from fslcore.stats import three_intervals
from fslcore.tasks import Tasks, resplits, sample_all_classes, sample_closed, sample_open
from fslcore.tasks.grouped import GroupedImages
from tests.pickled import Touch

LABELS = np.repeat(np.arange(6), 30)
ARRAYS = "support", "support_label", "query", "query_label"


def images_of(tasks):
    """(T, n) all images of each task."""
    return np.concatenate([tasks.support, tasks.query], axis=1)


@st.composite
def cases(draw):
    """Shuffled labels of classes of any sizes, and a task shape."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=9))
    labels = np.repeat(np.arange(len(sizes)) * 3, sizes)  # labels need not be 0, 1, 2, …
    np.random.default_rng(draw(st.integers(0, 99))).shuffle(labels)
    numbers = {"ways": (2, 5), "shots": (1, 4), "queries": (1, 5), "seed": (0, 2**32)}
    shape = {name: draw(st.integers(*limits)) for name, limits in numbers.items()}
    return labels, shape


def check_shape(tasks, labels, ways, shots, queries):
    """K distinct classes per task, S and Q images of each, no image twice in a task."""
    in_task = np.concatenate([tasks.support_label, tasks.query_label], axis=1)
    for images, label in zip(images_of(tasks), in_task):
        assert len(set(images)) == ways * (shots + queries)
        assert len(set(zip(label, labels[images]))) == len(set(labels[images])) == ways
    for label, count in ((tasks.support_label, shots), (tasks.query_label, queries)):
        assert ((label[..., None] == np.arange(ways)).sum(axis=1) == count).all()


@settings(max_examples=150)
@given(cases())
def test_open_tasks(case):
    labels, shape = case
    ways, need = shape["ways"], shape["shots"] + shape["queries"]
    left = dict(zip(*np.unique(labels, return_counts=True)))

    def enough():
        return sum(n >= need for n in left.values()) >= ways

    def draw(**options):
        return sample_open(labels, skip_small_classes=True, **shape, **options)

    try:
        tasks = draw()
    except InputError:
        # Too few classes, or a single task that uses the data up.
        times = sorted((n // need for n in left.values()), reverse=True)[:ways]
        assert len(times) < ways or times[-1] < 2 or enough()
        return
    check_shape(tasks, labels, ways, shape["shots"], shape["queries"])
    used = images_of(tasks)
    assert len(np.unique(used)) == used.size  # no image twice in all tasks
    for support in tasks.support:  # the stopping rule: K classes had enough before each task …
        assert enough()
        for c in set(labels[support]):
            assert left[c] >= need
            left[c] -= need
    assert not enough()  # … and not after the last
    assert tasks.digest == draw().digest
    if len(tasks) > 2:
        assert tasks[:2].digest == draw(max_tasks=2).digest


@settings(max_examples=80)
@given(cases())
def test_closed_tasks(case):
    labels, shape = case
    need = shape["shots"] + shape["queries"]

    def draw(tasks, **change):
        return sample_closed(labels, tasks=tasks, skip_small_classes=True, **{**shape, **change})

    if (np.unique(labels, return_counts=True)[1] >= need).sum() < shape["ways"]:
        with refuses():
            draw(5)
        return
    tasks = draw(12)
    check_shape(tasks, labels, shape["ways"], shape["shots"], shape["queries"])
    assert tasks[:5].digest == draw(5).digest
    other = draw(12, seed=shape["seed"] + 1)
    assert (other.digest != tasks.digest) or possible_supports(labels, **shape) ** 12 < 1e9


def possible_supports(labels, ways, shots, queries, **_):
    """At least so many different supports there are: of the smallest classes that are large enough."""
    sizes = np.sort(np.unique(labels, return_counts=True)[1])
    sizes = sizes[sizes >= shots + queries]
    return math.comb(len(sizes), ways) * math.prod(math.comb(n, shots) for n in sizes[:ways])


@pytest.mark.parametrize("sampler", ["closed", "open"])
def test_every_class_and_every_image_is_equally_likely(sampler):
    labels = np.repeat(np.arange(8), 30)
    if sampler == "closed":
        draws = [sample_closed(labels, tasks=4000, ways=3, shots=1, queries=2, seed=1)]
    else:  # the first two tasks of many draws: later ones depend on what is left
        draws = [
            sample_open(labels, ways=3, shots=1, queries=2, seed=s, max_tasks=2)[:1]
            for s in range(3000)
        ]
    classes = labels[np.concatenate([tasks.support for tasks in draws])]
    images = np.concatenate([tasks.query for tasks in draws])
    assert stats.chisquare(np.bincount(classes.ravel())).pvalue > 1e-3
    assert stats.chisquare(np.bincount(images.ravel(), minlength=240)).pvalue > 1e-3
    pairs = np.bincount(8 * classes[:, 0] + classes[:, 1], minlength=64).reshape(8, 8)
    assert stats.chisquare(pairs[~np.eye(8, dtype=bool)]).pvalue > 1e-3


@pytest.mark.parametrize("sample", [lambda y, **k: sample_closed(y, tasks=4, **k), sample_open])
def test_imbalanced_support(sample):
    tasks = sample(np.repeat(np.arange(7), 50), ways=5, shots=(4, 4, 5, 6, 6), queries=3)
    assert tasks.support.shape[1] == 25
    assert np.bincount(tasks.support_label[0]).tolist() == [4, 4, 5, 6, 6]
    assert len(np.unique(images_of(tasks)[0])) == 40


def test_open_sampling_is_linear_7_7_million_images():
    code = (
        "import re, time; import numpy as np; from fslcore.tasks import sample_open\n"
        "labels = np.repeat(np.arange(52), 148_000); t = time.process_time(); n = len(sample_open(labels))\n"
        # not ru_maxrss, which starts at the size of the process that started this one
        "status = open('/proc/self/status').read()\n"
        "print(n, time.process_time() - t, int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1e6)"
    )
    out = run_code(code, check=True).stdout
    tasks, seconds, gigabytes = map(float, out.split())
    assert tasks > 76_900  # of 76,960 that 7.7 million images could hold
    assert seconds < 10 and gigabytes < 1


@pytest.mark.parametrize(
    "draw, shape",
    [
        (sample_closed, dict(tasks=3, ways=4, queries=3)),
        (sample_open, dict(max_tasks=3, ways=4, queries=[1, 2, 3, 1])),
        (sample_all_classes, dict(tasks=3)),
        (partial(sample_closed, groups=np.arange(120) // 2), dict(tasks=3, ways=4, queries=3)),
        (partial(sample_open, groups=np.arange(120) // 2), dict(max_tasks=3, ways=4, queries=3)),
    ],
)
def test_tasks_say_how_they_were_drawn(draw, shape):
    shape = shape | {"shots": 2, "seed": 5}
    sampler = draw(np.repeat(np.arange(6), 20), **shape).sampler
    assert sampler.items() >= shape.items() and sampler["ways"] == shape.get("ways", 6)


@pytest.mark.parametrize("draw", [partial(sample_closed, tasks=2), sample_open])
def test_the_usual_task_has_five_ways_and_shots_and_fifteen_queries(draw):
    for groups in (None, np.arange(480)):
        tasks = draw(np.repeat(np.arange(8), 60), groups=groups)
        assert (tasks.ways, tasks.support.shape[1], tasks.query.shape[1]) == (5, 25, 75)


@pytest.mark.parametrize("groups", [None, np.arange(180)])
def test_a_switch_that_is_none_is_named(groups):
    options = dict(groups=groups, skip_small_classes="yes")
    for draw in (partial(sample_closed, tasks=2), sample_open):
        with refuses("skip_small_classes", "yes", "True or False"):
            draw(LABELS, **options)


def test_classes_with_too_few_groups_are_named():
    labels, groups = np.array([*"aaaabbbbbbcccccccc"]), np.r_[0, 0, 1, 1, 2:16]
    counts = np.full(2, 1), np.full(2, 2)
    assert GroupedImages.of(
        labels, groups, 2, *counts, skip_small_classes=True
    ).excluded_classes == ["a"]


def test_a_class_needs_groups_for_the_largest_sample_and_those_of_the_largest_other_supports():
    """Numbers per class differ, and a class may get any of them."""
    shape = dict(tasks=4, ways=3, shots=[1, 2, 3], queries=[1, 3, 2])
    message = r"class 0 .*shots \+ queries = 5 images, each of another group.*got 4 groups"
    with refuses(message):
        sample_closed(np.arange(3).repeat(4), groups=np.arange(12), **shape)
    # All groups have images of both classes, and the other class may have 2 in its support.
    shape = dict(tasks=4, ways=2, shots=[1, 2], queries=1)
    message = "class 0 .*and 2 more that other classes .*got 4 groups"
    groups = np.tile(np.arange(4), 2)
    with refuses(message):
        sample_closed(np.arange(2).repeat(4), groups=groups, **shape)


def test_save_and_load(tmp_path):
    tasks = sample_closed(LABELS, tasks=3)
    tasks.save(tmp_path / "t.npz")
    loaded = Tasks.load(tmp_path / "t.npz")
    assert loaded.digest == tasks.digest and loaded.sampler == tasks.sampler
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]
    Tasks(*np.zeros((4, 1, 1), dtype=int), ways=2, unseen=False).save(tmp_path / "t.npz")
    assert not Tasks.load(tmp_path / "t.npz").unseen


def test_what_holds_no_tasks_is_refused_and_not_unpickled(tmp_path):
    path, trap = tmp_path / "t.npz", tmp_path / "trap"
    with refuses("no file .*t.npz"):
        Tasks.load(path)
    sample_closed(LABELS, tasks=3).save(path)
    for content in (bytes(99), path.read_bytes()[:200]):
        path.write_bytes(content)
        with refuses("t.npz"):
            Tasks.load(path)
    np.savez(path, support=np.array([Touch(trap)], object))
    with refuses("t.npz"):
        Tasks.load(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    "draw",
    [
        partial(sample_closed, tasks=9, queries=3),
        partial(sample_open, queries=3),
        partial(sample_all_classes, tasks=9),
    ],
)
def test_labels_of_any_type_give_the_same_tasks(draw):
    expected = draw(LABELS, shots=2).digest
    for labels in (LABELS.astype(str), LABELS.astype(object), pd.Series(LABELS, range(9, 189))):
        assert draw(labels, shots=2).digest == expected


def test_digest_changes_with_anything_a_learner_sees():
    tasks = sample_closed(LABELS, tasks=3)
    for name in ARRAYS:
        changed = getattr(tasks, name).copy()
        changed[0, 0] = (changed[0, 0] + 1) % 5
        assert replace(tasks, **{name: changed}).digest != tasks.digest
    assert replace(tasks, ways=6).digest != tasks.digest


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(ways=7), "ways .* 6, .*got 7"),
        (dict(ways=1), "ways must be an integer from 2"),
        (dict(shots=20, queries=15), r"class 0 .*shots \+ queries = 35 images, got 30"),
        (dict(shots=(1, 2)), "one for each of 5 ways"),
        (dict(tasks=1), "tasks must be an integer >= 2"),
        (dict(tasks=10**10), "tasks = 10,000,000,000 needs about "),
    ],
)
def test_bad_input_names_value_and_bound(arguments, message):
    with refuses(message):
        sample_closed(LABELS, **{"tasks": 10, **arguments})


def test_open_sampler_wants_two_tasks():
    with refuses("1 task", "5 ways"):
        sample_open(LABELS)
    with refuses("max_tasks", "got 1"):
        sample_open(LABELS.repeat(10), max_tasks=1)


def test_more_tasks_than_memory_are_refused_at_once():
    with refuses("GiB"):
        sample_all_classes([0, 0, 1, 1], shots=1, tasks=10**12)
    with refuses("class"):
        sample_all_classes([0, 0, 0, 0], shots=1, tasks=5)


ABSENT = np.array([[2, -1], [3, 4]])


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(query=np.zeros((1, 2), int)), "query"),
        (dict(support_label=np.array([[0, 1], [0, 5]])), "support_label .*ways = 2, got 5"),
        (dict(support_label=np.array([[0, -1], [0, 1]])), "padding"),
        (dict(query=ABSENT, query_label=np.where(ABSENT < 0, -2, 0)), "query .*padding, -1"),
        (dict(query=ABSENT * 2, query_label=np.minimum(ABSENT, 0)), "query .*padding, -1"),
        (dict(support=np.array([[0.0, 1.0], [2.0, 3.0]])), "integers"),
        (
            dict(query=np.full((2, 2), -1), query_label=np.full((2, 2), -1)),
            "query .*none in task 0",
        ),
    ],
)
def test_tasks_refuse_arrays_that_do_not_fit(change, message):
    good = {name: np.array([[0, 1], [0, 1]]) for name in ARRAYS}
    with refuses(message):
        Tasks(**{**good, **change}, ways=2)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64])
def test_numbers_without_a_sign_are_taken_as_those_with_one(kind):
    labels = np.arange(6).repeat(12)
    tasks = sample_closed(labels, tasks=30, ways=3, shots=4, queries=5)
    arrays = [getattr(tasks, name) for name in ARRAYS]
    converted = Tasks(*(array.astype(kind) for array in arrays), 3)
    assert converted.digest == tasks.digest
    assert (
        resplits.bootstrap_split(converted).tasks.digest
        == resplits.bootstrap_split(tasks).tasks.digest
    )
    mixed = three_intervals(tasks.query % 2, tasks.support.astype(kind), tasks.query, labels)
    assert mixed == three_intervals(tasks.query % 2, tasks.support, tasks.query, labels)
    message = "support must .* 63 bits, got 18446744073709551615"
    with refuses(message):
        Tasks(np.full_like(tasks.support, 2**64 - 1, np.uint64), *arrays[1:], 3)


def test_a_task_beyond_the_bank_is_refused():
    tasks = sample_closed(LABELS, tasks=3)
    tasks.check_bank(180)
    with refuses("bank, which has 20 images"):
        tasks.check_bank(20)
    with refuses("n_images must be", ">= 0", "-1"):
        tasks.check_bank(-1)


@given(
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([9, 10**8]),
    st.integers(0, 99),
)
def test_a_query_of_the_support_is_found(tasks, shots, queries, images, seed):
    rng = np.random.default_rng(seed)
    support, query = (rng.integers(-1, images, (tasks, n)) for n in (shots, queries))
    support[:, 0], query[:, 0] = images, images + 1  # none is empty
    arrays = support, np.minimum(support, 0), query, np.minimum(query, 0)
    shared = [(t, int(i)) for t in range(tasks) for i in query[t] if i >= 0 and i in support[t]]
    if not shared:
        assert len(Tasks(*arrays, 2)) == tasks
        return
    task, image = shared[0]
    with refuses("query", f"image {image}", f"task {task}", "support"):
        Tasks(*arrays, 2)
    assert len(Tasks(*arrays, 2, unseen=False)[:1]) == 1


def test_a_selection_of_checked_tasks_is_not_checked_again(monkeypatch):
    tasks = sample_closed(LABELS, tasks=9)
    wanted = Tasks(*(getattr(tasks, name)[[2, 5]] for name in ARRAYS), 5)
    for rows in (slice(0), 3):
        with refuses():
            tasks[rows]
    monkeypatch.setattr("fslcore.tasks.tasks.wholes", None)
    assert tasks.digest != tasks[[2, 5]].digest == tasks[2:6:3].digest == wanted.digest


@st.composite
def grouped(draw):
    """Labels, groups that may span classes, and a task shape."""
    labels, shape = draw(cases())
    kinds = draw(st.sampled_from(["pairs", "few", "everywhere"]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    n = len(labels)
    groups = {
        "pairs": np.unique(labels, return_inverse=True)[1] * 100 + rng.integers(0, 20, n),
        "few": rng.integers(0, 12, n),
        "everywhere": rng.integers(0, 4 * n, n),
    }[kinds]
    return labels, groups, shape


@settings(max_examples=100)
@given(grouped(), st.sampled_from(["closed", "open"]))
def test_a_group_is_never_in_the_support_and_in_the_query(case, sampling):
    labels, groups, shape = case

    def draw(tasks=6):
        options = {**shape, "skip_small_classes": True, "groups": groups}
        if sampling == "closed":
            return sample_closed(labels, tasks=tasks, **options)
        return sample_open(labels, max_tasks=tasks, **options)

    try:
        tasks = draw()
    except InputError as error:
        assert "groups" in str(error) or "ways" in str(error)
        return
    check_shape(tasks, labels, shape["ways"], shape["shots"], shape["queries"])
    for support, query in zip(groups[tasks.support], groups[tasks.query]):
        assert not set(support) & set(query)
    for images in images_of(tasks):  # of a group one image at most in each class
        assert len(set(zip(labels[images], groups[images]))) == len(images)
    assert tasks[:2].digest == draw(tasks=2).digest
    assert tasks.sampler["groups"] == len(np.unique(groups))
    if sampling == "open":
        by_task = [set(groups[images]) for images in images_of(tasks)]
        assert sum(map(len, by_task)) == len(set.union(*by_task))


@pytest.mark.parametrize("sampling", ["closed", "open"])
def test_groups_count_alike_and_so_do_images_of_a_group(sampling):
    """Eight groups of 1 to 4 images in each of five classes."""
    sizes = np.tile([1, 1, 2, 2, 3, 3, 4, 4], 5)
    groups = np.arange(40).repeat(sizes)
    labels = groups // 8
    shape = dict(ways=3, shots=1, queries=2, groups=groups)
    if sampling == "closed":
        draws = [sample_closed(labels, tasks=6000, seed=1, **shape)]
    else:
        draws = [sample_open(labels, seed=s, max_tasks=2, **shape)[:1] for s in range(3000)]
    for side in ("support", "query"):
        images = sum(np.bincount(getattr(t, side).ravel(), minlength=len(labels)) for t in draws)
        assert images.min() > 0
        by_group = np.bincount(groups, images)
        assert stats.chisquare(by_group).pvalue > 1e-3
        assert stats.chisquare(images, (by_group / sizes)[groups]).pvalue > 1e-3


def test_groups_that_span_classes_are_drawn_by_the_law_that_is_stated():
    """All supports are equally likely; then all queries from groups that no support holds."""
    labels, groups = np.arange(3).repeat(5), np.array([0, 1, 2, 3, 4, 0, 1, 2, 5, 6, 0, 7, 8, 9, 2])
    tasks = sample_closed(labels, tasks=30_000, ways=2, shots=1, queries=1, groups=groups)
    rows = np.concatenate(
        [labels[tasks.support], groups[tasks.support], groups[tasks.query]], axis=1
    )
    observed = Counter(map(tuple, rows.tolist()))
    expected = {}
    for a, b in permutations(range(3), 2):
        for s, t in product(groups[labels == a], groups[labels == b]):
            free = [np.setdiff1d(groups[labels == c], [s, t]) for c in (a, b)]
            for q, r in product(*free):
                expected[a, b, s, t, q, r] = 30_000 / 6 / 25 / len(free[0]) / len(free[1])
    assert observed.keys() <= expected.keys()
    counts = [observed[key] for key in expected]
    assert stats.chisquare(counts, list(expected.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    "change, message",
    [
        (
            dict(groups=np.arange(4).repeat(10)),
            r"groups must have shape \(48,\), .*, got shape \(40,\)",
        ),
        (dict(groups=[None] * 48), "groups must be numbers alone or strings alone"),
        (
            dict(groups=np.tile(np.arange(4), 12)),
            "class 0 .*and 1 more that other classes .*got 4",
        ),
        (dict(queries=4, skip_small_classes=True), "ways .* 0, .*groups.*got 2"),
    ],
)
def test_too_few_groups_are_named(change, message):
    labels = np.arange(4).repeat(12)
    shape = {"groups": np.arange(16).repeat(3), "ways": 2, "shots": 1, "queries": 3, **change}
    with refuses(message):
        sample_closed(labels, tasks=9, **shape)
    with refuses(message):
        sample_open(labels, **shape)


def test_open_tasks_of_groups_use_the_groups_up():
    labels = np.arange(4).repeat(24)
    tasks = sample_open(labels, ways=2, shots=1, queries=2, groups=np.arange(48).repeat(2))
    assert len(tasks) == 8  # 12 groups a class, 3 a task: 4 × 4 class places of which 2 make a task
    shape = dict(ways=2, shots=1, queries=5, groups=np.arange(24).repeat(2) // 2)
    with refuses("1 task", "2 ways", r"\b6\b"):
        sample_open(labels[:48], **shape)
