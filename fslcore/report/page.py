"""The page of a report, one HTML file; tables and figures as files."""

from __future__ import annotations

import base64
import io
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from .. import __version__
from ..errors import visible
from ..paths import replace_file
from . import figure, words

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

    from .results import Results

MOST_ROWS = 200  # of a table on the page
ENDINGS = ("pdf", "png", "svg")
LATEX_SIGNS = str.maketrans(
    {
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "−": "$-$",
        "∞": r"$\infty$",
        "<": "$<$",
    }
)


@cache
def template() -> Template:
    """The page's template; every value is escaped."""
    from jinja2 import Environment, PackageLoader

    return Environment(loader=PackageLoader("fslcore.report", "."), autoescape=True).get_template(
        "page.html.j2"
    )


def write(results: Results, path: Path, title: str) -> None:
    """Write the page."""
    text = template().render(title=visible(title), whole_page=True, **content(results))
    replace_file(path, lambda part: part.write_text(text, "utf-8"))


def fragment(results: Results) -> str:
    """The page without its head, to be shown in a notebook."""
    return template().render(title="", whole_page=False, **content(results))


def content(results: Results) -> dict[str, object]:
    """What the template shows."""
    picture = figure.draw(results)
    panels = [figure.draw(results, [panel]) for panel in figure.panels(results)]
    methods = words.method_table(results)
    pairs = words.pair_table(results)
    return {
        "sentences": list(results.verdicts["sentence"]) or [words.single_sentence(results)],
        "applies": results.applies,
        "readings": words.readings_with_options(results),
        "cautions": results.cautions,
        "panels": [
            svg_text(panel, name)
            for panel, name in zip(panels, figure.panels(results), strict=True)
        ],
        "png": base64.b64encode(image_bytes(picture, "png")).decode(),
        "pdf": base64.b64encode(image_bytes(picture, "pdf")).decode(),
        "description": figure_text(results),
        "paper": words.paper_sentence(results),
        "latex": latex(methods),
        "markdown": markdown(methods),
        "methods": rows_of(methods),
        "pairs": rows_of(pairs.head(MOST_ROWS)),
        "more_pairs": max(len(pairs) - MOST_ROWS, 0),
        "matrices": matrices(results),
        "settled": rows_of(settle_table(results)),
        "frames": {name: rows_of(frame.round(4)) for name, frame in results.frames.items()},
        "reading": results.reading,
        "assumptions": results.assumptions,
        "tests": sorted(set(results.pairs["test"])) if "test" in results.pairs else [],
        "version": __version__,
        "level": f"{100 * results.options.level:g} %",
        "count": len(results.pairs),
    }


def rows_of(table: pd.DataFrame) -> dict[str, list]:
    """A frame as the names of its columns and its rows of text."""
    return {
        "names": [str(name).replace("_", " ") for name in table],
        "rows": table.astype(str).to_numpy().tolist(),
    }


def figure_text(results: Results) -> str:
    """What the figure shows, for readers who do not see it."""
    return (
        f"Left, the means of {results.methods['method'].nunique()} methods with their intervals, "
        "the best on top. "
        "Right, differences with their intervals and a line at 0; significant ones are filled "
        "and starred. " + " ".join(results.verdicts["sentence"].head(3))
    )


def matrices(results: Results) -> dict[str, str]:
    """By place, all pairs as a picture, where there are many methods."""
    pictures = {}
    for (place, target), part in results.methods.groupby(["place", "target"], sort=False):
        if len(part) >= figure.MATRIX_FROM and results.options.reference is None:
            head = ", ".join(text for text in (place, target) if text)
            pictures[head] = svg_text(
                figure.draw_matrix(results, place, target), f"matrix{len(pictures)}"
            )
    return pictures


def settle_table(results: Results) -> pd.DataFrame:
    """Open pairs with the number of further units that would settle them."""
    pairs = results.pairs
    if "more_units" not in pairs or not (pairs["more_units"] > 0).any():
        return pd.DataFrame()
    open_pairs = pairs[pairs["more_units"] > 0].sort_values("more_units").head(MOST_ROWS)
    units = words.plural(open_pairs["unit"].iloc[0])
    table = words.placed(open_pairs)
    table["pair"] = open_pairs["a"] + f" {words.MINUS} " + open_pairs["b"]
    table["difference"] = open_pairs["difference"].map(words.signed)
    table[f"{units} now"] = open_pairs["n"].map("{:,.0f}".format)
    table[f"more {units}"] = open_pairs["more_units"].map("{:,.0f}".format)
    return table


def svg_text(picture: Figure, prefix: str) -> str:
    """A figure as SVG whose names begin with a prefix, so that a page may hold several."""
    text = image_bytes(picture, "svg").decode()
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)


def image_bytes(picture: Figure, ending: str) -> bytes:
    """A figure as the bytes of a file; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    with matplotlib.rc_context({"svg.hashsalt": "fslcore", "svg.fonttype": "path"}):
        picture.savefig(buffer, format=ending, dpi=150, metadata=dates[ending])
    raw = buffer.getvalue()
    return raw[raw.index(b"<svg") :] if ending == "svg" else raw


def latex(table: pd.DataFrame) -> str:
    """A table for LaTeX, with the package booktabs."""
    signs = table.astype(str).map(lambda cell: cell.translate(LATEX_SIGNS))
    lines = [" & ".join(str(name).translate(LATEX_SIGNS) for name in table) + r" \\"]
    lines += [" & ".join(row) + r" \\" for row in signs.to_numpy()]
    layout = "l" * table.shape[1]
    head = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"]) + "\n"


def markdown(table: pd.DataFrame) -> str:
    """A table for Markdown."""
    rows = [list(map(str, table)), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |\n" for row in rows
    )


def write_tables(results: Results, folder: Path) -> list[Path]:
    """`Results.write_tables`."""
    tables = {
        "methods": words.method_table(results),
        "pairs": words.pair_table(results),
        **results.frames,
    }
    texts = {}
    for name, table in tables.items():
        if len(table):
            stem = name.replace(" ", "-")
            texts[folder / f"{stem}.tex"] = latex(table)
            texts[folder / f"{stem}.md"] = markdown(table)
    texts[folder / "sentence.md"] = words.paper_sentence(results) + "\n"
    for path, text in texts.items():
        replace_file(path, lambda part, text=text: part.write_text(text, "utf-8"))
    return list(texts)


def write_figures(results: Results, folder: Path) -> list[Path]:
    """`Results.write_figures`."""
    picture = figure.draw(results)
    paths = [folder / f"report.{ending}" for ending in ENDINGS]
    for path in paths:
        raw = image_bytes(picture, path.suffix[1:])
        replace_file(path, lambda part, raw=raw: part.write_bytes(raw))
    return paths
