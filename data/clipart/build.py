"""Build the `clipart` set from the Open Clip Art Library as Debian ships it.

    python data/clipart/build.py WORK

Needs `apt-get` and `dpkg`. WORK is a folder for the packages (155 MB fetched, 350 MB unpacked); what is there is
reused. `classes.yml` beside this file says which drawing belongs to which class.
"""

import argparse
import hashlib
import html
import re
import sys
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from PIL import Image, ImageChops
from tqdm import tqdm

Image.MAX_IMAGE_PIXELS = None  # LARGEST guards the size here

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import _build  # noqa: E402

PACKAGES = {"openclipart-png": "1:0.18+dfsg-19", "openclipart-svg": "1:0.18+dfsg-19"}
SIZE = 96  # pixels a side
MARGIN = 2  # white pixels left on each side
LARGEST = 48_000_000  # a drawing stored with more pixels than this is left out
NEAR_COPY = 0.04  # two drawings of a class closer than this (see `outline`) count as one
FEWEST = 20  # a class with fewer images is an error in classes.yml

# Bags of keywords hold some debris: memory addresses, numbers, bookkeeping words.
DEBRIS = re.compile(r"hash(\(0x\w+\))?|=?0x\w+|\d+|unsorted|clip[ _]?art|openclipart|\W*")
EMAIL = re.compile(r"\W?\S+@\S+")


def clean(text):
    """Undo double-escaped entities and UTF-8 read as Latin-1, and squeeze white space."""
    text = html.unescape(html.unescape(text))
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode("utf-8")
    return " ".join(text.split())


def metadata(svg):
    """Title, keywords, author and licence that an SVG of the library states about itself."""
    block = re.search(rb"<metadata.*?</metadata>", svg.read_bytes(), re.S)
    text = block.group(0).decode("utf-8", "replace") if block else ""
    author = re.search(r"<dc:creator>.*?<dc:title>(.*?)</dc:title>.*?</dc:creator>", text, re.S)
    author = EMAIL.sub("", clean(author.group(1))).strip() if author else ""
    licence = re.search(r"<cc:license[^>]*rdf:resource=\"([^\"]*)\"", text)
    drawing = re.sub(r"<cc:Agent.*?</cc:Agent>", "", text, flags=re.S)  # titles of people go
    title = re.search(r"<dc:title>(.*?)</dc:title>", drawing, re.S)
    keywords = {clean(k).lower() for k in re.findall(r"<rdf:li>(.*?)</rdf:li>", drawing, re.S)}
    keywords = {k for k in keywords if not DEBRIS.fullmatch(k)} - {author.lower()}
    title = EMAIL.sub("", clean(title.group(1))).strip() if title else ""
    return title, sorted(keywords), author, licence.group(1) if licence else ""


def class_of(path, keywords, classes):
    """Name of the first class that a drawing matches, or None."""
    keywords = set(keywords)
    for name, rule in classes.items():
        named = any(fnmatchcase(path.as_posix(), f) for f in rule.get("files", []))
        tagged = keywords & set(rule.get("keywords", []))
        if named or (tagged and not keywords & set(rule.get("without", []))):
            return name
    return None


def render(png):
    """Draw a PNG on white, cut to its ink and scaled to fit SIZE; None if there is no ink."""
    with Image.open(png) as image:
        if image.width * image.height > LARGEST:
            return None
        image = image.convert("RGBA")
    ground = Image.new("RGBA", image.size, "white")
    ground.alpha_composite(image)
    image = ground.convert("RGB")
    box = ImageChops.invert(image).point(lambda v: 255 * (v > 8)).getbbox()
    if box is None:
        return None
    image = image.crop(box)
    scale = (SIZE - 2 * MARGIN) / max(image.size)
    image = image.resize([max(1, round(side * scale)) for side in image.size], Image.LANCZOS)
    canvas = Image.new("RGB", (SIZE, SIZE), "white")
    canvas.paste(image, ((SIZE - image.width) // 2, (SIZE - image.height) // 2))
    return canvas


def outline(image):
    """Unit vector of where a drawing changes colour, at a quarter of its size.

    Nearly blind to what the colours are, so that a recoloured copy lies close to its original:
    the distance of two drawings is one minus the product of their outlines.
    """
    pixels = np.asarray(image, np.float32)
    change = np.zeros(pixels.shape[:2], np.float32)
    change[:, 1:] += np.abs(np.diff(pixels, axis=1)).max(2)
    change[1:] += np.abs(np.diff(pixels, axis=0)).max(2)
    change = np.minimum(change, 96).reshape(SIZE // 4, 4, SIZE // 4, 4).mean((1, 3)).ravel()
    return change / max(np.linalg.norm(change), 1e-6)


def series(path, title, author):
    """Name shared by drawings that look like one set: an author's title without its numbers."""
    base = re.sub(r"\(.*?\)|[\d_]+", " ", title.lower())
    return f"{author.lower()} | {' '.join(base.split()) or path.stem}".strip()


def collect(library, classes, drop_keywords, drop_files):
    """Every drawing of the library that belongs to a class, as records with a PIL image."""
    png_root, svg_root = [
        root / "usr/share/openclipart" / kind for kind, root in zip(["png", "svg"], library)
    ]
    chosen = []
    for png in sorted(png_root.rglob("*.png")):
        path = png.relative_to(png_root).with_suffix("")
        if png.is_symlink() or any(fnmatchcase(path.as_posix(), f) for f in drop_files):
            continue
        title, keywords, author, licence = metadata(svg_root / f"{path}.svg")
        if licence and "publicdomain" not in licence.lower():
            continue
        name = class_of(path, keywords, classes)
        if name is None or set(keywords) & set(drop_keywords):
            continue
        chosen.append(
            {
                "class_name": name,
                "split": classes[name]["split"],
                "domain": "clipart",
                "caption": ": ".join(filter(None, [title, ", ".join(keywords)])),
                "title": title,
                "keywords": "; ".join(keywords),
                "author": author,
                "series": series(path, title, author),
                "source": f"{path}.png",
                "png": png,
            }
        )
    images = [render(record.pop("png")) for record in tqdm(chosen, "drawing", disable=None)]
    return [{**record, "image": image} for record, image in zip(chosen, images) if image]


def without_near_copies(records, classes):
    """Keep the first of every group of near copies of a class, and at most `limit` of a class."""
    chosen_images = []
    for name, rule in classes.items():
        rows = [r for r in records if r["class_name"] == name]
        # Hash order is fixed but unrelated to content, so a limit takes a fair sample.
        rows.sort(key=lambda r: hashlib.sha256(r["source"].encode()).hexdigest())
        vectors, mine = [], []
        for row in rows:
            vector = outline(row["image"])
            if not vectors or 1 - np.max(np.stack(vectors) @ vector) > NEAR_COPY:
                vectors.append(vector)
                mine.append(row)
        mine = mine[: rule.get("limit")]
        if len(mine) < FEWEST:
            raise SystemExit(f"class {name!r} has {len(mine)} images, fewer than {FEWEST}")
        chosen_images += mine
    return chosen_images


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("work", type=Path, help="folder for the packages")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the result")
    args = parser.parse_args()

    rules = yaml.safe_load((HERE / "classes.yml").read_text(encoding="utf-8"))
    library = [_build.debian_package(name, v, args.work) for name, v in PACKAGES.items()]
    records = collect(library, **rules)
    records = without_near_copies(records, rules["classes"])
    for record in tqdm(records, "encoding", disable=None):
        record["image"] = _build.webp(record["image"])
    frame = _build.in_order(pd.DataFrame.from_records(records), ["class_name", "source"])

    facts = {
        "name": "clipart",
        "title": "Open Clip Art Library, 96×96",
        "licence": "Public domain (Creative Commons Public Domain Dedication)",
        "source": "Open Clip Art Library 0.18, as packaged by Debian",
        "image": {"height": SIZE, "width": SIZE, "channels": 3},
        "sha256": _build.write_images(frame, args.out),
        "build": "python data/clipart/build.py WORK",
        "packages": PACKAGES,
    }
    _build.write_card(frame, args.out, facts, (HERE / "card.tmpl").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
