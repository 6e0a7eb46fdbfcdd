"""Conclusions for reading: lists, matrices, one-line summaries, tables and figures as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...paths import replace_file
from ...stats.chosen import FEWEST_TASKS
from .compare import MOST, for_equal_differences, for_power, for_width
from .runs import run_cells
from .wording import both_ways, by_pair, of_reference, p_value_text, plus_minus, rank_texts, unnested

if TYPE_CHECKING:
    from .results import Results

ROWS = 500  # of a table that somebody reads
GROUPS = 200  # sets of methods; n pairs of twins that are significantly different, and from nobody else, make 2^n


def names_of_groups(results: Results) -> dict[tuple[str, str], list[str]]:
    """By setting and method, the names of its groups: letters, or numbers where letters do not suffice."""
    names = {}
    for setting, found in results.groups.items():
        labels = [chr(97 + i) if len(found) <= 26 else f"g{i}" for i in range(len(found))]
        for method in results.grids[setting]:
            names[setting, method] = [label for label, group in zip(labels, found) if method in group]
    return names


def group_letters(results: Results) -> pd.Series:
    """By setting and method, the letters of its groups: methods that share one are not significantly different.

    Where they are more than letters, groups have numbers: 'g3–g7 g9'; where they are too many, there are none
    (`crowded`).
    """

    def text(names: list[str]) -> str:
        if not names or len(names[0]) == 1:
            return " ".join(names) or "—"
        at = np.array([int(n[1:]) for n in names])
        runs = np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)
        return " ".join(f"g{run[0]}" + f"–g{run[-1]}" * (len(run) > 1) for run in runs)

    return pd.Series({key: text(names) for key, names in names_of_groups(results).items()}, name="group")


def needed(results: Results) -> pd.DataFrame:
    """For each pair not significantly different after Holm's correction, how many tasks would make it so.

    All numbers take the observed difference for the true one.

    Returns
    -------
    DataFrame
        By pair: the difference, tasks now, tasks for a half-width below the difference, and tasks
        for 80 % power, as the only comparison and among all pairs of the table (at (1 - level) / pairs,
        which is enough for Holm's correction whatever the others give); for open tasks of known
        shape also the images of that last number.
    """
    shape, pairs, level = results.settings, results.pairs, results.level
    sized = {"ways", "shots", "queries"} <= set(shape)
    images = shape["ways"] * (shape["shots"] + shape["queries"]) if sized else pd.Series(np.nan, shape.index)
    a_task = images.where(shape["sampling"] == "open")  # closed tasks reuse images
    out = pairs[~pairs["holm"]]
    effect = (out["difference"] / out["sd"]).fillna(0).to_numpy()  # identical accuracies: 0 / 0
    among = 1 - (1 - level) / max(len(pairs), 1)

    def sizes(of_effect: Callable, at: float) -> pd.Series:
        equal = for_equal_differences(out["difference"].to_numpy(), at)
        return pd.Series(np.where(np.isinf(effect), equal, of_effect(effect, at)), out.index)

    count = sizes(for_power, among)
    shown = {
        "difference (points)": plus_minus(out),
        "tasks now": out["tasks"].map("{:,}".format),
        "for ± below the difference": sizes(for_width, level).map(_count),
        "for 80 % power, alone": sizes(for_power, level).map(_count),
        f"for 80 % power, one of {len(pairs)}": count.map(_count),
    }
    if a_task.notna().any():
        of_pair = out["setting"].map(a_task).astype(float)
        shown["images for that"] = (count * of_pair).map(_count).where(of_pair.notna(), "—")
    return by_pair(out, shown, len(shape) > 1)


def _count(value: float | None) -> str:
    return f"over {MOST:,}" if pd.isna(value) else f"{int(value):,}"


def crowded(results: Results) -> list[str]:
    """A sentence for each setting whose methods form too many groups to name."""
    return [
        f"{setting}: over {GROUPS} sets of methods are not significantly different, too many for letters; see "
        "the pairs."
        for setting, found in results.groups.items()
        if not found
    ]


def few_errors(results: Results) -> list[str]:
    """A sentence for each setting where the limits of a method rest on a single error, or on a single right answer."""
    found: dict[str, list[str]] = {}
    for (setting, method), of in results.single.items():
        if any(r.few_errors for r in of.values()):
            found.setdefault(setting, []).append(method)
    return [
        f"{setting}: so few errors (or right answers) are left to {', '.join(methods)} that the limits are rough."
        for setting, methods in found.items()
    ]


def interval_list(results: Results) -> pd.DataFrame:
    """Each method's intervals for a reader, with the letters of its groups; only the columns that say something."""
    found = results.single
    either = (results.settings["sampling"] == "unknown").any()
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
    if "run" in results.table:
        shown["for new runs"] = run_cells(results.new_runs)
    tasks = pd.Series([next(iter(of.values())).n_tasks for of in found.values()], index)
    for (setting, target), of in results.chosen.items():
        column = shown.setdefault(f"ranks ({target})" if target else "ranks", pd.Series("—", index, dtype=object))
        column[[(setting, method) for method in of.methods]] = rank_texts(of.ranks)
    if results.reference is None:
        shown["group"] = group_letters(results)
    else:  # what the sets of the others are was not asked
        marks = _both(results.pairs).set_index(["b", "setting", "a"])["mark"].to_dict()
        against = [marks.get((results.reference, *key), "—") for key in index]
        shown[f"against {results.reference}"] = pd.Series(against, index)
    out = pd.DataFrame({**shown, "tasks": tasks})
    return unnested(out.reindex(index), len(results.settings) > 1)


def _both(pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs both ways round, with the ``mark`` of the verdict on a (see `matrix`)."""
    both = both_ways(pairs)
    up = both["difference"] > 0
    mark = np.where(both["holm"], np.where(up, "▲", "▼"), np.where(both["bh"], np.where(up, "△", "▽"), "○"))
    if "equivalent" in both:
        mark = np.where(both["equivalent"] & ~both["bh"], "≈", mark)
    return both.assign(mark=mark.astype(object))


def matrix(results: Results) -> pd.DataFrame:
    """Row minus column in points, each cell with the mark of its verdict; best methods first.

    ▲ ▼: the row is better, worse, after Holm's correction. △ ▽: after Benjamini and Hochberg's only.
    ○: not significantly different; ≈: and equivalent within the margin, if one was given. With a reference, its
    column alone.
    """
    both = _both(results.pairs)
    text = [f"\N{NO-BREAK SPACE}{d + 0.0:+.2f}".replace("-", "−") for d in both["difference"]]
    both["cell"] = both["mark"] + np.array(text, dtype=object)
    ranked = {setting: pd.Series(grid.columns, name="method") for setting, grid in results.grids.items()}
    order = pd.concat(ranked, names=["setting"])
    wide = both.pivot(index=["setting", "a"], columns="b", values="cell")
    rows = pd.MultiIndex.from_arrays([order.index.get_level_values("setting"), order], names=["setting", "method"])
    columns = pd.Index(order.unique() if results.reference is None else [results.reference], name=None)
    return unnested(wide.reindex(index=rows, columns=columns).astype(object).fillna("—"), len(ranked) > 1)


def _verdict(pairs: pd.DataFrame) -> pd.Series:
    """In words, as strict as it holds."""
    says = np.select(
        [pairs["holm"], pairs["bh"], pairs["paired"]],
        ["higher (Holm)", "higher (BH only)", "higher, if compared alone"],
        "not significantly different",
    )
    if "equivalent" in pairs:
        little = np.where(pairs["holm"], "higher (Holm), by less than the margin", "equivalent")
        says = np.where(pairs["equivalent"], little, says)
    return pd.Series(says, pairs.index)


def pair_list(results: Results) -> pd.DataFrame:
    """All pairs for a reader: the difference with its paired interval, the verdict, the p-values."""
    pairs = results.pairs
    named = {"p": "p", "p_holm": "p, Holm", "p_bh": "p, BH"}
    together = {}
    if results.reference is not None:
        together["± all at once"] = pairs["half_width_all"].map("{:.2f}".format)
        named["p_all"] = "p, Dunnett"
    p = {name: pairs[column].map(p_value_text) for column, name in named.items()}
    shown = {"difference (points)": plus_minus(pairs), **together, "verdict": _verdict(pairs), **p}
    return by_pair(pairs, shown, len(results.settings) > 1)


def changed(results: Results) -> pd.DataFrame:
    """Pairs on which the usual reading (closed intervals that do not meet) and the paired tests differ."""
    out = results.pairs[results.pairs["unpaired"] != results.pairs["holm"]]
    usual = np.where(out["unpaired"], "higher: intervals do not meet", "nothing: intervals meet")
    shown = {"difference (points)": plus_minus(out), "usual reading": usual, "paired": _verdict(out)}
    return by_pair(out, shown, len(results.settings) > 1)


def winners(results: Results) -> list[str]:
    """What the highest mean of each setting is worth where it was chosen on these very tasks, a sentence each."""
    out = []
    for (setting, target), choice in results.chosen.items():
        place = ", ".join(filter(None, [setting if len(results.settings) > 1 else "", target]))
        winner, sentence = choice.winner, f"{choice.methods[0]} has the highest mean of {len(choice.methods)}"
        if winner is None:
            sentence += f"; fewer than {FEWEST_TASKS} tasks or classes are too few to correct it for the choice"
        else:
            sentence += f", {winner.mean:.2f} ± {winner.half_width:.2f}; corrected for being chosen on the same tasks, "
            sentence += f"{winner.low:.2f} to {winner.high:.2f}"
        out.append(f"{sentence} ({place})." if place else f"{sentence}.")
    return out


def headlines(results: Results) -> list[str]:
    """What the reference is worth against each other method, a line each below one that says how; else nothing."""
    ours, pairs, several = results.reference, results.pairs, len(results.settings) > 1
    if ours is None or pairs.empty:
        return []
    out = [
        f"{ours} against {'each other method' if len(pairs) > 1 else 'the other method'}, in points (paired t-tests, "
        f"Holm's correction for {len(pairs)}, {results.level:.4g}; in brackets ± of intervals that all hold together):"
    ]
    mine = of_reference(pairs, ours)
    wide = mine["b"].str.len().max() + 1
    for verdict, (_, of) in zip(_verdict(pairs), mine.iterrows()):
        said = verdict if of["difference"] > 0 else verdict.replace("higher", "lower")
        where = f"  ({of['setting']})" * several
        difference = f"{of['difference'] + 0.0:+.2f} ± {of['half_width']:.2f} (± {of['half_width_all']:.2f})"
        out.append(f"  {of['b'] + ':':<{wide}} {difference.replace('-', '−')}, {said}{where}")
    return out


def summary(results: Results) -> list[str]:
    """A few lines for a terminal: each method's mean ±, its groups, and what can be concluded."""
    pairs, letters = results.pairs, {} if results.reference else group_letters(results)
    cells = {key: f"{next(iter(of.values())):.2f}".partition(" ") for key, of in results.single.items()}
    found = {key: f"{mean:>6} {around}".rstrip() for key, (mean, _, around) in cells.items()}
    wide, most = max(len(method) for _, method in found), max(map(len, found.values()))
    lines = []
    for setting, facts in results.settings.iterrows():
        count = f"{facts['methods']} method" + "s" * (facts["methods"] > 1)
        lines.append(f"{setting}: {count}, {facts['tasks']} tasks, sampling {facts['sampling']}")
        of = {key: text for key, text in found.items() if key[0] == setting}
        lines += [f"  {key[1]:<{wide}}  {text:<{most}}  {letters.get(key, '')}".rstrip() for key, text in of.items()]
    if len(pairs):
        lines += headlines(results) or [
            f"{pairs['holm'].sum()} of {len(pairs)} pairs are significantly different (paired t-tests, "
            f"Holm's correction, {results.level:.4g}); methods that share a letter are not."
        ]
        if results.margin:
            lines.append(
                f"{pairs['equivalent'].sum()} of {len(pairs)} pairs are equivalent within {results.margin:g} "
                "points (two one-sided tests, Holm's correction)."
            )
        lines += winners(results)
        lines.append(f"Pairs on which unpaired closed intervals would say otherwise: {len(results.tables['changed'])}.")
    elif not any("(unpaired)" in name for name in results.three or {}):
        lines.append("One method a setting: no comparison is possible.")
    for name, ranked in results.ranks.items():
        lines.append(f"Mean ranks over {len(ranked.datasets)} data sets{f' ({name})' * bool(name)}:")
        lines += [f"  {m:<{wide}}  {rank:6.2f}" for m, rank in zip(ranked.methods, ranked.found.ranks)]
        lines += [f"  critical difference {ranked.found.critical_difference:.2f}", ranked.caveat]
    lines += results.warnings
    if "run" in results.table:
        lines += ["", *_summary_of_runs(results, wide)]
    return lines + [text.replace("**", "").replace("`", "") for text in results.reading]


def _summary_of_runs(results: Results, wide: int) -> list[str]:
    pairs = results.recipes
    lines = [f"For new training runs ({results.level:.4g}):"]
    for (setting, method), row in results.new_runs.iterrows():
        where = f"  ({setting})" * (len(results.settings) > 1)
        alone = "one run: nothing can be said of new runs"
        half = f"± {row['new_runs']:5.2f}  {row['runs']:.0f} runs" if row["runs"] > 1 else alone
        lines.append(f"  {method:<{wide}}  {row['mean']:6.2f} {half}{where}")
    if len(pairs):
        lines.append(f"{pairs['holm'].sum()} of {len(pairs)} pairs of recipes differ significantly (after Holm).")
    return lines + [text.replace("**", "") for text in results.run_reading]


def record(results: Results) -> dict:
    """The whole report as plain values: notes, reading, settings, methods with intervals and groups, and all pairs.

    Numbers are not rounded. A half-width that the tasks cannot give is None.
    """
    pairs, named = results.pairs, pd.Series(names_of_groups(results))
    found = {"methods": results.intervals.assign(groups=named).reset_index()}
    if "run" in results.table:
        found |= {"new_runs": results.new_runs.reset_index(), "recipes": results.recipes}
    plain = {name: f.astype(object).where(f.notna(), None).to_dict("records") for name, f in found.items()}
    return {
        "level": results.level,
        "reference": results.reference,
        "unit": "percent",
        "notes": [*results.notes, *results.warnings],
        "reading": [*results.reading, *results.run_reading],
        "settings": results.settings.reset_index().to_dict("records"),
        "methods": plain.pop("methods"),
        "chosen": [
            {"setting": setting, "target": target, **choice._asdict()}
            | {"ranks": np.transpose(choice.ranks).tolist(), "winner": choice.winner and asdict(choice.winner)}
            for (setting, target), choice in results.chosen.items()
        ],
        "ranks": [ranked.record(name) for name, ranked in results.ranks.items()],
        "pairs": pairs.assign(verdict=_verdict(pairs), changed=pairs["unpaired"] != pairs["holm"]).to_dict("records"),
        **plain,
    }


# What means something else to LaTeX, and what plain LaTeX lacks; amssymb has the triangles.
LATEX = str.maketrans(
    {
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
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
)


def write_tables(results: Results, folder: str | Path) -> list[Path]:
    """Write ``tables`` as files, each in LaTeX (packages booktabs and amssymb) and Markdown.

    Those without rows are left out. Then evaluation.tex and .md, the paragraph of `paragraphs`.
    """
    out = []
    for name, frame in results.tables.items():
        if frame.empty:
            continue
        index = [name or frame.columns.name or "method" for name in frame.index.names]  # as `unnested` leaves them
        flat = frame.rename_axis(index=index, columns=None).reset_index().astype(str)
        signs = flat.map(lambda cell: cell.translate(LATEX)).rename(columns=lambda c: c.translate(LATEX))
        latex = signs.to_latex(index=False, escape=False)
        bare = flat.replace(r"\|", r"\\|", regex=True).rename(columns=lambda c: c.replace("|", r"\|"))
        out += _written(Path(folder, name), latex, bare.to_markdown(index=False, disable_numparse=True) + "\n")
    found = results.paragraphs()
    plain = "\n\n".join(f"**{setting}.** {text}" if len(found) > 1 else text for setting, text in found.items())
    named = [rf"\textbf{{{setting.translate(LATEX)}.}} " * (len(found) > 1) for setting in found]
    latex = r"\paragraph{Evaluation.} " + "\n\n".join(
        n + text.translate(LATEX) for n, text in zip(named, found.values())
    )
    return out + _written(Path(folder, "evaluation"), latex + "\n", plain + "\n")


def _written(path: Path, latex: str, markdown: str) -> list[Path]:
    """The two files of this name."""
    texts = {path.with_name(f"{path.name}.tex"): latex, path.with_name(f"{path.name}.md"): markdown}
    for file, text in texts.items():
        replace_file(file, lambda part, text=text: part.write_text(text, "utf-8"))
    return [*texts]


def write_figures(results: Results, folder: str | Path) -> list[Path]:
    """Write the report's figure (`fslcore.tools.report.figures.groups`) as groups.png, groups.pdf, groups.svg."""
    import matplotlib.pyplot as plt

    from . import figures

    against = results.reference is not None and len(results.pairs)
    out = [Path(folder, f"groups.{ending}") for ending in ("png", "pdf", "svg")]
    with plt.rc_context():
        figures.style()
        figure = figures.against(results.pairs, results.reference) if against else figures.groups(results.panels)
        for path in out:
            replace_file(path, lambda part: figure.savefig(part, bbox_inches="tight", dpi=200))
        plt.close(figure)
    return out
