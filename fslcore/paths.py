"""Locations of data and outputs, and safe writing of files."""

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

from .errors import InputError, memory, missing, number, quoted, reason, warn

_PACKAGE = Path(__file__).resolve().parent
ROOT = _PACKAGE.parent
IN_CHECKOUT = (ROOT / "pyproject.toml").is_file()
# In a checkout the data are beside the package; otherwise they are a distribution of their own.
_SPEC = None if IN_CHECKOUT else find_spec("fslcore_data")
_FOLDERS = _SPEC and _SPEC.submodule_search_locations
DATA = Path(_FOLDERS[0]) if _FOLDERS else ROOT / "data"
# Default folder of outputs: for an installed package, the current folder.
BUILD = ROOT / "_build" if IN_CHECKOUT else Path()


def check_data(extra: str = "evaluate") -> None:
    """Raise `InputError` if the data are not installed, which come with this extra."""
    if not DATA.is_dir():
        raise InputError(missing("fslcore-data", extra))


def check_output(
    path: str | Path,
    endings: Iterable[str] = (),
    inputs: Iterable[str | Path] = (),
    name: str = "output",
) -> Path:
    """The path, if a file can be written there; checked before the work starts, and nothing is left behind.

    Parameters
    ----------
    endings : of str
        The allowed suffixes, with their dots; none for any.
    inputs : of paths
        Files to be read, and folders whose files are read: none of them is overwritten.
    name : str
        The name of the path in messages.

    Raises
    ------
    InputError
        Another suffix; a folder or a device; an input; a name that is too long; a parent that is a file, is missing
        and cannot be made, or cannot be written to. If the path is a link, its target is checked.
    """
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError(f"{name} must be the name of a file, got {quoted(path)}")
    endings = list(endings)
    try:
        path = Path(path).expanduser()
        if endings and path.suffix not in endings:
            raise InputError(f"{name} must be a name ending in {' or '.join(endings)}, got {path}")
        if path.is_dir():
            raise InputError(f"{name} must be the name of a file, got the folder {path}")
        if path.exists() and not path.is_file():
            raise InputError(f"{name} must be a regular file, which would be replaced, got {path}")
        _check_no_input(path, inputs, name)
        target = Path(os.path.realpath(path))
        with suppress(FileNotFoundError, NotADirectoryError):
            # Also reports a name that is too long only for the temporary file.
            os.lstat(_part(target.with_name(path.name)))
        _check_writable(target.parent, name)
    except InputError:
        raise
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # the others: a null byte, and a ~ of an unknown user
        raise InputError(f"{name} = {path}; {getattr(error, 'strerror', None) or error}") from None
    return path


def note_replacement(path: Path, name: str = "output") -> None:
    """Write a note if there is a file that a command is going to replace."""
    if path.is_file() and path.stat().st_size:
        written = time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
        warn(f"{name} = {path}; the file of {written} there will be replaced when this is done")


def _check_no_input(path: Path, inputs: Iterable[str | Path], name: str) -> None:
    resolved = path.resolve()
    for read_path in (at_home(source, "input") for source in inputs):
        if path.exists() and read_path.resolve() in (resolved, *resolved.parents):
            raise InputError(
                f"{name} = {path}; this is an input ({read_path}), which is never overwritten"
            )


def at_home(path: str | Path, name: str) -> Path:
    """The path, with ``~`` replaced by the home folder.

    Raises
    ------
    InputError
        A ``~`` of an unknown user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"{name} = {path}; {error}") from None


def check_folder(path: str | Path, name: str = "folder") -> Path:
    """The path, if it is a folder that can be written to, or can be created.

    Raises
    ------
    InputError
        A file, or a folder that cannot be created or written to.
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
        raise InputError(f"{name} must be in a folder, got the file {folder}")
    try:
        # Tested by writing, since permissions are not reliable (read-only file systems, root), and in a new folder,
        # since /proc creates files of its own.
        os.rmdir(tempfile.mkdtemp(dir=folder, prefix=".fslcore."))
    except OSError as error:
        raise InputError(f"{name}: nothing can be written to {folder} ({error.strerror})") from None


def expanded_limit(packed_size: int) -> float:
    """The bytes that a file of this size may expand to.

    They are 1 GiB, or the number of GiB in ``FSLCORE_EXPANDED``, and 20 times the file.
    """
    text = os.environ.get("FSLCORE_EXPANDED") or "1"
    gib = number(
        "FSLCORE_EXPANDED", float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else text, over=0
    )
    return max(gib * 2**30, 20 * packed_size)


def check_expanded(name: str, path: Path, size: int) -> None:
    """Raise `InputError` if the content of a file expands to far more bytes than the file; checked before expanding.

    Allowed is `expanded_limit`; never more than the memory of this machine.
    """
    packed_size = path.stat().st_size
    allowed = min(expanded_limit(packed_size), memory())
    if size > allowed:
        raise InputError(
            f"{name} must expand to at most {allowed / 2**30:,.1f} GiB, got {size / 2**30:,.1f} "
            f"GiB from the {packed_size / 2**20:,.1f} MiB of {path} "
            f"(FSLCORE_EXPANDED={math.ceil(size / 2**30)} allows more)"
        )


def check_zip(
    name: str,
    path: Path,
    inside: Iterable[str] | None = None,
    file: BinaryIO | None = None,
    expansion: int = 1,
) -> None:
    """`check_expanded` for a zip archive, such as .npz and .pt; other files are not checked.

    Parameters
    ----------
    inside : of str, optional
        The arrays to be read from it; by default all.
    file : file object, optional
        The open file at ``path``, if it is open.
    expansion : int
        Bytes of memory that a reader needs per byte of content.
    """
    if zipfile.is_zipfile(file or path):
        with zipfile.ZipFile(file or path) as archive:
            members = archive.infolist()
        sizes = [
            m.file_size
            for m in members
            if inside is None or m.filename.removesuffix(".npy") in inside
        ]
        check_expanded(name, path, expansion * sum(sizes))


@contextmanager
def readable(name: str, path: Path, form: str) -> Iterator[None]:
    """Refuse a file that is missing, or that a reader fails on, in one line.

    Parameters
    ----------
    name : str
        The argument or the kind of input, with which the line begins.
    form : str
        What the file should be: "a readable table".

    Raises
    ------
    InputError
        The file is missing or a folder; the block raises any error but this one and a lack of memory.
    """
    if not path.is_file():
        raise InputError(
            f"{name}: {path} is a folder" if path.is_dir() else f"{name}: no file {path}"
        )
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # readers raise anything on a broken file
        raise InputError(f"{name}: {path} is not {form} ({reason(error)})") from None


def load_tensors(path: Path) -> object:
    """Load the output of ``torch.save`` on the CPU: tensors, numbers and texts; nothing in the file is executed.

    Raises
    ------
    ValueError
        The file contains other objects. PyTorch's own message says how to execute them.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the protocol of a pickle that the next line refuses
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:
            raise ValueError("it holds objects other than tensors, which are not read") from None


# The owner of a temporary name: process, machine (folders can be shared between machines) and thread.
_HOST = f"{zlib.crc32(platform.node().encode()):08x}"
_OWNER = r"(\d+)-([0-9a-f]{8})(?:-\d+)?"
_ABANDONED = (
    7 * 24 * 3600
)  # seconds after which a file is abandoned, even if its process number is in use again


def _mark() -> str:
    return f"{os.getpid()}-{_HOST}-{threading.get_native_id()}"


def _part(path: Path) -> Path:
    return path.with_name(f".{_mark()}.{path.name}")  # keeps the suffix, which names the format


def _remove_stale(folder: Path, pattern: str) -> None:
    """Remove files left in a folder by killed processes: full matches of the pattern, whose groups name the owner."""
    full_match = re.compile(pattern).fullmatch  # a folder of the cache has thousands of files
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            owner = full_match(entry.name)
            if owner and _is_stale(owner[1], owner[2], entry):
                with suppress(OSError):  # another process may do the same
                    shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(
                        entry
                    )


def _is_stale(process: str, host: str, entry: os.DirEntry[str]) -> bool:
    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
        return True
    if host != _HOST or os.name != "posix":  # elsewhere, checking a process would end it
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):  # a process of another user
        pass
    return False


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, removed at the end; those left by killed processes are removed first."""
    _remove_stale(Path(tempfile.gettempdir()), rf"fslcore\.{_OWNER}\.\w+")
    with tempfile.TemporaryDirectory(prefix=f"fslcore.{_mark()}.") as folder:
        yield Path(folder)


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Call ``write(part)`` on a temporary name beside ``path``, then rename: whole or absent.

    A link stays a link, and its target is replaced. The file has the permissions of a new one. Files left by a killed
    process are removed.

    Raises
    ------
    OSError
        The file cannot be written (for example a full disk); names ``path``. Errors of ``write`` are not changed.
    """
    target = Path(os.path.realpath(path))
    waiting = _waiting.get()
    part = _part(target.with_name(path.name))
    try:
        if waiting is not None:
            waiting.folders += [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target.parent, rf"\.{_OWNER}\.{re.escape(path.name)}")
        part.touch()  # with the default permissions of a new file; some libraries restrict theirs to the owner
        mode = part.stat().st_mode
        part.unlink()
        write(part)
        part.chmod(mode)
        if waiting is not None:
            waiting.parts[target] = part
        else:
            os.replace(part, target)
    except Exception as error:
        code = _error_code(error, target.parent)
        if code is None or getattr(error, "filename", None) not in (None, str(part)):
            raise
        raise OSError(code, os.strerror(code), str(path)) from error
    finally:
        if waiting is None or target not in waiting.parts:
            with suppress(OSError):  # the first error is reported
                part.unlink()


def _error_code(error: Exception, folder: Path) -> int | None:
    """The system's number of an error of writing; libraries reword its message, and none names the file."""
    code: int | None = getattr(error, "errno", None)
    if code:
        return code
    if isinstance(error, OSError) or type(error).__name__ == "SafetensorError":
        match = re.search(r"(?:errno|os error) (\d+)", str(error), re.IGNORECASE)
        if match:
            return int(match[1])
    return errno.ENOSPC if shutil.disk_usage(folder).free < 4096 else None


@dataclass
class _Waiting:
    """Written files without their final names yet, by that name; and the folders created for them."""

    parts: dict[Path, Path] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def written_together() -> Iterator[None]:
    """All files that `replace_file` writes inside get their names at the end, or none does.

    Raises
    ------
    IsADirectoryError
        One of the names is that of a folder.
    """
    waiting = _Waiting()
    token = _waiting.set(waiting)
    try:
        yield
        for target in waiting.parts:
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        for target, part in waiting.parts.items():
            os.replace(part, target)
    finally:
        _waiting.reset(token)
        for part in waiting.parts.values():
            part.unlink(missing_ok=True)
        for folder in waiting.folders:
            with suppress(OSError):  # the folder is not empty
                folder.rmdir()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Exclusive access to a file among all callers: what is read inside is still current when it is written back.

    Others wait for ``.NAME.lock`` beside it, which is removed at the end (Windows keeps it). Without file locks in the
    file system, there is no waiting.
    """
    # The package filelock leaves its file beside the target on Linux, and waits by polling.
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = target.with_name(f".{target.name}.lock")
    tries = 1000
    while True:
        with open(lock, "ab") as file:
            with suppress(OSError):
                _wait_for(file.fileno())
            tries -= 1
            if tries and not is_at(
                lock, file.fileno()
            ):  # the previous owner removed it: there is another, or none
                continue
            try:
                yield
            finally:
                with suppress(OSError):
                    os.unlink(lock)
            return


def _wait_for(file: int) -> None:
    """Take the lock of an open file; closing the file releases it."""
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


def is_at(path: Path, file: int) -> bool:
    """Whether an open file is the one that the path names now."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False
