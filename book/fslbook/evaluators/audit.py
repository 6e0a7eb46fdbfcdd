"""Statements in the prose of the evaluators paper, each checked against its own tables.

The paper prints means, closed half-widths and mean absolute errors. Half-widths give the spread
over episodes, and with it much that is not printed: how closely estimate and oracle go together,
how many images hold-out tested on, and how often an estimate is far off. Where this takes
errors to be normal over episodes, the row says so.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import pandas as pd
from scipy import optimize, stats as scipy_stats

from fslcore.stats import Interval, Target, compare_by_overlap

from .. import published
from ..checks import Checks, less, share

CHECKS = Checks(
    "evaluators",
    {
        "best-of-bad": "low-folds-best",
        "five-fold-lowest": "low-folds-best",
        "best-selectors": "many-folds-select",
        "unlikely-to-select": "enough-to-select",
    },
)
ESTIMATORS = ["hold-out", "5-fold", "leave-one-out", "bootstrap"]
ROUNDING = 0.015  # of a difference of two figures of two decimals, against a third
OF_FIGURE_2 = "miniimagenet"
FIGURE = "read off Figure {}, whose values are not printed"


def audit(episodes: int = 600) -> pd.DataFrame:
    """Every claim with what follows from the tables, and the verdict.

    Parameters
    ----------
    episodes : int
        As for `Evidence`.

    Returns
    -------
    DataFrame
        As `fslbook.checks.Checks.run` gives it.
    """
    return CHECKS.run(Evidence(episodes))


def error_sd(mae: float, bias: float) -> float:
    """Standard deviation of a normal error with this mean and mean absolute value.

    Parameters
    ----------
    mae, bias : float
        E|e| and E[e], in one unit.

    Returns
    -------
    float
        In that unit; NaN where ``mae`` is not above the absolute ``bias``, which leaves no room for
        a spread.
    """
    bias = abs(bias)
    if not mae > bias:
        return np.nan
    # E|e| ≥ 0.79 s.
    return optimize.brentq(lambda s: _mean_absolute(bias, s) - mae, 1e-3 * mae, 2 * mae)


def _mean_absolute(bias, sd):
    return scipy_stats.foldnorm.mean(abs(bias) / sd, scale=sd)


def chance_beyond(limit: float, mae: float, bias: float) -> float:
    """Chance that a normal error is beyond ± ``limit``; the other parameters, and NaN, as for
    `error_sd`."""
    sd = error_sd(mae, bias)
    return scipy_stats.foldnorm.sf(limit / sd, abs(bias) / sd)


def held_out(mean: float, sd: float, sd_oracle: float) -> float:
    """Images per task on which accuracies with this spread were measured.

    With n images per task, and the expected accuracy varying between tasks as the oracle's does,
    the variance is (m(1 − m) − v)/n + v for mean m and oracle variance v; solved for n.

    Parameters
    ----------
    mean, sd, sd_oracle : float
        In percent.
    """
    v = sd_oracle**2
    return (mean * (100 - mean) - v) / (sd**2 - v)


def largest(means: np.ndarray, sds: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of the largest of independent normal variables, by integration.

    Parameters
    ----------
    means, sds : (M,) floats
    """
    low = (means - 8 * sds).min()
    high = (means + 8 * sds).max()
    x = np.linspace(low, high, 20_001)
    chance_above = 1 - scipy_stats.norm.cdf(x[:, None], means, sds).prod(axis=1)
    mean = low + np.trapezoid(chance_above, x)
    return mean, np.sqrt(low**2 + np.trapezoid(2 * x * chance_above, x) - mean**2)


class Evidence:
    """The paper's printed tables arranged for the checks, and what follows from them.

    Parameters
    ----------
    episodes : int
        Behind every mean. The paper does not say; the released code takes 600.
    """

    def __init__(self, episodes: int = 600):
        #: Episodes behind every mean.
        self.episodes = episodes
        keys = ["dataset", "learner"]
        table_1 = published.table(1, "evaluators")
        table_2 = published.table(2, "evaluators")
        #: Table 1: mean accuracy by (data set, learner) and estimator.
        self.means = table_1.pivot(index=keys, columns="estimator", values="mean")
        #: Table 1: half-widths, in the same layout.
        self.widths = table_1.pivot(index=keys, columns="estimator", values="half_width")
        #: Table 2: mean absolute errors, in the same layout.
        self.mae = table_2.pivot(index=keys, columns="estimator", values="mae")[ESTIMATORS]
        #: Table 3, by data set and estimator.
        self.imbalanced = published.table(3, "evaluators").pivot(
            index="dataset", columns="estimator", values="mae"
        )

    @cached_property
    def bias(self) -> pd.DataFrame:
        """Mean estimate minus mean of the oracle, from Table 1."""
        return self.means[ESTIMATORS].sub(self.means["oracle"], axis=0)

    @cached_property
    def spreads(self) -> pd.DataFrame:
        """Standard deviation over episodes, from the half-widths of Table 1."""
        return self.widths * np.sqrt(self.episodes) / scipy_stats.norm.ppf(0.975)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row per cell of Table 2, by data set, learner and estimator, in percentage points.

        Columns mae; bias; correlation of estimate and oracle over episodes, if errors are normal
        (above 1 where they cannot be, NaN where the error hardly exceeds the bias); unrelated and
        standard_error, the mean absolute error that normal estimates of other episodes would have,
        and how far it varies by chance; beyond, the chance of an error beyond 10 points, if errors
        are normal."""
        tables = {"mae": self.mae, "bias": self.bias, "sd": self.spreads[ESTIMATORS]}
        t = pd.DataFrame({name: table.stack() for name, table in tables.items()})
        t["oracle"] = self.spreads["oracle"].reindex(t.index.droplevel("estimator")).to_numpy()
        error = np.array([error_sd(m, b) for m, b in zip(t["mae"], t["bias"])])
        total = t["sd"] ** 2 + t["oracle"] ** 2
        # Else what the spread adds is of the order of rounding.
        has_spread = t["mae"] - t["bias"].abs() > 0.1
        t["correlation"] = ((total - error**2) / (2 * t["sd"] * t["oracle"])).where(has_spread)
        t["unrelated"] = [_mean_absolute(b, s) for b, s in zip(t["bias"], np.sqrt(total))]
        t["standard_error"] = np.sqrt(
            (total + t["bias"] ** 2 - t["unrelated"] ** 2) / self.episodes
        )
        t["beyond"] = [chance_beyond(10, m, b) for m, b in zip(t["mae"], t["bias"])]
        return t[["mae", "bias", "correlation", "unrelated", "standard_error", "beyond"]]

    def averaged(self, row: tuple[str, str], like: tuple[str, str], size: int) -> pd.Series:
        """Mean absolute errors of a row of Table 2 if accuracies were averaged over ``size``
        episodes at a time.

        Parameters
        ----------
        row, like : (data set, learner)
            Estimate and oracle of ``row`` are taken to correlate as Tables 1 and 2 imply for
            ``like``.
        size : int
            Episodes averaged before the difference is taken.

        Returns
        -------
        Series
            By estimator, if errors are normal; NaN where the correlation is.
        """
        s = self.spreads.loc[row, ESTIMATORS]
        y = self.spreads.loc[row, "oracle"]
        r = self.cells["correlation"].loc[like]
        sd = np.sqrt((s**2 + y**2 - 2 * r * s * y) / size)
        return pd.Series({k: _mean_absolute(self.bias.loc[row, k], sd[k]) for k in ESTIMATORS})

    @cached_property
    def held_out(self) -> pd.Series:
        """Images per task on which hold-out was tested, by data set and learner, from the spread of
        its estimates."""
        return held_out(self.means["hold-out"], self.spreads["hold-out"], self.spreads["oracle"])

    @cached_property
    def chosen(self) -> dict[tuple[str, str], Interval]:
        """Table 5 as closed intervals, by data set and estimator."""
        t = published.table(5, "evaluators")
        return {(r.dataset, r.estimator): _interval(r.mean, r.half_width) for r in t.itertuples()}

    @cached_property
    def best_learner(self) -> dict[str, Interval]:
        """By data set, the oracle's interval for the learner that is best on average, from Table
        1."""
        best = self.means["oracle"].groupby("dataset").idxmax()
        return {
            d: _interval(self.means.loc[key, "oracle"], self.widths.loc[key, "oracle"])
            for d, key in best.items()
        }

    @cached_property
    def selection(self) -> pd.DataFrame:
        """Choosing by an estimator against three others, a row per estimator and data set.

        Columns always, any and oracle: accuracy when it chooses less that of always taking the
        learner which is best on average, of a learner at random, and of choosing by the oracle;
        verdict: +1, 0, −1 by closed intervals against the first, which must not meet; less: the
        same by the interval of the difference, as of other tasks, which demands less."""
        rows = {
            (d, estimator): (
                r.estimate - self.best_learner[d].estimate,
                r.estimate - self.means.loc[d, "oracle"].mean(),
                r.estimate - self.chosen[d, "oracle"].estimate,
                compare_by_overlap(r, self.best_learner[d]),
                less(r, self.best_learner[d]).sign,
            )
            for (d, estimator), r in self.chosen.items()
            if estimator != "oracle"
        }
        table = pd.DataFrame(rows, index=["always", "any", "oracle", "verdict", "less"]).T
        return table.rename_axis(["dataset", "estimator"])

    @cached_property
    def tuned(self) -> pd.DataFrame:
        """Differences tuned minus untuned of Table 4, by learner and data set, with the verdict by
        closed intervals."""
        t = published.table(4, "evaluators").set_index(["learner", "dataset", "tuned"])
        intervals = {key: _interval(r["mean"], r["half_width"]) for key, r in t.iterrows()}
        pairs = {
            key[:2]: (intervals[*key[:2], "yes"], untuned)
            for key, untuned in intervals.items()
            if key[2] == "no"
        }
        rows = {
            key: (tuned.estimate - untuned.estimate, compare_by_overlap(tuned, untuned))
            for key, (tuned, untuned) in pairs.items()
        }
        return pd.DataFrame(rows, index=["difference", "verdict"]).T

    @cached_property
    def oracle_choice(self) -> pd.DataFrame:
        """Choosing by the oracle, a row per data set.

        Columns mean, half_width: Table 5. unrelated, unrelated_half_width: the largest of five
        accuracies with the means and spreads of Table 1 that have nothing to do with each other.
        noise: mean of the largest, if learners differ by their means and by the chance of 75
        separate queries alone."""
        rows = {}
        for d in self.means.index.unique("dataset"):
            m = self.means.loc[d, "oracle"].to_numpy()
            s = self.spreads.loc[d, "oracle"].to_numpy()
            mean, sd = largest(m, s)
            noise, _ = largest(m, np.sqrt(m * (100 - m) / 75))
            printed = self.chosen[d, "oracle"]
            half_width = scipy_stats.norm.ppf(0.975) * sd / np.sqrt(self.episodes)
            rows[d] = (printed.estimate, printed.half_width, mean, half_width, noise)
        return pd.DataFrame(
            rows, index=["mean", "half_width", "unrelated", "unrelated_half_width", "noise"]
        ).T


def _interval(mean, half_width):
    return Interval(mean, half_width, 0.95, 0, Target.THESE_IMAGES)


def _verdicts(verdicts):
    """'2 better, 1 worse, 3 open'."""
    n = verdicts.value_counts()
    return ", ".join(
        f"{n.get(v, 0)} {word}" for v, word in ((1, "better"), (-1, "worse"), (0, "open"))
    )


# ---- the estimates


@CHECKS
def _low_folds_best(claimed, evidence):
    return share(evidence.mae.idxmin(axis=1) == "5-fold", "rows of Table 2")


@CHECKS
def _high_bias(claimed, evidence):
    worst = evidence.bias.abs().max()
    finding = "largest difference of the means in Table 1: " + ", ".join(
        f"{worst[k]:.1f} ({k})" for k in ESTIMATORS
    )
    return f"{finding} points", worst.min() > 5


@CHECKS
def _not_co_linear(claimed, evidence):
    r = evidence.cells["correlation"].xs("5-fold", level="estimator")
    album = r["meta-album"]
    others = r.drop("meta-album", level="dataset")
    finding = (
        "if errors are normal, Tables 1 and 2 imply for 5-fold a correlation of "
        f"{album.min():.2f} to {album.max():.2f} on Meta-Album and of {others.min():.2f} to "
        f"{others.max():.2f} elsewhere"
    )
    return finding, bool((r < 0.3).all())


@CHECKS
def _under_estimate(claimed, evidence):
    finding, _ = share(evidence.bias.stack() < 0, "cells of Table 1")
    return finding, bool((evidence.bias < 0).to_numpy().mean() > 0.5)


@CHECKS
def _pessimists(claimed, evidence):
    finding, holds = share(
        evidence.bias[["leave-one-out", "bootstrap"]].stack() < 0, "means of Table 1"
    )
    return f"{finding}; of single episodes the tables say nothing", holds


@CHECKS
def _less_training(claimed, evidence):
    lower, holds = share(
        evidence.bias["leave-one-out"] < evidence.bias["5-fold"], "rows of Table 1"
    )
    finding = (
        f"leave-one-out trains on 24 images, 5-fold on 20, and yet it is the lower one in {lower}"
    )
    return f"{finding} (section 4.3 gives another reason)", not holds


@CHECKS
def _minority_class(claimed, evidence):
    below = evidence.means["leave-one-out"]
    finding = (
        f"leave-one-out is below 5-fold in {share(below < evidence.means['5-fold'])[0]} rows of "
        f"Table 1, and below the 20 % of chance in {(below < 20).sum()}, which fewer training "
        "images alone do not explain"
    )
    return finding, bool((below < evidence.means["5-fold"]).all() and (below < 20).any())


@CHECKS
def _error_definition(claimed, evidence):
    t = evidence.cells[evidence.cells["mae"] < evidence.cells["bias"].abs() - ROUNDING]
    r = evidence.cells["correlation"]
    cells = "; ".join(
        f"{' '.join(k)}: {cell['mae']:.2f} against {abs(cell['bias']):.2f}"
        for k, cell in t.iterrows()
    )
    finding = (
        f"a mean absolute difference is at least the difference of the means, but {len(t)} of "
        f"{len(evidence.cells)} cells are below ({cells}); if errors are normal, {(r > 1).sum()} "
        f"more need a correlation above 1, {' '.join(r.idxmax())} of {r.max():.2f}"
    )
    return finding, t.empty


@CHECKS
def _same_episodes(claimed, evidence):
    t = evidence.cells.loc[(slice(None), slice(None), ["hold-out", "5-fold"]), :]
    unrelated = (t["mae"] - t["unrelated"]).abs() < scipy_stats.norm.ppf(0.975) * t[
        "standard_error"
    ]
    sets, learners = (
        ", ".join(unrelated[unrelated].index.unique(level)) for level in ("dataset", "learner")
    )
    finding = (
        f"{share(unrelated)[0]} errors of hold-out and 5-fold do not differ significantly (at 95 "
        f"%) from those of other episodes' estimates, if errors are normal: {learners} on {sets}"
    )
    return finding, not unrelated.any()


@CHECKS
def _hold_out_size(claimed, evidence):
    n = evidence.held_out
    gap = evidence.bias["hold-out"] - evidence.bias["5-fold"]
    few = n < 4
    if few.all() or not few.any():
        return (
            (
                f"the spreads of Table 1 fit {n.min():.1f} to {n.max():.1f} images in all "
                f"{len(n)} rows"
            ),
            True,
        )
    finding = (
        f"the spreads of Table 1 fit {n[few].min():.1f} to {n[few].max():.1f} images in "
        f"{few.sum()} of {len(n)} rows and {n[~few].min():.1f} to {n[~few].max():.1f} in the "
        f"others; in the former hold-out is {-gap[few].max():.1f} to {-gap[few].min():.1f} points "
        f"below 5-fold, in the latter at most {gap[~few].abs().max():.1f} from it"
    )
    return finding, None  # that n is one for all rows the paper does not say


@CHECKS
def _half_off_by_ten(claimed, evidence):
    chance = float(claimed) / 100
    t = evidence.cells.xs(OF_FIGURE_2, level="dataset")
    best = t["mae"].idxmin()
    chances = t["beyond"].dropna()
    below = chances[chances < chance]
    finding = (
        f"on {OF_FIGURE_2}, of which Figure 2 is, Markov's inequality allows an error of "
        f"{t['mae'][best]:.2f} ({' '.join(best)}) to be beyond 10 points in "
        f"{t['mae'][best] / 10:.1%} of episodes at most; if errors are normal, the chance is "
        f"below {chance:.0%} in {len(below)} of the {len(chances)} cells in which they can "
        f"be{f' ({below.min():.2f} to {below.max():.2f})' if len(below) else ''}"
    )
    return finding, below.empty and bool((t["mae"] >= 10 * chance).all())  # P(|e| > 10) ≤ E|e| / 10


@CHECKS
def _majority_off_by_ten(claimed, evidence):
    chances = evidence.cells["beyond"].dropna()
    finding, _ = share(chances > 0.5, "cells in which errors can be normal")
    return finding, bool((chances > 0.5).sum() > len(evidence.cells) / 2)


@CHECKS
def _best_within_ten(claimed, evidence):
    t = evidence.cells
    best = t["mae"].idxmin()
    second = t.drop(best[:2])["mae"].idxmin()  # of another row, for all of this one is out of line
    finding = (
        f"{' '.join(best)} has the lowest error, {t['mae'][best]:.2f}: at least "
        f"{1 - t['mae'][best] / 10:.0%} (Markov), {1 - t['beyond'][best]:.0%} if errors are "
        f"normal; of other rows {' '.join(second)} has, {t['mae'][second]:.2f}: "
        f"{1 - t['beyond'][second]:.0%} if they are normal"
    )
    return finding, None


@CHECKS
def _bernoulli(claimed, evidence):
    p = evidence.means["oracle"] / 100
    ranks = {
        k: scipy_stats.spearmanr(p * (1 - p), evidence.mae[k]).statistic
        for k in ("hold-out", "5-fold")
    }
    finding = ", ".join(f"{r:.2f} ({k})" for k, r in ranks.items())
    finding = (
        f"rank correlation of p(1 − p) and error over the {len(p)} rows of Tables 1 and 2: "
        f"{finding}"
    )
    return finding, min(ranks.values()) > 0.9


@CHECKS
def _stable_protonet(claimed, evidence):
    rank = (
        evidence.mae[["5-fold", "leave-one-out"]]
        .groupby("dataset")
        .rank()
        .xs("protonet", level="learner")
        .stack()
    )
    finding = (
        f"lowest of five in {share(rank == 1)[0]} columns of Table 2, second in {(rank == 2).sum()}"
    )
    return finding, bool((rank <= 2).all())


@CHECKS
def _three_runs(claimed, evidence):
    chosen = {
        k: r.half_width / evidence.widths.loc[k[0], "oracle"].mean()
        for k, r in evidence.chosen.items()
        if k[1] != "oracle"
    }
    ratio = pd.Series(chosen).groupby(level=0).mean()
    finding = (
        f"half-widths of Table 5 are {ratio['meta-album']:.2f} times those of Table 1 on "
        f"Meta-Album, and {ratio.drop('meta-album').min():.2f} and "
        f"{ratio.drop('meta-album').max():.2f} times elsewhere; three runs pooled would make "
        f"{3**-0.5:.2f}: pooled in Table 5, it seems, and not in Table 1"
    )
    return finding, None


@CHECKS
def _imbalance_best(claimed, evidence):
    return share(evidence.imbalanced.idxmin(axis=1) == "5-fold", "rows of Table 3")


@CHECKS
def _imbalance_unchanged(claimed, evidence):
    equal = evidence.mae.xs("baseline", level="learner").loc[evidence.imbalanced.index]
    same_order = (evidence.imbalanced[ESTIMATORS].rank(axis=1) == equal.rank(axis=1)).all(axis=1)
    lower = share((evidence.imbalanced[ESTIMATORS] < equal).stack(), "errors")[0]
    finding = (
        "the order of the four estimators is that of Table 2 in "
        f"{share(same_order, 'data sets')[0]}"
    )
    return f"{finding}; {lower} are lower than with equal counts", bool(same_order.all())


@CHECKS
def _imbalance_half(claimed, evidence):
    mean = evidence.imbalanced["5-fold"]
    median = mean * scipy_stats.halfnorm.median() / scipy_stats.halfnorm.mean()
    finding = "; ".join(f"{d}: mean {mean[d]:.2f}, median {median[d]:.1f}" for d in mean.index)
    return f"5-fold in Table 3 (medians if errors are normal without bias): {finding}", None


# ---- choosing by them


@CHECKS
def _enough_to_select(claimed, evidence):
    t = evidence.selection
    finding = (
        f"choosing by an estimator is better than a learner at random in {share(t['any'] > 0)[0]} "
        "cells of Table 5, but than always taking the learner that is best on average in "
        f"{share(t['always'] > 0)[0]}; by closed intervals {_verdicts(t['verdict'])}"
    )
    return finding, bool((t["verdict"].groupby(level=0).max() == 1).all())


@CHECKS
def _unlikely_to_select(claimed, evidence):
    finding, enough = _enough_to_select(claimed, evidence)
    return f"{finding} (the abstract says the opposite)", not enough


@CHECKS
def _many_folds_select(claimed, evidence):
    many = ["leave-one-out", "bootstrap"]
    means = pd.Series(
        {k: r.estimate for k, r in evidence.chosen.items() if k[1] != "oracle"}
    ).unstack()
    ahead = means[many].min(axis=1) > means.drop(columns=many).max(axis=1)
    verdicts = {
        rival: pd.Series(
            [
                compare_by_overlap(evidence.chosen[d, k], evidence.chosen[d, rival])
                for d in means.index
                for k in many
            ]
        )
        for rival in ("5-fold", "hold-out")
    }
    finding = (
        f"both are ahead in {share(ahead, 'data sets')[0]} of Table 5; by closed intervals "
        + ", and ".join(f"against {rival} {_verdicts(of)}" for rival, of in verdicts.items())
    )
    against_five = verdicts["5-fold"]
    if (against_five == 0).all():
        return finding, None  # all intervals overlap, whatever the order of the means
    return finding, bool((against_five == 1).all())


@CHECKS
def _oracle_gap(claimed, evidence):
    oracle_above = pd.Series(
        [
            compare_by_overlap(evidence.chosen[d, "oracle"], r) == 1
            for (d, k), r in evidence.chosen.items()
            if k != "oracle"
        ]
    )
    noise = ", ".join(
        f"{r['noise']:.1f} of the {r['mean']:.1f} on {d}"
        for d, r in evidence.oracle_choice.iterrows()
    )
    finding = (
        f"{share(oracle_above, 'intervals apart')[0]}, by "
        f"{-evidence.selection['oracle'].max():.1f} points or more; but it picks and scores with "
        f"the same queries: if it has 75 and learners err separately, chance alone gives {noise}"
    )
    return finding, bool(oracle_above.all())


@CHECKS
def _oracle_episodes(claimed, evidence):
    t = evidence.oracle_choice
    as_unrelated = (t["half_width"] / t["unrelated_half_width"] - 1).abs() < 0.05
    finding = "; ".join(
        f"{d}: {r['mean']:.1f} ± {r['half_width']:.2f} "
        f"against {r['unrelated']:.1f} ± {r['unrelated_half_width']:.2f} "
        f"(a learner alone ± {evidence.widths.loc[d, 'oracle'].mean():.2f})"
        for d, r in t.iterrows()
    )
    return (
        f"Table 5 against the best of five learners on five unrelated episodes: {finding}",
        None if as_unrelated.any() else True,  # unrelated learners on one episode look the same
    )


@CHECKS
def _ridge_tuning(claimed, evidence):
    t = evidence.tuned.loc["baseline"]
    finding = ", ".join(f"{d} {v:+.2f}" for d, v in t["difference"].items())
    return f"Table 4: {finding}; by closed intervals {_verdicts(t['verdict'])}", bool(
        (t["verdict"] == 1).any()
    )


@CHECKS
def _maml_tuning(claimed, evidence):
    t = evidence.tuned.loc["maml"]
    worst = t["difference"].idxmin()
    excess = -t["difference"][worst] + evidence.bias.loc[(worst, "maml"), "5-fold"]
    changes = ", ".join(f"{d} {v:+.2f}" for d, v in t["difference"].items())
    finding = (
        f"Table 4: {changes}; by closed intervals {_verdicts(t['verdict'])}. If the usual number "
        f"of steps was a candidate, 5-fold over-rates what it chose on {worst} by {excess:.0f} "
        "points on average"
    )
    return finding, t["verdict"].nunique() > 1


def _of_figure(number, claimed, evidence):
    return FIGURE.format(number), None


for _name, _number in (
    ("shots-help", 3),
    ("best-correlation", 4),
    ("many-rounds-rank", 4),
    ("clip-milder", 5),
    ("five-folds-ideal", 7),
    ("ways-matter", 7),
    ("tuning-few-ways", 8),
):
    CHECKS.by_claim[_name] = partial(_of_figure, _number)
