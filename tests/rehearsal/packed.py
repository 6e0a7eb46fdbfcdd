"""The end of a rehearsal: a paper's run as one file, and a second, clean build that is shown it."""

import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import yaml
from checkout import ROOT, copy_sources
from running import captured

BY = 'Rehearsal & <b class="no">co</b>, $x_1$'  # as odd as a name may be
SHOWN = "Rehearsal &amp; &lt;b"
CHAPTERS = ("closed-vs-open", "comparing-methods", "benchmark")
SHAPE = (
    "shots queries usual_queries tasks max_open max_tasks".split()
)  # of which both runs have the same


def pack(profile: str, folder: Path, environ: dict) -> Path:
    """The file of a run that is done, written twice: as ``rehearsal.zip`` and as ``again.zip``."""
    paths = [folder / name for name in ("rehearsal.zip", "again.zip")]
    for path in paths:
        command = [
            sys.executable,
            "-m",
            "fslbook",
            "pack",
            profile,
            "--by",
            BY,
            "-o",
            str(path),
            "--quiet",
        ]
        subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    print(f"pack: {paths[0].stat().st_size:,} bytes", flush=True)
    return paths[0]


def copied(packed: Path, folder: Path) -> None:
    """The sources in a new folder, with the file in ``data/contributed``."""
    shutil.rmtree(folder, ignore_errors=True)
    copy_sources(folder)
    (folder / "data").unlink()  # a link to all that ships
    (folder / "data" / "contributed").mkdir(parents=True)
    for path in (ROOT / "data").iterdir():
        if path.name != "contributed":
            (folder / "data" / path.name).symlink_to(path)
    shutil.copy(packed, folder / "data" / "contributed")


def of_copy(folder: Path, environ: dict) -> dict:
    """The environment of commands of such a copy, with a cache of its own."""
    return environ | {
        "FSLCORE_CACHE": str(folder / "cache"),
        "PYTHONPATH": f"{folder}:{folder / 'book'}",
    }


#: What the chapters of a paper show of the file, and the name that a reader would look for.
REPORTED = {
    "evaluators": (
        "from fslbook.evaluators import selection, estimates as e",
        "shape = dict(ways=3, shots=2, queries=4, seed=0, rounds=2)",
        "print(len(e.reported(1, **shape)), len(e.reported(2, **shape)), len(selection.reported(**shape)))",
    ),
    "fewstab": (
        "from fslbook import published as p",
        "from fslbook.fewstab import own_data as t",
        "shape = dict(ways=5, queries=2, seed=0)",
        "columns = ['acc', 'wacc-r', 'wacc-a']",
        "both = ['vit-gpt2', 'blip-large']",
        "of = [(3, both[:1], columns), ('S7', both[:1], columns), ('S8', both, columns[2:])]",
        "print(*(len(t.reported(p.table(n, 'fewstab'), by, what, **shape)) for n, by, what in of))",
    ),
}
CELLS = {
    "evaluators": "75 60 15",
    "fewstab": "120 120 120",
}  # data sets, learners, shots, and what is printed of each


def printed_in_copy(
    packed: Path, code: str, folder: Path, environ: dict
) -> tuple[CompletedProcess, CompletedProcess]:
    """What code prints in a copy that has the file: by the rehearsal's manifest, and by the shipped one."""
    copied(packed, folder)
    environ = of_copy(folder, environ)
    shipped_environ = {name: value for name, value in environ.items() if name != "FSLCORE_SOURCES"}
    by_own, by_shipped = (
        captured([sys.executable, "-c", code], cwd=folder, env=variables)
        for variables in (environ, shipped_environ)
    )
    return by_own, by_shipped


def reported(packed: Path, paper: str, folder: Path, environ: dict) -> list[str]:
    """What is wrong with the cells of a copy with the file in ``data/contributed``, and by the manifest that ships."""
    done, refused = printed_in_copy(packed, "\n".join(REPORTED[paper]), folder, environ)
    wrong = []
    if done.stdout.strip() != CELLS[paper]:
        wrong.append(
            f"{paper}: cells of the packed run: {done.stdout} {done.stderr[-500:]}, not {CELLS[paper]}"
        )
    if refused.returncode == 0 or packed.name not in refused.stderr:
        wrong.append(
            f"a rehearsal's file is not refused by the manifest that ships: exit code {refused.returncode}"
        )
    return wrong


def second_build(
    packed: Path, first: dict, build: list[str], folder: Path, environ: dict
) -> list[str]:
    """What is wrong with a clean build that has the file in ``data/contributed``.

    By the manifest that ships it is refused, and the build stops; by the rehearsal's own its cells are shown.

    Parameters
    ----------
    packed : Path
    first : dict
        The profile of the run that was packed.
    build : list of str
        The command, whose last word names the profile.
    folder : Path
        The folder of this build.
    environ : dict
        Of the commands, with ``FSLCORE_SOURCES``.
    """
    copied(packed, folder)
    small = {}
    for name in CHAPTERS:
        small[name] = {key: value for key, value in first[name].items() if key in SHAPE}
        small[name] |= {"datasets": ["clipart"], "backbones": ["glyph-conv", "efficientnet-lite0"]}
        small[name] |= {"learners": ["ncc", "lr"]}
    (folder / "second.yml").write_text(yaml.safe_dump(small))
    environ = of_copy(folder, environ)
    command = [*build[:-1], "profile=second.yml"]
    shipped_environ = {name: value for name, value in environ.items() if name != "FSLCORE_SOURCES"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=shipped_environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wrong = []
    if (
        done.returncode == 0
        or f"{packed.name}: " not in done.stdout
        or "has SHA256" not in done.stdout
    ):
        wrong.append(
            f"a rehearsal's file is not refused by the manifest that ships: exit code {done.returncode}"
        )
    if (folder / "_build" / "html").exists():
        wrong.append("there is a site although the file was refused")
    done = subprocess.run(command, cwd=folder, env=environ)
    if done.returncode:
        return [*wrong, f"the second build ends with exit code {done.returncode}"]
    for name in CHAPTERS:
        page = (folder / "_build" / "html" / f"{name}.html").read_text("utf-8")
        if SHOWN not in page or "<b class=" in page.replace(SHOWN, ""):
            wrong.append(
                f"{name}: the contributed cells are not shown, or with a name that is markup"
            )
    return wrong
