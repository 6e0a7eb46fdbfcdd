"""What the linters read, each file once, and how a rule is registered."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

RULES: dict[str, "Rule"] = {}
FENCE = re.compile(r"^(`{3,})(\{[\w:-]+\})?([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
CELL_HEAD = re.compile(r"---\n.*?^---\n|(?::[^\n]*\n)*", re.MULTILINE | re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL)


class Finding(NamedTuple):
    """What a rule found in a line of a file, and what is allowed there."""

    path: str
    line: int
    rule: str
    found: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.found}; {self.allowed} [{self.rule}]"


@dataclass
class Cell:
    """A code cell: its tags, its options, its code, the line of its fence, and what it glues."""

    tags: list[str]
    head: str
    code: str
    line: int
    glued: list[tuple[str, ast.expr]] = field(init=False)  # (key or pattern of keys, value)

    def __post_init__(self) -> None:
        self.glued = []
        for call in ast.walk(self.tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "glue":
                for argument in call.keywords:
                    self.glued += _glued_by(argument)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.code)

    def line_of(self, node: ast.AST) -> int:
        """The line of the file in which a node of the code begins."""
        return self.line + self.head.count("\n") + node.lineno


def _glued_by(keyword: ast.keyword) -> list[tuple[str, ast.expr]]:
    """(pattern of keys, value) of one argument of ``glue``: a key, or a dict of texts or f-strings."""
    if keyword.arg:
        return [(keyword.arg, keyword.value)]
    if isinstance(keyword.value, ast.DictComp):
        pairs = [(keyword.value.key, keyword.value.value)]
    else:
        pairs = list(zip(keyword.value.keys, keyword.value.values))
    return [(_pattern(key), value) for key, value in pairs]


def _pattern(key: ast.expr) -> str:
    if isinstance(key, ast.Constant):
        return key.value
    if not isinstance(key, ast.JoinedStr):
        return re.escape(f"<{ast.unparse(key)}>")  # which no page reads: keys are written out
    return "".join(part.value if isinstance(part, ast.Constant) else r"\w*" for part in key.values)


def blank(text: str, pattern: str | re.Pattern) -> str:
    """The text with spaces over what the pattern finds; lines stay lines."""
    flags = 0 if isinstance(pattern, re.Pattern) else re.MULTILINE | re.DOTALL
    return re.sub(pattern, lambda match: re.sub(r"\S", " ", match[0]), text, flags=flags)


class File:
    """A file of the repository, with what several rules read in it."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path.relative_to(root).as_posix()
        self.name = path.stem
        self.text = path.read_text("utf-8")

    def line(self, offset: int) -> int:
        """The line of a place in the text."""
        return self.text.count("\n", 0, offset) + 1

    @cached_property
    def tree(self) -> ast.Module:
        """A module's code."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of a module's code, which several rules go through."""
        return list(ast.walk(self.tree))

    @cached_property
    def cells(self) -> list[Cell]:
        """A chapter's code cells."""
        cells = []
        for block in FENCE.finditer(self.text):
            if block[2] == "{code-cell}":
                head = CELL_HEAD.match(block[4])[0]
                tags = re.search(r"tags: \[(.*)\]", head)
                tags = re.findall(r"[\w-]+", tags[1]) if tags else []
                cells.append(Cell(tags, head, block[4][len(head) :], self.line(block.start())))
        return cells

    @cached_property
    def markdown(self) -> str:
        """The text with spaces over code cells and front matter."""
        text = re.sub(
            FENCE,
            lambda m: re.sub(r"\S", " ", m[0]) if m[2] == "{code-cell}" else m[0],
            self.text,
        )
        return blank(text, FRONT_MATTER)


class Repository:
    """The files below a folder, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[Path, File] = {}

    def files(self, *patterns: str) -> list[File]:
        """The files that fit one of the patterns, in order."""
        paths = {path for pattern in patterns for path in self.root.glob(pattern)}
        for path in paths - set(self._files):
            self._files[path] = File(self.root, path)
        return [self._files[path] for path in sorted(paths)]

    def file(self, path: str) -> File | None:
        """One file, or None."""
        return next(iter(self.files(path)), None)


class Rule(NamedTuple):
    """A function of each file that fits a pattern, or, without patterns, of the repository."""

    patterns: tuple[str, ...]
    check: Callable


def rule(*patterns: str) -> Callable:
    """Registers a generator of (line, found, allowed), or, without patterns, of (path, line, found, allowed)."""

    def register(check: Callable) -> Callable:
        RULES[check.__name__.replace("_", "-")] = Rule(patterns, check)
        return check

    return register


def findings(
    repository: Repository, names: list[str] | None = None, paths: list[str] | None = None
) -> Iterator[Finding]:
    """What the rules, or those of these names, find; those that read one file at a time, in these files alone."""
    for name in names or RULES:
        patterns, check = RULES[name]
        if not patterns:
            for path, line, found, allowed in check(repository):
                yield Finding(path, line, name, found, allowed)
        for file in repository.files(*patterns):
            if paths and file.path not in paths:
                continue
            for line, found, allowed in check(file):
                yield Finding(file.path, line, name, found, allowed)
