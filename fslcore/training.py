"""Train the book's own small backbone on the base classes of glyphs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from tqdm import trange

from . import datasets
from .backbones import GlyphConv, device
from .errors import InputError
from .paths import BUILD, replace_file

__all__ = ["train_glyph_conv"]

BATCH = 256


def train_glyph_conv(output: str | Path | None = None, *, epochs: int = 20, seed: int = 0) -> Path:
    """Train `GlyphConv` to tell the base classes of glyphs apart, and write its checkpoint.

    Cross-entropy of a linear head, AdamW (weight decay 0.05) with a one-cycle learning rate of at
    most 0.004, batches of 256, each image turned, scaled and shifted a little at random. The head
    is thrown away. Same seed and machine, same weights.

    Parameters
    ----------
    output : path, optional
        By default ``_build/glyph-conv.safetensors``; use it as ``glyph-conv:PATH``. The
        checkpoint that ships in ``data/checkpoints`` is pinned by its digest.
    epochs, seed : int

    Returns
    -------
    Path
        The checkpoint, in safetensors format.
    """
    if epochs < 1:
        raise InputError(f"epochs = {epochs}; at least 1 is needed")
    base = datasets.load("glyphs", split="base")
    torch.manual_seed(seed)
    where = device()
    images = torch.from_numpy(base.images[:]).permute(0, 3, 1, 2).to(where)
    labels = torch.from_numpy(base.labels).to(where)
    network = GlyphConv().to(where)
    head = nn.Linear(GlyphConv.dim, len(base.class_names)).to(where)
    weights = [*network.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(weights, lr=0.004, weight_decay=0.05)
    steps = len(labels) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.004, total_steps=epochs * steps)
    order = np.random.default_rng(seed)
    for epoch in (bar := trange(epochs, desc="glyph-conv", unit="epoch")):
        network.train()
        for rows in order.permutation(len(labels))[: steps * BATCH].reshape(steps, BATCH):
            rows = torch.from_numpy(rows).to(where)
            x = (_jitter(images[rows].float() / 255) - 0.5) / 0.5
            loss = F.cross_entropy(head(network(x)), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
    path = Path(output) if output else BUILD / "glyph-conv.safetensors"
    state = {name: t.cpu().contiguous() for name, t in network.state_dict().items()}
    replace_file(path, partial(save_file, state))
    return path


def _jitter(x: torch.Tensor) -> torch.Tensor:
    """(B, 1, H, W) images turned by up to 10°, scaled by up to 15 % and shifted by up to 2 pixels."""
    uniform = torch.rand(len(x), 4, device=x.device) * 2 - 1
    angle, scale = uniform[:, 0] * torch.pi / 18, 1 + 0.15 * uniform[:, 1]
    shift = uniform[:, 2:] * 2 * 2 / x.shape[-1]
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    affine = torch.stack([cos, -sin, shift[:, 0], sin, cos, shift[:, 1]], dim=1).view(-1, 2, 3)
    grid = F.affine_grid(affine, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="border", align_corners=False)
