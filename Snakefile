# The build: results of every data set and backbone, then the notebooks, then the site. `make book` calls it;
# on a cluster: snakemake --workflow-profile profiles/slurm (book/cluster.md). What ships is made by data/Snakefile.
import os
import re
import sys
from itertools import product
from pathlib import Path

import yaml

sys.path.insert(0, "book")
from dependencies import SourceTree
from fslbook.catalogue import LEARNERS as BOOK_LEARNERS
from jobs import Needs, asked

# One thread a job, as many jobs as cores; and no page is given back to the system between two batches of a
# network, which takes as long as the batch.
shell.prefix("set -euo pipefail; export OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4294967296; ")

# As `python -m`, but `make book` imports torch and the rest once for all these jobs.
FORKED = "python book/fork_server.py -m"

PARTS = asked(config, "parts", 1, minimum=1)  # jobs that share the features, then the tasks, of a data set and backbone
NEEDS = Needs(config)

PROFILE = config.get("profile", "profiles/quick.yml")
SETTINGS = yaml.safe_load(Path(PROFILE).read_text()) or {}
NOTEBOOKS = sorted(p.stem for p in Path("notebooks").glob("*.md") if not SETTINGS or p.stem in SETTINGS)
ALL = len(list(Path("notebooks").glob("*.md")))
SOURCES = SourceTree()  # which modules and data a chapter is made from

# The evaluations the two chapters on intervals share. A notebook that asks for others computes them itself.
SHARED = {"datasets": [], "backbones": []} | SETTINGS.get("closed-vs-open", {})
PAIRS = {re.sub(r"[^\w.+-]", "-", f"{d}.{b}"): (d, b) for d, b in product(SHARED["datasets"], SHARED["backbones"])}
RESULTS = expand("_build/results/{pair}.parquet", pair=PAIRS)

# What `fslcore fetch` has put into the cache, if anything: a reason to run the chapters that read it.
RELEASED = sorted(str(p) for p in Path(os.environ.get("FSLCORE_CACHE", "_build/cache"), "oops-benchmark").rglob("*.pt"))

# Of chapters that evaluate the same, each finds in the cache what those before it have computed: one runs at a time
# (`--resources` in the Makefile allows one of a name), and the first is more urgent. As an input of the second, it would hide
# that the second has changed.
SHARE = {
    "estimators": ("estimators", "selection"),
    "bias": ("spurious-bias", "captioners-and-tasks", "ten-learners"),
    "targets": ("three-intervals", "planning"),
}
# They, and others that take long, start as early as they can: no core waits at the end for one that began late.
LONG = ("known-truth", "sizing-tasks")
FIRST = "|".join([*(first for first, *_ in SHARE.values()), *LONG])
THEN = "|".join("|".join(then) for _, *then in SHARE.values())


def parts_of(pair, what):
    return [f"_build/parts/{pair}.{what}.{part + 1}-of-{PARTS}" for part in range(PARTS)]


localrules:
    all,


rule all:
    input:
        "_build/site.done",


ruleorder: first_notebook > then_notebook > notebook


def made_by(*modules):
    """A digest of what makes something, asked for where it is made: each job of a cluster reads this file anew."""
    return lambda wildcards: SOURCES.digest(SOURCES.reached(modules))


def of_pair(wildcards):
    """Data set and backbone, as the commands take them."""
    return PAIRS[wildcards.pair]


# Options of `evaluate` by the parameters of the chapter: those that its profile has, and not its 0 for none.
OPTIONS = ("ways", "shots", "queries", "seed", "tasks", "max_open", "ft_tasks", "ft_open")
LEARNERS = SHARED.get("learners", ["ncc", "lr", "ft"])
EVALUATED = {
    "learners": " ".join(
        BOOK_LEARNERS[name].place if name in BOOK_LEARNERS else name
        for name in LEARNERS
        if name != "ft" or SHARED.get("fine_tuning") == "run"
    ),
    "tasks": " ".join(
        [f"--{name.replace('_', '-')} {SHARED[name]}" for name in OPTIONS if SHARED.get(name)]
        + ["--skip-small-classes"] * SHARED.get("skip_small_classes", False)
    ),
}


# With parts, jobs of a cluster fill the shared cache: each makes some shards of features, one puts them together, and
# each makes some blocks of tasks. `evaluate` finds all there, and gives the bytes that it gives alone.
rule shards:
    output:
        touch("_build/parts/{pair}.shards.{part}-of-{parts}"),
    priority: 3
    params:
        sources=made_by("fslcore.datasets", "fslcore.models"),
        pair=of_pair,
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
        gpu=NEEDS.gpu,
    shell:
        "python -m fslcore features {params.pair:q} --part {wildcards.part}/{wildcards.parts}"


rule features:
    input:
        lambda wildcards: parts_of(wildcards.pair, "shards"),
    output:
        touch("_build/parts/{pair}.features"),
    priority: 3
    params:
        pair=of_pair,
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
        gpu=NEEDS.gpu,
    shell:
        "python -m fslcore features {params.pair:q}"


rule blocks:
    input:
        "_build/parts/{pair}.features",
    output:
        touch("_build/parts/{pair}.blocks.{part}-of-{parts}"),
    priority: 3
    params:
        sources=made_by("fslcore.evaluation"),
        pair=of_pair,
        **EVALUATED,
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
        gpu=NEEDS.gpu,
    shell:
        "python -m fslcore evaluate {params.pair:q} --learners {params.learners} {params.tasks} --part {wildcards.part}/{wildcards.parts}"


rule evaluate:
    input:
        lambda wildcards: parts_of(wildcards.pair, "blocks") if PARTS > 1 else [],
    output:
        "_build/results/{pair}.parquet",
    benchmark:
        "_build/benchmarks/{pair}.tsv"
    priority: 3  # chapters started before these would compute the same features at the same time
    params:
        sources=made_by("fslcore.evaluation"),
        pair=of_pair,
        **EVALUATED,
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
        gpu=NEEDS.gpu,
    shell:
        "{FORKED} fslcore evaluate {params.pair:q} --learners {params.learners} {params.tasks} -o {output}"


rule notebook:
    input:
        notebook="notebooks/{name}.md",
        released=lambda wildcards: RELEASED if wildcards.name in {"benchmark", "audits", "oops-audit"} else [],
        results=lambda wildcards: RESULTS if "datasets" in SETTINGS.get(wildcards.name, {}) else [],
    output:
        "_build/notebooks/{name}.ipynb",
    benchmark:
        "_build/benchmarks/{name}.tsv"
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
        estimators=lambda wildcards: int(wildcards.name in SHARE["estimators"]),
        bias=lambda wildcards: int(wildcards.name in SHARE["bias"]),
        targets=lambda wildcards: int(wildcards.name in SHARE["targets"]),
    params:
        settings=lambda wildcards: SETTINGS.get(wildcards.name, {}),  # a changed profile is a reason to run
        sources=lambda wildcards: SOURCES.chapter(wildcards.name),
    shell:
        "{FORKED} fslbook run {wildcards.name} --profile {PROFILE} -o {output}"


use rule notebook as first_notebook with:
    output:
        f"_build/notebooks/{{name,{FIRST}}}.ipynb",
    priority: 2


use rule notebook as then_notebook with:
    output:
        f"_build/notebooks/{{name,{THEN}}}.ipynb",
    priority: 1


rule site:
    input:
        expand("_build/notebooks/{name}.ipynb", name=NOTEBOOKS),
        "_config.yml",
        "_toc.yml",
        [str(p) for p in sorted(Path("book").rglob("*")) if p.is_file() and "__pycache__" not in p.parts],
    output:
        touch("_build/site.done"),
    params:
        sources=lambda wildcards: SOURCES.digest(SOURCES.files),  # the API reference
        chapters=lambda wildcards: f"--profile {PROFILE} --chapters {' '.join(NOTEBOOKS)}" if len(NOTEBOOKS) < ALL else "",
    resources:
        runtime=NEEDS.minutes(30),
        mem_mb=NEEDS.memory(8000),
    shell:
        "PYTHONPATH=book {FORKED} assemble {params.chapters}"
