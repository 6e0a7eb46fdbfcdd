"""The command line ``fslcore COMMAND``: its commands and their arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .. import catalogue
from ..errors import InputError
from . import commands, evaluate
from .options import (
    BACKBONE,
    DATASET,
    JSON,
    LARGEST,
    LEARNERS,
    LEVEL,
    REPLACED,
    SIZE,
    SPLIT,
    ColumnsOf,
    Once,
    PairsOf,
    completing,
    count_of,
    dataset_of,
    datasets_named,
    name_of,
    number_of,
    part_of,
    path_of,
    printed_of,
)
from .program import Program

BOOK_COMMANDS = (
    "assess",
    "caption",
    "duplicates",
    "jupyter",
    "pack",
    "plan",
    "run",
    "train",
)  # commands of the other program
BOOK_DATASETS = ("coloured",)  # data sets that the other package makes
BOOK_LEARNERS = {  # learners of the other program, and their classes
    "anil": "ANIL",
    "boil": "BOIL",
    "can": "CAN",
    "dn4": "DN4",
    "leo": "LEO",
    "linear-sgd": "LinearLayer",
    "lr-raw": "RawLogisticRegression",
    "maml": "MAML",
    "maml-frozen": "FrozenMAML",
    "maml-frozen-ifsl": "FrozenMAMLIFSL",
    "matchingnet": "MatchingNet",
    "matchingnet-ifsl": "MatchingNetIFSL",
    "mtl": "MTL",
    "mtl-ifsl": "MTLIFSL",
    "opta": "OpTA",
    "opta-plain": "PlainOpTA",
    "r2d2": "R2D2",
    "renet": "RENet",
    "sib": "SIB",
    "sib-ifsl": "SIBIFSL",
    "text-probe": "TextProbe",
    "tip-adapter": "TipAdapter",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (0 for done); an error is one line."""
    hints = {
        name: f"{name} is a command of fslbook: fslbook {name} --help" for name in BOOK_COMMANDS
    }
    return _program().run(arguments, hints)


def _program() -> Program:
    examples = "fslcore list\nfslcore evaluate --help"
    program = Program("fslcore", "The statistics of few-shot evaluation.", examples, extra="report")
    _list_command(program.command)
    _result_commands(program.command)
    _evaluation_commands(program.command)
    _data_commands(program.command)
    program.add_completion()
    return program


def learner_of(text: str) -> object:
    """A learner's name; one of the other program is refused with the words to type."""
    if text in BOOK_LEARNERS:
        place = f"fslbook.learners:{BOOK_LEARNERS[text]}"
        raise InputError(f"learner = {text}; it is a learner of fslbook, typed as {place}")
    return name_of("learner", lambda: [*catalogue.LEARNERS], classes=True)(text)


def named_dataset(check: Callable[[str], object]) -> Callable[[str], object]:
    """The check of a data set's name; it says where one of the other package is."""

    def read(text: str) -> object:
        name = re.split("[/?]", text)[0]
        if name in BOOK_DATASETS and name not in catalogue.registered_datasets():
            raise InputError(
                f"dataset = {text}; it is a data set of fslbook, which is not installed here"
            )
        return check(text)

    return completing(datasets_named, read)


def _list_command(command: Callable[..., Any]) -> None:
    add = command("list", commands.show_names)
    add(
        "what",
        nargs="?",
        type=name_of("name", lambda: [*commands.KINDS]),
        help="a kind of names (an overview of all)",
    )
    add("--json", **JSON)


def _result_commands(command: Callable[..., Any]) -> None:
    add = command("report", commands.report)
    add(
        "results",
        nargs="+",
        type=path_of("results"),
        help="files, folders, or a pattern such as 'runs/{method}/seed{seed}.json': text of any kind, "
        ".tex, .json, .jsonl, .npy, .npz, .xlsx, .parquet; a row per task, seed, data set or item, or "
        "means with their ±; scores as logged by lm-eval or MTEB",
    )
    add(
        "-o",
        "--output",
        type=path_of("output", file=True),
        help="the report, one HTML file (RESULTS.html in this folder; of several, report.html); "
        f"{REPLACED}",
    )
    # What is not typed keeps the value of `fslcore.report.Options`.
    add_option = partial(add, default=argparse.SUPPRESS)
    add_option(
        "--sampling",
        choices=catalogue.REPORT_WORDS["sampling"],
        help="how tasks were drawn: open, each image in one task at most",
    )
    add_option(
        "--reference",
        metavar="NAME",
        help="compare this method with each other one, and nothing else",
    )
    add_option(
        "--seed",
        choices=catalogue.REPORT_WORDS["seed"],
        help="what a seed numbers: runs (trainings), or tasks (draws of tasks)",
    )
    add_option("--common", action="store_true", help="use only the tasks that all methods share")
    add_option(
        "--lower-is-better", action="store_true", help="the values are errors, losses or times"
    )
    add_option(
        "--higher-is-better", action="store_true", help="they are not, though a name says so"
    )
    _add_roles(add_option)
    add_option(
        "--out-of",
        type=number_of("out_of", over=0),
        metavar="N",
        help="the full score: 75 for right answers of 75 (1 or 100)",
    )
    add_option(
        "--margin",
        type=number_of("margin", over=0),
        metavar="POINTS",
        help="the largest difference that does not matter, in points, chosen beforehand",
    )
    add_option(
        "--separator",
        choices=catalogue.REPORT_WORDS["separator"],
        help="what separates the cells of text",
    )
    add_option(
        "--decimal", choices=catalogue.REPORT_WORDS["decimal"], help="the decimal sign of text"
    )
    _add_count(
        add_option,
        "--pool",
        1,
        metavar="N",
        help="labelled examples per class that supports were drawn from, if these share them",
    )
    _add_count(
        add_option, "--shots", 1, metavar="N", help="labelled examples of a class in each support"
    )
    add_option("--level", **LEVEL | {"default": argparse.SUPPRESS})
    add(
        "--tables",
        type=path_of("tables"),
        metavar="FOLDER",
        help=f"write the tables as LaTeX and Markdown too; {REPLACED}",
    )
    add(
        "--figures",
        type=path_of("figures"),
        metavar="FOLDER",
        help=f"write the figure as PDF, PNG and SVG too; {REPLACED}",
    )
    add("--json", **JSON)

    add = command("compare", commands.compare)
    add(
        "a",
        type=printed_of("a"),
        help="mean±half in percent, such as 79.59±0.52 or 79.59+-0.52",
    )
    add("b", type=printed_of("b"), help="likewise")
    add(
        "--tasks",
        nargs="+",
        type=count_of("tasks", 2),
        required=True,
        metavar="T",
        help="tasks of each mean; two numbers if they differ",
    )
    _add_count(add, "--images", 1, help="in the test set, if known")
    _add_count(add, "--classes", 1, help="in the test set, if known")
    _add_count(add, "--ways", 2, help="classes per task (5, and it is said to be assumed)")
    _add_count(add, "--shots", 1, help="labelled images per class (5, likewise)")
    _add_count(add, "--queries", 1, help="test images per class (15, likewise)")
    add(
        "--same-tasks",
        choices=["yes", "no", "unknown"],
        default="unknown",
        help="whether the two methods were tested on the same tasks (unknown)",
    )
    add(
        "--sampling",
        choices=[*catalogue.SAMPLINGS, "unknown"],
        default="unknown",
        help="closed: images are used again; open: each at most once (unknown; closed if --images "
        "are too few for --tasks open ones, which is said)",
    )
    add("--level", **LEVEL)
    add("--json", **JSON)


def _add_roles(add: Callable[..., Any]) -> None:
    """Add the options that say what columns are; without one, words such as accuracy or task say it."""
    add("--method", metavar="COLUMN", help="names the method of each row")
    add(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="a column of values for each method; or the only methods to compare",
    )
    add(
        "--columns",
        nargs="+",
        action=ColumnsOf,
        metavar=("WORD", "NAME"),
        help="columns of values that are data sets, seeds, …: --columns dataset CUB Cars",
    )
    add("--value", metavar="COLUMN", help="the values; in JSON also a path of keys (JMESPath)")
    add(
        "--unit",
        nargs="+",
        action=PairsOf,
        metavar="COLUMN=WORD",
        help="what a column numbers: task, item, class, seed, run, draw, fold, dataset or support",
    )
    add("--rows", metavar="WORD", help="what a row is, where no column says it: task, item, …")
    add(
        "--by",
        nargs="+",
        metavar="COLUMN",
        help="settings: methods are compared within their values",
    )
    add(
        "--where",
        nargs="+",
        metavar="COLUMN=VALUE",
        help="the rows to use; COLUMN!=VALUE leaves rows out",
    )
    add("--group", metavar="COLUMN", help="the groups that tasks or items come in")
    add(
        "--ignore",
        nargs="+",
        metavar="COLUMN",
        help="without a role; '()' for numbers in brackets",
    )
    add("--pm", metavar="KIND", help="what ± is: ci, se or sd; sd=COLUMN names its column")
    add("--n", metavar="N", help="of how many values a mean is: a number, or a column")
    add("--low", metavar="COLUMN", help="the lower ends of intervals")
    add("--high", metavar="COLUMN", help="the upper ends of intervals")
    add("--of", metavar="COLUMN", help="the totals of which the values are counts")


def _add_count(
    add: Callable[..., Any],
    option: str,
    minimum: int,
    maximum: int | None = None,
    **settings: object,
) -> None:
    """Add an option that takes a whole number."""
    add(option, type=count_of(option.removeprefix("--"), minimum, maximum), **settings)


def _add_task_sizes(add: Callable[..., Any]) -> None:
    _add_count(add, "--ways", 2, default=5, help="classes per task (5)")
    _add_count(add, "--shots", 1, default=5, help="labelled images per class (5)")
    _add_count(add, "--queries", 1, default=15, help="test images per class (15)")


def _evaluation_commands(command: Callable[..., Any]) -> None:
    add = command("evaluate", evaluate.evaluate, computes=True, extra="evaluate")
    add(
        "dataset",
        type=named_dataset(dataset_of("novel")),
        help="a name from fslcore list, folder:PATH or features:PATH",
    )
    add("backbone", **BACKBONE | {"help": f"{BACKBONE['help']}; none for features:PATH"})
    add(
        "-o",
        "--output",
        type=Path,
        help=f".parquet or .csv; .jsonl is a recording; not with --part; {REPLACED}",
    )
    add(
        "--learners",
        **LEARNERS | {"type": completing(lambda: [*catalogue.LEARNERS], learner_of)},
        help="names from fslcore list, or your own as module:Class (ncc lr)",
    )
    add(
        "--samplings",
        nargs="+",
        type=name_of("sampling", lambda: [*catalogue.SAMPLINGS]),
        action=Once,
        help="closed: images are used again; open: each at most once (both; only closed for "
        ".jsonl)",
    )
    _add_task_sizes(add)
    _add_count(add, "--seed", 0, LARGEST, default=0, help="of the task samplers (0)")
    _add_count(
        add, "--tasks", 2, default=600, help="closed tasks; open ones: as many as possible (600)"
    )
    add("--size", **SIZE)
    _add_count(add, "--ft-tasks", 2, help="closed tasks of fine-tuning, if fewer than the others")
    _add_count(add, "--max-open", 2, help="maximum number of open tasks (all)")
    _add_count(add, "--ft-open", 2, help="maximum for fine-tuning (as --max-open)")
    add(
        "--skip-small-classes",
        action="store_true",
        help="leave out classes with fewer than shots + queries images, instead of an error",
    )
    add(
        "--until",
        type=number_of("until", over=0, maximum=50),
        metavar="WIDTH",
        help="stop at fewer than --tasks closed tasks, once the accuracy on these images is known "
        "to ± WIDTH points",
    )
    add(
        "--apart",
        metavar="FACT",
        help="keep images with the same family, author … apart, never on both sides of a task; or "
        "a .csv with their columns image and group",
    )
    add(
        "--balanced",
        action="store_true",
        help="open tasks with all classes in equally many: as many tasks as the smallest class "
        "allows",
    )
    add(
        "--intervals",
        action="store_true",
        help="print intervals from the closed tasks for these images, new images and new classes",
    )
    add(
        "--part",
        type=part_of,
        metavar="K/N",
        help="compute the K-th of N parts and write nothing; the same without --part then finds "
        "all and writes",
    )
    add("--json", **JSON)

    add = command("features", commands.features, computes=True, extra="evaluate")
    add("dataset", **DATASET | {"type": named_dataset(str)})
    add("backbone", **BACKBONE)
    add("--split", **SPLIT)
    add("--size", **SIZE)
    add("--part", type=part_of, metavar="K/N", help="only the K-th of N parts, such as 1/4")
    add(
        "-o",
        "--output",
        type=Path,
        help=f".safetensors or .npz for features and labels, which features:FILE reads; {REPLACED}",
    )
    add("--json", **JSON)


def _sources() -> list[str]:
    from ..fetch import names

    return names()


def _data_commands(command: Callable[..., Any]) -> None:
    add = command("fetch", commands.fetch, extra="evaluate")
    add(
        "what",
        nargs="+",
        type=name_of("what", _sources),
        action=Once,
        help="data sets and weights by name; oops, evaluators, fewstab: all of that paper; "
        "oops-fetchable and the like: without what has to be brought; oops-benchmark: its results",
    )
    add(
        "--accept-terms",
        action="store_true",
        help="accept the printed licences and terms, if they limit the use",
    )
    add(
        "--complete",
        action="store_true",
        help="download nothing if a member of a group has to be brought",
    )
    add(
        "--from",
        dest="downloads",
        type=path_of("from"),
        metavar="FOLDER",
        help="a folder of files downloaded before",
    )
