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
SHAPE = dict(ways=5, shots=5, queries=15, seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stored", action="store_true", help="write what is at hand, compute nothing")
    only_stored = parser.parse_args().stored
    settings = yaml.safe_load((HERE.parents[1] / "profiles" / "quick.yml").read_text())["closed-vs-open"]
    for dataset, backbone, sampling in product(settings["datasets"], BACKBONES, ("closed", "open")):
        images, model = datasets.load(dataset), backbones.load(backbone)
        if sampling == "closed":
            tasks = sample_closed(images.labels, tasks=settings["ft_tasks"], **SHAPE)
        else:
            tasks = sample_open(images.labels, max_tasks=settings["ft_open"], **SHAPE)
        record, key = evaluate.record(images, model, learners.FineTune(model), tasks, stored=only_stored, progress=True)
        name = f"{dataset}.{backbone}.ft.{sampling}".replace("/", "-")
        if record is None:
            print(f"{name}: not at hand")
            continue
        provenance = {
            "key": key, "command": "python data/results/build.py", "dataset": dataset, "backbone": backbone,
            "learner": "ft", "sampling": sampling, "tasks": len(tasks), **SHAPE, "images": images.digest,
            "weights": model.weights, "tasks_digest": tasks.digest, "device": str(backbones.device()),
            "versions": {"fslcore": __version__, "torch": torch.__version__, "python": platform.python_version()},
        }
        record.save(HERE / f"{name}.npz", provenance)
        print(f"{name}: {len(tasks)} tasks, {100 * record.accuracy().mean():.2f} %")


if __name__ == "__main__":
    main()
