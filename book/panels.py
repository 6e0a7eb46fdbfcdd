"""Where the panels of a figure lie, so that a phone can show them one below the other.

Panels that stand side by side are small on a phone. `mark` writes on each such image of a built site where its panels
begin and end, as shares of its width; ``_static/reading.js`` stacks them. Panels that share labels or a legend cannot
be separated: such a figure is marked ``0-1`` and shown whole.
"""

import re
from itertools import pairwise
from pathlib import Path

WIDEST = 3  # columns; more are pictures of images
LABELS = 3  # points by which labels stick out of a panel on the left, if it has its own
RULE = 0.12  # the width of a bar of colours, at most, as a share of the panel beside it

IMAGE = re.compile(r'<img(?=[^>]*\ssrc="(_images/[^"]+\.svg)")')
NUMBER = r"(-?[\d.]+)"
PATCH = re.compile(rf'<path d="M {NUMBER} {NUMBER} \nL {NUMBER} {NUMBER}')
TEXT = re.compile(rf'<g [^>]*transform="translate\({NUMBER} {NUMBER}\)( rotate)?')


def panels(svg):
    """Begin and end of each column of panels, as shares of the width; empty where there is one, or more than three.

    Parameters
    ----------
    svg : str
        A figure as Matplotlib writes it.
    """
    width = float(re.search(rf'viewBox="0 0 {NUMBER} ', svg)[1])
    parts = dict(part.split('">', 1) for part in re.split(r'\n  <g id="', svg)[1:])
    columns = []  # left and right of the frames, left of all text, and whether labels stand beside them
    for name, part in parts.items():
        if name.startswith("axes_") and (patch := PATCH.search(part)):
            left, right = float(patch[1]), float(patch[3])
            words = [
                (float(x) - 12 * bool(turned), float(y)) for x, y, turned in TEXT.findall(part)
            ]
            ink = min([left, *(x for x, y in words)])
            named = any(x < left - LABELS and y < float(patch[2]) for x, y in words)  # not below it
            columns.append((left, right, ink, named))
    merged = []
    for left, right, ink, named in sorted(columns):
        if merged and (
            left < merged[-1][1] or right - left < RULE * (merged[-1][1] - merged[-1][0])
        ):
            first = merged.pop()
            left, right, ink, named = (
                first[0],
                max(first[1], right),
                min(first[2], ink),
                named or first[3],
            )
        merged.append((left, right, ink, named))
    if not 1 < len(merged) <= WIDEST:
        return []
    shared = any(name.startswith(("legend", "text")) for name in parts)
    alone = all(column[3] for column in merged)
    ordered = all(after[2] > before[1] for before, after in pairwise(merged))
    if shared or not alone or not ordered:
        return [(0.0, 1.0)]
    cuts = [0.0, *(max(0.0, column[2] - 2) / width for column in merged[1:]), 1.0]
    return list(pairwise(cuts))


def mark(site):
    """Write ``data-panels`` on the images of a built site that have panels side by side; how many."""
    count = 0
    panels_of = {
        f"_images/{path.name}": panels(path.read_text("utf-8"))
        for path in (site / "_images").glob("*.svg")
    }

    def marked(match):
        nonlocal count
        places = panels_of.get(match[1])
        count += bool(places)
        shares = " ".join(f"{start:.4f}-{end:.4f}" for start, end in places or [])
        return f'<img data-panels="{shares}"' if shares else match[0]

    for page in sorted(Path(site).glob("*.html")):
        page.write_text(IMAGE.sub(marked, page.read_text("utf-8")), "utf-8")
    return count
