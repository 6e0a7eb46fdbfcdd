"""Faults on the way of a rehearsal: each is named in one line, nothing half-made stays, and the same command goes on.

A connection that is cut in the middle, an answer 403, another file than the manifest lists, a disk that is full, and
processes that are killed, while they fetch and while they build.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

FETCH = [sys.executable, "-m", "fslcore", "fetch", "--accept-terms", "--quiet"]
KILLS = 10


def of_downloads(server, manifest: Path, folder: Path, environ: dict) -> list[str]:
    """What is wrong with how faults of a download are met; nothing where all is as it should be.

    Parameters
    ----------
    server
        As `rehearse.main` makes it, with the files of the manifest.
    manifest : Path
    folder : Path
        A place for data of its own, where the last of the calls leaves a data set as without faults.
    environ : dict
        Of the commands.
    """
    environ = environ | {"FSLCORE_DATA": str(folder / "data")}
    listed = {name: of.get("files", ()) for name, of in yaml.safe_load(manifest.read_text())["data"].items()}
    paths = {n: f"/{n}/{files[0]['url'].rpartition('/')[2]}" for n, files in listed.items() if len(files) == 1}
    name = next((name for name in sorted(paths, reverse=True) if len(server.files.get(paths[name], b"")) > 2**16), None)
    if name is None:  # a person brings all of it
        return []
    path = paths[name]
    body, wrong = server.files[path], []

    def fetched() -> tuple[int, str]:
        done = subprocess.run([*FETCH, name], env=environ, capture_output=True, text=True)
        return done.returncode, done.stderr

    def expect(what: str, found: tuple[int, str], code: int, words: str) -> None:
        if found[0] != code or words not in found[1] or len(found[1].splitlines()) > 1:
            wrong.append(f"{what}: exit code {found[0]}, not {code} with {words!r}: {found[1]}")
        if code and (folder / "data" / name).exists():
            wrong.append(f"{what}: the data set is there all the same")

    server.faults[path] = [403]
    expect("an answer 403", fetched(), 2, "answers 403")
    server.files[path] = bytes(len(body))
    expect("another file", fetched(), 2, "it was removed, and the same command fetches it again")
    server.files[path] = body
    if full := _small_disk(folder / "data"):
        expect("a full disk", fetched(), 2, "are free")
        subprocess.run(["umount", folder / "data"], check=True)
    print(f"faults: a full disk{'' if full else ' was not tried: no small disk can be mounted here'}", flush=True)
    server.faults[path], server.log[:] = [("stall", len(body) // 3)], []
    process = subprocess.Popen([*FETCH, name], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not any(part.stat().st_size for part in (folder / "data").rglob("*.part")) and time.monotonic() < until:
        time.sleep(0.1)
    process.kill()
    process.wait()
    server.faults[path] = [("cut", len(body) // 3)]
    expect("a kill, and a cut connection", fetched(), 0, "")
    parts = [asked for there, asked in server.log if there == path]
    if len(parts) != 3 or parts[0] is not None or None in parts[1:]:
        wrong.append(f"a kill, and a cut connection: asked for {parts}, not for all and then for two rests")
    server.faults.clear()
    return wrong


def _small_disk(folder: Path) -> bool:
    """Whether a disk of a megabyte is now at a folder: only a system administrator can."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True)
    return mounted.returncode == 0


def of_builds(command: list[str], folder: Path, environ: dict, seed: int = 0) -> list[str]:
    """Begin a build and kill all of its processes, ten times, a little later each time; the caller then lets it end.

    Returns what is wrong: a build that ended before it was killed.
    """
    draw = random.Random(seed)
    for i in range(KILLS):
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(1 + i / 2 + draw.random())
        if process.poll() is not None:
            return [f"the build ended by itself before kill {i + 1}, with exit code {process.returncode}"]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return []


def alone(folder: Path, environ: dict) -> list[str]:
    """What is wrong with results after kills: those of a pair are made again, undisturbed and with an empty cache."""
    import pandas as pd

    (result,) = (folder / "_build" / "results").glob("dtd.clip-*.parquet")
    table = pd.read_parquet(result)
    counts = {sampling: len(part) for sampling, part in table.query("learner == 'lr'").groupby("sampling")["task"]}
    few = {sampling: len(part) for sampling, part in table.query("learner == 'ft'").groupby("sampling")["task"]}
    options = {name: str(table[name].iloc[0]) for name in ("ways", "shots", "queries", "seed")}
    options |= {"tasks": str(counts["closed"]), "max-open": str(counts["open"])}
    options |= {"ft-tasks": str(few["closed"]), "ft-open": str(few["open"])}
    command = [
        sys.executable,
        "-m",
        "fslcore",
        "evaluate",
        table["dataset"].iloc[0],
        table["backbone"].iloc[0],
        "--quiet",
    ]
    command += ["--learners", *table["learner"].unique(), "--skip-small-classes", "-o", "undisturbed.parquet"]
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    data = environ.get("FSLCORE_DATA", str(Path(environ["FSLCORE_CACHE"]) / "data"))
    environ = environ | {"FSLCORE_CACHE": str(folder / "undisturbed"), "FSLCORE_DATA": data}
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    same = (folder / "undisturbed.parquet").read_bytes() == result.read_bytes()
    return [] if same else [f"{result.name} differs from what an undisturbed run gives"]
