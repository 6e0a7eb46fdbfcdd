"""FewSTAB's experiments here: names, tables by hand, pictures that show the trap, and what must hold on our data."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from fslbook import checks, published
from fslbook.fewstab import tables
from fslcore.errors import InputError
from fslcore.stats import Interval

NAMES = list(tables.DECIDES)[:10]
LETTERS = "coloured/cyrillic?per_class=100"
FEW = ["protonet", "r2d2", "baseline++", "rfs"]


def interval(mean, half):
    return Interval(mean, half, 0.95, 100, "closed")


def test_a_training_goes_with_its_learner_and_its_shots():
    assert tables.method("baseline++") == ("conv4-baseline++", "cosine")
    assert tables.method("r2d2", 1) == ("conv4-1shot-r2d2", "r2d2")
    assert tables.method("rfs", 1) == ("conv4-rfs", "lr")  # trained on batches: there are no shots
    assert list(tables.DECIDES)[:10] == published.table(3, "fewstab")["learner"].unique().tolist()
    with pytest.raises(InputError, match="learner = knn"):
        tables.method("knn")
    with pytest.raises(InputError, match="train_shots = 2"):
        tables.method("r2d2", 2)


def test_features_have_no_pictures_to_bias():
    with pytest.raises(InputError, match="no file|images, not features"):
        tables.images_of("features:none.npz")


def test_printed_numbers_stand_beside_in_the_papers_order():
    live = pd.Series({("a?b=1", 5, "baseline"): interval(50, 1.25), ("a?b=1", 5, "r2d2"): interval(-4, 2)})
    live.index.names = ["dataset", "shots", "learner"]
    table = tables.beside(live, published.table(3, "fewstab"), "wacc-a")
    assert table.columns.tolist() == ["a", "miniImageNet", "tieredImageNet", "CUB"]
    assert table.loc[(5, "R2D2")].tolist()[:2] == ["−4.0 ± 2.0", "35.4 ± 0.6"]
    assert table.loc[(5, "Baseline")].tolist() == ["50.0 ± 1.2", "—", "—", "—"]
    assert table.loc[1].index.tolist()[:3] == ["ANIL", "LEO", "BOIL"]


def test_rank_correlations_stand_by_place_and_data_set():
    index = pd.MultiIndex.from_product([["b?c=1", "a"], [5], list("xyz")], names=["dataset", "shots", "learner"])
    live = pd.DataFrame({"one": [1, 2, 3, 1, 2, 3], "two": [10, 20, 30, 30, 20, 10]}, index=index)
    columns = ["wacc-r", "wacc-a"]
    printed = published.table(3, "fewstab").pivot(index=index.names, columns="metric", values="mean")
    table = tables.ranks(live, printed, ["one", "two"], columns)
    assert table.loc["here", "5 shots"].to_dict() == {"b": "1.00", "a": "-1.00"}
    assert table.loc[("here", "a"), "1 shot"] == "—"
    said = checks.named(published.table(4, "fewstab").pivot(index="dataset", columns="shots", values="correlation"))
    assert table.loc["printed", "5 shots"].astype(float).to_dict() == said[5].to_dict()


def test_findings_count_what_intervals_tell():
    rows = {
        ("a", 1, "x"): (10, interval(1, 2)),
        ("a", 5, "x"): (50, interval(9, 2)),  # grows, in points
        ("a", 1, "y"): (10, interval(8, 1)),
        ("a", 5, "y"): (50, interval(5, 1)),  # shrinks
    }
    table = pd.DataFrame({key: {"wacc-r": interval(r, 1), "gap": gap} for key, (r, gap) in rows.items()}).T
    table.index.names = ["dataset", "shots", "learner"]
    found = tables.findings(table)
    assert found.loc["wAcc-A is below wAcc-R"].tolist() == [4, 3, 0, 1]
    assert found.loc["gap grows, in points"].tolist() == [2, 1, 1, 0]
    assert found.loc["gap grows, as a share of wAcc-R"].tolist() == [2, 0, 1, 1]


@pytest.mark.parametrize("shots", [1, 5])
def test_a_picture_shows_what_the_task_is_made_of(shots):
    task = tables.example("clipart", "protonet", "pixels", shots=shots, shown=4, task=3)
    images, has = tables.images_of("clipart"), tables._attributes("clipart", "pixels")
    assert task["class"].nunique() == 5 and len(task) == 5 * (shots + 4)
    own = task[task["role"] == "support"].groupby("class")["attribute"].agg(set)
    assert own.map(len).eq(1).all() and len(set.union(*own)) == 5
    assert task["class"].tolist() == [images.class_names[images.labels[i]] for i in task["image"]]
    for r in task.itertuples():
        known = {name for name, there in zip(has.names, has.has[r.image]) if there}
        mine = next(iter(own[task.loc[r.Index, "class"]]))
        assert (mine in known) == (r.role == "support")
        if r.role == "query":
            said = set(r.attribute.split(", ")) - {""}
            assert said == known & (set.union(*own) - {mine})
            assert r.right == (r.predicted == task.loc[r.Index, "class"])


def test_words_of_pixels_are_bare():
    words = tables.spoken("clipart", "pixels")
    assert {"red", "plain"} <= set(words.names) and not any(":" in name for name in words.names)
    whole = tables._attributes("clipart", "pixels")
    white = [whole.has[:, whole.names.index(f"{part}: white")] for part in ("colour", "ground")]
    assert (words.has[:, words.names.index("white")] == np.logical_or(*white)).all()


def test_where_no_task_can_be_built_the_table_says_so():
    built = tables.constructions(["clipart"], ["captions"], shots=[5], tasks=20)
    assert built["released"].iloc[0].tolist() == ["none", "none"]
    assert float(built["paper", "fall back"].iloc[0]) > 90


# ------------------------------------------------- what must hold on our data


@pytest.fixture(scope="module")
def clipart():
    return tables.collect(["clipart"], NAMES, tasks=300)


def test_biased_clip_art_is_harder_for_every_learner_and_more_so_at_five_shots(clipart):
    assert len(clipart) == 20 and (tables.means(clipart)["gap"] > 0).all()
    five = clipart.loc[("clipart", 5)]
    can_fall = tables.means(five)["wacc-r"] > 5  # ANIL's worst class is at zero without any clue
    assert list(can_fall.index[~can_fall]) == ["anil"] and all(r.conclusion == 1 for r in five["gap"][can_fall])
    grows = tables.findings(clipart).loc["gap grows, in points"]
    assert grows["holds"] >= 6 and grows["opposite"] == 0


def test_most_of_the_gap_on_clip_art_is_the_clue():
    gaps = tables.ablation(["clipart"], FEW, ["SC1", "SC3"], tasks=300)
    assert (2 * tables.means(gaps)["SC1"] < tables.means(gaps)["SC3"]).all()


def test_captioners_rank_learners_alike_on_clip_art(clipart):
    words = tables.collect(["clipart"], NAMES, shots=[5], captioner="captions", tasks=300)
    both = [tables.means(t).xs(5, level="shots")["wacc-a"] for t in (clipart, words)]
    assert both[0].corr(both[1], "spearman") > 0.5


def test_the_gap_is_there_with_equal_classes_and_pairs_too():
    paired = tables.collect(["clipart"], FEW, shots=[5], matched=True, tasks=300)
    assert all(r.conclusion == 1 and r.kind == "paired" for r in paired["gap"])


def test_where_no_colour_told_a_class_in_training_only_who_refits_the_network_falls():
    table = tables.collect([LETTERS], [*FEW, "boil"], shots=[5], matched=True, tasks=300)
    gaps = table["gap"].droplevel(["dataset", "shots"])
    assert max(abs(r.mean) for r in gaps[FEW]) < 4 and gaps["boil"].low > 2
    assert table["wacc-r"].map(lambda r: r.mean).min() > 20


def test_a_remedy_is_a_paired_difference_on_the_same_tasks():
    shape = dict(tasks=40, queries=5, seed=3)
    found = tables.remedy(["clipart"], shots=[5], **shape)
    assert list(found.index.get_level_values("learner")) == list(tables.REMEDIED.values())
    drawn, _ = tables.draw("clipart", "pixels", shots=5, ways=5, **shape)
    for name in ("mtl", "sib"):
        plain, remedied = (tables.records("clipart", drawn, [n])[n].worst_class() for n in (name, f"{name}-ifsl"))
        r = found.loc[("clipart", 5, name), "wacc-a"]
        assert (r.mean, r.n_tasks) == (pytest.approx(100 * (remedied - plain).mean()), 40)
        assert r.half_width == pytest.approx(
            scipy_stats.t.ppf(0.975, 39) * 100 * (remedied - plain).std(ddof=1) / np.sqrt(40)
        )
