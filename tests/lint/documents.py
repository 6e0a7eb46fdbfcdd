"""What README and pages print is taken as it stands: commands, code, ways to install."""

import ast
import contextlib
import importlib
import inspect
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest import mock

import yaml

from .files import File, Repository, rule

PAGES = ("README.md", "book/*.md", "notebooks/*.md")
BASH = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
SITUATION = re.compile(r"^\| [^|]+ \| `([^`|]+)` \| `(\w+)` \|$", re.MULTILINE)
WIDTH = 77  # of a line of code on a page, at 1,280 pixels
SITUATIONS = range(5, 9)


def bash_lines(file: File) -> Iterator[tuple[int, str]]:
    """(line, command) of the blocks of a page; a command may go on over several lines."""
    for block in BASH.finditer(file.text):
        at = file.line(block.start(1))
        for command in re.findall(r"(?:.*\\\n)*.*\n", block[1]):
            in_a_loop = re.sub(r"\$\w+", "1", command.replace("\\\n", ""))
            yield at, in_a_loop.strip().removesuffix("&").strip()
            at += command.count("\n")


def printed_commands(file: File) -> Iterator[tuple[int, str]]:
    """(line, command) of our two programs, in blocks and in the table of the README."""
    yield from (
        (n, line) for n, line in bash_lines(file) if line.startswith(("fslcore ", "fslbook "))
    )
    if file.path == "README.md":
        for match in SITUATION.finditer(file.text):
            yield file.line(match.start()), match[1]


@cache
def parsers() -> dict:
    """The parser of each program."""
    from fslbook import cli
    from fslcore.cli import app

    return {"fslcore": app._program().parser, "fslbook": cli._program().parser}


@contextlib.contextmanager
def reader_folder():
    """A folder with what the reader of a page has, as the current one."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        for fetched in ("aircraft", "dtd", "cub/CUB_200_2011"):  # by the line before
            (folder / "fetched" / fetched).mkdir(parents=True)
        with mock.patch.dict(os.environ, {"FSLCORE_DATA": str(folder / "fetched")}):
            yield folder


def refusal(line: str, folder: Path) -> str:
    """Why the program does not take a printed line, or nothing."""
    from fslbook import cli, notebooks
    from fslcore.errors import InputError

    line = line.replace("/data/", f"{folder}/data/").replace("/weights/", f"{folder}/")
    for path in re.findall(rf"{folder}/data/[\w-]+", line):
        Path(path).mkdir(parents=True, exist_ok=True)
    for path in re.findall(r"features:([\w.]+)|([\w-]+\.safetensors)", line):
        (folder / "".join(path)).touch()
    program, *words = shlex.split(line, comments=True)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            options = parsers()[program].parse_args(words)
            if options.command is cli.run:
                given = {name: notebooks.value(name, text) for name, text in options.parameter}
                notebooks.check(options.notebook, given)
    except InputError as error:
        return str(error)
    except SystemExit:
        return printed.getvalue().strip().splitlines()[-1]
    return ""


@rule()
def commands(repository: Repository):
    """Every printed command is one that the program takes."""
    with reader_folder() as folder:
        for file in repository.files(*PAGES):
            for line, command in printed_commands(file):
                if reason := refusal(command, folder):
                    yield file.path, line, command, f"it is refused: {reason}"


@rule(*PAGES)
def papermill_lines(file: File):
    """What a printed line gives to papermill is what the notebook takes."""
    from papermill.cli import _resolve_type, papermill

    from fslbook import notebooks
    from fslcore.errors import InputError

    for number, line in bash_lines(file):
        if "| papermill " in line:
            notebook = re.search(r"notebooks/([\w-]+)\.md", line)[1]
            words = shlex.split(line.partition("| papermill ")[2])
            given = papermill.make_context("papermill", words).params
            values = {name: _resolve_type(text) for name, text in given["parameters"]}
            for text in given["parameters_yaml"]:
                values |= yaml.safe_load(text)
            try:  # lists stay texts, and are refused
                changed = notebooks.check(notebook, values) != values
                reason = "another value is meant" if changed else ""
            except InputError as error:
                reason = str(error)
            if reason or not values:
                yield number, line, reason or "it gives no parameter"


CODE = re.compile(
    r"(?ms)^(`{3,})(?:\{code-cell\}[^\n]*|python)\n(?:---\n.*?\n---\n|(?::[^\n]*\n)+)?(.*?)^\1$"
)


@rule(*PAGES)
def names_in_code(file: File):
    """What code on a page takes from our packages can be imported, and modules have the names that it calls."""
    names = {}
    for block in CODE.finditer(file.text):
        first = file.line(block.start(2)) - 1
        for node in ast.walk(ast.parse(block[2])):
            if isinstance(node, ast.ImportFrom) and re.match("fslcore|fslbook", node.module):
                for alias in node.names:
                    try:
                        names[alias.asname or alias.name] = imported(node.module, alias.name)
                    except (ImportError, AttributeError) as error:
                        yield first + node.lineno, ast.unparse(node), f"{error}"
            elif isinstance(node, ast.Attribute):
                owner = names.get(ast.unparse(node.value))
                if inspect.ismodule(owner) and not hasattr(owner, node.attr):
                    found = ast.unparse(node)
                    yield first + node.lineno, found, f"{owner.__name__} has no {node.attr}"


def imported(module: str, name: str) -> object:
    """What ``from module import name`` gives."""
    package = importlib.import_module(module)
    return (
        getattr(package, name)
        if hasattr(package, name)
        else importlib.import_module(f"{module}.{name}")
    )


@rule("book/*.md")
def width_of_code(file: File):
    """Lines of commands fit the page."""
    for block in BASH.finditer(file.text):
        first = file.line(block.start(1))
        for i, line in enumerate(block[1].splitlines()):
            if len(line) > WIDTH:
                yield first + i, f"a line of {len(line)} characters", f"at most {WIDTH} fit"


FROM_THE_INDEX = re.compile(r"pip install [^`\n]*(?<![\w/])fslcore(?:[-_]data)?(?![\w-])")
WHAT_INSTALLS = [
    f"{folder}/**/*.{ending}"
    for folder in ("fslcore", "book", "notebooks", "data", "profiles", "binder", ".github")
    for ending in ("py", "md", "js", "toml", "yml", "txt", "j2")
]


@rule(*WHAT_INSTALLS, "README.md", "CONTRIBUTING.md", "pyproject.toml")
def installed_from_the_index(file: File):
    """Before a release another project may take the names there."""
    for match in FROM_THE_INDEX.finditer(file.text):
        yield file.line(match.start()), match[0], "an installation from a copy, or from files"


# ---------------------------------------------------------------- README and the page on installing

SIZES = re.compile(r"^\| `(pip install [^`]+)` .*\| +(\d+) \| +([\d.]+ GB) \|$", re.MULTILINE)


@rule()
def sizes_of_installations(repository: Repository):
    """README and page give the same numbers."""
    readme, page = repository.file("README.md"), repository.file("book/install.md")
    rows = {match.groups(): readme.line(match.start()) for match in SIZES.finditer(readme.text)}
    if not rows:
        yield readme.path, 1, "no table of installations", "a row per extra"
    for row in set(rows) - set(SIZES.findall(page.text)):
        yield readme.path, rows[row], " | ".join(row), f"a row of {page.path}"


@rule("README.md", "book/install.md")
def environment_first(file: File):
    """Python of Debian and Ubuntu refuses pip outside of an environment."""
    lines = list(bash_lines(file))
    expected = ("python3 -m venv .venv", "source .venv/bin/activate", "pip install ")
    for (number, line), start in zip(lines, expected):
        if not line.startswith(start):
            yield number, line, f"the first lines are {', '.join(expected)} …"
    for (number, line), (_, following) in zip(lines, lines[1:] + [(0, "nothing")]):
        if line == "make book" and following != expected[1]:
            yield number, f"make book, then {following}", f"then {expected[1]}"


@rule("README.md")
def start_of_the_readme(file: File):
    """It leads to an answer in few lines, then to the book, and has one picture."""
    blocks = [
        (file.line(block.start()), block[1].splitlines()) for block in BASH.finditer(file.text)
    ]
    number, start = next(iter(blocks), (1, []))
    if not 1 <= len(start) <= 4 or not start[-1].startswith("fslcore "):
        found = f"a start of {len(start)} lines"
        yield number, found, "at most four, and the last one is a command of fslcore"
    if not any(lines[:1] == ["make book"] for _, lines in blocks):
        yield number, "no block that begins with make book", "one for those who build the book"
    pictures = len(re.findall(r"^!\[", file.text, re.MULTILINE))
    if pictures != 1:
        yield 1, f"{pictures} pictures", "one"


@rule("README.md")
def commands_by_situation(file: File):
    """A command per situation, with the extra that has it."""
    import commands_page

    situations = list(SITUATION.finditer(file.text))
    if len(situations) not in SITUATIONS:
        yield 1, f"{len(situations)} commands by situation", "5 to 8 of them"
    for match in situations:
        program, command, *_ = match[1].split()
        parser = commands_page.subparsers(parsers()[program]).choices[command]
        extra = "book" if program == "fslbook" else parser.get_default("extra")
        if match[2] != extra:
            yield file.line(match.start()), f"{command} by {match[2]}", f"{extra} has it"


@rule("book/train.md")
def learners_that_are_trained(file: File):
    """The page names every learner that can be trained, and no other."""
    from fslbook import training

    section = re.search(r"(?ms)^`fslbook train LEARNER` trains .*?```bash", file.text)
    named = set(re.findall(r"`([\w+-]+)`", section[0])) if section else set()
    for name in sorted(named ^ set(training.RECIPES)):
        found = f"{name} is {'named' if name in named else 'missing'}"
        yield file.line(section.start() if section else 0), found, "the names of training.RECIPES"
