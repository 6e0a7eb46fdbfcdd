"""A profile's results as one file, and what is wrong with such a file."""

import io
import json
import runpy
import zipfile
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from fslbook import cli, contributed, pack
from fslbook.estimation import fresh
from fslbook.evaluators import estimates
from fslbook.fewstab import beside
from fslbook.fewstab import tables as fewstab
from fslcore import evaluation, sources
from fslcore.errors import InputError

MINIATURES = runpy.run_path(str(Path(__file__).parents[1] / "rehearsal" / "miniatures.py"))
SHAPE = dict(ways=5, shots=1, queries=2, seed=3)
CHAPTER = {"datasets": ["dtd"], "backbones": ["glyph-conv"], "learners": ["ncc"], "tasks": 12, "max_open": 6, **SHAPE}
DIGEST = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that is done: a manifest with a data set that is at hand as fetch leaves it, a cache and a profile."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(folder / "cache"))
        patch.setenv("FSLCORE_SOURCES", str(folder / "manifest.yml"))
        file = {"url": "http://localhost/dtd.tar.gz", "sha256": DIGEST, "by": ["one", "another"]}
        listed = {"data": {"dtd": {"title": "DTD", "licence": "none", "path": "dtd", "files": [file]}}}
        (folder / "manifest.yml").write_text(yaml.safe_dump(listed))
        MINIATURES["dtd"](sources.data_folder("dtd"))
        record = {"files": {"dtd.tar.gz": {"bytes": 7, "sha256": DIGEST, "as_listed": True}}}
        sources.data_folder("dtd", sources.RECORD).write_text(json.dumps(record))
        (folder / "small.yml").write_text(yaml.safe_dump({"closed-vs-open": CHAPTER}))
        for sampling, tasks in (("closed", 12), ("open", 6)):
            evaluation.run("dtd", "glyph-conv", "ncc", sampling, tasks=tasks, skip_small_classes=True, **SHAPE)
        yield folder


@pytest.fixture(autouse=True)
def in_the_run(own_cache, run, monkeypatch):
    monkeypatch.setenv("FSLCORE_CACHE", str(run / "cache"))


@pytest.fixture(scope="module")
def packed(run):
    return pack.write(run / "small.yml", run / "small.zip", "A. Name")


def edited(packed, target, change=None, arrays=None):
    """A copy with other content: ``change`` of what about.json holds, ``arrays`` by their names."""
    with zipfile.ZipFile(packed) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(parts["about.json"])
    if change is not None:
        change(about)
    parts = {**parts, "about.json": json.dumps(about).encode(), **(arrays or {})}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_what_was_computed_comes_back_from_the_file(run, packed):
    found = contributed.load(packed)
    assert found.by == "A. Name" and found.about["chapters"] == ["closed-vs-open"]
    assert found.images == {"dtd": 7 * MINIATURES["N"]} and found.about["data"]["dtd"]["dtd.tar.gz"]["sha256"] == DIGEST
    for sampling, tasks in (("closed", 12), ("open", 6)):
        options = dict(tasks=tasks, skip_small_classes=True, stored=True, **SHAPE)
        wanted = evaluation.run("dtd", "glyph-conv", "ncc", sampling, **options)
        got = found.results[found.results["sampling"] == sampling].reset_index(drop=True)
        assert len(got) == tasks
        pd.testing.assert_frame_equal(got, wanted, check_exact=False, rtol=1e-14)


def test_the_same_run_gives_the_same_bytes_without_pickles_or_paths(run, packed, capsys):
    assert cli.main(["pack", str(run / "small.yml"), "--by", "A. Name", "-o", str(run / "again.npz")]) == 0
    content = (run / "again.npz").read_bytes()
    assert content == packed.read_bytes() and str(run) not in capsys.readouterr().err
    with np.load(run / "again.npz", allow_pickle=False) as read:
        assert read["right-0000"].shape == (12, 5) and str(run).encode() not in read["about.json"]


def test_all_that_was_never_computed_is_named_at_once(run, capsys):
    more = CHAPTER | {"learners": ["ncc", "lr"], "tasks": 20}
    (run / "more.yml").write_text(yaml.safe_dump({"closed-vs-open": more}))
    assert cli.main(["pack", str(run / "more.yml"), "--by", "x", "-o", str(run / "more.zip")]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    for what in ("ncc on closed", "lr on closed", "lr on open"):
        assert f"{what} tasks of dtd, glyph-conv, 1-shot, was never computed" in line
    assert "ncc on open" not in line and not (run / "more.zip").exists()


@pytest.mark.parametrize(
    "given, told",
    [
        ({"closed-vs-open": CHAPTER | {"datasets": ["clipart"]}}, "no evaluation on data that fslcore fetch knows"),
        ({"closed-vs-open": CHAPTER | {"datasets": ["dtd:HERE"]}}, "its digests are not known"),
    ],
)
def test_other_data_are_not_packed(run, given, told):
    text = yaml.safe_dump(given).replace("HERE", str(sources.data_folder("dtd", "dtd")))
    (run / "other.yml").write_text(text)
    with pytest.raises(InputError, match=told):
        pack.write(run / "other.yml", run / "other.zip", "x")


def test_a_file_of_other_digests_than_the_manifests_is_refused(packed, tmp_path, monkeypatch):
    found = contributed.contributed(packed.parent / "none")
    assert found == []
    (tmp_path / "rehearsal.zip").write_bytes(packed.read_bytes())
    assert [one.by for one in contributed.contributed(tmp_path)] == ["A. Name"]
    monkeypatch.delenv("FSLCORE_SOURCES")  # what ships lists the archive of the authors
    with pytest.raises(InputError, match=r"rehearsal\.zip: dtd: other files than those of the manifest"):
        contributed.contributed(tmp_path)


def row(**changes):
    return lambda about: about["results"][0].update(changes)


CHANGES = {
    "a digest": (lambda a: a["data"]["dtd"]["dtd.tar.gz"].update(sha256="f" * 64), "dtd.tar.gz has SHA256 ffff"),
    "no digest": (lambda a: a["data"].clear(), "no digest of dtd"),
    "a seed": (row(seed=4), "not those that its class sizes and seed give"),
    "tasks": (row(tasks=13), "not those that its class sizes and seed give"),
    "a class size": (lambda a: a["classes"]["dtd"].__setitem__(0, 21), "not those that its class sizes and seed give"),
    "too few classes": (lambda a: a["classes"].update(dtd=[20, 20]), "its tasks cannot be drawn"),
    "a huge class": (lambda a: a["classes"].update(dtd=[10**12] * 7), "sizes that no data set has"),
    "huge shots": (row(shots=10**12), "shots and 2 queries in 12 tasks"),
    "another split": (
        lambda a: (a["classes"].update({"cub?splits=x": [9]}), a["results"][0].update(dataset="cub?splits=x")),
        "splits",
    ),
    "a learner": (row(learner="<b>x</b>"), "learner <b>x</b> is not known"),
    "a backbone": (row(backbone="../x"), "backbone ../x is not known"),
    "a field": (lambda a: a.pop("machine"), "are needed"),
    "a kind": (lambda a: a.update(classes={"dtd": [True]}), "about.json, classes, dtd, 0 is True"),
    "a format": (lambda a: a.update(format=2), "format 2; 1 is read"),
    "a row more": (lambda a: a["results"].append(a["results"][0]), "one a row of results is needed, 3"),
    "a row twice": (lambda a: a["results"].__setitem__(1, a["results"][0]), "rows of the same setting"),
    "a name": (lambda a: a.update(by="x\n# y"), "a name in one line"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_was_changed_is_refused(packed, tmp_path, name):
    change, told = CHANGES[name]
    with pytest.raises(InputError, match=told.replace(".", r"\.")) as error:
        contributed.load(edited(packed, tmp_path / "x.zip", change))
    assert str(error.value).startswith("x.zip: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content, told",
    [
        (npy(np.full((12, 5), 3, "<u2")), "more than 2 queries of a class are right"),
        (npy(np.ones((12, 4), "<u2")), r"an array \(12, 4\)"),
        (npy(np.ones((12, 5), float)), "of float64"),
        (npy(np.ones((11, 5), "<u2")), "not those that its class sizes"),
        (npy(np.ones((2**40, 0), "<u2")).replace(b"(1099511627776, 0)", b"(1099511627776, 5)"), "16-bit whole numbers"),
        (npy(np.array([{}] * 5, object)), "16-bit whole numbers"),
        (b"cut", "16-bit whole numbers"),
    ],
)
def test_arrays_that_cannot_be_are_refused(packed, tmp_path, content, told):
    with pytest.raises(InputError, match=rf"row 0 \(ncc on dtd, glyph-conv\): .*{told}"):
        contributed.load(edited(packed, tmp_path / "x.zip", arrays={"right-0000.npy": content}))


def test_all_problems_of_a_file_are_told_at_once(packed, tmp_path):
    def change(about):
        about["by"] = ""
        about["data"]["dtd"]["dtd.tar.gz"]["sha256"] = "f" * 64
        about["results"][0]["learner"] = "mine"

    with pytest.raises(InputError, match="by = .*; dtd: dtd.tar.gz has SHA256.*; learner mine is not known"):
        contributed.load(edited(packed, tmp_path / "x.zip", change))


def test_archives_that_are_none_or_expand_too_far_are_refused(packed, tmp_path, monkeypatch):
    path = tmp_path / "x.zip"
    whole = packed.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.zip: no pack can be read"):
            contributed.load(path)
    (tmp_path / "notes.txt").write_text("mine")
    path.unlink()
    with pytest.raises(InputError, match=r"notes\.txt: no pack can be read"):  # and does not silently vanish
        contributed.contributed(tmp_path)
    bomb = edited(packed, path, arrays={"right-0002.npy": bytes(contributed.EXPANDED)})
    assert bomb.stat().st_size < contributed.BYTES
    with pytest.raises(InputError, match="expands too far"):
        contributed.load(bomb)
    declared = edited(packed, path, arrays={"right-0002.npy": b"\0" * 4096}).read_bytes()
    assert declared.count((4096).to_bytes(4, "little")) == 2  # what the file says of itself, twice
    path.write_bytes(declared.replace((4096).to_bytes(4, "little"), (40).to_bytes(4, "little")))
    with pytest.raises(InputError, match="no pack can be read"):
        contributed.load(path)
    path.write_bytes(b"\0" * (contributed.BYTES + 1))
    with pytest.raises(InputError, match="bytes; .* are allowed"):
        contributed.load(path)
    path.write_bytes(edited(packed, path).read_bytes().replace(b"about.json", b"about.txt_"))
    with pytest.raises(InputError, match="no pack can be read"):
        contributed.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.json", "[" * 10**6)
    with pytest.raises(InputError, match="no pack can be read"):
        contributed.load(path)


# --- per-task results of the other two papers' chapters


OF_CHAPTERS = {
    "estimators": {
        "datasets": ["dtd"],
        "methods": ["conv4-protonet protonet", "conv4-baseline lr"],
        "tasks": 20,
        "rounds": 3,
        **{**SHAPE, "shots": 3},
    },
    "spurious-bias": {
        "datasets": ["dtd"],
        "learners": ["protonet", "rfs"],
        "captioner": "pixels",
        "tasks": 6,
        "image_learners": "run",
        **{name: SHAPE[name] for name in ("queries", "seed")},
        "ways": 2,
    },
}


@pytest.fixture(scope="module")
def by_task(run):
    """The tables of two chapters on that data set, and their run as a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(run / "cache"))
        patch.setenv("FSLCORE_SOURCES", str(run / "manifest.yml"))
        given = dict(OF_CHAPTERS["estimators"])
        one = estimates.collect(given.pop("datasets"), given.pop("methods"), **given)
        given = {k: v for k, v in OF_CHAPTERS["spurious-bias"].items() if k != "image_learners"}
        two = fewstab.collect(given.pop("datasets"), given.pop("learners"), **given)
        (run / "tasks.yml").write_text(yaml.safe_dump(OF_CHAPTERS))
        return one, two, pack.write(run / "tasks.yml", run / "tasks.zip", "A. Name")


def test_per_task_results_of_chapters_come_back_from_the_file(by_task, monkeypatch):
    one, two, path = by_task
    found = contributed.load(path)
    assert found.results["sampling"].unique().tolist() == ["closed"]
    rows = found.about["results"]
    assert [row["sampling"] for row in rows].count("re-split") == 2 and len(rows) == 2 + 2 * 2 * 2
    assert {row["redrawn"] for row in rows if row["sampling"] == "biased"} == {"no, they follow from attributes"}
    monkeypatch.setattr(estimates, "NETWORKS", "conv4-")
    got = estimates.contributed_table(found, **{**SHAPE, "shots": 3}, rounds=3)
    pd.testing.assert_frame_equal(got, one[list(got)], check_exact=False, rtol=1e-12)
    assert estimates.contributed_table(found, **SHAPE, rounds=3).empty
    monkeypatch.setattr(beside, "_trained_as", lambda row: row["backbone"].rpartition("-")[2])
    shape = dict(ways=2, queries=2, seed=3)
    got = beside.contributed_table(found, "pixels", **shape)
    assert sorted(got.index) == sorted(two.index)
    for key, column in product(got.index, got):
        assert str(got.loc[key, column]) == str(two.loc[key, column]), (key, column)
    assert beside.contributed_table(found, "blip", **shape).empty


def of_sampling(about, sampling):
    return next(row for row in about["results"] if row["sampling"] == sampling)


PER_TASK = {
    "rounds": (lambda a: of_sampling(a, "re-split").update(rounds=4), "not those that its class sizes and seed give"),
    "many rounds": (lambda a: of_sampling(a, "re-split").update(rounds=10**9), "1000000000 rounds in 20 tasks"),
    "no rounds": (
        lambda a: of_sampling(a, "re-split").update(rounds=None),
        "rounds or redrawn of a row of re-split tasks",
    ),
    "a seed": (lambda a: of_sampling(a, "re-split").update(seed=4), "not those that its class sizes and seed give"),
    "redrawn": (lambda a: of_sampling(a, "biased").update(redrawn="yes"), "redrawn of a row of biased tasks"),
    "a captioner": (lambda a: of_sampling(a, "biased").update(captioner="me"), "captioner me is not known"),
    "a number": (lambda a: of_sampling(a, "biased").update(tasks=7), "6 tasks, not 7"),
    "small classes": (lambda a: of_sampling(a, "biased").update(shots=19), "classes with too few images"),
    "fewer classes": (lambda a: a["classes"].update(dtd=[20] * 2), "classes that the data set does not have"),
    "parts": (lambda a: a["parts"].update(dtd=[0, 2] + [0] * 5), "sizes that no data set has"),
    "other parts": (lambda a: a["parts"].update(dtd=[0] * 5 + [1] * 2), "its tasks cannot be drawn"),
    "a network": (
        lambda a: of_sampling(a, "biased").update(backbone="trained:me/x"),
        "backbone trained:me/x is not known",
    ),
}


@pytest.mark.parametrize("name", PER_TASK)
def test_per_task_results_that_were_changed_are_refused(by_task, tmp_path, name):
    change, told = PER_TASK[name]
    with pytest.raises(InputError, match=told):
        contributed.load(edited(by_task[2], tmp_path / "x.zip", change))


@pytest.mark.parametrize(
    "sampling, change, told",
    [
        ("re-split", lambda a: a + 1.5, "accuracies that are not from 0 to 1"),
        ("re-split", lambda a: a * np.nan, "accuracies that are not from 0 to 1"),
        ("re-split", lambda a: a * 0 + 0.123, "accuracies that no number of right images gives"),
        ("re-split", lambda a: a[:, :5].copy(), r"not \(tasks, columns\) of 64-bit numbers"),
        ("re-split", lambda a: a[:10], "not those that its class sizes"),
        ("biased", lambda a: a + np.array([0, 0, 3, 3], "<u2"), "more than 2 queries of a class are right"),
        ("biased", lambda a: a * np.array([0, 0, 1, 1], "<u2"), "one twice in a task"),
        ("biased", lambda a: a[:, :2].copy(), r"not \(tasks, 2 ways\) of 16-bit"),
    ],
)
def test_arrays_per_task_that_cannot_be_are_refused(by_task, tmp_path, sampling, change, told):
    read = contributed.load(by_task[2]).arrays
    i, array = next((i, a) for i, (row, a) in enumerate(read) if row["sampling"] == sampling)
    other = {contributed.member(i): npy(change(array))}
    with pytest.raises(InputError, match=told):
        contributed.load(edited(by_task[2], tmp_path / "x.zip", arrays=other))


def test_parts_of_a_data_set_are_drawn_from_in_turn_again():
    parts = (0, 1, 0, 1, 0, 1)
    labels = np.repeat(np.arange(6), 12)
    asked, new = fresh.draw(labels, np.repeat(parts, 12), ways=2, shots=3, queries=3, tasks=9, seed=1)
    n, digest, tested = contributed._drawn((12,) * 6, parts, "re-split", 9, 2, 3, 3, 1, 5)
    assert n == 9 and (digest, tested) == contributed.re_split(asked, new, 5, 1) and tested[0] == 6
    assert digest != contributed._drawn((12,) * 6, (), "re-split", 9, 2, 3, 3, 1, 5)[1]


def test_data_that_a_person_brought_are_known_by_their_number_alone(run, tmp_path, monkeypatch):
    def manifest(**more):
        entry = {"title": "DTD", "licence": "none", "path": "dtd", "bring": "the folder", **more}
        path = tmp_path / f"{more}.yml"
        path.write_text(yaml.safe_dump({"data": {"dtd": entry}}))
        monkeypatch.setenv("FSLCORE_SOURCES", str(path))

    record = sources.data_folder("dtd", sources.RECORD)
    kept = record.read_text()
    try:
        record.unlink()
        manifest()
        path = pack.write(run / "small.yml", tmp_path / "brought.zip", "A. Name")
    finally:
        record.write_text(kept)
    assert contributed.load(path).about["data"] == {"dtd": {}}
    manifest(counts={"novel": [7, "0.1k"]})  # 140, to the nearest hundred
    assert contributed.load(path).images == {"dtd": 140}
    for classes, images in ([8, "0.1k"], [7, "0.2k"], [7, 139]):
        manifest(counts={"novel": [classes, images]})
        with pytest.raises(InputError, match=f"7 classes with 140 images, not {classes} with {images}"):
            contributed.load(path)


def test_a_network_of_ones_own_is_not_packed(run):
    given = {"estimators": OF_CHAPTERS["estimators"] | {"methods": ["trained:/home/me/x.safetensors lr"]}}
    (run / "own.yml").write_text(yaml.safe_dump(given))
    with pytest.raises(InputError, match="trained: a file of your own") as error:
        pack.write(run / "own.yml", run / "own.zip", "x")
    assert "/home/me" not in str(error.value)
