"""``fslcore evaluate features:FILE``: files of features, numbers, names and outputs."""

from __future__ import annotations

import csv
import pickle
import re
import struct
from collections.abc import Callable
from pathlib import Path

from .common import Case, Ran, Trap, command, fine, fslcore, has, nowhere, of_area, small_disk, unsprung

case = of_area("evaluate/features")
SMALL = ["--ways", "3", "--shots", "2", "--queries", "3", "--tasks", "30", "--samplings", "closed", "--learners", "ncc"]


def arrays(classes: int = 6, per: int = 20, dim: int = 16, gap: float = 3.0):
    """(N, D) floats and (N,) labels of classes that lie apart; the same every time."""
    import numpy as np

    rng = np.random.default_rng(0)
    labels = np.arange(classes).repeat(per)
    return (gap * rng.normal(size=(classes, dim)))[labels] + rng.normal(size=(classes * per, dim)), labels


def evaluate(*more: str, file: str = "f.npz", output: str = "r.csv", small: bool = True) -> Ran:
    return fslcore("evaluate", f"features:{file}", "none", "-o", output, *(SMALL if small else []), *more)


def rows(path: str = "r.csv") -> list[dict]:
    """The results that were written."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def score(path: str = "r.csv") -> float:
    """Their mean accuracy."""
    found = [float(row["accuracy"]) for row in rows(path)]
    return sum(found) / len(found)


def high(_: object) -> str | None:
    """The classes lie apart: all but a few are right."""
    return None if score() > 95 else f"{score():.1f} %, where the classes lie far apart"


def count(n: int) -> Callable[[object], str | None]:
    return lambda _: None if len(rows()) == n else f"{len(rows())} rows instead of {n}"


def saved(name: str, change: Callable, *more: str, file: str = "f.npz", **wanted) -> Case:
    """A case: features and labels, changed, in an .npz."""

    def call() -> Ran:
        import numpy as np

        with open(file, "wb") as out:
            np.savez(out, **change(np, *arrays()))
        return evaluate(*more, file=file)

    return case(name, call, **wanted)


def features(name: str, change: Callable, **wanted) -> Case:
    return saved(name, lambda np, x, y: dict(features=change(np, x), labels=y), **wanted)


def labels(name: str, change: Callable, **wanted) -> Case:
    return saved(name, lambda np, x, y: dict(features=x, labels=change(np, y)), **wanted)


def put(array, index, value):
    """A copy with a value at a place."""
    out = array.copy()
    out[index] = value
    return out


numbers = [
    features("good", lambda np, x: x, right=high),
    features("32-bit floats", lambda np, x: x.astype("f4"), right=high),
    features("16-bit floats", lambda np, x: x.astype("f2"), right=high),
    features("of the other byte order", lambda np, x: x.astype(">f8"), right=high),
    features("column by column", lambda np, x: np.asfortranarray(x), right=high),
    features("whole numbers", lambda np, x: np.round(100 * x).astype(int), right=high, says=("int64",)),
    features("bytes", lambda np, x: np.clip(x * 10 + 128, 0, 255).astype("u1"), right=high, says=("uint8",)),
    features("truth values", lambda np, x: x > 0, right=high, says=("bool",)),
    features("complex", lambda np, x: x + 0j, says=("complex",)),
    features("texts", lambda np, x: x.astype(str), says=("U",)),
    features("objects", lambda np, x: x.astype(object), says=("f.npz",)),
    features(
        "a pickle that runs a command",
        lambda np, x: np.array([[Trap()] * 2] * len(x), object),
        says=("f.npz",),
        right=unsprung,
    ),
    features("one NaN", lambda np, x: put(x, (7, 3), np.nan), says=("NaN", "7")),
    features("all NaN", lambda np, x: x * np.nan, says=("NaN",)),
    features("one infinite", lambda np, x: put(x, (7, 3), np.inf), says=("inf", "7")),
    features("all 0", lambda np, x: 0 * x, says=("0|equal|zero",), warns=("equal|zero|length 0",)),
    features(
        "one row of 0",
        lambda np, x: put(x, 7, 0),
        right=lambda _: None if score() > 90 else f"{score()} %",
        says=("7",),
        warns=("7|zero|length 0",),
    ),
    features("all equal", lambda np, x: np.ones_like(x), says=("equal|same|alike",), warns=("equal|same|alike",)),
    features(
        "all equal but for rounding",
        lambda np, x: 1 + 1e-16 * x,
        says=("equal|same|alike",),
        warns=("equal|same|alike",),
    ),
    features("1e25 times as large", lambda np, x: 1e25 * x, right=high, says=("1e25|large|magnitude|e+2|longer",)),
    features("1e200 times as large", lambda np, x: 1e200 * x, right=high, says=("large|range|inf|32|e+20",)),
    features("1e-30 times as large", lambda np, x: 1e-30 * x, right=high, says=("small|range|length|0|e-",)),
    features("1e-60 times as large", lambda np, x: 1e-60 * x, right=high, says=("small|range|length|0|equal",)),
    features("one column is 1e6", lambda np, x: put(x, (slice(None), 0), 1e6), right=fine),
    features("of length 0", lambda np, x: x[:, :0], says=("(120, 0)|length 0|0",)),
    features("of length 1", lambda np, x: x[:, :1], right=fine),
    features("of one dimension", lambda np, x: x[:, 0], says=("(120,)",)),
    features("of four, as maps", lambda np, x: x.reshape(-1, 4, 2, 2), right=high, says=("(120, 4, 2, 2)",)),
    features("(1, N, D)", lambda np, x: x[None], says=("(1, 120, 16)",)),
    features("(D, N)", lambda np, x: x.T, says=("16|120",)),
    features("no rows", lambda np, x: x[:0], says=("0 rows|120 labels|(0,|empty",)),
    features("one row too few", lambda np, x: x[:-1], says=("120", "119")),
    features("a masked array", lambda np, x: np.ma.masked_less(x, 0), right=fine),
    features("the same row twice in every class", lambda np, x: x[np.arange(120) // 2 * 2], right=high),
    labels("texts", lambda np, y: np.array([f"class {i}" for i in y]), right=high),
    labels("texts in bytes", lambda np, y: np.array([b"c%d" % i for i in y]), right=high, says=("labels",)),
    labels(
        "texts in objects", lambda np, y: np.array([f"c{i}" for i in y], object), says=("pickle|object",), right=high
    ),
    labels(
        "a pickle that runs a command",
        lambda np, y: np.array([Trap()] * len(y), object),
        says=("f.npz",),
        right=unsprung,
    ),
    labels("whole floats", lambda np, y: y.astype(float), right=high, says=("labels", "float")),
    labels("floats", lambda np, y: y + 0.5 * (np.arange(120) % 2), says=("label", "float|integer")),
    labels("a NaN among them", lambda np, y: put(y.astype(float), 7, np.nan), says=("labels", "NaN|float")),
    labels(
        "texts with an empty one",
        lambda np, y: put(np.array([f"class {i}" for i in y]), 7, ""),
        says=("labels|empty|class", ""),
        right=fine,
    ),
    labels(
        "texts with nan",
        lambda np, y: put(np.array([f"class {i}" for i in y]), range(30), "nan"),
        says=("nan",),
        warns=("nan",),
    ),
    labels("negative", lambda np, y: y - 3, right=high),
    labels("far apart", lambda np, y: y * 10**12, right=high),
    labels("above 2^63", lambda np, y: y.astype("u8") + 2**63, right=high, says=("labels",)),
    labels("8-bit", lambda np, y: y.astype("i1"), right=high),
    labels("truth values", lambda np, y: y > 2, says=("bool|ways|2",)),
    labels("one-hot", lambda np, y: np.eye(6)[y], says=("(120, 6)",)),
    labels("one-hot, whole", lambda np, y: np.eye(6, dtype=int)[y], says=("(120, 6)",)),
    labels("a column", lambda np, y: y[:, None], says=("(120, 1)",), right=high),
    labels("one number", lambda np, y: np.array(3), says=("()",)),
    labels("one class", lambda np, y: 0 * y, says=("class",)),
    labels("a class a row", lambda np, y: np.arange(120), says=("shots + queries", "1")),
    labels("one class of one", lambda np, y: put(y, 7, 99), says=("99", "1")),
    labels("one class of one, left out", lambda np, y: put(y, 7, 99), right=fine, says=("99",)),
    labels("too few", lambda np, y: y[:100], says=("100", "120")),
    labels("complex", lambda np, y: y + 0j, says=("complex",)),
    labels("dates", lambda np, y: y.astype("M8[D]"), says=("labels",), right=high),
]
numbers = [
    Case(c.area, f"{'labels' if i >= 34 else 'features'}: {c.name}", c.call, c.says, c.right, c.warns, c.limit)
    for i, c in enumerate(numbers)
]


def wrote(name: str, write: Callable[[Path], None], file: str = "f.npz", **wanted) -> Case:
    """A case: a file that is written in another way."""

    def call() -> Ran:
        write(Path(file))
        return evaluate(file=file)

    return case(f"file: {name}", call, **wanted)


def npy(path: Path) -> None:
    import numpy as np

    np.save(path, arrays()[0])


def torch_file(change: Callable) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import torch

        x, y = arrays()
        torch.save(change(torch, torch.from_numpy(x), torch.from_numpy(y)), path)

    return write


def tensors(change: Callable) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import torch
        from safetensors.torch import save_file

        x, y = arrays()
        save_file(change(torch, torch.from_numpy(x), torch.from_numpy(y)), path)

    return write


def good(path: Path) -> None:
    import numpy as np

    x, y = arrays()
    with open(path, "wb") as file:
        np.savez(file, features=x, labels=y)


files = [
    saved("file: other keys", lambda np, x, y: dict(X=x, y=y), says=("features", "f.npz")),
    saved("file: keys in capitals", lambda np, x, y: dict(Features=x, Labels=y), says=("features",), right=high),
    saved("file: no keys", lambda np, x, y: dict(arr_0=x, arr_1=y), says=("features",)),
    saved("file: no labels", lambda np, x, y: dict(features=x), says=("labels",)),
    saved("file: only labels", lambda np, x, y: dict(labels=y), says=("features",)),
    saved("file: nothing in it", lambda np, x, y: {}, says=("features",)),
    saved("file: more arrays", lambda np, x, y: dict(features=x, labels=y, names=y.astype(str)), right=high),
    saved(
        "file: a pickle beside them",
        lambda np, x, y: dict(features=x, labels=y, more=np.array([Trap()], object)),
        right=lambda v: high(v) or unsprung(v),
        says=("f.npz",),
    ),
    saved(
        "file: a name with blanks and a colon",
        lambda np, x, y: dict(features=x, labels=y),
        file="my f: 1.npz",
        right=high,
    ),
    saved("file: a name in another script", lambda np, x, y: dict(features=x, labels=y), file="特徴 é.npz", right=high),
    saved(
        "file: an ending in capitals",
        lambda np, x, y: dict(features=x, labels=y),
        file="F.NPZ",
        right=high,
        says=("F.NPZ",),
    ),
    saved(
        "file: no ending", lambda np, x, y: dict(features=x, labels=y), file="feats", right=high, says=("feats", ".npz")
    ),
    wrote("empty", lambda p: p.touch(), says=("f.npz",)),
    wrote("noise", lambda p: p.write_bytes(bytes(range(256)) * 9), says=("f.npz",)),
    wrote("text", lambda p: p.write_text("0.1,0.2,0\n"), says=("f.npz",)),
    wrote("cut off", lambda p: (good(p), p.write_bytes(p.read_bytes()[:-500])), says=("f.npz",)),
    wrote(
        "a byte changed",
        lambda p: (good(p), p.write_bytes(p.read_bytes()[:3000] + b"x" + p.read_bytes()[3001:])),
        says=("f.npz",),
    ),
    wrote("a pickle", lambda p: p.write_bytes(pickle.dumps(Trap())), says=("f.npz",), right=unsprung),
    wrote("one array", npy, "f.npy", says=("f.npy", "labels"), right=high),
    wrote("an .npz that is one array", lambda p: (npy(Path("a.npy")), Path("a.npy").rename(p)), says=("f.npz",)),
    wrote("a .csv of numbers", lambda p: p.write_text("0.1,0.2,0\n" * 9), "f.csv", says=("f.csv",)),
    wrote(".mat", lambda p: p.write_bytes(b"MATLAB 5.0"), "f.mat", says=("f.mat", ".npz")),
    wrote("no such file", lambda p: None, says=("f.npz",)),
    wrote("no such file, but one of nearly that name", lambda p: good(Path("ff.npz")), says=("f.npz",)),
    wrote("a folder", lambda p: p.mkdir(), says=("f.npz",)),
    wrote("a link to itself", lambda p: p.symlink_to(p), says=("f.npz",)),
    wrote("no name", lambda p: None, "", says=("features",)),
    wrote("a name too long", lambda p: None, "x" * 300 + ".npz", says=("xxx",)),
    wrote(".pt, features and labels", torch_file(lambda t, x, y: dict(features=x, labels=y)), "f.pt", right=high),
    wrote(".pt, one tensor", torch_file(lambda t, x, y: x), "f.pt", says=("f.pt",)),
    wrote(".pt, a list", torch_file(lambda t, x, y: [x, y]), "f.pt", says=("f.pt",)),
    wrote(
        ".pt that runs a command", lambda p: p.write_bytes(pickle.dumps(Trap())), "f.pt", says=("f.pt",), right=unsprung
    ),
    wrote(
        ".pt, cut off",
        lambda p: (torch_file(lambda t, x, y: dict(features=x, labels=y))(p), p.write_bytes(p.read_bytes()[:900])),
        "f.pt",
        says=("f.pt",),
    ),
    wrote(".safetensors", tensors(lambda t, x, y: dict(features=x, labels=y)), "f.safetensors", right=high),
    wrote(
        ".safetensors, 16-bit floats",
        tensors(lambda t, x, y: dict(features=x.half(), labels=y)),
        "f.safetensors",
        right=high,
    ),
    wrote(
        ".safetensors, bfloat16",
        tensors(lambda t, x, y: dict(features=x.bfloat16(), labels=y)),
        "f.safetensors",
        right=high,
        says=("bf",),
    ),
    wrote(
        ".safetensors, whole numbers",
        tensors(lambda t, x, y: dict(features=(100 * x).long(), labels=y)),
        "f.safetensors",
        right=high,
        says=("int64",),
    ),
    wrote(
        ".safetensors, labels of floats",
        tensors(lambda t, x, y: dict(features=x, labels=y.float())),
        "f.safetensors",
        right=high,
        says=("labels", "float"),
    ),
    wrote(".safetensors, no labels", tensors(lambda t, x, y: dict(features=x)), "f.safetensors", says=("labels",)),
    wrote(".safetensors, empty", lambda p: p.touch(), "f.safetensors", says=("f.safetensors",)),
    wrote(".safetensors, noise", lambda p: p.write_bytes(b"x" * 99), "f.safetensors", says=("f.safetensors",)),
    wrote(
        ".safetensors, a header of 2^60 bytes",
        lambda p: p.write_bytes(struct.pack("<Q", 2**60) + b"{}"),
        "f.safetensors",
        says=("f.safetensors",),
    ),
    wrote(
        ".safetensors, cut off",
        lambda p: (tensors(lambda t, x, y: dict(features=x, labels=y))(p), p.write_bytes(p.read_bytes()[:500])),
        "f.safetensors",
        says=("f.safetensors",),
    ),
]


def option(
    *more: str, name: str = "", make: Callable = good, small: bool = True, output: str = "r.csv", **wanted
) -> Case:
    """A case: good features and these options."""

    def call() -> Ran:
        make(Path("f.npz"))
        return evaluate(*more, small=small, output=output)

    return case(name or " ".join(more) or "no options", call, **wanted)


def of(classes: int, per: int, gap: float = 3.0) -> Callable[[Path], None]:
    """Writes features of so many classes and rows a class."""

    def write(path: Path) -> None:
        import numpy as np

        x, y = arrays(classes, per, gap=gap)
        with open(path, "wb") as file:
            np.savez(file, features=x, labels=y)

    return write


def uneven(path: Path) -> None:
    """A class of three rows among seven of forty."""
    import numpy as np

    x, y = arrays(8, 40)
    with open(path, "wb") as file:
        np.savez(file, features=x[:-37], labels=y[:-37])


def partly(ran: Ran) -> str | None:
    """The closed tasks are written, and a word says why the open ones are not."""
    if not Path("r.csv").is_file():
        return f"nothing was written: {ran.err.strip().splitlines()[-1]}"
    found = {row["sampling"] for row in rows()}
    return None if found == {"closed"} and "open" in ran.text else f"written: {found}; no word of open"


def written_though_refused(*more: str, make: Callable, check: Callable) -> Callable[[], object]:
    """The command may end with code 2, if what could be had is there: the check decides."""

    def call() -> object:
        make(Path("f.npz"))
        ran = evaluate(*more, small=False)
        if ran.code not in (0, 2):
            return ran
        return Ran(0, ran.out, ran.err)

    return call


def counted(ran: Ran) -> str | None:
    """No bar counts beyond the number of tasks."""
    shown = [int(a) for a in re.findall(r"(\d+)/\d+ \[", ran.err)] + [int(b) for b in re.findall(r"/(\d+) \[", ran.err)]
    return None if max(shown, default=0) <= 300 else f"the bar counts to {max(shown)} of 300"


BAD = {
    "ways": ("0", "1", "-1", "7", "1000000000", "nan", "five", "2.5", "", "1e1"),
    "shots": ("0", "-1", "1000000000", "99999999999999999999999", "nan", "five", "2.5", "20"),
    "queries": ("0", "-1", "1000000000", "99999999999999999999999", "nan", "all", "2.5"),
    "tasks": ("0", "1", "-1", "99999999999999999999999", "nan", "many", "2.5"),
    "seed": ("-1", "nan", "x", "2.5"),
    "ft-tasks": ("0", "1", "-1", "nan", "x", "2.5"),
    "ft-open": ("0", "1", "-1", "nan", "x", "2.5"),
}
options = [
    *(
        option(f"--{name}", value, says=(name.replace("-", "|"), value[:20] if len(value) < 9 else name[:4]))
        for name, values in BAD.items()
        for value in values
    ),
    option("--tasks", "1000000000", says=("tasks", "memory|GB|GiB|1000000000|1,000,000,000")),
    option("--tasks", "100000000", "--queries", "9", says=("tasks", "memory|GB|GiB|100000000|100,000,000")),
    option("--seed", "1000000000", right=high),
    option("--seed", "99999999999999999999999", right=high, says=("seed",)),
    option("--tasks", "2", right=count(2)),
    option("--learners", "ncx", says=("ncx", "ncc")),
    option("--learners", "NCC", says=("NCC", "ncc"), right=high),
    option("--learners", "logistic", says=("logistic", "lr")),
    option("--learners", "protonett", says=("protonett", "mean protonet")),
    option("--learners", "", says=("learner",)),
    option("--learners", "ncc,lr", says=("ncc,lr",), right=high),
    option("--learners", "ncc", "ncc", right=count(30), says=("ncc", "twice|once|double")),
    option("--learners", "ncc", "lr", "ncc", right=count(60), says=("ncc", "twice|once|double")),
    option("--learners", says=("learners",)),
    option("--learners", "ft", says=("ft", "features")),
    option("--learners", "maml", says=("maml", "features")),
    option("--learners", "dn4", says=("dn4",), right=high),
    option("--learners", "can", says=("can",), right=high),
    option("--learners", "leo", says=("leo",), right=high),
    option("--learners", "renet", says=("renet",), right=high),
    option("--learners", "r2d2", right=high),
    option("--learners", "lr", right=high),
    option("--samplings", "opne", says=("opne", "open")),
    option("--samplings", "closed", "closed", right=count(30), says=("closed", "twice|once|double")),
    option("--samplings", "", says=("sampling",)),
    option("--samplings", "both", says=("both", "open")),
    option("--learners", "ncc", "ncx", name="the second learner is not there", says=("ncx",)),
    case(
        "the second learner is not there: told before the work",
        lambda: (good(Path("f.npz")), Ran(0, evaluate("--learners", "ncc", "ncx").out, ""))[1],
        right=lambda ran: f"worked first: {ran.out}" if "mean accuracy" in ran.out else None,
    ),
    option("--skip-small-classes", make=uneven, right=high),
    option("--device", "cpu", right=high),
    option("--device", "gpu9", says=("gpu9",)),
    option("--quiet", right=lambda ran: None if not ran.err.strip() else f"not quiet: {ran.err}"),
    option("--json", right=lambda ran: __import__("json").loads(ran.out) and None),
    option("--intervals", name="--intervals of 30 tasks, ways below classes", right=has("±")),
    option("--intervals", "--tasks", "5", says=("5", "tasks|20")),
    option(
        "--intervals",
        "--tasks",
        "5",
        name="--intervals of 5 tasks: told before the work",
        says=("5", "20"),
        right=lambda _: "taken",
    ),
    option(
        "--intervals", "--samplings", "open", name="--intervals of open tasks", right=has("±"), says=("closed|open",)
    ),
    option(
        "--intervals",
        "--ways",
        "6",
        name="--intervals, every class in every task",
        right=has("—|inf|all classes|every class"),
    ),
    option("--samplings", "open", "--tasks", "2", name="open tasks", right=fine),
    option("extra", name="one argument too many", says=("extra",)),
    option("--wayz", "3", says=("wayz",)),
    option("--way", "3", name="an option cut short", right=high, says=("--way",)),
    option(name="defaults, 4 classes", make=of(4, 40), small=False, says=("ways", "4")),
    option(name="defaults, 8 classes of 19", make=of(8, 19), small=False, says=("19", "20")),
    case(
        "6 classes of 30, the README's command",
        written_though_refused(make=of(6, 30), check=partly),
        right=partly,
        limit=40,
    ),
    case(
        "6 classes of 30: the error says what to do",
        lambda: (of(6, 30)(Path("f.npz")), evaluate(small=False))[1],
        says=("--samplings closed",),
        right=lambda ran: (
            partly(ran) or (None if "--samplings closed" in ran.text else "no word of --samplings closed")
        ),
    ),
    case(
        "6 classes of 30, two learners",
        written_though_refused("--learners", "ncc", "lr", make=of(6, 30), check=partly),
        right=partly,
        limit=40,
    ),
    option(name="a class of three among seven", make=uneven, small=False, says=("7", "3", "skip-small|--skip")),
    option("--tasks", "300", name="the bar counts right", right=counted),
    option(
        "--samplings",
        "closed",
        "--tasks",
        "50",
        "--learners",
        "ncc",
        "lr",
        name="rows of two learners",
        right=count(100),
    ),
    case(
        "twice the same",
        lambda: (
            good(Path("f.npz")),
            evaluate(),
            Path("r.csv").rename("first.csv"),
            evaluate(),
            Path("first.csv").read_bytes() == Path("r.csv").read_bytes(),
        )[-1],
        right=lambda same: None if same else "another result",
    ),
    case("no file", lambda: fslcore("evaluate"), says=("dataset",)),
    case(
        "no backbone",
        lambda: (good(Path("f.npz")), fslcore("evaluate", "features:f.npz", "-o", "r.csv"))[1],
        says=("backbone",),
    ),
    case("no output", lambda: (good(Path("f.npz")), fslcore("evaluate", "features:f.npz", "none"))[1], says=("-o",)),
    case(
        "a backbone that is not there",
        lambda: (good(Path("f.npz")), fslcore("evaluate", "features:f.npz", "resnet99", "-o", "r.csv", *SMALL))[1],
        right=high,
        says=("resnet99",),
    ),
    case(
        "the file without features:",
        lambda: (good(Path("f.npz")), fslcore("evaluate", "f.npz", "none", "-o", "r.csv"))[1],
        says=("f.npz", "features:"),
    ),
    case(
        "Features: with a capital",
        lambda: (good(Path("f.npz")), fslcore("evaluate", "Features:f.npz", "none", "-o", "r.csv"))[1],
        says=("Features:", "features:"),
        right=high,
    ),
]

outputs = [
    *(
        option(output=name, name=f"output {name or 'empty'}", says=(name or "output|results", ".csv"))
        for name in ("r.txt", "r", "r.xlsx", "", ".", "r.csv.gz", "r.html")
    ),
    option(output="r.CSV", name="output R.CSV", says=(".csv",), right=fine),
    option(output="f.npz", name="output is the input", says=("f.npz", ".csv")),
    option(
        output="new/deep/r.csv",
        name="output in a new folder",
        right=lambda _: None if Path("new/deep/r.csv").is_file() else "no file",
    ),
    option(
        output="r é 1.csv",
        name="output with blanks",
        right=lambda _: None if Path("r é 1.csv").is_file() else "no file",
    ),
    option(
        output="r.tsv",
        name="output r.tsv",
        says=(".csv",),
        right=lambda _: None if "\t" in Path("r.tsv").read_text() else "no tabs",
    ),
    option(
        output="r.parquet",
        name="output r.parquet",
        right=lambda _: None if Path("r.parquet").stat().st_size else "empty",
    ),
]


def _into(make: Callable[[], str]) -> Callable[[], Ran]:
    def call() -> Ran:
        good(Path("f.npz"))
        return evaluate(output=make())

    return call


def _early(make: Callable[[], str]) -> Callable[[], Ran]:
    """Only whether it worked first."""

    def call() -> Ran:
        good(Path("f.npz"))
        try:
            ran = evaluate(output=make())
        except OSError:
            return Ran(0, "mean accuracy", "")  # an exception after the work
        return Ran(0, ran.out, ran.err)

    return call


for name, make in nowhere(".csv").items():
    outputs.append(case(f"output: {name}", _into(make), says=("plain|there|proc|xxx",)))
    outputs.append(
        case(
            f"output: {name}: told before the work",
            _early(make),
            right=lambda ran: "worked first" if "mean accuracy" in ran.out else None,
        )
    )


def _full() -> Ran:
    good(Path("f.npz"))
    with small_disk():
        return evaluate("--seed", "77")


def _damaged() -> Ran:
    """Everything in the cache is cut in half, then the same once more."""
    from fslcore import store

    good(Path("f.npz"))
    evaluate("--seed", "3")
    first = Path("r.csv").read_bytes()
    for path in store.path().rglob("*.npz"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    ran = evaluate("--seed", "3")
    if ran.code == 0 and Path("r.csv").read_bytes() != first:
        return Ran(0, "another result", "")
    return ran


def _garbage() -> Ran:
    """Text in place of what is in the cache."""
    from fslcore import store

    good(Path("f.npz"))
    evaluate("--seed", "4")
    for path in store.path().rglob("*.npz"):
        path.write_text("not a record")
    return evaluate("--seed", "4")


def _cleared(call: Callable) -> Callable[[], object]:
    """The cache is emptied in the end, so that the next case does not suffer."""

    def run() -> object:
        import shutil

        from fslcore import store

        try:
            return call()
        finally:
            shutil.rmtree(store.path("records"), ignore_errors=True)

    return run


again = lambda ran: "another result" if "another" in ran.out else None  # noqa: E731
outputs += [
    case("a disk without room", _full, says=("r.csv|record|room|space|large",)),
    case("a cache cut in half", _cleared(_damaged), right=again),
    case("a cache of text", _cleared(_garbage), right=again),
    case(
        "Ctrl-C",
        lambda: (
            of(20, 600)(Path("f.npz")),
            command(
                "evaluate",
                "features:f.npz",
                "none",
                "-o",
                "r.csv",
                "--tasks",
                "300000",
                "--learners",
                "lr",
                "--samplings",
                "closed",
                stop_after=8,
            ),
        )[1],
        says=("stopped|interrupted|ctrl-c|",),
        right=lambda ran: "ended before it was stopped",
        limit=80,
    ),
]
CASES = numbers + files + options + outputs
