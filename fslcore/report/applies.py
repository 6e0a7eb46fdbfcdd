"""What verdicts apply to, in sentences, by the kind of sample."""

from __future__ import annotations

from .model import UNIT_KEYS, Measurements, Note, Shape
from .options import Options

CLOSED = "These verdicts hold for these images only: tasks reuse images."
OPEN = (
    "These verdicts hold for new images of these classes, not for new classes: no image is in two "
    "tasks."
)
UNKNOWN = Note(
    "Verdicts apply to new tasks of these test data if tasks share data, to new data if they do "
    "not: the option sampling (closed or open) says which.",
    option="sampling",
)
NEW_CLASSES = "The sample is the classes: verdicts apply to new classes like these."
NEW_ITEMS = (
    "Verdicts apply to new items like these, if items are independent; the support stays as it was."
)
NEW_ITEMS_OF_CLASSES = (
    "Verdicts apply to new items of these classes, if items of one class are independent; they say "
    "nothing about new classes."
)
APPLIES = {
    Shape.DATASETS: (
        "The sample is the data sets: verdicts apply to other data sets if these are a random "
        "sample of them, and say nothing about any single one."
    ),
    Shape.SEEDS: "Verdicts apply to new seeds, with these data.",
    Shape.FOLDS: (
        "Verdicts apply to new splits of these data. Folds share training data: intervals are "
        "corrected for it (Nadeau and Bengio, 2003)."
    ),
    Shape.DATASETS_AND_SEEDS: (
        "Over data sets, verdicts apply to other data sets if these are a random sample of them; "
        "within one, to new seeds."
    ),
    Shape.PRINTED: (
        "How methods agree on the same tasks is not printed: intervals are the worst that pairing "
        "could do, and a pair is open where the best could decide it."
    ),
}


def applies_to(measured: Measurements, options: Options) -> list[str]:
    """What the verdicts apply to, in sentences."""
    if measured.shape in APPLIES:
        return [APPLIES[measured.shape]]
    rows = measured.rows
    unit = next(key for key in UNIT_KEYS if key in rows)
    sampling = options.sampling
    if sampling == "unknown" and "sampling" in rows and rows["sampling"].nunique() == 1:
        sampling = str(rows["sampling"].iloc[0])
    if unit == "class":
        sentence = NEW_CLASSES
    elif unit == "item":
        sentence = NEW_ITEMS_OF_CLASSES if "class" in rows else NEW_ITEMS
    else:
        sentence = {"closed": CLOSED, "open": OPEN}.get(sampling, UNKNOWN)
    if measured.shape is Shape.RUNS:
        return ["Verdicts apply to new training runs of these methods.", sentence]
    return [sentence]
