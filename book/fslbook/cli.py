"""The command line ``fslbook COMMAND``: chapters, trainings, captions, and results on the papers' own data."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fslcore import catalogue
from fslcore.cli.options import (
    BACKBONE,
    DATASET,
    JSON,
    LARGEST,
    LEARNERS as LEARNER_OPTION,
    LEVEL,
    REPLACED,
    SIZE,
    SPLIT,
    Once,
    completing,
    count_of,
    dataset_of,
    files_in,
    name_of,
    number_of,
    path_of,
    values_of,
)
from fslcore.cli.output import joined, output_file, overview, show
from fslcore.cli.program import Program
from fslcore.errors import InputError, check_unique
from fslcore.paths import check_folder, check_output

from . import notebooks
from .catalogue import CAPTIONERS, ESTIMATORS, LEARNERS, NEAR_COPY_RULES, RECIPES, TRAINERS
from .paths import JUPYTER, PROFILES, RUNS, check_shipped

OF_THE_LIBRARY = (
    "compare",
    "evaluate",
    "features",
    "fetch",
    "report",
)  # commands of the other program
PROFILE = dict(type=path_of("profile"), help="file of parameters; data may be absent yet")
KINDS = {
    "notebooks": lambda: {name: notebooks.title(name) for name in notebooks.names()},
    "estimators": lambda: {kind: [*names] for kind, names in ESTIMATORS.items()},
    "learners": lambda: {
        name: f"{entry.title}, {entry.place}" for name, entry in sorted(LEARNERS.items())
    },
    "captioners": lambda: {"without weights": [*CAPTIONERS[:1]], "with weights": [*CAPTIONERS[1:]]},
    "profiles": lambda: sorted(path.name for path in PROFILES.glob("*.yml")),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code (0 for done); an error is one line."""
    hints = {
        name: f"{name} is a command of fslcore: fslcore {name} --help" for name in OF_THE_LIBRARY
    }
    return _program().run(arguments, hints)


def _program() -> Program:
    text = "The book on the statistics of few-shot evaluation: its chapters, and what they are made from."
    program = Program("fslbook", text, "fslbook list\nfslbook run --help", extra="book")
    _notebook_commands(program.command)
    _support_set_command(program.command)
    _duplicates_command(program.command)
    _training_commands(program.command)
    program.add_completion()
    return program


def _notebook_commands(command: Callable) -> None:
    add = command("list", show_names)
    listable = name_of("name", lambda: [*KINDS, *notebooks.names()])
    add(
        "what", nargs="?", type=listable, help="a kind of names, or a notebook (an overview of all)"
    )
    add("--json", **JSON)

    add = command("run", run, computes=True)
    add("notebook", type=completing(notebooks.names, notebook_of), help="a name from fslbook list")
    text = "a parameter of the notebook and its value, in YAML; may be repeated"
    add(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help=text,
    )
    add(
        "--profile",
        type=Path,
        default=PROFILES / "quick.yml",
        help="file of parameters (quick.yml)",
    )
    text = (
        "executed notebook (NOTEBOOK.ipynb in this folder, or in _build/runs of the repository); "
    )
    text += REPLACED
    add("-o", "--output", type=Path, help=text)

    add = command("jupyter", write_for_jupyter, computes=True)
    text = "names from fslbook list, or files that fslbook run wrote (all chapters)"
    add("notebooks", nargs="*", type=completing(notebooks.names, executed_of), help=text)
    text = "(jupyter in this folder, or in _build of the repository); a notebook there is kept, with a note"
    add("-o", "--output", metavar="FOLDER", type=Path, default=JUPYTER, help=text)

    add = command("plan", plan)
    add("profile", **PROFILE)
    add("--machine", help="a machine in data/performance (the one nearest to this)")
    add("--json", **JSON)

    add = command("pack", pack)
    add("profile", **PROFILE | {"help": "file of parameters of a finished run"})
    add("--by", required=True, help="the author's name, shown with its numbers")
    add("-o", "--output", type=Path, required=True, help=f".zip or .npz, of a few MB; {REPLACED}")


def _support_set_command(command: Callable) -> None:
    add = command("assess", assess, computes=True)
    add("folder", type=path_of("folder"), help="one folder per class, with 1 to 20 images each")
    add(
        "--backbone",
        dest="backbones",
        nargs="+",
        type=name_of("backbone", catalogue.backbones),
        action=Once,
        default=["efficientnet-lite0", "glyph-conv"],
        help="(efficientnet-lite0 glyph-conv)",
    )
    add("--learner", dest="learners", **LEARNER_OPTION, help="(ncc lr)")
    add("--level", **LEVEL | {"default": 0.9, "help": "nominal coverage (0.9)"})
    text = f"the page, one HTML file (FOLDER.html in this folder); {REPLACED}"
    add("-o", "--output", type=Path, help=text)
    add("--json", **JSON)


def _duplicates_command(command: Callable) -> None:
    add = command("duplicates", duplicates, computes=True)
    add("dataset", **DATASET)
    text = "backbone of the features to compare (efficientnet-lite0)"
    add("--backbone", **BACKBONE | {"default": "efficientnet-lite0", "help": text})
    add(
        "--splits",
        nargs="+",
        choices=catalogue.SPLITS,
        action=Once,
        default=["novel"],
        help="searched together (novel)",
    )
    add(
        "--by",
        choices=NEAR_COPY_RULES,
        default="either",
        help="what must be near: hash, features, both, either (either)",
    )
    add(
        "--bits",
        type=count_of("bits", 0, 64),
        help="maximum of differing bits, out of 64 (from the data)",
    )
    add(
        "--distance",
        type=number_of("distance", over=0, maximum=2),
        help="largest distance of features (from the data)",
    )
    add("--size", **SIZE)
    add(
        "-o",
        "--output",
        type=Path,
        help=f"a .csv: the group of each image, which evaluate --apart takes; {REPLACED}",
    )
    add(
        "--sheet",
        type=Path,
        help=f"a .png, .pdf or .svg: pairs at and around the threshold; {REPLACED}",
    )
    add("--json", **JSON)


def _training_commands(command: Callable) -> None:
    add = command("train", train, computes=True)
    text = f"one of {', '.join(RECIPES)}; without one, --paper trains all networks of that paper"
    add("learner", nargs="?", type=name_of("learner", lambda: [*RECIPES]), help=text)
    text = (
        "checkpoint (NETWORK-LEARNER.safetensors in this folder, or in _build of the repository); "
    )
    text += REPLACED
    add("-o", "--output", type=Path, help=text)
    text = "conv4, resnet12, resnet12-map and the like (the learner's own)"
    add("--network", type=name_of("network", lambda: [*catalogue.NETWORKS]), help=text)
    text = "its base classes for training, its validation classes for selection (the learner's own)"
    add("--dataset", type=dataset_of("base"), help=text)
    text = "(conv4-baseline for the learner's own data; needed for other data)"
    add(
        "--frozen",
        **BACKBONE
        | {"help": f"backbone of the features of leo and others, NAME or NAME:FILE {text}"},
    )
    add(
        "--teacher",
        **BACKBONE | {"help": f"backbone whose outputs rfs learns, NAME or NAME:FILE {text}"},
    )
    add("--shots", type=count_of("shots", 1), help="images per class in the training tasks (5)")
    add("--epochs", type=count_of("epochs", 1), help="number of epochs (the learner's own)")
    add("--paper", choices=TRAINERS, help="train as this paper does on the data set")
    text = "a field of the recipe, or a key of one, such as lr=0.01 or architecture.side=64; may be repeated"
    add("--set", type=setting_of, action="append", metavar="FIELD=VALUE", help=text)
    add("--seed", type=count_of("seed", 0, LARGEST), default=0, help="of weights and batches (0)")

    add = command("caption", caption, computes=True)
    add("datasets", nargs="+", metavar="dataset", **DATASET)
    captioner = name_of("captioner", lambda: [*CAPTIONERS], file=True)
    text = "pixels, vit-gpt2, blip, blip-large, or KIND:FOLDER (pixels)"
    add("--captioner", default="pixels", type=captioner, help=text)
    add("--split", **SPLIT)
    add("--size", **SIZE)
    text = ".csv for one data set; an unfinished one is resumed (the cache, which finds captions by captioner)"
    add("-o", "--output", type=Path, help=text)


def notebook_of(text: str) -> str:
    """The notebook of this name."""
    return notebooks.source(text).stem


def executed_of(text: str) -> str:
    """The name of a notebook, or the path of an executed one."""
    return text if text.endswith(".ipynb") else notebook_of(text)


def setting_of(text: str) -> tuple[str, object]:
    """Name and value of FIELD=VALUE, the value read as YAML."""
    import yaml

    name, equals, value = text.partition("=")
    try:
        setting = yaml.safe_load(value)
    except yaml.YAMLError:
        setting = None
    if not (name and equals) or setting is None:
        raise InputError(
            f"set must be FIELD=VALUE, such as lr=0.01 or augmentation=[flip], got {text!r}"
        )
    return name, setting


def show_names(options: argparse.Namespace) -> None:
    """Show the names of notebooks, learners, captioners and the like, and a notebook's parameters.

    fslbook list
    fslbook list closed-vs-open
    fslbook list captioners --json
    """
    check_shipped()
    if options.what in notebooks.names():
        parameters = [vars(parameter) for parameter in notebooks.parameters(options.what)]
        record = {"title": notebooks.title(options.what), "parameters": parameters}
        lines = [f"{options.what}: {record['title']}", *map(_parameter_line, parameters)]
        return show(options, {"notebooks": {options.what: record}}, *lines)
    kinds = {kind: names() for kind, names in KINDS.items() if options.what in (None, kind)}
    if options.what is None:
        lines = [
            *overview(kinds),
            "fslbook list KIND: all names of a kind; fslbook list NOTEBOOK: its parameters",
        ]
    else:
        lines = _name_lines(kinds[options.what])
    return show(options, kinds, *lines)


def _parameter_line(parameter: dict) -> str:
    value = f"{parameter['name']} = {parameter['default']!r}"
    return f"  {value}  ({parameter['type']}; {parameter['allowed']})  {parameter['meaning']}"


def _name_lines(names: dict | list) -> list[str]:
    if isinstance(names, list):
        return names
    return [
        f"{name}: {joined(about) if isinstance(about, list) else about}"
        for name, about in names.items()
    ]


def run(options: argparse.Namespace) -> None:
    """Execute a notebook with other parameters.

    fslbook run closed-vs-open -p shots 1 -p datasets "[clipart, fashion]"
    """
    output = output_file(options.output or RUNS / f"{options.notebook}.ipynb", [".ipynb"])
    check_unique("parameters", [name for name, _ in options.parameter])
    settings = dict(notebooks.profile(options.profile).get(options.notebook, {}))
    settings |= {name: notebooks.value(name, text) for name, text in options.parameter}
    print(notebooks.run(options.notebook, settings, output, progress=not options.quiet))


def write_for_jupyter(options: argparse.Namespace) -> None:
    """Write executed chapters for JupyterLab, without solutions; these are in a folder of their own.

    fslbook jupyter primer exercises
    fslbook jupyter _build/runs/primer.ipynb -o course
    """
    check_folder(options.output, "output")
    from . import plain_notebooks

    for name in options.notebooks or notebooks.names():
        for path in plain_notebooks.write(name, options.output):
            print(path)


def plan(options: argparse.Namespace) -> None:
    """Show what a profile downloads and computes, with measured hours.

    fslbook plan profiles/large.yml --json
    """
    from .plan import plan_profile

    profile_plan = plan_profile(options.profile, options.machine)
    show(options, profile_plan.as_record(), *profile_plan.lines())


def assess(options: argparse.Namespace) -> None:
    """Estimate the accuracy from a support set of your own, without a test set.

    fslbook assess my-images
    fslbook assess my-images --backbone efficientnet-lite0 --learner ncc lr --level 0.8
    fslbook assess my-images --json
    """
    output = output_file(options.output or Path(f"{options.folder.resolve().name}.html"), [".html"])
    from .estimation import calibration

    methods = calibration.methods(options.backbones, options.learners)
    names = ("level", "backbones", "learners")
    parameters = {"folder": str(options.folder)} | {name: getattr(options, name) for name in names}
    notebooks.check("your-support-set", parameters)
    from .estimation import assess  # imported only now, because it imports torch

    # Assessed here too, so that bad input is reported before anything runs, and the notebook finds cached features.
    images = assess.load(options.folder)
    table = assess.assess(images, methods, options.level, progress=not options.quiet)
    executed = notebooks.executed("your-support-set", parameters, progress=not options.quiet)
    notebooks.page(executed, output, f"{images.name}: assessment")
    record = assess.as_json(images, table, options.level) | {"report": output}
    show(options, record, *assess.summary(images, table, options.level), output)


def duplicates(options: argparse.Namespace) -> None:
    """Find near-copies among the images of a data set.

    fslbook duplicates clipart --splits novel base --sheet pairs.png
    fslbook duplicates folder:/data/mushrooms --distance 0.04 -o groups.csv
    """
    inputs = files_in(options.dataset)
    output = options.output and output_file(options.output, [".csv"], inputs)
    picture = options.sheet and output_file(
        options.sheet, [".png", ".pdf", ".svg"], inputs, "sheet"
    )
    from . import near_copies

    settings = values_of(options, "splits by bits distance size")
    copies = near_copies.find(
        options.dataset, options.backbone, **settings, progress=not options.quiet
    )
    if output:
        copies.write(output)
    if picture:
        near_copies.write_sheet(copies, picture)
    record = (
        values_of(options, "dataset backbone")
        | settings
        | copies.record()
        | {"output": output, "sheet": picture}
    )
    show(options, record, *copies.lines(), *filter(None, (output, picture)))


def pack(options: argparse.Namespace) -> None:
    """Write a profile's results on the papers' own data as one file, which others can check and show.

    fslbook pack profiles/oops.yml --by "A. Name, a lab" -o oops.zip
    """
    from . import pack

    output = output_file(options.output, [".zip", ".npz"], [options.profile])
    print(pack.write(options.profile, output, options.by))


def train(options: argparse.Namespace) -> None:
    """Train a learner on base classes and write its checkpoint.

    fslbook train protonet --epochs 30 -o my-protonet.safetensors
    fslbook train r2d2 --network resnet18 --dataset cifar-fs:/data/cifar-fs
    fslbook train leo --dataset folder:/data/birds --frozen conv4-baseline:conv4-baseline.safetensors
    fslbook train protonet --paper evaluators --dataset cifar-fs:/data/cifar-fs
    fslbook train --paper fewstab
    """
    output = options.output and check_output(options.output, [".safetensors"])
    from . import training

    names = ("network", "dataset", "frozen", "teacher", "shots", "epochs")
    changes = {name: getattr(options, name) for name in names} | dict(options.set or [])
    settings = dict(paper=options.paper, seed=options.seed, progress=not options.quiet)
    if options.learner:
        print(training.train(options.learner, output, **settings, **changes))
        return
    if output or not options.paper:
        raise InputError(
            "learner must be given, or only --paper, which trains all of that paper (to the cache)"
        )
    for path in training.train_paper(
        **settings, **{k: v for k, v in changes.items() if v is not None}
    ):
        print(path)


def caption(options: argparse.Namespace) -> None:
    """Write one caption for every image of a data set.

    fslbook caption folder:/data/mushrooms -o mushrooms.csv
    fslbook caption clipart --captioner vit-gpt2 -o clipart.csv
    fslbook caption miniimagenet tieredimagenet --captioner blip-large --size 384
    """
    output = options.output and check_output(options.output, [".csv"])
    folders = [name for name in options.datasets if name.startswith("folder:")]
    if folders and not output:
        raise InputError(
            f"output must be -o FILE.csv for {folders[0]}, which has no name for cached captions"
        )
    if output and options.datasets[1:]:
        raise InputError(
            f"output = {output}; without it, the captions of {len(options.datasets)} data sets are cached"
        )
    from fslcore import datasets

    from .attributes import captions

    for name in options.datasets:
        images = datasets.load(name, options.split, options.size)
        path = output or check_output(captions.table_of(options.captioner, images.name), [".csv"])
        path.parent.mkdir(parents=True, exist_ok=True)
        print(captions.write(images, options.captioner, path, progress=not options.quiet))
