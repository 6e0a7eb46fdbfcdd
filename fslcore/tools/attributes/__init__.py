"""Attributes: the words that describe each image, from captions, facts or pixels."""

from .matrix import Attributes, describe, from_captions, from_facts, from_words, of

__all__ = ["Attributes", "describe", "from_captions", "from_facts", "from_words", "of"]


def __getattr__(name: str) -> object:
    from ...moved import of_chapter  # here, so that this package only passes names on

    return of_chapter(__name__, name)
