"""The papers' printed numbers: complete, consistent with each other and with the released tasks.

The last tests recompute the 5-shot cells of Tables 4 to 6 from the authors' per-task
accuracies.  Those files are not part of this project: the tests look for them beside the
repository and are skipped where there are none.
"""

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "data" / "published"
RELEASED = Path(__file__).parents[3] / "shared" / "oops-benchmark" / "5-shot"

DATASETS = {
    "dtd",
    "vgg-flower",
    "aircraft",
    "cub",
    "omniglot",
    "fungi",
    "traffic-signs",
    "mscoco",
    "quickdraw",
}
SYMBOLS = set("+0-")
FLIP = {"+": "-", "-": "+", "0": "0"}
METHODS = list(product(("clip", "dino"), ("lr", "ft")))


def read(name, **kw):
    return pd.read_csv(PUBLISHED / f"oops_{name}.csv", **kw)


def symbols(n):
    return read(f"table{n}", dtype=str, keep_default_na=False)


def differences():
    return pd.concat([read(f"table{n}").assign(table=n) for n in (4, 5, 6)], ignore_index=True)


def compare(a, b):
    """Symbol of a against b, each a (mean, half-width)."""
    if a[0] - a[1] > b[0] + b[1]:
        return "+"
    if a[0] + a[1] < b[0] - b[1]:
        return "-"
    return "0"


@pytest.fixture(scope="module")
def table2():
    return {(r.dataset, r.backbone, r.learner, r.sampling): (r.mean, r.half_width) for r in read("table2").itertuples()}


def pair_symbols(t):
    """{(dataset, a, b): row}, in both directions."""
    cols = [c for c in ("closed", "open", "paired") if c in t]
    out = {}
    for r in t.to_dict("records"):
        a, b = (r["a_backbone"], r["a_learner"]), (r["b_backbone"], r["b_learner"])
        out[r["dataset"], a, b] = {c: r[c] for c in cols}
        out[r["dataset"], b, a] = {c: FLIP[r[c]] for c in cols}
    return out


# ---- shapes, ranges, symbols


@pytest.mark.parametrize(
    "name, rows",
    [("table1", 12), ("table2", 72), ("table3", 90), ("table4", 108), ("table5", 54), ("table6", 54), ("n_tasks", 27)],
)
def test_shape(name, rows):
    t = read(name)
    assert len(t) == rows
    assert set(t.dataset) == ({"dtd", "traffic-signs"} if name == "table1" else DATASETS)
    key = [c for c in t if c in ("dataset", "shots", "backbone", "learner", "sampling") or c[:2] in ("a_", "b_")]
    assert not t.duplicated(key).any()


@pytest.mark.parametrize("n", range(1, 7))
def test_reading(n):
    t = read(f"table{n}", dtype=str, keep_default_na=False)
    assert set(t.reading) <= {"printed", "restored", "recomputed", "lost"}
    assert (t.note[t.reading != "printed"] != "").all(), "every cell not simply read carries a note"
    values = ["mean", "half_width"] if "mean" in t else [c for c in ("closed", "open", "paired") if c in t]
    empty = (t[values] == "").any(axis=1)
    assert (empty == (t.reading == "lost")).all()


@pytest.mark.parametrize("n, restored, again", [(1, 3, 0), (2, 0, 0), (3, 18, 0), (4, 0, 15), (5, 0, 0), (6, 0, 0)])
def test_how_much_was_illegible(n, restored, again):
    t = read(f"table{n}")
    assert (t.reading == "restored").sum() == restored
    assert (t.reading == "recomputed").sum() == again
    assert (t.reading == "lost").sum() == 0


@pytest.mark.parametrize("n", [1, 3])
def test_symbols(n):
    t = symbols(n)
    for c in ("closed", "open", "paired"):
        if c in t:
            assert set(t[c]) <= SYMBOLS


def test_table1_has_every_pair_once():
    t = symbols(1)
    methods = list(product(("clip", "dino"), ("ncc", "ft")))
    for _, g in t.groupby("dataset"):
        seen = {frozenset(((r.a_backbone, r.a_learner), (r.b_backbone, r.b_learner))) for r in g.itertuples()}
        assert seen == {frozenset(p) for p in combinations(methods, 2)}


def test_table2_cells():
    t = read("table2")
    assert t["mean"].between(40, 100).all()
    assert t.half_width.between(0.1, 6).all()
    assert t.groupby("dataset").n_images.nunique().eq(1).all()
    assert t.groupby(["dataset", "backbone", "learner"]).sampling.nunique().eq(2).all()


def test_tables_4_to_6_cells():
    t = differences()
    assert set(t.shots) == {1, 5, 10}
    assert set(t.a_learner) == {"ft"}
    assert t["mean"].abs().max() < 30
    assert t.half_width.between(0, 8).all()


# ---- the tables against each other


def test_table3_ft_columns_are_opposites():
    t = symbols(3)
    ft = t[t.b_learner == "ft"]
    p = {(r.dataset, r.a_backbone): (r.open, r.paired) for r in ft.itertuples()}
    assert len(p) == 18
    for d in DATASETS:
        assert p[d, "clip"] == tuple(FLIP[s] for s in p[d, "dino"])


def test_table3_open_symbols_follow_from_table2(table2):
    for (d, a, b), row in pair_symbols(symbols(3)).items():
        if "ncc" not in (a[1], b[1]):
            assert row["open"] == compare(table2[(d, *a, "open")], table2[(d, *b, "open")]), (d, a, b)


def test_table3_paired_signs_follow_from_table2(table2):
    """The mean of the differences is the difference of the means."""
    for (d, a, b), row in pair_symbols(symbols(3)).items():
        if "ncc" not in (a[1], b[1]) and row["paired"] != "0":
            diff = table2[(d, *a, "open")][0] - table2[(d, *b, "open")][0]
            assert (diff > 0) == (row["paired"] == "+"), (d, a, b)


def test_table1_agrees_with_table2(table2):
    seen = 0
    for (d, a, b), row in pair_symbols(symbols(1)).items():
        if "ncc" not in (a[1], b[1]):
            for how in ("closed", "open"):
                assert row[how] == compare(table2[(d, *a, how)], table2[(d, *b, how)]), (d, a, b, how)
                seen += 1
    assert seen == 8  # FT against FT, two data sets, two samplings, both directions


def test_table1_agrees_with_table3():
    one, three = pair_symbols(symbols(1)), pair_symbols(symbols(3))
    shared = one.keys() & three.keys()
    assert len(shared) == 20  # all but NCC against NCC
    for k in shared:
        assert {c: one[k][c] for c in ("open", "paired")} == three[k], k


def test_one_number_of_tasks_explains_every_printed_mean():
    n_tasks = read("n_tasks")
    assert set(n_tasks.basis) == {"released", "inferred"} and n_tasks.n_tasks.notna().all()
    n_tasks = n_tasks.set_index(["dataset", "shots"])
    n_images = read("table2").drop_duplicates("dataset").set_index("dataset").n_images
    for (d, s), g in differences().query("reading == 'printed'").groupby(["dataset", "shots"]):
        row = n_tasks.loc[(d, s)]
        assert row.n_tasks <= min(2000, n_images[d] // (5 * (s + row.queries)))
        unit = 100 / (5 * row.queries) / row.n_tasks  # one query
        off = np.abs(np.round(g["mean"] / unit) * unit - g["mean"])
        assert off.max() < 0.00051, (d, s)


# ---- the prose against the tables


@pytest.fixture(scope="module")
def claims():
    return read("claims", dtype=str, keep_default_na=False).set_index("id")


@pytest.mark.parametrize("paper", ["oops", "evaluators", "fewstab"])
def test_claims_are_well_formed(paper):
    claims = pd.read_csv(PUBLISHED / f"{paper}_claims.csv", dtype=str, keep_default_na=False).set_index("id")
    assert claims.index.is_unique and list(claims) == ["section", "claim", "value", "unit"]
    assert (claims != "").all().all()
    readme = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\| `{paper}_claims.csv` \|.*\| {len(claims)} \|", readme)


def test_width_ratio_is_the_other_way_round():
    t = read("table2").pivot_table(index=["dataset", "backbone", "learner"], columns="sampling", values="half_width")
    ratio = t.open / t.closed
    assert len(ratio) == 36
    assert (1 / ratio).mean() == pytest.approx(0.61, abs=0.005)
    assert ratio.mean() == pytest.approx(4.00, abs=0.005)
    assert ratio.median() == pytest.approx(2.07, abs=0.005)
    assert np.exp(np.log(ratio).mean()) == pytest.approx(2.59, abs=0.005)
    assert t.open.mean() / t.closed.mean() == pytest.approx(3.51, abs=0.005)
    narrower = ratio[ratio < 1]
    assert len(narrower) == 8
    assert set(narrower.index.get_level_values("dataset")) == {"mscoco", "quickdraw"}


def test_closed_and_open_means_often_lie_apart(table2):
    apart = {k[:3] for k in table2 if compare(table2[k[:3] + ("closed",)], table2[k[:3] + ("open",)]) != "0"}
    assert len(apart) == 13
    assert {d for d, _, _ in apart} == {"fungi", "traffic-signs", "mscoco", "vgg-flower"}


def test_ft_counts(claims):
    t = symbols(3)
    t = t[t.a_backbone == t.b_backbone]
    counts = t.paired.value_counts()
    assert len(t) == int(claims.value["ft-cases"])
    assert counts["+"] == int(claims.value["ft-better"])
    assert counts["-"] == int(claims.value["ft-worse"])
    assert t.open.value_counts().to_dict() == {"0": 35, "-": 1}


def test_table3_part_of_the_conclusive_counts():
    t = symbols(3)
    t = t[~((t.a_backbone == "dino") & (t.b_learner == "ft"))]  # the FT pair once
    assert len(t) == 81
    assert (t.open != "0").sum() == 31
    assert (t.paired != "0").sum() == 60
    assert ((t.open == "0") | (t.open == t.paired)).all()


def test_closed_conclusive_among_the_printed_pairs(table2):
    n = conclusive = 0
    for d, (a, b) in product(DATASETS, combinations(METHODS, 2)):
        n += 1
        conclusive += compare(table2[(d, *a, "closed")], table2[(d, *b, "closed")]) != "0"
    t = symbols(1)
    t = t[(t.a_learner == "ncc") | (t.b_learner == "ncc")]
    assert (n, conclusive) == (54, 40)
    assert (len(t), (t.closed != "0").sum()) == (10, 5)


def test_conclusive_counts_of_the_prose_do_not_fit_together(claims):
    v = {
        k: int(claims.value[k])
        for k in ("closed-conclusive", "flip-flop", "not-confirmed", "open-conclusive", "paired-conclusive")
    }
    both = v["closed-conclusive"] - v["flip-flop"] - v["not-confirmed"]
    assert both == 75 > v["open-conclusive"]
    assert both + v["flip-flop"] == 102 > v["paired-conclusive"]


def test_ft_against_the_rest_by_shots():
    t = differences()
    sign = pd.Series(np.where(t["mean"] > t.half_width, "+", np.where(t["mean"] < -t.half_width, "-", "0")), t.index)
    same = t.a_backbone == t.b_backbone
    got = sign[same].groupby(t.shots).value_counts().unstack(fill_value=0)
    assert got.loc[1, ["+", "-", "0"]].tolist() == [19, 10, 25]
    assert got.loc[5, ["+", "-", "0"]].tolist() == [4, 24, 26]
    assert got.loc[10, ["+", "-", "0"]].tolist() == [1, 33, 20]
    ncc = same & (t.b_learner == "ncc") & (t.shots == 1)
    assert sign[ncc].value_counts().reindex(["+", "-"]).tolist() == [12, 1]
    assert sign[~same].value_counts().reindex(["+", "-", "0"]).tolist() == [34, 9, 11]
    assert set(t.dataset[~same & (sign == "-")]) == {"omniglot", "traffic-signs"}


# ---- the tables against the released tasks

#: Printed 5-shot cells that the released tasks do not give digit for digit:
#: (table, dataset, b backbone, b learner) -> (mean, half-width) from the released tasks.
EXCEPTIONS = {
    # one query in 50,000: the FT run on DINOv2 differs
    (4, "mscoco", "clip", "lr"): (9.954, 0.411),
    (4, "mscoco", "dino", "lr"): (6.408, 0.389),
    (4, "mscoco", "dinov2", "ncc"): (0.174, 0.141),
    # three queries in 50,000: the FT run on CLIP differs
    (6, "mscoco", "clip", "lr"): (-2.096, 0.242),
    (6, "mscoco", "clip", "ncc"): (-0.976, 0.233),
    # same mean, other half-width: the FT run on CLIP differs in tasks that cancel out
    (6, "fungi", "clip", "lr"): (-3.217, 0.790),
    (6, "fungi", "clip", "ncc"): (-2.826, 0.864),
    # last digit of the half-width
    (6, "traffic-signs", "clip", "ncc"): (-0.745, 0.448),
}
FOLDER = {"lr": "LR", "ncc": "NCC", "ft": "finetune"}


@pytest.fixture(scope="module")
def released():
    if not RELEASED.is_dir():
        pytest.skip("the authors' released per-task accuracies are not at ../shared/oops-benchmark")
    torch = pytest.importorskip("torch")
    out = {}
    for d, b, name in product(sorted(DATASETS), ("clip", "dino", "dinov2"), FOLDER):
        path = RELEASED / b / FOLDER[name] / f"{d.replace('-', '_')}.pt"
        out[d, b, name] = torch.load(path, weights_only=True, map_location="cpu").double().numpy()
    return out


def paired(a, b):
    stats = pytest.importorskip("scipy.stats")
    x = a - b
    return x.mean(), stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))


def test_five_shot_cells_recompute(released):
    agree = 0
    for r in differences().query("shots == 5").itertuples():
        got = paired(released[r.dataset, r.a_backbone, r.a_learner], released[r.dataset, r.b_backbone, r.b_learner])
        key = r.table, r.dataset, r.b_backbone, r.b_learner
        if key in EXCEPTIONS:
            assert (r.mean, r.half_width) != EXCEPTIONS[key]
            assert got == pytest.approx(EXCEPTIONS[key], abs=0.00051), key
        else:
            assert got == pytest.approx((r.mean, r.half_width), abs=0.00051), key
            agree += r.reading == "printed"
    assert agree == 59


def test_kept_cells_are_those_of_the_released_tasks(released):
    kept = read("recomputed")
    assert len(kept) == 82 and (kept.shots == 5).sum() == 72
    for r in kept.query("shots == 5").itertuples():
        got = paired(released[r.dataset, r.a_backbone, r.a_learner], released[r.dataset, r.b_backbone, r.b_learner])
        assert (r.mean, r.half_width) == pytest.approx(got, abs=0.00051)


def test_recomputed_cells_stand_in_the_table_as_they_were_kept():
    """Every illegible cell is there, and its mean is a whole number of queries over the tasks that there are."""
    keys = ["dataset", "shots", "a_backbone", "b_backbone", "b_learner"]
    again = read("table4").query("reading == 'recomputed'").set_index(keys)[["mean", "half_width"]]
    kept = read("recomputed").query("table == 4").set_index(keys)[["mean", "half_width"]]
    assert len(again) == 15
    pd.testing.assert_frame_equal(again, kept.loc[again.index])
    n = read("n_tasks").set_index(["dataset", "shots"])
    for (dataset, shots, *_), row in again.iterrows():
        queries = 5 * n["queries"][dataset, shots] * n["n_tasks"][dataset, shots]
        assert abs(row["mean"] - round(row["mean"] * queries / 100) * 100 / queries) < 0.00051


def test_number_of_tasks_is_that_of_the_released_files(released):
    n_tasks = read("n_tasks").query("shots == 5").set_index("dataset").n_tasks
    for (d, b, name), x in released.items():
        assert len(x) == n_tasks[d], (d, b, name)


def test_restored_cells_have_the_sign_of_the_released_tasks(released):
    for r in symbols(3).query("reading == 'restored'").itertuples():
        m, h = paired(released[r.dataset, r.a_backbone, r.a_learner], released[r.dataset, r.b_backbone, r.b_learner])
        assert r.paired == "-" and m + h < 0, r


def test_conclusive_counts_of_the_released_tasks(released):
    stats = pytest.importorskip("scipy.stats")
    counts = {}
    for d in DATASETS:
        own = {k[1:]: x for k, x in released.items() if k[0] == d and k[1] != "dinov2"}
        ci = {k: (x.mean(), stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))) for k, x in own.items()}
        pairs = list(combinations(own, 2))
        tests = [paired(own[a], own[b]) for a, b in pairs]
        counts[d] = np.array(
            [len(pairs), sum(compare(ci[a], ci[b]) != "0" for a, b in pairs), sum(abs(m) > h for m, h in tests)]
        )
    total = sum(counts.values())
    assert total.tolist() == [135, 59, 96]
    assert (total - counts["omniglot"]).tolist() == [120, 51, 83]


# ---- the evaluators paper

ESTIMATORS = ["hold-out", "5-fold", "leave-one-out", "bootstrap"]
LEARNERS = ["baseline", "baseline++", "protonet", "maml", "r2d2"]
SETS = ["cifar-fs", "miniimagenet", "meta-album"]


def evaluators(n):
    return pd.read_csv(PUBLISHED / f"evaluators_table{n}.csv", dtype={"tuned": str}, keep_default_na=False)


@pytest.mark.parametrize(
    "n, keys",
    [
        (1, [SETS, LEARNERS, ["oracle", *ESTIMATORS]]),
        (2, [SETS, LEARNERS, ESTIMATORS]),
        (3, [SETS, ["baseline"], ESTIMATORS]),
        (4, [SETS, ["baseline", "maml"], ["no", "yes"]]),
        (5, [SETS, ["oracle", *ESTIMATORS]]),
    ],
)
def test_evaluators_cells(n, keys):
    t = evaluators(n)
    assert sorted(map(tuple, t.iloc[:, : len(keys)].to_numpy())) == sorted(product(*keys))
    values = t["mae"] if n in (2, 3) else t["mean"]
    assert values.between(4, 90).all() and set(t["reading"]) == {"printed"}
    if n in (1, 4, 5):
        assert t["half_width"].between(0.3, 2.7).all()
    readme = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\| `evaluators_table{n}.csv` \|.*\| {len(t)} \|", readme)


def test_evaluators_untuned_rows_repeat_the_oracle():
    keys = ["dataset", "learner"]
    untuned = evaluators(4).query("tuned == 'no'").set_index(keys)[["mean", "half_width"]]
    oracle = evaluators(1).query("estimator == 'oracle'").set_index(keys)[["mean", "half_width"]]
    pd.testing.assert_frame_equal(untuned, oracle.loc[untuned.index])


def test_evaluators_errors_are_bounded_by_the_means():
    """|E(estimate − oracle)| is at most E|estimate − oracle|, but for rounding; two cells break it."""
    means = evaluators(1).pivot(index=["dataset", "learner"], columns="estimator", values="mean")
    mae = evaluators(2).pivot(index=["dataset", "learner"], columns="estimator", values="mae")
    short = (means[ESTIMATORS].sub(means["oracle"], axis=0).abs() - mae[ESTIMATORS]).stack()
    broken = short[short > 0.015]
    assert broken.round(2).to_dict() == {
        ("miniimagenet", "protonet", "bootstrap"): 1.99,
        ("meta-album", "maml", "bootstrap"): 0.75,
    }
    marked = evaluators(2).query("note.str.startswith('below the difference')")
    assert set(marked.set_index(["dataset", "learner", "estimator"]).index) == set(broken.index)


def test_evaluators_choosing_by_the_oracle_beats_every_choice():
    t = evaluators(5).pivot(index="dataset", columns="estimator", values="mean")
    best = evaluators(1).query("estimator == 'oracle'").groupby("dataset")["mean"].max()
    assert (t["oracle"] > t[ESTIMATORS].max(axis=1)).all() and (t["oracle"] > best).all()


# ---- the FewSTAB paper

FEW_SETS = ["miniimagenet", "tieredimagenet", "cub"]
TEN = ["anil", "leo", "boil", "protonet", "dn4", "r2d2", "can", "renet", "baseline++", "rfs"]
CAPTIONERS = ["vit-gpt2", "blip"]


def fewstab(n):
    return pd.read_csv(PUBLISHED / f"fewstab_table{n}.csv")


def supports(kind):
    """Cells of Table S5 or S6: ten learners on random tasks and in three ways, and the average of each way."""
    ways = [f"{kind}{i}" for i in (1, 2, 3)]
    return [*product(FEW_SETS, TEN, ["random", *ways]), *product(FEW_SETS, ["average"], ways)]


@pytest.mark.parametrize(
    "n, cells",
    [
        (2, [*product(FEW_SETS, CAPTIONERS)]),
        (4, [*product(FEW_SETS, [1, 5])]),
        (6, [*product(FEW_SETS, [1, 5])]),
        (3, [*product(FEW_SETS, [1, 5], TEN, ["wacc-a", "wacc-r"])]),
        (5, [("miniimagenet", f"qc{i}") for i in (1, 2, 3)]),
        ("S1", [*product(FEW_SETS, ["train", "val", "test"])]),
        ("S5", supports("sc")),
        ("S6", supports("qc")),
        ("S7", [*product(FEW_SETS, [1, 5], TEN, ["acc", "wacc-a"])]),
        ("S8", [*product(FEW_SETS, [1, 5], TEN, CAPTIONERS)]),
        ("S9", [*product(["miniimagenet"], ["unisiam", "psco", "beclr"], [1, 5], ["random", *CAPTIONERS])]),
        ("S10", [*product(["miniimagenet"], ["maml", "mn", "sib", "mtl"], [1, 5], ["no", "yes"])]),
    ],
)
def test_fewstab_cells(n, cells):
    t = fewstab(n)
    assert sorted(map(tuple, t.iloc[:, : len(cells[0])].to_numpy().tolist())) == sorted(cells)
    assert set(t["reading"]) <= {"printed", "restored"} and t.loc[t["reading"] != "printed", "note"].notna().all()
    assert (t["reading"] != "printed").sum() == (n == "S5")
    if "half_width" in t:
        assert t["half_width"].between(0.2, 1.05).all() and t["mean"].between(9, 91).all()
    if "correlation" in t:
        assert t["correlation"].between(0.9, 1).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, *(f"S{i}" for i in range(1, 12))])
def test_fewstab_readme(n):
    readme = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"\| `fewstab_table{n}.csv` \|.*\| {len(fewstab(n))} \|", readme)


def test_fewstab_numbers_printed_twice_agree():
    keys = ["dataset", "shots", "learner"]
    three = fewstab(3).set_index([*keys, "metric"])[["mean", "half_width"]]
    biased = three.xs("wacc-a", level="metric").sort_index()
    for n, column, value in (("S7", "metric", "wacc-a"), ("S8", "captioner", "vit-gpt2")):
        again = fewstab(n).query(f"{column} == '{value}'").set_index(keys)[["mean", "half_width"]].sort_index()
        pd.testing.assert_frame_equal(biased, again)
    means = three["mean"].xs(5, level="shots").unstack("metric")
    for n, last in (("S5", "sc3"), ("S6", "qc3")):
        ten = fewstab(n).query("learner != 'average'")
        wacc = ten.pivot(index=["dataset", "learner"], columns="tasks", values="wacc")
        assert (wacc["random"] == means["wacc-r"]).all() and (wacc[last] == means["wacc-a"]).all()
    eleven = fewstab("S11").query("statistic == 'correlation'").set_index(["dataset", "shots"])["value"]
    assert (eleven == fewstab(6).set_index(["dataset", "shots"])["correlation"]).all()


@pytest.mark.parametrize("n", ["S5", "S6"])
def test_fewstab_gaps_are_differences(n):
    t = fewstab(n).query("learner != 'average'")
    random = t.query("tasks == 'random'").set_index(["dataset", "learner"])["wacc"]
    t = t.query("tasks != 'random'").set_index(["dataset", "learner"])
    assert np.allclose(random.reindex(t.index) - t["wacc"], t["gap"], atol=1e-9)


def test_fewstab_training_settings():
    t = pd.concat([fewstab(n) for n in ("S2", "S3", "S4")]).set_index(["dataset", "learner"])
    episodic = t["train_shots"].notna()
    assert t.groupby(level="dataset").size().tolist() == [18] * 3 and episodic.sum() == 48
    assert set(t.index[~episodic].get_level_values("learner")) == {"baseline++", "rfs"}
    assert (t["batch_size"].notna() == ~episodic).all() and set(t["batch_size"].dropna()) == {64, 128}
    assert (t[["episodes", "episode_size"]].notna().all(axis=1) == episodic).all()
    assert set(t["optimizer"]) == {"Adam", "SGD"} and set(t["epochs"]) == {60, 100, 200}
    assert t["scheduler"].dropna().str.fullmatch(r"CosineAnnealingLR|StepLR\(.*\)|MultiStepLR\(.*\)").all()
    assert t["learning_rate"].between(5e-4, 0.1).all()


def test_fewstab_splits():
    t = fewstab("S1").set_index(["dataset", "split"])
    assert t["classes"].groupby("dataset").sum().to_dict() == {"cub": 200, "miniimagenet": 100, "tieredimagenet": 608}
    assert (t.loc["miniimagenet", "images"] == 600 * t.loc["miniimagenet", "classes"]).all()


# ---- the ledger


@pytest.fixture(scope="module")
def ledger():
    return yaml.safe_load((ROOT / "book" / "ledger.yml").read_text(encoding="utf-8"))["items"]


def test_ledger_holds_every_item(ledger):
    assert len(ledger) == 48
    assert len({i["id"] for i in ledger}) == 48
    papers = pd.Series([i["paper"] for i in ledger]).value_counts().to_dict()
    assert papers == {"oops": 12, "evaluators": 13, "fewstab": 23}
    want = {f"oops-{k}-{n}" for k in ("table", "figure") for n in range(1, 7)}
    want |= {f"evaluators-table-{n}" for n in range(1, 6)} | {f"evaluators-figure-{n}" for n in range(1, 9)}
    want |= {f"fewstab-table-{n}" for n in [*range(2, 7), *(f"s{i}" for i in range(1, 12))]}
    want |= {f"fewstab-figure-{n}" for n in [3, 4, 5, 6, "s1", "s2", "s3"]}
    assert {i["id"] for i in ledger} == want


def test_ledger_values(ledger):
    for i in ledger:
        assert set(i) == {"id", "paper", "item", "what", "chapter", "how", "profile", "status", "verdict"}, i
        kind, num = i["item"].split()
        assert i["id"] == f"{i['paper']}-{kind}-{num}".lower()
        assert i["what"] and "\n" not in i["what"] and len(i["what"]) < 120
        assert i["how"] and set(i["how"]) <= {"released", "live", "adapted", "derived", "settings"}, i
        assert len(set(i["how"])) == len(i["how"])
        assert i["chapter"] and i["verdict"], i


COMPARED = re.compile(r"\bprint(ed|s)\b|\bthe paper\b|\breleased\b")


def test_the_status_of_each_item_follows_from_its_verdict(ledger):
    """What is judged is compared with the paper in the verdict; settings, and they alone, are as printed."""
    for i in ledger:
        assert (i["status"] == "printed") == (i["how"] == ["settings"]), i["id"]
        if i["status"] in ("reproduced", "partly", "differs"):
            assert COMPARED.search(i["verdict"]), i["id"]
    assert len({i["status"] for i in ledger}) == 5


def test_the_ledger_calls_no_other_experiment_the_same(ledger):
    """FewSTAB with rules on pixels in the place of its captioners is adapted; its tables of settings are no results."""
    how = {i["id"]: i["how"] for i in ledger if i["paper"] == "fewstab"}
    settings = [f"fewstab-table-s{n}" for n in range(1, 5)]
    assert [how.pop(name) for name in settings] == [["settings"]] * 4
    assert all("adapted" in of and "live" not in of for of in how.values())


def test_each_item_says_which_profile_fills_it(ledger):
    """Settings, and curves of two Gaussians, rest on no data of a paper; all others on that of their own."""
    none = {i["id"] for i in ledger if i["profile"] == "none"}
    assert none == {"oops-figure-2", "oops-figure-3", *(f"fewstab-table-s{n}" for n in range(1, 5))}
    filled = pd.Series([i["profile"] for i in ledger if i["profile"] != "none"]).value_counts().to_dict()
    assert filled == {"oops": 10, "evaluators": 13, "fewstab": 19}
    for i in ledger:
        path = ROOT / "profiles" / f"{i['profile']}.yml"
        if path.is_file():
            assert i["chapter"] in yaml.safe_load(path.read_text(encoding="utf-8")), i["id"]
    assert (ROOT / "profiles" / "oops.yml").is_file()


# ---- the references


def test_references_parse():
    pybtex = pytest.importorskip("pybtex.database")
    entries = pybtex.parse_file(str(ROOT / "book" / "references.bib")).entries
    assert {"lafargue2024oops", "shimabucoro2024evaluating", "zheng2024benchmarking"} <= set(entries)
    for key, e in entries.items():
        assert e.persons.get("author") and e.fields.get("title") and e.fields.get("year"), key


def test_the_readme_shows_what_is_printed_and_concludes_from_the_paired_comparison(table2):
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("−", "-")
    rows = re.findall(r"^\| (?:images reused|each image)[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$", readme, re.MULTILINE)
    assert len(rows) == 3
    for (*cells, _), sampling in zip(rows, ("closed", "open")):
        for cell, learner in zip(cells, ("lr", "ft")):
            assert cell.strip() == "{:.2f} ± {:.2f}".format(*table2["dtd", "clip", learner, sampling])
    pair = "dataset == 'dtd' and a_backbone == b_backbone == 'clip' and b_learner == 'lr'"  # fine-tuning minus LR
    assert symbols(3).query(pair)[["open", "paired"]].to_numpy().tolist() == [["0", "-"]]
    assert "decide nothing" in rows[1][-1] and "LR is better" in rows[2][-1]
    printed = read("table6").query(pair).sort_values("shots")
    differences = re.findall(r"(-\d\.\d{3}) ± (\d\.\d{3})", readme)
    assert differences == [(f"{m:.3f}", f"{h:.3f}") for m, h in zip(printed["mean"], printed["half_width"])]
