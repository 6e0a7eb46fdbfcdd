"""A Slurm cluster on one machine: a controller and several node daemons, in a folder of its own.

Nothing of the system is touched: no service, no accounting database, no file outside the folder. All daemons run in
the foreground as children of this process, and whatever they start stays below them (Linux's "child subreaper"), so
that `Slurm.stop` finds every process, and `Slurm.lose` takes a node away with all that ran on it.
"""

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

PROGRAMS = "munged slurmctld slurmd sbatch srun squeue scancel scontrol sinfo".split()
PACKAGES = "munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins".split()
CONF = """\
ClusterName=book
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
ReturnToService=2
MinJobAge=3600
SlurmdTimeout={timeout}
KillWait=5
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=64000\n"
)
SUBREAPER, DEATH_SIGNAL = 36, 1  # of prctl(2)


def installed() -> str:
    """Why Slurm cannot be had here, or nothing: Debian's packages are installed where they are missing."""

    def missing():
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        return [name for name in PROGRAMS if not shutil.which(name, path=path)]

    if not missing():
        return ""
    if os.name != "posix" or not shutil.which("apt-get"):
        return f"{', '.join(missing())} not found, and no apt-get to install them"
    if os.geteuid():
        return f"{', '.join(missing())} not found, and only root may install them"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with tempfile.TemporaryDirectory() as folder:
        # The packages would start services of their own, where the system allows it.
        policy = Path("/usr/sbin/policy-rc.d")
        ours = not policy.exists()
        if ours:
            policy.write_text("#!/bin/sh\nexit 101\n")
            policy.chmod(0o755)
        try:
            for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
                log = Path(folder) / "log"
                with log.open("w") as out:
                    done = subprocess.run(
                        ["apt-get", "-qq", *command], stdout=out, stderr=out, env=quiet, check=False
                    )
                if done.returncode and command[0] == "install":
                    return f"apt-get cannot install {' '.join(PACKAGES)}: {log.read_text().strip().splitlines()[-1]}"
        finally:
            if ours:
                policy.unlink()
    return f"{', '.join(missing())} still not found" if missing() else ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def of_ours() -> None:
    """In a new daemon: what it leaves behind becomes its child, and it ends with this process."""
    libc = ctypes.CDLL(None)
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    libc.prctl(DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)


class Slurm:
    """A running cluster, as a context: ``with Slurm(folder) as cluster``.

    Parameters
    ----------
    folder : path
        Where its files go: an empty one, with a short name.
    nodes : int
        Node daemons, of one core each: ``n1``, ``n2`` and so on.
    timeout : int
        Seconds after which a silent node counts as lost.
    """

    def __init__(self, folder: Path, nodes: int = 2, timeout: int = 6) -> None:
        self.folder = Path(folder).resolve()
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.timeout = timeout
        self.environ = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.environ["PATH"] = os.pathsep.join(
            [str(self.folder / "bin"), os.environ["PATH"], "/usr/sbin", "/sbin"]
        )
        self.daemons: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> "Slurm":
        with ExitStack() as undo:
            undo.callback(self.stop)
            self.start()
            undo.pop_all()
        return self

    def __exit__(self, *error) -> None:
        self.stop()

    def start(self) -> None:
        """Start all daemons, and wait until the nodes take jobs.

        Raises
        ------
        RuntimeError
            A daemon ended, or the nodes do not come up within a minute; with the end of its log.
        """
        for name in ("state", *(f"spool.{node}" for node in self.nodes)):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)  # munge wants no folder that others may write to
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(1024))
        host = socket.gethostname().split(".")[0]
        user = psutil.Process().username()
        text = CONF.format(
            folder=self.folder, host=host, user=user, port=free_port(), timeout=self.timeout
        )
        nodes = "".join(NODE.format(name=name, host=host, port=free_port()) for name in self.nodes)
        (self.folder / "slurm.conf").write_text(nodes + text)
        files = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        options = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        # Snakemake's executor drops SLURM_CONF before srun, which then looks in /etc, where this cluster has nothing.
        srun = self.folder / "bin" / "srun"
        srun.parent.mkdir()
        srun.write_text(
            f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"\n'
        )
        srun.chmod(0o755)
        self._start("munged", "munged", "--foreground", "--num-threads=2", *options)
        self._wait(lambda: (self.folder / "munge.socket").exists())
        self._start("slurmctld", "slurmctld", "-D", "-c")
        for node in self.nodes:
            self._start(node, "slurmd", "-D", "-N", node)
        self._wait(lambda: self.states() == dict.fromkeys(self.nodes, "idle"))

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("w") as out:
            self.daemons[name] = subprocess.Popen(
                command, env=self.environ, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=of_ours, start_new_session=True,
            )  # fmt: skip

    def _wait(self, ready, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not ready():
            dead = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                name = dead[0] if dead else "slurmctld"
                lines = (
                    (self.folder / f"{name}.out")
                    .read_text(errors="replace")
                    .strip()
                    .splitlines()[-5:]
                )
                raise RuntimeError(
                    f"{name} {'ended' if dead else 'is not ready'}: {' | '.join(lines)}"
                )
            time.sleep(0.2)

    def ask(self, *command: str) -> list[list[str]]:
        """What a command of Slurm prints: a list a line."""
        done = subprocess.run(
            command, env=self.environ, text=True, capture_output=True, check=False
        )
        return [line.split() for line in done.stdout.splitlines()]

    def states(self) -> dict[str, str]:
        """The state of each node."""
        return {name: state.rstrip("*") for name, state in self.ask("sinfo", "-hN", "-o", "%N %T")}

    def running(self) -> list[tuple[str, str]]:
        """Jobs that run: number and node."""
        return [(job, node) for job, node in self.ask("squeue", "-h", "-t", "R", "-o", "%i %N")]

    def cancel(self, job: str) -> None:
        """End a job, as a user or an administrator would."""
        self.ask("scancel", job)

    def again(self, job: str) -> None:
        """Start a job at once whose node was lost: Slurm notices it by itself, and then waits for two minutes."""
        self._wait(lambda: self.ask("squeue", "-h", "-j", job, "-o", "%T") == [["PENDING"]], 120)
        self.ask("scontrol", "update", f"JobId={job}", "StartTime=now")

    def lose(self, node: str) -> int:
        """A node goes, and all that runs on it, without a word to anybody. Returns the number of its processes."""
        return kill(self.daemons.pop(node).pid)

    def stop(self) -> None:
        """End every process."""
        for daemon in self.daemons.values():
            kill(daemon.pid)
        for daemon in self.daemons.values():
            daemon.wait()
        self.daemons.clear()


def kill(pid: int) -> int:
    """Kill a process and all below it, from the top, until none is left; the number of those that were killed."""
    killed: set[psutil.Process] = set()
    with suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        # Stopped first, it takes in what its children leave behind, and starts nothing new meanwhile.
        top.suspend()
        while children := set(top.children(recursive=True)) - killed:
            for process in children:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            killed |= children
        top.kill()
        killed.add(top)
    return len(killed)
