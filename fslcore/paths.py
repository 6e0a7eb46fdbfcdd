"""Where the repository keeps its data and what it builds, and how a file is written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from .errors import InputError

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
NOTEBOOKS = ROOT / "notebooks"
PROFILES = ROOT / "profiles"
BUILD = ROOT / "_build"
# FSLCORE_CACHE moves the cache of features and records, to a larger disk say.
CACHE = Path(os.environ.get("FSLCORE_CACHE", BUILD / "cache"))


def check_output(
    path: str | Path, endings: Iterable[str] = (), inputs: Iterable[str | Path] = (), name: str = "output"
) -> Path:
    """The path, if a file can be written there: asked before the work starts, so nothing is left behind.

    Parameters
    ----------
    endings : of str
        Those that are allowed, with their dots; none for any.
    inputs : of paths
        Files that are read, and folders of which files are read: none of them is overwritten.
    name : str
        What the message calls the path.

    Raises
    ------
    InputError
        Another ending; a folder or a device; an input; a name that is too long; a parent that is a file, is not
        there and cannot be made, or cannot be written to.
    """
    path, endings = Path(path).expanduser(), list(endings)
    if endings and path.suffix not in endings:
        raise InputError(f"{name} = {path}; a name that ends in {' or '.join(endings)} is allowed")
    try:
        if path.is_dir():
            raise InputError(f"{name} = {path}; this is a folder, the name of a file is needed")
        if path.exists() and not path.is_file():
            raise InputError(f"{name} = {path}; this is no ordinary file, and would be replaced")
        for other in (Path(i).expanduser() for i in inputs):
            if path.exists() and (path.resolve() == other.resolve() or other.resolve() in path.resolve().parents):
                raise InputError(f"{name} = {path}; this is what is read ({other}), and is never overwritten")
        with suppress(FileNotFoundError, NotADirectoryError):
            os.lstat(_part(path))  # a name that is too long is told, also one that is only while it is written
        _check_writable(path.absolute().parent, name)
    except OSError as error:
        raise InputError(f"{name} = {path}; {error.strerror}") from None
    return path


def check_folder(path: str | Path, name: str = "folder") -> Path:
    """The path, if it is a folder that files can be written to, or can be made one.

    Raises
    ------
    InputError
        A file, or a folder that cannot be made or written to.
    """
    path = Path(path).expanduser()
    try:
        _check_writable(path.absolute(), name)
    except OSError as error:
        raise InputError(f"{name} = {path}; {error.strerror}") from None
    return path


def _check_writable(folder: Path, name: str) -> None:
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"{name}: {folder} is a file, a folder is needed")
    try:
        # Tried, since permissions do not tell (file systems that are read-only, root), and in a folder of its own,
        # since /proc has files of its own making.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fslcore."):
            pass
    except OSError as error:
        raise InputError(f"{name}: nothing can be written to {folder} ({error.strerror})") from None


def _part(path: Path) -> Path:
    return path.with_name(f".{os.getpid()}.{path.name}")  # keeps the ending, which names the format


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write(part)`` on a temporary name beside ``path``, then rename: whole or absent.

    Raises
    ------
    OSError
        It cannot be written (a full disk, say); names ``path``. What ``write`` raises of itself stays as it is.
    """
    part = _part(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        os.replace(part, path)
    except Exception as error:
        # Libraries tell what the system said in words of their own, and none names the file.
        told = re.search(r"(?:errno|os error) (\d+)", str(error), re.IGNORECASE)
        of_writing = isinstance(error, OSError) or type(error).__name__ == "SafetensorError"
        number = getattr(error, "errno", None) or (int(told[1]) if told and of_writing else None)
        if number is None and shutil.disk_usage(path.parent).free < 4096:
            number = errno.ENOSPC
        if number is None or getattr(error, "filename", None) not in (None, str(part)):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error
    finally:
        with suppress(OSError):  # what went wrong before is what is told
            part.unlink()
