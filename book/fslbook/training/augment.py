"""Augmentation of images in training; all random numbers are from torch's generator."""

from __future__ import annotations

import torch

from .unlabelled import warped

__all__ = ["AUGMENTATIONS"]


def jitter(x: torch.Tensor) -> torch.Tensor:
    """(B, 3, H, W) images rotated by up to 10°, scaled by up to 15 % and shifted by up to 2
    pixels."""
    uniform = torch.rand(len(x), 4, device=x.device) * 2 - 1
    angle, scale = uniform[:, 0] * torch.pi / 18, 1 + 0.15 * uniform[:, 1]
    return warped(x, angle, scale, uniform[:, 2:] * 2 * 2 / x.shape[-1], "border")


def crop(x: torch.Tensor) -> torch.Tensor:
    """A random square of 60 to 100 % of the side, resized to the full size."""
    uniform = torch.rand(len(x), 3, device=x.device)
    part = 1 - 0.4 * uniform[:, 0]
    return warped(
        x, torch.zeros_like(part), part, (2 * uniform[:, 1:] - 1) * (1 - part[:, None]), "border"
    )


def flip(x: torch.Tensor) -> torch.Tensor:
    """Mirror half of the images, at random."""
    return torch.where(torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5, x.flip(-1), x)


def colour(x: torch.Tensor) -> torch.Tensor:
    """Brightness, contrast and saturation times 0.6 to 1.4 (Chen et al., 2019); images are in -1 …
    1."""
    bright, contrast, saturation = 0.6 + 0.8 * torch.rand(3, len(x), 1, 1, 1, device=x.device)
    x = (x + 1) / 2 * bright
    mean = x.mean((1, 2, 3), keepdim=True)
    x = mean + contrast * (x - mean)
    grey = x.mean(1, keepdim=True)
    return 2 * (grey + saturation * (x - grey)).clamp(0, 1) - 1


def window(x: torch.Tensor, side: int) -> torch.Tensor:
    """A random square of this side from each of (B, 3, H, W) images: (B, 3, side, side)."""
    places = torch.tensor(x.shape[-2:], device=x.device) - side + 1
    top, left = (torch.rand(len(x), 2, device=x.device) * places).long().T
    along = torch.arange(side, device=x.device)
    row, column = (top[:, None] + along)[:, None, :, None], (left[:, None] + along)[:, None, None]
    image, channel = (torch.arange(n, device=x.device) for n in x.shape[:2])
    return x[image[:, None, None, None], channel[:, None, None], row, column]


AUGMENTATIONS = {"jitter": jitter, "crop": crop, "flip": flip, "colour": colour}
