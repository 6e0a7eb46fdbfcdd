"""What a profile gave on the papers' own data as one file, which `fslbook.contributed` checks and reads."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import zipfile
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fslcore import __version__, catalogue, sources
from fslcore.catalogue import USER_CHECKPOINT
from fslcore.datasets.loading import source_of
from fslcore.errors import InputError
from fslcore.paths import check_output, replace_file
from fslcore.tasks import Tasks

from . import attributes, notebooks
from .biased_tasks import sample_biased
from .catalogue import TRAINERS
from .contributed import (
    FORMAT,
    REDRAWN,
    RESPLIT,
    RESULTS,
    ROW,
    array_digest,
    member,
    plain,
    re_split,
    wrong_name,
)
from .estimation import fresh_test_sets, resampled
from .evaluations import Evaluation, evaluations, without_repeats

if TYPE_CHECKING:
    from fslcore.evaluation import ConfiguredMethod, Outcomes

__all__ = ["write"]

LIBRARIES = ("numpy", "scipy", "pandas", "torch", "scikit-learn", "timm")


def write(profile: str | Path, output: str | Path, by: str) -> Path:
    """Write what a profile's run left in the cache, on data sets that `fslcore.sources` lists, as one file.

    The same run gives the same bytes. Nothing is computed but the tasks.

    Parameters
    ----------
    profile : path
        As for `fslbook.notebooks.profile`.
    output : path
        The file, ``.zip`` or ``.npz``.
    by : str
        Who reports it, up to 80 characters in one line; shown wherever its numbers are.

    Raises
    ------
    InputError
        No evaluation on such a data set in the profile; and, all at once, what was never computed, data whose
        digests are not known, or not those that are listed.
    """
    output = check_output(output, [".zip", ".npz"], [profile])
    if wrong := wrong_name(by):
        raise InputError(wrong)
    by_chapter = evaluations(notebooks.profile(profile, absent=True))
    listed = {chapter: _listed(of_chapter) for chapter, of_chapter in by_chapter.items()}
    rows = without_repeats(chain.from_iterable(listed.values()))
    if not rows:
        raise InputError(
            f"profile: {profile} has no evaluation on data that fslcore fetch knows; there is nothing to pack"
        )
    about = {
        "format": FORMAT,
        "by": by,
        "profile": Path(profile).stem,
        "chapters": sorted(chapter for chapter in listed if listed[chapter]),
        "code": _code(),
        "versions": _versions(),
        "machine": _machine(),
        **{name: {} for name in ("data", "weights", "classes", "parts")},
        "results": [],
    }
    arrays, problems = [], []
    for evaluation in rows:
        try:
            arrays.append(_add(evaluation, about))
        except InputError as error:
            problems.append(str(error))
    problems += sources.differing(about["data"], about["weights"], sources.read())[0]
    if problems:
        raise InputError(f"pack: {'; '.join(dict.fromkeys(problems))}")
    replace_file(output, lambda part: part.write_bytes(_bytes(about, arrays)))
    return output


def _listed(evaluations: list[Evaluation]) -> list[Evaluation]:
    """Evaluations on data sets of the manifest by learners of the library."""
    manifest = sources.read()
    names = {*manifest.data, *manifest.aliases}
    return [
        e for e in evaluations if _source(e) in names and e.learner in catalogue.registered_learners
    ]


def _source(evaluation: Evaluation) -> str:
    return source_of(evaluation.dataset.partition(":")[0])


def _add(evaluation: Evaluation, about: dict) -> np.ndarray:
    """The array of an evaluation; its row, digests and class sizes go into ``about``."""
    from fslcore.evaluation import configure

    files = _digests(evaluation)
    kind, _, path = evaluation.backbone.partition(":")
    if kind == USER_CHECKPOINT and (path.partition("/")[0] not in TRAINERS or Path(path).suffix):
        raise InputError(
            f"{kind}: a file of your own; of networks that you trained, those of {', '.join(TRAINERS)} are packed"
        )
    method = configure(evaluation.dataset, evaluation.backbone, evaluation.learner)
    digest, array = _results(evaluation, method)
    about["data"][_source(evaluation)] = files
    about["weights"][plain(evaluation.backbone)] = method.backbone.weights
    _, first, sizes = np.unique(method.source.classes, return_index=True, return_counts=True)
    about["classes"][evaluation.dataset] = sizes.tolist()
    if (parts := fresh_test_sets.parts_of(method.source)) is not None:
        about["parts"][evaluation.dataset] = parts[first].tolist()
    row = {name: getattr(evaluation, name) for name in ROW if name not in RESULTS}
    if kind != USER_CHECKPOINT:
        row["backbone"] = kind
    redrawn = REDRAWN[evaluation.sampling]
    about["results"].append(
        row | {"digest": digest, "array": array_digest(_npy(array)), "redrawn": redrawn}
    )
    return array


def _digests(evaluation: Evaluation) -> dict[str, dict]:
    """Length and digests of the files of a data set; none of one that a person brought."""
    name = _source(evaluation)
    entry = sources.read().data.get(name)
    brought = entry and entry.bring and not entry.files and sources.at_hand(name)
    files = {} if ":" in evaluation.dataset else sources.digests(name)
    if ":" in evaluation.dataset or not (files or brought):
        raise InputError(
            f"{evaluation.dataset}: its digests are not known; fslcore fetch {name} records them"
        )
    kept = ("bytes", *sources.LENGTHS)
    return {
        file: {kind: facts[kind] for kind in kept if kind in facts} for file, facts in files.items()
    }


def _results(evaluation: Evaluation, method: ConfiguredMethod) -> tuple[str, np.ndarray]:
    """Digest of the tasks by class, and the array of what was computed on them; `contributed` says what it contains."""
    if evaluation.sampling == "re-split":
        return _resplit_results(evaluation, method)
    from fslcore.evaluation import load_images_or_features, sample_tasks

    labels = method.source.classes
    options = dict(tasks=evaluation.tasks, **evaluation.shape, seed=evaluation.seed)
    if evaluation.sampling == "biased":
        has = attributes.of(load_images_or_features(evaluation.dataset), evaluation.captioner).has
        tasks, _ = sample_biased(labels, has, **options)
    else:
        tasks = sample_tasks(method.source, evaluation.sampling, skip_small_classes=True, **options)
    record = method.outcomes(tasks, stored=True)
    if record is None or len(record.correct) < len(tasks):
        raise _never_computed(evaluation, tasks, record)
    right = record.by_class().sum(axis=2)
    if evaluation.sampling == "biased":
        classes = np.unique(labels, return_inverse=True)[1][tasks.support[:, :: evaluation.shots]]
        right = np.hstack([classes, right])
    return _by_class(tasks, labels).digest, right.astype("<u2")


def _resplit_results(evaluation: Evaluation, method: ConfiguredMethod) -> tuple[str, np.ndarray]:
    labels, seed = method.source.classes, evaluation.seed
    parts = fresh_test_sets.parts_of(method.source)
    halves = fresh_test_sets.draw(
        labels, parts, tasks=evaluation.tasks, **evaluation.shape, seed=seed
    )
    options = dict(rounds=evaluation.rounds, seed=seed, stored=True)
    tables = [
        resampled.run(method, half, names, **options)
        for half, names in zip(halves, (RESPLIT[:-1], RESPLIT[:1]))
    ]
    if any(table is None for table in tables):
        raise _never_computed(evaluation)
    by_class = [_by_class(half, labels) for half in halves]
    digest, _ = re_split(*by_class, evaluation.rounds, seed)
    return digest, np.hstack(tables).astype("<f8")


def _never_computed(
    evaluation: Evaluation, tasks: Tasks | None = None, record: Outcomes | None = None
) -> InputError:
    name = f"{evaluation.learner} on {evaluation.sampling} tasks of {evaluation.dataset}"
    message = f"{name}, {evaluation.backbone}, {evaluation.shots}-shot, was never computed"
    if record is not None:
        message += f" ({len(record.correct):,} of {len(tasks):,} tasks are there)"
    return InputError(message)


def _by_class(tasks: Tasks, labels: np.ndarray) -> Tasks:
    """The tasks with their images counted in the order of their classes."""
    place = np.empty(len(labels), np.int64)
    place[np.argsort(labels, kind="stable")] = np.arange(len(labels))
    return replace(tasks, support=place[tasks.support], query=place[tasks.query])


def _code() -> dict[str, str]:
    sha, folder = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest = hashlib.sha256(path.read_bytes()).digest()
        sha.update(path.relative_to(folder).as_posix().encode() + digest)
    return {"fslcore": __version__, "sha256": sha.hexdigest()}


def _versions() -> dict[str, str]:
    installed = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    return {"python": platform.python_version()} | {
        name: installed[name] for name in LIBRARIES if name in installed
    }


def _machine() -> dict[str, str | int | None]:
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "gpu": gpu,
    }


def _bytes(about: dict, arrays: list[np.ndarray]) -> bytes:
    text = json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False)
    members = {"about.json": text.encode()}
    members |= {member(i): _npy(array) for i, array in enumerate(arrays)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
    return file.getvalue()


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return file.getvalue()
