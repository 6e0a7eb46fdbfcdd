"""What a test requires of bad input."""

import re
from contextlib import contextmanager

import pytest

from fslcore.errors import InputError


@contextmanager
def refuses(message=""):
    """Bad input ends in one line that holds the message, a text or a pattern."""
    with pytest.raises(InputError) as error:
        yield error
    text = str(error.value)
    assert "\n" not in text and (message in text or re.search(message, text)), text
