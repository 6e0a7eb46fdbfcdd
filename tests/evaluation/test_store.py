"""The one verb of the cache: what is there is read, what is missing or damaged is made, and nothing else happens."""

from pathlib import Path

import numpy as np
import pytest

from fslbook.training import pixels
from fslcore import store
from fslcore.datasets import Images, images
from fslcore.datasets.images import OnDemand
from fslcore.errors import InputError, note
from fslcore.paths import replace_file


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "cache"))
    note.cache_clear()


def number(path):
    return int(path.read_text())


def writing(value, made):
    return lambda path: made.append(value) or replace_file(path, lambda part: part.write_text(str(value)))


def test_what_is_missing_is_made_once(capsys):
    path, made = store.path("numbers", "a.txt"), []
    assert store.find(path, number) is None
    assert [store.get(path, number, writing(i, made)) for i in (3, 4)] == [3, 3] and made == [3]
    assert store.find(path, number) == 3 and not capsys.readouterr().err


def test_what_is_damaged_is_told_and_made_again(capsys):
    path, made = store.path("numbers", "a.txt"), []
    store.get(path, number, writing(3, made))
    path.write_text("three")
    assert store.get(path, number, writing(4, made)) == 4 and made == [3, 4]
    said = capsys.readouterr().err
    assert said.startswith(f"fslcore: {path} is damaged and made again (invalid literal") and said.count("\n") == 1


def test_the_kind_of_an_error_without_words_is_told(capsys):
    path = store.path("numbers", "a.txt")
    store.get(path, number, writing(3, []))

    def broken(path):
        raise EOFError

    assert store.find(path, broken) is None
    assert capsys.readouterr().err == f"fslcore: {path} is damaged and made again (EOFError)\n"


def test_a_file_that_goes_while_it_is_read_is_not_damaged(capsys):
    path = store.path("numbers", "a.txt")
    store.get(path, number, writing(3, []))

    def late(path):
        path.unlink()
        return number(path)

    assert store.find(path, late) is None and not capsys.readouterr().err


def test_a_lack_of_memory_is_no_damage():
    path = store.path("numbers", "a.txt")
    store.get(path, number, writing(3, []))

    def large(path):
        raise MemoryError

    with pytest.raises(MemoryError):
        store.get(path, large, writing(4, []))
    assert number(path) == 3


def test_a_cache_that_cannot_be_written_to_serves_what_it_holds_and_nothing_is_computed(monkeypatch):
    there, missing, made = store.path("numbers", "a.txt"), store.path("numbers", "b.txt"), []
    store.get(there, number, writing(3, made))

    def read_only(*_):
        raise InputError("FSLCORE_CACHE: nothing can be written")

    monkeypatch.setattr(store, "check_folder", read_only)
    assert store.get(there, number, writing(4, made)) == 3
    with pytest.raises(InputError, match="nothing can be written, and it does not hold all that is needed"):
        store.get(missing, number, writing(4, made))
    assert made == [3]


@pytest.mark.parametrize("damage", [b"", b"garbage" * 9, None], ids=["empty", "garbage", "cut"])
def test_damaged_pixels_are_told_and_made_again(monkeypatch, capsys, damage):
    monkeypatch.setattr(images, "KEPT", 0)  # too many to stay in memory
    drawn = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
    many = Images("few", OnDemand(lambda i: drawn[i], 6, (4, 4, 3)), np.arange(6) % 2, ["a", "b"], content="0")
    assert (pixels.ready(many).images == drawn).all()
    (path,) = Path(store.path("pixels")).iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] if damage is None else damage)
    assert (pixels.ready(many).images == drawn).all() and path.read_bytes() == whole
    assert f"{path} is damaged and made again" in capsys.readouterr().err
