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

from fslcore import __version__, backbones, datasets, estimators, evaluate, evaluators, learners, notebooks
from fslcore.tasks import sample_closed, sample_open

HERE = Path(__file__).resolve().parent
BACKBONES = ("efficientnet-lite0", "glyph-conv")
# Chapter whose profile bounds the number of tasks, sampling, shots, queries.
SETTINGS = (
    ("closed-vs-open", "closed", 5, 15), ("closed-vs-open", "open", 5, 15),
    ("benchmark", "open", 1, 1), ("benchmark", "open", 5, 5), ("benchmark", "open", 10, 7),
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
    given = {p.name: p.default for p in notebooks.parameters("estimators")} | profile["estimators"]
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
            keep(f"{dataset}.{backbone}.{name}", images, model, learners.make(learner, model), tasks, only_stored, facts)
        if learner == "maml" and dataset == given["sweep_dataset"]:
            for name in (estimators.ORACLE, "leave-one-out"):
                facts = dict(sampling="closed", estimator=name, transductive=True, **shape)
                released = learners.MAML(model, transductive=True)
                keep(f"{dataset}.{backbone}.transductive.{name}", images, model, released, splits[name], only_stored, facts)


def keep(name: str, images, model, learner, tasks, only_stored: bool, facts: dict) -> None:
    """Write the record of these tasks, as far as it is at hand with ``only_stored``."""
    name = name.replace("/", "-")
    record, key = evaluate.record(images, model, learner, tasks, stored=only_stored, progress=True)
    if record is None:
        print(f"{name}: not at hand")
        return
    tasks = tasks[: len(record.correct)]  # with --stored there may be fewer
    provenance = {
        "key": key, "command": "python data/results/build.py", "dataset": images.name, "backbone": model.name,
        "learner": learner.name, "tasks": len(tasks), **facts, "images": images.digest,
        "weights": model.weights, "tasks_digest": tasks.digest, "device": str(backbones.device()),
        "versions": {"fslcore": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    record.save(HERE / f"{name}.npz", provenance)
    print(f"{name}: {len(tasks)} tasks, {100 * record.accuracy().mean():.2f} %", flush=True)


if __name__ == "__main__":
    main()
