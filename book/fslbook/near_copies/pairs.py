"""The comparison of all pairs of images, block by block, so that memory grows with the number of
images.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from tqdm import tqdm

from .fingerprints import BLOCK, Vectors, distances, of_rows
from .thresholds import Rule

STEPS = {"half": 0.5, "the threshold": 1.0, "half as much again": 1.5}
Rows = NDArray[np.int_]  # or a whole number per image
KINDS = ["within a class", "across classes", "across splits"]


def compare(
    vectors: Vectors, rule: Rule, classes: np.ndarray, splits: np.ndarray, progress: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Group and nearest image of each image, with the distances of these two; and the numbers of
    pairs.
    """
    group, nearest = np.arange(len(classes)), np.full(len(classes), -1)
    closeness = np.full(len(classes), np.inf, np.float32)
    counts = np.zeros((len(STEPS), len(KINDS)), int)
    for rows, columns, block in _blocks(vectors, rule, group, progress):
        _keep_nearer(nearest, closeness, rows, columns, block)
        _keep_nearer(nearest, closeness, columns, rows, block.T)
        pairs = _near_pairs(rows, columns, block)
        counts += _counts(pairs, classes, splits)
        group = _joined(group, pairs[pairs["closeness"] <= 1])
    numbers = pd.DataFrame(counts, pd.Index([*STEPS], name="pairs up to"), KINDS)
    images = {"group": pd.factorize(group)[0], "nearest": nearest, **_measured(vectors, nearest)}
    if not splits.any():
        numbers = numbers[KINDS[:2]]
    return pd.DataFrame({**images, "closeness": closeness}), numbers


def _blocks(
    vectors: Vectors, rule: Rule, rows: Rows, progress: bool
) -> Iterator[tuple[Rows, Rows, np.ndarray]]:
    """Rows and columns of blocks of pairs, and their closeness; each pair counts once, and is
    infinite elsewhere.
    """
    used = {measure: vectors[measure] for measure in rule.thresholds}
    bar = {"unit": "image", "unit_scale": BLOCK, "delay": 5, "disable": not progress}
    for start in tqdm(range(0, len(rows), BLOCK), "comparing", **bar):
        block, later = slice(start, start + BLOCK), slice(start, None)
        closeness = rule.closeness(distances(of_rows(used, block), of_rows(used, later)))
        closeness[np.tri(*closeness.shape, dtype=np.bool_)] = np.inf
        yield rows[block], rows[later], closeness


def _measured(vectors: Vectors, nearest: Rows) -> pd.DataFrame:
    """Distances of each image from its nearest one; -1 or NaN for measures that are not used."""
    measured = distances(vectors, of_rows(vectors, nearest), paired=True)
    table = pd.DataFrame({"bits": -1, "frequencies": np.nan, "distance": np.nan, **measured})
    return table.astype({"bits": int, "frequencies": float, "distance": float})


def _keep_nearer(
    nearest: Rows, closeness: np.ndarray, images: Rows, others: Rows, block: np.ndarray
) -> None:
    """Replace the nearest of some images where one of the others is nearer."""
    best = block.argmin(axis=1)
    values = block[np.arange(len(images)), best]
    nearer = values < closeness[images]
    nearest[images[nearer]] = others[best[nearer]]
    closeness[images[nearer]] = values[nearer]


def _near_pairs(rows: Rows, columns: Rows, block: np.ndarray) -> pd.DataFrame:
    first, second = np.nonzero(block <= max(STEPS.values()))
    return pd.DataFrame({"a": rows[first], "b": columns[second], "closeness": block[first, second]})


def _counts(pairs: pd.DataFrame, classes: Rows, splits: Rows) -> NDArray[np.int_]:
    """Numbers of pairs, (`STEPS`, `KINDS`)."""
    a, b = pairs["a"], pairs["b"]
    kinds = np.where(splits[a] != splits[b], 2, classes[a] != classes[b])
    return np.array(
        [np.bincount(kinds[pairs["closeness"] <= step], minlength=3) for step in STEPS.values()]
    )


def _joined(group: Rows, pairs: pd.DataFrame) -> Rows:
    """Groups, of which those with a pair between them become one."""
    edges = np.ones(len(pairs), bool), (group[pairs["a"]], group[pairs["b"]])
    graph = sparse.coo_array(edges, (len(group), len(group)))
    return sparse.csgraph.connected_components(graph, directed=False)[1][group]
