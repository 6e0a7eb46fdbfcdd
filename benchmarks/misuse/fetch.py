"""``fslcore fetch`` and the released accuracies; nothing is downloaded."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path

from .common import Case, Trap, fine, fslcore, of_area, unsprung

case = of_area("fetch")
FILE = "5-shot/clip/LR/aircraft.pt"
OTHER = "5-shot/clip/NCC/aircraft.pt"


def released():
    from fslcore.tools.report import released as module

    return module


def store(change: Callable = lambda t: t.rand(60) * 100, path: str = FILE) -> None:
    import torch

    Path("r", path).parent.mkdir(parents=True, exist_ok=True)
    torch.save(change(torch), Path("r", path))


def read(name: str, make: Callable[[], object], **wanted) -> Case:
    return case(f"read: {name}", lambda: (make(), released().read("r"))[1], **wanted)


def raw(content: bytes) -> Callable[[], None]:
    def write() -> None:
        Path("r", FILE).parent.mkdir(parents=True)
        Path("r", FILE).write_bytes(content)

    return write


def local(
    name: str, registry: str, *, url: str | None = None, folder: str = "got", before: Callable = lambda: None, **wanted
) -> Case:
    """Files of this folder, by their path, in place of the network: what cannot be had there must be named."""

    def call() -> object:
        before()
        Path("registry.txt").write_text(registry)
        return released().fetch(Path(folder), url=url or "http://127.0.0.1:9/", registry=Path("registry.txt"))

    return case(f"fetch: {name}", call, **wanted)


SHA = hashlib.sha256(b"x").hexdigest()
CASES = [
    *(
        case(f"what: {v or 'empty'}", lambda v=v: fslcore("fetch", v), says=(v or "what", "oops-benchmark"))
        for v in ("oops", "", "benchmark", "oops-bench", "all")
    ),
    case("nothing given", lambda: fslcore("fetch"), says=("what",)),
    case("two", lambda: fslcore("fetch", "oops-benchmark", "more"), says=("more",)),
    case("a folder without a name", lambda: fslcore("fetch", "oops-benchmark", "--folder"), says=("--folder",)),
    case(
        "a folder that is a file",
        lambda: (Path("f").touch(), fslcore("fetch", "oops-benchmark", "--folder", "f"))[1],
        says=("f",),
    ),
    case(
        "a folder through a file",
        lambda: (Path("f").touch(), fslcore("fetch", "oops-benchmark", "--folder", "f/g"))[1],
        says=("f",),
    ),
    case(
        "a folder where nobody may write",
        lambda: fslcore("fetch", "oops-benchmark", "--folder", "/proc/x"),
        says=("/proc",),
    ),
    case(
        "a folder with a name too long",
        lambda: fslcore("fetch", "oops-benchmark", "--folder", "x" * 300),
        says=("xxx",),
    ),
    local("nobody answers", f"a.pt sha256:{SHA}\n", says=("127.0.0.1", "a.pt")),
    local("no such host", f"a.pt sha256:{SHA}\n", url="http://nobody.invalid/", says=("nobody.invalid",)),
    local("no such scheme", f"a.pt sha256:{SHA}\n", url="gopher://x/", says=("gopher",)),
    local("no address", f"a.pt sha256:{SHA}\n", url="x/", says=("x/",)),
    local(
        "a file that is there and another",
        f"a.pt sha256:{SHA}\n",
        before=lambda: (Path("got").mkdir(), Path("got/a.pt").write_text("other")),
        says=("a.pt",),
    ),
    local(
        "a file that is there",
        f"a.pt sha256:{SHA}\n",
        before=lambda: (Path("got").mkdir(), Path("got/a.pt").write_text("x")),
        right=fine,
    ),
    local("an empty list of files", "", right=fine),
    local("a list of files that is none", "this is no list of files\n", says=("registry.txt",)),
    case(
        "fetch: no list of files",
        lambda: released().fetch(Path("got"), url="http://127.0.0.1:9/", registry=Path("gone.txt")),
        says=("gone.txt",),
    ),
    case(
        "fetch: a folder in the place of the list",
        lambda: released().fetch(Path("got"), url="http://127.0.0.1:9/", registry=Path(".")),
        says=(".",),
    ),
    case("read: no such folder", lambda: released().read("gone"), says=("gone",)),
    case("read: a file", lambda: (Path("r").touch(), released().read("r"))[1], says=("r",)),
    case("read: an empty folder", lambda: (Path("r").mkdir(), released().read("r"))[1], says=("r",)),
    case("read: nothing fetched", lambda: released().read(""), right=lambda v: None if v is None else f"{v}"),
    case("read: None", lambda: released().read(None), says=("released|folder",), right=fine),
    read("good", store, right=lambda t: None if len(t) == 60 else f"{len(t)} rows"),
    read("two methods", lambda: (store(), store(path=OTHER)), right=lambda t: None if len(t) == 120 else f"{len(t)}"),
    read(
        "methods with other numbers of tasks",
        lambda: (store(), store(lambda t: t.rand(50) * 100, OTHER)),
        says=("60", "50"),
    ),
    read("whole numbers", lambda: store(lambda t: t.arange(60)), says=("aircraft.pt",)),
    read("a table", lambda: store(lambda t: t.rand(6, 10)), says=("aircraft.pt",)),
    read("one number", lambda: store(lambda t: t.tensor(0.5)), says=("aircraft.pt",)),
    read("one task", lambda: store(lambda t: t.rand(1)), says=("aircraft.pt", "2")),
    read("no tasks", lambda: store(lambda t: t.rand(0)), says=("aircraft.pt",)),
    read("a NaN", lambda: store(lambda t: t.tensor([50.0, float("nan")])), says=("aircraft.pt", "nan")),
    read("infinite", lambda: store(lambda t: t.tensor([50.0, float("inf")])), says=("aircraft.pt", "inf")),
    read("negative", lambda: store(lambda t: t.tensor([50.0, -3.0])), says=("aircraft.pt", "-3")),
    read("above 100", lambda: store(lambda t: t.tensor([50.0, 170.0])), says=("aircraft.pt", "170")),
    read(
        "shares",
        lambda: store(lambda t: t.rand(60)),
        says=("aircraft.pt", "share|percent"),
        warns=("share",),
        right=lambda t: None if t["accuracy"].mean() > 10 else "shares are taken for percent",
    ),
    read("complex", lambda: store(lambda t: t.rand(60) + 0j), says=("aircraft.pt",)),
    read("truth values", lambda: store(lambda t: t.rand(60) > 0.5), says=("aircraft.pt",)),
    read("a list", lambda: store(lambda t: [1.0, 2.0]), says=("aircraft.pt",)),
    read("a dictionary", lambda: store(lambda t: {"a": t.rand(60)}), says=("aircraft.pt",)),
    read("bfloat16", lambda: store(lambda t: (t.rand(60) * 100).bfloat16()), right=fine, says=("aircraft.pt",)),
    read(
        "with a gradient",
        lambda: store(lambda t: (t.rand(60) * 100).requires_grad_()),
        right=fine,
        says=("aircraft.pt",),
    ),
    read("empty", raw(b""), says=("aircraft.pt",)),
    read("noise", raw(bytes(range(256))), says=("aircraft.pt",)),
    read("text", raw(b"hello\n"), says=("aircraft.pt",)),
    read("a pickle that runs a command", raw(pickle.dumps(Trap())), says=("aircraft.pt",), right=unsprung),
    read(
        "cut off",
        lambda: (store(), Path("r", FILE).write_bytes(Path("r", FILE).read_bytes()[:300])),
        says=("aircraft.pt",),
    ),
    read("a folder", lambda: Path("r", FILE).mkdir(parents=True), says=("r",)),
    read(
        "below results/benchmark",
        lambda: store(path="results/benchmark/" + FILE),
        right=lambda t: None if len(t) == 60 else f"{len(t)}",
    ),
]
