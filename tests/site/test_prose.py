"""What prose says of a run comes from the run: through ``glue`` in chapters, through templates in the ledger.

``tests/lint`` reads the sources. Here are the tools that fill them, and what a built book says.
"""

import json
from pathlib import Path

import assemble
import executed
import ledger_page
import markup
import numpy as np
import pandas as pd
import pytest
import weight
from bs4 import BeautifulSoup
from IPython.display import Markdown

from fslbook import cells
from tests.lint import chapters as lint
from tests.lint.files import Repository

ROOT = Path(__file__).resolve().parents[2]
EXECUTED = ROOT / "_build" / "notebooks"
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.md"))


def ledger():
    return ledger_page.read_ledger(ROOT / "book" / "ledger.yml")


REPOSITORY = Repository(ROOT)


@pytest.mark.parametrize("name", CHAPTERS)
def test_executed_chapter_glues_what_prose_names(name):
    path = EXECUTED / f"{name}.ipynb"
    if not path.is_file():
        pytest.skip("not executed (make book): what it glues and shows is not tested")
    keys = {key for _, _, chapter, key in lint.uses(REPOSITORY) if chapter == name}
    glued = set(executed.glued(path))
    assert glued == keys, (
        f"{name}: named and not glued {sorted(keys - glued)}; not read {sorted(glued - keys)}"
    )


# ---------------------------------------------------------------- the tools


def one_run(tmp_path, **values):
    """A notebook that has glued these values, as a kernel writes it."""
    from IPython.utils.capture import capture_output

    with capture_output() as output:
        cells.glue(**values)
    outputs = [
        {"output_type": "display_data", "data": o.data, "metadata": o.metadata}
        for o in output.outputs
    ]
    path = tmp_path / "one.ipynb"
    path.write_text(
        json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "outputs": outputs}]}), "utf-8"
    )
    return path, output.stdout


@pytest.fixture(autouse=True)
def shell():
    """Glue shows through IPython's display."""
    from IPython.core.interactiveshell import InteractiveShell

    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_what_is_glued_reads_as_on_the_page(tmp_path):
    path, printed = one_run(
        tmp_path,
        count=12345,
        gain="-0.5 to 10%",
        high=f"{np.inf:.1f}",
        name="conv4-r2d2",
        odd="it's *Q* 1_000",
        said=Markdown("**no** $-1$"),
    )
    assert executed.glued(path) == {
        "count": "12,345",
        "gain": "−0.5 to 10 %",
        "high": "∞",
        "name": "conv4-r2d2",
        "odd": r"it's \*Q\* 1\_000",
        "said": "**no** $−1$",
    }
    assert "gain: −0.5 to 10 %\n" in printed  # for those who run the notebook


VALUES = {"one": {"best": "2"}, "two": {"worst": "9"}}


def test_verdicts_and_pages_are_filled():
    assert (
        executed.fill("best Q {best}, {two:worst} elsewhere", VALUES, "t", "one")
        == "best Q 2, 9 elsewhere"
    )
    page = "Q {glue:text}`one::best`, {doc}`one`, ```{note}\n"
    assert executed.fill(page, VALUES, "index.md") == "Q 2, {doc}`one`, ```{note}\n"
    shown = {"one": {"fig-a": executed.Figure("0a.svg", "A")}}
    assert 'src="_images/0a.svg"' in executed.with_figures("![x](one::fig-a)", shown, "t")
    glued = executed.with_figures(r"![\*Q\* 1\_000](one::fig-a)", shown, "t")
    assert "<figcaption>*Q* 1_000</figcaption>" in glued
    syntax = "`![x](one::fig-a)` is a figure"  # as the page on teaching explains it
    assert executed.with_figures(syntax, shown, "t") == syntax


@pytest.mark.parametrize(
    "count, cases, word",
    [
        (20, 20, "holds"),
        (9, 10, "holds"),
        (8, 10, "holds in part"),
        (6, 10, "holds in part"),
        (5, 10, "does not hold"),
        (0, 1, "does not hold"),
        (0, 0, "not tested here"),
    ],
)
def test_a_count_decides_what_the_run_says_of_a_claim(count, cases, word):
    assert ledger_page.word_of_claim(count, cases) == word


HOLDS, IN_PART, FAILS, UNTESTED = (1, 1), (2, 3), (0, 1), (0, 0)


@pytest.mark.parametrize(
    "judged, status",
    [
        ([HOLDS, HOLDS], "reproduced"),
        ([HOLDS, IN_PART], "partly"),
        ([HOLDS, UNTESTED], "partly"),
        ([HOLDS, FAILS], "partly"),
        ([HOLDS, FAILS, FAILS], "differs"),
        ([IN_PART], "partly"),
        ([IN_PART, FAILS], "differs"),
        ([FAILS, UNTESTED], "differs"),
        ([UNTESTED], "shown"),
        ([], "shown"),
    ],
)
def test_the_claims_of_an_item_decide_its_status(judged, status):
    keys = [f"claim_{i}" for i in range(len(judged))]
    item = {"id": "a", "chapter": "c", "how": ["live"], "claims": dict.fromkeys(keys, "words")}
    decided, words = ledger_page.status_of_claims(item, dict(zip(keys, judged)))
    assert decided == status and list(words) == keys
    settings = {"id": "a", "chapter": "c", "how": ["settings"]}
    assert ledger_page.status_of_claims(settings, {}) == ("printed", {})


def test_an_item_and_its_chapter_name_the_same_claims():
    item = {"id": "a", "chapter": "c", "how": ["live"], "claims": {"best": "words"}}
    with pytest.raises(executed.SiteError, match="a.*best.*c.*least"):
        ledger_page.status_of_claims(item, {"least": HOLDS})
    with pytest.raises(executed.SiteError, match="a.*best.*c.*none"):
        ledger_page.status_of_claims(item, {})
    with pytest.raises(executed.SiteError, match=r"other.*\ba\b"):
        ledger_page.check_chapters([item], {"other": {"a": {}}})


@pytest.mark.parametrize(
    "claim, recorded",
    [(True, [1, 1]), (np.False_, [0, 1]), ((3, np.int64(4)), [3, 4]), (None, [0, 0])],
)
def test_what_a_chapter_judges_is_read_from_its_executed_notebook(
    tmp_path, monkeypatch, claim, recorded
):
    outputs = []
    monkeypatch.setattr(
        cells, "display", lambda data, raw, metadata: outputs.append({"metadata": metadata})
    )
    cells.judge("oops-table-1", best=claim)
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": outputs}]}), "utf-8")
    assert executed.judged(path) == {"oops-table-1": {"best": tuple(recorded)}}
    path.write_text(json.dumps({"cells": [{"outputs": 2 * outputs}]}), "utf-8")
    with pytest.raises(executed.SiteError, match="one.*oops-table-1.*twice"):
        executed.judged(path)


@pytest.mark.parametrize(
    "claim, error", [((5, 4), ValueError), ((-1, 4), ValueError), (0.5, TypeError)]
)
def test_a_claim_is_true_false_a_count_or_not_tested(claim, error):
    with pytest.raises(error, match="judge: oops-table-1, best"):
        cells.judge("oops-table-1", best=claim)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"claims": ["best"]}, "`claims` gives each claim a key"),
        ({"claims": {"Best one": "words"}}, "`claims` gives each claim a key"),
        ({"how": ["settings"]}, "`claims` of an item that only prints settings"),
        ({"status": "reproduced"}, "fields differ: .*status"),
        ({"why": {"other": "words"}}, "`why` of other, which is no claim of it"),
        ({"counted": {"differ": "{no_part}"}}, "`counted` is a part of the verdict.*no_part"),
    ],
)
def test_an_item_of_the_ledger_is_complete(tmp_path, change, message):
    item = next(i for i in ledger() if "claims" in i) | change
    path = tmp_path / "ledger.yml"
    path.write_text(json.dumps({"items": [item]}), "utf-8")  # JSON is YAML
    with pytest.raises(executed.SiteError, match=message):
        ledger_page.read_ledger(path)


def test_the_default_run_judges_every_claim_of_the_ledger_and_says_why_an_item_differs():
    paths = list(EXECUTED.glob("*.ipynb"))
    if len(paths) < len(CHAPTERS):
        pytest.skip("not executed (make book): what it glues and shows is not tested")
    claims_of_chapter = {path.stem: executed.judged(path) for path in paths}
    ledger_page.check_chapters(ledger(), claims_of_chapter)
    for item in ledger():
        judged = claims_of_chapter[item["chapter"]].get(item["id"], {})
        status, words = ledger_page.status_of_claims(item, judged)
        unsaid = {
            key
            for key, word in words.items()
            if word != "holds"
            and key not in item.get("untested" if judged[key][1] == 0 else "why", ())
        }
        assert status != "reproduced" or not unsaid
        assert unsaid == set(), item["id"]


@pytest.mark.parametrize(
    "text, judged, message",
    [
        ("8 of 10 on icons", (8, 10), ""),
        ("20 of 20 on icons, 1,008 of 1,010 on clipart", (1028, 1030), ""),
        ("—", (0, 0), ""),
        ("28 of 30", (8, 10), "28 of 30 cases of grows .*judges 8 of 10"),
        ("most", (8, 10), "0 of 0 cases of grows"),
    ],
)
def test_a_verdict_counts_the_cases_that_decide_the_status(text, judged, message):
    item = {"id": "a", "chapter": "c", "counted": {"grows": text}}
    if not message:
        ledger_page.check_counts(item, {"grows": judged})
    else:
        with pytest.raises(executed.SiteError, match=message):
            ledger_page.check_counts(item, {"grows": judged})


def reasons(word, labels=(), **fields):
    item = {
        "status": "partly",
        "claims": {"grows": "the gap grows"},
        "claim_words": {"grows": word},
    }
    return ledger_page.reasons(item | fields, labels)


def test_the_ledger_says_why_a_claim_is_not_reproduced():
    why = {"why": {"grows": "few images"}, "untested": {"grows": "no weights"}}
    assert reasons("holds in part", **why) == ["*the gap grows* (holds in part): few images."]
    assert reasons("does not hold") == ["*the gap grows* (does not hold): not known."]
    assert reasons("not tested here", **why)[0].endswith(": no weights.")
    papers_data = reasons("does not hold", [ledger_page.OTHER_DATA], **why)
    assert papers_data == reasons("does not hold")  # the reasons are about the shipped data
    assert reasons("holds", **why) == []
    assert "no result to reproduce" in reasons("holds", status="printed")[0]


@pytest.mark.parametrize(
    "text, chapter, message",
    [
        ("{bets}", "one", r"t: \{bets\}: one glues no such key; it glues best"),
        ("{glue:text}`one::bets`", "", r"t: .*one::bets`: one glues no such key; it glues best"),
    ],
)
def test_a_key_that_cannot_be_filled_is_named(text, chapter, message):
    with pytest.raises(executed.SiteError, match=message):
        executed.fill(text, VALUES, "t", chapter)


def rows_of(html):
    """The rows of a table in HTML, each the list of its cells' texts."""
    return [
        [c.get_text() for c in row.select("th, td")]
        for row in BeautifulSoup(html, "html.parser").select("tr")
    ]


def test_tables_are_tidied_and_nothing_is_lost():
    frame = pd.DataFrame(
        {"n_tasks": [-1.5, -0.0], "half_width": ["-0.00 ± 3%", "[-1, 2-3]"]}, index=["a-1", "b_c"]
    )
    body = [["a-1", "−1.5", "0.00 ± 3 %"], ["b_c", "0.0", "[−1, 2-3]"]]
    first_table = assemble.tidy_tables(frame.rename_axis("what").to_html())
    assert (
        rows_of(first_table) == [["what", "tasks", "half width"], *body]
        and 'border="1"' not in first_table
    )
    named_twice = frame.rename_axis(
        index="what", columns="which"
    ).to_html()  # each name needs a row of its own
    assert rows_of(assemble.tidy_tables(named_twice)) == [
        ["which", "tasks", "half width"],
        ["what", "", ""],
        *body,
    ]
    places = pd.MultiIndex.from_tuples([("here", "a"), ("here", "b")], names=["", "data set"])
    one_name = frame.set_axis(places).to_html()  # stands over the labels that it names
    assert rows_of(assemble.tidy_tables(one_name))[0] == ["", "data set", "tasks", "half width"]
    sets = pd.DataFrame({"dataset": ["dataset"]}).to_html()
    assert rows_of(assemble.tidy_tables(sets)) == [["", "data set"], ["0", "dataset"]]


def test_a_short_option_is_one_word_and_other_code_is_not():
    code = '<code class="literal"><span class="pre">{}</span> <span class="pre">tasks</span></code>'
    option = code.replace('"pre">{', '"pre option">{')
    assert markup.fixed(code.format("--seed")) == option.format("--seed")
    for other in ("a--low", "fslcore.stats", "--config slower=20"):
        assert markup.fixed(code.format(other)) == code.format(other)


def test_tables_get_numbers_captions_and_scopes():
    html = pd.DataFrame({"a": [1]}, index=["x"]).to_html()

    def cell(**options):
        output = {
            "output_type": "display_data",
            "data": {"text/html": assemble.tidy_tables(html)},
            "metadata": {},
        }
        return {"cell_type": "code", "metadata": options, "outputs": [output]}

    facts = {"caption": "Means of {glue:text}`n` *tasks*, a < b.", "name": "tab-means"}
    text = {"cell_type": "markdown", "metadata": {}, "source": ["See {numref}`tab-means`."]}
    book = {
        "cells": [
            text,
            cell(),
            cell(table=facts),
            cell(table=facts | {"folded": True, "name": "tab-again"}),
        ]
    }
    assemble.number_tables(book, "planning", "7.", {"planning": {"n": "12"}})
    plain_table, first, second = (
        BeautifulSoup(c["outputs"][0]["data"]["text/html"], "html.parser")
        for c in book["cells"][1:]
    )
    assert book["cells"][0]["source"] == 'See <a class="internal" href="#tab-means">Table 7.1</a>.'
    assert not plain_table.select("caption")
    assert [head["scope"] for head in plain_table.select("th")] == ["col", "col", "row"]
    assert (
        first.select_one("#tab-means table > caption").get_text()
        == "Table 7.1. Means of 12 tasks, a < b."
    )
    assert (
        second.select_one("#tab-again > details > summary").get_text()
        == "Table 7.2. Means of 12 tasks, a < b."
    )
    assert second.table["aria-label"] == "Table 7.2. Means of 12 tasks, a < b."
    book = {"cells": [{**text, "source": "{numref}`tab-none`"}]}
    with pytest.raises(executed.SiteError, match="planning: .*no table"):
        assemble.number_tables(book, "planning", "7.", {})


def test_only_pages_with_formulas_load_mathjax():
    script = '<script defer="defer" src="_static/mathjax/tex-chtml.js"></script>'
    settings = '<script>window.MathJax = {"options": {}}</script>'
    page = f"<head>\n{settings}\n{script}\n<script src='a.js'></script></head>"
    assert (
        weight.without_mathjax(f"{page}<p>5 $</p>")
        == "<head>\n<script src='a.js'></script></head><p>5 $</p>"
    )
    for formula in ('<span class="math notranslate">', r"\(x\)"):
        assert weight.without_mathjax(page + formula) == page + formula


def test_drawings_lose_their_indents_and_texts_keep_their_spaces(tmp_path):
    (tmp_path / "_images").mkdir()
    drawing = tmp_path / "_images" / "a.svg"
    text = "<text>\n   <tspan>a</tspan>\n   <tspan>b</tspan>\n</text>"
    drawing.write_text(f"<svg>\n <g>\n  <path/>\n  {text}\n </g>\n</svg>\n", "utf-8")
    weight.strip_site(tmp_path)
    assert drawing.read_text("utf-8") == f"<svg><g><path/>\n  {text}</g></svg>\n"


def test_a_request_for_an_answer_is_not_shown_as_a_result(tmp_path):
    def cell(source):
        output = {"output_type": "stream", "name": "stdout", "text": "Replace ... by the mean."}
        return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [output]}

    cells = [cell('print(course.check("primer", ...))'), cell("print(answer)")]
    source, target = tmp_path / "primer.ipynb", tmp_path / "shown.ipynb"
    source.write_text(json.dumps({"metadata": {}, "cells": cells}), "utf-8")
    assemble.clean_notebook(source, target)
    shown = json.loads(target.read_text("utf-8"))["cells"]
    assert [len(cell["outputs"]) for cell in shown] == [0, 1]


# ---------------------------------------------------------------- tables

MOST_OPEN = 6


def shown_tables(name):
    """(caption or None, folded) of each table that an executed chapter shows, but those of solutions."""
    tables, hidden = [], False
    for cell in json.loads((EXECUTED / f"{name}.ipynb").read_text("utf-8"))["cells"]:
        text, tags = "".join(cell["source"]), cell["metadata"].get("tags", [])
        if cell["cell_type"] == "markdown":
            starts, ends = text.rfind("{solution-start}"), text.rfind("{solution-end}")
            hidden = starts > ends if max(starts, ends) >= 0 else hidden
        elif "remove-cell" not in tags and "parameters" not in tags:
            options = cell["metadata"].get("table", {})
            html = "".join(
                "".join(o.get("data", {}).get("text/html", "")) for o in cell.get("outputs", [])
            )
            tables += [(options.get("caption"), options.get("folded") or hidden)] * html.count(
                "<table"
            )
    return tables


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_table_has_a_caption_and_few_stand_open(name):
    if not (EXECUTED / f"{name}.ipynb").is_file():
        pytest.skip("not executed (make book): what it glues and shows is not tested")
    tables = shown_tables(name)
    assert all(caption for caption, _ in tables), (
        f"{name}: a cell with a table says table: {{caption: …}}"
    )
    assert sum(not folded for _, folded in tables) <= MOST_OPEN
