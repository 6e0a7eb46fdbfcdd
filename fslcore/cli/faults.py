"""The line that a command prints for an error, and its exit code."""

from __future__ import annotations

from ..errors import InputError, missing

# What the library's messages name, and the option by which a command sets it.
OPTION_OF_ARGUMENT = {
    "accept=True": "--accept-terms",
    "downloads=FOLDER": "--from FOLDER",
    "sampling='closed'": "--samplings closed",
    "same_tasks='yes'": "--same-tasks yes",
    "skip_small_classes=True": "--skip-small-classes",
    "FSLCORE_PRECISION=auto": "--precision auto",
}


class Terminated(KeyboardInterrupt):
    """SIGTERM: triggers the same clean-up as Ctrl-C."""


def with_options(text: str) -> str:
    """A message of the library with options of the command in place of arguments."""
    for argument, option in OPTION_OF_ARGUMENT.items():
        text = text.replace(argument, option)
    return text


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
