"""The built site, page by page, in a headless browser without a network.

Skipped where there is no site in ``_build/html`` (``make book`` builds it) or no Chromium.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import drawings
import drawn
import markup
import pytest
import yaml
from browsing import DESK, PHONE, watched

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
PAGES = sorted(
    p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html") if "_static" not in p.parts
)
MOST_BYTES = 25_000_000

if not (SITE / "index.html").is_file():
    pytest.skip(
        "no site in _build/html (make book): its links, weight, layout and accessibility, and search, are not tested",
        allow_module_level=True,
    )


# ---------------------------------------------------------------- the HTML files themselves


class Page(HTMLParser):
    """What the link checks need of a page: its anchors and what it points at."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for key in ("id", "name") if tag == "a" else ("id",):
            if attrs.get(key):
                self.ids.append(attrs[key])
        for key in ("href", "src"):
            if attrs.get(key) and tag in ("a", "link", "img", "script", "iframe", "source"):
                self.links.append((tag, attrs[key]))


@pytest.fixture(scope="module")
def parsed():
    return {name: Page(SITE / name) for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_links_and_anchors_resolve(name, parsed):
    broken = []
    for tag, link in parsed[name].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            # A reader may follow a link; a page fetches nothing.
            if tag != "a" and parts.scheme != "data":
                broken.append(f"<{tag}> asks for {link}")
            continue
        path = (SITE / name).parent / unquote(parts.path) if parts.path else SITE / name
        if not path.is_file():
            broken.append(f"{link}: no such file")
            continue
        target = path.resolve().relative_to(SITE.resolve()).as_posix()
        anchor = unquote(parts.fragment)
        if target in parsed and anchor not in ("", "top", *parsed[target].ids):
            broken.append(f"{link}: no such anchor")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique(name, parsed):
    # sphinx-exercise and sphinx-proof name the body of each of their boxes alike
    ids = [
        i
        for i in parsed[name].ids
        if i not in ("exercise-content", "solution-content", "proof-content")
    ]
    assert {i for i in ids if ids.count(i) > 1} == set()


ENTRY = re.compile(
    r'"py (?:function|class)">\s*<dt[^>]* id="(.*?)"(.*?)(?=<dl class="py [fc]|\Z)', re.S
)


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_a_page_that_is_no_chapter_are_numbered_from_one(name):
    text = (SITE / name).read_text("utf-8")
    numbers = re.findall(r'"caption-number">Fig\.\s(\d+)\s', text)
    assert numbers == [str(count) for count in range(1, len(numbers) + 1)]


def test_two_equal_numbers_read_all_and_no_line_ends_before_a_sign():
    number = markup.GLUED.format
    same = f"<p>{number(15)} of {number(15)} at 95 %, {number(9)} of {number(15)}.</p>"
    text = re.sub("<.*?>", "", markup.fixed(f"{same}<pre>5 %</pre>"))
    assert text == "All 15 at 95\u00a0%, 9 of 15.5 %"
    both = f"<p>It holds for {number(2)} of the {number(2)} rows.</p>"
    assert re.sub("<.*?>", "", markup.fixed(both)) == "It holds for both rows."


def test_a_formula_keeps_its_full_stop_and_a_chart_of_letters_is_apart():
    formula = '<span class="math notranslate nohighlight">\\(n\\)</span>'
    text = markup.fixed(f"<p>Of ({formula}), {formula} and {formula}</p>")
    line = '<span class="in-one-line">{}</span>'.format
    assert text == f"<p>Of {line(f'({formula}),')} {formula} and {formula}</p>"
    printed = "<pre><span></span>One is better.\n\na  ├─●─┤\nb ├─●─┤\n\nNext:\n</pre>"
    text = markup.fixed(printed)
    assert '\n\n<span class="chart">a  ├─●─┤\nb ├─●─┤</span>\nNext:\n</pre>' in text
    assert re.sub("</?span.*?>", "", text) == printed.replace("<span></span>", "").replace(
        "┤\n\n", "┤\n"
    )


# Checks and sums that modules share; no page is about them.
HELPERS = tuple(f"fslcore.stats.{module}." for module in ("dependence", "rare", "task_checks"))


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("api-")])
def test_each_public_function_links_to_a_page_that_explains_it(name):
    entries = ENTRY.findall((SITE / name).read_text("utf-8"))
    alone = [function for function, text in entries if "In the book" not in text]
    assert [function for function in alone if not function.startswith(HELPERS)] == []


def ledger():
    return yaml.safe_load((ROOT / "book" / "ledger.yml").read_text("utf-8"))["items"]


def test_the_ledger_has_every_item_once_and_links_to_its_place(parsed):
    """A chapter marks an item with ``(its-id)=`` before the heading or the cell."""
    items, page = ledger(), parsed["ledger.html"]
    assert [item["id"] for item in items if page.ids.count(item["id"]) != 1] == []
    places = {f"{item['chapter']}.html#{item['id']}" for item in items}
    assert places - {link for _, link in page.links} == set()
    code = parsed["ledger-code.html"]
    assert [item["id"] for item in items if code.ids.count(item["id"]) != 1] == []
    assert {f"ledger-code.html#{item['id']}" for item in items} - {
        link for _, link in page.links
    } == set()


# ---------------------------------------------------------------- what the site weighs


def test_the_site_is_light():
    sizes = {path: path.stat().st_size for path in SITE.rglob("*") if path.is_file()}
    largest = sorted(sizes, key=sizes.get)[:-6:-1]
    assert sum(sizes.values()) <= MOST_BYTES, [path.name for path in largest]


def test_a_chapter_is_downloaded_as_it_can_be_run_and_without_outputs():
    notebooks = [
        json.loads(path.read_text("utf-8")) for path in (SITE / "_sources").glob("*.ipynb")
    ]
    cells = [
        cell for notebook in notebooks for cell in notebook["cells"] if cell["cell_type"] == "code"
    ]
    assert any("import" in "".join(cell["source"]) for cell in cells)
    assert not [cell["outputs"] for cell in cells if cell["outputs"]]


# ---------------------------------------------------------------- the pages as a browser shows them


@pytest.fixture(scope="module")
def context(browser):
    """A browser without a network, in which what a page asks for elsewhere fails."""
    context = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    context.set_offline(True)
    inside = SITE.resolve().as_uri() + "/"

    context.route(
        lambda address: not address.startswith((inside, "data:", "blob:")),
        lambda route: route.abort(),
    )
    yield context
    context.close()


# Scripts of the page that watch the width of a box run at the end of the frame in which it changed.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def settle(page):
    """Wait until MathJax, where the page has it, has typeset everything, and the page knows its width."""
    page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
    page.evaluate(TWO_FRAMES)


@pytest.fixture
def visit(context):
    """Opens a page of the site; console errors and what is not loaded go into its ``faults``."""
    pages = []

    def opened(name):
        page = watched(context.new_page())
        pages.append(page)
        page.goto((SITE.resolve() / name).as_uri(), wait_until="load")
        settle(page)
        return page

    yield opened
    for page in pages:
        page.close()


# The theme keeps one more, never shown, for the printer.
TITLES = "() => [...document.querySelectorAll('h1')].filter(h => h.checkVisibility()).map(h => h.textContent)"

# Hidden solutions, folded code: everything a reader may open is open.
UNFOLD = """() => {
  document.querySelectorAll('details').forEach(d => { d.open = true; });
  document.querySelectorAll('.toggle-hidden').forEach(d => d.classList.remove('toggle-hidden'));
}"""

AT_ONCE = "* { transition: none !important; animation: none !important; }"
# What the theme's own switch does.
SET_THEME = "name => { document.documentElement.dataset.mode = document.documentElement.dataset.theme = name }"

# How wide the page is, and what sticks out of it, but for what lies in a box that scrolls or clips.
WIDTH = """() => {
  const root = document.documentElement, wide = [];
  if (root.scrollWidth > window.innerWidth + 1)
    for (const e of document.body.querySelectorAll('*')) {
      let box = e.parentElement;
      while (box && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
      if (!box && e.getBoundingClientRect().right > window.innerWidth + 1)
        wide.push(e.tagName.toLowerCase() + '.' + e.className);
    }
  return [root.scrollWidth, wide.slice(0, 5).join(' | ')];
}"""

# Tables and figures wider than their box that do not show that they go on.
CUT = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
  const kinds = '.text_html, .table-box, .pst-scrollable-table-container, figure, .fsl-table';
  const boxes = document.querySelectorAll('article :is(' + kinds + ')');
  const wide = [...boxes].filter(b => b.scrollWidth > b.clientWidth + 1 && b.checkVisibility());
  const cut = wide.filter(b => getComputedStyle(b).maskImage === 'none');
  done(cut.map(b => b.className + ': ' + b.textContent.trim().slice(0, 40)));
})))"""

# Cells of tables as pandas or Python writes them and print does not, and header rows that hold but the names of rows.
UNTIDY = r"""() => [...document.querySelectorAll('article .cell_output table')].flatMap(table => {
  const cells = [...table.querySelectorAll('td, th')].map(c => c.textContent.trim());
  const head = [...table.querySelectorAll('thead tr')], last = head[head.length - 1];
  const said = row => [...row.cells].map(c => c.textContent.trim());
  const names = said(last).filter(Boolean).length, above = head.length > 1 ? said(head[head.length - 2]) : [];
  const blank = above.length > names && above.slice(0, names).every(text => !text);
  return cells.filter(c => /(^|[\s(\[])-\d|−0\.0+(?!\d)|^\w+_\w+$/.test(c) && !table.closest('.tag_parameters'))
    .concat(blank ? ['a blank row under ' + head[0].textContent.trim()] : []);
})"""

# Names of columns that stand at another side than the cells below them.
ASKEW = r"""() => [...document.querySelectorAll('article .cell_output table')].flatMap(table => {
  const head = table.tHead && [...table.tHead.rows].pop(), row = table.tBodies[0] && table.tBodies[0].rows[0];
  if (!head || !row || [...head.cells].some(c => c.colSpan > 1)) return [];
  const cells = [...row.cells].reverse(), side = c => getComputedStyle(c).textAlign.replace('start', 'left');
  return [...head.cells].reverse()
    .filter((c, i) => c.textContent.trim() && cells[i] && side(c) !== side(cells[i])).map(c => c.textContent.trim());
})"""

IMAGES = """() => [...document.querySelectorAll('article img')].map(i =>
  [i.getAttribute('src') || '', i.getAttribute('alt'), i.complete && i.naturalWidth > 0])"""

# Text of the article without code and without what MathJax has set.
PROSE = """() => {
  const copy = (document.querySelector('article') || document.body).cloneNode(true);
  copy.querySelectorAll('mjx-container, pre, code, script, style').forEach(e => e.remove());
  return copy.textContent;
}"""


# Each figure that is in sight: its file, how wide it is shown and whether it is inverted.
FIGURES = """() => [...document.querySelectorAll('article img[src*="_images/"]')]
  .filter(i => i.checkVisibility())
  .map(i => [i.getAttribute('src'), i.getBoundingClientRect().width, getComputedStyle(i).filter])"""
LEAST_TYPE = 9  # pixels


def faults_of_figures(page, folder):
    """In the dark on a phone: type that is too small, drawings that stay light and pictures that do not."""
    faults = []
    for source, width, shown_by in page.evaluate(FIGURES):
        svg = (folder / source).read_text("utf-8")
        size = drawn.smallest_type(svg, width)
        if size < LEAST_TYPE:
            faults.append(f"type of {size:.1f} px on a phone: {source}")
        if shown_by.startswith("invert") == drawings.holds_picture(svg):
            faults.append(f"filter {shown_by} in the dark: {source}")
    return faults


def is_file_name(alt):
    return bool(
        re.fullmatch(r"\S*\.(png|svg|jpe?g|gif|webp)|[0-9a-f]{16,}|\S*/\S*", alt.strip(), re.I)
    )


# Tables and formulas wider than their place on paper, code that is cut there, and what still is folded.
UNPRINTED = """() => {
  const cut = [], wide = e => e.closest('.landscape') ? 987 : 659;
  for (const e of document.querySelectorAll('article :is(table, pre, img, mjx-container[display])')) {
    if (!e.checkVisibility() || (e.tagName !== 'TABLE' && e.closest('table'))) continue;
    let box = e.parentElement, inside = true;
    for (; box !== document.body; box = box.parentElement)
      inside = inside && (getComputedStyle(box).overflowX === 'visible' || box.scrollWidth <= box.clientWidth + 1);
    const long = e.tagName === 'PRE' && e.scrollWidth > e.clientWidth + 1;
    if (!inside || long || e.getBoundingClientRect().right > wide(e))
      cut.push(e.tagName + ': ' + e.textContent.trim().slice(0, 40));
  }
  const folded = document.querySelectorAll('article details:not([open]), article .toggle-hidden').length;
  return folded ? [...cut, folded + ' folded'] : cut;
}"""


def faults_of_print(page):
    """What is cut or folded on paper, and what stays of the printed layout on the screen."""
    page.set_viewport_size({"width": 658, "height": 1000})  # the text of A4
    settle(page)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    faults = [f"on paper: {text}" for text in page.evaluate(UNPRINTED)]
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    left = page.locator("article .landscape, article [style*='zoom']").count()
    faults += [f"{left} parts stay as on paper"] * bool(left)
    page.emulate_media(media="screen")
    page.set_viewport_size(DESK)
    settle(page)
    return faults


def still_cut(page):
    """What is cut off and not marked within a second: the page watches widths, and a busy machine is late."""
    for _ in range(10):
        found = page.evaluate(CUT)
        if not found:
            break
        page.wait_for_timeout(100)
    return found


def faults_of_panels(page, name):
    """Panels of figures that a phone does not show, each below the one before it."""
    page.evaluate(
        "() => Promise.all([...document.images].map(i => { i.loading = 'eager'; return i.decode(); }))"
    )
    settle(page)
    frames = (
        "article .panels:not([hidden]) > div, article img[data-panels]:not([hidden], .panels img)"
    )
    ends = page.locator(frames).evaluate_all("all => all.map(e => e.getBoundingClientRect().right)")
    parts = page.locator("article .panels > div").count()
    named = re.findall(r'<img data-panels="([^"]+)"', (SITE / name).read_text("utf-8"))
    expected = sum(len(places.split()) for places in named if " " in places)
    faults = [f"a panel ends at {end:.0f} px" for end in ends if end > PHONE["width"]]
    if named and (not ends or parts != expected):
        faults.append(f"{parts} panels one below the other, {expected} expected")
    return faults


# Marks three texts of each kind, on all pages together: one colour, size and weight on one ground. To check the
# contrast of all texts takes nine tenths of axe's time and finds no more.
MARK_KINDS_OF_TEXT = """counts => {
  const texts = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  for (const element of document.body.querySelectorAll('*')) {
    element.removeAttribute('data-contrast');
    if (!texts(element) || !element.getClientRects().length) continue;
    const {color, fontSize, fontWeight} = getComputedStyle(element);
    const kind = [color, fontSize, fontWeight];
    for (let place = element; place; place = place.parentElement) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(place);
      kind.push(opacity, backgroundImage);
      if (backgroundColor !== 'rgba(0, 0, 0, 0)') { kind.push(backgroundColor); break; }
    }
    const key = kind.filter(part => part !== '1' && part !== 'none').join();
    counts[key] = (counts[key] ?? 0) + 1;
    if (counts[key] <= 3) element.setAttribute('data-contrast', '');
  }
  return counts;
}"""

# Every rule of axe, also those that it calls best practice or experimental.
EVERY_RULE = {
    "resultTypes": ["violations"],
    "preload": False,  # no style sheet may be asked for from a page that is a file
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice", "experimental"],
    "rules": {"color-contrast": {"enabled": False}},
}
# Those that depend on the theme, and on what scrolls.
OF_VIEW = {"runOnly": ["scrollable-region-focusable", "landmark-unique"]}


@pytest.fixture(scope="module")
def axe():
    return pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    ).Axe()


@pytest.fixture(scope="module")
def kinds_of_text():
    """How often each kind of text was seen on the pages before."""
    return {}


def violations(axe, page, rules, kinds_of_text):
    """What these rules find, and text with too little contrast among the kinds seen on few pages before."""
    found = axe.run(page, options=rules).response["violations"]
    kinds_of_text.update(page.evaluate(MARK_KINDS_OF_TEXT, kinds_of_text))
    if page.locator("[data-contrast]").count():
        include = {"include": [["[data-contrast]"]]}
        found += axe.run(page, include, {"runOnly": ["color-contrast"]}).response["violations"]
    return [
        f"axe: {fault['id']}: {node['html'][:80]}" for fault in found for node in fault["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_page(name, visit, axe, kinds_of_text):
    """On a screen, on paper, on a phone and in the dark, in one visit: to open a page takes much of the time."""
    page = visit(name)
    faults = page.faults
    titles = page.evaluate(TITLES)
    if len(titles) != 1:
        faults.append(f"{len(titles)} first-level headings: {titles}")
    for source, alt, loaded in page.evaluate(IMAGES):
        if not alt or is_file_name(alt):
            faults.append(f"image without words for who cannot see it: {source[:80]} (alt {alt!r})")
        if not loaded:
            faults.append(f"broken image: {source}")

    prose = page.evaluate(PROSE)
    faults += [
        f"raw formula: {m.group()}" for m in re.finditer(r"\$\$.{0,40}|\\[(\[].{0,40}", prose)
    ]
    if page.locator("article .math").count():
        assert page.locator("article mjx-container").count(), "formulas, and none typeset"
        if page.locator("article mjx-merror").count():
            faults.append("MathJax could not read a formula")
    faults += [f"in a table: {text}" for text in page.evaluate(UNTIDY)]
    faults += [f"not above its column: {text}" for text in page.evaluate(ASKEW)]
    if not name.startswith("slides/"):
        faults += faults_of_print(page)

    page.evaluate(UNFOLD)
    page.add_style_tag(content=AT_ONCE)
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        width, culprits = page.evaluate(WIDTH)
        if width > size["width"] + 1:
            faults.append(f"{width} px wide on a screen of {size['width']}: {culprits}")
        faults += [f"cut off at {size['width']}: {text}" for text in still_cut(page)]
        if size is DESK:
            settle(page)
            faults += violations(axe, page, EVERY_RULE, kinds_of_text)
    faults += faults_of_panels(page, name)
    page.evaluate(SET_THEME, "dark")
    settle(page)
    faults += faults_of_figures(page, (SITE / name).parent)
    faults += violations(axe, page, OF_VIEW, kinds_of_text)
    assert not faults, "\n".join(faults)


def test_a_wide_table_of_sentences_is_cards_on_a_phone(visit):
    page = visit("guide.html")
    table = page.locator("article table").first
    words = table.inner_text().split()
    assert table.locator("td").first.evaluate("e => getComputedStyle(e).display") == "table-cell"
    page.set_viewport_size(PHONE)
    settle(page)
    first = table.locator("tbody tr").first.locator("td")
    assert [first.nth(i).evaluate("e => e.offsetWidth") > 300 for i in range(4)] == [True] * 4
    names = first.evaluate_all("all => all.map(e => getComputedStyle(e, '::before').content)")
    assert names == ["none", '"Repetition"', '"Draw tasks"', '"Report"']
    assert table.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
    assert (
        table.get_by_role("cell").count() == table.locator("td").count()
        and table.inner_text().split() == words
    )
    page.set_viewport_size(DESK)
    settle(page)
    assert table.locator("td").first.evaluate("e => getComputedStyle(e).display") == "table-cell"


def test_the_caption_of_a_table_stays_while_the_table_scrolls(visit):
    """And so do the labels of its rows, with the name above them: here the second of two columns of labels."""
    page = visit("informed.html")
    page.set_viewport_size(PHONE)
    settle(page)
    box = page.locator(".text_html:has(caption)", has_text="outside its domain")
    parts = [
        box.locator(name).first
        for name in ("caption", "thead th:nth-child(2)", "tbody tr:nth-child(2) th")
    ]
    assert box.evaluate("e => e.scrollWidth > e.clientWidth + 40")
    assert parts[0].evaluate("e => e.offsetWidth") < PHONE["width"]
    box.evaluate("e => { e.scrollLeft = 1000; }")
    left = box.bounding_box()["x"]
    assert [round(part.bounding_box()["x"] - left) for part in parts] == [0, 0, 0]


def test_a_hidden_solution_opens_on_a_tap(visit):
    """On a phone, by its own button, and the page stays as wide as the screen."""
    page = visit(
        next(name for name in PAGES if "solution dropdown" in (SITE / name).read_text("utf-8"))
    )
    page.set_viewport_size(PHONE)
    box = page.locator("article .solution.dropdown").first
    content = box.locator(".section, section").first
    assert not content.is_visible()
    box.locator("button").first.click()
    content.wait_for(state="visible")
    assert page.evaluate(WIDTH)[0] <= PHONE["width"] + 1


def test_the_keyboard_reaches_and_shows_everything(visit):
    """The link that skips to the text, rings around what has the focus, names of buttons and of boxes that scroll."""
    page = visit("comparing-methods.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to main content"
    page.keyboard.press("Enter")
    assert (
        page.evaluate("location.hash") == "#main-content"
        and page.locator("#main-content").count() == 1
    )
    page.set_viewport_size(PHONE)
    settle(page)
    for kind in ("a.reference", "button.copybtn", "summary", "[role=region][tabindex='0']"):
        first = page.locator(f"article {kind}").locator("visible=true").first
        first.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        ring = page.evaluate(
            "(s => s.outlineStyle + s.outlineWidth)(getComputedStyle(document.activeElement))"
        )
        assert ring == "solid3px", kind


# What readers type, and the pages of which one should be among the first three that are found.
SOUGHT = {
    "new classes": {"three-intervals", "closed-vs-open"},
    "how many tasks": {"guide", "planning", "sizing-tasks"},
    "confidence interval": {"primer", "closed-vs-open", "three-intervals"},
    "error bars": {"primer", "closed-vs-open", "three-intervals"},
    "p-value": {"primer", "comparing-methods"},
    "Holm": {"primer", "comparing-methods", "benchmark"},
    "standard error": {"primer"},
    "spurious": {"spurious-bias"},
    "seeds": {"training-runs"},
}


@pytest.mark.parametrize("query", SOUGHT)
def test_search_puts_the_chapter_before_the_reference(query, visit):
    page = visit("search.html")
    page.goto((SITE.resolve() / "search.html").as_uri() + f"?q={query.replace(' ', '+')}")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText.includes('found')")
    links = page.locator("#search-results ul.search > li > a").evaluate_all(
        "all => all.map(a => a.pathname)"
    )
    matches = [Path(link).stem for link in links]
    assert SOUGHT[query] & set(matches[:3]), matches[:5]
    below = [name.startswith(("api", "genindex")) for name in matches]
    assert below == sorted(below), "pages of the reference stand above prose"


# Questions as readers type them, and the pages of which one should be found first.
QUESTIONS = {
    "own network": {"own"},
    "my own network": {"own"},
    "evaluate my network": {"own"},
    "pretrained network": {"networks"},
    "own images": {"my-images"},
    "my own images": {"my-images"},
    "my images": {"my-images"},
    "without a test set": {"few-images"},
    "Figure 5": {"ledger"},
    "OOPS Table 3": {"ledger"},
    "FewSTAB Table S10": {"ledger"},
    "reproduced": {"ledger"},
    "lm-eval": {"other-tools"},
    "lm-evaluation-harness": {"other-tools"},
    "MTEB": {"other-tools"},
    "HELM": {"other-tools"},
    "which ± for 600 tasks": {"guide"},
    "two printed ±": {"report-results"},
    "printed figures": {"report-results"},
    "how many tasks": {"guide", "planning"},
    "how many seeds": {"guide", "training-runs"},
    "run a chapter": {"run-chapter"},
    "other parameters": {"run-chapter"},
    "csv": {"results-format"},
    "record my loop": {"record-loop"},
    "my results": {"report-results"},
    "own results": {"your-results"},
    "train a network": {"train"},
    "captions": {"captions"},
    "download data": {"fetch"},
    "cluster": {"cluster"},
    "Jupyter": {"jupyter"},
    "slides": {"course"},
    "exercises": {"exercises"},
    "duplicates": {"near-copies"},
    "leaderboard": {"leaderboards"},
    "install": {"install"},
}
RANKED = """query => {
  Scorer.query = query;
  return Search._performSearch(...Search._parseQuery(query)).reverse().map(found => found[0]);
}"""  # Sphinx shows the last first


@pytest.fixture(scope="module")
def search(context):
    page = context.new_page()
    page.goto((SITE.resolve() / "search.html").as_uri())
    page.wait_for_function("Search._index && typeof Scorer.score === 'function'")
    yield page
    page.close()


@pytest.mark.parametrize("question", QUESTIONS)
def test_search_finds_the_page_that_answers_a_question_first(question, search):
    found = list(dict.fromkeys(search.evaluate(RANKED, question)))
    assert found[0] in QUESTIONS[question], found[:5]


def test_search_finds_words_of_pages_and_not_of_code(search):
    """`check_parameters` is called in a cell of each chapter, and `def` is in the code of the ledger."""
    assert search.evaluate(RANKED, "check_parameters") == []
    assert search.evaluate(RANKED, "query_panels") == ["ledger-code"]
    assert "ledger-code" not in search.evaluate(RANKED, "def")


def test_the_first_page_has_its_doors_above_the_fold(visit):
    """One sentence, one picture and the three doors in one view of a laptop."""
    page = visit("index.html")
    page.set_viewport_size({"width": 1280, "height": 800})
    doors = page.locator(".doors .sd-card").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().bottom)"
    )
    picture = page.locator("article img").first.evaluate("e => e.getBoundingClientRect().bottom")
    assert len(doors) == 3 and picture < min(doors) and max(doors) <= 800
