"""The weight of each class in open tasks, against the sampler and the paper's own numbers of tasks."""

import numpy as np
import pandas as pd
import pytest

from fslbook.oops import class_weights
from fslbook.published import DATA, table
from fslcore.tasks import sample_open


@pytest.mark.parametrize("max_uses", [10_000, 60])
def test_expected_uses_are_those_of_the_sampler(max_uses):
    sizes = np.array([22, 45, 45, 130, 210, 400, 400, 800, 19])
    expected = class_weights.expected_uses(sizes, ways=4, images=20, max_tasks=max_uses // 4)
    labels = np.repeat(np.arange(9), sizes)
    uses = np.zeros(9)
    for seed in range(200):
        tasks = sample_open(
            labels, ways=4, shots=5, seed=seed, max_tasks=max_uses // 4, skip_small_classes=True
        )
        uses += np.bincount(labels[tasks.query[:, ::15]].ravel(), minlength=9) / 200
    assert uses[:8] == pytest.approx(expected, abs=0.7)
    assert uses[8] == 0
    assert expected.sum() == pytest.approx(min(max_uses, expected.sum()))


def test_class_sizes_give_the_papers_numbers_of_tasks():
    """Except for MSCOCO at 10 shots, of which the paper used a part."""
    printed = pd.read_csv(DATA / "published" / "oops_n_tasks.csv")
    sizes = class_weights.class_sizes()
    assert set(sizes) == set(printed["dataset"])
    for row in printed.itertuples():
        uses = class_weights.expected_uses(
            sizes[row.dataset], ways=5, images=row.shots + row.queries, max_tasks=2000
        )
        close = abs(uses.sum() / 5 - row.n_tasks) <= max(5, 0.03 * row.n_tasks)
        assert close == ((row.dataset, row.shots) != ("mscoco", 10)), row
    images = table(2).drop_duplicates("dataset").set_index("dataset")["n_images"]
    complete = {name: counts.sum() == images[name] for name, counts in sizes.items()}
    assert [name for name, equal in complete.items() if not equal] == [
        "fungi",
        "traffic-signs",
        "mscoco",
    ]


def test_balanced_intervals_contain_the_mean_of_equal_weights_and_the_usual_ones_do_not(
    monkeypatch,
):
    chosen = {
        name: class_weights.class_sizes()[name] for name in ("dtd", "vgg-flower", "traffic-signs")
    }
    monkeypatch.setattr(class_weights, "class_sizes", lambda: chosen)
    shape = dict(ways=5, shots=5, queries=15, max_tasks=2000, level=0.95, seed=0)
    shares = class_weights.coverage(**shape, test_sets=60).set_index(["dataset", "drawn"])
    assert ("DTD", "by size") not in shares.index  # all classes are of one size
    assert shares.loc[("Traffic Signs", "by size"), "share"] < 60
    assert shares.loc[(slice(None), "balanced"), "share"].min() > 90
    assert shares.loc[("Traffic Signs", "balanced"), "tasks"] == 86
    weights = class_weights.paper_weights(ways=5, images=20, max_tasks=2000)
    assert weights.groupby("dataset")["weight"].mean().to_numpy() == pytest.approx(1)


def test_nothing_is_shown_of_data_sets_without_enough_images():
    weights = class_weights.paper_weights(ways=5, images=600, max_tasks=2000)
    assert set(weights["dataset"]) == {"Traffic Signs", "MSCOCO", "Quickdraw"}
    assert not len(
        class_weights.coverage(
            ways=50, shots=300, queries=400, max_tasks=9, level=0.9, test_sets=2, seed=0
        )
    )
