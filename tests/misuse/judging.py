"""Bad and unusual input: how the tests of this folder call, and what they require of the result.

A row of a table ends with what is required: words, with which the input is `refused` in one line while nothing is
written; or a function, which judges the result of an input that is `taken`.
"""

import contextlib
import io
import re
import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fslbook import cli as book
from fslcore.cli import app
from fslcore.errors import InputError


@dataclass(frozen=True)
class Done:
    """A call or a command that ended: its exit code (2: refused), what it printed or warned of, what it returned."""

    code: int
    out: str = ""
    err: str = ""
    value: object = None

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"


def row(name: str, *cells: object) -> object:
    """A row of a table, with its name."""
    return pytest.param(*cells, id=name or "empty")


def fslcore(*arguments: object) -> Done:
    """``fslcore ARGUMENTS``, inside this process."""
    return _run(app.main, arguments)


def report_as_proposed(*arguments: object) -> Done:
    """``fslcore report ARGUMENTS``; where columns have no role, again by the command that it proposes."""
    done = fslcore("report", *arguments)
    proposed = re.search(r"^  fslcore (report .*)", done.err, re.MULTILINE)
    if done.code == 2 and proposed:
        outputs = arguments[arguments.index("-o") :][:2] if "-o" in arguments else ()
        return fslcore(*shlex.split(proposed[1]), *outputs)
    return done


def fslbook(*arguments: object) -> Done:
    """``fslbook ARGUMENTS``, inside this process."""
    return _run(book.main, arguments)


def _run(main: Callable[[list[str]], int], arguments: tuple[object, ...]) -> Done:
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code or 0
    return Done(code, out.getvalue(), err.getvalue())


def asked(call: Callable[[], object]) -> Done:
    """The result of a call, or the line with which it refused; warnings count as printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except InputError as error:
            return Done(2, err=str(error))
    done = value if isinstance(value, Done) else Done(0, value=value)
    return replace(done, out=done.out + "".join(f"{warning.message}\n" for warning in caught))


def holds(text: str, words: str) -> bool:
    """Whether a text has all of these words, in any case: ``a & b|c`` is a, and b or c."""
    text = text.lower()
    return all(
        any(word in text for word in words_of.split("|")) for words_of in words.lower().split(" & ")
    )


def refused(done: Done, words: str) -> None:
    """Refused in one line with these words, without a traceback."""
    assert done.code == 2, f"exit code {done.code}: {done.text or done.value}"
    lines = done.err.strip() if "no role" in done.err else done.err.strip().splitlines()[-1]
    assert holds(lines, words) and "Traceback" not in done.err, done.err


def taken(call: Callable[[], object]) -> Done:
    """The result of a call that ends without an error."""
    done = asked(call)
    assert done.code == 0 and "Traceback" not in done.text, done.err
    return done


def judge(call: Callable[[], object], expected: object) -> None:
    """Call, and compare the result with what the row of a table requires."""
    if callable(expected):
        done = taken(call)
        assert expected(done), done
        return
    before = _files()
    refused(asked(call), expected)
    assert _files() == before


def _files() -> dict[Path, float]:
    """Every file and folder of this test, and when a file was last written to."""
    return {path: 0 if path.is_dir() else path.lstat().st_mtime_ns for path in Path().rglob("*")}


def has(words: str) -> Callable[[Done], bool]:
    """These words are printed or warned of."""
    return lambda done: holds(done.text, words)


split = shlex.split


def fill(path: str | Path, content: str | bytes | Callable[[Path], object]) -> None:
    """A file of this content, or that this function writes."""
    path = Path(path)
    if callable(content):
        content(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
