"""What two printed means with their ± show, in sentences; the numbers are of
`fslcore.stats.from_printed`.
"""

from __future__ import annotations

from ..stats import Interval
from ..stats.published import CORRELATION, Printed, PrintedDifference, PrintedReading
from .words import interval_text

WHERE = {
    "closed": "on these images",
    "open": "on images such as these",
    "unknown": "on tasks drawn in this way",
}


def answer(figures: Printed) -> str:
    """Which of two printed means is better, or why that is open, in one sentence."""
    difference, place = figures.likely.tasks, WHERE[figures.sampling]
    size = f"{abs(figures.difference):.2f} points"
    ends = ends_text(difference.widest, figures)
    if difference.verdict == "better":
        better = "first" if figures.difference > 0 else "second"
        return f"The {better} is better by {size} {place} ({ends})."
    if difference.verdict == "open":
        paired = ends_text(difference.narrowest, figures).partition("interval ")[2]
        return (
            f"It is open which is better {place}: {size} ({ends}), or {paired} if both ran on the "
            "same tasks and agree as much as methods may."
        )
    return f"The two are not significantly different {place}: {size} ({ends})."


def details(figures: Printed) -> list[str]:
    """What ± was taken for, what pairing would add, and what holds for new images and classes."""
    likely = figures.likely
    first, second = likely.deviations
    usual = "as is usual" if likely.usual else "the nearest to what is usual, yet unusual"
    sentences = [
        f"± is read as {meaning_text(likely, figures)}: accuracies then vary by {first:.1f} and "
        f"{second:.1f} points from task to task, {usual}.",
        pairing_sentence(figures),
        images_sentence(figures),
    ]
    if likely.classes is not None:
        count = likely.classes.widest.n_tasks
        ends = ends_text(likely.classes.widest, figures)
        sentences.append(
            f"For new classes: {ends} at most; these classes make {count} tasks that share none."
        )
    if figures.coarse:
        sentences.append(
            "With one decimal the difference may be off by 0.1 points, and each ± by 0.05, from "
            "rounding."
        )
    return sentences


def other_readings(figures: Printed) -> list[str]:
    """What would follow if ± meant something else."""
    sentences = []
    for reading in figures.readings:
        if reading is not figures.likely:
            ends = ends_text(reading.tasks.widest, figures)
            sentences.append(
                f"If ± were {meaning_text(reading, figures)}: {reading.tasks.verdict} ({ends})."
            )
    return sentences


def meaning_text(reading: PrintedReading, figures: Printed) -> str:
    """What ± is in a reading."""
    if reading.meaning == "interval":
        return f"half of a {100 * figures.level:g} % interval"
    return f"a {reading.meaning}"


def pairing_sentence(figures: Printed) -> str:
    """What the same tasks for both methods would add."""
    difference = figures.likely.tasks
    if figures.same_tasks == "no":
        return "The tasks differ, so the two figures are independent."
    if difference.verdict == "better":
        return "On the same tasks the interval would be narrower still."
    if difference.verdict == "open":
        low, high = CORRELATION
        return (
            f"On the same tasks a correlation of the methods above {difference.correlation:.2f} "
            f"decides it; {low:.2f} to {high:.2f} are usual. Accuracies per task would tell."
        )
    return "The same tasks would not decide it either, if methods agree as much as they may."


def images_sentence(figures: Printed) -> str:
    """What follows for new images."""
    new_images: PrintedDifference | None = figures.likely.images
    if figures.sampling == "open":
        return "No image is in two tasks, so this holds for new images of these classes."
    if new_images is None:
        condition = "" if figures.sampling == "closed" else ", if tasks share images"
        return (
            f"For new images nothing follows{condition}: ± does not count what they would change."
        )
    ends = ends_text(new_images.widest, figures)
    verdict = "it holds too" if new_images.verdict == "better" else "it is open"
    count = new_images.widest.n_tasks
    return f"For new images {verdict} ({ends}): these images make {count} tasks that share none."


def ends_text(interval: Interval, figures: Printed) -> str:
    """The interval of the better method minus the other, in words."""
    low, high = interval.low, interval.high
    if figures.difference < 0:
        low, high = -high, -low
    return f"{100 * figures.level:g} % interval {interval_text(low + 0.0, high + 0.0, 2)}"
