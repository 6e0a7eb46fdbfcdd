"""Rows of a report by their target and the names of methods."""


def targets(results):
    return [*results.methods["target"].unique()]


def row(results, target, first, second=None):
    """The row of a method, or of a pair."""
    if second is None:
        frame = results.methods
        named = frame["method"] == first
    else:
        frame = results.pairs
        named = (frame["a"] == first) & (frame["b"] == second)
    return frame[(frame["target"] == target) & named].iloc[0]
