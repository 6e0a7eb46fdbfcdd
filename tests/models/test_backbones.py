"""Weights are pinned and never executed; features are cached by content."""

import ctypes
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from fslcore import catalogue, datasets, store
from fslcore.datasets import folder
from fslcore.errors import InputError
from fslcore.models import backbones, fused, networks, registry, weights
from fslcore.models import features as feature_code
from fslcore.models.backbone import precision


def pictures(seed=0, n=70, side=28):
    x = np.random.default_rng(seed).integers(0, 256, (n, side, side, 1), dtype=np.uint8)
    return datasets.Images("pictures", x, np.arange(n) % 7, list("abcdefg"))


@pytest.mark.parametrize("name", ["efficientnet-lite0", "efficientnet-lite2", "glyph-conv"])
def test_packaged_weights_match_their_pin(name, monkeypatch):
    backbone = backbones.load(name)
    assert backbone.weights == registry.entries()[name].sha256
    monkeypatch.setitem(registry.entries(), name, replace(registry.entries()[name], sha256="0" * 64))
    with pytest.raises(InputError, match="pinned is 000"):
        backbones.load(name)


@pytest.mark.slow
def test_a_known_network_is_built_when_images_come_and_once():
    code = (
        "import sys; from dataclasses import replace; from fslcore.models import backbones\n"
        "known = backbones.load('efficientnet-lite0')\n"
        "assert known.digest and known.weights and 'timm' not in sys.modules\n"
        "assert replace(known, resolution=64).network is known.network and 'timm' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["clip", "clip-b32", "dino", "dinov2", "dinov2-reg"])
def test_missing_weights_say_which_file_and_from_where(name, monkeypatch):
    monkeypatch.setattr(weights, "_from_hub", lambda *_: None)
    with pytest.raises(InputError, match=f"no weights; bring .*safetensors of timm/vit_base.*{name}:PATH"):
        backbones.load(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, dim", [("clip", 512), ("clip-b32", 512), ("dino", 768), ("dinov2", 768), ("dinov2-reg", 768)]
)
def test_vision_transformers_load_from_a_local_file(name, dim, tmp_path):
    networks.import_torchvision()
    if name.startswith("clip"):
        import open_clip

        model = open_clip.create_model({"clip": "ViT-B-16-quickgelu", "clip-b32": "ViT-B-32-quickgelu"}[name]).visual
        state = {f"visual.{k}": v for k, v in model.state_dict().items()}
    else:
        import timm

        model = {
            "dino": "vit_base_patch16_224.dino",
            "dinov2": "vit_base_patch14_dinov2.lvd142m",
            "dinov2-reg": "vit_base_patch14_reg4_dinov2.lvd142m",
        }[name]
        state = timm.create_model(model, num_classes=0).state_dict()
        assert ("reg_token" in state) == (name == "dinov2-reg")
    save_file({k: v.contiguous().clone() for k, v in state.items()}, tmp_path / "w.safetensors")
    backbone = backbones.load(f"{name}:{tmp_path}/w.safetensors")
    with torch.inference_mode():
        assert backbone.network(backbone.preprocess(torch.zeros(1, 28, 28, 3, dtype=torch.uint8))).shape == (1, dim)
    if name == "clip-b32":
        with pytest.raises(InputError, match="clip: .*w.safetensors"):  # patches of another size
            backbones.load(f"clip:{tmp_path}/w.safetensors")
    if name.startswith("dinov2"):  # one with registers is none without, nor the other way round
        with pytest.raises(InputError, match="w.safetensors is not a checkpoint of this network"):
            backbones.load(f"{'dinov2' if 'reg' in name else 'dinov2-reg'}:{tmp_path}/w.safetensors")


def released(name, width=768):
    """Names and shapes of the tensors in the released file of a ViT-B, written down from its documentation."""
    patch = {"clip-b32": 32, "dinov2": 14, "dinov2-reg": 14}.get(name, 16)
    places = ((518 if patch == 14 else 224) // patch) ** 2
    w, fourfold = (width,), (4 * width,)
    if name.startswith("clip"):
        block = {"attn.in_proj_weight": (3 * width, width), "attn.in_proj_bias": (3 * width,)}
        parts = {"attn.out_proj": (w, w), "mlp.c_fc": (fourfold, w), "mlp.c_proj": (w, fourfold)}
        norms, blocks = ("ln_1", "ln_2"), "transformer.resblocks"
        out = {"class_embedding": w, "positional_embedding": (places + 1, width), "proj": (width, 512)}
        out |= {"conv1.weight": (width, 3, patch, patch)}
        out |= {f"{ln}.{part}": w for ln in ("ln_pre", "ln_post") for part in ("weight", "bias")}
    else:
        block = {"ls1.gamma": w, "ls2.gamma": w} if patch == 14 else {}
        parts = {"attn.qkv": ((3 * width,), w), "attn.proj": (w, w), "mlp.fc1": (fourfold, w), "mlp.fc2": (w, fourfold)}
        norms, blocks = ("norm1", "norm2"), "blocks"
        out = {"cls_token": (1, 1, width), "patch_embed.proj.weight": (width, 3, patch, patch)}
        out |= {"patch_embed.proj.bias": w, "norm.weight": w, "norm.bias": w}
        out |= {"reg_token": (1, 4, width)} if name == "dinov2-reg" else {}
        out |= {"pos_embed": (1, places + (name != "dinov2-reg"), width)}
    block |= {f"{norm}.{part}": w for norm in norms for part in ("weight", "bias")}
    block |= {f"{part}.weight": rows + columns for part, (rows, columns) in parts.items()}
    block |= {f"{part}.bias": rows for part, (rows, _) in parts.items()}
    out |= {f"{blocks}.{i}.{part}": shape for i in range(12) for part, shape in block.items()}
    return {f"visual.{key}" if name.startswith("clip") else key: shape for key, shape in out.items()}


@pytest.mark.parametrize("name", ["clip", "clip-b32", "dino", "dinov2", "dinov2-reg"])
def test_the_loader_takes_the_names_and_shapes_of_the_released_files(name):
    """The whole architecture, on the meta device: no released file has been loaded here."""
    build = registry.entries()[name].build
    build = partial(build, device="meta") if name.startswith("clip") else build
    with torch.device("meta"):
        state = {key: torch.empty(shape) for key, shape in released(name).items()}
        build(state)
        lost = next(key for key in state if "7.mlp" in key and key.endswith("weight"))
        for change in ({lost: None}, {lost: torch.empty(5, 5)}):
            kept = {key: w for key, w in (state | change).items() if w is not None}
            with pytest.raises(RuntimeError, match=lost.removeprefix("visual.")):
                build(kept)


def test_weights_from_the_hub_are_pinned_at_first_use(tmp_path, monkeypatch):
    entry = replace(registry.entries()["glyph-conv"], local=None, sha256=None, hub=("somebody/net", "w.safetensors"))
    monkeypatch.setitem(registry.entries(), "glyph-conv", entry)
    path = tmp_path / "w.safetensors"
    monkeypatch.setattr(weights, "_from_hub", lambda *_: path)
    save_file(networks.GlyphConv().state_dict(), path)
    first = backbones.load("glyph-conv")
    assert backbones.load("glyph-conv").weights == first.weights
    save_file(networks.GlyphConv().state_dict(), path)
    with pytest.raises(InputError, match=f"pinned is {first.weights}"):
        backbones.load("glyph-conv")


class Trap:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_wrong_checkpoints_are_refused_and_not_executed(tmp_path):
    save_file({"a": torch.zeros(2)}, tmp_path / "other.safetensors")
    torch.save({"a": Trap(tmp_path / "trap")}, tmp_path / "evil.pth")
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
        with pytest.raises(InputError, match=f"{name} is not a checkpoint of this network {reason}") as error:
            backbones.load(f"glyph-conv:{tmp_path}/{name}")
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="glyph-conv: .* is a folder"):
        backbones.load(f"glyph-conv:{tmp_path}")
    checkpoint = catalogue.CHECKPOINTS / "glyph-conv.safetensors"
    (tmp_path / "named.pth").write_bytes(checkpoint.read_bytes())  # told by content, not by its ending
    assert backbones.load(f"glyph-conv:{tmp_path}/named.pth").weights == backbones.load("glyph-conv").weights
    assert not (tmp_path / "trap").exists()
    with pytest.raises(InputError, match="no weights file"):
        backbones.load(f"glyph-conv:{tmp_path}/none.pth")
    with pytest.raises(InputError, match="backbone glyph-conv = ~nobody-here/w.pth; Could not determine home"):
        backbones.load("glyph-conv:~nobody-here/w.pth")
    with pytest.raises(InputError, match="known are efficientnet-lite0"):
        backbones.load("resnet")


def test_features_are_cached_by_content(monkeypatch):
    backbone, computed = backbones.load("glyph-conv"), []
    compute = backbones.compute
    monkeypatch.setattr(feature_code, "compute", lambda *a: computed.append(1) or compute(*a))
    first = backbones.features(pictures(), backbone)
    again = backbones.features(pictures(), backbone)
    assert len(computed) == 1 and torch.equal(first.data, again.data) and first.digest == again.digest
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
    made = dict(source="", licence="", dim=8, weights="seed0")
    first, second = (backbones.Backbone("mine", made=own_network(seed), **made) for seed in (0, 1))
    before = backbones.features(pictures(), first)
    assert not torch.equal(before.data, backbones.features(pictures(), second).data)
    assert first.digest != second.digest and before.digest == backbones.features(pictures(), first).digest
    with torch.no_grad():
        first.network[0].weight[0, 0, 0, 0] += 1  # its parameters are no inference tensors, which refuse this
    assert not torch.equal(before.data, backbones.features(pictures(), first).data)


def changed_buffer(network):
    network[1].running_mean += 1


def changed_dtype(network):
    network[0].double()


@pytest.mark.parametrize("change", [changed_buffer, changed_dtype, lambda network: network.append(torch.nn.Identity())])
def test_the_key_of_an_own_network_covers_what_it_holds(change):
    network = own_network()
    backbone = backbones.Backbone("mine", dim=8, made=network)
    before, names = backbone.digest, backbones.names_key(["a"], backbone)
    change(network)
    assert backbone.digest != before and backbones.names_key(["a"], backbone) != names


def test_the_key_of_an_own_network_covers_preprocessing_and_layers_and_nothing_that_changes_no_feature():
    network = own_network()
    backbone = backbones.Backbone("mine", made=network)
    found = {backbone.digest}
    for other in (dict(mean=(0.5,) * 3), dict(std=(0.5,) * 3), dict(resolution=16), dict(interpolation="bicubic")):
        found.add(replace(backbone, **other).digest)
    found |= {
        replace(backbone, weights="v2").digest,
        replace(backbone, made=own_network(activation=torch.nn.ELU)).digest,
    }
    assert len(found) == 7
    network.train().to(memory_format=torch.channels_last)
    assert backbone.digest == replace(backbone, made=own_network).digest and backbone.digest in found


def test_the_keys_of_known_networks_stay():
    known = backbones.load("glyph-conv")
    assert known.digest == "a990ef2f0419224b22f9816e1db0ccb138522412134646919ce8f5be0eccf6e0"
    other = networks.GlyphConv()
    assert replace(known, made=other).digest != known.digest != replace(known, made=lambda: other).digest


def test_an_own_network_needs_its_name_and_no_more_and_is_run_in_evaluation_mode():
    network = own_network()
    backbone = backbones.Backbone("mine", made=network.train())
    assert backbone.dim == 8
    network.train()  # dropout would draw at random
    found = backbones.features(pictures(), backbone).data
    pixels = torch.from_numpy(pictures().images).permute(0, 3, 1, 2).expand(-1, 3, -1, -1) / 255
    small = torch.nn.functional.interpolate(pixels, (32, 32), mode="bilinear", antialias=True)
    with torch.no_grad():
        torch.testing.assert_close(found, network.eval()(small), rtol=1e-2, atol=1e-3)


@pytest.mark.slow
def test_torchvision_and_timm_import_where_torch_is_of_another_build():
    code = (
        "import sys; from fslcore.models.backbones import Backbone\n"
        "assert 'torchvision' not in sys.modules\n"
        "from fslcore.models.networks import import_torchvision; import_torchvision()\n"
        "import timm, torch, torchvision\n"
        "print(Backbone('mine', made=torchvision.models.resnet18(num_classes=7)).dim)\n"
        "print(Backbone('mine', made=lambda: timm.create_model('resnet10t', num_classes=0)).dim)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True)
    assert done.stdout.split() == ["7", "512"]


class Twice(torch.nn.Module):
    def forward(self, x):
        return x, x


@pytest.mark.parametrize(
    "network, message",
    [
        (torch.nn.Conv2d(3, 8, 3), r"of 1 image its network makes shape \(1, 8, 30, 30\); a tensor of shape \(1, D\)"),
        (torch.nn.Flatten(0), r"makes shape \(3072,\)"),
        (Twice(), "makes a tuple"),
        (torch.nn.Linear(4, 4), r"cannot read images of 32 × 32 pixels \(mat1 .*resolution=PIXELS"),
        (None, "made = None"),
    ],
)
def test_a_network_that_makes_no_features_is_refused(network, message):
    with pytest.raises(InputError, match=message):
        backbones.Backbone("mine", made=network)


def test_features_of_another_length_than_said_are_refused():
    backbone = backbones.Backbone("mine", dim=7, made=own_network())
    with pytest.raises(InputError, match=r"mine: of 70 images .* shape \(70, 8\); a tensor of shape \(70, 7\)"):
        backbones.features(pictures(), backbone)
    maps = backbones.Backbone("maps", dim=8, made=torch.nn.Conv2d(3, 8, 3))
    with pytest.raises(InputError, match=r"makes shape \(70, 8, 30, 30\)"):
        backbones.features(pictures(), maps)


def test_the_size_of_own_images_for_an_own_network_is_not_guessed(tmp_path):
    pixels = np.zeros((20, 20, 3), np.uint8)
    for name in ("a/1.png", "b/1.png"):
        (tmp_path / name).parent.mkdir()
        Image.fromarray(pixels + np.arange(20, dtype=np.uint8)[:, None, None]).save(tmp_path / name)
    backbone = backbones.Backbone("mine", made=own_network())
    with pytest.raises(InputError, match="size: mine does not say .* resolution=PIXELS"):
        backbones.fitted(datasets.load(f"folder:{tmp_path}"), backbone)
    images, backbone = backbones.fitted(datasets.load(f"folder:{tmp_path}"), replace(backbone, resolution=24))
    assert images.images.shape[1:3] == (24, 24) == (backbone.resolution,) * 2


def empty(whole):
    return b""


def cut(whole):
    return whole[: len(whole) // 2]


def garbage(whole):
    return b"garbage" * 100


def zeros_within(whole):  # as a crash may leave a block
    return whole[:5000] + bytes(4000) + whole[9000:]


@pytest.mark.parametrize("damage", [empty, cut, garbage, zeros_within])
def test_damaged_features_are_told_and_made_again(damage, capsys):
    backbone = backbones.load("glyph-conv")
    first = backbones.features(pictures(), backbone)
    (path,) = store.path("features").iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert torch.equal(backbones.features(pictures(), backbone).data, first.data)
    said = capsys.readouterr().err
    assert f"fslcore: {path} is damaged and made again" in said and said.count("\n") == 1
    assert path.read_bytes() == whole
    save_file({"features": first.data[:5]}, path)  # whole, and of something else
    assert torch.equal(backbones.features(pictures(), backbone).data, first.data)
    save_file({"features": first.data.half()}, path)  # as they were written before they had a digest
    assert torch.equal(backbones.features(pictures(), backbone).data, first.data) and path.read_bytes() != whole


def test_damaged_pins_are_told_and_made_again(monkeypatch, capsys):
    pins = store.path("weights.json")
    pins.parent.mkdir(parents=True)
    for text in ("", "{", "[1]", "\xff"):
        pins.write_text(text, "latin-1")
        assert weights._first_seen("net", "1234") == "1234" == weights._first_seen("net", "5678")
    assert f"{pins} is damaged and made again" in capsys.readouterr().err


def test_processes_that_pin_at_the_same_time_keep_each_others_pins(monkeypatch, tmp_path):
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path))
    write = weights.replace_file
    monkeypatch.setattr(weights, "replace_file", lambda *a: time.sleep(0.2) or write(*a))
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(weights._first_seen, ["a", "b", "c"], "123")] == ["1", "2", "3"]
    assert json.loads(store.path("weights.json").read_text()) == {"a": "1", "b": "2", "c": "3"}


def test_the_device_can_be_named(monkeypatch):
    monkeypatch.setenv("FSLCORE_DEVICE", "cpu")
    assert backbones.device().type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert backbones.device().type == "cpu"
    for name in ("cuda", "cuda:1"):
        monkeypatch.setenv("FSLCORE_DEVICE", name)
        assert backbones.device() == torch.device(name)
    for name in ("cuda:2", "gpu", "cpu:3"):
        monkeypatch.setenv("FSLCORE_DEVICE", name)
        with pytest.raises(InputError, match=f"device = {name}; cpu, cuda, cuda:0, cuda:1 are allowed"):
            backbones.device()
    monkeypatch.setenv("FSLCORE_DEVICE", "")
    assert backbones.device().type == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("FSLCORE_DEVICE")
    assert backbones.device().type == "cpu"
    monkeypatch.setenv("FSLCORE_DEVICE", "cuda")
    with pytest.raises(InputError, match="device = cuda; cpu is allowed"):
        backbones.device()


def test_bfloat16_is_asked_for_and_differs_by_rounding_alone(monkeypatch):
    backbone, images = backbones.load("efficientnet-lite0"), pictures(n=12)
    key, exact = backbones.feature_key(images, backbone), backbones.compute(images, backbone).float()
    monkeypatch.setenv("FSLCORE_PRECISION", "bf16")
    rounded = backbones.compute(images, backbone).float()
    assert backbones.feature_key(images, backbone) != key
    assert not torch.equal(rounded, exact)
    assert torch.nn.functional.cosine_similarity(rounded, exact).min() > 0.99
    assert backbones.speed(backbone, images.images) > 0
    for name in ("f32", ""):
        monkeypatch.setenv("FSLCORE_PRECISION", name)
        assert backbones.feature_key(images, backbone) == key
    monkeypatch.setenv("FSLCORE_PRECISION", "auto")
    for can, expected in (({"avx512_bf16": True}, "bf16"), ({"amx_bf16": True}, "bf16"), ({"avx512_f": True}, "f32")):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda can=can: can)
        assert precision() == expected
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as in an older torch
    assert precision() == "f32"
    monkeypatch.setenv("FSLCORE_PRECISION", "f16")
    with pytest.raises(InputError, match="precision = f16; f32, bf16, auto are allowed"):
        backbones.feature_key(images, backbone)


@pytest.mark.parametrize(
    "given, images, can, said",
    [
        ({}, 3, True, 1),
        ({}, 3, False, 0),
        ({}, 2, True, 0),
        ({"FSLCORE_PRECISION": "f32"}, 3, True, 0),  # asked for
        ({"FSLCORE_QUIET": "1"}, 3, True, 0),
    ],
)
def test_a_long_wait_for_a_folder_in_32_bits_says_what_is_faster(
    tmp_path, monkeypatch, capsys, given, images, can, said
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": can}, raising=False)
    monkeypatch.setattr(feature_code, "MANY", 3)
    for name in ("FSLCORE_PRECISION", "FSLCORE_QUIET"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "a").mkdir()
    for i in range(images):
        Image.effect_noise((20, 20), 50).save(tmp_path / "a" / f"{i}.png")
    network = backbones.Backbone("flat", dim=3 * 32 * 32, made=torch.nn.Flatten())
    backbones.features(pictures(), network)
    assert not capsys.readouterr().err  # these are in memory
    for size in (32, 31):
        backbones.features(datasets.load_folder(tmp_path, size=size), network)
    assert capsys.readouterr().err.count("--precision auto") == said


def test_features_do_not_depend_on_threads():
    backbone, images = backbones.load("efficientnet-lite0"), pictures(n=100)
    threads = torch.get_num_threads()
    try:
        out = []
        for count in (1, 2):
            torch.set_num_threads(count)
            out.append(backbones.compute(images, backbone, False).float())
    finally:
        torch.set_num_threads(threads)
    assert out[0] == pytest.approx(out[1], abs=2e-3)


MEMORY = """
import resource
import numpy as np
import torch
from fslcore.datasets import Images
from fslcore.models import backbones, features

def pages():  # that the system hands out while eight arrays of 64 MB come and go
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

kept, network = [], torch.nn.Flatten()
network.register_forward_hook(lambda *_: kept.append(pages()))
pictures = np.zeros((2 * features.BATCH, 8, 8, 3), np.uint8)
images = Images("black", pictures, np.arange(len(pictures)) % 2, ["a", "b"])
features.compute(images, backbones.Backbone("flat", dim=3 * 32 * 32, made=network))
pages()  # what was kept is given back once
print(min(kept), pages())  # the least: a busy machine takes pages away
"""


@pytest.mark.slow
def test_memory_stays_while_features_are_computed_and_no_longer():
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("not glibc")
    usual = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", MEMORY], env=usual, capture_output=True, text=True, check=True)
    kept, usual = map(int, done.stdout.split())
    assert usual > 4 * kept + 100


def test_a_processor_takes_as_many_images_at_once_as_fit_into_its_cache(monkeypatch):
    monkeypatch.setenv("FSLCORE_DEVICE", "cpu")
    seen, network = [], torch.nn.Flatten()
    network.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    images, backbone = pictures(n=10, side=32), backbones.Backbone("flat", dim=3 * 32 * 32, made=network)
    whole = backbones.compute(images, backbone)
    seen.clear()
    monkeypatch.setattr(feature_code, "CACHED", 4 * 32**2)
    assert torch.equal(backbones.compute(images, backbone), whole)
    assert seen[-3:] == [4, 4, 2]


def test_files_are_decoded_once_and_in_threads_while_the_network_works(tmp_path, monkeypatch):
    rgb, in_main = folder.rgb, []
    main = threading.main_thread()
    monkeypatch.setattr(folder, "rgb", lambda *a: in_main.append(threading.current_thread() is main) or rgb(*a))
    monkeypatch.setattr(feature_code, "BATCH", 5)
    (tmp_path / "a").mkdir()
    for i in range(18):
        Image.effect_noise((40, 40), 50).save(tmp_path / "a" / f"{i}.png")
    images = datasets.load_folder(tmp_path, size=32)
    backbone = backbones.Backbone("flat", dim=3 * 32 * 32, made=torch.nn.Flatten())
    found = backbones.compute(images, backbone)
    assert in_main.count(True) == 5 and in_main.count(False) == 13  # the first batch tries forms of the network
    assert torch.equal(found, backbones.compute(replace(images, images=images.images[:]), backbone))


def norms(network):
    return sum(isinstance(m, torch.nn.BatchNorm2d) for m in network.modules())


@pytest.mark.parametrize("name", ["efficientnet-lite0", "glyph-conv", "conv4", "resnet12"])
def test_folded_norms_change_nothing_but_rounding(name):
    torch.manual_seed(0)
    if name in networks.NETWORKS and name != "glyph-conv":
        network, side = networks.NETWORKS[name].build().eval(), networks.NETWORKS[name].side
        for module in network.modules():  # as after training
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.2, 3)
                module.weight.data.uniform_(-1.5, 1.5)
                module.bias.data.normal_()
    else:
        network, side = backbones.load(name).network, 28
    images = torch.randn(12, 3, side, side)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    quick = fused.folded(network, images[:4])
    assert norms(network) > 0 == norms(quick)
    with torch.inference_mode():
        same, found = network(images), quick(images)
    assert (same - found).abs().max() < 1e-4 * same.abs().max()
    assert all((network.state_dict()[key] == value).all() for key, value in before.items())  # the network is as it was


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
    plain = torch.nn.Flatten()
    assert fused.folded(plain, torch.randn(4, 3, 8, 8)) is plain


def test_preprocessing():
    backbone = backbones.load("glyph-conv")
    x = pictures(n=2).images
    expected = (x.astype(np.float32) / 255 - 0.5) / 0.5
    assert backbone.preprocess(torch.from_numpy(x))[:, 0].numpy() == pytest.approx(expected[..., 0], abs=1e-6)
    assert [backbones.load("efficientnet-lite0").side(s, s) for s in (28, 32, 33, 96, 224)] == [32, 32, 64, 64, 64]
    with pytest.raises(InputError, match="uint8 is needed"):
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
        found = block(x)
        torch.manual_seed(0)
        assert torch.allclose(found, drop_block2d(x, rate, 3, training=True), atol=1e-5)
    assert int(block.seen) == 3 and "seen" in block.state_dict()  # a stopped training goes on from it
    block.eval()
    assert block(x) is x and int(block.seen) == 3
    for side in (1, 2):  # a map that is smaller than the squares, and of an even side
        networks.DropBlock(0.1, 5, batches=1)(torch.rand(2, 3, side, side)).sum()


def test_resnet12_drops_numbers_in_two_blocks_and_squares_in_the_others_in_training_alone():
    known = networks.Network("residual", (4, 4, 4, 4), side=84, dropout=0.5, dropblock=5)
    torch.manual_seed(0)
    network = known.build()
    drops = [block.out[2] for block in list(network)[:4]]
    assert [type(drop) for drop in drops] == [torch.nn.Dropout] * 2 + [networks.DropBlock] * 2
    assert [drop.p for drop in drops[:2]] == [0.5] * 2 and [(drop.rate, drop.side) for drop in drops[2:]] == [
        (0.5, 5)
    ] * 2
    torch.manual_seed(0)
    plain = networks.Network("residual", (4, 4, 4, 4), side=84).build()
    assert all((w == network.state_dict()[name]).all() for name, w in plain.state_dict().items())
    x = torch.rand(2, 3, 84, 84)
    with torch.no_grad():
        assert (network(x) != network(x)).any()  # the running statistics do not change what training gives
        assert (plain(x) == plain(x)).all()
        plain.load_state_dict(network.state_dict(), strict=False)
        assert (network.eval()(x) == plain.eval()(x)).all()
    assert "Drop" not in repr(plain)  # which is a part of digests


def test_resnet18_for_small_images_keeps_their_places():
    known = networks.Network("resnet18", side=24, stem=3)
    network = known.build().eval()
    places = []
    network.layer1.register_forward_hook(lambda module, given, made: places.append(made.shape[-2:]))
    with torch.inference_mode():
        assert network(torch.rand(1, 3, 24, 24)).shape == (1, known.dim)
    assert places == [(24, 24)] and network.conv1.weight.std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.05)
    sizes = {name: tuple(w.shape) for name, w in networks.Network("resnet18").build().state_dict().items()}
    changed = {name for name, w in network.state_dict().items() if sizes[name] != tuple(w.shape)}
    assert changed == {"conv1.weight"}


def test_conv4_of_the_papers_has_the_features_that_they_say():
    assert [networks.Network("conv", (64,) * 4, side).dim for side in (32, 84)] == [256, 1600]


@pytest.mark.parametrize(
    "kind, more, message",
    [
        ("conv", {"dropout": 0.1}, "dropout = 0.1, dropblock = 0; 0 is allowed for conv"),
        ("resnet18", {"dropblock": 5}, "0 is allowed for resnet18"),
        ("residual", {"dropout": 1}, "dropout = 1; a number of at least 0 and below 1"),
        ("residual", {"dropblock": 1.5}, "dropblock = 1.5; a whole number"),
        ("residual", {"stem": 3}, "stem = 3; 7 is allowed, and 3 for resnet18"),
        ("resnet18", {"stem": 5}, "stem = 5; 7 is allowed, and 3 for resnet18"),
    ],
)
def test_fields_that_a_network_does_not_have(kind, more, message):
    with pytest.raises(InputError, match=message):
        networks.Network(kind, () if kind == "resnet18" else (4, 4, 4, 4), **more)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_networks_are_what_the_registry_says(name):
    known = networks.NETWORKS[name]
    with torch.inference_mode():
        out = known.build().eval()(torch.rand(1, 3, known.side, known.side))
    assert out.shape == (1, known.dim)
    assert known.map is None or np.prod(known.map) == known.dim


@pytest.mark.parametrize(
    "kind, widths, more",
    [("conv", (4, 6, 8), {"pooled": 2}), ("conv", (4,) * 6, {"pooled": 3}), ("strided", (4, 8), {})]
    + [("residual", (4, 8, 8), {"averaged": averaged}) for averaged in (True, False)],
)
def test_a_network_of_another_depth_width_and_side_has_the_features_it_says(kind, widths, more):
    known = networks.Network(kind, widths, side=21, **more)
    with torch.inference_mode():
        out = known.build().eval()(torch.rand(2, 3, 21, 21))
    assert out.shape == (2, known.dim) and (known.map is None or np.prod(known.map) == known.dim)
    with pytest.raises(InputError, match="resnet18 has its own"):
        networks.Network("resnet18", widths)


def test_a_map_is_known_from_the_checkpoint(tmp_path):
    tensors = {f"network.{k}": w for k, w in networks.NETWORKS["conv4-map"].build().state_dict().items()}
    save_file(tensors, tmp_path / "d.safetensors", metadata={"training": '{"recipe": {"network": "conv4-map"}}'})
    backbone = backbones.load(f"conv4-dn4:{tmp_path}/d.safetensors")
    assert (backbone.map, backbone.dim) == ((64, 4, 4), 1024)
    assert backbones.load("conv4-protonet").map == (64, 2, 2) and backbones.load("efficientnet-lite0").map is None
