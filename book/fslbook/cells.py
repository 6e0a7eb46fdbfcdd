"""What a chapter's cells give to its prose."""

import math
import re
from numbers import Integral

import myst_nb
from IPython.display import Markdown

from fslcore.errors import InputError

__all__ = ["glue", "listed", "two_or_more"]

_MINUS = re.compile(
    r"(?<![\w.)])-(?=\d)"
)  # before a number; not in efficientnet-lite0, 2-way or 2020-06-01
_PERCENT = re.compile(r"(?<=\d)%(?!\w)")
_INFINITE = re.compile(r"\binf\b")  # as Python formats it


def glue(**values: object) -> None:
    """Glue values under their names, for the ``glue`` roles of the chapter's prose and for the ledger.

    Values are glued as they will be read, so that a page says the same in two places. Whole numbers get thousands
    separators; texts get a true minus sign before a number, a space before % and ∞ for inf. The caller formats any
    other number. The call prints what it glues, for those who run the notebook. The cell is tagged ``remove-cell`` and
    does not appear on the page.

    Parameters
    ----------
    **values : int, str or IPython.display.Markdown
        By key. ``{glue:text}`` reads numbers and texts, ``{glue:md}`` Markdown: a sentence with emphasis or formulas.

    Raises
    ------
    TypeError
        A value of another type, such as a float: only the caller knows how many of its digits are meaningful.
    """
    for key, value in values.items():
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = f"{value:,}"
        if not isinstance(value, (str, Markdown)):
            raise TypeError(
                f"glue: {key} is a {type(value).__name__}; format it, such as f'{{{key}:.2f}}'"
            )
        text = value if isinstance(value, str) else value.data
        text = _PERCENT.sub(" %", _MINUS.sub("−", _INFINITE.sub("∞", text)))
        myst_nb.glue(key, text if isinstance(value, str) else Markdown(text), display=False)
        print(f"{key}: {text}")


def listed(items: object) -> str:
    """'1, 5 and 10' of ``[1, 5, 10]``."""
    *leading, last = map(str, items)
    return f"{', '.join(leading)} and {last}" if leading else last


def two_or_more(things: str, **parameters: list) -> None:
    """Raise `InputError` if the chapter's parameters together give fewer than two things to compare."""
    if math.prod(map(len, parameters.values())) < 2:
        values = ", ".join(
            f"{name} = [{', '.join(map(str, items))}]" for name, items in parameters.items()
        )
        raise InputError(f"{values}; two {things} or more are needed, which this chapter compares")
