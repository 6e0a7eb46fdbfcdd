"""Learners: from a task's support to scores for its queries.

A learner has a ``name``, ``config()`` (all that decides its scores, as JSON values) and
``scores(bank, tasks) -> (T, n_query, K)``, batched over tasks on the bank's device. The class with
the largest score is the prediction.
"""

from .centroid import NearestCentroid
from .finetune import FineTune
from .logistic import LogisticRegression

__all__ = ["FineTune", "LogisticRegression", "NearestCentroid", "names", "of_features"]

of_features = {learner.name: learner for learner in (NearestCentroid, LogisticRegression)}  # the others train on images
names = (*of_features, FineTune.name)
