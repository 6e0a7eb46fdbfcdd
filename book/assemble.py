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
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from string import ascii_lowercase

import commands_page
import drawings
import figure_code
import item_code
import markup
import moved
import panels
import provenance
import slides
import uses
import weight
import yaml
from bs4 import BeautifulSoup
from dependencies import SourceTree
from executed import SiteError, figures, fill, glued, judged, with_figures
from ledger_page import (
    BY_CLAIM,
    CODE_PAGE,
    check_chapters,
    check_counts,
    read_ledger,
    render_ledger,
    status_of_claims,
    verdict_chapters,
)
from markdown_it import MarkdownIt

from fslbook.figures import in_words

# Warnings of references to chapters that a site of a few does not have.
ELSEWHERE = ["ref.doc", "ref.ref", "ref.numref", "ref.eq", "ref.term", "myst.xref_missing"]

# ---------------------------------------------------------------- sources


def anchors(source):
    """Names that a page's source offers as link targets: ``(name)=`` and ``name: name``."""
    targets = re.findall(r"^\(([\w-]+)\)=\s*$", source, re.M)
    return {*targets, *re.findall(r"^\s*:?name:\s*([\w-]+)\s*$", source, re.M)}


def page_anchors(path):
    """Anchors of a page; of an executed notebook those of its Markdown cells, and its figures' names."""
    if path.suffix != ".ipynb":
        return anchors(path.read_text("utf-8"))
    names = set()
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            names |= anchors("".join(cell["source"]))
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        if figure.get("name"):
            names.add(figure["name"])
    return names


def toc_files(toc):
    """The names of the pages a table of contents asks for, in order."""
    if isinstance(toc, list):
        return [name for entry in toc for name in toc_files(entry)]
    if not isinstance(toc, dict):
        return []
    names = [toc[key] for key in ("root", "file") if key in toc]
    for key in ("parts", "chapters", "sections", "entries"):
        names += toc_files(toc.get(key))
    return names


def numbers(toc):
    """The number of each page in a numbered part, as the site counts them: on through all parts.

    A page below a chapter has no number of its own in the contents; its tables have the chapter's number and a letter.
    """
    numbered = [part["chapters"] for part in toc["parts"] if part.get("numbered")]
    found = {}
    for number, chapter in enumerate(chain.from_iterable(numbered), 1):
        found[chapter["file"]] = f"{number}."
        for letter, section in zip(ascii_lowercase, chapter.get("sections", [])):
            found[section["file"]] = f"{number}{letter}."
    return found


def parameter_table(name, parameters):
    """What a chapter can be run with, and was, as an HTML table."""
    import pandas as pd

    from fslbook import notebooks

    table = notebooks.parameter_table(name).rename_axis(None)
    if parameters:
        table.insert(
            1, "on this page", [parameters.get(parameter, "") for parameter in table.index]
        )
    with pd.option_context("display.max_colwidth", None):
        return table.to_html(border=0)


def tidy_tables(text):
    """HTML as pandas writes tables, as print has them.

    Names of row labels move up beside those of the columns where pandas gives them a row of their own; names of columns
    are words, minus signs are no hyphens, a space precedes %, and what rounds to zero has no sign.
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
                tidy = re.sub(r"(?<=\d)%(?!\w)", " %", tidy)
                tidy = in_words(tidy)
                if cell.find_parent("thead") and re.fullmatch(
                    r"\w+(_\w+)+", tidy
                ):  # n_images: images
                    tidy = tidy.removeprefix("n_").replace("_", " ")
                if cell.find_parent("thead") and tidy == "dataset":
                    tidy = "data set"
                part.replace_with(tidy)
    return str(soup)


def _merge_names(rows):
    """The last row of a header into the one above, where they do not need the same places."""
    above, last = (row.find_all(["th", "td"]) for row in rows[-2:])
    named = [(cell, below) for cell, below in zip(above, last) if below.get_text(strip=True)]
    if not any(cell.get_text(strip=True) for cell, _ in named):
        for cell, below in named:
            cell.string = below.get_text(strip=True)
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
        if not options:
            continue
        for data in html_outputs(cell):
            if "<table" not in data["text/html"]:
                continue
            count += 1
            label = f"Table {chapter}{count}"
            caption = re.sub(
                r"\{glue:text\}`([a-z]\w*)`", rf"{{glue:text}}`{name}::\1`", options["caption"]
            )
            caption = fill(caption, values, f"{name}: {label}")
            table = captioned(data["text/html"], f"{label}.", caption, options.get("folded"))
            anchor = options.get("name")
            if anchor:
                table = f'<div id="{anchor}">{table}</div>'
                links[anchor] = f'<a class="internal" href="#{anchor}">{label}</a>'
            data["text/html"] = table

    def link(match):
        if match[1] not in links:
            raise SiteError(
                f"{name}: {match[0]}: no table has this name; there are {', '.join(links) or 'none'}"
            )
        return links[match[1]]

    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = re.sub(r"\{numref\}`(tab-[\w-]+)`", link, "".join(cell["source"]))


def html_outputs(cell):
    """The data of the outputs of a cell that have HTML, which is one text then."""
    outputs = [output.get("data", {}) for output in cell.get("outputs", [])]
    outputs = [data for data in outputs if "text/html" in data]
    for data in outputs:
        data["text/html"] = "".join(data["text/html"])
    return outputs


def clean_notebook(source, target, chapter=""):
    """Copy an executed notebook without what differs from run to run and machine to machine.

    The cell with the parameters is folded away, with a table of them below the code; what papermill has put after it
    stands in the table. Tables are tidied and numbered, after the number of the chapter.
    """
    book = json.loads(source.read_text("utf-8"))
    parameters = book["metadata"].pop("papermill", {}).get("parameters", {})
    if parameters:
        book["metadata"]["papermill"] = {"parameters": parameters}
    for cell in book["cells"]:
        if any(output["output_type"] == "error" for output in cell.get("outputs", [])):
            raise SiteError(
                f"{source.name}: a cell ended in an error; run it again before building the site"
            )
        for key in ("papermill", "execution"):
            cell["metadata"].pop(key, None)
        tags = cell["metadata"].get("tags", [])
        if "injected-parameters" in tags:
            tags.append("remove-cell")
        if "parameters" in tags:
            tags.append("hide-cell")
            prompt = "Parameters of this chapter"
            cell["metadata"]["mystnb"] = {"code_prompt_show": prompt, "code_prompt_hide": prompt}
            table = parameter_table(source.stem, parameters)
            cell["outputs"] = [
                {"output_type": "display_data", "data": {"text/html": table}, "metadata": {}}
            ]
        if "course.check(" in "".join(cell["source"]) and cell["cell_type"] == "code":
            cell["outputs"] = []  # a request for an answer is no result
        for data in html_outputs(cell):
            data["text/html"] = tidy_tables(data["text/html"])
    number_tables(book, source.stem, chapter, {source.stem: glued(source)})
    target.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")


def first_heading(path):
    """A page's title: its first level-one heading, else its file name."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    else:
        text = path.read_text("utf-8")
    heading = re.search(r"^# +(.+?)\s*$", text, re.M)
    return heading[1] if heading else path.stem


def with_buttons(config):
    """The settings of Jupyter Book, with buttons to the repository, its issues and Binder if they name its address."""
    if config["repository"]["url"]:
        config["sphinx"]["config"]["html_theme_options"] |= {
            "repository_url": config["repository"]["url"],
            "repository_branch": "main",
            "path_to_docs": "notebooks",  # where Binder finds a chapter: see binder/postBuild
            "use_repository_button": True,
            "use_issues_button": True,
            "launch_buttons": {
                "binderhub_url": "https://mybinder.org",
                "notebook_interface": "jupyterlab",
            },
        }
    return config


def toc_of(toc, names):
    """A table of contents of these pages alone, without parts that are empty."""
    parts = [part | {"chapters": entries_of(part["chapters"], names)} for part in toc["parts"]]
    return toc | {"parts": [part for part in parts if part["chapters"]]}


def entries_of(entries, names):
    """These pages of some entries; those below a page that is not among them take its place."""
    found = []
    for entry in entries:
        below = entries_of(entry.get("sections", []), names)
        if entry["file"] in names:
            alone = {key: value for key, value in entry.items() if key != "sections"}
            found.append(alone | ({"sections": below} if below else {}))
        else:
            found += below
    return found


def about(root):
    """Authors, version, date and repository of the book, and how to cite it, from ``CITATION.cff``."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    authors = [
        person.get("name") or f"{person['given-names']} {person['family-names']}"
        for person in citation["authors"]
    ]
    date, url = citation.get("date-released"), citation.get("repository-code")
    facts = [", ".join(authors), f"version {citation['version']}", str(date or "not yet released")]
    fields = {
        "author": " and ".join(f"{{{name}}}" for name in authors),
        "title": citation["title"],
        "version": citation["version"],
    }
    if date:
        fields["year"] = str(date)[:4]
    if url:
        facts.append(f"<{url}>")
        fields["url"] = url
    entry = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"{'; '.join(facts)}.\n\n```bibtex\n@software{{fslcore,\n{entry}\n}}\n```\n"


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


def gather(root, build, site, chosen=None, profile=None):
    """Fill the empty folder ``site`` with everything Jupyter Book needs, of the chosen chapters or of all."""
    toc = write_settings(root, site, chosen)
    copy_files(root, site)
    numbers_of_chapters = numbers(toc)
    sources = SourceTree(root)
    for notebook in sorted((build / "notebooks").glob("[!.]*.ipynb")):
        if chosen and notebook.stem not in chosen:
            continue
        if (root / "book" / f"{notebook.stem}.md").exists():
            raise SiteError(f"{notebook.stem} is both a prose page and a notebook; rename one")
        clean_notebook(notebook, site / notebook.name, numbers_of_chapters.get(notebook.stem, ""))
        figure_code.add_code(site / notebook.name, sources)
    values = {path.stem: glued(path) for path in site.glob("*.ipynb")}
    names = toc_files(toc)
    if chosen:
        text = front_page(profile, [name for name in names if name in values])
        (site / "index.md").write_text(text, "utf-8")
        shutil.copy(root / "book" / "bibliography.md", site)
    else:
        figures_of = {path.stem: figures(path) for path in site.glob("*.ipynb")}
        for page in sorted((root / "book").glob("*.md")):
            text = fill(page.read_text("utf-8"), values, page.name)
            text = with_figures(text, figures_of, page.name)
            (site / page.name).write_text(text.replace("<!-- about -->", about(root)), "utf-8")
        (site / "commands.md").write_text(commands_page.library_page(), "utf-8")
        (site / "commands-book.md").write_text(commands_page.book_page(), "utf-8")
        link_functions(root, site, [name for name in names if name in values])
    pages = {path.stem: path for path in (*site.glob("*.md"), *site.glob("*.ipynb"))}
    missing = [name for name in names if name not in pages and name not in ("ledger", CODE_PAGE)]
    if missing:
        raise SiteError(
            f"_toc.yml asks for pages that are not there: {', '.join(missing)}. A chapter comes from"
            " notebooks/NAME.md by way of _build/notebooks/NAME.ipynb, prose from book/NAME.md."
        )
    if not chosen:
        decks = sorted((root / "book" / "slides").glob("*.md"))
        slides.build(decks, build / "notebooks", set(names), site / "_extra" / "slides")
    items = read_ledger(root / "book" / "ledger.yml")
    claims_of_chapter = {path.stem: judged(path) for path in site.glob("*.ipynb")}
    check_chapters(items, claims_of_chapter)
    if chosen:
        items = [
            item for item in items if {item["chapter"], *verdict_chapters(item)} <= set(values)
        ]
    for item in items:
        fill_item(item, values, claims_of_chapter[item["chapter"]])
    chapters = {
        name: (first_heading(pages[name]), page_anchors(pages[name]))
        for name in names
        if name in pages
    }
    write_ledger(
        items, chapters, site, provenance.of_items(items, root, build / "notebooks"), sources
    )


def write_ledger(items, chapters, site, status, sources):
    """Write the page of the ledger, and that with the code of its items."""
    code, with_code = item_code.render(items, chapters, site, sources)
    (site / f"{CODE_PAGE}.md").write_text(code, "utf-8")
    text = render_ledger(items, chapters, status, with_code)
    (site / "ledger.md").write_text(text, "utf-8")


def fill_item(item, values, claims_of_item):
    """Put numbers of the executed chapters into the texts of an item of the ledger, and decide its status."""
    page, chapter = f"ledger.yml: {item['id']}", item["chapter"]
    item["verdict"] = fill(item["verdict"], values, page, chapter)
    for field in {*BY_CLAIM} & {*item}:
        texts = item[field].items()
        item[field] = {key: fill(text, values, page, chapter) for key, text in texts}
    item["judged"] = claims_of_item.get(item["id"], {})
    item["status"], item["claim_words"] = status_of_claims(item, item["judged"])
    check_counts(item, item["judged"])


def link_functions(root, site, chapters):
    """Link the functions of each page to the API pages; write the chapters of each, for links back."""
    sources = SourceTree(root)
    pages = "\n".join(path.read_text("utf-8") for path in sorted((root / "book").glob("api-*.md")))
    targets, modules = uses.documented(sources, pages), uses.DOCUMENTED.findall(pages)
    for page in {*uses.EXPLAINED.values()} - {*chapters}:
        path = site / f"{page}.md"
        links = uses.explained_links(page, modules)
        path.write_text(f"{path.read_text('utf-8')}\n{links}\n", "utf-8")
    for chapter in chapters:
        path = site / f"{chapter}.ipynb"
        book = json.loads(path.read_text("utf-8"))
        sentences = (
            uses.function_links(sources, chapter, targets),
            uses.explained_links(chapter, modules),
        )
        source = "\n\n".join(filter(None, sentences))
        if source:
            cell = {"cell_type": "markdown", "id": "functions", "metadata": {}, "source": source}
            book["cells"].append(cell)
            path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", "utf-8")
    found = uses.chapters_of_functions(sources, chapters)
    (site / "uses.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def write_settings(root, site, chosen):
    """Write the settings of Jupyter Book and the table of contents; returns the latter."""
    config = with_buttons(yaml.safe_load((root / "_config.yml").read_text("utf-8")))
    sphinx = config["sphinx"]["config"]
    sphinx["html_search_scorer"] = str(root / "book" / "search.js")
    sphinx["extensions"].append("pages")
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    if chosen:
        sphinx.setdefault("suppress_warnings", []).extend(ELSEWHERE)
        sphinx["nb_output_stderr"] = "remove"  # notes on a user's own data are no fault of the book
        toc = toc_of(toc, {*chosen, "ledger", CODE_PAGE, "bibliography"})
    for name, content in (("_config.yml", config), ("_toc.yml", toc)):
        (site / name).write_text(
            yaml.safe_dump(content, sort_keys=False, allow_unicode=True), "utf-8"
        )
    return toc


def copy_files(root, site):
    """Copy the bibliography, static files, labs, and the data of the longer exercises."""
    shutil.copy(root / "book" / "references.bib", site)
    static, extra = root / "book" / "_static", site / "_extra"
    shutil.copytree(
        static,
        site / "_static",
        ignore=lambda folder, _: ["labs"] if Path(folder) == static else [],
    )
    # Every page would load each script below _static; those of labs are loaded by the pages that have one.
    extra.mkdir()
    if (static / "labs").is_dir():
        shutil.copytree(static / "labs", extra / "_static" / "labs")
    if (root / "data" / "course").is_dir():
        code = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(root / "data" / "course", extra / "course", ignore=code)


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


def build_site(root, build, strict=True, chosen=None, profile=None):
    """Assemble and build; return the path of the front page."""
    build.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site.", dir=build) as work:
        work = Path(work)
        (work / "source").mkdir()
        gather(root, build, work / "source", chosen, profile)
        swap(work / "source", build / "site")

        here = Path(__file__).resolve().parent
        command = [
            sys.executable,
            str(here / "fork_server.py"),
            "-m",
            "pages",
            "build",
            str(build / "site"),
        ]
        command += ["--path-output", str(work), "--quiet"]
        command += ["-W", "-n", "--keep-going"] if strict else []
        path = os.pathsep.join(filter(None, [str(root), str(here), os.environ.get("PYTHONPATH")]))
        # Its own report names a folder that is about to move; it is worth showing on failure only.
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
        site = work / "_build" / "html"
        if done.returncode or not (site / "index.html").is_file():
            print(done.stdout, file=sys.stderr)
            raise SiteError(
                "Jupyter Book found faults, listed above; the former site, if any, stays as it was"
            )
        slides.check_images(site)
        panels.mark(site)
        markup.fix_html(site)
        if not chosen:
            moved.redirect(site, root / "book" / "moved.yml")
        weight.strip_site(site)
        drawings.mark(site)
        (site / ".buildinfo").unlink(missing_ok=True)
        swap(site, build / "html")
    return build / "html" / "index.html"


def main(argv=None):
    repository = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--root", type=Path, default=repository, help="the repository (the script's own)"
    )
    parser.add_argument(
        "--build", type=Path, help="where everything built goes (default: ROOT/_build)"
    )
    parser.add_argument("--chapters", nargs="+", metavar="NAME", help="these alone (default: all)")
    parser.add_argument("--profile", type=Path, help="that names them, for the front page")
    parser.add_argument("--lenient", action="store_true", help="let warnings pass, for a draft")
    args = parser.parse_args(argv)
    root = args.root.resolve()
    build = (args.build or root / "_build").resolve()
    try:
        page = build_site(
            root, build, strict=not args.lenient, chosen=args.chapters, profile=args.profile
        )
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
