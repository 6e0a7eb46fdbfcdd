"""What a profile gave on the papers' own data as one file, which `fslcore.tools.contributed` checks and reads."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from .. import __version__, catalogue, sources
from ..datasets.load import source_of
from ..errors import InputError
from ..paths import check_output, replace_file
from . import notebooks, workload
from .contributed import FORMAT, member, plain, wrong_name

__all__ = ["write"]

LIBRARIES = ("numpy", "scipy", "pandas", "torch", "scikit-learn", "timm")


def write(profile: str | Path, output: str | Path, by: str) -> Path:
    """Write what a profile's run left in the cache, on data sets that `fslcore.sources` lists, as one file.

    The same run gives the same bytes. Nothing is computed but the tasks.

    Parameters
    ----------
    profile : path
        As for `fslcore.tools.notebooks.profile`.
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
    given = notebooks.profile(profile, absent=True)
    wanted = {chapter: _listed(found) for chapter, found in workload.evaluations(given).items()}
    rows = list(dict.fromkeys(e for found in wanted.values() for e in found))
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
    about |= {"data": {}, "weights": {}, "classes": {}, "results": []}
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


def _listed(found: list) -> list:
    """Evaluations on data sets of the manifest by learners of the library."""
    known = sources.read()
    names = {*known.data, *known.same}
    return [e for e in found if re.split(r"[?:]", e.dataset)[0] in names and e.learner in catalogue.known]


def _packed(e, about: dict) -> tuple[dict, np.ndarray]:
    """A row of results and the right queries (T, K); digests and class sizes go into ``about``."""
    from .. import evaluation

    name = source_of(e.dataset.partition(":")[0])
    if ":" in e.dataset or not (files := sources.digests(name)):
        raise InputError(f"{e.dataset}: its digests are not known; fslcore fetch {name} records them")
    method = evaluation.ready(e.dataset, e.backbone, e.learner)
    shape = dict(ways=e.ways, shots=e.shots, queries=e.queries, seed=e.seed)
    drawn = evaluation.draw(method.source, e.sampling, tasks=e.tasks, skip_small_classes=True, **shape)
    kept, what = method.record(drawn, stored=True), f"{e.learner} on {e.sampling} tasks of {e.dataset}, {e.backbone}"
    if kept is None or len(kept.correct) < len(drawn):
        there = f" ({len(kept.correct):,} of {len(drawn):,} tasks are there)" if kept is not None else ""
        raise InputError(f"{what}, {e.shots}-shot, was never computed{there}")
    labels = method.source.classes
    about["data"][name] = {
        file: {kind: of[kind] for kind in ("bytes", *sources.LENGTHS) if kind in of} for file, of in files.items()
    }
    about["weights"][plain(e.backbone)] = method.backbone.weights
    about["classes"][e.dataset] = np.unique(labels, return_counts=True)[1].tolist()
    place = np.empty(len(labels), np.int64)
    place[np.argsort(labels, kind="stable")] = np.arange(len(labels))
    by_class = replace(drawn, support=place[drawn.support], query=place[drawn.query])
    row = {**shape, "dataset": e.dataset, "backbone": e.backbone.partition(":")[0], "learner": e.learner}
    row |= {"sampling": e.sampling, "tasks": e.tasks, "digest": by_class.digest}
    return row, kept.by_class().sum(axis=2).astype("<u2")


def _code() -> dict[str, str]:
    sha, folder = hashlib.sha256(), Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        sha.update(path.relative_to(folder).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
    return {"fslcore": __version__, "sha256": sha.hexdigest()}


def _versions() -> dict[str, str]:
    there = {of.metadata["Name"]: of.version for of in importlib.metadata.distributions()}
    return {"python": platform.python_version()} | {name: there[name] for name in LIBRARIES if name in there}


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
    np.lib.format.write_array(out, array, (1, 0), allow_pickle=False)
    return out.getvalue()
