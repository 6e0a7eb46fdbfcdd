"""The audits of the three papers: a check for each claim, what it gives, and its verdict."""

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
        "differs": """many-folds-select enough-to-select high-bias not-co-linear same-episodes less-training
            error-definition half-off-by-ten bernoulli best-selectors oracle-episodes""",
        "cannot be checked here": """hold-out-size three-runs shots-help clip-milder imbalance-half
            five-folds-ideal ways-matter best-correlation many-rounds-rank tuning-few-ways best-within-ten""",
    },
    "fewstab": {
        "differs": """gap-is-bias same-model equation-1 rho-bounds one-shot-ineffective higher-degree
            acc-not-wacc top-five-mini cub-increments cub-pattern ifsl table-6 blip-lower""",
        "cannot be checked here": "same-tasks training-shots sc2-reason detection-little",
    },
}


@pytest.mark.parametrize("paper", CHECKS)
def test_verdicts(rows_of, paper):
    rows = rows_of[paper]
    assert {*rows["verdict"]} == {*VERDICTS.values()}
    for verdict, claims in VERDICT_OF_CLAIMS[paper].items():
        assert {*rows.index[rows["verdict"] == verdict]} == {*claims.split()}


GIVES = {
    "oops": """width-ratio: closed / open is 0.61 on average; open / closed is 4.00 (median 2.07)
flip-flop: 114 − 27 − 12 = 75 pairs would be conclusive open, but 57 are; 75 + 27 = 102 paired, but 94 are
flip-flop-percent: 23.7 %
closed-conclusive: show 64 of the 135 pairs, 45 of them conclusive; 69 of the other 71
open-conclusive: 81 of the 135 pairs, 31 of them conclusive
paired-conclusive: 81 of the 135 pairs, 60 of them conclusive
dinov2-table-number: Table 4; Table 6 has CLIP
ft-less-effective: 67 worse of 162 (S = 1: 19 better, 10 worse of 54; S = 5: 4 better, 24 worse of 54
ft-less-effective: S = 10: 1 better, 33
dinov2-advantage: 7 of 9 data sets of Table 4 (not omniglot, traffic-signs)
inversions: 1 among the 55 pairs
ft-better: 4 by the paired symbol of Table 3, 0 by the open one
ft-worse: 14 by the paired symbol of Table 3, 1 by the open one
open-far-wider: 28 of 36
until-exhausted: holds 77,102 tasks of 100 images""",
    "evaluators": """five-fold-lowest: 15 of 15 rows
under-estimate: 56 of 60
pessimists: 30 of 30
error-definition: miniimagenet protonet bootstrap: 26.46 against 28.45
error-definition: meta-album maml bootstrap: 17.67 against 18.42
same-episodes: 12 of 30 errors
same-episodes: baseline, baseline++, maml on cifar-fs, miniimagenet
hold-out-size: 3.0 to 3.4 images in 6 of 15 rows and 4.7 to 6.2
half-off-by-ten: 8.95 (protonet 5-fold) to be beyond 10 points in 89.5% of episodes at most
half-off-by-ten: 3 of the 18 cells in which they can be (0.37 to 0.49)
enough-to-select: 12 of 12 cells
enough-to-select: in 3 of 12; by closed intervals 0 better, 5 worse
ridge-tuning: cifar-fs +1.72, miniimagenet +2.75, meta-album -0.90; by closed intervals 2 better, 0 worse
maml-tuning: 1 better, 2 worse, 0 open
maml-tuning: on cifar-fs by 31 points
best-selectors: against 5-fold 0 better, 0 worse, 6 open, and against hold-out 5 better
imbalance-unchanged: 3 of 3 data sets; 9 of 12
stable-protonet: 4 of 6 columns
oracle-episodes: 80.1 ± 0.49 against 82.1 ± 0.50
less-training: 15 of 15""",
    "fewstab": """below-random: 60 of 60 cells of Table 3; by closed intervals 60 of 60
gap-is-bias: miniimagenet 44%, tieredimagenet 60%, cub 54%
same-model: 1 of 60 cells impossible (cub 5 boil: Acc 86.11 needs wAcc-R ≥ 30.55, printed 21.33)
same-model: 0.90 to 1.10
same-model: 1.35 to 2.91
equation-1: 60 of 60
gap-grows: 28 of 30
higher-degree: 20 of 30
higher-degree: in log-odds in 27 of 30
table-6: 2 of 6 cells agree
table-6: tieredimagenet 5-shot 0.99, recomputed 0.94
average-drops: 17 of 18
top-five-mini: 4.78 points
top-five-tiered: 0.90 points
acc-not-wacc: 0.85, without BOIL of 0.92
cub-increments: 7.13 points against 1.24
ifsl: better in 2, worse in 2, open in 4
blip-lower: 36 of 40
blip-more: cub 0.85 times
bird-blip: 129 and 41 or 130 and 42
recent-learners: 12 of 12""",
}


def lines_of(text_of_papers):
    """(paper, line) of each line."""
    return [(paper, line) for paper, text in text_of_papers.items() for line in text.splitlines()]


@pytest.mark.parametrize("paper, line", lines_of(GIVES))
def test_what_the_tables_give(rows_of, paper, line):
    claim, gives = line.split(": ", 1)
    assert gives in rows_of[paper].loc[claim, "gives"]


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


@pytest.mark.parametrize("paper, line", lines_of(OTHER_FIGURES))
def test_another_figure_gets_another_verdict(evidence_of, paper, line):
    claim, value, verdict = line.split(": ")
    assert VERDICTS[CHECKS[paper].by_claim[claim](value, evidence_of[paper])[1]] == verdict
