"""Every argument of every public function of the statistics, tasks and estimators, with bad values of its kind.

A name that is added to ``__all__`` and not to `FUNCTIONS`, and an argument without a kind, fail a test here. Every bad
value is refused in a line that names the argument, but for those in `TAKEN`, each with a whole result.
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

from fslbook.attributes import Attributes
from fslbook.estimation import resampled
from fslbook.fewstab.tables import gaps
from fslbook.oops import difficulty, optima
from fslcore import evaluation, stats
from fslcore import tasks as samplers
from fslcore.errors import InputError
from fslcore.report import Options
from fslcore.stats.intervals import limits, plus_minus
from fslcore.stats.pilot import moments
from fslcore.stats.power import smallest

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
    "level": [*ODD, *NOT_FINITE, 0, 1, -0.5, 95, True],
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
    "labels": [*ARRAYS[:6], [[1], [1, 2]], 3, [1, None], ["a", 1], np.array([1, np.nan] * 30), np.eye(8), [1j] * 8],
    "choice": TEXTS,
    "flag": [None, 0, 1, "no", [], 2.5],
    "object": ODD,
    "mapping": [None, 3, "x", [], [1, 2]],
    "function": [None, 3, "x", []],
    "any": [],
}
# The good value of an argument, spoilt.
SPOILT = {
    "with a NaN": lambda good: put(good, np.nan),
    "with inf": lambda good: put(good, np.inf),
    "as text": lambda good: np.asarray(good).astype(str),
    "with a dimension more": lambda good: np.asarray(good)[None],
    "empty": lambda good: np.asarray(good)[:0],
    "masked": lambda good: np.ma.masked_array(good, np.arange(np.size(good)).reshape(np.shape(good)) == 1),
}


def put(good, value):
    found = np.array(good, float)
    found.flat[1] = value
    return found


def bad(kind, good):
    """Bad values of a kind, by how they are shown."""
    found = {repr(value): value for value in BAD[kind]}
    if kind in ("array", "positives", "whole array", "labels") and np.size(good) > 2:
        found |= {f"{how}": spoil(good) for how, spoil in SPOILT.items() if (kind, how) != ("labels", "as text")}
    return found


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
    ("plus_minus", "mean"): (*SINGLE, *TEXT),  # an empty text for what is no number
    ("plus_minus", "half_width"): (*SINGLE, *TEXT),
    ("plus_minus", "spec"): ("''",),
    ("Options", "drop"): ("[]",),
    ("Options", "methods"): ("[]",),
    ("task_count", "images"): (*SINGLE, *NONE),
    ("task_count", "queries"): (*SINGLE, *NONE),
    # Measures of any unit.
    ("independent_interval", "a"): NEGATIVE,
    ("independent_interval", "b"): NEGATIVE,
    ("simultaneous_intervals", "differences"): NEGATIVE,
    ("winner_interval", "df"): ("with inf",),  # of normal means
    ("chance_better", "a"): NEGATIVE,
    ("chance_better", "b"): NEGATIVE,
    ("conformal_quantile", "scores"): (*NEGATIVE, "[inf, inf, inf, inf, inf]", "with inf"),  # inf: without an answer
    # None of them.
    ("holm", "p"): NONE,
    ("benjamini_hochberg", "p"): NONE,
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
    "values": (RNG.random(TASKS.query.shape) < 0.6) - 1.0 * (RNG.random(TASKS.query.shape) < 0.5),
    "support": TASKS.support,
    "query": TASKS.query,
    "labels": LABELS,
}
Q = np.array([1, 2, 4, 8, 16.0])
RECORD = evaluation.Record(RNG.random(TASKS.query.shape) < 0.5, TASKS.query_label)
FRAME = pd.DataFrame(50 + 5 * RNG.standard_normal((40, 3)), columns=["x", "y", "z"])
ATTRIBUTES = Attributes(np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]], bool), ("a", "b", "c"))
# Of the book's code some functions take what a user brings; some of the statistics are used inside the library only; of
# reports and attributes, those that take numbers.
MODULES = {
    "stats": stats,
    "inside stats": SimpleNamespace(limits=limits, moments=moments, plus_minus=plus_minus, smallest=smallest),
    "optima": optima,
    "tasks": samplers,
    "resampled": resampled,
    "fewstab": SimpleNamespace(gaps=gaps),
    "difficulty": difficulty,
    "report": SimpleNamespace(Options=Options),
    "attributes": ATTRIBUTES,
}

SOME = ("inside stats", "fewstab", "difficulty", "report", "attributes")  # of which not every name is here

# Of each name: its arguments as (kind, a good value); nothing for what is not called, and for results, which are
# made by the functions alone.
PAIR = {"a": ("array", A), "b": ("array", B), "level": ("level", 0.95)}
ATOL = {"atol": ("at least 0", 1e-9)}
ONE = {"accuracies": ("array", A), "level": ("level", 0.95), "bounds": ("bounds", (0, 1))}
SHAPE = {
    "labels": ("labels", LABELS),
    "tasks": ("count", 5),
    "ways": ("count", 4),
    "shots": ("counts", 2),
    "queries": ("counts", 3),
    "seed": ("seed", 0),
}
INTERVAL = stats.open_interval(A)
OWN = {"tasks": ("object", TASKS)}
FUNCTIONS = {
    "stats": {
        "LEVEL": None,
        "Interval": None,
        "ThreeIntervals": None,
        "VarianceModel": {
            "alpha": ("real", 0.01),
            "beta": ("real", 0.2),
            "gamma": ("real", 0.1),
            "shots": ("count", 5),
        },
        "closed_interval": ONE,
        "open_interval": ONE,
        "paired_proportions": {
            "a": ("array", np.arange(40) % 3 % 2),
            "b": ("array", np.arange(40) % 2),
            "level": ("level", 0.95),
        },
        "paired_interval": PAIR | ATOL | {"bounds": ("bounds", (-1, 1))},
        "independent_interval": PAIR | {"bounds": ("bounds", (-1, 1))},
        "paired_differences": {"a": ("array", A), "b": ("array", B), **ATOL, "axis": ("axis", 0)},
        "compare": {"a": ("object", INTERVAL), "b": ("object", INTERVAL)},
        "conformal_quantile": {"scores": ("array", A), "level": ("level", 0.9)},
        "influence": {
            "values": ("array", PLACES["values"].mean(axis=1)),
            "drawn": ("whole array", np.concatenate([TASKS.support, TASKS.query], axis=1)),
            "labels": ("labels", LABELS),
            "pool": ("whole array", None),
            "query": ("whole array", None),
            "replaced": ("array", None),
            "apart": ("flag", False),
            "groups": ("labels", np.arange(96) // 2),
            "class_groups": ("labels", LABELS // 2),
        },
        "three_intervals": {
            "values": ("array", PLACES["values"]),
            "support": ("whole array", TASKS.support),
            "query": ("whole array", TASKS.query),
            "labels": ("labels", LABELS),
            "groups": ("labels", np.arange(96) // 2),
            "class_groups": ("labels", LABELS // 2),
            "apart": ("flag", False),
            "transductive": ("flag", False),
            "level": ("level", 0.95),
            "bounds": ("bounds", (-1, 1)),
        },
        "crossed_intervals": {
            "values": ("array", RIGHT.reshape(30, 24)),
            "labels": ("labels", np.arange(24) // 8),
            "weights": ("positives", [1.0, 2.0, 3.0]),
            "groups": ("labels", np.arange(24) % 12),
            "pool": ("count", 50),
            "shots": ("count", 3),
            "level": ("level", 0.95),
            "bounds": ("bounds", (0, 1)),
        },
        "pilot": {
            "values": ("array", RIGHT.reshape(30, 24)),
            "shots": ("count", 5),
            "level": ("level", 0.95),
            "labels": ("labels", QUERIES),
            "target": ("choice", "images"),
            "bounds": ("bounds", (-1, 1)),
        },
        "best_queries": {
            "model": ("object", stats.VarianceModel(0.01, 0.2, 0.1, 5)),
            "queries": ("positives", [1, 2, 3]),
            "tasks": ("positives", [60, 50, 40]),
        },
        "task_count": {
            "images": ("positives", 6000),
            "ways": ("count", 5),
            "shots": ("count", 5),
            "queries": ("positives", 15),
        },
        "power": {
            "difference": ("real", 1.0),
            "standard_error": ("positive", 0.5),
            "df": ("df", 20.0),
            "level": ("level", 0.95),
        },
        "detectable": {
            "standard_error": ("positive", 0.5),
            "df": ("df", 20.0),
            "power": ("level", 0.8),
            "level": ("level", 0.95),
        },
        "from_printed": {
            "a": ("object", (71.2, 0.4)),
            "b": ("object", (70.5, 0.5)),
            "tasks": ("count", 600),
            "images": ("count", 3000),
            "classes": ("count", 20),
            "ways": ("count", 5),
            "shots": ("count", 5),
            "queries": ("count", 15),
            "same_tasks": ("choice", "yes"),
            "sampling": ("choice", "closed"),
            "level": ("level", 0.95),
        },
        "plan": {
            "pilot": ("object", stats.three_intervals(**PLACES)),
            "images_per_class": ("positive", 12),
            "n_classes": ("count", 8),
            "ways": ("count", 5),
            "shots": ("count", 3),
            "difference": ("real", 0.1),
            "power": ("level", 0.8),
            "level": ("level", 0.95),
        },
        "new_runs": {
            "accuracies": ("array", RIGHT[:5, :, 0]),
            "other": ("array", None),
            "paired": ("flag", False),
            "level": ("level", 0.95),
            "bounds": ("bounds", (-1, 1)),
        },
        "run_intervals": {
            "values": ("array", np.stack([PLACES["values"], 1 - PLACES["values"]])),
            "support": ("whole array", TASKS.support),
            "query": ("whole array", TASKS.query),
            "labels": ("labels", LABELS),
            "other": ("array", None),
            "paired": ("flag", False),
            "groups": ("labels", np.arange(96) // 2),
            "class_groups": ("labels", None),
            "transductive": ("flag", False),
            "level": ("level", 0.95),
            "bounds": ("bounds", (-1, 1)),
        },
        "chance_better": {
            "a": ("array", A),
            "b": ("array", B),
            "paired": ("flag", False),
            "level": ("level", 0.95),
        },
        "plan_runs": {
            "pilot": ("object", stats.new_runs(RIGHT[:5, :, 0], RIGHT[5:10, :, 0])),
            "difference": ("real", 0.1),
            "power": ("level", 0.8),
            "level": ("level", 0.95),
        },
        "holm": {"p": ("array", [0.01, 0.2, 0.03])},
        "benjamini_hochberg": {"p": ("array", [0.01, 0.2, 0.03])},
        "simultaneous_intervals": {
            "differences": ("array", [[0.1, 0.2, 0.4], [0.2, -0.1, 0.3]]),
            "level": ("level", 0.95),
            "bounds": ("bounds", (-1, 1)),
        },
        "rank_sets": {"better": ("array", np.triu(np.ones((3, 3)), 1))},
        "winner_interval": {
            "accuracies": ("array", A[:3]),
            "covariance": ("array", np.eye(3)),
            "df": ("positives", np.full((3, 3), 99.0)),
            "level": ("level", 0.95),
            "bounds": ("bounds", (0, 1)),
        },
        "rank_correlation": {"a": ("array", RIGHT[:, :, 0]), "b": ("array", RIGHT[:, :, 1])},
        "equivalence": {"difference": ("object", stats.paired_interval(A, B)), "margin": ("positive", 0.1)},
        "anytime_interval": {"values": ("array", A), "bounds": ("object", (0, 1)), "level": ("level", 0.95)},
        "across_datasets": {"accuracies": ("array", RIGHT[:3, 0]), "level": ("level", 0.95)},
        "picked": {"estimate": ("array", RIGHT[:, :, 0]), "value": ("array", RIGHT[:, :, 1]), "default": ("seed", 0)},
    },
    "inside stats": {
        "limits": {
            "mean": ("array", A),
            "half_width": ("array", B),
            "bounds": ("bounds", (0, 1)),
            "df": ("positives", 9.0),
            "level": ("level", 0.95),
        },
        "plus_minus": {"mean": ("array", A), "half_width": ("array", B), "spec": ("choice", ".1f")},
        "moments": {
            "values": ("array", RIGHT.reshape(30, 24)),
            "labels": ("labels", QUERIES),
            "target": ("choice", "images"),
        },
        "smallest": {"enough": ("function", lambda n: n >= 40), "least": ("count", 2), "most": ("count", 50)},
    },
    "optima": {
        "OptimumRatio": None,
        "VarianceFit": None,
        "CommonOptimum": None,
        "compare_optima": {
            "a": ("array", RIGHT),
            "b": ("array", RIGHT[::-1]),
            "labels": ("labels", QUERIES[:, ::6]),
            "target": ("choice", "images"),
        },
        "common_optimum": {"pilots": ("object", [stats.pilot(RIGHT, 5), stats.pilot(RIGHT[:, ::-1], 5)])},
        "fit_variance": {
            "queries": ("positives", Q),
            "tasks": ("positives", 600 / (5 + Q)),
            "variance": ("array", (0.01 * Q + 0.2 / Q + 0.1) / 600),
            "error": ("positives", np.full(5, 1e-5)),
            "shots": ("count", 5),
        },
    },
    "tasks": {
        "Tasks": {
            **{k: ("whole array", getattr(TASKS, k)) for k in ("support", "support_label", "query", "query_label")},
            "ways": ("count", 5),
            "sampler": ("object", {}),
            "unseen": ("flag", True),
        },
        "sample_closed": {**SHAPE, "skip_small_classes": ("flag", False), "groups": ("labels", np.arange(96))},
        "sample_open": {
            **{k: v for k, v in SHAPE.items() if k != "tasks"},
            "max_tasks": ("count", 5),
            "skip_small_classes": ("flag", False),
            "groups": ("labels", None),
            "balanced": ("flag", False),
        },
        "sample_all": {
            k: ("count", v[1]) if k == "shots" else v for k, v in SHAPE.items() if k not in ("ways", "queries")
        },
        "sample_biased": {
            **SHAPE,
            "shots": ("counts", 1),
            "has": ("labels", HAS),
            "support": ("choice", "SC3"),
            "query": ("choice", "QC3"),
            "variant": ("choice", "paper"),
        },
        "sample_matched": {"labels": ("labels", LABELS), "tasks": ("object", TASKS), "seed": ("seed", 0)},
        "ESTIMATORS": None,
        "ORACLE": None,
        "REFILLED": None,
        "Resplit": None,
        "k_fold": {**OWN, "k": ("count", 3)},
        "hold_out": {**OWN, "k": ("count", 3)},
        "leave_one_out": {**OWN, "refill": ("flag", True)},
        "bootstrap": {**OWN, "rounds": ("count", 2), "seed": ("seed", 0)},
        "resplit": {**OWN, "name": ("choice", "bootstrap"), "rounds": ("count", 2), "seed": ("seed", 0)},
    },
    "resampled": {
        "estimate": {"record": ("object", RECORD), "owner": ("whole array", np.arange(40)), "n": ("count", 40)},
        "run": {
            "method": ("any", None),
            **OWN,
            "names": ("object", ("bootstrap",)),
            "rounds": ("count", 2),
            "seed": ("seed", 0),
            "stored": ("flag", False),
            "progress": ("flag", False),
        },
    },
    "difficulty": {
        "sample_by_difficulty": {
            "proposals": ("object", TASKS),
            "difficulty": ("array", np.linspace(0, 1, 40)),
            "tasks": ("count", 20),
            "seed": ("seed", 0),
        },
    },
    "report": {
        "Options": {
            "sampling": ("choice", "open"),
            "seed": ("choice", "runs"),
            "reference": ("any", "ours"),
            "level": ("level", 0.95),
            "margin": ("positive", 1.0),
            "drop": ("object", ()),
            "methods": ("object", ()),
            "common": ("flag", True),
            "lower_is_better": ("flag", True),
            "out_of": ("positive", 100),
            "tasks": ("count", 600),
            "separator": ("choice", "tab"),
            "decimal": ("choice", ","),
            "pool": ("count", 40),
            "shots": ("count", 8),
        },
    },
    "attributes": {
        "counts": {"labels": ("labels", np.array([0, 1, 0, 1]))},
        "spurious": {"labels": ("labels", np.array([0, 1, 0, 1])), "present": ("count", 1), "absent": ("count", 1)},
    },
    "fewstab": {
        "gaps": {
            "random": ("mapping", {"ncc": RECORD}),
            "biased": ("mapping", {"ncc": RECORD}),
            "paired": ("flag", False),
            "level": ("level", 0.95),
        },
    },
}
# Words of a message that stand for an argument: what it holds, where several are told of together.
WORDS = {
    "estimate": "estimate|value",
    "value": "estimate|value",
    "a": "a and|a has|a:|a =|a holds|a goes",
    "n": "n =|owner",
    "b": "b and|b has|b:|b =|b holds|and b",
    "most": "most",
    "replaced": "replaced",
    "query": "query",
    "sampler": "sampler",
    "accuracies": "accuracies|a |b ",
    "labels": "labels|images?|the data have",
    "values": "values|tasks",
    "drawn": "drawn|values",
    "names": "names|name",
    "default": "default",
    "support_label": "support(_label)?",
    "query_label": "query(_label)?",
    "frame": "frame|r.csv",
}
CASES = [
    pytest.param(where, name, argument, id=f"{name}-{argument}")
    for where, names in FUNCTIONS.items()
    for name, arguments in names.items()
    for argument, (kind, _) in (arguments or {}).items()
    if BAD[kind]
]


def test_every_public_name_and_argument_is_in_the_table():
    for where, module in MODULES.items():
        assert where in SOME or set(module.__all__) == FUNCTIONS[where].keys()
        for name, arguments in FUNCTIONS[where].items():
            made = getattr(module, name)
            if arguments is None:
                assert not callable(made) or is_dataclass(made)
            else:
                names = [f.name for f in fields(made)] if is_dataclass(made) else inspect.signature(made).parameters
                assert set(names) == arguments.keys(), name
                if name != "run":
                    made(**{k: v for k, (_, v) in arguments.items()})


def as_tensor(kind, value):
    """The same numbers as PyTorch gives them: those that may have gradients have them."""
    if isinstance(value, dict):
        return {name: as_tensor("array", of) for name, of in value.items()}
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return value
    found = torch.tensor(value.copy())
    return found.double().requires_grad_() if kind in ("array", "positives") else found


@pytest.mark.parametrize("name", [name for name, arguments in FUNCTIONS["stats"].items() if arguments])
def test_statistics_take_tensors_with_gradients(name):
    arguments, function = FUNCTIONS["stats"][name], getattr(stats, name)
    given = {k: as_tensor(*of) for k, of in arguments.items()}
    assert repr(function(**given)) == repr(function(**{k: v for k, (_, v) in arguments.items()}))


def parts(found) -> list | tuple | None:
    """What a result is made of, its fields or its elements; None for an array, a number and the like."""
    if is_dataclass(found):
        return [getattr(found, f.name) for f in fields(found)]
    return list(found.values()) if isinstance(found, dict) else found if isinstance(found, (tuple, list)) else None


def levels(found) -> list[float]:
    """Every level that a result names, also in what it is made of."""
    own = [found.level] if is_dataclass(found) and hasattr(found, "level") else []
    return own + [x for part in parts(found) or () for x in levels(part)]


@pytest.mark.parametrize("name", [name for name, of in FUNCTIONS["stats"].items() if "level" in (of or ())])
def test_a_result_names_the_level_that_was_asked_for(name):
    given = {k: v for k, (_, v) in FUNCTIONS["stats"][name].items()} | {"level": 0.8125}
    assert set(levels(getattr(stats, name)(**given))) <= {0.8125}


def plain(found) -> bool:
    """Whether a result is whole: of texts, and of numbers that are no NaN."""
    # A whole number may be too large for an array of numbers.
    if found is None or isinstance(found, (str, int, samplers.Tasks)):
        return True
    if (made := parts(found)) is not None:
        return all(map(plain, made))
    found = np.asarray(found)
    if found.dtype == object:
        return all(map(plain, found.ravel()))
    return not np.isnan(np.asarray(found, dtype=float)).any()


@pytest.mark.parametrize("where, name, argument", CASES)
def test_every_bad_value_of_an_argument_is_named_or_its_result_is_whole(where, name, argument):
    function, of = getattr(MODULES[where], name), FUNCTIONS[where][name]
    good, kind = {k: v for k, (_, v) in of.items()}, of[argument][0]
    default = inspect.signature(function).parameters[argument].default
    for how, value in bad(kind, good[argument]).items():
        signal.setitimer(signal.ITIMER_REAL, 3)
        shown = f"{name}, {argument} {how}"
        try:
            found = function(**{**good, argument: value})
        except InputError as error:
            text = str(error)
            assert "\n" not in text and len(text) < 400, shown
            assert re.search(rf"(?<!\w)({WORDS.get(argument, argument)})(?!\w)", text), f"{shown}: {text}"
        else:
            large = kind == "count" and isinstance(value, int) and value == 10**30  # of something that takes no memory
            taken = (value is None and default is None) or large or how in TAKEN.get((name, argument), ())
            assert taken and (value is None or plain(found)), f"{shown} gives {found!r}"
