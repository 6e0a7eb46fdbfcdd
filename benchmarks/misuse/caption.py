"""``fslcore caption``, tables of captions, and attributes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .common import Case, Ran, Trap, fill, fine, fslcore, nowhere, of_area, small_disk, unsprung
from .images import one, save, tree

case = of_area("caption/attributes")
HEAD = "image,caption,captioner\n"


def caption(*more: str, data: str = "folder:data") -> Ran:
    return fslcore("caption", data, *([] if "-o" in more else ["-o", "c.csv"]), *more)


def rows(n: int = 18, path: str = "c.csv") -> Callable[[object], str | None]:
    def check(_: object) -> str | None:
        import pandas as pd

        table = pd.read_csv(path)
        return None if len(table) == n and table["caption"].notna().all() else f"{len(table)} captions of {n}"

    return check


def option(*more: str, name: str = "", before: Callable = lambda: None, data: str = "folder:data", **wanted) -> Case:
    return case(name or " ".join(more), lambda: (tree(save()), before(), caption(*more, data=data))[-1], **wanted)


def kept(text: str | bytes) -> Callable[[], None]:
    """A file that lies where the captions go to."""
    return lambda: Path("c.csv").write_bytes(text if isinstance(text, bytes) else text.encode()) and None


def _begun() -> None:
    """The first half of what a run writes."""
    caption()
    lines = Path("c.csv").read_text().splitlines(keepends=True)
    Path("c.csv").write_text("".join(lines[:9]))


commands = [
    option(name="good", right=rows()),
    option(name="twice the same", before=caption, right=rows()),
    option(name="goes on", before=_begun, right=rows()),
    *(
        option("--captioner", name, says=words)
        for name, words in {
            "pixel": ("pixel", "mean pixels"),
            "": ("captioner",),
            "Pixels": ("Pixels", "pixels"),
            "gpt": ("gpt", "pixels"),
            "pixels:x": ("pixels:x",),
            "blip:gone": ("blip",),
            "vit-gpt2": ("vit-gpt2",),
            "blip": ("blip",),
            "blip-large": ("blip-large",),
            "blip:": ("blip",),
            "blip:data": ("blip",),
            "vit-gpt2:/proc/version": ("vit-gpt2",),
        }.items()
    ),
    *(option("--split", v, says=("split", v)) for v in ("test", "", "Novel")),
    *(
        option(data=d, name=f"data set {d or 'empty'}", says=words)
        for d, words in {
            "clipard": ("clipard", "mean clipart"),
            "folder:gone": ("gone",),
            "": ("dataset",),
            "features:f.npz": ("features:f.npz",),
            "data": ("data", "folder:"),
        }.items()
    ),
    *(
        option("-o", v, name=f"output {v or 'empty'}", says=(v or "output|-o", ".csv"))
        for v in ("c.txt", "c", "", "c.parquet", "c.csv.gz", ".")
    ),
    option("-o", "new/c.csv", name="output in a new folder", right=rows(path="new/c.csv")),
    option(name="a table of other columns there", before=kept("a,b\n1,2\n"), says=("c.csv", "image|caption")),
    option(
        name="captions of another captioner there",
        before=kept(HEAD + "disk/0.png,a disk,blip\n"),
        says=("c.csv", "blip"),
    ),
    option(
        name="captions of other images there",
        before=kept(HEAD + "cat/0.png,a cat,pixels\n"),
        says=("c.csv", "other images|cat"),
    ),
    option(name="an empty file there", before=lambda: Path("c.csv").touch(), says=("c.csv",), right=rows()),
    option(name="only a header there", before=kept(HEAD), says=("c.csv",), right=rows()),
    option(name="noise there", before=kept(bytes(range(256))), says=("c.csv",)),
    option(name="UTF-16 there", before=kept((HEAD + "disk/0.png,a disk,pixels\n").encode("utf-16")), says=("c.csv",)),
    option(
        name="a row that is cut there",
        before=lambda: (_begun(), Path("c.csv").write_text(Path("c.csv").read_text() + '"disk/')),
        says=("c.csv",),
        right=rows(),
    ),
    option(
        name="more rows than images there",
        before=lambda: (caption(), Path("c.csv").write_text(Path("c.csv").read_text() + "disk/0.png,x,pixels\n")),
        says=("c.csv",),
    ),
    option(name="a corrupt image", before=lambda: Path("data/disk/3.png").write_text("x"), says=("3.png",)),
    option(name="two images of one name", before=lambda: one("data/x/disk/0.png") if False else None, right=rows()),
    option(name="names with commas and quotes", before=lambda: Path("data/disk").rename('data/a,"b'), right=rows()),
    option(name="names in other scripts", before=lambda: Path("data/disk").rename("data/横 é"), right=rows()),
    option(name="a newline in a name", before=lambda: Path("data/disk").rename("data/a\nb"), right=rows()),
    option(
        name="bytes that are no text in a name",
        before=lambda: __import__("os").rename(b"data/disk/0.png", b"data/disk/\xff.png"),
        right=fine,
        says=("png",),
    ),
    option("extra", says=("extra",)),
    case("nothing given", lambda: fslcore("caption"), says=("dataset",)),
    case("no output", lambda: (tree(save()), fslcore("caption", "folder:data"))[1], says=("-o",)),
    case("a disk without room", lambda: (tree(save()), _full())[1], says=("c.csv|room|space|large",)),
    *(
        case(
            f"output: {name}",
            lambda make=make: (tree(save()), caption("-o", make()))[1],
            says=("plain|there|proc|xxx",),
        )
        for name, make in nowhere(".csv").items()
    ),
    option(
        "--captioner", "blip", "-o", "c.txt", name="a bad output is told before weights are looked for", says=("c.txt",)
    ),
]


def _full() -> Ran:
    with small_disk():
        return caption()


def images():
    from fslcore import datasets

    tree(save())
    return datasets.load("folder:data")


NAMES = [f"{c}/{i}.png" for c in ("disk", "lying", "standing") for i in range(6)]
TABLE = "image,caption\n" + "".join(f"{n},a dark form number {i}\n" for i, n in enumerate(NAMES))


def table(name: str, content: str | bytes, file: str = "c.csv", **wanted) -> Case:
    """A table of captions, read for the images."""

    def call() -> list[str]:
        from fslcore.tools.attributes import captions

        found = images()
        fill(Path(file), content)
        return captions.read(file, found)

    return case(f"table: {name}", call, **wanted)


right = lambda found: None if found[3] == "a dark form number 3" and len(found) == 18 else f"{found[3]}"  # noqa: E731
tables = [
    table("good", TABLE, right=right),
    table("file in place of image", TABLE.replace("image", "file", 1), right=right),
    table("on Windows", TABLE.replace("/", "\\").replace("\n", "\r\n"), right=right, says=("png",)),
    table("a byte order mark", b"\xef\xbb\xbf" + TABLE.encode(), right=right),
    table("semicolons", TABLE.replace(",", ";"), right=right, says=("c.csv",)),
    table("tabs", TABLE.replace(",", "\t"), right=right, says=("c.csv",)),
    table("capitals", TABLE.replace("image,caption", "Image,Caption"), right=right, says=("c.csv", "caption|image")),
    table(
        "blanks around names", TABLE.replace("image,caption", "image, caption"), right=right, says=("c.csv", "caption")
    ),
    table("no column caption", TABLE.replace("caption", "text", 1), says=("c.csv", "caption")),
    table("no column image", TABLE.replace("image", "id", 1), says=("c.csv", "image")),
    table("no header", TABLE.split("\n", 1)[1], says=("c.csv",)),
    table("one image left out", TABLE.replace("disk/3.png,a dark form number 3\n", ""), says=("disk/3.png",)),
    table("an image twice", TABLE + "disk/3.png,another\n", says=("disk/3.png", "twice")),
    table("images of others too", TABLE + "cat/3.png,a cat\n", right=right),
    table(
        "bare names, all alike",
        TABLE.replace("disk/", "").replace("lying/", "").replace("standing/", ""),
        says=("png", "twice"),
    ),
    table(
        "an empty caption",
        TABLE.replace("a dark form number 3\n", "\n", 1),
        says=("disk/3.png",),
        warns=("empty",),
        right=lambda found: "an image without caption is taken",
    ),
    table("a caption NaN", TABLE.replace("a dark form number 3\n", "NaN\n", 1), says=("disk/3.png",), right=fine),
    table(
        "only blanks as a caption",
        TABLE.replace("a dark form number 3\n", "  \n", 1),
        says=("disk/3.png",),
        right=lambda found: "an image without caption is taken",
    ),
    table("a comma without quotes", TABLE.replace("a dark form number 3", "a dark form, number 3"), says=("c.csv",)),
    table("empty", "", says=("c.csv",)),
    table("only a header", "image,caption\n", says=("c.csv",)),
    table("noise", bytes(range(256)) * 3, says=("c.csv",)),
    table("UTF-16", TABLE.encode("utf-16"), says=("c.csv",), right=right),
    table("Latin 1", TABLE.replace("dark", "düster").encode("latin-1"), says=("c.csv",)),
    table(
        "a column caption twice",
        TABLE.replace("caption\n", "caption,caption\n", 1).replace("form number", "form,number"),
        says=("caption|c.csv",),
        right=fine,
    ),
    case(
        "table: no such file",
        lambda: __import__("fslcore.tools.attributes.captions", fromlist=["x"]).read("gone.csv", images()),
        says=("gone.csv",),
    ),
    case(
        "table: a folder",
        lambda: (
            Path("c.csv").mkdir(),
            __import__("fslcore.tools.attributes.captions", fromlist=["x"]).read("c.csv", images()),
        )[1],
        says=("c.csv",),
    ),
    case(
        "table: None",
        lambda: __import__("fslcore.tools.attributes.captions", fromlist=["x"]).read(None, images()),
        says=("captions|path|None",),
    ),
]


def made(has=None, names=("a", "b", "c")):
    import numpy as np

    from fslcore.tools.attributes import Attributes

    return Attributes(
        np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]], bool)
        if has is None
        else has(np)
        if callable(has)
        else has,
        names,
    )


def attributes():
    from fslcore.tools.attributes import matrix as module

    return module


words = [
    case("Attributes: good", made, right=fine),
    case("Attributes: whole numbers", lambda: made(lambda np: np.ones((4, 3), int)), says=("int64",)),
    case("Attributes: one dimension", lambda: made(lambda np: np.ones(3, bool)), says=("(3,)",)),
    case("Attributes: too few names", lambda: made(names=("a", "b")), says=("2", "(4, 3)")),
    case("Attributes: a name twice", lambda: made(names=("a", "b", "a")), says=("twice",)),
    case("Attributes: a list", lambda: made([[True, False, True]]), says=("attributes|has",), right=fine),
    case("Attributes: None", lambda: made(names=None), says=("attributes|names",)),
    case("Attributes: a text as names", lambda: made(names="abc"), says=("names",), right=fine),
    *(
        case(
            f"Attributes.{f}: {name}", lambda f=f, v=v: getattr(made(), f)(v() if callable(v) else v), says=("labels",)
        )
        for f in ("counts", "spurious")
        for name, v in {
            "labels too few": [0, 1],
            "negative labels": [0, -1, 1, 0],
            "a NaN": [0, float("nan"), 1, 0],
            "texts": ["a", "b", "a", "b"],
            "None": None,
            "floats": [0.5, 1.5, 0.5, 1.5],
            "a table": [[0], [1], [0], [1]],
            "far apart": [0, 10**12, 0, 1],
        }.items()
    ),
    case(
        "Attributes.counts: right",
        lambda: made().counts([0, 0, 1, 1]),
        right=lambda v: None if v.tolist() == [[1, 0, 2], [1, 2, 2]] else f"{v}",
    ),
    case(
        "Attributes.spurious: right, from a list",
        lambda: made().spurious([0, 0, 1, 1]),
        right=lambda v: None if v.tolist() == [[True, False, False], [True, False, False]] else f"{v}",
    ),
    *(
        case(
            f"Attributes.spurious: present = {v!r}",
            lambda v=v: made().spurious(__import__("numpy").array([0, 0, 1, 1]), present=v),
            says=("present",),
        )
        for v in (0, -1, 2.5, None, float("nan"))
    ),
    *(
        case(f"Attributes.frequent: {v!r}", lambda v=v: made().frequent(v), says=("images",))
        for v in (-1, 2.5, None, float("nan"), "2")
    ),
    case("Attributes.load: no such file", lambda: attributes().Attributes.load("gone.npz"), says=("gone.npz",)),
    case(
        "Attributes.load: noise",
        lambda: (Path("a.npz").write_bytes(bytes(99)), attributes().Attributes.load("a.npz"))[1],
        says=("a.npz",),
    ),
    case(
        "Attributes.load: a pickle that runs a command",
        lambda: (
            __import__("numpy").savez("a.npz", names=__import__("numpy").array([Trap()], object)),
            attributes().Attributes.load("a.npz"),
        )[1],
        says=("a.npz",),
        right=unsprung,
    ),
    case(
        "Attributes.load: what was saved",
        lambda: (made().save("a.npz"), attributes().Attributes.load("a.npz").names)[1],
        right=lambda v: None if v == ("a", "b", "c") else f"{v}",
    ),
    case("agreement: other numbers of images", lambda: attributes().agreement(made(), made()[:2]), says=("4", "2")),
    case(
        "agreement: with itself",
        lambda: attributes().agreement(made(), made()),
        right=lambda v: None if v == 1 else f"{v}",
    ),
    case("agreement: with None", lambda: attributes().agreement(made(), None), says=("reference|attributes",)),
    *(
        case(f"of: source = {v!r}", lambda v=v: attributes().of(images(), v), says=(str(v) if v else "source",))
        for v in ("words", "", "pixel", None, 3, "gone.csv", "captions.txt")
    ),
    case("of: a data set without captions", lambda: attributes().of(images(), "captions"), says=("captions",)),
    case(
        "of: pixels",
        lambda: attributes().of(images(), "pixels"),
        right=lambda v: None if len(v) == 18 else f"{len(v)} images",
    ),
    case("from_facts: no frame", lambda: attributes().from_facts([1, 2]), says=("facts",)),
    case("from_facts: a Series", lambda: attributes().from_facts(__import__("pandas").Series([1])), says=("facts",)),
    case(
        "from_facts: empty cells",
        lambda: attributes().from_facts(__import__("pandas").DataFrame({"ink": ["red", None, float("nan"), ""]})).names,
        right=lambda v: None if v == ("ink: red",) else f"{v}",
    ),
    case(
        "from_words: texts in place of lists",
        lambda: attributes().from_words(["red dog", "blue"]),
        says=("words|text",),
        right=lambda v: f"letters as attributes: {v.names}",
    ),
    case("from_words: nothing", lambda: attributes().from_words([]), right=fine, says=("words|images",)),
    case("from_words: numbers", lambda: attributes().from_words([1, 2]), says=("words",)),
    case("from_captions: a text", lambda: attributes().from_captions("a red dog"), says=("captions",)),
    case(
        "from_captions: None among them",
        lambda: attributes().from_captions(["a red dog", None]),
        says=("captions|None",),
    ),
    case(
        "captioner: None",
        lambda: __import__("fslcore.tools.attributes.captions", fromlist=["x"]).captioner(None),
        says=("captioner",),
    ),
    case(
        "describe: labels too few",
        lambda: attributes().describe(made(), __import__("numpy").array([0, 1])),
        says=("labels",),
    ),
]
CASES = commands + tables + words
