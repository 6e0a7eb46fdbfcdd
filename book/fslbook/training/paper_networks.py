"""All networks of a paper: the trainings of ``fslbook train --paper`` without a learner."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from fslcore import datasets, sources
from fslcore.catalogue import USER_CHECKPOINT
from fslcore.errors import InputError, warn
from fslcore.models.weights import trained_path

from .papers import of_paper, settings_of
from .recipes import RECIPES, with_shots
from .run import train

__all__ = ["missing", "networks", "train_paper"]


def networks(paper: str, dataset: str | None = None) -> Iterator[tuple[str, str, int, str]]:
    """The trainings of a paper: learner, data set, shots and the name of the network,
    PAPER/DATASET/LEARNER.

    A learner that is trained on tasks has one network per number of shots, named after it if that
    is not 5 (``1shot-protonet``). Learners on a frozen network come after it.

    Parameters
    ----------
    paper : str
        A name of `fslbook.catalogue.TRAINERS`.
    dataset : str, optional
        One of the paper's, as for `fslcore.datasets.load`; by default all.

    Raises
    ------
    InputError
        Another paper or data set.
    """
    settings = settings_of(paper)
    sets = settings["sets"]
    names = sorted(
        settings["learners"], key=lambda name: "frozen" in of_paper(paper, name, sets[0])[0]
    )
    for dataset_name, name in product([dataset] if dataset else sets, names):
        of_paper(paper, name, dataset_name)  # raises for a data set that it does not have
        for shots in settings["trained_with"] if RECIPES[name].batch == "tasks" else (5,):
            network = f"{paper}/{{dataset}}/{with_shots(name, shots)}"
            yield name, dataset_name, shots, sources.filled(network, dataset_name)


def missing(paper: str, dataset: str | None = None) -> list[str]:
    """Names of the networks of a paper (as for `networks`) that are not trained yet."""
    names = [network for *_, network in networks(paper, dataset)]
    return [name for name in names if not trained_path(name).is_file()]


def _at_hand(dataset):
    try:
        datasets.check_name(dataset, "base")
    except InputError:
        return False
    return True


def _check_available(names, paper):
    absent = [name for name in names if not _at_hand(name)]
    if absent:
        raise InputError(
            f"data sets {', '.join(absent)} of {paper} are not available; fslcore fetch {paper} "
            "brings them or says what to bring; --dataset NAME trains for one data set only"
        )


def train_paper(
    paper: str, dataset: str | None = None, *, seed: int = 0, progress: bool = True, **changes
) -> Iterator[Path]:
    """Train all networks of a paper, one after the other, and yield each file; existing ones are
    kept.

    They go to the cache, where ``trained:PAPER/DATASET/LEARNER`` finds them. After a stop, the same
    call resumes.

    Parameters
    ----------
    paper, dataset
        As for `networks`.
    seed, progress, changes
        As for `train`.

    Raises
    ------
    InputError
        As for `networks` and `train`; all data sets that are not available, before the work.
    """
    todo = [*networks(paper, dataset)]
    names = [*dict.fromkeys(dataset_name for _, dataset_name, _, _ in todo)]
    if not dataset:
        _check_available(names, paper)
    datasets.check_name(names[0], "base")
    for name, dataset_name, shots, network in todo:
        path = trained_path(network)
        if path.is_file():
            warn(f"{network} is already trained; without the file {path} it is trained again")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            settings = dict(changes, dataset=dataset_name)
            if RECIPES[name].batch == "tasks":
                settings["shots"] = shots
            if frozen := of_paper(paper, name, dataset_name, shots)[0].get("frozen"):
                settings.setdefault(
                    "frozen",
                    f"{USER_CHECKPOINT}:{network.rpartition('/')[0]}/{frozen.partition('-')[2]}",
                )
            train(name, path, paper=paper, seed=seed, progress=progress, **settings)
        yield path
