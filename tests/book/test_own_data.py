"""Results on a paper's own data beside what it prints."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fslbook import published
from fslbook.evaluators import choosing
from fslbook.evaluators import estimates as evaluators
from fslbook.fewstab import beside
from fslbook.oops import benchmark
from fslcore import stats
from fslcore.datasets import Images
from fslcore.tasks import ESTIMATORS

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
    assert all(f"<td>{value}</td>" in shown for value in table["x"]) and 'class="dataframe tex2jax_ignore' in shown
    assert published.whole(table.head(0)) is None


# --- the other two papers ------------------------------------------------------------------------------------


def of_fewstab(mean):
    index = pd.MultiIndex.from_product(
        [["cub?splits=fewstab", "cub:/x", "clipart"], [1, 5], ["rfs", "anil"]], names=["dataset", "shots", "learner"]
    )
    cell = stats.Interval(mean, 0.5, 0.95, 3000, "closed")
    return pd.DataFrame({name: [cell] * len(index) for name in ("acc", "wacc-r", "wacc-a")}, index=index)


def test_fewstab_has_its_own_data_networks_and_captioners():
    trained, printed = "trained:fewstab/{dataset}/{learner}", published.table(3, "fewstab")
    found = beside.on_own_data(of_fewstab(40.0), printed, trained)
    assert {*found.index.get_level_values("dataset")} == {"cub"} and len(found) == 2 * 2 * 2  # shots, learners, metrics
    row = printed.query("dataset == 'cub' and shots == 5 and learner == 'rfs' and metric == 'wacc-r'").iloc[0]
    shown = found.loc[("cub", 5, "rfs", "wacc-r")]
    assert shown["printed"] == f"{row['mean']:.2f} ± {row['half_width']:.2f}" and shown["live"] == "40.00 ± 0.50"
    assert float(shown["difference"].replace("−", "-")) == pytest.approx(40 - row["mean"], abs=0.005)
    for other in ("", "conv4-protonet", "trained:evaluators/{dataset}/{learner}"):
        assert beside.on_own_data(of_fewstab(40.0), printed, other).empty
    by = {"vit-gpt2": of_fewstab(40.0)[["wacc-a"]], "blip-large": of_fewstab(30.0)[["wacc-a"]]}
    s8 = beside.on_own_data(by, published.table("S8", "fewstab"), trained)
    assert s8.loc[("cub", 1, "anil", "vit-gpt2"), "live"] == "40.00 ± 0.50"
    assert s8.loc[("cub", 1, "anil", "blip"), "live"] == "30.00 ± 0.50"


def of_evaluators(offset, tasks=300):
    rng = np.random.default_rng(0)
    rows = []
    for dataset, mean in [("cifar-fs", 70), *((f"meta-album?test_set={k}", 50 + 10 * k) for k in range(3))]:
        made = {name: np.clip(rng.normal(mean, 8, tasks), 0, 100) for name in ("oracle", *ESTIMATORS, "fresh")}
        rows.append(pd.DataFrame({"dataset": dataset, "method": "Baseline", "task": range(tasks), **made}))
    return pd.concat(rows, ignore_index=True)


def test_the_folds_of_meta_album_are_one_data_set_and_errors_without_interval_have_no_size():
    table, methods = of_evaluators(0), ["trained:evaluators/{dataset}/baseline lr"]
    means = evaluators.own_cells(table, 1, methods)
    three = table[table["dataset"].str.startswith("meta-album")]["oracle"]
    assert means.loc[("Meta-Album", "Baseline", "oracle"), "live"].startswith(f"{three.mean():.2f} ± ")
    assert {*means.index.get_level_values("dataset")} == {"CIFAR-FS", "Meta-Album"}
    assert "fresh" not in means.index.get_level_values("estimator")
    sizes = evaluators.own_cells(table, 2, methods)
    assert set(sizes["in standard errors"]) == {"—"} and not sizes["printed"].str.contains("±|nan").any()
    mixed = [*methods, "conv4-protonet protonet"]
    assert evaluators.own_cells(table, 1, mixed).empty and evaluators.own_cells(table, 2, ["glyph-conv lr"]).empty


def bank(classes, each, **facts):
    labels = np.repeat(np.arange(classes), each)
    made = pd.DataFrame({name: of(labels) for name, of in facts.items()})
    pixels = np.zeros((len(labels), 8, 8, 3), np.uint8)
    return Images("meta-album?test_set=0", pixels, labels, [f"c{c}" for c in range(classes)], facts=made)


def test_no_task_of_meta_album_mixes_two_of_its_data_sets():
    images = bank(21, 12, domain=lambda labels: np.array(list("abc"))[labels % 3])
    asked, fresh = evaluators.draw(images, ways=5, shots=3, queries=4, tasks=20, seed=1)
    assert len(asked) == len(fresh) == 20
    domain = images.facts["domain"].to_numpy()
    seen = [{*domain[np.concatenate([s, q, f])]} for s, q, f in zip(asked.support, asked.query, fresh.query)]
    assert [len(of) for of in seen] == [1] * 20 and [*of_first(seen)] == list("abcabcabc")
    assert (images.labels[asked.query[0]].reshape(5, 4).std(axis=1) == 0).all()
    other = replace(images, name="coloured")
    mixed, _ = evaluators.draw(other, ways=5, shots=3, queries=4, tasks=20, seed=1)
    assert any(len({*domain[s]}) > 1 for s in mixed.support)


def of_first(seen):
    return (next(iter(of)) for of in seen[:9])


def test_a_test_part_is_the_query_set_of_tasks_of_all_classes():
    images = bank(4, 12, part=lambda labels: np.tile(["train", "val", "test"], 16))
    drawn = choosing._of_all_classes(images, shots=7, tasks=3, seed=0)
    part = images.facts["part"].to_numpy()
    assert (part[drawn.support] != "test").all() and drawn.support.shape == (3, 28)
    assert all(sorted(q) == np.flatnonzero(part == "test").tolist() for q in drawn.query)
    assert (images.labels[drawn.query] == drawn.query_label).all()
    assert (images.labels[drawn.support] == drawn.support_label).all()
    without = replace(images, facts=None)
    assert choosing._of_all_classes(without, shots=7, tasks=3, seed=0).query.shape == (3, 20)


def test_unequal_classes_stand_beside_table_3():
    methods = ["trained:evaluators/{dataset}/baseline lr"]
    found = evaluators.own_cells(of_evaluators(0), 3, methods)
    row = published.table(3, "evaluators").query("dataset == 'cifar-fs' and estimator == '5-fold'").iloc[0]
    shown = found.loc[("CIFAR-FS", "Baseline", "5-fold")]
    assert shown["printed"] == f"{row['mae']:.2f}" and len(found) == 2 * 4  # data sets and estimators
    assert evaluators.own_cells(of_evaluators(0), 3, ["conv4-baseline lr"]).empty


def choices(names, columns, tasks=40):
    rng = np.random.default_rng(1)
    rows = [
        pd.DataFrame({c: rng.normal(60, 8, tasks) for c in columns}).assign(
            dataset=dataset, method=name, task=range(tasks)
        )
        for dataset in ("cifar-fs", "meta-album?test_set=0", "meta-album?test_set=1", "clipart")
        for name in names
    ]
    return pd.concat(rows, ignore_index=True)


def test_what_was_chosen_stands_beside_tables_4_and_5():
    methods = ["trained:evaluators/{dataset}/baseline lr", "trained:evaluators/{dataset}/maml maml"]
    picked = choices(["4 learners", "5 learners"], ["oracle", *ESTIMATORS, choosing.ALWAYS, choosing.ANY, "fresh"])
    found = choosing.own_cells(5, picked, methods)
    assert set(found.index) == {
        (d, "5 learners", e) for d in ("CIFAR-FS", "Meta-Album") for e in ("oracle", *ESTIMATORS)
    }  # of five learners, and no row that the paper does not print
    row = published.table(5, "evaluators").query("dataset == 'cifar-fs' and estimator == 'bootstrap'").iloc[0]
    mean = picked.query("dataset == 'cifar-fs' and method == '5 learners'")["bootstrap"].mean()
    shown = found.loc[("CIFAR-FS", "5 learners", "bootstrap")]
    assert shown["printed"] == f"{row['mean']:.2f} ± {row['half_width']:.2f}"
    assert shown["live"].startswith(f"{mean:.2f} ± ")
    tuned = choices(["Baseline", "MAML"], [choosing.DEFAULT, choosing.TUNED, "oracle"])
    found = choosing.own_cells(4, tuned, methods)
    assert len(found) == 2 * 2 * 2 and found.loc[("CIFAR-FS", "MAML", "5-fold"), "printed"] == "40.24 ± 0.84"
    for which, table in ((4, tuned), (5, picked)):
        assert choosing.own_cells(which, table, ["conv4-maml maml"]).empty


def cells(columns, **index):
    names = ["dataset", *index]
    rows = pd.MultiIndex.from_product([["cub?splits=fewstab", "clipart"], *index.values()], names=names)
    return pd.DataFrame(
        {c: [stats.Interval(30.0 + i, 0.5, 0.95, 3000, "closed")] * len(rows) for i, c in enumerate(columns)}, rows
    )


TRAINED = "trained:fewstab/{dataset}/{learner}"


@pytest.mark.parametrize("table, steps", [("S5", ["SC1", "SC2", "SC3"]), ("S6", ["QC1", "QC2", "QC3"])])
def test_gaps_of_constructions_and_their_average_stand_beside_s5_and_s6(table, steps):
    by, mean = cells(steps, learner=["rfs", "anil"]), cells([*steps, f"{steps[1]} − {steps[0]}"])
    mean.index = pd.Index(["cub?splits=fewstab", "clipart"], name="dataset")
    found = beside.own_ablation(by, mean, table, TRAINED, 0.95)
    printed = published.table(table, "fewstab").query("dataset == 'cub' and tasks == @steps[1].lower()")
    assert len(found) == 3 * 3 and set(found["in standard errors"]) == {"—"}
    for learner in ("rfs", "average"):
        gap = printed.query("learner == @learner")["gap"].item()
        assert found.loc[("cub", learner, steps[1]), "printed"] == f"{gap:.2f}"
        assert found.loc[("cub", learner, steps[1]), "live"] == "31.00 ± 0.50"
    assert beside.own_ablation(by, mean, table, "", 0.95).empty


def test_sides_of_figure_6_stand_beside_table_3():
    found = beside.own_training(cells(["five", "one", "gap"], shots=[1, 5, 10], learner=["anil", "dn4"]), TRAINED, 0.95)
    assert len(found) == 2 * 2
    assert found.loc[("cub", 1, "anil", "wacc-a"), "live"] == "31.00 ± 0.50"  # trained with one shot
    assert found.loc[("cub", 5, "anil", "wacc-a"), "live"] == "30.00 ± 0.50"
    assert beside.own_training(pd.DataFrame(columns=["five", "one", "gap"]), TRAINED, 0.95).empty


def of_mini(table):
    return table.rename(index={"cub?splits=fewstab": "miniimagenet"})


def test_recent_and_remedied_learners_stand_beside_s9_and_s10():
    recent = of_mini(cells(["acc", "wacc-r", "wacc-a", "gap"], shots=[1, 5], learner=["psco", "beclr"]))
    found = beside.own_recent({"vit-gpt2": recent, "blip": recent, "pixels": recent}, "conv4-{learner}:FILE", 0.95)
    assert set(found.index.get_level_values("metric")) == {"random", "vit-gpt2"}  # the paper's BLIP is the large one
    assert found.loc[("miniimagenet", "psco", 1, "random"), "live"] == "31.00 ± 0.50"
    assert found.loc[("miniimagenet", "psco", 1, "vit-gpt2"), "printed"] == "14.30 ± 0.40"
    assert beside.own_recent({"vit-gpt2": recent}, "", 0.95).empty
    remedied = of_mini(
        cells(["wacc-r", "wacc-a", "without", "no", "yes"], shots=[1, 5], learner=["maml-frozen", "sib"])
    )
    found = beside.own_remedy(remedied, TRAINED, 0.95)
    assert len(found) == 2 * 2 * 2
    assert found.loc[("miniimagenet", "maml", 1, "no"), "printed"] == "13.29 ± 0.55"
    assert found.loc[("miniimagenet", "maml", 1, "yes"), "live"] == "34.00 ± 0.50"
    assert beside.own_remedy(remedied, "", 0.95).empty


def test_agreement_of_captioners_stands_beside_s11():
    pair = ["vit-gpt2", "blip-large"]
    agree = pd.DataFrame([[100.0, 40.0], [50.0, 100.0]], pair, pair)  # of a row with a column as the truth
    ranks = pd.Series({("miniimagenet", 1): 0.9, ("miniimagenet", 5): 0.8, ("clipart", 5): 0.7})
    found = beside.own_agreement({"miniimagenet": agree, "clipart": agree}, ranks, TRAINED)
    live, printed = (found[of].loc["miniimagenet"].to_dict() for of in ("live", "printed"))
    assert live["detection by vit-gpt2"] == "40.00" and live["detection by blip"] == "50.00"
    assert printed["detection by vit-gpt2"] == "34.46" and printed["correlation, 5-shot"] == "1.00"
    assert live["correlation, 1-shot"] == "0.90" and len(found) == 4
    assert len(beside.own_agreement({"miniimagenet": agree}, ranks, "")) == 2  # words alone need no network
