"""One setting: a data set, a backbone and a learner by their names, on tasks of one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from ..datasets import Images, Source
from ..learners import Learner
from ..tasks import Tasks
from .draws import check_sampling, sample_tasks
from .methods import configure
from .outcomes import Outcomes
from .table import results_table

__all__ = ["SettingResult", "evaluate_setting"]


@dataclass(frozen=True)
class SettingResult:
    """Result of `evaluate_setting`.

    Attributes
    ----------
    tasks : Tasks
        T tasks.
    outcomes : Outcomes
        Which of their queries were right.
    setting : dict
        Values of the columns of `RESULT_COLUMNS` that are equal for all tasks.
    """

    tasks: Tasks
    outcomes: Outcomes
    setting: dict[str, Any]

    @property
    def accuracy(self) -> np.ndarray:
        """(T,) accuracy of each task, in percent."""
        return 100 * self.outcomes.accuracy()

    @property
    def table(self) -> pd.DataFrame:
        """One row per task, with the columns of `RESULT_COLUMNS`, as `write_table` takes it."""
        return results_table(self.outcomes, **self.setting)


@overload
def evaluate_setting(
    dataset: str | Source,
    backbone: str,
    learner: str | Learner,
    sampling: str = "closed",
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    apart: str | None = None,
    balanced: bool = False,
    size: int | None = None,
    stored: Literal[False] = False,
    progress: bool = False,
) -> SettingResult: ...


@overload
def evaluate_setting(
    dataset: str | Source,
    backbone: str,
    learner: str | Learner,
    sampling: str = "closed",
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    apart: str | None = None,
    balanced: bool = False,
    size: int | None = None,
    stored: bool,
    progress: bool = False,
) -> SettingResult | None: ...


def evaluate_setting(  # noqa: PLR0913 (what determines a result)
    dataset: str | Source,
    backbone: str,
    learner: str | Learner,
    sampling: str = "closed",
    *,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    tasks: int | None = 600,
    seed: int = 0,
    skip_small_classes: bool = False,
    apart: str | None = None,
    balanced: bool = False,
    size: int | None = None,
    stored: bool = False,
    progress: bool = False,
) -> SettingResult | None:
    """Evaluate a learner on few-shot tasks drawn from a data set.

    Features and outcomes are found by the content of all inputs in the cache or among the shipped
    results; what is missing is computed and cached. It is `configure`, `sample_tasks` and
    `ConfiguredMethod.outcomes` in one call; several learners share tasks by these three.

    Parameters
    ----------
    dataset : str, Images or Bank
        A name as for `fslcore.datasets.load`, ``features:PATH`` for precomputed features (N, D), or
        a data set that is loaded.
    backbone : str
        As for `fslcore.models.backbones.load`; ignored for features.
    learner : str or Learner
        A name of `fslcore.catalogue.registered_learners`, ``module:Class``, or a learner.
    sampling : str
        'closed' (images are used again) or 'open' (each image once, until the data are used up).
    ways, shots, queries : int
        Classes per task, and images per class in the support and in the query.
    tasks : int or None
        Number of closed tasks; upper bound on the number of open ones (None: no bound).
    seed : int
        The same seed gives the same tasks.
    skip_small_classes : bool
        Leave out classes with fewer than ``shots + queries`` images instead of raising.
    apart : str, optional
        A fact of the images or a table of groups, as for `image_groups`: no group is in both the
        support and the query of a task.
    balanced : bool
        Give all classes equal weight in open tasks (`fslcore.tasks.sample_open`).
    size : int, optional
        Pixels at which the user's own images are read, as for `fslcore.datasets.load`.
    stored : bool
        Compute nothing (fine-tuning takes hours on a CPU): return as many of the first tasks as
        outcomes are stored of.
    progress : bool
        Show progress bars.

    Returns
    -------
    SettingResult or None
        None only if ``stored`` and no outcome is stored.

    Raises
    ------
    InputError
        As for the loaders and samplers; an unknown learner or sampling.

    Examples
    --------
    >>> from fslcore.evaluation import evaluate_setting
    >>> result = evaluate_setting("fashion", "glyph-conv", "ncc", tasks=20, queries=5)
    >>> result.accuracy.shape, result.outcomes.correct.shape
    ((20,), (20, 25))
    """
    check_sampling(sampling)
    method = configure(dataset, backbone, learner, size=size)
    shape = {"ways": ways, "shots": shots, "queries": queries, "seed": seed}
    sampled = sample_tasks(
        method.source,
        sampling,
        tasks=tasks,
        apart=apart,
        balanced=balanced,
        skip_small_classes=skip_small_classes,
        **shape,
    )
    outcomes = method.outcomes(sampled, stored=stored, progress=progress)
    if outcomes is None:
        return None
    setting = {
        "dataset": dataset if isinstance(dataset, str) else _name(dataset),
        "backbone": backbone if isinstance(method.source, Images) else "none",
        "learner": learner if isinstance(learner, str) else method.learner.name,
        "sampling": sampling,
        **shape,
    }
    return SettingResult(sampled[: len(outcomes.correct)], outcomes, setting)


def _name(source: Source) -> str:
    return source.name if isinstance(source, Images) else "features"
