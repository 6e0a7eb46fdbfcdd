"""The tables of the chapters, against the printed figures and small cases worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from fslcore import report, simulate
from fslcore.tasks import sample_closed


def results_of(accuracies):
    """A results table from {(dataset, backbone, learner, sampling): per-task accuracies}."""
    columns = ["dataset", "backbone", "learner", "sampling"]
    parts = [
        pd.DataFrame({"task": np.arange(len(a)), "accuracy": a}).assign(**dict(zip(columns, key)))
        for key, a in accuracies.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_wide_keeps_the_layout_and_the_digits_of_table_2():
    table = report.wide(report.printed(2))
    assert table.shape == (18, 4)
    assert table.loc[("dtd", 840, "LR"), ("clip", "open")] == "84.00 ± 4.50"
    assert table.index.get_level_values("n_images").is_monotonic_increasing
    missing = report.printed(2).iloc[1:]
    assert report.wide(missing).loc[("dtd", 840, "LR"), ("clip", "closed")] == "—"


def test_width_ratios_of_table_2():
    ratio = report.width_ratios(report.printed(2))["ratio"]
    assert len(ratio) == 36
    assert ratio.mean() == pytest.approx(4.00, abs=0.005)
    assert (ratio < 1).sum() == 8


def test_closed_and_open_means_of_table_2_are_apart_in_13_settings():
    gaps = report.mean_gaps(report.printed(2))
    assert gaps["intervals apart"].sum() == 13
    assert gaps["settings"].sum() == 36


def test_finetuning_verdicts_of_table_3_are_those_of_the_prose():
    assert report.finetuning_verdicts(report.printed_pairs(3)).tolist() == [36, 4, 18, 14]


def test_tables_1_and_3_in_the_papers_layout():
    methods = [("clip", "ncc"), ("clip", "ft"), ("dino", "ncc"), ("dino", "ft")]
    grid = report.grid_table(report.printed_pairs(1), "dtd", "traffic-signs", methods)
    assert grid.loc["clip NCC", "dino FT"] == "− 0 +"  # the inversion
    assert (np.diag(grid) == "").all()
    table = report.finetuning_table(report.printed_pairs(3))
    assert table.shape == (18, 6)
    assert table.loc[("dino FT", "omniglot"), "clip LR"] == "+ +"


def test_pair_table_and_counts():
    rng = np.random.default_rng(0)
    hard = rng.normal(70, 10, 400)  # difficulty that both methods share
    a, b = hard + rng.normal(1, 1, 400), hard + rng.normal(0, 1, 400)
    results = results_of({
        ("d", "x", "ncc", "closed"): a + 5, ("d", "x", "lr", "closed"): b,
        ("d", "x", "ncc", "open"): a, ("d", "x", "lr", "open"): b[:300],  # paired on the first 300
    })
    pairs = report.pair_table(results)
    assert pairs[["closed", "open", "paired"]].values.tolist() == [[1, 0, 1]]
    counts = report.conclusive_counts(pairs)
    assert counts["closed conclusive, lost open, back paired"] == 1
    assert counts["paired conclusive, open not"] == 1
    assert counts["closed and paired conclusive, opposite"] == 0
    both = report.symbols(pairs, ("closed", "open", "paired"))
    assert both.loc[("d", ("x", "lr"), ("x", "ncc"))] == "− 0 −"
    assert report.correlations(results).loc["d", "highest"] > 0.95


def test_symbols_that_are_unknown_are_marked():
    pairs = pd.DataFrame({"dataset": ["d"], "a": [("x", "ft")], "b": [("x", "lr")], "open": [0.0], "paired": [np.nan]})
    assert report.symbols(pairs, ("open", "paired")).iloc[0] == "0 ?"


def test_nearest_mean_accuracy_against_a_loop():
    rng = np.random.default_rng(1)
    x, labels = simulate.gaussian_classes(50, rng)
    tasks = sample_closed(labels, tasks=20, ways=2, shots=3, queries=4)
    for t, accuracy in enumerate(simulate.nearest_mean_accuracy(x, tasks)):
        means = [x[tasks.support[t][tasks.support_label[t] == k]].mean() for k in (0, 1)]
        right = [
            np.argmin([abs(x[q] - m) for m in means]) == k for q, k in zip(tasks.query[t], tasks.query_label[t])
        ]
        assert accuracy == pytest.approx(np.mean(right))


def test_open_intervals_cover_new_images_and_closed_ones_do_not():
    truth, made = simulate.coverage(200, 250, tasks=600, shots=5, queries=15, level=0.95, seed=3)
    hit = {kind: np.mean([r.low <= truth <= r.high for r in made[kind]]) for kind in made}
    assert hit["open"] > 0.90  # nominal 0.95; standard error 0.015
    assert hit["closed"] < 0.60
