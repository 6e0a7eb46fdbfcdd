"""Results on a paper's own data beside what it prints."""

import numpy as np
import pandas as pd
import pytest

from fslbook import published
from fslbook.oops import benchmark
from fslcore import stats

PRINTED = published.table(2)


def test_names_of_the_papers_data_and_backbones():
    for spec in ("cub?splits=meta-dataset", "cub:/data/cub?splits=meta-dataset"):
        assert published.own_data(spec) == "cub"
    assert published.own_data("cub?splits=chen") is published.own_data("cub:/data/cub") is None  # other classes
    assert published.own_data("dtd:/data/dtd") == "dtd"
    assert published.own_data("clipart") is None and published.own_data("folder:/dtd") is None
    assert set(PRINTED["dataset"]) <= set(published.OWN)
    assert published.own_backbone("clip-released") == published.own_backbone("clip-released:file.pt") == "clip"
    assert published.own_backbone("clip") is None  # sees other pixels
    assert published.own_backbone("dinov2-reg-released") == "dinov2" and published.own_backbone("glyph-conv") is None


def results(dataset, backbone, learner, sampling, mean, tasks=400, seed=0):
    a = np.random.default_rng(seed).normal(0, 8, tasks)
    a += mean - a.mean()
    return pd.DataFrame(
        {"dataset": dataset, "backbone": backbone, "learner": learner, "sampling": sampling, "task": range(tasks),
         "accuracy": a, "shots": 5, "n_images": 840, "ways": 5, "queries": 15, "seed": 0}
    )  # fmt: skip


def test_a_cell_that_is_off_by_three_errors_says_so():
    cell = PRINTED.query("dataset == 'dtd' and backbone == 'clip' and learner == 'lr' and sampling == 'open'").iloc[0]
    for level in (0.95, 0.8):
        live = results("dtd", "clip-released", "lr", "open", 0)["accuracy"]
        ours = stats.open_interval(live, level)
        error = np.hypot(cell["half_width"] / 1.959964, live.std(ddof=1) / 20)
        table = pd.DataFrame(
            [("dtd", "clip-released", "lr", "open", cell["mean"] + 3 * error, ours.half_width)],
            columns=["dataset", "backbone", "learner", "sampling", "mean", "half_width"],
        )
        (found,) = published.beside(table, PRINTED, level).itertuples()
        assert found.Index == ("dtd", "clip", "lr", "open") and found[4] == "+3.0"
        assert found.printed == f"{cell['mean']:.2f} ± {cell['half_width']:.2f}"


@pytest.mark.parametrize("dataset, backbone", [("clipart", "clip-released"), ("dtd", "clip")])
def test_other_data_and_backbones_stand_beside_nothing(dataset, backbone):
    table = pd.DataFrame(
        [(dataset, backbone, "lr", "open", 50.0, 1.0)],
        columns=["dataset", "backbone", "learner", "sampling", "mean", "half_width"],
    )
    assert published.beside(table, PRINTED).empty


def test_symbols_that_agree_are_counted_in_both_directions():
    sides = [("clip", "ft"), ("clip", "lr")]
    printed = benchmark.printed_pairs(3)
    (row,) = printed[
        (printed["dataset"] == "dtd") & (printed["a"] == sides[0]) & (printed["b"] == sides[1])
    ].itertuples()
    ours = pd.concat(
        [results("dtd", "clip-released", learner, sampling, mean, seed=seed)
         for seed, (learner, mean) in enumerate([("lr", 84.0), ("ft", 80.8)]) for sampling in ("closed", "open")]
    )  # fmt: skip
    pairs = benchmark.pair_table(ours)
    found = benchmark.agreement(pairs, printed)
    sign = 1 if pairs["a"][0] == ("clip-released", "ft") else -1
    wanted = {kind: int(sign * pairs[kind][0] == getattr(row, kind)) for kind in ("open", "paired")}
    assert found.to_dict() == {"pairs": 1, **wanted} and found["paired"] == 1
    assert benchmark.agreement(pairs.assign(dataset="clipart"), printed)["pairs"] == 0


def test_table_4_compares_across_backbones():
    ours = pd.concat([results("x", b, m, "open", 50) for b in ("one", "two") for m in ("lr", "ncc", "ft")])
    assert benchmark.crossed_pairs(ours) == [
        (("two", "ft"), ("one", "lr")),
        (("two", "ft"), ("two", "lr")),
        (("two", "ft"), ("two", "ncc")),
    ]


def test_a_long_table_is_shown_whole():
    table = pd.DataFrame({"x": range(1000, 1072)})
    shown = published.whole(table).data
    assert all(f"<td>{value}</td>" in shown for value in table["x"]) and 'class="dataframe"' in shown
    assert published.whole(table.head(0)) is None
