"""What a report says: frames of methods and pairs, and verdicts, from one read of the files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, choice, quoted
from ..recorder import is_recording
from . import analysis, page, proposal, read, recordings, shapes, terminal, words
from .conclusions import Conclusions, methods_of, pairs_of
from .model import Measurements, Table
from .next_steps import Step, next_steps
from .options import Options
from .over_datasets import decisive_cautions
from .roles import Unassigned
from .samples import Analysis
from .tables import typed


class Results(Conclusions):
    """Methods compared on the same tasks, data sets, seeds or items: by `read` or `from_frame`.

    Attributes
    ----------
    shape : Shape
        What was measured, as the file was read.
    options : Options
        What the user said of the file.
    percent : bool
        Whether values are in percent and differences in points.
    lower_is_better : bool
        As an option, an arrow or the user's word said; differences are a - b all the same.
    methods : DataFrame
        place, target, method, mean, low, high, half_width, comparison_half_width (bars of this
        half-width overlap where the interval of a difference holds 0; NaN where none do), n,
        best_rank, worst_rank; the best first.
    pairs : DataFrame
        place, target, a, b (a has the better mean), difference (a - b), low, high, half_width, p,
        p_holm (Holm's correction over all pairs of a target), n, units_better and units_worse (of
        paired units, on how many a is better and worse), spread, test, verdict, detectable (the
        true difference that these data would detect with 80 % power), effect_size (the difference
        over the standard deviation of paired differences, Cohen's d_z; of other comparisons as
        ``effect`` names it); over data sets also decisive (those without each of which the pair is
        not significant alone).
    reading : tuple of str
        How the files were read.
    applies, assumptions, cautions : tuple of str
        What verdicts apply to, what they assume, and where to be careful.
    frames : dict of DataFrame
        Further tables by title, such as ranks over data sets.
    files : tuple of str
        The files as they were given, for commands that read them again.
    inputs : tuple of str
        The files that were read, which no output may replace.
    level : str
        The confidence level in words: '95 %'.
    """

    @classmethod
    def read(cls, path: str | Path | Sequence[str | Path], **options: object) -> Results:
        """Read results from files or folders: text, JSON, arrays, spreadsheets, Parquet.

        Parameters
        ----------
        path : path, or sequence of paths
        **options
            Fields of `fslcore.report.options.Options`.

        Raises
        ------
        InputError
            What has no true reading; all problems of all files in one line, each with what to type.
        """
        chosen = checked_options(options)
        paths = list(path) if isinstance(path, (list, tuple)) else [path]
        names = [name for name in paths if isinstance(name, (str, os.PathLike)) and name]
        if not paths or len(names) < len(paths):
            raise InputError(f"path must be the names of files, got {quoted(path)}")
        files = read.expanded([Path(name).expanduser() for name in names])
        given = [file.path for file in files]
        if any(map(is_recording, given)):
            measured, analysed = recordings.analyse_recordings(given, chosen)
            results = cls.from_analysis(measured, analysed, chosen)
        else:
            results = cls.from_tables(read.read_tables(files, chosen), chosen, [*map(str, paths)])
        return replace(results, files=tuple(map(str, paths)), inputs=tuple(map(str, given)))

    @classmethod
    def from_tables(
        cls, tables: Sequence[Table], options: Options, files: Sequence[str]
    ) -> Results:
        """The results in tables; of columns without a role the error says what they could be."""
        try:
            measured = shapes.measurements(tables, options)
        except Unassigned as error:
            asked = proposal.Question(tables, options, files)
            raise proposal.refusal(error, asked) from None
        lower = measured.lower_is_better  # also where a name in the file says so
        chosen = replace(options, lower_is_better=lower, higher_is_better=False)
        return cls.from_analysis(measured, analysis.analyse(measured, chosen), options)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str = "results", **options: object) -> Results:
        """The results in a DataFrame, whose columns are read as those of a file.

        Parameters
        ----------
        frame : DataFrame
        name : str
            What messages call it.
        **options
            As for `read`.
        """
        if not isinstance(frame, pd.DataFrame) or frame.columns.nlevels > 1:
            raise InputError(
                f"frame must be a DataFrame with one level of columns, got {quoted(frame)}"
            )
        chosen = checked_options(options)
        named = [level for level in frame.index.names if level is not None]
        frame = frame.reset_index(level=named) if named else frame
        frame, notes = typed(frame.reset_index(drop=True), name)
        return cls.from_tables([Table(frame, name, tuple(notes))], chosen, ["FILE"])

    @classmethod
    def from_analysis(cls, measured: Measurements, analysed: Analysis, options: Options) -> Results:
        """The results of measurements that were analysed."""
        pairs = pairs_of(analysed.samples, options)
        return cls(
            shape=measured.shape,
            options=options,
            percent=measured.percent,
            methods=methods_of(analysed.samples, pairs, options),
            pairs=pairs,
            reading=measured.notes,
            applies=tuple(analysed.applies),
            assumptions=tuple(analysed.assumptions),
            cautions=(*decisive_cautions(pairs), *analysed.cautions),
            lower_is_better=measured.lower_is_better,
            frames=analysed.frames,
        )

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """place, target, a, b, verdict and sentence of each pair with the best method, or the
        reference.
        """
        return words.verdicts(self)

    @property
    def next_steps(self) -> list[Step]:
        """Commands to type next, the most useful first, with what each adds."""
        return next_steps(self)

    def lines(self) -> list[str]:
        """The answer for a terminal: verdicts, a plot of the intervals, and what to do next."""
        return terminal.lines(self)

    def record(self) -> dict[str, object]:
        """The whole report as plain values, by the schema in ``schema.json``; unknown numbers are
        None.
        """
        frames = {"methods": self.methods, "pairs": self.pairs, "verdicts": self.verdicts}
        return {
            "version": 1,
            "read": self.reading[0],
            "shape": str(self.shape),
            "unit": "percent" if self.percent else "as written",
            "lower_is_better": self.lower_is_better,
            "level": self.options.level,
            "reference": self.options.reference,
            **{name: plain_rows(frame) for name, frame in frames.items()},
            "applies": [*self.applies],
            "assumptions": [*self.assumptions],
            "cautions": [*self.cautions],
            "reading": [*self.reading],
            "tables": {title: plain_rows(frame) for title, frame in self.frames.items()},
            "next": [asdict(step) for step in self.next_steps],
        }

    def to_html(self, path: str | Path, title: str = "report") -> None:
        """Write the report as one HTML file that needs no other."""
        page.write(self, Path(path), title)

    def write_tables(self, folder: str | Path) -> list[Path]:
        """Write the tables of methods and pairs as LaTeX and Markdown; returns the paths.

        Raises
        ------
        InputError
            One of the files was read for these results; none is written.
        """
        return page.write_tables(self, Path(folder))

    def write_figures(self, folder: str | Path) -> list[Path]:
        """Write the figure as report.pdf, .png and .svg; returns the paths.

        Raises
        ------
        InputError
            One of the files was read for these results; none is written.
        """
        return page.write_figures(self, Path(folder))

    def _repr_html_(self) -> str:
        return page.html(self)


def checked_options(options: dict[str, Any]) -> Options:
    """Options with known names and allowed values."""
    for name in options:
        choice("option", name, Options.__dataclass_fields__)
    return Options(**options)


def plain_rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Rows of a frame as dicts; NaN and infinity, which JSON lacks, are None."""
    finite = frame.replace([np.inf, -np.inf], np.nan)
    return finite.astype(object).where(finite.notna(), None).to_dict("records")
