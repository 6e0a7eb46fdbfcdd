"""Scores of single items under supports (labelled examples, prompts): what they say of new items and of new supports.

A table has a row per model, support and item. Where every support scores every item the two are crossed, and three
intervals answer (`fslcore.stats.crossed_intervals`); the other shapes answer for less, and are named.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from ... import stats
from ...errors import InputError, choice, number, shown, visible
from .. import notebooks
from . import files, logs, show
from .files import File
from .questions import refuse
from .targets import around
from .wording import p_value_text, unnested

TARGETS = {"items": "new items", "supports": "new supports", "both": "new items and supports"}
OF_KIND = {"crossed": (*TARGETS,), "one support": ("items",), "nested": ("items",), "supports": ("supports",)}
READING = {
    "crossed": "Every support scores every item (crossed), so there are three intervals: for **new items** with these "
    "supports, for **new supports** on these items, and for **new items and supports**, which a claim about a model in "
    "general needs. The spread over the supports alone says nothing about new items.",
    "one support": "There is one score per item and no second support, so the intervals apply to **new items** only, "
    "with this support if it was the same for all items. What another support would give is not known.",
    "nested": "Each item has supports of its own (nested), so the intervals apply to **new items** only, each with new "
    "supports of its own from the same examples. What supports contribute cannot be separated from what items do.",
    "supports": "There is one mean per support and no score of an item, so the intervals apply to **new supports** on "
    "these very items. They say nothing about new items, and more supports would not change that.",
}
TITLES = (
    "Confidence intervals",
    "Differences on the same items, with p-values after Holm's correction",
    "± for new items and supports, now and with more of either, estimated",
)
FACTS = ("item", "support", "model", "group", "dataset", "seed")
COLUMNS = {*FACTS, "score", "prompt", "predicted", "label", "accuracy"}  # the last four of `logs`
MOST = 40  # models that are compared two by two
MORE = (2, 10)  # times as many supports, or items, as there are


@dataclass(frozen=True, eq=False)
class ItemScores:
    """Scores of models on items under supports, and what they let one conclude: made by `read`.

    Attributes
    ----------
    table : DataFrame
        setting (the data set; each is reported separately), model, support, item, score and group.
    kinds : dict of str
        By setting: 'crossed', every support scores every item; 'one support', a score per item; 'nested', each item has
        supports of its own; 'supports', a mean per support.
    percent : bool
        Whether the scores lie between 0 and 1, and are in percent.
    notes : tuple of str
        Every choice that was taken in reading, a sentence each.
    level : float
        Nominal coverage of all intervals; tests are made at 1 - ``level``.
    reference : str or None
        The model that each other is compared with; None for every two models.
    pool, shots : int or None
        As for `fslcore.stats.crossed_intervals`.
    """

    table: pd.DataFrame
    kinds: dict[str, str]
    percent: bool
    notes: Sequence[str] = ()
    level: float = stats.LEVEL
    reference: str | None = None
    pool: int | None = None
    shots: int | None = None
    three = None  # of recordings
    reason = ""

    @staticmethod
    def holds(path: str | Path | Sequence[str | Path]) -> bool:
        """Whether a file, by its beginning, has columns ``score`` and ``item`` or ``support``, or is a tool's log."""
        return any(map(_of_items, [path] if isinstance(path, (str, os.PathLike)) else path))

    @classmethod
    def read(
        cls,
        path: str | Path | Sequence[str | Path],
        *,
        level: float = stats.LEVEL,
        reference: str | None = None,
        pool: int | None = None,
        shots: int | None = None,
        separator: str = "unknown",
        decimal: str = ".",
        **other: object,
    ) -> ItemScores:
        """Read a table, or the logs of an evaluation tool, from one file or several together.

        A table (`fslcore.tools.report.files.frame`) has the columns ``score``, ``item``, ``support`` (or ``seed`` in
        its place), ``model``, ``group`` and ``dataset``, of which ``score`` and one of ``item`` and ``support`` are
        required. Logs are files MODEL/samples_TASK_TIME.jsonl of lm-evaluation-harness (``--log_samples``), one per
        seed; or results of MTEB, to which its predictions and a file with a column ``label``, the right answers in the
        order of the test set, can be added.

        Parameters
        ----------
        path : path, or sequence of them
            The files.
        level, reference, pool, shots
            As the attributes.
        separator, decimal : str
            As for `fslcore.tools.report.files.frame`.
        **other
            Options of `fslcore.tools.report.Results.read`, which say nothing here: only with their defaults.

        Raises
        ------
        InputError
            Files that cannot be read; a column missing, a cell empty, a score that is no number; a score given twice;
            supports that score some of the items; models with other items or supports; groups that differ within an
            item; an option for accuracies of tasks. The message names all that is wrong.
        """
        if given := [name for name, value in other.items() if value not in (None, False, "unknown", [])]:
            raise InputError(f"--{given[0]}: these are scores of items; it applies to accuracies of tasks only")
        level = number("level", level, above=0, below=1)
        given, notes, problems = files.frames(path, False, separator, decimal)
        given = [of._replace(frame=of.frame.rename(columns=lambda c: str(c).strip().lower())) for of in given]
        labels = [of for of in given if {*of.frame} == {"label"}]
        rows = [_rows(of, notes, problems) for of in given if {*of.frame} != {"label"}]
        refuse(problems)
        table = pd.concat(rows, ignore_index=True)
        table["setting"] = table["dataset"].fillna(given[0].name if len(rows) == 1 else f"{len(rows)} files")
        table = _supported(_answered(table, labels, notes))
        kinds = {setting: _kind(part, setting, problems) for setting, part in table.groupby("setting", sort=False)}
        refuse(problems)
        if reference is not None:
            choice("reference", reference, table["model"].unique())
        elif (many := table["model"].nunique()) > MOST:
            raise InputError(f"results: {many} models; up to {MOST} are compared two by two, or one (--reference)")
        percent = bool(table["score"].between(0, 1).all())
        notes.append("Scores lie between 0 and 1: they are shown in percent." if percent else "Scores are as written.")
        table["score"] *= 100 if percent else 1
        return cls(table, kinds, percent, tuple(notes), level, reference, pool, shots)

    @cached_property
    def grids(self) -> dict[str, dict[str, pd.DataFrame]]:
        """By setting and model, the best mean first, scores: a row per support and a column per item.

        Of a nested setting one row, the means over the supports of an item; of supports alone one column.
        """
        out = {}
        for setting, part in self.table.groupby("setting", sort=False):
            kind = self.kinds[setting]
            part = part.assign(
                **{"support": ""} if OF_KIND[kind] == ("items",) else {"item": 0} if kind == "supports" else {}
            )
            wide = part.pivot_table("score", ["model", "support"], "item")
            grids = {model: wide.loc[model] for model in part["model"].unique()}
            out[setting] = dict(sorted(grids.items(), key=lambda of: (-of[1].to_numpy().mean(), of[0])))
        return out

    @cached_property
    def found(self) -> dict[tuple[str, ...], stats.crossed.CrossedIntervals | stats.Interval]:
        """By (setting, model) and (setting, a, b), a with the higher mean: what the statistics say of it.

        Of supports alone an `Interval`, else `fslcore.stats.crossed_intervals`.
        """
        out = {}
        for setting, grids in self.grids.items():
            values = {(model,): grid.to_numpy() for model, grid in grids.items()}
            for a, b in combinations(grids, 2):
                if self.reference in (None, a, b):
                    values[a, b] = stats.paired_differences(values[a,], values[b,], axis=1)
            group = self.table[self.table["setting"] == setting].groupby("item")["group"].first()
            groups = None if group.isna().any() or group.empty else group[next(iter(grids.values())).columns].to_numpy()
            for names, of in values.items():
                how = {"level": self.level, "bounds": ((0, 100), (-100, 100))[len(names) - 1] if self.percent else None}
                if self.kinds[setting] == "supports":
                    out[setting, *names] = stats.open_interval(of[:, 0], **how)
                else:
                    more = {"groups": groups, "pool": self.pool, "shots": self.shots}
                    out[setting, *names] = stats.crossed_intervals(of, **more, **how)
        return out

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """A row per setting, model and target, or a and b, a with the higher mean: the interval's numbers.

        mean, half_width, low, high, p, p_holm (Holm's correction over the pairs of all settings, target by target), df;
        NaN where they say nothing, as p of a model.
        """
        rows = []
        for (setting, *names), of in self.found.items():
            for target in OF_KIND[self.kinds[setting]]:
                r = getattr(of, target, of)
                ends = r.mean, r.half_width, r.low, r.high
                rows.append((setting, *(names if len(names) > 1 else (names[0], None)), target, *ends, r.p_value, r.df))
        out = pd.DataFrame(rows, columns="setting a b target mean half_width low high p df".split())
        out.loc[out["b"].isna(), "p"] = np.nan
        of_pairs = out.dropna(subset="p").groupby("target")["p"]
        out["p_holm"] = of_pairs.transform(lambda p: stats.holm(p.to_numpy()))
        return out

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables for a reader: models, pairs, and more, what further supports and items would give."""
        models, pairs, more = {}, {}, {}
        shown = [t for t in TARGETS if any(t in OF_KIND[kind] for kind in self.kinds.values())]
        p = self.intervals.set_index(["setting", "a", "b", "target"])["p_holm"]
        for (setting, *names), of in self.found.items():
            kind = OF_KIND[self.kinds[setting]]
            each = {TARGETS[t]: around(getattr(of, t, of)) if t in kind else "—" for t in shown}
            mean = f"{getattr(of, kind[-1], of).mean:.2f}"
            if len(names) == 1:
                models[setting, names[0]] = {"mean": mean, **each}
            else:
                corrected = {TARGETS[t]: f" (p {p_value_text(p[setting, *names, t])})" for t in kind}
                cells = {t: cell + corrected.get(t, "") for t, cell in each.items()}
                pairs[setting, " − ".join(names)] = {"difference": mean, **cells}
            if kind == (*TARGETS,):
                r, n, now = of.n_supports, of.n_items, of.both.half_width
                cells = {"now": now}
                for times in MORE:
                    cells[f"{times} × supports"] = min(now, of.planned(times * r, n).half_width)
                    cells[f"{times} × items"] = min(now, of.planned(r, times * n).half_width)
                mostly = "items" if of.items.standard_error >= of.supports.standard_error else "supports"
                cells = {name: f"± {half:.2f}" for name, half in cells.items()} | {"mostly from": mostly}
                more[setting, " − ".join(names)] = cells
        names = {"models": (models, "model"), "pairs": (pairs, "difference of"), "more": (more, "model or difference")}
        return {
            table: unnested(
                pd.DataFrame(rows.values(), pd.MultiIndex.from_tuples(rows, names=["setting", called])),
                len(self.kinds) > 1,
            )
            if rows
            else pd.DataFrame()
            for table, (rows, called) in names.items()
        }

    @cached_property
    def reading(self) -> list[str]:
        """What the intervals of each setting apply to."""
        out = []
        for setting, kind in self.kinds.items():
            part = self.table[self.table["setting"] == setting]
            counts = [f"{n:,} {c}{'s' * (n > 1)}" for c in ("model", "support", "item") if (n := part[c].nunique())]
            groups = part["group"].nunique()
            dependent = f" The items are in {groups:,} groups: new items come in new groups." if groups else ""
            out.append(f"{setting}: {', '.join(counts)}. {READING[kind]}{dependent}")
        if self.pool:
            said = f"Supports of {self.shots} out of {self.pool} labelled examples per class: new supports come from "
            out.append(said + "another such pool.")
        return out

    def summary(self) -> list[str]:
        """A few lines for a terminal: the intervals of models and differences, and what they apply to."""
        shown = [
            line
            for title, frame in zip(TITLES, self.tables.values())
            if len(frame)
            for line in (f"{title} ({self.level:.4g}):", frame.to_string(), "")
        ]
        return [*shown, *(text.replace("**", "") for text in self.reading)]

    def record(self) -> dict:
        """The whole report as plain values: notes, reading, kinds, and every interval; numbers are not rounded."""
        rows = self.intervals.astype(object)
        return {
            "level": self.level,
            "reference": self.reference,
            "notes": [*self.notes],
            "reading": [*self.reading],
            "settings": [{"setting": setting, "kind": kind} for setting, kind in self.kinds.items()],
            "intervals": rows.where(rows.notna(), None).to_dict("records"),
            "more": self.tables["more"].reset_index().to_dict("records"),
        }

    def paragraphs(self) -> dict[str, str]:
        """How scores were measured and what came out, as a paper says it: a paragraph per setting."""
        out = {}
        for setting, text in zip(self.kinds, self.reading):
            of = {names[0]: r for (s, *names), r in self.found.items() if s == setting and len(names) == 1}
            target = OF_KIND[self.kinds[setting]][-1]
            cells = [f"{m} {getattr(r, target, r):.2f}" for m, r in of.items()]
            about = (
                f"Means with {100 * self.level:.4g} % confidence intervals for {TARGETS[target]}: {'; '.join(cells)}."
            )
            out[setting] = f"{text.partition(': ')[2].replace('**', '')} {about}"
        return out

    def to_html(self, path: str | Path, title: str = "report", progress: bool = False) -> None:
        """Write the report as one HTML file (`fslcore.tools.notebooks.page`)."""
        import nbformat

        parts = [f"<h1>{html.escape(title)}</h1>", *map(_paragraph, self.reading)]
        for called, frame in zip(TITLES, self.tables.values()):
            if len(frame):
                parts += [f"<h2>{called} ({self.level:.4g})</h2>", frame.reset_index().to_html(index=False)]
        parts += ["<h2>How the files were read</h2>", *map(_paragraph, self.notes)]
        cells = [nbformat.v4.new_markdown_cell(part) for part in parts]  # blocks of HTML are Markdown, too
        notebooks.page(nbformat.v4.new_notebook(cells=cells), path, title)

    write_tables = show.write_tables


def _paragraph(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", f"<p>{html.escape(text)}</p>")


def _of_items(path: str | Path) -> bool:
    path = Path(path)
    try:
        if path.suffix.lower() in (".json", ".jsonl"):
            return logs.reader(path) is not None
        if path.suffix.lower() == ".parquet":
            from pyarrow.parquet import read_schema

            names = read_schema(path).names
        else:
            with path.open(encoding="utf-8-sig") as file:
                names = re.split(r"[,;\t| ]+", file.readline().strip().replace('"', ""))
    except (OSError, ValueError):
        return False
    names = {name.strip().lower() for name in names}
    return "score" in names and not names.isdisjoint({"item", "support"})


def _rows(of: File, notes: list[str], problems: list[str]) -> pd.DataFrame:
    """One file's rows with all columns of `COLUMNS` and its own row numbers; what is wrong is added to ``problems``."""
    frame, name = of.frame.reset_index(drop=True), of.name
    said = len(problems)
    if twice := [*frame.columns[frame.columns.duplicated()]]:
        problems.append(f"{name} has two columns {twice[0]}")
    if frame.empty:
        problems.append(f"{name} has no rows")
    if not {"score", "predicted"} & {*frame} or not {"item", "support", "seed"} & {*frame}:
        problems.append(f"{name} has the columns {', '.join(frame)}; score, and item or support are needed")
    if len(problems) > said:
        return pd.DataFrame()
    if "support" not in frame and "seed" in frame:
        frame = frame.rename(columns={"seed": "support"})
    if other := [c for c in frame if c not in COLUMNS or c == "seed"]:
        notes.append(f"Not read of {name}: {', '.join(map(visible, other))}.")
    for column in [c for c in FACTS if c in frame]:
        cells = ["" if pd.isna(cell) else visible(str(cell).strip()) for cell in frame[column]]
        if "" in cells:
            problems.append(f"column {column} of {name} is empty in row {cells.index('') + 1}")
        frame[column] = cells
    if "score" in frame:
        score = pd.to_numeric(frame["score"], errors="coerce").astype(float)
        if count := int((bad := ~np.isfinite(score)).sum()):
            more = f" (and {count - 1:,} more like it)" if count > 1 else ""
            cell = "empty" if pd.isna(first := frame["score"][bad].iloc[0]) else str(first)
            problems.append(f"score in row {bad.argmax() + 1} of {name} is {shown(cell)}; a number is needed{more}")
        frame["score"] = score
    frame = frame.assign(model=frame.get("model", visible(of.holds)), file=name, row=frame.index + 1)
    frame = frame.reindex(columns=[*sorted(COLUMNS - {"seed"}), "row", "file"])
    return frame.astype({column: object for column in frame if column not in ("score", "accuracy", "row")})


def _answered(table: pd.DataFrame, labels: list[File], notes: list[str]) -> pd.DataFrame:
    """The table with the scores of predictions, where the right answers are given and fit; else unchanged."""
    predicted = table["predicted"].notna()
    if not predicted.any():
        refuse([f"{of.name} has labels alone, and no file has predictions" for of in labels])
        return table
    if len(labels) != 1:
        raise InputError(
            f"results: {table['file'][predicted].iloc[0]} has predictions without the right answers; give one more "
            "file, a .csv with the column label alone, for the items of the test set in their order "
            f"({len(labels)} are given)"
        )
    right, problems, keys = labels[0].frame["label"].astype(str).to_numpy(), [], ["setting", "model", "support"]
    means = table[~predicted].set_index(keys)["accuracy"].dropna()
    for key, part in table[predicted].groupby(keys, sort=False):
        what = "{}: the predictions of {}, {},".format(*key)
        if key not in means:
            problems.append(f"{what} are without the result that checks them; give the result's .json too")
        elif len(part) != len(right):
            problems.append(f"{what} are {len(part)}, and {labels[0].name} has {len(right)} labels")
        else:
            table.loc[part.index, "score"] = score = (part["predicted"].to_numpy() == right).astype(float)
            if abs(score.mean() - means[key]) > logs.NEAR:
                problems.append(
                    f"{what} have the accuracy {score.mean():.6f} by {labels[0].name} and {means[key]:.6f} in the "
                    "result; the labels of the same test set in its order are needed"
                )
    refuse(problems[:1])
    notes.append("The scores are of predictions and labels, and agree with the accuracies of the experiments.")
    settled = table["setting"].isin(table["setting"][predicted])
    return table[predicted | ~settled]


def _supported(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``support`` from the prompts, where there are some.

    The end of an item's prompts that all share is the item itself, and the beginning of a file's prompts that all share
    its support: where the two make up every prompt of a file, one support served all items. Else each prompt is one of
    its own.
    """
    prompts = table[table["prompt"].notna()]
    for (_, _), part in prompts.groupby(["setting", "model"], sort=False):
        own = {item: len(_start(prompt[::-1] for prompt in of)) for item, of in part.groupby("item")["prompt"]}
        for _, of in part.groupby("file"):
            start = _start(of["prompt"])
            same = all(len(start) + own[item] >= len(prompt) for item, prompt in zip(of["item"], of["prompt"]))
            names = [n.encode(errors="surrogatepass") for n in ([start] * len(of) if same else of["prompt"])]
            table.loc[of.index, "support"] = [hashlib.sha256(n).hexdigest()[:8] for n in names]
    return table


def _start(texts: Iterable[str]) -> str:
    """The beginning that all share."""
    first, last = min(texts := [*texts]), max(texts)
    return first[: next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))]


def _kind(part: pd.DataFrame, setting: str, problems: list[str]) -> str:
    """The shape of a setting; what is wrong with it is added to ``problems``."""
    there = {c: part[c].notna() for c in ("item", "support", "group")}
    for column, known in there.items():
        if known.any() and not known.all():
            first = part[~known].iloc[0]
            problems.append(f"{setting}: {first['file']} has no column {column}, and other files have; give it to all")
            return ""
    keys = ["model", *(c for c in ("support", "item") if there[c].all())]
    if (twice := part.duplicated(keys, keep=False)).any():
        first = part[twice].iloc[0]
        same = part[(part[keys] == first[keys]).all(axis=1)].head(2)
        what = ", ".join(f"{key} {first[key]}" for key in keys)
        rows = " and ".join(f"{row} of {file}" for row, file in zip(same["row"], same["file"]))
        hint = "; name supports in a column support" * ("support" not in keys)
        problems.append(f"{setting}: {what} has two scores (rows {rows}); one is allowed{hint}")
        return ""
    said = len(problems)
    if there["group"].all() and (split := part.groupby("item")["group"].nunique() > 1).any():
        problems.append(f"{setting}: item {split.idxmax()} is in two groups; an item has one")
    kind = _shape(part, keys, setting, problems)
    for column in ("item",) * ("item" in keys) + ("support",) * (kind in ("crossed", "supports")):
        problems += _unlike(part, column, setting)
    least = {"supports": "support"}.get(kind, "item")
    if len(problems) == said and (count := part[least].nunique()) < 2:
        problems.append(f"{setting}: {count} {least}; 2 or more are needed")
    return kind


def _shape(part: pd.DataFrame, keys: list[str], setting: str, problems: list[str]) -> str:
    if "item" not in keys:
        return "supports"
    if "support" not in keys:
        return "one support"
    kinds = {}
    for model, of in part.groupby("model", sort=False):
        items, supports = of.groupby("support")["item"].size(), of.groupby("item")["support"].size()
        if (items == len(supports)).all():
            kinds[model] = "crossed" if len(items) > 1 else "one support"
        elif (items == 1).all() and supports.nunique() == 1:
            kinds[model] = "nested"
        else:
            at = items.idxmin()
            lacking = min({*supports.index} - {*of.loc[of["support"] == at, "item"]}, default="")
            problems.append(
                f"{setting}: support {at} of model {model} scores {items[at]:,} of {len(supports):,} items (not "
                f"{lacking}); every support has to score every item (crossed), or each item has equally many supports "
                "of its own (nested)"
            )
    if len({*kinds.values()}) > 1:
        said = ", ".join(f"model {model} is {kind}" for model, kind in kinds.items())
        problems.append(f"{setting}: {said}; one shape for all models is needed")
    return next(iter(kinds.values()), "")


def _unlike(part: pd.DataFrame, column: str, setting: str) -> list[str]:
    """A line for the first model with other items, or supports, than the rest."""
    every = {*part[column]}
    for model, of in part.groupby("model", sort=False):
        if lacking := sorted(every - {*of[column]}):
            return [
                f"{setting}: model {model} lacks {len(lacking)} of {len(every)} {column}s (the first: {lacking[0]}); "
                f"every model has to have the same {column}s"
            ]
    return []
