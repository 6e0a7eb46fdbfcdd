#!/usr/bin/env python3
"""Build the `glyphs` data set: characters of many scripts, drawn by many open fonts.

    python data/glyphs/build.py WORK

fetches the Debian packages pinned in packages.txt into WORK (nothing is
installed), draws every letter and digit that enough fonts hold, drops wrong,
doubtful and near-equal pictures, and writes images.parquet, fonts.csv and
card.yml beside this script. The same packages give the same bytes. A second
run in the same WORK reuses the downloads and the drawings.

Needs Debian's `apt-get` and `dpkg`, and Python with Pillow, NumPy, PyArrow,
fontTools and tqdm.
"""

from __future__ import annotations

import argparse
import csv
import functools
import hashlib
import io
import json
import logging
import multiprocessing
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fontTools import unicodedata as scripts
from fontTools.ttLib import TTCollection, TTFont
from PIL import Image, ImageDraw, ImageFont
from tqdm import tqdm

logging.getLogger("fontTools").setLevel(logging.CRITICAL)  # old fonts with odd dates
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import _build  # noqa: E402

# ---------------------------------------------------------------- what is built

SIZE = 28  # side of an image, pixels
LEVELS = 16  # grey levels
MARGIN = 1  # pixels kept white on every side
OVERSAMPLE = 4  # glyphs are drawn this much larger, then averaged down
SEED = "glyphs-1"  # decides which images stay where a class has more than its cap
DRAWN_PER_FAMILY = 8  # fonts of one family that are drawn at all
PER_FAMILY = 4  # images of one family in one class, at most
NEAR = 0.06  # two images of a class closer than this (see `thin`) count as one
TWIN = 0.06  # two characters of one font closer than this look the same
TWIN_SHARE = 0.4  # a character that has a twin in this share of its fonts is left out
LEAST = 20  # images a class needs

# Script code -> (domain, split, cap per class, most classes, least images per class).
# The order matters: of two characters that look the same, the earlier script keeps its own.
DOMAINS = {
    "Latn": ("latin", "novel", 500, 142, 300),
    "Cyrl": ("cyrillic", "novel", 320, 60, 200),
    "Hebr": ("hebrew", "novel", 130, 40, 60),
    "Grek": ("greek", "base", 70, 70, LEAST),
    "Geor": ("georgian", "base", 70, 60, LEAST),
    "Arab": ("arabic", "base", 70, 60, LEAST),
    "Deva": ("devanagari", "base", 70, 60, LEAST),
    "Kana": ("katakana", "base", 70, 60, LEAST),
    "Hira": ("hiragana", "base", 70, 60, LEAST),
    "Mymr": ("myanmar", "base", 70, 60, LEAST),
    "Khmr": ("khmer", "base", 70, 60, LEAST),
    "Telu": ("telugu", "base", 70, 60, LEAST),
    "Thai": ("thai", "validation", 50, 50, LEAST),
    "Armn": ("armenian", "validation", 60, 60, LEAST),
    "Cher": ("cherokee", "validation", 60, 60, LEAST),
}
# Latin letters are kept to those that this many fonts hold; others to LEAST fonts.
COVERAGE = {"Latn": 600, "Cyrl": 200, "Grek": 150, "Arab": 60}

BASIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

# Thai AM hangs on the letter before it. The old Georgian alphabets are drawn in two unlike
# ways, as themselves or as the modern letters, and the new capitals are the modern letters again.
LEFT_OUT = {0x0E33, *range(0x10A0, 0x10D0), *range(0x1C90, 0x1CC0), *range(0x2D00, 0x2D30)}


@functools.cache
def script_of(code: int) -> str | None:
    """The script a character is filed under, or None where it is not used."""
    char = chr(code)
    if unicodedata.category(char) not in ("Lu", "Ll", "Lo", "Nd") or code in LEFT_OUT:
        return None
    if unicodedata.normalize("NFKC", char) != char:  # compatibility forms
        return None
    if char in BASIC:
        return "Latn"
    script = scripts.script(char)
    if script in ("Kana", "Hira") and "SMALL" in unicodedata.name(char, ""):
        return None
    return script if script in DOMAINS else None


def tell(text: str) -> None:
    print(text, flush=True)


def draw_key(*parts: object) -> int:
    """A number that looks random and depends on its arguments only."""
    text = "\0".join([SEED, *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


# ---------------------------------------------------------------- packages


def fetch(packages: list[tuple[str, str]], work: Path) -> dict[str, Path]:
    """Download and unpack the packages; returns the folder of each."""
    debs, roots = work / "debs", work / "root"
    debs.mkdir(parents=True, exist_ok=True)
    roots.mkdir(exist_ok=True)

    def deb(name: str, version: str) -> Path | None:
        packages = sorted(debs.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))
        return packages[0] if packages else None

    missing = [f"{n}={v}" for n, v in packages if not deb(n, v)]
    _build.check_installed("dpkg", "dpkg-deb", *(["apt-get"] if missing else []))
    for start in tqdm(range(0, len(missing), 20), desc="download", disable=not missing):
        subprocess.run(
            ["apt-get", "download", "-q", *missing[start : start + 20]],
            cwd=debs,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    folders = {}
    for name, version in tqdm(packages, desc="unpack"):
        folder = roots / f"{name}_{version.replace(':', '%3a')}"
        if not folder.exists():
            new = folder.with_suffix(".new")
            subprocess.run(["dpkg", "-x", str(deb(name, version)), str(new)], check=True)
            new.rename(folder)
        folders[name] = folder
    return folders


COMMON = [  # for copyright files that are not machine-readable
    ("OFL-1.1", r"SIL open font licen[sc]e"),
    ("Apache-2.0", r"Apache License,? Version 2"),
    ("LGPL", r"Lesser General Public|Library General Public"),
    ("GPL", r"GNU General Public"),
    ("GUST", r"GUST Font"),
    ("public-domain", r"public domain"),
]


def licences(name: str, folders: dict[str, Path]) -> str:
    """Short licence names of a package's files, packaging aside."""
    path = folders[name] / "usr/share/doc" / name
    if path.is_symlink():  # the documentation lies in a sister package
        target = os.path.basename(os.readlink(path))
        if target not in folders:
            return "see package"
        path = folders[target] / "usr/share/doc" / target
    path = path / "copyright"
    if not path.is_file():
        return "see package"
    text = path.read_text(encoding="utf-8", errors="replace")
    names = []
    for stanza in re.split(r"\n\s*\n", text):
        files = re.search(r"^Files:\s*(.*)$", stanza, re.M)
        licence = re.search(r"^License:[ \t]*(\S.*)$", stanza, re.M)
        if files and licence and not files.group(1).strip().startswith("debian/"):
            names.append(re.sub(r"\s+", " ", licence.group(1)).strip())
    if not names:
        names = [short for short, pattern in COMMON if re.search(pattern, text, re.I)]
        names = [f"{n} (found by search)" for n in names if n != "GPL" or len(names) == 1]
    return "; ".join(dict.fromkeys(names)) or "see package"


# ---------------------------------------------------------------- facts of a font

WEIGHTS = [  # words in a font's style name, first match wins
    (r"(extra|ultra)[ -]?light", 200), (r"(semi|demi)[ -]?light", 300), (r"thin|hairline", 100),
    (r"(extra|ultra)[ -]?bold", 800), (r"(semi|demi)[ -]?bold|demi\b", 600),
    (r"black|heavy|ultra\b|fat\b", 900), (r"medium", 500), (r"bold", 700), (r"light", 300),
]  # fmt: skip
STYLE_WORDS = re.compile(
    r"[ _-]+(thin|hairline|(extra|ultra|semi|demi)?[ -]?(light|bold|cond|condensed|expanded)|"
    r"light|regular|roman|book|medium|demi|black|heavy|ultra|italic|oblique|slanted|"
    r"condensed|cond|narrow|extended|expanded|wide|it|bd|lt)$",
    re.I,
)
NAMED_STYLES = [
    (r"mono\b|monospace|typewriter|courier|terminal|console|\bcode\b|fixed", "mono"),
    (r"hand\b|handwrit|script|brush|cursive|kalli|calli|\bpen\b|marker|chancery", "handwritten"),
    (r"sans|gothic|grotes|helvet|arial|heros|adventor", "sans"),
    (
        r"slab|serif|mincho|antiqua|garamond|didot|bodoni|baskerville|times|roman\b|termes|pagella|bonum|schola|century"
        r"|song|ming\b",
        "serif",
    ),
    (r"blackletter|fraktur|shadow|outline|stencil|ornament|display|decorat", "display"),
]  # fmt: skip


def name_of(font: TTFont, *ids: int) -> str:
    for i in ids:
        try:
            text = font["name"].getDebugName(i)
        except Exception:
            text = None
        if text and text.strip("\0 ."):
            return re.sub(r"\s+", " ", text.replace("\0", "")).strip()
    return ""


def style_of(family: str, font: TTFont, os2) -> str:
    """serif, sans, mono, handwritten, display or unknown, from what the font says of itself."""
    post = font.get("post", None)
    if post is not None and getattr(post, "isFixedPitch", 0):
        return "mono"
    for pattern, style in NAMED_STYLES:
        if re.search(pattern, family, re.I):
            return style
    if os2 is None:
        return "unknown"
    kind = os2.sFamilyClass >> 8
    if kind in (1, 2, 3, 4, 5, 7):
        return "serif"
    if kind in (8, 9, 10):
        return {8: "sans", 9: "display", 10: "handwritten"}[kind]
    panose = os2.panose
    if panose.bFamilyType == 3:
        return "handwritten"
    if panose.bFamilyType == 4:
        return "display"
    if panose.bFamilyType == 2:
        if panose.bProportion == 9:
            return "mono"
        if 2 <= panose.bSerifStyle <= 10:
            return "serif"
        if 11 <= panose.bSerifStyle <= 13 or panose.bSerifStyle == 15:
            return "sans"
    return "unknown"


DESCRIBED_STYLES = [  # words of a package's one-line description
    (r"monospace|fixed[- ]width|typewriter|terminal", "mono"),
    (r"sans[- ]?serif|grotesque|\bsans\b|gothic font|din font", "sans"),
    (r"handwrit|handwritten|brush|cursive|calligraph|longhand", "handwritten"),
    (r"blackletter|black letter|decorative|display|titling|signage", "display"),
    (r"\bserif|old style|didone|slab", "serif"),
]


def describe(faces: list[dict], work: Path) -> None:
    """Where a font does not say its style, take it from its package's description."""
    for package in sorted({f["package"] for f in faces if f["style"] == "unknown"}):
        deb = sorted((work / "debs").glob(f"{package}_*.deb"))[0]
        text = subprocess.run(
            ["dpkg-deb", "-f", str(deb), "Description"], check=True, capture_output=True, text=True
        ).stdout
        line = text.split("\n")[0]
        style = next(
            (s for pattern, s in DESCRIBED_STYLES if re.search(pattern, line, re.I)), "unknown"
        )
        for face in faces:
            if face["package"] == package and face["style"] == "unknown":
                face["style"] = style


SKIP_FILES = re.compile(
    r"icon|emoji|symbol|dingbat|barcode|ornament|awesome|math|last ?resort", re.I
)


def scan_face(package: str, root: str, file: str, index: int, many: bool) -> dict | None:
    """What one face says of itself, and the characters of ours that it holds."""
    try:
        font = TTFont(os.path.join(root, file), fontNumber=index, lazy=True)
        if "glyf" not in font and "CFF " not in font and "CFF2" not in font:
            return None  # bitmaps only
        if {"CBDT", "sbix", "COLR", "SVG "} & set(font.keys()):
            return None  # colour
        cmap = font.getBestCmap() or {}
        glyphs = {c: g for c, g in cmap.items() if g != ".notdef" and script_of(c)}
        os2 = font.get("OS/2", None)
        head, post = font["head"], font.get("post", None)
        family = name_of(font, 16, 1, 4) or Path(file).stem
        style_name = name_of(font, 17, 2)
        full = f"{name_of(font, 4)} {style_name} {Path(file).stem}"
        if SKIP_FILES.search(family) or SKIP_FILES.search(Path(file).name):
            return None
        while STYLE_WORDS.search(family):
            family = STYLE_WORDS.sub("", family)
        weight = os2.usWeightClass if os2 is not None else 400
        weight = weight * 100 if 1 <= weight <= 9 else weight
        said = next((w for pattern, w in WEIGHTS if re.search(pattern, style_name, re.I)), None)
        if weight in (0, 400, 500) and said:
            weight = said
        if head.macStyle & 1 or (os2 is not None and os2.fsSelection & 32):
            weight = max(weight, 600)
        weight = int(min(900, max(100, weight or 400)))
        width = os2.usWidthClass if os2 is not None else 5
        italic = (
            head.macStyle & 2
            or (os2 is not None and os2.fsSelection & 0x201)
            or (post is not None and abs(post.italicAngle) > 1)
            or re.search(r"italic|oblique|slanted", full, re.I)
        )
        return {
            "font": f"{package}/{Path(file).name}" + (f"#{index}" if many else ""),
            "package": package, "path": os.path.join(root, file), "index": index,
            "family": family, "weight": weight, "width": int(width) if 1 <= width <= 9 else 5,
            "slant": "italic" if italic else "upright",
            "style": style_of(family, font, os2),
            "chars": sorted(glyphs),
        }  # fmt: skip
    except Exception:
        return None  # a file that is no sound font


def scan_file(job: tuple[str, str, str]) -> list[dict]:
    package, root, file = job
    count = 1
    if file.lower().endswith((".ttc", ".otc")):
        try:
            count = len(TTCollection(os.path.join(root, file), lazy=True).fonts)
        except Exception:
            return []
    faces = [scan_face(package, root, file, i, count > 1) for i in range(count)]
    return [f for f in faces if f]


def scan(folders: dict[str, Path], pool) -> list[dict]:
    jobs = []
    for package, root in folders.items():
        for path in sorted(root.rglob("*")):
            if path.suffix.lower() in (".ttf", ".otf", ".ttc", ".otc") and not path.is_symlink():
                jobs.append((package, str(root), str(path.relative_to(root))))
    faces, fonts = [], set()
    for file_faces in tqdm(pool.imap(scan_file, jobs, chunksize=8), total=len(jobs), desc="scan"):
        for face in file_faces:
            if face["chars"] and face["font"] not in fonts:
                fonts.add(face["font"])
                faces.append(face)
    return few_per_family(faces)


def plainness(face: dict) -> tuple:
    """Sorts the fonts of a family: regular upright normal first."""
    odd = (
        abs(face["weight"] - 400) + 250 * (face["slant"] == "italic") + 60 * abs(face["width"] - 5)
    )
    return odd, face["font"]


def few_per_family(faces: list[dict]) -> list[dict]:
    """Of a large family, the plainest font and those whose facts differ most from what is kept."""
    families = defaultdict(list)
    for face in sorted(faces, key=plainness):
        families[face["family"], len(face["chars"]) < 200].append(face)
    ordered = []
    for members in families.values():
        at = np.array(
            [(f["weight"] / 300, 2 * (f["slant"] == "italic"), f["width"] / 2) for f in members]
        )
        order = spread(at, list(range(len(members))), DRAWN_PER_FAMILY)
        ordered += [members[i] for i in order]
    return sorted(ordered, key=lambda f: f["font"])


def spread(points: np.ndarray, rows: list[int], count: int) -> list[int]:
    """The first row, then again and again the one farthest from all that are chosen."""
    if len(rows) <= count:
        return rows
    points = points[rows].astype(np.float32)
    chosen = [0]
    distances = ((points - points[0]) ** 2).sum(1)
    while len(chosen) < count:
        distances[chosen] = -1
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, ((points - points[chosen[-1]]) ** 2).sum(1))
    return [rows[i] for i in chosen]


# ---------------------------------------------------------------- drawing

DRAWING = 1  # raise this when the drawing code changes, so that stored drawings are not reused
REFERENCE = 256  # size at which glyphs are measured


def rank(code: int) -> tuple:
    """The order in which look-alikes keep their place."""
    char = chr(code)
    script = list(DOMAINS).index(script_of(code))
    return (script, char not in BASIC, unicodedata.category(char) == "Nd", code)


class Pen:
    """One font at the one size that a script gets in it."""

    def __init__(self, face: dict, boxes: dict[int, tuple], core: list[int]):
        box = np.array([boxes[c] for c in core], float)
        top, bottom = np.quantile(-box[:, 1], 0.98), max(0.0, np.quantile(box[:, 3], 0.98))
        wide = np.quantile(box[:, 2] - box[:, 0], 0.98)
        room = SIZE - 2 * MARGIN
        self.scale = min((room - 1) / max(top + bottom, 1), room / max(wide, 1))
        self.baseline = (SIZE + (top - bottom) * self.scale) / 2
        self.font = ImageFont.truetype(
            face["path"], self.scale * REFERENCE * OVERSAMPLE, face["index"],
            layout_engine=ImageFont.Layout.BASIC,
        )  # fmt: skip

    def draw(self, char: str, box: tuple) -> np.ndarray | None:
        """The glyph as (28, 28) ink levels 0 to 15, or None where it does not fit."""
        left, top, right, bottom = (v * self.scale for v in box)
        room, slack = SIZE - 2 * MARGIN, 0.25
        if right - left > room + slack or bottom - top > room + slack:
            return None
        y = self.baseline
        y += max(0.0, MARGIN - (y + top)) - max(0.0, y + bottom - (SIZE - MARGIN))
        x = (SIZE - left - right) / 2
        big = Image.new("L", (SIZE * OVERSAMPLE,) * 2, 0)
        ImageDraw.Draw(big).text(
            (x * OVERSAMPLE, y * OVERSAMPLE), char, fill=255, font=self.font, anchor="ls"
        )
        small = np.asarray(big.reduce(OVERSAMPLE), dtype=np.float32)
        return np.rint(small * ((LEVELS - 1) / 255)).astype(np.uint8)


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """L1 distance of two drawings as a share of the darker one's ink."""
    a, b = a.astype(np.int32), b.astype(np.int32)
    return float(np.abs(a - b).sum() / max(a.sum(), b.sum(), 1))


def pack(images: np.ndarray) -> np.ndarray:
    flat = images.reshape(len(images), -1)
    return (flat[:, 0::2] << 4 | flat[:, 1::2]).astype(np.uint8)


def unpack(packed: np.ndarray) -> np.ndarray:
    """(n, 392) bytes -> (n, 784) ink levels."""
    out = np.empty((len(packed), packed.shape[1] * 2), np.uint8)
    out[:, 0::2], out[:, 1::2] = packed >> 4, packed & 15
    return out


def render_face(job: tuple[dict, list[int]]) -> tuple[list[int], np.ndarray, list[tuple[int, int]]]:
    """All drawings of one face, and its pairs of characters that look the same."""
    face, codes = job
    try:
        probe = ImageFont.truetype(
            face["path"], REFERENCE, face["index"], layout_engine=ImageFont.Layout.BASIC
        )
        boxes = {}
        for code in codes:
            box = probe.getbbox(chr(code), anchor="ls")
            if box[2] > box[0] and box[3] > box[1]:
                boxes[code] = box
        by_script = defaultdict(list)
        for code in boxes:
            by_script[script_of(code)].append(code)
        pictures_of, pens = {}, {}
        for script, members in by_script.items():
            core = [c for c in members if chr(c) in BASIC] if script == "Latn" else members
            if len(core) < 10:
                continue
            pen = pens[script] = Pen(face, boxes, core)
            missing = pen.draw("\ufffe", probe.getbbox("\ufffe", anchor="ls"))
            pictures = {}
            for code in members:
                picture = pen.draw(chr(code), boxes[code])
                if picture is not None:
                    pictures[code] = picture
            shared = Counter(p.tobytes() for p in pictures.values())
            heights = [boxes[c][3] - boxes[c][1] for c in core]
            if np.median(heights) * pen.scale < 7:
                continue  # a font of specks
            for code, picture in pictures.items():
                ink = picture.mean() / (LEVELS - 1)
                if shared[picture.tobytes()] > 3 or ink < 0.008 or ink > 0.72:
                    continue  # a placeholder, a speck or a box
                if missing is not None and missing.any() and apart(picture, missing) < 0.02:
                    continue
                pictures_of[code] = picture
        order = sorted(pictures_of, key=rank)
        twins = []
        if order:
            table = np.array([boxes[c] for c in order], float)
            shape = np.stack([table[:, 2] - table[:, 0], table[:, 1], table[:, 3]], 1)
            for i, a in enumerate(order):
                close = np.flatnonzero(np.abs(shape[i + 1 :] - shape[i]).max(1) <= 2) + i + 1
                for b in (order[j] for j in close):
                    second = pictures_of[b]
                    if script_of(a) != script_of(b):
                        second = pens[script_of(a)].draw(chr(b), boxes[b])
                    if second is not None and apart(pictures_of[a], second) < TWIN:
                        twins.append((a, b))
        images = np.array([pictures_of[c] for c in order], np.uint8).reshape(len(order), SIZE, SIZE)
        return order, pack(images), twins
    except Exception:
        return [], np.zeros((0, SIZE * SIZE // 2), np.uint8), []


def candidates(faces: list[dict]) -> set[int]:
    count = Counter(c for face in faces for c in face["chars"])
    return {c for c, n in count.items() if n >= COVERAGE.get(script_of(c), LEAST)}


def render(faces: list[dict], work: Path, pool) -> dict:
    """Draw everything, or read back what an earlier run drew."""
    wanted = candidates(faces)
    key = hashlib.sha256(
        json.dumps([
            DRAWING, SIZE, LEVELS, MARGIN, OVERSAMPLE, TWIN, sorted(wanted),
            [(f["font"], Path(f["path"]).parts[-1]) for f in faces],
        ]).encode()
    ).hexdigest()  # fmt: skip
    store = work / f"drawings-{key[:16]}.npz"
    if not store.exists():
        jobs = [(face, [c for c in face["chars"] if c in wanted]) for face in faces]
        font, code, images, twins = [], [], [], []
        results = pool.imap(render_face, jobs, chunksize=4)
        for i, (order, packed, pairs) in enumerate(tqdm(results, total=len(jobs), desc="draw")):
            font += [i] * len(order)
            code += order
            images.append(packed)
            twins += [(i, a, b) for a, b in pairs]
        new = store.with_suffix(".new.npz")
        np.savez(
            new, font=np.array(font, np.int32), code=np.array(code, np.int32),
            images=np.concatenate(images), twins=np.array(twins, np.int32).reshape(-1, 3),
        )  # fmt: skip
        new.rename(store)
    with np.load(store) as data:
        return {k: data[k] for k in data.files}


# ---------------------------------------------------------------- choosing


def recognised(x: np.ndarray, label: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Which images a linear discriminant, fitted on the other half of the families, names rightly."""
    right = np.zeros(len(x), bool)
    for half in (0, 1):
        fit, test = group % 2 != half, group % 2 == half
        classes, y = np.unique(label[fit], return_inverse=True)
        if not len(classes) or not test.any():
            continue
        xf = x[fit]
        n = np.bincount(y)
        mean = np.stack([np.bincount(y, xf[:, j], len(classes)) for j in range(x.shape[1])], 1)
        mean /= n[:, None]
        cov = (xf.T @ xf - (mean * n[:, None]).T @ mean) / len(xf)
        cov += np.eye(len(cov)) * (0.05 * np.trace(cov) / len(cov))
        weight = np.linalg.solve(cov, mean.T)
        score = x[test] @ weight - 0.5 * (mean.T * weight).sum(0)
        right[test] = classes[score.argmax(1)] == label[test]
    return right


def pooled(levels: np.ndarray) -> np.ndarray:
    """(n, 784) ink levels -> (n, 196) floats, 2 x 2 averages."""
    half = SIZE // 2
    x = levels.reshape(-1, half, 2, half, 2).astype(np.float32).mean((2, 4))
    return x.reshape(len(x), -1).astype(np.float64) / (LEVELS - 1)


LOOKALIKE = 0.965  # cosine between two characters' mean pictures from which they count as the same
COVERED = 0.6  # share of a plain letter's ink that its accented form must hold
EXPLAINED = 0.5  # share of an accented Latin letter's ink that its plain letter must explain
ODD = 0.2  # a font whose share of odd accented Latin letters is higher has none beyond ASCII
UNREADABLE = 0.2  # a font whose share of recognised letters is lower is left out of that script


def unreadable(
    faces: list[dict], font: np.ndarray, code: np.ndarray, packed: np.ndarray
) -> np.ndarray:
    """Images of fonts that do not draw the script's letters under the script's code points."""
    group = np.array([draw_key(f["family"]) % 2 for f in faces])
    script = np.array([script_of(int(c)) for c in code])
    bad = np.zeros(len(code), bool)
    for name in tqdm(DOMAINS, desc="screen"):
        rows = np.flatnonzero(script == name)
        label = code[rows]
        if name == "Latn":  # small capitals are no error: case does not count here
            keep = np.array([chr(c) in BASIC for c in label])
            rows = rows[keep]
            label = np.array([ord(chr(c).upper()) for c in code[rows]])
        if not len(rows):
            continue
        right = recognised(pooled(unpack(packed[rows])), label, group[font[rows]])
        share = np.bincount(font[rows], right, len(faces)) / np.maximum(
            np.bincount(font[rows], minlength=len(faces)), 1
        )
        lost = np.flatnonzero(
            (share < UNREADABLE) & (np.bincount(font[rows], minlength=len(faces)) > 0)
        )
        bad |= (script == name) & np.isin(font, lost)
    return bad


def without_base(font: np.ndarray, code: np.ndarray, packed: np.ndarray) -> np.ndarray:
    """Accented letters that do not hold their own font's plain letter.

    Some old fonts keep other scripts' letters in the places of accented Latin ones. The plain
    letter is slid under the accented one; the share of its ink that is covered counts. A Б holds
    an A well enough, and a Я in the place of ß has no plain letter: so such a font is known by its
    other letters, and loses all Latin ones beyond ASCII.
    """
    at = {(f, c): i for i, (f, c) in enumerate(zip(font.tolist(), code.tolist()))}
    bad, latin = np.zeros(len(code), bool), np.zeros(len(code), bool)
    for c in tqdm(np.unique(code).tolist(), desc="accents"):
        parts = unicodedata.decomposition(chr(c)).split()
        base = ord(unicodedata.normalize("NFD", chr(c))[0])
        if script_of(c) not in ("Latn", "Cyrl", "Grek") or not parts or parts[0].startswith("<"):
            continue
        rows = np.array([i for i in np.flatnonzero(code == c) if (int(font[i]), base) in at], int)
        if not len(rows):
            continue
        base_images = unpack(packed[[at[int(font[i]), base] for i in rows]]).reshape(-1, SIZE, SIZE)
        accented_images = unpack(packed[rows]).reshape(-1, SIZE, SIZE)
        reach = 8
        padded = np.pad(base_images, ((0, 0), (reach, reach), (reach, reach)))
        best = np.zeros(len(rows))
        for dy in range(-3, reach + 1):
            for dx in range(-4, 5):
                top, left = reach - dy, reach - dx
                moved = padded[:, top : top + SIZE, left : left + SIZE]
                best = np.maximum(
                    best, np.minimum(moved, accented_images).sum((1, 2), dtype=np.int32)
                )
        bad[rows] = best < COVERED * base_images.sum((1, 2), dtype=np.int32)
        if script_of(c) == "Latn":
            latin[rows] = True
            bad[rows] |= best < EXPLAINED * accented_images.sum((1, 2), dtype=np.int32)
    of_font = np.bincount(font[latin], minlength=font.max() + 1)
    odd = np.bincount(font[latin & bad], minlength=font.max() + 1) > ODD * of_font
    accented_latin = np.array([script_of(int(c)) == "Latn" and c > 127 for c in code])
    return bad | (accented_latin & odd[font])


def without_alphabet(font: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Latin letters of fonts that hold few of them: often another script's under Latin code points."""
    letters = np.isin(code, [ord(c) for c in BASIC if c.isalpha()])
    count = np.bincount(font[letters], minlength=font.max() + 1)
    latin = np.array([script_of(int(c)) == "Latn" and not chr(c).isdigit() for c in code])
    return latin & (count[font] < 26)


def frame(levels: np.ndarray) -> np.ndarray:
    """(n, 784) ink levels -> the ink alone, scaled to fill 24 x 24 along its longer side, as unit vectors."""
    side, out = 24, []
    for picture in levels.reshape(-1, SIZE, SIZE):
        ys, xs = np.flatnonzero(picture.any(1)), np.flatnonzero(picture.any(0))
        ink = picture[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1] * 17
        scale = side / max(ink.shape)
        size = [max(1, round(n * scale)) for n in ink.shape[::-1]]
        box = Image.new("L", (side, side))
        box.paste(
            Image.fromarray(ink).resize(size, Image.Resampling.BILINEAR),
            ((side - size[0]) // 2, (side - size[1]) // 2),
        )
        out.append(np.asarray(box, dtype=np.float32).ravel())
    x = np.array(out)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def latin_lookalikes(
    rows_of: dict[int, list[int]], packed: np.ndarray, upright: np.ndarray
) -> dict[int, tuple[str, float]]:
    """Characters of other scripts whose mean picture, size aside, is that of a Latin letter or digit."""
    means = {}
    for c in tqdm(sorted(rows_of), desc="look-alikes"):
        rows = [r for r in rows_of[c] if upright[r]] or rows_of[c]
        rows = sorted(rows, key=lambda r: draw_key(c, r))[:60]
        mean = frame(unpack(packed[rows])).mean(0)
        means[c] = mean / np.linalg.norm(mean)
    basic = [ord(c) for c in BASIC if ord(c) in means]
    table = np.array([means[c] for c in basic])
    scores = {}
    for c, mean in means.items():
        if script_of(c) != "Latn":
            similarity = table @ mean
            scores[c] = (chr(basic[int(similarity.argmax())]), float(similarity.max()))
    return scores


def twin_images(
    code: np.ndarray, font: np.ndarray, twins: np.ndarray
) -> tuple[np.ndarray, set[int]]:
    """Images that show an earlier character's picture, and the characters that mostly do."""
    index = {(int(f), int(c)): i for i, (f, c) in enumerate(zip(font, code))}
    twin = np.zeros(len(code), bool)
    lost: set[int] = set()
    held = defaultdict(set)
    for f, c in zip(font.tolist(), code.tolist()):
        held[c].add(f)
    pairs = defaultdict(set)
    for f, a, b in twins.tolist():
        if (f, b) in index and (f, a) in index:
            pairs[a, b].add(f)
    for (a, b), fonts in sorted(pairs.items(), key=lambda p: (rank(p[0][1]), rank(p[0][0]))):
        common = len(held[a] & held[b])
        if a not in lost and len(fonts) > TWIN_SHARE * common and chr(b) not in BASIC:
            lost.add(b)
    for f, a, b in twins.tolist():
        if (f, b) in index and (f, a) in index:
            twin[index[f, b]] = True
    return twin, lost


def thin(x: np.ndarray, order: list[int]) -> list[int]:
    """Greedy: keep an image unless one already kept is nearly the same.

    The distance is the squared difference over the mean of the two images' squared
    ink, so that it does not depend on how large or dark a letter is.
    """
    x = x[order].astype(np.float32)
    power = (x * x).sum(1)
    gap = power[:, None] + power[None] - 2 * (x @ x.T)
    copies = gap < NEAR * 0.5 * (power[:, None] + power[None])
    chosen_rows: list[int] = []
    free = np.ones(len(order), bool)
    for i in range(len(order)):
        if free[i]:
            chosen_rows.append(i)
            free &= ~copies[i]
    return [order[i] for i in chosen_rows]


def choose(faces: list[dict], glyphs: dict) -> list[int]:
    font, code, packed = glyphs["font"], glyphs["code"], glyphs["images"]
    bad = unreadable(faces, font, code, packed)
    tell(f"{bad.sum():,} of {len(code):,} drawings come from fonts that were not readable")
    odd = (without_base(font, code, packed) | without_alphabet(font, code)) & ~bad
    tell(
        f"{odd.sum():,} more are letters of fonts with hardly any alphabet, or lack the letter under the accent"
    )
    bad |= odd
    twin, lost = twin_images(code, font, glyphs["twins"])
    tell(
        f"{twin.sum():,} drawings and {len(lost):,} characters look like an earlier character of their font"
    )
    usable = ~bad & ~twin & ~np.isin(code, sorted(lost))
    rows_of = defaultdict(list)
    for row in np.flatnonzero(usable):
        rows_of[int(code[row])].append(int(row))
    upright = np.array([f["slant"] == "upright" for f in faces])[font]
    lookalike = latin_lookalikes(rows_of, packed, upright)
    for c, (latin, cosine) in sorted(lookalike.items()):
        if cosine >= LOOKALIKE:
            tell(f"left out: {chr(c)} {unicodedata.name(chr(c))} looks like {latin} ({cosine:.3f})")
            del rows_of[c]
    chosen_codes: dict[int, list[int]] = {}
    for c in tqdm(sorted(rows_of), desc="thin"):
        rows = np.array(rows_of[c])
        x = unpack(packed[rows])
        order = sorted(range(len(rows)), key=lambda i: plainness(faces[font[rows[i]]]))
        order = thin(x, order)
        families = defaultdict(list)
        for i in order:
            families[faces[font[rows[i]]]["family"]].append(i)
        chosen_codes[c] = [
            int(rows[i]) for members in families.values() for i in spread(x, members, PER_FAMILY)
        ]
    chosen: list[int] = []
    for script, (domain, split, cap, largest, smallest) in DOMAINS.items():
        classes = [
            c for c in chosen_codes if script_of(c) == script and len(chosen_codes[c]) >= smallest
        ]
        classes.sort(key=lambda c: (chr(c) not in BASIC, -len(chosen_codes[c]), c))
        for c in classes[:largest]:
            rows = sorted(chosen_codes[c], key=lambda r: draw_key(c, faces[font[r]]["font"]))
            chosen += rows[:cap]
        sizes = [min(cap, len(chosen_codes[c])) for c in classes[:largest]]
        tell(f"{split:10} {domain:12} {len(sizes):4} classes {sum(sizes):7,} images "
             f"({min(sizes, default=0)}-{max(sizes, default=0)} each; {len(classes)} classes possible)")  # fmt: skip
    return chosen


# ---------------------------------------------------------------- writing


def encode(levels: np.ndarray) -> bytes:
    """Dark ink on white, as lossless WebP (quality 100 means most effort: 12 % smaller, 10 ms each)."""
    grey = (255 - levels.astype(np.uint16) * 255 // (LEVELS - 1)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(grey.reshape(SIZE, SIZE)).save(
        out, "WEBP", lossless=True, quality=100, method=6, exact=True
    )
    return out.getvalue()


SCRIPT_WORDS = {"latin", "cyrillic", "greek", "hebrew", "georgian", "arabic", "devanagari", "katakana",
                "hiragana", "myanmar", "khmer", "telugu", "thai", "armenian", "cherokee"}  # fmt: skip


def character_words(code: int) -> str:
    """`LATIN SMALL LETTER A WITH ACUTE` -> `the small Latin letter a with acute`."""
    char = chr(code)
    name = unicodedata.name(char)
    if char in "0123456789":
        return "the " + name.lower()
    words = name.lower().split()
    capital = "capital" in words
    case = "capital " if capital else "small " if "small" in words else ""
    words = [w for w in words if w not in ("capital", "small")]
    script = words[0].capitalize() if words[0] in SCRIPT_WORDS else words[0]
    words = words[1:]
    noun = words[0] if words and words[0] in ("letter", "digit", "syllable") else "sign"
    name_words = words[1:] if noun != "sign" else words
    if script == "Latin" and name_words and len(name_words[0]) <= 2:
        name_words[0] = name_words[0].upper() if capital else name_words[0]
    return f"the {case}{script} {noun} {' '.join(name_words)}"


def caption(code: int, face: dict) -> str:
    words = []
    if face["weight"] <= 300:
        words.append("light")
    elif face["weight"] >= 600:
        words.append("bold")
    if face["width"] <= 4:
        words.append("condensed")
    elif face["width"] >= 6:
        words.append("extended")
    if face["slant"] == "italic":
        words.append("italic")
    if face["style"] != "unknown":
        words.append({"sans": "sans-serif", "mono": "monospaced"}.get(face["style"], face["style"]))
    text = " ".join([*words, "typeface"])
    return f"{character_words(code)} in {'an' if text[0] in 'aeiou' else 'a'} {text}"


def class_name(code: int) -> str:
    return f"{DOMAINS[script_of(code)][0]}/U+{code:04X} {chr(code)}"


def write(faces: list[dict], glyphs: dict, chosen: list[int], target: Path, pool) -> pa.Table:
    font, code = glyphs["font"], glyphs["code"]
    order = {"base": 0, "validation": 1, "novel": 2}

    def key(row: int) -> tuple:
        face, c = faces[font[row]], int(code[row])
        domain, split = DOMAINS[script_of(c)][:2]
        return order[split], domain, c, face["family"], face["font"]

    chosen = sorted(chosen, key=key)
    levels = unpack(glyphs["images"][chosen])
    columns = defaultdict(list)
    columns["image"] = list(
        tqdm(pool.imap(encode, levels, chunksize=256), total=len(levels), desc="encode")
    )
    for row in chosen:
        face, c = faces[font[row]], int(code[row])
        domain, split = DOMAINS[script_of(c)][:2]
        columns["class_name"].append(class_name(c))
        columns["split"].append(split)
        columns["domain"].append(domain)
        columns["caption"].append(caption(c, face))
        for name in ("font", "family", "weight", "width", "slant", "style"):
            columns[name].append(face[name])
        columns["char"].append(chr(c))
    small = {"weight": pa.int16(), "width": pa.int8(), "image": pa.binary()}
    table = pa.table({k: pa.array(v, small.get(k, pa.string())) for k, v in columns.items()})
    new = target.with_name(target.name + ".new")
    pq.write_table(
        table, new, compression="zstd", compression_level=19, row_group_size=16384,
        use_dictionary=[c for c in table.column_names if c != "image"], write_statistics=False,
    )  # fmt: skip
    new.rename(target)
    return table


def write_fonts(
    faces: list[dict], used: set[str], versions: dict[str, str], folders: dict, target: Path
) -> None:
    """fonts.csv: where each font comes from."""
    licence = {name: licences(name, folders) for name in versions}
    new = target.with_name(target.name + ".new")
    with new.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["font", "package", "version", "family", "licence"])
        for face in faces:
            if face["font"] in used:
                name = face["package"]
                out.writerow([face["font"], name, versions[name], face["family"], licence[name]])
    new.rename(target)


def write_card(table: pa.Table, target: Path, card: Path) -> None:
    """card.yml: the facts that a program reads."""
    images, classes = Counter(), defaultdict(set)
    for split, domain, name in zip(
        *(table[c].to_pylist() for c in ("split", "domain", "class_name"))
    ):
        images[split, domain] += 1
        classes[split, domain].add(name)
    lines = [
        "name: glyphs",
        "title: Characters of many scripts, drawn by many open fonts",
        "licence: the fonts' own open licences (Debian main), listed by font in fonts.csv",
        "source: Debian font packages at the versions in packages.txt",
        f"image: {{height: {SIZE}, width: {SIZE}, channels: 1}}",
        "splits:",
    ]
    for split in ("base", "validation", "novel"):
        lines.append(f"  {split}:")
        for s, domain in sorted(images):
            if s == split:
                lines.append(
                    f"    {domain}: {{classes: {len(classes[s, domain])}, images: {images[s, domain]}}}"
                )
    lines += [
        f"sha256: {hashlib.sha256(target.read_bytes()).hexdigest()}",
        "build: python data/glyphs/build.py WORK",
    ]
    new = card.with_name(card.name + ".new")
    new.write_text("\n".join(lines) + "\n", encoding="utf-8")
    new.rename(card)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "work", type=Path, help="folder for downloads, unpacked packages and drawings"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=HERE,
        help="where the data set goes (default: beside this script)",
    )
    parser.add_argument(
        "--packages", type=Path, default=HERE / "packages.txt", help="name=version, one a line"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes that scan and draw (default: 2)"
    )
    args = parser.parse_args()

    lines = [line.split("#")[0].strip() for line in args.packages.read_text().splitlines()]
    packages = sorted(tuple(line.split("=", 1)) for line in lines if line)
    args.work.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    folders = fetch(packages, args.work)
    with multiprocessing.Pool(args.jobs) as pool:
        faces = scan(folders, pool)
        tell(f"{len(faces):,} fonts of {len({f['family'] for f in faces}):,} families")
        describe(faces, args.work)
        glyphs = render(faces, args.work, pool)
        chosen = choose(faces, glyphs)
        target = args.out / "images.parquet"
        table = write(faces, glyphs, chosen, target, pool)
    write_fonts(
        faces,
        {faces[i]["font"] for i in glyphs["font"][chosen]},
        dict(packages),
        folders,
        args.out / "fonts.csv",
    )
    write_card(table, target, args.out / "card.yml")
    tell(f"{target.name}: {table.num_rows:,} images, {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
