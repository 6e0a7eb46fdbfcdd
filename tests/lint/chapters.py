"""A chapter's form: its box, cells, keys and numerals. ``CONTRIBUTING.md``, "A chapter", has the rules in words."""

import ast
import re

import yaml

from .files import FENCE, File, Repository, blank, rule

CHAPTERS = "notebooks/*.md"
PAGES = (CHAPTERS, "book/*.md", "book/slides/*.md")
VISIBLE_LINES = 20
MOST_WORDS = 2000
BOX_WORDS = 120
SLIDES = range(15, 26)

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

# (chapter, words) of glued texts that hold whatever the run gives, and why.
UNCONDITIONAL = {
    ("benchmark", "agree in every printed digit"): "what is counted",
    ("benchmark", "Ranks over data sets need more than one"): "true of every run",
    ("closed-vs-open", " is better"): "the meaning of the paper's sign",
    ("coverage", "of all questions or one"): "a docstring",
    ("exercises", "on its worst class"): "the name of a measure",
    ("informed", "a gain"): "a column's name",
    ("same-support", "for both are equal"): "chosen below by the equality that it states",
    ("selection", "the best of them gains"): "signed points",
    ("selection", "points over the average one on the half"): "what the gain is measured from",
    ("selection", "points better than the one before"): "how the methods are simulated",
    ("spurious-bias", "leaves such a word out only if"): "a rule of the paper",
}

# Figures that show what data or a task look like, by chapter: pictures, which have no finding.
PICTURES = {
    "data-and-backbones": {
        "fig-clipart",
        "fig-latin",
        "fig-hebrew",
        "fig-coloured",
        "fig-fashion",
        "fig-icons",
    },
    "known-truth": {"fig-conflict"},
    "three-papers": {"fig-random-task", "fig-biased-task"},
}

ROLE = re.compile(
    r"\{glue:?\w*\}`(?:([\w-]+)::)?([^`:]+)(?::[^`]*)?`|^```\{glue:?\w*\} +(?:([\w-]+)::)?(\S+)",
    re.MULTILINE,
)
KEY = re.compile(r"\{(?:([a-z0-9-]+):)?([a-z]\w*)\}")  # in a verdict of the ledger
GLUE_IT = "glue it (CONTRIBUTING.md, 'A chapter'), or say in ALLOWED why it may stand there"


# ---------------------------------------------------------------- order and length


@rule(CHAPTERS)
def four_lines(file: File):
    """A box before the first section: the question, what the papers say, what came out here and why, in few words."""
    allowed = "a box 'In four lines' before the first section: Question, The paper(s), Here, Why"
    box = re.search(r"^```\{admonition\} In four lines$(.*?)^```$", file.text, re.M | re.S)
    section = re.search(r"^## ", file.text, re.MULTILINE)
    if not box or (section and section.start() < box.start()):
        yield 1, "no box before the first section", allowed
        return
    heads = re.findall(r"^(\S.*)\n: \S", box[1], re.MULTILINE)
    if [head.removesuffix("s") for head in heads] not in (
        ["Question", "The paper", "Here"],
        ["Question", "The paper", "Here", "Why"],  # with other data they may agree
    ):
        yield file.line(box.start()), f"a box with {', '.join(heads)}", allowed
    words = len(re.sub(ROLE, "0", box[0]).split())
    if words >= BOX_WORDS:
        yield file.line(box.start()), f"a box of {words} words", f"fewer than {BOX_WORDS}"


@rule(CHAPTERS)
def parameters_first(file: File):
    """The parameters follow the first idea, and have no heading of their own."""
    first = file.cells[0] if file.cells else None
    if first is None or first.tags != ["parameters"]:
        line = first.line if first else 1
        yield line, "no parameters in the first cell", "the first cell is tagged [parameters]"
        return
    above = "\n".join(file.text.splitlines()[: first.line])
    headings = re.findall(r"^## (.*)$", above, re.MULTILINE)
    if len(headings) != 1 or headings[0] == "Parameters":
        found = f"parameters below {headings or 'no heading'}"
        yield first.line, found, "they stand in the first section, which has the first idea"
    for match in re.finditer("parameter_table", file.text):
        yield file.line(match.start()), match[0], "the site puts the table below the parameters"


@rule(CHAPTERS)
def checked_parameters(file: File):
    """Parameters are checked before any work, and keep their values: papermill and Jupyter run nothing else."""
    call = f"check_parameters('{file.name}', globals())"
    for cell in file.cells[1:2]:
        body = [n for n in cell.tree.body if not isinstance(n, (ast.Import, ast.ImportFrom))]
        if not body or ast.unparse(body[0]) != call:
            yield cell.line, "a set-up without a check", f"it calls {call} after its imports"
    parameters = {
        node.target.id for cell in file.cells[:1] for node in cell.tree.body if _is_typed(node)
    }
    for cell in file.cells[2:]:
        for node in ast.walk(cell.tree):
            is_stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            if is_stored and node.id in parameters:
                yield cell.line_of(node), f"{node.id} = …", "a parameter keeps its value"


def _is_typed(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign)


@rule(CHAPTERS)
def answers_in_words(file: File):
    """Code alone answers nothing to readers who cannot run it."""
    blocks = re.finditer(r"^(`{3,})\{solution\} ([\w-]+)\n(.*?)^\1$", file.text, re.M | re.S)
    for block in blocks:
        words = re.sub(r"^```.*?^```$|^:\w+:[^\n]*$", "", block[3], flags=re.M | re.S).split()
        if len(words) < 6:
            found = f"solution {block[2]} of {len(words)} words"
            yield file.line(block.start()), found, "a solution answers in words, at least 6"


@rule(CHAPTERS)
def length(file: File):
    """Words of prose, without code, formulas and roles."""
    text = re.sub(ROLE, "0", file.markdown)
    text = re.sub(r"^(`{3,})\w+\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    no_prose = r"^`{3,}.*?$|^:[\w-]+:.*$|^\([\w-]+\)=$|\$\$.*?\$\$|\(https?:[^)]*\)|`[^`]*`|\$[^$]*\$|\{[^}]*\}"
    text = re.sub(no_prose, " ", text, flags=re.MULTILINE)
    words = len(re.findall(r"[A-Za-z][A-Za-z'’-]*", text))
    if words > MOST_WORDS:
        yield 1, f"a chapter of {words} words", f"at most {MOST_WORDS} are read at once"


@rule("book/slides/*.md")
def slides(file: File):
    """A part has a lecture's number of slides, each with notes for the speaker."""
    starts = [0, *(match.end() for match in re.finditer(r"\n---+\n", file.text))]
    if len(starts) not in SLIDES:
        allowed = f"{SLIDES.start} to {SLIDES.stop - 1} make a part"
        yield 1, f"{len(starts)} slides", allowed
    for start, end in zip(starts, [*starts[1:], len(file.text)]):
        slide = re.sub(r"\n---+\n\Z", "", file.text[start:end])
        if not slide.partition("\nNote:\n")[2].strip():
            yield file.line(start), "a slide without notes", "words for the speaker after Note:"


# ---------------------------------------------------------------- cells


@rule(CHAPTERS)
def kinds_of_cells(file: File):
    """Numbers for prose stand in cells of their own, which leave no trace; the lesson's are short."""
    hidden = {"hide-input", "hide-cell", "remove-cell", "remove-input", "parameters"}
    visible = [cell for cell in file.cells if not hidden & set(cell.tags)]
    if not visible:
        yield 1, "no visible cell", "the lesson's code is visible"
    for cell in visible:
        lines = len(cell.code.splitlines())
        if lines > VISIBLE_LINES:
            yield (
                cell.line,
                f"{lines} visible lines",
                f"at most {VISIBLE_LINES} can be read at once",
            )
    for cell in file.cells:
        is_removed = "remove-cell" in cell.tags
        if cell.glued and not is_removed:
            yield cell.line, "a cell that glues", "it is tagged remove-cell"
        if is_removed and not cell.glued:
            yield cell.line, "a removed cell that glues nothing", "another tag, or no cell"


@rule(CHAPTERS)
def findings_of_figures(file: File):
    """The caption of a figure says what it shows, with a number of the run; `PICTURES` show no finding."""
    pictures = set(PICTURES.get(file.name, ()))
    for cell in file.cells:
        figure = re.search(r"^  figure:\n((?: {4}.*\n)+)", cell.head, re.MULTILINE)
        if figure is None:
            continue
        parts = dict(re.findall(r"^ {4}(caption|name): (.*)$", figure[1], re.MULTILINE))
        has_finding = bool(ROLE.search(parts.get("caption", "")))
        if not has_finding and parts.get("name") not in pictures:
            found = f"a caption without a number: {parts.get('name')}"
            yield cell.line, found, "what the figure shows, with a glued number (or in PICTURES)"
        if not has_finding:
            pictures.discard(parts.get("name"))
    for name in sorted(pictures):
        yield 1, f"{name} in PICTURES", "a picture of the chapter whose caption has no number"


@rule(CHAPTERS)
def sentences_by_code(file: File):
    """A heading over a table may be written by its cell; sentences stand in Markdown."""
    for cell in (cell for cell in file.cells if not cell.glued):
        for call in ast.walk(cell.tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Markdown":
                parts = [part.value for part in ast.walk(call) if isinstance(part, ast.Constant)]
                if any(re.search(r"\.(\s|$)", part) for part in parts if isinstance(part, str)):
                    found = f"prose built by code: {ast.unparse(call)}"
                    yield cell.line_of(call), found, "prose in Markdown; glue what varies in it"


# ---------------------------------------------------------------- keys


def captions(text: str) -> str:
    """The captions of a chapter's figures and tables, which stand in the heads of code cells."""
    return "\n".join(re.findall(r"^ +caption: .*$", text, re.MULTILINE))


def keys_of(text: str) -> set[tuple[str, str]]:
    """(chapter or '', key) of every glue role and directive."""
    return {(m[1] or m[3] or "", m[2] or m[4]) for m in ROLE.finditer(text)}


def ledger(repository: Repository) -> list[dict]:
    """The items of the ledger, each with its line."""
    file = repository.file("book/ledger.yml")
    if not file:
        return []
    lines = file.text.splitlines()
    items = yaml.safe_load(file.text)["items"]
    return [item | {"line": lines.index(f"- id: {item['id']}") + 1} for item in items]


def uses(repository: Repository):
    """(path, line, chapter, key) wherever a page or a verdict names a key."""
    for file in repository.files(*PAGES):
        is_chapter = file.path.startswith("notebooks/")
        text = file.markdown + captions(file.text) if is_chapter else file.text
        for chapter, key in keys_of(text):
            line = file.line(max(0, file.text.find(f"{chapter}::{key}" if chapter else f"`{key}")))
            yield file.path, line, chapter or file.name, key
    for item in ledger(repository):
        reasons = [*item.get("why", {}).values(), *item.get("untested", {}).values()]
        for chapter, key in KEY.findall(" ".join([item["verdict"], *reasons])):
            yield "book/ledger.yml", item["line"], chapter or item["chapter"], key


@rule()
def keys(repository: Repository):
    """Every key that prose names is glued, and every glued key is named."""
    patterns = {
        file.name: [(pattern, cell.line) for cell in file.cells for pattern, _ in cell.glued]
        for file in repository.files(CHAPTERS)
    }
    named: dict[str, set[str]] = {}
    for path, line, chapter, key in uses(repository):
        named.setdefault(chapter, set()).add(key)
        if not any(re.fullmatch(pattern, key) for pattern, _ in patterns.get(chapter, ())):
            yield path, line, f"{chapter} glues no {key}", "a key that the chapter glues"
    for chapter, glued in patterns.items():
        for pattern, line in glued:
            if not any(re.fullmatch(pattern, key) for key in named.get(chapter, ())):
                path = f"notebooks/{chapter}.md"
                yield path, line, f"{pattern} is glued for nothing", "a key that a page reads"


@rule(CHAPTERS)
def roles(file: File):
    """A chapter reads its own keys, so that it can be read alone; and formulas in what is glued are rendered."""
    for match in ROLE.finditer(file.markdown):
        if match[1] or match[3]:
            yield file.line(match.start()), match[0], "a chapter's own keys: glue it there"
    for match in re.finditer(r"\{glue:md\}`\w+`", file.text):
        instead = f"with formulas: {match[0][:-1]}:myst`"
        yield file.line(match.start()), f"{match[0]} is read as CommonMark", instead


@rule(CHAPTERS)
def printed_by_hand(file: File):
    """A key ``printed_…`` holds what a paper prints: its value names ``claims`` or a table ``printed``."""
    for cell in file.cells:
        for key, value in cell.glued:
            code = ast.unparse(value)
            if key.startswith("printed") and not re.search(r"claims|printed", code):
                yield cell.line_of(value), f"{key}={code}", "a value from data/published"


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


def prose(text: str) -> str:
    """The text with spaces over all that is no prose, or is a number which no run gives."""
    at = 0
    while block := FENCE.search(text, at):
        at = block.start()
        gone = not block[2] or block[2] in ("{exercise}", "{solution}", "{math}", "{code-cell}")
        # What other directives hold is prose.
        visible = re.sub(r"\S", " ", block[0]) if gone else _without_fences(block[0])
        text = text[:at] + visible + text[block.end() :]
    for pattern in NO_PROSE:
        text = blank(text, pattern)
    return text


def _without_fences(block: str) -> str:
    return re.sub(
        r"^`{3,}(\{[\w:-]+\})?", lambda match: " " * len(match[0]), block, flags=re.MULTILINE
    )


def typed_numerals(text: str, page: str = "") -> list[tuple[int, str]]:
    """(offset, numeral with the words around it) of those that come from no run and that ``ALLOWED`` has not."""
    spans = [
        match.span()
        for (place, words) in ALLOWED
        if place == page
        for match in re.finditer(r"\s+".join(map(re.escape, words.split())), text)
    ]
    numerals = []
    for match in NUMERAL.finditer(prose(text)):
        at = match.start()
        if not any(start <= at < end for start, end in spans):
            around = " ".join(text[max(0, at - 60) : at + 60].split())
            numerals.append((at, f"{match[0]} in … {around} …"))
    return numerals


@rule(CHAPTERS, "book/index.md", "book/slides/*.md")
def numerals(file: File):
    """Numbers of prose come from the run."""
    page = f"slides/{file.name}" if "/slides/" in file.path else file.name
    for at, found in typed_numerals(file.markdown, page):
        yield file.line(at), found, GLUE_IT


@rule(CHAPTERS)
def glued_numerals(file: File):
    """Numbers in the texts that are glued come from the run, too."""
    for cell in file.cells:
        for key, value in cell.glued:
            for text in texts(value):
                for _, found in typed_numerals(text, file.name):
                    yield cell.line_of(value), f"{key}: {found}", GLUE_IT


@rule()
def ledger_numerals(repository: Repository):
    """Numbers of a verdict come from the run."""
    for item in ledger(repository):
        for _, found in typed_numerals(blank(item["verdict"], KEY), item["id"]):
            yield "book/ledger.yml", item["line"], found, GLUE_IT


def texts(value: ast.AST):
    """The texts of an expression, but for keys in brackets and for formats."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    if not isinstance(value, ast.Subscript):
        for name, part in ast.iter_fields(value):
            for node in part if isinstance(part, list) else [part]:
                if isinstance(node, ast.AST) and name != "format_spec":
                    yield from texts(node)


# ---------------------------------------------------------------- words that numbers may turn

# Words of a direction, a quantity or a cause, which other numbers may turn.
TURNING = re.compile(
    r"(?i)\b(?:more|fewer|less|most|mostly|few|nearly|hardly|rarely|always|never|all|only|because|gains?|costs?|adds?"
    r"|falls?|rises?|widens?|larger|smaller|higher|lower|wider|narrower|better|worse|best|worst)\b"
)
CONDITIONS = {"direction", "comparison", "quantity", "sentence_if"}


def is_condition(node: ast.AST, child: ast.AST) -> bool:
    """Whether a node of a cell's code chooses its child by a condition, or names a column or rows by it."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in {*CONDITIONS, "query"}
    names_a_part = isinstance(node, ast.Subscript) and child is node.slice
    return names_a_part or isinstance(node, (ast.IfExp, ast.If))


def unconditional(tree: ast.AST):
    """Texts with `TURNING` words of a cell that no condition chooses: no branch, no helper of `fslbook.cells`."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and " " in node.value.strip() and TURNING.search(node.value):
            lineage = [node]
            while lineage[-1] in parents:
                lineage.append(parents[lineage[-1]])
            if not any(map(is_condition, lineage[1:], lineage)):
                yield node


@rule(CHAPTERS)
def turning_words(file: File):
    """Glued words that other numbers may turn have their condition beside them, or stand in ``UNCONDITIONAL``."""
    exceptions = [words for place, words in UNCONDITIONAL if place == file.name]
    for cell in (cell for cell in file.cells if "remove-cell" in cell.tags):
        for node in unconditional(cell.tree):
            if not any(words in node.value for words in exceptions):
                allowed = "a condition beside it (CONTRIBUTING.md, 'A chapter')"
                yield cell.line_of(node), f"{node.value!r} whatever the run gives", allowed


@rule()
def exceptions(repository: Repository):
    """Every exception of ``ALLOWED`` and ``UNCONDITIONAL`` still excepts something."""
    texts_of = {file.name: file.text for file in repository.files(*PAGES)}
    texts_of |= {item["id"]: item["verdict"] for item in ledger(repository)}
    here = repository.file("tests/lint/chapters.py")
    for place, words in {**ALLOWED, **UNCONDITIONAL}:
        text = " ".join(texts_of.get(place.removeprefix("slides/"), "").split())
        if here and " ".join(words.split()) not in text:
            line = here.line(max(0, here.text.find(words)))
            yield (
                here.path,
                line,
                f"{words!r} is not in {place}",
                "words of the page, or no exception",
            )
