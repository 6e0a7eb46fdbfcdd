"""What a chapter is made from: modules of `fslcore` and `fslbook`, and files under ``data/``.

The build asks for a digest of them, so that an edit reruns the chapters that it can change and no others. Imports are
read from the sources, those inside functions too, and followed; nothing is run. Standard library only.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

# What these import late, and read, is to check what a run is given: it changes no cell.
CHECK_ONLY = {"fslcore.chapters", "fslcore.known"}
# A cell's code, without its options: lines that start with a colon, or YAML between dashes.
CODE = re.compile(r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n|(?::[^\n]*\n)+)?(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER = re.compile(r'\bDATA((?: / "[\w-]+")+)')
NO_DATA = {".py", ".pyc", ".md", ".tmpl"}  # beside the data: how they are made, and their cards for people


class House:
    """The sources and data in a folder, the repository's by default, as they are when first asked for."""

    def __init__(self, root: str | Path = ".") -> None:
        self.root = Path(root)
        packages = {"fslcore": self.root / "fslcore", "fslbook": self.root / "book" / "fslbook"}
        self.files = {
            ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__"): path
            for package, folder in packages.items()
            for path in sorted(folder.rglob("*.py"))
        }
        self._modules: dict[str, set[str]] = {}

    def modules(self, chapter: str) -> set[str]:
        """Names of the modules that a chapter can run, packages included, and of the one that runs it.

        Raises
        ------
        LookupError
            An import of the house's that leads nowhere.
        """
        source = (self.root / "notebooks" / f"{chapter}.md").read_text("utf-8")
        found = {name for cell in CODE.findall(source) for name in self._imported(ast.parse(cell), chapter)}
        return self.reached({"fslcore.chapters", *found})

    def reached(self, names: Iterable[str]) -> set[str]:
        """These modules, what they import, and so on."""
        waiting, seen = list(names), set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self._imports(name)
        return seen

    def data(self, names: Iterable[str]) -> list[Path]:
        """Files under ``data/`` that these modules can read: of folders they name, or of all data sets."""
        folders = {folder for name in set(names) - CHECK_ONLY for folder in self._folders(name)}
        files = [path for folder in folders for path in (self.root / "data" / folder).iterdir()]
        return sorted(path for path in files if path.is_file() and path.suffix not in NO_DATA)

    def chapter(self, name: str) -> str:
        """The digest of what a chapter is made from, apart from the notebook itself."""
        return self.digest(self.modules(name))

    def digest(self, names: Iterable[str]) -> str:
        """Of the modules (not of what they import) and the data that they read: names and contents."""
        names = set(names)
        paths = sorted([self.files[name] for name in names] + self.data(names))
        parts = (path.relative_to(self.root).as_posix().encode() + self._digest(path) for path in paths)
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def _imports(self, name: str) -> set[str]:
        if name not in self._modules:
            self._modules[name] = self._imported(self._tree(name), name)
        return self._modules[name]

    def _imported(self, tree: ast.Module, name: str) -> set[str]:
        """Modules that a tree imports, with the packages that they are in."""
        found = set()
        for node in _run(tree.body, late=name not in CHECK_ONLY):
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names if self._ours(a.name)}
                lost = found - set(self.files)
            else:
                base = node.module or ""
                if node.level:
                    package = name if self.files[name].name == "__init__.py" else name.rpartition(".")[0]
                    base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], *base.split(".")])
                    base = base.removesuffix(".")
                if not self._ours(base):
                    continue
                found.add(base)
                found |= {full for a in node.names if (full := f"{base}.{a.name}") in self.files}
                given = self._given(base) if base in self.files else set()
                lost = {f"{base}.{a.name}" for a in node.names} - found - {f"{base}.{n}" for n in given}
            if lost:
                raise LookupError(f"{name} imports {', '.join(sorted(lost))}, which is not there")
        return {".".join(full.split(".")[: n + 1]) for full in found for n in range(full.count(".") + 1)}

    @staticmethod
    def _ours(name: str) -> bool:
        return name.split(".")[0] in ("fslcore", "fslbook")

    @cache
    def _digest(self, path: Path) -> bytes:
        return hashlib.sha256(path.read_bytes()).digest()

    @cache
    def _folders(self, name: str) -> set[str]:
        source = self.files[name].read_text("utf-8")
        found = {"/".join(re.findall(r'"(.+?)"', path)) for path in FOLDER.findall(source)}
        if re.search(r"\bCHECKPOINTS /", source):
            found.add("checkpoints")
        if re.search(r"\bDATA(\.| / (?!\"))", source):  # any folder, that is, any data set's
            found |= {card.parent.name for card in (self.root / "data").glob("*/card.yml")}
        return found

    @cache
    def _tree(self, name: str) -> ast.Module:
        return ast.parse(self.files[name].read_text("utf-8"))

    @cache
    def _given(self, name: str) -> set[str]:
        """Names that a module binds at its top, or may bind: all that it mentions as such."""
        found = set()
        for node in ast.walk(self._tree(name)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                found |= {a.asname or a.name for a in node.names}
        return found


def _run(body: list[ast.AST], late: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports among these statements, but not those for type checkers; those in functions only where ``late``."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _run(node.orelse, late)
        elif late or not isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from _run(list(ast.iter_child_nodes(node)), late)
