"""How large and how readable the rooms of the code are, against the tables in pyproject.toml."""

import importlib
import tomllib
from pathlib import Path

import pytest
from measures import Measures, measure_path

from fslcore.catalogue import LEARNERS_BY_NAME

ROOT = Path(__file__).resolve().parents[2]
BUDGET = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["budget"]
ROOMS, HABITS = BUDGET["rooms"], BUDGET["habits"]


def measure_all(paths) -> Measures:
    return sum((measure_path(ROOT / path) for path in paths if (ROOT / path).exists()), Measures())


def limit(room: dict, figure: str) -> float:
    """The cap, or where a room is still over its cap, the ceiling that only falls."""
    return max(room["cap"][figure], room.get("over", {}).get(figure, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROOMS)
def test_a_room_keeps_its_cap_of_tokens(name):
    measured = measure_all(ROOMS[name]["paths"])
    assert measured.tokens <= limit(ROOMS[name], "tokens")
    assert measured.tokens / measured.lines <= limit(ROOMS[name], "per_line")


@pytest.mark.slow
@pytest.mark.parametrize("name", ROOMS)
def test_no_ceiling_stands_where_the_cap_is_kept(name):
    measured = measure_all(ROOMS[name]["paths"])
    figures = {"tokens": measured.tokens, "per_line": measured.tokens / measured.lines}
    met = [
        figure
        for figure in ROOMS[name].get("over", {})
        if figures[figure] <= ROOMS[name]["cap"][figure]
    ]
    assert not met, "take these out of `over` in pyproject.toml"


def test_every_module_is_in_one_room():
    paths = [path for room in ROOMS.values() for path in room["paths"]]
    assert len(paths) == len(set(paths))
    for file in [*(ROOT / "fslcore").rglob("*.py"), *(ROOT / "book" / "fslbook").rglob("*.py")]:
        place = file.relative_to(ROOT).as_posix()
        homes = [path for path in paths if place == path or place.startswith(f"{path}/")]
        assert len(homes) == 1, place


@pytest.mark.slow
@pytest.mark.parametrize("package", HABITS)
def test_no_habit_gets_worse(package):
    measured, limits = measure_path(ROOT / package), HABITS[package]
    assert 100 * measured.vague_names / measured.names <= limits["vague_percent"]
    assert measured.products <= limits["products"]
    assert measured.crowded_functions <= limits["crowded"]


def test_each_package_keeps_its_budget_of_public_names():
    learners = {
        entry.place.partition(":")[2] for entry in LEARNERS_BY_NAME.values()
    }  # any number of them
    counted = {
        package: len({*importlib.import_module(f"fslcore.{package}").__all__} - learners)
        for package in BUDGET["names"]
    }
    over = {
        name: f"{n} of {BUDGET['names'][name]}"
        for name, n in counted.items()
        if n > BUDGET["names"][name]
    }
    assert not over, "fewer public names, or a reason for more in the commit that raises the number"
