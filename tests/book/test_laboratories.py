"""What separates laboratories, on tables with a known answer, and the coverage of its intervals."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy.stats import chi2, norm, t

from fslbook.beyond import laboratories, leaderboards

SETTING = {
    "backbone": "Conv4",
    "dataset": "birds",
    "ways": "5",
    "shots": "1",
    "transductive": "no",
    "trained_on": "",
}


def reproduction(method, laboratory, mean, plus_minus=0.5, pair_kind="", **other):
    cell = {"method": method, "laboratory": laboratory, "mean": mean, "plus_minus": plus_minus}
    return SETTING | {"role": "reproduced", "pair_kind": pair_kind} | cell | other


def paper_pairs():
    """The pairs of the chapter's headline, for the sizes of their laboratories and methods."""
    cells = leaderboards.cells()
    return leaderboards.pairs(cells).query("pair_kind == 'paper' and dataset != 'Omniglot'")


def test_a_large_laboratory_does_not_speak_for_all():
    """60 differences of 1 point in one laboratory, and 5 laboratories with 6 of 4 points each."""
    table = pd.DataFrame({"laboratory": ["large"] * 60 + [*"abcde"] * 6})
    table["difference"] = np.where(table["laboratory"] == "large", 1.0, 4.0)
    table["method"] = [f"M{k}" for k in range(90)]
    found = laboratories.beside_target(
        *(table[name] for name in ("difference", "laboratory", "method"))
    )
    pooled = np.sqrt(table["difference"].pow(2).mean())
    assert found.value > 3 > pooled
    assert found.next_low < found.low < found.value < found.high < found.next_high
    assert (found.cells, found.methods, found.laboratories) == (90, 90, 6)


def test_equal_laboratories_give_the_root_mean_square_and_its_normal_width():
    rng = np.random.default_rng(0)
    names = pd.Series(np.repeat(np.arange(40), 50))
    methods = pd.Series(np.tile(np.arange(50), 40))
    differences = pd.Series(rng.normal(0, 2, 2000))
    found = laboratories.beside_target(differences, names, methods)
    assert found.value == pytest.approx(np.sqrt(np.mean(differences**2)), rel=0.02)
    assert found.next_half_width == pytest.approx(norm.isf(0.025) * 2, rel=0.05)
    tripled = laboratories.beside_target(3 * differences, names, methods)
    assert tripled.high == pytest.approx(3 * found.high, rel=1e-6)


def test_one_laboratory_has_no_interval():
    values = pd.Series([1.0, -2.0, 3.0])
    found = laboratories.beside_target(values, pd.Series([*"AAA"]), pd.Series([*"xyz"]))
    assert np.isnan(found.value) and np.isnan(found.next_half_width)
    assert (found.cells, found.methods, found.laboratories) == (3, 3, 1)


def test_settings_of_one_method_count_as_fewer():
    """Ten equal differences of one method are one piece of information, ten methods are ten."""
    names = pd.Series(["a", "b"] * 10)
    values = pd.Series([1.0, -1.5] * 10)
    of_one, of_ten = (
        laboratories.beside_target(values, names, pd.Series(methods))
        for methods in (["same"] * 20, np.arange(20))
    )
    assert of_one.high / of_one.low > 2 * of_ten.high / of_ten.low


def test_the_grid_agrees_with_weighted_draws_of_the_prior():
    """Importance sampling of the same posterior, without a grid."""
    rng = np.random.default_rng(3)
    counts = np.array([5, 12, 30, 8])
    names = pd.Series(np.repeat([*"abcd"], counts))
    values = pd.Series(rng.normal(0, np.repeat([1.0, 2.0, 1.5, 3.0], counts)))
    found = laboratories.beside_target(values, names, pd.Series(np.arange(55)))
    squares = values.pow(2).groupby(names).sum().to_numpy()
    typical = rng.uniform(-3, 4, 20_000)
    deviation = np.abs(rng.normal(0, laboratories.PRIOR, 20_000))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    log_scatter = typical[:, None] + deviation[:, None] * nodes
    likelihood = np.ones(20_000)
    for square, count in zip(squares, counts, strict=True):
        density = chi2.pdf(square * np.exp(-2 * log_scatter), count) * np.exp(-2 * log_scatter)
        likelihood *= density @ weights
    order = np.argsort(typical)
    cumulative = np.cumsum(likelihood[order]) / likelihood.sum()
    ends = np.exp(np.interp([0.5, 0.025, 0.975], cumulative, typical[order]))
    assert (found.value, found.low, found.high) == pytest.approx(ends, rel=0.06)


WORLDS = {  # deviations of laboratories, methods and the rest, in points, and of the log scatter
    "laboratories that differ in scatter": (0.0, 0.5, 1.5, 0.6),
    "both": (1.0, 1.0, 1.4, 0.6),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_intervals_beside_targets_hold_the_truth(world):
    """With laboratories and methods of exactly the headline's sizes: at least 92 % for 95 %.

    Of 120 studies, intervals that hold 85 % of truths would pass in 1 of 100 repetitions of this test.
    """
    of_laboratory, of_method, rest, log_scatter = world
    rng = np.random.default_rng(1)
    table = paper_pairs()
    names, laboratory = np.unique(table["laboratory"], return_inverse=True)
    methods, method = np.unique(table["method"], return_inverse=True)
    shift = of_laboratory * rng.normal(size=100_000)
    typical = np.exp(np.log(np.sqrt(shift**2 + of_method**2 + rest**2)).mean())
    held = []
    for _ in range(120):
        scatter = np.exp(log_scatter * rng.normal(size=len(names) + 1))
        own = of_laboratory * rng.normal(size=len(names) + 1)
        parts = own[laboratory] + of_method * rng.normal(size=len(methods))[method]
        values = scatter[laboratory] * (parts + rest * rng.normal(size=len(table)))
        found = laboratories.beside_target(pd.Series(values), table["laboratory"], table["method"])
        next_spread = scatter[-1] * np.sqrt(own[-1] ** 2 + of_method**2 + rest**2)
        next_difference = scatter[-1] * (own[-1] + np.hypot(of_method, rest) * rng.normal())
        held.append(
            [
                found.low <= typical <= found.high,
                found.next_low <= next_spread <= found.next_high,
                abs(next_difference) <= found.next_half_width,
            ]
        )
    assert (np.mean(held, axis=0) >= 0.92).all()


def settings_table():
    rows = [
        reproduction("A", "x", 60.0),
        reproduction("A", "y", 63.0, 0.4),
        reproduction("A", "z", 58.0, np.nan),
        reproduction("B", "x", 70.0),
        reproduction("B", "x", 72.0),
        reproduction("B", "y", 69.0),
        reproduction("C", "x", 50.0),
        reproduction("B", "own", 75.0, pair_kind="same authors"),
        reproduction("A", "ran theirs", 66.0, pair_kind="authors' code"),
        reproduction("C", "unknown network", 55.0, backbone=""),
        reproduction("C", "more classes", 55.0, trained_on="train+val"),
    ]
    return pd.DataFrame(rows)


def test_settings_are_those_that_other_laboratories_share():
    found = laboratories.reproduced_settings(settings_table())
    assert found[["method", "laboratory", "mean"]].values.tolist() == [
        ["A", "x", 60.0],
        ["A", "y", 63.0],
        ["A", "z", 58.0],
        ["B", "x", 71.0],
        ["B", "y", 69.0],
    ]


def test_two_laboratories_differ_by_the_pooled_deviation_within_settings():
    settings = laboratories.reproduced_settings(settings_table())
    found = laboratories.between_laboratories(settings)
    within = smf.ols("mean ~ C(setting)", settings).fit().mse_resid
    assert found.value == pytest.approx(np.sqrt(2 * within))
    assert (found.settings, found.methods, found.laboratories) == (2, 2, 3)
    assert found.low < found.value < found.high
    assert found.half_width == pytest.approx(1.959964 * found.value)
    two = laboratories.between_laboratories(settings[settings["laboratory"] != "z"])
    assert two.value > 0 and np.isnan(two.low)


def test_the_interval_of_two_laboratories_is_that_of_the_jackknife():
    """Settings of two laboratories each: every cell counts half in the size of its laboratory."""
    values = {"ab": (60.0, 63.0), "ac": (50.0, 51.0), "bc": (40.0, 38.0), "ad": (70.0, 66.0)}
    rows = [
        {"setting": both, "laboratory": name, "method": "M", "mean": mean}
        for both, means in values.items()
        for name, mean in zip(both, means, strict=True)
    ]
    found = laboratories.between_laboratories(pd.DataFrame(rows))
    squares = {both: (means[0] - means[1]) ** 2 for both, means in values.items()}
    without = [
        np.log(np.mean([square for both, square in squares.items() if name not in both])) / 2
        for name in "abcd"
    ]
    error = np.sqrt(3 / 4 * np.sum((np.array(without) - np.mean(without)) ** 2))
    sizes = np.array([3, 2, 2, 1]) / 2
    margin = t.isf(0.025, sizes.sum() ** 2 / (sizes**2).sum() - 1) * error
    value = np.log(np.mean([*squares.values()])) / 2
    assert np.log([found.low, found.value, found.high]) == pytest.approx(
        [value - margin, value, value + margin]
    )


def test_each_two_laboratories_of_a_setting_are_a_pair():
    found = laboratories.laboratory_pairs(laboratories.reproduced_settings(settings_table()))
    assert found[["laboratory", "other"]].values.tolist() == [[*"xy"], [*"xz"], [*"yz"], [*"xy"]]
    assert found["difference"].tolist() == [-3.0, 2.0, 5.0, 2.0]
    assert found["plus_minus"].iloc[0] == pytest.approx(np.hypot(0.5, 0.4))
    assert found["plus_minus"].isna().tolist() == [False, True, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("log_scatter, least", [(0.0, 0.9), (0.3, 0.9), (0.6, 0.86)])
def test_the_interval_of_two_laboratories_holds_the_truth(log_scatter, least):
    """With the settings and laboratories of the chapter; scatter in points: 2 of methods, 2 rest."""
    rng = np.random.default_rng(2)
    cells = leaderboards.cells()
    images = cells[(cells["ways"] == "5") & (cells["dataset"] != "Omniglot")]
    settings = laboratories.reproduced_settings(images)
    names, laboratory = np.unique(settings["laboratory"], return_inverse=True)
    methods, method = np.unique(settings["laboratory"] + settings["method"], return_inverse=True)
    scatters = np.exp(log_scatter * rng.normal(size=(2, 100_000)))
    truth = np.sqrt((8 * scatters**2).sum(axis=0).mean())
    held = []
    for _ in range(120):
        scatter = np.exp(log_scatter * rng.normal(size=len(names)))[laboratory]
        parts = rng.normal(size=len(methods))[method] + rng.normal(size=len(settings))
        found = laboratories.between_laboratories(settings.assign(mean=2 * scatter * parts))
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= least


def test_kinds_have_a_row_for_a_typical_and_one_for_the_next_laboratory():
    table = pd.DataFrame({"pair_kind": ["paper"] * 6 + ["third party"] * 3})
    table["laboratory"] = [*"aabbcc", *"ddd"]
    table["method"] = [f"M{k}" for k in range(9)]
    table["difference"] = [1.0, -2.0, 1.5, 0.5, -1.0, 2.0, 3.0, 3.0, 3.0]
    between = laboratories.between_laboratories(
        laboratories.reproduced_settings(settings_table()), level=0.9
    )
    rows = laboratories.kind_rows(table, between, level=0.9)
    assert rows["row"].tolist() == ["paper (3)", "paper (3)", "two other laboratories (3)"]
    found = laboratories.beside_target(
        *(table[:6][name] for name in ("difference", "laboratory", "method")), level=0.9
    )
    assert rows["mean"].tolist() == [found.value, found.value, between.value]
    assert rows["low"].tolist() == [found.low, found.next_low, between.low]
    assert rows["high"].tolist() == [found.high, found.next_high, between.high]


def test_an_order_is_kept_or_reversed():
    printed = [("A", 60.0), ("B", 62.0), ("C", 70.0)]
    own = [reproduction(method, "", mean, role="own", year=2020) for method, mean in printed]
    boards = leaderboards.boards(pd.DataFrame(own))
    again = [
        reproduction("A", "x", 61.0, pair_kind="paper"),
        reproduction("B", "x", 60.5, pair_kind="paper"),
        reproduction("C", "x", 66.0, pair_kind="paper"),
        reproduction("A", "y", 61.0, pair_kind="another table"),
        reproduction("B", "y", 64.0, pair_kind="another table"),
        reproduction("C", "y", 90.0, pair_kind="same authors"),
    ]
    orders = laboratories.method_orders(boards, pd.DataFrame(again))
    found = orders.set_index(["laboratory", "higher", "lower"])
    assert found["gap"].to_dict() == {
        ("x", "B", "A"): 2.0,
        ("x", "C", "A"): 10.0,
        ("x", "C", "B"): 8.0,
        ("y", "B", "A"): 2.0,
    }
    assert found["kept"].tolist() == [False, True, True, True]
    assert found["beside"].tolist() == [True, True, True, False]
    shares = laboratories.kept_shares(orders, least=1)
    assert shares[["row", "kept", "pairs"]].values.tolist() == [
        ["2 to 3 points", 0, 1],
        ["2 to 3 points", 1, 1],
        ["3 points or more", 2, 2],
    ]
    assert len(laboratories.kept_shares(orders, least=2)) == 2


def test_terms_that_vary_are_found():
    """Meta-learning differs by 4 points where metric learning differs by 1."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"method": [f"M{k % 24}" for k in range(120)]})
    table["kind"] = np.where(np.arange(120) % 2 == 0, "metric learning", "meta-learning")
    table["laboratory"] = [f"L{k // 24}" for k in range(120)]
    table["period"] = rng.permutation(np.repeat(["before", "after"], 60))
    table["dataset"] = "birds"
    table["reported"] = rng.uniform(40, 80, 120)
    table["difference"] = rng.normal(0, np.where(table["kind"] == "meta-learning", 4, 1))
    p_values = laboratories.varying_terms(table)
    assert p_values["kind"] < 0.001 and p_values.drop("kind").min() > 0.05
    assert set(p_values.index) == {"error", "kind", "period"}
    assert laboratories.varying_terms(table[:79]).empty
