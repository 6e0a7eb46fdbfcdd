"""What a profile asks for: downloads, disk, what is made before, features, evaluations, chapters and measured hours.

Core-hours are given only where the rate of that very backbone, learner or chapter was measured
(`fslbook.measurements`), and grow only with the number of images or tasks. Sums that leave something out are lower
bounds, and are called so; where nothing of a kind was measured, they are not known. Nothing is computed or downloaded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fslcore import sources
from fslcore.catalogue import USER_CHECKPOINT
from fslcore.datasets.listing import READERS
from fslcore.datasets.loading import source_of
from fslcore.errors import InputError
from fslcore.paths import at_home

from . import notebooks
from .attributes.captions import table_of
from .catalogue import CAPTIONERS, TRAINERS, source_and_compounds
from .evaluations import (
    IMAGE_LEARNERS,
    Evaluation,
    complete_parameters,
    evaluations,
    features,
    without_repeats,
)
from .measurements import FOLDER, GPU, load_machine

if TYPE_CHECKING:
    import pandas as pd

    from fslcore.datasets import Source

__all__ = ["Download", "ImageCount", "Job", "Plan", "plan_profile"]

NO_RATE = "no rate was measured; benchmarks/bench.py --only {piece}"
NO_RATE_OF_TRAINED = "no benchmark has networks that are still to be trained"
NO_RATE_OF_RESPLITS = "no benchmark measures re-split tasks"
NO_COUNT = "its number of images is not known before it is here"
CAPTIONED_SIDE = 384  # in pixels, at which photos are captioned: that of BLIP's input, the largest
NO_TASK_COUNT = "the number of open tasks is not known before the images are here"
BYTES_PER_VALUE = 2  # of stored features: 16-bit numbers (`fslcore.models.shards`)
LARGE_SHARE = 0.5  # of the measured hours, from which a data set is named
KNOWN_SHARE = (
    0.5  # of the jobs of a kind, from which the measured ones are printed as a lower bound
)
OTHER_HOURS = (
    "hours that no benchmark measures: time a part, such as fslcore features DATA BACKBONE --part 1/100, "
    "or fslcore evaluate likewise"
)
# Of data sets of which a setting reads a part, by name: an example of it, and its images per class.
PARTS = {"quickdraw": ("per_class", 1000)}


@dataclass(frozen=True)
class Job:
    """One piece of work.

    Attributes
    ----------
    kind : str
        'features' of a data set by a backbone, 'evaluation' of a method on tasks, or 'chapter'.
    name : str
    core_hours : float or None
        On one core of the machine that was measured; None where no rate was.
    reason : str
        Why there are no hours.
    dataset : str
        Whose images a job on features reads; empty for other jobs.
    bytes : int or None
        Of the features that it stores; None for other jobs, and where they are not known.
    """

    kind: str
    name: str
    core_hours: float | None = None
    reason: str = ""
    dataset: str = ""
    bytes: int | None = None


@dataclass(frozen=True)
class Download:
    """Data or weights that are not here, or whose folder only the library of the model hub knows.

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
class ImageCount:
    """Number of images of a data set: counted in its files, or as `fslcore.sources` lists it."""

    images: int
    counted: bool


@dataclass(frozen=True)
class Plan:
    """What a profile asks for.

    Attributes
    ----------
    profile, machine : str
        The profile, and the machine that was measured.
    jobs : tuple of Job
    images : dict of str to ImageCount
        By data set, where the number is known.
    downloads : tuple of Download
    before : tuple of str
        Commands that make networks and captions which chapters read and which are not here yet.
    """

    profile: str
    machine: str
    jobs: tuple[Job, ...]
    images: dict[str, ImageCount]
    downloads: tuple[Download, ...] = ()
    before: tuple[str, ...] = ()

    def totals(self) -> pd.DataFrame:
        """Per kind: number of jobs, number of those with a measured rate, and the core-hours of the latter; missing
        where none has.
        """
        import pandas as pd

        hours = pd.DataFrame({"kind": [job.kind for job in self.jobs]})
        hours["core_hours"] = pd.Series([job.core_hours for job in self.jobs], dtype=float)
        by_kind = hours.groupby("kind", sort=False)["core_hours"]
        totals = by_kind.agg(jobs="size", measured="count")
        return totals.assign(core_hours=by_kind.sum(min_count=1)).reset_index()

    def as_record(self) -> dict:
        """The plan for a program: its attributes, and the totals."""
        return {**vars(self), "totals": self.totals()}

    def longest(self) -> list[Job]:
        """The ten jobs with the most measured hours."""
        measured = [job for job in self.jobs if job.core_hours is not None]
        return sorted(measured, key=lambda job: -job.core_hours)[:10]

    def lines(self) -> list[str]:
        """The plan as text."""
        totals = self.totals()
        lines = [f"{self.profile}, by the rates of {self.machine}", ""]
        lines.append(f"{'':<12}{'jobs':>6}{'measured':>10}{'core-hours':>18}")
        for row in totals.itertuples():
            hours = "not known"
            if row.measured >= KNOWN_SHARE * row.jobs:
                hours = _sum_text(_rounded(row.core_hours), row.measured, row.jobs)
            lines.append(f"{row.kind:<12}{row.jobs:>6,}{row.measured:>10,}{hours:>18}")
        lines += [self._hours_line(), *self._share_lines(), self._gpu_line()]
        if self.longest():
            lines += ["", "most measured hours:"]
        lines += [
            f"  {_rounded(job.core_hours):>8}  {job.kind}: {job.name}" for job in self.longest()
        ]
        return (
            lines
            + self._reason_lines()
            + self._image_lines()
            + self._download_lines()
            + self._disk_lines()
            + self._before_lines()
        )

    def _hours_line(self) -> str:
        """All hours: known, at least so many, or not known."""
        totals = self.totals()
        measured, jobs = int(totals["measured"].sum()), int(totals["jobs"].sum())
        hours = f"{_rounded(totals['core_hours'].sum())} core-hours"
        if not (totals["measured"] >= KNOWN_SHARE * totals["jobs"]).any():
            line = f"in all: not known; {measured:,} of {jobs:,} jobs have a measured rate"
            line += f", of {hours}" if measured else ""
        elif measured < jobs:
            line = f"in all: at least {hours}; {jobs - measured:,} of {jobs:,} jobs have no measured rate"
        else:
            line = f"in all: {hours}"
        return f"{line}; without what is to be made before (below)" if self.before else line

    def _share_lines(self) -> list[str]:
        """The data set that takes most of the measured hours, and how to read a part of it."""
        by_dataset: dict[str, float] = {}
        for job in self.jobs:
            if job.dataset and job.core_hours is not None:
                by_dataset[job.dataset] = by_dataset.get(job.dataset, 0) + job.core_hours
        if len(by_dataset) < 2:
            return []
        name = max(by_dataset, key=by_dataset.get)
        share = by_dataset[name] / sum(job.core_hours or 0 for job in self.jobs)
        if share <= LARGE_SHARE:
            return []
        line = f"{_percent(share)} of these hours: features of {name}"
        if name in PARTS and name in self.images:
            setting, value = PARTS[name]
            part = _image_count(f"{name}?{setting}={value}", None)
            line += f"; '{name}?{setting}={value}' in the profile reads {part.images:,} of its "
            line += f"{self.images[name].images:,} images"
        return [line]

    def _gpu_line(self) -> str:
        gpu = FOLDER / GPU
        if gpu.is_file():
            return f"hours of a GPU: not in the plan; {gpu} has its speeds beside those of the processor"
        return (
            "hours of a GPU: not known; python benchmarks/gpu.py, run on one, measures its speeds"
        )

    def _reason_lines(self) -> list[str]:
        names: dict[tuple[str, str], list[str]] = {}
        for job in self.jobs:
            if job.reason:
                names.setdefault((job.kind, job.reason), []).append(job.name)
        lines = [
            f"{kind} without hours ({reason}): {_first(jobs)}"
            for (kind, reason), jobs in names.items()
        ]
        return [*lines, OTHER_HOURS] if lines else []

    def _image_lines(self) -> list[str]:
        counted = [
            f"{name} {count.images:,}" for name, count in self.images.items() if count.counted
        ]
        listed = [
            f"{name} {count.images:,}" for name, count in self.images.items() if not count.counted
        ]
        return _labelled("images, counted in the data", counted) + _labelled(
            "images, as listed", listed
        )

    def _download_lines(self) -> list[str]:
        fetched = [download for download in self.downloads if not download.bring]
        known = [download for download in fetched if download.bytes]
        gigabytes = sum(download.bytes for download in known) / 1e9
        label = f"to fetch: {_sum_text(f'{gigabytes:,.1f} GB', len(known), len(fetched))}"
        accepted = [download.name for download in self.downloads if download.accept]
        brought = [_with_size(download) for download in self.downloads if download.bring]
        return (
            _labelled(label, [download.name for download in fetched])
            + _labelled("with terms to accept", accepted)
            + _labelled("to be brought by hand", brought)
        )

    def _disk_lines(self) -> list[str]:
        """What the data and the features take on the disk, and what that leaves out."""
        stored = [job for job in self.jobs if job.dataset]
        parts = {
            "fetched and unpacked": [x.unpacked for x in self.downloads if not x.bring],
            "brought by hand": [x.unpacked for x in self.downloads if x.bring],
            "features, held twice while they are gathered": [job.bytes for job in stored],
        }
        texts = [
            f"{sum(size or 0 for size in sizes) / 1e9:,.1f} GB {name}"
            for name, sizes in parts.items()
            if any(sizes)
        ]
        if not texts:
            return []
        every = [*chain.from_iterable(parts.values())]
        known = [size for size in every if size]
        total = _sum_text(f"{sum(known) / 1e9:,.1f} GB", len(known), len(every))
        lines = [f"on the disk: {total}: {', '.join(texts)}"]
        unknown = [download.name for download in self.downloads if not download.unpacked]
        unknown += [f"features of {job.name}" for job in stored if not job.bytes]
        if unknown:
            lines.append(f"on the disk, of sizes that are not known: {_first(unknown)}")
        return lines

    def _before_lines(self) -> list[str]:
        return [
            f"to be made before, in hours that are not known: {command}" for command in self.before
        ]


def _labelled(label: str, names: list[str]) -> list[str]:
    return [f"{label}: {', '.join(names)}"] if names else []


def _first(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _sum_text(text: str, known: int, parts: int) -> str:
    """A sum of the known parts: itself, a lower bound, or nothing."""
    if not known and parts:
        return "not known"
    return text if known == parts else f"at least {text}"


def _with_size(download: Download) -> str:
    size = f"about {download.unpacked / 1e9:,.1f} GB" if download.unpacked else "size not known"
    return f"{download.name} ({size})"


def _percent(share: float) -> str:
    """Never 100 % of less than all."""
    return (
        f"{100 * share:.0f} %"
        if share == 1 or share < 0.995
        else f"{100 * min(share, 0.9999):.2f} %"
    )


def _rounded(hours: float) -> str:
    if hours >= 100:
        return f"{hours:,.0f}"
    return f"{hours:.1f}" if hours >= 1 else f"{hours:.3f}"


def plan_profile(profile: str | Path | dict, machine: str | None = None) -> Plan:
    """What a profile asks for, and the measured hours.

    Parameters
    ----------
    profile : path or dict
        A file as for `fslbook.notebooks.profile`, or what that gives. Data sets need not be here yet.
    machine : str, optional
        As for `fslbook.measurements.load_machine`.

    Raises
    ------
    InputError
        As for these two.
    """
    settings = profile if isinstance(profile, dict) else notebooks.profile(profile, absent=True)
    measured = load_machine(machine)
    chapters = [
        name for name in notebooks.names() if name in settings
    ] or notebooks.names()  # as the build makes them
    parameters = {chapter: complete_parameters(settings, chapter) for chapter in chapters}
    jobs, images = _jobs(parameters, measured["rates"])
    texts = _texts(parameters)
    sets = _trained_sets(parameters)
    return Plan(
        profile="the given parameters" if isinstance(profile, dict) else str(profile),
        machine=f"{measured['cpu']}, {measured['cores']} cores, one thread per job, measured {measured['date']}",
        jobs=jobs,
        images=images,
        downloads=_downloads(texts),
        before=(*_trainings(sets), *_captionings(parameters)),
    )


# ---------------------------------------------------------------- jobs


def _jobs(
    parameters: dict[str, dict], rates: list[dict]
) -> tuple[tuple[Job, ...], dict[str, ImageCount]]:
    """All jobs, and the numbers of images that are known."""
    pairs = sorted(features(parameters))
    tests = without_repeats(chain.from_iterable(evaluations(parameters).values()))
    names = sorted({dataset for dataset, _ in pairs} | {test.dataset for test in tests})
    loaded = {name: _load_if_here(name) for name in names}
    counts = {name: _image_count(name, loaded[name]) for name in names}
    jobs = [_feature_job(*pair, loaded[pair[0]], counts[pair[0]], rates) for pair in pairs]
    jobs += [_evaluation_job(test, loaded[test.dataset], rates) for test in tests]
    jobs += [_chapter_job(chapter, parameters[chapter], rates) for chapter in parameters]
    return tuple(jobs), {name: count for name, count in counts.items() if count is not None}


def _row(rates: list[dict], **facts) -> dict | None:
    """The measured row with these facts."""
    for row in rates:
        if all(row.get(name) == value for name, value in facts.items()):
            return row
    return None


def _feature_job(
    dataset: str, backbone: str, source: Source | None, count: ImageCount | None, rates: list[dict]
) -> Job:
    row = _row(rates, kind="features", name=_network(backbone), side=_side(backbone, source))
    length = _feature_length(backbone, source)
    reason = ""
    if _network(backbone) == USER_CHECKPOINT:
        reason = NO_RATE_OF_TRAINED
    elif row is None:
        reason = NO_RATE.format(piece="features")
    elif count is None:
        reason = NO_COUNT
    return Job(
        "features",
        f"{dataset} by {backbone}",
        core_hours=None if reason else count.images / row["per_second"] / 3600,
        reason=reason,
        dataset=dataset,
        bytes=count.images * length * BYTES_PER_VALUE if count and length else None,
    )


def _evaluation_job(evaluation: Evaluation, source: Source | None, rates: list[dict]) -> Job:
    tasks = _number_of_tasks(evaluation, source)
    number = "" if tasks is None else f"{tasks:,} "
    name = f"{evaluation.learner} on {number}{evaluation.sampling} tasks of {evaluation.dataset}, "
    name += f"{evaluation.backbone}, {evaluation.shots}-shot"
    row = _evaluation_row(evaluation, source, rates)
    if evaluation.sampling == "re-split":  # several supports and queries per task
        return Job("evaluation", name, reason=NO_RATE_OF_RESPLITS)
    if row is None:
        piece = "slow" if evaluation.learner in IMAGE_LEARNERS else "fast"
        return Job("evaluation", name, reason=NO_RATE.format(piece=piece))
    if tasks is None:
        return Job("evaluation", name, reason=NO_TASK_COUNT)
    return Job("evaluation", name, core_hours=tasks / row["per_second"] / 3600)


def _evaluation_row(
    evaluation: Evaluation, source: Source | None, rates: list[dict]
) -> dict | None:
    """The rate of a learner on tasks of this shape, by this network or on features of this length."""
    facts = {"kind": "tasks", "name": evaluation.learner, **evaluation.shape}
    if evaluation.learner not in IMAGE_LEARNERS:
        return _row(rates, **facts, dim=_feature_length(evaluation.backbone, source))
    network, side = _network(evaluation.backbone), _side(evaluation.backbone, source)
    return _row(rates, **facts, backbone=network, side=side)


def _chapter_job(chapter: str, parameters: dict, rates: list[dict]) -> Job:
    """A chapter's time in the measured build, if that had the same parameters; it recorded those that it set."""
    row = _row(rates, kind="build", job="notebook", name=chapter)
    if row is not None and complete_parameters({chapter: row["parameters"]}, chapter) == parameters:
        return Job("chapter", chapter, core_hours=row["seconds"] / 3600)
    return Job("chapter", chapter, reason=NO_RATE.format(piece="build"))


def _network(backbone: str) -> str:
    """The name of a backbone without a file; the preprocessing of released code does not change its network."""
    return backbone.partition(":")[0].removesuffix("-released")


def _side(backbone: str, source: Source | None) -> int | None:
    """Side in pixels at which a backbone sees images; None if unknown."""
    from fslcore.models.registry import entries

    if _network(backbone) == USER_CHECKPOINT:
        return None
    network = entries()[_network(backbone)].backbone
    if source is None or not source.needs_backbone or source.at_size:  # the user's own photos
        return network.resolution or network.trained_at
    return network.side(*source.images.shape[1:3])


def _feature_length(backbone: str, source: Source | None) -> int | None:
    from fslcore.models.registry import entries

    if _network(backbone) == USER_CHECKPOINT:
        return None
    return entries()[_network(backbone)].backbone.dim


# ---------------------------------------------------------------- images and tasks


def _load_if_here(dataset: str) -> Source | None:
    """The images of a data set, none of them decoded, or its features; None if it is not here."""
    from fslcore import datasets
    from fslcore.evaluation import load_images_or_features

    form, _, path = dataset.partition(":")
    if form == "features":
        return load_images_or_features(dataset) if at_home(path, "features").is_file() else None
    try:
        datasets.check_name(dataset)
    except InputError:
        return None
    return load_images_or_features(dataset)


def _image_count(dataset: str, source: Source | None) -> ImageCount | None:
    """The number of images, counted or listed for exactly this data set."""
    if source is not None:
        return ImageCount(len(source), counted=True)
    if ":" in dataset:
        return None
    entry = sources.read().data.get(source_of(dataset))
    name, _, setting = dataset.partition("?")
    part = re.fullmatch(r"per_class=(\d+)", setting) if name in PARTS else None
    if entry is None or entry.reader != (name if part else dataset) or "novel" not in entry.counts:
        return None
    classes, images = entry.counts["novel"]
    if isinstance(images, str):  # such as 206.2k
        images = round(1000 * float(images.removesuffix("k")))
    return ImageCount(min(images, classes * int(part[1])) if part else images, counted=False)


def _number_of_tasks(evaluation: Evaluation, source: Source | None) -> int | None:
    """Number of tasks; of open ones, as many as the images allow."""
    from fslcore.tasks import sample_open

    if evaluation.sampling != "open":
        return evaluation.tasks
    if source is None:
        return None
    return len(
        sample_open(
            source.labels, **evaluation.shape, max_tasks=evaluation.tasks, skip_small_classes=True
        )
    )


# ---------------------------------------------------------------- downloads, and what is made before


def _texts(parameters: dict[str, dict]) -> list[str]:
    """All texts among the parameters of chapters."""
    values = chain.from_iterable(settings.values() for settings in parameters.values())
    lists = [value if isinstance(value, list) else [value] for value in values]
    return [item for item in chain.from_iterable(lists) if isinstance(item, str)]


def _downloads(texts: Iterable[str]) -> tuple[Download, ...]:
    """Data sets of the papers that are not here, and weights."""
    manifest = sources.read()
    datasets = dict.fromkeys(source_of(text) for text in texts if text.partition("?")[0] in READERS)
    weights = dict.fromkeys(text.partition(" ")[0].removesuffix("-released") for text in texts)
    downloads = []
    for name in datasets:
        entry = manifest.data[name]
        if sources.at_hand(name) is None:
            downloads.append(
                Download(name, entry.bytes, entry.unpacked, entry.accept, bool(entry.bring))
            )
    for name in weights:
        if name in manifest.weights:
            size = manifest.weights[name].bytes
            downloads.append(Download(name, size, size))
    return tuple(downloads)


def _trained_sets(parameters: dict[str, dict]) -> dict[str, list[str]]:
    """Data sets of the chapters that read networks of a paper, by that paper."""
    sets: dict[str, dict[str, None]] = {}
    for chapter, values in parameters.items():
        texts = _texts({chapter: values})
        for paper in TRAINERS:
            if any(text.startswith(f"{USER_CHECKPOINT}:{paper}/") for text in texts):
                sets.setdefault(paper, {}).update(dict.fromkeys(values["datasets"]))
    return {paper: list(names) for paper, names in sets.items()}


def _trainings(sets: dict[str, list[str]]) -> list[str]:
    """Commands that train the networks of papers that chapters read and that are not trained yet."""
    from .training.paper_networks import missing
    from .training.papers import settings_of

    commands = []
    for paper, names in sets.items():
        calls = {f" --dataset {shlex.quote(name)}": missing(paper, name) for name in names}
        if set(names) == set(settings_of(paper)["sets"]):
            calls = {"": missing(paper)}
        for options, networks in calls.items():
            if networks:
                commands.append(
                    f"fslbook train --paper {paper}{options} ({len(networks)} networks)"
                )
    return commands


def _captionings(parameters: dict[str, dict]) -> list[str]:
    """Commands that caption the data sets that chapters read captions of and that have none yet."""
    commands = []
    for captioner in CAPTIONERS[1:]:
        datasets: dict[str, None] = {}
        for values in parameters.values():
            named = (values.get("captioner", ""), *values.get("captioners", ()))
            if captioner in {source_and_compounds(source)[0] for source in named}:
                datasets |= dict.fromkeys(values["datasets"])
        by_size: dict[str, list[str]] = {}
        for name in datasets:
            if not table_of(captioner, name).is_file():
                size = f" --size {CAPTIONED_SIDE}" if re.split("[:?]", name)[0] in READERS else ""
                by_size.setdefault(size, []).append(name)
        for size, names in by_size.items():
            commands.append(f"fslbook caption {shlex.join(names)} --captioner {captioner}{size}")
    return commands
