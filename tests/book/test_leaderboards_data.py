"""The rows of ``data/published/leaderboards.csv``: their form, their pairs, and where they contradict each other.

``CONTRIBUTING.md`` says how to add a source; each of its steps names its test here.
"""

import json
import re
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from fslcore.paths import DATA, ROOT

PUBLISHED = DATA / "published"
SCHEMA = json.loads((PUBLISHED / "leaderboards.schema.json").read_text("utf-8"))
SETTING = ["method", "backbone", "dataset", "ways", "shots", "transductive"]
#: Parts of notes that distinguish accuracies of one method in one setting.
VARIANTS = r"(one protocol|first order|second order|run \d|pretrained network)"


def read(name):
    return pd.read_csv(PUBLISHED / f"{name}.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def rows():
    return read("leaderboards")


def decimals(digits):
    return len(digits.partition(".")[2])


def agree(first, second):
    """Whether two printed numbers are equal to the fewer of their decimals."""
    unit = 10.0 ** -min(decimals(first), decimals(second))
    return abs(float(first) - float(second)) <= unit / 2 + 1e-9


def contradictions(rows):
    """Accuracies of one method and setting that differ: of originals, or of one laboratory.

    Meta-Dataset, whose accuracies are of several data sets, and rows without a network are left out.
    """
    known = rows[(rows["backbone"] != "") & ~rows["dataset"].str.startswith("Meta-Dataset")]
    reproduced = known["role"] == "reproduced"
    laboratory = known["laboratory"].where(reproduced, "")
    variant = known["note"].str.extract(VARIANTS, expand=False).fillna("")
    keys = [laboratory, *(known[column] for column in [*SETTING, "trained_on"]), variant]
    found = set()
    for (by, method, backbone, dataset, _, shots, transductive, *_), group in known.groupby(keys):
        accuracies = sorted(set(group["mean"]), key=lambda digits: (float(digits), len(digits)))
        if not all(agree(*two) for two in combinations(accuracies, 2)):
            found.add((by, method, backbone, dataset, shots, transductive, "; ".join(accuracies)))
    return found


def faults(row):
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(row)]


@pytest.mark.slow
def test_every_row_has_the_form_of_the_schema(rows):
    assert list(rows.columns) == list(SCHEMA["properties"])
    validator = Draft202012Validator(SCHEMA)
    records = rows.to_dict("records")
    wrong = {line: row for line, row in enumerate(records, 2) if not validator.is_valid(row)}
    assert not wrong, {line: faults(row) for line, row in list(wrong.items())[:5]}


@pytest.mark.parametrize(
    "column, wrong",
    [
        ("role", "copied"),
        ("mean", "61,5"),
        ("laboratory", ""),
        ("pair_kind", ""),
        ("commit", ""),
        ("place", "README"),
        ("note", "no pair: other network"),
        ("plus_minus", ""),
        ("evidence", ""),
    ],
)
def test_the_schema_refuses_a_wrong_row(rows, column, wrong):
    right = (rows["pair_kind"] == "paper") & (rows["plus_minus_is"] != "")
    row = rows[right].iloc[0].to_dict()
    assert not faults(row)
    assert faults(row | {column: wrong})


def test_the_data_package_names_the_columns(rows):
    package = json.loads((PUBLISHED / "datapackage.json").read_text("utf-8"))
    for resource in package["resources"]:
        names = [field["name"] for field in resource["schema"]["fields"]]
        assert names == list(read(Path(resource["path"]).stem).columns)
        assert all(field["description"] for field in resource["schema"]["fields"])
    assert package["licenses"][0]["name"] == "MIT"


def test_no_row_is_there_twice(rows):
    key = [*SETTING, "mean", "role", "laboratory", "source", "place"]
    assert not rows.duplicated(key).any()


def test_a_pair_is_one_original_and_reproductions_of_the_same_network_and_setting(rows):
    for number, group in rows[rows["pair"] != ""].groupby("pair"):
        originals = group[group["role"] != "reproduced"]
        assert len(originals) == 1 < len(group), number
        for column in SETTING:
            assert group.loc[group[column] != "", column].nunique() <= 1, (number, column)
        assert not {"train", "train+val"} <= set(group["trained_on"]), number


def test_kinds_of_pairs_are_what_their_sources_are(rows):
    original = rows[(rows["pair"] != "") & (rows["role"] != "reproduced")].set_index("pair")
    for row in rows[rows["pair_kind"] != ""].itertuples():
        first = original.loc[row.pair]
        in_one_source = first["source"] == row.source
        if row.pair_kind == "paper":
            assert first["role"] == "reported" and in_one_source, row
        if row.pair_kind == "third party":
            assert first["role"] == "quoted", row
        if row.pair_kind == "another table":
            assert first["role"] in {"own", "reported"}, row
            assert first["laboratory"] != row.laboratory, row
        assert row.place.startswith("issue") == (row.pair_kind == "authors' code"), row


def test_a_plus_minus_of_another_source_is_printed_there(rows):
    printed = rows[(rows["plus_minus"] != "") & (rows["plus_minus_from"] == "")]
    taken = rows[rows["plus_minus_from"] != ""]
    assert len(taken) > 50
    for row in taken.itertuples():
        there = printed[printed["source"] == row.plus_minus_from]
        there = there[(there["method"] == row.method) & (there["dataset"] == row.dataset)]
        there = there[(there["shots"] == row.shots) & (there["plus_minus"] == row.plus_minus)]
        assert any(float(mean) == float(row.mean) for mean in there["mean"]), row


def test_sources_contradict_each_other_only_where_it_is_explained(rows):
    listed = read("leaderboards_contradictions")
    assert listed["explanation"].str.len().gt(10).all()
    known = set(listed.drop(columns="explanation").itertuples(index=False, name=None))
    found = contradictions(rows)
    assert found - known == set(), "not explained"
    assert known - found == set(), "explained, and no longer there"


def test_a_new_contradiction_is_found(rows):
    original = rows[(rows["pair"] != "") & (rows["role"] == "own")].iloc[:1]
    other = original.assign(mean=f"{float(original['mean'].iloc[0]) + 1:.2f}", source="a/b")
    found = contradictions(pd.concat([rows, other]))
    assert len(found - contradictions(rows)) == 1


def test_the_steps_for_a_source_name_tests_that_exist():
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = guide.partition("## A source of published accuracies\n")[2].partition("\n## ")[0]
    files = {"test_leaderboards_data", "test_leaderboards", "test_course"}
    tests = Path(__file__).parent
    code = "".join((tests / f"{name}.py").read_text("utf-8") for name in files)
    named = set(re.findall(r"`(test_\w+)`", section)) - files
    assert len(named) >= 9
    assert {name for name in named if f"def {name}(" not in code} == set()
