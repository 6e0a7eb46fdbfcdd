"""Output of commands for programs: results as strict JSON, and scripts for shell completion."""

from __future__ import annotations

import json
import math
import re
import textwrap
from dataclasses import asdict, is_dataclass
from pathlib import Path

from ...errors import visible

SCREEN = 100  # columns of a terminal, whose lines are 24
TRAINED = ("conv4-", "resnet")  # backbones that `fslcore train` names

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
        "brought": "NAME:FILE, as fslcore train writes it",
    },
    "learners": {
        "features": "read features",
        "images": "read images, and train a network on each task",
        "transductive": "use all queries of a task together",
    },
    "estimators": {"paper": "of a task's own accuracy, from its support", "more": "not in the paper; K is a number"},
    "captioners": {"pixels": "without weights", "models": "with weights, from the model hub or NAME:FOLDER"},
}


def print_json(value: object) -> None:
    """Print a value as strict JSON, which has no NaN and no infinity: they become null.

    Parameters
    ----------
    value
        Of dicts, dataclasses, lists, text, paths, numbers (also of NumPy), booleans and None; a data frame becomes the
        list of its rows.
    """
    text = json.dumps(_plain(value), allow_nan=False, ensure_ascii=False, indent=1)
    # The control characters that JSON does not escape, but a terminal would interpret.
    print(re.sub(r"[^\n -~]", lambda sign: _escaped(sign[0]), text))


def overview(found: dict[str, object]) -> list[str]:
    """Lines of ``fslcore list``, one screen: the names of each kind, as many as fit."""
    lines = []
    for what, names in found.items():
        kinds = [one for of in names.values() for one in of] if what in EXPLAINED else [*names]
        # The most informative names come first; domains of a data set, and names of trainings, last.
        kinds.sort(key=lambda name: "/" in name or name.startswith(TRAINED))
        room = {"width": SCREEN, "subsequent_indent": "  ", "max_lines": 6 if what == "notebooks" else 4}
        lines += textwrap.wrap(f"{what}: {_joined(kinds)}", **room, placeholder=" …", break_on_hyphens=False)
    lines.append("fslcore list KIND: all names of a kind with their meaning; fslcore list NOTEBOOK: its parameters")
    return lines


def listed(found: dict[str, object], parameters: bool) -> list[str]:
    """Lines of ``fslcore list WHAT``: notebooks, with their ``parameters``, and names, those of a kind together."""
    lines = []
    for name, notebook in found.get("notebooks", {}).items():
        lines.append(f"{name}: {notebook['title']}")
        lines += [
            f"  {p['name']} = {p['default']!r}  ({p['type']}; {p['allowed']})  {p['meaning']}"
            for p in notebook["parameters"]
            if parameters
        ]
    for what, names in found.items():
        if what in EXPLAINED:
            lines += [f"{what}:"] if names else []
            for kind, of in names.items():
                lines += [f"  {kind} ({EXPLAINED[what][kind]}): {_joined(of)}"] if of else []
        elif what != "notebooks":
            lines.append(f"{what}: {', '.join(names)}")
    return lines


def _joined(names: list[str]) -> str:
    return ", ".join(f"'{name}'" if "," in name else name for name in names)


def _escaped(sign: str) -> str:
    return sign if visible(sign) == sign else json.dumps(sign)[1:-1]


def _plain(value: object) -> object:
    if hasattr(value, "columns"):
        value = value.to_dict("records")
    elif is_dataclass(value):
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


def completion(shell: str, words: dict[str, list[str]]) -> str:
    """A script with which bash, zsh or fish completes commands, from the words that may follow each command."""
    if shell == "fish":
        lines = [f"complete -c fslcore -n __fish_use_subcommand -a '{' '.join(words)}'"]
        lines += [
            f"complete -c fslcore -n '__fish_seen_subcommand_from {name}' -a '{' '.join(of)}'"
            for name, of in words.items()
        ]
        return "\n".join(lines)
    first = "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n" if shell == "zsh" else ""
    cases = "\n".join(f"    {name}) words='{' '.join(of)}' ;;" for name, of in words.items())
    return f"""{first}_fslcore() {{
  local words='{" ".join(words)}'
  [ "$COMP_CWORD" -gt 1 ] && case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _fslcore fslcore"""
