"""Run the coverage studies whose results ship with the book (about an hour and three quarters on one core).

    python data/coverage/build.py

Every regime of fslbook.beyond.coverage in rounds; each round of a regime is kept, so it can be stopped and called
again. At the end, and with --stored at once, what is at hand goes into replicates.parquet, population.parquet and
gaps.parquet (of fslbook.beyond.coverage_gaps; ten minutes, alone with --only gaps).
"""

import argparse
from pathlib import Path

import pandas as pd
import torch

from fslbook.beyond import coverage, coverage_gaps
from fslbook.beyond.worlds import REGIMES, WORLD
from fslcore import datasets, store
from fslcore.models import backbones
from fslcore.paths import replace_file

HERE = Path(__file__).resolve().parent
ROUNDS = 5
SHAPE = {"images": (5, 20), "classes": (100, 1)}  # worlds and test sets of each, a round
# Large data sets to draw test sets from: data set, backbone, classes, images of each, shots.
POPULATIONS = (("glyphs/latin", "efficientnet-lite0", 20, 40, 5), ("glyphs/latin", "glyph-conv", 20, 40, 1))
POPULATION_SHAPE = {"images": (10, 25), "classes": (250, 1)}
GAP_ROUNDS = 8
GAP_SHAPE = {"images": (1, 20), "classes": (20, 1)}


def seed(number: int, new: str) -> int:
    """Of the random streams of a regime."""
    return 2 * number + (new == "classes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stored", action="store_true", help="gather what is at hand, compute nothing")
    parser.add_argument("--only", choices=["means", "gaps"], help="one of the two studies")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.only != "gaps":
        means(chosen.stored)
    if chosen.only != "means":
        gaps(chosen.stored)


def gaps(only_stored: bool) -> None:
    parts = []
    for part in range(GAP_ROUNDS):
        for new, (worlds, sets) in GAP_SHAPE.items():
            path = store.path("coverage", f"gaps-{new}-{part}.parquet")
            if not path.is_file() and not only_stored:
                table = coverage_gaps.replicates(
                    WORLD, new, worlds, sets, seed=int(new == "classes"), first=part * worlds
                )
                replace_file(path, table.to_parquet)
                print(part, new, flush=True)
            if path.is_file():
                parts.append(pd.read_parquet(path))
    write(parts, "gaps.parquet")


def means(only_stored: bool) -> None:
    parts = []
    for part in range(ROUNDS):
        for number, regime in enumerate(REGIMES):
            for new, (worlds, sets) in SHAPE.items():
                path = store.path("coverage", f"{number}-{new}-{part}.parquet")
                if not path.is_file() and not only_stored:
                    table = coverage.replicates(regime, new, worlds, sets, seed=seed(number, new), first=part * worlds)
                    replace_file(path, table.to_parquet)
                    print(part, regime, new, flush=True)
                if path.is_file():
                    parts.append(pd.read_parquet(path))
    write(parts, "replicates.parquet")
    parts = []
    for dataset, backbone, classes, images, shots in POPULATIONS:
        for new, (worlds, sets) in POPULATION_SHAPE.items():
            path = store.path("coverage", f"{dataset}-{backbone}-{shots}-{new}.parquet".replace("/", "-"))
            if not path.is_file() and not only_stored:
                bank = backbones.features(datasets.load(dataset), backbones.load(backbone))
                shape = dict(classes=classes, images=images, shots=shots)
                table = coverage.from_population(bank, new, worlds, sets, **shape)
                table = table.assign(dataset=dataset, backbone=backbone, **shape)
                replace_file(path, table.to_parquet)
                print(dataset, backbone, new, flush=True)
            if path.is_file():
                parts.append(pd.read_parquet(path))
    write(parts, "population.parquet")


def write(parts: list[pd.DataFrame], name: str) -> None:
    table = pd.concat(parts, ignore_index=True)
    floats = table.select_dtypes("float64").columns.difference(["spread", "alike"])  # those name the regime
    table[floats] = table[floats].astype("float32")
    replace_file(HERE / name, lambda path: table.to_parquet(path, index=False, compression="zstd"))
    print(f"{name}: {len(table)} test sets")


if __name__ == "__main__":
    main()
