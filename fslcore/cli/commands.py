"""The commands: one function per command, which prints its results; its docstring is the help, with
examples.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from .. import catalogue
from ..errors import InputError, missing, warn
from ..paths import DATA, check_folder, written_together
from .options import check_backbone, files_in, values_of
from .output import grouped_lines, output_file, overview, replacements_noted, show


def show_names(options: argparse.Namespace) -> None:
    """Show the names of data sets, backbones and learners.

    fslcore list
    fslcore list backbones
    fslcore list learners --json
    """
    names = {kind: groups() for kind, groups in KINDS.items() if options.what in (None, kind)}
    if options.what is None:
        lines = [*overview(names), "fslcore list KIND: all names of a kind with their meaning"]
    else:
        lines = grouped_lines(options.what, names[options.what])
    show(options, names, *lines)


def _data_sets() -> dict[str, list[str]]:
    try:
        from .. import datasets
    except ModuleNotFoundError as error:  # with NumPy and SciPy alone, the rest still works
        warn(f"data sets: {missing(error.name or str(error))}")
        return {}
    folder, *papers = datasets.path_forms()
    groups = {"shipped": datasets.names() if DATA.is_dir() else [], "at hand": [], "to fetch": []}
    for name, is_fetched in datasets.fetchable().items():
        groups["at hand" if is_fetched else "to fetch"].append(name)
    return {**groups, "own": [folder, "features:PATH"], "papers": papers}


KINDS: dict[str, Callable[[], dict[str, list[str]]]] = {  # kinds for `fslcore list`
    "datasets": _data_sets,
    "backbones": lambda: catalogue.by_kind()["backbones"],
    "learners": lambda: catalogue.by_kind()["learners"],
}


def report(options: argparse.Namespace) -> None:
    """Report on results of your own methods: which is better, by how much, and for what.

    fslcore report results.csv
    fslcore report results.csv --methods ours protonet --rows task
    fslcore report 'runs/{method}/seed{seed}/results.json' --value test.acc -o report.html
    fslcore report results.csv --sampling open --reference ours --tables paper --figures paper
    """
    first, *others = options.results
    title = f"{first.name} and {len(others)} more" if others else first.name
    is_one = not others and "{" not in str(first)
    name = f"{first.absolute().stem}.html" if is_one else "report.html"
    output = output_file(options.output or Path(name), [".html"], options.results)
    folders = values_of(options, "tables figures")
    for name, folder in folders.items():
        if folder:
            check_folder(folder, name)
    from ..report import Options, Results

    typed = {
        name: value for name, value in vars(options).items() if name in Options.__dataclass_fields__
    }
    results = Results.read(options.results, **typed)
    with replacements_noted(folders), written_together():
        results.to_html(output, f"{title}: report")
        if options.tables:
            results.write_tables(options.tables)
        if options.figures:
            results.write_figures(options.figures)
    show(
        options, results.record() | {"report": output}, *results.lines(), "", f"The page: {output}"
    )


def compare(options: argparse.Namespace) -> None:
    """Compare two printed accuracies with their ±, without the underlying results.

    fslcore compare 79.59±0.52 76.87±0.56 --tasks 600 --images 840
    fslcore compare 61.34+-0.65 62.64+-0.61 --tasks 1000 --images 12000 --classes 20 --same-tasks no
    fslcore compare 79.59±0.52 78.9±0.56 --tasks 600 --shots 1 --json
    """
    from ..report import printed
    from ..stats import compare_printed

    if len(options.tasks) > 2:
        raise InputError(
            "tasks must be one number, or one for each figure, got "
            f"{' '.join(map(str, options.tasks))}"
        )
    figures = [options.a, options.b]
    if max(mean for mean, _ in figures) <= 1:  # both are shares
        figures = [(100 * mean, 100 * half_width) for mean, half_width in figures]
    settings = values_of(options, "images classes same_tasks sampling")
    sizes = values_of(options, "ways shots queries")
    given = {name: size for name, size in sizes.items() if size is not None}
    comparison = compare_printed(
        figures[0],
        figures[1],
        (options.tasks * 2)[:2],
        confidence_level=options.level,
        **settings,
        **given,
    )
    answer, notes = printed.answer(comparison), printed.details(comparison)
    assumed = dict(zip(sizes, comparison.shape))
    assumed = {name: size for name, size in assumed.items() if name not in given}
    if assumed:
        values = ", ".join(f"--{name} {size}" for name, size in assumed.items())
        notes.append(f"Assumed, as not given: {values}.")
    record = {"answer": answer, "notes": notes, **asdict(comparison)}
    show(options, record, answer, *notes, *printed.other_readings(comparison))


def features(options: argparse.Namespace) -> None:
    """Compute the features of a data set's images, which evaluate then uses.

    fslcore features folder:/data/mushrooms efficientnet-lite0 -o mushrooms.safetensors
    fslcore features tieredimagenet:/data/tiered clip --part 3/40
    """
    output = options.output
    if output:
        output = output_file(
            output, [".safetensors", ".npz"], files_in(options.dataset, options.backbone)
        )
        if options.part:
            raise InputError(
                f"output = {output}; parts of the features are not written; without --part, all are"
            )
    from .. import datasets

    datasets.check_name(options.dataset, options.split)
    check_backbone(options.backbone)
    from .. import evaluation
    from ..models import backbones

    images = datasets.load(options.dataset, split=options.split, size=options.size)
    images, model = backbones.match_input_size(images, evaluation.load_backbone(options.backbone))
    computed = evaluation.compute_features(images, model, options.part, progress=not options.quiet)
    if output:
        evaluation.write_features(output, backbones.features(images, model), images)
    shards = backbones.shards_of(images, model)
    features_file = shards.path if shards.path.is_file() else None
    record = {
        **values_of(options, "dataset backbone split"),
        "part": options.part and "{}/{}".format(*options.part),
        "images": len(images),
        "computed": computed,
        "shards_left": len(shards.missing()),
        "features": features_file,
        "output": output,
    }
    line = f"{options.dataset} {options.backbone}: {computed:,} of {len(images):,} images computed"
    if features_file is None:
        line += f"; {record['shards_left']} of {len(shards.bounds)} shards are still to be made"
    show(options, record, line, *filter(None, (features_file, output)))


def fetch(options: argparse.Namespace) -> None:
    """Download the papers' own data, weights and released results, checked by their digests.

    fslcore fetch dtd vgg-flower --accept-terms
    fslcore fetch oops --accept-terms
    fslcore fetch fungi --from ~/Downloads --accept-terms
    fslcore fetch oops-benchmark
    """
    downloads = options.downloads
    if downloads and not downloads.is_dir():
        raise InputError(f"from = {downloads}; there is no such folder")
    from .. import fetch

    progress = not options.quiet
    sources = [name for name in options.what if name != fetch.RESULTS]
    if sources:
        terms = {"accept": options.accept_terms, "complete": options.complete}
        print(*fetch.fetch(sources, downloads=downloads, progress=progress, **terms), sep="\n")
    if fetch.RESULTS in options.what:
        print(fetch.fetch_results(downloads=downloads, progress=progress))
