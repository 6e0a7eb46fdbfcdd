"""The scripts that let a shell complete a command line."""

import pytest
from running import captured

from fslbook import cli as book
from fslcore.cli import app
from fslcore.paths import ROOT

MAIN = {"fslcore": app.main, "fslbook": book.main}
WORDS = {
    "fslcore ev": "evaluate",
    "fslcore evaluate clipart glyph": "glyph-conv",
    "fslcore features glyphs": "glyphs glyphs/cyrillic glyphs/hebrew glyphs/latin",
    "fslcore evaluate a b --ft": "--ft-tasks --ft-open",
    "fslcore report x --sampling o": "open",
    "fslcore report pyproj": "pyproject.toml",
    "fslbook run clo": "closed-vs-open",
    "fslbook train protonet -o pyproj": "pyproject.toml",
}


@pytest.mark.parametrize("line", WORDS)
def test_bash_completes_commands_options_names_and_files(tmp_path, capsys, line):
    program, *words = line.split()
    assert MAIN[program](["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    call = (
        f"source {tmp_path}/script; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _shtab_{program}"
    )
    call += '; echo "${COMPREPLY[@]}"'
    done = captured(["bash", "-c", call], cwd=ROOT, check=True)
    assert done.stdout == f"{WORDS[line]}\n"


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
def test_scripts_for_other_shells_have_the_names_too(capsys, shell):
    assert app.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "efficientnet-lite0" in script and "glyphs/cyrillic" in script
