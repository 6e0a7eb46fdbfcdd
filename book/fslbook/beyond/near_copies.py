"""The effect of similar images on an accuracy: ordinary tasks compared with group-disjoint tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator

from fslcore import evaluation, stats
from fslcore.datasets import Images
from fslcore.tasks import Tasks, sample_closed

from .targets import half


class Both(dict):
    """``ordinary``, ``mixed`` and ``apart``, each (tasks, accuracies in percent), and ``labels`` and ``groups``."""

    def copies(self, level: float = 0.95) -> stats.Interval:
        """Mixed minus group-disjoint: the effect of copies on these images (same supports, groups weighted equally)."""
        return stats.paired_interval(
            self["mixed"][1], self["apart"][1], confidence_level=level, bounds=(-100, 100)
        )

    def difference(self, level: float = 0.95) -> stats.ThreeIntervals:
        """Ordinary minus group-disjoint, for these images, new groups and new classes."""
        facts = dict(labels=self["labels"], groups=self["groups"])
        influences = {
            name: stats.jackknife_influence(
                self[name][1],
                np.concatenate([self[name][0].support, self[name][0].query], axis=1),
                **facts,
                group_disjoint=disjoint,
            )
            for name, disjoint in (("ordinary", False), ("apart", True))
        }
        return (influences["ordinary"] - influences["apart"]).intervals(level, (-100, 100))


def both_ways(
    source: Images, groups: ndarray, backbone: str, learner: str, *, tasks: int, **shape
) -> Both:
    """Accuracies on ordinary and on group-disjoint tasks of the classes with enough groups (N,).

    A third, mixed kind weights groups equally, as group-disjoint tasks do, but allows copies in
    support and query.
    """
    too_small = evaluation.excluded_classes(source, groups=groups, **shape)
    rows = np.flatnonzero(~np.isin(source.classes.astype(str), too_small))
    labels, groups = source.classes[rows], groups[rows]
    ready = evaluation.configure(source, backbone, learner)
    results = Both(labels=labels, groups=groups)
    for name, sampled in _three_kinds(labels, groups, tasks=tasks, **shape).items():
        in_source = replace(sampled, support=rows[sampled.support], query=rows[sampled.query])
        results[name] = sampled, 100 * ready.outcomes(in_source).accuracy()
    return results


def _three_kinds(labels: ndarray, groups: ndarray, **shape: int) -> dict[str, Tasks]:
    disjoint = sample_closed(labels, groups=groups, **shape)
    return {
        "ordinary": sample_closed(labels, **shape),
        "apart": disjoint,
        "mixed": _mixed(disjoint, labels, groups, shape["seed"]),
    }


def of_facts(facts: list[str], backbone: str, learner: str, **shape) -> dict[str, Both]:
    """`both_ways` for each data set and the fact that groups its images, such as 'glyphs/hebrew family'."""
    results = {}
    for dataset_fact in facts:
        name, fact = dataset_fact.split()
        source = evaluation.load_images_or_features(name)
        results[dataset_fact] = both_ways(
            source, source.facts[fact].to_numpy(), backbone, learner, **shape
        )
    return results


def _mixed(tasks: Tasks, labels: ndarray, groups: ndarray, seed: int) -> Tasks:
    """The same supports with queries of any group of their classes, all groups equally likely, also the support's."""
    rng = np.random.default_rng([seed, 1])
    label, group = (np.unique(a, return_inverse=True)[1] for a in (labels, groups))
    by_class = [np.flatnonzero(label == c) for c in range(label.max() + 1)]
    query = tasks.query.copy()
    for t in range(len(tasks)):
        for k in range(tasks.ways):
            places = np.flatnonzero(tasks.query_label[t] == k)
            candidates = by_class[label[query[t, places[0]]]]
            candidates = candidates[~np.isin(candidates, tasks.support[t])]
            query[t, places] = _one_of_each(candidates, group, rng)[: len(places)]
    return replace(tasks, query=query)


def _one_of_each(images: ndarray, group: ndarray, rng: Generator) -> ndarray:
    """One of these images from each of their groups, at random and in random order."""
    shuffled = images[rng.permutation(len(images))]
    first = np.unique(group[shuffled], return_index=True)[1]
    return shuffled[rng.permutation(first)]


def share_of_mates(tasks: Tasks, labels: ndarray, groups: ndarray) -> float:
    """Share of queries whose group also has an image in the support of their class."""
    cell = np.unique(groups, return_inverse=True)[1] * (len(np.unique(labels)) + 1)
    cell = cell + np.unique(labels, return_inverse=True)[1]
    support, query = cell[tasks.support], cell[tasks.query]
    return float((query[:, :, None] == support[:, None]).any(axis=2).mean())


def rows(results: dict[str, Both], level: float = 0.95) -> pd.DataFrame:
    """The effect of copies, and ordinary minus group-disjoint for three targets, for `fslbook.figures.forest`."""
    parts = []
    for name, comparison in results.items():
        gap = comparison.difference(level)
        series = {
            "copies, these images": comparison.copies(level),
            "difference, these images": gap.closed,
            "difference, new groups": gap.images,
            "difference, new classes": gap.classes,
        }
        parts += [
            dict(row=name, series=label, mean=i.estimate, half_width=i.half_width)
            for label, i in series.items()
        ]
    return pd.DataFrame(parts)


def table(results: dict[str, Both], level: float = 0.95) -> pd.DataFrame:
    """By name: groups, the share of queries with a mate, both means, and their difference for the three targets."""
    rows = {}
    for name, comparison in results.items():
        gap = comparison.difference(level)
        mates = share_of_mates(
            comparison["ordinary"][0], comparison["labels"], comparison["groups"]
        )
        rows[name] = {
            "classes": len(np.unique(comparison["labels"])),
            "images": f"{len(comparison['labels']):,}",
            "groups": f"{len(np.unique(comparison['groups'])):,}",
            "queries with a mate (%)": f"{100 * mates:.3g}",
            "ordinary": f"{comparison['ordinary'][1].mean():.2f}",
            "any group": f"{comparison['mixed'][1].mean():.2f}",
            "apart": f"{comparison['apart'][1].mean():.2f}",
            "copies": f"{comparison.copies(level):+.2f}",
            "difference": f"{gap.closed.estimate:+.2f}",
            "± these images": half(gap.closed.half_width),
            "± new groups": half(gap.images.half_width),
            "± new classes": half(gap.classes.half_width),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("groups are")
