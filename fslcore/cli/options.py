"""Parsing of arguments: each check of one argument with the messages of `fslcore.errors`."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from .. import catalogue
from ..errors import (
    InputError,
    check_unique,
    choice,
    instance,
    number,
    quoted,
    suggestion,
    whole,
)
from ..paths import at_home

NAME_AND_VALUE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
LARGEST = 2**53  # of seeds: integers up to here are exact in every file format


class Parser(argparse.ArgumentParser):
    """Reports an error in one line, with a similar name if there is one."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")

    def parse_known_args(  # type: ignore[override]  # the stubs have an overload per namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        self._check_pairs(args or [])
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            similar = suggestion(unknown[0], self._option_string_actions) or self._as_pair(unknown)
            raise InputError(f"{unknown[0]}: no such argument{similar}; see {self.prog} --help")
        return options, unknown

    def _pair_options(self) -> list[str]:
        """The options that take a name and a value, as two words."""
        actions = [action for action in self._actions if action.nargs == 2]
        return [option for action in actions for option in action.option_strings]

    def _check_pairs(self, words: Sequence[str]) -> None:
        """Refuse NAME=VALUE after an option that takes two words."""
        options = self._pair_options()
        for option, word in pairwise(words):
            pair = NAME_AND_VALUE.fullmatch(word)
            if option in options and pair:
                name, value = pair.groups()
                line = f"{option} {name} {shlex.quote(value)}"
                raise InputError(f"{option} must be in two words, {line}, got {word}")

    def _as_pair(self, words: list[str]) -> str:
        """The words as a name and a value behind an option, if they can be that."""
        pair = NAME_AND_VALUE.fullmatch(words[0])
        name, *values = pair.groups() if pair else words
        if not (self._pair_options() and name.isidentifier() and values):
            return ""
        return f"; did you mean {self._pair_options()[0]} {name} {shlex.quote(values[0])}?"

    def _get_value(self, action: argparse.Action, text: str) -> object:
        """The value as the argument's ``type`` reads it, whose messages are kept."""
        try:
            read = action.type
            return read(text) if callable(read) else super()._get_value(action, text)
        except InputError as error:
            raise argparse.ArgumentError(None, str(error)) from None

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None:
            name = action.metavar if isinstance(action.metavar, str) else ""
            choice((name or action.dest).lower().replace("_", "-"), value, action.choices)


class Once(argparse.Action):
    """A list of names without repetition."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        chosen = instance(self.dest, values, list)
        check_unique(self.dest, chosen)
        setattr(namespace, self.dest, chosen)


def completing(
    names: Callable[[], list[str]], check: Callable[[str], object] = str
) -> Callable[[str], object]:
    """The check for ``type=``, with the words that complete its argument."""

    def read(text: str) -> object:
        return check(text)

    read.names = names  # type: ignore[attr-defined]  # a function may have attributes
    return read


def count_of(name: str, minimum: int, maximum: int | None = None) -> Callable[[str], object]:
    """A check of a whole number."""

    def check(text: str) -> int:
        value = int(text) if re.fullmatch(r"[+-]?\d{1,30}", text) else text
        return whole(name, value, minimum, maximum)

    return check


def part_of(text: str) -> tuple[int, int]:
    """K and N of K/N, the K-th of N parts."""
    if re.fullmatch(r"\d{1,9}/\d{1,9}", text):
        k, n = map(int, text.split("/"))
        if 1 <= k <= n:
            return k, n
    raise InputError(f"part must be K/N with K from 1 to N, such as 1/4, got {text!r}")


def path_of(name: str, file: bool = False) -> Callable[[str], Path]:
    """A reader of a path; with ``file``, of a file name."""

    def check(text: str) -> Path:
        if not text:  # the empty path would be the current folder
            raise InputError(f"{name} must be a path, got ''")
        if file and text.endswith(("/", os.sep)):
            raise InputError(f"{name} must be the name of a file, got {text!r}")
        return Path(text)

    check.of_files = True  # type: ignore[attr-defined]  # for completion
    return check


def number_of(
    name: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    over: float | None = None,
    under: float | None = None,
) -> Callable[[str], object]:
    """A check of a number, within bounds as for `fslcore.errors.number`."""

    def check(text: str) -> float:
        value: object = text
        with suppress(ValueError):
            value = float(text)
        return number(name, value, minimum=minimum, maximum=maximum, over=over, under=under)

    return check


def printed_of(name: str) -> Callable[[str], object]:
    """A reader of a printed figure: its mean and the number after ±."""

    def check(text: str) -> tuple[float, float]:
        from ..report.numbers import half_width_of, number_in

        match = number_in(text)
        half_width = match and half_width_of(match)
        if match is None or not half_width:
            raise InputError(
                f"{name} must be a mean and its ±, such as 71.2±0.4 or 71.2+-0.4, not a number in "
                f"brackets, got {quoted(text)}"
            )
        return float(match[1].replace(",", ".")), float(half_width.replace(",", "."))

    return check


def name_of(
    noun: str, names: Callable[[], list[str]], file: bool = False, classes: bool = False
) -> Callable[[str], object]:
    """A check of a name; with ``file``, also of NAME:FILE, and with ``classes`` of a module:Class,
    read later.
    """

    def check(text: str) -> str:
        name, colon, _ = text.partition(":")
        if classes and colon:
            return text
        try:
            choice(noun, name if file else text, names())
        except InputError as error:
            if not classes:
                raise
            example = f"my{noun}:My{noun.title()}"
            raise InputError(f"{error}, or your own as module:Class, such as {example}") from None
        return text

    return completing(names, check)


def dataset_of(split: str) -> Callable[[str], object]:
    """A check of a data set's name with this split; the user's own features count as novel
    classes.
    """

    def check(text: str) -> str:
        from .. import datasets

        if split == "novel" and text.startswith("features:"):
            path = at_home(text.removeprefix("features:"), "features")
            if not path.is_file():
                raise InputError(f"features: no file {path}")
        else:
            datasets.check_name(text, split)
        return text

    return completing(lambda: datasets_named(split), check)


def datasets_named(split: str = "novel") -> list[str]:
    """Names for completion."""
    from .. import datasets

    return datasets.names(split) + [
        name for name, is_fetched in datasets.fetchable().items() if is_fetched
    ]


def device_of(text: str) -> str:
    """A device's name; torch checks whether it is available."""
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", text):
        raise InputError(f"device must be cpu, cuda, cuda:NUMBER or mps, got {text!r}")
    return text


def check_backbone(text: str) -> None:
    """Raise `InputError` unless it is the name of a backbone, or NAME:FILE."""
    choice("backbone", text.partition(":")[0], catalogue.backbones())


def files_in(*names: str) -> list[str]:
    """The files and folders in arguments such as ``folder:PATH`` and ``NAME:FILE``."""
    paths = [name.partition(":")[2] for name in names]
    return [path for path in paths if path]


def values_of(options: argparse.Namespace, names: str) -> dict[str, Any]:
    """The options of these names, which blanks separate."""
    return {name: getattr(options, name) for name in names.split()}


REPLACED = "a file there is replaced, with a note"  # the end of the help on an output
# Arguments that several commands have.
BACKBONE = dict(
    type=completing(catalogue.backbones), help="a name from fslcore list, or NAME:WEIGHTS_FILE"
)
DATASET = dict(
    type=completing(datasets_named), help="a name from fslcore list, folder:PATH and the like"
)
JSON = dict(action="store_true", help="print the result as strict JSON")
LEARNERS = dict(
    nargs="+",
    type=name_of("learner", lambda: [*catalogue.registered_learners]),
    action=Once,
    default=["ncc", "lr"],
)
LEVEL = dict(type=number_of("level", over=0, under=1), default=0.95, help="nominal coverage (0.95)")
SIZE = dict(
    type=count_of("size", 8, 2048),
    help="pixels at which your own images are read (the model's own)",
)
SPLIT = dict(choices=catalogue.SPLITS, default="novel", help="classes of the data set (novel)")


class PairsOf(argparse.Action):
    """COLUMN=WORD as a dict."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        pairs = dict(getattr(namespace, self.dest, {}))
        for text in values:
            column, sign, word = text.rpartition("=")
            if not sign:
                parser.error(f"{self.dest} must be COLUMN=WORD, got {text!r}")
            pairs[column] = word
        setattr(namespace, self.dest, pairs)


class ColumnsOf(argparse.Action):
    """A word and the names of columns, as a dict of lists."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        word, *names = values
        if not names:
            parser.error(f"{self.dest} must be a word and names of columns, got {word!r} alone")
        columns = getattr(namespace, self.dest, {})
        setattr(namespace, self.dest, {**columns, word: names})
