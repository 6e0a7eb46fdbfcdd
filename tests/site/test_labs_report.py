"""The lab that reports on a reader's file, in Chromium: it answers like the command, on ``tables``.

``python tests/site/test_labs_report.py`` writes ``report_columns.js`` again, the tables by which both read.
"""

import base64
import dataclasses
import hashlib
import json
import math
import random
import shlex
from pathlib import Path

import numpy as np
import pytest
from browsing import DESK, PHONE, page_of

from fslbook.beyond import lab_examples
from fslcore.cli import app
from fslcore.errors import InputError
from fslcore.report import (
    Results,
    analysis,
    applies,
    numbers,
    options,
    proposal,
    read,
    roles,
    shapes,
    tables as cells,
    vocabulary,
    words,
)
from fslcore.report.page import unbroken

LABS = Path(__file__).resolve().parents[2] / "book" / "_static" / "labs"
SCRIPTS = [
    "labs.js",
    "papaparse/papaparse.min.js",
    "report_columns.js",
    "report_table.js",
    "report_roles.js",
    "report_rows.js",
    "report_stats.js",
    "report_examples.js",
    "report_menus.js",
    "report.js",
]
DRAWS = 12  # of roles, per file
METHOD_COLUMNS = "place method mean low high half_width n variance_units variance_of".split()
PAIR_COLUMNS = (
    "place unit a b difference low high half_width p p_holm n units_better units_worse test verdict "
    "detectable effect_size effect variance_units variance_of"
).split()
CALL = """([code, ...given]) => {
  const lab = fslLabs.compute.report;
  const bytesOf = data => Uint8Array.from(atob(data), sign => sign.charCodeAt(0));
  const tableOf = (name, data) => lab.tableOf({name, bytes: bytesOf(data)});
  const plain = value => value instanceof Map ? Object.fromEntries(value) : value;
  const fields = object => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, plain(value)]));
  const refused = error => {
    if (!(error instanceof lab.Refusal)) throw error;
    return {refused: error.message, options: error.options};
  };
  const concluded = (measured, options) => {
    const answer = lab.analyse(measured, options);
    const pairs = answer.pairs.map(({spread_df, standard_error, decisive, ...pair}) => pair);
    const {applies, cautions, methods} = answer;
    const found = {shape: measured.shape, reading: measured.reading[0], applies, cautions, methods, pairs,
      sentences: lab.sentences(answer), method_table: lab.methodTable(answer)[1],
      pair_table: answer.pairs.length ? lab.pairTable(answer)[1] : []};
    return JSON.parse(JSON.stringify(found)); // infinite numbers are null, as in the command's record
  };
  return eval(code)(...given);
}"""
ANSWER = """(name, data, options) => {
  try {
    const choices = {...lab.noChoices(), ...options};
    return concluded(lab.measure(tableOf(name, data), choices), choices);
  } catch (error) {
    return refused(error);
  }
}"""
ROLES = """(name, data) => {
  try {
    return Object.fromEntries(lab.rolesOf(tableOf(name, data), lab.noChoices()));
  } catch (error) {
    return refused(error);
  }
}"""
CHOSEN = """(name, data, {roles, ...answers}) => {
  try {
    const table = tableOf(name, data);
    let choices = {...lab.noChoices(), ...answers};
    for (const [column, role] of roles) choices = lab.withRole(table, choices, column, role);
    const command = lab.command(table, choices);
    try {
      return {command, ...concluded(lab.measure(table, choices), choices)};
    } catch (error) {
      return {command, ...refused(error)};
    }
  } catch (error) {
    return refused(error);
  }
}"""
MENUS = """(name, data) => {
  try {
    const table = tableOf(name, data), roles = lab.rolesOf(table, lab.noChoices());
    const groups = column => Object.values(lab.entriesFor(column, table, "")).map(Object.keys);
    const named = column => groups(column).filter(entries => entries.length);
    return table.names.map(column => [column, named(column), roles.get(column) === ""]);
  } catch (error) {
    return [];
  }
}"""


# ---------------------------------------------------------------- what Python says


def of_javascript(pattern):
    """A regular expression of Python as JavaScript writes it."""
    return getattr(pattern, "pattern", pattern).replace("(?P<", "(?<")


def script_of_columns():
    """The contents of ``report_columns.js``."""
    words_of_roles = {
        "ANSWERS": vocabulary.ANSWERS,
        "LOWER_IS_BETTER": vocabulary.LOWER_IS_BETTER,
        "OTHER_MEASURES": vocabulary.OTHER_MEASURES,
        "FACTS": vocabulary.FACTS,
        "STEPS": vocabulary.STEPS,
        "TRIALS": vocabulary.TRIALS,
        "METRICS": vocabulary.METRICS,
        "SUMMARIES": vocabulary.SUMMARIES,
        "BESIDE_SUMMARIES": vocabulary.BESIDE_SUMMARIES,
        "DESCRIBED": vocabulary.DESCRIBED,
        "REPORTED": vocabulary.REPORTED,
        "SPREADS": vocabulary.KIND_OF_SPREAD,
        "MEANS": vocabulary.MEANS,
    }
    sentences = {str(shape): sentence for shape, sentence in applies.APPLIES.items()}
    tables = {
        "ROLES": vocabulary.ROLE_OF,
        "UNITS": options.UNITS,
        "WORDS": {name: sorted(names) for name, names in words_of_roles.items()},
        "INDEX_NAME": of_javascript(vocabulary.INDEX_NAME),
        "NUMBERED": of_javascript(vocabulary.NUMBERED),
        "CELL": of_javascript(numbers.CELL),
        "LINK": of_javascript(numbers.LINK),
        "MARKUP": of_javascript(numbers.MARKUP),
        "PLUS_MINUS": of_javascript(numbers.PLUS_MINUS),
        "THOUSANDS": of_javascript(cells.THOUSANDS),
        "TRUTH": cells.TRUTH,
        "EMPTY_CELLS": sorted(cells.EMPTY_CELLS),
        "APPLIES": sentences | {"class": applies.NEW_CLASSES, "item": applies.NEW_ITEMS},
        "SAMPLING": {"unknown": applies.UNKNOWN, "open": applies.OPEN, "closed": applies.CLOSED},
        "FEW_UNITS": analysis.FEW_UNITS,
        "MOST_KURTOSIS": analysis.MOST_KURTOSIS,
        "MOST_METHODS": shapes.MOST_METHODS,
    }
    lines = [
        f"  {name}: {json.dumps(table, ensure_ascii=False)}," for name, table in tables.items()
    ]
    head = (
        "// Written by `python tests/site/test_labs_report.py` from the tables of fslcore/report.\n"
    )
    return (
        f"{head}window.fslLabs.compute.report = {{ DECLARED: {{\n" + "\n".join(lines) + "\n} };\n"
    )


def sentences_of(results):
    """The verdicts as a page shows them."""
    return [*map(unbroken, results.verdicts["sentence"])]


def concluded(results):
    """What `fslcore.report` concludes, as plain values in the form of the page."""
    record = results.record()
    ranks = ["best_rank", "worst_rank"] if "best_rank" in results.methods else []
    return {
        "shape": record["shape"],
        "reading": record["read"],
        "applies": " ".join(record["applies"]),
        "cautions": record["cautions"],
        "methods": [
            {name: row.get(name) for name in METHOD_COLUMNS + ranks} for row in record["methods"]
        ],
        "pairs": [{name: row.get(name) for name in PAIR_COLUMNS} for row in record["pairs"]],
        "sentences": list(results.verdicts["sentence"]) or [words.single_sentence(results)],
        "method_table": words.method_table(results).astype(str).to_numpy().tolist(),
        "pair_table": words.pair_table(results).astype(str).to_numpy().tolist(),
    }


FILES = {path.name: path.read_bytes() for path in (Path(__file__).parent / "tables").iterdir()}
FILES |= {name: example["text"].encode() for name, example in lab_examples.examples().items()}
REFERENCE = "conv4-r2d2 r2d2"
CASES = [(name, {}) for name in FILES]
CASES += [
    ("clipart.csv", {"reference": REFERENCE}),
    ("places.csv", {"sampling": "closed"}),
    ("places.csv", {"sampling": "open"}),
]


def differences(theirs, ours, place=""):
    """Where two nested values differ, numbers by more than a billionth of them."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return [
            line for key in theirs for line in differences(theirs[key], ours[key], f"{place}/{key}")
        ]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [
            line
            for i, pair in enumerate(zip(theirs, ours))
            for line in differences(*pair, f"{place}/{i}")
        ]
    numbers = all(isinstance(value, (int, float)) for value in (theirs, ours))
    absolute = 1e-290 if "/p" in place.replace("/pairs", "") else 1e-9
    equal = (
        math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=absolute) if numbers else theirs == ours
    )
    return [] if equal else [f"{place}: {theirs!r}, and in the page {ours!r}"]


# ---------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with nothing but the lab, on disk."""
    scripts = "".join(f'<script src="{(LABS / name).as_uri()}"></script>' for name in SCRIPTS)
    styles = "".join(
        f'<link rel="stylesheet" href="{(LABS / name).as_uri()}">'
        for name in ("labs.css", "report.css")
    )
    place = '<div class="fsl-lab" data-lab="report"><p>no scripts</p></div>'
    return page_of(tmp_path_factory.mktemp("lab") / "page.html", styles + place + scripts)


@pytest.fixture
def page(phone, address):
    phone.requests = []
    phone.on("request", lambda request: phone.requests.append(request.url))
    phone.goto(address)
    return phone


@pytest.fixture(scope="module")
def lab(browser, address):
    """What the page answers to a file of a name and contents."""
    page = browser.new_page()
    page.goto(address)

    def call(name, content, options=None, code=ANSWER):
        content = content if isinstance(content, bytes) else content.encode()
        given = [name, base64.b64encode(content).decode(), options or {}]
        return page.evaluate(CALL, [code, *given])

    yield call
    page.close()


# ---------------------------------------------------------------- the same tables and the same answers


def test_the_page_reads_by_the_tables_of_the_command():
    """``python tests/site/test_labs_report.py`` writes them again."""
    assert (LABS / "report_columns.js").read_text("utf-8") == script_of_columns()
    assert (LABS / "report_examples.js").read_text("utf-8") == lab_examples.script()


@pytest.mark.parametrize("name, options", CASES)
def test_the_page_concludes_what_the_command_concludes(lab, tmp_path, name, options):
    (tmp_path / name).write_bytes(FILES[name])
    by_page = lab(name, FILES[name], options)
    assert differences(concluded(Results.read(tmp_path / name, **options)), by_page) == []


# ---------------------------------------------------------------- what is not answered

LONG = "method,task,accuracy\n" + "".join(
    f"{method},{task},{value}\n"
    for method, values in (("a", (0.5, 0.7, 0.6)), ("b", (0.75, 0.625, 0.85)))
    for task, value in enumerate(values, 1)
)
REFUSED = {  # by both, and words of the page
    "no rows": ("method,task,accuracy\n", "no rows"),
    "uneven": (LONG.replace("a,2,0.7", "a,2"), "row 2"),
    "a word": (LONG.replace("0.7", "oops"), "got 'oops' in row 2"),
    "beyond 100": (LONG.replace("0.7", "100.5"), "100.5"),
    "one unit": (LONG.replace("a,2,0.7", "a,2,70"), "shares and percent are mixed"),
    "another word for method": (LONG.replace("method", "framework"), "framework has no role"),
    "another word for accuracy": (LONG.replace("accuracy", "result"), "result has no role"),
    "a column per method": ("task,a,b\n1,0.5,0.75\n2,0.7,0.625\n", "a, b have no role"),
    "a learning rate": (
        "lr," + LONG.replace("\na", "\n0.1,a").replace("\nb", "\n0.2,b"),
        "lr has no role",
    ),
    "losses": (LONG.replace("accuracy", "loss"), "loss has no role"),
    "a row twice": (LONG + "a,1,0.5\n", "2 rows have method a, task 1"),
    "one mean each": ("method,accuracy\na,70.5\nb,71.5\n", "one number per method"),
    "seeds of tasks": (
        "method,seed,task,accuracy\na,1,1,.5\na,1,2,.6\na,2,1,.5\na,2,2,.7\nb,1,1,.5\nb,1,2,.6\nb,2,1,.5\nb,2,2,.8\n",
        "what a seed numbers has to be said",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_page_refuses_what_the_command_refuses(lab, tmp_path, name):
    text, facts = REFUSED[name]
    path = tmp_path / "f.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        Results.read(path)
    by_page = lab("f.csv", text, {})
    assert facts in by_page["refused"]


OTHER_SHAPES = {  # what the command answers, and the page leaves to it
    "answers": "method,task,accuracy\na,1,0\na,2,1\na,3,1\nb,1,1\nb,2,1\nb,3,0\n",
    "runs": "method,run,task,accuracy\na,1,1,.5\na,1,2,.6\na,2,1,.4\na,2,2,.7\n",
    "draws": "method,draw,task,accuracy\na,1,1,.5\na,1,2,.6\na,2,1,.4\na,2,2,.7\n",
    "items of classes": "method,item,class,accuracy\na,1,x,.5\na,2,x,.6\na,3,y,.4\na,4,y,.7\n",
}


@pytest.mark.parametrize("name", OTHER_SHAPES)
def test_other_shapes_are_left_to_the_command(lab, tmp_path, name):
    (tmp_path / "f.csv").write_text(OTHER_SHAPES[name])
    assert len(Results.read(tmp_path / "f.csv").methods)
    by_page = lab("f.csv", OTHER_SHAPES[name])
    assert "this page does not" in by_page["refused"]


# ---------------------------------------------------------------- the same roles


def values_of(*columns, rows=12, seed=0):
    """Lines of a table with these columns, each a function of a row's number and of a generator."""
    rng = np.random.default_rng(seed)
    lines = [[str(cell(row, rng)) for cell in columns] for row in range(rows)]
    return "\n".join(map(",".join, lines)) + "\n"


def accuracy(row, rng):
    return round(60 + 20 * rng.random(), 2)


def two(row, rng):
    return "ab"[row % 2]


def half(row, rng):
    return row // 2


FOREIGN = Path(__file__).resolve().parents[3] / "shared" / "foreign"
UNNAMED = {  # tables of which some column has no known word, and tables that are no sample
    "wide.csv": "ours,maml,protonet\n" + values_of(accuracy, accuracy, accuracy),
    "numbered.csv": "n,ours,maml\n" + values_of(half, accuracy, accuracy),
    "framework.csv": "framework,episode,accuracy\n" + values_of(two, half, accuracy),
    "result.csv": "method,task,result\n" + values_of(two, half, accuracy),
    "rate.csv": "lr,method,task,acc\n" + values_of(lambda r, g: 0.1 + r % 2, two, half, accuracy),
    "metrics.csv": "method,task,metric,score\n"
    + values_of(
        lambda r, g: "ab"[r // 2 % 2],
        lambda r, g: r // 4,
        lambda r, g: ["acc", "f1"][r % 2],
        accuracy,
        rows=24,
    ),
    "splits.csv": "method,seed,split,accuracy\n"
    + values_of(
        lambda r, g: "ab"[r // 2 % 2],
        lambda r, g: r // 4,
        lambda r, g: ["val", "test"][r % 2],
        accuracy,
        rows=24,
    ),
    "losses.csv": "method,task,loss\n" + values_of(two, half, lambda r, g: round(g.random(), 3)),
    "same_losses.csv": "method,task,loss ↓\n" + values_of(two, half, lambda r, g: 1 + r % 2),
    "fid.csv": "FID ↓,CelebA,LSUN,FFHQ\nold,9.5,8.2,7.4\nnew,8.6,8,7\nours,8.1,7.7,6\n",
    "counts.csv": "policy,task,successes,trials\n"
    + values_of(two, half, lambda r, g: int(g.integers(20)), lambda r, g: 20),
    "headers.csv": "method,seed0,seed1,seed2\n"
    + values_of(lambda r, g: "ab"[r], accuracy, accuracy, accuracy, rows=2),
    "of_methods.csv": "dataset,ours_seed1,ours_seed2,base_seed1,base_seed2\n"
    + values_of(lambda r, g: f"d{r}", accuracy, accuracy, accuracy, accuracy),
    "plus_minus.csv": "method,dataset,accuracy\nours,cub,71.2 ± 0.4\nours,cars,61.5 ± 0.5\n"
    "maml,cub,70.1 ± 0.4\nmaml,cars,60.2 ± 0.5\n",
    "brackets.csv": "dataset,A,B\nd1,71.2 (2),73.0 (1)\nd2,55.1 (2),58.8 (1)\n"
    "d3,80.1 (1),79.5 (2)\nd4,66.1 (2),69.0 (1)\n",
    "deviations.csv": "method,accuracy,std\nours,71.2,3.1\nmaml,69.5,3.0\n",
    "two_parts.csv": "dataset,ours_acc,ours_f1,base_acc,base_f1\n"
    + values_of(lambda r, g: f"d{r}", accuracy, accuracy, accuracy, accuracy),
    "with_counts.csv": "dataset,ours,maml,images\n"
    + values_of(lambda r, g: f"d{r}", accuracy, accuracy, lambda r, g: 30 + r % 7),
    "differences.csv": "dataset,base,ours,improvement (%),p-value\n"
    + values_of(
        lambda r, g: f"d{r}", accuracy, accuracy, lambda r, g: 1.5 + r, lambda r, g: 0.01 * (r + 1)
    ),
    "ids.csv": "model,uid,score\n"
    + values_of(two, lambda r, g: f"q{r // 2}", lambda r, g: int(g.integers(2)), rows=40),
    "backbones.csv": "backbone,learner,task,accuracy\n"
    + values_of(two, lambda r, g: "ncc", half, accuracy),
    "means.csv": "data,ours,maml,mean\n"
    + values_of(lambda r, g: f"d{r}", accuracy, accuracy, accuracy, rows=4),
    "classes.csv": "class_name,n_test,model_A_acc,model_B_acc\n"
    + values_of(lambda r, g: f"c{r}", lambda r, g: 20 + r, accuracy, accuracy),
    "steps.csv": "method,step,accuracy\n" + values_of(two, half, accuracy),
    "training.csv": "train_acc,val_acc,lr\n"
    + values_of(accuracy, accuracy, lambda r, g: 0.01 / (r + 1)),
    "trials.csv": "trial,params_lr,accuracy\n"
    + values_of(lambda r, g: r, lambda r, g: 0.1 / (r + 1), accuracy),
    "shots.csv": "method,1,5,10\nours,50.5,60.5,70.5\nmaml,49.5,59.5,69.5\n",
    "leaderboard.csv": "name,test accuracy\nours,71.2\nmaml,70.1\nprotonet,69.9\n",
    "folds.csv": "pipeline,fold,accuracy\n" + values_of(two, half, accuracy, rows=10),
    "items.csv": "method,item,accuracy\n" + values_of(two, half, accuracy),
    "by_class.csv": "method,class,accuracy\n" + values_of(two, half, accuracy),
    "rewards.csv": "agent,environment,reward\n"
    + values_of(two, lambda r, g: f"e{r // 2}", lambda r, g: round(1000 * g.normal(), 1), rows=24),
    "equal_rewards.csv": "agent,environment,reward\n"
    + values_of(two, half, lambda r, g: 150 + r % 2),
    "markdown.md": "| Method | Seed | Acc ↑ |\n|---|---|---|\n"
    + "".join(f"| {m} | {s} | **{70 + s + (m == 'b')}.{s}** |\n" for m in "ab" for s in range(4)),
    "percent.csv": "method;task;accuracy\n"
    + values_of(two, half, lambda r, g: f"{accuracy(r, g)} %").replace(",", ";"),
    "comments.csv": "# of our run\nmethod,task,accuracy\n\n" + values_of(two, half, accuracy),
    "places.csv": "ours,maml\n71.5,70.5\n\n60.25,\n75.5,73.5\n65.5,61.5\n",
}
UNNAMED = {name: text.encode() for name, text in UNNAMED.items()}
UNNAMED["utf16.csv"] = UNNAMED["framework.csv"].decode().encode("utf-16")
UNNAMED["western.csv"] = (
    UNNAMED["framework.csv"].decode().replace("a,", "prototypé,").encode("cp1252")
)
TEXT_TABLES = (".csv", ".md", ".txt", ".tsv")


def foreign_files():
    """Result files with the structure of public ones, by a short name."""
    files = sorted(FOREIGN.glob("*/in/*")) if FOREIGN.is_dir() else []
    return {f"{path.parts[-3]}/{path.name}": path for path in files}


def role_cases():
    """Names of files whose roles are compared; those that are absent, or no table of text, skip with the reason."""
    own = [*FILES, *UNNAMED]
    if not FOREIGN.is_dir():
        skip = pytest.mark.skip(reason=f"no folder {FOREIGN}: it has files of other projects")
        return [*own, pytest.param("files of other projects", marks=skip)]
    others = []
    for name, path in foreign_files().items():
        why = f"{path.suffix or 'a folder'} is no table of text: the page leaves it to the command"
        marks = [] if path.suffix in TEXT_TABLES else [pytest.mark.skip(reason=why)]
        others.append(pytest.param(name, marks=marks))
    return [*own, *others]


def role_by_word(column, known):
    """The role that the page's menu shows of a column, of those that Python names."""
    if column in (known.method, known.value):
        return "method" if column == known.method else "value"
    if column in known.wide:
        return "header"
    if column in known.keys:
        return "group" if known.keys[column] == "group" else f"unit:{known.keys[column]}"
    if (known.spread and column == known.spread[1]) or known.ignored.get(column) == "±":
        return "spread"
    return "ignore" if column in known.ignored else ""


def named_by_words(frame, name):
    """The role of each column as words name it; None for what is refused as no sample."""
    try:
        known = roles.roles_of(frame, options.Options(), name)
    except roles.Unassigned as error:
        known = error.roles
    except InputError:
        return None
    if known.count is not None:
        known.ignored[known.count] = "a count"
    columns = [column for column in frame if column != roles.PLACE]
    return {column: role_by_word(column, known) for column in columns}


def choices_of(chosen, frame):
    """Options of the command as a user chooses them in menus; None for those that no menu has."""
    brackets = [column for column in frame if str(column).endswith(roles.BRACKETS)]
    ignored = [name for name in chosen.ignore if name != "()"] + brackets * ("()" in chosen.ignore)
    singles = ("method", "value", "group", "of")
    of_columns = [(getattr(chosen, role), role) for role in singles if getattr(chosen, role)]
    of_columns += [(name, "methods") for name in chosen.methods]
    of_columns += [
        (name, f"columns:{word}") for word, names in chosen.columns.items() for name in names
    ]
    of_columns += [(name, f"unit:{word}") for name, word in chosen.unit.items()]
    of_columns += [(name, "by") for name in chosen.by] + [(name, "ignore") for name in ignored]
    conditions = [condition.split("=", 1) for condition in chosen.where]
    of_columns += [(name, f"where:{value}") for name, value in conditions]
    if chosen.pm or chosen.n or chosen.low:
        return None
    better = {(True, False): "lower", (False, True): "higher"}
    direction = better.get((chosen.lower_is_better, chosen.higher_is_better), "")
    answers = {"rows": chosen.rows, "seed": chosen.seed, "out_of": chosen.out_of}
    return {"roles": of_columns, "better": direction, **answers}


def by_typed(command, folder):
    """What the command concludes that the page shows; an `InputError` for one that is refused."""
    parsed = vars(app._program().parser.parse_args(shlex.split(command)[1:]))
    names = [field.name for field in dataclasses.fields(options.Options) if field.name in parsed]
    [path] = parsed["results"]
    return Results.read(folder / path, **{name: parsed[name] for name in names})


def is_left(answer):
    """Whether the page leaves a shape of results to the command."""
    return "this page does not" in answer.get("refused", "")


def content_of(name):
    """The name and the bytes of a file of ours, or of one with the structure of a public one."""
    if name in FILES or name in UNNAMED:
        return name, {**FILES, **UNNAMED}[name]
    path = foreign_files()[name]
    return path.name, path.read_bytes()


@pytest.mark.parametrize("name", role_cases())
def test_page_and_command_agree_on_roles(lab, tmp_path, name):
    """Roles by words alone; and the roles that the command proposes, chosen in menus, give its answer."""
    name, content = content_of(name)
    path = tmp_path / name
    path.write_bytes(content)
    usual = options.Options()
    try:
        tables = read.read_tables([read.FilePath(path, {})], usual)
    except InputError:
        assert "refused" in lab(name, content, {"roles": []}, code=CHOSEN)
        return
    frame = roles.one_frame(tables)
    by_words = named_by_words(frame, name)
    if by_words is not None:
        assert lab(name, content, code=ROLES) == by_words
    question = proposal.Question(tables, usual, [name])
    likely, problem = proposal.proposal(question)
    choices = None if problem else choices_of(likely.options, frame)
    if choices is None:
        assert "refused" in lab(name, content, {"roles": []}, code=CHOSEN)
        return
    ours = lab(name, content, choices, code=CHOSEN)
    theirs = by_typed(ours.pop("command"), tmp_path)
    assert is_left(ours) or differences(concluded(theirs), ours) == []


@pytest.mark.parametrize("name", role_cases())
def test_nothing_is_answered_that_the_command_refuses(lab, tmp_path, name):
    """Of roles chosen at random: where the page answers, the command that it shows gives the same."""
    draw = random.Random(name)
    name, content = content_of(name)
    (tmp_path / name).write_bytes(content)
    menus = lab(name, content, code=MENUS)
    for _ in range(DRAWS):
        chosen = []
        for column, groups, is_open in menus:
            if draw.random() < (0.95 if is_open else 0.15):
                chosen.append((column, draw.choice(draw.choice(groups))))
        answers = {
            "rows": draw.choice([None, "task", "seed"]),
            "better": draw.choice(["", "lower"]),
        }
        ours = lab(name, content, {"roles": chosen, **answers}, code=CHOSEN)
        if "refused" not in ours:
            theirs = by_typed(ours.pop("command"), tmp_path)
            assert differences(concluded(theirs), ours) == [], chosen


# ---------------------------------------------------------------- the page


def test_a_file_is_chosen_and_answered_and_nothing_is_requested(page, tmp_path):
    markup = '<img src=x onerror="window.ran=1">'
    path = tmp_path / "<b>mine.csv"
    path.write_text(LONG.replace("\na,", f'\n"{markup.replace(chr(34), chr(34) * 2)}",'))
    before = len(page.requests)
    page.get_by_label("Drop a file here").set_input_files(path)
    page.locator(".fsl-verdicts li").wait_for()
    first = page.locator(".fsl-report li").first.inner_text()
    start = f"b and {markup} are not significantly different: +14.17 (−32.45 to 60.78; p = 0.32)."
    assert first.startswith(unbroken(start))
    assert (
        page.locator(".fsl-report svg").count() == 2
        and page.locator(".fsl-report img").count() == 0
    )
    assert "fslcore report '<b>mine.csv'" in page.locator(".fsl-report pre").inner_text()
    assert page.requests[before:] == [] and page.evaluate("window.ran") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_examples_answer_and_choices_answer_again(page, tmp_path):
    for example in lab_examples.examples().values():
        page.get_by_role("button", name=example["title"]).click()
        page.locator(".fsl-verdicts li").first.wait_for()
    page.get_by_role("button", name="Eight methods").press("Enter")
    (tmp_path / "clipart.csv").write_bytes(FILES["clipart.csv"])
    verdicts = page.locator(".fsl-verdicts li")
    by_file = Results.read(tmp_path / "clipart.csv")
    assert verdicts.all_inner_texts() == sentences_of(by_file)
    page.get_by_label("Compare").select_option(label=f"{REFERENCE} with each other method")
    page.get_by_label("How were the tasks drawn?").select_option("closed")
    assert verdicts.count() == 7 and all(REFERENCE in text for text in verdicts.all_inner_texts())
    assert applies.CLOSED in page.locator(".fsl-report").inner_text()
    assert (
        f"--sampling closed --reference '{REFERENCE}'"
        in page.locator(".fsl-report pre").inner_text()
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_file_that_is_not_read_gets_one_line_and_the_command(page):
    page.get_by_text("Paste a table instead").press("Enter")
    pasted, read_it = (
        page.get_by_label("A line of names"),
        page.get_by_role("button", name="Read it"),
    )
    pasted.fill("method,task,accuracy\na,1,0.5\na,2,70.25\n")
    read_it.press("Enter")
    wrong = page.locator(".fsl-says.fsl-wrong")
    assert "\n" not in wrong.inner_text() and "shares and percent" in wrong.inner_text()
    command = page.locator(".fsl-report pre").inner_text().splitlines()[-1]
    assert command == "fslcore report pasted.csv --out-of 100"
    pasted.fill("method,task,accuracy\nours,1,70.5\nours,2,71.25\n")
    read_it.press("Enter")
    assert (
        wrong.count() == 0
        and unbroken("ours: 70.88 %") in page.locator(".fsl-verdicts").inner_text()
    )


# ---------------------------------------------------------------- menus of roles


def paste(page, text):
    """Give the page a table as text."""
    if not page.get_by_label("A line of names").is_visible():
        page.get_by_text("Paste a table instead").press("Enter")
    page.get_by_label("A line of names").fill(text)
    page.get_by_role("button", name="Read it").press("Enter")


def test_roles_are_chosen_in_menus(page, tmp_path):
    """Only words fill menus; nothing is concluded before each column has a role; the command says the same."""
    text = UNNAMED["framework.csv"].decode().replace("accuracy", "result")
    paste(page, text)
    framework, result, episode = (
        page.get_by_label(n, exact=True) for n in ("framework", "result", "episode")
    )
    menus = (framework, result, episode)
    assert [menu.input_value() for menu in menus] == ["", "", "unit:task"]
    is_open = "m => m.closest('.fsl-open') !== null"
    assert [page.evaluate(is_open, menu.element_handle()) for menu in menus] == [True, True, False]
    assert page.locator(".fsl-report pre").inner_text().endswith("fslcore report pasted.csv")
    framework.select_option("method")
    assert page.evaluate("document.activeElement.labels[0].textContent") == "framework"
    assert page.locator(".fsl-verdicts").count() == 0
    result.select_option("value")
    line = "fslcore report pasted.csv --method framework --value result"
    (tmp_path / "pasted.csv").write_text(text)
    by_file = Results.read(tmp_path / "pasted.csv", method="framework", value="result")
    verdicts = page.locator(".fsl-verdicts li")
    assert verdicts.all_inner_texts() == sentences_of(by_file)
    assert line in page.locator(".fsl-report pre").inner_text()
    page.get_by_label("Which values are better?").select_option("lower")
    lower = Results.read(
        tmp_path / "pasted.csv", method="framework", value="result", lower_is_better=True
    )
    assert verdicts.all_inner_texts() == sentences_of(lower)
    assert f"{line} --lower-is-better" in page.locator(".fsl-report pre").inner_text()
    framework.select_option("ignore")
    assert page.locator(".fsl-verdicts").count() == 0  # two rows of a task, and no method
    assert page.locator(".fsl-says").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_wide_table_is_asked_what_a_row_is(page, tmp_path):
    """One choice gives its role to the other columns of numbers; what a row is has to be said."""
    paste(page, UNNAMED["wide.csv"].decode())
    page.get_by_label("ours", exact=True).select_option("methods")
    page.get_by_role("button", name="The same for maml, protonet").press("Enter")
    assert page.get_by_label("protonet", exact=True).input_value() == "methods"
    assert page.locator(".fsl-verdicts").count() == 0
    page.get_by_label("What is a row?").select_option("item")
    assert page.evaluate("document.activeElement.labels[0].textContent").startswith(
        "What is a row?"
    )
    (tmp_path / "pasted.csv").write_bytes(UNNAMED["wide.csv"])
    by_file = Results.read(
        tmp_path / "pasted.csv", methods=["ours", "maml", "protonet"], rows="item"
    )
    assert page.locator(".fsl-verdicts li").all_inner_texts() == sentences_of(by_file)
    assert applies.NEW_ITEMS in page.locator(".fsl-report").inner_text()
    assert "as the menu “What is a row?” says" in page.locator(".fsl-report").inner_text()


def test_a_sentence_that_names_an_option_names_the_menu_or_the_command(page):
    paste(page, LONG + "a,4,0.25\nb,5,0.5\n")
    said = page.locator(".fsl-report").inner_text()
    assert "the menu “How were the tasks drawn?” says which" in said
    assert "3 tasks are shared by all: --common of the command compares on these." in said
    assert "the option" not in said


@pytest.mark.parametrize("name", ["results.json", "tasks.npz", "table.tex"])
def test_what_the_page_does_not_read_gets_the_command(page, tmp_path, name):
    (tmp_path / name).write_text("{}")
    page.get_by_label("Drop a file here").set_input_files(tmp_path / name)
    page.locator(".fsl-wrong").wait_for()
    assert page.locator(".fsl-report pre").inner_text().endswith(f"fslcore report {name}")


def test_several_files_get_the_command(page, tmp_path):
    paths = [tmp_path / name for name in ("ours.csv", "maml.csv")]
    for path in paths:
        path.write_text("accuracy\n0.5\n0.75\n")
    page.get_by_label("Drop a file here").set_input_files(paths)
    page.locator(".fsl-wrong").wait_for()
    line = page.locator(".fsl-report pre").inner_text().splitlines()[-1]
    assert line == "fslcore report ours.csv maml.csv"


def test_a_folder_gets_the_command(page):
    """A browser hands over a dropped folder as a file that cannot be opened."""
    page.evaluate("""() => {
      const folder = {name: "runs", arrayBuffer: () => Promise.reject(new Error("a folder"))};
      const drop = new Event("drop", {bubbles: true, cancelable: true});
      drop.dataTransfer = {files: [folder]};
      document.querySelector(".fsl-drop").dispatchEvent(drop);
    }""")
    page.locator(".fsl-wrong").wait_for()
    assert page.locator(".fsl-report pre").inner_text().splitlines()[-1] == "fslcore report runs"


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_axe_finds_no_fault_in_the_menus(browser, address, size):
    """Each menu has a label and a note, of colours that are told apart; with proposals and with an answer."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    ).Axe()
    page = browser.new_page(viewport=size)
    page.goto(address)
    paste(
        page, "data,ours,base,f1\n" + values_of(lambda r, g: f"d{r}", accuracy, accuracy, accuracy)
    )
    labels = page.evaluate(
        "[...document.querySelectorAll('select')].map(menu => menu.labels.length)"
    )
    assert len(labels) > 6 and {*labels} == {1}
    inside = [".fsl-lab"]
    assert axe.run(page, context=inside).response["violations"] == []
    page.get_by_label("data", exact=True).select_option("unit:dataset")
    page.get_by_label("f1", exact=True).select_option("ignore")
    page.get_by_label("ours", exact=True).select_option("methods")
    page.get_by_role("button", name="The same for base").press("Enter")
    page.locator(".fsl-verdicts li").first.wait_for()
    assert axe.run(page, context=inside).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.close()


def test_the_library_that_splits_cells_is_as_published():
    """Papa Parse lies beside the labs as its package holds it, with its licence."""
    folder = LABS / "papaparse"
    lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    digests = dict(reversed(line.split()) for line in lines)
    assert {*digests} == {"LICENSE", "papaparse.min.js"}
    for name, digest in digests.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    version = (folder / "README.md").read_text("utf-8").splitlines()[0].split()[-1]
    assert f"v{version}\n" in (folder / "papaparse.min.js").read_text("utf-8")


if __name__ == "__main__":
    (LABS / "report_columns.js").write_text(script_of_columns(), "utf-8")
