"""The lines that `book/running.md` gives for other libraries, run with them where they are installed."""

import re

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

import fslcore
from fslcore import recorder
from fslcore.models.networks import import_torchvision
from fslcore.paths import ROOT
from fslcore.report import Results

PAGE = (ROOT / "book" / "running.md").read_text("utf-8")


def lines(title):
    """The Python below a title in bold."""
    return re.search(rf"\*\*{title}\*\*.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]


class Images(Dataset):
    """Eight classes of twenty small images that a network can tell apart."""

    def __init__(self):
        self.labels = np.arange(8).repeat(20)
        middle = torch.randn(8, 12, generator=torch.Generator().manual_seed(0))
        noise = torch.randn(160, 12, generator=torch.Generator().manual_seed(1))
        self.images = middle[self.labels] + 1.5 * noise

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], int(self.labels[i])

    def get_labels(self):
        return self.labels.tolist()


@pytest.fixture
def easyfsl(monkeypatch):
    import_torchvision()
    try:
        recording = pytest.importorskip("easyfsl", reason="easyfsl is not installed")
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"easyfsl does not import here ({error})")
    try:
        Sampler(None)
    except TypeError:  # an argument that PyTorch has taken away, and easyfsl 1.5.0 gives
        monkeypatch.setattr(Sampler, "__init__", lambda self, data_source=None: None)
    return recording


def assert_wider_for_new_classes(file):
    half_widths = Results.read(file).methods.set_index("target")["half_width"]
    assert half_widths["new classes"] > half_widths["these images"]


def test_easyfsl(tmp_path, easyfsl):
    from easyfsl.methods import PrototypicalNetworks
    from easyfsl.samplers import TaskSampler
    from easyfsl.utils import evaluate

    data, file = Images(), tmp_path / "protonet.jsonl"
    sampler = TaskSampler(data, n_way=5, n_shot=2, n_query=3, n_tasks=200)
    model = PrototypicalNetworks(torch.nn.Identity())
    names = dict(torch=torch, fslcore=fslcore, DataLoader=DataLoader, sampler=sampler, data=data, model=model)
    names |= dict(n_way=5, n_shot=2, n_query=3)
    exec(lines("easyfsl").replace('"protonet.jsonl"', repr(str(file))), names)
    # The same tasks by the library's own evaluation.
    its = evaluate(model, names["loader"], device="cpu", use_tqdm=False)
    recording = recorder.load(file)
    assert recording.correct["ProtoNet"].mean() == pytest.approx(its)
    assert 0.3 < its < 0.95
    assert (recording.classes == data.labels[recording.images.astype(int)].astype(str)).all()
    assert_wider_for_new_classes(file)


def test_learn2learn(tmp_path):
    import_torchvision()
    pytest.importorskip("learn2learn", reason="learn2learn is not installed", exc_type=ImportError)
    from learn2learn.algorithms import MAML
    from learn2learn.data import MetaDataset, Taskset
    from learn2learn.data.transforms import ConsecutiveLabels, KShots, LoadData, NWays, RemapLabels

    file, loss = tmp_path / "maml.jsonl", torch.nn.CrossEntropyLoss()
    torch.manual_seed(0)
    data = MetaDataset(Images())
    transforms = [NWays(data, 5), KShots(data, 6), LoadData(data), RemapLabels(data), ConsecutiveLabels(data)]
    taskset = Taskset(data, transforms, num_tasks=150)
    maml = MAML(torch.nn.Linear(12, 5), lr=0.5)
    names = dict(torch=torch, fslcore=fslcore, taskset=taskset, data=data, maml=maml, ways=5, loss=loss)
    exec(lines("learn2learn").replace('"maml.jsonl"', repr(str(file))), names)
    # The same tasks in the way of its examples, which count and keep nothing.
    accuracies = []
    for images, labels in taskset:
        adaptation = np.zeros(len(images), dtype=bool)
        adaptation[np.arange(15) * 2] = True
        learner = maml.clone()
        learner.adapt(loss(learner(images[adaptation]), labels[adaptation]))
        accuracies.append((learner(images[~adaptation]).argmax(1) == labels[~adaptation]).float().mean().item())
    recording = recorder.load(file)
    assert len(recording.correct["MAML"]) == 150 and 0.25 < np.mean(accuracies) < 0.95
    assert np.allclose(recording.correct["MAML"].mean(axis=1), accuracies)
    assert (recording.classes == data.dataset.labels[recording.images.astype(int)].astype(str)).all()
    assert_wider_for_new_classes(file)
