"""Attributes: the words that describe each image, from captions, facts or pixels."""

from .matrix import (
    Attributes,
    agreement,
    agreement_table,
    describe,
    describe_table,
    from_captions,
    from_facts,
    from_words,
    of,
)

__all__ = [
    "Attributes",
    "agreement",
    "agreement_table",
    "describe",
    "describe_table",
    "from_captions",
    "from_facts",
    "from_words",
    "of",
]
