"""Ranks that methods may have: from verdicts on pairs, and how often true ranks lie in them, by simulation."""

import numpy as np
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


def test_two_methods_that_are_better_than_each_other_are_refused():
    with refuses(r"better .*\[0, 1\] and \[1, 0\], got both"):
        stats.rank_confidence_sets([[0, 1], [1, 0]])
