"""What stands in the place of the functions of a table that there were before `fslcore.tools.report.Results`."""

from __future__ import annotations

from ...errors import InputError

# What were functions of a table and its pairs, with what of `Results` took their place.
FORMER = {
    "read": "Results.read(path), with table and notes",
    "normalise": "Results.of(frame, name), with table and notes",
    "comparisons": "pairs",
    "equivalents": "pairs, of Results with a margin",
    "by_ranks": "ranks",
    "crowded": "warnings",
    "few_errors": "warnings",
    "group_letters": "tables['methods']",
    "interval_list": "tables['methods']",
    "pair_list": "tables['pairs']",
    "run_list": "tables['runs']",
    "recipe_list": "tables['recipes']",
    "three_intervals": "three and reason",
    "three_list": "tables['three_intervals']",
    **{name: f"tables['{name}']" for name in ("changed", "matrix", "needed")},
    **{name: name for name in "groups intervals new_runs panels reading recipes run_reading settings settles".split()},
    **{name: f"{name}()" for name in "paragraphs record summary write_figures write_tables".split()},
}


def __getattr__(name: str) -> object:
    """Say what took the place of a function that there was before `Results`."""
    if name in FORMER:
        raise InputError(
            f"fslcore.tools.report.{name} is gone; make Results once, by Results.read(path) or Results.of(frame), and "
            f"take from it: {FORMER[name]}"
        )
    raise AttributeError(f"module {__package__} has no attribute {name}")
