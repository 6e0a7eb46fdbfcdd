"""What an interval applies to: which parts of a study are new in a repetition of it."""

from enum import StrEnum

__all__ = ["IMAGE_TARGETS", "ITEM_TARGETS", "Target"]


class Target(StrEnum):
    """What an `Interval` applies to; the value names it in prints, tables and files."""

    THESE_IMAGES = "these images"  # other tasks of them: closed tasks
    NEW_IMAGES = "new images"  # of these classes: tasks that share no image
    NEW_CLASSES = "new classes"  # or new groups of classes
    NEW_TASKS = "new tasks"  # drawn as these were, whether they share images or not
    NEW_DATASETS = "new data sets"
    NEW_ITEMS = "new items"  # or new groups of items, under these supports
    NEW_SUPPORTS = "new supports"  # on these items
    NEW_ITEMS_AND_SUPPORTS = "new items and supports"
    NEW_RUNS = "new runs"  # on tasks like these
    NEW_RUNS_AND_IMAGES = "new runs and images"
    NEW_RUNS_AND_CLASSES = "new runs and classes"


# Of three intervals, from the least that changes to the most.
IMAGE_TARGETS = (Target.THESE_IMAGES, Target.NEW_IMAGES, Target.NEW_CLASSES)
# Of items under supports, the most cautious first: it is the one that a claim about methods needs.
ITEM_TARGETS = (Target.NEW_ITEMS_AND_SUPPORTS, Target.NEW_ITEMS, Target.NEW_SUPPORTS)
