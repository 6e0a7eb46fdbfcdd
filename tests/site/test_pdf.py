"""A small site printed as one PDF; skipped without Chromium."""

import shutil

import pytest

pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed; requirements.txt has it")

import pdf  # noqa: E402, book/pdf.py

from fslcore.paths import ROOT  # noqa: E402

CONFIG = {"title": "A small book", "author": "Its authors"}
TOC = {
    "root": "index",
    "parts": [
        {"caption": "First part", "chapters": [{"file": "one", "sections": [{"file": "two"}]}]},
        {"caption": "Last part", "chapters": [{"file": "three"}]},
    ],
}
PAGE = """<!DOCTYPE html><html><head><link rel="stylesheet" href="_static/custom.css">
<script src="_static/reading.js"></script></head><body>
<div class="sidebar">Search this book</div>
<article class="bd-article">
<section id="top"><h1>{title}<a class="headerlink" href="#top">#</a></h1>{text}</section></article>
<footer>Next page</footer></body></html>"""
WIDE = "<tr>" + "".join(f"<td>column{i:02}</td>" for i in range(40)) + "</tr>"
TEXTS = {
    "index": (
        "Welcome",
        '<div class="fsl-lab"><p>Needs scripts</p><button>Go</button></div><a href="genindex.html">Index</a>',
    ),
    "one": (
        "One and a title that is so long that it goes on in the next line of the page, and once more",
        '<h2>A section</h2><p>See <a href="two.html#answer">the answer</a> and <a href="three.html">three</a>.</p>'
        '<div class="cell tag_hide-input"><details class="hide"><summary>Show</summary>layout()</details>shown</div>',
    ),
    "two": (
        "Two",
        '<div class="solution dropdown admonition" id="answer"><p class="admonition-title">Solution</p>'
        "<p>Forty-two</p></div>"
        "<details><summary>Parameters</summary><p>shots: int = 5</p></details>",
    ),
    "three": (
        "Three",
        f'<div class="cell_output"><div class="text_html"><table>{WIDE}</table></div></div>',
    ),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "_static").mkdir()
    for name in ("custom.css", "reading.js"):
        shutil.copy(ROOT / "book" / "_static" / name, folder / "_static")
    for name, (title, text) in TEXTS.items():
        (folder / f"{name}.html").write_text(PAGE.format(title=title, text=text), "utf-8")
    return folder


@pytest.fixture(scope="module")
def printed(site, browser):
    text = pdf.document(site, TOC, CONFIG)
    pdf.print_by(browser, site, text, site / "book.pdf")
    pdf.describe(site / "book.pdf", pdf.headings(text), CONFIG)
    return pypdf.PdfReader(site / "book.pdf")


def outline(entries):
    return [outline(e) if isinstance(e, list) else e.title for e in entries]


def test_the_outline_has_parts_chapters_and_sections(printed):
    assert outline(printed.outline) == [
        "Contents",
        ["Welcome"],
        "First part",
        [TEXTS["one"][0], ["A section"], "Two"],
        "Last part",
        ["Three"],
    ]
    assert printed.metadata.title == CONFIG["title"] and printed.metadata.author == CONFIG["author"]


def test_pages_are_numbered_and_in_order(printed):
    texts = [" ".join(page.extract_text().split()) for page in printed.pages]
    starts = [
        next(i for i, text in enumerate(texts) if word in text and i > 1)
        for word in ("Welcome", "One and", "Three")
    ]
    assert starts == sorted(starts) and len(set(starts)) == 3
    assert all(text.endswith(str(i)) for i, text in enumerate(texts, 1))


def test_what_folds_is_open_and_what_belongs_to_a_site_is_gone(printed):
    text = " ".join(" ".join(page.extract_text() for page in printed.pages).split())
    for wanted in ("Forty-two", "shots: int = 5", pdf.LAB, "shown", "column39"):
        assert wanted in text
    for gone in ("Search this book", "Next page", "layout()", "Needs scripts"):
        assert gone not in text


def test_links_lead_inside(printed):
    links = [a.get_object() for page in printed.pages for a in page.get("/Annots", [])]
    assert len(links) >= 6  # four of the contents, two of the text
    assert not [a["/A"]["/URI"] for a in links if "/URI" in a.get("/A", {})]


def test_a_table_of_many_columns_lies_on_a_wide_page(printed):
    boxes = [page.mediabox for page in printed.pages]
    wide = [i for i, box in enumerate(boxes) if box.width > box.height]
    assert wide == [len(boxes) - 1]
    places = []  # of the words, from the left
    printed.pages[-1].extract_text(
        visitor_text=lambda text, cm, tm, *_: places.append((text, tm[4] * cm[0] + cm[4]))
    )
    assert 0 < max(x for text, x in places if "column" in text) < float(boxes[-1].width)


def test_a_site_of_a_few_chapters_is_printed_by_its_own_contents(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pdf, "BROWSER", "chromium")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "_toc.yml").write_text("root: attic\nparts: []\n")
    assert pdf.main(["--site", str(tmp_path / "html"), "-o", str(tmp_path / "book.pdf")]) == 2
    assert "has no page attic.html" in capsys.readouterr().err
