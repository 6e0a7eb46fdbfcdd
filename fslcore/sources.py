"""The papers' own data and weights: their addresses, terms, and which of them are available.

The facts are in ``sources.yml``, which explains its format; ``FSLCORE_SOURCES`` names another file in its place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from . import store
from .errors import InputError, choice, reason
from .paths import at_home

__all__ = [
    "DataSet",
    "File",
    "Sources",
    "Weights",
    "at_hand",
    "data_folder",
    "differing",
    "digests",
    "filled",
    "read",
    "shipped",
    "weights",
]

SHIPPED = Path(__file__).with_suffix(".yml")
RECORD = "fetched.json"  # in the folder of a fetched data set: the files it was made from
LENGTHS = {"sha256": 64, "md5": 32}  # hexadecimal digits


@dataclass(frozen=True)
class File:
    """One file to download.

    Attributes
    ----------
    url : tuple of str
        Addresses, tried in turn.
    bytes : int or None
        Its exact size, if known.
    sha256, md5 : str or None
        Listed digests: a file with other ones is refused.
    by : tuple of str
        Who lists these digests.
    to : str
        Folder in the data set for the file or its unpacked content.
    """

    url: tuple[str, ...]
    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None
    by: tuple[str, ...] = ()
    to: str = "."

    @property
    def name(self) -> str:
        return unquote(PurePosixPath(urlsplit(self.url[0]).path).name)

    @property
    def packed(self) -> bool:
        """Whether it is an archive to be unpacked."""
        return self.name.endswith((".zip", ".tar.gz", ".tgz"))

    @property
    def digests(self) -> dict[str, str]:
        """The listed digests by kind; empty if nobody lists one."""
        listed = {kind: getattr(self, kind) for kind in LENGTHS}
        return {kind: digest for kind, digest in listed.items() if digest}


@dataclass(frozen=True)
class DataSet:
    """A data set of the papers, as described in ``sources.yml``, which explains each field."""

    name: str
    title: str
    licence: str
    terms: str = ""
    accept: bool = False
    files: tuple[File, ...] = ()
    path: str = "."
    has: tuple[str, ...] = ()
    disk: int = 0
    bring: str = ""
    convert: str = ""
    counts: dict[str, tuple[int, int | str]] = field(default_factory=dict)
    reader: str = ""

    def miscount(self, split: str, classes: int, images: int) -> str:
        """The numbers of a split and those listed, if they differ; an empty text otherwise."""
        listed_classes, listed_images = self.counts.get(split, (classes, images))
        if classes == listed_classes and listed_images in (images, f"{images / 1000:.1f}k"):
            return ""
        expected = f"{listed_images:,}" if isinstance(listed_images, int) else listed_images
        return f"{split} has {classes:,} classes with {images:,} images, not {listed_classes:,} with {expected}"

    @property
    def bytes(self) -> int:
        """Bytes to download, as far as known."""
        return sum(file.bytes or 0 for file in self.files)

    @property
    def unpacked(self) -> int:
        """Approximate bytes on the disk."""
        return self.disk or sum((1 + file.packed) * (file.bytes or 0) for file in self.files)


@dataclass(frozen=True)
class Weights:
    """Weights on the model hub, as described in ``sources.yml``, which explains each field."""

    name: str
    title: str
    licence: str
    repository: str
    file: str | None = None
    revision: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    by: tuple[str, ...] = ()
    architecture: dict = field(default_factory=dict)

    terms, accept, bring, files = "", False, "", ()


@dataclass(frozen=True)
class Sources:
    """All sources by name; groups are lists of names, and ``same`` are data sets with the files of others."""

    data: dict[str, DataSet]
    weights: dict[str, Weights]
    groups: dict[str, list[str]]
    same: dict[str, str]


def read() -> Sources:
    """The sources of this call: those that ship, or those in the file that ``FSLCORE_SOURCES`` names.

    Raises
    ------
    InputError
        No such file, or one of another form than ``sources.yml`` explains; the message says where.
    """
    own = os.environ.get("FSLCORE_SOURCES")
    path = at_home(own, "FSLCORE_SOURCES") if own else SHIPPED
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise InputError(f"FSLCORE_SOURCES: {path}: {error.strerror}") from None


def shipped() -> Sources:
    """The sources that ship, whatever ``FSLCORE_SOURCES`` names."""
    return _read(SHIPPED, SHIPPED.stat().st_mtime_ns)


@cache
def _read(path: Path, _: int) -> Sources:
    import yaml

    def wrong(what: str) -> InputError:
        return InputError(f"FSLCORE_SOURCES: {path}: {what}")

    try:
        found = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise wrong(f"this is not YAML ({reason(error)})") from None
    if not isinstance(found, dict) or not isinstance(found.get("data"), dict):
        raise wrong("data are needed, by their names")
    data, same, of_weights = {}, {}, {}
    for kind, made in (("data", _data_set), ("weights", Weights)):
        for name, entry in (found.get(kind) or {}).items():
            try:
                if list(entry) == ["of"]:
                    same[name] = choice("of", entry["of"], found["data"])
                else:
                    (data if kind == "data" else of_weights)[_plain(name)] = made(name=name, **_tuples(entry))
            except (TypeError, ValueError) as error:  # a missing or unknown field, or one of another type
                raise wrong(f"{kind}, {name}: {error}") from None
    groups = dict(found.get("groups") or {})
    for group, names in groups.items():
        if unknown := [name for name in names if name not in {**data, **same, **of_weights}]:
            raise wrong(f"groups, {group}: {unknown[0]} is not there")
    return Sources(data, of_weights, groups, same)


def _data_set(name: str, base: str = "", by: tuple[str, ...] = (), files: Iterable[dict] = (), **entry) -> DataSet:
    listed = []
    for fields in files:
        urls = tuple(base + url for url in ([fields["url"]] if isinstance(fields["url"], str) else fields["url"]))
        file = File(**{"by": by, **_tuples(fields), "url": urls})
        if bad := [url for url in urls if not re.match(r"https?://[\w.-]+", url)]:
            raise InputError(f"{bad[0]} is not an address beginning with https:// or http://")
        for kind, length in LENGTHS.items():
            if (digest := getattr(file, kind)) and not re.fullmatch(f"[0-9a-f]{{{length}}}", digest):
                raise InputError(f"{file.name}: {digest} is not a digest of {length} hexadecimal digits")
        _plain(file.name), _plain(file.to)
        listed.append(file)
    entry = {"reader": name, **entry, "counts": _counts(entry.get("counts", {}))}
    source = DataSet(name, files=tuple(listed), **entry)
    for inside in (source.path, *source.has):
        _plain(inside)
    return source


def _counts(listed: object) -> dict[str, tuple[int, int | str]]:
    """Numbers of classes and images by split."""
    if not isinstance(listed, dict):
        raise InputError(f"counts = {listed!r}; numbers of classes and images by split are allowed")
    for split, numbers in listed.items():
        choice("counts", split, ("novel", "validation", "base"))
        if not re.fullmatch(r"\[\d+, (\d+|'\d+\.\dk')\]", repr(numbers)):
            raise InputError(f"counts, {split}: {numbers!r}; [20, 12000] and [20, 12.0k] are allowed forms")
    return {split: tuple(numbers) for split, numbers in listed.items()}


def _tuples(fields: dict) -> dict:
    return {k: tuple(v) if isinstance(v, list) and k != "files" else v for k, v in fields.items()}


def _plain(path: str) -> str:
    """A path that stays in its folder."""
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path:
        raise InputError(f"{path!r} is not a path inside a folder")
    return path


def weights(name: str) -> Weights | None:
    """The known facts on the weights of a backbone or a captioner; None if there are none."""
    return read().weights.get(name)


def data_folder(*parts: str) -> Path:
    """A path among the papers' data, in ``FSLCORE_DATA`` or else in ``data`` of the cache."""
    named = os.environ.get("FSLCORE_DATA")
    return (at_home(named, "FSLCORE_DATA") if named else store.path("data")).joinpath(*parts)


def filled(text: str, dataset: str) -> str:
    """A text with ``{dataset}`` replaced by a data set's name in file names, without path: ``meta-album-test_set-0``.

    So one name stands for the network, or the captions, of each of several data sets.

    Raises
    ------
    InputError
        A folder of the user's own, which has no name.
    """
    if "{dataset}" not in text:
        return text
    kind, _, settings = dataset.partition("?")
    if kind.startswith(("folder:", "features:")):
        raise InputError(f"{text}: {dataset} has no name that could stand for {{dataset}}; name the file itself")
    name = re.sub(r"[^\w.]+", "-", f"{kind.partition(':')[0]} {settings}").strip("-")
    return text.replace("{dataset}", name)


def at_hand(name: str) -> Path | None:
    """The folder of a fetched or brought data set, as readers take it; None if it is missing."""
    known = read()
    name = known.same.get(name, name)
    folder = data_folder(name, known.data[name].path if name in known.data else ".")
    return folder if folder.is_dir() else None


def digests(name: str) -> dict[str, dict]:
    """The files of a fetched data set: by name, their bytes, SHA-256 and whether these were as listed.

    Empty for a data set that is missing or was put there by hand.
    """
    record = data_folder(read().same.get(name, name), RECORD)
    return json.loads(record.read_text("utf-8"))["files"] if record.is_file() else {}


def differing(data: dict[str, dict[str, dict]], weights: dict[str, str], known: Sources) -> tuple[list[str], list[str]]:
    """Deviations from the listed digests, and the names that have unlisted digests.

    Parameters
    ----------
    data : dict
        By data set, the result of `digests`.
    weights : dict of str
        SHA-256 of the file by backbone; backbones without a listed source, such as shipped ones, are ignored.
    known : Sources
        `read` or `shipped`.
    """
    wrong, unlisted = [], []
    for name, files in data.items():
        source = known.data.get(known.same.get(name, name))
        listed = {file.name: file for file in source.files} if source else {}
        if source is None or (listed and files.keys() != listed.keys()):
            wrong.append(f"{name}: other files than those of the manifest")
            continue
        pairs = [(file, kind) for file in listed.values() for kind in LENGTHS if getattr(file, kind)]
        for file, kind in pairs:
            if (got := files[file.name].get(kind)) != getattr(file, kind):
                wrong.append(f"{name}: {file.name} has {kind.upper()} {got}, not {getattr(file, kind)}")
        if not listed or len({file.name for file, _ in pairs}) < len(listed):
            unlisted.append(name)
    for name, digest in weights.items():
        if (one := known.weights.get(name)) and one.sha256 is None:
            unlisted.append(name)
        elif one and digest != one.sha256:
            wrong.append(f"{name}: its weights have SHA-256 {digest}, not {one.sha256}")
    return wrong, unlisted
