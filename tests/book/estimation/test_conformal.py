import math

import numpy as np
from hypothesis import given, strategies as st

from fslbook.estimation.conformal import conformal_quantile

LEVELS = st.floats(0.05, 0.99)


@given(scores=st.lists(st.floats(0, 1e6), min_size=2, max_size=60, unique=True), level=LEVELS)
def test_covers_as_often_as_proved(scores, level):
    # Exchangeable: each of the n + 1 scores is equally often the next one, so the share below is exact.
    inside = [
        score <= conformal_quantile(scores[:i] + scores[i + 1 :], level)
        for i, score in enumerate(scores)
    ]
    n = len(scores) - 1
    assert level - 1e-9 <= np.mean(inside) < level + 1 / (n + 1)


def test_covers_new_draws_of_any_predictor():
    rng = np.random.default_rng(0)
    n, repetitions = 19, 20_000
    x = rng.exponential(size=(repetitions, n + 1))
    error = np.abs(x - 0.3)  # 0.3 predicts badly; that costs width, not coverage
    inside = [e[-1] <= conformal_quantile(e[:-1], 0.9) for e in error]
    assert abs(np.mean(inside) - 18 / 20) < 4 * math.sqrt(0.09 / repetitions)


def test_too_few_cases_give_an_infinite_interval():
    assert conformal_quantile(np.arange(8), 0.9) == math.inf
    assert conformal_quantile(np.arange(9), 0.9) == 8
