"""What a learner reads: one tensor of features or of images, with a label a row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from .errors import InputError

__all__ = ["Bank", "load_features"]


@dataclass(frozen=True)
class Bank:
    """Rows that tasks point into.

    Attributes
    ----------
    data : (N, D) float features, or (N, H, W, C) uint8 images
    labels : (N,) integers
    digest : str
        Stands for the content of ``data`` and ``labels`` in cache keys.
    """

    data: torch.Tensor
    labels: np.ndarray
    digest: str

    def __post_init__(self):
        if len(self.data) != len(self.labels):
            raise InputError(f"{len(self.labels)} labels for {len(self.data)} rows; one a row is needed")
        if self.data.is_floating_point():
            bad = ~torch.isfinite(self.data).flatten(1).all(dim=1)
            if bad.any():
                raise InputError(
                    f"features: {int(bad.sum())} rows hold NaN or infinity, the first is row {int(bad.nonzero()[0])}"
                )

    def __len__(self) -> int:
        return len(self.data)

    def to(self, device: str | torch.device) -> Bank:
        """The same bank on another device."""
        return Bank(self.data.to(device), self.labels, self.digest)


def load_features(path: str | Path) -> Bank:
    """Precomputed features from an .npz or .safetensors file.

    The file holds ``features``, (N, D) floats, and ``labels``, (N,) integers.

    Raises
    ------
    InputError
        No such file, another ending, a missing array, wrong shapes or types, NaN or infinity,
        different lengths. Nothing is ever unpickled.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"features: no file {path}")
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as z:
                arrays = {k: z[k] for k in z.files if k in ("features", "labels")}
        except Exception as error:
            raise InputError(f"features: {path} is not a readable .npz without pickles ({error})") from None
    elif path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            arrays = load_file(path)
        except SafetensorError as error:
            raise InputError(f"features: {path} is not a readable .safetensors ({error})") from None
    else:
        raise InputError(f"features: {path.name}; .npz and .safetensors are allowed")
    for name, ndim, kinds in (("features", 2, "f"), ("labels", 1, "iu")):
        if name not in arrays:
            raise InputError(f"features: {path} lacks the array '{name}'")
        a = arrays[name]
        if a.ndim != ndim or a.dtype.kind not in kinds:
            raise InputError(
                f"features: '{name}' in {path.name} is {a.dtype} of shape {a.shape}; "
                + ("(N, D) floats are needed" if ndim == 2 else "(N,) integers are needed")
            )
    features, labels = arrays["features"], arrays["labels"].astype(np.int64)
    sha = hashlib.sha256(np.ascontiguousarray(features).tobytes() + labels.tobytes())
    sha.update(f"{features.dtype} {features.shape}".encode())
    return Bank(torch.from_numpy(features.astype(np.float32)), labels, sha.hexdigest())
