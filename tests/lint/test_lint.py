"""Each rule finds a bad example, in its line, and lets the good one pass."""

import pytest

from fslbook import training

from . import chapters, documents, english, modules, references  # noqa: F401
from .__main__ import main
from .files import RULES, Repository, findings

CHAPTER = """---
kernelspec: {name: python3}
---

# Means of tasks

```{admonition} In four lines
Question
: Which mean is higher?

The paper
: The first, by {glue:text}`printed_gap`.

Here
: {glue:text}`gap` points.
```

## The mean

A task has 5-way supports, and its mean has an interval of 95 %.

```{code-cell}
:tags: [parameters]
seed: int = 0  # 0..9: of the tasks
```

```{code-cell}
:tags: [hide-input]
import numpy as np
from fslbook.cells import check_parameters, glue, sentence_if
from fslbook.published import claims

check_parameters("means", globals())
```

## The gap

The gap is {glue:text}`gap`; of the paper, {glue:text}`printed_gap`; see {glue:md}`verdict:myst`.

```{code-cell}
:caption: gaps
gap = np.random.default_rng(seed).random()
```

```{code-cell}
---
mystnb:
  figure:
    caption: "A gap of {glue:text}`gap`."
    name: fig-gap
tags: [hide-input]
---
np.array([gap])
```

```{code-cell}
:tags: [remove-cell]
glue(
    gap=f"{gap:.2f}",
    printed_gap=claims("oops")["gap"],
    verdict=sentence_if(gap > 0, "The first is higher."),
)
```

```{solution} means-a
The mean of all tasks, since each of them counts once.
```
"""
LEDGER = """items:
- id: table-1
  chapter: means
  verdict: "a gap of {gap}"
"""
README = """# Means

![Two means](means.svg)

```bash
python3 -m venv .venv
source .venv/bin/activate
pip install '.[report]'
fslcore compare 79.59±0.52 76.87±0.56 --tasks 600
```

| installed by | packages | on disk |
| :-- | --: | --: |
| `pip install .` | 3 | 0.2 GB |

| situation | command | needs |
| :-- | :-- | :-- |
| figures | `fslcore compare 79.59±0.52 76.87±0.56 --tasks 600` | `report` |
| images | `fslcore evaluate clipart efficientnet-lite0` | `evaluate` |
| learners | `fslcore list` | `report` |
| a chapter | `fslbook run primer -p seed 1` | `book` |
| its cost | `fslbook plan profiles/oops.yml` | `book` |

```bash
make book
source .venv/bin/activate
```
"""
PAGE = """# How do I run it?

```bash
fslcore evaluate clipart efficientnet-lite0 \\
  -o mine.csv
for k in 1 2; do
    fslcore features clipart efficientnet-lite0 --part $k/2 &
done
jupytext notebooks/primer.md | papermill - out.ipynb -p tasks 60
```

```python
from fslcore import stats
stats.paired_interval
```
"""
INSTALL = README.split("| situation")[0]
MODULE = '''"""Gaps of means."""

from . import means


def gap():
    return means.gap()
'''
PACKAGE = '"""Means."""\n\nfrom . import means\nfrom .gaps import widest\n\n__all__ = ["means", "widest"]\n'
INDEX = "# Means\n\nA gap of {glue:text}`means::gap` points.\n"
REFERENCE = "# Gaps\n\n```{eval-rst}\n.. automodule:: fslcore.gaps\n```\n"
CHAPTERS = "# Gaps\n\n.. automodule:: fslbook.oops.audit\n"
TRAINED = f"""# Training

`fslbook train LEARNER` trains {", ".join(f"`{name}`" for name in training.RECIPES)}.

```bash
fslbook train r2d2
```
"""
SLIDES = "\n\n---\n\n".join(["# Talk\n\nNote:\nSay it slowly."] * 15) + "\n"
ANSWER = "The mean of all tasks, since each of them counts once."
GOOD = {
    "README.md": README,
    "notebooks/means.md": CHAPTER,
    "notebooks/two-means.md": CHAPTER.replace('"means"', '"two-means"'),
    "book/ledger.yml": LEDGER,
    "book/index.md": INDEX,
    "book/page.md": PAGE,
    "book/slides/talk.md": SLIDES,
    "book/install.md": INSTALL,
    "book/api-means.md": REFERENCE,
    "fslcore/gaps.py": MODULE,
    "fslcore/__init__.py": PACKAGE,
    "book/train.md": TRAINED,
}

# (rule, file, words, what stands there instead, words of the line that is found, words of the finding)
BAD = [
    ("plain-english", PAGE, "# How", "Intervals hang on it.\n\n# How", "hang on", "depends on"),
    ("plain-english", PAGE, "# How", "A query a class.\n\n# How", "A query a class", "rather: per"),
    ("plain-english", PAGE, "# How", "Who asks, waits.\n\n# How", "Who asks", "readers"),
    ("plain-english", CHAPTER, "gap =", "# two such gaps\ngap =", "two such", "of this kind"),
    ("slides", SLIDES, "Note:\n", "", "# Talk", "without notes"),
    ("slides", SLIDES, "---\n", "", "# Talk", "14 slides"),
    ("plain-docstrings", MODULE, '."""', '.\n\nWhat a mean says of it.\n"""', "What a", "shows"),
    ("plain-messages", MODULE, "    return", "    # anew\n    return", "# anew", "again"),
    (
        "plain-messages",
        MODULE,
        "    return",
        "    # It tells\n    # which.\n    return",
        "It",
        "shows",
    ),
    ("plain-messages", MODULE, "means.gap()", 'f"{1} a class"', "f", "per"),
    ("plain-messages", MODULE, "means.gap()", 'f"n = {1}; 2 is needed"', "f", "must be"),
    ("four-lines", CHAPTER, "In four lines", "In short", "---", "no box"),
    ("four-lines", CHAPTER, "Here\n", "Ours\n", "{admonition}", "Question, The paper, Ours"),
    ("four-lines", CHAPTER, "Which", "Which " * 99, "{admonition}", "fewer than 120"),
    ("parameters-first", CHAPTER, "## The mean\n", "", "{code-cell}", "first section"),
    ("parameters-first", CHAPTER, "[parameters]", "[x]", "{code-cell}", "[parameters]"),
    ("parameters-first", CHAPTER, "gap =", "parameter_table()\ngap =", "parameter_table", "site"),
    ("checked-parameters", CHAPTER, "check_parameters(", "check(", "{code-cell}", "globals()"),
    ("checked-parameters", CHAPTER, "gap = np", "seed = np", "seed = np", "keeps its value"),
    ("answers-in-words", CHAPTER, ANSWER, "One.", "{solution}", "means-a of 1 words"),
    ("length", CHAPTER, "A task has", "A task has " * 700, "---", "at most 2000"),
    ("kinds-of-cells", CHAPTER, ":tags: [remove-cell]\n", "", "{code-cell}", "remove-cell"),
    ("kinds-of-cells", CHAPTER, "[hide-input]", "[remove-cell]", "{code-cell}", "glues nothing"),
    ("kinds-of-cells", CHAPTER, "gap =", "gap = 0\n" * 20 + "gap =", "{code-cell}", "21 visible"),
    ("kinds-of-cells", CHAPTER, ":caption: gaps", ":tags: [hide-cell]", "---", "no visible"),
    ("findings-of-figures", CHAPTER, "of {glue:text}`gap`.", ".", "{code-cell}", "number: fig-gap"),
    ("sentences-by-code", CHAPTER, "gap =", 'Markdown("So. It is.")\ngap =', "Markdown", "So. It"),
    ("keys", CHAPTER, "is {glue:text}`gap`", "is {glue:text}`gaps`", "The gap is", "no gaps"),
    ("keys", LEDGER, "{gap}", "{other}", "- id: table-1", "means glues no other"),
    ("keys", CHAPTER, "glue(\n", "glue(idle=1,\n", "{code-cell}", "idle is glued for nothing"),
    ("keys", CHAPTER, "glue(\n", "glue(**{name: 1 for name in x},\n", "{code-cell}", "<name>"),
    ("roles", CHAPTER, "`gap`;", "`two-means::gap`;", "The gap is", "own keys"),
    ("roles", CHAPTER, "verdict:myst", "verdict", "The gap is", "`verdict:myst`"),
    ("printed-by-hand", CHAPTER, 'claims("oops")', '"3.1"', "printed_gap", "data/published"),
    ("numerals", CHAPTER, "The gap is", "The gap is 3.8 and", "The gap is", "3.8 in … "),
    ("numerals", INDEX, "A gap of", "Of 12 tasks, a gap of", "Of 12", "12 in … "),
    ("glued-numerals", CHAPTER, "The first is", "All 12 are", "verdict=", "verdict: 12 in"),
    ("ledger-numerals", LEDGER, "a gap", "of 14 tasks, a gap", "- id: table-1", "14 in"),
    ("turning-words", CHAPTER, "{gap:.2f}", "{gap:.2f} points more", "gap=", "a condition"),
    ("commands", PAGE, "  -o mine", "  --otput mine", "fslcore evaluate", "--otput"),
    ("commands", PAGE, "$k/2", "3/2", "--part 3/2", "part must be K/N"),
    ("commands", README, "-p seed 1", "-p sed 1", "-p sed 1", "did you mean 'seed'"),
    ("papermill-lines", PAGE, "-p tasks 60", "-p task 60", "-p task 60", "did you mean 'tasks'"),
    ("papermill-lines", PAGE, " -p tasks 60", "", "papermill", "no parameter"),
    ("names-in-code", PAGE, "import stats", "import statistic", "import statistic", "statistic"),
    ("names-in-code", PAGE, "paired_interval", "pair_interval", "pair_interval", "has no pair"),
    ("width-of-code", PAGE, "-o mine.csv", f"-o {'mine' * 20}.csv", "minemine", "at most 77"),
    ("installed-from-the-index", README, "'.[report]'", "fslcore", "pip install fsl", "a copy"),
    ("sizes-of-installations", README, "| 3 |", "| 4 |", "| 4 |", "book/install.md"),
    ("environment-first", README, "source .venv", ". .venv", ". .venv", "source .venv"),
    ("environment-first", README, "make book\nsource", "make book\n. ", "make book", "activate"),
    ("start-of-the-readme", README, "![Two means](means.svg)", "", "# Means", "0 pictures"),
    ("start-of-the-readme", README, "pip install", "\npip install", "```bash", "at most four"),
    ("start-of-the-readme", README, "make book", "make test", "```bash", "make book"),
    ("commands-by-situation", README, "| `evaluate` |", "| `book` |", "evaluate clip", "by book"),
    ("private-names", MODULE, "means.gap()", "means._gap()", "means._gap()", "means._gap"),
    (
        "private-names",
        MODULE,
        "import means",
        "import _means",
        "import _means",
        "_means of another",
    ),
    (
        "options-in-messages",
        MODULE,
        "return means.gap()",
        'raise ValueError("say --by set")',
        "raise",
        "the argument",
    ),
    ("names-of-the-book", MODULE, "Gaps of", "Of two-means: gaps of", "two-means", "of the book"),
    ("pages-of-the-reference", REFERENCE, "fslcore.gaps", "fslcore.x", "Gaps of", "on no page"),
    ("pages-of-the-reference", REFERENCE, "# Gaps", CHAPTERS, "fslbook.oops", "of the chapters"),
    ("imports-by-name", MODULE, "means.gap()", '__import__("means")', "__import__", "statement"),
    (
        "hidden-modules",
        PACKAGE,
        "import widest",
        "import widest as gaps",
        "from .gaps",
        "hides the module",
    ),
    ("hidden-modules", PACKAGE, '"widest"]', '"gaps"]', "__all__", "gaps hides"),
    ("learners-that-are-trained", TRAINED, "`r2d2`, ", "", "trains", "r2d2 is missing"),
    ("cross-references", MODULE, "of means.", "of `mean`.", "Gaps of", "`mean`"),
    ("cross-references", MODULE, "of means.", "of `fslcore.gap`.", "Gaps of", "fslcore.gap"),
    ("names-in-cells", CHAPTER, "default_rng(seed)", "default_rng(sed)", "rng(sed)", "`sed`"),
]


def found(folder, rules=None, **changed):
    """What rules find in a repository of good files, of which some are changed."""
    for path, text in (GOOD | changed).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return list(findings(Repository(folder), rules))


def test_good_examples_pass(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize("rule, good, words, instead, where, says", BAD)
def test_a_bad_example_is_found_in_its_line(rule, good, words, instead, where, says, tmp_path):
    assert words in good
    bad = good.replace(words, instead, 1)
    path = next(path for path, text in GOOD.items() if text == good)
    (finding,) = found(tmp_path, [rule], **{path: bad})
    line = (tmp_path / finding.path).read_text("utf-8").splitlines()[finding.line - 1]
    assert where in line
    assert says in str(finding)


def test_an_exception_for_words_that_are_gone_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(chapters, "ALLOWED", {("means", "Which mean"): "", ("means", "no 12"): ""})
    monkeypatch.setattr(chapters, "UNCONDITIONAL", {})
    table = '# Exceptions\n{("means", "no 12"): ""}\n'
    (finding,) = found(tmp_path, ["exceptions"], **{"tests/lint/chapters.py": table})
    assert finding.line == 2
    assert "'no 12' is not in means" in finding.found


def test_the_command_prints_findings_with_file_and_line_and_fails(tmp_path, capsys):
    found(tmp_path, ["roles"], **{"book/page.md": PAGE.replace("How do", "Whoever may")})
    assert main(["roles", "plain-english"], tmp_path) == 1
    assert capsys.readouterr().out.startswith("book/page.md:1: … # Whoever")
    assert main(["plain-english", "--files", "README.md"], tmp_path) == 0
    assert main(["plain-english", "--files", "README.md", "book/page.md"], tmp_path) == 1
    capsys.readouterr()
    assert main(["roles"], tmp_path) == 0
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit, match="2"):
        main(["rols"], tmp_path)
    assert "got rols" in capsys.readouterr().err


def test_every_rule_has_a_bad_example():
    assert {rule for rule, *_ in BAD} | {"exceptions"} == set(RULES)
