"""The command line: one function a command, ``fslcore COMMAND``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import yaml

from . import __version__, notebooks
from .errors import InputError
from .paths import BUILD, PROFILES


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0, or 2 after bad input, which is told in one line."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.command(options)
    except InputError as error:
        print(f"fslcore: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fslcore", description="The statistics of few-shot evaluation.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("list", help="notebooks with their parameters, data sets, backbones, learners")
    add.set_defaults(command=_list)

    add = commands.add_parser("run", help="execute a notebook with other parameters")
    add.add_argument("notebook")
    add.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    add.add_argument("--profile", type=Path, default=PROFILES / "quick.yml", help="file of parameters (quick.yml)")
    add.add_argument("-o", "--output", type=Path, help="executed notebook (_build/runs/NOTEBOOK.ipynb)")
    add.set_defaults(command=_run)

    add = commands.add_parser("report", help="say what per-task accuracies of your own methods show")
    add.add_argument("results", type=Path, help=".csv or .parquet, a row a task; see \"The results table\" in the book")
    add.add_argument("-o", "--output", type=Path, help="the report, one HTML file (RESULTS.html in this folder)")
    add.add_argument("--sampling", choices=["open", "closed"], help="how tasks were drawn, where the file does not say")
    add.add_argument("--common", action="store_true", help="use the tasks that all methods share, leave out the others")
    add.add_argument("--level", type=float, default=0.95, help="nominal coverage (0.95)")
    add.set_defaults(command=_report)

    add = commands.add_parser("assess", help="say what a support set of your own promises, before there is a test set")
    add.add_argument("folder", type=Path, help="one folder a class, 1 to 20 images in each")
    add.add_argument("--backbone", nargs="+", dest="backbones", help="(efficientnet-lite0 glyph-conv)",
                     default=["efficientnet-lite0", "glyph-conv"])
    add.add_argument("--learner", nargs="+", dest="learners", default=["ncc", "lr"], help="(ncc lr)")
    add.add_argument("--level", type=float, default=0.9, help="nominal coverage (0.9)")
    add.add_argument("-o", "--output", type=Path, help="the page, one HTML file (FOLDER.html in this folder)")
    add.set_defaults(command=_assess)

    add = commands.add_parser("evaluate", help="run learners on tasks and write the results table")
    add.add_argument("dataset", help="a name that fslcore list gives, folder:PATH or features:PATH")
    add.add_argument("backbone")
    add.add_argument("-o", "--output", type=Path, required=True, help=".parquet or .csv")
    add.add_argument("--learners", nargs="+", default=["ncc", "lr"])
    add.add_argument("--samplings", nargs="+", default=["closed", "open"])
    for name, default in dict(ways=5, shots=5, queries=15, tasks=600, seed=0).items():
        add.add_argument(f"--{name}", type=int, default=default, help=f"({default})")
    add.add_argument("--size", type=int, help="pixels at which your own images are read and seen (the backbone's own)")
    add.add_argument("--ft-tasks", type=int, help="closed tasks of fine-tuning, where fewer than the others")
    add.add_argument("--ft-open", type=int, help="at most so many open tasks of fine-tuning (all)")
    intervals = "print what the closed tasks say of these images, new images and new classes"
    add.add_argument("--intervals", action="store_true", help=intervals)
    add.set_defaults(command=_evaluate)

    add = commands.add_parser("fetch", help="download results that others have released, checked by SHA-256")
    add.add_argument("what", choices=["oops-benchmark"])
    add.add_argument("--folder", type=Path, help="where to (the cache, where chapters find them)")
    add.set_defaults(command=_fetch)

    add = commands.add_parser("train", help="train a learner on base classes and write its checkpoint")
    add.add_argument("learner")
    add.add_argument("-o", "--output", type=Path, help="checkpoint (_build/NETWORK-LEARNER.safetensors, _build/NETWORK-1shot-LEARNER.safetensors)")
    add.add_argument("--network", help="conv4, resnet12, resnet12-map and the like (the learner's own)")
    add.add_argument("--dataset", help="its base classes train, its validation classes select (the learner's own)")
    add.add_argument("--shots", type=int, help="images a class in the training tasks (5)")
    add.add_argument("--epochs", type=int, help="(the learner's own)")
    add.add_argument("--seed", type=int, default=0, help="(0)")
    add.set_defaults(command=_train)

    add = commands.add_parser("caption", help="describe every image of a data set in a sentence")
    add.add_argument("dataset", help="a name that fslcore list gives, folder:PATH and the like")
    add.add_argument("--captioner", default="pixels", help="pixels, vit-gpt2, blip, or KIND:FOLDER (pixels)")
    add.add_argument("--split", default="novel", choices=["novel", "validation", "base"], help="(novel)")
    add.add_argument("-o", "--output", type=Path, required=True, help=".csv; where one was begun, it is gone on with")
    add.set_defaults(command=_caption)
    return parser


def _list(_: argparse.Namespace) -> None:
    from . import backbones, datasets, learners

    for name in notebooks.names():
        print(f"{name}: {notebooks.title(name)}")
        for p in notebooks.parameters(name):
            print(f"  {p.name} = {p.default!r}  ({p.type}; {p.allowed})  {p.meaning}")
    print("datasets:", ", ".join([*datasets.names(), *datasets.forms(), "features:PATH"]))
    print("backbones:", ", ".join(backbones.available()))
    print("learners:", ", ".join(learners.names))


def _run(options: argparse.Namespace) -> None:
    given = dict(notebooks.profile(options.profile).get(options.notebook, {}))
    for name, value in options.parameter:
        try:
            given[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise InputError(f"parameter {name} = {value}; not a YAML value") from None
    output = options.output or BUILD / "runs" / f"{options.notebook}.ipynb"
    print(notebooks.run(options.notebook, given, output))


def _report(options: argparse.Namespace) -> None:
    from . import results

    output = options.output or Path(f"{options.results.stem}.html")
    if output.suffix != ".html":
        raise InputError(f"output = {output}; a name that ends in .html is allowed")
    given = dict(results=str(options.results), common=options.common, level=options.level)
    given["sampling"] = options.sampling or "unknown"
    notebooks.check("your-results", given)
    # Read here too: bad input is told before anything runs.
    table, _ = results.read(options.results, given["sampling"], options.common)
    pairs = results.comparisons(table, options.level)
    with tempfile.TemporaryDirectory() as folder:
        executed = notebooks.run("your-results", given, Path(folder) / "your-results.ipynb")
        notebooks.page(executed, output, f"{options.results.name}: report")
    print(*results.summary(table, pairs, options.level), output, sep="\n")


def _assess(options: argparse.Namespace) -> None:
    from . import assess

    output = options.output or Path(f"{options.folder.resolve().name}.html")
    if output.suffix != ".html":
        raise InputError(f"output = {output}; a name that ends in .html is allowed")
    given = dict(folder=str(options.folder), level=options.level)
    given |= dict(backbones=options.backbones, learners=options.learners)
    notebooks.check("your-support-set", given)
    # Assessed here too: bad input is told before anything runs, and the notebook finds the features in the cache.
    images = assess.load(options.folder)
    table = assess.assess(images, assess.methods(options.backbones, options.learners), options.level)
    with tempfile.TemporaryDirectory() as folder:
        executed = notebooks.run("your-support-set", given, Path(folder) / "your-support-set.ipynb")
        notebooks.page(executed, output, f"{images.name}: assessment")
    print(*assess.summary(images, table, options.level), output, sep="\n")


def _evaluate(options: argparse.Namespace) -> None:
    import pandas as pd

    from . import evaluate

    shape = {name: getattr(options, name) for name in ("ways", "shots", "queries", "seed", "size")}
    evaluate.check_ending(options.output)  # before the work, which may take hours
    tables = []
    for learner in options.learners:
        for sampling in options.samplings:
            ft = learner == "ft"
            if sampling == "closed":
                tasks = options.ft_tasks if ft and options.ft_tasks else options.tasks
            else:
                tasks = options.ft_open if ft else None
            table = evaluate.run(
                options.dataset, options.backbone, learner, sampling, tasks=tasks, progress=True, **shape
            )
            print(f"{options.dataset} {options.backbone} {learner} {sampling}: {len(table)} tasks, "
                  f"mean accuracy {table.accuracy.mean():.2f} %", flush=True)
            tables.append(table)
    evaluate.write_table(pd.concat(tables), options.output)
    if options.intervals:
        from . import targets

        found = targets.queries(
            [options.dataset], [options.backbone], options.learners, tasks=options.tasks, groups=targets.GROUPS, **shape
        )
        print(targets.shown(targets.intervals(found)).to_string())


def _fetch(options: argparse.Namespace) -> None:
    from . import released

    print(released.fetch(options.folder, progress=True))


def _train(options: argparse.Namespace) -> None:
    from . import training

    changes = {name: getattr(options, name) for name in ("network", "dataset", "shots", "epochs")}
    print(training.train(options.learner, options.output, seed=options.seed, **changes))


def _caption(options: argparse.Namespace) -> None:
    from . import captions, datasets

    images = datasets.load(options.dataset, options.split)
    print(captions.write(images, options.captioner, options.output, progress=True))


if __name__ == "__main__":
    sys.exit(main())
