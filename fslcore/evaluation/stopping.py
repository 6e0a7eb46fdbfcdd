"""Draw closed tasks until the interval for these images is narrow enough."""

from collections.abc import Mapping

from .. import stats
from ..errors import number
from ..tasks import Tasks
from .cache import ConfiguredMethod, concatenated
from .outcomes import Outcomes

__all__ = ["run_until_precise"]

TASKS_PER_CHECK = 100  # a multiple of the blocks of fine-tuning


def run_until_precise(
    runs: Mapping[str, ConfiguredMethod],
    tasks: Tasks,
    width: float,
    *,
    confidence_level: float = stats.DEFAULT_CONFIDENCE_LEVEL,
    progress: bool = False,
) -> tuple[dict[str, Outcomes], dict[str, stats.Interval]]:
    """Run methods on the first tasks, as many as make all their intervals narrow enough.

    Parameters
    ----------
    runs : mapping of ConfiguredMethod
        Methods by any name. All are run on the same tasks.
    tasks : Tasks
        Closed tasks, the most that may be run. `fslcore.tasks.sample_closed` draws the same first
        tasks for any number, so that another limit changes none of them.
    width : float
        In points: half of the interval's length (`fslcore.stats.confidence_sequence`). The interval is
        valid even if it is checked after every 100 tasks and the result decides when to stop.
    confidence_level : float
        Nominal coverage of each method's interval.
    progress : bool
        Show progress bars.

    Returns
    -------
    records : dict of Outcomes
        By the methods' names; of the first 100, 200 … tasks, or of all if there are too few.
    intervals : dict of stats.Interval
        In percent.

    Raises
    ------
    InputError
        A width that is not above 0.
    """
    number("width", width, over=0)
    parts: dict[str, list[Outcomes]] = {name: [] for name in runs}
    for start in range(0, len(tasks), TASKS_PER_CHECK):
        next_tasks = tasks[start : start + TASKS_PER_CHECK]
        for name, run in runs.items():
            parts[name].append(run.outcomes(next_tasks, progress=progress))
        records = {name: concatenated(parts[name]) for name in runs}
        intervals = {name: _interval(record, confidence_level) for name, record in records.items()}
        if all(interval.half_width <= width for interval in intervals.values()):
            break
    return records, intervals


def _interval(record: Outcomes, confidence_level: float) -> stats.Interval:
    return stats.confidence_sequence(
        100 * record.accuracy(), bounds=(0, 100), confidence_level=confidence_level
    )
