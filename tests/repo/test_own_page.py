"""The page on a learner and a network of one's own: its code runs as printed, in a new process and an empty folder."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from running import captured
from sklearn.neighbors import KNeighborsClassifier

from fslcore import datasets
from fslcore.models import backbones
from fslcore.paths import ROOT
from fslcore.report import Results
from fslcore.tasks import sample_closed

pytestmark = pytest.mark.slow  # both commands run on a made page

PAGE = (ROOT / "book/own.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", PAGE)


@pytest.fixture(scope="module")
def done(tmp_path_factory, shared_cache):
    """The folder in which all of it ran, and the lines that it printed."""
    folder = tmp_path_factory.mktemp("empty")
    (folder / "page.py").write_text("\n".join(blocks("python")), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FSLCORE_CACHE", str(shared_cache))
        ran = captured([sys.executable, "page.py"], cwd=folder)
        assert ran.returncode == 0, ran.stderr
        (folder / "mylearner.py").write_text(blocks("python")[0], "utf-8")  # as the page says
        for command in "".join(blocks("bash")).replace("\\\n", "").splitlines():
            command = command.replace("fslcore", f"{sys.executable} -m fslcore")
            subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder, ran.stdout.splitlines()


def test_it_prints_three_intervals_of_each_learner_and_of_their_difference(done):
    _, printed = done
    table = pd.read_csv(done[0] / "results.csv")
    mean = table.groupby("learner")["accuracy"].mean()
    ours, centroid, difference, neighbours, own_backbone, dim = printed
    three = r"[-\d.]+ ± [\d.]+ \(these images\), ± [\d.]+ \(new images\), ± [\d.]+ \(new classes\)"
    assert (
        re.fullmatch(f"nearest image {three}", ours) and f" {mean['nearest image']:.2f} ±" in ours
    )
    assert re.fullmatch(f"ncc {three}", centroid) and f" {mean['ncc']:.2f} ±" in centroid
    assert re.fullmatch(f"nearest image - ncc {three}", difference)
    assert f" {mean['nearest image'] - mean['ncc']:.2f} ±" in difference
    assert "nearest image" in neighbours and "not depend" in neighbours
    assert re.fullmatch(three, own_backbone) and float(own_backbone.split()[0]) > 25  # chance is 20
    assert dim == "512"


def test_the_report_reads_its_results(done):
    folder, _ = done
    methods = Results.read(folder / "results.csv").methods
    expected = {f"efficientnet-lite0 {learner}": 600 for learner in ("ncc", "nearest image")}
    assert methods.set_index("method")["n"].to_dict() == expected
    assert "nearest image" in (folder / "report.html").read_text("utf-8")


def test_the_command_finds_the_module_in_the_folder(done):
    table = pd.read_csv(done[0] / "mine.csv").groupby("learner")["accuracy"].agg(["size", "mean"])
    first = (
        pd.read_csv(done[0] / "results.csv")
        .groupby("learner")["accuracy"]
        .apply(lambda values: values.head(100).mean())
    )
    assert table["size"].to_dict() == {"mylearner:NearestImage": 100, "ncc": 100}
    assert table["mean"].tolist() == pytest.approx([first["nearest image"], first["ncc"]])


def test_its_learner_is_the_nearest_neighbour_of_another_library(done, shared_cache, monkeypatch):
    monkeypatch.setenv("FSLCORE_CACHE", str(shared_cache))
    images = datasets.load("clipart")
    x = backbones.features(images, backbones.load("efficientnet-lite0")).data.numpy()
    tasks = sample_closed(images.labels, tasks=600, ways=5, shots=5, queries=15, seed=0)
    expected = []
    for t in range(20):
        neighbour = KNeighborsClassifier(1, metric="cosine").fit(
            x[tasks.support[t]], tasks.support_label[t]
        )
        expected.append(100 * np.mean(neighbour.predict(x[tasks.query[t]]) == tasks.query_label[t]))
    table = pd.read_csv(done[0] / "results.csv")
    accuracies = table[table["learner"] == "nearest image"]["accuracy"].head(20)
    assert accuracies.tolist() == pytest.approx(expected)
