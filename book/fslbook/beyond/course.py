"""The data of the longer exercises, made by ``data/course/build.py``."""

from __future__ import annotations

import re

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
    """Whether an answer to an exercise is right, or which usual mistake it is.

    A share in place of a percentage, a percentage in place of a ratio, and a wrong sign are named too.

    Parameters
    ----------
    exercise : str
        A key of ``data/course/answers.yml``: the exercise of a chapter, or a longer one.
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
        return f"In place of ... stands your answer: {asked}."
    answer = number("answer", answer)
    values = {"right": question["right"], **question["mistakes"]}
    closest = min(values, key=lambda name: abs(answer - values[name]))
    if abs(answer - values[closest]) > question["within"]:
        slip = _slip(answer, question) or f"is not {asked}, and not a usual mistake"
        return f"Wrong: {answer:g} {slip}."
    if closest == "right":
        return f"Right: {answer:g} is {asked}. {question['because']}"
    return f"Wrong: {answer:g} is {closest}. Asked is {asked}."


def _slip(answer: float, question: dict) -> str:
    """What is wrong with an answer whose digits are right; empty if they are not."""
    asked, right, within = (question[key] for key in ("asked", "right", "within"))
    is_percentage = re.search(r"in (percent|points)\b", asked)
    is_ratio = re.search(r"\b(factor|relative to)\b", asked)
    if is_percentage and abs(100 * answer - right) <= within:
        return f"is a share of 1. Asked is {asked}: multiply it by 100"
    if is_ratio and abs(answer / 100 - right) <= within:
        return f"is a percentage. Asked is {asked}: divide it by 100"
    if abs(-answer - right) <= within:
        return f"has the wrong sign. Asked is {asked}"
    return ""
