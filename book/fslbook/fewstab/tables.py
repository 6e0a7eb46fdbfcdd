"""Learners on attribute-biased tasks: the tables and figures of FewSTAB (Zheng, Ye and Zhang,
2024), run here.

`collect` draws random and biased tasks of each data set and number of shots, runs the learners on
them, and gives their accuracies with closed intervals; all else is arithmetic on that table. A
learner goes by the name of its training (`DECIDES`), and what it was trained with comes with its
backbone. Accuracies and gaps are in percent (points)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, combinations, product
from operator import attrgetter
from types import MappingProxyType

import numpy as np
import pandas as pd

from fslcore import datasets, evaluation
from fslcore.errors import InputError, choice, quoted
from fslcore.evaluation import Method, Outcomes
from fslcore.stats import closed_task_interval, paired_interval, welch_interval
from fslcore.stats.formatting import format_interval
from fslcore.tasks import Tasks, sample_class_matched, sample_closed

from .. import attributes, published
from ..biased_tasks import VARIANTS, sample_biased
from ..catalogue import LEARNER_TITLES
from ..checks import CAPTIONERS, DATASETS, less
from ..style import counted
from ..training import RECIPES, recipes
from ..training.recipes import trained_with
from . import training
from .cells import NEAR, known_as, near_chance, text, texts, titled, wide_table
from .gaps import gaps, rank_correlations

__all__ = [
    "CONSTRUCTIONS",
    "DECIDES",
    "NEAR",
    "RECENT",
    "REMEDIED",
    "ablation",
    "averages",
    "averages_beside_printed",
    "collect",
    "constructions",
    "detection_columns",
    "draw",
    "draw_random",
    "example",
    "findings",
    "gaps",
    "images_of",
    "known_as",
    "means",
    "method",
    "named",
    "near_chance",
    "other_rule",
    "parts",
    "printed_ablation",
    "printed_by_learner",
    "rank_correlations",
    "ranks",
    "recent_rows",
    "records",
    "remedy",
    "remedy_rows",
    "spoken",
    "text",
    "texts",
    "titled",
    "training_gap",
    "with_printed",
]

#: The learners of Table S9, trained without labels.
RECENT = ("unisiam", "psco", "beclr")
#: Those of Table S10, by their names there: on frozen features, with "-ifsl" the remedied ones.
REMEDIED = {"maml": "maml-frozen", "mn": "matchingnet", "sib": "sib", "mtl": "mtl"}
#: What decides on a task, by the name of the training: the paper's ten in its order, two more, and
#: its other tables'.
DECIDES = {
    name: RECIPES[name].learner
    for name in (
        *(*training.TEN, "baseline", "maml", *RECENT),
        *(name + remedy for name in REMEDIED.values() for remedy in ("", "-ifsl")),
    )
}
# Of images: no shots in training.
ON_BATCHES = tuple(name for name in DECIDES if RECIPES[name].batch != "tasks")
#: Ways to build tasks (Tables S5 and S6; and the released code's), as arguments of
#: `fslbook.biased_tasks.sample_biased`.
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


def method(name: str, train_shots: int = 5, trained: str = training.SHIPPED) -> Method:
    """Backbone and learner of a training: ('conv4-icons-1shot-r2d2', 'r2d2') for 'r2d2' trained on
    1-shot tasks.

    Parameters
    ----------
    trained : str
        The backbone, where ``{learner}`` stands for the training and its shots ('1shot-r2d2') and
        ``{dataset}`` for the data set; by default the network that ships.

    Raises
    ------
    InputError
        An unknown name, or shots other than 1 and 5. Whether there is such a checkpoint
        `fslcore.models.backbones.load` says.
    """
    choice("learner", name, DECIDES)
    if train_shots not in (1, 5):
        raise InputError(f"train_shots must be 1 or 5, got {quoted(train_shots)}")
    return Method(*recipes.method(name, train_shots, trained))


@lru_cache(maxsize=4)
def images_of(dataset: str) -> datasets.Images:
    """A data set that holds images, not features."""
    images = evaluation.load_images_or_features(dataset)
    if not isinstance(images, datasets.Images):
        raise InputError(f"dataset = {dataset}; biased tasks need images, not features")
    return images


@lru_cache(maxsize=8)
def _attributes(dataset, captioner):
    return attributes.of(images_of(dataset), captioner)


@lru_cache(maxsize=64)
def draw(
    dataset: str,
    captioner: str,
    *,
    tasks: int,
    shots: int,
    ways: int = 5,
    queries: int = 15,
    seed: int = 0,
    **construction: str,
) -> tuple[Tasks, np.ndarray]:
    """Biased tasks of a data set, with the attributes that a captioner finds
    (`fslbook.attributes.of`).

    Parameters and errors: as for `fslbook.biased_tasks.sample_biased`; ``construction`` is support,
    query and variant."""
    has, labels = _attributes(dataset, captioner).has, _labels(dataset)
    return sample_biased(
        labels, has, tasks=tasks, ways=ways, shots=shots, queries=queries, seed=seed, **construction
    )


def draw_random(dataset: str, *, seed: int = 0, **shape: int) -> Tasks:
    """Random tasks of a data set, without classes that have too few images; as for
    `fslcore.tasks.sample_closed`."""
    return sample_closed(_labels(dataset), seed=seed, skip_small_classes=True, **shape)


def _labels(dataset):
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
) -> dict[str, Outcomes]:
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
        Compute nothing for learners that read images, and leave out those of which no results are
        kept.
    trained : str
        As for `method`.
    """
    out, images = {}, images_of(dataset)
    for name in names:
        shots = train_shots or trained_with(tasks.sampler["shots"])
        run = evaluation.configure(images, *method(name, shots, trained))
        record = run.outcomes(
            tasks[:image_tasks] if run.slow else tasks, stored=stored and run.slow
        )
        if record is not None:
            out[name] = record
    return out


def collect(
    sets: Sequence[str],
    names: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5),
    captioner: str = "pixels",
    matched: bool = False,
    level: float = 0.95,
    construction: Mapping[str, str] = MappingProxyType({}),
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
        Give the random tasks the classes of the biased ones, task by task; the gap is then a paired
        difference.
    shots, ways, queries, tasks, seed, construction
        Of the tasks, as for `draw`. Random tasks leave out classes with too few images.
    level : float
        Of the intervals.

    Returns
    -------
    DataFrame
        By dataset, shots and learner: acc, wacc-r, wacc-a and gap, each a closed
        `fslcore.stats.Interval`.

    Raises
    ------
    InputError
        What the loaders and samplers raise; no results.
    """
    shape, options = _shape_of_tasks(options)
    tables = {}
    for dataset, count in product(sets, shots):
        kinds = _random_and_biased(
            dataset, captioner, matched, {"shots": count, **shape}, construction
        )
        by_kind = _of_all([records(dataset, tasks, names, **options) for tasks in kinds])
        if by_kind[0]:
            tables[dataset, count] = _accuracies(*by_kind, paired=matched, level=level)
    if not tables:
        raise _no_results(names)
    return pd.concat(tables, names=[*SETTING, "learner"])


def other_rule(
    sets: Sequence[str],
    name: str,
    learner: str,
    *,
    shots: Sequence[int] = (1, 5),
    captioner: str = "pixels",
    level: float = 0.95,
    train_shots: int | None = None,
    trained: str = training.SHIPPED,
    **shape: int,
) -> pd.DataFrame:
    """What a training gains by its own learner over another one, on the features of the same network.

    Parameters
    ----------
    sets : sequence of str
    name : str
        Of the training, out of `DECIDES`.
    learner : str
        The other one, a name of `fslcore.catalogue.registered_learners`.
    shots, captioner, level, shape
        As for `collect`.
    train_shots, trained
        As for `records`.

    Returns
    -------
    DataFrame
        By dataset and shots: acc, wacc-r and wacc-a, each a paired `fslcore.stats.Interval` in
        points on the tasks of `collect`, own learner minus other.
    """
    shape, _ = _shape_of_tasks(shape)
    rows = {}
    for dataset, count in product(sets, shots):
        images = images_of(dataset)
        backbone, own = method(name, train_shots or trained_with(count), trained)
        kinds = _random_and_biased(dataset, captioner, False, {"shots": count, **shape}, {})
        runs = [evaluation.configure(images, backbone, rule) for rule in (own, learner)]
        random, biased = [[run.outcomes(tasks) for run in runs] for tasks in kinds]
        pairs = {
            "acc": [record.accuracy() for record in random],
            "wacc-r": [record.worst_class() for record in random],
            "wacc-a": [record.worst_class() for record in biased],
        }
        rows[dataset, count] = {
            column: paired_interval(100 * first, 100 * second, level)
            for column, (first, second) in pairs.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(SETTING)


def _random_and_biased(dataset, captioner, matched, shape, construction):
    biased, _ = draw(dataset, captioner, **shape, **construction)
    if matched:
        return sample_class_matched(_labels(dataset), biased, seed=shape["seed"]), biased
    return draw_random(dataset, **shape), biased


def _shape_of_tasks(options, tasks=1000):
    """Options that shape the tasks, with their defaults, and the others, which are those of
    `records`."""
    defaults = {"ways": 5, "queries": 15, "seed": 0, "tasks": tasks}
    shape = {name: options.get(name, default) for name, default in defaults.items()}
    return shape, {name: value for name, value in options.items() if name not in defaults}


def _of_all(tables):
    """Records by learner, each table without the learners that another one lacks."""
    common = [name for name in tables[0] if all(name in table for table in tables)]
    return [{name: table[name] for name in common} for table in tables]


def _accuracies(random, biased, *, paired, level):
    table = gaps(random, biased, paired=paired, level=level).rename(columns=str.lower)
    accuracy = [closed_task_interval(100 * record.accuracy(), level) for record in random.values()]
    table.insert(0, "acc", accuracy)
    return table


def _no_results(names):
    return InputError(f"learners = {', '.join(names)}; no results of them are at hand")


def ablation(
    sets: Sequence[str],
    names: Sequence[str],
    techniques: Sequence[str],
    *,
    shots: int = 5,
    **options,
) -> pd.DataFrame:
    """Tables S5 and S6: gaps by dataset and learner, a column a technique of `CONSTRUCTIONS`;
    options of `collect`."""
    if not len(sets):
        raise InputError(
            f"captioner = {options.get('captioner')}; on no data set do all of "
            f"{', '.join(techniques)} build {shots}-shot tasks from what it finds: name another "
            "first, or other data sets"
        )
    columns = {}
    for technique in techniques:
        construction = CONSTRUCTIONS[technique]
        table = collect(sets, names, shots=[shots], construction=construction, **options)
        columns[technique] = table["gap"]
    return pd.DataFrame(columns).droplevel("shots")


def averages(
    sets: Sequence[str],
    names: Sequence[str],
    techniques: Sequence[str],
    *,
    captioner: str = "pixels",
    shots: int = 5,
    level: float = 0.95,
    **options,
) -> pd.DataFrame:
    """Average drops of Tables 5, S5 and S6 with intervals, on the tasks that all learners have run.

    The gap is averaged over learners task by task, so that what a task does to all of them is not
    taken for noise of each. Two techniques share the random tasks, and their difference is paired:
    the t-th tasks of both may begin with the same classes.

    Parameters
    ----------
    techniques : sequence of str
        Out of `CONSTRUCTIONS`.
    sets, names, captioner, shots, tasks, level, ways, queries, seed, options
        As for `collect`.

    Returns
    -------
    DataFrame of Interval
        By dataset, in points: a column a technique, and one for each later technique less an
        earlier, 'QC2 − QC1'.

    Raises
    ------
    InputError
        What the samplers raise; no results.
    """
    shape, options = _shape_of_tasks(options)
    shape["shots"] = shots
    rows = {}
    for dataset in sets:
        kinds = [draw_random(dataset, **shape)]
        for technique in techniques:
            kinds.append(draw(dataset, captioner, **shape, **CONSTRUCTIONS[technique])[0])
        tables = _of_all([records(dataset, tasks, names, **options) for tasks in kinds])
        if not tables[0]:
            raise _no_results(names)
        rows[dataset] = _drops(_average_worst_class(tables), techniques, level)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")


def _average_worst_class(tables):
    """Accuracy of the worst class averaged over learners, task by task, on the tasks that all ran
    on."""
    worst = [[record.worst_class() for record in table.values()] for table in tables]
    count = min(len(values) for values in chain.from_iterable(worst))
    return [100 * np.mean([values[:count] for values in learners], axis=0) for learners in worst]


def _drops(worst, techniques, level):
    """The gap of each technique, and by how much that of a later one exceeds that of an earlier."""
    random, *biased = worst
    biased = dict(zip(techniques, biased))
    row = {name: welch_interval(random, worst, level) for name, worst in biased.items()}
    for earlier, later in combinations(biased, 2):
        difference = paired_interval(biased[earlier], biased[later], level)
        row[f"{later} − {earlier}"] = difference
    return row


def parts(sets: Sequence[str], names: Sequence[str], **options) -> pd.DataFrame:
    """The gap of each learner in two parts, as `fslbook.figures.forest` draws them; options of
    `averages`."""
    rows = []
    for dataset, name in product(sets, names):
        gap = averages([dataset], [name], ["SC1", "SC3"], **options).loc[dataset]
        for part, series in (("SC1", "selected queries"), ("SC3 − SC1", "clue")):
            rows.append(
                {
                    "panel": known_as(dataset),
                    "row": LEARNER_TITLES[name],
                    "series": series,
                    "mean": gap[part].estimate,
                    "half_width": gap[part].half_width,
                }
            )
    return pd.DataFrame(rows)


def printed_ablation(table: str) -> pd.DataFrame:
    """Table S5 or S6 as the paper prints it, by dataset and learner: wAcc-R, and by technique
    'wAcc-A (gap)'."""
    printed = published.table(table, "fewstab")
    wacc, gap = (
        printed[column].map(form.format, na_action="ignore").fillna("")
        for column, form in (("wacc", "{:.2f}"), ("gap", " ({:.2f})"))
    )
    techniques = printed["tasks"].str.upper().replace("RANDOM", "wAcc-R")
    cells = printed.assign(tasks=techniques, cell=(wacc + gap).str.strip())
    wide = wide_table(cells, ["dataset", "learner"], "tasks", "cell")
    return named(wide[techniques.unique()].fillna("—"))


def printed_by_learner() -> pd.DataFrame:
    """Tables S8, S6 and S5 as the paper prints them: a row per data set and learner, 5 shots but for S8."""
    s8 = published.table("S8", "fewstab")
    s8["cell"] = format_interval(s8["mean"], s8["half_width"], spec=".2f")
    by_captioner = s8.pivot(
        index=["dataset", "learner"], columns=["shots", "captioner"], values="cell"
    )
    by_captioner.columns = [
        (f"S8, {counted(shots, 'shot')}", CAPTIONERS[name]) for shots, name in by_captioner.columns
    ]
    queries = printed_ablation("S6").rename(columns=lambda name: ("S6", name))
    support = printed_ablation("S5")[["SC1", "SC2"]].rename(columns=lambda name: ("S5", name))
    wide = queries.join([support, named(by_captioner)]).fillna("—")
    wide.columns = pd.MultiIndex.from_tuples(wide.columns)
    return wide[["S8, 1 shot", "S8, 5 shots", "S6", "S5"]]


def averages_beside_printed(
    live: pd.DataFrame, table: str, techniques: Sequence[str]
) -> pd.DataFrame:
    """What `averages` gives as text, and below it the averages of Table S5 or S6 as printed."""
    printed = published.table(table, "fewstab").query("learner == 'average'")
    printed = printed.pivot(index="dataset", columns="tasks", values="gap").rename(
        columns=str.upper
    )
    printed = printed.loc[_in_order(printed.index), list(techniques)].rename(DATASETS)
    here = live[list(techniques)].map(text).rename(known_as)
    both = pd.concat({"here": here, "printed": printed.map("{:.2f}".format)}, names=["", "dataset"])
    return both.rename_axis(columns=None)


def detection_columns(
    agree: Mapping[str, pd.DataFrame], printed: pd.DataFrame, captioners: Sequence[str]
) -> pd.DataFrame:
    """Detection accuracy of two captioners in percent, with the rows of `ranks` by Tables 6 and S11.

    Parameters
    ----------
    agree : mapping of DataFrame
        `detection.agreement_table` by data set, its captioners named by `titled`.
    printed : DataFrame
        Table S11's rows on detection.
    captioners : sequence of str
        The first two are compared.

    Returns
    -------
    DataFrame of str
        By place and dataset: the share of the second's words that the first finds, and the reverse.
    """
    first, second = map(titled, captioners[:2])
    rows = {
        ("here", known_as(name)): (table.at[first, second], table.at[second, first])
        for name, table in agree.items()
    }
    wide = printed.pivot(index="dataset", columns="captioner", values="value")
    for name in _in_order(wide.index):
        pair = wide.at[name, "vit-gpt2"], wide.at[name, "blip"]
        rows["printed in Table 6", known_as(name)] = pair
    columns = ["detection by the first (%)", "by the second (%)"]
    shares = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    shares.index = pd.MultiIndex.from_tuples(shares.index, names=["", "dataset"])
    return shares.map("{:.1f}".format)


def _in_order(names: pd.Index) -> list[str]:
    """Data sets of the paper in its order."""
    return sorted(names, key=[*DATASETS].index)


def recent_rows(live: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Gaps of the learners of Table S9, as `fslbook.figures.forest` draws them: ours, then the paper's by captioner.

    Parameters
    ----------
    live, printed : DataFrame of Interval
        Of `collect`, and `audit.Evidence.recent`.
    """
    rows = _rows_here(live["gap"])
    for captioner, title in CAPTIONERS.items():
        rows += _rows_of("printed", printed[f"gap, {captioner}"], f", {title}")
    return pd.DataFrame(rows)


def remedy_rows(live: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """What the remedy adds to wAcc-A, as `fslbook.figures.forest` draws it: here, then as the paper prints it.

    Parameters
    ----------
    live, printed : DataFrame of Interval
        Of `remedy`, and `audit.Evidence.ifsl`.
    """
    rows = _rows_here(live["wacc-a"])
    change = printed["with"].combine(printed["without"], less)
    rows += _rows_of("printed", change.rename(index={"mn": "matchingnet"}).swaplevel())
    return pd.DataFrame(rows)


def _rows_here(intervals: pd.Series) -> list[dict]:
    """Intervals by dataset, shots and learner as rows of a panel for each data set."""
    names = intervals.index.unique("dataset")
    return [row for n in names for row in _rows_of(f"here, {known_as(n)}", intervals.loc[n])]


def _rows_of(panel: str, intervals: pd.Series, ending: str = "") -> list[dict]:
    """Intervals by shots and learner as rows of a panel; the ending follows the learner's title."""
    return [
        {
            "panel": panel,
            "row": LEARNER_TITLES.get(learner, learner) + ending,
            "series": counted(shots, "shot"),
            "mean": interval.estimate,
            "half_width": interval.half_width,
        }
        for (shots, learner), interval in intervals.items()
    ]


def training_gap(
    sets: Sequence[str],
    names: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5, 10),
    captioner: str = "pixels",
    level: float = 0.95,
    trained: str = training.SHIPPED,
    **options,
) -> pd.DataFrame:
    """Figure 6: wAcc-A of the learner trained with 5 shots less that of the one trained with 1, on
    the same tasks.

    Learners that are trained on batches, or of which there is no 1-shot checkpoint, are left out,
    and so are shots of which a data set has no such tasks.

    Returns
    -------
    DataFrame
        By dataset, shots (of the tasks) and learner, each a `fslcore.stats.Interval`: five and one,
        wAcc-A by the shots of the training, and gap, paired. Maybe empty.
    """
    shape, options = _shape_of_tasks(options, tasks=300)
    names = _trained_with_both(names, trained)
    tables = {}
    for dataset, count in product(sets, shots if names else ()):
        try:
            tasks = draw(dataset, captioner, shots=count, **shape)[0]
        except InputError:  # the most shots may be more than a data set has images for
            continue
        run = partial(records, dataset, tasks, names, trained=trained, **options)
        by_training = _of_all([run(train_shots=5), run(train_shots=1)])
        if by_training[0]:
            table = gaps(*by_training, paired=True, level=level)
            tables[dataset, count] = table.set_axis(["five", "one", "gap"], axis=1)
    if not tables:
        return pd.DataFrame(columns=["five", "one", "gap"])
    return pd.concat(tables, names=[*SETTING, "learner"])


def _trained_with_both(names, trained):
    """The learners with networks that are trained on 1-shot tasks and on 5-shot tasks."""
    names = [name for name in names if name not in ON_BATCHES]
    for shots in (1, 5):
        names = [name for name in names if training.network_of(name, shots, trained)]
    return names


def remedy(
    sets: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5),
    captioner: str = "pixels",
    level: float = 0.95,
    **options,
) -> pd.DataFrame:
    """Table S10: what interventional training adds to wAcc-R and to wAcc-A, on the same tasks, in
    points.

    Options are those of `records`, other parameters those of `collect`.

    Returns
    -------
    DataFrame
        By dataset, shots and learner (without the remedy), each a `fslcore.stats.Interval`: wacc-r
        and wacc-a, paired, without, wAcc-R of the learner without the remedy, and no and yes,
        wAcc-A without and with it.
    """
    shape, options = _shape_of_tasks(options)
    tables = {}
    for dataset, count in product(sets, shots):
        random = draw_random(dataset, shots=count, **shape)
        biased = draw(dataset, captioner, shots=count, **shape)[0]
        on_random = _with_and_without(dataset, random, level, options)
        on_biased = _with_and_without(dataset, biased, level, options)
        gain = pd.DataFrame({"wacc-r": on_random["gap"], "wacc-a": on_biased["gap"]})
        columns = {"without": on_random["no"], **on_biased[["no", "yes"]]}
        tables[dataset, count] = gain.assign(**columns)
    return pd.concat(tables, names=[*SETTING, "learner"])


def _with_and_without(dataset, tasks, level, options):
    """wAcc of the learners of Table S10 with the remedy (yes) and without (no), and the paired
    gap."""
    learners = list(REMEDIED.values())
    remedied = [f"{name}-ifsl" for name in learners]
    by_learner = records(dataset, tasks, [*learners, *remedied], **options)
    with_remedy = {name: by_learner[f"{name}-ifsl"] for name in learners}
    without = {name: by_learner[name] for name in learners}
    table = gaps(with_remedy, without, paired=True, level=level)
    return table.set_axis(["yes", "no", "gap"], axis=1)


def constructions(
    sets: Sequence[str],
    captioners: Sequence[str],
    *,
    shots: Sequence[int] = (1, 5),
    tasks: int = 300,
    **shape,
) -> pd.DataFrame:
    """How far tasks can be built as asked: share of queries that fall back to QC1, and of supports
    that are relaxed.

    Returns
    -------
    DataFrame
        By dataset, captioner and shots: both in percent, by variant of the sampler; 'none' where it
        finds no task.
    """
    rows = {}
    for dataset, captioner, count in product(sets, captioners, shots):
        cells = {}
        for variant in VARIANTS:
            options = dict(shots=count, tasks=tasks, variant=variant, **shape)
            fallbacks, relaxed = _shares_built_otherwise(dataset, captioner, options)
            cells |= {(variant, "fall back"): fallbacks, (variant, "relaxed"): relaxed}
        rows[dataset, captioner, count] = cells
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(
        ["dataset", "captioner", "shots"]
    )


def _shares_built_otherwise(dataset, captioner, options):
    try:
        tasks, attribute = draw(dataset, captioner, **options)
    except InputError:
        return "none", "none"
    counts = tasks.sampler["fallbacks"], tasks.sampler["relaxed"]
    return tuple(f"{100 * count / attribute.size:.1f}" for count in counts)


def ranks(
    live: pd.DataFrame,
    theirs: pd.DataFrame,
    live_columns: Sequence[str],
    columns: Sequence[str],
    *,
    source: str,
    table: int | None = None,
) -> pd.DataFrame:
    """Spearman's rank correlations over learners, as text: a row per data set, ours first; a column
    a number of shots.

    Parameters
    ----------
    live, theirs : DataFrame
        Means by dataset, shots and learner, ours and the paper's.
    live_columns, columns : two str each
        Their columns whose ranks are compared.
    source : str
        Table of the paper that ``theirs`` is: the coefficients recomputed from it stand in rows of
        their own.
    table : int, optional
        Table of the paper that prints these coefficients (4 or 6), if one does.

    Returns
    -------
    DataFrame
        By place ('here', 'printed in Table 4', 'recomputed from Table 3') and dataset; a dash where
        there is none.
    """
    places = {"here": rank_correlations(live, *live_columns)}
    if table is not None:
        printed = published.table(table, "fewstab").set_index(SETTING)
        places[f"printed in Table {table}"] = printed["correlation"]
    places[f"recomputed from Table {source}"] = rank_correlations(theirs, *columns)
    order = [*live.index.unique("dataset"), *DATASETS]
    rows = {}
    for place, rho in places.items():
        rho = rho.dropna()  # one learner has no rank
        for name in sorted(rho.index.unique("dataset"), key=order.index):
            cells = {counted(shots, "shot"): f"{r:.2f}" for shots, r in rho[name].items()}
            rows[place, known_as(name)] = cells
    return pd.DataFrame.from_dict(rows, orient="index").fillna("—").rename_axis(["", "dataset"])


def means(table: pd.DataFrame) -> pd.DataFrame:
    """The middles of a table of intervals."""
    return table.map(attrgetter("estimate"))


def with_printed(
    live: pd.Series, printed: pd.DataFrame, metric: str, marked: pd.Series | None = None
) -> pd.DataFrame:
    """Intervals of learners on data sets as text, and printed ones beside them, with the paper's
    two decimals.

    Parameters
    ----------
    live : Series
        Intervals by dataset, shots and learner.
    printed : DataFrame
        dataset, shots, learner, metric, mean and half_width, as Tables 3, S7 and S8 are
        transcribed.
    metric : str
        The one of ``printed`` that is wanted.
    marked : Series of bool, optional
        As for `texts`.

    Returns
    -------
    DataFrame
        'mean ± half-width' by shots and learner; data sets of here, then the paper's. A dash where
        there is none.
    """
    theirs = printed[printed["metric"] == metric].set_index([*SETTING, "learner"])
    theirs = pd.Series(
        format_interval(theirs["mean"], theirs["half_width"], spec=".2f"), theirs.index
    )
    columns = []
    for part in (texts(live, marked), theirs):
        part = part.rename(index=known_as, level="dataset")
        columns.append(part.unstack("dataset")[list(part.index.unique("dataset"))])
    return named(pd.concat(columns, axis=1).sort_index().fillna("—")).rename_axis(columns=None)


def named(table: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Rows in the order of the paper, learners and data sets by its names for them, ours without
    their settings."""
    levels = table.index.names
    names = {level: table.index.unique(level) for level in levels} | {"learner": DECIDES}
    places = {level: dict(zip(order, range(len(order)))) for level, order in names.items()}
    table = table.sort_index(key=lambda values: values.map(places[values.name]), level=levels)
    for level, titles in (("learner", LEARNER_TITLES), ("dataset", known_as)):
        if level in levels:
            table = table.rename(index=titles, level=level)
    return table


def findings(table: pd.DataFrame, guess: float) -> pd.DataFrame:
    """How often what the paper finds holds in a table of `collect`, and how often the opposite,
    beyond the intervals.

    The gap is above 0; it is larger at the most shots than at the fewest, in points and as a share
    of wAcc-R; learner by learner in each data set. Intervals of a share leave out the noise of
    wAcc-R, which is small beside the gap's.

    Parameters
    ----------
    guess : float
        As for `near_chance`: cases with a cell near chance count neither for a finding nor against
        it.

    Returns
    -------
    DataFrame
        One row per finding: of (cases), holds, opposite, open (neither by the intervals), and near
        chance, the cases that are left out.
    """
    shots = table.index.unique("shots")[[0, -1]]
    marked = near_chance(table["wacc-r"], guess)
    signs = table["gap"].map(lambda gap: gap.sign)
    rows = {"wAcc-A is below wAcc-R": _counted_signs(signs, marked)}
    if shots.is_unique:
        units = {"in points": 1.0, "as a share of wAcc-R": means(table)["wacc-r"] / 100}
        for name, unit in units.items():
            signs = _growth(table["gap"], unit, *shots)
            either = marked.unstack("shots").loc[signs.index, shots].any(axis=1)
            rows[f"gap grows, {name}"] = _counted_signs(signs, either)
    return pd.DataFrame(rows).T


def _growth(gaps, unit, fewest_shots, most_shots):
    """Signs of the changes of the gap from the fewest shots to the most; 0 within the intervals."""
    shots = [fewest_shots, most_shots]
    middle, half = (
        (gaps.map(attrgetter(name)) / unit).unstack("shots")[shots].dropna()
        for name in ("estimate", "half_width")
    )
    difference = middle[most_shots] - middle[fewest_shots]
    noise = np.hypot(half[most_shots], half[fewest_shots])
    return np.sign(difference).where(difference.abs() > noise, 0)


def _counted_signs(signs, left_out):
    counts = signs[~left_out].value_counts()
    words = {"holds": 1, "opposite": -1, "open": 0}
    return {
        "of": counts.sum(),
        **{word: counts.get(sign, 0) for word, sign in words.items()},
        "near chance": left_out.sum(),
    }


def spoken(dataset: str, captioner: str) -> attributes.Attributes:
    """Attributes as bare words, so that captioners can be compared: ``red`` for ``colour: red`` and
    ``ground: red``."""
    described = _attributes(dataset, captioner)
    words = np.array([name.split(": ")[-1] for name in described.names], object)
    return attributes.from_words(words[row] for row in described.has)


def example(
    dataset: str,
    name: str,
    captioner: str = "pixels",
    *,
    shots: int = 1,
    per_class: int = 5,
    task: int = 0,
    trained: str = training.SHIPPED,
    **construction,
) -> pd.DataFrame:
    """A biased task to look at (Figures 3, S2, S3): its images, with what matters said of each.

    Parameters
    ----------
    name : str
        Of the learner that answers.
    per_class : int
        Queries of each class that are given, of all ``queries``.
    task : int
        Which of the tasks.
    trained : str
        As for `method`.

    Returns
    -------
    DataFrame
        A row per image: class, role (support or query), image (index), attribute (of its class in
        the support; those of other classes in a query, after a comma each), predicted (a class; of
        queries) and right.
    """
    run = evaluation.configure(images_of(dataset), *method(name, trained_with(shots), trained))
    if run.slow:
        raise InputError(f"learner must be one that reads features for a picture, got {name}")
    tasks, clues = draw(dataset, captioner, tasks=task + 2, shots=shots, **construction)
    tasks = tasks[task : task + 1]
    scores = next(evaluation.predict_scores(run.learner, run.bank(), tasks))
    guesses = scores[0].argmax(dim=-1).tolist()
    table = _rows_of_images(dataset, captioner, tasks, clues[task], guesses)
    queries = table[table["role"] == "query"].groupby("class").cumcount()
    return table.drop(index=queries.index[queries >= per_class]).reset_index(drop=True)


def _rows_of_images(
    dataset: str, captioner: str, task: Tasks, clues: np.ndarray, guesses: list[int]
) -> pd.DataFrame:
    """A row of `example` for each image of the task."""
    images, described = images_of(dataset), _attributes(dataset, captioner)
    labels = images.labels[task.support[0]]
    names = [images.class_names[label] for label in labels[:: len(labels) // task.ways]]
    rows = []
    for image, k in zip(task.support[0], task.support_label[0]):
        rows.append((names[k], "support", image, described.names[clues[k]], None, None))
    for image, k, guess in zip(task.query[0], task.query_label[0], guesses):
        others = [clue for j, clue in enumerate(clues) if j != k and described.has[image, clue]]
        words = ", ".join(described.names[clue] for clue in others)
        rows.append((names[k], "query", image, words, names[guess], guess == k))
    columns = ["class", "role", "image", "attribute", "predicted", "right"]
    return pd.DataFrame(rows, columns=columns)
