"""Download the papers' own data: each data set is complete or absent, and an interrupted download
is resumed.

The sources and their terms are in `fslcore.sources`. Beyond the transfer (`fslcore.download`),
these are checked: lengths and digests; archives, to their end; the free disk space; numbers of
classes and images, as the readers of `fslcore.datasets` count them after unpacking. A changed image
in an archive is noticed only if a digest is listed.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import math
import os
import shutil
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tqdm import tqdm

from . import sources, store
from .download import bytes_of, download, http_client
from .errors import InputError, choice, reason, shown
from .paths import DATA, check_folder, expanded_limit, locked, replace_file
from .sources import DataSet, File, Weights

CHUNK = 2**20  # bytes read together
FULL = {errno.ENOSPC, errno.EDQUOT}  # errors of a full disk
UNWRITABLE = FULL | {errno.EFBIG, errno.EIO, errno.EROFS}  # and others that are no archive's fault
HEADER = 2**20  # bytes of a header with a long name or other facts on a file, at most
HEADERS = {*b"xgXLK"}  # their types in a tar
MEMBERS = 20_000_000  # files in an archive, at most
BLOCK = 512  # bytes of a header of tar
UNPACKED = "unpacked"  # the folder in which a data set is made
AGAIN = "removed, and the same command fetches it again"
UNCONFIRMED = "nobody"  # lists a digest
RESULTS = "oops-benchmark"
Facts = dict[str, str | int]  # on a file: bytes, digests, and who lists them
COMMIT = "bd7ea17ac2b6065341d1d8177e6c168af3da9da5"
RESULTS_URL = f"https://github.com/RafLaf/FSL-benchmark-again/raw/{COMMIT}/results/benchmark/"
# Path and SHA-256 of each of the 324 files.
RESULTS_LIST = DATA / "published" / "oops_benchmark.txt"


def names() -> list[str]:
    """All names that can be fetched: results, groups, data sets and weights."""
    listed = sources.read()
    return [RESULTS, *listed.groups, *listed.data, *listed.aliases, *listed.weights]


def described(source: DataSet | Weights) -> list[str]:
    """Facts to show before a source is fetched: licence, terms, origin, size, digests."""
    size = f"{source.bytes / 1e9:,.2f} GB to download" if source.bytes else "size not known"
    lines = [f"{source.name}: {source.title}", f"  licence: {source.licence}"]
    if source.terms:
        lines.append(f"  terms: {source.terms}")
    if isinstance(source, Weights):
        revision = source.revision or "main"
        return [
            *lines,
            f"  from: {source.repository} on the model hub, revision {revision}; {size}",
        ]
    if source.bring:
        lines.append(f"  to be brought: {source.bring}")
        lines += [f"    {line}" for line in source.convert.splitlines()]
        return [*lines, f"  where to: {sources.data_folder(source.name)}"]
    hosts = sorted({file.url.split("/")[2] for file in source.files})
    lines.append(f"  from: {', '.join(hosts)}; {size}, {source.unpacked / 1e9:,.2f} GB on disk")
    if all(file.digests for file in source.files):
        return [*lines, f"  digests: listed by {'; '.join(source.files[0].by)}, and enforced"]
    return [*lines, "  digests: listed by nobody; those of the download are kept beside the data"]


def fetch(
    wanted: Iterable[str],
    *,
    accept: bool = False,
    complete: bool = False,
    downloads: Path | None = None,
    progress: bool = False,
    say: Callable[[str], object] = print,
) -> list[Path]:
    """Fetch data sets and weights that are not available yet, and check those that were brought.

    Parameters
    ----------
    wanted : of str
        `names`.
    accept : bool
        Whether the terms are accepted, if they limit the use.
    complete : bool
        Whether a member of a group that has to be brought is an error, as a name given by itself
        is.
    downloads : Path, optional
        A folder of downloaded files, by their names at the source: files found there are not
        fetched.
    progress : bool
        Show a progress bar per file.
    say : callable
        Called with each line for the user.

    Returns
    -------
    list of Path
        One folder per data set, one file (for captioners: folder) for weights. Members of a group
        that have to be brought are left out, and named by ``say``, unless ``complete``.

    Raises
    ------
    InputError
        An unknown name; terms that are not accepted; too little disk space; no connection, or one
        lost at every try; another answer than the file; another length or digest than is listed; an
        archive that cannot be read to its end; other numbers of classes and images than are listed;
        a data set that has to be brought. The downloaded parts are kept, and the same call resumes
        from there.
    """
    chosen, optional = _chosen(wanted)
    paths = _paths_at_hand(chosen)
    missing = {name: source for name, source in chosen.items() if name not in paths}
    for source in missing.values():
        for line in described(source):
            say(line)
    to_bring = [name for name, source in missing.items() if _has_to_be_brought(source, downloads)]
    _check_brought([name for name in to_bring if complete or name not in optional])
    coming = [source for name, source in missing.items() if name not in to_bring]
    _check_terms(coming, accept)
    _check_disk([source for source in coming if isinstance(source, DataSet)])
    for name in to_bring:
        say(f"{name}: not available; it has to be brought")
    for source in coming:
        try:
            if isinstance(source, Weights):
                paths[source.name] = _weights(source, progress)
            else:
                paths[source.name] = _data_set(source, downloads, progress)
        except InputError as error:
            raise InputError(f"{source.name}: {error}") from None
    return [paths[name] for name in chosen if name in paths]


def fetch_results(
    *,
    url: str = RESULTS_URL,
    registry: Path = RESULTS_LIST,
    downloads: Path | None = None,
    progress: bool = False,
) -> Path:
    """Download the per-task results that the authors of OOPS released to the cache, as far as they
    are not there yet.

    Parameters
    ----------
    url : str
        Where from; ends in a slash.
    registry : Path
        A line per file: its path below ``url``, and ``sha256:`` with its digest.
    downloads : Path, optional
        A folder of downloaded files, by the same paths: files found there are not fetched.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        A file with another digest, which is removed; and as for `fslcore.download.download`. Files
        that came before it stay.
    """
    folder = store.path(RESULTS)
    lines = registry.read_text("utf-8").splitlines()
    with http_client() as client:
        for line in tqdm(lines, RESULTS, unit="file", disable=not progress):
            name, _, digest = line.partition(" sha256:")
            file = File(url + name, sha256=digest, by=(registry.name,))
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                if downloads and not path.is_file() and (downloads / name).is_file():
                    replace_file(path, partial(shutil.copyfile, downloads / name))
                if not path.is_file():
                    download(client, file.url, path)
                _checked_facts(file, path, removable=True)
            except InputError as error:
                way_out = f"downloads=FOLDER takes files that you have, such as FOLDER/{name}"
                raise InputError(f"{RESULTS}: {error}; {way_out}") from None
    return folder


def _chosen(wanted: Iterable[str]) -> tuple[dict[str, DataSet | Weights], set[str]]:
    """The sources of names and groups, and the names that come from groups."""
    listed = sources.read()
    chosen: dict[str, DataSet | Weights] = {}
    optional: set[str] = set()
    for name in wanted:
        choice("name", name, names())
        optional.update(listed.groups.get(name, ()))
        for member in listed.groups.get(name, [name]):
            source = listed.aliases.get(member, member)
            chosen[source] = listed.data.get(source) or listed.weights[source]
    return chosen, optional


def _paths_at_hand(chosen: dict[str, DataSet | Weights]) -> dict[str, Path]:
    """Folders of the data sets that are available; those brought by hand are checked."""
    paths = {}
    for name, source in chosen.items():
        folder = sources.data_folder(name)
        if isinstance(source, DataSet) and folder.is_dir():
            paths[name] = folder
            if not (folder / sources.RECORD).is_file():
                _check_counts(source, folder)
    return paths


def _has_to_be_brought(source: DataSet | Weights, downloads: Path | None) -> bool:
    """Whether nothing of it can be fetched, and its files are not in the named folder either."""
    if not source.bring:
        return False
    if not downloads or not source.files:
        return True
    return not all((downloads / file.name).is_file() for file in source.files)


def _check_brought(absent: list[str]) -> None:
    if absent:
        raise InputError(
            f"{', '.join(absent)}: has to be brought, as said above, to {sources.data_folder()}"
        )


def _check_terms(coming: list[DataSet | Weights], accept: bool) -> None:
    limited = [source.name for source in coming if source.accept]
    if limited and not accept:
        raise InputError(f"{', '.join(limited)}: read the terms above; accept=True accepts them")


def _check_disk(wanted: list[DataSet]) -> None:
    """Refuse a folder that cannot be written to, or a disk with too little space."""
    if not wanted:
        return
    folder = check_folder(sources.data_folder(), "FSLCORE_DATA")
    folder.mkdir(parents=True, exist_ok=True)
    downloaded = sum(bytes_of(path) for source in wanted for path in _working(source).glob("*"))
    # An archive is removed once it is unpacked, so the largest data set decides.
    archives = [sum(file.bytes or 0 for file in source.files if file.packed) for source in wanted]
    need = sum(source.unpacked for source in wanted) + max(archives) - downloaded
    free = shutil.disk_usage(folder).free
    if need > free:
        raise InputError(
            f"FSLCORE_DATA must have {need / 1e9:,.2f} GB of free space, got {free / 1e9:,.2f} GB "
            f"in {folder}"
        )


def _working(source: DataSet) -> Path:
    """The folder in which a data set is made, beside its final place."""
    return sources.data_folder(f".{source.name}")


def _weights(source: Weights, progress: bool) -> Path:
    """A backbone or a captioner from the model hub, in the hub's own cache.

    ``HF_ENDPOINT`` names another hub. Without a network, what the cache has is returned.
    """
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import disable_progress_bars

    logging.set_verbosity_error()  # failures are reported once, by us, and not at every retry
    if not progress:
        disable_progress_bars()
    patterns = ["*.json", "*.txt", source.file or "*.safetensors"]
    offline = constants.HF_HUB_OFFLINE
    problem = None if offline else sources.network_problem(constants.ENDPOINT)
    try:
        snapshot = snapshot_download(
            source.repository,
            revision=source.revision,
            allow_patterns=patterns,
            local_files_only=offline or bool(problem),
        )
    except (HfHubHTTPError, OSError) as error:
        if problem:
            paths = f"weights that you have are named as {source.name}:PATH"
            raise InputError(f"{problem}; {paths} in place of {source.name}") from None
        raise InputError(f"{source.repository} cannot be fetched ({reason(error)})") from None
    folder = Path(snapshot)
    if problem and not (folder / (source.file or "")).exists():
        raise InputError(f"{problem}, and {folder} does not hold {source.file}")
    if source.file is None:
        return folder
    file = File(source.file, source.bytes, source.sha256, by=source.by)
    _checked_facts(file, folder / source.file, removable=False)
    return folder / source.file


def _data_set(source: DataSet, downloads: Path | None, progress: bool) -> Path:
    """A complete data set, made beside its final folder and then renamed."""
    folder, work = sources.data_folder(source.name), _working(source)
    try:
        with locked(folder):
            if not folder.is_dir():  # it is there if another process made it
                files = _make(source, work, downloads, progress)
                facts = {"title": source.title, "licence": source.licence, "files": files}
                text = json.dumps(facts, indent=1)
                (work / UNPACKED / sources.RECORD).write_text(text, "utf-8")
                os.replace(work / UNPACKED, folder)
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        shutil.rmtree(work / UNPACKED, ignore_errors=True)  # the downloads are kept
        if error.errno in FULL:
            problem = f"the disk of {sources.data_folder()} is full"
        else:
            problem = f"{sources.data_folder()}: {os.strerror(error.errno)}"
        raise InputError(f"{problem}; the same command resumes once there is space") from None
    return folder


def _make(source: DataSet, work: Path, downloads: Path | None, progress: bool) -> dict[str, Facts]:
    """Receive, check and unpack all files of a data set; the result has the facts on each file."""
    unpacked = work / UNPACKED
    shutil.rmtree(unpacked, ignore_errors=True)  # left by a try that was stopped
    paths = _receive_all(source, work, downloads, progress)
    record = {}
    for file, path in paths.items():
        record[file.name] = _checked_facts(file, path, removable=path.parent == work)
    try:
        for file, path in paths.items():
            _put(
                file,
                path,
                unpacked / file.to,
                max(expanded_limit(bytes_of(path)), 2 * source.unpacked),
            )
        for inside in source.has:
            if not (unpacked / inside).exists():
                raise InputError(f"{inside} is not in the download; its layout differs")
        _check_counts(source, unpacked)
    except InputError as error:
        unconfirmed = [
            path for file, path in paths.items() if path.parent == work and not file.digests
        ]
        for path in unconfirmed:
            path.unlink()
        outcome = f"; downloads without a listed digest were {AGAIN}" if unconfirmed else ""
        raise InputError(f"{error}{outcome}") from None
    return record


def _receive_all(
    source: DataSet, work: Path, downloads: Path | None, progress: bool
) -> dict[File, Path]:
    """The paths of all files: in the named folder, or downloaded."""
    work.mkdir(parents=True, exist_ok=True)
    paths = {}
    with http_client() as client:
        for file in source.files:
            paths[file] = work / file.name
            if downloads and (downloads / file.name).is_file():
                paths[file] = downloads / file.name
            if not paths[file].is_file():
                try:
                    download(client, file.url, paths[file], size=file.bytes, progress=progress)
                except InputError as error:
                    raise InputError(
                        f"{error}; downloads=FOLDER takes files that you have"
                    ) from None
    return paths


def _checked_facts(file: File, path: Path, *, removable: bool) -> Facts:
    """Bytes and digests of a file, and who lists them; a wrong one is refused, and removed."""
    facts: Facts = {kind: _digest(path, kind) for kind in ("sha256", *file.digests)}
    facts["bytes"] = bytes_of(path)
    listed = {"bytes": file.bytes or facts["bytes"], **file.digests}
    wrong = [kind for kind in listed if facts[kind] != listed[kind]]
    if not wrong:
        return {**facts, "confirmed_by": "; ".join(file.by) if file.digests else UNCONFIRMED}
    origin = "; ".join(file.by) or "the manifest"
    kind = wrong[0]
    problem = f"{path} has {kind} {facts[kind]}, not {listed[kind]} (listed by {origin})"
    if removable:
        path.unlink()
        problem += f"; it was {AGAIN}"
    raise InputError(problem)


def _digest(path: Path, kind: str) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, kind).hexdigest()


def _check_counts(source: DataSet, folder: Path) -> None:
    """Refuse a data set in which readers find other numbers of classes and images."""
    from . import datasets  # takes half a second

    reader, mark, settings = source.reader.partition("?")
    for split in source.counts:
        images = datasets.load(f"{reader}:{folder / source.path}{mark}{settings}", split)
        if problem := source.miscount(split, len(images.class_names), len(images)):
            difference = "files are lost, or it is another version"
            raise InputError(f"{problem}, which are listed; {difference}")


def _put(file: File, path: Path, folder: Path, most: float) -> None:
    """Put a file into its folder of the data set, an archive unpacked to this many bytes at most."""
    folder.mkdir(parents=True, exist_ok=True)
    if not file.packed:
        try:
            os.link(path, folder / file.name)  # no second copy, and kept for another try
        except OSError:
            shutil.copyfile(path, folder / file.name)
        return
    try:
        _unpack(path, folder, _Checks(most, strict=not file.digests))
    except Exception as error:  # readers raise anything on a broken file
        if isinstance(error, MemoryError) or getattr(error, "errno", None) in UNWRITABLE:
            raise
        raise InputError(f"{path} is not a readable archive ({reason(error)})") from None
    inside = list(folder.iterdir())
    if (
        file.to != "." and len(inside) == 1 and inside[0].is_dir()
    ):  # an archive may contain the folder, or its content
        for entry in list(inside[0].iterdir()):
            entry.rename(folder / entry.name)
        inside[0].rmdir()


@dataclass
class _Checks:
    """What the members of an archive are checked for, one after the other.

    Attributes
    ----------
    most : float
        Bytes that all may take.
    strict : bool
        Whether nobody lists a digest: then no two may have one name, also where a file system
        ignores case, and nothing may be behind the end.
    size : int
        Bytes of the members so far.
    names : set of str
        Theirs.
    """

    most: float
    strict: bool
    size: int = 0
    names: set[str] = field(default_factory=set)

    def add(self, name: str, size: int) -> None:
        """Count a file, or refuse it."""
        self.add_bytes(size)
        compared = unicodedata.normalize("NFC", os.path.normpath(name)).casefold()
        if self.strict and compared in self.names:
            raise ValueError(f"it holds {shown(name)} twice, or in two cases")
        self.names.add(compared)
        if len(self.names) > MEMBERS:
            raise ValueError(f"it holds more than {MEMBERS:,} files")

    def add_bytes(self, size: int) -> None:
        """Count bytes, or refuse them."""
        self.size += size
        if self.size > self.most:
            gib = math.ceil(self.size / 2**30)
            raise ValueError(
                f"it unpacks to more than {self.most:,.0f} bytes; "
                f"FSLCORE_EXPANDED={gib} allows more"
            )


class _Member(tarfile.TarInfo):
    """A member of a tar whose headers with names and other facts are not too long."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if ord(member.type) in HEADERS and member.size > HEADER:
            raise ValueError(f"a header must have at most {HEADER:,} bytes, got {member.size:,}")
        return member


class _Tail:
    """A stream that keeps the bytes read last."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self.stream = stream
        self.position = 0
        self.tail = b""

    def read(self, size: int) -> bytes:
        content = self.stream.read(size)
        self.position += len(content)
        self.tail = (self.tail + content)[-4 * tarfile.RECORDSIZE :]
        return content

    def since(self, offset: int) -> bytes:
        """The bytes from an offset on that were read."""
        return self.tail[max(0, offset - self.position + len(self.tail)) :]


def _unpack(archive: Path, folder: Path, checks: _Checks) -> None:
    """Unpack a .zip or .tar.gz; nothing leads out of the folder, and checksums are compared."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as content:
            _check_zip_members(content, checks)
            content.extractall(folder)
        return

    def checked(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        if not member.isdir():
            checks.add(member.name, member.size)
        return tarfile.data_filter(member, path)

    with gzip.open(archive) as unpacked:
        stream = _Tail(unpacked)
        # The stubs ask for all that a file can do; a stream is only read.
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as tar:  # type: ignore[call-overload]
            tar.extractall(folder, filter=checked)
            behind = stream.since(tar.offset)
        if checks.strict and (len(behind) < BLOCK or any(behind)):
            raise ValueError("it is cut between two files, or holds more behind its end")
        while block := unpacked.read(CHUNK):  # at its end, gzip compares the checksum of all of it
            checks.add_bytes(len(block))
            if checks.strict and any(block):
                raise ValueError("it holds more behind its end")


def _check_zip_members(archive: zipfile.ZipFile, checks: _Checks) -> None:
    """Refuse files that are too large together, or that share their bytes in the archive."""
    start = 0
    for member in sorted(archive.infolist(), key=lambda member: member.header_offset):
        if not member.is_dir():
            checks.add(member.filename, member.file_size)
        if member.header_offset < start:
            raise ValueError(f"{shown(member.filename)} shares bytes with another file")
        start = member.header_offset + member.compress_size
