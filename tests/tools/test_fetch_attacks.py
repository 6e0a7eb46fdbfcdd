"""Attacks on `fslcore fetch`: damaged archives, odd answers, changed files. Each ends in one line, or in right data.

    python tests/tools/test_fetch_attacks.py    # a table of outcomes by kind

The server is a socket on this machine that sends any bytes. Only a changed image in an archive of which nobody lists a
digest cannot be noticed; its record says that nobody confirmed it.
"""

import gzip
import hashlib
import io
import json
import os
import socket
import ssl
import sys
import tarfile
import tempfile
import threading
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import numpy as np
import pytest
import yaml
from PIL import Image

from fslcore import download, fetch, sources
from fslcore.errors import InputError

CLIENT = partial(httpx.Client, verify=ssl.create_default_context())  # one for all, since it takes a tenth of a second
RNG = np.random.default_rng(0)
NOTES = RNG.bytes(6000)  # a file that is not unpacked
CLASSES = ("AnnualCrop", "Forest", "River")


def picture(c, i):
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng([c, i]).integers(0, 256, (16, 16, 3), np.uint8)).save(out, "PNG")
    return out.getvalue()


MEMBERS = {f"2750/{name}/{name}_{i}.png": picture(c, i) for c, name in enumerate(CLASSES) for i in range(3)}
COUNTS = {"novel": [3, 9]}


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return out.getvalue()


def packed(tar):
    return gzip.compress(tar, mtime=0)


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, body in members.items():
            archive.writestr(zipfile.ZipInfo(name), body, method)
    return out.getvalue()


TAR = tar_of(MEMBERS)
END = max(i for i in range(0, len(TAR), 512) if TAR[i : i + 512].strip(b"\0")) + 512  # where the end blocks begin
ARCHIVES = {"a.tar.gz": packed(TAR), "a.zip": zip_of(MEMBERS)}


def flipped(body, place, by=0x41):
    return body[:place] + bytes([body[place] ^ by]) + body[place + 1 :]


# ---------------------------------------------------------------- a server that sends any bytes


def answer(body=b"", status="200 OK", length=True, **headers):
    """An answer as it goes over the line; ``length`` is what it says of its length, or True for the truth."""
    lines = [f"HTTP/1.1 {status}".encode(), b"Connection: close"]
    if length is not None:
        lines.append(b"Content-Length: " + str(len(body) if length is True else length).encode())
    for name, value in headers.items():
        lines.append(name.replace("_", "-").encode() + b": " + (value if isinstance(value, bytes) else value.encode()))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body, end=b"0\r\n\r\n", **headers):
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n" + end
    return answer(chunks, length=None, Transfer_Encoding="chunked", **headers)


def page(**headers):
    return answer(b"<!DOCTYPE html>\n<html><body>Log in to this network</body></html>\n", **headers)


class Server:
    """Sends the answers listed for a path in turn, the last one again and again; one may be a function of the range."""

    def __init__(self):
        self.answers = {}
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # the client has gone
                self.reply(connection)

    def reply(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            block = connection.recv(65536)
            if not block:
                return
            request += block
        lines = request.decode("latin-1").split("\r\n")
        asked = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        listed = self.answers.get(lines[0].split()[1], [answer(status="404 Not Found")])
        reply = listed.pop(0) if len(listed) > 1 else listed[0]
        connection.sendall(reply(asked) if callable(reply) else reply)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def rest(body, **changes):
    """A right answer to a request for a part of a body, with changes of its headers, or its status."""

    def reply(asked):
        if "range" not in asked:
            return answer(body, ETag='"one"')
        start = int(asked["range"].removeprefix("bytes=").removesuffix("-"))
        headers = {"ETag": '"one"', "Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} | changes
        headers = {name: value for name, value in headers.items() if value is not None}
        return answer(body[start:], "206 Partial Content", **headers)

    return reply


# ---------------------------------------------------------------- attacks


@dataclass
class Attack:
    """What the server sends, and what the manifest lists.

    ``before`` are the answers of an earlier call; ``right`` is what the plain file should be, ``brought`` files that a
    person has.
    """

    kind: str
    name: str
    archive: str = "a.zip"
    sent: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    before: list = field(default_factory=list)
    listed: dict = field(default_factory=dict)
    listed_notes: dict = field(default_factory=dict)
    by: list = field(default_factory=lambda: ["somebody"])
    right: tuple = (NOTES,)
    brought: dict = field(default_factory=dict)
    pinned: dict = field(default_factory=dict)
    undetectable: bool = False

    def __str__(self):
        return f"{self.kind}: {self.name}"


def digest(body):
    return {"sha256": hashlib.sha256(body).hexdigest()}


def archives():
    for place in np.linspace(0, END + 1023, 35).astype(int):
        body = packed(flipped(TAR, place))
        of_image = content_at(place)
        yield Attack("tar, flipped, no digest", f"byte {place}", "a.tar.gz", [answer(body)], undetectable=of_image)
    for place in np.linspace(0, END - 1, 7).astype(int):
        body = packed(flipped(TAR, place))
        listed = digest(ARCHIVES["a.tar.gz"])
        yield Attack("tar, flipped, a digest", f"byte {place}", "a.tar.gz", [answer(body)], listed=listed)
    good = ARCHIVES["a.tar.gz"]
    for place in np.linspace(0, len(good) - 1, 12).astype(int):
        yield Attack("tar.gz, flipped", f"byte {place}", "a.tar.gz", [answer(flipped(good, place))])
    stored = zip_of(MEMBERS, zipfile.ZIP_STORED)
    for method, body in (("deflated", ARCHIVES["a.zip"]), ("stored", stored)):
        for place in np.linspace(0, len(body) - 1, 12).astype(int):
            yield Attack("zip, flipped", f"{method}, byte {place}", sent=[answer(flipped(body, place))])
    body = ARCHIVES["a.zip"]
    start = body.index(b"PK\1\2")
    for what, place, by in (
        ("a file becomes a link", start + 41, 0xA0),
        ("a name becomes a folder's", start + 46 + len(next(iter(MEMBERS))) - 1, ord("g") ^ ord("/")),
        ("encrypted", start + 8, 1),
        ("another name", start + 50, 1),
        ("no directory", len(body) - 10, body[-10]),
        ("fewer files", len(body) - 12, 1),
    ):
        yield Attack("zip, flipped", what, sent=[answer(flipped(body, place, by))])


def content_at(place):
    """Whether a byte of the tar is of an image, which no checksum of the tar protects."""
    with tarfile.open(fileobj=io.BytesIO(TAR)) as archive:
        return any(info.offset_data <= place < info.offset_data + info.size for info in archive)


def truncations():
    for name, body in ARCHIVES.items():
        for share in (0.02, 0.3, 0.7, 0.99):
            sent = [answer(body[: int(share * len(body))])]
            yield Attack("truncated", f"{name}, {share:.0%}", name, sent)
    for what, body in (
        ("before the end blocks", TAR[:END]),
        ("after one end block", TAR[: END + 512]),
        ("in a header", TAR[:700]),
        ("in an image", TAR[:1800]),
        ("at a header", TAR[:512] + bytes(512) + TAR[1024:]),
    ):
        yield Attack("truncated", f"tar within gzip, {what}", "a.tar.gz", [answer(packed(body))])
    yield Attack("truncated", "one image less in a zip", sent=[answer(zip_of(dict([*MEMBERS.items()][:-1])))])
    fewer = dict([*MEMBERS.items()][3:])
    yield Attack("truncated", "one class less in a tar", "a.tar.gz", [answer(packed(tar_of(fewer)))])
    yield Attack("truncated", "an empty zip", sent=[answer(zip_of({}))])
    yield Attack("truncated", "an empty tar", "a.tar.gz", [answer(packed(tar_of({})))])


def members():
    for what, other in (
        ("an empty name", {"": b"x"}),
        ("a name of a dot", {".": b"x"}),
        ("a way out", {"../out.txt": b"x"}),
        ("an absolute way out", {"/tmp/fslcore-attack.txt": b"x"}),
        ("a file in the place of a folder", {"2750/River/River_0.png/a.png": b"x"}),
        ("a name that is too long", {"2750/" + "x" * 300 + ".png": b"x"}),
    ):
        yield Attack("members", f"zip, {what}", sent=[answer(zip_of(MEMBERS | other))])
        yield Attack("members", f"tar, {what}", "a.tar.gz", [answer(packed(tar_of(MEMBERS | other)))])


def statuses():
    for status in (
        "201 Created", "202 Accepted", "203 Non-Authoritative Information", "204 No Content", "205 Reset Content",
        "206 Partial Content", "207 Multi-Status", "226 IM Used", "300 Multiple Choices", "304 Not Modified",
        "401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone", "416 Range Not Satisfiable", "451 No",
        "500 Internal Server Error", "503 Busy", "511 Network Authentication Required", "999 Odd", "200",
    ):  # fmt: skip
        body = b"" if status[:3] in ("204", "205", "304") else NOTES
        yield Attack("status", status, notes=[answer(body, status)])
    yield Attack("status", "302 to itself", notes=[answer(status="302 Found", Location="/notes.bin")])
    yield Attack("status", "302 to nowhere", notes=[answer(status="302 Found")])
    yield Attack("status", "206 with a range", notes=[answer(NOTES[:3000], "206 P", Content_Range="bytes 0-2999/6000")])


def lengths():
    listed = {"bytes": len(NOTES)}
    yield Attack("length", "less than announced", notes=[answer(NOTES, length=7000)])
    yield Attack("length", "listed, and another file", notes=[answer(NOTES + b"x")], listed_notes=listed)
    yield Attack("length", "listed, and a shorter file", notes=[answer(NOTES[:-1])], listed_notes=listed)
    yield Attack("length", "listed, not announced, cut", notes=[answer(NOTES[:-1], length=None)], listed_notes=listed)
    yield Attack("length", "listed, not announced, longer", notes=[answer(NOTES * 2, length=None)], listed_notes=listed)
    yield Attack("length", "not announced, cut", notes=[answer(NOTES[:-1], length=None)])
    yield Attack("length", "in chunks", notes=[chunked(NOTES)])
    yield Attack("length", "in chunks, cut", notes=[chunked(NOTES)[:-500]])
    yield Attack("length", "in chunks, without the last", notes=[chunked(NOTES, b"")])
    yield Attack("length", "in chunks, too many", notes=[chunked(NOTES * 2)], listed_notes=listed)
    yield Attack("length", "in chunks, too few", notes=[chunked(NOTES[:-9])], listed_notes=listed)
    unsized = answer(b"zz\r\n" + NOTES, length=None, Transfer_Encoding="chunked")
    yield Attack("length", "in chunks of no size", notes=[unsized])
    yield Attack("length", "nothing", notes=[answer()])
    yield Attack("length", "negative", notes=[answer(NOTES, length=-6000)])
    of_zip = {"bytes": len(ARCHIVES["a.zip"])}
    yield Attack("length", "of another archive", sent=[answer(ARCHIVES["a.zip"] + b"\0\0")], listed=of_zip)
    yield Attack("length", "of a file that was brought", brought={"notes.bin": NOTES + b"x"}, listed_notes=listed)


def resumptions():
    other = bytes(reversed(NOTES))
    longer = other + b"longer"
    cut = answer(NOTES[:2500], length=6000, ETag='"one"')

    def attack(name, *notes, before=cut, right=(NOTES,), **more):
        return Attack("resumption", name, notes=[*notes], before=[before], right=right, **more)

    yield attack("of the same file", rest(NOTES))
    yield attack("of another file, with its tag", rest(other, ETag='"two"'), right=(NOTES, other))
    yield attack("of another file, without a tag", rest(other, ETag=None), right=(NOTES, other))
    yield attack("of a longer file, with the old tag", rest(longer), right=(NOTES, longer))
    yield attack("of another file, with a weak tag", rest(other, ETag='W/"one"'), right=(NOTES, other))
    yield attack("all of another file", answer(other, ETag='"two"'), right=(other,))
    yield attack("another range", rest(NOTES, Content_Range="bytes 2000-5999/6000"))
    yield attack("another total", rest(NOTES, Content_Range="bytes 2500-5999/9000"))
    yield attack("an unknown total", rest(NOTES, Content_Range="bytes 2500-5999/*"))
    yield attack("no range", rest(NOTES, Content_Range=None))
    yield attack("a range of words", rest(NOTES, Content_Range="bytes 2500 apples"))
    yield attack("a range of digits without end", rest(NOTES, Content_Range="bytes 2500-5999/" + "9" * 5000))
    for name, total in (("no such range", 6000), ("complete, as it says", 2500)):
        none = answer(status="416 No", Content_Range=f"bytes */{total}")
        yield attack(name, lambda asked, none=none: none if "range" in asked else answer(NOTES))
    yield attack("a page", page(Content_Type="text/html"))
    yield attack("no content", answer(status="204 No Content"))
    plain = answer(NOTES[:2500], length=6000)
    yield attack("without any tag", rest(other, ETag=None), before=plain, right=(NOTES, other))
    weak = answer(NOTES[:2500], length=6000, ETag='W/"one"')
    yield attack("after a weak tag", rest(other, ETag='W/"one"'), before=weak, right=(NOTES, other))
    first, later = "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"
    dated = answer(NOTES[:2500], length=6000, Last_Modified=first)
    newer = rest(other, ETag=None, Last_Modified=later)
    yield attack("of a file that is newer", newer, before=dated, right=(NOTES, other))
    yield attack("of the same date", rest(NOTES, ETag=None, Last_Modified=first), before=dated)
    twice = [
        answer(other[:4000], length=6000),
        rest(NOTES),
    ]  # a whole file without a tag, cut, and then the first again
    yield attack("of two files in turn", *twice, right=(NOTES, other))


def digests():
    wrong, right = {"sha256": "0" * 64}, digest(NOTES)
    pair = ["one", "another"]
    yield Attack("digest", "another SHA-256, of one source", notes=[answer(NOTES)], listed_notes=wrong, right=())
    yield Attack("digest", "another SHA-256, of two", notes=[answer(NOTES)], listed_notes=wrong, by=pair, right=())
    yield Attack("digest", "another MD5", notes=[answer(NOTES)], listed_notes={"md5": "0" * 32, **right}, right=())
    yield Attack("digest", "another of an archive", sent=[answer(ARCHIVES["a.zip"])], listed=wrong, right=())
    yield Attack("digest", "another, brought", brought={"notes.bin": NOTES}, listed_notes=wrong, right=())
    yield Attack("digest", "changed by a bit", notes=[answer(flipped(NOTES, 77))], listed_notes=right)
    yield Attack(
        "digest", "other than the first", notes=[answer(NOTES)], pinned={"eurosat/notes.bin": "1" * 64}, right=()
    )
    yield Attack("digest", "as the first", notes=[answer(NOTES)], pinned={"eurosat/notes.bin": right["sha256"]})


def encodings():
    double = gzip.compress(ARCHIVES["a.tar.gz"])
    for encoding, body in (
        ("gzip", gzip.compress(NOTES)),
        ("x-gzip", gzip.compress(NOTES)),
        ("GZIP", gzip.compress(NOTES)),
        ("deflate", zlib.compress(NOTES)),
        ("br", NOTES[::-1]),
        ("zstd", NOTES[::-1]),
        ("identity", NOTES),
        ("gzip, identity", gzip.compress(NOTES)),
    ):
        yield Attack("encoding", encoding, notes=[answer(body, Content_Encoding=encoding)])
    yield Attack("encoding", "gzip of a zip", sent=[answer(gzip.compress(ARCHIVES["a.zip"]), Content_Encoding="gzip")])
    yield Attack("encoding", "gzip of a tar.gz", "a.tar.gz", [answer(double, Content_Encoding="gzip")])
    yield Attack("encoding", "its own gzip", "a.tar.gz", [answer(ARCHIVES["a.tar.gz"], Content_Encoding="gzip")])


def pages():
    for name in ARCHIVES:
        yield Attack("page", f"for {name}", name, [page(Content_Type="text/html; charset=utf-8")])
        yield Attack("page", f"for {name}, of no type", name, [page()])
    yield Attack("page", "for a file", notes=[page(Content_Type="text/html")])
    yield Attack("page", "for a file, of no type", notes=[page()])
    yield Attack("page", "for a file, with a mark", notes=[answer(b"\xef\xbb\xbf \r\n<HTML><title>portal</title>")])
    yield Attack("page", "for a file, XHTML", notes=[answer(b"<?xml version='1.0'?>\n<html><title>portal</title>")])
    yield Attack("page", "behind a redirect", notes=[answer(status="302 Found", Location="/portal")])
    yield Attack("page", "that was brought", brought={"a.zip": b"<!doctype html><html></html>"})


def headers():
    for name, sent in (
        ("Content-Length: 12 apples", answer(NOTES, length="12 apples")),
        ("two lengths", answer(NOTES, content_length="12")),
        ("a length of 5,000 digits", answer(NOTES, length="9" * 5000)),
        ("an ETag that is not ASCII", answer(NOTES, ETag='"día"'.encode())),
        ("an ETag of bytes", answer(NOTES[:3000], length=6000, ETag=b'"\xff\xfe"')),
        ("an ETag of two lines", answer(NOTES, ETag=b'"a\r\n b"')),
        ("an ETag without quotes", answer(NOTES[:3000], length=6000, ETag="one")),
        ("a date that is not ASCII", answer(NOTES[:3000], length=6000, Last_Modified=b"Mi\xe9")),
        ("a name that is not ASCII", answer(NOTES).replace(b"Connection", b"Conn\xe9ction")),
        ("a null", answer(NOTES, ETag=b'"\0"')),
        ("no colon", answer(NOTES).replace(b"Connection: close", b"Connection")),
        ("300,000 bytes", answer(NOTES, X_Long="x" * 300_000)),
        ("an unknown transfer", answer(NOTES, length=None, Transfer_Encoding="apples")),
        ("an encoding that is not ASCII", answer(NOTES, Content_Encoding=b"\xff")),
        ("a type that is not ASCII", answer(NOTES, Content_Type=b"\xff\xfe")),
        ("no protocol", NOTES),
        ("no answer", b""),
        ("a protocol of its own", answer(NOTES).replace(b"HTTP/1.1", b"ICY")),
        ("a status of words", answer(NOTES, "fine")),
        ("a redirect of bytes", answer(status="302 Found", Location=b"/\xff\xfe")),
        ("a redirect to ftp", answer(status="302 Found", Location="ftp://127.0.0.1/x")),
        ("a redirect to no host", answer(status="302 Found", Location="http://")),
        ("a redirect to a port of words", answer(status="302 Found", Location="http://127.0.0.1:apples/")),
    ):
        yield Attack("header", name, notes=[sent])


KINDS = (archives, truncations, members, statuses, lengths, resumptions, digests, encodings, pages, headers)
ATTACKS = [attack for kind in KINDS for attack in kind()]


# ---------------------------------------------------------------- outcomes


@contextmanager
def environment(folder, **variables):
    before = dict(os.environ)
    os.environ.update(variables, FSLCORE_DATA=str(folder / "data"), FSLCORE_SOURCES=str(folder / "manifest.yml"))
    sources._read.cache_clear()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        sources._read.cache_clear()


def outcome(attack, server, folder):
    """What an attack ends in: right data, refused, or what must not be; with the line, and what follows without it."""
    data = folder / "data"
    made = {"title": "one", "licence": "none", "by": attack.by, "has": ["2750/River"], "counts": COUNTS}
    made["files"] = [
        {"url": f"{server.url}/{attack.archive}", **attack.listed},
        {"url": f"{server.url}/notes.bin", **attack.listed_notes},
    ]
    (folder / "manifest.yml").write_text(yaml.safe_dump({"data": {"eurosat": made}}))
    good = {f"/{attack.archive}": [answer(ARCHIVES[attack.archive])], "/notes.bin": [answer(NOTES, ETag='"one"')]}
    sent = {f"/{attack.archive}": attack.sent, "/notes.bin": attack.notes}
    sent = good | {path: [*answers] for path, answers in sent.items() if answers} | {"/portal": [page()]}
    if attack.pinned:
        data.mkdir()
        (data / "digests.json").write_text(json.dumps(attack.pinned))
    for name, body in attack.brought.items():
        (folder / name).write_bytes(body)
    with environment(folder):
        if attack.before:
            server.answers = good | {"/notes.bin": [*attack.before, answer(status="403 No")]}
            with suppress(InputError):
                call(folder)
        server.answers = sent
        try:
            call(folder)
        except InputError as error:
            lines = str(error).splitlines()
            whole = (data / "eurosat").exists()
            return ("refused" if len(lines) == 1 and not whole else "half-made"), str(error)
        except Exception as error:
            return "traceback", f"{type(error).__name__}: {error}"
    top = data / "eurosat"
    there = {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}
    record = json.loads(there.pop("fetched.json"))["files"]
    if there in ({**MEMBERS, "notes.bin": notes} for notes in attack.right):
        return "right data", ""
    unconfirmed = record[attack.archive].get("confirmed_by", "").startswith("nobody")
    if attack.undetectable and unconfirmed and there.keys() == {*MEMBERS, "notes.bin"}:
        return "confirmed by nobody", ""
    return "wrong data", ""


def call(folder):
    return fetch.fetch(["eurosat"], accept=True, say=lambda line: None, downloads=folder)


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.listening.close()


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_ends_in_one_line_or_in_right_data(attack, server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "WAITS", (0, 0))
    monkeypatch.setattr(httpx, "Client", CLIENT)
    found, line = outcome(attack, server, tmp_path)
    assert found in ("refused", "right data", "confirmed by nobody"), line
    assert not list(tmp_path.parent.glob("out.txt")) and not Path("/tmp/fslcore-attack.txt").exists()
    server.answers = {f"/{name}": [answer(body)] for name, body in ARCHIVES.items()} | {"/notes.bin": [answer(NOTES)]}
    if found == "refused" and attack.right and not attack.brought:  # the same command ends well once the source does
        with environment(tmp_path):
            (folder,) = call(tmp_path)
        assert (folder / "notes.bin").read_bytes() == NOTES


def test_the_attacks_are_of_all_kinds():
    assert len(ATTACKS) > 105 and len({str(attack) for attack in ATTACKS}) == len(ATTACKS)
    assert sum(attack.undetectable for attack in ATTACKS) < 25


def main():
    download.WAITS, httpx.Client = (0, 0), CLIENT
    server, outcomes = Server(), Counter()
    for attack in ATTACKS:
        with tempfile.TemporaryDirectory() as folder:
            found, line = outcome(attack, server, Path(folder))
        outcomes[attack.kind, found] += 1
        if "-v" in sys.argv or found not in ("refused", "right data", "confirmed by nobody"):
            print(f"{found}: {attack}: {line}", file=sys.stderr)
    columns = sorted({found for _, found in outcomes})
    print(f"{'':28}", *(f"{column:>20}" for column in columns))
    for kind in dict.fromkeys(attack.kind for attack in ATTACKS):
        print(f"{kind:28}", *(f"{outcomes[kind, column] or '':>20}" for column in columns))
    sums = [sum(n for (_, found), n in outcomes.items() if found == column) for column in columns]
    print(f"{f'{len(ATTACKS)} in all':28}", *(f"{n:>20}" for n in sums))


if __name__ == "__main__":
    main()
