"""The line that a command prints for an error, and its exit code."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable

from ..errors import InputError, missing

# What the library's messages name, and the option by which a command sets it.
OPTION_OF_ARGUMENT = {
    "accept=True": "--accept-terms",
    "downloads=FOLDER": "--from FOLDER",
    "sampling='closed'": "--samplings closed",
    "skip_small_classes=True": "--skip-small-classes",
    "FSLCORE_PRECISION=auto": "--precision auto",
}


class Terminated(KeyboardInterrupt):
    """SIGTERM: triggers the same clean-up as Ctrl-C."""


# An argument of the report with a value, as Python writes it, but no part of a path such as runs/seed=3.
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_LIST = rf"\[(?:[^][{{}}'\"]|{_TEXT})*\]"
_DICT = rf"\{{(?:[^{{}}'\"]|{_TEXT})*\}}"
_ARGUMENT = re.compile(
    r"(?<![^\s(])"
    r"(by|columns|common|decimal|group|higher_is_better|ignore|lower_is_better|methods|n|out_of|pm|reference|rows"
    r"|same_tasks|seed|separator|unit|value|where)="
    rf"(True|[A-Z]+|\d+|{_TEXT}|{_LIST}|{_DICT})(?![\w/]|\.\w)"
)


def with_options(text: str) -> str:
    """A message of the library with options of the command in place of arguments."""
    for argument, option in OPTION_OF_ARGUMENT.items():
        text = text.replace(argument, option)
    return with_arguments(text, _as_option)


def _as_option(name: str, words: list[str]) -> str:
    """``by`` with the word dataset as ``--by dataset``."""
    return " ".join([f"--{name.replace('_', '-')}", *map(shlex.quote, words)])


def with_arguments(text: str, form: Callable[[str, list[str]], str | None]) -> str:
    """A message with the arguments of a report that it states, such as ``by=['dataset']``, in
    another form.

    Parameters
    ----------
    form : function
        From an argument's name and its words, as the command takes them (``unit={'fold': 'run'}``
        has the word fold=run, and True none), to what replaces it; None leaves it as it is.
    """

    def replacement(argument: re.Match[str]) -> str:
        name, value = argument.groups()
        try:
            is_placeholder = re.fullmatch("[A-Z]+", value)
            words = _words(value if is_placeholder else ast.literal_eval(value))
        except (SyntaxError, ValueError):  # not written by the library
            return argument[0]
        return form(name, words) or argument[0]

    return _ARGUMENT.sub(replacement, text)


def _words(value: object) -> list[str]:
    """A value as the words of an option."""
    if value is True:
        return []
    if isinstance(value, dict):
        lists = {key: item for key, item in value.items() if isinstance(item, list)}
        words = [word for key, item in lists.items() for word in (key, *item)]
        words += [f"{key}={item}" for key, item in value.items() if key not in lists]
    else:
        words = value if isinstance(value, list) else [value]
    return [str(word) for word in words]


def message(error: BaseException, extra: str) -> tuple[str, int]:
    """The one-line message for an error, and the exit code; ``extra`` installs what the command
    needs.
    """
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, InputError):
        return with_options(str(error) if kind == "UnnamedRoles" else text), 2
    if isinstance(error, KeyboardInterrupt):
        return "stopped", 143 if isinstance(error, Terminated) else 130
    if isinstance(error, BrokenPipeError):
        return "", 141  # the code of a shell for output that `head` cuts off
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and "allocate" in text):
        return f"not enough memory{f' ({text})' if text else ''}", 2
    if isinstance(error, OSError):
        line = error.strerror or text
        return (line if error.filename is None else f"{error.filename}: {line}"), 2
    if isinstance(error, ModuleNotFoundError):
        package = error.name or "fsl"
        if not package.startswith("fsl"):  # one of ours is a fault
            return missing(package, extra), 2
    if isinstance(error, RecursionError):
        return f"the input is nested too deeply ({text})", 2
    if isinstance(error, UnicodeDecodeError):
        return f"a file is not UTF-8 text ({text})", 2
    if kind in _BROKEN:
        return f"a file is damaged or of another kind ({kind}: {text[:200]})", 2
    return (
        f"a fault of fslcore: {kind}: {text[:200]}; please report it with the output of --debug",
        1,
    )


# Errors of libraries on files that are truncated or of another kind; by name, since they are
# imported late.
_BROKEN = {
    "ArrowInvalid",
    "BadZipFile",
    "DecompressionBombError",
    "EOFError",
    "JSONDecodeError",
    "SafetensorError",
    "UnpicklingError",
    "YAMLError",
}
