"""How large the rooms of the library may be: code lines and public names, against the table in pyproject.toml."""

import ast
import importlib
import io
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["budget"]
NO_CODE = {getattr(tokenize, kind) for kind in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER")}
ADVICE = "a room that has to grow gets a higher number in pyproject.toml, in a commit that says why"


def code_lines(source: str) -> int:
    """Lines that hold code: none that are blank, comment or docstring, which a budget should never make shorter."""
    docstrings, code = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            docstrings |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def test_code_lines_leave_out_blank_lines_comments_and_docstrings():
    assert (
        code_lines('"""Module.\n\nMore."""\n\n# why\nx = """a\n\nb"""\n\n\ndef f():\n    """F."""\n    return x\n') == 5
    )


def test_each_room_keeps_its_budget_of_code_lines():
    counted = Counter()
    for path in sorted((ROOT / "fslcore").rglob("*.py")):
        inside = path.relative_to(ROOT / "fslcore").with_suffix("").parts
        counted["/".join(inside[: 2 if inside[0] == "tools" and len(inside) > 1 else 1])] += code_lines(
            path.read_text("utf-8")
        )
    assert counted.keys() == BUDGET["lines"].keys()
    over = {room: f"{n} of {BUDGET['lines'][room]}" for room, n in counted.items() if n > BUDGET["lines"][room]}
    assert not over, ADVICE


def test_each_package_keeps_its_budget_of_public_names():
    counted = {package: len(importlib.import_module(f"fslcore.{package}").__all__) for package in BUDGET["names"]}
    over = {
        package: f"{n} of {BUDGET['names'][package]}" for package, n in counted.items() if n > BUDGET["names"][package]
    }
    assert not over, ADVICE
