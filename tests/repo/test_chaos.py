"""A few disturbances of ``benchmarks/chaos.py``: the same command again ends as if nothing had been."""

import signal

import pytest
from chaos import Chaos


@pytest.fixture(scope="module")
def chaos(tmp_path_factory):
    return Chaos(tmp_path_factory.mktemp("chaos"), images=20)


@pytest.mark.slow
@pytest.mark.parametrize("name, number, share", [("evaluate", signal.SIGTERM, 0.9), ("run", signal.SIGKILL, 0.7)])
def test_a_killed_command_goes_on_to_the_same_end(chaos, name, number, share):
    assert chaos.kill(name, number, share).faults == []


@pytest.mark.slow
def test_a_full_disk_is_told_and_the_same_end_reached_with_room(chaos):
    assert chaos.full("evaluate").faults == []


def test_the_comparison_sees_what_differs_is_missing_and_is_left_over(chaos):
    whole, _ = chaos.undisturbed("evaluate")
    world = chaos.world("evaluate")
    (world.folder / "out").mkdir(parents=True)
    (world.folder / "out/out.csv").write_text("half")
    (world.folder / "out/.1.out.csv").write_text("half")
    found = chaos.differences(world)
    assert "out/out.csv differs" in found and "out/.1.out.csv is left over" in found
    assert sum(line.endswith("is missing") for line in found) == len(whole) - 1 >= 5
    assert chaos.half_written(world) == ["out/out.csv looks whole"]
