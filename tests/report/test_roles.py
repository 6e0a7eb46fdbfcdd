# ruff: noqa: E501  a row of a table per line
"""Every column that varies has one role, named by the file or by the user; else a command is proposed, which works."""

import json
import re

import numpy as np
import pandas as pd
import proposed
import pytest
import scipy.stats
from refusal import refuses

from fslcore.report import Options, Results, Shape, roles
from fslcore.report.model import UnnamedRoles

RNG = np.random.default_rng(3)
HARD = RNG.normal(65, 6, 30)
OURS, BASE = (HARD + gap + RNG.normal(0, 1, 30) for gap in (3, 0))
LONG = pd.DataFrame(
    {
        "method": np.repeat(["ours", "base"], 30),
        "task": np.tile(range(30), 2),
        "accuracy": np.concatenate([OURS, BASE]).round(2),
    }
)
WIDE = LONG.pivot(index="task", columns="method", values="accuracy").reset_index()
DATASETS = pd.DataFrame(
    {"dataset": [*"abcdef"], "ours": [61.9, 53.1, 64.8, 71.1, 52.6, 66.2], "base": [60.1, 52.2, 63, 70.4, 50.9, 66]}
)  # fmt: skip


def renamed(**names):
    return LONG.rename(columns=names)


# By name: a table, and the difference of ours and base that its proposal gives.
GAP = (LONG["accuracy"][:30].to_numpy() - LONG["accuracy"][30:].to_numpy()).mean()
OF_DATASETS = (DATASETS["ours"] - DATASETS["base"]).mean()
PROPOSED = {
    **{word: (renamed(method=word), GAP) for word in ("framework", "trainer", "policy", "pipeline_name", "backbone")},
    **{word: (renamed(task=word), GAP) for word in ("uid", "number_of_try")},
    "another word for accuracy": (renamed(accuracy="result"), GAP),
    "texts beside an id": (renamed(task="id").assign(prompt=[f"text {k}" for k in range(30)] * 2), GAP),
    "a column per method": (WIDE, GAP),
    "no column for tasks": (WIDE.drop(columns="task"), GAP),
    "data sets": (DATASETS, OF_DATASETS),
    "a row per method": (DATASETS.set_index("dataset").T.rename_axis("method").reset_index(), OF_DATASETS),
    "average and rank": (
        DATASETS.set_index("dataset").T.assign(Avg=[61.6, 60.4], Rank=[1, 2]).rename_axis("method").reset_index(),
        OF_DATASETS,
    ),
    "p-values and improvements": (DATASETS.assign(**{"improvement (%)": range(1, 7), "p-value": [0.01, 0.2, 0.02, 0.4, 0.03, 0.8]}), OF_DATASETS),
    "a learning rate": (LONG.assign(lr=np.tile([0.1, 0.01], 30)), GAP),
    "a batch size": (LONG.assign(batch_size=np.tile([32, 64], 30)), GAP),
    "equal on a data set": (
        DATASETS.replace(66, 66.2).set_index("dataset").T.rename_axis("method").reset_index(),
        OF_DATASETS - (66.2 - 66) / 6,
    ),
    "a method that never varies": (WIDE.assign(base=60.0), OURS.round(2).mean() - 60),
    "methods that never vary": (WIDE.assign(ours=65.0, base=60.0), 5),
    "a split": (pd.concat([LONG.assign(split="test"), LONG.assign(split="train", accuracy=99.0)]), GAP),
    "metrics": (
        pd.concat([LONG.rename(columns={"accuracy": "value"}).assign(metric=m, value=lambda f, k=k: f["value"] * k) for m, k in (("accuracy", 1), ("loss", 0.01))]),
        GAP,
    ),
    "ranks in brackets": (DATASETS.assign(ours=DATASETS["ours"].astype(str) + " (1)", base=DATASETS["base"].astype(str) + " (2)"), OF_DATASETS),
    "counts": (renamed(accuracy="successes").assign(successes=np.repeat([9, 6], 30), trials=10), 30),
}  # fmt: skip


@pytest.mark.parametrize("name", PROPOSED)
def test_what_has_no_role_is_refused_with_a_command_that_works(name):
    table, gap = PROPOSED[name]
    with pytest.raises(UnnamedRoles, match="no role|what a row is") as error:
        Results.from_frame(table)
    files, options = proposed.typed(error.value)
    results = Results.from_frame(table, **options)
    assert files == ["FILE"]
    pairs = results.pairs[results.pairs["a"] + results.pairs["b"] == "oursbase"]
    assert np.average(pairs["difference"], weights=pairs["n"]) == pytest.approx(gap, abs=1e-6)


SHORT = LONG[LONG["task"] < 10]
GRID = pd.DataFrame(
    {
        "method": np.repeat(["ours", "base"], 4),
        "noise": np.tile([0, 0.2, 0.3, 0.4], 2),
        "accuracy": HARD[:8],
    }
)
REPEATED = pd.concat([SHORT.assign(dataset="a"), SHORT.assign(dataset="b")], ignore_index=True)
# By name: a table of which two readings are about as likely, and what is said.
OPEN = {
    "error rates of letters and of words": (pd.DataFrame({"model": [*"abc"], "wer": [9.1, 8.0, 7.7], "cer": [2.2, 2, 1.9]}), "wer, cer may each be the values"),
    "a method called by a measure": (WIDE.assign(**{"Time-CNN": BASE}), "base, ours, Time-CNN may each be the values"),
    "shares beside others": (pd.DataFrame({"case": range(30), "Dice": OURS / 100, "HD95": BASE}), "Dice, HD95 may each be the values"),
    "an accuracy beside other names": (WIDE.assign(accuracy=BASE), "base, ours have no role"),
    "ranks": (pd.DataFrame({"dataset": [*"abc"], "SVM": [1, 2, 2], "RF": [2, 1, 1]}), "SVM, RF may each be the values"),
    "rates of one kind": (pd.DataFrame({"column 1": [*"abcde"], "win_rate": HARD[:5], "discrete_win_rate": HARD[5:10], "standard_error": 1.5, "n_wins": range(5)}), "win_rate, discrete_win_rate may each be the values"),
    "times and flags beside errors": (
        pd.DataFrame({"system": np.repeat(["a", "b"], 8), "utterance": [*range(8)] * 2, "cer": HARD[:16], "wer": HARD[:16], "total_sec": OURS[:16], "is_imputed": 0}),
        "cer, wer may each be the values",
    ),
    "a flag beside validation": (pd.DataFrame({"exp": [*"abcd"], "val_acc": HARD[:4], "frozen": [0, 1, 1, 0]}), "exp, val_acc, frozen have no role"),
    "measures in a column": (
        pd.concat([LONG.rename(columns={"accuracy": "result"}).assign(metric=m) for m in ("auc", "logloss")]),
        "metric has 2 measures, auc, logloss: choose one, such as .*metric=auc",
    ),
    "two accuracies": (LONG.rename(columns={"accuracy": "zero_shot_acc"}).assign(few_shot_acc=HARD.repeat(2)), "zero_shot_acc, few_shot_acc may each be the values"),
    "measures of data sets": (
        pd.DataFrame({"model": ["ours", "base"], **{f"{d}.{m}": HARD[:2] for d in ("piqa", "arc") for m in ("acc", "acc_norm")}}),
        "piqa, arc and acc, acc_norm: one may be .*the other measures",
    ),
    "a setting": (GRID, "noise has no role"),
    "numbers of repetitions": (REPEATED.rename(columns={"task": "split"}), "split has no role"),
    "names of experiments": (GRID.assign(experiment_id=[*"abcdefgh"]).drop(columns="noise"), "experiment_id has no role"),
    "a ± of another measure": (LONG.assign(AUC=[f"{v:.1f} ± {v / 50:.1f}" for v in HARD.repeat(2)]), "AUC ± has no role"),
    "kinds of tasks": (LONG.assign(kind=np.tile([*"abc"], 20)), "kind has 3 values for 30 of task"),
    "seeds that have tasks of their own": (LONG.assign(rep=LONG["task"] // 10), "rep has 3 values for 30 of task"),
    "two names": (SHORT.rename(columns={"method": "scheme"}).assign(options=lambda f: f["scheme"] + "!"), "scheme, options have no role"),
    "counts of words": (pd.DataFrame({"model": np.repeat(["a", "b"], 20), "utterance": [*range(20)] * 2, "words": range(40)}), "utterance, words have no role"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_nothing_is_proposed_where_two_readings_are_about_as_likely(name):
    table, words = OPEN[name]
    with pytest.raises(UnnamedRoles, match=words) as error:
        Results.from_frame(table)
    assert proposed.commands(error.value) == []


@pytest.mark.parametrize("name", ["domain", "corpus", "data_name", "dataset_name", "file"])
def test_domains_corpora_and_files_are_proposed_as_data_sets(name, tmp_path):
    table = DATASETS.melt("dataset", var_name="method", value_name="accuracy")
    table = table.rename(columns={"dataset": name})
    if name == "file":
        for letter, rows in table.groupby("file"):
            rows.drop(columns="file").to_csv(tmp_path / f"{letter}.csv", index=False)
        results = proposed.read(tmp_path)
    else:
        results = proposed.from_frame(table)
    assert results.shape is Shape.DATASETS
    assert results.pairs["difference"][0] == pytest.approx(OF_DATASETS)


def test_names_of_data_sets_are_proposed_as_no_methods():
    table = DATASETS.melt("dataset", var_name="classifier_name", value_name="accuracy")
    results = proposed.from_frame(table.rename(columns={"dataset": "dataset_name"}))
    assert results.shape is Shape.DATASETS
    assert results.pairs["difference"][0] == pytest.approx(OF_DATASETS)


def test_an_index_without_a_name_has_methods_beside_it_where_rows_are_more():
    """A table of pandas: a row per data set, whose column has no name, and a column per method."""
    results = proposed.from_frame(DATASETS.rename(columns={"dataset": "column 1"}))
    assert results.shape is Shape.DATASETS
    assert results.pairs["difference"][0] == pytest.approx(OF_DATASETS)


def test_of_an_index_without_a_name_nothing_is_proposed_where_either_may_be_methods():
    table = DATASETS.set_index("dataset").T.rename_axis("column 1").reset_index()
    with pytest.raises(UnnamedRoles, match="are methods .*or data sets") as error:
        Results.from_frame(table)
    assert proposed.commands(error.value) == []


def test_runs_with_names_are_proposed_as_methods():
    """Settings in a column run, and benchmarks in columns: neither their mean nor a loss is one."""
    table = DATASETS.set_index("dataset").T.rename_axis("run").reset_index()
    table = table.assign(avg_general=[60, 61], forgetting_score=[1.5, 0.2], bits=[4, 8])
    results = proposed.from_frame(table)
    assert results.shape is Shape.DATASETS
    assert results.pairs["difference"][0] == pytest.approx(OF_DATASETS)


def test_of_several_measures_none_is_proposed():
    """A column of means and another measure were proposed as two methods, or as data sets."""
    table = renamed(task="sentence", accuracy="mean_mass")
    table = table.assign(mean_mass_all=RNG.random(60), precision_at_1=RNG.random(60))
    with pytest.raises(
        UnnamedRoles, match="mean_mass, mean_mass_all may each be the values"
    ) as error:
        Results.from_frame(table)
    assert proposed.commands(error.value) == []
    results = proposed.from_frame(table, value="mean_mass", ignore=["mean_mass_all"])
    assert results.pairs["difference"][0] == pytest.approx(GAP)


def proposed_options(table):
    """The options of the first command that is proposed."""
    with pytest.raises(UnnamedRoles) as error:
        Results.from_frame(table)
    return proposed.typed(error.value)[1]


def test_results_of_a_baseline_do_not_name_methods():
    with pytest.raises(UnnamedRoles) as error:
        Results.from_frame(WIDE.head(5).rename(columns={"base": "baseline"}))
    assert set(proposed.typed(error.value)[1]["methods"]) == {"ours", "baseline"}


HARMLESS = {
    "lr": 0.001, "batch_size": 64, "n_images": "1,000", "gpu": "A100", "n_way": 5, "note": "x",
    "runtime_s": RNG.random(60), "loss": RNG.random(60), "f1": RNG.random(60), "timestamp": range(60),
    "best_epoch": RNG.integers(1, 99, 60),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_constant_columns_and_known_measures_change_nothing(name):
    plain, more = (
        Results.from_frame(LONG),
        Results.from_frame(LONG.assign(**{name: HARMLESS[name]})),
    )
    pd.testing.assert_frame_equal(plain.pairs, more.pairs)
    assert (f"left out: {name}" in more.reading[0]) == (np.ndim(HARMLESS[name]) > 0)


@pytest.mark.parametrize("name", ["lr", "x", "delta", "slurm_job_id", "k", "Unix time of what"])
def test_no_column_that_varies_is_passed_over(name):
    for values in (
        RNG.integers(0, 3, 60),
        RNG.random(60) * 100,
        RNG.integers(10**9, 2 * 10**9, 60),
    ):
        table = LONG.assign(**{name: values})
        if "time" in name:
            assert f"left out: {name}" in Results.from_frame(table).reading[0]
            continue
        with pytest.raises(UnnamedRoles, match=f"{name} has no role"):
            Results.from_frame(table)
        results = Results.from_frame(table, ignore=[name])
        pd.testing.assert_frame_equal(results.pairs, Results.from_frame(LONG).pairs)
        assert f"left out: {name}" in results.reading[0]


NO_SAMPLE = {
    "training curve": (pd.DataFrame({"method": "a", "epoch": range(20), "accuracy": range(20)}), "training curve"),
    "steps": (pd.DataFrame({"Step": range(20), "Value": np.linspace(0, 1, 20)}), "training curve"),
    "log": (pd.DataFrame({"train_acc": HARD, "val_acc": BASE, "lr": np.linspace(1, 0, 30)}), "log of one training"),
    "search": (pd.DataFrame({"trial": range(20), "accuracy": HARD[:20]}), "trials of a search"),
    "leaderboard": (pd.DataFrame({"model": [*"abc"], "accuracy": [71, 72, 73]}), "one number per method"),
    "summary": (pd.DataFrame(LONG.describe().reset_index(names="statistic")), "is a summary"),
    "report of classes": (pd.DataFrame({"column 1": ["cat", "dog", "macro avg", "weighted avg"], "precision": HARD[:4], "f1-score": HARD[:4], "support": [9, 5, 14, 14]}), "is a summary"),
    "votes": (pd.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": ["model_a", "tie"]}), "votes between two methods"),
    "shots in the header": (pd.DataFrame({"method": ["a", "b"], "1": [5, 6], "2": [6, 7], "16": [8, 9]}), "numbers of shots"),
}  # fmt: skip


def test_steps_of_runs_that_have_names_are_no_curve():
    """The last step of each run in an export of Weights & Biases was refused as a training curve."""
    table = LONG.assign(Name=LONG["method"] + "-" + LONG["task"].astype(str), _step=range(60))
    results = proposed.from_frame(table.rename(columns={"task": "seed"}))
    assert results.shape is Shape.SEEDS and "left out: Name, _step" in results.reading[0]
    with refuses("training curve"):  # a time names no run
        times = [f"10:{k}" for k in range(20)]
        Results.from_frame(pd.DataFrame({"date": times, "step": range(20), "test_acc": HARD[:20]}))
    named_runs = pd.DataFrame({"exp": [*"abc"], "train_loss": HARD[:3], "val_acc": BASE[:3]})
    with refuses("have no role"):
        Results.from_frame(named_runs)


def test_a_run_that_failed_is_no_repetition():
    failed = LONG.iloc[:1].assign(accuracy=np.nan, notes="crashed")
    table = pd.concat([LONG.assign(notes="finished"), failed])
    assert proposed.from_frame(table).pairs["difference"][0] == pytest.approx(GAP)


def test_an_iteration_may_be_a_training_of_its_own():
    table = pd.concat(
        [
            DATASETS.melt("dataset", var_name="method", value_name="accuracy").assign(iteration=k)
            for k in range(5)
        ]
    )
    table["accuracy"] += RNG.normal(0, 1, len(table))
    with refuses("training curve"):
        Results.from_frame(table)
    runs = Results.from_frame(table, unit={"iteration": "run"})
    assert runs.shape is Shape.DATASETS_AND_SEEDS


def test_epochs_of_rows_that_are_told_apart_are_a_setting():
    table = LONG.assign(epochs=np.repeat([90, 100], 30))
    with pytest.raises(UnnamedRoles, match="epochs has no role"):
        Results.from_frame(table)
    assert proposed.from_frame(table).pairs["difference"][0] == pytest.approx(GAP)
    with refuses("training curve"):
        Results.from_frame(table.drop(columns="task").assign(epochs=np.tile(range(30), 2)))


@pytest.mark.parametrize("name", NO_SAMPLE)
def test_what_is_no_sample_is_refused_in_these_words(name):
    table, words = NO_SAMPLE[name]
    with refuses(words):
        proposed.from_frame(table)


@pytest.mark.parametrize(
    "unit", ["task", "item", "class", "dataset", "seed", "run", "fold", "draw"]
)
def test_measures_of_trainings_beside_a_unit_are_no_log(unit):
    """Only without a unit do columns of a loss or a rate show the rows of one training."""
    measures = {"train_acc": HARD, "val_acc": BASE, "lr": np.linspace(1, 0, 30)}
    with pytest.raises(UnnamedRoles, match="train_acc, val_acc, lr have no role"):
        Results.from_frame(pd.DataFrame({unit: range(30), **measures}))


@pytest.mark.parametrize("names", [("LR", "NCC"), ("train", "base")])
def test_methods_called_like_one_measure_of_trainings_are_no_log(names):
    table = WIDE[["ours", "base"]].set_axis(names, axis=1)
    with pytest.raises(UnnamedRoles, match=f"{', '.join(names)} have no role"):
        Results.from_frame(table)


@pytest.mark.parametrize("name", ["fid", "wer", "loss", "time", "error"])
def test_the_direction_is_a_fact_or_a_question(name):
    table = renamed(accuracy=name)
    with refuses("say lower_is_better=True"):
        Results.from_frame(table, value=name)
    lower = Results.from_frame(table, value=name, lower_is_better=True)
    assert lower.pairs["a"][0] == "base" and not lower.percent
    assert Results.from_frame(table, value=name, higher_is_better=True).pairs["a"][0] == "ours"
    arrow = Results.from_frame(renamed(accuracy=f"{name} ↓"), value=f"{name} ↓")
    pd.testing.assert_frame_equal(arrow.pairs, lower.pairs)


def test_a_measure_that_is_no_accuracy_has_its_own_unit_and_no_bounds():
    table = renamed(accuracy="reward")
    table["reward"] *= 1000
    results = Results.from_frame(table, value="reward")
    assert not results.percent and results.pairs["difference"][0] == pytest.approx(1000 * GAP)
    assert "points" not in results.lines()[0] and "reward as written" in results.lines()[1]


def test_numbers_without_a_name_may_measure_anything(tmp_path):
    """They were called accuracies in percent, and nothing else could be said."""
    np.savez(tmp_path / "r.npz", ours=HARD.reshape(5, 6) / 10, base=HARD.reshape(5, 6) / 20)
    roles = {"method": "array", "unit": {"row": "run", "column": "task"}}
    with refuses("name their measure"):
        mixed = {"ours": HARD.reshape(5, 6) / 60, "base": HARD.reshape(5, 6) / 70}
        np.savez(tmp_path / "mixed.npz", **mixed)
        Results.read(tmp_path / "mixed.npz", **roles)
    assert "(assumed, as no name says so)" in Results.read(tmp_path / "r.npz", **roles).reading[0]
    scores = Results.read(tmp_path / "mixed.npz", **roles, value="return")
    assert not scores.percent and "return as written (higher is better)" in scores.reading[0]
    with refuses("loss: lower is better"):
        Results.read(tmp_path / "mixed.npz", **roles, value="loss")


def test_what_a_plus_minus_is_has_to_be_said():
    cells = pd.DataFrame({"method": ["a", "b"], "accuracy": ["70.1 ± 0.5", "68.0 ± 0.6"]})
    with pytest.raises(UnnamedRoles, match="pm='ci', pm='se', or pm='sd' and n=N") as error:
        Results.from_frame(cells)
    each = ["--pm ci", "--pm se", "--pm sd --n N"]
    assert proposed.commands(error.value) == [f"fslcore report FILE {kind}" for kind in each]
    widths = {}
    for kind, options in {"ci": {}, "se": {}, "sd": {"n": 5}}.items():
        widths[kind] = Results.from_frame(cells, pm=kind, **options).methods["half_width"][0]
    assert widths["ci"] == pytest.approx(0.5)
    assert widths["se"] == pytest.approx(0.5 * scipy.stats.norm.ppf(0.975))
    assert widths["sd"] == pytest.approx(0.5 * scipy.stats.t.ppf(0.975, 4) / np.sqrt(5))


def test_spreads_and_ends_beside_a_mean_are_used():
    means = pd.DataFrame({"method": ["a", "b"], "accuracy": [70.1, 68.0]})
    of = {
        "se": Results.from_frame(means.assign(stderr=[0.5, 0.6])),
        "sd": Results.from_frame(means.assign(std=[0.5, 0.6], n=5)),
        "ends": Results.from_frame(
            means.assign(lo=[69.6, 67.4], hi=[70.6, 68.6]), low="lo", high="hi"
        ),
    }
    widths = {name: results.methods["half_width"][0] for name, results in of.items()}
    assert widths["ends"] == pytest.approx(0.5) and widths["se"] == pytest.approx(0.98, abs=0.001)
    assert widths["sd"] == pytest.approx(0.6208, abs=0.001)


MEANS = pd.DataFrame(
    {"model": [*"abc"], "acc_mean": [0.71, 0.68, 0.6], "acc_std": [0.01, 0.02, 0.01], "auc_mean": [0.8, 0.7, 0.6]}
)  # fmt: skip


@pytest.mark.parametrize(
    "column, words",
    [
        ("ci95", "± as half of an interval (ci95)"),
        ("stderr", "± as standard error (stderr)"),
        ("std", "± as standard deviation (std)"),
    ],
)
def test_the_reading_says_what_a_spread_was_taken_to_be(column, words):
    """The answer called each one half of an interval."""
    table = pd.DataFrame({"method": ["ours", "base"], "accuracy": [72.1, 66.3], column: [1.1, 1.2]})
    results = Results.from_frame(table, n=30)
    assert words in results.reading[0] and "±" not in results.applies[0]


def test_a_spread_is_known_by_the_name_of_its_mean():
    """Beside acc_mean and acc_std, nothing was said to show how much a mean varies."""
    with pytest.raises(UnnamedRoles, match="needs the number of values behind it"):
        Results.from_frame(MEANS)
    results = Results.from_frame(MEANS, n=5)
    assert results.shape is Shape.PRINTED
    width = scipy.stats.t.ppf(0.975, 4) / np.sqrt(5)
    assert results.methods["half_width"].tolist() == pytest.approx([width, 2 * width, width])


def test_a_spread_of_each_seed_is_asked_for():
    """The means of four seeds, and the mean of their ±, were compared as two printed figures."""
    table = LONG[LONG["task"] < 4].rename(columns={"task": "seed"}).assign(ci95=0.8)
    with refuses("each mean has a ±, and seed varies too"):
        Results.from_frame(table)
    assert Results.from_frame(table, ignore=["ci95"]).shape is Shape.SEEDS
    assert Results.from_frame(table, where=["seed=0"]).shape is Shape.PRINTED


def test_a_plus_minus_that_is_left_out_is_not_read():
    seeds = {"method": ["a", "b"] * 4, "seed": np.repeat(range(4), 2)}
    cells = [f"{70 + k} ± 0.5" for k in range(8)]
    frame = pd.DataFrame({**seeds, "accuracy": cells})
    report = Results.from_frame(frame, ignore=["accuracy ±"])
    assert report.shape == "seeds" and "left out: accuracy ±" in report.reading[0]


def test_the_number_behind_a_spread_is_proposed():
    table = MEANS.drop(columns="auc_mean").assign(n_seeds=[3, 5, 5])
    assert proposed_options(table)["n"] == "n_seeds"
    assert proposed.from_frame(table).shape is Shape.PRINTED


def test_a_plus_minus_is_no_column_of_values():
    """Means with ± under another word were proposed as two data sets."""
    table = pd.DataFrame({"method": ["ours", "base"], "score": ["71.5 ± 0.4", "69 ± 0.5"]})
    results = proposed.from_frame(table)
    assert results.shape is Shape.PRINTED and results.pairs["difference"].tolist() == [2.5]


def test_a_run_that_is_another_in_every_row_numbers_rows():
    """Read as a training, it made copies of 30 tasks 120 independent runs."""
    table = LONG.assign(run_id=[f"r{k}" for k in range(60)])
    results = Results.from_frame(table)
    assert results.shape is Shape.TASKS and {*results.methods["n"]} == {30}
    assert "left out: run_id" in results.reading[0]
    copies = pd.concat([table, table]).assign(run_id=[f"r{k}" for k in range(120)])
    with refuses("2 rows have method ours, task 0"):
        Results.from_frame(copies)
    told = Results.from_frame(copies.assign(run_id=np.repeat([1, 2], 60)), unit={"run_id": "draw"})
    assert told.shape is Shape.TASKS_IN_DRAWS


def test_what_a_seed_is_is_asked():
    table = pd.concat(
        [
            LONG.assign(seed=seed, accuracy=LONG["accuracy"] + RNG.normal(0, 1, 60))
            for seed in range(3)
        ]
    )
    with pytest.raises(UnnamedRoles, match=r"seed='runs'.*seed='tasks'"):
        Results.from_frame(table)
    assert Results.from_frame(table, seed="runs").shape is Shape.RUNS
    draws = Results.from_frame(table, seed="tasks")
    named = Results.from_frame(table.rename(columns={"seed": "draw"}))
    assert draws.shape is named.shape is Shape.TASKS_IN_DRAWS
    pd.testing.assert_frame_equal(draws.pairs, named.pairs)


def test_folds_share_training_data():
    values = pd.DataFrame({"fold": range(5), "ours": OURS[:5], "base": BASE[:5]})
    table = values.melt("fold", var_name="method", value_name="acc")
    results = Results.from_frame(table)
    difference = (values["ours"] - values["base"]).to_numpy()
    error = np.sqrt(difference.var(ddof=1) * (1 / 5 + 1 / 4))
    expected = 2 * scipy.stats.t.sf(abs(difference.mean()) / error, 4)
    assert results.shape is Shape.FOLDS and results.pairs["p"][0] == pytest.approx(expected)


def test_folds_of_data_sets_that_are_called_tasks():
    """As benchmarks of AutoML write them: a fold's seed only numbers what the fold does."""
    place = pd.MultiIndex.from_product([["ours", "base"], ["car", "kc1"], range(10)])
    table = place.to_frame(index=False, name=["method", "task", "fold"])
    table = table.assign(seed=7000 + table.index, acc=RNG.normal(60, 2, 40).round(2))
    with refuses("seed and fold both vary", r"ignore=\['seed'\]"):
        Results.from_frame(table)
    with refuses("a fold beside tasks", r"by=\['task'\]"):
        Results.from_frame(table, ignore=["seed"])
    results = Results.from_frame(table, ignore=["seed"], by=["task"])
    assert results.shape is Shape.FOLDS and len(results.pairs) == 2


def test_a_table_among_other_lines_is_refused_as_such(tmp_path):
    readme = "# Results\n\nText.\n\n| method | CUB | Cars |\n| --- | --- | --- |\n| a | 1 | 2 |\n\nMore, text.\n"
    (tmp_path / "README.md").write_text(readme)
    with refuses("README.md has other lines", "of one table"):
        Results.read(tmp_path / "README.md")
    rows = "# Results\n<table>\n<tr><td>ours</td>, <td>71</td></tr>\n</table>\nMore.\n"
    (tmp_path / "README.md").write_text(rows)
    with refuses("README.md has tables of HTML"):
        Results.read(tmp_path / "README.md")


def test_what_holds_no_results_is_refused_as_what_it_is(tmp_path):
    """Folders of several files, predictions that nobody scored, and a log of a training alone."""
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / f"{name}.json").write_text("{}")
        (tmp_path / "runs" / name / f"{name}.txt").write_text("")
        (tmp_path / "runs" / name / "one.txt").write_text("")
    (tmp_path / "runs" / "a" / "b").mkdir()
    (tmp_path / "runs" / "a" / "b" / "one.txt").write_text("")
    with refuses("has folders and no files", "{method}"):
        Results.read(tmp_path / "runs")
    answers = {"predictions": ["yes", "no"], "ground_truths": ["no", "no"]}
    (tmp_path / "p.json").write_text(json.dumps({"joy": answers, "fear": answers}))
    with refuses("p.json has predictions"):
        Results.read(tmp_path / "p.json")
    (tmp_path / "t.log").write_text(
        "start\nepoch 1: train_acc: 60.5 lr 0.1\nepoch 2: train_acc: 61.5\n"
    )
    with refuses("t.log is no table"):
        Results.read(tmp_path / "t.log")


def test_two_names_of_methods_are_proposed_as_no_items():
    table = DATASETS.melt("dataset", var_name="model", value_name="accuracy")
    table = table.rename(columns={"dataset": "FewShotClassifier"})
    with pytest.raises(UnnamedRoles) as error:
        Results.from_frame(table)
    assert "=item" not in str(error.value).splitlines()[-1]


def test_paths_have_named_parts_and_json_is_reached_by_a_path_of_keys(tmp_path):
    for method, gap in (("ours", 3), ("base", 0)):
        for seed in range(4):
            folder = tmp_path / "runs" / method / f"seed{seed}"
            folder.mkdir(parents=True)
            content = {"test": {"acc": 60 + gap + seed, "list": [50, 60 + gap]}, "loss": 0.1 * seed}
            (folder / "results.json").write_text(json.dumps(content))
    pattern = f"{tmp_path}/runs/{{method}}/seed{{seed}}/results.json"
    results = Results.read(pattern, value="test.acc")
    assert results.shape is Shape.SEEDS and results.pairs["difference"][0] == pytest.approx(3)
    with refuses("has folders and no files", re.escape(f"'{pattern}'")):
        Results.read(tmp_path / "runs")
    for file in tmp_path.rglob("seed*/results.json"):
        file.parent.rename(file.parent.with_name(file.parent.name.replace("seed", "run_")))
    with refuses(re.escape("/runs/{method}/run_{run}/results.json")):
        Results.read(tmp_path / "runs")
    for number, folder in enumerate(sorted(tmp_path.glob("runs/*/run_*"))):  # numbers of what?
        folder.rename(tmp_path / "runs" / str(number))
    with refuses(re.escape("/runs/{}/results.json"), "in each pair of braces"):
        Results.read(tmp_path / "runs")


def test_a_number_in_json_is_found_by_jmespath(tmp_path):
    for method, gap in (("ours", 3), ("base", 0)):
        for seed in range(4):
            content = {"tests": [{"acc": 50}, {"acc": 60 + gap + seed}]}
            (tmp_path / f"{method}_{seed}.json").write_text(json.dumps(content))
    results = Results.read(f"{tmp_path}/{{method}}_{{seed}}.json", value="tests[-1].acc")
    assert results.pairs["difference"][0] == pytest.approx(3)
    with refuses("path of keys to a number.*got tests.acc in .*None"):
        Results.read(f"{tmp_path}/{{method}}_{{seed}}.json", value="tests.acc")


def test_files_are_named_by_a_pattern_or_by_the_column_file(tmp_path):
    for name, part in LONG.groupby("method"):
        part.drop(columns="method").to_csv(tmp_path / f"{name}_cub.csv", index=False)
        part.drop(columns="method").assign(accuracy=part["accuracy"] - 5).to_csv(
            tmp_path / f"{name}_cars.csv", index=False
        )
    files = sorted(tmp_path.glob("*.csv"))
    with pytest.raises(UnnamedRoles, match=r"{}_{}.csv.* name|name.*{}_{}.csv") as error:
        Results.read(files)
    assert proposed.commands(error.value) == []  # data sets may come first, or backbones
    results = Results.read(f"{tmp_path}/{{method}}_{{dataset}}.csv")
    assert {*results.pairs["place"]} == {"cars", "cub"}
    assert results.pairs["difference"].to_numpy() == pytest.approx([GAP, GAP])


def test_conditions_and_blocks():
    table = pd.concat(
        [LONG.assign(data_pct=share, accuracy=LONG["accuracy"] - share / 10) for share in (5, 50)]
    )
    by = Results.from_frame(table, by="data_pct")
    assert [*by.pairs["place"]] == ["data_pct 5", "data_pct 50"]
    where = Results.from_frame(table, where=["data_pct=5"])
    assert where.pairs["difference"][0] == pytest.approx(by.pairs["difference"][0])
    assert "only data_pct=5" in where.reading[0]
    either = Results.from_frame(table, by="data_pct", where=["data_pct=5", "data_pct=50"])
    pd.testing.assert_frame_equal(either.pairs, by.pairs)
    neither = ["data_pct!=5", "task!=3", "task!=4"]
    assert {*Results.from_frame(table, where=neither).methods["n"]} == {28}
    without = Results.from_frame(LONG, where=["task!=3"])
    assert {*without.methods["n"]} == {29}
    with refuses("where = task=99"):
        Results.from_frame(LONG, where=["task=99"])


@pytest.mark.parametrize(
    "change",
    [
        lambda table: pd.concat([table, table.iloc[:1]]),
        lambda table: table.assign(accuracy=table["accuracy"].where(table.index > 0, 105)),
        lambda table: table.assign(accuracy=table["accuracy"].where(table["method"] == "ours", table["accuracy"] / 100)),
        lambda table: table.assign(accuracy=table["accuracy"].where(table["method"] == "ours", table["accuracy"] > 60) * 1.0),
        lambda table: table.assign(accuracy=table["accuracy"].where(table.index > 0, 0.65)),
        lambda table: table.assign(accuracy=table["accuracy"].astype(str).where(table.index > 0, "OOM")),
    ],
    ids=["a row twice", "105 %", "a method in shares", "a method of answers", "a value in shares", "OOM"],
)  # fmt: skip
def test_what_must_be_noticed_is(change):
    with refuses(""):
        proposed.from_frame(change(LONG))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"method": "gone"}, "method = gone"),
        ({"by": ["task"], "unit": {"task": "item"}}, "one role"),
        ({"unit": {"task": "thing"}}, "unit must be"),
        ({"where": ["task"]}, "COLUMN=VALUE"),
        ({"pm": "half"}, "pm must be"),
        ({"low": "accuracy"}, "low and high .*got low alone"),
        ({"methods": ["gone"]}, "methods = gone"),
        ({"reference": "Gone"}, "reference must be"),
        ({"ignore": 3}, "a list of names"),
        (
            {"lower_is_better": True, "higher_is_better": True},
            "lower_is_better and higher_is_better",
        ),
    ],
)
def test_options_that_fit_nothing_are_refused(options, words):
    with refuses(words):
        Results.from_frame(LONG, **options)


@pytest.mark.parametrize(
    "columns, options, words",
    [
        (
            ["a", "b"],
            {"unit": {"a": "task", "b": "task"}, "value": "c", "by": ["d"]},
            "b and a both say the task",
        ),
        (
            ["dataset", "benchmark"],
            {"by": ["dataset", "benchmark"], "value": "c", "ignore": ["d"]},
            "both say the dataset",
        ),
        (
            ["a", "b"],
            {"unit": {"a": "seed"}, "columns": {"seed": ["b", "c"]}, "method": "d"},
            "a and the names of b, c both say the seed",
        ),
        (
            ["a", "b"],
            {"of": "a", "methods": ["b", "c"], "unit": {"d": "task"}},
            "of = a.* one column of values",
        ),
        (
            ["a", "b"],
            {"low": "a", "high": "b", "columns": {"dataset": ["c", "d"]}},
            "low = a.* one column of values",
        ),
    ],
)
def test_two_columns_that_say_the_same_are_refused(columns, options, words):
    """Totals beside several columns of values multiplied these by 100, and two columns of one key
    were a fault.
    """
    values = RNG.normal(60, 5, (8, 4)).round(2)
    with refuses(words):
        Results.from_frame(pd.DataFrame(values, columns=[*columns, "c", "d"]), **options)


@pytest.mark.parametrize(
    "option", ["method", "value", "group", "by", "ignore", "low", "high", "of", "n", "pm", "unit"]
)
def test_an_option_that_names_no_column_is_refused_by_its_name(option):
    values = {"by": ["Gone"], "ignore": ["Gone"], "unit": {"Gone": "task"}, "pm": "sd=Gone"}
    ends = {"low": {"high": "accuracy"}, "high": {"low": "accuracy"}}.get(option, {})
    with refuses(f"{option} = Gone", "method, task, accuracy"):
        Results.from_frame(LONG, **ends, **{option: values.get(option, "Gone")})
    with refuses("method = file"):  # of one file there is no such column
        Results.from_frame(LONG, method="file")


def test_a_column_of_one_method_names_it():
    results = Results.from_frame(LONG[LONG["method"] == "base"], "r.csv")
    assert results.methods["method"].tolist() == ["base"] and results.pairs.empty


def test_a_tabular_of_latex_is_a_table(tmp_path):
    path = tmp_path / "t.tex"
    body = r"Method & 1-shot & 5-shot \\ \midrule Proto~\cite{a} & $49.42 \pm 0.78$ & $68.2 \pm 0.66$ \\ Ours & $\mathbf{52.10} \pm 0.80$ & $70.4 \pm 0.7$ \\"
    path.write_text(f"\\begin{{tabular}}{{lcc}}\n\\toprule {body} \\bottomrule\n\\end{{tabular}}")
    results = Results.read(path, pm="ci")
    assert [*results.pairs["difference"]] == pytest.approx([2.68, 2.2])
    of_two_lines = (
        r"\begin{tabular}{lcc}\toprule & \multicolumn{2}{c}{CUB} \\ \cmidrule{2-3}" + "\n"
    )
    path.write_text(path.read_text().replace("\\begin{tabular}{lcc}\n", of_two_lines))
    with refuses("multicolumn"):  # lines up to the next } were taken for the columns' formats
        Results.read(path, pm="ci")
    path.write_text(path.read_text().replace(of_two_lines, "\\begin{tabular}{l@{ }cc}\n"))
    assert len(Results.read(path, pm="ci").pairs) == 2
    path.write_text(path.read_text().replace("Method", r"\multirow{2}{*}{Method}"))
    with refuses("multirow"):
        Results.read(path, pm="ci")


def test_a_task_counts_on_which_methods_are_equal():
    """Its column holds one number: left out as a constant, it made the difference 7.5."""
    values = {"task 0": 50.0, "task 1": [60, 55.0], "task 2": [70, 60.0]}
    results = Results.from_frame(pd.DataFrame({"method": ["ours", "base"], **values}))
    assert (results.pairs["difference"][0], results.pairs["n"][0]) == (5, 3)


def test_columns_called_by_numbers_are_named_in_full():
    """Also the one in which all methods are equal, without which the mean was another."""
    equal = pd.DataFrame({"method": ["ours", "base"], "0": 50.0, "1": [60, 55.0], "2": [70, 60.0]})
    with refuses(re.escape("columns={'seed': ['0', '1', '2']}")):
        Results.from_frame(equal)
    results = Results.from_frame(equal, columns={"seed": ["0", "1", "2"]})
    assert results.methods["mean"].tolist() == [60, 55]


def test_columns_called_by_numbers_are_proposed_as_no_methods():
    resamples = {str(k): HARD[:6] + RNG.normal(0, 1, 6) for k in range(5)}
    table = pd.DataFrame({"dataset": [*"abcdef"], **resamples})
    with refuses("numbers of shots, of seeds or of tasks") as error:
        Results.from_frame(table)
    assert proposed.commands(error.value) == []
    seeds = Results.from_frame(table, columns={"seed": [*resamples]})
    assert seeds.methods["method"].nunique() == 1


def test_a_setting_with_a_gap_is_refused_as_any_other():
    table = pd.concat([SHORT, SHORT]).assign(delta=np.repeat([np.nan, 1, 2, 3], 10))
    with refuses("delta has no role"):
        Results.from_frame(table)


def test_settings_that_never_vary_are_no_values():
    settings = pd.DataFrame({"lr": [0.1] * 3, "epochs": [5] * 3})
    with refuses("lr, epochs have no role") as error:
        Results.from_frame(settings)
    assert "fslcore report" not in str(error.value)


# Files of tools, by their structures ---------------------------------------------------------------

SEARCHED = pd.DataFrame(
    {
        "param_C": [0.1, 1.0, 10.0],
        "params": ["{'C': 0.1}", "{'C': 1.0}", "{'C': 10.0}"],
        "split0_test_score": [0.71, 0.74, 0.72],
        "split1_test_score": [0.70, 0.75, 0.73],
        "mean_test_score": [0.705, 0.745, 0.725],
    }
)


def test_a_grid_search_of_scikit_learn_is_no_sample():
    with refuses("param_C", "trials of a search"):
        Results.from_frame(SEARCHED)
    counted = LONG.assign(param_count=np.tile([11, 25], 30))
    with refuses("param_count", "no role"):
        Results.from_frame(counted)


def test_no_standard_deviation_is_proposed_as_values():
    rows = [
        (m, d, 0.6 + 0.01 * k, 0.0) for k, (m, d) in enumerate((m, d) for m in "ab" for d in "xyz")
    ]
    table = pd.DataFrame(rows, columns=["system", "dataset", "mean", "stddev"])
    with pytest.raises(UnnamedRoles) as error:
        Results.from_frame(table)
    assert "--value stddev" not in str(error.value).splitlines()[-1]


def test_no_pattern_of_folders_is_proposed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (("a", 0.6), ("b", 0.7)):
        (tmp_path / name).mkdir()
        scores = {"mmlu": {"score": value}, "boolq": {"score": value + 0.01}}
        (tmp_path / name / "results.json").write_text(json.dumps({"results": scores}))
    with pytest.raises(UnnamedRoles) as error:
        Results.read(["a", "b"])
    assert "{method}" not in str(error.value)


def test_json_of_three_keys_is_read_by_all_of_them(tmp_path):
    values = {d: {m: {s: HARD[k] + s for s in range(3)} for k, m in enumerate("ab")} for d in "xy"}
    (tmp_path / "r.json").write_text(json.dumps(values))
    roles = {"method": "key 2", "by": ["key 1"], "unit": {"key 3": "seed"}, "value": "accuracy"}
    results = Results.read(tmp_path / "r.json", **roles)
    assert {*results.methods["n"]} == {3} and len(results.pairs) == 2
    (tmp_path / "r.json").write_text(
        json.dumps({"x": {"a": 1, "b": {"c": 2}}, "y": {"a": 1, "b": 2}})
    )
    with refuses("numbers at different depths"):
        Results.read(tmp_path / "r.json")


@pytest.mark.parametrize(
    "content, words",
    [
        ([{"image_id": 3, "bbox": [0, 0, 9, 9], "score": 0.5}] * 3, "has detections"),
        (
            {"results": {"arc": {"acc,none": 0.4}}, "configs": {}, "versions": {}},
            "means of lm-eval",
        ),
    ],
    ids=["detections", "lm-eval"],
)
def test_json_without_results_is_refused_as_what_it_is(content, words, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(content))
    with refuses(words):
        Results.read(tmp_path / "r.json")


def test_values_inside_of_what_was_left_out_are_named(tmp_path):
    rows = [{"task": "few-shot", "datasets": [{"sota": {"rows": []}}]}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    with refuses("no column is named as values", "not read.*datasets"):
        Results.read(tmp_path / "r.json")


def test_of_several_measures_of_methods_none_is_proposed():
    """Base, New and their harmonic mean H of two methods: no six methods."""
    names = [
        f"{method} {measure}" for method in ("CoX", "Ours") for measure in ("Base", "New", "H")
    ]
    measures = {name: DATASETS["ours"] + RNG.normal(0, 1, 6) for name in names}
    with pytest.raises(
        UnnamedRoles, match="CoX, Ours and Base, New, H: .*choose the columns of one measure"
    ) as error:
        Results.from_frame(DATASETS[["dataset"]].assign(**measures))
    assert proposed.commands(error.value) == []


KINDS = pd.DataFrame(
    {"type": np.repeat(["binary", "multiclass"], 6), "dataset": [*"abcdefghijkl"],
     "base": np.r_[DATASETS["base"] / 100, 1 - DATASETS["base"] / 100], "ours": np.r_[DATASETS["ours"] / 100, 1 - DATASETS["ours"] / 100]}
)  # fmt: skip


def test_methods_on_different_datasets_are_compared_unpaired():
    """It was refused with "a and b must be from the same tasks, got shapes (0,) and (0,)"."""
    table = DATASETS.melt("dataset", var_name="method", value_name="accuracy")
    table["dataset"] += table["method"]
    results = Results.from_frame(table)
    assert results.pairs["test"].tolist() == ["Welch's t-test"] and not results.frames
    assert results.pairs["difference"][0] == pytest.approx(OF_DATASETS)


def test_blocks_of_any_kind_need_a_measure():
    """AUC in some rows and log loss in others: what columns measure may differ between blocks, where
    no name says what it is.
    """
    with pytest.raises(UnnamedRoles, match="type has 2 values for 12 of dataset") as error:
        Results.from_frame(KINDS)
    assert proposed.commands(error.value) == []
    usual = {"methods": ["base", "ours"], "by": ["type"]}
    with refuses("nothing says what the columns measure", "higher_is_better=True"):
        Results.from_frame(KINDS, **usual)
    for measure in ({"higher_is_better": True}, {"value": "accuracy"}):
        assert len(Results.from_frame(KINDS, **usual, **measure).pairs) == 2
    loss = Results.from_frame(
        KINDS, methods=["base", "ours"], where=["type=multiclass"], lower_is_better=True
    )
    assert loss.pairs.iloc[0]["a"] == "ours"
    named = KINDS.rename(columns={"type": "shots"})
    assert len(Results.from_frame(named, methods=["base", "ours"]).pairs)


class CountedDict(dict):
    """A dict that counts how many of its keys are gone through."""

    steps = 0

    def __iter__(self):
        CountedDict.steps += len(self)
        return super().__iter__()

    def items(self):
        CountedDict.steps += len(self)
        return super().items()

    def values(self):
        CountedDict.steps += len(self)
        return super().values()


def test_the_roles_of_many_columns_take_steps_in_proportion(monkeypatch):
    """9,500 columns took 30 s: each was sought in a set of all, which was made again for each."""

    class CountedRoles(roles.Roles):
        def __setattr__(self, name, value):
            is_counted = name in ("wide", "keys", "ignored")
            super().__setattr__(name, CountedDict(value) if is_counted else value)

    monkeypatch.setattr(roles, "Roles", CountedRoles)
    steps = {}
    for count in (100, 200):
        values = RNG.normal(60, 5, (3, count)).round(2)
        frame = pd.DataFrame(values, columns=[f"task{k}" for k in range(count)])
        constant = pd.DataFrame(1, index=range(3), columns=[f"setting {k}" for k in range(count)])
        frame = pd.concat([frame, constant], axis=1).assign(method=["a", "b", "c"])
        CountedDict.steps = 0
        known = roles.roles_of(frame.assign(**{roles.PLACE: range(3)}), Options(), "results")
        assert len(known.wide) == count and isinstance(known.wide, CountedDict)
        steps[count] = CountedDict.steps
    assert steps[200] <= 2.2 * steps[100]
