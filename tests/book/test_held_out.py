"""Intervals of one part of a data set against the mean of the other part."""

import numpy as np
import pandas as pd
import pytest
import torch

from fslbook.beyond import coverage, held_out
from fslbook.fewstab import tables
from fslcore import learners
from fslcore.datasets.bank import Bank
from fslcore.models import backbones


def clouds(classes=80, designers=24, hand=0.6, seed=0):
    """A class by each designer once: a centre, plus what is the designer's own, plus noise."""
    rng = np.random.default_rng(seed)
    centres, hands = rng.normal(0, 0.5, (classes, 16)), hand * rng.normal(0, 1, (designers, 16))
    labels, authors = (grid.ravel() for grid in np.indices((classes, designers)))
    x = 3 + centres[labels] + hands[authors] + rng.normal(0, 0.7, (len(labels), 16))
    return Bank(torch.from_numpy(x).float(), labels, digest=f"clouds-{hand}-{seed}"), authors


@pytest.mark.slow
@pytest.mark.parametrize("new, ours", [("classes", "classes"), ("designers", "designers")])
def test_only_the_interval_for_the_question_allows_for_the_difference(new, ours):
    table = held_out.splits(*clouds(), new, 1, 40)
    assert table.groupby("interval").size().eq(40).all()
    shares = held_out.summary(table).set_index("interval")
    assert shares.loc[ours, "share"] >= 85 and shares.loc["closed", "share"] < 75
    assert shares.loc[ours, "predicted"] == pytest.approx(shares.loc[ours, "spread"], rel=0.35)
    assert shares.loc["closed", "predicted"] < 0.6 * shares.loc["closed", "spread"]


def test_a_summary_by_hand():
    table = pd.DataFrame(
        {
            "new": "classes", "backbone": "b", "shots": 1, "split": [0, 1, 2], "interval": "closed",
            "difference": [1.0, -3.0, 2.0], "error": [1.0, 1.0, 1.0], "df": [1e9, 1e9, 3.0],
        }
    )  # fmt: skip
    (row,) = held_out.summary(table).to_dict("records")
    assert row["n"] == 3 and row["share"] == pytest.approx(200 / 3)  # 1 < 1.96, 3 > 1.96, 2 < 3.18
    assert row["spread"] == pytest.approx(np.sqrt(14 / 3)) and row["predicted"] == 1


@pytest.mark.slow
def test_stored_splits_are_complete_and_come_out_again():
    stored = coverage.load("real")
    counts = stored.groupby(["backbone", "new", "shots", "interval"], observed=True).size()
    assert counts.groupby("backbone", observed=True).min().to_dict() == {
        "efficientnet-lite0": 400,
        "glyph-conv": 200,
    }
    assert len(counts) == 24
    bank, designers = held_out.icons("glyph-conv")
    for new in held_out.NEW:
        repeated = held_out.splits(bank, designers, new, 5, 1, first=7)
        rows = stored[
            stored["backbone"].eq("glyph-conv") & stored["new"].eq(new) & stored["shots"].eq(5)
        ]
        rows = rows[rows["split"] == 7]
        assert rows["interval"].tolist() == repeated["interval"].tolist()
        for column in ("difference", "error", "df"):
            assert rows[column].tolist() == pytest.approx(
                repeated[column].tolist(), rel=2e-2, abs=0.02
            ), column


def test_intervals_for_the_question_hold_on_real_icons():
    shares = held_out.summary(coverage.load("real"))
    ours = shares[shares["interval"].isin(["classes", "designers"])]
    assert len(ours) == 8 and ours["share"].between(90, 99.5).all()
    assert (shares[shares["interval"] == "closed"]["share"] < 60).all()


def test_intervals_for_new_classes_hold_for_learners_trained_on_other_icons():
    stored = coverage.load("novel")
    shares = held_out.summary(stored)
    assert (
        set(shares["backbone"]) == set(held_out.LEARNERS)
        and (shares["n"] == 200).all()
        and len(shares) == 12
    )
    assert shares[shares["interval"] == "classes"]["share"].between(90, 99.5).all()
    assert (shares[shares["interval"] == "closed"]["share"] < 40).all()
    network = backbones.load(tables.method("r2d2", 1).backbone)
    options = dict(tested=held_out.NOVEL, learner=learners.make("r2d2", network), first=3)
    repeated = held_out.splits(*held_out.icons(network.name, ["novel"]), "classes", 1, 1, **options)
    rows = stored[stored["backbone"].eq("r2d2") & stored["shots"].eq(1) & stored["split"].eq(3)]
    assert rows["difference"].tolist() == pytest.approx(
        repeated["difference"].tolist(), rel=2e-2, abs=0.02
    )
    assert rows["error"].tolist() == pytest.approx(repeated["error"].tolist(), rel=2e-2, abs=0.02)
