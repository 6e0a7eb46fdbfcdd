"""Features of images by a backbone, from the cache if they were computed before.

They are stored by content, so that a changed image, weight or preprocessing is recomputed and never
served stale.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from .. import datasets, store
from ..datasets import Images
from ..datasets.bank import Bank, chunks
from ..datasets.images import OnDemand
from ..errors import InputError, warn
from .backbone import Backbone, autocast, check_features, device, has_bfloat16, precision
from .fused import folded
from .shards import Shards

__all__ = ["base_mean", "compute", "feature_key", "features", "make_shard", "shards_of", "speed"]

BATCH = 256  # fixed, so that a feature does not depend on the available memory
LARGE = 128  # pixels per side; batches of larger images have fewer
# Images that a CPU takes at once, and their pixels at most, so that their maps stay in its cache.
AT_ONCE = 32
CACHED = 2**18
TRIED = 8  # images on which a faster form of a network is compared with the network
DECODING = 8  # threads at most: each holds a whole photo
# For glibc's mallopt: no maps of their own for large arrays (-4), nothing back to the system (-1);
# and what it comes to by itself in a process that has freed large arrays, with maps from 16 MiB
# (-3).
KEEPING = ((-4, 0), (-1, -1))
USUAL = ((-4, 2**16), (-3, 2**24), (-1, 2**25))
MANY = 1000  # images, from which a faster way is worth a note
# Part of the features' cache key: raise it when the output of `compute` changes.
COMPUTED = "folded"


def feature_key(images: Images, backbone: Backbone) -> str:
    """SHA-256 of everything that determines the features of these images."""
    # Keys of 32-bit features stay as they were.
    suffix = "" if precision() == "f32" else f" {precision()}"
    return store.digest(f"{images.digest} {backbone.digest} {COMPUTED}{suffix}")


def features(images: Images, backbone: Backbone, *, progress: bool = False) -> Bank:
    """Features of all images, from the cache if they were computed before.

    The cache key consists of the content of the images and labels, the digest of the weights, the
    preprocessing and the precision (see `fslcore.models.backbone.precision`). Features are stored
    as 16-bit floats (relative error below 0.05 %). Those of many images are made and stored shard
    by shard (see `fslcore.models.shards`), which several processes may do at once.

    Parameters
    ----------
    images : Images
        N images.
    backbone : Backbone
    progress : bool
        Show a progress bar.

    Returns
    -------
    Bank
        (N, D) features: float32, or those of large data sets float16 that stay in their file
        (`Bank.rows`).
    """
    shards = shards_of(images, backbone)
    while (read := shards.read()) is None:
        for rows in shards.missing():
            make_shard(images, backbone, rows, progress=progress)
        shards.gather(lambda rows: compute(images, backbone, rows, progress=progress))
    data, finite = read
    return Bank(data, images.labels, feature_key(images, backbone), finite=data if finite else None)


def shards_of(images: Images, backbone: Backbone) -> Shards:
    """The place of the features of these images, and which are still to be made."""
    path = store.path("features", f"{feature_key(images, backbone)}.safetensors")
    return Shards(path, len(images), _batch(images, backbone))


def make_shard(images: Images, backbone: Backbone, rows: range, *, progress: bool = False) -> None:
    """Make and store one of the shards that `shards_of` names, unless it exists by now."""
    store.check_writable()
    many_files = images.squeezed_to and len(images) >= MANY
    if many_files and not os.environ.get("FSLCORE_PRECISION") and has_bfloat16():
        warn(
            "features are computed in 32 bits; FSLCORE_PRECISION=auto uses bfloat16 here, which is "
            "1.2 to 5 times as fast, depending on the network, and rounds more"
        )
    shards_of(images, backbone).make(
        rows, lambda rows: compute(images, backbone, rows, progress=progress)
    )


def base_mean(images: Images, backbone: Backbone, *, progress: bool = False) -> Tensor:
    """Mean feature (D,) of base classes: of the network's training, or else of the data set.

    A warning names them.

    Parameters
    ----------
    images : Images
        Images for the tasks; the base split of their data set is used if that of the network does
        not ship.
    backbone : Backbone
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        Neither has base classes.
    """
    dataset = images.name.partition("?")[0]
    fetched = dataset in datasets.fetchable()
    dataset = images.name if ":" in images.name or fetched else dataset.partition("/")[0]
    shipped = datasets.names("base")
    name = backbone.base if backbone.base in shipped else dataset
    if name not in shipped and not fetched and (":" not in name or name.startswith("folder:")):
        raise InputError(
            "center must be VECTOR or FILE.npy, or transform 'L2N', since neither "
            f"{backbone.name} nor {images.name} has base classes for the mean feature"
        )
    base = datasets.load(name, split="base", size=images.side)
    warn(
        f"features of {backbone.name} are centred by their mean over the {len(base):,} images of "
        f"base classes of {name}"
    )
    bank = features(base, backbone, progress=progress)
    if not bank.large:
        return bank.data.double().mean(dim=0).float()
    sums = [part.double().sum(dim=0) for part in chunks(bank.data)]
    return (sum(sums[1:], sums[0]) / len(bank)).float()


@torch.inference_mode()
def compute(
    images: Images, backbone: Backbone, rows: range | None = None, *, progress: bool = False
) -> Tensor:
    """(N, D) 16-bit features of all images, computed; or of some rows, which start at a batch.

    Images are read a batch at a time; those in files are decoded in threads while the network
    works.
    """
    target = device()
    size = _batch(images, backbone)
    rows = range(len(images)) if rows is None else rows

    def prepared(pixels: np.ndarray) -> Tensor:
        return backbone.preprocess(torch.from_numpy(np.ascontiguousarray(pixels)).to(target))

    # The form that is fastest for the first images, for any rows.
    network = _for_features(backbone, prepared(images.images[: min(size, TRIED)]))
    parts = [rows[at : at + size] for at in range(0, len(rows), size)]
    out = []
    bar = tqdm(
        total=len(images),
        initial=rows.start,
        leave=rows.stop == len(images),
        desc=f"{backbone.name} on {images.name}",
        unit="image",
        delay=5,
        disable=not progress,
    )
    with bar, autocast(target), _freed_memory_kept(), closing(_read(images, parts)) as read:
        for batch in map(prepared, read):
            for x in _at_once(batch):
                out.append(check_features(backbone, network(x), len(x)).half().cpu())
                bar.update(len(x))
    return torch.cat(out)


def _batch(images: Images, backbone: Backbone) -> int:
    """Images per batch: fewer if they are large."""
    return max(1, min(BATCH, BATCH * LARGE**2 // backbone.side(*images.images.shape[1:3]) ** 2))


def _at_once(batch: Tensor) -> Sequence[Tensor]:
    """The parts in which a network reads a batch (B, C, H, W)."""
    return (
        batch.split(max(1, min(AT_ONCE, CACHED // batch[0, 0].numel())))
        if batch.device.type == "cpu"
        else [batch]
    )


def _read(images: Images, parts: list[range]) -> Generator[np.ndarray, None, None]:
    """The pixels of each of these rows."""
    pixels = images.images
    if isinstance(pixels, OnDemand) and pixels.decode is not None:
        return pixels.ahead(parts, min(torch.get_num_threads(), DECODING))
    return (pixels[part.start : part.stop] for part in parts)


@contextmanager
def _freed_memory_kept() -> Iterator[None]:
    """Memory that is freed meanwhile stays with this process, where the C library is glibc.

    Otherwise it goes back to the system after a layer and comes again for the next, page by page
    and each filled with zeros: for some networks half of their time.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    set_outside = "MALLOC_MMAP_MAX_" in os.environ
    if set_outside or libc is None or not hasattr(libc, "mallopt"):  # the last is musl
        yield
        return
    for setting in KEEPING:
        libc.mallopt(*setting)
    try:
        yield
    finally:
        for setting in USUAL:
            libc.mallopt(*setting)
        libc.malloc_trim(0)


@torch.inference_mode()
def speed(images: np.ndarray, backbone: Backbone) -> float:
    """Images per second that the backbone turns into features here, after one batch to warm up.

    Parameters
    ----------
    images : (N, H, W, C) uint8
    """
    target = device()
    batches = torch.from_numpy(images).to(target).split(BATCH)
    first = backbone.preprocess(batches[0])
    network = _for_features(backbone, first)
    with autocast(target), _freed_memory_kept():
        network(first)
        start = time.perf_counter()
        for x in chain.from_iterable(_at_once(backbone.preprocess(batch)) for batch in batches):
            network(x).sum().item()  # .item() waits for a GPU
    return len(images) / (time.perf_counter() - start)


def _for_features(backbone: Backbone, images: Tensor) -> nn.Module:
    """The network in its fastest form for the device of the images; a few of these are tried."""
    with torch.inference_mode(
        False
    ):  # otherwise a network of the user's own could not be trained further
        # The stubs leave this argument out.
        network = backbone.module.to(  # type: ignore[call-overload]
            images.device, memory_format=torch.channels_last
        )
    return folded(network, images[:TRIED])
