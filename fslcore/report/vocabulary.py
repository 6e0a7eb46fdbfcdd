"""The words that name a role: of columns, of parts of paths, of headers.

Names are compared in lower case, without blanks, separators, arrows and remarks in brackets.
"""

from __future__ import annotations

import re

VOCABULARY = {
    "method": "method model learner algorithm approach classifier",
    "value": "accuracy acc testaccuracy testacc accuracies meanaccuracy meanacc accuracymean accmean "
    "top1accuracy top1acc top1 novelaccuracy novelacc queryaccuracy queryacc episodeaccuracy episodeacc taskaccuracy "
    "taskacc evalaccuracy evalacc numbers",
    "task": "task taskid episode episodeid",
    "item": "item itemid question questionid sampleid docid queryid exampleid instanceid imageid",
    "class": "class classname",
    "seed": "seed randomseed",
    "run": "run runid",
    "draw": "draw",
    "fold": "fold cvfold",
    "dataset": "dataset benchmark",
    "shots": "shots shot nshot nshots kshot numshots",
    "ways": "ways way nway nways numways",
    "queries": "queries nquery numqueries",
    "sampling": "sampling",
    "support": "support supportid supportset",
    "group": "group",
}
ROLE_OF = {name: role for role, names in VOCABULARY.items() for name in names.split()}
ANSWERS = {"correct", "iscorrect", "passed", "score"}  # accuracies where all values are 0 and 1
SPREADS = {
    "ci": "ci ci95 95ci halfwidth confidenceinterval errorbar",
    "se": "se sem stderr standarderror",
    "sd": "sd std stdev stddev standarddeviation",
}
KIND_OF_SPREAD = {name: kind for kind, names in SPREADS.items() for name in names.split()}
COUNTS = {"n", "ntasks", "numtasks", "nepisodes"}
LOWER_IS_BETTER = set(
    "err error errors errorrate loss losses nll ece brier ce entropy perplexity ppl time times "
    "runtime duration elapsed latency seconds ms rmse mse mae wer cer fid kid lpips forgetting".split()
)
# Other measures and facts of a run, which are left out where a column holds accuracies.
OTHER_MEASURES = LOWER_IS_BETTER | set(
    "f1 precision recall auc auroc auprc kappa mcc iou sensitivity specificity train training val "
    "valid validation dev".split()
)
FACTS = set(
    "timestamp date datetime createdat starttime endtime walltime memory mem gpu cpu host hostname "
    "flops params git githash gitsha commit sec".split()
)
STEPS = set("epoch epochs step steps globalstep iteration iterations iter".split())
TRIALS = set("trial trialid trialnumber".split())
VOTES = {"winner", "preference", "preferred"}
METRICS = {"metric", "measure", "metricname"}
SUMMARIES = set(
    "count mean means avg average median sum total overall all min max std sd mittelwert "
    "moyenne rank ranks wins miou".split()
)
MEANS = {"mean", "avg", "average"}
BESIDE_SUMMARIES = {"acc", "accuracy", "test", "of", "over", "tasks", "datasets"}
DESCRIBED = {"count", "mean", "std", "min", "max"}  # rows of pandas' describe()
REPORTED = {"macro avg", "weighted avg"}  # rows of scikit-learn's classification_report()
INDEX_NAME = re.compile(
    r"|column 1|unnamed: ?\d+|index|level_\d+|__index_level_\d+__|#", re.IGNORECASE
)
NUMBERED = re.compile(
    r"(?:(?P<method>.+?)[-_ .]+)?(?P<word>seed|run|fold|draw|task|episode)[-_ ]*(?P<number>\d+)"
    r"|(?:(?P<of>.+?)[-_ ]+)?(?P<shots>\d+)[- _]?shots?(?:[-_ ]+acc(?:uracy)?)?",
    re.IGNORECASE,
)


def plain_name(name: object) -> str:
    """A column's name as it is compared."""
    without_remarks = re.sub(r"[(\[].*?[)\]]|[%↑↓]", "", str(name))
    return re.sub(r"[\s_\-/.]+", "", without_remarks).lower()


def words_of(name: object) -> set[str]:
    """The words of a name in lower case, also those that begin with a capital letter."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower()
    return {plain_name(name), *re.findall(r"[^\W_\d]+\d*", spaced)}


def is_summary(name: object) -> bool:
    """Whether a name consists of words for a mean, a sum or a spread over the others."""
    words = set(re.findall(r"[^\W_\d]+", str(name).lower()))
    return bool(words & SUMMARIES) and words <= SUMMARIES | BESIDE_SUMMARIES


def kind_of_spread(name: object, value: object) -> str | None:
    """The kind of spread that a column holds beside the values: std, acc_std of acc or of acc_mean."""
    rest = plain_name(name).removeprefix(plain_name(value))
    known = KIND_OF_SPREAD.get(rest) or KIND_OF_SPREAD.get(plain_name(name))
    words, of_value = (re.findall(r"[^\W_]+", str(text).lower()) for text in (name, value))
    kinds = [KIND_OF_SPREAD[word] for word in words if word in KIND_OF_SPREAD]
    others = {word for word in words if word not in KIND_OF_SPREAD}
    is_alike = len(kinds) == 1 and others and others == {*of_value} - MEANS
    return known or (kinds[0] if is_alike else None)


def is_accuracy(name: object) -> bool:
    """Whether a name is one of the vocabulary's for accuracies."""
    return ROLE_OF.get(plain_name(name)) == "value"
