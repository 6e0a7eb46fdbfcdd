"""Near-copies: the hash, what is found among pictures made here, the command, and groups read back."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from features import features_file
from PIL import Image, ImageDraw
from refusal import warned
from scipy import fft, ndimage
from scipy.sparse import csgraph
from scipy.spatial import distance

from fslbook import cli, near_copies
from fslbook.near_copies import fingerprints, pairs, search, thresholds
from fslcore import datasets, evaluation
from fslcore.cli import app

SIDE = 96


def picture(seed):
    """Smooth random shapes in colour."""
    rng = np.random.default_rng(seed)
    noise = ndimage.gaussian_filter(rng.normal(size=(SIDE, SIDE, 3)), (7, 7, 0))
    low, high = noise.min(axis=(0, 1)), noise.max(axis=(0, 1))
    return Image.fromarray((255 * (noise - low) / (high - low)).astype(np.uint8))


def encoded(image, quality=60):
    written = io.BytesIO()
    image.save(written, "JPEG", quality=quality)
    return Image.open(io.BytesIO(written.getvalue()))


COPIES = {
    "exact": lambda image: image,
    "rescaled": lambda image: image.resize((64, 64), Image.Resampling.BICUBIC).resize((SIDE, SIDE)),
    "encoded": encoded,
    "shifted": lambda image: Image.fromarray(np.roll(np.asarray(image), 1, axis=1)),
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """Features of these pictures are computed once, in a place of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes of 12 unrelated pictures; four copies beside their pictures, and an exact one in the other class."""
    path = tmp_path_factory.mktemp("pictures")
    for c in "ab":
        (path / c).mkdir()
        for i in range(12):
            picture(100 * (c == "b") + i).save(path / c / f"{i:02}.png")
    for i, (name, change) in enumerate(COPIES.items()):
        change(picture(i)).save(path / "a" / f"{i:02}-{name}.png")
    picture(7).save(path / "b" / "of-a-07.png")
    return f"folder:{path}"


KNOWN = {
    ("a/00.png", "a/00-exact.png"),
    ("a/01.png", "a/01-rescaled.png"),
    ("a/02.png", "a/02-encoded.png"),
}
KNOWN |= {("a/03.png", "a/03-shifted.png"), ("a/07.png", "b/of-a-07.png")}


def groups(copies):
    images = copies.images.groupby("group")["image"].agg(frozenset)
    return {group for group in images if len(group) > 1}


@pytest.mark.parametrize(
    "by, thresholds", [("hash", dict(bits=6)), ("features", dict(distance=0.01)), ("either", {})]
)
def test_copies_are_found_and_nothing_else(folder, by, thresholds):
    copies = near_copies.find(folder, "glyph-conv", by=by, size=28, **thresholds)
    assert groups(copies) == {frozenset(pair) for pair in KNOWN}
    assert copies.pairs.loc["the threshold"].to_dict() == {"within a class": 4, "across classes": 1}
    nearest = copies.examples(5)
    assert {frozenset(pair) for pair in zip(nearest["first"], nearest["second"])} >= groups(copies)
    assert copies.sizes.tolist() == [2] * 5


def test_the_threshold_of_the_data_is_the_smaller_of_two(folder):
    """Which find enough of the own copies here."""
    copies = near_copies.find(folder, "glyph-conv", size=28)
    limits = copies.reference.values()
    assert copies.bits == min(limit["bits"] for limit in limits) <= 6
    assert copies.distance == min(limit["distance"] for limit in limits) < 0.05
    assert (
        copies.missed <= 0.05
        and copies.frequencies is None
        and "WARNING" not in "".join(copies.lines())
    )


def icon(seed, dot):
    """A ring with four strokes in it, and a dot, without which two such icons are alike."""
    image = Image.new("RGB", (256, 256), "white")
    draw = ImageDraw.Draw(image)
    draw.ellipse((16, 16, 240, 240), outline="black", width=14)
    for line in np.random.default_rng(seed).integers(50, 206, (4, 4)).tolist():
        draw.line(line, fill="black", width=14)
    if dot:
        draw.ellipse((116, 20, 140, 44), fill="black")
    return image.resize((128, 128), Image.Resampling.LANCZOS)


@pytest.fixture(scope="module")
def icons(tmp_path_factory):
    """Four classes of 12 icons, each at four sizes; two have a twin in another class."""
    path = tmp_path_factory.mktemp("icons")
    for c, letter in enumerate("abcd"):
        (path / letter).mkdir()
        for i in range(12):
            twin = letter == "b" and i < 2
            drawing = icon(i if twin else 100 * c + i, twin)
            for side in (128, 64, 48, 32):
                small = drawing.resize((side, side), Image.Resampling.BICUBIC)
                (encoded(small) if side in (64, 48) else small).save(
                    path / letter / f"{i:02}-{side}.png"
                )
    return f"folder:{path}"


def shares(images):
    """Of the pairs of images of one icon, the share in a group; of the pairs in a group, the share of one icon."""
    i, j = np.triu_indices(len(images), 1)
    icons, group = (
        (images["class"] + images["image"].str[2:4]).to_numpy(),
        images["group"].to_numpy(),
    )
    of_one_icon, joined = icons[i] == icons[j], group[i] == group[j]
    right = (of_one_icon & joined).sum()
    return right / of_one_icon.sum(), right / joined.sum()


def test_copies_at_several_sizes_are_found(icons):
    """Although few bits would be too many: icons of another class are as near by these."""
    copies = near_copies.find(icons, by="hash", size=96)
    bits = min(limits["bits"] for limits in copies.reference.values())
    by_bits = near_copies.find(icons, by="hash", size=96, bits=bits)
    recall, precision = shares(copies.images)
    assert shares(by_bits.images)[0] < 0.85 and by_bits.missed > 0.1 and by_bits.frequencies is None
    assert f"WARNING: {by_bits.missed:.0%} of such copies are missed" in "".join(by_bits.lines())
    assert (
        recall > 0.99
        and precision > 0.9
        and copies.missed <= 0.05
        and "WARNING" not in "".join(copies.lines())
    )
    assert copies.shares["others"] <= 0.05 and copies.bits is None
    assert (
        f"the cosine distance of their low frequencies is at most {copies.frequencies:.3g}"
        in copies.rule
    )
    assert "frequencies" in copies.examples() and "frequencies" not in by_bits.examples()


def hashes(images):
    """Hashes of 64 bits, as the definition says, step by step: equal to what the package ImageHash gives."""
    k, x = np.arange(8)[:, None], np.arange(32)
    cosines = np.cos(np.pi * k * (2 * x + 1) / 64)
    texts = []
    for image in images:
        grey = (
            Image.fromarray(image.squeeze()).convert("L").resize((32, 32), Image.Resampling.LANCZOS)
        )
        low = cosines @ np.asarray(grey, float) @ cosines.T
        texts.append("".join("01"[int(value)] for value in (low > np.median(low)).ravel()))
    return np.array([int(text, 2) for text in texts], np.uint64)


def own_copies(image):
    """Own copies of an image of 96 pixels, as the definition says."""
    picture = Image.fromarray(image)
    thumbnail = encoded(picture.resize((48, 48), Image.Resampling.BICUBIC), 75)
    copies = [encoded(picture, 75), picture.resize((76, 76), Image.Resampling.BICUBIC), thumbnail]
    return [np.asarray(copy.resize((96, 96), Image.Resampling.BICUBIC)) for copy in copies]


def waves(images):
    """Low frequencies without the first, of length 1, as the definition says."""
    grey = [
        Image.fromarray(image).convert("L").resize((32, 32), Image.Resampling.LANCZOS)
        for image in images
    ]
    low = fft.dctn(np.stack(grey).astype(float), axes=(1, 2))[:, :8, :8].reshape(len(images), 64)[
        :, 1:
    ]
    return low / np.linalg.norm(low, axis=1, keepdims=True)


def test_the_distance_of_frequencies_is_that_of_the_definition(icons):
    copies = near_copies.find(icons, by="hash", size=96)
    images = datasets.load(icons, size=96).images
    bits = np.bitwise_count(hashes(images)[:, None] ^ hashes(images))
    distances = np.maximum(1 - waves(images) @ waves(images).T, 0)
    classes = copies.images["class"].to_numpy()
    other_class = classes[:, None] != classes
    exact = np.where(other_class, bits, 64).min(axis=1) == 0
    samples = {"others": np.where(other_class, distances, 64).min(axis=1)[~exact]}
    for kind, changed in enumerate(zip(*(own_copies(image) for image in images))):
        samples[kind] = np.maximum(1 - (waves(changed) * waves(images)).sum(1), 0)

    def shares_within(threshold):
        return [(sample <= threshold).mean() for sample in samples.values()]

    gains = {}
    for step in np.unique(np.concatenate([samples[kind] for kind in range(3)])):
        mistaken = shares_within(4 * step)[0]
        if mistaken <= 0.05:
            gains[4 * step] = min(0.99, *shares_within(step)[1:]) - mistaken
    assert copies.frequencies == pytest.approx(max(gains, key=gains.get), rel=0.01)
    mistaken, *of_copies = shares_within(copies.frequencies)
    assert list(copies.shares.values()) == pytest.approx([*of_copies, mistaken], abs=0.01)
    assert copies.missed == 1 - min(list(copies.shares.values())[:3])
    first = copies.images.iloc[0]
    assert first["frequencies"] == pytest.approx(distances[0, first["nearest"]], abs=1e-6)


@pytest.mark.parametrize(
    "by, distance, rule", [("either", 1e-4, np.minimum), ("both", 0.02, np.maximum)]
)
def test_frequencies_take_the_place_of_the_hash(icons, by, distance, rule):
    """A distance of features that is given stays beside them; by 'either' one of the data does not."""
    copies = near_copies.find(icons, "glyph-conv", by=by, size=28, distance=distance)
    images = copies.images
    parts = images["frequencies"] / copies.frequencies, images["distance"] / distance
    assert images["closeness"].to_numpy() == pytest.approx(
        rule(*parts).to_numpy(), rel=0.02, abs=0.02
    )
    word = "and" if by == "both" else "or"
    assert f" {word} the cosine distance of their features is at most {distance:.3g}" in copies.rule
    if by == "either":
        copies = near_copies.find(icons, "glyph-conv", size=28)
        assert copies.distance is None and shares(copies.images)[0] > 0.99


def test_without_another_class_only_the_hash_is_used(icons, tmp_path, monkeypatch):
    """Then nothing says how many images would be taken for copies by mistake."""
    shutil.copytree(Path(icons.partition(":")[2]) / "c", tmp_path / "set" / "c")
    monkeypatch.setattr(thresholds, "LEAST", 1)
    copies = near_copies.find(f"folder:{tmp_path}/set", by="hash", size=28)
    assert (
        copies.missed > 0
        and copies.frequencies is None
        and copies.bits == copies.reference["own"]["bits"]
    )


@pytest.mark.parametrize("constant, value", [("MISTAKEN", -1), ("LEAST", 0.6)])
def test_a_hash_that_finds_enough_or_frequencies_that_mistake_too_many(
    icons, monkeypatch, constant, value
):
    monkeypatch.setattr(thresholds, constant, value)
    copies = near_copies.find(icons, by="hash", size=96)
    assert copies.frequencies is None and 0 < copies.missed <= 0.4


def test_groups_that_miss_copies_say_so_wherever_they_are_used(icons, tmp_path, capsys, recwarn):
    table = tmp_path / "g.csv"
    command = f"duplicates {icons} --by hash --bits 0 -o {table} --size 28 --quiet".split()
    assert cli.main([*command, "--json"]) == 0
    missed = json.loads(capsys.readouterr().out)["missed"]
    assert missed > 0.05 and (pd.read_csv(table)["missed"] == round(missed, 4)).all()
    source = evaluation.load_images_or_features(icons, 28)
    line = f"{table}: the groups miss {missed:.0%} of re-encoded or downscaled copies"
    for text, noted in (
        ("0.04", False),
        (f"{missed:.4f}".replace(".", ","), True),
    ):  # as a spreadsheet may write it
        pd.read_csv(table).assign(missed=text).to_csv(table, index=False)
        evaluation.image_groups(source, str(table))
        assert (line in warned(recwarn)) == noted


def test_hashes_are_those_of_the_definition():
    source = datasets.load("fashion")
    bits = fingerprints.fingerprints([source], "hash", None)["bits"][:40]
    expected = hashes(source.images[:40])
    differing = fingerprints.distances({"bits": bits}, {"bits": bits})["bits"]
    assert (differing == np.bitwise_count(expected[:, None] ^ expected)).all()


def test_blocks_agree_with_all_pairs_at_once(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(4).repeat(15)
    features = rng.normal(size=(20, 5))[rng.integers(0, 20, 60)] + 0.2 * rng.normal(size=(60, 5))
    np.savez(tmp_path / "f.npz", features=features.astype(np.float32), labels=labels)
    copies = near_copies.find(f"features:{tmp_path}/f.npz", distance=0.03)
    distances = distance.squareform(distance.pdist(features.astype(np.float32), "cosine"))
    components = csgraph.connected_components(distances <= 0.03)[1]
    assert (copies.images["group"].to_numpy() == components).all()
    i, j = np.triu_indices(60, 1)
    of_one_class = labels[i] == labels[j]
    for name, step in pairs.STEPS.items():
        near = distances[i, j] <= 0.03 * step
        assert copies.pairs.loc[name].tolist() == [
            (near & of_one_class).sum(),
            (near & ~of_one_class).sum(),
        ]
    np.fill_diagonal(distances, 9)
    assert (copies.images["nearest"] == distances.argmin(axis=1)).all()
    assert copies.images["distance"].to_numpy() == pytest.approx(distances.min(axis=1), abs=1e-6)
    monkeypatch.setattr(pairs, "BLOCK", 7)
    in_blocks = near_copies.find(f"features:{tmp_path}/f.npz", distance=0.03)
    pd.testing.assert_frame_equal(in_blocks.images, copies.images, rtol=1e-4)
    pd.testing.assert_frame_equal(in_blocks.pairs, copies.pairs)


SPLITS = ["novel", "base", "validation"]


@pytest.mark.parametrize("angle, is_copy", [(0.1, True), (0.3, False)])
def test_two_images_are_enough(angle, is_copy, tmp_path):
    features = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    np.savez(tmp_path / "f.npz", features=features, labels=[0, 1])
    copies = near_copies.find(f"features:{tmp_path}/f.npz", distance=1 - np.cos(0.2))
    assert (copies.images["group"].nunique() == 1) == is_copy


def test_copies_across_splits_are_counted_apart(monkeypatch, folder):
    load = datasets.load
    monkeypatch.setattr(
        search, "load", lambda spec, split, size: load(spec, size=size)
    )  # the same images twice
    copies = near_copies.find(folder, by="hash", bits=0, splits=SPLITS, size=28)
    assert copies.pairs.loc["the threshold", "across splits"] >= 29
    assert copies.images["split"].tolist() == np.repeat(SPLITS, 29).tolist()


def test_the_command_writes_groups_that_evaluate_keeps_apart(folder, tmp_path, capsys):
    table, sheet = tmp_path / "g.csv", tmp_path / "s.png"
    command = f"duplicates {folder} --by hash --bits 6 --size 28 -o {table} --quiet".split()
    assert cli.main([*command, "--sheet", str(sheet)]) == 0
    printed = capsys.readouterr().out
    assert "at most 6 of 64 bits" in printed and "5 groups of two or more hold 10 images" in printed
    assert Image.open(sheet).size[0] > 500
    assert (
        list(pd.read_csv(table)) == "split image class group missed".split()
        and len(pd.read_csv(table)) == 29
    )
    assert cli.main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["pairs"]["the threshold"] == {"within a class": 4, "across classes": 1}
    assert record["groups"] == [2] * 5

    source = evaluation.load_images_or_features(folder, 28)
    group = evaluation.image_groups(source, str(table))
    tasks = evaluation.sample_tasks(
        source, "closed", apart=str(table), ways=2, shots=2, queries=4, tasks=30
    )
    assert tasks.sampler["apart"] == str(table) and tasks.sampler["groups"] == 24
    assert all(
        not set(support) & set(query)
        for support, query in zip(group[tasks.support], group[tasks.query])
    )


BAD_COMMANDS = """duplicates clipart --bits 65 => bits must be an integer from 0 to 64
duplicates clipart --distance 0 => distance must be a number > 0 and <= 2
duplicates clipart --by looks => by must be 'either', 'both', 'hash' or 'features', got 'looks'
duplicates clipart --by hash --distance 0.1 => distance = 0.1; it is not used if near-copies are found by
duplicates clipart --splits novel novel => splits must be different, got 'novel'
duplicates features:{f} --by hash => there are no pixels to hash
duplicates features:{f} --sheet {t}/s.png => sheet: features:{f} has features, and no pictures
duplicates clipart --sheet {t}/g.txt => sheet must be a name ending in .png or .pdf or .svg, got {t}/g.txt
evaluate glyphs/hebrew glyph-conv -o {t}/t.csv --apart famly => apart = famly; class_name
evaluate features:{f} none -o {t}/t.csv --apart {t}/no.csv => apart: no file {t}/no.csv"""


@pytest.mark.parametrize(
    "line, message", [line.split(" => ") for line in BAD_COMMANDS.splitlines()]
)
def test_bad_commands_are_reported_in_a_line(tmp_path, capsys, line, message):
    features_file(tmp_path, np.arange(6).repeat(10))
    file = tmp_path / "f.npz"
    main = app.main if line.startswith("evaluate") else cli.main
    assert main([word.format(f=file, t=tmp_path) for word in line.split()]) == 2
    line = capsys.readouterr().err.strip()
    assert message.format(f=file, t=tmp_path) in line and "\n" not in line
    assert sorted(tmp_path.iterdir()) == [file]
