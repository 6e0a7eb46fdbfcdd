"""Features with their labels as a file that `fslcore.datasets.bank.load_features` reads."""

import json
from pathlib import Path

import numpy as np

from ..datasets import Images
from ..datasets.bank import Bank, chunks
from ..models.shards import write_tensors
from ..paths import replace_file

__all__ = ["write_features"]


def write_features(path: Path, bank: Bank, images: Images) -> None:
    """Write 16-bit features (N, D), as they are cached, and the class of each image.

    Parameters
    ----------
    path : Path
        A .npz, whose ``labels`` are the names of classes, or a .safetensors, whose ``labels`` are
        integers and whose metadata contain the names, in JSON under ``class_names``.
    bank : Bank
        Features of the images.
    images : Images
    """
    if path.suffix == ".npz":
        labels = np.array(images.class_names)[images.labels]
        features = bank.data.half().numpy()

        def write(part: Path) -> None:
            with open(part, "wb") as file:
                np.savez(file, features=features, labels=labels)

        replace_file(path, write)
        return
    tensors = {  # in this order, in which every number is aligned to its length
        "labels": ("int64", images.labels.shape, [images.labels.astype(np.int64)]),
        "features": (
            "float16",
            tuple(bank.data.shape),
            (part.half().numpy() for part in chunks(bank.data)),
        ),
    }
    write_tensors(path, tensors, {"class_names": json.dumps(list(images.class_names))})
