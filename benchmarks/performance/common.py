"""How things are timed, and what is said of the machine that they ran on."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

__all__ = [
    "CPU",
    "conditions",
    "fresh_peak",
    "gaussian",
    "machine",
    "now",
    "paired",
    "peak_mb",
    "ratio",
    "seconds",
]

CPU = time.process_time
LIBRARIES = ("numpy", "scipy", "torch", "scikit-learn", "pandas")


def now() -> float:
    """Seconds, to take differences of: of one thread those that it computed, which are those of a quiet machine."""
    import torch

    return CPU() if torch.get_num_threads() == 1 else time.perf_counter()


def seconds(run: Callable[[], object], repeats: int = 5, warm: bool = True, clock=now) -> float:
    """Median seconds of a call, after one that is not counted; with `CPU` as the clock, those of all threads."""
    if warm:
        run()
    return median(_once(run, clock) for _ in range(repeats))


def paired(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of two calls that run in turn, so that what else the machine does slows both."""
    pairs = [(_once(ours), _once(theirs)) for _ in range(repeats)]
    return median(a for a, _ in pairs), median(b for _, b in pairs)


def _once(run: Callable[[], object], clock=now) -> float:
    start = clock()
    run()
    return clock() - start


def ratio(
    subject: str,
    what: str,
    against: str,
    unit: str,
    ours: float,
    theirs: float,
    target=None,
    agree=None,
) -> dict:
    """A row: two speeds in ``unit``, the higher the better, and how many times ours the other is.

    Parameters
    ----------
    target : float, optional
        The ratio that was aimed at.
    agree : float, optional
        Share of predictions or accuracies that are equal.
    """
    row = dict(
        subject=subject,
        what=what,
        against=against,
        unit=unit,
        ours=ours,
        theirs=theirs,
        ratio=ours / theirs,
    )
    return row | dict(target=target, agree=agree)


def machine() -> dict:
    """What a stored file says of the machine that it is of."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "device": "cpu",
    }
    return facts | {"system": f"{platform.system()} {platform.machine()}"}


def conditions(threads: int, quick: bool) -> dict:
    """What a stored file says of when and with what a piece was measured."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}
    return {
        "date": date.today().isoformat(),
        "threads": threads,
        "quick": quick,
        "versions": versions,
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.+)", info.read_text()) if info.is_file() else None
    return re.sub(
        r"\((R|TM)\)", "", model[1] if model else platform.processor() or platform.machine()
    ).strip()


def fresh_peak() -> None:
    """Let the peak of this process start again from what it holds now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """Most memory that this process held so far, in MB; not ru_maxrss, which counts the parent too."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1000


def gaussian(
    classes: int, per_class: int, dim: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(N, dim) 32-bit features, not negative as a network's, and their labels; 5-way 5-shot LR is right on 87 %."""
    rng = np.random.default_rng(seed)
    x = np.maximum(
        rng.normal(0, 0.28, (classes, 1, dim)) + rng.normal(size=(classes, per_class, dim)), 0
    )
    return x.reshape(-1, dim).astype(np.float32), np.arange(classes).repeat(per_class)
