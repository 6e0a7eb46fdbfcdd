"""What holds for both commands, ``fslcore`` and ``fslbook``."""

import argparse
import importlib.metadata
import os
import shlex
import subprocess
import sys

import pytest
from refusal import says_in_one_line

from fslbook import cli as book
from fslbook.catalogue import DATASETS, LEARNERS
from fslcore import catalogue, datasets
from fslcore.cli import app
from fslcore.cli.options import REPLACED
from fslcore.errors import InputError, warn
from fslcore.paths import ROOT

PROGRAMS = {"fslcore": app._program().parser, "fslbook": book._program().parser}


def _commands(program):
    (choices,) = (
        a.choices for a in PROGRAMS[program]._actions if isinstance(a, argparse._SubParsersAction)
    )
    return choices


def test_a_word_typed_at_the_wrong_command_gets_one_line_that_names_the_other(capsys):
    library, of_book = set(_commands("fslcore")), set(_commands("fslbook"))
    assert set(app.BOOK_COMMANDS) == of_book - library
    assert set(book.OF_THE_LIBRARY) == library - of_book
    assert app.main(["run", "primer"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and says_in_one_line(err, "fslcore: run", "fslbook run --help")
    assert book.main(["report", "results.csv"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and says_in_one_line(err, "fslbook: report", "fslcore report --help")


@pytest.mark.parametrize("name", ["maml", "lr-raw"])
def test_a_learner_of_the_other_program_is_refused_with_the_words_to_type(name, capsys):
    places = {known: f"fslbook.learners:{kind}" for known, kind in app.BOOK_LEARNERS.items()}
    assert places == {known: entry.place for known, entry in LEARNERS.items()}
    assert app.main(["evaluate", "fashion", "glyph-conv", "--learners", name]) == 2
    out, err = capsys.readouterr()
    assert out == "" and says_in_one_line(err, f"learner = {name}", f"typed as {places[name]}")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Data sets of no package; and what installs a package with an entry point."""

    def package(entry):
        metadata = tmp_path / "other-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[fslcore.datasets]\nother = {entry}\n")
        catalogue._register_entry_points.cache_clear()

    def found(group):
        packages = importlib.metadata.distributions(path=[str(tmp_path)])
        return [point for p in packages for point in p.entry_points.select(group=group)]

    monkeypatch.setattr(catalogue, "_registered_datasets", {})
    monkeypatch.setattr(importlib.metadata, "entry_points", found)
    catalogue._register_entry_points.cache_clear()
    yield package
    catalogue._register_entry_points.cache_clear()


def test_a_data_set_of_another_package_is_found_by_its_entry_point(install, capsys):
    assert set(app.BOOK_DATASETS) == set(DATASETS)
    command = ["evaluate", "coloured/hebrw", "glyph-conv"]
    assert app.main(command) == 2
    out, err = capsys.readouterr()
    assert out == "" and says_in_one_line(
        err, "dataset = coloured/hebrw", "of fslbook, which is not"
    )
    assert app.main(["list", "datasets"]) == 0
    assert "coloured" not in capsys.readouterr().out
    install("fslbook.catalogue:DATASETS")
    assert app.main(command) == 2
    assert says_in_one_line(capsys.readouterr().err, "did you mean 'coloured/hebrew'")
    assert app.main(["list", "datasets"]) == 0
    assert "coloured/hebrew" in capsys.readouterr().out
    assert datasets.load("coloured/hebrew?per_class=1").counts.max() == 1


def test_the_help_on_each_output_says_what_happens_to_a_file_there():
    outputs = {}
    for program in PROGRAMS:
        for command, parser in _commands(program).items():
            for action in parser._actions:
                if action.dest in ("output", "sheet", "tables", "figures"):
                    outputs[f"{command} --{action.dest}"] = action.help
    resumed = "an unfinished one is resumed" in outputs.pop("caption --output")
    kept = "a notebook there is kept, with a note" in outputs.pop("jupyter --output")
    assert resumed and kept and len(outputs) == 11
    assert [name for name, text in outputs.items() if not text.endswith(REPLACED)] == []


def test_a_note_begins_with_the_name_of_the_program_that_writes_it(monkeypatch, capsys):
    def show_names(options):
        """Write a note."""
        warn(f"on {options.what}")

    monkeypatch.setattr(book, "show_names", show_names)
    assert book.main(["list", "estimators"]) == 0
    assert capsys.readouterr().err == "fslbook: on estimators\n"


HELP = [(program, name) for program in PROGRAMS for name in (program, *_commands(program))]


@pytest.mark.parametrize("program, name", HELP)
def test_help_explains_every_argument_and_gives_examples_and_exit_codes(program, name):
    parser = PROGRAMS[program] if name == program else _commands(program)[name]
    for action in parser._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action.dest
    assert "exit codes:" in parser.epilog and "130" in parser.epilog
    text = parser.format_help()  # a stray % would fail here
    assert name in text and "--debug" in text and "--quiet" in text
    examples = [
        line.strip() for line in parser.epilog.splitlines() if line.startswith(f"  {program} ")
    ]
    assert examples
    for example in examples:
        _, *arguments = shlex.split(example.partition(" >")[0])
        try:
            options = PROGRAMS[program].parse_args(arguments)
            kind, colon, _ = (getattr(options, "dataset", None) or "").partition(":")
            assert not colon or f"{kind}:PATH" in [*datasets.path_forms(), "features:PATH"]
        except InputError as error:  # the files are not here
            assert "no folder /data" in str(error) or "no file my" in str(error)
        except SystemExit as stop:
            assert arguments[-1] == "--help" and not stop.code


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fslcore list", "fslbook plan quick.yml"])
def test_what_ships_is_read_as_utf_8_in_every_locale(command):
    """Windows has another one; here it is ASCII, which Python would else make UTF-8."""
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, env=env, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
