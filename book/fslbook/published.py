"""What the three papers print and claim, and what their learners are, as transcribed in ``data/published``.

`comparison` compares results on a paper's own data with them.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np
import pandas as pd
import yaml
from IPython.display import HTML
from scipy.stats import norm

from fslcore.paths import DATA
from fslcore.stats.formatting import format_interval

from .catalogue import LEARNER_TITLES

__all__ = [
    "LABELS",
    "claims",
    "comparison",
    "learner_table",
    "learners",
    "own_backbone",
    "own_data",
    "recomputed",
    "table",
    "whole",
]

#: Where a number is from: each label, and what it says. Ledger and tables use them; the ledger's page defines them.
LABELS = {
    "live on shipped data": "the same experiment, computed by this build on data that ship with the book; *adapted* "
    "where other captioners (rules on pixels, words of people) take the place of the paper's",
    "live on the paper's data": "computed by this build on the data and with the weights that the paper names. The "
    "ledger says *yes* only where their digests are those of the manifest that ships, and names those without any",
    "reported": "computed by somebody else on the paper's data, and read from a file in `data/contributed`. It is "
    "checked that its digests are those of the manifest, and its tasks those that class sizes and seeds give (of "
    "biased tasks, which follow from attributes, number and classes alone). That proves a file consistent, not true",
    "released": "recomputed from the authors' released per-task results",
    "derived": "recomputed from other tables that the papers print",
    "printed only": "as the paper prints it: its settings, or numbers beside which nothing was computed",
}
#: How the answers of a learner here compare with a paper's text and released code, for equal weights.
VERDICTS = {
    "equal": "as text and code",
    "text": "as the text; the code does something else",
    "code": "as the code; the text is silent",
    "differs": "differs in a part",
}
#: The papers, by the names of their files.
PAPERS = {
    "oops": "OOPS",
    "evaluators": "Evaluating the evaluators",
    "fewstab": "FewSTAB",
}
#: What stands above a table of `comparison`.
OWN_DATA = (
    "**Live on the paper's data**, cell by cell: what it prints, what came out here, and the difference, also in "
    "combined standard errors. One cell in twenty is more than two of them away by chance alone; tasks, and training "
    "on a GPU, are not the paper's to the last bit."
)
#: The backbones of OOPS by ours: with the preprocessing of its code.
BACKBONES = {"clip-released": "clip", "dino-released": "dino", "dinov2-reg-released": "dinov2"}
#: The test sets of OOPS.
OWN = (
    "aircraft",
    "cub",
    "dtd",
    "fungi",
    "mscoco",
    "omniglot",
    "quickdraw",
    "traffic-signs",
    "vgg-flower",
)


def table(table: int | str, paper: str = "oops") -> pd.DataFrame:
    """A table of a paper (``oops``, ``evaluators``, ``fewstab``) as transcribed in ``data/published``; symbols as text.

    Parameters
    ----------
    table : int or str
        3 or 'S7', say.
    """
    path = DATA / "published" / f"{paper}_table{table}.csv"
    return pd.read_csv(path, dtype={"closed": str, "open": str, "paired": str})


def claims(paper: str = "oops") -> pd.DataFrame:
    """The claims in a paper's prose (``paper`` as for `table`), by id: section, claim, value and unit, all as text."""
    return pd.read_csv(
        DATA / "published" / f"{paper}_claims.csv", dtype=str, keep_default_na=False
    ).set_index("id")


def recomputed(table: int) -> pd.DataFrame:
    """Cells of OOPS Tables 4 to 6 as the authors' released accuracies give them, of commit bd7ea17 of their repository.

    All cells at 5 shots, and at 1 and 10 shots those of Table 4 whose print is illegible: keys, mean and half_width.
    """
    cells = pd.read_csv(DATA / "published" / "oops_recomputed.csv")
    return cells[cells["table"] == table].drop(columns="table")


def recomputed_counts() -> pd.Series:
    """Conclusive pairs of OOPS Figure 6 as the authors' released 5-shot tasks give them, by rule, and all pairs.

    The rules are those of `fslbook.oops.benchmark.corrected_counts`; the tasks have the optimised Q.
    """
    counts = pd.read_csv(DATA / "published" / "oops_recomputed_counts.csv")
    conclusive = counts.set_index("rule")["conclusive"]
    return pd.concat([pd.Series({"pairs": counts["pairs"].iloc[0]}), conclusive])


def learners() -> pd.DataFrame:
    """Each learner of each paper: what the text says, what the released code does, and what ours does.

    Returns
    -------
    DataFrame
        A row per paper and learner, as in ``data/published/learners.yml``, which says what the columns hold; ``title``
        is its name in print, ``ours`` and ``test`` are lists, and a missing text is empty.
    """
    path = DATA / "published" / "learners.yml"
    papers = yaml.safe_load(path.read_text("utf-8"))["papers"]
    rows = [{"paper": paper, **row} for paper, entries in papers.items() for row in entries]
    table = pd.DataFrame(rows).fillna("")
    titles = table["learner"].map(LEARNER_TITLES)
    return table.assign(title=table["title"].where(table["title"] != "", titles))


def learner_table(table: pd.DataFrame) -> HTML:
    """The rows of `learners` for readers: a row per learner, by paper, whose texts stand below each other."""
    lines = []
    for paper, entries in table.groupby("paper", sort=False):
        lines.append(f'<tr><th colspan="3">{PAPERS[paper]}</th></tr>')
        lines += map(_learner_row, entries.to_dict("records"))
    heads = ("learner", "text, released code and ours", "compared, and the test that holds it")
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "\n".join(lines)
    return HTML(
        f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _learner_row(row: dict) -> str:
    """A row of `learner_table`."""
    ours = ", ".join(f"<code>{name}</code>" for name in row["ours"])
    here = f": {escape(row['here'])}" if row["here"] else ""
    rules = [
        f"<b>Text:</b> {escape(row['text'])}",
        f"<b>Code</b> ({escape(row['release'])}): {escape(row['code'])}",
        f"<b>Here</b> {ours}{here}",
    ]
    wraps = 'style="overflow-wrap: anywhere"'
    tests = [f"<code {wraps}>{escape(name)}</code>" for name in row["test"]]
    evidence = [escape(row["compared"]) or "not compared", *tests]
    verdict = f"{escape(row['title'])}<br><i>{VERDICTS[row['verdict']]}</i>"
    cells = (verdict, "<br>".join(rules), "<br>".join(evidence))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def own_data(dataset: str) -> str | None:
    """OOPS' name of a data set, if it is one of its own: 'dtd' for 'dtd:/data'; CUB with Meta-Dataset's split alone.

    A part, such as 'quickdraw?per_class=1000', is another test set than the paper's.
    """
    place, _, setting = dataset.partition("?")
    name = place.partition(":")[0]
    wanted = "splits=meta-dataset" if name == "cub" else ""
    return name if name in OWN and setting == wanted else None


def own_backbone(backbone: str) -> str | None:
    """OOPS' name of a backbone, if it is one of its own: 'dinov2' for 'dinov2-reg-released:FILE'."""
    return BACKBONES.get(backbone.partition(":")[0])


def comparison(
    live: pd.DataFrame,
    printed: pd.DataFrame,
    level: float = 0.95,
    paper_name: Callable[[str], str | None] = own_data,
) -> pd.DataFrame:
    """Compare cells computed on the paper's own data with the printed ones.

    Parameters
    ----------
    live, printed : DataFrame
        Long tables with the same keys, such as dataset, backbone, learner, shots, sampling, and ``mean`` and
        ``half_width`` of an interval; the printed ones at 95 %.
    level : float
        Of the live intervals.
    paper_name : callable
        Returns the paper's name of a data set, or None if it is not the paper's; by default for OOPS.

    Returns
    -------
    DataFrame
        By the keys: printed and live as 'mean ± half-width', their difference (live less printed), and that in
        combined standard errors (half-width divided by the normal quantile of its level), a dash where none is printed.
        Empty if no cell uses data and a backbone of the paper.
    """
    keys = [column for column in printed if column in live and column in KEYS]
    names = {"dataset": paper_name, "backbone": own_backbone}
    for column in keys:
        kind = column.split("_")[-1]  # a_backbone is that of the first method
        if kind in names:
            live = live.assign(**{column: live[column].map(names[kind])}).dropna(subset=column)
    pairs = printed.dropna(subset="mean").merge(live, on=keys, suffixes=("_printed", "_live"))
    difference = pairs["mean_live"] - pairs["mean_printed"]
    error = np.hypot(
        pairs["half_width_printed"] / norm.ppf(0.975),
        pairs["half_width_live"] / norm.ppf((1 + level) / 2),
    )
    signs = {r"\+nan": "—", "-": "−"}
    away = pd.DataFrame(
        {
            "difference": difference.map("{:+.2f}".format),
            "in standard errors": (difference / error).map("{:+.1f}".format),
        }
    ).replace(signs, regex=True)
    table = pairs[keys].assign(
        printed=_cells(pairs["mean_printed"], pairs["half_width_printed"]),
        live=_cells(pairs["mean_live"], pairs["half_width_live"]),
    )
    return table.join(away).set_index(keys)


def whole(table: pd.DataFrame) -> HTML | None:
    """Show a table with all of its rows, where a notebook would omit the middle; show nothing if it is empty.

    Texts are shown literally: not as HTML, nor as formulas between dollar signs.
    """
    with pd.option_context("display.html.use_mathjax", False):
        return HTML(table.to_html()) if len(table) else None


KEYS = (
    *(
        "dataset",
        "shots",
        "backbone",
        "learner",
        "a_backbone",
        "a_learner",
        "b_backbone",
        "b_learner",
        "sampling",
    ),
    *("method", "estimator", "metric", "captioner"),
)


def _cells(mean: pd.Series, half_width: pd.Series) -> list[str]:
    return [cell.replace("-", "−") for cell in format_interval(mean, half_width, spec=".2f")]
