"""Small files that would expand to gigabytes are refused before they do, and a cache that can only be read is used."""

import resource
import shutil
import subprocess
import sys
import zipfile
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from refusal import refuses, says_in_one_line

from fslbook import released
from fslbook.attributes import Attributes
from fslcore.cli import app
from fslcore.datasets.bank import load_features
from fslcore.models import backbones, features as feature_code
from fslcore.paths import check_expanded
from fslcore.report import Results
from fslcore.tasks import Tasks

GIB = 2**30
SIZE = 3 * 2**27


def zeros(path, name, head=b"", size=SIZE):
    """A zip archive with a member of so many zero bytes, a thousandth in the file."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as file,
    ):
        file.write(head)
        for _ in range(size // 2**24):
            file.write(bytes(2**24))


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    """Files that expand to 384 MiB, each of a few mebibytes."""
    folder = tmp_path_factory.mktemp("bombs")
    rows = SIZE // 4 // 64
    head = np.lib.format.header_data_from_array_1_0(np.zeros((1, 64), np.float32)) | {
        "shape": (rows, 64)
    }
    with open(folder / "head", "wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
    zeros(folder / "a.npz", "features.npy", (folder / "head").read_bytes())
    torch.save({"features": torch.zeros(2, 2), "labels": torch.zeros(2)}, folder / "b.pt")
    with zipfile.ZipFile(folder / "b.pt") as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("data/0")]
    zeros(folder / "b.pt", name)
    torch.save(torch.ones(1).expand(SIZE // 4), folder / "one.pt")
    torch.save(
        {"features": torch.ones(1, 1).expand(SIZE // 16, 4), "labels": torch.ones(2)},
        folder / "same.pt",
    )
    values = pa.array(np.zeros(2**20))
    table = pa.Table.from_arrays([pa.chunked_array([values] * 48)], ["ours"])
    pa.parquet.write_table(table, folder / "d.parquet")
    return folder


READ = {
    "features: .npz": lambda folder: load_features(folder / "a.npz"),
    "features: .pt": lambda folder: load_features(folder / "b.pt"),
    "features: .pt of one number": lambda folder: load_features(folder / "same.pt"),
    "results: .parquet": lambda folder: Results.read(folder / "d.parquet"),
    "backbone conv4: .pt": lambda folder: backbones.load(f"conv4-baseline:{folder / 'b.pt'}"),
    "tasks: .npz": lambda folder: Tasks.load(folder / "a.npz"),
    "attributes: .npz": lambda folder: Attributes.load(folder / "a.npz"),
    "released: .pt": lambda folder: released._accuracies(folder / "b.pt"),
}


@pytest.mark.parametrize("kind_of_file", READ)
def test_a_small_file_is_not_expanded_to_gigabytes(bombs, kind_of_file, monkeypatch):
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.25")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kind = kind_of_file.partition(":")[0]
    with refuses(f"^{kind}.* expand .*FSLCORE_EXPANDED=1 allows"):
        READ[kind_of_file](bombs)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # KiB


def test_what_may_expand_is_said_by_a_variable_and_by_the_size_of_the_file(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(bytes(2**20))
    check_expanded("f", path, GIB)
    with refuses(r"f .* at most 1.0 GiB, got 1.0 GiB from the 1.0 MiB .*EXPANDED=2 al"):
        check_expanded("f", path, GIB + 1)
    monkeypatch.setenv("FSLCORE_EXPANDED", "1.5")
    check_expanded("f", path, GIB + 2**29)
    with refuses("at most 1.5 GiB"):
        check_expanded("f", path, GIB + 2**29 + 1)
    monkeypatch.setattr("fslcore.paths.memory", lambda: GIB)
    with refuses("at most 1.0 GiB"):
        check_expanded("f", path, GIB + 1)
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.001")
    check_expanded("f", path, 20 * 2**20)
    with refuses("at most 0.0 GiB"):
        check_expanded("f", path, 20 * 2**20 + 1)
    for wrong in ("all", "0", "nan"):
        monkeypatch.setenv("FSLCORE_EXPANDED", wrong)
        with refuses("FSLCORE_EXPANDED must be a number > 0", f"got .*{wrong}"):
            check_expanded("f", path, 1)


def test_of_an_archive_only_what_is_read_counts(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_EXPANDED", "0.001")
    arrays = dict(features=np.eye(4), labels=np.arange(4) % 2)
    np.savez_compressed(tmp_path / "f.npz", **arrays, images=np.zeros(2**22))
    assert len(load_features(tmp_path / "f.npz")) == 4
    np.savez_compressed(tmp_path / "f.npz", **arrays, text=np.zeros(2**22))
    with refuses("FSLCORE_EXPANDED"):
        load_features(tmp_path / "f.npz")


@contextmanager
def read_only(folder):
    """The folder mounted so that it can only be read, as permissions do not bind root."""
    mount = (
        ["mount", "--bind", str(folder), str(folder)],
        ["mount", "-o", "remount,ro,bind", str(folder)],
    )
    if not shutil.which("mount") or any(
        subprocess.run(words, capture_output=True).returncode for words in mount
    ):
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts of Linux")
def test_a_cache_that_can_only_be_read_is_used(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for name in range(6):
        (tmp_path / f"photos/class{name}").mkdir(parents=True)
        for i in range(8):
            pixels = rng.integers(0, 256, (12, 12, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / f"photos/class{name}/{i}.png")
    cache = tmp_path / "cache"
    monkeypatch.setenv("FSLCORE_CACHE", str(cache))

    def evaluate(output, backbone="conv4-protonet", *options):
        command = [
            "evaluate",
            f"folder:{tmp_path}/photos",
            backbone,
            "-o",
            str(tmp_path / output),
            *options,
        ]
        return app.main(
            [*command, *"--tasks 30 --shots 1 --queries 5 --learners ncc --quiet".split()]
        )

    assert evaluate("a.csv") == 0
    files = sorted(cache.rglob("*"))
    with read_only(cache):
        capsys.readouterr()
        assert evaluate("b.csv") == 0 and not capsys.readouterr().err
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
        monkeypatch.setattr(
            feature_code,
            "compute",
            lambda *_, **options: pytest.fail("computed what cannot be kept"),
        )
        for changes in (("conv4-protonet", "--seed", "1"), ("conv4-r2d2",)):
            assert evaluate("c.csv", *changes) == 2
            line = capsys.readouterr().err
            assert says_in_one_line(line, "FSLCORE_CACHE", cache, "Read-only file system", "set")
    assert not (tmp_path / "c.csv").exists() and sorted(cache.rglob("*")) == files
