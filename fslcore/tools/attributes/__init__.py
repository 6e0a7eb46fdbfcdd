"""Attributes: the words that describe each image, from captions, facts or pixels."""

from ...moved import of_chapter
from .matrix import Attributes, describe, from_captions, from_facts, from_words, of

__all__ = ["Attributes", "describe", "from_captions", "from_facts", "from_words", "of"]


def __getattr__(name: str) -> object:
    return of_chapter(__name__, name)
