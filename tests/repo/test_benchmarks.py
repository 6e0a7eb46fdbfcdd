"""The benchmarks still run on the library as it is, and compare like with like; how fast is for `make bench` to say."""

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings

import bench
import numpy as np
import pytest

from fslbook.beyond import speed
from fslcore.learners import NearestCentroid
from fslcore.paths import ROOT
from fslcore.tasks import sample_closed
from fslcore.tools import workload

BENCH = [sys.executable, str(ROOT / "benchmarks" / "bench.py"), "--threads", "1", "--repeats", "1"]
PIECES = ("learners", "ways", "samplers", "report", "limits", "growth", "fast", "million-10000", "quickdraw")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """All pieces in this process, which has loaded what they need; one that runs in its own is tested below."""
    path = tmp_path_factory.mktemp("bench") / "here.json"
    with (
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        patch.setenv("FSLCORE_CACHE", str(path.with_name("cache")))
        patch.setattr(bench, "in_process", bench.run_piece)
        patch.setattr(sys, "argv", [*BENCH[1:], "--quick", "-o", str(path), "--only", *PIECES])
        bench.main()
    return path, out.getvalue()


def test_what_is_measured_is_stored_and_printed(stored, monkeypatch):
    path, printed = stored
    monkeypatch.setattr(workload, "FOLDER", path.parent)
    found = workload.stored("here")
    assert {row["what"] for row in found["ratios"]} >= {"LR, 5-way 5-shot", "LR, 20-way 5-shot", "LR, 50-way 5-shot"}
    for row in found["ratios"]:
        assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"], rel=1e-3) and row["ours"] > 0
        assert row["what"] in printed
    assert {(row["what"], row["by"]) for row in found["growth"]} >= {("NCC", "ways"), ("three intervals", "images")}
    assert found["versions"].keys() >= {"python", "numpy", "torch"} and found["quick"] and found["cpu"]
    for row in [*found["growth"], *found["scale"]]:
        assert row["seconds"] >= 0
    assert all(row["peak_mb"] > 50 for row in found["scale"])
    assert {row["name"] for row in found["rates"]} >= {"ncc", "lr", "protonet"}


def test_reading_the_times_of_a_build_leaves_the_load_that_was_measured_under(stored, tmp_path, monkeypatch):
    path, was = tmp_path / "here.json", json.loads(stored[0].read_text()) | {"load": 0.125}
    path.write_text(json.dumps(was))
    monkeypatch.setattr(bench, "in_process", bench.run_piece)
    monkeypatch.setattr(os, "getloadavg", lambda: (7.5, 7.5, 7.5))
    for only, load in (("build", 0.125), ("samplers", 7.5)):
        monkeypatch.setattr(sys, "argv", [*BENCH[1:], "--quick", "-o", str(path), "--only", only])
        bench.main()
        assert json.loads(path.read_text())["load"] == load


def test_both_sides_of_a_ratio_find_the_same(stored):
    rows = [row for piece in json.loads(stored[0].read_text())["pieces"].values() for row in piece["rows"]]
    agree = [row["agree"] for row in rows if row.get("agree") is not None]
    assert len(agree) >= 5 and min(agree) > 0.95


def test_pieces_that_are_not_run_are_kept(stored, tmp_path):
    path = tmp_path / "kept.json"
    before = json.loads(stored[0].read_text())
    before["pieces"]["report"]["rows"][0]["ratio"] = -1
    path.write_text(json.dumps(before))
    command = [*BENCH, "--quick", "-o", str(path), "--only", "quickdraw"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert not done.returncode, done.stderr
    after = json.loads(path.read_text())["pieces"]
    assert after["report"] == before["pieces"]["report"] and after["quickdraw"]["of"] == "scale"


def test_batched_centroids_agree_with_the_loop():
    from performance import learners

    bank = learners.bank_of(classes=8, per_class=40, dim=64)
    tasks = sample_closed(bank.labels, tasks=8)
    both = learners.predictions(NearestCentroid(), bank, tasks), learners.centroid_loop(bank, tasks)
    assert (both[0] == both[1]).mean() > 0.99


def test_open_tasks_that_look_through_what_is_left_share_no_image():
    from performance.drawing import redraw_loop, remaining_loop

    labels = np.repeat(np.arange(6), 45)
    drawn = np.concatenate([np.concatenate(images) for task in remaining_loop(labels, 100) for images in task])
    assert len(np.unique(drawn)) == len(drawn) == 200  # two tasks; after them five classes have five images or 25
    assert all(len({labels[i[0][0]] for i in task}) == 5 for task in redraw_loop(labels, 4))


def test_images_that_are_drawn_do_not_depend_on_how_they_are_sliced():
    from million import Drawn

    images = Drawn(20_000)
    some = np.array([999, 3, 500])
    assert (images[some] == images[:][some]).all() and (images[400:600] == images[:][400:600]).all()
    half, rest, other = (images[start::200].mean(axis=0) for start in (0, 100, 101))  # two of class 0, one of class 1
    assert np.abs(half - rest).mean() < np.abs(half - other).mean()  # of one class they are nearer than of two


def test_machines_stand_side_by_side_by_what_they_compared():
    both = [{"what": "LR", "ratio": 20.0}, {"what": "NCC", "ratio": 3.0}]
    one = {"cpu": "A", "cores": 2, "date": "2020-01-01", "load": 3.6, "ratios": both}
    other = {"cpu": "B", "cores": 8, "date": "2021-01-01", "load": 0.1, "ratios": [{"what": "LR", "ratio": 5.0}]}
    table = speed.across([one, other])
    assert table.columns.tolist() == [("A, 2 cores", "2020-01-01, load 4"), ("B, 8 cores", "2021-01-01, load 0")]
    assert table.loc["LR"].tolist() == [20, 5] and table.loc["NCC"].isna().tolist() == [False, True]
