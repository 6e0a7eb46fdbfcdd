"""Gather the fine-tuning results that ship with the book.

Fine-tuning takes seconds a task on a CPU, so the default build does not repeat it. This script
computes what is missing (in blocks of twenty tasks that are kept, so it can be stopped) and writes a
record a setting, with what made it: command, seed, versions and the digests of its inputs.

    python data/results/build.py
"""

import argparse
import platform
from itertools import product
from pathlib import Path

import torch
import yaml

from fslcore import __version__, backbones, datasets, evaluate, learners
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
        record, key = evaluate.record(images, model, learners.FineTune(model), tasks, stored=only_stored, progress=True)
        name = f"{dataset}.{backbone}.ft.{sampling}".replace("/", "-")
        if chapter == "benchmark":
            name += f".{shots}-shot"
        if record is None:
            print(f"{name}: not at hand")
            continue
        tasks = tasks[: len(record.correct)]  # with --stored there may be fewer
        provenance = {
            "key": key, "command": "python data/results/build.py", "dataset": dataset, "backbone": backbone,
            "learner": "ft", "sampling": sampling, "tasks": len(tasks), **shape, "images": images.digest,
            "weights": model.weights, "tasks_digest": tasks.digest, "device": str(backbones.device()),
            "versions": {"fslcore": __version__, "torch": torch.__version__, "python": platform.python_version()},
        }
        record.save(HERE / f"{name}.npz", provenance)
        print(f"{name}: {len(tasks)} tasks, {100 * record.accuracy().mean():.2f} %")


if __name__ == "__main__":
    main()
