"""Bad and odd input on all that a user touches: what comes of it, counted.

    python benchmarks/misuse.py [--only AREA ...] [--json FILE] [--list] [--case TEXT]

Each case makes its input in a folder of its own and hands it to the project, mostly inside one process.

*named*: refused, in one line that names what is wrong. *right*: taken, and the result is checked. *warned*: taken
with a word on it. *lacking*: an option or a text that one expects is not there. *misnamed*: refused in words that lack
the value at fault, or though it was good. *silent*: taken without a word though it misleads. *traceback*: any other
exception. *hang*: no end within the time limit. The cases lie in the folder ``misuse`` beside this file. The exit code
is 1 where a case is none of the first three.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", HF_HUB_OFFLINE="1", TQDM_MININTERVAL="0")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from misuse import common

AREAS = {
    "report files": "report",
    "evaluate/features": "features",
    "evaluate/images": "images",
    "assess": "assess",
    "train": "train",
    "run/profile": "run",
    "caption/attributes": "caption",
    "fetch": "fetch",
    "list/help": "words",
    "stats functions": "stats",
    "tasks/samplers": "tasks",
    "results functions": "results",
}
KINDS = (*common.GOOD, *common.BAD)
MEMORY = 12 * 2**30  # bytes a process may ask for: what asks for more gets a MemoryError, not the machine


def cases(only: list[str] | None = None) -> list[common.Case]:
    """All cases, or those of some areas (by name or by module)."""
    wanted = [a for a in AREAS if not only or any(o in (a, AREAS[a]) for o in only)]
    found = [case for area in wanted for case in importlib.import_module(f"misuse.{AREAS[area]}").CASES]
    names = Counter((c.area, c.name) for c in found)
    assert max(names.values()) == 1, [n for n, k in names.items() if k > 1]
    return found


def worker() -> None:
    """Run the cases whose numbers come in, a line each, and answer with a line of JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers, found = os.fdopen(os.dup(1), "w"), cases()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # libraries that write past sys.stdout
    os.dup2(nothing, 2)
    for line in sys.stdin:
        start = time.perf_counter()
        with common.folder():
            outcome = common.judge(found[int(line)])
        print(json.dumps([*outcome, time.perf_counter() - start]), file=answers, flush=True)


class Workers:
    """One process after another: a new one where a case ended the last or did not end."""

    def __init__(self):
        self.process = None

    def run(self, number: int, limit: float) -> tuple[str, str, float]:
        """Outcome, what was seen, and seconds of a case."""
        if self.process is None:
            here = [sys.executable, str(Path(__file__).resolve()), "--worker"]
            self.process = subprocess.Popen(here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], limit + 30)
        if ready and (line := self.process.stdout.readline()):
            return tuple(json.loads(line))
        if not ready:
            self.process.kill()
        code, self.process = self.process.wait(), None
        if ready:
            return "traceback", f"the process died ({code})", 0.0
        return "hang", f"no end in {limit:.0f} s", limit

    def close(self) -> None:
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def table(found: list[dict]) -> str:
    """Counts by area and outcome, and in all."""
    lines = [f"{'':<20}{'tried':>7}" + "".join(f"{k:>11}" for k in KINDS)]
    for area in [*dict.fromkeys(f["area"] for f in found), "in all"]:
        of_area = [f for f in found if area in (f["area"], "in all")]
        counts = Counter(f["outcome"] for f in of_area)
        lines.append(f"{area:<20}{len(of_area):>7}" + "".join(f"{counts[k]:>11}" for k in KINDS))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="AREA", help=f"of {', '.join(AREAS.values())}")
    parser.add_argument("--case", default="", help="only cases whose name holds this")
    parser.add_argument("--json", type=Path, help="every case with its outcome, as JSON")
    parser.add_argument("--list", action="store_true", help="the cases, and run none")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker()
        return 0
    wanted = {c.area for c in cases(options.only)}
    chosen = [(i, c) for i, c in enumerate(cases()) if c.area in wanted and options.case in c.name]
    if options.list:
        print(*(f"{c.area}: {c.name}" for _, c in chosen), f"{len(chosen)} cases", sep="\n")
        return 0
    found, workers, start = [], Workers(), time.perf_counter()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FSLCORE_CACHE"] = cache
        for i, case in chosen:
            outcome, seen, seconds = workers.run(i, case.limit)
            found.append(dict(area=case.area, name=case.name, outcome=outcome, seen=seen, seconds=round(seconds, 2)))
            if sys.stderr.isatty():
                print(f"\r{len(found)} of {len(chosen)}", end="", file=sys.stderr, flush=True)
        workers.close()
    wrong = [f for f in found if f["outcome"] not in common.GOOD]
    print(table(found), f"{time.perf_counter() - start:.0f} s\n", sep="\n")
    print(*(f"{f['outcome']:<9} {f['area']}: {f['name']}: {f['seen']}" for f in wrong), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
