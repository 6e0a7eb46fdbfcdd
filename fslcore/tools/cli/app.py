"""The command line, ``fslcore COMMAND``: the commands, their arguments, and how errors are reported."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, indent
from threading import current_thread, main_thread

from ... import __version__, catalogue, store
from ...errors import visible
from ...paths import PROFILES, check_shipped
from .. import notebooks
from . import commands
from .faults import Terminated, message
from .options import (
    LARGEST,
    Once,
    Parser,
    completing,
    count_of,
    dataset_of,
    datasets_named,
    device_of,
    name_of,
    notebook_of,
    number_of,
    part_of,
    path_of,
    printed_of,
    setting_of,
)
from .output import completion

EXIT_CODES = """exit codes:
  0    done
  1    a fault of fslcore
  2    bad input, a file that cannot be read or written, or not enough memory
  130  stopped with Ctrl-C (143: by another program, with SIGTERM)"""
# Arguments that several commands have.
SPLITS = ["novel", "validation", "base"]
BACKBONE = dict(type=completing(catalogue.backbones), help="a name from fslcore list, or NAME:WEIGHTS_FILE")
DATASET = dict(type=completing(datasets_named), help="a name from fslcore list, folder:PATH and the like")
JOBS = dict(type=count_of("jobs", 1, 1024), default=1, help="processes on this machine, which share its cores (1)")
JSON = dict(action="store_true", help="print the result as strict JSON")
LEARNERS = dict(nargs="+", type=name_of("learner", lambda: [*catalogue.known]), action=Once, default=["ncc", "lr"])
LEVEL = dict(type=number_of("level", above=0, below=1), default=0.95, help="nominal coverage (0.95)")
PROFILE = dict(type=path_of("profile"), help="file of parameters; data may be absent yet")
SIZE = dict(type=count_of("size", 8, 2048), help="pixels at which your own images are read (the model's own)")
SPLIT = dict(choices=SPLITS, default="novel", help="classes of the data set (novel)")
# For notebooks too, and for processes that this one starts.
OPTIONS_OF_CHILDREN = ("FSLCORE_DEVICE", "FSLCORE_PRECISION", "FSLCORE_QUIET", "TQDM_DISABLE")


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (see `EXIT_CODES`); errors are reported in one line."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (open until Python ends)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # for consoles without ± or →
    before = {name: os.environ[name] for name in OPTIONS_OF_CHILDREN if name in os.environ}
    extra = "evaluate"
    try:
        try:
            _stop_on_sigterm()
            usual = argparse.Namespace(debug=False, quiet=False, device=None, precision=None)
            options = _parser().parse_args(arguments, usual)
        except SystemExit:  # after --help or --version
            sys.stdout.flush()
            raise
        extra = options.extra
        given = {"FSLCORE_DEVICE": options.device, "FSLCORE_PRECISION": options.precision}
        os.environ |= {name: value for name, value in given.items() if value}  # read by `models.backbone`
        check_shipped(data=extra == "evaluate")
        if options.computes:
            if not store.path().is_dir():  # an existing one may contain everything needed
                store.check_writable()
            if os.environ.get("FSLCORE_DEVICE", "cpu") != "cpu":
                from ...models import backbones

                backbones.device()  # a missing device is reported even if everything is in the cache
        if options.quiet:
            os.environ["TQDM_DISABLE"] = os.environ["FSLCORE_QUIET"] = "1"  # no bars, no notes; in notebooks too
            warnings.simplefilter("ignore")
        options.command(options)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        line, code = message(error, extra)
        if "--debug" in arguments:
            traceback.print_exc()
        if line:
            print(f"fslcore: {visible(line)}", file=sys.stderr)
        if isinstance(error, OSError):
            _drop_output()
        return code
    finally:  # another command in this process has its own options
        for name in OPTIONS_OF_CHILDREN:
            os.environ.pop(name, None)
        os.environ.update(before)
    return 0


def _stop_on_sigterm() -> None:
    def stop(*_) -> None:
        raise Terminated

    # Not if the signal has another handler, or within another program's thread.
    if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)


def _drop_output() -> None:
    """Discard output still to be written to a closed pipe or a full disk, so that it raises nothing at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--debug", action="store_true", help="show the full traceback of an error")
    quiet = "no progress bars or notes: only the result and errors"
    common.add_argument("--quiet", action="store_true", help=quiet)
    device = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    text = "cpu, cuda, cuda:NUMBER or mps (the first CUDA GPU, or else the CPU)"
    device.add_argument("--device", type=device_of, help=text)
    device.add_argument(
        "--precision",
        choices=catalogue.PRECISIONS,
        help="of networks that compute features or are fine-tuned: bf16 is mostly faster where there are instructions "
        "for it, and rounds more; auto is bf16 there, else f32 (f32)",
    )
    parser = Parser(
        "fslcore",
        description="The statistics of few-shot evaluation.",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_epilog("fslcore list\nfslcore evaluate --help"),
    )
    parser.add_argument("--version", action="version", version=__version__, help="print the version and exit")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, run: Callable, computes: bool = False, extra: str = "evaluate") -> Callable:
        """Add a command, whose docstring is its help, with examples below; what is returned adds its arguments."""
        text, _, examples = (run.__doc__ or "").partition("\n")
        made = subparsers.add_parser(
            name,
            help=text[:1].lower() + text[1:-1],
            description=text,
            parents=[common, device][: 1 + computes],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_epilog(examples),
        )
        made.set_defaults(command=run, computes=computes, extra=extra)
        return made.add_argument

    for commands_of in (_notebook_commands, _result_commands, _evaluation_commands, _data_commands, _training_commands):
        commands_of(command)
    add = command("completion", _completion)
    add("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    return parser


def _notebook_commands(command: Callable) -> None:
    add = command("list", commands.show_names, extra="report")
    listable = name_of("name", lambda: [*commands.KINDS, *notebooks.names()])
    add("what", nargs="?", type=listable, help="a kind of names, or a notebook (an overview of all)")
    add("--json", **JSON)

    add = command("run", commands.run, computes=True)
    add("notebook", type=completing(notebooks.names, notebook_of), help="a name from fslcore list")
    text = "a parameter of the notebook and its value, in YAML; may be repeated"
    add("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help=text)
    add("--profile", type=Path, default=PROFILES / "quick.yml", help="file of parameters (quick.yml)")
    text = "executed notebook (NOTEBOOK.ipynb in this folder, or in _build/runs of the repository)"
    add("-o", "--output", type=Path, help=text)

    add = command("plan-run", commands.plan_run)
    add("profile", **PROFILE)
    add("--machine", help="a machine in data/performance (the one nearest to this)")
    add("--json", **JSON)


def _result_commands(command: Callable) -> None:
    add = command("report", commands.report, extra="report")
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

    add = command("compare", commands.compare, extra="report")
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

    add = command("assess", commands.assess, computes=True)
    add("folder", type=path_of("folder"), help="one folder per class, with 1 to 20 images each")
    usual = dict(default=["efficientnet-lite0", "glyph-conv"], help="(efficientnet-lite0 glyph-conv)")
    backbone = name_of("backbone", catalogue.backbones)
    add("--backbone", nargs="+", dest="backbones", type=backbone, action=Once, **usual)
    add("--learner", dest="learners", **LEARNERS, help="(ncc lr)")
    add("--level", **LEVEL | {"default": 0.9, "help": "nominal coverage (0.9)"})
    add("-o", "--output", type=Path, help="the page, one HTML file (FOLDER.html in this folder)")
    add("--json", action="store_true", help="print methods, intervals and warnings as strict JSON")


def _shape(add: Callable) -> None:
    for name, least, default, text in (
        ("ways", 2, 5, "classes per task"),
        ("shots", 1, 5, "labelled images per class"),
        ("queries", 1, 15, "test images per class"),
    ):
        add(f"--{name}", type=count_of(name, least), default=default, help=f"{text} ({default})")


def _evaluation_commands(command: Callable) -> None:
    add = command("evaluate", commands.evaluate, computes=True)
    add("dataset", type=dataset_of("novel"), help="a name from fslcore list, folder:PATH or features:PATH")
    add("backbone", **BACKBONE | {"help": f"{BACKBONE['help']}; none for features:PATH"})
    add("-o", "--output", type=Path, help=".parquet or .csv; .npz is a recording; not with --part")
    own = LEARNERS | {"type": name_of("learner", lambda: [*catalogue.known], own=True)}
    add("--learners", **own, help="names from fslcore list, or your own as module:Class (ncc lr)")
    sampling = name_of("sampling", lambda: ["closed", "open"])
    text = "closed: images are used again; open: each at most once (both; only closed for .npz)"
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
    add("--jobs", **JOBS)
    add("--json", **JSON)

    add = command("features", commands.features, computes=True)
    add("dataset", **DATASET)
    add("backbone", **BACKBONE)
    add("--split", **SPLIT)
    add("--size", **SIZE)
    add("--part", type=part_of, metavar="K/N", help="only the K-th of N parts, such as 1/4")
    add("--jobs", **JOBS)
    add("-o", "--output", type=Path, help=".safetensors or .npz for features and labels, which features:FILE reads")
    add("--json", **JSON)


def _data_commands(command: Callable) -> None:
    add = command("fetch", commands.fetch)
    text = "data sets and weights by name; oops, evaluators, fewstab: all of that paper; oops-benchmark: its results"
    add("what", nargs="+", type=name_of("what", commands.fetchable), action=Once, help=text)
    add("--accept-terms", action="store_true", help="accept the printed licences and terms, if they limit the use")
    add("--complete", action="store_true", help="download nothing if a member of a group has to be brought")
    add("--from", dest="given", type=path_of("from"), metavar="FOLDER", help="a folder of files downloaded before")
    add("--folder", type=path_of("folder"), help="folder for oops-benchmark (the cache)")

    add = command("pack", commands.pack)
    add("profile", **PROFILE | {"help": "file of parameters of a finished run"})
    add("--by", required=True, help="the author's name, shown with its numbers")
    add("-o", "--output", type=Path, required=True, help=".zip or .npz, of a few MB")


def _training_commands(command: Callable) -> None:
    add = command("train", commands.train, computes=True)
    text = f"one of {', '.join(catalogue.RECIPES)}; without one, --paper trains all networks of that paper"
    add("learner", nargs="?", type=name_of("learner", lambda: [*catalogue.RECIPES]), help=text)
    text = "checkpoint (NETWORK-LEARNER.safetensors in this folder, or in _build of the repository)"
    add("-o", "--output", type=Path, help=text)
    text = "conv4, resnet12, resnet12-map and the like (the learner's own)"
    add("--network", type=name_of("network", lambda: [*catalogue.NETWORKS]), help=text)
    text = "its base classes for training, its validation classes for selection (the learner's own)"
    add("--dataset", type=dataset_of("base"), help=text)
    for name, text in (
        ("frozen", "backbone whose features leo, matchingnet and the like use, NAME or NAME:FILE"),
        ("teacher", "backbone whose outputs rfs learns, NAME or NAME:FILE"),
    ):
        text += " (conv4-baseline for the learner's own data; needed for other data)"
        add(f"--{name}", **BACKBONE | {"help": text})
    add("--shots", type=count_of("shots", 1), help="images per class in the training tasks (5)")
    add("--epochs", type=count_of("epochs", 1), help="number of epochs (the learner's own)")
    add("--paper", choices=catalogue.TRAINERS, help="train as this paper does on the data set")
    text = "a field of the recipe, or a key of one, such as lr=0.01 or architecture.side=64; may be repeated"
    add("--set", type=setting_of, action="append", metavar="FIELD=VALUE", help=text)
    add("--seed", type=count_of("seed", 0, LARGEST), default=0, help="of weights and batches (0)")

    add = command("caption", commands.caption, computes=True)
    add("datasets", nargs="+", metavar="dataset", **DATASET)
    captioner = name_of("captioner", lambda: [*catalogue.CAPTIONERS], file=True)
    text = "pixels, vit-gpt2, blip, blip-large, or KIND:FOLDER (pixels)"
    add("--captioner", default="pixels", type=captioner, help=text)
    add("--split", **SPLIT)
    add("--size", **SIZE)
    text = ".csv for one data set; an unfinished one is resumed (the cache, which finds captions by captioner)"
    add("-o", "--output", type=Path, help=text)

    add = command("duplicates", commands.duplicates, computes=True)
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


def _epilog(examples: str) -> str:
    return f"examples:\n{indent(dedent(examples).strip(), '  ')}\n\n{EXIT_CODES}"


def _completion(options: argparse.Namespace) -> None:
    """Print a script that lets a shell complete commands, options and names.

    fslcore completion bash > ~/.local/share/bash-completion/completions/fslcore
    fslcore completion zsh > ~/.fslcore.zsh
    fslcore completion fish > ~/.config/fish/completions/fslcore.fish
    """
    (commands,) = (action.choices for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    print(completion(options.shell, {name: _words(parser) for name, parser in commands.items()}))


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """The words after a command for completion: its options, and the names that its arguments take."""
    words = []
    for action in parser._actions:
        names = getattr(action.type, "names", list)()
        words += [*action.option_strings, *names, *(action.choices or ())]
    return list(dict.fromkeys(words))


if __name__ == "__main__":
    sys.exit(main())
