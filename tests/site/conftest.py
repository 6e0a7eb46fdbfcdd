"""Shared by the tests of the site: one Chromium for all of them."""

import pdf
import pytest


@pytest.fixture(scope="session")
def browser():
    if not pdf.BROWSER:
        pytest.skip("no Chromium on PATH nor in $CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=pdf.BROWSER)
        yield browser
        browser.close()
