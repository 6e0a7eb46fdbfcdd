"""Attribute-biased tasks, as FewSTAB draws them."""

from .sampler import VARIANTS, sample_biased

__all__ = ["VARIANTS", "sample_biased"]
