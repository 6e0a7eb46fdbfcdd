"""Unpack archives: completely, into one folder, and without links. A damaged one raises an error of any kind."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from pathlib import Path, PureWindowsPath

from .errors import InputError, shown

EXPANSION, SMALL = 20, 2**30  # an archive may expand by this factor, and always up to the second number of bytes
CHUNK = 2**20  # bytes read together


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the files and folders of a .zip or .tar.gz; links and devices are left out.

    Raises
    ------
    InputError
        It expands too far, or a path leads out of the folder.
    Exception
        It cannot be read to its end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".zip":
        _unpack_zip(archive, folder)
    else:
        _unpack_tar(archive, folder)


def _unpack_zip(archive: Path, folder: Path) -> None:
    """Unpack a zip; a link becomes a text file, as no checksum protects the flag that makes a file a link."""
    with zipfile.ZipFile(archive) as content:
        members = content.infolist()
        _check_size(archive, sum(member.file_size for member in members))
        for member in members:
            _check_path(archive, member.filename)
            if member.is_dir() and member.file_size:
                raise zipfile.BadZipFile(f"{member.filename} is a folder with {member.file_size} bytes")
            member.filename = member.filename.replace("\\", "/")  # as some programs write it
            content.extract(member, folder)


def _unpack_tar(archive: Path, folder: Path) -> None:
    """Unpack a compressed tar, which is read to its end, where gzip keeps a checksum of all of it."""
    size = 0

    def admitted(member, path):
        nonlocal size
        size += member.size
        _check_size(archive, size)
        _check_path(archive, member.name)
        return tarfile.data_filter(member, path) if member.isfile() or member.isdir() else None

    with gzip.open(archive) as content, tarfile.open(fileobj=content, mode="r|") as tar:
        tar.extractall(folder, filter=admitted)
        # A damaged header ends an archive as the first of its two end blocks does.
        if tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the second of its two end blocks is missing")
        while tar.fileobj.read(CHUNK):
            pass


def _check_size(archive: Path, size: int) -> None:
    packed = archive.stat().st_size
    allowed = max(SMALL, EXPANSION * packed)
    if size > allowed:
        raise InputError(f"{archive.name} expands from {packed:,} to more than {allowed:,} bytes")


def _check_path(archive: Path, name: str) -> None:
    path = PureWindowsPath(name)  # which knows the separators and roots of other systems too
    if path.anchor or ".." in path.parts:
        raise InputError(f"{archive.name} holds {shown(name)}, which leads out of its folder")
