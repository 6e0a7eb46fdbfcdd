"""The chapter on one's own support set: one drawn from the book's data, and how often its intervals
are right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fslcore import datasets, evaluation, learners
from fslcore.datasets import Images
from fslcore.models import backbones
from fslcore.tasks import Tasks, sample_closed

from ..estimation import assess, informed
from ..estimation.calibration import METHOD


def example(dataset: str, ways: int = 5, shots: int = 5, seed: int = 0) -> tuple[Images, Images]:
    """A support drawn from an embedded data set, and the other images of its classes.

    Raises
    ------
    InputError
        As for `fslcore.datasets.load` and the sampler.
    """
    images = datasets.load(dataset)
    task = sample_closed(images.labels, tasks=2, ways=ways, shots=shots, queries=1, seed=seed)
    support, label = task.support[0], task.support_label[0]
    classes = images.labels[support[np.unique(label, return_index=True)[1]]]
    others = np.setdiff1d(np.flatnonzero(np.isin(images.labels, classes)), support)
    return tuple(_subset(images, rows, classes) for rows in (support, others))


def truth(support: Images, others: Images, chosen: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """backbone, learner and truth: accuracy on all the other images, averaged over classes; shares,
    0 to 1."""
    pixels = np.concatenate([support.images[:], others.images[:]])
    together = Images("both", pixels, np.r_[support.labels, others.labels], support.class_names)
    n, m = len(support), len(others)
    task = Tasks(
        np.arange(n)[None],
        support.labels[None],
        np.arange(n, n + m)[None],
        others.labels[None],
        len(support.class_names),
    )
    rows = []
    for backbone, learner in chosen:
        bank = backbones.features(together, backbones.load(backbone))
        record = evaluation.evaluate(learners.make(learner), bank, task)
        rows.append((backbone, learner, record.class_accuracy().mean()))
    return pd.DataFrame(rows, columns=[*METHOD, "truth"])


def record(chosen: Sequence[tuple[str, str]], level: float = 0.9) -> pd.DataFrame:
    """The coverage of the page's intervals: every data set of the episodes in turn is the unknown
    folder.

    Parameters
    ----------
    chosen : sequence of (backbone, learner)
        From `fslbook.estimation.calibration.methods`.
    level : float
        Nominal coverage.

    Returns
    -------
    DataFrame
        One row per method and left-out data set: backbone, learner, domain, episodes, coverage
        (share of intervals that contain the accuracy, percent), mean width, error and 5-fold (mean
        absolute errors; points).
    """
    rows = []
    for backbone, learner in chosen:
        table = assess.of_method(backbone, learner, informed.SIGNALS)
        for domain in table["domain"].unique():
            left_out = table["domain"] == domain
            fitting, new = (table[part].reset_index(drop=True) for part in (~left_out, left_out))
            ids = {"backbone": backbone, "learner": learner, "domain": domain}
            rows.append(ids | _judged(fitting, new, level))
    return pd.DataFrame(rows)


def _judged(fitting, new, level):
    """How the intervals of new episodes fare that are made from those of other data sets."""
    model = informed.Informed(fitting)
    scores = informed.cross_scores(fitting, fitting["domain"])
    judged = assess.judge(model, fitting, scores, new, level)
    truth = new["accuracy"].to_numpy(float)
    inside = (judged["low"] <= truth) & (truth <= judged["high"])
    shares = {
        "coverage": inside.mean(),
        "width": (judged["high"] - judged["low"]).mean(),
        "error": np.abs(judged["estimate"] - truth).mean(),
        "5-fold": np.abs(new["5-fold"] - truth).mean(),
    }
    return {
        "episodes": len(new),
        **{name: 100 * float(share) for name, share in shares.items()},
    }


def _subset(images, rows, classes):
    label = (images.labels[rows][:, None] == classes).argmax(axis=1)
    return Images(images.name, images.images[rows], label, [images.class_names[c] for c in classes])
