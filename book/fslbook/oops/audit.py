"""Statements in the prose of the OOPS paper, each checked against its own tables and released data."""

from __future__ import annotations

from functools import cache, cached_property, partial
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats

from fslcore import stats
from fslcore.stats import Target

from .. import published
from ..checks import Checks, count, share
from . import CAP, benchmark, gaussians

CHECKS = Checks("oops", {"not-confirmed": "flip-flop"})
NOT_RELEASED = "needs the released tasks, which are not at hand"
FLIP = {"+": "-", "-": "+", "0": "0"}


def audit(released: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every claim with what follows from the tables, and the verdict.

    Parameters
    ----------
    released : DataFrame, optional
        The released per-task accuracies, as `fslbook.released.read` gives them.

    Returns
    -------
    DataFrame
        As `fslbook.checks.Checks.run` gives it.
    """
    return CHECKS.run(Evidence(released))


class Evidence:
    """The paper's printed tables and, where available, the released tasks, arranged for the checks.

    Parameters
    ----------
    released : DataFrame, optional
        As for `audit`.
    """

    def __init__(self, released: pd.DataFrame | None = None):
        #: Results of LR, NCC and FT on CLIP and DINO at 5 shots, or None.
        self.tasks = None
        if released is not None and (released["shots"] == 5).any():
            self.tasks = benchmark.papers_methods(released[released["shots"] == 5])

    @cached_property
    def widths(self) -> pd.DataFrame:
        """Table 2's half-widths: columns closed and open; rows dataset, backbone, learner."""
        keys = ["dataset", "backbone", "learner"]
        return published.table(2).pivot(index=keys, columns="sampling", values="half_width")

    @cached_property
    def direct(self) -> pd.DataFrame:
        """Closed and open verdicts on every pair of methods in Table 2, and the difference of the open means."""
        t = published.table(2).set_index(["dataset", "backbone", "learner", "sampling"])
        targets = {"closed": Target.THESE_IMAGES, "open": Target.NEW_IMAGES}
        rows = []
        for dataset in t.index.unique("dataset"):
            intervals = {
                k: stats.Interval(r["mean"], r["half_width"], 0.95, 0, targets[k[-1]])
                for k, r in t.loc[dataset].iterrows()
            }
            for a, b in combinations(dict.fromkeys(k[:2] for k in intervals), 2):
                verdicts = [
                    stats.compare_by_overlap(intervals[*a, kind], intervals[*b, kind])
                    for kind in ("closed", "open")
                ]
                rows.append(
                    (
                        dataset,
                        a,
                        b,
                        *verdicts,
                        intervals[*a, "open"].estimate - intervals[*b, "open"].estimate,
                    )
                )
        return pd.DataFrame(rows, columns=["dataset", "a", "b", "closed", "open", "difference"])

    @cached_property
    def direct_either_way(self) -> pd.DataFrame:
        """As ``direct``, with each pair in both orders."""
        return benchmark.either_way(self.direct, ["closed", "open", "difference"])

    @cached_property
    def table_1(self) -> pd.DataFrame:
        """Table 1's pairs, as `fslbook.oops.benchmark.printed_pairs` gives them."""
        return benchmark.printed_pairs(1)

    @cached_property
    def table_1_with_ncc(self) -> pd.DataFrame:
        """The pairs of Table 1 that Table 2 does not hold."""
        return self.table_1[
            ["ncc" in (a[1], b[1]) for a, b in zip(self.table_1["a"], self.table_1["b"])]
        ]

    @cached_property
    def table_3(self) -> pd.DataFrame:
        """Table 3's pairs, each once."""
        t = benchmark.printed_pairs(3)
        return t[
            [not (a == ("dino", "ft") and b == ("clip", "ft")) for a, b in zip(t["a"], t["b"])]
        ]

    @cached_property
    def own_backbone(self) -> pd.DataFrame:
        """Table 3's pairs of FT with a learner on the same backbone."""
        return self.table_3[[a[0] == b[0] for a, b in zip(self.table_3["a"], self.table_3["b"])]]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Tables 4 to 6 as printed, with the number of the ``table``."""
        return pd.concat([published.table(n).assign(table=n) for n in (4, 5, 6)]).dropna(
            subset="mean"
        )

    @cached_property
    def task_pairs(self) -> pd.DataFrame:
        """Of every pair of methods in the released 5-shot tasks (Q = 5): verdicts, correlation, half-widths."""
        pairs = benchmark.pair_table(self.tasks)
        per_task = {d: benchmark.methods(self.tasks, d, "open") for d in pairs["dataset"].unique()}
        rows = []
        for d, a, b in pairs[["dataset", "a", "b"]].itertuples(index=False):
            x, y = per_task[d][a], per_task[d][b]
            single = [stats.open_task_interval(m).half_width for m in (x, y)]
            rows.append((np.corrcoef(x, y)[0, 1], stats.paired_interval(x, y).half_width, *single))
        return pairs.join(
            pd.DataFrame(
                rows, columns=["correlation", "half_width", "half_width_a", "half_width_b"]
            )
        )


# ---- section 2: closed and open intervals


@CHECKS
def _sizes(printed, e):
    sizes = published.table(2).drop_duplicates("dataset").set_index("dataset")["n_images"]
    sizes = [int(sizes[d]) for d in ("aircraft", "dtd", "mscoco", "quickdraw")]
    rounded = [abs(n - float(s)) <= 0.005 * n for n, s in zip(sizes, printed.split())]
    return "Table 2: " + ", ".join(f"{n:,}" for n in sizes), all(rounded)


@CHECKS
def _closed_alike(printed, e):
    spread = {kind: e.widths[kind].max() / e.widths[kind].min() for kind in ("closed", "open")}
    finding = f"Table 2: widest over narrowest half-width is {spread['closed']:.1f} closed, {spread['open']:.1f} open"
    return finding, spread["closed"] < spread["open"]


@CHECKS
def _small_closed_narrower(printed, e):
    w = e.widths.loc[["aircraft", "dtd"]]
    return share(w["closed"] < w["open"], "cells of Table 2")


def _closed_wider(datasets, printed, e):
    w = e.widths.loc[datasets]
    return share(w["closed"] > w["open"], "cells of Table 2")


CHECKS.by_claim["large-closed-wider"] = partial(_closed_wider, ["quickdraw"])
CHECKS.by_claim["limits-large-wider"] = partial(_closed_wider, ["mscoco", "quickdraw"])


@CHECKS
def _width_ratio(printed, e):
    ratio = e.widths["closed"] / e.widths["open"]
    finding = (
        f"Table 2: closed / open is {ratio.mean():.2f} on average; open / closed is {(1 / ratio).mean():.2f} "
        f"(median {(1 / ratio).median():.2f})"
    )
    return finding, round(ratio.mean(), 1) == float(printed)


@CHECKS
def _until_exhausted(printed, e):
    w = e.widths.loc["quickdraw"]
    implied = (
        600 * (w["closed"] / w["open"]).median() ** 2
    )  # equal standard deviations, T = 600 closed
    images = published.table(2).set_index("dataset")["n_images"]["quickdraw"].iloc[0]
    finding = (
        f"Quickdraw holds {images // 100:,} tasks of 100 images; the half-widths of Table 2 imply about {implied:,.0f} "
        f"(the released sampler stops at {CAP:,})"
    )
    return finding, implied > 0.5 * images / 100


@CHECKS
def _saturation_cub(printed, e):
    w = e.widths.loc["cub"]
    return share((w.loc["clip"] < w.loc["dino"]).stack(), "cells of Table 2")


@CHECKS
def _joint_coverage(printed, e):
    z = scipy_stats.norm.ppf(0.975)
    bound, error = (1 - 0.025) ** 2, 2 * scipy_stats.norm.sf(z * np.sqrt(2))
    finding = (
        f"(1 − 0.025)² = {bound:.4f}, if the two are independent, as a rate over repetitions and not as the chance "
        f"that one order found is right; equal means of equal standard error would differ in {error:.1%} of the "
        "cases, so the rule is far stricter than 95 %"
    )
    return finding, bound >= float(printed)


@CHECKS
def _dtd_closed_conclusive(printed, e):
    finding, holds = share(
        e.direct.query("dataset == 'dtd'")["closed"] != 0, "pairs of Table 2 (LR, FT)"
    )
    first_table, _ = share(
        e.table_1.query("dataset == 'dtd'")["closed"] != 0, "of Table 1 (NCC, FT)"
    )
    return f"{finding}; {first_table}", holds


@CHECKS
def _dtd_open_inconclusive(printed, e):
    conclusive = e.direct.query("dataset == 'dtd'")["open"] != 0
    return share(conclusive, "pairs of Table 2")[0], int(conclusive.sum()) == int(printed)


# ---- section 3: paired tests


@CHECKS
def _hard_for_all(printed, e):
    if e.tasks is None:
        return NOT_RELEASED, None
    r = e.task_pairs["correlation"]
    finding = f"correlation above 0 in {share(r > 0)[0]} pairs (released 5-shot tasks, Q = 5), median {r.median():.2f}"
    return finding, (r > 0).mean() > 0.5


@CHECKS
def _figure1_correlation(printed, e):
    obstacle = "the two methods are not named"
    if e.tasks is None:
        return f"{obstacle}, and it {NOT_RELEASED}", None
    signs = e.task_pairs.query("dataset == 'traffic-signs'")
    same_backbone = np.array([a[0] == b[0] for a, b in zip(signs["a"], signs["b"])])
    low, high = (
        "{:.2f} to {:.2f}".format(*signs["correlation"][w].agg(["min", "max"]))
        for w in (~same_backbone, same_backbone)
    )
    return (
        f"{obstacle}; released tasks, at Q = 5, give {low} across backbones and {high} within one",
        None,
    )


@CHECKS
def _paired_narrower(printed, e):
    if e.tasks is None:
        return NOT_RELEASED, None
    t = e.task_pairs
    narrower = t["half_width"] < t[["half_width_a", "half_width_b"]].min(axis=1)
    return share(
        narrower, "paired intervals are narrower than both open ones (released 5-shot tasks)"
    )


@CHECKS
def _no_contradiction(printed, e):
    t = e.table_3
    against = (t["open"] != 0) & (t["open"] != t["paired"])
    return share(against, "pairs of Table 3")[0], int(against.sum()) == int(printed)


@CHECKS
def _mean_of_differences(printed, e):
    pairs = e.table_3[e.table_3["paired"] != 0].merge(e.direct_either_way, on=["dataset", "a", "b"])
    return share(np.sign(pairs["difference"]) == pairs["paired"], "pairs that Tables 2 and 3 share")


@CHECKS
def _table3_opposites(printed, e):
    t = published.table(3)
    t = t[t["b_learner"] == "ft"].set_index(["dataset", "a_backbone"])[["open", "paired"]]
    clip, dino = (t.xs(backbone, level="a_backbone") for backbone in ("clip", "dino"))
    return share((clip == dino.map(FLIP.get).loc[clip.index]).all(axis=1), "data sets of Table 3")


@CHECKS
def _ft_cases(printed, e):
    return count(len(e.own_backbone), printed)


def _ft_verdicts(verdict, printed, e):
    """Check how often FT is better (1) or worse (-1) than a learner on the same backbone."""
    by_paired, by_open = ((e.own_backbone[kind] == verdict).sum() for kind in ("paired", "open"))
    finding, holds = count(by_paired, printed)
    return f"{finding} by the paired symbol of Table 3, {by_open} by the open one", holds


CHECKS.by_claim["ft-better"] = partial(_ft_verdicts, 1)
CHECKS.by_claim["ft-worse"] = partial(_ft_verdicts, -1)


@CHECKS
def _n_comparisons(printed, e):
    sets = published.table(2)["dataset"].nunique()
    pairs = sum(1 for _ in combinations(range(6), 2))
    return f"{pairs} pairs × {sets} data sets = {pairs * sets}", pairs * sets == int(printed)


def _conclusive(kind, printed, e):
    """Check a count over all pairs. Table 3 prints only some pairs, so the count is known within bounds."""
    all_pairs, pair_count = int(published.claims()["value"]["n-comparisons"]), len(e.table_3)
    conclusive = int((e.table_3[kind] != 0).sum())
    finding = (
        f"Table 3 prints {pair_count} of the {all_pairs} pairs, {conclusive} of them conclusive"
    )
    if e.tasks is not None:
        finding += f"; released 5-shot tasks, at Q = 5: {(e.task_pairs[kind] != 0).sum()}"
    return finding, None if conclusive <= int(
        printed
    ) <= conclusive + all_pairs - pair_count else False


CHECKS.by_claim["open-conclusive"] = partial(_conclusive, "open")
CHECKS.by_claim["paired-conclusive"] = partial(_conclusive, "paired")


@CHECKS
def _closed_conclusive(printed, e):
    all_pairs = int(published.claims()["value"]["n-comparisons"])
    verdicts = pd.concat([e.direct["closed"], e.table_1_with_ncc["closed"]])
    conclusive, missing = int((verdicts != 0).sum()), all_pairs - len(verdicts)
    finding = (
        f"Tables 1 and 2 show {len(verdicts)} of the {all_pairs} pairs, {conclusive} of them conclusive; "
        f"{int(printed) - conclusive} of the other {missing} would have to be"
    )
    return finding, None if conclusive <= int(printed) <= conclusive + missing else False


def _left_over() -> int:
    """Pairs that must be conclusive by all three rules: those closed, minus the two groups that the paper names."""
    v = (
        published.claims()["value"]
        .reindex(["closed-conclusive", "flip-flop", "not-confirmed"])
        .astype(int)
    )
    return v["closed-conclusive"] - v["flip-flop"] - v["not-confirmed"]


@CHECKS
def _flip_flop(printed, e):
    v = published.claims()["value"]
    opened, paired = int(v["open-conclusive"]), int(v["paired-conclusive"])
    finding = (
        f"{v['closed-conclusive']} − {printed} − {v['not-confirmed']} = {_left_over()} pairs would be conclusive open, "
        f"but {opened} are; {_left_over()} + {printed} = {_left_over() + int(printed)} paired, but {paired} are"
    )
    return finding, _left_over() <= opened and _left_over() + int(printed) <= paired


@CHECKS
def _not_confirmed(printed, e):
    return _flip_flop(published.claims()["value"]["flip-flop"], e)


def _percent(count, printed, e):
    """Check a share that is printed as "about" a percentage: it holds within one point."""
    v = published.claims()["value"]
    share = 100 * int(v[count]) / int(v["closed-conclusive"])
    return f"{v[count]} of {v['closed-conclusive']} is {share:.1f} %", abs(
        share - float(printed.removeprefix("~"))
    ) < 1


CHECKS.by_claim["flip-flop-percent"] = partial(_percent, "flip-flop")
CHECKS.by_claim["not-confirmed-percent"] = partial(_percent, "not-confirmed")


@CHECKS
def _inversions(printed, e):
    shared = e.table_3[["dataset", "a", "b", "paired"]].merge(
        e.direct_either_way, on=["dataset", "a", "b"]
    )
    pairs = pd.concat([shared, e.table_1_with_ncc])
    inversions = int((pairs["closed"] * pairs["paired"] < 0).sum())
    finding = (
        f"{inversions} among the {len(pairs)} pairs whose closed and paired verdicts are printed, "
        "or follow from Table 2"
    )
    return finding, None if inversions < int(printed) else inversions == int(printed)


# ---- section 4: sizing tasks, on the paper's two Gaussian classes


SHOTS = range(1, 51)


@cache
def _model(shots: int) -> stats.VarianceModel:
    return gaussians.gaussian_moments(shots).model(shots)


def _variance(shots: int, queries: ArrayLike) -> np.ndarray | float:
    """Variance over tasks of the accuracy on 2 × Q queries (OOPS, appendix A)."""
    return _model(shots).variance(queries, 1)


def _best(shots: int, images: int) -> tuple[int, int]:
    """The Q with the least variance of the mean over ⌊images / (S + Q)⌋ tasks, and that number of tasks."""
    queries = np.arange(1, images - shots + 1)
    tasks = images // (shots + queries)
    best = int((_variance(shots, queries) / tasks).argmin())
    return int(queries[best]), int(tasks[best])


def _simulated(shots: int, rng: Generator) -> np.ndarray:
    """(2, 200000) accuracies expected on each class, given supports drawn at random."""
    a, b = rng.normal(
        [[-1], [1]], 1 / np.sqrt(shots), (2, 200_000)
    )  # the means of the two supports
    threshold = (a + b) / 2
    mu = np.stack([scipy_stats.norm.cdf(1 + threshold), scipy_stats.norm.cdf(1 - threshold)])
    return np.where(a < b, mu, 1 - mu)


@CHECKS
def _variance_formula(printed, e):
    rng, off = np.random.default_rng(0), []
    for shots, queries in ((1, 1), (5, 5), (5, 50)):
        accuracies = rng.binomial(queries, _simulated(shots, rng)).mean(axis=0) / queries
        off.append(accuracies.var() / _variance(shots, queries) - 1)
    worst = max(map(abs, off))
    return (
        f"simulated on the Gaussian classes, {len(off)} settings: off by at most {worst:.1%}",
        worst < 0.03,
    )


@CHECKS
def _alpha_positive(printed, e):
    expected = _simulated(1, np.random.default_rng(0)).mean(axis=0).var()
    alpha = [_model(s).alpha for s in SHOTS]
    finding = (
        "α is the variance over supports of a task's expected accuracy, so it is never negative, with nothing assumed: "
        f"on the Gaussian classes at 1 shot α is {alpha[0]:.4f}, and that variance, simulated, {expected:.4f}"
    )
    return finding, not (min(alpha) > 0 and abs(expected / alpha[0] - 1) < 0.03)


@CHECKS
def _beta_positive(printed, e):
    beta = [_model(s).beta for s in SHOTS]
    finding = (
        f"on the Gaussian classes β is {min(beta):.3f} or more for {SHOTS[0]} to {SHOTS[-1]} shots; "
        "m2 < m1 unless every support gives accuracy 0 or 1"
    )
    return finding, min(beta) > 0


@CHECKS
def _q_star_shots(printed, e):
    best = [_model(s).optimum for s in SHOTS]
    some = ", ".join(f"{best[s - 1]:.1f} at {s}" for s in (1, 5, 10, 20))
    return f"√(β/α) on the Gaussian classes: {some} shots", bool((np.diff(best) > 0).all())


@CHECKS
def _q_star_images(printed, e):
    fixed = round(_model(5).optimum)
    optima = []
    cost = []
    for images in (250, 500, 1000, 4000):
        queries, tasks = _best(5, images)
        optima.append(f"{queries} of {images:,}")
        best = _variance(5, queries) / tasks
        cost.append(np.sqrt(_variance(5, fixed) / (images // (5 + fixed)) / best) - 1)
    finding = (
        f"α and β do not contain N. With whole tasks only, the best Q at 5 shots is {', '.join(optima)} images per "
        f"class; to take {fixed} everywhere widens intervals by {max(cost):.0%} at most"
    )
    return finding, max(cost) < 0.05


@CHECKS
def _q_star_synthetic(printed, e):
    queries, tasks = _best(1, 500)
    wider = (
        np.sqrt(
            _variance(1, int(printed))
            / (500 // (1 + int(printed)))
            / (_variance(1, queries) / tasks)
        )
        - 1
    )
    return (
        f"{queries}, by equation 7 with whole tasks; at {printed} intervals are {wider:.1%} wider",
        queries == int(printed),
    )


@CHECKS
def _one_task(printed, e):
    optima = {s: _best(s, 500) for s in (20, 30, 50)}
    finding = "; ".join(
        f"{s} shots: Q = {q}, {n} task{'' if n == 1 else 's'}" for s, (q, n) in optima.items()
    )
    return f"{finding} (and one task gives no interval)", all(
        n == int(printed) for _, n in optima.values()
    )


def _q_star(printed, e):
    return "read off Figure 4, whose values are not printed", None


CHECKS.by_claim |= dict.fromkeys(("q-star-1", "q-star-5", "q-star-10"), _q_star)


# ---- section 5 and appendices: the benchmark


@CHECKS
def _paired_optimised_conclusive(printed, e):
    if e.tasks is None:
        return NOT_RELEASED, None
    return count((e.task_pairs["paired"] != 0).sum(), printed)


def _better_worse(selected, printed, e):
    """Check that FT is worse more often than better, over all shots of some printed differences."""
    counts = benchmark.verdict_counts(e.differences[selected(e.differences)], "shots")
    better, worse = counts["FT better"].sum(), counts["FT worse"].sum()
    parts = []
    for shots, row in counts.iterrows():
        parts.append(
            f"S = {shots}: {row['FT better']} better, {row['FT worse']} worse of {row.sum()}"
        )
    pairs = counts.to_numpy().sum()
    finding = f"{better} better, {worse} worse of {pairs} ({'; '.join(parts)})"
    return finding, bool(worse > better)


CHECKS.by_claim["ft-less-effective"] = partial(
    _better_worse, lambda d: d["a_backbone"] == d["b_backbone"]
)
CHECKS.by_claim["ft-appendix"] = partial(_better_worse, lambda d: d["table"] > 4)


@CHECKS
def _dinov2_advantage(printed, e):
    crossed = e.differences[e.differences["a_backbone"] != e.differences["b_backbone"]]
    counts = benchmark.verdict_counts(crossed, "dataset")
    ahead = counts["FT better"] > counts["FT worse"]
    finding, _ = share(ahead, "data sets of Table 4")
    behind = ", ".join(counts.index[~ahead])
    return (
        f"{finding} (not {behind}); but it is FT on DINOv2 against LR on the others",
        ahead.mean() > 0.5,
    )


@CHECKS
def _dinov2_table_number(printed, e):
    number = e.differences.query("a_backbone == 'dinov2'")["table"].unique()
    baseline = e.differences.query(f"table == {printed}")["a_backbone"].unique()
    return f"Table {number[0]}; Table {printed} has {baseline[0].upper()}", list(number) == [
        int(printed)
    ]


@CHECKS
def _open_far_wider(printed, e):
    return share(e.widths["open"] > e.widths["closed"], "cells of Table 2")


@CHECKS
def _omniglot_removed(printed, e):
    v = published.claims()["value"]
    all_pairs, sets = int(v["n-comparisons"]), published.table(2)["dataset"].nunique()
    finding = f"without it there are {all_pairs - all_pairs // sets} pairs, not the {all_pairs} the text counts in"
    if e.tasks is None:
        return finding, None
    without = (e.task_pairs.query("dataset != 'omniglot'")["paired"] != 0).sum()
    printed_count = v["paired-optimised-conclusive"]
    return (
        f"{finding}; released tasks without it give {without} conclusive, where the figure has {printed_count}",
        False,
    )
