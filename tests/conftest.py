"""Shared by all tests: none of them reads or writes the repository's own cache."""

import hypothesis
import pytest

from fslcore import attributes, backbones, evaluate, released

# No time limit an example (machines stall), and the same examples every time.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True)
hypothesis.settings.load_profile("project")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    for module in (attributes, backbones, evaluate, released):
        monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
