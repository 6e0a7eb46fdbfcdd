"""What a test requires of bad input."""

import re
from contextlib import contextmanager

import pytest

from fslcore.errors import FslcoreWarning, InputError


def says_in_one_line(text, *facts):
    """Whether a text is one line with all of these facts: names, values, what is allowed; its words may change."""
    assert text.strip().count("\n") == 0, text
    missing = [fact for fact in map(str, facts) if fact not in text]
    assert not missing, f"{text} lacks {missing}"
    return True


@contextmanager
def refuses(*facts):
    """Bad input ends in one line that holds each of these facts, texts or patterns."""
    with pytest.raises(InputError) as error:
        yield error
    text = str(error.value)
    assert "\n" not in text or type(error.value).__name__ == "UnnamedRoles", text
    for fact in facts:
        assert fact in text or re.search(fact, text), f"{text} lacks {fact}"


def warned(recwarn):
    """The warnings of ours since the last call, a line each, as the fixture ``recwarn`` records them."""
    lines = [str(w.message) for w in recwarn.list if issubclass(w.category, FslcoreWarning)]
    recwarn.clear()
    return "".join(f"{line}\n" for line in lines)
