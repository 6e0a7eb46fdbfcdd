"""Features with embeddings of names, and a small CLIP, for the tests of what reads text."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from safetensors.torch import save_file

from fslcore import datasets
from fslcore.datasets.bank import Bank
from fslcore.models import registry
from fslcore.models.networks import import_torchvision
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import unit

CLASSES = 20
EACH = 40
DIM = 64
LABELS = np.arange(CLASSES).repeat(EACH)


def bank_with_text():
    """Features as CLIP's are, around a direction that all share, and names around another."""
    rng = np.random.default_rng(0)
    images, gap = unit(rng.normal(size=(2, DIM)))
    centres = rng.normal(size=(CLASSES, DIM)) / 8
    noise = rng.normal(size=(len(LABELS), DIM)) / 8
    x = 1.2 * images + 0.6 * centres[LABELS] + 1.2 * noise
    text = torch.from_numpy(gap + 0.25 * centres).float()
    return Bank(torch.from_numpy(x).float(), LABELS, "", text=text)


def pictures(name, seed=0, n=70):
    x = np.random.default_rng(seed).integers(0, 256, (n, 28, 28, 1), dtype=np.uint8)
    return datasets.Images(name, x, np.arange(n) % 7, ["a_cat", *"bcdefg"])


TASKS = sample_closed(np.arange(70) % 7, tasks=4, ways=3, shots=2, queries=3)
TINY = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


def tiny_clip_in(tmp_path, monkeypatch):
    """A backbone built as CLIP is, with random weights in a file, and the complete model."""
    import_torchvision()
    import open_clip

    (tmp_path / "tiny-clip.json").write_text(json.dumps(TINY))
    open_clip.add_model_config(tmp_path / "tiny-clip.json")
    torch.manual_seed(0)
    model = open_clip.create_model("tiny-clip", pretrained=None).eval()
    save_file(
        {key: w.contiguous().clone() for key, w in model.state_dict().items()},
        tmp_path / "w.safetensors",
    )
    entry = registry.entries()["clip"]
    parts = {
        "backbone": replace(entry.backbone, dim=24, resolution=32),
        "build": partial(entry.build, model="tiny-clip"),
        "text": partial(entry.text, model="tiny-clip"),
    }
    monkeypatch.setitem(registry.entries(), "clip", replace(entry, **parts))
    return f"clip:{tmp_path}/w.safetensors", model
