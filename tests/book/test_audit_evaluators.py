"""The audit of the evaluators paper: its arithmetic against simulation, its verdicts against other tables."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy import stats as scipy_stats

from fslbook import published
from fslbook.evaluators import audit

EPISODES = 600


# ---- arithmetic


@given(bias=st.floats(-30, 30), sd=st.floats(0.5, 40))
def test_error_sd_undoes_the_mean_absolute_value(bias, sd):
    mae = scipy_stats.foldnorm.mean(abs(bias) / sd, scale=sd)
    if mae > abs(bias) * (1 + 1e-6):  # else the spread leaves no trace in the mean
        assert audit.error_sd(mae, bias) == pytest.approx(sd, rel=1e-3)
        chance = scipy_stats.norm.sf(10, bias, sd) + scipy_stats.norm.cdf(-10, bias, sd)
        assert audit.chance_beyond(10, mae, bias) == pytest.approx(chance, abs=1e-3)


def test_no_spread_is_left_where_the_error_is_the_bias():
    assert np.isnan(audit.error_sd(16.94, -16.94)) and np.isnan(audit.chance_beyond(10, 4, 5))


@pytest.mark.parametrize("n", [3, 5, 25])
def test_held_out_recovers_the_number_of_images(n):
    rng = np.random.default_rng(n)
    p = rng.beta(20, 8, 400_000)
    estimates = 100 * rng.binomial(n, p) / n
    assert audit.held_out(estimates.mean(), estimates.std(), 100 * p.std()) == pytest.approx(
        n, rel=0.03
    )


def test_largest_against_simulation_and_the_known_case():
    mean, sd = audit.largest(np.zeros(2), np.ones(2))
    assert (mean, sd) == pytest.approx((1 / np.sqrt(np.pi), np.sqrt(1 - 1 / np.pi)), abs=1e-5)
    m, s = np.array([71.0, 60, 65]), np.array([9.0, 3, 20])
    largest = np.random.default_rng(0).normal(m, s, (400_000, 3)).max(axis=1)
    assert audit.largest(m, s) == pytest.approx((largest.mean(), largest.std()), rel=0.005)


# ---- the evidence decides


def cell(values):
    """Mean and half-width, as they are printed."""
    return values.mean(), 1.96 * values.std(ddof=1) / np.sqrt(len(values))


def simulated(rng, related: bool):
    """Tables 1, 2 and 5 of a made-up study: 5-way tasks, hold-out of 5 images, 75 queries."""
    tables = {1: [], 2: [], 5: []}
    for d in ("cifar-fs", "meta-album", "miniimagenet"):
        hard, scores = rng.normal(0, 0.12, EPISODES), {}
        for i, m in enumerate(("baseline", "baseline++", "maml", "protonet", "r2d2")):
            p = np.clip(0.55 + 0.02 * i + hard, 0.05, 0.95)
            scores[m] = 100 * rng.binomial(75, p) / 75
            tables[1].append((d, m, "oracle", *cell(scores[m])))
            for e, images in (
                ("hold-out", 5),
                ("5-fold", 25),
                ("leave-one-out", 25),
                ("bootstrap", 25),
            ):
                estimate = 100 * rng.binomial(images, p if related else rng.permutation(p)) / images
                tables[1].append((d, m, e, *cell(estimate)))
                tables[2].append((d, m, e, np.abs(estimate - scores[m]).mean()))
        best = np.max([x if related else rng.permutation(x) for x in scores.values()], axis=0)
        tables[5] += [
            (d, "oracle", *cell(best)),
            *((d, e, *cell(scores["r2d2"])) for e in audit.ESTIMATORS),
        ]
    return {
        1: pd.DataFrame(
            tables[1], columns=["dataset", "learner", "estimator", "mean", "half_width"]
        ),
        2: pd.DataFrame(tables[2], columns=["dataset", "learner", "estimator", "mae"]),
        5: pd.DataFrame(tables[5], columns=["dataset", "estimator", "mean", "half_width"]),
    }


@pytest.mark.parametrize("related", [True, False])
def test_related_and_unrelated_episodes_are_told_apart(monkeypatch, related):
    tables, printed = simulated(np.random.default_rng(0), related), published.table
    monkeypatch.setattr(published, "table", lambda n, paper: tables.get(n, printed(n, paper)))
    claims = audit.audit(EPISODES)
    of_episodes = claims["verdict"][["same-episodes", "oracle-episodes"]].tolist()
    # Unrelated learners on one episode look like learners on different ones.
    assert of_episodes == (["holds"] * 2 if related else ["differs", "cannot be checked here"])
    assert claims["verdict"][["hold-out-size", "error-definition"]].tolist() == ["holds"] * 2
    implied = audit.Evidence().cells["correlation"].xs("5-fold", level="estimator")
    assert (implied > 0.4).all() if related else implied.abs().max() < 0.15


def test_with_few_episodes_behind_the_means_no_sentence_lacks_a_number():
    evidence = audit.audit(100)["gives"]
    assert (
        evidence["hold-out-size"].startswith("the spreads of Table 1 fit 1")
        and not evidence.str.contains("nan").any()
    )
