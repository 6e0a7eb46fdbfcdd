"""Eight times the input takes some eight times as long and not 64 times: processor time, the best of several tries."""

from functools import partial
from time import process_time

import numpy as np
import pytest

from fslbook.estimation.conformal import conformal_quantile
from fslbook.estimation.ranks import rank_correlation
from fslcore import recorder, stats
from fslcore.report import Results
from fslcore.tasks import k_fold, sample_closed, sample_open

TIMES = 8
MOST = 4 * TIMES  # sorting, caches and other work at once have their share
RNG = np.random.default_rng(0)
LABELS = np.arange(20).repeat(30)


def shares(*shape):
    return RNG.random(shape)


def grows(prepared, n):
    """How many times as long a call takes with eight times the input: the least of several tries."""
    small, large = prepared(n), prepared(TIMES * n)
    usual = min(seconds(small) for _ in range(3))
    for _ in range(4):
        ratio = seconds(large) / usual
        if not MOST < ratio < 2 * MOST:  # which other work on the machine may explain
            break
    return ratio


def seconds(call):
    begun = process_time()
    call()
    return process_time() - begun


def values_on_tasks(tasks):
    drawn = sample_closed(LABELS, tasks=tasks, ways=5, shots=1, queries=3)
    return shares(*drawn.query.shape) < 0.7, drawn.support, drawn.query, LABELS


def values_of_images(n):
    """Of as many tasks on a test set of n images, whatever n is."""
    labels = np.arange(20).repeat(n // 20)
    drawn = sample_closed(labels, tasks=2000, ways=5, shots=1, queries=3)
    return shares(*drawn.query.shape) < 0.7, drawn.support, drawn.query, labels


def influence(right, support, query, labels):
    return stats.jackknife_influence(
        right.mean(axis=1), np.hstack([support, query]), labels
    ).intervals()


def closed_tasks(n):
    return sample_closed(LABELS, tasks=n)


def open_tasks(n):
    return sample_open(np.arange(20).repeat(n // 20), shots=1, queries=1)


def recorded(folder):
    """A recording of so many tasks, written and read."""

    def prepared(tasks):
        path = folder / f"{tasks}.jsonl"

        def run():
            with recorder.record(path, "m") as r:
                for task in range(tasks):
                    images = [f"image {10 * task + i}" for i in range(4)]
                    labels = {"labels": [0, 1], "support_labels": [0, 1]}
                    r.task(images[:2], images[2:], predictions=[0, 0], classes="ab", **labels)
            recorder.load(path)
            path.unlink()

        return run

    return prepared


def commented(folder):
    """A table with so many comments before it, and a row for each twenty of them."""

    def prepared(comments):
        path = folder / f"{comments}.csv"
        head = [f"# step {i}\n" for i in range(comments)]
        rows = [f"{i},{0.5 + 1e-6 * i},0.5\n" for i in range(0, comments, 20)]
        path.write_text("".join([*head, "task,a,b\n", *rows]))
        return lambda: Results.read(path, methods=["a", "b"])

    return prepared


# By name: the size at which a call takes some milliseconds, the function, and its arguments of a size.
CALLS = {
    "closed_task_interval": (200_000, stats.closed_task_interval, lambda n: [shares(n)]),
    "paired_interval": (200_000, stats.paired_interval, lambda n: shares(2, n)),
    "mcnemar": (300_000, stats.mcnemar, lambda n: shares(2, n) < 0.7),
    "confidence_sequence": (3_000, stats.confidence_sequence, lambda n: [shares(n)]),
    "holm": (50_000, stats.holm, lambda n: [shares(n)]),
    "conformal_quantile": (200_000, conformal_quantile, lambda n: [shares(n)]),
    "probability_of_improvement": (
        20_000,
        stats.probability_of_improvement,
        lambda n: shares(2, n),
    ),
    "new_run_interval": (100_000, stats.new_run_interval, lambda n: [shares(3, n)]),
    "crossed_intervals": (20_000, stats.crossed_intervals, lambda n: [shares(4, n)]),
    "pilot": (2_000, stats.estimate_variance, lambda n: [1.0 * (shares(n, 5, 5) < 0.7), 5]),
    "rank_correlation": (5_000, rank_correlation, lambda n: shares(2, n, 5)),
    "winner_interval": (20_000, stats.winner_interval, lambda n: [shares(5, n)]),
    "three_intervals of tasks": (2_000, stats.three_intervals, values_on_tasks),
    "three_intervals of images": (20_000, stats.three_intervals, values_of_images),
    "influence": (2_000, influence, values_on_tasks),
    "sample_closed": (1_000, closed_tasks, lambda n: [n]),
    "sample_open": (4_000, open_tasks, lambda n: [n]),
    "k_fold": (300, k_fold, lambda n: [closed_tasks(n), 5]),
}


@pytest.mark.parametrize("name", CALLS)
def test_time_grows_with_the_input_and_not_with_its_square(name):
    size, function, arguments = CALLS[name]
    assert grows(lambda n: partial(function, *arguments(n)), size) < MOST


@pytest.mark.parametrize("kind, size", [(recorded, 400), (commented, 5000)])
def test_files_are_read_and_written_line_by_line(kind, size, tmp_path):
    assert grows(kind(tmp_path), size) < MOST


def test_a_search_in_a_list_for_each_entry_is_found():
    def prepared(n):
        numbers = list(range(n))
        return lambda: [i for i in numbers if i not in numbers]

    assert grows(prepared, 300) > MOST
