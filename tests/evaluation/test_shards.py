"""Work that is cut into pieces: features shard by shard, records block by block, by one process or
by many.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from features import features_file
from PIL import Image
from refusal import refuses, says_in_one_line, warned
from running import run_code
from safetensors.torch import load_file, save_file
from test_transductivity import FEATURES, TASKS, UNEVEN, shipped

import fslbook  # noqa: F401  # whose learners then have names
from fslcore import datasets, evaluation, learners, store
from fslcore.catalogue import reads_images, registered_learners
from fslcore.cli import app
from fslcore.datasets.bank import Bank, load_features
from fslcore.datasets.images import OnDemand
from fslcore.evaluation import cache, outcomes
from fslcore.models import backbones, features as feature_code, shards
from fslcore.paths import ROOT
from fslcore.tasks import sample_closed

# The last batch is not full.
N = 70
BATCH = 8


class Flat(torch.nn.Module):
    """Features that are sums of pixels with fixed weights."""

    def __init__(self, dim=12, side=8):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(dim, 3 * side * side))

    def forward(self, x):
        return x.flatten(1) @ self.weight.T


def flat(dim=12):
    return backbones.Backbone(
        "flat", "", "", dim, Flat(dim).eval(), (0.5,) * 3, (0.5,) * 3, 8, "bilinear", "w"
    )


def image_of(i):
    return np.random.default_rng(i).integers(0, 256, (8, 8, 1), np.uint8)


def pictures(read=image_of, n=N):
    labels = np.arange(n) % 7
    return datasets.Images(
        "pictures", OnDemand(read, n, (8, 8, 1)), labels, list("abcdefg"), content=f"drawn {n}"
    )


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    if "processes" not in request.keywords:
        monkeypatch.setattr(feature_code, "BATCH", BATCH)
        monkeypatch.setattr(shards, "BATCHES", 2)


def files(folder="features"):
    return {p.name: p.read_bytes() for p in store.path(folder).glob("*") if p.is_file()}


def read_features():
    return backbones.features(pictures(), flat())


@pytest.fixture
def counted(monkeypatch):
    """The rows of each call that computes features."""
    computed = []
    compute = backbones.compute

    def counting(images, backbone, rows, **options):
        computed.append(rows)
        return compute(images, backbone, rows, **options)

    monkeypatch.setattr(feature_code, "compute", counting)
    return computed


def damaged(content):
    """The content with one byte changed."""
    return content[:-5] + b"x" + content[-4:]


@pytest.mark.parametrize("batches", [2, 64])
def test_features_are_the_same_bytes_whatever_a_shard_holds(monkeypatch, batches, tmp_path):
    computed = backbones.compute(pictures(), flat())
    monkeypatch.setattr(shards, "BATCHES", batches)
    bank = read_features()
    (path,) = store.path("features").iterdir()  # no shard is left
    assert bank.data.dtype == torch.float32 and torch.equal(bank.data, computed.float())
    save_file(
        {"features": computed}, tmp_path / "f", metadata={"sha256": shards.digest([computed])}
    )
    assert path.read_bytes() == (tmp_path / "f").read_bytes()


def test_the_first_images_say_which_form_of_the_network_is_taken(monkeypatch):
    """A shard in the middle is computed as all are, also where the faster form fits its own images
    and not those.
    """
    tried = []
    monkeypatch.setattr(
        feature_code, "folded", lambda network, x: tried.append(x.clone()) or network
    )
    backbones.compute(pictures(), flat())
    backbones.compute(pictures(), flat(), range(32, 48))
    assert len(tried) == 2 and torch.equal(*tried) and len(tried[0]) == feature_code.TRIED


def test_processes_share_the_shards_in_parts(monkeypatch, counted):
    images = pictures()
    for k in (3, 1, 2):
        n_computed = evaluation.compute_features(images, flat(), (k, 3))
        assert n_computed == sum(map(len, backbones.shards_of(images, flat()).bounds[k - 1 :: 3]))
    assert evaluation.compute_features(images, flat(), (2, 3)) == 0
    assert evaluation.compute_features(images, flat()) == 0  # gathers
    assert sorted(map(len, counted)) == [6, 16, 16, 16, 16] and len(files()) == 1
    monkeypatch.setattr(feature_code, "compute", None)  # would fail if it were called
    assert torch.equal(read_features().data, backbones.compute(images, flat()).float())
    assert evaluation.compute_features(images, flat(), (1, 1)) == 0


@pytest.mark.parametrize("function", ["compute", "kept"])
@pytest.mark.parametrize("limit", [shards.MAPPED, 0], ids=["small", "mapped"])
def test_another_process_may_have_been_faster(monkeypatch, function, limit):
    """It gathers, and removes the shards, while this one computes one of them or is about to read
    it.
    """
    monkeypatch.setattr(shards, "MAPPED", limit)
    images = pictures()
    calls = []
    module = feature_code if function == "compute" else shards
    if function == "kept":
        for rows in backbones.shards_of(images, flat()).bounds:
            backbones.make_shard(images, flat(), rows)
    original = getattr(module, function)

    def late(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 3:
            monkeypatch.setattr(module, function, original)
            read_features()
        return original(*arguments, **options)

    monkeypatch.setattr(module, function, late)
    assert torch.equal(read_features().data.float(), backbones.compute(images, flat()).float())
    endings = {path.suffix for path in store.path("features").iterdir()}
    assert len(calls) == 3 and endings == {".safetensors", *([] if limit else [".checked"])}


@pytest.mark.parametrize("damage", [lambda content: b"", damaged])
def test_a_damaged_shard_is_reported_and_made_again(counted, recwarn, damage):
    images = pictures()
    parts = backbones.shards_of(pictures(), flat())
    for rows in parts.bounds:
        backbones.make_shard(images, flat(), rows)
    counted.clear()
    file = parts.file(parts.bounds[1])
    file.write_bytes(damage(file.read_bytes()))
    assert torch.equal(read_features().data, backbones.compute(images, flat()).float())
    assert counted == [parts.bounds[1]]
    message = warned(recwarn)
    assert says_in_one_line(message, file, "damaged")


@pytest.mark.parametrize("metadata", [None, {}, {"sha256": "0" * 64}])
def test_features_without_their_digest_are_made_again(counted, recwarn, metadata):
    images = pictures()
    features = read_features().data
    (path,) = store.path("features").iterdir()
    save_file({"features": features.half().flip(0)}, path, metadata=metadata)
    counted.clear()
    shards._SEEN.clear()  # as in another process
    assert torch.equal(read_features().data, features)
    assert len(counted) == len(backbones.shards_of(images, flat()).bounds)
    assert says_in_one_line(warned(recwarn), path, "damaged")


def test_an_image_that_cannot_be_read_is_named_and_finished_shards_stay(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    for i in range(40):
        Image.fromarray(image_of(i)[..., 0]).save(tmp_path / f"{'ab'[i // 20]}/{i:02}.png")
    bad = tmp_path / "b/35.png"
    bad.write_bytes(bad.read_bytes()[:60])
    images = datasets.load(f"folder:{tmp_path}", size=8)
    with refuses(f"unreadable image {bad}"):
        backbones.features(images, flat())
    parts = backbones.shards_of(images, flat())
    assert parts.missing() == parts.bounds[2:] and len(parts.bounds) == 3
    assert not parts.path.exists()


# ---- many features, which are mapped


def test_many_features_are_mapped_and_looked_at_once(monkeypatch, recwarn):
    monkeypatch.setattr(shards, "MAPPED", 0)
    computed = backbones.compute(pictures(), flat())
    bank = read_features()
    assert bank.large and bank.data.dtype == torch.float16 and torch.equal(bank.data, computed)
    assert (
        bank.to("cpu", wide=False).data is bank.data and bank.to("cpu").data.dtype == torch.float32
    )
    assert replace(bank, text=torch.ones(7, 12)).finite is bank.data
    path = next(store.path("features").glob("*.safetensors"))
    with monkeypatch.context() as patch:
        patch.setattr(shards, "_check", None)  # would fail if it were called
        patch.setattr("fslcore.datasets.bank.check_finite", None)
        assert torch.equal(read_features().data, computed)
    content = path.read_bytes()
    for damage in (damaged(content), content[:100], b""):
        path.write_bytes(damage)
        os.utime(path, (1, 1))
        assert torch.equal(read_features().data, computed)
        assert says_in_one_line(warned(recwarn), path, "damaged")
        assert path.read_bytes() == content
    path.with_suffix(".checked").write_bytes(b"\xff")
    assert torch.equal(read_features().data, computed) and not warned(recwarn)


def test_few_features_are_looked_at_once_a_process_and_again_when_the_file_is_another(
    monkeypatch, recwarn
):
    computed = read_features().data
    checks = []
    digest = shards.digest
    monkeypatch.setattr(shards, "digest", lambda parts: checks.append("sha") or digest(parts))
    monkeypatch.setattr("fslcore.datasets.bank.check_finite", lambda data: checks.append("finite"))
    path = next(store.path("features").glob("*.safetensors"))
    for _ in range(3):
        assert torch.equal(read_features().data, computed)
    assert checks in ([], ["sha"])  # at most the first reading, none after it
    content = path.read_bytes()
    path.write_bytes(damaged(content))
    os.utime(path, (1, 1))
    assert torch.equal(read_features().data, computed)
    assert says_in_one_line(warned(recwarn), path, "damaged")
    assert path.read_bytes() == content


@pytest.mark.parametrize("limit", [0, 2**28], ids=["mapped", "small"])
def test_features_that_are_not_finite_stop_whatever_their_number(monkeypatch, limit):
    monkeypatch.setattr(shards, "MAPPED", limit)
    compute = backbones.compute

    def broken(images, backbone, rows, **options):
        features = compute(images, backbone, rows, **options).clone()
        if rows.start == 32:
            features[5, 3] = torch.inf
        return features

    monkeypatch.setattr(feature_code, "compute", broken)
    for _ in range(2):  # found in the cache, too
        with refuses("^features: 1 rows", "NaN", "row 37"):
            read_features()


def test_rows_are_looked_at_in_chunks(monkeypatch):
    monkeypatch.setattr("fslcore.datasets.bank.CHUNK", 8)
    data = torch.zeros(9, 4)
    data[7, 1] = torch.nan
    with refuses("1 rows", "NaN", "row 7"):
        Bank(data, np.zeros(9, int), "")
    with refuses("row 7"):  # what was looked at is another tensor
        Bank(data, np.zeros(9, int), "", finite=torch.zeros(9, 4))


@pytest.mark.parametrize("name", registered_learners)
@pytest.mark.parametrize("tasks", [TASKS, UNEVEN], ids=["even", "uneven"])
def test_a_bank_of_16_bits_gives_what_its_numbers_in_32_bits_give(name, tasks):
    """To the last bit, for every learner; those that read images take no notice."""
    learner, bank = shipped(name, **({"epochs": 1} if name == "ft" else {}))
    if reads_images(name):
        assert not bank.large and bank.dtype == torch.uint8
        return
    wide, narrow = (
        replace(bank, data=data) for data in (bank.data.half().float(), bank.data.half())
    )
    assert narrow.large and not wide.large
    of_wide, of_narrow = (
        torch.cat(list(evaluation.predict_scores(learner, of_bits, tasks)))
        for of_bits in (wide, narrow)
    )
    assert of_narrow.dtype == of_wide.dtype == torch.float32 and torch.equal(of_narrow, of_wide)
    assert torch.equal(learner.scores(narrow, tasks), learner.scores(wide, tasks))


def test_only_the_rows_of_the_tasks_are_prepared_of_many_maps(monkeypatch):
    learner, bank = shipped("renet")
    rows, placed = outcomes.used_rows(UNEVEN)
    assert (np.unique(rows) == rows).all() and ((placed.support < 0) == (UNEVEN.support < 0)).all()
    assert (rows[placed.query[placed.query >= 0]] == UNEVEN.query[UNEVEN.query >= 0]).all()
    counts = []
    embed = type(learner).embed
    monkeypatch.setattr(
        type(learner), "embed", lambda self, x: counts.append(len(x)) or embed(self, x)
    )
    list(evaluation.predict_scores(learner, replace(bank, data=bank.data.half()), UNEVEN))
    assert sum(counts) == len(rows) < len(bank)


def test_the_mean_over_many_features_is_that_over_few(monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda *a, **k: pictures())
    monkeypatch.setattr(datasets, "names", lambda split: ["pictures"])
    few = backbones.base_mean(pictures(), flat())
    monkeypatch.setattr(shards, "MAPPED", 0)
    monkeypatch.setattr("fslcore.datasets.bank.CHUNK", 50)
    assert torch.equal(backbones.base_mean(pictures(), flat()), few)


def test_of_too_many_images_those_of_a_block_are_read(monkeypatch):
    network = backbones.load("glyph-conv")
    learner = learners.FineTune(network, epochs=1)
    read = []
    images = pictures(lambda i: read.append(i) or image_of(i), 700)
    tasks = sample_closed(images.labels, tasks=3, shots=1, queries=2)
    monkeypatch.setattr(cache, "BLOCK", 2)
    record, _ = evaluation.cached_outcomes(images, network, learner, tasks)
    assert len(set(read)) == 700
    store.path("records").rename(store.path("other"))
    monkeypatch.setattr("fslcore.datasets.images.KEPT", 0)
    monkeypatch.setattr(cache, "KEPT", 0)
    read.clear()
    images = pictures(lambda i: read.append(i) or image_of(i), 700)
    by_block, _ = evaluation.cached_outcomes(images, network, learner, tasks)
    assert (by_block.correct == record.correct).all() and files("records") == files("other")
    assert sorted(read) == sorted(
        i for block in (tasks[:2], tasks[2:]) for i in outcomes.used_rows(block)[0]
    )
    bank, renumbered = evaluation.ConfiguredMethod(images, network, learner).inputs(tasks[:1])
    assert len(bank) == 15 == len(np.unique(renumbered.query)) + len(np.unique(renumbered.support))


def test_the_digest_of_images_reads_them_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("fslcore.datasets.images.CHUNK", 6400)
    images = replace(pictures(n=300), content=None)
    content = hashlib.sha256(images.images[:].tobytes()).hexdigest()
    sizes = []

    class Counting(OnDemand):
        def __getitem__(self, rows):
            pixels = super().__getitem__(rows)
            sizes.append(len(pixels))
            return pixels

    counting = replace(images, images=Counting(image_of, 300, (8, 8, 1)))
    assert counting.digest == replace(images, content=content).digest and sizes == [100] * 3


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("name", ["f.safetensors", "f.npy"])
def test_many_features_of_the_users_own_are_mapped_too(tmp_path, monkeypatch, kind, name):
    x = (FEATURES.data.half().numpy() + 1).astype(kind)

    def write():
        tensors = {"features": torch.from_numpy(x), "labels": torch.from_numpy(FEATURES.labels)}
        save_file(tensors, tmp_path / "f.safetensors")
        np.save(tmp_path / "f.npy", x), np.save(tmp_path / "labels.npy", FEATURES.labels)

    write()
    few = load_features(tmp_path / name)
    monkeypatch.setattr("fslcore.datasets.bank.MAPPED", 0)
    monkeypatch.setattr("fslcore.datasets.bank.CHUNK", 1000)
    many = load_features(tmp_path / name)
    assert (
        few.data.dtype == torch.float32
        and many.data.numpy().dtype == kind
        and few.digest == many.digest
    )
    of_few, of_many = (
        evaluation.evaluate(learners.LogisticRegression(), bank, TASKS) for bank in (few, many)
    )
    assert (of_many.correct == of_few.correct).all()
    x[150] = 0
    write()
    with refuses(rf"1 rows of {name} have length 0 \(150\)"):
        load_features(tmp_path / name)


# ---- what is exported


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_exported_features_are_read_again(tmp_path, ending):
    images = replace(pictures(), class_names=["ζ", "b c", "a", "d", "e", "f", "g"])
    bank = backbones.features(images, flat())
    evaluation.write_features(tmp_path / f"f{ending}", bank, images)
    loaded = load_features(tmp_path / f"f{ending}")
    assert torch.equal(loaded.data, bank.data)
    assert (loaded.classes == np.array(images.class_names)[images.labels]).all()
    if ending == ".safetensors":
        tensors = load_file(tmp_path / "f.safetensors")
        assert tensors["labels"].tolist() == images.labels.tolist()
        for names in (["a"], "abcdefg", {"a": 1}):
            save_file(
                tensors, tmp_path / "g.safetensors", metadata={"class_names": json.dumps(names)}
            )
            with refuses("names of classes", "metadata"):
                load_features(tmp_path / "g.safetensors")


# ---- blocks of tasks


@pytest.fixture
def command(tmp_path):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(6), 60))
    return f"evaluate {features_file(tmp_path, labels)} none --tasks 30 --quiet".split()


@pytest.mark.parametrize("learner", ["ncc", "lr"])
def test_blocks_join_to_the_same_record_under_the_same_key(monkeypatch, learner):
    tasks = sample_closed(FEATURES.labels, tasks=23)
    learner = learners.make(learner)

    def record(tasks, **options):
        return evaluation.cached_outcomes(FEATURES, None, learner, tasks, **options)

    at_once, key = record(tasks)
    assert list(files("records")) == [f"{key}.npz"]  # one file, as before there were blocks
    store.path("records", f"{key}.npz").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(cache, "BLOCK_OF_FEATURES", 5)
        for block in evaluation.ConfiguredMethod(FEATURES, None, learner).blocks(tasks)[::-2]:
            record(block)
        assert len(files("records")) == 3
        first, _ = record(tasks, stored=True)
        assert (first.correct == at_once.correct[:5]).all()
        joined, same_key = record(tasks)
        assert (
            same_key == key
            and (joined.correct == at_once.correct).all()
            and len(files("records")) == 5
        )
        shutil.rmtree(store.path("records"))
    # Of more tasks the first are found that are stored in one piece.
    _, key = record(tasks[:20])
    monkeypatch.setattr(cache, "BLOCK_OF_FEATURES", 5)
    monkeypatch.setattr(cache, "evaluate", None)  # would fail if it were called
    first, first_key = record(tasks, stored=True)
    assert (first.correct == at_once.correct[:20]).all() and first_key == key
    assert (record(tasks[:20])[0].correct == at_once.correct[:20]).all()


def test_parts_in_any_order_join_to_the_same_table(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cache, "BLOCK_OF_FEATURES", 4)
    assert app.main([*command, "-o", f"{tmp_path}/plain.csv"]) == 0
    records_at_once = files("records")
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "other"))
    computed = []
    real = cache.evaluate
    monkeypatch.setattr(cache, "evaluate", lambda *a, **k: computed.append(1) or real(*a, **k))
    for part in ("3/3", "1/3", "2/3", "2/3"):
        assert app.main([*command, "--part", part]) == 0
        assert part != "3/3" or len(computed) < len(records_at_once) / 2
    assert (
        files("records") == records_at_once
        and len(computed) == len(records_at_once)
        and len(records_at_once) > 12
    )
    assert list(tmp_path.glob("*.csv")) == [tmp_path / "plain.csv"]
    assert app.main([*command, "-o", f"{tmp_path}/parts.csv"]) == 0
    assert len(computed) == len(records_at_once)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    "options, message",
    [
        ("--part 1/2 --until 1", "--until: not with --part"),
        ("--part 1/2 --intervals", "--intervals: not with --part"),
    ],
)
def test_bad_parts_are_refused(command, capsys, options, message):
    assert app.main([*command, *options.split()]) == 2
    assert capsys.readouterr().err.startswith(f"fslcore: {message}")


def test_the_command_features(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()  # shards and batches of the usual size
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "cache"))
    for i in range(12):
        (tmp_path / f"photos/{i % 3}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image_of(i)[..., 0]).save(tmp_path / f"photos/{i % 3}/{i}.png")

    def output(*options):
        assert (
            app.main(["features", f"folder:{tmp_path}/photos", "glyph-conv", "--quiet", *options])
            == 0
        )
        return capsys.readouterr().out

    facts = json.loads(output("--part", "2/2", "--json"))  # there is one shard, of the first part
    assert facts["computed"] == 0 and facts["shards_left"] == 1 and facts["features"] is None
    first_part = output("--part", "2/2")
    assert "0 of 12 images" in first_part and "1 of 1 shards" in first_part
    assert "12 of 12 images computed" in output("-o", f"{tmp_path}/f.npz")
    assert load_features(tmp_path / "f.npz").classes.tolist() == [
        str(i) for i in range(3) for _ in range(4)
    ]
    facts = json.loads(output("--json"))
    assert facts["computed"] == 0 and Path(facts["features"]).is_file()
    # A part of an evaluation computes its part of the features too.
    monkeypatch.setenv("FSLCORE_CACHE", str(tmp_path / "other"))
    options = "--ways 2 --shots 1 --queries 1 --tasks 4 --learners ncc --part 1/2 --quiet".split()
    assert app.main(["evaluate", f"folder:{tmp_path}/photos", "glyph-conv", *options]) == 0
    capsys.readouterr()
    facts = json.loads(output("--json"))
    assert facts["computed"] == 0 and Path(facts["features"]).is_file()


# ---- processes

TEST_FOLDERS = [str(ROOT / "tests"), str(ROOT / "tests" / "evaluation")]

SCRIPT = """
import os, sys, time
sys.path[:0] = {tests!r}
import test_shards as t
t.feature_code.BATCH, t.shards.BATCHES = t.BATCH, 2
def read(i):
    if i % t.BATCH == 0:
        with open({log!r}, "a") as file:
            file.write("x")
        while os.path.getsize({log!r}) >= killed_at:
            time.sleep(1)
    return t.image_of(i)
for line in sys.stdin:  # each in a copy of this process, which has imported torch once for all
    killed_at = int(line)
    child = os.fork()
    if child == 0:
        t.backbones.features(t.pictures(read, 240), t.flat())
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_a_kill_loses_one_shard_at_most(tmp_path, monkeypatch):
    """Shards of 2 batches of 30: killed at random, and begun again until it ends by itself."""
    log = tmp_path / "log"
    cache = tmp_path / "cache"
    log.touch()
    code = SCRIPT.format(tests=TEST_FOLDERS, log=str(log))
    env = {
        **os.environ,
        "FSLCORE_CACHE": str(cache),
        "PYTHONPATH": f"{ROOT}:{ROOT}/book",
        "OMP_NUM_THREADS": "1",
    }
    rng = random.Random(0)
    kills = 4
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, **pipes) as parent:

        def begin(killed_at):
            parent.stdin.write(f"{killed_at}\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        def exit_code():
            return int(parent.stdout.readline())

        for _ in range(kills):  # at most 7 of the 30 batches each, so that none ends by itself
            wanted = len(log.read_text()) + rng.randint(2, 7)
            child = begin(wanted)
            latest = time.monotonic() + 120
            while len(log.read_text()) < wanted and time.monotonic() < latest:
                time.sleep(0.002)
            os.kill(child, signal.SIGKILL)
            assert exit_code() == -signal.SIGKILL
        begin(killed_at=1_000_000)
        assert exit_code() == 0
        parent.stdin.close()
    # A kill costs the batches of one shard, and the first image, which is read at each start to
    # choose the network.
    assert 30 < len(log.read_text()) <= 30 + kills * (2 + 1)
    (path,) = (cache / "features").iterdir()
    monkeypatch.setattr(feature_code, "BATCH", BATCH)
    assert torch.equal(load_file(path)["features"], backbones.compute(pictures(n=240), flat()))


BOUNDED = """
import sys
sys.path[:0] = {tests!r}
import numpy as np, torch
import test_shards as t
from fslcore.learners import NearestCentroid, LogisticRegression
def status(name):
    lines = open("/proc/self/status")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
class Drawn:
    def __init__(self, n):
        self.shape = (n, 32, 32, 3)
    def __len__(self):
        return self.shape[0]
    def __getitem__(self, rows):
        rows = np.arange(len(self))[rows]
        values = (rows * 7919 % 251).astype(np.uint8)[:, None, None, None]
        return np.broadcast_to(values, (len(rows), 32, 32, 3))
def images(n):
    labels = np.arange(n) % 7
    name = f"drawn {{n}}"
    return t.datasets.Images(name, Drawn(n), labels, list("abcdefg"), content=name)
t.shards.MAPPED = 2**20
t.shards.BATCHES = 8
backbone = t.flat(512)
def learn(found, bank):
    tasks = t.sample_closed(found.labels, tasks=20)
    for learner in (NearestCentroid(), LogisticRegression()):
        t.evaluation.evaluate(learner, bank, tasks)
# What is imported and kept by then is no part of it
learn(images(3000), t.backbones.features(images(3000), backbone))
before, resting = status("VmHWM"), status("RssAnon")
found = images(120_000)
bank = t.backbones.features(found, backbone)
assert bank.large and bank.data.numel() * 2 > 100e6
made = status("VmHWM") - before
learn(found, bank)
print(made, status("RssAnon") - resting)
"""


@pytest.mark.slow
@pytest.mark.processes
def test_memory_is_bounded_by_a_shard(tmp_path):
    """Pixels of 370 MB and features of 120 MB: made, checked and read with less, as much as a shard
    and tasks take.

    Of what is read, pages of the mapped file do not count, which the system takes back when it
    needs them.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")
    }  # freed memory, too
    env = {
        **environment,
        "PYTHONPATH": f"{ROOT}:{ROOT}/book",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "1",
    }
    code = BOUNDED.format(tests=TEST_FOLDERS)
    done = run_code(code, env=env)
    assert done.returncode == 0, done.stderr
    peak, read = map(int, done.stdout.split())
    assert peak < 120e6 and read < 80e6, done.stdout
