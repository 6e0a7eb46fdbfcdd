"""What a GPU gains: features, learners, fine-tuning in batches and training, on it and beside it on the CPU.

    python benchmarks/gpu.py              # all pieces; again: those that are missing
    python benchmarks/gpu.py --quick      # small sizes, to see that everything runs

A piece takes less than a minute and is written to ``data/performance/gpu.json`` when it is done, so that a loan that
ends early leaves what was measured. Networks have random weights and tasks random images: speed does not depend on
them. Figures are medians of items a second, after a first run that is not counted.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from fslbook.learners import MAML
from fslbook.learners.maml import with_task_norm
from fslcore import learners, paths
from fslcore.datasets.bank import Bank
from fslcore.evaluation import evaluate
from fslcore.models.backbones import Backbone
from fslcore.models.networks import NETWORKS, import_torchvision
from fslcore.tasks import sample_closed

HALF = (0.5,) * 3
SECONDS = 20.0  # after which a piece is not repeated


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument(
        "-o", "--output", type=Path, default=paths.DATA / "performance" / "gpu.json"
    )
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.is_file() else {"pieces": {}}
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    for name, unit, run in pieces(options.quick):
        for device in devices:
            key = f"{name}, {device}"
            if key in results["pieces"]:
                continue
            try:
                speed = measured(run, device, *((0, 1) if options.quick else ()))
            except torch.cuda.OutOfMemoryError as error:
                speed = None
                print(f"{key}: {str(error).splitlines()[0]}")
            results["pieces"][key] = {"unit": f"{unit}/s", "speed": speed}
            results |= {
                "date": date.today().isoformat(),
                "quick": options.quick,
                "machine": machine(),
            }
            options.output.parent.mkdir(parents=True, exist_ok=True)
            paths.replace_file(
                options.output, lambda part: part.write_text(json.dumps(results, indent=1) + "\n")
            )
            if speed is not None:
                cpu_speed = results["pieces"].get(f"{name}, cpu", {}).get("speed")
                ratio = (
                    f"{speed / cpu_speed:8.1f} times the CPU"
                    if device != "cpu" and cpu_speed
                    else ""
                )
                print(f"{key:<60}{speed:>12,.1f} {unit}/s{ratio}", flush=True)


def machine() -> dict:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"gpu": gpu, "cpu": platform.processor() or platform.machine(), "threads": torch.get_num_threads(),
            "torch": torch.__version__}  # fmt: skip


def measured(
    run: Callable[[torch.device], int], device: str, warm: int = 1, repeats: int = 3
) -> float:
    """Items a second; ``run`` does its work on a device and says how many items it did."""
    target, speeds, began = torch.device(device), [], time.perf_counter()
    for turn in range(warm + repeats):
        start = time.perf_counter()
        items = run(target)
        if target.type == "cuda":
            torch.cuda.synchronize()
        if turn >= warm:
            speeds.append(items / (time.perf_counter() - start))
        if speeds and time.perf_counter() - began > SECONDS:
            break
    return median(speeds)


def pieces(quick: bool) -> Iterator[tuple[str, str, Callable[[torch.device], int]]]:
    """Name, unit and work of each piece."""
    rng = np.random.default_rng(0)
    few = 2 if quick else 256
    side, pixels = (32, 32) if quick else (224, 224)
    photos = rng.integers(0, 256, (few, pixels, pixels, 3), np.uint8)
    for name in ("tf_efficientnet_lite0", "vit_small_patch16_224"):
        yield f"features of {name}", "images", features_of(name, photos, side)

    x = torch.from_numpy(rng.random((64 * 150, 512), np.float32))
    bank = Bank(x, np.arange(64).repeat(150), "")
    for ways in (5, 20, 50):
        tasks = sample_closed(
            bank.labels, tasks=2 if quick else 2048 if ways == 5 else 256, ways=ways
        )
        for name in ("ncc", "lr"):
            yield f"{name}, {ways} ways", "tasks", evaluated(learners.make(name), bank, tasks)

    side = 32
    images = rng.integers(0, 256, (20 * 20, side, side, 3), np.uint8)
    pictures = Bank(torch.from_numpy(images), np.arange(20).repeat(20), "")
    backbone = conv4("conv4-maml")
    tasks_on_images = sample_closed(
        pictures.labels, tasks=2 if quick else 32, queries=2 if quick else 15
    )
    for chunk in (1, 16):
        for name in ("ft", "maml"):
            if name == "ft" or chunk == 1:  # MAML adapts one task after the other
                learner = learners.make(
                    name, backbone, **({"epochs": 1} if quick and name == "ft" else {})
                )
                at_once = f", {chunk} at once" if name == "ft" else ""
                yield (
                    f"{name} of a Conv4{at_once}",
                    "tasks",
                    evaluated(learner, pictures, tasks_on_images, chunk),
                )
    for name in ("conv4", "resnet12"):
        yield (
            f"training of {name}",
            "images",
            training_of(name, 4 if quick else 64, 1 if quick else 5),
        )
    yield "training of conv4 by MAML", "tasks", training_by_maml(1 if quick else 4)


def features_of(name: str, photos: np.ndarray, side: int) -> Callable[[torch.device], int]:
    """As `fslcore.models.backbones.compute` does it: from images on the CPU to 16-bit features there."""
    import_torchvision()
    import timm

    size = {"img_size": side} if name.startswith("vit") else {}
    network = timm.create_model(name, num_classes=0, **size).eval()
    backbone = Backbone(
        name, "", "", network.num_features, network, HALF, HALF, side, "bicubic", name
    )

    @torch.inference_mode()
    def run(device: torch.device) -> int:
        for at in range(0, len(photos), 64):
            x = backbone.preprocess(torch.from_numpy(photos[at : at + 64]).to(device))
            network.to(device, memory_format=torch.channels_last)(x).half().cpu()
        return len(photos)

    return run


def evaluated(
    learner, bank: Bank, tasks, chunk: int | None = None
) -> Callable[[torch.device], int]:
    def run(device: torch.device) -> int:
        evaluate(learner, bank.to(device), tasks, chunk=chunk)
        return len(tasks)

    return run


def conv4(name: str) -> Backbone:
    torch.manual_seed(0)
    kind = NETWORKS["conv4"]
    return Backbone(
        name, "", "", kind.dim, kind.build().eval(), HALF, HALF, kind.side, "bilinear", "random"
    )


def training_of(name: str, batch: int, steps: int) -> Callable[[torch.device], int]:
    """Steps of AdamW on classes of random images, which start on the device as `fslbook train` keeps them."""
    torch.manual_seed(0)
    kind = NETWORKS[name]
    network, head = kind.build().train(), nn.Linear(kind.dim, 64)
    x, y = torch.rand(batch, 3, kind.side, kind.side), torch.arange(batch) % 64

    def run(device: torch.device) -> int:
        parts = nn.ModuleList(
            [network.to(device, memory_format=torch.channels_last), head.to(device)]
        )
        images, labels = x.to(device, memory_format=torch.channels_last), y.to(device)
        optimiser = torch.optim.AdamW(parts.parameters(), lr=1e-3)
        for _ in range(steps):
            optimiser.zero_grad()
            F.cross_entropy(head(network(images)), labels).backward()
            optimiser.step()
        return batch * steps

    return run


def training_by_maml(tasks: int) -> Callable[[torch.device], int]:
    """One outer step with second derivatives, 5-way 5-shot with 15 queries a class."""
    torch.manual_seed(0)
    kind, learner = NETWORKS["conv4"], MAML()
    network = with_task_norm(kind.build()).train()
    support, query = (torch.rand(tasks, n, 3, kind.side, kind.side) for n in (25, 75))
    members = F.one_hot(torch.arange(25) % 5, 5).float().expand(tasks, -1, -1)
    target = (torch.arange(75) % 5).expand(tasks, -1)

    def run(device: torch.device) -> int:
        scores = learner.on_images(
            network.to(device), *(t.to(device) for t in (support, members, query))
        )
        learner.loss(scores, target.to(device)).backward()
        return tasks

    return run


if __name__ == "__main__":
    main()
