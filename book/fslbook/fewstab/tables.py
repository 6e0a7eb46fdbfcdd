"""Learners on attribute-biased tasks: the tables and figures of FewSTAB (Zheng, Ye and Zhang, 2024), run here.

`collect` draws random and biased tasks of each data set and number of shots, runs the learners on them, and
gives their accuracies with closed intervals; all else is arithmetic on that table. A learner goes by the
name of its training (`DECIDES`), and what it was trained with comes with its backbone. Accuracies and gaps are in
percent (points).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fslcore import datasets, evaluation
from fslcore.errors import InputError, flag, instance, number, shown
from fslcore.evaluation import Method, Record
from fslcore.stats import Interval, closed_interval, independent_interval, paired_interval
from fslcore.stats.intervals import plus_minus
from fslcore.tasks import Tasks, biased, sample_biased, sample_closed, sample_matched

from .. import attributes, published
from ..catalogue import FACTS
from ..checks import DATASETS
from ..training import RECIPES, recipes
from ..training.recipes import trained_with
from . import training

if TYPE_CHECKING:
    from fslcore.evaluation import Method, Record

__all__ = [
    "CONSTRUCTIONS",
    "DECIDES",
    "NEAR",
    "RECENT",
    "REMEDIED",
    "ablation",
    "averages",
    "beside",
    "collect",
    "constructions",
    "draw",
    "draw_matched",
    "draw_random",
    "example",
    "findings",
    "gaps",
    "images_of",
    "means",
    "method",
    "named",
    "near_chance",
    "parts",
    "printed_ablation",
    "rank_correlations",
    "ranks",
    "records",
    "remedy",
    "spoken",
    "titled",
    "training_gap",
]

#: The learners of Table S9, trained without labels.
RECENT = ("unisiam", "psco", "beclr")
#: Those of Table S10, by their names there: on frozen features, with "-ifsl" the remedied ones.
REMEDIED = {"maml": "maml-frozen", "mn": "matchingnet", "sib": "sib", "mtl": "mtl"}
#: What decides on a task, by the name of the training: the paper's ten in its order, two more, and its other tables'.
DECIDES = {
    name: RECIPES[name].learner
    for name in (
        *(*training.TEN, "baseline", "maml", *RECENT),
        *(name + how for name in REMEDIED.values() for how in ("", "-ifsl")),
    )
}
ON_BATCHES = tuple(name for name in DECIDES if RECIPES[name].batch != "tasks")  # of images: no shots in training
#: Ways to build tasks (Tables S5 and S6; and the released code's), as arguments of `fslcore.tasks.sample_biased`.
CONSTRUCTIONS = {
    "SC1": {"support": "SC1"},
    "SC2": {"support": "SC2"},
    "SC3": {},
    "QC1": {"query": "QC1"},
    "QC2": {"query": "QC2"},
    "QC3": {},
    "released": {"variant": "released"},
}
SETTING = ["dataset", "shots"]
NEAR = "°"  #: what marks a cell near chance (`near_chance`)


def method(name: str, train_shots: int = 5, trained: str = training.SHIPPED) -> Method:
    """Backbone and learner of a training: ('conv4-icons-1shot-r2d2', 'r2d2') for 'r2d2' trained on 1-shot tasks.

    Parameters
    ----------
    trained : str
        The backbone, where ``{learner}`` stands for the training and its shots ('1shot-r2d2') and ``{dataset}`` for the
        data set; by default the network that ships.

    Raises
    ------
    InputError
        An unknown name, or shots other than 1 and 5. Whether there is such a checkpoint
        `fslcore.models.backbones.load` says.
    """
    if name not in DECIDES:
        raise InputError(f"learner = {name}; {', '.join(DECIDES)} are allowed")
    if train_shots not in (1, 5):
        raise InputError(f"train_shots = {train_shots}; 1 and 5 are allowed")
    return Method(*recipes.method(name, train_shots, trained))


@lru_cache(maxsize=4)
def images_of(dataset: str) -> datasets.Images:
    """A data set that holds images, not features."""
    images = evaluation.load_source(dataset)
    if not isinstance(images, datasets.Images):
        raise InputError(f"dataset = {dataset}; biased tasks need images, not features")
    return images


@lru_cache(maxsize=8)
def _attributes(dataset: str, captioner: str) -> attributes.Attributes:
    return attributes.of(images_of(dataset), captioner)


@lru_cache(maxsize=64)
def draw(
    dataset: str, captioner: str, *, tasks: int, shots: int, ways: int = 5, queries: int = 15, seed: int = 0, **how: str
) -> tuple[Tasks, np.ndarray]:
    """Biased tasks of a data set, with the attributes that a captioner finds (`fslbook.attributes.of`).

    Parameters and errors: as for `fslcore.tasks.sample_biased`; ``how`` is support, query and variant.
    """
    has, labels = _attributes(dataset, captioner).has, _labels(dataset)
    return sample_biased(labels, has, tasks=tasks, ways=ways, shots=shots, queries=queries, seed=seed, **how)


def draw_random(dataset: str, *, seed: int = 0, **shape: int) -> Tasks:
    """Random tasks of a data set, without classes that have too few images; as for `fslcore.tasks.sample_closed`."""
    return sample_closed(_labels(dataset), seed=seed, skip_small_classes=True, **shape)


def draw_matched(dataset: str, tasks: Tasks, *, seed: int = 0) -> Tasks:
    """Random tasks of a data set with the classes of ``tasks``, one by one; as for `fslcore.tasks.sample_matched`."""
    return sample_matched(_labels(dataset), tasks, seed=seed)


def _labels(dataset: str) -> np.ndarray:
    return images_of(dataset).classes


def records(
    dataset: str,
    tasks: Tasks,
    names: Sequence[str],
    *,
    image_tasks: int = 100,
    train_shots: int | None = None,
    stored: bool = True,
    trained: str = training.SHIPPED,
) -> dict[str, Record]:
    """Records of learners on tasks, by name.

    Parameters
    ----------
    names : sequence of str
        Out of `DECIDES`.
    image_tasks : int
        Learners that read images are slow: they run on so many of the first tasks.
    train_shots : int, optional
        Of the training. By default that of the tasks, where there is such a checkpoint, else 5.
    stored : bool
        Compute nothing for learners that read images, and leave out those of which no results are kept.
    trained : str
        As for `method`.
    """
    out, images = {}, images_of(dataset)
    for name in names:
        shots = train_shots or trained_with(tasks.sampler["shots"])
        run = evaluation.ready(images, *method(name, shots, trained))
        found = run.record(tasks[:image_tasks] if run.slow else tasks, stored=stored and run.slow)
        if found is not None:
            out[name] = found
    return out


def collect(
    sets: Sequence[str],
    names: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5),
    captioner: str = "pixels",
    matched: bool = False,
    ways: int = 5,
    queries: int = 15,
    tasks: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    how: dict | None = None,
    **options,
) -> pd.DataFrame:
    """Tables 3 and S7: accuracies on random and on biased tasks, and the gap.

    Parameters
    ----------
    sets : sequence of str
        Data sets, as for `fslcore.datasets.load`.
    names, options
        As for `records`.
    captioner : str
        As for `fslbook.attributes.of`.
    matched : bool
        Give the random tasks the classes of the biased ones, task by task; the gap is then a paired difference.
    shots, ways, queries, tasks, seed, how
        Of the tasks, as for `draw`. Random tasks leave out classes with too few images.
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        By dataset, shots and learner: acc, wacc-r, wacc-a and gap, each a closed `fslcore.stats.Interval`.

    Raises
    ------
    InputError
        What the loaders and samplers raise; no results.
    """
    tables, shape = {}, dict(ways=ways, queries=queries, seed=seed, tasks=tasks)
    for dataset, s in product(sets, shots):
        trapped, _ = draw(dataset, captioner, shots=s, **shape, **(how or {}))
        plain = draw_matched(dataset, trapped, seed=seed) if matched else draw_random(dataset, shots=s, **shape)
        r, a = (records(dataset, drawn, names, **options) for drawn in (plain, trapped))
        r, a = ({name: of[name] for name in names if name in r and name in a} for of in (r, a))
        if not r:
            continue
        found = gaps(r, a, paired=matched, level=level).rename(columns=str.lower)
        found.insert(0, "acc", [closed_interval(100 * of.accuracy(), level) for of in r.values()])
        tables[dataset, s] = found
    if not tables:
        raise InputError(f"learners = {', '.join(names)}; no results of them are at hand")
    return pd.concat(tables, names=[*SETTING, "learner"])


def ablation(
    sets: Sequence[str], names: Sequence[str], techniques: Sequence[str], *, shots: int = 5, **options
) -> pd.DataFrame:
    """Tables S5 and S6: gaps by dataset and learner, a column a technique of `CONSTRUCTIONS`; options of `collect`."""
    if not len(sets):
        raise InputError(
            f"captioner = {options.get('captioner')}; on no data set do all of {', '.join(techniques)} build "
            f"{shots}-shot tasks from what it finds: name another first, or other data sets"
        )
    gaps = {t: collect(sets, names, shots=[shots], how=CONSTRUCTIONS[t], **options)["gap"] for t in techniques}
    return pd.DataFrame(gaps).droplevel("shots")


def averages(
    sets: Sequence[str],
    names: Sequence[str],
    techniques: Sequence[str],
    *,
    captioner: str = "pixels",
    shots: int = 5,
    tasks: int = 1000,
    level: float = 0.95,
    ways: int = 5,
    queries: int = 15,
    seed: int = 0,
    **options,
) -> pd.DataFrame:
    """Average drops of Tables 5, S5 and S6 with intervals, on the tasks that all learners have run.

    The gap is averaged over learners task by task, so that what a task does to all of them is not taken for noise of
    each. Two techniques share the random tasks, and their difference is paired: the t-th tasks of both may begin with
    the same classes.

    Parameters
    ----------
    techniques : sequence of str
        Out of `CONSTRUCTIONS`.
    sets, names, captioner, shots, tasks, level, ways, queries, seed, options
        As for `collect`.

    Returns
    -------
    DataFrame of Interval
        By dataset, in points: a column a technique, and one for each later technique less an earlier, 'QC2 − QC1'.

    Raises
    ------
    InputError
        What the samplers raise; no results.
    """
    rows, shape = {}, dict(shots=shots, ways=ways, queries=queries, seed=seed, tasks=tasks)
    for dataset in sets:
        drawn = {t: draw(dataset, captioner, **shape, **CONSTRUCTIONS[t])[0] for t in techniques}
        found = [records(dataset, of, names, **options) for of in (draw_random(dataset, **shape), *drawn.values())]
        kept = [name for name in names if all(name in of for of in found)]
        if not kept:
            raise InputError(f"learners = {', '.join(names)}; no results of them are at hand")
        n = min(len(of[name].worst_class()) for of in found for name in kept)
        plain, *trapped = (100 * np.mean([of[name].worst_class()[:n] for name in kept], axis=0) for of in found)
        worst = dict(zip(techniques, trapped))
        rows[dataset] = {t: independent_interval(plain, of, level) for t, of in worst.items()} | {
            f"{b} − {a}": paired_interval(worst[a], worst[b], level) for a, b in combinations(techniques, 2)
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")


def parts(sets: Sequence[str], names: Sequence[str], **options) -> pd.DataFrame:
    """The gap of each learner in two parts, as `fslbook.figures.forest` draws them; options of `averages`."""
    told = {"SC1": "selected queries", "SC3 − SC1": "clue"}
    return pd.DataFrame(
        {
            "panel": known_as(dataset),
            "row": evaluation.LEARNERS[name],
            "series": series,
            "mean": of[part].mean,
            "half_width": of[part].half_width,
        }
        for dataset, name in product(sets, names)
        for of in [averages([dataset], [name], ["SC1", "SC3"], **options).loc[dataset]]
        for part, series in told.items()
    )


def printed_ablation(table: str) -> pd.DataFrame:
    """Table S5 or S6 as the paper prints it, by dataset and learner: wAcc-R, and by technique 'wAcc-A (gap)'."""
    t = published.table(table, "fewstab").assign(tasks=lambda t: t["tasks"].str.upper().replace("RANDOM", "wAcc-R"))
    wacc = t["wacc"].map("{:.2f}".format).where(t["wacc"].notna(), "")
    t["cell"] = (wacc + t["gap"].map(" ({:.2f})".format).where(t["gap"].notna(), "")).str.strip()
    order = pd.MultiIndex.from_frame(t[["dataset", "learner"]].drop_duplicates())
    wide = t.pivot(index=order.names, columns="tasks", values="cell").reindex(index=order, columns=t["tasks"].unique())
    return named(wide.fillna("—")).rename_axis(columns=None)


def training_gap(
    sets: Sequence[str],
    names: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5, 10),
    captioner: str = "pixels",
    ways: int = 5,
    queries: int = 15,
    tasks: int = 300,
    seed: int = 0,
    level: float = 0.95,
    trained: str = training.SHIPPED,
    **options,
) -> pd.DataFrame:
    """Figure 6: wAcc-A of the learner trained with 5 shots less that of the one trained with 1, on the same tasks.

    Learners that are trained on batches, or of which there is no 1-shot checkpoint, are left out, and so are shots of
    which a data set has no such tasks.

    Returns
    -------
    DataFrame
        By dataset, shots (of the tasks) and learner, each a `fslcore.stats.Interval`: five and one, wAcc-A by the shots
        of the training, and gap, paired. Maybe empty.
    """
    both = [n for n in names if n not in ON_BATCHES and all(training.trained(n, s, trained) for s in (1, 5))]
    options["trained"] = trained
    tables = {}
    for dataset, s in product(sets, shots if both else ()):
        try:
            drawn, _ = draw(dataset, captioner, shots=s, ways=ways, queries=queries, seed=seed, tasks=tasks)
        except InputError:  # the most shots may be more than a data set has images for
            continue
        one, five = (records(dataset, drawn, both, train_shots=train, **options) for train in (1, 5))
        if kept := [name for name in both if name in one and name in five]:
            one, five = ({name: of[name] for name in kept} for of in (one, five))
            tables[dataset, s] = gaps(five, one, paired=True, level=level).set_axis(["five", "one", "gap"], axis=1)
    return pd.concat(tables, names=[*SETTING, "learner"]) if tables else pd.DataFrame(columns=["five", "one", "gap"])


def remedy(
    sets: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5),
    captioner: str = "pixels",
    ways: int = 5,
    queries: int = 15,
    tasks: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    **options,
) -> pd.DataFrame:
    """Table S10: what interventional training adds to wAcc-R and to wAcc-A, on the same tasks, in points.

    Options are those of `records`, other parameters those of `collect`.

    Returns
    -------
    DataFrame
        By dataset, shots and learner (without the remedy), each a `fslcore.stats.Interval`: wacc-r and wacc-a, paired,
        without, wAcc-R of the learner without the remedy, and no and yes, wAcc-A without and with it.
    """
    tables, shape = {}, dict(ways=ways, queries=queries, seed=seed, tasks=tasks)
    names = [name + how for name in REMEDIED.values() for how in ("", "-ifsl")]
    for dataset, s in product(sets, shots):
        drawn = {
            "wacc-r": draw_random(dataset, shots=s, **shape),
            "wacc-a": draw(dataset, captioner, shots=s, **shape)[0],
        }
        columns = {}
        for kind, of in drawn.items():
            found = records(dataset, of, names, **options)
            with_, without = ({name: found[name + how] for name in REMEDIED.values()} for how in ("-ifsl", ""))
            sides = gaps(with_, without, paired=True, level=level)
            columns[kind] = sides.set_axis(["yes", "no", "gap"], axis=1)  # with the remedy, and without
        tables[dataset, s] = pd.DataFrame({kind: of["gap"] for kind, of in columns.items()}).assign(
            without=columns["wacc-r"]["no"], **columns["wacc-a"][["no", "yes"]]
        )
    return pd.concat(tables, names=[*SETTING, "learner"])


def constructions(
    sets: Sequence[str], captioners: Sequence[str], *, shots: Sequence[int] = (1, 5), tasks: int = 300, **shape
) -> pd.DataFrame:
    """How far tasks can be built as asked: share of queries that fall back to QC1, and of supports that are relaxed.

    Returns
    -------
    DataFrame
        By dataset, captioner and shots: both in percent, by variant of the sampler; 'none' where it finds no task.
    """
    rows = {}
    for dataset, captioner, s in product(sets, captioners, shots):
        cells = {}
        for variant in biased.METHODS["variant"]:
            try:
                drawn, attribute = draw(dataset, captioner, shots=s, tasks=tasks, variant=variant, **shape)
            except InputError:
                cells |= {(variant, "fall back"): "none", (variant, "relaxed"): "none"}
                continue
            share = {"fall back": drawn.sampler["fallbacks"], "relaxed": drawn.sampler["relaxed"]}
            cells |= {(variant, what): f"{100 * n / attribute.size:.1f}" for what, n in share.items()}
        rows[dataset, captioner, s] = cells
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["dataset", "captioner", "shots"])


def ranks(
    live: pd.DataFrame,
    theirs: pd.DataFrame,
    live_columns: Sequence[str],
    columns: Sequence[str],
    *,
    source: str,
    table: int | None = None,
) -> pd.DataFrame:
    """Spearman's rank correlations over learners, as text: a row per data set, ours first; a column a number of shots.

    Parameters
    ----------
    live, theirs : DataFrame
        Means by dataset, shots and learner, ours and the paper's.
    live_columns, columns : two str each
        Their columns whose ranks are compared.
    source : str
        Table of the paper that ``theirs`` is: the coefficients recomputed from it stand in rows of their own.
    table : int, optional
        Table of the paper that prints these coefficients (4 or 6), if one does.

    Returns
    -------
    DataFrame
        By place ('here', 'printed in Table 4', 'recomputed from Table 3') and dataset; a dash where there is none.
    """
    places = {"here": rank_correlations(live, *live_columns)}
    if table is not None:
        places[f"printed in Table {table}"] = published.table(table, "fewstab").set_index(SETTING)["correlation"]
    places[f"recomputed from Table {source}"] = rank_correlations(theirs, *columns)
    order = [*live.index.unique("dataset"), *DATASETS]
    rows = {
        (place, known_as(name)): {f"{s} shot{'' if s == 1 else 's'}": f"{r:.2f}" for s, r in rho[name].dropna().items()}
        for place, rho in places.items()
        for name in sorted(rho.index.unique("dataset"), key=order.index)
        if rho[name].notna().any()  # one learner has no rank
    }
    return pd.DataFrame.from_dict(rows, orient="index").fillna("—").rename_axis(["", "dataset"])


def means(table: pd.DataFrame) -> pd.DataFrame:
    """The middles of a table of intervals."""
    return table.map(lambda r: r.mean)


def near_chance(worst: pd.Series, guess: float) -> pd.Series:
    """Whether a learner's worst class on random tasks is near that of guessing: no trap can take from it what it lacks.

    It is if the interval of wAcc-R reaches down to the mean of guessing, or lies below it.

    Parameters
    ----------
    worst : Series of Interval
        wAcc-R, in percent.
    guess : float
        The mean accuracy of the worst class if each query is guessed (`fslbook.fewstab.audit.lowest`), in percent.

    Returns
    -------
    Series of bool
    """
    return worst.map(lambda r: r.low <= guess).astype(bool)


def beside(live: pd.Series, printed: pd.DataFrame, column: str, near: pd.Series | None = None) -> pd.DataFrame:
    """Intervals of learners on data sets as text, and printed ones beside them, with the paper's two decimals.

    Parameters
    ----------
    live : Series
        Intervals by dataset, shots and learner.
    printed : DataFrame
        dataset, shots, learner, metric, mean and half_width, as Tables 3, S7 and S8 are transcribed.
    column : str
        Its metric that is wanted.
    near : Series of bool, optional
        As for `texts`.

    Returns
    -------
    DataFrame
        'mean ± half-width' by shots and learner; data sets of here, then the paper's. A dash where there is none.
    """
    theirs = printed[printed["metric"] == column].set_index([*SETTING, "learner"])
    theirs = pd.Series(plus_minus(theirs["mean"], theirs["half_width"], ".2f"), theirs.index)
    columns = []
    for part in (texts(live, near), theirs):
        part = part.rename(index=known_as, level="dataset")
        columns.append(part.unstack("dataset")[list(part.index.unique("dataset"))])
    return named(pd.concat(columns, axis=1).sort_index().fillna("—")).rename_axis(columns=None)


def text(r: Interval) -> str:
    """'12.3 ± 0.4'."""
    return f"{r:.1f}".replace("-", "−")


def texts(table: pd.DataFrame | pd.Series, near: pd.Series | None = None) -> pd.DataFrame | pd.Series:
    """`text` of every interval, beside it the number of tasks where others in the table rest on more.

    Parameters
    ----------
    table : DataFrame or Series of Interval
    near : Series of bool, optional
        By the table's rows: those that are marked by `NEAR`, as near chance.
    """
    tasks = table.map(lambda r: r.n_tasks // (1 + (r.kind == "independent")))  # such a gap comes from two runs
    few = tasks < np.max(tasks.to_numpy())
    said = table.map(text) + (" (" + tasks.astype(str) + " tasks)").where(few, "")
    return (
        said
        if near is None
        else said.add(near.reindex(table.index, fill_value=False).map({True: f" {NEAR}", False: ""}), axis=0)
    )


def known_as(dataset: str) -> str:
    """A data set by the name it has in the paper, or without its settings."""
    return DATASETS.get(dataset, dataset.partition("?")[0])


def titled(captioner: str) -> str:
    """A source of attributes for readers: 'style, grid' for 'facts:style+grid'."""
    return captioner.removeprefix(FACTS).replace("+", ", ")


def named(table: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Rows in the order of the paper, learners and data sets by its names for them, ours without their settings."""
    levels = table.index.names
    order = {level: {name: i for i, name in enumerate(table.index.unique(level))} for level in levels}
    order["learner"] = {name: i for i, name in enumerate(DECIDES)}
    table = table.sort_index(key=lambda values: values.map(order[values.name]), level=levels)
    short = {"learner": evaluation.LEARNERS, "dataset": known_as}
    for level in [level for level in levels if level in short]:
        table = table.rename(index=short[level], level=level)
    return table


def findings(table: pd.DataFrame, guess: float) -> pd.DataFrame:
    """How often what the paper finds holds in a table of `collect`, and how often the opposite, beyond the intervals.

    The gap is above 0; it is larger at the most shots than at the fewest, in points and as a share of wAcc-R; learner
    by learner in each data set. Intervals of a share leave out the noise of wAcc-R, which is small beside the gap's.

    Parameters
    ----------
    guess : float
        As for `near_chance`: cases with a cell near chance count neither for a finding nor against it.

    Returns
    -------
    DataFrame
        One row per finding: of (cases), holds, opposite, open (neither by the intervals), and near chance, the cases
        that are left out.
    """
    few, many = (table.index.unique("shots")[i] for i in (0, -1))
    near = near_chance(table["wacc-r"], guess)
    rows = {"wAcc-A is below wAcc-R": (table["gap"].map(lambda r: r.conclusion), near)}
    if many != few:
        for name, unit in (("in points", 1.0), ("as a share of wAcc-R", means(table)["wacc-r"] / 100)):
            middle, half = (table["gap"].map(f) / unit for f in (lambda r: r.mean, lambda r: r.half_width))
            middle, half = (t.unstack("shots")[[few, many]].dropna() for t in (middle, half))
            difference, noise = middle[many] - middle[few], np.hypot(half[many], half[few])
            either = near.unstack("shots").loc[difference.index, [few, many]].any(axis=1)
            rows[f"gap grows, {name}"] = np.sign(difference).where(difference.abs() > noise, 0), either
    return pd.DataFrame(
        {
            what: {
                "of": (~out).sum(),
                **{how: (signs[~out] == sign).sum() for how, sign in (("holds", 1), ("opposite", -1), ("open", 0))},
                "near chance": out.sum(),
            }
            for what, (signs, out) in rows.items()
        }
    ).T


def spoken(dataset: str, captioner: str) -> attributes.Attributes:
    """Attributes as bare words, so that captioners can be compared: ``red`` for ``colour: red`` and ``ground: red``."""
    found = _attributes(dataset, captioner)
    words = np.array([name.split(": ")[-1] for name in found.names], object)
    return attributes.from_words(words[row] for row in found.has)


def example(
    dataset: str,
    name: str,
    captioner: str = "pixels",
    *,
    shots: int = 1,
    queries: int = 15,
    shown: int = 5,
    task: int = 0,
    seed: int = 0,
    trained: str = training.SHIPPED,
    **how: str,
) -> pd.DataFrame:
    """A biased task to look at (Figures 3, S2, S3): its images, with what matters said of each.

    Parameters
    ----------
    name : str
        Of the learner that answers.
    shown : int
        Queries of each class that are given, of all ``queries``.
    task : int
        Which of the tasks.
    trained : str
        As for `method`.

    Returns
    -------
    DataFrame
        A row per image: class, role (support or query), image (index), attribute (of its class in the support; those of
        other classes in a query, after a comma each), predicted (a class; of queries) and right.
    """
    drawn, attribute = draw(dataset, captioner, tasks=task + 2, shots=shots, queries=queries, seed=seed, **how)
    drawn, attribute, images = drawn[task : task + 1], attribute[task], images_of(dataset)
    run = evaluation.ready(images, *method(name, trained_with(shots), trained))
    if run.slow:
        raise InputError(f"learner = {name}; one that reads features is needed for a picture")
    scores = next(evaluation.scores(run.learner, run.bank(), drawn))
    predicted = scores[0].argmax(dim=-1).tolist()
    classes = [images.class_names[images.labels[i]] for i in drawn.support[0, ::shots]]
    known = _attributes(dataset, captioner)
    rows = []
    for i, k in zip(drawn.support[0], drawn.support_label[0]):
        rows.append((classes[k], "support", i, known.names[attribute[k]], None, None))
    for i, k, guess in zip(drawn.query[0], drawn.query_label[0], predicted):
        others = [known.names[a] for j, a in enumerate(attribute) if j != k and known.has[i, a]]
        rows.append((classes[k], "query", i, ", ".join(others), classes[guess], guess == k))
    out = pd.DataFrame(rows, columns=["class", "role", "image", "attribute", "predicted", "right"])
    return out[(out["role"] == "support") | (out.groupby(["class", "role"]).cumcount() < shown)].reset_index(drop=True)


def gaps(
    random: dict[str, Record], biased: dict[str, Record], *, paired: bool = False, level: float = 0.95
) -> pd.DataFrame:
    """Mean accuracy of the worst class (equation 2) on random and on biased tasks, and their gap, in percent.

    Parameters
    ----------
    random, biased : dict of str to Record
        By learner, the record on random tasks (`fslcore.tasks.sample_closed` or `sample_matched`) and on biased ones.
    paired : bool
        The random tasks are those that `sample_matched` made of the biased: the interval of the gap is
        then that of the differences task by task. Else the tasks of the two are independent.
    level : float
        Nominal coverage, between 0 and 1.

    Returns
    -------
    DataFrame
        By learner: ``wAcc-R``, ``wAcc-A`` and ``gap`` = wAcc-R - wAcc-A, each a `fslcore.stats.Interval`. All
        apply to these very images, on which other tasks might have been drawn.

    Raises
    ------
    InputError
        Learners that differ, no learner, or paired records of different numbers of tasks.
    """
    for name, records in (("random", random), ("biased", biased)):
        for record in instance(name, records, Mapping).values():
            if not hasattr(record, "worst_class"):
                raise InputError(
                    f"{name} holds {shown(record)}; records of `fslcore.evaluation`, by learner, are allowed"
                )
    flag("paired", paired), number("level", level, above=0, below=1)
    if random.keys() != biased.keys() or not random:
        raise InputError(f"learners {', '.join(random)} and {', '.join(biased)}; the same are needed for both")
    difference = paired_interval if paired else independent_interval
    rows = {}
    for name in random:
        r, a = (100 * records[name].worst_class() for records in (random, biased))
        rows[name] = (closed_interval(r, level), closed_interval(a, level), difference(r, a, level))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["wAcc-R", "wAcc-A", "gap"])


def rank_correlations(table: pd.DataFrame, a: str, b: str) -> pd.Series:
    """Spearman's rank correlation over learners of two columns, in each setting.

    Parameters
    ----------
    table : DataFrame
        A row a learner, indexed by the setting's levels and, the last, learner.
    a, b : str
        Columns.
    """
    settings = table.groupby(level=table.index.names[:-1])
    return settings.apply(lambda t: t[a].corr(t[b], method="spearman")).rename("correlation")
