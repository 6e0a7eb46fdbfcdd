"""Do the tests see a fault? Single faults as mutmut makes them, one at a time in a copy of the checkout.

    python benchmarks/mutants.py stats --sample 150 --seed 1
    python benchmarks/mutants.py estimation --files informed resampled --jobs 2
    python benchmarks/mutants.py stats --faults stats/pilot.py#12 stats/runs.py#345

Each test of the package runs once, and is known by the lines that it reaches. A fault then meets the tests that reach
its line, the quick ones first, until one fails. A test that takes longer than ``--slow`` is stopped the first time and
comes last. Examples in docstrings do not count: they hold digits. Of a fault that survives, the change is printed: it
changes nothing (an *equivalent*), or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "_build"
#: Each package: its modules, and the tests that are to see its faults.
PACKAGES = {
    "stats": (
        "fslcore/stats",
        "tests/stats tests/misuse/test_arguments.py tests/misuse/test_statistics.py tests/book/test_difficulty.py"
        " tests/book/test_honest.py tests/book/test_optima.py tests/book/test_reliance.py tests/book/test_runs.py"
        " tests/book/test_selection.py tests/book/test_target_tables.py",
    ),
    "tasks": (
        "fslcore/tasks",
        "tests/tasks tests/misuse/test_arguments.py tests/book/test_difficulty.py"
        " tests/book/estimation/test_resampled.py",
    ),
    "datasets": (
        "fslcore/datasets",
        "tests/datasets tests/misuse/test_images.py tests/models/test_released_preprocessing.py"
        " tests/tools/test_fetch.py tests/evaluation/test_shards.py",
    ),
    "models": (
        "fslcore/models",
        "tests/models tests/evaluation/test_shards.py tests/learners/test_text_and_center.py"
        " tests/book/learners/test_text_learners.py tests/datasets/test_images.py",
    ),
    "learners": ("fslcore/learners", "tests/learners tests/models/test_devices.py"),
    "evaluation": (
        "fslcore/evaluation",
        "tests/evaluation tests/cli/test_evaluate_command.py tests/cli/test_cli.py"
        " tests/book/test_target_tables.py",
    ),
    "report": (
        "fslcore/report",
        "tests/report tests/misuse/test_report_files.py tests/misuse/test_report_tables.py"
        " tests/misuse/test_statistics.py tests/book/test_target_tables.py",
    ),
    "tools": (
        "fslcore/download.py fslcore/fetch.py fslcore/recorder.py",
        "tests/tools",
    ),
    "base": (
        "fslcore/catalogue.py fslcore/errors.py fslcore/paths.py fslcore/sources.py fslcore/store.py",
        "tests/cli tests/evaluation/test_store.py tests/repo/test_errors.py tests/datasets",
    ),
    "cli": (
        "fslcore/cli",
        "tests/cli tests/report/test_command.py tests/report/test_printed_figures.py"
        " tests/tools/test_fetch.py tests/evaluation/test_shards.py",
    ),
    "fslbook": (
        "book/fslbook",
        "tests/book tests/misuse/test_assess.py tests/misuse/test_captions.py tests/misuse/test_train.py",
    ),
    "estimation": ("book/fslbook/estimation", "tests/book/estimation tests/misuse/test_assess.py"),
    "training": ("book/fslbook/training", "tests/book/training tests/book/test_hyperparameters.py"),
}
COPIED = "pyproject.toml README.md CHANGELOG.md CONTRIBUTING.md book fslcore tests benchmarks notebooks profiles"
SEEN = "from fslcore._seen import line as _seen_line"
QUIET = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "--tb=no"]
MEMORY = 3 * 2**30  # bytes that a fault may take
STOPPED = 60.0  # seconds that are allowed for where a test was stopped
SURVIVED, NO_TEST, KILLED = "survived", "no test", "killed"


@dataclass(frozen=True)
class Fault:
    """A change of one place: file, number among the faults of the file, the file with it, and the line."""

    path: str
    place: int
    source: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.path.removeprefix('fslcore/')}#{self.place}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("--files", nargs="+", help="modules of the package (all)")
    parser.add_argument(
        "--tests", nargs="+", help="test_NAME.py that are to see them (those of the package)"
    )
    parser.add_argument("--sample", type=int, help="so many faults, at random (all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--faults", nargs="+", help="these alone, by name")
    parser.add_argument(
        "--slow", type=float, default=5, help="seconds of a test that comes last (5)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="at once (1)")
    options = parser.parse_args()
    shutil.rmtree(BUILD / "mutants" / options.package, ignore_errors=True)
    os.chdir(copied(options.package, 0))
    modules, tests = (python_files(paths) for paths in PACKAGES[options.package])
    chosen_modules = [
        path for path in modules if not options.files or Path(path).stem in options.files
    ]
    chosen_faults = faults(chosen_modules, options.sample, options.seed, options.faults)
    if options.tests:
        tests = [
            str(path) for name in options.tests for path in Path("tests").rglob(f"test_{name}.py")
        ]
    tests = [path for path in tests if Path(path).name.startswith("test_")]
    tests_of, seconds = reached(options.package, tests, modules, options.slow)
    work = []
    for fault in chosen_faults:
        tests = tests_of.get(f"{fault.path}:{statement(fault)}", ())
        work.append(
            (fault, sorted(tests, key=seconds.get), 20 + 2 * sum(seconds[test] for test in tests))
        )
    results = {}
    with ProcessPoolExecutor(
        options.jobs, get_context("spawn"), prepared, (options.package,)
    ) as pool:
        try:
            for done, future in enumerate(
                as_completed([pool.submit(judged, *arguments) for arguments in work]), 1
            ):
                fault, outcome, seconds = future.result()
                results[fault] = outcome
                if outcome != KILLED:
                    print(
                        f"{outcome}: {fault.name} (line {fault.line})\n{change(fault)}", flush=True
                    )
                print(f"{done} of {len(work)}, the last {seconds:.0f} s", end="\r", file=sys.stderr)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    print_results(results)


def python_files(paths: str) -> list[str]:
    """All files of these folders, and these files."""
    return [
        str(file)
        for path in map(Path, paths.split())
        for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))
    ]


def copied(package: str, worker: int) -> Path:
    """A copy of the checkout, to break; each worker has its own."""
    folder = BUILD / "mutants" / package / str(worker)
    folder.mkdir(parents=True)
    for name in COPIED.split():
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(ROOT / name, folder)
    (folder / "data").symlink_to(ROOT / "data")
    with open(folder / "pyproject.toml", "a") as file:
        file.write('\n[tool.mutmut]\nsource_paths = ["fslcore", "book/fslbook"]\n')
    os.environ["PYTHONPATH"] = os.pathsep.join(
        map(str, (folder, folder / "book", folder / "benchmarks"))
    )
    return folder


def faults(files: list[str], sample: int | None, seed: int, names: list[str] | None) -> list[Fault]:
    """Those that are asked for, from all that mutmut makes of functions."""
    sys.path.append(str(BUILD / "mutmut"))
    from libcst import FunctionDef
    from mutmut.mutation.file_mutation import create_mutations

    every_fault = {}
    for path in files:
        module, mutations, *_ = create_mutations(path, Path(path).read_text())
        inside = [m for m in mutations if m.contained_by_top_level_function is not None]
        for place, mutation in enumerate(inside):
            if isinstance(mutation.contained_by_top_level_function, FunctionDef):
                every_fault[path, place] = module, mutation
    print(f"{len(every_fault)} faults in {len(files)} files", flush=True)
    # In random order, so that what is done is a sample whenever it is stopped.
    size = len(every_fault) if sample is None else min(sample, len(every_fault))
    places = random.Random(seed).sample(list(every_fault), size)
    if names is not None:
        places = [
            key for key in every_fault if f"{key[0].removeprefix('fslcore/')}#{key[1]}" in names
        ]
    chosen_faults = []
    for path, place in places:
        module, mutation = every_fault[path, place]
        source = module.deep_replace(mutation.original_node, mutation.mutated_node).code
        pairs = zip(module.code.splitlines(), source.splitlines())
        line = next((n for n, (old, new) in enumerate(pairs, 1) if old != new), 0)
        chosen_faults.append(Fault(path, place, source, line))
    return chosen_faults


def statement(fault: Fault) -> int:
    """The first line of the statement in which the fault lies; of what stands before a function's body, the body's."""
    best = 0
    for node in ast.walk(ast.parse(Path(fault.path).read_text())):
        if isinstance(node, ast.stmt) and node.lineno <= fault.line <= node.end_lineno:
            best = max(best, node.lineno)
            if isinstance(node, ast.FunctionDef) and fault.line < node.body[0].lineno:
                best = max(best, node.body[0].lineno)
    return best


class Marked(ast.NodeTransformer):
    """Says of each statement of a function that it is reached."""

    def __init__(self, path: str):
        self.path, self.inside = path, 0

    def visit_FunctionDef(self, node):
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1
        for field in "body", "orelse", "finalbody":
            self.mark(node, field)
        return node

    def generic_visit(self, node):
        super().generic_visit(node)
        if self.inside and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for field in "body", "orelse", "finalbody":
                self.mark(node, field)
        return node

    def mark(self, node, field):
        statements = getattr(node, field, None)
        if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
            marked = []
            for n, child in enumerate(statements):
                text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                mark = ast.parse(f"_seen_line({f'{self.path}:{child.lineno}'!r})").body
                marked += [child, *mark] if text and n == 0 else [*mark, child]
            setattr(node, field, marked)


class TooSlow(BaseException):
    """What ends a slow test: no `except Exception` stops it."""


class Recorder:
    """A plug-in of pytest: which lines each test reaches, and how long it takes."""

    def __init__(self, lines: set, slow: float):
        self.seen, self.slow = lines, slow
        self.reached, self.failed, self.stopped, self.early, self.fixtures = (
            {},
            set(),
            set(),
            set(),
            {},
        )

    def pytest_collection_finish(self, session):
        self.early = set(self.seen)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        before = set(self.seen)
        self.seen.clear()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":  # later tests use what the first one made
                self.fixtures[fixturedef] = set(self.seen)
            self.seen |= before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        def stop(*_):
            self.stopped.add(item.nodeid)
            raise TooSlow

        self.seen.clear()
        begun = time.process_time()
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, self.slow, 1)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            reached_lines = set(self.seen)
            for name in item.fixturenames:
                for definition in item._fixtureinfo.name2fixturedefs.get(name, ()):
                    reached_lines |= self.fixtures.get(definition, set())
            seconds = STOPPED if item.nodeid in self.stopped else time.process_time() - begun
            self.reached[item.nodeid] = seconds, sorted(reached_lines)

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed" and report.nodeid not in self.stopped:
            self.failed.add(report.nodeid)


def reached(
    package: str, tests: list[str], files: list[str], slow: float
) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Tests by the place that they reach, and the seconds of each, from a run with marks in the copy.

    Only of tests that changed since the last run, if the package did not.
    """
    stored_file = BUILD / "mutants" / f"{package}.json"
    key = {
        "slow": slow,
        **{path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files},
    }
    stored = json.loads(stored_file.read_text()) if stored_file.exists() else {}
    if stored.get("made") != key:
        stored = {"made": key, "tests": {}, "early": []}
    digests = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in tests}
    changed = [
        path for path in tests if stored["tests"].get(path, {}).get("digest") != digests[path]
    ]
    if changed:
        new = recorded(changed, files, slow)
        stored["early"] = sorted({*stored["early"], *new["early"]})
        for path in changed:
            stored["tests"][path] = {
                "digest": digests[path],
                "reached": {
                    test: [seconds, lines]
                    for test, (seconds, lines) in new["reached"].items()
                    if test.startswith(path)
                },
            }
        stored_file.write_text(json.dumps(stored))
    tests_by_line, seconds = {}, {}
    for path in tests:
        for test, (taken, lines) in stored["tests"][path]["reached"].items():
            seconds[test] = taken
            for line in lines:
                tests_by_line.setdefault(line, []).append(test)
    # What runs when tests are collected belongs to all: the quickest of them will do.
    quick = sorted(seconds, key=seconds.get)[:50]
    for line in stored["early"]:
        tests_by_line[line] = list(dict.fromkeys([*tests_by_line.get(line, ()), *quick]))
    return tests_by_line, seconds


def recorded(tests: list[str], files: list[str], slow: float) -> dict:
    """What `reached` keeps, from a run of these files of tests."""
    before = {path: (Path(path).read_bytes(), os.stat(path)) for path in files}
    Path("fslcore/_seen.py").write_text("lines = set()\nline = lines.add\n")
    for path, (text, _) in before.items():
        tree = ast.fix_missing_locations(Marked(path).visit(ast.parse(text)))
        at = next(
            (n for n, s in enumerate(tree.body) if isinstance(s, (ast.Import, ast.ImportFrom))),
            None,
        )
        if at is not None:
            tree.body[at + 1 : at + 1] = ast.parse(SEEN).body
            Path(path).write_text(ast.unparse(tree))
    result = Path("reached.json")
    result.unlink(missing_ok=True)
    if pid := os.fork():
        os.waitpid(pid, 0)
    else:
        sys.path[:0] = [os.getcwd()]
        seen = import_module("fslcore._seen")
        recorder = Recorder(seen.lines, slow)
        pytest.main([*QUIET, *tests], plugins=[recorder])
        passed = {
            test: lines for test, lines in recorder.reached.items() if test not in recorder.failed
        }
        print(
            f"{len(passed)} tests, of which {len(recorder.stopped)} are slow; {len(recorder.failed)} failed or skipped",
            flush=True,
        )
        result.write_text(json.dumps({"reached": passed, "early": sorted(recorder.early)}))
        os._exit(0)
    for path, (text, state) in before.items():
        write_as_before(Path(path), text, state)
    return json.loads(result.read_text())


def write_as_before(path: Path, text: bytes, state: os.stat_result) -> None:
    """With its time, by which Python knows that what it compiled is still of this text."""
    path.write_bytes(text)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def prepared(package: str) -> None:
    """A worker: its own copy, and the slow imports, which the faults' processes then have."""
    os.chdir(copied(package, os.getpid()))
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.path[:0] = [os.getcwd()]
    import hypothesis  # noqa: F401
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch

    torch.set_num_threads(1)


class FirstFailure:
    """A plug-in of pytest: no time is spent on the smallest example that fails."""

    def pytest_collectstart(self, collector):
        from hypothesis import Phase, settings

        settings.register_profile("faults", settings(), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("faults")


def judged(fault: Fault, tests: list[str], limit: float) -> tuple[Fault, str, float]:
    """Whether the tests see the fault, in a process of its own that may take so many seconds; and those it took."""
    if not tests:
        return fault, NO_TEST, 0.0
    path, begun = Path(fault.path), time.monotonic()
    text, before = path.read_bytes(), path.stat()
    path.write_text(fault.source)
    try:
        if pid := os.fork():
            status = os.waitpid(pid, 0)[1]
        else:
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silent, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit + time.process_time()),) * 2)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            signal.alarm(math.ceil(10 * limit))
            os._exit(int(pytest.main(["-x", *QUIET, *tests], plugins=[FirstFailure()])))
    finally:
        write_as_before(path, text, before)
    return fault, SURVIVED if status == 0 else KILLED, time.monotonic() - begun


def change(fault: Fault) -> str:
    lines = difflib.unified_diff(
        Path(fault.path).read_text().splitlines(), fault.source.splitlines(), n=0, lineterm=""
    )
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def print_results(results: dict[Fault, str]) -> None:
    by_file = Counter(fault.path for fault in results)
    for path, count in sorted(by_file.items()):
        print(
            f"{path}: {sum(o == KILLED for f, o in results.items() if f.path == path)} of {count} killed"
        )
    n, k, z = len(results), sum(o == KILLED for o in results.values()), 1.959964
    if n:
        middle, half = (
            (k + z * z / 2) / (n + z * z),
            z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4),
        )
        print(
            f"{k} of {n} killed: {k / n:.1%} (95 % interval {middle - half:.1%} to {middle + half:.1%})"
        )


if __name__ == "__main__":
    main()
