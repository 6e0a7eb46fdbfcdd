"""The data set of icons: its lists, licences, splits, attributes, and a small build."""

import hashlib
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fslcore.paths import DATA
from tests.checkout import build_script

FOLDER = DATA / "icons"
build = build_script("icons")


@pytest.fixture(scope="module")
def table():
    return pd.read_parquet(FOLDER / "images.parquet")


def decoded(image):
    return np.asarray(Image.open(BytesIO(image)).convert("RGB"))


# ------------------------------------------------------------ brands and licences


def test_no_brand_is_a_class_or_ships(table):
    brands = build.words("brands.txt")
    assert {"github", "facebook", "google", "npm", "steam", "apple", "twitter"} <= set(brands)
    names = {alias for aliases in build.concepts().values() for alias in aliases} | set(
        table["icon"]
    )
    assert len(names) > 2000
    assert sorted(name for name in names if build.branded(build.plain(name, "")[0], brands)) == []
    assert not set(table["set"] + ":" + table["icon"]) & set(build.words("left-out.txt"))


@pytest.mark.parametrize(
    "name, is_brand",
    [
        ("github", True),
        ("github-circle", True),
        ("brand-anything", True),
        ("zoom-in", False),
        ("pineapple", False),
    ],
)
def test_brands_are_recognised_as_words(name, is_brand):
    assert build.branded(name, build.words("brands.txt")) == is_brand


def test_every_icon_has_a_permissive_licence_and_an_attribution(table):
    sets = pd.read_csv(FOLDER / "sets.csv").set_index("set")
    assert set(sets["licence"]) <= build.LICENCES and not {"GPL", "SA", "NC"} & {
        word for name in build.LICENCES for word in name.split("-")
    }
    assert sets["icons"].to_dict() == table["set"].value_counts().to_dict()
    assert (table["licence"] == table["set"].map(sets["licence"])).all()
    assert (table["author"] == table["set"].map(sets["designer"])).all()
    assert sets["designer"].to_dict() == {
        name: build.SAME.get(a, a) for name, a in sets["author"].items()
    }
    assert sets.loc["feather", "designer"] == sets.loc["lucide", "designer"]
    assert (
        sets[["title", "author"]].notna().all().all()
        and (sets["changes"] == "rasterised, modified").all()
    )
    texts = (FOLDER / "licences.txt").read_text("utf-8")
    assert all(f"=\n{name}\n=" in texts for name in set(sets["licence"]))
    card = (FOLDER / "README.md").read_text("utf-8")
    assert all(
        f"| {row.title} | {row.author} | {row.licence} |" in card
        for row in sets.itertuples(index=False)
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"license": {"spdx": "CC-BY-SA-4.0"}},
        {"license": {"spdx": "GPL-3.0"}},
        {"license": {}},
        {"license": {"spdx": "MIT"}, "category": "Logos"},
        {"license": {"spdx": "MIT"}, "tags": ["Contains Animations"]},
    ],
)
def test_other_sets_are_not_used(facts):
    assert build.used("any", {"license": {"spdx": "MIT"}})
    assert not build.used("any", facts)


def test_another_package_ends_the_build(tmp_path):
    (tmp_path / f"iconify-json-{build.VERSION}.tgz").write_bytes(b"another")
    with pytest.raises(SystemExit, match="SHA-512"):
        build.fetch(tmp_path)


# ------------------------------------------------------------ what ships


def test_classes_and_designers_are_each_in_one_split(table):
    for name in ("class_name", "author"):
        split = {"class_name": "split", "author": "designers"}[name]
        assert (table.groupby(name)[split].nunique() == 1).all()
        shares = table.drop_duplicates(name)[split].value_counts(normalize=True)
        assert all(abs(shares[part] - share) < 0.01 for part, share in build.SHARES.items())
        assert table.groupby(name)[split].first().to_dict() == build.split(set(table[name]))


def test_classes_have_an_icon_of_each_of_20_authors_or_more(table):
    assert not table.duplicated(["class_name", "author"]).any()
    assert table["class_name"].value_counts().min() >= build.FEWEST
    assert set(table["class_name"]) == set(build.concepts())


def test_icons_of_a_class_differ(table):
    chosen = table[table["class_name"].isin(["plus", "cloud", "anchor"])]
    for _, part in chosen.groupby("class_name"):
        x = np.stack([build.ink(decoded(image)).ravel() for image in part["image"]])
        power = (x**2).sum(1)
        gaps = (power[:, None] + power - 2 * x @ x.T) / (0.5 * (power[:, None] + power)) + np.eye(
            len(x)
        )
        assert build.NEAR - 1e-9 <= gaps.min() < 4 * build.NEAR
    assert not table["image"].duplicated().any()


def test_attributes_are_those_of_the_pixels(table):
    for row in table[:: len(table) // 40].itertuples():
        assert build.shape_of(decoded(row.image)) == {
            "ink": row.ink,
            "roundness": row.roundness,
            "symmetry": row.symmetry,
        }


def test_styles_are_those_that_the_eye_sees(table):
    labels = pd.read_csv(FOLDER / "labels.csv", comment="#")
    compared = labels.merge(table, on=["class_name", "set", "icon"], validate="1:1")
    assert len(compared) == len(labels) == 200
    equal = (compared["style"] == compared["seen"]).sum()
    assert equal >= 180
    assert f"| **all** | 200 | {equal} ({equal / 200:.1%}) |" in (FOLDER / "README.md").read_text(
        "utf-8"
    )


# ------------------------------------------------------------ a small build


def world(authors=24):
    """Icon sets of invented authors: each draws a square, a disc, a bar and a trademark in its own size."""
    sets = {}
    for k in range(authors):
        size, fill = 6 + k / 2, "currentColor" if k % 2 else "#d22"
        shapes = {
            "square": f'<rect width="{size}" height="{size}" fill="{fill}"/>',
            "circle-outline": f'<circle cx="12" cy="12" r="{size / 2.2}" fill="none" stroke="{fill}"/>',
            "minus-2": f'<path d="M2 12h{size}" stroke="{fill}" stroke-width="{2 + k / 9}"/>',
            "github": f'<rect width="{size}" height="4"/>',
            "menu": '<path d="M0"',
        }
        drawings = {
            "icons": {n: {"body": body} for n, body in shapes.items()},
            "width": 24,
            "height": 24,
        }
        facts = {
            "name": f"Set {k}",
            "author": {"name": f"Author {k}"},
            "license": {"spdx": "MIT"},
            "height": 24,
        }
        sets[f"set{k:02}"] = facts, drawings
    return sets


def test_a_small_build_gives_the_same_bytes_twice(tmp_path):
    pytest.importorskip(
        "resvg_py", reason="resvg-py, which the build alone needs, is not installed"
    )
    names = {name: [name] for name in ("square", "circle", "minus", "menu")} | {
        "github": ["github"]
    }
    digests = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        records, counts = build.build(world(), names, ["github"], set())
        frame = build.described(records, world())
        digests.append(build._build.write_images(frame, tmp_path / name))
    assert (
        digests[0]
        == digests[1]
        == hashlib.sha256((tmp_path / "first/images.parquet").read_bytes()).hexdigest()
    )
    assert (
        set(frame["class_name"]) == {"square", "circle", "minus"}
        and counts["not drawn, or blank"] == 24
    )
    assert (
        len(frame) + counts["near-copies"] + counts["copies"] == 3 * 24
        and counts["near-copies"] > 5
    )
    assert set(frame["style"]) == {"colour", "outline", "filled"}
    assert frame.loc[frame["class_name"] == "square", "style"].value_counts().min() > 5


def test_names_that_do_not_fit_the_lists_end_the_build(monkeypatch):
    with pytest.raises(SystemExit, match="names .*20 authors.*: menu"):
        build.build(
            world(), {name: [name] for name in ("square", "circle", "minus")}, ["github"], set()
        )
    monkeypatch.setattr(build, "words", lambda name: ["gear: cog", "wheel: cog"])
    with pytest.raises(SystemExit, match="cog belongs to gear and to wheel"):
        build.concepts()


def test_style_words_and_numbers_are_no_part_of_a_concept():
    assert build.plain("arrow-right-02-filled", "any") == ("arrow-right", 1, "filled")
    assert build.plain("twotone-home", "ic") == ("home", 0, "duotone")
    assert build.plain("heart-broken", "any")[0] == "heart-broken"
    assert build.plain("mail-24-two-tone", "any") == ("mail", 0, "duotone")
