"""SimpleShot, Tip-Adapter and the probe from names: plain loops, where text and center lie."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from learner_inputs import task_rows, unit
from refusal import refuses
from safetensors.numpy import save_file as save_numpy_file
from safetensors.torch import save_file
from scipy.optimize import minimize
from scipy.special import log_softmax

from fslcore import datasets, evaluation, store
from fslcore.datasets.bank import Bank, load_features
from fslcore.learners import SimpleShot, TextProbe, TipAdapter, logistic
from fslcore.models import backbones, registry
from fslcore.models.networks import import_torchvision
from fslcore.tasks import sample_closed

CLASSES = 20
EACH = 40
DIM = 64
LABELS = np.arange(CLASSES).repeat(EACH)


@pytest.fixture(scope="module")
def bank():
    """Features as CLIP's are, around a direction that all share, and names around another."""
    rng = np.random.default_rng(0)
    images, gap = unit(rng.normal(size=(2, DIM)))
    centres = rng.normal(size=(CLASSES, DIM)) / 8
    noise = rng.normal(size=(len(LABELS), DIM)) / 8
    x = 1.2 * images + 0.6 * centres[LABELS] + 1.2 * noise
    text = torch.from_numpy(gap + 0.25 * centres).float()
    return Bank(torch.from_numpy(x).float(), LABELS, "", text=text)


# ------------------------------------------------------------ the center of SimpleShot


def test_the_center_is_an_array_a_file_or_beside_the_features(bank, tmp_path):
    tasks = sample_closed(LABELS, tasks=5)
    mean = bank.data.mean(dim=0)
    path = tmp_path / "mean.npy"
    np.save(path, mean.numpy())
    learners_of_mean = [
        SimpleShot(center=center) for center in (mean, mean.numpy(), mean.tolist(), path, str(path))
    ]
    expected = SimpleShot().scores(replace(bank, center=mean), tasks)
    assert all(torch.equal(learner.scores(bank, tasks), expected) for learner in learners_of_mean)
    assert len({json.dumps(learner.config()) for learner in learners_of_mean}) == 1
    assert (
        learners_of_mean[0].config()
        != SimpleShot(center=mean + 1).config()
        != SimpleShot().config()
    )
    with refuses("center: none; SimpleShot needs the mean feature"):
        SimpleShot().scores(bank, tasks)
    with refuses("center: 3 numbers; features have 64"):
        SimpleShot(center=[1.0, 2.0, 3.0]).scores(bank, tasks)
    (tmp_path / "text.npy").write_text("1, 2, 3")
    for center, message in (
        (tmp_path / "none.npy", "center: no file .*none.npy"),
        (tmp_path / "text.npy", r"center: .*text.npy is not a .npy of \(D,\) numbers"),
        ([[1.0]], r"center has shape \(1, 1\)"),
        ([np.nan], "center: 1 values are NaN"),
    ):
        with refuses(message):
            SimpleShot(center=center)
    with refuses("transform = cl2n; CL2N, L2N, UN are allowed"):
        SimpleShot("cl2n")


def pictures(name, seed=0, n=70):
    x = np.random.default_rng(seed).integers(0, 256, (n, 28, 28, 1), dtype=np.uint8)
    return datasets.Images(name, x, np.arange(n) % 7, ["a_cat", *"bcdefg"])


TASKS = sample_closed(np.arange(70) % 7, tasks=4, ways=3, shots=2, queries=3)


def test_base_classes_are_the_networks_else_the_data_sets(monkeypatch, capsys):
    base = pictures("base", 1, 30)
    loaded = []
    monkeypatch.setattr(
        datasets, "load", lambda name, **options: loaded.append((name, options)) or base
    )
    backbone = backbones.load("glyph-conv")
    assert (backbone.base, registry.entries()["efficientnet-lite0"].backbone.base) == (
        "glyphs",
        None,
    )
    learner = evaluation.ready(pictures("clipart"), "glyph-conv", "simpleshot").learner
    mean = backbones.features(base, backbone).data.mean(dim=0)
    assert learner.center.numpy() == pytest.approx(mean.numpy(), abs=1e-6)
    note = "glyph-conv are centred by their mean over the 30 images of base classes of glyphs"
    assert note in capsys.readouterr().err
    monkeypatch.setattr(
        evaluation.methods, "load_backbone", lambda name: replace(backbone, base=None)
    )
    for name in ("clipart", "glyphs/hebrew", "cub:/data"):
        evaluation.ready(pictures(name), "x", "simpleshot")
    names = ["glyphs", "clipart", "glyphs", "cub:/data"]
    assert loaded == [(name, {"split": "base", "size": None}) for name in names]
    for name in ("fashion", "folder:/data"):
        with refuses(f"center: neither glyph-conv nor {name} has base classes"):
            evaluation.ready(pictures(name), "x", "simpleshot")
    assert (
        evaluation.ready(pictures("fashion"), "x", "simpleshot", transform="L2N").learner.center
        is None
    )
    assert (
        evaluation.ready(pictures("fashion"), "x", "simpleshot", center=mean).record(TASKS)
        is not None
    )


# ------------------------------------------------------------ names


def test_tip_adapter_against_a_loop(bank):
    tasks = sample_closed(LABELS, tasks=6, shots=(1, 2, 3, 4, 2))
    scores = TipAdapter(alpha=2.0, beta=4.0, scale=30.0).scores(bank, tasks).numpy()
    x = unit(bank.data.numpy())
    text = unit(bank.text.numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        for k in range(5):
            cache = np.exp(-4 * (1 - x[query] @ x[support[label == k]].T)).sum(1)
            named = 30 * x[query] @ text[LABELS[support[label == k][0]]]
            assert answer[:, k] == pytest.approx(named + 2 * cache, abs=1e-3)


def plain_probe(x, y, start, C):
    """Weights of least penalised cross-entropy on the support x, with one-hot labels y."""

    def objective(flat):
        w = flat.reshape(start.shape)
        log_p = log_softmax(x @ w.T, axis=1)
        slope = C * (np.exp(log_p) - y).T @ x + w - start
        return -C * (y * log_p).sum() + ((w - start) ** 2).sum() / 2, slope.ravel()

    options = {"maxiter": 5000, "gtol": 1e-9}
    best = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return best.x.reshape(start.shape)


@pytest.mark.parametrize("C, scale", [(1.0, 10.0), (1000.0, 100.0), (10.0, 0.0)])
@pytest.mark.parametrize("ways", [2, 5])
def test_the_probe_is_the_optimum_that_scipy_finds(bank, C, scale, ways):
    tasks = sample_closed(LABELS, tasks=3, ways=ways, shots=2, queries=4)
    scores = TextProbe(C, scale).scores(bank, tasks).numpy()
    features = unit(bank.data.double().numpy())
    text = unit(bank.text.double().numpy())
    for answer, (support, label, query) in zip(scores, task_rows(tasks)):
        start = scale * text[[LABELS[support[label == k][0]] for k in range(ways)]]
        weights = plain_probe(features[support], np.eye(ways)[label], start, C)
        assert answer == pytest.approx(features[query] @ weights.T, abs=5e-3)


def test_the_probe_stops_when_it_is_done(bank):
    tasks = sample_closed(LABELS, tasks=4, shots=2, queries=2)
    x = torch.nn.functional.normalize(bank.data[tasks.support.copy()], dim=-1).double()
    y = torch.eye(5, dtype=torch.float64)[tasks.support_label.copy()].mT.contiguous()
    lam = torch.full((4, 1, 1), 0.1, dtype=torch.float64)
    start = 5 * torch.rand(4, 5, 10, dtype=torch.float64)
    problem = logistic._FixedHessian.of(x @ x.mT, y, lam, 0.5, start)
    *_, left = logistic._descend(problem, 1e-6, 1000)
    assert not len(left)


def test_settings_below_their_range_are_refused():
    for learner, name, value in (
        (TipAdapter, "alpha", -1),
        (TipAdapter, "beta", -1),
        (TextProbe, "C", 0),
    ):
        with refuses(f"{name} = {value}"):
            learner(**{name: value})


@pytest.mark.parametrize("learner", [TipAdapter(), TextProbe()], ids=lambda learner: learner.name)
def test_names_go_with_the_classes_of_the_bank(bank, learner):
    tasks = sample_closed(LABELS, tasks=6, shots=2)
    scores = learner.scores(bank, tasks)
    order = np.random.default_rng(0).permutation(CLASSES)
    moved = replace(bank, labels=order[LABELS], text=bank.text[np.argsort(order)])
    assert torch.equal(learner.scores(moved, tasks), scores)
    longer = replace(bank, text=3 * bank.text)
    assert learner.scores(longer, tasks).numpy() == pytest.approx(scores.numpy(), abs=1e-4)
    mixed = tasks.support.copy()
    mixed[2, 0] = (mixed[2, 0] + EACH) % len(LABELS)
    with refuses("class 0 of task 2", "several classes"):
        learner.scores(bank, replace(tasks, support=mixed, unseen=False))
    with refuses("text: none in the bank"):
        learner.scores(replace(bank, text=None), tasks)


def test_text_follows_the_names_in_the_metadata_of_safetensors(bank, tmp_path):
    tensors = {"features": bank.data, "labels": torch.from_numpy(LABELS), "text": bank.text}

    def read(names, **changes):
        save_file(
            tensors | changes,
            tmp_path / "f.safetensors",
            metadata={"class_names": json.dumps(names)},
        )
        return load_features(tmp_path / "f.safetensors")

    names = [f"class {c}" for c in range(CLASSES)][
        ::-1
    ]  # labels are in one order, their names in another
    loaded = read(names)
    place = [loaded.class_names.tolist().index(name) for name in names]
    assert torch.equal(loaded.text[place], bank.text)
    few = LABELS < 3  # some names have no image
    loaded = read(names, features=bank.data[few].clone(), labels=tensors["labels"][few])
    assert loaded.class_names.tolist() == names[2::-1] and torch.equal(
        loaded.text, bank.text[[2, 1, 0]]
    )
    with refuses(f"text: {CLASSES} rows for {CLASSES + 1} classes"):
        read([*names, "no image"])
    with refuses("its metadata name a class twice"):
        read([*names[1:], names[1]])


def test_text_and_center_in_a_file_of_features(bank, tmp_path):
    center = bank.data.mean(dim=0)
    text = bank.text.numpy()
    text_and_center = {"text": text.astype(np.float64), "center": center.numpy()}

    def read(name, labels=LABELS, **arrays):
        arrays |= {"features": bank.data.numpy(), "labels": labels}
        if name.endswith(".npz"):
            np.savez(tmp_path / name, **arrays)
        else:
            save_numpy_file(arrays, tmp_path / name)
        return load_features(tmp_path / name)

    bare = read("bare.npz")
    complete = read("complete.npz", **text_and_center)
    assert bare.text is bare.center is None and bare.digest != complete.digest
    assert (
        complete.digest
        == read("f.safetensors", **text_and_center).digest
        != read("g.npz", text=text + 1).digest
    )
    assert torch.equal(complete.text, bank.text) and torch.equal(complete.to("cpu").center, center)
    for learner, message in (
        ("text-probe", "reads an embedding of each class's name"),
        ("simpleshot", "center: none"),
    ):
        assert evaluation.ready(f"features:{tmp_path}/complete.npz", "none", learner)
        with refuses(message):
            evaluation.ready(f"features:{tmp_path}/bare.npz", "none", learner)
    # Texts as labels: rows in their sorted order.
    words = np.array([f"class {9 - k % 10}{k // 10}" for k in range(CLASSES)])
    named = read("named.npz", words[LABELS], text=text[np.argsort(words)])
    assert torch.equal(named.text[named.labels[::EACH]], bank.text)


@pytest.mark.parametrize(
    "array, value, message",
    [
        (
            "text",
            np.ones((CLASSES - 1, DIM)),
            "text: 19 rows for 20 classes; one per class is needed",
        ),
        (
            "text",
            np.ones((CLASSES, DIM + 1)),
            r"text: .* shape \(20, 65\); \(K, D\) floats, D as of the features",
        ),
        (
            "text",
            np.full((CLASSES, DIM), np.nan),
            "text: it holds NaN or infinity",
        ),
        ("text", np.zeros((CLASSES, DIM)), "text: row 0 has length 0"),
        ("text", np.full(CLASSES, "a"), "'text' in f.npz is <U1"),
        ("center", np.ones((1, DIM)), r"'center' .* shape \(1, 64\); \(D,\) floats"),
        (
            "center",
            np.full(DIM, 1e300),
            "center: it holds NaN or infinity",
        ),
    ],
)
def test_text_and_center_that_do_not_fit(bank, tmp_path, array, value, message):
    np.savez(tmp_path / "f.npz", features=bank.data.numpy(), labels=LABELS, **{array: value})
    with refuses(message):
        load_features(tmp_path / "f.npz")


# ------------------------------------------------------------ CLIP's text tower

TINY = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    """A backbone built as CLIP is, with random weights in a file, and the complete model."""
    import_torchvision()
    import open_clip

    (tmp_path / "tiny-clip.json").write_text(json.dumps(TINY))
    open_clip.add_model_config(tmp_path / "tiny-clip.json")
    torch.manual_seed(0)
    model = open_clip.create_model("tiny-clip", pretrained=None).eval()
    save_file(
        {key: w.contiguous().clone() for key, w in model.state_dict().items()},
        tmp_path / "w.safetensors",
    )
    entry = registry.entries()["clip"]
    parts = {
        "backbone": replace(entry.backbone, dim=24, resolution=32),
        "build": partial(entry.build, model="tiny-clip"),
        "text": partial(entry.text, model="tiny-clip"),
    }
    monkeypatch.setitem(registry.entries(), "clip", replace(entry, **parts))
    return f"clip:{tmp_path}/w.safetensors", model


def test_names_are_embedded_by_the_text_tower_and_cached(tiny_clip):
    import open_clip

    name, model = tiny_clip
    backbone = backbones.load(name)
    names = ["a_cat", "dog"]
    embedded = backbones.names_embedded(names, backbone)

    def expected(*sentences):
        with torch.inference_mode():
            return unit(model.encode_text(open_clip.tokenize(sentences)).numpy())

    assert embedded.numpy() == pytest.approx(
        expected("a photo of a a cat.", "a photo of a dog."), abs=1e-5
    )
    assert len(list(store.path("text").iterdir())) == 1
    object.__setattr__(backbone, "text", lambda sentences: 1 / 0)
    assert torch.equal(backbones.names_embedded(names, backbone), embedded)
    keys = {
        backbones.names_key(names, backbone),
        backbones.names_key(names[::-1], backbone),
        backbones.names_key(names, replace(backbone, weights="other")),
    }
    assert len(keys) == 3


def test_learners_of_names_run_on_images(tiny_clip):
    images = pictures("p")
    renamed = replace(images, class_names=[*"tuvwxyz"])
    for learner in ("tip-adapter", "text-probe"):
        method = evaluation.ready(images, tiny_clip[0], learner)
        bank = method.bank()
        assert torch.equal(
            bank.text, backbones.names_embedded(images.class_names, method.backbone).to(bank.text)
        )
        correct = evaluation.evaluate(method.learner, bank, TASKS).correct
        assert np.array_equal(method.record(TASKS).correct, correct)
        # Other names are another record, though images and weights are the same.
        assert evaluation.ready(renamed, tiny_clip[0], learner).record(TASKS, stored=True) is None
        assert (
            evaluation.ready(images, tiny_clip[0], learner).record(TASKS, stored=True) is not None
        )
        with refuses("glyph-conv has no text tower: clip has one"):
            evaluation.ready(images, "glyph-conv", learner)
    assert evaluation.ready(images, tiny_clip[0], "lr").bank().text is None


def test_weights_without_a_text_tower_are_reported(tiny_clip, tmp_path):
    visual = {
        key: w.clone() for key, w in tiny_clip[1].state_dict().items() if key.startswith("visual.")
    }
    save_file(visual, tmp_path / "visual.safetensors")
    name = f"clip:{tmp_path}/visual.safetensors"
    assert evaluation.ready(pictures("p"), name, "ncc").record(TASKS) is not None
    with refuses(r"backbone clip: .*visual.safetensors has no text tower beside its network"):
        evaluation.ready(pictures("p"), name, "tip-adapter").record(TASKS)
    with refuses("glyph-conv: it has no text tower"):
        backbones.names_embedded(["a"], backbones.load("glyph-conv"))
