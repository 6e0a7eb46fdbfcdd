"""What a drawn figure shows: the axes of Matplotlib's SVG files and the numbers that stand on them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

SVG = "{http://www.w3.org/2000/svg}"
PICTURE_WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ')
TYPE_SIZE = re.compile(
    r"scale\(([\d.]+) -"
)  # of outlines of letters, which are drawn 100 units high
POINT = re.compile(r"([-\d.]+) ([-\d.]+)")
#: Between which limits the numbers of an axis lie, by a pattern of its label.
LIMITS = {r"%|\bpercent\b": (0, 100), r"^(?!implied).*\bcorrelation\b": (-1, 1)}
NOT_DATA = ("matplotlib.axis_", "text_", "legend_", "remark")  # groups that show no numbers
ROUNDING = 0.0005  # of coordinates in the file, as a part of the range


@dataclass(frozen=True)
class Axis:
    """An axis of a picture, and the numbers drawn along it."""

    label: str
    low: float
    high: float

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers all that is drawn must lie."""
        for pattern, limits in LIMITS.items():
            if re.search(pattern, self.label):
                return limits
        return -np.inf, np.inf

    def outside(self) -> str:
        """What is wrong with a share that is drawn below 0 or above 100, or nothing."""
        low, high = self.limits
        room = ROUNDING * (high - low)
        if self.low >= low - room and self.high <= high + room:
            return ""
        return f"'{self.label}' is drawn from {self.low:.2f} to {self.high:.2f}"


def pictures(notebook: Path) -> Iterator[tuple[str, str]]:
    """(name of the figure or number of the cell, SVG) of each picture of an executed notebook."""
    for number, cell in enumerate(json.loads(notebook.read_text("utf-8"))["cells"]):
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name", f"cell {number}")
        for output in cell.get("outputs", []):
            data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
            if "image/svg+xml" in data:
                yield name, data["image/svg+xml"]
            for text in re.findall(
                r"data:image/svg\+xml;base64,([^\"]+)", data.get("text/html", "")
            ):
                yield name, base64.b64decode(text).decode()


def faults(notebook: Path) -> list[str]:
    """Shares that a figure draws below 0 or above 100, and correlations outside -1 to 1."""
    return [
        f"{name}: {axis.outside()}"
        for name, svg in pictures(notebook)
        for axis in axes_of(svg)
        if axis.outside()
    ]


def axes_of(svg: str) -> list[Axis]:
    """The axes with numbers of a picture. One without a label has that of its row, column or figure."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.fromstring(svg, ElementTree.XMLParser(target=builder))
    panels = [g for g in root.iter(f"{SVG}g") if re.fullmatch(r"axes_\d+", g.get("id", ""))]
    panels = [g for g in panels if any(named(child, "patch_") for child in g)]  # with a frame
    whole = " ".join(words(g) for g in root.findall(f"{SVG}g/{SVG}g") if named(g, "text_"))
    found = []
    for direction in (0, 1):
        sides = [side(panel, direction) for panel in panels]
        labels = {label for _, _, label, _ in sides if label}
        for panel, (border, ticks, label, other) in zip(panels, sides):
            if len(ticks) < 2:
                continue
            in_line = [
                text for _, _, text, ends in sides if text and np.allclose(ends, other, atol=0.1)
            ]
            only = [*labels] if len(labels) == 1 else [whole]
            label = label or [*in_line, *only][0]
            position, value = np.array(ticks).T
            slope, start = np.polyfit(position, value, 1)
            if not np.allclose(slope * position + start, value, atol=0.02 * np.ptp(value)):
                continue  # a logarithmic axis
            at = coordinates(panel, direction, border)
            if len(at):
                ends = slope * at + start
                found.append(Axis(label, ends.min(), ends.max()))
    return found


def smallest_type(svg: str, width: float) -> float:
    """The size of the smallest letters of a picture that is shown at this width; infinite without any."""
    sizes = [100 * float(size) for size in TYPE_SIZE.findall(svg)]
    return min(sizes, default=np.inf) * width / float(PICTURE_WIDTH.search(svg)[1])


def named(group: ElementTree.Element, start: str) -> bool:
    """Whether a group of the file is of this kind."""
    return group.get("id", "").startswith(start)


def words(group: ElementTree.Element) -> str:
    """The text of a group, which Matplotlib writes as comments beside the outlines of its letters."""
    return " ".join(c.text.strip() for c in group.iter() if c.tag is ElementTree.Comment)


def points(group: ElementTree.Element, direction: int) -> list[float]:
    """The coordinates of paths and marks."""
    found = []
    for part in group.iter():
        if part.tag == f"{SVG}path" and part.get("id") is None:
            found += [float(pair[direction]) for pair in POINT.findall(part.get("d", ""))]
        elif part.tag == f"{SVG}use" and part.get("x"):
            found.append(float(part.get("xy"[direction])))
    return found


def side(panel: ElementTree.Element, direction: int) -> tuple[tuple, list, str, tuple]:
    """(ends of the panel, (position, number) of its ticks, label, its ends in the other direction)."""
    ground = next(g for g in panel.findall(f"{SVG}g") if named(g, "patch_"))
    border, other = (
        (min(along), max(along))
        for along in (points(ground, d) for d in (direction, 1 - direction))
    )
    axes = [g for g in panel.findall(f"{SVG}g") if named(g, "matplotlib.axis_")]
    if len(axes) <= direction:
        return border, [], "", other
    ticks, label = [], []
    for group in axes[direction].findall(f"{SVG}g"):
        if named(group, "text_"):
            label.append(words(group))
            continue
        text = words(group).replace("−", "-")
        at = points(group, direction)
        if at and re.fullmatch(r"[-+]?[\d.]+", text):
            ticks.append((at[0], float(text)))
    return border, ticks, " ".join(label), other


def coordinates(
    panel: ElementTree.Element, direction: int, border: tuple[float, float]
) -> np.ndarray:
    """Coordinates of lines, bars and marks; what ends at the panel's border, such as its frame, is left out."""
    parts = [
        group
        for group in panel.findall(f"{SVG}g")
        if not any(named(group, kind) for kind in NOT_DATA)
    ]
    at = np.array([x for group in parts for x in points(group, direction)])
    return at[~np.isclose(at[:, None], border, atol=0.02).any(axis=1)] if len(at) else at
