import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm, spearmanr
from sklearn.metrics import silhouette_score

from fslbook.estimation import informed, resampled
from fslbook.estimation.resampled import ESTIMATORS
from fslbook.evaluators import episodes, validation
from fslcore import datasets, learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import ConfiguredMethod
from fslcore.models import backbones
from fslcore.tasks import Tasks, leave_one_out, sample_closed


def fake_bank(noise: float) -> Bank:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 30)
    means = rng.normal(size=(8, 16))
    extras = {"text": torch.from_numpy(means).float(), "center": torch.zeros(16)}
    return Bank(
        torch.from_numpy(means[labels] + noise * rng.normal(size=(240, 16))).float(),
        labels,
        "fake",
        **extras,
    )


@pytest.fixture(scope="module")
def bank() -> Bank:
    return fake_bank(1.5)


# Learners that compare places read the 16 features as a map.
MAP = backbones.Backbone(
    "map", "", "", 16, None, (0.5,) * 3, (0.5,) * 3, None, "bilinear", "map", map=(4, 2, 2)
)
SHAPES = {"balanced": 5, "unequal": [2, 3, 5, 6, 9]}


@pytest.mark.parametrize("shots", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["lr", "dn4"])
def test_estimates_among_the_signals_are_the_estimators(bank, name, shots):
    tasks = sample_closed(bank.labels, tasks=6, shots=shots, queries=10)
    torch.manual_seed(0)
    learner = learners.make(name, MAP)
    signals = informed.signals(bank, learner, tasks, rounds=7, seed=3)
    expected = resampled.run(
        ConfiguredMethod(bank, None, learner), tasks, ESTIMATORS, rounds=7, seed=3
    )
    np.testing.assert_allclose(signals[list(ESTIMATORS)], expected)


def test_the_query_is_never_looked_at(bank):
    tasks = sample_closed(bank.labels, tasks=4, queries=10)
    changed = Tasks(
        tasks.support,
        tasks.support_label,
        tasks.query[:, ::-1] * 0,
        tasks.query_label,
        tasks.ways,
        unseen=False,
    )
    tables = [informed.signals(bank, learners.LogisticRegression(), t) for t in (tasks, changed)]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize("shots", SHAPES.values(), ids=SHAPES)
def test_separation_by_plain_loops(bank, shots):
    tasks = sample_closed(bank.labels, tasks=3, shots=shots, queries=10)
    signals = informed.signals(bank, learners.NearestCentroid(), tasks)
    for t in range(3):
        x = (
            torch.nn.functional.normalize(bank.data[tasks.support[t].copy()], dim=1)
            .double()
            .numpy()
        )
        label, distance = tasks.support_label[t], 1 - x @ x.T
        pairs = np.tril(label[:, None] == label, -1)
        distances = [
            distance[np.ix_(label == a, label == b)].mean()
            for a in range(tasks.ways)
            for b in range(a)
        ]
        row = signals.loc[t]
        assert (
            row["ways"] == 5 and row["shots"] == np.mean(shots) and row["fewest"] == np.min(shots)
        )
        assert row["within"] == pytest.approx(distance[pairs].mean(), rel=1e-5)
        assert row["between"] == pytest.approx(np.mean(distances), rel=1e-5)
        assert row["nearest"] == pytest.approx(min(distances), rel=1e-5)
        assert row["silhouette"] == pytest.approx(
            silhouette_score(x, label, metric="cosine"), abs=1e-5
        )


@pytest.mark.parametrize("noise", [0.7, 1.5])
def test_margins_by_plain_loops(noise):
    bank = fake_bank(noise)
    tasks = sample_closed(bank.labels, tasks=2, queries=10)
    learner = learners.LogisticRegression()
    split = leave_one_out(tasks)
    scores = learner.scores(bank, split.tasks)[:, 0].double().numpy()
    signals = informed.signals(bank, learner, tasks)
    for t in range(2):
        mine, label = scores[split.owner == t], split.tasks.query_label[split.owner == t, 0]
        margins = [s[k] - max(np.delete(s, k)) for s, k in zip(mine, label)]
        margins = np.array(margins) / mine.std(axis=1).mean()
        row = signals.loc[t]
        assert row["leave-one-out margin"] == pytest.approx(margins.mean(), rel=1e-5)
        assert row["leave-one-out spread"] == pytest.approx(margins.std(), rel=1e-5)
        assert row["leave-one-out smooth"] == pytest.approx(
            norm.sf(0, margins.mean(), margins.std()), rel=1e-5
        )
        assert row["leave-one-out low"] == pytest.approx(np.quantile(margins, 0.1), rel=1e-5)
        worst = min(np.mean(margins[label == k] > 0) for k in range(5))
        assert row["leave-one-out worst"] == pytest.approx(worst)


def test_a_class_of_one_image_leaves_what_needs_no_folds(bank):
    tasks = sample_closed(bank.labels, tasks=3, shots=[1, 3, 3, 3, 3], queries=10)
    signals = informed.signals(bank, learners.NearestCentroid(), tasks)
    assert set(signals.columns[signals.notna().all()]) == set(informed.BARE)
    assert signals.drop(columns=list(informed.BARE)).isna().all(axis=None)


def fake_episodes(count: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Episodes whose accuracy is a known line in one signal, plus binomial noise of the query."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.normal(size=count) for name in informed.SIGNALS})
    truth = (0.6 + 0.1 * table["silhouette"] + shift).clip(0.05, 0.95)
    table["accuracy"] = rng.binomial(75, truth) / 75
    ids = dict(backbone="b", learner="l", classes="c", block=-1)
    return table.assign(ways=5.0, shots=5.0, fewest=5.0, queries=75, truth=truth, **ids)


@pytest.mark.parametrize("regressor", validation.REGRESSORS)
def test_learns_a_known_relation(regressor):
    model = validation.fitted(fake_episodes(800, 0), regressor=regressor)
    new = fake_episodes(300, 1)
    assert (
        np.abs(model.predict(new) - new["truth"]).mean() < 0.5 * np.abs(new["truth"] - 0.6).mean()
    )


def test_the_error_of_a_perfect_estimator_is_the_floor():
    table = fake_episodes(20_000, 2)
    error = np.abs(table["truth"] - table["accuracy"]).mean()
    assert validation.noise_floor(table["truth"], table["queries"]) == pytest.approx(
        error, rel=0.02
    )


def test_intervals_cover_exchangeable_episodes_and_no_others():
    model = informed.Informed(fake_episodes(300, 0))
    inside, away = [], []
    for seed in range(40):
        scores = model.scores(fake_episodes(200, 100 + seed))
        for shift, into in ((0.0, inside), (-0.15, away)):
            new = fake_episodes(200, 1000 + seed, shift)
            intervals = model.intervals(new, scores)
            into.append(
                (
                    (intervals["low"] <= new["accuracy"]) & (new["accuracy"] <= intervals["high"])
                ).mean()
            )
    # Errors of one calibration move together: judge by the spread over calibrations.
    assert abs(np.mean(inside) - 0.9) < 4 * np.std(inside) / np.sqrt(len(inside)) + 1 / 201
    assert np.mean(away) < 0.6


def test_errors_of_a_group_are_those_of_an_estimator_that_did_not_see_it():
    """By a plain loop; where every group has a relation of its own, its own fit would hide most of the error."""
    parts = [fake_episodes(60, seed, shift=0.15 * seed) for seed in range(3)]
    table, groups = pd.concat(parts, ignore_index=True), np.repeat(list("abc"), 60)
    columns = ("silhouette", "ratio")
    found = informed.cross_scores(table, groups, columns=columns)
    for group in "abc":
        of_group = groups == group
        model = informed.Informed(table[~of_group], columns)
        np.testing.assert_allclose(found[of_group], model.scores(table[of_group]))
    of_all = informed.Informed(table, columns).scores(table)
    assert found.mean() > 1.2 * of_all.mean()


def test_a_rare_level_weighs_no_more_than_one_of_2_percent():
    weights = informed._level_weights(np.array([0.52] * 1 + [0.72] * 99 + [0.92] * 100))
    assert weights.mean() == pytest.approx(1)
    assert weights[0] / weights[1] == pytest.approx(99 / (0.02 * 200))


def test_level_weights_keep_the_usual_accuracy_out():
    rng = np.random.default_rng(0)
    table = fake_episodes(4000, 0)
    noisy = table.assign(silhouette=table["silhouette"] + rng.normal(size=len(table)))
    low = table["truth"] < 0.45
    bias = {
        level: np.mean(
            informed.Informed(noisy, ("silhouette",), level=level).predict(noisy[low])
            - table["truth"][low]
        )
        for level in (0, 1)
    }
    assert 0 < bias[1] < bias[0]


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_leverage_is_that_of_the_hat_matrix(level):
    table = fake_episodes(300, 0)
    model = informed.Informed(table, ("silhouette", "ratio", "bootstrap"), level=level)
    model._model[-1].alpha_ = 1e-9  # without a penalty: of X (XᵀWX)⁻¹ Xᵀ, less the part of the mean
    weight = informed._level_weights(table["accuracy"].to_numpy()) ** level
    x = np.column_stack([np.ones(300), table[model.columns]])
    hat = (x @ np.linalg.inv((x.T * weight) @ x) * x).sum(axis=1)
    np.testing.assert_allclose(model.leverage(table), hat - 1 / weight.sum(), atol=1e-6)


def test_outside_is_what_extrapolates():
    table = fake_episodes(300, 0)
    table["ratio"] = table["silhouette"] + 0.1 * table["ratio"]
    table["ways"] = np.tile([2.0, 5.0, 10.0], 100)
    model = informed.Informed(table, ("ways", "silhouette", "ratio"))
    assert not model.outside(table).any()
    middle = table.assign(ways=5.0, silhouette=0.0, ratio=0.0)[:1]
    pair = {"silhouette": 1.5, "ratio": -1.5}
    cases = {"middle": {}, "far": {"ratio": 40.0}, "unusual pair": pair, "ways": {"ways": 11.0}}
    outside = {
        name: bool(model.outside(middle.assign(**changes))[0]) for name, changes in cases.items()
    }
    assert outside == {"middle": False, "far": True, "unusual pair": True, "ways": True}


def test_selection_by_plain_loops():
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(0, 5, (2, 40, 4)) / 4
    correlation, accuracy = validation.selection(truth, {"guess": guess, "oracle": truth})
    for t in range(40):
        if np.ptp(truth[t]) and np.ptp(guess[t]):
            assert correlation["guess"][t] == pytest.approx(spearmanr(truth[t], guess[t]).statistic)
        else:
            assert correlation["guess"][t] == 0
        assert accuracy["guess"][t] == pytest.approx(truth[t][guess[t] == guess[t].max()].mean())
    np.testing.assert_allclose(accuracy["oracle"], truth.max(axis=1))


def test_errors_are_paired_with_the_reference():
    table = fake_episodes(200, 3)
    guess = {"5-fold": table["accuracy"] + 0.1, "informed": table["accuracy"] - 0.07}
    errors = validation.errors(table["accuracy"].to_numpy(), guess)
    assert errors.loc["informed", "share"] == pytest.approx(30)
    assert errors.loc["informed", "half_width"] == pytest.approx(0, abs=1e-9)
    assert errors.loc["informed", "bias"] == pytest.approx(-7)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: informed.Informed(fake_episodes(20, 0)), "at least 50 complete .*got 20"),
        (
            lambda: episodes.mixed_shapes(np.arange(9).repeat(34), 1),
            "two classes .*35 images .*queries = 15",
        ),
        (
            lambda: validation.of_dataset("photos", ["dino"]),
            "dataset = photos; there are episodes of clipart",
        ),
        (
            lambda: validation.of_dataset("coloured", ["conv4-baseline", "glyph-conv"]),
            "backbone = glyph-conv; there are no episodes of it on coloured",
        ),
    ],
)
def test_bad_input_is_told(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_stored_episodes_come_out_again():
    stored, images = validation.stored(), datasets.load("clipart", "validation")
    bank = backbones.features(images, backbones.load("glyph-conv"))
    mine = stored[
        (stored["classes"] == "clipart validation") & (stored["backbone"] == "glyph-conv")
    ]
    for learner in ("ncc", "lr"):
        rows = mine[mine["learner"] == learner]
        by_block = {
            -1: sample_closed(images.labels, tasks=4, skip_small_classes=True, seed=2),
            1: episodes.mixed_shapes(images.labels, 2, seed=2000)[1][:4],
        }
        for block, tasks in by_block.items():
            repeated = episodes.episodes(bank, learners.make(learner), tasks, seed=2)
            stored_rows = rows[rows["block"] == block].head(4)
            np.testing.assert_allclose(
                repeated, stored_rows[repeated.columns].astype(float), rtol=2e-3, atol=2e-3
            )


@pytest.mark.slow
def test_errors_by_method_choose_the_regression_on_the_classes_to_learn_from():
    learning, test = validation.of_dataset("clipart", ["conv4-baseline", "conv4-protonet"])
    rows = validation.errors_by_method(learning, test)
    chosen = validation.choose(validation.validate(learning))
    method, table = next(iter(validation.estimates(learning, test, **chosen).items()))
    truth = validation.by_method(test)[method]["accuracy"]
    error = 100 * (table["informed"] - truth).abs().mean()
    assert rows.loc[method, "error"] == pytest.approx(error) and len(rows) == 2
