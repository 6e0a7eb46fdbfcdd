"""Locations of the notebooks, the profiles, the references and the executed notebooks."""

from __future__ import annotations

from pathlib import Path

from fslcore.errors import InputError
from fslcore.paths import IN_CHECKOUT, ROOT

__all__ = ["JUPYTER", "NOTEBOOKS", "PROFILES", "REFERENCES", "RUNS", "check_shipped"]

# The wheel contains in this package what stands at the top of a checkout.
_SHIPPED = ROOT if IN_CHECKOUT else Path(__file__).resolve().parent / "_shipped"
NOTEBOOKS = _SHIPPED / "notebooks"
PROFILES = _SHIPPED / "profiles"
REFERENCES = _SHIPPED / "book" / "references.bib"
RUNS = ROOT / "_build" / "runs" if IN_CHECKOUT else Path()
JUPYTER = ROOT / "_build" / "jupyter" if IN_CHECKOUT else Path("jupyter")


def check_shipped() -> None:
    """Raise `InputError` if the notebooks or the profiles are missing."""
    for folder in (NOTEBOOKS, PROFILES):
        if not folder.is_dir():
            raise InputError(
                f"no folder {folder}: this installation is incomplete; install the wheel again"
            )
