"""Published accuracies: the facts, and what is computed from them, on tables with a known answer."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap, norm, t

from fslbook.beyond import leaderboards
from fslcore import stats
from fslcore.paths import DATA


def board_row(method, year, mean, plus_minus=0.5, **other):
    setting = {"dataset": "birds", "ways": "5", "shots": "1", "transductive": "no"}
    cell = {"method": method, "year": year, "mean": mean, "plus_minus": plus_minus}
    origin = {"role": "own", "pair": "", "source": "a/b", "laboratory": "a", "pair_kind": ""}
    origin |= {"tasks": np.nan, "plus_minus_is": "", "trained_on": ""}
    return setting | {"backbone": "Conv4"} | origin | cell | other


def test_cells_are_many_sourced_and_possible():
    table = leaderboards.cells()
    assert len(table) > 2000 and table["source"].nunique() >= 30
    assert table["mean"].between(10, 100).all()
    assert not (table["plus_minus"] <= 0).any()
    assert table[["method", "dataset", "source", "place"]].ne("").all(axis=None)
    threads = table["place"].str.fullmatch(r"issue #\d+")
    assert (table["commit"].str.fullmatch("[0-9a-f]{12}") == ~threads).all()
    assert set(table["role"]) == {"own", "reported", "quoted", "reproduced"}
    assert table.loc[table["pair"] != "", "kind"].ne("").all()


def test_the_card_counts_the_rows_and_sources():
    table = leaderboards.cells()
    card = (DATA / "published" / "README.md").read_text("utf-8")
    counts = f"{len(table):,} rows) holds accuracies of few-shot image classifiers as {table['source'].nunique()} "
    assert counts in card


def test_every_copy_has_the_digits_of_its_source():
    key = "source method dataset ways shots mean".split()
    table = leaderboards.cells().round({"mean": 2})
    copies = table[table["copy_of"] != ""].assign(source=table["copy_of"])[key].drop_duplicates()
    assert len(copies.merge(table[key].drop_duplicates())) == len(copies) > 100


def test_a_pair_is_reproduced_less_reported():
    rows = [
        board_row("A", 2020, 60.0, role="reported", pair="1"),
        board_row("A", 2020, 58.5, 0.3, role="reproduced", pair="1", pair_kind="paper"),
        board_row("A", 2020, 61.0, role="reproduced", pair="1"),
        board_row("B", 2018, 70.0),
    ]
    found = leaderboards.pairs(pd.DataFrame(rows))
    assert found[["difference", "relative"]].values.tolist() == [[-1.5, -3.75], [1.0, 2.5]]
    assert found["plus_minus_reproduced"].tolist() == [0.3, 0.5]
    assert found["pair_kind"].tolist() == ["paper", ""]


def test_statistics_of_known_differences():
    differences = pd.Series([3.0, -4.0, 0.0, 0.0])
    assert leaderboards.spread(differences) == 2.5
    assert leaderboards.share_over(differences, 3.0) == 0.25


def test_both_half_widths_count_against_both():
    """Equal ±, h of each: right ones hold 95 % within h √2, and 83 % within the original's h."""
    table = pd.DataFrame({"difference": [-0.7, 0.8, 1.0], "plus_minus": 0.5})
    table["plus_minus_reproduced"] = [0.5, 0.5, 1.0]
    assert leaderboards.inside(table).tolist() == [True, False, True]
    expected = leaderboards.expected_within_original(table[:2])
    assert expected == pytest.approx(2 * norm.cdf(1.959964 / np.sqrt(2)) - 1)


def test_few_methods_have_no_interval():
    values, methods = pd.Series([1.0, 2.0, 3.0]), pd.Series([*"AAB"])
    estimate = leaderboards.by_method(values, methods, leaderboards.spread)
    assert np.isnan(estimate.low) and np.isnan(estimate.high)
    assert (estimate.cells, estimate.methods) == (3, 2)


@pytest.mark.slow
def test_intervals_over_methods_hold_the_known_spread_of_simulated_leaderboards():
    """23 methods with 5 cells each, which share most of their deviation."""
    rng, count = np.random.default_rng(5), 23
    methods = pd.Series(np.repeat(np.arange(count), 5))
    held = []
    for seed in range(80):
        cells = pd.Series(rng.normal(0, 1.5, count)[methods] + rng.normal(0, 1, 5 * count))
        found = leaderboards.by_method(cells, methods, leaderboards.spread, seed=seed)
        held.append(found.low <= np.hypot(1.5, 1) <= found.high)
    assert np.mean(held) > 0.86


def test_the_readme_has_the_finding():
    pairs = leaderboards.pairs(leaderboards.cells())
    pairs = pairs[(pairs["pair_kind"] == "paper") & (pairs["dataset"] != "Omniglot")]
    both = pairs.dropna(subset=["plus_minus", "plus_minus_reproduced"])
    text = (
        f"{leaderboards.inside(both).sum()} of {len(both)} reproduced accuracies lie within both ± "
        f"combined, where {0.95 * len(both):.0f} should"
    )
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert text in " ".join(readme.split())


def test_steps_are_from_the_best_of_earlier_years():
    rows = [
        board_row("old", 2017, 50.0),
        board_row("worse", 2018, 49.0),
        board_row("better", 2018, 53.0, 1.2),
        board_row("same year", 2018, 52.0, np.nan),
        board_row("last", 2019, 54.0, 0.9),
    ]
    boards = leaderboards.boards(pd.DataFrame(rows))
    steps = leaderboards.steps(boards, beside=3.9, between=9.4).set_index("method")
    assert steps["step"].to_dict() == {"better": 3.0, "same year": 2.0, "last": 1.0}
    assert steps["before"].to_dict() == {"better": "old", "same year": "old", "last": "better"}
    assert steps.loc["last", "unpaired"] == pytest.approx(1.5, rel=0.003)
    paired = np.sqrt(2.25 - 2 * 0.95 * 1.2 * 0.9)
    assert steps.loc["last", "paired"] == pytest.approx(paired, rel=0.003)
    assert steps.loc["last", ["beside", "between"]].tolist() == [3.9, 9.4]
    assert np.isnan(steps.loc["same year", "unpaired"])


def test_boards_take_the_authors_number_once_and_no_reproduction():
    rows = [
        board_row("A", 2018, 61.0, role="quoted"),
        board_row("A", 2018, 60.0),
        board_row("A", 2018, 58.0, role="reproduced"),
        board_row("A", 2018, 66.0, backbone="ResNet-12"),
        board_row("B", 2018, 68.0, trained_on="train+val"),
    ]
    table = pd.DataFrame(rows)
    assert leaderboards.boards(table)["mean"].tolist() == [60.0, 66.0]
    assert leaderboards.boards(table, with_backbone=False)["mean"].tolist() == [60.0]


def test_tops_correct_the_first_for_the_choice():
    means = [71.2, 69.8, 69.7, 69.5, 60.0]
    rows = [board_row(f"M{k}", 2020, mean) for k, mean in enumerate(means)]
    boards = leaderboards.boards(pd.DataFrame(rows))
    top = leaderboards.tops(boards, reproduction=2.0, least=5).iloc[0]
    errors = np.full(5, (0.5 / 1.959964) ** 2)
    alone, beside = (
        stats.winner_interval(np.array(means), np.diag(variances), bounds=(0, 100)).corrected
        for variances in (errors, np.maximum(errors, 2.0**2 / 2))  # half of that of a difference
    )
    assert (top["first"], top["methods"], top["lead"]) == ("M0", 5, pytest.approx(1.4))
    for suffix, corrected in (("", alone), ("_laboratory", beside)):
        found = [top[f"{end}{suffix}"] for end in ("estimate", "low", "high")]
        assert found == pytest.approx([corrected.estimate, corrected.low, corrected.high])
    assert (top["candidates"], top["candidates_laboratory"]) == (1, 4)
    assert leaderboards.tops(boards, reproduction=2.0, least=6).empty


def test_the_best_is_among_those_that_may_be():
    """Of 5 equal methods in at least 95 % of draws, and not in many more."""
    rng = np.random.default_rng(6)
    draws = rng.normal(0, 1, (4000, 5))
    held = np.array([leaderboards.may_be_best(means, np.ones(5)) for means in draws])
    assert 0.95 <= held[:, 0].mean() < 0.97
    alone = leaderboards.may_be_best(np.array([70.0, 67.2]), np.array([1.0, 1.0]))
    assert alone.tolist() == [True, False]  # 1.98 standard errors, one comparison at 5 %


def test_tasks_are_those_of_the_sources():
    """Neither says: the parameter; one says: both; a ± that is said to be an interval is one."""
    rows = [
        board_row("A", 2020, 69.28, 0.49),
        board_row("B", 2022, 67.83, 0.43, tasks=2000.0),
        board_row("C", 2022, 67.83, 0.43, plus_minus_is="95 % interval"),
        board_row("D", 2022, 67.83, 0.43),
    ]
    first, *others = [row for _, row in pd.DataFrame(rows).iterrows()]
    known, said, unknown = [leaderboards.printed_difference(first, other, 600) for other in others]
    assert known.meaning == said.meaning == "interval" and unknown.meaning == "standard error"
    assert known.tasks.widest.half_width == pytest.approx(0.65, abs=0.005)
    assert known.tasks.narrowest.half_width < known.tasks.widest.half_width


def test_readings_judge_a_width_by_its_tasks():
    rows = [
        board_row("A", 2018, 50.0, 0.8, tasks=600.0, plus_minus_is="95 % interval"),
        board_row("B", 2018, 50.0, 10.0, tasks=600.0, plus_minus_is=""),
        board_row("C", 2018, 50.0, 10.0, tasks=np.nan, plus_minus_is=""),
    ]
    found = leaderboards.readings(pd.DataFrame(rows)).set_index("implied")["said"].to_dict()
    assert found == {"interval": "95 % interval", "standard deviation": "—", "—": "—"}


def test_the_highest_two_are_of_one_leaderboard_and_have_a_half_width():
    columns = ["board", "method", "dataset", "shots", "transductive", "mean", "plus_minus"]
    rows = [
        ("large", "a", "x", "1", "no", 60.0, 0.5),
        ("large", "b", "x", "1", "no", 70.0, 0.5),
        ("large", "c", "x", "1", "no", 80.0, 0.5),
        ("large", "without", "x", "1", "no", 99.0, np.nan),
        ("large", "all queries", "x", "1", "yes", 98.0, 0.5),
        ("large", "five", "x", "5", "no", 97.0, 0.5),
        ("small", "d", "x", "1", "no", 96.0, 0.5),
        *[("of y", str(i), "y", "1", "no", 95.0, 0.5) for i in range(9)],
    ]
    first, second = leaderboards.highest_two(pd.DataFrame(rows, columns=columns), "x")
    assert (first["method"], second["method"]) == ("c", "b")


def test_intervals_over_methods_are_bca_at_a_level_widened_for_few_methods():
    """Each of eight methods was reproduced three times, with one result: eight units, not 24."""
    x = np.array([1.0, -0.5, 2.0, 4.0, -1.5, 0.3, 0.8, 7.0])
    methods = pd.Series(np.tile(np.arange(8), 3))
    found = leaderboards.by_method(pd.Series(np.tile(x, 3)), methods, leaderboards.spread)
    expected = bootstrap(
        (x,),
        lambda y, axis: np.sqrt((y**2).mean(axis=axis)),
        n_resamples=leaderboards.RESAMPLES,
        confidence_level=1 - 2 * norm.cdf(-np.sqrt(8 / 7) * t.ppf(0.975, 7)),
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.02)


def test_corrected_leaders_are_shown_as_differences_to_their_printed_accuracy():
    row = {"board": "CUB, 5-shot, ResNet", "mean": 80.0, "estimate": 79, "low": 77, "high": 80}
    row |= {"estimate_laboratory": 77, "low_laboratory": 75, "high_laboratory": 78}
    rows = leaderboards.top_rows(pd.DataFrame([row]))
    assert rows[["mean", "low", "high"]].to_numpy().tolist() == [[-1, -3, 0], [-3, -5, -2]]
