"""What the package asks for, what the Makefile installs and what conda users get say the same."""

import re
import tomllib
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


PINNED_APART = ("captions", "lab")


def direct():
    """Bounds by package, of the package itself and all its extras but those with lists of pins of their own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lists = [
        project["dependencies"],
        *(extras[name] for name in extras if name not in PINNED_APART),
    ]
    wanted = [Requirement(line) for lines in lists for line in lines]
    return {
        canonicalize_name(r.name): r.specifier for r in wanted if not r.name.startswith("fslcore")
    }


def pinned(lines):
    pins = (line.split("==") for line in lines)
    return {canonicalize_name(name): version for name, version in pins}


def requirements(name="requirements.txt"):
    return pinned(re.findall(r"^[^#\s]+", (ROOT / name).read_text(), re.MULTILINE))


def test_conda_users_get_the_direct_dependencies_at_the_versions_of_requirements():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    *lines, own = next(d["pip"] for d in dependencies if isinstance(d, dict))
    assert own == "-e ."  # both commands; pip runs in the folder of this file
    pinned_for_conda = pinned(lines)
    assert set(pinned_for_conda) == set(direct())
    assert pinned_for_conda == {
        name: version for name, version in requirements().items() if name in pinned_for_conda
    }


def test_requirements_pin_every_direct_dependency_within_its_bounds():
    pins = requirements()
    for name, bounds in direct().items():
        assert bounds.contains(pins[name]), f"{name}{bounds}: {pins.get(name)}"


@pytest.mark.parametrize("extra", PINNED_APART)
def test_an_extra_with_its_own_list_is_pinned_with_all_that_it_asks_for(extra):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    pins = requirements(f"requirements-{extra}.txt")
    wanted = [Requirement(line) for line in extras[extra]]
    for name in pins:
        with suppress(metadata.PackageNotFoundError):
            wanted += map(Requirement, metadata.requires(name) or [])
    all_pins = requirements() | pins
    unmet = {
        str(requirement)
        for requirement in wanted
        if not requirement.marker or requirement.marker.evaluate({"extra": ""})
        if not requirement.specifier.contains(
            all_pins.get(canonicalize_name(requirement.name), "0")
        )
    }
    assert unmet == set() and not set(pins) & set(requirements())


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0", "3.14.0"])
def test_pins_install_on_the_first_release_of_every_promised_python(python):
    """The distributions of long-lived systems stay at an early release: Debian 12 at 3.11.2."""
    refused = {
        name: bounds
        for name in requirements()
        if (bounds := metadata.metadata(name).get("Requires-Python"))
        and python not in SpecifierSet(bounds)
    }
    assert not refused


def locked():
    """(name, version, marker, hashes) of every entry of the lock file."""
    text = re.sub(r"^#.*\n", "", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    entry = r"(\S+)==([^\s;]+)(?: ; (.*?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
    pinned_for_conda = re.findall(entry, text)
    assert not re.sub(entry, "", text).strip(), (
        "lines that are no entry: an address of an index, say"
    )
    return [
        (canonicalize_name(name), version, marker, hashes.split())
        for name, version, marker, hashes in pinned_for_conda
    ]


def test_the_lock_has_the_pins_of_requirements_and_hashes_of_every_file_of_the_index():
    """What has a marker is for another system or Python than the one that the pins come from, or is PyTorch's CUDA."""
    entries = locked()
    assert {name: version for name, version, marker, _ in entries if not marker} == requirements()
    assert {name for name, _, marker, _ in entries if marker and "linux" in marker} >= {
        "nvidia-cublas",
        "triton",
    }
    files = {
        name: len([word for word in hashes if word.startswith("--hash")])
        for name, _, _, hashes in entries
    }
    assert (
        files["numpy"] > 20 and files["torch"] > 10
    )  # of every system and Python, not of the file of one machine


def test_statistics_ask_for_numpy_and_scipy_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted(Requirement(line).name for line in project["dependencies"]) == ["numpy", "scipy"]
