import warnings

from fslbook import cells
from fslcore.errors import FslcoreWarning


def test_a_warning_of_the_library_is_shown_as_its_sentence():
    """Without a file and without code; other warnings stay as they are."""
    assert cells._format_warning("read", FslcoreWarning, "file.py", 1, "tasks=None") == "read\n"
    other = cells._format_warning("other", RuntimeWarning, "file.py", 1, "x")
    assert "file.py" in other and "RuntimeWarning: other" in other
    assert warnings.formatwarning("read", FslcoreWarning, "file.py", 1) == "read\n"
