"""What two printed figures tell: the arithmetic against SciPy, bounds by simulation, the rest against data at hand."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st
from scipy import stats as sp

from fslbook.oops import gaussians
from fslcore import stats
from fslcore.cli import app
from fslcore.errors import InputError
from fslcore.paths import DATA
from fslcore.report import printed as words
from fslcore.stats import from_printed, published as printed
from fslcore.tasks import sample_closed


@pytest.fixture(scope="module")
def episodes():
    """Accuracies (T, methods) of the stored 5-way 5-shot episodes, by set of classes."""
    kept_tasks = pd.read_parquet(DATA / "episodes" / "episodes.parquet")
    kept_tasks = kept_tasks[kept_tasks.block == -1]
    result = []
    for _, rows in kept_tasks.groupby(["dataset", "split"], observed=True):
        columns = ["backbone", "learner"]
        wide = rows.pivot_table(
            index="task", columns=columns, values="accuracy", observed=True
        ).dropna(axis=1)
        if len(wide):
            result.append(100 * wide.to_numpy())
    assert len(result) == 12 and kept_tasks.queries.unique() == [75]
    return result


def test_what_it_takes_for_usual_comes_from_the_stored_episodes(episodes):
    shared, correlations = [], []
    for a in episodes:
        mean, n = a.mean(axis=0), 75
        ratio = a.var(axis=0, ddof=1) / (mean * (100 - mean))
        shared += list((ratio - 1 / n) / (1 - 1 / n))
        correlations += list(np.corrcoef(a.T)[np.triu_indices(a.shape[1], 1)])
    assert round(np.median(shared), 4) == printed.BETWEEN
    assert tuple(np.quantile(correlations, [0.05, 0.95]).round(2)) == printed.CORRELATION


def test_it_knows_what_the_figures_of_the_episodes_mean(episodes):
    """Each pair of methods printed with each of the three, to one decimal or two, of as many tasks as there are."""
    right, options = 0, 0
    for a in episodes:
        mean, deviation, t = a.mean(axis=0), a.std(axis=0, ddof=1), len(a)
        factors = {
            "interval": 1.96 / np.sqrt(t),
            "standard error": 1 / np.sqrt(t),
            "standard deviation": 1,
        }
        for i in range(a.shape[1] - 1):
            for meaning, factor in factors.items():
                figures = [
                    (m.round(2), (factor * s).round(2))
                    for m, s in zip(mean[i : i + 2], deviation[i : i + 2])
                ]
                right += from_printed(*figures, t).likely.meaning == meaning
                options += 1
    assert options == 108 and right == options


def test_unrelated_tasks_have_welch_s_interval():
    rng = np.random.default_rng(0)
    for _ in range(30):
        a, b = rng.uniform([60, 0.2], [80, 2]), rng.uniform([60, 0.2], [80, 2])
        tasks, level = rng.integers(5, 900, 2).tolist(), float(rng.uniform(0.8, 0.99))
        for r in from_printed(a, b, tasks, same_tasks="no", level=level).readings:
            z = sp.norm.ppf((1 + level) / 2)
            factor = {"interval": np.sqrt(tasks) / z, "standard error": np.sqrt(tasks)}.get(
                r.meaning, np.ones(2)
            )
            s = np.array([a[1], b[1]]) * factor
            np.testing.assert_allclose(r.deviations, s)
            test = sp.ttest_ind_from_stats(
                a[0], s[0], tasks[0], b[0], s[1], tasks[1], equal_var=False
            )
            assert r.tasks.widest.p_value == pytest.approx(test.pvalue, rel=1e-9)
            assert r.tasks.narrowest == r.tasks.widest and r.tasks.correlation is None
            assert r.tasks.verdict == (
                "better" if test.pvalue < 1 - level else "not significantly different"
            )


@pytest.mark.parametrize("rho", [-0.2, 0.0, 0.6, 0.95, 0.99])
def test_the_paired_interval_lies_between_the_two(rho):
    """Of accuracies whose correlation is exactly this one, the interval is the paired one of the library."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    x -= x.mean(axis=0)
    first = x[:, 0] / x[:, 0].std(ddof=1)
    options = x[:, 1] - (x[:, 1] @ first) / (first @ first) * first
    options /= options.std(ddof=1)
    a, b = 70 + 9 * first, 69.6 + 8 * (rho * first + np.sqrt(1 - rho**2) * options)
    figures = [(v.mean(), 1.959963984540054 * v.std(ddof=1) / 20) for v in (a, b)]
    result = from_printed(*figures, 400, same_tasks="yes").readings[0].tasks
    paired = stats.paired_interval(a, b)
    if rho == 0.95:
        assert result.narrowest.half_width == pytest.approx(paired.half_width, rel=1e-9)
    assert result.widest.kind == stats.independent_interval(a, b).kind
    assert (result.narrowest.n_tasks, result.narrowest.kind) == (paired.n_tasks, "paired")
    between_tasks = (
        result.narrowest.half_width * (1 - 1e-9)
        <= paired.half_width
        <= result.widest.half_width * 1.003
    )
    assert between_tasks == (0 <= rho <= 0.95)
    assert (rho > result.correlation) == (paired.conclusion != 0)


@given(
    st.tuples(st.floats(1.01, 99.99), st.floats(0.001, 99)),
    st.tuples(st.floats(1.01, 99.99), st.floats(0.001, 99)),
    st.integers(2, 2000),
    st.sampled_from([None, 10, 20, 400]),
    st.sampled_from(["yes", "no"]),
)
@example((71.2, 0.4), (70.5, 0.5), 600, None, "yes")
@example((1.2, 6), (99, 6), 5, 10, "yes")
def test_no_number_is_outside_what_it_can_be(a, b, tasks, classes, same_tasks):
    """Correlations within ±1, ends of a difference within ±100 points, deviations that accuracies can have."""
    try:
        result = from_printed(a, b, tasks, classes=classes, images=500, same_tasks=same_tasks)
    except InputError as error:
        assert "standard deviations of at most" in str(error)
        return
    assert result.likely in result.readings
    for reading in result.readings:
        for deviation, (mean, _) in zip(reading.deviations, (a, b)):
            assert deviation <= np.sqrt(mean * (100 - mean) * tasks / (tasks - 1)) * (1 + 1e-12)
        for difference in filter(None, (reading.tasks, reading.images, reading.classes)):
            assert difference.correlation is None or -1 < difference.correlation < 1
            assert difference.correlation is not None or difference.verdict != "depends"
            for interval in (difference.widest, difference.narrowest):
                assert -100 <= interval.low <= interval.mean <= interval.high <= 100


def test_a_reading_by_which_accuracies_would_vary_more_than_they_can_is_left_out():
    result = from_printed((90, 4), (91, 4), 600)
    assert [reading.meaning for reading in result.readings] == [
        "standard deviation"
    ]  # else 50 and 98 points
    assert result.likely is result.readings[0]
    with pytest.raises(
        InputError,
        match=r"± = 30 and 30; accuracies with these means have .* at most 12.17 and 11.12",
    ):
        from_printed((1.2, 30), (99, 30), 5)


def test_images_that_a_closed_interval_leaves_out_are_bounded():
    """Test sets of two Gaussian classes: the bound holds the truth at its level, the closed interval does not."""
    tasks, n, means = 400, 60, gaussians.PAPER
    truth, held, closed = None, 0, 0
    rng = np.random.default_rng(2)
    values = gaussians.gaussian_tasks(means, 200_000, 2, 4, rng)
    truth = 100 * values.mean()
    repetitions = 150
    for seed in range(repetitions):
        x, labels = gaussians.gaussian_classes(n, rng)
        images = sample_closed(labels, tasks=tasks, ways=2, shots=2, queries=4, seed=seed)
        accuracy = 100 * gaussians.nearest_mean_accuracy(x, images)
        figure = (accuracy.mean(), stats.closed_interval(accuracy).half_width)
        # beside a figure that is known: the difference then varies as the accuracy does
        r = from_printed(
            figure, (truth, 1e-6), tasks, images=2 * n, ways=2, shots=2, queries=4
        ).readings[0]
        held += r.images.widest.low <= 0 <= r.images.widest.high
        closed += r.tasks.widest.low <= 0 <= r.tasks.widest.high
    assert held >= sp.binom.ppf(0.001, repetitions, 0.95) and closed < 0.8 * repetitions


def test_sampling_is_inferred_from_the_number_of_images():
    figures = (71.2, 0.4), (70.5, 0.5)
    assert from_printed(*figures, 600).sampling == "unknown"
    assert from_printed(*figures, 600, images=59_999).sampling == "closed"
    assert from_printed(*figures, 600, images=60_000).sampling == "unknown"
    assert from_printed(*figures, 600, images=60_000, sampling="open").likely.images is None
    with pytest.raises(InputError, match="599 open tasks"):
        from_printed(*figures, 600, images=59_999, sampling="open")
    assert from_printed(*figures, 600, images=199).likely.images is None
    assert from_printed(*figures, 600, classes=9).likely.classes is None
    assert from_printed(*figures, 600, classes=10).likely.classes.widest.n_tasks == 2


@pytest.mark.parametrize(
    "figure",
    [(71.2,), 71.2, "71.2±0.4", (0.7, 0.1), (71.2, -1), (71.2, np.nan), (101, 1), (True, 1)],
)
def test_bad_figures(figure):
    with pytest.raises(InputError):
        from_printed(figure, (70, 1), 600)


def test_a_mean_that_could_not_be_a_share_is_taken_for_percent():
    assert from_printed((1.5, 0.2), (70, 1), 600).difference == pytest.approx(-68.5)


def test_decimals_are_numbers():
    exact = [(Decimal(mean), Decimal("0.4")) for mean in ("71.2", "70.1")]
    assert from_printed(*exact, 600) == from_printed((71.2, 0.4), (70.1, 0.4), 600)


# ---------------------------------------------------------------- the command


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
    result = from_printed((61.2, half), (53.5, half), 600, level=level)
    assert words.details(result)[0].startswith(f"± is read as {meaning}:")
    assert not any(meaning in line for line in words.other_readings(result))


def test_figures_of_one_decimal_are_rounded():
    for half, coarse in ((0.4, True), (0.45, False)):
        result = from_printed((71.2, half), (70.5, 0.5), 600)
        assert (
            result.coarse == coarse
            and words.details(result)[-1].startswith("With one decimal") == coarse
        )


WRITTEN = r"71.2±0.4|71.2 ± 0.4|71.2+-0.4|71.2+/-.4|71.2\pm0.4|71.2 \pm 0.4|71.2%±0.4%|71.2 (0.4)|$71.2_{0.4}$|71,2±0,4"


@pytest.mark.parametrize("text", WRITTEN.split("|"))
def test_a_figure_is_read_as_it_is_written(capsys, text):
    code, all_text = run(capsys, text, "70.5±0.5", "--tasks", "600")
    wanted = from_printed((71.2, 0.4), (70.5, 0.5), 600)
    assert code == 0 and all_text.out.splitlines()[0] == words.answer(wanted)
    assert all_text.out.splitlines()[1:] == [*words.details(wanted), *words.other_readings(wanted)]


def test_two_shares_are_read_as_percent(capsys):
    shares = run(capsys, "0.712±0.004", "0.705±0.005", "--tasks", "600")
    assert shares == run(capsys, "71.2±0.4", "70.5±0.5", "--tasks", "600")


def test_the_command_gives_json(capsys):
    line = "79.59±0.52 76.87±0.56 --tasks 600 --images 840 --classes 12 --same-tasks yes --sampling closed --json"
    code, text = run(capsys, *line.split())
    wanted = from_printed(
        (79.59, 0.52),
        (76.87, 0.56),
        600,
        images=840,
        classes=12,
        same_tasks="yes",
        sampling="closed",
    )
    result = json.loads(text.out)
    assert (
        code == 0
        and result["answer"] == words.answer(wanted)
        and result["notes"] == words.details(wanted)
    )
    assert (
        result["likely"]["images"]["widest"]["half_width"] == wanted.likely.images.widest.half_width
    )
    assert len(result["readings"]) == 3 and result["n_tasks"] == [600, 600]


@pytest.mark.parametrize(
    "line, message",
    [
        (
            "71.2 70±1 --tasks 600",
            "first = 71.2; a mean and its ±, such as 71.2±0.4, 71.2+-0.4 or 71.2 (0.4), is needed",
        ),
        (
            "0.712±0.004 70±1 --tasks 600",
            "mean of first = 0.712; percent is allowed, not a share: 71.2",
        ),
        ("71.2±0.4 70±1", "--tasks"),
        ("71.2±0.4 70±1 --tasks 1", "tasks = 1"),
        ("71.2±0.4 70±1 --tasks 1 2 3", "tasks = 1"),
        ("71.2±0.4 70±1 --tasks 5 6 7", "one number is allowed, or one for each figure"),
        ("71.2±0.4 70±1 --tasks 5 6 --same-tasks yes", "the same tasks are equally many"),
        ("71.2±0.4 70±1 --tasks 6 --sampling opn", "did you mean open?"),
        ("71.2±0.4 70±1 --tasks 6 --images 40", "images = 40"),
    ],
)
def test_bad_lines_are_told_in_one_line(capsys, line, message):
    code, text = run(capsys, *line.split())
    assert code == 2 and text.out == "" and message in text.err and text.err.count("\n") == 1
