"""The cache: features, records and attributes, each in a file named after the content of all its inputs."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .errors import InputError, warn
from .paths import BUILD, IN_CHECKOUT, at_home, check_folder

T = TypeVar("T")


def path(*parts: str) -> Path:
    """A path in the cache, which ``FSLCORE_CACHE`` moves, for example to a larger disk; it is read at each call.

    The default is below ``_build`` in a checkout, and the platform's cache folder for an installed package.
    """
    return _folder().joinpath(*parts)


def get(path: Path, read: Callable[[Path], T], make: Callable[[Path], object]) -> T:
    """The content of a file of the cache, which is made first if it is missing or damaged.

    Parameters
    ----------
    path : Path
        A result of `path`.
    read : callable
        Gives the content of the file; raises any error if it is damaged, or of something else.
    make : callable
        Computes the content and writes it to the path, whole or not at all (`fslcore.paths.replace_file`).

    Raises
    ------
    InputError
        It has to be made, and the cache cannot be written to.
    """
    content = find(path, read)
    if content is None:
        check_writable()
        make(path)
        content = read(path)
    return content


def find(path: Path, read: Callable[[Path], T]) -> T | None:
    """The content of a file of the cache; None if there is none, or a damaged one, which a warning reports."""
    try:
        return read(path) if path.is_file() else None
    except FileNotFoundError:  # by now: another process has removed it
        return None
    except MemoryError:
        raise
    except Exception as error:  # readers raise anything on a broken file
        warn(f"{path} is damaged and made again ({str(error) or type(error).__name__})")
        return None


def check_writable() -> None:
    """Raise `InputError` if the cache cannot be written to; checked before results for it are computed.

    A read-only cache is used as long as it contains everything that is needed.
    """
    try:
        check_folder(path(), "FSLCORE_CACHE")
    except InputError as error:
        raise InputError(
            f"{error}, and it does not hold all results; set FSLCORE_CACHE to a folder that can be written to"
        ) from None


def _folder() -> Path:
    named = os.environ.get("FSLCORE_CACHE")
    if named or IN_CHECKOUT:
        return at_home(
            named or BUILD / "cache", "FSLCORE_CACHE"
        )  # some programs that set a variable do not expand ~
    try:
        from platformdirs import user_cache_path
    except (
        ModuleNotFoundError
    ):  # with NumPy and SciPy alone, nothing is computed that would be cached
        return Path.home() / ".cache" / "fslcore"
    return user_cache_path("fslcore", appauthor=False)


def digest(text: str) -> str:
    """SHA-256 that names a file of the cache."""
    return hashlib.sha256(text.encode()).hexdigest()
