"""The labs in the pages: what they compute, beside the library, in a headless browser; and how they answer a reader.

``python tests/site/test_labs.py`` draws the still picture of the first lab again, for pages without scripts.
"""

import json
import random
import re
import sys
from pathlib import Path

import numpy as np
import pdf
import pytest
from browsing import DESK, PHONE, page_of, watched
from scipy import stats as sp

from fslcore import stats
from fslcore.errors import InputError
from fslcore.report import printed
from fslcore.report.numbers import half_width_of, number_in
from fslcore.stats.intervals import limits
from fslcore.stats.pilot import Moments, Pilot
from fslcore.stats.targets import IMAGE_TARGETS
from fslcore.tasks import sample_closed

ROOT = Path(__file__).resolve().parents[2]
LABS = ROOT / "book" / "_static" / "labs"
SITE = ROOT / "_build" / "html"
MINE = ("repetition", "printed", "sizing")
BRIEF = ' data-kinds="closed images"'  # the lab as the first page has it
STILLS = {"repetition.svg": "", "repetition-brief.svg": BRIEF}


def page_of_labs(folder, names=MINE, options=""):
    """The address of a page with labs, as a chapter has them."""
    content = f'<link rel="stylesheet" href="{LABS.as_uri()}/labs.css">'
    for name in names:
        content += f'<div class="fsl-lab" data-lab="{name}"{options}><p>words</p></div>'
    for name in ("labs", *names):
        content += f'<script src="{LABS.as_uri()}/{name}.js" defer></script>'
    return page_of(folder / "index.html", content)


@pytest.fixture(scope="module")
def labs(browser, tmp_path_factory):
    """Calls a function of the labs: ``labs('dist => …', argument)``; NaN and infinity survive."""
    page = browser.new_context(offline=True).new_page()
    page.goto(page_of_labs(tmp_path_factory.mktemp("labs")))
    page.wait_for_function(
        "() => window.fslLabs && fslLabs.compute.repetition && fslLabs.compute.sizing"
    )
    yield lambda code, *inputs: page.evaluate(f"given => ({code})(...given)", list(inputs))
    page.close()


def close(by_lab, wanted, relative=1e-6, absolute=1e-9):
    np.testing.assert_allclose(
        np.array(by_lab, float), np.array(wanted, float), rtol=relative, atol=absolute
    )


# ---------------------------------------------------------------- distributions and intervals


def test_distributions_are_those_of_scipy(labs):
    rng = np.random.default_rng(0)
    df = np.append(np.exp(rng.uniform(0, np.log(1e5), 40)), [1, 2, 599])
    p, u = rng.uniform(0.0001, 0.9999, (2, len(df)))
    x, (a, b) = rng.normal(0, 4, len(df)), rng.uniform(0.3, 60, (2, len(df)))
    expected = {
        "quantile(p)": sp.norm.ppf(p),
        "quantile(p, df)": sp.t.ppf(p, df),
        "chi2Quantile(p, df)": sp.chi2.ppf(p, df),
        "survival(x)": sp.norm.sf(x),
        "survival(x, df)": sp.t.sf(x, df),
        "chi2Survival(x * x, df / 40)": sp.chi2.sf(x**2, df / 40),
        "betas(u, a, b)[0]": sp.beta.cdf(u, a, b),
    }
    rows = np.transpose([p, u, x, df, a, b]).tolist()
    for call, values in expected.items():
        by_lab = labs(f"rows => rows.map(([p, u, x, df, a, b]) => fslLabs.{call})", rows)
        close(by_lab, values, 1e-8, 1e-9 if "uantile" in call else 1e-290)


def test_power_and_limits_are_those_of_the_library(labs):
    rng = np.random.default_rng(1)
    cases = [
        (*rng.uniform([0, 0.1], [5, 3]), rng.choice([1, 2, 4.5, 30, 599, 5e4, np.inf]))
        for _ in range(120)
    ]
    by_lab = labs("c => c.map(([d, s, df]) => fslLabs.power(d, s, df, 0.9))", cases)
    close(by_lab, [stats.power(*case, 0.9) for case in cases], 1e-7)
    cases = [
        (rng.uniform(0, 100), rng.exponential(5), rng.choice([1.3, 4, 40, np.inf]))
        for _ in range(200)
    ]
    cases += [
        (0.0, 0.0, np.inf),
        (100.0, 3.0, 9),
        (100.0, 0.0, 9),
        (50.0, 1e-9, 9),
        (99.99, 1.0, np.inf),
    ]
    by_lab = labs("c => c.map(([m, h, df]) => fslLabs.limits(m, h, [0, 100], df, 0.95))", cases)
    close(by_lab, [np.array(limits(m, h, (0, 100), df)) for m, h, df in cases], 1e-7)


def test_intervals_of_accuracies_are_those_of_the_library(labs):
    rng = np.random.default_rng(2)
    for kind, interval_of in (
        ("closed", stats.closed_task_interval),
        ("open", stats.open_task_interval),
    ):
        for count in (2, 17):
            values = rng.uniform(30, 90, count)
            by_lab = labs(
                "(x, k) => fslLabs.intervalOf(x, k, 0.9, [0, 100])", values.tolist(), kind
            )
            close_interval(by_lab, interval_of(values, 0.9, bounds=(0, 100)))


def close_interval(by_lab, interval):
    numbers = [interval.estimate, interval.half_width, interval.low, interval.high]
    close([by_lab[key] for key in ("mean", "half", "low", "high")], numbers)


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_numbers_are_written_as_python_writes_them(labs, decimals):
    rng = np.random.default_rng(3)
    values = [
        *rng.normal(0, 30, 300),
        *(np.arange(-40, 40) / 16),
        0.145,
        2.675,
        1.005,
        0.285,
        -0.04,
        8.25,
    ]
    by_lab = labs("(x, d) => x.map(x => fslLabs.fixed(x, d))", [float(v) for v in values], decimals)
    assert by_lab == [f"{v:.{decimals}f}" for v in values]


# ---------------------------------------------------------------- what does a repetition replace?


def tasks_of(rng, classes, n, ways, shots, queries, tasks, ease):
    labels = np.arange(classes).repeat(n)
    images_of_tasks = sample_closed(
        labels, ways=ways, shots=shots, queries=queries, tasks=tasks, seed=int(rng.integers(2**31))
    )
    support = np.sort(images_of_tasks.support.reshape(tasks, ways, shots), axis=2)
    order = np.argsort(
        labels[support[..., 0]], axis=1
    )  # the lab's tasks list their classes in order
    support = np.take_along_axis(support, order[..., None], axis=1)
    query = np.take_along_axis(
        images_of_tasks.query.reshape(tasks, ways, queries), order[..., None], axis=1
    )
    right = 100.0 * (rng.random(query.shape) < ease + 0.3 * rng.normal(size=classes)[labels[query]])
    return labels, right, support, query


CASES = [
    (20, 60, 5, 5, 15, 600, 0.7),
    (5, 12, 5, 1, 4, 90, 0.6),  # each task holds every class
    (6, 40, 5, 1, 1, 50, 0.5),
    (10, 30, 5, 5, 5, 100, 9.0),  # all are right
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_three_intervals_are_those_of_the_library(labs, case):
    rng = np.random.default_rng(CASES.index(case))
    labels, *arrays = tasks_of(rng, *case)
    right, support, query = arrays = [values.reshape(case[5], -1) for values in arrays]
    run = dict(zip(("ways", "shots", "queries", "tasks"), case[2:]), right=right.ravel().tolist())
    run |= dict(support=support.ravel().tolist(), query=query.ravel().tolist())
    run["held"] = labels[support[:, :: case[3]]].ravel().tolist()
    by_lab = labs(
        "(run, label) => fslLabs.compute.repetition.threeIntervals(run, label)",
        run,
        labels.tolist(),
    )
    expected = stats.three_intervals(*arrays, labels, bounds=(0, 100))
    for kind in ("closed", "images", "classes"):
        close_interval(by_lab[kind], getattr(expected, kind))


DRAWN = """(settings, kind) => {
  const { drawn, tested } = fslLabs.compute.repetition, random = fslLabs.random(5), run = drawn(kind, settings, random);
  const x = Float64Array.from({ length: 2 * settings.classes * settings.n }, () => random.normal());
  const accuracy = tested(run, x), plain = {};
  for (const k of ["held", "support", "query", "right"]) plain[k] = [...run[k]];
  return { x: [...x], accuracy: [...accuracy], tasks: run.tasks, ...plain };
}"""
SIZES = {
    "support": 3,
    "query": 4,
    "right": 4,
    "held": 1,
}  # of arrays of the tasks, for each of five classes


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_the_nearest_mean_is_that_of_the_book(labs, kind):
    """On tasks that the lab draws: of images of the right classes, none twice in a task, or in open ones at all."""
    by_lab = labs(DRAWN, dict(classes=12, n=30, shots=3, queries=4, tasks=150), kind)
    tasks = {
        k: np.array(by_lab[k])[: by_lab["tasks"] * 5 * size].reshape(-1, 5, size)
        for k, size in SIZES.items()
    }
    images = np.concatenate([tasks["support"], tasks["query"]], axis=2)
    assert (images // 30 == tasks["held"]).all()
    assert len(images) == 150 if kind == "closed" else len(images) >= 9
    for part in images if kind == "closed" else [images]:
        assert len(np.unique(part)) == part.size
    x = np.array(by_lab["x"]).reshape(-1, 2)
    means, points = x[tasks["support"]].mean(axis=2), x[tasks["query"]]
    distances = ((points[:, :, :, None] - means[:, None, None]) ** 2).sum(axis=-1)
    right = distances.argmin(axis=-1) == np.arange(5)[:, None]
    np.testing.assert_array_equal(tasks["right"] == 100, right)
    close(by_lab["accuracy"], 100 * right.mean(axis=(1, 2)))


STUDY = """(settings, seeds) => seeds.map(seed => {
  const { study, covers } = fslLabs.compute.repetition, of = study(settings, seed);
  const misses = { closed: 0, open: 0, images: 0, classes: 0 };
  let found, first = null;
  while ((found = of.next())) {
    first = first || found;
    for (const kind in misses) if (found[kind] && !covers(found[kind], of.truth)) misses[kind]++;
  }
  return { misses, truth: of.truth, first: first.closed.mean };
})"""
USUAL = dict(n=40, classes=10, shots=5, queries=10, tasks=600)


@pytest.mark.parametrize("replaced", ["tasks", "images", "classes"])
def test_each_interval_misses_rarely_what_it_speaks_of(labs, replaced):
    """Of 8 times 40 test sets; bounds of a binomial number at 5 %, with room for the noise of the truth."""
    results = labs(STUDY, USUAL | {"replaced": replaced}, list(range(8)))
    missed = {kind: sum(m["misses"][kind] for m in results) for kind in results[0]["misses"]}
    rare = int(sp.binom.ppf(0.9999, 320, 0.05)) + 4
    if replaced == "tasks":
        assert missed["closed"] <= rare and missed["closed"] >= 3
    if replaced == "images":
        assert missed["images"] <= rare and missed["open"] <= rare
        assert missed["closed"] > 2 * rare  # what the lab is there to show
    if replaced == "classes":
        assert missed["classes"] <= rare
        assert min(missed["closed"], missed["images"]) > 2 * rare


# ---------------------------------------------------------------- what may be said of two printed figures?


ANSWERS = {
    "ways": [2, 5, 10],
    "shots": [1, 5],
    "queries": [5, 15],
    "sampling": ["closed", "unknown", "open"],
    "level": [0.95, 0.99, 0.9],
    "same_tasks": ["no", "unknown", "yes"],
    "images": [None, 400, 840, 12000],
    "classes": [None, 10, 60],
}


def printed_cases(count=150):
    """Two figures with their ±, numbers of tasks, and what else a reader fills in."""
    rng = random.Random(11)
    for _ in range(count):
        first = rng.uniform(25, 97)
        second = min(max(rng.gauss(first, rng.choice([1, 1, 20])), 2), 99)
        tasks = [rng.choice([100, 600, 1000, 10000])] * 2
        answers = {name: rng.choice(values) for name, values in ANSWERS.items()}
        if answers["same_tasks"] == "no" and rng.random() < 0.5:
            tasks[1] = 100
        if answers["sampling"] == "open":
            answers["images"] = None
        halves = [rng.choice([16, 31]) / size ** rng.choice([0, 0.5, 0.5]) for size in tasks]
        yield (
            [round(first, 2), round(halves[0], 2)],
            [round(second, 2), round(halves[1], 2)],
            tasks,
            answers,
        )


def test_printed_figures_give_what_the_library_gives(labs):
    verdicts = set()
    code = """(a, b, t, given) => {
      try { return fslLabs.compute.printed.fromPrinted(a, b, t, given); } catch (e) { return e.message; }
    }"""
    for first, second, tasks, answers in printed_cases():
        by_lab = labs(code, first, second, tasks, answers)
        level = answers.pop("level")
        try:
            expected = stats.compare_printed(
                first, second, tasks, confidence_level=level, **answers
            )
        except InputError:
            assert "cannot vary as much" in by_lab
            verdicts.add("refused")
            continue
        assert by_lab["sentence"] == printed.answer(expected) and by_lab[
            "notes"
        ] == printed.details(expected)
        verdicts.add(expected.likely.tasks.verdict)
        if expected.likely.tasks.verdict == "open" and expected.likely.tasks.is_usually_decided:
            verdicts.add("usually decided")
        assert [reading["meaning"] for reading in by_lab["readings"]] == [
            r.meaning for r in expected.readings
        ]
        for mine, theirs in zip(by_lab["readings"], expected.readings):
            close(mine["deviations"], theirs.deviations)
            for target in ("tasks", "images", "classes"):
                compare_differences(mine[target], getattr(theirs, target))
    named = {"better", "open", "not significantly different", "refused", "usually decided"}
    assert verdicts == named


def compare_differences(mine, theirs):
    if theirs is None:
        assert mine is None
        return
    assert mine["verdict"] == theirs.verdict
    close(mine["correlation"] or 0, theirs.correlation or 0, 1e-5)
    for end in ("widest", "narrowest"):
        close_interval(mine[end], getattr(theirs, end))
        assert mine[end]["tasks"] == getattr(theirs, end).n
    assert len(mine["paired"]) == len(theirs.paired)
    for by_lab, expected in zip(mine["paired"], theirs.paired):
        close_interval(by_lab, expected)


@pytest.mark.parametrize(
    "a, inputs",
    [
        ([0.712, 0.004], {}),
        ([71.2, 0.0], {}),
        ([71.2, 0.4], dict(tasks=[1, 1])),
        ([71.2, 0.4], dict(tasks=[600, 100], same_tasks="yes")),
        ([71.2, 0.4], dict(images=99)),
        ([71.2, 0.4], dict(images=1000, sampling="open")),
        ([71.2, 0.4], dict(classes=4)),
    ],
)
def test_bad_figures_are_refused_as_the_library_refuses_them(labs, a, inputs):
    inputs = {"tasks": [600, 600]} | inputs
    tasks = inputs.pop("tasks")
    code = """(a, t, given) => {
      try { fslLabs.compute.printed.fromPrinted(a, [70.5, 0.5], t, given); return ""; } catch (e) { return e.message; }
    }"""
    sentence = labs(code, a, tasks, inputs)
    assert sentence and "\n" not in sentence
    with pytest.raises(InputError):
        stats.compare_printed(a, [70.5, 0.5], tasks, **inputs)


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("71.2 ± 0.4", [71.2, 0.4]),
        ("71,2±0,4 %", [71.2, 0.4]),
        ("71.2 +/- .4", [71.2, 0.4]),
        (r"$71.2 \pm 0.4$", [71.2, 0.4]),
        ("71.2 (0.4)", None),
        ("71.2(4)", None),
        ("71.2 [0.4]", None),
        ("71.2", None),
        ("71.2 0.4", None),
    ],
)
def test_only_a_sign_makes_a_second_number_a_half_width(labs, text, wanted):
    """Brackets hold a rank, a count or a deviation: they are never ±, in the page as in the command."""
    assert labs("text => fslLabs.compute.printed.figure(text)", text) == wanted
    match = number_in(text)
    by_command = match and half_width_of(match)
    assert bool(by_command) == (wanted is not None)


# ---------------------------------------------------------------- how many queries, tasks, images, classes?


SIZING = """(a, b, s, k, c, d, p, level) => {
  const of = fslLabs.compute.sizing, m = of.model(a, b, s);
  return [of.optimum(m), of.bestQueries(m), of.variance(m, 7, 33), of.taskCount(1200, k, s, 15),
    of.planOpen(a, b, s, k, c, d, p, level)];
}"""


@pytest.mark.parametrize("seed", range(25))
def test_the_sizing_curve_and_the_plan_are_those_of_the_library(labs, seed):
    rng = random.Random(seed)
    alpha, beta = np.exp(rng.uniform(-10, -5)), np.exp(rng.uniform(-6, -1))
    shots, ways, level = rng.choice([1, 5, 10]), rng.choice([2, 5, 10]), rng.choice([0.95, 0.9])
    wanted = dict(
        difference=rng.choice([0.01, 0.03, 0.08]),
        target_power=rng.choice([0.5, 0.8, 0.9]),
        confidence_level=level,
    )
    classes = ways * rng.randint(1, 5)
    model = stats.VarianceModel(alpha, beta, beta / shots + shots * alpha, shots)
    pilot = Pilot(
        Moments(0.0, 0.1, 0.01, 0.0, 0.0, ways), model, 0.0, np.inf, level, 600, np.zeros((2, 2))
    )
    *by_lab, by_plan = labs(SIZING, alpha, beta, shots, ways, classes, *wanted.values())
    close(
        by_lab,
        [
            model.optimum,
            stats.optimal_queries(model),
            model.variance(7, 33),
            stats.open_task_count(1200, ways, shots, 15),
        ],
    )
    with np.errstate(divide="ignore"):  # of a covariance of 0
        plan = stats.plan_sample_size(pilot, n_classes=classes, **wanted)
    assert by_plan == dict(
        tasks=plan.n_tasks, queries=plan.queries, imagesPerClass=plan.images_per_class
    )


@pytest.mark.parametrize(
    "count, per_class, difference", [(5, 30, 1.0), (12, 200, 3.0), (40, 30, 30.0), (12, 30, 1.0)]
)
def test_the_plan_of_three_intervals_is_that_of_the_library(labs, count, per_class, difference):
    halves = np.cumsum(np.random.default_rng(13).uniform(0.2, 1.5, 3))
    df = [np.inf, count * per_class - 1, count - 1]
    if count == 5:  # each task holds all classes
        halves[2], df[2] = np.inf, np.nan
    intervals = [
        stats.Interval(0.5, half, 0.95, 600, *target)
        for half, *target in zip(halves, IMAGE_TARGETS, df)
    ]
    closed, *others = (interval.standard_error**2 for interval in intervals)
    pilot = stats.ThreeIntervals(
        *intervals, closed, others[0] - closed, np.nan_to_num(others[1] - closed, nan=np.inf)
    )
    plan = stats.plan_sample_size(
        pilot,
        difference=difference,
        target_power=0.8,
        n_classes=count,
        images_per_class=per_class,
        ways=5,
        shots=1,
    )
    answers = dict(
        zip(("closed", "images", "classes"), halves),
        tasks=600,
        ways=5,
        shots=1,
        perClass=per_class,
        count=count,
    )
    answers |= dict(imagesDf=df[1], classesDf=df[2])
    by_lab = labs(
        "(g, d, p) => fslLabs.compute.sizing.planClosed(g, d, p)", answers, difference, 0.8
    )
    expected = {
        "tasks": [plan.n_tasks, *plan.tasks_range],
        "images": plan.images_per_class and [plan.images_per_class, *plan.images_range],
        "classes": plan.n_classes and [plan.n_classes, *plan.classes_range],
    }
    assert {
        name: size and [size["size"], size["low"], size["high"]] for name, size in by_lab.items()
    } == expected


# ---------------------------------------------------------------- in a page

SENTENCES = "() => [...document.querySelectorAll('.fsl-says')].map(e => e.textContent)"
TOLD = "() => [...document.querySelectorAll('.fsl-says')].every(e => e.textContent.trim())"


def opened(browser, address, size=DESK):
    page = watched(
        browser.new_context(viewport=size, reduced_motion="reduce", offline=True).new_page()
    )
    page.goto(address, wait_until="load")
    page.wait_for_function(TOLD, timeout=60_000)
    return page


@pytest.fixture
def open_page(browser):
    """Opens pages without a network; at the end none has had a fault."""
    pages = []

    def open_in_browser(address, size=DESK):
        pages.append(opened(browser, address, size))
        return pages[-1]

    yield open_in_browser
    for page in pages:
        assert page.faults == []
        page.context.close()


def walk(page):
    """Move each slider by a key."""
    lazy, sliders = [], page.locator(".fsl-lab input[type=range]").count()
    for lab in page.locator(".fsl-lab").all():
        for control in lab.locator("input[type=range]:visible").all():
            before = lab.locator("input[type=range]").evaluate_all("e => e.map(x => x.value)")
            control.focus()
            page.keyboard.press(
                "ArrowRight" if control.evaluate("e => e.value === e.min") else "ArrowLeft"
            )
            if before == lab.locator("input[type=range]").evaluate_all("e => e.map(x => x.value)"):
                lazy.append(control.get_attribute("id"))
    assert sliders and not lazy, lazy


def test_a_reader_with_a_keyboard_gets_an_answer(open_page, tmp_path):
    """Over file://, without a network, on a phone: labels, the sentence that changes, nothing wider than the screen."""
    page = open_page(page_of_labs(tmp_path), PHONE)
    before = page.evaluate(SENTENCES)
    assert page.evaluate(
        "() => document.querySelectorAll('.fsl-says[aria-live=polite]').length"
    ) == len(MINE)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(
        "() => [...document.querySelectorAll('.fsl-lab button')].every(b => b.clientHeight >= 36)"
    )
    walk(page)
    field = page.get_by_label("Second method")
    examples = [page.get_by_label("First method").input_value(), field.input_value()]
    figures = [[float(number) for number in example.split("±")] for example in examples]
    assert stats.compare_printed(*figures, 600).likely.meaning == "interval"
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("60.5+-0.5")
    wanted = printed.answer(stats.compare_printed((79.59, 0.52), (60.5, 0.5), 600))
    page.wait_for_function(
        "text => [...document.querySelectorAll('.fsl-says')].some(e => e.textContent === text)",
        arg=wanted,
    )
    page.wait_for_function(
        "old => [...document.querySelectorAll('.fsl-says')].every((e, i) => e.textContent !== old[i])",
        arg=before,
    )
    page.keyboard.press("Control+A")
    page.keyboard.type("0.605+-0.005")
    page.wait_for_selector(".fsl-wrong")
    assert "not a share" in page.locator(".fsl-wrong").inner_text()


WORDS = "none one two three four five six seven eight nine ten eleven twelve".split()


def test_the_sentence_counts_what_the_picture_shows(open_page, tmp_path):
    page = open_page(page_of_labs(tmp_path, ["repetition"]))
    heads = "\n".join(page.locator(".fsl-picture text").all_text_contents())
    counts = [int(number) for number in re.findall(r"^(\d+) of 40 miss$", heads, re.MULTILINE)]
    crosses = page.locator(".fsl-picture path.fsl-b").count()
    assert len(counts) == 4 and crosses == sum(counts)
    ends = page.evaluate("""() => [...document.querySelectorAll("line.fsl-a, line.fsl-b")].map(line => {
      const axis = line.parentNode.querySelector(".fsl-axis");
      return ["x1", "x2"].filter(end => line.getAttribute(end) === axis.getAttribute(end)).length;
    })""")
    arrows = page.locator(".fsl-picture path.fsl-on").count()
    assert (
        arrows == sum(ends) and 40 < arrows < 160
    )  # intervals of two of the four kinds are longer than the axis
    sentence = page.evaluate(SENTENCES)[0]
    named = re.findall(r"in (\w+)[,;]", sentence)
    assert [WORDS.index(word) if word in WORDS else int(word) for word in named[:4]] == counts
    settings = dict(n=30, classes=20, shots=5, queries=5, tasks=600, replaced="images")
    results = page.evaluate(f"given => ({STUDY})(...given)", [settings, [1]])[0]
    assert [results["misses"][k] for k in ("closed", "open", "images", "classes")] == counts
    page.get_by_role("button", name="Draw again").press("Enter")
    page.wait_for_function(
        "old => document.querySelector('.fsl-says').textContent !== old", arg=sentence
    )


def test_without_scripts_there_are_words_and_a_picture(browser):
    page = browser.new_context(java_script_enabled=False).new_page()
    for source in (ROOT / "book" / "index.md", ROOT / "notebooks" / "closed-vs-open.md"):
        block = re.search(
            r'<div class="fsl-lab" data-lab="repetition"[^>]*>.*?</div>',
            source.read_text("utf-8"),
            re.S,
        )[0]
        page.set_content(block.replace("_static", (ROOT / "book" / "_static").as_uri()))
        assert page.locator(".fsl-lab p").inner_text().strip() and page.locator(
            ".fsl-lab img"
        ).get_attribute("alt")
        assert (
            ROOT / "book" / page.locator(".fsl-lab img").get_attribute("src").split("/book/")[1]
        ).is_file()
    page.context.close()


def still(browser, folder, options):
    """The picture of the first lab at its start, with the colours that it has in a light page."""
    size = {"width": 480 if options else 760, "height": 900}
    page = opened(browser, page_of_labs(folder, ["repetition"], options), size)
    text = page.evaluate("() => document.querySelector('.fsl-picture').outerHTML")
    page.context.close()
    style = (
        "<style>text{font:13px sans-serif;fill:#222}.fsl-a{stroke:#00629b}.fsl-b{stroke:#b34700}"
        ".fsl-a-fill{fill:#00629b}.fsl-b-fill{fill:#b34700}.fsl-base{stroke:#222}.fsl-axis{stroke:#555}</style>"
    )
    start, end = text.split(">", 1)
    return f'{start} xmlns="http://www.w3.org/2000/svg">{style}{end}\n'


@pytest.mark.parametrize("name", STILLS)
def test_the_still_picture_is_the_lab_as_it_starts(browser, tmp_path, name):
    numbers = re.compile(r"-?\d+\.?\d*")
    by_lab, stored = still(browser, tmp_path, STILLS[name]), (LABS / name).read_text("utf-8")
    assert numbers.sub("#", by_lab) == numbers.sub("#", stored)
    close(
        [float(x) for x in numbers.findall(by_lab)],
        [float(x) for x in numbers.findall(stored)],
        0,
        0.02,
    )


# ---------------------------------------------------------------- in the site


@pytest.mark.skipif(
    not (SITE / "index.html").is_file(), reason="no site in _build/html: run `make book`"
)
def test_labs_load_on_their_pages_alone():
    for path in SITE.glob("*.html"):
        text = path.read_text("utf-8")
        assert ("labs/labs.js" in text) == ('class="fsl-lab"' in text), path.name
        for name in MINE:
            assert (f"labs/{name}.js" in text) == (f'data-lab="{name}"' in text), path.name


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    from playwright.sync_api import sync_playwright

    for name, options in STILLS.items():
        with sync_playwright() as driver, TemporaryDirectory() as folder:
            (LABS / name).write_text(
                still(driver.chromium.launch(executable_path=pdf.BROWSER), Path(folder), options),
                "utf-8",
            )
        print(LABS / name, json.dumps((LABS / name).stat().st_size), file=sys.stderr)
