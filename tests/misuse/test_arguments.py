"""Every argument of every public function of the statistics, tasks and estimators, with bad values of its kind.

The functions are those of ``__all__``; an argument without a kind fails a test here. Every bad value is refused in a
line that names the argument, but for those in `TAKEN`, each with a whole result.
"""

import inspect
import re
import signal
from dataclasses import fields, is_dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from fslbook import biased_tasks
from fslbook.attributes import Attributes
from fslbook.estimation import resampled
from fslbook.estimation.conformal import conformal_quantile
from fslbook.estimation.ranks import rank_correlation, selected_value
from fslbook.fewstab.tables import gaps
from fslcore import evaluation, stats, tasks as samplers
from fslcore.errors import InputError
from fslcore.report import Options
from fslcore.stats.formatting import format_interval
from fslcore.stats.intervals import limits
from fslcore.stats.pilot import moments

RNG = np.random.default_rng(0)
ODD = [None, "x", "", [], {}, object(), (1, 2, 3, 4, 5, 6, 7, 8), 1j, pd.NaT, "5", "0.5"]
TEXTS = [None, "nowhere", "", 3, [], b"SC3", np.nan]
NOT_FINITE = [np.nan, np.inf, -np.inf]
ARRAYS = [
    *ODD[:6],
    1j,
    [[1.0], [1.0, 2.0]],
    ["a", "b"],
    np.nan,
    np.zeros((2, 0)),
    np.zeros((2, 3, 4, 5)),
    0.5,
    [[0.5]],
    [None] * 9,
    np.array([1, np.nan] * 30),
    np.ma.masked_equal([0.5, 0.6, 9.0] * 20, 9.0),
    [1e400] * 5,
    [-1.0] * 5,
]
BAD = {
    "count": [*ODD, *NOT_FINITE, -1, 0, 2.5, True, 10**30, -(10**30), np.float64(3)],
    "seed": [*ODD, *NOT_FINITE, -1, 2.5, True, np.float64(3)],
    "counts": [
        *ODD[:6],
        *NOT_FINITE,
        -1,
        0,
        2.5,
        True,
        10**30,
        [1.5] * 5,
        [[1, 2]],
        [1, 2, 0],
        np.ma.masked_equal([1, 2], 2),
    ],
    "confidence_level": [*ODD, *NOT_FINITE, 0, 1, -0.5, 95, True],
    "bounds": [*ODD, (1, 0), (0, 0), (0, np.inf), (0, 1, 2), 1.0, np.nan],
    "positive": [*ODD, *NOT_FINITE, 0, -1.0, True],
    "at least 0": [*ODD[1:], *NOT_FINITE, -1e-9, True],
    "axis": [*ODD, 1, -2, 0.5, True],
    "real": [*ODD, *NOT_FINITE, True],
    "effect": [*ODD, np.nan, True],
    "frame": [*ODD, pd.Series([0.5]), pd.DataFrame(), np.zeros((2, 2))],
    "path": [None, 3, "", [], {}, b"r.csv"],
    "df": [*ODD, np.nan, -np.inf, 0, -3, 0.5],
    "array": ARRAYS,
    "positives": [*ARRAYS, 0.0, [0, 1, 2, 3, 4], -np.inf],
    "whole array": [*ARRAYS, [1.0, 2.0], [True]],
    "labels": [
        *ARRAYS[:6],
        [[1], [1, 2]],
        3,
        [1, None],
        ["a", 1],
        np.array([1, np.nan] * 30),
        np.eye(8),
        [1j] * 8,
    ],
    "choice": TEXTS,
    "flag": [None, 0, 1, "no", [], 2.5],
    "object": ODD,
    "mapping": [None, 3, "x", [], [1, 2]],
    "column": [3, 0.5, True, [], {}, b"x", np.nan],
    "column or count": [-1, 0, 2.5, True, [], {}, b"8", np.nan],
    "columns": [None, 3, True, {}, [3], [None], b"x", np.nan],
    "units of columns": [None, 3, "x", [], {"c": "nowhere"}, {"c": 3}, {"c": []}],
    "columns of units": [
        None,
        3,
        "x",
        [],
        {"nowhere": ["a"]},
        {"seed": "a"},
        {"seed": 3},
        {"seed": [3]},
    ],
    "any": [],
}
# The good value of an argument, spoilt.
SPOILT = {
    "with a NaN": lambda good: put(good, np.nan),
    "with inf": lambda good: put(good, np.inf),
    "as text": lambda good: np.asarray(good).astype(str),
    "with a dimension more": lambda good: np.asarray(good)[None],
    "empty": lambda good: np.asarray(good)[:0],
    "masked": lambda good: np.ma.masked_array(
        good, np.arange(np.size(good)).reshape(np.shape(good)) == 1
    ),
}


def put(good, value):
    spoilt = np.array(good, float)
    spoilt.flat[1] = value
    return spoilt


def bad(kind, good):
    """Bad values of a kind, by how they are shown."""
    values = {repr(value): value for value in BAD[kind]}
    if kind in ("array", "positives", "whole array", "labels") and np.size(good) > 2:
        values |= {
            name: spoil(good)
            for name, spoil in SPOILT.items()
            if (kind, name) != ("labels", "as text")
        }
    return values


# Bad values that are taken for good, by function and argument: what is no mistake there.
SINGLE = ("0.5", "[[0.5]]")
TEXT = ("None", "nan", "with a NaN", "with inf", "with a dimension more")
NEGATIVE = ("[-1.0, -1.0, -1.0, -1.0, -1.0]",)
NONE = ("[]", "empty", "array([], shape=(2, 0), dtype=float64)")
TAKEN = {
    # Of any shape.
    ("limits", "mean"): (*SINGLE, "with a dimension more"),
    ("limits", "half_width"): (*SINGLE, "with inf", "with a dimension more"),
    ("limits", "df"): SINGLE,
    ("format_interval", "estimate"): (*SINGLE, *TEXT),  # an empty text for what is no number
    ("format_interval", "half_width"): (*SINGLE, *TEXT),
    ("format_interval", "low"): (*SINGLE, *TEXT),
    ("format_interval", "high"): (*SINGLE, *TEXT),
    ("format_interval", "spec"): ("''",),
    ("open_task_count", "images"): (*SINGLE, *NONE),
    ("open_task_count", "queries"): (*SINGLE, *NONE),
    # Measures of any unit.
    ("welch_interval", "a"): NEGATIVE,
    ("welch_interval", "b"): NEGATIVE,
    ("simultaneous_intervals", "differences"): NEGATIVE,
    ("winner_interval", "df"): ("with inf",),  # of normal means
    ("probability_of_improvement", "a"): NEGATIVE,
    ("probability_of_improvement", "b"): NEGATIVE,
    ("conformal_quantile", "scores"): (
        *NEGATIVE,
        "[inf, inf, inf, inf, inf]",
        "with inf",
    ),  # inf: without an answer
    # None of them.
    ("holm", "p_values"): NONE,
    ("benjamini_hochberg", "p_values"): NONE,
    ("Tasks", "sampler"): ("{}",),
    ("run", "names"): ("[]", "{}"),
    ("normalise", "name"): ("'x'", "'5'", "'0.5'"),
    ("normalise", "drop"): ("[]",),
    ("normalise", "methods"): ("[]",),
    ("groups", "methods"): ("[]",),
}
LABELS = np.arange(8).repeat(12)
TASKS = samplers.sample_closed(LABELS, tasks=40, ways=5, shots=3, queries=2)
RIGHT = (RNG.random((30, 4, 6)) < RNG.uniform(0.3, 0.9, (30, 4, 1))).astype(float)
QUERIES = np.tile(np.arange(4).repeat(6), (30, 1))
A, B = RNG.uniform(0.5, 0.8, 30), RNG.uniform(0.4, 0.7, 30)
HAS = RNG.random((96, 12)) < 0.5
PLACES = {
    "scores": (RNG.random(TASKS.query.shape) < 0.6) - 1.0 * (RNG.random(TASKS.query.shape) < 0.5),
    "support": TASKS.support,
    "query": TASKS.query,
    "labels": LABELS,
}
RECORD = evaluation.Outcomes(RNG.random(TASKS.query.shape) < 0.5, TASKS.query_label)
ATTRIBUTES = Attributes(
    np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]], bool), ("a", "b", "c")
)
# Of the book's code some functions take what a user brings; some of the statistics are used inside the library only; of
# reports and attributes, those that take numbers.
MODULES = {
    "stats": stats,
    "inside stats": SimpleNamespace(
        limits=limits, moments=moments, format_interval=format_interval
    ),
    "tasks": samplers,
    "biased_tasks": biased_tasks,
    "estimation": SimpleNamespace(
        conformal_quantile=conformal_quantile,
        rank_correlation=rank_correlation,
        selected_value=selected_value,
    ),
    "resampled": resampled,
    "fewstab": SimpleNamespace(gaps=gaps),
    "report": SimpleNamespace(Options=Options),
    "attributes": ATTRIBUTES,
}

RESULTS = {"Interval", "Target", "ThreeIntervals", "Resplit"}  # made by functions, not by users

KINDS = {
    "real": "alpha beta gamma difference".split(),
    "count": "shots pool ways classes n_classes least most max_tasks k rounds n present absent".split(),
    "array": (
        "accuracies a b first second scores values scores_without p_values "
        "differences better covariance estimates estimate mean half_width low high variance difficulty"
    ).split(),
    "confidence_level": "level confidence_level power target_power".split(),
    "bounds": "bounds".split(),
    "at least 0": "atol".split(),
    "axis": "axis".split(),
    "whole array": "query support support_label query_label owner".split(),
    "labels": "labels groups class_groups attributes".split(),
    "flag": (
        "group_disjoint transductive paired unseen skip_small_classes balanced refill stored "
        "progress common lower_is_better higher_is_better"
    ).split(),
    "positives": "weights queries images error".split(),
    "choice": "target same_tasks sampling spec variant name estimator separator decimal".split(),
    "object": "model tasks pilot pilots sampler record names proposals methods".split(),
    "positive": "standard_error images_per_class margin out_of".split(),
    "df": "df".split(),
    "seed": "default seed".split(),
    "any": "method reference".split(),
    "mapping": "random biased".split(),
}
SAMPLER = dict(tasks="count", shots="counts", queries="counts")
#: Of functions whose argument of a name is of another kind than elsewhere.
OTHER_KINDS = {
    "compare_by_overlap": dict(a="object", b="object"),
    "jackknife_influence": dict(images="whole array", pool="whole array"),
    "optimal_queries": dict(tasks="positives"),
    "compare_printed": dict(a="object", b="object", tasks="count", images="count", queries="count"),
    "winner_interval": dict(df="positives"),
    "tost": dict(difference="object"),
    "confidence_sequence": dict(bounds="object"),
    "limits": dict(df="positives"),
    "sample_closed": SAMPLER,
    "sample_open": SAMPLER,
    "sample_all_classes": dict(tasks="count"),
    "sample_biased": SAMPLER | dict(support="choice", query="choice"),
    "Options": dict.fromkeys("seed rows pm".split(), "choice")
    | dict.fromkeys("reference method value group low high of".split(), "column")
    | dict.fromkeys("methods by where ignore".split(), "columns")
    | dict(n="column or count", unit="units of columns", columns="columns of units"),
}


def kind_of(function, argument):
    """The kind of values that an argument takes: a key of `BAD`."""
    kinds = {name: kind for kind, names in KINDS.items() for name in names} | OTHER_KINDS.get(
        function, {}
    )
    return kinds[argument]


SHAPE = dict(tasks=5, ways=4, shots=2, queries=3)
INTERVAL = stats.open_task_interval(A)
#: A good value of each argument, by its name; else its default.
GOOD = PLACES | dict(
    values=RIGHT.reshape(30, 24),
    scores=RIGHT.reshape(30, 24),
    accuracies=A,
    a=A,
    b=B,
    first=A,
    second=B,
    p_values=[0.01, 0.2, 0.03],
    groups=np.arange(96) // 2,
    class_groups=LABELS // 2,
    level=0.95,
    confidence_level=0.95,
    bounds=(-1, 1),
    target="new images",
    difference=0.1,
    standard_error=0.5,
    df=20.0,
    tasks=TASKS,
    ways=5,
    shots=3,
    k=3,
    rounds=2,
)
#: Of each function, the good values that are others than those in `GOOD`.
VALUES = {
    "stats": {
        "VarianceModel": dict(alpha=0.01, beta=0.2, gamma=0.1, shots=5),
        "closed_task_interval": dict(scores=A, bounds=(0, 1)),
        "open_task_interval": dict(scores=A, bounds=(0, 1)),
        "mcnemar": dict(a=np.arange(40) % 3 % 2, b=np.arange(40) % 2),
        "paired_interval": dict(atol=1e-9),
        "paired_differences": dict(atol=1e-9),
        "compare_by_overlap": dict(a=INTERVAL, b=INTERVAL),
        "jackknife_influence": dict(
            query=None,
            scores=PLACES["scores"].mean(axis=1),
            images=np.concatenate([TASKS.support, TASKS.query], axis=1),
        ),
        "three_intervals": dict(scores=PLACES["scores"]),
        "crossed_intervals": dict(
            labels=np.arange(24) // 8, weights=[1.0, 2.0, 3.0], groups=np.arange(24) % 12, pool=50
        ),
        "estimate_variance": dict(shots=5, labels=QUERIES),
        "optimal_queries": dict(
            model=stats.VarianceModel(0.01, 0.2, 0.1, 5), queries=[1, 2, 3], tasks=[60, 50, 40]
        ),
        "open_task_count": dict(images=6000, shots=5, queries=15),
        "power": dict(difference=1.0),
        "compare_printed": dict(
            a=(71.2, 0.4),
            b=(70.5, 0.5),
            tasks=600,
            images=3000,
            classes=20,
            shots=5,
            queries=15,
            same_tasks="yes",
            sampling="closed",
        ),
        "plan_sample_size": dict(
            pilot=stats.three_intervals(**PLACES), images_per_class=12, n_classes=8
        ),
        "new_run_interval": dict(a=RIGHT[:5, :, 0], b=None),
        "new_run_intervals": dict(a=np.stack([PLACES["scores"], 1 - PLACES["scores"]]), b=None),
        "plan_runs": dict(pilot=stats.new_run_interval(RIGHT[:5, :, 0], RIGHT[5:10, :, 0])),
        "simultaneous_intervals": dict(differences=[[0.1, 0.2, 0.4], [0.2, -0.1, 0.3]]),
        "rank_confidence_sets": dict(better=np.triu(np.ones((3, 3)), 1)),
        "winner_interval": dict(scores=A[:3], covariance=np.eye(3), df=np.full((3, 3), 99.0)),
        "tost": dict(difference=stats.paired_interval(A, B), margin=0.1),
        "confidence_sequence": dict(scores=A, bounds=(0, 1)),
        "friedman_nemenyi": dict(scores=RIGHT[:3, 0]),
    },
    "inside stats": {
        "limits": dict(mean=A, half_width=B, df=9.0),
        "format_interval": dict(estimate=A, half_width=B, low=A, high=B, spec=".1f"),
        "moments": dict(labels=QUERIES),
    },
    "tasks": {
        "Tasks": dict(
            support_label=TASKS.support_label,
            query_label=TASKS.query_label,
            sampler={},
            unseen=True,
        ),
        "sample_closed": SHAPE | dict(groups=np.arange(96)),
        "sample_open": dict(ways=4, shots=2, queries=3, max_tasks=5, groups=None),
        "sample_all_classes": dict(tasks=5, shots=2),
        "leave_one_out": dict(refill=True),
        "resplit": dict(estimator="bootstrap"),
    },
    "biased_tasks": {
        "sample_biased": SHAPE
        | dict(shots=1, attributes=HAS, support="SC3", query="QC3", variant="paper"),
    },
    "estimation": {
        "conformal_quantile": dict(scores=A, confidence_level=0.9),
        "rank_correlation": dict(first=RIGHT[:, :, 0], second=RIGHT[:, :, 1]),
        "selected_value": dict(estimates=RIGHT[:, :, 0], values=RIGHT[:, :, 1], default=0),
    },
    "resampled": {
        "estimate": dict(record=RECORD, owner=np.arange(40), n=40),
        "run": dict(method=None, names=("bootstrap",)),
    },
    "report": {
        "Options": dict(
            sampling="open",
            seed="runs",
            reference="ours",
            margin=1.0,
            methods=("ours", "base"),
            columns={"seed": ["s1", "s2"]},
            unit={"c": "task"},
            rows="item",
            by=("backbone",),
            where=("split=test",),
            ignore=("loss",),
            pm="se",
            n=600,
            common=True,
            lower_is_better=True,
            higher_is_better=False,
            out_of=100,
            separator="tab",
            decimal=",",
            pool=40,
            shots=8,
        )
    },
    "attributes": {
        "counts": dict(labels=np.array([0, 1, 0, 1])),
        "spurious": dict(labels=np.array([0, 1, 0, 1])),
    },
    "fewstab": {"gaps": dict(random={"ncc": RECORD}, biased={"ncc": RECORD})},
}
# Words of a message that stand for an argument: what it holds, where several are named together.
WORDS = {
    "estimates": "estimates|values",
    "values": "values|estimates",
    "first": "first and|first must|first:|first =|first goes",
    "second": "second must|second:|second =|and second",
    "a": "of a|a and|a must|a has|a:|a =|a goes",
    "n": "n must|n =|owner",
    "b": "of b|and b|b and|b must|b has|b:|b =",
    "accuracies": "accuracies|first |second ",
    "labels": "labels|images?|classes of the data",
    "scores": "scores|tasks|a has|second ",
    "images": "images|scores|values",
    "names": "names|name",
    "support_label": "support(_label)?",
    "query_label": "query(_label)?",
}


def good_values(module_name, name):
    """A good value of each argument of a function."""
    parameters = inspect.signature(getattr(MODULES[module_name], name)).parameters
    defaults = {key: argument.default for key, argument in parameters.items() if key != "check"}
    return {
        key: (GOOD | VALUES[module_name].get(name, {})).get(key, default)
        for key, default in defaults.items()
    }


def functions(module_name):
    """All public functions of a module; of one without a list of them, those with values here."""
    module = MODULES[module_name]
    names = getattr(module, "__all__", VALUES[module_name])
    return [name for name in names if callable(getattr(module, name)) and name not in RESULTS]


FUNCTIONS = [(module_name, name) for module_name in MODULES for name in functions(module_name)]
STATISTICS = functions("stats")


def test_good_values_are_taken_and_every_argument_has_a_kind():
    for module_name, name in FUNCTIONS:
        arguments = good_values(module_name, name)
        assert VALUES[module_name].get(name, {}).keys() <= arguments.keys(), name
        assert all(kind_of(name, argument) for argument in arguments)
        if name != "run":
            getattr(MODULES[module_name], name)(**arguments)


def as_tensor(kind, value):
    """The same numbers as PyTorch gives them: those that may have gradients have them."""
    if isinstance(value, dict):
        return {name: as_tensor("array", numbers) for name, numbers in value.items()}
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return value
    tensor = torch.tensor(value.copy())
    return tensor.double().requires_grad_() if kind in ("array", "positives") else tensor


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_take_tensors_with_gradients(name):
    arguments, function = good_values("stats", name), getattr(stats, name)
    tensors = {
        argument: as_tensor(kind_of(name, argument), value) for argument, value in arguments.items()
    }
    assert repr(function(**tensors)) == repr(function(**arguments))


def parts(result) -> list | tuple | None:
    """What a result is made of, its fields or its elements; None for an array, a number and the like."""
    if is_dataclass(result):
        return [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, (tuple, list)) else None


def levels(result) -> list[float]:
    """Every level that a result names, also in what it is made of."""
    named = (
        [result.confidence_level]
        if is_dataclass(result) and hasattr(result, "confidence_level")
        else []
    )
    for part in parts(result) or ():
        named += levels(part)
    return named


@pytest.mark.parametrize(
    "name", [name for name in STATISTICS if "confidence_level" in good_values("stats", name)]
)
def test_a_result_names_the_level_that_was_asked_for(name):
    result = getattr(stats, name)(**good_values("stats", name) | {"confidence_level": 0.8125})
    assert set(levels(result)) <= {0.8125}


def is_whole(result) -> bool:
    """Whether a result is whole: of texts, and of numbers that are no NaN."""
    # A whole number may be too large for an array of numbers.
    if result is None or isinstance(result, (str, int, samplers.Tasks)):
        return True
    if parts(result) is not None:
        return all(map(is_whole, parts(result)))
    values = np.asarray(result)
    if values.dtype == object:
        return all(map(is_whole, values.ravel()))
    return not np.isnan(values.astype(float)).any()


def is_taken(name, argument, value_name, value, default):
    """Whether a bad value of other arguments is a good one here."""
    # As the default is, or a count of something that takes no memory.
    is_large = kind_of(name, argument) == "count" and type(value) is int and value == 10**30
    by_default = value is None and default is None
    return by_default or is_large or value_name in TAKEN.get((name, argument), ())


def fault(function, name, arguments, argument, value_name, value):
    """What is wrong with the answer to a bad value of an argument, or nothing."""
    signal.setitimer(signal.ITIMER_REAL, 3)
    try:
        result = function(**arguments | {argument: value})
    except InputError as error:
        text = str(error)
        named = re.search(rf"(?<!\w)({WORDS.get(argument, argument)})(?!\w)", text)
        return "" if named and "\n" not in text and len(text) < 400 else f"the line is {text}"
    default = inspect.signature(function).parameters[argument].default
    is_answer = is_taken(name, argument, value_name, value, default)
    return "" if is_answer and (value is None or is_whole(result)) else f"it gives {result!r}"


@pytest.mark.parametrize("module_name, name", FUNCTIONS)
def test_every_bad_value_of_an_argument_is_named_or_its_result_is_whole(module_name, name):
    function, arguments = getattr(MODULES[module_name], name), good_values(module_name, name)
    faults = [
        f"{argument} = {value_name}: {text}"
        for argument, good in arguments.items()
        for value_name, value in bad(kind_of(name, argument), good).items()
        if (text := fault(function, name, arguments, argument, value_name, value))
    ]
    assert not faults, "\n".join(faults)
