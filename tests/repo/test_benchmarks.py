"""The benchmarks still run on the library as it is, and compare like with like; how fast is for `make bench` to say."""

import base64
import contextlib
import io
import json
import os
import sys
import warnings

import bench
import numpy as np
import pytest
from performance import growth, rates
from running import captured
from scipy.stats import linregress

from fslbook import measurements, notebooks
from fslbook.beyond import speed
from fslbook.catalogue import LEARNER_TITLES
from fslcore.models.registry import entries
from fslcore.paths import ROOT

BENCH = [sys.executable, str(ROOT / "benchmarks" / "bench.py"), "--threads", "1", "--repeats", "1"]
PIECES = """learners ways samplers report photos limits operations growth fast million-10000
    quickdraw""".split()


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


@pytest.mark.slow
def test_what_is_measured_is_stored_and_printed(stored, monkeypatch):
    path, printed = stored
    monkeypatch.setattr(measurements, "FOLDER", path.parent)
    stored_machine = measurements.load_machine("here")
    assert {row["what"] for row in stored_machine["ratios"]} >= {
        "LR, 5-way 5-shot",
        "LR, 20-way 5-shot",
        "LR, 50-way 5-shot",
    }
    for row in stored_machine["ratios"]:
        assert (
            row["ratio"] == pytest.approx(row["ours"] / row["theirs"], rel=1e-3) and row["ours"] > 0
        )
        assert row["what"] in printed
    assert stored_machine["cpu"] and stored_machine["pieces"].keys() == set(PIECES)
    for piece in stored_machine["pieces"].values():
        assert (
            piece["versions"].keys() >= {"python", "numpy", "torch"}
            and piece["quick"]
            and piece["threads"] == 1
        )
        assert stored_machine["date"] == piece["date"] and all(load >= 0 for load in piece["load"])
    assert all(row["seconds"] >= 0 and row["peak_mb"] > 50 for row in stored_machine["scale"])
    assert {row["name"] for row in stored_machine["rates"]} >= {"ncc", "lr", "protonet"}


def test_a_point_has_the_memory_that_its_input_leads_to():
    """A point of more tasks holds more, and a peak does not depend on what was measured before in this process."""
    few, many = (growth.Point("closed tasks", tasks=tasks) for tasks in (100, 50_000))
    measured = [growth.in_processes([(point, 1)])[0] for point in (few, many, few)]
    assert measured[1][1] > 50 > 5 * measured[0][1] and abs(measured[2][1] - measured[0][1]) < 2


def test_a_power_is_fitted_to_the_upper_half_and_has_an_error():
    at = [1, 10, 100, 1000, 10_000, 100_000]
    power, error = growth.fitted(at, [5.0, 5.0, 5.0, *(3.0 * x**1.5 for x in at[3:])])
    assert power == pytest.approx(1.5) and error == pytest.approx(0, abs=1e-6)
    noisy = growth.fitted(at, [1.0, 1.0, 1.0, 1.0, 20.0, 100.0])
    line = linregress([3, 4, 5], np.log10([1.0, 20.0, 100.0]))
    assert noisy == pytest.approx((line.slope, line.stderr)) and noisy[1] > 0
    assert growth.fitted(at, [9.0] * 4 + [1.0, 9.0], lower_bound=2.0) == (None, None)
    assert growth.fitted([1, 2], [1.0, 4.0]) == (pytest.approx(2), None)


def test_the_times_of_a_build_are_those_of_its_chapters(tmp_path):
    records, built = tmp_path / ".snakemake" / "metadata", tmp_path / "_build" / "notebooks"
    records.mkdir(parents=True), built.mkdir(parents=True)
    for name, end in (("same-support", 12.5), ("stopped", None)):
        page = f"_build/notebooks/{name}.ipynb"
        (tmp_path / page).write_text(
            json.dumps({"metadata": {"papermill": {"parameters": {"shown": 3}}}})
        )
        record = {"starttime": 10.0, "endtime": end}
        (records / base64.b64encode(page.encode()).decode()).write_text(json.dumps(record))
    (row,) = rates.build(tmp_path)
    assert row == dict(
        kind="build", name="same-support", job="notebook", seconds=2.5, parameters={"shown": 3}
    )
    assert rates.build(tmp_path / "nothing") == []


def test_stored_files_name_what_there_is():
    """Names of chapters, backbones and learners of stored rates are those that a profile may ask for."""
    chapters = set(notebooks.names())
    for machine in measurements.machines():
        stored_machine = measurements.load_machine(machine)
        for row in stored_machine["rates"]:
            if row["kind"] == "build" and row["job"] == "notebook":
                assert row["name"] in chapters, row["name"]
            for name in (row.get("backbone"), row["name"] if row["kind"] == "features" else None):
                assert name is None or name in entries(), name
            assert row["kind"] != "tasks" or row["name"] in LEARNER_TITLES, row["name"]
        for piece in stored_machine["pieces"].values():
            assert (
                piece.keys() == {"of", "date", "threads", "quick", "versions", "load", "rows"}
                and not piece["quick"]
            )


@pytest.mark.slow
def test_both_sides_of_a_ratio_find_the_same(stored):
    rows = [
        row
        for piece in json.loads(stored[0].read_text())["pieces"].values()
        for row in piece["rows"]
    ]
    agree = [row["agree"] for row in rows if row.get("agree") is not None]
    assert len(agree) >= 5 and min(agree) > 0.95


@pytest.mark.slow
def test_pieces_that_are_not_run_are_kept(stored, tmp_path):
    path = tmp_path / "kept.json"
    before = json.loads(stored[0].read_text())
    before["pieces"]["report"]["rows"][0]["ratio"] = -1
    path.write_text(json.dumps(before))
    command = [*BENCH, "--quick", "-o", str(path), "--only", "quickdraw"]
    done = captured(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert not done.returncode, done.stderr
    after = json.loads(path.read_text())["pieces"]
    assert after["report"] == before["pieces"]["report"] and after["quickdraw"]["of"] == "scale"


def test_what_a_machine_has_not_measured_is_shown_of_another_and_said():
    stored_machine = measurements.load_machine()
    this_machine, words = speed.measured_by(stored_machine, lambda machine: machine["scale"])
    assert this_machine is stored_machine and not words
    partly = {**stored_machine, "scale": []}
    other_machine, words = speed.measured_by(partly, lambda machine: machine["scale"])
    assert (
        other_machine["scale"]
        and f"another machine ({other_machine['cpu']}, {other_machine['cores']} cores)" in words
    )
    with pytest.raises(ValueError, match="no machine"):
        speed.measured_by(stored_machine, lambda _: False)
