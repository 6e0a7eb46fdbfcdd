"""Pages in a headless browser, and what goes wrong on them."""

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


def watched(page, messages=("error",)):
    """The page; console messages of these kinds, errors and failed requests go into its ``faults``."""
    page.faults = []
    page.on("console", lambda m: m.type in messages and page.faults.append(f"console: {m.text}"))
    page.on("pageerror", lambda e: page.faults.append(f"script: {e}"))
    page.on("requestfailed", lambda r: page.faults.append(f"not loaded: {r.url}"))
    return page


def page_of(path, content):
    """The address of a page with nothing but this content, which is written to the path."""
    start = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    path.write_text(f"{start}<body><article>{content}</article></body></html>", "utf-8")
    return path.as_uri()
