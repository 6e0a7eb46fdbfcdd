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
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fslcore import __version__, catalogue, sources
from fslcore.catalogue import OWN
from fslcore.datasets.load import source_of
from fslcore.errors import InputError
from fslcore.paths import check_output, replace_file
from fslcore.tasks import Tasks, sample_biased

from . import attributes, notebooks
from .catalogue import TRAINERS
from .contributed import FORMAT, REDRAWN, RESPLIT, ROW, member, plain, re_split, wrong_name
from .estimation import fresh, resampled
from .evaluations import Evaluation, evaluations, without_repeats

if TYPE_CHECKING:
    from fslcore.evaluation import Ready

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
    wanted = evaluations(notebooks.profile(profile, absent=True))
    wanted = {chapter: _listed(rows) for chapter, rows in wanted.items()}
    if not any(wanted.values()):
        raise InputError(
            f"profile: {profile} has no evaluation on data that fslcore fetch knows; there is nothing to pack"
        )
    chapters = sorted(chapter for chapter, rows in wanted.items() if rows)
    about = {"format": FORMAT, "by": by, "profile": Path(profile).stem, "chapters": chapters}
    about |= {"code": _code(), "versions": _versions(), "machine": _machine()}
    about |= {"data": {}, "weights": {}, "classes": {}, "parts": {}, "results": []}
    arrays = _packed_all(without_repeats(e for rows in wanted.values() for e in rows), about)
    replace_file(output, lambda part: part.write_bytes(_bytes(about, arrays)))
    return output


def _listed(chapter_evaluations: list) -> list:
    """Evaluations on data sets of the manifest by learners of the library."""
    manifest = sources.read()
    names = {*manifest.data, *manifest.same}
    return [
        e
        for e in chapter_evaluations
        if source_of(e.dataset.partition(":")[0]) in names and e.learner in catalogue.known
    ]


def _packed_all(rows: list[Evaluation], about: dict) -> list[np.ndarray]:
    """The arrays of these evaluations; what is said of them goes into ``about``."""
    arrays, problems = [], []
    for evaluation in rows:
        try:
            row, array = _packed(evaluation, about)
        except InputError as error:
            problems.append(str(error))
        else:
            about["results"].append(row)
            arrays.append(array)
    problems += sources.differing(about["data"], about["weights"], sources.read())[0]
    if problems:
        raise InputError(f"pack: {'; '.join(dict.fromkeys(problems))}")
    return arrays


def _packed(e: Evaluation, about: dict) -> tuple[dict, np.ndarray]:
    """A row of results and its array; digests and class sizes go into ``about``."""
    from fslcore import evaluation

    name, files = _digests(e.dataset)
    kind, _, network = e.backbone.partition(":")
    if kind == OWN and (network.partition("/")[0] not in TRAINERS or Path(network).suffix):
        raise InputError(
            f"{kind}: a file of your own; of networks that you trained, those of {', '.join(TRAINERS)} are packed"
        )
    method = evaluation.ready(e.dataset, e.backbone, e.learner)
    labels = method.source.classes
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    digest, array = _results(e, method)
    about["data"][name] = files
    about["weights"][plain(e.backbone)] = method.backbone.weights
    about["classes"][e.dataset] = sizes.tolist()
    if (parts := fresh.parts_of(method.source)) is not None:
        about["parts"][e.dataset] = parts[first].tolist()
    row = {key: getattr(e, key) for key in ROW if key not in ("digest", "redrawn")}
    row |= {"backbone": e.backbone if kind == OWN else kind}
    return row | {"digest": digest, "redrawn": REDRAWN[e.sampling]}, array


def _digests(dataset: str) -> tuple[str, dict[str, dict]]:
    """Name of a data set in the manifest, and the digests of its files that are at hand."""
    name = source_of(dataset.partition(":")[0])
    entry = sources.read().data.get(name)
    brought = entry and entry.bring and not entry.files and sources.at_hand(name)  # no digest of it is listed
    files = {} if ":" in dataset else sources.digests(name)
    if ":" in dataset or not (files or brought):
        raise InputError(f"{dataset}: its digests are not known; fslcore fetch {name} records them")
    kinds = ("bytes", *sources.LENGTHS)
    return name, {file: {k: facts[k] for k in kinds if k in facts} for file, facts in files.items()}


def _results(e: Evaluation, method: Ready) -> tuple[str, np.ndarray]:
    """Digest of the tasks by class, and the array of what was computed on them; `contributed` says what it contains."""
    labels, shape = method.source.classes, dict(ways=e.ways, shots=e.shots, queries=e.queries, seed=e.seed)
    if e.sampling == "re-split":
        return _re_split_results(e, method, shape)
    tasks = _sampled(e, method, shape)
    record = method.record(tasks, stored=True)
    if record is None or len(record.correct) < len(tasks):
        stored = f" ({len(record.correct):,} of {len(tasks):,} tasks are there)" if record is not None else ""
        raise _never_computed(e, stored)
    right = record.by_class().sum(axis=2)
    if e.sampling == "biased":
        classes = np.unique(labels, return_inverse=True)[1][tasks.support[:, :: e.shots]]
        right = np.hstack([classes, right])
    return _by_class(tasks, labels).digest, right.astype("<u2")


def _code() -> dict[str, str]:
    sha, folder = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        sha.update(path.relative_to(folder).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"fslcore": __version__, "sha256": sha.hexdigest()}


def _versions() -> dict[str, str]:
    installed = {
        distribution.metadata["Name"]: distribution.version for distribution in importlib.metadata.distributions()
    }
    return {"python": platform.python_version()} | {name: installed[name] for name in LIBRARIES if name in installed}


def _machine() -> dict[str, str | int | None]:
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count(), "gpu": gpu}


def _bytes(about: dict, arrays: list[np.ndarray]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        text = json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False)
        members = [("about.json", text.encode()), *((member(i), _npy(a)) for i, a in enumerate(arrays))]
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), (1, 0), allow_pickle=False)
    return out.getvalue()


def _sampled(e, method, shape: dict) -> Tasks:
    from fslcore import evaluation

    if e.sampling == "biased":
        has = attributes.of(evaluation.load_source(e.dataset), e.captioner).has
        return sample_biased(method.source.classes, has, tasks=e.tasks, **shape)[0]
    return evaluation.draw(method.source, e.sampling, tasks=e.tasks, skip_small_classes=True, **shape)


def _re_split_results(e, method, shape: dict) -> tuple[str, np.ndarray]:
    labels = method.source.classes
    halves = fresh.draw(labels, fresh.parts_of(method.source), tasks=e.tasks, **shape)
    options = dict(rounds=e.rounds, seed=e.seed, stored=True)
    tables = [resampled.run(method, half, names, **options) for half, names in zip(halves, (RESPLIT[:-1], RESPLIT[:1]))]
    if any(table is None for table in tables):
        raise _never_computed(e)
    digest, _ = re_split(*(_by_class(half, labels) for half in halves), e.rounds, e.seed)
    return digest, np.hstack(tables).astype("<f8")


def _never_computed(e: Evaluation, stored: str = "") -> InputError:
    tasks = f"{e.sampling} tasks of {e.dataset}, {e.backbone}, {e.shots}-shot"
    return InputError(f"{e.learner} on {tasks}, was never computed{stored}")


def _by_class(tasks: Tasks, labels: np.ndarray) -> Tasks:
    """The same tasks of images that are numbered class by class."""
    place = np.empty(len(labels), np.int64)
    place[np.argsort(labels, kind="stable")] = np.arange(len(labels))
    return replace(tasks, support=place[tasks.support], query=place[tasks.query])
