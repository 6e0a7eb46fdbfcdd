"""The sentences of a report: verdicts, the answer in a terminal, the sentence for a paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..stats.formatting import decimals, format_interval
from .conclusions import Conclusions
from .model import PERCENT, Note, Shape
from .numbers import MINUS, interval_text, level_text, signed
from .samples import plural

MOST_LINES = 8  # of verdicts, on the first screen
FEW_METHODS = 4  # of which all pairs are on it
MANY = ("task", "item")  # units of which a reader does not ask on how many a method is better


def p_text(p: float) -> str:
    """A p-value with two digits that count, or below what they can say."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def digits_of(frame: pd.DataFrame) -> int:
    """Decimals that show two digits of the narrowest interval."""
    return decimals(frame["half_width"])


def places_of(frame: pd.DataFrame) -> list[str]:
    """The place and the target of each row, empty where a file has one of each."""
    return [", ".join(filter(None, row)) for row in frame[["place", "target"]].to_numpy()]


def shortened(label: str, most: int) -> str:
    """A label of at most so many characters."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def pair_names(pairs: pd.DataFrame) -> pd.Series:
    """'a − b' of each pair."""
    return pairs["a"] + f" {MINUS} " + pairs["b"]


def verdict_sentence(pair: pd.Series, results: Conclusions, digits: int) -> str:
    """One pair in words, with its interval and p-value."""
    names, verdict, difference = f"{pair['a']} and {pair['b']}", pair["verdict"], pair["difference"]
    points = " points" if results.percent else ""
    ends = interval_text(pair["low"], pair["high"], digits)
    if verdict == "better":
        p = corrected_p(pair, results)
        size = f"{signed(difference, digits)}{points}"
        sentence = f"{pair['a']} is better than {pair['b']} by {size}"
        if results.lower_is_better:  # as in tables and pictures, the first minus the second
            sentence = f"{pair['a']} is better (lower) than {pair['b']}: {size}"
        units = better_units_text(pair)
        counted = f", on {units}" if units else ""
        return f"{sentence} ({results.level} interval {ends}; {p}){counted}."
    size = f"{'+' if difference > 0 else ''}{signed(difference, digits)}"
    if verdict == "equivalent":
        points = " point" if points and results.options.margin == 1 else points
        margin = f"{results.options.margin:g}{points}: {size}"
        # Two one-sided tests at 5 % are inverted by the 90 % interval.
        ends = interval_text(pair["low_equivalent"], pair["high_equivalent"], digits)
        two_tests = 2 * results.options.level - 1
        level = level_text(two_tests if two_tests > 0 else results.options.level)
        p = p_text(pair["p_equivalent"])
        return f"{names} are equivalent within {margin} ({level} interval {ends}; {p})."
    if verdict == "open":
        sentence = f"{names}: {size} is open: ± {signed(pair['half_width'], digits)} unpaired, "
        sentence += f"± {signed(pair['paired_half_width'], digits)} at best on the same tasks; "
        return f"{sentence}accuracies per task would decide."
    p = corrected_p(pair, results)
    units = better_units_text(pair)
    counted = f"; {pair['a']} is better on {units}" if units else ""
    sentence = f"{names} are not significantly different: {size} ({ends}; {p}){counted}."
    return sentence + detectable_text(pair, results, digits)


def better_units_text(pair: pd.Series) -> str:
    """'10 of 11 data sets', on which the first is better; empty where units are many or unpaired."""
    if pair["unit"] in MANY or not pair["units_better"] >= 0:
        return ""
    equal = int(pair["n"] - pair["units_better"] - pair["units_worse"])
    text = f"{pair['units_better']:.0f} of {pair['n']:.0f} {plural(pair['unit'])}"
    return f"{text} (equal on {equal})" if equal else text


def comparisons(results: Conclusions) -> int:
    """The number of tests that Holm's correction takes together: the most of any target."""
    return max(results.pairs["target"].value_counts(), default=0)


def corrected_p(pair: pd.Series, results: Conclusions) -> str:
    """The p-value after Holm's correction; if only the correction leaves a pair open, both."""
    if results.shape is Shape.PRINTED:
        return "paired or not"
    if comparisons(results) == 1:
        return p_text(pair["p_holm"])
    alpha = 1 - results.options.level
    if pair["p"] < alpha <= pair["p_holm"]:
        return f"{p_text(pair['p'])} alone, {pair['p_holm']:.2g} after Holm"
    return f"{p_text(pair['p_holm'])}, Holm"


def detectable_text(pair: pd.Series, results: Conclusions, digits: int) -> str:
    """The smallest true difference that these data would detect."""
    size = pair["detectable"]
    if not size > 0 or (results.percent and size > PERCENT):
        return ""
    points = " points" if results.percent else ""
    return f" These data would detect a true difference of {signed(size, digits)}{points} with 80 % power."


def chosen_pairs(results: Conclusions) -> pd.DataFrame:
    """The pairs that the verdicts are about, in the order of their places, in each those with a
    better method first: all, where these are few or with a reference; or with the best method.
    """
    pairs, keys = results.pairs, ["place", "target"]
    are_few = results.methods["method"].nunique() <= FEW_METHODS and len(pairs) <= MOST_LINES
    if results.options.reference is None and not are_few:
        best = results.methods.groupby(keys, sort=False)["method"].first().rename("best")
        of_place = pairs.join(best, on=keys)["best"]
        pairs = pairs[(pairs["a"] == of_place) | (pairs["b"] == of_place)]
    groups = pairs.groupby(keys, sort=False).ngroup()
    return pairs.iloc[np.lexsort((pairs["verdict"] != "better", groups))]


def has_bars(results: Conclusions) -> bool:
    """Whether means have bars that overlap where a difference is not significant."""
    return bool(results.methods["comparison_half_width"].notna().any())


def bars(results: Conclusions) -> pd.DataFrame:
    """The methods with the ends that are drawn: of several, those of bars that overlap where the
    interval of a difference holds 0, or the mean itself where no bars do.
    """
    methods = results.methods
    if results.pairs.empty:
        return methods
    half_widths = methods["comparison_half_width"].fillna(0.0)
    ends = {"low": methods["mean"] - half_widths, "high": methods["mean"] + half_widths}
    if results.percent:
        ends = {side: values.clip(0, PERCENT) for side, values in ends.items()}
    return methods.assign(half_width=half_widths, **ends)


def verdicts(results: Conclusions) -> pd.DataFrame:
    """`Results.verdicts`."""
    chosen = chosen_pairs(results)
    digits = digits_of(chosen)
    sentences = [verdict_sentence(pair, results, digits) for _, pair in chosen.iterrows()]
    named = zip(places_of(chosen), sentences, strict=True)
    table = chosen[["place", "target", "a", "b", "verdict"]].reset_index(drop=True)
    table["sentence"] = [f"{head}: {text}" if head else text for head, text in named]
    return table


def answers(results: Conclusions) -> list[str]:
    """The verdicts, or the mean of the only method."""
    return list(verdicts(results)["sentence"]) or [single_sentence(results)]


def single_sentence(results: Conclusions) -> str:
    """The answer where there is one method, and nothing to compare it with."""
    row = results.methods.iloc[0]
    digits = digits_of(results.methods)
    unit = " %" if results.percent else ""
    ends = interval_text(row["low"], row["high"], digits)
    return (
        f"{row['method']}: {signed(row['mean'], digits)}{unit} ({results.level} interval {ends})."
    )


def method_table(results: Conclusions) -> pd.DataFrame:
    """Methods for reading: mean ± half-width, and the ranks that a method may have."""
    frame = results.methods
    digits = digits_of(frame)
    table = placed(frame)
    table["method"] = frame["method"]
    table["mean ± half-width"] = [mean_text(row, digits) for _, row in frame.iterrows()]
    if frame["n"].any():
        table["n"] = frame["n"]
    if "best_rank" in frame and len(results.pairs):
        ranks = zip(frame["best_rank"], frame["worst_rank"], strict=True)
        table["rank"] = [
            f"{best}" if best == worst else f"{best} to {worst}" for best, worst in ranks
        ]
    return table


def placed(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with the columns of the place and the target, where there are several."""
    keys = [key for key in ("place", "target") if frame[key].ne("").any()]
    return frame[keys].copy()


def mean_text(method: pd.Series, digits: int) -> str:
    """'71.23 ± 0.54', or both ends where they are not equally far from the mean."""
    numbers = method[["mean", "half_width", "low", "high"]]
    return str(format_interval(*numbers, spec=f".{digits}f")).replace("-", MINUS)


def pair_table(results: Conclusions, pairs: pd.DataFrame | None = None) -> pd.DataFrame:
    """Pairs, by default all, for reading: difference with its interval, p-values, verdict and effect
    size.
    """
    frame = results.pairs if pairs is None else pairs
    digits = digits_of(frame)
    table = placed(frame)
    if frame.empty:
        return table
    table["pair"] = pair_names(frame)
    table["difference"] = [
        f"{signed(pair.difference, digits)} ({interval_text(pair.low, pair.high, digits)})"
        for pair in frame.itertuples()
    ]
    p_values = {"p": "p", "p, Holm": "p_holm"} if comparisons(results) > 1 else {"p": "p"}
    for heading, key in p_values.items():
        table[heading] = frame[key].map(p_text).str.removeprefix("p = ").str.removeprefix("p ")
    table["verdict"] = frame["verdict"]
    if frame["effect"].any():
        symbols = frame["effect"].str.removeprefix("Cohen's ")
        sizes = symbols + " = " + frame["effect_size"].map(signed)
        table["effect size"] = sizes.where(symbols != "", "")
    return table


def aligned(table: pd.DataFrame) -> list[str]:
    """The lines of a table, whose cells begin below their column's name."""
    cells = [list(map(str, table)), *table.astype(str).to_numpy().tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ["  ".join(map(str.ljust, row, widths)) for row in cells]
    return [row.rstrip() for row in rows]


def notes(results: Conclusions) -> list[str]:
    """What verdicts apply to, and the readings that an option could change: a user has to see them."""
    readings = [note for note in results.reading if isinstance(note, Note)]
    return [*results.applies, *readings[:3]]


def paper_sentence(results: Conclusions) -> str:
    """How the methods were compared, as a paper says it."""
    tests = sorted(set(results.pairs["test"]))
    unit = plural(results.pairs["unit"].iloc[0]) if len(results.pairs) else "tasks"
    count = int(results.methods["n"].max())
    sentence = f"Means over {count:,} {unit} with {results.level} confidence intervals."
    if tests:
        sentence += f" Methods were compared by the {' and the '.join(tests)}"
        family = comparisons(results)
        sentence += f", with Holm's correction for {family} comparisons." if family > 1 else "."
    return " ".join([sentence, *verdicts(results)["sentence"].head(MOST_LINES)])
