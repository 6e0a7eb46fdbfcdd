"""Chapters as notebooks for Jupyter: plain Markdown, without solutions, and nobody's work overwritten."""

import base64
import re
import subprocess
import sys

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient
from refusal import refuses, says_in_one_line

from fslbook import cli, notebooks, plain_notebooks
from fslbook.paths import NOTEBOOKS
from fslcore.paths import ROOT

MYST = re.compile(r"(?m)\{[\w:-]+\}`|^`{3,}\{|^\([\w-]+\)=$|fsl-lab|^:\w+:|<script")


class AnyKey(dict):
    """A value for every key of a chapter that has not run."""

    def __missing__(self, key):
        return f"value of {key}"


@pytest.fixture
def unexecuted(monkeypatch):
    """Chapters as they are before they run: their text is all here."""
    monkeypatch.setattr(notebooks, "glued", lambda _: AnyKey())

    def read(name):
        notebook = jupytext.read(NOTEBOOKS / f"{name}.md")
        notebook.metadata["papermill"] = {"parameters": {}}
        return notebook

    return read


def texts(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def solution_texts(notebook):
    """Every line of a solution of a chapter, of some length."""
    text, lines = "\n".join(texts(notebook)), []
    for _, body in re.findall(r"(?ms)^(`{3,})\{solution\}[^\n]*\n(.*?)^\1$", text):
        lines += body.splitlines()
    for body in re.findall(r"(?s)\{solution-start\}[^\n]*\n(.*?)```\{solution-end\}", text):
        lines += body.splitlines()
    return [line for line in lines if len(line) > 40 and not re.search(r"\{|^(from|import) ", line)]


@pytest.mark.parametrize("name", notebooks.names())
def test_a_chapter_is_plain_markdown_with_solutions_in_their_own_copy_alone(unexecuted, name):
    chapter = unexecuted(name)
    solved = solution_texts(chapter)
    assert bool(solved) <= plain_notebooks.has_solutions(chapter)
    copies = [plain_notebooks.plain(chapter, name, solutions) for solutions in (False, True)]
    for copy in copies:
        text = "\n".join(texts(copy))
        assert not MYST.search(text), MYST.search(text)
        assert text.startswith(f"# {notebooks.title(name)}")
    student, teacher = ("\n".join(cell.source for cell in copy.cells) for copy in copies)
    assert not [line for line in solved if line in student]
    assert all(line in teacher for line in solved)


@pytest.mark.slow
def test_no_cell_of_a_student_needs_a_name_of_a_cell_left_out(unexecuted, tmp_path):
    for name in notebooks.names():
        cells = plain_notebooks.plain(unexecuted(name), name).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        (tmp_path / f"{name}.py").write_text(code)
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821"]
    done = subprocess.run([*ruff, tmp_path], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_a_figure_is_an_image_that_jupyter_shows_in_a_notebook_from_elsewhere():
    svg = nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg>±</svg>"})
    cell = nbformat.v4.new_code_cell("draw()", outputs=[svg])
    cell.metadata["mystnb"] = {"image": {"alt": 'a "curve"'}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A"), cell])
    notebook.metadata["papermill"] = {"parameters": {}}
    data = plain_notebooks.plain(notebook, "primer").cells[-1].outputs[0].data
    alt, source = re.fullmatch(
        r'<img alt="(.+)" src="data:image/svg\+xml;base64,(.+)">', data["text/html"]
    ).groups()
    assert alt == "a &quot;curve&quot;" and base64.b64decode(source).decode() == "<svg>±</svg>"
    assert "image/svg+xml" not in data


@pytest.fixture(scope="module")
def exercises(tmp_path_factory):
    """The longer exercises as the command writes them, after a run with another parameter."""
    folder = tmp_path_factory.mktemp("jupyter")
    executed = notebooks.run("exercises", {"wanted": 0.4}, folder / "run" / "exercises.ipynb")
    assert cli.main(["jupyter", str(executed), "-o", str(folder), "--quiet"]) == 0
    return folder


def code(path):
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


@pytest.mark.slow
def test_a_student_runs_every_cell_and_a_check_answers(exercises):
    """What only a solution defines is used by no cell of the copy without it."""
    notebook = nbformat.read(exercises / "exercises.ipynb", 4)
    nbformat.validate(notebook)
    student, teacher = (
        code(exercises / "exercises.ipynb"),
        code(exercises / "solutions/exercises.ipynb"),
    )
    assert set(student) < set(teacher) and not any("glue(" in cell for cell in teacher)
    assert "wanted: float = 0.4  # 0.01..10" in student[0]
    answered = [cell for cell in notebook.cells if 'check("trap", ...)' in cell.source]
    answered[0].source = answered[0].source.replace("...", "0.6177")
    for cell in notebook.cells:
        cell.pop("outputs", None) if cell.cell_type != "code" else cell.update(outputs=[])
    NotebookClient(notebook, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert "is a share of 1" in answered[0].outputs[0].text


@pytest.mark.slow
def test_pictures_and_tables_of_the_run_stay_and_values_are_in_the_text(exercises):
    notebook = nbformat.read(exercises / "solutions/exercises.ipynb", 4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("text/html" in output.get("data", {}) for output in outputs) > 5
    (line,) = re.findall(
        r"does a .* interval of ± (\S+) points require", "\n".join(texts(notebook))
    )
    assert line == "0.4"


@pytest.mark.slow
def test_a_notebook_that_is_there_is_kept(exercises, capsys):
    path = exercises / "exercises.ipynb"
    before = path.read_bytes()
    path.write_text("my answers")
    line = ["jupyter", str(exercises / "run/exercises.ipynb"), "-o", str(exercises)]
    assert cli.main(line) == 0
    assert path.read_text() == "my answers"
    ours, theirs = capsys.readouterr().err.splitlines()
    assert says_in_one_line(ours, path, "kept")
    assert says_in_one_line(theirs, exercises / "solutions/exercises.ipynb", "kept")
    path.write_bytes(before)


def test_what_is_no_executed_notebook_is_refused(tmp_path):
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "new.ipynb")
    with refuses("new.ipynb", "not executed", "fslbook run"):
        plain_notebooks.read(tmp_path / "new.ipynb")
    with refuses("no file .*gone.ipynb"):
        plain_notebooks.read(tmp_path / "gone.ipynb")
    with refuses("notebook", "primr", "did you mean 'primer'"):
        plain_notebooks.read("primr")
