"""`fslcore.tasks`: the samplers, and Tasks that a user makes himself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .common import Trap, fine, of_area, unsprung

case = of_area("tasks/samplers")


def labels(classes: int = 8, per: int = 25):
    import numpy as np

    return np.arange(classes).repeat(per)


GOOD = {
    "sample_closed": dict(tasks=30, ways=5, shots=2, queries=3, seed=0),
    "sample_open": dict(ways=5, shots=2, queries=3, seed=0, max_tasks=5),
    "sample_all": dict(shots=2, tasks=5, seed=0),
}


def draw(function: str, **changed) -> object:
    from fslcore.tasks import samplers as tasks

    given = {**GOOD[function], **changed}
    of = given.pop("labels", None)
    return getattr(tasks, function)(labels() if of is None else of() if callable(of) else of, **given)


COUNT = [0, -1, math.nan, math.inf, 2.5, "5", None, 10**30]
BAD = {
    "sample_closed": dict(
        tasks=[*COUNT, 1],
        ways=[*COUNT, 1, 9],
        shots=[*COUNT, 23, [2, 2], [2, 2, 2, 2, 0], [1.5] * 5],
        queries=[*COUNT, []],
        seed=[-1, 2.5, "x", None, math.nan],
        skip_small_classes=["no", None, 2],
    ),
    "sample_open": dict(
        ways=[0, -1, 2.5, "5", None, 9],
        shots=[0, -1, math.nan, 2.5, None, 23],
        queries=[0, -1, 2.5, None, 10**30],
        seed=[-1, 2.5, None],
        max_tasks=[0, 1, -1, 2.5, "x", math.nan],
    ),
    "sample_all": dict(shots=[0, -1, 2.5, None, 25, 10**30], tasks=[0, -1, 2.5, None, "x"], seed=[-1, 2.5, None]),
}
WORDS = {"max_tasks": "max_tasks|tasks", "queries": "queries", "skip_small_classes": "skip"}
numbers = [
    case(f"{f}: {a} = {v!r}", lambda f=f, a=a, v=v: draw(f, **{a: v}), says=(WORDS.get(a, a),))
    for f, of in BAD.items()
    for a, values in of.items()
    for v in values
]
huge = [
    case("sample_closed: 10^9 tasks", lambda: draw("sample_closed", tasks=10**9), says=("tasks",)),
    case("sample_closed: 10^10 tasks", lambda: draw("sample_closed", tasks=10**10), says=("tasks",)),
    case("sample_open: at most 10^12", lambda: draw("sample_open", max_tasks=10**12), right=fine),
    case("sample_all: 10^8 tasks", lambda: draw("sample_all", tasks=10**8), says=("tasks",)),
    case("sample_all: 10^12 tasks", lambda: draw("sample_all", tasks=10**12), says=("tasks",)),
    case("sample_closed: a seed of 10^30", lambda: draw("sample_closed", seed=10**30), right=fine, says=("seed",)),
]


def of(change: Callable) -> Callable:
    return lambda: change(__import__("numpy"), __import__("pandas"))


def named(found) -> str | None:
    return None if len(found) == 30 else f"{len(found)} tasks"


kinds = {
    "texts": (lambda np, pd: labels().astype(str), True),
    "a list": (lambda np, pd: labels().tolist(), True),
    "a Series": (lambda np, pd: pd.Series(labels()), True),
    "a Series with another index": (lambda np, pd: pd.Series(labels(), index=range(500, 700)), True),
    "a category": (lambda np, pd: pd.Series(labels()).astype("category"), True),
    "negative": (lambda np, pd: labels() - 5, True),
    "truth values": (lambda np, pd: labels() > 3, ("ways", "2")),
    "floats": (lambda np, pd: labels() + 0.5, True),
    "a NaN": (lambda np, pd: np.where(np.arange(200) == 3, np.nan, labels()), ("NaN|nan|labels",)),
    "many NaN": (lambda np, pd: np.where(labels() == 3, np.nan, labels()), ("NaN|nan|labels",)),
    "None": (lambda np, pd: np.where(np.arange(200) == 3, None, labels()), ("None|labels",)),
    "texts and numbers": (lambda np, pd: np.array(["a", 1] * 100, object), ("labels",)),
    "pandas' NA": (lambda np, pd: pd.array([pd.NA, *labels()[1:]], "Int64"), ("labels|NA",)),
    "infinite": (lambda np, pd: np.where(labels() == 3, np.inf, labels()), ("inf|labels",)),
    "masked": (lambda np, pd: np.ma.masked_equal(labels(), 3), ("mask",)),
    "two-dimensional": (lambda np, pd: labels()[:, None], ("shape|dimension|labels",)),
    "one-hot": (lambda np, pd: np.eye(8)[labels()], ("shape|dimension|labels",)),
    "a number": (lambda np, pd: 3, ("labels|shape|dimension",)),
    "no labels": (lambda np, pd: [], ("labels|classes|0",)),
    "a text": (lambda np, pd: "abc", ("labels|shape",)),
    "a dictionary": (lambda np, pd: {"a": 1}, ("labels|shape",)),
    "one class": (lambda np, pd: 0 * labels(), ("class",)),
    "a class each": (lambda np, pd: np.arange(200), ("shots|images",)),
    "objects": (lambda np, pd: labels().astype(object), True),
    "a class of one": (lambda np, pd: np.r_[labels(), 99], ("99", "1")),
}
sorts = [
    case(
        f"{f}: labels: {name}",
        lambda f=f, make=make: draw(f, labels=of(make)),
        **(
            dict(right=fine)
            if wanted is True
            else dict(
                says=wanted,
                right=(lambda found: "masked images were drawn" if bool((labels()[found.support] == 3).any()) else None)
                if name == "masked"
                else None,
            )
        ),
    )
    for f in GOOD
    for name, (make, wanted) in kinds.items()
    if f != "sample_all" or name not in ("truth values", "a class of one")
]


def tasks(**changed) -> object:
    """Two tasks of two classes, made by hand, but for these."""
    import numpy as np

    from fslcore.tasks import Tasks

    given = dict(
        support=np.array([[0, 5], [1, 6]]),
        support_label=np.array([[0, 1], [0, 1]]),
        query=np.array([[2, 3, 7, 8], [2, 3, 7, 8]]),
        query_label=np.array([[0, 0, 1, 1], [0, 0, 1, 1]]),
        ways=2,
    )
    return Tasks(**{**given, **{k: v(np) if callable(v) else v for k, v in changed.items()}})


own = [
    case("Tasks: good", tasks, right=fine),
    case(
        "Tasks: a query that is in the support",
        lambda: tasks(query=lambda np: np.array([[0, 3, 7, 8], [2, 3, 7, 8]])),
        says=("0|image|support",),
        warns=("support",),
    ),
    case(
        "Tasks: query and support are the same",
        lambda: tasks(query=lambda np: np.array([[0, 5], [1, 6]]), query_label=lambda np: np.array([[0, 1], [0, 1]])),
        says=("support|query",),
        warns=("support",),
    ),
    case(
        "Tasks: the last query is in the support",
        lambda: tasks(query=lambda np: np.array([[2, 3, 7, 8], [2, 3, 7, 6]])),
        says=("6|image|support",),
        warns=("support",),
    ),
    case(
        "Tasks: a query twice",
        lambda: tasks(query=lambda np: np.array([[2, 2, 7, 8], [2, 3, 7, 8]])),
        says=("2|twice",),
        right=fine,
    ),
    case(
        "Tasks: an image twice in the support",
        lambda: tasks(support=lambda np: np.array([[0, 0], [1, 6]])),
        right=fine,
        says=("0|twice",),
    ),
    case(
        "Tasks: one image in two classes of a query",
        lambda: tasks(query=lambda np: np.array([[2, 3, 2, 8], [2, 3, 7, 8]])),
        says=("2|twice|class",),
        right=fine,
    ),
    case("Tasks: lists", lambda: tasks(support=[[0, 5], [1, 6]]), says=("support",), right=fine),
    case("Tasks: floats", lambda: tasks(support=lambda np: np.array([[0.0, 5], [1, 6]])), says=("support", "float")),
    case("Tasks: texts", lambda: tasks(support=lambda np: np.array([["a", "b"], ["c", "d"]])), says=("support",)),
    case("Tasks: one dimension", lambda: tasks(support=lambda np: np.array([0, 5])), says=("support",)),
    case(
        "Tasks: other numbers of tasks",
        lambda: tasks(query=lambda np: np.array([[2, 3, 7, 8]]), query_label=lambda np: np.array([[0, 0, 1, 1]])),
        says=("query", "1"),
    ),
    case(
        "Tasks: labels of another shape",
        lambda: tasks(support_label=lambda np: np.array([[0, 1, 1], [0, 1, 1]])),
        says=("support",),
    ),
    case(
        "Tasks: a label that is not below ways",
        lambda: tasks(query_label=lambda np: np.array([[0, 0, 2, 1], [0, 0, 1, 1]])),
        says=("query_label", "2"),
    ),
    case(
        "Tasks: a label below -1",
        lambda: tasks(query_label=lambda np: np.array([[0, 0, -2, 1], [0, 0, 1, 1]])),
        says=("query",),
    ),
    case(
        "Tasks: an index below -1",
        lambda: tasks(query=lambda np: np.array([[2, 3, -2, 8], [2, 3, 7, 8]])),
        says=("query",),
    ),
    case(
        "Tasks: padding in the index alone",
        lambda: tasks(query=lambda np: np.array([[2, 3, -1, 8], [2, 3, 7, 8]])),
        says=("query", "padding"),
    ),
    case(
        "Tasks: a task without query",
        lambda: tasks(
            query=lambda np: np.array([[-1] * 4, [2, 3, 7, 8]]),
            query_label=lambda np: np.array([[-1] * 4, [0, 0, 1, 1]]),
        ),
        says=("query", "empty"),
    ),
    case(
        "Tasks: a query of a class without support",
        lambda: tasks(support_label=lambda np: np.array([[0, 0], [0, 1]])),
        says=("class|support",),
        right=fine,
    ),
    case(
        "Tasks: none",
        lambda: tasks(
            **{k: (lambda np: np.zeros((0, 2), int)) for k in ("support", "support_label", "query", "query_label")}
        ),
        says=("0|tasks|empty",),
    ),
    *(
        case(f"Tasks: ways = {v!r}", lambda v=v: tasks(ways=v), says=("ways|label",))
        for v in (0, -1, 1, None, "2", 2.5, math.nan)
    ),
    case("Tasks: ways above the labels", lambda: tasks(ways=5), right=fine, says=("ways",)),
    case("Tasks: an image beyond the bank", lambda: tasks().check_bank(5), says=("8", "5")),
    case("Tasks.load: no such file", lambda: _load("gone.npz"), says=("gone.npz",)),
    case("Tasks.load: empty", lambda: (Path("t.npz").touch(), _load())[1], says=("t.npz",)),
    case("Tasks.load: noise", lambda: (Path("t.npz").write_bytes(bytes(99)), _load())[1], says=("t.npz",)),
    case("Tasks.load: another .npz", lambda: (__import__("numpy").savez("t.npz", a=1), _load())[1], says=("t.npz",)),
    case(
        "Tasks.load: cut off",
        lambda: (tasks().save("t.npz"), Path("t.npz").write_bytes(Path("t.npz").read_bytes()[:200]), _load())[2],
        says=("t.npz",),
    ),
    case(
        "Tasks.load: a pickle that runs a command",
        lambda: (__import__("numpy").savez("t.npz", support=__import__("numpy").array([Trap()], object)), _load())[1],
        says=("t.npz",),
        right=unsprung,
    ),
    case(
        "Tasks.load: what was saved",
        lambda: (tasks().save("t.npz"), _load().digest == tasks().digest)[1],
        right=lambda same: None if same else "other tasks",
    ),
    case("Tasks.save: through a file", lambda: (Path("plain").touch(), tasks().save("plain/t.npz")), says=("plain",)),
    case("Tasks.save: a folder", lambda: (Path("t.npz").mkdir(), tasks().save("t.npz")), says=("t.npz",)),
]


def _load(path: str = "t.npz"):
    from fslcore.tasks import Tasks

    return Tasks.load(path)


CASES = [replace(c, limit=8.0) for c in (*numbers, *huge, *sorts, *own)]
