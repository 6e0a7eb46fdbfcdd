"""``fslcore fetch`` and the released accuracies; nothing is downloaded."""

import hashlib
import pickle
from pathlib import Path

import pytest
import torch

from fslbook import released
from fslcore import download
from fslcore.fetch import fetch_results

from .judging import Trap, fill, fine, fslcore, judge, row, split

FILE = "5-shot/clip/LR/aircraft.pt"
OTHER = "5-shot/clip/NCC/aircraft.pt"
SHA = hashlib.sha256(b"x").hexdigest()
SHARES = torch.rand(60, generator=torch.Generator().manual_seed(0))


def length(n):
    return lambda done: len(done.value) == n


@pytest.mark.parametrize(
    "arguments, words",
    [
        *(row(f"what {v}", f"'{v}'", f"{v} & allowed") for v in ("oop", "", "benchmark", "oops-bench", "all")),
        row("terms that are not accepted", "oops", "aircraft & --accept-terms"),
        row("what has to be brought", "fungi --accept-terms", "fungi & has to be brought"),
        row("a data set twice", "dtd dtd", "dtd & once"),
        row("from a folder that is none", "dtd --from nowhere", "nowhere"),
        row("data where nobody may write", "dtd --accept-terms", "/proc"),
        row("nothing given", "", "what"),
        row("two", "oops-benchmark more", "more"),
    ],
)
def test_the_command(arguments, words, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", "/proc/x")
    Path("plain").touch()
    judge(lambda: fslcore("fetch", *split(arguments)), words)


@pytest.mark.parametrize(
    "registry, there, url, expected",
    [
        row("nobody answers", f"a.pt sha256:{SHA}\n", None, "http://127.0.0.1:9/", "127.0.0.1 & a.pt"),
        row("no such host", f"a.pt sha256:{SHA}\n", None, "http://nobody.invalid/", "nobody.invalid"),
        row("a file that is there and another", f"a.pt sha256:{SHA}\n", "other", "http://127.0.0.1:9/", "a.pt"),
        row("a file that is there", f"a.pt sha256:{SHA}\n", "x", "http://127.0.0.1:9/", fine),
        row("an empty list of files", "", None, "http://127.0.0.1:9/", fine),
        row("a list of files that is none", "this is no list of files\n", None, "x/", "registry.txt"),
        row("no list of files", lambda path: None, None, "x/", "registry.txt"),
    ],
)
def test_fetching(registry, there, url, expected, monkeypatch):
    """Files of this folder, by their path, in place of the network: what cannot be had there is named."""
    monkeypatch.setattr(download, "WAITS", ())
    Path("got").mkdir()
    fill("registry.txt", registry)
    if there:
        fill("got/a.pt", there)
    judge(lambda: fetch_results(Path("got"), url=url, registry=Path("registry.txt")), expected)


@pytest.mark.parametrize(
    "content, expected",
    [
        row("good", 100 * SHARES, length(60)),
        row("whole numbers", torch.arange(60), "aircraft.pt"),
        row("a table", 100 * SHARES.reshape(6, 10), "aircraft.pt"),
        row("one number", torch.tensor(0.5), "aircraft.pt"),
        row("one task", 100 * SHARES[:1], "aircraft.pt & 2"),
        row("no tasks", SHARES[:0], "aircraft.pt"),
        row("a NaN", torch.tensor([50.0, float("nan")]), "aircraft.pt & nan"),
        row("infinite", torch.tensor([50.0, float("inf")]), "aircraft.pt & inf"),
        row("negative", torch.tensor([50.0, -3.0]), "aircraft.pt & -3"),
        row("above 100", torch.tensor([50.0, 170.0]), "aircraft.pt & 170"),
        row("shares", SHARES, "aircraft.pt & share|percent"),
        row("complex", SHARES + 0j, "aircraft.pt"),
        row("truth values", SHARES > 0.5, "aircraft.pt"),
        row("a list", [1.0, 2.0], "aircraft.pt"),
        row("a dictionary", {"a": 100 * SHARES}, "aircraft.pt"),
        row("bfloat16", (100 * SHARES).bfloat16(), length(60)),
        row("with a gradient", (100 * SHARES).requires_grad_(), length(60)),
        row("empty", b"", "aircraft.pt"),
        row("noise", bytes(range(256)), "aircraft.pt"),
        row("text", b"hello\n", "aircraft.pt"),
        row("a pickle that runs a command", pickle.dumps(Trap()), "aircraft.pt"),
        row(
            "cut off", lambda path: (torch.save(SHARES, path), path.write_bytes(path.read_bytes()[:300])), "aircraft.pt"
        ),
        row("a folder", Path.mkdir, "r"),
    ],
)
def test_files(content, expected):
    path = Path("r", FILE)
    path.parent.mkdir(parents=True)
    fill(path, content if callable(content) or isinstance(content, bytes) else lambda path: torch.save(content, path))
    judge(lambda: released.read("r"), expected)


@pytest.mark.parametrize(
    "made, expected",
    [
        row("two methods", {FILE: 60, OTHER: 60}, length(120)),
        row("methods with other numbers of tasks", {FILE: 60, OTHER: 50}, "60 & 50"),
        row("below results/benchmark", {f"results/benchmark/{FILE}": 60}, length(60)),
        row("nothing", {}, "r"),
    ],
)
def test_several_files(made, expected):
    Path("r").mkdir()
    for name, n in made.items():
        fill(Path("r", name), b"")
        torch.save(100 * SHARES[:n], Path("r", name))
    judge(lambda: released.read("r"), expected)


@pytest.mark.parametrize(
    "folder, expected",
    [
        row("no such folder", "gone", "gone"),
        row("a file", "plain", "plain"),
        row("nothing fetched", "", lambda done: done.value is None),
        row("None", None, lambda done: done.value is None),
    ],
)
def test_folders(folder, expected):
    Path("plain").touch()
    judge(lambda: released.read(folder), expected)
