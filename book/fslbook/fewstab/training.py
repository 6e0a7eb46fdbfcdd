"""Training of the ten learners of the FewSTAB paper, as printed and here, and the results here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd

from fslcore import datasets, evaluation, sources
from fslcore.catalogue import CHECKPOINTS, reads_images
from fslcore.errors import choice
from fslcore.models.registry import shipped
from fslcore.models.weights import recipe_of, trained_path
from fslcore.stats import closed_task_interval
from fslcore.stats.formatting import format_interval

from .. import published
from ..catalogue import LEARNER_TITLES
from ..training import RECIPES, Recipe, recipes
from .cells import wide_table

__all__ = [
    "PRINTED",
    "TEN",
    "accuracies",
    "accuracy_table",
    "curves",
    "network_of",
    "reasons",
    "settings",
    "settings_table",
    "splits",
]

SHIPPED = "conv4-icons-{learner}"  # the networks that ship, of the chapters on FewSTAB
# The paper's order.
TEN = (
    "anil",
    "leo",
    "boil",
    "protonet",
    "dn4",
    "r2d2",
    "can",
    "renet",
    "baseline++",
    "rfs",
)
PRINTED = {"miniimagenet": "S2", "tieredimagenet": "S3", "cub": "S4"}  # the table of each data set
ACCURACIES = ["learner", "dataset", "shots", "backbone", "mean", "half_width"]
SPLITS = ("base", "validation", "novel")
COLUMNS = {
    "batch_size": "images per step",
    "learning_rate": "rate",
    "scheduler": "schedule",
    "optimizer": "optimiser",
    "epochs": "epochs",
    "episodes": "tasks per epoch",
    "episode_size": "tasks per step",
}


def splits(names: Iterable[str]) -> pd.DataFrame:
    """Classes and images of each split, the paper's data sets (Table S1) above ours.

    Parameters
    ----------
    names : str
        Of embedded data sets, as for `fslcore.datasets.load`.

    Returns
    -------
    DataFrame
        A row per data set, a column per split; cells 'classes (images)'.
    """
    names_of_splits = dict(zip(["train", "val", "test"], SPLITS))
    printed = published.table("S1", "fewstab").replace({"split": names_of_splits})
    ours = []
    for name, split in product(names, SPLITS):
        images = datasets.load(name, split)
        counts = {"classes": len(images.class_names), "images": len(images)}
        ours.append({"dataset": name, "split": split, **counts})
    table = pd.concat([printed.assign(where="printed"), pd.DataFrame(ours).assign(where="here")])
    cell = table["classes"].map("{:,}".format) + " (" + table["images"].map("{:,}".format) + ")"
    return wide_table(table.assign(cell=cell), ["where", "dataset"], "split", "cell")[list(SPLITS)]


def settings(dataset: str) -> pd.DataFrame:
    """Every setting of a table of the paper, our setting, and why they differ.

    Parameters
    ----------
    dataset : str
        ``miniimagenet`` (Table S2), ``tieredimagenet`` (S3) or ``cub`` (S4).

    Returns
    -------
    DataFrame
        Columns learner, train_shots (missing for training on batches of images), setting, printed,
        ours, why: ours is None for a learner without a recipe, why is empty where both agree or one
        of them is missing.

    Raises
    ------
    InputError
        Another data set.
    """
    choice("dataset", dataset, PRINTED)
    table = published.table(PRINTED[dataset], "fewstab")
    table = table.drop(columns=["dataset", "reading", "note"]).astype(object)
    long = table.melt(["learner", "train_shots"], list(COLUMNS), "setting", "printed")
    on_tasks = long["train_shots"].notna()
    of_tasks = long["setting"].isin(["episodes", "episode_size"])
    of_batches = long["setting"] == "batch_size"
    long = long[~(of_tasks & ~on_tasks) & ~(of_batches & on_tasks)].reset_index(drop=True)
    long["printed"] = long["printed"].map(_whole_number).fillna("none")  # no schedule
    # Those on batches are selected on 5-shot tasks.
    shots = long["train_shots"].astype(float).fillna(5).astype(int)
    ours = cache(_ours)
    keys = zip(long["learner"], shots, long["setting"])
    long["ours"] = [ours(name, count).get(setting) for name, count, setting in keys]
    return long.assign(why=_reasons(long))


def _whole_number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _reasons(table: pd.DataFrame) -> list[str]:
    """Why ours differs in each row of `settings`, for all learners or for one; empty if it does
    not."""
    why = _why().set_index(["setting", "learner"])["why"]
    differs = table["ours"].notna() & (table["printed"] != table["ours"])
    keys = zip(table["setting"], table["learner"])
    texts = [why.get(key, why.get((key[0], ""), "")) for key in keys]
    return pd.Series(texts).where(differs, "").tolist()


def _why() -> pd.DataFrame:
    return pd.read_csv(CHECKPOINTS / "why.csv", keep_default_na=False)


def _ours(name: str, shots: int) -> dict:
    """The settings of the network that ships; empty without one."""
    network = recipes.method(name, shots, SHIPPED)[0] if name in RECIPES else ""
    if not shipped(network):
        return {}
    recipe = Recipe(**recipe_of(network))
    return {
        "batch_size": recipe.size,
        "learning_rate": recipe.lr,
        "scheduler": "OneCycleLR",
        "optimizer": "AdamW",
        "epochs": recipe.epochs,
        "episodes": recipe.steps * recipe.size,
        "episode_size": recipe.size,
    }


def settings_table(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """One column of `settings` in the paper's layout: a row per learner and number of shots, a
    column per setting."""
    shots = table["train_shots"].map("{:.0f}".format, na_action="ignore").fillna("—")
    wide = wide_table(table.assign(shots=shots), ["learner", "shots"], "setting", column)
    return wide[list(COLUMNS)].rename(columns=COLUMNS).map(_setting_text)


def _setting_text(value: object) -> str:
    if pd.isna(value):
        return "—"
    return f"{value:,}" if isinstance(value, int) else str(value)


def reasons() -> pd.DataFrame:
    """Why settings differ: columns setting, learner (empty: all) and why."""
    table = _why()
    table["setting"] = table["setting"].map(COLUMNS)
    table["learner"] = table["learner"].replace("", "all")
    return table.set_index(["setting", "learner"])


def network_of(name: str, shots: int, trained: str = SHIPPED) -> str | None:
    """The network of a learner trained with so many shots, or on batches of images; None without
    one.

    Parameters
    ----------
    name, shots
        A recipe, and its shots.
    trained : str
        The backbone, where ``{learner}`` stands for the training and its shots; by default the
        Conv4 trained on icons that ships.

    Raises
    ------
    InputError
        Not a recipe.
    """
    if name not in RECIPES:
        choice("learner", name, TEN)
    network = recipes.method(name, shots, trained)[0]
    return network if trained != SHIPPED or shipped(network) else None


def curves(
    names: Iterable[str],
    shots: Iterable[int] = (1, 5),
    trained: str = SHIPPED,
    dataset: str = "",
) -> pd.DataFrame:
    """Training curves: columns learner, shots, epoch, loss, validation (accuracy in percent).

    Parameters
    ----------
    names, shots, trained
        As for `network_of`.
    dataset : str
        What ``{dataset}`` stands for in ``trained``.
    """
    parts = []
    for name in names:
        # Trainings on batches are selected on 5-shot tasks.
        for count in shots if RECIPES[name].batch == "tasks" else (5,):
            network = network_of(name, count, trained)
            if network:
                curve = pd.read_csv(_curve(sources.filled(network, dataset)))
                parts.append(curve.assign(learner=name, shots=count))
    columns = ["learner", "shots", "epoch", "loss", "validation"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _curve(network: str) -> Path:
    """The file that ``fslbook train`` writes beside a network."""
    file = network.partition(":")[2]
    path = Path(file) if Path(file).suffix else trained_path(file)
    return path.with_suffix(".csv") if file else CHECKPOINTS / f"{network}.csv"


def accuracies(
    names: Iterable[str],
    sets: Iterable[str],
    shots: Iterable[int],
    *,
    tasks: int,
    image_tasks: int,
    level: float = 0.95,
    trained: str = SHIPPED,
    **options,
) -> pd.DataFrame:
    """Accuracy of each learner on 5-way tasks of novel classes, with the network trained at the
    same number of shots.

    Parameters
    ----------
    names, sets, shots
        Learners of `TEN`, data sets and numbers of shots.
    tasks, image_tasks : int
        Closed tasks; fewer of learners that train the network on each task.
    seed : int
        Of the tasks.
    level : float
        Of the closed intervals.
    skip_small_classes : bool
        Leave out classes with too few images.
    trained : str
        As for `network_of`, where ``{dataset}`` stands for the data set.

    Returns
    -------
    DataFrame
        Columns learner, dataset, shots, backbone, mean, half_width in percent; rows where a network
        ships.
    """
    rows = []
    for name, count, dataset in product(names, shots, sets):
        backbone = network_of(name, count, trained)
        if backbone:
            learner = RECIPES[name].learner
            options["tasks"] = image_tasks if reads_images(learner) else tasks
            result = evaluation.evaluate_setting(dataset, backbone, learner, shots=count, **options)
            interval = closed_task_interval(result.accuracy, level)
            rows.append((name, dataset, count, backbone, interval.estimate, interval.half_width))
    return pd.DataFrame(rows, columns=ACCURACIES)


def accuracy_table(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """`accuracies` with a row per learner, a column per data set and number of shots, and a dash
    for no network."""
    cells = table.assign(cell=format_interval(table["mean"], table["half_width"], spec=".1f"))
    wide = cells.pivot(index="learner", columns=["dataset", "shots"], values="cell")
    return wide.sort_index(axis=1).reindex(names).fillna("—").rename_axis(index="learner")


def accuracy_rows(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """`accuracies` as `fslbook.figures.forest` draws them: a panel per data set, a row per learner,
    shots as series."""
    order = {name: place for place, name in enumerate(names)}
    places = table["learner"].map(order)
    rows = table.assign(at=places).sort_values(["dataset", "at", "shots"])
    titles = rows["learner"].map(lambda name: LEARNER_TITLES.get(name, name))
    series = rows["shots"].map("{}-shot".format)
    return rows.assign(row=titles, panel=rows["dataset"], series=series)
