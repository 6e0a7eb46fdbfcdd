"""What executed notebooks hold for other pages: what they glue, and their figures."""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

from fslbook import notebooks

KEY = r"\{(?:([a-z0-9-]+):)?([a-z]\w*)\}"  # in a verdict: what a chapter glues
SHOWN = r"(?<!`)!\[([^\]\n]*)\]\(([a-z0-9-]+)::([\w-]+)\)"  # a chapter's figure in a prose page; in code, the syntax
ROLE = r"\{glue:text\}`([a-z0-9-]+)::([a-z]\w*)`"  # in a prose page or on a slide
ENDINGS = {"image/svg+xml": ".svg", "image/png": ".png"}


class SiteError(Exception):
    """The sources do not make a site; the message says what to do."""


@dataclass(frozen=True)
class Figure:
    """A figure of a chapter: the file that the site has of it, and what it says to who cannot see it."""

    file: str
    alt: str

    def html(self, link: str, caption: str, home: str = "") -> str:
        """The figure with a link to its chapter; ``home`` leads from the page to the front page."""
        words = f"<figcaption>{caption}</figcaption>" if caption else ""
        image = f'<img src="{home}_images/{self.file}" alt="{html.escape(self.alt)}">'
        return f'<figure><a href="{home}{link}">{image}</a>{words}</figure>'


def figures(path: Path) -> dict[str, Figure]:
    """The figures of an executed notebook that have a name and an image.

    Their files are named as MyST-NB names them, by the digest of what they hold.

    Raises
    ------
    SiteError
        A figure without a text for who cannot see it.
    """
    figures_by_name = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        options = cell["metadata"].get("mystnb", {})
        name = options.get("figure", {}).get("name")
        image = first_image(cell) if name else None
        if image:
            alt = options.get("image", {}).get("alt", "").strip()
            if not alt:
                raise SiteError(
                    f"{path.stem}: {name} has no alternative text; its cell says it under mystnb, image, alt"
                )
            figures_by_name[name] = Figure(image, alt)
    return figures_by_name


def figure_of(figures_of: dict[str, dict[str, Figure]], chapter: str, name: str, page: str):
    """The named figure of a chapter; a `SiteError` that names the page where there is none."""
    if chapter not in figures_of:
        raise SiteError(f"{page}: {chapter}::{name}: there is no executed chapter {chapter}")
    if name not in figures_of[chapter]:
        names = ", ".join(figures_of[chapter]) or "none"
        raise SiteError(
            f"{page}: {chapter}::{name}: {chapter} shows no such figure; it shows {names}"
        )
    return figures_of[chapter][name]


def with_figures(text: str, figures_of: dict[str, dict[str, Figure]], page: str) -> str:
    """A prose page in which ``![words](chapter::figure)`` is the figure of that chapter."""

    def shown(match):
        words, chapter, name = match.groups()
        words = re.sub(r"\\([\\`*_<\[$])", r"\1", words)  # glued into Markdown, shown in HTML
        figure = figure_of(figures_of, chapter, name, page)
        return figure.html(f"{chapter}.html#{name}", html.escape(words))

    return re.sub(SHOWN, shown, text)


def first_image(cell: dict) -> str | None:
    """The name of the file of the first image that a cell shows."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        for kind, ending in ENDINGS.items():
            if kind in data:
                text = "".join(data[kind])
                lines = "\n".join(text.splitlines())
                content = lines.encode() if ending == ".svg" else base64.b64decode(text)
                return hashlib.sha256(content).hexdigest() + ending
    return None


def glued(path):
    """What an executed notebook glues: its key and text each, as Markdown."""
    return notebooks.glued(json.loads(path.read_text("utf-8")))


def judged(path: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """The claims that an executed notebook judges (`fslbook.cells.judge`), by item of the ledger and key of the claim.

    Each is the number of cases in which it holds, and the number of cases.

    Raises
    ------
    SiteError
        An item that is judged twice.
    """
    claims_of_item = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            record = output.get("metadata", {}).get("judged")
            if not record:
                continue
            if record["item"] in claims_of_item:
                raise SiteError(f"{path.stem}: {record['item']} is judged twice")
            claims_of_item[record["item"]] = {
                key: tuple(of) for key, of in record["claims"].items()
            }
    return claims_of_item


def wordings(path: Path) -> list[dict]:
    """The words that depend on numbers in an executed notebook, with these numbers (`fslbook.cells`)."""
    outputs = [
        output
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
    ]
    records = [output.get("metadata", {}).get("wording") for output in outputs]
    return [
        {name: value if name == "words" else float(value) for name, value in record.items()}
        for record in records
        if record
    ]


def fill(text, values, page, chapter=""):
    """A text with what chapters glue in the place of their keys.

    In a verdict of the ledger ``{key}`` stands for what the item's own chapter glues under this name, ``{chapter:key}``
    for what another does; in a prose page, ``{glue:text}`` reads ``chapter::key``. ``values`` maps the name of each
    executed chapter to what ``glued`` gives; ``page`` is what an error names.
    """

    def value(match):
        name, key = match[1] or chapter, match[2]
        if name not in values:
            raise SiteError(f"{page}: {match[0]}: there is no executed chapter {name}")
        if key not in values[name]:
            keys = (
                difflib.get_close_matches(key, values[name], 3)
                or sorted(values[name])
                or ["nothing"]
            )
            raise SiteError(
                f"{page}: {match[0]}: {name} glues no such key; it glues {', '.join(keys)}"
            )
        return values[name][key]

    pattern = KEY if chapter else ROLE
    if chapter and re.search(r"[{}]", re.sub(pattern, "", text)):
        raise SiteError(f"{page}: braces hold a key, or chapter:key: {text}")
    return re.sub(pattern, value, text)
