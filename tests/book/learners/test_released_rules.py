"""What the papers' released code does, written again in a few lines, beside our learners.

`data/published/learners.yml` names for each learner of the papers what the released code does. These tests hold the
statements of it that are no matter of a library: where a rule is the same, up to which setting, and where it is not.
"""

import numpy as np
import pytest
import torch
from torch import distributions, nn
from torch.nn import functional as F

from fslbook.learners import LEO, R2D2
from fslcore.learners import CosineClassifier
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import features, task_tensors

# ------------------------------------------------------------ LEO


def plain_codes(learner, x, y):
    """Mean and deviation of the code of each class: the mean over all pairs of its images with any image."""
    codes = learner.encoder(x)
    outputs = []
    for k in range(5):
        pairs = [torch.cat([a, b]) for a in codes[y == k] for b in codes]
        outputs.append(learner.relation(torch.stack(pairs)).mean(dim=0))
    mean, log_deviation = torch.stack(outputs).chunk(2, dim=-1)
    return mean, log_deviation.exp() / 10


def loss_of_classes(weights, x, y):
    """The sum over classes of the mean cross-entropy of a class's images."""
    losses = F.cross_entropy(x @ weights.T, y, reduction="none")
    return sum(losses[y == k].mean() for k in range(5))


def plain_leo(learner, x, y, z):
    """Steps in the codes, then in the weights, whose rates are ours over the number of classes."""
    decode = lambda code: learner.decoder(code).chunk(2, dim=-1)[0]  # noqa: E731
    code, _ = plain_codes(learner, x, y)
    for _ in range(learner.steps):
        code = code.detach().requires_grad_()
        (slope,) = torch.autograd.grad(loss_of_classes(decode(code), x, y), code)
        code = code - learner.rate / 5 * slope
    weights = decode(code)
    for _ in range(learner.fine_steps):
        weights = weights.detach().requires_grad_()
        (slope,) = torch.autograd.grad(loss_of_classes(weights, x, y), weights)
        weights = weights - learner.fine_rate / 5 * slope
    return (z @ weights.T).detach()


@pytest.mark.parametrize("shots", [1, 3])
def test_leo_is_the_formula_whose_rates_are_ours_over_the_classes(shots):
    """DeepMind's code sums the loss over classes, where ours is a mean: a factor of a trained rate."""
    bank = features(dim=64)
    torch.manual_seed(0)
    learner = LEO(64, latent=16).eval()
    tasks = sample_closed(bank.labels, tasks=2, shots=shots)
    scores = learner.scores(bank, tasks)
    for answer, task in zip(scores, task_tensors(bank.data, tasks)):
        x, y, z = task
        expected = plain_leo(learner, F.normalize(x, dim=1), y.long(), F.normalize(z, dim=1))
        assert answer == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("latent", [16, 64])
def test_the_penalties_of_leo_are_means_over_the_entries_of_a_code(latent):
    bank = features(dim=64)
    torch.manual_seed(0)
    learner = LEO(64, latent=latent, dropout=0.0)
    learner._decode = lambda code: learner.decoder(code).chunk(2, dim=-1)[0]  # draws nothing
    x, y, z = next(task_tensors(bank.data, sample_closed(bank.labels, tasks=2)))
    torch.manual_seed(1)
    learner(x[None], F.one_hot(y.long()).float()[None], z[None])
    unit = F.normalize(x, dim=1)
    mean, deviation = plain_codes(learner, unit, y)
    divergence = distributions.kl_divergence(
        distributions.Normal(mean, deviation), distributions.Normal(0.0, 1.0)
    )
    assert learner.penalties["kl"].item() == pytest.approx(divergence.mean().item(), rel=1e-4)
    torch.manual_seed(1)
    start = mean + torch.randn(1, *mean.shape)[0] * deviation
    code = start
    for _ in range(learner.steps):
        (slope,) = torch.autograd.grad(
            F.cross_entropy(unit @ learner._decode(code).T, y.long()), code
        )
        code = (code - learner.rate * slope).detach().requires_grad_()
    drift = (code - start).square().mean().item()
    assert learner.penalties["drift"].item() == pytest.approx(drift, rel=1e-3)


def test_released_leo_draws_its_answers_and_ours_does_not():
    """LibFewShot samples codes and weights in evaluation too, as ours does in training only."""
    bank = features(dim=64)
    torch.manual_seed(0)
    sampling = LEO(64)  # a new module is in training
    tasks = sample_closed(bank.labels, tasks=4)
    tensors = list(task_tensors(bank.data, tasks))
    x, y, z = (torch.stack(parts) for parts in zip(*tensors))
    inputs = x, F.one_hot(y.long()).float(), z
    drawn = [sampling(*inputs).argmax(dim=-1) for _ in range(2)]
    assert (drawn[0] == drawn[1]).float().mean() < 0.9
    sampling.eval()
    assert torch.equal(sampling(*inputs), sampling(*inputs))


# ------------------------------------------------------------ R2D2


def ridge(x, y, z, penalty, scale):
    """scale · z Xᵀ (XXᵀ + λI)⁻¹ Y, as a plain system."""
    return scale * z @ x.T @ torch.linalg.solve(x @ x.T + penalty * torch.eye(len(x)), y)


@pytest.mark.parametrize("penalty, scale", [(1.0, 10.0), (50.0, 1.0)])
def test_r2d2_starts_at_one_and_ten_where_the_release_starts_at_fifty_and_one(penalty, scale):
    """One rule with two trained numbers, of which only the start differs."""
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=2)
    learner = R2D2()
    assert learner.log_lambda.exp() == 1 and learner.scale == 10
    state = {"log_lambda": np.log(penalty), "scale": scale, "bias": 0.0}
    learner.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    for answer, (x, y, z) in zip(learner.scores(bank, tasks), task_tensors(bank.data, tasks)):
        expected = ridge(x, F.one_hot(y.long()).float(), z, penalty, scale)
        assert answer == pytest.approx(expected, abs=1e-3)


# ------------------------------------------------------------ Baseline++


def released_cosine_layer(x, y, z, seed, epochs=100):
    """Scores by cosines of a random start, scaled by 2 times a learned length per class; SGD in batches of 4."""
    torch.manual_seed(seed)
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(x.shape[1], 5, bias=False), dim=0)
    cosines = lambda x: 2 * layer(F.normalize(x, dim=1))  # noqa: E731
    optimiser = torch.optim.SGD(
        layer.parameters(), 0.01, momentum=0.9, dampening=0.9, weight_decay=0.001
    )
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(4):
            optimiser.zero_grad()
            F.cross_entropy(cosines(x[rows]), y[rows]).backward()
            optimiser.step()
    return cosines(z).detach()


def test_baseline_plus_plus_answers_like_the_released_layer_at_five_shots():
    """Not equal: another start, end of the fit and scale, by which the released layer is less sure."""
    bank = features(dim=64, spread=0.7)
    tasks = sample_closed(bank.labels, tasks=3, queries=15)
    ours = CosineClassifier().scores(bank, tasks)
    released = []
    for t, (x, y, z) in enumerate(task_tensors(bank.data, tasks)):
        released.append(released_cosine_layer(x, y.long(), z, seed=t))
    released = torch.stack(released)
    right = torch.as_tensor(tasks.query_label.astype(np.int64))
    same = (ours.argmax(dim=-1) == released.argmax(dim=-1)).float().mean().item()
    accuracy = [(s.argmax(dim=-1) == right).float().mean().item() for s in (ours, released)]
    surest = [torch.softmax(s, dim=-1).amax(dim=-1).mean().item() for s in (ours, released)]
    assert 0.85 < same < 1
    assert accuracy[0] == pytest.approx(accuracy[1], abs=0.05)
    assert surest[0] > surest[1] + 0.1
