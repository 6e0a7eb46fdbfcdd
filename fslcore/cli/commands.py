"""The commands: one function per command, which prints its results; its docstring is the help, with examples."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .. import catalogue
from ..errors import InputError, choice, missing, note, room, whole
from ..paths import DATA, check_folder, check_output, together
from ..recorder import ENDING
from .output import grouped_lines, overview, print_json, show

if TYPE_CHECKING:
    import pandas as pd

LEAST_WEIGHT = 2 / 3  # of the smallest class in open tasks, below which a note is written; 1 is the average


def _of(options: argparse.Namespace, names: str) -> dict[str, object]:
    """The options of these names."""
    return {name: getattr(options, name) for name in names.split()}


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
        print(f"fslcore: data sets: {missing(error.name)}", file=sys.stderr)
        return {}
    own, *papers = datasets.forms()
    shipped, fetched = datasets.names() if DATA.is_dir() else [], datasets.fetched()
    there, not_there = ([name for name, here in fetched.items() if here is wanted] for wanted in (True, False))
    mine = [own, "features:PATH"]
    return {"shipped": shipped, "at hand": there, "to fetch": not_there, "own": mine, "papers": papers}


KINDS = {  # kinds for `fslcore list`
    "datasets": _data_sets,
    "backbones": lambda: catalogue.by_kind()["backbones"],
    "learners": lambda: catalogue.by_kind()["learners"],
}


def report(options: argparse.Namespace) -> None:
    """Report on results of your own methods: which is better, by how much, and for what.

    fslcore report results.csv
    fslcore report ours.csv protonet.csv -o report.html
    fslcore report results.csv --sampling open --reference ours --tables paper --figures paper
    fslcore report seed0.csv seed1.csv seed2.csv --seed tasks --json
    """
    several = len(options.results) > 1
    first = options.results[0]
    output = options.output or Path("report.html" if several else f"{first.absolute().stem}.html")
    output = check_output(output, [".html"], options.results)
    for name in ("tables", "figures"):
        if getattr(options, name):
            check_folder(getattr(options, name), name)
    from ..report import Options, Results

    said = {name: getattr(options, name) for name in Options.__dataclass_fields__}
    results = Results.read(options.results, **said)
    title = f"{first.name} and {len(options.results) - 1} more" if several else first.name
    with together():
        results.to_html(output, f"{title}: report")
        if options.tables:
            results.write_tables(options.tables)
        if options.figures:
            results.write_figures(options.figures)
    show(options, results.record() | {"report": output}, *results.lines(), "", f"The page: {output}")


def compare(options: argparse.Namespace) -> None:
    """Compare two printed accuracies with their ±, without the underlying results.

    fslcore compare 71.2±0.4 70.5±0.5 --tasks 600
    fslcore compare 61.34+-0.65 62.64+-0.61 --tasks 1000 --images 12000 --classes 20 --shots 1 --same-tasks no
    fslcore compare 79.59±0.52 76.87±0.56 --tasks 600 --images 840 --json
    """
    from ..report import printed
    from ..stats import from_printed

    if len(options.tasks) > 2:
        raise InputError(f"tasks = {' '.join(map(str, options.tasks))}; one number is allowed, or one for each figure")
    given = _of(options, "images classes ways shots queries same_tasks sampling level")
    figures = in_percent(options.a, options.b)
    found = from_printed(*figures, (options.tasks * 2)[:2], **given)
    answer, notes = printed.answer(found), printed.details(found)
    record = {"answer": answer, "notes": notes, **asdict(found)}
    show(options, record, answer, *notes, *printed.other_readings(found))


def in_percent(a: tuple[float, float], b: tuple[float, float]) -> list[tuple[float, float]]:
    """Two printed figures in percent, if both are shares."""
    if max(a[0], b[0]) > 1:
        return [a, b]
    return [(100 * mean, 100 * wide) for mean, wide in (a, b)]


def evaluate(options: argparse.Namespace) -> None:
    """Run learners on tasks and write the results table.

    fslcore evaluate folder:/data/mushrooms efficientnet-lite0 -o mushrooms.csv
    fslcore evaluate features:my.npz none -o mine.parquet --learners ncc --samplings closed --tasks 2000
    """
    import pandas as pd

    _check_evaluation(options)  # all possible errors are raised before the work, which may take hours
    from .. import evaluation

    shape = _of(options, "ways shots queries seed skip_small_classes apart balanced")
    source = evaluation.load_source(options.dataset, options.size)
    methods = {name: evaluation.ready(source, options.backbone, name) for name in options.learners}
    drawn = _drawn(options, source, **shape)
    if options.part:
        blocks = _make_part(options, methods, drawn)
        k, n = options.part
        asked = {**_of(options, "dataset backbone"), "part": f"{k}/{n}"}
        line = " ".join([*asked.values(), f"of the blocks of tasks: {blocks} computed or found"])
        return show(options, {**asked, "blocks": blocks}, line)
    early, ends = {}, None
    if options.until is not None:
        from ..evaluation.stopping import until

        most = drawn[options.learners[0], "closed"]
        early, ends = until(methods, most, options.until, progress=not options.quiet)
        options.tasks = len(early[options.learners[0]].correct)  # of --intervals too
    tables, neighbours, runs = [], {}, {}
    for learner, method in methods.items():
        for sampling in options.samplings:
            if (learner, sampling) not in drawn:
                continue
            of = drawn[learner, sampling]
            kept = early.get(learner) if sampling == "closed" else None
            kept = kept or method.record(of, progress=not options.quiet)
            setting = _of(options, "dataset backbone") | {"learner": learner, "sampling": sampling}
            table = evaluation.results_table(kept, **setting, **shape)
            if not options.json:
                mean = f"mean accuracy {table.accuracy.mean():.2f} %"
                print(f"{' '.join(setting.values())}: {len(table)} tasks, {mean}", flush=True)
            tables.append(table)
        few = of[: 1 if method.slow else 2]
        neighbours[learner] = evaluation.probe(method.learner, *method.reading(few), queries=2 if method.slow else 5)
        backbone = "none" if method.backbone is None else options.backbone
        runs[f"{backbone} {learner}"] = of[: len(kept.correct)], kept, neighbours[learner].depends
        if not options.json:
            print(
                neighbours[learner], *([f"{learner}: {ends[learner]} % whenever one stops"] if ends else []), sep="\n"
            )
    if options.output.suffix == ENDING:
        _write_recording(options, source, runs)
    else:
        evaluation.write_table(pd.concat(tables), options.output)
    found = _intervals(options, size=options.size, **shape) if options.intervals else None
    if options.json:
        means = pd.concat(tables).groupby(["learner", "sampling"], sort=False)["accuracy"].agg(["size", "mean"])
        means = means.reset_index().rename(columns={"size": "tasks", "mean": "accuracy"})
        asked = {**_of(options, "dataset backbone size"), **shape}
        more = {"intervals": found, "until": ends, "neighbours": neighbours, "output": options.output}
        print_json({**asked, "means": means, **more})
    elif found is not None:
        from ..evaluation import three_targets

        table = three_targets.interval_table(found)
        print(table.to_string(), *three_targets.legend(table), sep="\n")


def _write_recording(options: argparse.Namespace, source, runs: dict) -> None:
    """Write which queries were right, with the known dependence of images and classes."""
    from .. import recorder
    from ..evaluation import three_targets

    columns = {
        "class": source.classes,
        "groups": three_targets.groups_of_images(source, three_targets.IMAGE_FACTS),
        "class_groups": three_targets.groups_of_classes(source, three_targets.CLASS_FACTS),
    }
    images = {str(name): {} for name in source.names}
    for column, values in columns.items():
        if values is not None:
            for facts, value in zip(images.values(), values):
                facts[column] = str(value)
    recorder.save(options.output, images, runs, _of(options, "dataset seed"))


def _make_part(options: argparse.Namespace, methods: dict, drawn: dict) -> int:
    """Compute a part of what `evaluate` needs; returns its number of blocks of tasks."""
    from .. import evaluation

    progress = not options.quiet
    for method in methods.values():
        if method.backbone is not None and not method.slow:  # the features are the same for all that read them
            evaluation.make_features(method.source, method.backbone, options.part, progress=progress)
            break
    return evaluation.make_records(methods, drawn, options.part, progress=progress)


def _count(options: argparse.Namespace, learner: str, sampling: str) -> int | None:
    """Number of tasks of a sampling for a learner; None for as many as the data allow."""
    own, usual = (options.ft_open, options.max_open) if sampling == "open" else (options.ft_tasks, options.tasks)
    return own if learner == "ft" and own is not None else usual


def _drawn(options: argparse.Namespace, source, **shape) -> dict:
    """The tasks of each learner and sampling; impossible open ones are reported, and left out."""
    from .. import evaluation

    found = {}
    for sampling in options.samplings:
        counts = {learner: _count(options, learner, sampling) for learner in options.learners}
        try:
            tasks = {count: evaluation.draw(source, sampling, tasks=count, **shape) for count in set(counts.values())}
        except InputError as error:
            # Closed tasks need the least data: if they cannot be drawn, nothing can.
            if sampling == "closed" or "closed" not in options.samplings:
                raise
            note(f"no open tasks: {error}")
        else:
            found |= {(learner, sampling): tasks[count] for learner, count in counts.items()}
            if sampling == "open" and options.apart is None:
                _note_weights(options, source.labels, max(map(len, tasks.values())))
    small = evaluation.left_out(source, **shape) if shape["skip_small_classes"] else []
    if small:
        classes = len(set(source.classes.tolist()))
        note(f"{len(small)} of {classes} classes are left out as small: {', '.join(small)}")
    return found


def _note_weights(options: argparse.Namespace, labels, tasks: int) -> None:
    """Write a note if the smallest class is in far fewer of the open tasks than classes are on average."""
    import numpy as np

    possible = np.bincount(labels) // (options.shots + options.queries)  # open tasks of each class
    possible = possible[possible > 0]
    balanced = len(possible) * int(possible.min()) / options.ways  # tasks in which all have the same weight
    if balanced < LEAST_WEIGHT * tasks:
        line = f"the smallest has {balanced / tasks:.2f} times the average weight in their mean"
        remedy = f" (--balanced gives all classes the same weight, in {int(balanced)} tasks)" if balanced >= 2 else ""
        note(f"open tasks: larger classes are in more of them; {line}{remedy}")


def _intervals(options: argparse.Namespace, **shape) -> pd.DataFrame:
    """Intervals from the closed tasks for these images, new images and new classes, one line per learner."""
    import pandas as pd

    from ..evaluation import three_targets
    from ..stats import LEVEL

    counts = {learner: _count(options, learner, "closed") for learner in options.learners}
    tables = []
    for count in dict.fromkeys(counts.values()):
        learners = [learner for learner in options.learners if counts[learner] == count]
        found = three_targets.answers(
            [options.dataset],
            [options.backbone],
            learners,
            tasks=count,
            groups=three_targets.IMAGE_FACTS,
            class_groups=three_targets.CLASS_FACTS,
            **shape,
        )
        tables.append(three_targets.intervals(found, options.level or LEVEL))
    return pd.concat(tables, ignore_index=True)


def _check_recording(options: argparse.Namespace) -> None:
    """Refuse what a recording cannot contain, or would overwrite."""
    if options.samplings and len(options.samplings) > 1:
        raise InputError(
            f"samplings: {' and '.join(options.samplings)}; {ENDING} holds tasks of one, closed by default"
        )
    if options.apart is not None:
        raise InputError(f"--apart: not with {ENDING}, which does not record it; .csv and .parquet do, and --intervals")
    if options.output.is_file():
        from ..recorder import load

        backbone = "none" if options.dataset.startswith("features:") else options.backbone
        named = [f"{backbone} {name}" for name in options.learners]
        other = [method for method in load(options.output).methods if method not in named]
        if other:
            raise InputError(
                f"output = {options.output}; it is a recording of {other[0]}, which would be lost: name another file "
                "(fslcore report takes several)"
            )


def _check_evaluation(options: argparse.Namespace) -> None:
    """Check the arguments together, before torch is imported or an image read."""
    kind, _, path = options.dataset.partition(":")
    if kind != "features":
        choice("backbone", options.backbone.partition(":")[0], catalogue.backbones())
    weights = options.backbone.partition(":")[2]
    if options.part and (options.until is not None or options.intervals):
        name = "intervals" if options.intervals else "until"
        raise InputError(f"--{name}: not with --part, which computes blocks of tasks and writes nothing")
    if options.output is None and not options.part:
        raise InputError(
            "output: none; -o FILE.csv, FILE.parquet or FILE.jsonl is needed (or --part K/N, which writes nothing)"
        )
    options.output = options.output and check_output(
        options.output, [".parquet", ".csv", ENDING], [part for part in (path, weights) if part]
    )
    recorded = options.output is not None and options.output.suffix == ENDING
    if recorded:
        _check_recording(options)
    for name in filter(lambda name: ":" in name, options.learners):
        from ..learners.own import load

        load(name)
    options.samplings = options.samplings or (["closed"] if recorded else ["closed", "open"])
    if options.balanced and (options.apart is not None or "open" not in options.samplings):
        raise InputError("--balanced: only with open tasks, and not with --apart, whose groups may span classes")
    if options.level is not None and not options.intervals:
        raise InputError(f"--level {options.level:g}: only with --intervals, whose level it is")
    if options.intervals:
        from ..stats.three_intervals import LEAST

        for learner in options.learners:
            whole(f"tasks with --intervals ({learner})", _count(options, learner, "closed"), LEAST)
    if options.until is not None and ("closed" not in options.samplings or options.ft_tasks is not None):
        raise InputError(f"until = {options.until:g}; closed tasks, of one number for all (no --ft-tasks), are needed")
    images = options.ways * (options.shots + options.queries)
    usual = dict(tasks=600, ways=5, shots=5, queries=15)
    name = max(usual, key=lambda name: getattr(options, name) / usual[name])
    room(name, getattr(options, name), 24 * options.tasks * images)  # peak bytes for drawing them, as measured


def features(options: argparse.Namespace) -> None:
    """Compute the features of a data set's images, which evaluate then uses.

    fslcore features folder:/data/mushrooms efficientnet-lite0 -o mushrooms.safetensors
    fslcore features tieredimagenet:/data/tiered clip --part 3/40
    """
    inputs = [part for part in (options.dataset.partition(":")[2], options.backbone.partition(":")[2]) if part]
    output = options.output and check_output(options.output, [".safetensors", ".npz"], inputs)
    if output and options.part:
        raise InputError(f"output = {output}; parts of the features are not written; without --part, all are")
    from .. import datasets

    datasets.check(options.dataset, options.split)
    choice("backbone", options.backbone.partition(":")[0], catalogue.backbones())
    from .. import evaluation
    from ..models import backbones

    images = datasets.load(options.dataset, split=options.split, size=options.size)
    images, model = backbones.fitted(images, evaluation.load_backbone(options.backbone))
    start = time.perf_counter()
    computed = evaluation.make_features(images, model, options.part, progress=not options.quiet)
    seconds, kept = time.perf_counter() - start, backbones.shards_of(images, model)
    if output:
        evaluation.write_features(output, backbones.features(images, model), images)
    found = {
        **_of(options, "dataset backbone split"),
        "part": options.part and "{}/{}".format(*options.part),
        "images": len(images),
        "computed": computed,
        "images_per_second": computed / seconds if computed else None,
        "shards_left": len(kept.missing()),
        "features": kept.path if kept.path.is_file() else None,
        "output": output,
    }
    speed = f" ({computed / seconds:,.0f} per second)" if computed else ""
    left = f"; {found['shards_left']} of {len(kept.bounds)} shards are still to be made" * (not found["features"])
    line = f"{options.dataset} {options.backbone}: {computed:,} of {len(images):,} images computed{speed}{left}"
    show(options, found, line, *filter(None, (found["features"], output)))


def fetch(options: argparse.Namespace) -> None:
    """Download the papers' own data, weights and released results, checked by their digests.

    fslcore fetch dtd vgg-flower --accept-terms
    fslcore fetch oops --accept-terms
    fslcore fetch fungi --from ~/Downloads --accept-terms
    fslcore fetch oops-benchmark
    """
    folder = options.folder and check_folder(options.folder)
    if options.given and not options.given.is_dir():
        raise InputError(f"from = {options.given}; there is no such folder")
    from .. import fetch

    progress = not options.quiet
    wanted = [name for name in options.what if name != fetch.RESULTS]
    if folder and wanted:
        raise InputError(f"--folder {folder}: only {fetch.RESULTS} takes it; FSLCORE_DATA is the folder for data sets")
    if wanted:
        settings = dict(accept=options.accept_terms, complete=options.complete, downloads=options.given)
        print(*fetch.fetch(wanted, progress=progress, **settings), sep="\n")
    if fetch.RESULTS in options.what:
        print(fetch.fetch_results(folder, progress=progress))


def fetchable() -> list[str]:
    """Names that `fetch` takes."""
    from ..fetch import names

    return names()


def duplicates(options: argparse.Namespace) -> None:
    """Find near-copies among the images of a data set.

    fslcore duplicates clipart --splits novel base --sheet pairs.png
    fslcore duplicates folder:/data/mushrooms --distance 0.04 -o groups.csv
    """
    inputs = [part for part in (options.dataset.partition(":")[2],) if part]
    output = options.output and check_output(options.output, [".csv"], inputs)
    picture = options.sheet and check_output(options.sheet, [".png", ".pdf", ".svg"], inputs, "sheet")
    from .. import near_copies

    given = _of(options, "splits by bits distance size")
    found = near_copies.find(options.dataset, options.backbone, **given, progress=not options.quiet)
    if output:
        found.write(output)
    if picture:
        near_copies.write_sheet(found, picture)
    record = {**_of(options, "dataset backbone"), **given, **found.plain(), "output": output, "sheet": picture}
    show(options, record, *found.lines(), *filter(None, (output, picture)))
