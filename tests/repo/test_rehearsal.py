"""A short rehearsal: archives of each format, a network, a run, its file, and a copy that shows it.

The whole one is ``make rehearsal``.
"""

import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml
from running import captured

HERE = Path(__file__).parents[1]
sys.path[:0] = [str(HERE / "rehearsal"), str(HERE)]

import miniatures  # noqa: E402
import packed  # noqa: E402
import rehearse  # noqa: E402
import served  # noqa: E402

FORMATS = {
    "dtd": "tar.gz",
    "omniglot": "zip",
    "vgg-flower": ".mat beside an archive",
    "mscoco": "COCO JSON",
    "quickdraw": ".npy",
    "traffic-signs": ".ppm and lines of CSV",
}
SHAPE = {"shots": 1, "queries": 9, "tasks": 8, "max_open": 2}
# The cell of the chapter that shows what others reported (all of the chapter is built in `make rehearsal`).
REPORTED_TABLE = """
from fslbook import published, reported
from fslbook.oops import benchmark

cells = reported.reported(
    lambda rows, images: benchmark.intervals(rows, 0.95, images),
    published.table(2), 0.95, ways=5, sizes=[(1, 9)], seed=0,
)
print(published.whole(cells)._repr_html_())
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A server with miniatures, a manifest of them, and the environment of a machine that has nothing yet."""
    folder = tmp_path_factory.mktemp("rehearsal")
    server = served.start()
    (folder / "made").mkdir()
    with pytest.MonkeyPatch.context() as patch:  # many are for a chapter that is not run here
        few = partial(miniatures.signs, count=miniatures.N)
        patch.setitem(miniatures.OF_PAPER["oops"], "traffic-signs", few)
        manifest = rehearse.manifest("oops", server, folder / "made", folder / "cache" / "data")
    environ = rehearse.environment(folder, server, manifest) | {
        "PYTHONPATH": f"{rehearse.ROOT}:{rehearse.ROOT / 'book'}",
        "HF_HUB_OFFLINE": "0",
    }
    yield folder, environ
    server.shutdown()
    server.server_close()


def command(program, *words, cwd, env):
    command = [sys.executable, "-m", program, *map(str, words), "--quiet"]
    return captured(command, cwd=cwd, env=env)


@pytest.mark.slow
def test_a_paper_from_nothing_to_a_file_that_another_copy_shows(run):
    folder, environ = run
    done = command("fslcore", "fetch", *FORMATS, "clip", "--accept-terms", cwd=folder, env=environ)
    assert done.returncode == 0, done.stderr

    parameters = {
        "datasets": list(FORMATS),
        "backbones": ["clip-released"],
        "learners": ["lr"],
        **SHAPE,
    }
    profile = {"closed-vs-open": parameters}
    (folder / "small.yml").write_text(yaml.safe_dump(profile))
    done = command(
        "fslbook", "pack", "small.yml", "--by", "x", "-o", "early.zip", cwd=folder, env=environ
    )
    assert done.returncode == 2 and done.stderr.count("was never computed") == 2 * len(FORMATS)
    words = "run closed-vs-open --profile small.yml -o own.ipynb".split()
    done = command("fslbook", *words, cwd=folder, env=environ)
    assert done.returncode == 0, done.stderr
    pages = "".join(rehearse.html_outputs(folder / "own.ipynb"))
    assert "in standard errors" in pages and all(
        f"<th>{name}" in pages or f">{name}</th>" in pages for name in FORMATS
    )

    file = packed.pack("small.yml", folder, environ)
    assert (
        file.read_bytes() == (folder / "again.zip").read_bytes() and file.stat().st_size < 100_000
    )

    done, refused = packed.printed_in_copy(file, REPORTED_TABLE, folder / "second", environ)
    assert done.returncode == 0, done.stderr
    assert packed.SHOWN in done.stdout and "<b class" not in done.stdout
    assert "<th>reported by</th>" in done.stdout
    assert refused.returncode != 0, "the manifest that ships lists other files"
    assert "rehearsal.zip: " in refused.stderr and "has SHA256" in refused.stderr, refused.stderr


def test_each_chapter_with_live_cells_beside_printed_ones_is_rehearsed():
    """Their number is read from the chapter: a table that it drops or adds changes what its build must have."""
    texts = {path.stem: path.read_text("utf-8") for path in rehearse.ROOT.glob("notebooks/*.md")}
    assert {name for name in texts if rehearse.tables_beside(name)} == set(rehearse.BESIDE)
    own_tables = re.compile(r"^published\.whole\(own_.*", re.MULTILINE)
    for name, text in texts.items():
        for cell in re.findall(r"^```\{code-cell\}.*?^```$", text, re.MULTILINE | re.DOTALL):
            assert not own_tables.search(cell) or rehearse.CAPTION in cell, (name, cell)


@pytest.mark.parametrize("tables, faults", [(2, 0), (1, 1), (3, 1)])
def test_a_build_without_a_table_or_with_another_one_is_found(tmp_path, tables, faults):
    assert rehearse.tables_beside("spurious-bias") == 2
    (tmp_path / "small.yml").write_text("spurious-bias: {}")
    built = tmp_path / "_build"
    (built / "html").mkdir(parents=True)
    (built / "html" / "spurious-bias.html").write_text("")
    (built / "notebooks").mkdir()
    page = {"text/html": f"in standard errors {rehearse.BESIDE['spurious-bias']}"}
    cells = {"cells": [{"outputs": [{"data": page}]}] * tables}
    (built / "notebooks" / "spurious-bias.ipynb").write_text(json.dumps(cells))
    wrong = rehearse.checked(tmp_path)
    assert len(wrong) == faults
    assert all(
        f"{tables} tables of live cells beside printed ones, not 2" in line for line in wrong
    )
