"""What visitors and services read of the repository: README, citation files, workflows, lock, buttons of the site."""

import itertools
import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import codecheck
import ledger_page
import picture
import pybtex.database
import pytest
import yaml
from packaging.requirements import Requirement
from pybtex.richtext import Text

import fslcore
from fslcore.paths import ROOT

README = (ROOT / "README.md").read_text("utf-8")


# ---------------------------------------------------------------- the README


def test_the_picture_is_the_figure_of_the_chapter():
    assert f"]({picture.TARGET.relative_to(ROOT).as_posix()})" in README
    if picture.CHAPTER.is_file():
        assert picture.TARGET.read_text("utf-8") == picture.picture(picture.CHAPTER)


# ---------------------------------------------------------------- what the repository's host runs and shows


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs():
    """(file, job, its steps) of every workflow."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items():
            yield path.name, name, job


def missing(steps):
    """What commands of a job name and the repository, the environment or the job's own installations lack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    absent, brought = [], {"pip"}
    for words in (shlex.split(step["run"]) for step in steps if "run" in step):
        if words[:1] == ["make"]:
            absent += [word for word in words[1:] if "=" not in word and word not in targets]
        elif words[0].startswith(".venv/bin/"):
            absent += (
                [words[0]]
                if not (Path(sys.executable).parent / Path(words[0]).name).exists()
                else []
            )
        elif words[0] not in ("python", "test"):
            absent.append(words[0])
        if words[1:4] == ["-m", "pip", "install"]:
            brought |= {word for word in words[4:] if re.fullmatch(r"[\w-]+", word)}
            extras_given = [extra for word in words for extra in re.findall(r"^\.\[(.*)\]$", word)]
            extras = {extra for names in extras_given for extra in names.split(",")}
            absent += extras - set(project["optional-dependencies"])
            brought |= {"pytest"} if "test" in extras else set()
            for file, name in itertools.pairwise(words):
                brought |= {*locked(ROOT / name)} if file == "-r" else set()
        elif words[1:2] == ["-m"]:
            absent += [words[2]] if words[2] not in brought else []
        written = ("_build/", "dist/", "../dist", ".venv/")  # by the steps before
        absent += [
            word
            for word in words
            if re.fullmatch(r"[\w.-]+(/[\w.-]+)+|[\w-]+\.(txt|lock|py)", word)
            and not word.startswith(written)
            and not (ROOT / word).exists()
        ]
    return absent


@pytest.mark.parametrize(
    "file, name, job", list(jobs()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_a_workflow_calls_is_there(file, name, job):
    assert missing(job["steps"]) == []


def test_workflows_may_read_and_no_more_but_for_the_jobs_that_publish():
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {"contents": "read"}, (
            path.name
        )
    permissions = {
        (file, name): job["permissions"] for file, name, job in jobs() if "permissions" in job
    }
    pages = {"pages": "write", "id-token": "write"}
    assert permissions == {
        ("book.yml", "publish"): pages,
        ("release.yml", "publish"): {"id-token": "write"},
    }
    assert not [path.name for path in WORKFLOWS if "secrets." in path.read_text("utf-8")]


PINNED = re.compile(r"uses: (?P<action>[\w-]+/[\w-]+)@(?P<commit>[0-9a-f]{40}) # v\d+\.\d+\.\d+")


def test_actions_are_of_their_makers_at_a_commit_with_its_version():
    """A tag and a branch can be moved to other code; a commit cannot. Dependabot reads the version."""
    commits = {}
    for path in WORKFLOWS:
        lines = [line for line in path.read_text("utf-8").splitlines() if "uses:" in line]
        for line in lines:
            match = PINNED.search(line)
            assert match, f"{path.name}: {line.strip()}"
            commits.setdefault(match["action"], set()).add(match["commit"])
    assert all(len(of_action) == 1 for of_action in commits.values())
    others = {action for action in commits if not action.startswith("actions/")}
    assert others == {"pypa/gh-action-pypi-publish"}
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    assert {"github-actions", "docker"} <= {update["package-ecosystem"] for update in updates}


def test_no_checkout_keeps_the_token():
    checkouts = [
        step
        for _, _, job in jobs()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert len(checkouts) > 5
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def locked(path):
    """By package, its entry in a file of locked requirements: version and hashes."""
    entries = re.findall(
        r"^(([\w.-]+)==.*(?:\\\n +--hash=\S+ ?)+)", path.read_text("utf-8"), re.MULTILINE
    )
    return {name: entry.strip() for entry, name in entries}


def test_a_release_is_built_by_locked_packages_alone():
    path = ROOT / ".github" / "release-requirements.txt"
    entries = locked(path)
    lock = locked(ROOT / "requirements.lock")
    assert "hatchling" in entries and {name: lock.get(name) for name in entries} == entries
    needed = {"hatchling"}
    for name in sorted(entries):
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed.add(requirement.name)
    assert needed == {*entries}
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    installations = re.findall(r"pip install (.*)", workflow)
    assert installations == [f"--require-hashes -r {path.relative_to(ROOT).as_posix()}"]


def test_the_image_is_pinned_and_not_run_by_root():
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    (base,) = (line for line in lines if line.startswith("FROM "))
    assert re.fullmatch(r"FROM python:3\.11\.\d+-slim@sha256:[0-9a-f]{64}", base)
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users and users[-1] not in ("root", "0")
    assert lines.index(f"USER {users[-1]}") < lines.index("RUN make book")
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert {".git", "shared", "**/.env*", "**/.netrc", "**/.pypirc", "**/*.key"} <= {*ignored}


def test_every_python_that_the_makefile_takes_is_tested_on_linux():
    ends = re.search(r"\(3, (\d+)\) <= v <= \(3, (\d+)\)", (ROOT / "Makefile").read_text())
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
    tested = workflow["jobs"]["linux"]["strategy"]["matrix"]["python"]
    assert tested == [f"3.{minor}" for minor in range(int(ends[1]), int(ends[2]) + 1)]


# ---------------------------------------------------------------- how to cite it


def cited():
    """Title, version, licence, authors, keywords and papers of each file that archives and catalogues read."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    codemeta, zenodo = (
        json.loads((ROOT / name).read_text("utf-8")) for name in ("codemeta.json", ".zenodo.json")
    )
    people = [person["name"] for person in citation["authors"]]
    papers = [(paper["title"], paper["url"]) for paper in citation["references"]]
    yield (
        citation["title"],
        citation["version"],
        citation["license"],
        people,
        citation["keywords"],
        papers,
    )
    people = [person["name"] for person in codemeta["author"]]
    licence = codemeta["license"].removeprefix("https://spdx.org/licenses/")
    papers = [(paper["name"], paper["url"]) for paper in codemeta["referencePublication"]]
    yield codemeta["name"], codemeta["version"], licence, people, codemeta["keywords"], papers
    people = [person["name"] for person in zenodo["creators"]]
    linked = [paper["identifier"] for paper in zenodo["related_identifiers"]]
    papers = [
        (title, url) for (title, _), url in zip(papers, linked, strict=True)
    ]  # it has addresses alone
    yield zenodo["title"], zenodo["version"], zenodo["license"], people, zenodo["keywords"], papers


def test_files_that_say_how_to_cite_agree_with_the_package_and_the_book():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    assert README.startswith(f"# {title}\n")
    entries = pybtex.database.parse_file(str(ROOT / "book" / "references.bib")).entries
    papers = [
        (
            Text.from_latex(entries[key].fields["title"]).render_as("text"),
            entries[key].fields["url"],
        )
        for _, key in ledger_page.PAPERS.values()
    ]
    people = [person["name"] for person in project["authors"]]
    expected = (title, fslcore.__version__, project["license"], people, project["keywords"], papers)
    assert list(cited()) == [expected] * 3


def test_the_papers_have_the_authors_of_the_bibliography():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    entries = pybtex.database.parse_file(str(ROOT / "book" / "references.bib")).entries
    for paper, (_, key) in zip(citation["references"], ledger_page.PAPERS.values(), strict=True):
        people = entries[key].persons["author"]
        of_entry = [
            " ".join(n.render_as("text") for n in p.rich_first_names + p.rich_last_names)
            for p in people
        ]
        assert [f"{p['given-names']} {p['family-names']}" for p in paper["authors"]] == of_entry
        assert str(paper["year"]) == entries[key].fields["year"]


# ---------------------------------------------------------------- how to check it


def test_the_manifest_of_a_codecheck_is_that_of_the_ledger():
    assert codecheck.TARGET.read_text("utf-8") == codecheck.configuration(), (
        "run python book/codecheck.py"
    )


def test_the_manifest_has_every_table_and_figure_with_a_result_once():
    items = ledger_page.read_ledger(ROOT / "book" / "ledger.yml")
    wanted = sorted(
        (ledger_page.PAPERS[i["paper"]][0], i["item"]) for i in items if i["how"] != ["settings"]
    )
    comments = [
        file["comment"] for file in yaml.safe_load(codecheck.TARGET.read_text("utf-8"))["manifest"]
    ]
    parts = [part.rpartition(": ") for comment in comments for part in comment.split("; ")]
    assert (
        sorted((paper, item) for paper, _, item_names in parts for item in item_names.split(", "))
        == wanted
    )
    assert len(items) > len(wanted) > 40


# ---------------------------------------------------------------- where it lies

ADDRESS = "https://github.com/owner/name"


def without(address):
    """Files that should name this address of the repository (or the site that its Pages make), and do not."""
    of_pages = re.sub(r"https://github\.com/([^/]+)/(.+)", r"https://\1.github.io/\2/", address)
    wanted = {
        "CITATION.cff": address,
        "codemeta.json": address,
        "pyproject.toml": address,
        "README.md": of_pages,
    }
    return [name for name, text in wanted.items() if text not in (ROOT / name).read_text("utf-8")]


def test_the_address_is_set_in_one_place_and_named_wherever_readers_look_for_it():
    address = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
    if address:
        assert without(address) == []
    else:
        assert len(without(ADDRESS)) == 4
        codemeta = json.loads((ROOT / "codemeta.json").read_text("utf-8"))
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert (
            not {"codeRepository"} & set(codemeta)
            | {"repository-code", "url"} & set(citation)
            | {"urls"} & set(project)
        )
        assert not re.search(r"https?://", README)
