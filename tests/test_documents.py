"""The commands that the README and the book print are understood as they stand."""

import re
import shlex

import pytest
import yaml

from fslcore import chapters, cli
from fslcore.paths import ROOT

LINES = [
    line
    for page in ("README.md", "book/running.md")
    for block in re.findall(r"^```bash\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = sorted({line for line in LINES if line.startswith("fslcore ")})
PAPERMILL = sorted({line for line in LINES if "| papermill " in line})


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Takes a printed line; the folders and files that its reader has are there."""
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)

    def take(line):
        line = line.replace("/data/", f"{tmp_path}/data/").replace("/weights/", f"{tmp_path}/")
        for path in re.findall(rf"{tmp_path}/data/[\w-]+", line):
            (tmp_path / path).mkdir(exist_ok=True)
        for path in re.findall(r"features:([\w.]+)|([\w-]+\.safetensors)", line):
            (tmp_path / "".join(path)).touch()
        return shlex.split(line, comments=True)[1:]

    return take


def test_the_pages_are_read():
    assert len(COMMANDS) > 30 and len(PAPERMILL) == 1


@pytest.mark.parametrize("line", COMMANDS)
def test_every_printed_command_is_taken(line, there):
    options = cli._parser().parse_args(there(line))
    if options.command is cli._run:
        given = {name: chapters.value(name, text) for name, text in options.parameter}
        assert chapters.check(options.notebook, given) == given


@pytest.mark.parametrize("line", PAPERMILL)
def test_every_printed_papermill_line_gives_what_the_notebook_takes(line):
    from papermill.cli import _resolve_type, papermill

    notebook = re.search(r"notebooks/([\w-]+)\.md", line)[1]
    given = papermill.make_context("papermill", shlex.split(line.partition("| papermill ")[2])).params
    values = {name: _resolve_type(text) for name, text in given["parameters"]}  # lists stay texts, and are refused
    for text in given["parameters_yaml"]:
        values |= yaml.safe_load(text)
    assert values and chapters.check(notebook, values) == values
