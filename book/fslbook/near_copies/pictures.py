"""Pairs of images as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fslcore.errors import InputError
from fslcore.paths import replace_file

from .fingerprints import picture
from .result import Copies
from .thresholds import pixels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = {"bits": "{} bits", "distance": "{:.3f}", "frequencies": "{:.1g}"}


def sheet(copies: Copies, count: int = 6) -> Figure:
    """The pairs of `Copies.examples` as pictures, with their distances; ≠ if their classes differ.

    Parameters
    ----------
    copies : Copies
    count : int
        Pairs per kind.

    Raises
    ------
    InputError
        Features without images; ``count`` below 1.
    """
    if not copies.sources:
        raise InputError(f"sheet: {copies.name} has features, and no pictures to show")
    from matplotlib import pyplot as plt

    kinds = copies.examples(count).groupby("pair", sort=False)
    figure = plt.figure(figsize=(1.7 * count, 1.35 * len(kinds) + 0.1), layout="constrained")
    rows = figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]
    for row, (kind, pairs) in zip(rows, kinds):
        row.suptitle(kind, x=0.01, ha="left", fontsize="medium")
        axes = row.subplots(1, 2 * count)
        for ax in axes:
            ax.axis("off")
        images = pairs[["a", "b"]].to_numpy().ravel()
        for ax, pixels in zip(axes, pixels_of(copies.sources, images)):
            ax.imshow(picture(pixels), cmap="gray", vmin=0, vmax=255)
        for ax, pair in zip(axes[::2], pairs.to_dict("records")):
            ax.set_title(_title(pair), fontsize="small", loc="left")
    return figure


def _title(pair: dict[str, Any]) -> str:
    """The distances of a row of `Copies.examples`; those that are not used are negative, NaN or
    missing.
    """
    words = []
    for measure, form in FORMS.items():
        if pair.get(measure, -1) >= 0:
            words.append(form.format(pair[measure]))
    return ", ".join(words) if pair["same_class"] else f"{', '.join(words)} ≠"


def write_sheet(copies: Copies, path: str | Path, count: int = 6) -> None:
    """Write the picture by `sheet` to a .png, .pdf or .svg."""
    from matplotlib import pyplot as plt

    figure = sheet(copies, count)
    replace_file(Path(path), lambda part: figure.savefig(part, dpi=150))
    plt.close(figure)
