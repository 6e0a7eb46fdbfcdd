"""Shared by the tests of the site: one Chromium for all of them, and a page as on a phone."""

import pdf
import pytest
from browsing import PHONE, watched


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What opens a browser is slow, however short it is: ``make test`` does without one."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def browser():
    if not pdf.BROWSER:
        pytest.skip("no Chromium on PATH nor in $CHROMIUM: nothing is tested as a browser shows it")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=pdf.BROWSER)
        yield browser
        browser.close()


@pytest.fixture
def phone(browser):
    """A page as wide as a phone, on which nothing goes wrong."""
    page = watched(browser.new_page(viewport=PHONE))
    yield page
    assert page.faults == []
    page.close()
