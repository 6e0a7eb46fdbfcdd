"""Training on more images than memory holds: their pixels are decoded once, into a file that is memory-mapped."""

import hashlib
import tracemalloc
from collections import namedtuple

import numpy as np
import pytest
from refusal import refuses

from fslbook import training
from fslbook.training import pixels, run as loop
from fslcore import datasets, store
from fslcore.datasets.images import Images, OnDemand
from fslcore.errors import InputError
from fslcore.tasks import sample_closed

SHORT = dict(epochs=2, steps=3, shots=1, queries=2, validation=3, read_at=36, progress=False)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def limit_memory(monkeypatch):
    """Sets how many bytes of pixels stay in memory."""
    return lambda number: monkeypatch.setattr("fslcore.datasets.images.KEPT", number)


@pytest.mark.parametrize("name", ["protonet", "baseline", "maml", "unisiam"])
def test_the_same_checkpoint_from_memory_and_from_a_map(
    name, photos, cache, limit_memory, tmp_path
):
    options = SHORT | ({} if training.RECIPES[name].batch == "tasks" else {"size": 16})
    if "size" in options:
        del options["shots"]
    files_by_limit, dataset = {}, photos()
    for number in (2**29, 1000):
        limit_memory(number)
        path = training.train(name, tmp_path / f"{number}.safetensors", dataset=dataset, **options)
        files_by_limit[number] = path.read_bytes(), path.with_suffix(".csv").read_bytes()
        files = sorted((cache / "pixels").glob("*")) if number == 1000 else []
        assert (cache / "pixels").exists() == (number == 1000)
    assert files_by_limit[2**29] == files_by_limit[1000]
    assert len(files) == 2 and all(file.suffix == ".npy" and len(file.stem) == 64 for file in files)
    assert {np.load(file, mmap_mode="r").shape[1:] for file in files} == {(36, 36, 3)}


def test_images_are_decoded_once(cache, limit_memory):
    limit_memory(1000)
    read = []
    values = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    decoded = OnDemand(lambda i: read.append(i) or values[i], 40, (8, 8, 3))
    images = Images("x", decoded, np.arange(4).repeat(10), list("abcd"), content="0" * 64)
    assert (
        decoded.large
        and isinstance(pixels.ready(images).images, np.memmap)
        and read == [*range(40)]
    )
    mapped = pixels.ready(images)
    assert len(read) == 40 and (mapped.images == values).all() and mapped.digest == images.digest
    full = sample_closed(mapped.labels, tasks=2, ways=2, shots=1, queries=2)
    few, tasks = pixels.only(mapped, full)
    assert len(few.images) == len(few) <= 12
    for part in ("support", "query"):
        assert (few.images[:][getattr(tasks, part)] == values[getattr(full, part)]).all()
        assert (few.labels[getattr(tasks, part)] == mapped.labels[getattr(full, part)]).all()


def test_a_disk_that_is_full_and_an_image_that_cannot_be_read_leave_nothing(
    cache, limit_memory, monkeypatch
):
    limit_memory(1000)

    def broken(i):
        if i > 6:
            raise InputError(f"unreadable image {i}")
        return np.zeros((8, 8, 3), np.uint8)

    images = Images(
        "x", OnDemand(broken, 10, (8, 8, 3)), np.arange(10), [*"abcdefghij"], content="0" * 64
    )
    monkeypatch.setattr(pixels, "CHUNK", 1)
    with refuses("unreadable image 7"):
        pixels.ready(images)
    assert not list((cache / "pixels").iterdir())
    usage = namedtuple("usage", "free")(1919)
    monkeypatch.setattr(pixels.shutil, "disk_usage", lambda _: usage)
    with refuses(r"\bx\b", r"0\.0 GB.*pixels.*0\.0 GB", "FSLCORE_CACHE"):
        pixels.ready(images)
    assert not list(store.path("pixels").iterdir())


def test_peak_memory_is_bounded(cache, limit_memory, monkeypatch):
    """Of 96 MB of pixels, training holds a sixth at most: that of a chunk, a batch and the tasks that validate."""
    n, side = 4000, 90
    limit_memory(2**20)
    monkeypatch.setattr(pixels, "CHUNK", 2**21)
    tiles = np.random.default_rng(0).integers(0, 256, (20, side, side, 3), dtype=np.uint8)

    def load(name, split):
        read = OnDemand(lambda i: tiles[i % 20], n, (side, side, 3))
        content = hashlib.sha256(split.encode()).hexdigest()
        return Images(
            "many", read, np.arange(n) % 20, [f"{c:02}" for c in range(20)], content=content
        )

    monkeypatch.setattr(datasets, "load", load)
    tracemalloc.start()
    try:
        recipe = dict(epochs=1, steps=2, size=16, validation=2, augmentation=("flip",))
        run = loop._Run("x", loop.replace(training.RECIPES["baseline"], **recipe), 0)
        run.train_epoch(False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n * side**2 * 3 > 96e6 and peak < 16e6
