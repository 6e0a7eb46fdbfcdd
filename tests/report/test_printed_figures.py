"""What `fslcore compare` says of two printed figures, and which figures and lines it reads."""

import json

import pytest

from fslcore.cli import app
from fslcore.report import printed as words
from fslcore.stats import from_printed


def run(capsys, *words):
    code = app.main(["compare", *words])
    return code, capsys.readouterr()


@pytest.mark.parametrize(
    "half, level, meaning",
    [
        (0.6, 0.95, "half of a 95 % interval"),
        (0.6, 0.9, "half of a 90 % interval"),
        (0.35, 0.95, "a standard error"),
        (8.0, 0.95, "a standard deviation"),
    ],
)
def test_it_is_said_what_the_half_is_taken_for(half, level, meaning):
    """Accuracies that vary by about 7.5 points, over 600 tasks."""
    figures = from_printed((61.2, half), (53.5, half), 600, level=level)
    assert words.details(figures)[0].startswith(f"± is read as {meaning}:")
    assert not any(meaning in line for line in words.other_readings(figures))


def test_figures_of_one_decimal_are_rounded():
    for half, coarse in ((0.4, True), (0.45, False)):
        figures = from_printed((71.2, half), (70.5, 0.5), 600)
        assert figures.coarse == coarse
        assert words.details(figures)[-1].startswith("With one decimal") == coarse


WRITTEN = r"71.2±0.4|71.2 ± 0.4|71.2+-0.4|71.2+/-.4|71.2\pm0.4|71.2 \pm 0.4|71.2%±0.4%|71.2 (0.4)|$71.2_{0.4}$|71,2±0,4"


@pytest.mark.parametrize("text", WRITTEN.split("|"))
def test_a_figure_is_read_as_it_is_written(capsys, text):
    code, output = run(capsys, text, "70.5±0.5", "--tasks", "600")
    wanted = from_printed((71.2, 0.4), (70.5, 0.5), 600)
    assert code == 0 and output.out.splitlines()[0] == words.answer(wanted)
    assert output.out.splitlines()[1:] == [*words.details(wanted), *words.other_readings(wanted)]


def test_two_shares_are_read_as_percent(capsys):
    shares = run(capsys, "0.712±0.004", "0.705±0.005", "--tasks", "600")
    assert shares == run(capsys, "71.2±0.4", "70.5±0.5", "--tasks", "600")


def test_the_command_gives_json(capsys):
    line = "79.59±0.52 76.87±0.56 --tasks 600 --images 840 --classes 12 --same-tasks yes --sampling closed --json"
    code, output = run(capsys, *line.split())
    options = dict(images=840, classes=12, same_tasks="yes", sampling="closed")
    wanted = from_printed((79.59, 0.52), (76.87, 0.56), 600, **options)
    printed = json.loads(output.out)
    assert (code, printed["answer"]) == (0, words.answer(wanted))
    assert printed["notes"] == words.details(wanted)
    half_width = printed["likely"]["images"]["widest"]["half_width"]
    assert half_width == wanted.likely.images.widest.half_width
    assert len(printed["readings"]) == 3 and printed["n_tasks"] == [600, 600]


LINES = """71.2 70±1 --tasks 600 => first = 71.2; a mean and its ±, such as 71.2±0.4
0.712±0.004 70±1 --tasks 600 => mean of first = 0.712; percent is allowed
71.2±0.4 70±1 => --tasks
71.2±0.4 70±1 --tasks 1 => tasks = 1
71.2±0.4 70±1 --tasks 5 6 7 => one number is allowed, or one for each figure
71.2±0.4 70±1 --tasks 5 6 --same-tasks yes => the same tasks are equally many
71.2±0.4 70±1 --tasks 6 --sampling opn => did you mean open?
71.2±0.4 70±1 --tasks 6 --images 40 => images = 40"""


@pytest.mark.parametrize("line, message", [line.split(" => ") for line in LINES.splitlines()])
def test_bad_lines_are_told_in_one_line(capsys, line, message):
    code, output = run(capsys, *line.split())
    assert code == 2 and output.out == "" and message in output.err and output.err.count("\n") == 1
