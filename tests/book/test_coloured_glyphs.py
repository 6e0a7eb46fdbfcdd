"""Coloured glyphs: what is drawn, their names and settings, and digests that stay."""

import numpy as np
import pytest
from refusal import refuses

from fslbook.coloured_glyphs import COLOURS, load_coloured
from fslcore import datasets


def test_coloured_glyphs_are_drawn_as_they_say():
    images = datasets.load("coloured/hebrew")
    assert images.images.shape == (len(images), 32, 32, 3) and images.counts.max() <= 60
    reloaded = load_coloured("hebrew")
    assert (reloaded.images[40:43] == images.images[:60][40:43]).all()  # whatever is sliced
    reseeded = load_coloured("hebrew", seed=1)
    assert images.digest == reloaded.digest != reseeded.digest
    facts = images.facts
    assert (facts["ink"] != facts["ground"]).all()
    row = facts.iloc[7]
    assert images.captions[7].endswith(
        f"in {row['ink']} ink on a {row['texture']} and {row['ground']} ground"
    )
    # The colour that the caption names is the one that is seen: on plain grounds, at the edges.
    on_plain_ground = np.flatnonzero(facts["texture"] == "plain")[:100]
    edge = (
        images.images[on_plain_ground][:, [0, -1]].reshape(len(on_plain_ground), -1, 3).mean(axis=1)
    )
    colours = np.array(list(COLOURS.values()))
    tints = 0.9 * (255 - 0.5 * (255 - colours))
    nearest = np.array(list(COLOURS))[((edge[:, None] - tints) ** 2).sum(axis=2).argmin(axis=1)]
    assert (nearest == facts["ground"].to_numpy()[on_plain_ground]).mean() > 0.8


def test_the_tie_of_ink_and_class_can_be_dialled():
    for bias, low, high in ((0, 0.0, 0.25), (0.5, 0.45, 0.7), (1, 1, 1)):
        images = load_coloured("hebrew", bias=bias)
        share = images.facts.groupby(images.labels)["ink"].agg(
            lambda ink: ink.value_counts().iloc[0] / len(ink)
        )
        assert low <= share.mean() <= high


def test_a_novel_letter_is_one_class_of_coloured_glyphs():
    """Scaled, Ы and ы look alike: no task may hold both, and no letter may be lost."""
    glyphs = datasets.load("glyphs")
    class_names = datasets.load("coloured?per_class=1").class_names
    for script in ("cyrillic", "hebrew", "latin"):
        chars, all_chars = (
            [n[-1] for n in names if n.startswith(script)]
            for names in (class_names, glyphs.class_names)
        )
        assert len({c.upper() for c in chars}) == len(chars)  # one form
        assert {c.upper() for c in chars} == {c.upper() for c in all_chars}  # of each letter
        assert all(
            c.upper() not in all_chars or not c.isalpha() or c.upper() == c for c in chars
        )  # the capital
    for split in ("base", "validation"):  # what the networks that ship have seen
        assert (
            datasets.load("coloured?per_class=1", split).class_names
            == datasets.load("glyphs", split).class_names
        )


@pytest.mark.parametrize(
    "settings",
    [dict(per_class=2, bias=0.12345678, seed=3), dict(ink="red")],
)
def test_settings_in_the_name_of_coloured_glyphs(settings):
    name = "coloured/hebrew?" + "&".join(f"{key}={value}" for key, value in settings.items())
    images = datasets.load(name)
    assert images.name == name
    assert images.digest == load_coloured("hebrew", **settings).digest
    assert images.counts.max() == settings.get("per_class", 60)
    assert all(class_name.startswith("hebrew") for class_name in images.class_names)


def test_an_ink_that_there_is_not_is_named():
    with refuses("ink", "redd", "red"):
        load_coloured(ink="redd")


def test_digests_of_coloured_glyphs_stay():
    """They are part of the keys of stored results."""
    digests = [
        datasets.load(f"coloured/hebrew?per_class=1{ink}").digest for ink in ("", "&ink=red")
    ]
    assert digests == [
        "68f1cd7d6b6eb062eca5af548522623ef4ba4dc1947bca61e53ecf02e09cd072",
        "828d656a5e3f19168da28f8797607c7670636c00ef82c3a32da7c365ccd1df32",
    ]


def test_settings_of_their_usual_value_are_no_part_of_a_name():
    images = datasets.load("coloured/hebrew?bias=0")
    assert (images.name, images.digest) == (
        "coloured/hebrew",
        datasets.load("coloured/hebrew").digest,
    )


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: load_coloured("hebrew", bias=1.5), "^bias .*1.5"),
        (lambda: load_coloured("hebrew", seed=-1), "^seed .*-1"),
        (lambda: datasets.load("coloured?tint=1"), "not tint"),
        (lambda: datasets.load("coloured?bias=much"), "bias = much is not an allowed number"),
        (
            lambda: datasets.load("coloured/hebrew", size=32),
            "size = 32; the pixels of coloured/hebrew",
        ),
    ],
)
def test_settings_that_cannot_be_are_named(call, message):
    with refuses(message):
        call()


def test_its_names_are_those_of_the_data_set_that_it_draws():
    for split in ("novel", "validation", "base"):
        names = [n for n in datasets.names(split) if n.startswith("glyphs")]
        drawn = [n for n in datasets.names(split) if n.startswith("coloured")]
        assert [n.replace("glyphs", "coloured") for n in names] == drawn != []
