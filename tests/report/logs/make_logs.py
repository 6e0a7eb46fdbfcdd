"""Write the logs beside this file, with the tools themselves on tiny local data; nothing is fetched.

In environments of their own (Python 3.11 and 3.12)::

    pip install lm_eval==0.4.13 mteb==2.26.24 inspect_ai==0.3.285
    python tests/report/logs/make_logs.py lm_eval mteb inspect_ai

    pip install crfm-helm==0.5.16
    python tests/report/logs/make_logs.py helm

    pip install every-eval-ever==0.3.0  # a command; the logs it converts are written by the first environment
    EVERY_EVAL_EVER=/its/bin/every_eval_ever python tests/report/logs/make_logs.py every_eval_ever

The models are dummies of a few lines. They read the support, so that scores depend on it. Large logs are compressed.
"""

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
WORDS = {"good": "fine kind warm bright fresh".split(), "bad": "dull cold grim stale harsh".split()}
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def sentences(count: int, seed: int) -> list[dict]:
    """Sentences whose words point to their label, most of the time."""
    generator, out = random.Random(seed), []
    for i in range(count):
        label = ("good", "bad")[i % 2]
        opposite = ("good", "bad")[1 - i % 2]
        words = [
            generator.choice(WORDS[label if generator.random() < 0.7 else opposite])
            for _ in range(2)
        ]
        out.append({"text": f"{' '.join(words)} {i}", "label": label})
    return out


def vote(pairs: list[tuple[str, str]], text: str, like: int) -> str:
    """The label of the shot that shares the most words (of their first ``like`` letters); of equals the last."""
    parts = {word[:like] for word in text.split()}
    shared = [len(parts & {word[:like] for word in shot.split()}) for shot, _ in pairs]
    best = max(range(len(pairs)), key=lambda number: (shared[number], number))
    return pairs[best][1]


# The data of lm-evaluation-harness are files; `fewshot_config.process_docs` orders the pool by the seed of a run, which
# with `first_n` is one support for all items. Its default sampler draws a support per item.
YAML = """
task: {task}
dataset_path: json
dataset_kwargs: {{data_files: {{train: {folder}/train.jsonl, test: {folder}/test.jsonl}}}}
training_split: train
test_split: test
fewshot_split: train
output_type: {kind}
doc_to_text: "{{{{text}}}} is"
doc_to_target: label
{more}
"""
SAME = """
fewshot_config: {sampler: first_n, process_docs: !function of_seed.ordered}
generation_kwargs: {until: ["\\n"]}
metric_list: [{metric: exact_match}]
"""
OWN = """
doc_to_choice: [good, bad]
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
LETTERS = {"words": 9, "letters": 1}  # by model, of each word how many it compares
ORDERED = """
import os, random
def ordered(docs):
    return docs.select(random.Random(int(os.environ["SUPPORT"])).sample(range(len(docs)), len(docs)))
"""


def write_tasks(folder: Path) -> None:
    """The data, and two tasks on them: one support for all items, and a support per item."""
    for split, count, seed in (("train", 20, 0), ("test", 10, 1)):
        lines = [json.dumps(entry) + "\n" for entry in sentences(count, seed)]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    (folder / "of_seed.py").write_text(ORDERED)
    for task, kind, fields in (
        ("same_support", "generate_until", SAME),
        ("own_support", "multiple_choice", OWN),
    ):
        text = YAML.format(task=task, folder=folder, kind=kind, more=fields)
        (folder / f"{task}.yaml").write_text(text)


def voter(like: int) -> object:
    """A model that answers by `vote`."""
    from lm_eval.api.model import LM

    class Voter(LM):
        def answer(self, prompt: str) -> str:
            *shots, queries = re.findall(r"(.*?) is(?: (good|bad))?(?:\n\n|$)", prompt)
            return vote(shots, queries[0], like)

        def generate_until(self, requests, **_):
            return [self.answer(request.args[0]) for request in requests]

        def loglikelihood(self, requests, **_):
            return [
                (-0.5 if self.answer(r.args[0]) == r.args[1].strip() else -1.5, False)
                for r in requests
            ]

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    return Voter()


def lm_eval_log(folder: Path, task: str, model: str, seed: int) -> Path:
    """The samples of one run."""
    from lm_eval import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    os.environ["SUPPORT"] = str(seed)
    out = folder / "out" / f"{task}-{model}-{seed}"
    tracker = EvaluationTracker(output_path=str(out))
    results = simple_evaluate(
        model=voter(LETTERS[model]),
        model_args={"name": model},
        tasks=[task],
        num_fewshot=4,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        fewshot_random_seed=seed,
        bootstrap_iters=0,
    )
    samples = results.pop("samples")
    config = tracker.general_config_tracker
    config.model_name, config.model_name_sanitized = f"local/{model}", model
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name=task, samples=samples[task])
    (written,) = out.rglob("samples_*.jsonl")
    return written


def lm_eval_logs(folder: Path) -> None:
    """Two models, four supports for all items; and one model, two supports per item."""
    write_tasks(folder)
    runs = [
        *product(["same_support"], LETTERS, range(4)),
        *product(["own_support"], ["words"], range(2)),
    ]
    for task, model, seed in runs:
        written = lm_eval_log(folder, task, model, seed)
        named = f"samples_{task}_2026-11-25T12-00-0{seed}.000000.jsonl"  # the tool's name holds the time of day
        target_path = HERE / "lm_eval" / model / named
        target_path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(written, target_path)


def every_eval_ever_logs(folder: Path) -> None:
    """The first model of `lm_eval_logs`, a file per support, converted."""
    lm_eval_logs(folder)
    (HERE / "every_eval_ever").mkdir()
    for seed in range(4):
        logs, out = folder / "out" / f"same_support-words-{seed}", folder / "converted" / str(seed)
        flags = "--include_samples --source_organization_name local --evaluator_relationship other".split()
        command = [
            os.environ["EVERY_EVAL_EVER"],
            "convert",
            "lm_eval",
            "--log_path",
            logs,
            "--output_dir",
            out,
            *flags,
        ]
        subprocess.run(command, check=True)
        (written,) = out.rglob("*.jsonl")
        keep(written, HERE / "every_eval_ever" / f"{seed}.jsonl.gz")


def inspect_ai_logs(_: Path) -> None:
    """One model, two supports, in the text format of logs."""
    from inspect_ai import Task, eval, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate, system_message

    @modelapi("local")
    def local():
        class Dummy(ModelAPI):
            async def generate(self, input, tools, tool_choice, config):
                text = " ".join(message.text for message in input)
                return ModelOutput.from_content(
                    "dummy", random.Random(text).choice(["good", "bad"])
                )

            async def count_text_tokens(self, text):  # the tool's own would fetch a vocabulary
                return len(text.split())

        return Dummy

    @task
    def tiny(seed: int = 0):
        shots = " ".join(
            f"{e['text']} is {e['label']}." for e in random.Random(seed).sample(sentences(20, 0), 4)
        )
        queries = [
            Sample(id=i, input=e["text"], target=e["label"]) for i, e in enumerate(sentences(5, 1))
        ]
        return Task(
            dataset=MemoryDataset(queries),
            solver=[system_message(shots), generate()],
            scorer=match(),
        )

    with tempfile.TemporaryDirectory() as logs:
        for seed in range(2):
            eval(
                tiny(seed=seed),
                model="local/dummy",
                log_dir=logs,
                display="none",
                log_format="json",
            )
        for seed, written in enumerate(sorted(Path(logs).glob("*.json"))):
            keep(written, HERE / "inspect_ai" / f"{seed}.json.gz")


def helm_logs(folder: Path) -> None:
    """A model that ships with the tool, on a scenario that it makes itself: three train trials."""
    flags = "-r simple_mcqa:model=simple/model1 -m 6 -t 3 --suite tiny".split()
    subprocess.run([Path(sys.executable).parent / "helm-run", *flags], cwd=folder, check=True)
    (run,) = (folder / "benchmark_output" / "runs" / "tiny").glob("simple_mcqa*")
    for name in ("run_spec.json", "per_instance_stats.json"):
        keep(run / name, HERE / "helm" / f"{name}.gz")


def keep(written: Path, path: Path) -> None:
    """The same bytes, compressed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(written.read_bytes(), mtime=0))


def tiny_task() -> object:
    """A task of MTEB on two words each."""
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.classification import AbsTaskClassification
    from mteb.abstasks.task_metadata import TaskMetadata

    class Tiny(AbsTaskClassification):
        metadata = TaskMetadata(
            name="TinyClassification",
            description="Two words each.",
            reference=None,
            dataset={"path": "local/tiny", "revision": "1"},
            type="Classification",
            category="t2c",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="accuracy",
            date=("2026-01-01", "2026-01-01"),
            domains=["Written"],
            task_subtypes=[],
            license="mit",
            annotations_creators="derived",
            dialect=[],
            sample_creation="created",
            bibtex_citation="",
        )
        n_experiments = 5
        samples_per_label = 4

        def load_data(self, **_):
            self.dataset = DatasetDict()
            for split, count, seed in (("train", 40, 0), ("test", 24, 1)):
                rows = [
                    {"text": e["text"], "label": int(e["label"] == "bad")}
                    for e in sentences(count, seed)
                ]
                self.dataset[split] = Dataset.from_list(rows)
            self.data_loaded = True

    return Tiny()


def letter_counts(name: str, letters: int) -> object:
    """A model that counts letters: of the first of each word, or of all."""
    import mteb
    import numpy as np

    class Letters:
        mteb_model_meta = mteb.models.ModelMeta.create_empty(
            overwrites={"name": f"local/{name}", "revision": "1"}
        )

        def encode(self, inputs, **_):
            texts = [text for batch in inputs for text in batch["text"]]
            parts = ["".join(word[:letters] for word in text.split()) for text in texts]
            return np.array(
                [[part.count(chr(97 + i)) for i in range(26)] for part in parts], dtype=float
            )

        def similarity(self, a, b):
            return a @ b.T

        def similarity_pairwise(self, a, b):
            return (a * b).sum(axis=1)

    return Letters()


def mteb_logs(folder: Path) -> None:
    """Results and predictions of two models on one task, and the labels of its test set."""
    import mteb

    out = HERE / "mteb"
    for name, letters in (("first", 1), ("all", 9)):
        cache = mteb.ResultCache(folder / name)
        predictions = folder / name / "predictions"
        mteb.evaluate(
            letter_counts(name, letters), tiny_task(), cache=cache, prediction_folder=predictions
        )
        for written in (folder / name).rglob("*.json"):
            target_path = out / written.relative_to(folder)
            target_path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(written, target_path)
    task = tiny_task()
    task.load_data()
    labels = task.dataset["test"]["label"]
    (out / "labels.csv").write_text("".join(f"{line}\n" for line in ["label", *labels]))


MADE = {
    "lm_eval": lm_eval_logs,
    "mteb": mteb_logs,
    "inspect_ai": inspect_ai_logs,
    "helm": helm_logs,
    "every_eval_ever": every_eval_ever_logs,
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        shutil.rmtree(HERE / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            MADE[name](Path(scratch))
