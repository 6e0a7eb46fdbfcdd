"""Numbers and intervals, from text and as text; without pandas, for ``fslcore compare``."""

from __future__ import annotations

import re

from ..stats.formatting import format_ends

MINUS = "−"
PLUS_MINUS = r"(?:±|\+\s*/?\s*-|\$?\\pm\$?)"
NUMBER = r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?"
CELL = re.compile(
    rf"\$?\s*({NUMBER})\s*(?:\\?%)?\s*(?:{PLUS_MINUS}\s*(?P<half>{NUMBER})\s*(?:\\?%)?"
    rf"\s*(?:\(\s*(?P<rank>{NUMBER})\s*\))?"
    rf"|(?:\(|\$?_\{{)\s*(?P<sign>{PLUS_MINUS})?\s*(?P<inside>{NUMBER})\s*[)}}])?"
    r"\s*(?:\\?%)?\s*\$?"
)
# A link of Markdown, and a mark of a footnote.
LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)|\[\^\w+\]")
MARKUP = re.compile(r"\\text(?:bf|it)\{([^{}]*)\}|\\(?:underline|mathbf)\{([^{}]*)\}|\*\*(.*?)\*\*")


def signed(value: float, digits: int = 2) -> str:
    """A number with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", MINUS)


def interval_text(low: float, high: float, digits: int) -> str:
    """'1.80 to 2.94'; 'unknown' where nothing is known of how far it goes."""
    return format_ends(low, high, f".{digits}f").replace("-", MINUS)


def level_text(level: float) -> str:
    """A confidence level in words: '95 %'."""
    return f"{100 * level:g} %"


def without_markup(text: str) -> str:
    """Text without bold, italic and underlining of LaTeX and Markdown."""
    return MARKUP.sub(lambda match: match[match.lastindex or 0], text).strip()


def number_in(text: str) -> re.Match[str] | None:
    """The number of a cell such as '71.3 ± 0.4 %', and the one behind ±; None for other text."""
    unlinked = LINK.sub(lambda match: match[1] or "", text)
    return CELL.fullmatch(without_markup(unlinked.replace("−", "-")))


def half_width_of(match: re.Match[str]) -> str:
    """The number behind ±, in brackets or not; empty if there is none."""
    return match["half"] or (match["inside"] if match["sign"] else "") or ""
