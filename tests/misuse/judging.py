"""What may come of bad and odd input, and how it is judged: all tables of this folder go through `judge`.

A row of a table is a name, an input and what is expected of it:

- a text: the input is refused, in one line that holds these words, and nothing is written (`refused`);
- a function: the input is taken, and this says whether what came of it is right;
- `Warned`: the input is taken, and words on it are printed or warned.
"""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fslbook import cli as book
from fslcore.cli import app
from fslcore.errors import InputError

SLOW = 30  # seconds, after which a case is one that does not end
# What is no part of a refusal: progress bars, and the note on the size at which images are read.
BESIDE = re.compile(r"\d+%\||it/s\]|read at \d+ × \d+ pixels")
COMPUTED = re.compile(r"mean accuracy|epoch \d|±|% of further images")


@dataclass(frozen=True)
class Done:
    """What came of a call or a command: its exit code (2: refused), what it printed or warned of, what it returned."""

    code: int
    out: str = ""
    err: str = ""
    value: object = None

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"


@dataclass(frozen=True)
class Warned:
    """Expected: taken, with these words on it."""

    words: str


def row(name: str, *rest: object) -> object:
    """A row of a table, with its name."""
    return pytest.param(*rest, id=name or "empty")


def fslcore(*arguments: object) -> Done:
    """``fslcore ARGUMENTS``, inside this process."""
    return _run(app.main, arguments)


def fslbook(*arguments: object) -> Done:
    """``fslbook ARGUMENTS``, inside this process."""
    return _run(book.main, arguments)


def _run(main: Callable[[list[str]], int], arguments: tuple[object, ...]) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    return Done(int(code or 0), out.getvalue(), err.getvalue())


def command(line: str, stop_after: float | None = None) -> Done:
    """A line of bash in a process of its own; $FSLCORE and $FSLBOOK are the commands. Ctrl-C after some seconds."""
    env = {**os.environ, "FSLCORE": f"{sys.executable} -m fslcore", "FSLBOOK": f"{sys.executable} -m fslbook"}
    process = subprocess.Popen(
        ["bash", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env
    )
    try:
        if stop_after is not None:
            time.sleep(stop_after)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
    return Done(process.returncode, out, err)


def asked(call: Callable[[], object]) -> Done:
    """What came of a call: what it returned (as it is, where that is `Done`), or the line with which it refused."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = call()
        except InputError as error:
            return Done(2, err=str(error))
    text = "".join(f"{w.message}\n" for w in said if issubclass(w.category, (UserWarning, FutureWarning)))
    done = value if isinstance(value, Done) else Done(0, value=value)
    return Done(done.code, done.out + text, done.err, done.value)


def holds(text: str, words: str) -> bool:
    """Whether a text holds all of these words, whatever their case: ``a & b|c`` is a, and b or c."""
    return all(any(one in text.lower() for one in some.split("|")) for some in words.lower().split(" & "))


def files(folder: str = ".") -> dict[str, tuple]:
    """Every file and folder below, and what would tell that it was written to."""
    found = {}
    for above, folders, names in os.walk(folder):
        for name in folders + names:
            of = os.lstat(os.path.join(above, name))
            found[os.path.join(above, name)] = (of.st_mode, *((of.st_size, of.st_mtime_ns) if name in names else ()))
    return found


def refused(done: Done, words: str, late: bool = False) -> None:
    """Refused in one line, without a traceback, that holds the words; unless late, before anything is computed."""
    assert done.code == 2, f"exit code {done.code}: {done.text or done.value}"
    assert late or not COMPUTED.search(done.out), done.out
    lines = [line for line in re.split(r"[\r\n]+", done.err.strip()) if line and not BESIDE.search(line)]
    assert len(lines) == 1 or lines[0].startswith("usage:"), lines
    assert "Traceback" not in done.err and holds(lines[-1], words), lines[-1]


def judge(call: Callable[[], object], expected: object) -> None:
    """Call, and compare what came of it with what is expected (see above)."""
    before = files()
    done = asked(call)
    if isinstance(expected, str):
        refused(done, expected)
        assert files() == before
    else:
        assert done.code == 0, done.err
        assert "Traceback" not in done.text
        assert holds(done.text, expected.words) if isinstance(expected, Warned) else expected(done), done


# What is expected of what was taken.


def fine(_: Done) -> bool:
    """It ended without an error, and that is all."""
    return True


def near(truth: object, tolerance: float = 1e-9) -> Callable[[Done], bool]:
    """The value is this, or close to it."""
    return lambda done: np.allclose(np.asarray(done.value, float), truth, rtol=0, atol=tolerance, equal_nan=True)


def has(words: str) -> Callable[[Done], bool]:
    """All of these words are printed."""
    return lambda done: holds(done.text, words)


def split(line: str) -> list[str]:
    """The words of a command line."""
    return shlex.split(line)


# Bad input of every kind.


class Trap:
    """Leaves a file behind where somebody unpickles it: `judge` then finds a file too many."""

    def __reduce__(self):
        return os.system, ("touch SPRUNG",)


def fill(path: str | Path, content: str | bytes | Callable[[Path], object]) -> None:
    """A file of this content, or that this function writes."""
    path = Path(path)
    if callable(content):
        content(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def nowhere(ending: str) -> list:
    """Rows of places where no file can be written: (a function that makes the place, its path)."""

    def through_a_file() -> None:
        Path("plain").write_text("a file\n")

    def a_folder() -> None:
        Path(f"there{ending}").mkdir()
        Path(f"there{ending}", "kept.txt").write_text("a file\n")

    return [
        row("through a file", through_a_file, f"plain/out{ending}", "plain"),
        row("a folder", a_folder, f"there{ending}", "there"),
        row("where nobody may write", lambda: None, f"/proc/out{ending}", "proc"),
        row("a name too long", lambda: None, "x" * 300 + ending, "xxx"),
    ]


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
