"""A copy of what is built from, for runs that begin from nothing in a folder of their own."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = (
    "fslcore",
    "book",
    "notebooks",
    "profiles",
    "Snakefile",
    "_config.yml",
    "_toc.yml",
    "pyproject.toml",
)


def copy_sources(folder: Path) -> None:
    """The sources in a new folder; the data, which are only read, by link."""
    folder.mkdir(parents=True)
    for part in TREE:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    (folder / "data").symlink_to(ROOT / "data")
