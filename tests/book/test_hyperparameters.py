"""The papers' training settings beside ours, and what came of ours."""

import json

import pandas as pd
import pytest
from safetensors import safe_open

from fslbook import published
from fslbook.fewstab import training
from fslbook.fewstab.training import PRINTED, TEN, settings
from fslbook.training import RECIPES, Recipe
from fslcore.paths import DATA


@pytest.mark.parametrize("dataset", PRINTED)
def test_every_printed_setting_stands_beside_the_recipe_and_a_difference_has_its_reason(dataset):
    table = settings(dataset)
    printed = published.table(PRINTED[dataset], "fewstab").set_index(["learner", "train_shots"])
    assert set(table["learner"]) == set(TEN)
    # Six settings of sixteen rows on tasks, five of two on batches.
    assert len(table) == 16 * 6 + 2 * 5 and table["printed"].notna().all()
    for row in table.itertuples():
        source = printed.loc[(row.learner, row.train_shots), row.setting]
        assert row.printed == source or (pd.isna(source) and row.printed == "none")
        shots = "1shot-" if row.train_shots == 1 else ""
        with safe_open(
            DATA / "checkpoints" / f"conv4-icons-{shots}{row.learner}.safetensors", "pt"
        ) as file:
            recipe = Recipe(**json.loads(file.metadata()["training"])["recipe"])
        assert recipe.dataset == "icons" and recipe.lr == RECIPES[row.learner].lr
        ours = {
            "learning_rate": recipe.lr,
            "epochs": recipe.epochs,
            "batch_size": recipe.size,
            "episode_size": recipe.size,
            "episodes": recipe.size * recipe.steps,
            "optimizer": "AdamW",
            "scheduler": "OneCycleLR",
        }[row.setting]
        assert row.ours == ours
        assert bool(row.why) == (row.printed != row.ours)


def test_curves_and_accuracies_of_what_ships():
    curves = training.curves(["protonet", "baseline++"], [5])
    assert curves.groupby("learner")["epoch"].max().to_dict() == {"protonet": 6, "baseline++": 8}
    cells = training.accuracies(["protonet"], ["clipart"], [5, 7], tasks=200, image_tasks=2)
    assert (
        cells["shots"].tolist() == [5] and (cells["mean"] - cells["half_width"] > 25).all()
    )  # chance is 20
    table = training.accuracy_table(cells, ["protonet", "anil"])
    assert (
        list(table.index) == ["protonet", "anil"]
        and table.iloc[1, 0] == "—"
        and "±" in table.iloc[0, 0]
    )


def test_reasons_are_used():
    """No reason without a difference that it explains."""
    reasons = set(pd.concat([settings(name) for name in PRINTED])["why"]) - {""}
    assert set(training.reasons()["why"]) == reasons
