"""What a job of the Snakefiles asks of a cluster: minutes, memory and GPUs. On one machine nobody asks."""

from __future__ import annotations

from collections.abc import Callable

from snakemake.exceptions import WorkflowError


def asked(config: dict, name: str, default: int, minimum: int) -> int:
    """A whole number that ``--config`` or a profile of Snakemake's gives.

    Raises
    ------
    WorkflowError
        Another value; says what is allowed.
    """
    value = config.get(name, default)
    if type(value) is not int or value < minimum:
        raise WorkflowError(f"{name} must be an integer >= {minimum}, got {value}")
    return value


class Needs:
    """Resources by what a job usually takes: at each retry once more of it.

    Parameters
    ----------
    config : dict
        ``slower`` multiplies all minutes, for larger profiles or slower cores; ``gpu`` is the number of GPUs of a job
        that they make quicker.
    """

    def __init__(self, config: dict) -> None:
        self.slower = asked(config, "slower", 1, minimum=1)
        self.gpu = asked(config, "gpu", 0, minimum=0)

    def minutes(self, usual: int) -> Callable:
        return lambda wildcards, attempt: attempt * self.slower * usual

    def memory(self, usual: int) -> Callable:
        """In MB."""
        return lambda wildcards, attempt: attempt * usual
