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

from fslbook import training
from fslbook.fewstab.tables import RECENT, REMEDIED
from fslbook.training import recipes
from fslcore import datasets, evaluation
from fslcore.catalogue import reads_images
from fslcore.stats import closed_task_interval

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

# On frozen features, each plain and with the adjustment of Yue et al. (2020): those of FewSTAB's Table S10.
FROZEN = tuple(f"{name}{adjustment}" for name in REMEDIED.values() for adjustment in ("", "-ifsl"))
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
# On icons most learn faster than on glyphs, for which the recipes were made.
EPOCHS = {
    **{"baseline": 8, "baseline++": 8, "rfs": 6, "protonet": 6, "r2d2": 6, "anil": 5},
    **dict.fromkeys(("dn4", "can", "renet"), 4),
    **dict.fromkeys(("maml", "boil"), 8),
    **dict.fromkeys(RECENT, 6),
}
# Trained on 1-shot tasks too, on icons. BOIL leaves the neighbourhood of chance late.
ONE_SHOT = ("protonet", "r2d2", "dn4", "can", "renet", "maml", "anil", "boil", "leo", *FROZEN)
BOIL = 12  # epochs of its 1-shot training
COLOURED = (
    "baseline",
    "baseline++",
    "protonet",
    "r2d2",
    "maml",
)  # trained on coloured glyphs as well
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
    for dataset, name, shots in methods():
        backbone = named(dataset, name, shots)
        path = HERE / f"{backbone}.safetensors"
        if not path.is_file():
            continue
        with safe_open(path, "pt") as file:
            metadata = json.loads(file.metadata()["training"])
        curve = pd.read_csv(path.with_suffix(".csv"))
        best = curve.loc[curve["validation"].idxmax()]
        recipe = metadata["recipe"]
        kinds = {
            "classes": "images",
            "views": "pairs of views",
            "tasks": "tasks" if recipe["size"] > 1 else "task",
        }
        row = {
            "checkpoint": f"`{path.name}`",
            "learner": f"`{recipe['learner']}`",
            "batch": f"{recipe['size']} {kinds[recipe['batch']]} a step",
            "shots": shots,
            "best epoch": f"{best['epoch']:.0f} of {recipe['epochs']}",
            "validation": f"{best['validation']:.1f}",
        }
        for column, tested in (("novel classes", dataset), ("clip art", "clipart")):
            count = IMAGE_TASKS if reads_images(recipe["learner"]) else TASKS
            result = evaluation.evaluate_setting(
                tested,
                f"{backbone}:{path}",
                recipe["learner"],
                "closed",
                shots=shots,
                tasks=count,
                progress=True,
            )
            interval = closed_task_interval(result.accuracy)
            row[column] = f"{interval.estimate:.1f} ± {interval.half_width:.1f}"
        rows.append(row)
    table = pd.DataFrame(rows)
    markdown = table.to_markdown(index=False)
    write_card(markdown)
    for folder in (HERE, HERE / "bias"):
        files = sorted(folder.glob("*.safetensors"))
        digests = (
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
        )
        (folder / "SHA256SUMS").write_text("".join(digests))
    print(markdown)


def write_card(table: str) -> None:
    """The card for people, with the numbers that it names."""
    numbers: dict = {"table": table, "tasks": TASKS, "image_tasks": IMAGE_TASKS}
    for dataset in ("coloured", "icons", "glyphs"):
        base = datasets.load(dataset, split="base")
        numbers |= {
            f"{dataset}_classes": len(base.class_names),
            f"{dataset}_images": f"{len(base):,}",
        }
    numbers["glyph_conv"] = pd.read_csv(HERE / "glyph-conv.csv")["validation"].max()
    (HERE / "README.md").write_text((HERE / "card.tmpl").read_text().format(**numbers))


def methods() -> list[tuple[str, str, int]]:
    """Data sets, learners, and the shots of the tasks they are trained on."""
    return [
        *(("coloured", name, 5) for name in COLOURED),
        *(("icons", name, 5) for name in LEARNERS),
        *(("icons", name, 1) for name in ONE_SHOT),
    ]


def named(dataset: str, name: str, shots: int) -> str:
    """The network's name: conv4-protonet, conv4-icons-1shot-protonet."""
    prefix = "conv4-icons-" if dataset == "icons" else "conv4-"
    return f"{prefix}{recipes.with_shots(name, shots)}"


def parts() -> Iterator[tuple[str, dict]]:
    """Every network: its file, without the ending, and what `fslbook.training.train` is given."""
    # Short trainings with ink tied to class by a known share: bias/LEARNER-BIAS-SEED.safetensors.
    for seed, (name, short), bias in product(SEEDS, SHORT.items(), BIASES):
        dataset = f"coloured?bias={bias:g}" if bias > 0 else "coloured"
        yield (
            f"bias/{name}-{bias:g}-{seed}",
            dict(name=name, seed=seed, network="conv4-32", dataset=dataset, **short),
        )
    for dataset, name, shots in methods():
        recipe = {} if dataset == "coloured" else on_icons(name, shots)
        yield named(dataset, name, shots), dict(name=name, **recipe)


def on_icons(name: str, shots: int) -> dict:
    """What `fslbook.training.train` is given for a network trained on icons."""
    usual = training.RECIPES[name]
    others = {
        option: named("icons", "baseline", 5)
        for option in ("frozen", "teacher")
        if getattr(usual, option)
    }
    epochs = BOIL if (name, shots) == ("boil", 1) else EPOCHS.get(name)
    return dict(dataset="icons", epochs=epochs, **others) | (dict(shots=1) if shots == 1 else {})


def train(backbone: str, name: str, **recipe) -> None:
    """Train a network that is missing."""
    path = HERE / f"{backbone}.safetensors"
    if not path.is_file():
        training.train(name, path, **recipe)


if __name__ == "__main__":
    main()
