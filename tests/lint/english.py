"""Prose is plain English: phrases that no colleague would say are found by pattern."""

import ast
import io
import re
import tokenize

from .files import CELL_HEAD, FENCE, File, rule

UNIT = (
    r"(?:class|task|image|row|query|run|learner|method|setting|data set|pair|study|page|folder"
    r"|second(?! time)|minute)"
)
COUNTED = (
    r"(?:images?|quer(?:y|ies)|shots?|class(?:es)?|rows?|lines?|tasks?|labels?|photographs?|pictures?|files?"
    r"|points?|seconds?|minutes?|hours?|bytes|intervals?|accurac(?:y|ies)|colours?|panels?|seeds?|each|\d[\d,.]*)"
)
# "The images a task has" is none of them.
NO_VERB = r"(?! (?:has|have|holds|is|was|takes|can|may|must|should)\b)"
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
    rf"{COUNTED} an? {UNIT}{NO_VERB}": "per",
    rf"an? {UNIT} an? {UNIT}{NO_VERB}": "per",
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


def texts_of_code(code: str) -> str:
    """Texts and comments of a cell: captions, labels and columns become prose on the page."""
    head = CELL_HEAD.match(code)[0]
    code = code[len(head) :]
    tree = ast.parse(code)
    keys = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = [node.value for node in constants if id(node) not in keys]
    texts = [text for text in texts if isinstance(text, str)]
    return "\n\n".join([head, *texts, *re.findall(r"#\s(.*)$", code, re.MULTILINE)])


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a page, each in one line, without roles, formulas, code and addresses."""

    def shown(block: re.Match) -> str:
        if block[2] == "{code-cell}":
            return "\n\n" + texts_of_code(block[4]) + "\n\n"
        if block[2] and block[2] != "{math}":
            return "\n\n" + FENCE.sub(shown, block[4]) + "\n\n"
        return "\n\n"

    text = FENCE.sub(shown, text)
    for pattern, instead in NO_PROSE:
        text = pattern.sub(instead, text)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*:|]|\d+\.) )", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def line_of(text: str, words: str) -> int:
    """The first line at which these words stand, whatever the line breaks between them, or 1."""
    match = re.search(r"[\s*_]+".join(map(re.escape, words.split())), text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def phrases(text: str):
    """(words, words around them, what is better) of each phrase in a text."""
    for paragraph in paragraphs(text):
        for pattern, instead in PATTERNS.items():
            for match in pattern.finditer(paragraph):
                around = paragraph[max(0, match.start() - 40) : match.end() + 30]
                yield match[0], f"… {around} …", f"rather: {instead}"


@rule("*.md", "book/ledger.yml", "book/*.md", "book/slides/*.md", "notebooks/*.md")
def plain_english(file: File):
    """Phrases with a better one for each."""
    if file.name != "CHANGELOG":  # a history keeps its words
        for words, found, allowed in phrases(file.text):
            yield line_of(file.text, words), found, allowed


@rule("fslcore/**/*.py", "book/fslbook/**/*.py", "book/*.py")
def plain_docstrings(file: File):
    """The same in docstrings, of which the API reference is made."""
    for node in file.nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for words, found, allowed in phrases(ast.get_docstring(node) or ""):
                at = line_of(ast.get_docstring(node, clean=False), words)
                yield node.body[0].lineno + at - 1, found, allowed


# "n = True; a whole number is needed" does not say it as NumPy and scikit-learn do.
OLD_FORM = re.compile(r"; [^;]*\b(?:is|are) (?:allowed|needed)\b")


def texts_of(node: ast.Constant | ast.JoinedStr) -> str:
    """A string, or an f-string with a number in place of each value."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(part.value if isinstance(part, ast.Constant) else "9" for part in parts)


def comments(text: str) -> list[tuple[int, str]]:
    """The line and words of each block of comments: one sentence may go over several lines."""
    blocks: list[tuple[int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, words = token.start[0], token.string.lstrip("#: ")
            if blocks and blocks[-1][1] == line - 1:
                first, _, before = blocks.pop()
                blocks.append((first, line, f"{before} {words}"))
            else:
                blocks.append((line, line, words))
    return [(first, words) for first, _, words in blocks]


@rule("fslcore/**/*.py", "book/fslbook/**/*.py", "book/*.py")
def plain_messages(file: File):
    """The same in messages, which are words with blanks between them, and in comments."""
    nodes = file.nodes
    holders = [n for n in nodes if isinstance(n, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    inside = {id(part) for n in nodes if isinstance(n, ast.JoinedStr) for part in n.values}
    inside |= {id(n.body[0].value) for n in holders if ast.get_docstring(n, clean=False)}
    strings = [n for n in nodes if isinstance(n, ast.JoinedStr)]
    strings += [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    texts = [(n.lineno, texts_of(n)) for n in strings if id(n) not in inside]
    for line, text in [*texts, *comments(file.text)]:
        for _, found, allowed in phrases(text):
            yield line, found, allowed
    for line, text in texts:
        if match := OLD_FORM.search(text):
            yield line, f"… {match[0]}", "NAME must be …, got …"
