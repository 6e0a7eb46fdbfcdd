"""Ranks that methods may have: against the paired test, exact verdicts, and by simulation."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from fslcore import stats
from fslcore.errors import InputError
from fslcore.stats import simultaneous

SETS = ("best", "worst", "best_alone", "worst_alone")


def table(found):
    return np.array([getattr(found, name) for name in SETS])


def scores(rng, methods, tasks, spread=0.5):
    return rng.normal(0, 1, (methods, tasks)) + 2 * rng.normal(0, 1, tasks) + rng.normal(0, spread, (methods, 1))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(8))
def test_two_methods_are_ranked_where_the_paired_test_decides(seed, level):
    x = scores(np.random.default_rng(seed), 2, 12, 1.0)
    decided = stats.paired_interval(*x, level).conclusion
    sets = {1: [1, 1, 1, 1], 0: [1, 2, 1, 2], -1: [2, 2, 2, 2]}
    assert table(stats.rank_sets(x, level=level)).T.tolist() == [sets[decided], sets[-decided]]


def test_the_paired_test_s_limit_is_met_to_nine_digits():
    x = np.array([[1.0, 2, 4, 3, 7, 5], [0.0, 3, 2, 3, 4, 5]])
    p = stats.paired_interval(*x).p_value
    assert stats.rank_sets(x, level=1 - p * (1 + 1e-9)).worst[0] == 1
    assert stats.rank_sets(x, level=1 - p * (1 - 1e-9)).worst[0] == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_higher_level_widens_the_sets_and_one_method_s_own_set_is_the_narrower(seed):
    x = scores(np.random.default_rng(seed), 6, 40)
    found = [table(stats.rank_sets(x, level=level)) for level in (0.5, 0.8, 0.95, 0.99, 0.9999)]
    for narrow, wide in pairwise(found):
        assert (wide[::2] <= narrow[::2]).all() and (wide[1::2] >= narrow[1::2]).all()
    for best, worst, best_alone, worst_alone in found:
        assert (best <= best_alone).all() and (worst_alone <= worst).all() and (best_alone <= worst_alone).all()
    assert (found[0] != found[-1]).any()


@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_the_methods_nor_the_unit_counts(seed):
    rng = np.random.default_rng(seed)
    x, turn = scores(rng, 7, 50), rng.permutation(7)
    found = table(stats.rank_sets(x))
    assert (table(stats.rank_sets(x[turn])) == found[:, turn]).all()
    assert (table(stats.rank_sets(1e6 * x - 3)) == found).all()
    assert (table(stats.rank_sets(1e-6 * x)) == found).all()


def test_what_all_methods_share_counts_for_nothing():
    rng = np.random.default_rng(5)
    x = scores(rng, 5, 60)
    assert (table(stats.rank_sets(x)) == table(stats.rank_sets(x + 50 * rng.normal(0, 1, 60)))).all()


def test_a_decided_pair_leaves_the_maximum():
    """Against a third method far below, the others need the limit of fewer pairs: between those of one and of three."""
    gap = 2.3 * np.sqrt(2)  # one pair needs 1.96, three need 2.34
    assert stats.rank_sets([gap, 0, 0], np.eye(3)).worst.tolist() == [3, 3, 3]
    found = stats.rank_sets([100 + gap, 100, 0], np.eye(3))
    assert table(found).tolist() == [[1, 2, 3]] * 4
    assert stats.rank_sets([100 + 1.95 * np.sqrt(2), 100, 0], np.eye(3)).worst.tolist() == [2, 2, 3]


def test_of_three_independent_means_the_limit_is_tukey_s():
    limit = 3.3145  # studentized range, three means, infinite degrees of freedom, 95 %
    for gap, worst in ((limit - 0.02, 3), (limit + 0.02, 2)):
        assert stats.rank_sets([gap, gap / 2, 0], np.eye(3)).worst[0] == worst


def test_each_pair_has_its_own_degrees_of_freedom():
    few = np.full((2, 2), 3.0)
    gap = 2.5 * np.sqrt(2)
    assert (
        stats.rank_sets([gap, 0], np.eye(2)).worst[0] == 1 and stats.rank_sets([gap, 0], np.eye(2), few).worst[0] == 2
    )
    df = np.full((3, 3), np.inf)
    df[0, 1] = df[1, 0] = 2
    found = stats.rank_sets([20, 14, 14], np.eye(3), df)
    assert found.worst.tolist() == [2, 3, 3] and found.best.tolist() == [1, 1, 2]


def test_a_method_twice_and_equal_methods_share_their_ranks():
    x = scores(np.random.default_rng(1), 3, 40, 3.0)
    found = stats.rank_sets([*x, x[0]])
    assert (table(found)[:, 0] == table(found)[:, 3]).all()
    assert table(stats.rank_sets(np.ones((4, 6)))).tolist() == [[1] * 4, [4] * 4] * 2
    assert table(stats.rank_sets([2.0, 2, 1], np.zeros((3, 3)))).tolist() == [[1, 1, 3], [2, 2, 3]] * 2


@pytest.mark.parametrize("tasks", range(4, 9))
def test_a_constant_difference_is_decided_by_the_sign_test(tasks):
    x = np.random.default_rng(0).normal(0, 1, tasks)
    found = stats.rank_sets([x + 2, x + 1, x])
    assert (found.worst[0] == 1) == (3 * 2.0 ** (1 - tasks) < 0.05)
    assert (found.worst_alone[0] == 1) == (2 * 2.0 ** (1 - tasks) < 0.05)


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("means", [(0.0,) * 5, (0.0, 0.1, 0.2, 0.5, 0.9)], ids=["equal", "unlike"])
def test_all_true_ranks_are_in_their_sets_as_often_as_said(monkeypatch, rho, means):
    """600 studies of 5 methods on 40 tasks; the least favourable case is that of equal methods."""
    monkeypatch.setattr(simultaneous, "POINTS", 1024)
    rng, true = np.random.default_rng(7), np.array(means)
    rank = 1 + (true[:, None] > true).sum(axis=0)
    all_hold, alone = 0, 0
    for _ in range(600):
        x = true[:, None] + np.sqrt(rho) * rng.normal(0, 1, 40) + np.sqrt(1 - rho) * rng.normal(0, 1, (5, 40))
        found = stats.rank_sets(x)
        all_hold += ((found.best <= rank) & (rank <= found.worst)).all()
        alone += (found.best_alone <= rank) & (rank <= found.worst_alone)
    assert 0.95 - 3 * 0.0089 < all_hold / 600 < (0.979 if len(set(means)) == 1 else 1.001)
    assert (alone / 600 > 0.95 - 3.5 * 0.0089).all()


def intervals_of(right, where):
    three = {i: stats.three_intervals(x, **where) for i, x in enumerate(right)}
    pairs = [stats.three_intervals(right[i] - right[j], **where) for i in three for j in three if i < j]
    return list(three.values()), pairs


@pytest.fixture(scope="module")
def tasks():
    """Four methods on closed tasks of 12 classes with 15 images; which is better depends on the class."""
    rng = np.random.default_rng(3)
    labels = np.arange(12).repeat(15)
    images = np.array([[rng.permutation(15)[:4] + 15 * c for c in rng.permutation(12)[:5]] for _ in range(500)])
    where = {"support": images[..., 0], "query": images[..., 1:].reshape(500, 15), "labels": labels}
    hard = rng.normal(0, 1, 12)[labels] + rng.normal(0, 1, 180)
    draw = rng.normal(0, 1, where["query"].shape) + hard[where["query"]]
    skills = rng.normal(0, 0.3, (4, 12))[:, labels[where["query"]]]
    return [100.0 * (draw + skill + rng.normal(0, 0.5, draw.shape) < 0.5) for skill in skills], where


@pytest.mark.parametrize("target", ["closed", "images", "classes"])
def test_joint_means_give_each_difference_its_own_standard_error(tasks, target):
    single, pairs = intervals_of(*tasks)
    accuracies, covariance, df = stats.joint_means(single, pairs, target)
    own = np.diag(covariance)
    errors = [np.sqrt(own[i] + own[j] - 2 * covariance[i, j]) for i in range(4) for j in range(i + 1, 4)]
    assert errors == pytest.approx([getattr(p, target).standard_error for p in pairs], rel=0.05)
    assert np.sqrt(own) == pytest.approx([getattr(s, target).standard_error for s in single], rel=0.05)
    assert accuracies.tolist() == [s.closed.mean for s in single] and df[0, 1] == getattr(pairs[0], target).df
    two = stats.rank_sets(*stats.joint_means(single[:2], pairs[:1], target))
    assert (two.worst.min() == 1) == (getattr(pairs[0], target).conclusion != 0)


def test_sets_for_new_classes_hold_those_for_these_images(tasks):
    closed, classes = (stats.rank_sets(*stats.joint_means(*intervals_of(*tasks), of)) for of in ("closed", "classes"))
    assert (classes.best <= closed.best).all() and (closed.worst <= classes.worst).all()
    assert (classes.worst - classes.best).sum() > (closed.worst - closed.best).sum()


def test_joint_means_of_nothing_known_are_told(tasks):
    single, pairs = intervals_of(*tasks)
    unknown = replace(single[0], classes=replace(single[0].classes, half_width=np.inf))
    with pytest.raises(InputError, match="target = classes; a variance of it is not known from these tasks"):
        stats.joint_means([unknown, *single[1:]], pairs, "classes")
    with pytest.raises(InputError, match="4 methods, 5 differences; of every two of these, 6, are needed"):
        stats.joint_means(single, pairs[1:])
    with pytest.raises(InputError, match="target = scripts; closed, images, classes are allowed"):
        stats.joint_means(single, pairs, "scripts")
    with pytest.raises(InputError, match="single = .*ThreeIntervals is allowed"):
        stats.joint_means([1.0], [])


@pytest.mark.parametrize(
    "given, said",
    [
        (([1.0, 2.0],), "accuracies"),
        (([[1.0, 2.0]],), "accuracies: 1 method; at least 2 are needed"),
        (([[1.0], [2.0]],), "2 tasks or more"),
        (([[1.0, np.nan], [1, 2]],), "NaN"),
        (([1.0, 2.0], np.eye(3)), r"covariance \(3, 3\)"),
        (([1.0, 2.0], [[1, 2], [2, 1]]), "not all matrices are covariances"),
        (([1.0, 2.0], np.eye(2), 0), "df has shape"),
        (([1.0, 2.0], np.eye(2), [3, 3]), "df has shape"),
        (([1.0, 2.0], np.eye(2), 3, 95), "level"),
    ],
)
def test_bad_input_is_told(given, said):
    with pytest.raises(InputError, match=said):
        stats.rank_sets(*given)


def test_normal_quantiles_are_those_of_means_with_a_covariance():
    limit = norm.isf(0.025) * np.sqrt(2)
    assert stats.rank_sets([limit * 1.0001, 0], np.eye(2)).worst[0] == 1
    assert stats.rank_sets([limit * 0.9999, 0], np.eye(2)).worst[0] == 2
