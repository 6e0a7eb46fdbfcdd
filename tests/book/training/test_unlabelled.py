"""Training without labels: each loss against plain loops, what is remembered, and that no label is read."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fslbook import training
from fslbook.training import augment
from fslbook.training.run import _Run
from fslbook.training.unlabelled import BECLR, EPSILON, ITERATIONS, PsCo, UniSiam, two_views

UNLABELLED = [name for name, recipe in training.RECIPES.items() if recipe.batch == "views"]
SMALL = {
    "unisiam": {"width": 16},
    "psco": {"width": 16, "out": 8, "queue": 96},
    "beclr": {"width": 16, "memory": 128, "prototypes": 4, "start": 130},
}
SHORT = dict(epochs=2, steps=5, size=16, lr=0.003)


def settings(name):
    return SHORT | {"options": SMALL[name]}


def flat(images=None):
    """A network of one layer, and views of eight images."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 10))
    return network, torch.randn(16, 3, 4, 4)


def unit(x):
    return x / x.norm()


def uniform_term(z, temperature, images):
    """log of the mean of exp(cosine / τ) over pairs of views that do not show the same image."""
    pairs = [
        torch.exp(unit(z[i]) @ unit(z[j]) / temperature)
        for i in range(len(z))
        for j in range(len(z))
        if (i - j) % images
    ]
    return torch.log(sum(pairs) / len(pairs))


def sinkhorn(score, rounds):
    """Rows and columns of exp(score / ε) scaled in turn: rows to 1 / n, columns to 1 / m."""
    plan = (score.double() / EPSILON).exp()
    for _ in range(rounds):
        plan = plan / plan.sum(1, keepdim=True) / len(plan)
        plan = plan / plan.sum(0, keepdim=True) / plan.shape[1]
    return plan


def test_unisiam_is_its_equation():
    network, views = flat()
    objective = UniSiam(network, 10, width=12, weight=0.3, temperature=0.7)
    loss = objective(network, views)
    z = objective.projector(network(views))
    p = objective.predictor(z)
    similarity = sum(unit(p[i]) @ unit(z[(i + 8) % 16].detach()) for i in range(16)) / 16
    expected = 0.3 * uniform_term(z, 0.7, 8) - similarity
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    weights = [*network.parameters(), *objective.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad(loss, weights), torch.autograd.grad(expected, weights), strict=True
    ):
        assert ours == pytest.approx(
            theirs, abs=1e-5
        )  # no gradient through the view that is predicted


def test_psco_is_its_equation_and_its_queue_is_first_in_first_out():
    network, views = flat()
    objective = PsCo(
        network, 10, width=12, out=6, queue=20, shots=2, temperature=0.3, shot_temperature=0.5
    )
    before = objective.queue.clone()
    loss = objective(network, views)
    query = objective.predictor(objective.projector(network(views[:8])))
    with torch.no_grad():
        slow, projector = objective.slow
        key = torch.stack([unit(k) for k in projector(slow(views[8:]))])
        plan = sinkhorn(key @ before.T, ITERATIONS)
        shots = [sorted(range(20), key=lambda j, i=i: -plan[i, j])[:2] for i in range(8)]
    everyone = [
        j for rows in shots for j in rows
    ]  # a member of the queue may be a shot of two classes
    expected = 0
    for i in range(8):
        q = unit(query[i])
        below = sum(torch.exp(q @ before[j] / 0.5) for j in everyone)
        for j in shots[i]:
            expected -= torch.log(torch.exp(q @ before[j] / 0.5) / below) / 2 / 8
        positive = torch.exp(q @ key[i] / 0.3)
        expected -= (
            torch.log(positive / (positive + sum(torch.exp(q @ k / 0.3) for k in before))) / 8
        )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert objective.queue == pytest.approx(torch.cat([key, before[:12]]), abs=1e-6)
    loss.backward()
    assert all(w.grad is None for w in objective.slow.parameters())
    assert all(
        w.grad.abs().max() > 0 for w in [*network.parameters(), *objective.predictor.parameters()]
    )


def beclr(**changes):
    network, views = flat()
    options = dict(
        width=12, weight=0.3, temperature=0.7, memory=40, prototypes=3, neighbours=2, start=60
    )
    return BECLR(network, 10, **options | changes), network, views


def test_beclr_is_its_equation():
    objective, network, views = beclr()
    for _ in range(4):  # 64 views: the memory is full and parted
        objective(network, torch.randn(16, 3, 4, 4))
    memory, partition, prototypes = (
        objective.get_buffer(n).clone() for n in ("memory", "partition", "prototypes")
    )
    assert objective.seen == 64 and len(set(partition.tolist())) == 3
    loss = objective(network, views)
    z = objective.projector(network(views))
    p = objective.predictor(z)
    with torch.no_grad():
        slow, projector = objective.slow
        key = [unit(k) for k in projector(slow(views))]
    total = 0
    for i in range(16):
        opposite = key[(i + 8) % 16]
        nearest = max(range(3), key=lambda c: float(opposite @ prototypes[c]))
        candidates = [j for j in range(40) if partition[j] == nearest]
        candidates = candidates if len(candidates) >= 2 else range(40)
        neighbours = sorted(candidates, key=lambda j: -float(opposite @ memory[j]))[:2]
        total = total + unit(p[i]) @ (opposite + memory[neighbours[0]] + memory[neighbours[1]]) / 3
    assert loss.item() == pytest.approx(
        (0.3 * uniform_term(z, 0.7, 8) - total / 16).item(), rel=1e-4
    )

    # What was remembered, and where: optimal transport to the old prototypes, then their means.
    assert objective.memory == pytest.approx(torch.cat([torch.stack(key), memory[:24]]), abs=1e-5)
    placed = sinkhorn(torch.stack(key) @ prototypes.T, ITERATIONS).argmax(1)
    assert objective.partition.tolist() == [*placed.tolist(), *partition[:24].tolist()]
    for c in range(3):
        members = [objective.memory[j] for j in range(40) if objective.partition[j] == c]
        expected = unit(sum(members)) if members else prototypes[c]
        assert objective.prototypes[c] == pytest.approx(expected, abs=1e-5)


def test_neighbours_come_when_the_memory_is_full_and_old_enough():
    objective, network, views = beclr()
    positives = []
    for _ in range(5):
        positives.append(objective.enhanced(objective.slowly(views)).shape[1])
        objective(network, views)
    assert positives == [1, 1, 1, 1, 3]  # after 64 of 60
    objective, network, views = beclr(memory=16, start=0)
    assert objective.enhanced(objective.slowly(views)).shape[1] == 1  # nothing is remembered yet
    objective(network, views)
    assert objective.enhanced(objective.slowly(views)).shape[1] == 3


def test_a_partition_of_few_gives_way_to_the_whole_memory():
    objective, network, views = beclr(memory=16, start=0)
    objective(network, views)
    objective.partition = torch.tensor([0, *[1] * 15])
    slow = objective.slowly(views)
    objective.prototypes = torch.stack(
        [slow[0], -slow[0], -slow[0]]
    )  # the first is nearest to the first view
    nearest = (objective.memory @ slow[0]).topk(2).indices
    assert objective.enhanced(slow)[0, 1:] == pytest.approx(objective.memory[nearest])


@pytest.mark.parametrize(
    "objective, released",
    [
        (UniSiam, {"weight": 0.1, "temperature": 2}),
        (PsCo, {"shots": 4, "momentum": 0.99, "temperature": 0.2, "shot_temperature": 1}),
        (BECLR, {"weight": 0.1, "temperature": 2}),
    ],
)
def test_defaults_are_those_of_the_released_code(objective, released):
    """Where the documentation says so; queues and memories are smaller here."""
    defaults = {name: p.default for name, p in inspect.signature(objective).parameters.items()}
    assert defaults.items() >= released.items()


def test_a_momentum_copy_follows_slowly():
    network, views = flat()
    objective = PsCo(network, 10, width=12, out=6, queue=20, momentum=0.9)
    before = [w.clone() for w in objective.slow.parameters()]
    with torch.no_grad():
        for w in [*network.parameters(), *objective.projector.parameters()]:
            w += 1
    objective.follow(network)
    for slow, earlier in zip(objective.slow.parameters(), before, strict=True):
        assert slow == pytest.approx(earlier + 0.1, abs=1e-6)


@pytest.mark.parametrize("name", ["psco", "beclr"])
def test_in_training_the_copy_follows_what_the_optimiser_has_made(small, monkeypatch, name):
    monkeypatch.setattr(_Run, "_validate", lambda run: 0.5)
    run = _Run("x", replace(training.RECIPES[name], **settings(name) | {"steps": 1}), 0)
    objective = run.objective
    before = [weights.clone() for weights in objective.slow.parameters()]
    run.train_epoch(False)
    after = (*run.network.parameters(), *objective.projector.parameters())
    share = 1 - objective.momentum
    for slow, old, new in zip(objective.slow.parameters(), before, after, strict=True):
        assert torch.allclose(slow, old + share * (new - old), atol=1e-7)
    assert any((slow != old).any() for slow, old in zip(objective.slow.parameters(), before))


def test_views_differ_and_are_drawn_from_torchs_generator(small):
    x = torch.from_numpy(small("", "base").images[:64]).permute(0, 3, 1, 2).float() / 127.5 - 1
    torch.manual_seed(3)
    views = two_views(x)
    torch.manual_seed(3)
    assert torch.equal(two_views(x), views) and not torch.equal(two_views(x), views)
    assert views.shape == (128, 3, 32, 32) and views.abs().max() <= 1
    first, second = views.chunk(2)
    assert ((first - second).abs().mean((1, 2, 3)) > 0.05).all()


def test_a_view_moves_a_little_and_keeps_what_is_plain():
    """A square in the middle stays there, whatever its size and colour; an image of one colour stays one."""
    torch.manual_seed(0)
    square = torch.full((400, 3, 32, 32), -0.5)
    square[:, 0, 10:22, 10:22] = 0.4  # another colour, whatever happens to the lightness
    views = two_views(square)
    marked = ((views - views[..., :1, :1]).abs().amax(1) > 0.1).float()  # corners are ground
    area = marked.sum((1, 2))
    assert (area / 144).min() > 1 / 1.6**2 * 0.7 and (area / 144).max() < 1.6**2 * 1.3
    assert area.max() > 2 * area.min()
    uniform = two_views(torch.full((50, 3, 32, 32), 0.9))
    assert uniform.var((2, 3)).max() < 1e-8 and uniform[:, :, 0, 0].var(0).min() > 0.01


@pytest.mark.parametrize("name", UNLABELLED)
def test_no_label_is_read(small, labels, name):
    """Labels of base classes in another order: the same weights, to the last byte."""
    results = []
    for order in (labels["base"], np.random.default_rng(1).permutation(labels["base"])):
        labels["base"] = order
        run = _Run("x", replace(training.RECIPES[name], **settings(name)), 0)
        for _ in range(2):
            run.train_epoch(False)
        results.append((run._tensors(), run.curve))
    (ours, curve), (theirs, other_curve) = results
    assert curve == other_curve and ours.keys() == theirs.keys()
    assert all(w.numpy().tobytes() == theirs[key].numpy().tobytes() for key, w in ours.items())


@pytest.mark.parametrize("name", UNLABELLED)
def test_a_stopped_run_goes_on_to_the_same_bytes(small, tmp_path, monkeypatch, name):
    monkeypatch.setattr(_Run, "_validate", lambda run: run.epoch / 10)  # the last epoch is kept
    unstopped = training.train(
        name, tmp_path / "whole.safetensors", progress=False, **settings(name)
    )
    run = _Run("x", replace(training.RECIPES[name], **settings(name)), 0)
    run.train_epoch(False)
    run.save(tmp_path / ".cut.training")
    torch.manual_seed(99)
    cut = training.train(name, tmp_path / "cut.safetensors", progress=False, **settings(name))
    assert cut.read_bytes() == unstopped.read_bytes()
    other_seed = training.train(
        name, tmp_path / "again.safetensors", progress=False, seed=1, **settings(name)
    )
    assert other_seed.read_bytes() != unstopped.read_bytes()


def test_images_are_turned_scaled_and_shifted_either_way(monkeypatch):
    """By up to 10 degrees, 15 % and 2 of 32 pixels, which are 4 / 32 of half an image."""
    warps = []
    monkeypatch.setattr(augment, "warped", lambda x, *values: warps.append(values) or x)
    torch.manual_seed(0)
    augment.jitter(torch.zeros(2000, 3, 32, 32))
    ((angle, scale, shift, padding),) = warps
    for values, limit in (
        (angle, np.pi / 18),
        (scale - 1, 0.15),
        (shift[:, 0], 4 / 32),
        (shift[:, 1], 4 / 32),
    ):
        assert (
            abs(values.mean()) < 0.05 * limit
            and 0.99 * limit < values.max() <= limit
            and -limit <= values.min() < -0.99 * limit
        )
    assert padding == "border"
