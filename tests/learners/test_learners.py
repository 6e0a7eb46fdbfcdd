"""Each learner against scikit-learn, SciPy or a plain loop."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from learner_inputs import (
    UNEVEN,
    features,
    glyph_like,
    minus_distance,
    noisy_pictures,
    padded,
    task_rows,
    task_tensors,
    unit,
    without_classes,
    zero_head,
)
from refusal import refuses
from sklearn.linear_model import LogisticRegression as SklearnLR
from torch.nn import functional as F

from fslcore import learners
from fslcore.learners import (
    CosineClassifier,
    FineTune,
    LogisticRegression,
    NearestCentroid,
    ProtoNet,
    SimpleShot,
    logistic,
)
from fslcore.models import backbones
from fslcore.tasks import sample_closed


def repeated(tasks):
    count = np.random.default_rng(0).integers(1, 4, tasks.support.shape[1])
    return replace(
        tasks,
        support=tasks.support.repeat(count, 1),
        support_label=tasks.support_label.repeat(count, 1),
    )


def padded_without_one(tasks):
    return padded(without_classes(tasks, 3))


FEW = dict(dim=64, spread=0.3)

LR_CASES = [(FEW, dict(ways=ways), None, C, 1e-4) for C in (0.1, 100.0) for ways in (2, 5)]

LR_CASES += [
    (FEW, {}, repeated, 1.0, 1e-4),
    (FEW, {}, lambda tasks: without_classes(tasks, 2, 3, 4), 1.0, 1e-4),
]

# Images far apart and hardly regularised: 50 steps do not suffice.
LR_CASES += [(dict(dim=64, spread=2.0), dict(ways=ways), None, 100, 1e-4) for ways in (9, 20)]

# By L-BFGS: classes of 1 to 7 images.
LR_CASES += [
    (
        dict(classes=ways + 4, n=20, **FEW),
        dict(ways=ways, shots=tuple(1 + k % 7 for k in range(ways)), queries=2),
        padded_without_one,
        C,
        1e-4,
    )
    for ways, C in ((20, 1.0), (50, 1000.0))
]

# More images than features: the matrix of their products has eigenvalues of 0.
LR_CASES += [
    (dict(classes=w, n=20, dim=16, spread=0.3), dict(ways=w, queries=3), None, 1e4, 0.01)
    for w in (5, 12)
]


@pytest.mark.parametrize("bank, shape, change, C, tolerance", LR_CASES)
def test_lr_probabilities_are_those_of_a_tight_scikit_learn(bank, shape, change, C, tolerance):
    bank = features(**bank)
    tasks = sample_closed(bank.labels, tasks=3, **shape)
    tasks = change(tasks) if change else tasks
    learner = LogisticRegression(C=C, max_iter=5000)
    x = unit(bank.data.double().numpy())
    logits = learner.scores(bank, tasks)
    for t, (support, label, query) in enumerate(task_rows(tasks)):
        assert learner.scores(bank, tasks[t : t + 1])[0] == pytest.approx(logits[t], abs=tolerance)
        model = SklearnLR(C=C, tol=1e-10, max_iter=10_000).fit(x[support], label)
        ours = torch.softmax(logits[t, tasks.query[t] >= 0], -1)
        assert ours[:, model.classes_] == pytest.approx(
            model.predict_proba(x[query]), abs=tolerance
        )
        assert ours.sum(-1) == pytest.approx(1)


@pytest.mark.parametrize("tol, limit", [(1e-6, 8), (1e-2, 4)])
def test_lr_takes_few_steps_among_many_classes(monkeypatch, tol, limit):
    """Seven looks at the objective where a fixed Hessian takes tens; and the gradient is within the
    tolerance.
    """
    bank = features(classes=50, n=20, dim=512)
    tasks = sample_closed(bank.labels, tasks=3, ways=50, queries=2)
    looks = []
    objective = logistic._Problem.objective
    monkeypatch.setattr(
        logistic._Problem, "objective", lambda *state: looks.append(1) or objective(*state)
    )
    x = F.normalize(bank.data[tasks.support].double(), dim=-1)
    y = F.one_hot(torch.from_numpy(tasks.support_label.astype(np.int64)), 50).mT.double()
    gram = x @ x.mT
    lam = torch.ones(3, 1, 1, dtype=torch.float64)
    a, b = logistic.solve(gram, y, lam, tol, 1000)
    residual = torch.softmax(a @ gram + b, dim=1) - y
    assert len(looks) <= limit
    assert ((residual + lam * a) @ gram).abs().max() < tol and residual.sum(
        dim=-1
    ).abs().max() < tol


@pytest.mark.parametrize("ways", [5, 12])
@pytest.mark.parametrize("C", [1e4, 1e10])
def test_scores_stay_bounded_where_the_penalty_is_as_small_as_the_rounding_of_32_bits(ways, C):
    bank = features(classes=ways, n=20, dim=16, spread=0.3)
    tasks = sample_closed(bank.labels, tasks=4, ways=ways, queries=3)
    assert LogisticRegression(C=C).scores(bank, tasks).abs().max() < 1000


CENTER = np.full(96, 0.3)


def cosine_of_means(x, means):
    return x @ unit(means).T


@pytest.mark.parametrize(
    "learner, transform, compare",
    [
        (NearestCentroid(), unit, cosine_of_means),
        (ProtoNet(), np.asarray, minus_distance),
        (SimpleShot("UN"), np.asarray, minus_distance),
        (SimpleShot("L2N"), unit, minus_distance),
        (SimpleShot("CL2N", CENTER), lambda x: unit(x - CENTER), minus_distance),
    ],
)
def test_nearest_means_against_a_loop(learner, transform, compare):
    bank = features()
    tasks = sample_closed(bank.labels, tasks=20, shots=UNEVEN)
    scores = learner.scores(bank, tasks).detach().numpy()
    x = transform(bank.data.double().numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        means = np.stack([x[support[label == k]].mean(0) for k in range(5)])
        assert answer == pytest.approx(compare(x[query], means), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("learner", [NearestCentroid(), LogisticRegression()])
def test_a_feature_of_zeros_has_finite_scores(learner):
    bank = features()
    bank.data[::3] = 0
    tasks = sample_closed(bank.labels, tasks=5)
    assert torch.isfinite(learner.scores(bank, tasks)).all()


def test_cosine_classifier_is_gradient_descent_on_the_weights():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN)
    learner = CosineClassifier(steps=20)
    for answer, (x, y, z) in zip(
        learner.scores(bank, tasks), task_tensors(F.normalize(bank.data, dim=1), tasks)
    ):
        w = torch.stack([x[y == k].sum(0) for k in range(5)])
        for _ in range(20):
            w = F.normalize(w, dim=1).requires_grad_()
            (slope,) = torch.autograd.grad(
                F.cross_entropy(learner.scale * x @ F.normalize(w, dim=1).T, y), w
            )
            w = (w - learner.lr * slope).detach()
        assert answer == pytest.approx(learner.scale * z @ F.normalize(w, dim=1).T, abs=1e-3)


@pytest.fixture(scope="module")
def pictures():
    return noisy_pictures()


def plain_finetuning(backbone, x, y, z, ways, epochs):
    """The paper's recipe for one task, written as one would without batching."""
    network = copy.deepcopy(backbone.module).eval()
    head = zero_head(backbone.dim, ways)
    torch.nn.init.ones_(head.weight)
    groups = [
        {"params": network.parameters(), "lr": 1e-4},
        {"params": head.parameters(), "lr": 0.1},
    ]
    optimiser = torch.optim.SGD(groups, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(head(F.normalize(network(backbone.preprocess(x)), dim=-1)), y).backward()
        optimiser.step()
        schedule.step()
    return head(F.normalize(network(backbone.preprocess(z)), dim=-1)).detach()


@pytest.mark.parametrize(
    "name, epochs", [("efficientnet-lite0", 3), pytest.param("glyph", 30, marks=pytest.mark.slow)]
)
def test_finetuning_is_that_of_a_loop_on_each_task_and_in_a_batch(pictures, name, epochs):
    backbone = glyph_like() if name == "glyph" else backbones.load(name)
    before = copy.deepcopy(backbone.module.state_dict())
    tasks = sample_closed(pictures.labels, tasks=2, ways=3, shots=2, queries=3)
    learner = FineTune(backbone, epochs)
    scores = learner.scores(pictures, tasks)
    for answer, task in zip(scores, task_tensors(pictures.data, tasks)):
        assert answer == pytest.approx(plain_finetuning(backbone, *task, 3, epochs), abs=1e-3)
    if name == "glyph":
        for part in (learner.scores, learner._together):
            assert part(pictures, padded(tasks))[:, 2:-2] == pytest.approx(scores, abs=1e-4)
    assert all(
        torch.equal(before[key], after) for key, after in backbone.module.state_dict().items()
    )
    assert np.ptp(scores.numpy(), axis=-1).min() > 0  # it did train: equal heads would tie


@pytest.mark.parametrize("name", ["glyph-conv", "efficientnet-lite0"])
def test_finetuning_in_bfloat16_differs_by_rounding_alone_and_in_its_key(
    pictures, monkeypatch, name
):
    tasks = sample_closed(pictures.labels, tasks=2, shots=2, queries=3)
    learner = FineTune(backbones.load(name), epochs=3)
    exact = learner.scores(pictures, tasks)
    config = learner.config()
    assert "precision" not in config  # keys of 32 bits stay as they were
    monkeypatch.setenv("FSLCORE_PRECISION", "bf16")
    assert learner.config() == config | {"precision": "bf16"}
    rounded = learner.scores(pictures, tasks)
    assert rounded.dtype == torch.float32 and not torch.equal(rounded, exact)
    exact, rounded = (scores - scores.mean(dim=-1, keepdim=True) for scores in (exact, rounded))
    assert rounded == pytest.approx(exact, abs=0.2 * exact.abs().max().item())
    assert all(weight.dtype == torch.float32 for weight in learner.network.parameters())


@pytest.mark.parametrize(
    "message, call",
    [
        ("learner = ft; precomputed features allow ncc", lambda: learners.make("ft")),
        ("learner .*'ncc', 'lr'.*got 'knn'", lambda: learners.make("knn")),
        ("epochs must be", lambda: FineTune(glyph_like(), epochs=0)),
        ("C must be a number > 0", lambda: LogisticRegression(C=0)),
    ],
)
def test_settings_that_are_refused(message, call):
    with refuses(message):
        call()


def test_images_in_place_of_features_are_refused(pictures):
    tasks = sample_closed(pictures.labels, tasks=2, ways=3, queries=2)
    with refuses("bank .*features"):
        NearestCentroid().scores(pictures, tasks)
