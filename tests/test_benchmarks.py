"""The benchmarks still run on the library as it is; how fast is for `make bench` to say."""

import importlib.util
import os
import sys

from fslcore.learners import NearestCentroid
from fslcore.paths import ROOT
from fslcore.tasks import sample_closed


def loaded(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bench.py", "--threads", "1"])
    monkeypatch.setattr(os, "environ", os.environ.copy())  # it sets the number of threads
    spec = importlib.util.spec_from_file_location("bench", ROOT / "benchmarks" / "bench.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return bench


def test_the_benchmarks_fit_the_library(monkeypatch):
    bench = loaded(monkeypatch)
    bank = bench.features()
    tasks = sample_closed(bank.labels, tasks=8)
    both = bench.predictions(NearestCentroid(), bank, tasks), bench.centroid_loop(bank, tasks)
    assert (both[0] == both[1]).mean() > 0.99


def test_the_report_s_benchmark_compares_like_with_like(monkeypatch, capsys):
    bench = loaded(monkeypatch)
    bench.report(methods=6, tasks=20)
    assert "15 pairs of 6 methods" in (out := capsys.readouterr().out) and "p-values agree" in out
