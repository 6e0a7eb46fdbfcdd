"""SimpleShot, Tip-Adapter and the probe from names: plain loops, what names are worth, where text and center lie."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.optimize import minimize
from scipy.special import log_softmax

from fslcore import datasets, evaluation, learners, store
from fslcore.datasets.bank import Bank, load_features
from fslcore.errors import InputError
from fslcore.learners import LogisticRegression, NearestCentroid, ProtoNet, SimpleShot, TextProbe, TipAdapter, logistic
from fslcore.models import backbones, registry
from fslcore.models.networks import import_torchvision
from fslcore.tasks import Tasks, sample_closed

CLASSES, EACH, DIM = 20, 40, 64


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def bank(names="telling", seed=0):
    """Features as CLIP's are: around a direction that all images share, and names around one of their own."""
    rng = np.random.default_rng(seed)
    images, gap = unit(rng.normal(size=(2, DIM)))
    of_class = rng.normal(size=(CLASSES, DIM)) / 8
    x = 1.2 * images + 0.6 * of_class.repeat(EACH, 0) + 1.2 * rng.normal(size=(CLASSES * EACH, DIM)) / 8
    text = {
        "telling": gap + 0.25 * of_class + 0.1 * rng.normal(size=(CLASSES, DIM)) / 8,
        "alike": gap + 0 * of_class,
        "random": rng.normal(size=(CLASSES, DIM)),
    }[names]
    labels = np.arange(CLASSES).repeat(EACH)
    return Bank(torch.from_numpy(x).float(), labels, "", text=torch.from_numpy(text).float())


def accuracy(learner, of, tasks):
    return 100 * evaluation.evaluate(learner, of, tasks).accuracy().mean()


# ------------------------------------------------------------ SimpleShot


@pytest.mark.parametrize("transform", ["CL2N", "L2N", "UN"])
def test_simpleshot_against_a_loop(transform):
    of = bank()
    center = of.data.numpy().mean(axis=0) + 0.1
    tasks = sample_closed(of.labels, tasks=10, shots=(4, 4, 5, 6, 6))
    scores = SimpleShot(transform, center).scores(of, tasks).numpy()
    x = of.data.numpy()
    x = x if transform == "UN" else unit(x - center) if transform == "CL2N" else unit(x)
    for t in range(len(tasks)):
        means = np.stack([x[tasks.support[t][tasks.support_label[t] == k]].mean(0) for k in range(5)])
        expected = -((x[tasks.query[t]][:, None] - means) ** 2).sum(-1)
        assert scores[t] == pytest.approx(expected, abs=1e-4)


def test_simpleshot_is_protonet_or_ncc_where_it_should_be():
    of = bank()
    tasks = sample_closed(of.labels, tasks=20, shots=1)
    assert torch.equal(SimpleShot("UN").scores(of, tasks), ProtoNet().scores(of, tasks).detach())
    pairs = SimpleShot("L2N"), NearestCentroid()  # one image is its class's unit centroid
    assert np.array_equal(*(m.scores(of, tasks).argmax(-1).numpy() for m in pairs))
    # What all images share tells no class from another: centring by it is worth something.
    mean = of.data.mean(dim=0)
    assert accuracy(SimpleShot(center=mean), of, tasks) > accuracy(SimpleShot("L2N"), of, tasks) + 1


def test_where_the_center_is_of(tmp_path):
    of, tasks = bank(), sample_closed(bank().labels, tasks=5)
    mean = of.data.mean(dim=0)
    np.save(tmp_path / "mean.npy", mean.numpy())
    given = [
        SimpleShot(center=c) for c in (mean, mean.numpy(), mean.tolist(), tmp_path / "mean.npy", f"{tmp_path}/mean.npy")
    ]
    found = [m.scores(of, tasks) for m in given]
    beside = Bank(of.data, of.labels, "", center=mean)
    assert all(torch.equal(f, SimpleShot().scores(beside, tasks)) for f in found)
    assert len({json.dumps(m.config()) for m in given}) == 1
    assert given[0].config() != SimpleShot(center=mean + 1).config() != SimpleShot().config()
    with pytest.raises(InputError, match="center: none; SimpleShot needs the mean feature"):
        SimpleShot().scores(of, tasks)
    with pytest.raises(InputError, match="center: 3 numbers; features have 64"):
        SimpleShot(center=[1.0, 2.0, 3.0]).scores(of, tasks)
    (tmp_path / "text.npy").write_text("1, 2, 3")
    for bad, words in (
        (tmp_path / "none.npy", "center: no file .*none.npy"),
        (tmp_path / "text.npy", r"center: .*text.npy is not a .npy of \(D,\) numbers"),
        ("~nobody-here/mean.npy", "center = ~nobody-here/mean.npy; Could not determine home"),
        ([[1.0]], r"center has shape \(1, 1\)"),
        ([np.nan], "center: 1 values are NaN"),
    ):
        with pytest.raises(InputError, match=words):
            SimpleShot(center=bad)
    with pytest.raises(InputError, match="transform = cl2n; CL2N, L2N, UN are allowed"):
        SimpleShot("cl2n")


def pictures(name, seed=0, n=70):
    x = np.random.default_rng(seed).integers(0, 256, (n, 28, 28, 1), dtype=np.uint8)
    return datasets.Images(name, x, np.arange(n) % 7, ["a_cat", *"bcdefg"])


def test_base_classes_are_the_networks_else_the_data_sets(monkeypatch, capsys):
    base, asked = pictures("base", 1, 30), []
    monkeypatch.setattr(datasets, "load", lambda *a, **k: asked.append((a, k)) or base)
    backbone, images = backbones.load("glyph-conv"), pictures("clipart")
    assert backbone.base == "glyphs" and backbones.load("conv4-r2d2").base == "coloured"
    assert registry.entries()["efficientnet-lite0"].backbone.base is None
    mean = backbones.features(base, backbone).data.mean(dim=0)
    made = evaluation.ready(images, "glyph-conv", "simpleshot").learner
    assert made.center.numpy() == pytest.approx(mean.numpy(), abs=1e-6)
    assert "features of glyph-conv are centred by their mean over the 30 images of base classes of glyphs" in (
        capsys.readouterr().err
    )
    monkeypatch.setattr(evaluation.methods, "load_backbone", lambda name: replace(backbone, base=None))
    evaluation.ready(images, "x", "simpleshot")
    evaluation.ready(pictures("glyphs/hebrew"), "x", "simpleshot")
    evaluation.ready(pictures("cub:/data"), "x", "simpleshot")
    assert [a for (a,), _ in asked] == ["glyphs", "clipart", "glyphs", "cub:/data"]
    assert all(k == {"split": "base", "size": None} for _, k in asked)
    for name in ("fashion", "folder:/data"):
        with pytest.raises(InputError, match=f"center: neither glyph-conv nor {name} has base classes"):
            evaluation.ready(pictures(name), "x", "simpleshot")
    assert evaluation.ready(pictures("fashion"), "x", "simpleshot", transform="L2N").learner.center is None
    assert evaluation.ready(pictures("fashion"), "x", "simpleshot", center=mean).record(TASKS) is not None


TASKS = sample_closed(np.arange(70) % 7, tasks=4, ways=3, shots=2, queries=3)


# ------------------------------------------------------------ names


def test_tip_adapter_against_a_loop():
    of, learner = bank(), TipAdapter(alpha=2.0, beta=4.0, scale=30.0)
    tasks = sample_closed(of.labels, tasks=6, shots=(1, 2, 3, 4, 2))
    scores = learner.scores(of, tasks).numpy()
    x, text = unit(of.data.numpy()), unit(of.text.numpy())
    for t in range(len(tasks)):
        for i, q in enumerate(tasks.query[t]):
            for k in range(5):
                own = tasks.support[t][tasks.support_label[t] == k]
                cache = sum(np.exp(-4 * (1 - x[q] @ x[s])) for s in own)
                named = 30 * x[q] @ text[of.labels[own[0]]]
                assert scores[t, i, k] == pytest.approx(named + 2 * cache, abs=1e-3)


@pytest.mark.parametrize("C, scale", [(1.0, 10.0), (1000.0, 100.0), (10.0, 0.0)])
@pytest.mark.parametrize("ways", [2, 5])
def test_the_probe_is_the_optimum_that_scipy_finds(C, scale, ways):
    of = bank()
    tasks = sample_closed(of.labels, tasks=3, ways=ways, shots=2, queries=4)
    scores = TextProbe(C, scale).scores(of, tasks).numpy()
    features, text = unit(of.data.double().numpy()), unit(of.text.double().numpy())
    for t in range(3):
        x, y = features[tasks.support[t]], np.eye(ways)[tasks.support_label[t]]
        first = scale * np.stack(
            [text[of.labels[tasks.support[t][tasks.support_label[t] == k][0]]] for k in range(ways)]
        )

        def objective(flat):
            w = flat.reshape(first.shape)
            logits = x @ w.T
            slope = C * (np.exp(log_softmax(logits, axis=1)) - y).T @ x + w - first
            return -C * (y * log_softmax(logits, axis=1)).sum() + ((w - first) ** 2).sum() / 2, slope.ravel()

        best = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9})
        expected = features[tasks.query[t]] @ best.x.reshape(first.shape).T
        assert scores[t] == pytest.approx(expected, abs=5e-3)


def test_the_probe_stops_when_it_is_done():
    of = bank()
    tasks = sample_closed(of.labels, tasks=4, shots=2, queries=2)
    x = torch.nn.functional.normalize(of.data[tasks.support.copy()], dim=-1).double()
    y = torch.eye(5, dtype=torch.float64)[tasks.support_label.copy()].mT.contiguous()
    lam = torch.full((4, 1, 1), 0.1, dtype=torch.float64)
    *_, left = logistic._descend(x @ x.mT, y, lam, 1e-6, 0.5, 1000, 5 * torch.rand(4, 5, 10, dtype=torch.float64))
    assert not len(left)


def test_ends_of_the_settings():
    of = bank()
    tasks = sample_closed(of.labels, tasks=20, shots=3)
    zero_shot = TipAdapter(alpha=0).scores(of, tasks)
    assert TextProbe(C=1e-7).scores(of, tasks).numpy() == pytest.approx(zero_shot.numpy(), abs=1e-3)
    x, text = (torch.nn.functional.normalize(v, dim=-1) for v in (of.data, of.text))
    classes = of.labels[tasks.support.reshape(20, 5, 3)[..., 0]]
    for t in range(20):
        assert zero_shot[t].numpy() == pytest.approx((100 * x[tasks.query[t]] @ text[classes[t]].T).numpy(), abs=1e-3)
    for bad, words in (
        (lambda: TipAdapter(alpha=-1), "alpha = -1"),
        (lambda: TipAdapter(beta=np.nan), "beta = nan"),
        (lambda: TextProbe(C=0), "C = 0"),
        (lambda: TextProbe(scale=-1), "scale = -1"),
    ):
        with pytest.raises(InputError, match=words):
            bad()


@pytest.mark.parametrize("learner", [TipAdapter(), TextProbe()], ids=lambda m: m.name)
def test_what_names_are_worth(learner):
    """Telling names win at 1 shot; names that are all alike cost little; random ones are trusted, which costs a lot."""
    found = {}
    for names in ("telling", "alike", "random"):
        for shots in (1, 5):
            of = bank(names)
            tasks = sample_closed(of.labels, tasks=80, shots=shots)
            found[names, shots] = accuracy(learner, of, tasks) - accuracy(NearestCentroid(), of, tasks)
    assert 15 < found["telling", 1] < 36, found
    assert -4 < found["alike", 1] < 3 and -4 < found["alike", 5] < 3, found
    assert found["random", 1] < -25, found
    # What says how far to trust them mends it.
    of = bank("random")
    tasks = sample_closed(of.labels, tasks=80)
    doubtful = TipAdapter(scale=1, alpha=10) if learner.name == "tip-adapter" else TextProbe(scale=1)
    assert accuracy(doubtful, of, tasks) > accuracy(NearestCentroid(), of, tasks) - 6


@pytest.mark.parametrize("learner", [TipAdapter(), TextProbe()], ids=lambda m: m.name)
def test_names_go_with_the_classes_of_the_bank(learner):
    of = bank()
    tasks = sample_closed(of.labels, tasks=6, shots=2)
    scores = learner.scores(of, tasks)
    moved = np.random.default_rng(0).permutation(CLASSES)
    text = torch.empty_like(of.text)
    text[moved] = of.text
    again = Bank(of.data, moved[of.labels], "", text=text)
    assert torch.equal(learner.scores(again, tasks), scores)
    longer = Bank(of.data, of.labels, "", text=3 * of.text)
    assert learner.scores(longer, tasks).numpy() == pytest.approx(scores.numpy(), abs=1e-4)
    mixed = tasks.support.copy()
    mixed[2, 0] = (mixed[2, 0] + EACH) % len(of)
    with pytest.raises(InputError, match="class 0 of task 2 has images of several classes"):
        learner.scores(of, Tasks(mixed, tasks.support_label, tasks.query, tasks.query_label, 5, unseen=False))
    with pytest.raises(InputError, match="text: none in the bank"):
        learner.scores(Bank(of.data, of.labels, ""), tasks)


def test_text_follows_the_names_in_the_metadata_of_safetensors(tmp_path):
    of = bank()
    tensors = {"features": of.data, "labels": torch.from_numpy(of.labels.astype(np.int64)), "text": of.text}

    def read(names, **other):
        metadata = {"class_names": json.dumps(names)}
        save_file(tensors | other, tmp_path / "f.safetensors", metadata=metadata)
        return load_features(tmp_path / "f.safetensors")

    names = [f"class {c}" for c in range(len(of.text))][::-1]  # labels are in one order, their names in another
    found = read(names)
    for label, name in enumerate(names):  # row k of the file's text is of label k
        assert torch.equal(found.text[found.class_names.tolist().index(name)], of.text[label])
    few = of.labels < 3  # of some names there is no image
    found = read(names, features=of.data[few].clone(), labels=tensors["labels"][few])
    assert found.class_names.tolist() == names[2::-1] and torch.equal(found.text, of.text[[2, 1, 0]])
    with pytest.raises(InputError, match=f"text: {len(names)} rows for {len(names) + 1} classes"):
        read([*names, "no image"])
    with pytest.raises(InputError, match="its metadata name a class twice"):
        read([*names[1:], names[1]])


def test_text_and_center_in_a_file_of_features(tmp_path):
    of = bank()
    arrays = dict(features=of.data.numpy(), labels=of.labels)
    beside = dict(text=of.text.numpy().astype(np.float64), center=of.data.mean(dim=0).numpy())
    np.savez(tmp_path / "plain.npz", **arrays)
    np.savez(tmp_path / "both.npz", **arrays, **beside)
    np.savez(tmp_path / "other.npz", **arrays, text=beside["text"] + 1, center=beside["center"])
    save_file(
        {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in (arrays | beside).items()}, tmp_path / "b.safetensors"
    )
    plain, both, other, safe = (
        load_features(tmp_path / n) for n in ("plain.npz", "both.npz", "other.npz", "b.safetensors")
    )
    assert plain.text is plain.center is None and torch.equal(both.text, of.text) and torch.equal(safe.text, of.text)
    assert len({b.digest for b in (plain, both, other)}) == 3 and safe.digest == both.digest
    assert torch.equal(both.to("cpu").center, of.data.mean(dim=0))
    table = evaluation.run(f"features:{tmp_path}/both.npz", "none", "tip-adapter", "closed", tasks=5, queries=3)
    assert len(table) == 5
    for learner, words in (("text-probe", "reads an embedding of each class's name"), ("simpleshot", "center: none")):
        assert evaluation.ready(f"features:{tmp_path}/both.npz", "none", learner)
        with pytest.raises(InputError, match=words):
            evaluation.ready(f"features:{tmp_path}/plain.npz", "none", learner)
    # Texts as labels: rows in their sorted order.
    words = np.array([f"class {9 - k % 10}{k // 10}" for k in range(CLASSES)])
    order = np.argsort(words)
    np.savez(tmp_path / "named.npz", features=arrays["features"], labels=words[of.labels], text=beside["text"][order])
    named = load_features(tmp_path / "named.npz")
    tasks = sample_closed(of.labels, tasks=5)
    assert torch.equal(TipAdapter().scores(named, tasks), TipAdapter().scores(of, tasks))
    assert torch.equal(named.text[named.labels[::EACH]], of.text)


@pytest.mark.parametrize(
    "array, value, words",
    [
        ("text", np.ones((CLASSES - 1, DIM)), "text: 19 rows for 20 classes; one per class is needed"),
        ("text", np.ones((CLASSES, DIM + 1)), r"text: .* shape \(20, 65\); \(K, D\) floats, D as of the features"),
        ("text", np.ones(DIM), r"text: .* shape \(64,\)"),
        ("text", np.full((CLASSES, DIM), np.nan), "'text' in f.npz is float64 .*; finite floats are needed"),
        ("text", np.zeros((CLASSES, DIM)), "text: row 0 has length 0"),
        ("text", np.array(["a"] * CLASSES), "'text' in f.npz is <U1"),
        ("center", np.ones((1, DIM)), r"center: .* shape \(1, 64\); \(D,\) floats"),
        ("center", np.ones(DIM - 1), r"center: .* shape \(63,\)"),
        ("center", np.full(DIM, 1e300), "'center' in f.npz is float64 .*; finite floats are needed"),
    ],
)
def test_text_and_center_that_do_not_fit(tmp_path, array, value, words):
    of = bank()
    np.savez(tmp_path / "f.npz", features=of.data.numpy(), labels=of.labels, **{array: value})
    with pytest.raises(InputError, match=words):
        load_features(tmp_path / "f.npz")


# ------------------------------------------------------------ CLIP's text tower

TINY = {
    "embed_dim": 24,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    """A backbone that is built as CLIP is, with random weights in a file, and the whole model beside it."""
    import_torchvision()
    import open_clip

    (tmp_path / "tiny-clip.json").write_text(json.dumps(TINY))
    open_clip.add_model_config(tmp_path / "tiny-clip.json")
    torch.manual_seed(0)
    whole = open_clip.create_model("tiny-clip", pretrained=None).eval()
    save_file({k: v.contiguous().clone() for k, v in whole.state_dict().items()}, tmp_path / "w.safetensors")
    entry = registry.entries()["clip"]
    parts = {
        "backbone": replace(entry.backbone, dim=24, resolution=32),
        "build": partial(entry.build, model="tiny-clip"),
        "text": partial(entry.text, model="tiny-clip"),
    }
    monkeypatch.setitem(registry.entries(), "clip", replace(entry, **parts))
    return f"clip:{tmp_path}/w.safetensors", whole


def test_names_are_embedded_by_the_text_tower_and_kept(tiny_clip, monkeypatch):
    import open_clip

    name, whole = tiny_clip
    backbone = backbones.load(name)
    names = ["a_cat", "dog"]
    found = backbones.names_embedded(names, backbone)
    with torch.inference_mode():
        plain = [whole.encode_text(open_clip.tokenize([f"a photo of a {n}."]))[0] for n in ("a cat", "dog")]
        two = [whole.encode_text(open_clip.tokenize([t.format("dog") for t in ("a {}.", "art of {}")]))]
    assert found.numpy() == pytest.approx(unit(torch.stack(plain).numpy()), abs=1e-5)
    both = backbones.names_embedded(["dog"], backbone, ("a {}.", "art of {}"))
    assert both.numpy() == pytest.approx(unit(unit(two[0].numpy()).mean(axis=0))[None], abs=1e-5)
    assert (found[0] - found[1]).abs().max() > 1e-2
    assert len(list(store.path("text").iterdir())) == 2
    monkeypatch.setattr(registry, "_clip_text", None)
    object.__setattr__(backbone, "text", lambda sentences: 1 / 0)
    assert torch.equal(backbones.names_embedded(names, backbone), found)
    keys = {
        backbones.names_key(names, backbone),
        backbones.names_key(names[::-1], backbone),
        backbones.names_key(names, backbone, ("{}",)),
        backbones.names_key(names, replace(backbone, weights="other")),
    }
    assert len(keys) == 4
    with pytest.raises(InputError, match="templates = .*texts with {} for the name"):
        backbones.names_embedded(names, backbone, ("no name",))


def test_learners_of_names_run_on_images(tiny_clip, tmp_path):
    images = pictures("p")
    for learner in ("tip-adapter", "text-probe"):
        method = evaluation.ready(images, tiny_clip[0], learner)
        of = method.bank()
        assert torch.equal(of.text, backbones.names_embedded(images.class_names, method.backbone).to(of.text))
        assert of.text.shape == (7, 24) == (len(images.class_names), of.data.shape[1])
        record = method.record(TASKS)
        assert np.array_equal(record.correct, evaluation.evaluate(method.learner, of, TASKS).correct)
        # Other names are another record, though images and weights are the same.
        renamed = datasets.Images("p", images.images, images.labels, [*"tuvwxyz"])
        assert evaluation.ready(renamed, tiny_clip[0], learner).record(TASKS, stored=True) is None
        assert evaluation.ready(images, tiny_clip[0], learner).record(TASKS, stored=True) is not None
        with pytest.raises(InputError, match="glyph-conv has no text tower: clip has one"):
            evaluation.ready(images, "glyph-conv", learner)
    assert evaluation.ready(images, tiny_clip[0], "lr").bank().text is None


def test_weights_without_a_text_tower_are_told(tiny_clip, tmp_path):
    visual = {k: v.clone() for k, v in tiny_clip[1].state_dict().items() if k.startswith("visual.")}
    save_file(visual, tmp_path / "visual.safetensors")
    images = pictures("p")
    assert evaluation.ready(images, f"clip:{tmp_path}/visual.safetensors", "ncc").record(TASKS) is not None
    with pytest.raises(InputError, match=r"backbone clip: .*visual.safetensors has no text tower beside its network"):
        evaluation.ready(images, f"clip:{tmp_path}/visual.safetensors", "tip-adapter").record(TASKS)
    with pytest.raises(InputError, match="glyph-conv: it has no text tower"):
        backbones.names_embedded(["a"], backbones.load("glyph-conv"))


def test_logistic_regression_is_the_probe_without_names_but_for_its_intercept():
    """Balanced tasks of unit features: the two nearly agree, and the settings of one are those of the other."""
    of = bank("alike")
    tasks = sample_closed(of.labels, tasks=40, shots=5)
    one, other = TextProbe(1.0, 0.0).scores(of, tasks), LogisticRegression(1.0).scores(of, tasks)
    assert (one.argmax(-1) == other.argmax(-1)).float().mean() > 0.9
    assert learners.make("text-probe", C=2.0).C == 2.0
