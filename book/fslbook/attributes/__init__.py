"""Attributes: the words that describe each image, from captions, facts or pixels."""

from .matrix import Attributes, describe, from_captions, from_facts, from_words, of

__all__ = ["Attributes", "describe", "from_captions", "from_facts", "from_words", "of"]
