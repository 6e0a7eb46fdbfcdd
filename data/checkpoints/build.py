"""Train the learners that ship with the book, and write their card and digests.

    python data/checkpoints/build.py            # train what is missing (hours on a CPU), then the card
    python data/checkpoints/build.py --card     # the card only
    python data/checkpoints/build.py --part NAME   # one network, if it is missing

A stopped training goes on from its last epoch.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pandas as pd
from safetensors import safe_open

from fslbook.fewstab.tables import RECENT, REMEDIED
from fslcore import datasets, evaluation, learners
from fslcore.stats import closed_interval
from fslcore.tools import training

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

# On frozen features, each plain and with the adjustment of Yue et al. (2020): those of FewSTAB's Table S10.
FROZEN = tuple(f"{name}{how}" for name in REMEDIED.values() for how in ("", "-ifsl"))
LEARNERS = (
    "baseline",
    "baseline++",
    "rfs",
    "protonet",
    "r2d2",
    "dn4",
    "can",
    "renet",
    "maml",
    "anil",
    "boil",
    "leo",
    *RECENT,
    *FROZEN,
)
# Trained on 1-shot tasks too. BOIL leaves the neighbourhood of chance only after ten epochs of these.
ONE_SHOT = {
    name: {"shots": 1} | ({"epochs": 20} if name == "boil" else {})
    for name in ("protonet", "r2d2", "dn4", "can", "renet", "anil", "boil", "leo", *FROZEN)
}
DATASETS = ("coloured", "clipart")
TASKS, IMAGE_TASKS = 600, 60  # closed tasks on novel classes; those of learners that read images
BIASES = (0, 0.5, 1)  # of the short trainings for the chapter known-truth
SEEDS = (0, 1)
SHORT = {
    "baseline": {"epochs": 5},
    "baseline++": {"epochs": 5},
    "protonet": {"epochs": 6, "steps": 200},
    "r2d2": {"epochs": 6, "steps": 200},
    "anil": {"epochs": 6, "steps": 200},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--card", action="store_true", help="train nothing")
    _build.part_option(parser)
    chosen = parser.parse_args()
    if chosen.part:
        return train(chosen.part, **_build.part_of(parser, parts(), chosen.part))
    if not chosen.card:
        for backbone, recipe in parts():
            train(backbone, **recipe)
    rows = []
    for name, shots in methods():
        backbone = f"conv4-{'1shot-' * (shots == 1)}{name}"
        path = HERE / f"{backbone}.safetensors"
        if not path.is_file():
            continue
        with safe_open(path, "pt") as file:
            made = json.loads(file.metadata()["training"])
        curve = pd.read_csv(path.with_suffix(".csv"))
        best = curve.loc[curve["validation"].idxmax()]
        recipe = made["recipe"]
        kinds = {"classes": "images", "views": "pairs of views", "tasks": "task" + "s" * (recipe["size"] > 1)}
        batch = kinds[recipe["batch"]]
        what = f"{recipe['size']} {batch} a step"
        row = {
            "checkpoint": f"`{path.name}`",
            "learner": f"`{recipe['learner']}`",
            "batch": what,
            "shots": shots,
            "best epoch": f"{best['epoch']:.0f} of {recipe['epochs']}",
            "validation": f"{best['validation']:.1f}",
        }
        for dataset in DATASETS:
            count = IMAGE_TASKS if recipe["learner"] in learners.of_images else TASKS
            table = evaluation.run(
                dataset, f"{backbone}:{path}", recipe["learner"], "closed", shots=shots, tasks=count, progress=True
            )
            found = closed_interval(table["accuracy"])
            row[dataset] = f"{found.mean:.1f} ± {found.half_width:.1f}"
        rows.append(row)
    table = pd.DataFrame(rows)
    shown = table.to_markdown(index=False)
    write_card(shown)
    for folder in (HERE, HERE / "bias"):
        files = sorted(folder.glob("*.safetensors"))
        digests = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (folder / "SHA256SUMS").write_text("".join(digests))
    print(shown)


def write_card(table: str) -> None:
    """The card for people, with the numbers that it names."""
    said: dict = {"table": table, "tasks": TASKS, "image_tasks": IMAGE_TASKS}
    for dataset in ("coloured", "glyphs"):
        base = datasets.load(dataset, split="base")
        said |= {"classes": len(base.class_names), f"{dataset}_images": f"{len(base):,}"}
    said["glyph_conv"] = pd.read_csv(HERE / "glyph-conv.csv")["validation"].max()
    (HERE / "README.md").write_text((HERE / "card.tmpl").read_text().format(**said))


def methods() -> list[tuple[str, int]]:
    """Learners, and the shots of the tasks they are trained on."""
    return [*((name, 5) for name in LEARNERS), *((name, 1) for name in ONE_SHOT)]


def parts() -> Iterator[tuple[str, dict]]:
    """Every network: its file, without the ending, and what `fslcore.tools.training.train` is given."""
    # Short trainings with ink tied to class by a known share: bias/LEARNER-BIAS-SEED.safetensors.
    for seed, (name, short), bias in product(SEEDS, SHORT.items(), BIASES):
        dataset = "coloured" + f"?bias={bias:g}" * (bias > 0)
        yield f"bias/{name}-{bias:g}-{seed}", dict(name=name, seed=seed, network="conv4-32", dataset=dataset, **short)
    for name, shots in methods():
        recipe = ONE_SHOT[name] if shots == 1 else {}
        yield f"conv4-{'1shot-' * (shots == 1)}{name}", dict(name=name, **recipe)


def train(backbone: str, name: str, **recipe) -> None:
    """Train a network that is missing."""
    path = HERE / f"{backbone}.safetensors"
    if not path.is_file():
        training.train(name, path, **recipe)


if __name__ == "__main__":
    main()
