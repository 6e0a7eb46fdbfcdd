"""Conclusions for reading: lists, matrices, one-line summaries, tables and figures as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ... import stats
from ...paths import replace_file
from .across_datasets import by_ranks, caveat, rank_record
from .arguments import checked
from .compare import (
    GROUPS,
    cliques,
    grids,
    group_letters,
    in_words,
    intervals,
    names_of_groups,
    needed,
    p_value_text,
    panels,
    plus_minus,
    reading,
    settings,
    single,
    unnested,
)
from .paragraph import paragraphs
from .recorded import three_list
from .runs import new_runs, recipe_list, recipes, run_cells, run_list, run_reading

__all__ = [
    "changed",
    "crowded",
    "few_errors",
    "interval_list",
    "matrix",
    "pair_list",
    "record",
    "summary",
    "write_figures",
    "write_tables",
]


@checked
def crowded(table: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """A sentence for each setting whose methods form too many groups to name."""
    return [
        f"{setting}: over {GROUPS} sets of methods are not told apart, too many for letters; see the pairs."
        for setting, found in cliques(table, pairs).items()
        if not found
    ]


@checked
def few_errors(table: pd.DataFrame, level: float = 0.95) -> list[str]:
    """A sentence for each setting where the limits of a method rest on a single error, or on a single right answer."""
    found: dict[str, list[str]] = {}
    for (setting, method), of in single(table, level).items():
        if any(r.few_errors for r in of.values()):
            found.setdefault(setting, []).append(method)
    return [
        f"{setting}: so few errors (or right answers) are left to {', '.join(methods)} that the limits are rough."
        for setting, methods in found.items()
    ]


@checked
def interval_list(table: pd.DataFrame, pairs: pd.DataFrame, level: float = 0.95) -> pd.DataFrame:
    """`intervals` for a reader, with the letters of `group_letters`; only the columns that say something."""
    found = single(table, level)
    either = (table["sampling"] == "unknown").any()
    names = {
        "new_images": "if tasks share no image: on new images" if either else "on new images",
        "these_images": "if they do: on these images" if either else "on these images",
    }
    index = pd.MultiIndex.from_tuples(found, names=["setting", "method"])
    shown = {
        name: pd.Series([f"{of[c]:.2f}" if c in of else "—" for of in found.values()], index)
        for c, name in names.items()
        if any(c in of for of in found.values())
    }
    if "run" in table:
        shown["for new runs"] = run_cells(new_runs(table, level))
    tasks = pd.Series([next(iter(of.values())).n_tasks for of in found.values()], index)
    out = pd.DataFrame({**shown, "group": group_letters(table, pairs), "tasks": tasks})
    return unnested(table, out.reindex(index))


@checked
def matrix(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Row minus column in points, each cell with the mark of its verdict; best methods first.

    ▲ ▼: the row is better, worse, after Holm's correction. △ ▽: after Benjamini and Hochberg's only.
    ○: not told apart. ≈: not told apart, and equivalent within the margin, where one was given.
    """
    back = pairs.rename(columns={"a": "b", "b": "a"}).assign(difference=-pairs["difference"])
    both = pd.concat([pairs, back])
    up = both["difference"] > 0
    mark = np.where(both["holm"], np.where(up, "▲", "▼"), np.where(both["bh"], np.where(up, "△", "▽"), "○"))
    if "equivalent" in both:
        mark = np.where(both["equivalent"] & ~both["bh"], "≈", mark)
    text = [f"\N{NO-BREAK SPACE}{d + 0.0:+.2f}".replace("-", "−") for d in both["difference"]]
    both["cell"] = mark.astype(object) + np.array(text, dtype=object)
    ranked = {setting: pd.Series(grid.columns, name="method") for setting, grid in grids(table).items()}
    order = pd.concat(ranked, names=["setting"])
    wide = both.pivot(index=["setting", "a"], columns="b", values="cell")
    rows = pd.MultiIndex.from_arrays([order.index.get_level_values("setting"), order], names=["setting", "method"])
    columns = pd.Index(order.unique(), name=None)
    return unnested(table, wide.reindex(index=rows, columns=columns).fillna("—"))


def _verdict(pairs: pd.DataFrame) -> pd.Series:
    """In words, as strict as it holds."""
    says = np.select(
        [pairs["holm"], pairs["bh"], pairs["paired"]],
        ["higher (Holm)", "higher (BH only)", "higher, if compared alone"],
        "not told apart",
    )
    if "equivalent" in pairs:
        little = np.where(pairs["holm"], "higher (Holm), by less than the margin", "equivalent")
        says = np.where(pairs["equivalent"], little, says)
    return pd.Series(says, pairs.index)


@checked
def pair_list(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """`comparisons` for a reader: the difference with its paired interval, the three p-values, the verdict."""
    p = {column: pairs[column].map(p_value_text) for column in ("p", "p_holm", "p_bh")}
    out = pairs.assign(verdict=_verdict(pairs), shown=plus_minus(pairs), **p)
    out = out.rename(columns={"shown": "difference (points)", "p_holm": "p, Holm", "p_bh": "p, BH"}, errors="raise")
    return in_words(table, out)[["lower mean", "difference (points)", "verdict", "p", "p, Holm", "p, BH"]]


@checked
def changed(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs on which the usual reading (closed intervals that do not meet) and the paired tests differ."""
    out = pairs[pairs["unpaired"] != pairs["holm"]]
    usual = np.where(out["unpaired"], "higher: intervals do not meet", "nothing: intervals meet")
    out = out.assign(shown=plus_minus(out), usual=usual, paired=_verdict(out))
    out = out.rename(columns={"shown": "difference (points)", "usual": "usual reading", "paired": "paired"})
    return in_words(table, out)[["lower mean", "difference (points)", "usual reading", "paired"]]


@checked
def summary(
    table: pd.DataFrame,
    pairs: pd.DataFrame,
    level: float = 0.95,
    three: dict[str, stats.ThreeIntervals] | None = None,
) -> list[str]:
    """A few lines for a terminal: each method's mean ±, its groups, and what can be concluded.

    ``three`` is as for `reading`.
    """
    letters = group_letters(table, pairs)
    cells = {key: f"{next(iter(of.values())):.2f}".partition(" ") for key, of in single(table, level).items()}
    found = {key: f"{mean:>6} {around}".rstrip() for key, (mean, _, around) in cells.items()}
    wide, most = max(len(m) for m in table["method"]), max(map(len, found.values()))
    lines = []
    for setting, facts in settings(table).iterrows():
        count = f"{facts['methods']} method" + "s" * (facts["methods"] > 1)
        lines.append(f"{setting}: {count}, {facts['tasks']} tasks, sampling {facts['sampling']}")
        of = {key: text for key, text in found.items() if key[0] == setting}
        lines += [f"  {key[1]:<{wide}}  {text:<{most}}  {letters[key]}".rstrip() for key, text in of.items()]
    if len(pairs):
        lines.append(
            f"{pairs['holm'].sum()} of {len(pairs)} pairs are told apart (paired t-tests, Holm's correction, "
            f"{level:.4g}); methods that share a letter are not."
        )
        if "equivalent" in pairs:
            lines.append(
                f"{pairs['equivalent'].sum()} of {len(pairs)} pairs are equivalent within {pairs['margin'].iloc[0]:g} "
                "points (two one-sided tests, Holm's correction)."
            )
        lines.append(f"Pairs on which unpaired closed intervals would say otherwise: {len(changed(table, pairs))}.")
    elif not any("(unpaired)" in name for name in three or {}):
        lines.append("One method a setting: no comparison is possible.")
    for name, ranked in by_ranks(table, level).items():
        lines.append(f"Mean ranks over {len(ranked.datasets)} data sets{f' ({name})' * bool(name)}:")
        lines += [f"  {m:<{wide}}  {rank:6.2f}" for m, rank in zip(ranked.methods, ranked.found.ranks)]
        lines += [f"  critical difference {ranked.found.critical_difference:.2f}", caveat(ranked)]
    lines += [*crowded(table, pairs), *few_errors(table, level)]
    if "run" in table:
        lines += ["", *_summary_of_runs(table, level)]
    return lines + [text.replace("**", "").replace("`", "") for text in reading(table, three)]


def _summary_of_runs(table: pd.DataFrame, level: float) -> list[str]:
    found, pairs = new_runs(table, level), recipes(table, level)
    wide = max(len(m) for m in table["method"])
    lines = [f"For new training runs ({level:.4g}):"]
    for (setting, method), row in found.iterrows():
        where = f"  ({setting})" * (table["setting"].nunique() > 1)
        alone = "one run: nothing can be said of new runs"
        half = f"± {row['new_runs']:5.2f}  {row['runs']:.0f} runs" if row["runs"] > 1 else alone
        lines.append(f"  {method:<{wide}}  {row['mean']:6.2f} {half}{where}")
    if len(pairs):
        lines.append(f"{pairs['holm'].sum()} of {len(pairs)} pairs of recipes are told apart (Holm's correction).")
    return lines + [text.replace("**", "") for text in run_reading(table)]


@checked
def record(
    table: pd.DataFrame,
    pairs: pd.DataFrame,
    notes: list[str],
    level: float = 0.95,
    three: dict[str, stats.ThreeIntervals] | None = None,
) -> dict:
    """The whole report as plain values: notes, reading, settings, methods with intervals and groups, and all pairs.

    Numbers are not rounded. A half-width that the tasks cannot give is None. ``three`` is as for `reading`.
    """
    methods = intervals(table, level).assign(groups=pd.Series(names_of_groups(table, pairs))).reset_index()
    of_runs = {}
    if "run" in table:
        frames = {"new_runs": new_runs(table, level).reset_index(), "recipes": recipes(table, level)}
        of_runs = {k: f.astype(object).where(f.notna(), None).to_dict("records") for k, f in frames.items()}
    return {
        "level": level,
        "unit": "percent",
        "notes": [*notes, *crowded(table, pairs), *few_errors(table, level)],
        "reading": [*reading(table, three), *run_reading(table)],
        "settings": settings(table).reset_index().to_dict("records"),
        "methods": methods.astype(object).where(methods.notna(), None).to_dict("records"),
        "ranks": rank_record(by_ranks(table, level)),
        "pairs": pairs.assign(verdict=_verdict(pairs), changed=pairs["unpaired"] != pairs["holm"]).to_dict("records"),
        **of_runs,
    }


# What plain LaTeX lacks; amssymb has the triangles.
SYMBOLS = {
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "△": r"$\vartriangle$",
    "▽": r"$\triangledown$",
    "○": r"$\circ$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "−": "$-$",
    "<": "$<$",
    "—": "---",
    "\N{NO-BREAK SPACE}": "~",
}
# What means something else to LaTeX.
LATEX = str.maketrans({sign: rf"\{sign}" for sign in "&%$#_{}"})
LATEX |= str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
)


@checked
def write_tables(
    table: pd.DataFrame,
    pairs: pd.DataFrame,
    folder: str | Path,
    level: float = 0.95,
    three: dict[str, stats.ThreeIntervals] | None = None,
) -> list[Path]:
    """The report's tables as files, each in LaTeX (packages booktabs and amssymb) and Markdown.

    Parameters
    ----------
    three : dict, optional
        Of a recording, what `three_intervals` found.

    Returns
    -------
    list of paths
        methods, matrix, pairs, changed and needed, with several runs also runs and recipes, and three_intervals of a
        recording, each .tex and .md; those without rows are left out. Then evaluation.tex and .md, the paragraph of
        `paragraphs`.
    """
    made = {
        "methods": interval_list(table, pairs, level),
        "matrix": matrix(table, pairs),
        "pairs": pair_list(table, pairs),
        "changed": changed(table, pairs),
        "needed": needed(table, pairs, level),
        "runs": run_list(table, level),
        "recipes": recipe_list(table, level),
        "three_intervals": three_list(three or {}),
    }
    out = []
    for name, frame in made.items():
        if frame.empty:
            continue
        index = [name or frame.columns.name or "method" for name in frame.index.names]  # as `unnested` leaves them
        flat = frame.rename_axis(index=index, columns=None).reset_index().astype(str)
        latex = flat.to_latex(index=False, escape=True)
        for symbol, code in SYMBOLS.items():
            latex = latex.replace(symbol, code)
        bare = flat.replace(r"\|", r"\\|", regex=True).rename(columns=lambda c: c.replace("|", r"\|"))
        for ending, text in (("tex", latex), ("md", bare.to_markdown(index=False, disable_numparse=True) + "\n")):
            out.append(Path(folder) / f"{name}.{ending}")
            replace_file(out[-1], lambda part, text=text: part.write_text(text, "utf-8"))
    found = paragraphs(table, pairs, level, three)
    plain = "\n\n".join(f"**{setting}.** {text}" if len(found) > 1 else text for setting, text in found.items())
    named = [rf"\textbf{{{setting.translate(LATEX)}.}} " * (len(found) > 1) for setting in found]
    latex = r"\paragraph{Evaluation.} " + "\n\n".join(
        n + text.translate(LATEX) for n, text in zip(named, found.values())
    )
    for ending, text in (("tex", latex), ("md", plain)):
        out.append(Path(folder) / f"evaluation.{ending}")
        replace_file(out[-1], lambda part, text=text: part.write_text(text + "\n", "utf-8"))
    return out


@checked
def write_figures(table: pd.DataFrame, pairs: pd.DataFrame, folder: str | Path) -> list[Path]:
    """The report's figure (`figures.groups`) as groups.png, groups.pdf and groups.svg."""
    import matplotlib.pyplot as plt

    from . import figures

    out = [Path(folder) / f"groups.{ending}" for ending in ("png", "pdf", "svg")]
    with plt.rc_context():
        figures.style()
        figure = figures.groups(panels(table, pairs))
        for path in out:
            replace_file(path, lambda part: figure.savefig(part, bbox_inches="tight", dpi=200))
        plt.close(figure)
    return out
