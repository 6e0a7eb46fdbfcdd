"""Remarks on figures: a few words and an arrow to where the reader should look."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.legend import Legend
from matplotlib.text import Annotation

from .style import WIDTH

__all__ = ["MOST_REMARKS", "remark"]

NAME = "remark"  # of the words in the SVG file
MOST_REMARKS = 2  # per figure: more would be read by nobody
FONT_SIZE = 9  # points, in a figure of `WIDTH`: that of the smallest type
WIDEST = 6  # inches: a wider figure has panels, which a phone shows one below the other
MOST_LINES = 4
DOTS = 72  # per inch, at which free places are sought
LIGHTEST_INK = 200  # of 255: grid lines and pale bands are lighter, all marks are darker
ROOM = 3  # dots around the words
SHORTEST, LONGEST = 10, 90  # dots from the words to the point
CROSSING = 12  # dots of way that an arrow would go round rather than cross one dot of ink
MOST_CROSSED = 8  # dots of ink: a line or two
NEXT_LINE = 8  # dots of way that one more line of words is worth


@dataclass(frozen=True)
class Place:
    """Words as they are broken, the middle of their box in dots from the lower left, and how far from ideal that is."""

    words: str
    middle: tuple[float, float]
    cost: float


def remark(ax: plt.Axes, text: str, x: float, y: float) -> Annotation | None:
    """Write a remark beside a point of a finished drawing, where it covers nothing, with an arrow to the point.

    Parameters
    ----------
    ax : Axes
        All of its figure is drawn: what comes later may lie under the words.
    text : str
        A few words. They are broken into lines as the free place needs it.
    x, y : float
        The point, in the units of the axes.

    Returns
    -------
    Annotation or None
        None where nothing is written: the figure has two remarks, there are no words, there is no free place near the
        point, or the point is outside the axes.
    """
    figure = ax.get_figure(root=True)
    if len(figure.findobj(_is_remark)) >= MOST_REMARKS:
        return None
    ink = _ink(figure)  # drawn first: the layout decides where the point is
    scale = DOTS / figure.dpi
    point = scale * ax.transData.transform((x, y))
    box = scale * ax.get_window_extent().extents
    if not (text and np.isfinite(point).all() and _contains(box, point)):
        return None
    layouts = [_in_lines(text, count) for count in range(1, MOST_LINES + 1)]
    places = [_best_place(ink, box, point, words, _size(ax, words, scale)) for words in layouts]
    places = [place for place in places if place]
    if not places:
        return None
    place = min(places, key=lambda found: found.cost)
    middle = ax.transData.inverted().transform(np.array(place.middle) / scale)
    return _written(ax, place.words, (x, y), middle)


def _in_lines(text: str, count: int) -> str:
    """Break a text into so many lines at most, of about one length."""
    width = max(map(len, text.split()))
    while len(textwrap.wrap(text, width)) > count:
        width += 1
    return textwrap.fill(text, width)


def _written(
    ax: plt.Axes, words: str, point: tuple[float, float], middle: np.ndarray
) -> Annotation:
    arrow = dict(arrowstyle="->", color="0.25", linewidth=1, shrinkA=1, shrinkB=4)
    ground = dict(facecolor="white", edgecolor="none", pad=1)
    look = dict(ha="center", va="center", fontsize=_font_size(ax), color="0.15", bbox=ground)
    note = ax.annotate(
        words, point, xytext=middle, arrowprops=arrow, zorder=6, parse_math=False, **look
    )
    note.set_in_layout(False)  # the place was found in the layout as it is
    note.set_gid(NAME)
    note.arrow_patch.set_gid(f"{NAME}-arrow")
    return note


def _is_remark(artist: Artist) -> bool:
    return artist.get_gid() == NAME


def _ink(figure: plt.Figure) -> np.ndarray:
    """(H, W) bool, from the lower left: where something darker than a grid line is drawn, and where legends are."""
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=DOTS, bbox_inches=None)
    width, height = (figure.get_size_inches() * DOTS).astype(int)
    pixels = np.frombuffer(file.getvalue(), np.uint8).reshape(height, width, 4)
    ink = pixels[::-1, :, :3].min(axis=2) < LIGHTEST_INK
    for legend in figure.findobj(Legend):  # its frame is pale
        left, bottom, right, top = DOTS / figure.dpi * legend.get_window_extent().extents
        ink[max(int(bottom), 0) : int(top) + 1, max(int(left), 0) : int(right) + 1] = True
    return ink


def _size(ax: plt.Axes, words: str, scale: float) -> np.ndarray:
    """Width and height of words, in dots, with some room around them."""
    text = ax.text(0, 0, words, fontsize=_font_size(ax), parse_math=False)
    extent = text.get_window_extent()
    text.remove()
    return scale * np.array([extent.width, extent.height]) + 2 * ROOM


def _font_size(ax: plt.Axes) -> float:
    """Points that are as large on a phone as the type of a narrow figure."""
    width, _ = ax.get_figure(root=True).get_size_inches()
    return FONT_SIZE * max(1.0, width / WIDTH) if width <= WIDEST else FONT_SIZE


def _contains(box: np.ndarray, point: np.ndarray) -> bool:
    left, bottom, right, top = box
    return bool(left <= point[0] <= right and bottom <= point[1] <= top)


def _best_place(
    ink: np.ndarray, box: np.ndarray, point: np.ndarray, words: str, size: np.ndarray
) -> Place | None:
    """The free place within the box that is nearest to the point; None if there is none."""
    lower_left = _free(ink, box, np.ceil(size).astype(int))
    middles = lower_left + size / 2
    beside = np.maximum(np.abs(point - middles) - size / 2, 0)
    distance = np.hypot(*beside.T)
    near = (distance >= SHORTEST) & (distance <= LONGEST)
    if not near.any():
        return None
    middles, distance = middles[near], distance[near]
    crossed = _crossed(ink, middles, point, size)
    cost = np.where(crossed <= MOST_CROSSED, distance + CROSSING * crossed, np.inf)
    best = cost.argmin()
    if not np.isfinite(cost[best]):
        return None
    broken = NEXT_LINE * words.count("\n")
    return Place(words, tuple(middles[best]), float(cost[best] + broken))


def _free(ink: np.ndarray, box: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(N, 2) lower left corners of boxes of this size, within a box, that hold no ink."""
    left, bottom, right, top = [*np.ceil(box[:2]).astype(int), *np.floor(box[2:]).astype(int)]
    width, height = size
    sums = np.pad(ink[bottom:top, left:right].cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    if sums.shape[0] <= height or sums.shape[1] <= width:
        return np.empty((0, 2))
    covered = (
        sums[height:, width:]
        - sums[:-height, width:]
        - sums[height:, :-width]
        + sums[:-height, :-width]
    )
    rows, columns = np.nonzero(covered == 0)
    return np.column_stack([columns + left, rows + bottom]).astype(float)


def _crossed(
    ink: np.ndarray, middles: np.ndarray, point: np.ndarray, size: np.ndarray
) -> np.ndarray:
    """Dots of ink on the way from each box to the point, but for those at the point itself."""
    steps = np.linspace(0, 1, 60)[:, None, None]
    way = middles + steps * (point - middles)
    is_outside = (np.abs(way - middles) > size / 2).any(axis=2)
    is_before = np.hypot(*np.moveaxis(way - point, 2, 0)) > SHORTEST
    columns, rows = np.moveaxis(way.astype(int), 2, 0)
    is_ink = ink[rows.clip(0, len(ink) - 1), columns.clip(0, ink.shape[1] - 1)]
    return (is_ink & is_outside & is_before).sum(axis=0)
