"""Shared by the audits of all papers: claims are data, and a check is a function named after its claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from fslcore.stats import Interval, Target

from . import published
from .catalogue import LEARNER_TITLES

__all__ = [
    "DATASETS",
    "VERDICTS",
    "Checks",
    "all_statements",
    "as_printed",
    "count",
    "less",
    "named",
    "share",
    "shown",
    "tally",
    "tally_of_papers",
    "worded",
]

VERDICTS = {True: "holds", False: "differs", None: "cannot be checked here"}

#: The papers' data sets by their names in ``data/published``.
DATASETS = {
    "miniimagenet": "miniImageNet",
    "tieredimagenet": "tieredImageNet",
    "cub": "CUB",
    "cifar-fs": "CIFAR-FS",
    "meta-album": "Meta-Album",
}
#: Those of OOPS, and its backbones.
OOPS_DATASETS = {
    "aircraft": "Aircraft",
    "cub": "CUB",
    "dtd": "DTD",
    "fungi": "Fungi",
    "mscoco": "MSCOCO",
    "omniglot": "Omniglot",
    "quickdraw": "Quickdraw",
    "traffic-signs": "Traffic Signs",
    "vgg-flower": "VGG Flower",
}
OOPS_BACKBONES = {"clip": "CLIP", "dino": "DINO", "dinov2": "DINOv2"}
#: FewSTAB's captioners by theirs.
CAPTIONERS = {"vit-gpt2": "ViT-GPT2", "blip": "BLIP"}
NAMES = (
    DATASETS | CAPTIONERS | {name: title for name, title in LEARNER_TITLES.items() if name != "can"}
)
NAMED = re.compile(
    rf"(?<![\w-])({'|'.join(map(re.escape, sorted(NAMES, key=len, reverse=True)))})(?![\w-])"
)
LEARNER = "|".join(map(re.escape, [*LEARNER_TITLES.values(), "can"]))
SETTING = re.compile(rf"({'|'.join(DATASETS.values())}) ([15]) ({LEARNER})(?![\w-])")


class Checks:
    """The checks of one paper; used as a decorator it adds a check.

    The name of a check is the claim's id in ``data/published/PAPER_claims.csv``, with underscores for hyphens and one
    in front. A check takes the paper's number, as text, and the evidence. It returns what the evidence gives, in
    words, and whether the claim holds: True, False, or None if the available evidence cannot decide.

    Parameters
    ----------
    paper : str
        ``oops``, ``evaluators`` or ``fewstab``.
    repeats : mapping
        Id of a claim → id of an earlier claim that asks the same question. The two count once (`tally`); a claim
        without a check of its own uses that of the other.
    """

    def __init__(self, paper: str, repeats: Mapping[str, str] | None = None):
        self.paper, self.repeats = paper, dict(repeats or {})
        #: The checks by the id of their claim.
        self.by_claim: dict[str, Callable] = {}

    def __call__(self, check: Callable) -> Callable:
        self.by_claim[check.__name__.strip("_").replace("_", "-")] = check
        return check

    def run(self, evidence: object) -> pd.DataFrame:
        """Every claim with what the evidence gives.

        Returns
        -------
        DataFrame
            By id, in the paper's order: section, claim, value and unit as in the paper; gives, what the evidence gives;
            verdict, one of `VERDICTS`; question, the id of the claim with which it counts.
        """
        claims = published.claims(self.paper)
        question = [self.repeats.get(name, name) for name in claims.index]
        checks = [
            self.by_claim.get(name) or self.by_claim[first]
            for name, first in zip(claims.index, question)
        ]
        results = [check(value, evidence) for check, value in zip(checks, claims["value"])]
        verdicts = [VERDICTS[holds] for _, holds in results]
        return claims.assign(gives=[g for g, _ in results], verdict=verdicts, question=question)


def share(truths: pd.Series, things: str = "") -> tuple[str, bool]:
    """'8 of 8 cells', and whether these are all."""
    return f"{int(truths.sum())} of {len(truths)} {things}".strip(), bool(truths.all())


def count(number: int, printed: str) -> tuple[str, bool]:
    """The number, and whether it equals the number claimed."""
    return str(int(number)), int(number) == int(printed)


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Of several statements that ask the same question, only the first in the paper."""
    return rows[~rows["question"].duplicated()]


def tally(rows: pd.DataFrame) -> pd.DataFrame:
    """Number of statements by verdict. Of several that ask the same question, only the first in the paper counts."""
    return (
        _counted(rows)["verdict"]
        .value_counts()
        .reindex(VERDICTS.values(), fill_value=0)
        .rename("statements")
        .to_frame()
    )


def tally_of_papers(rows_of: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Number of statements by verdict (rows) and paper, and in all (columns), as `tally` counts them."""
    counts = pd.DataFrame({paper: tally(rows)["statements"] for paper, rows in rows_of.items()})
    return counts.assign(all=counts.sum(axis=1)).rename_axis(index="verdict", columns=None)


def worded(text: str) -> str:
    """Write names of data sets and learners as the papers do: 'CUB 5-shot RFS' for 'cub 5 rfs'.

    The learner CAN is distinguished from the verb by its context: data set and shots before it, or a number after.
    """

    def setting(match: re.Match) -> str:
        dataset, shots, learner = match.groups()
        return f"{dataset} {shots}-shot {LEARNER_TITLES.get(learner, learner)}"

    text = NAMED.sub(lambda match: NAMES[match[1]], text)
    return re.sub(r"\bcan(?= \d)", LEARNER_TITLES["can"], SETTING.sub(setting, text))


def named(table: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Rename learners, data sets and captioners, in the index levels of that name, as the papers write them."""
    for level, names in (
        ("learner", LEARNER_TITLES),
        ("dataset", DATASETS),
        ("captioner", CAPTIONERS),
    ):
        if level in table.index.names:
            table = table.rename(index=names, level=level)
        if table.ndim > 1 and level in table.columns.names:
            table = table.rename(columns=names, level=level)
    return table


def as_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Data sets and backbones of OOPS in rows and columns as that paper writes them, and images with commas."""

    def written(label):
        if not isinstance(label, str):
            return label
        first, *words = label.split(" ")
        return OOPS_DATASETS.get(label) or " ".join([OOPS_BACKBONES.get(first, first), *words])

    table = table.rename(index=written, columns=written)
    if "n_images" in table.index.names:
        table = table.rename(index="{:,}".format, level="n_images").rename_axis(
            index={"n_images": "images"}
        )
    return table


def less(first: Interval, second: Interval) -> Interval:
    """The difference of two printed means, taken as independent."""
    half_width = np.hypot(first.half_width, second.half_width)
    difference = first.estimate - second.estimate
    return Interval(
        estimate=difference,
        half_width=half_width,
        confidence_level=first.confidence_level,
        n=first.n,
        target=Target.NEW_TASKS,
        is_difference=True,
    )


def all_statements(rows_of: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every statement of several papers that `tally` counts, for readers: by paper, those that differ first."""
    order = [VERDICTS[False], VERDICTS[True], VERDICTS[None]]
    tables = {}
    for paper, rows in rows_of.items():
        parts = [shown(_counted(rows), verdict).assign(verdict=verdict) for verdict in order]
        tables[paper] = pd.concat(parts)
    return pd.concat(tables, names=["paper"])


def shown(rows: pd.DataFrame, verdict: str) -> pd.DataFrame:
    """The statements with one verdict, as a table for readers."""
    part = rows[rows["verdict"] == verdict]
    says = part["claim"] + ": " + part["value"] + part["unit"].map({"percent": " %"}).fillna("")
    table = pd.DataFrame(
        {
            "§": part["section"],
            "the paper says": says,
            "the evidence gives": part["gives"].map(worded),
        }
    )
    return table.set_index("§")
