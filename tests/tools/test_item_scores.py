"""Scores of items under several supports: the table, the logs of other tools, and what the report says of them."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fslcore import stats
from fslcore.errors import InputError
from fslcore.tools import report
from fslcore.tools.cli import app

LOGS = Path(__file__).parent / "logs"
GUIDE = Path(__file__).resolve().parents[2] / "book" / "guide.md"
LM_EVAL = sorted(LOGS.glob("lm_eval/*/samples_same_support_*.jsonl"))
OWN = sorted(LOGS.glob("lm_eval/*/samples_own_support_*.jsonl"))
RESULTS = sorted(LOGS.glob("mteb/*/results/*/*/Tiny*.json"))
PREDICTIONS = sorted(LOGS.glob("mteb/*/predictions/*.json"))
R, N = 4, 30


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(models="ab", seed=0):
    rng = np.random.default_rng(seed)
    chance = np.clip(0.7 + rng.normal(0, 0.1, (R, 1)) + rng.uniform(-0.3, 0.3, N), 0, 1)
    return {m: (rng.random((R, N)) < chance - 0.1 * i).astype(int) for i, m in enumerate(models)}


def long(values, **more):
    rows = [
        {"item": f"q{i}", "support": f"s{r}", "score": y[r, i], "model": m}
        for m, y in values.items()
        for r in range(len(y))
        for i in range(y.shape[1])
    ]
    return pd.DataFrame(rows).assign(**more)


def read(frame, name="scores.csv", **how):
    frame.to_csv(name, index=False)
    return report.ItemScores.read(name, **how)


def refused(frame, **how):
    with pytest.raises(InputError) as error:
        read(frame, **how)
    assert "\n" not in str(error.value)
    return str(error.value)


def cells(found, target, a, b=None):
    rows = found.intervals
    of = rows[(rows["target"] == target) & (rows["a"] == a) & (rows["b"].isna() if b is None else rows["b"] == b)]
    return of.iloc[0]


def test_a_crossed_table_has_three_intervals_for_models_and_differences():
    values = scores()
    found = read(long(values).sample(frac=1, random_state=0))  # the order of rows means nothing
    assert found.kinds == {"scores.csv": "crossed"}
    whole = stats.crossed_intervals(100.0 * values["a"], bounds=(0, 100))
    apart = stats.crossed_intervals(100.0 * values["a"] - 100.0 * values["b"], bounds=(-100, 100))
    for target in ("items", "supports", "both"):
        for of, expected in ((cells(found, target, "a"), whole), (cells(found, target, "a", "b"), apart)):
            expected = getattr(expected, target)
            assert np.allclose(of[["mean", "half_width"]].astype(float), [expected.mean, expected.half_width])
            assert np.allclose(of[["low", "high"]].astype(float), [expected.low, expected.high])
    assert np.isclose(cells(found, "both", "a", "b")["p_holm"], apart.both.p_value)
    plan = found.tables["more"]
    assert [*plan.index] == ["a", "b", "a − b"]
    assert plan["10 × items"]["a"] == f"± {whole.planned(R, 10 * N).half_width:.2f}"
    said = "\n".join(found.summary())
    assert "2 models, 4 supports, 30 items" in said and "spread over the supports alone says nothing about new" in said


def test_p_values_are_corrected_over_the_pairs_of_a_target():
    found = read(long(scores("abc")))
    for _, of in found.intervals[found.intervals["b"].notna()].groupby("target"):
        assert np.allclose(of["p_holm"].astype(float), stats.holm(of["p"].astype(float)))
    alone = read(long(scores("abc")), reference="c")
    assert {*zip(alone.intervals["a"], alone.intervals["b"])} >= {("a", "c"), ("b", "c")}
    assert ("a", "b") not in {*zip(alone.intervals["a"], alone.intervals["b"])}


def test_groups_pool_and_seeds_are_used():
    values = scores("a")
    plain = long(values).rename(columns={"support": "seed"})
    group = plain["item"].str[1:].astype(int) // 3
    grouped = read(plain.assign(group=group.map("text {}".format)))
    expected = stats.crossed_intervals(100.0 * values["a"], groups=np.arange(N) // 3, bounds=(0, 100))
    assert np.isclose(cells(grouped, "items", "a")["half_width"], expected.items.half_width)
    assert "10 groups" in grouped.reading[0]
    pooled = read(plain, pool=20, shots=5)
    expected = stats.crossed_intervals(100.0 * values["a"], pool=20, shots=5, bounds=(0, 100))
    assert np.isclose(cells(pooled, "both", "a")["half_width"], expected.both.half_width)
    assert "5 out of 20" in pooled.reading[-1]


def test_other_shapes_answer_for_less():
    values = scores()
    one = read(long({m: y[:1] for m, y in values.items()}))
    assert one.kinds == {"scores.csv": "one support"} and {*one.intervals["target"]} == {"items"}
    expected = stats.crossed_intervals(100.0 * values["a"][:1], bounds=(0, 100)).items
    assert np.isclose(cells(one, "items", "a")["half_width"], expected.half_width)
    assert read(long({"a": values["a"][:1]}).drop(columns="support")).kinds == one.kinds
    nested = long(values).assign(support=lambda f: f["support"] + f["item"])
    nested = read(nested)
    assert nested.kinds == {"scores.csv": "nested"} and {*nested.intervals["target"]} == {"items"}
    expected = stats.crossed_intervals(100.0 * values["a"].mean(axis=0, keepdims=True), bounds=(0, 100)).items
    assert np.isclose(cells(nested, "items", "a")["half_width"], expected.half_width)
    assert "supports of its own" in nested.reading[0] and "more" in nested.tables and nested.tables["more"].empty
    means = pd.DataFrame({"support": range(R), "score": values["a"].mean(axis=1)})
    alone = read(means)
    assert alone.kinds == {"scores.csv": "supports"} and {*alone.intervals["target"]} == {"supports"}
    expected = stats.open_interval(100 * values["a"].mean(axis=1), bounds=(0, 100))
    assert np.isclose(cells(alone, "supports", "scores")["half_width"], expected.half_width)
    assert "nothing about new items" in alone.reading[0]


def test_scores_beyond_1_stay_as_they_are():
    found = read(long({"a": np.random.default_rng(0).normal(5, 2, (R, N))}))
    assert 4 < cells(found, "both", "a")["mean"] < 6
    assert "Scores are as written." in found.notes


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda f: f.drop(index=5), "support s0 of model a scores 29 of 30 items"),
        (lambda f: pd.concat([f, f.iloc[[7]]]), r"item q7 has two scores \(rows 8 of scores.csv and 241 of"),
        (lambda f: f.drop(columns="support"), "two scores.*name supports in a column support"),
        (lambda f: f[(f["model"] == "a") | (f["item"] != "q3")], "model b lacks 1 of 30 items .the first: q3"),
        (lambda f: f[(f["model"] == "a") | (f["support"] != "s3")], "model b lacks 1 of 4 supports .the first: s3"),
        (lambda f: f[(f["model"] == "a") | (f["support"] == "s0")], "model a is crossed, model b is one support"),
        (lambda f: f[f["item"] == "q0"], "1 item; 2 or more"),
        (
            lambda f: f.assign(group=["g", "h"] * (len(f) // 2)).iloc[::-1].assign(group="k").pipe(mixed),
            "in two groups",
        ),
        (lambda f: f.assign(score=f["score"].astype(object).where(f.index != 3, "yes")), "score in row 4.* is yes"),
        (lambda f: f.assign(score=f["score"].where(f.index != 3)), "score in row 4.* is empty"),
        (lambda f: f.assign(item=f["item"].where(f.index != 2)), "column item of scores.csv is empty in row 3"),
    ],
)
def test_what_does_not_fit_is_named_in_one_line(change, words):
    assert re.search(words, refused(change(long(scores()))))


def mixed(frame):
    return frame.assign(group=np.where(frame.index == 4, "h", "g"))


def test_all_problems_of_all_files_are_named_at_once():
    bad = long(scores())
    bad.assign(score="x", item=bad["item"].where(bad.index != 2)).to_csv("one.csv", index=False)
    bad.drop(columns="score").to_csv("two.csv", index=False)
    with pytest.raises(InputError) as error:
        report.ItemScores.read(["one.csv", "two.csv"])
    said = str(error.value)
    assert "3 problems" in said and "two.csv has the columns item, support, model" in said
    assert "(and 239 more like it)" in said


def test_names_are_text():
    """A group called NA, and items 007 and 7, are what they are called."""
    frame = long(scores("a"))
    frame["item"] = frame["item"].map({"q0": "7", "q1": "007"}).fillna(frame["item"])
    found = read(frame.assign(group=frame["item"].map({"q2": "NA"}).fillna("other" + frame["item"])))
    assert found.table["item"].nunique() == N and "NA" in {*found.table["group"]}


def test_options_of_tasks_are_refused():
    long(scores()).to_csv("scores.csv", index=False)
    for option in ({"runs": True}, {"common": True}, {"margin": 1.0}, {"sampling": "open"}, {"drop": ["q0"]}):
        with pytest.raises(InputError, match=f"--{next(iter(option))}: these are scores of items"):
            report.ItemScores.read("scores.csv", **option)
    pd.DataFrame({"ours": np.linspace(0.5, 0.9, 9), "base": np.linspace(0.4, 0.9, 9)}).to_csv("wide.csv", index=False)
    assert app.main(["report", "wide.csv", "--pool", "40"]) == 2
    assert not report.ItemScores.holds("wide.csv") and report.ItemScores.holds(["wide.csv", "scores.csv"])


def test_the_command_writes_page_tables_and_json(folder, capsys):
    long(scores()).to_csv("scores.csv", index=False)
    assert app.main(["report", "scores.csv", "--tables", "tables", "-o", "page.html"]) == 0
    assert "new items and supports" in capsys.readouterr().out
    page = Path("page.html").read_text("utf-8")
    assert "Differences on the same items" in page and page.count("<table") == 3
    assert {path.name for path in Path("tables").iterdir()} == {
        f"{name}.{ending}" for name in ("models", "pairs", "more", "evaluation") for ending in ("tex", "md")
    }
    assert app.main(["report", "scores.csv", "--json", "-o", "page.html"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == [{"setting": "scores.csv", "kind": "crossed"}] and len(found["intervals"]) == 9
    assert app.main(["report", "scores.csv", "--runs"]) == 2
    assert "--runs: these are scores of items" in capsys.readouterr().err


def test_names_are_shown_as_they_are(folder, capsys):
    long({"<b>bold</b> | *x*": scores("a")["a"]}).to_csv("<i>.csv", index=False)
    assert app.main(["report", "<i>.csv", "-o", "page.html"]) == 0
    assert "<b>bold</b> | *x*" in capsys.readouterr().out
    page = Path("page.html").read_text("utf-8")
    assert "&lt;b&gt;bold&lt;/b&gt; | *x*" in page and "&lt;i&gt;.csv" in page and "<i>" not in page


def test_lm_eval_with_one_support_for_all_items():
    found = report.ItemScores.read(LM_EVAL)
    assert found.kinds == {"same_support, exact_match": "crossed"}
    rows = [json.loads(line) for line in LM_EVAL[-1].read_text().splitlines()]
    assert LM_EVAL[-1].parent.name == "words" and len(rows) == 10
    grid = found.grids["same_support, exact_match"]["words"]
    assert grid.shape == (4, 10)
    assert np.isclose(grid.to_numpy().mean(), 100 * all_scores("words").mean())
    assert np.isclose(cells(found, "both", "words")["mean"], 100 * all_scores("words").mean())


def all_scores(model):
    """(4, 10) from the files, without the reader."""
    lines = [path.read_text().splitlines() for path in LM_EVAL if path.parent.name == model]
    return np.array([[json.loads(line)["exact_match"] for line in of] for of in lines])


def test_lm_eval_with_a_support_per_item():
    found = report.ItemScores.read(OWN)
    assert found.kinds == {"own_support, acc": "nested", "own_support, acc_norm": "nested"}
    assert found.table["support"].nunique() == 20
    one = report.ItemScores.read(OWN[:1])  # of one seed the prompts do not show whose support it was
    assert {*one.intervals["target"]} == {"items"}


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda of: of | {"exact_match": [1, 2]}, "line 3 of .* has no number for exact_match"),
        (lambda of: {k: v for k, v in of.items() if k != "filter"}, "line 3 of .* lacks filter"),
        (lambda of: of | {"arguments": [["context", "more"]]}, "line 3 of .* has no prompt"),
        (lambda of: of | {"doc_hash": "0" * 64}, "scores 10 of 11 items .not 2 ."),
    ],
)
def test_lm_eval_logs_of_another_form_are_refused(change, words):
    for path in LM_EVAL[-2:]:
        shutil.copy(path, path.name)
    lines = Path(LM_EVAL[-1].name).read_text().splitlines()
    lines[2] = json.dumps(change(json.loads(lines[2])))
    Path(LM_EVAL[-1].name).write_text("\n".join(lines))
    with pytest.raises(InputError, match=words):
        report.ItemScores.read([path.name for path in LM_EVAL[-2:]])


def test_a_prompt_may_hold_half_a_pair_of_surrogates():
    """As a tokenizer leaves it that cuts an emoji in two."""
    for path in LM_EVAL:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line["arguments"]["gen_args_0"]["arg_0"] = "\ud83d" + line["arguments"]["gen_args_0"]["arg_0"]
        Path(path.parent.name).mkdir(exist_ok=True)
        Path(path.parent.name, path.name).write_text("\n".join(map(json.dumps, lines)))
    found, whole = report.ItemScores.read([*Path().glob("*/*.jsonl")]), report.ItemScores.read(LM_EVAL)
    assert found.kinds == whole.kinds
    numbers = ["mean", "low", "high"]
    assert np.allclose(*(of.intervals.set_index(["a", "target"])[numbers].sort_index() for of in (found, whole)))


def test_lm_eval_logs_need_their_names_and_come_once():
    shutil.copy(LM_EVAL[0], "seed0.jsonl")
    with pytest.raises(InputError, match="samples_TASK_TIME.jsonl, as lm-eval calls it"):
        report.ItemScores.read("seed0.jsonl")
    again = LM_EVAL[0].name.replace("00-00.", "00-09.")
    shutil.copy(LM_EVAL[0], LM_EVAL[0].name), shutil.copy(LM_EVAL[0], again)
    with pytest.raises(InputError, match="has two scores"):  # a seed that changed nothing
        report.ItemScores.read([LM_EVAL[0].name, again])


def test_mteb_results_say_nothing_about_items():
    found = report.ItemScores.read(RESULTS)
    assert found.kinds == {"TinyClassification, test": "supports"}
    each = json.loads(RESULTS[0].read_text())["scores"]["test"][0]
    expected = stats.open_interval([100 * of["accuracy"] for of in each["scores_per_experiment"]], bounds=(0, 100))
    assert np.isclose(cells(found, "supports", "local/all")["half_width"], expected.half_width)
    assert np.isclose(cells(found, "supports", "local/all")["mean"], 100 * each["main_score"], atol=1e-3)
    assert "They say nothing about new items" in found.reading[0]


def test_mteb_with_predictions_and_labels_says_everything():
    found = report.ItemScores.read([*RESULTS, *PREDICTIONS, LOGS / "mteb" / "labels.csv"])
    assert found.kinds == {"TinyClassification, test": "crossed"}
    labels = pd.read_csv(LOGS / "mteb" / "labels.csv")["label"].to_numpy()
    predicted = np.array(json.loads(PREDICTIONS[0].read_text())["default"]["test"])
    expected = stats.crossed_intervals(100.0 * (predicted == labels), bounds=(0, 100))
    assert np.isclose(cells(found, "both", "local/all")["half_width"], expected.both.half_width)


@pytest.mark.parametrize(
    "files, words",
    [
        (lambda: [*RESULTS, *PREDICTIONS], "predictions without the right answers"),
        (lambda: [*PREDICTIONS, LOGS / "mteb" / "labels.csv"], "without the result that checks them"),
        (
            lambda: [*RESULTS, *PREDICTIONS, relabelled(lambda x: x[::-1])],
            "0.708333 in the result; the labels of the same",
        ),
        (lambda: [*RESULTS, *PREDICTIONS, relabelled(lambda x: x[:-1])], "are 24, and .*labels.csv has 23 labels"),
        (lambda: [*RESULTS, LOGS / "mteb" / "labels.csv"], "labels alone, and no file has predictions"),
        (lambda: [unlike("scores_per_experiment")], "are missing, or of one experiment"),
        (lambda: [unlike("main_score")], "have another mean than its main_score"),
    ],
)
def test_mteb_files_that_do_not_fit_are_refused(files, words):
    with pytest.raises(InputError, match=words):
        report.ItemScores.read(files())


def relabelled(change):
    labels = pd.read_csv(LOGS / "mteb" / "labels.csv")["label"].to_numpy()
    pd.DataFrame({"label": change(labels)}).to_csv("labels.csv", index=False)
    return "labels.csv"


def unlike(name):
    found = json.loads(RESULTS[0].read_text())
    of = found["scores"]["test"][0]
    of[name] = {"scores_per_experiment": None, "main_score": 0.9}[name]
    Path("Tiny.json").write_text(json.dumps(found))
    return "Tiny.json"


def unpacked(tool, name, to):
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    Path(to).write_bytes(gzip.decompress((LOGS / tool / f"{name}.gz").read_bytes()))


def converted(tool):
    """The block of the guide that mentions the tool's output, run in this folder; and what the report says of it."""
    (block,) = (b for b in re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text("utf-8"), re.M | re.S) if tool in b)
    subprocess.run([sys.executable, "-c", block], check=True)
    return report.ItemScores.read(f"{tool}.csv")


def test_the_guide_converts_helm():
    for name in ("run_spec.json", "per_instance_stats.json"):
        unpacked("helm", name, f"benchmark_output/runs/tiny/mcqa/{name}")
    found = converted("helm")
    assert found.kinds == {"helm.csv": "crossed"}
    assert found.grids["helm.csv"]["simple/model1"].shape == (3, 6)
    stored = json.loads(Path("benchmark_output/runs/tiny/mcqa/per_instance_stats.json").read_text())
    means = [s["mean"] for of in stored for s in of["stats"] if s["name"]["name"] == "exact_match"]
    assert len(means) == 18 and np.isclose(cells(found, "both", "simple/model1")["mean"], 100 * np.mean(means))


def test_the_guide_converts_inspect():
    for seed in range(2):
        unpacked("inspect_ai", f"{seed}.json", f"logs/{seed}.json")
    found = converted("inspect")
    logs = [json.loads(Path(f"logs/{seed}.json").read_text()) for seed in range(2)]
    right = [s["scores"]["match"]["value"] == "C" for log in logs for s in log["samples"]]
    assert found.kinds == {"inspect.csv": "crossed"} and found.grids["inspect.csv"]["local/dummy"].shape == (2, 5)
    assert len(right) == 10 and np.isclose(cells(found, "both", "local/dummy")["mean"], 100 * np.mean(right))
    assert logs[0]["results"]["scores"][0]["metrics"]["accuracy"]["value"] == np.mean(right[:5])


def test_the_guide_converts_every_eval_ever():
    for seed in range(4):
        unpacked("every_eval_ever", f"{seed}.jsonl", f"data/{seed}/a.jsonl")
    found = converted("every_eval_ever")
    assert found.kinds == {"every_eval_ever.csv": "crossed"}
    same = report.ItemScores.read([path for path in LM_EVAL if path.parent.name == "words"])
    for target in ("items", "supports", "both"):  # of the same logs, read by another way
        a, b = cells(found, target, "local/words"), cells(same, target, "words")
        assert np.isclose(a["half_width"], b["half_width"]) and a["mean"] == b["mean"]
