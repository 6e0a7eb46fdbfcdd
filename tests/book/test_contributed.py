"""Contributed files in chapters and in the ledger; what the ledger says of the paper's data, computed from digests."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from markdown_it import MarkdownIt

from fslbook import contributed, published
from fslbook import reported as shown_from
from fslbook.evaluations import evaluations
from fslbook.evaluators import choosing, estimates
from fslbook.fewstab import beside
from fslbook.oops import benchmark
from fslcore import evaluation, sources
from fslcore.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import assemble  # noqa: E402
import provenance  # noqa: E402

ODD = "A. <b>Name</b> & $x_1$ | *y* `z` {doc}"
SHAPE = dict(ways=5, shots=5, queries=15, seed=0)
PROFILE = yaml.safe_load((ROOT / "profiles" / "oops.yml").read_text())
OTHERS = yaml.safe_load((ROOT / "profiles" / "fewstab.yml").read_text())


def results(datasets=("dtd",), tasks=40):
    rows = []
    for i, (dataset, backbone, learner, sampling) in enumerate(
        (d, b, m, s)
        for d in datasets
        for b in ("clip-released", "dino-released")
        for m in ("ncc", "lr", "ft")
        for s in ("closed", "open")
    ):
        accuracy = np.random.default_rng(i).normal(70 + i, 8, tasks)
        of = dict(dataset=dataset, backbone=backbone, learner=learner, sampling=sampling, **SHAPE)
        rows.append(pd.DataFrame({"task": range(tasks), "accuracy": accuracy}).assign(**of))
    return pd.concat(rows, ignore_index=True)


@pytest.fixture
def one(monkeypatch):
    """A file in data/contributed, as far as chapters see it."""
    made = SimpleNamespace(by=ODD, results=results(), images={"dtd": 840})
    monkeypatch.setattr(contributed, "contributed", lambda folder=None: [made])
    return made


def reported(**shape):
    def cells(found, images):
        return benchmark.intervals(found, 0.95, images)

    return shown_from.reported(cells, published.table(2), 0.95, **{"ways": 5, "sizes": [(5, 15)], "seed": 0, **shape})


def test_contributed_cells_stand_beside_the_printed_ones_with_who_reports_them(one):
    found = reported()
    assert list(found.index.names) == ["reported by", "dataset", "backbone", "learner", "sampling"]
    assert set(found.index.get_level_values(0)) == {ODD} and "reported" in found and "live" not in found
    key = (ODD, "dtd", "clip", "lr", "open")
    made = one.results.query("backbone == 'clip-released' and learner == 'lr' and sampling == 'open'")["accuracy"]
    assert found.loc[key, "reported"].startswith(f"{made.mean():.2f} ± ")
    assert reported(sizes=[(1, 1)]).empty and reported(seed=1).empty and published.whole(reported(seed=1)) is None


def test_pairs_that_others_report_are_held_against_tables_1_and_3(one):
    found = benchmark.reported_agreement(0.95, ways=5, sizes=[(5, 15)], seed=0)
    assert list(found.index) == [(ODD, "Table 1"), (ODD, "Table 3")] and (found["pairs"] > 0).all()
    wanted = benchmark.agreement(benchmark.pair_table(one.results), benchmark.printed_pairs(3))
    assert found.loc[(ODD, "Table 3")].dropna().to_dict() == wanted.to_dict()
    assert benchmark.reported_agreement(0.95, ways=5, sizes=[(1, 1)], seed=0).empty


def test_differences_of_tables_4_to_6(one):
    found = benchmark.all_differences(one.results)
    own = benchmark.paired_differences(one.results, benchmark.finetuning_pairs(one.results))
    across = benchmark.paired_differences(one.results, benchmark.crossed_pairs(one.results))
    both = pd.concat([own, across]).drop_duplicates(benchmark.PAIR_KEYS)
    pd.testing.assert_frame_equal(found, both.reset_index(drop=True))
    assert benchmark.all_differences(one.results.query("sampling == 'closed'")).empty


def test_names_are_no_markup_wherever_they_are_shown(one):
    text = published.whole(reported()).data
    assert "<b>Name" not in text and "&lt;b&gt;Name&lt;/b&gt; &amp; $x_1$" in text
    assert 'class="dataframe tex2jax_ignore' in text  # formulas are looked for in no such table
    shown = (
        MarkdownIt("commonmark").enable("table").render(f"| a | b |\n| - | - |\n| x {provenance.escaped(ODD)} | y |")
    )
    assert "<td>x A. &lt;b&gt;Name&lt;/b&gt; &amp; $x_1$ | *y* `z` {doc}</td>" in shown
    assert provenance.escaped("$x$ {{a}}") == r"\$x\$ \{\{a\}\}"  # MyST has formulas and substitutions besides


# ---- results per task of the other two papers


def of_papers(seed=0, tasks=30):
    """A file with re-split tasks of five learners, and with random and biased ones of two."""
    rng, arrays = np.random.default_rng(seed), []
    shape = dict(ways=5, queries=15, seed=0)
    for name, learner in {"baseline": "lr", "baseline++": "cosine"}.items():
        row = dict(
            dataset="cifar-fs", backbone=f"trained:evaluators/cifar-fs/{name}", learner=learner, shots=5, rounds=30
        )
        arrays.append((row | shape | {"sampling": "re-split", "captioner": None}, rng.uniform(size=(tasks, 6))))
    for name in ("protonet", "r2d2", "maml"):
        row = dict(dataset="cifar-fs", backbone=f"trained:evaluators/cifar-fs/{name}", learner=name, shots=5, rounds=30)
        arrays.append((row | shape | {"sampling": "re-split", "captioner": None}, rng.uniform(size=(tasks, 6))))
    for network in ("rfs", "1shot-rfs", "1shot-anil", "anil"):
        learner = "lr" if "rfs" in network else "anil"
        row = dict(dataset="cub?splits=fewstab", backbone=f"trained:fewstab/cub-splits-fewstab/{network}", rounds=None)
        for captioner in (None, "vit-gpt2", "blip-large"):
            of = dict(sampling="biased" if captioner else "closed", captioner=captioner, shots=1, learner=learner)
            arrays.append((row | shape | of, rng.integers(0, 16, (tasks, 10 if captioner else 5))))
    return SimpleNamespace(by=ODD, arrays=arrays)


def test_cells_per_task_stand_beside_the_printed_ones_with_who_reports_them(monkeypatch):
    one = of_papers()
    monkeypatch.setattr(contributed, "contributed", lambda folder=None: [one])
    shape = dict(ways=5, shots=5, queries=15, seed=0, rounds=30)
    means, sizes, chosen = estimates.reported(1, **shape), estimates.reported(2, **shape), choosing.reported(**shape)
    assert (len(means), len(sizes), len(chosen)) == (5 * 5, 5 * 4, 5)
    oracle = 100 * one.arrays[0][1][:, 0].mean()
    assert means.loc[(ODD, "CIFAR-FS", "Baseline", "oracle"), "reported"].startswith(f"{oracle:.2f} ± ")
    assert estimates.reported(1, **shape | {"rounds": 20}).empty
    one.arrays = one.arrays[1:]  # four learners: nothing that the paper's five are compared with
    assert choosing.reported(**shape).empty and len(estimates.reported(1, **shape)) == 4 * 5


def test_cells_on_biased_tasks_are_those_of_the_papers_networks_and_captioners(monkeypatch):
    one = of_papers()
    monkeypatch.setattr(contributed, "contributed", lambda folder=None: [one])
    shape, table = dict(ways=5, queries=15, seed=0), published.table("S8", "fewstab")
    found = beside.reported(table, ["vit-gpt2", "blip-large"], ["wacc-a"], **shape)
    learners = {key[3] for key in found.index}
    assert learners == {"rfs", "anil"} and len(found) == 2 * 2  # trained on batches, and with as many shots as tested
    right = next(
        a for row, a in one.arrays if row["captioner"] == "blip-large" and row["backbone"].endswith("/1shot-anil")
    )
    worst = 100 * right[:, 5:].min(axis=1).mean() / 15
    assert found.loc[(ODD, "cub", 1, "anil", "blip"), "reported"].startswith(f"{worst:.2f} ± ")
    other = beside.reported(published.table(3, "fewstab"), ["vit-gpt2"], ["wacc-r", "wacc-a"], **shape)
    assert len(other) == 2 * 2 and "not drawn again" in shown_from.UNDRAWN
    assert beside.reported(table, ["vit-gpt2"], ["wacc-a"], **shape | {"seed": 1}).empty


# ---- the ledger


def item(name):
    return next(i for i in assemble.read_ledger(ROOT / "book" / "ledger.yml") if i["id"] == name)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Executed chapters with parameters of the profile, and digests of data and weights as the manifest lists them."""
    known = sources.shipped()
    listed = {
        name: {f.name: {k: getattr(f, k) for k in sources.LENGTHS if getattr(f, k)} for f in of.files}
        for name, of in known.data.items()
    }
    weights = {name: of.sha256 or "0" * 64 for name, of in known.weights.items()}
    monkeypatch.setattr(sources, "digests", lambda name: listed.get(known.same.get(name, name), {}))

    def load(name):
        return SimpleNamespace(weights=weights[name.removesuffix("-released")])

    monkeypatch.setattr(evaluation, "load_backbone", load)

    def status(name="oops-table-2", **changes):
        chapter = item(name)["chapter"]
        parameters = (PROFILE | OTHERS).get(chapter, {}) | changes
        book = {"metadata": {"papermill": {"parameters": parameters}}}
        (tmp_path / f"{chapter}.ipynb").write_text(json.dumps(book))
        return provenance.of_items([item(name)], ROOT, tmp_path)[name]

    return SimpleNamespace(listed=listed, weights=weights, status=status)


def test_yes_only_where_all_data_are_there_and_every_digest_is_the_manifests(site):
    for name in ("oops-table-1", "oops-table-2", "oops-table-6", "oops-figure-4"):
        found = site.status(name)
        assert found.text.startswith("yes") and found.labels == ("live on the paper's data",)
    assert site.status().text == "yes (no digest is listed of dino)"
    assert site.status(tasks=40, ft_open=2).text == "yes, with other tasks, ft_open (no digest is listed of dino)"
    assert site.status("oops-figure-2").text == provenance.NEEDLESS
    found = site.status("fewstab-table-3")
    assert found.text == "yes (no digest is listed of cub-fewstab, miniimagenet, tieredimagenet, vit-gpt2)"
    assert site.status("fewstab-table-3", captioner="blip-large").text == provenance.NOT_YET
    nine = PROFILE["closed-vs-open"]["datasets"]
    own = [name if name != "dtd" else "dtd:/data/dtd" for name in nine]
    chen = [name.replace("meta-dataset", "chen") for name in nine]  # other classes of the same files
    for other in (["clipart"], nine[1:], own, chen):
        assert site.status(datasets=other).text == provenance.NOT_YET
    assert site.status(backbones=["clip-released", "glyph-conv"]).text == provenance.NOT_YET
    site.weights["clip"] = "f" * 64
    assert site.status().text == provenance.NOT_YET
    site.weights["clip"] = sources.shipped().weights["clip"].sha256
    assert site.status().text.startswith("yes")
    site.listed["dtd"]["dtd-r1.0.1.tar.gz"]["md5"] = "f" * 32
    assert site.status().text == provenance.NOT_YET
    site.listed["dtd"] = {}  # put there by hand
    assert site.status().text == provenance.NOT_YET


def test_a_manifest_of_ones_own_gives_no_yes(site, tmp_path, monkeypatch):
    found = yaml.safe_load(sources.SHIPPED.read_text("utf-8"))
    found["data"]["dtd"]["files"][0] |= {"sha256": "a" * 64, "md5": "b" * 32}
    (tmp_path / "manifest.yml").write_text(yaml.safe_dump(found))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "manifest.yml"))
    site.listed["dtd"]["dtd-r1.0.1.tar.gz"] |= {"sha256": "a" * 64, "md5": "b" * 32}
    assert site.status().text == provenance.NOT_YET


def test_an_item_is_reported_where_a_file_has_all_its_evaluations(site, monkeypatch):
    wanted = evaluations({"closed-vs-open": PROFILE["closed-vs-open"]})["closed-vs-open"]
    rows = [{name: getattr(e, name) for name in (*provenance.KEY, "tasks")} for e in wanted]
    one = SimpleNamespace(by="A_B", about={"results": rows})
    monkeypatch.setattr(contributed, "contributed", lambda folder=None: [one])
    changed = {"datasets": ["clipart"]}
    found = site.status(**changed)
    assert found.text == r"reported by A\_B" and found.labels == ("reported",)
    assert site.status().text.startswith("yes")  # this build's own come first
    fewer = [row | {"tasks": 100} for row in rows]
    for part in (rows[1:], [*fewer[:1], *rows[1:]]):
        one.about["results"] = part
        assert site.status(**changed).text == r"reported by A\_B (in part)"
    one.about["results"] = fewer
    assert site.status(**changed).text == provenance.NOT_YET
    assert site.status("oops-figure-4", **changed).text == provenance.NOT_YET  # no plain evaluations


def test_of_biased_tasks_an_item_is_reported_where_a_file_has_its_tasks_and_its_captioner(site, monkeypatch):
    wanted = evaluations({"spurious-bias": OTHERS["spurious-bias"]})["spurious-bias"]
    assert len(wanted) == 3 * 2 * 10 * 2 and {e.captioner for e in wanted} == {None, "vit-gpt2"}
    rows = [{name: getattr(e, name) for name in (*provenance.KEY, "tasks")} for e in wanted]
    one = SimpleNamespace(by="A", about={"results": rows})
    monkeypatch.setattr(contributed, "contributed", lambda folder=None: [one])
    changed = {"datasets": ["clipart"]}
    assert site.status("fewstab-table-3", **changed).text == "reported by A"
    assert site.status("fewstab-figure-6", **changed).text == provenance.NOT_YET  # networks of other shots besides
    one.about["results"] = [row | {"captioner": row["captioner"] and "blip-large"} for row in rows]
    assert site.status("fewstab-table-3", **changed).text == "reported by A (in part)"


def test_a_file_that_does_not_pass_its_checks_stops_chapters_and_site(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "contributed"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("card")
    assert contributed.contributed(folder) == []
    (folder / "x.zip").write_bytes(b"no archive")
    with pytest.raises(assemble.SiteError, match=r"data/contributed: x\.zip: no pack can be read"):
        provenance.of_items([item("oops-table-2")], tmp_path, tmp_path)
    monkeypatch.setattr(contributed, "DATA", tmp_path / "data")
    with pytest.raises(InputError, match=r"x\.zip: no pack can be read"):
        reported()


def test_a_status_is_one_of_five_words(tmp_path):
    path = tmp_path / "ledger.yml"
    path.write_text(yaml.safe_dump({"items": [item("oops-table-2") | {"status": "confirmed"}]}), "utf-8")
    with pytest.raises(assemble.SiteError, match="`status` is 'confirmed'; it is one of reproduced, partly"):
        assemble.read_ledger(path)


def test_the_page_defines_each_label_once_and_shows_every_status():
    items = assemble.read_ledger(ROOT / "book" / "ledger.yml")
    status = {i["id"]: provenance.Status(f"said of {i['id']}") for i in items}
    status["oops-table-2"] = provenance.Status("yes", ("live on the paper's data",))
    text = assemble.render_ledger(items, {}, status)
    for label, meaning in published.LABELS.items():
        assert text.count(f"\n**{label}**\n: {meaning}.\n") == 1
    assert text.count("| said of ") == len(items) - 1
    (row,) = [line for line in text.splitlines() if 'id="oops-table-2"' in line]
    assert '<span class="how">live on the paper\'s data</span> | yes |' in row
    words = {word: len([i for i in items if i["status"] == word]) for word in assemble.STATUS}
    for word, number in words.items():
        (line,) = [line for line in text.splitlines() if f"| {assemble.STATUS[word]} |" in line]
        assert line.endswith(f" | {number} |") and text.count(f'status-{word}"') == number + 1
    assert '| <span class="status status-reproduced">reproduced</span> | accuracies of LR and FT' in row
    totals = next(line for line in text.splitlines() if line.startswith("| **All**"))
    counts = dict(zip(published.LABELS, map(int, totals.split("|")[2:])))
    assert counts["live on the paper's data"] == 1 and counts["printed only"] == 4 and counts["reported"] == 0
    assert counts["live on shipped data"] == sum({"live", "adapted"} & set(i["how"]) != set() for i in items)
