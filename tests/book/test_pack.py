"""A profile's results as one file, and what is wrong with such a file."""

import io
import json
import runpy
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from refusal import refuses, says_in_one_line

from fslbook import cli, contributed, pack
from fslbook.estimation import fresh_test_sets
from fslbook.evaluators import estimates
from fslbook.fewstab import own_data, tables as fewstab
from fslcore import evaluation, sources

MINIATURES = runpy.run_path(str(Path(__file__).parents[1] / "rehearsal" / "miniatures.py"))
SHAPE = dict(ways=5, shots=1, queries=2, seed=3)
SAMPLINGS = (("closed", 12), ("open", 6))
CHAPTER = {
    "datasets": ["dtd"],
    "backbones": ["glyph-conv"],
    "learners": ["ncc"],
    "tasks": 12,
    "max_open": 6,
    **SHAPE,
}
METHODS, LEARNERS = ["conv4-protonet protonet", "conv4-baseline lr"], ["protonet", "rfs"]
ESTIMATORS = {**SHAPE, "shots": 3, "tasks": 20, "rounds": 3}
SPURIOUS = {"captioner": "pixels", "tasks": 6, "ways": 2, "queries": 2, "seed": 3}
DIGEST = "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that is done: a manifest with a data set that is at hand as fetch leaves it, a cache and a profile."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(folder / "cache"))
        patch.setenv("FSLCORE_SOURCES", str(folder / "manifest.yml"))
        file = {"url": "http://localhost/dtd.tar.gz", "sha256": DIGEST, "by": ["one", "another"]}
        listed = {
            "data": {"dtd": {"title": "DTD", "licence": "none", "path": "dtd", "files": [file]}}
        }
        (folder / "manifest.yml").write_text(yaml.safe_dump(listed))
        MINIATURES["dtd"](sources.data_folder("dtd"))
        record = {"files": {"dtd.tar.gz": {"bytes": 7, "sha256": DIGEST, "as_listed": True}}}
        sources.data_folder("dtd", sources.RECORD).write_text(json.dumps(record))
        (folder / "small.yml").write_text(yaml.safe_dump({"closed-vs-open": CHAPTER}))
        for sampling, tasks in SAMPLINGS:
            evaluation.evaluate_setting(
                "dtd", "glyph-conv", "ncc", sampling, tasks=tasks, skip_small_classes=True, **SHAPE
            )
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
    parts |= {"about.json": json.dumps(about).encode(), **(arrays or {})}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_what_was_computed_comes_back_from_the_file(packed):
    file = contributed.load(packed)
    assert file.by == "A. Name" and file.about["chapters"] == ["closed-vs-open"]
    assert file.images == {"dtd": 7 * MINIATURES["N"]}
    assert file.about["data"]["dtd"]["dtd.tar.gz"]["sha256"] == DIGEST
    for sampling, tasks in SAMPLINGS:
        options = dict(tasks=tasks, skip_small_classes=True, stored=True, **SHAPE)
        computed = evaluation.evaluate_setting(
            "dtd", "glyph-conv", "ncc", sampling, **options
        ).table
        packed_rows = file.results[file.results["sampling"] == sampling].reset_index(drop=True)
        pd.testing.assert_frame_equal(packed_rows, computed, check_exact=False, rtol=1e-14)


def test_the_same_run_gives_the_same_bytes_without_pickles_or_paths(run, packed, capsys):
    assert (
        cli.main(["pack", str(run / "small.yml"), "--by", "A. Name", "-o", str(run / "again.npz")])
        == 0
    )
    content = (run / "again.npz").read_bytes()
    assert content == packed.read_bytes() and str(run) not in capsys.readouterr().err
    with np.load(run / "again.npz", allow_pickle=False) as read:
        assert read["right-0000"].shape == (12, 5) and str(run).encode() not in read["about.json"]


def test_all_that_was_never_computed_is_named_at_once(run, capsys):
    settings = CHAPTER | {"learners": ["ncc", "lr"], "tasks": 20}
    (run / "more.yml").write_text(yaml.safe_dump({"closed-vs-open": settings}))
    assert cli.main(["pack", str(run / "more.yml"), "--by", "x", "-o", str(run / "more.zip")]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    for name in ("ncc on closed", "lr on closed", "lr on open"):
        assert says_in_one_line(line, f"{name} tasks of dtd, glyph-conv, 1-shot")
    assert "ncc on open" not in line and not (run / "more.zip").exists()


@pytest.mark.parametrize(
    "chapter, settings, message",
    [
        (
            "closed-vs-open",
            CHAPTER | {"datasets": ["clipart"]},
            "no evaluation on data that fslcore fetch knows",
        ),
        ("closed-vs-open", CHAPTER | {"datasets": ["dtd:HERE"]}, "its digests are not known"),
        (
            "estimators",
            ESTIMATORS | {"datasets": ["dtd"], "methods": ["trained:/me/x lr"]},
            "trained: a file of your own",
        ),
    ],
)
def test_other_data_and_networks_are_not_packed(run, chapter, settings, message):
    text = yaml.safe_dump({chapter: settings}).replace(
        "HERE", str(sources.data_folder("dtd", "dtd"))
    )
    (run / "other.yml").write_text(text)
    with refuses(message) as error:
        pack.write(run / "other.yml", run / "other.zip", "x")
    assert "/me" not in str(error.value)


def test_a_file_of_other_digests_than_the_manifests_is_refused(packed, tmp_path, monkeypatch):
    assert contributed.contributed(packed.parent / "none") == []
    (tmp_path / "rehearsal.zip").write_bytes(packed.read_bytes())
    assert [file.by for file in contributed.contributed(tmp_path)] == ["A. Name"]
    monkeypatch.delenv("FSLCORE_SOURCES")  # what ships lists the archive of the authors
    with refuses(r"rehearsal\.zip", "dtd", "manifest"):
        contributed.contributed(tmp_path)


def test_archives_that_are_none_or_expand_too_far_are_refused(packed, tmp_path):
    path = tmp_path / "x.zip"

    def refused(content, message="no pack can be read"):
        path.write_bytes(content)
        with refuses(rf"x\.zip: .*{message}"):
            contributed.load(path)

    content = packed.read_bytes()
    for damaged in (
        b"",
        b"text",
        content[: len(content) // 2],
        content.replace(b"about.json", b"about.txt_"),
    ):
        refused(damaged)
    (tmp_path / "notes.txt").write_text("mine")
    path.unlink()
    with refuses(r"notes\.txt", "pack"):  # and does not silently vanish
        contributed.contributed(tmp_path)
    bomb = edited(packed, path, arrays={"right-0002.npy": bytes(contributed.EXPANDED)}).read_bytes()
    assert len(bomb) < contributed.BYTES
    refused(bomb, "must expand to at most")
    declared = edited(packed, path, arrays={"right-0002.npy": b"\0" * 4096}).read_bytes()
    assert declared.count((4096).to_bytes(4, "little")) == 2  # what the file says of itself, twice
    refused(declared.replace((4096).to_bytes(4, "little"), (40).to_bytes(4, "little")))
    refused(b"\0" * (contributed.BYTES + 1), "at most .* bytes, got")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.json", "[" * 10**6)
    refused(path.read_bytes())


# --- per-task results of the other two papers' chapters


@pytest.fixture(scope="module")
def by_task(run):
    """The tables of two chapters on that data set, and their run as a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(run / "cache"))
        patch.setenv("FSLCORE_SOURCES", str(run / "manifest.yml"))
        re_split = estimates.collect(["dtd"], METHODS, **ESTIMATORS)
        biased = fewstab.collect(["dtd"], LEARNERS, **SPURIOUS)
        chapters = {
            "estimators": {"datasets": ["dtd"], "methods": METHODS, **ESTIMATORS},
            "spurious-bias": {
                "datasets": ["dtd"],
                "learners": LEARNERS,
                "image_learners": "run",
                **SPURIOUS,
            },
        }
        (run / "tasks.yml").write_text(yaml.safe_dump(chapters))
        return re_split, biased, pack.write(run / "tasks.yml", run / "tasks.zip", "A. Name")


@pytest.mark.slow
def test_per_task_results_of_chapters_come_back_from_the_file(by_task, monkeypatch):
    re_split, biased, path = by_task
    file = contributed.load(path)
    assert file.results["sampling"].unique().tolist() == ["closed"]
    rows = file.about["results"]
    assert [row["sampling"] for row in rows].count("re-split") == 2 and len(rows) == 2 + 2 * 2 * 2
    assert {row["redrawn"] for row in rows if row["sampling"] == "biased"} == {
        "no, they follow from attributes"
    }
    monkeypatch.setattr(estimates, "NETWORKS", "conv4-")
    table = estimates.contributed_table(file, **{**SHAPE, "shots": 3}, rounds=3)
    pd.testing.assert_frame_equal(table, re_split[list(table)], check_exact=False, rtol=1e-12)
    assert estimates.contributed_table(file, **SHAPE, rounds=3).empty
    monkeypatch.setattr(own_data, "_trained_as", lambda row: row["backbone"].rpartition("-")[2])
    shape = dict(ways=2, queries=2, seed=3)
    table = own_data.contributed_table(file, "pixels", **shape).sort_index()
    pd.testing.assert_frame_equal(table.astype(str), biased[list(table)].sort_index().astype(str))
    assert own_data.contributed_table(file, "blip", **shape).empty


NOT_THOSE = "not those that its class sizes and seed give"


CHANGES = {
    "a digest": (("data", "dtd", "dtd.tar.gz", "sha256"), "f" * 64, "dtd.tar.gz has SHA256 ffff"),
    "no digest": (("data",), {}, "no digest of dtd"),
    "a class size": (("classes", "dtd", 0), 21, NOT_THOSE),
    "a huge class": (("classes", "dtd"), [10**12] * 7, "sizes that no data set has"),
    "huge shots": (("closed", "shots"), 10**12, "shots and 2 queries in 6 tasks"),
    "a learner": (("closed", "learner"), "<b>x</b>", "learner <b>x</b> is not known"),
    "a field": (("machine",), None, "machine must be a mapping, got None"),
    "a kind": (("classes",), {"dtd": [True]}, "about.json, classes, dtd, 0 is True"),
    "a name": (("by",), "x\n# y", "a name in one line"),
    "rounds": (("re-split", "rounds"), 4, NOT_THOSE),
    "redrawn": (("biased", "redrawn"), "yes", "redrawn of a row of biased tasks"),
    "a captioner": (("biased", "captioner"), "me", "captioner me is not known"),
    "a number": (("biased", "tasks"), 7, "6 tasks, not 7"),
    "small classes": (("biased", "shots"), 19, "classes with too few images"),
    "fewer classes": (("classes", "dtd"), [20] * 2, "classes that the data set does not have"),
    "parts": (("parts", "dtd"), [0, 2] + [0] * 5, "sizes that no data set has"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_that_was_changed_is_refused(by_task, tmp_path, name):
    path, value, message = CHANGES[name]

    def change(about):
        *folders, key = path
        place = about
        for folder in folders:
            rows = (row for row in about["results"] if row["sampling"] == folder)
            place = place[folder] if folder in place or isinstance(folder, int) else next(rows)
        place[key] = value

    with refuses(message) as error:
        contributed.load(edited(by_task[2], tmp_path / "x.zip", change))
    assert str(error.value).startswith("x.zip: ")


@pytest.mark.parametrize(
    "sampling, change, message",
    [
        ("closed", lambda right: 0 * right + 3, "more than 2 queries of a class are right"),
        ("closed", lambda right: right[:, 1:].copy(), r"shape \(N, \d\) .*got \(6, 1\)"),
        ("closed", lambda right: right[1:], NOT_THOSE),
        ("re-split", lambda accuracies: accuracies * np.nan, "accuracies that are not from 0 to 1"),
        (
            "re-split",
            lambda accuracies: accuracies * 0 + 0.123,
            "accuracies that no number of right images gives",
        ),
        (
            "re-split",
            lambda accuracies: accuracies[:, :5].copy(),
            "not (tasks, columns) of 64-bit numbers",
        ),
        (
            "biased",
            lambda right: right + np.array([0, 0, 3, 3], "<u2"),
            "more than 2 queries of a class are right",
        ),
        ("biased", lambda right: right * np.array([0, 0, 1, 1], "<u2"), "one twice in a task"),
    ],
)
def test_arrays_per_task_that_cannot_be_are_refused(by_task, tmp_path, sampling, change, message):
    arrays = contributed.load(by_task[2]).arrays
    number = next(number for number, (row, _) in enumerate(arrays) if row["sampling"] == sampling)
    changed = {contributed.member(number): npy(change(arrays[number][1]))}
    with refuses(message):
        contributed.load(edited(by_task[2], tmp_path / "x.zip", arrays=changed))


def rehashed(packed, target, change):
    """A copy whose arrays were changed by ``change(arrays)``, and whose digests were made again."""
    arrays = [array for _, array in contributed.load(packed).arrays]
    contents = [npy(array) for array in change(arrays)]

    def with_digests(about):
        for row, content in zip(about["results"], contents, strict=True):
            row["array"] = contributed.array_digest(content)

    members = {contributed.member(i): content for i, content in enumerate(contents)}
    return edited(packed, target, with_digests, members)


@pytest.fixture(scope="module")
def two_learners(run):
    """A pack of two learners on the same closed and open tasks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(run / "cache"))
        patch.setenv("FSLCORE_SOURCES", str(run / "manifest.yml"))
        for learner in ("ncc", "lr"):
            for sampling, tasks in SAMPLINGS:
                options = dict(tasks=tasks, skip_small_classes=True, **SHAPE)
                evaluation.evaluate_setting("dtd", "glyph-conv", learner, sampling, **options)
        settings = CHAPTER | {"learners": ["ncc", "lr"]}
        (run / "two.yml").write_text(yaml.safe_dump({"closed-vs-open": settings}))
        return pack.write(run / "two.yml", run / "two.zip", "A. Name")


def test_swapped_changed_and_copied_arrays_are_refused(two_learners, tmp_path):
    arrays = contributed.load(two_learners).arrays
    rows = [row for row, _ in arrays]
    first, second = (i for i, row in enumerate(rows) if row["sampling"] == "closed")
    target = tmp_path / "x.zip"
    other = "its array is another than the one that was packed"

    swapped = {
        contributed.member(first): npy(arrays[second][1]),
        contributed.member(second): npy(arrays[first][1]),
    }
    with refuses(rf"row {first} .*{other}; row {second} .*{other}"):
        contributed.load(edited(two_learners, target, arrays=swapped))

    changed = arrays[first][1].copy()
    changed[0, 0] = 1 - min(changed[0, 0], 1)
    with refuses(rf"row {first} .*{other}"):
        contributed.load(
            edited(two_learners, target, arrays={contributed.member(first): npy(changed)})
        )

    def copied(all_arrays):
        all_arrays[second] = all_arrays[first]
        return all_arrays

    assert len(np.unique(arrays[first][1].sum(axis=1))) > contributed.FEW_VALUES
    with refuses(f"rows {first} and {second}", "learner", "same numbers"):
        contributed.load(rehashed(two_learners, target, copied))


def test_the_same_numbers_under_two_seeds_are_refused():
    right = np.arange(12, dtype="<u2").reshape(6, 2)
    row = {"sampling": "closed", "ways": 2, "learner": "lr", "backbone": "clip", "array": "a"}
    arrays = [(row | {"seed": seed}, right) for seed in (0, 1)]
    (problem,) = contributed._copies(arrays)
    assert says_in_one_line(problem, "rows 0 and 1", "seed", "same numbers")
    assert contributed._copies([(row | {"seed": seed}, right[:4]) for seed in (0, 1)]) == []
    assert contributed._copies([arrays[0], arrays[0]]) == []  # a setting twice has its own refusal


def test_a_key_that_stands_twice_is_refused(packed, tmp_path):
    with zipfile.ZipFile(packed) as archive:
        text = archive.read("about.json").decode()
    twice = text.replace('"by":', '"by": "B. Name", "by":', 1).encode()
    with refuses(r"\bby\b", "twice"):
        contributed.load(edited(packed, tmp_path / "x.zip", arrays={"about.json": twice}))


def test_parts_of_a_data_set_are_drawn_from_in_turn_again():
    parts = (0, 1, 0, 1, 0, 1)
    labels = np.repeat(np.arange(6), 12)
    shape = dict(ways=2, shots=3, queries=3, seed=1)
    with_oracle, new = fresh_test_sets.draw(labels, np.repeat(parts, 12), tasks=9, **shape)
    n, digest, tested = contributed._drawn((12,) * 6, parts, "re-split", 9, 5, **shape)
    assert (
        n == 9
        and (digest, tested) == contributed.re_split(with_oracle, new, 5, 1)
        and tested[0] == 6
    )
    assert digest != contributed._drawn((12,) * 6, (), "re-split", 9, 5, **shape)[1]


def test_data_that_a_person_brought_are_known_by_their_number_alone(run, tmp_path, monkeypatch):
    def manifest(**counts):
        entry = {"title": "DTD", "licence": "none", "path": "dtd", "bring": "the folder", **counts}
        path = tmp_path / f"{counts}.yml"
        path.write_text(yaml.safe_dump({"data": {"dtd": entry}}))
        monkeypatch.setenv("FSLCORE_SOURCES", str(path))

    record = sources.data_folder("dtd", sources.RECORD)
    text = record.read_text()
    record.unlink()
    try:
        manifest()
        path = pack.write(run / "small.yml", tmp_path / "brought.zip", "A. Name")
    finally:
        record.write_text(text)
    assert contributed.load(path).about["data"] == {"dtd": {}}
    manifest(counts={"novel": [7, "0.1k"]})  # 140, to the nearest hundred
    assert contributed.load(path).images == {"dtd": 140}
    for classes, images in ([8, "0.1k"], [7, "0.2k"]):
        manifest(counts={"novel": [classes, images]})
        with refuses(f"7 classes with 140 images, not {classes} with {images}"):
            contributed.load(path)
