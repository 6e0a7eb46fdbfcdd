"""Do the tests see a fault? Single faults by mutmut, in a copy of the checkout, and the share that the tests kill.

    python benchmarks/mutants.py stats --sample 150
    python benchmarks/mutants.py estimation --files informed resampled

Hours for a whole room; a sample is drawn with a seed, so that it can be had again. A fault that no test reaches counts
as survived, and so does each that changes nothing (an *equivalent*): look at what is listed, by

    cd _build/mutants/ROOM && python -m mutmut show NAME
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
#: Room of the library: the tests that are to see its faults, the quick ones first.
ROOMS = {
    "stats": "stats parts dependence conformal targets sizing planning evaluators arguments informed honest",
    "tasks": "tasks biased estimators arguments",
    "estimation": "informed splits estimators arguments assess",
    "training": "splits training",
}
SELF = "README.md CHANGELOG.md CONTRIBUTING.md book fslcore tests benchmarks notebooks profiles".split()
KILLED = {1, 3, 36, -24, 24, 152, 255, -11, -9}  # by a test, or it ran on and on, or crashed
NOT_RUN = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("room", choices=ROOMS)
    parser.add_argument("--files", nargs="+", help="modules of the room (all)")
    parser.add_argument("--tests", nargs="+", help="tests/test_NAME.py that are to see them (those of the room)")
    parser.add_argument("--sample", type=int, help="so many faults, at random (all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--jobs", type=int, default=1, help="at once (1)")
    given = parser.parse_args()
    folder = copied(given.room, given.files or ["*"], given.tests or ROOMS[given.room].split())
    mutmut(folder, "run", "nothing", "--max-children", given.jobs)  # makes the faults, and learns which test sees what
    names = sorted(outcomes(folder))
    if not names:
        sys.exit("mutants: no faults were made; its output above says why")
    chosen = names if given.sample is None else sorted(random.Random(given.seed).sample(names, given.sample))
    mutmut(folder, "run", *chosen, "--max-children", given.jobs)
    found = {name: outcome for name, outcome in outcomes(folder).items() if name in set(chosen)}
    told(found)


def copied(room: str, files: list[str], names: list[str]) -> Path:
    """A copy of the checkout that mutmut may write in, with its settings."""
    folder = BUILD / "mutants" / room
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in SELF:
        of = ROOT / name
        if of.is_dir():
            shutil.copytree(of, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(of, folder)
    (folder / "data").symlink_to(ROOT / "data")
    tests = [f"tests/test_{name}.py" for name in names]
    tests = [path for path in tests if (ROOT / path).is_file()] + ["fslcore/stats"] * (room == "stats")
    settings = {
        "source_paths": ["fslcore"],
        "only_mutate": [f"fslcore/{room}/{name}.py" for name in files],
        "also_copy": [*SELF, "data"],
        "pytest_add_cli_args_test_selection": tests,
        "use_git_change_detection": False,
        "track_dependencies": False,
    }
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + "\n[tool.mutmut]\n" + lines)
    return folder


def mutmut(folder: Path, *arguments) -> None:
    paths = [BUILD / "mutmut", *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "mutmut", *map(str, arguments)], cwd=folder, env=environment)


def outcomes(folder: Path) -> dict[str, int | None]:
    """By name of the fault: how its tests ended (0: they passed, 33: there are none)."""
    found = {}
    for path in sorted((folder / "mutants").rglob("*.meta")):
        found |= json.loads(path.read_text())["exit_code_by_key"]
    return found


def told(found: dict[str, int | None]) -> None:
    done = {name: outcome for name, outcome in found.items() if outcome is not NOT_RUN}
    killed = {name for name, outcome in done.items() if outcome in KILLED}
    for name in sorted(done.keys() - killed):
        print("no test" if done[name] == 33 else "survived", name)
    by_module = Counter(re.sub(r"\.x.*", "", name) for name in done)
    for module, count in sorted(by_module.items()):
        print(f"{module}: {sum(n.startswith(module + '.') for n in killed)} of {count} killed")
    print(f"{len(killed)} of {len(done)} killed ({100 * len(killed) / max(len(done), 1):.1f} %)")


if __name__ == "__main__":
    main()
