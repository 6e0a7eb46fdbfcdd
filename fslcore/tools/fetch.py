"""Download the papers' own data: each data set is complete or absent, and an interrupted download is resumed.

The sources and their terms are in `fslcore.sources`. The work is done by the standard
library's ``urllib``, ``zipfile`` and ``tarfile``: torchvision, pooch and openml do not resume an interrupted
download, check the free disk space, or unpack to a folder that gets its name at the end.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from .. import sources
from ..errors import InputError, choice, note, reason, shown
from ..paths import check_folder, locked, replace_file
from ..sources import DataSet, File, Weights

__all__ = ["described", "fetch", "names", "room"]

CHUNK = 2**20  # bytes read together
TIMEOUT = 60  # seconds without an answer
WAITS = (1, 2, 4, 8, 16)  # seconds before each retry
AGAIN = {408, 425, 429, 500, 502, 503, 504}  # answers after which a retry may succeed
FULL = {errno.ENOSPC, errno.EDQUOT}  # errors of a full disk
MOST, SMALL = 20, 2**30  # an archive may expand by this factor, and always up to the second number of bytes
PINS = "digests.json"  # beside the data: SHA-256 of first downloads whose digest is not enforced


def names() -> list[str]:
    """All names that can be fetched: groups, data sets and weights."""
    known = sources.read()
    return [*known.groups, *known.data, *known.same, *known.weights]


def described(source: DataSet | Weights) -> list[str]:
    """Facts to show before a source is fetched: licence, terms, origin, size, and who lists its digests."""
    size = f"{source.bytes / 1e9:,.2f} GB to download" if source.bytes else "size not known"
    lines = [f"{source.name}: {source.title}", f"  licence: {source.licence}"]
    lines += [f"  terms: {source.terms}"] * bool(source.terms)
    if isinstance(source, Weights):
        return [*lines, f"  from: {source.repository} on the model hub, revision {source.revision or 'main'}; {size}"]
    if source.bring:
        lines += [f"  to be brought: {source.bring}", *(f"    {line}" for line in source.convert.splitlines())]
        return [*lines, f"  where to: {sources.data_folder(source.name)}"]
    hosts = sorted({url.split("/")[2] for file in source.files for url in file.url})
    lines.append(f"  from: {', '.join(hosts)}; {size}, {source.unpacked / 1e9:,.2f} GB on disk")
    by = "; ".join(dict.fromkeys(by for file in source.files for by in file.by)) or "nobody"
    enforced = all(file.enforced for file in source.files)
    how = "enforced" if enforced else "the first download's are kept, and enforced from then on"
    return [*lines, f"  digests: listed by {by}; {how}"]


def fetch(
    wanted: Iterable[str],
    *,
    accept: bool = False,
    given: Path | None = None,
    progress: bool = False,
    say: Callable[[str], object] = print,
) -> list[Path]:
    """Fetch data sets and weights that are not available yet.

    Parameters
    ----------
    wanted : of str
        `names`.
    accept : bool
        Whether the terms are accepted, if they limit the use.
    given : Path, optional
        A folder of downloaded files, by their names at the source: files found there are not fetched.
    progress : bool
        Show a progress bar per file.
    say : callable
        Called with each line for the user.

    Returns
    -------
    list of Path
        One folder per data set, one file (for captioners: folder) for weights. Members of a group that have to be
        brought are left out, and named by ``say``.

    Raises
    ------
    InputError
        An unknown name; terms that are not accepted; too little disk space; no connection, or one lost at every
        try; an answer such as 403 or 404; another digest or size than is enforced; an archive that cannot be read,
        expands too far or contains paths that lead out of it; a data set that has to be brought. The
        downloaded parts are kept, and the same call resumes from there.
    """
    known, chosen, optional = sources.read(), {}, set()
    for name in wanted:
        choice("name", name, names())
        of = known.groups.get(name, [name])
        optional |= {one for one in of if name in known.groups}
        for one in of:
            one = known.same.get(one, one)
            chosen[one] = known.data.get(one) or known.weights[one]
    found = {name: sources.data_folder(name) for name in chosen if sources.data_folder(name).is_dir()}
    lacking = {name: source for name, source in chosen.items() if name not in found}
    for source in lacking.values():
        for line in described(source):
            say(line)
    coming = [s for s in lacking.values() if isinstance(s, Weights) or not _is_brought(s, given)]
    if (limited := [source.name for source in coming if source.accept]) and not accept:
        raise InputError(f"{', '.join(limited)}: read the terms above; --accept-terms accepts them")
    if data := [source for source in coming if isinstance(source, DataSet)]:
        check_folder(sources.data_folder(), "FSLCORE_DATA")
        room(data)
    for name, source in lacking.items():
        if isinstance(source, Weights):
            found[name] = _weights(source, progress, say)
        elif source in coming:
            found[name] = _data_set(source, given, progress, say)
        elif name in optional:
            say(f"{name}: not available; it has to be brought")
        else:
            raise InputError(f"{name}: it has to be brought, as said above, to {sources.data_folder(name)}")
    return [found[name] for name in chosen if name in found]


def _is_brought(source: DataSet, given: Path | None) -> bool:
    """Whether nothing of it can be fetched; files of such a data set may still be in the named folder."""
    there = given and source.files and all((given / file.name).is_file() for file in source.files)
    return bool(source.bring) and not there


def room(wanted: list[DataSet]) -> None:
    """Raise `InputError` if downloading and unpacking need more than the free disk space."""
    folder = sources.data_folder()
    while not folder.exists():
        folder = folder.parent
    there = sum(
        file.stat().st_size for source in wanted for file in _working(source.name).glob("*") if file.is_file()
    )  # of an earlier try
    # An archive is removed once it is unpacked, so the largest data set decides.
    archives = max(sum(file.bytes or 0 for file in source.files if file.packed) for source in wanted)
    need, free = sum(source.unpacked for source in wanted) + archives - there, shutil.disk_usage(folder).free
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
    kept = ["*.json", "*.txt", source.file or "*.safetensors"]
    try:
        folder = Path(snapshot_download(source.repository, revision=source.revision, allow_patterns=kept))
    except (HfHubHTTPError, OSError) as error:
        raise InputError(f"{source.name}: {source.repository} cannot be fetched ({reason(error)})") from None
    if source.file is None:
        return folder
    file = File((source.file,), source.bytes, source.sha256, by=source.by)
    _pin(source.name, [file], {source.file: _checked(source.name, file, folder / source.file, None, progress)}, say)
    return folder


def _data_set(source: DataSet, given: Path | None, progress: bool, say: Callable[[str], object]) -> Path:
    """A complete data set, made beside its final folder and then renamed."""
    folder, work = sources.data_folder(source.name), _working(source.name)
    made, here, record = work / "unpacked", {}, {}
    try:
        with locked(folder):
            if folder.is_dir():  # another process made it
                return folder
            work.mkdir(parents=True, exist_ok=True)
            for file in source.files:
                own = given and given / file.name
                here[file.name] = path = own if own and own.is_file() else work / file.name
                if not path.is_file():
                    _download(source.name, file, path, progress)
                record[file.name] = _checked(source.name, file, path, work, progress)
            shutil.rmtree(made, ignore_errors=True)  # left by a try that was stopped
            for file in source.files:
                _put(source.name, file, here[file.name], made)
            if missing := next((inside for inside in source.has if not (made / inside).exists()), None):
                raise InputError(f"{source.name}: {missing} is not in the download; its layout differs")
            _pin(source.name, source.files, record, say)
            text = json.dumps({"title": source.title, "licence": source.licence, "files": record}, indent=1)
            (made / sources.RECORD).write_text(text, "utf-8")
            os.replace(made, folder)
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        if error.errno not in FULL:
            raise
        shutil.rmtree(made, ignore_errors=True)  # the downloads are kept
        raise InputError(
            f"{source.name}: the disk of {sources.data_folder()} is full; the same command resumes once there is space"
        ) from None
    return folder


def _download(name: str, file: File, whole: Path, progress: bool) -> None:
    """Fetch a file to ``whole``, through a ``.part`` that another call can resume."""
    part, told = whole.with_name(f"{whole.name}.part"), []
    for url in file.url:
        failed = 0  # consecutive tries without progress
        while failed <= len(WAITS):
            before = _size(part)
            try:
                _take(url, file, part, progress)
                part.with_suffix(".tag").unlink(missing_ok=True)
                os.replace(part, whole)
                return
            except HTTPError as error:
                last = f"it answers {error.code} {error.reason}"
                if error.code not in AGAIN:
                    break
            except (OSError, http.client.HTTPException) as error:
                last = reason(error)
                if getattr(error, "errno", None) in FULL:
                    raise
            failed = 0 if _size(part) > before else failed + 1
            time.sleep((0, *WAITS, 0)[failed])
        told.append(f"{url}: {last}")
    has = f"; {_size(part):,} bytes are kept, and the same command resumes from there" if _size(part) else ""
    raise InputError(f"{name}: {'; '.join(told)}{has}; --from FOLDER takes files that you have")


def _take(url: str, file: File, part: Path, progress: bool) -> None:
    """Append the missing bytes to ``part``, or start it again if the server says that the file has changed."""
    have, tag = _size(part), part.with_suffix(".tag")
    if have and have == file.bytes:
        return
    headers = {"User-Agent": "fslcore", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": tag.read_text("ascii")} if tag.is_file() else {})
    try:
        answer = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != 416:
            raise
        if (error.headers.get("Content-Range") or "").endswith(f"/{have}"):  # it is complete
            return
        part.unlink()
        raise ConnectionError("the downloaded part is not its beginning, and is fetched again") from None
    with answer:
        more = answer.status == 206
        if more and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {have}-"):
            raise ConnectionError("the server sent another part than requested")
        length = answer.headers.get("Content-Length")
        total = int(length) + have * more if length else None
        if file.enforced and file.bytes and total not in (None, file.bytes):
            raise HTTPError(url, answer.status, f"with {total:,} bytes, and {file.bytes:,} are listed", None, None)
        mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if mark and not mark.startswith("W/"):
            tag.write_text(mark, "ascii")
        bar = tqdm(desc=file.name, total=total, initial=have * more, unit="B", unit_scale=True, disable=not progress)
        with bar, open(part, "ab" if more else "wb", buffering=0) as out:
            while block := answer.read1(CHUNK):
                bar.update(out.write(block))
    if total is not None and _size(part) != total:
        raise ConnectionError(f"the connection was cut after {_size(part):,} of {total:,} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _checked(name: str, file: File, path: Path, work: Path | None, progress: bool) -> dict:
    """Bytes and SHA-256 of a downloaded file, and whether they are as listed; errors as for `fetch`."""
    of = {kind: hashlib.new(kind) for kind in sources.LENGTHS if kind == "sha256" or getattr(file, kind)}
    bar = tqdm(desc=f"{file.name}: digest", total=_size(path), unit="B", unit_scale=True, disable=not progress)
    with bar, open(path, "rb") as read:
        while block := read.read(CHUNK):
            for sha in of.values():
                sha.update(block)
            bar.update(len(block))
    got = {kind: sha.hexdigest() for kind, sha in of.items()}
    listed = {kind: getattr(file, kind) for kind in got if getattr(file, kind)}
    pinned = _pins().get(f"{name}/{file.name}")
    wrong = next((kind for kind in listed if got[kind] != listed[kind]), None)
    told = f"{name}: {file.name} has {{}} {{}}, not {{}}"
    if wrong and file.enforced:
        line = told.format(wrong.upper(), got[wrong], listed[wrong]) + f", which {'; '.join(file.by)} list"
    elif not file.enforced and pinned not in (None, got["sha256"]):
        line = told.format("SHA-256", got["sha256"], pinned) + (
            f", which the first download had; if the change is meant, take the file's line out of "
            f"{sources.data_folder(PINS)}"
        )
    else:
        if wrong:
            note(told.format(wrong.upper(), got[wrong], listed[wrong]) + f", which {'; '.join(file.by)} alone lists")
        return {"bytes": _size(path), **got, "as_listed": bool(listed) and not wrong}
    if path.parent == work:
        path.unlink()
        line += "; it was removed, and the same command fetches it again"
    raise InputError(line)


def _pins() -> dict[str, str]:
    path = sources.data_folder(PINS)
    try:
        return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
    except (ValueError, TypeError):
        raise InputError(f"{path} is damaged; it holds the SHA-256 of first downloads: repair or remove it") from None


def _pin(name: str, files: Iterable[File], record: dict[str, dict], say: Callable[[str], object]) -> None:
    """Store the digests that are not enforced, and show new ones."""
    path, own = sources.data_folder(PINS), {f"{name}/{file.name}": file.name for file in files if not file.enforced}
    with locked(path):
        new = {key: record[file]["sha256"] for key, file in own.items() if key not in _pins()}
        text = json.dumps(_pins() | new, indent=1)
        if new:
            replace_file(path, lambda part: part.write_text(text, "utf-8"))
    for key, digest in new.items():
        say(f"{key}: SHA-256 {digest}, kept in {path}")


def _put(name: str, file: File, here: Path, made: Path) -> None:
    """Put a file in its place in the data set, an archive unpacked."""
    if not file.packed:
        (made / file.to).mkdir(parents=True, exist_ok=True)
        try:
            os.link(here, made / file.to / file.name)  # no second copy, and kept for another try
        except OSError:
            shutil.copyfile(here, made / file.to / file.name)
        return
    into = made / file.to
    try:
        _unpack(name, here, into)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{name}: {here} is not a readable archive ({reason(error)})") from None
    inside = list(into.iterdir()) if into.is_dir() else []
    if file.to != "." and len(inside) == 1 and inside[0].is_dir():  # an archive may contain the folder, or its content
        for path in list(inside[0].iterdir()):
            path.rename(into / path.name)
        inside[0].rmdir()


def _unpack(name: str, archive: Path, into: Path) -> None:
    """Unpack files and folders; links and devices are left out, with a note, and a path that leads out is refused."""
    most, total, others = max(SMALL, MOST * _size(archive)), 0, []
    for path, kind, size, opened in _members(archive):
        parts = PurePosixPath(path.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in path.split("/")[0] or "\0" in path:
            raise InputError(f"{name}: {archive.name} holds {shown(path)}, which leads out of its folder")
        total += size
        if total > most:
            raise InputError(f"{name}: {archive.name} expands from {_size(archive):,} to more than {most:,} bytes")
        target = into / parts
        if kind == "folder":
            target.mkdir(parents=True, exist_ok=True)
        elif kind == "file":
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened() as read, open(target, "wb") as out:
                shutil.copyfileobj(read, out, CHUNK)
        else:
            others.append(path)
    if others:
        note(f"{name}: {archive.name}: {len(others)} links or devices are left out ({shown(others[0])} …)")


def _members(archive: Path) -> Iterator[tuple[str, str, int, Callable[[], BinaryIO]]]:
    """Path, kind (file, folder or other), bytes and opener of each member of an archive, in its order."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as read:
            for one in read.infolist():
                link = (one.external_attr >> 16) & 0o170000 == 0o120000
                kind = "folder" if one.is_dir() else "other" if link else "file"
                yield one.filename, kind, one.file_size, lambda one=one: read.open(one)
    else:
        with tarfile.open(archive, "r|gz") as read:
            for one in read:
                kind = "folder" if one.isdir() else "file" if one.isreg() else "other"
                yield one.name, kind, one.size, lambda one=one: read.extractfile(one)
