"""Backbones: networks that turn an image into a feature vector, and their pinned weights.

`load` gives one by name; `features` runs it over images and caches what it gives by content, so
that a changed image, weight or preprocessing is computed anew and never served stale.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

from .. import datasets, store
from ..datasets import Images
from ..datasets.bank import Bank, chunks
from ..errors import InputError, choice, instance, like, note
from ..paths import check_zip, load_tensors, locked, replace_file
from .fused import folded, with_fast_convolutions
from .networks import NETWORKS
from .registry import REGISTRY, Entry, of_this_library
from .shards import Shards, digest, kept

__all__ = [
    "Backbone",
    "base_mean",
    "device",
    "feature_key",
    "features",
    "fitted",
    "load",
    "make_shard",
    "names_embedded",
    "names_key",
    "shards_of",
    "speed",
]

BATCH = 256  # fixed, so that a feature does not depend on the memory at hand
LARGE = 128  # pixels of a side; of images above, a batch holds fewer
TRIED = 8  # images on which a faster form of a network is compared with the network
PREPARED = "v1"  # part of a backbone's digest: raise it when `Backbone.preprocess` changes
COMPUTED = "folded"  # part of the features' cache key: raise it when what `compute` gives changes
TEMPLATES = ("a photo of a {}.",)  # what is said of a class to a text tower
EMBEDDED = "v1"  # part of the cache key of embedded names: raise it when what `names_embedded` gives changes


def device() -> torch.device:
    """The device evaluations run on: the first CUDA GPU where there is one, else the CPU.

    The environment variable ``FSLCORE_DEVICE`` sets another: cpu, cuda, cuda:NUMBER or mps.

    Raises
    ------
    InputError
        It names one that is not there.
    """
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    wanted = os.environ.get("FSLCORE_DEVICE")
    if not wanted:
        return torch.device("cuda" if gpus else "cpu")
    there = ["cpu"] + ["cuda"] * (gpus > 0) + [f"cuda:{i}" for i in range(gpus)]
    there += ["mps"] * torch.backends.mps.is_available()
    return torch.device(choice("device", wanted, there))


@dataclass(frozen=True)
class Backbone:
    """A network with the preprocessing and the weights it is used with.

    ``Backbone("mine", made=network, mean=…, std=…)`` is a network of your own; `load` gives those that are known.

    Attributes
    ----------
    name : str
    source, licence : str
        Where the weights come from and what allows their use; nothing depends on them.
    dim : int
        Length D of a feature vector; where it is not given, the network is run once to find it.
    made : nn.Module or callable
        The network, or what builds it: `network` asks for it once, when images are to be turned into features.
    mean, std : 3 floats
        Channel statistics, for pixels in 0 … 1; by default the network sees these pixels as they are.
    resolution : int or None
        Side in pixels that images are resized to; None: their own side, rounded up to a multiple
        of 32 and at most 64 (the quick profile's bound for CPUs).
    interpolation : str
        How images are resized: 'bilinear' or 'bicubic', with antialiasing.
    weights : str
        SHA-256 of the weights file; for a network of your own, any text that belongs in its keys (see `digest`).
    head : dict of str to tensors
        What a learner trained beside the network (see `fslcore.learners.make`).
    map : (C, H, W) or None
        Channels, height and width of the map whose flattening the features are, where they are one.
    trained_at : int or None
        Side in pixels of the images the network was trained on, where it takes any.
    options : dict
        Settings of the learner that was trained beside the network, where its recipe has any.
    text : callable or None
        From n sentences to their (n, D) unit embeddings in the space of the features, by the text tower that was
        trained beside the network.
    base : str or None
        Data set on whose base classes the network was trained, where it is known.

    Raises
    ------
    InputError
        Without ``dim``: a network that cannot read images of that side, or gives no (B, D) features.
    """

    name: str
    source: str = ""
    licence: str = ""
    dim: int | None = None
    made: nn.Module | Callable[[], nn.Module] | None = None
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    resolution: int | None = None
    interpolation: str = "bilinear"
    weights: str = ""
    head: dict[str, torch.Tensor] = field(default_factory=dict, repr=False)
    map: tuple[int, int, int] | None = None
    trained_at: int | None = None
    options: dict = field(default_factory=dict, repr=False)
    text: Callable[[list[str]], torch.Tensor] | None = field(default=None, repr=False, compare=False)
    base: str | None = None

    def __post_init__(self):
        if self.dim is not None:
            return
        instance("made", self.made, (nn.Module, Callable))
        side, network = self.side(32, 32), self.network.to(device())
        try:
            with torch.inference_mode():
                found = network(torch.zeros(1, 3, side, side, device=device()))
        except (RuntimeError, ValueError, AssertionError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"backbone {self.name}: its network cannot read images of {side} × {side} pixels ({reason}); "
                "resolution=PIXELS says at which side it reads them"
            ) from None
        _check_features(self, found, 1)
        object.__setattr__(self, "dim", found.shape[1])

    @cached_property
    def _network(self) -> nn.Module | None:
        return self.made if self.made is None or isinstance(self.made, nn.Module) else self.made()

    @property
    def network(self) -> nn.Module:
        """(B, 3, H, W) normalised floats to (B, D) features, in evaluation mode."""
        return self._network and self._network.eval()

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides a feature besides the image.

        Of a network that `load` gave: its name, the preprocessing and the SHA-256 of its file. Once you change its
        parameters it is one of your own, ``replace(backbone, made=network)``. Of your own network: also its parameters,
        its buffers and what it prints of itself (`repr`), at each use. Neither the code of its ``forward`` nor plain
        attributes are covered, which is all that there is of a network without parameters: where these change, or the
        tower of ``text`` does, change ``weights`` or ``name``.
        """
        facts = [self.name, self.dim, self.mean, self.std, self.resolution, self.interpolation, self.weights, PREPARED]
        return hashlib.sha256(json.dumps([*facts, *self._own()]).encode()).hexdigest()

    def _own(self) -> list[str]:
        """SHA-256 of what a network of the user's own holds; nothing for one that ``weights`` stands for."""
        if self.made is None or isinstance(self.made, _FromFile):
            return []
        sha = hashlib.sha256(repr(self.network).encode())
        for name, part in chain(self.network.named_parameters(), self.network.named_buffers()):
            sha.update(f"{name} {part.dtype} {tuple(part.shape)}".encode())
            sha.update(part.detach().cpu().reshape(-1).view(torch.uint8).numpy())
        return [sha.hexdigest()]

    def side(self, height: int, width: int) -> int:
        """Side in pixels of the square that images of this size are resized to."""
        return self.resolution or min(64, 32 * math.ceil(max(height, width) / 32))

    def preprocess(self, images: torch.Tensor) -> torch.Tensor:
        """(B, H, W, C) uint8, C 1 or 3, to (B, 3, side, side) normalised floats."""
        if images.ndim != 4 or images.shape[-1] not in (1, 3) or images.dtype != torch.uint8:
            raise InputError(
                f"images: {images.dtype} of shape {tuple(images.shape)}; (N, H, W, 1 or 3) uint8 is needed"
            )
        x = images.permute(0, 3, 1, 2).float() / 255
        side = self.side(*x.shape[-2:])
        if x.shape[-2:] != (side, side):
            x = F.interpolate(x, (side, side), mode=self.interpolation, antialias=True, align_corners=False)
        x = x.expand(-1, 3, -1, -1)
        mean, std = (torch.tensor(v, device=x.device).view(3, 1, 1) for v in (self.mean, self.std))
        return (x - mean) / std


class _FromFile(partial):
    """Builds a network from a file whose SHA-256 is the `Backbone.weights`."""


def load(name: str) -> Backbone:
    """A backbone by name, or by ``name:path`` with a weights file of the user's own.

    Packaged weights must match their pinned SHA-256. Weights from the model hub are pinned at
    their first download: a later file with another digest is refused. Checkpoints are read as
    safetensors or with ``weights_only``: nothing in them is executed.

    Raises
    ------
    InputError
        Unknown name; no weights (says which file, from where); wrong digest; a file that is not
        a checkpoint of this network. There is never a silent random network.
    """
    name, _, own = name.partition(":")
    if name not in REGISTRY:
        raise InputError(
            f"backbone = {name}; known are {', '.join(REGISTRY)} (and NAME:WEIGHTS_FILE){like(name, REGISTRY)}"
        )
    entry = REGISTRY[name]
    path = _weights(name, entry, own)
    check_zip(f"backbone {name}", path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    pinned = None if own else entry.sha256 or (_first_seen(name, digest) if entry.hub else None)
    if pinned and digest != pinned:
        raise InputError(f"backbone {name}: {path} has SHA-256 {digest}, pinned is {pinned}")
    try:
        state, recipe = _read_state(path)
        if isinstance(entry.build, str):
            trained = replace(NETWORKS[recipe.get("network", entry.build)], **recipe.get("architecture", {}))
            entry = replace(
                entry,
                build=partial(of_this_library, trained),
                dim=trained.dim,
                resolution=trained.side,
                map=trained.map,
            )
        network = cache(lambda: with_fast_convolutions(entry.build(state)).eval())
        if own or not entry.sha256:  # else the weights are known, and it can wait: timm alone takes seconds to import
            network()
    except (RuntimeError, ValueError, KeyError, EOFError, pickle.UnpicklingError, SafetensorError) as error:
        reason = (str(error).splitlines() or ["the file is empty or cut off"])[0]
        raise InputError(f"backbone {name}: {path} is not a checkpoint of this network ({reason})") from None
    return Backbone(
        name,
        entry.source,
        entry.licence,
        entry.dim,
        _FromFile(network),
        entry.mean,
        entry.std,
        entry.resolution,
        entry.interpolation,
        digest,
        {key.removeprefix("head."): w for key, w in state.items() if key.startswith("head.")},
        entry.map,
        entry.trained_at,
        recipe.get("options", {}),
        partial(_embed, name, path, entry.text) if entry.text else None,
        recipe.get("dataset", None if own else entry.base),
    )


def _embed(name: str, path: Path, text: Callable, sentences: list[str]) -> torch.Tensor:
    """Embeddings of sentences by the text tower of a checkpoint, which is read when it is wanted."""
    try:
        return text(_read_state(path)[0], sentences)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"backbone {name}: {path} has no text tower beside its network ({reason})") from None


def fitted(images: Images, backbone: Backbone) -> tuple[Images, Backbone]:
    """The user's own images and a backbone at one size, so that the network sees the pixels that are read.

    That is the size the user asked for (`fslcore.datasets.load`); else, for a folder of class folders,
    the one the network was trained at, not the 64 pixels that bound embedded data. All other images and
    their backbone come back as they are. The size is told in a line on stderr, and so is a folder that the network
    was trained on.

    Raises
    ------
    InputError
        The network takes another size only; neither the images nor the backbone name a size.
    """
    if images.side is None and images.sized is None:
        return images, backbone
    side = images.side or backbone.resolution or backbone.trained_at
    if side is None:
        raise InputError(
            f"size: {backbone.name} does not say at which side it reads {images.name}; resolution=PIXELS of the "
            "backbone or size=PIXELS of the images is needed"
        )
    if backbone.resolution not in (None, side):
        raise InputError(f"size = {side}; {backbone.name} takes images of {backbone.resolution} pixels a side only")
    note(f"{images.name}: read at {side} × {side} pixels, which {backbone.name} sees")
    if _folder(images.name) and _folder(images.name) == _folder(backbone.base or ""):
        note(
            f"{images.name}: {backbone.name} was trained and selected on the classes of this folder, so that its "
            "accuracies say nothing of new classes; evaluate on classes of another folder"
        )
    return images.sized(side) if images.sized else images, replace(backbone, resolution=side)


def _folder(dataset: str) -> Path | None:
    """The folder of class folders that a data set's name holds."""
    kind, _, path = dataset.partition("?")[0].partition(":")
    return Path(path).expanduser().resolve() if kind == "folder" else None


def _weights(name: str, entry: Entry, own: str) -> Path:
    if own:
        path = Path(own).expanduser()
        if not path.is_file():
            raise InputError(
                f"backbone {name}: {f'{path} is a folder' if path.is_dir() else f'no weights file {path}'}"
            )
        return path
    if isinstance(entry.local, tuple):
        spec = find_spec(entry.local[0])  # finds without importing: the package's code is not run
        path = Path(spec.origin).parent / entry.local[1] if spec and spec.origin else None
        origin = f"the Python package {entry.local[0]} (file {entry.local[1]})"
    elif entry.local:
        path, origin = entry.local, f"{entry.local} (fslcore train makes such files)"
    else:
        path, origin = _from_hub(*entry.hub), f"{entry.hub[1]} of {entry.hub[0]} on the model hub"
    if path is None or not path.is_file():
        raise InputError(f"backbone {name}: no weights; bring {origin}, or give a file as {name}:PATH")
    return path


def _from_hub(repository: str, file: str) -> Path | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # what fails is told once, by us, and not at every new try
    try:
        return Path(hf_hub_download(repository, file))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError):
        return None


def _first_seen(name: str, digest: str) -> str:
    """The digest under which a hub's weights were first seen on this machine."""
    pins = store.path("weights.json")
    if name in (seen := _pinned(pins)):
        return seen[name]
    store.check_writable()
    with locked(pins):  # what another process pins meanwhile stays
        seen = {name: digest, **_pinned(pins)}
        replace_file(pins, lambda part: part.write_text(json.dumps(seen, indent=1)))
    return seen[name]


def _pinned(pins: Path) -> dict[str, str]:
    """Digests by the names of backbones."""
    try:
        return dict(json.loads(pins.read_text("utf-8"))) if pins.is_file() else {}
    except (ValueError, TypeError):
        note(f"{pins} is damaged and made again: weights from the model hub are pinned as they are now")
        return {}


def _read_state(path: Path) -> tuple[dict, dict]:
    """Named tensors, and the recipe of `fslcore.tools.training` where the file has one."""
    with open(path, "rb") as file:
        head = file.read(9)
    if path.suffix == ".safetensors" or head[8:] == b"{":
        with safe_open(path, "pt") as file:
            made = json.loads((file.metadata() or {}).get("training", "{}"))
        return load_file(path), made.get("recipe", {})
    if not head:
        raise ValueError("the file is empty")
    if not head.startswith((b"PK", b"\x80")):  # a zip, or a pickle of before
        raise ValueError("it is neither a PyTorch nor a safetensors file")
    state = load_tensors(path)
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__}, not named tensors")
    return state.get("state_dict", state), {}


def feature_key(images: Images, backbone: Backbone) -> str:
    """SHA-256 of all that decides the features of these images."""
    return store.digest(f"{images.digest} {backbone.digest} {COMPUTED}")


def features(images: Images, backbone: Backbone, *, progress: bool = False) -> Bank:
    """Features of all images, from the cache where the same were computed before.

    The cache key is made of the content of the images and labels, the digest of the weights and
    the preprocessing. Features are kept as 16-bit floats (relative error under 0.05 %). Those of many images are made
    and kept shard by shard (see `fslcore.models.shards`), which several processes may do at once.

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
        (N, D) features: float32, or those of large data sets float16 that stay in their file (`Bank.rows`).
    """
    kept = shards_of(images, backbone)
    while (found := kept.read()) is None:
        for rows in kept.missing():
            make_shard(images, backbone, rows, progress=progress)
        kept.gather(lambda rows: compute(images, backbone, progress, rows))
    data, finite = found
    return Bank(data, images.labels, feature_key(images, backbone), finite=data if finite else None)


def shards_of(images: Images, backbone: Backbone) -> Shards:
    """Where the features of these images are kept, and which are still to be made."""
    path = store.path("features", f"{feature_key(images, backbone)}.safetensors")
    return Shards(path, len(images), _batch(images, backbone))


def make_shard(images: Images, backbone: Backbone, rows: range, *, progress: bool = False) -> None:
    """Make and keep one of the shards that `shards_of` names, unless it is there by now."""
    store.check_writable()
    shards_of(images, backbone).make(rows, lambda rows: compute(images, backbone, progress, rows))


def names_key(names: Sequence[str], backbone: Backbone, templates: Sequence[str] = TEMPLATES) -> str:
    """SHA-256 of all that decides the embeddings of these names."""
    return store.digest(
        json.dumps([list(names), backbone.name, backbone.weights, list(templates), EMBEDDED, *backbone._own()])
    )


def names_embedded(names: Sequence[str], backbone: Backbone, templates: Sequence[str] = TEMPLATES) -> torch.Tensor:
    """Embeddings of the names of classes, in the space of the features, from the cache where they were made before.

    Parameters
    ----------
    names : K texts
        Of the classes; an underscore counts as a blank.
    backbone : Backbone
        With a text tower, as CLIP has.
    templates : texts
        What is said of a class, with {} for its name; the mean of the unit embeddings is taken.

    Returns
    -------
    (K, D) float32 tensor
        Of unit length.

    Raises
    ------
    InputError
        A backbone without a text tower, or a file of weights that lacks it; a template without {}.
    """
    if backbone.text is None:
        raise InputError(
            f"backbone {backbone.name}: it has no text tower, so that names of classes have no embeddings; clip has one"
        )
    if not templates or any("{}" not in t for t in templates):
        raise InputError(f"templates = {list(templates)}; texts with {{}} for the name of a class are needed")
    path = store.path("text", f"{names_key(names, backbone, templates)}.safetensors")
    found = kept(path, len(names))
    if found is None:
        store.check_writable()
        plain = [name.replace("_", " ") for name in names]
        with torch.inference_mode():
            parts = [
                backbone.text([t.format(n) for n in plain[at : at + BATCH] for t in templates])
                for at in range(0, len(plain), BATCH)
            ]
            mean = torch.cat(parts).float().unflatten(0, (len(plain), len(templates))).mean(dim=1)
            found = F.normalize(mean, dim=-1).cpu()
        replace_file(path, partial(save_file, {"features": found}, metadata={"sha256": digest([found])}))
    return found


def base_mean(images: Images, backbone: Backbone, *, progress: bool = False) -> torch.Tensor:
    """Mean feature (D,) of the images of base classes: those the network was trained on, else the data set's own.

    A line on stderr says whose they are.

    Parameters
    ----------
    images : Images
        Those that tasks are drawn from; their data set's base split counts where the network's ships with no data set.
    backbone : Backbone
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        Neither has base classes here.
    """
    own = images.name if ":" in images.name else images.name.partition("?")[0].partition("/")[0]
    shipped = datasets.names("base")
    name = backbone.base if backbone.base in shipped else own
    if name not in shipped and (":" not in name or name.startswith("folder:")):
        raise InputError(
            f"center: neither {backbone.name} nor {images.name} has base classes here to take the mean feature of; "
            "center=VECTOR or FILE.npy is needed, or transform='L2N'"
        )
    base = datasets.load(name, split="base", size=images.side)
    note(
        f"features of {backbone.name} are centred by their mean over the {len(base):,} images of base classes of {name}"
    )
    found = features(base, backbone, progress=progress)
    if not found.large:
        return found.data.double().mean(dim=0).float()
    return (sum(part.double().sum(dim=0) for part in chunks(found.data)) / len(found)).float()


@torch.inference_mode()
def compute(images: Images, backbone: Backbone, progress: bool = False, rows: range | None = None) -> torch.Tensor:
    """(N, D) 16-bit features of all images, computed; or of some rows, which begin with a whole batch.

    Images are read a batch at a time.
    """
    where, size = device(), _batch(images, backbone)
    rows = range(len(images)) if rows is None else rows
    # As it is fastest for the first images, whichever rows are asked for.
    network = _for_features(backbone, _normalised(images, backbone, slice(0, min(size, TRIED)), where))
    out = []
    what = dict(desc=f"{backbone.name} on {images.name}", unit="image", delay=5, disable=not progress)
    with tqdm(total=len(images), initial=rows.start, leave=rows.stop == len(images), **what) as bar:
        for at in range(rows.start, rows.stop, size):
            x = _normalised(images, backbone, slice(at, min(at + size, rows.stop)), where)
            out.append(_check_features(backbone, network(x), len(x)).half().cpu())
            bar.update(len(x))
    return torch.cat(out)


def _check_features(backbone: Backbone, found: object, images: int) -> torch.Tensor:
    """What a network, perhaps the user's own, gives for so many images, if it is a feature vector for each."""
    shape = tuple(found.shape) if isinstance(found, torch.Tensor) else ()
    if len(shape) != 2 or shape[0] != images or backbone.dim not in (None, shape[1]):
        what = f"shape {shape}" if shape else f"a {type(found).__name__}"
        raise InputError(
            f"backbone {backbone.name}: of {images} image{'s' * (images > 1)} its network makes {what}; a tensor of "
            f"shape ({images}, {backbone.dim or 'D'}), a feature vector for each, is needed"
        )
    return found


def _batch(images: Images, backbone: Backbone) -> int:
    """Images of a batch: fewer of large ones."""
    return max(1, min(BATCH, BATCH * LARGE**2 // backbone.side(*images.images.shape[1:3]) ** 2))


def _normalised(images: Images, backbone: Backbone, rows: slice, where: torch.device) -> torch.Tensor:
    return backbone.preprocess(torch.from_numpy(np.ascontiguousarray(images.images[rows])).to(where))


@torch.inference_mode()
def speed(backbone: Backbone, images: np.ndarray) -> float:
    """Images a second that the backbone turns into features here, after one batch to warm up.

    Parameters
    ----------
    images : (N, H, W, C) uint8
    """
    where = device()
    batches = torch.from_numpy(images).to(where).split(BATCH)
    first = backbone.preprocess(batches[0])
    network = _for_features(backbone, first)
    network(first)
    start = time.perf_counter()
    for batch in batches:
        network(backbone.preprocess(batch)).sum().item()  # .item() waits for a GPU
    return len(images) / (time.perf_counter() - start)


def _for_features(backbone: Backbone, images: torch.Tensor) -> nn.Module:
    """The network as it is fastest where the images are; a few of these are tried."""
    with torch.inference_mode(False):  # else a network of the user's own could not be trained on
        network = backbone.network.to(images.device, memory_format=torch.channels_last)
    return folded(network, images[:TRIED])
