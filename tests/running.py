"""Commands that tests run in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def captured(command, **options):
    """What a command printed and how it ended, when it has ended."""
    return subprocess.run(command, text=True, capture_output=True, **options)


def run_code(code, *arguments, **options):
    """What Python printed that ran these lines."""
    return captured([sys.executable, "-c", code, *arguments], **options)


@contextmanager
def forked_commands(checkout: Path, programs: Path) -> Iterator[dict[str, str]]:
    """Variables by which ``fslcore`` and ``fslbook`` of a checkout start as the jobs of its build do.

    That is as copies of one process, which has imported torch once for all of them (``book/fork_server.py``). The
    two programs are written into the folder `programs`.
    """
    script = checkout / "book" / "fork_server.py"
    programs.mkdir()
    for name in ("fslcore", "fslbook"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" -m {name} "$@"\n')
        program.chmod(0o755)
    path = os.pathsep.join([str(programs), f"{sys.exec_prefix}/bin", os.environ["PATH"]])
    variables = {"PATH": path, "PYTHONPATH": f"{checkout}{os.pathsep}{checkout}/book"}
    command = [
        sys.executable,
        str(script),
        "sh",
        "-c",
        'echo "$FSLBOOK_WARM"; echo "$JUPYTER_PATH"; read end',
    ]
    server = subprocess.Popen(
        command,
        cwd=checkout,
        env=os.environ | variables,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    names = ("FSLBOOK_WARM", "JUPYTER_PATH")
    printed = {name: server.stdout.readline().strip() for name in names}
    try:  # where there is no such process, as outside Linux, commands start as ever
        yield variables | {name: value for name, value in printed.items() if value}
    finally:
        server.communicate("\n")
