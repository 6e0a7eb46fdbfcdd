"""Classes and attributes of biased tasks, chosen as the authors' released code does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fslcore.errors import InputError
from fslcore.tasks.tasks import Booleans, Integers

from .candidates import TRIES, Candidates, Choice, first_names

STEP = 0.2  # by which the released code's tolerance of a support grows with each failure


def as_released(
    data: Candidates, ways: int, shots: int, queries: int, rng: np.random.Generator
) -> Iterator[Choice]:
    """Choices as in the released code, without end (see `fslbook.biased_tasks.sample_biased`)."""
    sampler = _ReleasedSampler(data, ways, shots, queries, rng)
    while True:
        yield sampler.draw()


@dataclass
class _ReleasedSampler:
    """Attributes first, then a class for each; it tolerates more after failures in a row."""

    data: Candidates
    ways: int
    shots: int
    queries: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        count = self.data.count
        self.fits = (count >= self.shots) & (self.data.size - count >= self.queries)
        self.scored = self.fits.any(axis=0)
        self.pool = np.flatnonzero(self.scored)
        if len(self.pool) < self.ways:
            raise InputError(
                f"ways must be at most {len(self.pool)}, the attributes that, in a class, "
                f"{self.shots} images have and {self.queries} lack, got {self.ways}"
            )

    def draw(self) -> Choice:
        self.n_failures = {"class": 0, "support": 0, "query": 0}
        self.tolerance = 0.0  # of a support; 1.9999999999999998 after ten failures, as released
        self.failed_queries = 0
        self.failed_classes: set[int] = set()
        for _ in range(TRIES):
            choice = self._try()
            if choice:
                return choice
        n = self.n_failures
        names = self.data.names[sorted(self.failed_classes)]
        raise InputError(
            f"variant = released: {TRIES:,} tries made no task of {self.ways} ways: "
            f"{n['class']:,} found no class for an attribute, {n['support']:,} no support and "
            f"{n['query']:,} no query{f' of {first_names(names)}' if len(names) else ''}"
        )

    def _try(self) -> Choice | None:
        attributes = self.rng.choice(self.pool, self.ways, replace=False)
        classes, tolerated, intra = [], [], []
        fits = self.fits[:, attributes]
        suits = fits & (fits.sum(axis=1, keepdims=True) > 1)
        for k in range(self.ways):
            allowed = np.flatnonzero(suits[:, k])
            if not len(allowed):
                self.n_failures["class"] += 1
                return None
            c = allowed[self.rng.integers(len(allowed))]
            suits[c] = False
            tolerated.append(int(self.tolerance))
            intra.append(self.failed_queries >= 5)
            failure = self._failure(*self.data.marks(c, attributes, k), tolerated[k], intra[k])
            if failure:
                self.n_failures[failure] += 1
                self.failed_classes.add(c)
                return None
            classes.append(c)
        return Choice(np.array(classes), attributes, tolerated, intra, self.scored)

    def _failure(
        self, has_own: Booleans, n_others: Integers, tolerated: int, intra: bool
    ) -> str | None:
        """Which of 'support' and 'query' lacks images; what succeeds ends a row of failures."""
        if np.count_nonzero(has_own & (n_others <= tolerated)) < self.shots:
            self.tolerance += STEP
            return "support"
        self.tolerance = 0.0
        if np.count_nonzero(~has_own if intra else ~has_own & (n_others > 0)) < self.queries:
            self.failed_queries += 1
            return "query"
        self.failed_queries = 0
        return None
