"""Glyphs in coloured ink on coloured, textured backgrounds, drawn when they are loaded.

The shapes are those of ``glyphs``. Everything added is known exactly, so true attributes are
available: ink, ground, texture, and position and size of the character. The drawing is harder than
the black-on-white one, so that learners trained from scratch do not saturate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from PIL import Image

from fslcore.datasets.embedded import decoded, embedded_table
from fslcore.datasets.images import Images, OnDemand
from fslcore.errors import choice as checked_choice, number, whole

__all__ = ["COLOURS", "TEXTURES", "load_coloured"]

SIDE = 32  # pixels
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

    Each character is rotated by up to 20°, scaled to 80 to 115 %, shifted by up to 3 pixels and
    drawn in one of `COLOURS`. The ground is a pale tint of another colour, in one of `TEXTURES`,
    and all pixels have a little noise. The drawn properties are in ``facts`` (columns ink, ground,
    texture) and in the captions.

    The scaling hides size, which is the main difference between small letters and capitals. So a
    novel letter is one class: the small letter is left out if its capital is present. Base and
    validation classes keep both, because the shipped networks were trained with both.

    Parameters
    ----------
    domain : str, optional
        A script; all of the split by default.
    split : str
        ``novel``, ``validation`` or ``base``.
    per_class : int
        The maximum number of images per class, chosen at random (the novel scripts have hundreds).
    bias : float
        Probability that an image has its class's own ink instead of a random one: from 0, no
        relation to the class, to 1, always the class's ink.
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
    number("bias", bias, minimum=0, maximum=1)
    whole("per_class", per_class, 1)
    whole("seed", seed, 0)
    if ink is not None:
        checked_choice("ink", ink, COLOURS)
    # Each purpose has its own random stream, so that the choice of images does not depend on the
    # drawing.
    choice_seed, drawing_seed, noise_seed = np.random.SeedSequence(seed).spawn(3)
    table = _glyphs(domain, split, per_class, np.random.default_rng(choice_seed))
    classes = pd.Categorical(table["class_name"])
    drawings = _drawings(classes, bias, np.random.default_rng(drawing_seed), noise_seed)
    if ink is not None:
        drawings.ink[:] = list(COLOURS).index(ink)
    encoded = table["image"].tolist()
    facts = table.drop(columns=["image", "caption"]).assign(
        ink=np.array(list(COLOURS))[drawings.ink],
        ground=np.array(list(COLOURS))[drawings.ground],
        texture=np.array(TEXTURES)[drawings.texture],
    )
    # "and", since without it a parser takes "plain" for an adverb and "checked" for a verb.
    captions = [
        f"{glyph} in {row.ink} ink on a {row.texture} and {row.ground} ground"
        for glyph, row in zip(table["caption"], facts.itertuples())
    ]
    content = hashlib.sha256(b"".join(encoded))
    content.update(f"{DRAWING} {per_class} {bias} {seed}{f' {ink}' if ink else ''}".encode())
    options = {"per_class": per_class, "bias": bias, "seed": seed, "ink": ink}

    def read(i: int) -> np.ndarray:
        return drawings.image(i, decoded(encoded[i], "L"))

    return Images(
        name=_name(domain, options),
        images=OnDemand(read, len(table), (SIDE, SIDE, 3)),
        labels=classes.codes.astype(np.int64),
        class_names=list(classes.categories),
        captions=captions,
        facts=facts,
        content=content.hexdigest(),
    )


def _name(domain: str | None, options: Mapping[str, object]) -> str:
    """The name from which `fslcore.datasets.load` draws the same images."""
    changed = {key: value for key, value in options.items() if value != DEFAULTS[key]}
    query = "&".join(f"{key}={str(value).removesuffix('.0')}" for key, value in changed.items())
    path = f"coloured/{domain}" if domain else "coloured"
    return f"{path}?{query}" if query else path


def _glyphs(
    domain: str | None, split: str, per_class: int, rng: np.random.Generator
) -> pd.DataFrame:
    """At most ``per_class`` rows of ``glyphs`` per class, without small letters of capitals."""
    table, _ = embedded_table("glyphs", split, domain)
    if split == "novel":
        capitals = {char for char in table["char"] if char.isupper()}
        is_class = [char.isupper() or char.upper() not in capitals for char in table["char"]]
        table = table[is_class]
    rank = pd.Series(rng.random(len(table))).groupby(table["class_name"].to_numpy()).rank()
    return table[(rank <= per_class).to_numpy()].reset_index(drop=True)


@dataclass(frozen=True)
class _Drawings:
    """What is drawn around N glyphs.

    Attributes
    ----------
    ink, ground, texture : (N,) integers
        Index into `COLOURS` and `TEXTURES`.
    uniform : (N, 8) floats
        From -1 to 1: rotation, size and shifts of the glyph, direction and phase of the texture,
        and the lightness of ground and ink.
    noise_seed : (N,) integers
    """

    ink: np.ndarray
    ground: np.ndarray
    texture: np.ndarray
    uniform: np.ndarray
    noise_seed: np.ndarray

    def image(self, i: int, glyph: Image.Image) -> np.ndarray:
        """(SIDE, SIDE, 3) uint8."""
        colours = np.array(list(COLOURS.values()), float)
        uniform = self.uniform[i]
        seed = self.noise_seed[i]
        mask = _placed(glyph, *uniform[:4])[..., None]
        pattern = _pattern(TEXTURES[self.texture[i]], uniform[4], uniform[5], seed)[..., None]
        # The ground is a pale tint, darker where the pattern is; the ink is darker than most of it.
        tint = 255 - 0.5 * (255 - colours[self.ground[i]])
        ground = tint * (0.9 + 0.1 * uniform[6] - 0.3 * pattern)
        ink = colours[self.ink[i]] * (0.75 + 0.15 * uniform[7])
        grain = np.random.default_rng(seed).normal(0, 12, (SIDE, SIDE, 3))
        return (ground * (1 - mask) + ink * mask + grain).clip(0, 255).astype(np.uint8)


def _drawings(
    classes: pd.Categorical, bias: float, rng: np.random.Generator, noise: np.random.SeedSequence
) -> _Drawings:
    """Random drawings, in which an image has the ink of its class with probability ``bias``."""
    n = len(classes)
    n_colours = len(COLOURS)
    class_ink = rng.integers(n_colours, size=len(classes.categories))[classes.codes]
    ink = np.where(rng.random(n) < bias, class_ink, rng.integers(n_colours, size=n))
    ground = (ink + rng.integers(1, n_colours, size=n)) % n_colours  # never the ink
    return _Drawings(
        ink=ink,
        ground=ground,
        texture=rng.integers(len(TEXTURES), size=n),
        uniform=rng.uniform(-1, 1, (n, 8)),
        noise_seed=noise.generate_state(n, np.uint64),
    )


def _placed(
    glyph: Image.Image, rotation: float, size: float, right: float, down: float
) -> np.ndarray:
    """(SIDE, SIDE) share of ink, 0 to 1, of a dark-on-white glyph rotated, scaled and shifted.

    The numbers are from -1 to 1.
    """
    angle = np.radians(20 * rotation)
    scale = 1 / (0.975 + 0.175 * size)
    a = np.cos(angle) * scale
    b = np.sin(angle) * scale
    x, y = SIDE / 2 + 3 * right, SIDE / 2 + 3 * down  # centre of the glyph
    middle = glyph.width / 2
    inverse = (a, b, middle - a * x - b * y, -b, a, middle + b * x - a * y)
    transform, resampling = Image.Transform.AFFINE, Image.Resampling.BILINEAR
    placed = glyph.transform((SIDE, SIDE), transform, inverse, resampling, fillcolor=255)
    return 1 - np.asarray(placed) / 255


def _pattern(texture: str, direction: float, phase: float, seed: int) -> np.ndarray:
    """(SIDE, SIDE) darkness of the ground, 0 to 1; direction and phase are from -1 to 1."""
    if texture == "plain":
        return np.zeros((SIDE, SIDE))
    if texture == "speckled":
        speckles = np.random.default_rng([seed, 1]).random((SIDE // 2, SIDE // 2)) < 0.25
        return speckles.repeat(2, 0).repeat(2, 1)
    y, x = PLACES
    angle, phase = np.pi * direction, np.pi * phase
    u = x * np.cos(angle) + y * np.sin(angle)
    v = y * np.cos(angle) - x * np.sin(angle)
    waves = np.sin(u + phase)
    if texture == "checked":
        waves = waves * np.sin(v + phase)
    return (waves > 0).astype(float)
