"""Several processes of one machine on one evaluation: shards of features first, then blocks of tasks.

Each piece is stored when it is done, by the same functions as in one process, under a name made of its content. The
processes return nothing: the caller then finds all pieces in the store.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import numpy as np
import torch
from tqdm import tqdm

from .. import datasets
from ..datasets.bank import Bank
from ..models import backbones
from ..tasks import Tasks
from .cache import Ready
from .methods import load_backbone, load_source, ready

__all__ = ["Setting", "make_features", "make_records", "processes", "share"]

GRACE = 5.0  # seconds for clean-up in a process that is asked to stop


@dataclass(frozen=True)
class Setting:
    """What every process reads for itself: data set and backbone, by their names.

    Attributes
    ----------
    dataset, backbone : str
    size : int or None
        As for `fslcore.evaluation.run_queries`.
    split : str
        The split of the data set.
    """

    dataset: str
    backbone: str
    size: int | None = None
    split: str = "novel"

    def source(self) -> datasets.Source:
        """The images, or a bank of features."""
        if self.split == "novel":
            return load_source(self.dataset, self.size)
        return datasets.load(self.dataset, split=self.split, size=self.size)


def share(pieces: Iterable, part: tuple[int, int] | None) -> list:
    """The K-th of N parts of some pieces, for ``part`` = (K, N) with K from 1: every N-th of them; all for None."""
    k, n = part or (1, 1)
    return list(pieces)[k - 1 :: n]


def make_features(
    images: datasets.Images,
    backbone: backbones.Backbone,
    part: tuple[int, int] | None = None,
    pool: Pool | None = None,
    progress: bool = False,
) -> int:
    """Make missing shards of features, or a part of them, and gather them once all are complete.

    Parameters
    ----------
    images, backbone
        The results of `fslcore.models.backbones.fitted`.
    part : (K, N), optional
        Only the K-th of N parts.
    pool : Pool, optional
        Processes that do the work, of a `Setting` with these images and this backbone.
    progress : bool
        Show a progress bar.

    Returns
    -------
    int
        Number of images turned into features.
    """
    kept = backbones.shards_of(images, backbone)
    missing = set(kept.missing())
    own = [rows for rows in share(kept.bounds, part) if rows in missing]
    if pool is None or len(own) < 2:
        for rows in own:
            backbones.make_shard(images, backbone, rows, progress=progress)
    else:
        what = dict(desc=f"{backbone.name} on {images.name}", unit="image", disable=not progress)
        with tqdm(total=len(images), initial=len(images) - sum(map(len, own)), **what) as bar:
            pool.run([partial(_shard, rows) for rows in own], [len(rows) for rows in own], bar)
    if not kept.missing() and part is None:
        backbones.features(images, backbone)
    return sum(map(len, own))


def make_records(
    methods: dict[str, Ready],
    drawn: dict[tuple[str, str], Tasks],
    part: tuple[int, int] | None,
    pool: Pool | None,
    progress: bool = False,
) -> int:
    """Compute the blocks of tasks without a stored record, or a part of them.

    Parameters
    ----------
    methods : dict of Ready
        By learner.
    drawn : dict of Tasks
        By learner and sampling.
    part, pool, progress
        As for `make_features`.

    Returns
    -------
    int
        Number of blocks of the part.
    """
    pieces = []
    for (learner, _), tasks in drawn.items():
        blocks = methods[learner].blocks(tasks)
        whole = methods[learner].record(tasks, stored=True)
        done = 0 if whole is None else len(whole.correct)
        at = 0
        for block in blocks:
            pieces.append((learner, block, at + len(block) <= done))
            at += len(block)
    own = share(pieces, part)
    left = [(learner, block) for learner, block, done in own if not done]
    sizes = [len(block) for _, block in left]
    with tqdm(total=sum(sizes), desc="tasks", unit="task", delay=5, disable=not progress) as bar:
        if pool is not None and len(left) > 1:
            pool.run([partial(_block, learner, *_sent(block)) for learner, block in left], sizes, bar)
        else:
            reads = {}
            for learner, block in left:
                method = methods[learner]
                if learner not in reads:
                    reads = {learner: method.prepared(progress=progress)}
                method.record(block, read=reads[learner])
                bar.update(len(block))
    return len(own)


class Pool:
    """Processes that compute pieces of work; see `processes`."""

    def __init__(self, executor: ProcessPoolExecutor):
        self._executor = executor

    def run(self, pieces: list[Callable[[], None]], sizes: list[int], bar: tqdm) -> None:
        """Compute all pieces, in any order; the first error ends the work, with the message of its process."""
        with _ignored(signal.SIGINT):  # starting processes ignore the signal until they handle it
            futures = {self._executor.submit(_done, piece): size for piece, size in zip(pieces, sizes, strict=True)}
        left = set(futures)
        try:
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                    bar.update(futures[future])
        except BrokenProcessPool:
            raise MemoryError("a process of --jobs was killed; fewer of them need less") from None


@contextmanager
def processes(jobs: int, setting: Setting) -> Iterator[Pool | None]:
    """A number of processes that end with the block, whatever happens to this one; None for one job.

    They share torch's threads of this process, and the GPUs: with ``FSLCORE_DEVICE=cuda``, process i takes the i-th,
    starting again at the first if there are more processes than GPUs.
    """
    if jobs == 1:
        yield None
        return
    # New processes: a fork of one whose libraries have threads may hang.
    context = multiprocessing.get_context("spawn")
    # Nothing is written to this pipe. It ends when this process closes it or ends itself, for any reason.
    alive, here = context.Pipe(duplex=False)
    number = context.Value("i", 0)
    threads = max(1, torch.get_num_threads() // jobs)
    initial = (alive, number, threads, setting)
    executor = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=initial)
    try:
        yield Pool(executor)
    finally:
        here.close()  # they end at once; unloading torch would take seconds
        executor.shutdown(cancel_futures=True)
        alive.close()


def _sent(tasks: Tasks) -> tuple:
    """Tasks as sent to another process: rows equal in all are sent once, so that the memory layout stays the same.

    The layout determines bytes of the file of a record.
    """
    arrays = (tasks.support, tasks.support_label, tasks.query, tasks.query_label)
    told = [(a[:1] if a.strides[0] == 0 else a, len(a)) for a in arrays]
    return told, tasks.ways, tasks.sampler, tasks.unseen


@contextmanager
def _ignored(number: int) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


# The following runs in the processes.

_setting: Setting
_tells = False  # one of them reports notes about images
_busy, _ending = threading.Lock(), threading.Event()


def _begin(alive, number, threads: int, setting: Setting) -> None:
    global _setting, _tells
    _setting = setting
    with number.get_lock():
        mine, number.value = number.value, number.value + 1
    torch.set_num_threads(threads)
    tqdm.set_lock(threading.RLock())  # its own lock is shared by processes, and ours does not stay to remove it
    _tells = mine == 0 and not os.environ.get("FSLCORE_QUIET")
    os.environ["FSLCORE_QUIET"] = os.environ["TQDM_DISABLE"] = "1"
    if os.environ.get("FSLCORE_DEVICE", "cuda") == "cuda" and torch.cuda.is_available():
        os.environ["FSLCORE_DEVICE"] = f"cuda:{mine % torch.cuda.device_count()}"
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, _stop)
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _stop(*_) -> None:
    _ending.set()
    if _busy.locked():
        raise KeyboardInterrupt  # so that incomplete files are removed


def _end_with(alive) -> None:
    """End this process when its parent closes the pipe or has ended."""
    with suppress(EOFError, OSError):
        alive.recv()
    signal.raise_signal(signal.SIGINT)
    _busy.acquire(timeout=GRACE)
    os._exit(1)


def _done(piece: Callable[[], None]) -> None:
    with _busy:
        if not _ending.is_set():
            piece()


@cache
def _source() -> datasets.Source:
    return _setting.source()


@cache
def _fitted() -> tuple[datasets.Images, backbones.Backbone]:
    return backbones.fitted(_source(), load_backbone(_setting.backbone))


@lru_cache(maxsize=1)  # the input of one learner may be large
def _method(learner: str) -> tuple[Ready, Bank | None]:
    found = ready(_source(), _setting.backbone, learner)
    return found, found.prepared()


def _shard(rows: range) -> None:
    images, backbone = _fitted()
    if _tells:
        del os.environ["FSLCORE_QUIET"]
    try:
        backbones.make_shard(images, backbone, rows)
    finally:
        os.environ["FSLCORE_QUIET"] = "1"


def _block(learner: str, arrays: list[tuple[np.ndarray, int]], *more) -> None:
    method, read = _method(learner)
    tasks = Tasks(*(np.broadcast_to(a, (n, a.shape[1])) if len(a) < n else a for a, n in arrays), *more)
    method.record(tasks, read=read)
