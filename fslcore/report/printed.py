"""What two printed means with their ± show, in sentences; the numbers are of
`fslcore.stats.compare_printed`.
"""

from __future__ import annotations

from ..stats import Interval
from ..stats.published import CORRELATION, Printed, PrintedDifference, PrintedReading
from .numbers import interval_text, level_text

WHERE = {
    "closed": "on these images",
    "open": "on images such as these",
    "unknown": "on tasks drawn in this way",
}
# Where `CORRELATION` comes from.
MEASURED = "the 5, 50 and 95 % quantiles of 72 measured pairs of methods"


def answer(figures: Printed) -> str:
    """Which of two printed means is better, or why that is open, in one sentence."""
    difference, place = figures.likely.tasks, WHERE[figures.sampling]
    size = f"{abs(figures.difference):.2f} points"
    better = "first" if figures.difference > 0 else "second"
    ends = ends_text(difference.widest, figures)
    if difference.verdict == "better":
        return f"The {better} is better by {size} {place} ({ends})."
    if difference.verdict != "open":
        return f"The two are not significantly different {place}: {size} ({ends})."
    lowest, _, highest = paired_texts(difference, figures)
    paired = f"{lowest}, {highest}"
    unrelated = range_text(difference.widest, figures)
    if not difference.is_usually_decided:
        return (
            f"It is open which is better {place}: {size} ({ends} on unrelated tasks; on the same "
            f"tasks {paired})."
        )
    interval = f"{level_text(figures.confidence_level)} interval"
    if figures.same_tasks == "yes":
        return (
            f"The {better} is better by {size} {place} at every usual correlation of the methods "
            f"({interval} {paired}; {unrelated} without correlation)."
        )
    return (
        f"The {better} is better by {size} {place} if both ran on the same tasks, at every usual "
        f"correlation of the methods ({interval} {paired}); on unrelated tasks it is open "
        f"({unrelated})."
    )


def details(figures: Printed) -> list[str]:
    """What ± was taken for, what pairing would add, and what holds for new images and classes."""
    sentences = [
        reading_sentence(figures),
        pairing_sentence(figures),
        *sampling_sentences(figures),
        images_sentence(figures),
        *classes_sentences(figures),
    ]
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
        return f"half of a {level_text(figures.confidence_level)} interval"
    return f"a {reading.meaning}"


def reading_sentence(figures: Printed) -> str:
    """What ± was taken for, and by which shape of the tasks."""
    likely = figures.likely
    first, second = likely.deviations
    ways, shots, queries = figures.shape
    usual = "as is usual" if likely.usual else "the nearest to what is usual, yet unusual"
    return (
        f"± is read as {meaning_text(likely, figures)}: accuracies then vary by {first:.1f} and "
        f"{second:.1f} points from task to task, {usual} for {ways}-way {shots}-shot tasks with "
        f"{queries} queries per class."
    )


def pairing_sentence(figures: Printed) -> str:
    """What the same tasks for both methods would add."""
    difference = figures.likely.tasks
    if figures.same_tasks == "no":
        return "The tasks differ, so the two figures are taken as independent."
    if not difference.paired:
        return "The numbers of tasks differ, so the two figures are taken as independent."
    lowest, middle, highest = paired_texts(difference, figures)
    same = f"On the same tasks the interval is {lowest}, {middle} and {highest} ({MEASURED})"
    if difference.verdict == "better":
        return f"{same}; at a negative correlation it is wider than above."
    if difference.verdict != "open":
        return f"{same}: no usual correlation decides it."
    extent = ", so every usual one does" if difference.is_usually_decided else ""
    return (
        f"{same}: a correlation above {difference.correlation:.2f} decides it{extent}. Accuracies "
        "per task would tell."
    )


def sampling_sentences(figures: Printed) -> list[str]:
    """How many tasks the images make, and whether that shows that tasks share images."""
    count, n_tasks = figures.disjoint_tasks, max(figures.n_tasks)
    if count is None:
        return []
    tasks = "task of this shape" if count == 1 else "tasks of this shape that share no image"
    reused = f", so the {n_tasks:,} use images again (closed)" if n_tasks > count else ""
    return [f"{figures.images:,} images make at most {count:,} {tasks}{reused}."]


def images_sentence(figures: Printed) -> str:
    """What follows for new images."""
    new_images: PrintedDifference | None = figures.likely.images
    if figures.sampling == "open":
        return "No image is in two tasks, so this holds for new images of these classes."
    if new_images is not None:
        return (
            f"For new images {new_verdict(new_images)} ({bound_text(new_images, figures)}): the "
            f"images count as {figures.disjoint_tasks:,} tasks."
        )
    if figures.images is not None:
        return "For new images nothing follows: two tasks that share no image are needed."
    condition = "" if figures.sampling == "closed" else ", if tasks share images"
    return (
        f"For new images nothing follows{condition}: ± does not count what they would change. "
        "The number of images in the test set would bound it."
    )


def classes_sentences(figures: Printed) -> list[str]:
    """What follows for new classes, where the number of classes is known."""
    new_classes = figures.likely.classes
    if new_classes is None:
        return []
    count = new_classes.widest.n
    return [
        f"For new classes {new_verdict(new_classes)} ({bound_text(new_classes, figures)}): "
        f"{figures.classes:,} classes make {count:,} tasks that share no class."
    ]


def new_verdict(difference: PrintedDifference) -> str:
    """Whether the verdict holds beyond these images; their intervals are upper bounds."""
    if difference.verdict == "better":
        return "it holds too"
    if difference.is_usually_decided:
        return "it holds on the same tasks at every usual correlation"
    return "it is open"


def bound_text(difference: PrintedDifference, figures: Printed) -> str:
    """The largest intervals on unrelated and on the same tasks."""
    ends = f"at most {ends_text(difference.widest, figures)}"
    if not difference.paired:
        return ends
    lowest, _, highest = paired_texts(difference, figures)
    return f"{ends} on unrelated tasks; on the same ones {lowest}, {highest}"


def paired_texts(difference: PrintedDifference, figures: Printed) -> list[str]:
    """The intervals on the same tasks, from the lowest to the highest usual correlation."""
    texts = [
        f"{range_text(interval, figures)} at {correlation:.2f}"
        for interval, correlation in zip(difference.paired, CORRELATION, strict=True)
    ]
    texts[0] = texts[0].replace(" at ", " at a correlation of ")
    return texts


def ends_text(interval: Interval, figures: Printed) -> str:
    """The interval of the better method minus the other, in words."""
    return f"{level_text(figures.confidence_level)} interval {range_text(interval, figures)}"


def range_text(interval: Interval, figures: Printed) -> str:
    """The ends of the better method minus the other."""
    low, high = interval.low, interval.high
    if figures.difference < 0:
        low, high = -high, -low
    return interval_text(low + 0.0, high + 0.0, 2)
