"""Fetching the papers' own data: miniatures in the official layouts, from a server on this machine, and its faults."""

import errno
import hashlib
import io
import json
import os
import pickle
import runpy
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from pickled import Touch
from refusal import refuses, says_in_one_line
from running import captured, run_code

from fslbook import notebooks
from fslcore import datasets, download, fetch, sources
from fslcore.cli import app
from fslcore.datasets.papers import SETS
from fslcore.datasets.splits import listed_splits
from tests.rehearsal import miniatures, served
from tests.rehearsal.served import NETWORKS, SHIPPED

PAPERS = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[1] / "datasets" / "test_paper_datasets.py"))
)
EVALUATORS = miniatures.OF_PAPER["evaluators"]
IMAGES = {  # of the novel split of each miniature
    "omniglot": 24,
    "aircraft": 45,
    "dtd": 21,
    "vgg-flower": 93,
    "flowers102": 531,
    "traffic-signs": 40,
    "mscoco": 120,
    "quickdraw": 156,
    "cifar-fs": 960,
    "eurosat": 240,
    "food101": 240,
    "cub?splits=chen": 6,
    "meta-album?test_set=2": 150,
}


ARCHIVE = "/dtd/dtd-r1.0.1.tar.gz"


def cub(root):
    (root / "CUB_200_2011").mkdir()
    PAPERS.cub(root / "CUB_200_2011")


def traffic_signs(root):
    miniatures.signs(root, count=4)


# ---------------------------------------------------------------- a server, and what it serves


@pytest.fixture(scope="module")
def server():
    server = served.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def mirror(server, tmp_path_factory):
    """The shipped manifest, with the addresses, bytes and digests of miniatures that the server has."""
    folder = tmp_path_factory.mktemp("mirror")
    makers = {
        name: make for name, make in EVALUATORS.items() if "files" in SHIPPED["data"].get(name, ())
    }
    makers |= miniatures.OF_PAPER["oops"] | {"cub": cub, "traffic-signs": traffic_signs}
    data = {
        name: {k: v for k, v in entry.items() if k != "counts"}
        for name, entry in SHIPPED["data"].items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(miniatures, "N", 3)
        for name, make in makers.items():
            changes = {"reader": "cub?splits=chen"} if name == "cub" else {}
            data[name] = served.data_set(name, make, server, folder / name, **changes)
    path = folder / "manifest.yml"
    path.write_text(yaml.safe_dump({**SHIPPED, "data": data}))
    return SimpleNamespace(path=path, data=data)


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Write a manifest of these data sets, and use it."""

    def write(data, **groups):
        path = tmp_path / f"{len(list(tmp_path.glob('*.yml')))}.yml"
        path.write_text(yaml.safe_dump({"data": data, **groups}))
        monkeypatch.setenv("FSLCORE_SOURCES", str(path))

    return write


@pytest.fixture
def data_folder(server, mirror, tmp_path, monkeypatch):
    """An empty folder for the data, and the server without faults; what is waited for between tries is not waited."""
    server.faults.clear(), server.log.clear(), server.stalled.clear()
    monkeypatch.setenv("FSLCORE_SOURCES", str(mirror.path))
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(download, "WAITS", (0, 0, 0))
    return tmp_path / "data"


def files(folder):
    """Everything in a folder but what was made on the way, by its path."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def quiet(names, **options):
    return fetch.fetch(names, accept=True, say=lambda line: None, **options)


# ---------------------------------------------------------------- each layout, and the names that are known then


@pytest.mark.slow
def test_each_data_set_is_fetched_and_known_by_its_name(data_folder, capsys):
    assert not any(datasets.fetchable().values())
    members = {
        name for group in ("oops", "evaluators", "fewstab") for name in SHIPPED["groups"][group]
    }
    brought = {"fungi", "miniimagenet", "tieredimagenet", "cub-fewstab"}
    wanted = sorted(members - SHIPPED["weights"].keys() - brought)
    assert app.main(["fetch", *wanted, "--accept-terms", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "licence: for research that is not commercial" in out and str(data_folder / "dtd") in out
    for name in IMAGES:
        images = datasets.load(name, size=16)
        assert images.name == name and np.asarray(images.images[:2]).shape[1:] == (16, 16, 3)
    assert {name: len(datasets.load(name)) for name in IMAGES} == IMAGES
    assert not [
        path for path in data_folder.iterdir() if path.name.startswith(".")
    ]  # nothing of the way is left
    assert sources.digests("dtd")["dtd-r1.0.1.tar.gz"]["confirmed_by"].startswith(
        "tensorflow-datasets"
    )
    assert sources.digests("flowers102").keys() == {
        "102flowers.tgz",
        "imagelabels.mat",
        "setid.mat",
    }
    assert sources.digests("meta-album")["BRD_Mini.zip"]["confirmed_by"].startswith("nobody")
    assert app.main(["list", "datasets", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["datasets"]
    assert (
        set(names["to fetch"]) == {"fungi", "miniimagenet", "tieredimagenet"}
        and "cub" in names["at hand"]
    )


def test_a_fetched_data_set_is_the_folder_without_its_path(data_folder):
    quiet(["dtd", "quickdraw"])
    for name in ("dtd", "quickdraw"):
        by_name, by_path = datasets.load(name), datasets.load(f"{name}:{data_folder / name}")
        assert by_name.digest == by_path.digest and by_name.facts.equals(by_path.facts)
        assert by_name.name == name
    assert datasets.load("dtd").at_size(20).name == "dtd"
    assert datasets.load("quickdraw?per_class=2").name == "quickdraw?per_class=2"
    missing = r"dataset = quickdraw; quickdraw-base is not in .*fslcore fetch quickdraw-base"
    with refuses(missing):
        datasets.load("quickdraw", "base")


@pytest.mark.parametrize(
    "name, words",
    [
        ("dtd", "dtd is not in .*data: fslcore fetch dtd brings it"),
        ("flowers102?part=test", "fslcore fetch flowers102"),
        (
            "cub",
            "differently, so name the split: cub.splits=chen, cub.splits=fewstab, cub.splits=meta-dataset",
        ),
        ("meta-album", "name the split: meta-album.test_set=0, "),
        ("cub?splits=fewstab", "fslcore fetch cub-fewstab"),
        ("dtd?part=test", "dtd takes no settings"),
        ("dtdd", "did you mean 'dtd"),
    ],
)
def test_what_is_not_at_hand_is_said_in_one_line(data_folder, name, words, capsys):
    with refuses(words):
        datasets.check_name(name)
    assert app.main(["evaluate", name, "conv4-protonet", "-o", "x.csv"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_profile_may_name_what_is_not_fetched_yet(data_folder):
    notebooks.check("closed-vs-open", {"datasets": ["dtd", "cub?splits=chen"]}, absent=True)
    with refuses("fslcore fetch dtd"):
        notebooks.check("closed-vs-open", {"datasets": ["dtd"]})


def test_cifar_fs_is_read_from_the_binary_form(data_folder):
    """A record is two labels and the planes of an image."""
    quiet(["cifar-fs"])
    folder = data_folder / "cifar-fs" / "cifar-100-binary"
    records = np.concatenate(
        [np.fromfile(folder / f"{part}.bin", np.uint8) for part in ("train", "test")]
    )
    records = records.reshape(-1, 3074)
    names = (folder / "fine_label_names.txt").read_text().split()
    for split, classes in (("base", 64), ("validation", 16), ("novel", 20)):
        images = datasets.load("cifar-fs", split)
        assert (
            images.class_names == sorted(listed_splits()["cifar-fs"][split])
            and len(images.class_names) == classes
        )
        first = images.class_names[0]
        pixels = (
            records[records[:, 1] == names.index(first), 2:]
            .reshape(-1, 3, 32, 32)
            .transpose(0, 2, 3, 1)
        )
        assert sorted(map(bytes, pixels)) == sorted(
            map(bytes, images.images[images.classes == first])
        )
    assert datasets.load("cifar-fs", size=16).images.shape[1:] == (16, 16, 3)
    (folder / "test.bin").write_bytes((folder / "test.bin").read_bytes()[:-1])
    with refuses(r"test.bin", r"\d+ bytes", "3074 bytes"):
        datasets.load("cifar-fs")


def test_what_has_to_be_brought_is_named_and_known_once_it_is_there(
    data_folder, mirror, server, tmp_path, capsys
):
    assert app.main(["fetch", "fungi", "--accept-terms"]) == 2
    out, err = capsys.readouterr()
    assert (
        "answer 403 since December 2024" in out
        and f"where to: {data_folder / 'fungi'}" in out
        and "fungi: has to" in err
    )
    (tmp_path / "downloads").mkdir()
    for name in ("fungi_train_val.tgz", "train_val_annotations.tgz"):
        (tmp_path / "downloads" / name).write_bytes(server.files[f"/fungi/{name}"])
    assert (
        app.main(
            ["fetch", "fungi", "--accept-terms", "--from", str(tmp_path / "downloads"), "--quiet"]
        )
        == 0
    )
    assert datasets.load("fungi", size=16) and len(files(tmp_path / "downloads")) == 2
    assert not [path for path, _ in server.log if "fungi" in path]
    assert app.main(["fetch", "miniimagenet", "--accept-terms"]) == 2
    assert "pickle can run code" in capsys.readouterr().out
    (data_folder / "miniimagenet").mkdir()
    PAPERS.csv_splits(data_folder / "miniimagenet")  # by hand
    assert datasets.load("miniimagenet").class_names == ["dog", "elm"]
    (data_folder / "cub-fewstab").mkdir()
    PAPERS.csv_splits(data_folder / "cub-fewstab")
    assert datasets.load("cub?splits=fewstab", "base").class_names == ["apple", "bear"]


def test_a_group_leaves_out_what_has_to_be_brought(data_folder, mirror, listed, capsys):
    listed(mirror.data, groups={"oops": ["fungi", "omniglot", "dtd"]})
    assert app.main(["fetch", "oops", "--quiet"]) == 2 and not data_folder.exists()
    assert says_in_one_line(capsys.readouterr().err, "fslcore: dtd", "terms", "--accept-terms")
    for words in (["dtd", "fungi"], ["oops", "--complete"]):
        assert (
            app.main(["fetch", *words, "--accept-terms", "--quiet"]) == 2
            and not data_folder.exists()
        )
        assert says_in_one_line(capsys.readouterr().err, "fungi", "brought")
    assert app.main(["fetch", "oops", "--accept-terms", "--quiet"]) == 0
    assert (
        "fungi: not available; it has to be brought" in capsys.readouterr().out
        and (data_folder / "omniglot").is_dir()
    )


# ---------------------------------------------------------------- faults of the network


def test_a_cut_connection_goes_on_where_it_was(data_folder, server):
    path = ARCHIVE
    server.faults[path] = [("cut", 1000), ("cut", 500), 503, ("cut", 2000), ("cut", 700)]
    quiet(["dtd"])
    ranges = [requested for _, requested in server.log]
    assert ranges == [
        None,
        "bytes=1000-",
        "bytes=1500-",
        "bytes=1500-",
        "bytes=3500-",
        "bytes=4200-",
    ]
    assert len(datasets.load("dtd")) == IMAGES["dtd"]


def test_a_connection_that_never_holds_is_named_and_gone_on_with_later(data_folder, server):
    path, size = ARCHIVE, len(server.files[ARCHIVE])
    server.faults[path] = [("cut", 1000), *[503] * 20]
    with refuses("dtd: ", "503", "1,000 bytes are kept", "resumes"):
        quiet(["dtd"])
    assert (
        len(server.log) == 5 and not (data_folder / "dtd").exists()
    )  # one, and three more tries after it got on
    server.faults.clear(), server.log.clear()
    quiet(["dtd"])
    assert server.log == [(path, "bytes=1000-")] and (data_folder / "dtd").is_dir()
    assert size == sources.digests("dtd")["dtd-r1.0.1.tar.gz"]["bytes"]


def test_a_refusal_is_named_once(data_folder, server):
    server.faults[ARCHIVE] = [403]
    with refuses("dtd: ", "http://127.*gz", "403 Forbidden", "downloads=FOLDER"):
        quiet(["dtd"])
    assert len(server.log) == 1 and not (data_folder / "dtd").exists()


@pytest.mark.parametrize(
    "words, message",
    [
        ("dtd dtd", "different, got 'dtd' more than once"),
        ("dtd --from nowhere", "nowhere"),
        ("dtd --accept-terms", "/proc"),
    ],
)
def test_a_command_that_cannot_be_followed_is_refused_in_one_line(
    monkeypatch, capsys, words, message
):
    monkeypatch.setenv("FSLCORE_DATA", "/proc/x")
    assert app.main(["fetch", *words.split()]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_without_a_network_that_is_said_at_once(tmp_path, monkeypatch):
    """Names that end in .invalid are never given to a host (RFC 2606)."""
    waited = []
    monkeypatch.setattr(download.time, "sleep", waited.append)
    registry = tmp_path / "registry.txt"
    registry.write_text(f"a/b.pt sha256:{hashlib.sha256(b'as it is').hexdigest()}\n")
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "cache"))
    at_no_host = dict(url="http://host.invalid/", registry=registry)
    with refuses("network", "host.invalid", "downloads=FOLDER", "FOLDER/a/b.pt"):
        fetch.fetch_results(**at_no_host)
    assert sum(waited) <= 1
    (tmp_path / "own" / "a").mkdir(parents=True)
    (tmp_path / "own" / "a" / "b.pt").write_bytes(b"as it is")
    folder = fetch.fetch_results(**at_no_host, downloads=tmp_path / "own")
    assert (folder / "a" / "b.pt").read_bytes() == b"as it is"
    (folder / "a" / "b.pt").unlink()
    (tmp_path / "own" / "a" / "b.pt").write_bytes(b"another")
    with refuses("b.pt has sha256"):
        fetch.fetch_results(**at_no_host, downloads=tmp_path / "own")
    assert (tmp_path / "own" / "a" / "b.pt").read_bytes() == b"another"


def test_the_network_is_looked_for_where_the_proxy_is(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert sources.network_problem("http://127.0.0.1:9/a") is None
    assert says_in_one_line(sources.network_problem("http://a.invalid/b"), "network", "a.invalid")
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:8080")
    assert "proxy.invalid" in sources.network_problem("http://127.0.0.1:9/a")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert sources.network_problem("http://127.0.0.1:9/a") is None


# ---------------------------------------------------------------- digests


def test_another_file_than_two_sources_list_is_refused(data_folder, server, monkeypatch):
    good = server.files[ARCHIVE]
    monkeypatch.setitem(server.files, ARCHIVE, good[:-1] + b"x")
    message = r"dtd-r1.0.1.tar.gz has sha256 \w{64}, not \w{64} \(listed by .*\); it was removed"
    with refuses(message):
        quiet(["dtd"])
    assert not (data_folder / "dtd").exists() and not list((data_folder / ".dtd").glob("*.gz"))
    monkeypatch.setitem(server.files, ARCHIVE, good + b"more")
    with refuses(rf"with {len(good) + 4:,} bytes, and {len(good):,} are listed"):
        quiet(["dtd"])


def test_another_layout_and_other_numbers_are_named_after_unpacking(data_folder, mirror, listed):
    entry = mirror.data["dtd"]
    classes, images = entry["counts"]["novel"]
    other = (
        f"dtd: novel has {classes} classes with {images} images, not {classes} with {images + 1}"
    )
    for change, message in (
        ({"counts": {"novel": [classes, images + 1]}}, other),
        ({"has": ["photos"]}, "dtd: photos is not in the download; its layout differs"),
    ):
        listed({"dtd": entry | change})
        with refuses(message):
            quiet(["dtd"])
        assert not (data_folder / "dtd").exists()


def test_what_was_brought_is_counted_too(data_folder, listed):
    (data_folder / "miniimagenet").mkdir(parents=True)
    PAPERS.csv_splits(data_folder / "miniimagenet")
    novel = datasets.load("miniimagenet")
    entry = {"title": "a", "licence": "b", "bring": "the folder"}
    for images in (len(novel), "0.0k"):  # as a paper prints it
        listed({"miniimagenet": entry | {"counts": {"novel": [2, images]}}})
        assert quiet(["miniimagenet"]) == [data_folder / "miniimagenet"] and datasets.load(
            "miniimagenet"
        )
    listed({"miniimagenet": entry | {"counts": {"novel": [2, 12000]}}})
    for call in (lambda: quiet(["miniimagenet"]), lambda: datasets.load("miniimagenet")):
        with refuses(rf"novel has 2 classes with {len(novel)} images, not 2 with 12,000"):
            call()
    assert len(datasets.load(f"miniimagenet:{data_folder}/miniimagenet")) == len(novel)


# ---------------------------------------------------------------- the disk, and kills


def test_free_disk_is_checked_first(data_folder, server, monkeypatch):
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with refuses(r"FSLCORE_DATA .* \d.*GB of free space, got 0.00 GB in .*data"):
        quiet(["dtd"])
    assert not server.log and not list(data_folder.glob("*"))


class Full(io.FileIO):
    def write(self, block):
        raise OSError(errno.ENOSPC, "No space left on device", self.name)


def test_a_disk_that_fills_while_downloading(data_folder, server, monkeypatch):
    monkeypatch.setattr(download, "open", Full, raising=False)
    with refuses("dtd: ", "disk .* full", "resumes"):
        quiet(["dtd"])
    assert len(server.log) == 1 and not (data_folder / "dtd").exists()


def test_a_file_that_the_disk_does_not_take_is_named(data_folder, server, monkeypatch):
    def too_large(*_):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    copy = tarfile.copyfileobj
    monkeypatch.setattr(tarfile, "copyfileobj", too_large)
    with refuses("dtd: ", "File too large", "resumes"):
        quiet(["dtd"])
    monkeypatch.setattr(tarfile, "copyfileobj", copy)
    quiet(["dtd"])
    assert len(server.log) == 1 and (data_folder / "dtd").is_dir()


def test_a_disk_that_fills_while_unpacking_keeps_the_download(data_folder, server, monkeypatch):
    copy, left = tarfile.copyfileobj, iter(range(3))

    def fills(*arguments):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return copy(*arguments)

    monkeypatch.setattr(tarfile, "copyfileobj", fills)
    with refuses("dtd: the disk of .* is full"):
        quiet(["dtd"])
    assert (
        files(data_folder / ".dtd").keys() == {"dtd-r1.0.1.tar.gz"}
        and not (data_folder / "dtd").exists()
    )
    monkeypatch.setattr(tarfile, "copyfileobj", copy)
    quiet(["dtd"])
    assert len(server.log) == 1 and len(datasets.load("dtd")) == IMAGES["dtd"]


KILLED = """
import os, signal, sys
from fslcore import fetch
do, at, count = {name}, {at}, [0]
def killed(*arguments, **options):
    count[0] += sys._getframe(1).f_globals["__name__"] != "tempfile"  # some Pythons call it there, others do not
    if count[0] == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return do(*arguments, **options)
{name} = killed
fetch.fetch(["dtd"], accept=True, say=str)
"""
SITES = [
    ("fetch.os.replace", 1),
    ("fetch.tarfile.copyfileobj", 10),
    ("fetch.os.replace", 2),
    ("fetch.shutil.rmtree", 2),
]


@pytest.mark.parametrize("name, at", SITES)
def test_a_kill_leaves_nothing_that_looks_whole(data_folder, server, name, at):
    code = KILLED.replace("{name}", name).replace("{at}", str(at))
    done = run_code(code)
    assert done.returncode == -signal.SIGKILL, done.stderr
    if (name, at) == ("fetch.shutil.rmtree", 2):  # it has its name, and is whole
        assert (data_folder / "dtd").is_dir()
    else:
        assert not (data_folder / "dtd").exists()
        with refuses("fslcore fetch dtd"):
            datasets.load("dtd")
    quiet(["dtd"])
    assert (
        len(datasets.load("dtd")) == IMAGES["dtd"]
        and (data_folder / "dtd" / "fetched.json").is_file()
    )


def test_a_kill_in_the_middle_of_a_download_is_gone_on_with(data_folder, server):
    path = ARCHIVE
    for n, stop in enumerate((signal.SIGKILL, signal.SIGTERM), 1):
        server.faults[path] = [("stall", 1000)]
        server.stalled.clear()
        command = [sys.executable, "-m", "fslcore", "fetch", "dtd", "--accept-terms", "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert server.stalled.wait(30)
        part = data_folder / ".dtd" / "dtd-r1.0.1.tar.gz.part"
        deadline = time.monotonic() + 10
        while download.bytes_of(part) != 1000 * n:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(stop)
        process.wait()
        assert not (data_folder / "dtd").exists()
    quiet(["dtd"])
    assert [requested for _, requested in server.log] == [None, "bytes=1000-", "bytes=2000-"]
    assert len(datasets.load("dtd")) == IMAGES["dtd"]


# ---------------------------------------------------------------- the manifest


def test_the_shipped_manifest_says_what_a_person_needs():
    listed = sources.read()
    assert listed.data.keys() | listed.aliases.keys() >= set(datasets.fetchable())
    for name, source in {**listed.data, **listed.weights}.items():
        assert source.title and source.licence, name
        assert fetch.described(source)[0].startswith(name)
    for name, source in listed.data.items():
        assert source.bring or (source.files and all(file.bytes for file in source.files)), name
        if any(
            word in source.licence
            for word in ("commercial", "for research", "fair use", "ImageNet")
        ):
            assert source.accept, name
    album = listed.data["meta-album"].files
    assert [file.to.removesuffix("_Mini") for file in album] == [
        name for part in SETS for name in part
    ]
    for split, classes in listed_splits()["quickdraw"].items():
        files = listed.data["quickdraw" + ("" if split == "novel" else f"-{split}")].files
        assert sorted(classes) == sorted(file.name.removesuffix(".npy") for file in files)
    assert (
        sum(file.bytes - 80 for file in listed.data["quickdraw"].files) == 784 * 7_710_295
    )  # drawings
    without_digest = {
        name
        for name, source in listed.data.items()
        if not all(file.digests for file in source.files)
    }
    assert without_digest == {"meta-album"}
    assert {name for name, source in listed.data.items() if not source.counts} == {
        "mscoco"
    }  # the manifest says why
    assert all(weights.by for weights in listed.weights.values() if weights.sha256)


def test_no_manifest(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "none.yml"))
    with refuses("none.yml: No such file"):
        sources.read()


# ---------------------------------------------------------------- weights

LOADED = """
import sys, torch
from fslcore.models import backbones
from fslcore.cli import app
names = sys.argv[1:]
code = app.main(["fetch", *names, "vit-gpt2"])
assert code == 0, code
for name in names:
    for form in (name, f"{name}-released"):
        backbone = backbones.load(form)
        seen = backbone.module(backbone.preprocess(torch.zeros(2, 224, 224, 3, dtype=torch.uint8)))
        assert seen.shape == (2, backbone.dim), (form, seen.shape)
        print(form, backbone.dim, backbone.weights)
"""


@pytest.fixture(scope="module")
def hub(server):
    """The entries of a manifest for small networks in the official layouts, which the server has."""
    files = {"config.json": b"{}", "merges.txt": b"", "tf_model.h5": b"not wanted"}
    return served.networks(server) | {
        "vit-gpt2": served.weights(server, "vit-gpt2", files, b"weights")
    }


def from_hub(server, tmp_path, hub, *command):
    (tmp_path / "hub.yml").write_text(yaml.safe_dump({"data": {}, "weights": hub}))
    places = {
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(tmp_path / "hf"),
        "FSLCORE_SOURCES": str(tmp_path / "hub.yml"),
    }
    places["HF_HUB_OFFLINE"] = "0"  # other tests set it
    return captured([sys.executable, *command], env=os.environ | places)


@pytest.mark.slow
def test_weights_come_by_revision_and_digest_from_the_hub_that_is_named(
    data_folder, server, hub, tmp_path
):
    done = from_hub(server, tmp_path, hub, "-c", LOADED, *NETWORKS)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    lines = [words for words in lines if words[0].removesuffix("-released") in NETWORKS]
    dims = {"clip": 24, "clip-b32": 24, "dino": 48, "dinov2-reg": 48}
    assert lines == [
        [n + end, str(dims[n]), hub[n]["sha256"]] for n in NETWORKS for end in ("", "-released")
    ]
    assert not [path for path, _ in server.log if "tf_model" in path or "/main/" in path]


def test_a_folder_of_files_may_be_named_where_weights_are_fetched(
    data_folder, server, hub, tmp_path
):
    done = from_hub(
        server, tmp_path, hub, "-m", "fslcore", "fetch", "dino", "--from", str(tmp_path), "--quiet"
    )
    assert done.returncode == 0, done.stderr


def test_weights_that_are_not_there_or_others_are_refused(data_folder, server, hub, tmp_path):
    wrong = {**hub, "dino": {**hub["dino"], "sha256": "0" * 64}}
    done = from_hub(server, tmp_path, wrong, "-m", "fslcore", "fetch", "dino", "--quiet")
    assert done.returncode == 2 and "model.safetensors has sha256" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    gone = {**hub, "dino": {**hub["dino"], "repository": "timm/gone"}}
    done = from_hub(server, tmp_path, gone, "-m", "fslcore", "fetch", "dino", "--quiet")
    assert done.returncode == 2 and done.stderr.startswith(
        "fslcore: dino: timm/gone cannot be fetched ("
    )


NO_HUB = SimpleNamespace(url="http://hub.invalid")
FETCH_DINO = ("-m", "fslcore", "fetch", "dino", "--quiet")


def test_a_hub_that_is_not_found_is_named_in_one_line(hub, tmp_path):
    done = from_hub(NO_HUB, tmp_path, hub, *FETCH_DINO)
    assert done.returncode == 2
    assert says_in_one_line(done.stderr, "fslcore: dino", "network", "hub.invalid", "dino:PATH")


@pytest.mark.slow
def test_what_the_hub_s_cache_has_needs_no_network(data_folder, server, hub, tmp_path):
    first = from_hub(server, tmp_path, hub, *FETCH_DINO)
    again = from_hub(NO_HUB, tmp_path, hub, *FETCH_DINO)
    assert first.returncode == again.returncode == 0, again.stderr
    assert first.stdout.splitlines()[-1] == again.stdout.splitlines()[-1]


# ---------------------------------------------------------------- pickles


def test_pickles_are_refused_with_lines_that_convert_them(
    data_folder, tmp_path, monkeypatch, capsys
):
    """On pickles made here in the form that others read; never tried on the real ones."""
    images = np.random.default_rng(0).integers(0, 256, (6, 84, 84, 3), np.uint8)
    (tmp_path / "mini").mkdir(), (tmp_path / "tiered").mkdir()
    monkeypatch.chdir(tmp_path / "mini")
    for n, part in enumerate(("train", "validation", "test")):
        content = {"image_data": images, "class_dict": {f"n{n}a": [0, 1, 2], f"n{n}b": [3, 4, 5]}}
        Path(f"mini-imagenet-cache-{part}.pkl").write_bytes(pickle.dumps(content))
    with refuses("-test.pkl", "pickle", "fslcore fetch miniimagenet"):
        datasets.load(f"miniimagenet:{tmp_path}/mini")
    exec(sources.read().data["miniimagenet"].convert, {})
    converted = datasets.load(f"miniimagenet:{tmp_path}/mini")
    assert (
        converted.class_names == ["n2a", "n2b"] and (np.asarray(converted.images) == images).all()
    )
    monkeypatch.chdir(tmp_path / "tiered")
    for part in ("train", "val", "test"):
        png = [
            np.frombuffer((tmp_path / f"mini/images/test_{i}.png").read_bytes(), np.uint8)
            for i in range(6)
        ]
        Path(f"{part}_images_png.pkl").write_bytes(pickle.dumps(png))
        base = {"train": 0, "val": 2, "test": 4}[part]
        Path(f"{part}_labels.pkl").write_bytes(
            pickle.dumps({"label_specific": [base] * 3 + [base + 1] * 3})
        )
    with refuses("_png.pkl is a pickle.*fslcore fetch tieredimagenet"):
        datasets.load(f"tieredimagenet:{tmp_path}/tiered")
    exec(sources.read().data["tieredimagenet"].convert, {})
    converted = datasets.load(f"tieredimagenet:{tmp_path}/tiered")
    assert (
        converted.class_names == ["004", "005"] and (np.asarray(converted.images) == images).all()
    )
    (tmp_path / "cifar-100-python").mkdir()
    (tmp_path / "cifar-100-python" / "meta").write_bytes(pickle.dumps({}))
    for folder in (tmp_path, tmp_path / "cifar-100-python"):
        with refuses("meta", "pickle", "fslcore fetch cifar-fs"):
            datasets.load(f"cifar-fs:{folder}")
    for name, file in (
        ("miniimagenet", "mini-imagenet-cache-train.pkl"),
        ("tieredimagenet", "train_labels.pkl"),
    ):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path(file).write_bytes(pickle.dumps(Touch(tmp_path / "run")))
        with pytest.raises(pickle.UnpicklingError, match="is no array"):
            exec(sources.read().data[name].convert, {})
    assert not (tmp_path / "run").exists()
    assert app.main(["fetch", "tieredimagenet"]) == 2
    assert (
        'labels = Arrays(file, encoding="latin1").load()["label_specific"]'
        in capsys.readouterr().out
    )


# ---------------------------------------------------------------- the guide


GUIDE = Path(__file__).parents[2] / "book" / "fetch.md"
MARK = "% from fslcore/sources.yml: python tests/tools/test_fetch.py\n"


def table():
    """What the guide shows of the shipped manifest."""
    lines = ["| name | licence | download | digests |", "| :-- | :-- | --: | :-- |"]
    for name, source in sources.read().data.items():
        listed = min((len(file.by) if file.digests else 0 for file in source.files), default=0)
        digests = ("none", "one source", "two sources")[min(listed, 2)]
        size = f"{source.bytes / 1e9:,.2f} GB"
        if source.bring:
            size, digests = "", "to be brought"
        limited = "; `--accept-terms`" if source.accept else ""
        lines.append(f"| `{name}` | {source.licence}{limited} | {size} | {digests} |")
    return "\n".join(lines) + "\n"


def test_the_guide_shows_the_manifest():
    """Where it does not, ``python tests/tools/test_fetch.py`` writes it again."""
    assert MARK + table() in GUIDE.read_text("utf-8")


if __name__ == "__main__":
    before, _, after = GUIDE.read_text("utf-8").partition(MARK)
    GUIDE.write_text(f"{before}{MARK}{table()}\n{after.partition(chr(10) * 2)[2]}", "utf-8")
