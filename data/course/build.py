"""Build the data of the longer exercises, tables, two recordings and ``answers.yml``, from records that ship.

    python data/course/build.py

Takes seconds. A second build gives the same bytes; a test builds them again.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy.stats import norm, t

from fslbook.beyond import leaderboards, runs
from fslbook.catalogue import LEARNER_TITLES
from fslbook.estimation.conformal import conformal_quantile
from fslcore import recorder, stats
from fslcore.evaluation import load_images_or_features
from fslcore.paths import DATA, replace_file

HERE = Path(__file__).resolve().parent
TASKS = 200
SLOW = 100  # of learners that train a network on each
METHODS = {
    "protonet": "ProtoNet",
    "lr": "Baseline",  # on features of unit length, as the exercise says
    "r2d2": "R2D2",
}  # in episodes, with a network of their own


def networks():
    """Validation and test accuracy of every training run of the four learners that have most and the same tasks."""
    rows = []
    for row in pd.read_parquet(DATA / "runs" / "records.parquet").itertuples():
        if row.learner in set(runs.names()) - {"maml"}:  # it has other tasks
            right = np.unpackbits(np.frombuffer(row.correct, np.uint8), count=row.tasks * 75).mean()
            rows.append(
                (
                    row.dataset,
                    row.learner,
                    row.seed,
                    round(row.validation, 2),
                    round(100 * right, 2),
                )
            )
    return pd.DataFrame(rows, columns=["dataset", "learner", "seed", "validation", "test"])


def write_recordings(folder, dataset="coloured/hebrew", methods=("r2d2", "protonet"), seed=0):
    """A recording each of one run of two methods on the same closed tasks."""
    labels = load_images_or_features(dataset).labels
    tasks = runs.tasks_of(dataset, methods[0])[:TASKS]
    for method in methods:
        right = runs.answers(dataset, method)[seed, :TASKS] > 0
        with recorder.record(folder / f"{method}.jsonl", method, dataset=dataset, seed=0) as record:
            for support, query, good in zip(tasks.support, tasks.query, right):
                predictions = np.where(good, labels[query], -1)
                record.task(
                    support, query, labels[query], predictions, support_labels=labels[support]
                )


def results(dataset="coloured/hebrew", methods=("r2d2", "protonet")):
    """Accuracy of the same runs on the same tasks, a column per method: the example of the README."""
    columns = {
        LEARNER_TITLES[method]: 100 * (runs.answers(dataset, method)[0, :TASKS] > 0).mean(axis=1)
        for method in methods
    }
    return pd.DataFrame(columns).round(2).rename_axis("task").reset_index()


def episodes(dataset):
    rows = pd.read_parquet(DATA / "episodes" / "episodes.parquet").query(
        "dataset == @dataset and block == -1"
    )
    return rows[
        rows["backbone"].astype(str).str.startswith("conv4-") & rows["learner"].isin(list(METHODS))
    ]


def one_support():
    """Estimates from the support and the accuracy, of tasks that are known, of another script and of other images."""
    names = ["hold-out", "5-fold", "leave-one-out", "bootstrap"]
    parts = []
    for kind, dataset in (
        ("known", "coloured/armenian"),
        ("yours", "coloured/hebrew"),
        ("elsewhere", "fashion"),
    ):
        rows = episodes(dataset).query("learner == 'lr' and task < @TASKS")
        parts.append(rows[["task", *names, "accuracy"]].assign(kind=kind))
    table = pd.concat(parts, ignore_index=True)[["kind", "task", *names, "accuracy"]]
    table[[*names, "accuracy"]] = (100 * table[[*names, "accuracy"]]).astype(float).round(2)
    return table


def worst(path):
    """(T,) accuracy of the worst class of each task, in percent."""
    with np.load(path) as file:
        correct, label = file["correct"], file["query_label"]
    return 100 * np.stack(
        [np.array([c[q == k].mean() for k in range(5)]).min() for c, q in zip(correct, label)]
    )


def trap():
    """Worst class of BOIL on the first random, picked and biased tasks of the same classes."""
    kinds = {"random": "matched.5-shot", "picked": "biased.{}.SC1", "biased": "biased.{}.5-shot"}
    rows = []
    for dataset, clue in (("clipart", "pixels"), ("icons", "ink+roundness+symmetry+colour")):
        name = f"{dataset}.conv4-icons-boil"
        columns = {
            k: worst(DATA / "results" / f"{name}.{pattern.format(clue)}.npz")[:SLOW]
            for k, pattern in kinds.items()
        }
        rows.append(
            pd.DataFrame(columns).round(2).rename_axis("task").reset_index().assign(dataset=dataset)
        )
    return pd.concat(rows, ignore_index=True)[["dataset", "task", *kinds]]


def review():
    """Accuracy and 5-fold estimate of three methods on the same tasks of three data sets."""
    parts = [
        episodes(name).query("split == 'novel' and task < @TASKS")
        for name in ("coloured/latin", "fashion", "clipart")
    ]
    table = pd.concat(parts, ignore_index=True)
    table["learner"] = table["learner"].astype(str).map(METHODS)
    for column in ("accuracy", "5-fold"):
        table[column] = (100 * table[column]).astype(float).round(2)
    return table[["dataset", "learner", "task", "accuracy", "5-fold"]].sort_values(
        ["dataset", "learner", "task"]
    )


def timings():
    """Seconds of one thread for so many tasks, by learner; and what one task of fine-tuning takes."""
    stored = json.loads(sorted((DATA / "performance").glob("*.json"))[0].read_text("utf-8"))[
        "pieces"
    ]
    grown = [
        row
        for row in stored["growth"]["rows"]
        if row["by"] == "tasks" and row["what"] in ("NCC", "LR")
    ]
    rows = [(row["what"], *point) for row in grown for point in zip(row["at"], row["seconds"])]
    tuned = next(
        row
        for row in stored["slow"]["rows"]
        if row["name"] == "ft" and row["backbone"] == "glyph-conv"
    )
    return pd.DataFrame(
        [*rows, ("FT", 1, round(1 / tuned["per_second"], 3))],
        columns=["learner", "tasks", "seconds"],
    )


def fine_tuned():
    """Accuracy of fine-tuning on the first closed tasks of clip art: a pilot."""
    with np.load(DATA / "results" / "clipart.glyph-conv.ft.closed.npz") as file:
        accuracy = 100 * file["correct"][:SLOW].mean(axis=1)
    return pd.DataFrame({"task": range(len(accuracy)), "accuracy": accuracy.round(2)})


def two_laboratories():
    """Accuracies that papers report on 5-way tasks of images beside what another laboratory obtained.

    Pairs of the kind ``paper`` alone.
    """
    cells = leaderboards.cells()
    images = (cells["ways"] == "5") & (cells["dataset"] != "Omniglot")
    pairs = leaderboards.pairs(cells[images & ~cells["dataset"].str.startswith("Meta-Dataset")])
    columns = ["method", "backbone", "dataset", "shots", "laboratory", "reported", "plus_minus"]
    columns += ["reproduced", "plus_minus_reproduced"]
    return pairs.loc[pairs["pair_kind"] == "paper", columns]


TABLES = {
    "results": results,
    "networks": networks,
    "one-support": one_support,
    "trap": trap,
    "review": review,
    "timings": timings,
    "fine-tuned": fine_tuned,
    "two-laboratories": two_laboratories,
}


def answers(folder):
    """By exercise: what `fslbook.beyond.course.check` asks for, the right value, and what usual mistakes give."""

    def table(name):
        return pd.read_csv(folder / f"{name}.csv")

    def selected(dataset, by):
        by_learner = table("networks").query("dataset == @dataset").groupby("learner")
        return by_learner.apply(
            lambda of: of["test"][of[by].idxmax()] - of["test"].mean(), include_groups=False
        ).mean()

    record = recorder.load([folder / f"{name}.jsonl" for name in ("r2d2", "protonet")])
    first, second = (100.0 * record.correct[name] for name in ("r2d2", "protonet"))
    three = stats.three_intervals(
        first - second,
        record.support["r2d2"],
        record.query["r2d2"],
        record.classes,
        bounds=(-100, 100),
    )
    alone = [stats.closed_task_interval(right.mean(axis=1)).half_width for right in (first, second)]

    known = table("one-support").query("kind == 'known'")
    fitted, rest = known[: len(known) // 2], known[len(known) // 2 :]
    line = np.polyfit(fitted["leave-one-out"], fitted["accuracy"], 1)

    def reach(tasks):
        return abs(tasks["accuracy"] - np.polyval(line, tasks["leave-one-out"]))

    worst_class = table("trap").groupby("dataset")[["random", "biased"]].mean()
    gap = worst_class["random"] - worst_class["biased"]
    lost = 100 * gap / worst_class["random"]

    review = table("review").pivot(index=["dataset", "task"], columns="learner", values="accuracy")
    sets = [of for _, of in review.groupby("dataset")]
    others = ("ProtoNet", "R2D2")
    leads = [stats.paired_interval(of["Baseline"], of[other]) for of in sets for other in others]
    closed = [{name: stats.closed_task_interval(of[name]) for name in of} for of in sets]
    ahead = np.array([lead.estimate > 0 for lead in leads])
    p_values = np.array([lead.p_value for lead in leads])
    apart = [
        stats.compare_by_overlap(of["Baseline"], of[other]) == 1
        for of in closed
        for other in others
    ]

    laboratories = table("two-laboratories")
    difference = abs(laboratories["reproduced"] - laboratories["reported"])
    widths = laboratories[["plus_minus", "plus_minus_reproduced"]]
    inside = difference <= np.hypot(widths["plus_minus"], widths["plus_minus_reproduced"])
    has_both = widths.notna().all(axis=1)

    spread = table("fine-tuned")["accuracy"].std()

    def tasks(half_width, quantile):
        return (quantile * spread / half_width) ** 2

    two_sided = norm.isf(0.025)
    return {
        "networks": {
            "asked": "the gain of the run that validation selects over the mean of the five runs, on coloured/hebrew, "
            "in points, averaged over the learners",
            "right": selected("coloured/hebrew", "validation"),
            "within": 0.06,
            "because": "Validation is on other scripts, so this gain is honest.",
            "mistakes": {
                "the gain of the best run by the test, which selects a network by its test results": selected(
                    "coloured/hebrew", "test"
                ),
                "the gain on clip art": selected("clipart", "validation"),
            },
        },
        "claim": {
            "asked": "the 95 % half-width of R2D2 minus ProtoNet for new classes, in points",
            "right": three.classes.half_width,
            "within": 0.06,
            "because": "The sentence is about letters that were not tested, so it needs this one.",
            "mistakes": {
                "the closed half-width, which applies to other tasks from these images": three.closed.half_width,
                "the half-width for new images of these letters": three.images.half_width,
                "the sum of two closed half-widths, which ignores that the tasks are the same": sum(
                    alone
                ),
            },
        },
        "one-task": {
            "asked": "the half-width that covers 90 % of tasks around the line through leave-one-out, in points",
            "right": conformal_quantile(reach(rest), 0.9),
            "within": 0.15,
            "because": "It comes from tasks that the line was not fitted to.",
            "mistakes": {
                "a half-width from the tasks of the fit, which is optimistic": conformal_quantile(
                    reach(fitted), 0.9
                ),
                "the mean absolute error, which many tasks exceed": reach(rest).mean(),
                "the half-width around leave-one-out itself, without a line": conformal_quantile(
                    abs(rest["accuracy"] - rest["leave-one-out"]), 0.9
                ),
            },
        },
        "trap": {
            "asked": "the share of wAcc-R that is lost on clip art, in percent",
            "right": lost["clipart"],
            "within": 0.6,
            "because": "A gap cannot exceed wAcc-R, so shares can be compared where gaps cannot.",
            "mistakes": {
                "the gap in points, which is not divided by wAcc-R": gap["clipart"],
                "the share on icons": lost["icons"],
                "the gap divided by wAcc-A": 100
                * gap["clipart"]
                / worst_class["biased"]["clipart"],
            },
        },
        "review": {
            "asked": "the number of Baseline's leads that are significant at the 5 % level, paired, by Holm",
            "right": int((ahead & (stats.holm(p_values) < 0.05)).sum()),
            "within": 0.1,
            "because": "They apply to these images, since closed tasks use each image many times.",
            "mistakes": {
                "the number without a correction for six tests": int(
                    (ahead & (p_values < 0.05)).sum()
                ),
                "the number of leads whose two intervals do not overlap": int(sum(apart)),
                "the number of leads": int(ahead.sum()),
            },
        },
        "laboratories": {
            "asked": "the share, in percent, of differences within both ± combined, of pairs that have both",
            "right": 100 * inside.sum() / has_both.sum(),
            "within": 0.5,
            "because": "Both numbers have a ± of their own, and 95 % of differences would lie within the two combined.",
            "mistakes": {
                "the share of all rows, also of those without both ±": 100 * inside.mean(),
                "the share within the original's ± alone, which 95 % would not reach": 100
                * (difference <= widths["plus_minus"]).sum()
                / widths["plus_minus"].notna().sum(),
                "the share within the sum of both ±, which is too wide": 100
                * (difference <= widths.sum(axis=1))[has_both].sum()
                / has_both.sum(),
            },
        },
        "cost": {
            "asked": "the number of tasks that a 95 % interval of ± 0.5 points requires for FT",
            "right": tasks(0.5, two_sided),
            "within": 5,
            "because": "Four times as many would halve the interval again, for these images only.",
            "mistakes": {
                "the number for a standard error of 0.5 points": tasks(0.5, 1),
                "the number for an interval whose whole length is 0.5 points": tasks(
                    0.25, two_sided
                ),
                "the number for a 90 % interval, by the one-sided quantile of 1.64": tasks(
                    0.5, norm.isf(0.05)
                ),
            },
        },
    }


def answers_of_chapters():
    """The same for exercises at the end of chapters, which need no data."""
    normal = norm.isf(0.025)
    student = t.isf(0.025, 2)  # of three runs

    def asked(what, right, within, because, *mistakes):
        values = {"right": right, "within": within, "because": because}
        return {"asked": what, **values, "mistakes": dict(mistakes)}

    return {
        "primer": asked(
            "the half-width of the 95 % interval of the first mean, in points",
            normal * 10.2 / 600**0.5,
            0.02,
            "± 10.2 is the standard deviation of tasks.",
            ("the standard error, without the quantile 1.96", 10.2 / 600**0.5),
            ("the standard deviation, which describes single tasks", 10.2),
        ),
        "closed-vs-open": asked(
            "the number of closed tasks with 15 queries per class at which both are equally wide",
            20_000 / (5 * (5 + 15)),
            1,
            "So many open tasks use up the images.",
            ("the number with one query per class", 20_000 / (5 * (5 + 1))),
            ("the number if only queries used images", 20_000 / (5 * 15)),
        ),
        "comparing-methods": asked(
            "the paired half-width relative to that of one method",
            (2 * (1 - 0.675)) ** 0.5,
            0.006,
            "The covariance is subtracted twice.",
            ("the factor of the variance, not of the half-width", 2 * (1 - 0.675)),
            ("the factor without the 2: two variances add", (1 - 0.675) ** 0.5),
            ("the factor of unpaired runs", 2**0.5),
        ),
        "three-runs": asked(
            "the half-width for new runs, in points",
            student * 2 / 3**0.5,
            0.04,
            "With two degrees of freedom the quantile is 4.30.",
            ("what the normal quantile gives, too narrow for three runs", normal * 2 / 3**0.5),
            ("the half-width for a single fourth run", student * 2 * (4 / 3) ** 0.5),
            ("the standard error, without a quantile", 2 / 3**0.5),
        ),
        "planning": asked(
            "the true difference that it detects in 80 of 100 cases, in points",
            1.2 / normal * (normal + norm.isf(0.2)),
            0.03,
            "The standard error counts 2.8 times: 1.96 for the test, 0.84 for the power.",
            ("the half-width, which a study detects in half of the cases", 1.2),
            ("the standard error", 1.2 / normal),
            ("2.8 half-widths, in place of standard errors", 1.2 * (normal + norm.isf(0.2))),
        ),
        "estimators": asked(
            "the mean error of a test on 25 fresh images, in points",
            100 * (2 / np.pi * 0.09 / 25) ** 0.5,
            0.06,
            "It is sampling error alone.",
            (
                "the mean error against an oracle of 75 queries",
                100 * (2 / np.pi * 0.09 * (1 / 25 + 1 / 75)) ** 0.5,
            ),
            (
                "the standard error; the mean absolute error is 0.8 times that",
                100 * (0.09 / 25) ** 0.5,
            ),
        ),
        "selection": asked(
            "by how much the better of the two seems to exceed 80 % on average, in points",
            100 * (0.16 / 75 / np.pi) ** 0.5,
            0.06,
            "All of it is chance.",
            ("the standard deviation of one measured accuracy", 100 * (0.16 / 75) ** 0.5),
            ("the standard deviation of the difference of the two", 100 * (2 * 0.16 / 75) ** 0.5),
        ),
        "sizing-tasks": asked(
            "Q*",
            (5 * 18**2 / 8**2) ** 0.5,
            0.06,
            "The curve is flat around it.",
            ("the square of Q*", 5 * 18**2 / 8**2),
            ("Q* without the shots", 18 / 8),
        ),
        "same-support": asked(
            "the factor that takes the place of 1/R for 100 supports",
            1 / 100 + 8 / 8,
            0.004,
            "The pool is so small that the supports resemble each other.",
            ("1/R itself, which is for a pool without end", 1 / 100),
            ("the factor for ten supports", 1 / 10 + 8 / 8),
        ),
        "informed": asked(
            "the mean absolute error with 75 images, in points",
            100 * (2 * 0.21 / 75 / np.pi) ** 0.5,
            0.06,
            "No estimator can do better on such queries.",
            ("the mean absolute error with 300 images", 100 * (2 * 0.21 / 300 / np.pi) ** 0.5),
            (
                "the standard error; the mean absolute error is 0.8 times that",
                100 * (0.21 / 75) ** 0.5,
            ),
        ),
    }


def as_written(question):
    """A question whose values have as many digits as its tolerance can tell apart."""
    values = {"right": question["right"]} | question["mistakes"]
    rounded = {name: float(f"{value:.4g}") for name, value in values.items()}
    right = rounded.pop("right")
    return question | {"right": right, "mistakes": {k: v for k, v in rounded.items() if v != right}}


def build(folder):
    """All files, and their digests in SHA256SUMS."""
    for name, table_of in TABLES.items():
        text = table_of().to_csv(index=False, lineterminator="\n")
        replace_file(folder / f"{name}.csv", lambda part, text=text: part.write_text(text, "utf-8"))
    write_recordings(folder)
    every = answers(folder) | answers_of_chapters()
    questions = {name: as_written(question) for name, question in every.items()}
    text = yaml.safe_dump(questions, sort_keys=False, allow_unicode=True, width=100)
    replace_file(folder / "answers.yml", lambda part: part.write_text(text, "utf-8"))
    files = sorted([*folder.glob("*.csv"), *folder.glob("*.jsonl"), folder / "answers.yml"])
    sums = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )
    replace_file(folder / "SHA256SUMS", lambda part: part.write_text(sums, "utf-8"))


if __name__ == "__main__":
    build(HERE)
