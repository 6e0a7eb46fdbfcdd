"""The command line: one function a command, ``fslcore COMMAND``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

from . import __version__, chapters, known, store
from .errors import InputError, Terminated, choice, memory, missing, told, whole
from .options import (
    LARGEST,
    LEVEL,
    Once,
    Parser,
    checked,
    count_of,
    dataset_of,
    datasets_named,
    device_of,
    name_of,
    notebook_of,
    number_of,
    path_of,
    printed_of,
)
from .paths import PROFILES, RUNS, check_folder, check_output, check_shipped
from .printed import completion, listed, print_json

if TYPE_CHECKING:
    import pandas as pd

EXIT_CODES = """exit codes:
  0    done
  1    a fault of fslcore
  2    bad input, a file that cannot be read or written, or not enough memory
  130  stopped with Ctrl-C (143 by another program, with SIGTERM)"""
OPTIONS_OF_CHILDREN = ("FSLCORE_DEVICE", "FSLCORE_QUIET", "TQDM_DISABLE")  # how --device and --quiet reach notebooks


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (see `EXIT_CODES`); what goes wrong is told in one line."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w"))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # for consoles that lack ± or →
    before = {name: os.environ.get(name) for name in OPTIONS_OF_CHILDREN}
    extra = "evaluate"
    try:
        try:
            _stop_on_sigterm()
            options = _parser().parse_args(arguments, argparse.Namespace(debug=False, quiet=False, device=None))
        except SystemExit:  # after --help or --version
            sys.stdout.flush()
            raise
        extra = options.extra
        if options.device:
            os.environ["FSLCORE_DEVICE"] = options.device  # read by `models.backbones.device`, here and in notebooks
        check_shipped()
        if options.computes:
            check_folder(store.path(), "FSLCORE_CACHE")
            if os.environ.get("FSLCORE_DEVICE", "cpu") != "cpu":
                from .models import backbones

                backbones.device()  # one that is not there is told also where all is found in the cache
        if options.quiet:
            os.environ["TQDM_DISABLE"] = os.environ["FSLCORE_QUIET"] = "1"  # no bars, no notes; in notebooks too
            warnings.simplefilter("ignore")
        options.command(options)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        line, code = told(error, extra)
        if "--debug" in arguments:
            traceback.print_exc()
        if line:
            print(f"fslcore: {line}", file=sys.stderr)
        if isinstance(error, OSError):
            _drop_output()
        return code
    finally:  # another command in this process has options of its own
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return 0


def _stop_on_sigterm() -> None:
    def stop(*_) -> None:
        raise Terminated

    # Not where somebody else listens to it, or within another program's thread.
    if current_thread() is main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, stop)


def _drop_output() -> None:
    """Let nothing that is still to be written to a closed pipe or a full disk make noise at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show where an error comes from"
    )
    common.add_argument(
        "--quiet",
        action="store_true",
        default=argparse.SUPPRESS,
        help="no progress bars and no notes: the result and errors alone",
    )
    device = argparse.ArgumentParser(add_help=False)
    device.add_argument(
        "--device",
        type=checked(device_of),
        default=argparse.SUPPRESS,
        help="cpu, cuda, cuda:NUMBER or mps (the first CUDA GPU, else the CPU)",
    )
    parser = Parser(
        "fslcore",
        description="The statistics of few-shot evaluation.",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_epilog("list", "evaluate --help"),
    )
    parser.add_argument("--version", action="version", version=__version__, help="print the version and stop")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(
        name: str, run: Callable, text: str, *examples: str, computes: bool = False, extra="evaluate"
    ) -> Parser:
        add = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            parents=[common, device][: 1 + computes],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=_epilog(*(f"{name} {example}".strip() for example in examples)),
        )
        add.set_defaults(command=run, computes=computes, extra=extra)
        return add

    as_json = dict(action="store_true", help="print the result as strict JSON")
    learners = dict(nargs="+", type=name_of("learner", known.learners), action=Once, default=["ncc", "lr"])

    add = command("list", _list, "notebooks with their parameters, data sets, backbones, learners", "", "--json")
    add.add_argument("--json", **as_json)

    add = command(
        "run",
        _run,
        "execute a notebook with other parameters",
        'closed-vs-open -p shots 1 -p datasets "[clipart, fashion]"',
        computes=True,
    )
    add.add_argument("notebook", type=checked(notebook_of, chapters.names), help="a name that fslcore list gives")
    add.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter of the notebook and its value, in YAML; may be given again",
    )
    add.add_argument("--profile", type=Path, default=PROFILES / "quick.yml", help="file of parameters (quick.yml)")
    add.add_argument(
        "-o",
        "--output",
        type=Path,
        help="executed notebook (NOTEBOOK.ipynb in this folder, or in _build/runs of the repository)",
    )

    add = command(
        "report",
        _report,
        "say what per-task accuracies of your own methods show",
        "results.csv",
        "results.csv --sampling open --common --level 0.99 -o report.html",
        "results.csv --tables paper --figures paper --json",
        extra="report",
    )
    add.add_argument(
        "results",
        type=checked(path_of("results")),
        help='.csv, .tsv, .txt, .parquet, .npy or .pt, a row a task; see "The results table" in the book',
    )
    add.add_argument(
        "-o",
        "--output",
        type=checked(path_of("output", file=True)),
        help="the report, one HTML file (RESULTS.html in this folder)",
    )
    add.add_argument("--sampling", choices=["open", "closed"], help="how tasks were drawn, where the file does not say")
    add.add_argument("--common", action="store_true", help="use the tasks that all methods share, leave out the others")
    add.add_argument("--drop", nargs="+", default=[], metavar="NAME", help="columns, methods and tasks to leave out")
    add.add_argument("--level", type=LEVEL, default=0.95, help="nominal coverage (0.95)")
    points = number_of("margin", above=0, most=100)
    add.add_argument("--margin", type=points, metavar="POINTS", help="the largest difference that does not matter")
    add.add_argument("--json", action="store_true", help="print the whole report as strict JSON, not the summary")
    add.add_argument("--tables", type=Path, metavar="FOLDER", help="write the tables there too, in LaTeX and Markdown")
    add.add_argument("--figures", type=Path, metavar="FOLDER", help="write the figure there too, as PNG, PDF and SVG")

    add = command(
        "compare",
        _compare,
        "say what two printed accuracies with their ± tell, without the results behind them",
        "71.2±0.4 70.5±0.5 --tasks 600",
        "61.34+-0.65 62.64+-0.61 --tasks 1000 --images 12000 --classes 20 --shots 1 --same-tasks no",
        "79.59±0.52 76.87±0.56 --tasks 600 --images 840 --json",
        extra="report",
    )
    add.add_argument("first", type=printed_of("first"), help="mean±half in percent, such as 71.2±0.4 or 71.2+-0.4")
    add.add_argument("second", type=printed_of("second"), help="likewise")
    count = dict(type=count_of("tasks", 2), required=True, metavar="T")
    add.add_argument("--tasks", nargs="+", **count, help="tasks behind each mean; two numbers where they differ")
    add.add_argument("--images", type=count_of("images", 1), help="in the test set, where it is known")
    add.add_argument("--classes", type=count_of("classes", 1), help="in the test set, where it is known")
    for name, least, default, text in (
        ("ways", 2, 5, "classes a task"),
        ("shots", 1, 5, "labelled images a class"),
        ("queries", 1, 15, "test images a class"),
    ):
        add.add_argument(f"--{name}", type=count_of(name, least), default=default, help=f"{text} ({default})")
    same = name_of("same-tasks", lambda: ["yes", "no", "unknown"])
    add.add_argument("--same-tasks", type=same, default="unknown", help="yes, no or unknown (unknown)")
    sampling = name_of("sampling", lambda: ["closed", "open", "unknown"])
    add.add_argument(
        "--sampling",
        type=sampling,
        default="unknown",
        help="closed: images are used again; open: each at most once (unknown)",
    )
    add.add_argument("--level", type=LEVEL, default=0.95, help="nominal coverage (0.95)")
    add.add_argument("--json", **as_json)

    add = command(
        "assess",
        _assess,
        "say what a support set of your own promises, before there is a test set",
        "my-images",
        "my-images --backbone efficientnet-lite0 --learner ncc lr --level 0.8",
        "my-images --json",
        computes=True,
    )
    add.add_argument("folder", type=checked(path_of("folder")), help="one folder a class, 1 to 20 images in each")
    add.add_argument(
        "--backbone",
        nargs="+",
        dest="backbones",
        type=name_of("backbone", known.backbones),
        action=Once,
        default=["efficientnet-lite0", "glyph-conv"],
        help="(efficientnet-lite0 glyph-conv)",
    )
    add.add_argument("--learner", dest="learners", **learners, help="(ncc lr)")
    add.add_argument("--level", type=LEVEL, default=0.9, help="nominal coverage (0.9)")
    add.add_argument("-o", "--output", type=Path, help="the page, one HTML file (FOLDER.html in this folder)")
    add.add_argument("--json", action="store_true", help="print methods, intervals and cautions as strict JSON")

    add = command(
        "evaluate",
        _evaluate,
        "run learners on tasks and write the results table",
        "folder:/data/mushrooms efficientnet-lite0 -o mushrooms.csv",
        "features:my.npz none -o mine.parquet --learners ncc --samplings closed --tasks 2000",
        computes=True,
    )
    add.add_argument(
        "dataset", type=dataset_of("novel"), help="a name that fslcore list gives, folder:PATH or features:PATH"
    )
    add.add_argument(
        "backbone",
        type=checked(str, known.backbones),
        help="a name that fslcore list gives, or NAME:WEIGHTS_FILE; none for features:PATH",
    )
    add.add_argument("-o", "--output", type=Path, required=True, help=".parquet or .csv")
    add.add_argument("--learners", **learners, help="names that fslcore list gives (ncc lr)")
    add.add_argument(
        "--samplings",
        nargs="+",
        type=name_of("sampling", lambda: ["closed", "open"]),
        action=Once,
        default=["closed", "open"],
        help="closed: images are used again; open: each at most once (both)",
    )
    for name, least, default, text in (
        ("ways", 2, 5, "classes a task"),
        ("shots", 1, 5, "labelled images a class"),
        ("queries", 1, 15, "test images a class"),
        ("seed", 0, 0, "of the task samplers"),
        ("tasks", 2, 600, "closed tasks; open ones are as many as there can be"),
    ):
        most = LARGEST if name == "seed" else None
        add.add_argument(f"--{name}", type=count_of(name, least, most), default=default, help=f"{text} ({default})")
    add.add_argument(
        "--size",
        type=count_of("size", 8, 2048),
        help="pixels at which your own images are read and seen (the backbone's own)",
    )
    add.add_argument(
        "--ft-tasks", type=count_of("ft-tasks", 2), help="closed tasks of fine-tuning, where fewer than the others"
    )
    add.add_argument("--ft-open", type=count_of("ft-open", 2), help="at most so many open tasks of fine-tuning (all)")
    add.add_argument(
        "--skip-small-classes",
        action="store_true",
        help="leave out classes with fewer than shots + queries images, where they would be an error",
    )
    add.add_argument(
        "--until",
        type=number_of("until", above=0, most=50),
        metavar="WIDTH",
        help="stop at fewer than --tasks closed tasks, once the accuracy on these images is known to ± WIDTH points",
    )
    add.add_argument(
        "--apart",
        metavar="FACT",
        help="keep images with the same family, author … apart, never on both sides of a task; or a .csv of duplicates",
    )
    intervals = "print what the closed tasks say of these images, new images and new classes"
    add.add_argument("--intervals", action="store_true", help=intervals)
    add.add_argument("--json", **as_json)

    add = command("fetch", _fetch, "download results that others have released, checked by SHA-256", "oops-benchmark")
    add.add_argument("what", choices=["oops-benchmark"], help="oops-benchmark: the released results of that paper")
    add.add_argument("--folder", type=Path, help="where to (the cache, where chapters find them)")

    add = command(
        "train",
        _train,
        "train a learner on base classes and write its checkpoint",
        "protonet --epochs 30 -o my-protonet.safetensors",
        "r2d2 --network resnet18 --dataset cifar-fs:/data/cifar-fs",
        computes=True,
    )
    add.add_argument("learner", type=name_of("learner", known.recipes), help=f"one of {', '.join(known.recipes())}")
    add.add_argument(
        "-o",
        "--output",
        type=Path,
        help="checkpoint (NETWORK-LEARNER.safetensors in this folder, or in _build of the repository)",
    )
    add.add_argument(
        "--network",
        type=name_of("network", known.networks),
        help="conv4, resnet12, resnet12-map and the like (the learner's own)",
    )
    add.add_argument(
        "--dataset",
        type=dataset_of("base"),
        help="its base classes train, its validation classes select (the learner's own)",
    )
    add.add_argument("--shots", type=count_of("shots", 1), help="images a class in the training tasks (5)")
    add.add_argument("--epochs", type=count_of("epochs", 1), help="how often all is gone through (the learner's own)")
    add.add_argument("--seed", type=count_of("seed", 0, LARGEST), default=0, help="of weights and batches (0)")

    add = command(
        "caption",
        _caption,
        "describe every image of a data set in a sentence",
        "folder:/data/mushrooms -o mushrooms.csv",
        "clipart --captioner vit-gpt2 -o clipart.csv",
        computes=True,
    )
    add.add_argument(
        "dataset", type=checked(str, datasets_named), help="a name that fslcore list gives, folder:PATH and the like"
    )
    add.add_argument(
        "--captioner",
        default="pixels",
        type=name_of("captioner", known.captioners, file=True),
        help="pixels, vit-gpt2, blip, or KIND:FOLDER (pixels)",
    )
    add.add_argument(
        "--split",
        default="novel",
        choices=["novel", "validation", "base"],
        help="which classes of the data set (novel)",
    )
    add.add_argument("-o", "--output", type=Path, required=True, help=".csv; where one was begun, it is gone on with")

    add = command(
        "duplicates",
        _duplicates,
        "find near-copies among the images of a data set",
        "clipart --splits novel base --sheet pairs.png",
        "folder:/data/mushrooms --distance 0.04 -o groups.csv",
        computes=True,
    )
    dataset = "a name that fslcore list gives, folder:PATH or features:PATH"
    add.add_argument("dataset", type=checked(str, datasets_named), help=dataset)
    add.add_argument(
        "--backbone",
        type=checked(str, known.backbones),
        default="efficientnet-lite0",
        help="whose features are compared (efficientnet-lite0)",
    )
    splits = dict(nargs="+", type=name_of("split", lambda: ["novel", "validation", "base"]), action=Once)
    add.add_argument("--splits", **splits, default=["novel"], help="searched together (novel)")
    by = name_of("by", lambda: ["either", "both", "hash", "features"])
    add.add_argument("--by", type=by, default="either", help="what must be near: hash, features, both, either (either)")
    add.add_argument("--bits", type=count_of("bits", 0, 64), help="of 64, the most that differ (from the data)")
    add.add_argument(
        "--distance", type=number_of("distance", above=0, most=2), help="cosine of features, at most (from the data)"
    )
    add.add_argument("--size", type=count_of("size", 8, 2048), help="pixels, as for evaluate")
    add.add_argument("-o", "--output", type=Path, help="a .csv: the group of each image, which evaluate --apart takes")
    add.add_argument("--sheet", type=Path, help="a .png, .pdf or .svg: pairs at and around the threshold")
    add.add_argument("--json", **as_json)

    add = command(
        "completion",
        _completion,
        "print a script that lets a shell complete commands, options and names",
        "bash > ~/.local/share/bash-completion/completions/fslcore",
        "zsh > ~/.fslcore.zsh",
        "fish > ~/.config/fish/completions/fslcore.fish",
    )
    add.add_argument("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    return parser


def _epilog(*examples: str) -> str:
    return "\n".join(["examples:", *(f"  fslcore {example}" for example in examples), "", EXIT_CODES])


def _list(options: argparse.Namespace) -> None:
    try:
        from . import datasets

        own, *papers = datasets.forms()
        sets = {"shipped": datasets.names(), "papers": papers, "own": [own, "features:PATH"]}
    except ModuleNotFoundError as error:  # with NumPy and SciPy alone there is all the rest
        sets = {}
        print(f"fslcore: data sets: {missing(error.name)}", file=sys.stderr)
    found = {
        "notebooks": {
            name: {"title": chapters.title(name), "parameters": [vars(p) for p in chapters.parameters(name)]}
            for name in chapters.names()
        },
        "datasets": sets,
        **known.by_kind(),
        "profiles": sorted(path.name for path in PROFILES.glob("*.yml")),
    }
    print_json(found) if options.json else print(*listed(found), sep="\n")


def _run(options: argparse.Namespace) -> None:
    output = options.output or RUNS / f"{options.notebook}.ipynb"
    output = check_output(output, [".ipynb"])
    given = dict(chapters.profile(options.profile).get(options.notebook, {}))
    given |= {name: chapters.value(name, text) for name, text in options.parameter}
    print(chapters.run(options.notebook, given, output, progress=not options.quiet))


def _report(options: argparse.Namespace) -> None:
    output = options.output or Path(f"{options.results.absolute().stem}.html")
    output = check_output(output, [".html"], [options.results])
    for name in ("tables", "figures"):
        if getattr(options, name):
            check_folder(getattr(options, name), name)
    given = dict(results=str(options.results), common=options.common, level=options.level, drop=options.drop)
    given |= dict(sampling=options.sampling or "unknown", margin=options.margin or 0.0)
    chapters.check("your-results", given)
    from . import results

    # Read here too: bad input is told before anything runs.
    table, notes = results.read(options.results, given["sampling"], options.common, options.drop)
    pairs = results.comparisons(table, options.level)
    if options.margin:
        pairs = results.equivalents(table, pairs, options.margin, options.level)
    executed = chapters.executed("your-results", given, progress=not options.quiet)
    chapters.page(executed, output, f"{options.results.name}: report")
    if options.tables:
        results.write_tables(table, pairs, options.tables, options.level)
    if options.figures:
        results.write_figures(table, pairs, options.figures)
    if options.json:
        print_json(results.record(table, pairs, notes, options.level) | {"report": output})
    else:
        print(*results.summary(table, pairs, options.level), output, sep="\n")


def _compare(options: argparse.Namespace) -> None:
    from .stats import from_printed

    if len(options.tasks) > 2:
        raise InputError(f"tasks = {' '.join(map(str, options.tasks))}; one number is allowed, or one for each figure")
    names = ("images", "classes", "ways", "shots", "queries", "same_tasks", "sampling", "level")
    given = {name: getattr(options, name) for name in names}
    found = from_printed(options.first, options.second, (options.tasks * 2)[:2], **given)
    if options.json:
        print_json(asdict(found) | {"sentence": found.sentence, "notes": found.notes})
        return
    for reading in found.readings:
        of = reading.tasks
        best = "" if found.same_tasks == "no" else f", {of.narrowest:+.2f} at best on the same tasks"
        mark = "  <- likely" if reading is found.likely else ""
        print(f"± as {reading.meaning}: difference {of.widest:+.2f}{best}: {of.verdict}{mark}")
    print(*found.notes, found.sentence, sep="\n")


def _assess(options: argparse.Namespace) -> None:
    output = check_output(options.output or Path(f"{options.folder.resolve().name}.html"), [".html"])
    from .estimation import calibration

    chosen = calibration.methods(options.backbones, options.learners)
    given = dict(folder=str(options.folder), level=options.level)
    given |= dict(backbones=options.backbones, learners=options.learners)
    chapters.check("your-support-set", given)
    from .estimation import assess  # only now: this imports torch

    # Assessed here too: bad input is told before anything runs, and the notebook finds the features in the cache.
    images = assess.load(options.folder)
    table = assess.assess(images, chosen, options.level, progress=not options.quiet)
    executed = chapters.executed("your-support-set", given, progress=not options.quiet)
    chapters.page(executed, output, f"{images.name}: assessment")
    if options.json:
        print_json(assess.as_json(images, table, options.level) | {"report": output})
    else:
        print(*assess.summary(images, table, options.level), output, sep="\n")


def _evaluate(options: argparse.Namespace) -> None:
    import pandas as pd

    _check_evaluation(options)  # all that can fail does so before the work, which may take hours
    from . import evaluation

    shape = {
        name: getattr(options, name) for name in ("ways", "shots", "queries", "seed", "skip_small_classes", "apart")
    }
    source = evaluation.load_source(options.dataset, options.size)
    methods = {name: evaluation.ready(source, options.backbone, name) for name in options.learners}
    drawn = _drawn(options, source, **shape)
    early, ends = {}, None
    if options.until is not None:
        from .results.until import until

        most = drawn[options.learners[0], "closed"]
        early, ends = until(methods, most, options.until, progress=not options.quiet)
        options.tasks = len(early[options.learners[0]].correct)  # of --intervals too
    tables, neighbours = [], {}
    for learner, method in methods.items():
        for sampling in options.samplings:
            if (learner, sampling) not in drawn:
                continue
            of = drawn[learner, sampling]
            kept = early.get(learner) if sampling == "closed" else None
            kept = kept or method.record(of, progress=not options.quiet)
            table = evaluation.results_table(
                kept, dataset=options.dataset, backbone=options.backbone, learner=learner, sampling=sampling, **shape
            )
            if not options.json:
                print(
                    f"{options.dataset} {options.backbone} {learner} {sampling}: {len(table)} tasks, "
                    f"mean accuracy {table.accuracy.mean():.2f} %",
                    flush=True,
                )
            tables.append(table)
        few = of[: 1 if method.slow else 2]
        neighbours[learner] = evaluation.probe(method.learner, method.bank(), few, queries=2 if method.slow else 5)
        if not options.json:
            print(
                neighbours[learner], *([f"{learner}: {ends[learner]} % whenever one stops"] if ends else []), sep="\n"
            )
    evaluation.write_table(pd.concat(tables), options.output)
    found = _intervals(options, size=options.size, **shape) if options.intervals else None
    if options.json:
        means = pd.concat(tables).groupby(["learner", "sampling"], sort=False)["accuracy"].agg(["size", "mean"])
        means = means.reset_index().rename(columns={"size": "tasks", "mean": "accuracy"})
        asked = {"dataset": options.dataset, "backbone": options.backbone, "size": options.size, **shape}
        more = {"intervals": found, "until": ends, "neighbours": neighbours, "output": options.output}
        print_json({**asked, "means": means, **more})
    elif found is not None:
        from .results import three

        print(three.shown(found).to_string())


def _count(options: argparse.Namespace, learner: str, sampling: str) -> int | None:
    """How many tasks of a sampling a learner is to be run on; None for as many as the data hold."""
    slow = learner == "ft"
    if sampling == "open":
        return options.ft_open if slow else None
    return options.ft_tasks if slow and options.ft_tasks is not None else options.tasks


def _drawn(options: argparse.Namespace, source, **shape) -> dict:
    """The tasks of each learner and sampling; open ones that the data cannot give are told, and left out."""
    from . import evaluation

    small = evaluation.left_out(source, **shape) if shape["skip_small_classes"] else []
    if small and not options.quiet:
        left = f"{len(small)} of {len(set(evaluation.class_of(source).tolist()))} classes are left out as small"
        print(f"fslcore: {left}: {', '.join(small)}", file=sys.stderr)
    found = {}
    for sampling in options.samplings:
        counts = {learner: _count(options, learner, sampling) for learner in options.learners}
        try:
            tasks = {count: evaluation.draw(source, sampling, tasks=count, **shape) for count in set(counts.values())}
        except InputError as error:
            # Closed tasks ask least of the data: where they cannot be drawn, nothing can.
            if sampling == "closed" or "closed" not in options.samplings:
                raise
            print(f"fslcore: no open tasks: {error}", file=sys.stderr)
        else:
            found |= {(learner, sampling): tasks[count] for learner, count in counts.items()}
    return found


def _intervals(options: argparse.Namespace, **shape) -> pd.DataFrame:
    """What the closed tasks say of these images, new images and new classes, a line a learner."""
    import pandas as pd

    from .results import three

    counts = {learner: _count(options, learner, "closed") for learner in options.learners}
    tables = []
    for count in dict.fromkeys(counts.values()):
        learners = [learner for learner in options.learners if counts[learner] == count]
        found = three.queries(
            [options.dataset],
            [options.backbone],
            learners,
            tasks=count,
            groups=three.GROUPS,
            class_groups=three.CLASS_GROUPS,
            **shape,
        )
        tables.append(three.intervals(found))
    return pd.concat(tables, ignore_index=True)


def _check_evaluation(options: argparse.Namespace) -> None:
    """What can be told of the arguments together, before torch is imported or an image read."""
    kind, _, path = options.dataset.partition(":")
    if kind != "features":
        choice("backbone", options.backbone.partition(":")[0], known.backbones())
    weights = options.backbone.partition(":")[2]
    options.output = check_output(options.output, [".parquet", ".csv"], [part for part in (path, weights) if part])
    if options.intervals:
        from .stats.three_intervals import LEAST

        for learner in options.learners:
            whole(f"tasks with --intervals ({learner})", _count(options, learner, "closed"), LEAST)
    if options.until is not None and ("closed" not in options.samplings or options.ft_tasks is not None):
        raise InputError(f"until = {options.until:g}; closed tasks, of one number for all (no --ft-tasks), are needed")
    images = options.ways * (options.shots + options.queries)
    wanted, there = 24 * options.tasks * images, memory()  # bytes at the peak of drawing them, as measured
    if wanted > there:
        usual = dict(tasks=600, ways=5, shots=5, queries=15)
        name = max(usual, key=lambda name: getattr(options, name) / usual[name])
        raise InputError(
            f"{name} = {getattr(options, name):,}; {options.tasks:,} tasks of {images:,} images each need about "
            f"{wanted / 2**30:,.0f} GiB of memory, and this machine has {there / 2**30:,.0f} GiB"
        )


def _fetch(options: argparse.Namespace) -> None:
    folder = options.folder and check_folder(options.folder)
    from .results import released

    print(released.fetch(folder, progress=not options.quiet))


def _train(options: argparse.Namespace) -> None:
    output = options.output and check_output(options.output, [".safetensors"])
    from . import training

    changes = {name: getattr(options, name) for name in ("network", "dataset", "shots", "epochs")}
    print(training.train(options.learner, output, seed=options.seed, progress=not options.quiet, **changes))


def _caption(options: argparse.Namespace) -> None:
    output = check_output(options.output, [".csv"])
    from . import datasets
    from .attributes import captions

    images = datasets.load(options.dataset, options.split)
    print(captions.write(images, options.captioner, output, progress=not options.quiet))


def _duplicates(options: argparse.Namespace) -> None:
    known = [part for part in (options.dataset.partition(":")[2],) if part]
    output = options.output and check_output(options.output, [".csv"], known)
    picture = options.sheet and check_output(options.sheet, [".png", ".pdf", ".svg"], known, "sheet")
    from . import copies

    given = {name: getattr(options, name) for name in ("splits", "by", "bits", "distance", "size")}
    found = copies.find(options.dataset, options.backbone, **given, progress=not options.quiet)
    if output:
        found.write(output)
    if picture:
        copies.write_sheet(found, picture)
    if options.json:
        asked = {"dataset": options.dataset, "backbone": options.backbone, **given}
        print_json({**asked, **found.plain(), "output": output, "sheet": picture})
    else:
        print(*found.lines(), *filter(None, (output, picture)), sep="\n")


def _completion(options: argparse.Namespace) -> None:
    (commands,) = (action.choices for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    print(completion(options.shell, {name: _words(parser) for name, parser in commands.items()}))


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """All that can be completed after a command: its options, and the names that its arguments take."""
    words = []
    for action in parser._actions:
        names = getattr(action.type, "names", list)()
        words += [*action.option_strings, *names, *(action.choices or ())]
    return list(dict.fromkeys(words))


if __name__ == "__main__":
    sys.exit(main())
