"""What a case is, how a command is run inside this process, and how an outcome is judged.

Only the standard library is imported here and in the modules of cases while they load, so that the list of all cases
is there at once; what a case needs it imports when it runs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

GOOD = ("named", "right", "warned")
BAD = ("lacking", "misnamed", "silent", "traceback", "hang")
LIMIT = 20.0  # seconds


@dataclass(frozen=True)
class Case:
    """One bad or odd input, and what may come of it.

    Attributes
    ----------
    area, name : str
    call : callable without arguments
        Makes the input in the present folder, which is empty, and gives it to the project. Returns a value, or what
        `fslcore` or `command` return.
    says : tuple of str, or None
        The input may be refused, in one line that holds all of these words (``a|b``: either). None: it must not be.
    right : callable, optional
        The input may be taken, if this, given what ``call`` returned, returns nothing; else it returns what is wrong.
    warns : tuple of str, optional
        The input may be taken with a word on it: output or warnings hold all of these words (as for ``says``).
    limit : float
        Seconds.
    expected : bool
        Nothing bad is put in: it is asked whether something is there that a user expects.
    """

    area: str
    name: str
    call: Callable[[], object]
    says: tuple[str, ...] | None = None
    right: Callable[[object], str | None] | None = None
    warns: tuple[str, ...] | None = None
    limit: float = LIMIT
    expected: bool = False


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that it wrote."""
        return f"{self.out}\n{self.err}"


class TooLong(BaseException):
    """The time limit; no Exception, so that nothing catches it by the way."""


class Refused(Exception):
    """What a case raises itself, where refusing takes another form than `InputError`: the line that was read."""


def fill(path: Path, content: str | bytes | Callable[[Path], None]) -> None:
    """A file of this content, or that this function writes."""
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def fslcore(*arguments: object) -> Ran:
    """``fslcore ARGUMENTS`` inside this process. A notebook is not executed: see `without_notebooks`."""
    from fslcore import errors
    from fslcore.tools.cli import app

    for name in ("FSLCORE_QUIET", "TQDM_DISABLE"):  # which --quiet sets, for a process of one command
        os.environ.pop(name, None)
    errors.note.cache_clear()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), without_notebooks():
        try:
            code = app.main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    return Ran(int(code or 0), out.getvalue(), err.getvalue())


@contextlib.contextmanager
def without_notebooks():
    """A notebook that is to be executed, which takes long, gives an empty one; all that is before and after is real."""
    from fslcore.paths import replace_file
    from fslcore.tools import notebooks

    empty = {
        "cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "An empty page."}],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    kept = notebooks.run

    def run(name, given, output, *_, **__):
        notebooks.check(name, given)
        replace_file(Path(output), lambda part: part.write_text(json.dumps(empty)))
        return Path(output)

    notebooks.run = run
    try:
        yield
    finally:
        notebooks.run = kept


def command(*arguments: object, stop_after: float | None = None, timeout: float = 60) -> Ran:
    """``python -m fslcore ARGUMENTS`` in a process of its own; Ctrl-C after so many seconds."""
    line = [sys.executable, "-m", "fslcore", *map(str, arguments)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    try:
        if stop_after is not None:
            time.sleep(stop_after)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise TooLong from None
    finally:
        process.kill()
    return Ran(process.returncode, out, err)


def shell(line: str, timeout: float = 60) -> Ran:
    """A line of bash, in which $FSLCORE stands for the command."""
    env = {**os.environ, "FSLCORE": f"{sys.executable} -m fslcore"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=timeout, env=env)
    return Ran(done.returncode, done.stdout, done.stderr)


def holds(text: str, words: tuple[str, ...]) -> list[str]:
    """Those of the words that are not in the text; case does not count."""
    text = text.lower()
    return [w for w in words if not any(one.lower() in text for one in w.split("|"))]


def judge(case: Case) -> tuple[str, str]:
    """Run a case; its outcome, one of `GOOD` and `BAD`, and what was seen, in a line."""
    from fslcore.errors import InputError

    def stop(*_):
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, case.limit)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            value = case.call()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except TooLong:
        return "hang", f"no end in {case.limit:.0f} s"
    except (InputError, Refused) as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return _refused(case, str(error))
    except BaseException as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return "traceback", _line(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    text = "\n".join(str(w.message) for w in said if issubclass(w.category, (UserWarning, FutureWarning)))
    if isinstance(value, Ran):
        text += value.text
        if "Traceback (most recent call last)" in value.text or value.code not in (0, 2, 130, 141):
            return "traceback", _line(f"exit code {value.code}: {_last(value.err)}")
        if value.code:
            return _refused(case, value.err)
    return _taken(case, value, text)


def _refused(case: Case, text: str) -> tuple[str, str]:
    """The outcome of a refusal."""
    usage = text.startswith("usage:")  # argparse writes how to call the command first
    other = r"\d+%\||it/s\]|read at \d+ × \d+ pixels"  # bars, and the note of the size
    lines = [line for line in re.split(r"[\r\n]+", text.strip()) if line and not re.search(other, line)]
    if case.says is None:
        return "lacking" if case.expected else "misnamed", _line(f"refused: {_last(text)}")
    if lacking := holds(lines[-1] if usage and lines else text, case.says):
        return "misnamed", _line(f"lacks {', '.join(lacking)}: {_last(text)}")
    if len(lines) > 1 and not usage:
        return "misnamed", _line(f"{len(lines)} lines: {' / '.join(lines)}")
    return "named", _line(_last(text))


def _taken(case: Case, value: object, text: str) -> tuple[str, str]:
    """The outcome of an input that was taken."""
    if case.warns is not None and not holds(text, case.warns):
        return "warned", _line(next((t for t in text.splitlines() if not holds(t, case.warns[:1])), text))
    if case.right is None:
        return "silent", _line(f"taken: {_shown(value)}")
    wrong = case.right(value)
    return ("lacking" if case.expected else "silent", _line(f"{wrong}")) if wrong else ("right", _line(_shown(value)))


def _shown(value: object) -> str:
    return " ".join((value.out if isinstance(value, Ran) else repr(value)).split())


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(re.split(r"[\r\n]+", text)) if line.strip()), "nothing said")


def _line(text: str, most: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"


@contextlib.contextmanager
def folder():
    """An empty folder to be in; left again, and removed."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        os.chdir(made)
        try:
            yield Path(made)
        finally:
            os.chdir(before)


# What is wanted of a value: functions for ``right``.


def fine(_: object) -> None:
    """Whatever came, it ended without an error, and that is right."""


def near(truth: object, tolerance: float = 1e-9) -> Callable[[object], str | None]:
    """The value is this, or close to it."""

    def check(value: object) -> str | None:
        import numpy as np

        wanted = truth() if callable(truth) else truth
        same = np.allclose(np.asarray(value, float), np.asarray(wanted, float), rtol=0, atol=tolerance, equal_nan=True)
        return None if same else f"{value}, and not {wanted}"

    return check


def has(*words: str) -> Callable[[object], str | None]:
    """The output of the command holds all of these words."""

    def check(ran: object) -> str | None:
        lacking = holds(ran.text, words)
        return f"no word of {', '.join(lacking)} in: {_shown(ran)}" if lacking else None

    return check


class Trap:
    """Leaves a file behind where somebody unpickles it."""

    def __reduce__(self):
        return os.system, ("touch SPRUNG",)


def unsprung(value: object) -> str | None:
    """Nothing was unpickled that runs a command."""
    return "a pickled command was run" if Path("SPRUNG").exists() else None


def nowhere(ending: str) -> dict[str, Callable[[], str]]:
    """Places where no file can be written: name → a function that makes the place and returns the path."""

    def through_a_file() -> str:
        Path("plain").write_text("a file\n")
        return f"plain/out{ending}"

    def a_folder() -> str:
        Path(f"there{ending}").mkdir()
        Path(f"there{ending}", "kept.txt").write_text("a file\n")
        return f"there{ending}"

    return {
        "through a file": through_a_file,
        "a folder": a_folder,
        "where nobody may write": lambda: f"/proc/out{ending}",
        "a name too long": lambda: "x" * 300 + ending,
    }


@contextlib.contextmanager
def small_disk(size: int = 512):
    """No file may grow beyond so many bytes: the nearest to a full disk that needs no rights."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def of_area(area: str) -> Callable[..., Case]:
    """`Case` with its area filled in."""
    return partial(Case, area)
