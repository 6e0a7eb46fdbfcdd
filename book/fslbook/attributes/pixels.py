"""A description of an image from its pixels alone: a captioner without weights.

An image is taken as one object on a ground. `look` says which colours the object has, whether it is
bright or dark, solid or hollow (drawn in lines), and the colour and texture of the ground;
`sentences` puts this into words. Nothing is learnt, so any folder of images has attributes.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import rgb_to_hsv
from scipy import ndimage

__all__ = ["COLOURS", "look", "name_colours", "sentences"]

#: The eleven basic colour terms of English (Berlin and Kay, 1969).
COLOURS = (
    "black",
    "grey",
    "white",
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "pink",
    "brown",
)
# Hues in degrees at which a name ends; past the last it is red again.
ENDS = {
    "red": 14,
    "orange": 45,
    "yellow": 70,
    "green": 170,
    "blue": 260,
    "purple": 305,
    "pink": 348,
}
# Weight of lighter or darker relative to other hues, below 1 so that shadows are not objects.
SHADE = 0.3
FAR = 40  # distance from the ground's colour that makes a pixel one of the object; 0 to 441
ROUGH = 25  # standard deviation of the ground's shade above which it is textured; same scale
SMALL = 0.01  # share of the image below which there is no object
SHARE = 0.2  # share of the object above which a colour is named
BATCH = 256
VERSION = "pixels 1"  # raise it when `look` changes: cached results are then recomputed


def name_colours(rgb: np.ndarray) -> np.ndarray:
    """Names of colours: by hue, and for little saturation by lightness.

    Pale colours are named by their hue too (a pale red is ``red``); dark or dull orange is
    ``brown``.

    Parameters
    ----------
    rgb : (..., 3) numbers, 0 to 255

    Returns
    -------
    (...) integers
        Index into `COLOURS`.
    """
    hue, saturation, value = np.moveaxis(rgb_to_hsv(np.asarray(rgb) / 255), -1, 0)
    hue = 360 * hue
    around = np.array([COLOURS.index(name) for name in (*ENDS, "red")])
    named = around[np.searchsorted(list(ENDS.values()), hue, side="right")]
    brown = (hue >= 10) & (hue < ENDS["orange"]) & ((value < 0.6) | (saturation < 0.32))
    hueless = (saturation * value < 0.08) | (value < 0.15)
    named = np.where(brown, COLOURS.index("brown"), named)
    return np.where(hueless, np.digitize(value, [0.3, 0.86]), named)  # black, grey or white


def look(images: np.ndarray) -> pd.DataFrame:
    """Properties shown by the pixels of images.

    The ground's colour is the median of the outermost pixels. The object is what differs from it,
    with a larger threshold for pixels that are only darker or lighter, as the shadows and patterns
    of a ground are.

    Parameters
    ----------
    images : (N, H, W, C) uint8
        C is 1 or 3. On-demand images are read in batches.

    Returns
    -------
    DataFrame
        One row per image, all of it text. ``light``: bright, dark or empty, of the object;
        ``form``: solid or hollow; ``colour``: of the object, one to three `COLOURS` separated by ";
        ", the most frequent first; ``texture``: plain or textured, and ``ground``: one of
        `COLOURS`, of the ground. The first three are empty if no object was found.
    """
    rows = [
        _look(image) for at in range(0, len(images), BATCH) for image in images[at : at + BATCH]
    ]
    return pd.DataFrame(rows, columns=["light", "form", "colour", "texture", "ground"])


def _look(image: np.ndarray) -> tuple[str, str, str, str, str]:  # noqa: PLR0914 one look at an image gives five words
    """A row of `look`."""
    x = np.broadcast_to(image, (*image.shape[:2], 3)).astype(np.float32)
    side = min(x.shape[:2])
    edge, width = np.ones(x.shape[:2], bool), max(1, side // 16)
    edge[width:-width, width:-width] = False
    ground = np.median(x[edge], axis=0)
    # A difference is split into shade, along the ground's own colour, and the rest, a change of
    # hue.
    length = np.linalg.norm(ground)
    axis = ground / length if length > FAR else np.full(3, 3**-0.5)  # the hue of black is noise
    difference = x - ground
    shade = difference @ axis
    hue = np.linalg.norm(difference - shade[..., None] * axis, axis=-1)
    distance = np.hypot(hue, SHADE * shade)
    shape = distance > FAR
    outside = ~ndimage.binary_dilation(shape)  # without the soft edge of the object
    rough = outside.any() and shade[outside].std() > ROUGH
    of_ground = "textured" if rough else "plain", COLOURS[name_colours(ground)]
    if shape.mean() < SMALL:
        return "", "", "", *of_ground
    # Pixels far from the ground count more, since the nearer ones are mixed with it.
    named = name_colours(x[shape])
    shares = np.bincount(named, distance[shape], len(COLOURS)) / distance[shape].sum()
    frequent = [i for i in np.argsort(-shares, kind="stable")[:3] if shares[i] > SHARE]
    colours = "; ".join(COLOURS[i] for i in frequent or [shares.argmax()])
    luminance = (x[shape] @ [0.2126, 0.7152, 0.0722]).mean() / 255
    light = "bright" if luminance > 0.6 else ""
    if luminance < 0.35:
        light = "dark"
    inside = ndimage.binary_erosion(shape, iterations=max(1, round(side / 32)))
    form = "solid" if inside.sum() > 0.3 * shape.sum() else "hollow"
    return light, form, colours, *of_ground


def sentences(looks: pd.DataFrame) -> list[str]:
    """The output of `look` as one sentence per image.

    Worded so that spaCy takes each of the words as a noun or an adjective, unlike in "a plain red
    ground"."""
    return [
        _sentence(*row)
        for row in looks[["light", "form", "colour", "texture", "ground"]].itertuples(index=False)
    ]


def _sentence(light: str, form: str, colour: str, texture: str, ground: str) -> str:
    background = f"a {texture} and {ground} background"
    if not form:
        return f"an image of {background}"
    parts = " and ".join(f"{'an' if c == 'orange' else 'a'} {c} part" for c in colour.split("; "))
    return (
        f"an image of a {f'{light} and ' if light else ''}{form} object with {parts} on "
        f"{background}"
    )
