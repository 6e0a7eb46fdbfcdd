"""The one verb of the cache: what is there is read, what is missing or damaged is made, and nothing
else happens.
"""

from pathlib import Path

import numpy as np
import pytest
from refusal import refuses, says_in_one_line, warned

from fslbook.training import pixels
from fslcore import store
from fslcore.datasets import Images, images
from fslcore.datasets.images import OnDemand
from fslcore.errors import InputError
from fslcore.paths import replace_file


def number(path):
    return int(path.read_text())


def writing(value, written):
    return lambda path: (
        written.append(value) or replace_file(path, lambda part: part.write_text(str(value)))
    )


@pytest.fixture
def path():
    """A file that holds 3."""
    path = store.path("numbers", "a.txt")
    store.get(path, number, writing(3, []))
    return path


def test_what_is_missing_is_made_once(recwarn):
    path = store.path("numbers", "a.txt")
    written = []
    assert store.find(path, number) is None
    assert [store.get(path, number, writing(i, written)) for i in (3, 4)] == [3, 3] and written == [
        3
    ]
    assert store.find(path, number) == 3 and not warned(recwarn)


def test_what_is_damaged_is_reported_and_made_again(path, recwarn):
    path.write_text("three")
    assert store.get(path, number, writing(4, [])) == 4 == number(path)
    message = warned(recwarn)
    assert says_in_one_line(message, path, "damaged", "(invalid literal")


def fails_with(error):
    def read(path):
        raise error

    return read


def test_the_kind_of_an_error_without_words_is_reported(path, recwarn):
    assert store.find(path, fails_with(EOFError)) is None
    assert says_in_one_line(warned(recwarn), path, "damaged", "(EOFError)")


def test_a_lack_of_memory_is_no_damage(path):
    with pytest.raises(MemoryError):
        store.get(path, fails_with(MemoryError), writing(4, []))
    assert number(path) == 3


def test_a_file_that_goes_while_it_is_read_is_not_damaged(path, recwarn):
    def late(path):
        path.unlink()
        return number(path)

    assert store.find(path, late) is None and not warned(recwarn)


def test_a_cache_that_cannot_be_written_to_serves_what_it_holds_and_nothing_is_computed(
    path, monkeypatch
):
    written = []
    read_only = fails_with(InputError("FSLCORE_CACHE: nothing can be written"))
    monkeypatch.setattr(store, "check_folder", lambda *_: read_only(path))
    assert store.get(path, number, writing(4, written)) == 3
    with refuses("written", "not hold all"):
        store.get(store.path("numbers", "b.txt"), number, writing(4, written))
    assert not written


def test_damaged_pixels_are_reported_and_made_again(monkeypatch, recwarn):
    monkeypatch.setattr(images, "KEPT", 0)  # too many to stay in memory
    made_up = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
    many = Images(
        "few",
        OnDemand(lambda i: made_up[i], 6, (4, 4, 3)),
        np.arange(6) % 2,
        ["a", "b"],
        content="0",
    )
    assert (pixels.ready(many).images == made_up).all()
    (path,) = Path(store.path("pixels")).iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    assert (pixels.ready(many).images == made_up).all() and path.read_bytes() == content
    assert says_in_one_line(warned(recwarn), path, "damaged")
