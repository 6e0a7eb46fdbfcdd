"""Recipes of CONTRIBUTING.md, followed in one copy of the tree.

Each recipe writes what its section asks for and says which tests concern it. `Copy.check` then runs those tests, the
linters and the type checker, once for all recipes; `Recipe.differences` compares the files that a recipe used with
those that its section names. So a file that a recipe forgets is a failing test.

    copy = Copy(tmp_path / "copy")
    recipe = Recipe("A learner of the library", copy, "median")
    recipe.write("fslcore/learners/NAME.py", "…")
    recipe.insert("fslcore/catalogue.py", '    "ncc": LearnerEntry(', "…")
    recipe.test("tests/cli/test_catalogue.py", named="median")
    copy.check()
    assert not recipe.differences()
"""

import os
import re
import shutil
import sys
from pathlib import Path

from running import captured

from tests.checkout import ROOT, copy_sources

PATH = re.compile(r"`([\w./-]+\.(?:py|md|yml|json))`")


class Copy:
    """A copy of the tree, with data linked, and what is to be run in it.

    Parameters
    ----------
    folder : Path
        A new folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tests: list[str] = []
        self.names: list[str] = []
        self.files: set[str] = set()
        copy_sources(folder)
        for part in ("tests", "benchmarks"):
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in ROOT.iterdir():
            if file.is_file() and not (folder / file.name).exists():
                shutil.copy(file, folder)

    def link_entries(self, folder: str) -> None:
        """Make a linked folder one of links, so that new files in it stay in the copy."""
        linked = self.folder / folder
        source = linked.resolve()
        linked.unlink()
        linked.mkdir()
        for entry in source.iterdir():
            (linked / entry.name).symlink_to(entry)

    def run(self, *command: str) -> str:
        """Python with these arguments in the copy, which must end well; what it printed."""
        paths = os.pathsep.join([str(self.folder), str(self.folder / "book")])
        environment = os.environ | {"PYTHONPATH": paths, "SITE_REQUIRED": ""}  # a copy has no site
        done = captured([sys.executable, *command], cwd=self.folder, env=environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def check(self) -> None:
        """The fast tests that recipes named, the linters on the files that they used, and the types of the library."""
        tests, names = [*dict.fromkeys(self.tests)], " or ".join(self.names)
        self.run("-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", *tests, "-k", names)
        self.run("-m", "tests.lint", "--files", *sorted(self.files))
        if (ROOT / ".mypy_cache").is_dir():  # of `make lint`: a second in place of twenty
            shutil.copytree(ROOT / ".mypy_cache", self.folder / ".mypy_cache")
        typed = [path for path in sorted(self.files) if path.startswith("fslcore/")]
        self.run("-m", "mypy", *(path for path in typed if path.endswith(".py")))


class Recipe:
    """A section of CONTRIBUTING.md that is followed in a copy of the tree.

    Parameters
    ----------
    heading : str
        Of the section. Each file that it names with its folder, or that lies in the top folder, is to be used.
    copy : Copy
        Where it is followed.
    name : str
        What stands for ``NAME`` in the section.
    """

    def __init__(self, heading: str, copy: Copy, name: str) -> None:
        self.heading = heading
        self.copy = copy
        self.name = name
        text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
        section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
        assert section, f"CONTRIBUTING.md has no section {heading!r}"
        paths = PATH.findall(section[1])
        self.named = {path for path in paths if "/" in path or (ROOT / path).is_file()}
        self.used: set[str] = set()

    def _path(self, named: str) -> Path:
        path = named.replace("NAME", self.name)
        self.used.add(named)
        self.copy.files.add(path)
        return self.copy.folder / path

    def write(self, path: str, text: str) -> None:
        """A new file, named as in the section."""
        new = self._path(path)
        assert not new.exists(), f"{path} exists"
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text, "utf-8")

    def insert(self, path: str, before: str, text: str) -> None:
        """Text before the only place in a file where other text stands."""
        file = self._path(path)
        content = file.read_text("utf-8")
        assert content.count(before) == 1, f"{path}: {before!r} {content.count(before)} times"
        file.write_text(content.replace(before, text + before), "utf-8")

    def append(self, path: str, text: str) -> None:
        """Text at the end of a file."""
        file = self._path(path)
        file.write_text(file.read_text("utf-8") + text, "utf-8")

    def run(self, *command: str) -> str:
        """As `Copy.run`; what the section names and the command runs is used."""
        self.used |= {argument for argument in command if argument in self.named}
        return self.copy.run(*command)

    def test(self, *paths: str, named: str) -> None:
        """Tests for `Copy.check`: of these files, those whose name has these words."""
        self.used |= {path for path in paths if path in self.named}
        self.copy.tests += [path.replace("NAME", self.name) for path in paths]
        self.copy.names.append(named)

    def differences(self) -> dict[str, set[str]]:
        """Files that were used and are not named in the section, and the other way round."""
        wrong = {
            "used, not named in CONTRIBUTING.md": self.used - self.named,
            "named, and not needed": self.named - self.used,
        }
        return {f"{self.heading}: {what}": files for what, files in wrong.items() if files}
