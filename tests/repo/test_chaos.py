"""A few disturbances of ``benchmarks/chaos.py``: the same command again ends as if nothing had been."""

import signal

import pytest
from chaos import Chaos


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
