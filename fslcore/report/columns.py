"""What the columns of a results file are called, and what their names mean.

One table of synonyms serves the reader here and the form in the book (``book/_static/labs``). Names
are compared in lower case, without blanks, `_`, ``-``, ``/`` and ``.``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# The meaning of a column and the names it may have, the more specific names first.
SYNONYMS = {
    "accuracy": (
        "accuracy acc testaccuracy testacc accuracies meanaccuracy meanacc top1accuracy top1acc "
        "top1 novelacc novelaccuracy queryacc queryaccuracy episodeacc taskacc score testscore correct "
        "iscorrect right value"
    ),
    "half_width": "halfwidth ci95 ci confidenceinterval conf plusminus ± pm 95ci errorbar",
    "task": "task taskid episode episodeid ep iter iteration trial idx taskindex step",
    "method": "method model algorithm approach learner name modelname system classifier run",
    "backbone": "backbone encoder featureextractor",
    "seed": "seed randomseed rngseed split fold draw",
    "run": "run runid training replicate repetition rep",
    "dataset": "dataset data benchmark domain targetdataset testset corpus",
    "shots": "shots shot nshot nshots kshot numshots k",
    "ways": "ways way nway nways numways",
    "queries": "queries nquery numqueries",
    "sampling": "sampling sampler",
    "class": "class classname label category",
    "item": "item itemid query queryid docid sampleid question questionid instanceid exampleid "
    "image imageid imgid filename",
    "support": "support supportid supportset prompt promptid",
    "group": "group cluster subject",
}
# Numbers whose differences between methods are no differences of accuracy.
LOWER_IS_BETTER = set(
    "err error errors errorrate loss losses nll ece brier ce entropy perplexity ppl time times "
    "runtime duration elapsed latency seconds ms rmse mse mae wer cer".split()
)
OTHER_MEASURES = LOWER_IS_BETTER | set(
    "std sd stdev stderr sem se var variance f1 precision recall auc auroc kappa mcc iou timestamp "
    "createdat date memory mem gpu cpu flops params wd momentum temperature epoch epochs "
    "count counts diff difference delta train training trainacc val valid validation dev".split()
)
SUMMARIES = set(
    "count mean means avg average median sum total overall all min max std sd mittelwert "
    "moyenne".split()
)
# Words beside those of a summary that do not make it a method.
BESIDE_SUMMARIES = {"acc", "accuracy", "test", "of", "over", "tasks", "datasets", "rank"}
INDEX_NAME = re.compile(r"|unnamed: ?\d+|index|level_\d+|__index_level_\d+__|#", re.IGNORECASE)
ROW_NAME = re.compile(rf"{INDEX_NAME.pattern}|(?:.*[^a-z])?u?u?id", re.IGNORECASE)
TRACKED = re.compile(r"(?P<run>.+?) - (?P<metric>.+?)(?P<bound>__MIN|__MAX)?")
# Names of columns that hold a number: of a seed, a run or a task, alone or behind a method, or of
# shots.
NUMBERED_UNIT = re.compile(
    r"(?P<word>seed|run|split|fold|task|episode|ep)?[-_ ]*(?P<number>\d+)", re.IGNORECASE
)
NUMBERED_METHOD = re.compile(
    r"(?P<method>.+?)[-_ .]+(?P<word>seed|run|split|fold)[-_ ]*(?P<number>\d+)", re.IGNORECASE
)
SHOTS = re.compile(
    r"(?:(?P<method>.+?)[-_ ]+)?(?P<number>\d+)[- _]?shots?(?:[-_ ]+b?acc(?:uracy)?)?",
    re.IGNORECASE,
)


def plain_name(name: object) -> str:
    """A column's name as it is compared: lower case, without blanks, separators and remarks."""
    without_remarks = re.sub(r"[(\[].*?[)\]]|[%↑↓]", "", str(name))
    return re.sub(r"[\s_\-/.]+", "", without_remarks).lower()


def words_of(name: object) -> set[str]:
    """The words of a name in lower case, also those that begin with a capital letter."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower()
    return {plain_name(name), *re.findall(r"[^\W_\d]+\d*", spaced)}


def meanings(names: Iterable[object]) -> dict[str, list[str]]:
    """By meaning, the columns that may have it: the one whose name is most specific first.

    Parameters
    ----------
    names : of str
        Names of columns, as written.

    Returns
    -------
    dict of list of str
        A name with two meanings, such as ``run``, is listed for both.
    """
    compared = {str(name): plain_name(name) for name in names}
    columns = {}
    for meaning, synonyms in SYNONYMS.items():
        ranking = {synonym: rank for rank, synonym in enumerate(synonyms.split())}
        candidates = [name for name in compared if compared[name] in ranking]
        if candidates:
            columns[meaning] = sorted(candidates, key=lambda name: ranking[compared[name]])
    return columns


def chosen_meanings(names: Iterable[object]) -> dict[str, str]:
    """By column its meaning, where every meaning has one column at most.

    ``run`` is the method where nothing else names a method, as in exports of tracking tools.
    """
    columns = meanings(names)
    methods = columns.get("method", [])
    runs = columns.get("run", [])
    if len(methods) > 1 or "backbone" in columns:
        methods = [name for name in methods if name not in runs]
    columns["method"] = methods
    columns["run"] = [name for name in runs if name not in methods]
    return {candidates[0]: meaning for meaning, candidates in columns.items() if candidates}


def is_other_measure(name: object) -> bool:
    """Whether a column's name says that its numbers are no accuracies on test tasks."""
    return bool(words_of(name) & OTHER_MEASURES)


def is_summary(name: object) -> bool:
    """Whether a name consists of words for a mean, a sum or a spread over the others."""
    words = set(re.findall(r"[^\W_\d]+", str(name).lower()))
    return bool(words & SUMMARIES) and words <= SUMMARIES | BESIDE_SUMMARIES
