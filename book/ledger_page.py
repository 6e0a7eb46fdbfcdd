"""The ledger of the papers' tables and figures: its items, checked, and the page that shows them."""

import html
import re
from collections import Counter

import yaml
from executed import KEY, SiteError

PAPERS = {
    "oops": ("Reinterpreting confidence intervals (OOPS)", "lafargue2024oops"),
    "evaluators": ("Evaluating the evaluators", "shimabucoro2024evaluating"),
    "fewstab": ("Spurious bias (FewSTAB)", "zheng2024benchmarking"),
}
# What `how` of an item means, in the words of `fslbook.published.LABELS`.
HOW = {
    "released": "released",
    "live": "live on shipped data",
    "adapted": "live on shipped data, adapted",
    "derived": "derived",
    "settings": "printed only",
}
FIELDS = {"id", "paper", "item", "what", "chapter", "how", "profile", "status", "verdict"}
# Besides: `found`, the keys of the count that decides a status, and `why` an item differs.
OPTIONAL = {"found", "why"}
# What became of an item, in one word.
STATUS = {
    "reproduced": "what the item shows is found here too: its printed digits, or its finding",
    "partly": "one part of what it shows is found here, and another part is not",
    "differs": "most of what it shows is not found here, or the opposite is found",
    "shown": "made again on other data or with other captioners, without a judgement of what is printed",
    "printed": "settings and counts as the paper prints them: there is no result to reproduce",
}
COUNTED = "counted"  # in place of a status: `status_of_count` gives it
COUNT = re.compile(r"\b([\d,]+|[Aa]ll|[Nn]one) of (?:the )?([\d,]+)")
HEAD = ["Item", "Status", "What it shows", "Where", "Verdict", "How", "Run on the paper's data"]
ON_STATUS = (
    "Where a verdict counts cases, the count decides the status: *reproduced* from nine in ten on, *differs* up to"
    " half of them, *partly* between. Any other status was judged by a person, from the verdicts of the book's default"
    " run. In a site that was built with other parameters these do not follow the run."
)
LEARNERS = "sec-learners-compared"  # the section of Ten learners with their table
ON_LABELS = (
    "Labels in the column *How* say where a number is from, here and in the tables of chapters; an item may have"
    " more than one:"
)


def read_ledger(path):
    """The ledger's items: a list of dicts with the keys of ``FIELDS``.

    Raises
    ------
    SiteError
        An item that breaks a rule.
    """
    try:
        items = yaml.safe_load(path.read_text("utf-8"))["items"]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise SiteError(f"{path.name}: expected a mapping with a list `items` ({error})") from error
    names = set()
    for item in items:
        name = item.get("id", item)
        fault = fault_of(item)
        if not fault and name in names:
            fault = "stands there twice"
        if fault:
            raise SiteError(f"{path.name}: {name}: {fault}")
        names.add(name)
    return items


def fault_of(item):
    """What is wrong with an item; empty if nothing is."""
    if set(item) - OPTIONAL != FIELDS:
        return f"fields differ: {sorted(set(item) - OPTIONAL ^ FIELDS)}"
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", item["id"]):
        return "its id is no HTML anchor (a-z, 0-9, single hyphens)"
    if item["paper"] not in PAPERS:
        return f"unknown paper {item['paper']!r}"
    if not item["how"] or not set(item["how"]) <= set(HOW):
        return f"`how` is a list out of {', '.join(HOW)}"
    if item["profile"] not in (item["paper"], "none"):
        return f"`profile` is {item['paper']} or none"
    if item["status"] not in {*STATUS, COUNTED}:
        return f"`status` is {item['status']!r}; it is one of {', '.join(STATUS)}, {COUNTED}"
    if (item["status"] == COUNTED) != ("found" in item):
        return f"`status: {COUNTED}` and `found`, the count that decides it, belong together"
    if item["status"] == "differs" and "why" not in item:
        return "`why` is missing: what explains that it differs"
    return ""


def status_of_count(found):
    """The status that counts such as '20 of 20 on icons' give together.

    Raises
    ------
    SiteError
        A text without a count, or with a count of no cases.
    """
    counts = [
        (total if some.lower() == "all" else "0" if some.lower() == "none" else some, total)
        for some, total in COUNT.findall(found)
    ]
    cases = sum(int(total.replace(",", "")) for _, total in counts)
    if not cases:
        raise SiteError(f"ledger.yml: `found` gives no count such as '3 of 4': {found}")
    share = sum(int(some.replace(",", "")) for some, _ in counts) / cases
    return "reproduced" if share >= 0.9 else "differs" if share <= 0.5 else "partly"


def verdict_chapters(item):
    """Other chapters that an item's verdict reads values of."""
    texts = item["verdict"] + item.get("found", "")
    return {chapter for chapter, _ in re.findall(KEY, texts) if chapter}


def table_row(cells):
    """A row of a Markdown table."""
    texts = (" ".join(str(cell).split()) for cell in cells)
    escaped = (re.sub(r"(?<!\\)\|", r"\\|", text) for text in texts)
    return f"| {' | '.join(escaped)} |"


def status_mark(word):
    return f'<span class="status status-{word}">{word}</span>'


def render_ledger(items, chapters, status):
    """The ledger as a MyST page.

    Parameters
    ----------
    items : list of dict
    chapters : dict
        By name of each chapter in the site, ``(title, anchors)``. An item links to its own anchor there, or to the top
        of the page while the anchor is missing.
    status : dict
        By item, `provenance.Status`.
    """
    from fslbook.published import LABELS

    labels = {
        item["id"]: [*(HOW[word] for word in item["how"]), *status[item["id"]].labels]
        for item in items
    }
    lines = [
        "# Ledger",
        "",
        f"Every table and figure of the three papers, {len(items)} in all, and what became of it"
        " here. Three that need no reproduction are not counted: FewSTAB's Table 1 defines symbols, and its"
        " Figures 1 and 2 are drawings of the idea and of the method. The status of an item is one word:",
        "",
        *counts_by_status(items),
        "",
        ON_STATUS,
        "",
        *on_learners(chapters),
        ON_LABELS,
        "",
    ]
    for label, meaning in LABELS.items():
        lines += [f"**{label}**", f": {meaning}.", ""]
    lines += counts_by_label(items, labels, LABELS)
    for paper, (title, _) in PAPERS.items():
        lines += [
            "",
            f"## {title}",
            "",
            "```{div} ledger",
            "",
            table_row(HEAD),
            "|" + " :-- |" * len(HEAD),
        ]
        for item in items:
            if item["paper"] == paper:
                lines.append(item_row(item, chapters, labels[item["id"]], status[item["id"]].text))
        lines += ["", "```"]
    return "\n".join(lines) + "\n"


def on_learners(chapters):
    """The lines that lead to the table of the papers' learners, where its chapter is in the site."""
    if "ten-learners" not in chapters:
        return []
    heading, anchors = chapters["ten-learners"]
    anchor = f"#{LEARNERS}" if LEARNERS in anchors else ""
    link = f'<a class="internal" href="ten-learners.html{anchor}">{html.escape(heading)}</a>'
    return [
        "What each learner of the papers is in their texts, in the released code and here, and where these"
        f" differ, stands in one table: {link}.",
        "",
    ]


def counts_by_status(items):
    """The lines of a table: items of each status, by paper."""
    counts = Counter((item["status"], item["paper"]) for item in items)
    heads = ["Status", "Meaning", *(title for title, _ in PAPERS.values()), "All"]
    lines = [
        "```{div} counts",
        "",
        table_row(heads),
        "| :-- | :-- |" + " --: |" * (len(PAPERS) + 1),
    ]
    for word, meaning in STATUS.items():
        numbers = [counts[word, paper] for paper in PAPERS]
        lines.append(table_row([status_mark(word), meaning, *numbers, sum(numbers)]))
    return [*lines, "", "```"]


def counts_by_label(items, labels, all_labels):
    """The lines of a table: items with each label, by paper."""
    lines = ["```{div} counts", "", table_row(["Paper", *all_labels, "items"])]
    lines.append("| :-- |" + " --: |" * (len(all_labels) + 1))
    heads = {paper: f"{title} {{cite:p}}`{key}`" for paper, (title, key) in PAPERS.items()}
    for paper, head in {**heads, "": "**All**"}.items():
        of_paper = [item["id"] for item in items if paper in ("", item["paper"])]
        counts = Counter()
        for name in of_paper:
            counts.update({label.removesuffix(", adapted") for label in labels[name]})
        lines.append(table_row([head, *(counts[label] for label in all_labels), len(of_paper)]))
    return [*lines, "", "```"]


def item_row(item, chapters, labels, run):
    """The row of an item."""
    place = "—"
    if item["chapter"] in chapters:
        heading, anchors = chapters[item["chapter"]]
        anchor = f"#{item['id']}" if item["id"] in anchors else ""
        place = (
            f'<a class="internal" href="{item["chapter"]}.html{anchor}">{html.escape(heading)}</a>'
        )
    marks = ", ".join(f'<span class="how">{label}</span>' for label in labels)
    name = f'<span id="{item["id"]}"></span>{item["item"]}'
    verdict = item["verdict"]
    if item["status"] == "differs" and "why" in item:
        verdict += f". **Why:** {item['why']}"
    return table_row([name, status_mark(item["status"]), item["what"], place, verdict, marks, run])
