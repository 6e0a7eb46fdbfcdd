"""Reliance on ink: the drawing, the tasks and the noise; learners whose reliance is known; what the chapter says."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st
from refusal import refuses

from fslbook import attributes, notebooks
from fslbook.attributes import Attributes
from fslbook.biased_tasks import sample_biased
from fslbook.coloured_glyphs import COLOURS
from fslbook.fewstab import known_truth
from fslcore import datasets, evaluation
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import methods
from fslcore.models import backbones
from fslcore.tasks import sample_closed


def mean(interval):
    return interval.estimate


@settings(max_examples=30, deadline=None)
@given(
    ways=st.integers(2, 7),
    shots=st.integers(1, 3),
    queries=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_conflict_tasks_differ_in_the_ink_of_the_query_only(ways, shots, queries, seed):
    labels, shape = (
        np.repeat(np.arange(9), 10),
        dict(tasks=6, ways=ways, shots=shots, queries=queries, seed=seed),
    )
    conflicts = known_truth.sample_conflict(labels, 8, **shape)
    first, sampled = conflicts["own"], sample_closed(labels, **shape)
    for t in range(6):
        inks = {k: set(first.support[t][first.support_label[t] == k] // 90) for k in range(ways)}
        assert (
            all(len(tasks) == 1 for tasks in inks.values())
            and len(set.union(*inks.values())) == ways
        )
        of_class = np.array([min(inks[k]) for k in first.query_label[t]])
        query_inks = {name: tasks.query[t] // 90 for name, tasks in conflicts.items()}
        assert (query_inks["own"] == of_class).all() and not np.isin(
            query_inks["none"], of_class
        ).any()
        assert (query_inks["other"] != of_class).all() and set(query_inks["other"]) <= set.union(
            *inks.values()
        )
    for tasks in conflicts.values():
        assert (tasks.query % 90 == sampled.query).all() and (
            tasks.support % 90 == sampled.support
        ).all()
        assert (tasks.support == first.support).all()
    repeated = known_truth.sample_conflict(labels, 8, **shape)
    assert all(conflicts[name].digest == tasks.digest for name, tasks in repeated.items())


def test_random_supports_keep_the_queries_and_never_show_them():
    labels = np.repeat(np.arange(8), 40)
    has = np.random.default_rng(0).random((320, 6)) < 0.3
    biased, attribute = sample_biased(labels, has, tasks=40, shots=3, queries=8, seed=1)
    loose = known_truth.random_supports(labels, biased, seed=2)
    assert (loose.query == biased.query).all() and (loose.query_label == biased.query_label).all()
    assert (labels[loose.support] == labels[biased.support]).all() and (
        loose.support != biased.support
    ).any()
    assert all(
        len(set(row)) == 15 and not set(row) & set(q) for row, q in zip(loose.support, loose.query)
    )
    # The attribute of the class is in every biased support, and in others as often as the class has it.
    of_class = attribute[np.arange(40)[:, None], loose.support_label]
    assert has[biased.support, of_class].all() and 0.2 < has[loose.support, of_class].mean() < 0.5


def test_noise_has_the_rates_that_were_asked_for_and_grows():
    true = Attributes(np.random.default_rng(0).random((5000, 8)) < 0.2, tuple("abcdefgh"))
    assert (known_truth.noisy(true, 0, 0).has == true.has).all()
    rates = known_truth.error_rates(known_truth.noisy(true, 0.3, 0.1, seed=3), true)
    assert rates == pytest.approx((0.3, 0.1), abs=0.02)
    less, many = (
        known_truth.noisy(true, rate, rate, seed=1).has != true.has for rate in (0.1, 0.2)
    )
    assert (less <= many).all()
    with pytest.raises(InputError, match="invent .* 0 to 1, got 1.2"):
        known_truth.noisy(true, 0, 1.2)
    with pytest.raises(InputError, match="same images with the same names"):
        known_truth.error_rates(true[:10], true)


# ------------------------------------------------------------ learners whose reliance is known


@pytest.fixture
def known_networks(monkeypatch, tmp_path):
    """Networks that see ink with a weight that is known and the class with the rest; the weight is the bias."""
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path))
    for module in (evaluation, methods):
        monkeypatch.setattr(
            module,
            "load_backbone",
            lambda name: backbones.Backbone(
                name, "", "", 0, None, (0.5,) * 3, (0.5,) * 3, None, "bilinear", name
            ),
        )

    def features(images, backbone, progress=False):
        weight = float(backbone.name)
        ink = pd.Categorical(images.facts["ink"], list(COLOURS)).codes
        noise = torch.from_numpy(
            np.random.default_rng(0).normal(0, 0.05, (len(images), 8 + 30))
        ).float()
        features_by_ink = torch.cat(
            [weight * torch.eye(8)[ink.astype(int)], (1 - weight) * torch.eye(30)[images.labels]],
            dim=1,
        )
        return Bank(features_by_ink + noise, images.labels, backbones.feature_key(images, backbone))

    monkeypatch.setattr(backbones, "features", features)
    return pd.DataFrame(
        {
            "learner": "known",
            "bias": [0.0, 0.45, 1.0],
            "seed": 0,
            "name": "protonet",
            "backbone": ["0", "0.45", "1"],
        }
    )


def test_reliance_is_nothing_for_who_sees_the_class_and_all_for_who_sees_ink(known_networks):
    truth = known_truth.counterfactual(
        known_networks, "coloured/hebrew?per_class=10", shots=[1], tasks=60
    )
    blind, some, only = truth.xs(1, level="shots").itertuples()
    assert blind.own.estimate == blind.other.estimate == 100 and blind.reliance.estimate == 0
    assert only.own.estimate == 100 and only.other.estimate == 0 and only.reliance.estimate == 100
    assert abs(only.none.estimate - 20) < 5  # a free ink says nothing: chance
    assert (truth["tasks"].map(np.mean) == truth["reliance"].map(mean)).all()


def test_gap_of_known_learners_and_its_two_parts(known_networks):
    dataset = "coloured/hebrew?per_class=60"
    gaps = known_truth.split_gap(
        known_networks,
        dataset,
        attributes.of(datasets.load(dataset), "facts:ink").has,
        shots=[5],
        tasks=60,
    )
    rows = gaps[["gap", "difficulty", "clue", "wAcc-A", "wAcc-R"]].map(mean)
    assert np.allclose(rows["gap"], rows["difficulty"] + rows["clue"])
    assert np.allclose(rows["gap"], rows["wAcc-R"] - rows["wAcc-A"])
    blind, some, only = rows.itertuples()
    assert blind.gap == 0 and blind._4 == 100
    assert only._4 == 0 and 0 < only.gap == only._5 < 60  # no more can be lost than there was
    steps = known_truth.steps(gaps)
    assert list(steps) == ["0 to 0.45", "0.45 to 1"]
    assert steps.iloc[0, 1].estimate == pytest.approx(only.gap - some.gap)


def test_seeds_are_averaged_task_by_task(known_networks):
    dataset = "coloured/hebrew?per_class=60"
    biased = known_networks[known_networks["bias"] > 0]
    seeds, biases = biased.assign(bias=0.5, seed=[0, 1]), biased.assign(bias=[0.5, 1.0])
    has = attributes.of(datasets.load(dataset), "facts:ink").has
    for measured in (
        lambda chosen: known_truth.split_gap(chosen, dataset, has, shots=[5], tasks=40),
        lambda chosen: known_truth.counterfactual(
            chosen, "coloured/hebrew?per_class=10", shots=[5], tasks=40
        ),
    ):
        averaged, single = measured(seeds), measured(biases)
        assert averaged.index.tolist() == [("known", 0.5, 5)]
        assert averaged["seeds"].item() == pytest.approx(
            [np.mean(tasks) for tasks in single["tasks"]]
        )
        assert averaged["tasks"].item() == pytest.approx(np.mean(single["tasks"].tolist(), axis=0))


def test_orderings_are_the_rank_correlations_and_signs_point_the_same_way():
    index = pd.MultiIndex.from_product([list("ab"), [0.0, 0.5, 1.0]], names=["learner", "bias"])
    truth = pd.Series([0, 40, 80, 10, 50, 90.0], index)
    gaps = pd.DataFrame(dict.fromkeys(known_truth.SCORES, truth), index).assign(
        **{"wAcc-A": -truth, "gap": -(truth**2)}
    )
    orders, gap = known_truth.orderings(truth, gaps), known_truth.SCORES["gap"]
    assert (orders["rank correlation"].drop(gap) == 1).all()
    assert orders.loc[gap, ["rank correlation", "within"]].tolist() == [-1, -1]
    assert (orders["p"] < 0.02).all() and orders.notna().all(axis=None)


def test_the_difference_of_two_orders_is_of_the_same_rows():
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([range(10), range(4)], names=["learner", "bias"])
    truth = pd.Series(rng.normal(size=40), index)
    gaps = pd.DataFrame({"gap": truth**3, "clue": rng.normal(size=40), "relative": truth}, index)
    assert known_truth.order_difference(truth, gaps, ("gap", "relative")) == (0, 0)
    low, high = known_truth.order_difference(truth, gaps, ("gap", "clue"))
    assert 0 < low < 1 - gaps["clue"].corr(truth, method="spearman") < high < 2
    swapped = known_truth.order_difference(truth, gaps, ("clue", "gap"))
    assert swapped == (pytest.approx(-high, abs=0.02), pytest.approx(-low, abs=0.02))


def test_unknown_networks_are_named():
    with refuses("0, 0.5, 1", "seeds 0, 1", "got 0.3 and 0"):
        known_truth.networks([0.3])
    with refuses("got 1 and 7"):
        known_truth.networks([1], [7])


# ------------------------------------------------------------ what the chapter says


def test_a_refusal_of_the_chapter_names_its_own_parameters():
    defaults = {p.name: p.default for p in notebooks.parameters("known-truth")}
    names = ("shots", "shown", "redrawn", "per_class", "queries")
    values = {name: defaults[name] for name in names}
    known_truth.check_shots(*values.values())
    for changes, facts in (
        (dict(shots=[1, 10]), ("shown", "1, 10", "got 5")),
        (dict(shots=[1, 10], shown=10), ("redrawn", "15", "got 10")),
        (dict(per_class=19), ("per_class", "20", "got 19")),
    ):
        with refuses(*facts):
            known_truth.check_shots(*(values | changes).values())


def test_too_few_images_of_an_ink_ask_for_more_a_class():
    dataset = "coloured/cyrillic?per_class=20"
    has = attributes.of(datasets.load(dataset), "facts:ink").has[
        :, :4
    ]  # as if the captioner knew four inks
    with pytest.raises(
        InputError,
        match="^shots and queries .*fewer, or per_class larger, .*got 5 and 15: .*attri",
    ):
        known_truth.split_gap(known_truth.networks([0.0]), dataset, has, shots=[5], tasks=4)


def test_shipped_networks_are_those_that_were_trained():
    listed = dict(
        reversed(line.split())
        for line in (known_truth.FOLDER / "SHA256SUMS").read_text().splitlines()
    )
    shipped = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in known_truth.FOLDER.glob("*.safetensors")
    }
    assert shipped == listed
