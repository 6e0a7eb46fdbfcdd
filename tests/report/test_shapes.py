"""Each shape of the field's result files: what it is taken for, what is said, and which option reads it otherwise."""

import numpy as np
import pandas as pd
import proposed
import pytest
import scipy.stats
from refusal import refuses

from fslcore import stats
from fslcore.report import Results, Shape
from fslcore.report.model import UnnamedRoles

report_on = proposed.from_frame

RNG = np.random.default_rng(2)
DATASETS = "ImageNet Caltech Pets Cars Flowers Food Aircraft SUN DTD EuroSAT UCF".split()


def accuracies(*means, tasks=60, spread=6):
    hard = RNG.normal(0, spread, tasks)
    return [np.clip(mean + hard + RNG.normal(0, 3, tasks), 0, 100) for mean in means]


def seeded(first_task_of_seed, seeds=3, tasks=40):
    parts = []
    for seed in range(seeds):
        wide = pd.DataFrame(accuracies(70, 66, tasks=tasks), ["ours", "theirs"]).T
        wide["task"] = wide.index + first_task_of_seed * seed
        parts.append(wide.assign(seed=seed))
    return pd.concat(parts).melt(["seed", "task"], var_name="method", value_name="acc")


def datasets_by_methods():
    base = RNG.uniform(50, 90, len(DATASETS))
    table = pd.DataFrame(
        {"Dataset": DATASETS, "CoOp": base, "Ours": base + RNG.normal(1.5, 0.8, len(DATASETS))}
    )
    table.loc[len(table)] = ["Average", table["CoOp"].mean(), table["Ours"].mean()]
    return table


def reading(results):
    return " ".join(results.reading)


@pytest.mark.parametrize("name", ["mIoU", "Wins", "Mean rank", "GM over all"])
def test_a_last_row_of_means_is_no_unit(name):
    """Also under a name that says nothing, where its values are the means of the others."""
    table = datasets_by_methods().iloc[:-1].round(2)
    expected = report_on(table).pairs["difference"][0]
    means = [round(table["CoOp"].mean(), 2), round(table["Ours"].mean(), 2)]
    last = {"Wins": [1, 10], "Mean rank": [1.9, 1.1]}.get(name, means)
    table.loc[len(table)] = [name, *last]
    results = report_on(table)
    assert results.pairs["difference"][0] == expected
    assert f"left out: rows called {name}" in results.reading[0]


def test_a_row_of_means_is_no_unit_wherever_it_stands():
    table = datasets_by_methods().round(2).replace("Average", "GM")
    for rows in (table.iloc[::-1], table.sample(frac=1, random_state=1)):
        assert {*report_on(rows).methods["n"]} == {len(DATASETS)}


def test_a_row_that_is_near_the_mean_is_a_unit():
    table = datasets_by_methods().iloc[:-1].round(2)
    table.loc[len(table)] = ["Z", table["CoOp"].mean() + 0.2, table["Ours"].mean()]
    assert {*report_on(table).methods["n"]} == {len(DATASETS) + 1}


def test_a_row_near_the_mean_of_methods_that_agree_is_a_unit():
    """In whole percent it may come by chance, though there are four methods."""
    table = datasets_by_methods().iloc[:8].round()
    names = ["CoOp", *(f"Variant {letter}" for letter in "ABC")]
    for name in names:
        table[name] = table["CoOp"]
        table.loc[names.index(name), name] += 1
    means = table[names].mean().round()
    table = table[["Dataset", *names]]
    table.loc[len(table)] = ["Z", *means]
    assert {*report_on(table).methods["n"]} == {8 + 1}


def test_a_block_of_means_is_no_block():
    table = datasets_by_methods().iloc[:-1].rename(columns={"Dataset": "Source"}).round(2)
    table.loc[len(table)] = ["Average rank", 1.9, 1.1]
    for sign in ("CoOp", "Ours"):
        table[sign] = table[sign].astype(str) + " ± 0.5"
    roles = {"methods": ["CoOp", "Ours"], "by": ["Source"], "pm": "ci", "value": "accuracy"}
    results = Results.from_frame(table, **roles)
    assert len(results.pairs) == len(DATASETS)


def test_a_fold_of_means_is_no_fold():
    rows = [("ours", k, 71.2 + k) for k in range(5)] + [
        ("base", k, 69.9 + k**0.5) for k in range(5)
    ]
    table = pd.DataFrame(rows, columns=["method", "fold", "accuracy"])
    means = table.groupby("method", as_index=False)["accuracy"].mean().assign(fold="overall")
    results = report_on(pd.concat([table, means]))
    assert {*results.methods["n"]} == {5}


def test_tasks_by_methods():
    table = pd.DataFrame(accuracies(70, 66), ["ours", "theirs"]).T
    results = report_on(table)
    assert results.shape is Shape.TASKS and results.percent
    assert "the option sampling (closed or open)" in results.applies[0]
    for sampling, words in (("closed", "these images only"), ("open", "new images")):
        assert words in report_on(table, sampling=sampling).applies[0]


def test_a_measure_that_nothing_names_is_said_to_be_assumed():
    table = pd.DataFrame(accuracies(70, 66), ["ours", "theirs"]).T
    assumed = "accuracy in percent (assumed, as no name says so)"
    assert assumed in reading(report_on(table))
    for stated in ({"higher_is_better": True}, {"out_of": 100.0}):
        assert "accuracy in percent." in reading(report_on(table, **stated))
    assert "accuracy in percent." in reading(report_on(table.add_suffix("_acc")))


@pytest.mark.parametrize("key", ["seed", "run", "draw"])
def test_a_place_with_one_repetition_is_named(key):
    rows = [(d, n, m, 60.0 + n + 2 * (m == "a")) for d in "xy" for n in range(3) for m in "ab"]
    table = pd.DataFrame(rows, columns=["dataset", key, "method", "accuracy"])
    table["accuracy"] += RNG.normal(0, 1, len(table))
    assert len(report_on(table, by="dataset").pairs) == 2
    with refuses(rf"a must have at least 2 {key}s in y, got 1"):
        report_on(table[(table["dataset"] == "x") | (table[key] == 0)], by="dataset")


def test_other_tasks_in_each_seed_are_one_sample_of_tasks():
    results = report_on(seeded(first_task_of_seed=40))
    assert results.shape is Shape.TASKS_IN_DRAWS and set(results.methods["n"]) == {120}
    assert list(results.pairs["place"]) == [""]


def test_a_method_with_one_run_is_left_out_and_said():
    table = seeded(first_task_of_seed=0)
    single = table[(table["seed"] == 0) & (table["method"] == "theirs")].assign(method="third")
    single["acc"] += 0.1
    results = report_on(pd.concat([table, single]))
    assert sorted(results.methods["method"]) == ["ours", "theirs"]
    assert any("third: one seed" in caution for caution in results.cautions)
    with refuses("third has one seed"):
        report_on(pd.concat([table, single]), reference="third")


def test_copies_of_the_same_numbers_are_refused():
    table = seeded(first_task_of_seed=0)
    first = table[table["seed"] == 0]
    with refuses("seed 0 and seed 7 have the very same numbers.*seed!=7"):
        report_on(pd.concat([table, first.assign(seed=7)]))


def test_a_method_without_randomness_is_no_copy():
    """The same numbers under every seed are a true result, and so is 100 % in every run."""
    table = seeded(first_task_of_seed=0)
    ours = table["method"] == "ours"
    fixed = table[ours & (table["seed"] == 0)]
    same = pd.concat([table[~ours], *(fixed.assign(seed=seed) for seed in range(3))])
    for options in ({}, {"seed": "tasks"}, {"reference": "theirs"}):
        results = report_on(same, **options)
        assert {*results.methods["method"]} == {"ours", "theirs"}
        assert "ours has the very same numbers" in reading(results)
    perfect = report_on(table.assign(acc=table["acc"].where(~ours, 100)))
    assert "very same numbers" not in reading(perfect) and perfect.methods["mean"].max() == 100


def test_a_greedy_model_under_three_seeds_gets_an_answer():
    answers = {m: (np.random.default_rng(i).random(50) < 0.7) * 1 for i, m in enumerate("ab")}
    greedy = pd.concat([pd.DataFrame(answers).assign(seed=s, item=range(50)) for s in range(3)])
    for seed in ("unknown", "runs"):
        results = report_on(greedy, seed=seed)
        assert len(results.methods) >= 2 and results.methods["mean"].between(50, 90).all()


def test_numbers_in_a_column_run_name_no_methods():
    means = datasets_by_methods()[["CoOp", "Ours"]].head(5)
    results = report_on(means.assign(run=range(5)))
    assert results.shape is Shape.SEEDS and set(results.methods["method"]) == {"CoOp", "Ours"}


def test_a_column_that_numbers_the_rows_of_all_methods_pairs_nothing(tmp_path):
    easy = np.random.default_rng(0).normal(60, 9, 80)
    table = pd.concat(
        [pd.DataFrame({"method": m, "accuracy": easy + gap}) for m, gap in (("a", 2), ("b", 0))]
    )
    table.reset_index(drop=True).to_csv(tmp_path / "long.csv", index_label="id")
    with pytest.raises(UnnamedRoles) as error:
        Results.read(tmp_path / "long.csv")
    assert proposed.commands(error.value) == []
    results = Results.read(tmp_path / "long.csv", unit={"id": "task"})
    assert results.pairs["difference"].tolist() == pytest.approx([2])


@pytest.mark.parametrize("turned", [False, True])
def test_data_sets_by_methods_without_their_average(turned):
    table = datasets_by_methods()
    if turned:
        table = table.set_index("Dataset").T.rename_axis("Method").reset_index()
        table.columns.name = None
    results = report_on(table)
    assert results.shape is Shape.DATASETS and set(results.methods["n"]) == {11}
    assert "Average" in reading(results) and "nothing about any single one" in results.applies[0]
    assert any("Only 11 data sets" in caution for caution in results.cautions)


PRINTED = [
    "49.42 ± 0.78",
    r"68.20 \pm 0.66",
    "50.44 (0.82)",
    "65.32 +- 0.70",
    r"$43.56_{0.84}$",
    r"\textbf{55.31} ± .73",
]


def test_methods_on_other_tasks_are_unpaired_unless_common_tasks_are_asked_for():
    ours, theirs = map(pd.Series, accuracies(70, 66, tasks=50))
    table = pd.DataFrame({"ours": ours, "theirs": theirs.rename(lambda task: task + 10)})
    table = table.rename_axis("task")
    unpaired = report_on(table)
    assert (
        list(unpaired.pairs["test"]) == ["Welch's t-test"]
        and "option common" in unpaired.cautions[0]
    )
    welch = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
    assert unpaired.pairs["p"].item() == pytest.approx(welch.pvalue, rel=1e-9)
    common = report_on(table, common=True)
    assert list(common.pairs["test"]) == ["paired t-test"] and set(common.methods["n"]) == {40}


def test_right_and_wrong_answers_in_words():
    answers = np.array(["no", "yes"])[RNG.integers(0, 2, (80, 2))]
    results = report_on(pd.DataFrame(answers, columns=["a", "b"]).assign(question=range(80)))
    assert results.shape is Shape.OUTCOMES


def test_the_same_block_of_rows_again_is_a_copy():
    (ours,) = accuracies(70)
    with refuses("120 values are the same 60 values 2 times"):
        report_on(pd.DataFrame({"ours": [*ours, *ours]}))


def test_several_places_are_answered_each():
    table = pd.DataFrame(accuracies(70, 66), ["ours", "theirs"]).T.assign(task=range(60))
    results = report_on(pd.concat([table.assign(shots=1), table.assign(shots=5)]))
    assert list(results.pairs["place"]) == ["1-shot", "5-shot"]
    # The pairs of all places are one family of tests.
    assert results.pairs["p_holm"].tolist() == pytest.approx([*stats.holm([*results.pairs["p"]])])
    assert (results.pairs["p_holm"] > results.pairs["p"]).any()
    assert results.verdicts["sentence"][0].startswith("1-shot: ours")


def test_counts_of_right_answers_are_percent_unless_the_full_score_is_said():
    table = pd.DataFrame({"ours": RNG.integers(40, 76, 60), "theirs": RNG.integers(40, 76, 60)})
    assert "the option out_of" in reading(report_on(table))
    counted = report_on(table, out_of=75)
    assert counted.methods["mean"].max() == pytest.approx(table.mean().max() / 0.75)
    assert counted.pairs["p"][0] == pytest.approx(report_on(table).pairs["p"][0])


@pytest.mark.parametrize("part, word", [("query", "items"), ("class", "classes")])
def test_parts_of_tasks_are_averaged_by_task(part, word):
    right = RNG.random((30, 15, 2)) < [0.6, 0.5]
    episode, query = np.indices((30, 15)).reshape(2, -1)
    answers = pd.DataFrame(right.reshape(-1, 2) * 1, columns=["a", "b"])
    results = report_on(answers.assign(episode=episode, **{part: query}))
    assert results.shape is Shape.TASKS and f"{word} of a task are averaged" in reading(results)
    of_tasks = report_on(pd.DataFrame(100 * right.mean(axis=1), columns=["a", "b"]))
    np.testing.assert_allclose(results.methods["mean"], of_tasks.methods["mean"])
    assert results.pairs["p"][0] == pytest.approx(of_tasks.pairs["p"][0])


def test_a_number_of_shots_may_be_a_word():
    rows = [
        (method, shots, unit, 50.0 + unit)
        for method in "ab"
        for shots in ("1", "5-shot", "all")
        for unit in range(3)
    ]
    table = pd.DataFrame(rows, columns=["method", "shots", "task", "accuracy"])
    table.loc[table["method"] == "b", "accuracy"] += table["task"] + 1.0
    assert set(report_on(table, by="shots").pairs["place"]) == {"1-shot", "5-shot", "all-shot"}
    numbered = table[table["shots"] != "all"]
    assert set(report_on(numbered, by="shots").pairs["place"]) == {"1-shot", "5-shot"}
