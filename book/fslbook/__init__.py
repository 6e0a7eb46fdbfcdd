"""The code of the chapters: one folder a paper, and one for what goes beyond them."""

from fslcore.catalogue import register_learners

from .catalogue import LEARNERS

register_learners(LEARNERS)
