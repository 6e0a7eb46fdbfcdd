"""FewSTAB's experiments here: names, tables by hand, pictures that show the trap, and what must hold on our data."""

import re

import numpy as np
import pandas as pd
import pytest
from refusal import refuses
from scipy import stats as scipy_stats

from fslbook import checks, published
from fslbook.fewstab import audit, tables, trap
from fslcore import stats
from fslcore.evaluation import Outcomes
from fslcore.paths import DATA
from fslcore.stats import Interval
from fslcore.tasks import sample_closed

PIXELS, SETS = "facts:ink+roundness+symmetry+colour", "facts:style+grid+palette"  # of icons


def interval(mean, half):
    return Interval(mean, half, 0.95, 100, "these images")


def test_a_training_goes_with_its_learner_and_its_shots():
    assert tables.method("baseline++") == ("conv4-icons-baseline++", "cosine")
    assert tables.method("r2d2", 1) == ("conv4-icons-1shot-r2d2", "r2d2")
    assert tables.method("rfs", 1) == (
        "conv4-icons-rfs",
        "lr",
    )  # trained on batches: there are no shots
    assert tables.method("r2d2", 1, "trained:fewstab/{dataset}/{learner}")[0].endswith(
        "/1shot-r2d2"
    )
    assert list(tables.DECIDES)[:10] == published.table(3, "fewstab")["learner"].unique().tolist()
    with refuses("learner .*got 'knn'"):
        tables.method("knn")
    with refuses("train_shots .*1 or 5, got 2"):
        tables.method("r2d2", 2)


def test_printed_numbers_stand_beside_in_the_papers_order():
    live = pd.Series(
        {("a?b=1", 5, "baseline"): interval(50, 1.25), ("a?b=1", 5, "r2d2"): interval(-4, 2)}
    )
    live.index.names = ["dataset", "shots", "learner"]
    table = tables.with_printed(live, published.table(3, "fewstab"), "wacc-a")
    assert table.columns.tolist() == ["a", "miniImageNet", "tieredImageNet", "CUB"]
    assert table.loc[(5, "R2D2")].tolist()[:2] == ["−4.0 ± 2.0", "35.37 ± 0.59"]
    assert table.loc[(5, "Baseline")].tolist() == ["50.0 ± 1.2", "—", "—", "—"]
    assert table.loc[1].index.tolist()[:3] == ["ANIL", "LEO", "BOIL"]


@pytest.mark.parametrize(
    "table, metric", [(3, "wacc-r"), (3, "wacc-a"), ("S7", "acc"), ("S7", "wacc-a")]
)
def test_printed_cells_have_the_papers_digits(table, metric):
    printed = pd.read_csv(DATA / "published" / f"fewstab_table{table}.csv", dtype=str).query(
        "metric == @metric"
    )
    live = pd.Series({("x", 5, "rfs"): interval(50, 1)})
    live.index.names = ["dataset", "shots", "learner"]
    cells = (
        tables.with_printed(live, published.table(table, "fewstab"), metric)
        .drop(columns="x")
        .stack()
    )
    assert sorted(cells) == sorted(printed["mean"] + " ± " + printed["half_width"])


def test_rank_correlations_stand_by_place_and_data_set():
    index = pd.MultiIndex.from_product(
        [["b?c=1", "a"], [5], list("xyz")], names=["dataset", "shots", "learner"]
    )
    live = pd.DataFrame({"one": [1, 2, 3, 1, 2, 3], "two": [10, 20, 30, 30, 20, 10]}, index=index)
    table = ranks_of(live, 3, 4)
    assert table.loc["here", "5 shots"].to_dict() == {"b": "1.00", "a": "-1.00"}
    assert table.loc[("here", "a"), "1 shot"] == "—"
    printed = checks.named(
        published.table(4, "fewstab").pivot(index="dataset", columns="shots", values="correlation")
    )
    for place in ("printed in Table 4", "recomputed from Table 3"):  # where both agree
        assert table.loc[place, "5 shots"].astype(float).to_dict() == printed[5].to_dict()


def ranks_of(live, source, table):
    theirs = audit.Evidence().captioned if source == "S8" else audit.Evidence().means
    columns = ["vit-gpt2", "blip"] if source == "S8" else ["wacc-r", "wacc-a"]
    return tables.ranks(live, theirs, ["one", "two"], columns, source=source, table=table)


@pytest.mark.parametrize(
    "table, techniques", [("S5", ["SC1", "SC2", "SC3"]), ("S6", ["QC1", "QC2", "QC3"])]
)
def test_printed_ablations_show_every_number(table, techniques):
    shown_table = tables.printed_ablation(table)
    printed = pd.read_csv(DATA / "published" / f"fewstab_table{table}.csv", dtype=str)
    numbers = re.findall(r"\d+\.\d\d", shown_table.to_string())
    assert sorted(numbers) == sorted([*printed["wacc"].dropna(), *printed["gap"].dropna()])
    assert shown_table.loc[("tieredImageNet", "R2D2")].tolist()[0] == "61.08"
    assert shown_table.loc[("CUB", "average"), techniques[2]] == "(14.72)"


def test_detection_of_each_captioner_is_by_the_one_that_finds_the_words():
    agree = {"x": pd.DataFrame({"a": [100, 30], "b": [20, 100]}, index=["a", "b"])}
    s11 = published.table("S11", "fewstab").query("statistic == 'detection'")
    table = tables.detection_columns(agree, s11, ["a", "b"])
    assert table.loc[("here", "x")].tolist() == ["20.0", "30.0"]  # of b's words a finds 20 %
    assert table.loc[("printed in Table 6", "CUB")].tolist() == ["70.1", "59.3"]  # ViT-GPT2, BLIP


def test_figures_of_later_learners_have_ours_and_the_printed_ones():
    index = pd.MultiIndex.from_tuples(
        [("x", 1, "psco"), ("x", 5, "psco")], names=["dataset", "shots", "learner"]
    )
    live = pd.DataFrame({"gap": [interval(2, 1), interval(3, 1)]}, index=index)
    rows = tables.recent_rows(live, audit.Evidence().recent).set_index(["panel", "row", "series"])
    assert rows.loc[("here, x", "PsCo", "5 shots")].tolist() == [3, 1]
    s9 = audit.Evidence().recent.loc[(5, "psco")]
    printed = rows.loc[("printed", "PsCo, BLIP", "5 shots")]
    assert printed["mean"] == pytest.approx(s9["wAcc-R"].estimate - s9["wAcc-A, blip"].estimate)
    half = np.hypot(s9["wAcc-R"].half_width, s9["wAcc-A, blip"].half_width)
    assert printed["half_width"] == pytest.approx(half)
    assert len(rows) == 2 + 2 * 6
    index = index.set_levels(["matchingnet"], level="learner")
    live = pd.DataFrame(
        {"wacc-r": [interval(2, 1)] * 2, "wacc-a": [interval(-3, 1)] * 2}, index=index
    )
    rows = tables.remedy_rows(live, audit.Evidence().ifsl).set_index(["panel", "row", "series"])
    assert rows.loc[("here, x", "MatchingNet", "1 shot")].tolist() == [-3, 1]
    printed = rows.loc[("printed", "MatchingNet", "1 shot")]
    assert printed["mean"] == pytest.approx(17.72 - 17.40)
    assert printed["half_width"] == pytest.approx(np.hypot(0.62, 0.62), abs=0.02)


def test_findings_count_what_intervals_tell():
    rows = {
        ("a", 1, "x"): (10, interval(1, 2)),
        ("a", 5, "x"): (50, interval(9, 2)),  # grows, in points
        ("a", 1, "y"): (10, interval(8, 1)),
        ("a", 5, "y"): (50, interval(5, 1)),  # shrinks
    }
    table = pd.DataFrame(
        {key: {"wacc-r": interval(r, 1), "gap": gap} for key, (r, gap) in rows.items()}
    ).T
    table.index.names = ["dataset", "shots", "learner"]
    counts = tables.findings(table, guess=8)
    assert counts.loc["wAcc-A is below wAcc-R"].tolist() == [4, 3, 0, 1, 0]
    assert counts.loc["gap grows, in points"].tolist() == [2, 1, 1, 0, 0]
    assert counts.loc["gap grows, as a share of wAcc-R"].tolist() == [2, 0, 1, 1, 0]
    counts = tables.findings(table, guess=9)  # the intervals at 1 shot, 10 ± 1, reach down to it
    assert counts.loc["wAcc-A is below wAcc-R"].tolist() == [2, 2, 0, 0, 2]
    assert counts.loc["gap grows, in points"].tolist() == [0, 0, 0, 0, 2]


def test_a_cell_near_chance_is_marked():
    worst = pd.Series(
        {("a", 1, "rfs"): interval(9.9, 1), ("a", 5, "rfs"): interval(10.1, 1)}
    ).rename_axis(["dataset", "shots", "learner"])
    marked = tables.near_chance(worst, guess=9)
    assert marked.tolist() == [True, False]
    assert tables.texts(worst, marked).tolist() == ["9.9 ± 1.0 °", "10.1 ± 1.0"]
    with_printed = tables.with_printed(worst, published.table(3, "fewstab"), "wacc-r", marked)
    assert with_printed["a"].loc[(slice(None), "RFS")].tolist() == ["9.9 ± 1.0 °", "10.1 ± 1.0"]


@pytest.mark.slow
def test_averages_are_of_learners_task_by_task():
    """By hand, with records of the same draws; a difference of techniques is paired, a gap is not."""
    names, shape = ["protonet", "rfs"], dict(shots=5, ways=5, queries=5, seed=3, tasks=40)
    averages = tables.averages(["clipart"], names, ["QC1", "QC3"], **shape).loc["clipart"]
    assert averages.index.tolist() == ["QC1", "QC3", "QC3 − QC1"]
    random = tables.draw_random("clipart", **shape)
    easy, three = (tables.draw("clipart", "pixels", **shape, query=q)[0] for q in ("QC1", "QC3"))
    worst = [
        100
        * np.mean(
            [r.worst_class() for r in tables.records("clipart", tasks, names).values()], axis=0
        )
        for tasks in (random, easy, three)
    ]
    assert averages["QC1"].estimate == pytest.approx((worst[0] - worst[1]).mean())
    step = scipy_stats.ttest_rel(worst[1], worst[2])
    assert averages["QC3 − QC1"].estimate == pytest.approx((worst[1] - worst[2]).mean())
    assert averages["QC3 − QC1"].half_width == pytest.approx(
        np.diff(step.confidence_interval(0.95))[0] / 2
    )
    plain_error = np.sqrt(sum(w.var(ddof=1) / 40 for w in worst[:2]))
    assert averages["QC1"].half_width == pytest.approx(
        scipy_stats.t.ppf(0.975, 78) * plain_error, rel=0.02
    )


@pytest.mark.parametrize("shots", [1, 5])
def test_a_picture_shows_what_the_task_is_made_of(shots):
    task = tables.example("clipart", "protonet", "pixels", shots=shots, per_class=4, task=3)
    images, has = tables.images_of("clipart"), tables._attributes("clipart", "pixels")
    assert task["class"].nunique() == 5 and len(task) == 5 * (shots + 4)
    clues = task[task["role"] == "support"].groupby("class")["attribute"].agg(set)
    assert clues.map(len).eq(1).all() and len(set.union(*clues)) == 5
    assert task["class"].tolist() == [images.class_names[images.labels[i]] for i in task["image"]]
    for r in task.itertuples():
        words = {name for name, has_word in zip(has.names, has.has[r.image]) if has_word}
        mine = next(iter(clues[task.loc[r.Index, "class"]]))
        assert (mine in words) == (r.role == "support")
        if r.role == "query":
            named = set(r.attribute.split(", ")) - {""}
            assert named == words & (set.union(*clues) - {mine})
            assert r.right == (r.predicted == task.loc[r.Index, "class"])


def test_words_of_pixels_are_bare():
    words = tables.spoken("clipart", "pixels")
    assert {"red", "plain"} <= set(words.names) and not any(":" in name for name in words.names)
    described = tables._attributes("clipart", "pixels")
    white = [
        described.has[:, described.names.index(f"{part}: white")] for part in ("colour", "ground")
    ]
    assert (words.has[:, words.names.index("white")] == np.logical_or(*white)).all()


def test_where_no_task_can_be_built_the_table_says_so():
    built = tables.constructions(["clipart"], ["captions"], shots=[5], tasks=20)
    assert built["released"].iloc[0].tolist() == ["none", "none"]
    assert float(built["paper", "fall back"].iloc[0]) > 90


# ------------------------------------------------- what must hold on our data


@pytest.mark.slow
def test_the_two_parts_of_a_gap_add_up_for_every_learner():
    shape = dict(captioner=PIXELS, tasks=60, seed=1)
    rows = tables.parts(["icons"], ["protonet", "rfs"], **shape)
    assert rows["row"].tolist() == ["ProtoNet"] * 2 + ["RFS"] * 2 and set(rows["panel"]) == {
        "icons"
    }
    gap = tables.ablation(["icons"], ["protonet", "rfs"], ["SC3"], **shape)["SC3"].map(
        lambda r: r.estimate
    )
    assert rows.groupby("row")["mean"].sum().tolist() == pytest.approx(gap.tolist())


def test_gaps_are_those_of_the_worst_class():
    rng = np.random.default_rng(0)
    label = np.broadcast_to(np.arange(3).repeat(6), (50, 18))
    random, biased = (
        {name: Outcomes(rng.random((50, 18)) < share, label) for name in ("ncc", "lr")}
        for share in (0.8, 0.6)
    )
    r, a = (100 * x["lr"].by_class().mean(axis=2).min(axis=1) for x in (random, biased))
    gaps = tables.gaps(random, biased, level=0.9).loc["lr"]
    assert gaps["wAcc-R"] == stats.closed_task_interval(r, 0.9)
    assert gaps["wAcc-A"] == stats.closed_task_interval(a, 0.9)
    assert gaps["gap"] == stats.welch_interval(r, a, 0.9)
    paired = tables.gaps(random, biased, paired=True)
    assert paired.loc["lr", "gap"] == stats.paired_interval(r, a)
    for records in ((random, {"ncc": biased["ncc"]}), ({}, {})):
        with refuses("same learners"):
            tables.gaps(*records)


def test_random_queries_have_the_classes_of_the_supports_and_none_of_their_images():
    labels = np.arange(4).repeat(9)
    tasks = sample_closed(labels, tasks=30, ways=3, shots=2, queries=4, seed=1)
    redrawn = trap._random_queries(tasks, labels, 4, seed=2)
    assert np.array_equal(redrawn.support, tasks.support) and redrawn.query.shape == (30, 12)
    of_support = labels[tasks.support].reshape(30, 3, 2)[:, :, 0]
    assert np.array_equal(
        labels[redrawn.query].reshape(30, 3, 4), of_support[..., None].repeat(4, 2)
    )
    for support, query in zip(redrawn.support, redrawn.query):
        assert len({*support, *query}) == 6 + 12
    # Each of the seven images that are left of a class is as likely.
    many = np.concatenate(
        [trap._random_queries(tasks, labels, 4, seed=seed).query for seed in range(40)]
    )
    counts = np.bincount(many.ravel(), minlength=36)
    assert counts.min() > 0.6 * counts.mean()
