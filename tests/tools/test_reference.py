"""Reports of one method against each of the others."""

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from fslcore import record, stats
from fslcore.errors import InputError
from fslcore.tasks import sample_closed
from fslcore.tools import report
from fslcore.tools.cli import app

LABELS = np.arange(8).repeat(12)


def table(methods=5, tasks=60, seed=0, **columns):
    """Accuracies of methods that are 2 points apart, in percent; ``m2`` is in the middle."""
    rng = np.random.default_rng(seed)
    x = rng.normal(60, 8, (tasks, 1)) + 2 * np.arange(methods) + rng.normal(0, 3, (tasks, methods))
    frame = pd.DataFrame(x.clip(1, 99)).add_prefix("m").rename_axis("task").reset_index()
    return frame.melt("task", var_name="method", value_name="accuracy").assign(**columns)


def test_pairs_are_those_of_the_reference_and_corrected_among_themselves():
    every, mine = report.Results.of(table()), report.Results.of(table(), reference="m2")
    pairs = mine.pairs
    kept = every.pairs[(every.pairs[["a", "b"]] == "m2").any(axis=1)].reset_index(drop=True)
    same = ["setting", "a", "b", "tasks", "difference", "half_width", "sd", "p", "unpaired", "paired"]
    pd.testing.assert_frame_equal(pairs[same], kept[same])
    assert len(every.pairs) == 10 and len(pairs) == 4
    assert pairs["p_holm"].tolist() == pytest.approx(multipletests(pairs["p"], method="holm")[1])
    assert pairs["p_bh"].tolist() == pytest.approx(multipletests(pairs["p"], method="fdr_bh")[1])
    grid = mine.grids["results"]
    others = np.where(pairs["a"] == "m2", pairs["b"], pairs["a"])
    found = stats.simultaneous_intervals((grid["m2"].to_numpy()[:, None] - grid[others]).T, 0.95)
    assert pairs["half_width_all"].tolist() == pytest.approx(found.half_width, rel=1e-9)
    assert pairs["p_all"].tolist() == pytest.approx(found.p_values, rel=1e-9)
    assert (pairs["half_width_all"] > pairs["half_width"]).all() and (pairs["p_all"] >= pairs["p"]).all()


def test_with_two_settings_all_intervals_hold_together():
    both = pd.concat([table(dataset="x"), table(seed=1, dataset="y")])
    pairs = report.Results.of(both, reference="m0").pairs
    alone = report.Results.of(table(dataset="x"), reference="m0", level=0.975).pairs
    of_x = pairs[pairs["setting"] == "x"]
    assert of_x["half_width_all"].tolist() == pytest.approx(alone["half_width_all"].tolist())
    assert of_x["p_all"].tolist() == pytest.approx(np.minimum(2 * alone["p_all"], 1).tolist())
    assert pairs["p_holm"].tolist() == pytest.approx(multipletests(pairs["p"], method="holm")[1])


def test_equal_methods_have_an_interval_without_a_width():
    rows = table(3)
    twin = pd.concat([rows, rows[rows["method"] == "m1"].assign(method="twin")])
    pairs = report.Results.of(twin, reference="m1").pairs.set_index(["a", "b"])
    assert pairs.loc[("m1", "twin"), ["difference", "half_width_all"]].tolist() == [0, 0]
    assert pairs.loc[("m1", "twin"), "p_all"] == 1 and (pairs["half_width_all"] > 0).sum() == 2


def test_a_reader_sees_the_reference_s_column_and_signs():
    found = report.Results.of(table(), reference="m2", margin=0.2)
    matrix, methods = found.tables["matrix"], found.tables["methods"]
    assert [*matrix.columns] == ["m2"] and [*matrix.index] == ["m4", "m3", "m2", "m1", "m0"]
    marks = [cell[:1] for cell in matrix["m2"]]
    assert marks == [*methods["against m2"]] and marks[0] == "▲" and marks[2] == "—" and marks[-1] == "▼"
    assert "group" not in methods and [*found.tables["pairs"].columns][2:3] == ["± all at once"]
    head, *lines = report.show.headlines(found)
    assert "m2 against each other method" in head and "correction for 4" in head
    told = {line.split(":")[0].strip(): line.split(":")[1].strip() for line in lines}
    for _, of in found.pairs.iterrows():
        other, sign, word = (of["b"], "+", "higher") if of["a"] == "m2" else (of["a"], "−", "lower")
        assert told[other].startswith(f"{sign}{of['difference']:.2f} ± {of['half_width']:.2f} (± ")
        assert not of["holm"] or f"{word} (Holm)" in told[other]
    assert set(lines) < set(found.summary()) and not any("share a letter" in line for line in found.summary())
    (group,) = found.groups["results"]
    different = found.pairs[found.pairs["holm"]]
    assert set(group) == {"m0", "m1", "m2", "m3", "m4"} - ({*different["a"], *different["b"]} - {"m2"})
    assert report.Results.of(table()).tables["matrix"].shape == (5, 5)


def test_the_paragraph_speaks_of_the_reference():
    found = report.Results.of(table(sampling="open"), reference="m2")
    (text,) = found.paragraphs().values()
    pairs = found.pairs
    above = (pairs["holm"] & (pairs["a"] == "m2")).sum()
    assert "m2 was compared with each other method" in text and "for all 4 comparisons" in text
    assert f"significantly higher than that of {above} and lower than that of {pairs['holm'].sum() - above}" in text
    first, last = pairs.iloc[0], pairs.iloc[-1]
    assert (first["a"], last["b"]) == ("m4", "m0")
    assert f"m4 −{first['difference']:.2f} ± {first['half_width_all']:.2f}" in text
    assert f"m0 +{last['difference']:.2f} ± {last['half_width_all']:.2f}" in text
    assert "The highest mean" not in text


def test_a_setting_without_the_reference_is_told():
    rows = pd.concat([table(dataset="x"), table(2, seed=1, dataset="y")])
    found = report.Results.of(rows, reference="m4")
    assert found.pairs["setting"].unique().tolist() == ["x"]
    assert found.warnings == ["y: m4 is not among its methods; nothing is compared."]
    assert found.groups["y"] == [["m1"], ["m0"]] and set(found.tables["methods"].loc["y", "against m4"]) == {"—"}
    assert found.warnings[0] in found.summary()


def test_a_single_method_can_be_its_own_reference():
    found = report.Results.of(table(1), reference="m0")
    assert found.tables["methods"]["against m0"].tolist() == ["—"] and found.pairs.empty


def test_another_name_is_refused(tmp_path, capsys, monkeypatch):
    with pytest.raises(InputError, match=r"reference = m9; m0, m1, m2, m3, m4 are allowed"):
        report.Results.of(table(), reference="m9")
    monkeypatch.chdir(tmp_path)
    table().to_csv("mine.csv", index=False)
    assert app.main(["report", "mine.csv", "--reference", "m22"]) != 0
    assert "did you mean m2?" in capsys.readouterr().err and not (tmp_path / "mine.html").exists()


def test_recipes_are_compared_with_the_reference_alone():
    rows = pd.concat([table(3, seed=s, run=s) for s in range(3)])
    every, mine = report.Results.of(rows), report.Results.of(rows, reference="m0")
    assert len(every.recipes) == 3 and len(mine.recipes) == 2
    assert (mine.recipes[["a", "b"]] == "m0").any(axis=1).all()
    assert mine.recipes["p_holm"].tolist() == pytest.approx(stats.holm(mine.recipes["p"]).tolist())


def test_three_intervals_are_of_the_reference_s_differences(tmp_path):
    rng = np.random.default_rng(0)
    tasks = sample_closed(LABELS, tasks=60, ways=5, shots=1, queries=3)
    for method, right in (("ours", 0.8), ("b", 0.6), ("c", 0.5)):
        with record(tmp_path / "r.npz", method) as kept:
            for s, q in zip(tasks.support, tasks.query):
                said = np.where(rng.random(len(q)) < right, LABELS[q], rng.permutation(LABELS[q]))
                kept.task(s, q, LABELS[q], said, LABELS[s])
    every, mine = (report.Results.read(tmp_path / "r.npz", reference=name) for name in (None, "ours"))
    assert set(every.three) - set(mine.three) == {"b − c"}
    assert set(mine.three) == {"ours", "b", "c", "ours − b", "ours − c"}


def test_the_command_writes_page_tables_and_figure(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("mine.csv", index=False)
    assert app.main("report mine.csv --reference m2 --json --tables t --figures f --quiet".split()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["reference"] == "m2" and len(told["pairs"]) == 4
    assert all(pair["p_all"] >= pair["p"] for pair in told["pairs"])
    page = (tmp_path / "mine.html").read_text("utf-8")
    assert "The reference minus each other method" in page and "A bar on the right joins" not in page
    assert "Only the comparisons with one method are made, m2." in page
    assert "all at once" in (tmp_path / "t" / "pairs.md").read_text("utf-8")
    drawn = (tmp_path / "f" / "groups.svg").read_text("utf-8")
    assert "m2 minus this method (points)" in drawn


def test_the_figure_draws_each_difference_once():
    pairs = report.Results.of(table(), reference="m2").pairs
    (ax,) = report.figures.against(pairs, "m2").axes
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    signed = np.where(pairs["a"] == "m2", pairs["difference"], -pairs["difference"])
    assert dots.get_xdata().tolist() == pytest.approx(sorted(signed))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["m4", "m3", "m1", "m0"]
