"""How large and how readable the code is: `make measure` prints a row per package, beside the last release.

Measured are tokens outside docstrings and comments, tokens per line of code, names that say nothing, texts or lists
times a truth value, and functions with more than 15 names. There are no caps: a change that adds code says why.
"""

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
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


def subpackages(package: Path) -> list[Path]:
    """The folders with code right below a package, without its own files."""
    if not package.is_dir():
        return []
    return sorted(path for path in package.iterdir() if any(path.rglob("*.py")) and path.is_dir())


def measures_by_package(root: Path) -> dict[str, Measures]:
    """The measures of each subpackage, of the files beside them, and of each package."""
    measures = {}
    for package in PACKAGES:
        folder = root / package
        for inner in subpackages(folder):
            measures[inner.relative_to(root).as_posix()] = measure_path(inner)
        own_files = sorted(folder.glob("*.py"))
        measures[f"{package}/*.py"] = sum(map(measure_path, own_files), Measures())
        measures[f"{package}, all"] = measure_path(folder)
    return measures


def cells(measures: Measures) -> list[str]:
    """Tokens, lines, tokens per line, share of vague names in percent, products, crowded functions."""
    per_line = measures.tokens / max(measures.lines, 1)
    vague = 100 * measures.vague_names / max(measures.names, 1)
    return [
        f"{measures.tokens:,}",
        f"{measures.lines:,}",
        f"{per_line:.1f}",
        f"{vague:.1f}",
        f"{measures.products}",
        f"{measures.crowded_functions}",
    ]


COLUMNS = ["tokens", "lines", "per line", "vague %", "products", "many names"]


def table(root: Path = ROOT, released: Path | None = None) -> str:
    """A row for each package: each measure, with that of the release in brackets."""
    now = measures_by_package(root)
    before = measures_by_package(released) if released else {}
    rows = [["package", *COLUMNS]]
    for package in now | before:
        texts = cells(now.get(package, Measures()))
        if released:
            old_texts = cells(before.get(package, Measures()))
            texts = [f"{text} ({old})" for text, old in zip(texts, old_texts)]
        rows.append([package, *texts])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for name, *texts in rows:
        padded = [text.rjust(width) for text, width in zip(texts, widths[1:])]
        lines.append("  ".join([name.ljust(widths[0]), *padded]))
    return "\n".join(lines)


def last_release() -> str | None:
    """The newest tag of a version among the ancestors of this commit."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def unpack(commit: str, folder: Path) -> None:
    """Write the packages as they were at a commit."""
    listed = ["git", "ls-tree", "-d", "--name-only", commit, *PACKAGES]
    present = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True)
    archive = ["git", "archive", commit, *present.stdout.split()]
    done = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        files.extractall(folder, filter="data")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="COMMIT", help="compare with it (the last release)")
    commit = parser.parse_args().against or last_release()
    if commit is None:
        print("No release to compare with: there is no tag such as v0.1.0.")
        print(table())
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(commit, Path(folder))
        except subprocess.CalledProcessError as error:
            parser.error(f"against: {commit!r} must be a commit; git: {error.stderr!s}")
        print(f"In brackets: {commit}.")
        print(table(released=Path(folder)))


if __name__ == "__main__":
    main()
