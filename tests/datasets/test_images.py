"""A user's own image files: of every depth and kind they look as they should, or are named."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from refusal import refuses, says_in_one_line, warned

from fslbook.estimation import assess
from fslcore import datasets, evaluation
from fslcore.cli import app
from fslcore.datasets.decode import rgb
from fslcore.evaluation import three_targets
from fslcore.models import backbones

GREY = np.random.default_rng(0).integers(0, 256, (24, 24)).astype(np.uint8)
GREY[0, :2] = 0, 255  # the whole range, whatever is drawn


def folder(root, *images, endings=".png"):
    """One class of these images, and another of two plain drawings."""
    for name in ("a", "b"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for i in range(2):
        Image.fromarray(np.roll(GREY, i)).save(root / "b" / f"{i}.png")
    for i, image in enumerate(images):
        image.save(root / "a" / f"{i}{endings}")
    return f"folder:{root}"


def grey(path, **options):
    """The first channel of an image."""
    return np.asarray(rgb(path, **options))[..., 0]


def tiff(values, path, bits, photometric):
    """A TIFF of a kind that Pillow reads and does not write: (H, W) numbers of 12 bits, two in three bytes, or 16."""
    if bits == 12:
        first, second = values[:, ::2], values[:, 1::2]
        values = np.stack(
            [first >> 4, (first & 15) << 4 | second >> 8, second & 255], axis=-1
        ).astype(np.uint8)
    data = values.astype("<u2" if bits == 16 else np.uint8).tobytes()
    tags = {
        256: 24,
        257: 24,
        258: bits,
        259: 1,
        262: photometric,
        273: 8,
        277: 1,
        278: 24,
        279: len(data),
    }
    entries = b"".join(
        np.array([tag, 4, 1, 0, value, 0], "<u2").tobytes() for tag, value in tags.items()
    )
    head = b"II*\0" + np.array([8 + len(data)], "<u4").tobytes()
    path.write_bytes(head + data + np.array([len(tags)], "<u2").tobytes() + entries + bytes(4))


@pytest.mark.parametrize(
    "ending, deep",
    [
        (".png", lambda x: Image.fromarray(x.astype(np.uint16) * 257)),
        (".tif", lambda x: Image.fromarray(x.astype(np.uint16) * 257)),
        (".tif", lambda x: Image.fromarray((x / 255).astype(np.float32))),
        (".png", lambda x: Image.fromarray(x).convert("P")),
        (".png", lambda x: Image.merge("LA", [Image.fromarray(x), Image.new("L", x.shape, 255)])),
        (".png", lambda x: Image.fromarray(x).convert("RGBA")),
        (
            ".tif",
            lambda x: Image.merge(
                "CMYK", [Image.fromarray(255 - x)] * 3 + [Image.new("L", x.shape, 0)]
            ),
        ),
    ],
    ids="png16 tiff16 tiff-float palette LA RGBA CMYK".split(),
)
def test_every_depth_is_the_same_picture(tmp_path, ending, deep):
    deep(GREY).save(tmp_path / f"x{ending}")
    assert (np.asarray(rgb(tmp_path / f"x{ending}")) == GREY[..., None]).all()


def test_other_depths(tmp_path):
    values = np.arange(24 * 24).reshape(24, 24) * 7
    tiff(values, tmp_path / "x.tif", 12, photometric=1)
    assert (grey(tmp_path / "x.tif") == (255 * values / 4095).round()).all()
    tiff(values * 16, tmp_path / "x.tif", 16, photometric=0)  # white is zero
    assert (grey(tmp_path / "x.tif") == 255 - (255 * values * 16 / 65535).round()).all()
    Image.fromarray(GREY > 99).save(tmp_path / "x.png")
    assert (grey(tmp_path / "x.png") == 255 * (GREY > 99)).all()
    Image.fromarray(GREY.astype(np.uint16) * 257).save(
        tmp_path / "x.png", transparency=0
    )  # one grey of all
    assert (grey(tmp_path / "x.png") == np.where(GREY == 0, 255, GREY)).all()


def icon(shade, mode="RGBA"):
    """A disc of one shade on a transparent ground."""
    y, x = np.mgrid[-12:12, -12:12]
    alpha = Image.fromarray((255 * (x**2 + y**2 < 64)).astype(np.uint8))
    image = Image.new("L", (24, 24), shade)
    if mode == "P":
        return Image.merge("RGBA", [image] * 3 + [alpha]).convert(
            "P", palette=Image.Palette.ADAPTIVE
        )
    return Image.merge(mode, [image] * (len(mode) - 1) + [alpha])


def lossless(ending):
    return {"lossless": True} if ending in ("webp", ".webp") else {}


@pytest.mark.parametrize(
    "mode, ending",
    [("RGBA", ".png"), ("LA", ".png"), ("P", ".png"), ("RGBA", ".gif"), ("RGBA", ".webp")],
)
def test_transparency_shows_the_ground(tmp_path, mode, ending):
    icon(0, mode).save(tmp_path / f"x{ending}", **lossless(ending))
    for ground, pixel in (("white", [255, 255, 255]), ("#ff0000", [255, 0, 0])):
        pixels = np.asarray(rgb(tmp_path / f"x{ending}", ground))
        assert pixels[0, 0].tolist() == pixel and (pixels[12, 12] == 0).all()


def test_what_would_vanish_stops_with_names(tmp_path):
    spec = folder(tmp_path, icon(0), icon(255), icon(255, "LA"))
    lost = r"a/1.png: laid on white it is all #ffffff; .*\?ground=black; so are 1 of the next 3 images: 2.png$"
    with refuses(lost):
        datasets.load(spec).images[:]
    lost = r"a/0.png: laid on black it is all #000000; .*\?ground=white$"
    with refuses(lost):
        datasets.load(f"{spec}?ground=black").images[:]
    gray = datasets.load(f"{spec}?ground=grey")
    assert gray.name == f"{spec}?ground=grey" and gray.digest != datasets.load(spec).digest
    assert np.ptp(gray.images[:3].reshape(3, -1), axis=1).min() > 100
    for setting, message in (
        ("ground=mauvish", "ground .*colour.*'mauvish'"),
        ("white=much", "white = much is not an allowed number"),
        ("ground=red&size=3", "not size"),
        ("white=0", "^white .*0.0"),
    ):
        with refuses(message):
            datasets.load(f"{spec}?{setting}")
    assert (
        len(datasets.load(folder(tmp_path / "what?size=3", icon(0)))) == 3
    )  # a path may hold a question mark


def test_flat_in_the_file_too_is_no_loss(tmp_path):
    same = Image.fromarray(np.eye(9, dtype=np.uint8), "L").convert("P")
    same.putpalette([7] * 6)  # two numbers for one colour
    same.save(tmp_path / "same.png")
    assert (grey(tmp_path / "same.png") == 7).all()
    icon(255, "P").save(tmp_path / "white.png")
    narrow = np.eye(9) * 20 + 60120
    Image.fromarray(narrow.astype(np.uint16)).save(tmp_path / "narrow.png")
    Image.frombytes("I;16B", (9, 9), narrow.astype(">u2").tobytes()).save(tmp_path / "narrow.tif")
    flat = "decoded it is all #eaeaea, and its file is not"
    for name, message in (
        ("white.png", "laid on white it is all #ffffff"),
        ("narrow.png", flat),
        ("narrow.tif", flat),
    ):
        with refuses(f"image .*{name}: {message}"):
            rgb(tmp_path / name)


@pytest.mark.parametrize(
    "values, message",
    [
        (
            GREY.astype(np.uint16) * 16,
            r"numbers up to 4080 of 65535, all nearly black; say which value is white, as in folder:PATH\?white=4095",
        ),
        (GREY.astype(np.float32), r"floats from 0 to 255, and 0 to 1 is read; .*white=255"),
        (
            GREY.astype(np.int32) * 257,
            "numbers from 0 to 65535 of a type without a known white; .*white=65535",
        ),
        (np.where(GREY, GREY / 255, np.nan).astype(np.float32), "NaN or infinity"),
    ],
    ids=["12-of-16", "float", "int32", "nan"],
)
def test_a_white_that_the_format_does_not_give(tmp_path, values, message):
    Image.fromarray(values).save(tmp_path / "x.tif")
    with refuses(f"x.tif: .*{message}"):
        rgb(tmp_path / "x.tif")
    if np.isfinite(values).all():
        assert (grey(tmp_path / "x.tif", white=float(values.max())) == GREY).all()


def png(values, path):
    """A PNG of 16 bits a colour, which Pillow does not write: (H, W, C) numbers, C of 2 (LA), 3 (RGB) or 4 (RGBA)."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    height, width, channels = values.shape
    head = struct.pack(">IIBBBBB", width, height, 16, {2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_colours_of_sixteen_bits(tmp_path, channels):
    path = tmp_path / "x.png"

    def write(step):
        values = np.repeat(GREY[..., None].astype(np.uint16), channels, axis=2) * step
        if channels != 3:
            values[..., -1] = 65535
        png(values, path)

    write(257)
    assert (grey(path) == GREY).all()
    write(16)
    with refuses("x.png", "16 bit", "3840", "65535", "white=4095"):
        rgb(path)
    scaled = grey(path, white=4095).astype(int)
    assert (
        np.abs(scaled - GREY).max() <= 16 and np.ptp(scaled) > 230
    )  # only the upper 4 of 12 bits are there
    png(np.zeros((9, 9, channels)), path)  # black all over is no other white
    assert rgb(path).getextrema()[0][1] in (0, 255)


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tif"])
def test_photos_stand_upright(tmp_path, turn, ending):
    """A camera held on its side writes the pixels as its sensor saw them, and how to turn them."""
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:8, :16] = 255, 0, 0
    pixels[8:, 16:] = 0, 0, 255
    upright = Image.fromarray(pixels)
    back = {
        2: 0,
        3: 3,
        4: 1,
        5: 5,
        6: 2,
        7: 6,
        8: 4,
    }  # the transposition that undoes the turn, by Pillow's numbers
    stored = upright.transpose(Image.Transpose(back[turn])) if turn > 1 else upright
    exif = Image.Exif()
    exif[274] = turn
    stored.save(tmp_path / f"x.{ending}", exif=exif, **lossless(ending))
    decoded = np.asarray(rgb(tmp_path / f"x.{ending}")).astype(int)
    assert decoded.shape == pixels.shape and np.abs(decoded - pixels).mean() < 20


@pytest.mark.parametrize("ending", [".gif", ".webp"])
def test_first_of_an_animation(tmp_path, ending):
    first, *later = (Image.fromarray(np.roll(GREY, i)) for i in range(3))
    first.save(tmp_path / f"x{ending}", save_all=True, append_images=later, **lossless(ending))
    assert (grey(tmp_path / f"x{ending}") == GREY).all()


def test_many_of_one_colour_are_reported_once(tmp_path, recwarn):
    spec = folder(tmp_path, *(Image.new("RGB", (9, 9), (i, 0, 0)) for i in range(3)))
    images = datasets.load(spec)
    images.images[:1]
    assert not warned(recwarn)
    images.images[:]
    message = warned(recwarn)
    assert says_in_one_line(message, spec, "2", "of 5", "colour", f"{tmp_path}/a/0.png")


def noise(side):
    return Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    )


@pytest.mark.parametrize("ending", [".jpg", ".webp", ".avif"])
def test_files_that_are_cut_off_are_named(tmp_path, ending):
    path = tmp_path / f"cut{ending}"
    noise(64).save(path)
    path.write_bytes(path.read_bytes()[: int(0.6 * path.stat().st_size)])
    with refuses(f"unreadable image .*cut{ending}"):
        rgb(path)


def test_broken_files_are_named(tmp_path, monkeypatch):
    (tmp_path / "nothing.png").touch()
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "x.png").mkdir()
    (tmp_path / "gone.png").symlink_to("/nowhere")
    noise(64).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    for name, reason in (
        ("nothing", "empty"),
        ("text", "not a kind of image"),
        ("x", "a folder"),
        ("gone", "no such file, a link to /nowhere"),
        ("bomb", ".*decompression bomb"),
    ):
        with refuses(rf"unreadable image .*{name}.png \({reason}"):
            rgb(tmp_path / f"{name}.png")


@pytest.mark.parametrize("size", [(1, 1), (2000, 1)])
def test_odd_shapes(tmp_path, size):
    Image.effect_noise(size, 50).save(tmp_path / "x.png")
    spec = folder(tmp_path / "f", Image.effect_noise(size, 50))
    assert datasets.load(spec).images[:].shape == (3, 224, 224, 3)


# ------------------------------------------------------------ which files are images


def test_images_are_told_by_content(tmp_path, recwarn):
    spec = folder(tmp_path)
    for name in "x.jfif x.JPG x.webp x.avif x.TIFF x.ico x.jp2 without x.dat".split():
        kind = {"without": "PNG", "x.dat": "JPEG", "x.jfif": "JPEG"}.get(name)
        noise(32).save(tmp_path / "a" / name, format=kind)
    (tmp_path / "elsewhere").mkdir()
    noise(8).save(tmp_path / "elsewhere" / "y.png")
    (tmp_path / "a" / "link.png").symlink_to(tmp_path / "elsewhere" / "y.png")
    images = datasets.load(spec)
    assert images.counts.to_dict() == {"a": 10, "b": 2, "elsewhere": 1}
    assert images.images[:].std(axis=(1, 2, 3)).min() > 20  # all of them are decoded
    assert not warned(recwarn)


def test_what_is_left_out_is_counted_and_named(tmp_path, recwarn):
    spec = folder(tmp_path, noise(9))
    for name in ".DS_Store Thumbs.db notes.txt more.txt clip.mp4 empty".split():
        (tmp_path / "a" / name).touch()
    (tmp_path / "a" / "film").write_bytes(b"\0\0\1\xb3" + bytes(range(1, 17)))
    (tmp_path / "a" / ".git").mkdir()
    (tmp_path / "a" / "nothing").symlink_to("/nowhere")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "labels.csv").touch()
    noise(9).save(tmp_path / "poster.png")
    assert datasets.load(spec).counts.to_dict() == {"a": 1, "b": 2}
    inside, outside = warned(recwarn).splitlines()
    assert says_in_one_line(inside, spec, "9 files", "2 .txt", "a/.DS_Store")
    assert says_in_one_line(outside, spec, "2 files", "class", "poster.png")


@pytest.mark.parametrize(
    "name, content, reason",
    [
        (
            "x.heic",
            b"\0\0\0\x18ftypheic\0\0\0\0",
            "HEIC, which Pillow does not read; save it as JPEG or PNG",
        ),
        ("x.svg", b"<svg/>", "not a kind of image that Pillow reads"),
        ("x.png", b"", "empty"),
    ],
)
def test_what_looks_like_an_image_and_is_not_read_stops(tmp_path, name, content, reason):
    spec = folder(tmp_path, noise(9))
    (tmp_path / "a" / name).write_bytes(content)
    (tmp_path / "b" / name).write_bytes(content)
    with refuses("unreadable", rf"a/{name} \({reason}", r"\b1 more\b"):
        datasets.load(spec)


def test_other_things_in_class_folders(tmp_path, monkeypatch):
    spec = folder(tmp_path, noise(9))
    os.mkfifo(tmp_path / "a" / "pipe.png")
    with refuses(r"pipe.png \(not a file\)"):
        datasets.load(spec)
    (tmp_path / "a" / "pipe.png").rename(
        tmp_path / "a" / "pipe"
    )  # not opened, which would wait for ever
    (tmp_path / "a" / "x.png").mkdir()  # an ordinary folder, with an odd name
    noise(9).save(tmp_path / "a" / "x.png" / "0.png")
    assert datasets.load(spec).facts["file"].tolist()[:2] == ["a/0.png", "a/x.png/0.png"]
    listed = type(tmp_path).iterdir
    with monkeypatch.context() as patch:
        patch.setattr(
            type(tmp_path),
            "iterdir",
            lambda self: listed(self if self.name != "b" else tmp_path / "none"),
        )
        with refuses(r"unreadable folder .*b \("):
            datasets.load(spec)
    opened = Image.open
    noise(9).save(tmp_path / "b" / "plain", format="PNG")

    def refused(file, *arguments):
        if str(file).endswith("b/plain"):
            raise PermissionError(13, "Permission denied")
        return opened(file, *arguments)

    monkeypatch.setattr(Image, "open", refused)
    with refuses(r"unreadable image .*b/plain \(Permission denied\)"):
        datasets.load(spec)


def test_folders_in_class_folders(tmp_path, recwarn):
    spec = folder(tmp_path, noise(9))
    for name in ("x", "x/y", "z"):
        (tmp_path / "a" / name).mkdir()
        noise(9).save(tmp_path / "a" / name / "0.png")
    (tmp_path / "a" / "z" / "round").symlink_to(tmp_path / "a")
    images = datasets.load(spec)
    of_a = [f"a/{f}" for f in ("0.png", "x/0.png", "x/y/0.png", "z/0.png")]
    assert images.facts["file"].tolist() == [*of_a, "b/0.png", "b/1.png"]
    assert images.labels.tolist() == [0, 0, 0, 0, 1, 1]
    assert says_in_one_line(warned(recwarn), spec, "3 of 6", "folder")


def test_levels_that_are_not_classes(tmp_path):
    train, nested = tmp_path / "data" / "train", tmp_path / "zip" / "images"
    for path in (train, tmp_path / "data" / "test", nested):
        folder(path, noise(9))
    (train / "c").mkdir()
    (train / "c" / "x.txt").touch()
    for path, message in (
        (
            tmp_path / "data",
            "test, train in .*data look like splits, not classes; name one .*data/train$",
        ),
        (
            tmp_path / "zip",
            "holds one folder, images, and that holds only folders; .*folder:.*zip/images$",
        ),
        (nested / "a", "class folders.*none but 1 images in .*a"),
        (train, "class folder .*train/c holds no image; 1 others are in it: x.txt"),
        (train / "c" / "x.txt", "folder of class folders, got the file .*x.txt"),
    ):
        with refuses(message):
            datasets.load_folder(path)
    (nested / "loop").symlink_to("..")
    message = "class folder .*images/loop is a link to .*zip, which holds all classes"
    with refuses(message):
        datasets.load_folder(nested)


# ------------------------------------------------------------ at which size


def test_own_images_are_seen_as_large_as_the_network_takes_them(tmp_path, recwarn):
    spec = folder(tmp_path, *[noise(300)] * 3)

    def ready(backbone, size=None):
        run = evaluation.configure(evaluation.load_images_or_features(spec, size), backbone, "ncc")
        return run.source, run.backbone

    sides = {
        "efficientnet-lite0": 224,
        "efficientnet-lite2": 260,
        "glyph-conv": 28,
        "conv4-protonet": 32,
    }
    for name, side in sides.items():
        images, model = ready(name)
        assert images.images.shape == (5, side, side, 3) == (5, *[model.side(300, 300)] * 2, 3)
        assert f"{spec}: read at {side} × {side} pixels for {name}" in warned(recwarn)
        refitted = evaluation.configure(
            images, "efficientnet-lite0", "ncc"
        ).source  # one after the other, as chapters do
        assert refitted.digest == datasets.load_folder(tmp_path, size=224).digest
    images, model = ready("efficientnet-lite0", 96)
    assert images.images.shape[1] == 96 == model.side(*images.images.shape[1:3])
    assert model.digest != backbones.load("efficientnet-lite0").digest
    shape = dict(ways=2, shots=1, queries=1, tasks=2, size=96)
    for call in (
        lambda: ready("glyph-conv", 96),
        lambda: evaluation.evaluate_setting(spec, "glyph-conv", "ncc", "closed", **shape),
        lambda: three_targets.answers([spec], ["glyph-conv"], ["ncc"], **shape),
    ):
        with refuses("size = 96", "glyph-conv", "28 pixels"):
            call()


def test_other_images_are_seen_as_before(tmp_path):
    folder(tmp_path, noise(300))
    for source in (
        evaluation.load_images_or_features("clipart"),
        datasets.load_folder(tmp_path, size=224),
    ):
        run = evaluation.configure(source, "efficientnet-lite0", "ncc")
        assert run.source is source and run.backbone.resolution is None
        assert run.backbone.side(*source.images.shape[1:3]) == 64
    support = assess.load(tmp_path)
    assert backbones.match_input_size(support, run.backbone) == (support, run.backbone)
    assert support.images.shape[1] == assess.SIZE
    for dataset, size, message in (
        ("clipart", 64, "size = 64; the pixels of clipart are fixed; folder:PATH, cifar-fs:PATH"),
        ("features:none.npz", 64, "size = 64; features:none.npz are features"),
        (f"folder:{tmp_path}", 3, "size must be an integer from 8"),
        (f"folder:{tmp_path}", 2.5, "size must be an integer"),
    ):
        with refuses(message):
            evaluation.load_images_or_features(dataset, size)


def test_evaluate_takes_a_size(tmp_path, capsys):
    spec = folder(tmp_path / "f", *[noise(40)] * 3)
    noise(30).save(tmp_path / "f" / "b" / "2.png")
    shape = "--ways 2 --shots 1 --queries 2 --tasks 20 --learners ncc --samplings closed".split()
    command = ["evaluate", spec, "efficientnet-lite0", "-o", str(tmp_path / "t.csv"), *shape]
    assert app.main([*command, "--size", "48"]) == 0
    assert capsys.readouterr().err.count("read at 48 × 48 pixels") == 1
    assert app.main([*command, "--size", "4"]) == 2
    assert says_in_one_line(capsys.readouterr().err, "size", " 4", " 8", "2048")
