"""What a reader of a report may do next: commands to type, with what each would add."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .applies import CLOSED, OPEN, UNKNOWN
from .conclusions import Conclusions
from .model import Note, Shape
from .proposal import command

WITHOUT_MARGIN = (Shape.FOLDS, Shape.PRINTED, Shape.OUTCOMES, Shape.ITEMS, Shape.RECORDED)
HELP_ON_RECORD = 'python -c "import fslcore; help(fslcore.record)"'


@dataclass(frozen=True)
class Step:
    """A command, and what it would add."""

    command: str
    purpose: str


def next_steps(results: Conclusions) -> list[Step]:
    """What to do next, the most useful first."""
    report = command(results.files, results.options)
    steps = []
    notes = [*results.applies, *results.cautions]
    options = {note.option for note in notes if isinstance(note, Note)}
    if "common" in options:
        purpose = "Compares methods on what all of them share."
        steps.append(Step(f"{report} --common", purpose))
    if "sampling" in options:
        purpose = "Says for what the verdicts hold (open: no image is in two tasks)."
        steps.append(Step(f"{report} --sampling closed", purpose))
    alpha = 1 - results.options.level
    corrected = (results.pairs["p"] < alpha) & (results.pairs["p_holm"] >= alpha)
    several = results.methods["method"].nunique() > 2
    if several and corrected.any() and results.options.reference is None:
        best = shlex.quote(results.methods["method"].iloc[0])
        purpose = "Corrects for fewer tests: if this method was the question beforehand."
        steps.append(Step(f"{report} --reference {best}", purpose))
    is_open = results.pairs["verdict"].eq("not significantly different").any()
    has_no_margin = results.options.margin is None and results.shape not in WITHOUT_MARGIN
    if is_open and results.percent and has_no_margin:
        purpose = "Tests whether methods are equal within 1 point (choose the margin beforehand)."
        steps.append(Step(f"{report} --margin 1", purpose))
    if results.shape is Shape.PRINTED and len(results.pairs):
        steps.append(
            Step(compared_figures(results), "Put the true number of tasks: judges what ± is.")
        )
    are_tasks = {CLOSED, OPEN, UNKNOWN} & {*results.applies}
    if are_tasks and results.shape is not Shape.RECORDED and results.percent:
        purpose = "Records the images of each task, for verdicts on new images and new classes."
        steps.append(Step(HELP_ON_RECORD, purpose))
    steps.append(
        Step(f"{report} --tables paper --figures paper", "Writes tables and figures for a paper.")
    )
    return steps


def compared_figures(results: Conclusions) -> str:
    """The command that compares the first two printed figures."""
    pair = results.pairs.iloc[0]
    here = results.methods[results.methods["place"] == pair["place"]].set_index("method")
    figures = [
        f"{here.loc[name, 'mean']:.2f}±{here.loc[name, 'half_width']:.2f}"
        for name in (pair["a"], pair["b"])
    ]
    return f"fslcore compare {' '.join(figures)} --tasks 600"
