"""Where data, notebooks and profiles lie, where what is made goes, and how a file is written."""

from __future__ import annotations

import errno
import math
import os
import pickle
import platform
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from .errors import InputError, memory, number, shown

_PACKAGE = Path(__file__).resolve().parent
ROOT = _PACKAGE.parent
IN_CHECKOUT = (ROOT / "pyproject.toml").is_file()
# The wheel holds inside the package what a checkout has beside it; the data are a distribution of their own.
_SHIPPED = ROOT if IN_CHECKOUT else _PACKAGE / "_shipped"
_SPEC = None if IN_CHECKOUT else find_spec("fslcore_data")
DATA = Path(_SPEC.submodule_search_locations[0]) if _SPEC else _SHIPPED / "data"
NOTEBOOKS = _SHIPPED / "notebooks"
PROFILES = _SHIPPED / "profiles"
# Where outputs go that nobody has named: of an installed package, to the present folder.
BUILD = ROOT / "_build" if IN_CHECKOUT else Path()
RUNS = BUILD / "runs" if IN_CHECKOUT else Path()


def check_shipped(data: bool = False) -> None:
    """Raise `InputError` where notebooks or profiles are missing, or the data where they are needed."""
    for folder in (NOTEBOOKS, PROFILES):
        if not folder.is_dir():
            raise InputError(f"no folder {folder}: this installation of fslcore is incomplete; install its wheel again")
    if data and not DATA.is_dir():
        raise InputError("fslcore-data is not installed; pip install 'fslcore[evaluate]' brings it")


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
        there and cannot be made, or cannot be written to. Where the path is a link, this is asked of what it leads to.
    """
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError(f"{name} = {shown(path)}; the name of a file is allowed")
    endings = list(endings)
    try:
        path = Path(path).expanduser()
        if endings and path.suffix not in endings:
            raise InputError(f"{name} = {path}; a name that ends in {' or '.join(endings)} is allowed")
        if path.is_dir():
            raise InputError(f"{name} = {path}; this is a folder, the name of a file is needed")
        if path.exists() and not path.is_file():
            raise InputError(f"{name} = {path}; this is no ordinary file, and would be replaced")
        for other in (Path(i).expanduser() for i in inputs):
            if path.exists() and (path.resolve() == other.resolve() or other.resolve() in path.resolve().parents):
                raise InputError(f"{name} = {path}; this is what is read ({other}), and is never overwritten")
        target = Path(os.path.realpath(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            # A name that is too long is told, also one that is only while it is written.
            os.lstat(_part(target.with_name(path.name)))
        _check_writable(target.parent, name)
    except InputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # the others of a null byte, and of a ~ of nobody
        raise InputError(f"{name} = {path}; {getattr(error, 'strerror', None) or error}") from None
    return path


def at_home(path: str | Path, name: str) -> Path:
    """The path, with the home folder for ``~``.

    Raises
    ------
    InputError
        A ``~`` of nobody.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"{name} = {path}; {error}") from None


def check_folder(path: str | Path, name: str = "folder") -> Path:
    """The path, if it is a folder that files can be written to, or can be made one.

    Raises
    ------
    InputError
        A file, or a folder that cannot be made or written to.
    """
    path = at_home(path, name)
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


def check_expanded(name: str, path: Path, size: int) -> None:
    """Raise `InputError` where what a file holds takes far more bytes than the file: asked before it is expanded.

    Allowed are 1 GiB, or as many GiB as ``FSLCORE_EXPANDED`` says, and 20 times the file; never more than this machine
    has memory.
    """
    told = os.environ.get("FSLCORE_EXPANDED") or "1"
    gib = number("FSLCORE_EXPANDED", float(told) if re.fullmatch(r"\d+(\.\d+)?", told) else told, above=0)
    now = path.stat().st_size
    if size > (most := min(max(gib * 2**30, 20 * now), memory())):
        raise InputError(
            f"{name}: {path} would expand from {now / 2**20:,.1f} MiB to {size / 2**30:,.1f} GiB; up to "
            f"{most / 2**30:,.1f} GiB are allowed (FSLCORE_EXPANDED = {math.ceil(size / 2**30)} allows more)"
        )


def check_zip(name: str, path: Path, inside: Iterable[str] | None = None, file: BinaryIO | None = None) -> None:
    """`check_expanded` of a file that is a zip archive, as .npz and .pt are; of any other nothing is asked.

    Parameters
    ----------
    inside : of str, optional
        The arrays that are read from it; all where it is not given.
    file : file object, optional
        What is at ``path``, where it was opened.
    """
    if zipfile.is_zipfile(file or path):
        with zipfile.ZipFile(file or path) as archive:
            parts = [i for i in archive.infolist() if inside is None or i.filename.removesuffix(".npy") in inside]
        check_expanded(name, path, sum(part.file_size for part in parts))


def load_tensors(path: Path) -> object:
    """What ``torch.save`` wrote, in the memory of the CPU: tensors, numbers and texts; nothing in the file is run.

    Raises
    ------
    ValueError
        The file holds other objects. PyTorch's own message says how to run them.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the protocol of a pickle that is refused in the next line
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise ValueError("it holds objects other than tensors, which are not read") from None


# Whose a temporary name is: the process and the machine, since a folder can be shared between machines; and the thread.
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
_OWNER = r"(\d+)-([0-9a-f]{8})(?:-\d+)?"
_ABANDONED = 7 * 24 * 3600  # seconds after which nobody writes to it any more, whoever has the number by now


def _mark() -> str:
    return f"{os.getpid()}-{_HOST}-{threading.get_native_id()}"


def _part(path: Path) -> Path:
    return path.with_name(f".{_mark()}.{path.name}")  # keeps the ending, which names the format


def _remove_stale(folder: Path, pattern: str) -> None:
    """Remove what killed processes have left in a folder: all whose whole name fits, with the owner in its groups."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            owner = re.fullmatch(pattern, entry.name)
            if owner and _is_stale(int(owner[1]), owner[2], entry):
                with suppress(OSError):  # another process is at it too
                    shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)


def _is_stale(process: int, host: str, entry: os.DirEntry) -> bool:
    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
        return True
    if host != _HOST or os.name != "posix":  # elsewhere, to ask for a process would end it
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):  # somebody else's
        return False
    return False


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed at the end; what killed processes have left of theirs goes first."""
    _remove_stale(Path(tempfile.gettempdir()), rf"fslcore\.{_OWNER}\.\w+")
    with tempfile.TemporaryDirectory(prefix=f"fslcore.{_mark()}.") as folder:
        yield Path(folder)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write(part)`` on a temporary name beside ``path``, then rename: whole or absent.

    A link stays one, and what it leads to is replaced. The file has the permissions of any new one. What a killed
    process has left of it is removed.

    Raises
    ------
    OSError
        It cannot be written (a full disk, say); names ``path``. What ``write`` raises of itself stays as it is.
    """
    target, waiting = Path(os.path.realpath(path)), _waiting.get()
    part = _part(target.with_name(path.name))
    try:
        if waiting is not None:
            waiting.folders += [above for above in target.parents if not above.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target.parent, rf"\.{_OWNER}\.{re.escape(path.name)}")
        part.touch()  # with the permissions that a new file has here; some libraries leave theirs to the owner alone
        mode = part.stat().st_mode
        part.unlink()
        write(part)
        part.chmod(mode)
        if waiting is not None:
            waiting.parts[target] = part
        else:
            os.replace(part, target)
    except Exception as error:
        # Libraries tell what the system said in words of their own, and none names the file.
        told = re.search(r"(?:errno|os error) (\d+)", str(error), re.IGNORECASE)
        of_writing = isinstance(error, OSError) or type(error).__name__ == "SafetensorError"
        number = getattr(error, "errno", None) or (int(told[1]) if told and of_writing else None)
        if number is None and shutil.disk_usage(target.parent).free < 4096:
            number = errno.ENOSPC
        if number is None or getattr(error, "filename", None) not in (None, str(part)):
            raise
        raise OSError(number, os.strerror(number), str(path)) from error
    finally:
        if waiting is None or target not in waiting.parts:
            with suppress(OSError):  # what went wrong before is what is told
                part.unlink()


@dataclass
class _Waiting:
    """Files that are written and have no name yet, by the name that they get; and the folders that were made."""

    parts: dict[Path, Path] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """All files that `replace_file` writes inside get their names at the end, or none does.

    Raises
    ------
    IsADirectoryError
        One of the names is that of a folder.
    """
    made = _Waiting()
    token = _waiting.set(made)
    try:
        yield
        for target in made.parts:
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        for target, part in made.parts.items():
            os.replace(part, target)
    finally:
        _waiting.reset(token)
        for part in made.parts.values():
            part.unlink(missing_ok=True)
        for folder in made.folders:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with a file among all who ask: what is read from it here still holds when it is written back.

    Others wait for ``.NAME.lock`` beside it, which goes at the end (Windows keeps it). Where the file system knows no
    locks, nobody waits.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    lock, tries = target.with_name(f".{target.name}.lock"), 1000
    while True:
        with open(lock, "ab") as file:
            with suppress(OSError):
                _wait_for(file.fileno())
            tries -= 1
            if tries and not _is_at(lock, file.fileno()):  # who had it before has removed it: there is another, or none
                continue
            try:
                yield
            finally:
                with suppress(OSError):
                    os.unlink(lock)
            return


def _wait_for(file: int) -> None:
    """Take the lock of an open file, which its closing gives back."""
    if sys.platform != "win32":
        import fcntl

        return fcntl.flock(file, fcntl.LOCK_EX)
    import msvcrt

    while True:
        try:
            return msvcrt.locking(file, msvcrt.LK_LOCK, 1)
        except OSError as error:
            if error.errno != errno.EDEADLOCK:  # after ten seconds
                raise


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False
