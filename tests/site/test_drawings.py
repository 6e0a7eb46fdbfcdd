"""Figures in the dark: drawings are inverted and keep their hues and contrasts, pictures and paper stay as they are."""

import base64
import colorsys
import io
from itertools import combinations
from pathlib import Path

import drawings
import matplotlib.pyplot as plt
import numpy as np
import pytest
import weight
from matplotlib.colors import to_hex, to_rgb
from PIL import Image

from fslbook.style import COLOURS

STYLES = (Path(__file__).parents[2] / "book" / "_static" / "custom.css").as_uri()
TEXTS = ["0.15", "0.25", "black"]
MARKS = [*map(to_hex, COLOURS), "grey", "0.45"]
SIDE = 20  # pixels of a patch of colour


def drawn_by(draw):
    figure, ax = plt.subplots(figsize=(2, 2))
    draw(ax)
    file = io.StringIO()
    figure.savefig(file, format="svg", dpi=50)
    plt.close(figure)
    return file.getvalue()


def test_photos_are_pictures_and_clouds_of_points_are_drawings():
    photo = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
    x = np.arange(9)
    assert drawings.holds_picture(drawn_by(lambda ax: ax.imshow(photo, cmap="gray")))
    assert not drawings.holds_picture(drawn_by(lambda ax: ax.plot(x, x)))
    assert not drawings.holds_picture(drawn_by(lambda ax: ax.scatter(x, x, rasterized=True)))


def test_drawings_of_a_site_are_marked_and_pictures_are_not(tmp_path):
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "a.svg").write_text(drawn_by(lambda ax: ax.plot([1, 2])), "utf-8")
    (tmp_path / "_images" / "b.svg").write_text(drawn_by(lambda ax: ax.imshow([[0, 1]])), "utf-8")
    page = tmp_path / "p.html"
    images = (
        '<img alt="A" src="_images/a.svg"/><img alt="B" src="_images/b.svg"/><img src="c.png"/>'
    )
    page.write_text(images, "utf-8")
    assert drawings.mark(tmp_path) == 1
    assert page.read_text("utf-8") == images.replace('a.svg"', 'a.svg" data-drawing')


def test_a_lighter_drawing_has_three_decimals_and_the_same_photos():
    photo = drawn_by(lambda ax: ax.imshow([[0, 1]]))
    path = b'<path d="M 1.23456 -0.5 L 12.3999 7"/>'
    assert weight.lighter(path) == b'<path d="M 1.234 -0.5 L 12.399 7"/>'
    number = b'<text x="1.5">p = 0.00012</text>'
    assert weight.lighter(number) == number
    pixels = [
        Image.open(io.BytesIO(base64.b64decode(drawings.PIXELS.search(svg)[1]))).convert("RGB")
        for svg in (photo, weight.lighter(photo.encode()).decode())
    ]
    assert np.array_equal(*map(np.asarray, pixels))


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(colour, ground):
    """The ratio of WCAG 2.2."""
    dark, light = sorted([luminance(colour), luminance(ground)])
    return (light + 0.05) / (dark + 0.05)


def hue(colour):
    return 360 * colorsys.rgb_to_hsv(*colour)[0]


@pytest.fixture
def shown(browser, tmp_path):
    """Patches on white, as the page shows them: (colour of the ground, colour by name) by theme, medium and mark."""
    colours = [*TEXTS, *MARKS]
    patches = "".join(
        f'<rect x="{(2 * i + 1) * SIDE}" y="{SIDE}" width="{SIDE}" height="{SIDE}" fill="{to_hex(colour)}"/>'
        for i, colour in enumerate(colours)
    )
    size = f'width="{(2 * len(colours) + 1) * SIDE}" height="{3 * SIDE}"'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="white"/>{patches}</svg>'
    )
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    path = tmp_path / "page.html"
    page = browser.new_page(viewport={"width": 1280, "height": 200})

    def colours_of(theme, medium="screen", mark="data-drawing"):
        head = f'<html data-theme="{theme}"><link rel="stylesheet" href="{STYLES}">'
        figure = f'<figure><img {mark} src="{source}"></figure>'
        path.write_text(
            f'{head}<div class="bd-content"><div class="bd-article">{figure}</div></div>'
        )
        page.goto(path.as_uri())
        page.emulate_media(media=medium)
        pixels = Image.open(io.BytesIO(page.locator("img").screenshot())).convert("RGB")

        def at(x, y):
            return np.array(pixels.getpixel((x, y))) / 255

        middles = [(2 * i + 1.5) * SIDE for i in range(len(colours))]
        return at(SIDE // 2, SIDE // 2), {
            name: at(int(x), 3 * SIDE // 2) for name, x in zip(colours, middles)
        }

    yield colours_of
    page.close()


def test_in_the_dark_drawings_are_dark_and_their_colours_are_told_by_name_and_seen(shown):
    ground, colours = shown("dark")
    assert luminance(ground) < 0.02
    assert all(contrast(colours[name], ground) >= 4.5 for name in TEXTS)
    assert all(contrast(colours[name], ground) >= 3 for name in MARKS)
    for name in map(to_hex, COLOURS):
        saturation = np.ptp(to_rgb(name))
        if saturation > 0.1:
            turned = abs(hue(colours[name]) - hue(to_rgb(name)))
            assert min(turned, 360 - turned) < 5, name
    pairs = combinations(map(to_hex, COLOURS), 2)
    assert min(np.abs(colours[a] - colours[b]).max() for a, b in pairs) > 0.1


def test_in_the_light_and_on_paper_and_without_the_mark_nothing_changes(shown):
    for settings in (("light",), ("dark", "print"), ("dark", "screen", "")):
        ground, colours = shown(*settings)
        assert np.allclose(ground, 1), settings
        assert all(np.allclose(colours[name], to_rgb(name), atol=0.01) for name in colours)
