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
    "evaluators": {
        "architecture.side": 16,
        "architecture.pooled": 3,
        "read_at": 18,
        "size": 2,
        "queries": 2,
    },
    "fewstab": {"architecture.widths": [8, 16, 32, 64], "size": 1, "queries": 2},
}
BESIDE = {  # chapters with live cells beside printed ones, and the data sets in these tables
    "closed-vs-open": miniatures.OF_PAPER["oops"],
    "benchmark": miniatures.OF_PAPER["oops"],
    "estimators": ("CIFAR-FS", "miniImageNet", "Meta-Album"),
    "selection": ("CIFAR-FS", "miniImageNet", "Meta-Album"),
    "ten-learners": ("miniimagenet", "tieredimagenet", "cub"),
    "spurious-bias": ("miniimagenet", "tieredimagenet", "cub"),
    "captioners-and-tasks": ("miniimagenet", "tieredimagenet", "cub"),
}
CAPTION = "Live on the paper's data, beside what the paper prints;"  # of each such table


def manifest(paper: str, server, folder: Path, data: Path) -> Path:
    """The shipped manifest with the addresses, sizes and digests of miniatures, which the server then has.

    What a person brings goes to ``folder/brought``, and without an archive to ``data``, where the book says.
    """
    makers, shipped = miniatures.OF_PAPER[paper], served.SHIPPED
    entries = {}
    for name, make in makers.items():
        by_hand = "files" not in shipped["data"][name]
        entries[name] = served.data_set(name, make, server, (data if by_hand else folder) / name)
        for path in [
            path
            for path in server.files
            if "bring" in entries[name] and path.startswith(f"/{name}/")
        ]:
            (folder / "brought").mkdir(exist_ok=True)
            (folder / "brought" / Path(path).name).write_bytes(server.files.pop(path))
    entries |= {
        name: entry
        for name, entry in shipped["data"].items()
        if [*entry] == ["of"] and entry["of"] in makers
    }
    weights = served.networks(server) | (
        captioners_of(server, folder) if paper == "fewstab" else {}
    )
    group = shipped["groups"][paper]
    listed = {
        "data": entries,
        "weights": {name: weights[name] for name in weights if name in group},
    }
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
        entries[name] = served.weights(
            server, name, files, files.pop(served.SHIPPED["weights"][name]["file"])
        )
    return entries


def profile(paper: str, target: Path) -> None:
    """The paper's profile with fewer and smaller tasks."""
    chapters = yaml.safe_load((ROOT / "profiles" / f"{paper}.yml").read_text())
    for name, parameters in chapters.items():
        parameters |= {
            key: value for key, value in SMALLER.items() if key in parameters
        } | SHAPES.get(name, {})
    target.write_text(yaml.safe_dump(chapters))


def checked(folder: Path) -> list[str]:
    """What is wrong with what came out; nothing where all is as it should be."""
    wrong, names = [], [*yaml.safe_load((folder / "small.yml").read_text())]
    for name in names:
        if not (folder / "_build" / "html" / f"{name}.html").is_file():
            wrong.append(f"the site has no page {name}")
    for name, sets in BESIDE.items():
        if name not in names:
            continue
        count = tables_beside(name)
        pages = html_outputs(folder / "_build" / "notebooks" / f"{name}.ipynb")
        tables = [page for page in pages if "in standard errors" in page]
        if len(tables) != count:
            wrong.append(
                f"{name} has {len(tables)} tables of live cells beside printed ones, not {count}"
            )
        wrong += [
            f"{name}: {data} is not beside the printed cells"
            for data in sets
            if data not in "".join(tables)
        ]
    return wrong


def tables_beside(name: str) -> int:
    """How many tables of live cells beside printed ones the source of a chapter has."""
    return (ROOT / "notebooks" / f"{name}.md").read_text("utf-8").count(CAPTION)


def html_outputs(notebook: Path) -> list[str]:
    """HTML of the outputs of an executed notebook."""
    pages = []
    for cell in json.loads(notebook.read_text())["cells"]:
        contents = [output.get("data", {}) for output in cell.get("outputs", [])]
        pages += ["".join(content["text/html"]) for content in contents if "text/html" in content]
    return pages


def commands(paper: str, brought: Path) -> list[list[str]]:
    """What a person types, or `make paper` does; the last one is the build."""
    fslcore, fslbook, snakemake = (
        [sys.executable, "-m", name] for name in ("fslcore", "fslbook", "snakemake")
    )
    fetch = [*fslcore, "fetch", paper, "--complete", "--accept-terms", "--quiet"]
    if brought.is_dir():
        fetch += ["--from", str(brought)]
    lines = [fetch, [*fslbook, "plan", "small.yml"]]
    if paper in TRAINED:
        lines += trainings(paper, fslbook)
    if paper == "fewstab":
        caption = [*fslbook, "caption", *settings_of(paper)["sets"], "--size", "64", "--quiet"]
        lines += [[*caption, "--captioner", captioner] for captioner in ("vit-gpt2", "blip-large")]
    limits = "--resources estimators=1 bias=1 targets=1 --nolock --keep-going --rerun-incomplete --quiet rules".split()
    return [*lines, [*snakemake, "--cores", "2", *limits, "--config", "profile=small.yml"]]


def trainings(paper: str, fslbook: list[str]) -> list[list[str]]:
    """The commands that train the networks of a paper for two steps."""
    train = [*fslbook, "train", "--paper", paper, "--epochs", "1", "--quiet"]
    for key, value in {**TRAINED[paper], "steps": 2, "validation": 4}.items():
        train += ["--set", f"{key}={json.dumps(value)}"]
    lines = []
    for dataset in (
        settings_of(paper)["sets"] if paper == "evaluators" else ()
    ):  # ten steps a task take too long here
        output = sources.filled("cache/trained/evaluators/{dataset}/maml.safetensors", dataset)
        lines.append(
            [*train, "maml", "--dataset", dataset, "--set", "options.steps=1", "-o", output]
        )
    return [*lines, train]


def environment(folder: Path, server, listed: Path) -> dict[str, str]:
    """The environment of a machine that has nothing yet but the sources."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("FSLCORE", "PYTHON", "HF_"))}
    return clean | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), clean["PATH"]]),
        "PYTHONPATH": os.pathsep.join(map(str, (folder, folder / "book"))),
        "FSLCORE_CACHE": str(folder / "cache"),
        "FSLCORE_SOURCES": str(listed),
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(folder / "hub"),
        "OMP_NUM_THREADS": "1",
    }


def rehearse(paper: str) -> list[str]:
    """What went wrong; nothing where a paper's run came to its end."""
    folder = HERE / paper
    shutil.rmtree(folder, ignore_errors=True)
    copy_sources(folder)
    server = served.start()
    start = time.monotonic()
    wrong = []
    with tempfile.TemporaryDirectory(dir=HERE) as archives:
        listed = manifest(paper, server, Path(archives), folder / "cache" / "data")
        profile(paper, folder / "small.yml")
        environ = environment(folder, server, listed)
        for command in commands(paper, Path(archives) / "brought"):
            if "snakemake" in command:
                wrong += faults.of_builds(command, folder, environ)
            label = f"{paper}: {' '.join(command[2:4])}"
            print(f"{label}: begun after {time.monotonic() - start:.0f} s", flush=True)
            code = subprocess.run(command, cwd=folder, env=environ).returncode
            if code:
                return [*wrong, f"{label} ended with exit code {code}"]
        wrong += checked(folder)
        wrong += packed_run(paper, folder, environ, command)
    print(f"{paper}: {time.monotonic() - start:.0f} s", flush=True)
    return wrong


def packed_run(paper: str, folder: Path, environ: dict, build: list[str]) -> list[str]:
    """What is wrong with the results of a build, with their file, and with another build that shows it."""
    second = HERE / f"{paper}-second"
    file = packed.pack("small.yml", folder, environ)
    equal = file.read_bytes() == (folder / "again.zip").read_bytes()
    wrong = [] if equal else ["the same run, packed again, gives other bytes"]
    chapters = yaml.safe_load((folder / "small.yml").read_text())
    if set(packed.CHAPTERS) <= set(chapters):  # tables that rest on plain evaluations
        wrong += faults.alone(folder, environ)
        return wrong + packed.second_build(file, chapters, build, second, environ)
    return wrong + packed.reported(file, paper, second, environ)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "papers", nargs="*", metavar="PAPER", help=f"of {', '.join(miniatures.OF_PAPER)} (all)"
    )
    papers = parser.parse_args().papers or [*miniatures.OF_PAPER]
    unknown = set(papers) - set(miniatures.OF_PAPER)
    if unknown:
        sys.exit(
            f"rehearsal: PAPER must be one of {', '.join(miniatures.OF_PAPER)}, got {' '.join(sorted(unknown))}"
        )
    if "fewstab" in papers and not find_spec("transformers"):
        sys.exit("rehearsal: fewstab needs the package transformers; make captions installs it")
    HERE.mkdir(parents=True, exist_ok=True)
    wrong = [line for paper in papers for line in rehearse(paper)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(*wrong, f"at most {peak:.1f} GiB in one process", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
