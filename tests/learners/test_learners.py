"""Learners against scikit-learn and plain loops; batching, padding and repetition change nothing."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment, linprog
from sklearn.linear_model import LogisticRegression as SklearnLR
from sklearn.linear_model import Ridge
from torch.nn import functional as F

from fslcore import datasets, learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import evaluate
from fslcore.evaluation.records import scores
from fslcore.learners import (
    ANIL,
    BOIL,
    CAN,
    DN4,
    LEO,
    MAML,
    R2D2,
    CosineClassifier,
    FineTune,
    LogisticRegression,
    NearestCentroid,
    OpTA,
    ProtoNet,
    RENet,
    SimpleShot,
    TextProbe,
    TipAdapter,
    logistic,
)
from fslcore.learners.maml import with_task_norm
from fslcore.learners.opta import transport
from fslcore.models import backbones
from fslcore.models.backbones import Backbone
from fslcore.models.fused import with_fast_convolutions
from fslcore.models.networks import Conv4, GlyphConv
from fslcore.tasks import Tasks, sample_closed


def features(classes=20, n=60, dim=512, spread=0.35, seed=0):
    """A bank of features like those of a network: not negative, classes that overlap."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(classes, dim))
    x = np.maximum(centres.repeat(n, 0) + rng.normal(size=(classes * n, dim)), 0).astype(np.float32)
    beside = {"text": torch.from_numpy(centres).float(), "center": torch.full((dim,), 0.4)}
    return Bank(torch.from_numpy(x), np.arange(classes).repeat(n), "test", **beside)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


MAP = (8, 3, 4)  # of the tests: 96 features


def on_map(learner, seed=0):
    """A learner for maps of the tests with weights as training might leave them."""
    torch.manual_seed(seed)
    learner = learner(MAP)
    with torch.no_grad():
        for w in learner.parameters():
            w += 0.1 * torch.randn(w.shape)
    return learner


OF_FEATURES = [
    NearestCentroid(),
    LogisticRegression(),
    CosineClassifier(),
    ProtoNet(),
    R2D2(),
    ANIL(lr=0.01),
    LEO(512),
    OpTA(),
    SimpleShot(),
    TipAdapter(),
    TextProbe(max_iter=100),
]
ON_MAPS = [on_map(DN4), on_map(CAN), on_map(RENet)]
SHAPES = [{}, dict(shots=1), dict(ways=15, queries=5), dict(ways=2, shots=10), dict(shots=(4, 4, 5, 6, 6))]


@pytest.mark.slow
def test_lr_predicts_as_scikit_learn_on_550_tasks():
    """On real features, at five shapes. A few queries lie so near to a tie that scikit-learn's own
    stopping (tol=1e-4) decides them, so that it is run to convergence for the strict bound."""
    bank = backbones.features(datasets.load("clipart"), backbones.load("efficientnet-lite0"))
    x = unit(bank.data.double().numpy())
    same = {1e-7: [], 1e-4: []}
    for shape in SHAPES:
        tasks = sample_closed(bank.labels, tasks=110, **shape)
        ours = LogisticRegression().scores(bank, tasks).argmax(-1).numpy()
        # In coordinates of the span of a support, where the solution lies: as many as it has images, of 1,280.
        within = [np.linalg.qr(x[s].T)[0] for s in tasks.support]
        for tol, agreed in same.items():
            theirs = [
                SklearnLR(C=1.0, max_iter=1000, tol=tol).fit(x[s] @ span, y).predict(x[q] @ span)
                for span, s, y, q in zip(within, tasks.support, tasks.support_label, tasks.query)
            ]
            agreed.append((ours == np.array(theirs)).ravel())
    assert np.concatenate(same[1e-7]).mean() >= 0.9999
    assert np.concatenate(same[1e-4]).mean() >= 0.998


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("ways", [2, 5])
def test_lr_probabilities_are_those_of_a_tight_scikit_learn(ways, C):
    bank = features(dim=64, spread=0.3)
    tasks = sample_closed(bank.labels, tasks=8, ways=ways)
    ours = torch.softmax(LogisticRegression(C=C).scores(bank, tasks), -1).numpy()
    x = unit(bank.data.double().numpy())
    for t in range(len(tasks)):
        model = SklearnLR(C=C, tol=1e-10, max_iter=10_000).fit(x[tasks.support[t]], tasks.support_label[t])
        assert ours[t] == pytest.approx(model.predict_proba(x[tasks.query[t]]), abs=1e-4)


def test_lr_repeated_support_is_scikit_learns_sample_weight():
    bank = features(dim=64, spread=0.3)
    plain = sample_closed(bank.labels, tasks=4)
    weight = np.random.default_rng(0).integers(1, 4, plain.support.shape[1])
    repeated = Tasks(
        plain.support.repeat(weight, 1), plain.support_label.repeat(weight, 1), plain.query, plain.query_label, 5
    )
    ours = torch.softmax(LogisticRegression().scores(bank, repeated), -1).numpy()
    x = unit(bank.data.double().numpy())
    for t in range(4):
        model = SklearnLR(tol=1e-10, max_iter=10_000).fit(x[plain.support[t]], plain.support_label[t], weight)
        assert ours[t] == pytest.approx(model.predict_proba(x[plain.query[t]]), abs=1e-4)


def test_ncc_against_a_loop():
    bank = features(spread=0.1)
    tasks = sample_closed(bank.labels, tasks=50, shots=(4, 4, 5, 6, 6))
    scores = NearestCentroid().scores(bank, tasks).numpy()
    x = unit(bank.data.numpy())
    for t in range(len(tasks)):
        centroid = unit(np.stack([x[tasks.support[t][tasks.support_label[t] == k]].mean(0) for k in range(5)]))
        assert scores[t] == pytest.approx(x[tasks.query[t]] @ centroid.T, abs=1e-5)


def test_protonet_against_a_loop():
    bank = features(spread=0.1)
    tasks = sample_closed(bank.labels, tasks=20, shots=(4, 4, 5, 6, 6))
    scores = ProtoNet().scores(bank, tasks).numpy()
    x = bank.data.numpy()
    for t in range(len(tasks)):
        prototypes = np.stack([x[tasks.support[t][tasks.support_label[t] == k]].mean(0) for k in range(5)])
        distance = ((x[tasks.query[t]][:, None] - prototypes) ** 2).sum(-1)
        assert scores[t] == pytest.approx(-distance, rel=1e-4)


def plain_sinkhorn(cost, epsilon):
    """Rows and columns of exp(-cost / ε) scaled in turn, until nothing changes."""
    plan = np.exp(-cost / epsilon)
    for _ in range(100_000):
        before = plan
        plan = plan / plan.sum(1, keepdims=True) / len(plan)
        plan = plan / plan.sum(0, keepdims=True) / plan.shape[1]
        if np.abs(plan - before).max() < 1e-13:
            return plan


@pytest.mark.parametrize("passes", [1, 3])
def test_opta_against_a_loop(passes):
    bank = features(spread=0.1, dim=64)
    tasks = sample_closed(bank.labels, tasks=6, shots=(4, 4, 5, 6, 6))
    scores = OpTA(epsilon=0.1, passes=passes).scores(bank, tasks).numpy()
    x = bank.data.double().numpy()
    x = unit(x - x.mean(axis=1, keepdims=True))
    for t in range(len(tasks)):
        prototypes = np.stack([x[tasks.support[t][tasks.support_label[t] == k]].mean(0) for k in range(5)])
        z = x[tasks.query[t]]
        for _ in range(passes):
            cost = ((prototypes[:, None] - z) ** 2).sum(-1)
            plan = plain_sinkhorn(cost / cost.max(), 0.1)
            prototypes = np.stack([sum(w * q for w, q in zip(row, z)) / row.sum() for row in plan])
        assert scores[t] == pytest.approx(-((z[:, None] - prototypes) ** 2).sum(-1), abs=1e-5)


@pytest.mark.parametrize("n, m", [(6, 6), (3, 9), (4, 6)])
def test_transport_with_hardly_any_entropy_is_the_cheapest_plan(n, m):
    cost = np.random.default_rng(n * m).random((n, m))
    plan = transport(torch.from_numpy(cost), 1e-3, iterations=20_000).numpy()
    assert plan.sum(1) == pytest.approx(1 / n, abs=1e-4) and plan.sum(0) == pytest.approx(1 / m, abs=1e-8)
    sums = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.tile(np.eye(m), n)])
    best = linprog(cost.ravel(), A_eq=sums, b_eq=[1 / n] * n + [1 / m] * m)
    assert (plan * cost).sum() == pytest.approx(best.fun, abs=5e-3)
    if n == m:  # then the cheapest plan is a pairing
        assert (plan.argmax(1) == linear_sum_assignment(cost)[1]).all()


def test_transport_leaves_out_what_is_not_there_and_others_in_the_batch_do_not_matter():
    cost = torch.rand(2, 4, 7, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    rows, columns = torch.ones(2, 4, dtype=torch.bool), torch.ones(2, 7, dtype=torch.bool)
    rows[1, 2], columns[1, [0, 5]] = False, False
    plan = transport(cost, 0.05, rows=rows, columns=columns)
    assert torch.equal(plan[0], transport(cost[0], 0.05))
    assert (plan[1, 2] == 0).all() and (plan[1][:, [0, 5]] == 0).all()
    within = transport(cost[1][rows[1]][:, columns[1]], 0.05)
    assert plan[1][rows[1]][:, columns[1]] == pytest.approx(within, abs=1e-9)
    assert transport(cost[0], 0.05) == pytest.approx(plain_sinkhorn(cost[0].numpy(), 0.05), abs=1e-6)


def test_opta_asks_all_queries_in_any_order_and_moves_prototypes_to_them():
    bank = features(spread=0.35, dim=128)
    tasks = sample_closed(bank.labels, tasks=100, shots=1)
    scores = OpTA().scores(bank, tasks)
    order = np.random.default_rng(0).permutation(tasks.query.shape[1])
    mixed = Tasks(tasks.support, tasks.support_label, tasks.query[:, order], tasks.query_label[:, order], 5)
    assert OpTA().scores(bank, mixed) == pytest.approx(scores[:, order], abs=1e-5)
    right = [evaluate(learner, bank, tasks).accuracy().mean() for learner in (OpTA(), NearestCentroid())]
    assert right[0] > right[1] + 0.03  # at one shot, a mean of queries is a better prototype
    assert [made.name for made in OF_FEATURES if getattr(made, "transductive", False)] == ["opta"]


@pytest.mark.parametrize("dim", [8, 64])
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e10])
def test_r2d2_solves_long_features_and_leaves_the_others_as_they_are(dim, scale):
    rng = torch.Generator().manual_seed(0)
    centres = torch.randn(60, 5, 1, dim, generator=rng) + 5
    support, query = ((centres + 0.05 * torch.randn(60, 5, n, dim, generator=rng)).flatten(1, 2) for n in (5, 15))
    support[40:, 1] = support[40:, 0]  # an image twice: the larger system is singular
    members = F.one_hot(torch.arange(5).repeat_interleave(5), 5).float().expand(60, -1, -1)
    learner, truth = R2D2(), torch.arange(5).repeat_interleave(15)
    with torch.no_grad():
        plain = learner(support, members, query)
        factor = torch.ones(60, 1, 1)
        factor[30:] = scale
        mixed = learner(support * factor, members, query * factor)
    assert torch.equal(mixed[:30], plain[:30])  # not solved in another way because others in the batch are
    assert (mixed[30:].argmax(dim=-1) == truth).float().mean() > 0.995


def test_r2d2_is_scikit_learns_ridge_regression():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=5)
    learner = R2D2()
    learner.load_state_dict({"log_lambda": torch.tensor(1.3), "scale": torch.tensor(2.0), "bias": torch.tensor(0.5)})
    scores = learner.scores(bank, tasks).numpy()
    x = bank.data.double().numpy()
    for t in range(len(tasks)):
        model = Ridge(alpha=np.exp(1.3), fit_intercept=False).fit(
            x[tasks.support[t]], np.eye(5)[tasks.support_label[t]]
        )
        assert scores[t] == pytest.approx(2 * model.predict(x[tasks.query[t]]) + 0.5, abs=1e-3)


def test_cosine_classifier_is_gradient_descent_on_the_weights():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=3, shots=(4, 4, 5, 6, 6))
    learner = CosineClassifier(steps=20)
    scores = learner.scores(bank, tasks)
    for t in range(len(tasks)):
        x, z = (F.normalize(bank.data[i], dim=1) for i in (tasks.support[t], tasks.query[t]))
        y = torch.as_tensor(tasks.support_label[t].copy())
        w = torch.stack([x[y == k].sum(0) for k in range(5)])
        for _ in range(learner.steps):
            w = F.normalize(w, dim=1).requires_grad_()
            (slope,) = torch.autograd.grad(F.cross_entropy(learner.scale * x @ F.normalize(w, dim=1).T, y), w)
            w = (w - learner.lr * slope).detach()
        assert scores[t] == pytest.approx(learner.scale * z @ F.normalize(w, dim=1).T, abs=1e-3)


def test_anil_is_gradient_descent_on_the_head():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=3, shots=(4, 4, 5, 6, 6))
    learner = ANIL(steps=7, lr=0.02)
    scores = learner.scores(bank, tasks)
    for t in range(3):
        x, z = bank.data[tasks.support[t]], bank.data[tasks.query[t]]
        head = torch.nn.Linear(64, 5)
        torch.nn.init.zeros_(head.weight)
        torch.nn.init.zeros_(head.bias)
        optimiser = torch.optim.SGD(head.parameters(), 0.02)
        for _ in range(7):
            optimiser.zero_grad()
            F.cross_entropy(head(x), torch.as_tensor(tasks.support_label[t].copy())).backward()
            optimiser.step()
        assert scores[t] == pytest.approx(head(z).detach(), abs=1e-4)


def test_anil_that_takes_no_steps_knows_nothing():
    bank = features(dim=64)
    scores = ANIL(lr=0).scores(bank, sample_closed(bank.labels, tasks=3))
    assert (scores == 0).all()  # every class alike


@pytest.mark.parametrize("learner", [ANIL(lr=0.02), LEO(8, latent=4, fine_steps=2)], ids=lambda learner: learner.name)
def test_the_gradient_through_the_steps_is_that_of_finite_differences(learner):
    learner = copy.deepcopy(learner).double()
    generator = torch.Generator().manual_seed(0)
    x, z = (torch.randn(2, n, 8, dtype=torch.double, generator=generator, requires_grad=True) for n in (6, 5))
    y = F.one_hot(torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 1, 0]])).double()
    target = torch.tensor([[0, 1, 2, 0, 1], [2, 1, 0, 1, 2]])

    def loss(x, z):
        torch.manual_seed(0)  # the same draws of codes and weights
        return learner.loss(learner(x, y, z), target)

    if learner.name == "leo":
        # The target of the drift penalty is held fixed, which finite differences do not.
        learner.weight_of["drift"] = 0.0
    assert torch.autograd.gradcheck(loss, (x, z), atol=1e-5)


def test_leo_trains_all_its_parts_and_repeats_itself():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=4)
    learner = LEO(64)
    support, members, query, target = (
        bank.data[tasks.support],
        F.one_hot(torch.as_tensor(tasks.support_label.copy())).float(),
        bank.data[tasks.query],
        torch.as_tensor(tasks.query_label.copy()),
    )
    torch.manual_seed(0)
    scores = learner(support, members, query)
    assert set(learner.penalties) == {"kl", "drift", "correlation"} and min(learner.penalties.values()) > 0
    total = learner.loss(scores, target)
    assert total > F.cross_entropy(scores.flatten(0, 1), target.flatten())
    total.backward()
    for name, w in learner.named_parameters():
        assert w.grad is not None and w.grad.abs().max() > 0, name
    assert (learner(support, members, query) - scores).abs().max() > 1e-4  # drawn again
    first, key = learner.scores(bank, tasks), learner.config()
    assert (learner.scores(bank, tasks) == first).all() and (LEO(64).scores(bank, tasks) != first).any()
    with torch.no_grad():
        learner.encoder.weight[0, 0] += 1
    assert learner.config() != key and learner.config()["weights"] != key["weights"]


@pytest.mark.parametrize("learner", OF_FEATURES, ids=lambda learner: learner.name)
def test_the_order_of_classes_does_not_matter(learner):
    bank = features(dim=512, spread=0.12)
    tasks = sample_closed(bank.labels, tasks=5, shots=(4, 4, 5, 6, 6))
    order = np.array([3, 0, 4, 1, 2])  # class k becomes order[k]
    other = Tasks(tasks.support, order[tasks.support_label], tasks.query, order[tasks.query_label], 5)
    assert learner.scores(bank, other)[..., order] == pytest.approx(learner.scores(bank, tasks), abs=1e-4)


def padded(tasks):
    """The same tasks with two columns of padding on each side."""
    pad = np.full((len(tasks), 2), -1)
    return Tasks(
        *(
            np.concatenate([pad, a, pad], axis=1)
            for a in (tasks.support, tasks.support_label, tasks.query, tasks.query_label)
        ),
        tasks.ways,
    )


@pytest.mark.slow
@pytest.mark.parametrize("learner", OF_FEATURES + ON_MAPS, ids=lambda learner: learner.name)
def test_padding_chunks_and_threads_change_nothing(learner):
    bank = features(spread=0.12, dim=96 if learner in ON_MAPS else 512)
    tasks = sample_closed(bank.labels, tasks=60)
    one = learner.scores(bank, tasks)
    assert learner.scores(bank, padded(tasks))[:, 2:-2] == pytest.approx(one, abs=1e-5)
    reference = evaluate(learner, bank, tasks).correct
    assert (evaluate(learner, bank, padded(tasks)).accuracy() == reference.mean(axis=1)).all()
    threads = torch.get_num_threads()
    try:
        for chunk, count in ((1, 1), (7, 2), (60, 2)):
            torch.set_num_threads(count)
            assert (evaluate(learner, bank, tasks, chunk=chunk).correct == reference).all()
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("learner", OF_FEATURES + ON_MAPS, ids=lambda learner: learner.name)
def test_a_class_without_support_is_never_predicted(learner):
    bank = features(spread=0.12, dim=96 if learner in ON_MAPS else 512)
    tasks = sample_closed(bank.labels, tasks=5)
    gone = tasks.support_label == 2
    holed = Tasks(
        np.where(gone, -1, tasks.support), np.where(gone, -1, tasks.support_label), tasks.query, tasks.query_label, 5
    )
    scores = learner.scores(bank, holed)
    assert torch.isneginf(scores[..., 2]).all() and torch.isfinite(scores[..., [0, 1, 3, 4]]).all()


def test_lr_with_two_of_five_classes_is_scikit_learns_binary_fit():
    bank = features(dim=64, spread=0.3)
    tasks = sample_closed(bank.labels, tasks=4)
    few = tasks.support_label > 1
    support, label = np.where(few, -1, tasks.support), np.where(few, -1, tasks.support_label)
    holed = Tasks(support, label, tasks.query, tasks.query_label, 5)
    ours = torch.softmax(LogisticRegression().scores(bank, holed), -1).numpy()[..., :2]
    x = unit(bank.data.double().numpy())
    for t in range(4):
        model = SklearnLR(tol=1e-10).fit(x[support[t][~few[t]]], label[t][~few[t]])
        assert ours[t] == pytest.approx(model.predict_proba(x[tasks.query[t]]), abs=1e-4)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("ways", [20, 50])
def test_lr_of_many_uneven_and_padded_classes_is_scikit_learns(ways, C):
    """By L-BFGS: classes of 1 to 7 images, one without any, padding, and tasks beside it that change nothing."""
    bank = features(classes=ways + 4, n=20, dim=64, spread=0.3)
    shots = tuple(1 + k % 7 for k in range(ways))
    tasks = sample_closed(bank.labels, tasks=3, ways=ways, shots=shots, queries=2)
    gone = tasks.support_label == 3
    support, label = np.where(gone, -1, tasks.support), np.where(gone, -1, tasks.support_label)
    tasks = padded(Tasks(support, label, tasks.query, tasks.query_label, ways))
    learner = LogisticRegression(C=C)
    logits = learner.scores(bank, tasks)
    kept, x = [k for k in range(ways) if k != 3], unit(bank.data.double().numpy())
    for t in range(3):
        assert learner.scores(bank, tasks[t : t + 1])[0] == pytest.approx(logits[t], abs=1e-4)
        mine, asked = tasks.support_label[t] >= 0, tasks.query[t] >= 0
        model = SklearnLR(C=C, tol=1e-10, max_iter=10_000).fit(x[tasks.support[t, mine]], tasks.support_label[t, mine])
        ours = torch.softmax(logits[t, asked], -1).numpy()
        assert not ours[:, 3].any()
        assert ours[:, kept] == pytest.approx(model.predict_proba(x[tasks.query[t, asked]]), abs=1e-4)


@pytest.mark.parametrize("tol, most", [(1e-6, 8), (1e-2, 4)])
def test_lr_takes_few_steps_among_many_classes(monkeypatch, tol, most):
    """Seven looks at the objective where a fixed Hessian takes tens; and the gradient is within the tolerance."""
    bank = features(classes=50, n=20, dim=512)
    tasks = sample_closed(bank.labels, tasks=3, ways=50, queries=2)
    looks, objective = [], logistic._Problem.objective
    monkeypatch.setattr(logistic._Problem, "objective", lambda *given: looks.append(1) or objective(*given))
    x = torch.from_numpy(unit(bank.data.double().numpy()))[torch.from_numpy(tasks.support.astype(np.int64))]
    y = F.one_hot(torch.from_numpy(tasks.support_label.astype(np.int64)), 50).mT.double()
    gram, lam = x @ x.mT, torch.ones(3, 1, 1, dtype=torch.float64)
    a, b = logistic.solve(gram, y, lam, tol, 1000)
    residual = torch.softmax(a @ gram + b, dim=1) - y
    assert len(looks) <= most
    assert ((residual + lam * a) @ gram).abs().max() < tol and residual.sum(dim=-1).abs().max() < tol


@pytest.mark.parametrize("ways", [9, 20])
def test_lr_finishes_where_the_short_first_try_does_not(ways):
    # Images far apart and hardly regularised: probabilities near 0 and 1, 50 steps do not do.
    bank = features(dim=64, spread=2.0)
    tasks = sample_closed(bank.labels, tasks=4, ways=ways)
    ours = torch.softmax(LogisticRegression(C=100, max_iter=5000).scores(bank, tasks), -1).numpy()
    x = unit(bank.data.double().numpy())
    for t in range(4):
        model = SklearnLR(C=100, tol=1e-10, max_iter=10_000).fit(x[tasks.support[t]], tasks.support_label[t])
        assert ours[t] == pytest.approx(model.predict_proba(x[tasks.query[t]]), abs=1e-4)


@pytest.mark.parametrize("ways", [5, 12])
@pytest.mark.parametrize("C", [1e4, 1e6, 1e10])
def test_a_penalty_that_is_as_small_as_the_rounding_of_32_bits(ways, C):
    """More images than features, so that the matrix of their products has eigenvalues of 0."""
    bank = features(classes=ways, n=20, dim=16, spread=0.3)
    named = Bank(bank.data, bank.labels, "x", text=torch.randn(ways, 16, generator=torch.manual_seed(0)))
    tasks = sample_closed(bank.labels, tasks=4, ways=ways, queries=3)
    assert TextProbe(C=C).scores(named, tasks).abs().max() < 300
    logits = LogisticRegression(C=C).scores(bank, tasks)
    assert logits.abs().max() < 1000
    if C > 1e4:
        return
    ours = torch.softmax(LogisticRegression(C=C, max_iter=5000).scores(bank, tasks), -1).numpy()
    x = unit(bank.data.double().numpy())
    for t in range(4):
        model = SklearnLR(C=C, tol=1e-10, max_iter=10_000).fit(x[tasks.support[t]], tasks.support_label[t])
        assert ours[t] == pytest.approx(model.predict_proba(x[tasks.query[t]]), abs=0.01)


def test_feature_learners_refuse_images():
    bank = Bank(torch.zeros(40, 8, 8, 1, dtype=torch.uint8), np.arange(4).repeat(10), "x")
    tasks = sample_closed(bank.labels, tasks=2, ways=2, shots=1, queries=1)
    with pytest.raises(InputError, match="features are needed"):
        NearestCentroid().scores(bank, tasks)


# ------------------------------------------------------------ learners on maps


def cosine(a, b):
    """0 for a place where nothing fires."""
    return sum(x * y for x, y in zip(a, b)) / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def plain_dn4(learner, shots, query):
    """Score of one class: shots (s, P, C), query (P, C)."""
    pool = shots.reshape(-1, shots.shape[-1])
    return sum(sum(sorted(cosine(place, other) for other in pool)[-learner.neighbours :]) for place in query)


def plain_can(learner, shots, query):
    first, _, last = (
        m if isinstance(m, torch.nn.ReLU) else [p.detach().double().numpy() for p in m.parameters()]
        for m in learner.fusion
    )
    shots = shots.mean(0)
    correlation = np.array([[cosine(p, q) for q in query] for p in shots])  # (places of the class, of the query)

    def attended(map_, rows):
        kernel = last[0] @ np.maximum(first[0] @ rows.mean(0) + first[1], 0) + last[1]
        weight = 1 + softmax(np.array([np.mean(kernel * row) for row in rows]) / learner.temperature)
        return sum(w * place for w, place in zip(weight, map_)) / len(map_)

    return learner.scale * cosine(attended(shots, correlation), attended(query, correlation.T))


def plain_renet(learner, shots, query):
    def with_structure(map_):
        """SCR of a map (P, C), place by place."""
        channels, height, width = MAP
        unit = np.maximum(map_, 0).reshape(height, width, channels)
        unit = unit / np.maximum(np.linalg.norm(unit, axis=-1, keepdims=True), 1e-12)
        out = map_.copy()
        for place in range(len(map_)):
            y, x = divmod(place, width)
            products = np.zeros((channels, 5, 5))
            for dy in range(-2, 3):
                for dx in range(-2, 3):
                    if 0 <= y + dy < height and 0 <= x + dx < width:
                        products[:, dy + 2, dx + 2] = unit[y, x] * unit[y + dy, x + dx]
            out[place] += learner.self_correlation(torch.as_tensor(products)[None].float()).detach().numpy().ravel()
        return out - out.mean(1, keepdims=True)

    def smoothed(c, kernel, side):
        """3×3 filter over the query's (side 0) or the support's (side 1) places of c (P, P')."""
        out = np.zeros_like(c)
        for place in range(c.shape[side]):
            y, x = divmod(place, MAP[2])
            for other in range(c.shape[side]):
                v, u = divmod(other, MAP[2])
                if abs(v - y) <= 1 and abs(u - x) <= 1:
                    weight = kernel[v - y + 1, u - x + 1]
                    if side == 0:
                        out[place] += weight * c[other]
                    else:
                        out[:, place] += weight * c[:, other]
        return out

    reduce = learner.reduce.weight.detach().double().numpy()
    kernels = learner.kernels.detach().double().numpy()[:, :, 0, 0]
    q, of_query, of_support = with_structure(query), [], []
    for shot in shots:
        s = with_structure(shot)
        c = np.array([[cosine(reduce @ a, reduce @ b) for b in s] for a in q])
        c = smoothed(smoothed(c, kernels[0, 0], 1), kernels[0, 1], 0)
        c = np.maximum(c - learner.threshold.item(), 0)
        c = smoothed(smoothed(c, kernels[1, 0], 1), kernels[1, 1], 0)

        def standard(v):
            return softmax((v - v.mean()) / np.sqrt(v.var() + 1e-5) / learner.attention_temperature)

        to_query = np.mean([standard(c[:, b]) for b in range(len(s))], axis=0)
        to_support = np.mean([standard(c[a]) for a in range(len(q))], axis=0)
        of_query.append(to_query @ q)
        of_support.append(to_support @ s)
    return cosine(np.mean(of_query, axis=0), np.mean(of_support, axis=0)) / learner.temperature


@pytest.mark.parametrize("shots", [1, (1, 2, 3)])
@pytest.mark.parametrize("learner", ON_MAPS, ids=lambda learner: learner.name)
def test_learners_on_maps_against_a_loop(learner, shots):
    plain = {"dn4": plain_dn4, "can": plain_can, "renet": plain_renet}[learner.name]
    bank = features(dim=96)
    tasks = sample_closed(bank.labels, tasks=2, ways=3, shots=shots, queries=2)
    scores = learner.scores(bank, tasks).detach()
    maps = bank.data.double().numpy().reshape(len(bank), MAP[0], -1).swapaxes(1, 2)  # (N, P, C)
    for t in range(2):
        for i, image in enumerate(tasks.query[t]):
            expected = [
                plain(learner, maps[tasks.support[t][tasks.support_label[t] == k]], maps[image]) for k in range(3)
            ]
            assert scores[t, i].numpy() == pytest.approx(np.array(expected), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("learner", ON_MAPS, ids=lambda learner: learner.name)
def test_order_and_repetition_on_maps(learner):
    bank = features(dim=96)
    tasks = sample_closed(bank.labels, tasks=6, ways=4, shots=5, queries=3)
    scores = learner.scores(bank, tasks)
    rng = np.random.default_rng(0)
    s, q, k = rng.permutation(20), rng.permutation(12), rng.permutation(4)
    moved = Tasks(tasks.support[:, s], k[tasks.support_label[:, s]], tasks.query[:, q], k[tasks.query_label[:, q]], 4)
    assert learner.scores(bank, moved)[..., k] == pytest.approx(scores[:, q], abs=1e-4)
    twice = Tasks(np.tile(tasks.support, 2), np.tile(tasks.support_label, 2), tasks.query, tasks.query_label, 4)
    same = (learner.scores(bank, twice) - scores).abs().max() < 1e-4
    assert same != isinstance(learner, DN4)  # means do not change; a pool that holds each place twice does


def test_renets_temperatures_are_the_papers_and_do_what_they_say():
    """τ = 0.2 and γ = 5 (Kang et al., 2021, section 4): a query that is the support scores 1 / τ = 5, the most."""
    bank = features(dim=96)
    again = Bank(torch.cat([bank.data, bank.data]), np.tile(bank.labels, 2), "")
    tasks = sample_closed(bank.labels, tasks=4, ways=3, shots=1, queries=1)
    copies = Tasks(tasks.support, tasks.support_label, tasks.support + len(bank), tasks.support_label, 3)
    torch.manual_seed(0)
    learner = RENet(MAP)
    scores = learner.scores(again, copies).detach()
    assert scores.diagonal(dim1=1, dim2=2).numpy() == pytest.approx(5, abs=1e-4) and scores.max() <= 5 + 1e-4
    of = {}
    for name, given in {"as it is": {}, "τ": {"temperature": 0.4}, "γ": {"attention_temperature": 1e6}}.items():
        torch.manual_seed(0)
        of[name] = RENet(MAP, **given).scores(bank, tasks).detach()
    assert (of["τ"] - of["as it is"] / 2).abs().max() < 1e-5
    ups = torch.tensor([1.0, -1.0, -1.0, 1.0])  # mean 0 and variance 1: the softmax of ± 1 / γ
    share = learner.attention(ups[None], dim=1)[0].detach()
    assert float(share[0] / share[1]) == pytest.approx(np.exp(2 / 5), rel=1e-3)
    # At an endless γ every place counts alike: the cosine of mean maps.
    torch.manual_seed(0)
    places = RENet(MAP).embed(bank.data).mean(dim=1).detach()
    support, query = (places[torch.as_tensor(i.copy())] for i in (tasks.support, tasks.query))
    cosines = F.cosine_similarity(query[:, :, None], support[:, None], dim=-1)
    assert (of["γ"] - cosines / 0.2).abs().max() < 1e-3 and (of["γ"] - of["as it is"]).abs().max() > 1e-2


@pytest.mark.parametrize("learner", [DN4, CAN, RENet])
def test_gradient_reaches_network_and_learner(learner):
    torch.manual_seed(0)
    network, learner = Conv4(8, pooled=3), learner((8, 4, 4))
    x, z = torch.rand(2, 6, 3, 32, 32), torch.rand(2, 4, 3, 32, 32)
    members = F.one_hot(torch.arange(6) // 2, 3).float().expand(2, -1, -1)
    scores = learner.on_images(network, x, members, z)
    assert scores.shape == (2, 4, 3)
    F.cross_entropy(scores.flatten(0, 1), torch.tensor([0, 1, 2, 0] * 2)).backward()
    for name, w in [*network.named_parameters(), *learner.named_parameters()]:
        assert w.grad is not None and torch.isfinite(w.grad).all(), name
        assert w.grad.abs().max() > 0, name


def test_maps_that_do_not_fit(meta_trained):
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=2)
    with pytest.raises(InputError, match="learner = dn4; features of length 64, the flattening of a map of 64 × 4 × 4"):
        DN4().scores(bank, tasks)
    with pytest.raises(InputError, match="can; the features of conv4-maml are no map; those of conv4-can are"):
        learners.make("can", meta_trained)
    assert learners.make("renet", replace(meta_trained, map=(8, 2, 2))).map == (8, 2, 2)
    with pytest.raises(InputError, match="neighbours = 13; a whole number from 1 to 12 is allowed"):
        DN4(MAP, neighbours=13)


# ------------------------------------------------------------ fine-tuning


def glyph_like(seed=0):
    """A GlyphConv with random weights and batch statistics, as a backbone."""
    torch.manual_seed(seed)
    network = GlyphConv().eval()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    return Backbone("test", "", "", GlyphConv.dim, network, (0.5,) * 3, (0.5,) * 3, 28, "bilinear", "0")


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (8, 28, 28, 1))
    x = (centres.repeat(25, 0) + rng.normal(0, 90, (200, 28, 28, 1))).clip(0, 255).astype(np.uint8)
    return Bank(torch.from_numpy(x), np.arange(8).repeat(25), "pictures")


def plain_finetuning(backbone, bank, tasks, t, epochs):
    """The paper's recipe for one task, written as one would without batching."""
    network = copy.deepcopy(backbone.network).eval()
    head = torch.nn.Linear(backbone.dim, tasks.ways)
    torch.nn.init.ones_(head.weight)
    torch.nn.init.zeros_(head.bias)
    groups = [{"params": network.parameters(), "lr": 1e-4}, {"params": head.parameters(), "lr": 0.1}]
    optimiser = torch.optim.SGD(groups, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    x, y = backbone.preprocess(bank.data[tasks.support[t]]), torch.as_tensor(tasks.support_label[t].copy())
    for _ in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(head(F.normalize(network(x), dim=-1)), y).backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        return head(F.normalize(network(backbone.preprocess(bank.data[tasks.query[t]])), dim=-1))


@pytest.mark.slow
def test_finetuning_of_a_batch_is_that_of_each_task(pictures):
    backbone = glyph_like()
    before = copy.deepcopy(backbone.network.state_dict())
    tasks = sample_closed(pictures.labels, tasks=2, queries=5)
    learner = FineTune(backbone)
    batch = learner._together(pictures, tasks)
    for t in range(len(tasks)):
        assert learner.scores(pictures, tasks[t : t + 1])[0] == pytest.approx(batch[t], abs=1e-4)
        assert plain_finetuning(backbone, pictures, tasks, t, 30) == pytest.approx(batch[t], abs=1e-3)
    for part in (learner.scores, learner._together):
        assert part(pictures, padded(tasks))[:, 2:-2] == pytest.approx(batch, abs=1e-4)
    after = backbone.network.state_dict()
    assert all(torch.equal(before[k], after[k]) for k in before)  # the backbone given is left as it was
    assert np.ptp(batch.numpy(), axis=-1).min() > 0  # it did train: equal heads would tie


def test_finetuning_on_a_cpu_is_the_same_however_many_tasks_are_given_at_once(pictures):
    tasks = sample_closed(pictures.labels, tasks=3, queries=5)
    learner = FineTune(glyph_like(), epochs=3)
    one, three = (torch.cat(list(scores(learner, pictures, tasks, chunk=chunk))) for chunk in (1, 3))
    assert torch.equal(one, three)


@pytest.mark.parametrize("name", ["glyph-conv", "efficientnet-lite0"])
def test_finetuning_in_bfloat16_differs_by_rounding_alone_and_in_its_key(pictures, monkeypatch, name):
    tasks = sample_closed(pictures.labels, tasks=2, shots=2, queries=3)
    learner = FineTune(backbones.load(name), epochs=3)
    exact, config = learner.scores(pictures, tasks), learner.config()
    assert "precision" not in config  # keys of 32 bits stay as they were
    monkeypatch.setenv("FSLCORE_PRECISION", "bf16")
    assert learner.config() == config | {"precision": "bf16"}
    rounded = learner.scores(pictures, tasks)
    assert rounded.dtype == torch.float32 and not torch.equal(rounded, exact)
    exact, rounded = (found - found.mean(dim=-1, keepdim=True) for found in (exact, rounded))
    assert rounded == pytest.approx(exact, abs=0.2 * exact.abs().max().item())
    assert all(p.dtype == torch.float32 for p in learner.network.parameters())


def test_finetuning_of_an_efficientnet(pictures):
    backbone = backbones.load("efficientnet-lite0")
    tasks = sample_closed(pictures.labels, tasks=2, ways=3, shots=2, queries=3)
    ours = FineTune(backbone, epochs=3).scores(pictures, tasks)
    for t in range(2):
        assert plain_finetuning(backbone, pictures, tasks, t, 3) == pytest.approx(ours[t], abs=1e-3)


@pytest.mark.parametrize("side", [32, 64])
def test_fast_convolutions_have_the_same_outputs_and_gradients(side):
    network = backbones.load("efficientnet-lite0").network
    fast = with_fast_convolutions(copy.deepcopy(network))
    x = torch.randn(3, 3, side, side, generator=torch.Generator().manual_seed(0))
    for model in (network, fast):
        model(x).square().sum().backward()
    assert fast(x).detach() == pytest.approx(network(x).detach(), abs=1e-4)
    named = dict(fast.named_parameters())
    for name, p in network.named_parameters():
        off = (named[name].grad - p.grad).abs().max()  # approx takes seconds on a million numbers
        assert off <= 1e-3 * p.grad.abs().max() + 1e-6, name


# ------------------------------------------------------------ MAML


@pytest.fixture(scope="module")
def meta_trained():
    torch.manual_seed(0)
    return Backbone("conv4-maml", "", "", 32, Conv4(8).eval(), (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "0")


def plain_maml(backbone, x, y, z, steps, lr, transductive):
    """One task as one would write it: a network in training mode, and plain SGD."""
    network = copy.deepcopy(backbone.network).train()
    head = torch.nn.Linear(network(x).shape[1], 5)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    optimiser = torch.optim.SGD([*network.parameters(), *head.parameters()], lr)
    for _ in range(steps):
        optimiser.zero_grad()
        F.cross_entropy(head(network(x)), y).backward()
        optimiser.step()
    with torch.no_grad():
        if transductive:
            return head(network(z))
        out = x  # the support goes along, for its statistics
        for block in network:
            if not isinstance(block, torch.nn.Sequential):
                out, z = block(out), block(z)
                continue
            convolution, norm, relu, pool = block
            out, z = convolution(out), convolution(z)
            var, mean = torch.var_mean(out, (0, 2, 3), correction=0)
            out, z = (F.batch_norm(v, mean, var, norm.weight, norm.bias, eps=norm.eps) for v in (out, z))
            out, z = pool(relu(out)), pool(relu(z))
        return head(z)


@pytest.mark.parametrize("transductive", [False, True])
def test_maml_is_a_few_steps_of_sgd(pictures, meta_trained, transductive):
    tasks = sample_closed(pictures.labels, tasks=3, shots=(2, 3, 3, 4, 2), queries=4)
    learner = MAML(meta_trained, steps=3, transductive=transductive)
    scores = learner.scores(pictures, tasks)
    assert learner.scores(pictures, padded(tasks))[:, 2:-2] == pytest.approx(scores, abs=1e-4)
    for t in range(3):
        x, z = (meta_trained.preprocess(pictures.data[i]) for i in (tasks.support[t], tasks.query[t]))
        y = torch.as_tensor(tasks.support_label[t].copy())
        plain = plain_maml(meta_trained, x, y, z, 3, learner.lr, transductive)
        assert scores[t] == pytest.approx(plain, abs=1e-3)
    gone = tasks.support_label == 1
    holed = Tasks(
        np.where(gone, -1, tasks.support), np.where(gone, -1, tasks.support_label), tasks.query, tasks.query_label, 5
    )
    scores = learner.scores(pictures, holed)
    assert torch.isneginf(scores[..., 1]).all() and torch.isfinite(scores[..., [0, 2, 3, 4]]).all()


@pytest.fixture(scope="module")
def boil_trained(meta_trained):
    torch.manual_seed(1)
    return replace(meta_trained, name="conv4-1shot-boil", head=torch.nn.Linear(32, 5).state_dict())


def test_boil_is_a_few_steps_of_sgd_on_the_network(pictures, boil_trained):
    tasks = sample_closed(pictures.labels, tasks=2, shots=(2, 3, 3, 4, 2), queries=4)
    learner = learners.make("boil", boil_trained, steps=3, transductive=True)
    scores = learner.scores(pictures, tasks)
    assert learner.scores(pictures, padded(tasks))[:, 2:-2] == pytest.approx(scores, abs=1e-4)
    for t in range(2):
        x, z = (boil_trained.preprocess(pictures.data[i]) for i in (tasks.support[t], tasks.query[t]))
        network, head = copy.deepcopy(boil_trained.network).train(), torch.nn.Linear(32, 5)
        head.load_state_dict(boil_trained.head)
        optimiser = torch.optim.SGD(network.parameters(), learner.lr)
        for _ in range(3):
            optimiser.zero_grad()
            F.cross_entropy(head(network(x)), torch.as_tensor(tasks.support_label[t].copy())).backward()
            optimiser.step()
        assert scores[t] == pytest.approx(head(network(z)).detach(), abs=1e-3)
    assert all(torch.equal(w, boil_trained.head[name]) for name, w in learner.head.state_dict().items())  # it stayed


@pytest.mark.parametrize("first_order", [True, False])
def test_training_of_boil_reaches_network_and_head(pictures, boil_trained, first_order):
    learner = BOIL(dim=32, first_order=first_order)
    network = with_task_norm(copy.deepcopy(boil_trained.network))
    x, z = (boil_trained.preprocess(pictures.data[rows])[None] for rows in (slice(0, 125, 12), slice(5, 125, 25)))
    y, target = F.one_hot(torch.arange(0, 125, 12) // 25, 5).float()[None], torch.arange(5)[None]
    learner.loss(learner.on_images(network, x, y, z), target).backward()
    for name, w in (*network.named_parameters(), *learner.head.named_parameters()):
        assert w.grad is not None and w.grad.abs().max() > 0, name


def test_boil_knows_as_many_classes_as_its_head(pictures, boil_trained):
    with pytest.raises(InputError, match="ways = 3; 5, those that BOIL's head"):
        BOIL(boil_trained).scores(pictures, sample_closed(pictures.labels, tasks=2, ways=3, queries=2))
    with pytest.raises(InputError, match="conv4-maml was not trained for it, conv4-boil was"):
        BOIL(replace(boil_trained, name="conv4-maml"))
    with pytest.raises(InputError, match="conv4-1shot-boil: no head; the checkpoint of a training with boil has one"):
        BOIL(replace(boil_trained, head={}))


def test_a_query_of_maml_does_not_see_the_others(pictures, meta_trained):
    tasks = sample_closed(pictures.labels, tasks=2, shots=2, queries=4)
    alone = Tasks(tasks.support, tasks.support_label, tasks.query[:, :1], tasks.query_label[:, :1], 5)
    learner, released = MAML(meta_trained), MAML(meta_trained, transductive=True)
    assert learner.scores(pictures, alone)[:, 0] == pytest.approx(learner.scores(pictures, tasks)[:, 0], abs=1e-4)
    both = released.scores(pictures, alone)[:, 0], released.scores(pictures, tasks)[:, 0]
    assert (both[0] - both[1]).abs().max() > 1e-2


def test_the_gradient_through_mamls_steps_is_that_of_finite_differences(pictures, meta_trained):
    network = with_task_norm(copy.deepcopy(meta_trained.network)).double()
    x = meta_trained.preprocess(pictures.data[:10]).double()[None]
    y = F.one_hot(torch.arange(10) // 2, 5).double()[None]
    z, target = meta_trained.preprocess(pictures.data[50:55]).double()[None], torch.arange(5)
    learner = MAML(steps=3)
    w = network[0][1].weight  # of the first normalisation

    def loss():
        return F.cross_entropy(learner.on_images(network, x, y, z)[0], target)

    (slope,) = torch.autograd.grad(loss(), w)
    for i in range(0, 8, 3):
        with torch.no_grad():
            w[i] += 1e-5
        up = loss().item()
        with torch.no_grad():
            w[i] -= 2e-5
        down = loss().item()
        with torch.no_grad():
            w[i] += 1e-5
        assert slope[i].item() == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-7)


def test_maml_wants_its_own_backbone():
    with pytest.raises(InputError, match="test was not trained for it"):
        MAML(glyph_like())


def test_learners_by_name(meta_trained):
    assert learners.make("maml", meta_trained).name == "maml"
    trained = {"log_lambda": torch.tensor(-1.0), "scale": torch.tensor(3.0), "bias": torch.tensor(0.0)}
    backbone = replace(meta_trained, name="conv4-r2d2", head=trained)
    assert learners.make("r2d2", backbone).log_lambda == -1
    assert learners.make("r2d2", meta_trained).log_lambda == 0  # trained for another learner
    with pytest.raises(InputError, match="learner = ft; precomputed features allow ncc"):
        learners.make("ft")
    with pytest.raises(InputError, match="learner = knn; ncc, lr"):
        learners.make("knn")


def test_bad_settings():
    with pytest.raises(InputError, match="steps = 0"):
        MAML(steps=0)
    with pytest.raises(InputError, match="steps = 0"):
        ANIL(steps=0)
    with pytest.raises(InputError, match="epsilon = 0; a number over 0"):
        OpTA(epsilon=0)
    with pytest.raises(InputError, match="passes = 0"):
        OpTA(passes=0)
    for C in (0, np.inf, "1"):
        with pytest.raises(InputError, match=f"C = {C}; a number over 0"):
            LogisticRegression(C=C)
    with pytest.raises(InputError, match="epochs = 0"):
        FineTune(glyph_like(), epochs=0)
