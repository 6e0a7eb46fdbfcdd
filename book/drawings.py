"""Which images of a built site are drawings: in the dark, the pages invert these and leave pictures as they are.

`mark` writes ``data-drawing`` on each image that Matplotlib drew and that holds no picture, such as a photo or a glyph.
Points that were drawn as pixels stand on a transparent ground; a picture has none.
"""

import base64
import re
from io import BytesIO
from pathlib import Path

from PIL import Image

IMAGE = re.compile(r'<img [^>]*\bsrc="(_images/[^"]+\.svg)"')
PIXELS = re.compile(r"data:image/(?:png|webp);base64,([A-Za-z0-9+/=\s]+)")
OPAQUE = 255


def holds_picture(svg: str) -> bool:
    """Whether pixels without a transparent ground stand in a drawing."""
    return any(_is_opaque(base64.b64decode(pixels)) for pixels in PIXELS.findall(svg))


def mark(site: Path) -> int:
    """Write ``data-drawing`` on the drawings of a built site; how many images have it."""
    drawings = {
        f"_images/{path.name}"
        for path in (site / "_images").glob("*.svg")
        if not holds_picture(path.read_text("utf-8"))
    }
    count = 0

    def marked(match: re.Match) -> str:
        nonlocal count
        if match[1] not in drawings:
            return match[0]
        count += 1
        return f"{match[0]} data-drawing"

    for page in sorted(site.glob("*.html")):
        text = page.read_text("utf-8")
        page.write_text(IMAGE.sub(marked, text), "utf-8")
    return count


def _is_opaque(pixels: bytes) -> bool:
    with Image.open(BytesIO(pixels)) as image:
        least, _ = image.convert("RGBA").getchannel("A").getextrema()
    return least == OPAQUE
