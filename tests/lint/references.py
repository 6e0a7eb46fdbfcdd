"""Names that docstrings refer to: what they name is there."""

import ast
import builtins
import importlib.util
import re
from collections.abc import Iterable, Iterator

from .files import File, Repository, blank, rule

MODULES = ("fslcore/**/*.py", "book/**/*.py")
PACKAGES = ("fslcore", "fslbook")
LINK = re.compile(r"`[^`<>]+<[^<>]+>`_", re.DOTALL)
REFERENCE = re.compile(r"(?<![`\w])`([^`]+)`(?!`)")  # not ``code``
LOADS = re.compile(r"def __getattr__|globals\(\)\[")


def module_of(file: File) -> str:
    """Its name for an import statement."""
    path = file.path.removeprefix("book/").removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that nodes define, import or assign."""
    names = set()
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module that are inside of no function or class, and these."""
    waiting = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def docstrings(file: File) -> Iterator[tuple[int, str]]:
    """(line before its first, text) of each docstring."""
    for node in file.nodes:
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and (
            ast.get_docstring(node) is not None
        ):
            yield node.body[0].lineno, node.body[0].value.value


@rule()
def cross_references(repository: Repository):
    """A `name` in a docstring is one of ours or of a library that is installed; other code has two backticks."""
    files = repository.files(*MODULES)
    modules = {module_of(file): file for file in files}
    parts_of_modules = {part for name in modules for part in name.split(".")}
    everything = set(dir(builtins)) | parts_of_modules
    for file in files:
        everything |= names_in(file.nodes)
    # Packages whose names come from their modules when they are asked for.
    loading = {name for name, file in modules.items() if LOADS.search(file.text)}

    def is_there(reference: str) -> bool:
        first, *others = reference.split(".")
        if first not in PACKAGES:
            ours = everything.issuperset([first, *others])
            return ours or (first.isidentifier() and bool(importlib.util.find_spec(first)))
        parts = [first, *others]
        known = [size for size in range(1, len(parts) + 1) if ".".join(parts[:size]) in modules]
        if not known:  # of a package that is not in this repository
            return False
        module, rest = ".".join(parts[: known[-1]]), parts[known[-1] :]
        here = names_in(top_level(modules[module].tree))
        if module in loading:
            inside = [file for name, file in modules.items() if name.startswith(f"{module}.")]
            here |= names_in(node for file in inside for node in file.tree.body)
        return not rest or (rest[0] in here and everything.issuperset(rest))

    for file in files:
        for line, text in docstrings(file):
            for match in REFERENCE.finditer(blank(text, LINK)):
                if not is_there(" ".join(match[1].split())):
                    found = line + text.count("\n", 0, match.start())
                    yield file.path, found, match[0], "a name that is defined, or ``code``"
