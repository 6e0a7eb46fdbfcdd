"""What is learned from, chosen by and tested on stays apart: base, validation and novel; fit, calibration and test.

Images carry the name of their split in a pixel, and tables are changed where a result must not look: so a test sees
what was read, not only what came out.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fslbook import training
from fslbook.beyond import worst_class
from fslbook.estimation import assess, informed, resampled
from fslbook.evaluators import support_set, validation
from fslbook.training import run as loop
from fslbook.training.run import _Run
from fslcore import datasets, evaluation
from fslcore.evaluation import Outcomes
from fslcore.models.backbones import Backbone
from fslcore.tasks import sample_closed

SPLITS = ("base", "validation", "novel")
PART = {"base": slice(0, 6), "validation": slice(6, 12), "novel": slice(12, 18)}
EACH = 20  # images per class: 5 to learn from and 15 to ask
SHORT = dict(epochs=2, steps=2, lr=0.003)


def world(monkeypatch, easy: tuple[str, ...] = SPLITS):
    """Eighteen classes, six a split, each image with its number in the first pixel; noise where not easy."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (18, 8, 8, 3)).repeat(4, 1).repeat(4, 2).astype(float)
    for split in set(SPLITS) - set(easy):
        patterns[PART[split]] = 128.0
    images = (
        (patterns.repeat(EACH, 0) + rng.normal(0, 40, (18 * EACH, 32, 32, 3)))
        .clip(0, 255)
        .astype(np.uint8)
    )
    number = np.arange(len(images))
    images[:, 0, 0] = np.stack([number // 256, number % 256, 0 * number], axis=1)

    def load(name, split):
        rows = slice(EACH * PART[split].start, EACH * PART[split].stop)
        return datasets.Images(
            "small", images[rows], np.arange(6).repeat(EACH), [f"{split} {k}" for k in "abcdef"]
        )

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.setattr(loop, "VALIDATION", {"features": 30, "images": 3})
    return load


@pytest.fixture
def small(monkeypatch):
    return world(monkeypatch)


@pytest.fixture
def seen(monkeypatch):
    """While what was done: the splits of the images that any network was shown."""
    found, phase = defaultdict(set), ["prepared"]
    preprocess, batches = (
        Backbone.preprocess,
        {n: getattr(_Run, n) for n in ("train_epoch", "_validate")},
    )

    def looked(self, images):
        first = images[:, 0, 0].numpy().astype(int)
        for split, part in PART.items():
            at = first[:, 0] * 256 + first[:, 1]
            if ((at >= EACH * part.start) & (at < EACH * part.stop)).any():
                found[phase[-1]].add(split)
        return preprocess(self, images)

    def during(name):
        def call(run, *args):
            phase.append(name)
            try:
                return batches[name](run, *args)
            finally:
                phase.pop()

        return call

    monkeypatch.setattr(Backbone, "preprocess", looked)
    for name in batches:
        monkeypatch.setattr(_Run, name, during(name))
    return found


@pytest.mark.parametrize(
    "name", ["baseline", "baseline++", "protonet", "maml", "boil", "can", "beclr"]
)
def test_base_trains_validation_selects_and_novel_is_never_seen(small, seen, name):
    size = 1 if training.RECIPES[name].batch == "tasks" else 32
    run = _Run("x", replace(training.RECIPES[name], size=size, **SHORT), 0)
    run.train_epoch(False)
    assert seen == {"train_epoch": {"base"}, "_validate": {"validation"}}
    assert run.data == {split: small("", split).digest for split in ("base", "validation")}


@pytest.fixture
def drawn(monkeypatch):
    """Digests of the tasks that were drawn to train on, and to validate with."""
    found = {"train": [], "validate": []}

    def kept(labels, **shape):
        tasks = sample_closed(labels, **shape)
        if shape["tasks"] != 2:  # a check, before the work
            found["validate" if shape["tasks"] == loop.VALIDATION["features"] else "train"].append(
                tasks.digest
            )
        return tasks

    monkeypatch.setattr(loop, "sample_closed", kept)
    return found


def test_every_epoch_has_tasks_of_its_own_and_is_judged_by_the_same(small, drawn):
    for seed in (0, 1):
        run = _Run(
            "x",
            replace(training.RECIPES["protonet"], network="conv4-32", ways=2, epochs=3, steps=3),
            seed,
        )
        for _ in range(3):
            run.train_epoch(False)
    assert (
        len(drawn["train"]) == 6 == len(set(drawn["train"]))
    )  # nor do runs of other seeds share any
    assert len(drawn["validate"]) == 6 and len(set(drawn["validate"])) == 1


def test_every_epoch_goes_through_all_base_images_in_an_order_of_its_own(small, monkeypatch):
    orders = []

    def noted(run, rows):
        orders[-1].extend(rows.tolist())
        return real(run, rows)

    real = _Run._prepared
    monkeypatch.setattr(_Run, "_prepared", noted)
    for seed in (0, 1):
        run = _Run("x", replace(training.RECIPES["baseline"], epochs=2, size=30), seed)
        for _ in range(2):
            orders.append([])
            run.train_epoch(False)
    assert all(sorted(order) == list(range(6 * EACH)) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


# Episodes: what the informed estimator learns from, is calibrated with and is tested on.


def episodes(
    count: int, seed: int, classes: str = "c", split: str = "base", learner: str = "l"
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.normal(size=count) for name in informed.SIGNALS})
    table["leave-one-out"] = rng.integers(10, 25, count) / 25
    table["accuracy"] = rng.binomial(75, (0.6 + 0.1 * table["silhouette"]).clip(0.05, 0.95)) / 75
    ids = dict(
        backbone="b", learner=learner, classes=classes, split=split, block=-1, task=np.arange(count)
    )
    return table.assign(ways=5.0, shots=5.0, fewest=5.0, queries=75, **ids)


def other_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """The same episodes, whose accuracies are all others."""
    return table.assign(accuracy=np.random.default_rng(9).uniform(0.05, 0.3, len(table)))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("dataset", ["clipart", "coloured"])
def test_no_class_is_learned_from_and_tested_on(dataset, mixed):
    chosen = (
        ["efficientnet-lite0", "glyph-conv"]
        if dataset == "clipart"
        else ["conv4-baseline", "conv4-protonet"]
    )
    learning, test = validation.of_dataset(dataset, chosen, mixed)
    assert set(test["split"]) == {"novel"} and not set(learning["split"]) - {"base", "validation"}
    assert not set(learning["classes"]) & set(test["classes"])
    if len(set(learning["classes"])) > 1:
        fitting, calibration = validation.fitting_and_calibration(learning)
        assert not set(fitting["classes"]) & set(calibration["classes"])
        assert (
            len(fitting) + len(calibration) == len(learning)
            and calibration["classes"].nunique() == 1
        )


@pytest.fixture(scope="module")
def parts() -> dict[str, pd.DataFrame]:
    """Episodes of two learners, in three parts that share no class."""
    sizes = {"fitting": 120, "calibration": 80, "test": 60}
    return {
        name: pd.concat(
            [episodes(n, 7 * i + j, name, learner=lr) for j, lr in enumerate("kl")],
            ignore_index=True,
        )
        for i, (name, n) in enumerate(sizes.items())
    }


def test_no_interval_looks_at_the_outcomes_it_is_judged_by(parts):
    before = validation.interval_kinds(**parts)
    after = validation.interval_kinds(**parts | {"test": other_outcomes(parts["test"])})
    for kind, bounds in after.items():
        pd.testing.assert_frame_equal(
            bounds.drop(columns="truth"), before[kind].drop(columns="truth"), obj=kind
        )


def half_width_by_hand(model, calibration, new, one_width):
    """The conformal quantile of the errors, in units of the spread unless one width is for all."""
    error = np.abs(calibration["accuracy"] - model.predict(calibration)).to_numpy()
    place = int(np.ceil(0.9 * (len(calibration) + 1))) - 1
    if one_width:
        return np.sort(error)[place]
    return np.sort(error / model.spread(calibration))[place] * model.spread(new)


def test_an_interval_is_fitted_and_calibrated_on_different_episodes(parts):
    """By hand: a model of the one part, whose errors on the other make the width."""
    learning = pd.concat([parts["fitting"], parts["calibration"]], ignore_index=True)
    halves = dict(fitting=learning[::2], calibration=learning[1::2])
    intervals = validation.interval_kinds(**parts)
    for kind, learned in {
        "informed": parts,
        "informed, one width": parts,
        "informed, same classes": halves,
    }.items():
        model = informed.Informed(learned["fitting"], validation.pooled())
        calibration, by_hand = validation.by_method(learned["calibration"]), []
        for method, new in validation.by_method(parts["test"]).items():
            half = half_width_by_hand(model, calibration[method], new, kind.endswith("one width"))
            by_hand.append(np.clip([model.predict(new) - half, model.predict(new) + half], 0, 1))
        ends = intervals[kind][["low", "high"]].to_numpy().T
        np.testing.assert_allclose(ends, np.concatenate(by_hand, axis=1), err_msg=kind)


def test_the_folder_that_is_left_out_is_in_no_fit_and_no_calibration(monkeypatch):
    """`support_set.record` tells what an unknown data set gets: that data set must be unknown indeed."""
    table = pd.concat(
        [episodes(80, k, d).assign(domain=d, ways=5.0) for k, d in enumerate("abc")],
        ignore_index=True,
    )
    fitted, judged = [], []

    class Noted(informed.Informed):
        def __init__(self, fitting, *args, **options):
            fitted.append(set(fitting["domain"]))
            super().__init__(fitting, *args, **options)

    def noted(model, calibration, scores, new, level):
        judged.append(
            (
                set(model._fitting["domain"]),
                set(calibration["domain"]),
                len(scores),
                set(new["domain"]),
            )
        )
        return real(model, calibration, scores, new, level)

    real = assess.judge
    monkeypatch.setattr(informed, "Informed", Noted)
    monkeypatch.setattr(assess, "judge", noted)
    monkeypatch.setattr(assess, "of_method", lambda *a: table)
    coverage = support_set.record([("b", "l")])
    assert list(coverage["domain"]) == ["a", "b", "c"]
    for left_out, (fit, calibration, scores, new) in zip("abc", judged):
        assert (
            new == {left_out}
            and fit == calibration == {"a", "b", "c"} - {left_out}
            and scores == 160
        )
    # A model of the two others, and one for the scores of each of these.
    assert fitted == [
        s
        for a in "abc"
        for s in ({*"abc"} - {a}, *({c} for b in "abc" if b != a for c in {*"abc"} - {a, b}))
    ]


def test_no_task_is_in_its_own_conformal_quantile(monkeypatch):
    """The interval of a task is as wide as the errors of the others say, so its own outcome cannot widen it."""
    rng = np.random.default_rng(0)
    tasks = sample_closed(np.arange(6).repeat(20), tasks=20, queries=11, seed=0)
    right = rng.random(tasks.query.shape) < 0.7
    guess = pd.DataFrame({"5-fold": rng.uniform(0.6, 0.8, 20)})
    monkeypatch.setattr(evaluation, "load_images_or_features", lambda name: None)
    monkeypatch.setattr(evaluation, "configure", lambda source, *method: None)
    monkeypatch.setattr(resampled, "run", lambda run, tasks, names: guess)

    def widths(right):
        record = Outcomes(right, tasks.query_label)
        records = {"random": {evaluation.Method.parse("glyph-conv ncc").label: record}}
        runs = worst_class.Runs(
            np.arange(6).repeat(20), {"random": tasks}, {"random": None}, records
        )
        estimated = worst_class.estimates(runs, "d", ["glyph-conv ncc"], 20, 0.9)
        return (estimated["high"] - estimated["estimate"]).to_numpy()

    before, moved = widths(right), 0
    for task in range(20):  # all wrong: the largest error of all
        wrong = right.copy()
        wrong[task] = False
        after, others = widths(wrong), np.delete(np.arange(20), task)
        assert after[task] == before[task] and np.isfinite(after[task])
        assert (after[others] >= before[others]).all()
        moved += (after[others] > before[others]).any()
    assert moved > 10  # it does widen those of others
