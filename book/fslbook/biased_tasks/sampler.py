"""Attribute-biased tasks: the support images of a class share an attribute that its query images
lack (FewSTAB).

Images have attributes, such as the words of a caption. In a biased task each class has an attribute
of its own that all its support images have, so that a learner may mistake it for the class. Its
query images do not have it, and preferably have that of another class. Section and equation numbers
refer to Zheng, Ye and Zhang (2024).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from fslcore.errors import InputError, check_memory, choice, whole
from fslcore.tasks import Tasks
from fslcore.tasks.samplers import per_class, streams, tasks_from_picks
from fslcore.tasks.tasks import Integers, describe

from .candidates import Candidates, Choice
from .released_choices import as_released
from .weighted_sampler import as_in_the_paper

__all__ = ["VARIANTS", "sample_biased"]

VARIANTS = ("paper", "released")


def sample_biased(
    labels: ArrayLike,
    attributes: ArrayLike,
    *,
    tasks: int,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    seed: int = 0,
    support: str = "SC3",
    query: str = "QC3",
    variant: str = "paper",
) -> tuple[Tasks, Integers]:
    """Draw tasks with an attribute for each class that the support has and the query lacks (section
    4).

    Images are used again between tasks. The first t tasks are the same for any number of ``tasks``.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    attributes : (N, A) bool
        Which attributes each image has.
    tasks : int
        T, at least 2 (an interval needs a variance).
    ways, shots, queries : int
        K, S and Q: classes per task, images per class in the support and in the query.
    seed : int
        The same seed gives the same tasks.
    support : str
        Support of a class (Table S5): 'SC1' any of its images; 'SC2' those with its attribute;
        'SC3' those that also lack the attributes of the task's other classes.
    query : str
        Query of a class (Table S6): 'QC1' images without its attribute (equation 3); 'QC2' those
        that also have an attribute of the task's other classes (equation 5); 'QC3' of these the Q
        with the lowest scores. If fewer than Q images are left for QC2 or QC3, images of QC1
        replace them.
    variant : str
        'paper', or 'released' for the behaviour of the authors' code (SC3 and QC3 only); see the
        notes.

    Returns
    -------
    tasks : Tasks
        ``tasks.sampler["fallbacks"]`` counts the queries (of one class in one task) that fell back
        to QC1, ``tasks.sampler["relaxed"]`` the supports in which the released variant tolerates
        attributes of others.
    attribute : (T, K) integers
        The attribute (column of ``attributes``) of each class of each task.

    Raises
    ------
    InputError
        Shapes or values that do not fit, or data from which no task can be built: the message says
        which condition fails for which classes.

    Notes
    -----
    **Paper.** The paper draws K classes, and for each one of its spurious attributes (those that
    some but not all of its images have, definition 1), all uniformly, and starts again if a support
    or a query lacks images. This gives each feasible choice of K classes with their attributes a
    probability proportional to the product of 1/n, with n the number of spurious attributes of each
    class. A choice is feasible if every class has Q images without its attribute, and S images for
    the support; attributes of a task differ. The sampler here draws from the same distribution with
    fewer restarts. It chooses one class with its attribute after the other, only among those
    compatible with each one chosen before, in proportion to an upper bound of the weight of what
    can follow, and corrects for the bound by rejection. It stores improved bounds, so no dead end
    is entered twice. If pairs of classes are compatible and all K hardly ever are, it chooses the K
    attributes first. The remaining images of a class then depend on nothing else, so that all
    feasible classes are known exactly.

    The paper leaves three things open. Ties of scores are broken at random, not by the order of the
    data. A query that falls back to QC1 takes the lowest scores too, under QC3. Under SC1, where a
    support may contain images that suit the query, a choice needs S more images without the
    attribute.

    **Score.** An image's score is the sum, over its attributes that the task did not choose, of
    their frequencies among the candidates (equation 6).

    **Released.** Attributes are drawn first, uniformly among those that, in some class, at least S
    images have and at least Q lack; then, for each, a class in which this holds for it and for
    another one of the K. Five failed supports in a row allow a support image to have one of the
    others' attributes; eleven, not ten, allow two, because that code adds 0.2 per failure in
    floating point, which gives 1.9999999999999998 after ten. Five failed queries in a row make the
    next one intra-class. The score sums log(p + 1e-10) over the attributes an image has and
    log(1e-10) over those it lacks, which ranks first by the number it has. That code can restart
    for ever; this one stops after 20,000 tries for a task and says what failed.
    """
    _check_construction(support, query, variant)
    tasks = whole("tasks", tasks, minimum=2)
    n_shots = per_class("shots", shots, ways)
    n_queries = per_class("queries", queries, ways)
    if np.ptp(n_shots) or np.ptp(n_queries):
        raise InputError(
            f"shots, queries = {n_shots.tolist()}, {n_queries.tolist()}; biased tasks have equal "
            "numbers per class"
        )
    data = Candidates(labels, attributes, ways)
    check_memory("tasks", tasks, 24 * tasks * int((n_shots + n_queries).sum()))
    choice_rng, image_rng = streams(seed, 2)
    sizes = int(n_shots[0]), int(n_queries[0])
    if variant == "released":
        choices = as_released(data, ways, *sizes, choice_rng)
    else:
        choices = as_in_the_paper(data, ways, *sizes, support, choice_rng)
    images = _ImageSampler(data, *sizes, support, query, image_rng)
    picks, attribute = images.draw(islice(choices, tasks))
    sampler = describe("biased", ways, n_shots, n_queries, seed, tasks=tasks)
    sampler |= {"support": support, "query": query, "variant": variant}
    sampler |= {"fallbacks": images.fallbacks, "relaxed": images.relaxed}
    return tasks_from_picks(picks, n_shots, n_queries, sampler), attribute


def _check_construction(support: str, query: str, variant: str) -> None:
    choice("support", support, ("SC1", "SC2", "SC3"))
    choice("query", query, ("QC1", "QC2", "QC3"))
    choice("variant", variant, VARIANTS)
    if variant == "released" and (support, query) != ("SC3", "QC3"):
        raise InputError(
            f"support, query = {support}, {query}; the released variant knows SC3 and QC3 only"
        )


@dataclass
class _ImageSampler:
    """Draws the images of tasks, and counts what it had to relax."""

    data: Candidates
    shots: int
    queries: int
    support: str
    query: str
    rng: np.random.Generator
    fallbacks: int = 0
    relaxed: int = 0

    def draw(self, choices: Iterable[Choice]) -> tuple[Integers, Integers]:
        """(K, T, S + Q) images, and (T, K) attributes."""
        images, attributes = [], []
        for task in choices:
            images.append([self._images(task, k) for k in range(len(task.classes))])
            attributes.append(task.attributes)
        return np.array(images).swapaxes(0, 1), np.array(attributes)

    def _images(self, task: Choice, k: int) -> Integers:
        """(S + Q,) images of the k-th class."""
        c = task.classes[k]
        tolerated = task.tolerated[k]
        has_own, n_others = self.data.marks(c, task.attributes, k)
        fits = {
            "SC1": np.ones_like(has_own),
            "SC2": has_own,
            "SC3": has_own & (n_others <= tolerated),
        }[self.support]
        support = self.rng.choice(np.flatnonzero(fits), self.shots, replace=False)
        self.relaxed += int(tolerated > 0 and n_others[support].any())
        fits = ~has_own
        fits[support] = False
        if self.query != "QC1":
            has_others = fits & (n_others > 0)
            if not task.intra[k] and np.count_nonzero(has_others) >= self.queries:
                fits = has_others
            else:
                self.fallbacks += 1
        query = self.rng.permutation(np.flatnonzero(fits))
        if self.query == "QC3":
            query = query[self.data.scores(c, query, task).argsort(kind="stable")]
        return self.data.images[c][np.concatenate([support, query[: self.queries]])]
