"""Write ``codecheck.yml`` from the ledger: ``python book/codecheck.py``.

A CODECHECK (configuration 2.0) is an independent rerun of a work's code. Its manifest lists the files that the rerun
makes, and what each reproduces: here the executed chapters, with the papers' tables and figures that the ledger places
there. Items that only give a paper's settings reproduce no result, and are left out.
"""

from pathlib import Path

import yaml
from ledger_page import PAPERS, read_ledger

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "codecheck.yml"
HEAD = """\
%YAML 1.1
---
# Written by book/codecheck.py. Nobody has checked it yet: the authors' ORCIDs, and what a codechecker adds
# (codechecker, report, summary, certificate), are missing.
"""


def manifest(items):
    """The files of the manifest with what each reproduces, in the order of the ledger."""
    chapters = {}
    for item in items:
        if item["how"] != ["settings"]:
            papers = chapters.setdefault(item["chapter"], {})
            papers.setdefault(PAPERS[item["paper"]][0], []).append(item["item"])
    files = []
    for name, papers in chapters.items():
        comment = "; ".join(f"{paper}: {', '.join(names)}" for paper, names in papers.items())
        files.append({"file": f"_build/notebooks/{name}.ipynb", "comment": comment})
    return files


def configuration():
    """The whole file as text."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    paper = {
        "title": citation["title"],
        "authors": citation["authors"],
        "reference": f"{citation['title']}, version {citation['version']} (CITATION.cff)",
    }
    content = {
        "version": "https://codecheck.org.uk/spec/config/2.0/",
        "source": "Code and data are in this repository; `make book` makes every file of the manifest.",
        "manifest": manifest(read_ledger(ROOT / "book" / "ledger.yml")),
        "paper": paper,
    }
    return HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


if __name__ == "__main__":
    TARGET.write_text(configuration(), "utf-8")
