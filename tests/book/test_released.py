"""Fetching and reading the released accuracies: made-up files on a local server, and the real ones where present."""

import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from refusal import refuses

from fslbook import released
from fslcore import download
from fslcore.cli import app
from fslcore.evaluation import RESULT_COLUMNS, write_table
from fslcore.fetch import RESULTS_LIST, fetch_results
from fslcore.report import Results
from tests.rehearsal import served

LEARNERS = ("LR", "finetune", "matchingnet")
NAMES = [
    f"{s}-shot/{b}/{m}/vgg_flower.pt" for s in (1, 5) for b in ("clip", "dino") for m in LEARNERS
]


def put(folder, names, tasks=7):
    rng = np.random.default_rng(0)
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        torch.save(
            torch.tensor(rng.integers(0, 26, tasks) * 4.0, dtype=torch.float32), folder / name
        )


@pytest.fixture
def copy(tmp_path):
    """A folder in the authors' layout, and the registry of its files."""
    put(tmp_path / "copy", NAMES)
    lines = [
        f"{name} sha256:{hashlib.sha256((tmp_path / 'copy' / name).read_bytes()).hexdigest()}"
        for name in NAMES
    ]
    (tmp_path / "registry.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "copy", tmp_path / "registry.txt"


@pytest.fixture
def server(copy):
    server = served.start()
    server.files = {f"/{name}": (copy[0] / name).read_bytes() for name in NAMES}
    yield f"{server.url}/"
    server.shutdown()
    server.server_close()


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_fetch_into_the_cache_where_read_finds_it(copy, server):
    folder, registry = copy
    assert released.read(registry=registry) is None
    got = fetch_results(url=server, registry=registry)
    assert files(got) == sorted(NAMES)
    table = released.read(registry=registry)
    assert table.equals(released.read(str(folder), registry=registry))
    assert len(table) == 7 * len(NAMES)
    # what is there is not fetched again: it works without the server
    assert fetch_results(url="http://127.0.0.1:9/", registry=registry) == got
    changed = got / NAMES[3]
    changed.write_bytes(b"other")
    with refuses(r"oops-benchmark: .* has sha256 .* \(listed by registry.txt\); it was rem"):
        fetch_results(url=server, registry=registry)
    assert fetch_results(url=server, registry=registry) == got and changed.read_bytes() != b"other"


def test_without_a_network_the_command_names_the_file_and_leaves_nothing(
    tmp_path, capsys, monkeypatch
):
    nowhere = {**fetch_results.__kwdefaults__, "url": "http://127.0.0.1:9/"}
    monkeypatch.setattr(fetch_results, "__kwdefaults__", nowhere)
    monkeypatch.setattr(download, "WAITS", ())
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "to"))
    assert app.main(["fetch", "oops-benchmark"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(
        "fslcore: oops-benchmark: http://127.0.0.1:9/1-shot/clip/LR/aircraft.pt: "
    )
    assert files(tmp_path / "to") == []


def test_the_table_is_the_projects_own_format(copy, tmp_path):
    folder, registry = copy
    table = released.read(str(folder), registry=registry)
    assert list(table) == list(RESULT_COLUMNS)
    write_table(table, tmp_path / "t.parquet")
    results = Results.read(tmp_path / "t.parquet", out_of=100).methods
    means = table.groupby(["shots", "backbone", "learner"])["accuracy"].mean()
    assert np.sort(results["mean"]) == pytest.approx(np.sort(means))
    assert set(results["method"]) == {
        f"{b} {m}" for b in ("clip", "dino") for m in ("lr", "ft", "matchingnet")
    }
    assert set(table["learner"]) == {"lr", "ft", "matchingnet"} and set(table["dataset"]) == {
        "vgg-flower"
    }
    assert set(zip(table["shots"], table["queries"])) == {(1, 1), (5, 5)}
    method = table[
        (table["shots"] == 5) & (table["backbone"] == "dino") & (table["learner"] == "ft")
    ]
    assert (
        method["accuracy"].tolist()
        == torch.load(folder / "5-shot/dino/finetune/vgg_flower.pt").tolist()
    )
    assert method["task"].tolist() == list(range(7))


def test_a_clone_of_the_repository_and_a_part_of_the_files(copy, tmp_path):
    folder, registry = copy
    complete = released.read(str(folder), registry=registry)
    (tmp_path / "clone" / "results").mkdir(parents=True)
    folder.rename(tmp_path / "clone" / "results" / "benchmark")
    clone = str(tmp_path / "clone")
    assert released.read(clone, registry=registry).equals(complete)
    for name in NAMES[:6]:
        (Path(clone) / "results" / "benchmark" / name).unlink()
    assert set(released.read(clone, registry=registry)["shots"]) == {5}


@pytest.mark.parametrize(
    "content, message",
    [
        (torch.zeros(7, 1), "one floating-point number per task"),
        (torch.zeros(1), "at least 2 tasks"),
        (torch.tensor([1.0] * 6 + [float("nan")]), "released .*0 to 100.*got nan"),
        (torch.linspace(0, 1, 7), "released .*percent, got shares, up to 1"),
        (torch.zeros(6), "holds 6 tasks, .*LR/vgg_flower.pt 7; methods share their tasks"),
        (threading.Event, "cannot be read as a tensor"),  # code in a pickle is not run
        (b"", "cannot be read as a tensor"),
    ],
)
def test_a_bad_file_is_named(copy, content, message):
    folder, registry = copy
    path = folder / NAMES[1]
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    with refuses(message) as error:
        released.read(str(folder), registry=registry)
    assert str(path) in str(error.value)


def test_the_registry_names_all_324_files():
    lines = [line.split() for line in RESULTS_LIST.read_text().splitlines()]
    assert len({name for name, _ in lines}) == 324
    shots, backbones, learners, _ = map(set, zip(*(Path(name).parts for name, _ in lines)))
    assert (len(shots), len(backbones), learners) == (3, 3, set(released.LEARNERS))
    assert {int(s.removesuffix("-shot")) for s in shots} == set(released.QUERIES)
