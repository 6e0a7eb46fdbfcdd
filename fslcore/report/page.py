"""The page of a report, one HTML file; tables and figures as files."""

from __future__ import annotations

import base64
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from .. import __version__
from ..errors import visible
from ..paths import check_output, replace_file
from . import figure, words
from .conclusions import Conclusions
from .next_steps import next_steps
from .samples import counted

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

MOST_ROWS = 200  # of a table on the page
ENDINGS = ("pdf", "png", "svg")
PNG_COLORS = 64
LONGEST_STEM = 60  # characters of a file's name, of at most 4 bytes each
NO_BREAK_SPACE = "\u00a0"
INSIDE_NUMBERS = re.compile(r"(?<=\d) (?=[%±]|points?\b)|(?<=[=<±]) (?=\d)|(?<=\bp) (?=[=<])")
LATEX_SIGNS = {"±": r"$\pm$", "−": "$-$", "∞": r"$\infty$", "<": "$<$"}


@cache
def template() -> Template:
    """The page's template; every value is escaped."""
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("fslcore.report", ".")
    environment = Environment(loader=loader, autoescape=True)
    environment.filters["unbroken"] = unbroken
    return environment.get_template("page.html.j2")


def unbroken(text: str) -> str:
    """Text whose numbers stay on one line with their unit or sign: '80 %', 'p = 0.03'."""
    return INSIDE_NUMBERS.sub(NO_BREAK_SPACE, text)


def write(results: Conclusions, path: Path, title: str) -> None:
    """Write the page."""
    check_output(path, inputs=results.inputs)
    text = html(results, visible(title))
    replace_file(path, lambda part: part.write_text(text, "utf-8"))


def html(results: Conclusions, title: str | None = None) -> str:
    """The page; without a title what stands in it, to be shown in a notebook."""
    return template().render(title=title, whole_page=title is not None, **content(results))


def content(results: Conclusions) -> dict[str, object]:
    """What the template shows beside the attributes of the results."""
    picture = figure.draw(results)
    methods = words.method_table(results)
    sentences = words.answers(results)
    return {
        "results": results,
        "sentences": sentences,
        "more_verdicts": counted(len(sentences) - words.MOST_LINES, "more verdict"),
        "notes": words.notes(results),
        "has_bars": words.has_bars(results),
        "comparisons": words.comparisons(results),
        "paper_sentence": words.paper_sentence(results),
        "pairs": words.pair_table(results),
        "panels": [
            svg_text(figure.draw(results, [panel]), panel) for panel in figure.panels(results)
        ],
        "files": {
            ending: base64.b64encode(image_bytes(picture, ending)).decode()
            for ending in ("pdf", "png")
        },
        "latex": latex(methods),
        "markdown": markdown(methods),
        "methods": methods,
        "most_rows": MOST_ROWS,
        "matrices": matrices(results),
        "steps": next_steps(results),
        "version": __version__,
    }


def matrices(results: Conclusions) -> dict[str, str]:
    """By place, all pairs as a picture, where there are many methods."""
    pictures: dict[str, str] = {}
    pairs_of_place = dict(iter(results.pairs.groupby(["place", "target"])))
    for place, methods in results.methods.groupby(["place", "target"], sort=False)["method"]:
        if len(methods) >= figure.MATRIX_FROM and results.options.reference is None:
            picture = figure.draw_matrix(methods, pairs_of_place[place])
            head = ", ".join(filter(None, place))
            pictures[head] = svg_text(picture, f"matrix{len(pictures)}")
    return pictures


def svg_text(picture: Figure, prefix: str) -> str:
    """A figure as SVG whose names begin with a prefix, so that a page may hold several."""
    text = re.sub(r"<!--.*?-->|\n *", "", image_bytes(picture, "svg").decode())
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)


def image_bytes(picture: Figure, ending: str) -> bytes:
    """A figure as the bytes of a file; the same figure gives the same bytes."""
    import matplotlib
    from PIL import Image

    buffer = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with matplotlib.rc_context({"svg.hashsalt": "fslcore", "svg.fonttype": "path"}):
        picture.savefig(buffer, format=ending, dpi=150, metadata=dates[ending])
    if ending == "png":  # a palette takes a third of the bytes
        image = Image.open(buffer).convert("RGB").quantize(PNG_COLORS)
        buffer = io.BytesIO()
        image.save(buffer, "png", optimize=True)
    raw = buffer.getvalue()
    return raw[raw.index(b"<svg") :] if ending == "svg" else raw


def latex(table: pd.DataFrame) -> str:
    """A table for LaTeX, with the package booktabs."""
    text = table.astype(str).to_latex(index=False, escape=True)
    for sign, command in LATEX_SIGNS.items():
        text = text.replace(sign, command)
    return text


def markdown(table: pd.DataFrame) -> str:
    """A table for Markdown."""
    rows = [list(map(str, table)), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |\n" for row in rows
    )


def write_tables(results: Conclusions, folder: Path) -> list[Path]:
    """`Results.write_tables`."""
    tables = {
        "methods": words.method_table(results),
        "pairs": words.pair_table(results),
        **results.frames,
    }
    shown_tables = {name: table for name, table in tables.items() if len(table)}
    texts = {"sentence.md": words.paper_sentence(results) + "\n"}
    for stem, table in zip(file_stems(shown_tables), shown_tables.values(), strict=True):
        texts[f"{stem}.tex"] = latex(table)
        texts[f"{stem}.md"] = markdown(table)
    contents = {name: text.encode() for name, text in texts.items()}
    return write_files(contents, folder, results.inputs, "tables")


def write_files(
    contents: dict[str, bytes], folder: Path, inputs: Sequence[str], option: str
) -> list[Path]:
    """Write files in a folder, none of which may be an input; returns their paths."""
    paths = [folder / name for name in contents]
    for path in paths:
        check_output(path, inputs=inputs, name=option)
    for path, raw in zip(paths, contents.values(), strict=True):
        replace_file(path, partial(Path.write_bytes, data=raw))
    return paths


def file_stems(titles: Iterable[str]) -> list[str]:
    """Names of files for tables, in letters, digits and a few signs; no two are the same.

    A title may hold the name of a data set from a file, which is never a part of a path.
    """
    stems = []
    taken = {"sentence"}
    for title in titles:
        letters = unicodedata.normalize("NFC", title)
        stem = re.sub(r"[^\w.,-]+", "-", letters)[:LONGEST_STEM].strip("-.,") or "table"
        number = 1
        unique = stem
        while unique.casefold() in taken:
            number += 1
            unique = f"{stem}-{number}"
        taken.add(unique.casefold())
        stems.append(unique)
    return stems


def write_figures(results: Conclusions, folder: Path) -> list[Path]:
    """`Results.write_figures`."""
    picture = figure.draw(results)
    contents = {f"report.{ending}": image_bytes(picture, ending) for ending in ENDINGS}
    return write_files(contents, folder, results.inputs, "figures")
