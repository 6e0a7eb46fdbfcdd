"""What a profile gave on the papers' own data as one file, which `fslbook.contributed` checks and reads."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import zipfile
from collections.abc import Callable
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
from .evaluations import evaluations, without_repeats

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
    profiled = notebooks.profile(profile, absent=True)
    wanted = {chapter: _listed(chapter_evaluations) for chapter, chapter_evaluations in evaluations(profiled).items()}
    rows = without_repeats(e for chapter_evaluations in wanted.values() for e in chapter_evaluations)
    if not rows:
        raise InputError(
            f"profile: {profile} has no evaluation on data that fslcore fetch knows; there is nothing to pack"
        )
    problems: dict[str, None] = {}
    about = {
        "format": FORMAT,
        "by": by,
        "profile": Path(profile).stem,
        "chapters": sorted(k for k, v in wanted.items() if v),
    }
    about |= {"code": _code(), "versions": _versions(), "machine": _machine()}
    about |= {"data": {}, "weights": {}, "classes": {}, "parts": {}, "results": []}
    arrays = []
    for e in rows:
        try:
            row, right = _packed(e, about)
        except InputError as error:
            problems[str(error)] = None
        else:
            about["results"].append(row)
            arrays.append(right)
    problems |= dict.fromkeys(sources.differing(about["data"], about["weights"], sources.read())[0])
    if problems:
        raise InputError(f"pack: {'; '.join(problems)}")
    replace_file(output, lambda part: part.write_bytes(_bytes(about, arrays)))
    return output


def _listed(chapter_evaluations: list) -> list:
    """Evaluations on data sets of the manifest by learners of the library."""
    manifest = sources.read()
    names = {*manifest.data, *manifest.same}
    return [
        e
        for e in chapter_evaluations
        if source_of(e.dataset.partition(":")[0]) in names and e.learner in catalogue.LEARNERS_BY_NAME
    ]


def _packed(e, about: dict) -> tuple[dict, np.ndarray]:
    """A row of results and its array; digests and class sizes go into ``about``."""
    from fslcore import evaluation

    name = source_of(e.dataset.partition(":")[0])
    entry = sources.read().data.get(name)
    brought = entry and entry.bring and not entry.files and sources.at_hand(name)  # no digest of it is listed
    files = {} if ":" in e.dataset else sources.digests(name)
    if ":" in e.dataset or not (files or brought):
        raise InputError(f"{e.dataset}: its digests are not known; fslcore fetch {name} records them")
    kind, _, facts = e.backbone.partition(":")
    if kind == OWN and (facts.partition("/")[0] not in TRAINERS or Path(facts).suffix):
        raise InputError(
            f"{kind}: a file of your own; of networks that you trained, those of {', '.join(TRAINERS)} are packed"
        )
    method = evaluation.ready(e.dataset, e.backbone, e.learner)
    labels = method.source.classes
    place = np.empty(len(labels), np.int64)
    place[np.argsort(labels, kind="stable")] = np.arange(len(labels))

    def by_class(tasks: Tasks) -> Tasks:
        return replace(tasks, support=place[tasks.support], query=place[tasks.query])

    digest, array = _results(e, method, by_class)
    about["data"][name] = {
        file: {kind: facts[kind] for kind in ("bytes", *sources.LENGTHS) if kind in facts}
        for file, facts in files.items()
    }
    about["weights"][plain(e.backbone)] = method.backbone.weights
    about["classes"][e.dataset] = np.unique(labels, return_counts=True)[1].tolist()
    if (parts := fresh.parts_of(method.source)) is not None:
        about["parts"][e.dataset] = parts[np.unique(labels, return_index=True)[1]].tolist()
    row = {name: getattr(e, name) for name in ROW if name not in ("digest", "redrawn")}
    row |= {"backbone": e.backbone if kind == OWN else kind}
    return row | {"digest": digest, "redrawn": REDRAWN[e.sampling]}, array


def _results(e, method: Ready, by_class: Callable[[Tasks], Tasks]) -> tuple[str, np.ndarray]:
    """Digest of the tasks by class, and the array of what was computed on them; `contributed` says what it contains."""
    from fslcore import evaluation

    labels, shape = method.source.classes, dict(ways=e.ways, shots=e.shots, queries=e.queries, seed=e.seed)
    evaluated = f"{e.learner} on {e.sampling} tasks of {e.dataset}, {e.backbone}"
    if e.sampling == "re-split":
        halves = fresh.draw(labels, fresh.parts_of(method.source), tasks=e.tasks, **shape)
        options = dict(rounds=e.rounds, seed=e.seed, stored=True)
        tables = [
            resampled.run(method, half, names, **options) for half, names in zip(halves, (RESPLIT[:-1], RESPLIT[:1]))
        ]
        if any(table is None for table in tables):
            raise InputError(f"{evaluated}, {e.shots}-shot, was never computed")
        return re_split(*map(by_class, halves), e.rounds, e.seed)[0], np.hstack(tables).astype("<f8")
    if e.sampling == "biased":
        has = attributes.of(evaluation.load_source(e.dataset), e.captioner).has
        tasks, _ = sample_biased(labels, has, tasks=e.tasks, **shape)
    else:
        tasks = evaluation.draw(method.source, e.sampling, tasks=e.tasks, skip_small_classes=True, **shape)
    record = method.record(tasks, stored=True)
    if record is None or len(record.correct) < len(tasks):
        stored = f" ({len(record.correct):,} of {len(tasks):,} tasks are there)" if record is not None else ""
        raise InputError(f"{evaluated}, {e.shots}-shot, was never computed{stored}")
    right = record.by_class().sum(axis=2)
    if e.sampling == "biased":
        classes = np.unique(labels, return_inverse=True)[1][tasks.support[:, :: e.shots]]
        right = np.hstack([classes, right])
    return by_class(tasks).digest, right.astype("<u2")


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
