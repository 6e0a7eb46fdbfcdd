"""How large and how readable the code is: `make measure` prints a table with a row per room.

Measured are tokens outside docstrings and comments, tokens per line of code, names that say nothing, texts or lists
times a truth value, and functions with more than 15 names. There are no caps: a change that adds code says why.
"""

import ast
import io
import tokenize
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["fslcore", "book/fslbook", "tests"]

# Pronouns, prepositions, participles and adverbs: alone they do not say what a variable holds.
VAGUE_NAMES = frozenset(
    """
    of told found kept said made own one asked given there lacking laid both more other rest apart known drawn seen
    beside alike above beyond within between several far near most least never here how what who why which where again
    then every each whole plain shown same
    """.split()
)
COUNT_WORDS = "len count ways shape parts size n_ number repeat".split()  # numbers, no truth values
CODE_TOKENS = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
MANY_NAMES = 15


@dataclass
class Measures:
    """Sums over files."""

    tokens: int = 0
    lines: int = 0
    names: int = 0
    vague_names: int = 0
    products: int = 0
    crowded_functions: int = 0

    def __add__(self, others):
        return Measures(*(getattr(self, f.name) + getattr(others, f.name) for f in fields(self)))


@cache
def measure_path(path: Path) -> Measures:
    """Of a file, or of all files of a folder."""
    files = [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))
    return sum((measure_source(file.read_text("utf-8")) for file in files), Measures())


def measure_source(source: str) -> Measures:
    """Of the text of one module."""
    tree = ast.parse(source)
    documentation = documentation_lines(tree)
    measures = Measures()
    code_lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in CODE_TOKENS and token.start[0] not in documentation:
            measures.tokens += 1
            code_lines.update(range(token.start[0], token.end[0] + 1))
    measures.lines = len(code_lines)
    for node in ast.walk(tree):
        for name in assigned_names(node):
            measures.names += 1
            measures.vague_names += name in VAGUE_NAMES
        measures.products += is_text_times_truth(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = {name for part in ast.walk(node) for name in assigned_names(part)}
            measures.crowded_functions += len(inside) > MANY_NAMES
    return measures


def documentation_lines(tree: ast.AST) -> set[int]:
    """The lines of docstrings, which are not counted."""
    lines = set()
    for node in ast.walk(tree):
        documented = isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if documented and ast.get_docstring(node) is not None:
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def assigned_names(node: ast.AST) -> list[str]:
    """The name that a node assigns, or declares as a parameter."""
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return []


def is_text_times_truth(node: ast.AST) -> bool:
    """Whether a node multiplies a text or a list by a truth value."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)):
        return False
    if is_text(node.left):
        return is_truth(node.right)
    return is_text(node.right) and is_truth(node.left)


def is_text(node: ast.AST) -> bool:
    """Whether a node is a text, or a list that is written out."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List)


def is_truth(node: ast.AST) -> bool:
    """Whether a node is a truth value, or a name that is not that of a number."""
    if isinstance(node, ast.Compare | ast.BoolOp):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    source = ast.unparse(node)
    if source.startswith("bool("):
        return True
    return isinstance(node, ast.Name | ast.Attribute) and not any(
        word in source for word in COUNT_WORDS
    )


def rooms(package: Path) -> list[Path]:
    """The folders with code right below a package; its own files are one room more."""
    return sorted(path for path in package.iterdir() if any(path.rglob("*.py")) and path.is_dir())


def row(name: str, measures: Measures) -> str:
    """One line of the table."""
    per_line = measures.tokens / max(measures.lines, 1)
    vague = 100 * measures.vague_names / max(measures.names, 1)
    return (
        f"{name:28} {measures.tokens:9,} {measures.lines:8,} {per_line:10.1f} {vague:8.1f}"
        f" {measures.products:9} {measures.crowded_functions:11}"
    )


def table() -> str:
    """A row for each room, and one for each package."""
    lines = [
        f"{'room':28} {'tokens':>9} {'lines':>8} {'per line':>10} {'vague %':>8} {'products':>9} {'many names':>11}"
    ]
    for package in PACKAGES:
        folder = ROOT / package
        for room in rooms(folder):
            lines.append(row(room.relative_to(ROOT).as_posix(), measure_path(room)))
        own_files = sum((measure_path(file) for file in sorted(folder.glob("*.py"))), Measures())
        lines.append(row(f"{package}/*.py", own_files))
        lines.append(row(f"{package}, all", measure_path(folder)))
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
