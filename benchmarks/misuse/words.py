"""``fslcore list``, help and what else a command line is expected to do."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from .common import Ran, command, fine, fslcore, has, of_area, shell

case = of_area("list/help")
COMMANDS = ("list", "run", "report", "assess", "evaluate", "fetch", "train", "caption")


def parsers() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    from fslcore.tools.cli import app

    return next(a for a in app._parser()._actions if isinstance(a, argparse._SubParsersAction)).choices


def without_text(name: str) -> list[str]:
    """Arguments of a command that have no help."""
    return [a.dest for a in parsers()[name]._actions if not a.help]


def none(found: list) -> str | None:
    return f"no help for {', '.join(found)}" if found else None


def broken(line: str, name: str) -> object:
    """A reader that stops reading: nothing but the pipe's end may come of it."""

    def call() -> Ran:
        ran = shell(f"set -o pipefail; {line}")
        return Ran(0 if ran.code == 141 else ran.code, ran.out, ran.err)  # 141: as the shell has it of a cut pipe

    return case(
        name,
        call,
        right=lambda ran: None if "Error" not in ran.err and "Traceback" not in ran.err else ran.err,
        limit=60,
    )


def suggested(*arguments: str, name: str, says: tuple[str, ...]) -> object:
    return case(name, lambda: fslcore(*arguments), says=says)


CASES = [
    case("list", lambda: fslcore("list"), right=has("closed-vs-open", "clipart", "glyph-conv", "ncc")),
    case(
        "list --json",
        lambda: fslcore("list", "--json"),
        right=lambda ran: None if json.loads(ran.out) else "nothing",
        expected=True,
    ),
    case(
        "--version",
        lambda: fslcore("--version"),
        right=lambda ran: None if re.fullmatch(r"(fslcore )?\d+\.\d+\S*", ran.out.strip()) else ran.out,
    ),
    case("--help", lambda: fslcore("--help"), right=has("list", "evaluate", "report")),
    suggested(name="no command", says=("COMMAND|command",)),
    suggested("", name="an empty command", says=("invalid choice|command",)),
    suggested("raport", name="a command that is misspelt", says=("raport", "report")),
    suggested("raport", "r.csv", name="a near command is suggested", says=("mean",)),
    suggested("REPORT", name="a command in capitals", says=("REPORT", "report")),
    suggested("list", "extra", name="list extra", says=("extra",)),
    suggested("--verbose", name="an option that is not there", says=("verbose|command|COMMAND",)),
    suggested("evaluate", "--json", name="an option alone", says=("dataset",)),
    suggested("help", name="help", says=("help|list",)),
    suggested("-v", name="-v", says=("-v|command|COMMAND",)),
    suggested("list\0", name="a NUL in a command", says=("list",)),
    *(case(f"{name} --help", lambda name=name: fslcore(name, "--help"), right=has("usage")) for name in COMMANDS),
    *(
        case(
            f"{name} --help has an example",
            lambda name=name: fslcore(name, "--help"),
            right=has(f"fslcore {name} ", "example"),
            expected=True,
        )
        for name in COMMANDS
    ),
    *(
        case(
            f"{name} --help tells the exit codes",
            lambda name=name: fslcore(name, "--help"),
            right=has("exit", "2"),
            expected=True,
        )
        for name in COMMANDS
    ),
    *(
        case(f"{name}: every argument has a text", lambda name=name: without_text(name), right=none, expected=True)
        for name in COMMANDS
    ),
    *(
        case(
            f"{name} --quiet is an option",
            lambda name=name: fslcore(name, "--help"),
            right=has("--quiet"),
            expected=True,
        )
        for name in ("evaluate", "train", "caption", "report", "assess", "run")
    ),
    *(
        case(
            f"{name} --json is an option", lambda name=name: fslcore(name, "--help"), right=has("--json"), expected=True
        )
        for name in ("list", "report", "assess", "evaluate")
    ),
    *(
        case(
            f"{name} --device is an option",
            lambda name=name: fslcore(name, "--help"),
            right=has("--device"),
            expected=True,
        )
        for name in ("evaluate", "train", "assess")
    ),
    case("report --figures is an option", lambda: fslcore("report", "--help"), right=has("--figures"), expected=True),
    case("evaluate --size is an option", lambda: fslcore("evaluate", "--help"), right=has("--size"), expected=True),
    case(
        "evaluate --skip-small-classes is an option",
        lambda: fslcore("evaluate", "--help"),
        right=has("--skip-small"),
        expected=True,
    ),
    case(
        "--debug gives the traceback",
        lambda: shell(
            "$FSLCORE report gone.csv --debug 2> said || $FSLCORE --debug report gone.csv 2>> said; "
            "grep -c Traceback said && echo no file"
        ),
        right=lambda ran: "no traceback" if "no file" not in ran.out else None,
        limit=60,
        expected=True,
    ),
    case(
        "python -m fslcore",
        lambda: shell("${FSLCORE%.cli} --version"),
        right=lambda ran: None if re.match(r"(fslcore )?\d", ran.out) else ran.err,
        limit=30,
    ),
    broken("$FSLCORE list | head -1", "list | head"),
    broken("$FSLCORE --help | head -1", "--help | head"),
    broken("$FSLCORE list | true", "list | true"),
    case("list > /dev/full", lambda: shell("$FSLCORE list > /dev/full"), says=("space|full|write|No",), limit=60),
    case(
        "list with its output closed",
        lambda: shell("$FSLCORE list >&-"),
        says=("output|descriptor|write|closed|",),
        right=fine,
        limit=60,
    ),
    case(
        "list, output in ASCII",
        lambda: shell("PYTHONIOENCODING=ascii LC_ALL=C $FSLCORE list"),
        right=has("clipart"),
        limit=60,
    ),
    case(
        "report, output in ASCII",
        lambda: (
            Path("r.csv").write_text("ours,é\n0.7,0.6\n0.72,0.65\n0.69,0.66\n"),
            shell("PYTHONIOENCODING=ascii LC_ALL=C $FSLCORE report r.csv -o x.txt"),
        )[1],
        says=("x.txt",),
        limit=60,
    ),
    case("Ctrl-C", lambda: command("list", stop_after=0.4), says=("",), right=fine, limit=60),
    case(
        "Ctrl-C gives 130",
        lambda: command("list", stop_after=0.4),
        says=("",),
        right=lambda ran: None if ran.code in (0, 130) else f"{ran.code}",
        limit=60,
    ),
    *(
        case(
            f"the cache is {name}",
            lambda make=make: (
                make(),
                shell(
                    "FSLCORE_CACHE=cache $FSLCORE evaluate features:f.npz none -o r.csv --tasks 20 --ways 3 --shots 1 "
                    "--queries 2 --samplings closed --learners ncc"
                ),
            )[1],
            says=("cache",),
            right=right,
            limit=60,
        )
        for name, make, right in (
            ("a file", lambda: (_features(), Path("cache").touch()), None),
            ("a link to nothing", lambda: (_features(), Path("cache").symlink_to("/proc/gone")), None),
            ("a new folder", lambda: _features(), fine),
        )
    ),
    case(
        "statistics need NumPy and SciPy alone",
        lambda: lacking_modules("import fslcore.stats as s; print(s.closed_interval([0.5, 0.6]))", "torch", "pandas"),
        right=has("0.55"),
        limit=30,
    ),
    *(
        case(
            f"{name}: told before torch is there",
            lambda given=given: lacking_modules(
                f"import sys; from fslcore.tools.cli.app import main; sys.exit(main({given}))", "torch", "torchvision"
            ),
            says=words,
            limit=30,
        )
        for name, given, words in (
            ("a bad output", ["evaluate", "clipart", "glyph-conv", "-o", "r.txt"], ("r.txt",)),
            ("a bad number", ["evaluate", "clipart", "glyph-conv", "-o", "r.csv", "--ways", "-1"], ("ways", "-1")),
            ("a bad learner", ["evaluate", "clipart", "glyph-conv", "-o", "r.csv", "--learners", "ncx"], ("ncx",)),
            ("a bad page", ["assess", "gone", "-o", "x.pdf"], ("x.pdf",)),
            ("a bad level", ["assess", "gone", "--level", "3"], ("level|gone",)),
            ("bad epochs", ["train", "protonet", "--epochs", "0"], ("epochs",)),
            ("bad captions", ["caption", "clipart", "-o", "c.txt"], ("c.txt",)),
        )
    ),
]


def lacking_modules(code: str, *barred: str) -> Ran:
    """Python code where these modules cannot be imported."""
    block = (
        f"BARRED = {barred}\n"
        "import builtins; real = builtins.__import__\n"
        "def barred(name, *a, **k):\n"
        "    if name.split('.')[0] in BARRED: raise ImportError(name)\n"
        "    return real(name, *a, **k)\n"
        "builtins.__import__ = barred\n"
    )
    Path("run.py").write_text(block + code)
    return shell("${FSLCORE%% -m*} run.py")


def _features() -> None:
    from .features import good

    good(Path("f.npz"))
