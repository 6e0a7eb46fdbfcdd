"""How fast, against what, and what limits it: measured here, printed and stored for the book's chapter on performance.

    python benchmarks/bench.py [--threads 1] [--only learners limits] [--output FILE.json] [--quick]

Each piece runs in a process of its own. Both sides of a ratio run in turn, several times, with the same number of
threads; the figures are medians. With one thread all is processor time, as the build's jobs run; with more, small
problems of scikit-learn take several times as long. Growth, and the rates of `fslbook plan`, are always those of
one thread. Use a quiet machine: what else runs on it slows the batched side more. Each piece is stored when
it is measured, with its date, threads, versions, and the load before and after; those that are not run stay as they
are. The times of a build's jobs are read from the last one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORED = HERE.parent / "data" / "performance"
#: Piece: the list of the stored file that its rows go to, where its function is, and its number of threads if fixed.
PIECES = {
    "learners": ("ratios", "learners.few_ways", None),
    "ways": ("ratios", "learners.many_ways", None),
    "rounds": ("ratios", "learners.rounds", None),
    "fine-tuning": ("ratios", "learners.fine_tuning", None),
    "samplers": ("ratios", "drawing.samplers", None),
    "biased": ("ratios", "drawing.biased", None),
    "report": ("ratios", "statistics.report", None),
    "resampling": ("ratios", "statistics.resampling", None),
    "startup": ("startup", "startup.startup", 1),
    "networks": ("ratios", "features.folded", None),
    "photos": ("ratios", "features.photos", None),
    "limits": ("limits", "limits.learners", None),
    "operations": ("limits", "limits.features", None),
    "growth": ("growth", "growth.growth", 1),
    "features": ("rates", "rates.features", 1),
    "fast": ("rates", "rates.fast_learners", 1),
    "slow": ("rates", "rates.slow_learners", 1),
    "build": ("rates", "rates.build", 1),
    "quickdraw": ("scale", "drawing.quickdraw", 1),
    **{f"million-{n}": ("scale", f"million.{n}", 1) for n in (10_000, 100_000, 1_000_000)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="(1)")
    parser.add_argument("--repeats", type=int, default=5, help="(5)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, once: whether all of it runs"
    )
    parser.add_argument(
        "--only", nargs="+", choices=PIECES, metavar="PIECE", help=f"of {', '.join(PIECES)}"
    )
    parser.add_argument(
        "--built",
        type=Path,
        default=HERE.parent,
        help="checkout whose last build is read (this one)",
    )
    parser.add_argument("-o", "--output", type=Path, help="(data/performance/MACHINE.json)")
    parser.add_argument("--piece", choices=PIECES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.piece:
        rows = run_piece(options.piece, options)
        print(json.dumps(rows))
        return
    from performance.common import conditions, machine

    facts = machine()
    output = options.output or STORED / f"{slug(facts)}.json"
    print(f"{facts['cpu']}, {facts['cores']} cores, {options.threads} threads")
    for name in options.only or PIECES:
        kind, _, threads = PIECES[name]
        start, before = time.perf_counter(), os.getloadavg()[0]
        rows = in_process(name, options)
        if not rows:  # no build was there to read: the one that was read before still tells
            continue
        load = (
            [None, None] if name == "build" else [before, os.getloadavg()[0]]
        )  # a build is read, not measured
        under = conditions(threads or options.threads, options.quick) | {"load": load}
        pieces = json.loads(output.read_text()).get("pieces", {}) if output.is_file() else {}
        pieces[name] = {"of": kind, **under, "rows": rows}
        # After each piece, so that a stop loses one.
        write(
            output,
            facts | {"pieces": {piece: pieces[piece] for piece in PIECES if piece in pieces}},
        )
        print(
            f"{name} ({time.perf_counter() - start:.0f} s)", *map(line, rows), sep="\n", flush=True
        )
    print(output)


def in_process(name: str, options: argparse.Namespace) -> list[dict]:
    """The rows of a piece, measured in a process of its own, whose cache is empty and is thrown away."""
    threads = PIECES[name][2] or options.threads
    with tempfile.TemporaryDirectory() as cache:
        variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        environment = (
            os.environ
            | {v: str(threads) for v in variables}
            | {"FSLCORE_CACHE": cache, "PYTHONWARNINGS": "ignore"}
        )
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        )
        command = [sys.executable, __file__, "--piece", name, "--threads", str(threads)]
        command += [
            "--repeats",
            str(options.repeats),
            "--built",
            str(options.built),
            *["--quick"] * options.quick,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        sys.exit(f"bench: {name} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def run_piece(name: str, options: argparse.Namespace) -> list[dict]:
    """The rows of a piece, measured in this process."""
    import warnings

    import torch

    warnings.filterwarnings("ignore", category=FutureWarning)
    torch.set_num_threads(options.threads)
    module, _, function = PIECES[name][1].partition(".")
    if module == "million":
        return import_module(module).stages(int(function) // (10 if options.quick else 1))
    run = getattr(import_module(f"performance.{module}"), function)
    return run(options.built) if name == "build" else run(options.quick, options.repeats)


def slug(facts: dict) -> str:
    """Name of a machine's file: 'intel-xeon-processor-2-50ghz-2-cores'."""
    return re.sub(r"[^a-z0-9]+", "-", f"{facts['cpu']} {facts['cores']} cores".lower()).strip("-")


def line(row: dict) -> str:
    """A row as it is printed."""
    cells = {k: f"{v:,.4g}" if isinstance(v, float) else v for k, v in row.items() if v is not None}
    cells.pop("parameters", None)
    return "  " + "  ".join(f"{k} {v}" for k, v in cells.items())


def write(output: Path, measured: dict) -> None:
    from fslcore.paths import replace_file

    replace_file(
        output, lambda part: part.write_text(json.dumps(rounded(measured), indent=1) + "\n")
    )


def rounded(value):
    """Four digits of every number: more than the measurement has."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
