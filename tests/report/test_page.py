"""The page, the terminal and the files of a report."""

import importlib.resources
import json
import re

import jsonschema
import numpy as np
import pandas as pd
import pytest

from fslcore.report import Results

report_on = Results.from_frame

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
    "equal": pd.DataFrame({"a": [50.0] * 30, "b": [50.0] * 30}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_needs_no_other_file_and_has_no_empty_section(tmp_path, case):
    results = report_on(CASES[case])
    results.to_html(tmp_path / "r.html", "r.csv: report")
    text = (tmp_path / "r.html").read_text("utf-8")
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


@pytest.mark.parametrize("case", CASES)
def test_json_keeps_its_schema_and_is_strict(case):
    record = report_on(CASES[case]).record()
    record = json.loads(json.dumps(record, default=lambda number: number.item(), allow_nan=False))
    jsonschema.validate(record, SCHEMA)
    record["methods"][0]["mean"] = "high"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, SCHEMA)


@pytest.mark.parametrize("methods, most", [(1, 24), (2, 24), (8, 40), (30, 45)])
def test_the_terminal_shows_the_answer_first_and_not_too_much(methods, most):
    lines = report_on(table(methods)).lines()
    assert len(lines) <= most
    if methods > 1:
        assert re.match(r"m\d+ (is better than|and m)", lines[0])


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


def test_a_notebook_shows_the_same_page():
    html = report_on(CASES["tasks"])._repr_html_()
    assert "<svg" in html and "<html" not in html and "m2 is better than m0" in html


def test_many_methods_are_a_picture_and_their_pairs_are_folded(tmp_path):
    report_on(CASES["many"]).to_html(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "66 pairs as a table" in text and text.count("<svg") == 3
