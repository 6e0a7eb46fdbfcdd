"""A recipe of CONTRIBUTING.md, followed in a copy of the tree.

A test writes what the recipe asks for and runs the tests that concern it; `Recipe.check_files` then compares the files
that it used with those that the section names. So a file that a recipe forgets is a failing test.

    recipe = Recipe("A learner of the library", tmp_path / "copy")
    recipe.write("fslcore/learners/NAME.py", "…")
    recipe.insert("fslcore/catalogue.py", '    "ncc": LearnerEntry(', "…")
    recipe.run("tests/repo/test_versions.py")
    recipe.test("tests/repo/test_versions.py")
    recipe.check_files()
"""

import os
import re
import shutil
import sys
from pathlib import Path

from running import captured

from tests.checkout import ROOT, copy_sources

PATH = re.compile(r"`([\w./-]+\.(?:py|md|yml|json))`")


class Recipe:
    """A copy of the tree, and the section of CONTRIBUTING.md that is followed in it.

    Parameters
    ----------
    heading : str
        Of the section. Each file that it names with its folder, or that lies in the top folder, is to be used.
    folder : Path
        A new folder for the copy; data are linked.
    name : str
        What stands for ``NAME`` in the section.
    """

    def __init__(self, heading: str, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        copy_sources(folder)
        for part in ("tests", "benchmarks"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in ROOT.iterdir():
            if file.is_file() and not (folder / file.name).exists():
                shutil.copy(file, folder)
        text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
        section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
        assert section, f"CONTRIBUTING.md has no section {heading!r}"
        paths = PATH.findall(section[1])
        self.named = {path for path in paths if "/" in path or (ROOT / path).is_file()}
        self.used: set[str] = set()

    def link_entries(self, folder: str) -> None:
        """Make a linked folder one of links, so that new files in it stay in the copy."""
        linked = self.folder / folder
        source = linked.resolve()
        linked.unlink()
        linked.mkdir()
        for entry in source.iterdir():
            (linked / entry.name).symlink_to(entry)

    def _path(self, named: str) -> Path:
        self.used.add(named)
        return self.folder / named.replace("NAME", self.name)

    def write(self, path: str, text: str) -> None:
        """A new file, named as in the section."""
        new = self._path(path)
        assert not new.exists(), f"{path} exists"
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")

    def insert(self, path: str, before: str, text: str) -> None:
        """Text before the only place in a file where other text stands."""
        self._change(path, before, text + before)

    def append(self, path: str, text: str) -> None:
        """Text at the end of a file."""
        file = self._path(path)
        file.write_text(file.read_text("utf-8") + text, "utf-8")

    def _change(self, path: str, old: str, new: str) -> None:
        file = self._path(path)
        content = file.read_text("utf-8")
        assert content.count(old) == 1, f"{path}: {old!r} {content.count(old)} times"
        file.write_text(content.replace(old, new), "utf-8")

    def run(self, *command: str) -> str:
        """Python with these arguments in the copy, which must end well; what it printed."""
        self.used |= {argument for argument in command if argument in self.named}
        paths = os.pathsep.join([str(self.folder), str(self.folder / "book")])
        environment = os.environ | {"PYTHONPATH": paths, "SITE_REQUIRED": ""}  # a copy has no site
        done = captured([sys.executable, *command], cwd=self.folder, env=environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def test(self, *arguments: str) -> None:
        """The fast tests among these, of which there must be some."""
        self.run("-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", *arguments)

    def lint(self) -> None:
        """The linters; those that read one file at a time, on the files that were used."""
        files = [path.replace("NAME", self.name) for path in sorted(self.used)]
        self.run("-m", "tests.lint", "--files", *files)

    def check_files(self) -> None:
        """The section names what was used, and nothing else."""
        assert self.used == self.named, {
            "not named in CONTRIBUTING.md": self.used - self.named,
            "named, and not needed": self.named - self.used,
        }
