"""Which chapters use a function: links from the API reference to chapters, and back.

Read from the sources of notebooks and modules; nothing is run. A function is named as its module
names it, such as ``fslcore.stats.task_intervals.paired_interval``. What no chapter calls is linked to
the page that ``explained.yml`` names.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml
from dependencies import CODE, SourceTree

HIDDEN_CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n[^`]*?tags: \[.*?^```$", re.MULTILINE | re.DOTALL
)
QUOTED = re.compile(r"`(?:\w+\.)*(\w+_\w+)`")
DOCUMENTED = re.compile(r"automodule:: (\S+)")
CHAPTERS_SHOWN = 3
EXPLAINED = yaml.safe_load(Path(__file__).with_name("explained.yml").read_text("utf-8"))


@cache  # both directions of the links ask
def uses_of_chapter(sources: SourceTree, chapter: str) -> list[set[str]]:
    """Functions that a chapter's lesson calls, that its other cells call or its prose quotes, and
    that the modules which it imports call.
    """
    text = (sources.root / "notebooks" / f"{chapter}.md").read_text("utf-8")
    code = "\n".join(CODE.findall(text))
    lesson = "\n".join(CODE.findall(HIDDEN_CELL.sub("", text)))
    quoted = {sources.public[name] for name in QUOTED.findall(text) if name in sources.public}
    modules = sources.imported(ast.parse(code), chapter)
    of_modules = [
        sources.taken(sources.files[module].read_text("utf-8"), module) for module in modules
    ]
    return [
        sources.taken(lesson, chapter, imports=code),
        sources.taken(code, chapter) | quoted,
        set().union(*of_modules),
    ]


def chapters_of_functions(sources: SourceTree, chapters: Iterable[str]) -> dict[str, list[str]]:
    """Chapters to read about each function: those whose lesson calls it, or else those that use or
    quote it, or else those whose modules call it, unless these are many; the first few in this order.
    """
    found = [defaultdict(list) for _ in range(3)]
    for chapter in chapters:
        for chapters_of, functions in zip(found, uses_of_chapter(sources, chapter)):
            for function in functions:
                chapters_of[function].append(chapter)
    few = {name: names for name, names in found[2].items() if len(names) <= CHAPTERS_SHOWN}
    closest = few | found[1] | found[0]
    return {function: names[:CHAPTERS_SHOWN] for function, names in closest.items()}


def documented(sources: SourceTree, pages: str) -> dict[str, str]:
    """The name under which these API pages document each function that a package passes on, or that a
    module of its own has.
    """
    targets = {}
    for module in DOCUMENTED.findall(pages):
        names = sources.names_of(module)
        targets |= {names[name]: f"{module}.{name}" for name in names if not name.isupper()}
    return targets


def function_links(sources: SourceTree, chapter: str, targets: dict[str, str]) -> str:
    """The sentence with which a chapter links the documented functions of its cells; '' without any."""
    lesson, others, _ = uses_of_chapter(sources, chapter)
    found = {
        short_name(targets[full]): targets[full] for full in lesson | others if full in targets
    }
    links = [f"{{py:obj}}`{name} <{found[name]}>`" for name in sorted(found)]
    return f"Functions of this chapter, in the API reference: {', '.join(links)}." if links else ""


def explained_links(page: str, modules: Iterable[str]) -> str:
    """The sentence with which a page links what it explains; '' without any."""
    links = []
    for name in sorted(name for name in EXPLAINED if EXPLAINED[name] == page):
        role = "mod" if name in modules else "obj"
        links.append(f"{{py:{role}}}`{name.partition('.')[2]} <{name}>`")
    return f"Explained on this page, in the API reference: {', '.join(links)}." if links else ""


def explaining_page(name: str) -> str:
    """The page that explains a function or class, named as it is documented, or else its module."""
    while name and name not in EXPLAINED:
        name = name.rpartition(".")[0]
    return EXPLAINED.get(name, "")


def short_name(target: str) -> str:
    """``stats.paired_interval`` for ``fslcore.stats.task_intervals.paired_interval``."""
    parts = target.split(".")
    return f"{parts[1]}.{parts[-1]}"
