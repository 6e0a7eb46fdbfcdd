"""The map of the code in CONTRIBUTING.md is that of the tree: layers, and what each module says that it is.

python tests/repo/test_structure.py    # writes it
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN = "<!-- The map: python tests/repo/test_structure.py writes it. -->\n\n"
END = "\n<!-- End of the map. -->\n"
FOLDERS = {"fslcore": ROOT / "fslcore", "fslbook": ROOT / "book" / "fslbook"}


def layers(package: str) -> list[list[str]]:
    """Modules of a package by the import contract of pyproject.toml, from the bottom layer up."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract["containers"] == [package]:
            return [re.split(r"\s*[|:]\s*", layer) for layer in reversed(contract["layers"])]
    raise LookupError(package)


def file_of(package: str, module: str) -> Path:
    """The file whose docstring describes a module or a folder of modules."""
    folder = FOLDERS[package] / module
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def first_sentence(path: Path) -> str:
    """Of the docstring of a file, without its full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"\.(?:\s|$)", paragraph)[0].replace("|", r"\|")


def rows(package: str) -> list[str]:
    """A row of the map per module; those of one layer together."""
    lines = []
    for number, layer in enumerate(layers(package)):
        for module in layer:
            path = file_of(package, module)
            shown = path.relative_to(ROOT).as_posix().replace("/__init__.py", "/")
            lines.append(f"| {number} | `{shown}` | {first_sentence(path)} |")
    return lines


def code_map() -> str:
    """The map as Markdown."""
    lines = ["| layer | module | what it is |", "| --: | :-- | :-- |"]
    for package in FOLDERS:
        lines += rows(package)
    return "\n".join(lines) + "\n"


def written() -> str:
    text = PAGE.read_text("utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


def test_the_map_is_that_of_the_tree():
    assert written() == code_map(), "python tests/repo/test_structure.py writes it"


@pytest.mark.parametrize("package", FOLDERS)
def test_every_module_is_on_the_map(package):
    folder = FOLDERS[package]
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {module for layer in layers(package) for module in layer} == modules | packages


@pytest.mark.parametrize("package", FOLDERS)
def test_every_module_says_what_it_is(package):
    for path in FOLDERS[package].rglob("*.py"):
        if "_shipped" not in path.parts:
            sentence = first_sentence(path)
            assert 2 <= len(sentence.split()) <= 40, (path, sentence)


def test_every_program_of_the_site_is_on_its_page():
    page = (ROOT / "book" / "site-build.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+\.py)` \| \d+ \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in (ROOT / "book").glob("*.py"))


if __name__ == "__main__":
    page = PAGE.read_text("utf-8")
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(page[:start] + code_map() + page[end:], "utf-8")
