"""Scores of items under supports: each design, its targets, and what is said where one is not supported."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from fslcore import stats
from fslcore.errors import InputError
from fslcore.report import Results, Shape

R, N = 4, 30
ALL = ["new items and supports", "new items", "new supports"]


def scores(models="ab", seed=0):
    rng = np.random.default_rng(seed)
    chance = np.clip(0.7 + rng.normal(0, 0.1, (R, 1)) + rng.uniform(-0.3, 0.3, N), 0, 1)
    return {m: (rng.random((R, N)) < chance - 0.1 * i).astype(float) for i, m in enumerate(models)}


def table(values):
    rows = [
        {"item": f"q{i}", "support": f"s{r}", "score": score, "model": model}
        for model, grid in values.items()
        for (r, i), score in np.ndenumerate(grid)
    ]
    return pd.DataFrame(rows)


def targets(results):
    return [*results.methods["target"].unique()]


def row(results, target, a, b=None):
    frame = results.methods if b is None else results.pairs
    names = frame["method"] == a if b is None else (frame["a"] == a) & (frame["b"] == b)
    return frame[(frame["target"] == target) & names].iloc[0]


def test_crossed_scores_have_three_targets():
    values = scores()
    results = Results.of(table(values).sample(frac=1, random_state=0))  # the order of rows means nothing
    assert results.shape is Shape.ITEMS and targets(results) == ALL
    single = stats.crossed_intervals(100 * values["a"], bounds=(0, 100))
    pair = stats.crossed_intervals(100 * values["a"] - 100 * values["b"])
    for target, kind in zip(ALL, ("both", "items", "supports"), strict=True):
        mine, expected = row(results, target, "a"), getattr(single, kind)
        ends = [expected.mean, expected.half_width, expected.low, expected.high]
        assert np.allclose(mine[["mean", "half_width", "low", "high"]].astype(float), ends, rtol=1e-9)
        mine, expected = row(results, target, "a", "b"), getattr(pair, kind)
        assert mine["half_width"] == pytest.approx(expected.half_width, rel=1e-9)
        assert mine["p"] == pytest.approx(expected.p_value, rel=1e-9)
    (planned,) = results.frames.values()
    assert [*planned["method or difference"]] == ["a", "b", "a − b"]
    assert planned["10 × items"][0] == pytest.approx(single.planned(R, 10 * N).half_width)
    assert results.lines()[0].startswith("new items and supports: a and b are not significantly")


def test_targets_are_families_of_their_own():
    pairs = Results.of(table(scores("abc"))).pairs
    for _, family in pairs.groupby("target"):
        assert np.allclose(family["p_holm"], stats.holm(family["p"].to_numpy()))
    alone = Results.of(table(scores("abc")), reference="c").pairs
    assert {*zip(alone["a"], alone["b"], strict=True)} == {("a", "c"), ("b", "c")}


def test_groups_pool_and_seeds_are_used():
    values = scores("a")
    plain = table(values)
    grouped = Results.of(plain.assign(group=plain["item"].str[1:].astype(int) // 3))
    expected = stats.crossed_intervals(100 * values["a"], groups=np.arange(N) // 3, bounds=(0, 100))
    assert row(grouped, "new items", "a")["half_width"] == pytest.approx(expected.items.half_width)
    assert any("10 groups" in line for line in grouped.applies)
    pooled = Results.of(plain, pool=20, shots=5)
    expected = stats.crossed_intervals(100 * values["a"], pool=20, shots=5, bounds=(0, 100))
    assert row(pooled, ALL[0], "a")["half_width"] == pytest.approx(expected.both.half_width)
    assert any("5 out of 20" in line for line in pooled.applies)
    seeds = Results.of(plain.rename(columns={"support": "seed"}))
    assert targets(seeds) == ALL and any("--seed runs" in note for note in seeds.reading)
    alone = plain[plain["support"] == "s0"].drop(columns="support")
    one = Results.of(alone.assign(group=alone["item"].str[1:].astype(int) // 3))
    expected = stats.crossed_intervals(100 * values["a"][:1], groups=np.arange(N) // 3, bounds=(0, 100))
    assert row(one, "new items", "a")["half_width"] == pytest.approx(expected.items.half_width)


def test_other_designs_answer_for_less():
    values = {model: (grid + 1) / 3 for model, grid in scores().items()}  # not right and wrong alone
    crossed = table(values)
    designs = {
        "with this support": (crossed[crossed["support"] == "s0"], {m: grid[:1] for m, grid in values.items()}),
        "supports of its own": (crossed.assign(support=crossed["support"] + crossed["item"]), values),
    }
    for words, (frame, grids) in designs.items():
        results = Results.of(frame)
        assert targets(results) == ["new items"] and any(words in line for line in results.applies)
        means = {model: 100 * grid.mean(axis=0) for model, grid in grids.items()}
        expected = stats.crossed_intervals(means["a"][None], bounds=(0, 100)).items
        assert row(results, "new items", "a")["half_width"] == pytest.approx(expected.half_width)
        (pair,) = results.pairs.itertuples()
        assert pair.p == pytest.approx(scipy.stats.ttest_rel(means["a"], means["b"]).pvalue, rel=1e-9)
    results = Results.of(crossed.groupby(["model", "support"], as_index=False)["score"].mean())
    assert targets(results) == ["new supports"] and "nothing about new items" in results.applies[0]
    means = {model: 100 * grid.mean(axis=1) for model, grid in values.items()}
    expected = stats.open_interval(means["a"], bounds=(0, 100))
    assert row(results, "new supports", "a")["half_width"] == pytest.approx(expected.half_width)
    (pair,) = results.pairs.itertuples()
    assert pair.p == pytest.approx(scipy.stats.ttest_rel(means["a"], means["b"]).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    "lacking, supports",
    [(("b", "s0", "q3"), ALL), (("b", None, "q3"), ALL), (("b", "s3", None), ["new items"])],
    ids=["a score", "an item", "a support"],
)
def test_uneven_scores_speak_of_items_and_name_the_way_to_more(lacking, supports):
    frame = table(scores())
    model, support, item = lacking
    gone = (frame["model"] == model) & frame["support"].isin([support or s for s in frame["support"].unique()])
    gone &= frame["item"].isin([item] if item else frame["item"].unique())
    results = Results.of(frame[~gone])
    assert targets(results) == ["new items"] and "not every support" in results.applies[0]
    assert any("--common" in line for line in results.cautions)
    common = Results.of(frame[~gone], common=True)
    assert targets(common) == supports
    if supports == ALL:
        assert row(common, "new items", "a")["n"] == N - 1


def test_repeated_answers_are_averaged_and_an_item_has_one_group():
    frame = table(scores())
    repeated = pd.concat([frame, frame.assign(score=1 - frame["score"])])
    results = Results.of(repeated)
    assert targets(results) == ALL and row(results, "new items", "a")["mean"] == 50
    assert any("are averaged" in line for line in results.cautions)
    with pytest.raises(InputError, match="item q1 is in 2 groups; an item has one"):
        Results.of(frame.assign(group=np.where(frame.index == 1, "g", "h")))
