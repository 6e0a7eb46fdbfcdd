"""Glyphs in coloured ink on coloured, textured backgrounds, drawn when they are loaded.

The shapes are those of ``glyphs``. Everything added is known exactly, so true attributes are
available: ink, ground, texture, and position and size of the character. The drawing is harder than the
black-on-white one, so that learners trained from scratch do not saturate.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
from PIL import Image

from ..errors import choice as checked_choice
from ..errors import number, whole
from .embedded import decoded, embedded_table
from .images import Images, OnDemand

__all__ = ["COLOURS", "TEXTURES", "load_coloured"]

SIDE = 32
# Names and RGB; distinct enough that each name fits only one of them.
COLOURS = {
    "red": (205, 45, 40),
    "orange": (240, 140, 30),
    "yellow": (240, 220, 60),
    "green": (50, 150, 60),
    "blue": (45, 85, 200),
    "purple": (130, 50, 160),
    "pink": (245, 150, 190),
    "brown": (120, 75, 40),
}
TEXTURES = ("plain", "striped", "checked", "speckled")
PLACES = np.mgrid[:SIDE, :SIDE] / 3.0
DEFAULTS = {"per_class": 60, "bias": 0, "seed": 0, "ink": None}
DRAWING = "coloured 1"  # part of the content's digest: raise it when the drawing changes


def load_coloured(
    domain: str | None = None,
    *,
    split: str = "novel",
    per_class: int = 60,
    bias: float = 0.0,
    seed: int = 0,
    ink: str | None = None,
) -> Images:
    """Coloured glyphs: (N, 32, 32, 3) drawings of the images of ``glyphs``.

    Each character is rotated by up to 20°, scaled to 80 to 115 %, shifted by up to 3 pixels and drawn
    in one of `COLOURS`. The ground is a pale tint of another colour, in one of `TEXTURES`, and all pixels have
    a little noise. The drawn properties are in ``facts`` (columns ink, ground, texture) and in the captions.

    The scaling hides size, which is the main difference between small letters and capitals. So a novel letter is
    one class: the small letter is left out if its capital is present. Base and validation classes keep
    both, because the shipped networks were trained with both.

    Parameters
    ----------
    domain : str, optional
        A script; all of the split by default.
    split : str
        ``novel``, ``validation`` or ``base``.
    per_class : int
        The maximum number of images per class, chosen at random (the novel scripts have hundreds).
    bias : float
        Probability that an image has its class's own ink instead of a random one: from 0, no relation
        to the class, to 1, always the class's ink.
    seed : int
        The same seed gives the same drawings, whatever is sliced.
    ink : str, optional
        Redraw all images in this one of `COLOURS`, all else unchanged (counterfactual images).
        The ground can then be a tint of the ink.

    Raises
    ------
    InputError
        Unknown domain, split or ink; bias outside 0 to 1; per_class below 1, seed below 0.
    """
    number("bias", bias, least=0, most=1), whole("per_class", per_class, 1), whole("seed", seed, 0)
    if ink is not None:
        checked_choice("ink", ink, COLOURS)
    table, _ = embedded_table("glyphs", split, domain)
    if split == "novel":
        capitals = {char for char in table["char"] if char.isupper()}
        table = table[[char.isupper() or char.upper() not in capitals for char in table["char"]]]
    # Each purpose has its own random stream, so that the choice of images does not depend on the drawing.
    choice, drawing, noise = np.random.SeedSequence(seed).spawn(3)
    rank = pd.Series(np.random.default_rng(choice).random(len(table))).groupby(table["class_name"].to_numpy()).rank()
    table = table[(rank <= per_class).to_numpy()].reset_index(drop=True)
    n, classes = len(table), pd.Categorical(table["class_name"])

    rng = np.random.default_rng(drawing)
    own = rng.integers(len(COLOURS), size=len(classes.categories))[classes.codes]
    inks = np.where(rng.random(n) < bias, own, rng.integers(len(COLOURS), size=n))
    ground = (inks + rng.integers(1, len(COLOURS), size=n)) % len(COLOURS)  # never the ink
    if ink is not None:
        inks = np.full(n, list(COLOURS).index(ink))
    texture = rng.integers(len(TEXTURES), size=n)
    uniform = rng.uniform(-1, 1, (n, 8))
    palette, encoded = np.array(list(COLOURS.values()), float), table["image"].tolist()
    noises = noise.generate_state(n, np.uint64)

    def read(i: int) -> np.ndarray:
        mask = _placed(decoded(encoded[i], "L"), *uniform[i, :4])[..., None]
        pattern = _pattern(TEXTURES[texture[i]], uniform[i, 4:6], noises[i])[..., None]
        # The ground is a pale tint, darker where the pattern is; the ink is darker than most of it.
        under = (255 - 0.5 * (255 - palette[ground[i]])) * (0.9 + 0.1 * uniform[i, 6] - 0.3 * pattern)
        over = palette[inks[i]] * (0.75 + 0.15 * uniform[i, 7])
        grain = np.random.default_rng(noises[i]).normal(0, 12, (SIDE, SIDE, 3))
        return (under * (1 - mask) + over * mask + grain).clip(0, 255).astype(np.uint8)

    facts = table.drop(columns=["image", "caption"]).assign(
        ink=np.array(list(COLOURS))[inks], ground=np.array(list(COLOURS))[ground], texture=np.array(TEXTURES)[texture]
    )
    captions = [  # "and", since without it a parser takes "plain" for an adverb and "checked" for a verb
        f"{what} in {f.ink} ink on a {f.texture} and {f.ground} ground"
        for what, f in zip(table["caption"], facts.itertuples())
    ]
    content = hashlib.sha256(b"".join(encoded))
    content.update(f"{DRAWING} {per_class} {bias} {seed}{f' {ink}' if ink else ''}".encode())
    options = {"per_class": per_class, "bias": bias, "seed": seed, "ink": ink}
    settings = [f"{key}={str(value).removesuffix('.0')}" for key, value in options.items() if value != DEFAULTS[key]]
    name = f"coloured/{domain}" if domain else "coloured"
    return Images(
        f"{name}?{'&'.join(settings)}" if settings else name,
        OnDemand(read, n, (SIDE, SIDE, 3)),
        classes.codes.astype(np.int64),
        list(classes.categories),
        captions,
        facts,
        content.hexdigest(),
    )


def _placed(glyph: Image.Image, turn: float, size: float, right: float, down: float) -> np.ndarray:
    """(SIDE, SIDE) share of ink, 0 to 1, of a dark-on-white glyph rotated, scaled and shifted; arguments in -1 to 1."""
    angle, scale = np.radians(20 * turn), 1 / (0.975 + 0.175 * size)
    a, b = np.cos(angle) * scale, np.sin(angle) * scale
    x, y = SIDE / 2 + 3 * right, SIDE / 2 + 3 * down  # centre of the glyph
    middle = glyph.width / 2
    inverse = (a, b, middle - a * x - b * y, -b, a, middle + b * x - a * y)
    drawn = glyph.transform((SIDE, SIDE), Image.Transform.AFFINE, inverse, Image.Resampling.BILINEAR, fillcolor=255)
    return 1 - np.asarray(drawn) / 255


def _pattern(texture: str, where: np.ndarray, seed: int) -> np.ndarray:
    """(SIDE, SIDE) numbers in 0 to 1: the darkness of the ground; ``where`` sets its direction and phase."""
    if texture == "plain":
        return np.zeros((SIDE, SIDE))
    if texture == "speckled":
        return (np.random.default_rng([seed, 1]).random((SIDE // 2, SIDE // 2)) < 0.25).repeat(2, 0).repeat(2, 1)
    y, x = PLACES
    angle, phase = np.pi * where[0], np.pi * where[1]
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    waves = np.sin(u + phase) * (np.sin(v + phase) if texture == "checked" else 1)
    return (waves > 0).astype(float)
