"""Variances from parts of the tasks, what they are worth, and how three intervals come of them: against known truth."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fslcore.stats import jackknife_influence
from fslcore.stats.dependence import Variance, square
from fslcore.stats.image_intervals import _adjusted, _table, three_intervals_of


def intervals_of(estimates, noise=(0.0, 0.0), freedom=(np.inf, np.inf), sampling=0.0, tasks=10**9):
    """Three intervals of a mean of 70, from variances of images and of classes."""
    variances = [Variance(*numbers, units=10**6) for numbers in zip(estimates, freedom, noise)]
    return three_intervals_of(70.0, tasks, sampling, variances, confidence_level=0.95)


@pytest.mark.parametrize("parts", [20, 50])
@pytest.mark.parametrize("signal", [0.0, 1.0, 3.0])
def test_a_squared_length_and_its_noise_are_those_of_repetition(parts, signal):
    """Vectors of 30 numbers, a part each with noise of its own: the squared length of what they have in common."""
    rng = np.random.default_rng(parts)
    common = np.zeros(30)
    common[0] = signal
    squares = [square(x @ x.T) for x in common + rng.normal(size=(2000, parts, 30))]
    length, error = np.array(squares).T
    spread = length.std()
    assert length.mean() == pytest.approx(signal**2, abs=4 * spread / np.sqrt(2000))
    assert np.sqrt((error**2).mean()) == pytest.approx(spread, rel=0.2 if signal == 0 else 0.1)


def test_each_variance_counts_with_its_own_noise():
    """Satterthwaite: a variance V whose estimate has the standard error e is worth 2 V² / e² degrees of freedom."""
    variances, kinds = (4.0, 9.0), ("images", "classes")
    for noise, (place, kind) in product((0.02, 0.05), enumerate(kinds)):
        noises = [0.0, 0.0]
        noises[place] = noise * variances[place]
        intervals = intervals_of(variances, noises)
        assert getattr(intervals, kind).df == pytest.approx(2 / noise**2, rel=2.5 * noise)
        assert getattr(intervals, kinds[1 - place]).df == np.inf
    for freedom in ((7.0, 30.0), (40.0, 25.0)):
        intervals = intervals_of(variances, freedom=freedom)
        assert (intervals.images.df, intervals.classes.df) == pytest.approx(freedom)
    intervals = intervals_of(
        variances, freedom=(8.0, 12.0), sampling=3.0, tasks=21
    )  # as a variance of two parts
    for kind, variance, df in zip(kinds, variances, (8, 12)):
        worth = (variance + 3) ** 2 / (variance**2 / df + 3**2 / 20)
        assert getattr(intervals, kind).df == pytest.approx(worth)


@pytest.mark.parametrize("noise, freedom", [(0.5, 1e9), (0.0, 6.0), (0.35, 12.0)])
def test_intervals_from_noisy_variances_cover(noise, freedom):
    """A mean of variance 1, which is estimated with the noise of the tasks and from few units."""
    rng = np.random.default_rng(0)
    n, hits = 900, 0
    means = rng.normal(size=n)
    estimates = rng.chisquare(freedom, n) / freedom + noise * rng.normal(size=n)
    for mean, variance in zip(means, estimates):
        intervals = intervals_of((variance, variance), (noise, noise), (freedom, freedom), 1e-3)
        hits += abs(mean) <= intervals.classes.half_width
    # The standard error is 0.007; with noise the interval is on the wide side.
    assert 0.925 <= hits / n <= 0.985


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0, 2))
def test_new_classes_come_with_new_images(image, of_class, sampling):
    """No interval for new classes is narrower than that for new images, and no variance is below 0."""
    intervals = intervals_of((image, of_class), sampling=sampling)
    assert intervals.image_variance == pytest.approx(max(image, 0), abs=1e-12)
    assert intervals.class_variance == pytest.approx(max(of_class, image, 0), abs=1e-12)
    assert intervals.classes.half_width >= intervals.images.half_width - 1e-9
    total = max(of_class, image, 0) + sampling
    assert intervals.classes.half_width == pytest.approx(
        1.95996 * np.sqrt(total), rel=1e-3, abs=1e-6
    )


def test_new_images_never_need_more_than_new_classes_do():
    """Few images and many classes: what holds for new classes holds for new images of these too."""
    intervals = intervals_of((4.0, 4.5), freedom=(2.0, 1e6))
    assert intervals.images.half_width == intervals.classes.half_width
    assert intervals.classes.half_width == pytest.approx(1.96 * np.sqrt(4.5), rel=1e-3)
    assert intervals.images.target == "new images"
    unknown = intervals_of((4.0, 4.5), freedom=(5.0, 0.0))
    assert np.isinf(unknown.classes.half_width) and np.isfinite(unknown.images.half_width)


def test_tasks_of_pools_against_counting_all_tasks_without_an_image():
    """Supports from images with one of two attributes, some with both: exact, by enumeration."""
    rng = np.random.default_rng(0)
    labels = np.arange(2).repeat(6)
    worth = rng.normal(size=12)
    # By attribute, of either class.
    pools = [[(0, 1, 2, 3), (6, 7, 8, 9, 10)], [(2, 3, 4, 5), (9, 10, 11)]]

    def mean(without):
        left = [[np.setdiff1d(side, [without]) for side in pool] for pool in pools]
        return np.mean([worth[first].mean() * worth[second].mean() for first, second in left])

    tasks, members = [], []
    for first, second in pools:  # both count alike, with 20 and 12 tasks
        pairs = list(product(first, second))
        tasks += pairs * (60 // len(pairs))
        members += [[*first, *second, -1, -1][:9]] * 60
    order = rng.permutation(120)
    tasks, members = np.array(tasks)[order], np.array(members)[order]
    influences = jackknife_influence(worth[tasks].prod(axis=1), tasks, labels, pool=members).images
    exact = np.array([mean(-1) - mean(image) for image in range(12)])
    exact -= (np.bincount(labels, exact) / 6)[labels]
    assert influences.mean(axis=0) == pytest.approx(exact, abs=1e-9)
    assert np.ptp(exact) > 0.1


def test_accuracies_are_adjusted_as_by_a_dense_regression_on_their_classes():
    rng = np.random.default_rng(0)
    tasks, ways, classes = 60, 3, 8
    of_task = np.array([rng.permutation(classes)[:ways] for _ in range(tasks)])
    accuracy = 70 + 5 * rng.normal(size=classes)[of_task].sum(axis=1) + rng.normal(size=tasks)
    held = _table(np.ones((tasks, ways)), of_task, classes)
    off, dense = accuracy - accuracy.mean(), held.toarray()
    residual = off - dense @ np.linalg.lstsq(dense, off, rcond=None)[0]
    expected = residual * np.sqrt(tasks / (tasks - classes))
    assert _adjusted(accuracy, held) == pytest.approx(expected, abs=1e-8)
    # Fewer tasks than classes say nothing of them.
    few = _table(np.ones((5, ways)), of_task[:5], classes)
    assert _adjusted(accuracy[:5], few) == pytest.approx(accuracy[:5] - accuracy[:5].mean())
