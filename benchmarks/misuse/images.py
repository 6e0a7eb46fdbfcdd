"""``fslcore evaluate folder:PATH``: images as users have them, and names of data sets and backbones."""

from __future__ import annotations

import os
import pickle
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .common import Case, Ran, Refused, Trap, fill, fine, folder, fslcore, of_area, unsprung
from .features import score

case = of_area("evaluate/images")
CLASSES, PER, SIDE = 3, 6, 24
SMALL = ["--ways", "3", "--shots", "2", "--queries", "3", "--tasks", "30", "--samplings", "closed", "--learners", "ncc"]


def shape(c: int, i: int, side: int = SIDE):
    """(H, W) floats, 0 for paper and 1 for ink: bars that lie, bars that stand, a disk; moved a little."""
    import numpy as np

    y, x = np.mgrid[:side, :side] / side
    dx, dy = 0.06 * (i % 3 - 1), 0.06 * (i // 3 - 0.5)
    lying = (np.abs((y - dy) % 0.34 - 0.17) < 0.06) & (np.abs(x - 0.5) < 0.42)
    standing = (np.abs((x - dx) % 0.34 - 0.17) < 0.06) & (np.abs(y - 0.5) < 0.42)
    disk = (x - 0.5 - dx) ** 2 + (y - 0.5 - dy) ** 2 < 0.08
    return [lying, standing, disk][c].astype(float)


def grey(c: int, i: int):
    """(H, W) bytes, dark ink on light paper."""
    return (230 - 200 * shape(c, i)).astype("u1")


def tree(write: Callable, root: str = "data", ending: str = ".png", skip: Callable = lambda c, i: False) -> None:
    """Class folders with images, each by ``write(c, i, path)``."""
    for c in range(CLASSES):
        of = Path(root, ["lying", "standing", "disk"][c])
        of.mkdir(parents=True)
        for i in range(PER):
            if not skip(c, i):
                write(c, i, of / f"{i}{ending}")


def evaluate(*more: str, data: str = "folder:data", backbone: str = "glyph-conv", small: bool = True) -> Ran:
    return fslcore("evaluate", data, backbone, "-o", "r.csv", *(SMALL if small else []), *more)


@cache
def plain() -> float:
    """Mean accuracy on plain 8-bit PNG: what every copy in another form has to reach."""
    with folder():
        tree(save())
        evaluate()
        return score()


def as_plain(ran: Ran) -> str | None:
    """As good as on plain images, but for what another form may lose."""
    found = score()
    return None if found > plain() - 8 else f"{found:.1f} % where plain 8-bit copies give {plain():.1f} %"


def save(change: Callable = lambda image: image, **options) -> Callable:
    """Writes with Pillow what ``change`` makes of the grey image."""

    def write(c: int, i: int, path: Path) -> None:
        from PIL import Image

        change(Image.fromarray(grey(c, i))).save(path, **options)

    return write


def array(make: Callable, **options) -> Callable:
    """Writes with Pillow what ``make(np, shape)`` gives, (H, W) or (H, W, C)."""

    def write(c: int, i: int, path: Path) -> None:
        import numpy as np
        from PIL import Image

        Image.fromarray(make(np, shape(c, i))).save(path, **options)

    return write


def tiff(make: Callable) -> Callable:
    """Writes a plain TIFF by hand: any type of number, one sample or three, as cameras and microscopes do."""

    def write(c: int, i: int, path: Path) -> None:
        import numpy as np

        a = np.ascontiguousarray(make(np, shape(c, i)))
        samples = a.shape[2] if a.ndim == 3 else 1
        bits, form = 8 * a.itemsize, {"u": 1, "i": 2, "f": 3}[a.dtype.kind]
        data = a.astype(a.dtype.newbyteorder("<")).tobytes()
        tags = [
            (256, 4, 1, a.shape[1]),
            (257, 4, 1, a.shape[0]),
            (258, 3, 1, bits),
            (259, 3, 1, 1),
            (262, 3, 1, 2 if samples == 3 else 1),
            (273, 4, 1, 8),
            (277, 3, 1, samples),
            (278, 4, 1, a.shape[0]),
            (279, 4, 1, len(data)),
            (339, 3, 1, form),
        ]
        extra = b""
        if samples == 3:  # three numbers do not fit into a tag
            at = 8 + len(data) + 2 + 12 * len(tags) + 4
            tags[2], tags[9] = (258, 3, 3, at), (339, 3, 3, at + 6)
            extra = struct.pack("<6H", bits, bits, bits, form, form, form)
        entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
        path.write_bytes(
            b"II*\0"
            + struct.pack("<I", 8 + len(data))
            + data
            + struct.pack("<H", len(tags))
            + entries
            + b"\0\0\0\0"
            + extra
        )

    return write


def png(c: int, i: int, path: Path, *, bits: int = 16, kind: int = 2, top: float = 1.0) -> None:
    """A PNG by hand: 16 bits a channel in colour or grey, which Pillow does not write."""
    import numpy as np

    value = ((0.9 - 0.8 * shape(c, i)) * top * (2**bits - 1)).astype(">u2")
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    pixels = np.repeat(value[..., None], channels, axis=2)
    if kind in (4, 6):
        pixels[..., -1] = 65535
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", SIDE, SIDE, bits, kind, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    )


def pgm(c: int, i: int, path: Path, top: int = 65535) -> None:
    """A grey map of 16 bits, by hand."""
    data = ((0.9 - 0.8 * shape(c, i)) * top).astype(">u2")
    path.write_bytes(f"P5 {SIDE} {SIDE} {top}\n".encode() + data.tobytes())


def given(
    name: str, write: Callable, *more: str, ending: str = ".png", after: Callable = lambda: None, **wanted
) -> Case:
    """A case: class folders of such images."""

    def call() -> Ran:
        tree(write, ending=ending)
        after()
        return evaluate(*more)

    return case(name, call, **{"right": as_plain, **wanted})


def icon(np, s, ink: int = 0, under: int = 0):
    """A drawing whose form is in its alpha alone."""
    return np.dstack([np.where(s > 0, ink, under).astype("u1")] * 3 + [(255 * s).astype("u1")])


def turned(c: int, i: int, path: Path) -> None:
    """A photo that lies on its side, and says so, for every second image."""
    from PIL import Image

    image = Image.fromarray(grey(c, i)).convert("RGB")
    if i % 2:
        exif = Image.Exif()
        exif[274] = 6  # turn by 90° to see it
        image.transpose(Image.Transpose.ROTATE_90).save(path, exif=exif, quality=95)
    else:
        image.save(path, quality=95)


def moving(c: int, i: int, path: Path) -> None:
    """Three frames; the first is the image."""
    from PIL import Image

    frames = [Image.fromarray(grey(c, i)).convert("RGB") for _ in range(3)]
    frames[0].save(path, save_all=True, append_images=frames[1:])


u16 = lambda top: lambda np, s: ((0.9 - 0.8 * s) * top).astype("u2")  # noqa: E731
real = lambda scale, shift=0.0: lambda np, s: ((0.9 - 0.8 * s) * scale + shift).astype("f4")  # noqa: E731
READ = dict(says=("0.",))  # refused with the name of a file
forms = [
    given("PNG, grey", save()),
    given("PNG, colour", save(lambda im: im.convert("RGB"))),
    given("PNG, palette", save(lambda im: im.convert("P"))),
    given("PNG, palette of two colours", save(lambda im: im.convert("1").convert("P"))),
    given("PNG, one bit", save(lambda im: im.convert("1"))),
    given("PNG, grey and alpha, all opaque", save(lambda im: im.convert("LA"))),
    given("PNG, colour and alpha, all opaque", save(lambda im: im.convert("RGBA"))),
    given("PNG, 16 bits", array(u16(65535))),
    given("PNG, 12 of 16 bits", array(u16(4095)), warns=("16-bit|16 bit|bits|range",), **READ),
    given("PNG, 10 of 16 bits", array(u16(1023)), warns=("16-bit|16 bit|bits|range",), **READ),
    given("PNG, 16 bits in colour", png),
    given("PNG, 16 bits in colour with alpha", lambda c, i, p: png(c, i, p, kind=6)),
    given("PNG, 16 bits in grey with alpha", lambda c, i, p: png(c, i, p, kind=4)),
    given(
        "PNG, 12 of 16 bits in colour",
        lambda c, i, p: png(c, i, p, top=1 / 16),
        warns=("16-bit|16 bit|bits|range",),
        **READ,
    ),
    given(
        "icon: black, form in the alpha",
        array(icon),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given("icon: black on transparent white", array(lambda np, s: icon(np, s, 0, 255))),
    given(
        "icon: white, form in the alpha",
        array(lambda np, s: icon(np, s, 255, 255)),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given(
        "icon: grey, form in the alpha",
        array(lambda np, s: icon(np, s, 90, 90)),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given("icon: palette with a transparent colour", save(lambda im: im.convert("1").convert("P"), transparency=1)),
    given(
        "icon: half transparent",
        array(lambda np, s: np.dstack([np.zeros_like(s, "u1")] * 3 + [(40 + 150 * s).astype("u1")])),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given(
        "icon: WebP, form in the alpha",
        array(icon, lossless=True, exact=True),
        ending=".webp",
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given(
        "icon: grey and alpha",
        array(lambda np, s: np.dstack([np.zeros_like(s, "u1"), (255 * s).astype("u1")])),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given(
        "icon: all transparent",
        array(lambda np, s: np.dstack([(255 * s).astype("u1")] * 3 + [np.zeros_like(s, "u1")])),
        says=("flat|colour|transparent|alpha|ground",),
        warns=("transparent|alpha|flat",),
    ),
    given("TIFF, 8 bits", array(lambda np, s: (230 - 200 * s).astype("u1")), ending=".tif"),
    given("TIFF, 16 bits", array(u16(65535)), ending=".tif"),
    given("TIFF, 12 of 16 bits", array(u16(4095)), ending=".tif", warns=("16-bit|16 bit|bits|range",), **READ),
    given("TIFF, 16 bits, signed", tiff(lambda np, s: ((0.9 - 0.8 * s) * 32767).astype("i2")), ending=".tif", **READ),
    given("TIFF, 16 bits in colour", tiff(lambda np, s: np.dstack([u16(65535)(np, s)] * 3)), ending=".tif", **READ),
    given("TIFF, 32 bits", tiff(lambda np, s: ((0.9 - 0.8 * s) * (2**32 - 1)).astype("u4")), ending=".tif", **READ),
    given(
        "TIFF, 32 bits of which 8",
        tiff(lambda np, s: ((0.9 - 0.8 * s) * 255).astype("i4")),
        ending=".tif",
        warns=("range|bits|-bit",),
        **READ,
    ),
    given("TIFF, floats, 0 to 1", array(real(1)), ending=".tif", warns=("float|range",), **READ),
    given("TIFF, floats, 0 to 255", array(real(255)), ending=".tif", warns=("float|range",), **READ),
    given("TIFF, floats, -1 to 1", array(real(2, -1)), ending=".tif", warns=("float|range",), **READ),
    given("TIFF, floats, 0 to 65535", array(real(65535)), ending=".tif", warns=("float|range",), **READ),
    given(
        "TIFF, floats with NaN",
        array(lambda np, s: np.where(s > 0.5, np.nan, 0.9).astype("f4")),
        ending=".tif",
        warns=("NaN|float",),
        **READ,
    ),
    given(
        "TIFF, floats of 64 bits",
        tiff(lambda np, s: (0.9 - 0.8 * s).astype("f8")),
        ending=".tif",
        warns=("float|range",),
        **READ,
    ),
    given(
        "TIFF, colour in floats",
        tiff(lambda np, s: np.dstack([(0.9 - 0.8 * s).astype("f4")] * 3)),
        ending=".tif",
        **READ,
    ),
    given("TIFF, CMYK", save(lambda im: im.convert("RGB").convert("CMYK")), ending=".tif"),
    given("TIFF, one bit", save(lambda im: im.convert("1")), ending=".tif"),
    given("TIFF, compressed", save(compression="tiff_deflate"), ending=".tiff"),
    given("TIFF, pages", lambda c, i, p: moving(c, i, p), ending=".tif"),
    given("JPEG", save(quality=95), ending=".jpg"),
    given("JPEG, colour", save(lambda im: im.convert("RGB"), quality=95), ending=".jpeg"),
    given("JPEG, CMYK", save(lambda im: im.convert("RGB").convert("CMYK"), quality=95), ending=".jpg"),
    given("JPEG, progressive", save(lambda im: im.convert("RGB"), quality=95, progressive=True), ending=".JPG"),
    given("JPEG, turned by its Exif", turned, ending=".jpg", warns=("exif|orientation|turned",)),
    given(
        "JPEG, .jfif",
        save(lambda im: im.convert("RGB"), format="JPEG", quality=95),
        ending=".jfif",
        says=(".jfif|data",),
    ),
    given("GIF", save(), ending=".gif"),
    given("GIF, moving", moving, ending=".gif"),
    given("GIF, transparent", save(lambda im: im.convert("1").convert("P"), transparency=1), ending=".gif"),
    given("PNG, moving", moving),
    given("WebP", save(lossless=True), ending=".webp"),
    given("WebP, moving", moving, ending=".webp"),
    given("AVIF", save(lambda im: im.convert("RGB"), quality=95), ending=".avif", says=(".avif|data",)),
    given("JPEG 2000", save(lambda im: im.convert("RGB")), ending=".jp2", says=(".jp2|data",)),
    given("TGA", save(lambda im: im.convert("RGB")), ending=".tga", says=(".tga|data",)),
    given("ICO", save(lambda im: im.convert("RGB"), sizes=[(SIDE, SIDE)]), ending=".ico", says=(".ico|data",)),
    given("BMP", save(), ending=".bmp"),
    given("BMP, one bit", save(lambda im: im.convert("1")), ending=".bmp"),
    given("PPM", save(lambda im: im.convert("RGB")), ending=".ppm"),
    given("PGM", save(), ending=".pgm"),
    given("PGM, 16 bits", pgm, ending=".pgm"),
    given("PGM, 12 bits", lambda c, i, p: pgm(c, i, p, 4095), ending=".pgm"),
    given("PBM", save(lambda im: im.convert("1")), ending=".pbm", says=(".pbm|data",)),
    given("Lab", save(lambda im: im.convert("RGB")), ending=".PNG"),
    given("no ending", save(format="PNG"), ending="", says=("ending|no image|lying",)),
    given("an ending that is wrong", save(format="PNG"), ending=".jpg"),
    given("an ending that nobody knows", save(format="PNG"), ending=".dat", says=(".dat|no image|lying",)),
    given("an ending .png~", save(format="PNG"), ending=".png~", says=("png~|no image|lying",)),
    given("long and narrow", save(lambda im: im.resize((SIDE * 40, SIDE))), right=fine),
    given("one pixel", save(lambda im: im.resize((1, 1))), right=fine, says=("0.png",), warns=("flat|colour",)),
    given("sizes that differ", lambda c, i, p: save(lambda im: im.resize((20 + 7 * i, 20 + 7 * i)))(c, i, p)),
    given("all of one colour in their files", save(lambda im: im.point(lambda _: 90)), right=fine),
]


def put(name: str, content: bytes | str = b"") -> Callable[[], None]:
    """One more file, by its path in the data."""

    def do() -> None:
        path = Path("data", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        fill(path, content)

    return do


def one(path: str = "data/lying/0.png", c: int = 0, i: int = 0) -> None:
    """One image, plain, at a path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save(format="PNG")(c, i, Path(path))


def bomb() -> None:
    """A PNG that says it is 60,000 pixels wide and high."""
    one()
    path = Path("data/lying/0.png")
    raw = bytearray(path.read_bytes())
    raw[16:24] = struct.pack(">II", 60000, 60000)
    raw[29:33] = struct.pack(">I", zlib.crc32(bytes(raw[12:29])))
    path.write_bytes(raw)


def cut(path: str = "data/lying/0.png", share: float = 0.6) -> Callable[[], None]:
    def do() -> None:
        raw = Path(path).read_bytes()
        Path(path).write_bytes(raw[: int(share * len(raw))])

    return do


def nested(c: int, i: int, path: Path) -> None:
    """CLASS/PART/IMAGE."""
    inner = path.parent / "ab"[i % 2]
    inner.mkdir(exist_ok=True)
    save()(c, i, inner / path.name)


def deep(c: int, i: int, path: Path) -> None:
    """Some images in the class folder, some below."""
    if i % 2:
        return nested(c, i, path)
    return save()(c, i, path)


def named(old: str, new: str) -> Callable[[], None]:
    return lambda: os.rename(old, new)


def both(*steps: Callable) -> Callable[[], None]:
    return lambda: [step() for step in steps] and None


ONE = dict(right=None, says=("0.png",))
plain_images = lambda name, after, *more, **wanted: given(name, save(), *more, after=after, **wanted)  # noqa: E731
HEIC = struct.pack(">I", 24) + b"ftypheic\0\0\0\0mif1heic" + bytes(64)
folders = [
    plain_images("a HEIC beside them", put("lying/9.heic", HEIC), says=("heic",), right=None, warns=("heic",)),
    given(
        "only HEIC",
        lambda c, i, p: p.write_bytes(HEIC),
        ending=".heic",
        right=None,
        says=("heic|class folder data/disk",),
    ),
    plain_images(
        "camera raw beside them", put("lying/9.cr2", b"II*\0" + bytes(99)), says=("cr2",), right=None, warns=("cr2",)
    ),
    plain_images("a film beside them", put("lying/9.mp4", bytes(99)), says=("mp4",), warns=("mp4",), right=None),
    plain_images("an SVG beside them", put("lying/9.svg", "<svg/>"), says=("svg",), warns=("svg",), right=None),
    plain_images("a text beside them", put("lying/README.txt", "photos of May"), says=("README",), right=as_plain),
    plain_images("a table in the top folder", put("labels.csv", "a,b"), right=as_plain, says=("labels.csv",)),
    plain_images(
        "hidden files",
        both(put(".DS_Store", "x"), put("lying/.DS_Store", "x"), put("lying/._0.png", "x"), put(".git/HEAD", "x")),
    ),
    plain_images("Thumbs.db", put("lying/Thumbs.db", "x"), says=("Thumbs",)),
    plain_images(
        "images in the top folder too",
        lambda: one("data/loose.png"),
        says=("loose|class folder",),
        warns=("loose|class folder",),
        right=None,
    ),
    given(
        "only images in the top folder",
        lambda c, i, p: (save()(c, i, Path("data", f"{c}{i}.png")), p.parent.rmdir() if i == PER - 1 else None),
        right=None,
        says=("class folder",),
    ),
    given("CLASS/PART/IMAGE", nested, says=("class folder|folders",)),
    given("CLASS/IMAGE and CLASS/PART/IMAGE", deep, says=("/a|/b|folder",), warns=("not read|left out",)),
    given(
        "train and test above the classes",
        lambda c, i, p: (
            Path("data/train", p.parent.name).mkdir(parents=True, exist_ok=True),
            save()(c, i, Path("data/train", p.parent.name, p.name)),
            p.parent.rmdir() if i == PER - 1 else None,
        ),
        right=None,
        says=("train|class",),
    ),
    plain_images("an empty class folder", lambda: Path("data/none").mkdir(), right=None, says=("none",)),
    plain_images("an empty class folder, hidden", lambda: Path("data/.ipynb_checkpoints").mkdir()),
    plain_images("a class __pycache__", put("__pycache__/x.pyc", "x"), says=("__pycache__",), right=as_plain),
    plain_images("a class of one image", lambda: one("data/single/0.png"), right=None, says=("single", "1")),
    plain_images("a class of one image, left out", lambda: one("data/single/0.png"), "--skip-small-classes"),
    plain_images("a class in a text file", put("fourth", "x"), says=("fourth",)),
    plain_images("corrupt", cut(), **ONE),
    plain_images("cut off at the end", cut(share=0.97), says=("0.png",)),
    plain_images("empty", put("lying/0.png"), **ONE),
    plain_images("text", put("lying/0.png", "not an image"), **ONE),
    plain_images("a page of errors", put("lying/0.png", "<html>404</html>"), **ONE),
    plain_images("larger than memory", bomb, **ONE),
    plain_images(
        "a folder called x.png",
        lambda: Path("data/lying/x.png").mkdir(),
        says=("x.png", "folder|directory|not a file"),
        right=as_plain,
    ),
    plain_images(
        "a link to nothing", lambda: Path("data/lying/x.png").symlink_to("gone.png"), says=("x.png",), right=None
    ),
    plain_images("a link to itself", lambda: Path("data/lying/x.png").symlink_to("x.png"), says=("x.png",), right=None),
    plain_images("a link to another image", lambda: Path("data/lying/x.png").symlink_to("0.png")),
    plain_images("a class that is a link", lambda: Path("data/copy").symlink_to("lying"), right=fine, says=("copy",)),
    plain_images(
        "a class that is a link to all", lambda: Path("data/loop").symlink_to("."), right=None, says=("loop",)
    ),
    plain_images(
        "a link to all inside a class",
        lambda: Path("data/lying/loop").symlink_to(".."),
        says=("loop",),
        warns=("loop|folder",),
        right=as_plain,
    ),
    plain_images("a pipe", lambda: os.mkfifo("data/lying/x.png"), says=("x.png",), right=None),
    plain_images("/dev/zero", lambda: Path("data/lying/x.png").symlink_to("/dev/zero"), says=("x.png",), right=None),
    plain_images(
        "a folder nobody may list",
        lambda: Path("data/proc").symlink_to("/proc/1/map_files"),
        right=None,
        says=("proc",),
    ),
    plain_images(
        "names with blanks",
        both(named("data/lying", "data/lying bars"), named("data/disk/0.png", "data/disk/an image.png")),
    ),
    plain_images(
        "names in other scripts", both(named("data/lying", "data/横 é 🍄"), named("data/disk/0.png", "data/disk/ü.png"))
    ),
    plain_images(
        "a newline in a name", both(named("data/lying", "data/ly\ning"), named("data/disk/0.png", "data/disk/a\nb.png"))
    ),
    plain_images(
        "a newline in the name of a corrupt image", both(put("disk/a\nb.png", "x")), right=None, says=("b.png",)
    ),
    plain_images("bytes that are no text in a name", lambda: os.rename(b"data/disk/0.png", b"data/disk/\xff.png")),
    plain_images(
        "bytes that are no text in the name of a corrupt image",
        lambda: Path(os.fsdecode(b"data/disk/\xff.png")).write_text("x"),
        right=None,
        says=("png",),
    ),
    plain_images("a class that begins with a dash", named("data/lying", "data/-rf")),
    plain_images("a class with brackets and a percent sign", named("data/lying", "data/[a-z] 100%")),
    plain_images("a class with quotes and commas", named("data/lying", "data/a,'b\",c")),
    plain_images("a class of 250 letters", named("data/lying", "data/" + "x" * 250)),
    plain_images(
        "classes that differ in case only",
        lambda: [one(f"data/Disk/{i}.png", 2, i) for i in range(PER)] and None,
        right=fine,
    ),
    case(
        "a folder with a question mark",
        lambda: (tree(save(), "my?data"), evaluate(data="folder:my?data"))[1],
        right=as_plain,
    ),
    case(
        "a folder with a colon", lambda: (tree(save(), "my:data"), evaluate(data="folder:my:data"))[1], right=as_plain
    ),
    case(
        "a folder with a blank at its end",
        lambda: (tree(save(), "data "), evaluate(data="folder:data "))[1],
        right=as_plain,
    ),
    case("the present folder", lambda: (tree(save(), "."), evaluate(data="folder:."))[1], right=as_plain),
    case("a slash at the end", lambda: (tree(save()), evaluate(data="folder:data/"))[1], right=as_plain),
    case(
        "one class",
        lambda: (
            tree(save(), skip=lambda c, i: c > 0),
            __import__("shutil").rmtree("data/disk"),
            __import__("shutil").rmtree("data/standing"),
            evaluate(),
        )[-1],
        says=("class", "1"),
    ),
    case("an empty folder", lambda: (Path("data").mkdir(), evaluate())[1], says=("data", "class")),
    case("a cache cut in half", lambda: (tree(save()), evaluate(), _half_a_cache())[-1], right=as_plain),
    case(
        "the same images twice give the same file",
        lambda: (
            tree(save()),
            evaluate(),
            Path("r.csv").rename("a.csv"),
            evaluate(),
            Path("a.csv").read_bytes() == Path("r.csv").read_bytes(),
        )[-1],
        right=lambda same: None if same else "another result",
    ),
    plain_images("--size 32", lambda: None, "--size", "32", right=fine, says=("size", "32")),
    *(
        plain_images(f"--size {v}", lambda: None, "--size", v, right=None, says=("size", v))
        for v in ("0", "-1", "nan", "1e9", "1000000", "2.5")
    ),
]


def _half_a_cache() -> Ran:
    """Every file of the cache is cut in half; in the end it is emptied, or the next case would suffer."""
    import shutil

    from fslcore import store

    for path in [*store.path().rglob("*.safetensors"), *store.path().rglob("*.npz")]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    try:
        return evaluate()
    finally:
        shutil.rmtree(store.path(), ignore_errors=True)


def data(name: str, *says: str, **wanted) -> Case:
    return case(f"data set {name or 'empty'}", lambda: evaluate(data=name), says=says, **wanted)


def weights(
    name: str, write: Callable[[Path], None], file: str, *says: str, backbone: str = "glyph-conv", **wanted
) -> Case:
    def call() -> Ran:
        tree(save())
        write(Path(file))
        return evaluate(backbone=f"{backbone}:{file}")

    return case(f"weights: {name}", call, says=says, **wanted)


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(Trap()))


def other_tensors(path: Path) -> None:
    import torch

    torch.save({"a": torch.zeros(3)}, path)


def of_list(path: Path) -> None:
    import torch

    torch.save([torch.zeros(3)], path)


names = [
    data("clipard", "clipard", "mean clipart"),
    data("Clipart", "Clipart", "clipart"),
    data("glyphs/hebrw", "hebrw", "mean glyphs/hebrew"),
    data("imagenet", "imagenet", "known|allowed"),
    data("miniimagenet", "miniimagenet", "miniimagenet:"),
    data("", "dataset"),
    data("folder:", "folder|dataset"),
    data("folder:gone", "gone"),
    data("Folder:data", "Folder:", "folder:"),
    data("data", "data", "folder:"),
    data("folder:/proc/version", "/proc/version"),
    data("clipart?ink=red", "clipart?ink=red"),
    data("coloured?ink=redd", "redd"),
    data("coloured?bias=2", "bias", "2"),
    data("coloured?bias=nan", "bias", "nan"),
    data("coloured?per_class=0", "per_class", "0"),
    data("coloured?per_class=-5", "per_class", "-5"),
    data("coloured?per_class=x", "per_class", "x"),
    data("coloured?colour=red", "colour"),
    data("coloured?", "coloured?"),
    data("coloured?per_class", "per_class"),
    data("coloured?seed=-1", "seed", "-1"),
    data("cub:.", "."),
    data("cifar-fs:.", "."),
    data("meta-album:.", "."),
    data("miniimagenet:.", "."),
    data("tieredimagenet:.", "."),
    data("cub:gone", "gone"),
    data("clipart/", "clipart/"),
    data("../clipart", "../clipart"),
    data("folder:" + "x" * 300, "xxx"),
    *(
        case(f"backbone {name or 'empty'}", lambda name=name: (tree(save()), evaluate(backbone=name))[1], says=words)
        for name, words in {
            "efficientnet": ("efficientnet", "mean efficientnet-lite0|mean efficientnet-lite2"),
            "glyphconv": ("glyphconv", "mean glyph-conv"),
            "resnet50": ("resnet50", "known|allowed"),
            "": ("backbone",),
            "none": ("none",),
            "Glyph-Conv": ("Glyph-Conv", "glyph-conv"),
            "glyph-conv:": ("glyph-conv",),
            "glyph-conv:gone.pt": ("gone.pt",),
            "resnet18-leo": ("resnet18-leo", "weights"),
            "clip": ("clip", "weights"),
            "clip:gone.safetensors": ("gone.safetensors",),
        }.items()
        if name != "glyph-conv:"
    ),
    case(
        "backbone glyph-conv:",
        lambda: (tree(save()), evaluate(backbone="glyph-conv:"))[1],
        says=("glyph-conv",),
        right=as_plain,
    ),
    weights("text", lambda p: p.write_text("hello\n"), "w.pt", "w.pt"),
    case(
        "weights: text: not (101) as a reason",
        lambda: (tree(save()), Path("w.pt").write_text("hello\n"), _reason(evaluate(backbone="glyph-conv:w.pt")))[-1],
        says=("w.pt",),
        right=lambda text: text,
    ),
    weights("empty", lambda p: p.touch(), "w.pt", "w.pt"),
    weights("empty safetensors", lambda p: p.touch(), "w.safetensors", "w.safetensors"),
    weights("noise as safetensors", lambda p: p.write_bytes(bytes(range(99))), "w.safetensors", "w.safetensors"),
    weights("a folder", lambda p: p.mkdir(), "w.pt", "w.pt", "folder|no weights file|directory"),
    weights("a pickle that runs a command", pickled, "w.pt", "w.pt", right=unsprung),
    weights("of another network", other_tensors, "w.pt", "w.pt"),
    weights("a list", of_list, "w.pt", "w.pt", "list"),
    weights("a web page", lambda p: p.write_text("<!DOCTYPE html>"), "w.pth", "w.pth"),
    weights("an image", lambda p: one(str(p)), "w.pt", "w.pt"),
    weights("for a backbone of another kind", other_tensors, "w.pt", "w.pt", backbone="conv4-protonet"),
    case(
        "a learner of maps on vectors",
        lambda: (tree(save()), evaluate("--learners", "dn4"))[1],
        says=("dn4", "map"),
        right=fine,
    ),
    case(
        "a learner whose weights do not fit",
        lambda: (tree(save()), evaluate("--learners", "leo"))[1],
        says=("leo",),
        right=fine,
    ),
    case(
        "MAML on a network it cannot use",
        lambda: (tree(save()), evaluate("--learners", "maml"))[1],
        says=("maml",),
        right=fine,
    ),
]


def _reason(ran: Ran) -> str | None:
    """Wrong where a code of some library stands for the reason."""
    if ran.code == 2 and "(101)" in ran.err:
        return f"no reason: {ran.err}"
    if ran.code == 2:
        raise Refused(ran.err)
    return f"taken: {ran.out}"


CASES = forms + folders + names
