"""Nothing is made on another device than the data's: everything runs on a pretended one, which meets no CPU tensor.

A GPU is seldom at hand where tests run, and a ``torch.zeros(n)`` without its device is right on every CPU. Tensors of
the device "pretend" are wrapped CPU tensors: they compute, so that branches that look at values work, but an operation
on one and on a CPU tensor raises, as on a GPU (there too, numbers and indices may come from the CPU).
"""

import json
import runpy
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import fslbook  # noqa: F401  # whose learners then have names
from fslbook import training
from fslbook.training import run as loop
from fslcore import datasets, learners
from fslcore.catalogue import reads_images, registered_learners
from fslcore.datasets.bank import Bank
from fslcore.evaluation import cached_outcomes, check_transductive, evaluate
from fslcore.models import backbones, features as feature_code
from fslcore.models.networks import Conv4
from fslcore.paths import ROOT
from fslcore.tasks import sample_closed
from tests.learners import learner_inputs

aten = torch.ops.aten
# What may read tensors of both: a copy from one to the other, and indices on the CPU.
BOTH = (aten._to_copy.default, aten.copy_.default, aten.index.Tensor, aten.index_put_.default)


class Pretended(torch.Tensor):
    """A tensor on the device "pretend", which a CPU tensor holds the values of."""

    @staticmethod
    def __new__(cls, inner):
        layout = dict(
            strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype
        )
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), device="pretend:0", **layout)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})


def computed(func, args, kwargs):
    if func is aten._has_compatible_shallow_copy_type.default:  # asked by `Module.to`
        return isinstance(args[0], Pretended) == isinstance(args[1], Pretended)
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    mine = [t for t in tensors if isinstance(t, Pretended)]
    if mine and func not in BOTH and any(t.ndim for t in tensors if not isinstance(t, Pretended)):
        raise RuntimeError(f"{func} met tensors on two devices")
    device_argument = next(
        (d for d in tree_leaves((args, kwargs)) if isinstance(d, torch.device)), None
    )
    is_pretended = bool(mine) if device_argument is None else device_argument.type == "pretend"
    if func is aten.copy_.default:
        is_pretended = isinstance(args[0], Pretended)
    plain_args, plain_kwargs = tree_map_only(Pretended, lambda t: t.inner, (args, kwargs))
    plain_args, plain_kwargs = tree_map_only(
        torch.device, lambda _: torch.device("cpu"), (plain_args, plain_kwargs)
    )
    out = func(*plain_args, **plain_kwargs)
    if not is_pretended:
        return (
            out.clone()
            if device_argument is not None and any(out is t.inner for t in mine)
            else out
        )
    out = tree_map_only(torch.Tensor, Pretended, out)
    return return_and_correct_aliasing(func, args, kwargs, out) if mine else out


class Factories(TorchDispatchMode):
    """What makes tensors without reading one."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})


class FromValues(TorchFunctionMode):
    """`torch.tensor` and `torch.as_tensor`, which fill memory themselves."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        return func(*args, **kwargs)


@pytest.fixture
def pretend(monkeypatch):
    if not hasattr(torch, "pretend"):
        _setup_privateuseone_for_python_backend("pretend")
    device = torch.device("pretend", 0)
    for module in (backbones, feature_code):
        monkeypatch.setattr(module, "device", lambda: device)
    with FromValues(), Factories():
        yield device


MAP = (4, 3, 3)
DIM = 36


features = partial(learner_inputs.features, classes=12, n=25, dim=DIM, spread=0.5)


def pictures():
    x = np.random.default_rng(0).integers(0, 256, (6 * 22, 16, 16, 3), np.uint8)
    return datasets.Images("pictures", x, np.arange(6).repeat(22), list("abcdef"))


def network(name: str):
    torch.manual_seed(0)
    half, head = (0.5,) * 3, torch.nn.Linear(8, 5).state_dict()
    return backbones.Backbone(
        f"conv4-{name}",
        dim=8,
        network=Conv4(8).eval(),
        mean=half,
        std=half,
        resolution=16,
        weights="w",
        head=head,
    )


def learner_of(name: str):
    torch.manual_seed(0)
    if reads_images(name):
        return learners.make(name, network(name), **{"epochs" if name == "ft" else "steps": 2})
    learner = learner_inputs.as_trained(learners.learner_class(name), DIM, MAP)
    if name == "text-probe":
        learner.max_iter = 10  # names in random directions take it a thousand steps
    if name == "linear-sgd":
        learner.epochs = 2
    return learner


def bank_for(learner) -> Bank:
    if learner.reads == "features":
        return features()
    images = pictures()
    return Bank(torch.from_numpy(images.images), images.labels, "")


@pytest.mark.parametrize("name", registered_learners)
def test_learners_score_where_the_bank_is(name, pretend):
    """On features or images there, with uneven support; the scores are the CPU's."""
    learner, moved = learner_of(name), learner_of(name)
    bank = bank_for(learner)
    tasks = sample_closed(bank.labels, tasks=2, shots=(2, 3, 2, 3, 2), queries=3)
    scores = moved.scores(bank.to(pretend), tasks)
    assert scores.device == pretend
    expected = learner.scores(bank, tasks).detach().numpy()
    assert scores.detach().cpu().numpy() == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert evaluate(moved, bank.to(pretend), tasks).correct.shape == (2, 15)


@pytest.mark.parametrize("name", [name for name in registered_learners if not reads_images(name)])
def test_learners_take_features_of_64_bits(name):
    """Those with weights of their own too, which have 32 bits; also where the bank is prepared for many chunks."""
    bank = features()
    wide = replace(bank, data=bank.data.double(), finite=None)
    tasks = sample_closed(bank.labels, tasks=3, shots=2, queries=3)
    expected = evaluate(learner_of(name), bank, tasks).correct
    assert (
        evaluate(learner_of(name), wide, tasks).correct == expected
    ).mean() > 0.95  # a tie may be broken otherwise
    of_chunks, _ = cached_outcomes(wide, None, learner_of(name), tasks)
    assert (of_chunks.correct == expected).mean() > 0.95


@pytest.mark.parametrize("ways", [2, 5, 11])
def test_logistic_regression_of_any_number_of_classes(ways, pretend):
    bank = features()
    tasks = sample_closed(bank.labels, tasks=2, ways=ways, queries=3)
    learner = learners.LogisticRegression(C=100)
    scores = learner.scores(bank.to(pretend), tasks)
    assert scores.cpu().numpy() == pytest.approx(learner.scores(bank, tasks).numpy(), abs=1e-3)


def test_features_are_computed_there(pretend):
    images, backbone = pictures(), network("features")
    computed_features = backbones.compute(images, backbone)
    assert computed_features.device.type == "cpu" and computed_features.shape == (132, 8)
    assert backbones.speed(images.images[:8], backbone) > 0


@pytest.mark.slow
def test_the_script_for_a_gpu_runs_and_goes_on(tmp_path, monkeypatch, capsys):
    """On the CPU, in small; what was measured is not measured again."""
    path = tmp_path / "gpu.json"
    monkeypatch.setattr("sys.argv", ["gpu.py", "--quick", "-o", str(path)])
    runpy.run_path(str(ROOT / "benchmarks" / "gpu.py"), run_name="__main__")
    first = json.loads(path.read_text())
    on_cpu = [name for name in first["pieces"] if name.endswith(", cpu")]
    assert len(on_cpu) == 14 and all(first["pieces"][name]["speed"] > 0 for name in on_cpu)
    first["pieces"].pop("lr, 20 ways, cpu")
    path.write_text(json.dumps(first))
    capsys.readouterr()
    runpy.run_path(str(ROOT / "benchmarks" / "gpu.py"), run_name="__main__")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("lr, 20 ways, cpu")


@pytest.mark.parametrize("name", ["protonet", "sib", "maml"])
def test_the_probe_asks_there(name, pretend):
    learner = learner_of(name)
    bank = bank_for(learner).to(pretend)
    probed = check_transductive(
        learner, bank, sample_closed(bank.labels, tasks=2, shots=2, queries=3), queries=2
    )
    assert probed.queries == 4


@pytest.mark.parametrize("name", [n for n in training.RECIPES if n != "glyph-conv"])
def test_training_runs_there(name, pretend, monkeypatch, tmp_path):
    """One step of every recipe, its validation, and the file, of which its learner is made."""
    images = pictures()
    images = replace(images, images=np.repeat(np.repeat(images.images, 2, 1), 2, 2))
    monkeypatch.setattr(datasets, "load", lambda name, split: images)
    monkeypatch.setattr(loop, "VALIDATION", {"features": 4, "images": 2})
    recipe, size = training.RECIPES[name], dict(epochs=1, steps=1, lr=0.003)
    size["size"] = 1 if recipe.batch == "tasks" else 16
    shape = dict(shots=2, queries=3) if recipe.batch == "tasks" else {}
    for field in ("frozen", "teacher"):
        if getattr(recipe, field):
            baseline = training.train(
                "baseline", tmp_path / "other.safetensors", progress=False, **size | {"size": 16}
            )
            size[field] = f"conv4-baseline:{baseline}"
    path = training.train(
        name, tmp_path / f"conv4-{name}.safetensors", progress=False, **size | shape
    )
    backbone = backbones.load(f"conv4-{name}:{path}")
    assert learners.make(recipe.learner, backbone).name == recipe.learner


@pytest.mark.slow
def test_pieces_for_a_gpu_stop_in_time_fail_alone_and_are_not_repeated(tmp_path, monkeypatch):
    """A piece that fails or takes too long is noted, the others run; the next call runs what is missing."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "on_gpu.py"), run_name="on_gpu")
    waits = tmp_path / "waits"

    def pieces(folder, quick):
        python = [sys.executable, "-c"]
        writes = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('x')"
        sleeps = f"import pathlib, time; pathlib.Path({str(waits)!r}).exists() or time.sleep(60)"
        command = {
            name: [*python, code, str(folder / name)]
            for name, code in {
                "a": writes,
                "b": "raise SystemExit(3)",
                "c": f"{sleeps}; {writes}",
            }.items()
        }
        files = {name: folder / name for name in "abcd"}
        out = [script["Piece"](name, files[name], command[name], 0.6) for name in "abc"]
        needs_c = [*python, writes, str(files["d"])]
        return [*out, script["Piece"]("d", files["d"], needs_c, 20, needs=files["c"])]

    run_all = script["run_all"]
    monkeypatch.setitem(run_all.__globals__, "pieces", pieces)
    assert run_all(tmp_path, True, 5) is False
    first = json.loads((tmp_path / "pieces.json").read_text())
    assert {name: piece["ended"] for name, piece in first.items()} == {
        "a": "done",
        "b": "failed with exit code 3",
        "c": "stopped after 3 s",
    }
    assert first["a"]["machine"]["torch"] == torch.__version__ and "gpu" in first["a"]["machine"]
    first["a"]["date"] = "2020-01-01"  # it is not run again
    (tmp_path / "pieces.json").write_text(json.dumps(first))
    waits.touch()
    assert run_all(tmp_path, True, 5) is False  # b fails again
    second = json.loads((tmp_path / "pieces.json").read_text())
    assert second["a"]["date"] == "2020-01-01"
    assert second["c"]["ended"] == second["d"]["ended"] == "done"
    assert (
        run_all(tmp_path, True, 0) is False
        and json.loads((tmp_path / "pieces.json").read_text()) == second
    )
