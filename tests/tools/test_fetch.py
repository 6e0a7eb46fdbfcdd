"""Fetching the papers' own data: miniatures in the official layouts, from a server on this machine, and its faults."""

import errno
import gzip
import hashlib
import importlib
import io
import json
import os
import pickle
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pytest
import yaml

from fslbook import notebooks
from fslcore import archives, datasets, download, fetch, sources
from fslcore.cli import app
from fslcore.datasets.papers import SETS
from fslcore.datasets.splits import listed_splits
from fslcore.errors import InputError

HERE = Path(__file__).parents[1] / "datasets"
RELEASES = SimpleNamespace(**runpy.run_path(str(HERE / "test_releases.py")))
PAPERS = SimpleNamespace(**runpy.run_path(str(HERE / "test_paper_datasets.py")))
SHIPPED = yaml.safe_load(sources.SHIPPED.read_text("utf-8"))
REVISION = "a" * 40
IMAGES = {  # of the novel split of each miniature
    "omniglot": 8,
    "aircraft": 30,
    "dtd": 7,
    "vgg-flower": 32,
    "flowers102": 204,
    "traffic-signs": 12,
    "mscoco": 3,
    "quickdraw": 182,
    "cifar-fs": 60,
    "eurosat": 6,
    "food101": 6,
    "cub?splits=chen": 6,
    "meta-album?test_set=2": 60,
}


# ---------------------------------------------------------------- a server, and what it serves


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.files``, in parts where asked; ``server.faults`` are used up one by one."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        of, asked = self.server.faults.get(path, []), self.headers.get("Range")
        self.server.log.append((path, asked))
        fault = of.pop(0) if of else None
        if isinstance(fault, int) or path not in self.server.files:
            return self.send_error(fault or 404)
        body, start = self.server.files[path], 0
        tag = f'"{hashlib.sha256(body).hexdigest()[:8]}"'
        if asked and fault != "whole" and self.headers.get("If-Range") in (None, tag):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                return self.end_headers()
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", tag)
        if "/resolve/" in path:  # as the model hub says which revision it is of
            self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = isinstance(fault, tuple) and fault[1]
        self.wfile.write(body[start : start + cut] if cut else body[start:])
        if isinstance(fault, tuple) and fault[0] == "stall":
            self.wfile.flush()
            self.server.stalled.set()
            time.sleep(30)
        if cut:
            self.close_connection = True


@pytest.fixture(scope="module")
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads, made.block_on_close = True, False
    made.files, made.faults, made.log, made.stalled = {}, {}, [], threading.Event()
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    made.url = f"http://127.0.0.1:{made.server_port}"
    yield made
    made.shutdown()
    made.server_close()


def packed(root, inside, name):
    """Some of a folder as an archive of this name."""
    paths = sorted(p for top in inside for p in [root / top, *(root / top).rglob("*")])
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w") as archive:
            for path in paths:
                archive.write(path, path.relative_to(root))
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as archive:
            for path in paths:
                archive.add(path, path.relative_to(root), recursive=False)
    return out.getvalue()


def cifar_binary(root):
    names = sorted(sum((listed_splits()["cifar-fs"][s] for s in ("base", "validation", "novel")), []))
    root = root / "cifar-100-binary"
    root.mkdir()
    (root / "fine_label_names.txt").write_text("\n".join(names) + "\n")
    for part, images in (("train", 2), ("test", 1)):
        records = np.zeros((100 * images, 3074), np.uint8)
        records[:, 1] = np.arange(100 * images) % 100
        for plane in range(3):  # red is the class, green the row of the image, blue the part
            records[:, 2 + 1024 * plane :][:, :1024] = (records[:, 1:2], np.repeat(np.arange(32), 32), images)[plane]
        records.tofile(root / f"{part}.bin")


def album(root):
    for n, name in enumerate(name for of in SETS for name in of):
        (root / f"{name}_Mini").mkdir()
        PAPERS.meta_album(root / f"{name}_Mini")
        if n % 2:  # what is in the folder, not the folder
            shutil.copytree(root / f"{name}_Mini", root / "flat" / name)


def inside(make, folder):
    """A maker that works in a folder of what it is given."""

    def made(root):
        (root / folder).mkdir(parents=True)
        make(root / folder)

    return made


def dtd(root):
    RELEASES.folders(root / "dtd", sorted(sum(listed_splits()["dtd"].values(), [])), "images", images=1)
    (root / "dtd" / "imdb.mat").write_bytes(np.random.default_rng(0).bytes(20000))  # so that there is enough to cut


def signs(root):
    for c in range(3):
        for i in range(4):
            RELEASES.picture(root / f"GTSRB/Final_Training/Images/{c:05d}/{i:05d}_0.ppm", 40 * c + i)
        (root / f"GTSRB/Final_Training/Images/{c:05d}/GT-{c:05d}.csv").write_text("Filename;Width\n")


def food(root):
    RELEASES.folders(root / "food-101", ["apple_pie", "waffles"], "images", images=3)
    (root / "food-101" / "meta").mkdir()
    for part in ("train", "test"):
        (root / "food-101" / "meta" / f"{part}.txt").write_text(f"waffles/waffles_{len(part) % 2}\n")


def quickdraw(root):
    RELEASES.quickdraw(root)
    for file in root.glob("full_numpy_bitmap_*"):
        file.rename(root / file.name.removeprefix("full_numpy_bitmap_"))


MAKERS = {
    "omniglot": RELEASES.omniglot,
    "aircraft": inside(RELEASES.aircraft, "fgvc-aircraft-2013b"),
    "cub": inside(PAPERS.cub, "CUB_200_2011"),
    "dtd": dtd,
    "fungi": RELEASES.fungi,
    "vgg-flower": RELEASES.flowers,
    "traffic-signs": signs,
    "mscoco": RELEASES.mscoco,
    "cifar-fs": cifar_binary,
    "eurosat": lambda root: RELEASES.folders(root / "2750", ["AnnualCrop", "Forest", "River"]),
    "food101": food,
    "meta-album": album,
    "quickdraw": quickdraw,
}
PARTS = {  # what an archive holds, where it is not all
    "images_background.zip": ["images_background"],
    "images_evaluation.zip": ["images_evaluation"],
    "fungi_train_val.tgz": ["images"],
    "train_val_annotations.tgz": ["train.json", "val.json"],
    "102flowers.tgz": ["jpg"],
    "train2017.zip": ["train2017"],
    "annotations_trainval2017.zip": ["annotations"],
}


def own_counts(name, entry, root):
    """Numbers of classes and images of a miniature, of the splits that it has, in place of those of the real data."""
    counts, (reader, mark, settings) = {}, entry.get("reader", name).partition("?")
    for split in entry.get("counts", ()):
        with suppress(InputError):
            images = datasets.load(f"{reader}:{root / entry.get('path', '.')}{mark}{settings}", split)
            counts[split] = [len(images.class_names), len(images)]
    return counts


@pytest.fixture(scope="module")
def mirror(server, tmp_path_factory):
    """The shipped manifest, with the addresses, bytes and digests of miniatures that the server has."""
    made = {**SHIPPED, "data": {}}
    for name, entry in SHIPPED["data"].items():
        made["data"][name] = entry = dict(entry)
        if name == "cub":
            entry["reader"] = "cub?splits=chen"
        if name not in MAKERS:
            entry.pop("counts", None)
        if "files" not in entry:
            continue
        entry["files"] = [dict(file) for file in entry["files"]]
        root = tmp_path_factory.mktemp(name)
        if name in MAKERS:
            MAKERS[name](root)
            entry["counts"] = own_counts(name, entry, root)
        base = entry.pop("base", "")
        entry.pop("disk", None)
        for file in entry["files"]:
            own = unquote(Path(urlsplit(base + file["url"]).path).name)
            file["url"] = f"{server.url}/{name}/{quote(own)}"
            if name not in MAKERS:
                continue
            flat = root / "flat" / own.removesuffix("_Mini.zip")
            top = file.get("to", ".")
            if not sources.File((own,)).packed:
                body = (root / own).read_bytes()
            elif flat.is_dir():
                body = packed(flat, [p.name for p in flat.iterdir()], own)
            else:
                body = packed(root, PARTS.get(own) or ([top] if top != "." else [p.name for p in root.iterdir()]), own)
            server.files[f"/{name}/{own}"] = body
            file["bytes"] = len(body)
            for kind in {"sha256", "md5"} & file.keys():
                file[kind] = hashlib.new(kind, body).hexdigest()
    path = tmp_path_factory.mktemp("manifest") / "manifest.yml"
    path.write_text(yaml.safe_dump(made))
    return SimpleNamespace(path=path, data=made["data"], folder=path.parent)


@pytest.fixture
def here(server, mirror, tmp_path, monkeypatch):
    """An empty folder for the data, and the server without faults; what is waited for between tries is not waited."""
    server.faults.clear(), server.log.clear(), server.stalled.clear()
    monkeypatch.setenv("FSLCORE_SOURCES", str(mirror.path))
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(download, "WAITS", (0, 0, 0))
    return tmp_path / "data"


def files(folder):
    """Everything in a folder but what was made on the way, by its path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def quiet(names, **options):
    return fetch.fetch(names, accept=True, say=lambda line: None, **options)


# ---------------------------------------------------------------- each layout, and the names that are known then


def test_each_data_set_is_fetched_and_known_by_its_name(here, capsys):
    assert not any(datasets.fetched().values())
    groups = ["oops", "evaluators", "fewstab"]
    wanted = [n for g in groups for n in SHIPPED["groups"][g] if n not in SHIPPED["weights"]]
    brought = {"fungi", "miniimagenet", "tieredimagenet", "cub-fewstab"}
    assert app.main(["fetch", *dict.fromkeys(n for n in wanted if n not in brought), "--accept-terms", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "licence: for research that is not commercial" in out and str(here / "dtd") in out
    for name, images in IMAGES.items():
        found = datasets.load(name, size=16)
        assert (len(found), found.name) == (images, name), name
        assert np.asarray(found.images[:2]).shape[1:] == (16, 16, 3)
    assert not [p for p in here.iterdir() if p.name.startswith(".")]  # nothing of the way is left
    assert sources.digests("dtd")["dtd-r1.0.1.tar.gz"]["confirmed_by"].startswith("tensorflow-datasets")
    assert sources.digests("flowers102").keys() == {"102flowers.tgz", "imagelabels.mat", "setid.mat"}
    assert sources.digests("meta-album")["BRD_Mini.zip"]["confirmed_by"].startswith("nobody")
    assert app.main(["list", "datasets", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["datasets"]
    assert set(listed["to fetch"]) == {"fungi", "miniimagenet", "tieredimagenet"} and "cub" in listed["at hand"]


def test_a_fetched_data_set_is_the_folder_without_its_path(here, tmp_path):
    quiet(["dtd", "quickdraw"])
    for name in ("dtd", "quickdraw"):
        by_name, by_path = datasets.load(name), datasets.load(f"{name}:{here / name}")
        assert by_name.digest == by_path.digest and by_name.facts.equals(by_path.facts)
        assert by_name.name == name
    assert datasets.load("dtd").sized(20).name == "dtd" and datasets.load("dtd", "base").name == "dtd"
    assert datasets.load("quickdraw?per_class=2").name == "quickdraw?per_class=2"
    with pytest.raises(
        InputError, match=r"dataset = quickdraw; quickdraw-base is not in .*fslcore fetch quickdraw-base"
    ):
        datasets.load("quickdraw", "base")


@pytest.mark.parametrize(
    "name, words",
    [
        ("dtd", "dtd is not in .*data: fslcore fetch dtd brings it"),
        ("flowers102?part=test", "fslcore fetch flowers102"),
        ("cub", "differently, so name the split: cub.splits=chen, cub.splits=fewstab, cub.splits=meta-dataset"),
        ("meta-album", "name the split: meta-album.test_set=0, "),
        ("cub?splits=fewstab", "fslcore fetch cub-fewstab"),
        ("dtd?part=test", "dtd takes no settings"),
        ("dtdd", "did you mean dtd"),
    ],
)
def test_what_is_not_at_hand_is_said_in_one_line(here, name, words, capsys):
    with pytest.raises(InputError, match=words):
        datasets.check(name)
    assert app.main(["evaluate", name, "conv4-protonet", "-o", "x.csv"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_profile_may_name_what_is_not_fetched_yet(here):
    notebooks.check("closed-vs-open", {"datasets": ["dtd", "cub?splits=chen"]}, absent=True)
    with pytest.raises(InputError, match="fslcore fetch dtd"):
        notebooks.check("closed-vs-open", {"datasets": ["dtd"]})


def test_cifar_fs_is_read_from_the_binary_form(here):
    quiet(["cifar-fs"])
    every = {split: datasets.load("cifar-fs", split) for split in ("base", "validation", "novel")}
    assert {split: (len(of.class_names), len(of)) for split, of in every.items()} == {
        "base": (64, 192),
        "validation": (16, 48),
        "novel": (20, 60),
    }
    names = sorted(n for of in every.values() for n in of.class_names)
    novel = every["novel"]
    assert novel.class_names[0] == "baby" and novel.counts.tolist() == [3] * 20
    pixels = novel.images[:]
    assert (pixels[..., 0] == np.array([names.index(c) for c in novel.classes])[:, None, None]).all()
    assert (pixels[0, :, 5, 1] == np.arange(32)).all() and pixels[:3, 0, 0, 2].tolist() == [2, 2, 1]
    assert datasets.load("cifar-fs", size=16).images.shape == (60, 16, 16, 3)
    binary = here / "cifar-fs" / "cifar-100-binary"
    (binary / "test.bin").write_bytes((binary / "test.bin").read_bytes()[:-1])
    with pytest.raises(InputError, match=r"test.bin has 307399 bytes; records of 3074 bytes"):
        datasets.load("cifar-fs")


def test_what_has_to_be_brought_is_named_and_known_once_it_is_there(here, mirror, server, tmp_path, capsys):
    assert app.main(["fetch", "fungi", "--accept-terms"]) == 2
    out, err = capsys.readouterr()
    assert "answer 403 since December 2024" in out and f"where to: {here / 'fungi'}" in out and "fungi: has to" in err
    (tmp_path / "downloads").mkdir()
    for name in ("fungi_train_val.tgz", "train_val_annotations.tgz"):
        (tmp_path / "downloads" / name).write_bytes(server.files[f"/fungi/{name}"])
    assert app.main(["fetch", "fungi", "--accept-terms", "--from", str(tmp_path / "downloads"), "--quiet"]) == 0
    assert len(datasets.load("fungi", size=16)) == 3 and len(files(tmp_path / "downloads")) == 2
    assert not [path for path, _ in server.log if "fungi" in path]
    assert app.main(["fetch", "miniimagenet", "--accept-terms"]) == 2
    assert "pickle can run code" in capsys.readouterr().out
    (here / "miniimagenet").mkdir()
    PAPERS.csv_splits(here / "miniimagenet")  # by hand
    assert datasets.load("miniimagenet").class_names == ["dog", "elm"]
    (here / "cub-fewstab").mkdir()
    PAPERS.csv_splits(here / "cub-fewstab")
    assert datasets.load("cub?splits=fewstab", "base").class_names == ["apple", "bear"]


def test_a_group_leaves_out_what_has_to_be_brought(here, mirror, tmp_path, monkeypatch, capsys):
    small = {**SHIPPED, "data": mirror.data, "weights": {}, "groups": {"oops": ["fungi", "omniglot", "dtd"]}}
    (tmp_path / "small.yml").write_text(yaml.safe_dump(small))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "small.yml"))
    assert app.main(["fetch", "oops", "--quiet"]) == 2 and not here.exists()
    assert capsys.readouterr().err == "fslcore: dtd: read the terms above; --accept-terms accepts them\n"
    assert app.main(["fetch", "oops", "--accept-terms", "--quiet"]) == 0
    assert "fungi: not available; it has to be brought" in capsys.readouterr().out and (here / "omniglot").is_dir()


@pytest.mark.parametrize("words", [["dtd", "fungi"], ["oops", "--complete"]], ids=" ".join)
def test_nothing_is_downloaded_where_what_has_to_be_brought_is_needed(
    here, mirror, tmp_path, monkeypatch, capsys, words
):
    small = {**SHIPPED, "data": mirror.data, "weights": {}, "groups": {"oops": ["dtd", "fungi"]}}
    (tmp_path / "small.yml").write_text(yaml.safe_dump(small))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "small.yml"))
    assert app.main(["fetch", *words, "--accept-terms", "--quiet"]) == 2 and not here.exists()
    assert capsys.readouterr().err.startswith("fslcore: fungi: has to be brought")


# ---------------------------------------------------------------- faults of the network


def test_a_cut_connection_goes_on_where_it_was(here, server):
    path = "/dtd/dtd-r1.0.1.tar.gz"
    server.faults[path] = [("cut", 1000), ("cut", 500), 503, ("cut", 2000), ("cut", 700)]
    quiet(["dtd"])
    asked = [of for _, of in server.log]
    assert asked == [None, "bytes=1000-", "bytes=1500-", "bytes=1500-", "bytes=3500-", "bytes=4200-"]
    assert len(datasets.load("dtd")) == 7


def test_a_connection_that_never_holds_is_named_and_gone_on_with_later(here, server):
    path, size = "/dtd/dtd-r1.0.1.tar.gz", len(server.files["/dtd/dtd-r1.0.1.tar.gz"])
    server.faults[path] = [("cut", 1000), *[503] * 20]
    with pytest.raises(InputError, match=r"dtd: .*503.*1,000 bytes are kept, and the same command resumes from there"):
        quiet(["dtd"])
    assert len(server.log) == 5 and not (here / "dtd").exists()  # one, and three more tries after it got on
    server.faults.clear(), server.log.clear()
    quiet(["dtd"])
    assert server.log == [(path, "bytes=1000-")] and (here / "dtd").is_dir()
    assert size == sources.digests("dtd")["dtd-r1.0.1.tar.gz"]["bytes"]


def test_a_refusal_is_named_once(here, server):
    server.faults["/dtd/dtd-r1.0.1.tar.gz"] = [403]
    with pytest.raises(InputError, match=r"dtd: http://127.*gz: it answers 403 Forbidden; --from FOLDER takes files"):
        quiet(["dtd"])
    assert len(server.log) == 1 and not (here / "dtd").exists()


def test_the_next_address_is_tried(here, server, mirror, tmp_path, monkeypatch):
    entry = mirror.data["dtd"]
    two = {
        **entry,
        "files": [{**entry["files"][0], "url": [f"{server.url}/gone/dtd-r1.0.1.tar.gz", entry["files"][0]["url"]]}],
    }
    (tmp_path / "two.yml").write_text(yaml.safe_dump({"data": {"dtd": two}}))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "two.yml"))
    quiet(["dtd"])
    assert [path for path, _ in server.log] == ["/gone/dtd-r1.0.1.tar.gz", "/dtd/dtd-r1.0.1.tar.gz"]


# ---------------------------------------------------------------- digests


def test_another_file_than_two_sources_list_is_refused(here, server):
    path = "/dtd/dtd-r1.0.1.tar.gz"
    good = server.files[path]
    try:
        server.files[path] = good[:-1] + b"x"
        with pytest.raises(
            InputError, match=r"dtd-r1.0.1.tar.gz has sha256 \w{64}, not \w{64} \(listed by .*\); it was removed"
        ):
            quiet(["dtd"])
        assert not (here / "dtd").exists() and not list((here / ".dtd").glob("*.gz"))
        server.files[path] = good + b"more"
        with pytest.raises(InputError, match=rf"with {len(good) + 4:,} bytes, and {len(good):,} are listed"):
            quiet(["dtd"])
    finally:
        server.files[path] = good
    quiet(["dtd"])
    assert len(datasets.load("dtd")) == 7


def test_a_first_download_is_kept_shown_and_held_to(here, server):
    said = []
    fetch.fetch(["meta-album"], accept=True, say=said.append)
    pins = json.loads((here / fetch.PINS).read_text())
    digest = hashlib.sha256(server.files["/meta-album/BRD_Mini.zip"]).hexdigest()
    assert len(pins) == 30 and pins["meta-album/BRD_Mini.zip"] == digest
    assert any(digest in line for line in said)
    fetched = files(here / "meta-album")
    (here / "meta-album").rename(here / "old")
    path = "/meta-album/PLK_Mini.zip"
    good = server.files[path]
    try:
        server.files[path] = good[:-1] + b"x"  # of the listed length
        with pytest.raises(InputError, match=r"PLK_Mini.zip has sha256 \w+, not \w+ \(of the first download; .*json"):
            quiet(["meta-album"])
    finally:
        server.files[path] = good
    quiet(["meta-album"])
    assert files(here / "meta-album") == fetched


def test_numbers_of_classes_and_images_are_counted_after_unpacking(here, server, mirror, tmp_path, monkeypatch):
    entry = mirror.data["meta-album"]  # no digests are listed
    assert entry["counts"] == {split: [20, 60] for split in ("base", "validation", "novel")}
    other = {**entry, "counts": {**entry["counts"], "base": [20, 61]}}
    (tmp_path / "other.yml").write_text(yaml.safe_dump({"data": {"meta-album": other}}))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "other.yml"))
    with pytest.raises(InputError, match="meta-album: base has 20 classes with 60 images, not 20 with 61"):
        quiet(["meta-album"])
    assert not (here / "meta-album").exists() and not (here / fetch.PINS).exists()


def test_what_was_brought_is_counted_too(here, tmp_path, monkeypatch):
    (here / "miniimagenet").mkdir(parents=True)
    PAPERS.csv_splits(here / "miniimagenet")
    novel = datasets.load("miniimagenet")
    about = {"title": "a", "licence": "b", "bring": "the folder"}

    def listed(images):
        about["counts"] = {"novel": [len(novel.class_names), images]}
        path = tmp_path / f"{images}.yml"
        path.write_text(yaml.safe_dump({"data": {"miniimagenet": about}}))
        monkeypatch.setenv("FSLCORE_SOURCES", str(path))

    listed(len(novel))
    assert quiet(["miniimagenet"]) == [here / "miniimagenet"] and len(datasets.load("miniimagenet")) == len(novel)
    listed("0.0k")  # as a paper prints it
    assert quiet(["miniimagenet"])
    listed(12000)
    for call in (lambda: quiet(["miniimagenet"]), lambda: datasets.load("miniimagenet")):
        with pytest.raises(InputError, match=rf"novel has 2 classes with {len(novel)} images, not 2 with 12,000"):
            call()
    assert len(datasets.load(f"miniimagenet:{here}/miniimagenet")) == len(novel)


# ---------------------------------------------------------------- archives


def archive(name, members, link=None):
    out = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for member, body in members.items():
                made.writestr(member, body)
            if link:
                info = zipfile.ZipInfo(link[0])
                info.external_attr = 0o120777 << 16
                made.writestr(info, link[1])
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as made:
            for member, body in members.items():
                info = tarfile.TarInfo(member)
                info.size = len(body)
                made.addfile(info, io.BytesIO(body))
            if link:
                info = tarfile.TarInfo(link[0])
                info.type, info.linkname = tarfile.SYMTYPE, link[1]
                made.addfile(info)
    return out.getvalue()


@pytest.fixture
def served(here, server, tmp_path, monkeypatch):
    """Fetch one archive of these bytes as the data set ``one``."""

    def get(name, body, **entry):
        server.files[f"/one/{name}"] = body
        made = {"title": "one", "licence": "none", "files": [{"url": f"{server.url}/one/{name}"}], **entry}
        (tmp_path / "one.yml").write_text(yaml.safe_dump({"data": {"one": made}}))
        monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "one.yml"))
        sources._read.cache_clear()
        return quiet(["one"])

    return get


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("path", ["../out.txt", "/tmp/fslcore-out.txt", "a/../../out.txt", "..\\out.txt", "C:/out.txt"])
def test_a_path_that_leads_out_is_refused(here, served, name, path):
    with pytest.raises(InputError, match=f"one: {name} holds .*out.txt, which leads out of its folder"):
        served(name, archive(name, {"good.txt": b"x", path: b"x"}))
    assert not (here / "one").exists() and not list(here.parent.rglob("out.txt"))
    assert not Path("/tmp/fslcore-out.txt").exists()


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_links_are_never_made(here, served, name):
    served(name, archive(name, {"good.txt": b"x"}, ("evil", "/etc/passwd")))
    made = files(here / "one")
    assert not (here / "one" / "evil").is_symlink()
    if name == "a.zip":  # no checksum protects the flag, so what may be a file of its own is kept
        assert made["evil"] == b"/etc/passwd"
    else:
        assert made.keys() == {"good.txt", "fetched.json"}


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_archive_that_expands_without_end_is_refused(here, served, name, monkeypatch):
    monkeypatch.setattr(archives, "SMALL", 10**6)
    with pytest.raises(InputError, match=rf"one: {name} expands from [\d,]+ to more than 1,000,000 bytes"):
        served(name, archive(name, {f"{i}.txt": bytes(10**6) for i in range(3)}))
    assert not (here / "one").exists()


def test_a_broken_archive_is_named_and_not_held_to(here, served):
    good = archive("a.zip", {"0.txt": os.urandom(1000)})
    with pytest.raises(InputError, match=r"one: .*a.zip is not a readable archive \(.*were removed"):
        served("a.zip", good[:500])
    assert not (here / "one").exists() and not (here / fetch.PINS).exists()
    served("a.zip", good)


def test_files_that_a_damaged_archive_lacks_are_missed_without_a_count(here, served):
    members = {"a/0.txt": b"x" * 600, "a/1.txt": b"y" * 600}
    tar = gzip.decompress(archive("a.tar.gz", members))
    end = 2 * (512 + 1024)
    for damaged in (tar[:end], tar[:1536] + b"?" + tar[1537:]):
        with pytest.raises(InputError, match=r"a.tar.gz is not a readable archive .*end blocks"):
            served("a.tar.gz", gzip.compress(damaged))
    zipped = archive("a.zip", members)
    as_folder = zipped[: zipped.rindex(b"1.txt") + 4] + b"/" + zipped[zipped.rindex(b"1.txt") + 5 :]
    with pytest.raises(InputError, match="a folder with 600 bytes"):
        served("a.zip", as_folder)


def test_a_zip_of_another_system_has_folders(here, served):
    served("a.zip", archive("a.zip", {"a\\0.txt": b"x"}))
    assert files(here / "one")["a/0.txt"] == b"x"


def test_another_layout_is_named(here, served):
    with pytest.raises(InputError, match="one: images is not in the download; its layout differs"):
        served("a.zip", archive("a.zip", {"good.txt": b"x"}), has=["images"])
    assert not (here / "one").exists()


# ---------------------------------------------------------------- the disk, and kills


def test_free_disk_is_checked_first(here, server, monkeypatch):
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(InputError, match=r"FSLCORE_DATA = .*data; \d.*GB are needed, 0.00 GB are free"):
        quiet(["dtd"])
    assert not server.log and not list(here.glob("*"))


class Full(io.FileIO):
    def write(self, block):
        raise OSError(errno.ENOSPC, "No space left on device", self.name)


def test_a_disk_that_fills_while_downloading(here, server, monkeypatch):
    monkeypatch.setattr(download, "open", Full, raising=False)
    with pytest.raises(InputError, match="dtd: the disk of .* is full; the same command resumes once there is space"):
        quiet(["dtd"])
    assert len(server.log) == 1 and not (here / "dtd").exists()
    monkeypatch.undo()
    server.log.clear()


def test_a_disk_that_fills_while_unpacking_keeps_the_download(here, server, monkeypatch):
    copy, left = tarfile.copyfileobj, iter(range(3))

    def fills(*arguments):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return copy(*arguments)

    monkeypatch.setattr(tarfile, "copyfileobj", fills)
    with pytest.raises(InputError, match="dtd: the disk of .* is full"):
        quiet(["dtd"])
    assert files(here / ".dtd").keys() == {"dtd-r1.0.1.tar.gz"} and not (here / "dtd").exists()
    monkeypatch.setattr(tarfile, "copyfileobj", copy)
    quiet(["dtd"])
    assert len(server.log) == 1 and len(datasets.load("dtd")) == 7


KILLED = """
import os, signal, sys
from fslcore import archives, fetch
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
    ("archives.tarfile.copyfileobj", 30),
    ("fetch.os.replace", 2),
    ("fetch.shutil.rmtree", 2),
]


@pytest.mark.parametrize("name, at", SITES)
def test_a_kill_leaves_nothing_that_looks_whole(here, server, name, at):
    code = KILLED.replace("{name}", name).replace("{at}", str(at))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    if (name, at) == ("fetch.shutil.rmtree", 2):  # it has its name, and is whole
        assert (here / "dtd").is_dir()
    else:
        assert not (here / "dtd").exists()
        with pytest.raises(InputError, match="fslcore fetch dtd"):
            datasets.load("dtd")
    quiet(["dtd"])
    assert len(datasets.load("dtd")) == 7 and (here / "dtd" / "fetched.json").is_file()


def test_a_kill_in_the_middle_of_a_download_is_gone_on_with(here, server):
    path = "/dtd/dtd-r1.0.1.tar.gz"
    for n, stop in enumerate((signal.SIGKILL, signal.SIGTERM), 1):
        server.faults[path] = [("stall", 1000)]
        server.stalled.clear()
        command = [sys.executable, "-m", "fslcore", "fetch", "dtd", "--accept-terms", "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert server.stalled.wait(30)
        part = here / ".dtd" / "dtd-r1.0.1.tar.gz.part"
        deadline = time.monotonic() + 10
        while download.bytes_of(part) != 1000 * n:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(stop)
        process.wait()
        assert not (here / "dtd").exists()
    quiet(["dtd"])
    assert [of for _, of in server.log] == [None, "bytes=1000-", "bytes=2000-"] and len(datasets.load("dtd")) == 7


# ---------------------------------------------------------------- the manifest


def test_the_shipped_manifest_says_what_a_person_needs():
    known = sources.read()
    assert known.data.keys() | known.same.keys() >= set(datasets.fetched())
    for name, source in {**known.data, **known.weights}.items():
        assert source.title and source.licence, name
        assert fetch.described(source)[0].startswith(name)
    for name, source in known.data.items():
        assert source.bring or (source.files and source.bytes), name
        for file in source.files:
            assert source.bring or file.bytes, file
            assert all(url.startswith("https://") or url.startswith("http://") for url in file.url)
        if any(word in source.licence for word in ("commercial", "for research", "fair use", "ImageNet")):
            assert source.accept, name
    assert sum(file.bytes for file in known.data["meta-album"].files) == 3_062_661_211
    assert [f.to.removesuffix("_Mini") for f in known.data["meta-album"].files] == [n for of in SETS for n in of]
    for split, of in listed_splits()["quickdraw"].items():
        files = known.data["quickdraw" + ("" if split == "novel" else f"-{split}")].files
        assert sorted(of) == sorted(f.name.removesuffix(".npy") for f in files) and all(f.sha256 for f in files)
    assert known.data["quickdraw"].bytes == 6_044_875_440  # of 7,710,295 drawings
    assert sum(f.bytes - 80 for f in known.data["quickdraw"].files) == 784 * 7_710_295
    unlisted = {name for name, of in known.data.items() if not all(file.digests for file in of.files)}
    assert unlisted == {"meta-album"}
    uncounted = {name for name, of in known.data.items() if not of.counts}
    assert uncounted == {"mscoco"}  # the manifest says why
    assert not [w.name for w in known.weights.values() if w.sha256 and (len(w.sha256) != 64 or not w.by)]


@pytest.mark.parametrize(
    "change, words",
    [
        ("[", "this is not YAML"),
        ("data: 3", "data are needed"),
        ("data: {a: {title: a}}", "data, a: .*licence"),
        ("data: {a: {title: a, licence: b, color: c}}", "data, a: .*color"),
        ("data: {a: {title: a, licence: b, files: [{url: 'ftp://x/y'}]}}", "data, a: ftp://x/y is not an address"),
        ("data: {a: {title: a, licence: b, files: [{url: 'https://x/y', md5: 12}]}}", "data, a: "),
        ("data: {a: {title: a, licence: b, files: [{url: 'https://x/y', to: ../b}]}}", "is not a path inside a folder"),
        ("data: {a: {title: a, licence: b, path: /etc}}", "'/etc' is not a path inside a folder"),
        ("data: {../a: {title: a, licence: b}}", "is not a path inside a folder"),
        ("data: {}\ngroups: {oops: [b]}", "groups, oops: b is not there"),
    ],
)
def test_a_manifest_of_another_form_is_told(tmp_path, monkeypatch, change, words):
    (tmp_path / "m.yml").write_text(change)
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "m.yml"))
    with pytest.raises(InputError, match=rf"FSLCORE_SOURCES: .*m.yml: .*{words}"):
        sources.read()


def test_no_manifest(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "none.yml"))
    with pytest.raises(InputError, match="none.yml: No such file"):
        sources.read()


# ---------------------------------------------------------------- weights

SMALL = {
    "clip": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 16},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    },
    "clip-b32": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 32},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    },
    "dino": {"depth": 2, "embed_dim": 48, "num_heads": 2},
    "dinov2-reg": {"depth": 2, "embed_dim": 48, "num_heads": 2},
}
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
        seen = backbone.network(backbone.preprocess(torch.zeros(2, 224, 224, 3, dtype=torch.uint8)))
        assert seen.shape == (2, backbone.dim), (form, seen.shape)
        print(form, backbone.dim, backbone.weights)
"""


def small_networks():
    """Networks of the official keys, as files of weights, by their names: all small, as `SMALL` says."""
    import torch
    from safetensors.torch import save

    from fslcore.models.networks import import_torchvision

    import_torchvision()  # as the next two do
    open_clip, timm = importlib.import_module("open_clip"), importlib.import_module("timm")
    for name, options in SMALL.items():
        torch.manual_seed(0)
        if name.startswith("clip"):
            patch = options["vision_cfg"]["patch_size"]
            network = open_clip.create_model(f"ViT-B-{patch}-quickgelu", pretrained=None, **options)
        else:
            model = SHIPPED["weights"][name]["repository"].removeprefix("timm/")
            network = timm.create_model(model, num_classes=0, **options)
        yield name, save({k: v.contiguous().clone() for k, v in network.state_dict().items()})


def hosted(server):
    """The entries of a manifest for small networks, which the server then has under the addresses of the hub."""
    made = {}
    for name, body in small_networks():
        entry = SHIPPED["weights"][name]
        made[name] = {"repository": entry["repository"], "file": entry["file"], "architecture": SMALL[name]}
        made[name] |= {"title": name, "licence": "none", "revision": REVISION}
        made[name] |= {"sha256": hashlib.sha256(body).hexdigest(), "by": ["this test", "and again"]}
        host(server, entry["repository"], {entry["file"]: body, "config.json": b"{}"})
    return made


@pytest.fixture(scope="module")
def hub(server):
    """A model hub with small networks in the official layouts: by name the file, its repository and its SHA-256."""
    made = hosted(server)
    gpt = SHIPPED["weights"]["vit-gpt2"]
    weights = {gpt["file"]: b"weights", "config.json": b"{}", "merges.txt": b"", "tf_model.h5": b"not wanted"}
    host(server, gpt["repository"], weights)
    made["vit-gpt2"] = {**gpt, "revision": REVISION, "sha256": hashlib.sha256(weights[gpt["file"]]).hexdigest()}
    return made


def host(server, repository, files):
    about = {"id": repository, "sha": REVISION, "siblings": [{"rfilename": name} for name in files]}
    server.files[f"/api/models/{repository}/revision/{REVISION}"] = json.dumps(about).encode()
    tree = [{"type": "file", "oid": "0" * 40, "size": len(body), "path": name} for name, body in files.items()]
    server.files[f"/api/models/{repository}/tree/{REVISION}"] = json.dumps(tree).encode()
    for name, body in files.items():
        server.files[f"/{repository}/resolve/{REVISION}/{name}"] = body


def from_hub(server, tmp_path, hub, *command):
    (tmp_path / "hub.yml").write_text(yaml.safe_dump({"data": {}, "weights": hub}))
    places = {"HF_ENDPOINT": server.url, "HF_HOME": str(tmp_path / "hf"), "FSLCORE_SOURCES": str(tmp_path / "hub.yml")}
    places["HF_HUB_OFFLINE"] = "0"  # other tests set it
    return subprocess.run([sys.executable, *command], env=os.environ | places, capture_output=True, text=True)


@pytest.mark.slow
def test_weights_come_by_revision_and_digest_from_the_hub_that_is_named(here, server, hub, tmp_path):
    done = from_hub(server, tmp_path, hub, "-c", LOADED, *SMALL)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.split()[0].removesuffix("-released") in SMALL]
    dims = {"clip": 24, "clip-b32": 24, "dino": 48, "dinov2-reg": 48}
    assert lines == [[n + end, str(dims[n]), hub[n]["sha256"]] for n in SMALL for end in ("", "-released")]
    assert not [path for path, _ in server.log if "tf_model" in path or "/main/" in path]


def test_a_folder_of_files_may_be_named_where_weights_are_fetched(here, server, hub, tmp_path):
    done = from_hub(server, tmp_path, hub, "-m", "fslcore", "fetch", "dino", "--from", str(tmp_path), "--quiet")
    assert done.returncode == 0, done.stderr


def test_weights_that_are_not_there_or_others_are_refused(here, server, hub, tmp_path):
    wrong = {**hub, "dino": {**hub["dino"], "sha256": "0" * 64}}
    done = from_hub(server, tmp_path, wrong, "-m", "fslcore", "fetch", "dino", "--quiet")
    assert done.returncode == 2 and "model.safetensors has sha256" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    gone = {**hub, "dino": {**hub["dino"], "repository": "timm/gone"}}
    done = from_hub(server, tmp_path, gone, "-m", "fslcore", "fetch", "dino", "--quiet")
    assert done.returncode == 2 and done.stderr.startswith("fslcore: dino: timm/gone cannot be fetched (")


# ---------------------------------------------------------------- pickles


def test_pickles_are_refused_with_lines_that_convert_them(here, tmp_path, monkeypatch, capsys):
    """On pickles made here in the form that others read; never tried on the real ones."""
    images = np.random.default_rng(0).integers(0, 256, (6, 84, 84, 3), np.uint8)
    (tmp_path / "mini").mkdir(), (tmp_path / "tiered").mkdir()
    monkeypatch.chdir(tmp_path / "mini")
    for n, part in enumerate(("train", "validation", "test")):
        of = {"image_data": images, "class_dict": {f"n{n}a": [0, 1, 2], f"n{n}b": [3, 4, 5]}}
        Path(f"mini-imagenet-cache-{part}.pkl").write_bytes(pickle.dumps(of))
    with pytest.raises(InputError, match=r"-test.pkl is a pickle.*fslcore fetch miniimagenet prints the code that"):
        datasets.load(f"miniimagenet:{tmp_path}/mini")
    exec(sources.read().data["miniimagenet"].convert, {})
    found = datasets.load(f"miniimagenet:{tmp_path}/mini")
    assert found.class_names == ["n2a", "n2b"] and (np.asarray(found.images) == images).all()
    monkeypatch.chdir(tmp_path / "tiered")
    for part in ("train", "val", "test"):
        png = [np.frombuffer((tmp_path / f"mini/images/test_{i}.png").read_bytes(), np.uint8) for i in range(6)]
        Path(f"{part}_images_png.pkl").write_bytes(pickle.dumps(png))
        base = {"train": 0, "val": 2, "test": 4}[part]
        Path(f"{part}_labels.pkl").write_bytes(pickle.dumps({"label_specific": [base] * 3 + [base + 1] * 3}))
    with pytest.raises(InputError, match="_png.pkl is a pickle.*fslcore fetch tieredimagenet"):
        datasets.load(f"tieredimagenet:{tmp_path}/tiered")
    exec(sources.read().data["tieredimagenet"].convert, {})
    found = datasets.load(f"tieredimagenet:{tmp_path}/tiered")
    assert found.class_names == ["004", "005"] and (np.asarray(found.images) == images).all()
    (tmp_path / "cifar-100-python").mkdir()
    (tmp_path / "cifar-100-python" / "meta").write_bytes(pickle.dumps({}))
    for folder in (tmp_path, tmp_path / "cifar-100-python"):
        with pytest.raises(InputError, match="meta is a pickle.*fslcore fetch cifar-fs brings the binary form"):
            datasets.load(f"cifar-fs:{folder}")
    assert app.main(["fetch", "tieredimagenet"]) == 2
    assert 'labels = pickle.load(file, encoding="latin1")["label_specific"]' in capsys.readouterr().out


# ---------------------------------------------------------------- the guide


GUIDE = Path(__file__).parents[2] / "book" / "running.md"
MARK = "% from fslcore/sources.yml: python tests/tools/test_fetch.py\n"


def table():
    """What the guide shows of the shipped manifest."""
    lines = ["| name | licence | download | digests |", "| :-- | :-- | --: | :-- |"]
    for name, source in sources.read().data.items():
        listed = min((len(file.by) if file.digests else 0 for file in source.files), default=0)
        how = ("first download", "one source", "two sources")[min(listed, 2)]
        size = f"{source.bytes / 1e9:,.2f} GB"
        size, how = ("", "to be brought") if source.bring else (size, how)
        limited = "; `--accept-terms`" * source.accept
        lines.append(f"| `{name}` | {source.licence}{limited} | {size} | {how} |")
    return "\n".join(lines) + "\n"


def test_the_guide_shows_the_manifest():
    """Where it does not, ``python tests/tools/test_fetch.py`` writes it again."""
    assert MARK + table() in GUIDE.read_text("utf-8")


if __name__ == "__main__":
    before, _, after = GUIDE.read_text("utf-8").partition(MARK)
    GUIDE.write_text(f"{before}{MARK}{table()}\n{after.partition(chr(10) * 2)[2]}", "utf-8")
