"""The slides: what makes them, and, where the book is built, each one in a headless browser without a network."""

import hashlib
import json
import re
from pathlib import Path

import pytest
import slides
from browsing import watched
from bs4 import BeautifulSoup
from executed import Figure, SiteError, figures

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "book" / "slides"
SITE = ROOT / "_build" / "html"
DECKS = sorted(path.stem for path in HOME.glob("*.md"))
SIZES = {"laptop": {"width": 1280, "height": 720}, "phone": {"width": 390, "height": 844}}

# ---------------------------------------------------------------- from Markdown

VALUES = {"one": {"best": "2", "odd": r"a\_b \$"}}
SHOWN = {"one": {"fig-a": Figure("0a.svg", 'Two "curves" & a line')}}
HEAD = "# Talk\n\nOn one thing\n\n---\n\n"


def deck(text):
    return slides.deck(text, "t.md", VALUES, SHOWN, {"one", "primer"})


def test_a_deck_from_markdown():
    page = BeautifulSoup(
        deck(
            HEAD
            + "## Numbers\n\nQ is {glue:text}`one::best`, $Q^* > 1$, {glue:text}`one::odd`, [there](one#fig-a).\n\n"
            "Note:\nSay it *slowly*.\n\n---\n\n## Picture\n\n![Two curves](one::fig-a)\n\nSee?\n"
        ),
        "html.parser",
    )
    title, words, picture = page.select(".slides > section")
    assert page.title.string == "Talk" and title.h1.string == "Talk" and title["class"] == ["title"]
    assert words.p.get_text() == r"Q is 2, \(Q^* > 1\), a_b $, there."
    assert (
        words.a["href"] == "../one.html#fig-a"
        and words.aside.get_text().strip() == "Say it slowly."
    )
    image = picture.select_one(".room > figure > a > img")
    assert (image["src"], image["alt"]) == ("../_images/0a.svg", 'Two "curves" & a line')
    assert image.parent["href"] == "../one.html#fig-a" and picture.figcaption.string == "Two curves"
    assert picture.select_one(".room > .beside").get_text().strip() == "See?" and not picture.aside
    assert "mathjax" in str(page.head) and "mathjax" not in deck("# Talk")


@pytest.mark.parametrize(
    "text, message",
    [
        (HEAD + "## A\n\n{glue:text}`one::bets`", "one glues no such key; it glues best"),
        (HEAD + "## A\n\n{glue:md}`one::best`", "of roles, slides have only"),
        (HEAD + "## A\n\n![x](one::fig-b)", "one shows no such figure; it shows fig-a"),
        (
            HEAD + "## A\n\nSee ![x](one::fig-a).",
            "## A: a slide has one figure, in a paragraph of its own",
        ),
        (HEAD + "## A\n\n[x](prime)", "the book has no page of this name"),
        (HEAD + "Words alone", "each begins with `## Heading`"),
        ("## A", "the first begins with `# Title`"),
    ],
)
def test_what_makes_no_slide_is_told_in_one_line(text, message):
    with pytest.raises(SiteError) as error:
        deck(text)
    assert (
        str(error.value).startswith("t.md: ")
        and message in str(error.value)
        and "\n" not in str(error.value)
    )


def notebook(folder, **image):
    svg = "<svg>\r\n</svg>\n"
    cell = {
        "cell_type": "code",
        "metadata": {"mystnb": {"figure": {"name": "fig-a"}, "image": image}},
    }
    cell["outputs"] = [{"data": {"text/plain": "Figure"}}, {"data": {"image/svg+xml": svg}}]
    (folder / "one.ipynb").write_text(json.dumps({"cells": [cell]}), "utf-8")
    return folder / "one.ipynb"


def test_a_figure_comes_with_its_words(tmp_path):
    shown_figures = figures(notebook(tmp_path, alt="A curve that rises."))
    assert shown_figures == {
        "fig-a": Figure(
            hashlib.sha256(b"<svg>\n</svg>").hexdigest() + ".svg", "A curve that rises."
        )
    }
    with pytest.raises(SiteError, match="one.*fig-a.*alternative text"):
        figures(notebook(tmp_path))


def test_own_slides_in_a_built_site(tmp_path, capsys):
    (tmp_path / "notebooks").mkdir()
    image = figures(notebook(tmp_path / "notebooks", alt="A curve that rises."))["fig-a"].file
    mine = tmp_path / "mine.md"
    mine.write_text(HEAD + "## A\n\n![x](one::fig-a)", "utf-8")
    assert slides.main([str(mine), "--build", str(tmp_path)]) == 1
    assert "no site" in capsys.readouterr().err
    (tmp_path / "html" / "_images").mkdir(parents=True)
    (tmp_path / "html" / "index.html").touch()
    assert slides.main([str(mine), "--build", str(tmp_path)]) == 1
    assert (
        f"slides/mine.html shows _images/{image}, which no page of the site has"
        in capsys.readouterr().err
    )
    (tmp_path / "html" / "_images" / image).touch()
    assert slides.main([str(mine), "--build", str(tmp_path)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "html" / "slides" / "mine.html")
    for file in ("mine.html", "slides.css", "slides.js", "reveal/reveal.js", "reveal/LICENSE"):
        assert (tmp_path / "html" / "slides" / file).is_file()
    assert slides.main([str(tmp_path / "none.md"), "--build", str(tmp_path)]) == 1


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser(browser):
    if not (SITE / "slides").is_dir():
        pytest.skip("no slides in _build/html (make book): whether they fit is not tested")
    return browser


def opened(browser, name, size, query=""):
    page = watched(
        browser.new_context(viewport=SIZES[size], offline=True).new_page(), ("error", "warning")
    )
    page.goto((SITE.resolve() / "slides" / f"{name}.html").as_uri() + query, wait_until="load")
    page.wait_for_function("() => window.Reveal && Reveal.isReady()")
    page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
    return page


# What of the slide shown sticks out of its frame, lies under the arrows, or cannot be read.
FAULTS = r"""() => {
  const slide = document.querySelector(".slides > section.present"), frame = slide.getBoundingClientRect(), found = [];
  const arrows = [...document.querySelectorAll(".controls button.enabled")].map(b => b.getBoundingClientRect());
  const says = e => e.tagName + " " + e.textContent.trim().slice(0, 30);
  for (const e of slide.querySelectorAll("h1, h2, p, li, th, td, pre, img, figcaption, mjx-container")) {
    if (e.closest("aside")) continue;
    const range = document.createRange();
    range.selectNodeContents(e);
    for (const b of e.tagName === "IMG" ? [e.getBoundingClientRect()] : range.getClientRects()) {
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1)
        found.push("out of the frame: " + says(e));
      const text = e.tagName !== "IMG";
      if (text && arrows.some(a => a.left < b.right && a.right > b.left && a.top < b.bottom && b.top < a.bottom))
        found.push("under the arrows: " + says(e));
    }
    if (parseFloat(getComputedStyle(e).fontSize) * Reveal.getScale() < 12 && !e.closest("mjx-container"))
      found.push("too small: " + says(e));
  }
  if (slide.scrollWidth > slide.clientWidth + 1 || slide.scrollHeight > slide.clientHeight + 1) found.push("scrolls");
  for (const i of slide.querySelectorAll("img")) {
    const b = i.getBoundingClientRect(), scale = Math.min(b.width / i.naturalWidth, b.height / i.naturalHeight);
    if (!i.naturalWidth) found.push("broken: " + i.src);
    if (!(i.alt.length > 20)) found.push("no words for who cannot see " + i.src);
    const share = Math.max(i.naturalWidth * scale / window.innerWidth, i.naturalHeight * scale / window.innerHeight);
    if (share < 0.6) found.push("a small figure: " + share.toFixed(2) + " of the screen");
  }
  if (slide.querySelector("mjx-merror") || /\$\$|\\[([]/.test(slide.textContent)) found.push("a raw formula");
  return found.map(f => slide.querySelector("h1, h2").textContent + ": " + f);
}"""


# Pixels of the main type of the figure shown. Pictures of tasks have words below each image, which the slide repeats.
SHOWN_AT = """() => [...document.querySelectorAll(".slides > section.present img")].map(i => {
  const b = i.getBoundingClientRect(), scale = Math.min(b.width / i.naturalWidth, b.height / i.naturalHeight);
  return [i.getAttribute("src"), i.closest("a").hash, scale];
})"""


@pytest.mark.parametrize("name", DECKS)
def test_type_of_figures_can_be_read_from_the_last_row(name, browser):
    page = opened(browser, name, "laptop")
    small = []
    for _ in range(page.evaluate("Reveal.getTotalSlides()")):
        for source, anchor, scale in page.evaluate(SHOWN_AT):
            sizes = re.findall(r"scale\(0\.(\d+) -0", (SITE / "slides" / source).read_text("utf-8"))
            main = max(float(f"0.{size}") for size in sizes) * 100 * 4 / 3 * scale
            if main < (11 if "task-" in anchor else 13.5):
                small.append(f"{anchor}: {main:.1f} px")
        page.keyboard.press("ArrowRight")
    page.context.close()
    assert not small, "\n".join(small)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", DECKS)
def test_every_slide_fits_and_keys_move_on(name, size, browser):
    page = opened(browser, name, size)
    total = page.evaluate("Reveal.getTotalSlides()")
    for at in range(total):
        assert page.evaluate("Reveal.getIndices().h") == at
        page.faults += page.evaluate(FAULTS)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    assert page.evaluate("Reveal.getIndices().h") == 0
    page.context.close()
    assert not page.faults, "\n".join(page.faults)


def test_a_swipe_moves_on(browser):
    context = browser.new_context(
        viewport=SIZES["phone"], offline=True, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto((SITE.resolve() / "slides" / f"{DECKS[0]}.html").as_uri(), wait_until="load")
    page.wait_for_function("() => window.Reveal && Reveal.isReady()")
    touch = context.new_cdp_session(page)
    for kind, x in (("touchStart", 300), ("touchMove", 180), ("touchMove", 60), ("touchEnd", None)):
        points = [] if x is None else [{"x": x, "y": 400}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function("() => Reveal.getIndices().h === 1")
    context.close()


def test_printed_a_page_a_slide_with_its_figure(browser):
    name = next(name for name in DECKS if "::fig-" in (HOME / f"{name}.md").read_text("utf-8"))
    page = opened(browser, name, "laptop", "?view=print")
    page.wait_for_selector(".pdf-page")
    page.emulate_media(media="print")
    total = len(re.findall(r"^##? ", (HOME / f"{name}.md").read_text("utf-8"), re.M))
    assert page.locator(".pdf-page").count() == total
    low = page.evaluate(
        "[...document.querySelectorAll('img')].map(i => i.getBoundingClientRect().height)"
    )
    assert low and min(low) > 300
    data = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", data)) == total
    page.context.close()
    assert not page.faults, "\n".join(page.faults)
