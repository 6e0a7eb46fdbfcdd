"""Words of captions and of pixels, and what follows from the matrix that they make."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from refusal import refuses

from fslbook import attributes
from fslbook.attributes import (
    Attributes,
    describe,
    from_captions,
    from_facts,
    from_words,
    matrix,
    pixels,
)
from fslbook.coloured_glyphs import load_coloured
from fslbook.fewstab.detection import agreement, agreement_table, describe_table
from fslcore.datasets import Images, load

WORDS = st.lists(st.sets(st.sampled_from("abcdefg")), min_size=1, max_size=30)
MATRIX = hnp.arrays(bool, st.tuples(st.integers(1, 30), st.integers(0, 20)))


def named(has):
    return Attributes(has, [f"a{i}" for i in range(has.shape[1])])


def words_of(described):
    return [{name for name, has in zip(described.names, row) if has} for row in described.has]


@pytest.mark.parametrize(
    "caption, words",
    [
        ("two dogs are running on a grassy field", {"dog", "grassy", "field"}),
        (
            "a large white polar bear next to red and green fire trucks",
            {"large", "white", "polar", "bear", "red", "green", "fire truck", "fire", "truck"},
        ),
        ("a sans-serif typeface", {"sans-serif typeface", "sans-serif", "typeface"}),
        ("coffee cups on a table", {"coffee cup", "coffee", "cup", "table"}),
        ("the sky is blue", {"sky"}),  # an adjective outside a noun phrase
        ("a black and white photo of women", {"black", "white", "photo", "woman"}),
        ("running quickly", set()),
        ("", set()),
    ],
)
def test_words_of_a_caption(caption, words):
    assert words_of(from_captions([caption])) == [words]


@pytest.mark.parametrize(
    "caption, words",
    [
        (
            "a red fire truck parked next to a brick building",
            {"red", "fire truck", "brick building"},
        ),
        ("two dogs on a grassy field", {"dog", "grassy", "field"}),
    ],
)
def test_compounds_may_be_words_without_their_parts(caption, words):
    assert words_of(from_captions([caption], "whole")) == [words]


TWO_CAPTIONS = ["a red fire truck by a brick building", "two black cats on a kitchen table"]


def test_a_source_of_captions_names_its_rule_for_compounds(tmp_path):
    images = replace(load("clipart"), name="few")
    few = Images("few", images.images[:2], images.labels[:2], images.class_names, TWO_CAPTIONS)
    assert words_of(attributes.of(few)) == words_of(from_captions(TWO_CAPTIONS))
    alone = words_of(from_captions(TWO_CAPTIONS, "whole"))
    assert words_of(attributes.of(few, "captions?compounds=whole")) == alone
    assert attributes.of(few, "captions?compounds=parts").names == attributes.of(few).names
    table = tmp_path / "words.csv"
    pd.DataFrame({"image": few.names, "caption": TWO_CAPTIONS}).to_csv(table, index=False)
    assert words_of(attributes.of(few, f"{table}?compounds=whole")) == alone
    for source, message in (
        ("captions?compounds=no", "compounds must be 'parts' or 'whole', got 'no'"),
        ("pixels?compounds=whole", "compounds are parts of captions, and pixels has none"),
        ("facts:style?compounds=whole", "and facts:style has none"),
        ("captions?parts=no", "source .*captions, pixels.*got 'captions.parts=no'"),
        ("blip?compounds=whole", "it has not been run on few"),
    ):
        with refuses(message):
            attributes.of(few, source)


def test_equal_captions_are_parsed_once_and_found_again_in_the_cache(monkeypatch):
    captions = ["a red bird", "a blue bird", "a red bird"]
    parsed, parser = [], matrix._parser(matrix._model()[0].replace("-", "_"))
    pipe = parser.pipe
    monkeypatch.setattr(
        parser, "pipe", lambda texts, **options: pipe(parsed.extend(texts) or texts, **options)
    )
    first = from_captions(captions)
    assert sorted(parsed) == ["a blue bird", "a red bird"]
    assert words_of(first) == [{"red", "bird"}, {"blue", "bird"}, {"red", "bird"}]
    cached = from_captions(captions)
    assert len(parsed) == 2 and (cached.has == first.has).all() and cached.names == first.names
    assert words_of(from_captions(captions[:2])) == [{"red", "bird"}, {"blue", "bird"}]
    assert len(parsed) == 4  # other captions are not taken for these


@given(WORDS)
def test_words_go_in_and_come_out(words):
    described = from_words(words)
    assert words_of(described) == words
    assert list(described.names) == sorted(set().union(*words)) and described.has.any(axis=0).all()


def test_facts():
    facts = pd.DataFrame(
        {
            "ink": ["red", "blue", None],
            "keywords": ["cat; dog", "", "dog"],
            "weight": [400, 700, 400],
        }
    )
    assert words_of(from_facts(facts)) == [
        {"ink: red", "keywords: cat", "keywords: dog", "weight: 400"},
        {"ink: blue", "weight: 700"},
        {"keywords: dog", "weight: 400"},
    ]


@given(MATRIX, st.data())
def test_spurious_is_some_but_not_all(has, data):
    labels = data.draw(hnp.arrays(np.int64, len(has), elements=st.integers(0, 3)))
    described, classes = named(has), labels.max() + 1
    spurious = described.spurious(labels)
    assert spurious.shape == (classes, has.shape[1])
    for c, a in itertools.product(range(classes), range(has.shape[1])):
        of_class = has[labels == c, a]
        assert spurious[c, a] == (
            of_class.any() and not of_class.all()
        )  # definition 1, word by word
        assert described.counts(labels)[c, a] == of_class.sum()


@given(has=MATRIX)
@settings(max_examples=30)
def test_saved_attributes_come_back(tmp_path_factory, has):
    path, saved = tmp_path_factory.mktemp("a") / "a.npz", named(has)
    saved.save(path)
    loaded = Attributes.load(path)
    assert (
        (loaded.has == saved.has).all() and loaded.has.dtype == bool and loaded.names == saved.names
    )


def test_files_that_hold_no_attributes(tmp_path):
    with refuses("no file"):
        Attributes.load(tmp_path / "none.npz")
    np.savez(tmp_path / "pickle.npz", has=np.array([{}], object), names=np.array(["a"], object))
    with refuses("not a readable file"):
        Attributes.load(tmp_path / "pickle.npz")


TWO = Attributes(np.ones((2, 2), bool), ["a", "b"])


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: Attributes(np.ones((2, 3), bool), ["a", "b"]),
            r"attributes .*\(N, 2\) of bool, got \(2, 3\)",
        ),
        (lambda: Attributes(np.ones((2, 2), bool), ["a", "a"]), "twice"),
        (lambda: TWO.spurious(np.zeros(3, int)), "labels .*2, got 3"),
        (lambda: agreement(TWO, TWO[:1]), "the same images"),
        (lambda: from_words(["red dog"]), "words of image 0 .*list of texts, got 'red dog'"),
        (lambda: from_captions(["a dog"], "no"), "compounds must be 'parts' or 'whole', got 'no'"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with refuses(message):
        call()


def test_describe_by_hand():
    #                  a  b  c
    has = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], bool)
    statistics = describe(
        Attributes(has, list("abc")), np.array([0, 0, 2, 2])
    )  # no image of class 1
    assert statistics.to_dict() == {
        "classes": 2,
        "images": 4,
        "attributes": 2,
        "per image": 5 / 4,
        "per class": 3 / 2,
        "spurious per class": 1 / 2,  # a, b of the first class and b of the last; b of the first
    }


@given(WORDS, st.data())
def test_agreement_is_equation_9(words, data):
    reference = [data.draw(st.sets(st.sampled_from("abcdefgxyz"))) for _ in words]
    shares = [len(a & b) / len(b) for a, b in zip(words, reference) if b]
    share = agreement(from_words(words), from_words(reference))
    assert np.isclose(share, np.mean(shares)) if shares else np.isnan(share)
    if any(words):
        assert agreement(from_words(words), from_words(words)) == 1


def test_agreement_table():
    a, b = from_words([{"dog", "red"}, {"cat"}]), from_words([{"dog"}, {"cow", "cat"}])
    table = agreement_table({"ours": a, "theirs": b})
    assert table.loc["ours", "theirs"] == 75 and table.loc["theirs", "ours"] == 75


# --- pixels -------------------------------------------------------------------------------------------


def test_pixels_name_what_was_drawn():
    """On drawings whose truth is known, and on which no threshold was set (another seed)."""
    images = load_coloured("hebrew", per_class=20, seed=11)
    looks, facts = pixels.look(images.images), images.facts
    first = looks["colour"].str.split("; ").str[0]
    assert (first == facts["ink"]).mean() > 0.92
    assert (looks["ground"] == facts["ground"]).mean() > 0.97
    assert ((looks["texture"] == "textured") == (facts["texture"] != "plain")).mean() > 0.98
    # Bold letters are solid more often than light ones.
    solid, weight = looks["form"] == "solid", facts["weight"].astype(int)
    assert solid[weight >= 700].mean() > solid[weight < 700].mean() + 0.1


PLAIN_COLOURS = """black 000000 white ffffff grey 808080 red dc141e orange ff8c00 yellow fae61e
green 1e8c28 blue 2850dc purple 8228aa pink ff96c8 brown 6e411e""".split()


@pytest.mark.parametrize("name, colour", zip(PLAIN_COLOURS[::2], PLAIN_COLOURS[1::2]))
def test_plain_colours_have_their_names(name, colour):
    assert pixels.COLOURS[pixels.name_colours(np.array([*bytes.fromhex(colour)]))] == name


def square(ink, ground, inside=None, side=64):
    """A square of one colour, hollow where ``inside`` is another, on a ground."""
    image = np.full((side, side, 3), ground, np.uint8)
    image[16:48, 16:48] = ink
    if inside is not None:
        image[18:46, 18:46] = inside
    return image


def test_look_by_hand():
    white, black, red, blue = (255,) * 3, (0,) * 3, (210, 30, 30), (40, 60, 210)
    half = square(red, white)
    half[16:48, 34:48] = blue
    rough = square(red, white)
    rough[::2, :14] = 190
    looks = pixels.look(
        np.stack(
            [
                square(red, white),
                square(black, white, white),
                square(white, blue),
                half,
                rough,
                np.full((64, 64, 3), 128, np.uint8),
            ]
        )
    )
    assert looks.to_numpy().tolist() == [
        ["dark", "solid", "red", "plain", "white"],
        ["dark", "hollow", "black", "plain", "white"],
        ["bright", "solid", "white", "plain", "blue"],
        ["dark", "solid", "red; blue", "plain", "white"],
        ["dark", "solid", "red", "textured", "white"],
        ["", "", "", "plain", "grey"],
    ]
    grey = square(black, white)[..., :1]
    assert pixels.look(grey[None]).equals(
        pixels.look(square(black, white)[None])
    )  # one channel is three equal ones


SIDE = st.integers(1, 12)


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 2), SIDE, SIDE, st.sampled_from([1, 3]))))
@settings(max_examples=50)
def test_look_copes_with_any_pixels(images):
    looks = pixels.look(images)
    assert len(looks) == len(images) == len(pixels.sentences(looks))
    assert set(looks["ground"]) <= set(pixels.COLOURS) and set(looks["texture"]) <= {
        "plain",
        "textured",
    }
    assert all(set(cell.split("; ")) <= {*pixels.COLOURS, ""} for cell in looks["colour"])


def test_attributes_of_a_data_set(tmp_path, monkeypatch):
    clipart = load("clipart")
    few = Images(
        "few", clipart.images[:40], clipart.labels[:40], clipart.class_names, clipart.captions[:40]
    )
    assert "animal" in attributes.of(few).names and "bird" not in attributes.of(few).names
    named = ["hebrew/U+05E9 ש", "berries"]  # the letter shin
    shins = replace(few, class_names=named, captions=["a bold shin"] * 39 + ["a bold berry"])
    shins.labels[-1] = 1
    assert attributes.of(shins).names == ("bold",)
    by_pixels = attributes.of(few, "pixels")
    assert {"ground: white", "colour: black"} <= set(by_pixels.names) and len(by_pixels) == 40
    table = describe_table([few])
    assert (
        table.index.tolist() == [("few", "captions"), ("few", "pixels")]
        and (table["images"] == 40).all()
    )
    assert table.loc[("few", "pixels"), "attributes"] == len(by_pixels.names)
    monkeypatch.setattr(pixels, "look", None)
    assert (attributes.of(few, "pixels").has == by_pixels.has).all()  # from the cache
    facts = pd.DataFrame({"style": ["filled", "outline"] * 20, "colour": ["red; blue", ""] * 20})
    with_facts = replace(few, facts=facts)
    assert attributes.of(with_facts, "facts:style").names == ("style: filled", "style: outline")
    by_facts = attributes.of(with_facts, "facts:style+colour")
    assert by_facts.names == ("colour: blue", "colour: red", "style: filled", "style: outline")
    assert by_facts.has[:2].tolist() == [[True, True, True, False], [False, False, False, True]]
    for images, source, facts in (
        (with_facts, "facts:style+size", ("few", "'style' or 'colour'", "got 'size'")),
        (few, "facts:style", ("facts:style", "few")),
        (replace(few, captions=None), "captions", ("few has no captions",)),
        (few, "blib", ("captions, pixels, vit-gpt2, blip, ", "got 'blib'", "did you mean 'blip")),
        (few, "blip", ("few", "fslbook caption few --captioner blip")),
    ):
        with refuses(*facts):
            attributes.of(images, source)
