"""Gather the results of learners that train a network on each task, which ship with the book.

Fine-tuning takes seconds a task on a CPU and MAML a tenth of a second, so the default build does not
repeat them. This script computes what is missing (in blocks of twenty tasks that are kept, so it can be
stopped) and writes a record a setting, with what made it: command, seed, versions and the digests of
its inputs.

    python data/results/build.py
    python data/results/build.py --part NAME    # one record
"""

import argparse
import platform
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import torch
import yaml

from fslbook import notebooks
from fslbook.catalogue import FACTS
from fslbook.estimation.resampled import ESTIMATORS, ORACLE
from fslbook.evaluators import estimates
from fslbook.fewstab import tables
from fslcore import __version__, evaluation
from fslcore.catalogue import reads_images
from fslcore.errors import InputError
from fslcore.evaluation import cache
from fslcore.models import backbones, registry
from fslcore.tasks import (
    Tasks,
    resplit,
    sample_class_matched,
    sample_closed,
    sample_open,
)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

BACKBONES = ("efficientnet-lite0", "glyph-conv")
# Chapter whose profile bounds the number of tasks, sampling, shots, queries.
SETTINGS = (
    ("closed-vs-open", "closed", 5, 15),
    ("closed-vs-open", "open", 5, 15),
    ("benchmark", "open", 1, 1),
    ("benchmark", "open", 5, 5),
    ("benchmark", "open", 10, 7),
)

# Of BOIL on clip art, for data/course.
EXERCISE, EXERCISE_TASKS = ("matched.5-shot", "biased.pixels.SC1", "biased.pixels.5-shot"), 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--stored", action="store_true", help="write what is at hand, compute nothing"
    )
    _build.part_option(parser)
    parser.add_argument(
        "--only", default="*", metavar="PATTERN", help="files of such names, *conv4-maml* say"
    )
    chosen = parser.parse_args()
    wanted = (setting for setting in settings() if fnmatchcase(setting[0], chosen.only))
    if chosen.part:
        wanted = (setting for setting in wanted if setting[0] == chosen.part)
    if chosen.part:  # no others are drawn once it is found
        wanted = [next(wanted, None) or _build.part_of(parser, {}, chosen.part)]
    for name, run, tasks, facts in wanted:
        keep(name, run, tasks, chosen.stored, facts)


def settings() -> Iterator[tuple[str, evaluation.ConfiguredMethod, Tasks, dict]]:
    """Every file: its name, the method and the tasks it is the record of, and facts for its provenance."""
    profile = yaml.safe_load((HERE.parents[1] / "profiles" / "quick.yml").read_text())
    for part in (of_finetuning, of_estimators, on_biased_tasks):
        for name, *options in part(profile):
            yield name.replace("/", "-"), *options


def of_finetuning(profile: dict) -> Iterator[tuple]:
    """The chapters on closed and open tasks and on the benchmark."""
    # The settings first, so that a stopped run has some of every data set.
    datasets_named = profile["closed-vs-open"]["datasets"]
    for (chapter, sampling, shots, queries), backbone, dataset in product(
        SETTINGS, BACKBONES, datasets_named
    ):
        images = evaluation.load_images_or_features(dataset)
        bounds, shape = profile[chapter], dict(ways=5, shots=shots, queries=queries, seed=0)
        if sampling == "closed":
            tasks = sample_closed(images.labels, tasks=bounds["ft_tasks"], **shape)
        else:
            tasks = sample_open(images.labels, max_tasks=bounds["ft_open"], **shape)
        name = f"{dataset}.{backbone}.ft.{sampling}" + (
            f".{shots}-shot" if chapter == "benchmark" else ""
        )
        yield (
            name,
            evaluation.configure(images, backbone, "ft"),
            tasks,
            dict(sampling=sampling, **shape),
        )


def of_estimators(profile: dict) -> Iterator[tuple]:
    """The chapter on estimators: MAML by the oracle, on fresh images, and on the re-splits of every estimator."""
    values = parameters("estimators", profile)
    shape = {name: values[name] for name in ("ways", "shots", "queries", "seed")}
    methods = [evaluation.Method.parse(m) for m in values["methods"]]
    for (backbone, learner), dataset in product(
        [m for m in methods if reads_images(m[1])], values["datasets"]
    ):
        images = evaluation.load_images_or_features(dataset)
        asked, fresh = estimates.draw(images, tasks=values["image_tasks"], **shape)
        splits = {ORACLE: asked, estimates.FRESH: fresh}
        for name in ESTIMATORS:
            splits[name] = resplit(asked, name, rounds=values["rounds"], seed=values["seed"]).tasks
        for name, tasks in splits.items():
            facts = dict(sampling="closed", estimator=name, **shape)
            yield (
                f"{dataset}.{backbone}.{name}",
                evaluation.configure(images, backbone, learner),
                tasks,
                facts,
            )
        if learner != "maml":
            continue
        if dataset == values["sweep_dataset"]:
            for name in (ORACLE, "leave-one-out"):
                facts = dict(sampling="closed", estimator=name, transductive=True, **shape)
                released = evaluation.configure(images, backbone, learner, transductive=True)
                yield f"{dataset}.{backbone}.transductive.{name}", released, splits[name], facts
        # The chapter on selection: other numbers of steps, on the same tasks.
        grid = parameters("selection", profile)["steps"]
        for steps, name in product(grid, (ORACLE, estimates.FRESH, "5-fold")):
            run = evaluation.configure(images, backbone, learner, steps=steps)
            if steps != evaluation.configure(images, backbone, learner).learner.steps:
                facts = dict(sampling="closed", estimator=name, steps=steps, **shape)
                yield f"{dataset}.{backbone}.{steps}-steps.{name}", run, splits[name], facts


def on_biased_tasks(profile: dict) -> Iterator[tuple]:
    """The chapters on spurious bias: random tasks, and biased ones by captioner, technique and shots."""
    values = parameters("captioners-and-tasks", profile)
    sizes = {name: values[name] for name in ("ways", "queries", "seed")} | {
        "tasks": values["image_tasks"]
    }
    slow = [name for name in values["learners"] if reads_images(tables.DECIDES[name])]
    of_chapters = [(dataset, values["captioners"], sizes, None) for dataset in values["datasets"]]
    of_exercise = [("clipart", ["pixels"], sizes | {"tasks": EXERCISE_TASKS}, EXERCISE)]
    for (dataset, captioners, sizes, only), name in product(of_chapters + of_exercise, slow):
        images = tables.images_of(dataset)
        wanted = {f"random.{s}-shot": (s, None, {}) for s in (1, 5)}
        words = {c: c.removeprefix(FACTS) for c in captioners}  # in names of files
        wanted |= {f"biased.{words[c]}.{s}-shot": (s, c, {}) for c, s in product(words, (1, 5))}
        first = captioners[0]
        wanted[f"biased.{words[first]}.10-shot"] = 10, first, {}
        wanted["matched.5-shot"] = 5, first, {}
        for technique, construction in tables.CONSTRUCTIONS.items():
            if construction:
                wanted[f"biased.{words[first]}.{technique}"] = 5, first, construction
        for key in only or wanted:
            shots, captioner, construction = wanted[key]
            try:
                tasks = (
                    tables.draw(dataset, captioner, shots=shots, **sizes, **construction)[0]
                    if captioner
                    else tables.draw_random(dataset, shots=shots, **sizes)
                )
            except InputError:  # no such tasks: the chapter leaves them out too
                continue
            if key.startswith("matched"):
                tasks = sample_class_matched(images.classes, tasks, seed=values["seed"])
            facts = dict(what=key, **{k: v for k, v in tasks.sampler.items() if k != "tasks"})
            figure_6 = (
                key.startswith(f"biased.{words[first]}") and not construction and not only
            )  # compares trainings
            trainings = (1, 5) if figure_6 else (tables.trained_with(shots),)
            for method in (tables.method(name, s, values["trained"]) for s in trainings):
                if registry.shipped(method.backbone):
                    run = evaluation.configure(images, *method)
                    yield f"{dataset.partition('?')[0]}.{method.backbone}.{key}", run, tasks, facts


def machine() -> str:
    """What decides how sums round: a record is exact where this, PyTorch and the device are the same."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        model = platform.processor()
    threads = f"{torch.get_num_threads()} threads"
    return ", ".join([platform.machine(), torch.backends.cpu.get_cpu_capability(), model, threads])


def parameters(chapter: str, profile: dict) -> dict:
    """What the default build gives a chapter."""
    return {p.name: p.default for p in notebooks.parameters(chapter)} | profile[chapter]


def keep(
    name: str, run: evaluation.ConfiguredMethod, tasks: Tasks, only_stored: bool, facts: dict
) -> None:
    """Write the record of these tasks, as far as it is at hand with ``only_stored``.

    A file that holds all of them stays as it was made; of one that holds the first, the others alone are computed.
    """
    path = HERE / f"{name}.npz"
    images, model, learner = inputs = run.source, run.backbone, run.learner
    had, machines = held(path, inputs, tasks)
    if had == len(tasks):
        return
    record, key = evaluation.cached_outcomes(*inputs, tasks, stored=only_stored, progress=True)
    if record is None:
        print(f"{name}: not at hand")
        return
    tasks = tasks[: len(record.correct)]  # with --stored there may be fewer
    if had == len(tasks):
        return
    provenance = {
        "key": key,
        "command": "python data/results/build.py",
        "dataset": images.name,
        "backbone": model.name,
        "learner": learner.name,
        "tasks": len(tasks),
        **facts,
        "images": images.digest,
        "weights": model.weights,
        "tasks_digest": tasks.digest,
        "blocks": blocks(inputs, tasks),
        "device": str(backbones.device()),
        "machine": "; ".join(dict.fromkeys([*machines, machine()])),
        "versions": {
            "fslcore": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    record.save(path, provenance)
    print(f"{name}: {len(tasks)} tasks, {100 * record.accuracy().mean():.2f} %", flush=True)


def held(path: Path, inputs: tuple, tasks: Tasks) -> tuple[int, list[str]]:
    """How many of these tasks a file holds, from the first on, and on what machines they were computed."""
    if not path.is_file():
        return 0, []
    record, provenance = evaluation.Outcomes.load(path)
    if (
        evaluation.ConfiguredMethod(*inputs).keys()(tasks[: len(record.correct)])
        != provenance["key"]
    ):
        return 0, []  # of other images, weights, tasks or settings
    return len(record.correct), provenance.get("machine", "not known").split("; ")


def blocks(inputs: tuple, tasks: Tasks) -> list[str]:
    """Keys of the parts by which a file is found where fewer tasks are asked for, or more."""
    run = evaluation.ConfiguredMethod(*inputs)
    key, parts = run.keys(), run.blocks(tasks)
    return [key(part)[: cache.SHORT] for part in parts] if len(parts) > 1 else []


if __name__ == "__main__":
    main()
