import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from refusal import refuses
from torch.nn import functional as F

from fslbook import cli
from fslbook.estimation import assess, calibration, informed
from fslbook.estimation.resampled import ESTIMATORS
from fslbook.evaluators import support_set
from fslcore import datasets
from fslcore.datasets.bank import Bank
from fslcore.models import backbones

METHOD = [("glyph-conv", "ncc")]


def folder_of(path: Path, counts: list[int]) -> Path:
    """Class folders with so many images each, of embedded clip art."""
    images = datasets.load("clipart")
    for k, n in enumerate(counts):
        (path / f"class{k}").mkdir(parents=True)
        for i, image in enumerate(images.images[np.flatnonzero(images.labels == k)[:n]]):
            Image.fromarray(image).save(path / f"class{k}" / f"{i}.png")
    return path


def copies_of(path: Path, shots: int, seed: int) -> Path:
    """Class folders of near-identical photos: one image of a class, a little brighter or darker and noisy."""
    images, rng = datasets.load("clipart"), np.random.default_rng(seed)
    for k in range(5):
        (path / f"class{k}").mkdir(parents=True)
        photo = images.images[np.flatnonzero(images.labels == k)[:1]][0].astype(float)
        for i in range(shots):
            copy = photo * rng.uniform(0.97, 1.03) + 2 * rng.normal(size=photo.shape)
            Image.fromarray(copy.clip(0, 255).astype(np.uint8)).save(
                path / f"class{k}" / f"{i}.png"
            )
    return path


def fake(kind: str, seed: int) -> Bank:
    """Features of a support, 2 to 20 classes of 1 to 20 images."""
    rng = np.random.default_rng(seed)
    ways, largest = int(rng.integers(2, 21)), int(rng.integers(1, 21))
    counts = (
        np.full(ways, largest) if seed % 2 else rng.integers(min(2, largest), largest + 1, ways)
    )
    labels = np.repeat(np.arange(ways), counts)
    means, spread = rng.normal(size=(ways, 64)), 1.0
    if kind in ("images alike", "all equal", "one class far"):
        spread = {"images alike": 10 ** rng.uniform(-7, -1), "all equal": 0, "one class far": 0.5}[
            kind
        ]
    if kind in ("classes alike", "all equal"):
        means[:] = means[0]
    if kind == "one class far":
        means[1:] = means[1] + 0.1 * means[1:]
    return Bank(
        torch.from_numpy(means[labels] + spread * rng.normal(size=(len(labels), 64))).float(),
        labels,
        "fake",
    )


@pytest.mark.parametrize("counts", [[5, 5, 5], [2, 2], [2, 4, 7, 3], [1, 1], [1, 5, 5]], ids=str)
def test_any_support_gets_an_estimate_inside_its_interval(tmp_path, counts):
    images = assess.load(folder_of(tmp_path / "mine", counts))
    table = assess.assess(images, METHOD)
    row = table.iloc[0]
    assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    alone = min(counts) == 1
    assert np.isnan(row["5-fold"]) == alone and row["basis"] == ("shape" if alone else "informed")
    lines = assess.cautions(images, table)
    assert any("One image only: class0" in line for line in lines) == alone
    assert not any(
        "hardly a draw" in line for line in lines
    )  # of a class of one image that is not the reason
    json.dumps(assess.as_json(images, table), allow_nan=False)


def test_classes_so_many_that_no_draw_holds_them_all_are_judged_by_their_shape():
    rng = np.random.default_rng(0)
    labels = np.arange(40).repeat(2)
    pixels = rng.integers(0, 256, (80, 8, 8, 3), dtype=np.uint8)
    images = datasets.Images("mine", pixels, labels, [f"class {k}" for k in range(40)])
    bank = Bank(torch.from_numpy(rng.normal(size=(80, 512))).float(), labels, "fake")
    table = pd.DataFrame([assess.assess_bank(bank, *METHOD[0])])
    row = table.iloc[0]
    assert row["basis"] == "shape" and not np.isnan(row["5-fold"])
    assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    lines = [
        line for line in assess.cautions(images, table) if "hardly a draw of the bootstrap" in line
    ]
    assert len(lines) == 1 and lines[0].startswith("With 40 classes and 2 images of each, ")


@pytest.mark.parametrize("shots", [2, 10])
def test_what_is_easy_is_told_as_easy(tmp_path, shots):
    support, fresh = (
        assess.load(copies_of(tmp_path / n, *sizes))
        for n, sizes in (("a", (shots, 0)), ("b", (15, 1)))
    )
    chosen = calibration.methods(["glyph-conv"])
    table = assess.assess(support, chosen)
    assert (table["basis"] == ("5-fold" if shots == 10 else "bootstrap")).all()
    for row in table.merge(support_set.truth(support, fresh, chosen)).itertuples():
        assert row.truth == 1 and row.high == 1
        if shots == 10 or row.learner == "ncc":  # logistic regression on one image is off by more
            assert row.estimate >= 0.98 and row.low >= 0.6
    text = " ".join(assess.summary(support, table))
    assert (
        "Outside the calibrated range, glyph-conv" in text
        and "more similar than in any task" in text
    )


@pytest.mark.parametrize(
    "kind", ["usual", "images alike", "all equal", "classes alike", "one class far"]
)
def test_no_support_is_judged_beyond_what_is_known(kind):
    for seed in range(6):
        bank = fake(kind, seed)
        chance = 1 / (bank.labels.max() + 1)
        rows = [assess.assess_bank(bank, *METHOD[0], level) for level in (0.5, 0.9, 0.999999)]
        for row in rows:
            assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
            assert row["estimate"] >= chance - 1e-9
        for narrow, wide in itertools.pairwise(rows):
            assert wide["low"] <= narrow["low"] and narrow["high"] <= wide["high"]
        if row["5-fold"] == 1:
            assert row["estimate"] >= 0.85
        if kind in ("all equal", "classes alike"):  # and a guess is not ruled out
            assert rows[1]["low"] <= chance + 1e-9


def test_no_signal_alone_pulls_the_estimate_away():
    """Episodes where all classical estimators agree, with every other signal far off in turn."""
    model, table, scores = assess._calibration(*METHOD[0], informed.SIGNALS)
    others = sorted(set(informed.SIGNALS) - set(ESTIMATORS) - set(informed.SHAPE))
    for share in (0.5, 1.0):
        agreed = (table[list(ESTIMATORS)] - share).abs().max(axis=1) < 0.04
        task = table[agreed].sort_values("shots").tail(1)
        away = [
            task.assign(**{name: float(value)})
            for name in others
            for value in (-1e6, -3, 0, 3, 10, 1e9)
        ]
        judged = assess.judge(model, table, scores, pd.concat(away, ignore_index=True), 0.9)
        assert (judged["estimate"] - share).abs().max() < 0.3
        assert len(set(judged["basis"])) == 2  # inside it is held, outside not asked


def test_all_between_the_classical_estimates_is_allowed_and_no_accuracy_that_was_never_seen():
    model, table, scores = assess._calibration("efficientnet-lite0", "lr", informed.SIGNALS)
    few = {"ways": 5, "shots": 2, "fewest": 2}  # where the classical estimators are always too low
    calibrated = assess._near(table, scores, few, model.columns, 0.9)
    assert calibrated["below"] <= 0 < calibrated["above"]
    bare = assess._near(table, scores, few, list(informed.SHAPE), 0.9)
    assert table["accuracy"].min() < bare["below"] < bare["above"] <= table["accuracy"].max()


@pytest.mark.parametrize(
    "shots, basis, learner", [(3, "bootstrap", "ncc"), (2, "bootstrap", "lr"), (5, "5-fold", "lr")]
)
def test_the_interval_of_a_moved_estimate_holds_its_share_of_each_data_set(shots, basis, learner):
    model, table, scores = assess._calibration("efficientnet-lite0", learner, informed.SIGNALS)
    shape = {"ways": 5, "shots": shots, "fewest": shots}
    calibrated = assess._near(table, scores, shape, model.columns, 0.9)
    like = (
        table.loc[assess.nearest(table, shape, len(table))]
        .groupby("domain", observed=True)
        .head(assess.LIKE)
    )
    off = like["accuracy"] - like[basis]
    assert (
        calibrated["basis"] == basis
        and calibrated["shift"] == pytest.approx(off.median())
        and off.median() > 0.03
    )
    moved = (like[basis] + off.median()).clip(1 / like["ways"], 1)
    held = (
        ((like["accuracy"] - moved).abs() <= calibrated["half"] + 1e-12)
        .groupby(like["domain"], observed=True)
        .mean()
    )
    assert 0.9 <= held.min() < 0.93  # no wider than the data set needs that is the farthest off


def test_a_guess_is_what_lies_within_a_standard_error_and_two_thirds_of_chance():
    model, table, scores = assess._calibration(*METHOD[0], informed.SIGNALS)
    shape = {"ways": 4, "shots": 6, "fewest": 6}
    shift = assess._near(table, scores, shape, model.columns, 0.9)["shift"]
    limit = 0.25 + 1.64 * np.sqrt(0.25 * 0.75 / 24) - shift
    tasks = pd.concat([table.iloc[:1].assign(**shape)] * 2, ignore_index=True)
    tasks["5-fold"] = [limit - 1e-6, limit + 1e-6]
    assert assess.judge(model, table, scores, tasks, 0.9)["guess"].tolist() == [True, False]


def test_a_level_that_no_episodes_vouch_for_is_told(tmp_path):
    images = assess.load(folder_of(tmp_path / "mine", [3, 3, 3]))
    table = assess.assess(images, METHOD, 0.999999)
    assert table[["low", "high"]].iloc[0].tolist() == [0, 1]
    assert any(
        "1500 tasks are too few for 99.9999 %" in line
        for line in assess.cautions(images, table, 0.999999)
    )
    moved = table.assign(outside="ratio: 1e6", basis="5-fold")
    assert any(
        "100 tasks are too few for 99.5 %" in line for line in assess.cautions(images, moved, 0.995)
    )
    assert not any("vouch" in line for line in assess.cautions(images, table, 0.995))
    for level in (0, 1, np.nan, "0.9"):
        with refuses("level must .* 0 and 1", f"got {level!r}"):
            assess.assess(images, METHOD, level)


def test_an_example_keeps_all_other_images_of_its_classes_for_the_truth():
    images = datasets.load("clipart")
    support, others = support_set.example("clipart", ways=4, shots=3, seed=1)
    assert (
        support.class_names == others.class_names
        and np.bincount(support.labels).tolist() == [3] * 4
    )
    for k, name in enumerate(support.class_names):
        parts = np.concatenate([part.images[part.labels == k] for part in (support, others)])
        everything = images.images[images.labels == images.class_names.index(name)]
        assert sorted(map(bytes, parts)) == sorted(map(bytes, everything))

    # The centroids of the support, by hand.
    network = backbones.load("glyph-conv")
    x, query = (
        F.normalize(backbones.features(part, network).data, dim=1) for part in (support, others)
    )
    centroid = torch.stack([x[support.labels == k].mean(dim=0) for k in range(4)])
    right = (query @ F.normalize(centroid, dim=1).T).argmax(dim=1).numpy() == others.labels
    truth = np.mean([right[others.labels == k].mean() for k in range(4)])
    assert support_set.truth(support, others, METHOD)["truth"].item() == pytest.approx(
        truth, abs=0.005
    )


@pytest.mark.slow
def test_json_is_strict_and_whole(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folder_of(tmp_path / "mine", [1, 4, 3])
    assert cli.main(["assess", str(folder), "--backbone", "glyph-conv", "--json"]) == 0
    record = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (
        record["images"] == {"class0": 1, "class1": 4, "class2": 3}
        and record["report"] == "mine.html"
    )
    assert {row["learner"] for row in record["methods"]} == {"ncc", "lr"}
    for row in record["methods"]:
        assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
        assert (
            row["five_fold"] is None and row["basis"] == "shape" and row["backbone"] == "glyph-conv"
        )
    assert any("One image only" in line for line in record["cautions"])
    assert "whatever their images" in Path("mine.html").read_text()
