"""Whether the items of the ledger were run on the paper's own data: by this build, by somebody else, or not yet.

Nothing of it is typed. A build counts where its executed chapter names all data and weights that the paper's profile
names for it, and each of their digests is that of the manifest which ships (`fslcore.sources`), where it lists one.
"""

import html
import json
import re
from dataclasses import dataclass
from itertools import chain

from executed import SiteError

NEEDLESS = "no data of the paper"
NOT_YET = "not yet"


@dataclass(frozen=True)
class Status:
    """What the ledger says of an item, as Markdown, and which labels of `fslbook.published.LABELS` follow."""

    text: str
    labels: tuple = ()


def escaped(text):
    """Any text in one line as Markdown that shows it: no HTML, no emphasis, no formula, no cell of a table."""
    return re.sub(r"([\\`*_{}\[\]$|~^])", r"\\\1", html.escape(text))


def of_items(items, root, notebooks):
    """`Status` by id. ``notebooks`` is the folder of the executed chapters; without a profile an item is not yet run.

    Raises
    ------
    SiteError
        A file in ``data/contributed`` that does not pass its checks.
    """
    from fslbook import contributed
    from fslbook.notebooks import profile
    from fslcore.errors import InputError

    try:
        packs = contributed.contributed(root / "data" / "contributed")
    except InputError as error:
        raise SiteError(f"data/contributed: {error}") from None
    names = {item["profile"] for item in items} - {"none"}
    profiles = {name: path for name in names if (path := root / "profiles" / f"{name}.yml").is_file()}
    given = {name: profile(path, absent=True) for name, path in profiles.items()}
    found = {}
    for item in items:
        asked = given.get(item["profile"], {}).get(item["chapter"])
        if item["profile"] == "none":
            found[item["id"]] = Status(NEEDLESS)
        elif asked is None:
            found[item["id"]] = Status(NOT_YET)
        else:
            done = executed(notebooks / f"{item['chapter']}.ipynb")
            covered = item["id"] in BY_TASK.get(item["chapter"], [item["id"]])
            reported = by_others(item["chapter"], asked, packs) if covered else None
            found[item["id"]] = here(asked, done) or reported or Status(NOT_YET)
    return found


def executed(path):
    """The parameters that a chapter was executed with."""
    if not path.is_file():
        return {}
    return json.loads(path.read_text("utf-8"))["metadata"].get("papermill", {}).get("parameters", {})


def named(parameters):
    """What parameters name of the shipped manifest, with its name there; no files and folders of one's own."""
    from fslcore import sources

    known = sources.shipped()
    values = chain.from_iterable(v if isinstance(v, list) else [v] for v in parameters.values())
    found = {word: plain(word) for value in values if isinstance(value, str) for word in value.split(" ")}
    return {word: name for word, name in found.items() if name in {**known.data, **known.same, **known.weights}}


def plain(name):
    """'cub-fewstab' of 'cub?splits=fewstab', 'clip' of 'clip-released'; 'dtd:PATH' stays, and is not listed."""
    from fslcore.datasets.load import READERS, source_of

    return source_of(name) if name.partition("?")[0] in READERS else name.removesuffix("-released")


def here(asked, parameters):
    """What this build ran of what the profile names; None where that is nothing, or other data."""
    from fslcore import evaluation, sources
    from fslcore.models import registry

    wanted, known = named(asked), sources.shipped()
    names = set(wanted.values())
    data = {name: sources.digests(name) for name in names if name not in known.weights}
    if not data or not wanted.items() <= named(parameters).items():
        return None
    networks = {name: word for word, name in wanted.items() if word in registry.entries() and name not in data}
    weights = {name: evaluation.load_backbone(word).weights for name, word in networks.items()}
    wrong, unlisted = sources.differing(data, weights, known)
    if wrong:
        return None
    unlisted += names - data.keys() - weights.keys()
    other = [name for name, value in asked.items() if parameters.get(name) != value]
    said = f"yes, with other {', '.join(other)}" if other else "yes"
    more = f" (no digest is listed of {', '.join(sorted(unlisted))})" if unlisted else ""
    return Status(f"{said}{more}", ("live on the paper's data",))


def by_others(chapter, asked, packs):
    """Who has contributed the evaluations of a chapter, all of them or a part; None where nobody has."""
    from fslbook.evaluations import evaluations

    wanted = {e: _key(e) for e in evaluations({chapter: asked}).get(chapter, ())}
    names = []
    for one in packs:
        kept = {_key(row): row["tasks"] for row in one.about["results"]}
        there = [e for e, key in wanted.items() if key in kept and _enough(kept[key], e.tasks)]
        if there:
            names.append(escaped(one.by) + (" (in part)" if len(there) < len(wanted) else ""))
    return Status(f"reported by {', '.join(names)}", ("reported",)) if names else None


KEY = ("dataset", "backbone", "learner", "sampling", "ways", "shots", "queries", "seed", "captioner", "rounds")
#: Of chapters that show contributed cells in some of their tables: these.
BY_TASK = {
    "estimators": {"evaluators-table-1", "evaluators-table-2"},
    "selection": {"evaluators-table-5"},
    "spurious-bias": {"fewstab-table-3", "fewstab-table-s7"},
    "captioners-and-tasks": {"fewstab-table-s8"},
}


def _key(row):
    return tuple(row[name] if isinstance(row, dict) else getattr(row, name) for name in KEY)


def _enough(kept, wanted):
    return kept is None or (wanted is not None and kept >= wanted)
