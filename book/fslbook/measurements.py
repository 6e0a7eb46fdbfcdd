"""Speeds and times that ``benchmarks/bench.py`` measured, one file per machine under ``data/performance``."""

from __future__ import annotations

import json
from pathlib import Path

from fslcore.errors import InputError, choice
from fslcore.paths import DATA

__all__ = ["load_machine", "machines"]

FOLDER = DATA / "performance"
GPU = "gpu.json"  # in that folder, in a form of its own: what `benchmarks/gpu.py` measured
KINDS = ("ratios", "limits", "growth", "rates", "scale", "startup")


def machines() -> list[str]:
    """Names of the machines whose measurements are stored."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.name != GPU)


def load_machine(name: str | None = None) -> dict:
    """What was measured on a machine: facts about it, ``pieces``, and all rows of each kind in a list.

    ``pieces`` are the measurements of one process each, with date, threads, load and versions; ``date`` is the last.
    The kinds of rows, ``ratios``, ``limits``, ``growth``, ``rates``, ``scale`` and ``startup``, are described in
    ``data/performance/README.md``.

    Parameters
    ----------
    name : str, optional
        A name of `machines`. By default one with rates: a machine with this processor if there is one, else one without
        a GPU; among several, the last measured.

    Raises
    ------
    InputError
        An unknown machine, none at all, or a damaged file.
    """
    names = machines()
    if not names:
        raise InputError(
            f"machine: no rates are stored in {FOLDER}; benchmarks/bench.py measures them"
        )
    if name is not None:
        return _read(choice("machine", name, names))
    measured = [_read(name) for name in names]
    candidates = [machine for machine in measured if machine["rates"]]
    if not candidates:
        raise InputError(
            f"machine: none of {', '.join(names)} has rates; benchmarks/bench.py measures them"
        )
    processors = _processors()
    return max(
        candidates,
        key=lambda machine: (
            machine["cpu"] in processors,
            machine["device"] == "cpu",
            machine["date"],
        ),
    )


def _processors() -> str:
    """The description of this machine's processors, in the spelling of ``benchmarks/bench.py``; empty if unknown."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return ""
    return info.read_text("utf-8").replace("(R)", "").replace("(TM)", "")


def _read(name: str) -> dict:
    try:
        machine = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        pieces = machine["pieces"].values()
        rows = {kind: [] for kind in KINDS}
        for piece in pieces:
            rows[piece["of"]] += piece["rows"]
        date = max(piece["date"] for piece in pieces)
        facts = {key: machine[key] for key in ("cpu", "device")}  # raises where one is missing
        return {"name": name, "date": date, **facts, **machine, **rows}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"machine: {name}.json in {FOLDER} is damaged ({error})") from None
