"""The tables of the chapters, against the printed figures and small cases worked out by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from features import features_file
from refusal import refuses
from scipy import stats as scipy_stats

from fslbook import published, released
from fslbook.oops import benchmark, gaussians
from fslcore.tasks import sample_closed

REAL = Path(__file__).parents[3] / "shared" / "oops-benchmark"


def results_of(accuracies):
    """A results table from {(dataset, backbone, learner, sampling): per-task accuracies}."""
    columns = ["dataset", "backbone", "learner", "sampling"]
    parts = []
    for key, values in accuracies.items():
        table = pd.DataFrame({"task": np.arange(len(values)), "accuracy": values})
        parts.append(table.assign(**dict(zip(columns, key))))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def hundred_images(monkeypatch):
    monkeypatch.setattr(benchmark.evaluation, "load_images_or_features", lambda name: range(100))


def test_live_table_2_has_students_quantile_for_open_tasks_and_the_normal_one_for_closed(
    hundred_images,
):
    """OOPS, equations 2 and 4."""
    accuracies = np.random.default_rng(0).normal(70, 8, 144)
    results = results_of({("d", "b", "l", sampling): accuracies for sampling in ("open", "closed")})
    table = benchmark.intervals(results, level=0.9)
    half = table.set_index("sampling")["half_width"]
    error = accuracies.std(ddof=1) / 12
    assert half["open"] == pytest.approx(scipy_stats.t.ppf(0.95, 143) * error)
    assert half["closed"] == pytest.approx(scipy_stats.norm.ppf(0.95) * error)
    assert half["open"] > 1.005 * half["closed"] and (table["n_tasks"] == 144).all()


def test_table_2_has_the_papers_width_ratios_and_gaps():
    ratio = benchmark.width_ratios(published.table(2))["ratio"]
    assert (
        len(ratio) == 36
        and ratio.mean() == pytest.approx(4.00, abs=0.005)
        and (ratio < 1).sum() == 8
    )
    gaps = benchmark.mean_gaps(published.table(2))
    assert gaps["intervals apart"].sum() == 13 and gaps["settings"].sum() == 36


def test_pair_table_and_counts():
    rng = np.random.default_rng(0)
    hard = rng.normal(70, 10, 400)  # difficulty that both methods share
    ncc, lr = hard + rng.normal(1, 1, 400), hard + rng.normal(0, 1, 400)
    results = results_of(
        {
            ("d", "x", "ncc", "closed"): ncc + 5,
            ("d", "x", "lr", "closed"): lr,
            ("d", "x", "ncc", "open"): ncc,
            ("d", "x", "lr", "open"): lr[:300],  # paired on the first 300
        }
    )
    pairs = benchmark.pair_table(results)
    assert pairs[["closed", "open", "unpaired", "paired"]].values.tolist() == [[1, 0, 0, 1]]
    assert pairs["p_value"][0] == pytest.approx(scipy_stats.ttest_rel(ncc[:300], lr[:300]).pvalue)
    counts = benchmark.conclusive_counts(pairs)
    assert counts["closed conclusive, lost open, back paired"] == 1
    assert counts["paired conclusive, open not"] == 1
    assert counts["closed and paired conclusive, opposite"] == 0
    symbols = benchmark.symbols(pairs, ("closed", "open", "paired"))
    assert symbols.loc[("d", ("x", "lr"), ("x", "ncc"))] == "− 0 −"
    assert benchmark.correlations(results).loc["d", "highest"] > 0.95
    certain = {
        ("d", "x", name, "open"): np.full(20, 99.0 + k) for k, name in enumerate(("ncc", "lr"))
    }
    correlations = benchmark.correlations(results_of(certain)).loc[
        "d"
    ]  # of methods that never vary there is none
    assert correlations["pairs"] == 0 and np.isnan(correlations["highest"])


def test_nearest_mean_accuracy_against_a_loop():
    rng = np.random.default_rng(1)
    x, labels = gaussians.gaussian_classes(50, rng)
    tasks = sample_closed(labels, tasks=20, ways=2, shots=3, queries=4)
    for t, accuracy in enumerate(gaussians.nearest_mean_accuracy(x, tasks)):
        support = x[tasks.support[t]]
        means = np.array([support[tasks.support_label[t] == k].mean() for k in (0, 1)])
        nearest = np.abs(x[tasks.query[t]][:, None] - means).argmin(axis=1)
        assert accuracy == pytest.approx(np.mean(nearest == tasks.query_label[t]))


def test_open_intervals_cover_new_images_and_closed_ones_do_not():
    truth, intervals = gaussians.coverage(
        200, 250, tasks=600, shots=5, queries=15, level=0.95, seed=3
    )
    hit = {kind: np.mean([r.low <= truth <= r.high for r in intervals[kind]]) for kind in intervals}
    assert hit["open"] > 0.90  # nominal 0.95; standard error 0.015
    assert hit["closed"] < 0.60


# ---- the benchmark's tables


@pytest.fixture
def features(tmp_path):
    return features_file(tmp_path, np.repeat(np.arange(8), [40] * 6 + [12, 5]), apart=3.0)


def test_collect_takes_several_sizes_and_open_tasks_alone(features):
    table = benchmark.collect(
        [features],
        ["none"],
        ["ncc", "lr"],
        shots=[1, 5],
        queries=[2, 5],
        samplings=["open"],
        max_tasks=6,
        skip_small_classes=True,
    )
    size = table.groupby(["shots", "queries", "learner"]).size()
    assert set(size.index.droplevel("learner")) == {(1, 2), (5, 5)} and set(table["sampling"]) == {
        "open"
    }
    assert size.max() == 6 and (table["ways"] == 5).all()
    with refuses("shots and queries .*same length"):
        benchmark.collect([features], ["none"], ["ncc"], shots=[1, 5], queries=5)
    with refuses("class 7 .*images, got 5"):
        benchmark.collect([features], ["none"], ["ncc"], shots=5, queries=5, samplings=["open"])


def test_the_gain_from_the_rule_is_kept_apart_from_that_of_pairing():
    """One pair whose intervals overlap although the difference is significant, one that needs pairing, one neither."""
    rng = np.random.default_rng(0)
    hard = rng.permutation(
        np.repeat([-10.0, 10.0], 200)
    )  # half-widths of about 1 for each, 1.4 for a difference
    noise = rng.permutation(np.repeat([-1.0, 1.0], 200))
    by_set = {
        "rule": rng.permutation(hard) + 1.7,
        "pairing": hard + noise + 1,
        "neither": rng.permutation(hard) + 1,
    }
    results = results_of(
        {
            (name, "x", learner, "open"): accuracies
            for name, b in by_set.items()
            for learner, accuracies in (("ncc", hard), ("lr", b))
        }
    )
    pairs = benchmark.pair_table(results).set_index("dataset")
    assert pairs[["open", "unpaired", "paired"]].abs().T.to_dict("list") == {
        "rule": [0, 1, 1],
        "pairing": [0, 0, 1],
        "neither": [0, 0, 0],
    }
    counts = benchmark.conclusive_counts(pairs.assign(closed=0))
    assert counts["paired conclusive, open not"] == 2
    assert counts["conclusive, unpaired difference"] == 1
    assert counts["paired conclusive, unpaired difference not"] == 1
    assert counts["unpaired difference conclusive, paired not"] == 0
    assert benchmark.corrected_counts(pairs)["unpaired"] == 1


def test_corrected_counts_by_hand():
    p = [
        0.001,
        0.012,
        0.014,
        0.04,
        0.3,
    ]  # Holm: 0.05/5, 0.05/4, 0.05/3, 0.05/2; Benjamini-Hochberg: 0.05·i/5
    pairs = pd.DataFrame({"open": [1, 0, 0, 0, 0], "paired": [1, -1, 1, 1, 0], "p_value": p})
    pairs["unpaired"] = [1, 0, 1, 0, 0]
    assert benchmark.corrected_counts(pairs).tolist() == [5, 1, 2, 4, 3, 4]
    pairs["p_value"] = [
        0.02,
        0.02,
        0.02,
        0.02,
        0.3,
    ]  # no first one below 0.05/5; four below 0.05·4/5
    assert benchmark.corrected_counts(pairs).tolist() == [5, 1, 2, 4, 0, 4]


def test_paired_differences_have_the_form_of_the_printed_tables():
    results = results_of(
        {
            ("d", "x", "ft", "open"): [60.0, 80, 70],
            ("d", "x", "lr", "open"): [50.0, 60, 70, 10],
            ("e", "x", "ft", "open"): [60.0, 80, 70],
        }
    ).assign(shots=5)
    assert benchmark.finetuning_pairs(results) == [(("x", "ft"), ("x", "lr"))]
    table = benchmark.paired_differences(results, benchmark.finetuning_pairs(results))
    assert set(table) - {"n_tasks"} == set(published.table(4)) - {"reading", "note"}
    assert len(table) == 1 and table.loc[0, ["mean", "n_tasks"]].tolist() == [
        10,
        3,
    ]  # the tasks of both
    assert benchmark.difference_table(table, 1).loc[("d", 5), "x LR"].startswith("10.0 ± ")
    assert benchmark.verdict_counts(table).loc[5].to_dict() == {
        "FT better": 0,
        "inconclusive": 1,
        "FT worse": 0,
    }


@pytest.mark.parametrize("number, agreeing, printed", [(4, 28, 31), (5, 18, 18), (6, 13, 18)])
def test_without_released_tasks_stands_what_was_kept_of_them(number, agreeing, printed):
    compared = benchmark.against_printed(number, None)
    recomputed = compared.dropna(subset="same")
    assert (recomputed["same"].sum(), len(recomputed)) == (agreeing, printed) and set(
        recomputed["shots"]
    ) == {5}
    assert (recomputed["reading"] == "printed").all()
    cells = benchmark.side_by_side(compared).xs("printed", axis=1, level=1)
    assert (
        cells.to_numpy() == benchmark.difference_table(published.table(number)).to_numpy()
    ).all()


def test_recomputed_cells_stand_beside_the_printed_ones(monkeypatch):
    accuracies = np.array([80.0, 90, 100])
    results = results_of(
        {
            ("cub", "clip", "ft", "open"): accuracies,
            ("cub", "clip", "lr", "open"): accuracies - [1, 2, 3],
            ("cub", "clip", "ncc", "open"): accuracies,
        }
    ).assign(shots=5)
    compared = benchmark.against_printed(6, results)
    assert len(compared) == len(published.table(6)) and compared["same"].notna().sum() == 2
    assert not compared["same"].dropna().any()
    cells = benchmark.side_by_side(compared)["clip LR"]
    assert cells.loc[("cub", "5"), "recomputed"].startswith("2.000 ± 2.484")
    assert cells.loc[("cub", "5"), "printed"].startswith("−0.364 ± 0.962")
    assert cells.loc[("cub", "1, printed only"), "recomputed"] == "—"
    # one more digit than is printed does not count
    printed = compared.assign(mean=2.0004, half_width=2.4841)[list(published.table(6))]
    monkeypatch.setattr(published, "table", lambda number: printed)
    compared_again = benchmark.against_printed(6, results).set_index(
        ["dataset", "shots", "b_learner"]
    )
    assert compared_again["same"]["cub", 5, "lr"]


def test_figure_6_has_the_papers_counts_and_ours():
    rng = np.random.default_rng(0)
    tables = []
    for shots, queries in ((1, 15), (1, 1), (5, 15), (5, 5)):
        means = {("d", name, "ncc", "open"): mean for name, mean in zip("xyz", (60, 70, 60))}
        results = results_of(
            {key: rng.normal(mean, 5, 30).clip(0, 100) for key, mean in means.items()}
        )
        tables.append(results.assign(shots=shots, queries=queries))
    counts = benchmark.counts_by_size(tables)
    assert (
        counts.index.tolist() == [(1, 1), (1, 15), (5, 5), (5, 15)] and (counts["pairs"] == 3).all()
    )
    bars = benchmark.figure_6(counts, 15)
    assert len(bars) == 5 * 2 + 5 and bars["rule"].nunique() == 5
    assert bars.query("shots == 0")[["conclusive", "pairs"]].values.tolist() == [
        [57, 135],
        [94, 135],
        [97, 135],
        [76, 135],
        [91, 135],
    ]
    assert (
        bars.query("shots == 5 and rule == 'paired, optimised Q'")["conclusive"].item()
        == counts["paired"][5, 5]
    )
    table = benchmark.counts_table(counts, None)
    assert table.loc[("OOPS, printed", 5, 5)].tolist() == ["135", "—", "—", "97", "—", "—"]
    assert table.loc[("OOPS, released", 5, 5)].tolist() == ["135", "59", "70", "96", "76", "91"]


@pytest.mark.skipif(
    not REAL.is_dir(), reason="the authors' released accuracies are not at ../shared/oops-benchmark"
)
def test_released_tasks_give_59_of_67_printed_cells_and_the_counts_of_the_paper():
    tasks = released.read(str(REAL))
    tables = [benchmark.against_printed(number, tasks) for number in (4, 5, 6)]
    agreeing = pd.concat(tables)["same"].dropna()
    assert (len(agreeing), agreeing.sum()) == (67, 59)
    lost = tables[0].groupby("shots")["recomputed_mean"].agg(lambda means: means.notna().mean())
    assert lost.to_dict() == {1: 0, 5: 1, 10: 0}
    counts = benchmark.counts_by_size([benchmark.papers_methods(tasks)])
    stored = published.recomputed_counts()
    assert counts.loc[(5, 5)].tolist() == stored.tolist() == [135, 59, 70, 96, 76, 91]
    for given in (tasks, None):
        row = benchmark.counts_table(counts, given).loc[("OOPS, released", 5, 5)]
        assert row.tolist() == ["135", "59", "70", "96", "76", "91"]


def test_printed_verdicts_keep_their_direction():
    """The inversion of Table 1, and the counts of Table 3 for fine-tuning."""
    methods = [("clip", "ncc"), ("clip", "ft"), ("dino", "ncc"), ("dino", "ft")]
    grid = benchmark.grid_table(benchmark.printed_pairs(1), "dtd", "traffic-signs", methods)
    assert grid.loc["clip NCC", "dino FT"] == "− 0 +"
    third = benchmark.printed_pairs(3)
    assert benchmark.finetuning_table(third).loc[("dino FT", "omniglot"), "clip LR"] == "+ +"
    assert benchmark.finetuning_verdicts(third).tolist() == [36, 4, 18, 14]
