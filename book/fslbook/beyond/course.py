"""The data of the longer exercises, made by `data/course/build.py`."""

from __future__ import annotations

import pandas as pd
import yaml

from fslcore import recorder
from fslcore.errors import choice, number
from fslcore.paths import DATA


def table(name: str) -> pd.DataFrame:
    """A table of ``data/course``; the README there describes the columns."""
    return pd.read_csv(DATA / "course" / f"{name}.csv")


def recording() -> recorder.Recording:
    """Two methods on the same tasks: which images each task used, and which queries were right."""
    return recorder.load([DATA / "course" / f"{name}.jsonl" for name in ("r2d2", "protonet")])


def check(exercise: str, answer: float) -> str:
    """Whether an answer to a longer exercise is right, or which usual mistake it is.

    Parameters
    ----------
    exercise : str
        A key of ``data/course/answers.yml``.
    answer : float
        Or ``...``, which returns what is asked.

    Raises
    ------
    InputError
        Another exercise; an answer that is not a number.
    """
    questions = yaml.safe_load((DATA / "course" / "answers.yml").read_text("utf-8"))
    question = questions[choice("exercise", exercise, questions)]
    asked = question["asked"]
    if answer is ...:
        return f"Replace ... by {asked}."
    answer = number("answer", answer)
    values = {"right": question["right"], **question["mistakes"]}
    closest = min(values, key=lambda name: abs(answer - values[name]))
    if abs(answer - values[closest]) > question["within"]:
        return f"Wrong: {answer:g} is not {asked}, and not a usual mistake."
    if closest == "right":
        return f"Right: {answer:g} is {asked}. {question['because']}"
    return f"Wrong: {answer:g} is {closest}. Asked is {asked}."
