"""Several data sets in a table, pairs the same within a margin: `fslcore.tools.report.across_datasets`."""

import json

import matplotlib
import numpy as np
import pandas as pd
import pytest

from fslcore import stats
from fslcore.errors import InputError
from fslcore.tools import report
from fslcore.tools.report import figures


def long(gaps, datasets, tasks=60, **more):
    """Open tasks of methods whose means are so far below 80, in percent."""
    rng, parts = np.random.default_rng(0), []
    for dataset in datasets:
        hard = rng.normal(0, 4, tasks)
        for method, gap in gaps.items():
            accuracy = (80 - gap + hard + rng.normal(0, 2, tasks)).clip(5, 100)
            parts.append(
                pd.DataFrame({"dataset": dataset, "method": method, "task": range(tasks), "accuracy": accuracy})
            )
    return pd.concat(parts).assign(sampling="open", **more)


def read(frame):
    return report.tables.normalise(frame, "t.csv")[0]


def test_ranks_are_those_of_the_means():
    table = read(long({"a": 0, "b": 6, "c": 12}, "uvwxyz"))
    (ranked,) = report.Results(table).ranks.values()
    means = table.groupby(["method", "dataset"])["accuracy"].mean().unstack()
    assert ranked.methods == ["a", "b", "c"] and ranked.datasets == list("uvwxyz")
    assert ranked.means == pytest.approx(means.to_numpy())
    reference = stats.across_datasets(means.to_numpy())
    assert (ranked.found.ranks == reference.ranks).all() and ranked.found.p_value == reference.p_value
    assert ranked.shown["best on these data sets"].tolist() == ["100%", "0%", "0%"]
    assert ranked.best_new[0] < 1


def test_the_noise_of_tasks_that_methods_share_cancels():
    table = read(long({"a": 0, "b": 0.8}, "uvw", tasks=80))
    (ranked,) = report.Results(table).ranks.values()
    alone = stats.probability_best(ranked.means, [np.diag([4.5**2 / 80] * 2)] * 3)  # as if tasks were not shared
    assert ranked.best_here.max() > alone.max()


def test_other_shots_are_another_table_of_ranks():
    five, one = (long({"a": 0, "b": 1}, "uvw", shots=s) for s in (5, 1))
    found = report.Results(read(pd.concat([five, one]))).ranks
    assert list(found) == ["1-shot", "5-shot"] and all(r.datasets == list("uvw") for r in found.values())
    assert report.Results(read(long({"a": 0, "b": 1}, "u"))).ranks == {}
    assert report.Results(read(long({"a": 0}, "uv"))).ranks == {}
    mixed = pd.concat([long({"a": 0, "b": 1, "c": 2}, "uv"), long({"a": 0, "b": 1}, "w")])
    (ranked,) = report.Results(read(mixed)).ranks.values()
    assert ranked.methods == ["a", "b"]  # w has no c


def test_the_caveat_says_what_cannot_be():
    said = {
        n: report.Results(read(long({"a": 0, "b": 9, "c": 18}, "uvwxyzst"[:n]))).ranks[""].caveat for n in (2, 5, 8)
    }
    assert "p = 0.5 at best" in said[2] and "no pair can be significantly different" in said[2]
    assert "never below 0.05" in said[5] and "3 pairs that is 0.19" in said[5] and "all methods together" in said[5]
    assert "p = 0.0078 at best" in said[8] and "never" not in said[8] and "together" not in said[8]


def test_the_diagram_places_ranks_and_joins_groups():
    matplotlib.use("Agg")
    ranks = pd.Series({"a": 1.2, "b": 1.8, "c": 3.0})
    figure = figures.rank_diagram(ranks, [["a", "b"], ["b", "c"]], 1.5)
    bars = [line.get_xdata().tolist() for line in figure.axes[0].lines if line.get_linewidth() == 3]
    assert bars == [[1.2, 1.8], [1.8, 3.0]]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"a (1.20)", "b (1.80)", "c (3.00)", "critical difference 1.50"} <= set(texts)
    figures.rank_diagram(ranks, [["a"], ["b"], ["c"]], 9.0)  # no bar, and a difference beyond the axis
    matplotlib.pyplot.close("all")


def test_equivalent_pairs_against_the_statistic_and_corrected():
    table = read(long({"a": 0, "b": 0.1, "c": 0.8, "d": 9}, "u", tasks=400))
    plain, within = report.Results(table), report.Results(table, margin=1.0)
    pairs, found = plain.pairs, within.pairs
    grid = table.pivot(index="task", columns="method", values="accuracy")
    p = [stats.equivalence(stats.paired_interval(grid[a], grid[b]), 1.0).p_value for a, b in zip(pairs.a, pairs.b)]
    assert found["p_equivalent"].to_numpy() == pytest.approx(stats.holm(p), rel=1e-6)
    assert found["equivalent"].any() and not found["equivalent"].all()
    verdicts = within.tables["pairs"]["verdict"].tolist()
    assert "equivalent" in verdicts and "higher (Holm)" in verdicts
    assert "≈" in within.tables["matrix"].to_string() and "≈" not in plain.tables["matrix"].to_string()
    said = "\n".join(within.summary())
    assert f"{found['equivalent'].sum()} of 6 pairs are equivalent within 1 points" in said
    wide = report.Results(table, margin=5.0).tables["pairs"]["verdict"]
    assert "higher (Holm), by less than the margin" in wide.tolist()
    with pytest.raises(InputError, match="margin = 0"):
        report.Results.of(table, margin=0)


def test_a_record_holds_ranks_and_verdicts():
    table = read(long({"a": 0, "b": 0.1}, "uvw"))
    found = report.Results(table, margin=3.0)
    record = json.loads(json.dumps(found.record(), default=str))
    assert record["ranks"][0]["datasets"] == ["u", "v", "w"] and len(record["ranks"][0]["p_pairs"]) == 2
    assert {"equivalent", "p_equivalent", "margin"} <= record["pairs"][0].keys()
    assert "Mean ranks over 3 data sets:" in found.summary()
