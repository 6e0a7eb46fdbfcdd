"""Train every learner from three or five seeds, and write what every run gets right on the same tasks.

    python data/runs/build.py             # train what is missing (two hours on one core), evaluate, write
    python data/runs/build.py --stored    # train nothing: write the learners whose runs are at hand or in the file
    python data/runs/build.py --same      # after a change of the code: check that it trains as before, and name it
    python data/runs/build.py --part NAME    # one training

A stopped training goes on from its last epoch. A learner is written when all of its runs are there.
Checkpoints stay in the cache, named after the data, the recipe, the seed and the code that trains; the records ship,
and a row of them that was made of the same is kept.
"""

import argparse
import ast
import hashlib
import json
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from fslbook import training
from fslbook.beyond import runs
from fslbook.fewstab.tables import RECENT, REMEDIED
from fslcore import __version__, datasets, evaluation, learners, store
from fslcore.models import backbones, networks
from fslcore.paths import replace_file
from fslcore.tasks import samplers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import _build  # noqa: E402

load = lru_cache(maxsize=4)(datasets.load)  # keeps the images, which take long to draw
STUDIED = ("baseline", "protonet", "r2d2", "anil", "maml")  # from more seeds than the others
NETWORK, DATASET = "conv4-32", "coloured"
PROBE = "coloured?per_class=20"
EVALUATED = ("coloured/hebrew", "clipart")
# Short recipes, of minutes: what another seed changes is the question, not how good a learner can become.
RECIPES = {
    "baseline": {"epochs": 3},
    "protonet": {"epochs": 4, "steps": 150},
    "r2d2": {"epochs": 4, "steps": 150},
    "anil": {"epochs": 4, "steps": 150},
    "maml": {"epochs": 2, "steps": 100, "size": 2},
    "baseline++": {"epochs": 3},
    "rfs": {"epochs": 3},
    "dn4": {"epochs": 3, "steps": 100},
    "can": {"epochs": 3, "steps": 100},
    "renet": {"epochs": 3, "steps": 100},
    "boil": {"epochs": 3, "steps": 100, "size": 2},
    "leo": {"epochs": 3, "steps": 100},
    **{name: {"epochs": 2} for name in RECENT},
    **{
        name + suffix: {"epochs": 2, "steps": 100}
        for name in REMEDIED.values()
        for suffix in ("", "-ifsl")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stored", action="store_true", help="train nothing")
    parser.add_argument(
        "--same", action="store_true", help="keep all rows, if the changed code trains as before"
    )
    _build.part_option(parser)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    datasets.load = load  # drawn once for all runs
    if chosen.part:
        return train(*_build.part_of(parser, parts(), chosen.part))
    if chosen.same:
        return save(
            pd.DataFrame([same(row) for row in pd.read_parquet(runs.RECORDS).to_dict("records")])
        )
    if not chosen.stored:
        stored = kept()
        for run in dict.fromkeys(run[1:] for run in wanted() if run not in stored):
            train(*run)
    write()


def parts() -> Iterator[tuple[str, tuple[str, int]]]:
    """All runs, a seed after another."""
    for seed, name in product(range(runs.MANY), RECIPES):
        if seed < runs.FEW or name in STUDIED:
            yield f"{name}-{seed}", (name, seed)


def train(name: str, seed: int) -> None:
    """A run that is missing; first the one whose network it builds on, if it does."""
    path, start = checkpoint(name, seed), time.time()
    if not path.is_file():
        if rests_on(name):
            train("baseline", seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        on = {field: f"conv4-baseline:{checkpoint('baseline', seed)}" for field in rests_on(name)}
        training.train(name, path, seed=seed, progress=False, **changes(name), **on)
        print(
            f"{path.name}: {time.time() - start:.0f} s, {time.process_time():.0f} s in all",
            flush=True,
        )


def changes(name: str) -> dict:
    """What differs from the recipe: learners that compare places keep their network, which has more of them."""
    network = training.RECIPES[name].network
    return {
        "network": network if network.endswith("-map") else NETWORK,
        "dataset": DATASET,
        **RECIPES[name],
    }


def rests_on(name: str) -> list[str]:
    """Fields of the recipe that name a network trained before: here the run of `baseline` from the same seed."""
    return [field for field in ("frozen", "teacher") if getattr(training.RECIPES[name], field)]


def checkpoint(name: str, seed: int) -> Path:
    """Where the cache keeps a run: by the content of all that makes it."""
    facts = {
        "recipe": replace(training.RECIPES[name], **changes(name)).plain(),
        "seed": seed,
        "data": data_digests(),
        "code": code_digest(name),
        "rests on": checkpoint("baseline", seed).name if rests_on(name) else None,
    }
    return store.path(
        "runs", f"{name}-{seed}-{store.digest(json.dumps(facts, sort_keys=True))[:16]}.safetensors"
    )


@lru_cache
def data_digests() -> dict[str, str]:
    return {split: load(DATASET, split=split).digest for split in ("base", "validation")}


@lru_cache
def code_digest(name: str) -> str:
    """SHA-256 of the code that trains a learner: of its syntax, so that comments and docstrings do not count."""
    recipe = training.RECIPES[name]
    learner = learners.learner_class(recipe.learner)
    ancestors = dict.fromkeys(
        c.__module__ for c in learner.__mro__ if c.__module__.startswith(learners.__name__)
    )
    views = [training.unlabelled] if recipe.batch == "views" else []
    modules = (
        training.run,
        training.augment,
        training.schedule,
        networks,
        samplers,
        *views,
        *(sys.modules[module] for module in ancestors),
    )
    return hashlib.sha256(
        "\n".join(syntax(Path(module.__file__)) for module in modules).encode()
    ).hexdigest()


def syntax(path: Path) -> str:
    """The syntax tree of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    # As Python 3.11 prints it, with which the records are made.
    everything = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **everything).replace(", type_params=[]", "")


def started(name: str, seed: int = 0):
    """A training on few of the images, before its first step."""
    recipe = replace(training.RECIPES[name], **changes(name) | {"dataset": PROBE})
    run = training.run._Run(name, recipe, seed)
    torch.manual_seed(seed)
    run.parts.train()
    return run


def first_losses(run, steps: int = 3) -> list[float]:
    """Of the first steps: what a test makes again, to see that the code trains alike."""
    losses = []
    batches = {
        "classes": run._class_batches,
        "tasks": run._task_batches,
        "views": run._view_batches,
    }
    for loss in islice(batches[run.recipe.batch](), steps):
        run.optimiser.zero_grad()
        loss.backward()
        run.optimiser.step()
        run.schedule.step()
        losses.append(round(loss.item(), 5))
    return losses


def write() -> None:
    """A row a run and data set, of every learner with all of its runs: evaluated now, or kept from the file."""
    datasets.load = load
    rows = kept()
    for run in wanted():
        if run not in rows and checkpoint(*run[1:]).is_file():
            rows[run] = evaluated(*run)
    missing = {run[1] for run in wanted() if run not in rows}
    save(pd.DataFrame([rows[run] for run in wanted() if run[1] not in missing]))
    if missing:
        print(f"runs are missing of {', '.join(sorted(missing))}")


def save(table: pd.DataFrame) -> None:
    replace_file(runs.RECORDS, lambda part: table.to_parquet(part, compression="zstd", index=False))
    digest = hashlib.sha256(runs.RECORDS.read_bytes()).hexdigest()
    (HERE / "SHA256SUMS").write_text(f"{digest}  {runs.RECORDS.name}\n")
    print(f"{runs.RECORDS.name}: {len(table)} rows, {runs.RECORDS.stat().st_size / 1e3:.0f} kB")


def same(row: dict) -> dict:
    """A row whose provenance names the code as it is now, which must train as the code that made the row."""
    stored, now = json.loads(row["provenance"]), facts(row["dataset"], row["learner"], row["seed"])
    if changed := [
        name for name in now if name not in ("code", "rests_on") and now[name] != stored[name]
    ]:
        sys.exit(
            f"{row['learner']}: {', '.join(changed)} changed; make the row again, without --same"
        )
    if stored["first_losses"] and stored["code"] != now["code"]:
        losses = probe_losses(row["learner"])
        if not np.allclose(
            losses, stored["first_losses"], rtol=0.01
        ):  # another processor rounds otherwise
            sys.exit(
                f"{row['learner']}: first losses {stored['first_losses']} were noted, now {losses}"
            )
    return row | {"provenance": json.dumps(stored | now, sort_keys=True)}


def wanted() -> Iterator[tuple[str, str, int]]:
    """Data set, learner and seed of every row."""
    yield from ((dataset, *run) for dataset, (_, run) in product(EVALUATED, parts()))


def kept() -> dict[tuple[str, str, int], dict]:
    """Rows of the file that would be made of the same now; they need no weights at hand."""
    rows = pd.read_parquet(runs.RECORDS).to_dict("records") if runs.RECORDS.is_file() else []
    stored = {(row["dataset"], row["learner"], row["seed"]): row for row in rows}
    return {
        run: stored[run]
        for run in wanted()
        if run in stored and facts(*run).items() <= json.loads(stored[run]["provenance"]).items()
    }


def facts(dataset: str, name: str, seed: int) -> dict:
    """What a row is made of, in its provenance."""
    return {
        "recipe": changes(name),
        "training_data": data_digests(),
        "code": code_digest(name),
        "images": evaluation.load_images_or_features(dataset).digest,
        "tasks": runs.tasks_of(dataset, training.RECIPES[name].learner).digest,
    } | ({"rests_on": checkpoint("baseline", seed).name} if rests_on(name) else {})


def evaluated(dataset: str, name: str, seed: int) -> dict:
    path = checkpoint(name, seed)
    learner = training.RECIPES[name].learner
    ready = evaluation.configure(dataset, f"conv4-{name}:{path}", learner)
    record = ready.outcomes(runs.tasks_of(dataset, learner), progress=True)
    provenance = facts(dataset, name, seed) | {
        "command": "python data/runs/build.py",
        "first_losses": None if rests_on(name) else probe_losses(name),
        "weights": ready.backbone.weights,
        "device": str(backbones.device()),
        "versions": {
            "fslcore": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }
    print(f"{dataset} {name} {seed}: {100 * record.accuracy().mean():.2f} %", flush=True)
    return {
        "dataset": dataset,
        "learner": name,
        "seed": seed,
        "tasks": len(record.correct),
        "validation": pd.read_csv(path.with_suffix(".csv"))["validation"].max(),
        "correct": np.packbits(record.correct).tobytes(),
        "provenance": json.dumps(provenance, sort_keys=True),
    }


@lru_cache
def probe_losses(name: str) -> list[float]:
    return first_losses(started(name))


if __name__ == "__main__":
    main()
