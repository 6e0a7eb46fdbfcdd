"""Shared by all tests: none of them reads or writes the repository's own cache."""

import pytest

from fslcore import backbones, evaluate


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    for module in (backbones, evaluate):
        monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
