"""Captions: one sentence per image, from a captioner or a table.

A captioner is a function from (B, H, W, C) uint8 images to B sentences. `captioner` gives one by
name, `write` runs it over a data set into a .csv, and `read` reads such a table from any source.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from fslcore import sources, store
from fslcore.datasets import Images
from fslcore.datasets.images import first_twice
from fslcore.datasets.papers import text_table
from fslcore.errors import InputError, instance, missing, quoted, suggestion, visible
from fslcore.paths import replace_file

from . import pixels

__all__ = ["NAMES", "Captioner", "captioner", "read", "table_of", "write"]

Captioner = Callable[[np.ndarray], list[str]]
#: Place of a captioner's weights on the model hub, its search with the longest caption in tokens,
#: and the beginning of each caption. For ViT-GPT2 and the large BLIP as in FewSTAB's released code,
#: where BLIP has the library's defaults, which the small BLIP uses here too.
HUB = {
    "vit-gpt2": (
        "nlpconnect/vit-gpt2-image-captioning",
        dict(num_beams=4, max_length=16),
        "",
    ),
    "blip": ("Salesforce/blip-image-captioning-base", dict(num_beams=1, max_length=20), ""),
    "blip-large": (
        "Salesforce/blip-image-captioning-large",
        dict(num_beams=1, max_length=20),
        "there",
    ),
}
NAMES = ("pixels", *HUB)
BATCH = 16
CHUNK = 512  # images between two writes


def captioner(name: str) -> Captioner:
    """A captioner by name.

    Parameters
    ----------
    name : str
        ``pixels``, which needs no weights; ``vit-gpt2``, ``blip`` or ``blip-large``, whose weights
        come from the model hub; ``vit-gpt2:WHERE`` and the like, with a folder that contains them
        or another name on the hub. FewSTAB's released code uses ``vit-gpt2`` and ``blip-large``.

    Raises
    ------
    InputError
        Unknown name; no ``transformers``; no weights (the message says where to get them), or
        incomplete weights: random weights are never used. Nothing in them is executed.
    """
    kind, _, source = str(name).partition(":")
    if name == "pixels":
        return lambda images: pixels.sentences(pixels.look(images))
    if kind not in HUB:
        folders = ", ".join(f"{kind}:FOLDER" for kind in HUB)
        raise InputError(
            f"captioner must be one of {', '.join(NAMES)}, {folders}, got "
            f"{quoted(name)}{suggestion(kind, NAMES)}"
        )
    if not find_spec("transformers"):
        raise InputError(missing("transformers", "captions"))
    listed = None if source else sources.weights(kind)
    if listed:
        return _transformer(kind, listed.repository, listed.revision)
    return _transformer(kind, source or HUB[kind][0])


def _transformer(kind: str, source: str, revision: str | None = None) -> Captioner:
    import torch

    _, search, prompt = HUB[kind]
    model, processor, tokenizer = _load(kind, source, revision)

    @torch.inference_mode()
    def caption(images: np.ndarray) -> list[str]:
        images = np.array(np.broadcast_to(images, (*images.shape[:3], 3)))
        inputs = dict(processor(images=list(images), return_tensors="pt"))
        if prompt:
            prompts = [prompt] * len(images)
            inputs |= tokenizer(prompts, return_tensors="pt", return_token_type_ids=False)
        inputs = {name: values.to(model.device) for name, values in inputs.items()}
        written = model.generate(**inputs, **search)
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        return [" ".join(text.split()) for text in texts]

    return caption


def _load(kind: str, source: str, revision: str | None) -> tuple:
    """Model, image processor and tokenizer; no weight of the model is random."""
    from fslcore.models.backbone import device
    from fslcore.models.networks import import_torchvision

    import_torchvision()  # as transformers does
    where = device()
    from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model, loading = AutoModelForImageTextToText.from_pretrained(
            source, revision=revision, output_loading_info=True
        )
        processor = AutoImageProcessor.from_pretrained(source, revision=revision)
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
    except (OSError, ValueError, RuntimeError, KeyError, pickle.UnpicklingError) as error:
        raise InputError(
            f"captioner {kind}: {source} gives no weights ({str(error).strip().splitlines()[0]}); "
            f"bring {HUB[kind][0]} from the model hub, and name its folder: {kind}:FOLDER"
        ) from None
    # The pooling layer is not used for captions, and some checkpoints do not have it.
    absent = sorted(key for key in loading["missing_keys"] if ".pooler." not in key)
    absent += sorted(loading["mismatched_keys"])
    if absent:
        raise InputError(
            f"captioner {kind}: the weights in {source} are incomplete; {absent[0]} is missing"
        )
    return model.to(where).eval(), processor, tokenizer


def table_of(name: str, dataset: str) -> Path:
    """The default output of ``fslbook caption`` for a captioner and a data set."""
    return store.path("captions", name.partition(":")[0], sources.filled("{dataset}.csv", dataset))


def read(path: str | Path, images: Images) -> list[str]:
    """Captions of a data set's images from a .csv.

    Parameters
    ----------
    path : path
        Has the columns ``image`` (or ``file``) and ``caption``. Images are identified by
        `Images.names`, or, if the table has other names, by the last part of their paths. Rows of
        other images are not used. In a table that `write` made, a caption may be empty.
    images : Images
        N images.

    Returns
    -------
    list of N str

    Raises
    ------
    InputError
        No such file or column; an image twice, without a row, or without words: names the first,
        and how many.
    """
    table = text_table(Path(instance("captions", path, (str, Path))), ["caption"], name="captions")
    column = "image" if "image" in table else "file"
    if column not in table:
        raise InputError(
            f"captions: {path} lacks the column image; it has {', '.join(table.columns)}"
        )
    listed, wanted = [*map(visible, table[column])], images.names
    if not set(listed) & set(wanted):
        listed, wanted = [*map(_file_name, listed)], [*map(_file_name, wanted)]
    if twice := first_twice(wanted) or first_twice(listed):
        raise InputError(
            f"captions: {path} cannot distinguish images by name; {twice} is there twice"
        )
    caption = dict(zip(listed, table["caption"]))
    if "captioner" not in table:  # a network may return an empty caption; a person omitted it
        caption = {name: text for name, text in caption.items() if text.strip()}
    absent = [name for name in wanted if name not in caption]
    if absent:
        raise InputError(
            f"captions: {path} has none for {absent[0]} ({len(absent)} of {len(wanted)} are "
            "missing)"
        )
    return [caption[name] for name in wanted]


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def write(images: Images, name: str, path: str | Path, *, progress: bool = False) -> Path:
    """Caption a data set's images into a .csv; an interrupted run is resumed from its written rows.

    Parameters
    ----------
    images : Images
        N images.
    name : str
        Of a captioner (see `captioner`).
    path : path
        One row per image: ``image`` (see `Images.names`), ``caption`` and ``captioner``. Written
        every `CHUNK` images, whole or not at all.
    progress : bool
        Show a progress bar.

    Raises
    ------
    InputError
        Another suffix; a file with other columns, of another captioner or of other images; and as
        for `captioner`.
    """
    path, names = Path(path), images.names
    if path.suffix != ".csv":
        raise InputError(f"output must be a name ending in .csv, got {path}")
    done = _begun(path, name, names)
    if len(done) == len(names):
        return path
    caption = captioner(name)
    bar = dict(desc=f"{name} on {images.name}", unit="image", disable=not progress)
    with tqdm(total=len(names), initial=len(done), **bar) as bar:
        for start in range(len(done), len(names), CHUNK):
            chunk = range(len(names))[start : start + CHUNK]
            texts: list[str] = []
            for first in chunk[::BATCH]:
                batch = images.images[first : min(first + BATCH, chunk.stop)]
                texts += caption(batch)
                bar.update(len(batch))
            rows = {"image": names[chunk.start : chunk.stop], "caption": texts, "captioner": name}
            done = pd.concat([done, pd.DataFrame(rows)], ignore_index=True)
            replace_file(path, partial(done.to_csv, index=False))
    return path


def _begun(path: Path, name: str, names: list[str]) -> pd.DataFrame:
    """The rows that an earlier run wrote, for the first images."""
    if not path.exists():
        return pd.DataFrame(columns=["image", "caption", "captioner"], dtype=str)
    done = text_table(path, ["image", "caption", "captioner"], name="captions")
    others = set(done["captioner"]) - {name}
    if others:
        raise InputError(
            f"captions: {path} holds captions of {others.pop()}, not of {name}; give another output"
        )
    if done["image"].tolist() != names[: len(done)]:
        raise InputError(f"captions: {path} holds captions of other images; give another output")
    return done
