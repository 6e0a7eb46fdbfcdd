"""One setting (data set, backbone, learner, sampling) from its names to its record."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd

from ..datasets import Source
from ..datasets.papers import text_table
from ..errors import InputError, choice, like, note, shown, visible
from ..paths import at_home
from ..tasks import Tasks, sample_closed, sample_open
from ..tasks.grouped import Cells
from ..tasks.samplers import per_class
from .methods import ready
from .records import Record
from .table import COLUMNS, results_table

__all__ = ["class_of", "draw", "groups_of", "left_out", "run", "run_queries"]

ABSENT = ("", "na", "n/a", "#n/a", "nan", "none", "null")  # written in tables for a missing value
MISSED = 0.1  # share of missed copies above which a note is written


def run(dataset: str, backbone: str, learner: str, sampling: str, **options) -> pd.DataFrame | None:
    """Results table of one setting, from the cache or from ``data/results`` if available.

    Parameters and errors: as for `run_queries`.

    Returns
    -------
    DataFrame or None
        One row per task, with the columns of `COLUMNS`; accuracy in percent.
    """
    given = inspect.signature(run_queries).bind(dataset, backbone, learner, sampling, **options)
    given.apply_defaults()
    _, kept = run_queries(*given.args, **given.kwargs)
    if kept is None:
        return None
    return results_table(kept, **{name: given.arguments[name] for name in COLUMNS if name in given.arguments})


def run_queries(  # noqa: PLR0913 (the inputs of a table)
    dataset: str,
    backbone: str,
    learner: str,
    sampling: str,
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    stored: bool = False,
    progress: bool = False,
    size: int | None = None,
    apart: str | None = None,
) -> tuple[Tasks, Record | None]:
    """The tasks of one setting, and which queries were right.

    Parameters
    ----------
    dataset : str
        As for `fslcore.datasets.load`, or ``features:PATH`` for precomputed features.
    backbone : str
        As for `fslcore.models.backbones.load`; ignored for precomputed features.
    learner : str
        A name of `fslcore.learners.names`.
    sampling : str
        'closed' (images are used again) or 'open' (each image once, until the data are used up).
    ways, shots, queries, seed : int
        Of the tasks.
    tasks : int or None
        Number of closed tasks; upper bound on the number of open ones (None: no bound).
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.
    stored : bool
        Compute nothing (fine-tuning takes hours on a CPU): return as many of the first tasks as
        results are stored of, or None.
    progress : bool
        Show progress bars.
    size : int, optional
        Pixels at which the user's own images are read and used, as for `fslcore.datasets.load`.
    apart : str, optional
        As for `draw`.

    Returns
    -------
    tasks : Tasks
    record : Record or None
        Of the first of these tasks, if fewer are stored.

    Raises
    ------
    InputError
        As for the loaders and samplers; an unknown learner or sampling.
    """
    _known(sampling)
    method = ready(dataset, backbone, learner, size=size)
    shape = dict(ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=skip_small_classes)
    drawn = draw(method.source, sampling, tasks=tasks, apart=apart, **shape)
    return drawn, method.record(drawn, stored=stored, progress=progress)


def draw(
    source: Source, sampling: str, *, tasks: int | None, apart: str | None = None, balanced: bool = False, **shape
) -> Tasks:
    """Tasks of a sampling by its name; ``shape`` and errors as for `fslcore.tasks.sample_closed`.

    With ``apart``, groups of images are kept apart, which `groups_of` finds by that name; the tasks' ``sampler`` names
    it. With ``balanced``, open tasks give all classes equal weight, as closed ones do.
    """
    labels = class_of(source)  # by name, so that an error can name one
    if apart is not None:
        shape["groups"] = groups_of(source, apart)
    if _known(sampling) == "closed":
        drawn = sample_closed(labels, tasks=0 if tasks is None else tasks, **shape)
    else:
        drawn = sample_open(labels, max_tasks=tasks, balanced=balanced, **shape)
    return drawn if apart is None else replace(drawn, sampler={**drawn.sampler, "apart": apart}, check=False)


def left_out(source: Source, *, apart: str | None = None, groups: np.ndarray | None = None, **shape) -> list[str]:
    """Classes too small for tasks of a shape (``ways``, ``shots``, ``queries``), or with too few groups.

    Groups (N,) are given, or found by `groups_of`.
    """
    ways, shots, queries = shape["ways"], *(per_class(n, shape[n], shape["ways"]) for n in ("shots", "queries"))
    labels = class_of(source)
    if groups is None and apart is None:
        names, count = np.unique(labels, return_counts=True)
        return names[count < (shots + queries).max()].astype(str).tolist()
    groups = groups_of(source, apart) if groups is None else groups
    return Cells.of(labels, groups, ways, shots, queries, True).left_out


def groups_of(source: Source, name: str) -> np.ndarray:
    """(N,) group of each image, by a fact of the images or from a table.

    Parameters
    ----------
    source : Images or Bank
        N images, or rows of features.
    name : str
        A column of ``source.facts``, such as family or author; or a .csv with the columns ``image`` and ``group``, as
        ``fslcore duplicates -o`` writes it: images by the names of `fslcore.datasets.Images.names`, rows
        of features by their number from 0. Rows of other images are not used. If its column ``missed`` says that the
        groups miss more than 10 % of copies, a line on stderr says so too.

    Raises
    ------
    InputError
        No such fact, file or column; an image twice, or without a group (including NA and the like).
    """
    facts = source.facts
    if facts is not None and name in facts:
        return facts[name].to_numpy()
    if not str(name).endswith(".csv"):
        known = [] if facts is None else list(facts)
        told = f"{', '.join(known)} are known, or " if known else ""
        raise InputError(f"apart = {shown(name)}; {told}a .csv with the columns image and group{like(name, known)}")
    table = text_table(at_home(name, "apart"), ["image", "group"], what="apart")
    wanted = source.names
    table = table.assign(image=table["image"].map(visible))
    table = table[table["image"].isin(set(wanted))]
    if table["image"].duplicated().any():
        raise InputError(f"apart: {name} has {table['image'][table['image'].duplicated()].iloc[0]} twice")
    if "missed" in table:
        missed = pd.to_numeric(table["missed"].str.replace(",", "."), errors="coerce").max()
        if missed > MISSED:
            note(
                f"{name}: the groups miss {missed:.0%} of re-encoded or downscaled copies, so a task may have copies "
                "on both sides: accuracies may be too high, and intervals for new images too narrow"
            )
    group = table.set_index("image")["group"].str.strip().reindex(wanted)
    missing = group.isna() | group.str.lower().isin(ABSENT)
    if missing.any():
        raise InputError(
            f"apart: {name} has no group for {group.index[missing][0]} ({missing.sum()} of {len(group)} are missing, "
            "left empty, or NA, NaN, null or the like)"
        )
    return group.to_numpy(dtype=str)


def class_of(source: Source) -> np.ndarray:
    """(N,) class of each image: its name, or the name used by a bank."""
    return source.classes


def _known(sampling: str) -> str:
    return choice("sampling", sampling, ("closed", "open"))
