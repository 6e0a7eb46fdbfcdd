"""The prose of the book is plain English: phrases that no colleague would say are found by pattern."""

import ast
import re
from pathlib import Path

import pytest
from test_prose import FENCE

ROOT = Path(__file__).resolve().parents[2]

UNIT = r"(?:class|task|image|row|query|run|learner|method|setting|data set|pair|study|page|folder|second|minute)"
COUNTED = (
    r"(?:images?|quer(?:y|ies)|shots?|class(?:es)?|rows?|lines?|tasks?|labels?|photographs?|pictures?|files?"
    r"|points?|seconds?|minutes?|hours?|bytes|intervals?|accurac(?:y|ies)|colours?|panels?|seeds?|each|\d[\d,.]*)"
)
BANNED = {
    "told apart": "distinguished, or significantly different",
    r"(?:is|are|was|were|be|been|being) told": "is reported, shown, distinguished",
    r"tells (?:how|what|which|whether|when|where|why|its|nothing|little|much|it|them)\b": "shows, reports",
    r"sp(?:eak|eaks|oke|eaking) of": "applies to, describes",
    r"says? (?:nothing )?of": "describes, shows about",
    r"hangs? (?:up)?on|hung on": "depends on",
    r"Whoever|whoever": "a subject: authors, readers, anyone who",
    r"anew": "again, or what is drawn new",
    r"(?:too|as|so|very|more|most|the|a|is|are) dear|dear(?:er|est)": "expensive",
    r"reckon(?:s|ed|ing)?": "compute, estimate, count",
    r"mend(?:s|ed|ing)?": "fix, correct",
    r"one (?:row|column) per \w+,? and one (?:row|column) per": "tasks in rows, methods in columns",
    r"numbered like": "how they are numbered",
    r"of which (?:this|that) is true": "whose …, or for which …",
    r"both (?:methods )?were run on": "share",
    r"until significant": "until the difference is significant",
    r"(?:one|first|last|two|other|more|fewer|from|any) such": "the thing's name, or of this kind",
    r"(?:are|is|were|was|lie|lies|far) apart": "differ, or do not overlap",
    r"(?:[3-9]|[1-9]\d+) of (?:[3-9]|[1-9]\d+) others": "all three others, two of the others",
    rf"{COUNTED} an? {UNIT}": "per",
    rf"an? {UNIT} an? {UNIT}": "per",
}
PATTERNS = {
    re.compile(rf"(?<![\w-])(?:{pattern})(?!['’\w-])"): instead
    for pattern, instead in BANNED.items()
}
# "Who" at the start of a statement; a question may start so.
WHO = re.compile(r"(?:(?<=[.!?:;] )|(?<=\| )|(?<=^))Who [^.?!|]*(?:[.!|]|$)", re.MULTILINE)
PATTERNS[WHO] = "a subject: authors, readers, anyone who"


NO_PROSE = [
    (re.compile(r"\{[\w:-]+\}`([^`<]+) <[^`]*`"), r"\1"),  # a role with a text of its own
    (re.compile(r"\{[\w:-]+\}`[^`]*`"), "9"),  # any other: a glued number, most often
    (re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL), "x"),
    (re.compile(r"\$\$.*?\$\$|(?<!\\)\$[^$]*?(?<!\\)\$", re.DOTALL), "x"),
    (re.compile(r"^\([\w-]+\)=$|^ *:[\w-]+:.*$", re.MULTILINE), ""),
    (re.compile(r"\]\([^)]*\)|https?://\S+"), ""),
    (re.compile(r"(?:href|src|data-lab|class)=\"[^\"]*\""), ""),
    (re.compile(r"[*_]+"), ""),
]


def said_by_code(code):
    """Texts and comments of a cell: captions, labels and columns become prose on the page."""
    head = re.match(r"---\n.*?^---\n|(?::[^\n]*\n)*", code, re.MULTILINE | re.DOTALL)[0]
    code = code[len(head) :]
    tree = ast.parse(code)
    keys = {
        id(n.slice) for n in ast.walk(tree) if isinstance(n, ast.Subscript)
    }  # a name, not a text
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in keys]
    texts = [text for text in texts if isinstance(text, str)]
    return "\n\n".join([head, *texts, *re.findall(r"#\s(.*)$", code, re.MULTILINE)])


def prose(text):
    """The paragraphs of a page, each in one line, without roles, formulas, code and addresses."""

    def shown(block):
        if block[2] == "{code-cell}":
            return "\n\n" + said_by_code(block[4]) + "\n\n"
        if block[2] and block[2] != "{math}":
            return "\n\n" + FENCE.sub(shown, block[4]) + "\n\n"
        return "\n\n"

    text = FENCE.sub(shown, text)
    for pattern, instead in NO_PROSE:
        text = pattern.sub(instead, text)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*:|]|\d+\.) )", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def faults(text):
    """What on a page is not plain, with the words around it and what to say instead."""
    complaints = []
    for part in prose(text):
        for pattern, instead in PATTERNS.items():
            around = [part[max(0, m.start() - 40) : m.end() + 30] for m in pattern.finditer(part)]
            complaints += [f"… {words} … — rather: {instead}" for words in around]
    return complaints


def pages():
    paths = [ROOT / "README.md", ROOT / "book" / "ledger.yml", *(ROOT / "book").glob("*.md")]
    paths += [*(ROOT / "book" / "slides").glob("*.md"), *(ROOT / "notebooks").glob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


@pytest.mark.parametrize("page", pages())
def test_prose_is_plain_english(page):
    complaints = faults((ROOT / page).read_text("utf-8"))
    assert not complaints, f"{page}: say it in plain English:\n" + "\n".join(complaints)
