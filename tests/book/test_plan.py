"""What a profile would take, from rates that a test makes up: totals add up, more work takes longer, gaps are told."""

import json
import math
from dataclasses import replace

import pytest
import yaml
from PIL import Image

from fslbook import notebooks
from fslbook import plan as workload
from fslbook.cli import main
from fslbook.paths import PROFILES
from fslcore import sources
from fslcore.errors import InputError
from fslcore.models import weights

SHAPE = dict(ways=5, shots=5, queries=15)
RATES = [
    dict(kind="features", name="glyph-conv", side=28, dim=512, per_second=1000.0, peak_mb=500.0),
    dict(kind="features", name="efficientnet-lite0", side=64, dim=1280, per_second=100.0, peak_mb=800.0),
    dict(kind="features", name="clip", side=224, dim=512, per_second=2.0, peak_mb=1200.0),
    dict(kind="features", name="conv4-baseline", side=32, dim=256, per_second=500.0, peak_mb=600.0),
    dict(kind="tasks", name="ncc", dim=512, per_second=2000.0, peak_mb=500.0, **SHAPE),
    dict(kind="tasks", name="lr", dim=512, per_second=400.0, peak_mb=500.0, **SHAPE),
    dict(
        kind="tasks", name="ft", backbone="efficientnet-lite0", side=64, dim=0, per_second=0.04, peak_mb=900.0, **SHAPE
    ),
    dict(kind="build", name="sizing-tasks", job="notebook", seconds=20.0, parameters={"sweep_images": 30000}),  # a part
    dict(kind="build", name="sizing-tasks", job="notebook", seconds=40.0, parameters={"sweep_images": 30000}),
]
SETTINGS = dict(datasets=["clipart"], backbones=["efficientnet-lite0"], fine_tuning="run", ft_tasks=100, ft_open=3)


@pytest.fixture(autouse=True)
def rates(tmp_path, monkeypatch):
    """A machine with these rates."""
    monkeypatch.setattr(workload, "FOLDER", tmp_path)
    return write(tmp_path / "some.json", RATES)


def write(path, rows, **facts):
    facts = dict(cpu="A processor", cores=2, device="cpu") | facts
    date = facts.pop("date", "2026-01-01")
    path.write_text(json.dumps(facts | {"pieces": {"all": {"of": "rates", "date": date, "rows": rows}}}))
    return path


def hours(found, *words):
    return sum(job.core_hours for job in found.jobs if all(word in job.name for word in words))


def test_totals_are_those_of_the_jobs():
    found = workload.reckon({"closed-vs-open": SETTINGS})
    known = [job.core_hours for job in found.jobs if job.core_hours is not None]
    assert found.core_hours == pytest.approx(sum(known)) and found.totals()["core_hours"].sum() == pytest.approx(
        sum(known)
    )
    assert found.totals()["jobs"].sum() == len(found.jobs)
    assert found.totals()["not_estimated"].sum() == len(found.jobs) - len(known)
    assert found.hours(1) == found.core_hours and found.hours(10**9) == max(known)
    assert found.plain()["core_hours"] == found.core_hours


def test_a_job_takes_what_its_rate_says():
    found = workload.reckon({"closed-vs-open": SETTINGS})
    assert found.images["clipart"] == (894, "data")
    assert hours(found, "clipart by efficientnet-lite0") == pytest.approx(894 / 100 / 3600)
    assert hours(found, "ft on 100 closed", "clipart") == pytest.approx(100 / 0.04 / 3600)
    assert hours(found, "ft on 3 open", "clipart") == pytest.approx(3 / 0.04 / 3600)
    ncc = 600 / 2000 * (1280 / 512) / 3600  # as long as the features are longer
    assert hours(found, "ncc on 600 closed", "clipart, efficientnet-lite0") == pytest.approx(ncc)
    longer = workload.reckon({"closed-vs-open": SETTINGS | {"tasks": 1200, "shots": 15, "queries": 25}})
    assert hours(longer, "ncc on 1,200 closed", "clipart, efficientnet-lite0") == pytest.approx(4 * ncc)


@pytest.mark.parametrize(
    "name, more", [("tasks", 1200), ("ft_tasks", 200), ("shots", 8), ("datasets", ["clipart", "fashion"])]
)
def test_more_work_takes_longer(name, more):
    less = workload.reckon({"closed-vs-open": SETTINGS})
    assert workload.reckon({"closed-vs-open": SETTINGS | {name: more}}).core_hours > less.core_hours


def test_what_two_chapters_share_is_one_job_of_the_larger_number():
    one = workload.reckon({"closed-vs-open": SETTINGS})
    both = workload.reckon({"closed-vs-open": SETTINGS, "comparing-methods": SETTINGS | {"ft_tasks": 700}})
    assert hours(both, "ft on 700 closed", "clipart") and not hours(both, "ft on 100 closed", "clipart")
    assert len([job for job in both.jobs if job.name.startswith("ft")]) == len(
        [job for job in one.jobs if job.name.startswith("ft")]
    )


def test_fine_tuning_of_a_network_that_was_not_measured_is_derived():
    found = workload.reckon({"closed-vs-open": SETTINGS | {"backbones": ["clip"]}})
    (job,) = [job for job in found.jobs if job.name.startswith("ft on 100 closed")]
    looks = 5 * (3 * 30 * 5 + 15)
    factor = 1 / 0.04 / (looks / 100)
    assert job.note == "derived" and job.core_hours == pytest.approx(100 * factor * looks / 2 / 3600)


def test_what_no_rate_tells_is_told_and_not_guessed(capsys):
    other = "efficientnet-lite2"  # neither measured nor of known operations
    found = workload.reckon({"closed-vs-open": SETTINGS | {"backbones": [other]}})
    assert {j.note for j in found.jobs if other in j.name and j.core_hours is None} == {
        f"no rate of {other}",
        f"no rate of ft on {other}",
    }
    assert any(f"not estimated (no rate of {other}): clipart by {other}" in line for line in found.lines())
    assert "no build of it was measured" in {job.note for job in found.jobs if job.kind == "chapter"}


def test_a_network_that_was_not_measured_is_estimated_by_its_operations():
    found = workload.reckon({"closed-vs-open": SETTINGS | {"backbones": ["dino"]}})
    a_second = sorted(
        row["per_second"] * workload.operations(row["name"])
        for row in RATES
        if row["kind"] == "features" and workload.operations(row["name"])
    )
    (job,) = [job for job in found.jobs if job.name == "clipart by dino"]
    assert len(a_second) == 3 and job.note == "by operations"
    assert job.core_hours == pytest.approx(894 * workload.operations("dino") / a_second[1] / 3600)
    assert any(line.startswith("by operations: ") for line in found.lines())


def test_a_learner_that_trains_on_a_task_takes_as_long_on_networks_of_one_kind(rates):
    row = dict(kind="tasks", name="boil", backbone="conv4-icons-boil", side=32, dim=0, per_second=10.0, peak_mb=700.0)
    write(rates, [*RATES, row | SHAPE])
    asked = dict(datasets=["icons"], learners=["boil"], image_tasks=60)
    jobs = {job.name: job for job in workload.reckon({"ten-learners": asked}).jobs if job.kind == "evaluation"}
    measured, other = (
        jobs[f"boil on 60 closed tasks of icons, conv4-icons-{n}"] for n in ("boil, 5-shot", "1shot-boil, 1-shot")
    )
    assert measured.core_hours == pytest.approx(60 / 10 / 3600) and not measured.note
    assert other.core_hours == pytest.approx(measured.core_hours / 5) and other.note == "by operations"


def test_trained_networks_have_the_operations_of_their_own_settings(rates):
    own = {
        name: workload.operations(f"trained:evaluators/{name}/maml")
        for name in ("cifar-fs", "miniimagenet", "meta-album-test_set-0")
    }
    assert own["cifar-fs"] == workload.operations("conv4-maml")
    assert own["miniimagenet"] == pytest.approx((84 / 32) ** 2 * own["cifar-fs"], rel=0.1)
    assert own["meta-album-test_set-0"] > 30 * own["miniimagenet"]  # a ResNet-18 at 128 pixels
    assert workload.operations("trained:/home/x.safetensors") is None
    measured = dict(
        kind="tasks", name="maml", backbone="conv4-maml", side=32, dim=0, per_second=2.0, peak_mb=1.0, **SHAPE
    )
    write(rates, [*RATES, measured])
    found = workload.reckon(PROFILES / "evaluators.yml")
    (job,) = [
        job for job in found.jobs if "maml on 600 closed tasks of miniimagenet" in job.name and "62 tr" in job.name
    ]
    assert job.note == "by operations"
    assert job.core_hours == pytest.approx(600 * 62 / 2 * own["miniimagenet"] / own["cifar-fs"] / 3600)
    assert not [job for job in found.jobs if "{" in job.name]


def test_data_sets_meet_the_backbones_of_their_own_figures_alone():
    names = {job.name for job in workload.reckon(PROFILES / "evaluators.yml").jobs if job.kind == "features"}
    assert "eurosat by clip-b32" in names and "cifar-fs by trained:evaluators/cifar-fs/protonet" in names
    assert not {"cifar-fs by clip-b32", "eurosat by trained:evaluators/eurosat/protonet"} & names
    assert len(names) == 5 * 4 + 3
    names = {job.name for job in workload.reckon(PROFILES / "fewstab.yml").jobs if job.kind == "features"}
    assert "cub?splits=fewstab by trained:fewstab/cub-splits-fewstab/1shot-dn4" in names
    assert len(names) == 3 * (7 * 2 + 2)  # of 1 and 5 shots, but for the two that are trained on batches


def test_every_parameter_of_a_chapter_that_is_apart_is_one_of_it():
    for name, groups in workload.APART.items():
        kinds = {of.name: of.allowed.partition(" ")[0] for of in notebooks.parameters(name)}
        met = {*groups, *(n for of in groups.values() for n in of)}
        assert {n for n, kind in kinds.items() if kind in ("dataset", "backbone", "method")} - met <= {"image_methods"}
        assert met <= kinds.keys()


@pytest.mark.parametrize("ft_open, jobs", [(60, 2), (2000, 4)])
def test_fine_tuning_at_the_usual_queries_counts_where_the_chapter_runs_it(ft_open, jobs):
    given = {"datasets": ["clipart"], "backbones": ["efficientnet-lite0"], "learners": ["ncc", "ft"]}
    given |= {"shots": [1, 5], "queries": [1, 5], "usual_queries": 15, "fine_tuning": "run", "ft_open": ft_open}
    found = workload.reckon({"benchmark": given | {"max_tasks": 2000}})
    assert len([job for job in found.jobs if job.name.startswith("ft on")]) == jobs


def test_a_chapter_grows_with_what_grows_most():
    def sizing(**given):
        jobs = workload.reckon({"sizing-tasks": given}).jobs
        (job,) = [j for j in jobs if j.kind == "chapter" and j.name == "sizing-tasks"]
        return job

    same = sizing(sweep_images=30000)
    assert same.core_hours == pytest.approx(60 / 3600) and not same.note
    ten = sizing(sweep_images=300_000, runs=10)
    assert ten.core_hours == pytest.approx(600 / 3600) and ten.note == "at most"
    assert sizing(sweep_images=30000, seed=7).core_hours == same.core_hours


def test_tasks_of_slow_learners_are_jobs_of_their_own_and_no_time_of_the_chapter(rates):
    write(rates, RATES + [dict(kind="build", name="closed-vs-open", job="notebook", seconds=36.0, parameters=SETTINGS)])
    for fine_tuning, more in (("stored", 0), ("run", 500 / 0.04 / 3600)):
        few, many = (
            workload.reckon({"closed-vs-open": SETTINGS | {"fine_tuning": fine_tuning, "ft_tasks": n}})
            for n in (100, 600)
        )
        assert many.core_hours - few.core_hours == pytest.approx(more)
        (job,) = [j for j in many.jobs if j.kind == "chapter" and j.name == "closed-vs-open"]
        assert job.core_hours == pytest.approx(0.01) and not job.note


def test_a_data_set_that_is_not_here_counts_as_the_papers_print_it(tmp_path):
    profile = tmp_path / "p.yml"
    profile.write_text(yaml.safe_dump({"closed-vs-open": SETTINGS | {"datasets": ["quickdraw:/none", "cub:/none/x"]}}))
    found = workload.reckon(profile)
    assert found.images["quickdraw:/none"] == (7_710_295, "papers")
    assert hours(found, "quickdraw:/none by efficientnet-lite0") == pytest.approx(
        7_710_295 * (224 / 64) ** 2 / 100 / 3600
    )
    assert hours(found, "ncc on 17 open", "cub") and hours(found, "ncc on 77,102 open", "quickdraw")
    with pytest.raises(InputError):  # to run it, it must be there
        notebooks.profile(profile)
    profile.write_text(yaml.safe_dump({"closed-vs-open": SETTINGS | {"datasets": ["food101:/none"]}}))
    assert "neither here nor in the papers" in "\n".join(workload.reckon(profile).lines())


def test_the_nearest_machine_is_taken(tmp_path):
    write(tmp_path / "cuda.json", RATES, device="cuda", date="2027-01-01")
    assert workload.stored()["name"] == "some"
    write(tmp_path / "newer.json", RATES, date="2026-02-01")
    assert workload.stored()["name"] == "newer" and workload.machines() == ["cuda", "newer", "some"]
    write(tmp_path / "without.json", [], date="2028-01-01")
    assert workload.stored()["name"] == "newer" and workload.stored("cuda")["device"] == "cuda"
    with pytest.raises(InputError, match="machine = som; .*did you mean some"):
        workload.stored("som")


def test_a_machine_without_rates_or_a_damaged_file_is_told(rates):
    write(rates, [])
    with pytest.raises(InputError, match="none of some has rates"):
        workload.stored()
    rates.write_text("{")
    with pytest.raises(InputError, match="some.json in .* is damaged"):
        workload.stored()
    rates.unlink()
    with pytest.raises(InputError, match="no rates are stored in"):
        workload.reckon({})


def test_the_command_prints_a_page_and_strict_json(capsys):
    path = str(PROFILES / "large.yml")
    assert main(["plan", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and "A processor, 2 cores" in lines[0] and any(line.startswith("in all") for line in lines)

    def refuse(text):
        raise AssertionError(text)

    assert main(["plan", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["core_hours"] == pytest.approx(math.fsum(job["core_hours"] or 0 for job in found["jobs"]))
    assert {row["kind"] for row in found["by_kind"]} == {"features", "evaluation", "chapter"}


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["no.yml"], "profile: no file no.yml"),
        ([""], "profile = ''; a path is needed"),
        ([str(PROFILES / "quick.yml"), "--machine", "other"], "machine = other; some is allowed"),
    ],
)
def test_bad_input_is_told_in_one_line(arguments, line, capsys):
    assert main(["plan", *arguments]) == 2
    assert line in (said := capsys.readouterr().err) and said.count("\n") == 1


def test_shown_hours_are_those_of_the_job():
    job = workload.Job("features", "x", 1234.5, 2.0)
    found = workload.Workload("p", "m", (job, replace(job, core_hours=None, note="why")), {})
    text = "\n".join(found.lines())
    assert "1,234" in text and "2.0 GiB" in text and "not estimated (why): x" in text


def test_a_folder_below_the_home_of_an_unknown_user_is_bad_input():
    with pytest.raises(InputError, match="dataset = ~nobody-here/x"):
        workload.reckon({"closed-vs-open": {"datasets": ["folder:~nobody-here/x"]}})


def test_a_profile_of_a_paper_says_what_is_to_be_fetched(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    whole = workload.reckon(PROFILES / "oops.yml")
    named = {"closed-vs-open", "comparing-methods", "sizing-tasks", "benchmark", "oops-audit"}
    assert {job.name for job in whole.jobs if job.kind == "chapter"} == named  # those that the build makes
    there = {of.name: of for of in whole.downloads}
    assert {"dtd", "cub", "quickdraw", "clip", "dino", "dinov2-reg"} <= set(there)
    assert there["fungi"].bring and not there["dtd"].bring and there["dtd"].accept
    assert there["dtd"].bytes == sources.read().data["dtd"].bytes > 6e8
    (tmp_path / "dtd" / sources.read().data["dtd"].path).mkdir(parents=True)  # at hand
    assert "dtd" not in {of.name for of in workload.reckon(PROFILES / "oops.yml").downloads}
    assert main(["plan", "profiles/oops.yml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("to fetch: "))
    total = sum(of.bytes or 0 for name, of in there.items() if name not in ("dtd", "fungi"))
    assert line.startswith(f"to fetch: {total / 1e9:,.1f} GB")
    assert "to be brought by hand: fungi" in lines


def test_a_profile_of_a_paper_says_what_is_to_be_trained_and_captioned(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    found = workload.reckon(PROFILES / "fewstab.yml")
    sets = "miniimagenet tieredimagenet 'cub?splits=fewstab'"
    captions = [f"fslbook caption {sets} --captioner {name}" for name in ("vit-gpt2", "blip-large")]
    assert found.before == ("fslbook train --paper fewstab (102 networks)", *captions)
    bring = {of.name for of in found.downloads if of.bring}
    assert bring == {"miniimagenet", "tieredimagenet", "cub-fewstab"}  # and not the release of CUB
    assert {"vit-gpt2", "blip-large"} == {of.name for of in found.downloads} - bring
    for name in ("fewstab/miniimagenet/rfs", "fewstab/miniimagenet/1shot-leo"):
        weights.trained_path(name).parent.mkdir(parents=True, exist_ok=True)
        weights.trained_path(name).touch()
    assert workload.reckon(PROFILES / "fewstab.yml").before[0].endswith("(100 networks)")
    (tmp_path / "cub-fewstab" / "images").mkdir(parents=True)
    for split in ("train", "val", "test"):
        rows = [f"{split}{c}_{i}.png,{split}{c}" for c in "ab" for i in range(3)]
        (tmp_path / "cub-fewstab" / f"{split}.csv").write_text("\n".join(["filename,label", *rows]))
        for row in rows:
            Image.new("RGB", (84, 84)).save(tmp_path / "cub-fewstab" / "images" / row.partition(",")[0])
    workload._source.cache_clear()
    with pytest.raises(InputError, match=r"cub\?splits=fewstab; novel has 2 classes with 6 images, not 50 with 3.0k"):
        workload.reckon(PROFILES / "fewstab.yml")
    text = sources.SHIPPED.read_text("utf-8").replace("novel: [50, 3.0k]", "novel: [2, 6]")
    (tmp_path / "sources.yml").write_text(text)
    monkeypatch.setenv("FSLCORE_SOURCES", str(tmp_path / "sources.yml"))
    images = workload.reckon(PROFILES / "fewstab.yml").images
    assert images.pop("cub?splits=fewstab") == (6, "data")  # not OOPS' count
    assert images == {"miniimagenet": (12_000, "papers"), "tieredimagenet": (206_200, "papers")}  # of Table S1
    assert main(["plan", "profiles/evaluators.yml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "to be made before: fslbook train --paper evaluators (25 networks)" in lines
    (line,) = (line for line in lines if line.startswith("to fetch: "))
    assert line.endswith("cifar-fs, eurosat, food101, meta-album, vgg-flower, clip-b32")
    assert workload.reckon(PROFILES / "oops.yml").before == ()


def test_memory_is_bounded_where_images_stay_in_their_files():
    big = max(workload.reckon(PROFILES / "oops.yml").jobs, key=lambda job: job.memory_gib or 0)
    assert big.memory_gib < 16


def test_released_preprocessing_takes_as_long_as_the_standard_one():
    hours = {}
    for name in ("clip", "clip-released"):
        given = {"closed-vs-open": {"datasets": ["clipart"], "backbones": [name]}}
        hours[name] = [job.core_hours for job in workload.reckon(given).jobs if name in job.name]
    assert hours["clip"] == hours["clip-released"] and hours["clip"]


# ---------------------------------------------------------------- a GPU


def test_operations_of_networks_are_those_that_are_counted():
    """Of vision transformers by a formula, of our own networks as PyTorch counts them."""
    torch = pytest.importorskip("torch")
    from fslcore.models.networks import import_torchvision

    import_torchvision()
    timm = pytest.importorskip("timm")
    from torch.utils.flop_counter import FlopCounterMode

    for name, model in {"dino": "vit_base_patch16_224", "dinov2-reg": "vit_base_patch14_reg4_dinov2"}.items():
        size = {"img_size": 224} if "dinov2" in model else {}
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            timm.create_model(model, num_classes=0, **size).eval()(torch.empty(1, 3, 224, 224))
        assert workload.operations(name) == pytest.approx(counter.get_total_flops(), rel=0.01)
    assert workload.operations("clip-released:FILE") == workload.operations("dino")
    assert workload.operations("conv4-maml") > 1e7 and workload.operations("efficientnet-lite0") is None


def test_gpu_hours_are_operations_over_those_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr(workload, "operations", lambda name: 2e9 if name == "clip" else None)
    given = {"closed-vs-open": SETTINGS | {"backbones": ["clip", "glyph-conv"], "learners": ["ncc", "ft"]}}
    found = workload.reckon(given)
    images, tasks = found.images["clipart"][0], 100 + 3
    looks = images + tasks * 5 * (3 * workload.STEPS * 5 + 15)
    assert found.gpu.operations == looks * 2e9 and found.gpu.uncounted == ("glyph-conv",)
    assert found.gpu.hours == found.gpu.operations / 10e12 / 3600 == found.plain()["gpu"]["hours"]
    (line,) = [line for line in found.lines() if "one GPU" in line]
    assert "an estimate" in line and "10 TFLOP/s, which is assumed" in line and "not counted: glyph-conv" in line

    speed = {"pieces": {workload.MEASURED: {"unit": "images/s", "speed": 1000.0}}, "machine": {"gpu": "A card"}}
    (tmp_path / "gpu.json").write_text(json.dumps(speed))
    measured = workload.reckon(given)
    assert measured.gpu.per_second == 1000 * workload.of_vit(16, 384) and "measured on A card" in measured.gpu.line()
    assert workload.machines() == ["some"] and measured.core_hours == found.core_hours  # it has no rates of a core
    (tmp_path / "gpu.json").write_text('{"pieces": {}}')
    with pytest.raises(InputError, match=r"gpu\.json lacks features of vit_small"):
        workload.reckon(given)


def test_a_gpu_trains_and_captions_what_is_not_there_yet(tmp_path, monkeypatch):
    monkeypatch.setenv("FSLCORE_DATA", str(tmp_path))
    found = workload.reckon(PROFILES / "fewstab.yml").gpu
    assert found.trainings > found.captions > 0 and found.operations > found.trainings + found.captions
    assert "networks, with all epochs, " in found.line() and ", captions " in found.line()
    name = "fewstab/miniimagenet/protonet"  # 100 epochs of 2,000 tasks, there and back, and 600 validation tasks
    looks = 2000 * 3 * 5 * (5 + 15) + 600 * 5 * (5 + 15)
    each = looks * 100 * workload.operations(f"trained:{name}")
    assert workload.of_training(name) == each
    assert workload.of_training("fewstab/miniimagenet/leo") < each  # on a frozen network
    weights.trained_path(name).parent.mkdir(parents=True, exist_ok=True)
    weights.trained_path(name).touch()
    assert workload.reckon(PROFILES / "fewstab.yml").gpu.trainings == pytest.approx(found.trainings - each)
    assert workload.reckon({"closed-vs-open": SETTINGS}).gpu.trainings == 0
