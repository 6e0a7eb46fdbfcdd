"""What a cluster is told: parts of what ships, resources of every rule, and a profile that Snakemake takes.

    python tests/test_cluster.py    # writes data/parts.yml, the parts that the build scripts have

That a cluster gives the same results is the work of ``make cluster-test`` (`cluster/run.py`).
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fslcore.paths import DATA, ROOT

PARTS = DATA / "parts.yml"
KINDS = ("checkpoints", "coverage", "episodes", "results", "runs")
SNAKEFILES = {"Snakefile": ROOT / "Snakefile", "data/Snakefile": DATA / "Snakefile"}
SLURM = ROOT / "profiles" / "slurm"


def script(kind):
    spec = importlib.util.spec_from_file_location(f"{kind}_build", DATA / kind / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(kind):
    made = script(kind)
    return [name for name, *_ in (made.settings() if kind == "results" else made.parts())]


def snakemake(*options, cwd=ROOT):
    command = [sys.executable, "-m", "snakemake", "--nolock", "-n", *map(str, options)]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """The graph in a folder where nothing was built: sources, and links to data."""
    for name in ("fslcore", "book", "notebooks", "profiles"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "data").mkdir()
    for source in DATA.iterdir():
        (tmp_path / "data" / source.name).symlink_to(source)
    return tmp_path


def jobs(said):
    """Rule, wildcards and resources of every job of a dry run."""
    found = re.findall(r"^(?:local)?rule (\S+):\n((?:    .*\n)+)", said, re.MULTILINE)
    lines = ((rule, dict(re.findall(r"^    (\w+): (.*)$", text, re.MULTILINE))) for rule, text in found)
    return [
        (rule, of.get("wildcards", ""), dict(re.findall(r"(\w+)=([^,]+)", of.get("resources", "")))) for rule, of in lines
    ]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "results"])
def test_parts_are_those_that_the_build_script_has(kind):
    assert yaml.safe_load(PARTS.read_text())[kind] == names(kind), "run: python tests/test_cluster.py"


def test_parts_of_results_and_networks_are_the_files_that_ship():
    parts = yaml.safe_load(PARTS.read_text())
    assert set(parts) == set(KINDS)
    assert sorted(parts["results"]) == sorted(p.stem for p in (DATA / "results").glob("*.npz"))
    networks = [p.relative_to(DATA / "checkpoints") for p in (DATA / "checkpoints").rglob("*.safetensors")]
    assert set(parts["checkpoints"]) == {str(p.with_suffix("")) for p in networks} - {"glyph-conv"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_part_is_told_in_a_line(kind, monkeypatch, capsys):
    build = script(kind)
    monkeypatch.setattr(sys, "argv", ["build.py", "--part", "attic"])
    if kind == "results":
        monkeypatch.setattr(build, "settings", lambda: iter(()))
    with pytest.raises(SystemExit, match="2"):
        build.main()
    assert "part = attic; data/parts.yml names the parts" in capsys.readouterr().err


def test_a_part_is_kept_and_nothing_is_gathered(monkeypatch, tmp_path):
    """Of the coverage study: the bytes that the whole command keeps, and no table."""
    build = script("coverage")
    table = lambda: build.pd.DataFrame({"a": [1.0]})  # noqa: E731
    monkeypatch.setattr(build, "STUDIED", {"gaps": lambda: iter([("0-images", table), ("1-images", table)])})
    monkeypatch.setattr(build, "gather", lambda *a: pytest.fail("gathered"))
    monkeypatch.setattr(build._build, "bind", lambda *a: pytest.fail("bound"))
    monkeypatch.setattr(sys, "argv", ["build.py", "--part", "gaps-1-images"])
    build.main()
    kept = [p.name for p in (tmp_path / "cache" / "coverage").iterdir()]
    assert kept == ["gaps-1-images.parquet"]


def test_every_rule_has_resources(checkout):
    """Time and memory of each job, of the book in parts and of all that ships."""
    book = snakemake("--config", "parts=3", cwd=checkout)
    data = snakemake("-s", "data/Snakefile", cwd=checkout)
    assert (book.returncode, data.returncode) == (0, 0), book.stderr + data.stderr
    done = jobs(book.stdout + book.stderr) + jobs(data.stdout + data.stderr)
    rules = {rule for rule, *_ in done}
    assert {"features", "blocks", "evaluate", "notebook", "site", "part", "gather"} <= rules
    for rule, wildcards, needs in done:
        if rule not in ("all", *KINDS):
            assert int(needs["runtime"]) > 0 and int(needs["mem_mb"]) > 0, (rule, wildcards)


def test_every_part_is_a_job(checkout):
    said = snakemake("-s", "data/Snakefile", cwd=checkout).stdout
    parts = [wildcards for rule, wildcards, _ in jobs(said) if rule == "part"]
    wanted = yaml.safe_load(PARTS.read_text())
    assert sorted(parts) == sorted(f"kind={kind}, part={name}" for kind in KINDS for name in wanted[kind])


def test_a_network_that_is_missing_comes_before_what_reads_it(checkout):
    (checkout / "data" / "checkpoints").unlink()
    (checkout / "data" / "checkpoints").mkdir()
    said = snakemake("-s", "data/Snakefile", "_build/data/results/clipart.conv4-maml.oracle.done", cwd=checkout).stdout
    assert {w for rule, w, _ in jobs(said)} == {
        "kind=checkpoints, part=conv4-maml",
        "kind=results, part=clipart.conv4-maml.oracle",
    }


def test_parts_share_one_evaluation(checkout):
    target = "_build/results/fashion.glyph-conv.parquet"
    alone, parts = (jobs(snakemake(target, "--config", f"parts={n}", cwd=checkout).stdout) for n in (1, 3))
    assert [rule for rule, *_ in alone] == ["evaluate"]
    assert sorted(rule for rule, *_ in parts) == ["blocks"] * 3 + ["evaluate"] + ["features"] * 3


@pytest.mark.parametrize("given", ["parts=0", "parts=many", "slower=0.5", "gpu=-1"])
def test_a_wrong_number_is_told(checkout, given):
    done = snakemake("--config", given, cwd=checkout)
    name, _, value = given.partition("=")
    assert done.returncode and f"{name} = {value}; a whole number from" in done.stdout + done.stderr


def test_the_profile_is_one_that_snakemake_takes(checkout):
    """All of it but the lines of the executor, which is no part of the environment."""
    profile = yaml.safe_load((SLURM / "config.yaml").read_text())
    own = {key: value for key, value in profile.items() if key != "executor" and not key.startswith("slurm-")}
    assert profile["executor"] == "slurm" and len(own) < len(profile) - 1
    (checkout / "profiles" / "slurm" / "config.yaml").write_text(yaml.safe_dump(own))
    done = snakemake("--workflow-profile", "profiles/slurm", cwd=checkout)
    assert done.returncode == 0, done.stderr
    parts = yaml.safe_load((SLURM / "build.yaml").read_text())["parts"]
    assert len([1 for rule, *_ in jobs(done.stdout) if rule == "features"]) % parts == 0
    broken = own | {"latency": 3}
    (checkout / "profiles" / "slurm" / "config.yaml").write_text(yaml.safe_dump(broken))
    assert snakemake("--workflow-profile", "profiles/slurm", cwd=checkout).returncode


def test_chapters_that_share_run_one_at_a_time_on_a_cluster_too():
    """What the Makefile allows one of on a machine, the profile allows one of on a cluster."""
    profile = yaml.safe_load((SLURM / "config.yaml").read_text())
    makefile = re.search(r"--resources ((?:\w+=1 )+)", (ROOT / "Makefile").read_text())[1]
    assert profile["resources"] == dict.fromkeys(re.findall(r"(\w+)=1", makefile), 1)


def test_the_executor_is_pinned():
    lines = [n for n in (SLURM / "requirements.txt").read_text().splitlines() if not n.startswith("#")]
    assert len(lines) == 2 and all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines)


def write():
    PARTS.write_text(
        "# What data/Snakefile makes, by folder. Written by: python tests/test_cluster.py\n"
        + yaml.safe_dump({kind: names(kind) for kind in KINDS}, sort_keys=False, width=120)
    )
    print(f"{PARTS}: {sum(map(len, yaml.safe_load(PARTS.read_text()).values()))} parts")


if __name__ == "__main__":
    write()
