"""`make rerun` runs every chapter with other parameters, and finds what cannot be right in its text."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "rerun"))

import rerun

from fslbook import notebooks

VARIED = {
    "shots",
    "ways",
    "level",
    "datasets",
    "dataset",
    "seeds",
}  # a chapter that has one is run with another value


def test_every_chapter_is_run_with_other_values_of_what_it_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in rerun.FOLDERS:
        (rerun.HERE.relative_to(rerun.ROOT) / place).mkdir(parents=True)
    runs_of_chapter = {}
    for name, _, parameters, *_ in rerun.runs():
        runs_of_chapter.setdefault(name, []).append(notebooks.check(name, parameters, absent=True))
    assert sorted(runs_of_chapter) == notebooks.names()
    for name, runs in runs_of_chapter.items():
        for parameter in notebooks.parameters(name):
            values = [run[parameter.name] for run in runs if parameter.name in run]
            assert parameter.name not in VARIED or any(
                value != parameter.default for value in values
            ), (
                name,
                parameter,
            )


def test_captions_are_read_with_their_numbers(tmp_path):
    record = {"name": "share", "mime_prefix": ""}
    glue = {
        "cell_type": "code",
        "metadata": {"tags": ["remove-cell"]},
        "outputs": [{"data": {"text/plain": "'3 of 4'"}, "metadata": {"scrapbook": record}}],
    }
    legend = {"caption": "Held by {glue:text}`share`."}
    figure = {"cell_type": "code", "metadata": {"mystnb": {"figure": legend}}, "outputs": []}
    table = {"cell_type": "code", "metadata": {"table": legend}, "outputs": []}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [glue, figure, table]}), "utf-8")
    assert list(rerun.texts(path)) == ["Held by 3 of 4."] * 2
