"""Statements in the papers' prose, each checked against the papers' own tables: `oops`, `evaluators`, `fewstab`."""

from . import evaluators, fewstab, oops
from .engine import VERDICTS, shown, tally

__all__ = ["VERDICTS", "evaluators", "fewstab", "oops", "shown", "tally"]
