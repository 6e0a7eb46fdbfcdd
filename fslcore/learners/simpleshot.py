"""SimpleShot: nearest centroid of centred and normalised features (Wang et al., 2019)."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F

from ..datasets.bank import Bank
from ..errors import InputError, choice, floats
from ..paths import at_home, readable
from ..tasks import Tasks
from .common import check_features, class_means, indices, mask_absent, one_hot
from .protocol import Learner

__all__ = ["SimpleShot"]

TRANSFORMS = ("CL2N", "L2N", "UN")


class SimpleShot(Learner):
    """Negative squared Euclidean distance to each class's mean of transformed support features.

    Parameters
    ----------
    transform : str
        'CL2N': the mean of base features is subtracted, then each feature is L2-normalised; 'L2N':
        only normalised; 'UN': unchanged.
    center : (D,) array_like or path of a .npy, optional
        The mean of base features, for 'CL2N'. By default the mean in the bank, ``bank.center``;
        `fslcore.evaluation.configure` sets it to the mean over the images of base classes.

    Raises
    ------
    InputError
        Another transform; a center that is not a vector of finite numbers, or cannot be read.
    """

    name = "simpleshot"

    def __init__(
        self, transform: str = "CL2N", center: ArrayLike | str | Path | None = None
    ) -> None:
        self.transform = choice("transform", transform, TRANSFORMS)
        self.center = None if center is None else torch.from_numpy(_vector(center)).float()

    @property
    def reads_center(self) -> bool:  # type: ignore[override]  # it follows from the settings
        """Whether a mean of base features is subtracted, and the bank must provide it."""
        return self.transform == "CL2N" and self.center is None

    def check(self, bank: Bank) -> None:
        self.shift(bank)

    def config(self) -> dict[str, Any]:
        """The configuration that determines the scores, for cache keys."""
        center = (
            None
            if self.center is None
            else hashlib.sha256(self.center.numpy().tobytes()).hexdigest()
        )
        return {"learner": self.name, "version": 1, "transform": self.transform, "center": center}

    @torch.inference_mode()
    def scores(self, bank: Bank, tasks: Tasks) -> Tensor:
        """Scores (T, n_query, K) from a bank of features; -inf for a class without support.

        Errors: as for `shift`.
        """
        check_features(bank)
        support, label, query = indices(tasks, bank.data.device)
        members = one_hot(label, tasks.ways).to(bank.dtype)
        shift = self.shift(bank)
        support, query = (self._transformed(bank.rows(i), shift) for i in (support, query))
        distance = torch.cdist(
            query, class_means(support, members), compute_mode="donot_use_mm_for_euclid_dist"
        )
        return mask_absent(-distance.square(), members)

    def shift(self, bank: Bank) -> Tensor | float:
        """The vector subtracted from each feature: the mean of base features (D,), or 0.

        Raises
        ------
        InputError
            No mean of base features for 'CL2N', or one of another length.
        """
        if self.transform != "CL2N":
            return 0.0
        center = bank.center if self.center is None else self.center
        if center is None:
            raise InputError(
                "center: none; SimpleShot needs the mean feature (D,) of base classes: "
                "center=VECTOR or FILE.npy, "
                "the array 'center' beside the features, or transform='L2N'"
            )
        if center.shape != bank.data.shape[1:]:
            raise InputError(f"center: {len(center)} numbers; features have {bank.data.shape[1]}")
        return center.to(bank.data.device, bank.dtype)

    def _transformed(self, x: Tensor, shift: Tensor | float) -> Tensor:
        return x if self.transform == "UN" else F.normalize(x - shift, dim=-1)


def _vector(center: ArrayLike | str | Path) -> np.ndarray:
    if not isinstance(center, (str, Path)):
        return floats("center", center)
    path = at_home(center, "center")
    with readable("center", path, "a .npy of (D,) numbers"):
        read = np.load(path, allow_pickle=False)
    return floats("center", read)
