"""The papers' own data and weights: their addresses, terms, and which of them are available.

The facts are in ``sources.yml``, which explains its format; ``FSLCORE_SOURCES`` names another file in its place.
"""

import json
import os
import re
import socket
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path, PurePosixPath
from types import UnionType
from typing import Any, TypeVar, get_origin, get_type_hints
from urllib.parse import unquote, urlsplit

from . import store
from .catalogue import SPLITS
from .errors import InputError, choice, quoted, reason
from .paths import at_home

T = TypeVar("T", bound="File | DataSet | Weights")
SHIPPED = Path(__file__).with_suffix(".yml")
RECORD = "fetched.json"  # in the folder of a fetched data set: the files it was made from
LENGTHS = {"sha256": 64, "md5": 32}  # hexadecimal digits


@dataclass(frozen=True)
class File:
    """One file to download.

    Attributes
    ----------
    url : str
    bytes : int or None
        Its exact size, if known.
    sha256, md5 : str or None
        Listed digests: a file with other ones is refused.
    by : tuple of str
        Who lists these digests.
    to : str
        Folder in the data set for the file or its unpacked content.
    """

    url: str
    bytes: int | None = None
    sha256: str | None = None
    md5: str | None = None
    by: tuple[str, ...] = ()
    to: str = "."

    @property
    def name(self) -> str:
        return unquote(PurePosixPath(urlsplit(self.url).path).name)

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
    architecture: dict[str, Any] = field(default_factory=dict)

    terms = ""
    accept = False
    bring = ""
    files = ()


@dataclass(frozen=True)
class Sources:
    """All sources by name; groups are lists of names, and ``aliases`` are data sets with the files of others."""

    data: dict[str, DataSet]
    weights: dict[str, Weights]
    groups: dict[str, list[str]]
    aliases: dict[str, str]


def read() -> Sources:
    """The sources of this call: those that ship, or those in the file that ``FSLCORE_SOURCES`` names.

    Raises
    ------
    InputError
        No such file, or one of another form than ``sources.yml`` explains; the message says where.
    """
    named = os.environ.get("FSLCORE_SOURCES")
    path = at_home(named, "FSLCORE_SOURCES") if named else SHIPPED
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

    try:
        content = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
            raise InputError("data must be a mapping of names")
        parts = [content.get(name) or {} for name in ("data", "weights", "groups")]
        if not all(isinstance(part, dict) for part in parts):
            raise InputError("weights and groups must be mappings of names")
        return _sources(*parts)
    except yaml.YAMLError as error:
        raise InputError(f"FSLCORE_SOURCES: {path}: this is not YAML ({reason(error)})") from None
    except InputError as error:
        raise InputError(f"FSLCORE_SOURCES: {path}: {error}") from None


def _sources(
    data: dict[str, dict[str, Any]],
    weights: dict[str, dict[str, Any]],
    groups: dict[str, list[str]],
) -> Sources:
    """The sources of a file's content; the message of an error names the entry."""
    aliases = {}
    data_sets = {}
    weights_of = {}
    for name, entry in data.items():
        with _naming("data", name):
            _check_mapping(entry)
            if list(entry) == ["of"]:
                aliases[name] = choice("of", entry["of"], data)
            else:
                data_sets[_inside(name)] = _data_set(name, **_tuples(entry))
    for name, entry in weights.items():
        with _naming("weights", name):
            _check_mapping(entry)
            weights_of[_inside(name)] = _typed(Weights(name, **_tuples(entry)))
    names = {*data_sets, *aliases, *weights_of}
    for group, members in groups.items():
        is_list = isinstance(members, list) and all(isinstance(name, str) for name in members)
        if not is_list:
            raise InputError(f"groups, {group} must be a list of names, got {quoted(members)}")
        unknown = [name for name in members if name not in names]
        if unknown:
            raise InputError(f"groups, {group}: {unknown[0]} is not there")
    return Sources(data_sets, weights_of, dict(groups), aliases)


@contextmanager
def _naming(kind: str, name: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{kind}, {name}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        # a missing or unknown field, or one of another type
        raise InputError(f"{kind}, {name}: {error}") from None


def _check_mapping(entry: object) -> None:
    if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
        raise InputError(f"an entry must be a mapping of fields, got {quoted(entry)}")


def _typed(source: T) -> T:
    """The source, if each field has the type that its class names."""
    types = get_type_hints(type(source))
    for known in fields(source):
        value = getattr(source, known.name)
        allowed = types[known.name]
        kind = get_origin(allowed)
        kind = allowed if kind in (None, UnionType) else kind
        is_number = isinstance(value, int) and not isinstance(value, bool)
        fits = isinstance(value, kind) and (isinstance(value, bool) == (kind is bool))
        if kind is tuple and allowed == tuple[str, ...]:
            fits = fits and all(isinstance(item, str) for item in value)
        if not fits or (is_number and value < 0):
            raise InputError(f"{known.name} must be {_words(kind)}, got {quoted(value)}")
    return source


def _words(kind: type | UnionType) -> str:
    """A type in words."""
    for simple, words in ((bool, "yes or no"), (str, "a text"), (int, "a whole number")):
        if kind in (simple, simple | None):
            return words
    return "a list" if kind is tuple else "a mapping"


def _data_set(
    name: str,
    base: str = "",
    by: tuple[str, ...] = (),
    files: Iterable[dict[str, Any]] = (),
    **entry: Any,
) -> DataSet:
    entry = {"reader": name, **entry, "counts": _counts(entry.get("counts", {}))}
    if not isinstance(files, tuple):
        raise InputError(f"files must be a list, got {quoted(files)}")
    for entry_of_file in files:
        _check_mapping(entry_of_file)
    listed = tuple(_file(base, {"by": by, **_tuples(facts)}) for facts in files)
    source = _typed(DataSet(name, files=listed, **entry))
    for path in (source.path, *source.has):
        _inside(path)
    return source


def _file(base: str, facts: dict[str, Any]) -> File:
    file = _typed(File(**{**facts, "url": f"{base}{facts['url']}"}))
    if not re.match(r"https?://[\w.-]+", file.url):
        raise InputError(f"{file.url} is not an address beginning with https:// or http://")
    for kind, digest in file.digests.items():
        if not re.fullmatch(f"[0-9a-f]{{{LENGTHS[kind]}}}", digest):
            raise InputError(
                f"{file.name}: {digest} is not a digest of {LENGTHS[kind]} hexadecimal digits"
            )
    _inside(file.name)
    _inside(file.to)
    return file


def _counts(listed: object) -> dict[str, tuple[int, int | str]]:
    """Numbers of classes and images by split."""
    if not isinstance(listed, dict):
        raise InputError(
            "counts must be a mapping of splits to numbers of classes and images, got "
            f"{quoted(listed)}"
        )
    for split, numbers in listed.items():
        choice("counts", split, SPLITS)
        if not re.fullmatch(r"\[\d+, (\d+|'\d+\.\dk')\]", repr(numbers)):
            raise InputError(
                f"counts, {split} must be like [20, 12000] or [20, 12.0k], got {numbers!r}"
            )
    return {split: tuple(numbers) for split, numbers in listed.items()}


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
    }


def _inside(path: str) -> str:
    """A path that stays in its folder."""
    if (
        not path
        or PurePosixPath(path).is_absolute()
        or ".." in PurePosixPath(path).parts
        or "\\" in path
    ):
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
        raise InputError(
            f"{text}: {dataset} has no name that could stand for {{dataset}}; name the file itself"
        )
    name = re.sub(r"[^\w.]+", "-", f"{kind.partition(':')[0]} {settings}").strip("-")
    return text.replace("{dataset}", name)


def at_hand(name: str) -> Path | None:
    """The folder of a fetched or brought data set, as readers take it; None if it is missing."""
    listed = read()
    source = listed.data.get(listed.aliases.get(name, name))
    folder = data_folder(source.name, source.path) if source else data_folder(name)
    return folder if folder.is_dir() else None


def digests(name: str) -> dict[str, dict[str, Any]]:
    """The files of a fetched data set: by name, their bytes, SHA-256 and whether these were as listed.

    Empty for a data set that is missing or was put there by hand.
    """
    record = data_folder(read().aliases.get(name, name), RECORD)
    return json.loads(record.read_text("utf-8"))["files"] if record.is_file() else {}


def differing(
    data: dict[str, dict[str, dict[str, Any]]], weights: dict[str, str], manifest: Sources
) -> tuple[list[str], list[str]]:
    """Deviations from the listed digests, and the names that have unlisted digests.

    Parameters
    ----------
    data : dict
        By data set, the result of `digests`.
    weights : dict of str
        SHA-256 of the file by backbone; backbones without a listed source, such as shipped ones, are ignored.
    manifest : Sources
        `read` or `shipped`.
    """
    deviations = []
    unlisted = []
    for name, files in data.items():
        source = manifest.data.get(manifest.aliases.get(name, name))
        if source is None or (
            source.files and files.keys() != {file.name for file in source.files}
        ):
            deviations.append(f"{name}: other files than those of the manifest")
            continue
        for file in source.files:
            for kind, listed in file.digests.items():
                digest = files[file.name].get(kind)
                if digest != listed:
                    deviations.append(
                        f"{name}: {file.name} has {kind.upper()} {digest}, not {listed}"
                    )
        if not source.files or not all(file.digests for file in source.files):
            unlisted.append(name)
    for name, digest in weights.items():
        known = manifest.weights.get(name)
        if known and known.sha256 is None:
            unlisted.append(name)
        elif known and known.sha256 != digest:
            deviations.append(f"{name}: its weights have SHA-256 {digest}, not {known.sha256}")
    return deviations, unlisted


def network_problem(url: str) -> str | None:
    """What is wrong if the name of an address's host, or of the proxy to it, is not found; else None."""
    parts = urlsplit(url)
    host, proxy = parts.hostname or "", urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(host):
        host = urlsplit(proxy).hostname or ""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return f"no network: {host} cannot be found"
    return None
