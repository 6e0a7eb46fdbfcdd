"""Biased tasks for the lab "Lay a trap": pictures, two kinds of queries on one support, and the
learners' answers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from fslcore import evaluation
from fslcore.datasets import Images
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
    seed: int = 0,
    **shape: int,
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
    shape = {"shots": 5, "queries": 15} | shape
    images = tables.images_of(dataset)
    drawn, clues = tables.draw(dataset, captioner, tasks=tasks, seed=seed, **shape)
    chosen = _task_of_each(clues, choices)
    biased = drawn[np.array([*chosen.values()])]
    page = _Page(images, attributes.of(images, captioner), shape["shots"], shown)
    described = page.tasks(
        {
            "random": _random_queries(biased, images.classes, shape["queries"], seed),
            "biased": biased,
        },
        clues,
        chosen,
        [evaluation.ready(images, *method) for method in methods.values()],
    )
    return {
        "dataset": dataset,
        **shape,
        "learners": [*methods],
        "tasks": described,
        "pictures": page.pictures(),
    }


def _task_of_each(clues, most):
    """By attribute, the frequent ones first, the first task that has it and is not taken yet."""
    chosen = {}
    for attribute in np.argsort(-np.bincount(clues.ravel()), kind="stable").tolist():
        having = np.flatnonzero((clues == attribute).any(axis=1)).tolist()
        free = [task for task in having if task not in chosen.values()]
        if free and len(chosen) < most:
            chosen[attribute] = free[0]
    return chosen


@dataclass
class _Page:
    """Tasks as plain values; their pictures are numbered in the order in which they appear."""

    images: Images
    described: attributes.Attributes
    shots: int
    shown: int
    numbers: dict[int, int] = field(default_factory=dict)

    def tasks(self, kinds, clues, chosen, runs):
        """The tasks of `traps`; ``kinds`` are of queries, and ``chosen`` is by attribute."""
        answers = {kind: [_classes(run, tasks) for run in runs] for kind, tasks in kinds.items()}
        rows = []
        for t, (attribute, source) in enumerate(chosen.items()):
            task = {kind: tasks[t : t + 1] for kind, tasks in kinds.items()}
            row = {
                "attribute": self.described.names[attribute],
                "at": int(np.flatnonzero(clues[source] == attribute)[0]),
                **self._task(task, clues[source]),
                "answers": {},
            }
            for kind, guesses in answers.items():
                row["answers"][kind] = ["".join(map(str, guess[t])) for guess in guesses]
            rows.append(row)
        return rows

    def _task(self, kinds, clues):
        support, has = kinds["biased"].support[0], self.described.has
        labels = self.images.labels[support[:: self.shots]]
        queries = {kind: task.query[0] for kind, task in kinds.items()}
        row = {
            "classes": [_short(self.images.class_names[label]) for label in labels],
            "clues": [self.described.names[clue] for clue in clues],
            "support": self._numbered(support.reshape(len(labels), -1)),
        }
        row["query"] = {
            kind: self._numbered(query.reshape(len(labels), -1)[:, : self.shown])
            for kind, query in queries.items()
        }
        row["shows"] = {kind: _shows(has[query][:, clues]) for kind, query in queries.items()}
        return row

    def _numbered(self, images):
        rows = []
        for row in images.tolist():
            rows.append([self.numbers.setdefault(image, len(self.numbers)) for image in row])
        return rows

    def pictures(self):
        return [_picture(self.images.images[[image]][0]) for image in self.numbers]


def _classes(run, tasks):
    """(T, Q) classes that a learner gives the queries."""
    scores = evaluation.scores(run.learner, run.bank(), tasks)
    return np.concatenate([part.argmax(dim=-1).numpy() for part in scores])


def _random_queries(tasks, labels, queries, seed):
    """The same supports with queries drawn from all other images of their classes."""
    rng, shots = np.random.default_rng(seed), tasks.support.shape[1] // tasks.ways
    query = np.empty_like(tasks.query)
    for t, support in enumerate(tasks.support):
        for k, own_images in enumerate(support.reshape(tasks.ways, shots)):
            left = np.setdiff1d(np.flatnonzero(labels == labels[own_images[0]]), own_images)
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
