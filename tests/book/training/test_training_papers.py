"""How the papers' own networks are trained."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from refusal import refuses, says_in_one_line, warned
from safetensors import safe_open

from fslbook import cli, training
from fslbook.catalogue import method_title
from fslbook.training import paper_networks, run as loop
from fslbook.training.papers import _file, of_paper
from fslcore import datasets, evaluation, learners
from fslcore.models import backbones

EVERY = [
    (paper, learner, dataset, shots)
    for paper, settings in _file().items()
    for learner in settings["learners"]
    for dataset in settings["datasets"]
    for shots in (1, 5)
]


def recipe_of(paper, learner, dataset, shots=5):
    return replace(training.RECIPES[learner], **of_paper(paper, learner, dataset, shots)[0])


@pytest.mark.parametrize("paper, learner, dataset, shots", EVERY)
def test_every_recipe_of_a_paper_can_be_followed(
    paper, learner, dataset, shots, tmp_path, monkeypatch
):
    """All fields are those of a recipe and are allowed; the work alone is left out."""
    monkeypatch.setattr(datasets, "check_name", lambda *_: None)
    monkeypatch.setattr(loop, "_check_usual", lambda *_: None)
    monkeypatch.setattr(loop, "_interventional", lambda _: False)
    recipe = loop._checked(
        learner, recipe_of(paper, learner, dataset, shots), {"dataset": f"{dataset}:x"}, paper
    )
    notes = of_paper(paper, learner, dataset, shots)[1]
    assert (
        notes["source"]
        and notes["unverified"]
        and all(isinstance(t, str) for texts in notes.values() for t in texts)
    )
    network = recipe.built
    assert network.side == {"cifar-fs": 32, "meta-album": 128}.get(dataset, 84)
    assert recipe.validation in (200, 600, 1000) and recipe.ways in (5, 20)
    kind = learners.learner_class(recipe.learner)
    if kind.needs_feature_map:
        assert network.map == (640, 5, 5)
    built = kind(**recipe.options, **({"map": network.map} if kind.needs_feature_map else {}))
    assert built.name == recipe.learner


# Its penalties are means over entries, as they are in fslbook.learners.LEO.
LEO_OF_LIBFEWSHOT = {
    **{"latent": 64, "steps": 5, "fine_steps": 5, "dropout": 0},
    **{"kl": 0.001, "drift": 1e-9, "correlation": 0.001},
}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (
            ("evaluators", "protonet", "meta-album?test_set=1"),
            dict(ways=20, steps=2500, mean=(0, 0, 0), read_at=128),
        ),
        (("evaluators", "r2d2", "cifar-fs:/x"), dict(optimiser="sgd", lr=0.1, size=4, steps=500)),
        (
            ("fewstab", "leo", "cub", 1),
            dict(lr=5e-4, size=4, steps=500, options=LEO_OF_LIBFEWSHOT),
        ),
        (
            ("fewstab", "renet", "tieredimagenet", 1),
            dict(epochs=100, milestones=(60, 80), factor=0.05, steps=1752),
        ),
    ],
)
def test_recipes_are_those_of_the_tables_and_configurations(arguments, expected):
    recipe = recipe_of(*arguments)
    assert {name: getattr(recipe, name) for name in expected} == expected


@pytest.fixture
def cifar_fs(tmp_path):
    """A small copy of the release's layout: 18 classes of 20 images."""
    rng = np.random.default_rng(0)
    names = [f"class{c:02}" for c in range(18)]
    lists = tmp_path / "data" / "splits" / "bertinetto"
    lists.mkdir(parents=True)
    for split, part in (("train", names[:6]), ("val", names[6:12]), ("test", names[12:])):
        (lists / f"{split}.txt").write_text("\n".join(part))
    for name in names:
        (tmp_path / "data" / "data" / name).mkdir(parents=True)
        pattern = rng.integers(0, 256, (4, 4, 3)).repeat(8, 0).repeat(8, 1)
        for i in range(20):
            pixels = (pattern + rng.normal(0, 30, (32, 32, 3))).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "data" / "data" / name / f"{i}.png")
    return f"cifar-fs:{tmp_path}/data"


SMALL = dict(epochs=1, steps=2, validation=4, progress=False)


@pytest.mark.parametrize("name", ["baseline", "baseline++", "protonet", "maml", "r2d2"])
def test_a_paper_is_followed_from_images_to_a_backbone(
    cifar_fs, tmp_path, monkeypatch, name, capsys
):
    monkeypatch.setattr(loop, "BUILD", tmp_path)
    path = training.train(name, paper="evaluators", dataset=cifar_fs, **SMALL | {"progress": True})
    assert path.name == f"conv4-{name}-evaluators-cifar-fs.safetensors"
    out = capsys.readouterr().out
    assert f"{path.stem}: as evaluators has it (configurations of EvalEvaluatorsFSL" in out
    assert "not verified, or other here: the order of the changes of colour" in out
    backbone = backbones.load(f"conv4-{name}:{path}")
    assert (backbone.dim, backbone.resolution, backbone.read_at) == (256, 32, 42)
    assert backbone.mean == pytest.approx([0.47214, 0.45331, 0.40996], abs=1e-5)
    learner = learners.make(training.RECIPES[name].learner, backbone)
    if name == "maml":  # the settings of its training are those of its evaluation
        assert (learner.steps, learner.lr, learner.transductive) == (10, 0.1, True)
        assert learners.make("maml", backbone, steps=3).steps == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            dict(name="protonet", paper="oops"),
            "paper must be 'evaluators' or 'fewstab', got 'oops'",
        ),
        (dict(name="leo", paper="evaluators"), "learner of the paper evaluators .*, got 'leo'"),
        (dict(name="maml", paper="evaluators"), "dataset of the paper .*, got 'coloured'"),
        ({"name": "protonet", "lr.x": 3}, "architecture.KEY or options.KEY, got lr.x = 3"),
        ({"name": "protonet", "rate": 3}, "field of a recipe must be 'learner', 'batch'"),
        ({"name": "protonet", "batch": "classes"}, "batch of protonet .*'tasks', got 'classes'"),
        (
            {"name": "anil", "options.pace": 3, "dataset": "coloured?per_class=20"},
            "options = {'pace': 3}; anil does not take them",
        ),
    ],
)
def test_what_a_recipe_of_a_paper_cannot_be(tmp_path, arguments, message):
    with refuses(message):
        training.train(output=tmp_path / "x.safetensors", progress=False, **arguments)
    assert not list(tmp_path.iterdir())


def test_the_command_takes_a_paper_and_sets_fields(cifar_fs, tmp_path, monkeypatch, capsys):
    calls, real = [], training.train
    monkeypatch.setattr(
        training, "train", lambda *names, **named: calls.append(named) or real(*names, **named)
    )
    sets = ("steps=1", "validation=2", "architecture.widths=[4, 4]", "augmentation=[flip]")
    options = [text for field in sets for text in ("--set", field)]
    file = str(tmp_path / "p.safetensors")
    words = [
        "train",
        "protonet",
        "--paper",
        "evaluators",
        "--dataset",
        cifar_fs,
        "--epochs",
        "1",
        "-o",
        file,
    ]
    assert cli.main([*words, *options, "--quiet"]) == 0
    assert calls[0]["architecture.widths"] == [4, 4] and calls[0]["augmentation"] == ["flip"]
    assert capsys.readouterr().out.strip() == file and backbones.load(
        f"conv4-protonet:{file}"
    ).map == (4, 8, 8)
    assert cli.main([*words, "--set", "lr"]) == 2
    assert says_in_one_line(capsys.readouterr().err, "set", r"lr", "FIELD=VALUE")


# --- all networks of a paper ---------------------------------------------------------------------------------


def test_all_networks_of_a_paper_are_listed_after_what_they_rest_on():
    for paper, count in (("evaluators", 5 * 5), ("fewstab", 3 * (2 + 2 * 16))):
        networks = [*paper_networks.networks(paper)]
        assert len(networks) == len({network for *_, network in networks}) == count
        for data_set in dict.fromkeys(data_set for _, data_set, _, _ in networks):
            names = [name for name, dataset, _, _ in networks if dataset == data_set]
            frozen = [n for n in names if "frozen" in of_paper(paper, n, data_set)[0]]
            assert not frozen or names.index("rfs") < min(map(names.index, frozen))
    named = {network for *_, network in paper_networks.networks("fewstab")}
    assert {"fewstab/cub-splits-fewstab/1shot-leo", "fewstab/miniimagenet/rfs"} < named
    assert not any(
        "1shot-rfs" in network for network in named
    )  # trained on batches of images: no shots
    assert "evaluators/meta-album-test_set-2/maml" in {
        network for *_, network in paper_networks.networks("evaluators")
    }
    with refuses("dataset of the paper fewstab must be", "miniimagenet", "got 'clipart'"):
        [*paper_networks.networks("fewstab", "clipart")]


@pytest.fixture
def small_paper(cifar_fs, monkeypatch):
    """Three learners of FewSTAB, of which one rests on another, on a data set of 32 pixels."""
    settings = _file()["fewstab"]
    monkeypatch.setitem(settings["datasets"], "cifar-fs", {})
    monkeypatch.setitem(
        settings,
        "learners",
        {name: settings["learners"][name] for name in ("leo", "protonet", "rfs")},
    )
    monkeypatch.setitem(settings, "sets", [cifar_fs])
    tiny = {
        "architecture.widths": [4, 4, 4, 4],
        "architecture.side": 32,
        "read_at": 36,
        "queries": 2,
        "size": 1,
    }
    return SMALL | tiny


def test_a_paper_is_trained_whole_goes_on_and_its_networks_are_known_by_name(
    small_paper, cifar_fs, own_cache, recwarn
):
    assert len(paper_networks.missing("fewstab")) == 5
    paths = [*training.train_paper("fewstab", seed=2, **small_paper)]
    for path in paths:
        with safe_open(path, "pt") as file:
            stored = json.loads(file.metadata()["training"])
        assert stored["seed"] == 2 and stored["recipe"]["dataset"] == cifar_fs
        assert stored["recipe"]["shots"] == (1 if path.stem.startswith("1shot-") else 5)
    folder = own_cache / "trained" / "fewstab" / "cifar-fs"
    assert {path.name for path in paths} == {path.name for path in folder.glob("*.safetensors")}
    assert {path.stem for path in paths} == {
        "rfs",
        "protonet",
        "1shot-protonet",
        "leo",
        "1shot-leo",
    }
    assert not paper_networks.missing("fewstab")
    (folder / "protonet.safetensors").rename(folder / "kept")
    before = {path: path.read_bytes() for path in paths if path.is_file()}
    second_paths = [*training.train_paper("fewstab", seed=2, **small_paper)]
    assert (
        second_paths == paths
        and (folder / "protonet.safetensors").read_bytes() == (folder / "kept").read_bytes()
    )
    assert all(path.read_bytes() == content for path, content in before.items())
    assert "fewstab/cifar-fs/rfs is already trained" in warned(recwarn)

    run = evaluation.configure(cifar_fs, "trained:fewstab/{dataset}/1shot-leo", "leo")
    assert run.backbone.name == "resnet12-1shot-leo" and run.backbone.read_at == 36
    tasks = evaluation.sample_tasks(run.source, "closed", tasks=3, ways=5, shots=1, queries=2)
    assert run.outcomes(tasks).correct.shape == (3, 10)
    assert method_title("trained:evaluators/{dataset}/baseline++", "cosine") == "Baseline++"
    with refuses("fewstab/cifar-fs/dn4", "no file", "train makes .* fewstab"):
        backbones.load("trained:fewstab/cifar-fs/dn4")


def test_the_command_trains_a_paper_and_says_which_data_are_missing(small_paper, capsys):
    fields = [
        f"{name}={json.dumps(value)}"
        for name, value in small_paper.items()
        if name not in ("epochs", "progress")
    ]
    options = [word for field in fields for word in ("--set", field)]
    assert cli.main(["train", "--paper", "fewstab", "--epochs", "1", "--quiet", *options]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5
    for arguments, line in (
        ([], "learner must be given, or only --paper"),
        (["--paper", "evaluators"], "data sets cifar-fs, miniimagenet, meta-album?test_set=0, "),
    ):
        assert cli.main(["train", *arguments]) == 2
        error = capsys.readouterr().err
        assert line in error and error.count("\n") == 1
