"""What a chapter's cells give to its prose, and the check of its parameters."""

import ast
import math
import re
import warnings
from numbers import Integral

import myst_nb
import numpy as np
from IPython.display import Markdown, display

from fslcore.errors import FslcoreWarning, InputError

from . import notebooks

__all__ = [
    "check_parameters",
    "comparison",
    "direction",
    "glue",
    "judge",
    "listed",
    "quantity",
    "sentence_if",
    "span",
    "two_or_more",
]

_INJECTED = "# Parameters\n"  # the first line of the cell that papermill adds
_MINUS = re.compile(
    r"(?<![\w.)])-(?=\d)"
)  # before a number; not in efficientnet-lite0, 2-way or 2020-06-01
_PERCENT = re.compile(r"(?<=\d)%(?!\w)")
_format_other = warnings.formatwarning
_EXACT_SHARES = {0.0: "none", 0.5: "half", 1.0: "all"}
_INFINITE = re.compile(r"\binf\b")  # as Python formats it


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """A warning of the library is its sentence: a reader needs neither the file nor its code."""
    if issubclass(category, FslcoreWarning):
        return f"{message}\n"
    return _format_other(message, category, filename, lineno, line)


warnings.formatwarning = _format_warning


def check_parameters(name: str, namespace: dict) -> None:
    """Check the parameters of a chapter, in its first cell after them, as ``fslbook run`` does before it starts.

    Jupyter checks no values, and papermill adds a misspelt parameter as a further variable, which changes nothing.
    As for ``fslbook run``, one value in place of a list becomes a list of it.

    Parameters
    ----------
    name : str
        The notebook.
    namespace : dict
        ``globals()`` of the notebook: its parameters are read, and IPython's list of the cells that have run.

    Raises
    ------
    InputError
        As for `fslbook.notebooks.check`.
    """
    values = {p.name: namespace[p.name] for p in notebooks.parameters(name)}
    injected = [cell for cell in namespace.get("In", []) if cell.startswith(_INJECTED)]
    for statement in ast.parse(injected[-1]).body if injected else []:
        for target in getattr(statement, "targets", []):
            values.setdefault(target.id, namespace.get(target.id))
    namespace.update(notebooks.check(name, values))


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


def judge(item: str, **claims: bool | tuple[int, int] | None) -> None:
    """Record which claims of a paper's table or figure hold in this run; its status in the ledger follows from them.

    Parameters
    ----------
    item : str
        Its id in ``book/ledger.yml``.
    **claims : bool, (int, int) or None
        By key of the item's ``claims`` there: whether the claim holds, or the number of cases in which it does and the
        number of cases; None, or no cases, where the run does not test it.

    Raises
    ------
    ValueError
        A count that is negative or above the number of cases.
    TypeError
        A claim of another type, such as a number or a table.
    """
    counts = {}
    for key, claim in claims.items():
        if claim is None:
            counts[key] = [0, 0]
        elif isinstance(claim, (bool, np.bool_)):
            counts[key] = [int(claim), 1]
        elif isinstance(claim, tuple) and all(isinstance(count, Integral) for count in claim):
            counts[key] = [int(count) for count in claim]
            if not 0 <= counts[key][0] <= counts[key][1]:
                raise ValueError(f"judge: {item}, {key}: {claim[0]} of {claim[1]} is no share")
        else:
            raise TypeError(
                f"judge: {item}, {key} is {claim!r}; give True, False, None or (count, cases)"
            )
    words = ", ".join(f"{key} {count} of {cases}" for key, (count, cases) in counts.items())
    display(
        {"text/plain": f"{item}: {words}"},
        raw=True,
        metadata={"judged": {"item": item, "claims": counts}},
    )


def listed(items: object) -> str:
    """'1, 5 and 10' of ``[1, 5, 10]``."""
    *leading, last = map(str, items)
    return f"{', '.join(leading)} and {last}" if leading else last


def span(values: object, form: str = ".0f") -> str:
    """'83 to 91': the smallest and the largest value, or a single number if both are printed alike."""
    ends = [format(end(values), form) for end in (min, max)]
    return " to ".join(dict.fromkeys(ends))


def direction(
    low: float,
    high: float,
    *,
    above: str = "higher",
    below: str = "lower",
    neither: str = "not significantly different",
    value: float = 0.0,
) -> str:
    """The words for an interval: ``above`` or ``below`` if it excludes a value, otherwise ``neither``.

    An end that equals the value, or is not a number, gives ``neither``.

    Parameters
    ----------
    low, high : float
        Ends of the interval, of a difference or a ratio.
    above, below, neither : str
        Words about the interval's own sign: ``above`` means more and not less.
    value : float
        What a difference (0) or a ratio (1) is if nothing differs.
    """
    words = above if low > value else below if high < value else neither
    _record(words, low=low, high=high, value=value)
    return words


def comparison(
    first: float,
    second: float,
    *,
    digits: int,
    above: str = "higher",
    below: str = "lower",
    equal: str = "the same",
) -> str:
    """The words for two numbers as the page prints them: ``above`` if the first is the larger, and so on.

    It describes the numbers only; whether they differ significantly is a question for `direction`.

    Parameters
    ----------
    first, second : float
    digits : int
        Decimal places that the page prints. Numbers that are printed alike are ``equal``.
    above, below, equal : str
        Words about the first number: ``above`` means more and not less.
    """
    difference = round(float(first), digits) - round(float(second), digits)
    words = above if difference > 0 else below if difference < 0 else equal
    _record(words, low=difference, high=difference, value=0.0)
    return words


def quantity(count: int, total: int) -> str:
    """'none', 'few', 'some', 'half', 'most', 'nearly all' or 'all', for a count out of a total.

    Few are at most a quarter, most are more than half, and nearly all are at least nine tenths.

    Raises
    ------
    ValueError
        A total of 0, or a count that is negative or above the total.
    """
    if not 0 <= count <= total or total == 0:
        raise ValueError(f"quantity: {count} of {total} is no share")
    share = count / total
    if share in _EXACT_SHARES:
        words = _EXACT_SHARES[share]
    elif share >= 0.9:
        words = "nearly all"
    elif share > 0.5:
        words = "most"
    else:
        words = "some" if share > 0.25 else "few"
    _record(words, count=count, total=total)
    return words


def sentence_if(condition: bool, text: str, otherwise: str = "") -> str:
    """The text if its condition holds; otherwise the other text, or nothing.

    For a clause or sentence with a cause, or with words that the numbers beside it may contradict.

    Raises
    ------
    TypeError
        A condition that is not True or False, such as a number or a table.
    """
    if not isinstance(condition, (bool, np.bool_)):
        raise TypeError(f"sentence_if: the condition is a {type(condition).__name__}, not a bool")
    words = text if condition else otherwise
    _record(words, condition=bool(condition))
    return words


def _record(words: str, **numbers: float) -> None:
    """Store words with the numbers that chose them in the executed notebook, where the reruns compare both."""
    numbers = {name: repr(float(number)) for name, number in numbers.items()}  # JSON has no NaN
    reason = ", ".join(f"{name} {number}" for name, number in numbers.items())
    text = f"{words!r} ({reason})"
    display({"text/plain": text}, raw=True, metadata={"wording": {"words": words, **numbers}})


def two_or_more(things: str, **parameters: list) -> None:
    """Raise `InputError` if the chapter's parameters together give fewer than two things to compare."""
    if math.prod(map(len, parameters.values())) < 2:
        values = ", ".join(
            f"{name} = [{', '.join(map(str, items))}]" for name, items in parameters.items()
        )
        raise InputError(
            f"{' and '.join(parameters)} must give two {things} or more, which this chapter "
            f"compares, got {values}"
        )
