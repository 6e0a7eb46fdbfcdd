"""Ranks that methods may have: from verdicts on pairs, and how often true ranks lie in them, by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fslcore import stats
from fslcore.errors import InputError


def verdicts(accuracies, level=0.95):
    """Which of (M, T) accuracies are significantly better than which: paired t-tests with Holm's correction."""
    methods = len(accuracies)
    first, second = np.triu_indices(methods, 1)
    pairs = [stats.paired_interval(accuracies[i], accuracies[j], level) for i, j in zip(first, second)]
    significant = stats.holm([pair.p_value for pair in pairs]) < 1 - level
    better = np.zeros((methods, methods), bool)
    for i, j, pair, decided in zip(first, second, pairs, significant):
        better[i, j] = decided and pair.mean > 0
        better[j, i] = decided and pair.mean < 0
    return better


@st.composite
def true_verdicts(draw):
    """True means of 1 to 7 methods, some of them equal, and any true verdicts on their pairs."""
    means = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=7)))
    methods = len(means)
    decided = draw(st.lists(st.booleans(), min_size=methods**2, max_size=methods**2))
    return means, np.reshape(decided, (methods, methods)) & (means[:, None] > means)


@given(true_verdicts())
def test_ranks_count_the_verdicts_and_hold_the_true_ranks_where_no_verdict_is_false(drawn):
    means, better = drawn
    ranks = stats.rank_sets(better)
    above = [sum(better[j, i] for j in range(len(means))) for i in range(len(means))]
    below = [sum(better[i, j] for j in range(len(means))) for i in range(len(means))]
    assert ranks.best.tolist() == [1 + count for count in above]
    assert ranks.worst.tolist() == [len(means) - count for count in below]
    highest = 1 + (means[:, None] > means).sum(axis=0)  # equal methods share the ranks from highest to lowest
    lowest = len(means) - (means[:, None] < means).sum(axis=0)
    assert (ranks.best <= highest).all() and (lowest <= ranks.worst).all()


def test_two_methods_are_ranked_where_their_test_decides():
    rng = np.random.default_rng(0)
    seen = set()
    for shift in np.linspace(-1.5, 1.5, 13):
        accuracies = rng.normal(0, 1, (2, 12)) + [[shift], [0]]
        conclusion = stats.paired_interval(*accuracies).conclusion
        sets = {1: [[1, 2], [1, 2]], 0: [[1, 1], [2, 2]], -1: [[2, 1], [2, 1]]}[conclusion]
        assert [side.tolist() for side in stats.rank_sets(verdicts(accuracies))] == sets
        seen.add(conclusion)
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("means", [(0.0,) * 5, (0.0, 0.1, 0.2, 0.5, 0.9)], ids=["equal", "unlike"])
def test_all_true_ranks_are_in_their_sets_as_often_as_said(rho, means):
    """600 studies of 5 methods on 40 tasks; the least favourable case is that of equal methods."""
    rng, true = np.random.default_rng(7), np.array(means)
    rank = 1 + (true[:, None] > true).sum(axis=0)
    covered = 0
    for _ in range(600):
        x = true[:, None] + np.sqrt(rho) * rng.normal(0, 1, 40) + np.sqrt(1 - rho) * rng.normal(0, 1, (5, 40))
        ranks = stats.rank_sets(verdicts(x))
        covered += ((ranks.best <= rank) & (rank <= ranks.worst)).all()
    assert 0.95 - 3 * 0.0089 < covered / 600 < (0.985 if len(set(means)) == 1 else 1.001)


@pytest.mark.parametrize(
    "better, message",
    [
        ([[0, 1]], "better has shape (1, 2); (M, M) truth values are allowed"),
        ([[0, 2], [0, 0]], "better has shape (2, 2); (M, M) truth values are allowed"),
        ([[0, 1], [1, 0]], "better[0, 1] and better[1, 0] are both true"),
        ([[0, 0], [0, 1]], "better[1, 1] and better[1, 1] are both true"),
        ([True, False], "better has shape (2,)"),
    ],
)
def test_bad_input_is_refused(better, message):
    with pytest.raises(InputError) as error:
        stats.rank_sets(better)
    assert message in str(error.value)
