"""The built site as one PDF: ``python book/pdf.py`` prints ``_build/html`` to ``_build/book.pdf``.

All pages of the site's ``_toc.yml``, in its order, become one document, which headless Chromium prints: so links lead
inside the PDF, and its outline has the parts, chapters and sections. Solutions are open, tables shrink to the width
of the paper, wider ones stand on landscape pages (``_static/reading.js`` does this on every page that is printed); a
lab is its still picture, where it has one. The last line printed is the path.
"""

import argparse
import html
import logging
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from pypdf import PdfWriter
from pypdf.generic import NameObject, create_string_object

from fslcore.errors import InputError
from fslcore.paths import replace_file

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")  # as in the Makefile
WIDTH = 658  # of the text on A4 with the margins of custom.css, in pixels
FOOTER = '<p style="width: 100%; margin: 0; font: 8px sans-serif; text-align: center" class="pageNumber"></p>'
CANDIDATES = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else BROWSERS
BROWSER = next(filter(None, map(shutil.which, CANDIDATES)), None)
LAB = "Interactive: see this page on the site."

# Formulas are typeset and images are there, before the browser prints and reading.js fits all to the paper.
READY = """async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  for (const img of document.images) img.loading = 'eager';
  await Promise.all([...document.images].map(i => i.decode().catch(() => 0)));
}"""


def chapters(toc):
    """Parts in order: the caption, and the pages with those below them, each by name."""

    def names(entries):
        pages = []
        for entry in entries:
            pages += [entry["file"], *names(entry.get("sections", []))]
        return pages

    return [
        ("", [toc["root"]]),
        *((part.get("caption", ""), names(part["chapters"])) for part in toc["parts"]),
    ]


def article(site, name, pages):
    """The text of a page, its anchors named after it, its links inside the document where they lead to a page of it."""
    soup = BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser")
    text = soup.select_one("article.bd-article")
    for lab in text.select(".fsl-lab"):
        picture = lab.find("img")
        lab.clear()
        note = BeautifulSoup(f"<p><em>{LAB}</em></p>", "html.parser").p
        lab.extend([picture, note] if picture else [note])
    for gone in text.select("script, link, a.headerlink, button, .tag_hide-input > details.hide"):
        gone.decompose()
    for details in text.select("details"):
        details["open"] = ""
    for element in text.select("[id]"):
        element["id"] = f"{name}--{element['id']}"
    for link in text.select("a[href]"):
        page, _, anchor = link["href"].partition("#")
        target = page.removesuffix(".html") or name
        if target in pages and (not page or page.endswith(".html")):
            link["href"] = f"#{target}--{anchor}" if anchor else f"#{target}"
        elif "://" not in page:
            link.unwrap()  # the site's index and search
    for level in (5, 4, 3, 2, 1):  # above them stands the part
        for heading in text.find_all(f"h{level}"):
            heading.name, heading["class"] = (
                f"h{level + 1}",
                [*heading.get("class", []), f"was-h{level}"],
            )
    text["id"] = name
    return text


def title_of(article):
    return " ".join(article.select_one(".was-h1").get_text().split())


def document(site, toc, config):
    """All pages as one, with the style sheets and the formulas' script of theirs."""
    parts = chapters(toc)
    pages = {name for _, names in parts for name in names}
    missing = sorted(name for name in pages if not (site / f"{name}.html").is_file())
    if missing:
        raise InputError(f"pdf: {site} has no page {missing[0]}.html; make book builds the site")
    heads, scripts, body, contents = {}, {}, [], []
    for caption, names in parts:
        listed = []
        for i, name in enumerate(names):
            soup = BeautifulSoup((site / f"{name}.html").read_text("utf-8"), "html.parser")
            heads |= {str(link): None for link in soup.select("link[rel=stylesheet]")}
            scripts |= {
                str(s): None for s in soup.find_all("script") if "mathjax" in str(s).lower()
            }
            scripts |= {str(s): None for s in soup.select('script[src*="reading.js"]')}
            text = article(site, name, pages)
            if caption and not i:
                text.insert(
                    0, BeautifulSoup(f'<h1 class="part">{html.escape(caption)}</h1>', "html.parser")
                )
            listed.append(f'<li><a href="#{name}">{html.escape(title_of(text))}</a></li>')
            body.append(str(text))
        contents.append(f"<p>{html.escape(caption)}</p><ul>{''.join(listed)}</ul>")
    title, author = html.escape(config["title"]), html.escape(config["author"])
    return f"""<!DOCTYPE html><html lang="en" data-theme="light" class="pdf">
<head><meta charset="utf-8"><title>{title}</title>{"".join(heads)}{"".join(scripts)}</head><body>
<section class="title-page"><p class="book-title">{title}</p><p>{author}</p></section>
<nav class="contents"><h1>Contents</h1>{"".join(contents)}</nav>
{"".join(body)}</body></html>"""


def print_pdf(site, text, target):
    """Print the document; what it shows besides lies in the site."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER)
        print_by(browser, site, text, target)
        browser.close()


def print_by(browser, site, text, target):
    """`print_pdf` by a browser that runs."""
    with tempfile.TemporaryDirectory(prefix="fslcore-pdf.") as folder:
        folder = Path(folder)
        for part in ("_static", "_images"):
            if (site / part).is_dir():
                (folder / part).symlink_to((site / part).resolve())
        (folder / "book.html").write_text(text, "utf-8")
        page = browser.new_page(
            viewport={"width": WIDTH, "height": 1000}, color_scheme="light", offline=True
        )
        page.set_default_timeout(600_000)
        page.emulate_media(media="print")
        page.goto((folder / "book.html").as_uri(), wait_until="load")
        page.evaluate(READY)
        footer = dict(display_header_footer=True, header_template="<p></p>", footer_template=FOOTER)
        page.pdf(
            path=target,
            outline=True,
            tagged=True,
            prefer_css_page_size=True,
            print_background=True,
            **footer,
        )
        page.close()


def headings(text):
    """Headings of a document in order, in plain words."""
    elements = BeautifulSoup(text, "html.parser").find_all([f"h{level}" for level in range(1, 7)])
    return [" ".join(re.sub(r"\\[()]", "", element.get_text()).split()) for element in elements]


def describe(target, titles, config):
    """Give the outline its words, of which Chromium doubles or joins some, and the file its title and author."""
    logging.getLogger("pypdf").setLevel(
        logging.ERROR
    )  # it tells of a number that Chromium has written too low
    writer = PdfWriter(clone_from=target)
    entries, todo = [], [writer.root_object.get("/Outlines")]
    while todo:  # each with those below it, before the next
        entry = todo.pop()
        if entry is None:
            continue
        entry = entry.get_object()
        entries.append(entry)
        todo += [entry.get("/Next"), entry.get("/First")]
    if len(entries) - 1 != len(titles):
        raise InputError(
            f"pdf: Chromium made {len(entries) - 1} entries in the outline of {len(titles)} headings"
        )
    for entry, title in zip(entries[1:], titles):
        entry[NameObject("/Title")] = create_string_object(title)
    writer.add_metadata({"/Title": config["title"], "/Author": config["author"]})
    writer.write(target)


def main(argv=None):
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--site", type=Path, default=root / "_build" / "html", help="the built site (_build/html)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=root / "_build" / "book.pdf", help="(_build/book.pdf)"
    )
    args = parser.parse_args(argv)
    try:
        if not BROWSER:
            raise InputError(f"pdf: no program {' '.join(CANDIDATES)}; CHROMIUM may name one")
        built = args.site.parent / "site" / "_toc.yml"  # of the pages that a profile has
        toc = yaml.safe_load((built if built.is_file() else root / "_toc.yml").read_text("utf-8"))
        config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        text = document(args.site, toc, config)

        def write(part):
            print_pdf(args.site, text, part)
            describe(part, headings(text), config)

        replace_file(args.output, write)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(args.output.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
