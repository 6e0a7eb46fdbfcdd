"""The page, the terminal and the files of a report."""

import importlib.resources
import json
import re
import typing
import unicodedata

import jsonschema
import numpy as np
import pandas as pd
import proposed
import pytest
from refusal import refuses

from fslcore.report import Shape, page, words

report_on = proposed.from_frame

RNG = np.random.default_rng(8)
SCHEMA = json.loads(
    (importlib.resources.files("fslcore.report") / "schema.json").read_text("utf-8")
)


def table(methods=3, tasks=100):
    hard = RNG.normal(0, 7, (tasks, 1))
    values = 45 + 2 * (np.arange(methods) % 12) + hard + RNG.normal(0, 4, (tasks, methods))
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(methods)])


PRINTED = pd.DataFrame({"method": ["a", "b"], "acc": ["61.3 ± 0.4", "60.8 ± 0.5"]})
DATASETS = table(3, 6).assign(dataset=list("abcdef"))
CASES = {
    "tasks": table(),
    "one method": table(1),
    "many": table(12),
    "printed": PRINTED,
    "data sets": DATASETS,
    "equal": pd.DataFrame({"a": [50.0] * 30, "b": [50.0] * 30})
    .rename_axis("task")
    .reset_index()
    .melt("task", var_name="method", value_name="accuracy"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_needs_no_other_file_and_has_no_empty_section(tmp_path, case):
    results = report_on(CASES[case])
    results.to_html(tmp_path / "r.html", "r.csv: report")
    text = (tmp_path / "r.html").read_text("utf-8").replace(page.NO_BREAK_SPACE, " ")
    assert not re.findall(
        r'(?:src|href)="(?!data:|#)[^"]*"', re.sub(r"<svg.*?</svg>", "", text, flags=re.S)
    )
    assert not re.search(r"<h2>[^<]*</h2>\s*(?:<h2>|</main>|<details>\s*</details>)", text)
    assert "<tbody></tbody>" not in text
    without_figures = re.sub(r"<svg.*?</svg>|base64,[^\"]*", "", text, flags=re.S)
    assert len(without_figures) < 100_000
    for sentence in results.verdicts["sentence"]:
        assert sentence.replace("'", "&#39;").replace("<", "&lt;") in text
    assert text.index("verdicts") < text.index("<svg") < text.index("How it was read")


def test_types_of_results_can_be_resolved():
    assert typing.get_type_hints(type(report_on(PRINTED)).__init__)["shape"] is Shape


def test_the_schema_of_json_refuses_texts_for_numbers():
    """And takes one method; `test_every_shape` validates records of every shape."""
    record = report_on(CASES["one method"]).record()
    record = json.loads(json.dumps(record, default=lambda number: number.item(), allow_nan=False))
    jsonschema.validate(record, SCHEMA)
    record["methods"][0]["mean"] = "high"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, SCHEMA)


@pytest.mark.parametrize("methods, most", [(1, 24), (2, 24), (4, 36), (8, 40), (30, 46)])
def test_the_terminal_shows_the_answer_first_and_not_too_much(methods, most):
    lines = report_on(table(methods).assign(task=range(100))).lines()
    assert len(lines) <= most
    if methods > 1:
        assert re.match(r"m\d+ (is better than|and m)", lines[0])


def test_lines_of_the_page_break_before_no_unit_and_no_sign():
    html = report_on(table(2, 40))._repr_html_()
    hidden = r"<(svg|style|pre|td).*?</\1>|aria-label=\"[^\"]*\""
    sentences = re.sub(hidden, "", html, flags=re.S)
    assert "(95\u00a0% interval" in sentences
    assert not re.search(r"\d (%|points)|\bp [=<]|[=<] \d", sentences)
    copied = "".join(re.findall(r"<pre>.*?</pre>", html, flags=re.S))
    assert "95 % confidence intervals" in copied and page.NO_BREAK_SPACE not in copied


def test_names_from_a_file_cannot_become_html(tmp_path):
    frame = table(2).rename(columns={"m0": "<script>alert(1)</script>", "m1": "a & b"})
    report_on(frame).to_html(tmp_path / "r.html", "<i>x</i>")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "<script>alert" not in text and "<i>x" not in text and "a &amp; b" in text


def test_tables_and_figures_as_files_are_the_same_each_time(tmp_path):
    results = report_on(CASES["data sets"])
    paths = [*results.write_tables(tmp_path / "t"), *results.write_figures(tmp_path / "f")]
    first = {path.name: path.read_bytes() for path in paths}
    assert {"methods.tex", "methods.md", "pairs.tex", "report.pdf", "report.png", "report.svg"} <= {
        *first
    }
    assert b"\n| --- | --- |" in first["methods.md"]
    results.write_tables(tmp_path / "t")
    results.write_figures(tmp_path / "f")
    assert {path.name: path.read_bytes() for path in paths} == first
    report_on(50 + table(1) / 10_000).write_tables(tmp_path)
    assert re.search(r"50\.\d{5} ± 0\.\d{5} ", (tmp_path / "methods.md").read_text())


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_the_table_that_a_page_offers_has_each_mean_beside_its_method(form):
    results = report_on(CASES["tasks"])
    text = page.content(results)[form]
    digits = words.digits_of(results.methods)
    for row in results.methods.itertuples():
        assert re.search(rf"\b{row.method}\b.*\b{row.mean:.{digits}f}\b", text)


def test_a_notebook_shows_the_same_page():
    html = report_on(CASES["tasks"])._repr_html_()
    assert "<svg" in html and "<html" not in html and "m2 is better than m0" in html


def test_many_methods_are_a_picture_and_their_pairs_are_folded(tmp_path):
    report_on(CASES["many"]).to_html(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "66 pairs as a table" in text and text.count("<svg") == 3


HOSTILE = [
    "/../../README",
    "/../../../../escaped/pwn",
    "..",
    "/",
    "a/b",
    "C:\\x",
    "\\..\\x",
    "A" * 300,
    "é\0",
    "",
]


def on_data_sets(names):
    """Two methods on tasks of data sets with these names, which titles of tables hold."""
    parts = [table(2, 120).assign(task=range(120), dataset=name) for name in names]
    return pd.concat(parts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_from_a_file_is_no_part_of_a_path(tmp_path, name):
    folder = tmp_path / "deep" / "er" / "tables"
    (tmp_path / "deep" / "README.md").parent.mkdir()
    (tmp_path / "deep" / "README.md").write_text("mine")
    results = report_on(on_data_sets(["x", name or "y"]))
    paths = results.write_tables(folder)
    assert (tmp_path / "deep" / "README.md").read_text() == "mine"
    everything = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert everything == {*paths, tmp_path / "deep" / "README.md"}
    assert {path.parent for path in paths} == {folder}
    assert len({path.name.casefold() for path in paths}) == len(paths) > 5


def test_names_of_files_differ_in_more_than_case():
    titles = [
        "the mean, CUB",
        "the mean, cub",
        "the mean/ CUB",
        "sentence",
        "é",
        "e\u0301",
        "..",
        "",
    ]
    stems = page.file_stems(titles)
    assert stems[0] == "the-mean,-CUB"
    assert len({unicodedata.normalize("NFC", stem).casefold() for stem in stems}) == len(titles)


@pytest.mark.parametrize("name", ["methods.md", "pairs.md", "sentence.md"])
def test_no_table_replaces_a_file_that_was_read(tmp_path, name):
    path = tmp_path / name
    rows = [f"| {a} | {b} |\n" for a, b in table(2).to_numpy()]
    path.write_text("| ours | b |\n| --- | --- |\n" + "".join(rows))
    before = path.read_text()
    for source in (path, tmp_path):
        with refuses("is an input"):
            proposed.read(source).write_tables(tmp_path)
        assert path.read_text() == before and [*tmp_path.iterdir()] == [path]


def test_no_figure_and_no_page_replaces_a_file_that_was_read(tmp_path):
    table(2).to_csv(tmp_path / "r.csv", index=False)
    (tmp_path / "report.png").symlink_to(tmp_path / "r.csv")
    results = proposed.read(tmp_path / "r.csv")
    before = (tmp_path / "r.csv").read_text()
    with refuses("is an input"):
        results.write_figures(tmp_path)
    with refuses("is an input"):
        results.to_html(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == before
    assert {path.name for path in tmp_path.iterdir()} == {"r.csv", "report.png"}
