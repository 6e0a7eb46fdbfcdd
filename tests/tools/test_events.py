"""What LibFewShot's test loop leaves, read as results."""

import json
import struct

import numpy as np
import pytest

from fslcore.errors import InputError
from fslcore.tools import report
from fslcore.tools.cli import app

CONFIG = {
    "classifier": {"name": "ProtoNet", "kwargs": None},
    "backbone": {"name": "Conv64F", "kwargs": {"is_flatten": True}},
    "data_root": "/data/miniImageNet--ravi",
    "test_way": 5,
    "test_shot": 1,
    "test_query": 15,
    "episode_size": 1,
    "seed": 0,
}
STAMP = "2024-05-01 10:00:00,123 [INFO] "


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def event(tag, value, step):
    """An event of one scalar, framed as in a file."""
    summary = field(1, field(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value))
    body = struct.pack("<Bd", 1 << 3 | 1, 1.7e9) + varint(2 << 3) + varint(step) + field(5, summary)
    return framed(body)


def crc(data):
    """The masked CRC-32C of TFRecord, bit by bit."""
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ 0x82F63B78 * (found & 1)
    found ^= 0xFFFFFFFF
    return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(body):
    size = struct.pack("<Q", len(body))
    return size + crc(size) + body + crc(body)


def first():
    body = struct.pack("<Bd", 1 << 3 | 1, 1.7e9) + field(3, b"brain.Event:2")
    return framed(body)


def played(folder, accuracies, config=CONFIG, at=1714550400, log="10-00-00", **told):
    """A run's folder as the trainer and the test loop write it."""
    inside = folder / "log_files" / "tfboard_files"
    inside.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(json.dumps(config))
    name = f"{config['classifier']['name']}-{config['backbone']['name']}-test-May-01-2024-{log}.log"
    (folder / "log_files" / name).write_text(
        f"{STAMP}core.test: {config | told}\n{STAMP}core.test: Aver Accuracy: {np.mean(accuracies):.3f}\t Aver h: 0.5\n"
    )
    path = inside / f"events.out.tfevents.{at}.host.17.0"
    path.write_bytes(
        first()
        + b"".join(
            event(f"test/{key}", value, step)
            for step, accuracy in enumerate(accuracies)
            for key, value in (("data_time", 0.01), ("acc", accuracy), ("batch_time", 0.02))
        )
    )
    return path


@pytest.fixture
def drawn():
    return np.random.default_rng(0).integers(20, 60, 200) / 75 * 100


def test_a_run_is_read_with_what_its_test_was_told(tmp_path, drawn):
    path = played(tmp_path / "results" / "ProtoNet-mini", drawn, test_shot=5)  # told otherwise than the training
    table, notes, _ = report.tables.read(path)
    assert np.allclose(table["accuracy"], drawn, atol=1e-4) and table["task"].tolist() == [*range(200)]
    facts = ["method", "dataset", "sampling", "ways", "shots", "queries", "seed"]
    assert table[facts].drop_duplicates().to_numpy().tolist() == [
        ["ProtoNet Conv64F", "miniImageNet--ravi", "closed", 5, 5, 15, 0]
    ]
    assert not any("cut off" in note for note in notes)


def test_logs_that_disagree_say_nothing(tmp_path, drawn):
    played(tmp_path / "run", drawn, test_shot=5, log="09-00-00")
    table, _, _ = report.tables.read(played(tmp_path / "run", drawn))
    assert "shots" not in table and set(table["ways"]) == {5}


def test_a_folder_of_runs_is_one_table(tmp_path, drawn):
    root = tmp_path / "results"
    newer = {"classifier": {"name": "DN4"}}
    played(root / "ProtoNet-1", drawn)
    played(root / "DN4-1", drawn - 9, CONFIG | newer)
    played(root / "DN4-1", drawn + 10, CONFIG | newer, at=1714550500)
    (root / "ProtoNet").symlink_to("ProtoNet-1")  # LibFewShot links the newest training
    trained = root / "R2D2-1" / "log_files" / "tfboard_files"
    trained.mkdir(parents=True)
    body = first() + event("train/loss", 1.0, 0) + event("test/acc", 50.0, 0)
    (trained / "events.out.tfevents.1714550400.host.17.0").write_bytes(body)
    table, notes, _ = report.tables.read(root)
    means = table.groupby("method")["accuracy"].mean()
    assert dict(means.round(3)) == {
        "ProtoNet Conv64F": round(drawn.mean(), 3),
        "DN4 Conv64F": round(drawn.mean() + 10, 3),
    }
    assert any(note.startswith("2 event files were left out") for note in notes)
    assert any("have no names" in note for note in notes)
    for part in ("", "log_files", "log_files/tfboard_files"):
        assert len(report.tables.read(root / "ProtoNet" / part)[0]) == 200


def test_networks_of_one_name_are_called_by_their_folders(tmp_path, drawn):
    for seed in "ab":
        played(tmp_path / seed, drawn)
    assert set(report.tables.read(tmp_path)[0]["method"]) == {"a", "b"}


def test_without_its_folder_a_file_is_read_all_the_same(tmp_path, drawn):
    path = played(tmp_path / "run", drawn, episode_size=2)
    _, notes, _ = report.tables.read(path)
    assert any("the mean of 2 tasks" in note for note in notes)
    alone = tmp_path / "mine" / path.name
    alone.parent.mkdir()
    alone.write_bytes(path.read_bytes()[:-30])  # a test that was killed
    table, notes, _ = report.tables.read(alone)
    assert set(table["method"]) == {"mine"} and np.allclose(table["accuracy"], drawn, atol=1e-4)
    assert any("cut off" in note for note in notes)


def test_other_files_are_told_in_one_line(tmp_path, drawn):
    path = played(tmp_path / "run", drawn)
    whole = path.read_bytes()
    for content, words in (
        (first() + event("train/acc", 1.0, 0) + whole, "is of a training run"),
        (first() + event("val/acc", 1.0, 0), "has no test/acc"),
        (b"", "has no test/acc"),
        (b"task,ours,theirs\n1,0.5,0.4\n", "is no event file"),
        (struct.pack("<QI", 9, 0) + bytes(range(250, 255)) * 4, "is no event file"),
        (framed(bytes(range(250, 255)) * 4), "is no event file"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=words):
            report.tables.read(path)
    path.write_bytes(first() + event("train/acc", 1.0, 0))
    with pytest.raises(InputError, match="no test run in"):
        report.tables.read(tmp_path)
    (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match="no event file"):
        report.tables.read(tmp_path / "x")


def events(**tags):
    """Events of scalars by tag, a step after another."""
    steps = max(map(len, tags.values()))
    return first() + b"".join(
        event(f"test/{tag}", values[s], s) for s in range(steps) for tag, values in tags.items() if s < len(values)
    )


def test_events_of_another_tool_are_refused(tmp_path, drawn):
    """There `test/acc` is one number per epoch: taken for tasks, epochs would get a ± of their own."""
    path = played(tmp_path / "run", drawn)
    for content, words in (
        (events(acc=[50.0, 60.0, 65.0], loss=[1.0, 0.9, 0.8]), "has the tag test/loss, so it is not of LibFewShot"),
        (events(acc=[50.0, 60.0, 65.0]), "lacks test/data_time or test/batch_time"),
        (events(acc=[50.0], data_time=[0.1], batch_time=[0.1], f1=[0.5]), "has the tag test/f1"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=words):
            report.tables.read(path)


def test_damage_that_loses_tasks_is_refused(tmp_path, drawn):
    path = played(tmp_path / "run", drawn)
    whole = path.read_bytes()
    size = len(event("test/acc", 50.0, 100))
    for at in (len(whole) // 2, len(whole) - 10, len(whole) - size + 3):  # content, and the length of a record
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"is damaged: the checksum at byte [0-9,]+ is wrong; copy it again"):
            report.tables.read(path)
    batches = [b"".join(event(f"test/{key}", 50.0, s) for key in ("data_time", "acc", "batch_time")) for s in range(9)]
    for kept, words in (([0, 1, 2, 5, 6], "5 after 2"), ([3, 4, 5], "has steps 3, 4 and so on")):
        path.write_bytes(first() + b"".join(batches[s] for s in kept))
        with pytest.raises(InputError, match=f"lacks tasks: .*{words}"):
            report.tables.read(path)
    path.write_bytes(first() + b"".join(batches) + event("test/data_time", 0.1, 9) + event("test/data_time", 0.1, 10))
    assert len(report.tables.read(path)[0]) == 9
    alone = first() + b"".join(batches[:4]) + event("test/data_time", 0.1, 4) + b"".join(batches[5:])
    path.write_bytes(alone)
    with pytest.raises(InputError, match="lacks tasks: .*5 after 3"):
        report.tables.read(path)


def test_the_report_takes_the_folder(tmp_path, drawn, capsys):
    played(tmp_path / "results" / "a", drawn)
    played(tmp_path / "results" / "b", drawn + 5, CONFIG | {"classifier": {"name": "DN4"}})
    page = tmp_path / "r.html"
    assert app.main(["report", str(tmp_path / "results"), "-o", str(page), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert abs(found["pairs"][0]["difference"]) == pytest.approx(5, abs=1e-4)
    assert "DN4 Conv64F" in page.read_text("utf-8")


def test_what_tensorboard_writes_is_read(tmp_path, drawn):
    pytest.importorskip("tensorboard", reason="TensorBoard, through which LibFewShot writes, is not installed")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(tmp_path / "run" / "log_files" / "tfboard_files")
    writer.add_text("note", "no scalar")
    writer.add_histogram("weights", drawn)
    for step, accuracy in enumerate(drawn):
        writer.add_scalar("test/data_time", 0.1, step)
        writer.add_scalar("test/acc", accuracy, step)
        writer.add_scalar("test/batch_time", 0.1, step)
    writer.close()
    table, _, _ = report.tables.read(tmp_path)
    assert np.allclose(table["accuracy"], drawn, atol=1e-4)
