"""Biased tasks for the lab "Lay a trap": pictures, two kinds of queries on one support, and the
learners' answers."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image

from fslcore import evaluation
from fslcore.datasets import Images
from fslcore.evaluation import Method

from .. import attributes, labs
from . import known_truth, tables
from .cells import short_name

__all__ = ["html", "learners", "traps"]

SIDE, QUALITY = 48, 55  # of the pictures: pixels, and WebP's quality
TASKS = 100  # biased tasks that are drawn
CHOICES = 6  # attributes
PICTURED = 3  # queries of a class and kind, of all
WORDS = (
    "Here one chooses a clue and sees which learner falls for it. That takes JavaScript; the "
    "pictures above need none."
)
DIGITS = "0123456789abcdefghijklmnopqrstuv"
TRAININGS = {0.0: "any colour", 1.0: "colour by class"}  # of the letters in training


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
    seed: int = 0,
    **shape: int,
) -> dict:
    """One biased task for each of several attributes, with random queries beside the biased ones.

    The attributes are `CHOICES` at most, those that are most often the clue of a class among the
    first `TASKS` biased tasks. The task of each is the first that has it and no attribute before it
    has.

    Parameters
    ----------
    methods : mapping of Method
        Which learners answer, by their names for readers.

    Returns
    -------
    dict
        Of plain values. ``tasks``: attribute, at (the class with it), classes, clues, support and
        query (by kind; of each class the numbers of its pictures, `PICTURED` queries), shows (by
        kind, of each query the classes whose clues it has: a base-32 digit, whose bit k stands for
        class k) and answers (by kind, of each learner: a digit for each query, the class that it
        says; class by class). ``pictures``: WebP as data addresses.
    """
    shape = {"shots": 5, "queries": 15} | shape
    images = tables.images_of(dataset)
    tasks, clues = tables.draw(dataset, captioner, tasks=TASKS, seed=seed, **shape)
    chosen = _task_of_each(clues)
    biased = tasks[np.array([*chosen.values()])]
    random = _random_queries(biased, images.classes, shape["queries"], seed)
    runs = [evaluation.configure(images, *method) for method in methods.values()]
    page = _Page(images, attributes.of(images, captioner), shape["shots"])
    return {
        "dataset": dataset,
        **shape,
        "learners": [*methods],
        "tasks": page.tasks({"random": random, "biased": biased}, clues, chosen, runs),
        "pictures": [_picture(images.images[[image]][0]) for image in page.numbers],
    }


def _task_of_each(clues):
    """By attribute, the frequent ones first, the first task that has it and is not taken yet."""
    chosen: dict[int, int] = {}
    for attribute in np.argsort(-np.bincount(clues.ravel()), kind="stable").tolist():
        having = np.flatnonzero((clues == attribute).any(axis=1)).tolist()
        free = [task for task in having if task not in chosen.values()]
        if free and len(chosen) < CHOICES:
            chosen[attribute] = free[0]
    return chosen


@dataclass
class _Page:
    """Tasks as plain values; their pictures are numbered in the order in which they appear."""

    images: Images
    described: attributes.Attributes
    shots: int
    numbers: dict[int, int] = field(default_factory=dict)

    def tasks(self, kinds, clues, chosen, runs) -> list[dict]:
        """The tasks of `traps`; ``kinds`` are of queries, and ``chosen`` is by attribute."""
        answers = {kind: [_classes(run, tasks) for run in runs] for kind, tasks in kinds.items()}
        rows = []
        for t, (attribute, source) in enumerate(chosen.items()):
            row = {
                "attribute": self.described.names[attribute],
                "at": int(np.flatnonzero(clues[source] == attribute)[0]),
                **self._task(kinds, t, clues[source]),
            }
            row["answers"] = {
                kind: ["".join(map(str, guess[t])) for guess in guesses]
                for kind, guesses in answers.items()
            }
            rows.append(row)
        return rows

    def _task(self, kinds, t, clues):
        support, has = kinds["biased"].support[t], self.described.has
        labels = self.images.labels[support[:: self.shots]]
        queries = {kind: tasks.query[t] for kind, tasks in kinds.items()}
        by_class = {kind: query.reshape(len(labels), -1) for kind, query in queries.items()}
        return {
            "classes": [short_name(self.images.class_names[label]) for label in labels],
            "clues": [self.described.names[clue] for clue in clues],
            "support": self._numbered(support.reshape(len(labels), -1)),
            "query": {kind: self._numbered(q[:, :PICTURED]) for kind, q in by_class.items()},
            "shows": {kind: _shows(has[query][:, clues]) for kind, query in queries.items()},
        }

    def _numbered(self, images):
        rows = []
        for row in images.tolist():
            rows.append([self.numbers.setdefault(image, len(self.numbers)) for image in row])
        return rows


def _classes(run, tasks):
    """(T, Q) classes that a learner gives the queries."""
    scores = evaluation.predict_scores(run.learner, run.bank(), tasks)
    return np.concatenate([part.argmax(dim=-1).numpy() for part in scores])


def _random_queries(tasks, labels, queries, seed):
    """The same supports with queries drawn from all other images of their classes."""
    rng, shots = np.random.default_rng(seed), tasks.support.shape[1] // tasks.ways
    query = np.empty_like(tasks.query)
    for t, support in enumerate(tasks.support):
        for k, own_images in enumerate(support.reshape(tasks.ways, shots)):
            left = np.setdiff1d(np.flatnonzero(labels == labels[own_images[0]]), own_images)
            query[t, k * queries : (k + 1) * queries] = rng.choice(left, queries, replace=False)
    return replace(tasks, query=query, sampler={"random queries": seed})


def _shows(has):
    """(queries, K) truth values as a letter a query."""
    return "".join(DIGITS[int(bits @ (1 << np.arange(has.shape[1])))] for bits in has)


def _picture(pixels: np.ndarray) -> str:
    file = io.BytesIO()
    picture = Image.fromarray(np.asarray(pixels).squeeze())
    small = picture.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    small.save(file, "WEBP", quality=QUALITY, method=6)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode()


def html(sets: dict[str, dict]) -> str:
    """The lab's place in a page, as `labs.html` writes it.

    Parameters
    ----------
    sets : dict
        By a data set's name for readers, what `traps` gives.
    """
    return labs.html("trap", WORDS, sets, styles=("labs.css", "report.css"))
