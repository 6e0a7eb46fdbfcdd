"""Slides of the book's parts: Markdown of ``book/slides`` into reveal.js, with the figures and numbers of the chapters.

Slides are parted by a line ``---``, the first has the deck's title as its heading, and each other a heading of the
second level. What follows a line ``Note:`` is for the speaker. Numbers are glued as in prose pages,
``{glue:text}``chapter::key`` ``; ``![words](chapter::figure)`` shows a chapter's figure by its name, and
``[words](chapter)`` leads to a page of the book.

``python book/slides.py`` makes the decks in a built site again, ``python book/slides.py mine.md`` one of your own.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import sys
from pathlib import Path

from executed import Figure, SiteError, figure_of, figures, fill, glued
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markup import unbroken
from mdit_py_plugins.dollarmath import dollarmath_plugin

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="reveal/reveal.css">
<link rel="stylesheet" href="slides.css">
{math}</head>
<body>
<noscript>Slides need scripts. The <a href="../index.html">chapters</a> say the same without.</noscript>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal/reveal.js"></script>
<script src="reveal/notes.js"></script>
<script src="slides.js"></script>
</body>
</html>
"""
MATH = """<script src="../_static/formulas.js"></script>
<script src="../_static/mathjax/tex-chtml.js" defer></script>
"""
ELSEWHERE = re.compile(r"[a-z]+:|#|\.\./", re.I)  # a link that is no page's name


class _Deck:
    """One source, with what it may show: figures by chapter, and the names of pages."""

    def __init__(self, source: str, figures: dict[str, dict[str, Figure]], pages: set[str]) -> None:
        self.source, self.figures, self.pages = source, figures, pages
        self.markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self.markdown.use(
            dollarmath_plugin, allow_space=False, double_inline=True, renderer=self._math
        )
        self.markdown.add_render_rule("image", lambda _, tokens, at, *__: self._figure(tokens[at]))
        self.markdown.core.ruler.push("pages", self._link_pages)

    @staticmethod
    def _math(content: str, options: dict) -> str:
        start, end = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
        return start + html.escape(content) + end

    def _figure(self, token: Token) -> str:
        chapter, _, name = token.attrs["src"].partition("::")
        figure = figure_of(self.figures, chapter, name, self.source)
        words = self.markdown.renderer.render(token.children, self.markdown.options, {})
        return figure.html(f"{chapter}.html#{name}", words, "../")

    def _link_pages(self, state) -> None:
        for link in (
            t for block in state.tokens for t in block.children or [] if t.type == "link_open"
        ):
            page, _, anchor = link.attrs["href"].partition("#")
            if not ELSEWHERE.match(link.attrs["href"]):
                if page not in self.pages:
                    raise SiteError(
                        f"{self.source}: [...]({page}): the book has no page of this name"
                    )
                link.attrs["href"] = f"../{page}.html" + (f"#{anchor}" if anchor else "")

    def slide(self, text: str, first: bool) -> str:
        words, _, note = re.sub(r"^Note:", "\0", text.strip(), count=1, flags=re.M).partition("\0")
        if not re.match(r"# \S" if first else r"## \S", words):
            wanted = "the first begins with `# Title`" if first else "each begins with `## Heading`"
            raise SiteError(f"{self.source}: a slide begins with {words.strip()[:40]!r}; {wanted}")
        body = self.markdown.render(words)
        figure = re.search(r"<p>(<figure>.*?</figure>)</p>\n", body, re.S)
        if body.count("<figure>") > bool(figure):
            raise SiteError(
                f"{self.source}: {words.splitlines()[0]}: a slide has one figure, in a paragraph of its own"
            )
        if figure:  # beside the words, or above them
            head, others = re.fullmatch(
                r"(<h2>.*?</h2>\n)(.*)", body.replace(figure[0], ""), re.S
            ).groups()
            others = f'<div class="beside">\n{others}</div>\n' if others.strip() else ""
            body = f'{head}<div class="room">\n{figure[1]}\n{others}</div>\n'
        kind = "title" if first else "figure" if figure else "words"
        notes = (
            f'<aside class="notes">{self.markdown.render(note)}</aside>\n' if note.strip() else ""
        )
        return f'<section class="{kind}">\n{body}{notes}</section>'


def deck(
    text: str, source: str, values: dict, figures_of: dict[str, dict[str, Figure]], pages: set[str]
) -> str:
    """A page of slides from Markdown.

    Parameters
    ----------
    text, source : str
        The source, and the name of it that an error tells.
    values, figures_of : dict
        By chapter, what `executed.glued` and `executed.figures` find in it.
    pages : set of str
        Names of the book's pages, which slides may link.

    Raises
    ------
    SiteError
        A key, a figure or a page that is not there, a slide without a heading, or a role that slides do not have.
    """
    text = fill(text, values, source)
    if role := re.search(r"\{[a-z:]+\}`[^`]*`", text):
        raise SiteError(
            f"{source}: {role[0]}: of roles, slides have only {{glue:text}}``chapter::key``"
        )
    maker = _Deck(source, figures_of, pages)
    parts = re.split(r"\n---+\n", "\n" + text.strip() + "\n")
    sections = [maker.slide(part, first=not number) for number, part in enumerate(parts)]
    title = re.search(r"^# +(.*?)\s*$", text, re.M)[1]
    math = MATH if re.search(r"\\\(|\\\[", "".join(sections)) else ""
    return PAGE.format(title=html.escape(title), math=math, slides=unbroken("\n".join(sections)))


def build(sources: list[Path], notebooks: Path, pages: set[str], target: Path) -> list[Path]:
    """Decks of these sources and what they need to run, into a folder ``slides`` of a site; the pages written.

    Raises
    ------
    SiteError
        As `deck` does.
    """
    books = sorted(notebooks.glob("[!.]*.ipynb"))
    values = {path.stem: glued(path) for path in books}
    figures_of = {path.stem: figures(path) for path in books}
    decks = {
        path: deck(path.read_text("utf-8"), path.name, values, figures_of, pages)
        for path in sources
    }
    home = Path(__file__).resolve().parent / "slides"
    ours = shutil.ignore_patterns("README.md", "SHA256SUMS")
    shutil.copytree(home / "reveal", target / "reveal", dirs_exist_ok=True, ignore=ours)
    for name in ("slides.css", "slides.js"):
        shutil.copy(home / name, target / name)
    written = []
    for path, page in decks.items():
        written.append(target / f"{path.stem}.html")
        written[-1].write_text(page, "utf-8")
    return written


def check_images(site: Path) -> None:
    """That a built site has every image that its slides show.

    Raises
    ------
    SiteError
        It lacks one.
    """
    for page in sorted((site / "slides").glob("*.html")):
        for image in re.findall(r'<img src="\.\./([^"]+)"', page.read_text("utf-8")):
            if not (site / image).is_file():
                raise SiteError(f"slides/{page.name} shows {image}, which no page of the site has")


def main(argv: list[str] | None = None) -> int:
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Make slides in a built site (`make book` builds it)."
    )
    parser.add_argument(
        "sources", type=Path, nargs="*", help="Markdown of slides (default: all of book/slides)"
    )
    parser.add_argument(
        "--build", type=Path, default=root / "_build", help="where the book was built"
    )
    args = parser.parse_args(argv)
    site = args.build.resolve() / "html"
    try:
        if not (site / "index.html").is_file():
            raise SiteError(f"there is no site in {site}; `make book` builds it")
        for path in args.sources:
            if not path.is_file():
                raise SiteError(f"{path}: there is no such file")
        sources = args.sources or sorted((root / "book" / "slides").glob("*.md"))
        pages = {page.stem for page in site.glob("*.html")}
        written = build(sources, args.build / "notebooks", pages, site / "slides")
        check_images(site)
    except SiteError as exc:
        print(f"slides: {exc}", file=sys.stderr)
        return 1
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
