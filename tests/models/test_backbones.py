"""Weights are pinned and never executed; features are cached by content."""

import copy
import ctypes
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image
from refusal import refuses, says_in_one_line, warned
from running import run_code
from safetensors.torch import load_file, save_file

from fslcore import catalogue, datasets, store
from fslcore.datasets import folder
from fslcore.models import backbones, features as feature_code, fused, networks, registry, weights
from fslcore.models.backbone import precision
from tests.pickled import Touch


def pictures(seed=0, n=70, side=28):
    x = np.random.default_rng(seed).integers(0, 256, (n, side, side, 1), dtype=np.uint8)
    return datasets.Images("pictures", x, np.arange(n) % 7, list("abcdefg"))


FLAT = backbones.Backbone("flat", dim=3 * 32 * 32, network=torch.nn.Flatten())


def noise(folder, images):
    """Files of a class."""
    (folder / "a").mkdir()
    for i in range(images):
        Image.effect_noise((40, 40), 50).save(folder / "a" / f"{i}.png")


@pytest.mark.parametrize("name", ["efficientnet-lite0", "glyph-conv"])
def test_packaged_weights_match_their_pin(name, monkeypatch):
    backbone = backbones.load(name)
    assert backbone.weights == registry.entries()[name].sha256
    monkeypatch.setitem(
        registry.entries(), name, replace(registry.entries()[name], sha256="0" * 64)
    )
    with refuses("pinned is 000"):
        backbones.load(name)


@pytest.mark.slow
def test_a_known_network_is_built_when_images_come_and_once():
    code = (
        "import sys; from dataclasses import replace; from fslcore.models import backbones\n"
        "known = backbones.load('efficientnet-lite0')\n"
        "assert known.digest and known.weights and 'timm' not in sys.modules\n"
        "assert replace(known, resolution=64).module is known.module and 'timm' in sys.modules"
    )
    run_code(code, check=True)


@pytest.mark.parametrize("name", ["clip", "dino"])
def test_missing_weights_say_which_file_and_from_where(name, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", lambda *_: None)
    with refuses(f"no weights; bring .*safetensors of timm/vit_base.*{name}:PATH"):
        backbones.load(name)


@pytest.mark.slow
@pytest.mark.parametrize("name, dim, other_name", [("clip-b32", 512, "clip")])
def test_vision_transformers_load_from_a_local_file_and_from_that_of_no_other(
    name, dim, other_name, tmp_path
):
    state = {key: torch.zeros(shape) for key, shape in released(name).items()}
    save_file(state, tmp_path / "w.safetensors")
    backbone = backbones.load(f"{name}:{tmp_path}/w.safetensors")
    with torch.inference_mode():
        assert backbone.module(
            backbone.preprocess(torch.zeros(1, 28, 28, 3, dtype=torch.uint8))
        ).shape == (1, dim)
    with refuses("w.safetensors", "checkpoint"):
        backbones.load(f"{other_name}:{tmp_path}/w.safetensors")


def released(name, width=768):
    """Names and shapes of the tensors in the released file of a ViT-B, written down from its documentation."""
    patch = {"clip-b32": 32, "dinov2": 14, "dinov2-reg": 14}.get(name, 16)
    places = ((518 if patch == 14 else 224) // patch) ** 2
    w, fourfold = (width,), (4 * width,)
    if name.startswith("clip"):
        block = {"attn.in_proj_weight": (3 * width, width), "attn.in_proj_bias": (3 * width,)}
        parts = {"attn.out_proj": (w, w), "mlp.c_fc": (fourfold, w), "mlp.c_proj": (w, fourfold)}
        norms, blocks = ("ln_1", "ln_2"), "transformer.resblocks"
        out = {
            "class_embedding": w,
            "positional_embedding": (places + 1, width),
            "proj": (width, 512),
        }
        out |= {"conv1.weight": (width, 3, patch, patch)}
        out |= {f"{ln}.{part}": w for ln in ("ln_pre", "ln_post") for part in ("weight", "bias")}
    else:
        block = {"ls1.gamma": w, "ls2.gamma": w} if patch == 14 else {}
        parts = {
            "attn.qkv": ((3 * width,), w),
            "attn.proj": (w, w),
            "mlp.fc1": (fourfold, w),
            "mlp.fc2": (w, fourfold),
        }
        norms, blocks = ("norm1", "norm2"), "blocks"
        out = {"cls_token": (1, 1, width), "patch_embed.proj.weight": (width, 3, patch, patch)}
        out |= {"patch_embed.proj.bias": w, "norm.weight": w, "norm.bias": w}
        out |= {"reg_token": (1, 4, width)} if name == "dinov2-reg" else {}
        out |= {"pos_embed": (1, places + (name != "dinov2-reg"), width)}
    block |= {f"{norm}.{part}": w for norm in norms for part in ("weight", "bias")}
    block |= {f"{part}.weight": rows + columns for part, (rows, columns) in parts.items()}
    block |= {f"{part}.bias": rows for part, (rows, _) in parts.items()}
    out |= {f"{blocks}.{i}.{part}": shape for i in range(12) for part, shape in block.items()}
    return {
        f"visual.{key}" if name.startswith("clip") else key: shape for key, shape in out.items()
    }


@pytest.mark.parametrize("name", "clip clip-b32 dino dinov2 dinov2-reg".split())
def test_the_loader_takes_the_names_and_shapes_of_the_released_files(name):
    """The whole architecture, on the meta device: no released file has been loaded here."""
    build = registry.entries()[name].build
    build = partial(build, device="meta") if name.startswith("clip") else build
    with torch.device("meta"):
        state = {key: torch.empty(shape) for key, shape in released(name).items()}
        build(state)
        lost = next(key for key in state if "7.mlp" in key and key.endswith("weight"))
        for change in ({lost: None}, {lost: torch.empty(5, 5)}):
            incomplete = {key: w for key, w in (state | change).items() if w is not None}
            with pytest.raises(RuntimeError, match=lost.removeprefix("visual.")):
                build(incomplete)


def test_weights_from_the_hub_are_pinned_at_first_use(tmp_path, monkeypatch):
    entry = replace(
        registry.entries()["glyph-conv"],
        local=None,
        sha256=None,
        hub=("somebody/net", "w.safetensors"),
    )
    monkeypatch.setitem(registry.entries(), "glyph-conv", entry)
    path = tmp_path / "w.safetensors"
    monkeypatch.setattr(weights, "_from_hub", lambda *_: path)
    save_file(networks.GlyphConv().state_dict(), path)
    first = backbones.load("glyph-conv")
    assert backbones.load("glyph-conv").weights == first.weights
    save_file(networks.GlyphConv().state_dict(), path)
    with refuses(f"pinned is {first.weights}"):
        backbones.load("glyph-conv")


def test_wrong_checkpoints_are_refused_and_not_executed(tmp_path):
    save_file({"a": torch.zeros(2)}, tmp_path / "other.safetensors")
    torch.save({"a": Touch(tmp_path / "trap")}, tmp_path / "evil.pth")
    (tmp_path / "trap").unlink(missing_ok=True)
    torch.save(torch.zeros(2), tmp_path / "tensor.pth")
    (tmp_path / "nothing.pth").write_bytes(b"")
    (tmp_path / "text.pth").write_text("ein Text")
    for name, reason in (
        ("other.safetensors", ""),
        ("evil.pth", ""),
        ("tensor.pth", r"\(it holds a Tensor"),
        ("nothing.pth", r"\(the file is empty"),
        ("text.pth", r"\(it is neither a PyTorch nor a safetensors file\)"),
    ):
        with refuses(name, "checkpoint", reason):
            backbones.load(f"glyph-conv:{tmp_path}/{name}")
    with refuses("glyph-conv: .* is a folder"):
        backbones.load(f"glyph-conv:{tmp_path}")
    checkpoint = catalogue.CHECKPOINTS / "glyph-conv.safetensors"
    (tmp_path / "named.pth").write_bytes(
        checkpoint.read_bytes()
    )  # told by content, not by its ending
    assert (
        backbones.load(f"glyph-conv:{tmp_path}/named.pth").weights
        == backbones.load("glyph-conv").weights
    )
    assert not (tmp_path / "trap").exists()
    with refuses("no weights file"):
        backbones.load(f"glyph-conv:{tmp_path}/none.pth")
    with refuses("glyph-conv", "~nobody-here/w.pth", "home"):
        backbones.load("glyph-conv:~nobody-here/w.pth")
    with refuses("one of efficientnet-lite0"):
        backbones.load("resnet")


def test_features_are_cached_by_content(monkeypatch):
    backbone, computed = backbones.load("glyph-conv"), []
    compute = backbones.compute
    monkeypatch.setattr(
        feature_code, "compute", lambda *a, **options: computed.append(1) or compute(*a, **options)
    )
    first = backbones.features(pictures(), backbone)
    second = backbones.features(pictures(), backbone)
    assert (
        len(computed) == 1
        and torch.equal(first.data, second.data)
        and first.digest == second.digest
    )
    changed = pictures()
    changed.images[3, 2, 1] ^= 1  # one grey level of one pixel
    backbones.features(changed, backbone)
    backbones.features(pictures(), replace(backbone, weights="other"))
    backbones.features(pictures(), replace(backbone, resolution=32))
    assert len(computed) == 4


def own_network(seed=0, activation=torch.nn.ReLU):
    torch.manual_seed(seed)
    layers = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), activation(), torch.nn.Dropout()
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def test_features_of_an_own_network_follow_its_parameters():
    first, second = (
        backbones.Backbone("mine", dim=8, network=own_network(seed)) for seed in (0, 1)
    )
    before = backbones.features(pictures(), first)
    assert not torch.equal(before.data, backbones.features(pictures(), second).data)
    assert before.digest == backbones.features(pictures(), first).digest
    with torch.no_grad():
        first.module[0].weight[0, 0, 0, 0] += (
            1  # its parameters are no inference tensors, which refuse this
        )
    assert not torch.equal(before.data, backbones.features(pictures(), first).data)


CHANGES = {
    "buffer": lambda network: network[1].running_mean.add_(1),
    "dtype": lambda network: network[0].double(),
    "layer": lambda network: network.append(torch.nn.Identity()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_key_of_an_own_network_covers_its_content(change):
    network = own_network()
    backbone = backbones.Backbone("mine", dim=8, network=network)
    before, names = backbone.digest, backbones.names_key(["a"], backbone)
    CHANGES[change](network)
    assert backbone.digest != before and backbones.names_key(["a"], backbone) != names


def test_the_key_of_an_own_network_covers_preprocessing_and_nothing_that_changes_no_feature():
    network = own_network()
    backbone = backbones.Backbone("mine", network=network)
    changes = [
        dict(mean=(0.5,) * 3),
        dict(std=(0.5,) * 3),
        dict(resolution=16),
        dict(interpolation="bicubic"),
    ]
    changes += [dict(weights="v2"), dict(network=own_network(activation=torch.nn.ELU))]
    assert len({replace(backbone, **change).digest for change in [{}, *changes]}) == 7
    before = backbone.digest
    network.train().to(memory_format=torch.channels_last)
    assert backbone.digest == before == replace(backbone, network=own_network).digest


def test_the_keys_of_stored_features_stay(monkeypatch):
    monkeypatch.setenv("FSLCORE_PRECISION", "f32")
    key = backbones.feature_key(datasets.load("glyphs/hebrew"), backbones.load("glyph-conv"))
    assert key == "7a45d066443ce1c9dcc7d427efd69151b2b98d38cbbac659819935e81ea97173"


def test_base_classes_of_a_file_of_the_user_are_not_known(tmp_path):
    own = backbones.load("glyph-conv")
    tensors = load_file(catalogue.CHECKPOINTS / "glyph-conv.safetensors")
    save_file(tensors, tmp_path / "bare.safetensors")  # without the recipe of its training
    assert (
        own.base == "glyphs"
        and backbones.load(f"glyph-conv:{tmp_path}/bare.safetensors").base is None
    )


def test_the_keys_of_known_networks_stay():
    backbone, network = backbones.load("glyph-conv"), networks.GlyphConv()
    assert backbone.digest == "a990ef2f0419224b22f9816e1db0ccb138522412134646919ce8f5be0eccf6e0"
    assert (
        replace(backbone, network=network).digest
        != backbone.digest
        != replace(backbone, network=lambda: network).digest
    )


def test_an_own_network_needs_its_name_and_no_more_and_is_run_in_evaluation_mode():
    network = own_network()
    backbone = backbones.Backbone("mine", network=network.train())
    assert backbone.dim == 8
    network.train()  # dropout would draw at random
    data = backbones.features(pictures(), backbone).data
    pixels = torch.from_numpy(pictures().images).permute(0, 3, 1, 2).expand(-1, 3, -1, -1) / 255
    small = torch.nn.functional.interpolate(pixels, (32, 32), mode="bilinear", antialias=True)
    with torch.no_grad():
        torch.testing.assert_close(data, network.eval()(small), rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_torchvision_and_timm_import_where_torch_is_of_another_build():
    code = (
        "import sys; from fslcore.models.backbones import Backbone\n"
        "assert 'torchvision' not in sys.modules\n"
        "from fslcore.models.networks import import_torchvision; import_torchvision()\n"
        "import timm, torch, torchvision\n"
        "print(Backbone('mine', network=torchvision.models.resnet18(num_classes=7)).dim)\n"
        "print(Backbone('mine', network=lambda: timm.create_model('resnet10t', num_classes=0)).dim)"
    )
    done = run_code(code, check=True)
    assert done.stdout.split() == ["7", "512"]


class Twice(torch.nn.Module):
    def forward(self, x):
        return x, x


@pytest.mark.parametrize(
    "network, message",
    [
        (
            torch.nn.Conv2d(3, 8, 3),
            r"network .*shape \(1, D\).*got shape \(1, 8, 30, 30\)",
        ),
        (torch.nn.Flatten(0), r"got shape \(3072,\)"),
        (Twice(), "got a tuple"),
        (torch.nn.Linear(4, 4), r"cannot read images of 32 × 32 pixels \(mat1 .*resolution=PIXELS"),
        (None, "network must be .*got None"),
    ],
)
def test_a_network_that_makes_no_features_is_refused(network, message):
    with refuses(message):
        backbones.Backbone("mine", network=network)


def test_features_of_another_length_than_said_are_refused():
    backbone = backbones.Backbone("mine", dim=7, network=own_network())
    with refuses(r"mine .* shape \(32, 7\), .*got shape \(32, 8\)"):
        backbones.features(pictures(), backbone)
    maps = backbones.Backbone("maps", dim=8, network=torch.nn.Conv2d(3, 8, 3))
    with refuses(r"got shape \(32, 8, 30, 30\)"):
        backbones.features(pictures(), maps)


def test_the_size_of_own_images_for_an_own_network_is_not_guessed(tmp_path):
    pixels = np.zeros((20, 20, 3), np.uint8)
    for name in ("a/1.png", "b/1.png"):
        (tmp_path / name).parent.mkdir()
        Image.fromarray(pixels + np.arange(20, dtype=np.uint8)[:, None, None]).save(tmp_path / name)
    backbone = backbones.Backbone("mine", network=own_network())
    with refuses("size", "mine", "resolution=PIXELS"):
        backbones.match_input_size(datasets.load(f"folder:{tmp_path}"), backbone)
    images, backbone = backbones.match_input_size(
        datasets.load(f"folder:{tmp_path}"), replace(backbone, resolution=24)
    )
    assert images.images.shape[1:3] == (24, 24) == (backbone.resolution,) * 2


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"garbage" * 100,
    "zeros, as a crash may leave a block": lambda content: (
        content[:5000] + bytes(4000) + content[9000:]
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_features_are_reported_and_made_again(damage, recwarn):
    backbone = backbones.load("glyph-conv")
    first = backbones.features(pictures(), backbone).data
    (path,) = store.path("features").iterdir()
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))
    assert torch.equal(backbones.features(pictures(), backbone).data, first)
    (line,) = warned(recwarn).splitlines()
    assert says_in_one_line(line, path, "damaged") and path.read_bytes() == content
    # Complete files without a digest: of something else, and of the very features.
    for tensor in (first[:5], first.half()):
        save_file({"features": tensor}, path)
        assert torch.equal(backbones.features(pictures(), backbone).data, first)
        assert path.read_bytes() == content


def test_damaged_pins_are_reported_and_made_again(recwarn):
    pins = store.path("weights.json")
    pins.parent.mkdir(parents=True)
    for text in ("", "{", "[1]", "\xff"):
        pins.write_text(text, "latin-1")
        assert weights._first_seen("net", "1234") == "1234" == weights._first_seen("net", "5678")
    assert f"{pins} is damaged" in warned(recwarn)


def test_processes_that_pin_at_the_same_time_keep_each_others_pins(monkeypatch, tmp_path):
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path))
    write = weights.replace_file
    monkeypatch.setattr(weights, "replace_file", lambda *a: time.sleep(0.2) or write(*a))
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(weights._first_seen, ["a", "b", "c"], "123")] == ["1", "2", "3"]
    assert json.loads(store.path("weights.json").read_text()) == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize(
    "gpus, name, expected",
    [
        (0, None, "cpu"),
        (2, "", "cuda"),
        (2, "cpu", "cpu"),
        (2, "cuda:1", "cuda:1"),
    ]
    + [(2, name, "refused") for name in ("cuda:2", "gpu")]
    + [(0, "cuda", "refused")],
)
def test_the_device_can_be_named(monkeypatch, gpus, name, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.delenv("FSLCORE_DEVICE", raising=False)
    if name is not None:
        monkeypatch.setenv("FSLCORE_DEVICE", name)
    if expected == "refused":
        allowed = ["cpu", "cuda", *(f"cuda:{i}" for i in range(gpus))] if gpus else ["cpu"]
        with refuses("device", f"{name!r}", *map(repr, allowed)):
            backbones.device()
    else:
        assert backbones.device() == torch.device(expected)


def test_bfloat16_is_asked_for_and_differs_by_rounding_alone(monkeypatch):
    backbone, images = backbones.load("efficientnet-lite0"), pictures(n=12)
    key, exact = (
        backbones.feature_key(images, backbone),
        backbones.compute(images, backbone).float(),
    )
    monkeypatch.setenv("FSLCORE_PRECISION", "bf16")
    rounded = backbones.compute(images, backbone).float()
    assert backbones.feature_key(images, backbone) != key
    assert not torch.equal(rounded, exact)
    assert torch.nn.functional.cosine_similarity(rounded, exact).min() > 0.99
    assert backbones.speed(images.images, backbone) > 0
    for name in ("f32", ""):
        monkeypatch.setenv("FSLCORE_PRECISION", name)
        assert backbones.feature_key(images, backbone) == key
    monkeypatch.setenv("FSLCORE_PRECISION", "auto")
    for can, expected in (
        ({"avx512_bf16": True}, "bf16"),
        ({"amx_bf16": True}, "bf16"),
        ({"avx512_f": True}, "f32"),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda can=can: can)
        assert precision() == expected
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as in an older torch
    assert precision() == "f32"
    monkeypatch.setenv("FSLCORE_PRECISION", "f16")
    with refuses("precision", "f16", "f32.*bf16.*auto"):
        backbones.feature_key(images, backbone)


@pytest.mark.parametrize(
    "variables, images, has_bfloat16, notes",
    [
        ({}, 3, True, 1),
        ({}, 3, False, 0),
        ({}, 2, True, 0),
        ({"FSLCORE_PRECISION": "f32"}, 3, True, 0),
    ],
)
def test_a_note_on_many_files_in_32_bits_names_what_is_faster(
    tmp_path, monkeypatch, recwarn, variables, images, has_bfloat16, notes
):
    monkeypatch.setattr(
        torch.cpu, "get_capabilities", lambda: {"avx512_bf16": has_bfloat16}, raising=False
    )
    monkeypatch.setattr(feature_code, "MANY", 3)
    monkeypatch.setenv("FSLCORE_PRECISION", variables.get("FSLCORE_PRECISION", ""))
    noise(tmp_path, images)
    backbones.features(pictures(), FLAT)
    assert not warned(recwarn)  # these are in memory
    for size in (32, 31):
        backbones.features(datasets.load_folder(tmp_path, size=size), FLAT)
    # Python may show a warning again at one line; a command prints each once.
    texts = {line for line in warned(recwarn).splitlines() if "FSLCORE_PRECISION=auto" in line}
    assert len(texts) == notes


MEMORY = """
import resource
import numpy as np
import torch
from fslcore.datasets import Images
from fslcore.models import backbones, features

def pages(size=2**24):  # that the system hands out while eight arrays come and go
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        torch.ones(size)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

kept, network = [], torch.nn.Flatten()
network.register_forward_hook(lambda *_: kept.append(pages()))
pictures = np.zeros((4 * features.BATCH, 8, 8, 3), np.uint8)
images = Images("black", pictures, np.arange(len(pictures)) % 2, ["a", "b"])
features.compute(images, backbones.Backbone("flat", dim=3 * 32 * 32, network=network))
usual = pages(2**25)  # larger than a gap that the smaller arrays have left
print(min(kept), usual)  # the least: a busy machine takes pages away
"""


@pytest.mark.slow
def test_memory_stays_while_features_are_computed_and_no_longer():
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("not glibc")
    usual = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = run_code(MEMORY, env=usual, check=True)
    faults, usual = map(int, done.stdout.split())
    assert usual > 4 * faults + 100


def test_a_processor_takes_as_many_images_at_once_as_fit_into_its_cache(monkeypatch):
    monkeypatch.setenv("FSLCORE_DEVICE", "cpu")
    sizes, network = [], torch.nn.Flatten()
    network.register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))
    images, backbone = pictures(n=10, side=32), replace(FLAT, network=network)
    together = backbones.compute(images, backbone)
    sizes.clear()
    monkeypatch.setattr(feature_code, "CACHED", 4 * 32**2)
    assert torch.equal(backbones.compute(images, backbone), together)
    assert sizes[-3:] == [4, 4, 2]


def test_files_are_decoded_once_and_in_threads_while_the_network_works(tmp_path, monkeypatch):
    rgb, in_main = folder.rgb, []
    main = threading.main_thread()
    monkeypatch.setattr(
        folder, "rgb", lambda *a: in_main.append(threading.current_thread() is main) or rgb(*a)
    )
    monkeypatch.setattr(feature_code, "BATCH", 5)
    noise(tmp_path, 18)
    images = datasets.load_folder(tmp_path, size=32)
    features = backbones.compute(images, FLAT)
    assert (
        in_main.count(True) == 5 and in_main.count(False) == 13
    )  # the first batch tries forms of the network
    assert torch.equal(features, backbones.compute(replace(images, images=images.images[:]), FLAT))


def norms(network):
    return sum(isinstance(m, torch.nn.BatchNorm2d) for m in network.modules())


@pytest.mark.parametrize(
    "name",
    ["efficientnet-lite0", "glyph-conv", "conv4", pytest.param("resnet12", marks=pytest.mark.slow)],
)
def test_folded_norms_change_nothing_but_rounding(name):
    torch.manual_seed(0)
    if name in ("conv4", "resnet12"):
        network, side = networks.NETWORKS[name].build().eval(), networks.NETWORKS[name].side
        for module in network.modules():  # as after training
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.2, 3)
                module.weight.data.uniform_(-1.5, 1.5)
                module.bias.data.normal_()
    else:
        network, side = backbones.load(name).module, 28
    images = torch.randn(12, 3, side, side)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    quick = fused.folded(network, images[:4])
    assert norms(network) > 0 == norms(quick)
    with torch.inference_mode():
        exact, faster = network(images), quick(images)
    assert (exact - faster).abs().max() < 1e-4 * exact.abs().max()
    assert all(
        (network.state_dict()[key] == value).all() for key, value in before.items()
    )  # the network is as it was


@pytest.mark.parametrize("side", [32, 64])
def test_fast_convolutions_have_the_same_outputs_and_gradients(side):
    network = backbones.load("efficientnet-lite0").module
    fast = fused.with_fast_convolutions(copy.deepcopy(network))
    x = torch.randn(3, 3, side, side, generator=torch.Generator().manual_seed(0))
    for model in (network, fast):
        model(x).square().sum().backward()
    assert fast(x).detach() == pytest.approx(network(x).detach(), abs=1e-4)
    named = dict(fast.named_parameters())
    for name, weight in network.named_parameters():
        off = (
            (named[name].grad - weight.grad).abs().max()
        )  # approx takes seconds on a million numbers
        assert off <= 1e-3 * weight.grad.abs().max() + 1e-6, name


def test_a_network_whose_parts_are_listed_in_another_order_stays_as_it_is():
    class Before(torch.nn.Module):  # normalises first, lists the convolution first
        def __init__(self):
            super().__init__()
            self.convolution, self.norm = torch.nn.Conv2d(3, 3, 1), torch.nn.BatchNorm2d(3)

        def forward(self, x):
            return self.convolution(self.norm(x)).flatten(1)

    network = Before().eval()
    network.norm.running_mean += 1
    assert fused.folded(network, torch.randn(4, 3, 8, 8)) is network
    flatten = torch.nn.Flatten()
    assert fused.folded(flatten, torch.randn(4, 3, 8, 8)) is flatten


def test_preprocessing():
    backbone = backbones.load("glyph-conv")
    x = pictures(n=2).images
    expected = (x.astype(np.float32) / 255 - 0.5) / 0.5
    assert backbone.preprocess(torch.from_numpy(x))[:, 0].numpy() == pytest.approx(
        expected[..., 0], abs=1e-6
    )
    assert [backbones.load("efficientnet-lite0").side(s, s) for s in (28, 32, 33, 96, 224)] == [
        32,
        32,
        64,
        64,
        64,
    ]
    with refuses("images .*of uint8, got"):
        backbone.preprocess(torch.zeros(2, 28, 28, 1))


def test_resnet12_and_its_map():
    torch.manual_seed(0)
    pooled, flat = networks.ResNet12().eval(), networks.ResNet12(pooled=False).eval()
    flat.load_state_dict(pooled.state_dict())
    x = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        assert pooled(x).shape == (2, 640)
        assert flat(x).view(2, 640, 2, 2).mean((2, 3)) == pytest.approx(pooled(x), abs=1e-5)
    convolutions = [m for m in pooled.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [m.kernel_size for m in convolutions].count((3, 3)) == 12 and len(convolutions) == 16


def test_dropblock_is_torchvisions_with_a_rate_that_rises():
    networks.import_torchvision()
    from torchvision.ops import drop_block2d

    block, x = networks.DropBlock(0.4, 3, batches=2), torch.rand(4, 5, 9, 9) + 1
    for rate in (0.2, 0.4, 0.4):
        torch.manual_seed(0)
        dropped = block(x)
        torch.manual_seed(0)
        assert torch.allclose(dropped, drop_block2d(x, rate, 3, training=True), atol=1e-5)
    assert (
        int(block.seen) == 3 and "seen" in block.state_dict()
    )  # a stopped training goes on from it
    block.eval()
    assert block(x) is x and int(block.seen) == 3
    for side in (1, 2):  # a map that is smaller than the squares, and of an even side
        networks.DropBlock(0.1, 5, batches=1)(torch.rand(2, 3, side, side)).sum()


def test_resnet12_drops_numbers_in_two_blocks_and_squares_in_the_others_in_training_alone():
    described = networks.Network("residual", (4, 4, 4, 4), side=84, dropout=0.5, dropblock=5)
    torch.manual_seed(0)
    network = described.build()
    drops = [block.out[2] for block in list(network)[:4]]
    assert [type(drop) for drop in drops] == [torch.nn.Dropout] * 2 + [networks.DropBlock] * 2
    assert [drop.p for drop in drops[:2]] == [0.5] * 2 and [
        (drop.rate, drop.side) for drop in drops[2:]
    ] == [(0.5, 5)] * 2
    torch.manual_seed(0)
    without_dropout = networks.Network("residual", (4, 4, 4, 4), side=84).build()
    assert all(
        (w == network.state_dict()[name]).all() for name, w in without_dropout.state_dict().items()
    )
    x = torch.rand(2, 3, 84, 84)
    with torch.no_grad():
        assert (
            network(x) != network(x)
        ).any()  # the running statistics do not change what training gives
        assert (without_dropout(x) == without_dropout(x)).all()
        without_dropout.load_state_dict(network.state_dict(), strict=False)
        assert (network.eval()(x) == without_dropout.eval()(x)).all()
    assert "Drop" not in repr(without_dropout)  # which is a part of digests


def test_resnet18_for_small_images_keeps_their_places():
    described = networks.Network("resnet18", side=24, stem=3)
    network = described.build().eval()
    places = []
    network.layer1.register_forward_hook(
        lambda module, inputs, output: places.append(output.shape[-2:])
    )
    with torch.inference_mode():
        assert network(torch.rand(1, 3, 24, 24)).shape == (1, described.dim)
    assert places == [(24, 24)] and network.conv1.weight.std().item() == pytest.approx(
        (2 / (64 * 9)) ** 0.5, rel=0.05
    )
    sizes = {
        name: tuple(w.shape)
        for name, w in networks.Network("resnet18").build().state_dict().items()
    }
    changed = {name for name, w in network.state_dict().items() if sizes[name] != tuple(w.shape)}
    assert changed == {"conv1.weight"}


@pytest.mark.parametrize(
    "kind, fields, message",
    [
        ("conv", {"dropout": 0.1}, r"dropout of conv .* 0, got 0\.1"),
        ("resnet18", {"dropblock": 5}, "dropblock of resnet18 .*got 5"),
        ("residual", {"dropout": 1}, "dropout must be a number >= 0 and < 1"),
        ("residual", {"dropblock": 1.5}, "dropblock must be an integer"),
        ("residual", {"stem": 3}, "stem of residual .* 7, got 3"),
        ("resnet18", {"stem": 5}, "stem of resnet18 .* 7 or 3, got 5"),
        ("resnet18", {"widths": (4,)}, "resnet18 has its own"),
    ],
)
def test_fields_that_a_network_does_not_have(kind, fields, message):
    with refuses(message):
        networks.Network(kind, **{"widths": () if kind == "resnet18" else (4, 4, 4, 4)} | fields)


BUILT = [
    *networks.NETWORKS.values(),
    networks.Network("conv", (4, 6, 8), side=21, pooled=2),
    networks.Network("conv", (4,) * 6, side=21, pooled=3),
    networks.Network("strided", (4, 8), side=21),
    *(
        networks.Network("residual", (4, 8, 8), side=21, averaged=averaged)
        for averaged in (True, False)
    ),
]


@pytest.mark.parametrize("network", BUILT, ids=repr)
def test_networks_have_the_features_that_they_name(network):
    with torch.inference_mode():
        out = network.build().eval()(torch.rand(2, 3, network.side, network.side))
    assert out.shape == (2, network.dim) and (
        network.map is None or np.prod(network.map) == network.dim
    )
    assert [networks.Network("conv", (64,) * 4, side).dim for side in (32, 84)] == [256, 1600]


def test_a_map_is_known_from_the_checkpoint(tmp_path):
    tensors = {
        f"network.{k}": w for k, w in networks.NETWORKS["conv4-map"].build().state_dict().items()
    }
    save_file(
        tensors,
        tmp_path / "d.safetensors",
        metadata={"training": '{"recipe": {"network": "conv4-map"}}'},
    )
    backbone = backbones.load(f"conv4-dn4:{tmp_path}/d.safetensors")
    assert (backbone.map, backbone.dim) == ((64, 4, 4), 1024)
    assert (
        backbones.load("conv4-protonet").map == (64, 2, 2)
        and backbones.load("efficientnet-lite0").map is None
    )
