"""Shared by all tests: none of them reads or writes the repository's own cache."""

import gc
import itertools
import os
import shutil
import signal
from importlib.util import find_spec

import hypothesis
import numpy as np
import pytest

from fslcore.paths import ROOT

CACHES = itertools.count()
# Examples are looked for in every file, also in one that needs the extra `captions` to be imported.
collect_ignore = [] if find_spec("transformers") else ["rehearsal/captioners.py"]

# No time limit an example (machines stall), and the same examples every time.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True)
hypothesis.settings.load_profile("project")

# A shell lets what it begins in the background ignore Ctrl-C, and so would the commands that tests begin and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure():
    """With SITE_REQUIRED, as in continuous integration, the tests of a built book are not skipped without one."""
    if os.environ.get("SITE_REQUIRED") and not (ROOT / "_build/html/index.html").is_file():
        pytest.exit(f"SITE_REQUIRED, and no site in {ROOT}/_build/html; make book", returncode=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Without a search for garbage: what is collected stays to the end, and later searches pass it by."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """The slow ones begin first: at the end one worker would wait for the other."""
    items.sort(key=_turn)


def _turn(item):
    if (
        "test_devices" in item.nodeid
    ):  # PyTorch counts devices at its first gradient: these come before all others
        return 0
    return 1 if "slow" in item.keywords else 2


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Made by the first file in it: most tests keep nothing, and thousands of empty folders take their time."""
    folder = tmp_path_factory.getbasetemp() / f"cache{next(CACHES)}"
    monkeypatch.setenv("FSLCORE_CACHE", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """A cache for all of a session and its workers: for features of many images that tests of several files read."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared-cache"


@pytest.fixture
def bank_of():
    """A bank of a data set that holds the images of some tasks, and black ones for others: to read all takes long."""
    import torch  # tests of the statistics run without it

    from fslcore.datasets.bank import Bank

    def make(images, tasks):
        used = np.unique(np.concatenate([tasks.support, tasks.query], axis=1))
        pixels = np.zeros((len(images), *images.images.shape[1:]), np.uint8)
        pixels[used] = images.images[used]
        return Bank(torch.from_numpy(pixels), images.labels, "")

    return make
