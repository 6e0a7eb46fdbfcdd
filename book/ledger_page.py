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
FIELDS = {"id", "paper", "item", "what", "chapter", "how", "profile", "verdict"}
# Besides, by key: `claims`, what the paper concludes from it; `why` a claim fails on the book's own data; why it
# is `untested`; and `counted`, the part of the verdict that says in how many cases it holds.
BY_CLAIM = ("why", "untested", "counted")
# And `live_in`, the chapter that makes the item again on other data, where `chapter` has what was released.
OPTIONAL = {"claims", "live_in", *BY_CLAIM}
# What became of an item, in one word; `status_of_claims` decides it.
STATUS = {
    "reproduced": "every claim of the item holds here",
    "partly": "some of its claims hold here; others do not, hold in part, or are not tested",
    "differs": "more of its claims fail here than hold",
    "shown": "made again on other data or with other captioners; no claim of it is tested",
    "printed": "settings and counts as the paper prints them: there is no result to reproduce",
}
# Verdicts of a run on a claim; `word_of_claim` decides it.
CLAIM_WORDS = ("holds", "holds in part", "does not hold", "not tested here")
HEAD = [
    "Item",
    "Status",
    "What it shows",
    "Where",
    "Verdict",
    "Why",
    "How",
    "Run on the paper's data",
]
# The label of `fslbook.published.LABELS` of a run for which the reasons of the ledger were not written.
OTHER_DATA = "live on the paper's data"
ON_STATUS = (
    "The run that built this page decides the status, from the item's *claims*: what the paper concludes from the table"
    " or figure, and, where the authors released the accuracy of each task, its printed digits. A claim about several"
    " cases holds if it holds in at least nine in ten of them, does not hold if it holds in at most half of them, and"
    " holds in part between. An item without a claim that is tested here is *shown*. With other parameters the statuses"
    " may be others. *Why* gives the reason for each claim that does not hold, holds in part or is not tested; where"
    " the chapter has none, it says *not known*."
)
FILTER = (  # filled by its script; without scripts the tables are whole, in the papers' order
    '<div class="ledger-filter" hidden></div>',
    '<script src="_static/labs/ledger.js" defer></script>',
)
CODE_PAGE = "ledger-code"
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
    if "live_in" in item and "live" not in item["how"]:
        return "`live_in` of an item whose `how` has no live"
    if item["profile"] not in (item["paper"], "none"):
        return f"`profile` is {item['paper']} or none"
    claims = item.get("claims", {})
    if not isinstance(claims, dict) or not all(re.fullmatch(r"[a-z]\w*", key) for key in claims):
        return "`claims` gives each claim a key (a-z, 0-9, _)"
    if claims and item["how"] == ["settings"]:
        return "`claims` of an item that only prints settings: there is no result to judge"
    for field in BY_CLAIM:
        unknown = sorted(set(item.get(field, {})) - set(claims))
        if unknown:
            return f"`{field}` of {', '.join(unknown)}, which is no claim of it"
    absent = [text for text in item.get("counted", {}).values() if text not in item["verdict"]]
    if absent:
        return f"`counted` is a part of the verdict, which does not have {absent[0]!r}"
    return ""


def texts_of(item):
    """All texts of an item that read values of chapters."""
    return [item["verdict"], *(text for field in BY_CLAIM for text in item.get(field, {}).values())]


def check_counts(item, judged):
    """Raise `SiteError` if a filled verdict counts other cases of a claim than those that decide the status.

    A part of the verdict with several counts ("20 of 20 on icons, 8 of 10 on clipart") is summed. Of a claim that is
    not tested, it may count cases that are too few.
    """
    for key, text in item.get("counted", {}).items():
        if judged[key][1] == 0:
            continue
        counts = [
            (int(count.replace(",", "")), int(cases.replace(",", "")))
            for count, cases in re.findall(r"([\d,]+) of ([\d,]+)", text)
        ]
        shown = tuple(map(sum, zip(*counts))) or (0, 0)
        if shown != tuple(judged[key]):
            raise SiteError(
                f"ledger.yml: {item['id']}: the verdict has {shown[0]} of {shown[1]} cases of {key} ({text!r});"
                f" {item['chapter']} judges {judged[key][0]} of {judged[key][1]}"
            )


def word_of_claim(count, cases):
    """The word of ``CLAIM_WORDS`` for a claim that holds in ``count`` of its ``cases``."""
    holds, in_part, fails, untested = CLAIM_WORDS
    if cases == 0:
        return untested
    share = count / cases
    return holds if share >= 0.9 else fails if share <= 0.5 else in_part


def status_of_claims(item, judged):
    """The status of an item and a word for each of its claims.

    Parameters
    ----------
    item : dict
    judged : dict
        By key of each claim, the number of cases in which it holds in the run and the number of cases
        (`executed.judged`).

    Returns
    -------
    str
        Of ``STATUS``.
    dict
        A word of ``CLAIM_WORDS`` by key.

    Raises
    ------
    SiteError
        The chapter judges other claims than the item lists.
    """
    claims = item.get("claims", {})
    if claims.keys() != judged.keys():
        raise SiteError(
            f"ledger.yml: {item['id']}: its claims are {', '.join(claims) or 'none'}; {item['chapter']} judges"
            f" {', '.join(judged) or 'none'}"
        )
    words = {key: word_of_claim(*judged[key]) for key in claims}
    counts = Counter(words.values())
    holds, _, fails, untested = (counts[word] for word in CLAIM_WORDS)
    if item["how"] == ["settings"]:
        status = "printed"
    elif untested == len(words):
        status = "shown"
    elif holds == len(words):
        status = "reproduced"
    else:
        status = "differs" if fails > holds else "partly"
    return status, words


def check_chapters(items, claims_of_chapter):
    """Raise `SiteError` if a chapter judges an item that the ledger does not place there."""
    chapter_of_item = {item["id"]: item["chapter"] for item in items}
    for chapter, claims_of_item in claims_of_chapter.items():
        for name in claims_of_item:
            if chapter_of_item.get(name) != chapter:
                raise SiteError(
                    f"ledger.yml: {chapter} judges {name}, which is no item of this chapter"
                )


def verdict_chapters(item):
    """Other chapters that an item's verdict reads values of."""
    return {chapter for chapter, _ in re.findall(KEY, " ".join(texts_of(item))) if chapter}


def table_row(cells):
    """A row of a Markdown table."""
    texts = (" ".join(str(cell).split()) for cell in cells)
    escaped = (re.sub(r"(?<!\\)\|", r"\\|", text) for text in texts)
    return f"| {' | '.join(escaped)} |"


def status_mark(word):
    return f'<span class="status status-{word}">{word}</span>'


def render_ledger(items, chapters, status, code_anchors=frozenset()):
    """The ledger as a MyST page.

    Parameters
    ----------
    items : list of dict
        With ``status`` and ``claim_words``, which `status_of_claims` gives.
    chapters : dict
        By name of each chapter in the site, ``(title, anchors)``. An item links to its own anchor there, or to the top
        of the page while the anchor is missing.
    status : dict
        By item, `provenance.Status`.
    code_anchors : set of str
        Items whose code the page `CODE_PAGE` shows, each below an anchor of its name.
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
    lines += [*counts_by_label(items, labels, LABELS), "", *FILTER]
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
                place = place_of(item, chapters, item["id"] in code_anchors)
                run = status[item["id"]].text
                lines.append(item_row(item, place, labels[item["id"]], run))
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


def place_of(item, chapters, has_code):
    """Links to an item's place in its chapter, and to its code."""
    if item["chapter"] not in chapters:
        return "—"
    _, anchors = chapters[item["chapter"]]
    anchor = f"#{item['id']}" if item["id"] in anchors else ""
    link = _link(item["chapter"], chapters, anchor)
    if item.get("live_in") in chapters:
        link += f"<br>live: {_link(item['live_in'], chapters)}"
    if has_code:
        link += f'<br><a class="internal" href="{CODE_PAGE}.html#{item["id"]}">its code</a>'
    return link


def _link(chapter, chapters, anchor=""):
    heading, _ = chapters[chapter]
    return f'<a class="internal" href="{chapter}.html{anchor}">{html.escape(heading)}</a>'


def reasons(item, labels):
    """Why an item is not reproduced: a sentence for each claim that does not hold, holds in part or is not tested."""
    holds, *_, untested = CLAIM_WORDS
    if item["status"] == "printed":
        return ["The paper's settings or counts: there is no result to reproduce."]
    if not item.get("claims"):
        return [
            "An example, or numbers from which the paper concludes nothing that a run could test."
        ]
    said = {}
    for key, word in item["claim_words"].items():
        if word != holds:
            field, default = (
                ("untested", "the run has no case of it")
                if word == untested
                else ("why", "not known")
            )
            own_data = OTHER_DATA not in labels
            reason = item.get(field, {}).get(key, default) if own_data else default
            said.setdefault(reason, []).append(f"*{item['claims'][key]}* ({word})")
    return [f"{' and '.join(claims)}: {reason}." for reason, claims in said.items()]


def judged_claims(item):
    """Each claim with its word, and the cases that it holds in where these are several."""
    texts = []
    for key, word in item["claim_words"].items():
        count, cases = item["judged"][key]
        of_cases = f" ({count:,} of {cases:,})" if cases > 1 else ""
        texts.append(f"{item['claims'][key]}: *{word}*{of_cases}")
    return "; ".join(texts)


def item_row(item, place, labels, run):
    """The row of an item."""
    marks = ", ".join(f'<span class="how">{label}</span>' for label in labels)
    name = f'<span id="{item["id"]}"></span>{item["item"]}'
    verdict = item["verdict"]
    if item.get("claims"):
        verdict += f"<br>**Claims:** {judged_claims(item)}"
    why = "<br>".join(reasons(item, labels)) if item["status"] != "reproduced" else "—"
    mark = status_mark(item["status"])
    return table_row([name, mark, item["what"], place, verdict, why, marks, run])
