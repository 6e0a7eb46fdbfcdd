"""What LibFewShot's test loop leaves for TensorBoard, read as results: by a reader that stands in for TensorBoard's."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from refusal import refuses

from fslcore.report import Results

READER = "tensorboard.backend.event_processing.event_accumulator"
SETTINGS = {
    "data_root": "/data/miniImageNet--ravi",
    "test_way": 5,
    "test_shot": 1,
    "episode_size": 1,
}
ACCURACIES = np.random.default_rng(0).integers(20, 60, 200) / 75 * 100


class EventAccumulator:
    """Reads lines of a tag and a value, up to one that is damaged."""

    def __init__(self, path, size_guidance, purge_orphaned_data):
        assert size_guidance == {"scalars": 0} and not purge_orphaned_data  # all of them
        self.values = {}
        with open(path) as file:
            for line in file:
                if not line.startswith("["):
                    break
                tag, value = json.loads(line)
                self.values.setdefault(tag, []).append(SimpleNamespace(value=value))

    def Reload(self):
        return self

    def Tags(self):
        return {"scalars": [*self.values]}

    def Scalars(self, tag):
        return self.values[tag]


@pytest.fixture(autouse=True)
def reader(monkeypatch):
    for name in ("tensorboard", "tensorboard.backend", "tensorboard.backend.event_processing"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    monkeypatch.setitem(sys.modules, READER, SimpleNamespace(EventAccumulator=EventAccumulator))


def write_events(folder, scalars, number=1):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.{number}.host.0"
    path.write_text("".join(f"{json.dumps(scalar)}\n" for scalar in scalars))
    return path


def write_run(folder, accuracies=ACCURACIES, log="a", number=1, **settings):
    """A run's folder as the test loop writes it."""
    names = ("test/data_time", "test/acc", "test/batch_time")
    scalars = [pair for accuracy in accuracies for pair in zip(names, (0.01, accuracy, 0.02))]
    path = write_events(folder / "log_files" / "tfboard_files", scalars, number)
    text = f"2024-05-01 [INFO] core.test: {SETTINGS | settings}\n"
    (folder / "log_files" / f"P-test-May-{log}.log").write_text(text)
    return path


def test_a_run_is_read_with_the_settings_of_its_log(tmp_path):
    path = write_run(tmp_path / "run")
    measured = Results.read([path, write_run(tmp_path / "five", test_shot=5)])
    assert [*measured.methods["place"]] == ["1-shot", "5-shot"] and [*measured.methods["n"]] == [
        200,
        200,
    ]
    assert measured.methods["mean"][0] == pytest.approx(ACCURACIES.mean())
    assert "reuse images" in measured.applies[0]
    write_run(tmp_path / "run", log="b", test_shot=5)  # two tests of other settings
    assert [*Results.read(path).methods["method"]] == ["run"]


def test_a_folder_of_runs_is_one_table_of_the_newest(tmp_path):
    better = ACCURACIES + 10 + np.arange(200) % 3
    write_run(tmp_path / "ProtoNet-1")
    write_run(tmp_path / "DN4-1", ACCURACIES - 9)
    write_run(tmp_path / "DN4-1", better, number=2)
    write_events(
        tmp_path / "R2D2-1" / "log_files" / "tfboard_files",
        [("train/loss", 1.0), ("test/acc", 50.0)],
    )
    results = Results.read(tmp_path)
    assert [*results.methods["method"]] == ["DN4-1", "ProtoNet-1"]
    assert results.pairs["difference"][0] == pytest.approx(np.mean(better - ACCURACIES))
    assert any("have no names" in note for note in results.reading)


def test_damage_is_read_up_to_it_and_said(tmp_path):
    path = write_run(tmp_path / "run")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:300], f"?{lines[300]}", *lines[301:]]))
    results = Results.read(path)
    assert [*results.methods["n"]] == [100] and any(
        "100 accuracies at its end" in note for note in results.reading
    )


@pytest.mark.parametrize("tags", [["train/acc", "test/acc"], []])
def test_events_of_anything_else_are_refused(tmp_path, tags):
    path = write_events(tmp_path, [(tag, 50.0) for tag in tags])
    with refuses(f"has the tags {', '.join(tags) or 'none'}, and not those of LibFewShot"):
        Results.read(path)


def test_without_tensorboard_the_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, READER, None)
    write_run(tmp_path / "run")
    with refuses("pip install tensorboard installs it"):
        Results.read(tmp_path)
