"""Near-copies: the hash, what is found among pictures made here, the command, and groups read back."""

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image, ImageDraw
from scipy import fft, ndimage
from scipy.sparse import csgraph
from scipy.spatial import distance

from fslcore import datasets, errors, evaluation, near_copies
from fslcore.cli import app
from fslcore.errors import InputError
from fslcore.near_copies import fingerprints, pairs, search, thresholds
from fslcore.paths import DATA

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


KNOWN = {("a/00.png", "a/00-exact.png"), ("a/01.png", "a/01-rescaled.png"), ("a/02.png", "a/02-encoded.png")}
KNOWN |= {("a/03.png", "a/03-shifted.png"), ("a/07.png", "b/of-a-07.png")}


def groups(found):
    sets = found.images.groupby("group")["image"].agg(set)
    return {frozenset(s) for s in sets if len(s) > 1}


@pytest.mark.parametrize("by, given", [("hash", dict(bits=6)), ("features", dict(distance=0.01)), ("either", {})])
def test_copies_are_found_and_nothing_else(folder, by, given):
    found = near_copies.find(folder, "glyph-conv", by=by, size=28, **given)
    assert groups(found) == {frozenset(pair) for pair in KNOWN}
    assert found.pairs.loc["the threshold"].to_dict() == {"within a class": 4, "across classes": 1}
    nearest = found.examples(5)
    assert {frozenset(pair) for pair in zip(nearest["first"], nearest["second"])} >= {frozenset(p) for p in KNOWN}
    assert found.sizes.tolist() == [2] * 5


def test_the_threshold_of_the_data_is_the_smaller_of_two(folder):
    """Which find enough of the own copies here."""
    found = near_copies.find(folder, "glyph-conv", size=28)
    own, others = found.reference["own"], found.reference["others"]
    assert found.bits == min(own["bits"], others["bits"]) and found.distance == min(own["distance"], others["distance"])
    assert 0 <= own["bits"] <= 6 < 64 and 0 < own["distance"] < 0.05
    assert found.missed <= 0.05 and found.frequencies is None and "WARNING" not in "".join(found.lines())


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


@pytest.fixture(scope="module", params=[1, 2])
def icons(request, tmp_path_factory):
    """Four classes of 12 icons, each at four sizes; as many as the number here have a twin in another class."""
    path = tmp_path_factory.mktemp("icons")
    for c, letter in enumerate("abcd"):
        (path / letter).mkdir()
        for i in range(12):
            twin = letter == "b" and i < request.param
            drawn = icon(i if twin else 100 * c + i, twin)
            for side in (128, 64, 48, 32):
                small = drawn.resize((side, side), Image.Resampling.BICUBIC)
                (encoded(small) if side in (64, 48) else small).save(path / letter / f"{i:02}-{side}.png")
    return f"folder:{path}", request.param


def shares(images):
    """Of the pairs of images of one icon, the share in a group; of the pairs in a group, the share of one icon."""
    i, j = np.triu_indices(len(images), 1)
    of, group = (images["class"] + images["image"].str[2:4]).to_numpy(), images["group"].to_numpy()
    same, joined = of[i] == of[j], group[i] == group[j]
    return (same & joined).sum() / same.sum(), (same & joined).sum() / joined.sum()


def test_copies_at_several_sizes_are_found(icons):
    """Although few bits would be too many: icons of another class are as near by these."""
    spec, twins = icons
    found = near_copies.find(spec, by="hash", size=96)
    bits = min(limits["bits"] for limits in found.reference.values())
    by_bits = near_copies.find(spec, by="hash", size=96, bits=bits)
    recall, precision = shares(found.images)
    assert shares(by_bits.images)[0] < 0.85 and by_bits.missed > 0.1 and by_bits.frequencies is None
    assert f"WARNING: {by_bits.missed:.0%} of such copies are missed" in "".join(by_bits.lines())
    assert recall > 0.99 and precision > 0.9 and found.missed <= 0.05 and "WARNING" not in "".join(found.lines())
    assert found.shares["others"] <= 0.05 and found.bits is None
    assert f"the cosine distance of their low frequencies is at most {found.frequencies:.3g}" in found.rule
    assert "frequencies" in found.examples() and "frequencies" not in by_bits.examples()


def hashes(images):
    """Hashes of 64 bits, as the definition says, step by step: equal to what the package ImageHash gives."""
    k, x = np.arange(8)[:, None], np.arange(32)
    cosines = np.cos(np.pi * k * (2 * x + 1) / 64)
    texts = []
    for image in images:
        grey = Image.fromarray(image.squeeze()).convert("L").resize((32, 32), Image.Resampling.LANCZOS)
        low = cosines @ np.asarray(grey, float) @ cosines.T
        texts.append("".join("01"[int(value)] for value in (low > np.median(low)).ravel()))
    return np.array([int(text, 2) for text in texts], np.uint64)


def changed(image):
    """Own copies of an image of 96 pixels, as the definition says."""
    picture = Image.fromarray(image)
    small = encoded(picture.resize((48, 48), Image.Resampling.BICUBIC), 75)
    made = [encoded(picture, 75), picture.resize((76, 76), Image.Resampling.BICUBIC), small]
    return [np.asarray(copy.resize((96, 96), Image.Resampling.BICUBIC)) for copy in made]


def test_the_distance_of_frequencies_is_that_of_the_definition(icons):
    spec, _ = icons
    found = near_copies.find(spec, by="hash", size=96)
    images = datasets.load(spec, size=96).images

    def waves(images):
        grey = [Image.fromarray(i).convert("L").resize((32, 32), Image.Resampling.LANCZOS) for i in images]
        low = fft.dctn(np.stack(grey).astype(float), axes=(1, 2))[:, :8, :8].reshape(len(images), 64)[:, 1:]
        return low / np.linalg.norm(low, axis=1, keepdims=True)

    hashed, seen = hashes(images), waves(images)
    bits, far = np.bitwise_count(hashed[:, None] ^ hashed), np.maximum(1 - seen @ seen.T, 0)
    others = found.images["class"].to_numpy()[:, None] != found.images["class"].to_numpy()
    others = [np.where(others, apart, 64).min(axis=1) for apart in (bits, far)]
    others = [apart[others[0] > 0] for apart in others]
    own = [np.stack(kind) for kind in zip(*(changed(image) for image in images))]
    own = [(np.bitwise_count(hashes(c) ^ hashed), np.maximum(1 - (waves(c) * seen).sum(1), 0)) for c in own]

    def near(apart, most):
        return (apart[1] <= most).mean()

    gain = {}
    for most in np.unique(np.concatenate([far for _, far in own])):
        if near(others, 4 * most) <= 0.05:
            gain[4 * most] = min(0.99, *(near(kind, most) for kind in own)) - near(others, 4 * most)
    assert found.frequencies == pytest.approx(max(gain, key=gain.get), rel=0.01)
    counted = [near(kind, found.frequencies) for kind in (*own, others)]
    assert list(found.shares.values()) == pytest.approx(counted, abs=0.01)
    assert found.missed == 1 - min(list(found.shares.values())[:3])
    pair = found.images.iloc[0]
    assert pair["frequencies"] == pytest.approx(far[0, pair["nearest"]], abs=1e-6)


@pytest.mark.parametrize("by, distance, rule", [("either", 1e-4, np.minimum), ("both", 0.02, np.maximum)])
def test_frequencies_take_the_place_of_the_hash(icons, by, distance, rule):
    """A distance of features that is given stays beside them; by 'either' one of the data does not."""
    found = near_copies.find(icons[0], "glyph-conv", by=by, size=28, distance=distance)
    near, told = found.images, " and " if by == "both" else " or "
    parts = near["frequencies"] / found.frequencies, near["distance"] / distance
    assert near["closeness"].to_numpy() == pytest.approx(rule(*parts).to_numpy(), rel=0.02, abs=0.02)
    assert f"{told}the cosine distance of their features is at most {distance:.3g}" in found.rule and found.bits is None
    if by == "either":
        found = near_copies.find(icons[0], "glyph-conv", size=28)
        assert found.distance is None and shares(found.images)[0] > 0.99


def test_without_another_class_only_the_hash_is_asked(icons, tmp_path, monkeypatch):
    """Then nothing says how many images would be taken for copies by mistake."""
    shutil.copytree(Path(icons[0].partition(":")[2]) / "c", tmp_path / "set" / "c")
    monkeypatch.setattr(thresholds, "LEAST", 1)
    found = near_copies.find(f"folder:{tmp_path}/set", by="hash", size=28)
    assert found.missed > 0 and found.frequencies is None and found.bits == found.reference["own"]["bits"]


def test_what_finds_enough_or_mistakes_too_many_stays(icons, monkeypatch):
    monkeypatch.setattr(thresholds, "MISTAKEN", -1)
    assert near_copies.find(icons[0], by="hash", size=96).frequencies is None
    monkeypatch.setattr(thresholds, "MISTAKEN", 0.05)
    assert near_copies.find(icons[0], by="hash", size=96).frequencies
    monkeypatch.setattr(thresholds, "LEAST", 0.6)
    found = near_copies.find(icons[0], by="hash", size=96)
    assert found.frequencies is None and 0 < found.missed <= 0.4


@pytest.mark.parametrize("icons", [2], indirect=True)
def test_groups_that_miss_copies_say_so_wherever_they_are_used(icons, tmp_path, capsys):
    table = tmp_path / "g.csv"
    command = ["duplicates", icons[0], "--by", "hash", "--bits", "0", "-o", str(table), "--size", "28", "--quiet"]
    assert app.main([*command, "--json"]) == 0
    missed = json.loads(capsys.readouterr().out)["missed"]
    assert missed > 0.05 and (pd.read_csv(table)["missed"] == round(missed, 4)).all()
    source = evaluation.load_source(icons[0], 28)
    line = f"fslcore: {table}: the groups miss {missed:.0%} of re-encoded or downscaled copies"
    for text, told in (("0.04", False), (f"{missed:.4f}".replace(".", ","), True)):  # as a spreadsheet may write it
        pd.read_csv(table).assign(missed=text).to_csv(table, index=False)
        errors.note.cache_clear()
        evaluation.groups_of(source, str(table))
        assert (line in capsys.readouterr().err) == told
    shape = ["--ways", "2", "--shots", "1", "--queries", "3", "--tasks", "30", "--learners", "ncc", "--size", "28"]
    given = [*shape, "-o", str(tmp_path / "t.csv"), "--apart", str(table), "--samplings", "closed"]
    errors.note.cache_clear()
    assert app.main(["evaluate", icons[0], "glyph-conv", *given]) == 0
    assert line in capsys.readouterr().err


def test_hashes_are_those_of_the_definition():
    source = datasets.load("fashion")
    bits = fingerprints.fingerprints([source], "hash", None)["bits"][:40]
    expected = hashes(source.images[:40])
    differing = fingerprints.distances({"bits": bits}, {"bits": bits})["bits"]
    assert (differing == np.bitwise_count(expected[:, None] ^ expected)).all()
    assert ((bits > 0).numpy() == np.unpackbits(expected.astype(">u8").view(np.uint8)).reshape(40, 64)).all()


def test_blocks_agree_with_all_pairs_at_once(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(4).repeat(15)
    features = rng.normal(size=(20, 5))[rng.integers(0, 20, 60)] + 0.2 * rng.normal(size=(60, 5))
    np.savez(tmp_path / "f.npz", features=features.astype(np.float32), labels=labels)
    found = near_copies.find(f"features:{tmp_path}/f.npz", distance=0.03)
    apart = distance.squareform(distance.pdist(features.astype(np.float32), "cosine"))
    assert (found.images["group"].to_numpy() == csgraph.connected_components(apart <= 0.03)[1]).all()
    i, j = np.triu_indices(60, 1)
    for name, step in pairs.STEPS.items():
        near = apart[i, j] <= 0.03 * step
        expected = [(near & (labels[i] == labels[j])).sum(), (near & (labels[i] != labels[j])).sum()]
        assert found.pairs.loc[name].tolist() == expected
    np.fill_diagonal(apart, 9)
    assert (found.images["nearest"] == apart.argmin(axis=1)).all()
    assert found.images["distance"].to_numpy() == pytest.approx(apart.min(axis=1), abs=1e-6)
    monkeypatch.setattr(pairs, "BLOCK", 7)
    again = near_copies.find(f"features:{tmp_path}/f.npz", distance=0.03)
    pd.testing.assert_frame_equal(again.images, found.images, rtol=1e-4)
    pd.testing.assert_frame_equal(again.pairs, found.pairs)


def test_both_asks_for_hash_and_features(folder):
    wide = dict(bits=30, distance=2.0)
    either = near_copies.find(folder, "glyph-conv", by="either", size=28, bits=0, distance=1e-6)
    both = near_copies.find(folder, "glyph-conv", by="both", size=28, bits=0, distance=2.0)
    assert groups(both) == groups(near_copies.find(folder, "glyph-conv", by="hash", bits=0, size=28))
    assert groups(either) >= groups(both)
    assert near_copies.find(folder, "glyph-conv", size=28, **wide).pairs.loc["the threshold"].sum() == 29 * 28 // 2


def test_copies_across_splits_are_counted_apart(monkeypatch, folder):
    real = datasets.load
    monkeypatch.setattr(search, "load", lambda spec, split, size: real(spec, size=size))  # the same images twice
    found = near_copies.find(folder, by="hash", bits=0, splits=["novel", "base"], size=28)
    assert found.pairs.loc["the threshold", "across splits"] >= 29
    assert found.images["split"].tolist() == ["novel"] * 29 + ["base"] * 29


def test_the_command_writes_groups_that_evaluate_keeps_apart(folder, tmp_path, capsys):
    table, picture_file = tmp_path / "g.csv", tmp_path / "s.png"
    command = ["duplicates", folder, "--by", "hash", "--bits", "6", "--size", "28", "-o", str(table), "--quiet"]
    assert app.main([*command, "--sheet", str(picture_file)]) == 0
    told = capsys.readouterr().out
    assert "at most 6 of 64 bits" in told and "5 groups of two or more hold 10 images" in told
    assert Image.open(picture_file).size[0] > 500
    written = pd.read_csv(table)
    assert list(written) == ["split", "image", "class", "group", "missed"] and len(written) == 29
    before = table.read_bytes()
    assert app.main(command) == 0 and table.read_bytes() == before
    capsys.readouterr()
    assert app.main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"]["the threshold"] == {"within a class": 4, "across classes": 1} and found["groups"] == [2] * 5

    source = evaluation.load_source(folder, 28)
    group = evaluation.groups_of(source, str(table))
    shape = dict(ways=2, shots=2, queries=4, tasks=30)
    drawn = evaluation.draw(source, "closed", apart=str(table), **shape)
    assert drawn.sampler["apart"] == str(table) and drawn.sampler["groups"] == 24
    for support, query in zip(group[drawn.support], group[drawn.query]):
        assert not set(support) & set(query)
    given = ["--ways", "2", "--shots", "2", "--queries", "4", "--tasks", "30", "--learners", "ncc", "--quiet"]
    given += ["--size", "28", "-o", str(tmp_path / "t.csv"), "--apart", str(table), "--samplings", "closed"]
    assert app.main(["evaluate", folder, "glyph-conv", *given]) == 0
    assert len(pd.read_csv(tmp_path / "t.csv")) == 30


def test_facts_and_tables_give_groups(tmp_path):
    source = datasets.load("glyphs/hebrew")
    assert (evaluation.groups_of(source, "family") == source.facts["family"]).all()
    bank = datasets.bank.Bank(torch.zeros(3, 2), np.zeros(3, int), "")
    (tmp_path / "g.csv").write_text("image,group\n2,x\n0,y\n1,x\n9,z\n")
    assert evaluation.groups_of(bank, str(tmp_path / "g.csv")).tolist() == ["y", "x", "x"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("image,group\n0,a\n1,b\n", "apart: {f} has no group for 2 (1 of 3 are missing"),
        ("image,group\n0,a\n1, \n2,b\n", "apart: {f} has no group for 1 (1 of 3"),
        ("image,group\n0,a\n1,NA\n2,#N/A\n", "apart: {f} has no group for 1 (2 of 3 are missing, left empty, or NA"),
        ("image,group\n0,a\n1,b\n2,b\n2,c\n", "apart: {f} has 2 twice"),
        ("image,kind\n0,a\n", "apart: {f} lacks the column group"),
        (None, "apart: no file {f}"),
    ],
)
def test_tables_that_do_not_fit_are_told(tmp_path, text, message):
    file = tmp_path / "g.csv"
    if text:
        file.write_text(text)
    with pytest.raises(InputError) as error:
        evaluation.groups_of(datasets.bank.Bank(torch.zeros(3, 2), np.zeros(3, int), ""), str(file))
    assert message.format(f=file) in str(error.value)


@pytest.mark.parametrize(
    "line, message",
    [
        ("duplicates clipard", "dataset = clipard; known are"),
        ("duplicates clipart --bits 65", "bits = 65; a whole number from 0 to 64"),
        ("duplicates clipart --distance 0", "distance = 0.0; a number over 0 and up to 2"),
        ("duplicates clipart --distance far", "distance = far; a number"),
        ("duplicates clipart --by looks", "by = looks; either, both, hash, features are allowed"),
        ("duplicates clipart --by hash --distance 0.1", "distance = 0.1; it is not used if near-copies are found by"),
        ("duplicates clipart --splits novel novel", "splits = novel novel; novel is allowed once"),
        ("duplicates fashion --splits base", "dataset = fashion; known are clipart, coloured"),
        ("duplicates features:{f} --by hash", "there are no pixels to hash"),
        ("duplicates features:{f} --sheet {t}/s.png", "sheet: features:{f} has features, and no pictures"),
        ("duplicates clipart -o {t}/g.txt", "a name ending in .csv is allowed"),
        ("duplicates clipart --sheet {t}/g.txt", "sheet = {t}/g.txt; a name ending in .png or .pdf or .svg"),
        ("evaluate glyphs/hebrew glyph-conv -o {t}/t.csv --apart famly", "apart = famly; class_name"),
        ("evaluate features:{f} none -o {t}/t.csv --apart family", "apart = family; a .csv with the columns image"),
        ("evaluate features:{f} none -o {t}/t.csv --apart {t}/no.csv", "apart: no file {t}/no.csv"),
    ],
)
def test_bad_commands_are_told_in_a_line(tmp_path, capsys, line, message):
    file = tmp_path / "f.npz"
    np.savez(file, features=np.random.default_rng(0).normal(size=(60, 4)), labels=np.arange(6).repeat(10))
    assert app.main([word.format(f=file, t=tmp_path) for word in line.split()]) == 2
    told = capsys.readouterr().err.strip()
    assert message.format(f=file, t=tmp_path) in told and "\n" not in told
    assert sorted(tmp_path.iterdir()) == [file]


def test_shipped_data_have_near_copies_within_classes():
    found = near_copies.find("clipart", by="hash", bits=2)
    assert 0 < found.pairs.loc["the threshold", "within a class"] < 60
    assert found.pairs.loc["the threshold", "across classes"] == 0
    assert (DATA / "clipart").is_dir()
