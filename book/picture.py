"""Copy the README's picture from the book: ``python book/picture.py`` writes ``book/_static/signature.svg``.

It is the figure of the complete running example, in the executed chapter *Published tables*.
"""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "book" / "_static" / "signature.svg"
CHAPTER = ROOT / "_build" / "notebooks" / "leaderboards.ipynb"


def picture(chapter):
    """The figure as the text of an SVG file."""
    for cell in json.loads(chapter.read_text("utf-8"))["cells"]:
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == "fig-signature":
            drawings = (output["data"].get("image/svg+xml") for output in cell["outputs"])
            return "".join(next(filter(None, drawings)))
    raise LookupError(f"{chapter} has no figure fig-signature")


if __name__ == "__main__":
    TARGET.write_text(picture(CHAPTER), "utf-8")
