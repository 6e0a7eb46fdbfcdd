"""Every learner trained from three or five seeds: correct queries of each run on the same tasks, and their analysis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product

import numpy as np
import pandas as pd
from numpy import ndarray
from numpy.random import Generator
from scipy.stats import f as fisher, norm

from fslcore import evaluation, stats
from fslcore.catalogue import reads_images
from fslcore.errors import InputError
from fslcore.evaluation.three_targets import IMAGE_FACTS, groups_of_images
from fslcore.paths import DATA
from fslcore.stats.runs import RunIntervals, RunPlan
from fslcore.tasks import Tasks, sample_closed

from .. import published, training
from ..catalogue import LEARNER_TITLES
from .targets import half, series_rows

RECORDS = DATA / "runs" / "records.parquet"
SHAPE = dict(ways=5, shots=5, queries=15, seed=0)
TASKS, IMAGE_TASKS = 400, 100  # closed tasks; those of learners that read images
#: Displayed names. Baseline's networks are tested by `lr` here, and by logistic regression on raw features in papers.
TITLES = LEARNER_TITLES | {"baseline": "Baseline, unit features"}
MANY, FEW = 5, 3  # runs of the learners that the chapter studies, and of all
SHARED = (
    "one trained network",
    "the first weights",
    "the number alone",
)  # by runs of different learners from one seed


def tasks_of(dataset: str, learner: str) -> Tasks:
    """The tasks on which every run of a learner is tested; slow learners are tested on the first of these only."""
    tasks = _tasks(dataset)
    return tasks[:IMAGE_TASKS] if reads_images(learner) else tasks


@lru_cache
def _tasks(dataset: str) -> Tasks:
    return sample_closed(evaluation.load_images_or_features(dataset).labels, tasks=TASKS, **SHAPE)


@lru_cache
def _table() -> pd.DataFrame:
    return pd.read_parquet(RECORDS)


def names(minimum: int = MANY) -> list[str]:
    """The learners with at least this many runs, in the order of the file."""
    count = _table().groupby("learner")["seed"].nunique()
    return [name for name in dict.fromkeys(_table()["learner"]) if count[name] >= minimum]


@lru_cache
def answers(dataset: str, learner: str) -> ndarray:
    """(R, T, K·Q) whether each run of a learner was correct on each query, 100 or 0; read-only.

    Raises
    ------
    InputError
        No runs of this learner; records of other images or tasks.
    """
    rows = _table().query("dataset == @dataset and learner == @learner").sort_values("seed")
    if rows.empty:
        stored = ", ".join(dict.fromkeys(_table()["dataset"] + " " + _table()["learner"]))
        raise InputError(f"dataset, learner = {dataset}, {learner}; runs are stored of {stored}")
    tasks = _tasks(dataset)[: int(rows["tasks"].iloc[0])]
    digests = {"images": evaluation.load_images_or_features(dataset).digest, "tasks": tasks.digest}
    for row in rows.itertuples():
        if any(json.loads(row.provenance)[key] != digest for key, digest in digests.items()):
            raise InputError(
                f"{RECORDS.name}: {dataset}, {learner}, seed {row.seed}, is of other images or tasks; "
                "python data/runs/build.py makes it again"
            )
    bits = np.stack(
        [
            np.unpackbits(np.frombuffer(packed, np.uint8), count=tasks.query.size)
            for packed in rows["correct"]
        ]
    )
    out = 100.0 * bits.reshape(len(rows), *tasks.query.shape)
    out.flags.writeable = False
    return out


def accuracies(dataset: str, learner: str) -> ndarray:
    """(R, T) accuracy of each run on each task, in percent."""
    return answers(dataset, learner).mean(axis=2)


def all_answers(dataset: str) -> ndarray:
    """(M, T, K·Q) correct queries of the first runs of every learner that has all tasks, as of `answers`."""
    left = left_out(dataset)
    return np.concatenate([answers(dataset, n)[:FEW] for n in names(FEW) if n not in left])


def left_out(dataset: str) -> list[str]:
    """The learners of `all_answers` that have fewer tasks, since they read images."""
    return [name for name in names(FEW) if answers(dataset, name).shape[1] < TASKS]


def luck_elsewhere(dataset: str, splits: int = 200, seed: int = 0) -> dict[str, float]:
    """What the best run gains, in points over the average one, by being tested on the images that chose it.

    Of each split one half chooses, and the gain there is compared with that on the other half, both
    ways round: halves of the query ``images``, and of the ``classes``. Mean over splits."""
    right = all_answers(dataset)
    query = _tasks(dataset).query
    labels = evaluation.load_images_or_features(dataset).labels
    counts = np.bincount(query.ravel(), minlength=len(labels))
    sums = np.array([np.bincount(query.ravel(), run.ravel(), len(labels)) for run in right])
    rng = np.random.default_rng(seed)
    units = {
        "images": np.arange(len(labels)),
        "classes": np.unique(labels, return_inverse=True)[1],
    }
    return {name: _mean_luck(sums, counts, unit, splits, rng) for name, unit in units.items()}


def _mean_luck(sums: ndarray, counts: ndarray, unit: ndarray, splits: int, rng: Generator) -> float:
    """`luck_elsewhere` for splits by ``unit``, from the right answers (M, N) and the queries (N,) of each image."""
    gains = []
    for _ in range(splits):
        half = (rng.permutation(unit.max() + 1) % 2)[unit]
        first, second = (
            sums[:, half == side].sum(axis=1) / counts[half == side].sum() for side in (0, 1)
        )
        for choosing, testing in ((first, second), (second, first)):
            excess = choosing - testing
            gains.append(excess[choosing.argmax()] - excess.mean())
    return float(np.mean(gains))


def places(dataset: str, tasks: int) -> dict[str, ndarray]:
    """Support, query, labels and groups of the first of these tasks, as `fslcore.stats.new_run_intervals` takes them.

    Groups are font families or authors, where known: images of the same group are not independent.
    """
    first, source = _tasks(dataset)[:tasks], evaluation.load_images_or_features(dataset)
    arrays = {"support": first.support, "query": first.query, "labels": source.labels}
    return arrays | {"groups": groups_of_images(source, IMAGE_FACTS)}


def intervals(
    dataset: str, level: float = stats.DEFAULT_CONFIDENCE_LEVEL
) -> dict[str, RunIntervals]:
    """`fslcore.stats.new_run_intervals` of each learner, by its displayed name."""
    out = {}
    for name in names():
        right = answers(dataset, name)
        out[TITLES[name]] = stats.new_run_intervals(
            right, **places(dataset, right.shape[1]), confidence_level=level
        )
    return out


def interval_table(by_learner: dict[str, RunIntervals]) -> pd.DataFrame:
    """`intervals` as text: mean, half-widths for these and for new runs, and standard deviation of runs."""
    rows = {}
    for name, result in by_learner.items():
        halves = {
            "± these images": result.closed.fixed,
            "± new images": result.images.fixed,
            "± new classes": result.classes.fixed,
            "± new runs": result.closed.interval,
            "± new runs, new images": result.images.interval,
            "± new runs, new classes": result.classes.interval,
        }
        rows[name] = {
            "mean": f"{result.closed.interval.estimate:.1f}",
            **{label: half(r.half_width, 1) for label, r in halves.items()},
            "sd of runs": f"{result.closed.run_deviations[0]:.1f}",
            "another run": f"± {result.closed.prediction_half_width:.1f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner")


def rows(by_learner: dict[str, RunIntervals]) -> pd.DataFrame:
    """`intervals` as `fslbook.figures.forest` draws them: a panel for these runs and one for new ones."""
    table = []
    for kind, panel in (("fixed", "these runs"), ("interval", "new runs")):
        for name, result in by_learner.items():
            intervals = {
                target.value: getattr(runs, kind) for target, runs in result.by_target.items()
            }
            table += series_rows(intervals, row=name, panel=panel)
    return pd.DataFrame(table)


def pair_rows(compared: pd.DataFrame) -> pd.DataFrame:
    """`pairs` as `fslbook.figures.forest` draws them: a row per pair, for these runs and for new ones."""
    kinds = {
        "fixed": "these runs",
        "runs": "new runs",
        "paired": "same starts",
        "images": "new images",
    }
    table = []
    for pair in compared.itertuples():
        intervals = {label: getattr(pair, kind) for kind, label in kinds.items()}
        table += series_rows(intervals, row=f"{pair.a} − {pair.b}")
    return pd.DataFrame(table)


def components(by_learner: dict[str, RunIntervals]) -> pd.DataFrame:
    """Components of the variance of one run's mean: runs, images, classes, and their interactions."""
    rows = {}
    for name, result in by_learner.items():
        rows[name] = {
            "runs": result.images.run_variance,
            "images": result.images.rest_variance,
            "runs × images": result.images.interaction_variance,
            "classes with their images": result.classes.rest_variance,
            "runs × classes": result.classes.interaction_variance,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("learner").map("{:.2f}".format)


WORLDS = {  # standard deviations of runs, of tasks and of a run on a task
    "runs vary, and little else": (1.0, 1.0, 1.0),
    "runs as much as tasks": (1.4, 5.0, 1.0),
    "runs and tasks interact": (1.0, 6.0, 6.0),
    "tasks vary, and runs hardly": (0.1, 6.0, 6.0),
}


def coverage(
    replicates: int, tasks: int = 60, level: float = stats.DEFAULT_CONFIDENCE_LEVEL, seed: int = 0
) -> pd.DataFrame:
    """Coverage (percent) of intervals for new runs, by kind of world and number of runs.

    Columns by number of runs; ``tasks alone`` is the interval over tasks of the mean over five
    runs.
    """
    rows = {}
    for number, (name, spreads) in enumerate(WORLDS.items()):
        rng = np.random.default_rng([seed, number])
        rows[name] = {}
        for count in (3, 5, 10):
            accuracies = _simulated(rng, (replicates, count, tasks), *spreads)
            results = [stats.new_run_interval(x, confidence_level=level) for x in accuracies]
            rows[name][f"{count} runs"] = _holds([result.interval for result in results])
            if count == 5:
                alone = _holds([result.fixed for result in results])
        rows[name]["tasks alone"] = alone
    return pd.DataFrame.from_dict(rows, orient="index")


def _holds(intervals: list[stats.Interval]) -> float:
    return 100 * float(np.mean([r.low <= 0 <= r.high for r in intervals]))


def pairs(dataset: str, level: float = stats.DEFAULT_CONFIDENCE_LEVEL) -> pd.DataFrame:
    """All pairs of learners, compared on the tasks that both have; the better one comes first.

    Returns
    -------
    DataFrame
        a, b, difference; ``fixed``, ``runs``, ``paired`` and ``images``, intervals of the
        difference: for these runs on these images, for new ones on these, the same paired by seed,
        and for new runs on new images; ``studies``, the verdict of each study with one run of a and
        one of b, by its interval for new images (+1 for a, -1, 0); ``chance`` that one run of a is
        above one of b; ``pilot``, as `fslcore.stats.plan_runs` takes it.
    """
    rows = []
    for first, second, x, y in _ordered_pairs(dataset):
        tasks = x.shape[1]
        at = places(dataset, tasks)
        at |= dict(confidence_level=level, bounds=(-100, 100))
        result = stats.new_run_intervals(x, **at, b=y)
        means = x.mean(axis=2), y.mean(axis=2)
        conclusions = [stats.three_intervals(i - j, **at).images.sign for i, j in product(x, y)]
        rows.append(
            {
                "a": first,
                "b": second,
                "difference": round(result.closed.interval.estimate, 9) + 0.0,
                "fixed": result.closed.fixed,
                "runs": result.closed.interval,
                "paired": stats.new_run_interval(
                    *means, paired=True, confidence_level=level
                ).interval,
                "images": result.images.interval,
                "studies": np.array(conclusions),
                "chance": stats.probability_of_improvement(
                    *(m.mean(axis=1) for m in means), confidence_level=level
                ),
                "pilot": result.closed,
            }
        )
    return pd.DataFrame(rows).sort_values("difference", ascending=False, ignore_index=True)


def pair_table(compared: pd.DataFrame) -> pd.DataFrame:
    """`pairs` for reading."""

    def half_widths(column: str) -> list[str]:
        return [r.format_half_width(".1f") for r in compared[column]]

    table = pd.DataFrame(
        {
            "better": compared["a"],
            "than": compared["b"],
            "difference": compared["difference"].map("{:.1f}".format),
            "these runs": half_widths("fixed"),
            "new runs": half_widths("runs"),
            "new runs, same starts": half_widths("paired"),
            "new runs, new images": half_widths("images"),
            "one run beats one": [f"{c:.0%}" for c in compared["chance"]],
        }
    )
    return table.set_index(["better", "than"])


def needed_runs(
    compared: pd.DataFrame,
    differences: list[float],
    power: float,
    level: float = stats.DEFAULT_CONFIDENCE_LEVEL,
) -> pd.DataFrame:
    """Runs of each of two learners that detect a true difference, by pair, with the range that the pilot leaves."""

    def text(plan: RunPlan) -> str:
        n, low, high = ("∞" if n is None else f"{n:,}" for n in (plan.n_runs, *plan.runs_range))
        return f"{n} ({low} to {high})"

    rows = {
        (row.a, row.b): {
            f"{d:g} points": text(
                stats.plan_runs(row.pilot, difference=d, target_power=power, confidence_level=level)
            )
            for d in differences
        }
        for row in compared.itertuples()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["first", "second"])


def printed_pairs(level: float = stats.DEFAULT_CONFIDENCE_LEVEL) -> pd.DataFrame:
    """All pairs of methods in FewSTAB's table of plain accuracies, by data set and number of shots.

    Returns
    -------
    DataFrame
        dataset, shots, a, b, the printed difference a - b, ``apart``: whether the printed intervals
        do not meet, and ``survives``: the standard deviation of runs that would make one run of
        each a half-width as large as it.
    """
    table = published.table("S7", "fewstab").query("metric == 'acc'")
    rows = []
    for (dataset, shots), part in table.groupby(["dataset", "shots"]):
        for better, worse in combinations(
            part.sort_values("mean", ascending=False).itertuples(), 2
        ):
            difference = better.mean - worse.mean
            disjoint = difference > better.half_width + worse.half_width
            rows.append((dataset, shots, better.learner, worse.learner, difference, disjoint))
    out = pd.DataFrame(rows, columns=["dataset", "shots", "a", "b", "difference", "apart"])
    return out.assign(survives=out["difference"] / (norm.ppf((1 + level) / 2) * np.sqrt(2)))


def three_runs(dataset: str, level: float = stats.DEFAULT_CONFIDENCE_LEVEL) -> pd.DataFrame:
    """The first three runs of every learner, the best learner first.

    Returns
    -------
    DataFrame
        By the learner's name: ``runs``, (3,) mean accuracies; their ``mean``; ``closed``, the mean
        closed half-width of one run; all in percent.
    """
    rows = {}
    for name in names(FEW):
        run_accuracies = accuracies(dataset, name)[:FEW]
        means = run_accuracies.mean(axis=1)
        rows[TITLES[name]] = {
            "runs": means,
            "mean": means.mean(),
            "closed": np.mean(
                [stats.closed_task_interval(run, level).half_width for run in run_accuracies]
            ),
        }
    return pd.DataFrame.from_dict(rows, orient="index").sort_values("mean", ascending=False)


def bases() -> dict[str, str]:
    """What runs of different learners from the same seed have in common, by the learner's name."""
    out = {}
    for name in names(FEW):
        recipe = training.RECIPES[name]
        if recipe.frozen or name == "baseline":
            shared = SHARED[0]
        else:
            shared = SHARED[2] if recipe.network.endswith("-map") else SHARED[1]
        out[TITLES[name]] = shared
    return out


def luck(few_runs: pd.DataFrame) -> pd.DataFrame:
    """The part of the variance of `three_runs` due to the seed, for learners whose runs have something in common.

    A two-way analysis of variance (learners and seeds) without replication. With L learners and R
    seeds, the mean square of seeds is L times the variance of their means; the residual has (L -
    1)(R - 1) degrees of freedom.

    Returns
    -------
    DataFrame
        By what they share: ``learners``; ``sd``, of a run's mean accuracy; ``left``, the same
        within a seed, in points; ``share`` of the variance that is the seed's, at least 0; ``p``
        that seeds make no difference (F test).
    """
    rows = {}
    kinds = pd.Series(bases())
    for shared in [kind for kind in SHARED if kind in set(kinds)]:
        runs = np.stack(few_runs["runs"][kinds[few_runs.index] == shared])
        learners, seeds = runs.shape
        off = runs - runs.mean(axis=1, keepdims=True)
        by_seed = off.mean(axis=0)
        seed = learners * by_seed.var(ddof=1)
        left = ((off - by_seed) ** 2).sum() / ((learners - 1) * (seeds - 1))
        common = max(seed - left, 0.0) / learners
        rows[shared] = {
            "learners": learners,
            "sd": np.sqrt(common + left),
            "left": np.sqrt(left),
            "share": common / (common + left),
            "p": fisher.sf(seed / left, seeds - 1, (learners - 1) * (seeds - 1)),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("shared by the runs of a seed")


def luck_table(table: pd.DataFrame) -> pd.DataFrame:
    """`luck` for reading."""
    forms = {"sd": "{:.1f}", "left": "{:.1f}", "share": "{:.0%}", "p": "{:.2g}"}
    return table.assign(
        **{column: table[column].map(form.format) for column, form in forms.items()}
    )


def reversals(dataset: str) -> pd.DataFrame:
    """How often a run of one learner beats a run of another although its mean is lower, for all pairs of learners.

    Returns
    -------
    DataFrame
        By pair: a, b (a with the higher mean), ``reversed``, the share of all R × R pairs of runs
        that b wins.
    """
    rows = []
    for first, second, x, y in _ordered_pairs(dataset):
        better, worse = (right.mean(axis=2).mean(axis=1) for right in (x, y))
        share = float((better[:, None] < worse).mean())
        rows.append({"a": first, "b": second, "reversed": share})
    return pd.DataFrame(rows)


def _ordered_pairs(dataset: str) -> Iterator[tuple[str, str, ndarray, ndarray]]:
    """Every two learners, the better one first, and the answers of both on the tasks that both have."""
    for first, second in combinations(names(), 2):
        x, y = answers(dataset, first), answers(dataset, second)
        tasks = min(x.shape[1], y.shape[1])
        x, y = x[:, :tasks], y[:, :tasks]
        if x.mean() < y.mean():
            first, second, x, y = second, first, y, x
        yield TITLES[first], TITLES[second], x, y


def _simulated(rng: Generator, size: tuple, run, task, cell) -> ndarray:
    """Accuracies about 0 of replicates of runs on tasks, with effects of these spreads."""
    replicates, runs, tasks = size
    of_runs = rng.normal(0, run, (replicates, runs, 1))
    return of_runs + rng.normal(0, task, (replicates, 1, tasks)) + rng.normal(0, cell, size)
