"""Download the papers' own data: each data set is complete or absent, and an interrupted download is resumed.

The sources and their terms are in `fslcore.sources`. Beyond the transfer (`fslcore.download`), these are checked:
lengths and digests; archives, to their end; the free disk space; numbers of classes and images, as the readers of
`fslcore.datasets` count them after unpacking. A changed image in an archive is noticed only if a digest is listed.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Self

from tqdm import tqdm

from . import sources, store
from .download import bytes_of, download, http_client
from .errors import InputError, choice, note, reason, shown
from .paths import DATA, check_folder, locked, replace_file
from .sources import DataSet, File, Weights

__all__ = ["described", "fetch", "fetch_results", "names", "room"]

CHUNK = 2**20  # bytes read together
FULL = {errno.ENOSPC, errno.EDQUOT}  # errors of a full disk
EXPANSION, SMALL = 20, 2**30  # an archive may expand by this factor, and always up to the second number of bytes
PINS = "digests.json"  # beside the data: SHA-256 of first downloads whose digest nobody lists
REMOVED = "; it was removed, and the same command fetches it again"
UNCONFIRMED_REMOVED = "; downloads without a listed digest were removed, and the same command fetches them again"
UNCONFIRMED = "nobody: the digest is that of the first download"
RESULTS = "oops-benchmark"
COMMIT = "bd7ea17ac2b6065341d1d8177e6c168af3da9da5"
RESULTS_URL = f"https://github.com/RafLaf/FSL-benchmark-again/raw/{COMMIT}/results/benchmark/"
RESULTS_LIST = DATA / "published" / "oops_benchmark.txt"  # path and SHA-256 of each of the 324 files
Member = tuple[str, str, int, Callable[[], IO[bytes]]]


def names() -> list[str]:
    """All names that can be fetched: results, groups, data sets and weights."""
    listed = sources.read()
    return [RESULTS, *listed.groups, *listed.data, *listed.same, *listed.weights]


def described(source: DataSet | Weights) -> list[str]:
    """Facts to show before a source is fetched: licence, terms, origin, size, and who lists its digests."""
    size = f"{source.bytes / 1e9:,.2f} GB to download" if source.bytes else "size not known"
    lines = [f"{source.name}: {source.title}", f"  licence: {source.licence}"]
    if source.terms:
        lines.append(f"  terms: {source.terms}")
    if isinstance(source, Weights):
        return [*lines, f"  from: {source.repository} on the model hub, revision {source.revision or 'main'}; {size}"]
    if source.bring:
        lines += [f"  to be brought: {source.bring}", *(f"    {line}" for line in source.convert.splitlines())]
        return [*lines, f"  where to: {sources.data_folder(source.name)}"]
    hosts = sorted({url.split("/")[2] for file in source.files for url in file.url})
    lines.append(f"  from: {', '.join(hosts)}; {size}, {source.unpacked / 1e9:,.2f} GB on disk")
    if all(file.digests for file in source.files):
        return [*lines, f"  digests: listed by {'; '.join(source.files[0].by)}, and enforced"]
    return [*lines, "  digests: those of the first download are kept, and enforced from then on; nobody confirms them"]


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
        Whether a member of a group that has to be brought is an error, as a name given by itself is.
    downloads : Path, optional
        A folder of downloaded files, by their names at the source: files found there are not fetched.
    progress : bool
        Show a progress bar per file.
    say : callable
        Called with each line for the user.

    Returns
    -------
    list of Path
        One folder per data set, one file (for captioners: folder) for weights. Members of a group that have to be
        brought are left out, and named by ``say``, unless ``complete``.

    Raises
    ------
    InputError
        An unknown name; terms that are not accepted; too little disk space; no connection, or one lost at every
        try; another answer than the file; another length or digest than is listed, or than the first download had; an
        archive that cannot be read to its end, expands too far or contains paths that lead out of it; other numbers of
        classes and images than are listed; a data set that has to be brought. The downloaded parts are kept, and the
        same call resumes from there.
    """
    chosen, optional = _chosen(wanted)
    paths = {}
    for name, source in chosen.items():
        folder = sources.data_folder(name)
        if isinstance(source, DataSet) and folder.is_dir():
            paths[name] = folder
            if not (folder / sources.RECORD).is_file():  # brought by hand
                _check_counts(source, folder)
    missing = {name: source for name, source in chosen.items() if name not in paths}
    for source in missing.values():
        for line in described(source):
            say(line)
    coming = [source for source in missing.values() if not _is_brought(source, downloads)]
    if absent := [name for name in missing if missing[name] not in coming and (complete or name not in optional)]:
        raise InputError(f"{', '.join(absent)}: has to be brought, as said above, to {sources.data_folder()}")
    _check_terms(coming, accept)
    if data := [source for source in coming if isinstance(source, DataSet)]:
        check_folder(sources.data_folder(), "FSLCORE_DATA")
        room(data)
    for name, source in missing.items():
        if isinstance(source, Weights):
            paths[name] = _weights(source, progress, say)
        elif source in coming:
            paths[name] = _data_set(source, downloads, progress, say)
        else:
            say(f"{name}: not available; it has to be brought")
    return [paths[name] for name in chosen if name in paths]


def fetch_results(
    folder: Path | None = None, *, url: str = RESULTS_URL, registry: Path = RESULTS_LIST, progress: bool = False
) -> Path:
    """Download the per-task results that the authors of OOPS released, as far as they are not there yet.

    Every file's SHA-256 is checked.

    Parameters
    ----------
    folder : Path, optional
        Where to; by default the cache.
    url : str
        Where from; ends in a slash.
    registry : Path
        A line a file: its path below ``url``, and ``sha256:`` with its digest.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        No list of files; a file whose digest is another; and as for `fslcore.download.download`. Files that came
        before it stay.
    """
    folder = folder or store.path(RESULTS)
    try:
        listed = dict(line.split() for line in registry.read_text("utf-8").splitlines() if line)
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise InputError(f"oops-benchmark: {registry} is no list of files ({told})") from None
    with http_client() as client:
        for name, digest in tqdm(listed.items(), desc="oops-benchmark", unit="file", disable=not progress):
            file = folder / name
            if file.is_file() and _sha256(file.read_bytes()) == digest:
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            unchecked = file.with_name(f"{file.name}.unchecked")
            try:
                download(client, [url + name], unchecked)
            except InputError as error:
                raise InputError(f"oops-benchmark: {error}") from None
            if _sha256(unchecked.read_bytes()) != digest:
                unchecked.unlink()
                raise InputError(f"oops-benchmark: {url}{name} does not have the SHA-256 in {registry.name}")
            os.replace(unchecked, file)
    return folder


def _sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _chosen(wanted: Iterable[str]) -> tuple[dict[str, DataSet | Weights], set[str]]:
    """The sources of names and groups, and the names that come from groups."""
    listed = sources.read()
    chosen: dict[str, DataSet | Weights] = {}
    optional: set[str] = set()
    for name in wanted:
        choice("name", name, names())
        optional.update(listed.groups.get(name, ()))
        for member in listed.groups.get(name, [name]):
            source = listed.same.get(member, member)
            chosen[source] = listed.data.get(source) or listed.weights[source]
    return chosen, optional


def _check_terms(coming: list[DataSet | Weights], accept: bool) -> None:
    limited = [source.name for source in coming if source.accept]
    if limited and not accept:
        raise InputError(f"{', '.join(limited)}: read the terms above; --accept-terms accepts them")


def _is_brought(source: DataSet | Weights, downloads: Path | None) -> bool:
    """Whether nothing of it can be fetched; files of such a data set may still be in the named folder."""
    given = downloads and source.files and all((downloads / file.name).is_file() for file in source.files)
    return bool(source.bring) and not given


def room(wanted: list[DataSet]) -> None:
    """Raise `InputError` if downloading and unpacking need more than the free disk space."""
    folder = sources.data_folder()
    while not folder.exists():
        folder = folder.parent
    downloaded = sum(bytes_of(file) for source in wanted for file in _working(source.name).glob("*"))
    # An archive is removed once it is unpacked, so the largest data set decides.
    archives = max(sum(file.bytes or 0 for file in source.files if file.packed) for source in wanted)
    need, free = sum(source.unpacked for source in wanted) + archives - downloaded, shutil.disk_usage(folder).free
    if need > free:
        raise InputError(
            f"FSLCORE_DATA = {sources.data_folder()}; {need / 1e9:,.2f} GB are needed, {free / 1e9:,.2f} GB are free"
        )


def _working(name: str) -> Path:
    """The folder in which a data set is made, beside its final place."""
    return sources.data_folder(f".{name}")


def _weights(source: Weights, progress: bool, say: Callable[[str], object]) -> Path:
    """A backbone or a captioner from the model hub, in the hub's own cache; ``HF_ENDPOINT`` names another hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import disable_progress_bars

    if not progress:
        disable_progress_bars()
    patterns = ["*.json", "*.txt", source.file or "*.safetensors"]
    try:
        folder = Path(snapshot_download(source.repository, revision=source.revision, allow_patterns=patterns))
    except (HfHubHTTPError, OSError) as error:
        raise InputError(f"{source.name}: {source.repository} cannot be fetched ({reason(error)})") from None
    if source.file is None:
        return folder
    file = File((source.file,), source.bytes, source.sha256, by=source.by)
    _pin(source.name, [file], {source.file: _checked(source.name, file, folder / source.file, None, progress)}, say)
    return folder


def _data_set(source: DataSet, downloads: Path | None, progress: bool, say: Callable[[str], object]) -> Path:
    """A complete data set, made beside its final folder and then renamed."""
    folder, work = sources.data_folder(source.name), _working(source.name)
    unpacked = work / "unpacked"
    try:
        with locked(folder):
            if folder.is_dir():  # another process made it
                return folder
            work.mkdir(parents=True, exist_ok=True)
            files = _files(source, downloads, work, progress)
            record = {file.name: _checked(source.name, file, path, work, progress) for file, path in files}
            try:
                _make(source, files, unpacked)
            except InputError as error:
                unconfirmed = [path for file, path in files if path.parent == work and not file.digests]
                for path in unconfirmed:
                    path.unlink()
                raise InputError(f"{error}{UNCONFIRMED_REMOVED if unconfirmed else ''}") from None
            _pin(source.name, source.files, record, say)
            text = json.dumps({"title": source.title, "licence": source.licence, "files": record}, indent=1)
            (unpacked / sources.RECORD).write_text(text, "utf-8")
            os.replace(unpacked, folder)
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        if error.errno not in FULL:
            raise
        shutil.rmtree(unpacked, ignore_errors=True)  # the downloads are kept
        raise InputError(
            f"{source.name}: the disk of {sources.data_folder()} is full; the same command resumes once there is space"
        ) from None
    return folder


def _make(source: DataSet, files: list[tuple[File, Path]], unpacked: Path) -> None:
    """Put all files of a data set in their places, and check what is there then."""
    shutil.rmtree(unpacked, ignore_errors=True)  # left by a try that was stopped
    for file, path in files:
        _put(source.name, file, path, unpacked)
    if missing := next((inside for inside in source.has if not (unpacked / inside).exists()), None):
        raise InputError(f"{source.name}: {missing} is not in the download; its layout differs")
    _check_counts(source, unpacked)


def _files(source: DataSet, downloads: Path | None, work: Path, progress: bool) -> list[tuple[File, Path]]:
    """Each file with its path: in the named folder, or downloaded."""
    paths = []
    with http_client() as client:
        for file in source.files:
            path = downloads / file.name if downloads else work / file.name
            if not path.is_file():
                path = work / file.name
            if not path.is_file():
                try:
                    download(client, file.url, path, size=file.bytes, progress=progress)
                except InputError as error:
                    raise InputError(f"{source.name}: {error}; --from FOLDER takes files that you have") from None
            paths.append((file, path))
    return paths


def _checked(name: str, file: File, path: Path, work: Path | None, progress: bool) -> dict:
    """Bytes and digests of a downloaded file, and who lists them; errors as for `fetch`."""
    facts = {"bytes": bytes_of(path), **_digests(file, path, progress)}
    listed = {"bytes": file.bytes or facts["bytes"], **file.digests}
    origin = f"listed by {'; '.join(file.by) or 'the manifest'}"
    if not file.digests and facts["bytes"] == listed["bytes"]:
        listed["sha256"] = _pins().get(f"{name}/{file.name}", facts["sha256"])
        origin = f"of the first download; if the change is meant, take its line out of {sources.data_folder(PINS)}"
    wrong = next((kind for kind, expected in listed.items() if facts[kind] != expected), None)
    if wrong is None:
        return {**facts, "confirmed_by": "; ".join(file.by) if file.digests else UNCONFIRMED}
    line = f"{name}: {file.name} has {wrong} {facts[wrong]}, not {listed[wrong]} ({origin})"
    if path.parent == work:
        path.unlink()
        line += REMOVED
    raise InputError(line)


def _digests(file: File, path: Path, progress: bool) -> dict[str, str]:
    """SHA-256 of a file, and its digests of other kinds that are listed."""
    hashes = {kind: hashlib.new(kind) for kind in ("sha256", *file.digests)}
    bar = tqdm(desc=f"{file.name}: digest", total=bytes_of(path), unit="B", unit_scale=True, disable=not progress)
    with bar, open(path, "rb") as read:
        while block := read.read(CHUNK):
            for computed in hashes.values():
                computed.update(block)
            bar.update(len(block))
    return {kind: computed.hexdigest() for kind, computed in hashes.items()}


def _pins() -> dict[str, str]:
    path = sources.data_folder(PINS)
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    except (ValueError, TypeError):
        raise InputError(f"{path} is damaged; it holds the SHA-256 of first downloads: repair or remove it") from None


def _pin(name: str, files: Iterable[File], record: dict[str, dict], say: Callable[[str], object]) -> None:
    """Store the digests that nobody lists, and show new ones."""
    path = sources.data_folder(PINS)
    unlisted = {f"{name}/{file.name}": file.name for file in files if not file.digests}
    with locked(path):
        new = {key: record[file]["sha256"] for key, file in unlisted.items() if key not in _pins()}
        text = json.dumps(_pins() | new, indent=1)
        if new:
            replace_file(path, lambda part: part.write_text(text, "utf-8"))
    for key, digest in new.items():
        say(f"{key}: SHA-256 {digest}, confirmed by nobody, kept in {path}")


def _check_counts(source: DataSet, folder: Path) -> None:
    """Raise `InputError` if the readers find other numbers of classes and images than are listed."""
    from . import datasets  # takes half a second

    reader, mark, settings = source.reader.partition("?")
    for split in source.counts:
        images = datasets.load(f"{reader}:{folder / source.path}{mark}{settings}", split)
        if problem := source.miscount(split, len(images.class_names), len(images)):
            raise InputError(f"{source.name}: {problem}, which are listed; files are lost, or it is another version")


def _put(name: str, file: File, path: Path, unpacked: Path) -> None:
    """Put a file in its place in the data set, an archive unpacked."""
    folder = unpacked / file.to
    if not file.packed:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, folder / file.name)  # no second copy, and kept for another try
        except OSError:
            shutil.copyfile(path, folder / file.name)
        return
    try:
        _unpack(name, path, folder)
    except Exception as error:  # readers raise anything on a broken file
        if isinstance(error, InputError | MemoryError) or getattr(error, "errno", None) in FULL:
            raise
        raise InputError(f"{name}: {path} is not a readable archive ({reason(error)})") from None
    inside = list(folder.iterdir())
    if file.to != "." and len(inside) == 1 and inside[0].is_dir():  # an archive may contain the folder, or its content
        for entry in list(inside[0].iterdir()):
            entry.rename(folder / entry.name)
        inside[0].rmdir()


def _unpack(name: str, archive: Path, folder: Path) -> None:
    """Unpack files and folders; links and devices are left out, with a note, and a path that leads out is refused."""
    size, total, omitted = bytes_of(archive), 0, []
    allowed = max(SMALL, EXPANSION * size)
    folder.mkdir(parents=True, exist_ok=True)
    for path, kind, length, opened in _members(archive):
        parts = PurePosixPath(path.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in path.split("/")[0] or "\0" in path:
            raise InputError(f"{name}: {archive.name} holds {shown(path)}, which leads out of its folder")
        total += length
        if total > allowed:
            raise InputError(f"{name}: {archive.name} expands from {size:,} to more than {allowed:,} bytes")
        target = folder / parts
        if kind == "folder":
            target.mkdir(parents=True, exist_ok=True)
        elif kind == "file" and not parts.parts:
            raise InputError(f"{name}: {archive.name} holds a file without a name")
        elif kind == "file":
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened() as read, open(target, "wb") as out:
                shutil.copyfileobj(read, out, CHUNK)
        else:
            omitted.append(path)
    if not total:
        raise InputError(f"{name}: {archive.name} holds nothing")
    if omitted:
        note(f"{name}: {archive.name}: {len(omitted)} links or devices are left out ({shown(omitted[0])} …)")


def _members(archive: Path) -> Iterator[Member]:
    """Path, kind (file, folder or other), bytes and opener of each member of an archive, in its order."""
    return _zip_members(archive) if archive.suffix == ".zip" else _tar_members(archive)


def _zip_members(archive: Path) -> Iterator[Member]:
    """Members of a zip; a link becomes a text file, as no checksum protects the flag that makes a file a link."""
    with zipfile.ZipFile(archive) as zip_file:
        for info in zip_file.infolist():
            kind = "folder" if info.is_dir() else "file"
            if kind == "folder":
                zip_file.open(info).close()  # compares both copies of the name
                if info.file_size:
                    raise zipfile.BadZipFile(f"{info.filename} is a folder with {info.file_size} bytes")
            yield info.filename, kind, info.file_size, partial(zip_file.open, info)


class _CheckedHeader(tarfile.TarInfo):
    """A header of a tar; a damaged one is an error, where tarfile would take it for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error} of a file") from None


def _tar_members(archive: Path) -> Iterator[Member]:
    """Members of a compressed tar, which is read to its end, where gzip keeps a checksum of all of it."""
    with gzip.open(archive) as content, tarfile.open(fileobj=content, mode="r|", tarinfo=_CheckedHeader) as tar:
        for info in tar:
            kind = "folder" if info.isdir() else "file" if info.isreg() else "other"
            yield info.name, kind, info.size, partial(tar.extractfile, info)
        if tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):  # the first ended the loop
            raise tarfile.ReadError("the second of its two end blocks is missing")
        while tar.fileobj.read(CHUNK):
            pass
