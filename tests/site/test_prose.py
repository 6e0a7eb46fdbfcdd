"""What prose says of a run comes from the run: through ``glue`` in chapters, through templates in the ledger.

Read from the sources, and, where the book is built, from its executed notebooks.
"""

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import assemble
import executed
import ledger_page
import numpy as np
import pandas as pd
import pytest
import weight
from bs4 import BeautifulSoup
from IPython.display import Markdown

from fslbook import cells

ROOT = Path(__file__).resolve().parents[2]
EXECUTED = ROOT / "_build" / "notebooks"
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.md"))
SLIDES = sorted((ROOT / "book" / "slides").glob("*.md"))
VISIBLE_LINES = 10

# Numerals that no run gives and no other rule allows: (page or ledger item, words around it) and why they may stand.
ALLOWED = {
    ("benchmark", "they are close to 100 %"): "the most there can be",
    (
        "closed-vs-open",
        "Is it 3.8 times?",
    ): "a heading; the sentence below it has the paper's figure from its claims",
    (
        "oops-audit",
        "the 600 tasks of a closed run",
    ): "the paper's number of closed tasks, as in the front page's",
    ("estimators", "MAML's leave-one-out lies below 20 %"): "the paper's tasks have five classes",
    (
        "fewstab-figure-6",
        "trained with 5 shots minus with 1",
    ): "the two trainings that the figure compares",
    (
        "evaluators-audit",
        "of 5 folds of 25 images. Three is the first of 10 folds.",
    ): "supports are 5-way 5-shot",
    (
        "evaluators-audit",
        "`k_fold` is 10 for Baseline on CIFAR-FS and 5 for R2D2",
    ): "settings of the released code",
    (
        "evaluators-audit",
        "No estimate from 5 or 25 images",
    ): "what hold-out and cross-validation test on, 5-way 5-shot",
    ("informed", "the margins' 10 % quantile"): "how the signal is defined",
    (
        "your-support-set",
        "with 25 of them it moves in steps of four points",
    ): "an example, whatever the folder holds",
    ("data-and-backbones", "native 224 and more"): "the side that these networks are known for",
    (
        "ten-learners",
        "on 84×84 pixels, ours a Conv4 on 32×32",
    ): "networks, with the images that they take",
}

ROLE = re.compile(
    r"\{glue:?\w*\}`(?:([\w-]+)::)?([^`:]+)(?::[^`]*)?`|^```\{glue:?\w*\} +(?:([\w-]+)::)?(\S+)",
    re.MULTILINE,
)


# ---------------------------------------------------------------- reading the sources


@dataclass
class Cell:
    """A code cell: its tags, its code, its line in the file, and (key or pattern, value) of what it glues."""

    tags: list
    code: str
    line: int
    glued: list = field(default_factory=list)

    def __post_init__(self):
        for call in ast.walk(ast.parse(self.code)):
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "glue":
                for argument in call.keywords:
                    self.glued += _keys(argument)


def _keys(keyword):
    """(pattern, value) of one argument of ``glue``: a key, or a dict whose keys are texts or f-strings."""
    if keyword.arg:
        return [(keyword.arg, keyword.value)]
    if isinstance(keyword.value, ast.DictComp):
        pairs = [(keyword.value.key, keyword.value.value)]
    else:
        pairs = list(zip(keyword.value.keys, keyword.value.values))
    return [(_pattern(key), value) for key, value in pairs]


def _pattern(key):
    if isinstance(key, ast.Constant):
        return key.value
    return "".join(part.value if isinstance(part, ast.Constant) else r"\w+" for part in key.values)


FENCE = re.compile(r"^(`{3,})(\{[\w:-]+\})?([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def code_cells(text):
    blocks = []
    for block in FENCE.finditer(text):
        if block[2] == "{code-cell}":
            head = re.match(r"---\n.*?^---\n|(?::[^\n]*\n)*", block[4], re.MULTILINE | re.DOTALL)[0]
            tags = re.search(r"tags: \[(.*)\]", head)
            line = text.count("\n", 0, block.start()) + 1
            blocks.append(
                Cell(re.findall(r"[\w-]+", tags[1]) if tags else [], block[4][len(head) :], line)
            )
    return blocks


def source(name):
    return (ROOT / "notebooks" / f"{name}.md").read_text("utf-8")


def blank(text, pattern, flags=re.MULTILINE):
    """The text with spaces over what the pattern finds; lines stay lines."""
    return re.sub(pattern, lambda m: re.sub(r"\S", " ", m[0]), text, flags=flags)


def markdown(text):
    """A chapter's text without its code cells and its front matter."""
    text = re.sub(
        FENCE, lambda m: re.sub(r"\S", " ", m[0]) if m[2] == "{code-cell}" else m[0], text
    )
    return blank(text, r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL)


def captions(text):
    """The captions of a chapter's figures and tables, which stand in the heads of code cells."""
    return "\n".join(re.findall(r"^ +caption: .*$", text, re.MULTILINE))


def used(text):
    """(chapter or '', key) of every glue role and directive."""
    return {(m[1] or m[3] or "", m[2] or m[4]) for m in ROLE.finditer(text)}


def ledger():
    return ledger_page.read_ledger(ROOT / "book" / "ledger.yml")


GLUED = {
    name: [pair for cell in code_cells(source(name)) for pair in cell.glued] for name in CHAPTERS
}
# Where a page names a key: (place, chapter, key).
USES = [
    (f"notebooks/{name}.md", chapter or name, key)
    for name in CHAPTERS
    for chapter, key in used(markdown(source(name)) + captions(source(name)))
]
USES += [
    (f"book/{p.name}", *use)
    for p in sorted((ROOT / "book").glob("*.md"))
    for use in used(p.read_text())
]
USES += [(f"book/slides/{p.name}", *use) for p in SLIDES for use in used(p.read_text("utf-8"))]
USES += [
    (f"book/ledger.yml, {item['id']}", chapter or item["chapter"], key)
    for item in ledger()
    for chapter, key in re.findall(executed.KEY, item["verdict"] + item.get("found", ""))
]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_box_before_the_first_section_sums_a_chapter_up(name):
    """The question, what the papers say, what came out here and why, in few words."""
    text = source(name)
    start = text.index("```{admonition} In four lines")
    assert start < text.index("\n## ")
    box = text[start : text.index("\n```\n", start)]
    heads = re.findall(r"^(\S.*)\n: \S", box, re.MULTILINE)
    assert (
        heads[0] == "Question" and heads[1] in ("The paper", "The papers") and heads[2] == "Here"
    ), heads
    assert heads[3:] in ([], ["Why"])  # not "why they differ": with other data they may agree
    assert len(re.sub(ROLE, "0", box).split()) < 120


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_solution_answers_in_words(name):
    """Code alone tells nothing to who cannot run it."""
    mute = []
    for block in re.finditer(
        r"^(`{3,})\{solution\} ([\w-]+)\n(.*?)^\1$", source(name), re.MULTILINE | re.DOTALL
    ):
        words = re.sub(
            r"^```.*?^```$|^:\w+:[^\n]*$", "", block[3], flags=re.MULTILINE | re.DOTALL
        ).split()
        mute += [block[2]] if len(words) < 6 else []
    assert not mute, f"notebooks/{name}.md: code without an answer: {', '.join(mute)}"


# ---------------------------------------------------------------- keys


def test_every_key_that_prose_names_is_glued():
    """A chapter reads its own keys, so that it can be read alone; the ledger and prose pages say of which chapter."""
    unknown = [
        f"notebooks/{name}.md: reads {chapter}::{key}; glue it there"
        for name in CHAPTERS
        for chapter, key in used(markdown(source(name)))
        if chapter
    ]
    unknown += [
        f"notebooks/{name}.md: {role} is read as CommonMark, without formulas: write {role[:-1]}:myst`"
        for name in CHAPTERS
        for role in re.findall(r"\{glue:md\}`\w+`", source(name))
    ]
    unknown += [
        f"{place}: {chapter} glues no {key}"
        for place, chapter, key in USES
        if not any(re.fullmatch(pattern, key) for pattern, _ in GLUED.get(chapter, ()))
    ]
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_glued_key_is_used(name):
    keys = {key for _, chapter, key in USES if chapter == name}
    idle = {
        pattern for pattern, _ in GLUED[name] if not any(re.fullmatch(pattern, key) for key in keys)
    }
    assert not idle, (
        f"notebooks/{name}.md glues what no page, nor the ledger, reads: {', '.join(sorted(idle))}"
    )


@pytest.mark.parametrize("name", CHAPTERS)
def test_printed_figures_come_from_data_published(name):
    """A key ``printed_…`` holds what a paper prints: its value names ``claims`` or a table ``printed``."""
    by_hand = [
        f"{key}={ast.unparse(value)}"
        for key, value in GLUED[name]
        if key.startswith("printed") and not re.search(r"claims|printed", ast.unparse(value))
    ]
    assert not by_hand, f"notebooks/{name}.md: from no file of data/published: {'; '.join(by_hand)}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_executed_chapter_glues_what_prose_names(name):
    path = EXECUTED / f"{name}.ipynb"
    if not path.is_file():
        pytest.skip("not executed: run `make book` first")
    keys = {key for _, chapter, key in USES if chapter == name}
    glued = set(executed.glued(path))
    assert glued == keys, (
        f"{name}: named and not glued {sorted(keys - glued)}; not read {sorted(glued - keys)}"
    )


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize("name", CHAPTERS)
def test_cells_that_glue_leave_no_trace(name):
    faults = []
    for cell in code_cells(source(name)):
        if cell.glued and "remove-cell" not in cell.tags:
            faults.append(f"{name}.md:{cell.line}: glues, and is not tagged remove-cell")
        if "remove-cell" in cell.tags and not cell.glued:
            faults.append(f"{name}.md:{cell.line}: is removed, though it glues nothing")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", CHAPTERS)
def test_visible_cells_are_short_and_there(name):
    hidden = {"hide-input", "hide-cell", "remove-cell", "remove-input", "parameters"}
    visible = [cell for cell in code_cells(source(name)) if not hidden & set(cell.tags)]
    long = [
        f"{name}.md:{c.line}: {n} lines"
        for c in visible
        if (n := len(c.code.splitlines())) > VISIBLE_LINES
    ]
    assert visible and not long, (
        f"at most {VISIBLE_LINES} lines can be read at once: {', '.join(long)}"
    )


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_cell_writes_sentences(name):
    """A heading over a table may be written by its cell; sentences stand in Markdown."""
    faults = []
    for cell in code_cells(source(name)):
        for call in ast.walk(ast.parse(cell.code)):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func) == "Markdown"
                and not cell.glued
            ):
                words = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant)]
                if any(re.search(r"\.(\s|$)", word) for word in words if isinstance(word, str)):
                    faults.append(f"{name}.md:{cell.line}: {ast.unparse(call)}")
    assert not faults, "prose built by code; glue what varies in it:\n" + "\n".join(faults)


@pytest.mark.parametrize("name", CHAPTERS)
def test_parameters_follow_the_first_idea(name):
    text = source(name)
    first = code_cells(text)[0]
    assert first.tags == ["parameters"], f"{name}: a cell before the parameters would not know them"
    headings = re.findall(r"^## (.*)$", "\n".join(text.splitlines()[: first.line]), re.MULTILINE)
    assert len(headings) == 1 and headings[0] != "Parameters", (
        f"{name}: parameters stand in the first section"
    )
    assert "parameter_table" not in text, (
        f"{name}: assembling the site puts the table below the parameters"
    )


# ---------------------------------------------------------------- numerals

NUMBERED = r"(?:Tables?|Figures?|[Ss]ections?|[Cc]hapters?|[Ee]quations?|Appendix|[Aa]ppendices)"
NO_PROSE = [
    r"\{[\w:-]+\}`[^`]*`",  # roles: references, citations, what is glued
    r"(`+)(?!`).*?(?<!`)\1(?!`)",  # code
    r"\$\$.*?\$\$|(?<!\\)\$[^$]*?(?<!\\)\$",
    r"^\([\w-]+\)=$|^ *:[\w-]+:.*$|^:{3,}.*$|^%.*$",  # anchors, options, fences, comments
    r"\]\([^)]*\)|<[^>\n]*>|https?://\S+",
    rf"\b{NUMBERED}\s+S?\d[\d.]*\d?(?:(?:,|,?\s+and|,?\s+or|\s+to|–)\s*S?\d[\d.]*\d?)*",
    r"^ *\d+\. ",  # numbers of a list
    r"\b\d+-(?:way|shot|fold)\b",  # names of settings and of estimators
    r"\b(?:19[5-9]\d|20[0-3]\d)\b(?! (?:images|tasks|runs|queries))",  # years
    r"\b95 %",  # the usual level
    r"(?<![\w.,−-])[−-]?[01]\b(?![.,]\d)(?! (?:of|out|to|and|shots?|points?|tasks?|pairs?|cells?|images?)\b)(?! %)",
]
NUMERAL = re.compile(r"(?<![\w.−-])[−-]?\d+(?:[.,]\d+)*(?: ?%)?")


def prose(text):
    """The text with spaces over all that is no prose, or is a number which no run gives."""
    at = 0
    while block := FENCE.search(text, at):
        at = block.start()
        gone = not block[2] or block[2] in ("{exercise}", "{solution}", "{math}", "{code-cell}")
        visible = blank(
            block[0], r".*" if gone else r"^`{3,}(\{[\w:-]+\})?"
        )  # what other directives hold is prose
        text = text[:at] + visible + text[block.end() :]
    for pattern in NO_PROSE:
        text = blank(text, pattern, re.MULTILINE | re.DOTALL)
    return text


def numerals(text, page=""):
    """(offset, numeral) of those that come from no run and that ``ALLOWED`` has not."""
    spans = [
        m.span()
        for (place, words) in ALLOWED
        if place == page
        for m in re.finditer(r"\s+".join(map(re.escape, words.split())), text)
    ]
    matches = [(m.start(), m[0]) for m in NUMERAL.finditer(prose(text))]
    return [(at, number) for at, number in matches if not any(a <= at < b for a, b in spans)]


def complaint(place, line, text, at, number):
    around = re.sub(r"\s+", " ", text[max(0, at - 60) : at + 60]).strip()
    return f"{place}:{line}: {number} — … {around} …"


HELP = "\nGlue it (CONTRIBUTING.md, 'A chapter'), or say in ALLOWED why it may stand there:\n"
PAGES = {name: ROOT / "notebooks" / f"{name}.md" for name in CHAPTERS} | {
    "index": ROOT / "book" / "index.md",
    **{f"slides/{path.stem}": path for path in SLIDES},
}


@pytest.mark.parametrize("name", PAGES)
def test_numerals_come_from_a_run(name):
    path = PAGES[name]
    full_text = path.read_text("utf-8")
    text = markdown(full_text)
    faults = [
        complaint(path.relative_to(ROOT), text.count("\n", 0, at) + 1, full_text, at, number)
        for at, number in numerals(text, name)
    ]
    assert not faults, HELP + "\n".join(faults)


def texts(value):
    """What an expression says word by word: its texts, but for keys in brackets and for formats."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    if not isinstance(value, ast.Subscript):
        for name, part in ast.iter_fields(value):
            for node in part if isinstance(part, list) else [part]:
                if isinstance(node, ast.AST) and name != "format_spec":
                    yield from texts(node)


@pytest.mark.parametrize("name", CHAPTERS)
def test_numerals_in_what_is_glued_come_from_a_run(name):
    faults = [
        f"notebooks/{name}.md, {key}: {number} — {text}"
        for key, value in GLUED[name]
        for text in texts(value)
        for _, number in numerals(text, name)
    ]
    assert not faults, HELP + "\n".join(faults)


# Words of a direction, a quantity or a cause, which other numbers may turn.
TURNING = re.compile(
    r"(?i)\b(?:more|fewer|less|most|mostly|few|nearly|hardly|rarely|always|never|all|only|because|gains?|costs?|adds?"
    r"|falls?|rises?|widens?|larger|smaller|higher|lower|wider|narrower|better|worse|best|worst)\b"
)
CONDITIONS = {"direction", "comparison", "quantity", "sentence_if"}
# (chapter, words) of glued texts that hold whatever the run gives, and why.
UNCONDITIONAL = {
    ("benchmark", "agree in every printed digit"): "what is counted",
    ("benchmark", "Ranks over data sets need more than one"): "true of every run",
    ("closed-vs-open", " is better"): "the meaning of the paper's sign",
    ("coverage", "of all questions or one"): "a docstring",
    ("exercises", "on its worst class"): "the name of a measure",
    ("informed", "a gain"): "a column's name",
    ("same-support", "for both are equal"): "chosen below by the equality that it states",
    ("selection", "The choice adds less than"): "the limit that is counted",
    ("selection", "rows, and most for"): "the row with the largest number, which follows",
    ("selection", "chosen on half of the images of clip art, gain"): "signed points",
    ("spurious-bias", "leaves such a word out only if"): "a rule of the paper",
}


def is_condition(node, child):
    """Whether a node of a cell's code chooses its child by a condition, or names a column or rows by it."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in {*CONDITIONS, "query"}
    names_a_part = isinstance(node, ast.Subscript) and child is node.slice
    return names_a_part or isinstance(node, (ast.IfExp, ast.If))


def unconditional(code):
    """Texts with `TURNING` words of a cell that no condition chooses: no branch, no helper of `fslbook.cells`."""
    tree = ast.parse(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and " " in node.value.strip() and TURNING.search(node.value):
            lineage = [node]
            while lineage[-1] in parents:
                lineage.append(parents[lineage[-1]])
            if not any(map(is_condition, lineage[1:], lineage)):
                yield node.value


def test_unconditional_words_are_found():
    code = """
glue(
    a=sentence_if(x > 0, "it gains more"), b="more is gained" if x > 0 else "",
    c=direction(low, high, above="is wider by"), d=f"it gains {x:.1f} points",
    e=Markdown("Few are " + quantity(k, n)), f=table["the best"],
)
if x > 0:
    glue(g="it is larger than")
"""
    assert sorted(unconditional(code)) == ["Few are ", "it gains "]


@pytest.mark.parametrize("name", CHAPTERS)
def test_glued_words_that_numbers_may_turn_have_a_condition(name):
    """Or stand in ``UNCONDITIONAL`` with the reason."""
    faults = [
        f"{name}.md:{cell.line}: {text}"
        for cell in code_cells(source(name))
        if "remove-cell" in cell.tags
        for text in unconditional(cell.code)
        if not any(place == name and words in text for place, words in UNCONDITIONAL)
    ]
    assert not faults, "give it a condition (CONTRIBUTING.md, 'A chapter'):\n" + "\n".join(faults)


def test_numerals_of_the_ledger_come_from_a_run():
    lines = (ROOT / "book" / "ledger.yml").read_text("utf-8").splitlines()
    faults = []
    for item in ledger():
        line = lines.index(f"- id: {item['id']}") + 1
        verdict = blank(item["verdict"], executed.KEY)
        faults += [
            complaint(f"book/ledger.yml, {item['id']}", line, item["verdict"], at, number)
            for at, number in numerals(verdict, item["id"])
        ]
    assert not faults, HELP + "\n".join(faults)


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
    "found, status",
    [
        ("20 of 20 on icons", "reproduced"),
        ("9 of 10", "reproduced"),
        ("8 of 10 on icons", "partly"),
        ("6 of 10", "partly"),
        ("5 of 10", "differs"),
        ("None of 12", "differs"),
        ("all of 1,200, none of the 800", "partly"),
    ],
)
def test_a_count_decides_the_status_of_an_item(found, status):
    assert ledger_page.status_of_count(found) == status


@pytest.mark.parametrize("found", ["—", "0 of 0"])
def test_a_status_is_not_decided_by_no_count(found):
    with pytest.raises(executed.SiteError, match="gives no count such as '3 of 4'"):
        ledger_page.status_of_count(found)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"status": "counted"}, "belong together"),
        ({"found": "{best}"}, "belong together"),
        ({"status": "differs"}, "`why` is missing"),
        ({"status": "good"}, "is one of reproduced, partly, .*counted"),
        ({"because": "no"}, "fields differ: .*because"),
    ],
)
def test_an_item_of_the_ledger_is_complete(tmp_path, change, message):
    item = next(i for i in ledger() if i["status"] == "reproduced") | change
    path = tmp_path / "ledger.yml"
    path.write_text(json.dumps({"items": [item]}), "utf-8")  # JSON is YAML
    with pytest.raises(executed.SiteError, match=message):
        ledger_page.read_ledger(path)


def test_every_item_that_differs_says_why():
    """In the default run, whatever its status is decided by."""
    values = {path.stem: executed.glued(path) for path in EXECUTED.glob("*.ipynb")}
    if len(values) < len(CHAPTERS):
        pytest.skip("not executed: run `make book` first")
    for item in ledger():
        found = item.get("found", "")
        text = executed.fill(found, values, item["id"], item["chapter"])
        status = ledger_page.status_of_count(text) if found else item["status"]
        assert status != "differs" or "why" in item, item["id"]


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
        {"n_tasks": [-1.5, -0.0], "half_width": ["-0.00 ± 0.3", "[-1, 2-3]"]}, index=["a-1", "b_c"]
    )
    body = [["a-1", "−1.5", "0.00 ± 0.3"], ["b_c", "0.0", "[−1, 2-3]"]]
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
    with pytest.raises(executed.SiteError, match="planning: .*no table has this name"):
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


# ---------------------------------------------------------------- tables and length

MOST_OPEN, MOST_WORDS = 6, 2000


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
        pytest.skip("not executed: run `make book` first")
    tables = shown_tables(name)
    assert all(caption for caption, _ in tables), (
        f"{name}: a cell with a table says table: {{caption: …}}"
    )
    assert sum(not folded for _, folded in tables) <= MOST_OPEN


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_not_too_long(name):
    text = re.sub(
        r"^(`{3,})\w+\n.*?^\1$",
        "",
        re.sub(ROLE, "0", markdown(source(name))),
        flags=re.MULTILINE | re.DOTALL,
    )
    text = re.sub(
        r"^`{3,}.*?$|^:[\w-]+:.*$|^\([\w-]+\)=$|\$\$.*?\$\$|\(https?:[^)]*\)|`[^`]*`|\$[^$]*\$|\{[^}]*\}",
        " ",
        text,
        flags=re.MULTILINE,
    )
    assert len(re.findall(r"[A-Za-z][A-Za-z'’-]*", text)) <= MOST_WORDS
