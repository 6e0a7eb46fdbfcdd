"""Words that depend on numbers: at the thresholds, and as the reruns read them in an executed notebook."""

import json
import sys
from pathlib import Path

import executed
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from fslbook.cells import comparison, direction, quantity, sentence_if, span

sys.path.insert(0, str(Path(__file__).parents[1] / "rerun"))

import rerun


@pytest.fixture(autouse=True)
def shell():
    """Words are recorded through IPython's display."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "low, high, value, words",
    [
        (0.1, 2.0, 0.0, "higher"),
        (-2.0, -0.1, 0.0, "lower"),
        (0.0, 2.0, 0.0, "not significantly different"),
        (-2.0, 0.0, 0.0, "not significantly different"),
        (-np.inf, np.inf, 0.0, "not significantly different"),
        (np.nan, np.nan, 0.0, "not significantly different"),
        (0.8, 0.9, 1.0, "lower"),
    ],
)
def test_an_interval_has_a_direction_only_beyond_its_value(low, high, value, words):
    assert direction(low, high, value=value) == words


@pytest.mark.parametrize(
    "first, second, digits, words",
    [
        (0.44, 0.36, 1, "the same"),  # both are printed as 0.4
        (0.46, 0.44, 1, "higher"),
        (0.44, 0.46, 1, "lower"),
        (0.46, 0.44, 0, "the same"),
        (np.float32(2), 1, 0, "higher"),
    ],
)
def test_two_numbers_are_compared_as_they_are_printed(first, second, digits, words):
    assert comparison(first, second, digits=digits) == words


@pytest.mark.parametrize(
    "count, words",
    [
        (0, "none"),
        (1, "few"),
        (25, "few"),
        (26, "some"),
        (49, "some"),
        (50, "half"),
        (51, "most"),
        (89, "most"),
        (90, "nearly all"),
        (99, "nearly all"),
        (100, "all"),
    ],
)
def test_each_share_has_its_word(count, words):
    assert quantity(count, 100) == words


@pytest.mark.parametrize("count, total", [(0, 0), (-1, 3), (4, 3)])
def test_no_word_for_what_is_no_share(count, total):
    with pytest.raises(ValueError, match=f"{count} of {total} is no share"):
        quantity(count, total)


@pytest.mark.parametrize(
    "values, form, text",
    [
        ([83.4, 82.6], ".0f", "83"),
        (np.array([91.0, 82.6, 85]), ".0f", "83 to 91"),
        ([0.5], ".2f", "0.50"),
        ([-1.0, 1.0], "+.1f", "-1.0 to +1.0"),
    ],
)
def test_a_span_names_one_number_where_both_ends_are_printed_alike(values, form, text):
    assert span(values, form) == text


def test_a_sentence_needs_its_condition():
    assert sentence_if(np.bool_(True), "It does.") == "It does."
    assert sentence_if(False, "It does.") == ""
    assert sentence_if(False, "It does.", "It does not.") == "It does not."
    with pytest.raises(TypeError, match="int.*bool"):
        sentence_if(1, "It does.")


def records(tmp_path, *calls):
    """What an executed notebook stores of these calls."""
    with capture_output() as output:
        for call in calls:
            call()
    outputs = [
        {"output_type": "display_data", "data": o.data, "metadata": o.metadata}
        for o in output.outputs
    ]
    path = tmp_path / "words.ipynb"
    path.write_text(json.dumps({"cells": [{"metadata": {}, "outputs": outputs}]}, allow_nan=False))
    return executed.wordings(path)


def test_words_are_stored_with_their_numbers(tmp_path):
    stored = records(
        tmp_path,
        lambda: direction(-np.inf, np.nan),
        lambda: quantity(np.int64(3), 4),
        lambda: sentence_if(True, "so"),
    )
    assert stored[0]["words"] == "not significantly different" and stored[0]["low"] == -np.inf
    assert stored[1:] == [
        {"words": "most", "count": 3.0, "total": 4.0},
        {"words": "so", "condition": 1.0},
    ]


def test_reruns_find_words_against_their_numbers(tmp_path):
    right = records(
        tmp_path,
        lambda: direction(1, 2, above="gains"),
        lambda: direction(-1, 2, neither="is not significantly larger"),
        lambda: direction(0.5, 0.9, value=1, below="saves tasks: fewer are needed"),
        lambda: comparison(1, 1, digits=0, equal="between more and fewer"),
        lambda: sentence_if(False, "", "more"),
    )
    assert rerun.wording_faults(right) == []
    swapped = records(
        tmp_path,
        lambda: direction(1, 2, above="loses"),
        lambda: direction(-1, 2, neither="is larger"),
        lambda: comparison(1, 2, digits=0, below="more"),
    )
    assert len(rerun.wording_faults(swapped)) == 3
