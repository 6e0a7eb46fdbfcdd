"""The cache: features, records and attributes, each in a file named after the content of all that made it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .errors import InputError
from .paths import BUILD, IN_CHECKOUT, at_home, check_folder

__all__ = ["check_writable", "digest", "path"]


def path(*parts: str) -> Path:
    """A path in the cache, which ``FSLCORE_CACHE`` moves, to a larger disk say; it is read at each call.

    Else it is below ``_build`` in a checkout, and where the platform keeps such things for an installed package.
    """
    return _folder().joinpath(*parts)


def check_writable() -> None:
    """Raise `InputError` where nothing can be written to the cache: asked before what is to be kept there is computed.

    A cache that can only be read is used as long as it holds all that is asked for.
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
        return at_home(named or BUILD / "cache", "FSLCORE_CACHE")  # not all that sets a variable knows the ~
    try:
        from platformdirs import user_cache_path
    except ModuleNotFoundError:  # with NumPy and SciPy alone nothing is computed that would be kept
        return Path.home() / ".cache" / "fslcore"
    return user_cache_path("fslcore", appauthor=False)


def digest(text: str) -> str:
    """SHA-256, by which a file of the cache is named."""
    return hashlib.sha256(text.encode()).hexdigest()
