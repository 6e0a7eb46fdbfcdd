"""Tip-Adapter and the probe from names: plain loops, SciPy, and what they read."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusal import refuses
from safetensors.numpy import save_file as save_numpy_file
from safetensors.torch import save_file
from scipy.optimize import minimize
from scipy.special import log_softmax

from fslbook.learners import TextProbe, TipAdapter
from fslcore import evaluation
from fslcore.datasets.bank import load_features
from fslcore.learners import logistic
from fslcore.models import backbones
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import features, task_rows, unit
from tests.learners.text_inputs import (
    CLASSES,
    EACH,
    LABELS,
    TASKS,
    bank_with_text,
    pictures,
    tiny_clip_in,
)


@pytest.fixture(scope="module")
def bank():
    return bank_with_text()


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    return tiny_clip_in(tmp_path, monkeypatch)


def test_tip_adapter_against_a_loop(bank):
    tasks = sample_closed(LABELS, tasks=6, shots=(1, 2, 3, 4, 2))
    scores = TipAdapter(alpha=2.0, beta=4.0, scale=30.0).scores(bank, tasks).numpy()
    x = unit(bank.data.numpy())
    text = unit(bank.text.numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        for k in range(5):
            cache = np.exp(-4 * (1 - x[query] @ x[support[label == k]].T)).sum(1)
            named = 30 * x[query] @ text[LABELS[support[label == k][0]]]
            assert answer[:, k] == pytest.approx(named + 2 * cache, abs=1e-3)


def plain_probe(x, y, start, C):
    """Weights of least penalised cross-entropy on the support x, with one-hot labels y."""

    def objective(flat):
        w = flat.reshape(start.shape)
        log_p = log_softmax(x @ w.T, axis=1)
        slope = C * (np.exp(log_p) - y).T @ x + w - start
        return -C * (y * log_p).sum() + ((w - start) ** 2).sum() / 2, slope.ravel()

    options = {"maxiter": 5000, "gtol": 1e-9}
    best = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return best.x.reshape(start.shape)


@pytest.mark.parametrize("C, scale", [(1.0, 10.0), (1000.0, 100.0), (10.0, 0.0)])
@pytest.mark.parametrize("ways", [2, 5])
def test_the_probe_is_the_optimum_that_scipy_finds(bank, C, scale, ways):
    tasks = sample_closed(LABELS, tasks=3, ways=ways, shots=2, queries=4)
    scores = TextProbe(C, scale).scores(bank, tasks).numpy()
    features = unit(bank.data.double().numpy())
    text = unit(bank.text.double().numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        start = scale * text[[LABELS[support[label == k][0]] for k in range(ways)]]
        weights = plain_probe(features[support], np.eye(ways)[label], start, C)
        assert answer == pytest.approx(features[query] @ weights.T, abs=5e-3)


def test_the_probe_stops_when_it_is_done(bank):
    tasks = sample_closed(LABELS, tasks=4, shots=2, queries=2)
    x = torch.nn.functional.normalize(bank.data[tasks.support.copy()], dim=-1).double()
    y = torch.eye(5, dtype=torch.float64)[tasks.support_label.copy()].mT.contiguous()
    lam = torch.full((4, 1, 1), 0.1, dtype=torch.float64)
    start = 5 * torch.rand(4, 5, 10, dtype=torch.float64)
    problem = logistic._FixedHessian.of(x @ x.mT, y, lam, 0.5, start)
    *_, left = logistic._descend(problem, 1e-6, 1000)
    assert not len(left)


def test_settings_below_their_range_are_refused():
    for learner, name, value in (
        (TipAdapter, "alpha", -1),
        (TipAdapter, "beta", -1),
        (TextProbe, "C", 0),
    ):
        with refuses(name, f"got {value}"):
            learner(**{name: value})


@pytest.mark.parametrize("learner", [TipAdapter(), TextProbe()], ids=lambda learner: learner.name)
def test_names_go_with_the_classes_of_the_bank(bank, learner):
    tasks = sample_closed(LABELS, tasks=6, shots=2)
    scores = learner.scores(bank, tasks)
    order = np.random.default_rng(0).permutation(CLASSES)
    moved = replace(bank, labels=order[LABELS], text=bank.text[np.argsort(order)])
    assert torch.equal(learner.scores(moved, tasks), scores)
    longer = replace(bank, text=3 * bank.text)
    assert learner.scores(longer, tasks).numpy() == pytest.approx(scores.numpy(), abs=1e-4)
    mixed = tasks.support.copy()
    mixed[2, 0] = (mixed[2, 0] + EACH) % len(LABELS)
    with refuses("class 0 of task 2", "several classes"):
        learner.scores(bank, replace(tasks, support=mixed, unseen=False))
    with refuses("text", "bank"):
        learner.scores(replace(bank, text=None), tasks)


def test_text_and_center_in_a_file_of_features(bank, tmp_path):
    center = bank.data.mean(dim=0)
    text = bank.text.numpy()
    text_and_center = {"text": text.astype(np.float64), "center": center.numpy()}

    def read(name, labels=LABELS, **arrays):
        arrays |= {"features": bank.data.numpy(), "labels": labels}
        if name.endswith(".npz"):
            np.savez(tmp_path / name, **arrays)
        else:
            save_numpy_file(arrays, tmp_path / name)
        return load_features(tmp_path / name)

    bare = read("bare.npz")
    complete = read("complete.npz", **text_and_center)
    assert bare.text is bare.center is None and bare.digest != complete.digest
    assert (
        complete.digest
        == read("f.safetensors", **text_and_center).digest
        != read("g.npz", text=text + 1).digest
    )
    assert torch.equal(complete.text, bank.text) and torch.equal(complete.to("cpu").center, center)
    for learner, message in (
        ("text-probe", "reads an embedding of each class's name"),
        ("simpleshot", "center: none"),
    ):
        assert evaluation.configure(f"features:{tmp_path}/complete.npz", "none", learner)
        with refuses(message):
            evaluation.configure(f"features:{tmp_path}/bare.npz", "none", learner)
    # Texts as labels: rows in their sorted order.
    words = np.array([f"class {9 - k % 10}{k // 10}" for k in range(CLASSES)])
    named = read("named.npz", words[LABELS], text=text[np.argsort(words)])
    assert torch.equal(named.text[named.labels[::EACH]], bank.text)


def test_learners_of_names_run_on_images(tiny_clip):
    images = pictures("p")
    renamed = replace(images, class_names=[*"tuvwxyz"])
    for learner in ("tip-adapter", "text-probe"):
        method = evaluation.configure(images, tiny_clip[0], learner)
        bank = method.bank()
        assert torch.equal(
            bank.text, backbones.names_embedded(images.class_names, method.backbone).to(bank.text)
        )
        correct = evaluation.evaluate(method.learner, bank, TASKS).correct
        assert np.array_equal(method.outcomes(TASKS).correct, correct)
        # Other names are another record, though images and weights are the same.
        assert (
            evaluation.configure(renamed, tiny_clip[0], learner).outcomes(TASKS, stored=True)
            is None
        )
        assert (
            evaluation.configure(images, tiny_clip[0], learner).outcomes(TASKS, stored=True)
            is not None
        )
        with refuses("glyph-conv", "text tower", r"\bclip\b"):
            evaluation.configure(images, "glyph-conv", learner)
    assert evaluation.configure(images, tiny_clip[0], "lr").bank().text is None


def test_weights_without_a_text_tower_are_reported(tiny_clip, tmp_path):
    visual = {
        key: w.clone() for key, w in tiny_clip[1].state_dict().items() if key.startswith("visual.")
    }
    save_file(visual, tmp_path / "visual.safetensors")
    name = f"clip:{tmp_path}/visual.safetensors"
    assert evaluation.configure(pictures("p"), name, "ncc").outcomes(TASKS) is not None
    with refuses(r"\bclip\b", "visual.safetensors", "text tower", r"\(.*state_dict"):
        evaluation.configure(pictures("p"), name, "tip-adapter").outcomes(TASKS)
    with refuses("glyph-conv", "text tower"):
        backbones.names_embedded(["a"], backbones.load("glyph-conv"))


@pytest.mark.parametrize("ways", [5, 12])
@pytest.mark.parametrize("C", [1e4, 1e10])
def test_scores_stay_bounded_where_the_penalty_is_as_small_as_the_rounding_of_32_bits(ways, C):
    bank = features(classes=ways, n=20, dim=16, spread=0.3)
    text = torch.randn(ways, 16, generator=torch.manual_seed(0))
    tasks = sample_closed(bank.labels, tasks=4, ways=ways, queries=3)
    assert TextProbe(C=C).scores(replace(bank, text=text), tasks).abs().max() < 300
