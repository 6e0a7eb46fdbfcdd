"""The evaluations that the tables of chapters are based on, and the features that they need, from a profile.

`fslbook.pack` writes the results of these evaluations, and `fslbook.plan` lists them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, product

from fslcore.sources import filled

from . import notebooks

__all__ = ["Evaluation", "complete_parameters", "evaluations", "features", "without_repeats"]

SHAPE = ("ways", "shots", "queries")
IMAGE_LEARNERS = (
    "ft",
    "maml",
    "boil",
)  # train a network on the images of each task, and read no features


@dataclass(frozen=True)
class Evaluation:
    """A learner on tasks of a data set.

    Attributes
    ----------
    dataset, backbone, learner : str
    sampling : str
        'closed', 'open', 'biased' by the attributes of a captioner, or 're-split', with estimates from the support.
    tasks : int or None
        None: as many open tasks as the images allow.
    ways, shots, queries, seed : int
    captioner : str or None
        Of biased tasks.
    rounds : int or None
        Of the bootstrap, on re-split tasks.
    """

    dataset: str
    backbone: str
    learner: str
    sampling: str
    tasks: int | None
    ways: int = 5
    shots: int = 5
    queries: int = 15
    seed: int = 0
    captioner: str | None = None
    rounds: int | None = None

    @property
    def shape(self) -> dict[str, int]:
        """Ways, shots and queries."""
        return {name: getattr(self, name) for name in SHAPE}


def complete_parameters(profile: dict[str, dict], chapter: str) -> dict:
    """All parameters of a chapter: those of the profile, and the defaults of the others."""
    defaults = {parameter.name: parameter.default for parameter in notebooks.parameters(chapter)}
    return defaults | profile.get(chapter, {})


def evaluations(profile: dict[str, dict]) -> dict[str, list[Evaluation]]:
    """By chapter, the evaluations of a profile, as `fslbook.notebooks.profile` gives it."""
    chapters = [chapter for chapter in profile if chapter in EVALUATIONS]
    return {
        chapter: without_repeats(EVALUATIONS[chapter](complete_parameters(profile, chapter)))
        for chapter in chapters
    }


def without_repeats(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """One evaluation per setting, with the most tasks: chapters that need fewer find them in the cache."""
    largest: dict[Evaluation, Evaluation] = {}
    for evaluation in evaluations:
        setting = replace(evaluation, tasks=None)
        largest[setting] = max(largest.get(setting, evaluation), evaluation, key=_most_tasks)
    return list(largest.values())


def _most_tasks(evaluation: Evaluation) -> float:
    return math.inf if evaluation.tasks is None else evaluation.tasks


def _on_intervals(p: dict) -> Iterator[Evaluation]:
    shape = {name: p[name] for name in (*SHAPE, "seed")}
    for dataset, backbone, learner in product(p["datasets"], p["backbones"], p["learners"]):
        closed_tasks, open_tasks = p["tasks"], p["max_open"] or None
        if learner == "ft":
            if p["fine_tuning"] != "run":
                continue
            closed_tasks, open_tasks = p["ft_tasks"], p["ft_open"]
        yield Evaluation(dataset, backbone, learner, "closed", closed_tasks, **shape)
        yield Evaluation(dataset, backbone, learner, "open", open_tasks, **shape)


def _on_query_numbers(p: dict) -> Iterator[Evaluation]:
    """Each number of shots with its number of queries, and with the usual one, which Figure 6 of OOPS compares."""
    own_queries = list(zip(p["shots"], p["queries"]))
    usual_queries = [(shots, p["usual_queries"]) for shots in p["shots"]]
    for dataset, backbone, learner in product(p["datasets"], p["backbones"], p["learners"]):
        tasks, sizes = p["max_tasks"], [*own_queries, *usual_queries]
        if learner == "ft":
            if p["fine_tuning"] != "run":
                continue
            tasks = p["ft_open"]
            if tasks < p["max_tasks"]:  # too few for the figure
                sizes = own_queries
        for shots, queries in dict.fromkeys(sizes):
            shape = {"ways": p["ways"], "shots": shots, "queries": queries}
            yield Evaluation(dataset, backbone, learner, "open", tasks, **shape, seed=p["seed"])


def _on_estimates(p: dict) -> Iterator[Evaluation]:
    """Methods, and the estimates of their accuracy, on the tasks of Tables 1, 2 and 5 of the evaluators' paper."""
    options = {name: p[name] for name in (*SHAPE, "seed", "rounds")}
    for dataset, method in product(p["datasets"], [*p["methods"], *p.get("image_methods", ())]):
        backbone, learner = method.rsplit(" ", 1)
        tasks = _tasks_of(learner, p)
        if tasks is not None:
            yield Evaluation(
                dataset, filled(backbone, dataset), learner, "re-split", tasks, **options
            )


def _on_bias(p: dict) -> Iterator[Evaluation]:
    """Learners on random tasks, and on those biased by each captioner, of FewSTAB's Tables 3, S7 and S8."""
    from .training.recipes import method, trained_with

    captioners = p.get("captioners") or [p["captioner"]]
    for dataset, training, shots in product(p["datasets"], p["learners"], (1, 5)):
        backbone, learner = method(training, trained_with(shots), p["trained"])
        tasks = _tasks_of(learner, p)
        if tasks is None:
            continue
        options = {"ways": p["ways"], "shots": shots, "queries": p["queries"], "seed": p["seed"]}
        closed = Evaluation(dataset, filled(backbone, dataset), learner, "closed", tasks, **options)
        yield closed
        for captioner in captioners:
            yield replace(closed, sampling="biased", captioner=captioner)


def _tasks_of(learner: str, p: dict) -> int | None:
    """Number of tasks; None for a learner that reads images, if its stored results are shown."""
    if learner not in IMAGE_LEARNERS:
        return p["tasks"]
    return min(p["tasks"], p["image_tasks"]) if p["image_learners"] == "run" else None


#: Of the two methods that several chapters compare (`fslbook.beyond.running_example`), whatever their parameters.
RUNNING_EXAMPLE = [
    Evaluation("fashion", "efficientnet-lite0", learner, "closed", 600) for learner in ("lr", "ncc")
]
RUNNING_EXAMPLE_IN = (
    "closed-vs-open",
    "comparing-methods",
    "three-intervals",
    "coverage",
    "training-runs",
    "leaderboards",
)

#: Chapters whose tables are based on evaluations that `fslbook.pack` can write.
EVALUATIONS: dict[str, Callable[[dict], Iterator[Evaluation]]] = {
    "closed-vs-open": _on_intervals,
    "comparing-methods": _on_intervals,
    "benchmark": _on_query_numbers,
    "estimators": _on_estimates,
    "selection": _on_estimates,
    "spurious-bias": _on_bias,
    "captioners-and-tasks": _on_bias,
}

#: By chapter and parameter with data sets, the parameters with the networks that see them, where these are not all.
NETWORKS_OF = {
    "estimators": {"datasets": ["methods", "baselines"], "sweep_dataset": ["sweep_methods"]},
    "selection": {
        "datasets": ["methods", "regularised", "tuned_method"],
        "curve_datasets": ["features"],
    },
    "three-intervals": {"datasets": ["backbones"], "drawn": ["backbones"], "scripts": ["seen_by"]},
}


def features(profile: dict[str, dict]) -> set[tuple[str, str]]:
    """The data sets of a profile's chapters, each with the backbones whose features of it are computed."""
    pairs = set()
    for chapter in profile:
        p = complete_parameters(profile, chapter)
        for dataset_parameter, network_parameters in _networks_of(chapter).items():
            networks = chain.from_iterable(_values(p[name]) for name in network_parameters)
            for dataset, network in product(_values(p[dataset_parameter]), networks):
                backbone, _, learner = network.partition(" ")
                if learner not in IMAGE_LEARNERS:
                    pairs.add((dataset, filled(backbone, dataset)))
    read = [*chain.from_iterable(evaluations(profile).values())]
    if not profile.keys().isdisjoint(RUNNING_EXAMPLE_IN):
        read += RUNNING_EXAMPLE
    for evaluation in read:
        if evaluation.learner not in IMAGE_LEARNERS:
            pairs.add((evaluation.dataset, evaluation.backbone))
    return {
        (dataset, backbone) for dataset, backbone in pairs if not dataset.startswith("features:")
    }


def _networks_of(chapter: str) -> dict[str, list[str]]:
    if chapter in NETWORKS_OF:
        return NETWORKS_OF[chapter]
    kinds = {
        parameter.name: parameter.allowed.partition(" ")[0]
        for parameter in notebooks.parameters(chapter)
    }
    networks = [name for name, kind in kinds.items() if kind in ("backbone", "method")]
    return {name: networks for name, kind in kinds.items() if kind == "dataset"}


def _values(value: str | list[str]) -> list[str]:
    """The names in a parameter; an empty text is none."""
    values = value if isinstance(value, list) else [value]
    return [name for name in values if name]
