"""Learners: from a task's support to scores for its queries.

A learner has a ``name``, ``config()`` (all that decides its scores, as JSON values) and
``scores(bank, tasks) -> (T, n_query, K)``, batched over tasks on the bank's device. The class with
the largest score is the prediction.
"""

from .centroid import NearestCentroid
from .finetune import FineTune
from .logistic import LogisticRegression

__all__ = ["FineTune", "LogisticRegression", "NearestCentroid", "names"]

names = ("ncc", "lr", "ft")
