"""What a profile would take: its jobs, their core-hours and memory, reckoned from rates that were measured.

`benchmarks/bench.py` stores the rates, a file a machine, under ``data/performance``. Nothing is run or downloaded.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fslcore import catalogue, sources
from fslcore.catalogue import OWN
from fslcore.datasets.bank import MAPPED
from fslcore.datasets.images import KEPT
from fslcore.datasets.load import READERS, source_of
from fslcore.errors import InputError, choice
from fslcore.paths import DATA, at_home

from . import notebooks
from .attributes.captions import table_of
from .catalogue import CAPTIONERS, TRAINERS
from .operations import (
    INNER,
    SLOW,
    Gpu,
    in_release,
    of_caption,
    of_training,
    of_vit,
    operations,
    shown_hours,
    trainings,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Job", "Workload", "evaluations", "machines", "merged", "reckon", "stored"]

FOLDER = DATA / "performance"
GPU = "gpu.json"  # there: what `benchmarks/gpu.py` measured
ASSUMED = 10e12  # floating-point operations a second of a GPU that nobody measured
MEASURED = "features of vit_small_patch16_224, cuda"
SHAPE = dict(ways=5, shots=5, queries=15)
STEPS = 30  # of fine-tuning; one costs as much as three looks at the support
ESTIMATES = (
    2 + 5
)  # trainings of a task for the oracle, hold-out and 5-fold; leave-one-out and the bootstrap come on top
# Whole numbers that decide what is shown, or name one of many: they cost nothing. Tasks of the learners that train on
# each are jobs of their own, or come with the book.
NO_WORK = ("seed", "shown", "task", "upper", "lower", "ft_tasks", "ft_open", "image_tasks")


@dataclass(frozen=True)
class Job:
    """One piece of work.

    Attributes
    ----------
    kind : str
        'features' of a data set by a backbone, 'evaluation' of a method on tasks, or 'chapter', all its other work.
    name : str
    core_hours : float or None
        On one core of the machine that was measured; None where no rate tells.
    memory_gib : float or None
        Peak, where it was measured.
    note : str
        What the estimate rests on beside rates: 'at most', 'derived'; or why there is none.
    """

    kind: str
    name: str
    core_hours: float | None
    memory_gib: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Download:
    """Data or weights that ``fslcore fetch`` brings.

    Attributes
    ----------
    name : str
    bytes, unpacked : int or None
        To download, and on the disk; None where they are not known.
    accept, bring : bool
        Whether terms are to be accepted, and whether a person has to bring the files.
    """

    name: str
    bytes: int | None
    unpacked: int | None
    accept: bool = False
    bring: bool = False


@dataclass(frozen=True)
class Workload:
    """All jobs of a profile.

    Attributes
    ----------
    profile, machine : str
        The profile, and the machine that the rates are of.
    jobs : tuple of Job
    images : dict of str to (int, str)
        By data set: number of images, and where that is from ('data' or 'papers').
    downloads : tuple of Download
    before : tuple of str
        Commands that make the networks and captions that chapters read, as far as they are not there.
    gpu : Gpu or None
        None where no image is looked at by a network.
    """

    profile: str
    machine: str
    jobs: tuple[Job, ...]
    images: dict[str, tuple[int, str]]
    downloads: tuple[Download, ...] = ()
    before: tuple[str, ...] = ()
    gpu: Gpu | None = None

    @property
    def core_hours(self) -> float:
        """Of all jobs that can be estimated."""
        return math.fsum(job.core_hours for job in self.jobs if job.core_hours is not None)

    def hours(self, cores: int) -> float:
        """Wall-clock hours on so many cores, a job on each: no less than the longest job."""
        longest = max((job.core_hours for job in self.jobs if job.core_hours is not None), default=0.0)
        return max(self.core_hours / cores, longest)

    def totals(self) -> pd.DataFrame:
        """By kind: number of jobs, core-hours, largest memory (GiB), and jobs without an estimate."""
        import pandas as pd

        jobs = pd.DataFrame(self.jobs, columns=["kind", "core_hours", "memory_gib"])
        of = jobs.astype({"core_hours": float, "memory_gib": float}).groupby("kind", sort=False)
        found = of.agg(jobs=("kind", "size"), core_hours=("core_hours", "sum"), memory_gib=("memory_gib", "max"))
        return found.assign(not_estimated=found["jobs"] - of["core_hours"].count()).reset_index()

    def top(self, n: int = 10) -> list[Job]:
        """The jobs that take longest."""
        there = [job for job in self.jobs if job.core_hours is not None]
        return sorted(there, key=lambda job: -job.core_hours)[:n]

    def plain(self) -> dict:
        """For a program: everything, with the totals."""
        images = {name: {"images": n, "from": source} for name, (n, source) in self.images.items()}
        totals = {"core_hours": self.core_hours, "hours_on_2_cores": self.hours(2), "by_kind": self.totals()}
        found = {"profile": self.profile, "machine": self.machine, **totals, "images": images}
        found |= {"downloads": [vars(of) for of in self.downloads], "before": list(self.before)}
        gpu = self.gpu and {**vars(self.gpu), "hours": self.gpu.hours}
        return {**found, "gpu": gpu, "jobs": list(self.jobs)}

    def lines(self, n: int = 10) -> list[str]:
        """For a person."""
        found = [f"{self.profile} by the rates of {self.machine}", ""]
        found.append(f"{'':<14}{'jobs':>6}{'core-hours':>14}{'most memory':>14}{'no estimate':>14}")
        for row in self.totals().itertuples():
            memory = "" if math.isnan(row.memory_gib) else f"{row.memory_gib:,.1f} GiB"
            hours = shown_hours(row.core_hours)
            found.append(f"{row.kind:<14}{row.jobs:>6,}{hours:>14}{memory:>14}{row.not_estimated or '':>14}")
        found += [f"{'in all':<14}{len(self.jobs):>6,}{shown_hours(self.core_hours):>14}", ""]
        found.append(
            "hours on 1 core {}, on 2 {}; the jobs that take longest:".format(
                *(shown_hours(self.hours(n)) for n in (1, 2))
            )
        )
        for job in self.top(n):
            share = job.core_hours / self.core_hours if self.core_hours else 0
            note = f" ({job.note})" if job.note else ""
            found.append(f"  {shown_hours(job.core_hours):>10}  {share:>5.1%}  {job.kind}: {job.name}{note}")
        found += [self.gpu.line()] if self.gpu else []
        for source, said in (("data", "counted in the data"), ("papers", "as papers and releases have them")):
            there = [f"{name} {count:,}" for name, (count, of) in self.images.items() if of == source]
            found += [f"images, {said}: {', '.join(there)}"] if there else []
        if self.downloads:
            there = [of for of in self.downloads if not of.bring]
            total, disk = (sum(getattr(of, kind) or 0 for of in there) / 1e9 for kind in ("bytes", "unpacked"))
            found.append(f"to fetch: {total:,.1f} GB, {disk:,.1f} GB on the disk: {', '.join(of.name for of in there)}")
        for said, kind in (("with terms to accept", "accept"), ("to be brought by hand", "bring")):
            names = [of.name for of in self.downloads if getattr(of, kind)]
            found += [f"{said}: {', '.join(names)}"] if names else []
        found += [f"to be made before: {command}" for command in self.before]
        missing = [job for job in self.jobs if job.core_hours is None]
        for why in dict.fromkeys(job.note for job in missing):
            names = [job.name for job in missing if job.note == why]
            found.append(f"not estimated ({why}): {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}")
        notes = {job.note.partition(":")[0] for job in self.jobs if job.core_hours is not None}
        found += [text for note, text in MEANING.items() if note in notes]
        return found


MEANING = {
    "at most": "at most: a chapter's measured time, as if all of it grew with the parameter that grows most",
    "derived": "derived: from images per second, by the ratio of the two that was measured on another network",
    "by operations": "by operations: from those of the network, at the median rate of the networks that were measured",
}


# ---------------------------------------------------------------- rates


def machines() -> list[str]:
    """Names of the machines of which rates are stored."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.name != GPU)


def stored(machine: str | None = None) -> dict:
    """What was measured on a machine, with the lists ``ratios``, ``limits``, ``growth``, ``rates`` and ``scale``.

    ``pieces`` are what one process measured each, with its date, threads, load and versions; ``date`` is the last one.

    Parameters
    ----------
    machine : str, optional
        A name of `machines`. By default the nearest that has rates: one with this machine's processor, else one without
        a GPU; of several the last measured.

    Raises
    ------
    InputError
        An unknown machine; none at all.
    """
    if not machines():
        raise InputError(f"machine: no rates are stored in {FOLDER}; benchmarks/bench.py measures them")
    if machine is not None:
        return _read(choice("machine", machine, machines()))
    found = [_read(name) for name in machines()]
    with_rates = [one for one in found if one["rates"]]
    if not with_rates:
        raise InputError(f"machine: none of {', '.join(machines())} has rates; benchmarks/bench.py measures them")
    info = Path("/proc/cpuinfo")
    here = info.read_text("utf-8").replace("(R)", "").replace("(TM)", "") if info.is_file() else ""
    return max(
        with_rates, key=lambda one: (one.get("cpu", " ") in here, one.get("device") == "cpu", one.get("date", ""))
    )


def _read(name: str) -> dict:
    try:
        found = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        lists = {kind: [] for kind in ("ratios", "limits", "growth", "rates", "scale")}
        for piece in found["pieces"].values():
            lists[piece["of"]] += piece["rows"]
        last = max(piece["date"] for piece in found["pieces"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"machine: {name}.json in {FOLDER} is damaged ({error})") from None
    return {"name": name, "date": last, **found, **lists}


class _Rates:
    """Seconds of one core, by what is done, from the stored rows."""

    def __init__(self, rows: list[dict]):
        self._features = [row for row in rows if row["kind"] == "features"]
        self._tasks = [row for row in rows if row["kind"] == "tasks"]
        self.chapters: dict[str, dict] = {}  # the sum of those that were measured in parts
        for row in rows:
            if row["kind"] == "build" and row["job"] == "notebook":
                held = self.chapters.setdefault(row["name"], {"seconds": 0.0, "parameters": {}})
                held["seconds"] += row["seconds"]
                held["parameters"] = held["parameters"] | row["parameters"]

    def image(self, backbone: str, side: int) -> dict | None:
        """The row of a backbone at the size nearest to this one."""
        name = backbone.partition(":")[0].removesuffix("-released")
        if name in catalogue.trained_names() and name != "glyph-conv":  # all of a network are as fast
            name = next(
                (row["name"] for row in self._features if row["name"].startswith(f"{name.split('-')[0]}-")), name
            )
        of = [row for row in self._features if row["name"] == name]
        return min(of, key=lambda row: abs(math.log(row["side"] / side)), default=None)

    def per_image(self, backbone: str, side: int) -> tuple[float | None, str]:
        """Seconds of an image, which grow with its pixels, and a note."""
        row = self.image(backbone, side)
        if row is not None:
            return side**2 / row["side"] ** 2 / row["per_second"], ""
        count = operations(backbone)
        a_second = [row["per_second"] * n for row in self._features if (n := operations(row["name"]))]
        if count is None or not a_second:
            return None, f"no rate of {backbone}"
        return count / median(a_second), "by operations"

    def task(self, learner: str, backbone: str | None = None) -> dict | None:
        of = [row for row in self._tasks if row["name"] == learner and backbone in (None, row.get("backbone"))]
        return max(of, key=lambda row: row.get("side", 0), default=None)

    def per_task(self, backbone: str, side: int, dim: int, learner: str, shape: dict) -> tuple[float | None, str]:
        """Seconds of a task and a note. They grow with its images, of features with their length over that measured."""
        slow, backbone = learner in SLOW, backbone.removesuffix("-released")
        row = self.task(learner, backbone if slow else None)
        measured = self.task(learner) if row is None and (learner != "ft" or backbone.startswith(f"{OWN}:")) else None
        both = measured and (operations(backbone), operations(measured["backbone"]))
        if both and all(both):
            size = shape["ways"] * shape["shots"] / (measured["ways"] * measured["shots"])
            return size * both[0] / both[1] / measured["per_second"], "by operations"
        if row is not None and slow:
            size = _looks(shape) / _looks(row) if learner == "ft" else shape["ways"] * shape["shots"] / 25
            return size * side**2 / row["side"] ** 2 / row["per_second"], ""
        if row is not None:
            return _images(shape) / _images(row) * max(1.0, dim / row["dim"]) / row["per_second"], ""
        factor, image = self.of_a_look(), self.per_image(backbone, side)[0]
        if learner == "ft" and factor is not None and image is not None:
            return factor * _looks(shape) * image, "derived"
        return None, f"no rate of {learner}" + (f" on {backbone}" if slow else "")

    def of_a_look(self) -> float | None:
        """Seconds of fine-tuning over those that its looks would take for features: a median of those measured."""
        found = []
        for row in self._tasks:
            image = self.per_image(row["backbone"], row["side"])[0] if row["name"] == "ft" else None
            found += [1 / row["per_second"] / (_looks(row) * image)] if image else []
        return median(found) if found else None


def _images(shape: dict) -> int:
    return shape["ways"] * (shape["shots"] + shape["queries"])


def _looks(shape: dict, steps: int = STEPS) -> int:
    """Looks at an image that fine-tuning on a task takes: there and back for each step, and once at each query."""
    return shape["ways"] * (3 * steps * shape["shots"] + shape["queries"])


# ---------------------------------------------------------------- what a profile asks for


@dataclass(frozen=True)
class _Evaluation:
    """A learner on so many tasks of a data set; ``tasks`` None: as many as share no image."""

    dataset: str
    backbone: str
    learner: str
    sampling: str
    tasks: int | None
    ways: int = 5
    shots: int = 5
    queries: int = 15
    trainings: int = 1  # of each task
    seed: int = 0
    captioner: str | None = None  # of biased tasks
    rounds: int | None = None  # of the bootstrap, of re-split ones

    @property
    def shape(self) -> dict:
        return dict(ways=self.ways, shots=self.shots, queries=self.queries)

    @property
    def setting(self) -> tuple:
        """What two chapters share, but for the number of tasks."""
        shape = tuple(self.shape.values())
        of = (self.dataset, self.backbone, self.learner, self.sampling, self.captioner, self.rounds)
        return (*of, shape, self.trainings, self.seed)


def _shared(p: dict) -> Iterator[_Evaluation]:
    """Of the two chapters on intervals, which the build makes first."""
    for dataset, backbone, learner in product(p["datasets"], p["backbones"], p["learners"]):
        slow = learner == "ft"
        if not slow or p["fine_tuning"] == "run":
            shape = {name: p[name] for name in (*SHAPE, "seed")}
            closed, open_ = (p["ft_tasks"], p["ft_open"]) if slow else (p["tasks"], p["max_open"] or None)
            yield _Evaluation(dataset, backbone, learner, "closed", closed, **shape)
            yield _Evaluation(dataset, backbone, learner, "open", open_, **shape)


def _benchmark(p: dict) -> Iterator[_Evaluation]:
    """Fine-tuning; the other learners take a small part of the chapter's time."""
    return (e for e in _whole_benchmark(p) if e.learner == "ft")


def _whole_benchmark(p: dict) -> Iterator[_Evaluation]:
    sizes = list(zip(p["shots"], p["queries"]))
    usual = [(shots, p["usual_queries"]) for shots in p["shots"]]  # of Figure 6, for learners with as many tasks
    for dataset, backbone, learner in product(p["datasets"], p["backbones"], p["learners"]):
        slow, few = learner == "ft", p["ft_open"] < p["max_tasks"]
        if not slow or p["fine_tuning"] == "run":
            for shots, queries in dict.fromkeys(sizes if slow and few else [*sizes, *usual]):
                shape = dict(ways=p["ways"], shots=shots, queries=queries, seed=p["seed"])
                tasks = p["ft_open"] if slow else p["max_tasks"]
                yield _Evaluation(dataset, backbone, learner, "open", tasks, **shape)


def _estimates(p: dict) -> Iterator[_Evaluation]:
    """Learners that train on each task, for each estimate of its accuracy too."""
    if p["image_learners"] != "run":
        return
    trainings = ESTIMATES + p["ways"] * p["shots"] + p["rounds"]
    trainings += 5 * len(p.get("steps", ()))  # 5-fold for each number of steps to choose from
    for dataset, method in product(p["datasets"], [*p.get("image_methods", ()), *p["methods"]]):
        backbone, learner = method.split(" ")
        if learner in SLOW:
            shape = {name: p[name] for name in SHAPE} | dict(trainings=trainings)
            yield _Evaluation(dataset, sources.filled(backbone, dataset), learner, "closed", p["image_tasks"], **shape)


def _trained(p: dict) -> Iterator[_Evaluation]:
    """Chapters on trained learners: those that read images, on so many tasks of their own."""
    from .training.recipes import method, trained_with

    if p.get("image_learners", "run") == "run":
        for dataset, name, shots in product(p["datasets"], p["learners"], p.get("shots", (1, 5))):
            network, learner = method(name, trained_with(shots), p["trained"])
            one = (dataset, sources.filled(network, dataset), learner)
            for captioner in (None, *(p.get("captioners") or [p[of] for of in ("captioner",) if of in p])):
                sampling = "biased" if captioner else "closed"
                if learner in SLOW:
                    yield _Evaluation(*one, sampling, p["image_tasks"], shots=shots, captioner=captioner)


#: Chapters whose evaluations are jobs of their own; of others they are part of the chapter's measured time.
EVALUATES = {
    "closed-vs-open": _shared,
    "comparing-methods": _shared,
    "benchmark": _benchmark,
    "estimators": _estimates,
    "selection": _estimates,
    "ten-learners": _trained,
    "spurious-bias": _trained,
    "captioners-and-tasks": _trained,
}


def _re_split(p: dict) -> Iterator[_Evaluation]:
    """Methods and the estimates of their accuracy, on the tasks of Tables 1, 2 and 5 of the evaluators' paper."""
    shape = {name: p[name] for name in (*SHAPE, "seed", "rounds")}
    for dataset, method in product(p["datasets"], [*p["methods"], *p.get("image_methods", ())]):
        backbone, learner = method.rsplit(" ", 1)
        if learner not in SLOW or p["image_learners"] == "run":
            tasks = min(p["tasks"], p["image_tasks"]) if learner in SLOW else p["tasks"]
            yield _Evaluation(dataset, sources.filled(backbone, dataset), learner, "re-split", tasks, **shape)


def _worst(p: dict) -> Iterator[_Evaluation]:
    """Learners on random tasks and on those biased by each captioner, of FewSTAB's Tables 3, S7 and S8."""
    from .training.recipes import method, trained_with

    for dataset, name, shots in product(p["datasets"], p["learners"], (1, 5)):
        backbone, learner = method(name, trained_with(shots), p["trained"])
        if learner not in SLOW or p["image_learners"] == "run":
            tasks = min(p["tasks"], p["image_tasks"]) if learner in SLOW else p["tasks"]
            of = dict(ways=p["ways"], shots=shots, queries=p["queries"], seed=p["seed"])
            one = (dataset, sources.filled(backbone, dataset), learner)
            yield _Evaluation(*one, "closed", tasks, **of)
            for captioner in p.get("captioners") or [p["captioner"]]:
                yield _Evaluation(*one, "biased", tasks, **of, captioner=captioner)


#: Chapters whose tables rest on evaluations that `fslbook.pack` can write, and all of these.
TABLES = {
    **{"closed-vs-open": _shared, "comparing-methods": _shared, "benchmark": _whole_benchmark},
    **{"estimators": _re_split, "selection": _re_split, "spurious-bias": _worst, "captioners-and-tasks": _worst},
}


def evaluations(given: dict[str, dict]) -> dict[str, list[_Evaluation]]:
    """By chapter the evaluations of `TABLES`, of parameters as `notebooks.profile` gives them."""
    asked = {n: {p.name: p.default for p in notebooks.parameters(n)} | given[n] for n in given if n in TABLES}
    return {name: list(merged(TABLES[name](p))) for name, p in asked.items()}


def reckon(profile: str | Path | dict, machine: str | None = None) -> Workload:
    """The jobs of a profile, and what each takes on one core.

    Parameters
    ----------
    profile : path or dict
        A file as for `fslbook.notebooks.profile`, or what that gives. A data set of one's own need not be there
        yet if the papers print how many images it has.
    machine : str, optional
        As for `stored`.

    Raises
    ------
    InputError
        As for `fslbook.notebooks.profile` and `stored`.
    """
    name = "the given parameters" if isinstance(profile, dict) else str(profile)
    given = profile if isinstance(profile, dict) else notebooks.profile(profile, absent=True)
    facts = stored(machine)
    rates = _Rates(facts["rates"])
    chapters = [n for n in notebooks.names() if n in given] or notebooks.names()  # those that the build makes
    asked = {n: {p.name: p.default for p in notebooks.parameters(n)} | given.get(n, {}) for n in chapters}
    evaluations = list(merged(e for n, p in asked.items() if n in EVALUATES for e in EVALUATES[n](p)))
    sets = {e.dataset: _source(e.dataset) for e in evaluations}
    pairs = {(e.dataset, e.backbone) for e in evaluations if e.learner not in SLOW}
    for n, p in asked.items():
        pairs |= set(_pairs(n, p))
    sets |= {dataset: _source(dataset) for dataset, _ in pairs}
    jobs = [_features(d, b, sets[d], rates) for d, b in sorted(pairs)]
    jobs += [_evaluation(e, sets[e.dataset], rates) for e in evaluations]
    jobs += [_chapter(n, p, rates) for n, p in asked.items()]
    where = f"{facts['cpu']}, {facts['cores']} cores, one thread a job, measured {facts['date']}"
    images = {d: (s.count, s.known) for d, s in sorted(sets.items()) if s is not None}
    untrained, silent = _missing(asked), _silent(asked)
    gpu = _gpu(evaluations, pairs, sets, untrained, silent)
    return Workload(name, where, tuple(jobs), images, _downloads(asked), _before(untrained, silent), gpu)


def _texts(asked: dict[str, dict]) -> list[str]:
    """All texts among the parameters of chapters."""
    values = chain.from_iterable(v if isinstance(v, list) else [v] for p in asked.values() for v in p.values())
    return [v for v in values if isinstance(v, str)]


def _downloads(asked: dict[str, dict]) -> tuple[Download, ...]:
    """Data sets of the papers that are not here, and weights, whose folder the model hub's own library knows."""
    values = _texts(asked)
    wanted = dict.fromkeys([v.partition(" ")[0] for v in values] + [source_of(v) for v in values if _bare(v)])
    known = sources.read()
    found = [known.data[name] for name in wanted if name in known.data and sources.at_hand(name) is None]
    plain = dict.fromkeys(name.removesuffix("-released") for name in wanted)
    return tuple(
        [Download(one.name, one.bytes, one.unpacked, one.accept, bool(one.bring)) for one in found]
        + [Download(name, size := known.weights[name].bytes, size) for name in plain if name in known.weights]
    )


def _bare(value: str) -> bool:
    """Whether this is the name of a data set that ``fslcore fetch`` brings, perhaps with settings."""
    return value.partition("?")[0] in READERS


def _before(untrained: dict[str, list[str]], silent: dict[str, list[str]]) -> tuple[str, ...]:
    """Commands that make what chapters read and is not there yet: networks of the papers, and captions."""
    return (
        *(f"fslbook train --paper {paper} ({len(todo)} networks)" for paper, todo in untrained.items() if todo),
        *(f"fslbook caption {shlex.join(sets)} --captioner {captioner}" for captioner, sets in silent.items()),
    )


def _missing(asked: dict[str, dict]) -> dict[str, list[str]]:
    """By paper whose networks chapters read, those that are not trained yet."""
    from .training.whole import missing

    values = _texts(asked)
    return {of: missing(of) for of in TRAINERS if any(v.startswith(f"{OWN}:{of}/") for v in values)}


def _silent(asked: dict[str, dict]) -> dict[str, list[str]]:
    """By captioner the data sets of chapters that it has not captioned yet."""
    found = {}
    for captioner in CAPTIONERS[1:]:
        of = [p for p in asked.values() if captioner in (p.get("captioner"), *p.get("captioners", ()))]
        sets = dict.fromkeys(dataset for p in of for dataset in p["datasets"])
        found[captioner] = [dataset for dataset in sets if not table_of(captioner, dataset).is_file()]
    return {captioner: sets for captioner, sets in found.items() if sets}


def merged(found: Iterable[_Evaluation]) -> Iterator[_Evaluation]:
    """One a setting, with the most tasks: chapters find in the cache what another one made."""
    kept = {}
    for one in found:
        both = kept.get(one.setting, one), one
        kept[one.setting] = max(both, key=lambda e: math.inf if e.tasks is None else e.tasks)
    yield from kept.values()


#: Chapters where a parameter with data sets goes with some of the backbones and methods alone, and with which.
APART = {
    "estimators": {"datasets": ["methods"], "sweep_dataset": ["sweep_methods"]},
    "selection": {"datasets": ["methods", "tuned_method"], "curve_datasets": ["features"]},
    "three-intervals": {"datasets": ["backbones"], "drawn": ["backbones"], "scripts": ["seen_by"]},
}


def _pairs(name: str, p: dict) -> Iterator[tuple[str, str]]:
    """(data set, backbone) of a chapter: of its data sets with the backbones, and those of methods, that they meet."""
    kinds = {of.name: of.allowed for of in notebooks.parameters(name)}
    of_kind = {
        kind: [n for n, of in kinds.items() if of.partition(" ")[0] == kind]
        for kind in ("dataset", "backbone", "method")
    }

    def given(names: Iterable[str]) -> list[str]:
        values = [p[n] for n in names if p[n]]  # '' stands for one of a list
        return [v for value in values for v in (value if isinstance(value, list) else [value])]

    together = APART.get(name, {n: [*of_kind["backbone"], *of_kind["method"]] for n in of_kind["dataset"]})
    for sets, networks in together.items():
        methods = [v for v in given(networks) if " " not in v or not _slow(v)]
        for dataset, backbone in product(given([sets]), [v.partition(" ")[0] for v in methods]):
            yield dataset, sources.filled(backbone, dataset)
    if ":" in p.get("trained", ""):  # networks that do not ship
        from .training.recipes import method, trained_with

        for dataset, learner, shots in product(p["datasets"], p["learners"], p.get("shots", (1, 5))):
            network, decides = method(learner, trained_with(shots), p["trained"])
            if decides not in SLOW:
                yield dataset, sources.filled(network, dataset)


def _slow(method: str) -> bool:
    return method.split(" ")[1] in SLOW


@dataclass(frozen=True)
class _Source:
    """Images of a data set; ``labels`` where they are at hand."""

    count: int
    shape: tuple[int, ...] | None
    labels: object
    known: str


@cache
def _source(dataset: str) -> _Source | None:
    """What is known of a data set without decoding an image; None where nothing is."""
    from fslcore import datasets

    kind, colon, path = dataset.partition(":")
    kind = kind.partition("?")[0]
    fetched = kind in READERS and not colon
    if sources.at_hand(source_of(dataset)) is None if fetched else colon and not at_home(path, "dataset").exists():
        import pandas as pd

        if fetched and (count := in_release(dataset)):
            return _Source(count, None, None, "papers")
        printed = pd.read_csv(DATA / "published" / "oops_table2.csv").groupby("dataset")["n_images"].first()
        of_oops = kind in printed and dataset.partition("?")[2] in ("", "splits=meta-dataset")
        return _Source(int(printed[kind]), None, None, "papers") if of_oops else None
    if kind == "features" and colon:
        from fslcore.datasets.bank import load_features

        bank = load_features(path)
        return _Source(len(bank), None, bank.labels, "data")
    images = datasets.load(dataset)
    return _Source(len(images), images.images.shape[1:], images.labels, "data")


def _seen(backbone: str, source: _Source) -> tuple[int, int]:
    """Side in pixels at which a backbone sees the images, and the length of its features."""
    from fslcore.models.registry import entries

    own = trainings().get(backbone.partition(":")[2]) if backbone.startswith(f"{OWN}:") else None
    if own:
        return own[1].built.side, own[1].built.dim
    known = entries()[backbone.partition(":")[0]].backbone
    side = max(source.shape[:2]) if source.shape else math.inf
    own = min(64, 32 * math.ceil(min(side, 64) / 32))
    large = known.trained_at if side > 96 else None  # the user's own images are read as large as that
    return known.resolution or large or own, known.dim


# ---------------------------------------------------------------- what a GPU takes


def _gpu(
    evaluations: list[_Evaluation],
    pairs: set[tuple[str, str]],
    sets: dict[str, _Source | None],
    untrained: dict[str, list[str]],
    silent: dict[str, list[str]],
) -> Gpu | None:
    """Operations of all features, of learners that train on images, and of what is made before, over those a second."""
    looks: dict[str, float] = {}
    for dataset, backbone in pairs:
        if (source := sets[dataset]) is not None:
            looks[backbone] = looks.get(backbone, 0) + source.count
    for e in evaluations:
        if e.learner in SLOW and (source := sets[e.dataset]) is not None:
            of_tasks = _count(e, source) * e.trainings * _looks(e.shape, STEPS if e.learner == "ft" else INNER)
            looks[e.backbone] = looks.get(e.backbone, 0) + of_tasks
    each = {backbone: operations(backbone) for backbone in looks}
    made = {network: of_training(network) for network in chain.from_iterable(untrained.values())}
    captions, unknown = _of_captions(silent)
    before = {"trainings": math.fsum(n for n in made.values() if n), "captions": captions}
    total = math.fsum([*(n * each[of] for of, n in looks.items() if each[of]), *before.values()])
    if not looks and not made:
        return None
    uncounted = (of for of, n in {**each, **made}.items() if n is None)
    uncounted = (*sorted(uncounted), *unknown)
    path = FOLDER / GPU
    if not path.is_file():
        return Gpu(total, ASSUMED, "which is assumed: benchmarks/gpu.py measures a GPU", uncounted, **before)
    try:
        found = json.loads(path.read_text("utf-8"))
        per_second = found["pieces"][MEASURED]["speed"] * of_vit(16, 384)
        return Gpu(total, per_second, f"measured on {found['machine']['gpu']}", uncounted, **before)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} lacks {MEASURED} ({error}); benchmarks/gpu.py measures it") from None


def _of_captions(silent: dict[str, list[str]]) -> tuple[float, list[str]]:
    """Of all captions that are not there yet, and of which data sets no number of images is known."""
    total, unknown = 0.0, []
    for captioner, sets in silent.items():
        for dataset in sets:
            source = _source(dataset)
            total += of_caption(captioner) * source.count if source else 0
            unknown += [] if source else [f"captions of {dataset} by {captioner}"]
    return total, unknown


# ---------------------------------------------------------------- what each job takes


def _features(dataset: str, backbone: str, source: _Source | None, rates: _Rates) -> Job:
    name = f"{dataset} by {backbone}"
    if source is None:
        return Job("features", name, None, note="a data set that is neither here nor in the papers' tables")
    side, dim = _seen(backbone, source)
    row, (per_image, note) = rates.image(backbone, side), rates.per_image(backbone, side)
    if per_image is None:
        return Job("features", name, None, note=note)
    memory = row and row["peak_mb"] / 1074 + min(6 * source.count * dim, 3 * MAPPED) / 2**30
    return Job("features", name, source.count * per_image / 3600, memory, note)


def _evaluation(e: _Evaluation, source: _Source | None, rates: _Rates) -> Job:
    tasks = None if source is None else _count(e, source)
    amount = "" if tasks is None else f" {tasks:,}"
    name = f"{e.learner} on{amount} {e.sampling} tasks of {e.dataset}, {e.backbone}, {e.shots}-shot"
    name += f", {e.trainings} trainings each" if e.trainings > 1 else ""
    if source is None:
        return Job("evaluation", name, None, note="a data set that is neither here nor in the papers' tables")
    side, dim = _seen(e.backbone, source)
    per_task, note = rates.per_task(e.backbone, side, dim, e.learner, e.shape)
    if per_task is None:
        return Job("evaluation", name, None, note=note)
    row, slow = rates.task(e.learner), e.learner in SLOW
    pixels = math.prod(source.shape) if slow and source.shape else 3 * side**2
    # Large data sets stay in their files: of their images and features those of some tasks alone are in memory.
    held = min(source.count * pixels, KEPT) if slow else min(source.count * 4 * dim, 2 * MAPPED)
    held += 24 * tasks * _images(e.shape)
    return Job("evaluation", name, tasks * e.trainings * per_task / 3600, row["peak_mb"] / 1074 + held / 2**30, note)


def _count(e: _Evaluation, source: _Source) -> int:
    """Number of tasks; of open ones as many as the data give, or at most if only their number of images is known."""
    if e.sampling != "open":
        return e.tasks
    if source.labels is None:
        there = source.count // _images(e.shape)
        return there if e.tasks is None else min(e.tasks, there)
    from fslcore.tasks import sample_open

    return len(sample_open(source.labels, **e.shape, max_tasks=e.tasks, skip_small_classes=True))


def _chapter(name: str, p: dict, rates: _Rates) -> Job:
    """A chapter's time in the measured build, as if all of it grew with what grows most: an upper bound."""
    row = rates.chapters.get(name)
    if row is None:
        return Job("chapter", name, None, note="no build of it was measured")
    kinds = {of.name: of for of in notebooks.parameters(name)}
    before = {n: of.default for n, of in kinds.items()} | {n: v for n, v in row["parameters"].items() if n in kinds}
    counts, lists = [], 1.0
    for n, of in kinds.items():
        if isinstance(p[n], list) and before[n]:
            lists *= len(p[n]) / len(before[n])
        elif of.type == "int" and n not in NO_WORK and before[n] > 0:
            counts.append(p[n] / before[n])
    changed = [ratio for ratio in counts if ratio != 1]
    factor = lists * (max(changed) if changed else 1.0)
    return Job("chapter", name, row["seconds"] * factor / 3600, note="at most" if factor != 1 else "")
