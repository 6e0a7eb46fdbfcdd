"""The one exception for input that the user can mend."""


class InputError(ValueError):
    """Bad input: the message is one line that names the value and what is allowed."""
