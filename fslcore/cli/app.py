"""The command line ``fslcore COMMAND``: its commands and their arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from .. import catalogue
from . import commands
from .options import (
    BACKBONE,
    DATASET,
    JSON,
    LARGEST,
    LEARNERS,
    LEVEL,
    SIZE,
    SPLIT,
    SPLITS,
    Once,
    count_of,
    dataset_of,
    name_of,
    number_of,
    part_of,
    path_of,
    printed_of,
)
from .program import Program, open_outputs

OF_THE_BOOK = ("assess", "caption", "pack", "plan", "run", "train")  # commands of the other program


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (0 for done); an error is one line."""
    arguments = sys.argv[1:] if arguments is None else arguments
    open_outputs()
    if arguments and arguments[0] in OF_THE_BOOK:
        print(f"fslcore: {arguments[0]} is a command of fslbook: fslbook {arguments[0]} --help", file=sys.stderr)
        return 2
    return _program().run(arguments)


def _program() -> Program:
    examples = "fslcore list\nfslcore evaluate --help"
    program = Program("fslcore", "The statistics of few-shot evaluation.", examples, extra="report")
    _list_command(program.command)
    _result_commands(program.command)
    _evaluation_commands(program.command)
    _data_commands(program.command)
    program.add_completion()
    return program


def _list_command(command: Callable) -> None:
    add = command("list", commands.show_names)
    add("what", nargs="?", type=name_of("name", lambda: [*commands.KINDS]), help="a kind of names (an overview of all)")
    add("--json", **JSON)


def _result_commands(command: Callable) -> None:
    add = command("report", commands.report)
    add(
        "results",
        nargs="+",
        type=path_of("results"),
        help="files or folders: text of any kind, .json, .jsonl, .npy, .npz, .xlsx, .parquet; a row per task, seed, "
        "data set or item, or means with their ±; scores as logged by lm-eval or MTEB",
    )
    text = "the report, one HTML file (RESULTS.html in this folder; of several, report.html)"
    add("-o", "--output", type=path_of("output", file=True), help=text)
    text = "how tasks were drawn: open, each image in one task at most"
    add("--sampling", choices=["open", "closed"], default="unknown", help=text)
    add("--reference", metavar="NAME", help="compare this method with each other one, and nothing else")
    text = "what a seed numbers: runs (trainings), or tasks (draws of tasks)"
    add("--seed", choices=["runs", "tasks"], default="unknown", help=text)
    add("--common", action="store_true", help="use only the tasks that all methods share")
    add("--lower-is-better", action="store_true", help="the values are errors, losses or times")
    add("--drop", nargs="+", default=[], metavar="NAME", help="columns, methods, data sets and tasks to leave out")
    add("--methods", nargs="+", default=[], metavar="NAME", help="the methods; no other column is used")
    text = "the full score: 75 for right answers of 75 (1 or 100)"
    add("--out-of", type=number_of("out_of", above=0), metavar="N", help=text)
    text = "the largest difference that does not matter, in points, chosen beforehand"
    add("--margin", type=number_of("margin", above=0), metavar="POINTS", help=text)
    text = "tasks behind each printed ±"
    add("--tasks", type=count_of("tasks", 2), metavar="N", help=text)
    kinds = ["comma", "semicolon", "tab", "bar", "blanks"]
    add("--separator", choices=kinds, default="unknown", help="what separates the cells of text")
    add("--decimal", choices=[".", ","], default="unknown", help="the decimal sign of text")
    text = "labelled examples per class that supports were drawn from, if these share them"
    add("--pool", type=count_of("pool", 1), metavar="N", help=text)
    add("--shots", type=count_of("shots", 1), metavar="N", help="labelled examples of a class in each support")
    add("--level", type=number_of("level", above=0, below=1), default=0.95, help="level of the intervals (0.95)")
    add("--tables", type=path_of("tables"), metavar="FOLDER", help="write the tables as LaTeX and Markdown too")
    add("--figures", type=path_of("figures"), metavar="FOLDER", help="write the figure as PDF, PNG and SVG too")
    add("--json", action="store_true", help="print the whole report as strict JSON")

    add = command("compare", commands.compare)
    add("a", type=printed_of("a"), help="mean±half in percent, such as 71.2±0.4 or 71.2+-0.4")
    add("b", type=printed_of("b"), help="likewise")
    count = dict(type=count_of("tasks", 2), required=True, metavar="T")
    add("--tasks", nargs="+", **count, help="tasks of each mean; two numbers if they differ")
    add("--images", type=count_of("images", 1), help="in the test set, if known")
    add("--classes", type=count_of("classes", 1), help="in the test set, if known")
    _shape(add)
    text = "whether both were run on the same tasks (unknown)"
    add("--same-tasks", choices=["yes", "no", "unknown"], default="unknown", help=text)
    text = "closed: images are used again; open: each at most once (unknown)"
    add("--sampling", choices=["closed", "open", "unknown"], default="unknown", help=text)
    add("--level", **LEVEL)
    add("--json", **JSON)


def _shape(add: Callable) -> None:
    for name, least, default, text in (
        ("ways", 2, 5, "classes per task"),
        ("shots", 1, 5, "labelled images per class"),
        ("queries", 1, 15, "test images per class"),
    ):
        add(f"--{name}", type=count_of(name, least), default=default, help=f"{text} ({default})")


def _evaluation_commands(command: Callable) -> None:
    add = command("evaluate", commands.evaluate, computes=True, extra="evaluate")
    add("dataset", type=dataset_of("novel"), help="a name from fslcore list, folder:PATH or features:PATH")
    add("backbone", **BACKBONE | {"help": f"{BACKBONE['help']}; none for features:PATH"})
    add("-o", "--output", type=Path, help=".parquet or .csv; .jsonl is a recording; not with --part")
    own = LEARNERS | {"type": name_of("learner", lambda: [*catalogue.known], own=True)}
    add("--learners", **own, help="names from fslcore list, or your own as module:Class (ncc lr)")
    sampling = name_of("sampling", lambda: ["closed", "open"])
    text = "closed: images are used again; open: each at most once (both; only closed for .jsonl)"
    add("--samplings", nargs="+", type=sampling, action=Once, help=text)
    _shape(add)
    add("--seed", type=count_of("seed", 0, LARGEST), default=0, help="of the task samplers (0)")
    add("--tasks", type=count_of("tasks", 2), default=600, help="closed tasks; open ones: as many as possible (600)")
    add("--size", **SIZE)
    add("--ft-tasks", type=count_of("ft-tasks", 2), help="closed tasks of fine-tuning, if fewer than the others")
    add("--max-open", type=count_of("max-open", 2), help="maximum number of open tasks (all)")
    add("--ft-open", type=count_of("ft-open", 2), help="maximum for fine-tuning (as --max-open)")
    text = "leave out classes with fewer than shots + queries images, instead of an error"
    add("--skip-small-classes", action="store_true", help=text)
    text = "stop at fewer than --tasks closed tasks, once the accuracy on these images is known to ± WIDTH points"
    add("--until", type=number_of("until", above=0, most=50), metavar="WIDTH", help=text)
    text = "keep images with the same family, author … apart, never on both sides of a task; or a .csv of duplicates"
    add("--apart", metavar="FACT", help=text)
    text = "open tasks with all classes in equally many: as many tasks as the smallest class allows"
    add("--balanced", action="store_true", help=text)
    text = "print intervals from the closed tasks for these images, new images and new classes"
    add("--intervals", action="store_true", help=text)
    add("--level", **LEVEL | {"default": None, "help": "nominal coverage of --intervals (0.95)"})
    text = "compute the K-th of N parts and write nothing; the same without --part then finds all and writes"
    add("--part", type=part_of, metavar="K/N", help=text)
    add("--json", **JSON)

    add = command("features", commands.features, computes=True, extra="evaluate")
    add("dataset", **DATASET)
    add("backbone", **BACKBONE)
    add("--split", **SPLIT)
    add("--size", **SIZE)
    add("--part", type=part_of, metavar="K/N", help="only the K-th of N parts, such as 1/4")
    add("-o", "--output", type=Path, help=".safetensors or .npz for features and labels, which features:FILE reads")
    add("--json", **JSON)


def _data_commands(command: Callable) -> None:
    add = command("fetch", commands.fetch, extra="evaluate")
    text = "data sets and weights by name; oops, evaluators, fewstab: all of that paper; oops-benchmark: its results"
    add("what", nargs="+", type=name_of("what", commands.fetchable), action=Once, help=text)
    add("--accept-terms", action="store_true", help="accept the printed licences and terms, if they limit the use")
    add("--complete", action="store_true", help="download nothing if a member of a group has to be brought")
    add("--from", dest="given", type=path_of("from"), metavar="FOLDER", help="a folder of files downloaded before")
    add("--folder", type=path_of("folder"), help="folder for oops-benchmark (the cache)")

    add = command("duplicates", commands.duplicates, computes=True, extra="evaluate")
    add("dataset", **DATASET)
    text = "backbone of the features to compare (efficientnet-lite0)"
    add("--backbone", **BACKBONE | {"default": "efficientnet-lite0", "help": text})
    add("--splits", nargs="+", choices=SPLITS, action=Once, default=["novel"], help="searched together (novel)")
    text = "what must be near: hash, features, both, either (either)"
    add("--by", choices=["either", "both", "hash", "features"], default="either", help=text)
    add("--bits", type=count_of("bits", 0, 64), help="maximum of differing bits, out of 64 (from the data)")
    add("--distance", type=number_of("distance", above=0, most=2), help="largest distance of features (from the data)")
    add("--size", **SIZE)
    add("-o", "--output", type=Path, help="a .csv: the group of each image, which evaluate --apart takes")
    add("--sheet", type=Path, help="a .png, .pdf or .svg: pairs at and around the threshold")
    add("--json", **JSON)


if __name__ == "__main__":
    sys.exit(main())
