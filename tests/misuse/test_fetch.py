"""``fslcore fetch`` and the released accuracies; nothing is downloaded."""

from pathlib import Path

import pytest

from fslcore import download
from fslcore.fetch import RESULTS, fetch_results

from .judging import fill, fslcore, judge, row, split

NOBODY = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    "arguments, words",
    [
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


def test_results_from_nowhere(monkeypatch):
    monkeypatch.setattr(download, "WAITS", ())
    monkeypatch.setenv("FSLCORE_CACHE", ".")
    Path(RESULTS).mkdir()
    fill("registry.txt", f"a.pt sha256:{'0' * 64}\n")
    call = lambda: fetch_results(url=NOBODY, registry=Path("registry.txt"))  # noqa: E731
    judge(call, "127.0.0.1 & a.pt")
