"""The audits of the three papers: a check for each claim, what it gives, and its verdict."""

import re

import pytest

from fslbook.checks import VERDICTS
from fslbook.evaluators import audit as evaluators
from fslbook.fewstab import audit as fewstab
from fslbook.oops import audit as oops

CHECKS = {"oops": oops.CHECKS, "evaluators": evaluators.CHECKS, "fewstab": fewstab.CHECKS}


@pytest.fixture(scope="module")
def evidence_of():
    """By paper, and without the released tasks."""
    return {
        "oops": oops.Evidence(),
        "evaluators": evaluators.Evidence(),
        "fewstab": fewstab.Evidence(draws=500),
    }


@pytest.fixture(scope="module")
def rows_of(evidence_of):
    return {paper: checks.run(evidence_of[paper]) for paper, checks in CHECKS.items()}


@pytest.mark.parametrize("paper", CHECKS)
def test_every_claim_has_a_check_and_every_check_a_claim(rows_of, paper):
    rows, checks = rows_of[paper], CHECKS[paper]
    assert {*rows.index} == {*checks.by_claim, *checks.repeats} and rows.index.is_unique
    assert len(rows) >= 25 and (rows["gives"] != "").all()


VERDICT_OF_CLAIMS = {
    "oops": {
        "differs": """width-ratio until-exhausted flip-flop not-confirmed alpha-positive q-star-synthetic
            one-task dinov2-table-number open-far-wider""",
        "cannot be checked here": """hard-for-all figure1-correlation paired-narrower open-conclusive
            paired-conclusive closed-conclusive q-star-1 q-star-5 q-star-10 paired-optimised-conclusive
            omniglot-removed""",
    },
    "evaluators": {
        "differs": """enough-to-select high-bias not-co-linear same-episodes less-training error-definition
            half-off-by-ten bernoulli""",
        "cannot be checked here": """hold-out-size three-runs shots-help clip-milder imbalance-half
            five-folds-ideal ways-matter best-correlation many-rounds-rank tuning-few-ways best-within-ten
            many-folds-select best-selectors oracle-episodes""",
    },
    "fewstab": {
        "differs": """gap-is-bias same-model equation-1 rho-bounds one-shot-ineffective acc-not-wacc
            top-five-mini cub-increments cub-pattern table-6 blip-lower""",
        "cannot be checked here": """same-tasks training-shots sc2-reason detection-little higher-degree
            ifsl""",
    },
}


@pytest.mark.parametrize("paper", CHECKS)
def test_verdicts(rows_of, paper):
    rows = rows_of[paper]
    assert {*rows["verdict"]} == {*VERDICTS.values()}
    for verdict, claims in VERDICT_OF_CLAIMS[paper].items():
        assert {*rows.index[rows["verdict"] == verdict]} == {*claims.split()}


# By claim, numbers and names that stand in this order in what its check gives, whatever the words around them.
FACTS = {
    "oops": """width-ratio: 0.61 4.00 2.07
flip-flop: 114 27 12 75 57 75 27 102 94
flip-flop-percent: 23.7
closed-conclusive: 64 135 45 69 71
open-conclusive: 81 135 31
paired-conclusive: 81 135 60
dinov2-table-number: 4 6 CLIP
ft-less-effective: 24 better 67 worse 162 1 19 better 10 worse 54 5 4 better 24 worse 54 10 1 better 33
dinov2-advantage: 7 9 4 omniglot traffic-signs
inversions: 1 55
ft-better: 4 paired 0 open
ft-worse: 14 paired 1 open
open-far-wider: 28 36
until-exhausted: 77,102 100""",
    "evaluators": """five-fold-lowest: 15 15
under-estimate: 56 60
pessimists: 30 30
error-definition: miniimagenet protonet bootstrap 26.46 28.45
error-definition: meta-album maml bootstrap 17.67 18.42
same-episodes: 12 30
same-episodes: baseline baseline++ maml cifar-fs miniimagenet
hold-out-size: 3.0 3.4 6 15 4.7 6.2
half-off-by-ten: 8.95 protonet 10 89.5
half-off-by-ten: 3 18 0.37 0.49
enough-to-select: 12 12
enough-to-select: 3 12 0 better 5 worse
ridge-tuning: cifar-fs +1.72 miniimagenet +2.75 meta-album -0.90 2 better 0 worse
maml-tuning: 1 better 2 worse 0 open
maml-tuning: cifar-fs 31
best-selectors: 5-fold 0 better 0 worse 6 open hold-out 5 better
imbalance-unchanged: 3 3 9 12
stable-protonet: 4 6
oracle-episodes: 80.1 0.49 82.1 0.50
less-training: 15 15""",
    "fewstab": """below-random: 60 60 closed 60 60
gap-is-bias: miniimagenet 44 tieredimagenet 60 cub 54
same-model: 1 60 cub 5 boil 86.11 30.55 21.33
same-model: 0.90 1.10
same-model: 1.35 2.91
equation-1: 60 60
gap-grows: 28 30
higher-degree: 28 30 20 30
higher-degree: 27 30
table-6: 2 6
table-6: tieredimagenet 5-shot 0.99 0.94
average-drops: 17 18
top-five-mini: 4.78
top-five-tiered: 0.90
acc-not-wacc: 0.85 BOIL 0.92
cub-increments: 7.13 1.24
ifsl: better 2 worse 2 open 4
blip-lower: 36 40
blip-more: cub 0.85
bird-blip: 129 41 130 42
recent-learners: 12 12""",
}


def lines_of(text):
    """The parts of each line."""
    return [line.split(": ") for line in text.splitlines()]


def stand_in(sentence, facts):
    """Whether all facts stand in a sentence, in this order."""
    words = (rf"(?<![\w.,]){re.escape(fact)}(?![\w+])" for fact in facts.split())
    return re.search(".*?".join(words), sentence)


@pytest.mark.parametrize("paper", FACTS)
def test_what_the_tables_give(rows_of, paper):
    gives = rows_of[paper]["gives"]
    missing = [
        (claim, facts, gives[claim])
        for claim, facts in lines_of(FACTS[paper])
        if not stand_in(gives[claim], facts)
    ]
    assert missing == []


# The lowest chance of an error beyond 10 points on miniImageNet, if errors are normal, is 37.3 %.
OTHER_FIGURES = {
    "oops": """width-ratio: 0.6: holds
ft-better: 5: differs
ft-cases: 35: differs
flip-flop-percent: ~22: differs
flip-flop: 96: differs
open-conclusive: 30: differs
closed-conclusive: 117: differs
dinov2-table-number: 4: holds
joint-coverage: 0.96: differs
inversions: 0: differs
inversions: 2: cannot be checked here
n-comparisons: 120: differs
sizes: 1500 840 152000 7900000: differs
no-contradiction: 1: differs
dtd-open-inconclusive: 1: differs""",
    "evaluators": """half-off-by-ten: 37: holds
half-off-by-ten: 38: differs""",
    "fewstab": """top-five-mini: 5: holds
gain-mini: 8.18: differs
models-all: 48: differs
rho-bounds: -1: holds""",
}


@pytest.mark.parametrize("paper", OTHER_FIGURES)
def test_another_figure_gets_another_verdict(evidence_of, paper):
    checks, evidence = CHECKS[paper].by_claim, evidence_of[paper]
    for claim, value, verdict in lines_of(OTHER_FIGURES[paper]):
        assert VERDICTS[checks[claim](value, evidence)[1]] == verdict, (claim, value)
