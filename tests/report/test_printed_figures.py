"""What `fslcore compare` says of two printed figures, and which figures and lines it reads."""

import json

import pytest
from refusal import says_in_one_line

from fslcore.cli import app
from fslcore.report import printed as words
from fslcore.stats import compare_printed


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
    figures = compare_printed((61.2, half), (53.5, half), 600, confidence_level=level)
    assert words.details(figures)[0].startswith(f"± is read as {meaning}:")
    assert not any(meaning in line for line in words.other_readings(figures))


def test_figures_of_one_decimal_are_rounded():
    for half, coarse in ((0.4, True), (0.45, False)):
        figures = compare_printed((71.2, half), (70.5, 0.5), 600)
        assert figures.coarse == coarse
        assert words.details(figures)[-1].startswith("With one decimal") == coarse


WRITTEN = r"71.2±0.4|71.2 ± 0.4|71.2+-0.4|71.2+/-.4|71.2\pm0.4|71.2 \pm 0.4|71.2%±0.4%|71,2±0,4"


@pytest.mark.parametrize("text", WRITTEN.split("|"))
def test_a_figure_is_read_as_it_is_written(capsys, text):
    code, output = run(capsys, text, "70.5±0.5", "--tasks", "600")
    wanted = compare_printed((71.2, 0.4), (70.5, 0.5), 600)
    answer, *details = output.out.splitlines()
    assert (code, answer) == (0, words.answer(wanted))
    (assumed,) = {*details} - {*words.details(wanted), *words.other_readings(wanted)}
    assert says_in_one_line(assumed, "--ways 5", "--shots 5", "--queries 15")


def test_the_level_is_that_of_the_intervals(capsys):
    code, output = run(capsys, "71.2±0.4", "70.5±0.5", "--tasks", "600", "--level", "0.9")
    wanted = compare_printed((71.2, 0.4), (70.5, 0.5), 600, confidence_level=0.9)
    assert (code, output.out.splitlines()[0]) == (0, words.answer(wanted))


def test_two_shares_are_read_as_percent(capsys):
    shares = run(capsys, "0.712±0.004", "0.705±0.005", "--tasks", "600")
    assert shares == run(capsys, "71.2±0.4", "70.5±0.5", "--tasks", "600")


def test_the_command_gives_json(capsys):
    line = "79.59±0.52 76.87±0.56 --tasks 600 --images 840 --classes 12 --same-tasks yes --sampling closed --json"
    code, output = run(capsys, *line.split())
    options = dict(images=840, classes=12, same_tasks="yes", sampling="closed")
    wanted = compare_printed((79.59, 0.52), (76.87, 0.56), 600, **options)
    printed = json.loads(output.out)
    assert (code, printed["answer"]) == (0, words.answer(wanted))
    assert printed["notes"][:-1] == words.details(wanted)
    assert printed["notes"][-1].startswith("Assumed") and printed["shape"] == [5, 5, 15]
    half_width = printed["likely"]["images"]["widest"]["half_width"]
    assert half_width == wanted.likely.images.widest.half_width
    assert len(printed["readings"]) == 3 and printed["n_tasks"] == [600, 600]


def test_only_sizes_that_were_not_given_are_said_to_be_assumed(capsys):
    line = "79.59±0.52 76.87±0.56 --tasks 600 --ways 5 --shots 1"
    assert "Assumed, as not given: --queries 15.\n" in run(capsys, *line.split())[1].out
    assert "Assumed" not in run(capsys, *line.split(), "--queries", "15")[1].out


def test_every_usual_correlation_may_decide_it():
    """By hand: 1.96 √(0.52² + 0.56² − 2ρ · 0.52 · 0.56) / 1.96 is 0.65 at ρ = 0.28 and 0.18 at 0.95."""
    figures = (79.59, 0.52), (78.9, 0.56), 600
    unknown = words.answer(compare_printed(*figures))
    on_same, on_others = unknown.split(";")
    assert says_in_one_line(on_same, "first is better", "0.69", "same tasks", "every usual")
    assert says_in_one_line(on_same, "0.04 to 1.34", "0.28", "0.51 to 0.87", "0.95")
    assert says_in_one_line(on_others, "unrelated", "open", "−0.07 to 1.45")
    same = words.answer(compare_printed(*figures, same_tasks="yes"))
    assert "is better by 0.69 points on tasks drawn in this way at every usual correlation" in same
    pairing = words.details(compare_printed(*figures))[1]
    assert "a correlation above 0.19 decides it, so every usual one does" in pairing
    # At one of the usual correlations it is open.
    some = compare_printed((71.2, 0.9), (70.5, 0.9), 600)
    assert words.answer(some).startswith("It is open which is better")
    assert "so every usual one does" not in words.details(some)[1]


def test_a_narrower_paired_interval_has_its_correlation_beside_it():
    better = compare_printed((79.59, 0.52), (76.87, 0.56), 600)
    sentence = words.pairing_sentence(better)
    assert "2.07 to 3.37 at a correlation of 0.28" in sentence
    assert "2.31 to 3.13 at 0.71 and 2.54 to 2.90 at 0.95" in sentence
    assert "at a negative correlation it is wider" in sentence
    others = compare_printed((79.59, 0.52), (76.87, 0.56), [600, 500])
    assert words.pairing_sentence(others).startswith("The numbers of tasks differ")


def test_images_that_are_too_few_for_open_tasks_are_named():
    """Sampling that was not given is never taken for closed without a word."""
    for images, shown in ((840, True), (59_999, True), (60_000, False)):
        figures = compare_printed((79.59, 0.52), (76.87, 0.56), 600, images=images)
        assert ("on these images" in words.answer(figures)) == shown
        notes = " ".join(words.details(figures))
        assert ("so the 600 use images again (closed)" in notes) == shown
        assert f"{images:,} images make at most {images // 100} tasks of this shape" in notes
    assert "for 5-way 5-shot tasks with 15 queries per class" in notes


def test_new_images_have_the_paired_intervals_too():
    figures = compare_printed((79.59, 0.52), (76.87, 0.56), 600, images=840)
    sentence = words.images_sentence(figures)
    assert "−4.57 to 10.01 on unrelated tasks" in sentence
    assert (
        "on the same ones −4.10 to 9.54 at a correlation of 0.28, 0.88 to 4.56 at 0.95" in sentence
    )
    lone = compare_printed((79.59, 0.52), (76.87, 0.56), 600, images=199)
    assert "two tasks that share no image are needed" in words.images_sentence(lone)


@pytest.mark.parametrize("text", ["71.2 (0.4)", "$71.2_{0.4}$"])
def test_a_number_in_brackets_is_no_half_width(capsys, text):
    code, output = run(capsys, text, "70.5±0.5", "--tasks", "600")
    assert (code, output.out) == (2, "")
    assert says_in_one_line(output.err, text, "71.2±0.4", "brackets")


LINES = """71.2 70±1 --tasks 600 => a must be a mean and its ±, such as 71.2±0.4
0.712±0.004 70±1 --tasks 600 => mean of a must be in percent, got 0.712
71.2±0.4 70±1 => --tasks
71.2±0.4 70±1 --tasks 1 => tasks must be an integer >= 2, got 1
71.2±0.4 70±1 --tasks 5 6 7 => tasks must be one number, or one for each figure, got 5 6 7
71.2±0.4 70±1 --tasks 5 6 --same-tasks yes => with --same-tasks yes, got 5 and 6
71.2±0.4 70±1 --tasks 6 --sampling opn => did you mean 'open'?
71.2±0.4 70±1 --tasks 6 --images 40 => images must be an integer from 100"""


@pytest.mark.parametrize("line, message", [line.split(" => ") for line in LINES.splitlines()])
def test_bad_lines_are_told_in_one_line(capsys, line, message):
    code, output = run(capsys, *line.split())
    assert code == 2 and output.out == "" and message in output.err and output.err.count("\n") == 1
