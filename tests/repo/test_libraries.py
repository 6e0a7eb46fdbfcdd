"""The lines of `book/record-loop.md`, run on objects that behave as those of the libraries they are for."""

import copy
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import fslcore
from fslcore import recorder
from fslcore.paths import ROOT
from fslcore.report import Results

PAGE = (ROOT / "book" / "record-loop.md").read_text("utf-8")
WAYS, SHOTS, QUERIES, TASKS = 5, 2, 3, 80
LABELS = np.arange(8).repeat(20)
torch.manual_seed(0)
IMAGES = torch.randn(8, 12)[LABELS] + 1.5 * torch.randn(160, 12)
DATA = [(image, int(label)) for image, label in zip(IMAGES, LABELS)]


def draw(per_class):
    """Tasks as lists of images, class by class."""
    rng = np.random.default_rng(0)
    classes = [rng.choice(8, WAYS, replace=False) for _ in range(TASKS)]
    return [
        [int(20 * k + i) for k in chosen for i in rng.choice(20, per_class, replace=False)]
        for chosen in classes
    ]


class NearestMean:
    def process_support_set(self, images, labels):
        self.means = torch.stack([images[labels == k].mean(0) for k in range(WAYS)])

    def __call__(self, query):
        return -torch.cdist(query, self.means)


class Sampler(list):
    @staticmethod
    def episodic_collate_fn(items):
        images = torch.stack([image for image, _ in items]).view(WAYS, SHOTS + QUERIES, 12)
        classes = [label for _, label in items[:: SHOTS + QUERIES]]
        support_labels, query_labels = (
            torch.arange(WAYS).repeat_interleave(count) for count in (SHOTS, QUERIES)
        )
        return (
            images[:, :SHOTS].flatten(0, 1),
            support_labels,
            images[:, SHOTS:].flatten(0, 1),
            query_labels,
            classes,
        )


class Linear(torch.nn.Linear):
    def clone(self):
        return copy.deepcopy(self)

    def adapt(self, loss):
        loss.backward()
        with torch.no_grad():
            for parameter in self.parameters():
                parameter -= 0.5 * parameter.grad


class Taskset(list):
    """Images and labels of each task, and which images they are."""


TASKSET = Taskset(
    (IMAGES[images], torch.arange(WAYS).repeat_interleave(2 * SHOTS)) for images in draw(2 * SHOTS)
)
TASKSET.sampled_descriptions = [
    [SimpleNamespace(index=i) for i in images] for images in draw(2 * SHOTS)
]


def own_task(images):
    by_class = np.array(images).reshape(WAYS, -1)
    support, query = by_class[:, :SHOTS].ravel(), by_class[:, SHOTS:].ravel()
    return SimpleNamespace(
        support_ids=support,
        query_ids=query,
        support_classes=LABELS[support],
        query_classes=LABELS[query],
    )


def nearest(task):
    near = torch.cdist(IMAGES[task.query_ids], IMAGES[task.support_ids]).argmin(1)
    return task.support_classes[near]


OWN_LOOP = {
    "tasks": [own_task(images) for images in draw(SHOTS + QUERIES)],
    "model": nearest,
}
EASYFSL = {
    "sampler": Sampler(draw(SHOTS + QUERIES)),
    "DataLoader": DataLoader,
    "model": NearestMean(),
}
LEARN2LEARN = {
    "taskset": TASKSET,
    "maml": Linear(12, WAYS),
    "loss": torch.nn.CrossEntropyLoss(),
    "data": SimpleNamespace(indices_to_labels=LABELS),
}


@pytest.mark.parametrize(
    "title, objects",
    [
        ("Record my own evaluation loop", OWN_LOOP),
        ("With easyfsl", EASYFSL | {"data": DATA}),
        ("With learn2learn", LEARN2LEARN),
    ],
)
def test_the_lines_record_what_the_loop_predicts(tmp_path, monkeypatch, title, objects):
    monkeypatch.chdir(tmp_path)
    lines = re.search(rf"# {title}\n.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]
    exec(
        lines,
        {
            "torch": torch,
            "fslcore": fslcore,
            "ways": WAYS,
            "n_way": WAYS,
            "n_shot": SHOTS,
            "n_query": QUERIES,
        }
        | objects,
    )
    (path,) = tmp_path.iterdir()
    recording = recorder.load(path)
    (correct,) = recording.correct.values()
    assert len(correct) == TASKS and 0.3 < correct.mean() < 0.95
    assert (recording.classes == LABELS[recording.images.astype(int)].astype(str)).all()
    half_widths = Results.read(path).methods.set_index("target")["half_width"]
    assert half_widths["new classes"] > half_widths["these images"]
