"""Attribute-biased tasks: the support images of a class share an attribute that its query images
lack (FewSTAB).

Images have attributes, such as the words of a caption. In a biased task each class has an attribute
of its own that all its support images have, so that a learner may mistake it for the class. Its
query images do not have it, and preferably have that of another class. Section and equation numbers
refer to Zheng, Ye and Zhang (2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, check_memory, instance, whole
from ..errors import choice as checked_choice
from ..errors import labels as checked_labels
from .candidates import Candidates, Choice
from .released_choices import as_released
from .samplers import ImagesOfClasses, assemble, fill, per_class, streams
from .tasks import Tasks, describe
from .weighted_sampler import as_in_the_paper

__all__ = ["sample_biased", "sample_matched"]

VARIANTS = ("paper", "released")


def sample_biased(
    labels: NDArray,
    attributes: NDArray,
    *,
    tasks: int,
    ways: int = 5,
    shots: int = 5,
    queries: int = 15,
    seed: int = 0,
    support: str = "SC3",
    query: str = "QC3",
    variant: str = "paper",
) -> tuple[Tasks, NDArray]:
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
    images have and at least Q lack; then for each a class for which this is true of it and of
    another one of the K. Five failed supports in a row allow a support image to have one of the
    others' attributes (ten, two); five failed queries in a row make the next one intra-class. The
    score sums log(p + 1e-10) over the attributes an image has and log(1e-10) over those it lacks,
    which ranks first by the number it has. That code can restart for ever; this one stops after
    20,000 tries for a task and says what failed.
    """
    checked_choice("support", support, ("SC1", "SC2", "SC3"))
    checked_choice("query", query, ("QC1", "QC2", "QC3"))
    checked_choice("variant", variant, VARIANTS)
    if variant == "released" and (support, query) != ("SC3", "QC3"):
        raise InputError(
            f"support, query = {support}, {query}; the released variant knows SC3 and QC3 only"
        )
    tasks = whole("tasks", tasks, minimum=2)
    counts = [
        per_class(name, value, ways) for name, value in (("shots", shots), ("queries", queries))
    ]
    if any((c != c[0]).any() for c in counts):
        raise InputError(
            f"shots, queries = {shots}, {queries}; biased tasks have equal numbers per class"
        )
    shots, queries = (int(c[0]) for c in counts)
    data = Candidates(labels, attributes)
    if ways > len(data.names):
        raise InputError(f"ways = {ways}; the data have {len(data.names)} classes")
    check_memory("tasks", tasks, 24 * tasks * ways * (shots + queries))
    choice_rng, image_rng = streams(seed, 2)

    if variant == "released":
        choices = as_released(data, ways, shots, queries, choice_rng)
    else:
        choices = as_in_the_paper(data, ways, shots, queries, support, choice_rng)
    images = _ImageSampler(data, shots, queries, support, query, image_rng)
    picks = np.empty((ways, tasks, shots + queries), np.int64)
    attribute = np.empty((tasks, ways), np.int64)
    for t, choice in zip(range(tasks), choices):
        attribute[t] = choice.attributes
        for k in range(ways):
            picks[k, t] = images.draw(choice, k)
    sampler = describe(
        "biased",
        ways,
        *counts,
        seed,
        tasks=tasks,
        support=support,
        query=query,
        variant=variant,
        fallbacks=images.fallbacks,
        relaxed=images.relaxed,
    )
    return assemble(list(picks), *counts, sampler), attribute


@dataclass
class _ImageSampler:
    """Draws the images of a class of a task, and counts what it had to relax."""

    data: Candidates
    shots: int
    queries: int
    support: str
    query: str
    rng: np.random.Generator
    fallbacks: int = 0
    relaxed: int = 0

    def draw(self, choice: Choice, k: int) -> NDArray:
        """(S + Q,) images of the k-th class."""
        c, tolerated = choice.classes[k], choice.tolerated[k]
        has_own, n_others = self.data.marks(c, choice.attributes, k)
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
            if not choice.intra[k] and np.count_nonzero(has_others) >= self.queries:
                fits = has_others
            else:
                self.fallbacks += 1
        query = self.rng.permutation(np.flatnonzero(fits))
        if self.query == "QC3":
            query = query[self.data.scores(c, query, choice).argsort(kind="stable")]
        return self.data.images[c][np.concatenate([support, query[: self.queries]])]


def sample_matched(labels: NDArray, tasks: Tasks, *, seed: int = 0) -> Tasks:
    """Random tasks with the classes of ``tasks``, task by task: the same tasks without the bias.

    Biased tasks do not contain all classes equally often, so the gap to tasks from
    `fslcore.tasks.sample_closed` is partly one of classes. The gap to matched tasks is not, and the
    two can be compared in pairs.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    tasks : Tasks
        T tasks with equal numbers of images per class from task to task.
    seed : int
        The same seed gives the same tasks.

    Raises
    ------
    InputError
        Tasks of different sizes or padded, or a class with fewer than S + Q images.
    """
    instance("tasks", tasks, Tasks)
    labels = checked_labels("labels", labels)
    shape = tasks.support_label[0], tasks.query_label[0]
    if (
        (tasks.support_label != shape[0]).any()
        or (tasks.query_label != shape[1]).any()
        or min(map(min, shape)) < 0
    ):
        raise InputError(
            "tasks differ in their numbers of images per class; equal numbers are needed"
        )
    tasks.check_bank(len(labels))
    shots, queries = (np.bincount(row, minlength=tasks.ways) for row in shape)
    needed = shots + queries
    classes, label = np.unique(labels, return_inverse=True)
    images = ImagesOfClasses.of(label, tasks.ways, 0, 0, skip_small_classes=False)
    chosen = label[tasks.support[:, [int((shape[0] == k).argmax()) for k in range(tasks.ways)]]]
    is_small = images.size[chosen] < needed
    if is_small.any():
        raise InputError(
            f"class {classes[chosen[is_small][0]]} has fewer images than shots + queries = "
            f"{needed.max()}"
        )
    picks = fill(images, chosen, shots, queries, *streams(seed, 2))
    sampler = describe(
        "matched", tasks.ways, shots, queries, seed, tasks=len(tasks), to=tasks.digest
    )
    return assemble(picks, shots, queries, sampler)
