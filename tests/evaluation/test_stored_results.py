"""Stored results (``data/results``): every file is one the script would write, and a random part of
some comes out again.

The inputs of every file are compared by their digests: images, weights, learner and tasks. Its
answers are made again for one data set and number of shots of each kind of file, since the others go
through the same code. Which of them and which part changes by the day; ``FSLCORE_PART`` gives the number
that a failure names, to see it again. Where machine, threads and PyTorch are those that made a
file, its part must be exactly equal. Elsewhere sums round differently, and after steps of gradient descent some
answers fall the other
way: then few may differ, so few that hardly another task of the file would pass for it.
"""

import datetime
import functools
import os
import re

import numpy as np
import pandas as pd
import pytest
import torch

from fslcore import evaluation
from fslcore.evaluation import cache
from fslcore.models import backbones
from fslcore.paths import DATA
from tests.checkout import build_script

FILES = sorted((DATA / "results").glob("*.npz"))
PART = int(os.environ.get("FSLCORE_PART", datetime.date.today().toordinal()))
ASKED = 15  # queries at least, of as many tasks as hold them: re-splits of a task have few
# Share of the answers that another machine may give otherwise: of MAML's after 10 steps up to 4 of
# 75 were
OFF = 0.07
ALIKE = 0.02  # share of the other tasks that may be so near

pytestmark = pytest.mark.skipif(not FILES, reason="no results under data/results")


def stems(pattern: str) -> list[str]:
    return sorted(path.stem for path in (DATA / "results").glob(pattern))


# What the script makes together, by the learner that takes the time.
PARTS = {
    "glyph-conv": ("of_finetuning", stems("*.glyph-conv.ft.*")),
    "efficientnet closed": ("of_finetuning", stems("*.efficientnet-lite0.ft.closed*")),
    "efficientnet open": ("of_finetuning", stems("*.efficientnet-lite0.ft.open.npz")),
    "efficientnet benchmark": ("of_finetuning", stems("*.efficientnet-lite0.ft.open.*-shot*")),
    "maml": ("of_estimators", stems("*maml*")),
    "boil": ("on_biased_tasks", stems("*boil*")),
}


@pytest.fixture(scope="module")
def script():
    return build_script("results")


@pytest.fixture(scope="module")
def made_by(script):
    """What a function of the script makes, in a list: several parts are of one, and to draw all
    tasks takes seconds.
    """
    from fslbook import notebooks
    from fslbook.paths import PROFILES

    profile = notebooks.profile(PROFILES / "quick.yml")
    return functools.cache(lambda name: list(getattr(script, name)(profile)))


def exact(provenance: dict, script) -> bool:
    """Whether this machine is of the kind that provenance a file; the first files do not say."""
    made_on = provenance.get("machine"), provenance["versions"]["torch"], provenance["device"]
    return made_on == (script.machine(), torch.__version__, str(backbones.device()))


def chosen(correct: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """Places of tasks that follow each other and hold `ASKED` queries; share of the others that
    would pass for them.

    A random one of those for which few would: where a learner is nearly always right, most tasks
    look passing.
    """
    size = min(-(-ASKED // correct.shape[1]), len(correct))
    starts = np.arange(0, len(correct) - size + 1, size)
    blocks = np.stack([correct[at : at + size].ravel() for at in starts])
    passing = np.array(
        [((blocks != block).mean(axis=1) <= OFF).sum() - 1 for block in blocks]
    ) / max(len(starts) - 1, 1)
    at = np.random.default_rng(seed).choice(np.flatnonzero(passing <= max(ALIKE, passing.min())))
    return starts[at] + np.arange(size), passing[at]


def due(part: str, names: list[str]) -> set[str]:
    """Of these files, those whose answers are made again today: of each kind one."""
    kinds = [re.sub(r"\.\d+-shot$", "", name.partition(".")[2]) for name in names]
    kinds = pd.Series(names).groupby(kinds)
    first = [*PARTS].index(part)
    return {
        of_kind[(PART + number) % len(of_kind)]
        for number, of_kind in enumerate(kinds.agg(list), first)
    }


def test_every_file_belongs_to_a_part():
    assert sorted(name for _, names in PARTS.values() for name in names) == sorted(
        path.stem for path in FILES
    )


def check_stored(name, run, tasks, facts, script):
    """The shipped record of a file, if it is found under its key and says how it was made."""
    shipped, provenance = evaluation.Outcomes.load(DATA / "results" / f"{name}.npz")
    inputs = run.source, run.backbone, run.learner
    record, key = evaluation.cached_outcomes(*inputs, tasks, stored=True)
    assert key == provenance["key"] and (record.correct == shipped.correct).all()
    assert provenance["blocks"] == script.blocks(inputs, tasks)
    if provenance["blocks"]:  # fewer tasks, or more, are given the first of them
        for first_tasks in (tasks[: cache.BLOCK], tasks[: len(tasks) - 1]):
            record, _ = evaluation.cached_outcomes(*inputs, first_tasks, stored=True)
            size = len(first_tasks) // cache.BLOCK * cache.BLOCK
            assert (record.correct == shipped.correct[:size]).all() and len(
                record.correct
            ) == size > 0
    digests = {
        "images": run.source.digest,
        "weights": run.backbone.weights,
        "tasks_digest": tasks.digest,
    }
    named = {"dataset": run.source.name, "backbone": run.backbone.name, "learner": run.learner.name}
    assert {**facts, **digests, **named, "tasks": len(tasks)}.items() <= provenance.items()
    assert (shipped.query_label == tasks.query_label).all()
    return shipped, provenance


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_random_part_of_each_kind_of_file_comes_out_again(part, script, made_by, bank_of):
    function, names = PARTS[part]
    compared = []
    wrong = []
    for name, run, tasks, facts in made_by(function):
        name = name.replace("/", "-")
        if name not in names:
            assert (DATA / "results" / f"{name}.npz").is_file(), f"{name}: missing"
            continue
        compared.append(name)
        tasks = tasks[: len(evaluation.Outcomes.load(DATA / "results" / f"{name}.npz")[0].correct)]
        shipped, provenance = check_stored(name, run, tasks, facts, script)
        if name not in due(part, names):
            continue
        places, _ = chosen(shipped.correct, PART + len(name))
        computed = evaluation.evaluate(
            run.learner, bank_of(run.source, tasks[places]), tasks[places]
        )
        share = (computed.correct != shipped.correct[places]).mean()
        if share > (0 if exact(provenance, script) else OFF):
            answers = f"answers of tasks {places[0]} to {places[-1]}"
            wrong.append(f"{name}: {100 * share:.0f} % of the {answers} differ")
    assert compared and sorted(compared) == names
    assert not wrong, f"FSLCORE_PART={PART}: " + "; ".join(wrong)


@pytest.mark.slow
def test_tasks_in_another_order_would_be_seen():
    """The tolerance elsewhere: of a file with its tasks shuffled, hardly any part would pass."""
    passed = {
        path.stem: chosen(evaluation.Outcomes.load(path)[0].correct, PART)[1] for path in FILES
    }
    assert max(passed.values()) <= 0.05 and np.mean([*passed.values()]) < 0.005, sorted(
        passed, key=passed.get
    )[-5:]
