"""Gather the results of learners that train a network on each task, which ship with the book.

Fine-tuning takes seconds a task on a CPU and MAML a tenth of a second, so the default build does not
repeat them. This script computes what is missing (in blocks of twenty tasks that are kept, so it can be
stopped) and writes a record a setting, with what made it: command, seed, versions and the digests of
its inputs.

    python data/results/build.py
"""

import argparse
import platform
from itertools import product
from pathlib import Path

import torch
import yaml

from fslcore import __version__, backbones, datasets, estimators, evaluate, evaluators, learners, notebooks, spurious
from fslcore.tasks import sample_closed, sample_open

HERE = Path(__file__).resolve().parent
BACKBONES = ("efficientnet-lite0", "glyph-conv")
# Chapter whose profile bounds the number of tasks, sampling, shots, queries.
SETTINGS = (
    ("closed-vs-open", "closed", 5, 15),
    ("closed-vs-open", "open", 5, 15),
    ("benchmark", "open", 1, 1),
    ("benchmark", "open", 5, 5),
    ("benchmark", "open", 10, 7),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stored", action="store_true", help="write what is at hand, compute nothing")
    only_stored = parser.parse_args().stored
    profile = yaml.safe_load((HERE.parents[1] / "profiles" / "quick.yml").read_text())
    # The settings first, so that a stopped run has some of every data set.
    datasets_named = profile["closed-vs-open"]["datasets"]
    for (chapter, sampling, shots, queries), backbone, dataset in product(SETTINGS, BACKBONES, datasets_named):
        images, model = datasets.load(dataset), backbones.load(backbone)
        bounds, shape = profile[chapter], dict(ways=5, shots=shots, queries=queries, seed=0)
        if sampling == "closed":
            tasks = sample_closed(images.labels, tasks=bounds["ft_tasks"], **shape)
        else:
            tasks = sample_open(images.labels, max_tasks=bounds["ft_open"], **shape)
        name = f"{dataset}.{backbone}.ft.{sampling}" + (f".{shots}-shot" if chapter == "benchmark" else "")
        keep(name, images, model, learners.FineTune(model), tasks, only_stored, dict(sampling=sampling, **shape))

    # The chapter on estimators: MAML by the oracle, on fresh images, and on the re-splits of every estimator.
    given = parameters("estimators", profile)
    shape = {name: given[name] for name in ("ways", "shots", "queries", "seed")}
    methods = [evaluators.method(m) for m in given["methods"]]
    for (backbone, learner), dataset in product([m for m in methods if m[1] in learners.of_images], given["datasets"]):
        images, model = datasets.load(dataset), backbones.load(backbone)
        drawn = evaluators.draw(images, tasks=given["tasks"], **shape)
        asked, fresh = (part[: given["image_tasks"]] for part in drawn)
        splits = {estimators.ORACLE: asked, evaluators.FRESH: fresh}
        for name in estimators.ESTIMATORS:
            splits[name] = estimators.resplit(asked, name, rounds=given["rounds"], seed=given["seed"]).tasks
        for name, tasks in splits.items():
            facts = dict(sampling="closed", estimator=name, **shape)
            keep(
                f"{dataset}.{backbone}.{name}", images, model, learners.make(learner, model), tasks, only_stored, facts
            )
        if learner != "maml":
            continue
        if dataset == given["sweep_dataset"]:
            for name in (estimators.ORACLE, "leave-one-out"):
                facts = dict(sampling="closed", estimator=name, transductive=True, **shape)
                released = learners.MAML(model, transductive=True)
                keep(
                    f"{dataset}.{backbone}.transductive.{name}",
                    images,
                    model,
                    released,
                    splits[name],
                    only_stored,
                    facts,
                )
        # The chapter on selection: other numbers of steps, on the same tasks.
        grid = parameters("selection", profile)["steps"]
        for steps, name in product(grid, (estimators.ORACLE, evaluators.FRESH, "5-fold")):
            run = learners.MAML(model, steps=steps)
            if steps != learners.MAML(model).steps:
                facts = dict(sampling="closed", estimator=name, steps=steps, **shape)
                keep(f"{dataset}.{backbone}.{steps}-steps.{name}", images, model, run, splits[name], only_stored, facts)
    on_biased_tasks(profile, only_stored)


def on_biased_tasks(profile: dict, only_stored: bool) -> None:
    """The chapters on spurious bias: random tasks, and biased ones by captioner, technique and shots."""
    given = parameters("captioners-and-tasks", profile)
    sizes = {name: given[name] for name in ("ways", "queries", "seed")} | {"tasks": given["image_tasks"]}
    slow = [name for name in given["learners"] if spurious.LEARNERS[name] in learners.of_images]
    for dataset, name in product(given["datasets"], slow):
        images = spurious.images_of(dataset)
        wanted = {f"random.{s}-shot": (s, None, {}) for s in (1, 5)}
        wanted |= {f"biased.{c}.{s}-shot": (s, c, {}) for c, s in product(given["captioners"], (1, 5))}
        first = given["captioners"][0]
        wanted[f"biased.{first}.10-shot"] = 10, first, {}
        wanted["matched.5-shot"] = 5, first, {}
        for technique, how in spurious.CONSTRUCTIONS.items():
            if how:
                wanted[f"biased.{first}.{technique}"] = 5, first, how
        for what, (shots, captioner, how) in wanted.items():
            if captioner is None:
                tasks = spurious.draw_random(dataset, shots=shots, **sizes)
            else:
                tasks, _ = spurious.draw(dataset, captioner, shots=shots, **sizes, **how)
            if what.startswith("matched"):
                tasks = spurious.draw_matched(dataset, tasks, seed=given["seed"])
            facts = dict(what=what, **{k: v for k, v in tasks.sampler.items() if k != "tasks"})
            figure_6 = what.startswith(f"biased.{first}") and not how  # compares trainings
            trainings = (1, 5) if figure_6 else (spurious.trained_with(name, shots),)
            for backbone in filter(backbones.shipped, (spurious.method(name, s)[0] for s in trainings)):
                model = backbones.load(backbone)
                run = learners.make(spurious.LEARNERS[name], model)
                keep(f"{dataset.partition('?')[0]}.{backbone}.{what}", images, model, run, tasks, only_stored, facts)


def parameters(chapter: str, profile: dict) -> dict:
    """What the default build gives a chapter."""
    return {p.name: p.default for p in notebooks.parameters(chapter)} | profile[chapter]


def keep(name: str, images, model, learner, tasks, only_stored: bool, facts: dict) -> None:
    """Write the record of these tasks, as far as it is at hand with ``only_stored``."""
    name = name.replace("/", "-")
    record, key = evaluate.record(images, model, learner, tasks, stored=only_stored, progress=True)
    if record is None:
        print(f"{name}: not at hand")
        return
    tasks = tasks[: len(record.correct)]  # with --stored there may be fewer
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
        "device": str(backbones.device()),
        "versions": {"fslcore": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    record.save(HERE / f"{name}.npz", provenance)
    print(f"{name}: {len(tasks)} tasks, {100 * record.accuracy().mean():.2f} %", flush=True)


if __name__ == "__main__":
    main()
