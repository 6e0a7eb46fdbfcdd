"""The page with the code of each item of the ledger: the cells that make it, and the functions that they call."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from dependencies import CODE, SourceTree
from figure_code import definition, file_of
from ledger_page import PAPERS

ANCHOR = re.compile(r"^\(([\w-]+)\)=\s*$", re.MULTILINE)
HEADING = re.compile(r"^#+ ", re.MULTILINE)
INTRODUCTION = (
    "The code of every item of the {doc}`ledger`: the cells of its chapter that make the table or the figure here, and"
    " the functions of `fslbook` that these cells call, by their files in the repository. Below a figure of a chapter,"
    " its functions are folded. A cell uses names of the cells above it; {doc}`run-chapter` explains how to run a"
    " chapter with a change. Functions of `fslcore` are in the {doc}`api`."
)


def cells_of_item(cells: list[dict], name: str, names: set[str]) -> list[str]:
    """The source of the cells of an executed chapter that show an item of the ledger.

    Parameters
    ----------
    cells : list of dict
        Of the executed notebook.
    name : str
        Of the item: the name of its figure, or the anchor ``(name)=`` above its cells. Those up to the next heading
        or item are its own.
    names : set of str
        Of all items.
    """
    figure_names = [_figure_name(cell) for cell in cells]
    if name in figure_names:
        return ["".join(cells[figure_names.index(name)]["source"])]
    anchors = [_anchors(cell) for cell in cells]
    places = [place for place, here in enumerate(anchors) if name in here]
    found: list[str] = []
    for place in range(places[0] + 1, len(cells)) if places else ():
        cell, source = cells[place], "".join(cells[place]["source"])
        if found and (anchors[place] & names or _is_heading(cell)):
            break
        if _shows(cell) and figure_names[place] not in names:
            found.append(source)
    return found


def _figure_name(cell: dict) -> str | None:
    return cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")


def _anchors(cell: dict) -> set[str]:
    is_text = cell["cell_type"] == "markdown"
    return set(ANCHOR.findall("".join(cell["source"]))) if is_text else set()


def _is_heading(cell: dict) -> bool:
    return cell["cell_type"] == "markdown" and bool(HEADING.search("".join(cell["source"])))


def _shows(cell: dict) -> bool:
    """Whether a cell shows a figure or a table."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    return any(
        {"image/svg+xml", "image/png"} & set(kinds)
        or re.search("<(?:table|img)", "".join(kinds.get("text/html", "")))
        for kinds in data
    )


def called(code: str, chapter: str, of_chapter: str, sources: SourceTree) -> list[str]:
    """The functions of `fslbook` that code of a chapter calls, with their files, given all code of the chapter."""
    names = sorted(sources.taken(code, chapter, imports=of_chapter))
    functions = {name: definition(name, sources) for name in names if name.startswith("fslbook.")}
    return [
        f"`{name}` in `{file_of(name, sources)}`, line {function.lineno}"
        for name, function in functions.items()
        if function
    ]


def fenced(code: str) -> list[str]:
    """The lines of a block of code, without colours, which take more room than the code."""
    return ["````{code-block} text", ":class: no-search", "", code.strip("\n"), "````", ""]


def render(
    items: list[dict], chapters: dict, site: Path, sources: SourceTree
) -> tuple[str, set[str]]:
    """The page as MyST, and the items whose code it has.

    Parameters
    ----------
    items : list of dict
        Of the ledger.
    chapters : dict
        By name of each chapter in the site, ``(title, anchors)``.
    site : Path
        With the executed notebooks.
    sources : SourceTree
        Of the repository.
    """
    names, with_code = {item["id"] for item in items}, set()
    lines = ["# Code of the tables and figures", "", INTRODUCTION, ""]
    for paper, (title, _) in PAPERS.items():
        of_paper = [
            item for item in items if item["paper"] == paper and item["chapter"] in chapters
        ]
        lines += [f"## {title}", ""] if of_paper else []
        for item in of_paper:
            path = site / f"{item['chapter']}.ipynb"
            cells = cells_of_item(json.loads(path.read_text("utf-8"))["cells"], item["id"], names)
            if cells:
                with_code.add(item["id"])
                lines += _section(item, chapters[item["chapter"]], cells, sources)
    return "\n".join(lines) + "\n", with_code


def _section(item: dict, chapter: tuple, cells: list[str], sources: SourceTree) -> list[str]:
    """The lines of an item: its place, its cells, and the functions that these call."""
    name, (title, anchors) = item["chapter"], chapter
    notebook = (sources.root / "notebooks" / f"{name}.md").read_text("utf-8")
    anchor = f"#{item['id']}" if item["id"] in anchors else ""
    link = f'<a class="internal" href="{name}.html{anchor}">{html.escape(title)}</a>'
    lines = [
        f"### {item['item']}",
        "",
        f'<span id="{item["id"]}"></span>{link}: {item["what"]}.',
        "",
    ]
    for cell in cells:
        line = notebook.count("\n", 0, max(0, notebook.find(cell.strip("\n")))) + 1
        lines += [f"`notebooks/{name}.md`, line {line}:", "", *fenced(cell)]
    functions = called("\n".join(cells), name, "\n".join(CODE.findall(notebook)), sources)
    return [*lines, "Functions:", "", *(f"- {of}" for of in functions), ""] if functions else lines
