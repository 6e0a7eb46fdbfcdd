"""Files that ship and were made of others name those by digest (``inputs.json``), as records do by their key.

Where an image, a weight or a setting is another now, the files are to be made again, by the script beside them.
"""

import hashlib
import importlib.util
import json

import pytest
from safetensors import safe_open

from fslcore import datasets
from fslcore.paths import DATA

MADE = ("episodes", "coverage", "checkpoints")


def script(folder):
    spec = importlib.util.spec_from_file_location(f"{folder}_build", DATA / folder / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", MADE)
def test_files_are_those_that_were_bound(folder):
    kept = json.loads((DATA / folder / "inputs.json").read_text())["files"]
    there = [p for p in (DATA / folder).rglob("*") if p.suffix in (".parquet", ".safetensors")]
    assert kept == {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in there}


@pytest.mark.parametrize("folder", ["episodes", "coverage"])
def test_what_files_were_made_of_is_what_is_there(folder):
    kept = json.loads((DATA / folder / "inputs.json").read_text())["inputs"]
    now = json.loads(json.dumps(script(folder).inputs()))
    for name in sorted({*kept, *now}):
        assert kept.get(name) == now.get(name), f"{name} changed: make data/{folder} again, by its build.py"


def test_networks_were_trained_on_the_images_that_are_there():
    kept, loaded = json.loads((DATA / "checkpoints" / "inputs.json").read_text())["inputs"], {}
    files = {p.name: p for p in (DATA / "checkpoints").rglob("*.safetensors")}
    assert set(kept) == set(files)
    for name, path in files.items():
        with safe_open(path, "pt") as file:
            made = file.metadata() or {"training": json.dumps({"recipe": {"dataset": "glyphs"}})}  # glyph-conv
        dataset = json.loads(made["training"])["recipe"]["dataset"]
        if dataset not in loaded:
            loaded[dataset] = {s: datasets.load(dataset, split=s).digest for s in ("base", "validation")}
        assert kept[name] == loaded[dataset], f"{name}: {dataset} is not what it was trained on; train it again"
        assert json.loads(made.get("data", "null")) in (None, kept[name])


def test_what_changes_is_told(tmp_path):
    """A file written over, and an input that is another."""
    build = script("episodes")
    (tmp_path / "a.parquet").write_bytes(b"one")
    build._build.bind(tmp_path, "*.parquet", {"images": {"d": "0"}})
    first = json.loads((tmp_path / "inputs.json").read_text())
    (tmp_path / "a.parquet").write_bytes(b"two")
    build._build.bind(tmp_path, "*.parquet", {"images": {"d": "1"}})
    second = json.loads((tmp_path / "inputs.json").read_text())
    assert first["files"].keys() == second["files"].keys() == {"a.parquet"}
    assert first["files"] != second["files"] and first["inputs"] != second["inputs"]
    assert [p.name for p in sorted(tmp_path.iterdir())] == ["a.parquet", "inputs.json"]
