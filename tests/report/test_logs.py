"""Logs of evaluation tools, under their own names and under any other."""

import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import proposed
import pytest
from lookup import row, targets
from refusal import refuses
from running import run_code

from fslcore import stats
from fslcore.report import Results, Shape

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "tests" / "report" / "logs"
LM_EVAL = sorted(LOGS.glob("lm_eval/*/samples_same_support_*.jsonl"))
OWN = sorted(LOGS.glob("lm_eval/*/samples_own_support_*.jsonl"))
MTEB = sorted(LOGS.glob("mteb/*/results/*/*/Tiny*.json"))
PREDICTIONS = sorted(LOGS.glob("mteb/*/predictions/*.json"))
CROSSED = ["new items and supports", "new items", "new supports"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def scores_of(model):
    """(4, 10) from the files, without the reader."""
    files = [path for path in LM_EVAL if path.parent.name == model]
    return np.array([[record["exact_match"] for record in records_of(path)] for path in files])


def test_one_support_for_all_items_is_crossed_with_them_under_any_name():
    for number, path in enumerate(LM_EVAL):
        shutil.copy(path, f"{path.parent.name}_{number % 4}.jsonl")
    lists = Path("words.json")
    lists.write_text(json.dumps(records_of(LM_EVAL[-1])))
    for results in (proposed.read(LM_EVAL), Results.read("{method}_{n}.jsonl", ignore=["n"])):
        assert results.shape is Shape.ITEMS and targets(results) == CROSSED
        for model in ("letters", "words"):
            expected = stats.crossed_intervals(100 * scores_of(model), bounds=(0, 100)).both
            assert row(results, CROSSED[0], model)["half_width"] == pytest.approx(
                expected.half_width
            )
    single = proposed.read(lists)
    assert targets(single) == ["new items"] and len(single.lines()) > 3


def test_each_model_may_end_its_prompts_in_its_own_way():
    """As chat templates do: what the prompts of an item share is looked for in each model."""
    for path in LM_EVAL:
        records = records_of(path)
        for record in records:
            if path.parent.name == "words":
                record["arguments"]["gen_args_0"]["arg_0"] += "<|answer|>"
        Path(path.parent.name).mkdir(exist_ok=True)
        copy = Path(path.parent.name, path.name)
        copy.write_text("\n".join(map(json.dumps, records)))
    copies = sorted(str(path) for path in Path().glob("*/*.jsonl"))
    assert len(copies) == len(LM_EVAL) and targets(proposed.read(copies)) == CROSSED


def test_a_support_per_item_speaks_of_items():
    results = proposed.read(OWN)
    assert targets(results) == ["new items"] and "supports of its own" in results.applies[0]
    assert {*results.methods["place"]} == {"own_support, acc", "own_support, acc_norm"}


def changed(change):
    """Copies of two logs; each line of the second one is changed."""
    paths = [Path("m", path.name) for path in LM_EVAL[-2:]]
    Path("m").mkdir(exist_ok=True)
    shutil.copy(LM_EVAL[-2], paths[0])
    paths[1].write_text("\n".join(json.dumps(change(record)) for record in records_of(LM_EVAL[-1])))
    return paths


def older(record):
    fields = {"metrics", "prompt_hash", "target_hash", "filter"}
    record = {name: value for name, value in record.items() if name not in fields}
    return record | {"arguments": [[record["arguments"]["gen_args_0"]["arg_0"], " x"]]}


def halved(record):
    """With half a pair of surrogates in the prompt."""
    return record | {
        "arguments": {
            "gen_args_0": {"arg_0": "\ud83d" + record["arguments"]["gen_args_0"]["arg_0"]}
        }
    }


@pytest.mark.parametrize("change", [older, halved])
def test_other_releases_and_prompts_are_read(change):
    assert targets(proposed.read(changed(change))) == CROSSED


def test_other_metrics_are_left_out_and_said():
    results = proposed.read(changed(lambda record: record | {"bleu": 31.5, "f1": [1, 2]}))
    assert any("bleu, f1" in note for note in results.reading)
    with refuses("metric", "0 to 1", "every line"):
        proposed.read(changed(lambda record: record | {"exact_match": [1, 2]}))


def test_results_of_mteb_say_nothing_about_items():
    results = proposed.read(MTEB)
    assert targets(results) == ["new supports"] and "nothing about new items" in results.applies[0]
    entry = json.loads(MTEB[0].read_text())["scores"]["test"][0]
    accuracies = [100 * scores["accuracy"] for scores in entry["scores_per_experiment"]]
    expected = stats.open_task_interval(accuracies, bounds=(0, 100))
    assert row(results, "new supports", "local/all")["half_width"] == pytest.approx(
        expected.half_width
    )


def single_experiment():
    content = json.loads(MTEB[0].read_text())
    content["scores"]["test"][0]["scores_per_experiment"] = None
    Path("Tiny.json").write_text(json.dumps(content))
    return "Tiny.json"


def test_files_of_mteb_that_do_not_suffice_are_refused():
    with refuses("the page Logs of other tools"):
        proposed.read([*MTEB, *PREDICTIONS])
    with refuses("no accuracies of two or more experiments"):
        proposed.read(single_experiment())


def unpacked(source, path):
    content = source.read_bytes()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(gzip.decompress(content) if source.suffix == ".gz" else content)


@pytest.mark.parametrize(
    "tool, files, supports",
    [
        (
            "mteb",
            {
                "*/predictions/*.json": "predictions/0/Banking77Classification_predictions.json",
                "labels.csv": "labels.csv",
            },
            5,
        ),
        (
            "helm",
            {
                f"{name}.json.gz": f"benchmark_output/runs/tiny/mcqa/{name}.json"
                for name in ("run_spec", "per_instance_stats")
            },
            3,
        ),
        ("inspect", {f"{seed}.json.gz": f"logs/{seed}.json" for seed in range(2)}, 2),
        ("every_eval_ever", {f"{seed}.jsonl.gz": f"data/{seed}/a.jsonl" for seed in range(4)}, 4),
    ],
)
def test_what_the_page_converts_is_read(tool, files, supports):
    for pattern, path in files.items():
        folder = LOGS / {"inspect": "inspect_ai"}.get(tool, tool)
        unpacked(sorted(folder.glob(pattern))[0], path)
    page = (ROOT / "book" / "other-tools.md").read_text("utf-8")
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", page)
    (block,) = (block for block in blocks if f"{tool}.csv" in block)
    run_code(block, check=True)
    results = proposed.read(f"{tool}.csv")
    assert targets(results) == CROSSED
    assert {*results.methods[results.methods["target"] == "new supports"]["n"]} == {supports}
