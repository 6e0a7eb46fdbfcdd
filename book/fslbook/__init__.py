"""The code of the chapters: one folder a paper, and one for what goes beyond them."""

from fslcore.catalogue import register_datasets, register_learners

from .catalogue import DATASETS, LEARNERS

register_datasets(DATASETS)
register_learners(LEARNERS)
