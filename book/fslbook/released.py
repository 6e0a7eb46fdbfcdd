"""The per-task accuracies that the authors of OOPS released with their benchmark.

They are not part of this project: `fslcore.fetch.fetch_results` downloads them, and `read` turns them, or a copy of
them that the user has, into a results table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fslcore import store
from fslcore.errors import InputError
from fslcore.evaluation import RESULT_COLUMNS
from fslcore.fetch import RESULTS, RESULTS_LIST
from fslcore.paths import check_zip, load_tensors

__all__ = ["read"]

QUERIES = {1: 1, 5: 5, 10: 7}  # by shots (OOPS, section 4.1.1)
LEARNERS = {"LR": "lr", "NCC": "ncc", "finetune": "ft", "matchingnet": "matchingnet"}


def read(folder: str = "", *, registry: Path = RESULTS_LIST) -> pd.DataFrame | None:
    """The released accuracies as one results table.

    Parameters
    ----------
    folder : str
        Holds the authors' layout unchanged, ``5-shot/clip/LR/aircraft.pt`` and so on, at its top or
        below ``results/benchmark``; some of the files may be missing. By default what `fetch_results`
        put into the cache.
    registry : Path
        Names the files, as for `fetch_results`.

    Returns
    -------
    DataFrame or None
        The columns of `fslcore.evaluation.RESULT_COLUMNS`, accuracy in percent, ``seed`` 0 (it is not in the
        files); None where no folder was named and nothing is in the cache.

    Raises
    ------
    InputError
        No such file in the folder; a file that is not one floating-point number per task, all between
        0 and 100, or none above 1, as shares are; methods with different numbers of tasks on one data set. Names
        the file.
    """
    names = [line.split()[0] for line in registry.read_text("utf-8").splitlines() if line]
    roots = (
        [Path(folder), Path(folder) / "results" / "benchmark"] if folder else [store.path(RESULTS)]
    )
    paths = {name: root / name for root in roots for name in names if (root / name).is_file()}
    if not paths:
        if folder:
            raise InputError(
                f"released = {folder}; it has no file such as {names[0]}, also below results/benchmark"
            )
        return None
    parts, first = [], {}
    for name, path in paths.items():
        setting, backbone, method, file = Path(name).parts
        dataset, shots = Path(file).stem.replace("_", "-"), int(setting.removesuffix("-shot"))
        table = pd.DataFrame({"accuracy": _accuracies(path)}).rename_axis("task").reset_index()
        first_path, n = first.setdefault((dataset, shots), (path, len(table)))
        if n != len(table):
            raise InputError(
                f"released: {path} holds {len(table)} tasks, {first_path} {n}; methods share their tasks"
            )
        facts = dict(dataset=dataset, backbone=backbone, learner=LEARNERS[method], shots=shots)
        parts.append(table.assign(**facts, queries=QUERIES[shots]))
    table = pd.concat(parts, ignore_index=True).assign(ways=5, sampling="open", seed=0)
    return table[list(RESULT_COLUMNS)]


def _accuracies(path: Path) -> np.ndarray:
    check_zip("released", path)
    try:
        x = load_tensors(path)
    except Exception as error:  # of any kind: a text is read as the commands of a pickle
        raise InputError(
            f"released: {path} cannot be read as a tensor ({type(error).__name__})"
        ) from None
    if not isinstance(x, torch.Tensor) or not x.is_floating_point() or x.ndim != 1 or len(x) < 2:
        raise InputError(
            f"released: {path} must hold one floating-point number per task, for at least 2 tasks"
        )
    x = x.detach().double().numpy()
    if not ((x >= 0) & (x <= 100)).all():  # also where it is NaN
        raise InputError(
            f"released must be from 0 to 100 (percent), got {x[~((x >= 0) & (x <= 100))][0]} in "
            f"{path}"
        )
    if 0 < x.max() <= 1:
        raise InputError(f"released must be in percent, got shares, up to {x.max():g}, in {path}")
    return x
