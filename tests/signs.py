"""Signs in a text that a terminal obeys."""

import unicodedata


def control_characters(text):
    """Those of a text, but for the ends of its lines."""
    return {sign for sign in text if unicodedata.category(sign) in "Cc Cf Cs Zl Zp".split()} - {
        "\n"
    }
