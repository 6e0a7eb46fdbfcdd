"""What LibFewShot's test loop leaves for TensorBoard, read as results."""

import sys

import numpy as np
import pytest

from fslcore.errors import InputError
from fslcore.report import Results

SETTINGS = {"data_root": "/data/miniImageNet--ravi", "test_way": 5, "test_shot": 1, "episode_size": 1}


@pytest.fixture(scope="module")
def writer():
    return pytest.importorskip(
        "tensorboard.summary.writer.event_file_writer", reason="TensorBoard, which reads and writes events, is missing"
    ).EventFileWriter


@pytest.fixture
def accuracies():
    return np.random.default_rng(0).integers(20, 60, 200) / 75 * 100


def write_events(writer, folder, scalars):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    events = writer(str(folder))
    for step, tag, value in scalars:
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        events.add_event(Event(step=step, wall_time=1.0, summary=summary))
    events.close()
    return max(folder.glob("events*"))


def played(writer, folder, accuracies, log="a", **settings):
    """A run's folder as the test loop writes it."""
    inside = folder / "log_files" / "tfboard_files"
    inside.mkdir(parents=True, exist_ok=True)
    text = f"2024-05-01 [INFO] core.test: {SETTINGS | settings}\n"
    (folder / "log_files" / f"P-test-May-{log}.log").write_text(text)
    scalars = []
    for step, accuracy in enumerate(accuracies):
        for name, value in (("data_time", 0.01), ("acc", accuracy), ("batch_time", 0.02)):
            scalars.append((step, f"test/{name}", value))
    return write_events(writer, inside, scalars)


def test_a_run_is_read_with_the_settings_of_its_log(writer, tmp_path, accuracies):
    path = played(writer, tmp_path / "run", accuracies)
    measured = Results.read([path, played(writer, tmp_path / "five", accuracies, test_shot=5)])
    assert [*measured.methods["place"]] == ["1-shot", "5-shot"] and [*measured.methods["n"]] == [200, 200]
    assert measured.methods["mean"][0] == pytest.approx(accuracies.mean(), abs=1e-4)
    assert "reuse images" in measured.applies[0]
    played(writer, tmp_path / "run", accuracies, log="b", test_shot=5)  # two tests of other settings
    assert [*Results.read(path).methods["method"]] == ["run"]


def test_a_folder_of_runs_is_one_table_of_the_newest(writer, tmp_path, accuracies):
    played(writer, tmp_path / "ProtoNet-1", accuracies)
    played(writer, tmp_path / "DN4-1", accuracies - 9)
    played(writer, tmp_path / "DN4-1", accuracies + 10 + np.arange(200) % 3)
    trained = tmp_path / "R2D2-1" / "log_files" / "tfboard_files"
    trained.mkdir(parents=True)
    write_events(writer, trained, [(0, "train/loss", 1.0), (0, "test/acc", 50.0)])
    results = Results.read(tmp_path)
    assert [*results.methods["method"]] == ["DN4-1", "ProtoNet-1"]
    assert results.pairs["difference"][0] == pytest.approx(10 + np.mean(np.arange(200) % 3), abs=1e-4)
    assert any("have no names" in note for note in results.reading)


def test_damage_is_read_up_to_it_and_said(writer, tmp_path, accuracies):
    path = played(writer, tmp_path / "run", accuracies)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    results = Results.read(path)
    (count,) = results.methods["n"]
    assert 90 < count < 110 and any(f"{200 - count} accuracies at its end" in note for note in results.reading)


@pytest.mark.parametrize("tags", [["train/acc", "test/acc"], ["test/acc"], []])
def test_events_of_anything_else_are_refused(writer, tmp_path, tags):
    path = write_events(writer, tmp_path, [(step, tag, 50.0) for step in range(3) for tag in tags])
    with pytest.raises(InputError, match=f"has the tags {', '.join(tags) or 'none'}, and not those of LibFewShot"):
        Results.read(path)


def test_without_tensorboard_the_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.backend.event_processing.event_accumulator", None)
    path = tmp_path / "events.out.tfevents.1.host.0"
    path.write_bytes(b"test/acc")
    with pytest.raises(InputError, match="pip install tensorboard installs it"):
        Results.read(tmp_path)
