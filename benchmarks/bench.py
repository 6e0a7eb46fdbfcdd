"""How fast: batched learners against one task at a time, drawing tasks, resampling, comparing methods.

    python benchmarks/bench.py [--threads 2]

Both sides of a ratio run in turn, several times, with the same number of threads; the figures are medians.
Use a quiet machine: what else runs on it slows the batched side more.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
import warnings
from itertools import combinations
from statistics import median

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--threads", type=int, default=2, help="(2)")
parser.add_argument("--tasks", type=int, default=2048, help="tasks of the batched learners (2048)")
parser.add_argument("--repeats", type=int, default=5, help="(5)")
parser.add_argument("--chunks", action="store_true", help="also the batched speed by tasks at once")
options = parser.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(options.threads)  # read when NumPy and torch load

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from scipy.stats import ttest_rel  # noqa: E402
from sklearn.linear_model import LogisticRegression as SklearnLR  # noqa: E402
from statsmodels.stats.multitest import multipletests  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from fslcore import results  # noqa: E402
from fslcore.datasets.bank import Bank  # noqa: E402
from fslcore.evaluation import evaluate  # noqa: E402
from fslcore.learners import FineTune, LogisticRegression, NearestCentroid  # noqa: E402
from fslcore.models.backbones import Backbone  # noqa: E402
from fslcore.models.networks import GlyphConv  # noqa: E402
from fslcore.stats import three_intervals  # noqa: E402
from fslcore.tasks import (  # noqa: E402
    bootstrap,
    sample_biased,
    sample_closed,
)

torch.set_num_threads(options.threads)

SAMPLER = r"""
import re, time
import numpy as np
from fslcore.tasks import sample_open
labels = np.repeat(np.arange(52), 148_000)
start = time.perf_counter()
tasks = sample_open(labels)
seconds = time.perf_counter() - start
peak = re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())  # not ru_maxrss, which counts the parent too
print(len(tasks), seconds, int(peak[1]) / 1024)
"""


def features() -> Bank:
    """64 classes of 150 images, 512-d and not negative as a network's; 5-way 5-shot LR is right on 87 %."""
    rng = np.random.default_rng(0)
    x = np.maximum(rng.normal(0, 0.28, (64, 1, 512)) + rng.normal(size=(64, 150, 512)), 0).reshape(-1, 512)
    return Bank(torch.from_numpy(x.astype(np.float32)), np.arange(64).repeat(150), "")


def scikit_learn(bank: Bank, tasks) -> list[np.ndarray]:
    """One fit a task, as the released code does. Its default tolerance stops a little before the optimum."""
    x, out = bank.data.numpy(), []
    for support, label, query in zip(tasks.support, tasks.support_label, tasks.query):
        s, q = x[support], x[query[query >= 0]]
        s, q = s / np.linalg.norm(s, axis=1, keepdims=True), q / np.linalg.norm(q, axis=1, keepdims=True)
        out.append(SklearnLR(C=1.0, max_iter=1000).fit(s, label).predict(q))
    return out


def scikit_learn_rounds(bank: Bank, tasks) -> np.ndarray:
    """Accuracy of one fit a bootstrap round."""
    labels = (label[label >= 0] for label in tasks.query_label)
    return np.array([(p == label).mean() for p, label in zip(scikit_learn(bank, tasks), labels)])


@torch.inference_mode()
def centroid_loop(bank: Bank, tasks) -> np.ndarray:
    """One task at a time in PyTorch."""
    arrays = (tasks.support, tasks.support_label, tasks.query)
    out = []
    for support, label, query in zip(*(torch.from_numpy(a.astype(np.int64)) for a in arrays)):
        s, q = F.normalize(bank.data[support], dim=1), F.normalize(bank.data[query], dim=1)
        centroids = torch.stack([s[label == k].mean(dim=0) for k in range(tasks.ways)])
        out.append((q @ F.normalize(centroids, dim=1).T).argmax(dim=1))
    return torch.stack(out).numpy()


def predictions(learner, bank: Bank, tasks, chunk: int | None = None) -> np.ndarray:
    """What `evaluate` finds right, with the prediction itself instead."""
    predicted = []

    class Spy:
        name, reads = learner.name, learner.reads

        def scores(self, bank, part):
            scores = learner.scores(bank, part)
            predicted.append(scores.argmax(dim=-1).numpy())
            return scores

    step = {} if chunk is None else {"chunk": chunk}
    evaluate(Spy(), bank, tasks, **step)
    return np.concatenate(predicted)


def compare(what: str, ours, ours_tasks, theirs, theirs_tasks, target: float | None = None) -> None:
    """Print tasks a second of two functions of tasks, their ratio and the share of equal predictions or accuracies."""
    a, b = ours(ours_tasks[:64]), theirs(theirs_tasks[:64])  # warm up
    speeds = [], []
    for _ in range(options.repeats):
        for speed, run, tasks in zip(speeds, (ours, theirs), (ours_tasks, theirs_tasks)):
            start = time.perf_counter()
            found = run(tasks)
            speed.append(len(tasks) / (time.perf_counter() - start))
            if run is ours:
                a = found
            else:
                b = found
    n = min(len(a), len(b))
    ratio = median(speeds[0]) / median(speeds[1])
    goal = f" (target {target:g})" if target else ""
    print(
        f"{what:<44}{median(speeds[0]):>9,.1f}{median(speeds[1]):>10,.1f}{ratio:>8.1f}{goal:<12}"
        f"{100 * (a[:n] == b[:n]).mean():>9.3f} %",
        flush=True,
    )


def resampling() -> None:
    """Intervals for new images on 2,000 images: 10 groups left out in turn, 3,000 tasks each, or one run of as many."""
    rng = np.random.default_rng(1)
    x = np.maximum(rng.normal(0, 0.28, (20, 1, 512)) + rng.normal(size=(20, 100, 512)), 0).reshape(-1, 512)
    bank = Bank(torch.from_numpy(x.astype(np.float32)), np.arange(20).repeat(100), "")
    group = np.arange(2000) % 10
    print(f"{'2,000 images, 30,000 tasks in all':<44}{'10 runs':>9}{'one run':>10}{'interval':>10}   seconds")
    for learner in (NearestCentroid(), LogisticRegression()):
        times = []
        for _ in range(2):
            start = time.perf_counter()
            for g in range(10):
                kept = np.flatnonzero(group != g)
                tasks = sample_closed(bank.labels[kept], tasks=3000, seed=g)
                evaluate(learner, Bank(bank.data[kept], bank.labels[kept], ""), tasks)
            ten = time.perf_counter()
            tasks = sample_closed(bank.labels, tasks=30_000)
            record = evaluate(learner, bank, tasks)
            one = time.perf_counter()
            three_intervals(record.correct, tasks.support, tasks.query, bank.labels)
            times.append((ten - start, one - ten, time.perf_counter() - one))
        print(f"{learner.name:<44}{times[-1][0]:>9.1f}{times[-1][1]:>10.1f}{times[-1][2]:>10.1f}", flush=True)


def captions() -> tuple[np.ndarray, np.ndarray]:
    """20 classes of 600 images, 190 of 1,111 attributes a class: few frequent, most rare; about 6 an image."""
    rng = np.random.default_rng(0)
    labels, has = np.arange(20).repeat(600), np.zeros((12_000, 1111), dtype=bool)
    liked = 1 / np.arange(1, 1112) ** 0.6
    share = 0.6 / np.arange(1, 191) ** 0.8
    for c in range(20):
        of_class = np.sort(rng.choice(1111, 190, replace=False, p=liked / liked.sum()))
        has[600 * c : 600 * c + 600, of_class] = rng.random((600, 190)) < share
    return labels, has


def restart_loop(labels: np.ndarray, has: np.ndarray, tasks: int, shots: int, ways: int = 5, queries: int = 15) -> list:
    """FewSTAB as the paper reads: choose, look at the images, and start again where they fall short."""
    rng = np.random.default_rng(0)
    by_class = {c: np.flatnonzero(labels == c) for c in np.unique(labels)}
    spurious = {c: np.flatnonzero(np.ptp(has[i].astype(int), axis=0)) for c, i in by_class.items()}
    out = []
    while len(out) < tasks:
        classes = rng.choice(list(by_class), ways, replace=False)
        chosen = np.array([rng.choice(spurious[c]) for c in classes])
        task = []
        for k, c in enumerate(classes):
            images = by_class[c]
            x = has[images]
            own, others = x[:, chosen[k]], x[:, np.delete(chosen, k)].any(axis=1)
            support, query = images[own & ~others], images[~own & others]
            if len(query) < queries:
                query = images[~own]
            if len(support) < shots or len(query) < queries:
                break
            x = has[query].astype(float)
            x[:, chosen] = 0
            lowest = (x @ x.mean(axis=0)).argsort()[:queries]
            task.append((rng.choice(support, shots, replace=False), query[lowest]))
        if len(task) == ways:
            out.append(task)
    return out


def biased() -> None:
    """Attribute-biased tasks: 3,000 by look-up against 100 by starting again."""
    labels, has = captions()
    print(f"{'biased tasks/s, 20 classes of 600 images':<44}{'look-up':>9}{'restart':>10}{'ratio':>8}{'3,000 in':>12}")
    for shots, variant in ((5, "paper"), (1, "paper"), (5, "released")):
        speeds = [], []
        for _ in range(options.repeats):
            start = time.perf_counter()
            sample_biased(labels, has, tasks=3000, shots=shots, variant=variant)
            middle = time.perf_counter()
            restart_loop(labels, has, 100, shots)
            speeds[0].append(3000 / (middle - start))
            speeds[1].append(100 / (time.perf_counter() - middle))
        ours, theirs = map(median, speeds)
        print(
            f"{f'{shots} shots, {variant}':<44}{ours:>9,.0f}{theirs:>10,.1f}{ours / theirs:>8.1f}"
            f"{3000 / ours:>10.1f} s",
            flush=True,
        )


def pair_loop(table) -> tuple[np.ndarray, np.ndarray]:
    """p-values of all pairs, and after Holm's correction, with one call of SciPy a pair and statsmodels' correction."""
    grid = table.pivot(index="task", columns="method", values="accuracy")
    grid = grid[sorted(grid, key=lambda m: -grid[m].mean())]
    p = np.array([ttest_rel(grid[a], grid[b]).pvalue for a, b in combinations(grid, 2)])
    return p, multipletests(p, method="holm")[1]


def report(methods: int = 150, tasks: int = 600) -> None:
    """A report on many methods: all pairs at once against one after the other, and the tasks that are needed."""
    rng = np.random.default_rng(0)
    x = rng.normal(70, 8, (tasks, 1)) + 0.02 * np.arange(methods) + rng.normal(0, 4, (tasks, methods))
    frame = pd.DataFrame(x.clip(2, 100), columns=[f"m{i}" for i in range(methods)])
    table, _ = results.normalise(frame, "bench.csv")
    seconds = [[], [], []]
    for _ in range(options.repeats):
        marks = [time.perf_counter()]
        pairs = results.comparisons(table)
        marks.append(time.perf_counter())
        p, holm = pair_loop(table)
        marks.append(time.perf_counter())
        results.needed(table, pairs)
        marks.append(time.perf_counter())
        for kept, start, end in zip(seconds, marks, marks[1:]):
            kept.append(end - start)
    ours, theirs, needed = map(median, seconds)
    same = np.allclose(pairs["p"], p, atol=1e-9) and np.allclose(pairs["p_holm"], holm, atol=1e-9)
    print(
        f"{f'{len(pairs):,} pairs of {methods} methods, {tasks} tasks':<44}{'at once':>9}{'a pair':>10}{'ratio':>8}"
        f"{'needed':>12}"
    )
    print(
        f"{'  seconds; p-values ' + ('agree' if same else 'DIFFER'):<44}"
        f"{ours:>9.2f}{theirs:>10.2f}{theirs / ours:>8.1f}{needed:>10.2f} s",
        flush=True,
    )


def main() -> None:
    warnings.filterwarnings("ignore", category=FutureWarning)
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}, {options.threads} threads, "
        f"load {os.getloadavg()[0]:.1f}; medians of {options.repeats}"
    )
    print(f"{'tasks/s':<44}{'batched':>9}{'a task':>10}{'ratio':>8}{'':<12}{'agree':>11}")
    bank = features()
    tasks = sample_closed(bank.labels, tasks=options.tasks)
    compare(
        "LR against scikit-learn (5w 5s, 75q, 512-d)",
        lambda t: predictions(LogisticRegression(), bank, t),
        tasks,
        lambda t: np.array(scikit_learn(bank, t)),
        tasks[:200],
        20,
    )
    compare(
        "NCC against a loop in PyTorch",
        lambda t: predictions(NearestCentroid(), bank, t),
        tasks,
        lambda t: centroid_loop(bank, t),
        tasks,
        4,
    )
    rounds = bootstrap(sample_closed(bank.labels, tasks=600), rounds=30).tasks
    compare(
        "LR, 600 tasks × 30 bootstrap rounds",
        lambda t: evaluate(LogisticRegression(), bank, t).accuracy(),
        rounds,
        lambda t: scikit_learn_rounds(bank, t),
        rounds[:300],
        20,
    )

    torch.manual_seed(0)
    backbone = Backbone("", "", "", GlyphConv.dim, GlyphConv().eval(), (0.5,) * 3, (0.5,) * 3, 28, "bilinear", "")
    pictures = np.random.default_rng(0).integers(0, 256, (200, 28, 28, 1), np.uint8)
    images = Bank(torch.from_numpy(pictures), np.arange(8).repeat(25), "")
    few = sample_closed(images.labels, tasks=8)
    tune = FineTune(backbone)
    compare(
        "FT of a small network, 4 tasks at once",
        lambda t: predictions(tune, images, t, 4),
        few,
        lambda t: predictions(tune, images, t, 1),
        few,
    )

    out = subprocess.run([sys.executable, "-c", SAMPLER], capture_output=True, text=True, check=True).stdout
    n, seconds, megabytes = map(float, out.split())
    print(
        f"open tasks from 7.7 million labels: {n:,.0f} in {seconds:.2f} s ({n / seconds:,.0f}/s), "
        f"peak {megabytes:,.0f} MB"
    )
    biased()
    report()
    resampling()
    if options.chunks:
        for learner in (LogisticRegression(), NearestCentroid()):
            for chunk in (16, 32, 64, 128, 256, 512):
                times = []
                for _ in range(options.repeats):
                    start = time.perf_counter()
                    evaluate(learner, bank, tasks, chunk=chunk)
                    times.append(time.perf_counter() - start)
                print(f"{learner.name} {chunk:>4} at once {len(tasks) / median(times):>9,.0f} tasks/s")


if __name__ == "__main__":
    main()
