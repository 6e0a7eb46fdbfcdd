"""Biased tasks for the lab "Lay a trap": pictures, two kinds of queries on one support, and the
learners' answers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping

import numpy as np
from PIL import Image

from fslcore import evaluation
from fslcore.evaluation import Method
from fslcore.tasks import Tasks

from .. import attributes
from . import known_truth, tables

__all__ = ["html", "learners", "traps"]

SIDE, QUALITY = 48, 55  # of the pictures: pixels, and WebP's quality
WORDS = (
    "Here one chooses a clue and sees which learner falls for it. That takes JavaScript; the "
    "pictures above need none."
)
DIGITS = "0123456789abcdefghijklmnopqrstuv"
SCRIPTS = ("labs.js", "trap.js")
STYLES = ("labs.css", "report.css")
TRAININGS = {0.0: "any colour", 1.0: "colour told the class"}  # of the letters in training


def learners() -> dict[str, Method]:
    """Learners of known weakness, by displayed name: two trainings each, with random or
    class-specific ink."""
    networks = known_truth.networks(TRAININGS)
    return {
        f"{row.learner}, {TRAININGS[row.bias]}": Method(row.backbone, row.name)
        for row in networks[networks["learner"] != "ANIL"].itertuples()  # which trains on each task
    }


def traps(
    dataset: str,
    methods: Mapping[str, Method],
    captioner: str = "pixels",
    *,
    choices: int = 6,
    shown: int = 3,
    tasks: int = 100,
    shots: int = 5,
    queries: int = 15,
    seed: int = 0,
) -> dict:
    """One biased task for each of several attributes, with random queries beside the biased ones.

    Parameters
    ----------
    methods : mapping of Method
        Which learners answer, by their names for readers.
    choices : int
        Attributes at most: those that are most often the clue of a class among the first ``tasks``
        biased tasks. The task of each is the first that has it and no attribute before it has.
    shown : int
        Queries of a class and kind that are pictured, of all ``queries``.

    Returns
    -------
    dict
        Of plain values. ``tasks``: attribute, at (the class with it), classes, clues, support and
        query (by kind; of each class the numbers of its pictures), shows (by kind, of each query
        the classes whose clues it has: a base-32 digit, whose bit k stands for class k) and answers
        (by kind, of each learner: a digit for each query, the class that it says; class by class).
        ``pictures``: WebP as data addresses.
    """
    images = tables.images_of(dataset)
    drawn, attribute = tables.draw(
        dataset, captioner, tasks=tasks, shots=shots, queries=queries, seed=seed
    )
    runs = {name: evaluation.ready(images, *method) for name, method in methods.items()}
    known, counts = attributes.of(images, captioner), np.bincount(attribute.ravel())
    chosen: dict[int, int] = {}
    for a in np.argsort(-counts, kind="stable"):
        free = [t for t in np.flatnonzero((attribute == a).any(axis=1)) if t not in chosen.values()]
        if free and len(chosen) < choices:
            chosen[int(a)] = int(free[0])
    biased = drawn[np.array([*chosen.values()])]
    kinds = {"random": _random_queries(biased, images.classes, queries, seed), "biased": biased}
    said = {
        kind: {
            name: np.concatenate(
                [s.argmax(dim=-1).numpy() for s in evaluation.scores(run.learner, run.bank(), of)]
            )
            for name, run in runs.items()
        }
        for kind, of in kinds.items()
    }
    pictures: dict[int, int] = {}  # image -> its number

    def numbers(of: np.ndarray, most: int) -> list[list[int]]:
        return [
            [pictures.setdefault(int(i), len(pictures)) for i in row[:most]]
            for row in of.reshape(biased.ways, -1)
        ]

    made = []
    for t, (a, source) in enumerate(chosen.items()):
        made.append(
            {
                "attribute": known.names[a],
                "at": int(np.flatnonzero(attribute[source] == a)[0]),
                "classes": [
                    _short(images.class_names[images.labels[i]]) for i in biased.support[t, ::shots]
                ],
                "clues": [known.names[i] for i in attribute[source]],
                "support": numbers(biased.support[t], shots),
                "query": {kind: numbers(of.query[t], shown) for kind, of in kinds.items()},
                "shows": {
                    kind: _shows(known.has[of.query[t]][:, attribute[source]])
                    for kind, of in kinds.items()
                },
                "answers": {
                    kind: ["".join(map(str, guess[t])) for guess in of.values()]
                    for kind, of in said.items()
                },
            }
        )
    return {
        "dataset": dataset,
        "shots": shots,
        "queries": queries,
        "learners": [*runs],
        "tasks": made,
        "pictures": [_picture(images.images[[i]][0]) for i in pictures],
    }


def _random_queries(tasks, labels, queries, seed):
    """The same supports with queries drawn from all other images of their classes."""
    rng, shots = np.random.default_rng(seed), tasks.support.shape[1] // tasks.ways
    query = np.empty_like(tasks.query)
    for t, support in enumerate(tasks.support):
        for k, own in enumerate(support.reshape(tasks.ways, shots)):
            left = np.setdiff1d(np.flatnonzero(labels == labels[own[0]]), own)
            query[t, k * queries : (k + 1) * queries] = rng.choice(left, queries, replace=False)
    return Tasks(
        tasks.support,
        tasks.support_label,
        query,
        tasks.query_label,
        tasks.ways,
        {"random queries": seed},
    )


def _shows(has):
    """(queries, K) truth values as a letter a query."""
    return "".join(DIGITS[int(bits @ (1 << np.arange(has.shape[1])))] for bits in has)


def _short(name):
    return name.split("/")[-1].split(" ")[-1] if "U+" in name else name.split("/")[-1]


def _picture(pixels):
    out = io.BytesIO()
    Image.fromarray(np.asarray(pixels).squeeze()).resize(
        (SIDE, SIDE), Image.Resampling.LANCZOS
    ).save(out, "WEBP", quality=QUALITY, method=6)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()


def html(sets: dict[str, dict]) -> str:
    """The lab's place in a page: what readers without scripts see, and the data, which fetch
    nothing.

    Parameters
    ----------
    sets : dict
        By a data set's name for readers, what `traps` gives.
    """
    data = json.dumps(sets, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return "\n".join(
        [
            *(f'<link rel="stylesheet" href="_static/labs/{name}">' for name in STYLES),
            f'<div class="fsl-lab" data-lab="trap"><p>{WORDS}</p></div>',
            f'<script type="application/json" id="fsl-trap-data">{data}</script>',
            *(f'<script src="_static/labs/{name}" defer></script>' for name in SCRIPTS),
        ]
    )
