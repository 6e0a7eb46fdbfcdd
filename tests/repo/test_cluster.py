"""What a cluster is told: parts of what ships, resources of every rule, and a profile that Snakemake takes.

    python tests/repo/test_cluster.py    # writes data/parts.yml, the parts that the build scripts have

That a cluster gives the same results is the work of ``make cluster-test`` (`cluster/run.py`).
"""

import re
import sys

import pytest
import yaml
from jobs import asked
from running import captured
from snakemake.cli import get_argument_parser
from snakemake.exceptions import WorkflowError

from fslcore.paths import DATA, ROOT
from tests.checkout import build_script, copy_sources

PARTS = DATA / "parts.yml"
KINDS = "checkpoints coverage episodes results runs".split()
SLURM = ROOT / "profiles" / "slurm"
PROFILE = yaml.safe_load((SLURM / "config.yaml").read_text())


def names(kind):
    build = build_script(kind)
    return [name for name, *_ in (build.settings() if kind == "results" else build.parts())]


def dry_run(folder, *options):
    """Rule, wildcards and resources of every job that would be run."""
    command = [sys.executable, "-m", "snakemake", "--nolock", "-n", *map(str, options)]
    done = captured(command, cwd=folder)
    assert done.returncode == 0, done.stderr + done.stdout
    # Those of a group stand further in.
    matches = re.findall(
        r"^( *)(?:local)?rule (\S+):\n((?:\1    .*\n)+)", done.stdout, re.MULTILINE
    )
    lines = [
        (rule, dict(re.findall(r"^ +(\w+): (.*)$", text, re.MULTILINE)))
        for _, rule, text in matches
    ]
    jobs = []
    for rule, fields in lines:
        resources = dict(re.findall(r"(\w+)=([^,]+)", fields.get("resources", "")))
        jobs.append((rule, fields.get("wildcards", ""), resources))
    return jobs


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The graph in a folder where nothing was built: sources, and links to data."""
    folder = tmp_path_factory.mktemp("cluster") / "checkout"
    copy_sources(folder)
    (folder / "data").unlink()
    (folder / "data").mkdir()
    for source in DATA.iterdir():
        (folder / "data" / source.name).symlink_to(source)
    return folder


@pytest.fixture(scope="module")
def of_book(checkout):
    """By the profile, all of it but the lines of the executor, which is no part of the environment; in parts."""
    profile = {
        key: value
        for key, value in PROFILE.items()
        if key != "executor" and not key.startswith("slurm-")
    }
    (checkout / "profiles" / "own").mkdir()
    (checkout / "profiles" / "own" / "config.yaml").write_text(yaml.safe_dump(profile))
    return dry_run(checkout, "--workflow-profile", "profiles/own", "--config", "parts=3")


@pytest.fixture(scope="module")
def of_data(checkout):
    return dry_run(checkout, "-s", "data/Snakefile")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "results"])
def test_parts_are_those_that_the_build_script_has(kind):
    assert yaml.safe_load(PARTS.read_text())[kind] == names(kind), (
        "run: python tests/repo/test_cluster.py"
    )


def test_parts_of_results_and_networks_are_the_files_that_ship():
    parts = yaml.safe_load(PARTS.read_text())
    assert set(parts) == set(KINDS)
    assert sorted(parts["results"]) == sorted(p.stem for p in (DATA / "results").glob("*.npz"))
    networks = [
        p.relative_to(DATA / "checkpoints") for p in (DATA / "checkpoints").rglob("*.safetensors")
    ]
    assert set(parts["checkpoints"]) == {str(p.with_suffix("")) for p in networks} - {"glyph-conv"}


@pytest.mark.slow
def test_every_rule_has_resources(of_book, of_data):
    """Time and memory of each job, of the book in parts and of all that ships."""
    done = of_book + of_data
    rules = {rule for rule, *_ in done}
    assert rules >= set("shards features blocks evaluate notebook site part gather".split())
    for rule, wildcards, needs in done:
        if rule not in ("all", *KINDS):
            assert int(needs["runtime"]) > 0 and int(needs["mem_mb"]) > 0, (rule, wildcards)


@pytest.mark.slow
def test_parts_share_one_evaluation(checkout, of_book):
    pair = [
        rule for rule, wildcards, _ in of_book if re.match(r"pair=fashion\.glyph-conv\b", wildcards)
    ]
    assert sorted(pair) == ["blocks"] * 3 + ["evaluate", "features"] + ["shards"] * 3
    alone = dry_run(checkout, "_build/results/fashion.glyph-conv.parquet")
    assert [rule for rule, *_ in alone] == ["evaluate"]


def test_every_part_is_a_job(of_data):
    parts = [wildcards for rule, wildcards, _ in of_data if rule == "part"]
    wanted = yaml.safe_load(PARTS.read_text())
    assert sorted(parts) == sorted(
        f"kind={kind}, part={name}" for kind in KINDS for name in wanted[kind]
    )


def test_a_network_that_is_missing_comes_before_what_reads_it(checkout):
    networks = checkout / "data" / "checkpoints"
    target = networks.readlink()
    networks.unlink()
    networks.mkdir()
    matches = dry_run(
        checkout, "-s", "data/Snakefile", "_build/data/results/clipart.conv4-maml.oracle.done"
    )
    networks.rmdir()
    networks.symlink_to(target)
    assert {w for _, w, _ in matches} == {
        "kind=checkpoints, part=conv4-maml",
        "kind=results, part=clipart.conv4-maml.oracle",
    }


@pytest.mark.parametrize(
    "name, value, minimum",
    [("parts", 0, 1), ("parts", "many", 1), ("slower", 0.5, 1), ("gpu", -1, 0)],
)
def test_a_wrong_number_is_told(name, value, minimum):
    with pytest.raises(WorkflowError, match=f"{name} .* >= {minimum}, got {value}"):
        asked({name: value}, name, 1, minimum)


def test_the_profile_names_options_that_snakemake_has(of_book):
    """It passes over others in silence. (Those of the executor are seen by `make cluster-test`.)"""
    options = {
        o.removeprefix("--")
        for action in get_argument_parser()._actions
        for o in action.option_strings
    }
    assert PROFILE["executor"] == "slurm"
    assert {key for key in PROFILE if not key.startswith("slurm-")} <= options
    rules = {rule for rule, *_ in of_book}
    assert set(PROFILE["groups"]) <= rules and set(PROFILE["group-components"]) == set(
        PROFILE["groups"].values()
    )
    config = yaml.safe_load((ROOT / PROFILE["configfile"]).read_text())
    assert set(config) == {"parts", "slower", "gpu"}


def test_chapters_that_share_run_one_at_a_time_on_a_cluster_too():
    """What the Makefile allows one of on a machine, the profile allows one of on a cluster."""
    makefile = re.search(r"--resources ((?:\w+=1 )+)", (ROOT / "Makefile").read_text())[1]
    assert PROFILE["resources"] == dict.fromkeys(re.findall(r"(\w+)=1", makefile), 1)


def write():
    PARTS.write_text(
        "# What data/Snakefile makes, by folder. Written by: python tests/repo/test_cluster.py\n"
        + yaml.safe_dump({kind: names(kind) for kind in KINDS}, sort_keys=False, width=120)
    )
    print(f"{PARTS}: {sum(map(len, yaml.safe_load(PARTS.read_text()).values()))} parts")


if __name__ == "__main__":
    write()
