"""Files that ship and were made of others name those by digest, in ``inputs.json`` or themselves, as records do.

Where an image, a weight or a setting is another now, the files are to be made again, by the script beside them.
"""

import hashlib
import json

import pytest
from safetensors import safe_open

from fslcore import datasets, evaluation, stats
from fslcore.paths import DATA
from tests.checkout import build_script

MADE = ("episodes", "coverage")


@pytest.mark.parametrize("folder", MADE)
def test_files_are_those_that_were_bound(folder):
    noted = json.loads((DATA / folder / "inputs.json").read_text())["files"]
    files_there = (DATA / folder).rglob("*.parquet")
    assert noted == {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files_there}


@pytest.mark.parametrize("folder", MADE)
def test_what_files_were_made_of_is_what_is_there(folder):
    noted = json.loads((DATA / folder / "inputs.json").read_text())["inputs"]
    now = json.loads(json.dumps(build_script(folder).inputs()))
    for name in sorted({*noted, *now}):
        assert noted.get(name) == now.get(name), (
            f"{name} changed: make data/{folder} again, by its build.py"
        )


def test_networks_were_trained_on_the_images_that_are_there():
    loaded, files = {}, [*(DATA / "checkpoints").rglob("*.safetensors")]
    assert len(files) > 50
    for path in files:
        with safe_open(path, "pt") as file:
            training = json.loads(file.metadata()["training"])
        dataset = training["recipe"]["dataset"]
        if dataset not in loaded:
            loaded[dataset] = {
                s: datasets.load(dataset, split=s).digest for s in ("base", "validation")
            }
        assert training["data"] == loaded[dataset], (
            f"{path.name}: {dataset} is not what it was trained on; train it again"
        )


@pytest.mark.slow
def test_the_card_of_the_networks_is_of_the_images_that_are_there():
    card = (DATA / "checkpoints" / "README.md").read_text()
    row = next(
        line for line in card.splitlines() if line.startswith("| `conv4-icons-rfs.safetensors`")
    )
    printed = dict(zip(("icons", "clipart"), row.strip("| ").split("|")[-2:]))
    for dataset, cell in printed.items():
        mean, half = map(float, cell.split("±"))
        result = evaluation.evaluate_setting(dataset, "conv4-icons-rfs", "lr", tasks=600)
        interval = stats.closed_task_interval(result.accuracy)
        assert interval.estimate == pytest.approx(mean, abs=0.15), dataset
        assert interval.half_width == pytest.approx(half, abs=0.06), dataset
