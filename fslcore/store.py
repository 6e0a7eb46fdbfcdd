"""The cache: features, records and attributes, each in a file named after the content of all that made it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .paths import BUILD

__all__ = ["digest", "path"]


def path(*parts: str) -> Path:
    """A path in the cache, which ``FSLCORE_CACHE`` moves, to a larger disk say; it is read at each call."""
    return Path(os.environ.get("FSLCORE_CACHE") or BUILD / "cache").joinpath(*parts)


def digest(text: str) -> str:
    """SHA-256, by which a file of the cache is named."""
    return hashlib.sha256(text.encode()).hexdigest()
