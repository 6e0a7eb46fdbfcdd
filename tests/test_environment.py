"""The three lists of versions say the same."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def direct_pins():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return dict(pin.split("==") for pin in project["dependencies"] + extras["book"] + extras["test"])


def test_conda_users_get_the_versions_of_pyproject():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pinned = next(d["pip"] for d in dependencies if isinstance(d, dict))
    assert dict(pin.split("==") for pin in pinned) == direct_pins()


def test_requirements_pin_every_direct_dependency_at_the_same_version():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    names = {name.lower().replace("_", "-"): version for name, version in pinned.items()}
    for name, version in direct_pins().items():
        assert names[name.lower().replace("_", "-")] == version, name
