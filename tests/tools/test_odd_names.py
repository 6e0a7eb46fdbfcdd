"""Names with signs that a terminal, LaTeX, HTML, Markdown or Matplotlib would obey; and reports that fail."""

import json
import os
import re
import unicodedata
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fslcore
from fslcore.datasets import load
from fslcore.errors import InputError, visible
from fslcore.evaluation import groups_of
from fslcore.paths import replace_file, together
from fslcore.tasks import sample_closed
from fslcore.tools import report
from fslcore.tools.attributes import captions
from fslcore.tools.cli import app, output
from fslcore.tools.near_copies import Copies
from fslcore.tools.report import figures

ODD = [
    "\\",
    "$",
    "_",
    "{",
    "}",
    "%",
    "&",
    "#",
    "~",
    "^",
    "<",
    ">",
    "|",
    "*",
    "`",
    "[",
    "]",
    "=",
    "+",
    "-",
    "@",
    '"',
    "'",
]
CONTROL = ["\n", "\r", "\t", "\x00", "\x1b[31m", "\x7f", "\x9b2J", "\u202e", "\u2066", "\u2028", "\ufeff", "\u200b"]
NAMES = st.lists(st.sampled_from([*ODD, *CONTROL, "a", "b", " ", "é", "方"]), min_size=1, max_size=8).map("".join)
ALL = [
    "$x$",
    "$\\frac$",
    "a$b",
    "\\frac$1",
    *(f"x{sign}y" for sign in [*ODD, *CONTROL]),
    "<img src=x>",
    "*a* `b` [c](http://d)",
    "=1+1",
]


def table_of(names, tasks=6):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"method": name, "task": t, "accuracy": a}
        for name in names
        for t, a in enumerate(rng.integers(40, 80, tasks) / 80)
    )


def controls(text):
    return {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}


@pytest.mark.filterwarnings("ignore:Glyph")
@settings(max_examples=15, deadline=None)
@given(names=st.lists(NAMES, min_size=2, max_size=4), dataset=NAMES)
@example(ALL[:12], "$")
@example(ALL[12:], "x$y\x1b")
def test_names_of_any_signs_break_no_table_and_no_figure(tmp_path_factory, names, dataset):
    folder = tmp_path_factory.mktemp("odd")
    shown = [visible(name.strip()) for name in names]
    try:
        found = report.Results.of(table_of(names).assign(dataset=dataset), "odd.csv")
    except InputError:  # blanks alone, two that are shown as one, names of means
        return
    assert list(found.table["method"].unique()) == shown
    lines = [*found.summary(), *found.notes, *found.paragraphs().values()]
    assert not controls("".join(lines)) and not any("\n" in line for line in lines)
    for path in found.write_tables(folder):
        text = path.read_text("utf-8")
        assert not controls(text)
        if path.suffix == ".tex":
            bare = re.sub(r"\\[\\&%$#_{}]|\\text\w+", "", text)
            assert bare.count("$") % 2 == 0 and bare.count("{") == bare.count("}") and not set("#%^") & set(bare)
        if path.stem != "evaluation":
            rows = [line for line in text.splitlines() if (" & " in line if path.suffix == ".tex" else "|" in line)]
            parts = {
                len(re.findall(r"(?<!\\)&" if path.suffix == ".tex" else r"(?<!\\)(?:\\\\)*\|", row)) for row in rows
            }
            assert len(rows) > 1 and len(parts) == 1, (path, rows)
    drawn = figures.groups(found.panels)
    drawn.canvas.draw()
    assert [label.get_text().replace(r"\$", "$") for label in drawn.axes[0].get_yticklabels()] == [
        *found.panels[found.table["setting"].iloc[0]][0].index
    ]
    figures.rank_diagram(pd.Series(np.arange(len(shown)) + 1.0, shown), [], 1.0).canvas.draw()
    plt.close("all")


def body(path):
    return path.read_text("utf-8").partition("<main")[2]  # the style before it has tabs


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def test_a_report_shows_names_of_any_signs_as_they_are(tmp_path, capsys):
    rows = table_of([name for name in ALL if name not in ("x\ny",)], 12)
    few = table_of(["$right$ <u>*a*</u>"], 12).assign(accuracy=[1.0] * 11 + [0.99])  # a sentence names it
    rows = pd.concat([rows, few]).assign(dataset="- <script>d</script>\x1b[2J")
    rows.to_parquet(tmp_path / "r.parquet")
    told = ["-o", str(tmp_path / "r.html"), "--quiet", "--tables", str(tmp_path), "--figures", str(tmp_path)]
    assert app.main(["report", str(tmp_path / "r.parquet"), *told]) == 0, capsys.readouterr().err
    output = capsys.readouterr()
    assert not controls(output.out + output.err)
    page = Tags()
    page.feed(body(tmp_path / "r.html"))
    assert not controls(page.text) and not page.found & {"script", "math", "u"}
    for name in (*ALL, "$right$ <u>*a*</u>", "- <script>d</script>\x1b[2J"):
        assert name == "x\ny" or visible(name) in page.text
    assert re.search(r"- <script>d</script>\\x1b\[2J: so few errors .*left to \$right\$ <u>\*a\*</u> that", page.text)
    assert (tmp_path / "groups.svg").stat().st_size > 10_000
    app.main(["report", str(tmp_path / "r.parquet"), *told, "--json"])
    told = capsys.readouterr().out
    assert not controls(told) and "\\x1b" in json.loads(told)["methods"][0]["setting"]


def test_a_recording_of_a_method_with_any_signs_has_its_three_intervals(tmp_path, capsys):
    labels = np.repeat(np.arange(6), 10)
    tasks = sample_closed(labels, tasks=60, ways=3, shots=2, queries=3)
    for name in ("a\x1b[2J", "b|$\n"):
        with fslcore.record(tmp_path / "r.npz", name) as r:
            for support, query in zip(tasks.support, tasks.query):
                r.task(support, query, labels[query], labels[(query * 7 + len(name)) % 60], labels[support])
    table, _, _ = report.tables.read(tmp_path / "r.npz")
    assert sorted(table["method"].unique()) == ["a\\x1b[2J", "b|$"]
    found, reason = report.recorded.Recorded(tmp_path / "r.npz").three_intervals(table=table)
    assert not reason, reason
    assert [*found] == ["a\\x1b[2J", "b|$", "a\\x1b[2J − b|$"] and not reason
    assert app.main(["report", str(tmp_path / "r.npz"), "-o", str(tmp_path / "r.html"), "--quiet"]) == 0
    assert not controls(capsys.readouterr().out) and not controls(body(tmp_path / "r.html"))


def test_two_names_that_would_be_shown_alike_are_refused():
    with pytest.raises(InputError, match=r"two names in column method of t would both be shown as a\\tb; give one"):
        report.tables.normalise(table_of(["a\tb", "a\\tb"]), "t")
    table, _ = report.tables.normalise(table_of(["a\tb", "c"]), "t", drop=["a\tb"])
    assert set(table["method"]) == {"c"}


def test_errors_and_json_print_no_control_characters(tmp_path, capsys):
    assert app.main(["report", str(tmp_path / "\x1b[31m\u202e.csv")]) == 2
    assert "/\\x1b[31m\\u202e.csv" in capsys.readouterr().err
    given = "\x7f\x9b\u202e\U000e0001é"
    output.print_json({"a": given})
    told = capsys.readouterr().out
    assert not controls(told) and "é" in told and json.loads(told) == {"a": given}


def test_tables_of_images_hold_no_control_characters_and_read_back(tmp_path):
    from PIL import Image

    for name in ("a\x1b[2J\n", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (8, 8), (9 * i, 0, 0)).save(tmp_path / "data" / name / f"=\t{i}.png")
    images = load(f"folder:{tmp_path / 'data'}", size=8)
    names = images.names
    assert names[0] == "a\\x1b[2J\\n/=\\t0.png" and not controls("".join(names))
    file = captions.write(images, "pixels", tmp_path / "captions.csv")
    assert not controls(file.read_text("utf-8")) and len(captions.read(file, images)) == 4
    found = pd.DataFrame({"split": "novel", "image": names, "class": images.class_names[0], "group": [0, 0, 1, 1]})
    Copies("n", found, pd.DataFrame(), "hash", 1, None, None).write(tmp_path / "groups.csv")
    assert not controls((tmp_path / "groups.csv").read_text("utf-8"))
    assert groups_of(images, str(tmp_path / "groups.csv")).tolist() == ["0", "0", "1", "1"]
    raw = [name.encode().decode("unicode_escape") for name in names]  # as tables from before have them
    pd.DataFrame({"image": raw, "group": [1, 1, 2, 2]}).to_csv(tmp_path / "before.csv", index=False)
    assert groups_of(images, str(tmp_path / "before.csv")).tolist() == ["1", "1", "2", "2"]


NOT_TEXT = os.fsdecode(b"run\xff")  # a name that another system wrote in its own encoding


def test_files_and_class_folders_whose_names_are_not_utf8(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (NOT_TEXT, "run2"):
        table_of(["ours"]).drop(columns="method").to_csv(f"{name}.csv", index=False)
    found = report.Results.read([f"{NOT_TEXT}.csv", "run2.csv"], runs=True)
    assert set(found.table["run"]) == {visible(NOT_TEXT), "2"}
    for c in (NOT_TEXT, "b"):
        (tmp_path / "images" / c).mkdir(parents=True)
        for i in (NOT_TEXT, "1"):
            plt.imsave(tmp_path / "images" / c / f"{i}.png", np.eye(4))
    images = load(f"folder:{tmp_path / 'images'}", size=8)
    assert images.counts.to_dict() == {"b": 2, NOT_TEXT: 2}
    with pytest.raises(InputError, match=r"udcff.* not UTF-8 text"):
        images.names  # noqa: B018


@pytest.mark.parametrize("before", [False, True])
def test_of_a_report_that_fails_nothing_is_left(tmp_path, capsys, monkeypatch, before):
    monkeypatch.chdir(tmp_path)
    table_of(["a", "b"]).to_csv("r.csv", index=False)
    if before:
        (tmp_path / "t").mkdir()
        for name in ("r.html", "t/methods.tex"):
            (tmp_path / name).write_text("as it was")
    (tmp_path / "f" / "groups.svg").mkdir(parents=True)  # where a file is to go
    there = {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")}
    assert app.main(["report", "r.csv", "-o", "r.html", "--tables", "t", "--figures", "f", "--quiet"]) == 2
    assert "groups.svg: Is a directory" in capsys.readouterr().err
    assert {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")} == there
    monkeypatch.setattr(report.Results, "write_figures", lambda *_: 1 / 0)
    assert app.main(["report", "r.csv", "-o", "r.html", "--tables", "t", "--figures", "g", "--quiet"]) == 1
    assert {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")} == there


def test_files_that_are_written_together_have_the_last_words(tmp_path):
    (tmp_path / "a").write_text("old")
    with together():
        for text in ("first", "last"):
            replace_file(tmp_path / "a", lambda part, text=text: part.write_text(text))
        replace_file(tmp_path / "b" / "c", lambda part: part.write_text("new"))
        assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "b" / "c").exists()
    assert (tmp_path / "a").read_text() == "last" and (tmp_path / "b" / "c").read_text() == "new"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b", "c"]
