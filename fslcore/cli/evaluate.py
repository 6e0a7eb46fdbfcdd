"""The command ``fslcore evaluate``: learners on tasks, written as a results table or a
recording.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..catalogue import SAMPLINGS, learner_title
from ..errors import InputError, check_unique, warn, whole
from ..recorder import ENDING
from .options import check_backbone, files_in, values_of
from .output import output_file, show

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import Source
    from ..evaluation import ConfiguredMethod, Outcomes, TransductivityResult
    from ..stats import Interval
    from ..tasks import Tasks

    Methods = dict[str, ConfiguredMethod]  # by learner
    TasksOf = dict[tuple[str, str], Tasks]  # by learner and sampling
    RecordOf = dict[tuple[str, str], Outcomes]
    TransductivityOf = dict[str, TransductivityResult]

# Of the smallest class in open tasks: below it a note is written; 1 is the average.
SMALLEST_WEIGHT = 2 / 3
# What determines the tasks, beside their number and sampling.
TASK_OPTIONS = "ways shots queries seed skip_small_classes apart balanced"


def evaluate(options: argparse.Namespace) -> None:
    """Run learners on tasks and write the results table.

    fslcore evaluate folder:/data/mushrooms efficientnet-lite0 -o mushrooms.csv
    fslcore evaluate features:my.npz none -o mine.csv --learners ncc --samplings closed --tasks 2000
    """
    _name_learners(options)
    _check_output(options)  # what can fail does so before the work, which may take hours
    _check_evaluation(options)
    from .. import evaluation

    source = evaluation.load_images_or_features(options.dataset, options.size)
    methods = {
        name: evaluation.configure(source, options.backbone, name) for name in options.learners
    }
    tasks_of = _draw_tasks(options, source)
    if options.part:
        return _compute_part(options, methods, tasks_of)
    records, intervals_at_stop = {}, None
    if options.until:
        from ..evaluation.stopping import run_until_precise

        tasks = tasks_of[options.learners[0], "closed"]
        first_records, intervals_at_stop = run_until_precise(
            methods, tasks, options.until, progress=not options.quiet
        )
        records = {(learner, "closed"): record for learner, record in first_records.items()}
    table = _run_all(options, methods, tasks_of, records)
    transductivity = _check_learners(methods, tasks_of)
    if options.output.suffix == ENDING:
        _write_recording(options, source, tasks_of, records, transductivity)
    else:
        evaluation.write_table(table, options.output)
    intervals = _three_intervals(options, records) if options.intervals else None
    _show_results(options, table, transductivity, intervals_at_stop, intervals)


def task_count(options: argparse.Namespace, learner: str, sampling: str) -> int | None:
    """Number of tasks of a sampling for a learner; None for as many as the data allow."""
    if sampling == "open":
        count, fine_tuning_count = options.max_open, options.ft_open
    else:
        count, fine_tuning_count = options.tasks, options.ft_tasks
    return fine_tuning_count if learner == "ft" and fine_tuning_count is not None else count


def _draw_tasks(options: argparse.Namespace, source: Source) -> TasksOf:
    """The tasks of each learner and sampling; impossible open ones are reported, and left out."""
    from .. import evaluation

    shape = values_of(options, TASK_OPTIONS)
    tasks_by_count = {}
    for sampling in options.samplings:
        counts = {task_count(options, learner, sampling) for learner in options.learners}
        try:
            for count in counts:
                tasks_by_count[sampling, count] = evaluation.sample_tasks(
                    source, sampling, tasks=count, **shape
                )
        except InputError as error:
            # Closed tasks need the least data: if they cannot be drawn, nothing can.
            if sampling == "closed" or "closed" not in options.samplings:
                raise
            warn(f"no open tasks: {error}")
        else:
            if sampling == "open" and options.apart is None:
                _note_weights(
                    options, source, max(len(tasks_by_count[sampling, count]) for count in counts)
                )
    small_classes = (
        evaluation.excluded_classes(source, **shape) if options.skip_small_classes else []
    )
    if small_classes:
        n_classes = len(set(source.classes))
        warn(
            f"{len(small_classes)} of {n_classes} classes are left out as small: "
            f"{', '.join(small_classes)}"
        )
    tasks_of = {}
    for learner in options.learners:
        for sampling in options.samplings:
            tasks = tasks_by_count.get((sampling, task_count(options, learner, sampling)))
            if tasks is not None:
                tasks_of[learner, sampling] = tasks
    return tasks_of


def _note_weights(options: argparse.Namespace, source: Source, n_tasks: int) -> None:
    """Write a note if the smallest class is in far fewer of the open tasks than classes are on
    average.
    """
    import numpy as np

    images_per_class = options.shots + options.queries
    tasks_of_class = np.bincount(source.labels) // images_per_class
    tasks_of_class = tasks_of_class[tasks_of_class > 0]
    # Tasks in which all classes have the same weight.
    n_balanced = len(tasks_of_class) * int(tasks_of_class.min()) / options.ways
    if n_balanced < SMALLEST_WEIGHT * n_tasks:
        line = f"the smallest has {n_balanced / n_tasks:.2f} times the average weight in their mean"
        if n_balanced >= 2:
            line += f" (--balanced gives all classes the same weight, in {int(n_balanced)} tasks)"
        warn(f"open tasks: larger classes are in more of them; {line}")


def _compute_part(options: argparse.Namespace, methods: Methods, tasks_of: TasksOf) -> None:
    """Compute some of the pieces that an evaluation needs, and store them."""
    from .. import evaluation
    from ..datasets import Images

    progress = not options.quiet
    for method in methods.values():
        images = method.source
        if isinstance(images, Images) and method.backbone is not None and not method.slow:
            evaluation.compute_features(images, method.backbone, options.part, progress=progress)
            break  # the features are the same for all that read them
    blocks = evaluation.compute_outcomes(methods, tasks_of, options.part, progress=progress)
    record = values_of(options, "dataset backbone")
    record["part"] = "{}/{}".format(*options.part)
    line = " ".join([*record.values(), f"of the blocks of tasks: {blocks} computed or found"])
    show(options, {**record, "blocks": blocks}, line)


def _run_all(
    options: argparse.Namespace, methods: Methods, tasks_of: TasksOf, records: RecordOf
) -> pd.DataFrame:
    """The results table; adds the records that are missing, and prints each mean when it is
    known.
    """
    import pandas as pd

    from .. import evaluation

    tables = []
    for (learner, sampling), tasks in tasks_of.items():
        if (learner, sampling) not in records:
            records[learner, sampling] = methods[learner].outcomes(
                tasks, progress=not options.quiet
            )
        setting = values_of(options, "dataset backbone") | {
            "learner": learner,
            "sampling": sampling,
        }
        table = evaluation.results_table(
            records[learner, sampling], **setting, **values_of(options, TASK_OPTIONS)
        )
        tables.append(table)
        if not options.json:
            mean = f"mean accuracy {table.accuracy.mean():.2f} %"
            print(f"{' '.join(setting.values())}: {len(table)} tasks, {mean}", flush=True)
    return pd.concat(tables)


def _check_learners(methods: Methods, tasks_of: TasksOf) -> TransductivityOf:
    """Whether each learner's answers depend on the other queries of a task."""
    from .. import evaluation

    last_tasks = {learner: tasks for (learner, _), tasks in tasks_of.items()}
    transductivity = {}
    for learner, tasks in last_tasks.items():
        method = methods[learner]
        n_tasks, n_queries = (1, 2) if method.slow else (2, 5)  # fine-tuning takes seconds per task
        transductivity[learner] = evaluation.check_transductive(
            method.learner, *method.inputs(tasks[:n_tasks]), queries=n_queries
        )
    return transductivity


def _write_recording(
    options: argparse.Namespace,
    source: Source,
    tasks_of: TasksOf,
    records: RecordOf,
    transductivity: TransductivityOf,
) -> None:
    """Write which queries were right, with the known dependence of images and classes."""
    from .. import recorder

    runs = {}
    for (learner, sampling), record in records.items():
        tasks = tasks_of[learner, sampling][: len(record.correct)]
        runs[_method_name(options, learner)] = tasks, record, transductivity[learner].depends
    recorder.save(options.output, _image_facts(source), runs, values_of(options, "dataset seed"))


def _image_facts(source: Source) -> dict[str, dict[str, str]]:
    """The class of each image, and its groups where they are known."""
    from ..evaluation import three_targets

    columns = {
        "class": source.classes,
        "groups": three_targets.groups_of_images(source, three_targets.IMAGE_FACTS),
        "class_groups": three_targets.groups_of_classes(source, three_targets.CLASS_FACTS),
    }
    facts_of: dict[str, dict[str, str]] = {str(name): {} for name in source.names}
    for column, values in columns.items():
        if values is not None:
            for facts, value in zip(facts_of.values(), values):
                facts[column] = str(value)
    return facts_of


def _method_name(options: argparse.Namespace, learner: str) -> str:
    """The name of a method in a recording, in print; features from a file have no backbone."""
    backbone = "" if options.dataset.startswith("features:") else f"{options.backbone} "
    return f"{backbone}{learner_title(learner)}"


def _three_intervals(options: argparse.Namespace, records: RecordOf) -> pd.DataFrame:
    """Intervals from the closed tasks for these images, new images and new classes, one line per
    learner.
    """
    import pandas as pd

    from ..evaluation import three_targets

    tables = []
    for learner in options.learners:
        record = records.get((learner, "closed"))
        count = task_count(options, learner, "closed") if record is None else len(record.correct)
        answers = three_targets.answers(
            [options.dataset],
            [options.backbone],
            [learner],
            tasks=0 if count is None else count,
            groups=three_targets.IMAGE_FACTS,
            class_groups=three_targets.CLASS_FACTS,
            **values_of(options, f"size {TASK_OPTIONS}"),
        )
        tables.append(three_targets.intervals(answers))
    return pd.concat(tables, ignore_index=True)


def _show_results(
    options: argparse.Namespace,
    table: pd.DataFrame,
    transductivity: TransductivityOf,
    intervals_at_stop: dict[str, Interval] | None,
    intervals: pd.DataFrame | None,
) -> None:
    from ..report.interval_table import interval_table, legend

    lines: list[object] = [*transductivity.values()]
    for learner, interval in (intervals_at_stop or {}).items():
        lines.append(f"{learner}: {interval} % whenever one stops")
    if intervals is not None:
        cells = interval_table(intervals)
        lines += [cells.to_string(), *legend(cells)]
    means = table.groupby(["learner", "sampling"], sort=False, as_index=False)["accuracy"]
    record = values_of(options, f"dataset backbone size {TASK_OPTIONS}") | {
        "means": means.agg(tasks="size", accuracy="mean"),
        "intervals": intervals,
        "until": intervals_at_stop,
        "transductivity": transductivity,
        "output": options.output,
    }
    show(options, record, *lines)


def _name_learners(options: argparse.Namespace) -> None:
    """Replace ``module:Class`` of a registered learner by its name, under which results are kept."""
    if not any(":" in learner for learner in options.learners):
        return
    from ..learners.own import registered_name

    options.learners = [registered_name(learner) for learner in options.learners]
    check_unique("learners", options.learners)


def _check_output(options: argparse.Namespace) -> None:
    """Check where results go, and let a recording have closed tasks alone unless the options say
    otherwise.
    """
    is_recording = False
    if options.output is not None:
        inputs = files_in(options.dataset, options.backbone)
        options.output = output_file(options.output, [".parquet", ".csv", ENDING], inputs)
        is_recording = options.output.suffix == ENDING
    elif not options.part:
        raise InputError(
            "output must be -o FILE.csv, FILE.parquet or FILE.jsonl, or --part K/N, which writes "
            "nothing, got none"
        )
    if is_recording:
        _check_recording(options)
    if options.samplings is None:
        options.samplings = ["closed"] if is_recording else [*SAMPLINGS]


def _check_recording(options: argparse.Namespace) -> None:
    """Refuse what a recording cannot contain, or would overwrite."""
    if options.samplings and len(options.samplings) > 1:
        raise InputError(
            f"samplings: {' and '.join(options.samplings)}; {ENDING} holds tasks of one, closed "
            "by default"
        )
    if options.apart is not None:
        raise InputError(
            f"--apart: not with {ENDING}, which does not record it; .csv and .parquet do, and "
            "--intervals"
        )
    if options.output.is_file():
        from ..recorder import load

        replaced = [_method_name(options, learner) for learner in options.learners]
        lost = [method for method in load(options.output).methods if method not in replaced]
        if lost:
            raise InputError(
                f"output = {options.output}; it is a recording of {lost[0]}, which would be lost: "
                "name another file (fslcore report takes several)"
            )


def _check_evaluation(options: argparse.Namespace) -> None:
    """Check the arguments together, before torch is imported or an image read."""
    if not options.dataset.startswith("features:"):
        check_backbone(options.backbone)
    if options.part and (options.intervals or options.until):
        raise InputError(
            f"--{'intervals' if options.intervals else 'until'}: not with --part, which computes "
            "blocks of tasks and writes nothing"
        )
    if options.balanced and (options.apart is not None or "open" not in options.samplings):
        raise InputError(
            "--balanced: only with open tasks, and not with --apart, whose groups may span classes"
        )
    if options.until and ("closed" not in options.samplings or options.ft_tasks is not None):
        raise InputError(
            "until must be with closed tasks, of one number for all (no --ft-tasks), got "
            f"{options.until:g}"
        )
    if options.intervals:
        from ..stats.task_checks import MINIMUM_TASKS

        for learner in options.learners:
            whole(
                f"tasks with --intervals ({learner})",
                task_count(options, learner, "closed"),
                MINIMUM_TASKS,
            )
