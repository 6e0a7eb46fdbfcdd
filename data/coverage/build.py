"""Run the coverage studies whose results ship with the book (about an hour on one core).

    python data/coverage/build.py
    python data/coverage/build.py --part NAME    # one round of one regime

Every regime of fslbook.beyond.worlds in rounds; each round of a regime is kept, so it can be stopped and called
again. At the end, and with --stored at once, what is at hand goes into replicates.parquet, many.parquet,
population.parquet, gaps.parquet (of fslbook.beyond.coverage_gaps), plans.parquet, real.parquet and novel.parquet (of
fslbook.beyond.held_out) and supports.parquet (of fslbook.beyond.crossed); each alone with --only.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
import torch

from fslbook.beyond import coverage, coverage_gaps, crossed, held_out
from fslbook.beyond.worlds import HARDER, MANY, REGIMES, WORLD
from fslbook.fewstab import tables
from fslcore import datasets, learners, store
from fslcore.models import backbones
from fslcore.paths import replace_file

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

ROUNDS, HARDER_ROUNDS = 2, 3
SHAPE = {"images": (5, 20), "classes": (100, 1)}  # worlds and test sets of each, a round
METHODS = 6  # equally good ones, compared on test sets of `worlds.MANY`
MANY_ROUNDS, STUDIES = 3, 50
# Large data sets to draw test sets from: data set, backbone, classes, images of each, shots.
POPULATIONS = (
    ("glyphs/latin", "efficientnet-lite0", 20, 40, 5),
    ("glyphs/latin", "glyph-conv", 20, 40, 1),
)
POPULATION_SHAPE = {"images": (8, 25), "classes": (200, 1)}
GAP_ROUNDS = 8
GAP_SHAPE = {"images": (1, 20), "classes": (20, 1)}
PLAN_ROUNDS, LOOPS = 4, 50
NOVEL = 200  # random splits of the novel icons, for learners trained on the base classes
REAL = {
    "efficientnet-lite0": 400,
    "glyph-conv": 200,
}  # random splits of icons; neither was trained on them
CROSSED, CROSSED_SHAPE = (
    800,
    (8, 50),
)  # studies of a simulated design; worlds and studies of a protocol on images

Part = tuple[str, Callable[[], pd.DataFrame]]


def seed(number: int, new: str) -> int:
    """Of the random streams of a regime, whose number is that in REGIMES + HARDER."""
    return 2 * number + (new == "classes")


def replicates() -> Iterator[Part]:
    """Plain regimes first, and what is harder after them, round by round."""
    for part in range(max(ROUNDS, HARDER_ROUNDS)):
        for number, regime in enumerate(REGIMES + HARDER):
            if part < (ROUNDS if number < len(REGIMES) else HARDER_ROUNDS):
                for new in regime.new:
                    worlds, sets = SHAPE[new]
                    streams = dict(seed=seed(number, new), first=part * worlds)
                    yield (
                        f"{part}-{number}-{new}",
                        partial(coverage.replicates, regime, new, worlds, sets, **streams),
                    )


def many() -> Iterator[Part]:
    for part in range(MANY_ROUNDS):
        for new in SHAPE:
            streams = dict(seed=seed(0, new), first=part * STUDIES)
            yield (
                f"{part}-{new}",
                partial(coverage.many_methods, MANY, new, METHODS, STUDIES, **streams),
            )


def population() -> Iterator[Part]:
    for dataset, backbone, classes, images, shots in POPULATIONS:
        for new, (worlds, sets) in POPULATION_SHAPE.items():
            facts = dict(classes=classes, images=images, shots=shots)

            def made(
                dataset=dataset, backbone=backbone, new=new, worlds=worlds, sets=sets, facts=facts
            ):
                bank = backbones.features(datasets.load(dataset), backbones.load(backbone))
                table = coverage.from_population(bank, new, worlds, sets, **facts)
                return table.assign(dataset=dataset, backbone=backbone, **facts)

            yield f"{dataset}-{backbone}-{shots}-{new}".replace("/", "-"), made


def gaps() -> Iterator[Part]:
    for part in range(GAP_ROUNDS):
        for new, (worlds, sets) in GAP_SHAPE.items():
            streams = dict(seed=int(new == "classes"), first=part * worlds)
            yield (
                f"{part}-{new}",
                partial(coverage_gaps.replicates, WORLD, new, worlds, sets, **streams),
            )


def plans() -> Iterator[Part]:
    for part in range(PLAN_ROUNDS):
        for number, kind in enumerate(coverage.PLANNED):
            yield (
                f"{part}-{number}",
                partial(coverage.plan_loops, *kind, LOOPS, seed=[number, part]),
            )


def real() -> Iterator[Part]:
    for backbone, count in REAL.items():
        for new in held_out.NEW:
            for shots in held_out.QUERIES:

                def made(backbone=backbone, new=new, shots=shots, count=count):
                    return held_out.splits(*held_out.icons(backbone), new, shots, count).assign(
                        backbone=backbone
                    )

                yield f"{backbone}-{new}-{shots}", made


def novel() -> Iterator[Part]:
    for name, shots in product(held_out.LEARNERS, held_out.QUERIES):
        yield f"{name}-{shots}", partial(trained_on_icons, name, shots)


def trained_on_icons(name: str, shots: int) -> pd.DataFrame:
    """Splits of the novel classes, for a learner that was trained on the base classes with as many shots."""
    network = backbones.load(tables.method(name, shots).backbone)
    bank, designers = held_out.icons(network.name, ["novel"])
    learner = learners.make(name, network)
    splits = held_out.splits(
        bank, designers, "classes", shots, NOVEL, tested=held_out.NOVEL, learner=learner
    )
    return splits.assign(backbone=name)


def supports() -> Iterator[Part]:
    for number, design in enumerate(crossed.DESIGNS):
        yield f"designs-{number}", partial(crossed.simulated, design, CROSSED, seed=number)
    for number, kind in enumerate(crossed.PROTOCOLS):
        yield f"protocols-{number}", partial(crossed.measured, kind, *CROSSED_SHAPE, seed=number)


STUDIED = {
    study.__name__: study
    for study in (replicates, many, population, gaps, plans, real, novel, supports)
}


def parts() -> Iterator[Part]:
    """Of all studies, each by the name under which it is kept."""
    return (
        (f"{name}-{key}", study_part)
        for name, study in STUDIED.items()
        for key, study_part in study()
    )


def kept(part: str, make: Callable[[], pd.DataFrame] | None) -> Path:
    """Where a part is kept, those of images by these and weights too; computed if missing, but for None."""
    of_images = {
        "population": "populations",
        "real": "icons",
        "novel": "novel",
        "supports": "supports",
    }
    images = of_images.get(part.partition("-")[0])
    suffix = f"-{store.digest(json.dumps(inputs()[images]))[:12]}" if images else ""
    path = store.path("coverage", f"{part}{suffix}.parquet")
    if not path.is_file() and make:
        replace_file(path, make().to_parquet)
        print(part, flush=True)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--stored", action="store_true", help="gather what is at hand, compute nothing"
    )
    parser.add_argument("--only", choices=list(STUDIED), help="one of the studies")
    _build.part_option(parser)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.part:
        return kept(chosen.part, _build.part_of(parser, parts(), chosen.part))
    for name, study in STUDIED.items():
        if chosen.only in (None, name):
            gather(name, study(), chosen.stored)
    _build.bind(HERE, "*.parquet", inputs())


def inputs() -> dict:
    """All that decides the studies: regimes and sizes, and digests of the images and weights of the populations."""
    sizes = [
        SHAPE,
        METHODS,
        STUDIES,
        POPULATION_SHAPE,
        GAP_SHAPE,
        LOOPS,
        REAL,
        CROSSED,
        CROSSED_SHAPE,
    ]
    return {
        "worlds": [
            repr(regime)
            for regime in (*REGIMES, *HARDER, MANY, WORLD, *coverage.PLANNED, *crossed.DESIGNS)
        ],
        "sizes": repr(sizes),
        "populations": {
            " ".join(map(str, population)): [
                datasets.load(population[0]).digest,
                backbones.load(population[1]).digest,
            ]
            for population in POPULATIONS
        },
        "supports": {
            repr(kind): [datasets.load(kind.dataset).digest, backbones.load(kind.backbone).digest]
            for kind in crossed.PROTOCOLS
        },
        "icons": [
            *(datasets.load("icons", split=split).digest for split in held_out.SPLITS),
            *(backbones.load(name).digest for name in REAL),
        ],
        "novel": [
            NOVEL,
            datasets.load("icons").digest,
            *(
                backbones.load(tables.method(*key).backbone).digest
                for key in product(held_out.LEARNERS, held_out.QUERIES)
            ),
        ],
    }


def gather(name: str, parts: Iterator[Part], only_stored: bool) -> None:
    """Write the table of a study from its parts, each of which is kept."""
    tables = []
    for key, make in parts:
        path = kept(f"{name}-{key}", None if only_stored else make)
        if path.is_file():
            tables.append(pd.read_parquet(path))
    table = pd.concat(tables, ignore_index=True)
    kinds = {"float64": "float32", "object": "category", "int64": "int32"}
    table = table.astype({c: kinds[str(t)] for c, t in table.dtypes.items() if str(t) in kinds})
    replace_file(
        HERE / f"{name}.parquet",
        lambda path: table.to_parquet(path, index=False, compression="zstd"),
    )
    print(f"{name}: {len(table)} rows")


if __name__ == "__main__":
    main()
