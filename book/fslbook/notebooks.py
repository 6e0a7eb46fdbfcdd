"""The notebooks: their parameters, checks of given values, and running one.

A notebook is a MyST Markdown file under ``notebooks/`` whose first code cell is tagged
``parameters``. Each line of that cell is ``name: type = default  # allowed: meaning``, where
*allowed* is a range (``2..50``, ``0..``), a choice (``closed|open``), or one of the words
``dataset``, ``backbone``, ``learner``, ``captioner`` (or a .csv of captions) and ``method`` (a backbone, a space, a
learner) for names known to fslcore, ``file``, ``folder`` and ``path`` (either) for an existing path or an empty text,
``text`` for any.
``method or none``, and the like, allow an empty list too.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import html
import json
import logging
import re
import shlex
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from fslcore import catalogue
from fslcore.cli.faults import with_arguments
from fslcore.errors import InputError, check_unique, choice, either, quoted, shown, suggestion
from fslcore.paths import replace_file, scratch

from .catalogue import CAPTIONERS, FACTS, source_and_compounds
from .paths import NOTEBOOKS, PROFILES, check_shipped

if TYPE_CHECKING:
    import pandas as pd
    from nbformat import NotebookNode

__all__ = [
    "Parameter",
    "check",
    "executed",
    "glued",
    "names",
    "page",
    "parameter_table",
    "parameters",
    "profile",
    "run",
    "source",
    "title",
    "value",
]

TYPES = {"int": int, "float": (int, float), "str": str, "bool": bool}
REFUSALS = (  # names of InputError and of the classes under it: a notebook's error arrives as a name
    "BootstrapFailed",
    "Direction",
    "InputError",
    "Lost",
    "Unassigned",
    "UnnamedRoles",
)


@dataclass(frozen=True)
class Parameter:
    """One line of a notebook's parameters cell."""

    name: str
    type: str  # int, float, str, bool, or list[…] of one of them
    default: object
    allowed: str
    meaning: str


def names() -> list[str]:
    """Names of the notebooks."""
    return sorted(path.stem for path in NOTEBOOKS.glob("*.md"))


def source(name: str) -> Path:
    """The file of a notebook.

    Raises
    ------
    InputError
        Unknown notebook (the message lists them), or an installation without any.
    """
    check_shipped()
    return NOTEBOOKS / f"{choice('notebook', name, names())}.md"


def title(name: str) -> str:
    """The first heading of a notebook."""
    return re.search(r"^# (.+)$", source(name).read_text("utf-8"), re.MULTILINE)[1]


def parameters(name: str) -> list[Parameter]:
    """The parameters of a notebook.

    Raises
    ------
    InputError
        Unknown notebook (the message lists them).
    """
    cell = re.search(
        r"^:tags: \[parameters\]$(.*?)^```$",
        source(name).read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )[1]
    lines = re.findall(r"^(\w+): (\S+) = (.+?)  # (.+?): (.+)$", cell, re.MULTILINE)
    return [
        Parameter(key, kind, ast.literal_eval(default), *texts)
        for key, kind, default, *texts in lines
    ]


def parameter_table(name: str) -> pd.DataFrame:
    """The parameters of a notebook as a table for readers."""
    import pandas as pd

    rows = [
        (p.name, p.default, p.type, p.allowed.replace("|", " | "), p.meaning)
        for p in parameters(name)
    ]
    columns = ["parameter", "default", "type", "allowed", "meaning"]
    return pd.DataFrame(rows, columns=columns, dtype=object).set_index(
        "parameter"
    )  # prevents 600.00 tasks


def check(name: str, settings: dict, absent: bool = False) -> dict:
    """The given parameters, if the notebook takes them; ``absent`` also allows data sets without a folder yet.

    A single value for a list parameter becomes a list of it.

    Raises
    ------
    InputError
        Unknown parameter, wrong type, or a value that is not allowed: the message names all three.
    """
    takes = {p.name: p for p in parameters(name)}
    settings = dict(settings)
    for key, value in settings.items():
        if key not in takes:
            raise InputError(
                f"parameter {key}: {name} takes {', '.join(takes)}{suggestion(key, list(takes))}"
            )
        if takes[key].type.startswith("list[") and isinstance(value, (str, int, float)):
            value = settings[key] = [value]
        _check_value(takes[key], value, absent)
    return settings


def _check_value(p: Parameter, value: object, absent: bool) -> None:
    inner = re.fullmatch(r"list\[(\w+)\]", p.type)
    if inner and (
        not isinstance(value, list)
        or (not value and p.default and not p.allowed.endswith(" or none"))
    ):
        full = ", not empty" if value == [] else ""
        raise InputError(
            f"parameter {p.name} must be a list of {inner[1]}{full}, such as {p.default}, got {value!r}"
        )
    kind = inner[1] if inner else p.type
    for item in value if inner else [value]:
        if not isinstance(item, TYPES[kind]) or (isinstance(item, bool) and kind != "bool"):
            raise InputError(
                f"parameter {p.name} must be {_needed(p, kind)}, got {value!r}{_yaml_hint(kind, item)}"
            )
        _check_allowed(p, item, absent)
    if inner:
        check_unique(f"parameter {p.name}", value)


def _needed(p: Parameter, kind: str) -> str:
    """What a parameter takes in place of a value of another type."""
    words = p.allowed.split("|")
    if kind == "str" and len(words) > 1:
        return either(words)
    return f"{kind}, such as {p.default!r}"


def _yaml_hint(kind: str, item: object) -> str:
    """How a text is typed that YAML reads as a truth value."""
    if kind == "str" and isinstance(item, bool):
        return (
            " (YAML reads yes, no, on and off as truth values; in quotes they are texts: \"'no'\")"
        )
    return ""


def _check_allowed(p: Parameter, item, absent: bool) -> None:  # noqa: PLR0912 a branch per kind of parameter
    p = replace(p, allowed=p.allowed.removesuffix(" or none"))
    bounds = re.fullmatch(r"(-?[\d.]*?)\.\.(-?[\d.]*)", p.allowed)
    if bounds:
        low, high = (float(b) if b else None for b in bounds.groups())
        if (low is not None and not item >= low) or (high is not None and not item <= high):
            raise InputError(f"parameter {p.name} must be {p.allowed}, got {item}")
    elif p.allowed == "dataset":
        if item == p.default == "":
            return
        from fslcore import datasets

        if absent and f"{re.split('[:?]', item)[0]}:PATH" in [
            *datasets.path_forms(),
            "features:PATH",
        ]:
            return
        if not item.startswith("features:"):
            datasets.check_name(item)
    elif p.allowed == "backbone":
        choice(f"parameter {p.name}", item.partition(":")[0], catalogue.backbones())
    elif p.allowed == "text":
        pass
    elif p.allowed == "captioner":
        source = source_and_compounds(str(item))[0]
        if not source.endswith(".csv") and not source.startswith(FACTS):
            choice(f"parameter {p.name}", source, ["captions", *CAPTIONERS])
    elif p.allowed == "method":
        from fslcore import evaluation

        evaluation.Method.parse(item)
    elif p.allowed in ("file", "folder", "path"):
        path = Path(item)
        fits = {
            "file": path.is_file(),
            "folder": path.is_dir(),
            "path": path.is_file() or path.is_dir(),
        }
        if item and not fits[p.allowed]:
            kind_there = (
                "a folder" if path.is_dir() else "a file" if path.is_file() else "no ordinary file"
            )
            kind = "file or folder" if p.allowed == "path" else p.allowed
            got = f"{kind_there}, {item}" if path.exists() else f"no such {kind}, {item}"
            raise InputError(f"parameter {p.name} must be a {kind}, got {got}")
    else:
        lists = {"learner": [*catalogue.registered_learners]}
        choices = lists.get(p.allowed) or p.allowed.split("|")
        choice(
            f"parameter {p.name}", str(item), choices
        )  # of numbers and truth values (True|False) too


def value(name: str, text: str) -> object:
    """The value of a parameter given as text, in YAML.

    Raises
    ------
    InputError
        Not YAML, or not of a type of YAML.
    """
    return _yaml(text, f"parameter {name} = {shown(text)}")


def _yaml(text: str, place: str) -> object:
    import yaml

    class Once(yaml.SafeLoader):
        """Allows no name twice: YAML itself keeps the last one without an error."""

        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value]
            for i, (key, _) in enumerate(node.value):
                if isinstance(key.value, str) and key.value in keys[:i]:
                    raise yaml.constructor.ConstructorError(
                        problem=f"{key.value} is there twice", problem_mark=key.start_mark
                    )
            return super().construct_mapping(node, deep)

        def construct_yaml_int(self, node):
            if not re.fullmatch(
                r"[-+]?(0|[1-9]\d*)", node.value
            ):  # in YAML 1.1 010 is 8, and 1:30 is 90
                raise yaml.constructor.ConstructorError(
                    problem=f"{node.value} is not a whole number in decimal digits",
                    problem_mark=node.start_mark,
                )
            return int(node.value)

    Once.add_constructor("tag:yaml.org,2002:int", Once.construct_yaml_int)
    try:
        return yaml.load(text, Once)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line_and_column = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(f"{place}; not a YAML value: {shown(problem)}{line_and_column}") from None
    except ValueError as error:  # such as an invalid date
        raise InputError(f"{place}; not a YAML value: {shown(str(error))}") from None
    except RecursionError:
        raise InputError(f"{place}; nested too deeply") from None


def profile(path: str | Path, absent: bool = False) -> dict[str, dict]:
    """Parameters by notebook from a profile file; ``absent`` as for `check`.

    If there is no such file, ``large.yml`` and ``profiles/large.yml`` name one that ships with the package.

    Raises
    ------
    InputError
        No such file, one that cannot be read, not YAML, a name twice, not a mapping of mappings, or a notebook or
        parameter that does not exist.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"profile must be a file, got the folder {path}")
    shipped = {file.name: file for file in sorted(PROFILES.glob("*.yml"))}
    file = path if path.is_file() else shipped.get(path.as_posix().removeprefix("profiles/"))
    if file is None:
        raise InputError(
            f"profile: no file {path}; {', '.join(shipped)} ship with fslcore{suggestion(path.name, shipped)}"
        )
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"profile: {path} is not UTF-8 text") from None
    content = _yaml(text, f"profile: {path}")
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(
            f"profile {path} must have notebooks with their parameters, got {quoted(content)}"
        )
    settings: dict[str, dict] = {}
    for name, values in content.items():
        choice(f"profile: {path}: notebook", name, names())
        if not isinstance(values, dict):
            raise InputError(
                f"profile {path} must have parameters with their values for {name}, got "
                f"{quoted(values)}"
            )
        settings[name] = check(name, values, absent)
    return settings


def run(name: str, settings: dict, output: str | Path, progress: bool = False) -> Path:
    """Execute a notebook with these parameters and write it with its outputs to ``output``.

    Parameters
    ----------
    progress : bool
        Show a bar if it takes more than five seconds.

    Raises
    ------
    InputError
        As for `check`; or an error that the notebook raised as such, in one line. Then nothing is written.
    OSError, MemoryError, ModuleNotFoundError, RecursionError, RuntimeError
        Any other error of the notebook, in one line too; its process has ended.
    """
    import jupytext
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.engines import papermill_engines
    from traitlets.config import Config

    settings = check(name, settings)
    output = Path(output)
    papermill_engines.register("fslcore", _engine(name, progress))
    with scratch() as folder:
        # The kernel is reached through private files: no open port, and none shared with a second run.
        sockets = {
            "transport": "ipc",
            "ip": str(folder / "kernel"),
            "connection_file": str(folder / "kernel.json"),
        }
        quiet = [
            "--IPKernelApp.log_level=50"
        ]  # its own log reports its end, which is not our output
        config = Config({"KernelManager": sockets, "NotebookClient": {"extra_arguments": quiet}})
        try:
            replace_file(
                output,
                lambda part: papermill.execute_notebook(
                    jupytext.read(source(name)),
                    part,
                    settings,
                    engine_name="fslcore",
                    progress_bar=False,
                    request_save_on_cell_execute=False,  # what is half done is not kept
                    config=config,
                ),
            )
        except papermill.PapermillExecutionError as error:
            if error.ename in REFUSALS:
                raise _refusal(error.ename, f"{name}: {_advice(name, error.evalue)}") from None
            missing = re.fullmatch(r"No module named '(.+)'", error.evalue)
            if missing:
                raise ModuleNotFoundError(f"{name}: {error.evalue}", name=missing[1]) from error
            kind = getattr(builtins, error.ename, None)
            if isinstance(kind, type) and issubclass(kind, (OSError, MemoryError, RecursionError)):
                raise kind(f"{name}: {error.evalue}") from error
            raise RuntimeError(f"{name}: {error.ename}: {error.evalue}") from error
        except DeadKernelError:
            raise MemoryError(
                f"{name}: its process was killed, probably for using too much memory"
            ) from None
    return output


def _refusal(name: str, message: str) -> InputError:
    """The error of a notebook by its name; only that of columns without a role has several lines."""
    if name == "UnnamedRoles":
        from fslcore.report.model import UnnamedRoles

        return UnnamedRoles(message)
    return InputError(message)


def _advice(name: str, message: str) -> str:
    """An error with the options that it advises as parameters of the notebook, or without them if there are none."""
    types = {p.name: p.type for p in parameters(name)}
    message = with_arguments(message, partial(_as_parameter, types))
    message += _proposal_as_parameters(types, message)
    if "skip_small_classes" in types:
        return message.replace("skip_small_classes=True", "-p skip_small_classes true")
    return message.replace(", or skip small classes: skip_small_classes=True", "")


def _as_parameter(types: dict[str, str], name: str, words: list[str]) -> str | None:
    """``-p rows task`` for an argument and its words; None if it is no parameter of the notebook."""
    if name not in types:
        return None
    value = " ".join(words) or "true"
    if types[name] == "str":
        value = _yaml_text(value)
    elif types[name].startswith("list"):
        value = f"[{', '.join(map(_yaml_text, words))}]"
    return f"-p {name} {shlex.quote(value)}"


def _yaml_text(text: str) -> str:
    """A text as YAML reads it inside a list: in double quotes if it means something else without."""
    import yaml

    dumped = yaml.safe_dump([text], default_flow_style=True, width=inf, allow_unicode=True)
    return text if dumped == f"[{text}]\n" else json.dumps(text, ensure_ascii=False)


def _proposal_as_parameters(types: dict[str, str], message: str) -> str:
    """A line with the options of the command that a message proposes as parameters of the notebook."""
    commands = [line for line in message.splitlines() if line.startswith("  fslcore report ")]
    if not commands:
        return ""
    options: dict[str, list[str]] = {}
    for word in shlex.split(commands[0]):
        if word.startswith("--"):
            option = word
            options[option] = []
        elif options:
            options[option].append(word)
    stated, others = [], []
    for option, words in options.items():
        parameter = _as_parameter(types, option[2:].replace("-", "_"), words)
        if parameter is None:
            others.append(option)
        else:
            stated.append(parameter)
    line = f"\nHere as {' '.join(stated)}" if stated else ""
    if others:
        line += f"\nThe command alone has {', '.join(others)}"
    return line


def _engine(name: str, progress: bool) -> type:
    """Papermill's own engine with a bar that appears after five seconds."""
    from papermill.engines import NBClientEngine
    from tqdm import tqdm

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **options):
            cells, ended = len(nb_man.nb.cells), Event()
            # No minimum number of steps, so that the clock runs on during a long cell.
            bar = tqdm(
                total=cells,
                desc=name,
                unit="cell",
                delay=5,
                leave=False,
                miniters=0,
                disable=None if progress else True,
            )  # only on a terminal

            def tick() -> None:
                while not ended.wait(1):
                    bar.update(
                        sum(c.metadata.papermill.status == "completed" for c in nb_man.nb.cells)
                        - bar.n
                    )

            clock = Thread(target=tick, daemon=True)
            clock.start()
            # After a stop nobody awaits the tasks that talk to the kernel: their messages about its end
            # are not errors.
            asyncio = logging.getLogger("asyncio")
            level = asyncio.level
            asyncio.setLevel(logging.CRITICAL)
            try:
                executed = super().execute_managed_notebook(nb_man, kernel_name, **options)
                asyncio.setLevel(level)
                return executed
            finally:
                ended.set()
                clock.join()
                bar.close()

    return Engine


def executed(name: str, settings: dict, progress: bool = False) -> NotebookNode:
    """The notebook executed with these parameters in this process, for notebooks faster than the start of a kernel.

    Parameters
    ----------
    name, settings
        As for `run`.
    progress : bool
        Show a bar if it takes more than five seconds.

    Raises
    ------
    InputError
        As for `check`.
    Exception
        The error of a cell.
    """
    import matplotlib.pyplot as plt
    import nbformat
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.core.pylabtools import select_figure_formats
    from IPython.display import display
    from IPython.utils.capture import capture_output
    from myst_nb.core.read import read_myst_markdown_notebook  # which `page` needs anyway
    from tqdm import tqdm
    from traitlets.config import Config

    settings = check(name, settings)
    notebook = read_myst_markdown_notebook(source(name).read_text("utf-8"))
    if InteractiveShell.initialized():  # called from a notebook, whose names must not change
        with scratch() as folder:
            return nbformat.read(run(name, settings, folder / f"{name}.ipynb"), as_version=4)
    backend = plt.get_backend()
    widths = pd.option_context("display.max_colwidth", None)  # which chapters set
    with scratch() as folder, plt.rc_context(), widths:
        config = Config({"HistoryManager": {"enabled": False}})
        shell = InteractiveShell.instance(ipython_dir=str(folder), config=config)
        plt.switch_backend("agg")
        try:
            # Like the kernel's own figures.
            select_figure_formats(shell, {"png"}, bbox_inches="tight")
            cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
            bar = dict(desc=name, unit="cell", delay=5, leave=False, disable=not progress)
            for cell in tqdm(cells, **bar):
                with capture_output() as captured:
                    result = shell.run_cell(cell.source)
                    # The value of the last line, which is otherwise captured as text only.
                    if result.result is not None and not cell.source.rstrip().endswith(";"):
                        display(result.result)
                    for number in plt.get_fignums():
                        display(plt.figure(number))
                    plt.close("all")
                result.raise_error()
                cell.outputs = [
                    nbformat.v4.new_output("display_data", output.data, metadata=output.metadata)
                    for output in captured.outputs
                ]
                if "parameters" in cell.metadata.get("tags", []):
                    shell.push(settings)
        finally:
            shell.restore_sys_module_state()
            InteractiveShell.clear_instance()
            atexit.unregister(
                shell.atexit_operations
            )  # it keeps all objects of the cells until the process ends
            plt.switch_backend(backend)
    return notebook


def glued(notebook: dict) -> dict[str, str]:
    """What an executed notebook glues: a text for each key, as Markdown.

    Parameters
    ----------
    notebook : dict
        As nbformat or json reads it.
    """
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    records = [output.get("metadata", {}).get("scrapbook") for output in outputs]
    return {
        record["name"]: _markdown(output["data"], record["mime_prefix"])
        for record, output in zip(records, outputs)
        if record
    }


def _markdown(data: dict, prefix: str) -> str:
    """What is glued, as Markdown: MyST-NB keeps a text in quotes, and what a text says is no markup."""
    if f"{prefix}text/markdown" in data:
        return "".join(data[f"{prefix}text/markdown"])
    text = ast.literal_eval("".join(data[f"{prefix}text/plain"]))
    return re.sub(r"([\\`*_<\[$])", r"\\\1", text)


def page(executed: str | Path | NotebookNode, output: str | Path, title: str) -> None:
    """One HTML file of an executed notebook: the outputs of its cells, without code, and nothing to fetch.

    Cells tagged ``book`` are for readers of the book and left out; so their markup may be Sphinx's, while
    that of the others is plain MyST.

    Parameters
    ----------
    executed : path or notebook
        An .ipynb that `run` wrote, or the result of `executed`.
    output : path
        The .html file; pictures and style are inside it, formulas are MathML.
    title : str
        Title of the browser's tab.
    """
    import nbformat
    from docutils.core import publish_string
    from myst_nb.docutils_ import Parser

    notebook = executed if isinstance(executed, dict) else nbformat.read(executed, as_version=4)
    notebook.cells = [c for c in notebook.cells if "book" not in c.metadata.get("tags", [])]
    for cell in notebook.cells:
        caption = f"<caption>{html.escape(cell.metadata.get('table', {}).get('caption', ''))}</caption><thead>"
        for data in (
            output.get("data", {}) for output in cell.get("outputs", []) if "table" in cell.metadata
        ):
            if "text/html" in data:
                data["text/html"] = data["text/html"].replace("<thead>", caption)
    with scratch() as folder:
        settings = {
            "title": title,
            "output_encoding": "unicode",
            "math_output": "mathml",
            "image_loading": "embed",
            "stylesheet_path": ["minimal.css", str(NOTEBOOKS / "page.css")],
            "embed_stylesheet": True,
            "report_level": 2,
            "halt_level": 2,  # a warning is an error, as on the site
            "myst_enable_extensions": ["dollarmath"],
            "nb_execution_mode": "off",
            "nb_remove_code_source": True,
            "nb_output_folder": str(folder),
        }
        try:
            text = publish_string(
                nbformat.writes(notebook),
                source_path=f"{title}.ipynb",
                parser=Parser(),
                writer_name="html5",
                settings_overrides=settings,
            )
        except OSError as error:  # of a temporary file, whose name is not informative
            raise OSError(error.errno, error.strerror, str(output)) from error
    replace_file(Path(output), lambda part: part.write_text(text, "utf-8"))
