"""Learners on frozen features, plain and with the backdoor adjustment, against plain loops and in batches."""

import copy
import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from torch import nn
from torch.nn import functional as F

from fslbook import training
from fslbook.training import run as loop
from fslbook.training.run import _class_means
from fslcore import datasets, learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import evaluate, probe
from fslcore.learners import MTL, SIB, FrozenMAML, MatchingNet, MatchingNetIFSL
from fslcore.models import backbones
from fslcore.tasks import Tasks, sample_closed

DIM, CLASSES = 24, 7  # features, and classes that the network was trained on
PLAIN = (MatchingNet, FrozenMAML, MTL, SIB)
ADJUSTED = {kind.of: kind for kind in map(learners.of_features.get, learners.names) if kind and hasattr(kind, "of")}
KINDS = (*PLAIN, *ADJUSTED.values())
NAMES = [kind.name for kind in KINDS]
UNEVEN = (4, 4, 5, 6, 6)


@pytest.fixture
def bank():
    """Not negative, classes that overlap, some features hardly there."""
    rng = np.random.default_rng(0)
    x = np.maximum(0.35 * rng.normal(size=(12, DIM)).repeat(30, 0) + rng.normal(size=(360, DIM)), 0)
    x[rng.random(x.shape) < 0.1] = 5e-4
    return Bank(torch.from_numpy(x).float(), np.arange(12).repeat(30), "test")


def made(kind, seed=0, **settings):
    """A learner for `bank` with weights as training might leave them."""
    torch.manual_seed(seed)
    learner = kind(DIM, **settings) if kind.sized else kind(**settings)
    if hasattr(learner, "know"):
        learner.know(nn.Linear(DIM, CLASSES), torch.rand(CLASSES, DIM) / 5)
    with torch.no_grad():
        for w in learner.parameters():
            w += 0.2 * torch.randn(w.shape)
    return learner


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def per_task(bank, tasks):
    """Support, labels and queries of each task, in 64 bits."""
    for s, y, q in zip(tasks.support, tasks.support_label, tasks.query):
        yield bank.data.double()[s.copy()], torch.as_tensor(y.copy()), bank.data.double()[q.copy()]


def test_there_is_an_adjusted_learner_for_each_of_the_four():
    assert {kind.name for kind in PLAIN} == {"matchingnet", "maml-frozen", "mtl", "sib"}
    assert [ADJUSTED[kind].name for kind in PLAIN] == [f"{kind.name}-ifsl" for kind in PLAIN]
    assert {kind.name for kind in KINDS if kind.transductive} == {"sib", "sib-ifsl"}
    assert set(NAMES) <= set(training.RECIPES) and all(training.RECIPES[n].learner == n for n in NAMES)


# ------------------------------------------------------------ against plain loops


def test_matching_networks_weigh_each_image_by_its_cosine(bank):
    tasks = sample_closed(bank.labels, tasks=5, shots=UNEVEN)
    learner = made(MatchingNet)
    scores = learner.scores(bank, tasks).detach().numpy()
    scale = learner.log_scale.exp().item()
    for t, (x, y, z) in enumerate(per_task(bank, tasks)):
        for q, row in enumerate(z.numpy()):
            pull = [np.exp(scale * unit(row) @ unit(one)) for one in x.numpy()]
            share = [sum(p for p, label in zip(pull, y) if label == k) / sum(pull) for k in range(5)]
            assert scores[t, q] == pytest.approx(np.log(share), abs=1e-4)


def test_attention_that_vanishes_is_still_a_number(bank):
    scores = MatchingNet(scale=1e4).scores(bank, sample_closed(bank.labels, tasks=3))
    assert torch.isfinite(scores).all() and scores.min() < -80


def test_mtl_is_gradient_descent_on_scaled_and_shifted_features(bank):
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN)
    learner = made(MTL, steps=9)
    scores = learner.scores(bank, tasks)
    for t, (x, y, z) in enumerate(per_task(bank, tasks)):
        x, z = (F.normalize(v, dim=1) * learner.scale.detach() + learner.shift.detach() for v in (x, z))
        head = nn.Linear(DIM, 5).double()
        nn.init.zeros_(head.weight), nn.init.zeros_(head.bias)
        optimiser = torch.optim.SGD(head.parameters(), learner.log_rate.exp().item())
        for _ in range(9):
            optimiser.zero_grad()
            F.cross_entropy(head(x), y).backward()
            optimiser.step()
        assert scores[t].detach() == pytest.approx(head(z).detach(), abs=1e-4)


def test_frozen_maml_is_gradient_descent_on_layer_and_head(bank):
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN)
    learner = made(FrozenMAML, steps=4, hidden=11, lr=0.2)
    scores = learner.scores(bank, tasks)
    for t, (x, y, z) in enumerate(per_task(bank, tasks)):
        network = nn.Sequential(copy.deepcopy(learner.layer), nn.ReLU(), nn.Linear(11, 5)).double()
        nn.init.zeros_(network[2].weight), nn.init.zeros_(network[2].bias)
        optimiser = torch.optim.SGD(network.parameters(), 0.2)
        x, z = (F.normalize(v, dim=1) * DIM**0.5 for v in (x, z))
        for _ in range(4):
            optimiser.zero_grad()
            F.cross_entropy(network(x), y).backward()
            optimiser.step()
        assert scores[t].detach() == pytest.approx(network(z).detach(), abs=1e-4)


def test_sib_follows_the_gradient_that_its_network_says_query_by_query(bank):
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN, queries=4)
    learner = made(SIB, steps=3, lr=0.7)
    scores = learner.scores(bank, tasks).numpy()
    says, scale = copy.deepcopy(learner.gradient).double(), learner.log_scale.exp().item()
    start = SIB(DIM, steps=0)
    start.load_state_dict(learner.state_dict())
    assert np.abs(scores - start.scores(bank, tasks).numpy()).max() > 0.1  # the steps lead somewhere
    for t, (x, y, z) in enumerate(per_task(bank, tasks)):
        x, z = unit(x.numpy()), unit(z.numpy())
        factor = learner.factor.detach().double().numpy()
        w = np.stack([x[y == k].mean(axis=0) * factor for k in range(5)])
        for _ in range(3):
            slope = np.zeros_like(w)
            for one in z:
                cosine = unit(w) @ one
                p = np.exp(scale * cosine) / np.exp(scale * cosine).sum()
                for k in range(5):
                    read = torch.tensor([np.log(p[k]), p[k], -(p * np.log(p)).sum()])
                    along = (one - cosine[k] * unit(w)[k]) / np.linalg.norm(w[k])
                    slope[k] += float(says(read)) * scale * along / len(z)
            w = w - 0.7 * slope
        assert scores[t] == pytest.approx(scale * z @ unit(w).T, abs=1e-3)


@pytest.mark.parametrize("settings", [{}, {"parts": 3, "classes": False}, {"parts": 1}], ids=str)
@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.name)
def test_the_adjustment_is_that_of_the_paper_image_by_image(bank, kind, settings):
    """Feature-wise, class-wise and both: each part's features written out in a bank of their own."""
    learner = made(ADJUSTED[kind], **settings)
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN)
    n, classes = settings.get("parts", 4), settings.get("classes", True)
    wide = DIM // n
    seen = np.zeros((n, len(bank), wide * (1 + classes)))
    for i, x in enumerate(bank.data.double().numpy()):
        kept = np.array([v if abs(v) > 1e-3 else 0.0 for v in x])
        kept /= np.sqrt((kept**2).sum())
        if classes:
            logit = learner.weight.double().numpy() @ x + learner.bias.double().numpy()
            mean = sum(np.exp(a) * m for a, m in zip(logit, learner.means.double().numpy())) / np.exp(logit).sum()
        for part in range(n):
            here = slice(part * wide, (part + 1) * wide)
            seen[part, i] = np.concatenate([kept[here], mean[here]]) if classes else kept[here]
    each = [
        torch.softmax(of.scores(Bank(torch.from_numpy(x).float(), bank.labels, ""), tasks), dim=-1)
        for of, x in zip(learner.parts, seen)
    ]
    assert len(each) == n and (n == 1 or (each[0] - each[1]).abs().max() > 1e-3)
    assert learner.scores(bank, tasks).exp().detach() == pytest.approx((sum(each) / n).detach(), abs=1e-5)


def test_without_parts_and_classes_nothing_is_adjusted(bank):
    tasks = sample_closed(bank.labels, tasks=4)
    plain, none = MatchingNet(), MatchingNetIFSL(DIM, parts=1, classes=False, threshold=0.0)
    assert none.scores(bank, tasks).detach() == pytest.approx(plain.scores(bank, tasks).detach(), abs=1e-5)


# ------------------------------------------------------------ batches of tasks


def padded(tasks):
    """The same tasks with two columns of padding on each side."""
    columns = (tasks.support, tasks.support_label, tasks.query, tasks.query_label)
    return Tasks(*(np.pad(a, ((0, 0), (2, 2)), constant_values=-1) for a in columns), tasks.ways)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_padding_and_chunks_change_nothing(bank, kind):
    learner = made(kind)
    tasks = sample_closed(bank.labels, tasks=12, shots=UNEVEN)
    one = learner.scores(bank, tasks).detach()
    assert learner.scores(bank, padded(tasks))[:, 2:-2].detach() == pytest.approx(one, abs=1e-3)
    right = evaluate(learner, bank, tasks).correct
    assert (evaluate(learner, bank, padded(tasks)).correct[:, 2:-2] == right).all()
    for chunk in (1, 5):
        assert (evaluate(learner, bank, tasks, chunk=chunk).correct == right).all()


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_any_number_of_classes_in_any_order_and_absent_ones_are_never_predicted(bank, kind):
    learner = made(kind)
    tasks = sample_closed(bank.labels, tasks=4, ways=6, shots=3)
    scores = learner.scores(bank, tasks).detach()
    order = np.array([3, 0, 5, 1, 2, 4])  # class k becomes order[k]
    other = Tasks(tasks.support, order[tasks.support_label], tasks.query, order[tasks.query_label], 6)
    assert learner.scores(bank, other)[..., order].detach() == pytest.approx(scores, abs=1e-3)
    gone = tasks.support_label == 5
    holed = Tasks(
        np.where(gone, -1, tasks.support), np.where(gone, -1, tasks.support_label), tasks.query, tasks.query_label, 6
    )
    left = learner.scores(bank, holed).detach()
    assert torch.isneginf(left[..., 5]).all() and torch.isfinite(left[..., :5]).all()
    # As if the class had never been there.
    rows = ~gone[0]
    five = Tasks(tasks.support[:, rows], tasks.support_label[:, rows], tasks.query, np.minimum(tasks.query_label, 4), 5)
    assert left[..., :5] == pytest.approx(learner.scores(bank, five).detach(), abs=1e-3)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.transductive], ids=lambda kind: kind.name)
def test_a_transductive_learner_looks_at_all_queries_and_at_nothing_else(bank, kind):
    learner = made(kind)
    tasks = sample_closed(bank.labels, tasks=3, queries=6)
    scores = learner.scores(bank, tasks).detach()
    order = np.random.default_rng(0).permutation(tasks.query.shape[1])
    mixed = Tasks(tasks.support, tasks.support_label, tasks.query[:, order], tasks.query_label[:, order], 5)
    assert learner.scores(bank, mixed).detach() == pytest.approx(scores[:, order], abs=1e-3)
    few = Tasks(tasks.support, tasks.support_label, tasks.query[:, :3], tasks.query_label[:, :3], 5)
    assert (learner.scores(bank, few) - scores[:, :3]).abs().max() > 0.01
    found = probe(learner, bank, tasks)
    assert found.depends and found.moved["alone"] > 0.01 and found.moved["order"] < 1e-3
    assert "DEPEND on the other queries" in str(found)


# ------------------------------------------------------------ training and weights


@pytest.mark.parametrize("kind", [MTL, FrozenMAML, SIB], ids=lambda kind: kind.name)
def test_the_gradient_through_the_steps_is_that_of_finite_differences(kind):
    learner = kind(6, steps=2).double().train()
    torch.manual_seed(0)
    for w in learner.parameters():
        nn.init.normal_(w, std=0.3)
    x, z = (torch.randn(2, n, 6, dtype=torch.double, requires_grad=True) for n in (6, 5))
    y = F.one_hot(torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 1, 0]])).double()
    target = torch.tensor([[0, 1, 2, 0, 1], [2, 1, 0, 1, 2]])
    assert torch.autograd.gradcheck(lambda x, z: learner.loss(learner(x, y, z), target), (x, z), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_every_weight_is_trained_and_decides_the_key(bank, kind):
    learner = made(kind)
    tasks = sample_closed(bank.labels, tasks=4)
    members = F.one_hot(torch.as_tensor(tasks.support_label.copy())).float()
    scores = learner(bank.data[tasks.support], members, bank.data[tasks.query])
    learner.loss(scores, torch.as_tensor(tasks.query_label.copy())).backward()
    for name, w in learner.named_parameters():
        assert w.grad is not None and torch.isfinite(w.grad).all() and w.grad.abs().max() > 0, name
    key = json.dumps(learner.config())
    for name, w in learner.state_dict().items():  # what the network knows too
        before = w.clone()
        w.view(-1)[0] += 1
        assert json.dumps(learner.config()) != key, name
        w.copy_(before)
    assert json.dumps(learner.config()) == key


def test_settings_decide_the_key():
    for kind, settings in {
        **{kind: {"steps": 7} for kind in (MTL, FrozenMAML, SIB)},
        **{kind: {"parts": 2, "classes": False, "threshold": 0.5} for kind in ADJUSTED.values()},
    }.items():
        for name, value in settings.items():
            assert made(kind, **{name: value}).config() != made(kind).config(), (kind.name, name)
    for kind in (FrozenMAML, SIB):
        assert made(kind, lr=0.123).config() != made(kind).config()
    for of in (FrozenMAML, MTL, SIB):  # the settings of the learner that is adjusted too
        assert made(ADJUSTED[of], steps=7).config() != made(ADJUSTED[of]).config()


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A data set of twelve easy classes, six to train on, and a network trained on them."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (12, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
    pixels = (patterns.repeat(30, 0) + rng.normal(0, 40, (360, 32, 32, 3))).clip(0, 255).astype(np.uint8)

    def load(name, split):
        rows = slice(0, 180) if split == "base" else slice(180, 360)
        return datasets.Images("small", pixels[rows], np.arange(6).repeat(30), list("abcdef"))

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(loop, "VALIDATION", {"features": 20, "images": 5})
    path = training.train(
        "baseline", tmp_path / "start.safetensors", progress=False, epochs=2, steps=8, lr=0.003, size=32
    )
    return load, f"conv4-baseline:{path}"


def test_what_the_network_knows_is_of_base_and_comes_back_with_the_settings(small, tmp_path):
    load, start = small
    given = dict(epochs=1, steps=4, size=1, frozen=start, progress=False)
    path = training.train(
        "sib-ifsl", tmp_path / "s.safetensors", **given, options={"parts": 2, "steps": 2, "threshold": 0.01}
    )
    backbone = backbones.load(f"conv4-sib-ifsl:{path}")
    learner = learners.make("sib-ifsl", backbone)
    assert (len(learner.parts), learner.threshold, learner.parts[0].steps) == (2, 0.01, 2)
    assert learners.make("sib-ifsl", backbone, threshold=0.2).threshold == 0.2
    with safe_open(path, "pt") as file:
        kept = {name: file.get_tensor(name) for name in file.keys() if name.startswith("head.")}  # noqa: SIM118
    assert {f"head.{name}" for name in learner.state_dict()} == kept.keys()
    assert all((learner.state_dict()[name.removeprefix("head.")] == w).all() for name, w in kept.items())
    base = load("", "base")
    x = backbones.features(base, backbones.load(start)).data.numpy()
    means = np.stack([unit(x[base.labels == k]).mean(axis=0) for k in range(6)])
    assert learner.means.numpy() == pytest.approx(means, abs=1e-5)
    taken_for = (x @ learner.weight.numpy().T + learner.bias.numpy()).argmax(axis=1)
    assert (taken_for == base.labels).mean() > 0.8


def test_class_means_do_not_depend_on_the_order_of_rows(bank):
    rows = np.random.default_rng(0).permutation(len(bank))
    mixed = Bank(bank.data[rows], bank.labels[rows], "")
    assert _class_means(mixed, 12) == pytest.approx(_class_means(bank, 12), abs=1e-5)


def test_bad_settings(bank, tmp_path):
    tasks = sample_closed(bank.labels, tasks=2)
    for parts, message in ((0, "parts = 0; a whole number"), (5, "parts = 5; 24 features are not so many equal parts")):
        with pytest.raises(InputError, match=message):
            MatchingNetIFSL(DIM, parts=parts)
    with pytest.raises(InputError, match="learner = mtl-ifsl; it needs a network that was trained for it"):
        ADJUSTED[MTL](DIM).scores(bank, tasks)
    with pytest.raises(InputError, match="frozen = ''; mtl-ifsl needs a backbone"):
        training.train("mtl-ifsl", tmp_path / "m.safetensors", frozen="")
    assert not list(tmp_path.glob("*m.*"))
