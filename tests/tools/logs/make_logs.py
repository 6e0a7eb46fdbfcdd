"""Write the logs beside this file, with the tools themselves on tiny local data; nothing is fetched.

In an environment of its own, such as one of Python 3.11 with ``pip install lm_eval==0.4.13 mteb==2.26.24``::

    python tests/tools/logs/make_logs.py

The models are dummies that fit in a few lines. Both read the support, so that scores depend on it.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
WORDS = {"good": "fine kind warm bright fresh".split(), "bad": "dull cold grim stale harsh".split()}
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def sentences(count: int, seed: int) -> list[dict]:
    """Sentences whose words point to their label, most of the time."""
    drawn, out = random.Random(seed), []
    for i in range(count):
        label = ("good", "bad")[i % 2]
        other = ("good", "bad")[1 - i % 2]
        words = [drawn.choice(WORDS[label if drawn.random() < 0.7 else other]) for _ in range(2)]
        out.append({"text": f"{' '.join(words)} {i}", "label": label})
    return out


def vote(pairs: list[tuple[str, str]], text: str, like: int) -> str:
    """The label of the shot that shares the most words (of their first ``like`` letters); of equals the last."""
    parts = {word[:like] for word in text.split()}
    return max(enumerate(pairs), key=lambda of: (len(parts & {w[:like] for w in of[1][0].split()}), of[0]))[1][1]


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
ORDERED = """
import os, random
def ordered(docs):
    return docs.select(random.Random(int(os.environ["SUPPORT"])).sample(range(len(docs)), len(docs)))
"""


def lm_eval_logs(folder: Path) -> None:
    """Two models, three supports for all items; and one model, two supports per item."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Dummy(LM):
        def __init__(self, like: int) -> None:
            super().__init__()
            self.like = like

        def answer(self, prompt: str) -> str:
            *shots, asked = re.findall(r"(.*?) is(?: (good|bad))?(?:\n\n|$)", prompt)
            return vote(shots, asked[0], self.like)

        def generate_until(self, requests, **_):
            return [self.answer(request.args[0]) for request in requests]

        def loglikelihood(self, requests, **_):
            return [(-0.5 if self.answer(r.args[0]) == r.args[1].strip() else -1.5, False) for r in requests]

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    for split, count, seed in (("train", 20, 0), ("test", 10, 1)):
        lines = [json.dumps(of) + "\n" for of in sentences(count, seed)]
        (folder / f"{split}.jsonl").write_text("".join(lines))
    (folder / "of_seed.py").write_text(ORDERED)
    for task, kind, target, more in (
        ("same", "generate_until", "label", SAME),
        ("own", "multiple_choice", "label", OWN),
    ):
        text = YAML.format(task=f"{task}_support", folder=folder, kind=kind, target=target, more=more)
        (folder / f"{task}_support.yaml").write_text(text)
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    for task, models, seeds in (("same_support", {"words": 9, "letters": 1}, 4), ("own_support", {"words": 9}, 2)):
        for model, like in models.items():
            for seed in range(seeds):
                os.environ["SUPPORT"] = str(seed)
                tracker = EvaluationTracker(output_path=str(folder / "out"))
                found = simple_evaluate(
                    model=Dummy(like),
                    model_args={"name": model},
                    tasks=[task],
                    num_fewshot=4,
                    task_manager=manager,
                    log_samples=True,
                    fewshot_random_seed=seed,
                    bootstrap_iters=0,
                )
                samples = found.pop("samples")
                tracker.general_config_tracker.model_name_sanitized = model
                tracker.save_results_aggregated(results=found, samples=samples)
                tracker.save_results_samples(task_name=task, samples=samples[task])
                (written,) = (folder / "out" / model).glob("samples_*.jsonl")
                kept = HERE / "lm_eval" / model / f"samples_{task}_2026-11-25T12-00-0{seed}.000000.jsonl"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(written.read_bytes())  # the tool's name holds the time of day
                written.unlink()


def mteb_logs(folder: Path) -> None:
    """Results and predictions of two models on one task, and the labels of its test set."""
    import mteb
    import numpy as np
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
            parts = {split: sentences(n, seed) for split, n, seed in (("train", 40, 0), ("test", 24, 1))}
            rows = {s: [{"text": o["text"], "label": int(o["label"] == "bad")} for o in of] for s, of in parts.items()}
            self.dataset = DatasetDict({split: Dataset.from_list(of) for split, of in rows.items()})
            self.data_loaded = True

    class Letters:
        """Counts of letters: of the first of each word, or of all."""

        def __init__(self, name: str, most: int) -> None:
            self.most = most
            self.mteb_model_meta = mteb.models.ModelMeta.create_empty(
                overwrites={"name": f"local/{name}", "revision": "1"}
            )

        def encode(self, inputs, **_):
            texts = [text for batch in inputs for text in batch["text"]]
            parts = ["".join(word[: self.most] for word in text.split()) for text in texts]
            return np.array([[part.count(chr(97 + i)) for i in range(26)] for part in parts], dtype=float)

        def similarity(self, a, b):
            return a @ b.T

        def similarity_pairwise(self, a, b):
            return (a * b).sum(axis=1)

    out = HERE / "mteb"
    for name, most in (("first", 1), ("all", 9)):
        cache = mteb.ResultCache(folder / name)
        mteb.evaluate(Letters(name, most), Tiny(), cache=cache, prediction_folder=folder / name / "predictions")
        for written in (folder / name).rglob("*.json"):
            kept = out / written.relative_to(folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(written, kept)
    task = Tiny()
    task.load_data()
    labels = task.dataset["test"]["label"]
    (out / "labels.csv").write_text("".join(f"{line}\n" for line in ["label", *labels]))


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["lm_eval", "mteb"]
    for name in wanted:
        shutil.rmtree(HERE / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            {"lm_eval": lm_eval_logs, "mteb": mteb_logs}[name](Path(scratch))
