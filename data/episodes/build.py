"""Signals and outcomes of the episodes that the informed estimator learns from (about an hour on one core).

    python data/episodes/build.py
    python data/episodes/build.py --part NAME    # one method on one set of classes

Each piece, one method on one set of classes, is kept, so it can be stopped and called again. At the end, and
with --stored at once, what is at hand goes into episodes.parquet.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pandas as pd
import torch

from fslbook.evaluators import episodes as drawn
from fslcore import datasets, learners, store
from fslcore.models import backbones
from fslcore.paths import replace_file
from fslcore.tasks import sample_closed

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

SEEDS = {"base": 1, "validation": 2, "novel": 3}
TRAINED = (
    ("conv4-baseline", "lr"),
    ("conv4-baseline++", "cosine"),
    ("conv4-protonet", "protonet"),
    ("conv4-r2d2", "r2d2"),
)
GENERAL = tuple(product(("efficientnet-lite0", "glyph-conv"), ("ncc", "lr")))
# Data set, split, methods, and how many episodes of 5 ways and 5 shots, and blocks of ten of mixed shapes.
PIECES = (
    ("clipart", "base", GENERAL, 600, 30),
    ("clipart", "validation", GENERAL, 600, 30),
    ("clipart", "novel", GENERAL, 600, 30),
    ("fashion", "novel", GENERAL, 600, 30),
    ("glyphs/thai", "validation", GENERAL, 600, 30),
    ("glyphs/hebrew", "novel", GENERAL, 600, 30),
    *(
        (f"coloured/{script}", "validation", TRAINED, 500, 0)
        for script in ("armenian", "cherokee", "thai")
    ),
    *(
        (f"coloured/{script}", "novel", TRAINED, 300, 0)
        for script in ("cyrillic", "hebrew", "latin")
    ),
    *((f"coloured/{script}", "novel", TRAINED, 0, 20) for script in ("hebrew", "latin")),
    *(("clipart", split, TRAINED, 300, 0) for split in SEEDS),
    ("fashion", "novel", TRAINED, 300, 0),
)


def episodes(
    dataset: str, split: str, backbone: str, learner: str, count: int, blocks: int
) -> pd.DataFrame:
    """The episodes of one piece; ``block`` is -1 for those of 5 ways and 5 shots."""
    images = datasets.load(dataset, split)
    model = backbones.load(backbone)
    bank, method = backbones.features(images, model), learners.make(learner, model)
    seed = SEEDS[split]
    parts = {}
    if count:
        parts[-1] = sample_closed(images.labels, tasks=count, skip_small_classes=True, seed=seed)
    if blocks:
        parts |= dict(enumerate(drawn.mixed_shapes(images.labels, blocks, seed=1000 * seed)))
    table = pd.concat(
        [
            drawn.episodes(bank, method, tasks, seed=seed).assign(block=block).reset_index()
            for block, tasks in parts.items()
        ]
    )
    return table.assign(dataset=dataset, split=split, backbone=backbone, learner=learner)


def inputs() -> dict:
    """All that decides the episodes: the pieces, and digests of their images, of weights, and of learners' settings."""
    models = {
        name: backbones.load(name) for name in sorted({b for piece in PIECES for b, _ in piece[2]})
    }
    learner_of = {
        method: learners.make(method[1], models[method[0]])
        for piece in PIECES
        for method in piece[2]
    }
    return {
        "pieces": [[*piece[:2], [" ".join(m) for m in piece[2]], *piece[3:]] for piece in PIECES],
        "seeds": SEEDS,
        "images": {
            f"{d} {split}": datasets.load(d, split).digest
            for d, split in dict.fromkeys(p[:2] for p in PIECES)
        },
        "backbones": {name: model.digest for name, model in models.items()},
        "learners": {
            " ".join(m): store.digest(json.dumps(learner.config(), sort_keys=True))
            for m, learner in learner_of.items()
        },
    }


def parts() -> Iterator[tuple[str, tuple]]:
    """Every method on every set of classes, by the name under which it is kept, with what `episodes` is given."""
    for dataset, split, methods, count, blocks in PIECES:
        for backbone, learner in methods:
            name = f"{dataset}-{split}-{backbone}-{learner}-{count}-{blocks}".replace("/", "-")
            yield name, (dataset, split, backbone, learner, count, blocks)


def kept(name: str, piece: tuple, stored: bool = False) -> Path:
    """Where a piece of these images, weights and settings is kept; computed if it is missing, unless ``stored``."""
    dataset, split, backbone, learner, *_ = piece
    model = backbones.load(backbone)
    settings = json.dumps(learners.make(learner, model).config(), sort_keys=True)
    made_of = store.digest(" ".join([datasets.load(dataset, split).digest, model.digest, settings]))
    path = store.path("episodes", f"{name}-{made_of[:12]}.parquet")
    if not path.is_file() and not stored:
        replace_file(path, episodes(*piece).to_parquet)
        print(name, flush=True)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--stored", action="store_true", help="gather what is at hand, compute nothing"
    )
    _build.part_option(parser)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.part:
        return kept(chosen.part, _build.part_of(parser, parts(), chosen.part))
    paths = [kept(name, piece, chosen.stored) for name, piece in parts()]
    table = pd.concat(
        [pd.read_parquet(path) for path in paths if path.is_file()], ignore_index=True
    )
    floats = table.select_dtypes("float64").columns
    table[floats] = table[floats].astype("float32")
    ids = ["dataset", "split", "backbone", "learner"]
    table[ids] = table[ids].astype("category")
    replace_file(
        HERE / "episodes.parquet",
        lambda part: table.to_parquet(part, index=False, compression="zstd"),
    )
    _build.bind(HERE, "*.parquet", inputs())
    print(f"episodes.parquet: {len(table)} episodes")


if __name__ == "__main__":
    main()
