"""What comes in from outside: feature files, folders of images, and the embedded data sets with their cards."""

import hashlib
import pickle
import shutil
import threading
import time
import warnings
from contextlib import closing
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from refusal import refuses, says_in_one_line, warned
from safetensors.torch import save_file as torch_file

from fslcore import datasets, evaluation
from fslcore.datasets.bank import LONGEST, SHORTEST, Bank, load_features
from fslcore.datasets.images import OnDemand
from fslcore.paths import DATA
from tests.pickled import Touch

FEATURES = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
LABELS = np.arange(12) % 3


def load_npz(folder, features, labels=LABELS):
    np.savez(folder / "f.npz", features=features, labels=labels)
    return load_features(folder / "f.npz")


def test_digests_of_features_stay(tmp_path):
    features = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    digest = "957de9ac794f82e86559160e33b53346bb0f55955270f1fca08bccea1f85a24f"
    assert load_npz(tmp_path, features, np.array([0, 1, 0, 1])).digest == digest
    assert load_npz(tmp_path, features * 1.001, np.array([0, 1, 0, 1])).digest != digest


NAMES = np.array(["cat", "ant", "bee"])
INTEGERS = np.round(100 * FEATURES)


@pytest.mark.parametrize(
    "features, labels, classes",
    [
        (INTEGERS.astype(np.int64), LABELS, LABELS),
        (INTEGERS.astype(np.float64), LABELS.astype(float), LABELS),
        (INTEGERS.astype(np.float16), NAMES[LABELS], NAMES[LABELS]),
        (INTEGERS, NAMES.astype(bytes)[LABELS], NAMES[LABELS]),
        (INTEGERS, LABELS - 1, LABELS - 1),
        (INTEGERS.astype(">f2"), LABELS, LABELS),
        (INTEGERS > -50, LABELS, LABELS),
    ],
    ids="integers floats text bytes negative other-endian booleans".split(),
)
def test_features_and_labels_of_other_types(tmp_path, features, labels, classes):
    bank = load_npz(tmp_path, features, labels)
    assert (bank.data.numpy() == features).all() and (bank.classes == classes).all()
    assert (bank.to("cpu").classes == classes).all()
    assert bank.labels.dtype == np.int64
    # In the order of the user's labels, so that the same tasks are drawn.
    assert (bank.labels == np.unique(classes, return_inverse=True)[1]).all()


def test_a_small_class_is_called_as_the_user_calls_it(tmp_path):
    load_npz(tmp_path, FEATURES, NAMES[LABELS])
    (tmp_path / "f.npz").rename(tmp_path / "特徴 é: 1.npz")
    with refuses("class ant .*images, got 4"):
        dataset = f"features:{tmp_path}/特徴 é: 1.npz"
        evaluation.evaluate_setting(dataset, "none", "ncc", ways=3, tasks=2)


def test_every_kind_of_file_is_read(tmp_path):
    tensors = {"features": torch.tensor(INTEGERS).bfloat16(), "labels": torch.tensor(LABELS)}
    torch.save(tensors, tmp_path / "f.pt")
    torch_file(tensors, tmp_path / "f.safetensors")
    np.save(tmp_path / "f.npy", INTEGERS)
    np.save(tmp_path / "labels.npy", LABELS)
    table = pd.DataFrame(INTEGERS).assign(label=np.array(["a", "b", "c"])[LABELS])
    table.to_csv(tmp_path / "f.csv", index=False)
    table.to_csv(tmp_path / "f.tsv", index=False, sep="\t")
    for ending in ".pt .safetensors .npy .csv .tsv".split():
        bank = load_features(tmp_path / f"f{ending}")
        assert bank.data.numpy() == pytest.approx(INTEGERS, rel=1e-2)
        assert (bank.labels == LABELS).all()
    torch.save(
        {"features": torch.tensor(INTEGERS), "labels": list(NAMES[LABELS].tolist())},
        tmp_path / "f.pt",
    )
    assert (load_features(tmp_path / "f.pt").classes == NAMES[LABELS]).all()


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda table: table.reset_index(names="Unnamed: 0"),
            "column Unnamed: 0 of f.csv is not a feature",
        ),
        (lambda table: table.drop(columns="label"), "f.csv lacks the column label; it has 0, 1"),
        (
            lambda table: table.assign(label=[None, *"ab" * 5, "a"]),
            "f.csv has 1 rows without a label",
        ),
    ],
)
def test_tables_that_are_not_features(tmp_path, change, message):
    change(pd.DataFrame(FEATURES).assign(label=LABELS)).to_csv(tmp_path / "f.csv", index=False)
    with refuses(message):
        load_features(tmp_path / "f.csv")


def with_rows(rows, value):
    features = FEATURES.astype(np.float64)
    features[rows] = value
    return features


@pytest.mark.parametrize(
    "features, labels, message",
    [
        (np.where(np.eye(12, 4), np.nan, FEATURES), LABELS, "4 rows hold NaN or infinity"),
        (FEATURES, LABELS[:-1], "labels .*12, got 11"),
        (FEATURES[0], LABELS, r"features.*\(N, D\) floats, got"),
        (FEATURES, LABELS / 2, "labels .*neither integers nor text"),
        (
            FEATURES,
            np.where(LABELS == 1, np.nan, LABELS),
            "4 labels in f.npz are NaN or infinite, the first in row 1",
        ),
        (
            FEATURES,
            np.array(["a", "", "b"])[LABELS],
            "4 labels in f.npz are empty, the first in row 1",
        ),
        (FEATURES, np.array(["a", "nan", "b"])[LABELS], "4 labels in f.npz are nan, the text"),
        (FEATURES, LABELS.astype("M8[D]"), "labels"),
        (
            FEATURES,
            np.stack([LABELS] * 2),
            r"'labels' in f.npz .*integers.*got int64 of shape \(2, 12\)",
        ),
        (FEATURES, np.zeros(12, int), "at least 2 classes, got one, 0, in f.npz"),
        (np.ones((12, 4)), LABELS, "the 12 rows of f.npz are all equal"),
        (np.zeros((12, 0)), LABELS, "12 rows of 0 numbers"),
        (with_rows([3, 5], 0), LABELS, r"2 rows of f.npz have length 0 \(3, 5\); leave them out"),
        (
            with_rows([3], 1e25),
            LABELS,
            r"1 rows of f.npz are longer than 1e\+15 \(3\); scale the features",
        ),
        (with_rows([3], 1e300), LABELS, r"f.npz holds 1e\+300; scale"),
        (FEATURES * 1e-20, LABELS, r"12 rows of f.npz are shorter than 1e-10 \(0, 1, 2, 3, 4 …\)"),
    ],
)
def test_features_that_do_not_fit(tmp_path, features, labels, message):
    with refuses(message):
        load_npz(tmp_path, features, labels)


def test_the_longest_and_shortest_rows_work(tmp_path):
    labels = np.arange(60) % 3
    separable = np.random.default_rng(0).normal(size=(60, 8)) + 9 * np.eye(3, 8)[labels]
    separable /= np.linalg.norm(separable, axis=1).max()
    for scale in (0.99 * LONGEST, 10 * SHORTEST):
        load_npz(tmp_path, scale * separable, labels)
        for learner in ("ncc", "lr", "cosine", "protonet"):
            result = evaluation.evaluate_setting(
                f"features:{tmp_path}/f.npz", "none", learner, ways=3, queries=5, tasks=10
            )
            assert result.accuracy.mean() > 90, (scale, learner)


def test_nothing_is_unpickled(tmp_path):
    trap = tmp_path / "trap"
    objects = np.array([Touch(trap)], dtype=object)
    np.savez(tmp_path / "f.npz", features=objects, labels=LABELS)
    (tmp_path / "g.npz").write_bytes(pickle.dumps(Touch(trap)))
    torch.save({"features": Touch(trap), "labels": LABELS}, tmp_path / "h.pt")
    np.save(tmp_path / "i.npy", objects)
    np.save(tmp_path / "labels.npy", LABELS)
    (tmp_path / "j.pt").write_bytes(
        pickle.dumps(Touch(trap))
    )  # of which PyTorch warns in two lines
    trap.unlink(missing_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in "f.npz g.npz h.pt i.npy j.pt".split():
            with refuses("without pickles"):
                load_features(tmp_path / name)
    assert not trap.exists()


def test_files_that_hold_no_features(tmp_path):
    (tmp_path / "d.npz").mkdir()
    np.savez(tmp_path / "unlabelled.npz", features=FEATURES)
    np.save(tmp_path / "lonely.npy", FEATURES)
    (tmp_path / "round.npz").symlink_to("round.npz")
    for name, message in (
        ("none.npz", "no file"),
        ("round.npz", "round.npz"),
        ("d.npz", "d.npz is a folder"),
        ("unlabelled.npz", "lacks the array 'labels'"),
        ("lonely.npy", "lonely.npy .*labels.npy"),
    ):
        with refuses(message):
            load_features(tmp_path / name)
    np.save(tmp_path / "labels.npy", LABELS)
    allowed = ".npz, .safetensors, .pt, .pth, .npy, .csv, .tsv, got f.mat"
    for ending in ".mat .pt .npy .csv .npz .safetensors".split():
        (tmp_path / f"f{ending}").write_bytes(b"")
        message = allowed if ending == ".mat" else f"f{ending} is not a readable {ending}"
        with refuses(message):
            load_features(tmp_path / f"f{ending}")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for i in range(3):
            Image.fromarray(rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(
                tmp_path / name / f"{i}.png"
            )
    return tmp_path


def test_folder_of_class_folders(folder):
    images = datasets.load(f"folder:{folder}")
    assert images.class_names == ["cat", "dog"] and images.labels.tolist() == [0, 0, 0, 1, 1, 1]
    small = datasets.load_folder(folder, size=20)
    middle = np.asarray(Image.open(folder / "dog" / "1.png"))[:, 5:25]
    assert (small.images[4:5][0] == middle).all()  # the middle square, unscaled at its own size
    assert np.asarray(small.images).shape == (6, 20, 20, 3)


@pytest.mark.parametrize("limit, read_twice", [(6 * 4, []), (6 * 4 - 1, [4, 2, 2])])
def test_small_images_are_read_once(monkeypatch, limit, read_twice):
    monkeypatch.setattr("fslcore.datasets.images.KEPT", limit)
    read = []
    images = OnDemand(lambda i: read.append(i) or np.full((2, 2, 1), i, np.uint8), 6, (2, 2, 1))
    first = images[1:5]
    assert read == [1, 2, 3, 4]
    first[:] = 99  # what a caller does to its copy changes nothing
    assert images[np.array([4, 2, 2])][:, 0, 0, 0].tolist() == [4, 2, 2] and read[4:] == read_twice
    assert images[:][:, 1, 1, 0].tolist() == [0, 1, 2, 3, 4, 5]


def slow_images(begun, n=1000, seconds=0.0):
    """Images of files, as it were, that note which of them a thread began to decode."""

    def decode(i):
        begun.append(i)
        time.sleep(seconds)
        return np.full((2, 2, 1), i % 251, np.uint8)

    return OnDemand(lambda i, found=None: found() if found else decode(i), n, (2, 2, 1), decode)


@pytest.mark.parametrize("limit", [4000, 3999])  # all stay in memory, or none
def test_images_are_decoded_one_range_ahead_and_no_more(monkeypatch, limit):
    monkeypatch.setattr("fslcore.datasets.images.KEPT", limit)
    begun = []
    parts = [range(at, at + 50) for at in range(100, 400, 50)]
    images = slow_images(begun)
    with closing(images.ahead(parts, 3)) as read:
        for k, (part, pixels) in enumerate(zip(parts, read)):
            assert pixels[:, 0, 0, 0].tolist() == [i % 251 for i in part]
            due = min(100 + 50 * (k + 2), 400)
            for _ in range(1000):  # the next range is decoded although nobody asks for it yet
                if len(begun) == due - 100:
                    break
                time.sleep(0.01)
            assert sorted(begun) == [*range(100, due)]
        assert k == len(parts) - 1
    [pixels] = images.ahead([range(100, 150)], 3)
    assert pixels[:, 1, 1, 0].tolist() == [*range(100, 150)]
    assert len(begun) == (350 if images.large else 300)  # what stays in memory is not decoded again


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_while_images_are_decoded_ahead_waits_for_few_of_them(error):
    begun, before = [], threading.active_count()
    with (
        pytest.raises(error),
        closing(slow_images(begun, seconds=0.01).ahead([range(2), range(2, 1000)], 2)) as read,
    ):
        for _ in read:
            raise error
    assert len(begun) < 100 and threading.active_count() == before


def test_errors_and_notes_of_files_are_the_same_when_decoded_ahead(folder, recwarn):
    flat, broken = Image.new("RGB", (20, 30), "red"), folder / "dog" / "2.png"
    for name in ("cat/0.png", "cat/2.png", "dog/1.png"):
        flat.save(folder / name)
    content, messages = broken.read_bytes(), []
    for ahead in (False, True):
        broken.write_bytes(content)
        images = datasets.load_folder(folder, size=16).images
        broken.write_bytes(b"not an image")
        rows = [range(2), range(2, 4), range(4, 6)]
        parts = images.ahead(rows, 2) if ahead else (images[part] for part in rows)
        assert (next(parts) == images[:2]).all() and (next(parts) == images[2:4]).all()
        with refuses("unreadable image .*dog/2.png") as error:
            next(parts)
        messages.append((str(error.value), warned(recwarn)))
    assert messages[0] == messages[1] and says_in_one_line(messages[0][1], "2", "of 6", "colour")


def test_photos_that_threads_decode_raise_no_warning_of_their_size(folder, monkeypatch):
    monkeypatch.setattr(
        Image, "MAX_IMAGE_PIXELS", 400
    )  # of 600 in each: below twice as many no bomb
    images = datasets.load_folder(folder, size=16).images
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = [*warnings.filters]
        assert len([*images.ahead([range(3), range(3, 6)], 4)]) == 2 and warnings.filters == before


def test_a_name_without_an_embedding_is_named():
    text = torch.ones(3, 4)
    text[1] = 0
    with refuses("text", r"\b1\b", "length 0"):
        Bank(torch.from_numpy(FEATURES), LABELS, "", text=text)


@pytest.mark.parametrize("limit", [24, 23])
def test_images_are_indexed_as_an_array_is(monkeypatch, limit):
    monkeypatch.setattr("fslcore.datasets.images.KEPT", limit)
    pixels = np.arange(24, dtype=np.uint8).reshape(6, 2, 2, 1)
    images = OnDemand(pixels.__getitem__, 6, (2, 2, 1))
    for rows in (3, -1, np.int64(2), slice(4, None), [5, 0], np.arange(6) > 3):
        assert np.array_equal(images[rows], pixels[rows])
    with pytest.raises(IndexError):
        images[6]


def test_a_path_may_hold_a_colon_and_a_question_mark(folder, tmp_path_factory):
    odd = tmp_path_factory.mktemp("odd") / "a:b?x=1"
    shutil.copytree(folder, odd)
    digest = datasets.load_folder(folder, size=16).digest
    assert datasets.load(f"folder:{odd}", size=16).digest == digest
    odd.rename(odd.with_name("a:b"))
    with refuses(r"\bground\b", r"\bx\b"):  # the settings that there are
        datasets.load(f"folder:{odd}", size=16)


def test_folder_digest_follows_content(folder):
    digest = datasets.load_folder(folder, size=16).digest
    assert datasets.load_folder(folder, size=16).digest == digest
    assert datasets.load_folder(folder, size=17).digest != digest
    Image.new("RGB", (20, 30)).save(folder / "cat" / "0.png")
    assert datasets.load_folder(folder, size=16).digest != digest


def test_folder_faults_are_named(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for kind in (
        "folder:",
        "cub:",
        "folder:?ground=black",
    ):  # as of a variable that is empty: not this folder
        with refuses("path", "folder"):
            datasets.load(kind)
    with refuses("no folder"):
        datasets.load(f"folder:{folder}/none")
    images = datasets.load_folder(folder, size=16)
    broken = folder / "dog" / "2.png"
    broken.write_bytes(b"not an image")
    for read in (lambda: images.images[:], lambda: datasets.load_folder(folder)):
        with refuses("unreadable image .*dog/2.png"):
            read()
    broken.unlink()
    broken.symlink_to(folder / "nowhere")
    with refuses("unreadable image .*2.png"):
        datasets.load_folder(folder)
    broken.unlink()
    (folder / "empty").mkdir()
    with refuses("empty holds no image"):
        datasets.load_folder(folder)


@pytest.mark.parametrize("name", datasets.cards())
def test_card_tells_the_truth(name):
    card = datasets.cards()[name]
    assert (
        hashlib.sha256((DATA / name / "images.parquet").read_bytes()).hexdigest() == card["sha256"]
    )
    assert (
        card["licence"]
        and card["source"]
        and (DATA / name / "README.md").is_file()
        and (DATA / name / "build.py").is_file()
    )
    classes = {}
    for split, domains in card["splits"].items():
        classes[split] = set()
        for domain, counts in domains.items():
            images = datasets.load_embedded(name, split=split, domain=domain)
            assert (len(images), len(images.class_names)) == (counts["images"], counts["classes"])
            assert images.counts.min() >= 20
            size = card["image"]
            assert images.images[:2].shape == (2, size["height"], size["width"], size["channels"])
            assert images.images[:2].min() < images.images[:2].max()
            classes[split] |= set(images.class_names)
    assert all(not classes[a] & classes[b] for a, b in combinations(classes, 2))


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: datasets.load("clipartt"),
            "dataset .*one of clipart, .*'clipartt'; .*'clipart'",
        ),
        (
            lambda: datasets.load_embedded("fashion", split="base"),
            "split of fashion .*novel.*base",
        ),
        (
            lambda: datasets.load_embedded("glyphs", domain="thai"),
            r"domain of glyphs \(novel\).*thai",
        ),
        (lambda: datasets.load("clipart?bias=1"), "clipart takes no settings"),
    ],
)
def test_unknown_names_and_settings_say_what_exists(call, message):
    with refuses(message):
        call()


def test_a_file_or_folder_is_known_for_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.npz").touch(), (tmp_path / "photos").mkdir()
    for name, meant in (("f.npz", "features:f.npz"), ("photos", "folder:photos")):
        with refuses(rf"dataset .*got '{name}'.*did you mean '?{meant}'?"):
            datasets.check_name(name)


def test_bank_and_images_refuse_lengths_that_differ():
    with refuses("labels", "4, got 3"):
        Bank(torch.zeros(4, 2), np.zeros(3, int), "")
    with refuses("2 captions for 3 images"):
        datasets.Images(
            "x", np.zeros((3, 2, 2, 1), np.uint8), np.zeros(3, int), ["a"], captions=["", ""]
        )
