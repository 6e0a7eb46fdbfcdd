"""Where the repository keeps its data and what it builds."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
NOTEBOOKS = ROOT / "notebooks"
PROFILES = ROOT / "profiles"
BUILD = ROOT / "_build"
# FSLCORE_CACHE moves the cache of features and records, to a larger disk say.
CACHE = Path(os.environ.get("FSLCORE_CACHE", BUILD / "cache"))


def replace_file(path: Path, write) -> None:
    """Call ``write(part)`` on a temporary name beside ``path``, then rename: whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}.{path.name}")  # keeps the ending, which names the format
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
