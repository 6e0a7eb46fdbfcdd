"""What executed notebooks hold for other pages: what they glue, and their figures."""

from __future__ import annotations

import ast
import base64
import difflib
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

KEY = r"\{(?:([a-z0-9-]+):)?([a-z]\w*)\}"  # in a verdict: what a chapter glues
ROLE = r"\{glue:text\}`([a-z0-9-]+)::([a-z]\w*)`"  # in a prose page or on a slide
ENDINGS = {"image/svg+xml": ".svg", "image/png": ".png"}


class SiteError(Exception):
    """The sources do not make a site; the message says what to do."""


@dataclass(frozen=True)
class Figure:
    """A figure of a chapter: the file that the site has of it, and what it says to who cannot see it."""

    file: str
    alt: str


def figures(path: Path) -> dict[str, Figure]:
    """The figures of an executed notebook that have a name and an image.

    Their files are named as MyST-NB names them, by the digest of what they hold.

    Raises
    ------
    SiteError
        A figure without a text for who cannot see it.
    """
    found = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        options = cell["metadata"].get("mystnb", {})
        name = options.get("figure", {}).get("name")
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        image = next(((mime, data[mime]) for data in shown for mime in ENDINGS if mime in data), None)
        if name and image:
            alt = options.get("image", {}).get("alt", "").strip()
            if not alt:
                raise SiteError(
                    f"{path.stem}: {name} has no alternative text; its cell says it under mystnb, image, alt"
                )
            text = "".join(image[1])
            data = "\n".join(text.splitlines()).encode() if "svg" in image[0] else base64.b64decode(text)
            found[name] = Figure(hashlib.sha256(data).hexdigest() + ENDINGS[image[0]], alt)
    return found


def glued(path):
    """What an executed notebook glues: its key and text each, as Markdown."""
    found = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            of = output.get("metadata", {}).get("scrapbook")
            if of:
                data = {mime.removeprefix(of["mime_prefix"]): text for mime, text in output["data"].items()}
                plain = "text/markdown" not in data
                text = "".join(data["text/plain" if plain else "text/markdown"])
                # MyST-NB keeps a text in quotes; what it says is no markup.
                found[of["name"]] = re.sub(r"([\\`*_<\[$])", r"\\\1", ast.literal_eval(text)) if plain else text
    return found


def fill(text, values, where, chapter=""):
    """A text with what chapters glue in the place of their keys.

    In a verdict of the ledger ``{key}`` stands for what the item's own chapter glues under this name, ``{chapter:key}``
    for what another does; in a prose page, ``{glue:text}`` reads ``chapter::key``. ``values`` maps the name of each
    executed chapter to what ``glued`` gives; ``where`` is what an error names.
    """

    def value(match):
        of, key = match[1] or chapter, match[2]
        if of not in values:
            raise SiteError(f"{where}: {match[0]}: there is no executed chapter {of}")
        if key not in values[of]:
            near = difflib.get_close_matches(key, values[of], 3) or sorted(values[of]) or ["nothing"]
            raise SiteError(f"{where}: {match[0]}: {of} glues no such key; it glues {', '.join(near)}")
        return values[of][key]

    pattern = KEY if chapter else ROLE
    if chapter and re.search(r"[{}]", re.sub(pattern, "", text)):
        raise SiteError(f"{where}: braces hold a key, or chapter:key: {text}")
    return re.sub(pattern, value, text)
