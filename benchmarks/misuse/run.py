"""``fslcore run``: notebooks, parameters, profiles and outputs. But for one, no notebook is executed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .common import Case, Ran, command, fill, fine, fslcore, nowhere, of_area, unsprung

case = of_area("run/profile")
HERE = "closed-vs-open"


def run(*more: str, notebook: str = HERE) -> Ran:
    return fslcore("run", notebook, *([] if "-o" in more else ["-o", "out.ipynb"]), *more)


def wrote(ran: Ran) -> str | None:
    return None if Path("out.ipynb").is_file() else "no notebook was written"


def given(name: str, value: str, *says: str, notebook: str = HERE, **wanted) -> Case:
    """A parameter with this value."""
    return case(
        f"{notebook}: -p {name} {value or 'empty'}",
        lambda: run("-p", name, value, notebook=notebook),
        says=says or (None if "right" in wanted else (name.removesuffix("s"),)),
        **wanted,
    )


BAD = {
    "ways": (
        "0",
        "1",
        "-1",
        "51",
        "1e9",
        "nan",
        ".nan",
        ".inf",
        "five",
        "2.5",
        "true",
        "[5]",
        "null",
        "''",
        "'5'",
        "5.0",
        "2024-01-01",
        "0x5g",
    ),
    "shots": ("0", "101", "one", "1.5"),
    "queries": ("0", "501", "x"),
    "tasks": ("0", "1", "100001", "1000000000", "-5", "many"),
    "level": ("0", "1", "95", ".nan", "high", "true", "[0.95]", "-1"),
    "seed": ("-1", "x", "1.5"),
    "ft_tasks": ("0", "-1"),
    "ft_open": ("1",),
    "datasets": (
        "clipart",
        "[]",
        "[clipard]",
        "[clipart, 3]",
        "[[clipart]]",
        "{a: clipart}",
        "clipart, fashion",
        "[null]",
        "['folder:gone']",
        "['']",
    ),
    "backbones": ("glyph-conv", "[glyphconv]", "[resnet50]", "[]"),
    "learners": ("[ncx]", "ncc", "[]", "[3]", "[true]"),
    "fine_tuning": ("never", "true", "yes", "Stored", "''"),
}
parameters = [
    *(given(name, value) for name, values in BAD.items() for value in values),
    given("way", "5", "way", "ways"),
    given("Ways", "5", "Ways", "ways"),
    given("shot", "1", "shot", "shots"),
    given("", "5", "parameter"),
    given("dataset", "clipart", "dataset", "datasets"),
    given("ways=5", "5", "ways=5"),
    given("datasets", "[clipart, fashion", "datasets", "YAML"),
    given("datasets", "[clipart: fashion", "datasets"),
    given("datasets", "!!python/object/apply:os.system ['touch SPRUNG']", "datasets"),
    given("level", "&a [*a]", "level"),
    given("ways", "@5", "ways"),
    given("ways", "\t5", "ways", right=wrote),
    given("ways", "5 # classes", right=wrote),
    given("ways", "1_0", "ways", right=wrote),
    given("ways", "010", "ways", right=wrote),
    given("level", "1e-1", "level"),
    given("datasets", "[clipart, fashion]", right=wrote),
    given("datasets", "[clipart, clipart]", "clipart", right=wrote),
    given("ways", "5", right=wrote),
    given("level", "0.9", right=wrote),
    given("shots", "1", right=wrote),
    case("a parameter without value", lambda: run("-p", "ways"), says=("-p",)),
    case("a parameter with an equals sign", lambda: run("-p", "ways=5"), says=("-p",)),
    case(
        "a parameter twice",
        lambda: run("-p", "ways", "5", "-p", "ways", "10"),
        says=("ways", "twice|once"),
        right=wrote,
    ),
    given("results", "gone.csv", "gone.csv", notebook="your-results"),
    given("results", ".", "results", notebook="your-results"),
    given("common", "1", "common", notebook="your-results"),
    given("common", "'yes'", "common", notebook="your-results"),
    given("common", "yes", notebook="your-results", right=wrote),
    given("sampling", "random", "random", "open", notebook="your-results"),
    given("folder", "gone", "gone", notebook="your-support-set"),
    given("released", "gone", "gone", notebook="benchmark"),
    given("methods", "[efficientnet-lite0]", "efficientnet-lite0", notebook="estimators"),
    given("methods", "[efficientnet-lite0 lrr]", "lrr", notebook="estimators"),
    given("methods", "[efficientnet-lite9 lr]", "efficientnet-lite9", notebook="estimators"),
    given("methods", "[efficientnet-lite0 lr ncc]", "efficientnet-lite0 lr ncc", notebook="estimators"),
    given("shots", "5", "shots", notebook="pilot"),
    given("shots", "[0]", "shots", notebook="pilot"),
    given("shots", "[5, 5]", "shots", notebook="pilot", right=wrote),
    given("tasks", "2", "tasks", notebook="pilot"),
    given("differences", "[0]", "differences", notebook="planning"),
    given("differences", "[.nan]", "differences", notebook="planning"),
    given("classes", "1", "classes", notebook="data-and-backbones"),
    given("speed_images", "1e3", "speed_images", notebook="data-and-backbones"),
    given("dataset", "[clipart]", "dataset", notebook="three-papers"),
    given("attributes", "words", "words", notebook="three-papers"),
]
notebooks = [
    *(
        case(f"notebook {name or 'empty'}", lambda name=name: run(notebook=name), says=words)
        for name, words in {
            "closed-vs-opne": ("closed-vs-opne", "mean closed-vs-open"),
            "": ("notebook",),
            "nothing": ("nothing", HERE),
            "closed-vs-open.md": ("closed-vs-open.md", HERE),
            "notebooks/closed-vs-open.md": ("notebooks/closed-vs-open.md",),
            "../profiles/quick": ("../profiles/quick",),
            "Closed-vs-Open": ("Closed-vs-Open", HERE),
            "page": ("page",),
            "x" * 300: ("xxx",),
            "*": ("*",),
            "index": ("index",),
        }.items()
    ),
    case("no notebook", lambda: fslcore("run"), says=("notebook",)),
    case("two notebooks", lambda: run("benchmark"), says=("benchmark",)),
]


def profile(
    name: str, content: str | bytes | Callable[[Path], None], *says: str, file: str = "p.yml", **wanted
) -> Case:
    """A profile with this content."""

    def call() -> Ran:
        fill(Path(file), content)
        return run("--profile", file)

    return case(f"profile: {name}", call, says=says or None, **wanted)


profiles = [
    profile("good", f"{HERE}:\n  ways: 7\n", right=wrote),
    profile("empty", "", "p.yml", right=wrote),
    profile("only a comment", "# nothing\n", "p.yml", right=wrote),
    profile("null", "null\n", "p.yml", right=wrote),
    profile("a notebook without parameters", f"{HERE}:\n", "p.yml|closed", right=wrote),
    profile("a list", "- ways: 5\n", "p.yml"),
    profile("a number", "5\n", "p.yml"),
    profile("a text", "quick\n", "p.yml"),
    profile("a notebook with a list", f"{HERE}:\n- ways\n", "p.yml"),
    profile("a notebook with a number", f"{HERE}: 5\n", "p.yml"),
    profile("an unknown notebook", "closed-vs-opne:\n  ways: 5\n", "closed-vs-opne"),
    profile("an unknown parameter", f"{HERE}:\n  way: 5\n", "way", "ways"),
    profile("a parameter of the wrong type", f"{HERE}:\n  ways: five\n", "ways", "five"),
    profile("out of range", f"{HERE}:\n  ways: 99\n", "ways", "99"),
    profile("a bad value for another notebook", "pilot:\n  tasks: 1\n", "tasks"),
    profile("parameters on top", "ways: 5\nshots: 1\n", "p.yml|ways"),
    profile("a tab", f"{HERE}:\n\tways: 5\n", "p.yml"),
    profile("a bracket that does not end", f"{HERE}:\n  datasets: [clipart\n", "p.yml"),
    profile("a quote that does not end", f"{HERE}:\n  datasets: ['clipart\n", "p.yml"),
    profile("a colon too many", f"{HERE}: ways: 5\n", "p.yml"),
    profile("wrong steps", f"{HERE}:\n    ways: 5\n  shots: 1\n", "p.yml"),
    profile("a key twice", f"{HERE}:\n  ways: 5\n  ways: 10\n", "ways", "twice|once|double"),
    profile("an anchor that is not there", f"{HERE}: *nothing\n", "p.yml"),
    profile("two documents", f"{HERE}:\n  ways: 5\n---\npilot: {{}}\n", "p.yml"),
    profile(
        "a tag that runs a command",
        f"{HERE}: !!python/object/apply:os.system ['touch SPRUNG']\n",
        "p.yml",
        right=unsprung,
    ),
    profile("an anchor in itself", "&a\nx: *a\n", "p.yml|x"),
    profile("a number as key", "5:\n  ways: 5\n", "5"),
    profile("null as key", "null:\n  ways: 5\n", "p.yml|None|null"),
    profile("a list as key", "? [a, b]\n: {ways: 5}\n", "p.yml|a"),
    profile("JSON", '{"closed-vs-open": {"ways": 7}}', right=wrote),
    profile("TOML", "[closed-vs-open]\nways = 5\n", "p.yml"),
    profile("noise", bytes(range(128, 256)), "p.yml"),
    profile("UTF-16", f"{HERE}:\n  ways: 7\n".encode("utf-16"), "p.yml", right=wrote),
    profile("Latin 1", f"# für\n{HERE}:\n  ways: 7\n".encode("latin-1"), "p.yml", right=wrote),
    profile("a NUL", f"{HERE}:\0\n", "p.yml"),
    profile("a byte order mark", b"\xef\xbb\xbf" + f"{HERE}:\n  ways: 7\n".encode(), right=wrote),
    profile("a folder", lambda p: p.mkdir(), "p.yml"),
    profile("no such file", lambda p: None, "p.yml"),
    profile("a link to itself", lambda p: p.symlink_to(p), "p.yml"),
    profile("a name too long", lambda p: None, "xxx", file="x" * 300 + ".yml"),
    profile("another ending", f"{HERE}:\n  ways: 7\n", "p.txt", file="p.txt", right=wrote),
    profile(
        "a billion laughs",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi")),
        "p.yml|a",
    ),
    case("profile quick", lambda: run("--profile", "quick"), says=("quick",), right=wrote),
    case("profile without a name", lambda: run("--profile"), says=("--profile",)),
    case("profile empty name", lambda: run("--profile", ""), says=("profile",)),
]
outputs = [
    case(
        "output new/out.ipynb",
        lambda: run("-o", "new/out.ipynb"),
        right=lambda _: None if Path("new/out.ipynb").is_file() else "no notebook",
    ),
    *(
        case(
            f"output {name or 'empty'}",
            lambda name=name: run("-o", name),
            says=(name or "output|-o", ".ipynb"),
            right=fine if name in ("out", "out.txt", "-") else None,
        )
        for name in ("out.txt", "out.html", "out", "", ".", "out.csv", "out.md", "-")
    ),
    *(
        case(f"output: {name}", lambda make=make: run("-o", make()), says=("plain|there|proc|xxx",))
        for name, make in nowhere(".ipynb").items()
    ),
    case(
        "an input error inside a notebook is one line",
        lambda: command(
            "run",
            "closed-vs-open",
            "-p",
            "datasets",
            "[clipart]",
            "-p",
            "backbones",
            "[glyph-conv]",
            "-p",
            "learners",
            "[ncc]",
            "-p",
            "ways",
            "50",
            "-p",
            "shots",
            "100",
            "-o",
            "out.ipynb",
            timeout=90,
        ),
        says=("ways|shots",),
        limit=100,
    ),
    case(
        "Ctrl-C",
        lambda: command("run", "pilot", "-o", "out.ipynb", stop_after=8, timeout=60),
        says=("",),
        limit=80,
        right=lambda ran: "ended before it was stopped",
    ),
    case(
        "Ctrl-C leaves no file behind",
        lambda: (
            command("run", "pilot", "-o", "out.ipynb", stop_after=8, timeout=60),
            sorted(p.name for p in Path().iterdir()),
        )[1],
        right=lambda left: f"left: {left}" if left else None,
        limit=80,
    ),
]
CASES = parameters + notebooks + profiles + outputs
