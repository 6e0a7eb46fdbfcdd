"""Assemble the site's sources and build the site.

``python book/assemble.py`` gathers, from scratch, into ``_build/site``: ``_config.yml`` (with buttons, if it
names the repository), ``_toc.yml``, the prose pages, the bibliography and the static files of ``book/``, the page
rendered from ``book/ledger.yml``, the slides and the executed notebooks of ``_build/notebooks``. It builds
that folder with Jupyter Book, any warning being an error, and puts the result at
``_build/html`` in one step, so that what stands there is always a whole site. The last line
printed is the absolute path of its front page.

With ``--chapters`` the site has these alone, their rows of the ledger and a front page of its own: what a profile that
names a few chapters builds. References to other chapters are then plain text.
"""

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import markup
import panels
import provenance
import slides
import weight
import yaml
from bs4 import BeautifulSoup
from executed import KEY, SiteError, fill, glued
from markdown_it import MarkdownIt

from fslbook.figures import in_words

PAPERS = {
    "oops": ("Reinterpreting confidence intervals (OOPS)", "lafargue2024oops"),
    "evaluators": ("Evaluating the evaluators", "shimabucoro2024evaluating"),
    "fewstab": ("Spurious bias (FewSTAB)", "zheng2024benchmarking"),
}
# What `how` of an item means, in the words of `fslbook.published.LABELS`.
HOW = {
    "released": "released",
    "live": "live on shipped data",
    "adapted": "live on shipped data, adapted",
    "derived": "derived",
    "settings": "printed only",
}
# Warnings of references to chapters that a site of a few does not have.
ELSEWHERE = ["ref.doc", "ref.ref", "ref.numref", "ref.eq", "ref.term", "myst.xref_missing"]
FIELDS = {"id", "paper", "item", "what", "chapter", "how", "profile", "status", "verdict"}
# What became of an item, in one word.
STATUS = {
    "reproduced": "what the item shows is found here too: its printed digits, or its finding",
    "partly": "one part of what it shows is found here, and another part is not",
    "differs": "most of what it shows is not found here, or the opposite is found",
    "shown": "made again on other data or with other captioners, without a judgement of what is printed",
    "printed": "settings and counts as the paper prints them: there is no result to reproduce",
}


# ---------------------------------------------------------------- ledger


def read_ledger(path):
    """The ledger's items, checked: a list of dicts with the keys of ``FIELDS``."""
    try:
        items = yaml.safe_load(path.read_text("utf-8"))["items"]
    except (yaml.YAMLError, KeyError, TypeError) as exc:
        raise SiteError(f"{path.name}: expected a mapping with a list `items` ({exc})") from exc
    seen = set()
    for item in items:
        name = item.get("id", item)
        if set(item) != FIELDS:
            raise SiteError(f"{path.name}: {name}: fields differ: {sorted(set(item) ^ FIELDS)}")
        if name in seen:
            raise SiteError(f"{path.name}: {name} stands there twice")
        seen.add(name)
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
            raise SiteError(f"{path.name}: {name!r} is no HTML anchor (a-z, 0-9, single hyphens)")
        if item["paper"] not in PAPERS:
            raise SiteError(f"{path.name}: {name}: unknown paper {item['paper']!r}")
        if not item["how"] or not set(item["how"]) <= set(HOW):
            raise SiteError(f"{path.name}: {name}: `how` is a list out of {', '.join(HOW)}")
        if item["profile"] not in (item["paper"], "none"):
            raise SiteError(f"{path.name}: {name}: `profile` is {item['paper']} or none")
        if item["status"] not in STATUS:
            raise SiteError(f"{path.name}: {name}: `status` is {item['status']!r}; it is one of {', '.join(STATUS)}")
    return items


def verdict_chapters(item):
    """Other chapters that an item's verdict reads values of."""
    return {of for of, _ in re.findall(KEY, item["verdict"]) if of}


def anchors(source):
    """Names that a page's source offers as link targets: ``(name)=`` and ``name: name``."""
    found = re.findall(r"^\(([\w-]+)\)=\s*$", source, re.M)
    return set(found) | set(re.findall(r"^\s*:?name:\s*([\w-]+)\s*$", source, re.M))


def notebook_anchors(path):
    """As ``anchors``, for an executed notebook: its Markdown cells and its figures' names."""
    found = set()
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            found |= anchors("".join(cell["source"]))
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        if figure.get("name"):
            found.add(figure["name"])
    return found


def _cell(text):
    """A text as the content of one cell of a Markdown table."""
    text = " ".join(str(text).split())
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _status(word):
    return f'<span class="status status-{word}">{word}</span>'


def render_ledger(items, chapters, status):
    """The ledger as a MyST page.

    ``chapters`` maps the name of each chapter in the site to ``(title, anchors)``; an item
    links to its own anchor there, or to the top of the page while the anchor is missing.
    ``status`` maps the id of each item to `provenance.Status`.
    """
    from fslbook.published import LABELS

    labels = {item["id"]: [*(HOW[how] for how in item["how"]), *status[item["id"]].labels] for item in items}
    out = [
        "# Ledger",
        "",
        f"Every table and figure of the three papers, {len(items)} in all, and what became of it"
        " here. Three that need no reproduction are not counted: FewSTAB's Table 1 defines symbols, and its"
        " Figures 1 and 2 are drawings of the idea and of the method. The status of an item is one word:",
        "",
        "```{div} counts",
        "",
        f"| Status | Meaning | {' | '.join(PAPERS[p][0] for p in PAPERS)} | All |",
        "| :-- | :-- |" + " --: |" * (len(PAPERS) + 1),
    ]
    for word, meaning in STATUS.items():
        of = [item["paper"] for item in items if item["status"] == word]
        out.append(f"| {_status(word)} | {meaning} | {' | '.join(str(of.count(p)) for p in PAPERS)} | {len(of)} |")
    out += [
        "",
        "```",
        "",
        "A status was judged by a person, from the verdicts of the book's default run. In a site that was built with"
        " other parameters the verdicts follow that run, and the statuses do not.",
        "",
        "Labels in the column *How* say where a number is from, here and in the tables of chapters; an item may have"
        " more than one:",
        "",
    ]
    out += [line for label, meaning in LABELS.items() for line in (f"**{label}**", f": {meaning}.", "")]
    out += ["```{div} counts", ""]
    out += [
        "| Paper | " + " | ".join(LABELS) + " | items |",
        "| :-- |" + " --: |" * (len(LABELS) + 1),
    ]
    rows = [(f"{PAPERS[p][0]} {{cite:p}}`{PAPERS[p][1]}`", [i for i in items if i["paper"] == p]) for p in PAPERS]
    for label, of in [*rows, ("**All**", items)]:
        counts = [
            sum(label in {one.removesuffix(", adapted") for one in labels[i["id"]]} for i in of) for label in LABELS
        ]
        out.append(f"| {label} | " + " | ".join(map(str, [*counts, len(of)])) + " |")
    out += ["", "```"]
    for paper, (title, _) in PAPERS.items():
        out += ["", f"## {title}", ""]
        out += ["```{div} ledger", ""]
        head = ["Item", "Status", "What it shows", "Where", "Verdict", "How", "Run on the paper's data"]
        out += [f"| {' | '.join(head)} |", "|" + " :-- |" * len(head)]
        for item in (i for i in items if i["paper"] == paper):
            where = "—"
            if item["chapter"] in chapters:
                heading, offered = chapters[item["chapter"]]
                target = f"{item['chapter']}.html" + (f"#{item['id']}" if item["id"] in offered else "")
                where = f'<a class="internal" href="{target}">{html.escape(heading)}</a>'
            how = ", ".join(f'<span class="how">{label}</span>' for label in labels[item["id"]])
            name = f'<span id="{item["id"]}"></span>{item["item"]}'
            cells = [name, _status(item["status"]), item["what"], where, item["verdict"], how, status[item["id"]].text]
            out.append("| " + " | ".join(map(_cell, cells)) + " |")
        out += ["", "```"]
    return "\n".join(out) + "\n"


# ---------------------------------------------------------------- sources


def toc_files(toc):
    """The names of the pages a table of contents asks for, in order."""
    if isinstance(toc, list):
        return [name for entry in toc for name in toc_files(entry)]
    if not isinstance(toc, dict):
        return []
    own = [toc[key] for key in ("root", "file") if key in toc]
    return own + [name for key in ("parts", "chapters", "sections", "entries") for name in toc_files(toc.get(key))]


def numbers(toc):
    """The number of each page in a numbered part, as the site counts them: on through all parts."""
    pages = [chapter["file"] for part in toc["parts"] if part.get("numbered") for chapter in part["chapters"]]
    return {name: f"{number}." for number, name in enumerate(pages, 1)}


def parameter_table(name, given):
    """What a chapter can be run with, and was, as an HTML table."""
    import pandas as pd

    from fslbook import notebooks

    table = notebooks.parameter_table(name).rename_axis(None)
    table.insert(1, "on this page", [given.get(parameter, "") for parameter in table.index])
    with pd.option_context("display.max_colwidth", None):
        return (table if given else table.drop(columns="on this page")).to_html(border=0)


def tidy_tables(text):
    """HTML as pandas writes tables, as print has them.

    Names of row labels move up beside those of the columns where pandas gives them a row of their own; names of columns
    are words, minus signs are no hyphens, and what rounds to zero has no sign.
    """
    if "dataframe" not in text:
        return text
    soup = BeautifulSoup(text, "html.parser")
    for table in soup.select("table.dataframe"):
        table.attrs.pop("border", None)
        for cell in table.select("th"):
            cell["scope"] = "col" if cell.find_parent("thead") else "row"
        rows = table.select("thead tr")
        if len(rows) > 1:
            _merge_names(rows)
        for cell in table.select("td, th"):
            for part in cell.find_all(string=True):
                tidy = re.sub(r"(?<![\w.-])-(?=\d)", "−", str(part))
                tidy = re.sub(r"−(0\.0+)(?!\d)", r"\1", tidy)
                tidy = in_words(tidy)
                if cell.find_parent("thead") and re.fullmatch(r"\w+(_\w+)+", tidy):  # n_images: images
                    tidy = tidy.removeprefix("n_").replace("_", " ")
                part.replace_with(tidy)
    return str(soup)


def _merge_names(rows):
    """The last row of a header into the one above, where they do not need the same places."""
    names, above = (row.find_all(["th", "td"]) for row in (rows[-1], rows[-2]))
    named = [cell for cell in names if cell.get_text(strip=True)]
    if all(not cell.get_text(strip=True) for cell in above[: len(named)]):
        for name, place in zip(named, above):
            place.string = name.get_text(strip=True)
        rows[-1].decompose()


def captioned(text, label, caption, folded):
    """The one table in this HTML with its number and caption; a folded one opens by a click on them."""
    soup = BeautifulSoup(text, "html.parser")
    table = soup.select_one("table")
    words = f'<span class="caption-number">{label}</span> {MarkdownIt().renderInline(caption)}'
    if folded:
        table["aria-label"] = BeautifulSoup(words, "html.parser").get_text()
        return f'<details class="folded"><summary>{words}</summary><div class="table-box">{soup}</div></details>'
    table.insert(0, BeautifulSoup(f"<caption>{words}</caption>", "html.parser"))
    return str(soup)


def number_tables(book, name, chapter, values):
    """Give a chapter's tables the numbers and captions of their cells, and their numbers to the text.

    A cell says ``table: {caption: …, folded: true, name: tab-…}`` in its metadata. What a caption reads by
    ``{glue:text}`` is filled in, and ``{numref}`tab-…``` in the text is a link to the table of this name.
    """
    count, links = 0, {}
    for cell in book["cells"]:
        options = cell["metadata"].pop("table", None)
        for data in (output.get("data", {}) for output in cell.get("outputs", [])) if options else ():
            if "<table" not in (html := "".join(data.get("text/html", ""))):
                continue
            count += 1
            label = f"Table {chapter}{count}"
            caption = re.sub(r"\{glue:text\}`([a-z]\w*)`", rf"{{glue:text}}`{name}::\1`", options["caption"])
            caption = fill(caption, values, f"{name}: {label}")
            data["text/html"] = captioned(html, f"{label}.", caption, options.get("folded"))
            if anchor := options.get("name"):
                data["text/html"] = f'<div id="{anchor}">{data["text/html"]}</div>'
                links[anchor] = f'<a class="internal" href="#{anchor}">{label}</a>'

    def link(found):
        if found[1] not in links:
            raise SiteError(f"{name}: {found[0]}: no table has this name; there are {', '.join(links) or 'none'}")
        return links[found[1]]

    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(r"\{numref\}`(tab-[\w-]+)`", link, "".join(cell["source"]))


def clean_notebook(source, target, chapter=""):
    """Copy an executed notebook without what differs from run to run and machine to machine.

    The cell with the parameters is folded away, with a table of them below the code; what papermill has put after it
    stands in the table. Tables are tidied and numbered, after the number of the chapter.
    """
    book = json.loads(source.read_text("utf-8"))
    failed = [c for c in book["cells"] if any(o["output_type"] == "error" for o in c.get("outputs", []))]
    if failed:
        raise SiteError(f"{source.name}: a cell ended in an error; run it again before building the site")
    given = book["metadata"].pop("papermill", {}).get("parameters", {})
    if given:
        book["metadata"]["papermill"] = {"parameters": given}
    for cell in book["cells"]:
        for key in ("papermill", "execution"):
            cell["metadata"].pop(key, None)
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")
        if "parameters" in tags:
            tags.append("hide-cell")
            prompt = "Parameters of this chapter"
            cell["metadata"]["mystnb"] = {"code_prompt_show": prompt, "code_prompt_hide": prompt}
            table = parameter_table(source.stem, given)
            cell["outputs"] = [{"output_type": "display_data", "data": {"text/html": table}, "metadata": {}}]
        for output in cell.get("outputs", []):
            if "text/html" in output.get("data", {}):
                output["data"]["text/html"] = tidy_tables("".join(output["data"]["text/html"]))
    number_tables(book, source.stem, chapter, {source.stem: glued(source)})
    target.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


def first_heading(path):
    """A page's title: its first level-one heading, else its file name."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    else:
        text = path.read_text("utf-8")
    found = re.search(r"^# +(.+?)\s*$", text, re.M)
    return found.group(1) if found else path.stem


def with_buttons(config):
    """The settings of Jupyter Book, with buttons to the repository, its issues and Binder if they name its address."""
    if config["repository"]["url"]:
        config["sphinx"]["config"]["html_theme_options"] |= {
            "repository_url": config["repository"]["url"],
            "repository_branch": "main",
            "path_to_docs": "notebooks",  # where Binder finds a chapter: see binder/postBuild
            "use_repository_button": True,
            "use_issues_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org", "notebook_interface": "jupyterlab"},
        }
    return config


def toc_of(toc, names):
    """A table of contents of these pages alone, without parts that are empty."""
    parts = [
        part | {"chapters": [entry for entry in part["chapters"] if entry["file"] in names]} for part in toc["parts"]
    ]
    return toc | {"parts": [part for part in parts if part["chapters"]]}


def about(root):
    """Authors, version, date and repository of the book, and how to cite it, from ``CITATION.cff``."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    authors = [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in cited["authors"]]
    date, url = cited.get("date-released"), cited.get("repository-code")
    said = [
        ", ".join(authors),
        f"version {cited['version']}",
        str(date or "not yet released"),
        *([f"<{url}>"] if url else []),
    ]
    fields = {
        "author": " and ".join(f"{{{one}}}" for one in authors),
        "title": cited["title"],
        "version": cited["version"],
    }
    fields |= {"year": str(date)[:4]} if date else {}
    fields |= {"url": url} if url else {}
    entry = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"{'; '.join(said)}.\n\n```bibtex\n@software{{fslcore,\n{entry}\n}}\n```\n"


def front_page(profile, names):
    """The front page of a site of a few chapters."""
    return "\n".join(
        [
            f"# The chapters of {profile.stem}",
            "",
            f"This site holds what `{profile}` names, computed with its parameters: each chapter shows them, with the "
            "data and the backbones. `make book` builds the whole book, to which references to other chapters belong.",
            "",
            *(f"- {{doc}}`{name}`" for name in names),
            "- {doc}`ledger`: the tables and figures of the papers that these chapters rebuild",
            "",
        ]
    )


def gather(root, build, site, named=None, profile=None):
    """Fill the empty folder ``site`` with everything Jupyter Book needs; of the chapters ``named``, if not of all."""
    config = with_buttons(yaml.safe_load((root / "_config.yml").read_text("utf-8")))
    config["sphinx"]["config"]["html_search_scorer"] = str(root / "book" / "search.js")
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    if named:
        config["sphinx"]["config"].setdefault("suppress_warnings", []).extend(ELSEWHERE)
        config["sphinx"]["config"]["nb_output_stderr"] = "remove"  # notes on a user's own data are no fault of the book
        toc = toc_of(toc, {*named, "ledger", "bibliography"})
    (site / "_config.yml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), "utf-8")
    (site / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False, allow_unicode=True), "utf-8")
    shutil.copy(root / "book" / "references.bib", site)
    static = root / "book" / "_static"
    shutil.copytree(static, site / "_static", ignore=lambda folder, _: ["labs"] if Path(folder) == static else [])
    # Every page would load each script below _static; those of labs are loaded by the pages that have one.
    (site / "_extra").mkdir()
    if (static / "labs").is_dir():
        shutil.copytree(static / "labs", site / "_extra" / "_static" / "labs")
    if (root / "data" / "course").is_dir():  # of the longer exercises, for who reads the site alone
        only = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(root / "data" / "course", site / "_extra" / "course", ignore=only)
    chapters = numbers(toc)
    for notebook in sorted((build / "notebooks").glob("[!.]*.ipynb")):
        if named and notebook.stem not in named:
            continue
        if (root / "book" / f"{notebook.stem}.md").exists():
            raise SiteError(f"{notebook.stem} is both a prose page and a notebook; rename one")
        clean_notebook(notebook, site / notebook.name, chapters.get(notebook.stem, ""))
    values = {path.stem: glued(path) for path in site.glob("*.ipynb")}
    if named:
        in_order = [name for name in toc_files(toc) if name in values]
        (site / "index.md").write_text(front_page(profile, in_order), "utf-8")
        shutil.copy(root / "book" / "bibliography.md", site)
    for page in [] if named else sorted((root / "book").glob("*.md")):
        text = fill(page.read_text("utf-8"), values, page.name).replace("<!-- about -->", about(root))
        (site / page.name).write_text(text, "utf-8")

    wanted = toc_files(toc)
    pages = {path.stem: path for path in (*site.glob("*.md"), *site.glob("*.ipynb"))}
    chapters = {
        name: (
            first_heading(pages[name]),
            notebook_anchors(pages[name])
            if pages[name].suffix == ".ipynb"
            else anchors(pages[name].read_text("utf-8")),
        )
        for name in wanted
        if name in pages
    }
    missing = [name for name in wanted if name not in pages and name != "ledger"]
    if missing:
        raise SiteError(
            f"_toc.yml asks for pages that are not there: {', '.join(missing)}. A chapter comes from"
            " notebooks/NAME.md by way of _build/notebooks/NAME.ipynb, prose from book/NAME.md."
        )

    decks = sorted((root / "book" / "slides").glob("*.md"))
    if not named:
        slides.build(decks, build / "notebooks", set(wanted), site / "_extra" / "slides")

    items = read_ledger(root / "book" / "ledger.yml")
    if named:
        items = [item for item in items if {item["chapter"], *verdict_chapters(item)} <= set(values)]
    for item in items:
        item["verdict"] = fill(item["verdict"], values, f"ledger.yml: {item['id']}", item["chapter"])
    status = provenance.of_items(items, root, build / "notebooks")
    (site / "ledger.md").write_text(render_ledger(items, chapters, status), "utf-8")


# ---------------------------------------------------------------- building


def swap(new, place):
    """Put the folder ``new`` at ``place``; what stood there before goes once it is replaced."""
    old = place.with_name(f".{place.name}.old.{os.getpid()}")
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def build_site(root, build, strict=True, named=None, profile=None):
    """Assemble and build; return the path of the front page."""
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site.", dir=build) as work:
        work = Path(work)
        (work / "source").mkdir()
        gather(root, build, work / "source", named, profile)
        swap(work / "source", build / "site")

        command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build"]
        command += [str(build / "site"), "--path-output", str(work), "--quiet"]
        command += ["-W", "-n", "--keep-going"] if strict else []
        path = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        # Its own report names a folder that is about to move; it is worth showing on failure only.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        made = work / "_build" / "html"
        if done.returncode or not (made / "index.html").is_file():
            print(done.stdout, file=sys.stderr)
            raise SiteError("Jupyter Book found faults, listed above; the former site, if any, stays as it was")
        slides.check_images(made)
        panels.mark(made)
        markup.mend(made)
        weight.lighten(made)
        (made / ".buildinfo").unlink(missing_ok=True)
        swap(made, build / "html")
    return build / "html" / "index.html"


def main(argv=None):
    here = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--root", type=Path, default=here, help="the repository (default: where this script lies)")
    parser.add_argument("--build", type=Path, help="where everything built goes (default: ROOT/_build)")
    parser.add_argument("--chapters", nargs="+", metavar="NAME", help="these alone (default: all)")
    parser.add_argument("--profile", type=Path, help="that names them, for the front page")
    parser.add_argument("--lenient", action="store_true", help="let warnings pass, for a draft")
    args = parser.parse_args(argv)
    root = args.root.resolve()
    try:
        of = dict(strict=not args.lenient, named=args.chapters, profile=args.profile)
        page = build_site(root, (args.build or root / "_build").resolve(), **of)
    except SiteError as exc:
        print(f"site: {exc}", file=sys.stderr)
        return 1
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
