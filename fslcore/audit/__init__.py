"""Statements in the papers' prose, each checked against the papers' own tables: `oops`, `evaluators`."""

from . import evaluators, oops
from .engine import VERDICTS, shown, tally

__all__ = ["VERDICTS", "evaluators", "oops", "shown", "tally"]
