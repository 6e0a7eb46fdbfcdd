"""``fslcore train``: names, numbers, data and outputs. Recipes are cut to two steps, or a case would take minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .common import Case, Ran, fine, fslcore, nowhere, of_area, small_disk
from .images import one

case = of_area("train")


def short() -> None:
    """Recipes of two steps and few validation tasks."""
    from fslcore.tools.training import RECIPES
    from fslcore.tools.training.run import VALIDATION

    for name, recipe in RECIPES.items():
        RECIPES[name] = replace(recipe, steps=2, epochs=min(recipe.epochs, 1), size=min(recipe.size, 8))
    VALIDATION.update(features=5, images=3)


def data(classes: int = 12, per: int = 24) -> None:
    """Classes enough to be split into those to train on and those to select with."""
    for c in range(classes):
        for i in range(per):
            one(f"data/class {c:02d}/{i}.png", c % 3, (c + i) % 6)


def train(*more: str, learner: str = "protonet", dataset: str = "folder:data") -> Ran:
    short()
    given = [] if "--dataset" in more or not dataset else ["--dataset", dataset]
    return fslcore("train", learner, *([] if "-o" in more else ["-o", "out.safetensors"]), *given, *more)


def whole(ran: Ran) -> str | None:
    """A checkpoint that can be read, and its curve beside it."""
    from safetensors.numpy import load_file

    load_file("out.safetensors")
    head = Path("out.csv").read_text().splitlines()[0]
    return None if head.startswith("epoch") else f"a curve of {head}"


def option(*more: str, name: str = "", learner: str = "protonet", before: Callable = data, **wanted) -> Case:
    return case(name or " ".join(more), lambda: (before(), train(*more, learner=learner))[1], limit=30, **wanted)


def split(ran: Ran) -> str | None:
    """A word on which classes train and which select."""
    return (
        None
        if "validation" in ran.text.lower().replace("validation nan", "") and "class" in ran.text.lower()
        else ("trained and validated on the same images without a word")
    )


BAD = {
    "epochs": ("0", "-1", "nan", "x", "2.5"),
    "shots": ("0", "-1", "nan", "x", "2.5", "1000000000", "30"),
    "seed": ("-1", "nan", "x", "2.5"),
}
options = [
    *(
        option(f"--{name}", v, says=(name, v) if v not in ("1000000000", "30") else (name,))
        for name, values in BAD.items()
        for v in values
    ),
    option("--seed", "1000000000000", right=whole, says=("seed",)),
    option("--seed", "99999999999999999999999999", says=("seed",), right=whole),
    option("--epochs", "99999999999999999999999999", says=("epochs",)),
    option("--epochs", "1", name="good", right=whole),
    option("--epochs", "1", name="a folder: a word on the split", right=split, says=("split|validation",)),
    option("--epochs", "1", name="the same once more", before=lambda: (data(), train()), right=whole),
    option("--network", "resnet50", says=("resnet50", "conv4")),
    option("--network", "conv5", says=("conv5", "mean conv4|conv4")),
    option("--network", "Conv4", says=("Conv4", "conv4")),
    option("--network", "", says=("network",)),
    option("--network", "clip", says=("clip",)),
    option(
        "--network",
        "conv4",
        name="DN4 on a network without a map",
        learner="dn4",
        says=("dn4|map", "conv4"),
        right=fine,
    ),
    option(
        "--frozen",
        "conv4-baseline",
        "--network",
        "resnet12",
        name="LEO on another network than its frozen one",
        learner="leo",
        says=("resnet12", "conv4-baseline"),
    ),
    option("--teacher", "conv4-baseline", name="a teacher of LEO", learner="leo", says=("teacher", "leo")),
    option("--frozen", "conv4-baseline", name="a frozen network of DN4", learner="dn4", says=("frozen", "dn4")),
    option("--frozen", "conv5", learner="leo", says=("conv5", "conv4-baseline")),
    option("--teacher", "conv4-baseline:gone", learner="rfs", says=("gone",)),
    option("--shots", "1", name="shots of a learner on batches", learner="baseline", says=("shots", "baseline")),
    option(learner="protonett", name="learner protonett", says=("protonett", "mean protonet")),
    option(learner="ncc", name="learner ncc", says=("ncc", "protonet")),
    option(learner="ProtoNet", name="learner ProtoNet", says=("ProtoNet", "protonet")),
    option(learner="", name="learner empty", says=("learner",)),
    option(learner="clip", name="learner clip", says=("clip", "protonet")),
    case("no learner", lambda: fslcore("train"), says=("learner",)),
    option("--size", "0", says=("size",)),
    option("--lr", "0.1", says=("lr",)),
    option("extra", says=("extra",)),
]


def few(classes: int, per: int, **wanted) -> Case:
    return option("--epochs", "1", name=f"{classes} classes of {per}", before=lambda: data(classes, per), **wanted)


sets = [
    few(1, 30, says=("class",)),
    few(2, 30, says=("class|ways",)),
    few(4, 30, says=("class|ways",)),
    few(6, 30, says=("class|ways|split",), warns=("class",)),
    few(12, 5, says=("images|shots",)),
    few(12, 1, says=("images|shots",)),
    option(
        "--epochs",
        "1",
        name="a corrupt image",
        before=lambda: (data(), Path("data/class 00/0.png").write_text("x")),
        says=("0.png",),
    ),
    option("--epochs", "1", name="an empty class", before=lambda: (data(), Path("data/none").mkdir()), says=("none",)),
    *(
        option("--dataset", d, says=words)
        for d, words in {
            "clipard": ("clipard", "mean clipart"),
            "folder:gone": ("gone",),
            "": ("dataset",),
            "folder:": ("dataset|folder",),
            "features:f.npz": ("features:f.npz",),
            "data": ("data", "folder:"),
            "coloured?bias=7": ("bias", "7"),
            "glyphs/hebrew": ("glyphs/hebrew",),
            "fashion": ("fashion",),
            "cub:.": (".",),
        }.items()
    ),
]
outputs = [
    option("-o", "out.csv", name="output out.csv: the curve would take its place", says=("out.csv", ".safetensors")),
    option("-o", "out.pt", name="output out.pt", says=("out.pt", ".safetensors"), right=lambda _: _readable("out.pt")),
    option("-o", "out", name="output without ending", says=("out", ".safetensors"), right=lambda _: _readable("out")),
    option(
        "-o", "out.pth", name="output out.pth", says=("out.pth", ".safetensors"), right=lambda _: _readable("out.pth")
    ),
    option("-o", "", name="output empty", says=("output|-o",)),
    option("-o", ".safetensors", name="output .safetensors", says=(".safetensors",), right=fine),
    option("-o", "data", name="output is the data", says=("data",)),
    option(
        "--epochs",
        "1",
        "-o",
        "new/out.safetensors",
        name="output in a new folder",
        right=lambda _: _readable("new/out.safetensors"),
    ),
    option(
        "--epochs",
        "1",
        name="text in place of a stopped run",
        before=lambda: (data(), Path(".out.training").write_text("x")),
        says=(".out.training",),
        right=whole,
    ),
    option(
        "--epochs",
        "1",
        name="nothing in place of a stopped run",
        before=lambda: (data(), Path(".out.training").touch()),
        says=(".out.training",),
        right=whole,
    ),
    option(
        "--epochs",
        "1",
        name="another thing in place of a stopped run",
        before=lambda: (data(), _other()),
        says=(".out.training",),
        right=whole,
    ),
]


def _readable(path: str) -> str | None:
    """Whether what was written is read as weights."""
    from fslcore.errors import InputError
    from fslcore.models import backbones

    try:
        backbones.load(f"conv4-protonet:{path}")
    except InputError as error:
        return f"written, and then: {error}"
    return None


def _other() -> None:
    import torch

    torch.save([1, 2, 3], ".out.training")


def _into(make: Callable[[], str]) -> Callable[[], Ran]:
    def call() -> Ran:
        data()
        return train("--epochs", "1", "-o", make())

    return call


def _early(make: Callable[[], str]) -> Callable[[], str]:
    """What a bar or a line says of an epoch, before the output is refused."""

    def call() -> str:
        from fslcore.tools.training.run import _Run

        data()
        epochs = []
        kept = _Run.train_epoch
        _Run.train_epoch = lambda run, *a, **k: (epochs.append(1), kept(run, *a, **k))[1]
        try:
            train("--epochs", "1", "-o", make())
        except (OSError, RuntimeError):
            pass
        finally:
            _Run.train_epoch = kept
        return "trained first" if epochs else ""

    return call


for name, make in nowhere(".safetensors").items():
    outputs.append(case(f"output: {name}", _into(make), says=("plain|there|proc|xxx",), limit=40))
    outputs.append(
        case(f"output: {name}: told before the work", _early(make), right=lambda text: text or None, limit=40)
    )


def _full() -> Ran:
    data()
    with small_disk():
        return train("--epochs", "1")


outputs.append(case("a disk without room", _full, says=("out|room|space|large",), limit=40))
CASES = options + sets + outputs
