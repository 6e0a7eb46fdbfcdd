"""The cache: features, records and attributes, each in a file named after the content of all its inputs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .errors import InputError
from .paths import BUILD, IN_CHECKOUT, at_home, check_folder

__all__ = ["check_writable", "digest", "path"]


def path(*parts: str) -> Path:
    """A path in the cache, which ``FSLCORE_CACHE`` moves, for example to a larger disk; it is read at each call.

    The default is below ``_build`` in a checkout, and the platform's cache folder for an installed package.
    """
    return _folder().joinpath(*parts)


def check_writable() -> None:
    """Raise `InputError` if the cache cannot be written to; checked before results for it are computed.

    A read-only cache is used as long as it contains everything that is needed.
    """
    try:
        check_folder(path(), "FSLCORE_CACHE")
    except InputError as error:
        raise InputError(
            f"{error}, and it does not hold all that is needed; set FSLCORE_CACHE to a folder that can be written to"
        ) from None


def _folder() -> Path:
    named = os.environ.get("FSLCORE_CACHE")
    if named or IN_CHECKOUT:
        return at_home(named or BUILD / "cache", "FSLCORE_CACHE")  # some programs that set a variable do not expand ~
    try:
        from platformdirs import user_cache_path
    except ModuleNotFoundError:  # with NumPy and SciPy alone, nothing is computed that would be cached
        return Path.home() / ".cache" / "fslcore"
    return user_cache_path("fslcore", appauthor=False)


def digest(text: str) -> str:
    """SHA-256 that names a file of the cache."""
    return hashlib.sha256(text.encode()).hexdigest()
