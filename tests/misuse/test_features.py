"""``fslcore evaluate features:FILE``: files of features, options and outputs."""

import csv
import json
import os
import pickle
import re
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from fslcore import store

from .judging import (
    Trap,
    asked,
    command,
    fill,
    fine,
    fslcore,
    has,
    holds,
    judge,
    nowhere,
    refused,
    row,
    small_disk,
    split,
)

SMALL = split("--ways 3 --shots 2 --queries 3 --tasks 30 --samplings closed --learners ncc")


def arrays(classes=6, per=20, dim=16):
    """(N, D) floats and (N,) labels of classes that lie apart; the same every time."""
    rng = np.random.default_rng(0)
    labels = np.arange(classes).repeat(per)
    return (3 * rng.normal(size=(classes, dim)))[labels] + rng.normal(size=(classes * per, dim)), labels


X, Y = arrays()
TEXTS = np.array([f"class {i}" for i in Y])


def npz(path="f.npz", **given):
    with open(path, "wb") as file:
        np.savez(file, **given)


def of(classes, per):
    """Writes features of so many classes and rows per class."""
    x, y = arrays(classes, per)
    return lambda path: npz(path, features=x, labels=y)


def uneven(path):
    """A class of three rows among seven of forty."""
    x, y = arrays(8, 40)
    npz(path, features=x[:-37], labels=y[:-37])


def good(path):
    npz(path, features=X, labels=Y)


def cut(write, size):
    """What is written, cut off."""
    return lambda path: (write(path), path.write_bytes(path.read_bytes()[:size]))


def damaged(path):
    good(path)
    path.write_bytes(path.read_bytes()[:3000] + b"x" + path.read_bytes()[3001:])


def put(array, index, value):
    """A copy with a value at a place."""
    out = array.copy()
    out[index] = value
    return out


def array(path):
    """One array under the name of an .npz."""
    np.save("a.npy", X)
    Path("a.npy").rename(path)


def tensors(**change):
    given = {"features": torch.from_numpy(X), "labels": torch.from_numpy(Y)} | change
    return lambda path: save_file({k: v for k, v in given.items() if v is not None}, path)


def torch_file(value):
    return lambda path: torch.save(value, path)


def evaluate(*more, file="f.npz", output="r.csv", small=True):
    return fslcore("evaluate", f"features:{file}", "none", "-o", output, *(SMALL if small else []), *more)


def rows(path="r.csv"):
    """The results that were written."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def high(done):
    """The classes lie apart: all but a few are right."""
    return np.mean([float(of["accuracy"]) for of in rows()]) > 95


def count(n):
    return lambda _: len(rows()) == n


TENSORS = {"features": torch.from_numpy(X), "labels": torch.from_numpy(Y)}


@pytest.mark.parametrize(
    "features, expected",
    [
        row("good", X, high),
        row("32-bit floats", X.astype("f4"), high),
        row("16-bit floats", X.astype("f2"), high),
        row("of the other byte order", X.astype(">f8"), high),
        row("column by column", np.asfortranarray(X), high),
        row("whole numbers", np.round(100 * X).astype(int), high),
        row("bytes", np.clip(X * 10 + 128, 0, 255).astype("u1"), high),
        row("truth values", X > 0, high),
        row("complex", X + 0j, "complex"),
        row("texts", X.astype(str), "U"),
        row("objects", X.astype(object), "f.npz"),
        row("a pickle that runs a command", np.array([[Trap()] * 2] * len(X), object), "f.npz"),
        row("one NaN", put(X, (7, 3), np.nan), "NaN & 7"),
        row("all NaN", X * np.nan, "NaN"),
        row("one infinite", put(X, (7, 3), np.inf), "inf & 7"),
        row("all 0", 0 * X, "0|equal|zero"),
        row("one row of 0", put(X, 7, 0), "7"),
        row("all equal", np.ones_like(X), "equal|same|alike"),
        row("all equal but for rounding", 1 + 1e-16 * X, "equal|same|alike"),
        row("1e25 times as large", 1e25 * X, "1e25|large|magnitude|e+2|longer"),
        row("1e200 times as large", 1e200 * X, "large|range|inf|32|e+20"),
        row("1e-30 times as large", 1e-30 * X, "small|range|length|0|e-"),
        row("1e-60 times as large", 1e-60 * X, "small|range|length|0|equal"),
        row("one column is 1e6", put(X, (slice(None), 0), 1e6), fine),
        row("of length 0", X[:, :0], "120 rows of 0 numbers"),
        row("of length 1", X[:, :1], fine),
        row("of one dimension", X[:, 0], "(120,)"),
        row("of four, as maps", X.reshape(-1, 4, 2, 2), "(120, 4, 2, 2)"),
        row("(1, N, D)", X[None], "(1, 120, 16)"),
        row("(D, N)", X.T, "16|120"),
        row("no rows", X[:0], "0 rows|120 labels|(0,|empty"),
        row("one row too few", X[:-1], "120 & 119"),
        row("the same row twice in every class", X[np.arange(120) // 2 * 2], high),
    ],
)
def test_features(features, expected):
    npz(features=features, labels=Y)
    judge(evaluate, expected)


@pytest.mark.parametrize(
    "labels, expected",
    [
        row("texts", TEXTS, high),
        row("texts in bytes", TEXTS.astype(bytes), high),
        row("texts in objects", TEXTS.astype(object), "pickle|object"),
        row("a pickle that runs a command", np.array([Trap()] * len(Y), object), "f.npz"),
        row("whole floats", Y.astype(float), high),
        row("floats", Y + 0.5 * (np.arange(120) % 2), "label & float|integer"),
        row("a NaN among them", put(Y.astype(float), 7, np.nan), "labels & NaN|float"),
        row("texts with an empty one", put(TEXTS, 7, ""), "labels|empty|class"),
        row("texts with nan", put(TEXTS, range(30), "nan"), "nan"),
        row("negative", Y - 3, high),
        row("far apart", Y * 10**12, high),
        row("above 2^63", Y.astype("u8") + 2**63, high),
        row("8-bit", Y.astype("i1"), high),
        row("truth values", Y > 2, "bool|ways|2"),
        row("one-hot", np.eye(6)[Y], "(120, 6)"),
        row("one-hot, whole", np.eye(6, dtype=int)[Y], "(120, 6)"),
        row("a column", Y[:, None], "(120, 1)"),
        row("one number", np.array(3), "()"),
        row("one class", 0 * Y, "class"),
        row("a class a row", np.arange(120), "shots + queries & 1"),
        row("one class of one", put(Y, 7, 99), "99 & 1"),
        row("too few", Y[:100], "100 & 120"),
        row("complex", Y + 0j, "complex"),
        row("dates", Y.astype("M8[D]"), "labels"),
    ],
)
def test_labels(labels, expected):
    npz(features=X, labels=labels)
    judge(evaluate, expected)


@pytest.mark.parametrize(
    "file, content, expected",
    [
        row("other keys", "f.npz", lambda p: npz(p, X=X, y=Y), "features & f.npz"),
        row("keys in capitals", "f.npz", lambda p: npz(p, Features=X, Labels=Y), "features"),
        row("no keys", "f.npz", lambda p: npz(p, arr_0=X, arr_1=Y), "features"),
        row("no labels", "f.npz", lambda p: npz(p, features=X), "labels"),
        row("only labels", "f.npz", lambda p: npz(p, labels=Y), "features"),
        row("nothing in it", "f.npz", npz, "features"),
        row("more arrays", "f.npz", lambda p: npz(p, features=X, labels=Y, names=TEXTS), high),
        row(
            "a pickle beside them",
            "f.npz",
            lambda p: npz(p, features=X, labels=Y, more=np.array([Trap()], object)),
            lambda done: high(done) and not Path("SPRUNG").exists(),
        ),
        row("a name with blanks and a colon", "my f: 1.npz", good, high),
        row("a name in another script", "特徴 é.npz", good, high),
        row("an ending in capitals", "F.NPZ", good, "F.NPZ"),
        row("no ending", "feats", good, "feats & .npz"),
        row("empty", "f.npz", "", "f.npz"),
        row("noise", "f.npz", bytes(range(256)) * 9, "f.npz"),
        row("text", "f.npz", "0.1,0.2,0\n", "f.npz"),
        row("cut off", "f.npz", cut(good, -500), "f.npz"),
        row("a byte changed", "f.npz", damaged, "f.npz"),
        row("a pickle", "f.npz", pickle.dumps(Trap()), "f.npz"),
        row("one array", "f.npy", lambda p: np.save(p, X), "f.npy & labels"),
        row("an .npz that is one array", "f.npz", array, "f.npz"),
        row("a .csv of numbers", "f.csv", "0.1,0.2,0\n" * 9, "f.csv"),
        row(".mat", "f.mat", b"MATLAB 5.0", "f.mat & .npz"),
        row("no such file", "f.npz", lambda p: None, "f.npz"),
        row("no such file, but one of nearly that name", "f.npz", lambda p: good(Path("ff.npz")), "f.npz"),
        row("a folder", "f.npz", Path.mkdir, "f.npz"),
        row("a link to itself", "f.npz", lambda p: p.symlink_to(p), "f.npz"),
        row("no name", "", lambda p: None, "features"),
        row("a name too long", "x" * 300 + ".npz", lambda p: None, "xxx"),
        row(".pt, features and labels", "f.pt", torch_file(TENSORS), high),
        row(".pt, one tensor", "f.pt", torch_file(TENSORS["features"]), "f.pt"),
        row(".pt, a list", "f.pt", torch_file([*TENSORS.values()]), "f.pt"),
        row(".pt that runs a command", "f.pt", pickle.dumps(Trap()), "f.pt & objects other than tensors"),
        row(".pt, cut off", "f.pt", cut(torch_file(TENSORS), 900), "f.pt"),
        row(".safetensors", "f.safetensors", tensors(), high),
        row(".safetensors, 16 bits", "f.safetensors", tensors(features=TENSORS["features"].half()), high),
        row(".safetensors, bfloat16", "f.safetensors", tensors(features=TENSORS["features"].bfloat16()), high),
        row(".safetensors, whole", "f.safetensors", tensors(features=(100 * TENSORS["features"]).long()), high),
        row(".safetensors, labels of floats", "f.safetensors", tensors(labels=TENSORS["labels"].float()), high),
        row(".safetensors, no labels", "f.safetensors", tensors(labels=None), "labels"),
        row(".safetensors, empty", "f.safetensors", b"", "f.safetensors"),
        row(".safetensors, noise", "f.safetensors", b"x" * 99, "f.safetensors"),
        row(".safetensors, a huge header", "f.safetensors", struct.pack("<Q", 2**60) + b"{}", "f.safetensors"),
        row(".safetensors, cut off", "f.safetensors", cut(tensors(), 500), "f.safetensors"),
    ],
)
def test_files(file, content, expected):
    if file:
        fill(file, content)
    judge(lambda: evaluate(file=file), expected)


def counted(done):
    """No bar counts beyond the number of tasks."""
    shown = re.findall(r"(\d+)/\d+ \[", done.err) + re.findall(r"/(\d+) \[", done.err)
    return max(map(int, shown), default=0) <= 300


BAD = {
    "ways": ("0", "1", "-1", "7", "1000000000", "nan", "five", "2.5", "", "1e1"),
    "shots": ("0", "-1", "1000000000", "99999999999999999999999", "nan", "five", "2.5", "20"),
    "queries": ("0", "-1", "1000000000", "99999999999999999999999", "nan", "all", "2.5"),
    "tasks": ("0", "1", "-1", "99999999999999999999999", "nan", "many", "2.5"),
    "seed": ("-1", "nan", "x", "2.5"),
    "ft-tasks": ("0", "1", "-1", "nan", "x", "2.5"),
    "ft-open": ("0", "1", "-1", "nan", "x", "2.5"),
}


@pytest.mark.parametrize(
    "options, expected",
    [
        *(
            row(f"{name} {value}", f"--{name} '{value}'", name.replace("-", "|") + f" & {value}" * (len(value) < 9))
            for name, values in BAD.items()
            for value in values
        ),
        row("10^9 tasks", "--tasks 1000000000", "tasks & memory|GiB|1000000000|1,000,000,000"),
        row("10^8 tasks", "--tasks 100000000 --queries 9", "tasks & memory|GiB|100000000|100,000,000"),
        row("seed of 10^9", "--seed 1000000000", high),
        row("seed of 10^23", "--seed 99999999999999999999999", "seed"),
        row("two tasks", "--tasks 2", count(2)),
        row("learner ncx", "--learners ncx", "ncx & ncc"),
        row("learner NCC", "--learners NCC", "NCC & ncc"),
        row("learner logistic", "--learners logistic", "logistic & lr"),
        row("learner protonett", "--learners protonett", "protonett & mean protonet"),
        row("learner without a name", "--learners ''", "learner"),
        row("learners with a comma", "--learners ncc,lr", "ncc,lr"),
        row("a learner twice", "--learners ncc lr ncc", "ncc & twice|once|double"),
        row("no learners", "--learners", "learners"),
        row("the second learner is not there", "--learners ncc ncx", "ncx"),
        *(row(f"learner {name}", f"--learners {name}", name) for name in ("dn4", "can", "leo", "renet")),
        *(row(f"learner {name}", f"--learners {name}", f"{name} & features") for name in ("ft", "maml")),
        *(row(f"learner {name}", f"--learners {name}", high) for name in ("r2d2", "lr")),
        row("two learners", "--learners ncc lr", count(60)),
        row("sampling opne", "--samplings opne", "opne & open"),
        row("a sampling twice", "--samplings closed closed", "closed & twice|once|double"),
        row("sampling without a name", "--samplings ''", "sampling"),
        row("sampling both", "--samplings both", "both & open"),
        row("device cpu", "--device cpu", high),
        row("device gpu9", "--device gpu9", "gpu9"),
        row("quiet", "--quiet", lambda done: not done.err.strip()),
        row("json", "--json", lambda done: json.loads(done.out)),
        row("intervals", "--intervals", has("new images & new classes")),
        row("intervals of 5 tasks", "--intervals --tasks 5", "5 & 20"),
        row("intervals of open tasks", "--intervals --samplings open", has("new images")),
        row("intervals of all classes", "--intervals --ways 6", has("—|inf|all classes|every class")),
        row("open tasks", "--samplings open --tasks 2", fine),
        row("one argument too many", "extra", "extra"),
        row("an option that is not there", "--wayz 3", "wayz"),
        row("an option cut short", "--way 3", high),
        row("the bar", "--tasks 300", counted),
    ],
)
def test_options(options, expected):
    fill("f.npz", good)
    judge(lambda: evaluate(*split(options)), expected)


@pytest.mark.parametrize(
    "content, options, small, expected",
    [
        row("skip small classes", uneven, ["--skip-small-classes"], True, high),
        row("a class of three among seven", uneven, [], False, "7 & 3 & skip-small|--skip"),
        row("4 classes", of(4, 40), [], False, "ways & 4"),
        row("8 classes of 19", of(8, 19), [], False, "19 & 20"),
    ],
)
def test_data_that_do_not_suffice(content, options, small, expected):
    fill("f.npz", content)
    judge(lambda: evaluate(*options, small=small), expected)


@pytest.mark.parametrize("learners", [[], ["--learners", "ncc", "lr"]])
def test_closed_tasks_are_written_where_open_ones_cannot_be_drawn(learners):
    fill("f.npz", of(6, 30))
    done = asked(lambda: evaluate(*learners, small=False))
    assert {of["sampling"] for of in rows()} == {"closed"}
    assert "Traceback" not in done.text and holds(done.text, "open & --samplings closed")


@pytest.mark.parametrize(
    "arguments, expected",
    [
        row("nothing", [], "dataset"),
        row("no backbone", ["features:f.npz", "-o", "r.csv"], "backbone"),
        row("no output", ["features:f.npz", "none"], "-o"),
        row("a backbone that is not needed", ["features:f.npz", "resnet99", "-o", "r.csv", *SMALL], high),
        row("no features:", ["f.npz", "none", "-o", "r.csv"], "f.npz & features:"),
        row("a capital", ["Features:f.npz", "none", "-o", "r.csv"], "Features: & features:"),
    ],
)
def test_arguments(arguments, expected):
    fill("f.npz", good)
    judge(lambda: fslcore("evaluate", *arguments), expected)


def there(path):
    return lambda _: Path(path).stat().st_size


@pytest.mark.parametrize(
    "output, expected",
    [
        *(
            row(f"output {name}", name, f"{name} & .csv")
            for name in ("r.txt", "r", "r.xlsx", ".", "r.csv.gz", "r.html")
        ),
        row("output without a name", "", "output|results & .csv"),
        row("output R.CSV", "R.CSV", ".csv"),
        row("output r.tsv", "r.tsv", ".csv"),
        row("a new folder", "new/deep/r.csv", there("new/deep/r.csv")),
        row("blanks", "r é 1.csv", there("r é 1.csv")),
        row("parquet", "r.parquet", there("r.parquet")),
    ],
)
def test_outputs(output, expected):
    fill("f.npz", good)
    judge(lambda: evaluate(output=output), expected)


@pytest.mark.parametrize("make, path, words", nowhere(".csv"))
def test_where_no_results_can_be_written(make, path, words):
    fill("f.npz", good)
    make()
    judge(lambda: evaluate(output=path), words)


def test_a_disk_without_room():
    fill("f.npz", good)
    with small_disk():
        done = asked(evaluate)
    refused(done, "r.csv|record|room|space|large")
    assert os.listdir() == ["f.npz"]


@pytest.mark.parametrize("spoil", [lambda old: old[: len(old) // 2], lambda old: b"not a record"])
def test_the_same_results_again_also_from_a_damaged_cache(spoil):
    fill("f.npz", good)
    found = []
    for _ in range(3):
        judge(evaluate, high)
        found.append(Path("r.csv").read_bytes())
        for path in store.path().rglob("*.npz"):
            path.write_bytes(spoil(path.read_bytes()))
    assert found[0] == found[1] == found[2]
    shutil.rmtree(store.path())
    judge(evaluate, high)
    assert found[0] == Path("r.csv").read_bytes()


@pytest.mark.slow
def test_ctrl_c():
    fill("f.npz", of(20, 600))
    line = "exec $FSLCORE evaluate features:f.npz none -o r.csv --tasks 300000 --learners lr --samplings closed"
    done = command(line, stop_after=5)
    assert done.code == 130 and done.err.strip().endswith("stopped") and os.listdir() == ["f.npz"]
