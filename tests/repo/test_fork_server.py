"""Jobs of a build that start as copies of one process (book/fork_server.py) run as by themselves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fork_server  # book/fork_server.py
import pytest
from running import captured

SCRIPT = Path(fork_server.__file__)
JOB = f"{sys.executable} {SCRIPT} -m"
SHOWN = (
    "import os, sys; "
    "print(sys.argv[1:], os.getcwd(), os.environ['COLOUR'], sys.stdin.read(), 'torch' in sys.modules)"
)
LASTING = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def build(folder, command, **options):
    """A build whose only job is this command of a shell, in a folder with two modules."""
    (folder / "shown.py").write_text(f"{SHOWN}\nsys.exit(int(sys.argv[1]))")
    (folder / "lasting.py").write_text(LASTING)
    arguments = [sys.executable, str(SCRIPT), "sh", "-c", command]
    environment = os.environ | {"COLOUR": "green"}
    return subprocess.Popen(
        arguments, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, **options
    )


@pytest.mark.slow
def test_a_copy_has_the_jobs_arguments_folder_variables_files_and_status(tmp_path):
    (tmp_path / "inside").mkdir()
    command = f"cd inside; echo words | COLOUR=red PYTHONPATH= {JOB} shown 3; echo status $?"
    (tmp_path / "inside" / "shown.py").symlink_to(tmp_path / "shown.py")
    printed, _ = build(tmp_path, command).communicate(timeout=100)
    assert printed.splitlines() == [f"['3'] {tmp_path / 'inside'} red words", " True", "status 3"]


def is_running(process):
    return (
        Path(f"/proc/{process}/stat").exists()
        and " Z " not in Path(f"/proc/{process}/stat").read_text()
    )


@pytest.mark.slow
@pytest.mark.parametrize("stopped", ["the job", "the copy"])
def test_a_job_and_its_copy_end_together(tmp_path, stopped):
    started = build(tmp_path, f"{JOB} lasting & echo $!; wait $!; echo status $?")
    job, copy = (int(started.stdout.readline()) for _ in range(2))
    os.kill(job if stopped == "the job" else copy, signal.SIGKILL)
    assert started.stdout.readline() == "status 137\n"
    end = time.monotonic() + 20
    while is_running(copy) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(copy)


def test_a_job_without_a_process_to_copy_runs_by_itself(tmp_path, monkeypatch):
    monkeypatch.delenv(fork_server.ADDRESS, raising=False)
    (tmp_path / "shown.py").write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    done = captured([sys.executable, SCRIPT, "-m", "shown", "a"], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "['a']\n")
