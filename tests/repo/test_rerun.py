"""What `make rerun` takes for wrong: each kind is found, and what is right is not."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "rerun"))

import rerun as run

from fslbook import notebooks

VARIED = {"shots", "ways", "level", "datasets", "dataset", "seeds"}  # a chapter that has one is run with another value


def found(text, right=(), **given):
    return [fault.partition(":")[0] for fault in run.faults([text], given, right)]


@pytest.mark.parametrize(
    "what, given, wrong, good",
    [
        ("no number", {}, ["they correlate by nan", "± NaN", "on | None | 3", "of None"], ["None of them", "nanny"]),
        (
            "a share of nothing",
            {},
            ["best in 0 of 0", "in 3 of the 0 pairs", "None of 0 does"],
            ["0 of 20", "5 of 0.5"],
        ),
        ("a gap", {}, ["it grows on .", "worse on , and", "tasks () are", "of  ; so"], ["so. On", "a: b, c", "f(x)"]),
        ("a warning", {}, ["RuntimeWarning: Mean of empty slice"], ["A warning: not so"]),
        (
            "another level",
            {"level": 0.9},
            ["at 95 %", "95% of", "1.96 s / h", "95 percent"],
            ["95 tasks", "0.95 %", "8.1 ± 1.96", "75 to 95 %"],
        ),
        ("another number of ways", {"ways": 10}, ["All tasks are 5-way", "five-way tasks"], ["15-way", "10-way"]),
        ("another number of shots", {"shots": [1]}, ["5-shot tasks"], ["15-shot", "1-shot"]),
        ("no letters", {"datasets": ["clipart"]}, ["a gap on letters", "new alphabets"], ["newsletters"]),
        ("one data set", {"datasets": ["clipart"]}, ["on both data sets", "of the two test sets"], ["two methods"]),
        (
            "one of many",
            {},
            ["with 1 shots", "of 1 data sets"],
            ["1 shot", "11 shots", "Q + 1 images", "0.1 tasks", "below 1 and"],
        ),
        ("one seed", {"seeds": [0]}, ["Each was trained twice", "the two trainings"], ["two rates"]),
    ],
)
def test_each_kind_of_wrong_text_is_found(what, given, wrong, good):
    assert [found(text, **given) for text in wrong] == [[what]] * len(wrong)
    assert [found(text, **given) for text in good] == [[]] * len(good)


@pytest.mark.parametrize(
    "given, text",
    [
        ({"level": 0.95}, "at 95 %"),
        ({}, "at 95 %"),
        ({"ways": 5}, "All tasks are 5-way"),
        ({"shots": [1, 5]}, "5-shot tasks"),
        ({"datasets": ["clipart", "glyphs/latin"]}, "on letters and on both data sets"),
        ({"script": "coloured/cyrillic", "seeds": [0, 1]}, "letters, trained twice"),
    ],
)
def test_what_the_parameters_say_is_right(given, text):
    assert found(text, **given) == []


def test_words_that_may_stand_there_excuse_themselves_alone():
    right = {"printed at 95 %": "the paper's level"}
    assert found("printed at 95 %", right, level=0.9) == []
    assert found("printed at 95 %, here at 95 %", right, level=0.9) == ["another level"]


def test_a_notebook_is_read_as_its_reader_sees_it(tmp_path):
    """Prose with what is glued, tables, printed lines, figures and what is said of them; no code and no hidden cell."""
    import nbformat
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

    def glued(key, mime, text):
        meta = {"scrapbook": {"name": key, "mime_prefix": "application/papermill.record/"}}
        return new_output("display_data", {f"application/papermill.record/{mime}": text}, metadata=meta)

    def shown(mime, text):
        return new_output("display_data", {mime: text, "text/plain": "no"})

    markdown = "# A\n\nOf {glue:text}`n` tasks {glue:md}`said:myst`\n\n```{glue:md} said\n:format: myst\n```"
    hidden = {"tags": ["remove-cell"]}
    printed = new_output("stream", text="printed")
    figure = {"mystnb": {"image": {"alt": "the alt"}, "figure": {"caption": "the caption"}}}
    table = "<table><tr><td>a</td><td>nan</td></tr></table>"
    drawn = "<svg><!-- an axis --><path/></svg>"
    cells = [
        new_markdown_cell(markdown),
        new_code_cell("secret", outputs=[glued("n", "text/plain", "'a_b'"), printed], metadata=hidden),
        new_code_cell(
            "secret",
            outputs=[glued("said", "text/markdown", "**none**"), glued("other", "text/plain", "'7'")],
            metadata=hidden,
        ),
        new_code_cell("secret", outputs=[printed]),
        new_code_cell("secret", outputs=[shown("text/html", table)]),
        new_code_cell("secret", outputs=[shown("image/svg+xml", drawn)], metadata=figure),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    said = list(run.texts(tmp_path / "a.ipynb"))
    assert said == [
        "# A",
        "Of a_b tasks **none**",
        "**none**",
        "printed",
        "a | nan",
        "the alt",
        "the caption",
        "an axis",
        "7",
    ]


def test_every_chapter_is_run_with_other_values_of_what_it_takes(tmp_path, monkeypatch):
    given = {}
    monkeypatch.chdir(tmp_path)
    for place in run.FOLDERS:
        (run.HERE.relative_to(run.ROOT) / place).mkdir(parents=True)
    for name, _, of, *_ in run.runs():
        given.setdefault(name, []).append(notebooks.check(name, of, absent=True))
    assert sorted(given) == notebooks.names()
    for name, of in given.items():
        for p in notebooks.parameters(name):
            if p.name in VARIED:
                assert any(p.name in one and one[p.name] != p.default for one in of), (
                    f"{name}: {p.name} is never another"
                )


def test_parts_are_all_runs_once():
    parts = [r for k in range(4) for r in run.runs(part=(k + 1, 4))]
    assert sorted(map(str, parts)) == sorted(map(str, run.runs()))
