"""Old addresses of sections that have moved to another page: ``moved.yml`` says where each is now."""

import json
import re
from collections import defaultdict
from pathlib import Path

import yaml
from executed import SiteError

SCRIPT = (
    "<script>(function () {{ var moved = {places}; "
    "function go() {{ if (moved[location.hash]) location.replace(moved[location.hash]); }} "
    "go(); window.addEventListener('hashchange', go); }})();</script>\n</head>"
)


def redirect(site: Path, listed: Path) -> None:
    """Let each page of a built site lead from the anchors that it had to where their content is.

    Parameters
    ----------
    site : Path
        The folder with the pages.
    listed : Path
        A YAML mapping of ``page#anchor`` to ``page#anchor``.

    Raises
    ------
    SiteError
        An old address that is still there, or a new one that is not.
    """
    of_page = defaultdict(dict)
    for old, new in yaml.safe_load(listed.read_text("utf-8")).items():
        page, _, anchor = old.partition("#")
        there, _, place = new.partition("#")
        if anchor in anchors(site, page):
            raise SiteError(f"{listed.name}: {old}: {page} still has this anchor")
        if place not in anchors(site, there):
            raise SiteError(f"{listed.name}: {old}: {new} is not there")
        of_page[page][f"#{anchor}"] = f"{there}.html#{place}"
    for page, places in of_page.items():
        path = site / f"{page}.html"
        script = SCRIPT.format(places=json.dumps(places))
        path.write_text(path.read_text("utf-8").replace("</head>", script, 1), "utf-8")


def anchors(site: Path, page: str) -> set[str]:
    """The anchors of a page; none where the site does not have it."""
    path = site / f"{page}.html"
    return set(re.findall(r'\bid="([^"]+)"', path.read_text("utf-8"))) if path.is_file() else set()
