"""A paper's run from nothing, on miniatures: fetch, plan, train, build, site. No code knows that it is a rehearsal.

    make rehearsal                      # all papers
    make rehearsal PAPER=evaluators     # one

A server on this machine has small archives in the official layouts (`miniatures.py`) and small networks in the official
layouts of their files, under the addresses of the model hub; ``FSLCORE_SOURCES`` names a manifest of them. Then the
paper's profile, with fewer and smaller tasks, is fetched, planned, trained and built in a folder of its own, with an
empty cache. Builds are killed on the way (`faults.py`). What is checked at the end: every data set is in the tables,
where live cells stand beside the printed ones; results are those of an undisturbed run; the run is packed, and a
second, clean build shows the file (`packed.py`). The real files were never loaded.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import yaml

from fslbook.training.papers import settings_of
from fslcore import sources

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

import faults  # noqa: E402
import miniatures  # noqa: E402
import packed  # noqa: E402
import served  # noqa: E402
from checkout import copy_sources  # noqa: E402

HERE = ROOT / "_build" / "rehearsal"
SMALLER = {  # parameters of the profiles that say how much is done; nothing is left out
    "tasks": 40,
    "ft_tasks": 2,
    "max_open": 20,
    "max_tasks": 20,
    "ft_open": 2,
    "sweep_images": 1000,
    "image_tasks": 20,
    "tuning_tasks": 20,
    "training_tasks": 20,
    "runs": 2,
}
SHAPES = {
    "closed-vs-open": {"shots": 1, "queries": 2},
    "comparing-methods": {"shots": 1, "queries": 2},
    "sizing-tasks": {"shots": [1, 2], "repetitions": 500, "queries": 2, "lr_shots": 1},
    "benchmark": {"shots": [1, 2], "queries": [1, 2], "usual_queries": 3},
    "estimators": {"ways": 3, "shots": 2, "queries": 4, "sweep_tasks": 20, "rounds": 2},
    "spurious-bias": {"queries": 2},
    "captioners-and-tasks": {"queries": 2, "feasible_tasks": 10},
    "selection": {
        "ways": 3,
        "shots": 2,
        "queries": 4,
        "rounds": 2,
        "curve_rounds": 2,
        "curve_tasks": 20,
        "steps": [1, 2],
    },
}
TRAINED = {  # what is smaller in trainings
    "evaluators": {"architecture.side": 16, "architecture.pooled": 3, "read_at": 18, "size": 2, "queries": 2},
    "fewstab": {"architecture.widths": [8, 16, 32, 64], "size": 1, "queries": 2},
}
BESIDE = {  # chapters with live cells beside printed ones: how many tables, and its data sets in them
    "closed-vs-open": (1, miniatures.OF_PAPER["oops"]),
    "benchmark": (1, miniatures.OF_PAPER["oops"]),
    "estimators": (3, ("CIFAR-FS", "miniImageNet", "Meta-Album")),
    "selection": (2, ("CIFAR-FS", "miniImageNet", "Meta-Album")),
    "ten-learners": (1, ("miniimagenet", "tieredimagenet", "cub")),
    "spurious-bias": (3, ("miniimagenet", "tieredimagenet", "cub")),
    "captioners-and-tasks": (6, ("miniimagenet", "tieredimagenet", "cub")),
}


def manifest(paper: str, server, folder: Path, data: Path) -> Path:
    """The shipped manifest with the addresses, sizes and digests of miniatures, which the server then has.

    What a person brings goes to ``folder/brought``, and without an archive to ``data``, where the book says.
    """
    makers, shipped = miniatures.OF_PAPER[paper], served.SHIPPED
    entries = {}
    for name, make in makers.items():
        by_hand = "files" not in shipped["data"][name]
        entries[name] = served.data_set(name, make, server, (data if by_hand else folder) / name)
        for path in [path for path in server.files if "bring" in entries[name] and path.startswith(f"/{name}/")]:
            (folder / "brought").mkdir(exist_ok=True)
            (folder / "brought" / Path(path).name).write_bytes(server.files.pop(path))
    entries |= {name: entry for name, entry in shipped["data"].items() if [*entry] == ["of"] and entry["of"] in makers}
    weights = served.networks(server) | (captioners_of(server, folder) if paper == "fewstab" else {})
    group = shipped["groups"][paper]
    listed = {"data": entries, "weights": {name: weights[name] for name in weights if name in group}}
    path = folder / "manifest.yml"
    path.write_text(yaml.safe_dump({**shipped, **listed, "groups": {paper: group}}))
    return path


def captioners_of(server, folder: Path) -> dict[str, dict]:
    """The entries of a manifest for small captioners, which the server then has."""
    import captioners

    entries = {}
    for name, make in captioners.MAKERS.items():
        (folder / name).mkdir()
        make(folder / name)
        files = {path.name: path.read_bytes() for path in (folder / name).iterdir()}
        entries[name] = served.weights(server, name, files, files.pop(served.SHIPPED["weights"][name]["file"]))
    return entries


def profile(paper: str, target: Path) -> None:
    """The paper's profile with fewer and smaller tasks."""
    found = yaml.safe_load((ROOT / "profiles" / f"{paper}.yml").read_text())
    for name, given in found.items():
        given |= {key: value for key, value in SMALLER.items() if key in given} | SHAPES.get(name, {})
    target.write_text(yaml.safe_dump(found))


def checked(folder: Path) -> list[str]:
    """What is wrong with what came out; nothing where all is as it should be."""
    wrong, names = [], [*yaml.safe_load((folder / "small.yml").read_text())]
    for name in names:
        if not (folder / "_build" / "html" / f"{name}.html").is_file():
            wrong.append(f"the site has no page {name}")
    for name, (count, sets) in BESIDE.items():
        if name not in names:
            continue
        shown = [
            "".join(output["data"]["text/html"])
            for cell in json.loads((folder / "_build" / "notebooks" / f"{name}.ipynb").read_text())["cells"]
            for output in cell.get("outputs", [])
            if "text/html" in output.get("data", {})
        ]
        beside = [table for table in shown if "in standard errors" in table]
        if len(beside) != count:
            wrong.append(f"{name} has {len(beside)} tables of live cells beside printed ones, not {count}")
        wrong += [f"{name}: {data} is not beside the printed cells" for data in sets if data not in "".join(beside)]
    return wrong


def commands(paper: str, brought: Path) -> list[list[str]]:
    """What a person types, or `make paper` does."""
    fslcore = [sys.executable, "-m", "fslcore"]
    fslbook = [sys.executable, "-m", "fslbook"]
    options = [
        word for key, value in TRAINED.get(paper, {}).items() for word in ("--set", f"{key}={json.dumps(value)}")
    ]
    options += ["--set", "steps=2", "--set", "validation=4"]
    limits = ["--resources", "estimators=1", "bias=1", "--nolock", "--keep-going", "--rerun-incomplete"]
    limits += ["--quiet", "rules"]
    given = ["--from", str(brought)] if brought.is_dir() else []
    found = [
        [*fslcore, "fetch", paper, "--complete", "--accept-terms", *given, "--quiet"],
        [*fslbook, "plan", "small.yml"],
    ]
    if paper in TRAINED:
        train = [*fslbook, "train", "--paper", paper, "--epochs", "1", "--quiet", *options]
        for of in settings_of(paper)["sets"] if paper == "evaluators" else ():  # ten steps a task take too long here
            own = sources.filled("cache/trained/evaluators/{dataset}/maml.safetensors", of)
            found.append([*train, "maml", "--dataset", of, "--set", "options.steps=1", "-o", own])
        found.append(train)
    if paper == "fewstab":
        sets = settings_of(paper)["sets"]
        for captioner in ("vit-gpt2", "blip-large"):
            found.append([*fslbook, "caption", *sets, "--captioner", captioner, "--size", "64", "--quiet"])
    build = [sys.executable, "-m", "snakemake", "--cores", "2", *limits]
    return [*found, [*build, "--config", "profile=small.yml"]]


def rehearse(paper: str) -> list[str]:
    """What went wrong; nothing where a paper's run came to its end."""
    folder = HERE / paper
    shutil.rmtree(folder, ignore_errors=True)
    copy_sources(folder)
    server = served.start()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=HERE) as made:
        listed = manifest(paper, server, Path(made), folder / "cache" / "data")
        profile(paper, folder / "small.yml")
        print(f"{paper}: miniatures: {time.monotonic() - start:.0f} s", flush=True)
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
        wrong = []
        for command in commands(paper, Path(made) / "brought"):
            begun = time.monotonic()
            wrong += faults.of_builds(command, folder, environ) if "snakemake" in command else []
            done = subprocess.run(command, cwd=folder, env=environ)
            what = f"{paper}: {' '.join(command[2:4])}"
            print(f"{what}: {time.monotonic() - begun:.0f} s, exit code {done.returncode}", flush=True)
            if done.returncode:
                return [*wrong, f"{what} ended with exit code {done.returncode}"]
        wrong += checked(folder)
        small = yaml.safe_load((folder / "small.yml").read_text())
        plain = set(packed.CHAPTERS) <= set(small)  # tables that rest on plain evaluations
        wrong += faults.alone(folder, environ) if plain else []
        file = packed.pack("small.yml", folder, environ)
        if file.read_bytes() != (folder / "again.zip").read_bytes():
            wrong.append("the same run, packed again, gives other bytes")
        if plain:
            wrong += packed.second_build(file, small, command, HERE / f"{paper}-second", environ)
        else:
            wrong += packed.reported(file, paper, HERE / f"{paper}-second", environ)
    print(f"{paper}: {time.monotonic() - start:.0f} s", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(miniatures.OF_PAPER)} (all)")
    papers = parser.parse_args().papers or [*miniatures.OF_PAPER]
    if unknown := set(papers) - set(miniatures.OF_PAPER):
        sys.exit(f"rehearsal: PAPER = {' '.join(sorted(unknown))}; {', '.join(miniatures.OF_PAPER)} are allowed")
    if "fewstab" in papers and not find_spec("transformers"):
        sys.exit("rehearsal: fewstab needs the package transformers; make captions installs it")
    HERE.mkdir(parents=True, exist_ok=True)
    wrong = [line for paper in papers for line in rehearse(paper)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(*wrong, f"at most {peak:.1f} GiB in one process", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
