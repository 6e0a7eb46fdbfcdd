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
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

import miniatures  # noqa: E402
from checkout import copy_sources  # noqa: E402

HERE = ROOT / "_build" / "rehearsal"
SMALLER = {  # parameters of the profile that say how much is done; nothing is left out
    "tasks": 40,
    "ft_tasks": 2,
    "max_open": 20,
    "max_tasks": 20,
    "ft_open": 2,
    "sweep_images": 1000,
}
SHAPES = {
    "closed-vs-open": {"shots": 1, "queries": 2},
    "comparing-methods": {"shots": 1, "queries": 2},
    "sizing-tasks": {"shots": [1, 2], "repetitions": 500},
    "benchmark": {"shots": [1, 2], "queries": [1, 2], "usual_queries": 3},
}


@cache
def of_fetch() -> dict:
    """What the tests of downloads have: a server, and small networks."""
    return runpy.run_path(str(ROOT / "tests" / "tools" / "test_fetch.py"))


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
            if (root / own).is_file():
                content = (root / own).read_bytes()
            else:
                tops = of_fetch()["PARTS"].get(own) or [path.name for path in root.iterdir()]
                content = of_fetch()["packed"](root, tops, own)
            file |= {"url": f"{server.url}/{name}/{quote(own)}", "bytes": len(content)}
            file |= {kind: hashlib.new(kind, content).hexdigest() for kind in {"sha256", "md5"} & file.keys()}
            if "bring" in entry:
                (folder / "brought").mkdir(exist_ok=True)
                (folder / "brought" / own).write_bytes(content)
            else:
                server.files[f"/{name}/{own}"] = content
    made["weights"] = of_fetch()["hosted"](server)
    (folder / "manifest.yml").write_text(yaml.safe_dump(made))
    return folder / "manifest.yml"


def profile(target: Path) -> None:
    """The paper's profile with fewer and smaller tasks."""
    found = yaml.safe_load((ROOT / "profiles" / "oops.yml").read_text())
    for name, given in found.items():
        given |= {key: value for key, value in SMALLER.items() if key in given} | SHAPES.get(name, {})
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
    copy_sources(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), of_fetch()["Handler"])
    server.daemon_threads, server.files, server.faults, server.log = True, {}, {}, []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
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
