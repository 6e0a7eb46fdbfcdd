"""A few disturbances of ``benchmarks/chaos.py``: the same command again ends as if nothing had been."""

import json
import signal

import pytest
from chaos import Chaos, content


@pytest.fixture(scope="module")
def chaos(tmp_path_factory):
    return Chaos(tmp_path_factory.mktemp("chaos"), images=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, number, share", [("evaluate", signal.SIGTERM, 0.9), ("run", signal.SIGKILL, 0.7)]
)
def test_a_killed_command_goes_on_to_the_same_end(chaos, name, number, share):
    assert chaos.kill(name, number, share).faults == []


@pytest.mark.slow
def test_a_full_disk_is_told_and_the_same_end_reached_with_room(chaos):
    assert chaos.full("evaluate").faults == []


def test_what_a_cell_prints_in_pieces_is_what_it_prints_at_once(tmp_path):
    def notebook(*pieces):
        streams = [{"output_type": "stream", "name": "stdout", "text": [text]} for text in pieces]
        path = tmp_path / "out.ipynb"
        path.write_text(json.dumps({"cells": [{"outputs": [*streams, {"execution_count": 1}]}]}))
        return content(path)

    assert notebook("one line\n", "half of", " another\n") == notebook(
        "one line\nhalf of another\n"
    )
    assert notebook("one line\n") != notebook("another line\n") and "one line" in notebook(
        "one line"
    )
