"""The papers' printed numbers: complete, consistent with each second and with the released tasks.

Tests that need the authors' per-task accuracies look for them beside the repository, and are skipped where there are
none. What the tables say of the paper's prose is tested in `test_audit` and `test_benchmark_tables`.
"""

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import ttest_rel

from fslcore.paths import ROOT

PUBLISHED = ROOT / "data" / "published"
README = (PUBLISHED / "README.md").read_text("utf-8")
RELEASED = Path(__file__).parents[3] / "shared" / "oops-benchmark" / "5-shot"
DATASETS = "dtd vgg-flower aircraft cub omniglot fungi traffic-signs mscoco quickdraw".split()
FLIP = {"+": "-", "-": "+", "0": "0"}


def read(name, **options):
    return pd.read_csv(PUBLISHED / f"{name}.csv", **options)


def oops(number):
    return read(f"oops_table{number}")


def texts(number):
    return read(f"oops_table{number}", dtype=str, keep_default_na=False)


def differences():
    return pd.concat([oops(number) for number in (4, 5, 6)], ignore_index=True)


def symbol(first, second):
    """Whether the first interval, a mean and a half-width, lies above (+) or below (-) the second."""
    if first[0] - first[1] > second[0] + second[1]:
        return "+"
    return "-" if first[0] + first[1] < second[0] - second[1] else "0"


@pytest.fixture(scope="module")
def table2():
    keys = ["dataset", "backbone", "learner", "sampling"]
    cells = oops(2).set_index(keys)[["mean", "half_width"]]
    return dict(zip(cells.index, cells.itertuples(index=False, name=None)))


def printed_symbols(number):
    """{(dataset, method, method): {column: symbol}}, in both directions."""
    table = texts(number)
    columns = [column for column in ("closed", "open", "paired") if column in table]
    symbols = {}
    for row in table.to_dict("records"):
        first, second = (row["a_backbone"], row["a_learner"]), (row["b_backbone"], row["b_learner"])
        symbols[row["dataset"], first, second] = {column: row[column] for column in columns}
        symbols[row["dataset"], second, first] = {column: FLIP[row[column]] for column in columns}
    return symbols


def printed_twice(number):
    """Those of the methods in Table 2, which has no NCC."""
    return {
        key: row
        for key, row in printed_symbols(number).items()
        if "ncc" not in (key[1][1], key[2][1])
    }


@pytest.mark.parametrize(
    "name, rows",
    [
        ("table1", 12),
        ("table2", 72),
        ("table3", 90),
        ("table4", 108),
        ("table5", 54),
        ("table6", 54),
        ("n_tasks", 27),
    ],
)
def test_each_cell_stands_once(name, rows):
    table = read(f"oops_{name}")
    assert len(table) == rows
    assert set(table["dataset"]) == (
        {"dtd", "traffic-signs"} if name == "table1" else set(DATASETS)
    )
    keys = """dataset shots backbone learner sampling
        a_backbone a_learner b_backbone b_learner""".split()
    assert not table.duplicated([column for column in table if column in keys]).any()


@pytest.mark.parametrize("number", range(1, 7))
def test_a_cell_that_was_not_simply_read_has_a_note(number):
    table = texts(number)
    assert set(table["reading"]) <= {"printed", "restored", "recomputed"}
    assert (table["note"][table["reading"] != "printed"] != "").all()


def test_table_1_has_every_pair_once():
    methods = list(product(("clip", "dino"), ("ncc", "ft")))
    pairs = {frozenset(pair) for pair in combinations(methods, 2)}
    for dataset in ("dtd", "traffic-signs"):
        assert {frozenset(key[1:]) for key in printed_symbols(1) if key[0] == dataset} == pairs


def test_open_symbols_of_table_3_follow_from_table_2(table2):
    for (dataset, first, second), row in printed_twice(3).items():
        assert row["open"] == symbol(
            table2[(dataset, *first, "open")], table2[(dataset, *second, "open")]
        )


def test_paired_signs_of_table_3_follow_from_table_2(table2):
    """The mean of the differences is the difference of the means."""
    for (dataset, first, second), row in printed_twice(3).items():
        difference = table2[(dataset, *first, "open")][0] - table2[(dataset, *second, "open")][0]
        assert row["paired"] in ("0", "+" if difference > 0 else "-"), (dataset, first, second)


def test_table_1_agrees_with_tables_2_and_3(table2):
    for ((dataset, first, second), row), sampling in product(
        printed_twice(1).items(), ("closed", "open")
    ):
        assert row[sampling] == symbol(
            table2[(dataset, *first, sampling)], table2[(dataset, *second, sampling)]
        )
    first, third = printed_symbols(1), printed_symbols(3)
    shared = first.keys() & third.keys()
    assert len(shared) == 20  # all but NCC against NCC
    for key in shared:
        assert {column: first[key][column] for column in ("open", "paired")} == third[key], key


def test_one_number_of_tasks_explains_every_printed_mean():
    sizes = read("oops_n_tasks").set_index(["dataset", "shots"])
    images = oops(2).drop_duplicates("dataset").set_index("dataset")["n_images"]
    for (dataset, shots), cells in (
        differences().query("reading == 'printed'").groupby(["dataset", "shots"])
    ):
        size = sizes.loc[(dataset, shots)]
        assert size["n_tasks"] <= min(2000, images[dataset] // (5 * (shots + size["queries"])))
        one_query = 100 / (5 * size["queries"]) / size["n_tasks"]
        rounded = np.round(cells["mean"] / one_query) * one_query
        assert (rounded - cells["mean"]).abs().max() < 0.00051, (dataset, shots)


@pytest.mark.parametrize("paper", ["oops", "evaluators", "fewstab"])
def test_claims_are_well_formed(paper):
    claims = read(f"{paper}_claims", dtype=str, keep_default_na=False).set_index("id")
    assert claims.index.is_unique and list(claims) == ["section", "claim", "value", "unit"]
    assert (claims != "").all().all()
    assert re.search(rf"\| `{paper}_claims.csv` \|.*\| {len(claims)} \|", README)


# ---- the tables against the released tasks


@pytest.fixture(scope="module")
def released():
    if not RELEASED.is_dir():
        pytest.skip("the authors' released per-task accuracies are not at ../shared/oops-benchmark")
    torch = pytest.importorskip("torch")
    folders = {"lr": "LR", "ncc": "NCC", "ft": "finetune"}
    accuracies = {}
    for dataset, backbone, learner in product(DATASETS, ("clip", "dino", "dinov2"), folders):
        path = RELEASED / backbone / folders[learner] / f"{dataset.replace('-', '_')}.pt"
        tensor = torch.load(path, weights_only=True, map_location="cpu")
        accuracies[dataset, backbone, learner] = tensor.double().numpy()
    return accuracies


def paired(released, row):
    """Mean and half-width of the difference between the two methods of a row."""
    first = released[row.dataset, row.a_backbone, row.a_learner]
    second = released[row.dataset, row.b_backbone, row.b_learner]
    low, high = ttest_rel(first, second).confidence_interval(0.95)
    return (low + high) / 2, (high - low) / 2


def test_kept_cells_are_those_of_the_released_tasks(released):
    cells = read("oops_recomputed")
    assert len(cells) == 82 and (cells["shots"] == 5).sum() == 72
    for row in cells.query("shots == 5").itertuples():
        assert (row.mean, row.half_width) == pytest.approx(paired(released, row), abs=0.00051)


def test_recomputed_cells_are_those_that_were_kept_and_whole_numbers_of_queries():
    keys = ["dataset", "shots", "a_backbone", "b_backbone", "b_learner"]
    recomputed = oops(4).query("reading == 'recomputed'").set_index(keys)[["mean", "half_width"]]
    expected = read("oops_recomputed").query("table == 4").set_index(keys)[["mean", "half_width"]]
    assert len(recomputed) == 15
    pd.testing.assert_frame_equal(recomputed, expected.loc[recomputed.index])
    sizes = read("oops_n_tasks").set_index(["dataset", "shots"])
    for (dataset, shots, *_), cell in recomputed.iterrows():
        queries = 5 * sizes["queries"][dataset, shots] * sizes["n_tasks"][dataset, shots]
        assert abs(cell["mean"] - round(cell["mean"] * queries / 100) * 100 / queries) < 0.00051


def test_number_of_tasks_is_that_of_the_released_files(released):
    sizes = read("oops_n_tasks").query("shots == 5").set_index("dataset")["n_tasks"]
    assert all(len(accuracies) == sizes[dataset] for (dataset, *_), accuracies in released.items())


def test_restored_cells_have_the_sign_of_the_released_tasks(released):
    for row in texts(3).query("reading == 'restored'").itertuples():
        mean, half_width = paired(released, row)
        assert row.paired == "-" and mean + half_width < 0, row


# ---- the evaluators paper and FewSTAB

ESTIMATORS = ["hold-out", "5-fold", "leave-one-out", "bootstrap"]
LEARNERS = ["baseline", "baseline++", "protonet", "maml", "r2d2"]
SETS = ["cifar-fs", "miniimagenet", "meta-album"]
FEW_SETS = ["miniimagenet", "tieredimagenet", "cub"]
TEN = "anil leo boil protonet dn4 r2d2 can renet baseline++ rfs".split()
CAPTIONERS = ["vit-gpt2", "blip"]


def constructions(kind):
    """Cells of Table S5 or S6: ten learners on random tasks and in three ways, and the average of each way."""
    ways = [f"{kind}{number}" for number in (1, 2, 3)]
    return [*product(FEW_SETS, TEN, ["random", *ways]), *product(FEW_SETS, ["average"], ways)]


CELLS = {
    "evaluators_table1": product(SETS, LEARNERS, ["oracle", *ESTIMATORS]),
    "evaluators_table2": product(SETS, LEARNERS, ESTIMATORS),
    "evaluators_table3": product(SETS, ["baseline"], ESTIMATORS),
    "evaluators_table4": product(SETS, ["baseline", "maml"], ["no", "yes"]),
    "evaluators_table5": product(SETS, ["oracle", *ESTIMATORS]),
    "fewstab_table2": product(FEW_SETS, CAPTIONERS),
    "fewstab_table3": product(FEW_SETS, [1, 5], TEN, ["wacc-a", "wacc-r"]),
    "fewstab_table4": product(FEW_SETS, [1, 5]),
    "fewstab_table5": product(["miniimagenet"], ["qc1", "qc2", "qc3"]),
    "fewstab_table6": product(FEW_SETS, [1, 5]),
    "fewstab_tableS1": product(FEW_SETS, ["train", "val", "test"]),
    "fewstab_tableS5": constructions("sc"),
    "fewstab_tableS6": constructions("qc"),
    "fewstab_tableS7": product(FEW_SETS, [1, 5], TEN, ["acc", "wacc-a"]),
    "fewstab_tableS8": product(FEW_SETS, [1, 5], TEN, CAPTIONERS),
    "fewstab_tableS9": product(
        ["miniimagenet"], ["unisiam", "psco", "beclr"], [1, 5], ["random", *CAPTIONERS]
    ),
    "fewstab_tableS10": product(
        ["miniimagenet"], ["maml", "mn", "sib", "mtl"], [1, 5], ["no", "yes"]
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_are_those_of_the_table_and_are_counted_in_the_readme(name):
    table, cells = read(name), sorted(CELLS[name])
    assert sorted(table.iloc[:, : len(cells[0])].itertuples(index=False, name=None)) == cells
    assert re.search(rf"\| `{name}.csv` \|.*\| {len(table)} \|", README)
    if "half_width" in table:
        assert table["half_width"].between(0.2, 2.7).all() and table["mean"].between(4, 91).all()


def evaluators(number, column="mean"):
    return read(f"evaluators_table{number}").pivot(
        index=["dataset", "learner"], columns="estimator", values=column
    )


def test_untuned_learners_repeat_the_oracle():
    untuned = (
        read("evaluators_table4").query("tuned == 'no'").set_index(["dataset", "learner"])["mean"]
    )
    assert (untuned == evaluators(1)["oracle"][untuned.index]).all()


def test_errors_are_bounded_by_the_means():
    """|E(estimate − oracle)| is at most E|estimate − oracle|, but for rounding; two cells break it."""
    means = evaluators(1)
    bias = means[ESTIMATORS].sub(means["oracle"], axis=0).abs()
    excess = (bias - evaluators(2, "mae")[ESTIMATORS]).stack()
    broken = {
        ("miniimagenet", "protonet", "bootstrap"): 1.99,
        ("meta-album", "maml", "bootstrap"): 0.75,
    }
    assert excess[excess > 0.015].round(2).to_dict() == broken
    errors = read("evaluators_table2", keep_default_na=False)
    marked = errors[errors["note"].str.startswith("below the difference")]
    assert set(
        marked[["dataset", "learner", "estimator"]].itertuples(index=False, name=None)
    ) == set(broken)


def fewstab(number):
    return read(f"fewstab_table{number}")


def test_numbers_that_fewstab_prints_twice_agree():
    keys = ["dataset", "shots", "learner"]
    third = fewstab(3).set_index([*keys, "metric"])[["mean", "half_width"]]
    biased = third.xs("wacc-a", level="metric").sort_index()
    for number, column, value in (("S7", "metric", "wacc-a"), ("S8", "captioner", "vit-gpt2")):
        repeated = (
            fewstab(number).query(f"{column} == '{value}'").set_index(keys)[["mean", "half_width"]]
        )
        pd.testing.assert_frame_equal(biased, repeated.sort_index())
    means = third["mean"].xs(5, level="shots").unstack("metric")
    for number, hardest in (("S5", "sc3"), ("S6", "qc3")):
        worst = fewstab(number).query("learner != 'average'")
        worst = worst.pivot(index=["dataset", "learner"], columns="tasks", values="wacc")
        assert (worst["random"] == means["wacc-r"]).all() and (
            worst[hardest] == means["wacc-a"]
        ).all()
    correlations = (
        fewstab("S11").query("statistic == 'correlation'").set_index(["dataset", "shots"])["value"]
    )
    assert (correlations == fewstab(6).set_index(["dataset", "shots"])["correlation"]).all()


@pytest.mark.parametrize("number", ["S5", "S6"])
def test_gaps_are_differences(number):
    keys = ["dataset", "learner"]
    table = fewstab(number).query("learner != 'average'")
    random = table.query("tasks == 'random'").set_index(keys)["wacc"]
    table = table.query("tasks != 'random'").set_index(keys)
    assert np.allclose(random.reindex(table.index) - table["wacc"], table["gap"], atol=1e-9)


# ---- the ledger, whose fields `book/assemble.py` checks


@pytest.fixture(scope="module")
def ledger():
    return yaml.safe_load((ROOT / "book" / "ledger.yml").read_text("utf-8"))["items"]


def test_each_item_says_which_profile_fills_it(ledger):
    """Settings, and curves of two Gaussians, need no data of a paper."""
    without = {item["id"] for item in ledger if item["profile"] == "none"}
    assert without == {
        "oops-figure-2",
        "oops-figure-3",
        *(f"fewstab-table-s{n}" for n in range(1, 5)),
    }
    for item in ledger:
        if item["profile"] != "none":
            profile = yaml.safe_load(
                (ROOT / "profiles" / f"{item['profile']}.yml").read_text("utf-8")
            )
            assert item.get("live_in", item["chapter"]) in profile, item["id"]


def test_the_readme_shows_what_is_printed_and_concludes_from_the_paired_comparison(table2):
    readme = (ROOT / "README.md").read_text("utf-8").replace("−", "-")
    rows = re.findall(
        r"^\| (?:images reused|each image)[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$", readme, re.MULTILINE
    )
    assert len(rows) == 3
    for (*cells, _), sampling in zip(rows, ("closed", "open")):
        printed = [table2["dtd", "clip", learner, sampling] for learner in ("lr", "ft")]
        assert [cell.strip() for cell in cells] == [
            f"{mean:.2f} ± {half:.2f}" for mean, half in printed
        ]
    assert printed_symbols(3)["dtd", ("clip", "ft"), ("clip", "lr")] == {"open": "0", "paired": "-"}
    assert "decide nothing" in rows[1][-1] and "LR is better" in rows[2][-1]
