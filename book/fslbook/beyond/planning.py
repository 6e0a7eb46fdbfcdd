"""Tables of the sizes that distinguish two methods, and of the coverage of the three intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from fslcore import stats
from fslcore.evaluation.three_targets import Answers
from fslcore.report.interval_table import varying_keys
from fslcore.stats.targets import IMAGE_TARGETS, Target

from .targets import half

SIZES = ["tasks", "images per class", "classes"]


def needs(
    answers: dict[str, Answers],
    table: pd.DataFrame,
    differences: list[float],
    *,
    ways: int,
    shots: int,
    power: float,
    level: float,
) -> pd.DataFrame:
    """Sizes that detect a difference of d points between the methods of each row of `pairs`.

    See `fslcore.stats.plan_sample_size`.
    """
    rows = []
    for row, d in product(table.itertuples(), differences):
        size = np.unique(answers[row.dataset].labels, return_counts=True)[1]
        plan = stats.plan_sample_size(
            row.result,
            images_per_class=len(size) / (1 / size).sum(),
            n_classes=len(size),
            ways=ways,
            shots=shots,
            difference=d,
            target_power=power,
            confidence_level=level,
        )
        sizes = plan.n_tasks, plan.images_per_class, plan.n_classes
        ranges = plan.tasks_range, plan.images_range, plan.classes_range
        rows.append((row.dataset, row.a, row.b, d, *sizes, *ranges))
    ranges = [f"{size}, range" for size in SIZES]
    return pd.DataFrame(rows, columns=["dataset", "a", "b", "difference", *SIZES, *ranges])


def growth(needed: pd.DataFrame, before: pd.DataFrame) -> pd.DataFrame:
    """Sizes of ``needed`` divided by those of ``before``, for the smallest difference; one row per data set."""
    smallest = [
        sizes[sizes["difference"] == sizes["difference"].min()].set_index("dataset")[SIZES]
        for sizes in (needed, before)
    ]
    return (
        (smallest[0] / smallest[1])
        .astype(float)
        .replace([np.inf, -np.inf], np.nan)
        .dropna(how="all")
    )


def plan_table(needed: pd.DataFrame) -> pd.DataFrame:
    """`needs` as text, each size with its range, or a dash; one row per pair and difference."""

    def cell(size: float, ends: tuple[float, float] | None) -> str:
        if ends is None:
            return "—"
        low, high = ("∞" if np.isinf(end) else f"{int(end):,}" for end in ends)
        return f"{int(size):,} ({low}–{high})"

    cells = {
        c: [cell(*size_and_ends) for size_and_ends in zip(needed[c], needed[f"{c}, range"])]
        for c in SIZES
    }
    return varying_keys(needed.assign(**cells), ["dataset", "a", "b", "difference"], SIZES)


def reach(table: pd.DataFrame, *, power: float, level: float) -> pd.DataFrame:
    """The difference (points) that each pair of `pairs` would have detected with this power, by target."""

    def least(result: stats.ThreeIntervals, target: Target) -> str:
        if (
            target == Target.NEW_IMAGES
            and np.isinf(result.image_variance)
            and np.isfinite(result.classes.half_width)
        ):
            return "as new classes"
        r = result.by_target[target]
        finite = np.isfinite(r.half_width)
        return half(
            stats.minimum_detectable_difference(
                r.standard_error, r.df, target_power=power, confidence_level=level
            )
            if finite
            else np.inf
        )

    detectable = {
        target.value: [least(result, target) for result in table["result"]]
        for target in IMAGE_TARGETS
    }
    return varying_keys(table.assign(**detectable), ["dataset", "a", "b"], list(detectable))


def coverage_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslbook.beyond.coverage.summary` by kind of world, in percent: three intervals on two targets."""
    tables = {}
    uninformed = summary[(summary["given"] == "") & (summary["interval"] != "paired")]
    for target in ("new images", "new classes"):
        wide = uninformed[uninformed["target"] == target].pivot(
            index="regime", columns="interval", values="share"
        )
        suited = target.removeprefix("new ")
        tables[target] = wide[["closed", "open", suited]].rename(columns={suited: "ours"})
    return pd.concat(tables, axis=1).loc[summary["regime"].unique()].round(1).rename_axis(None)


def harder_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslbook.beyond.coverage.summary` of harder worlds, by world, question and what the interval was given."""
    suited = summary[summary["interval"] == summary["target"].str.removeprefix("new ")]
    closed = summary[summary["interval"] == "closed"].set_index(["regime", "target"])["share"]
    columns = {
        "mean (%)": suited["mean"].map("{:.1f}".format),
        "bias (points)": suited["bias"].map(
            lambda bias: f"{bias:+.1f}" if abs(bias) >= 0.05 else "0"
        ),
        "closed": [f"{closed[key]:.0f}" for key in zip(suited["regime"], suited["target"])],
        "ours": [f"{r.share:.0f} ({r.low:.0f}–{r.high:.0f})" for r in suited.itertuples()],
        "± ours": suited["half_width"].map(half),
    }
    knowledge = suited["given"].replace({"": "—"})
    return suited.assign(**columns, given=knowledge).set_index(["regime", "target", "given"])[
        list(columns)
    ]


def plans_table(summary: pd.DataFrame) -> pd.DataFrame:
    """`fslbook.beyond.coverage.plan_summary` as text; one row per target, kind of pilot and true difference."""
    columns = {
        "planned (median)": summary["planned"].round().astype(int),
        "found by the pilot (%)": summary["in_pilot"].map("{:.0f}".format),
        "found as planned (%)": [
            f"{r.share:.0f} ({r.low:.0f}–{r.high:.0f})" for r in summary.itertuples()
        ],
    }
    keys = dict(pilot=summary["regime"], difference=summary["difference"].map("{:.2f}".format))
    return summary.assign(**columns | keys).set_index(["target", *keys])[list(columns)]
