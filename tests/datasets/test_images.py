"""A user's own image files: of every depth and kind they look as they should, or are named."""

import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from fslbook.estimation import assess
from fslcore import datasets, evaluation
from fslcore.cli import app
from fslcore.datasets.decode import rgb
from fslcore.errors import InputError
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


def of(run):
    """The images and the backbone of a method that is ready."""
    return run.source, run.backbone


def tiff(values, path, bits, photometric):
    """A TIFF of a kind that Pillow reads and does not write: (H, W) numbers of 12 bits, two in three bytes, or 16."""
    if bits == 12:
        first, second = values[:, ::2], values[:, 1::2]
        values = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], axis=-1).astype(np.uint8)
    data = values.astype("<u2" if bits == 16 else np.uint8).tobytes()
    tags = {256: 24, 257: 24, 258: bits, 259: 1, 262: photometric, 273: 8, 277: 1, 278: 24, 279: len(data)}
    entries = b"".join(np.array([tag, 4, 1, 0, value, 0], "<u2").tobytes() for tag, value in tags.items())
    head = b"II*\0" + np.array([8 + len(data)], "<u4").tobytes()
    path.write_bytes(head + data + np.array([len(tags)], "<u2").tobytes() + entries + bytes(4))


@pytest.mark.parametrize(
    "ending, deep",
    [
        (".png", lambda x: Image.fromarray(x.astype(np.uint16) * 257)),
        (".tif", lambda x: Image.fromarray(x.astype(np.uint16) * 257)),
        (".pgm", lambda x: Image.fromarray(x.astype(np.int32) * 257)),
        (".tif", lambda x: Image.fromarray((x / 255).astype(np.float32))),
        (".pfm", lambda x: Image.fromarray((x / 255).astype(np.float32))),
        (".png", lambda x: Image.fromarray(x).convert("P")),
        (".png", lambda x: Image.merge("LA", [Image.fromarray(x), Image.new("L", x.shape, 255)])),
        (".png", lambda x: Image.fromarray(x).convert("RGBA")),
        (".tif", lambda x: Image.merge("CMYK", [Image.fromarray(255 - x)] * 3 + [Image.new("L", x.shape, 0)])),
    ],
    ids=["png16", "tiff16", "pgm16", "tiff-float", "pfm", "palette", "LA", "RGBA", "CMYK"],
)
def test_every_depth_is_the_same_picture(tmp_path, ending, deep):
    deep(GREY).save(tmp_path / f"x{ending}")
    assert (np.asarray(rgb(tmp_path / f"x{ending}")) == GREY[..., None]).all()


def test_other_depths(tmp_path):
    values = np.arange(24 * 24).reshape(24, 24) * 7
    tiff(values, tmp_path / "x.tif", 12, photometric=1)
    assert (np.asarray(rgb(tmp_path / "x.tif"))[..., 0] == (255 * values / 4095).round()).all()
    tiff(values * 16, tmp_path / "x.tif", 16, photometric=0)  # white is zero
    assert (np.asarray(rgb(tmp_path / "x.tif"))[..., 0] == 255 - (255 * values * 16 / 65535).round()).all()
    Image.fromarray(GREY > 99).save(tmp_path / "x.png")
    assert (np.asarray(rgb(tmp_path / "x.png"))[..., 0] == 255 * (GREY > 99)).all()


def icon(shade, mode="RGBA"):
    """A disc of one shade on a transparent ground."""
    y, x = np.mgrid[-12:12, -12:12]
    alpha = Image.fromarray((255 * (x**2 + y**2 < 64)).astype(np.uint8))
    image = Image.new("L", (24, 24), shade)
    if mode == "P":
        return Image.merge("RGBA", [image] * 3 + [alpha]).convert("P", palette=Image.Palette.ADAPTIVE)
    return Image.merge(mode, [image] * (len(mode) - 1) + [alpha])


@pytest.mark.parametrize(
    "mode, ending",
    [
        ("RGBA", ".png"),
        ("LA", ".png"),
        ("P", ".png"),
        ("RGBA", ".gif"),
        ("RGBA", ".webp"),
    ],
)
def test_transparency_shows_the_ground(tmp_path, mode, ending):
    icon(0, mode).save(tmp_path / f"x{ending}", **({"lossless": True} if ending == ".webp" else {}))
    for ground, shade in (("white", 255), ("#ff0000", 255)):
        found = np.asarray(rgb(tmp_path / f"x{ending}", ground))
        assert found[0, 0, 0] == shade and found[0, 0, 1] == (255 if ground == "white" else 0)
        assert (found[12, 12] == 0).all()


def test_one_grey_of_sixteen_bits_can_be_transparent(tmp_path):
    Image.fromarray(GREY.astype(np.uint16) * 257).save(tmp_path / "x.png", transparency=0)
    found = np.asarray(rgb(tmp_path / "x.png"))[..., 0]
    assert (found == np.where(GREY == 0, 255, GREY)).all()


def test_what_would_vanish_stops_with_names(tmp_path):
    spec = folder(tmp_path, icon(0), icon(255), icon(255, "LA"))
    lost = r"a/1.png: laid on white it is all #ffffff; .*\?ground=black; so are 1 of the next 3 images: 2.png$"
    with pytest.raises(InputError, match=lost):
        datasets.load(spec).images[:]
    with pytest.raises(InputError, match=r"a/0.png: laid on black it is all #000000; .*\?ground=white$"):
        datasets.load(f"{spec}?ground=black").images[:]
    grey = datasets.load(f"{spec}?ground=grey")
    assert grey.name == f"{spec}?ground=grey" and grey.digest != datasets.load(spec).digest
    assert np.ptp(grey.images[:3].reshape(3, -1), axis=1).min() > 100
    for wrong, message in (
        ("ground=mauvish", "ground = mauvish"),
        ("white=much", "white = much is not an allowed number"),
        ("ground=red&size=3", "not size"),
        ("white=0", "white = 0.0"),
    ):
        with pytest.raises(InputError, match=message):
            datasets.load(f"{spec}?{wrong}")
    assert len(datasets.load(folder(tmp_path / "what?size=3", icon(0)))) == 3  # a path may hold a question mark


def test_flat_in_the_file_too_is_no_loss(tmp_path):
    same = Image.fromarray(np.eye(9, dtype=np.uint8), "L").convert("P")
    same.putpalette([7] * 6)  # two numbers for one colour
    same.save(tmp_path / "same.png")
    assert (np.asarray(rgb(tmp_path / "same.png")) == 7).all()
    icon(255, "P").save(tmp_path / "white.png")
    narrow = np.eye(9) * 20 + 60120
    Image.fromarray(narrow.astype(np.uint16)).save(tmp_path / "narrow.png")
    Image.frombytes("I;16B", (9, 9), narrow.astype(">u2").tobytes()).save(tmp_path / "narrow.tif")
    flat = "decoded it is all #eaeaea, and its file is not"
    white = "laid on white it is all #ffffff"
    for name, message in (("white.png", white), ("narrow.png", flat), ("narrow.tif", flat)):
        with pytest.raises(InputError, match=f"image .*{name}: {message}"):
            rgb(tmp_path / name)


@pytest.mark.parametrize(
    "values, message",
    [
        (
            GREY.astype(np.uint16) * 16,
            r"numbers up to 4080 of 65535, all nearly black; say which value is white, as in folder:PATH\?white=4095",
        ),
        (GREY.astype(np.float32), r"floats from 0 to 255, and 0 to 1 is read; .*white=255"),
        (GREY.astype(np.int32) * 257, "numbers from 0 to 65535 of a type without a known white; .*white=65535"),
        (np.where(GREY, GREY / 255, np.nan).astype(np.float32), "NaN or infinity"),
    ],
    ids=["12-of-16", "float", "int32", "nan"],
)
def test_a_white_that_the_format_does_not_tell(tmp_path, values, message):
    Image.fromarray(values).save(tmp_path / "x.tif")
    with pytest.raises(InputError, match=message) as error:
        rgb(tmp_path / "x.tif")
    assert "x.tif" in str(error.value) and "\n" not in str(error.value)
    if np.isfinite(values).all():
        assert (np.asarray(rgb(tmp_path / "x.tif", white=float(values.max())))[..., 0] == GREY).all()


def png(values, path):
    """A PNG of 16 bits a colour, which Pillow does not write: (H, W, C) numbers, C of 2 (LA), 3 (RGB) or 4 (RGBA)."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, channels = values.shape
    head = struct.pack(">IIBBBBB", width, height, 16, {2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_colours_of_sixteen_bits(tmp_path, channels):
    values = np.repeat(GREY[..., None].astype(np.uint16), channels, axis=2)
    alpha = [65535] * (channels % 2 == 0)

    def write(step):
        deep = values * step
        if alpha:
            deep[..., -1] = 65535
        png(deep, tmp_path / "x.png")

    write(257)
    assert (np.asarray(rgb(tmp_path / "x.png"))[..., 0] == GREY).all()
    write(16)
    with pytest.raises(InputError, match=r"x.png: .* 16 bits up to about 3840 of 65535, all nearly .*\?white=4095"):
        rgb(tmp_path / "x.png")
    seen = np.asarray(rgb(tmp_path / "x.png", white=4095))[..., 0].astype(int)
    assert np.abs(seen - GREY).max() <= 16 and np.ptp(seen) > 230  # only the upper 4 of 12 bits are there
    png(np.zeros((9, 9, channels)), tmp_path / "x.png")  # black all over is no other white
    assert rgb(tmp_path / "x.png").getextrema()[0][1] in (0, 255)


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tif"])
def test_photos_stand_upright(tmp_path, turn, ending):
    """A camera held on its side writes the pixels as its sensor saw them, and how to turn them."""
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:8, :16] = 255, 0, 0
    pixels[8:, 16:] = 0, 0, 255
    upright = Image.fromarray(pixels)
    back = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the transposition that undoes the turn, by Pillow's numbers
    stored = upright.transpose(Image.Transpose(back[turn])) if turn > 1 else upright
    exif = Image.Exif()
    exif[274] = turn
    stored.save(tmp_path / f"x.{ending}", exif=exif, **({"lossless": True} if ending == "webp" else {}))
    found = np.asarray(rgb(tmp_path / f"x.{ending}")).astype(int)
    assert found.shape == pixels.shape and np.abs(found - pixels).mean() < 20


def test_first_of_an_animation(tmp_path):
    first, *rest = (Image.fromarray(np.roll(GREY, i)) for i in range(3))
    for ending in (".gif", ".webp", ".png", ".tif"):
        exact = {"lossless": True} if ending == ".webp" else {}
        first.save(tmp_path / f"x{ending}", save_all=True, append_images=rest, **exact)
        assert (np.asarray(rgb(tmp_path / f"x{ending}"))[..., 0] == GREY).all()


def test_many_of_one_colour_are_told_once(tmp_path, capsys):
    flat = [Image.new("RGB", (9, 9), (i, 0, 0)) for i in range(3)]
    spec = folder(tmp_path, *flat)
    images = datasets.load(spec)
    images.images[:1]
    assert not capsys.readouterr().err
    images.images[:]
    said = capsys.readouterr().err
    assert said.startswith(f"fslcore: {spec}: 2 or more of 5 images show one colour") and said.count("\n") == 1
    assert f"{tmp_path}/a/0.png" in said


def noise(side):
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8))


def test_broken_files_are_told_in_one_line(tmp_path, monkeypatch):
    def cut(name, share):
        noise(64).save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: int(share * len(whole))])

    for ending in (".jpg", ".png", ".tif", ".webp", ".gif", ".bmp", ".avif", ".jp2"):
        cut(f"cut{ending}", 0.6)
        with pytest.raises(InputError, match=f"unreadable image .*cut{ending}") as error:
            rgb(tmp_path / f"cut{ending}")
        assert "\n" not in str(error.value)
    (tmp_path / "nothing.png").touch()
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "x.png").mkdir()
    (tmp_path / "gone.png").symlink_to("/nowhere")
    for name, message in (
        ("nothing", "empty"),
        ("text", "not a kind of image"),
        ("x", "a folder"),
        ("gone", "no such file, a link to /nowhere"),
    ):
        with pytest.raises(InputError, match=rf"unreadable image .*{name}.png \({message}"):
            rgb(tmp_path / f"{name}.png")
    noise(64).save(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(InputError, match="bomb.png .*decompression bomb"):
        rgb(tmp_path / "bomb.png")


@pytest.mark.parametrize("size", [(1, 1), (2000, 1), (1, 2000), (3, 500)])
def test_odd_shapes(tmp_path, size):
    Image.effect_noise(size, 50).save(tmp_path / "x.png")
    spec = folder(tmp_path / "f", Image.effect_noise(size, 50))
    assert datasets.load(spec).images[:].shape == (3, 224, 224, 3)


# ------------------------------------------------------------ which files are images


def test_images_are_told_by_content(tmp_path, capsys):
    spec = folder(tmp_path)
    for name in ("x.jfif", "x.JPG", "x.webp", "x.avif", "x.TIFF", "x.ico", "x.jp2", "without", "x.dat"):
        kind = {"without": "PNG", "x.dat": "JPEG", "x.jfif": "JPEG"}.get(name)
        noise(32).save(tmp_path / "a" / name, format=kind)
    (tmp_path / "elsewhere").mkdir()
    noise(8).save(tmp_path / "elsewhere" / "y.png")
    (tmp_path / "a" / "link.png").symlink_to(tmp_path / "elsewhere" / "y.png")
    images = datasets.load(spec)
    assert images.counts.to_dict() == {"a": 10, "b": 2, "elsewhere": 1}
    assert images.images[:].std(axis=(1, 2, 3)).min() > 20  # all of them are decoded
    assert not capsys.readouterr().err


def test_what_is_left_out_is_counted_and_named(tmp_path, capsys):
    spec = folder(tmp_path, *[noise(9)] * 2)
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", "notes.txt", "more.txt", ".hidden.png", "clip.mp4", "empty"):
        (tmp_path / "a" / name).touch()
    (tmp_path / "a" / "film").write_bytes(b"\0\0\1\xb3" + bytes(range(1, 17)))
    (tmp_path / "a" / ".git").mkdir()
    (tmp_path / "a" / "nothing").symlink_to("/nowhere")
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "labels.csv").touch()
    noise(9).save(tmp_path / "poster.png")
    assert datasets.load(spec).counts.to_dict() == {"a": 2, "b": 2}
    first, second = capsys.readouterr().err.splitlines()
    assert f"{spec}: 11 files are not images and are left out: 2 .txt, " in first and "a/.DS_Store" in first
    assert f"{spec}: 2 files beside the class folders belong to no class and are left out (" in second
    assert "poster.png" in second
    datasets.load(spec)
    assert not capsys.readouterr().err  # told once


@pytest.mark.parametrize(
    "name, content, reason",
    [
        ("x.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC, which Pillow does not read; save it as JPEG or PNG"),
        ("IMG_1", b"\0\0\0\x18ftypmif1\0\0\0\0", "HEIC, which Pillow does not read"),
        ("x.svg", b"<svg/>", "not a kind of image that Pillow reads"),
        ("x.JPG", b"no image", "not a kind of image that Pillow reads"),
        ("x.png", b"", "empty"),
    ],
)
def test_what_looks_like_an_image_and_is_not_read_stops(tmp_path, name, content, reason):
    spec = folder(tmp_path, noise(9))
    (tmp_path / "a" / name).write_bytes(content)
    (tmp_path / "b" / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"unreadable image .*a/{name} \({reason}.*\); 1 more files are like that$"):
        datasets.load(spec)


def test_other_things_in_class_folders(tmp_path, monkeypatch):
    spec = folder(tmp_path, noise(9))
    os.mkfifo(tmp_path / "a" / "pipe.png")
    with pytest.raises(InputError, match=r"pipe.png \(not a file\)"):
        datasets.load(spec)
    (tmp_path / "a" / "pipe.png").rename(tmp_path / "a" / "pipe")  # not opened, which would wait for ever
    (tmp_path / "a" / "x.png").mkdir()  # an ordinary folder, with an odd name
    noise(9).save(tmp_path / "a" / "x.png" / "0.png")
    assert datasets.load(spec).facts["file"].tolist()[:2] == ["a/0.png", "a/x.png/0.png"]
    listed = type(tmp_path).iterdir
    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "iterdir", lambda self: listed(self if self.name != "b" else tmp_path / "none"))
        with pytest.raises(InputError, match=r"unreadable folder .*b \("):
            datasets.load(spec)
    opened = Image.open
    noise(9).save(tmp_path / "b" / "plain", format="PNG")

    def refused(file, *rest):
        if str(file).endswith("b/plain"):
            raise PermissionError(13, "Permission denied")
        return opened(file, *rest)

    monkeypatch.setattr(Image, "open", refused)
    with pytest.raises(InputError, match=r"unreadable image .*b/plain \(Permission denied\)"):
        datasets.load(spec)


def test_folders_in_class_folders(tmp_path, capsys):
    spec = folder(tmp_path, noise(9))
    for name in ("x", "x/y", "z"):
        (tmp_path / "a" / name).mkdir()
        noise(9).save(tmp_path / "a" / name / "0.png")
    (tmp_path / "a" / "z" / "round").symlink_to(tmp_path / "a")
    images = datasets.load(spec)
    of_a = [f"a/{f}" for f in ("0.png", "x/0.png", "x/y/0.png", "z/0.png")]
    assert images.facts["file"].tolist() == [*of_a, "b/0.png", "b/1.png"]
    assert images.labels.tolist() == [0, 0, 0, 0, 1, 1]
    assert f"{spec}: 3 of 6 images lie in folders below the class folders" in capsys.readouterr().err


def test_levels_that_are_not_classes(tmp_path):
    for part in ("train", "test"):
        folder(tmp_path / "data" / part, noise(9))
    with pytest.raises(InputError, match="test, train in .*data look like splits, not classes; name one .*data/train$"):
        datasets.load(f"folder:{tmp_path}/data")
    folder(tmp_path / "zip" / "images", noise(9))
    with pytest.raises(
        InputError, match="holds one folder, images, and that holds only folders; .*folder:.*zip/images$"
    ):
        datasets.load(f"folder:{tmp_path}/zip")
    with pytest.raises(InputError, match="a holds no class folders but 1 images"):
        datasets.load(f"folder:{tmp_path}/zip/images/a")
    (tmp_path / "data" / "train" / "c").mkdir()
    (tmp_path / "data" / "train" / "c" / "x.txt").touch()
    with pytest.raises(InputError, match="class folder .*train/c holds no image; 1 others are in it: x.txt"):
        datasets.load(f"folder:{tmp_path}/data/train")
    (tmp_path / "zip" / "images" / "loop").symlink_to("..")
    with pytest.raises(InputError, match="class folder .*images/loop is a link to .*zip, which holds all classes"):
        datasets.load(f"folder:{tmp_path}/zip/images")
    with pytest.raises(InputError, match="x.txt is a file; a folder of class folders is needed"):
        datasets.load_folder(tmp_path / "data" / "train" / "c" / "x.txt")


# ------------------------------------------------------------ at which size


def test_own_images_are_seen_as_large_as_the_network_takes_them(tmp_path, capsys):
    spec = folder(tmp_path, *[noise(300)] * 3)
    sides = {"efficientnet-lite0": 224, "efficientnet-lite2": 260, "glyph-conv": 28, "conv4-protonet": 32}
    for name, side in sides.items():
        images, model = of(evaluation.ready(evaluation.load_source(spec), name, "ncc"))
        assert images.images.shape == (5, side, side, 3) == (5, *[model.side(300, 300)] * 2, 3)
        assert f"{spec}: read at {side} × {side} pixels for {name}" in capsys.readouterr().err
        again, _ = of(evaluation.ready(images, "efficientnet-lite0", "ncc"))  # one after the other, as chapters do
        assert again.digest == datasets.load_folder(tmp_path, size=224).digest
    images, model = of(evaluation.ready(evaluation.load_source(spec, 96), "efficientnet-lite0", "ncc"))
    assert images.images.shape[1] == 96 == model.side(*images.images.shape[1:3])
    assert model.digest != backbones.load("efficientnet-lite0").digest
    with pytest.raises(InputError, match="size = 96; glyph-conv takes images of 28 pixels per side only"):
        evaluation.ready(evaluation.load_source(spec, 96), "glyph-conv", "ncc")


def test_other_images_are_seen_as_before(tmp_path):
    folder(tmp_path, noise(300))
    for source in (evaluation.load_source("clipart"), datasets.load_folder(tmp_path, size=224)):
        images, model = of(evaluation.ready(source, "efficientnet-lite0", "ncc"))
        assert images is source and model.resolution is None and model.side(*images.images.shape[1:3]) == 64
    support = assess.load(tmp_path)
    assert backbones.fitted(support, model) == (support, model) and support.images.shape[1] == assess.SIZE
    for dataset, size, message in (
        ("clipart", 64, "size = 64; the pixels of clipart are fixed; folder:PATH, cifar-fs:PATH"),
        ("features:none.npz", 64, "size = 64; features:none.npz are features"),
        (f"folder:{tmp_path}", 3, "size = 3; a whole number from 8"),
        (f"folder:{tmp_path}", 2.5, "size = 2.5; a whole number"),
    ):
        with pytest.raises(InputError, match=message):
            evaluation.load_source(dataset, size)


def test_the_size_changes_what_the_network_gives(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "f" / name).mkdir(parents=True)
        for i in range(3):
            large = np.kron(np.roll(GREY, 3 * i + (name == "b")), np.ones((10, 10), np.uint8))
            Image.fromarray(large).save(tmp_path / "f" / name / f"{i}.png")
    banks = {}
    for size in (None, 224, 64):
        run = evaluation.ready(f"folder:{tmp_path}/f", "efficientnet-lite0", "ncc", size=size)
        images, model = of(run)
        banks[size] = backbones.features(images, model)
    assert banks[None].digest == banks[224].digest != banks[64].digest
    assert (banks[None].data - banks[64].data).abs().mean() > 0.1 * banks[64].data.abs().mean()


def test_evaluate_takes_a_size(tmp_path, capsys):
    spec = folder(tmp_path / "f", *[noise(40)] * 3)
    for name in "bcd":
        (tmp_path / "f" / name).mkdir(exist_ok=True)
        for i in range(3):
            Image.fromarray(np.roll(GREY, i + 3 * ord(name))).save(tmp_path / "f" / name / f"{i}.png")
    shape = "--ways 2 --shots 1 --queries 2 --tasks 20 --learners ncc --samplings closed".split()
    command = ["evaluate", spec, "efficientnet-lite0", "-o", str(tmp_path / "t.csv"), *shape]
    assert app.main([*command, "--size", "48", "--intervals"]) == 0
    said = capsys.readouterr().err
    assert "read at 48 × 48 pixels" in said and said.count("read at") == 1
    assert app.main([*command, "--size", "4"]) == 2
    assert "size = 4; a whole number from 8 to 2048 is allowed" in capsys.readouterr().err
