"""A copy of what is built from, for runs that begin from nothing, and the scripts that build the data."""

import importlib.util
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = "fslcore book notebooks profiles Snakefile _config.yml _toc.yml pyproject.toml".split()


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


def build_script(folder: str):
    """The script that made the data in a folder, as a module."""
    path = ROOT / "data" / folder / "build.py"
    spec = importlib.util.spec_from_file_location(f"{folder}_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
