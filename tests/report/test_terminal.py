"""What a report prints: a plot whose characters stand where the numbers are, and commands that can be typed."""

import re
import shlex

import numpy as np
import pandas as pd
import proposed
import pytest
from test_every_shape import CASES, OF_ANSWERS, drawn, report_on

from fslcore.cli import app, output
from fslcore.report import Options, Shape, next_steps, terminal

EVERY = [*CASES, *OF_ANSWERS]


def plot_of(results):
    """The lines of both plots."""
    lines = results.lines()
    first = lines.index("")
    last = lines.index("What next:") - 1
    return lines[first + 1 : last]


def named_rows(count=2, tasks=60, names=("ours", "base", "third", "fourth")):
    rng = np.random.default_rng(3)
    hard = rng.normal(70, 6, (tasks, 1))
    values = hard + np.arange(count) + rng.normal(0, 3, (tasks, count))
    return pd.DataFrame(values.clip(0, 100), columns=list(names[:count]))


@pytest.mark.parametrize("name", EVERY)
def test_plots_fit_80_columns_and_their_columns_are_straight(name):
    plot = plot_of(report_on(name, drawn(name, "usual", 1)))
    assert max(map(len, plot)) <= terminal.WIDTH, plot
    blank = plot.index("")
    for part in (plot[:blank], plot[blank + 1 :]):
        bars = [line for line in part if terminal.LEFT in line or terminal.MEAN in line]
        assert len(bars) >= 1 and all(line.count(terminal.MEAN) == 1 for line in bars)


def test_a_bar_is_where_its_numbers_are():
    drawn = terminal.bar(np.array([2.0, 4.0, 8.0]), 0.0, 10.0, 11, zero=True)
    assert drawn == "│ ├─●───┤  "
    assert terminal.bar(np.array([-3.0, 1.0, 30.0]), -10.0, 10.0, 21, zero=True)[7] == "├"
    unknown = terminal.bar(np.array([-np.inf, 5.0, np.inf]), 0.0, 10.0, 11, zero=False)
    assert unknown == "├────●────┤"
    point = terminal.bar(np.array([5.0, 5.0, 5.0]), 0.0, 10.0, 11, zero=False)
    assert point == "     ●     "


def test_an_interval_of_a_difference_is_beside_0_exactly_where_it_excludes_it():
    results = proposed.from_frame(named_rows(4))
    part = plot_of(results)
    part = part[part.index("") + 1 :]
    pairs = results.pairs.set_index(results.pairs["a"] + " − " + results.pairs["b"])
    bars = [line for line in part if terminal.MEAN in line]
    assert len(bars) == 6
    for line in bars:
        pair = pairs.loc[re.match(r"\w+ − \w+", line)[0]]
        assert (terminal.ZERO in line) == (pair["p"] < 0.05)  # else the interval is drawn over it
        if terminal.ZERO in line:
            assert line.index(terminal.ZERO) < line.index(terminal.LEFT)
        assert f"d_z = {pair['effect_size']:.2f}" in line


@pytest.mark.parametrize(
    "count, reference, sentences", [(2, None, 1), (4, None, 6), (4, "ours", 3), (5, None, 4)]
)
def test_of_up_to_four_methods_every_pair_is_on_the_first_screen(count, reference, sentences):
    names = ("ours", "base", "third", "fourth", "fifth")
    results = proposed.from_frame(named_rows(count, names=names), reference=reference)
    lines = results.lines()
    stated = [line for line in lines if "is better than" in line or "not significantly" in line]
    assert stated == [*results.verdicts["sentence"]] and len(stated) == sentences
    assert len(lines) <= 45


@pytest.mark.parametrize("count, more", [(11, "1 more row,"), (12, "2 more rows,")])
def test_rows_that_are_left_out_are_counted(count, more):
    names = [f"m{i}" for i in range(count)]
    lines = proposed.from_frame(named_rows(count, names=names), methods=names).lines()
    assert [line for line in lines if more in line] == [f"… and {more} on the page."]


def test_all_pairs_of_few_methods_would_be_too_many_in_many_places():
    table = pd.concat([named_rows(3).assign(dataset=name) for name in "xyz"])
    results = proposed.from_frame(table, by="dataset", methods=["ours", "base", "third"])
    assert len(results.pairs) == 9 and len(results.verdicts) == 6


def units_table(kind, gaps):
    """Two methods on units of a kind, which differ by these gaps."""
    unit_numbers = range(len(gaps))
    level = 60 + 2.0 * np.arange(len(gaps))
    return pd.DataFrame({kind: unit_numbers, "ours": level + gaps, "base": level})


@pytest.mark.parametrize("kind", ["dataset", "seed", "fold"])
@pytest.mark.parametrize(
    "gaps, words",
    [
        ([2.0, 2, 3, 2.5, 2.5, -0.1], r"is better than base .*\), on 5 of 6 \w"),
        ([2.0, -3, 4, 0, -5, 3], r"different: .*; ours is better on 3 of 6 \w+.* \(equal on 1\)"),
    ],
)
def test_on_how_many_units_a_method_is_better_is_counted(kind, gaps, words):
    results = proposed.from_frame(units_table(kind, np.array(gaps)), methods=["ours", "base"])
    (sentence,) = results.verdicts["sentence"]
    assert re.search(words, sentence), sentence
    pair = results.pairs.iloc[0]
    gains = np.sign(gaps) if pair["a"] == "ours" else -np.sign(gaps)
    assert pair["units_better"] == (gains > 0).sum() and pair["units_worse"] == (gains < 0).sum()


def test_methods_on_different_units_are_not_counted_against_each_other():
    assert with_other_tasks().pairs["units_better"].isna().all()


@pytest.mark.parametrize("gap", [5.0, 0.0])
def test_where_lower_is_better_every_number_is_the_first_minus_the_second(gap):
    """In sentences, tables, pictures and JSON, by an arrow as by the option."""
    table = units_table("dataset", np.array([1.5, -1, 2, -0.5, 1, 0.5]) + gap)
    arrows = {"ours": "ours ↓", "base": "base ↓"}
    arrow = proposed.from_frame(table.rename(columns=arrows), methods=[*arrows.values()])
    results = proposed.from_frame(table, lower_is_better=True, methods=["ours", "base"])
    assert results.lower_is_better and arrow.lower_is_better and results.record()["lower_is_better"]
    assert arrow.verdicts["sentence"][0].replace(" ↓", "") == results.verdicts["sentence"][0]
    pair = results.record()["pairs"][0]
    assert (pair["a"], pair["verdict"]) == (
        "base",
        "better" if gap else "not significantly different",
    )
    assert pair["low"] < pair["difference"] < 0
    low, middle, high = (
        f"{pair[key]:.2f}".replace("-", "−") for key in ("low", "difference", "high")
    )
    (sentence,) = results.verdicts["sentence"]
    assert f": {middle} (" in sentence and f"{low} to {high}" in sentence
    assert ("base is better (lower) than ours" in sentence) == (gap > 0)
    for text in ("\n".join(results.lines()), results._repr_html_()):
        assert f"{middle} ({low} to {high})" in text


def test_a_terminal_without_these_signs_gets_ascii():
    for line in proposed.from_frame(named_rows()).lines():
        plain = output.encodable(line, "ascii")
        assert plain.isascii() and len(plain) >= len(line)
        assert output.encodable(line, "utf-8") == output.encodable(line, None) == line
    assert output.encodable("a − b  │ ├─●─┤  ± ∞ …", "ascii") == "a - b  : |-o-|  +- unknown ..."


@pytest.mark.parametrize("name", EVERY)
def test_each_command_that_is_suggested_can_be_typed(name, tmp_path, monkeypatch, capsys):
    """And gives a report too."""
    monkeypatch.chdir(tmp_path)
    _, table, options = {**CASES, **OF_ANSWERS}[name]
    table(drawn(name, "usual", 5)).to_csv("my results.csv", index=False)
    results = proposed.read("my results.csv", **options)
    steps = results.next_steps
    assert steps and len({step.command for step in steps}) == len(steps)
    compares_figures = any(step.command.startswith("fslcore compare ") for step in steps)
    assert compares_figures == (results.shape is Shape.PRINTED)
    for step in steps:
        program, *arguments = shlex.split(step.command)
        if program != "fslcore":
            assert step.command == next_steps.HELP_ON_RECORD
            continue
        parsed = app._program().parser.parse_args(arguments)
        if arguments[0] == "report":
            assert [str(path) for path in parsed.results] == ["my results.csv"]
            fields = Options.__dataclass_fields__
            chosen = {name: value for name, value in vars(parsed).items() if name in fields}
            assert chosen.items() >= options.items()
            proposed.read(parsed.results, **chosen)


def test_a_step_is_offered_where_it_would_add_something():
    unknown = proposed.from_frame(named_rows())
    assert any("--sampling closed" in step.command for step in unknown.next_steps)
    closed = proposed.from_frame(named_rows(), sampling="closed")
    reports = [step.command for step in closed.next_steps if step.command.startswith("fslcore")]
    assert all(command.count("--sampling closed") == 1 for command in reports)
    better = named_rows()
    better["base"] = (better["ours"] + np.tile([2, 3], 30)).clip(upper=100)
    equal = better.assign(base=better["ours"])
    for table, is_offered in ((better, False), (equal, True)):
        steps = proposed.from_frame(table).next_steps
        assert any("--margin 1" in step.command for step in steps) == is_offered
    assert any("--common" in step.command for step in with_other_tasks().next_steps)


def test_notes_that_an_option_would_change_are_on_the_first_screen():
    """Of how the file was read; other notes are on the page alone."""
    table = named_rows().round(0)
    lines = proposed.from_frame(table, rows="task").lines()
    whole = "Whole numbers are read as percent; if they count right answers, set the option out_of."
    assert whole in lines and "Row k of each method is task k, as the option rows says." in lines
    shares = proposed.from_frame(named_rows() / 100)
    (note,) = [note for note in shares.reading if note == "Values from 0 to 1 are read as shares."]
    assert note not in shares.lines()


def with_other_tasks():
    """Two methods, each without two of the other's tasks."""
    table = named_rows().reset_index(names="task")
    table.loc[:1, "ours"] = np.nan
    table.loc[58:, "base"] = np.nan
    return proposed.from_frame(table)
