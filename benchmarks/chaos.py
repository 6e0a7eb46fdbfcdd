"""Commands disturbed at random moments: whatever happens, the same command again ends as if nothing had.

``python benchmarks/chaos.py`` kills `evaluate`, `train`, `run` and `caption` 50 times in all, runs two at once on one
cache, fills the disk and damages what the commands keep for later. After each disturbance there is no file that looks
whole and is not, after SIGINT and SIGTERM nothing temporary either; then the command is given again, and every file
(the outputs of every cell of a notebook) must be that of an undisturbed run, bit by bit, with none besides.
``--book N`` does so with `make book` in a clone, which takes hours.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from cell_outputs import outputs  # noqa: E402

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
# {data} is a folder of images or a table, {out} the command's own folder.
COMMANDS = {
    "evaluate": "fslcore evaluate folder:{data}/photos conv4-protonet --shots 1 --queries 5 "
    "--tasks 400 -o {out}/out.csv",
    "train": "fslbook train baseline --dataset folder:{data}/photos --epochs 2 -o {out}/out.safetensors",
    "caption": "fslbook caption folder:{data}/photos -o {out}/out.csv",
    "run": "fslbook run your-results -p results {data}/results.csv -o {out}/out.ipynb",
}


def make_data(folder: Path, images: int = 45) -> None:
    """Twelve classes of 12-pixel images, and the accuracies of two methods on 60 tasks."""
    rng = np.random.default_rng(0)
    for name in range(12):
        (folder / f"photos/class{name}").mkdir(parents=True)
        ground = rng.integers(0, 256, (12, 12, 3))
        for i in range(images):
            pixels = 0.5 * ground + 0.5 * rng.integers(0, 256, ground.shape)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"photos/class{name}/{i:03}.png")
    values = rng.integers(30, 75, (60, 2)) / 75
    rows = [
        f"{method},{task},{values[task, column]:.6f}\n"
        for column, method in enumerate(("ours", "baseline"))
        for task in range(len(values))
    ]
    (folder / "results.csv").write_text("method,task,accuracy\n" + "".join(rows), "utf-8")


@dataclass
class World:
    """The folders one command works in: its output, its cache, and its temporary files."""

    name: str
    data: Path
    folder: Path

    def start(self, **options) -> subprocess.Popen:
        for part in ("out", "cache", "tmp"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        words = COMMANDS[self.name].format(data=self.data, out=self.folder / "out").split()
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "book")]),
            "OMP_NUM_THREADS": "1",
            "FSLCORE_CACHE": str(self.folder / "cache"),
            "TMPDIR": str(self.folder / "tmp"),
            "JUPYTER_RUNTIME_DIR": str(self.folder / "tmp"),
        }
        return subprocess.Popen(
            [sys.executable, "-m", *words, "--quiet"],
            env=env,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        )

    def run(self, **options) -> tuple[int, str]:
        """The exit code, and what was said on stderr."""
        process = self.start(**options)
        _, output = process.communicate(timeout=600)
        return process.returncode, output

    def files(self) -> dict[str, str]:
        """Of all there is, by path, what `content` says."""
        paths = sorted(p for p in self.folder.rglob("*") if not p.is_dir())
        return {str(p.relative_to(self.folder)): content(p) for p in paths}


def content(path: Path) -> str:
    """SHA-256 of a file; of a notebook, the outputs of its cells, since it holds times too."""
    if path.suffix == ".ipynb" and not path.name.startswith("."):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return json.dumps([*map(outputs, cells)], sort_keys=True, indent=1)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"


def lines_that_differ(one: str, other: str) -> str:
    """The first of them, of the outputs of two notebooks; nothing of two digests."""
    lines = [*difflib.unified_diff(one.splitlines(), other.splitlines(), n=0, lineterm="")][3:7]
    return "".join(f"\n  {line[:200]}" for line in lines if "\n" in one)


@dataclass
class Row:
    """What one disturbance led to. ``faults`` is empty where all is as it should be."""

    command: str
    disturbance: str
    seconds: float
    faults: list[str]

    def __str__(self) -> str:
        outcome = "; ".join(self.faults) or "equal, nothing left"
        return f"{self.command:9} {self.disturbance:42} {self.seconds:6.1f} s  {outcome}"


class Chaos:
    """Undisturbed runs to compare with, and the disturbances."""

    def __init__(self, folder: Path, seed: int = 0, images: int = 45):
        self.folder, self.random, self.count = folder, random.Random(seed), 0
        make_data(folder / "data", images)
        self.undisturbed_runs: dict[str, tuple[dict[str, str], float]] = {}

    def world(self, name: str, folder: Path | None = None) -> World:
        self.count += 1
        return World(name, self.folder / "data", folder or self.folder / f"{self.count}")

    def undisturbed(self, name: str) -> tuple[dict[str, str], float]:
        """The files of a run that nothing disturbs, and its seconds."""
        if name not in self.undisturbed_runs:
            world, start = self.world(name), time.monotonic()
            code, output = world.run()
            assert code == 0, output
            self.undisturbed_runs[name] = world.files(), time.monotonic() - start
        return self.undisturbed_runs[name]

    def again(self, world: World) -> list[str]:
        """The command given once more: what is not as after an undisturbed run."""
        code, output = world.run()
        return ([f"again: exit code {code}: {output[-300:]}"] if code else []) + self.differences(
            world, "again: "
        )

    def differences(self, world: World, when: str = "") -> list[str]:
        undisturbed, files = self.undisturbed(world.name)[0], world.files()
        return (
            [
                f"{when}{p} differs{lines_that_differ(undisturbed[p], files[p])}"
                for p in undisturbed.keys() & files.keys()
                if undisturbed[p] != files[p]
            ]
            + [f"{when}{p} is missing" for p in sorted(undisturbed.keys() - files.keys())]
            + [f"{when}{p} is left over" for p in sorted(files.keys() - undisturbed.keys())]
        )

    def half_written(self, world: World) -> list[str]:
        """Files under their own names that an undisturbed run makes otherwise: captions are written in whole parts."""
        undisturbed, files = self.undisturbed(world.name)[0], world.files()
        return [
            f"{p} looks whole"
            for p in sorted(undisturbed.keys() & files.keys())
            if undisturbed[p] != files[p]
            and not (world.name == "caption" and is_beginning(world.folder / p))
        ]

    def kill(self, name: str, number: signal.Signals, share: float | None = None) -> Row:
        """Send a signal at a random moment, or after a share of the undisturbed run's time."""
        world, seconds = self.world(name), self.undisturbed(name)[1]
        moment = (self.random.random() if share is None else share) * seconds
        start = time.monotonic()
        process = world.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        kernels = (
            psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        )
        process.send_signal(number)
        _, output = process.communicate(timeout=120)
        faults = self.half_written(world)
        if number != signal.SIGKILL:
            faults += [f"{p} is left over" for p in world.files() if temporary(p)]
            # Before its first line runs, nobody listens but Python itself.
            early = (
                process.returncode == -number
                or "<frozen" in output
                or ("site-packages" in output and moment < 1)
            )
            program = COMMANDS[name].split()[0]
            codes = {0: "", 128 + number: f"{program}: stopped\n"}
            if codes.get(process.returncode) != output and not early:
                faults.append(f"exit code {process.returncode}: {output[-300:]}")
        _, alive = psutil.wait_procs(kernels, timeout=10)
        faults += [f"process {p.pid} is left over" for p in alive]
        faults += self.again(world)
        shutil.rmtree(world.folder, ignore_errors=True)
        return Row(name, f"{number.name} after {moment:.2f} s", time.monotonic() - start, faults)

    def twice(self, name: str) -> Row:
        """Two at once, on one cache and with one output."""
        world, start = self.world(name), time.monotonic()
        processes = [world.start(), world.start()]
        faults = []
        for process in processes:
            _, output = process.communicate(timeout=600)
            faults += (
                [f"exit code {process.returncode}: {output[-300:]}"] if process.returncode else []
            )
        return Row(name, "two at once", time.monotonic() - start, faults + self.differences(world))

    def full(self, name: str) -> Row:
        """A disk that is full before the end; where none can be mounted, a limit to the size of files."""
        start, left = time.monotonic(), self.random.randrange(1, 8) * 4096
        with small_disk(self.folder / f"disk{self.count}", left) as (disk, mounted):
            world = self.world(name, disk / "w")
            options = (
                {}
                if mounted
                else {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (left, -1))}
            )
            code, output = world.run(**options)
            faults = self.half_written(world)
            if code not in (0, 2) or len(output.splitlines()) != (code == 2):
                faults.append(f"exit code {code}: {output[-300:]}")
            if mounted:
                (disk / "filler").unlink()
            faults += [f"{p} is left over" for p in world.files() if temporary(p)] + self.again(
                world
            )
        return Row(
            name,
            f"{'full disk' if mounted else 'limit of files'}, {left:,} bytes",
            time.monotonic() - start,
            faults,
        )

    def damage(self, name: str, cut: bool) -> Row:
        """A byte flipped or a file cut off, among what the command keeps for later."""
        world, start = self.world(name), time.monotonic()
        state = world.folder / "out/.out.training"
        if name == "train":
            process = world.start()
            while process.poll() is None and not state.exists():
                time.sleep(0.01)
            process.kill()
            process.communicate()
        else:
            world.run()
        paths = (
            [state]
            if name == "train"
            else sorted(p for p in (world.folder / "cache").rglob("*") if p.is_file())
        )
        if name == "caption":
            paths = [world.folder / "out/out.csv"]
        path = self.random.choice(paths)
        damaged = bytearray(path.read_bytes())
        at = self.random.randrange(len(damaged))
        if cut:
            del damaged[at:]
        else:
            damaged[at] ^= 1 << self.random.randrange(8)
        path.write_bytes(damaged)
        if name == "evaluate":  # nothing else that would spare it from reading this one
            for file in [*(world.folder / "out").iterdir(), *paths]:
                if file != path:
                    file.unlink()
        faults = self.again(world)
        if (
            name == "caption"
            and faults
            and "again: exit code 2" in faults[0]
            and str(path) in faults[0]
        ):
            path.unlink()  # it is the user's own file, which is refused by its name, and not replaced
            faults = self.again(world)
        description = (
            f"{'cut at' if cut else 'a bit flipped at'} {at:,} of {path.suffix or path.name}"
        )
        return Row(name, description, time.monotonic() - start, faults)


def temporary(path: str) -> bool:
    """Whether a path is none that the next run goes on from."""
    return path.startswith("tmp/") or (
        Path(path).name.startswith(".") and not path.endswith("out/.out.training")
    )


def is_beginning(path: Path) -> bool:
    """Whether a table ends with a whole row."""
    return path.suffix == ".csv" and path.read_text("utf-8").endswith(",pixels\n")


@contextmanager
def small_disk(folder: Path, left: int) -> Iterator[tuple[Path, bool]]:
    """A disk of 64 MiB with as many bytes left, and whether there is one: to mount it takes the rights of root."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    mounted = (
        bool(shutil.which("mount")) and not subprocess.run(mount, capture_output=True).returncode
    )
    try:
        if mounted:
            free = shutil.disk_usage(folder).free
            (folder / "filler").write_bytes(bytes(free - left - 4 * 4096))  # and its folders
        yield folder, mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def book(folder: Path, kills: int, seed: int) -> Iterator[Row]:
    """`make book` in a clone, killed with all its jobs, against one that nothing disturbs."""
    contents = {}
    for name in ("undisturbed", "disturbed"):
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / name)], check=True)
        start, moments = time.monotonic(), random.Random(seed)
        for i in range(kills if name == "disturbed" else 0):
            process = subprocess.Popen(
                ["make", "book"], cwd=folder / name, start_new_session=True, stdout=-3, stderr=-3
            )
            try:
                process.wait(moments.random() * contents["seconds"] / kills)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, SIGNALS[i % len(SIGNALS)])
                process.wait()
        subprocess.run(["make", "book"], cwd=folder / name, check=True, stdout=-3)
        built = folder / name / "_build"
        files = sorted(p for p in built.rglob("*") if p.is_file())
        contents[name] = {
            str(p.relative_to(built)): content(p) if p.suffix == ".ipynb" else "" for p in files
        }
        contents.setdefault("seconds", time.monotonic() - start)
    expected, built_again = contents["undisturbed"], contents["disturbed"]
    faults = [
        f"{p} differs"
        for p in expected.keys() & built_again.keys()
        if expected[p] != built_again[p]
    ]
    faults += [f"{p} is missing or left over" for p in sorted(expected.keys() ^ built_again.keys())]
    yield Row("make book", f"killed {kills} times", time.monotonic() - start, faults)


def rows(chaos: Chaos, kills: int, commands: list[str]) -> Iterator[Row]:
    """Every disturbance; the kills in turn over commands and signals."""
    for i in range(kills):
        yield chaos.kill(commands[i % len(commands)], SIGNALS[i // len(commands) % len(SIGNALS)])
    for name in commands:
        yield chaos.twice(name)
        yield chaos.full(name)
        yield from (
            chaos.damage(name, cut)
            for cut in (True, False)
            if name != "run" and (cut or name != "caption")
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="in all (50)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    parser.add_argument(
        "--only", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="commands (all)"
    )
    parser.add_argument(
        "--book", type=int, default=0, metavar="N", help="kill make book N times too"
    )
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        chaos = Chaos(Path(folder), options.seed)
        for name in options.only:
            print(f"{name:9} {'undisturbed':42} {chaos.undisturbed(name)[1]:6.1f} s", flush=True)
        for row in rows(chaos, options.kills, options.only):
            print(row, flush=True)
            bad += bool(row.faults)
        for row in book(Path(folder), options.book, options.seed) if options.book else ():
            print(row, flush=True)
            bad += bool(row.faults)
    print(f"{bad} of all ended otherwise" if bad else "all ended equal, and nothing is left over")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
