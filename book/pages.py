"""Jupyter Book as a module to run, and a Sphinx extension by which several processes write the pages.

Writing takes almost half the time. One process reads the pages: not all extensions of the book say whether several may.
Two functions that are called again and again with the same words keep their answers.
"""

import os
from functools import cache

import pybtex.plugin
from sphinx.search.en import SearchEnglish

WRITERS = 4  # at most; the main process prepares the pages, and keeps no more busy


def write_in_parallel(app, _):
    """Once all pages are read, allow a writer per core besides the main process."""
    app.parallel = 1 + min(WRITERS, os.cpu_count())


def setup(app):
    # This one reads the metadata of all installed packages; Sphinx keeps the stems of one page.
    pybtex.plugin._load_entry_point = cache(pybtex.plugin._load_entry_point)
    SearchEnglish.stem = cache(SearchEnglish.stem)
    app.connect("env-updated", write_in_parallel)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    from jupyter_book.cli.main import main

    main()
