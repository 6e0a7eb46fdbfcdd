"""Training by recipe, on a set small enough to learn in seconds."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from refusal import refuses, warned
from safetensors import safe_open

from fslbook import training
from fslbook.training import augment, run as loop
from fslbook.training.recipes import Recipe
from fslbook.training.run import _divergence, _logits_of_all, _Run
from fslbook.training.schedule import OPTIMISERS, SCHEDULES
from fslcore import datasets, evaluation, learners
from fslcore.models import backbones
from fslcore.models.networks import import_torchvision
from fslcore.tasks import sample_closed

SHORT = dict(epochs=2, steps=8, lr=0.003)
OTHER = []
TINY = dict(steps=1, architecture={"widths": [4, 4, 4, 4]})  # where nothing has to be learned


def run_of(name, seed=0, progress=False, **changes):
    """A training by a changed recipe, before its first epoch."""
    return _Run("x", replace(training.RECIPES[name], **changes), seed, progress)


def trained(name, **changes):
    """A training after its first epoch."""
    run = run_of(name, **changes)
    run.train_epoch(False)
    return run


def rates_of(run):
    """The learning rate of each step, and the optimiser's settings."""
    (group,) = run.optimiser.param_groups
    rates = []
    for _ in range(run.recipe.epochs * run.steps):
        rates.append(group["lr"])
        run.optimiser.step(), run.schedule.step()
    return np.array(rates), group


def other(tmp_path):
    """A backbone to start from or to learn from, trained on the small set, once for all tests."""
    path = tmp_path / "other.safetensors"
    if not OTHER:
        training.train("baseline", path, progress=False, size=32, **SHORT)
        OTHER.append(path.read_bytes())
    path.write_bytes(OTHER[0])
    return f"conv4-baseline:{path}"


def accuracy_of(network, learner, images):
    """Mean accuracy on 20 tasks."""
    backbone = backbones.load(network)
    tasks = sample_closed(images.labels, tasks=20, queries=5)
    return (
        evaluation.cached_outcomes(images, backbone, learners.make(learner, backbone), tasks)[0]
        .accuracy()
        .mean()
    )


def recipe_and_data(path):
    """What a checkpoint says of its training, under one key: of several the order is chance, and equal runs differ."""
    with safe_open(path, "pt") as file:
        (text,) = file.metadata().values()
    return json.loads(text)


# Of each way to train one or two: on batches, tasks and views, on a frozen network, from a teacher, on base classes.
# `test_training_runs_there` of tests/models/test_devices.py trains a step of every recipe, and loads the file.
KINDS = "baseline protonet can leo rfs unisiam psco beclr mtl-ifsl".split()


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_learner_of_each_kind_learns_and_loads(small, tmp_path, name):
    recipe = training.RECIPES[name]
    networks = {field: other(tmp_path) for field in ("frozen", "teacher") if getattr(recipe, field)}
    changes = SHORT | networks | {"size": 1 if recipe.batch == "tasks" else 32}
    if name == "leo":
        changes |= {"steps": 40, "lr": 0.001}  # at 0.003 the loss diverges on some processors
    path = training.train(name, tmp_path / f"conv4-{name}.safetensors", progress=False, **changes)
    assert (
        accuracy_of(f"conv4-{name}:{path}", recipe.learner, small("coloured", "validation")) > 0.5
    )  # chance is 0.2
    curve = pd.read_csv(path.with_suffix(".csv"))
    assert list(curve) == ["epoch", "loss", "validation"] and len(curve) == 2
    metadata = recipe_and_data(path)
    assert {"learner": recipe.learner, **networks}.items() <= metadata["recipe"].items()
    digests = {split: small("", split).digest for split in ("base", "validation")}
    assert metadata["data"] == digests | {
        field: backbones.load(name).weights for field, name in networks.items()
    }


@pytest.mark.slow
def test_an_auxiliary_loss_trains_and_leaves_no_head(small, tmp_path):
    short = SHORT | {"steps": 2}
    without, extra = (trained("can", **short, auxiliary=a) for a in (0.0, 1.0))
    assert without.head is None and extra.head.weight.shape == (
        6,
        64,
    )  # a class for each base class, not each way
    assert extra.head.weight.grad.abs().max() > 0
    assert extra.curve[0]["loss"] > without.curve[0]["loss"] + 0.5
    assert extra.kept.keys() == without.kept.keys()  # thrown away
    with refuses("auxiliary .* 0 for maml.*got 1.0"):
        training.train("maml", tmp_path / "m.safetensors", auxiliary=1.0)


@pytest.mark.slow
def test_same_seed_same_weights_and_a_stopped_run_goes_on_to_them(small, tmp_path, monkeypatch):
    def made(file, seed=0):
        options = dict(TINY, epochs=2, seed=seed, progress=False)
        path = training.train("r2d2", tmp_path / file, **options)
        return path.read_bytes(), path.with_suffix(
            ".csv"
        ).read_bytes()  # the best epoch may be the first: so each loss

    first = made("a.safetensors")
    assert made("b.safetensors") == first != made("c.safetensors", seed=1)

    real, calls = _Run.train_epoch, []

    def stopped(run, progress):
        if calls:
            raise KeyboardInterrupt
        calls.append(run.epoch)
        real(run, progress)

    with monkeypatch.context() as patch:
        patch.setattr(_Run, "train_epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            made("d.safetensors")
    assert not (tmp_path / "d.safetensors").exists()  # nothing that looks whole
    monkeypatch.setattr(
        _Run, "train_epoch", lambda run, progress: (calls.append(run.epoch), real(run, progress))
    )
    assert made("d.safetensors") == first and calls == [0, 1]
    assert sorted(p.name for p in tmp_path.glob(".*")) == []  # what it went on from is gone


def test_a_stopped_run_of_other_settings_starts_anew(small, tmp_path):
    trained("protonet", **SHORT).save(tmp_path / "state")
    for seed, epoch in ((0, 1), (1, 0)):
        run = run_of("protonet", seed, **SHORT)
        run.resume(tmp_path / "state")
        assert run.epoch == epoch


def test_a_frozen_network_stays_and_a_stopped_run_goes_on(small, tmp_path):
    settings = SHORT | dict(frozen=other(tmp_path), options={"latent": 8})
    unstopped = training.train("leo", tmp_path / "whole.safetensors", progress=False, **settings)
    trained("leo", **settings).save(tmp_path / ".cut.training")
    cut = training.train("leo", tmp_path / "cut.safetensors", progress=False, **settings)
    assert cut.read_bytes() == unstopped.read_bytes()
    with (
        safe_open(unstopped, "pt") as file,
        safe_open(tmp_path / "other.safetensors", "pt") as start,
    ):
        names = [name for name in file.keys() if name.startswith("network.")]  # noqa: SIM118
        assert names and all(
            (file.get_tensor(name) == start.get_tensor(name)).all() for name in names
        )
        assert file.get_tensor("head.encoder.weight").shape == (8, 256)
    with refuses("network", "resnet18", "conv4-baseline:"):
        training.train(
            "leo", tmp_path / "r.safetensors", network="resnet18", progress=False, **settings
        )


RESTS_ON = {
    name: field
    for name, r in training.RECIPES.items()
    for field in ("frozen", "teacher")
    if getattr(r, field)
}


@pytest.mark.parametrize("name", RESTS_ON)
@pytest.mark.parametrize("dataset", ["folder:{}", "clipart", "glyphs/greek"])
def test_on_other_data_the_network_that_a_recipe_rests_on_must_be_given(
    name, dataset, tmp_path, monkeypatch
):
    monkeypatch.setattr(loop, "_Run", None)
    field, dataset = RESTS_ON[name], dataset.format(tmp_path)
    message = f"{field}: {name} .* conv4-baseline, was trained on coloured, not on {dataset}; give --{field} .*:FILE"
    with refuses(message):
        training.train(name, tmp_path / "x.safetensors", dataset=dataset)
    for backbone in ("conv4-baseline", ""):
        if backbone or field == "teacher":
            with pytest.raises(
                TypeError, match="'NoneType' object is not callable"
            ):  # the work begins
                training.train(
                    name, tmp_path / "x.safetensors", dataset=dataset, **{field: backbone}
                )


def test_a_teachers_answers_are_learned(small, tmp_path):
    """The divergence vanishes where student and teacher agree, and its head knows the base classes."""
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    assert float(_divergence(logits + 1, logits, 4.0)) == pytest.approx(
        0, abs=1e-5
    )  # a softmax ignores a shift
    p, q = (torch.softmax(v / 4, 1) for v in (logits.roll(1, 0), logits))
    by_hand = 4**2 * (p * (p / q).log()).sum(1).mean()
    assert float(_divergence(logits, logits.roll(1, 0), 4.0)) == pytest.approx(
        float(by_hand), rel=1e-4
    )
    base = small("", "base")
    bank = backbones.features(base, backbones.load(other(tmp_path)))
    answers = _logits_of_all(bank, 6, 0)
    assert (answers.argmax(1).numpy() == base.labels).mean() > 0.8
    assert (_logits_of_all(bank, 6, 0) == answers).all()


def test_the_best_epoch_is_kept(small, tmp_path, monkeypatch):
    accuracy = iter([0.4, 0.9, 0.6])
    runs = []
    monkeypatch.setattr(_Run, "_validate", lambda run: runs.append(run) or next(accuracy))
    path = training.train("protonet", tmp_path / "p.safetensors", progress=False, epochs=3, steps=2)
    assert pd.read_csv(path.with_suffix(".csv"))["validation"].tolist() == [40, 90, 60]
    last = runs[-1].network.state_dict()
    with safe_open(path, "pt") as file:
        assert (file.get_tensor("network.0.0.weight") != last["0.0.weight"]).any()


@pytest.mark.parametrize(
    "settings, message",
    [
        (dict(name="x"), "learner must be 'glyph-conv', 'baseline'"),
        (dict(name="rfs", shots=1), "shots .*rfs.*got 1"),
        (dict(teacher="conv4-baseline"), "teacher .*protonet, got conv4-baseline"),
        (dict(name="rfs", frozen="conv4-baseline"), "frozen .*rfs, got conv4-baseline"),
        (dict(architecture={"depth": 6}), "architecture must be 'kind', 'widths', 'side'"),
        (dict(architecture={"side": 15}), "side = 15; 4 blocks of conv leave no place"),
        (dict(schedule="wave"), "schedule must be 'one-cycle', 'cosine', 'steps' or 'constant'"),
        (dict(augmentation=("blur",)), "augmentation must be .*, got 'blur'"),
        (dict(temperature=0), "temperature must be a number > 0"),
        (dict(milestones=[0]), "milestones must be an integer >= 1"),
        (dict(read_at=31), "read_at must be an integer >= 32"),
        (dict(mean=[0.5]), r"mean .*each of the 3 channels, got \[0.5\]"),
    ],
)
def test_bad_settings(tmp_path, monkeypatch, settings, message):
    monkeypatch.setattr(loop, "_Run", None)  # the work, which does not start
    with refuses(message):
        training.train(**dict(name="protonet", output=tmp_path / "x.safetensors") | settings)


def test_bad_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "_Run", None)
    (tmp_path / "folder.safetensors").mkdir()
    (tmp_path / "taken.csv").mkdir()
    for output, message in (
        ("x.pt", "a name ending in .safetensors, got .*x.pt"),
        ("folder.safetensors", "got the folder .*folder.safetensors"),
        ("taken.safetensors", "got the folder .*taken.csv"),
    ):
        with refuses(message):
            training.train("maml", tmp_path / output)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.safetensors", "taken.csv"]


def test_recipes_keep_the_fields_that_checkpoints_name():
    """No key is new where no field differs: metadata of checkpoints stay as they are."""
    for recipe in training.RECIPES.values():
        fields = recipe.plain()
        assert list(fields)[-1] == "options" and len(fields) == 18 and Recipe(**fields) == recipe


def test_a_folder_trains_on_some_classes_and_validates_on_others(photos, monkeypatch, capsys):
    dataset = photos(count=16, size=(8, 8))
    parts, real = [], loop.split_classes
    monkeypatch.setattr(loop, "split_classes", lambda *a: parts.extend(real(*a)) or parts)
    run_of("protonet", progress=True, dataset=dataset, shots=1)
    base, validation = parts
    assert len(base.class_names) == 7 and len(validation.class_names) == 5
    assert sorted(base.class_names + validation.class_names) == sorted(
        f"kind{c}" for c in range(12)
    )
    assert validation.class_names == [
        "kind10",
        "kind2",
        "kind4",
        "kind5",
        "kind9",
    ]  # of this rule, anywhere
    images = datasets.load(dataset).at_size(32)  # as the network takes them, and not larger
    for part in parts:  # every image of each class, with its own pixels
        assert part.counts.tolist() == [16] * len(part.class_names)
        name = part.class_names[2]
        rows = images.labels == images.class_names.index(name)
        assert (part.images[part.labels == 2] == images.images[:][rows]).all()
    printed = capsys.readouterr().out
    assert "photos: read at 32 × 32 pixels; 7 classes train (" in printed
    assert (
        "5 classes validate (kind10, kind2, kind4, kind5, kind9); none is left to test on"
        in printed
    )


@pytest.mark.parametrize("count", [10, 12, 23, 24, 41])
def test_a_quarter_of_the_classes_validates_and_five_at_least(count):
    names = [f"kind{c}" for c in range(count)]
    labels = np.arange(count).repeat(2)
    images = datasets.Images("x", np.zeros((2 * count, 1, 1, 3), np.uint8), labels, names)
    base, validation = loop.split_classes(images)
    assert len(validation.class_names) == max(5, count // 4)
    assert sorted(base.class_names + validation.class_names) == sorted(names)


def test_the_loss_of_an_epoch_is_the_mean_over_its_steps_in_the_curve_and_in_print(small, capsys):
    run = run_of("protonet", **TINY | {"steps": 3})
    losses, batches = [], run._task_batches

    def recorded():
        for loss in batches():
            losses.append(loss.item())
            yield loss

    run._task_batches = recorded
    run.train_epoch(True)
    (row,) = run.curve
    assert len(losses) == 3 and row["loss"] == pytest.approx(np.mean(losses))
    printed = capsys.readouterr().out
    assert f"loss {row['loss']:.3f}" in printed and f"{row['validation']:.2f} %" in printed


def test_a_test_on_the_folder_of_the_training_has_a_warning(photos, tmp_path, monkeypatch, recwarn):
    """However the folder is written, and not on another one."""
    monkeypatch.setattr(loop, "VALIDATION", {"features": 4})
    options = dict(
        dataset=photos(count=16, size=(8, 8)), epochs=1, steps=1, shots=1, progress=False
    )
    network = f"conv4-protonet:{training.train('protonet', tmp_path / 'p.safetensors', **options)}"
    warning = "was trained and selected on the classes of this folder"
    monkeypatch.chdir(tmp_path)
    evaluation.configure("folder:photos/", network, "protonet")
    assert warning in warned(recwarn)
    (tmp_path / "photos").rename(tmp_path / "other")
    evaluation.configure("folder:other", network, "protonet")
    assert warning not in warned(recwarn)


def test_a_damaged_or_foreign_state_is_not_gone_on_from(small, tmp_path, recwarn):
    run = trained("protonet", **SHORT)
    run.save(tmp_path / "state")
    state = (tmp_path / "state").read_bytes()
    weights = next(w for w in run.parts.state_dict().values() if w.ndim == 4)
    at = state.index(
        weights.numpy().tobytes("A")
    )  # in the order of the memory, which is channels last
    changed = state[:at] + bytes([state[at] ^ 1]) + state[at + 1 :]  # a weight is another
    listed = io.BytesIO()
    torch.save([1, 2, 3], listed)
    run.epoch = 0
    for i, content in enumerate(
        [state[: len(state) // 2], b"", b"hello\n", listed.getvalue(), changed]
    ):
        path = tmp_path / f"state{i}"
        path.write_bytes(content)
        run.resume(path)
        assert run.epoch == 0 and f"{path} is damaged" in warned(recwarn)
    (tmp_path / "state").write_bytes(state)
    run.epoch, run.data = 0, {"base": "other", "validation": "images"}
    run.resume(tmp_path / "state")
    assert run.epoch == 0


def test_a_recipe_says_which_network_images_optimiser_and_schedule(small, tmp_path):
    """Another depth, width and side; the checkpoint brings them back."""
    recipe = dict(
        architecture={"widths": [8, 8, 16], "side": 40},
        augmentation=("crop", "flip", "colour"),
        optimiser="sgd",
        schedule="steps",
        epochs=2,
        steps=8,
        lr=0.05,
    )
    path = training.train("protonet", tmp_path / "p.safetensors", progress=False, **recipe)
    backbone = backbones.load(f"conv4-protonet:{path}")
    assert (backbone.dim, backbone.map, backbone.resolution) == (16 * 5 * 5, (16, 5, 5), 40)
    assert len([m for m in backbone.module.modules() if isinstance(m, torch.nn.Conv2d)]) == 3
    assert (
        accuracy_of(f"conv4-protonet:{path}", "protonet", small("", "validation")) > 0.5
    )  # chance is 0.2
    run = run_of("protonet", **recipe)
    rates, group = rates_of(run)
    assert type(run.optimiser) is torch.optim.SGD
    assert group["momentum"] == 0.9 and group["nesterov"]
    assert rates == pytest.approx([0.05] * 9 + [0.005] * 3 + [0.0005] * 4)
    stored = recipe_and_data(path)["recipe"]
    assert stored["architecture"] == recipe["architecture"] and stored["augmentation"] == [
        "crop",
        "flip",
        "colour",
    ]
    assert "temperature" not in stored  # as it always was


def test_the_teachers_weight_and_temperature_are_those_of_the_recipe(small, tmp_path):
    settings = dict(teacher=other(tmp_path), size=32, epochs=1, steps=4)

    def loss(**changes):
        run = run_of("rfs", **settings | changes)
        torch.manual_seed(0)
        return next(run._class_batches()).item()

    alone, mixed, taught = (loss(taught=w) for w in (0.0, 0.5, 1.0))
    assert mixed == pytest.approx((alone + taught) / 2, rel=1e-5) and alone != pytest.approx(
        taught, rel=1e-3
    )
    assert loss() == mixed and loss(taught=1.0, temperature=2.0) != pytest.approx(taught, rel=1e-3)


@pytest.mark.parametrize("name", augment.AUGMENTATIONS)
def test_an_augmentation_keeps_the_form_and_the_range_of_images(name):
    torch.manual_seed(0)
    x = torch.rand(64, 3, 16, 16) * 2 - 1
    before, augmented = x.clone(), augment.AUGMENTATIONS[name](x)
    assert augmented.shape == x.shape and augmented.abs().max() <= 1 and (x == before).all()
    assert (augmented != x).flatten(1).any(1).float().mean() > 0.2 and (
        augmented.std((1, 2, 3)) > 0
    ).all()


def test_a_crop_is_a_part_of_the_image_and_flips_are_half_of_them():
    torch.manual_seed(0)
    ramp = torch.linspace(-1, 1, 32).expand(400, 3, 32, 32)
    cropped = augment.crop(ramp)[:, 0, 0]
    width = (cropped[:, -1] - cropped[:, 0]) / (ramp[0, 0, 0, -1] - ramp[0, 0, 0, 0])
    assert (
        0.55 < width.min() < 0.65
        and 0.95 < width.max() <= 1
        and cropped.min() >= -1
        and cropped.max() <= 1
    )
    turned = (augment.flip(ramp)[:, 0, 0, 0] > 0).float().mean()
    assert 0.4 < turned < 0.6


SEEN = dict(read_at=42, mean=[0.5, 0.4, 0.3], std=[0.2, 0.3, 0.4])


def test_training_and_evaluation_see_images_as_the_recipe_says(photos, tmp_path, monkeypatch):
    """Squeezed to 42, of which training sees 32 at a random place and evaluation the middle; by its own statistics."""
    import_torchvision()
    from torchvision import transforms

    monkeypatch.setattr(loop, "VALIDATION", {"features": 4})
    dataset = photos()
    runs, real = [], loop._Run
    monkeypatch.setattr(loop, "_Run", lambda *arguments: runs.append(real(*arguments)) or runs[-1])
    path = training.train(
        "protonet",
        tmp_path / "p.safetensors",
        dataset=dataset,
        epochs=1,
        steps=1,
        shots=1,
        progress=False,
        **SEEN,
    )
    stored = recipe_and_data(path)["recipe"]
    assert {name: stored[name] for name in SEEN} == SEEN
    backbone = backbones.load(f"conv4-protonet:{path}")
    assert (backbone.read_at, backbone.resolution) == (42, 32)
    images, backbone = backbones.match_input_size(datasets.load(dataset), backbone)
    steps = [transforms.Resize([42, 42]), transforms.ToTensor(), transforms.CenterCrop(32)]
    seen_there = transforms.Compose([*steps, transforms.Normalize(SEEN["mean"], SEEN["std"])])
    file = sorted((tmp_path / "photos").glob("*/*.png"))[3]
    evaluated = backbone.preprocess(torch.from_numpy(images.images[3:4]))[0]
    assert torch.allclose(evaluated, seen_there(Image.open(file)), atol=1e-5)

    (run,) = runs
    assert run.images.shape[1:] == (42, 42, 3)
    torch.manual_seed(0)
    trained_on = run._prepared(torch.zeros(200, dtype=torch.int64))
    full_image = replace(backbone, resolution=42, read_at=None).preprocess(run.images[:1])[0]
    places = (
        full_image.unfold(1, 32, 1).unfold(2, 32, 1).flatten(1, 2).movedim(0, 1)
    )  # all 11 × 11 squares
    at = [int((places - square).abs().amax((1, 2, 3)).argmin()) for square in trained_on]
    assert all(torch.allclose(places[i], square, atol=1e-5) for i, square in zip(at, trained_on))
    assert {i // 11 for i in at} == {i % 11 for i in at} == set(range(11))


def test_a_learner_on_a_frozen_network_takes_its_network_and_preprocessing(small, tmp_path):
    changes = dict(SEEN, architecture={"widths": [8, 8, 16], "side": 40})
    frozen = training.train(
        "baseline", tmp_path / "b.safetensors", progress=False, size=32, **SHORT, **changes
    )
    named = dict(frozen=f"conv4-baseline:{frozen}", options={"latent": 8}, progress=False)
    path = training.train("leo", tmp_path / "l.safetensors", **SHORT, **named)
    a, b = backbones.load(f"conv4-leo:{path}"), backbones.load(f"conv4-baseline:{frozen}")
    assert (a.dim, a.resolution, a.read_at, a.mean, a.std) == (400, 40, 42, b.mean, b.std)
    images = torch.from_numpy(small("", "base").images[:4])
    with torch.inference_mode():
        assert torch.allclose(*(x.module(x.preprocess(images)) for x in (a, b)))
    with refuses("network", "conv4-map"):
        training.train("leo", tmp_path / "m.safetensors", network="conv4-map", **SHORT, **named)


@pytest.mark.parametrize(
    "milestones, factor, expected",
    [
        ([1, 3], 0.5, [1.0] * 2 + [0.5] * 4 + [0.25] * 4),
        ((), 0.1, [1.0] * 6 + [0.1] * 2 + [0.01] * 2),
    ],
)
def test_the_rate_falls_after_the_epochs_of_the_recipe(small, milestones, factor, expected):
    options = dict(schedule="steps", optimiser="sgd-momentum", milestones=milestones, factor=factor)
    run = run_of("protonet", epochs=5, steps=2, lr=1.0, **options)
    rates, group = rates_of(run)
    assert rates == pytest.approx(expected)
    assert group["momentum"] == 0.9 and not group["nesterov"]


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rate_and_the_decay_are_those_of_the_recipe(small, optimiser, schedule):
    options = dict(epochs=2, steps=10, lr=0.02, weight_decay=0.3)
    rates, group = rates_of(run_of("protonet", optimiser=optimiser, schedule=schedule, **options))
    assert group["weight_decay"] == 0.3 and rates.max() == pytest.approx(0.02)
    is_falling = np.diff(rates[rates.argmax() :]) <= 1e-12
    assert is_falling.all() and (np.diff(rates[: rates.argmax() + 1]) > 0).all()
    last = {
        "one-cycle": 0,
        "cosine": 0.01 * (1 + np.cos(np.pi * 19 / 20)),
        "steps": 0.0002,
        "constant": 0.02,
    }[schedule]
    assert rates[-1] == pytest.approx(last, abs=1e-6)


def test_training_ends_after_as_many_epochs_without_gain_as_the_recipe_is_patient(
    small, tmp_path, monkeypatch
):
    accuracy = [0.4, 0.6, 0.6, 0.5, 0.9, 0.8]
    for patience, epochs in ((0, 6), (1, 3), (2, 4), (3, 6)):
        left = iter(accuracy)
        monkeypatch.setattr(_Run, "_validate", lambda run, left=left: next(left))
        options = dict(TINY, epochs=6, patience=patience, progress=False)
        path = training.train("protonet", tmp_path / f"{patience}.safetensors", **options)
        assert pd.read_csv(path.with_suffix(".csv"))["validation"].tolist() == [
            100 * a for a in accuracy[:epochs]
        ]


def test_a_recipe_says_how_many_tasks_validate(small, monkeypatch):
    """They are the same in every epoch, 5-way, and have the shots of training."""
    drawn, real = [], loop.evaluate
    monkeypatch.setattr(
        loop,
        "evaluate",
        lambda learner, bank, tasks: drawn.append(tasks) or real(learner, bank, tasks),
    )
    for validation, shots in ((0, 5), (7, 2)):
        run = trained("protonet", **TINY, epochs=2, validation=validation, shots=shots, ways=3)
        run.train_epoch(False)
        first, second = drawn[-2:]
        assert first.support.shape == (validation or 40, 5 * shots)
        assert first.query.shape == (validation or 40, 5 * 15)
        assert (first.support == second.support).all() and (first.query == second.query).all()


def test_chance_and_tasks_differ_by_seed_and_epoch_and_by_nothing_else(small, monkeypatch):
    drawn, real = [], loop.sample_closed

    def sampled(*arguments, **options):
        drawn.append(real(*arguments, **options))
        return drawn[-1]

    def jittered(images):
        drawn.append(torch.rand(1).item())
        return images

    monkeypatch.setattr(loop, "sample_closed", sampled)
    monkeypatch.setattr(_Run, "_validate", lambda run: 0.5)
    monkeypatch.setitem(augment.AUGMENTATIONS, "jitter", jittered)

    def chance_of(seed, epoch):
        run = run_of("protonet", seed, jitter=True, epochs=2, **TINY)
        run.epoch = epoch
        drawn.clear()
        run.train_epoch(False)
        tasks, *numbers = drawn
        return tasks.support.tobytes(), tuple(numbers)

    seen = [chance_of(seed, epoch) for seed in range(2) for epoch in range(2)]
    tasks, numbers = map(set, zip(*seen, strict=True))
    assert len(tasks) == len(numbers) == 4
    assert chance_of(1, 0) == seen[2]


@pytest.mark.parametrize("jitter", [False, True])
def test_augmentations_come_in_the_order_of_the_recipe_after_jitter(small, monkeypatch, jitter):
    order = []
    for name in [*augment.AUGMENTATIONS]:
        monkeypatch.setitem(
            augment.AUGMENTATIONS, name, lambda x, name=name: order.append(name) or x
        )
    run = run_of("protonet", augmentation=("flip", "crop", "colour"), jitter=jitter, **SHORT)
    run._prepared(torch.arange(3))
    assert order == ["jitter", "flip", "crop", "colour"][not jitter :]
