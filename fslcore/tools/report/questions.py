"""What in a results file may be something else than the accuracies of methods on tasks: asked about, never guessed.

Each question names what was found, and the option or change that answers it. A question that comes up wrongly costs one
option; a loss that passes for an accuracy costs a wrong conclusion.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...errors import InputError

# Words of other measures, of times and counts that runs write along, and of summaries.
SUMMARIES = set(
    "mean means average avg median min max sum total std sd stdev stddev stderr sem se var ci ci95 "
    "mittelwert durchschnitt moyenne promedio media".split()
)
OTHER = SUMMARIES | set(
    """
    err error errors loss losses nll ece brier ce entropy perplexity ppl confidence conf interval variance
    f1 fscore precision recall auc auroc roc top2 top3 top5 top10 kappa mcc wer cer bleu iou rmse mse mae rate
    time times runtime timestamp duration elapsed sec secs seconds ms minutes hours
    mem memory gpu cpu ram gb mb flops params lr wd momentum temperature grad
    epoch epochs step steps iter iters iteration iterations batch episode episodes trial fold id idx row index
    num number count counts correct train training val valid validation dev
    diff difference delta gap gain
    """.split()
)
WHOLE = {"test", "tasks", "task", "all", "overall", "of", "over", "acc", "accuracy"}  # beside a summary of tasks
INDEX = re.compile(r"|Unnamed: \d+|index|level_\d+|__index_level_\d+__|nan|None")
LEAST = 5  # rows that come again, else it may be chance
OPTIONS = ("drop = ", "methods = ", "sampling = ")  # messages that begin with the option at fault


def refuse(problems: Sequence[str]) -> None:
    """Raise `InputError` with all that is wrong, in one line; nothing where nothing is."""
    said = list(dict.fromkeys(problems))
    if len(said) == 1:
        raise InputError(said[0] if said[0].startswith(OPTIONS) else f"results: {said[0]}")
    if said:
        raise InputError(
            f"results: {len(said)} problems: " + "; ".join(f"({i}) {problem}" for i, problem in enumerate(said, 1))
        )


def words(text: str) -> set[str]:
    """The words of a name, in lower case: also those that begin with a capital, and without numbers behind them."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()
    parts = re.findall(r"[^\W_]+", re.sub(r"\btop[ _-](?=\d)", "top", text))
    return {*parts, *(part.rstrip("0123456789") for part in parts)} - {""}


def names(methods: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """Methods whose name has a word of another measure, and what to say of them."""
    why = {m: sorted(words(m) & OTHER) or ["±"] * ("±" in m or "+/-" in m) for m in map(str, methods)}
    found = [m for m in why if why[m]]
    of = ", ".join(f"{m} ({', '.join(why[m])})" for m in found)
    others = [m for m in why if m not in found]
    looks, it = ("looks", "it") if len(found) == 1 else ("look", "them")
    how = f"leave {it} out (--drop {shlex.join(found)})" if others else "bring accuracies instead (100 - error, say)"
    said = f"{of} of {file} {looks} like something else than accuracies; {how}, or name all that are methods"
    return found, [f"{said} (--methods {shlex.join(others or found)})"] if found else []


def tasks(task: pd.Series, file: str) -> list[str]:
    """Summaries among the tasks, by their names."""
    texts = [t for t in pd.unique(task) if isinstance(t, str)]
    found = [
        t for t in texts if words(t) and words(t) <= SUMMARIES | WHOLE and words(t) & (SUMMARIES | {"all", "overall"})
    ]
    if not found or len(texts) < 2:
        return []
    return [
        f"task {', '.join(found)} of {file} looks like a summary of the others; leave it out (--drop "
        f"{shlex.join(found)}), or give it another name"
    ]


def made(columns: pd.DataFrame, key: Sequence[pd.Series], named: bool, file: str) -> list[str]:
    """Columns of a wide table that count its rows, and without names of tasks a last row of means or sums."""
    numbers = columns.apply(pd.to_numeric, errors="coerce").astype(float).replace([np.inf, -np.inf], np.nan)
    steps = numbers.groupby(key).diff()
    found = [c for c in columns if steps[c].count() > 1 and (steps[c].dropna() == 1).all()]
    problems = [
        f"column {c} of {file} counts the rows; name it task, or leave it out (--drop {shlex.quote(c)})" for c in found
    ]
    above, last = numbers.to_numpy()[:-1], numbers.to_numpy()[-1]
    if named or len(above) < LEAST or np.isnan(numbers.to_numpy()).any() or (above == last).all(axis=1).any():
        return problems
    near = np.maximum([1.01 * 10.0 ** -_decimals(v) for v in last], 1e-6 * np.abs(above).max(axis=0))
    for what, values in (("mean", above.mean(axis=0)), ("sum", above.sum(axis=0))):
        if (np.abs(last - values) <= near).all():
            problems.append(
                f"row {len(numbers)} of {file} is the {what} of the rows above; take it out, or number the tasks in a "
                "column task if it is one"
            )
    return problems


def _decimals(value: float) -> int:
    return len(np.format_float_positional(value, trim="-").partition(".")[2])


def counts(long: pd.DataFrame, file: str) -> list[str]:
    """Methods of whole numbers alone, as counts of right answers are; not where K and Q say that percentages are whole.

    Of a table in percent, with columns ``method`` and ``accuracy``.
    """
    accuracy = long["accuracy"].fillna(0)  # which is whole and possible
    known = {"ways", "queries"} <= {*long.select_dtypes("number")}
    right = accuracy * long["ways"] * long["queries"] / 100 if known else accuracy / 100
    parts = pd.DataFrame({"whole": accuracy % 1 == 0, "possible": right.round(9) % 1 == 0})
    of = parts.groupby(long["method"], sort=False).all()
    found = [*of.index[of["whole"] & ~of["possible"]]]
    if not found:
        return []
    return [
        f"{', '.join(found)} of {file} {'has' if len(found) == 1 else 'have'} whole numbers alone, as counts of right "
        "answers are; say what a full score is (--out-of 100 for percent, --out-of 75 for 75 queries), or leave out "
        f"what is no accuracy (--drop {shlex.join(found)})"
    ]


def repeated(long: pd.DataFrame) -> pd.Series:
    """True where all values of a method come again: the whole block of its rows, or each row several times running."""
    keys = [c for c in ("dataset", "sampling", "ways", "shots", "queries", "seed", "run", "method") if c in long]
    accuracies = long.groupby(keys, sort=False, dropna=False)["accuracy"]
    return accuracies.transform(lambda of: _again(of.to_numpy())).astype(bool)


def _again(values: np.ndarray) -> np.ndarray:
    """Which values repeat others: all but the first block of a sequence that is one block again and again."""
    n, index = len(values), np.arange(len(values))
    if len(np.unique(values)) < 3:
        return np.zeros(n, bool)
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    times = int(np.gcd.reduce(np.diff([*starts, n])))  # each row so many times running
    if times > 1 and n - n // times >= LEAST:
        return index % times > 0
    for block in range(3, n // 2 + 1):
        if values[block] == values[0] and n - block >= LEAST and (values[block:] == values[:-block]).all():
            return index >= block
    return np.zeros(n, bool)


def of_repeats(again: pd.Series, file: str) -> str:
    """What to say of them."""
    return (
        f"{int(again.sum()):,} of {len(again):,} accuracies of {file} repeat those above them, task by task; say what "
        "they are: --repeats copies leaves them out, --repeats tasks keeps them, and training runs are named in a "
        "column run"
    )
