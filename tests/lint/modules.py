"""Modules of the two packages: what they name of each other, and where they are documented."""

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .files import File, Repository, rule

LIBRARY = "fslcore/**/*.py"
MODULES = (LIBRARY, "book/fslbook/**/*.py")
PACKAGES = ("fslcore", "fslbook")
UNDOCUMENTED = """__init__ __main__ app catalogue commands evaluate errors faults figures options output paths
    program""".split()
ENGLISH = {"near-copies"}  # a chapter's name that is an English word, too


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@rule(*MODULES)
def private_names(file: File):
    """Names with an underscore are used in their module alone."""
    own_modules = set()
    allowed = "a public name, or a function in the other module"
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom) and (
            node.level or node.module.split(".")[0] in PACKAGES
        ):
            names = [alias.name for alias in node.names] + (node.module or "").split(".")
            for name in filter(is_private, names):
                yield node.lineno, f"{name} of another module", allowed
            own_modules |= {a.asname or a.name for a in node.names if a.name.islower()}
    for node in file.nodes:
        is_attribute = isinstance(node, ast.Attribute) and is_private(node.attr)
        if is_attribute and getattr(node.value, "id", None) in own_modules:
            yield node.lineno, f"{node.value.id}.{node.attr}", allowed


@rule()
def names_of_the_book(repository: Repository):
    """The library names neither the package of the book, its chapters, nor what runs notebooks."""
    chapters = {file.name for file in repository.files("notebooks/*.md") if "-" in file.name}
    words = ["fslbook", "papermill", "nbformat", "jupyter", *sorted(chapters - ENGLISH)]
    forbidden = re.compile("|".join(words), re.IGNORECASE)
    for file in repository.files(*(f"fslcore/**/*.{end}" for end in ("py", "yml", "j2", "json"))):
        for number, line in enumerate(file.text.splitlines(), 1):
            # A hint at the other program, in the lists of its commands and learners.
            is_hint = file.path == "fslcore/cli/app.py" and (
                line.strip() == '"jupyter",'
                or "is a command of fslbook" in line
                or "learner of fslbook" in line
                or "data set of fslbook" in line
                or "fslbook.learners:{" in line
            )
            if not is_hint and (match := forbidden.search(line)):
                yield file.path, number, match[0], "nothing of the book"


@rule(LIBRARY)
def options_in_messages(file: File):
    """Errors of the library name arguments; the command prints its options in their place."""
    if file.path.startswith("fslcore/cli/"):
        return
    errors = [node.exc for node in ast.walk(file.tree) if isinstance(node, ast.Raise) and node.exc]
    for part in (part for error in errors for part in ast.walk(error)):
        text = part.value if isinstance(part, ast.Constant) else None
        if isinstance(text, str) and "fslcore" not in text:  # a whole command has options
            for match in re.finditer(r"(?<![\w-])--[a-z][\w-]*", text):
                yield part.lineno, match[0], "the argument, as by=['dataset']"


@rule()
def pages_of_the_reference(repository: Repository):
    """The API reference has every module of the library, and none of the chapters."""
    pages = repository.files("book/api-*.md")
    documented = {name for page in pages for name in re.findall(r"automodule:: (\S+)", page.text)}
    for file in repository.files(LIBRARY):
        name = file.path.removesuffix(".py").replace("/", ".")
        known = {name, name.rpartition(".")[0]} & documented
        if file.name not in UNDOCUMENTED and not known:
            yield file.path, 1, f"{name} on no page", "an automodule in book/api-….md"
    for page in pages:
        chapters = r"automodule:: (fslbook\.(?:oops|evaluators|fewstab|beyond)\S*)"
        for match in re.finditer(chapters, page.text):
            yield page.path, page.line(match.start()), match[1], "no module of the chapters"


@rule()
def hidden_modules(repository: Repository):
    """No module has the name of something else in its package, which would hide one of the two."""
    for package in repository.files(*MODULES):
        if package.name != "__init__":
            continue
        folder = package.path.removesuffix("/__init__.py")
        modules = repository.files(f"{folder}/*.py", f"{folder}/*/__init__.py")
        paths = {file.path.removesuffix("/__init__.py").removesuffix(".py") for file in modules}
        names = {path.rpartition("/")[2] for path in paths - {folder}}
        for node in ast.walk(package.tree):
            for name in bound_names(node) & names - imported_modules(package.tree):
                yield package.path, node.lineno, f"{name} hides the module {name}", "another name"


def imported_modules(tree: ast.Module) -> set[str]:
    """Modules that a package imports as such: ``from . import means``."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_package = [node for node in nodes if node.level and not node.module]
    return {alias.asname or alias.name for node in of_package for alias in node.names}


def bound_names(node: ast.AST) -> set[str]:
    """Names that a statement binds, and public names that it lists."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.Assign):
        targets = {ast.unparse(target) for target in node.targets}
        return targets | (set(ast.literal_eval(node.value)) if "__all__" in targets else set())
    return set()


@rule(*MODULES)
def imports_by_name(file: File):
    """The build follows imports; one by a name that is made at run time leads nowhere."""
    if file.path in (
        "fslcore/datasets/loading.py",
        "fslcore/learners/own.py",
        "fslcore/learners/registry.py",
    ):
        return  # a user's own; those of the catalogue, which the build knows
    for match in re.finditer(
        r"import_module\((?!\"torch)|__import__|runpy|sys\.executable", file.text
    ):
        yield file.line(match.start()), match[0], "an import statement"


@rule()
def names_in_cells(repository: Repository):
    """Cells use no name that is not there, in branches too that the default parameters do not take."""
    with tempfile.TemporaryDirectory() as folder:
        for file in repository.files("notebooks/*.md"):
            lines = [""] * file.text.count("\n")  # those of the page
            for cell in file.cells:
                code = cell.code.splitlines()
                start = cell.line + cell.head.count("\n")
                lines[start : start + len(code)] = code
            Path(folder, f"{file.name}.py").write_text("\n".join(lines))
        rules = "--isolated --select F401,F811,F821 --config builtins=['display']".split()
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=concise"]
        done = subprocess.run([*command, *rules, "."], cwd=folder, text=True, capture_output=True)
    for match in re.finditer(r"^(\S+)\.py:(\d+):\d+: (?:\S+ )(.*)$", done.stdout, re.MULTILINE):
        yield f"notebooks/{match[1]}.md", int(match[2]), match[3], "names that the cells define"
