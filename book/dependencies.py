"""What a chapter is made from: modules of `fslcore` and `fslbook`, and files under ``data/``.

The build asks for a digest of them, so that an edit reruns the chapters that it can change and no others. Imports are
read from the sources, those inside functions too, and followed; nothing is run. Standard library only.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

# What these import late, and read, is to check what a run is given: it changes no cell.
CHECK_ONLY = {"fslbook.notebooks", "fslbook.catalogue", "fslcore.catalogue"}
# A cell's code, without its options: lines that start with a colon, or YAML between dashes.
CODE = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n|(?::[^\n]*\n)+)?(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FOLDER = re.compile(r'\bDATA((?: / "[\w-]+")+)')
# What a module imports by names of the catalogue, which no statement shows.
BY_NAME = {
    "fslcore.datasets.loading": "fslbook.coloured_glyphs",
    "fslcore.learners.registry": "fslbook.learners",
}
BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
NO_DATA = {
    ".py",
    ".pyc",
    ".md",
    ".tmpl",
}  # beside the data: how they are made, and their cards for people


class SourceTree:
    """The sources and data in a folder, the repository's by default, as they are when first asked for."""

    def __init__(self, root: str | Path = ".") -> None:
        self.root = Path(root)
        packages = {"fslcore": self.root / "fslcore", "fslbook": self.root / "book" / "fslbook"}
        self.files = {
            ".".join([package, *path.relative_to(folder).with_suffix("").parts]).removesuffix(
                ".__init__"
            ): path
            for package, folder in packages.items()
            for path in sorted(folder.rglob("*.py"))
        }

    def modules(self, chapter: str) -> set[str]:
        """Names of the modules that a chapter uses, the packages that these are in, and the one that runs it.

        Of a package that only passes names on, such as `fslcore.stats`, these are the modules whose names are used.

        Raises
        ------
        LookupError
            An import of a module of theirs that leads nowhere.
        """
        source = (self.root / "notebooks" / f"{chapter}.md").read_text("utf-8")
        imported = self.imported(ast.parse("\n".join(CODE.findall(source))), chapter)
        return self._reached({"fslbook.notebooks", *imported})

    def reached(self, names: Iterable[str]) -> set[str]:
        """These modules, all that packages among them give, what those import, and so on."""
        return self._reached({module for name in names for module in self._whole(name)})

    def _reached(self, names: Iterable[str]) -> set[str]:
        waiting, modules = list(names), set()
        while waiting:
            name = waiting.pop()
            if name not in modules:
                modules.add(name)
                waiting += self._imports(name)
        return modules

    def data(self, names: Iterable[str]) -> list[Path]:
        """Files under ``data/`` that these modules can read: of folders they name, or of all data sets."""
        folders = {folder for name in set(names) - CHECK_ONLY for folder in self._folders(name)}
        files = [path for folder in folders for path in (self.root / "data" / folder).iterdir()]
        return sorted(path for path in files if path.is_file() and path.suffix not in NO_DATA)

    @cache
    def chapter(self, name: str) -> str:
        """The digest of what a chapter is made from, apart from the notebook itself."""
        return self.digest(self.modules(name))

    def digest(self, names: Iterable[str]) -> str:
        """Of the modules (not of what they import) and the data that they read: names and contents."""
        names = set(names)
        paths = sorted([self.files[name] for name in names] + self.data(names))
        parts = (
            path.relative_to(self.root).as_posix().encode() + self._digest(path) for path in paths
        )
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def taken(self, code: str, name: str, imports: str = "") -> set[str]:
        """Full names of what code takes from the sources, by its own imports or by those of other code."""
        attributes, count = _mentions(_parsed(code))
        full_names = set()
        for node in _run(_parsed(imports or code).body, late=True):
            base = self._base(node, name) if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names if self._ours(base) else ():
                module, here = f"{base}.{alias.name}", alias.asname or alias.name
                if module in self.files:
                    names, used = self.names_of(module), attributes.get(here, ())
                else:
                    names, used = self.names_of(base), [alias.name] if count[here] else ()
                full_names |= {names[attribute] for attribute in used if attribute in names}
        return full_names

    @cached_property
    def public(self) -> dict[str, str]:
        """Full names of all that packages pass on, by the name alone."""
        passed = [self._passed_on(package) for package in self.files]
        return {name: f"{module}.{name}" for names in passed for name, module in names.items()}

    @cache
    def names_of(self, module: str) -> dict[str, str]:
        """Full names of what a package passes on, or a module binds, by the name alone."""
        passed = self._passed_on(module) or dict.fromkeys(_bound(self._tree(module)), module)
        return {name: f"{origin}.{name}" for name, origin in passed.items()}

    @cache
    def _imports(self, name: str) -> set[str]:
        # A package that only passes names on is no reason to depend on all that it has.
        imported = set() if self._passed_on(name) else self.imported(self._tree(name), name)
        return imported | self._whole(BY_NAME[name]) if name in BY_NAME else imported

    def imported(self, tree: ast.Module, name: str) -> set[str]:
        """Modules that a tree uses, with the packages that they are in."""
        modules = set()
        for node in _run(tree.body, late=name not in CHECK_ONLY):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if self._ours(alias.name):
                        modules |= self._whole(self._checked(alias.name, name))
                continue
            base = self._base(node, name)
            if self._ours(base):
                modules.add(self._checked(base, name))
                for alias in node.names:
                    modules |= self._imported_name(tree, base, alias, name)
        return modules | {parent for module in modules for parent in _packages(module)}

    def _imported_name(self, tree: ast.Module, base: str, alias: ast.alias, name: str) -> set[str]:
        """Modules that a tree uses by one name that it imports from `base`."""
        module = f"{base}.{alias.name}"
        if module not in self.files:
            return {self._origin(base, alias.name, name)}
        if self._passed_on(module):
            attributes = _attributes(tree, alias.asname or alias.name)
            if attributes is not None:
                return {
                    module,
                    *(self._origin(module, attribute, name) for attribute in attributes),
                }
        return self._whole(module)

    def _base(self, node: ast.ImportFrom, name: str) -> str:
        """The module that a tree of this name imports from, in full."""
        if not node.level:
            return node.module
        parts = name.split(".")
        if self.files[name].name == "__init__.py":
            parts.append("__init__")
        return ".".join([*parts[: -node.level], *(node.module or "").split(".")]).removesuffix(".")

    def _checked(self, module: str, name: str) -> str:
        """A module that `name` imports; raises `LookupError` if there is none."""
        if module not in self.files:
            raise LookupError(f"{name} imports {module}, which is not there")
        return module

    def _origin(self, base: str, attribute: str, name: str) -> str:
        """The module that a name comes from which `base` has."""
        passed = self._passed_on(base)
        if attribute in passed:
            return passed[attribute]
        if f"{base}.{attribute}" in self.files or attribute in _bound(self._tree(base)):
            return f"{base}.{attribute}" if f"{base}.{attribute}" in self.files else base
        raise LookupError(f"{name} imports {base}.{attribute}, which is not there")

    def _whole(self, name: str) -> set[str]:
        return {name, *self._passed_on(name).values()}

    @cache
    def _passed_on(self, name: str) -> dict[str, str]:
        """Of a package that imports from its modules and does nothing else: where each name comes from."""
        body = _package_body(self._tree(name))
        imports = [node for node in body if not isinstance(node, ast.Assign | ast.Expr)]
        only_imports = all(isinstance(node, ast.ImportFrom) and node.level == 1 for node in imports)
        if self.files[name].name != "__init__.py" or not only_imports:
            return {}
        if not all(
            node.targets[0].id.startswith("_") for node in body if isinstance(node, ast.Assign)
        ):
            return {}
        origins = {}
        for node in imports:
            origins |= {alias.asname or alias.name: self._base(node, name) for alias in node.names}
        return origins

    @staticmethod
    def _ours(name: str) -> bool:
        return name.split(".")[0] in ("fslcore", "fslbook")

    @cache
    def _digest(self, path: Path) -> bytes:
        return hashlib.sha256(path.read_bytes()).digest()

    @cache
    def _folders(self, name: str) -> set[str]:
        source = self.files[name].read_text("utf-8")
        folders = {"/".join(re.findall(r'"(.+?)"', path)) for path in FOLDER.findall(source)}
        if re.search(r"\bCHECKPOINTS /", source):
            folders.add("checkpoints")
        if re.search(r"\bDATA(\.| / (?!\"))", source):  # any folder, that is, any data set's
            folders |= {card.parent.name for card in (self.root / "data").glob("*/card.yml")}
        return folders

    @cache
    def _tree(self, name: str) -> ast.Module:
        return _parsed(self.files[name].read_text("utf-8"))


@cache
def _parsed(source: str) -> ast.Module:
    """One tree for all that hold this source: a checkout and copies of it differ in a file or two."""
    return ast.parse(source)


def _packages(module: str) -> list[str]:
    """The packages that a module is in."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@cache
def _bound(tree: ast.Module) -> set[str]:
    """Names that a module binds at its top, or may bind: all that it mentions as such."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


@cache
def _mentions(tree: ast.Module) -> tuple[dict[str, list[str]], Counter[str]]:
    """Of each name in a tree, what is taken from it, as in ``name.this``, and how often it is there."""
    taken, count = defaultdict(list), Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken[node.value.id].append(node.attr)
        elif isinstance(node, ast.Name):
            count[node.id] += 1
    return taken, count


def _attributes(tree: ast.Module, name: str) -> set[str] | None:
    """What is taken from a name; None where it stands by itself too."""
    taken, count = _mentions(tree)
    return None if count[name] > len(taken[name]) else set(taken[name])


def _is_for_type_checkers(node: ast.stmt) -> bool:
    """Whether a statement is ``if TYPE_CHECKING:``."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def _package_body(tree: ast.Module) -> list[ast.stmt]:
    """A package's statements; names that its ``__getattr__`` imports late count as imported there.

    They are those that it imports for type checkers.
    """
    hooks = {"__getattr__", "__dir__"}
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "__getattr__" not in functions or functions - hooks:
        return tree.body
    body = []
    for node in tree.body:
        if _is_for_type_checkers(node):
            body += node.body
        elif not isinstance(node, ast.FunctionDef | ast.ImportFrom) or getattr(node, "level", 0):
            body.append(node)
    return body


def _run(body: list[ast.AST], late: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports among these statements, but not those for type checkers; those in functions only where ``late``."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif _is_for_type_checkers(node):
            yield from _run(node.orelse, late)
        elif late or not isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = [
                n for n in ast.iter_child_nodes(node) if isinstance(n, BLOCKS)
            ]  # expressions hold no import
            yield from _run(inside, late)
