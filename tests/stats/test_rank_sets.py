"""Ranks that methods may have: from verdicts on pairs, and how often true ranks lie in them, by simulation."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from refusal import refuses

from fslcore import stats


@st.composite
def true_verdicts(draw):
    """True means of 1 to 7 methods, some of them equal, and any true verdicts on their pairs."""
    means = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=7)))
    methods = len(means)
    decided = draw(st.lists(st.booleans(), min_size=methods**2, max_size=methods**2))
    return means, np.reshape(decided, (methods, methods)) & (means[:, None] > means)


@given(true_verdicts())
def test_ranks_count_the_verdicts_and_hold_the_true_ranks_where_no_verdict_is_false(verdicts):
    means, better = verdicts
    ranks = stats.rank_confidence_sets(better)
    for method in range(len(means)):
        assert ranks.best[method] == 1 + better[:, method].sum()
        assert ranks.worst[method] == len(means) - better[method].sum()
    # Equal methods share the ranks from highest to lowest.
    highest = 1 + (means[:, None] > means).sum(axis=0)
    lowest = len(means) - (means[:, None] < means).sum(axis=0)
    assert (ranks.best <= highest).all() and (lowest <= ranks.worst).all()


@pytest.mark.parametrize(
    "better, words",
    [
        ([[0, 2], [0, 0]], r"^better .*True and False, got \[\[0, 2"),
        ([[0, 1], [1, 0]], r"^better .*\[0, 1\] and \[1, 0\], got both"),
        ([True, False], r"better .* 2 dimensions, got shape \(2,\)"),
    ],
)
def test_bad_input_is_refused(better, words):
    with refuses(words):
        stats.rank_confidence_sets(better)
