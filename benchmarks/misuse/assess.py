"""``fslcore assess``: supports as users have them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from .common import Case, Ran, fine, fslcore, has, nowhere, of_area, small_disk
from .images import HEIC, array, cut, deep, icon, nested, one, put, real, save, tree, turned, u16

case = of_area("assess")
FIRST = 60.0  # seconds: the episodes are read and the estimators fitted once a process


def assess(*more: str, data: str = "data", small: bool = True) -> Ran:
    chosen = ["--backbone", "glyph-conv", "--learner", "ncc"] if small else []
    return fslcore("assess", data, *([] if "-o" in more else ["-o", "out.html"]), *chosen, *more)


def estimate(ran: Ran) -> float | None:
    """The least estimate that is printed, in percent."""
    found = re.findall(r": (?:about )?(\d+) %", ran.out)
    return min(map(float, found)) if found else None


def at_least(least: float) -> Callable[[Ran], str | None]:
    """Estimates of at least so many percent, and a page."""

    def check(ran: Ran) -> str | None:
        got = estimate(ran)
        if got is None:
            return f"no estimate in {ran.out}"
        if not Path("out.html").is_file():
            return "no page"
        return None if got >= least else f"{got:.0f} % where the classes lie apart: {ran.out}"

    return check


def given(
    name: str, write: Callable, *more: str, ending: str = ".png", after: Callable = lambda: None, **wanted
) -> Case:
    def call() -> Ran:
        tree(write, ending=ending)
        after()
        return assess(*more)

    return case(name, call, limit=FIRST, **wanted)


def photos(c: int, i: int, path: Path) -> None:
    """Photos of one scene a class, all but alike: noise over a pattern of the class."""
    import numpy as np
    from PIL import Image

    scene = np.random.default_rng(c).integers(40, 216, (6, 6, 3)).repeat(8, axis=0).repeat(8, axis=1)
    noise = np.random.default_rng(100 + 10 * c + i).integers(-3, 4, scene.shape)
    Image.fromarray((scene + noise).astype("u1")).save(path)


def same(c: int, i: int, path: Path) -> None:
    """One and the same image everywhere, but for a byte behind its end."""
    save()(0, 0, path)


def noise(c: int, i: int, path: Path) -> None:
    import numpy as np
    from PIL import Image

    Image.fromarray(np.random.default_rng(100 * c + i).integers(0, 256, (32, 32, 3)).astype("u1")).save(path)


def many(classes: int, per: int) -> Callable[[], None]:
    """A support of so many classes and images a class, in place of the first."""

    def do() -> None:
        shutil.rmtree("data")
        for c in range(classes):
            for i in range(per):
                one(f"data/class {c:03d}/{i}.png", c % 3, (c + i) % 6)

    return do


plain = lambda name, *more, after=lambda: None, **wanted: given(name, save(), *more, after=after, **wanted)  # noqa: E731
ALPHA = dict(says=("flat|transparent|alpha|colour|ground",), warns=("transparent|alpha|flat",))
RANGE = dict(says=("0.",), warns=("16-bit|16 bit|bits|float",))
supports = [
    plain("good", right=at_least(60)),
    plain("both learners", "--learner", "ncc", "lr", right=at_least(60)),
    *(
        given(
            f"near-identical photos, {b} {learner}",
            photos,
            "--backbone",
            b,
            "--learner",
            learner,
            right=at_least(85),
            warns=("outside", "5-fold|range"),
        )
        for b in ("glyph-conv", "efficientnet-lite0")
        for learner in ("ncc", "lr")
    ),
    given(
        "near-identical photos, the defaults",
        photos,
        "--backbone",
        "efficientnet-lite0",
        "glyph-conv",
        "--learner",
        "ncc",
        "lr",
        right=at_least(85),
        warns=("outside", "5-fold|range"),
    ),
    given(
        "nothing to tell classes by",
        noise,
        right=lambda ran: None if (estimate(ran) or 0) >= 25 else f"below chance: {ran.out}",
        warns=("chance",),
    ),
    given(
        "one image everywhere", same, says=("same|identical|equal",), warns=("the same|identical|equal|twice|chance",)
    ),
    plain(
        "one image a class",
        after=lambda: [p.unlink() for p in Path("data").glob("*/[1-9].png")] and None,
        right=has("%"),
        warns=("one image",),
    ),
    plain(
        "one image in one class",
        after=lambda: [p.unlink() for p in Path("data/disk").glob("[1-9].png")] and None,
        right=has("one image", "disk"),
    ),
    plain(
        "two images a class",
        after=lambda: [p.unlink() for p in Path("data").glob("*/[2-9].png")] and None,
        right=has("%"),
    ),
    plain("one class", after=lambda: (shutil.rmtree("data/disk"), shutil.rmtree("data/standing")), says=("class", "2")),
    plain("two classes", after=lambda: shutil.rmtree("data/disk"), right=has("%")),
    plain(
        "21 images in a class",
        after=lambda: [one(f"data/disk/x{i}.png", 2, i % 6) for i in range(15)] and None,
        says=("disk", "21", "20"),
    ),
    plain("40 classes of two", after=many(40, 2), right=has("40 classes"), warns=("40",)),
    plain("no images", after=lambda: [p.unlink() for p in Path("data").glob("*/*")] and None, says=("disk", "image")),
    plain("an empty class", after=lambda: Path("data/none").mkdir(), says=("none",)),
    case("an empty folder", lambda: (Path("data").mkdir(), assess())[1], says=("data", "class")),
    case("no such folder", lambda: assess(data="gone"), says=("gone",)),
    case("a file", lambda: (Path("data").write_text("x"), assess())[1], says=("data",)),
    case("an empty name", lambda: assess(data=""), says=("folder",)),
    case("a name too long", lambda: assess(data="x" * 300), says=("xxx",)),
    case(
        "folder: before the name",
        lambda: (tree(save()), assess(data="folder:data"))[1],
        says=("folder:data",),
        right=at_least(60),
        limit=FIRST,
    ),
    case("the present folder", lambda: (tree(save(), "."), assess(data="."))[1], right=at_least(60), limit=FIRST),
    case("a slash at the end", lambda: (tree(save()), assess(data="data/"))[1], right=at_least(60), limit=FIRST),
    plain("corrupt", after=cut(), says=("0.png",)),
    plain("empty image", after=put("lying/0.png"), says=("0.png",)),
    plain("a HEIC beside them", after=put("lying/9.heic", HEIC), says=("heic",), warns=("heic",)),
    plain("hidden files", after=put("lying/._0.png", "x"), right=at_least(60)),
    plain("a text beside them", after=put("lying/notes.txt", "x"), right=at_least(60), says=("notes",)),
    plain(
        "images in the top folder too",
        after=lambda: one("data/loose.png"),
        says=("loose|class folder",),
        warns=("loose|class folder",),
    ),
    given("CLASS/PART/IMAGE", nested, right=at_least(60), says=("class folder|folders",)),
    given(
        "CLASS/IMAGE and CLASS/PART/IMAGE",
        deep,
        says=("/a|/b|folder",),
        warns=("not read|are left out|were left out",),
        right=at_least(60),
    ),
    given("PNG, 16 bits", array(u16(65535)), right=at_least(60)),
    given("PNG, 12 of 16 bits", array(u16(4095)), right=at_least(60), **RANGE),
    given("TIFF, floats", array(real(1)), ending=".tif", right=at_least(60), **RANGE),
    given("icon: form in the alpha", array(icon), right=at_least(60), **ALPHA),
    given("icon: white, form in the alpha", array(lambda np, s: icon(np, s, 255, 255)), right=at_least(60), **ALPHA),
    given("JPEG, turned by its Exif", turned, ending=".jpg", right=at_least(50), warns=("exif|orientation",)),
    given(
        "all of one colour",
        save(lambda im: im.point(lambda _: 90)),
        says=("flat|colour|same|identical|equal",),
        warns=("flat|one colour|identical|alike|chance",),
    ),
]


def option(*more: str, name: str = "", **wanted) -> Case:
    return plain(name or " ".join(more), *more, **wanted)


options = [
    *(option("--level", v, says=("level", v)) for v in ("0", "1", "-0.5", "90", "nan", "inf", "high", "", "0,9")),
    option("--level", "0.8", right=has("80 %")),
    option("--backbone", "efficientnet-lite1", says=("efficientnet-lite1",)),
    option("--backbone", "clip", says=("clip", "efficientnet-lite0")),
    option("--backbone", "glyphconv", says=("glyphconv", "glyph-conv")),
    option("--backbone", "", says=("backbone",)),
    option(
        "--backbone",
        "glyph-conv",
        "glyph-conv",
        says=("glyph-conv", "twice|once|double"),
        right=lambda ran: None if ran.out.count("glyph-conv ncc:") == 1 else f"twice: {ran.out}",
    ),
    option(
        "--learner",
        "ncc",
        "ncc",
        says=("ncc", "twice|once|double"),
        right=lambda ran: None if ran.out.count("glyph-conv ncc:") == 1 else f"twice: {ran.out}",
    ),
    option("--learner", "ft", says=("ft", "ncc")),
    option("--learner", "NCC", says=("NCC", "ncc"), right=fine),
    option("--learner", "lrr", says=("lrr", "lr")),
    option("--learner", "", says=("learner",)),
    option("--learner", says=("learner",)),
    option("--learner", "protonet", says=("protonet", "ncc")),
    option("--size", "0", says=("size",)),
    option("--size", "-3", says=("size",)),
    option("--json", right=lambda ran: __import__("json").loads(ran.out) and None),
    option("extra", says=("extra",)),
    *(option("-o", v, says=(v or "output|-o", ".html")) for v in ("out.pdf", "out", "-", "out.csv")),
    option("-o", "", says=("output|-o",)),
    option(
        "-o",
        "data/out.html",
        name="page inside the support",
        right=lambda _: None if Path("data/out.html").is_file() else "no page",
    ),
    case(
        "a disk without room",
        lambda: (tree(save()), _full())[1],
        says=("out.html|room|space|large|cache",),
        limit=FIRST,
    ),
    case(
        "bad options are told before an image is read",
        lambda: (tree(save()), cut()(), assess("--level", "2"))[-1],
        says=("level",),
    ),
    case(
        "a bad page is told before an image is read",
        lambda: (tree(save()), cut()(), assess("-o", "out.pdf"))[-1],
        says=("out.pdf",),
    ),
]


def _full() -> Ran:
    with small_disk(2000):
        return assess()


def _page(make: Callable[[], str]) -> Callable[[], Ran]:
    def call() -> Ran:
        tree(save())
        return assess("-o", make())

    return call


for name, make in nowhere(".html").items():
    options.append(case(f"page: {name}", _page(make), says=("plain|there|proc|xxx",), limit=FIRST))
CASES = supports + options
