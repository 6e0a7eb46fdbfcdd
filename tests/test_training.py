"""The recipe of glyph-conv, on a set small enough to learn in seconds."""

import numpy as np
import pytest

from fslcore import backbones, datasets, training
from fslcore.errors import InputError


@pytest.fixture
def small(monkeypatch):
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (4, 28, 28, 1))
    images = (patterns.repeat(150, 0) + rng.normal(0, 20, (600, 28, 28, 1))).clip(0, 255).astype(np.uint8)
    base = datasets.Images("small", images, np.arange(4).repeat(150), list("abcd"))
    monkeypatch.setattr(datasets, "load", lambda name, split: base)
    return base


def test_training_learns_repeats_and_loads(small, tmp_path):
    paths = [training.train_glyph_conv(tmp_path / f"{i}.safetensors", epochs=6, seed=i // 2) for i in range(3)]
    first, again, other = (p.read_bytes() for p in paths)
    assert first == again != other
    trained = backbones.load(f"glyph-conv:{paths[0]}")
    features = backbones.features(small, trained).data.numpy()
    centroids = np.stack([features[small.labels == k].mean(0) for k in range(4)])
    nearest = ((features[:, None] - centroids) ** 2).sum(-1).argmin(1)
    assert (nearest == small.labels).mean() > 0.95


def test_epochs_are_checked(tmp_path):
    with pytest.raises(InputError, match="epochs = 0"):
        training.train_glyph_conv(tmp_path / "x", epochs=0)
