"""A paper's run from nothing, on miniatures: fetch, plan, build, site. No code knows that it is a rehearsal.

    make rehearsal

A server on this machine has small archives in the official layouts (`miniatures.py`) and small networks in the official
layouts of their files, under the addresses of the model hub; ``FSLCORE_SOURCES`` names a manifest of them. Then
``profiles/oops.yml``, with fewer and smaller tasks, is fetched, planned and built in a folder of its own, with an empty
cache. What is checked at the end: every data set is in the tables, where live cells stand beside the printed ones. The
real files were never loaded.
"""

import copy
import hashlib
import importlib
import json
import os
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import miniatures  # noqa: E402

HERE = ROOT / "_build" / "rehearsal"
TREE = ("fslcore", "book", "notebooks", "profiles", "Snakefile", "_config.yml", "_toc.yml", "pyproject.toml")
SMALLER = {  # parameters of the profile that say how much is done; nothing is left out
    "tasks": 40,
    "ft_tasks": 2,
    "max_open": 20,
    "max_tasks": 20,
    "ft_open": 2,
    "sweep_images": 1000,
    "repetitions": 500,
}
SHAPES = {
    "closed-vs-open": {"shots": 1, "queries": 2},
    "comparing-methods": {"shots": 1, "queries": 2},
    "sizing-tasks": {"shots": [1, 2]},
    "benchmark": {"shots": [1, 2], "queries": [1, 2], "usual_queries": 3},
}


@cache
def of_fetch() -> dict:
    """What the tests of downloads have: a server, and small networks."""
    return runpy.run_path(str(ROOT / "tests" / "tools" / "test_fetch.py"))


def networks() -> dict[str, tuple[dict, bytes]]:
    """Small networks of the official keys, as files of weights; by name with what differs in the architecture."""
    import torch
    from safetensors.torch import save

    import fslcore.models.backbones  # noqa: F401 (it makes torchvision importable, which the next two import)

    open_clip, timm = importlib.import_module("open_clip"), importlib.import_module("timm")

    made = {}
    for name, options in of_fetch()["SMALL"].items():
        torch.manual_seed(0)
        if name == "clip":
            network = open_clip.create_model("ViT-B-16-quickgelu", pretrained=None, **options)
        else:
            repository = of_fetch()["SHIPPED"]["weights"][name]["repository"]
            network = timm.create_model(repository.removeprefix("timm/"), num_classes=0, **options)
        made[name] = options, save({k: v.contiguous().clone() for k, v in network.state_dict().items()})
    return made


def manifest(server, folder: Path) -> Path:
    """The shipped manifest with the addresses, sizes and digests of miniatures, which the server then has."""
    made = copy.deepcopy(of_fetch()["SHIPPED"])
    made["groups"] = {"oops": made["groups"]["oops"]}
    made["data"] = {name: made["data"][name] for name in miniatures.MAKERS}
    for name, entry in made["data"].items():
        root = folder / name
        root.mkdir(parents=True)
        miniatures.MAKERS[name](root)
        base = entry.pop("base", "")
        entry.pop("disk", None)
        for file in entry["files"]:
            own = unquote(Path(urlsplit(base + file["url"]).path).name)
            content = miniatures.body(root, own)
            file |= {"url": f"{server.url}/{name}/{quote(own)}", "bytes": len(content)}
            file |= {kind: hashlib.new(kind, content).hexdigest() for kind in {"sha256", "md5"} & file.keys()}
            if "bring" in entry:
                (folder / "brought").mkdir(exist_ok=True)
                (folder / "brought" / own).write_bytes(content)
            else:
                server.files[f"/{name}/{own}"] = content
    made["weights"] = {}
    for name, (options, content) in networks().items():
        entry = of_fetch()["SHIPPED"]["weights"][name] | {"revision": of_fetch()["REVISION"], "architecture": options}
        entry |= {"sha256": hashlib.sha256(content).hexdigest(), "by": ["the rehearsal", "and again"]}
        entry["bytes"] = len(content)
        made["weights"][name] = entry
        of_fetch()["host"](server, entry["repository"], {entry["file"]: content, "config.json": b"{}"})
    (folder / "manifest.yml").write_text(yaml.safe_dump(made))
    return folder / "manifest.yml"


def profile(target: Path) -> None:
    """The paper's profile with fewer and smaller tasks."""
    found = yaml.safe_load((ROOT / "profiles" / "oops.yml").read_text())
    for name, given in found.items():
        given |= {key: value for key, value in SMALLER.items() if key in given} | SHAPES.get(name, {})
        if name == "sizing-tasks":
            given["repetitions"] = SMALLER["repetitions"]
    target.write_text(yaml.safe_dump(found))


def checked(folder: Path, manifest: Path) -> list[str]:
    """What is wrong with what came out; nothing where all is as it should be."""
    wrong, known = [], yaml.safe_load(manifest.read_text())
    for name in yaml.safe_load((folder / "small.yml").read_text()):
        if not (folder / "_build" / "html" / f"{name}.html").is_file():
            wrong.append(f"the site has no page {name}")
    cells = {
        name: json.loads((folder / "_build" / "notebooks" / f"{name}.ipynb").read_text())["cells"]
        for name in ("closed-vs-open", "benchmark")
    }
    for name, of in cells.items():
        shown = [
            "".join(output["data"]["text/html"])
            for cell in of
            for output in cell.get("outputs", [])
            if "text/html" in output.get("data", {})
        ]
        beside = [table for table in shown if "in standard errors" in table]
        if len(beside) != 1:
            wrong.append(f"{name} has {len(beside)} tables of live cells beside printed ones, not one")
        wrong += [
            f"{name}: {data} is not beside the printed cells" for data in known["data"] if data not in "".join(beside)
        ]
    return wrong


def main() -> int:
    shutil.rmtree(HERE, ignore_errors=True)
    folder = HERE / "oops"
    folder.mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), of_fetch()["Handler"])
    server.daemon_threads, server.files, server.faults, server.log = True, {}, {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for part in TREE:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    (folder / "data").symlink_to(ROOT / "data")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=HERE) as made:
        listed = manifest(server, Path(made))
        profile(folder / "small.yml")
        print(f"miniatures of {len(miniatures.MAKERS)} data sets: {time.monotonic() - start:.0f} s", flush=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("FSLCORE", "PYTHON", "HF_"))}
        environ = clean | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), clean["PATH"]]),
            "PYTHONPATH": os.pathsep.join(map(str, (folder, folder / "book"))),
            "FSLCORE_CACHE": str(folder / "cache"),
            "FSLCORE_SOURCES": str(listed),
            "HF_ENDPOINT": server.url,
            "HF_HOME": str(folder / "hub"),
            "OMP_NUM_THREADS": "1",
        }
        fslcore = [sys.executable, "-m", "fslcore"]
        limits = ["--resources", "sizing=1", "estimators=1", "bias=1"]
        build = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "2",
            *limits,
            "--nolock",
            "--keep-going",
            "--quiet",
            "rules",
        ]
        for command in (
            [*fslcore, "fetch", "oops", "--accept-terms", "--from", str(Path(made) / "brought"), "--quiet"],
            [*fslcore, "plan-run", "small.yml"],
            [*build, "rules", "--config", "profile=small.yml"],
        ):
            begun = time.monotonic()
            done = subprocess.run(command, cwd=folder, env=environ)
            print(
                f"{' '.join(command[2:4])}: {time.monotonic() - begun:.0f} s, exit code {done.returncode}", flush=True
            )
            if done.returncode:
                return 1
        wrong = checked(folder, listed)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(*wrong, f"{time.monotonic() - start:.0f} s, at most {peak:.1f} GiB in one process", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
