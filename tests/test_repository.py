"""What visitors and services read of the repository: README, citation files, workflows, lock, buttons of the site."""

import re
from pathlib import Path

import picture

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")


# ---------------------------------------------------------------- the README


def test_the_readme_is_short_with_one_table_one_picture_and_three_commands():
    (block,) = re.findall(r"^```bash\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) == 3
    assert len(re.findall(r"^\| ---", README, re.MULTILINE)) == len(re.findall(r"^!\[", README, re.MULTILINE)) == 1
    assert len(README.split()) < 600


def test_the_readme_links_to_what_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert len(targets) > 5
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []


def test_the_picture_is_the_one_that_the_printed_tables_give():
    assert picture.TARGET.read_text("utf-8") == picture.picture(), "run python book/picture.py"
    assert f"]({picture.TARGET.relative_to(ROOT).as_posix()})" in README


def test_the_picture_shows_the_figures_of_the_readme():
    """Both take them from the same rows of the papers' tables: see tests/test_published.py."""
    figure = r"−?\d+\.\d+ ± \d+\.\d+"
    drawn = re.findall(figure, picture.picture())
    assert len(drawn) == 7 and sorted(drawn) == sorted(re.findall(figure, README))


def test_intervals_of_the_picture_are_as_long_as_printed():
    """In pixels, by the axis below them: the labels and the lines cannot disagree."""
    svg = picture.picture()
    halves = [float(half) for half in re.findall(r"± (\d+\.\d+)", re.sub(r"<title>.*?</title>", "", svg))]
    ends = re.findall(r'class="bar [\w-]+" x1="([\d.]+)" x2="([\d.]+)"', svg)
    lengths = [(float(end) - float(start)) / 2 for start, end in ends]
    units = [380 / 16] * 4 + [280 / 12] * 3  # pixels a point: the axes run from 74 to 90 and from -9 to 3
    assert all(abs(length - half * unit) < 0.06 for length, half, unit in zip(lengths, halves, units, strict=True))
