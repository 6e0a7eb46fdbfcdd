"""Jupyter Book as a module to run, and a Sphinx extension by which several processes write the pages
and functions link to the chapters that use them (``book/uses.py``).

The search indexes neither code cells nor tables of parameters, and finds a page by the phrases of ``search.yml``, too.

Writing takes almost half the time. One process reads the pages: not all extensions of the book say whether several may.
Two functions that are called again and again with the same words keep their answers.
"""

import json
import os
import re
from functools import cache
from pathlib import Path

import pybtex.plugin
import sphinx.search
import uses
import yaml
from docutils import nodes
from numpy.typing import ArrayLike
from sphinx.search.en import SearchEnglish
from sphinx.util.typing import stringify_annotation

PHRASES = yaml.safe_load(Path(__file__).with_name("search.yml").read_text("utf-8"))
NO_PHRASES = "var about = {};"  # in search.js
NOT_INDEXED = {"cell_input", "tag_parameters", "no-search"}  # classes of nodes

# A type as autodoc records it, and NumPy's union and its arrays of some type as such types.
MODE = "smart"
ARRAY_LIKE = stringify_annotation(ArrayLike, MODE)
ARRAY = re.compile(r"~numpy\.ndarray\[tuple\[[^]]*\], ~numpy\.dtype\[[^][]*(\[[^]]*\])?\]\]")

WRITERS = 4  # at most; the main process prepares the pages, and keeps no more busy


def write_in_parallel(app, _):
    """Once all pages are read, allow a writer per core besides the main process."""
    app.parallel = 1 + min(WRITERS, os.cpu_count())


def number_figures_by_page(_, env):
    """On a page that is no chapter, number the figures from 1: Sphinx counts on from the page before."""
    for of_page in env.toc_fignumbers.values():
        for numbers in of_page.values():
            outside_chapters = [name for name, number in numbers.items() if len(number) == 1]
            numbers.update({name: (count,) for count, name in enumerate(outside_chapters, 1)})
    return []  # no page has to be read again


def name_arrays(app, *_):
    """Write *array_like* and *ndarray* for NumPy's types of arrays, which take a line and more."""
    for types in app.env.temp_data.get("annotations", {}).values():
        for name, written in types.items():
            types[name] = ARRAY.sub("~numpy.ndarray", written.replace(ARRAY_LIKE, "array_like"))


def link_chapters(app, what, name, thing, *options_and_lines):
    """Below a docstring, the chapters to read about its function or class."""
    full_name = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
    chapters = chapters_of_functions(app.srcdir).get(full_name)
    if not chapters and what in ("class", "function"):
        page = uses.explaining_page(name)
        chapters = [page] if page in app.env.found_docs else []
    if chapters:
        lines = options_and_lines[-1]
        lines += ["", f":In the book: {', '.join(f':doc:`{chapter}`' for chapter in chapters)}", ""]


@cache
def chapters_of_functions(site):
    """What `assemble.link_functions` has written; nothing for a site of a few chapters."""
    path = Path(site) / "uses.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


class ProseIndex(sphinx.search.IndexBuilder):
    """The index of the search: of what a page says, and of the phrases that lead to it."""

    def __init__(self, *settings):
        super().__init__(*settings)
        phrases = json.dumps(PHRASES, ensure_ascii=False)
        self.js_scorer_code = self.js_scorer_code.replace(NO_PHRASES, f"var about = {phrases};")

    def feed(self, docname, filename, title, doctree):
        """Index a page."""
        prose = doctree.deepcopy()
        for node in [*prose.findall(is_not_indexed)]:
            if node.parent is not None:
                node.parent.remove(node)
        phrases = ", ".join(PHRASES.get(docname, []))
        if phrases:
            prose += nodes.paragraph("", phrases)
        super().feed(docname, filename, title, prose)


def is_not_indexed(node):
    """Whether a node is code of a cell, or the table of a chapter's parameters."""
    return isinstance(node, nodes.Element) and bool(NOT_INDEXED & {*node.get("classes", ())})


def setup(app):
    # This one reads the metadata of all installed packages; Sphinx keeps the stems of one page.
    pybtex.plugin._load_entry_point = cache(pybtex.plugin._load_entry_point)
    SearchEnglish.stem = cache(SearchEnglish.stem)
    sphinx.search.IndexBuilder = ProseIndex
    app.connect("env-updated", write_in_parallel)
    app.connect("env-get-updated", number_figures_by_page, priority=900)  # after Sphinx's own
    app.connect("autodoc-process-signature", name_arrays, priority=900)  # after it is recorded
    app.connect("autodoc-process-docstring", link_chapters, priority=900)  # after napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    from jupyter_book.cli.main import main

    main()
