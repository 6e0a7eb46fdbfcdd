"""What the HTML of the theme and of pandas lacks for screen readers, and for lines that break.

`fix_html` rewrites the pages of a built site. Each entry of ``REPLACEMENTS`` answers a rule of axe, which the test of
the site runs on every page: icons are hidden, buttons are named by their own words, and headers of tables have words.
In texts, a number and the sign that belongs to it stay on one line, as do a formula and the full stop after it.
'15 of 15', of two numbers that a chapter gives one by one, reads 'all 15', and '2 of 2' reads 'both'. The rows of a
chart of letters do not wrap.
"""

import html
import re
from pathlib import Path

REPLACEMENTS = [
    # Icons are letters of a font, without a meaning to a screen reader.
    (re.compile(r'<(i|span) class="(?=[^"]*\bfa-)'), r'<\1 aria-hidden="true" class="'),
    # label-content-name-mismatch: the words on a button are its name.
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    (re.compile(r'(<button class="[^"]*search-button-field[^>]*?) aria-label="Search"'), r"\1"),
    # region: the title of the book and the button beside it are part of a landmark.
    (re.compile(r'<div id="pst-primary-sidebar"'), r'\g<0> role="navigation" aria-label="Book"'),
    # empty-table-header: the corner above the labels of rows is no header.
    (re.compile(r"<th\b[^>]*>(?:\s|&nbsp;|</?p>)*</th>"), "<td></td>"),
    # A short option of a command, which the style sheet keeps on one line.
    (re.compile(r'<span class="pre">(?=--?[\w-]{1,24}</span>)'), '<span class="pre option">'),
    # aria-deprecated-role: an entry of the bibliography is an item of its list.
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
]
# summary-name: the arrow in the list of pages.
ARROW = re.compile(
    r">(?P<title>[^<>]+)</a><details(?P<state>[^>]*)><summary><span class=\"toctree-toggle\""
)

# What is shown as it is written.
VERBATIM = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)
BREAK = re.compile(r"(?<=\d) (?=%[^<>]*<)|(?<=±) (?=[\d.]+[^<>]*<)")

# A formula is a box, before and after which a line may break.
FORMULA = re.compile(
    r"(?P<before>\(?)(?P<formula><span class=\"math[^>]*>[^<]*</span>)(?P<after>[.,:;?!)]*)"
)
PRINTED = re.compile(r"(<pre>(?:<span></span>)?)(.*?)(</pre>)", re.DOTALL)
IN_CHARTS = "├"

# A number of a chapter, as the role glue:text writes it; two equal ones from 2 on.
GLUED = '<span class="pasted-text">{}</span>'
K_OF_K = re.compile(GLUED.format("(?!1<)([0-9,]+)") + " of (?:the |these )?" + GLUED.format(r"\1"))


def _named_arrow(match: re.Match) -> str:
    title = html.escape(html.unescape(match["title"]))
    opening = f'<details{match["state"]}><summary aria-label="Pages of {title}">'
    return f'>{match["title"]}</a>{opening}<span class="toctree-toggle"'


def fixed(text: str) -> str:
    """The HTML of a page with all ``REPLACEMENTS`` made, and its arrows named."""
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    text = PRINTED.sub(_with_charts, FORMULA.sub(_in_one_line, text))
    return unbroken(K_OF_K.sub(_all, ARROW.sub(_named_arrow, text)))


def _in_one_line(match: re.Match) -> str:
    """A formula with the bracket before it and the punctuation after it."""
    if not (match["before"] or match["after"]):
        return match[0]
    return f'<span class="in-one-line">{match[0]}</span>'


def _with_charts(match: re.Match) -> str:
    """A printed text, in which each chart of letters is an element of its own."""
    opening, text, end = match.groups()
    if IN_CHARTS not in text:
        return match[0]
    parts = [
        f'<span class="chart">{part}</span>\n' if IN_CHARTS in part else f"{part}\n\n"
        for part in text.split("\n\n")
    ]
    return opening + "".join(parts).rstrip("\n") + "\n" + end


def _all(match: re.Match) -> str:
    before = re.sub(r"</?(strong|em)>", "", match.string[: match.start()][-20:])
    starts = re.search(r"([.!?]\s|<(p|li|dd)>)$", before)
    if match[1] == "2":
        return "Both" if starts else "both"
    return f"{'All' if starts else 'all'} {GLUED.format(match[1])}"


def unbroken(text: str) -> str:
    """The HTML with no-break spaces in '95 %' and '± 1.2', where it is text that wraps."""
    parts = VERBATIM.split(text)  # text, an element that is shown as written, its name, text …
    parts[::3] = [BREAK.sub("\u00a0", part) for part in parts[::3]]
    return "".join(parts[:1] + [a + b for a, b in zip(parts[1::3], parts[3::3])])


def fix_html(site: Path) -> None:
    """Rewrite every page of a built site."""
    for page in site.glob("*.html"):
        page.write_text(fixed(page.read_text("utf-8")), "utf-8")
