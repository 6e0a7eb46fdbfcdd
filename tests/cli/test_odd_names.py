"""Names of files and classes with signs that a terminal would obey; files that are written together."""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from refusal import refuses
from signs import control_characters

from fslbook.attributes import captions
from fslbook.near_copies import Copies
from fslcore.datasets import load
from fslcore.errors import visible
from fslcore.evaluation import image_groups
from fslcore.paths import replace_file, written_together
from fslcore.report import Results


def test_tables_of_images_hold_no_control_characters_and_read_back(tmp_path):
    from PIL import Image

    for name in ("a\x1b[2J\n", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (8, 8), (9 * i, 0, 0)).save(tmp_path / "data" / name / f"=\t{i}.png")
    images = load(f"folder:{tmp_path / 'data'}", size=8)
    names = images.names
    assert names[0] == "a\\x1b[2J\\n/=\\t0.png" and not control_characters("".join(names))
    file = captions.write(images, "pixels", tmp_path / "captions.csv")
    assert not control_characters(file.read_text("utf-8")) and len(captions.read(file, images)) == 4
    groups = pd.DataFrame(
        {"split": "novel", "image": names, "class": images.class_names[0], "group": [0, 0, 1, 1]}
    )
    Copies("n", groups, pd.DataFrame(), "hash", 1, None, None).write(tmp_path / "groups.csv")
    assert not control_characters((tmp_path / "groups.csv").read_text("utf-8"))
    assert image_groups(images, str(tmp_path / "groups.csv")).tolist() == ["0", "0", "1", "1"]
    raw = [
        name.encode().decode("unicode_escape") for name in names
    ]  # as tables from before have them
    pd.DataFrame({"image": raw, "group": [1, 1, 2, 2]}).to_csv(tmp_path / "before.csv", index=False)
    assert image_groups(images, str(tmp_path / "before.csv")).tolist() == ["1", "1", "2", "2"]


NOT_TEXT = os.fsdecode(b"run\xff")  # a name that another system wrote in its own encoding


def test_files_and_class_folders_whose_names_are_not_utf8(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (NOT_TEXT, "run2"):
        pd.DataFrame({"accuracy": np.linspace(0.4, 0.8, 6)}).to_csv(f"{name}.csv", index=False)
    methods = Results.read([f"{NOT_TEXT}.csv", "run2.csv"], method="file", rows="task").methods
    assert set(methods["method"]) == {visible(NOT_TEXT), "run2"}
    for c in (NOT_TEXT, "b"):
        (tmp_path / "images" / c).mkdir(parents=True)
        for i in (NOT_TEXT, "1"):
            plt.imsave(tmp_path / "images" / c / f"{i}.png", np.eye(4))
    images = load(f"folder:{tmp_path / 'images'}", size=8)
    assert images.counts.to_dict() == {"b": 2, NOT_TEXT: 2}
    with refuses(r"udcff.* not UTF-8 text"):
        images.names  # noqa: B018


def test_files_that_are_written_together_have_the_last_words(tmp_path):
    (tmp_path / "a").write_text("old")
    with written_together():
        for text in ("first", "last"):
            replace_file(tmp_path / "a", lambda part, text=text: part.write_text(text))
        replace_file(tmp_path / "b" / "c", lambda part: part.write_text("new"))
        assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "b" / "c").exists()
    assert (tmp_path / "a").read_text() == "last" and (tmp_path / "b" / "c").read_text() == "new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b", "c"]


def test_an_error_while_files_are_written_together_leaves_the_old_ones(tmp_path):
    (tmp_path / "a").write_text("old")

    def write_all():
        for name in ("a", "b/c"):
            replace_file(tmp_path / name, lambda part: part.write_text("new"))

    with pytest.raises(ZeroDivisionError), written_together():
        write_all()
        1 / 0  # noqa: B018
    assert [p.name for p in tmp_path.rglob("*")] == ["a"] and (tmp_path / "a").read_text() == "old"
    with pytest.raises(IsADirectoryError), written_together():
        write_all()
        (tmp_path / "b/c").mkdir()
    assert (tmp_path / "a").read_text() == "old"
