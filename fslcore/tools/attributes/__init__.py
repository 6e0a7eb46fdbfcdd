"""Attributes: which words describe which image, from captions, from facts or from the pixels."""

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
