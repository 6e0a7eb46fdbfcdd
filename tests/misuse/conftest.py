"""Each case has an empty folder to be in, some seconds and some memory."""

import functools
import os
import signal
import sys
from pathlib import Path

import pytest

from fslbook import cli as book
from fslcore.cli import app

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before the library that reads it is imported
MEMORY = (
    12 * 2**30
)  # bytes a case may ask for: one that asks for more gets a MemoryError, and not the machine
# To build a parser takes longer than to refuse a line.
PROGRAMS = {module: functools.cache(module._program) for module in (app, book)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module, program in PROGRAMS.items():
        monkeypatch.setattr(module, "_program", program)
    return tmp_path


@pytest.fixture(autouse=True)
def limited_memory():
    if sys.platform != "linux":
        yield
        return
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(autouse=True)
def limited_time():
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("no end in time"))
    signal.setitimer(signal.ITIMER_REAL, 120)  # also on a machine with much else to do
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
