"""A data set that is small and easy enough to learn in seconds, and class folders of photos."""

import numpy as np
import pytest
from PIL import Image

from fslbook.training import run as loop
from fslcore import datasets

RNG = np.random.default_rng(0)
PATTERNS = RNG.integers(0, 256, (12, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
IMAGES = (
    (PATTERNS.repeat(30, 0) + RNG.normal(0, 40, (360, 32, 32, 3))).clip(0, 255).astype(np.uint8)
)


@pytest.fixture
def labels():
    """Labels of the images of each split; a test may exchange them."""
    return {"base": np.arange(6).repeat(30), "validation": np.arange(6).repeat(30)}


@pytest.fixture
def small(monkeypatch, labels):
    """Loads twelve easy classes: six train and six validate."""

    def load(name, split):
        rows = slice(0, 180) if split == "base" else slice(180, 360)
        return datasets.Images("small", IMAGES[rows], labels[split], list("abcdef"))

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(loop, "VALIDATION", {"features": 40, "images": 10})
    return load


@pytest.fixture
def photos(tmp_path):
    """Writes twelve class folders of PNGs, and names them as a data set."""

    def write(count=20, size=(60, 48)):
        rng = np.random.default_rng(0)
        for c in range(12):
            folder = tmp_path / "photos" / f"kind{c}"
            folder.mkdir(parents=True)
            for i in range(count):
                coarse = Image.fromarray(rng.integers(0, 256, (5, 9, 3), dtype=np.uint8))
                coarse.resize(size).save(folder / f"{i:02}.png")
        return f"folder:{tmp_path}/photos"

    return write
