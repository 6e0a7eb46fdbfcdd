"""Shared by the build scripts of the embedded data sets.

Every set is one `images.parquet` (an image a row, lossless WebP bytes), a card for people
(`README.md`) and a card for programs (`card.yml`). This module fetches and unpacks a Debian
package, encodes images, and writes those files, the same bytes for the same input.
"""

import hashlib
import io
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

#: Columns every set has, in this order; facts of the set follow.
COLUMNS = ["image", "class_name", "split", "domain", "caption"]
SPLITS = ["base", "validation", "novel"]


def check_installed(*names):
    """End the build in one line if one of these programs or modules is missing."""
    missing = [name for name in names if not shutil.which(name) and not find_spec(name)]
    if missing:
        raise SystemExit(
            f"{sys.argv[0]}: {', '.join(missing)} not found; the first lines of it say what it needs"
        )


def debian_package(name, version, work):
    """Fetch the Debian package `name` at `version` and unpack it; return the unpacked root.

    Works in the folder `work` and reuses what an earlier call left there. Needs `apt-get` and
    `dpkg` but no administrator rights: nothing is installed.
    """
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    root = work / f"{name}_{version.replace(':', '%3a')}"
    if root.is_dir():
        return root
    check_installed("dpkg")
    debs = sorted(work.glob(f"{root.name}_*.deb"))
    if not debs:
        check_installed("apt-get")
        print(f"fetching {name} {version}", flush=True)
        subprocess.run(["apt-get", "download", f"{name}={version}"], cwd=work, check=True)
        debs = sorted(work.glob(f"{root.name}_*.deb"))
    print(f"unpacking {name}", flush=True)
    partial = root.with_name(root.name + ".partial")
    subprocess.run(["dpkg", "-x", str(debs[0]), str(partial)], check=True)
    partial.rename(root)
    return root


def webp(pixels):
    """Encode a (height, width) or (height, width, 3) uint8 array, or a PIL image, losslessly.

    WebP knows no grey: a grey image comes back as RGB with three equal channels, and
    `.convert("L")` gives its bytes back exactly.
    """
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, quality=100, method=6)
    return buffer.getvalue()


def in_order(frame, columns):
    """The rows of `frame` by split, base first, and then by these columns."""
    order = frame["split"].map(SPLITS.index)
    frame = frame.assign(order=order).sort_values(["order", *columns])
    return frame.drop(columns="order").reset_index(drop=True)


def write_images(frame, folder):
    """Write `frame` as `folder/images.parquet` (zstd) and return the file's SHA-256.

    The file is written under a temporary name and renamed, so a broken run leaves no half file.
    """
    missing = [c for c in COLUMNS if c not in frame]
    if missing:
        raise ValueError(f"columns missing: {missing}")
    frame = frame[COLUMNS + [c for c in frame if c not in COLUMNS]]
    path = Path(folder) / "images.parquet"
    temporary = path.with_suffix(".partial")
    pq.write_table(
        pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None),
        temporary,
        compression="zstd",
        compression_level=19,
        row_group_size=2000,
    )
    temporary.rename(path)
    print(f"{path.name}: {len(frame):,} images, {path.stat().st_size / 1e6:.2f} MB", flush=True)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def summary(frame):
    """Count classes and images: {split: {domain: {"classes": n, "images": n}}}."""
    counts = {}
    for split in SPLITS:
        part = frame[frame["split"] == split]
        for domain, rows in part.groupby("domain"):
            counts.setdefault(split, {})[domain] = {
                "classes": int(rows["class_name"].nunique()),
                "images": len(rows),
            }
    return counts


def class_table(frame):
    """Counts per class as a Markdown table, by split and then by name."""
    lines = ["| split | class | images |", "| --- | --- | ---: |"]
    for split in SPLITS:
        counts = frame.loc[frame["split"] == split, "class_name"].value_counts().sort_index()
        lines += [f"| {split} | {name} | {n} |" for name, n in counts.items()]
    return "\n".join(lines)


def write_card(frame, folder, facts, text):
    """Write `card.yml` from `facts` plus counts, and `README.md` from the template `text`.

    `facts` has name, title, licence, source, image, sha256, build and packages. In `text`,
    `{title}`, `{licence}`, `{source}`, `{sha256}`, `{build}`, `{packages}`, `{splits}` and
    `{classes}` are filled in.
    """
    folder = Path(folder)
    splits = summary(frame)
    order = ["name", "title", "licence", "source", "image", "splits", "sha256", "build", "packages"]
    card = {key: {**facts, "splits": splits}[key] for key in order}
    card_text = yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=100)
    rows = [
        f"| {split} | {n['classes']} | {n['images']:,} |"
        for split, domains in splits.items()
        for n in domains.values()
    ]
    filled = {
        **{key: facts[key] for key in ["title", "licence", "source", "sha256", "build"]},
        "packages": ", ".join(f"`{name}` {version}" for name, version in facts["packages"].items()),
        "splits": "\n".join(["| split | classes | images |", "| --- | ---: | ---: |", *rows]),
        "classes": class_table(frame),
    }
    for name, content in [("card.yml", card_text), ("README.md", text.format(**filled))]:
        temporary = folder / (name + ".partial")
        temporary.write_text(content, encoding="utf-8")
        temporary.rename(folder / name)


def part_option(parser):
    """Add `--part`, by which a cluster makes what a script makes by itself, a job a part (data/Snakefile)."""
    parser.add_argument(
        "--part", metavar="NAME", help="make this part alone, keep it, and gather nothing"
    )


def part_of(parser, parts, name):
    """What makes the part of that name; ends the program with a line where there is none."""
    recipe = dict(parts).get(name)
    return recipe or parser.error(f"part = {name}; data/parts.yml names the parts")


def bind(folder, pattern, inputs):
    """Write `inputs.json`: digests of the files of `folder` by that pattern, and of all they were made of.

    What ships cannot be found by its inputs, as a record of the cache is; so it names them, and a test compares.
    """
    folder = Path(folder)
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob(pattern))
    }
    temporary = folder / "inputs.json.partial"
    temporary.write_text(
        json.dumps({"files": files, "inputs": inputs}, indent=1) + "\n", encoding="utf-8"
    )
    temporary.rename(folder / "inputs.json")
