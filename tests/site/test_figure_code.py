"""Each figure of a chapter says where its code is."""

import json
import re
import sys

import jupytext
import pytest

from fslbook import notebooks
from fslcore.paths import ROOT

sys.path.insert(0, str(ROOT / "book"))
import figure_code
import item_code
from dependencies import SourceTree

SET_UP = "from fslbook import figures\nfrom fslbook.beyond import coverage_gaps as gaps"


def cell(source, name=""):
    figure = {"mystnb": {"figure": {"name": name, "caption": "."}}} if name else {}
    return {"cell_type": "code", "metadata": figure, "source": source, "outputs": []}


def with_code(path, *cells):
    path.write_text(json.dumps({"metadata": {}, "cells": [cell(SET_UP), *cells]}), "utf-8")
    figure_code.add_code(path, SourceTree(ROOT))
    return json.loads(path.read_text("utf-8"))["cells"]


def test_a_figure_has_the_source_of_its_function_below_it_and_the_next_one_refers_to_it(tmp_path):
    drawn = [cell("figures.forest(gaps.rows(table));", name) for name in ("fig-a", "fig-b")]
    kinds = with_code(tmp_path / "a.ipynb", *drawn, cell("figures.forest(table)"))
    assert [c["cell_type"] for c in kinds] == [
        "code",
        "code",
        "markdown",
        "code",
        "markdown",
        "code",
    ]
    first, second = kinds[2]["source"], kinds[4]["source"]
    assert (
        "def forest(\n    rows: pd.DataFrame,\n" in first
        and 'HTML(f\'<div class="forest">' in first
    )
    (line,) = re.findall(
        r"`fslbook\.figures\.forest`, in `book/fslbook/figures\.py`, line (\d+):", first
    )
    lines = (ROOT / "book/fslbook/figures.py").read_text("utf-8").splitlines()
    assert lines[int(line) - 1].startswith("def forest(")
    assert "`fslbook.beyond.coverage_gaps.rows`, in `book/fslbook/beyond/coverage_gaps.py`" in first
    assert "def rows" not in first  # it prepares, and does not draw
    assert "def forest" not in second and "{numref}`fig-a`" in second
    assert all("no-search" in text and text.endswith("\n:::") for text in (first, second))


def test_a_cell_that_draws_by_itself_has_its_code_above_and_nothing_below(tmp_path):
    assert len(with_code(tmp_path / "a.ipynb", cell("plt.plot(x)", "fig-a"))) == 2


@pytest.mark.parametrize("name", notebooks.names())
def test_the_code_of_every_figure_is_found(name):
    """Or it stands in the cell, which calls Matplotlib itself."""
    sources = SourceTree(ROOT)
    cells = jupytext.read(notebooks.source(name)).cells
    imports = "\n".join(c.source for c in cells if c.cell_type == "code")
    for drawn in (c for c in cells if "figure" in c.metadata.get("mystnb", {})):
        found = figure_code.called(drawn.source, name, imports, sources)
        is_own = "plt.subplots" in drawn.source
        assert is_own or (found and figure_code._draws(found[0], sources)), drawn.source


def test_lines_are_counted_by_what_a_reader_sees(tmp_path):
    path = tmp_path / "a.md"
    heads = ("", ":tags: [hide-input]\n", ":tags: [remove-cell]\n", ":tags: [remove-input]\n")
    cells = [
        "```{code-cell} ipython3\n" + head + "\n" + "a = 1\n" * n + "```\n"
        for n, head in enumerate(heads, 1)
    ]
    path.write_text("\n".join(cells), "utf-8")
    assert figure_code.lines_of_code([path]) == {"visible": 1, "folded": 2, "removed": 7}


def test_the_code_of_an_item_is_of_every_cell_that_shows_something_up_to_the_next_heading():
    def code(source, kind="text/html", shown=""):
        outputs = [{"data": {kind: [shown]}}] if shown else []
        return {"cell_type": "code", "metadata": {}, "source": [source], "outputs": outputs}

    def text(source):
        return {"cell_type": "markdown", "metadata": {}, "source": [source]}

    forest = code("forest(rows)", shown='<div class="forest"><img alt="a" src="data:x"></div>')
    table = code("table", shown="<div><table></table></div>")
    drawing = code("draw()", "image/svg+xml", "<svg></svg>")
    cells = [text("(item)=\n## One"), code("x = 1"), forest, table, drawing, text("## Two"), table]
    assert item_code.cells_of_item(cells, "item", {"item"}) == ["forest(rows)", "table", "draw()"]
