"""The book on a real Slurm: what the cluster makes is what one machine makes, also when a node and a job are lost.

    make cluster-test

Builds an evaluation in parts and two chapters (`small.yml`) twice, each from nothing in a folder of its own: locally;
and on a controller and two node daemons (`slurm.py`) through ``profiles/slurm``, while a job is cancelled and a node is
killed. Then compares every file of the cache, every table and every executed notebook, byte by byte; no other job may
have failed.

Skips, and says why, where Slurm or Snakemake's executor for it cannot be installed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

import slurm  # noqa: E402
from cell_outputs import outputs  # noqa: E402
from checkout import copy_sources  # noqa: E402

HERE = ROOT / "_build" / "cluster"
SMALL = Path(__file__).with_name("small.yml")
CHAPTERS = ("closed-vs-open", "evaluators-audit")
TARGETS = [f"_build/notebooks/{name}.ipynb" for name in CHAPTERS]
PARTS, NODES, LIMIT = 2, 2, 1800  # jobs of an evaluation; node daemons; seconds for one build
# What papermill and Jupyter write of the run itself, in the metadata: when, for how long and from where to where.
OF_THE_RUN = ("papermill", "execution")


def plugin() -> str:
    """Why Snakemake's executor cannot be had, or nothing: it is installed beside the rest where it is missing."""
    check = [sys.executable, "-c", "import snakemake_executor_plugin_slurm"]
    if subprocess.run(check, capture_output=True, env=environment(ROOT)).returncode == 0:
        return ""
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]
    wanted = [
        "--upgrade",
        "--target",
        HERE / "plugins",
        "-r",
        ROOT / "profiles" / "slurm" / "requirements.txt",
    ]
    done = subprocess.run([*install, *wanted], text=True, capture_output=True)
    return f"pip: {done.stderr.strip().splitlines()[-1]}" if done.returncode else ""


def environment(folder: Path, variables: dict[str, str] = os.environ) -> dict[str, str]:
    """The folder's own code and cache, and this Python."""
    clean = {k: v for k, v in variables.items() if not k.startswith(("FSLCORE", "PYTHON"))}
    return clean | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), clean["PATH"]]),
        "PYTHONPATH": os.pathsep.join(map(str, (folder, folder / "book", HERE / "plugins"))),
        "FSLCORE_CACHE": str(folder / "cache"),
    }


def copy(name: str) -> Path:
    """The sources and the small profile in a folder of their own."""
    folder = HERE / name
    copy_sources(folder)
    shutil.copy(SMALL, folder)
    return folder


def build(folder: Path, *options: str, during=lambda process: None, variables=os.environ) -> float:
    """Run Snakemake in a folder, and something beside it; the seconds it took.

    Raises
    ------
    RuntimeError
        Snakemake failed or took too long; with the end of what it said.
    """
    start, log = time.monotonic(), folder / "snakemake.log"
    config = ["--config", "profile=small.yml", "--"]
    command = [sys.executable, "-m", "snakemake", "--nolock", *options, *config, *TARGETS]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder, variables), stdout=out, stderr=out
        )
        try:
            during(process)
            code = process.wait(timeout=max(1, LIMIT - (time.monotonic() - start)))
        except subprocess.TimeoutExpired:
            code = f"more than {LIMIT} s"
        finally:
            slurm.kill(process.pid)
            process.wait()
    if code:
        logs = [log, *sorted((folder / ".snakemake" / "slurm_logs").rglob("*.log"))]
        ends = ["\n".join(log.read_text(errors="replace").splitlines()[-30:]) for log in logs]
        raise RuntimeError("\n".join([f"{folder.name}: snakemake ended with {code}", *ends]))
    return time.monotonic() - start


def on(cluster: slurm.Slurm, folder: Path, during=lambda process: None) -> float:
    """The same on a cluster, by the profile that users have."""
    profile = ["--workflow-profile", "profiles/slurm", "--configfile", "few.yaml"]
    quick = ["--slurm-init-seconds-before-status-checks", "3", "--slurm-status-command", "squeue"]
    (folder / "few.yaml").write_text(f"parts: {PARTS}\n")
    return build(folder, *profile, *quick, during=during, variables=cluster.environ)


class Faults:
    """Beside a build: one running job is cancelled, then one node is killed with all that runs on it."""

    def __init__(self, cluster: slurm.Slurm) -> None:
        self.cluster, self.done = cluster, []

    def __call__(self, process: subprocess.Popen) -> None:
        job, node = self._running(process)
        self.cluster.cancel(job)
        self.done.append(f"job {job} cancelled on {node}")
        job, node = self._running(process, but={job})
        killed = self.cluster.lose(node)
        self.done.append(f"{node} killed with {killed} processes while job {job} ran on it")
        self.cluster.again(job)

    def _running(
        self, process: subprocess.Popen, but=frozenset(), working: float = 4
    ) -> tuple[str, str]:
        """A job that has run for some seconds, and where."""
        since: dict[tuple[str, str], float] = {}
        end = time.monotonic() + LIMIT
        while process.poll() is None and (now := time.monotonic()) < end:
            since = {
                job: since.get(job, now) for job in self.cluster.running() if job[0] not in but
            }
            old = [job for job, begun in since.items() if now - begun > working]
            if old:
                return old[0]
            time.sleep(0.3)
        raise RuntimeError(
            f"the build ended, or did nothing, before all was broken: {'; '.join(self.done) or 'nothing yet'}"
        )


def content(path: Path) -> bytes:
    """What is compared: the bytes, but for a notebook's facts of its own run and the random names of its cells."""
    if path.suffix != ".ipynb":
        return path.read_bytes()
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        del cell["id"]  # drawn when the notebook is made from its text
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs(cell)
    for holder in (notebook, *notebook["cells"]):
        for name in OF_THE_RUN:
            holder["metadata"].pop(name, None)
    return json.dumps(notebook, sort_keys=True).encode()


def results(folder: Path) -> dict[str, bytes]:
    """All results in a folder, by name: cache, tables and notebooks."""
    paths = [
        *folder.glob("cache/**/*"),
        *folder.glob("_build/results/*"),
        *folder.glob("_build/notebooks/*"),
    ]
    return {str(path.relative_to(folder)): content(path) for path in paths if path.is_file()}


def compare(expected: Path, folder: Path) -> int:
    """The number of files, all equal.

    Raises
    ------
    RuntimeError
        Names the files that differ, or that only one has.
    """
    a, b = results(expected), results(folder)
    missing = sorted(a.keys() ^ b.keys())
    different = sorted(name for name in a.keys() & b.keys() if a[name] != b[name])
    if missing or different or not a:
        differences = f"differ {different}; only in one {missing}; {len(a)} files"
        raise RuntimeError(f"{expected.name} and {folder.name}: {differences}")
    return len(a)


def main() -> int:
    obstacle = slurm.installed() or plugin()
    if obstacle:
        print(f"cluster test skipped: {obstacle}")
        return 0
    local, broken = copy("local"), copy("broken")
    print(f"on this machine: {build(local, '--cores', '2'):.0f} s", flush=True)
    # The name of a socket has at most 107 bytes: not below this folder, wherever it lies.
    with (
        tempfile.TemporaryDirectory(prefix="slurm.") as short,
        slurm.Slurm(Path(short), nodes=NODES) as cluster,
    ):
        faults = Faults(cluster)
        took = on(cluster, broken, during=faults)
        print("; ".join(faults.done))
        restarted = (broken / "snakemake.log").read_text().count("Trying to restart job")
        if restarted > len(faults.done):
            raise RuntimeError(
                f"{restarted} jobs failed, more than the {len(faults.done)} that were disturbed"
            )
        print(f"on {NODES} nodes: {took:.0f} s, {compare(local, broken)} files equal")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that daemons and files go then too
    shutil.rmtree(HERE, ignore_errors=True)
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"cluster test failed: {error}")
    finally:
        shutil.rmtree(HERE, ignore_errors=True)
