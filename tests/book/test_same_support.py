"""Several supports on one test set: the protocol, the study that ships, and what the chapter shows of it."""

import numpy as np
import pytest
from refusal import refuses

from fslbook.beyond import coverage, crossed
from fslcore import stats

LABELS = np.arange(4).repeat([30, 25, 40, 25])
CHOSEN = dict(supports=6, shots=3, pool=12, items=10)


@pytest.fixture(scope="module")
def stored():
    return coverage.load("supports")


def test_all_supports_come_from_the_pool_and_have_the_same_items():
    tasks = crossed.protocol(LABELS, 6, 3, pool=12, items=10, rng=np.random.default_rng(0))
    assert tasks.support.shape == (6, 12) and tasks.query.shape == (6, 40)
    assert (tasks.query == tasks.query[0]).all() and len(set(tasks.query[0])) == 40
    assert (LABELS[tasks.support] == tasks.support_label).all() and (
        LABELS[tasks.query] == tasks.query_label
    ).all()
    many = crossed.protocol(LABELS, 200, 3, pool=12, items=10, rng=np.random.default_rng(0))
    used = [set(many.support[many.support_label == c]) for c in range(4)]
    assert [len(images) for images in used] == [12] * 4 and not set(many.query[0]) & set.union(
        *used
    )
    assert all(len(set(row)) == 12 for row in many.support)


def test_a_replay_has_a_row_per_support_and_groups_of_its_items():
    chosen = {**CHOSEN, "supports": 4}
    replays = crossed.replay(["clipart"], "glyph-conv", ["ncc", "lr"], groups=["author"], **chosen)
    replay = replays["clipart"]
    assert replay.scores["ncc"].shape == (4, 180) and set(np.unique(replay.scores["lr"])) == {
        0,
        100,
    }
    assert len(replay.groups) == 180 and len(np.unique(replay.groups)) < 150
    intervals = replay.intervals("ncc", confidence_level=0.9, pool=12, shots=3)
    assert intervals.both.confidence_level == 0.9 and intervals.pool_share == pytest.approx(3 / 9)
    assert replay.intervals("ncc", "lr").both.estimate == pytest.approx(
        (replay.scores["ncc"] - replay.scores["lr"]).mean()
    )
    alone = stats.crossed_intervals(replay.scores["ncc"], replay.labels, pool=12, shots=3)
    table = crossed.sizes(alone, [4, 40], [180, 1800])
    assert (
        table.iloc[0, 0] == pytest.approx(alone.both.half_width)
        and (table.diff().iloc[1] < 0).all()
    )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"items": 20}, "clipart has a class of 27 images"),
        ({"pool": 3}, "pool .*larger than a support"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(change, message):
    with refuses(message):
        crossed.replay(["clipart"], "glyph-conv", ["ncc"], **CHOSEN | change)


def test_the_study_that_ships_has_every_design_and_is_found_again(stored):
    counts = stored.groupby(["design", "interval"])["study"].nunique()
    assert set(counts.index.get_level_values(0)) == {
        d.called for d in (*crossed.DESIGNS, *crossed.PROTOCOLS)
    }
    assert counts.min() == 400 and counts.max() == 800
    for number in (3, 11):
        design = crossed.DESIGNS[number]
        repeated = crossed.simulated(design, 4, seed=number, first=500)
        rows = stored[stored["design"].eq(design.called) & stored["study"].between(500, 503)]
        assert repeated["hit"].tolist() == rows["hit"].tolist()
        assert repeated["width"].to_numpy() == pytest.approx(rows["width"].to_numpy(), rel=1e-5)
