"""What `fslcore fetch` takes at most: bytes, time, members, headers; and manifests of other types."""

import errno
import gzip
import io
import itertools
import os
import tarfile
import zipfile

import httpx
import pytest
from refusal import refuses

from fslcore import download, fetch, sources
from fslcore.sources import File

URL = "https://example.org/"


def tar_of(members, ending=True, **headers):
    """A .tar.gz of (name, content) pairs, without its end blocks if so wanted."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", pax_headers=headers) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        length = raw.tell()
    tar = raw.getvalue() if ending else raw.getvalue()[:length]
    return gzip.compress(tar)


def zip_of(members):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return raw.getvalue()


def put(tmp_path, name, content, most=1e6, **listed):
    """Put a file into a new folder of a data set, as after its download."""
    path = tmp_path / name
    path.write_bytes(content)
    folder = tmp_path / "data"
    fetch._put(File(URL + name, **listed), path, folder, most)
    return sorted(file.name for file in folder.rglob("*") if file.is_file())


GOOD = [("a/x.png", b"1" * 700), ("a/y.png", b"2" * 700)]


@pytest.mark.parametrize("name, pack", [("a.zip", zip_of), ("a.tar.gz", tar_of)])
class TestBothKinds:
    def test_a_good_archive_is_unpacked(self, tmp_path, name, pack):
        assert put(tmp_path, name, pack(GOOD)) == ["x.png", "y.png"]

    def test_what_unpacks_too_far_is_refused_before_it_is_written(self, tmp_path, name, pack):
        bomb = pack([*GOOD, ("a/z.png", bytes(3_000_000))])
        assert len(bomb) < 10_000
        with refuses("more than 1,000,000 bytes", "FSLCORE_EXPANDED=1"):
            put(tmp_path, name, bomb)
        assert not list(tmp_path.rglob("z.png"))

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    @pytest.mark.parametrize("twin", ["a/x.png", "a/X.PNG", "./a//x.png"])
    def test_one_name_twice_is_refused_where_nobody_lists_a_digest(
        self, tmp_path, name, pack, twin
    ):
        twice = pack([*GOOD, (twin, b"3")])
        with refuses("twice"):
            put(tmp_path, name, twice)
        (tmp_path / "confirmed").mkdir()
        assert "y.png" in put(tmp_path / "confirmed", name, twice, sha256="0" * 64)


def test_entries_of_a_zip_that_share_bytes_are_refused(tmp_path):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED) as archive:
        for name, content in GOOD:
            archive.writestr(name, content)
        archive.infolist()[1].header_offset = 10  # in the first file
    with refuses("shares bytes|[Oo]verlap"):
        put(tmp_path, "a.zip", raw.getvalue())


@pytest.mark.parametrize(
    "body",
    [
        tar_of(GOOD, ending=False),
        gzip.compress(gzip.decompress(tar_of(GOOD)) + gzip.decompress(tar_of([("b", b"3")]))),
        gzip.compress(gzip.decompress(tar_of(GOOD, ending=False)) + b"no header" * 300),
    ],
    ids=["cut between two files", "a second archive", "another end"],
)
def test_a_tar_that_does_not_end_as_one_is_refused(tmp_path, body):
    with refuses("not a readable archive"):
        put(tmp_path, "a.tar.gz", body)
    (tmp_path / "confirmed").mkdir()
    assert put(tmp_path / "confirmed", "a.tar.gz", body, sha256="0" * 64) == ["x.png", "y.png"]


def test_a_long_header_is_refused(tmp_path):
    with refuses("header .* 1,048,576 bytes, got 2,000,0.."):
        put(tmp_path, "a.tar.gz", tar_of(GOOD, comment="x" * 2_000_000))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EROFS])
def test_a_disk_that_takes_no_more_is_not_the_archives_fault(tmp_path, monkeypatch, code):
    def fails(*_):
        raise OSError(code, os.strerror(code))

    body = tar_of(GOOD)
    monkeypatch.setattr(tarfile, "copyfileobj", fails)
    with pytest.raises(OSError, match=os.strerror(code)):
        put(tmp_path, "a.tar.gz", body)
    assert (tmp_path / "a.tar.gz").is_file()


# The transfer -------------------------------------------------------------------------------------


def test_an_answer_without_an_end_is_left_at_the_listed_length(tmp_path, monkeypatch):
    part = tmp_path / "a.part"
    with pytest.raises(download._WrongAnswer, match="more than 1,000 bytes"):
        download._append(part, itertools.repeat(b"x" * 300), 1_000, False)
    assert not part.exists()
    monkeypatch.setattr(download, "MOST_UNLISTED", 5_000)
    with pytest.raises(download._WrongAnswer, match="more than 5,000 bytes"):
        download._append(part, itertools.repeat(b"x" * 300), None, False)
    assert not part.exists()


def test_a_drip_ends_and_what_came_is_kept(tmp_path, monkeypatch):
    seconds = itertools.count()
    monkeypatch.setattr(download.time, "monotonic", lambda: next(seconds))
    part = tmp_path / "a.part"
    with pytest.raises(download._WrongAnswer, match="1,000 bytes per second"):
        download._append(part, itertools.repeat(b"x"), 10**6, False)
    assert download.WINDOW - 1 <= part.stat().st_size <= download.WINDOW + 1
    part.unlink()
    download._append(part, itertools.repeat(b"x" * 1_100, 1_000), 1_100_000, False)


def client_of(*answers):
    """A client whose server gives these answers in turn, the last one again and again."""
    left = list(answers)
    asked = []

    def reply(request):
        asked.append(request)
        return left.pop(0) if len(left) > 1 else left[0]

    return httpx.Client(transport=httpx.MockTransport(reply)), asked


def whole(content):
    headers = {"Content-Length": str(len(content))}
    return httpx.Response(200, headers=headers, content=iter([content]))


def busy(retry_after):
    return httpx.Response(503, headers={"Retry-After": retry_after})


def test_the_wait_that_a_server_asks_for_is_kept(tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(download.time, "sleep", waits.append)
    client, _ = client_of(busy("7"), busy("nonsense"), whole(b"abc"))
    download.download(client, URL + "a", tmp_path / "a")
    assert waits == [7, 2] and (tmp_path / "a").read_bytes() == b"abc"
    client, asked = client_of(busy("3600"))
    with refuses("503 Service Unavailable", "3,600 seconds"):
        download.download(client, URL + "b", tmp_path / "b")
    assert len(asked) == 1 and waits == [7, 2]


def test_a_wait_may_be_a_date(monkeypatch):
    monkeypatch.setattr(download.time, "time", lambda: 784111770.0)
    assert download._asked_wait("Sun, 06 Nov 1994 08:49:37 GMT") == 7
    assert download._asked_wait("Sun, 06 Nov 1994 08:49:00 GMT") == 0
    assert download._asked_wait("") == download._asked_wait("-5") == 0


def test_a_server_that_sends_a_byte_at_each_try_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(download.time, "sleep", lambda _: None)
    size = 10**6

    def reply(request):
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        headers = {"ETag": '"one"', "Content-Length": str(size - start)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        return httpx.Response(206 if start else 200, headers=headers, content=iter([b"x"]))

    client = httpx.Client(transport=httpx.MockTransport(reply))
    with refuses("resumes from there"):
        download.download(client, URL + "a", tmp_path / "a", size=size)
    assert (tmp_path / "a.part").stat().st_size == len(download.WAITS) + 1


# Manifests of other types -------------------------------------------------------------------------

ENTRY, AT = "title: a, licence: b", "url: 'https://x/y'"


@pytest.mark.parametrize(
    "text, words",
    [
        ("[", "this is not YAML"),
        ("data: {a: {title: a}}", "data, a: .*licence"),
        ("data: {a: {title: 3, licence: b}}", "title .*text, got 3"),
        ("data: {a: 3}", "entry .*fields, got"),
        ("data: {a: {1: 2}}", "entry .*fields, got"),
        ("data: {1: {title: a, licence: b}}", "data, 1: "),
        (f"data: {{../a: {{{ENTRY}}}}}", "is not a path inside a folder"),
        (f"data: {{a: {{{ENTRY}, disk: large}}}}", "disk.*large"),
        (f"data: {{a: {{{ENTRY}, accept: 3}}}}", "accept .*yes or no, got 3"),
        (f"data: {{a: {{{ENTRY}, path: [1]}}}}", "path .*text, got"),
        (f"data: {{a: {{{ENTRY}, has: x}}}}", "has .*list, got 'x'"),
        (f"data: {{a: {{{ENTRY}, files: [x]}}}}", "entry .*fields, got 'x'"),
        (f"data: {{a: {{{ENTRY}, files: [{{to: b}}]}}}}", "data, a: "),
        (f"data: {{a: {{{ENTRY}, files: [{{url: 'ftp://x/y'}}]}}}}", "ftp://x/y is not an address"),
        (f"data: {{a: {{{ENTRY}, files: [{{{AT}, bytes: -1}}]}}}}", "bytes .*got -1"),
        (f"data: {{a: {{{ENTRY}, files: [{{{AT}, bytes: yes}}]}}}}", "bytes .*got True"),
        (f"data: {{a: {{{ENTRY}, files: [{{{AT}, by: [1]}}]}}}}", "by .*list, got"),
        (f"data: {{a: {{{ENTRY}, files: [{{{AT}, md5: 12}}]}}}}", "data, a: "),
        (f"data: {{a: {{{ENTRY}, files: [{{{AT}, to: ../b}}]}}}}", "not a path inside a folder"),
        ("data: {}\nweights: 3", "weights and groups .*mappings"),
        ("data: {}\nweights: {a: 3}", "weights, a: .*fields, got 3"),
        ("data: {}\ngroups: {a: [[b]]}", "groups, a .*list of names, got"),
        ("data: {}\ngroups: {oops: [b]}", "groups, oops: b is not there"),
    ],
)
def test_a_manifest_of_another_type_is_named(tmp_path, monkeypatch, text, words):
    (tmp_path / "m.yml").write_text(text)
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "m.yml"))
    with refuses(rf"FSLCORE_SOURCES: .*m.yml: .*{words}"):
        sources.read()
