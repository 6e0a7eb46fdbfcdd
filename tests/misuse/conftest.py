"""Each case has an empty folder to be in, some seconds and some memory."""

import functools
import os
import signal
import sys

import pytest

from fslbook import cli as book
from fslcore.cli import app

from .judging import SLOW

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before the library that reads it is imported
MEMORY = 12 * 2**30  # bytes a case may ask for: one that asks for more gets a MemoryError, and not the machine
# To build a parser takes longer than to refuse a line.
PROGRAMS = {module: functools.cache(module._program) for module in (app, book)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module, program in PROGRAMS.items():
        monkeypatch.setattr(module, "_program", program)
    for name in ("FSLCORE_QUIET", "TQDM_DISABLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def limits():
    def late(*_):
        pytest.fail(f"no end in {SLOW} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SLOW)
    if sys.platform == "linux":
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
