"""What the chapters say must hold on the book's own data, whatever the digits."""

import re

import pytest

from fslcore import evaluation
from fslcore.paths import DATA


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, learner", [("baseline", "lr"), ("protonet", "protonet"), ("r2d2", "r2d2")]
)
def test_trained_learners_are_as_good_as_their_card_says(name, learner):
    card = (DATA / "checkpoints" / "README.md").read_text()
    header, row = (
        re.search(rf"\| {start}.*", card)[0].split("|")
        for start in ("checkpoint", f"`conv4-{name}.s")
    )
    (stated,) = (cell for title, cell in zip(header, row) if title.strip() == "clip art")
    result = evaluation.evaluate_setting("clipart", f"conv4-{name}", learner, tasks=600)
    assert result.accuracy.mean() == pytest.approx(float(stated.split("±")[0]), abs=0.1)
