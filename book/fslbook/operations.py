"""Floating-point operations of networks, trainings and captions, from their shapes, and the hours that a GPU takes.

A multiplication and an addition are two operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from fslcore.catalogue import OWN
from fslcore.paths import DATA

from .catalogue import TRAINERS

if TYPE_CHECKING:
    from .training import Recipe

__all__ = ["Gpu", "in_release", "of_caption", "of_training", "of_vit", "operations", "shown_hours", "trainings"]

SLOW = ("ft", "maml", "boil")
INNER = 5  # steps of MAML and BOIL on a task
PATCHES = {"clip": 16, "clip-b32": 32, "dino": 16, "dinov2": 14, "dinov2-reg": 14}  # of ViT-B, at 224 pixels
#: Images of releases whose number no table of the papers has: of the split that is tested on, and of the base split.
RELEASED = {
    "cifar-fs": (20 * 600, 64 * 600),
    "eurosat": (27_000, 0),
    "flowers102": (8_189, 0),
    "food101": (101_000, 0),
    **{f"meta-album?test_set={i}": (40 * classes, 0) for i, classes in enumerate((1658, 1149, 1273))},
}
#: Captioners: of a vision transformer patch, width, registers, depth and side; parameters of the decoder, with its
#: cross-attention, each of which is a multiplication and an addition for a token; tokens, of all beams.
CAPTIONS = {
    "vit-gpt2": ((16, 768, 0, 12, 224), 152e6, 4 * 16),
    "blip": ((16, 768, 0, 12, 384), 138e6, 20),
    "blip-large": ((16, 1024, 0, 24, 384), 138e6, 20),
}


def in_release(dataset: str, split: str = "test") -> int | None:
    """Images of a data set of the evaluators' or FewSTAB papers: as Table S1 of the latter has them, or `RELEASED`."""
    import pandas as pd

    printed = pd.read_csv(DATA / "published" / "fewstab_tableS1.csv").set_index(["dataset", "split"])["images"]
    key = ("cub" if dataset == "cub?splits=fewstab" else dataset, split)
    if key in printed and dataset != "cub":
        return int(printed[key])
    return RELEASED.get(dataset, (0, 0))[split != "test"] or None


@cache
def trainings() -> dict[str, tuple[str, Recipe]]:
    """All networks that the papers train: by name, the paper and the recipe."""
    from .training import RECIPES
    from .training.papers import of_paper
    from .training.whole import networks

    found = {}
    for paper in TRAINERS:
        for learner, dataset, shots, network in networks(paper):
            given = {"shots": shots} if RECIPES[learner].batch == "tasks" else {}
            laid = of_paper(paper, learner, dataset, shots)[0]
            found[network] = (paper, replace(RECIPES[learner], **laid | given, dataset=dataset))
    return found


@cache
def operations(backbone: str) -> float | None:
    """Floating-point operations of a look at an image, from the network's shape; None where that is not known here."""
    name = backbone.partition(":")[0].removesuffix("-released")
    if name in PATCHES:
        return of_vit(PATCHES[name], 768, 4 if name == "dinov2-reg" else 0)
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from fslcore.models.networks import NETWORKS

    kind = next((NETWORKS[n] for n in sorted(NETWORKS, key=len, reverse=True) if name.startswith(n)), None)
    if name == OWN:
        own = trainings().get(backbone.partition(":")[2])
        kind = own and own[1].built
    if kind is None:
        return None
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        kind.build().eval()(torch.empty(1, 3, kind.side, kind.side))
    return counter.get_total_flops()


def of_vit(patch: int, width: int, registers: int = 0, depth: int = 12, side: int = 224) -> float:
    """Of a vision transformer: its patches, its layers (12 n d² + 2 n² d) and no more."""
    patches = (side // patch) ** 2
    n = patches + 1 + registers
    return 2 * (patches * 3 * patch**2 * width + depth * (12 * n * width**2 + 2 * n**2 * width))


def of_training(network: str) -> float | None:
    """Of the training of a network, all epochs and their validation; None where the images are not counted anywhere."""
    recipe = trainings()[network][1]
    ways, shots, queries = recipe.ways, recipe.shots, recipe.queries
    if recipe.batch == "tasks":
        slow = recipe.learner in SLOW  # then the support is looked at, there and back, at each step
        task = ways * ((3 * recipe.options.get("steps", INNER) if slow else 3) * shots + 3 * queries)
        looks = recipe.steps * recipe.size * task / (3 if recipe.frozen else 1)
    elif recipe.steps or (images := in_release(recipe.dataset, "train")):
        looks = 3 * (recipe.steps * recipe.size if recipe.steps else images)
        looks += looks / 3 if recipe.teacher else 0
    else:
        return None
    tested = recipe.validation * 5 * (shots + queries)
    return recipe.epochs * (looks + tested) * operations(f"{OWN}:{network}")


def of_caption(captioner: str) -> float:
    """Of one caption."""
    vision, parameters, tokens = CAPTIONS[captioner]
    return of_vit(*vision) + 2 * parameters * tokens


@dataclass(frozen=True)
class Gpu:
    """What a GPU would take: an estimate from operations.

    Attributes
    ----------
    operations : float
        Floating-point operations of all looks at images, a multiplication and an addition being two; there and back
        counts as three.
    trainings, captions : float
        The part of them that makes the networks and captions which are not there yet; the rest is that of features and
        of training on each task. Trainings count with all of their epochs.
    per_second : float
        Of them, that a GPU does.
    source : str
        Where that is from.
    uncounted : tuple of str
        Backbones whose operations are not known.
    """

    operations: float
    per_second: float
    source: str
    uncounted: tuple[str, ...] = ()
    trainings: float = 0.0
    captions: float = 0.0

    @property
    def hours(self) -> float:
        return self.operations / self.per_second / 3600

    def line(self) -> str:
        """For a person."""
        rest = f"; not counted: {', '.join(self.uncounted)}" if self.uncounted else ""
        parts = {"networks, with all epochs,": self.trainings, "captions": self.captions}
        before = [f"{what} {shown_hours(n / self.per_second / 3600)}" for what, n in parts.items() if n]
        of = f", of them {', '.join(before)}" if before else ""
        return (
            f"hours on one GPU {shown_hours(self.hours)}{of} (an estimate: {self.operations:.2g} operations at "
            f"{self.per_second / 1e12:.3g} TFLOP/s, {self.source}{rest})"
        )


def shown_hours(hours: float) -> str:
    """With as many digits as matter."""
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:,.1f}" if hours >= 1 else f"{hours:.3f}"
