"""What a report says of the method with the highest mean, and of the ranks that methods may have."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fslcore import record, stats
from fslcore.stats.chosen import FEWEST_TASKS, joint_means
from fslcore.tasks import sample_closed
from fslcore.tools.cli import app
from fslcore.tools.report import Results
from fslcore.tools.report.show import names_of_groups
from fslcore.tools.report.tables import MANY

LABELS = np.arange(8).repeat(12)


def frame(methods=4, tasks=120, **columns):
    rng = np.random.default_rng(1)
    x = rng.normal(70, 8, (tasks, 1)) + rng.normal(0, 2, (tasks, methods)) + 0.6 * np.arange(methods) % 3
    return pd.DataFrame(x, columns=[f"m{i}" for i in range(methods)]).assign(task=range(tasks), **columns)


@pytest.mark.parametrize(
    "sampling, target, column",
    [
        ("open", "new images", "ranks (new images)"),
        ("closed", "these images", "ranks (these images)"),
        ("unknown", "", "ranks"),
    ],
)
def test_ranks_and_the_winner_are_those_of_the_tasks(sampling, target, column):
    found = Results.of(frame(), sampling=sampling, level=0.9)
    ((key, of),) = found.chosen.items()
    grid = found.grids[key[0]]
    winner = stats.winner_interval(grid.T, level=0.9, bounds=(0, 100))
    assert key[1] == target and of.winner == winner and of.methods == list(grid) and winner.method == 0
    decided = found.pairs[found.pairs["holm"]]
    best = [1 + (decided["b"] == method).sum() for method in grid]
    worst = [4 - (decided["a"] == method).sum() for method in grid]
    texts = [f"{a} to {b}" if a < b else f"{a}" for a, b in zip(best, worst)]
    assert found.tables["methods"][column].tolist() == texts and any("to" in text for text in texts)
    (said,) = [line for line in found.summary() if "has the highest mean of 4" in line]
    w = of.winner
    assert said.startswith(f"{of.methods[0]} has the highest mean of 4, {w.mean:.2f} ± {w.half_width:.2f}; corrected")
    assert f"{w.low:.2f} to {w.high:.2f}" in said and said.endswith(f" ({target})." if target else f"{w.high:.2f}.")
    assert w.estimate <= w.mean and w.high - w.low > 2 * w.half_width


def test_several_settings_are_each_on_its_own_and_named():
    table = pd.concat([frame(3, dataset="x"), frame(5, dataset="y").drop(columns=["m0"])])
    found = Results.of(table, sampling="open", common=True)
    assert {key: of.methods[0] for key, of in found.chosen.items()}.keys() == {("x", "new images"), ("y", "new images")}
    lines = [line for line in found.summary() if "highest mean" in line]
    assert [re.search(r"\((\w), new images\)\.$", line)[1] for line in lines] == ["x", "y"]
    assert set(found.tables["methods"].columns) >= {"ranks (new images)", "group"}


def test_nothing_is_chosen_of_one_method_of_very_many_or_with_a_reference():
    for found in (Results.of(frame(1)), Results.of(frame(MANY + 1)), Results.of(frame(), reference="m0")):
        assert not found.chosen and not any("ranks" in column for column in found.tables["methods"])
        assert not any("highest mean" in line for line in found.summary())


def test_with_few_tasks_the_highest_mean_has_no_interval_and_a_sentence_says_so():
    few = Results.of(frame(tasks=FEWEST_TASKS - 1), sampling="open")
    (choice,), (record,) = few.chosen.values(), few.record()["chosen"]
    assert choice.winner is None and record["winner"] is None and len(record["ranks"]) == 4
    (line,) = [line for line in few.summary() if "highest mean" in line]
    assert line.startswith(
        f"{choice.methods[0]} has the highest mean of 4; fewer than 100 tasks or classes are too few"
    )
    assert line.endswith(" to correct it for the choice (new images).")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("chosen") / "r.npz"
    rng = np.random.default_rng(0)
    tasks = sample_closed(LABELS, tasks=200, ways=5, shots=1, queries=3)
    hard = rng.normal(0, 0.1, (3, 8))[:, LABELS] + rng.normal(0, 0.2, len(LABELS))
    for m, method in enumerate("abc"):
        with record(path, method) as kept:
            for s, q in zip(tasks.support, tasks.query):
                right = rng.random(len(q)) < 0.6 + 0.04 * m + hard[m, q]
                kept.task(s, q, LABELS[q], np.where(right, LABELS[q], (LABELS[q] + 1) % 8), LABELS[s])
    return path


def test_a_recording_has_ranks_for_all_three_targets(recording):
    found = Results.read(recording)
    assert [target for _, target in found.chosen] == ["these images", "new images", "new classes"]
    single = [found.three[m] for m in "abc"]
    pairs = [found.three[f"{a} − {b}"] for a, b in ("ab", "ac", "bc")]
    for kind, target in (("images", "new images"), ("classes", "new classes")):
        (of,) = (chosen for (_, t), chosen in found.chosen.items() if t == target)
        means = joint_means(single, pairs, kind)
        at = ["abc".index(m) for m in of.methods]
        assert (of.winner is None) == (kind == "classes")  # 8 of them
        if of.winner:
            expected = stats.winner_interval(*means, bounds=(0, 100))
            assert [of.winner.low, of.winner.high] == pytest.approx([expected.low, expected.high])
        significant = stats.holm([getattr(pair, kind).p_value for pair in pairs]) < 0.05
        better = np.zeros((3, 3), bool)
        for (i, j), decided in zip([(0, 1), (0, 2), (1, 2)], significant):
            better[(i, j) if means[0][i] > means[0][j] else (j, i)] = decided
        sets = stats.rank_sets(better)
        assert np.transpose(of.ranks).tolist() == [[sets.best[i], sets.worst[i]] for i in at]
    *known, _ = found.chosen.values()
    assert known[0].winner.high - known[0].winner.low < known[1].winner.high - known[1].winner.low
    lines = [line for line in found.summary() if "highest mean" in line]
    assert len(lines) == 3 and lines[2].endswith("too few to correct it for the choice (new classes).")
    assert [c for c in found.tables["methods"] if "ranks" in c] == [f"ranks ({t})" for _, t in found.chosen]


def test_what_a_recording_does_not_show_is_left_out(tmp_path):
    """Each task holds all classes, so nothing is known of new ones."""
    tasks = sample_closed(LABELS, tasks=60, ways=8, shots=1, queries=3)
    rng = np.random.default_rng(0)
    for method in "ab":
        with record(tmp_path / "r.npz", method) as kept:
            for s, q in zip(tasks.support, tasks.query):
                right = rng.random(len(q)) < 0.6
                kept.task(s, q, LABELS[q], np.where(right, LABELS[q], (LABELS[q] + 1) % 8), LABELS[s])
    assert [target for _, target in Results.read(tmp_path / "r.npz").chosen] == ["these images", "new images"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=6), min_size=1, max_size=2),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.integers(0, 99),
)
def test_letters_pairs_matrix_and_ranks_of_a_report_agree(effects, spread, seed):
    """By construction: each is counted here from what a reader sees of the others."""
    rng = np.random.default_rng(seed)
    tables = []
    for dataset, shifts in zip("xy", effects):
        noise = rng.normal(0, spread, (20, len(shifts)))
        shared = rng.normal(60, 5, (20, 1))
        names = [f"m{i}" for i in range(len(shifts))]
        tables.append(pd.DataFrame(shared + noise + np.array(shifts) / 4, columns=names).assign(dataset=dataset))
    found = Results.of(pd.concat(tables), sampling="open", common=True)
    letters, signs = names_of_groups(found), {"▲": 1, "▼": -1}
    matrix = found.tables["matrix"]
    for (setting, _), choice in found.chosen.items():
        cells = matrix.loc[setting] if len(found.grids) > 1 else matrix
        verdicts = cells.map(lambda cell: signs.get(str(cell)[:1], 0))
        pairs = found.pairs[(found.pairs["setting"] == setting) & found.pairs["holm"]]
        methods = len(choice.methods)
        for method, (best, worst) in zip(choice.methods, np.transpose(choice.ranks)):
            others = [other for other in choice.methods if other != method]
            apart = [other for other in others if not {*letters[setting, method]} & {*letters[setting, other]}]
            below, above = pairs[pairs["a"] == method]["b"], pairs[pairs["b"] == method]["a"]
            assert {*apart} == {*below, *above}
            assert best == 1 + len(above) == 1 + (verdicts.loc[method, others] == -1).sum()
            assert worst == methods - len(below) == methods - (verdicts.loc[method, others] == 1).sum()
            assert ((best, worst) == (1, methods)) == (not apart)


def test_ranks_over_data_sets_follow_from_the_pairs_that_differ():
    def ranked(shifts):
        rng = np.random.default_rng(3)
        tables = []
        for dataset in range(12):
            x = rng.normal(60, 5, (5, 1)) + np.array(shifts) + rng.normal(0, 0.1, (5, 4))
            tables.append(pd.DataFrame(x, columns=list("abcd")).assign(dataset=f"d{dataset}"))
        (over,) = Results.of(pd.concat(tables), sampling="open").ranks.values()
        return over

    over = ranked([9, 6, 3, 0])
    apart = over.found.apart
    assert 0 < apart.sum() < 12  # neighbours are not significantly different, the first and the last are
    texts = over.shown["possible ranks"].tolist()
    for i, text in enumerate(texts):
        best, worst = 1 + apart[:i, i].sum(), 4 - apart[i, i:].sum()
        assert text == (f"{best} to {worst}" if best < worst else f"{best}")


def test_the_command_records_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame().to_csv("mine.csv", index=False)
    assert app.main("report mine.csv --sampling open --json --tables t --quiet".split()) == 0
    (told,) = json.loads(capsys.readouterr().out)["chosen"]
    assert told["target"] == "new images" and len(told["ranks"]) == 4
    assert told["winner"]["low"] < told["winner"]["mean"] and told["methods"][0] == "m3"
    assert "ranks (new images)" in (tmp_path / "t" / "methods.md").read_text("utf-8")
    page = (tmp_path / "mine.html").read_text("utf-8")
    assert "has the highest mean of 4" in page and "ranks (new images)" in page
