from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fslcore import assess, cli, datasets, informed
from fslcore.errors import InputError

METHOD = [("glyph-conv", "ncc")]


def folder_of(path: Path, counts: list[int]) -> Path:
    """Class folders with so many images each, of embedded clip art."""
    images = datasets.load("clipart")
    for k, n in enumerate(counts):
        (path / f"class{k}").mkdir(parents=True)
        for i, image in enumerate(images.images[np.flatnonzero(images.labels == k)[:n]]):
            Image.fromarray(image).save(path / f"class{k}" / f"{i}.png")
    return path


@pytest.mark.parametrize("counts", [[5, 5, 5], [2, 2], [2, 4, 7, 3], [1, 1], [1, 5, 5]], ids=str)
def test_any_support_gets_an_estimate_inside_its_interval(tmp_path, counts):
    images = assess.load(folder_of(tmp_path / "mine", counts))
    found = assess.assess(images, METHOD).iloc[0]
    assert 0 <= found["low"] <= found["estimate"] <= found["high"] <= 1
    alone = min(counts) == 1
    assert np.isnan(found["5-fold"]) == alone
    assert any("One image only: class0" in line for line in assess.cautions(images)) == alone


def test_a_higher_level_is_wider(tmp_path):
    images = assess.load(folder_of(tmp_path / "mine", [3, 3, 3]))
    widths = [assess.assess(images, METHOD, level).eval("high - low")[0] for level in (0.6, 0.9)]
    assert widths[0] < widths[1]


def test_what_the_episodes_tell_of_unknown_data_sets():
    found = assess.record(assess.methods())
    assert found["coverage"].mean() >= 90 and found["coverage"].min() >= 85


def test_nearest_shapes_come_first():
    table = assess.episodes().dropna(subset=list(informed.SIGNALS)).reset_index(drop=True)
    like = table.iloc[0]
    first = table.loc[assess.nearest(table, like, 5), list(informed.SHAPE)]
    assert (first == like[list(informed.SHAPE)].astype(float)).all(axis=None)


@pytest.mark.parametrize(
    "counts, says",
    [([5], "at least 2 classes"), ([21, 5], "class class0 has 21 images; up to 20"), ([], "no class folders")],
)
def test_bad_folders_are_told(tmp_path, counts, says, capsys):
    (tmp_path / "mine").mkdir()
    folder = folder_of(tmp_path / "mine", counts)
    with pytest.raises(InputError, match=says):
        assess.load(folder)
    assert cli.main(["assess", str(folder), "-o", str(tmp_path / "page.html")]) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "page.html").exists()


def test_unreadable_images_and_unknown_methods_are_told(tmp_path, capsys):
    folder = folder_of(tmp_path / "mine", [2, 2])
    assert cli.main(["assess", str(folder), "--backbone", "dino"]) == 2
    assert "backbone = dino; there are episodes to learn from of efficientnet-lite0" in capsys.readouterr().err
    (folder / "class0" / "0.png").write_bytes(b"not an image")
    assert cli.main(["assess", str(folder), "--backbone", "glyph-conv"]) == 2
    assert "0.png" in capsys.readouterr().err


def test_the_page_is_written(tmp_path, capsys):
    folder = folder_of(tmp_path / "mine", [3, 4, 3])
    page = tmp_path / "page.html"
    assert cli.main(["assess", str(folder), "--backbone", "glyph-conv", "-o", str(page)]) == 0
    said = capsys.readouterr().out
    assert "glyph-conv lr" in said and "recommended: glyph-conv" in said and said.endswith(f"{page}\n")
    html = page.read_text()
    assert "further images right" in html and "What such intervals are worth" in html and "Exercises" not in html
