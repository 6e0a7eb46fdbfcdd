"""The evaluations and features of a profile, counted by hand."""

from collections import Counter

import pytest

from fslbook import notebooks
from fslbook.evaluations import NETWORKS_OF, Evaluation, evaluations, features, without_repeats

SETTINGS = dict(
    datasets=["clipart"],
    backbones=["efficientnet-lite0"],
    learners=["ncc", "ft"],
    ft_tasks=100,
    ft_open=3,
)


def test_fine_tuning_is_evaluated_on_its_own_numbers_of_tasks_if_it_is_run():
    chapter = "closed-vs-open"
    run = evaluations({chapter: SETTINGS | {"fine_tuning": "run"}})[chapter]
    assert [(e.learner, e.sampling, e.tasks) for e in run] == [
        ("ncc", "closed", 600),
        ("ncc", "open", None),
        ("ft", "closed", 100),
        ("ft", "open", 3),
    ]
    stored = evaluations({chapter: SETTINGS | {"fine_tuning": "stored"}})[chapter]
    assert stored == run[:2]


def test_chapters_of_the_running_example_read_its_features_whatever_their_data_sets():
    settings = {"datasets": ["clipart"], "backbones": ["glyph-conv"]}
    example = ("fashion", "efficientnet-lite0")
    assert example in features({"closed-vs-open": settings})
    assert example in features({"leaderboards": {}})
    assert example not in features({"benchmark": settings})


def test_of_repeated_evaluations_the_one_with_the_most_tasks_stays():
    few, many, all_of_them = (
        Evaluation("clipart", "clip", "lr", "open", tasks) for tasks in (3, 700, None)
    )
    closed = Evaluation("clipart", "clip", "lr", "closed", 5)
    assert without_repeats([few, closed, many]) == [many, closed]
    assert without_repeats([all_of_them, few]) == [all_of_them]


@pytest.mark.parametrize("ft_open, number", [(60, 2), (2000, 4)])
def test_the_usual_queries_are_evaluated_with_fine_tuning_where_it_has_enough_tasks(
    ft_open, number
):
    sizes = {"shots": [1, 5], "queries": [1, 5], "usual_queries": 15, "max_tasks": 2000}
    settings = SETTINGS | sizes | {"fine_tuning": "run", "ft_open": ft_open}
    del settings["ft_tasks"]
    counts = Counter(e.learner for e in evaluations({"benchmark": settings})["benchmark"])
    assert counts == {"ncc": 4, "ft": number}


def test_image_learners_run_on_the_smaller_number_of_tasks_or_not_at_all():
    settings = {"datasets": ["icons"], "learners": ["boil"], "tasks": 300, "image_tasks": 60}
    run = evaluations(
        {"spurious-bias": settings | {"image_learners": "run", "captioner": "pixels"}}
    )["spurious-bias"]
    assert {(e.backbone, e.sampling, e.tasks) for e in run} == {
        (f"conv4-icons-{shots}boil", sampling, 60)
        for shots in ("", "1shot-")
        for sampling in ("closed", "biased")
    }
    assert not evaluations({"spurious-bias": settings | {"image_learners": "stored"}})[
        "spurious-bias"
    ]


def test_data_sets_meet_the_networks_of_their_own_figures_only():
    pairs = features(notebooks.profile("evaluators.yml", absent=True))
    assert {("eurosat", "clip-b32"), ("cifar-fs", "trained:evaluators/cifar-fs/protonet")} <= pairs
    assert (
        not {("cifar-fs", "clip-b32"), ("eurosat", "trained:evaluators/eurosat/protonet")} & pairs
    )
    assert len(pairs) == 5 * 4 + 3
    pairs = features(notebooks.profile("fewstab.yml", absent=True))
    assert ("cub?splits=fewstab", "trained:fewstab/cub-splits-fewstab/1shot-dn4") in pairs
    assert len(pairs) == 3 * (
        7 * 2 + 2
    )  # networks of 1 and of 5 shots, and two that are trained on batches


def test_the_parameters_of_networks_are_those_of_the_chapters():
    for chapter, networks_of in NETWORKS_OF.items():
        kinds = {
            parameter.name: parameter.allowed.partition(" ")[0]
            for parameter in notebooks.parameters(chapter)
        }
        used = {*networks_of, *(name for names in networks_of.values() for name in names)}
        assert used <= kinds.keys()
        assert {
            name for name, kind in kinds.items() if kind in ("dataset", "backbone", "method")
        } - used <= {"image_methods"}
