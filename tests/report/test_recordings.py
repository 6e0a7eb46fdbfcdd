"""Recordings of an evaluation loop: three targets, which tasks methods share, and what is said of them."""

import re

import numpy as np
import proposed
import pytest
from lookup import row, targets
from recording import LABELS, played
from refusal import refuses, says_in_one_line, warned

import fslcore
from fslcore import recorder, stats
from fslcore.evaluation import Outcomes
from fslcore.report import Shape, figure
from fslcore.tasks import sample_closed, sample_open

PAIRS = np.arange(160) // 2
ALL = {"new classes": "classes", "new images": "images", "these images": "closed"}


@pytest.fixture(scope="module")
def closed():
    return sample_closed(LABELS, tasks=300, ways=5, shots=2, queries=4)


def test_each_target_is_that_of_the_tasks_in_any_order(tmp_path, closed):
    a = played(tmp_path / "a.jsonl", closed, transductive=False)
    order = np.random.default_rng(2).permutation(300)
    b = played(tmp_path / "b.jsonl", closed, "B", 0.8, 1, order=order, transductive=True)
    results = proposed.read(tmp_path, level=0.9)  # a folder with a file per method
    assert results.shape is Shape.RECORDED and targets(results) == [*ALL]
    images = closed.support, closed.query, LABELS
    single = stats.three_intervals(100.0 * a, *images, confidence_level=0.9, bounds=(0, 100))
    pair = stats.three_intervals(
        100.0 * b - 100.0 * a, *images, confidence_level=0.9, transductive=True
    )
    for target, kind in ALL.items():
        mine, expected = row(results, target, "A"), getattr(single, kind)
        assert mine["half_width"] == pytest.approx(expected.half_width, rel=1e-9)
        assert mine["low"] == pytest.approx(expected.low, rel=1e-9)
        mine, expected = row(results, target, "B", "A"), getattr(pair, kind)
        assert mine["difference"] == pytest.approx(expected.estimate, rel=1e-9)
        # Half-widths take products of parts of the run, in the order of A's tasks there, of B's here.
        close = 1e-9 if kind == "closed" else 0.15
        assert mine["half_width"] == pytest.approx(expected.half_width, rel=close)
    assert results.lines()[0].startswith("new classes: B is better than A by")
    # Whether more tasks settle it.
    assert results.pairs["spread"].isna().tolist() == [True, True, False]
    assert any("Only 8 classes" in line for line in results.cautions)
    assert not any("was not recorded" in line for line in results.cautions)


def test_a_folder_is_read_without_what_stopped_loops_left(tmp_path, closed, recwarn):
    """The tasks before a loop was run again would count its method twice."""
    played(tmp_path / "a.jsonl", closed, transductive=False)
    (tmp_path / "a.part-1.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    assert [*proposed.read(tmp_path).methods["method"]] == ["A"] * 3
    assert "not read, recorded by loops that were stopped" in warned(recwarn)
    assert proposed.read(tmp_path / "a.part-1.jsonl").shape is Shape.RECORDED


def test_tasks_that_share_no_image_are_a_table_of_tasks(tmp_path):
    tasks = sample_open(LABELS, ways=5, shots=1, queries=1)
    right = played(tmp_path / "r.jsonl", tasks)
    results = proposed.read(tmp_path / "r.jsonl")
    expected = stats.open_task_interval(100.0 * right.mean(axis=1), bounds=(0, 100))
    assert results.methods["half_width"][0] == pytest.approx(expected.half_width)
    assert targets(results) == [""] and "no image is in two tasks" in results.applies[0]
    assert not any("was not recorded" in line for line in results.cautions)


def test_targets_that_the_tasks_do_not_support_are_left_out_and_said(tmp_path, closed):
    labels = np.arange(5).repeat(20)
    tasks = sample_closed(labels, tasks=60, ways=5, shots=2, queries=3)
    played(tmp_path / "r.jsonl", tasks, labels=labels)
    results = proposed.read(tmp_path / "r.jsonl")
    assert (
        targets(results) == ["new images", "these images"]
        and "new classes" not in results.applies[0]
    )
    assert any("do not tell about new classes" in line for line in results.cautions)
    assert any(line.startswith("Of A it was not recorded whether") for line in results.cautions)
    played(tmp_path / "few.jsonl", closed[:15])
    results = proposed.read(tmp_path / "few.jsonl")
    assert targets(results) == [""] and any(
        "no intervals for new images" in line for line in results.cautions
    )


def test_unfinished_methods_are_named(tmp_path):
    record = fslcore.record(tmp_path / "r.jsonl", "caf\udce9", transductive=False)
    for _ in range(45):
        record.task([0, 20], [1, 21], [0, 1], [0, 1], [0, 1])
    results = proposed.read(record.part)
    with refuses(
        f"no file .*; {re.escape(str(record.part))} holds the tasks of a loop that is not"
    ):
        proposed.read(record.path)
    assert says_in_one_line(results.cautions[0], r"caf\udce9", "not finished", "45 tasks")
    results.to_html(tmp_path / "report.html")


def nearest_centroid(x, seed):
    """6,000 tasks of a seed, and the answers of nearest centroids."""
    tasks = sample_closed(LABELS, tasks=6_000, ways=5, shots=2, queries=4, seed=seed)
    centres = x[tasks.support].reshape(len(tasks), 5, 2, 6).mean(axis=2)
    distances = ((x[tasks.query][:, :, None] - centres[:, None]) ** 2).sum(axis=3)
    right = distances.argmin(axis=2) == tasks.query_label
    return tasks, Outcomes(right, tasks.query_label), False


def influence_of(tasks, record, _):
    used = np.concatenate([tasks.support, tasks.query], axis=1)
    return stats.jackknife_influence(
        100.0 * record.correct.mean(axis=1), used, LABELS, groups=PAIRS
    )


def test_methods_on_other_tasks_of_the_same_images_are_compared_unpaired(tmp_path):
    """Against the same two learners on common tasks: images and classes change the difference as much."""
    rng = np.random.default_rng(0)
    noise, means = rng.normal(size=(160, 6)), rng.normal(size=(8, 6))[LABELS]
    first = noise + 0.6 * means
    second = noise + 0.9 * means + 0.3 * rng.normal(size=noise.shape)
    runs = {
        name: nearest_centroid(x, seed)
        for name, x, seed in (("A", first, 0), ("B", second, 1), ("C", second, 0))
    }
    images = {f"{i:03}": {"class": f"{LABELS[i]}", "groups": f"{PAIRS[i]}"} for i in range(160)}
    recorder.save(tmp_path / "r.jsonl", images, runs, {"seed": 0})
    results = proposed.read(tmp_path / "r.jsonl", level=0.9)
    assert any("unpaired" in line for line in results.cautions)
    expected = (influence_of(*runs["B"]) - influence_of(*runs["A"])).intervals(0.9)
    for target, kind in ALL.items():
        unpaired, paired = row(results, target, "B", "A"), row(results, target, "C", "A")
        assert unpaired["half_width"] == pytest.approx(getattr(expected, kind).half_width, rel=0.05)
        assert target == "these images" or 0.7 < unpaired["half_width"] / paired["half_width"] < 1.3


def test_options_leave_out_and_the_better_is_first_where_two_are_compared(tmp_path, closed):
    right = played(tmp_path / "a.jsonl", closed)
    hardest = np.argsort(right.mean(axis=1), kind="stable")
    played(
        tmp_path / "b.jsonl", closed[hardest[:150]], "B", 0.67, 1
    )  # on the tasks that are hard for A
    path = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    results = proposed.read(path)
    assert [*results.methods["method"][:2]] == ["A", "B"]  # by the mean of all tasks of each
    pair = row(results, "these images", "B", "A")
    assert 0 < pair["low"] < pair["difference"] < pair["high"] and pair["verdict"] == "better"
    assert "these images: B is better than A" in " ".join(results.lines())
    drawn = figure.draw(results).axes[1].collections[0]
    ends = [line[:, 0] for line in drawn.get_segments()]
    np.testing.assert_allclose(ends, results.pairs[["low", "high"]][::-1])
    common = proposed.read(path, common=True)
    assert {*common.methods["n"]} == {150} and common.methods["method"][0] == "B"
    played(tmp_path / "c.jsonl", closed, "C", 0.9, 2)
    assert {*proposed.read(tmp_path, where=["method!=B"]).methods["method"]} == {"A", "C"}
    assert len(proposed.read(tmp_path, reference="C").pairs) == 2 * len(ALL)
    with refuses("where = method=Z"):
        proposed.read(tmp_path, where=["method=Z"])


def test_methods_that_share_no_two_tasks_are_not_compared_on_common_ones(tmp_path, closed):
    played(tmp_path / "a.jsonl", closed[:100])
    played(tmp_path / "b.jsonl", closed[99:], "B")
    with refuses("common=True: no two tasks are shared by all methods"):
        proposed.read(tmp_path, common=True)


def test_other_lines_are_tables_and_other_files_do_not_fit(tmp_path, closed):
    (tmp_path / "lines.jsonl").write_text(
        '{"ours": 0.5, "base": 0.4}\n' * 9 + '{"ours": 0.7, "base": 0.5}\n'
    )
    assert proposed.read(tmp_path / "lines.jsonl").shape is Shape.TASKS
    played(tmp_path / "r.jsonl", closed[:30])
    with refuses(r"lines.jsonl is no recording"):
        proposed.read([tmp_path / "r.jsonl", tmp_path / "lines.jsonl"])
