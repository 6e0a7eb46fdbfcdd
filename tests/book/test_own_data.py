"""Results on a paper's own data beside what it prints."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fslbook import published
from fslbook.estimation.resampled import ESTIMATORS
from fslbook.evaluators import estimates as evaluators, selection
from fslbook.fewstab import own_data
from fslbook.oops import benchmark
from fslcore import stats
from fslcore.datasets import Images

PRINTED = published.table(2)


def test_names_of_the_papers_data_and_backbones():
    for spec in ("cub?splits=meta-dataset", "cub:/data/cub?splits=meta-dataset"):
        assert published.own_data(spec) == "cub"
    for part in ("quickdraw?per_class=1000", "quickdraw:/data?per_class=1000"):
        assert published.own_data(part) is None  # another test set than the paper's
    assert published.own_data("quickdraw:/data") == published.own_data("quickdraw") == "quickdraw"
    assert (
        published.own_data("cub?splits=chen") is published.own_data("cub:/data/cub") is None
    )  # other classes
    assert published.own_data("dtd:/data/dtd") == "dtd"
    assert published.own_data("clipart") is None and published.own_data("folder:/dtd") is None
    assert set(PRINTED["dataset"]) <= set(published.OWN)
    assert (
        published.own_backbone("clip-released")
        == published.own_backbone("clip-released:file.pt")
        == "clip"
    )
    assert published.own_backbone("clip") is None  # sees other pixels
    assert (
        published.own_backbone("dinov2-reg-released") == "dinov2"
        and published.own_backbone("glyph-conv") is None
    )


def results(dataset, backbone, learner, sampling, mean, tasks=400, seed=0):
    noise = np.random.default_rng(seed).normal(0, 8, tasks)
    facts = dict(
        dataset=dataset, backbone=backbone, learner=learner, sampling=sampling, task=range(tasks)
    )
    shape = dict(shots=5, n_images=840, ways=5, queries=15, seed=0)
    return pd.DataFrame({**facts, "accuracy": mean + noise - noise.mean(), **shape})


def test_a_cell_that_is_off_by_three_errors_says_so_and_other_cells_stand_beside_nothing():
    names = ["dtd", "clip-released", "lr", "open"]
    key = ["dataset", "backbone", "learner", "sampling"]
    printed = PRINTED.set_index(key).loc[("dtd", "clip", "lr", "open")]
    columns = [*key, "mean", "half_width"]
    for level in (0.95, 0.8):
        live = results(*names, 0)["accuracy"]
        error = np.hypot(printed["half_width"] / 1.959964, live.std(ddof=1) / 20)
        cell = [printed["mean"] + 3 * error, stats.open_task_interval(live, level).half_width]
        (row,) = published.comparison(
            pd.DataFrame([[*names, *cell]], columns=columns), PRINTED, level
        ).itertuples()
        assert row.Index == ("dtd", "clip", "lr", "open") and row[4] == "+3.0"
        assert row.printed == f"{printed['mean']:.2f} ± {printed['half_width']:.2f}"
    for dataset, backbone in (("clipart", "clip-released"), ("dtd", "clip")):
        table = pd.DataFrame([[dataset, backbone, "lr", "open", 50.0, 1.0]], columns=columns)
        assert published.comparison(table, PRINTED).empty


def test_symbols_that_agree_are_counted_in_both_directions():
    printed = benchmark.printed_pairs(3)
    row = printed.set_index(["dataset", "a", "b"]).loc[("dtd", ("clip", "ft"), ("clip", "lr"))]
    tables = []
    for seed, (learner, mean) in enumerate([("lr", 84.0), ("ft", 80.8)]):
        for sampling in ("closed", "open"):
            tables.append(results("dtd", "clip-released", learner, sampling, mean, seed=seed))
    pairs = benchmark.pair_table(pd.concat(tables))
    sign = 1 if pairs["a"][0] == ("clip-released", "ft") else -1
    expected = {kind: int(sign * pairs[kind][0] == row[kind]) for kind in ("open", "paired")}
    counts = benchmark.agreement(pairs, printed)
    assert counts.to_dict() == {"pairs": 1, **expected} and counts["paired"] == 1
    assert benchmark.agreement(pairs.assign(dataset="clipart"), printed)["pairs"] == 0


# --- the other two papers ------------------------------------------------------------------------------------


def fewstab_accuracies(mean):
    datasets, learners = ["cub?splits=fewstab", "cub:/x", "clipart"], ["rfs", "anil"]
    index = pd.MultiIndex.from_product(
        [datasets, [1, 5], learners], names=["dataset", "shots", "learner"]
    )
    cell = stats.Interval(mean, 0.5, 0.95, 3000, "these images")
    return pd.DataFrame(
        {name: [cell] * len(index) for name in ("acc", "wacc-r", "wacc-a")}, index=index
    )


def test_fewstab_has_its_own_data_networks_and_captioners():
    trained, printed = "trained:fewstab/{dataset}/{learner}", published.table(3, "fewstab")
    cells = own_data.on_own_data(fewstab_accuracies(40.0), printed, trained)
    assert {*cells.index.get_level_values("dataset")} == {"cub"} and len(
        cells
    ) == 2 * 2 * 2  # shots, learners, metrics
    row = printed.query(
        "dataset == 'cub' and shots == 5 and learner == 'rfs' and metric == 'wacc-r'"
    ).iloc[0]
    cell = cells.loc[("cub", 5, "rfs", "wacc-r")]
    assert (
        cell["printed"] == f"{row['mean']:.2f} ± {row['half_width']:.2f}"
        and cell["live"] == "40.00 ± 0.50"
    )
    assert float(cell["difference"].replace("−", "-")) == pytest.approx(40 - row["mean"], abs=0.005)
    for networks in ("", "conv4-protonet", "trained:evaluators/{dataset}/{learner}"):
        assert own_data.on_own_data(fewstab_accuracies(40.0), printed, networks).empty
    by_captioner = {"vit-gpt2": 40.0, "blip-large": 30.0}
    tables = {name: fewstab_accuracies(mean)[["wacc-a"]] for name, mean in by_captioner.items()}
    live = own_data.on_own_data(tables, published.table("S8", "fewstab"), trained)["live"]
    assert (
        live["cub", 1, "anil", "vit-gpt2"] == "40.00 ± 0.50"
        and live["cub", 1, "anil", "blip"] == "30.00 ± 0.50"
    )


def estimates_by_task(tasks=300):
    rng, tables = np.random.default_rng(0), []
    for dataset, mean in [
        ("cifar-fs", 70),
        *((f"meta-album?test_set={k}", 50 + 10 * k) for k in range(3)),
    ]:
        values = {
            name: np.clip(rng.normal(mean, 8, tasks), 0, 100)
            for name in ("oracle", *ESTIMATORS, "fresh")
        }
        tables.append(
            pd.DataFrame({"dataset": dataset, "method": "Baseline", "task": range(tasks), **values})
        )
    return pd.concat(tables, ignore_index=True)


def test_the_folds_of_meta_album_are_one_data_set_and_errors_without_interval_have_no_size():
    table, methods = estimates_by_task(), ["trained:evaluators/{dataset}/baseline lr-raw"]
    means = evaluators.own_cells(table, 1, methods)
    folds = table[table["dataset"].str.startswith("meta-album")]["oracle"]
    assert means.loc[("Meta-Album", "Baseline", "oracle"), "live"].startswith(
        f"{folds.mean():.2f} ± "
    )
    assert {*means.index.get_level_values("dataset")} == {"CIFAR-FS", "Meta-Album"}
    assert "fresh" not in means.index.get_level_values("estimator")
    sizes = evaluators.own_cells(table, 2, methods)
    assert (
        set(sizes["in standard errors"]) == {"—"}
        and not sizes["printed"].str.contains("±|nan").any()
    )
    unequal = evaluators.own_cells(table, 3, methods)
    printed = (
        published.table(3, "evaluators")
        .query("dataset == 'cifar-fs' and estimator == '5-fold'")
        .iloc[0]
    )
    assert (
        unequal.loc[("CIFAR-FS", "Baseline", "5-fold"), "printed"] == f"{printed['mae']:.2f}"
        and len(unequal) == 2 * 4
    )
    for number in (1, 2, 3):
        for networks in ([*methods, "conv4-protonet protonet"], ["glyph-conv lr"]):
            assert evaluators.own_cells(table, number, networks).empty


def bank(classes, images, **facts):
    labels = np.repeat(np.arange(classes), images)
    table = pd.DataFrame({name: values(labels) for name, values in facts.items()})
    pixels = np.zeros((len(labels), 8, 8, 3), np.uint8)
    return Images(
        "meta-album?test_set=0", pixels, labels, [f"c{c}" for c in range(classes)], facts=table
    )


def test_no_task_of_meta_album_mixes_two_of_its_data_sets():
    images = bank(21, 12, domain=lambda labels: np.array(list("abc"))[labels % 3])
    domain = images.facts["domain"].to_numpy()
    tasks, fresh = evaluators.draw(images, ways=5, shots=3, queries=4, tasks=20, seed=1)
    places = np.concatenate([tasks.support, tasks.query, fresh.query], axis=1)
    assert (domain[places] == domain[places[:, :1]]).all() and len(tasks) == len(fresh) == 20
    assert domain[places[:9, 0]].tolist() == list("abcabcabc")
    assert (images.labels[tasks.query[0]].reshape(5, 4).std(axis=1) == 0).all()
    mixed, _ = evaluators.draw(
        replace(images, name="coloured"), ways=5, shots=3, queries=4, tasks=20, seed=1
    )
    assert (domain[mixed.support] != domain[mixed.support[:, :1]]).any()


def test_a_test_part_is_the_query_set_of_tasks_of_all_classes():
    images = bank(4, 12, part=lambda labels: np.tile(["train", "val", "test"], 16))
    tasks = selection._of_all_classes(images, shots=7, tasks=3, seed=0)
    part = images.facts["part"].to_numpy()
    assert (part[tasks.support] != "test").all() and tasks.support.shape == (3, 28)
    assert all(sorted(q) == np.flatnonzero(part == "test").tolist() for q in tasks.query)
    assert (images.labels[tasks.query] == tasks.query_label).all()
    assert (images.labels[tasks.support] == tasks.support_label).all()
    without = replace(images, facts=None)
    assert selection._of_all_classes(without, shots=7, tasks=3, seed=0).query.shape == (3, 20)


def choices(names, columns, tasks=40):
    rng, tables = np.random.default_rng(1), []
    for dataset in ("cifar-fs", "meta-album?test_set=0", "meta-album?test_set=1", "clipart"):
        for name in names:
            table = pd.DataFrame({column: rng.normal(60, 8, tasks) for column in columns})
            tables.append(table.assign(dataset=dataset, method=name, task=range(tasks)))
    return pd.concat(tables, ignore_index=True)


def test_what_was_chosen_stands_beside_tables_4_and_5():
    methods = [
        "trained:evaluators/{dataset}/baseline lr-raw",
        "trained:evaluators/{dataset}/maml maml",
    ]
    picked = choices(
        ["4 learners", "5 learners"],
        ["oracle", *ESTIMATORS, selection.ALWAYS, selection.ANY, "fresh"],
    )
    cells = selection.own_cells(5, picked, methods)
    paper_rows = product(("CIFAR-FS", "Meta-Album"), ["5 learners"], ("oracle", *ESTIMATORS))
    assert set(cells.index) == set(paper_rows)
    row = (
        published.table(5, "evaluators")
        .query("dataset == 'cifar-fs' and estimator == 'bootstrap'")
        .iloc[0]
    )
    mean = picked.query("dataset == 'cifar-fs' and method == '5 learners'")["bootstrap"].mean()
    cell = cells.loc[("CIFAR-FS", "5 learners", "bootstrap")]
    assert cell["printed"] == f"{row['mean']:.2f} ± {row['half_width']:.2f}"
    assert cell["live"].startswith(f"{mean:.2f} ± ")
    tuned = choices(["Baseline", "MAML"], [selection.DEFAULT, selection.TUNED, "oracle"])
    cells = selection.own_cells(4, tuned, methods)
    assert (
        len(cells) == 2 * 2 * 2
        and cells.loc[("CIFAR-FS", "MAML", "5-fold"), "printed"] == "40.24 ± 0.84"
    )
    for number, table in ((4, tuned), (5, picked)):
        assert selection.own_cells(number, table, ["conv4-maml maml"]).empty


def cells(columns, datasets=("cub?splits=fewstab", "clipart"), **index):
    rows = pd.MultiIndex.from_product([datasets, *index.values()], names=["dataset", *index])
    values = {
        name: stats.Interval(30.0 + i, 0.5, 0.95, 3000, "these images")
        for i, name in enumerate(columns)
    }
    return pd.DataFrame({name: [value] * len(rows) for name, value in values.items()}, rows)


TRAINED = "trained:fewstab/{dataset}/{learner}"


@pytest.mark.parametrize(
    "table, steps", [("S5", ["SC1", "SC2", "SC3"]), ("S6", ["QC1", "QC2", "QC3"])]
)
def test_gaps_of_constructions_and_their_average_stand_beside_s5_and_s6(table, steps):
    by_learner, mean = (
        cells(steps, learner=["rfs", "anil"]),
        cells([*steps, f"{steps[1]} − {steps[0]}"]),
    )
    mean.index = pd.Index(["cub?splits=fewstab", "clipart"], name="dataset")
    rows = own_data.own_ablation(by_learner, mean, table, TRAINED, 0.95)
    printed = published.table(table, "fewstab").query(
        "dataset == 'cub' and tasks == @steps[1].lower()"
    )
    assert len(rows) == 3 * 3 and set(rows["in standard errors"]) == {"—"}
    for learner in ("rfs", "average"):
        row = rows.loc[("cub", learner, steps[1])]
        gap = printed.query("learner == @learner")["gap"].item()
        assert row["printed"] == f"{gap:.2f}" and row["live"] == "31.00 ± 0.50"
    assert own_data.own_ablation(by_learner, mean, table, "", 0.95).empty


def test_recent_and_remedied_learners_stand_beside_s9_and_s10():
    mini = dict(datasets=("miniimagenet", "clipart"), shots=[1, 5])
    recent = cells(["acc", "wacc-r", "wacc-a", "gap"], learner=["psco", "beclr"], **mini)
    tables = {"vit-gpt2": recent, "blip": recent, "pixels": recent}
    rows = own_data.own_recent(tables, "conv4-{learner}:FILE", 0.95)
    assert set(rows.index.get_level_values("metric")) == {
        "random",
        "vit-gpt2",
    }  # the paper's BLIP is the large one
    assert rows.loc[("miniimagenet", "psco", 1, "random"), "live"] == "31.00 ± 0.50"
    assert rows.loc[("miniimagenet", "psco", 1, "vit-gpt2"), "printed"] == "14.30 ± 0.40"
    assert own_data.own_recent(tables, "", 0.95).empty
    remedied = cells(
        ["wacc-r", "wacc-a", "without", "no", "yes"], learner=["maml-frozen", "sib"], **mini
    )
    rows = own_data.own_remedy(remedied, TRAINED, 0.95)
    assert len(rows) == 2 * 2 * 2
    assert rows.loc[("miniimagenet", "maml", 1, "no"), "printed"] == "13.29 ± 0.55"
    assert rows.loc[("miniimagenet", "maml", 1, "yes"), "live"] == "34.00 ± 0.50"
    assert own_data.own_remedy(remedied, "", 0.95).empty


def test_agreement_of_captioners_stands_beside_s11():
    pair = ["vit-gpt2", "blip-large"]
    agreement = pd.DataFrame(
        [[100.0, 40.0], [50.0, 100.0]], pair, pair
    )  # of a row with a column as the truth
    ranks = pd.Series({("miniimagenet", 1): 0.9, ("miniimagenet", 5): 0.8, ("clipart", 5): 0.7})
    by_dataset = {"miniimagenet": agreement, "clipart": agreement}
    rows = own_data.own_agreement(by_dataset, ranks, TRAINED).loc["miniimagenet"]
    live, printed = rows["live"].to_dict(), rows["printed"].to_dict()
    assert live["detection by vit-gpt2"] == "40.00" and live["detection by blip"] == "50.00"
    assert printed["detection by vit-gpt2"] == "34.46" and printed["correlation, 5-shot"] == "1.00"
    assert live["correlation, 1-shot"] == "0.90" and len(rows) == 4
    assert len(own_data.own_agreement(by_dataset, ranks, "")) == 2  # words alone need no network
