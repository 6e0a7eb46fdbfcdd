"""The ledger's script: items of one status, and tables sorted by a column."""

from urllib.parse import urlencode

import pytest
from browsing import DESK, page_of, watched

from fslcore.paths import ROOT

ITEMS = {  # by paper: item, status and where
    "First": [
        ("Table 1", "partly", "b"),
        ("Table 2", "reproduced", "c"),
        ("Figure 1", "differs", "a"),
    ],
    "Second": [("Table 1", "reproduced", "a"), ("Figure 9", "reproduced", "b")],
}


def table(items):
    head = "".join(f"<th>{name}</th>" for name in ("Item", "Status", "Verdict", "Where"))
    rows = "".join(
        f'<tr><td>{name}</td><td><span class="status">{status}</span></td><td>words</td><td>{where}</td></tr>'
        for name, status, where in items
    )
    return f'<div class="ledger"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


@pytest.fixture
def page(browser, tmp_path):
    statuses = ("reproduced", "partly", "differs")
    counts = "".join(f'<span class="status">{status}</span>' for status in statuses)
    sections = "".join(
        f"<section><h2>{name}</h2>{table(items)}</section>" for name, items in ITEMS.items()
    )
    script = (ROOT / "book/_static/labs/ledger.js").as_uri()
    content = (
        f'<div class="counts">{counts}</div><div class="ledger-filter" hidden></div>'
        f'<script src="{script}" defer></script>{sections}'
    )
    page = watched(browser.new_page(viewport=DESK))
    page.address = page_of(tmp_path / "ledger.html", content)
    page.goto(page.address)
    yield page
    assert page.faults == []
    page.close()


def shown(page):
    rows = page.locator(".ledger tbody tr").locator("visible=true")
    return rows.evaluate_all("all => all.map(row => row.cells[0].textContent)")


def press(page, name):
    """As the keyboard does it."""
    page.get_by_role("button", name=name).first.focus()
    page.keyboard.press("Enter")


def test_it_shows_the_items_of_one_status(page):
    assert page.locator(".ledger-filter button").all_inner_texts() == [
        "all (5)",
        "reproduced (3)",
        "partly (1)",
        "differs (1)",
    ]
    press(page, "differs")
    assert shown(page) == ["Figure 1"]
    assert page.locator("h2").locator("visible=true").all_inner_texts() == ["First"]
    assert page.get_by_role("status").inner_text() == "1 of 5 items shown"
    pressed = page.locator("[aria-pressed=true]")
    assert pressed.all_inner_texts() == ["differs (1)"]
    press(page, "all")
    assert len(shown(page)) == 5


def test_a_link_can_ask_for_a_status(page):
    page.goto(f"{page.address}?{urlencode({'status': 'reproduced'})}")
    assert shown(page) == ["Table 2", "Table 1", "Figure 9"]
    page.goto(f"{page.address}?{urlencode({'status': 'unknown'})}")
    assert len(shown(page)) == 5


def test_a_table_is_sorted_by_a_column_and_keeps_the_papers_order_within_it(page):
    press(page, "Status")
    assert shown(page)[:3] == ["Table 2", "Table 1", "Figure 1"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    press(page, "Status")
    assert shown(page)[:3] == ["Figure 1", "Table 1", "Table 2"]
    press(page, "Where")
    assert shown(page)[:3] == ["Figure 1", "Table 1", "Table 2"]
    press(page, "Item")
    assert shown(page) == ["Table 1", "Table 2", "Figure 1", "Table 1", "Figure 9"]
    assert page.locator("th", has_text="Verdict").locator("button").count() == 0


def test_without_scripts_it_is_the_whole_table(browser, page):
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.address)
    assert plain.locator(".ledger tbody tr").locator("visible=true").count() == 5
    assert not plain.locator(".ledger-filter").is_visible()
    context.close()
