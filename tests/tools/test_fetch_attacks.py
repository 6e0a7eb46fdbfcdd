"""Attacks on `fslcore fetch`: damaged archives, odd answers, changed files. Each ends in one line, or in right data.

The server is a socket on this machine that sends any bytes. Only a changed image in an archive of which nobody lists a
digest cannot be noticed; its record says that nobody confirmed it.
"""

import gzip
import hashlib
import io
import json
import socket
import ssl
import tarfile
import threading
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import httpx
import numpy as np
import pytest
import yaml
from PIL import Image

from fslcore import download, fetch
from fslcore.errors import InputError

CLIENT = partial(
    httpx.Client, verify=ssl.create_default_context()
)  # one for all, since it takes a tenth of a second
RNG = np.random.default_rng(0)
NOTES = RNG.bytes(6000)  # a file that is not unpacked
CLASSES = ("AnnualCrop", "Forest", "River")


def picture(c, i):
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng([c, i]).integers(0, 256, (16, 16, 3), np.uint8)).save(
        out, "PNG"
    )
    return out.getvalue()


MEMBERS = {
    f"2750/{name}/{name}_{i}.png": picture(c, i) for c, name in enumerate(CLASSES) for i in range(3)
}
COUNTS = {"novel": [3, 9]}


LINK, OUTSIDE = "2750/link.png", "../../out.png"


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            if name == LINK:
                info.type, info.linkname = tarfile.SYMTYPE, body.decode()
            else:
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
END = (
    max(i for i in range(0, len(TAR), 512) if TAR[i : i + 512].strip(b"\0")) + 512
)  # where the end blocks begin
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
        lines.append(
            name.replace("_", "-").encode()
            + b": "
            + (value if isinstance(value, bytes) else value.encode())
        )
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body):
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    return answer(chunks, length=None, Transfer_Encoding="chunked")


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
        request_headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
        }
        listed = self.answers.get(lines[0].split()[1], [answer(status="404 Not Found")])
        reply = listed.pop(0) if len(listed) > 1 else listed[0]
        connection.sendall(reply(request_headers) if callable(reply) else reply)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def rest(body, **changes):
    """A right answer to a request for a part of a body, with changes of its headers, or its status."""

    def reply(request_headers):
        if "range" not in request_headers:
            return answer(body, ETag='"one"')
        start = int(request_headers["range"].removeprefix("bytes=").removesuffix("-"))
        headers = {
            "ETag": '"one"',
            "Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}",
        } | changes
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
    undetectable: bool = False

    def __str__(self):
        return f"{self.kind}: {self.name}"


def digest(body):
    return {"sha256": hashlib.sha256(body).hexdigest()}


def archives():
    for place in np.linspace(0, END + 1023, 13).astype(int):
        body = packed(flipped(TAR, place))
        of_image = content_at(place)
        yield Attack(
            "tar, flipped, no digest",
            f"byte {place}",
            "a.tar.gz",
            [answer(body)],
            undetectable=of_image,
        )
    good = ARCHIVES["a.tar.gz"]
    for place in np.linspace(0, len(good) - 1, 6).astype(int):
        yield Attack("tar.gz, flipped", f"byte {place}", "a.tar.gz", [answer(flipped(good, place))])
    stored = zip_of(MEMBERS, zipfile.ZIP_STORED)
    for method, body in (("deflated", ARCHIVES["a.zip"]), ("stored", stored)):
        for place in np.linspace(0, len(body) - 1, 6).astype(int):
            yield Attack(
                "zip, flipped", f"{method}, byte {place}", sent=[answer(flipped(body, place))]
            )
    body = ARCHIVES["a.zip"]
    start = body.index(b"PK\1\2")
    for name, place, by in (
        ("a file becomes a link", start + 41, 0xA0),
        (
            "a name becomes a folder's",
            start + 46 + len(next(iter(MEMBERS))) - 1,
            ord("g") ^ ord("/"),
        ),
        ("encrypted", start + 8, 1),
    ):
        yield Attack("zip, flipped", name, sent=[answer(flipped(body, place, by))])


def content_at(place):
    """Whether a byte of the tar is of an image, which no checksum of the tar protects."""
    with tarfile.open(fileobj=io.BytesIO(TAR)) as archive:
        return any(info.offset_data <= place < info.offset_data + info.size for info in archive)


def truncations():
    for name, body in ARCHIVES.items():
        for share in (0.02, 0.7):
            sent = [answer(body[: int(share * len(body))])]
            yield Attack("truncated", f"{name}, {share:.0%}", name, sent)
    for name, body in (
        ("before the end blocks", TAR[:END]),
        ("in an image", TAR[:1800]),
        ("at a header", TAR[:512] + bytes(512) + TAR[1024:]),
    ):
        yield Attack("truncated", f"tar within gzip, {name}", "a.tar.gz", [answer(packed(body))])
    yield Attack(
        "truncated", "one image less in a zip", sent=[answer(zip_of(dict([*MEMBERS.items()][:-1])))]
    )
    fewer = dict([*MEMBERS.items()][3:])
    yield Attack(
        "truncated", "one class less in a tar", "a.tar.gz", [answer(packed(tar_of(fewer)))]
    )
    yield Attack("truncated", "an empty zip", sent=[answer(zip_of({}))])


def members():
    for name, added in (
        ("a file in the place of a folder", {"2750/River/River_0.png/a.png": b"x"}),
        ("a name that is too long", {"2750/" + "x" * 300 + ".png": b"x"}),
        ("a name that leads out", {OUTSIDE: b"x"}),
    ):
        yield Attack("members", f"zip, {name}", sent=[answer(zip_of(MEMBERS | added))])
        yield Attack(
            "members", f"tar, {name}", "a.tar.gz", [answer(packed(tar_of(MEMBERS | added)))]
        )

    linked = packed(tar_of(MEMBERS | {LINK: b"/etc/passwd"}))
    yield Attack("members", "tar, a link that leads out", "a.tar.gz", [answer(linked)])


def statuses():
    yield Attack("status", "999 Odd", notes=[answer(NOTES, "999 Odd")])
    yield Attack(
        "status", "302 to itself", notes=[answer(status="302 Found", Location="/notes.bin")]
    )
    yield Attack(
        "status",
        "206 with a range",
        notes=[answer(NOTES[:3000], "206 P", Content_Range="bytes 0-2999/6000")],
    )


def lengths():
    listed = {"bytes": len(NOTES)}
    for name, sent in (
        ("another file", answer(NOTES + b"x")),
        ("not announced, cut", answer(NOTES[:-1], length=None)),
        ("not announced, longer", answer(NOTES * 2, length=None)),
        ("in chunks, too many", chunked(NOTES * 2)),
        ("in chunks, too few", chunked(NOTES[:-9])),
    ):
        yield Attack("listed length", name, notes=[sent], listed_notes=listed)
    for name, sent in (
        ("less than announced", answer(NOTES, length=7000)),
        ("not announced, cut", answer(NOTES[:-1], length=None)),
        ("in chunks", chunked(NOTES)),
        ("in chunks, cut", chunked(NOTES)[:-500]),
        ("nothing", answer()),
    ):
        yield Attack("length", name, notes=[sent])
    yield Attack(
        "length",
        "of a file that was brought",
        brought={"notes.bin": NOTES + b"x"},
        listed_notes=listed,
    )


def resumptions():
    another = bytes(reversed(NOTES))
    cut = answer(NOTES[:2500], length=6000, ETag='"one"')

    def attack(name, *notes, before=cut, right=(NOTES,), **facts):
        return Attack("resumption", name, notes=[*notes], before=[before], right=right, **facts)

    yield attack("of the same file", rest(NOTES))
    yield attack(
        "of another file, with its tag", rest(another, ETag='"two"'), right=(NOTES, another)
    )
    yield attack(
        "of a longer file, with the old tag", rest(another * 2), right=(NOTES, another * 2)
    )
    yield attack("another range", rest(NOTES, Content_Range="bytes 2000-5999/6000"))
    yield attack("no range", rest(NOTES, Content_Range=None))
    yield attack(
        "a range of digits without end", rest(NOTES, Content_Range="bytes 2500-5999/" + "9" * 5000)
    )
    for name, total in (("no such range", 6000), ("complete, as it says", 2500)):
        none = answer(status="416 No", Content_Range=f"bytes */{total}")
        yield attack(name, lambda request, none=none: none if "range" in request else answer(NOTES))
    yield attack("a page", page(Content_Type="text/html"))
    untagged = answer(NOTES[:2500], length=6000)
    yield attack(
        "without any tag", rest(another, ETag=None), before=untagged, right=(NOTES, another)
    )
    weak = answer(NOTES[:2500], length=6000, ETag='W/"one"')
    yield attack(
        "after a weak tag", rest(another, ETag='W/"one"'), before=weak, right=(NOTES, another)
    )
    dates = [
        {"ETag": None, "Last_Modified": f"Mon, {day} Jan 2024 00:00:00 GMT"} for day in ("01", "08")
    ]
    dated = answer(NOTES[:2500], length=6000, Last_Modified=dates[0]["Last_Modified"])
    yield attack(
        "of a file that is newer", rest(another, **dates[1]), before=dated, right=(NOTES, another)
    )
    yield attack("of the same date", rest(NOTES, **dates[0]), before=dated)
    # A whole file without a tag, cut, and then the first again.
    yield attack(
        "of two files in turn",
        answer(another[:4000], length=6000),
        rest(NOTES),
        right=(NOTES, another),
    )


def digests():
    yield Attack(
        "digest",
        "another MD5",
        notes=[answer(NOTES)],
        listed_notes={"md5": "0" * 32, **digest(NOTES)},
        right=(),
    )
    yield Attack(
        "digest",
        "another, brought",
        brought={"notes.bin": NOTES},
        listed_notes={"sha256": "0" * 64},
        right=(),
    )


def encodings():
    for encoding, body in (
        ("GZIP", gzip.compress(NOTES)),
        ("identity", NOTES),
    ):
        yield Attack("encoding", encoding, notes=[answer(body, Content_Encoding=encoding)])
    yield Attack(
        "encoding",
        "its own gzip",
        "a.tar.gz",
        [answer(ARCHIVES["a.tar.gz"], Content_Encoding="gzip")],
    )


def pages():
    yield Attack("page", "for an archive", sent=[page(Content_Type="text/html; charset=utf-8")])
    yield Attack("page", "for a file", notes=[page(Content_Type="TEXT/html")])
    yield Attack("page", "that was brought", brought={"a.zip": b"<!doctype html><html></html>"})


def headers():
    for name, sent in (
        ("a length of 5,000 digits", answer(NOTES, length="9" * 5000)),
        ("an ETag that is not ASCII", answer(NOTES[:3000], length=6000, ETag='"día"'.encode())),
        ("an encoding that is not ASCII", answer(NOTES, Content_Encoding=b"\xff")),
        ("a type that is not ASCII", answer(NOTES, Content_Type=b"\xff\xfe")),
        ("no answer", b""),
        (
            "a redirect to a port of words",
            answer(status="302 Found", Location="http://127.0.0.1:apples/"),
        ),
    ):
        yield Attack("header", name, notes=[sent])


KINDS = (
    archives,
    truncations,
    members,
    statuses,
    lengths,
    resumptions,
    digests,
    encodings,
    pages,
    headers,
)
ATTACKS = [attack for kind in KINDS for attack in kind()]


# ---------------------------------------------------------------- outcomes


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.listening.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files that a person has, the manifest, and the data, of a client that does not wait."""
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "manifest.yml"))
    monkeypatch.setattr(download, "WAITS", (0, 0))
    monkeypatch.setattr(httpx, "Client", CLIENT)
    return tmp_path


def fetched(folder):
    (path,) = fetch.fetch(["eurosat"], accept=True, say=str, downloads=folder)
    return path


def prepare(attack, server, folder):
    """The manifest and the files of a person, and what is left of an earlier call."""
    facts = {
        "title": "one",
        "licence": "none",
        "by": attack.by,
        "has": ["2750/River"],
        "counts": COUNTS,
    }
    facts["files"] = [
        {"url": f"{server.url}/{attack.archive}", **attack.listed},
        {"url": f"{server.url}/notes.bin", **attack.listed_notes},
    ]
    (folder / "manifest.yml").write_text(yaml.safe_dump({"data": {"eurosat": facts}}))
    for name, body in attack.brought.items():
        (folder / name).write_bytes(body)
    good = {
        f"/{attack.archive}": [answer(ARCHIVES[attack.archive])],
        "/notes.bin": [answer(NOTES, ETag='"one"')],
    }
    if attack.before:
        server.answers = good | {"/notes.bin": [*attack.before, answer(status="403 No")]}
        with suppress(InputError):
            fetched(folder)
    sent = {f"/{attack.archive}": attack.sent, "/notes.bin": attack.notes}
    server.answers = good | {path: [*answers] for path, answers in sent.items() if answers}


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_ends_in_one_line_or_in_right_data(attack, server, folder):
    prepare(attack, server, folder)
    try:
        data = fetched(folder)
    except InputError as error:
        assert len(str(error).splitlines()) == 1 and not (folder / "data" / "eurosat").exists()
        server.answers = {f"/{name}": [answer(body)] for name, body in ARCHIVES.items()}
        server.answers["/notes.bin"] = [answer(NOTES)]
        if attack.right and not attack.brought:  # the same command ends well once the source does
            assert (fetched(folder) / "notes.bin").read_bytes() == NOTES
    else:
        content = {
            path.relative_to(data).as_posix(): path.read_bytes()
            for path in data.rglob("*")
            if path.is_file()
        }
        content.pop("out.png", None)  # what leads out of a zip is put inside
        record = json.loads(content.pop("fetched.json"))["files"]
        unconfirmed = record[attack.archive].get("confirmed_by", "").startswith("nobody")
        if attack.undetectable and unconfirmed:
            assert content.keys() == {*MEMBERS, "notes.bin"}
        else:
            assert content in [{**MEMBERS, "notes.bin": notes} for notes in attack.right]
    assert all(path.parent.name in ("eurosat", "unpacked") for path in folder.rglob("out.png"))
