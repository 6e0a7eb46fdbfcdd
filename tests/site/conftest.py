"""Shared by the tests of the site: one Chromium for the tests of a file."""

import pdf
import pytest


@pytest.fixture(scope="module")
def browser():
    if not pdf.BROWSER:
        pytest.skip("no Chromium on PATH nor in $CHROMIUM")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=pdf.BROWSER)
        yield found
        found.close()
