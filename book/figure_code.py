"""Below each figure of a chapter, where its code is: the functions of its cell, and the source of those that draw.

The cell itself stands, folded, above the figure. What it calls is found in the sources, as for the links of the API
reference (`uses`); nothing is run. A function that draws several figures of a page has its source below the first.

``python book/figure_code.py`` prints how many lines of code the chapters show, fold and leave out.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

from dependencies import CODE, SourceTree

DRAWN = {"Figure", "Axes", "HTML"}  # in what a function returns
FOLDED, REMOVED = {"hide-input", "hide-cell", "parameters"}, {"remove-cell", "remove-input"}


def add_code(path: Path, sources: SourceTree) -> None:
    """Add a folded cell with the code of each figure to an executed notebook."""
    book = json.loads(path.read_text("utf-8"))
    imports = "\n".join(
        "".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"
    )
    cells, shown = [], {}
    for cell in book["cells"]:
        cells.append(cell)
        figure = cell["metadata"].get("mystnb", {}).get("figure")
        if cell["cell_type"] == "code" and figure:
            functions = called("".join(cell["source"]), path.stem, imports, sources)
            text = _dropdown(functions, figure.get("name", ""), shown, sources)
            if text:
                identity = f"code-{len(cells)}"
                cells.append(
                    {"cell_type": "markdown", "id": identity, "metadata": {}, "source": text}
                )
    book["cells"] = cells
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


def called(code: str, chapter: str, imports: str, sources: SourceTree) -> list[str]:
    """Full names of functions that a cell's code calls: those that draw, then others of `fslbook`."""
    names = [n for n in sources.taken(code, chapter, imports=imports) if definition(n, sources)]
    drawing = sorted(name for name in names if _draws(name, sources))
    others = sorted(name for name in names if name.startswith("fslbook.") and name not in drawing)
    return drawing + others


def _dropdown(functions: list[str], figure: str, shown: dict[str, str], sources: SourceTree) -> str:
    """What is folded below a figure; '' if its cell draws by itself. ``shown`` gets the figure of each source."""
    drawing = [name for name in functions if _draws(name, sources)]
    if not drawing:
        return ""
    parts = [f":::{{dropdown}} Code of this figure: `{file_of(drawing[0], sources)}`"]
    parts += [":class-container: figure-code no-search", ""]
    for name in functions:
        where = f"`{name}`, in `{file_of(name, sources)}`, line {definition(name, sources).lineno}"
        if name not in drawing:
            parts += [f"{where}, prepares what is drawn.", ""]
        elif name in shown:
            parts += [f"{where}: see the code below {{numref}}`{shown[name]}`.", ""]
        else:  # without colours, which would be four fifths of its bytes on the site
            parts += [f"{where}:", "", "````text", source(name, sources), "````", ""]
            if figure:
                shown[name] = figure
    return "\n".join([*parts, ":::"])


def source(name: str, sources: SourceTree) -> str:
    """A function's source as it stands in its file."""
    node = definition(name, sources)
    lines = sources.files[name.rpartition(".")[0]].read_text("utf-8").splitlines()
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(lines[start - 1 : node.end_lineno])


@cache
def definition(name: str, sources: SourceTree) -> ast.FunctionDef | None:
    """The definition of a function; None for other things."""
    module, _, short = name.rpartition(".")
    tree = ast.parse(sources.files[module].read_text("utf-8"))
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == short]
    return found[0] if found else None


def _draws(name: str, sources: SourceTree) -> bool:
    """Whether a function returns a figure, axes or a picture, by its annotation."""
    returns = definition(name, sources).returns
    words = re.findall(r"\w+", ast.unparse(returns)) if returns else []
    return not DRAWN.isdisjoint(words)


def file_of(name: str, sources: SourceTree) -> str:
    """The file of a function, as its path in the repository."""
    return sources.files[name.rpartition(".")[0]].relative_to(sources.root).as_posix()


def lines_of_code(chapters: list[Path]) -> Counter[str]:
    """How many lines of the chapters' code cells are visible, folded, and removed from the page."""
    counts: Counter[str] = Counter()
    for path in chapters:
        text = path.read_text("utf-8")
        for match in CODE.finditer(text):
            head = text[match.start() : match.start(1)]
            kind = "removed" if any(tag in head for tag in REMOVED) else "folded"
            is_seen = not any(tag in head for tag in FOLDED | REMOVED)
            lines = [line for line in match[1].splitlines() if line.strip()]
            counts["visible" if is_seen else kind] += len(lines)
    return counts


if __name__ == "__main__":
    for kind, count in lines_of_code(sorted(Path("notebooks").glob("*.md"))).items():
        print(f"{kind}: {count:,}")
