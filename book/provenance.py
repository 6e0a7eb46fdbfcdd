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
    """What the ledger reports on an item, as Markdown, and which labels of `fslbook.published.LABELS` follow."""

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
    profiles = {
        name: path for name in names if (path := root / "profiles" / f"{name}.yml").is_file()
    }
    parameters = {name: profile(path, absent=True) for name, path in profiles.items()}
    status = {}
    for item in items:
        name, chapter = item["id"], item.get("live_in", item["chapter"])
        wanted = parameters.get(item["profile"], {}).get(chapter)
        if item["profile"] == "none":
            status[name] = Status(NEEDLESS)
        elif wanted is None:
            status[name] = Status(NOT_YET)
        else:
            status[name] = by_this_build(wanted, executed(notebooks / f"{chapter}.ipynb"))
            if status[name] is None and name in BY_TASK.get(chapter, [name]):
                status[name] = by_others(chapter, wanted, packs)
            status[name] = status[name] or Status(NOT_YET)
    return status


def executed(path):
    """The parameters that a chapter was executed with."""
    if not path.is_file():
        return {}
    return (
        json.loads(path.read_text("utf-8"))["metadata"].get("papermill", {}).get("parameters", {})
    )


def named(parameters):
    """What parameters name of the shipped manifest, with its name there; no files and folders of one's own."""
    from fslcore import sources

    manifest = sources.shipped()
    listed = {**manifest.data, **manifest.aliases, **manifest.weights}
    values = chain.from_iterable(
        value if isinstance(value, list) else [value] for value in parameters.values()
    )
    words = chain.from_iterable(value.split(" ") for value in values if isinstance(value, str))
    names = {word: name_in_manifest(word) for word in words}
    return {word: name for word, name in names.items() if name in listed}


def name_in_manifest(word):
    """'cub-fewstab' of 'cub?splits=fewstab', 'clip' of 'clip-released'; 'dtd:PATH' stays, and is not listed."""
    from fslcore.datasets.listing import READERS
    from fslcore.datasets.loading import source_of

    return source_of(word) if word.partition("?")[0] in READERS else word.removesuffix("-released")


def by_this_build(wanted, parameters):
    """What this build ran of what the profile names; None where that is nothing, or other data."""
    from fslcore import evaluation, sources
    from fslcore.models import registry

    words, manifest = named(wanted), sources.shipped()
    names = set(words.values())
    data = {name: sources.digests(name) for name in names if name not in manifest.weights}
    if not data or not words.items() <= named(parameters).items():
        return None
    networks = {
        name: word
        for word, name in words.items()
        if word in registry.entries() and name not in data
    }
    weights = {name: evaluation.load_backbone(word).weights for name, word in networks.items()}
    wrong, unlisted = sources.differing(data, weights, manifest)
    if wrong:
        return None
    unlisted += names - data.keys() - weights.keys()
    changed = [name for name, value in wanted.items() if parameters.get(name) != value]
    text = f"yes, with other {', '.join(changed)}" if changed else "yes"
    if unlisted:
        text += f" (no digest is listed of {', '.join(sorted(unlisted))})"
    return Status(text, ("live on the paper's data",))


def by_others(chapter, wanted, packs):
    """The contributors of the evaluations of a chapter, all of them or a part; None where nobody has."""
    from fslbook.evaluations import evaluations

    keys = {
        evaluation: _key(evaluation)
        for evaluation in evaluations({chapter: wanted}).get(chapter, ())
    }
    names = []
    for pack in packs:
        tasks = {_key(row): row["tasks"] for row in pack.about["results"]}
        reported = [
            run for run, key in keys.items() if key in tasks and _enough(tasks[key], run.tasks)
        ]
        if reported:
            names.append(escaped(pack.by) + (" (in part)" if len(reported) < len(keys) else ""))
    return Status(f"reported by {', '.join(names)}", ("reported",)) if names else None


KEY = (
    "dataset",
    "backbone",
    "learner",
    "sampling",
    "ways",
    "shots",
    "queries",
    "seed",
    "captioner",
    "rounds",
)
#: Of chapters that show contributed cells in some of their tables: these.
BY_TASK = {
    "estimators": {"evaluators-table-1", "evaluators-table-2"},
    "selection": {"evaluators-table-5"},
    "spurious-bias": {"fewstab-table-3", "fewstab-table-s7"},
    "captioners-and-tasks": {"fewstab-table-s8"},
}


def _key(row):
    return tuple(row[name] if isinstance(row, dict) else getattr(row, name) for name in KEY)


def _enough(tasks, wanted):
    return tasks is None or (wanted is not None and tasks >= wanted)
