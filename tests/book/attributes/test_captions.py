"""Tables of captions, and the captioners that write them."""

import os
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from refusal import refuses, says_in_one_line

from fslbook import attributes, cli
from fslbook.attributes import captions, pixels
from fslcore.datasets import Images, load
from fslcore.models.networks import import_torchvision
from tests.pickled import Touch


def some(n=5, side=8):
    pixels_ = np.random.default_rng(0).integers(0, 256, (n, side, side, 3), dtype=np.uint8)
    return Images("some", pixels_, np.arange(n) % 2, ["cat", "dog"])


@pytest.fixture
def folder(tmp_path):
    for name, colour in (("cat", "red"), ("dog", "blue")):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (20, 20), colour).save(tmp_path / "data" / name / f"{name}{i}.png")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "column, names",
    [
        ("image", ["dog/dog1.png", "cat/cat0.png", "cat/cat1.png", "dog/dog0.png", "other/x.png"]),
        ("file", ["dog1.png", "cat0.png", "cat1.png", "dog0.png", "x.png"]),
        ("image", [r"C:\my\dog1.png", "/my/cat0.png", "cat1.png", "dog0.png", "x.png"]),
    ],
)
def test_captions_are_read_by_name_whatever_their_order(folder, column, names):
    table = pd.DataFrame(
        {column: names, "caption": ["d, one", 'c "zero"', "c one", "d zero\nor so", "other"]}
    )
    table.to_csv(folder / "c.csv", index=False)
    images = load(f"folder:{folder}")
    assert captions.read(folder / "c.csv", images) == [
        'c "zero"',
        "c one",
        "d zero\nor so",
        "d, one",
    ]


@pytest.mark.parametrize(
    "table, message",
    [
        ("image,caption\ncat/0,x\ncat/0,x\n", "cat/0 is there twice"),
        ("image,caption\ncat/0,x\ncat/2,x\n", r"has none for dog/1 \(3 of 5 are missing\)"),
        ("image,text\ncat/0,x\n", "lacks the column caption; it has image, text"),
        ("image,caption,caption\ncat/0,x,x\n", "column caption twice"),
        ("picture,caption\ncat/0,x\n", "lacks the column image; it has picture, caption"),
        ("image,caption\n", "c.csv is empty"),
    ],
)
def test_a_fault_of_a_table_is_one_line(tmp_path, table, message):
    (tmp_path / "c.csv").write_text(table)
    with refuses(message) as error:
        captions.read(tmp_path / "c.csv", some())
    assert str(error.value).startswith("captions: ")


def test_a_name_that_is_no_text_is_told_before_the_work(folder, capsys):
    os.rename(folder / "cat" / "cat0.png", os.fsencode(folder / "cat") + b"/\xff.png")
    assert cli.main(["caption", f"folder:{folder}", "-o", str(folder / "c.csv")]) == 2
    assert says_in_one_line(capsys.readouterr().err, r"cat/\udcff.png", "UTF-8")
    assert not (folder / "c.csv").exists()


def test_write_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(captions, "CHUNK", 2)
    images, captioned = some(5), []

    def stops(after):
        def describe(batch):
            if len(captioned) >= after:
                raise KeyboardInterrupt
            captioned.extend(batch)
            return [f"a picture\nof {image.sum()}" for image in batch]

        return lambda name: describe

    path = tmp_path / "c.csv"
    monkeypatch.setattr(captions, "captioner", stops(after=4))
    with pytest.raises(KeyboardInterrupt):
        captions.write(images, "pixels", path)
    assert len(pd.read_csv(path)) == 4 and [p.name for p in tmp_path.iterdir()] == ["c.csv"]
    with refuses("has none for cat/4"):
        captions.read(path, images)
    with refuses("captions of pixels", "blip", "output"):
        captions.write(images, "blip", path)
    with refuses("captions of other images"):
        captions.write(
            Images("other", images.images, 1 - images.labels, images.class_names), "pixels", path
        )
    monkeypatch.setattr(captions, "captioner", stops(after=5))
    captions.write(images, "pixels", path)
    assert np.array_equal(captioned, images.images)  # each was looked at once
    assert captions.read(path, images) == [
        f"a picture\nof {image.sum()}" for image in images.images
    ]
    monkeypatch.setattr(captions, "captioner", None)
    captions.write(images, "pixels", path)  # done: no captioner is asked for


def test_a_captioner_may_say_nothing_of_an_image_and_a_person_may_not(tmp_path, monkeypatch):
    images = some(4)
    monkeypatch.setattr(
        captions,
        "captioner",
        lambda name: lambda batch: ["", "a boat", " ", "a boat"][: len(batch)],
    )
    captions.write(images, "blip", tmp_path / "c.csv")
    assert [caption.strip() for caption in captions.read(tmp_path / "c.csv", images)] == [
        "",
        "a boat",
        "",
        "a boat",
    ]
    assert attributes.of(images, str(tmp_path / "c.csv")).has.sum(axis=1).tolist() == [0, 1, 0, 1]
    pd.read_csv(tmp_path / "c.csv").drop(columns="captioner").to_csv(
        tmp_path / "mine.csv", index=False
    )
    with refuses(r"has none for cat/0 \(2 of 4 are missing\)"):
        captions.read(tmp_path / "mine.csv", images)


def test_command(folder):
    out = folder / "c.csv"
    assert cli.main(["caption", f"folder:{folder}", "-o", str(out)]) == 0
    table = pd.read_csv(out)
    assert table["image"].tolist() == [
        "cat/cat0.png",
        "cat/cat1.png",
        "dog/dog0.png",
        "dog/dog1.png",
    ]
    images = load(f"folder:{folder}")
    assert captions.read(out, images) == pixels.sentences(pixels.look(images.images))
    assert {"red", "blue", "plain"} <= set(attributes.of(images, str(out)).names)


def test_words_of_a_captioner_are_known_by_its_name_on_several_data_sets(
    monkeypatch, own_cache, capsys
):
    monkeypatch.setattr(
        captions, "captioner", lambda name: lambda batch: [f"a blue boat {name}"] * len(batch)
    )
    small = {
        name: replace(some(n), name=name)
        for name, n in (("fashion", 3), ("coloured/hebrew?per_class=5", 4))
    }
    monkeypatch.setattr("fslcore.datasets.load", lambda name, *_: small[name])
    assert cli.main(["caption", *small, "--captioner", "blip", "--quiet"]) == 0
    written = [
        own_cache / "captions" / "blip" / f"{name}.csv"
        for name in ("fashion", "coloured-hebrew-per_class-5")
    ]
    assert (
        capsys.readouterr().out.splitlines() == [*map(str, written)]
        and len(pd.read_csv(written[1])) == 4
    )
    assert {"blue", "boat"} <= set(attributes.of(small["fashion"], "blip").names)
    for arguments, line in (
        ([*small, "-o", "c.csv"], "without it, the captions of 2 data sets are cached"),
        ([f"folder:{own_cache}"], "which has no name for cached captions"),
    ):
        assert cli.main(["caption", *arguments]) == 2
        error = capsys.readouterr().err
        assert line in error and error.count("\n") == 1


def test_a_table_for_each_data_set_goes_by_one_name(folder, tmp_path):
    images = replace(load(f"folder:{folder}"), name="cub:/somewhere?splits=fewstab")
    captions.write(images, "pixels", tmp_path / "cub-splits-fewstab.csv")
    by_name = attributes.of(images, f"{tmp_path}/{{dataset}}.csv")
    assert by_name.names == attributes.of(images, f"{tmp_path}/cub-splits-fewstab.csv").names
    with refuses("no name", "{dataset}", "file"):
        attributes.of(load(f"folder:{folder}"), "{dataset}.csv")


# --- vision-language models: tiny ones, built from a config -----------------------------------------------


@pytest.fixture
def transformers():
    import_torchvision()
    return pytest.importorskip("transformers")


@pytest.fixture
def vit_gpt2(tmp_path, transformers):
    from tests.rehearsal import captioners

    return tmp_path, *captioners.vit_gpt2(tmp_path)


@pytest.fixture
def blip(tmp_path, transformers):
    from tests.rehearsal import captioners

    return tmp_path, *captioners.blip(tmp_path)


@pytest.fixture(params=["vit-gpt2", "blip", "blip-large"])
def tiny(request):
    return request.param, *request.getfixturevalue(
        request.param.removesuffix("-large").replace("-", "_")
    )


def test_a_captioner_is_the_model_with_the_papers_settings(tiny, monkeypatch):
    import torch
    from transformers import AutoImageProcessor

    kind, folder, model, tokenizer = tiny
    images = some(5, side=20).images
    pixel_values = AutoImageProcessor.from_pretrained(folder)(
        images=list(images), return_tensors="pt"
    ).pixel_values
    search = (
        dict(num_beams=4, max_length=16) if kind == "vit-gpt2" else dict(num_beams=1, max_length=20)
    )
    if kind == "blip-large":
        search |= tokenizer(["there"] * 5, return_tensors="pt", return_token_type_ids=False)
        assert search["input_ids"].shape == (5, 3)
    with torch.inference_mode():
        written = tokenizer.batch_decode(
            model.eval().generate(pixel_values=pixel_values, **search), skip_special_tokens=True
        )
    monkeypatch.setattr(captions, "BATCH", 2)
    describe = captions.captioner(f"{kind}:{folder}")
    assert describe(images) == [
        " ".join(sentence.split()) for sentence in written
    ]  # whatever the batches
    assert any(written) and not any("[" in sentence for sentence in written)
    assert all(sentence.startswith("there") for sentence in written) == (kind == "blip-large")
    grey = images[..., :1]
    assert describe(grey) == describe(np.repeat(grey, 3, axis=-1))


def test_there_is_never_a_random_model(tiny):
    kind, folder, model, _ = tiny
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    gone = next(
        name for name in weights if name.endswith("query.weight") or name.endswith("c_attn.weight")
    )
    save_file(
        {n: w for n, w in weights.items() if n != gone},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with refuses("are incomplete; .* is missing"):
        captions.captioner(f"{kind}:{folder}")
    (folder / "model.safetensors").unlink()
    with refuses(f"captioner {kind}: .* gives no weights .* name its folder"):
        captions.captioner(f"{kind}:{folder}")


def test_weights_in_the_older_form_are_read_and_nothing_is_unpickled(vit_gpt2, tmp_path):
    import torch
    from safetensors.torch import load_file

    folder, images = vit_gpt2[0], some(2, side=20).images
    before = captions.captioner(f"vit-gpt2:{folder}")(images)
    torch.save(
        load_file(folder / "model.safetensors"), folder / "pytorch_model.bin"
    )  # the form of the released weights
    (folder / "model.safetensors").unlink()
    assert captions.captioner(f"vit-gpt2:{folder}")(images) == before
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"x": Touch(tmp_path / "trap")}))
    (tmp_path / "trap").unlink(missing_ok=True)
    with refuses("gives no weights"):
        captions.captioner(f"vit-gpt2:{folder}")
    assert not (tmp_path / "trap").exists()
