"""Builds that are killed: the same command then goes on, to the same results."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

KILLS = 10


def of_builds(command: list[str], folder: Path, environ: dict, seed: int = 0) -> list[str]:
    """Begin a build and kill all of its processes, ten times, a little later each time; the caller then lets it end.

    Returns what is wrong: a build that ended before it was killed.
    """
    draw = random.Random(seed)
    quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for kill in range(KILLS):
        process = subprocess.Popen(
            command, cwd=folder, env=environ, start_new_session=True, **quiet
        )
        time.sleep(1 + kill / 2 + draw.random())
        if process.poll() is not None:
            return [
                f"the build ended by itself before kill {kill + 1}, with exit code {process.returncode}"
            ]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return []


def alone(folder: Path, environ: dict) -> list[str]:
    """What is wrong with results after kills: those of a pair are made again, undisturbed and with an empty cache."""
    import pandas as pd

    (result,) = (folder / "_build" / "results").glob("dtd.clip-*.parquet")
    table = pd.read_parquet(result)
    first = table.iloc[0]
    tasks = table.groupby(["learner", "sampling"]).size()
    options = {name: first[name] for name in ("ways", "shots", "queries", "seed")}
    options |= {"tasks": tasks["lr", "closed"], "max-open": tasks["lr", "open"]}
    options |= {"ft-tasks": tasks["ft", "closed"], "ft-open": tasks["ft", "open"]}
    command = [
        sys.executable,
        "-m",
        "fslcore",
        "evaluate",
        first["dataset"],
        first["backbone"],
        "--quiet",
    ]
    command += [
        "--learners",
        *table["learner"].unique(),
        "--skip-small-classes",
        "-o",
        "undisturbed.parquet",
    ]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    data = environ.get("FSLCORE_DATA", str(Path(environ["FSLCORE_CACHE"]) / "data"))
    environ = environ | {"FSLCORE_CACHE": str(folder / "undisturbed"), "FSLCORE_DATA": data}
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    equal = (folder / "undisturbed.parquet").read_bytes() == result.read_bytes()
    return [] if equal else [f"{result.name} differs from what an undisturbed run gives"]
