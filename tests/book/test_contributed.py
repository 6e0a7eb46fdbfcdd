"""Contributed files in chapters and in the ledger; what the ledger says of the paper's data, computed from digests."""

import json
import re
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from markdown_it import MarkdownIt
from refusal import refuses

from fslbook import contributed, published, reported as shown_from
from fslbook.evaluations import evaluations
from fslbook.evaluators import estimates, selection
from fslbook.fewstab import own_data
from fslbook.oops import benchmark
from fslcore import evaluation, sources

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import executed  # noqa: E402
import ledger_page  # noqa: E402
import provenance  # noqa: E402

ODD = "A. <b>Name</b> & $x_1$ | *y* `z` {doc}"
SHAPE = dict(ways=5, shots=5, queries=15, seed=0)
PROFILES = [
    yaml.safe_load((ROOT / "profiles" / name).read_text()) for name in ("oops.yml", "fewstab.yml")
]
PROFILE = PROFILES[0] | PROFILES[1]


def results(tasks=40):
    tables = []
    methods = product(("clip-released", "dino-released"), ("ncc", "lr", "ft"), ("closed", "open"))
    for number, (backbone, learner, sampling) in enumerate(methods):
        accuracy = np.random.default_rng(number).normal(70 + number, 8, tasks)
        facts = dict(dataset="dtd", backbone=backbone, learner=learner, sampling=sampling, **SHAPE)
        tables.append(pd.DataFrame({"task": range(tasks), "accuracy": accuracy}).assign(**facts))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture
def contribute(monkeypatch):
    """Puts a file into data/contributed, as far as chapters see it."""

    def place(**content):
        file = SimpleNamespace(by=ODD, **content)
        monkeypatch.setattr(contributed, "contributed", lambda folder=None: [file])
        return file

    return place


@pytest.fixture
def odd_file(contribute):
    return contribute(results=results(), images={"dtd": 840})


def reported(**shape):
    def cells(rows, images):
        return benchmark.intervals(rows, 0.95, images)

    return shown_from.reported(
        cells, published.table(2), 0.95, **{"ways": 5, "sizes": [(5, 15)], "seed": 0, **shape}
    )


def test_contributed_cells_stand_beside_the_printed_ones_with_who_reports_them(odd_file):
    cells = reported()
    assert list(cells.index.names) == ["reported by", "dataset", "backbone", "learner", "sampling"]
    assert (
        set(cells.index.get_level_values(0)) == {ODD}
        and "reported" in cells
        and "live" not in cells
    )
    method = "backbone == 'clip-released' and learner == 'lr' and sampling == 'open'"
    mean = odd_file.results.query(method)["accuracy"].mean()
    assert cells.loc[(ODD, "dtd", "clip", "lr", "open"), "reported"].startswith(f"{mean:.2f} ± ")
    assert (
        reported(sizes=[(1, 1)]).empty
        and reported(seed=1).empty
        and published.whole(reported(seed=1)) is None
    )


def test_pairs_that_others_report_are_held_against_tables_1_and_3(odd_file):
    counts = benchmark.reported_agreement(0.95, ways=5, sizes=[(5, 15)], seed=0)
    assert (
        list(counts.index) == [(ODD, "Table 1"), (ODD, "Table 3")] and (counts["pairs"] > 0).all()
    )
    expected = benchmark.agreement(
        benchmark.pair_table(odd_file.results), benchmark.printed_pairs(3)
    )
    assert counts.loc[(ODD, "Table 3")].dropna().to_dict() == expected.to_dict()
    assert benchmark.reported_agreement(0.95, ways=5, sizes=[(1, 1)], seed=0).empty


def test_names_are_no_markup_wherever_they_are_shown(odd_file):
    text = published.whole(reported()).data
    assert "<b>Name" not in text and "&lt;b&gt;Name&lt;/b&gt; &amp; $x_1$" in text
    assert 'class="dataframe tex2jax_ignore' in text  # formulas are looked for in no such table
    table = f"| a | b |\n| - | - |\n| x {provenance.escaped(ODD)} | y |"
    page = MarkdownIt("commonmark").enable("table").render(table)
    assert "<td>x A. &lt;b&gt;Name&lt;/b&gt; &amp; $x_1$ | *y* `z` {doc}</td>" in page
    assert (
        provenance.escaped("$x$ {{a}}") == r"\$x\$ \{\{a\}\}"
    )  # MyST has formulas and substitutions besides


# ---- results per task of the other two papers


def paper_results(tasks=30):
    """Re-split tasks of five learners, and random and biased ones of two, as a file holds them."""
    rng, shape = np.random.default_rng(0), dict(ways=5, queries=15, seed=0)
    rows = []
    for network in ("baseline", "baseline++", "protonet", "r2d2", "maml"):
        learner = {"baseline": "lr-raw", "baseline++": "cosine"}.get(network, network)
        facts = dict(dataset="cifar-fs", sampling="re-split", captioner=None, shots=5, rounds=30)
        rows.append(
            dict(
                backbone=f"trained:evaluators/cifar-fs/{network}", learner=learner, **facts, **shape
            )
        )
    arrays = [(row, rng.uniform(size=(tasks, 6))) for row in rows]
    for network, captioner in product(
        ("rfs", "1shot-rfs", "1shot-anil", "anil"), (None, "vit-gpt2", "blip-large")
    ):
        learner, sampling = (
            "lr" if "rfs" in network else "anil",
            "biased" if captioner else "closed",
        )
        facts = dict(
            dataset="cub?splits=fewstab",
            sampling=sampling,
            captioner=captioner,
            shots=1,
            rounds=None,
        )
        row = dict(
            backbone=f"trained:fewstab/cub-splits-fewstab/{network}",
            learner=learner,
            **facts,
            **shape,
        )
        arrays.append((row, rng.integers(0, 16, (tasks, 10 if captioner else 5))))
    return arrays


def test_cells_per_task_stand_beside_the_printed_ones_with_who_reports_them(contribute):
    file = contribute(arrays=paper_results())
    shape = dict(ways=5, shots=5, queries=15, seed=0, rounds=30)
    means, sizes, chosen = (
        estimates.reported(1, **shape),
        estimates.reported(2, **shape),
        selection.reported(**shape),
    )
    assert (len(means), len(sizes), len(chosen)) == (5 * 5, 5 * 4, 5)
    oracle = 100 * file.arrays[0][1][:, 0].mean()
    assert means.loc[(ODD, "CIFAR-FS", "Baseline", "oracle"), "reported"].startswith(
        f"{oracle:.2f} ± "
    )
    assert estimates.reported(1, **shape | {"rounds": 20}).empty
    file.arrays = file.arrays[1:]  # four learners: nothing that the paper's five are compared with
    assert selection.reported(**shape).empty and len(estimates.reported(1, **shape)) == 4 * 5


def test_cells_on_biased_tasks_are_those_of_the_papers_networks_and_captioners(contribute):
    file = contribute(arrays=paper_results())
    shape, table = dict(ways=5, queries=15, seed=0), published.table("S8", "fewstab")
    cells = own_data.reported(table, ["vit-gpt2", "blip-large"], ["wacc-a"], **shape)
    learners = {key[3] for key in cells.index}
    assert (
        learners == {"rfs", "anil"} and len(cells) == 2 * 2
    )  # trained on batches, and with as many shots as tested
    anil = "trained:fewstab/cub-splits-fewstab/1shot-anil"
    (right,) = (
        array
        for row, array in file.arrays
        if (row["captioner"], row["backbone"]) == ("blip-large", anil)
    )
    worst = 100 * right[:, 5:].min(axis=1).mean() / 15
    assert cells.loc[(ODD, "cub", 1, "anil", "blip"), "reported"].startswith(f"{worst:.2f} ± ")
    cells = own_data.reported(
        published.table(3, "fewstab"), ["vit-gpt2"], ["wacc-r", "wacc-a"], **shape
    )
    assert len(cells) == 2 * 2 and "not drawn again" in shown_from.UNDRAWN
    assert own_data.reported(table, ["vit-gpt2"], ["wacc-a"], **shape | {"seed": 1}).empty


# ---- the ledger


def item(name):
    return next(i for i in ledger_page.read_ledger(ROOT / "book" / "ledger.yml") if i["id"] == name)


def digests_of(file):
    return {kind: getattr(file, kind) for kind in sources.LENGTHS if getattr(file, kind)}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Executed chapters with parameters of the profile, and digests of data and weights as the manifest lists them."""
    manifest = sources.shipped()
    listed = {
        name: {file.name: digests_of(file) for file in data.files}
        for name, data in manifest.data.items()
    }
    weights = {name: network.sha256 or "0" * 64 for name, network in manifest.weights.items()}
    monkeypatch.setattr(
        sources, "digests", lambda name: listed.get(manifest.aliases.get(name, name), {})
    )

    def load(name):
        return SimpleNamespace(weights=weights[name.removesuffix("-released")])

    monkeypatch.setattr(evaluation, "load_backbone", load)

    def status(name="oops-table-2", **changes):
        chapter = item(name).get("live_in", item(name)["chapter"])
        parameters = PROFILE.get(chapter, {}) | changes
        book = {"metadata": {"papermill": {"parameters": parameters}}}
        (tmp_path / f"{chapter}.ipynb").write_text(json.dumps(book))
        return provenance.of_items([item(name)], ROOT, tmp_path)[name]

    return SimpleNamespace(listed=listed, weights=weights, status=status)


def undigested(status):
    """What a status says has no digest: the names after the last "of" of its bracket."""
    return set(re.search(r"\(.* of (.*)\)$", status.text)[1].split(", "))


def test_yes_only_where_all_data_are_there_and_every_digest_is_the_manifests(site):
    status = site.status("oops-table-2")
    assert status.text.startswith("yes") and undigested(status) == {"dino"}
    assert status.labels == ("live on the paper's data",)
    other = site.status(tasks=40, ft_open=2)
    assert other.text.startswith("yes") and undigested(other) == {"dino"}
    assert all(name in other.text and name not in status.text for name in ("tasks", "ft_open"))
    assert site.status("oops-figure-2").text == provenance.NEEDLESS
    status = site.status("fewstab-table-3")
    assert status.text.startswith("yes")
    assert undigested(status) == {"cub-fewstab", "miniimagenet", "tieredimagenet", "vit-gpt2"}
    assert site.status("fewstab-table-3", captioner="blip-large").text == provenance.NOT_YET
    nine = PROFILE["closed-vs-open"]["datasets"]
    path = [name if name != "dtd" else "dtd:/data/dtd" for name in nine]
    chen = [
        name.replace("meta-dataset", "chen") for name in nine
    ]  # other classes of the same files
    for datasets in (["clipart"], nine[1:], path, chen):
        assert site.status(datasets=datasets).text == provenance.NOT_YET
    assert site.status(backbones=["clip-released", "glyph-conv"]).text == provenance.NOT_YET
    site.weights["clip"] = "f" * 64
    assert site.status().text == provenance.NOT_YET
    site.weights["clip"] = sources.shipped().weights["clip"].sha256
    assert site.status().text.startswith("yes")
    site.listed["dtd"]["dtd-r1.0.1.tar.gz"]["md5"] = "f" * 32
    assert site.status().text == provenance.NOT_YET
    site.listed["dtd"] = {}  # put there by hand
    assert site.status().text == provenance.NOT_YET


def test_an_item_is_run_where_it_is_live_and_judged_where_its_print_is(site):
    name = "oops-table-5"
    assert (item(name)["chapter"], item(name)["live_in"]) == ("audits", "benchmark")
    assert site.status(name).text.startswith("yes")
    assert site.status(name, datasets=["clipart"]).text == provenance.NOT_YET
    pages = {"audits": ("Audits", {name}), "benchmark": ("The benchmark", set())}
    place = ledger_page.place_of(item(name), pages, has_code=False)
    links = re.findall(r'href="([^"]*)">([^<]*)<', place)
    assert links == [(f"audits.html#{name}", "Audits"), ("benchmark.html", "The benchmark")]
    assert "live" not in ledger_page.place_of(item(name), {"audits": pages["audits"]}, False)
    assert "live_in" in ledger_page.fault_of(item(name) | {"how": ["released"]})
    assert not ledger_page.fault_of(item(name))


def test_an_item_is_reported_where_a_file_has_all_its_evaluations(site, contribute):
    wanted = evaluations({"closed-vs-open": PROFILE["closed-vs-open"]})["closed-vs-open"]
    rows = [{name: getattr(row, name) for name in (*provenance.KEY, "tasks")} for row in wanted]
    file = contribute(about={"results": rows})
    file.by = "A_B"
    clipart = {"datasets": ["clipart"]}
    status = site.status(**clipart)
    assert status.text == r"reported by A\_B" and status.labels == ("reported",)
    assert site.status().text.startswith("yes")  # this build's own come first
    fewer = [row | {"tasks": 100} for row in rows]
    for part in (rows[1:], [*fewer[:1], *rows[1:]]):
        file.about["results"] = part
        assert site.status(**clipart).text == r"reported by A\_B (in part)"
    file.about["results"] = fewer
    assert site.status(**clipart).text == provenance.NOT_YET
    assert (
        site.status("oops-figure-4", **clipart).text == provenance.NOT_YET
    )  # no plain evaluations


def test_a_file_that_does_not_pass_its_checks_stops_chapters_and_site(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "contributed"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("card")
    assert contributed.contributed(folder) == []
    (folder / "x.zip").write_bytes(b"no archive")
    with pytest.raises(executed.SiteError, match=r"data/contributed.*x\.zip.*pack"):
        provenance.of_items([item("oops-table-2")], tmp_path, tmp_path)
    monkeypatch.setattr(contributed, "DATA", tmp_path / "data")
    with refuses(r"x\.zip", "pack"):
        reported()
