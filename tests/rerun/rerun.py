"""Every chapter with other parameters than the site's, and a search of what it then says for what cannot be right.

    python tests/rerun/rerun.py [CHAPTER …] [--part K/N] [--jobs N]    # make rerun

`chapters.yml` says which runs there are. Of each, the text as a reader sees it is searched: prose with what is glued in
its places, tables, printed lines, words in figures, alternative texts and captions. `RULES` say what cannot be right. A
run that is refused in one line is right where `chapters.yml` has the words of it.
"""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "book"), str(ROOT / "tests")]

import drawn  # noqa: E402
from executed import glued, judged, wordings  # noqa: E402
from ledger_page import read_ledger  # noqa: E402

from fslbook import notebooks  # noqa: E402
from fslcore.datasets.embedded import embedded_table  # noqa: E402
from fslcore.errors import InputError  # noqa: E402

HERE = ROOT / "_build" / "rerun"
FOLDERS = {
    "folder": (12, 30),
    "support": (5, 5),
}  # of a user: so many classes, so many images of each
TABLE = Path(__file__).with_name("chapters.yml")
GLUE = re.compile(
    r"\{glue:\w+\}`(\w+)(?::[^`]*)?`|^```\{glue:\w*\} +(\w+)\n(?::.*\n)*```$", re.MULTILINE
)

# An exercise may set a level, ways and shots of its own.
EXERCISE = re.compile(r"^(`{3,})\{(?:exercise|solution)\}.*?^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^(`{3,})\w+\n.*?^\1$|\$\$.*?\$\$", re.MULTILINE | re.DOTALL)  # and formulas
OF_ITS_OWN = re.compile(r"\b(?:95 %|1\.96|\d+-way|\d+-shot|two data sets)")


@dataclass(frozen=True)
class Rule:
    """A fault of a text, and with which parameters it is one."""

    fault: str
    words: str  # a pattern
    when: Callable[[dict], bool] = lambda parameters: True


def has(parameters: dict, name: str, *values: object) -> bool:
    """Whether a parameter, or a list of them, takes one of these values."""
    value = parameters.get(name, values[0])
    return bool(set(value if isinstance(value, list) else [value]) & set(values))


def no_letters(parameters: dict) -> bool:
    """Whether the parameters name data sets, and none of letters."""
    sets = [parameters[name] for name in ("dataset", "datasets", "script") if name in parameters]
    return bool(sets) and not re.search("glyph|coloured", str(parameters.values()))


COUNTED = r"(?:shots|ways|images|tasks|classes|methods|learners|queries|(?:data|test) sets|pairs|settings)\b"
RULES = [
    Rule("no number", r"(?i:\bnan\b)|\b(?:NaT|inf)\b|\bNone\b(?! [a-z])"),
    Rule(
        "a share of nothing",
        r"\b(?:\d+|[Nn]one|all|any|both) of (?:the )?0\b(?![.,]?\d| ?%| points)|\b[Aa]ll 0\b",
    ),
    Rule(
        "a gap",
        r"(?<=[\w)]) [.;,](?= |$)|(?<!\w)\( *\)|\[ *\]|\b(?:of|on|in|to|and) (?=[.;](?: |$))",
    ),
    Rule("a warning", r"\b\w+Warning: .*"),
    Rule("one of many", r"(?<![\d.,±−–/×-])(?<!\+ )\b1 " + COUNTED),
    Rule(
        "another level",
        r"(?<![\d.,])(?<!to )95 ?(?:%|percent)|[=/] ?1\.96\b|\b1\.96 ?(?:[·×s]|\\)",
        lambda p: not has(p, "level", 0.95),
    ),
    Rule("another number of ways", r"\b(?:5|[Ff]ive)[- ]way\b", lambda p: not has(p, "ways", 5)),
    Rule("another number of shots", r"\b(?:5|[Ff]ive)[- ]shot\b", lambda p: not has(p, "shots", 5)),
    Rule("no letters", r"\b(?:letters?|alphabets?)\b", no_letters),
    Rule(
        "one data set",
        r"\b(?:both|two) (?:data|test) sets\b",
        lambda p: len(p.get("datasets", "two")) == 1,
    ),
    Rule(
        "one seed",
        r"\b(?:twice|(?:two|both) (?:trainings|seeds))\b",
        lambda p: len(p.get("seeds", "two")) == 1,
    ),
]


def texts(path: Path) -> Iterator[str]:
    """What a reader of an executed notebook sees: paragraphs, rows, figures; then what is glued for others."""
    used: set[str] = set()
    values = {key: text.replace("\\", "") for key, text in glued(path).items()}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            text = EXERCISE.sub(
                lambda m: OF_ITS_OWN.sub("…", m[0]), CODE.sub("", "".join(cell["source"]))
            )
            used |= {m[1] or m[2] for m in GLUE.finditer(text)}
            yield from re.split(r"\n\s*\n", GLUE.sub(lambda m: values[m[1] or m[2]], text))
        elif not {"remove-cell", "injected-parameters"} & set(cell["metadata"].get("tags", [])):
            for text in legends(cell["metadata"]):
                used |= {m[1] or m[2] for m in GLUE.finditer(text)}
                yield GLUE.sub(lambda m: values[m[1] or m[2]], text)
            for output in cell.get("outputs", []):
                yield from words_of(output)
    yield from (text for key, text in values.items() if key not in used)


def legends(metadata: dict) -> Iterator[str]:
    """The alternative text of a figure, and the caption of a figure or a table."""
    figure = metadata.get("mystnb", {})
    for options, key in (
        (figure.get("image", {}), "alt"),
        (figure.get("figure", {}), "caption"),
        (metadata.get("table", {}), "caption"),
    ):
        if key in options:
            yield options[key]


def words_of(output: dict) -> Iterator[str]:
    """The words of one output of a cell."""
    data = {mime: "".join(text) for mime, text in output.get("data", {}).items()}
    if "text/html" in data:
        rows = BeautifulSoup(data["text/html"], "html.parser").select("tr, caption, p")
        yield from (" | ".join(part.stripped_strings) for part in rows)
    elif "image/svg+xml" in data:  # matplotlib draws words as shapes, and says them in comments
        yield from re.findall(r"<!-- (.*?) -->", data["image/svg+xml"])
    else:
        yield "".join(output.get("text", data.get("text/markdown", data.get("text/plain", ""))))


def faults(lines: Iterator[str], parameters: dict, right: dict[str, str]) -> list[str]:
    """What cannot be right in these texts for these parameters, but for words that may stand there."""
    messages = []
    rules = [rule for rule in RULES if rule.when(parameters)]
    for line in (" ".join(line.split()) for line in lines):
        excused = [m.span() for words in right for m in re.finditer(re.escape(words), line)]
        for rule in rules:
            for m in re.finditer(rule.words, line):
                if not any(start <= m.start() and m.end() <= end for start, end in excused):
                    messages.append(
                        f"{rule.fault}: … {line[max(0, m.start() - 80) : m.end() + 60]} …"
                    )
    return messages


MORE = r"more|higher|larger|wider|longer|better|greater|rises?|gains?|adds?|increases?|widens?|exceeds?"
FEWER = r"fewer|less|lower|smaller|narrower|shorter|worse|falls?|drops?|loses?|reduces?|decreases?|narrows?"
DENIED = re.compile(r"\b(?:not|no|never|neither)\b.*")


def wording_faults(records: list[dict]) -> list[str]:
    """Words of an interval or of two numbers that mean the other direction than the numbers beside them."""
    messages = []
    for record in records:
        words = DENIED.sub("", record["words"])
        means_more = bool(re.search(rf"\b(?:{MORE})\b", words))
        means_less = bool(re.search(rf"\b(?:{FEWER})\b", words))
        if "low" not in record or means_more == means_less:
            continue
        right = record["low"] > record["value"] if means_more else record["high"] < record["value"]
        if not right:
            messages.append(f"words against numbers: {record}")
    return messages


def rerun(
    name: str, parameters: dict, refused: str, right: dict[str, str], output: Path
) -> list[str]:
    """The faults of one run of a chapter, none where all is well."""
    try:
        notebooks.run(name, parameters, output)
    except InputError as error:
        line = str(error)
        return (
            []
            if refused and re.search(refused, line) and "\n" not in line
            else [f"refused: {line}"]
        )
    except Exception as error:
        cause = error.__cause__ or error
        return [
            "ended: "
            + " / ".join(re.sub(r"\x1b\[[\d;]*m", "", str(cause)).strip().splitlines()[-3:])
        ]
    if refused:
        return [f"not refused, as chapters.yml says: {refused}"]
    defaults = {p.name: p.default for p in notebooks.parameters(name)}
    parameters = defaults | notebooks.check(name, parameters)
    found = faults(texts(output), parameters, right) + wording_faults(wordings(output))
    return found + drawn.faults(output) + ledger_faults(name, judged(output))


def ledger_faults(name: str, claims_of_item: dict[str, dict]) -> list[str]:
    """Items of the ledger of which a chapter judges other claims than they list."""
    items = read_ledger(ROOT / "book" / "ledger.yml")
    listed = {
        of["id"]: set(of["claims"]) for of in items if of["chapter"] == name and "claims" in of
    }
    made = {item: set(claims) for item, claims in claims_of_item.items()}
    differing = [item for item in {**listed, **made} if listed.get(item) != made.get(item)]
    return [f"ledger.yml: other claims of {item} are judged" for item in differing]


def runs(names: list[str] = (), part: tuple[int, int] = (1, 1)) -> list[tuple]:
    """(chapter, name of the run, parameters, words of a refusal or '', words that are right) of each run of a part."""
    listed = []
    for name, entry in yaml.safe_load(TABLE.read_text("utf-8")).items():
        for variant, parameters in entry["runs"].items():
            parameters = entry.get("all", {}) | parameters
            listed.append(
                (name, variant, parameters, parameters.pop("refused", ""), entry.get("right", {}))
            )
    return [run for run in listed[part[0] - 1 :: part[1]] if not names or run[0] in names]


def make_folder(place: Path, classes: int, images: int) -> None:
    """Clip art as a user would bring it: class folders of files, the first with fewer than the others."""
    table, _ = embedded_table("clipart", "novel", None)
    shutil.rmtree(place, ignore_errors=True)
    for k, (_, rows) in zip(range(classes), table.groupby("class_name")):
        (place / f"class {k}").mkdir(parents=True)
        for i, image in enumerate(rows["image"].iloc[: 3 * images // 5 if k == 0 else images]):
            (place / f"class {k}" / f"{i}.png").write_bytes(image)


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("chapters", nargs="*")
    parser.add_argument("--part", default="1/1", help="only every N-th run, from the K-th on")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    part = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", args.part)
    if not part or int(part[1]) > int(part[2]):
        sys.exit(f"rerun: part must be K/N with K from 1 to N, such as 2/4, got {args.part}")
    chosen = runs(args.chapters, (int(part[1]), int(part[2])))
    for place, size in FOLDERS.items():
        make_folder(HERE / place, *size)
    count = rerun_all(chosen, args.jobs)
    print(f"{len(chosen)} runs, {count} with faults; the notebooks are in {HERE}")
    return int(count > 0)


def rerun_all(chosen: list[tuple], jobs: int) -> int:
    """The number of runs with faults, each of which is printed as it ends."""
    count, names = 0, {}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for name, variant, *arguments in chosen:
            output = HERE / f"{name}.{variant.replace(' ', '-')}.ipynb"
            names[pool.submit(rerun, name, *arguments, output)] = f"{name} {variant}"
        for job in as_completed(names):
            problems = dict.fromkeys(job.result())
            count += bool(problems)
            print(names[job], *(f"\n    {line}" for line in problems or ["well"]), flush=True)
    return count


if __name__ == "__main__":
    sys.exit(main())
