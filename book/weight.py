"""A built site without what no reader needs: from 70 MB to 25 MB at most.

`strip_site` deletes files that no page asks for, keeps of MathJax what pages written in TeX load, takes the outputs
out of the notebooks that readers download, and moves images out of the HTML, where they take a third more space.
Photos within drawings become WebP without loss, which takes a quarter less than PNG, and drawings lose the indents of
their elements and the decimals of their coordinates that no screen shows.
"""

import base64
import hashlib
import json
import re
import shutil
from io import BytesIO
from pathlib import Path

from PIL import Image

UNUSED = [
    "_static/**/*.map",  # for developers of the theme
    "_static/locales",  # words of the theme, which are in the pages already
    "_static/scripts/fontawesome.js*",  # draws the icons that a font beside it has
    "_static/vendor/fontawesome/webfonts/*.ttf",  # for browsers before 2016; the others read .woff2
    "_static/*webpack-macros.html",  # templates
    "_static/mathjax/input/tex/extensions/all-packages.js",  # the others in one
]
# What the pages load of MathJax: TeX to HTML, and for readers who choose it in the menu, formulas as English speech and
# Braille. ``_static/formulas.js`` takes the other choices from the menu.
MATHJAX = [
    "tex-chtml.js",
    "output/chtml/fonts/woff-v2/*",
    "input/tex/extensions/*",
    "input/mml.js",
    "a11y/*",
    "sre/mathmaps/base.json",
    "sre/mathmaps/en.json",
    "sre/mathmaps/nemeth.json",
]
ICON_SCRIPT = re.compile(r'\s*<script [^>]*src="[^"]*fontawesome\.js[^"]*"></script>')
# Sphinx gives them to the front page because pages below it have formulas.
MATHJAX_SCRIPTS = re.compile(
    r'\s*<script [^>]*src="[^"]*mathjax/[^"]*"></script>|\s*<script>window\.MathJax = [^<]*</script>'
)
FORMULA = re.compile(r'class="[^"]*\bmath\b|\\[(\[]')  # in the text, or in the output of a cell
IMAGE = re.compile(r'(<img [^>]*src=")data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"')
PHOTO = re.compile(rb"data:image/png;base64,([A-Za-z0-9+/=\s]+)")
TAG = re.compile(rb"<[^>]+>")  # with its attributes, and no words that are read
DECIMALS = re.compile(rb"(\.\d{3})\d+")  # the fourth of a coordinate is a ten-thousandth of a point
INDENT = re.compile(rb">\n\s*<(?!/?t(ext|span)\b)")  # between elements; within texts it is a space


def strip_site(site: Path) -> None:
    """Take out of a built site what no reader needs."""
    for pattern in UNUSED:
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    _keep_only(site / "_static" / "mathjax", MATHJAX)
    for notebook in (site / "_sources").glob("*.ipynb"):
        notebook.write_text(without_outputs(notebook.read_text("utf-8")), "utf-8")
    for page in site.glob("*.html"):
        text = ICON_SCRIPT.sub("", page.read_text("utf-8"))
        page.write_text(with_image_files(without_mathjax(text), site / "_images"), "utf-8")
    for drawing in site.glob("_images/*.svg"):
        drawing.write_bytes(lighter(drawing.read_bytes()))


def without_mathjax(text: str) -> str:
    """The HTML of a page, without the scripts of MathJax where it has no formula."""
    return text if FORMULA.search(text) else MATHJAX_SCRIPTS.sub("", text)


def without_outputs(text: str) -> str:
    """A notebook as a reader downloads it: what to run, and nothing that a run has left."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def with_image_files(text: str, folder: Path) -> str:
    """The HTML of a page, its embedded drawings written to files in this folder and named by their digest."""

    def written(match: re.Match) -> str:
        drawing = base64.b64decode(match[2])
        path = folder / f"{hashlib.sha256(drawing).hexdigest()}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(drawing)
        return f'{match[1]}_images/{path.name}"'

    return IMAGE.sub(written, text)


def lighter(drawing: bytes) -> bytes:
    """An SVG file as it is seen, in fewer bytes."""
    rounded = TAG.sub(lambda tag: DECIMALS.sub(rb"\1", tag[0]), drawing)
    return INDENT.sub(b"><", PHOTO.sub(_as_webp, rounded))


def _as_webp(match: re.Match) -> bytes:
    file = BytesIO()
    with Image.open(BytesIO(base64.b64decode(match[1]))) as photo:
        photo.save(file, "WEBP", lossless=True, exact=True)
    return b"data:image/webp;base64," + base64.b64encode(file.getvalue())


def _keep_only(folder: Path, patterns: list[str]) -> None:
    """Delete all files in a folder but those of these patterns, and the folders that are empty then."""
    needed = {path for pattern in patterns for path in folder.glob(pattern)}
    for path in sorted(folder.rglob("*"), reverse=True):  # files before the folder that holds them
        if path.is_file() and path not in needed:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
