"""The learners of the chapters, each against scikit-learn, SciPy or a plain loop."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from refusal import refuses
from sklearn.linear_model import LogisticRegression as SklearnLR, Ridge
from torch.nn import functional as F

from fslbook.learners import (
    ANIL,
    BOIL,
    CAN,
    DN4,
    LEO,
    MAML,
    MTL,
    R2D2,
    FrozenMAML,
    OpTA,
    PlainOpTA,
    RENet,
)
from fslbook.learners.maml import with_task_norm
from fslbook.learners.opta import transport
from fslcore import learners
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import (
    MAP,
    UNEVEN,
    as_trained,
    descend,
    features,
    glyph_like,
    minus_distance,
    noisy_pictures,
    padded,
    plain_sinkhorn,
    task_rows,
    task_tensors,
    without_classes,
    zero_head,
)


def standardised(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True)


def moved_by_transport(prototypes, z, epsilon, passes):
    """Prototypes after so many passes towards the queries z."""
    for _ in range(passes):
        cost = -minus_distance(prototypes, z)
        plan = plain_sinkhorn(cost / cost.max(), epsilon)
        prototypes = plan @ z / plan.sum(1, keepdims=True)
    return prototypes


@pytest.mark.parametrize("shots, passes", [(1, 1), (UNEVEN, 1), (UNEVEN, 3)])
def test_plain_opta_against_a_loop(shots, passes):
    bank = features(spread=0.1, dim=64)
    tasks = sample_closed(bank.labels, tasks=6, shots=shots)
    scores = PlainOpTA(epsilon=0.1, passes=passes).scores(bank, tasks).numpy()
    x = standardised(bank.data.double().numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        means = np.stack([x[support[label == k]].mean(0) for k in range(5)])
        prototypes = moved_by_transport(means, x[query], 0.1, passes)
        assert answer == pytest.approx(minus_distance(x[query], prototypes), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("shots, passes, keep", [(1, 5, 0), (5, 1, 0.3), ((1, 1, 1, 1, 2), 1, 0.3)])
def test_opta_is_the_released_evaluation_of_beclr(shots, passes, keep):
    """Five passes at one shot; one and a blend at more; then scikit-learn's logistic regression."""
    bank = features(spread=0.2, dim=64)
    tasks = sample_closed(bank.labels, tasks=4, shots=shots)
    logits = OpTA().scores(bank, tasks)
    x = standardised(bank.data.double().numpy())
    for answer, (support, label, query) in zip(logits, task_rows(tasks)):
        means = np.stack([x[support[label == k]].mean(0) for k in range(5)])
        moved = moved_by_transport(means, x[query], 0.05, passes)
        prototypes = (1 - keep) * moved + keep * means
        model = SklearnLR(C=1, tol=1e-10, max_iter=10_000).fit(prototypes, np.arange(5))
        expected = model.predict_proba(x[query])
        assert torch.softmax(answer, dim=-1) == pytest.approx(expected, abs=1e-4)


def test_a_task_of_one_shot_beside_others_has_the_passes_that_it_has_alone():
    bank = features(spread=0.2, dim=64)
    tasks = sample_closed(bank.labels, tasks=2, shots=2)
    label = tasks.support_label.copy()
    label[0, 1::2] = -1  # the second image of each class
    mixed = replace(tasks, support_label=label, support=np.where(label < 0, -1, tasks.support))
    scores = OpTA().scores(bank, mixed)
    assert np.bincount(label[0][label[0] >= 0]).tolist() == [1] * 5
    single = mixed[:1]
    assert scores[:1] == pytest.approx(OpTA().scores(bank, single), abs=1e-4)
    assert scores[1:] == pytest.approx(OpTA().scores(bank, mixed[1:]), abs=1e-4)
    once = OpTA(one_shot_passes=1).scores(bank, mixed)
    assert torch.equal(once[1], scores[1]) and (once[0] - scores[0]).abs().max() > 0.1


def test_transport_leaves_out_absent_rows_and_ignores_the_rest_of_its_batch():
    cost = torch.rand(2, 4, 7, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    rows = torch.ones(2, 4, dtype=torch.bool)
    columns = torch.ones(2, 7, dtype=torch.bool)
    rows[1, 2] = False
    columns[1, [0, 5]] = False
    plan = transport(cost, 0.05, rows=rows, columns=columns)
    assert torch.equal(plan[0], transport(cost[0], 0.05))
    assert (plan[1, 2] == 0).all() and (plan[1][:, [0, 5]] == 0).all()
    alone = transport(cost[1][rows[1]][:, columns[1]], 0.05)
    assert plan[1][rows[1]][:, columns[1]] == pytest.approx(alone, abs=1e-9)
    assert transport(cost[0], 0.05) == pytest.approx(
        plain_sinkhorn(cost[0].numpy(), 0.05), abs=1e-6
    )


@pytest.mark.parametrize("dim", [8, 64])
@pytest.mark.parametrize("scale", [1e3, 1e10])
def test_r2d2_solves_long_features_and_leaves_the_others_as_they_are(dim, scale):
    rng = torch.Generator().manual_seed(0)
    centres = torch.randn(60, 5, 1, dim, generator=rng) + 5
    support, query = (
        (centres + 0.05 * torch.randn(60, 5, n, dim, generator=rng)).flatten(1, 2) for n in (5, 15)
    )
    support[40:, 1] = support[40:, 0]  # an image twice: the larger system is singular
    members = F.one_hot(torch.arange(5).repeat_interleave(5), 5).float().expand(60, -1, -1)
    factor = torch.ones(60, 1, 1)
    factor[30:] = scale
    with torch.no_grad():
        expected = R2D2()(support, members, query)
        mixed = R2D2()(support * factor, members, query * factor)
    assert torch.equal(
        mixed[:30], expected[:30]
    )  # not solved in another way because others in the batch are
    truth = torch.arange(5).repeat_interleave(15)
    assert (mixed[30:].argmax(dim=-1) == truth).float().mean() > 0.995


def test_r2d2_is_scikit_learns_ridge_regression():
    bank = features(dim=64)
    tasks = sample_closed(bank.labels, tasks=5)
    learner = R2D2()
    learner.load_state_dict(
        {"log_lambda": torch.tensor(1.3), "scale": torch.tensor(2.0), "bias": torch.tensor(0.5)}
    )
    for answer, (x, y, z) in zip(
        learner.scores(bank, tasks), task_tensors(bank.data.double(), tasks)
    ):
        model = Ridge(alpha=np.exp(1.3), fit_intercept=False).fit(x, np.eye(5)[y])
        assert answer.numpy() == pytest.approx(2 * model.predict(z) + 0.5, abs=1e-3)


def mtl_features(learner, x):
    return F.normalize(x, dim=1) * learner.scale.detach() + learner.shift.detach()


@pytest.mark.parametrize(
    "learner, transform, lr",
    [
        (ANIL(steps=7, lr=0.02), lambda learner, x: x, lambda learner: 0.02),
        (as_trained(MTL, steps=7), mtl_features, lambda learner: learner.log_rate.exp().item()),
        (
            as_trained(FrozenMAML, steps=7, lr=0.2),
            lambda _, x: F.normalize(x, dim=1) * 96**0.5,
            lambda learner: 0.2,
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_steps_are_those_of_plain_gradient_descent(learner, transform, lr):
    bank = features()
    tasks = sample_closed(bank.labels, tasks=3, shots=UNEVEN)
    scores = learner.scores(bank, tasks).detach()
    for answer, (x, y, z) in zip(
        scores, task_tensors(transform(learner, bank.data.double()), tasks)
    ):
        network = zero_head(96)
        if learner.name == "maml-frozen":
            network = torch.nn.Sequential(
                copy.deepcopy(learner.layer), torch.nn.ReLU(), zero_head(64)
            )
        network.double()
        descend(network, network.parameters(), x, y, 7, lr(learner))
        assert answer == pytest.approx(network(z).detach(), abs=1e-4)


def test_leo_draws_codes_in_training_alone_and_penalises_them():
    bank = features(dim=64)
    learner = LEO(64)
    x, y, z = next(task_tensors(bank.data, sample_closed(bank.labels, tasks=2)))
    inputs = x[None], F.one_hot(y).float()[None], z[None]
    scores = learner(*inputs)
    target = torch.zeros(1, len(z), dtype=torch.int64)
    assert (
        set(learner.penalties) == {"kl", "drift", "correlation"}
        and min(learner.penalties.values()) > 0
    )
    assert learner.loss(scores, target) > F.cross_entropy(scores[0], target[0])
    assert (learner(*inputs) - scores).abs().max() > 1e-4
    learner.eval()
    assert torch.equal(learner(*inputs), learner(*inputs))


def cosine(a, b):
    """0 for a place where nothing fires."""
    return a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def plain_dn4(learner, shots, query):
    """Score of one class: shots (s, P, C), query (P, C)."""
    pool = shots.reshape(-1, shots.shape[-1])
    return sum(
        sum(sorted(cosine(place, descriptor) for descriptor in pool)[-learner.neighbours :])
        for place in query
    )


def plain_can(learner, shots, query):
    w, b, last_w, last_b = (p.detach().double().numpy() for p in learner.fusion.parameters())
    shots = shots.mean(0)
    correlation = np.array(
        [[cosine(p, q) for q in query] for p in shots]
    )  # (places of the class, of the query)

    def attended(places, rows):
        kernel = last_w @ np.maximum(w @ rows.mean(0) + b, 0) + last_b
        weight = 1 + softmax(rows @ kernel / len(kernel) / learner.temperature)
        return weight @ places / len(places)

    return learner.scale * cosine(attended(shots, correlation), attended(query, correlation.T))


def with_structure(learner, places):
    """The self-correlation of a map (P, C), place by place."""
    channels, height, width = MAP
    positive = np.maximum(places, 0)
    positive /= np.linalg.norm(positive, axis=1, keepdims=True).clip(1e-12)
    positive = positive.reshape(height, width, channels)
    around = np.pad(positive, ((2, 2), (2, 2), (0, 0)))
    out = places.copy()
    for p in range(len(places)):
        y, x = divmod(p, width)
        products = (positive[y, x] * around[y : y + 5, x : x + 5]).transpose(2, 0, 1)
        out[p] += (
            learner.self_correlation(torch.as_tensor(products)[None].float())
            .detach()
            .numpy()
            .ravel()
        )
    return out - out.mean(1, keepdims=True)


def as_product(kernel):
    """(P, P) of a 3×3 filter: row p weighs the places around p."""
    y, x = np.divmod(np.arange(MAP[1] * MAP[2]), MAP[2])
    down = y - y[:, None] + 1
    right = x - x[:, None] + 1
    adjacent = (abs(down - 1) <= 1) & (abs(right - 1) <= 1)
    return np.where(adjacent, kernel[down.clip(0, 2), right.clip(0, 2)], 0)


def plain_renet(learner, shots, query):
    reduce = learner.reduce.weight.detach().double().numpy()
    kernels = learner.kernels.detach().double().numpy()[:, :, 0, 0]

    def attention(c):  # of the places in rows, averaged over the columns
        c = (c - c.mean(0)) / np.sqrt(c.var(0) + 1e-5) / learner.attention_temperature
        return np.mean([softmax(column) for column in c.T], axis=0)

    query = with_structure(learner, query)
    pairs = []
    for shot in shots:
        shot = with_structure(learner, shot)
        c = np.array([[cosine(reduce @ a, reduce @ b) for b in shot] for a in query])
        c = as_product(kernels[0, 1]) @ c @ as_product(kernels[0, 0]).T
        c = np.maximum(c - learner.threshold.item(), 0)
        c = as_product(kernels[1, 1]) @ c @ as_product(kernels[1, 0]).T
        pairs.append((attention(c) @ query, attention(c.T) @ shot))
    return cosine(*np.mean(pairs, axis=0)) / learner.temperature


@pytest.mark.parametrize("shots", [1, (1, 2, 3)])
@pytest.mark.parametrize("kind, loop", [(DN4, plain_dn4), (CAN, plain_can), (RENet, plain_renet)])
def test_learners_on_maps_against_a_loop(kind, loop, shots):
    bank = features()
    learner = as_trained(kind)
    tasks = sample_closed(bank.labels, tasks=2, ways=3, shots=shots, queries=2)
    maps = bank.data.double().numpy().reshape(len(bank), MAP[0], -1).swapaxes(1, 2)  # (N, P, C)
    for answer, (support, label, query) in zip(learner.scores(bank, tasks), task_rows(tasks)):
        for k in range(3):
            expected = [loop(learner, maps[support[label == k]], maps[image]) for image in query]
            assert answer[:, k].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.fixture(scope="module")
def pictures():
    return noisy_pictures()


@pytest.fixture(scope="module")
def meta_trained():
    torch.manual_seed(0)
    half = (0.5,) * 3
    head = torch.nn.Linear(32, 5).state_dict()
    return Backbone(
        "conv4-maml", dim=32, network=Conv4(8).eval(), mean=half, std=half, resolution=32, head=head
    )


@torch.no_grad()
def normalised_by_support(network, x, z):
    """Features of queries z, normalised by the statistics of the support x."""
    for block in network:
        for layer in block if isinstance(block, torch.nn.Sequential) else [block]:
            if isinstance(layer, torch.nn.BatchNorm2d):
                var, mean = torch.var_mean(x, (0, 2, 3), correction=0)
                x, z = (
                    F.batch_norm(v, mean, var, layer.weight, layer.bias, eps=layer.eps)
                    for v in (x, z)
                )
            else:
                x = layer(x)
                z = layer(z)
    return z


def plain_maml(backbone, x, y, z, lr, transductive):
    """Scores of queries z after three steps on x and y; BOIL's head stays."""
    network = copy.deepcopy(backbone.module).train()
    head = zero_head(32)
    moving = [*network.parameters(), *head.parameters()]
    if backbone.name == "conv4-boil":
        head.load_state_dict(backbone.head)
        moving = network.parameters()
    descend(torch.nn.Sequential(network, head), moving, x, y, 3, lr)
    features_of_queries = network(z) if transductive else normalised_by_support(network, x, z)
    return head(features_of_queries).detach()


@pytest.mark.parametrize("name, transductive", [("maml", False), ("maml", True), ("boil", True)])
def test_maml_and_boil_are_a_few_steps_of_plain_gradient_descent(
    pictures, meta_trained, name, transductive
):
    tasks = sample_closed(pictures.labels, tasks=2, shots=(2, 3, 3, 4, 2), queries=4)
    backbone = replace(meta_trained, name=f"conv4-{name}")
    learner = learners.make(name, backbone, steps=3, transductive=transductive)
    scores = learner.scores(pictures, tasks)
    assert learner.scores(pictures, padded(tasks))[:, 2:-2] == pytest.approx(scores, abs=1e-4)
    for answer, (x, y, z) in zip(scores, task_tensors(pictures.data, tasks)):
        images = backbone.preprocess(x), y, backbone.preprocess(z)
        expected = plain_maml(backbone, *images, learner.lr, transductive)
        assert answer == pytest.approx(expected, abs=1e-3)
    left = learner.scores(pictures, without_classes(tasks, 1))
    assert torch.isneginf(left[..., 1]).all() and torch.isfinite(left[..., [0, 2, 3, 4]]).all()


def test_boil_keeps_the_head_that_released_code_moves(pictures, meta_trained):
    """LibFewShot looks for the head by a name that no parameter has, so that it moves like the network."""
    tasks = sample_closed(pictures.labels, tasks=2, shots=2, queries=4)
    backbone = replace(meta_trained, name="conv4-boil")
    learner = learners.make("boil", backbone, steps=3, transductive=True)
    scores = learner.scores(pictures, tasks)
    for answer, (x, y, z) in zip(scores, task_tensors(pictures.data, tasks)):
        network = copy.deepcopy(backbone.module).train()
        head = torch.nn.Linear(32, 5)
        head.load_state_dict(backbone.head)
        whole = torch.nn.Sequential(network, head)
        descend(whole, whole.parameters(), backbone.preprocess(x), y, 3, learner.lr)
        released = whole(backbone.preprocess(z)).detach()
        assert (answer - released).abs().max() > 0.02


@pytest.mark.parametrize("kind", [MAML, BOIL])
def test_the_gradient_through_the_steps_is_that_of_finite_differences(pictures, meta_trained, kind):
    network = with_task_norm(copy.deepcopy(meta_trained.module)).double()
    x, z = (
        meta_trained.preprocess(pictures.data[rows]).double()[None]
        for rows in (slice(10), slice(50, 55))
    )
    y = F.one_hot(torch.arange(10) // 2, 5).double()[None]
    settings = {}
    if kind is BOIL:
        settings["dim"] = 32

    def loss(x, **options):
        torch.manual_seed(0)
        learner = kind(steps=3, **settings, **options)
        if kind is BOIL:
            learner.head.double()
        return F.cross_entropy(learner.on_images(network, x, y, z)[0], torch.arange(5))

    assert torch.autograd.gradcheck(loss, x.requires_grad_(), fast_mode=True)
    loss(x, first_order=True).backward()
    assert all(weight.grad.any() for weight in network.parameters())


def test_learners_by_name(meta_trained):
    assert learners.make("maml", meta_trained).name == "maml"
    head = {"log_lambda": torch.tensor(-1.0), "scale": torch.tensor(3.0), "bias": torch.tensor(0.0)}
    assert (
        learners.make("r2d2", replace(meta_trained, name="conv4-r2d2", head=head)).log_lambda == -1
    )
    assert (
        learners.make("r2d2", meta_trained).config()["log_lambda"] == 0
    )  # trained for another learner
    assert learners.make("renet", replace(meta_trained, map=(8, 2, 2))).map == (8, 2, 2)


@pytest.mark.parametrize(
    "message, call",
    [
        (
            "can; the features of conv4-maml are no map",
            lambda backbone: learners.make("can", backbone),
        ),
        ("test was not trained for it", lambda _: MAML(glyph_like())),
        ("conv4-maml was not trained for it, conv4-boil was", BOIL),
        (
            "conv4-boil: no head",
            lambda backbone: BOIL(replace(backbone, name="conv4-boil", head={})),
        ),
        ("neighbours must be an integer from 1 to 12", lambda _: DN4(MAP, neighbours=13)),
        ("steps must be", lambda _: MAML(steps=0)),
        ("steps must be", lambda _: ANIL(steps=0)),
        ("epsilon must be a number > 0", lambda _: OpTA(epsilon=0)),
        ("passes must be", lambda _: OpTA(passes=0)),
        ("one_shot_passes must be", lambda _: OpTA(one_shot_passes=0)),
        ("keep must be a number from 0 to 1", lambda _: OpTA(keep=2)),
        ("classifier must be 'logistic'", lambda _: OpTA(classifier="svm")),
    ],
)
def test_settings_that_are_refused(meta_trained, message, call):
    with refuses(message):
        call(meta_trained)


def test_inputs_that_are_refused(pictures, meta_trained):
    bank = features()
    tasks = sample_closed(pictures.labels, tasks=2, ways=3, queries=2)
    boil = BOIL(replace(meta_trained, name="conv4-boil"))
    for learner, inputs, message in (
        (
            DN4(),
            bank,
            "features of dn4 .*64 × 4 × 4, got length 96",
        ),
        (boil, pictures, "ways .* 5, .*BOIL's head.*got 3"),
    ):
        with refuses(message):
            learner.scores(inputs, tasks)


@pytest.mark.parametrize("learner", [MAML, BOIL])
def test_without_the_backbone_it_scores_with_it_has_no_key(learner):
    with refuses("learner", learner.name, "backbone"):
        learner().config()
