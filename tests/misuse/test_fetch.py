"""``fslcore fetch`` and the released accuracies; nothing is downloaded."""

import hashlib
from pathlib import Path

import pytest

from fslcore import download
from fslcore.fetch import fetch_results

from .judging import fill, fine, fslcore, judge, row, split

LIST = f"a.pt sha256:{hashlib.sha256(b'x').hexdigest()}\n"
NOBODY = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    "arguments, words",
    [
        row("a name that is none", "oop", "oop & allowed"),
        row("terms that are not accepted", "oops", "aircraft & --accept-terms"),
        row("what has to be brought", "fungi --accept-terms", "fungi & has to be brought"),
        row("a data set twice", "dtd dtd", "dtd & once"),
        row("from a folder that is none", "dtd --from nowhere", "nowhere"),
        row("data where nobody may write", "dtd --accept-terms", "/proc"),
    ],
)
def test_the_command(arguments, words, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", "/proc/x")
    judge(lambda: fslcore("fetch", *split(arguments)), words)


@pytest.mark.parametrize(
    "registry, content, url, expected",
    [
        row("nobody answers", LIST, None, NOBODY, "127.0.0.1 & a.pt"),
        row("no such host", LIST, None, "http://nobody.invalid/", "nobody.invalid"),
        row("a file that is there and another", LIST, "other", NOBODY, "a.pt"),
        row("a file that is there", LIST, "x", NOBODY, fine),
        row("an empty list of files", "", None, NOBODY, fine),
        row("a list of files that is none", "this is no list of files\n", None, NOBODY, "registry.txt"),
        row("no list of files", lambda path: None, None, NOBODY, "registry.txt"),
    ],
)
def test_fetching(registry, content, url, expected, monkeypatch):
    """Files of this folder, by their path, in place of the network: what cannot be had there is named."""
    monkeypatch.setattr(download, "WAITS", ())
    Path("got").mkdir()
    fill("registry.txt", registry)
    if content:
        fill("got/a.pt", content)
    judge(lambda: fetch_results(Path("got"), url=url, registry=Path("registry.txt")), expected)
