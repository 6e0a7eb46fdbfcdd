"""Groups of images that are kept apart: from facts, and from tables."""

import numpy as np
import pytest
import torch
from refusal import refuses

from fslcore import datasets, evaluation


def test_facts_and_tables_give_groups(tmp_path):
    source = datasets.load("glyphs/hebrew")
    assert (evaluation.image_groups(source, "family") == source.facts["family"]).all()
    bank = datasets.bank.Bank(torch.zeros(3, 2), np.zeros(3, int), "")
    (tmp_path / "g.csv").write_text("image,group\n2,x\n0,y\n1,x\n9,z\n")
    assert evaluation.image_groups(bank, str(tmp_path / "g.csv")).tolist() == ["y", "x", "x"]


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "image,group\n0,a\n1,NA\n2,#N/A\n",
            "apart: {f} has no group for 1 (2 of 3 are missing, left empty, or NA",
        ),
        ("image,group\n0,a\n1,b\n2,b\n2,c\n", "apart: {f} has 2 twice"),
        ("image,kind\n0,a\n", "apart: {f} lacks the column group"),
        (None, "apart: no file {f}"),
    ],
)
def test_tables_that_do_not_fit_are_named(tmp_path, text, message):
    file = tmp_path / "g.csv"
    if text:
        file.write_text(text)
    with refuses(message.format(f=file)):
        evaluation.image_groups(
            datasets.bank.Bank(torch.zeros(3, 2), np.zeros(3, int), ""), str(file)
        )
