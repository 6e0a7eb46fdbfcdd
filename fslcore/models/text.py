"""Embeddings of class names by the text tower of a backbone, such as CLIP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from .. import store
from ..errors import InputError
from ..paths import replace_file
from .backbone import Backbone
from .shards import digest, intact

__all__ = ["names_embedded", "names_key"]

BATCH = 256  # names per batch
PROMPT = "a photo of a {}."  # for a text tower
# Part of the cache key of embedded names: raise it when the output of `names_embedded` changes.
EMBEDDED = "v1"


def names_key(names: Sequence[str], backbone: Backbone) -> str:
    """SHA-256 of everything that determines the embeddings of these names."""
    return store.digest(
        json.dumps(
            [
                list(names),
                backbone.name,
                backbone.weights,
                [PROMPT],
                EMBEDDED,
                *backbone._own(),
            ]
        )
    )


def names_embedded(names: Sequence[str], backbone: Backbone) -> torch.Tensor:
    """Embeddings of class names in the space of the features, from the cache if possible.

    Parameters
    ----------
    names : K texts
        The class names; an underscore counts as a blank.
    backbone : Backbone
        A backbone with a text tower, such as CLIP.

    Returns
    -------
    (K, D) float32 tensor
        Embeddings of unit length.

    Raises
    ------
    InputError
        A backbone without a text tower, or a file of weights without one.
    """
    if backbone.text is None:
        raise InputError(
            f"backbone {backbone.name}: it has no text tower to embed names of classes; clip has "
            "one"
        )

    embed = backbone.text

    def make(path: Path) -> None:
        prompts = [PROMPT.format(name.replace("_", " ")) for name in names]
        with torch.inference_mode():
            parts = [
                embed(prompts[start : start + BATCH]) for start in range(0, len(prompts), BATCH)
            ]
            embeddings = F.normalize(torch.cat(parts).float(), dim=-1).cpu()
        replace_file(
            path,
            partial(save_file, {"features": embeddings}, metadata={"sha256": digest([embeddings])}),
        )

    path = store.path("text", f"{names_key(names, backbone)}.safetensors")
    return store.get(path, partial(intact, rows=len(names)), make)
