"""Weights of a backbone: from this library, a Python package, the model hub, or a file.

Nothing in a file is executed, and a file whose SHA-256 is not the pinned one is refused.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn

from .. import sources, store
from ..catalogue import USER_CHECKPOINT, public_name
from ..errors import InputError, instance, quoted, suggestion, warn
from ..paths import at_home, check_zip, load_tensors, locked, replace_file
from .backbone import Backbone, FromFile
from .fused import with_fast_convolutions
from .networks import NETWORKS
from .registry import Entry, State, entries, of_this_library

__all__ = ["load", "recipe_of", "trained_path"]

#: Errors of reading a file that is not a checkpoint of the network.
UNREADABLE = (
    RuntimeError,
    ValueError,
    KeyError,
    EOFError,
    pickle.UnpicklingError,
    SafetensorError,
)


def load(name: str) -> Backbone:
    """A backbone by name, or by ``name:path`` with a weights file of the user's own.

    ``trained:path`` is the checkpoint of a training, of any network, which the file names; the
    backbone is named after both. Without a suffix, it is one of those that ``train --paper`` stores
    in the cache: ``trained:evaluators/cifar-fs/protonet``.

    Packaged weights must match their pinned SHA-256, and so must weights from the model hub if two
    sources list it (`fslcore.sources`). Others are pinned at their first download: a later file
    with another digest is refused. Checkpoints are read as safetensors or with ``weights_only``:
    nothing in them is executed.

    Raises
    ------
    InputError
        Unknown name; no weights (the message names the file and its origin); wrong digest; a file
        that is not a checkpoint of this network. A network with random weights is never used.
    """
    name, _, file = name.partition(":")
    if name == USER_CHECKPOINT and not file:
        raise InputError(
            f"backbone must be {name}:FILE with the checkpoint of a training, got {name!r}"
        )
    if name not in entries():
        raise InputError(
            f"backbone must be one of {', '.join(entries())} or NAME:WEIGHTS_FILE, got "
            f"{quoted(name)}{suggestion(name, entries())}"
        )
    entry = _listed(name)
    path = _weights(name, entry, file)
    backbone = entry.backbone
    build = entry.build
    check_zip(f"backbone {name}", path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    pinned = None if file else entry.sha256
    if entry.hub and not file and not pinned:
        pinned = _first_seen(entry.pinned_as or name, digest)
    if pinned and digest != pinned:
        raise InputError(f"backbone {name}: {path} has SHA-256 {digest}, pinned is {pinned}")
    try:
        state, recipe = _read_state(path)
        if name == USER_CHECKPOINT and "network" not in recipe:
            raise ValueError("it does not say how it was trained")
        if isinstance(build, str):
            backbone, build = _as_trained(name, path, backbone, {"network": build, **recipe})
        network = cache(lambda: with_fast_convolutions(build(state)).eval())
        # Weights with a digest can wait: timm alone takes seconds to import.
        if file or not entry.sha256:
            network()
    except UNREADABLE as error:
        reason = (str(error).splitlines() or ["the file is empty or cut off"])[0]
        raise InputError(
            f"backbone {name}: {path} is not a checkpoint of this network ({reason})"
        ) from None
    return replace(
        backbone,
        network=FromFile(network),
        weights=digest,
        head={key.removeprefix("head."): w for key, w in state.items() if key.startswith("head.")},
        options=recipe.get("options", {}),
        text=partial(_embed, name, path, entry.text) if entry.text else None,
        base=recipe.get("dataset", None if file else backbone.base),
    )


def _as_trained(
    name: str, path: Path, backbone: Backbone, recipe: dict[str, Any]
) -> tuple[Backbone, Callable[[State], nn.Module]]:
    """The backbone as the recipe of its training describes it, and how its network is built."""
    if name == USER_CHECKPOINT:
        name = f"{public_name(recipe['network'])}-{path.stem}"
    network = replace(NETWORKS[recipe["network"]], **recipe.get("architecture", {}))
    backbone = replace(
        backbone,
        name=name,
        dim=network.dim,
        resolution=network.side,
        map=network.map,
        read_at=recipe.get("read_at"),
        mean=tuple(recipe.get("mean", backbone.mean)),
        std=tuple(recipe.get("std", backbone.std)),
    )
    return backbone, partial(of_this_library, network)


def trained_path(name: str) -> Path:
    """The place where ``train --paper`` stores a network: PAPER/DATASET/LEARNER, in the cache."""
    return store.path("trained", f"{name}.safetensors")


def recipe_of(name: str) -> dict[str, Any]:
    """The recipe of the training that made a backbone's file, as JSON values; empty for others."""
    name, _, file = name.partition(":")
    return _read_state(_weights(name, _listed(name), file))[1]


def _listed(name: str) -> Entry:
    """An entry, with the repository, digest and architecture in `fslcore.sources`, if any."""
    entry = entries()[name]
    if entry.hub is None:
        return entry
    listed = sources.weights(entry.pinned_as or name)
    if listed is None:
        return entry
    options = listed.architecture
    return replace(
        entry,
        hub=(listed.repository, listed.file or entry.hub[1], listed.revision),
        sha256=listed.sha256 if len(listed.by) > 1 else None,
        backbone=replace(entry.backbone, dim=options.get("embed_dim", entry.backbone.dim)),
        build=entry.build if isinstance(entry.build, str) else partial(entry.build, **options),
        text=entry.text and partial(entry.text, **options),
    )


def _embed(
    name: str, path: Path, text: Callable[[State, list[str]], torch.Tensor], sentences: list[str]
) -> torch.Tensor:
    """Embeddings of sentences by the text tower of a checkpoint, which is read on first use."""
    try:
        return text(_read_state(path)[0], sentences)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"backbone {name}: {path} has no text tower beside its network ({reason})"
        ) from None


def _weights(name: str, entry: Entry, file: str) -> Path:
    path: Path | None
    if file:
        path = at_home(file, f"backbone {name}")
        if name == USER_CHECKPOINT and not path.suffix:
            path = trained_path(file)
            if not path.is_file():
                paper = file.partition("/")[0]
                raise InputError(
                    f"backbone {name}:{file}: no file {path}; "
                    f"the book's command train makes all networks of the paper {paper}"
                )
        if not path.is_file():
            raise InputError(
                f"backbone {name}: "
                f"{f'{path} is a folder' if path.is_dir() else f'no weights file {path}'}"
            )
        return path
    if isinstance(entry.local, tuple):
        spec = find_spec(entry.local[0])  # finds without importing: the package's code is not run
        path = Path(spec.origin).parent / entry.local[1] if spec and spec.origin else None
        origin = f"the Python package {entry.local[0]} (file {entry.local[1]})"
    elif entry.local:
        path = entry.local
        origin = f"{entry.local} (a training makes such files)"
    else:
        hub = instance("hub", entry.hub, tuple)
        try:
            path = _from_hub(*hub)
        except InputError as error:
            raise InputError(f"backbone {name}: {error}; {name}:PATH names a file") from None
        origin = f"{hub[1]} of {hub[0]} on the model hub"
    if path is None or not path.is_file():
        raise InputError(
            f"backbone {name}: no weights; bring {origin}, or give a file as {name}:PATH"
        )
    return path


def _from_hub(repository: str, file: str, revision: str | None = None) -> Path | None:
    """The file in the hub's cache, which is filled first; None if the hub does not have it.

    Raises
    ------
    InputError
        The hub cannot be found, and the cache is without the file.
    """
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # failures are reported once, by us, and not at every retry
    offline = constants.HF_HUB_OFFLINE
    problem = None if offline else sources.network_problem(constants.ENDPOINT)
    try:
        return Path(
            hf_hub_download(
                repository, file, revision=revision, local_files_only=offline or bool(problem)
            )
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError):
        if problem:
            raise InputError(f"{problem}, which has {file} of {repository}") from None
        return None


def _first_seen(name: str, digest: str) -> str:
    """The digest of a hub's weights at their first use on this machine."""
    pins = store.path("weights.json")
    if name in (digests := _pinned(pins)):
        return digests[name]
    store.check_writable()
    with locked(pins):  # what another process pins at the same time is kept
        digests = {name: digest, **_pinned(pins)}
        replace_file(pins, lambda part: part.write_text(json.dumps(digests, indent=1)))
    return digests[name]


def _pinned(pins: Path) -> dict[str, str]:
    """Digests by backbone names."""
    try:
        return dict(json.loads(pins.read_text("utf-8"))) if pins.is_file() else {}
    except (ValueError, TypeError):
        warn(
            f"{pins} is damaged and made again: weights from the model hub are pinned as they are "
            "now"
        )
        return {}


def _read_state(path: Path) -> tuple[State, dict[str, Any]]:
    """Named tensors, and the recipe of its training if the file has one."""
    with open(path, "rb") as file:
        head = file.read(9)
    if path.suffix == ".safetensors" or head[8:] == b"{":
        with safe_open(path, "pt") as file:
            training = json.loads((file.metadata() or {}).get("training", "{}"))
        return load_file(path), training.get("recipe", {})
    if not head:
        raise ValueError("the file is empty")
    if not head.startswith((b"PK", b"\x80")):  # a zip, or an older pickle
        raise ValueError("it is neither a PyTorch nor a safetensors file")
    state = load_tensors(path)
    if not isinstance(state, dict):
        raise ValueError(f"it holds a {type(state).__name__}, not named tensors")
    return state.get("state_dict", state), {}
