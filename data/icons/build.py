"""Build the `icons` set from the icon sets that the npm package `@iconify/json` collects.

    python data/icons/build.py WORK

Needs `npm`, and resvg-py (`pip install resvg-py==0.5.0`). WORK is a folder for the package (104 MB); what is there is
reused. Lists beside this file: `concepts.txt` (the classes, with the names that icon sets give them), `brands.txt`
(names left out wherever they occur) and `left-out.txt` (frequent names that are no classes).
"""

import argparse
import base64
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from scipy import ndimage
from tqdm import tqdm

from fslbook.attributes import pixels

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import _build  # noqa: E402

PACKAGE, VERSION = "@iconify/json", "2.2.535"
SHA512 = "nAV60ACUSHwnsb6fsp+letHlNkrwO4vzBtcC6B4EDHErQQfezk7E3nJdnwJjve6OCfMNO0uVT5Vrgna9/NCmXw=="
SIZE = 48  # pixels per side
FEWEST = 20  # authors per concept
NEAR = 0.06  # two icons of a concept closer than this (see `without_copies`) count as one
BLANK = 0.01  # an icon with less ink is left out: white on white, or a frame of an animation
SEED = "icons 1"
SHARES = {"base": 0.6, "validation": 0.15, "novel": 0.25}  # of concepts, and of authors

#: SPDX names of the licences that are used; all others (share-alike, non-commercial, GPL, MPL) are not.
LICENCES = {
    "Apache-2.0",
    "BSD-3-Clause",
    "CC-BY-3.0",
    "CC-BY-4.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "OFL-1.1",
    "Unlicense",
}
CATEGORIES = {
    "Logos",
    "Flags / Maps",
    "Programming",
}  # left out: trademarks, and near-copies of each other
BRAND_SETS = {"fa-brands", "fa6-brands"}  # filed under another category
#: Authors that are one designer, or carry on the set of one.
SAME = {
    "Google Inc": "Google",
    "Material Design Authors": "Google",
    "MDI Community": "Pictogrammers",
    "Lucide Contributors": "Cole Bemis",
    "Family": "Ben Sperry",
    "REICON": "480 Design",
    "zkreations": "Cole Bemis",
}
#: Words at the end of a name that state a style, and the style where it is certain.
STYLES = {
    "filled": "filled", "fill": "filled", "solid": "filled", "f": "filled",
    "outline": "outline", "outlined": "outline", "line": "outline", "linear": "outline",
    "thin": "outline", "light": "outline", "stroke": "outline", "o": "outline",
    "broken": "outline",  # of one set; of others it belongs to the thing
    "duotone": "duotone", "duo": "duotone", "twotone": "duotone", "tone": "duotone",
    "bold": "", "regular": "", "rounded": "", "round": "", "sharp": "", "remix": "", "flat": "", "print": "", "r": "",
}  # fmt: skip
#: Words at the end of a name that number variants of one picture; the plainest name is taken.
VARIANTS = set("alt variant small new one two three four sm md lg xl 12px 24px".split())


def fetch(work):
    """The package's archive in the folder `work`; ends the program if its digest is another."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / f"{PACKAGE.strip('@').replace('/', '-')}-{VERSION}.tgz"
    if not path.is_file():
        _build.check_installed("npm")
        subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=work, check=True)
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise SystemExit(f"{path}: SHA-512 is {digest}; {SHA512} is needed")
    return path


def read(path):
    """(facts, drawings) of every icon set that is used, by its name in the package."""
    with tarfile.open(path) as archive:
        facts = json.load(archive.extractfile("package/collections.json"))
        chosen = {name: set_facts for name, set_facts in facts.items() if used(name, set_facts)}
        wanted = {f"package/json/{name}.json": name for name in chosen}
        icons = {
            wanted[m.name]: json.load(archive.extractfile(m)) for m in archive if m.name in wanted
        }
    return {name: (chosen[name], icons[name]) for name in sorted(chosen)}


def used(name, facts):
    """Whether a set has a permissive licence and is of no category of trademarks or maps."""
    licence = facts["license"].get("spdx")
    animated = "Contains Animations" in facts.get("tags", [])  # at rest many are unfinished
    return (
        licence in LICENCES
        and facts.get("category") not in CATEGORIES
        and name not in BRAND_SETS
        and not animated
    )


def words(name):
    """The lines of a list beside this file, without comments."""
    lines = (
        line.split("#")[0].strip()
        for line in (HERE / name).read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line]


def concepts():
    """Names of icons by concept: the concept's own first, then its aliases in their order."""
    names, owner = {}, {}
    for line in words("concepts.txt"):
        concept, _, others = line.partition(":")
        names[concept] = [concept.replace(" ", "-"), *others.split()]
        for name in names[concept]:
            if owner.setdefault(name, concept) != concept:
                raise SystemExit(f"concepts.txt: {name} belongs to {owner[name]} and to {concept}")
    return names


def branded(name, brands):
    """Whether a name is or contains a brand; after an equals sign a brand is refused as the whole name only."""
    return any(
        name == brand[1:] if brand.startswith("=") else f"-{brand}-" in f"-{name}-"
        for brand in brands
    ) or name.startswith(("brand-", "logo-", "social-"))


def plain(name, icon_set):
    """(name without words of style and variants, how many words of variants, the style stated or "")."""
    parts, variants, style = name.split("-"), 0, ""
    if icon_set == "ic":  # its styles stand in front
        style = STYLES.get(parts[0], "")
        parts = parts[1:]
    while len(parts) > 1:
        last = parts[-1]
        if last in STYLES and (last != "broken" or icon_set == "solar"):
            style = style or STYLES[last]
            parts = parts[
                : -2 if last == "tone" and parts[-2] in ("two", "duo") and len(parts) > 2 else -1
            ]
        elif last in VARIANTS or last.isdigit():
            variants += (
                1 if not last.isdigit() or int(last) < 10 or last[0] == "0" else 0
            )  # sizes are no variants
            parts = parts[:-1]
        else:
            break
    return "-".join(parts), variants, style


def author_of(facts):
    author = facts["author"]["name"].strip()
    return SAME.get(author, author)


def candidates(sets, brands, left_out):
    """{plain name: {author: [(variants, set, icon, style stated)]}} without what is hidden, a brand or left out."""
    icons_named = defaultdict(lambda: defaultdict(list))
    for name, (facts, drawings) in sets.items():
        for icon, drawing in drawings["icons"].items():
            if not drawing.get("hidden") and f"{name}:{icon}" not in left_out:
                short, variants, style = plain(icon, name)
                if not branded(short, brands):
                    icons_named[short][author_of(facts)].append((variants, name, icon, style))
    return icons_named


def refused(drawings, names, left_out):
    """Frequent names that no list has, so that nobody has looked at them."""
    listed = {alias for aliases in names.values() for alias in aliases} | left_out
    return sorted(n for n, sets in drawings.items() if len(sets) >= FEWEST and n not in listed)


def draw_key(*parts):
    """A number that looks random and depends on its arguments only."""
    return hashlib.sha256("\0".join([SEED, *map(str, parts)]).encode()).hexdigest()


def choose(drawings, names):
    """One icon per concept and author: of the plainest names, a set and a style by hash."""
    chosen = []
    for concept, aliases in names.items():
        for author in sorted({author for alias in aliases for author in drawings.get(alias, {})}):
            alias = next(a for a in aliases if author in drawings.get(a, {}))
            icons = drawings[alias][author]
            icons = [icon for icon in icons if icon[0] == min(i[0] for i in icons)]
            # A style first, then one of its sets and names, so that an author's many sizes of a style count once.
            style = min({icon[3] for icon in icons}, key=lambda s: draw_key(concept, author, s))
            icons = [icon for icon in icons if icon[3] == style]
            _, name, icon, _ = min(icons, key=lambda i: draw_key(concept, i[1], i[2]))
            chosen.append(
                {
                    "class_name": concept,
                    "author": author,
                    "set": name,
                    "icon": icon,
                    "stated": style,
                }
            )
    return chosen


def svg_of(drawings, icon):
    """SVG text of an icon, in the square around its own box."""
    drawing = drawings["icons"][icon]
    left, top, width, height = (
        drawing.get(key, drawings.get(key, usual))
        for key, usual in zip(("left", "top", "width", "height"), (0, 0, 16, 16))
    )
    side = max(width, height)
    box = f"{left - (side - width) / 2:g} {top - (side - height) / 2:g} {side:g} {side:g}"
    head = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" color="black"'
    return f'<svg {head} width="{SIZE}" height="{SIZE}" viewBox="{box}">{drawing["body"]}</svg>'


def render(svg):
    """(SIZE, SIZE, 3) uint8 drawing on white, or None where resvg cannot draw it or there is hardly any ink."""
    import resvg_py  # a dependency of the build alone; the lists and the shipped files are tested without it

    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg, background="white", width=SIZE, height=SIZE, skip_system_fonts=True
        )
    except ValueError:
        return None
    image = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
    return image if ink(image).mean() >= BLANK else None


def ink(image):
    """(SIZE, SIZE) numbers from 0 to 1: how far a pixel is from white."""
    return 1 - image.min(axis=2) / 255


def without_copies(records):
    """Leave out icons drawn alike: in two concepts all of them, in one concept all but the first author's.

    The distance within a concept is the squared difference of two inks over the mean of their squares.
    """
    shapes = defaultdict(set)
    for record in records:
        shapes[record["image"].tobytes()].add(record["class_name"])
    counts = Counter()
    distinct, of_class = [], defaultdict(list)
    for record in sorted(records, key=lambda r: (r["class_name"], draw_key(r["author"]))):
        if len(shapes[record["image"].tobytes()]) > 1:
            counts["the same picture in two concepts"] += 1
            continue
        shape = ink(record["image"]).ravel()
        others = of_class[record["class_name"]]
        gaps = [
            ((shape - earlier) ** 2).sum() / (0.5 * ((shape**2).sum() + (earlier**2).sum()))
            for earlier in others
        ]
        if gaps and min(gaps) < NEAR:
            counts["copies" if min(gaps) == 0 else "near-copies"] += 1
            continue
        others.append(shape)
        distinct.append(record)
    return distinct, counts


def style_of(record, facts, drawings, form):
    """(style, where it is known from): filled, outline, duotone or colour."""
    body = drawings["icons"][record["icon"]]["body"]
    spread = np.ptp(record["image"].astype(int), axis=2)
    if (spread > 40).sum() > 0.1 * (ink(record["image"]) > 0.2).sum():
        return "colour", "pixels"
    if record["stated"]:
        return record["stated"], "name"
    titles = drawings.get("suffixes") or {}
    title = next(
        (t for key, t in titles.items() if key and record["icon"].endswith(f"-{key}")),
        titles.get("", ""),
    )
    for text in (title, facts["name"]):
        if stated := next(
            (STYLES[w] for w in text.lower().replace("-", " ").split() if STYLES.get(w)), ""
        ):
            return stated, "set"
    if re.search(r'opacity="?0?\.', body):
        return "duotone", "drawing"
    if "stroke" in body and not re.search(r'fill="(?!none)', body):
        return "outline", "drawing"
    return {"solid": "filled"}.get(form, "outline"), "pixels"


def shape_of(image):
    """Words for ink, roundness and symmetry of a drawing."""
    dark = ink(image)
    share = dark.mean()
    filled = ndimage.binary_fill_holes(dark > 0.3)
    y, x = np.nonzero(filled if filled.any() else dark > 0)
    reach = np.hypot(y - y.mean(), x - x.mean()).max() + 0.5
    disc = len(y) / (np.pi * reach**2)  # 1 for a disc, 0.64 for a square
    power = (dark**2).sum()
    box = dark[min(y) : max(y) + 1, min(x) : max(x) + 1]
    symmetric = [
        ((box - turned) ** 2).sum() / (2 * power) < 0.1 for turned in (box[:, ::-1], box[::-1])
    ]
    return {
        "ink": "light" if share < 0.12 else "heavy" if share > 0.25 else "medium",
        "roundness": "round" if disc > 0.75 else "compact" if disc > 0.5 else "spread",
        "symmetry": "; ".join(w for w, s in zip(("left-right", "top-bottom"), symmetric) if s)
        or "none",
    }


def split(names):
    """A split for each name, in the shares of SHARES, by hash."""
    order = sorted(names, key=lambda name: draw_key("split", name))
    ends = np.round(np.cumsum(list(SHARES.values())) * len(order)).astype(int)
    at = np.searchsorted(ends, np.arange(len(order)), side="right")
    return {name: list(SHARES)[i] for name, i in zip(order, at)}


def caption(row):
    """One phrase of the attributes and the concept, worded so that a parser takes each as a noun or an adjective."""
    style = {"filled": "solid", "outline": "outlined", "colour": "colourful"}.get(
        row["style"], row["style"]
    )
    colour = row["colour"].split("; ")[0] or "black"
    article = "an" if style[0] in "aeiou" else "a"
    ink, shape, concept = row["ink"], row["roundness"], row["class_name"]
    return f"{article} {style} icon with {ink} and {colour} ink and a {shape} shape, of {concept}"


def build(sets, names, brands, left_out):
    """(rows with decoded images, counts of what was left out) for a collection of icon sets."""
    drawings = candidates(sets, brands, left_out)
    if unknown := refused(drawings, names, left_out):
        raise SystemExit(
            f"no list has these names of {FEWEST} authors or more: {', '.join(unknown)}"
        )
    records, counts = [], Counter()
    for record in tqdm(choose(drawings, names), "drawing", disable=None):
        image = render(svg_of(sets[record["set"]][1], record["icon"]))
        if image is None:
            counts["not drawn, or blank"] += 1
        else:
            records.append({**record, "image": image})
    records, copies = without_copies(records)
    return records, counts + copies


def described(records, sets):
    """The rows of the table, with facts and attributes, sorted."""
    clues = pixels.look(np.stack([r["image"] for r in records]))
    of_class, of_author = (split({r[key] for r in records}) for key in ("class_name", "author"))
    rows = []
    for record, (form, colour) in zip(
        records, clues[["form", "colour"]].itertuples(index=False, name=None)
    ):
        facts, drawings = sets[record["set"]]
        style, certain = style_of(record, facts, drawings, form)
        row = {
            "image": _build.webp(record["image"]),
            "class_name": record["class_name"],
            "split": of_class[record["class_name"]],
            "domain": "icons",
            "author": record["author"],
            "designers": of_author[record["author"]],
            "set": record["set"],
            "icon": record["icon"],
            "style": style,
            "style_from": certain,
            "grid": str(facts.get("height") or ""),
            "palette": "several colours" if facts.get("palette") else "one colour",
            **shape_of(record["image"]),
            "colour": colour,
            "licence": facts["license"]["spdx"],
        }
        rows.append({**row, "caption": caption(row)})
    return _build.in_order(pd.DataFrame.from_records(rows), ["class_name", "author"])


def write_sets(frame, sets, folder):
    """Write `sets.csv`, the attribution of each icon set; returns the same as a Markdown table."""
    shipped = frame["set"].value_counts()
    designer = frame.drop_duplicates("set").set_index("set")["author"]
    rows = []
    for name in sorted(shipped.index):
        facts = sets[name][0]
        rows.append(
            {
                "set": name,
                "title": facts["name"],
                "author": facts["author"]["name"].strip(),
                "source": facts["author"].get("url", ""),
                "licence": facts["license"]["spdx"],
                "licence_text": facts["license"].get("url", ""),
                "designer": designer[name],
                "icons": shipped[name],
                "changes": "rasterised, modified",
            }
        )
    table = pd.DataFrame(rows)
    temporary = folder / "sets.csv.partial"
    table.to_csv(temporary, index=False, lineterminator="\n")
    temporary.rename(folder / "sets.csv")
    lines = ["| set | author | licence | icons |", "| --- | --- | --- | ---: |"]
    return "\n".join(
        lines + [f"| {r['title']} | {r['author']} | {r['licence']} | {r['icons']} |" for r in rows]
    )


def agreement(frame):
    """How many of the icons in `labels.csv`, and of each style there, have the style that was seen."""
    labels = pd.read_csv(HERE / "labels.csv", comment="#")
    merged = labels.merge(frame, on=["class_name", "set", "icon"], how="left", validate="1:1")
    if lost := merged.loc[merged["style"].isna(), "icon"].tolist():
        raise SystemExit(f"labels.csv has icons that do not ship: {', '.join(lost)}")
    agreed = merged["style"] == merged["seen"]
    by = agreed.groupby(merged["seen"]).agg(["sum", "size"])
    return "\n".join(
        ["| style by eye | icons | the same |", "| --- | ---: | ---: |"]
        + [f"| {style} | {row['size']} | {row['sum']} |" for style, row in by.iterrows()]
        + [f"| **all** | {len(agreed)} | {agreed.sum()} ({agreed.mean():.1%}) |"]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("work", type=Path, help="folder for the package")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the result")
    args = parser.parse_args()

    _build.check_installed("resvg_py")
    sets = read(fetch(args.work))
    lists = concepts(), words("brands.txt"), set(words("left-out.txt"))
    records, counts = build(sets, *lists)
    few = {name: n for name, n in Counter(r["class_name"] for r in records).items() if n < FEWEST}
    if few:
        raise SystemExit(f"fewer than {FEWEST} authors: {few}")
    frame = described(records, sets)

    facts = {
        "name": "icons",
        "title": "Icons of many designers, 48×48",
        "licence": "the icon sets' own permissive licences, listed by set in sets.csv",
        "source": "icon sets collected by Iconify",
        "image": {"height": SIZE, "width": SIZE, "channels": 3},
        "sha256": _build.write_images(frame, args.out),
        "build": "python data/icons/build.py WORK",
        "packages": {PACKAGE: VERSION},
    }
    text = (HERE / "card.tmpl").read_text(encoding="utf-8")
    text = text.replace("{sets}", write_sets(frame, sets, args.out)).replace(
        "{agreement}", agreement(frame)
    )
    text = text.replace(
        "{left_out}", "; ".join(f"{reason}: {n:,}" for reason, n in sorted(counts.items()))
    )
    text = text.replace("{authors}", str(frame["author"].nunique()))
    for column, place in {
        "style": "style",
        "licence": "licence_counts",
        "designers": "designers",
    }.items():
        lines = [f"| {value} | {n:,} |" for value, n in frame[column].value_counts().items()]
        text = text.replace(f"{{{place}}}", "\n".join(lines))
    _build.write_card(frame, args.out, facts, text)


if __name__ == "__main__":
    main()
