"""The lab that reports on a reader's file, in Chromium: it answers like the command, on ``tables``.

``python tests/site/test_labs_report.py`` writes ``report_columns.js`` again, the tables by which both read.
"""

import base64
import json
import math
from pathlib import Path

import pytest
from browsing import page_of

from fslbook.beyond import lab_examples
from fslcore.errors import InputError
from fslcore.report import Results, analysis, tables as cells, vocabulary, words

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
SCRIPTS = [
    "labs.js",
    "report_columns.js",
    "report_read.js",
    "report_stats.js",
    "report_examples.js",
    "report.js",
]
METHOD_COLUMNS = "place method mean low high half_width n variance_units variance_of".split()
PAIR_COLUMNS = (
    "place unit a b difference low high half_width p p_holm n test verdict new_units "
    "effect_size effect variance_units variance_of"
).split()
ANSWERS = """files => files.map(([name, data, options]) => {
  const lab = fslLabs.compute.report;
  try {
    const measured = lab.read({name, bytes: Uint8Array.from(atob(data), sign => sign.charCodeAt(0))});
    const answer = lab.analyse(measured, options);
    const pairs = answer.pairs.map(({spread, spread_df, ...pair}) => pair);
    return {shape: measured.shape, reading: measured.reading[0], applies: answer.applies, cautions: answer.cautions,
      methods: answer.methods, pairs, sentences: lab.sentences(answer),
      new_sample_notes: lab.newSampleNotes(answer), method_table: lab.methodTable(answer)[1],
      pair_table: lab.pairTable(answer)[1]};
  } catch (error) {
    if (!(error instanceof lab.Refusal)) throw error;
    return {refused: error.message, option: error.option};
  }
})"""


# ---------------------------------------------------------------- what Python says


def script_of_columns():
    """The contents of ``report_columns.js``."""
    tables = {
        "ROLES": vocabulary.ROLE_OF,
        "SUMMARIES": sorted(vocabulary.SUMMARIES | vocabulary.BESIDE_SUMMARIES),
        "EMPTY_CELLS": sorted(cells.EMPTY_CELLS),
        "APPLIES": {str(shape): sentence for shape, sentence in analysis.APPLIES.items()},
        "SAMPLING": {"unknown": analysis.UNKNOWN, "open": analysis.OPEN, "closed": analysis.CLOSED},
        "TESTED_ALONE": words.TESTED_ALONE,
        "FEW_UNITS": analysis.FEW_UNITS,
        "MOST_KURTOSIS": analysis.MOST_KURTOSIS,
        "MOST_METHODS": analysis.MOST_METHODS,
    }
    lines = [
        f"  {name}: {json.dumps(table, ensure_ascii=False)}," for name, table in tables.items()
    ]
    head = (
        "// Written by `python tests/site/test_labs_report.py` from the tables of fslcore/report.\n"
    )
    return (
        f"{head}window.fslLabs.compute.report = {{ DECLARED: {{\n" + "\n".join(lines) + "\n} };\n"
    )


def concluded(path, **options):
    """What `fslcore.report` concludes from a file, as plain values in the form of the page."""
    results = Results.read(path, **options)
    record = results.record()
    ranks = ["best_rank", "worst_rank"] if "best_rank" in results.methods else []
    return {
        "shape": record["shape"],
        "reading": record["read"],
        "applies": " ".join(record["applies"]),
        "cautions": record["cautions"],
        "methods": [
            {name: row[name] for name in METHOD_COLUMNS + ranks} for row in record["methods"]
        ],
        "pairs": [{name: row[name] for name in PAIR_COLUMNS} for row in record["pairs"]],
        "sentences": list(results.verdicts["sentence"]) or [words.single_sentence(results)],
        "new_sample_notes": words.new_sample_notes(results.pairs),
        "method_table": words.method_table(results).astype(str).to_numpy().tolist(),
        "pair_table": words.pair_table(results).astype(str).to_numpy().tolist(),
    }


FILES = {path.name: path.read_bytes() for path in (Path(__file__).parent / "tables").iterdir()}
FILES |= {name: example["text"].encode() for name, example in lab_examples.examples().items()}
REFERENCE = "conv4-r2d2 r2d2"
CASES = [(name, {}) for name in FILES]
CASES += [
    ("clipart.csv", {"reference": REFERENCE}),
    ("places.csv", {"sampling": "closed"}),
    ("places.csv", {"sampling": "open"}),
]


def differences(theirs, ours, place=""):
    """Where two nested values differ, numbers by more than a billionth of them."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return [
            line for key in theirs for line in differences(theirs[key], ours[key], f"{place}/{key}")
        ]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [
            line
            for i, pair in enumerate(zip(theirs, ours))
            for line in differences(*pair, f"{place}/{i}")
        ]
    numbers = all(isinstance(value, (int, float)) for value in (theirs, ours))
    absolute = 1e-290 if "/p" in place.replace("/pairs", "") else 1e-9
    equal = (
        math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=absolute) if numbers else theirs == ours
    )
    return [] if equal else [f"{place}: {theirs!r}, and in the page {ours!r}"]


# ---------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with nothing but the lab, on disk."""
    scripts = "".join(f'<script src="{(LABS / name).as_uri()}"></script>' for name in SCRIPTS)
    styles = "".join(
        f'<link rel="stylesheet" href="{(LABS / name).as_uri()}">'
        for name in ("labs.css", "report.css")
    )
    place = '<div class="fsl-lab" data-lab="report"><p>no scripts</p></div>'
    return page_of(tmp_path_factory.mktemp("lab") / "page.html", styles + place + scripts)


@pytest.fixture
def page(phone, address):
    phone.requests = []
    phone.on("request", lambda request: phone.requests.append(request.url))
    phone.goto(address)
    return phone


@pytest.fixture(scope="module")
def lab(browser, address):
    """What the page answers to files: (name, text or bytes, options) each."""
    page = browser.new_page()
    page.goto(address)

    def call(*files):
        coded = [
            (name, content if isinstance(content, bytes) else content.encode(), options)
            for name, content, options in files
        ]
        return page.evaluate(
            ANSWERS,
            [
                [name, base64.b64encode(content).decode(), options]
                for name, content, options in coded
            ],
        )

    yield call
    page.close()


# ---------------------------------------------------------------- the same tables and the same answers


def test_the_page_reads_by_the_tables_of_the_command():
    """``python tests/site/test_labs_report.py`` writes them again."""
    assert (LABS / "report_columns.js").read_text("utf-8") == script_of_columns()
    assert (LABS / "report_examples.js").read_text("utf-8") == lab_examples.script()


@pytest.mark.parametrize("name, options", CASES)
def test_the_page_concludes_what_the_command_concludes(lab, tmp_path, name, options):
    (tmp_path / name).write_bytes(FILES[name])
    (by_page,) = lab((name, FILES[name], options))
    assert differences(concluded(tmp_path / name, **options), by_page) == []


# ---------------------------------------------------------------- what is not answered

LONG = "method,task,accuracy\n" + "".join(
    f"{method},{task},{value}\n"
    for method, values in (("a", (0.5, 0.7, 0.6)), ("b", (0.75, 0.625, 0.85)))
    for task, value in enumerate(values, 1)
)
REFUSED = {  # by both, and words of the page
    "no rows": ("method,task,accuracy\n", "no rows"),
    "uneven": (LONG.replace("a,2,0.7", "a,2"), "row 2"),
    "a word": (LONG.replace("0.7", "oops"), "accuracy in row 2 is oops"),
    "beyond 100": (LONG.replace("0.7", "100.5"), "100.5"),
    "one unit": (LONG.replace("a,2,0.7", "a,2,70"), "shares and percent are mixed"),
    "another word for method": (LONG.replace("method", "framework"), "framework has no role"),
    "another word for accuracy": (LONG.replace("accuracy", "result"), "result has no role"),
    "a column per method": ("task,a,b\n1,0.5,0.75\n2,0.7,0.625\n", "a, b have no role"),
    "a learning rate": (
        "lr," + LONG.replace("\na", "\n0.1,a").replace("\nb", "\n0.2,b"),
        "lr has no role",
    ),
    "losses": (LONG.replace("accuracy", "loss"), "loss has no role"),
    "a row twice": (LONG + "a,1,0.5\n", "the same method, task"),
    "one mean each": ("method,accuracy\na,70.5\nb,71.5\n", "one number per method"),
    "seeds of tasks": (
        "method,seed,task,accuracy\na,1,1,.5\na,1,2,.6\na,2,1,.5\na,2,2,.7\nb,1,1,.5\nb,1,2,.6\nb,2,1,.5\nb,2,2,.8\n",
        "what a seed numbers has to be said",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_page_refuses_what_the_command_refuses(lab, tmp_path, name):
    text, facts = REFUSED[name]
    path = tmp_path / "f.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        Results.read(path)
    (by_page,) = lab(("f.csv", text, {}))
    assert facts in by_page["refused"]


OTHER_SHAPES = {  # what the command answers, and the page leaves to it
    "answers": "method,task,accuracy\na,1,0\na,2,1\na,3,1\nb,1,1\nb,2,1\nb,3,0\n",
    "items": "method,item,accuracy\na,1,.5\na,2,.6\nb,1,.4\nb,2,.6\n",
    "runs": "method,run,task,accuracy\na,1,1,.5\na,1,2,.6\na,2,1,.4\na,2,2,.7\n",
}


@pytest.mark.parametrize("name", OTHER_SHAPES)
def test_other_shapes_are_left_to_the_command(lab, tmp_path, name):
    (tmp_path / "f.csv").write_text(OTHER_SHAPES[name])
    assert len(Results.read(tmp_path / "f.csv").methods)
    (by_page,) = lab(("f.csv", OTHER_SHAPES[name], {}))
    assert "this page does not" in by_page["refused"]


# ---------------------------------------------------------------- the page


def test_a_file_is_chosen_and_answered_and_nothing_is_requested(page, tmp_path):
    markup = '<img src=x onerror="window.ran=1">'
    path = tmp_path / "<b>mine.csv"
    path.write_text(LONG.replace("\na,", f'\n"{markup.replace(chr(34), chr(34) * 2)}",'))
    before = len(page.requests)
    page.get_by_label("Drop a file here").set_input_files(path)
    page.locator(".fsl-verdicts li").wait_for()
    first = page.locator(".fsl-report li").first.inner_text()
    assert first.startswith(
        f"b and {markup} are not significantly different: +14.17 (−32.45 to 60.78; p = 0.32)."
    )
    assert (
        page.locator(".fsl-report svg").count() == 2
        and page.locator(".fsl-report img").count() == 0
    )
    assert "fslcore report '<b>mine.csv'" in page.locator(".fsl-report pre").inner_text()
    assert page.requests[before:] == [] and page.evaluate("window.ran") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_examples_answer_and_choices_answer_again(page, tmp_path):
    for example in lab_examples.examples().values():
        page.get_by_role("button", name=example["title"]).click()
        page.locator(".fsl-verdicts li").first.wait_for()
    page.get_by_role("button", name="Eight methods").press("Enter")
    (tmp_path / "clipart.csv").write_bytes(FILES["clipart.csv"])
    verdicts = page.locator(".fsl-verdicts li")
    assert verdicts.all_inner_texts() == concluded(tmp_path / "clipart.csv")["sentences"]
    page.get_by_label("Compare").select_option(label=f"{REFERENCE} with each other method")
    page.get_by_label("How were the tasks drawn?").select_option("closed")
    assert verdicts.count() == 7 and all(REFERENCE in text for text in verdicts.all_inner_texts())
    assert analysis.CLOSED in page.locator(".fsl-report").inner_text()
    assert (
        f"--reference '{REFERENCE}' --sampling closed"
        in page.locator(".fsl-report pre").inner_text()
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_file_that_is_not_read_gets_one_line_and_the_command(page):
    page.get_by_text("Paste a table instead").press("Enter")
    pasted, read_it = (
        page.get_by_label("A line of names"),
        page.get_by_role("button", name="Read it"),
    )
    pasted.fill("method,task,accuracy\na,1,0.5\na,2,70.25\n")
    read_it.press("Enter")
    wrong = page.locator(".fsl-says.fsl-wrong")
    assert "\n" not in wrong.inner_text() and "shares and percent" in wrong.inner_text()
    command = page.locator(".fsl-report pre").inner_text().splitlines()[-1]
    assert command == "fslcore report pasted.csv --out-of 100"
    pasted.fill("method,task,accuracy\nours,1,70.5\nours,2,71.25\n")
    read_it.press("Enter")
    assert wrong.count() == 0 and "ours: 70.88 %" in page.locator(".fsl-verdicts").inner_text()


if __name__ == "__main__":
    (LABS / "report_columns.js").write_text(script_of_columns(), "utf-8")
