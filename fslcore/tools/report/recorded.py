"""What a recording of an evaluation loop says: its accuracies as a results table, and its three intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from ... import stats
from ...errors import InputError, visible
from ...stats.influence import Influence
from .. import recorder
from ..recorder import Recording
from .targets import in_cells


class Recorded:
    """A recording, and which tasks and images its methods share.

    Parameters
    ----------
    path : path, or sequence of them
        Written by `fslcore.record`; of several, each of other methods.
    """

    def __init__(self, path: str | Path | Sequence[str | Path]):
        self.found = recorder.load(path)

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """The number of each task by method: the same for the same images, the second time another."""
        known: dict[tuple, int] = {}
        out = {}
        for method, query in self.found.query.items():
            seen: dict[tuple, int] = {}
            of = []
            for support, asked in zip(self.found.support[method], query):
                key = support[support >= 0].tobytes(), asked[asked >= 0].tobytes()
                seen[key] = seen.get(key, 0) + 1
                of.append(known.setdefault((*key, seen[key]), len(known)))
            out[method] = np.array(of)
        return out

    @cached_property
    def reused(self) -> bool:
        """Whether an image is in two tasks."""
        first = {}
        for method, of in self.numbers.items():
            for number, *images in zip(of, self.found.support[method], self.found.query[method]):
                first.setdefault(int(number), np.concatenate(images))
        every = np.concatenate(list(first.values()))
        every = every[every >= 0]
        return len(np.unique(every)) < len(every)

    @cached_property
    def parts(self) -> list[list[str]]:
        """The methods, those together that have a task in common, directly or by way of others."""
        import networkx  # late, as few pages need it

        pairs = combinations(self.numbers, 2)
        graph = networkx.Graph([(a, b) for a, b in pairs if np.isin(self.numbers[a], self.numbers[b]).any()])
        graph.add_nodes_from(self.numbers)
        at = self.found.methods.index
        return sorted((sorted(part, key=at) for part in networkx.connected_components(graph)), key=lambda of: at(of[0]))

    def table(self) -> pd.DataFrame:
        """Rows of tasks and methods: ``method``, ``task``, ``accuracy`` from 0 to 1, how tasks were drawn, their shape.

        Tasks of the same images have the same number, whichever method they are of and in whatever order they came.
        """
        found = self.found
        table = pd.concat(
            [
                pd.DataFrame(
                    {
                        "method": m,
                        "task": self.numbers[m],
                        "accuracy": right.sum(axis=1) / (found.query[m] >= 0).sum(axis=1),
                    }
                )
                for m, right in found.correct.items()
            ],
            ignore_index=True,
        )
        facts = {**found.facts, "sampling": "closed" if self.reused else "open", **_shape(found)}
        table = table.assign(**{name: value for name, value in facts.items() if value is not None})
        if len(self.parts) > 1:
            of = {m: f"tasks of {', '.join(methods)}" for methods in self.parts for m in methods}
            given = f"{facts['dataset']}, " if facts.get("dataset") else ""
            table["dataset"] = given + table["method"].map(of)
        return table

    def notes(self) -> list[str]:
        """Sentences: what is not finished, tasks that methods do not share, and whether it is said who is transductive.

        The last decides on new images.
        """
        found = self.found
        said = [f"{m} is not finished: {tasks:,} tasks of it were recorded." for m, tasks in found.unfinished.items()]
        said += [
            f"Left out: {tasks:,} tasks of another recording of {m}, which is not finished."
            for m, tasks in found.left_out.items()
        ]
        if len(self.parts) > 1:
            said.append(
                f"No task is shared by {' and '.join(', '.join(part) for part in self.parts)}: these are settings of "
                "their own, and differences between them are unpaired."
            )
        unsaid = [m for m in found.methods if m not in found.transductive]
        if unsaid and self.reused:
            said.append(
                f"Of {', '.join(unsaid)} it was not recorded whether an answer depends on the task's other queries. If "
                "it does, the interval for new images is too narrow: record it with transductive=True."
            )
        return said

    def three_intervals(
        self, level: float = stats.LEVEL, table: pd.DataFrame | None = None, reference: str | None = None
    ) -> tuple[dict[str, stats.ThreeIntervals], str]:
        """Three intervals of each method, and of each difference of two.

        Differences are paired on the tasks that two methods share. Where they share none, tasks are independent given
        the images, which both have in common: the variances from the tasks add up, and what an image or a class changes
        is subtracted before it is squared (`fslcore.stats.influence.Influence`).

        Parameters
        ----------
        level : float
            Nominal coverage.
        table : DataFrame, optional
            That of `fslcore.tools.report.Results`: methods and tasks that were left out there are left out here.
        reference : str, optional
            The method whose differences are wanted; by default those of every two.

        Returns
        -------
        found : dict of ThreeIntervals
            By method, or by 'A − B' or 'A − B (unpaired)'; in percent and in points.
        reason : str
            Why some are missing, in words of `fslcore.stats.three_intervals`; else empty.
        """
        recording, numbers = self.found, self.numbers
        labels = np.unique(recording.classes, return_inverse=True)[1]
        groups = recording.groups
        values = {m: 100.0 * right for m, right in recording.correct.items()}
        rows = {m: np.arange(len(of)) for m, of in values.items()}
        called = {m: visible(m.strip()) for m in values}  # as in the table
        if table is not None:
            left = {m: set(part["task"].astype(str)) for m, part in table.groupby("method")}
            rows = {m: np.flatnonzero([str(t) in left[n] for t in numbers[m]]) for m, n in called.items() if n in left}

        def paired(right: np.ndarray, tasks: np.ndarray, *methods: str) -> stats.ThreeIntervals:
            places = recording.support[methods[0]][tasks], recording.query[methods[0]][tasks], labels
            more = dict(groups, level=level, bounds=(0, 100) if len(methods) == 1 else (-100, 100))
            more["transductive"] = any(recording.transductive.get(m, False) for m in methods)
            return stats.three_intervals(right, *places, **more)

        def influence(m: str) -> Influence:
            drawn = np.concatenate([recording.support[m][rows[m]], recording.query[m][rows[m]]], axis=1)
            return stats.influence(values[m][rows[m]].mean(axis=1), drawn, labels, **groups)

        asked = {called[m]: partial(paired, values[m][of], of, m) for m, of in rows.items()}
        unpaired = {}
        for a, b in combinations(rows, 2):
            if reference not in (None, called[a], called[b]):
                continue
            name, here, there = f"{called[a]} − {called[b]}", numbers[a][rows[a]], numbers[b][rows[b]]
            if not np.isin(here, there).any():
                unpaired[f"{name} (unpaired)"] = lambda a=a, b=b: (influence(a) - influence(b)).intervals(
                    level, (-100, 100)
                )
            elif values[a].shape[1] == values[b].shape[1]:
                _, at_a, at_b = np.intersect1d(here, there, return_indices=True)
                of_a, of_b = rows[a][at_a], rows[b][at_b]
                asked[name] = partial(paired, values[a][of_a] - values[b][of_b], of_a, a, b)
        found, reason = {}, ""
        for name, intervals in (asked | unpaired).items():
            try:
                found[name] = intervals()
            except InputError as error:
                reason = reason or f"{name}: {error}"
        return found, reason


def three_list(found: dict[str, stats.ThreeIntervals]) -> pd.DataFrame:
    """`three_intervals` for reading: a row a method or difference, the mean and a column a target."""
    rows = {name: {"mean": f"{r.closed.mean:.2f}", **in_cells(r)} for name, r in found.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def _shape(found: Recording) -> dict[str, int | None]:
    """Ways, shots and queries per class, where they are the same in all tasks."""
    shapes = set()
    label = np.append(np.unique(found.classes, return_inverse=True)[1], -1)  # of no image, too
    for method, query in found.query.items():
        ordered = [np.sort(label[of], axis=1) for of in (found.support[method], query)]
        begins = np.concatenate([np.diff(of, axis=1, prepend=-1) > 0 for of in ordered], axis=1)  # another class
        for both in np.unique(begins, axis=0):
            parts = np.split(both, [ordered[0].shape[1]])
            counts = [np.diff(np.flatnonzero(of), append=len(of)) for of in parts]
            even = all(len(set(c.tolist())) == 1 for c in counts) and len(counts[0]) == len(counts[1])
            shapes.add((len(counts[1]), int(counts[0][0]), int(counts[1][0])) if even else None)
    (same,) = shapes if len(shapes) == 1 else (None,)
    return dict(zip(("ways", "shots", "queries"), same or (None,) * 3))
