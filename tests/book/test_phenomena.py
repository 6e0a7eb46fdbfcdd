"""What the chapters say must hold on the book's own data, whatever the digits."""

import re

import numpy as np
import pytest

from fslbook.oops import benchmark
from fslcore import evaluation, stats
from fslcore.paths import DATA


@pytest.fixture(scope="module")
def results(shared_cache):
    shape = dict(ways=5, shots=5, queries=15, seed=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(shared_cache))
        return {
            dataset: benchmark.collect(
                [dataset],
                ["glyph-conv"],
                ["ncc", "lr", "ft"],
                tasks=600,
                ft_tasks=600,
                fine_tuning="stored",
                **shape,
            )
            for dataset in ("clipart", "glyphs/latin")
        }


@pytest.mark.slow
def test_open_is_far_wider_on_small_data_and_level_where_the_line_says(results):
    ratio = {}
    for dataset, table in results.items():
        intervals = benchmark.intervals(table[table["learner"] != "ft"])
        ratio[dataset] = benchmark.width_ratios(intervals)["ratio"]
    assert (ratio["clipart"] > 5).all()
    assert ratio["glyphs/latin"].between(0.8, 1.2).all()  # √(600 · 100 / 69,580) = 0.93


@pytest.mark.slow
def test_pairing_narrows_the_interval_of_every_pair_of_learners(results):
    methods = benchmark.methods(results["glyphs/latin"], "glyphs/latin", "open")
    assert len(methods) == 3
    names = list(methods)
    for i in range(3):
        for j in range(i):
            n = min(len(methods[names[i]]), len(methods[names[j]]))
            a, b = methods[names[i]][:n], methods[names[j]][:n]
            assert np.corrcoef(a, b)[0, 1] > 0.5
            assert stats.paired_interval(a, b).half_width < stats.open_task_interval(a).half_width


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, learner", [("baseline", "lr"), ("protonet", "protonet"), ("r2d2", "r2d2")]
)
def test_trained_learners_are_as_good_as_their_card_says(name, learner):
    card = (DATA / "checkpoints" / "README.md").read_text()
    header, row = (
        re.search(rf"\| {start}.*", card)[0].split("|")
        for start in ("checkpoint", f"`conv4-{name}.s")
    )
    (stated,) = (cell for title, cell in zip(header, row) if title.strip() == "clip art")
    result = evaluation.evaluate_setting("clipart", f"conv4-{name}", learner, tasks=600)
    assert result.accuracy.mean() == pytest.approx(float(stated.split("±")[0]), abs=0.1)
