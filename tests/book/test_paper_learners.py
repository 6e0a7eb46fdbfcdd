"""The table of the papers' learners is complete, and the tests that it names exist."""

import ast
import re
from functools import cache

import pytest
import yaml

from fslbook import published
from fslcore.catalogue import registered_learners
from fslcore.paths import ROOT

TABLE = published.learners()
FIELDS = set("paper learner title ours text release code here verdict compared test".split())


def printed(paper, *tables):
    """Learners in the columns of printed tables, by their names there."""
    names = set()
    for number in tables:
        table = published.table(number, paper)
        columns = [column for column in table if column.endswith("learner")]
        names |= set(table[columns].to_numpy().ravel())
    return names


def learners_of(paper):
    return set(TABLE.loc[TABLE["paper"] == paper, "learner"])


def test_every_learner_that_a_paper_prints_is_in_the_table():
    assert printed("oops", 2, 3, 4, 5, 6) == learners_of("oops")
    evaluators = printed("evaluators", 1, 2)
    tuned = published.table(4, "evaluators").query("tuned == 'yes'")["learner"]
    assert evaluators | {f"{name}-cv" for name in tuned} | {"clip"} == learners_of("evaluators")
    remedied = printed("fewstab", "S10")
    with_ifsl = remedied | {f"{name}-ifsl" for name in remedied}
    assert printed("fewstab", 3, "S7", "S9") | with_ifsl == learners_of("fewstab")
    assert not TABLE.duplicated(["paper", "learner"]).any()


def test_every_recipe_of_a_paper_is_in_the_table():
    recipes = yaml.safe_load((ROOT / "book/fslbook/training/papers.yml").read_text("utf-8"))
    for paper, settings in recipes.items():
        ours = {name for names in TABLE.loc[TABLE["paper"] == paper, "ours"] for name in names}
        rows = learners_of(paper) | ours
        assert set(settings["learners"]) <= rows, paper


@pytest.mark.parametrize(
    "row", TABLE.to_dict("records"), ids=lambda row: f"{row['paper']}-{row['learner']}"
)
def test_a_row_is_whole(row):
    assert set(row) == FIELDS
    for name in ("title", "text", "release", "code"):
        assert row[name], name
    assert row["ours"] and set(row["ours"]) <= set(registered_learners)
    assert row["verdict"] in published.VERDICTS
    assert re.match(r"[\w.-]+/[\w.-]+@[0-9a-f]{7}\b", row["release"])
    assert row["here"] or row["verdict"] in ("equal", "code")


@cache
def functions_in(path):
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_row_names_tests_that_exist():
    assert TABLE["test"].map(len).min() >= 1
    for name in {name for names in TABLE["test"] for name in names}:
        path, _, function = name.partition("::")
        assert function in functions_in(path), name


def test_the_card_counts_the_rows():
    card = (ROOT / "data/published/README.md").read_text("utf-8")
    assert f"for each learner of each paper ({len(TABLE)} rows)" in card
