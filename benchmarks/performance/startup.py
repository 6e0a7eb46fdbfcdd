"""Processor time of commands on a small input, against the imports that they cannot do without."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

__all__ = ["startup"]

# Command: its arguments, and the packages from elsewhere that its work needs.
COMMANDS = {
    "report": (
        "r.csv -o r.html --quiet",
        "pandas, scipy.stats, matplotlib.backends.backend_svg, jinja2",
    ),
    "compare": ("71.2±0.4 70.5±0.5 --tasks 600", "numpy, scipy.stats"),
    "list": ("", "numpy, yaml"),
}


def startup(quick: bool, repeats: int) -> list[dict]:
    """Seconds of each command and of a bare import of what it needs, each in processes of its own."""
    rows = []
    with TemporaryDirectory() as folder:
        tasks = "".join(
            f"{task},0.{50 + task * 7 % 31},0.{45 + task * 5 % 37}\n" for task in range(30)
        )
        Path(folder, "r.csv").write_text(f"task,ours,base\n{tasks}")
        for name, (arguments, packages) in COMMANDS.items():
            command = [sys.executable, "-m", "fslcore", name, *arguments.split()]
            imports = [sys.executable, "-c", f"import {packages}"]
            pairs = []
            for _ in range(1 if quick else repeats):  # in turn, so that what else runs slows both
                pairs.append((processor_time(command, folder), processor_time(imports, folder)))
            seconds, of_imports = map(median, zip(*pairs, strict=True))
            row = {"what": f"fslcore {name}", "against": f"import {packages}"}
            rows.append(
                row | {"seconds": seconds, "imports": of_imports, "ratio": seconds / of_imports}
            )
    return rows


def processor_time(command: list[str], folder: str) -> float:
    """Seconds that a process and those that it begins compute."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
