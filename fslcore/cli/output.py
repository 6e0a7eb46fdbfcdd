"""Output of commands: results as strict JSON, and names as many as fit on a screen."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path

from ..errors import visible, warn
from ..paths import check_output, note_replacement

SCREEN = 100  # columns of a terminal, whose lines are 24
# What stands for the signs of sentences and plots in a terminal without them.
IN_ASCII = str.maketrans(
    {
        "±": "+-",
        "−": "-",
        "…": "...",
        "×": "x",
        "∞": "unknown",
        "├": "|",
        "─": "-",
        "┤": "|",
        "●": "o",
        "│": ":",
    }
)
TRAINED = ("conv4-", "resnet")  # how names of trainings begin

EXPLAINED = {  # meaning of a kind of names, if its own name does not say it
    "datasets": {
        "shipped": "come with the package",
        "at hand": "of the papers: fetched, or brought to the place named by fslcore fetch",
        "to fetch": "of the papers: fslcore fetch NAME brings them",
        "papers": "released by others: PATH is a folder with the release",
        "own": "a folder of class folders; a file of features",
    },
    "backbones": {
        "shipped": "come with weights",
        "fetched": "from the model hub, or NAME:FILE",
        "released": "the same, with the preprocessing of the code released with OOPS",
        "brought": "NAME:FILE, after a training",
    },
    "learners": {
        "features": "read features",
        "images": "read images, and train a network on each task",
        "transductive": "use all queries of a task together",
    },
}


def output_file(
    path: str | Path,
    endings: Iterable[str],
    inputs: Iterable[str | Path] = (),
    name: str = "output",
) -> Path:
    """The path of a command's output, as `fslcore.paths.check_output` checks it; a file there is
    replaced with a note, before the work starts.
    """
    path = check_output(path, endings, inputs, name)
    note_replacement(path, name)
    return path


@contextmanager
def replacements_noted(folders: Mapping[str, Path | None]) -> Iterator[None]:
    """Write a note for each folder, by its argument, in which the block replaces files."""
    files = {name: list(folder.glob("*")) for name, folder in folders.items() if folder}
    states = {name: list(map(os.stat, of_folder)) for name, of_folder in files.items()}
    yield
    for name, earlier in files.items():
        pairs = zip(states[name], map(os.stat, earlier))
        replaced = sum(not os.path.samestat(before, after) for before, after in pairs)
        if replaced:
            warn(f"{name} = {folders[name]}; {replaced} files of an earlier report were replaced")


def print_json(value: object) -> None:
    """Print a value as strict JSON, which has no NaN and no infinity: they become null.

    Parameters
    ----------
    value
        Of dicts, dataclasses, lists, text, paths, numbers (also of NumPy), booleans and None; a
        data frame becomes the list of its rows.
    """
    text = json.dumps(_plain(value), allow_nan=False, ensure_ascii=False, indent=1)
    # The control characters that JSON does not escape, but a terminal would interpret.
    print(re.sub(r"[^\n -~]", lambda sign: _escaped(sign[0]), text))


def show(options: argparse.Namespace, record: object, *lines: object) -> None:
    """Print a result as strict JSON or as lines; names in them, and in tables, may contain control
    characters.
    """
    if options.json:
        print_json(record)
        return
    for text in lines:
        for line in str(text).split("\n"):
            print(encodable(visible(line), getattr(sys.stdout, "encoding", None)))


def encodable(line: str, encoding: str | None) -> str:
    """A line for a terminal of this encoding: where it lacks a sign, signs of ASCII stand for it."""
    try:
        line.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return line.translate(IN_ASCII)
    return line


def overview(names: Mapping[str, Iterable[str] | Mapping[str, object]]) -> list[str]:
    """The names of each kind, as many as fit on one screen."""
    lines = []
    for kind, of_kind in names.items():
        words = list(of_kind)
        if isinstance(of_kind, Mapping):
            groups = [group for group in of_kind.values() if isinstance(group, list)]
            if len(groups) == len(of_kind):
                words = [name for group in groups for name in group]
        # The most informative names come first; domains of a data set, and names of trainings,
        # last.
        words.sort(key=lambda name: "/" in name or name.startswith(TRAINED))
        lines += textwrap.wrap(
            f"{kind}: {joined(words)}",
            width=SCREEN,
            subsequent_indent="  ",
            max_lines=6,
            placeholder=" …",
            break_on_hyphens=False,
        )
    return lines


def grouped_lines(kind: str, groups: dict[str, list[str]]) -> list[str]:
    """The names of one kind, a line for each group, with its meaning."""
    meanings = EXPLAINED[kind]
    return [
        f"{group} ({meanings[group]}): {joined(names)}" for group, names in groups.items() if names
    ]


def joined(names: list[str]) -> str:
    """Names with commas between them, in quotes if they contain one."""
    return ", ".join(f"'{name}'" if "," in name else name for name in names)


def _escaped(sign: str) -> str:
    return sign if visible(sign) == sign else json.dumps(sign)[1:-1]


def _plain(value: object) -> object:
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        value = value.to_dict("records")
    elif is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    elif hasattr(value, "tolist"):  # arrays, and numbers of NumPy
        value = value.tolist()
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
