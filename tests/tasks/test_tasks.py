"""The samplers' invariants, on class sizes of every kind."""

import subprocess
import sys
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fslcore.errors import InputError
from fslcore.stats import three_intervals
from fslcore.tasks import Tasks, resplits, sample_all, sample_closed, sample_open
from fslcore.tasks.grouped import Cells


@st.composite
def cases(draw):
    """Shuffled labels of classes of any sizes, and a task shape."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=9))
    labels = np.repeat(np.arange(len(sizes)) * 3, sizes)  # labels need not be 0, 1, 2, …
    np.random.default_rng(draw(st.integers(0, 99))).shuffle(labels)
    shape = dict(
        ways=draw(st.integers(2, 5)),
        shots=draw(st.integers(1, 4)),
        queries=draw(st.integers(1, 5)),
        seed=draw(st.integers(0, 2**32)),
    )
    return labels, shape


def check_shape(tasks, labels, ways, shots, queries):
    """K distinct classes per task, S and Q images of each, no image twice in a task."""
    for t in range(len(tasks)):
        of_task = np.concatenate([tasks.support[t], tasks.query[t]])
        in_task = np.concatenate([tasks.support_label[t], tasks.query_label[t]])
        assert len(set(of_task)) == ways * (shots + queries)
        classes = [set(labels[of_task[in_task == k]]) for k in range(ways)]
        assert all(len(c) == 1 for c in classes)
        assert len(set.union(*classes)) == ways
        assert Counter(tasks.support_label[t]) == dict.fromkeys(range(ways), shots)
        assert Counter(tasks.query_label[t]) == dict.fromkeys(range(ways), queries)


@settings(max_examples=150)
@given(cases())
def test_open_tasks(case):
    labels, shape = case
    need = shape["shots"] + shape["queries"]
    left = dict(zip(*np.unique(labels, return_counts=True)))
    try:
        tasks = sample_open(labels, skip_small_classes=True, **shape)
    except InputError:
        # Too few classes, or a single task that uses the data up.
        rich = sorted((n // need for n in left.values()), reverse=True)[: shape["ways"]]
        assert len(rich) < shape["ways"] or rich[-1] < 2 or sum(n >= need for n in left.values()) >= shape["ways"]
        return
    check_shape(tasks, labels, shape["ways"], shape["shots"], shape["queries"])
    used = np.concatenate([tasks.support, tasks.query], axis=1)
    assert len(np.unique(used)) == used.size  # no image twice in all tasks
    for t in range(len(tasks)):  # the stopping rule: K classes had enough before each task …
        assert sum(n >= need for n in left.values()) >= shape["ways"]
        for c in set(labels[tasks.support[t]]):
            assert left[c] >= need
            left[c] -= need
    assert sum(n >= need for n in left.values()) < shape["ways"]  # … and not after the last
    assert tasks.digest == sample_open(labels, skip_small_classes=True, **shape).digest
    if len(tasks) > 2:
        assert tasks[:2].digest == sample_open(labels, skip_small_classes=True, max_tasks=2, **shape).digest


@settings(max_examples=80)
@given(cases())
def test_closed_tasks(case):
    labels, shape = case
    need = shape["shots"] + shape["queries"]
    if (np.unique(labels, return_counts=True)[1] >= need).sum() < shape["ways"]:
        with pytest.raises(InputError):
            sample_closed(labels, tasks=5, skip_small_classes=True, **shape)
        return
    tasks = sample_closed(labels, tasks=12, skip_small_classes=True, **shape)
    check_shape(tasks, labels, shape["ways"], shape["shots"], shape["queries"])
    assert tasks[:5].digest == sample_closed(labels, tasks=5, skip_small_classes=True, **shape).digest
    other = sample_closed(labels, tasks=12, skip_small_classes=True, **{**shape, "seed": shape["seed"] + 1})
    assert other.digest != tasks.digest or need * len(set(labels)) < 6


@pytest.mark.parametrize("sampler", ["closed", "open"])
def test_every_class_and_every_image_is_equally_likely(sampler):
    labels = np.repeat(np.arange(8), 30)
    classes, images, pairs = np.zeros(8), np.zeros(240), np.zeros((8, 8))
    if sampler == "closed":
        drawn = [sample_closed(labels, tasks=4000, ways=3, shots=1, queries=2, seed=1)]
    else:  # the first two tasks of many draws: later ones depend on what is left
        drawn = [sample_open(labels, ways=3, shots=1, queries=2, seed=s, max_tasks=2)[:1] for s in range(3000)]
    for tasks in drawn:
        np.add.at(classes, labels[tasks.support].ravel(), 1)
        np.add.at(images, tasks.query.ravel(), 1)
        np.add.at(pairs, (labels[tasks.support[:, 0]], labels[tasks.support[:, 1]]), 1)
    assert stats.chisquare(classes).pvalue > 1e-3
    assert stats.chisquare(images).pvalue > 1e-3
    assert stats.chisquare(pairs[~np.eye(8, dtype=bool)]).pvalue > 1e-3


@pytest.mark.parametrize("sample", [lambda y, **k: sample_closed(y, tasks=4, **k), sample_open])
def test_imbalanced_support(sample):
    labels = np.repeat(np.arange(7), 50)
    tasks = sample(labels, ways=5, shots=(4, 4, 5, 6, 6), queries=3)
    assert tasks.support.shape[1] == 25
    assert np.bincount(tasks.support_label[0]).tolist() == [4, 4, 5, 6, 6]
    assert len(np.unique(np.concatenate([tasks.support[0], tasks.query[0]]))) == 40


def test_open_sampling_is_linear_7_7_million_images():
    code = (
        "import re, time; import numpy as np; from fslcore.tasks import sample_open\n"
        "labels = np.repeat(np.arange(52), 148_000); t = time.process_time(); n = len(sample_open(labels))\n"
        # not ru_maxrss, which starts at the size of the process that started this one
        "status = open('/proc/self/status').read()\n"
        "print(n, time.process_time() - t, int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 1e6)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    tasks, seconds, gigabytes = map(float, out.split())
    assert tasks > 76_900  # of 76,960 that 7.7 million images could hold
    assert seconds < 10 and gigabytes < 1


@pytest.mark.parametrize(
    "draw, shape",
    [
        (sample_closed, dict(tasks=3, ways=4, shots=2, queries=3, seed=5)),
        (sample_open, dict(max_tasks=3, ways=4, shots=2, queries=[1, 2, 3, 1], seed=5)),
        (sample_all, dict(tasks=3, shots=2, seed=5)),
        (partial(sample_closed, groups=np.arange(120) // 2), dict(tasks=3, ways=4, shots=2, queries=3, seed=5)),
        (partial(sample_open, groups=np.arange(120) // 2), dict(max_tasks=3, ways=4, shots=2, queries=3, seed=5)),
    ],
)
def test_tasks_say_how_they_were_drawn(draw, shape):
    labels = np.repeat(np.arange(6), 20)
    made = draw(labels, **shape).sampler
    assert {name: made[name] for name in shape} == shape and made["ways"] == shape.get("ways", 6)
    again = draw(labels, **{name: made[name] for name in shape})
    assert again.digest == draw(labels, **shape).digest


@pytest.mark.parametrize("draw", [partial(sample_closed, tasks=2), sample_open])
def test_the_usual_task_has_five_ways_and_shots_and_fifteen_queries(draw):
    for groups in (None, np.arange(480)):
        made = draw(np.repeat(np.arange(8), 60), groups=groups)
        assert (made.ways, made.support.shape[1], made.query.shape[1]) == (5, 25, 75)


@pytest.mark.parametrize("draw", [partial(sample_closed, tasks=2), sample_open])
@pytest.mark.parametrize("groups", [None, np.arange(480)])
def test_a_switch_that_is_none_is_named(draw, groups):
    with pytest.raises(InputError, match="^skip_small_classes = yes; True or False is allowed"):
        draw(np.repeat(np.arange(8), 60), groups=groups, skip_small_classes="yes")


def test_a_file_that_holds_no_tasks_is_named(tmp_path):
    path = tmp_path / "t.npz"
    path.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=f"^tasks: {path} is not a readable file of tasks"):
        Tasks.load(path)


def test_classes_with_too_few_groups_are_named():
    labels, groups = np.array([*"aaaabbbbbbcccccccc"]), np.array([0, 0, 1, 1, *range(2, 8), *range(8, 16)])
    counts = np.full(2, 1), np.full(2, 2)
    assert Cells.of(labels, groups, 2, *counts, skip_small_classes=True).left_out == ["a"]


def test_save_and_load(tmp_path):
    tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3)
    tasks.save(tmp_path / "t.npz")
    again = Tasks.load(tmp_path / "t.npz")
    assert again.digest == tasks.digest and again.sampler == tasks.sampler
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]


def test_digest_changes_with_anything_a_learner_sees():
    tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3)
    arrays = dict(
        support=tasks.support, support_label=tasks.support_label, query=tasks.query, query_label=tasks.query_label
    )
    for name, array in arrays.items():
        changed = array.copy()
        changed[0, 0] = (changed[0, 0] + 1) % 5
        assert Tasks(**{**arrays, name: changed}, ways=5).digest != tasks.digest
    assert Tasks(**arrays, ways=6).digest != tasks.digest


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(ways=7), "ways = 7; the data have 6 classes"),
        (dict(ways=1), "ways = 1; at least 2"),
        (dict(shots=20, queries=15), "shots + queries = 35; class 0 has 30 images"),
        (dict(shots=0), "shots = 0"),
        (dict(queries=2.5), "queries = 2.5"),
        (dict(shots=(1, 2)), "one for each of 5 ways"),
        (dict(tasks=1), "tasks = 1; a whole number of at least 2"),
        (dict(seed=-1), "seed = -1"),
    ],
)
def test_bad_input_names_value_and_bound(arguments, message):
    with pytest.raises(InputError) as error:
        sample_closed(np.repeat(np.arange(6), 30), **{"tasks": 10, **arguments})
    assert message in str(error.value) and "\n" not in str(error.value)


def test_open_sampler_wants_two_tasks():
    with pytest.raises(InputError, match="the data hold 1 task of 5 ways"):
        sample_open(np.repeat(np.arange(6), 30))
    with pytest.raises(InputError, match="max_tasks = 1"):
        sample_open(np.repeat(np.arange(6), 300), max_tasks=1)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(query=np.zeros((1, 2), int)), "query"),
        (dict(support_label=np.array([[0, 1], [0, 5]])), "not below ways"),
        (dict(support_label=np.array([[0, -1], [0, 1]])), "padding"),
        (dict(support=np.array([[0.0, 1.0], [2.0, 3.0]])), "integers"),
        (dict(query=np.full((2, 2), -1), query_label=np.full((2, 2), -1)), "is empty"),
        (dict(query=np.zeros((2, 0), int), query_label=np.zeros((2, 0), int)), "query: task 0 is empty"),
    ],
)
def test_tasks_refuse_arrays_that_do_not_fit(change, message):
    good = {name: np.array([[0, 1], [0, 1]]) for name in ("support", "support_label", "query", "query_label")}
    with pytest.raises(InputError, match=message):
        Tasks(**{**good, **change}, ways=2)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_numbers_without_a_sign_are_taken_as_those_with_one(kind):
    tasks = sample_closed(np.arange(6).repeat(12), tasks=30, ways=3, shots=4, queries=5)
    arrays = tasks.support, tasks.support_label, tasks.query, tasks.query_label
    same = Tasks(*(a.astype(kind) for a in arrays), 3)
    assert same.digest == tasks.digest
    assert resplits.bootstrap(same).tasks.digest == resplits.bootstrap(tasks).tasks.digest
    mixed = three_intervals(tasks.query % 2, tasks.support.astype(kind), tasks.query, np.arange(6).repeat(12))
    assert mixed == three_intervals(tasks.query % 2, tasks.support, tasks.query, np.arange(6).repeat(12))
    with pytest.raises(InputError, match="support holds 18446744073709551615; whole numbers of up to 63 bits"):
        Tasks(np.full_like(tasks.support, 2**64 - 1, np.uint64), *arrays[1:], 3)


@pytest.mark.parametrize("task", [0, 1500, 2999])
def test_a_query_in_its_support_is_found_in_any_of_many_tasks(task):
    images = np.random.default_rng(0).random((3000, 200)).argsort(axis=1)
    support, query = images[:, :64], images[:, 64:66].copy()
    label = np.tile(np.arange(64) % 2, (3000, 1))
    Tasks(support, label, query, label[:, :2], ways=2)
    query[task, 1] = support[task, 40]
    with pytest.raises(InputError, match=f"^query: image {query[task, 1]} of task {task} is in its support too"):
        Tasks(support, label, query, label[:, :2], ways=2)


def test_a_task_beyond_the_bank_is_refused():
    tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=3)
    tasks.check_bank(180)
    with pytest.raises(InputError, match="the bank has 20 images"):
        tasks.check_bank(20)
    with pytest.raises(InputError, match="^n_images = -1; a whole number of at least 0 is allowed"):
        tasks.check_bank(-1)


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.sampled_from([9, 10**8]), st.integers(0, 99))
def test_a_query_of_the_support_is_found_and_told(tasks, shots, queries, images, seed):
    rng = np.random.default_rng(seed)
    support, query = (rng.integers(-1, images, (tasks, n)) for n in (shots, queries))
    support[:, 0], query[:, 0] = images, images + 1  # none is empty
    labels = [np.minimum(a, 0) for a in (support, query)]
    shared = [(t, int(i)) for t in range(tasks) for i in query[t] if i >= 0 and i in support[t]]
    if not shared:
        assert len(Tasks(support, labels[0], query, labels[1], 2)) == tasks
        return
    with pytest.raises(InputError) as error:
        Tasks(support, labels[0], query, labels[1], 2)
    assert str(error.value).startswith(f"query: image {shared[0][1]} of task {shared[0][0]} is in its support too")
    allowed = Tasks(support, labels[0], query, labels[1], 2, unseen=False)
    assert len(allowed[:1]) == 1


def test_a_selection_of_checked_tasks_is_not_checked_again(monkeypatch):
    tasks = sample_closed(np.repeat(np.arange(6), 30), tasks=9)
    wanted = Tasks(tasks.support[[2, 5]], tasks.support_label[:2], tasks.query[[2, 5]], tasks.query_label[:2], 5)
    for rows in (slice(0), 3):
        with pytest.raises(InputError):
            tasks[rows]
    monkeypatch.setattr("fslcore.tasks.tasks.wholes", None)
    assert tasks.digest != tasks[[2, 5]].digest == tasks[2:6:3].digest == wanted.digest


def test_saved_tasks_say_whether_queries_may_be_in_the_support(tmp_path):
    one = np.zeros((1, 1), dtype=int)
    Tasks(one, one, one, one, 2, unseen=False).save(tmp_path / "t.npz")
    assert not Tasks.load(tmp_path / "t.npz").unseen


@pytest.mark.parametrize(
    "draw",
    [
        lambda: sample_closed(np.arange(8).repeat(25), tasks=10**10),
        lambda: sample_all([0, 0, 1, 1], shots=1, tasks=10**12),
    ],
)
def test_more_tasks_than_memory_are_refused_at_once(draw):
    with pytest.raises(InputError, match="tasks = 1[0,]*; about [0-9,]+ GiB of memory would be needed"):
        draw()


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


def sides_share_no_group(tasks, groups):
    for support, query in zip(groups[tasks.support], groups[tasks.query]):
        assert not set(support) & set(query)


def one_of_a_group_in_a_class(tasks, labels, groups):
    both = np.concatenate([tasks.support, tasks.query], axis=1)
    for row in both:
        assert len(set(zip(labels[row], groups[row]))) == len(row)


@settings(max_examples=100)
@given(grouped(), st.sampled_from(["closed", "open"]))
def test_a_group_is_never_in_the_support_and_in_the_query(case, sampling):
    labels, groups, shape = case

    def draw(tasks=6, **change):
        given = {**shape, "skip_small_classes": True, "groups": groups, **change}
        if sampling == "closed":
            return sample_closed(labels, tasks=tasks, **given)
        return sample_open(labels, max_tasks=tasks, **given)

    try:
        tasks = draw()
    except InputError as error:
        assert "groups" in str(error) or "ways" in str(error)
        return
    check_shape(tasks, labels, shape["ways"], shape["shots"], shape["queries"])
    sides_share_no_group(tasks, groups)
    one_of_a_group_in_a_class(tasks, labels, groups)
    assert tasks[:2].digest == draw(tasks=2).digest and tasks.sampler["groups"] == len(np.unique(groups))
    if sampling == "open":
        of_task = [set(groups[np.concatenate(both)]) for both in zip(tasks.support, tasks.query)]
        assert sum(map(len, of_task)) == len(set.union(*of_task))


@pytest.mark.parametrize("sampling", ["closed", "open"])
def test_groups_count_alike_and_so_do_images_of_a_group(sampling):
    """Eight groups of 1 to 4 images in each of five classes."""
    sizes = np.tile([1, 1, 2, 2, 3, 3, 4, 4], 5)
    groups = np.arange(40).repeat(sizes)
    labels = groups // 8
    shape = dict(ways=3, shots=1, queries=2, groups=groups)
    if sampling == "closed":
        drawn = [sample_closed(labels, tasks=6000, seed=1, **shape)]
    else:
        drawn = [sample_open(labels, seed=s, max_tasks=2, **shape)[:1] for s in range(3000)]
    for side in ("support", "query"):
        images = sum(np.bincount(getattr(t, side).ravel(), minlength=len(labels)) for t in drawn)
        assert images.min() > 0
        by_group = np.bincount(groups, images)
        assert stats.chisquare(by_group).pvalue > 1e-3
        assert stats.chisquare(images, (by_group / sizes)[groups]).pvalue > 1e-3


def test_groups_that_span_classes_are_drawn_by_the_law_that_is_told():
    """All supports are equally likely; then all queries from groups that no support holds."""
    labels, groups = np.arange(3).repeat(5), np.array([0, 1, 2, 3, 4, 0, 1, 2, 5, 6, 0, 7, 8, 9, 2])
    tasks = sample_closed(labels, tasks=30_000, ways=2, shots=1, queries=1, groups=groups)
    support, query = groups[tasks.support], groups[tasks.query]
    seen = Counter(map(tuple, np.concatenate([labels[tasks.support], support, query], axis=1).tolist()))
    expected = {}
    for a, b in [(a, b) for a in range(3) for b in range(3) if a != b]:
        for s, t in [(s, t) for s in groups[labels == a] for t in groups[labels == b]]:
            left = [[g for g in groups[labels == c] if g not in (s, t)] for c in (a, b)]
            for q, r in [(q, r) for q in left[0] for r in left[1]]:
                expected[a, b, s, t, q, r] = 30_000 / 6 / 25 / len(left[0]) / len(left[1])
    assert seen.keys() <= expected.keys()
    observed = np.array([seen[key] for key in expected])
    assert stats.chisquare(observed, list(expected.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(queries=4), "shots + queries = 5, each of another group; class 0 has 4 groups (lower them"),
        (dict(groups=np.arange(4).repeat(10)), "groups: shape (40,); (48,)"),
        (dict(groups=[None] * 48), "groups = "),
        (dict(groups=np.tile(np.arange(4), 12)), "and 1 more that other classes of a task may hold; class 0 has 4"),
        (dict(queries=4, skip_small_classes=True), "ways = 2; 0 classes have groups enough"),
    ],
)
def test_too_few_groups_are_told(change, message):
    labels = np.arange(4).repeat(12)
    given = {"groups": np.arange(16).repeat(3), "ways": 2, "shots": 1, "queries": 3, **change}
    for draw in (lambda: sample_closed(labels, tasks=9, **given), lambda: sample_open(labels, **given)):
        with pytest.raises(InputError) as error:
            draw()
        assert message in str(error.value) and "\n" not in str(error.value)


def test_open_tasks_of_groups_use_the_groups_up():
    labels = np.arange(4).repeat(24)
    tasks = sample_open(labels, ways=2, shots=1, queries=2, groups=np.arange(48).repeat(2))
    assert len(tasks) == 8  # 12 groups a class, 3 a task: 4 × 4 class places of which 2 make a task
    with pytest.raises(InputError, match="the data hold 1 task of 2 ways and up to 6 groups a class"):
        sample_open(labels[:48], ways=2, shots=1, queries=5, groups=np.arange(24).repeat(2) // 2)
