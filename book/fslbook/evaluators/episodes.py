"""Episodes, tasks of known accuracy from which the informed estimator learns, as ``data/episodes``
stores them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fslcore import evaluation
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.tasks import Tasks, sample_closed

from ..estimation.informed import signals

SHOTS = (1, 2, 3, 4, 5, 7, 10, 15, 20)  # of tasks of mixed shapes


def mixed_shapes(
    labels: np.ndarray, blocks: int, *, tasks: int = 10, queries: int = 15, seed: int = 0
) -> list[Tasks]:
    """Blocks of closed tasks, each block with its own shape: 2 to 10 ways and 1 to 20 shots.

    In every second block the classes have different numbers of support images, uniform between two
    bounds. A shape for which the data have too few images is redrawn.

    Parameters
    ----------
    labels : (N,) integers
        The class of each image.
    blocks, tasks : int
        Number of blocks and of tasks in each.
    queries : int
        Per class.
    seed : int
        The same seed gives the same tasks.

    Raises
    ------
    InputError
        No two classes have ``queries`` + 20 images, so shapes would differ between data sets.
    """
    sizes = np.sort(np.bincount(labels))[::-1]
    if (sizes >= queries + max(SHOTS)).sum() < 2:
        raise InputError(
            f"two classes must have {queries + max(SHOTS)} images or more for queries = "
            f"{queries}, got fewer"
        )
    rng = np.random.default_rng(seed)
    out = []
    while len(out) < blocks:
        ways = int(rng.integers(2, 11))
        low, high = np.sort(rng.choice(SHOTS, 2))
        shots = rng.integers(low, high + 1, ways) if len(out) % 2 else np.full(ways, low)
        if (sizes >= queries + shots.max()).sum() >= ways:
            shape = dict(ways=ways, shots=shots.tolist(), queries=queries, seed=seed + len(out))
            out.append(sample_closed(labels, tasks=tasks, skip_small_classes=True, **shape))
    return out


def episodes(bank: Bank, learner, tasks: Tasks, **options) -> pd.DataFrame:
    """Signals of each task and its true ``accuracy`` on its query (0 to 1), with the number of
    ``queries``.

    Parameters: as for `fslbook.estimation.informed.signals`.
    """
    record = evaluation.evaluate(learner, bank, tasks)
    table = signals(bank, learner, tasks, **options)
    return table.assign(queries=(tasks.query_label >= 0).sum(axis=1), accuracy=record.accuracy())
