"""What waits for a GPU, in one call that ends in time: speeds, fine-tuning, the SGD layer of Baseline, and ResNet-12.

    python benchmarks/on_gpu.py -o FOLDER              # pieces that FOLDER lacks, for 9 minutes at most
    python benchmarks/on_gpu.py -o FOLDER --minutes 4  # the same in less time; call it again for the rest
    python benchmarks/on_gpu.py -o FOLDER --quick      # tiny counts, to see on a CPU that all of it runs

Each piece is a process with its own time limit, and leaves a file in FOLDER when it is done. ``pieces.json``
there says of each what ran, on which machine, for how long, and how it ended. A piece that was stopped runs
again in the next call; a training goes on from its last epoch.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import torch

from fslcore import __version__
from fslcore.paths import replace_file

ROOT = Path(__file__).resolve().parents[1]
# As in 'Closed and open intervals', whose fine-tuning on a CPU has 100 closed tasks per data set; the papers have 600.
DATASETS = ("clipart", "glyphs/hebrew", "fashion", "glyphs/cyrillic", "glyphs/latin")
BACKBONES = ("efficientnet-lite0", "glyph-conv")
ESTIMATED = ("coloured", "fashion", "clipart")  # as in 'Asking the support set'
TASKS = 600
RESNET_EPOCHS = 20
QUICK_LIMITS = 5  # times as long, since a CPU is slow


@dataclass(frozen=True)
class Piece:
    """Its name, the file that it leaves, its command, its time limit in seconds, and the piece that it needs."""

    name: str
    file: Path
    command: list[str] = field(repr=False)
    seconds: int
    needs: Path | None = None


def pieces(folder: Path, quick: bool) -> list[Piece]:
    """All pieces, those that decide most first."""
    tasks = "4" if quick else str(TASKS)
    fslcore = [sys.executable, "-m", "fslcore", "evaluate"]
    speed = [sys.executable, "benchmarks/gpu.py", *(["--quick"] if quick else [])]
    out = [Piece("speed", folder / "gpu.json", [*speed, "-o", str(folder / "gpu.json")], 150)]
    for name in ESTIMATED[:1] if quick else ESTIMATED:
        file = folder / f"estimators.{name}.linear-sgd.parquet"
        command = [
            sys.executable,
            __file__,
            "--estimators",
            name,
            "--tasks",
            tasks,
            "-o",
            str(file),
        ]
        out.append(Piece(f"linear-sgd on {name}", file, command, 60))
    for dataset in DATASETS[:1] if quick else DATASETS:
        for backbone in BACKBONES[1:] if quick else BACKBONES:
            file = folder / f"{dataset.replace('/', '-')}.{backbone}.ft.closed.parquet"
            options = [
                "--learners",
                "ft",
                "--samplings",
                "closed",
                "--tasks",
                tasks,
                "-o",
                str(file),
            ]
            command = [*fslcore, dataset, backbone, *options]
            out.append(Piece(f"fine-tuning of {backbone} on {dataset}", file, command, 60))
    weights = folder / "resnet12-icons-baseline.safetensors"
    images, network, epochs = (
        ("clipart", "conv4-32", 1) if quick else ("icons", "resnet12", RESNET_EPOCHS)
    )
    train = [sys.executable, "-m", "fslbook", "train", "baseline", "--network", network]
    train += ["--dataset", images, "--epochs", str(epochs), "-o", str(weights)]
    out.append(Piece("training of ResNet-12 on icons", weights, train, 300))
    file = folder / "icons.resnet12-icons-baseline.parquet"
    tested = [*fslcore, images, f"conv4-baseline:{weights}", "--learners", "lr-raw", "ncc"]
    tested += ["--samplings", "closed", "--tasks", tasks, "-o", str(file)]
    out.append(Piece("test of ResNet-12 on icons", file, tested, 60, needs=weights))
    return out


def machine() -> dict[str, str | int | None]:
    """What the figures depend on besides the code."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    cpu = platform.processor() or platform.machine()
    versions = {
        "fslcore": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    return {"gpu": gpu, "cuda": torch.version.cuda, "cpu": cpu, "cores": os.cpu_count(), **versions}


def estimators(dataset: str, tasks: int, output: Path) -> None:
    """Baseline's network with the SGD layer on a data set: the oracle and every estimator, a row per task."""
    from fslbook.evaluators import estimates

    table = estimates.collect(
        [dataset], ["conv4-baseline linear-sgd"], **estimates.SHAPE | {"tasks": tasks}
    )
    replace_file(output, lambda part: table.to_parquet(part, index=False))


def run(piece: Piece, seconds: float) -> dict[str, object]:
    """Run a piece for so long at most; how it ended."""
    start = time.perf_counter()
    try:
        code = subprocess.run(piece.command, cwd=ROOT, timeout=seconds, check=False).returncode
        ended = "done" if code == 0 and piece.file.is_file() else f"failed with exit code {code}"
    except subprocess.TimeoutExpired:
        ended = f"stopped after {seconds:.0f} s"
    command = " ".join(["python", *piece.command[1:]])
    return {"ended": ended, "seconds": round(time.perf_counter() - start, 1), "command": command}


def run_all(folder: Path, quick: bool, minutes: float) -> bool:
    """Run what the folder lacks; whether all of it is there in the end."""
    report = folder / "pieces.json"
    ended = json.loads(report.read_text("utf-8")) if report.is_file() else {}
    deadline = time.monotonic() + 60 * minutes
    todo = pieces(folder, quick)
    for piece in todo:
        left = deadline - time.monotonic()
        if ended.get(piece.name, {}).get("ended") == "done" and piece.file.is_file():
            continue
        if left < 10 or (piece.needs and ended_name(todo, piece.needs, ended) != "done"):
            print(f"{piece.name}: left for the next call", flush=True)
            continue
        print(piece.name, flush=True)
        limit = piece.seconds * (QUICK_LIMITS if quick else 1)
        of_piece = run(piece, min(limit, left))
        ended[piece.name] = of_piece | {
            "quick": quick,
            "date": date.today().isoformat(),
            "machine": machine(),
        }
        text = json.dumps(ended, indent=1) + "\n"
        replace_file(report, lambda part, text=text: part.write_text(text, "utf-8"))
        print(f"{piece.name}: {of_piece['ended']}, {of_piece['seconds']} s", flush=True)
    return all(ended.get(piece.name, {}).get("ended") == "done" for piece in todo)


def ended_name(todo: list[Piece], file: Path, ended: dict) -> str:
    """How the piece ended that leaves this file."""
    name = next(piece.name for piece in todo if piece.file == file)
    return ended.get(name, {}).get("ended", "not run")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the records")
    parser.add_argument("--minutes", type=float, default=9, help="of all pieces together (9)")
    parser.add_argument("--quick", action="store_true", help="tiny counts, also without a GPU")
    parser.add_argument("--estimators", metavar="DATASET", help=argparse.SUPPRESS)
    parser.add_argument("--tasks", type=int, default=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.estimators:
        return estimators(options.estimators, options.tasks, options.output)
    if not options.quick and not torch.cuda.is_available():
        parser.error("no GPU was found; --quick runs tiny counts without one")
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    sys.exit(0 if run_all(folder, options.quick, options.minutes) else 1)


if __name__ == "__main__":
    main()
