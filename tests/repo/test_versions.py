"""Versions in cache keys: code that decides what is kept cannot change without its version, or a word that it may.

Content decides a key: images, weights, tasks, settings. Code does not, except by a version that stands in the key, and
that a person raises. `VERSIONS` (``code_versions.json``) holds each with a digest of the code it stands for, as
Python parses it: comments, docstrings, annotations and the words of errors do not count.

    python tests/repo/test_versions.py    # writes the digests: a version was raised, or a change gives the same results
"""

import ast
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fslbook import coloured_glyphs
from fslbook.attributes import matrix, pixels
from fslcore import learners
from fslcore.catalogue import registered_learners
from fslcore.datasets import Images, folder
from fslcore.models import backbone, backbones, features, text
from fslcore.paths import ROOT

KEPT = Path(__file__).with_name("code_versions.json")

MODELS, IN, OF_BOOK = "fslcore/models", "fslcore/learners", "book/fslbook/learners"
SHARED = [f"{IN}/common.py", f"{OF_BOOK}/common.py"]
ADAPTED = [f"{OF_BOOK}/maml.py", f"{IN}/common.py", f"{MODELS}/backbone.py:Backbone.preprocess"]


def file_of(learner: str) -> str:
    module = learners.learner_class(learner).__module__.replace(".", "/")
    return f"book/{module}.py" if module.startswith("fslbook") else f"{module}.py"


# Key: what is raised, and where; the code that it stands for, whole files or names in them.
CODE = {
    "features": (
        f"COMPUTED in {MODELS}/features.py",
        lambda: features.COMPUTED,
        [
            f"{MODELS}/networks.py",
            f"{MODELS}/fused.py",
            f"{MODELS}/features.py:BATCH,LARGE,CACHED,compute,_at_once,_for_features",
        ],
    ),
    "preprocessing": (
        f"PREPARED in {MODELS}/backbone.py",
        lambda: backbone.PREPARED,
        [f"{MODELS}/backbone.py:Backbone.preprocess,Backbone.side"],
    ),
    "names": (
        f"EMBEDDED in {MODELS}/text.py",
        lambda: text.EMBEDDED,
        [f"{MODELS}/text.py:names_embedded", f"{MODELS}/registry.py:_clip_text"],
    ),
    "coloured": (
        "DRAWING in book/fslbook/coloured_glyphs.py",
        lambda: coloured_glyphs.DRAWING,
        [
            "book/fslbook/coloured_glyphs.py:SIDE,COLOURS,TEXTURES,PLACES,load_coloured,_glyphs,_Drawings,_drawings,_placed,"
            "_pattern"
        ],
    ),
    "folder": (
        "DECODING in fslcore/datasets/folder.py",
        lambda: folder.DECODING,
        ["fslcore/datasets/decode.py", "fslcore/datasets/folder.py:_Reader"],
    ),
    "pixels": (
        "VERSION in book/fslbook/attributes/pixels.py",
        lambda: pixels.VERSION,
        [
            "book/fslbook/attributes/pixels.py",
            "book/fslbook/attributes/matrix.py:from_facts,from_words",
        ],
    ),
    "captions": (
        "EXTRACTION in book/fslbook/attributes/matrix.py",
        lambda: matrix.EXTRACTION,
        ["book/fslbook/attributes/matrix.py:NOUNS,_parsed,_words,_compounds,_parser,from_words"],
    ),
}
OF_LEARNERS = {
    **{
        name: [file_of(name), *(SHARED if file_of(name).startswith(OF_BOOK) else SHARED[:1])]
        for name in registered_learners
    },
    "ft": [f"{IN}/finetune.py", f"{IN}/common.py", f"{MODELS}/fused.py", ADAPTED[-1]],
    "maml": ADAPTED,
    "boil": [f"{OF_BOOK}/boil.py", *ADAPTED],
    **{
        f"{name}-ifsl": [f"{OF_BOOK}/ifsl.py", f"{OF_BOOK}/{name.replace('-', '_')}.py", *SHARED]
        for name in ("matchingnet", "maml-frozen", "mtl", "sib")
    },
    "simpleshot": [f"{IN}/simpleshot.py", f"{IN}/common.py", f"{MODELS}/features.py:base_mean"],
    "tip-adapter": [f"{OF_BOOK}/text.py:TipAdapter,name_embeddings", f"{IN}/common.py"],
    "text-probe": [
        f"{OF_BOOK}/text.py:TextProbe,name_embeddings",
        f"{IN}/logistic.py",
        f"{IN}/common.py",
    ],
}


def version_of(learner: str) -> int:
    """The version in a learner's key, which needs no weights to be read."""
    kind = learners.learner_class(learner)
    if kind.reads == "features":
        return kind().config()["version"]
    built = kind.__new__(kind)
    vars(built).update(epochs=1, steps=1, lr=1, head_lr=1, transductive=False)
    built.backbone = SimpleNamespace(digest="")
    return built.config()["version"]


for _name, _code in OF_LEARNERS.items():
    CODE[f"learner {_name}"] = (
        f'"version" in config() of {_code[0]}',
        lambda name=_name: version_of(name),
        _code,
    )


def plain(node) -> object:
    """A syntax tree as nested lists that are the same in every Python: without what does not decide a result."""
    if isinstance(node, list):
        return [plain(v) for v in node if not _silent(v)]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Raise):
        return ["Raise"]
    skipped = "annotation returns type_comment type_params kind".split()
    fields = {
        name: v for name, v in ast.iter_fields(node) if name not in skipped and v not in (None, [])
    }
    return [type(node).__name__, *([name, plain(v)] for name, v in fields.items())]


def _silent(node) -> bool:
    doc = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    return doc or isinstance(node, (ast.Import, ast.ImportFrom)) or "__all__" in names_of(node)


def names_of(node) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign):
        return [getattr(node.target, "id", "")]
    return [getattr(node, "name", "")]


def named(body: list, name: str) -> ast.AST:
    first, _, inner = name.partition(".")
    (current,) = (node for node in body if first in names_of(node))
    return named(current.body, inner) if inner else current


def digest(places: list[str], read=lambda path: (ROOT / path).read_text("utf-8")) -> str:
    parts = []
    for place in places:
        path, _, names = place.partition(":")
        body = ast.parse(read(path)).body
        # The version itself is no code that it stands for.
        nodes = [node for node in body if not {"VERSION", "DRAWING"} & set(names_of(node))]
        parts.append(plain([named(body, name) for name in names.split(",")] if names else nodes))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def current() -> dict:
    return {
        key: {"version": version(), "code": digest(code)}
        for key, (_, version, code) in CODE.items()
    }


@pytest.mark.parametrize("key", CODE)
def test_code_of_what_is_kept_changes_with_its_version(key):
    raised, version, code = CODE[key]
    stored, now = json.loads(KEPT.read_text())[key], {"version": version(), "code": digest(code)}
    if now == stored:
        return
    files = ", ".join(code)
    if now["version"] == stored["version"]:
        pytest.fail(
            f"{key}: code in {files} changed. If it gives other results, raise {raised}, or what was kept is served "
            "stale. Then, or if all results stay the same to the last bit, run: python tests/repo/test_versions.py"
        )
    pytest.fail(
        f"{key}: its version is {now['version']}, no longer {stored['version']}; "
        "run: python tests/repo/test_versions.py"
    )


def test_every_learner_has_a_version_that_is_looked_at():
    assert set(json.loads(KEPT.read_text())) == set(CODE)


def test_a_version_decides_its_key(monkeypatch, tmp_path):
    """Raised, it gives another key: what was kept is not found."""
    images = np.zeros((2, 4, 4, 3), np.uint8)
    built = Images("x", images, np.array([0, 1]), ["a", "b"])
    model = backbones.Backbone("x", "", "", 4, None, (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "w")
    before = backbones.feature_key(built, model)
    for module, name in ((features, "COMPUTED"), (backbone, "PREPARED")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, "other")
            assert backbones.feature_key(built, model) != before
    digest_before = coloured_glyphs.load_coloured("hebrew", per_class=2).digest
    monkeypatch.setattr(coloured_glyphs, "DRAWING", "coloured 0")
    assert coloured_glyphs.load_coloured("hebrew", per_class=2).digest != digest_before


if __name__ == "__main__":
    KEPT.write_text(json.dumps(current(), indent=1) + "\n")
    print(f"{KEPT}: {len(CODE)} versions")
