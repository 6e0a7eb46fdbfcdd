"""What a profile asks for: hours from rates that a test sets, downloads, trainings and captions."""

import json
import re
import shlex

import pytest
import yaml
from PIL import Image
from refusal import refuses, says_in_one_line

from fslbook import measurements, notebooks
from fslbook.cli import main
from fslbook.paths import PROFILES
from fslbook.plan import Job, Plan, plan_profile
from fslcore import sources
from fslcore.errors import InputError
from fslcore.models import weights
from fslcore.paths import ROOT

SHAPE = dict(ways=5, shots=5, queries=15)
TUNING = dict(
    kind="tasks", name="ft", backbone="efficientnet-lite0", side=64, dim=0, per_second=0.04
)
RATES = [
    dict(kind="features", name="efficientnet-lite0", side=64, per_second=100.0),
    dict(kind="features", name="clip", side=224, per_second=2.0),
    dict(kind="tasks", name="ncc", dim=1280, per_second=2000.0) | SHAPE,
    TUNING | SHAPE,
    dict(
        kind="build",
        name="sizing-tasks",
        job="notebook",
        seconds=60.0,
        parameters={"sweep_images": 30_000},
    ),
]
SETTINGS = dict(
    datasets=["clipart"],
    backbones=["efficientnet-lite0"],
    fine_tuning="run",
    ft_tasks=100,
    ft_open=3,
)


@pytest.fixture(autouse=True)
def _rates(tmp_path, monkeypatch):
    """A machine with these rates."""
    pieces = {"all": {"of": "rates", "date": "2026-01-01", "rows": RATES}}
    machine = {"cpu": "A processor", "cores": 2, "device": "cpu", "pieces": pieces}
    (tmp_path / "some.json").write_text(json.dumps(machine))
    monkeypatch.setattr(measurements, "FOLDER", tmp_path)


def jobs_of(chapter="closed-vs-open", **settings):
    profile = SETTINGS | settings if chapter == "closed-vs-open" else settings
    return {job.name: job for job in plan_profile({chapter: profile}).jobs}


def test_hours_are_images_or_tasks_over_the_measured_rate():
    jobs = jobs_of()
    assert jobs["clipart by efficientnet-lite0"].core_hours == pytest.approx(894 / 100 / 3600)
    tasks = "tasks of clipart, efficientnet-lite0, 5-shot"
    assert jobs[f"ncc on 600 closed {tasks}"].core_hours == pytest.approx(600 / 2000 / 3600)
    assert jobs[f"ft on 100 closed {tasks}"].core_hours == pytest.approx(100 / 0.04 / 3600)
    assert jobs[f"ft on 3 open {tasks}"].core_hours == pytest.approx(3 / 0.04 / 3600)


@pytest.mark.parametrize(
    "settings, name, piece",
    [
        ({"backbones": ["dino"]}, "clipart by dino", "features"),
        (
            {"datasets": ["fashion"]},
            "fashion by efficientnet-lite0",
            "features",
        ),  # measured at 64 pixels, not at 32
        (
            {"backbones": ["clip"]},
            "ncc on 600 closed tasks of clipart, clip, 5-shot",
            "fast",
        ),  # other features
        ({"queries": 10}, "ncc on 600 closed tasks of clipart, efficientnet-lite0, 5-shot", "fast"),
        ({}, "closed-vs-open", "build"),
    ],
)
def test_without_a_rate_of_the_very_thing_there_are_no_hours_but_the_name_of_a_benchmark(
    settings, name, piece
):
    job = jobs_of(**settings)[name]
    assert job.core_hours is None
    assert says_in_one_line(job.reason, "no rate", f"benchmarks/bench.py --only {piece}")


def test_a_chapter_has_the_hours_of_a_build_with_the_same_parameters():
    assert jobs_of("sizing-tasks", sweep_images=30_000)["sizing-tasks"].core_hours == pytest.approx(
        60 / 3600
    )
    assert jobs_of("sizing-tasks", sweep_images=30_001)["sizing-tasks"].core_hours is None


def test_chapters_share_their_evaluations():
    planned = plan_profile(
        {"closed-vs-open": SETTINGS, "comparing-methods": SETTINGS | {"ft_tasks": 700}}
    )
    (job,) = (job for job in planned.jobs if job.name.startswith("ft") and "closed" in job.name)
    assert job.name.startswith("ft on 700 closed tasks of clipart")


def test_images_that_are_not_here_count_as_listed_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    profile = tmp_path / "p.yml"
    settings = {
        "datasets": ["dtd", "dtd:/none", "mscoco", "flowers102"],
        "backbones": ["clip"],
        "learners": ["ncc"],
    }
    profile.write_text(yaml.safe_dump({"closed-vs-open": settings}))
    planned = plan_profile(profile)
    jobs = {job.name: job for job in planned.jobs}
    assert {name: (count.images, count.counted) for name, count in planned.images.items()} == {
        "dtd": (840, False),
        "fashion": (10_000, True),  # of the running example, which ships
    }
    assert jobs["dtd by clip"].core_hours == pytest.approx(840 / 2 / 3600)
    assert "number of images is not known" in jobs["mscoco by clip"].reason
    assert jobs["dtd:/none by clip"].core_hours is None
    assert "ncc on open tasks of dtd, clip, 5-shot" in jobs  # their number depends on the classes
    with pytest.raises(InputError):  # to run it, the data must be here
        notebooks.profile(profile)


@pytest.mark.slow
def test_the_command_prints_a_page_and_strict_json(capsys):
    path = str(PROFILES / "large.yml")
    assert main(["plan", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and "A processor, 2 cores" in lines[0]
    assert any(
        line.startswith("chapter without hours (no rate was measured; benchmarks/bench.py")
        for line in lines
    )
    assert main(["plan", path, "--json"]) == 0
    record = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert {row["kind"] for row in record["totals"]} == {"features", "evaluation", "chapter"}
    assert record["images"]["clipart"] == {"images": 894, "counted": True}


def test_a_profile_of_a_paper_says_what_is_to_be_fetched(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    planned = plan_profile(PROFILES / "oops.yml")
    chapters = {"closed-vs-open", "comparing-methods", "sizing-tasks", "benchmark", "oops-audit"}
    assert {job.name for job in planned.jobs if job.kind == "chapter"} == chapters
    downloads = {download.name: download for download in planned.downloads}
    assert {"dtd", "cub", "quickdraw", "clip", "dino", "dinov2-reg"} <= set(downloads)
    assert downloads["fungi"].bring and not downloads["dtd"].bring and downloads["dtd"].accept
    assert downloads["dtd"].bytes == sources.read().data["dtd"].bytes > 6e8
    assert planned.before == ()
    assert main(["plan", "profiles/oops.yml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    total = sum(download.bytes or 0 for name, download in downloads.items() if name != "fungi")
    (line,) = (line for line in lines if line.startswith("to fetch: "))
    assert line.startswith(f"to fetch: at least {total / 1e9:,.1f} GB")  # of some no size is listed
    assert "to be brought by hand: fungi (about 12.9 GB)" in lines


@pytest.mark.parametrize("paper", ["oops", "evaluators", "fewstab"])
def test_a_profile_of_what_can_be_fetched_needs_nothing_else(paper, tmp_path, monkeypatch):
    """Its group has what its chapters read, of which none has to be brought; make paper trains the rest."""
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    planned = plan_profile(PROFILES / f"{paper}-fetchable.yml")
    listed = sources.read()
    group = {listed.aliases.get(name, name) for name in listed.groups[f"{paper}-fetchable"]}
    assert {download.name for download in planned.downloads} == group
    assert not any(download.bring for download in planned.downloads)
    everything = {listed.aliases.get(name, name) for name in listed.groups[paper]}
    left_out = everything - group
    assert left_out and all(listed.data[name].bring for name in left_out)
    complete = plan_profile(PROFILES / f"{paper}.yml")
    chapters = [{job.name for job in p.jobs if job.kind == "chapter"} for p in (planned, complete)]
    assert chapters[0] == chapters[1]
    made = [shlex.split(command.partition(" (")[0]) for command in planned.before]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for option, variable in (("--dataset", "TRAINED"), ("caption", "CAPTIONED")):
        names = [words[words.index(option) + 1] for words in made if option in words]
        line = re.search(rf"^{variable}_{paper}-fetchable := (.+)", makefile, re.MULTILINE)
        assert set(names) == set(shlex.split(line[1]) if line else [])


def test_the_disk_counts_features_and_what_is_brought(tmp_path, monkeypatch):
    """Of Quick, Draw! alone the features of three backbones are 7,710,295 × (512 + 768 + 768) × 2 bytes: 31.6 GB."""
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    planned = plan_profile(PROFILES / "oops.yml")
    of_quickdraw = [job.bytes for job in planned.jobs if job.dataset == "quickdraw"]
    assert sum(of_quickdraw) == 7_710_295 * (512 + 768 + 768) * 2
    stored = [job.bytes for job in planned.jobs if job.kind == "features"]
    assert None in stored  # of MSCOCO, whose images are not listed
    data = sum(download.unpacked or 0 for download in planned.downloads if not download.bring)
    features = sum(size or 0 for size in stored)
    (line,) = (line for line in planned.lines() if line.startswith("on the disk: "))
    total = (data + 12.9e9 + features) / 1e9
    assert line.startswith(f"on the disk: at least {total:,.1f} GB: {data / 1e9:,.1f} GB fetched")
    assert f"{features / 1e9:,.1f} GB features" in line and "12.9 GB brought by hand" in line


def test_a_data_set_that_takes_most_hours_is_named_with_a_part_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    settings = SETTINGS | {"datasets": ["quickdraw", "dtd"], "backbones": ["clip"]}
    lines = plan_profile({"closed-vs-open": settings}).lines()
    share = 7_710_295 / (7_710_295 + 840)  # as the rate is one for both
    start = f"{100 * share:.2f} % of these hours: features of quickdraw; "
    (line,) = (line for line in lines if line.startswith(start))
    assert "'quickdraw?per_class=1000'" in line and "52,000 of its 7,710,295 images" in line
    part = SETTINGS | {"datasets": ["quickdraw?per_class=1000", "dtd"], "backbones": ["clip"]}
    planned = plan_profile({"closed-vs-open": part})
    assert planned.images["quickdraw?per_class=1000"].images == 52_000
    (job,) = (job for job in planned.jobs if job.dataset.startswith("quickdraw"))
    assert job.core_hours == pytest.approx(52_000 / 2 / 3600)


def test_hours_that_are_not_known_are_no_small_number():
    """Of evaluators and fewstab next to nothing was measured; a total of 0.001 core-hours was printed."""
    planned = plan_profile({"closed-vs-open": SETTINGS | {"backbones": ["dino"]}})
    assert planned.totals()["core_hours"].isna().all()
    lines = planned.lines()
    for kind in ("features", "evaluation", "chapter"):
        (line,) = (line for line in lines if line.split()[:1] == [kind] and "hours" not in line)
        assert line.endswith("not known")
    assert any(line.startswith("in all: not known; 0 of") for line in lines)
    assert any("hours of a GPU: not known; python benchmarks/gpu.py" in line for line in lines)
    assert any("--part 1/100" in line for line in lines)
    trained = plan_profile(PROFILES / "fewstab.yml").lines()
    assert any("in all: not known; " in line and "to be made before" in line for line in trained)


def test_sums_that_leave_jobs_out_are_lower_bounds():
    planned = plan_profile({"closed-vs-open": SETTINGS})  # but for the chapter, all is measured
    hours = planned.totals()["core_hours"].sum()
    (line,) = (line for line in planned.lines() if line.startswith("in all: "))
    assert line.startswith("in all: at least ") and f"{hours:.3f}"[:4] in line
    complete = Plan("a profile", "a machine", jobs=(Job("chapter", "primer", 1.0),), images={})
    assert "in all: 1.0 core-hours" in complete.lines()


def test_a_profile_of_a_paper_says_what_is_to_be_trained_and_captioned(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    planned = plan_profile(PROFILES / "fewstab.yml")
    sets = "miniimagenet tieredimagenet 'cub?splits=fewstab'"
    captions = [
        f"fslbook caption {sets} --captioner {name} --size 384"
        for name in ("vit-gpt2", "blip-large")
    ]
    training, *captioning = planned.before
    assert training.startswith("fslbook train --paper fewstab ") and captioning == captions
    assert re.findall(r"\d+", training) == ["102"]
    brought = {download.name for download in planned.downloads if download.bring}
    assert brought == {
        "miniimagenet",
        "tieredimagenet",
        "cub-fewstab",
    }  # and not the release of CUB
    assert {"vit-gpt2", "blip-large"} == {download.name for download in planned.downloads} - brought
    for name in ("fewstab/miniimagenet/rfs", "fewstab/miniimagenet/1shot-leo"):
        weights.trained_path(name).parent.mkdir(parents=True, exist_ok=True)
        weights.trained_path(name).touch()
    assert re.findall(r"\d+", plan_profile(PROFILES / "fewstab.yml").before[0]) == ["100"]


def test_captions_are_written_for_each_rule_for_compounds():
    settings = {"datasets": ["clipart"], "captioner": "vit-gpt2?compounds=whole"}
    (command,) = plan_profile({"spurious-bias": settings}).before
    assert command == "fslbook caption clipart --captioner vit-gpt2"


def test_images_that_were_brought_are_counted_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    (tmp_path / "cub-fewstab" / "images").mkdir(parents=True)
    for split in ("train", "val", "test"):
        rows = [f"{split}{c}_{i}.png,{split}{c}" for c in "ab" for i in range(3)]
        (tmp_path / "cub-fewstab" / f"{split}.csv").write_text("\n".join(["filename,label", *rows]))
        for row in rows:
            Image.new("RGB", (84, 84)).save(
                tmp_path / "cub-fewstab" / "images" / row.partition(",")[0]
            )
    with refuses(r"cub\?splits=fewstab", "novel", "2 classes", "6 images", r"\b50\b", r"3\.0k"):
        plan_profile(PROFILES / "fewstab.yml")
    text = sources.SHIPPED.read_text("utf-8").replace("novel: [50, 3.0k]", "novel: [2, 6]")
    (tmp_path / "sources.yml").write_text(text)
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "sources.yml"))
    planned = plan_profile(PROFILES / "fewstab.yml")
    assert {download.name for download in planned.downloads if download.bring} == {
        "miniimagenet",
        "tieredimagenet",
    }
    assert {name: (count.images, count.counted) for name, count in planned.images.items()} == {
        "cub?splits=fewstab": (6, True),
        "miniimagenet": (12_000, False),
        "tieredimagenet": (206_200, False),
    }


def test_few_measured_jobs_are_no_bound_worth_the_name():
    jobs = [Job("chapter", "primer", 0.001), Job("chapter", "guide"), Job("chapter", "planning")]
    lines = Plan("a profile", "a machine", jobs=tuple(jobs), images={}).lines()
    assert any(line.startswith("in all: not known; 1 of 3 jobs") for line in lines)
