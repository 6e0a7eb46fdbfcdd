"""Jupyter Book as a module to run, and a Sphinx extension by which several processes write the pages
and functions link to the chapters that use them (``book/uses.py``).

Writing takes almost half the time. One process reads the pages: not all extensions of the book say whether several may.
Two functions that are called again and again with the same words keep their answers.
"""

import json
import os
from functools import cache
from pathlib import Path

import pybtex.plugin
import uses
from sphinx.search.en import SearchEnglish

WRITERS = 4  # at most; the main process prepares the pages, and keeps no more busy


def write_in_parallel(app, _):
    """Once all pages are read, allow a writer per core besides the main process."""
    app.parallel = 1 + min(WRITERS, os.cpu_count())


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


def setup(app):
    # This one reads the metadata of all installed packages; Sphinx keeps the stems of one page.
    pybtex.plugin._load_entry_point = cache(pybtex.plugin._load_entry_point)
    SearchEnglish.stem = cache(SearchEnglish.stem)
    app.connect("env-updated", write_in_parallel)
    app.connect("autodoc-process-docstring", link_chapters, priority=900)  # after napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    from jupyter_book.cli.main import main

    main()
