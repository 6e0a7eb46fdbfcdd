"""What a report prints: a plot whose characters stand where the numbers are, and commands that can be typed."""

import re
import shlex

import numpy as np
import pandas as pd
import proposed
import pytest
from test_every_shape import CASES, OF_ANSWERS, drawn, report_on

from fslcore.cli import app, output
from fslcore.report import Options, next_steps, terminal

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
    assert len(bars) == 3
    for line in bars:
        pair = pairs.loc[re.match(r"\w+ − \w+", line)[0]]
        assert (terminal.ZERO in line) == (pair["p"] < 0.05)  # else the interval is drawn over it
        if terminal.ZERO in line:
            assert line.index(terminal.ZERO) < line.index(terminal.LEFT)
        assert f"d_z = {pair['effect_size']:.2f}" in line


def test_a_note_on_new_tasks_comes_with_a_sentence_that_asks_for_them():
    rng = np.random.default_rng(0)
    table = named_rows(3)
    table["third"] = table["ours"] - 20 + rng.normal(0, 1, 60)
    table["base"] = table["ours"] - 20 + rng.normal(0, 1, 60)
    results = proposed.from_frame(table)
    noted = [line for line in results.lines() if "are a new study" in line]
    assert (results.pairs["new_units"] > 0).any() and not noted
    open_pair = proposed.from_frame(table[["base", "third"]]).lines()
    assert any("are a new study" in line for line in open_pair)


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


def with_other_tasks():
    """Two methods, each without two of the other's tasks."""
    table = named_rows().reset_index(names="task")
    table.loc[:1, "ours"] = np.nan
    table.loc[58:, "base"] = np.nan
    return proposed.from_frame(table)
