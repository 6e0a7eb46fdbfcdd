"""Parts of an evaluation, which processes on one machine or on many compute in any order.

The pieces are shards of features and blocks of tasks. Each is stored when it is done, under a name
made of its content, so that a later call finds all pieces.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from tqdm import tqdm

from .. import datasets
from ..models import backbones
from ..tasks import Tasks
from .cache import ConfiguredMethod

T = TypeVar("T")

__all__ = ["compute_features", "compute_outcomes"]


def compute_features(
    images: datasets.Images,
    backbone: backbones.Backbone,
    part: tuple[int, int] | None = None,
    *,
    progress: bool = False,
) -> int:
    """Make missing shards of features: those of a part, or all, which are then gathered.

    Parameters
    ----------
    images, backbone
        The results of `fslcore.models.backbones.match_input_size`.
    part : (K, N), optional
        Only the K-th of N parts.
    progress : bool
        Show a progress bar.

    Returns
    -------
    int
        Number of images turned into features.
    """
    shards = backbones.shards_of(images, backbone)
    missing = set(shards.missing())
    computed = 0
    for rows in _share(shards.bounds, part):
        if rows in missing:
            backbones.make_shard(images, backbone, rows, progress=progress)
            computed += len(rows)
    if part is None:
        backbones.features(images, backbone)
    return computed


def compute_outcomes(
    methods: dict[str, ConfiguredMethod],
    tasks: dict[tuple[str, str], Tasks],
    part: tuple[int, int],
    *,
    progress: bool = False,
) -> int:
    """Compute a part of the blocks of tasks, unless their records are stored.

    Parameters
    ----------
    methods : dict of ConfiguredMethod
        By learner.
    tasks : dict of Tasks
        By learner and sampling.
    part, progress
        As for `compute_features`.

    Returns
    -------
    int
        Number of blocks of the part.
    """
    blocks = []
    for (learner, _), sampled in tasks.items():
        blocks += [(learner, *block) for block in _blocks(methods[learner], sampled)]
    blocks = _share(blocks, part)
    missing = [(learner, block) for learner, block, is_stored in blocks if not is_stored]
    total = sum(len(block) for _, block in missing)
    with tqdm(total=total, desc="tasks", unit="task", delay=5, disable=not progress) as bar:
        for learner, pairs in groupby(missing, itemgetter(0)):
            bank = methods[learner].prepared(progress=progress)  # of one learner: it may be large
            for _, block in pairs:
                methods[learner].outcomes(block, bank=bank)
                bar.update(len(block))
    return len(blocks)


def _blocks(method: ConfiguredMethod, tasks: Tasks) -> Iterator[tuple[Tasks, bool]]:
    """Each block of some tasks, and whether its record is stored."""
    record = method.outcomes(tasks, stored=True)
    n_stored = 0 if record is None else len(record.correct)
    end = 0
    for block in method.blocks(tasks):
        end += len(block)
        yield block, end <= n_stored


def _share(pieces: Iterable[T], part: tuple[int, int] | None) -> list[T]:
    """Every N-th of the pieces from the K-th on, for ``part`` = (K, N); all for None."""
    k, n = part or (1, 1)
    return list(pieces)[k - 1 :: n]
