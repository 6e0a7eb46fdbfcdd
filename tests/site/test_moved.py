"""Old addresses lead to where their content is."""

import assemble
import moved
import pytest
import yaml
from browsing import watched
from executed import SiteError

from fslcore.paths import ROOT

LISTED = ROOT / "book" / "moved.yml"
SITE = ROOT / "_build" / "html"


@pytest.fixture
def site(tmp_path):
    for name, anchor in (("old", "stays"), ("new", "place")):
        head = '<!DOCTYPE html><html lang="en"><head><title>x</title>\n</head>'
        text = f'{head}<body><p id="{anchor}">x</p></body></html>'
        (tmp_path / f"{name}.html").write_text(text)
    return tmp_path


def listed(site, **places):
    path = site / "moved.yml"
    path.write_text(yaml.safe_dump({old.replace("_", "#"): new for old, new in places.items()}))
    return path


def test_a_moved_section_is_shown_where_it_is(site, browser):
    moved.redirect(site, listed(site, old_gone="new#place"))
    page = watched(browser.new_page())
    page.goto(f"{(site / 'old.html').as_uri()}#gone")
    page.wait_for_url("**/new.html#place")
    page.goto(f"{(site / 'old.html').as_uri()}#stays")
    assert page.url.endswith("old.html#stays")
    page.evaluate("location.hash = 'gone'")
    page.wait_for_url("**/new.html#place")
    assert page.faults == []
    page.close()


@pytest.mark.parametrize(
    "places, message",
    [
        ({"old_stays": "new#place"}, "old#stays: old still has this anchor"),
        ({"old_gone": "new#other"}, "old#gone: new#other is not there"),
        ({"old_gone": "elsewhere#place"}, "old#gone: elsewhere#place is not there"),
    ],
)
def test_an_address_that_needs_no_redirect_or_leads_nowhere_is_named(site, places, message):
    with pytest.raises(SiteError, match=message):
        moved.redirect(site, listed(site, **places))


@pytest.mark.skipif(not SITE.is_dir(), reason="no site in _build/html (make book)")
@pytest.mark.parametrize("old, new", yaml.safe_load(LISTED.read_text("utf-8")).items())
def test_every_old_address_leads_to_its_new_one(old, new, browser):
    page = browser.new_page()
    page.goto(f"{SITE.resolve().as_uri()}/{old.replace('#', '.html#')}")
    page.wait_for_url(f"**/{new.replace('#', '.html#')}")
    page.close()


TOC = {
    "root": "index",
    "parts": [
        {
            "numbered": True,
            "chapters": [{"file": "a"}, {"file": "b", "sections": [{"file": "c"}, {"file": "d"}]}],
        },
        {"chapters": [{"file": "e"}]},
    ],
}


def test_a_page_below_a_chapter_has_its_number_and_a_letter():
    assert assemble.numbers(TOC) == {"a": "1.", "b": "2.", "c": "2a.", "d": "2b."}


def test_a_page_below_a_chapter_that_is_not_chosen_takes_its_place():
    def chosen(*names):
        return [part["chapters"] for part in assemble.toc_of(TOC, {*names})["parts"]]

    assert chosen("a", "d") == [[{"file": "a"}, {"file": "d"}]]
    assert chosen("b", "d") == [[{"file": "b", "sections": [{"file": "d"}]}]]
    assert chosen("b", "e") == [[{"file": "b"}], [{"file": "e"}]]
