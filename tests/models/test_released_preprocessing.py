"""The preprocessing of the code that OOPS released, against torchvision, which that code calls."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from refusal import refuses
from torch import nn

from fslcore import catalogue, datasets, learners
from fslcore.models import backbones, weights
from fslcore.models.networks import import_torchvision
from fslcore.models.registry import entries

MEAN, STD = (0.4712, 0.4499, 0.4031), (0.2726, 0.2634, 0.2794)  # of its configuration


@pytest.fixture(scope="module")
def as_torchvision():
    """From images to pixels, as the released code reads files and arrays."""
    import_torchvision()
    from torchvision import transforms

    steps = {"resize": transforms.Resize([256, 256]), "tensor": transforms.ToTensor()}
    end = [transforms.CenterCrop(224), transforms.Normalize(MEAN, STD)]

    def seen(images, *order):
        read = transforms.Compose([*(steps[name] for name in order or ("resize", "tensor")), *end])
        return torch.stack([read(image) for image in images])

    return seen


def released(name="clip"):
    return replace(
        entries()[f"{name}-released"].backbone, dim=3, network=nn.Identity(), fine_tuning={}
    )


def photos(folder: Path, sides=((320, 200), (190, 300), (256, 256))) -> list[Path]:
    rng, files = np.random.default_rng(0), []
    for i, (width, height) in enumerate(sides):
        file = folder / f"class{i % 2}" / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8))
        coarse.resize((width, height), Image.Resampling.BICUBIC).save(file)
        files.append(file)
    return files


@pytest.mark.parametrize("name", catalogue.BACKBONES["fetched"])
def test_every_fetched_backbone_has_a_released_form(name):
    standard, form = entries()[name], entries()[f"{name}-released"]
    backbone = form.backbone
    assert (backbone.name, backbone.mean, backbone.std) == (f"{name}-released", MEAN, STD)
    assert (backbone.read_at, backbone.resolution, backbone.interpolation) == (256, 224, "bilinear")
    assert standard.backbone.read_at is None and backbone.dim == standard.backbone.dim
    assert form.hub == standard.hub and form.pinned_as == name


def test_images_are_seen_as_the_released_code_sees_them(tmp_path, as_torchvision):
    files = photos(tmp_path)
    images, backbone = backbones.match_input_size(datasets.load(f"folder:{tmp_path}"), released())
    assert images.images.shape[1:] == (256, 256, 3) and backbone.resolution == 224
    prepared = backbone.preprocess(torch.from_numpy(images.images[:]))
    assert prepared.shape == (3, 3, 224, 224)
    assert torch.allclose(prepared, as_torchvision(map(Image.open, sorted(files))), atol=1e-6)
    standard, _ = backbones.match_input_size(
        datasets.load(f"folder:{tmp_path}"), replace(released(), read_at=None)
    )
    assert standard.digest != images.digest and standard.images.shape[1:] == (224, 224, 3)
    with refuses("size = 64", "clip-released", "256 pixels"):
        backbones.match_input_size(datasets.load(f"folder:{tmp_path}", size=64), released())


def test_images_of_a_fixed_size_are_enlarged_first(as_torchvision):
    images = datasets.load("glyphs/hebrew")
    fitted, backbone = backbones.match_input_size(images, released())
    assert fitted is images
    few = torch.from_numpy(np.ascontiguousarray(images.images[:4]))
    expected = as_torchvision(few.expand(-1, -1, -1, 3).numpy(), "tensor", "resize")
    assert torch.allclose(backbone.preprocess(few), expected, atol=1e-5)


def test_strokes_of_omniglot_are_inverted(tmp_path, as_torchvision):
    drawing = np.full((105, 105), 255, np.uint8)
    drawing[20:60, 40:50] = 0
    for part in ("images_background", "images_evaluation"):
        for character in ("character01", "character02"):
            file = tmp_path / part / "Alphabet" / character / "0001_01.png"
            file.parent.mkdir(parents=True)
            Image.fromarray(drawing).convert("1").save(file)
    images, backbone = backbones.match_input_size(datasets.load(f"omniglot:{tmp_path}"), released())
    prepared = backbone.preprocess(torch.from_numpy(images.images[:1]))
    expected = as_torchvision([ImageOps.invert(Image.open(file).convert("RGB"))])
    assert torch.allclose(prepared, expected, atol=1e-6)
    standard, _ = backbones.match_input_size(
        datasets.load(f"omniglot:{tmp_path}"), replace(released(), read_at=None)
    )
    assert images.images[0].mean() < 128 < standard.images[0].mean()


@pytest.mark.parametrize("box", [(10, 20, 200, 120), None])
def test_a_box_and_a_photo_of_a_release_are_squeezed(tmp_path, as_torchvision, box):
    (file,) = photos(tmp_path, [(320, 200)])
    boxes = None if box is None else np.array([box], float)
    photo = datasets.folder.from_files("x", [file], ["a"], 84, boxes=boxes)
    images, backbone = backbones.match_input_size(photo, released())
    expected = as_torchvision([Image.open(file).crop(box)])
    assert torch.allclose(
        backbone.preprocess(torch.from_numpy(images.images[:])), expected, atol=1e-6
    )
    assert backbones.match_input_size(photo, replace(released(), read_at=None))[0] is photo


def test_standard_keys_are_as_they_were_and_a_file_is_pinned_once(monkeypatch):
    backbone = replace(released(), name="n", read_at=None)
    assert backbone.digest != replace(backbone, read_at=256).digest
    standard = backbones.Backbone("x", "", "", 4, None, (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "w")
    assert standard.digest == "b5e5765594ecfeb1bb470d23abfc08880d17dfd64921f65be16d6e7a3c83ae34"
    pinned = []
    monkeypatch.setattr(weights, "_first_seen", lambda name, digest: pinned.append(name) or digest)
    path = catalogue.CHECKPOINTS / "glyph-conv.safetensors"
    monkeypatch.setattr(weights, "_from_hub", lambda *_: path)
    for name in ("dino", "dino-released"):
        with refuses("checkpoint"):
            backbones.load(name)
    assert pinned == ["dino", "dino"]


@pytest.mark.parametrize("name, rate", [("clip", 1e-4), ("dino", 1e-3), ("dinov2-reg", 1e-4)])
def test_fine_tuning_has_the_rate_of_the_released_code(name, rate):
    listed = entries()[f"{name}-released"].backbone
    network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    backbone = replace(released(name), network=network, fine_tuning=listed.fine_tuning)
    assert (
        learners.make("ft", backbone).lr == rate and learners.make("ft", backbone, lr=0.5).lr == 0.5
    )
    assert learners.make("ft", replace(backbone, fine_tuning={})).lr == 1e-4
