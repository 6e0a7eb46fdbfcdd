"""Ten thousand to a million images, drawn in memory, through samplers, features, NCC, LR and the three intervals.

    python benchmarks/million.py 10000 100000 1000000

Each size runs in a process of its own. Printed are seconds of one thread and the peak of memory of each stage.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import torch
from performance.common import CPU, fresh_peak, peak_mb
from torch import nn

from fslcore.datasets import Images
from fslcore.evaluation import evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.models import backbones
from fslcore.stats import three_intervals
from fslcore.tasks import sample_closed, sample_open

CLASSES, SIDE, TASKS = 100, 16, 10_000
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Drawn:
    """(N, side, side, 1) uint8 images that exist only while they are read: the class's picture under noise.

    Image i is of class i % CLASSES. Its noise is a hash of i and of the place, so that it is the same however the
    images are sliced.
    """

    def __init__(self, n: int):
        self.shape = (n, SIDE, SIDE, 1)
        self._pictures = _noise(np.arange(CLASSES, dtype=np.uint64) + (1 << 40)).astype(np.int16)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        rows = (
            np.arange(len(self), dtype=np.uint64)[rows]
            if isinstance(rows, slice)
            else np.asarray(rows, np.uint64)
        )
        pixels = self._pictures[rows % np.uint64(CLASSES)] // 4 + 3 * (
            _noise(rows).astype(np.int16) // 4
        )
        return pixels.astype(np.uint8).reshape(-1, *self.shape[1:])


def _noise(index: np.ndarray) -> np.ndarray:
    """(n, side²) bytes, by the finalizer of SplitMix64 (Steele et al., 2014) on index and place."""
    z = (
        index[:, None] * np.uint64(SIDE**2 // 8) + np.arange(SIDE**2 // 8, dtype=np.uint64)
    ) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.uint8)  # eight places a number


def network() -> backbones.Backbone:
    """Two convolutions, random weights from a seed, 256 features."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 64, 3, 2, 1), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    model = nn.Sequential(*layers).eval()
    return backbones.Backbone(
        "two-convolutions",
        "",
        "",
        256,
        model,
        (0.5,) * 3,
        (0.5,) * 3,
        SIDE,
        "bilinear",
        "random, seed 0",
    )


def stages(n: int) -> list[dict]:
    """Seconds of one thread and peak memory (MB) of each stage on n images, one after the other in this process."""
    rows = []

    def stage(name: str, run: Callable, **measures) -> object:
        fresh_peak()
        start = CPU()
        result = run()
        row = dict(
            subject="million", images=n, stage=name, seconds=CPU() - start, peak_mb=peak_mb()
        )
        rows.append(row | {name: measure(result) for name, measure in measures.items()})
        return result

    classes = min(CLASSES, n // 40)
    labels = np.arange(n) % classes
    images = Images(
        "drawn", Drawn(n), labels, [str(c) for c in range(classes)], content=f"drawn {n}"
    )
    stage("start", lambda: None)
    closed = stage("closed tasks", lambda: sample_closed(labels, tasks=min(TASKS, n)), tasks=len)
    stage("open tasks", lambda: sample_open(labels), tasks=len)
    of_record = dict(tasks=lambda r: len(r.correct), accuracy=lambda r: float(r.accuracy().mean()))
    bank = stage("features", lambda: backbones.features(images, network()))
    stage("features, again", lambda: backbones.features(images, network()))
    record = stage(
        "NCC",
        lambda: evaluate(NearestCentroid(), bank, closed),
        **of_record,
    )
    stage(
        "LR",
        lambda: evaluate(LogisticRegression(), bank, closed),
        **of_record,
    )
    stage(
        "three intervals",
        lambda: three_intervals(record.correct, closed.support, closed.query, labels),
        tasks=lambda _: len(closed),
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("images", type=int, nargs="+", help="sizes, at least 10,000 each")
    options = parser.parse_args()
    if len(options.images) > 1:
        for n in options.images:
            subprocess.run([sys.executable, __file__, str(n)], check=True)
        return
    print(f"{options.images[0]:,} images")
    for row in stages(options.images[0]):
        print(f"  {row['stage']:<16}{row['seconds']:>9.2f} s{row['peak_mb']:>9,.0f} MB")


if __name__ == "__main__":
    main()
