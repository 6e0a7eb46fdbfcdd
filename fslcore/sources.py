"""The papers' own data and weights: where they come from, under which terms, and what of them is at hand.

The facts stand in ``sources.yml``, which says how it is read; ``FSLCORE_SOURCES`` names another file in its place.
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
RECORD = "fetched.json"  # in the folder of a fetched data set: which files it was made of
LENGTHS = {"sha256": 64, "md5": 32}  # hexadecimal digits


@dataclass(frozen=True)
class File:
    """One file that is downloaded.

    Attributes
    ----------
    url : tuple of str
        Addresses, tried in turn.
    bytes : int or None
        Its exact size, where it is known.
    sha256, md5 : str or None
    by : tuple of str
        Who lists these digests. They are enforced where two do.
    to : str
        Folder in the data set that it goes to, or that it is unpacked into.
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
        """Whether it is an archive, and unpacked."""
        return self.name.endswith((".zip", ".tar.gz", ".tgz"))

    @property
    def enforced(self) -> bool:
        """Whether its digests are known from two independent sources, so that another file is refused."""
        return len(self.by) > 1 and bool(self.sha256 or self.md5)


@dataclass(frozen=True)
class DataSet:
    """A data set of the papers: what ``sources.yml`` says of it, where each field is explained."""

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
    novel: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes to download, as far as they are known."""
        return sum(file.bytes or 0 for file in self.files)

    @property
    def unpacked(self) -> int:
        """Bytes that it takes on the disk, about."""
        return self.disk or sum((1 + file.packed) * (file.bytes or 0) for file in self.files)


@dataclass(frozen=True)
class Weights:
    """Weights on the model hub: what ``sources.yml`` says of them, where each field is explained."""

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

    terms, accept = "", False


@dataclass(frozen=True)
class Sources:
    """All sources by their names; groups are lists of these, and ``same`` are data sets with the files of others."""

    data: dict[str, DataSet]
    weights: dict[str, Weights]
    groups: dict[str, list[str]]
    same: dict[str, str]


def read() -> Sources:
    """The sources of this call: those that ship, or those in the file that ``FSLCORE_SOURCES`` names.

    Raises
    ------
    InputError
        No such file, or one that is not of the form that ``sources.yml`` explains: says where.
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
        raise wrong(f"this is no YAML ({reason(error)})") from None
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
            except (TypeError, ValueError) as error:  # a field that is missing, unknown or of another kind
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
            raise InputError(f"{bad[0]} is no address that begins with https:// or http://")
        for kind, length in LENGTHS.items():
            if (digest := getattr(file, kind)) and not re.fullmatch(f"[0-9a-f]{{{length}}}", digest):
                raise InputError(f"{file.name}: {digest} is no digest of {length} hexadecimal digits")
        _plain(file.name), _plain(file.to)
        listed.append(file)
    found = DataSet(name, files=tuple(listed), **entry)
    for inside in (found.path, *found.has):
        _plain(inside)
    return found


def _tuples(fields: dict) -> dict:
    return {k: tuple(v) if isinstance(v, list) and k != "files" else v for k, v in fields.items()}


def _plain(path: str) -> str:
    """A path that stays in its folder."""
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path:
        raise InputError(f"{path!r} is no path inside a folder")
    return path


def weights(name: str) -> Weights | None:
    """What is known of the weights of a backbone or a captioner; None where nothing is."""
    return read().weights.get(name)


def data_folder(*parts: str) -> Path:
    """A path among the papers' data, which ``FSLCORE_DATA`` moves; else they lie in the cache, in ``data``."""
    named = os.environ.get("FSLCORE_DATA")
    return (at_home(named, "FSLCORE_DATA") if named else store.path("data")).joinpath(*parts)


def filled(text: str, dataset: str) -> str:
    """A text with ``{dataset}`` as the name that files of a data set have: ``meta-album-test_set-0``, without its path.

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
    """The folder of a data set that was fetched or brought, as readers take it; None where it is not there."""
    known = read()
    name = known.same.get(name, name)
    folder = data_folder(name, known.data[name].path if name in known.data else ".")
    return folder if folder.is_dir() else None


def digests(name: str) -> dict[str, dict]:
    """What a fetched data set was made of: by the name of a file its bytes, SHA-256 and whether that was as listed.

    Nothing of one that is not there, or that was put there by hand.
    """
    record = data_folder(read().same.get(name, name), RECORD)
    return json.loads(record.read_text("utf-8"))["files"] if record.is_file() else {}


def differing(data: dict[str, dict[str, dict]], weights: dict[str, str], known: Sources) -> tuple[list[str], list[str]]:
    """What differs from the digests that are listed, and the names of which some or all are not listed.

    Parameters
    ----------
    data : dict
        By data set what `digests` gives.
    weights : dict of str
        SHA-256 of the file by backbone; those that no source is listed of (they ship, say) are left alone.
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
