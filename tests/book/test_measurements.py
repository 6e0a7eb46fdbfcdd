"""Which machine's measurements are read, and what a damaged file gives."""

import json

import pytest
from refusal import refuses

from fslbook import measurements


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the file of a machine with one row of rates, or with none."""
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)

    def write_machine(name, device="cpu", date="2026-01-01", rows=("a row",)):
        pieces = {"fast": {"of": "rates", "date": date, "rows": list(rows)}}
        facts = {"cpu": "A processor", "cores": 2, "device": device, "pieces": pieces}
        (tmp_path / f"{name}.json").write_text(json.dumps(facts))

    return write_machine


def test_the_last_measured_machine_without_a_gpu_is_the_default(write):
    write("first")
    write("cuda", device="cuda", date="2027-01-01")
    assert measurements.load_machine()["name"] == "first"
    write("newer", date="2026-02-01")
    write("without", date="2028-01-01", rows=[])
    assert measurements.load_machine()["name"] == "newer"
    assert measurements.load_machine("cuda")["rates"] == ["a row"]


def test_a_missing_or_damaged_machine_is_bad_input(write, tmp_path):
    with refuses("rates"):
        measurements.load_machine()
    write("some", rows=[])
    with refuses(r"\bsome\b", "rates"):
        measurements.load_machine()
    with refuses("machine must be 'some', got 'som'; did you mean 'some'"):
        measurements.load_machine("som")
    (tmp_path / "some.json").write_text("{")
    with refuses(r"some\.json in .* is damaged"):
        measurements.load_machine()
