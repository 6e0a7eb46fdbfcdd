"""Executed chapters as notebooks for Jupyter: plain Markdown, and the solutions in a copy of their own.

The chapters are written for the site, in MyST. Jupyter shows its directives and roles as they are typed, and so the
solutions too. Here values, titles and authors take the place of roles, and directives become quotations.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fslcore.errors import InputError, warn
from fslcore.paths import IN_CHECKOUT, ROOT, check_output, readable, replace_file, scratch

from . import notebooks
from .paths import NOTEBOOKS, PROFILES, REFERENCES

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["plain", "read", "write"]

SOLUTIONS = "solutions"  # the folder of the copies that have them
_DIRECTIVE = re.compile(r"(`{3,})\{([\w:-]+)\}[ \t]*(.*)")
_FENCE = re.compile(r"(`{3,})[^`]*")
_OPTION = re.compile(r":[\w-]+:.*")
_ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
_TITLED = re.compile(r"(.+?)\s*<(.+)>", re.DOTALL)  # a role with words of its own
_LABEL = re.compile(r"^\(([\w-]+)\)=\n+", re.MULTILINE)
_LABELLED = re.compile(_LABEL.pattern + r"#+ (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"^% .*\n", re.MULTILINE)
_DEFINITION = re.compile(r"^(\S.*)\n(?:: |  )(?=\S)", re.MULTILINE)
_FORM = re.compile(r'<div class="fsl-lab".*?</div>', re.DOTALL)
_LOADING = re.compile(r"<(?:link|script)\b[^>]*>(?:</script>)?\n?")
_LOCAL_LINK = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>')
_FORM_WORDS = "*An interactive form or picture stands here on the site.*"
_SOLUTION_ENDS = re.compile(
    r"^(`{3,})\{solution-(start|end)\}.*?\n\1$\n*", re.MULTILINE | re.DOTALL
)
_ASSIGNMENT = re.compile(r"^(\w+)(: .+?) = .+?(?=  # )", re.MULTILINE)
_HIDING_TAGS = {"hide-input", "hide-cell", "remove-input"}
_REMOVING_TAGS = {"remove-cell", "injected-parameters"}


def read(source: str | Path) -> NotebookNode:
    """An executed chapter, by name or from a file that ``fslbook run`` wrote.

    Parameters
    ----------
    source : str or path
        By its name, a chapter is the one that ``make book`` has executed. If there is none, it is executed now.

    Raises
    ------
    InputError
        Unknown notebook, or a file that is no executed notebook.
    """
    import nbformat

    path = Path(source)
    if path.suffix != ".ipynb":
        name = notebooks.source(str(source)).stem
        path = ROOT / "_build" / "notebooks" / f"{name}.ipynb"
        if not (IN_CHECKOUT and path.is_file()):
            settings = notebooks.profile(PROFILES / "quick.yml").get(name, {})
            with scratch() as folder:
                path = notebooks.run(name, settings, folder / f"{name}.ipynb")
                return nbformat.read(path, as_version=4)
    with readable("notebook", path, "an executed notebook"):
        notebook = nbformat.read(path, as_version=4)
    if "papermill" not in notebook.metadata:
        raise InputError(f"notebook: {path} was not executed by fslbook run or make book")
    return notebook


def write(source: str | Path, folder: str | Path) -> list[Path]:
    """Write a chapter for Jupyter, and once more with its solutions, if it has any, into the folder ``solutions``.

    A file that exists is kept, with a note: somebody may have worked in it.

    Parameters
    ----------
    source : str or path
        As for `read`.
    folder : str or path
        The copy with solutions goes into the folder ``solutions`` in it.

    Returns
    -------
    list of paths
        The notebook, and then the one with solutions.
    """
    import nbformat

    name = Path(source).stem
    path = check_output(Path(folder) / f"{name}.ipynb")
    path_of_solutions = check_output(Path(folder) / SOLUTIONS / f"{name}.ipynb")
    executed = read(source)
    contents = {path: plain(executed, name)}
    if has_solutions(executed):
        contents[path_of_solutions] = plain(executed, name, solutions=True)
    for file, content in contents.items():
        if file.exists():
            warn(f"{file} exists and is kept; delete or rename it to get a new one")
        else:
            replace_file(file, lambda part, content=content: nbformat.write(content, part))
    return list(contents)


def has_solutions(notebook: NotebookNode) -> bool:
    """Whether a chapter as `read` returns it has solutions of exercises."""
    return any(re.search(r"^`{3,}\{solution", cell.source, re.MULTILINE) for cell in notebook.cells)


def plain(notebook: NotebookNode, name: str, solutions: bool = False) -> NotebookNode:
    """A notebook in plain Markdown of an executed chapter.

    Cells that only compute numbers for the text are left out, and the code of figures and tables is folded.

    Parameters
    ----------
    notebook : NotebookNode
        As `read` returns it.
    name : str
        Of the chapter.
    solutions : bool
        Whether to include its solutions.
    """
    import nbformat

    text = _Text(name, notebooks.glued(notebook), solutions)
    settings = notebook.metadata["papermill"]["parameters"]
    cells = [nbformat.v4.new_markdown_cell(_first_words(name, solutions, has_solutions(notebook)))]
    for cell in _without_solutions(notebook.cells) if not solutions else notebook.cells:
        if _REMOVING_TAGS & set(cell.metadata.get("tags", [])):
            continue
        if cell.cell_type == "code":
            cells.append(_code_cell(cell, settings))
            captions = text.captions(cell.metadata)
        else:
            captions = [text.plain(cell.source)]
        cells += [nbformat.v4.new_markdown_cell(words) for words in captions if words.strip()]
    if text.cited:
        cells.append(nbformat.v4.new_markdown_cell(text.references()))
    cells[:2] = reversed(cells[:2])  # the chapter's title comes first
    for number, cell in enumerate(cells):
        cell.id = f"{name}-{number}"[-64:]  # the same at each writing
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _first_words(name: str, solutions: bool, solved: bool) -> str:
    words = (
        "> An executed copy of the chapter for Jupyter. The numbers in its text are those of the parameters in the "
        "first code cell. If you change these and run the cells, tables and figures change, and the text does not: "
        f"`fslbook run {name} -p NAME VALUE` makes a copy with all numbers."
    )
    if solutions:
        return f"{words} With solutions."
    return f"{words} Solutions are in `{SOLUTIONS}/{name}.ipynb`." if solved else words


def _without_solutions(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The cells that are not between the start and the end of a solution, and the text outside of both."""
    result, is_solution = [], False
    for cell in map(deepcopy, cells):
        parts = _SOLUTION_ENDS.split(cell.source) if cell.cell_type == "markdown" else [cell.source]
        outside = "" if is_solution else parts[0]
        for end, following in zip(parts[2::3], parts[3::3]):
            is_solution = end == "start"
            outside += "" if is_solution else following
        cell.source = outside
        if outside:
            result.append(cell)
    return result


def _code_cell(cell: NotebookNode, settings: dict) -> NotebookNode:
    """A code cell without what is for the site; the one of the parameters with the values of the run."""
    import nbformat

    tags = set(cell.metadata.get("tags", []))
    source = cell.source
    if "parameters" in tags:
        source = _ASSIGNMENT.sub(
            lambda line: (
                f"{line[1]}{line[2]} = {settings[line[1]]!r}" if line[1] in settings else line[0]
            ),
            source,
        )
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    outputs = [
        _with_picture(output, alt)
        for output in cell.outputs
        if "scrapbook" not in output.get("metadata", {})
    ]
    result = nbformat.v4.new_code_cell(
        source,
        outputs=[] if "remove-output" in tags else outputs,
        execution_count=cell.execution_count,
    )
    if _HIDING_TAGS & tags:
        result.metadata["jupyter"] = {"source_hidden": True}
    return result


def _with_picture(output: NotebookNode, alt: str) -> NotebookNode:
    """An output whose SVG is the source of an image, which Jupyter shows in a notebook from elsewhere too.

    It shows an SVG of its own kind only in notebooks that it trusts, since that may contain scripts.
    """
    svg = output.get("data", {}).get("image/svg+xml")
    if svg is None:
        return output
    encoded = base64.b64encode(svg.encode()).decode()
    image = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{encoded}">'
    result = deepcopy(output)
    result.data = {"text/html": image, "text/plain": output.data.get("text/plain", "")}
    result.metadata = {}
    return result


class _Text:
    """Markdown of a chapter without the roles and directives of MyST.

    Parameters
    ----------
    name : str
        Of the chapter.
    values : dict
        What it glues.
    solutions : bool
        Whether solutions are shown.
    """

    def __init__(self, name: str, values: dict[str, str], solutions: bool) -> None:
        self.name = name
        self.values = values
        self.solutions = solutions
        self.cited: set[str] = set()

    def plain(self, source: str) -> str:
        """The Markdown of a cell."""
        lines, blocks, prose = iter(source.splitlines()), [], []
        for line in lines:
            fence = _FENCE.fullmatch(line)
            if not fence:
                prose.append(line)
                continue
            blocks += [self._prose("\n".join(prose))]
            prose, body = [], []
            for inner in lines:
                if re.fullmatch(rf"`{{{len(fence[1])},}}", inner):
                    break
                body.append(inner)
            directive = _DIRECTIVE.fullmatch(line)
            if directive:
                blocks.append(self._directive(directive[2], directive[3], body))
            else:
                blocks.append("\n".join([line, *body, fence[1]]))
        blocks.append(self._prose("\n".join(prose)))
        return "\n\n".join(block for block in blocks if block.strip())

    def captions(self, metadata: dict) -> list[str]:
        """The caption that the site shows with a cell's table or figure."""
        table = metadata.get("table", {}).get("caption", "")
        figure = metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
        captions = {"Table": table, "Figure": figure}
        return [f"**{kind}.** {self._prose(words)}" for kind, words in captions.items() if words]

    def references(self) -> str:
        """The list of what the text cites."""
        lines = sorted(f"- {_citation(key)}. {_reference(key)}" for key in self.cited)
        return "\n".join(["## References", "", *lines])

    def _directive(self, kind: str, title: str, body: list[str]) -> str:
        while body and _OPTION.fullmatch(body[0]):
            body = body[1:]
        if kind == "glue:md":
            return self._roles(self.values[title])
        if kind == "raw":
            return _FORM_WORDS
        if kind == "solution" and not self.solutions:
            return ""
        text = self.plain("\n".join(body).strip("\n"))
        if kind == "glossary":
            return text
        if kind in ("solution", "solution-start", "solution-end"):
            return (
                f"**{'End of the solution' if kind == 'solution-end' else 'Solution'}.**\n\n{text}"
            )
        heading = {"exercise": "Exercise", "prf:algorithm": "Algorithm"}.get(kind, "")
        words = ": ".join(part for part in (heading, self._prose(title)) if part)
        return _quoted(f"**{words}**\n\n{text}")

    def _prose(self, text: str) -> str:
        text = _COMMENT.sub("", _LABEL.sub("", f"{text}\n"))
        text = _LOADING.sub("", _FORM.sub(_FORM_WORDS, _LOCAL_LINK.sub(r"\1", text)))
        return self._roles(_DEFINITION.sub(r"**\1.** ", text)).strip("\n")

    def _roles(self, text: str) -> str:
        glued = _ROLE.sub(self._glued, text)  # which may have further roles
        return _ROLE.sub(self._role, glued)

    def _glued(self, match: re.Match) -> str:
        kind, target = match.groups()
        return self.values[target.partition(":")[0]] if kind.startswith("glue:") else match[0]

    def _role(self, match: re.Match) -> str:
        kind, target = match.groups()
        titled = _TITLED.fullmatch(target)
        words, target = titled.groups() if titled else ("", target)
        if kind == "term":
            return words or target
        if kind == "numref":
            return "the figure" if target.startswith("fig") else "the table"
        if kind == "prf:ref":
            return words or "the algorithm"
        if kind == "doc":
            return f"*{words or _title(target)}*"
        if kind == "ref":
            return self._reference(target, words)
        if kind in ("cite:t", "cite:p"):
            keys = target.split(",")
            self.cited.update(keys)
            citations = "; ".join(map(_citation, keys))
            return f"({citations})" if kind == "cite:p" else re.sub(r", (\d+)", r" (\1)", citations)
        return match[0]

    def _reference(self, label: str, words: str) -> str:
        page, heading = _headings().get(label, ("", label))
        if page != self.name:
            return words or f"*{heading}*"
        return f"[{words or heading}](#{heading.replace(' ', '-')})"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _pages() -> dict[str, Path]:
    """The files of chapters, and in a checkout of pages, by name."""
    pages = sorted((ROOT / "book").glob("*.md")) if IN_CHECKOUT else []
    return {path.stem: path for path in [*pages, *sorted(NOTEBOOKS.glob("*.md"))]}


def _title(name: str) -> str:
    path = _pages().get(name)
    heading = path and re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return heading[1] if heading else name


@cache
def _headings() -> dict[str, tuple[str, str]]:
    """Page and words of each heading that has a label."""
    return {
        label: (name, heading)
        for name, path in _pages().items()
        for label, heading in _LABELLED.findall(path.read_text("utf-8"))
    }


@cache
def _bibliography() -> dict:
    from pybtex.database import parse_file

    return parse_file(str(REFERENCES)).entries


def _rich(text: str) -> str:
    from pybtex.richtext import Text

    return str(Text.from_latex(text))


def _citation(key: str) -> str:
    """Authors and year: Snell et al., 2017."""
    entry = _bibliography()[key]
    names = [
        _rich(" ".join(person.prelast_names + person.last_names))
        for person in entry.persons["author"]
    ]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {entry.fields['year']}"


def _reference(key: str) -> str:
    fields = _bibliography()[key].fields
    place = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or ""
    return ". ".join(
        filter(None, [f"*{_rich(fields['title'])}*", _rich(place), fields.get("url", "")])
    )
