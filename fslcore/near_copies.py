"""Near-copies: images that show nearly the same, by a perceptual hash of pixels and by features of a backbone."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from PIL import Image
from scipy import fft, sparse
from tqdm import tqdm

from . import evaluation
from .datasets import Images, Source, load
from .errors import InputError, choice, number, visible, whole
from .models import backbones
from .paths import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RULES", "Copies", "find", "sheet", "write_sheet"]

RULES = ("either", "both", "hash", "features")
SIDE, LOW = 32, 8  # pixels of the grey image that is hashed, and its lowest frequencies, per side
Apart = tuple[
    np.ndarray | None, np.ndarray | None, np.ndarray | None
]  # bits, and distances of frequencies and features
BLOCK = 256  # images compared with all others at a time
SAMPLE = 1000  # sample for a threshold
OWN, OTHERS, MISTAKEN, LEAST, MOST = 0.95, 0.01, 0.05, 0.9, 0.99  # shares of images: see `find`
THUMBNAIL = 48  # pixels per side of the smallest generated copies
EXACT = 1e-3  # bits or distance
WITHOUT_PIXELS = 0.05  # the largest distance of features without images
STEPS = {"half": 0.5, "the threshold": 1.0, "half as much again": 1.5}


@dataclass(frozen=True)
class Copies:
    """Result of `find`.

    Attributes
    ----------
    name : str
        Name of the data set.
    images : DataFrame
        One row per image, N in all: ``split``, ``image`` (its name), ``class``, ``group`` (a whole number; images
        connected by near-copies, over any number of steps, share one) and its nearest image: ``nearest`` (a row),
        ``bits``, ``frequencies`` and ``distance`` to it, and ``closeness``, up to 1 for near-copies.
    pairs : DataFrame
        Numbers of pairs up to the threshold, half of it and half as much again: within a class, across classes of a
        split, and across splits.
    by : str
        One of `RULES`.
    bits : int or None
        The largest number of differing bits out of 64; None if hashes are not used.
    frequencies : float or None
        The largest cosine distance of the hashed frequencies; None if they are not used.
    distance : float or None
        The largest cosine distance of features; None if they are not used.
    reference : dict
        The basis of ``bits`` and ``distance`` that were not given: ``own`` and ``others``, each with both values.
    shares : dict
        Of a sample of images, the share whose own copy is a near-copy at these thresholds, for each kind of copy in
        `CHANGES`; and ``others``, the share with a near-copy of another class. Empty for features without images.
    sources : of Images
        The data sets of the images, in this order; empty for features without images.
    """

    name: str
    images: pd.DataFrame
    pairs: pd.DataFrame
    by: str
    bits: int | None
    frequencies: float | None
    distance: float | None
    reference: dict = field(default_factory=dict)
    shares: dict = field(default_factory=dict)
    sources: Sequence[Images] = field(default=(), repr=False)

    @property
    def sizes(self) -> pd.Series:
        """Number of images of each group of two or more, in descending order."""
        sizes = self.images["group"].value_counts(sort=True)
        return sizes[sizes > 1]

    @property
    def missed(self) -> float | None:
        """Share of images whose own copy is not found, for the kind found least; None without images."""
        return 1 - min(self.shares[change] for change in CHANGES) if self.shares else None

    @property
    def rule(self) -> str:
        """The rule for near-copies, in words."""
        said = [
            f"at most {self.bits} of {LOW * LOW} bits of their hashes differ" if self.bits is not None else "",
            f"their low frequencies are at most {self.frequencies:.2g} apart (cosine)" if self.frequencies else "",
            f"their features are at most {self.distance:.4f} apart (cosine)" if self.distance is not None else "",
        ]
        return (" and " if self.by == "both" else " or ").join(filter(None, said))

    def examples(self, each: int = 4) -> pd.DataFrame:
        """Pairs for judging the threshold: the nearest, the last below it, and the first above; ``each`` of a kind."""
        each = whole("each", each, least=1)
        far = ["bits", "frequencies", "distance"] if self.frequencies else ["bits", "distance"]
        near = self.images[["nearest", *far, "closeness"]].rename_axis("a").reset_index()
        near = near[near["nearest"] >= 0]
        ends = np.sort(near[["a", "nearest"]].to_numpy(), axis=1)
        near = near.assign(a=ends[:, 0], b=ends[:, 1]).drop_duplicates(["a", "b"])
        near = near.sort_values(["closeness", "distance", "bits", "a"], kind="stable")
        below, beyond = near[near["closeness"] <= 1], near[near["closeness"] > 1]
        rest = below.iloc[each:]
        kinds = {"nearest": below[:each], "last below": rest[max(len(rest) - each, 0) :], "first beyond": beyond[:each]}
        found = pd.concat([part.assign(pair=kind) for kind, part in kinds.items()], ignore_index=True)
        names, classes = self.images["image"].to_numpy(), self.images["class"].to_numpy()
        found = found.assign(same_class=classes[found["a"]] == classes[found["b"]])
        found = found.assign(first=names[found["a"]], second=names[found["b"]])
        return found[["pair", *far, "same_class", "first", "second", "a", "b"]]

    def lines(self) -> list[str]:
        """The result in words and tables."""
        splits = self.images.groupby("split", sort=False)["class"].agg(["size", "nunique"])
        counts = ", ".join(f"{r['size']:,} images of {r['nunique']} classes ({s})" for s, r in splits.iterrows())
        rests = [
            f"{what}: " + ", ".join(f"{x:.4f}" if unit == "apart" else f"{x:.0f} {unit}" for x, unit in of)
            for what, key in (
                (f"{OWN:.0%} of images and their own copies, re-encoded and rescaled, are within", "own"),
                (f"{OTHERS:.0%} of images have one of another class within", "others"),
            )
            if (of := [(x, u) for x, u in zip(self.reference.get(key, ()), ("bits", "apart")) if x is not None])
        ]
        if self.shares:
            rests.append("own copies found: " + ", ".join(f"{self.shares[c]:.0%} {c}" for c in CHANGES))
            rests.append(f"{self.shares['others']:.0%} of images have a near-copy of another class")
            if self.missed > 1 - LEAST:
                rests.append(
                    f"WARNING: {self.missed:.0%} of such copies are missed, so tasks that keep these groups apart may "
                    "have copies on both sides; look at the pairs (--sheet), and give larger --bits or --distance"
                )
        sizes, n = self.sizes, len(self.images)
        largest = f"; the largest has {sizes.max()}" if len(sizes) else ""
        return [
            f"{self.name}: {counts}",
            f"near-copies: {self.rule}",
            *(f"  {line}" for line in rests),
            self.pairs.to_string(),
            f"{len(sizes):,} groups of two or more hold {sizes.sum():,} images ({sizes.sum() / n:.1%}){largest}",
            self.examples().drop(columns=["a", "b"]).round(4).to_string(index=False),
        ]

    def plain(self) -> dict:
        """Thresholds, numbers of pairs, sizes of groups and examples, for a program."""
        own = "by", "bits", "frequencies", "distance", "reference", "shares", "missed"
        return {
            "images": self.images.groupby("split", sort=False).size().to_dict(),
            **{name: getattr(self, name) for name in own},
            "pairs": self.pairs.T.to_dict(),
            "groups": self.sizes.tolist(),
            "examples": self.examples(),
        }

    def write(self, path: str | Path) -> None:
        """Write split, image, class and group of every image, and `missed`, to a .csv for `evaluation.groups_of`."""
        table = self.images[["split", "image", "class", "group"]]
        table = table.assign(**{"class": table["class"].map(visible)})
        if self.shares:
            table = table.assign(missed=round(self.missed, 4))
        replace_file(Path(path), lambda part: table.to_csv(part, index=False))


def find(
    dataset: str,
    backbone: str = "efficientnet-lite0",
    *,
    splits: Sequence[str] = ("novel",),
    by: str = "either",
    bits: int | None = None,
    distance: float | None = None,
    size: int | None = None,
    progress: bool = False,
) -> Copies:
    """Find near-copies within and across the classes and splits of a data set.

    Two images are near-copies if few of the 64 bits of their perceptual hashes differ, or if their features
    are near. No threshold fits all data: a large distance for photos is small for letters. A missing threshold
    is initially the smaller of two numbers. Within the first are 95 % of (a sample of) the images and their own copies,
    saved as JPEG of quality 75, or at 80 % of their size and back. Within the second, 1 % of the images have one of
    another class, exact copies excluded; beyond it, similar images are the same kind of picture rather than copies.

    A bit of a hash is random if its frequency is near the median, as many are in symmetric icons. And drawings of
    one object by two people can be as near by features as copies. So if these thresholds find less than 90 % of the
    own copies of some kind, including JPEG thumbnails of 48 pixels, near-copies are found by the distance of the
    frequencies themselves, instead of the hash and, for 'either', of features. This threshold maximises the share of
    own copies found, up to 99 %, minus the share of images with a near-copy of another class, which is at most 5 %. It
    is four times the distance of an own copy, the largest possible between two copies of an image. Given thresholds
    are kept, and with ``bits`` the hash. `Copies.missed` is the share of own copies that are not found.

    Check the pairs around the threshold (`Copies.examples`, `sheet`), and set your own. All pairs are compared,
    in blocks, so that memory grows with the number of images.

    Parameters
    ----------
    dataset : str
        As for `fslcore.evaluation.load_source`; ``features:PATH`` has no pixels, so only features are compared.
    backbone : str
        As for `fslcore.models.backbones.load`. Its features are taken from the cache if available.
    splits : of str
        Among novel, base and validation; several are searched together.
    by : str
        The rule for near-copies: 'either' of hash and features, 'both', 'hash' only or 'features' only.
    bits : int, optional
        The largest number of differing bits, 0 to 64.
    distance : float, optional
        The largest cosine distance of features, over 0 and up to 2.
    size : int, optional
        As for `fslcore.datasets.load`.
    progress : bool
        Show progress bars.

    Raises
    ------
    InputError
        As for the loaders; an unknown rule or split, a split twice; a threshold out of range or not used by the
        rule; hashes for features; fewer than 2 images.
    """
    choice("by", by, RULES)
    splits = [choice("split", s, ("novel", "validation", "base")) for s in splits]
    if not splits or len(set(splits)) < len(splits):
        raise InputError(f"splits = {' '.join(splits)}; each of novel, validation, base once, and at least one")
    bits = None if bits is None else whole("bits", bits, least=0, most=LOW * LOW)
    distance = None if distance is None else number("distance", distance, above=0, most=2)
    for name, given, other in (("bits", bits, "features"), ("distance", distance, "hash")):
        if given is not None and by == other:
            raise InputError(f"{name} = {given}; it is not used if near-copies are found by {other} alone")
    if dataset.startswith("features:"):
        sources = [evaluation.load_source(dataset, size)]
        if by not in ("either", "features") or bits is not None or splits != ["novel"]:
            raise InputError(f"dataset = {dataset}; there are no pixels to hash and no splits; use only features")
        by = "features"
    else:
        sources = [load(dataset, split, size) for split in splits]
    table = pd.concat([_rows(source, split) for source, split in zip(sources, splits)], ignore_index=True)
    if len(table) < 2:
        raise InputError(f"dataset = {dataset}; it holds {len(table)} image; at least 2 are needed")
    model = None
    if by != "hash" and sources[0].needs_backbone:
        model = evaluation.load_backbone(backbone)
        sources, models = zip(*(backbones.fitted(source, model) for source in sources))
        model = models[0]
    hashed = waves = features = None
    if by != "features":
        seen = [_hashed(source.images, progress=progress) for source in sources]
        hashed, waves = np.concatenate([of[0] for of in seen]), torch.cat([of[1] for of in seen])
    if by != "hash":
        found = [backbones.features(s, model, progress=progress) if s.needs_backbone else s for s in sources]
        features = torch.nn.functional.normalize(torch.cat([f.data for f in found]).float(), dim=1)
    classes = pd.factorize(table["split"] + " " + table["class"])[0]

    known = hashed, waves, features
    own = _own(sources, model, known) if sources[0].needs_backbone else {}
    others = _others(known, classes)
    reference = {"others": _few(others)} | ({"own": _most([own[change] for change in SLIGHT])} if own else {})
    alone = by == "hash" or (by == "either" and distance is None)
    if features is not None and distance is None:
        most = [of[1] for of in reference.values()] + ([] if own else [WITHOUT_PIXELS])
        distance = float(max(1e-6, min(most)))
    if hashed is not None and bits is None:
        most = min(of[0] for of in reference.values()), None, distance
        if classes.any():  # without another class, false positives cannot be estimated
            most = _found(own, others, by, most, alone)
    else:
        most = bits, None, distance
    apart = own | ({"others": others} if own else {})
    shares = {name: float((_closeness(of, by, most) <= 1).mean()) for name, of in apart.items()}
    split_of = pd.factorize(table["split"])[0]
    compared = _compare(known, classes, split_of, by, most, progress)
    pictures = tuple(sources) if sources[0].needs_backbone else ()
    return Copies(dataset, table.assign(**compared[0]), compared[1], by, *most, reference, shares, pictures)


def _hashed(images: np.ndarray, *, progress: bool = False) -> tuple[np.ndarray, torch.Tensor]:
    """Perceptual hashes, (N,) of 64 bits, and their frequencies, (N, 63) of length 1: all but the first, the mean grey.

    The hashes are those of ``phash`` of the package ImageHash: a bit says whether one of the lowest 8 × 8 cosine
    frequencies of the grey image, at 32 × 32 pixels, is above their median (Zauner, 2010). Copies differ in few bits;
    unrelated images in half of them.
    """
    out, waves = np.empty(len(images), np.uint64), np.empty((len(images), LOW * LOW - 1), np.float32)
    with tqdm(total=len(images), desc="hashes", unit="image", delay=5, disable=not progress) as bar:
        for at in range(0, len(images), BLOCK):
            part = images[at : at + BLOCK]
            grey = np.stack([np.asarray(_picture(i).convert("L").resize((SIDE, SIDE), LANCZOS)) for i in part])
            low = fft.dctn(grey.astype(float), axes=(1, 2))[:, :LOW, :LOW].reshape(len(part), -1)
            over = low > np.median(low, axis=1, keepdims=True)
            out[at : at + len(part)] = np.packbits(over, axis=1).view(">u8")[:, 0]
            low = low[:, 1:]
            waves[at : at + len(part)] = low / np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1)
            bar.update(len(part))
    return out, torch.from_numpy(waves)


LANCZOS = Image.Resampling.LANCZOS


def _picture(image: np.ndarray) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(image[..., 0] if image.shape[-1] == 1 else image))


def _rows(source: Source, split: str) -> pd.DataFrame:
    classes = source.classes
    names = source.names
    return pd.DataFrame({"split": split, "image": names, "class": classes.astype(str)})


def _apart(known: tuple, rows: slice | np.ndarray, columns: slice) -> Apart:
    """Distances of some images from others, by hashes (N,), frequencies (N, 63) and features (N, D)."""
    hashed, *vectors = known
    bits = None if hashed is None else np.bitwise_count(hashed[rows, None] ^ hashed[None, columns])
    return bits, *(None if of is None else (1 - of[rows] @ of[columns].T).clamp_(min=0).numpy() for of in vectors)


def _closeness(apart: Apart, by: str, most: tuple) -> np.ndarray:
    """Up to 1 for near-copies at these thresholds of bits, frequencies and features; None is not used."""
    bits, *distances = apart
    parts = [] if most[0] is None else [(bits.astype(np.float32) + 1) / (most[0] + 1)]
    parts += [of / np.float32(least) for of, least in zip(distances, most[1:]) if least is not None]
    return parts[0] if len(parts) == 1 else (np.maximum if by == "both" else np.minimum)(*parts)


def _others(known: tuple, classes: np.ndarray) -> Apart:
    """The distance of each of a sample of images from the nearest of another class.

    Images with an exact copy there do not count: they are an error in the data, not a chance similarity.
    """
    n = len(classes)
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(int))
    nearest = [[], [], []]
    for part in np.array_split(rows, -(-len(rows) // BLOCK)):
        same = classes[part, None] == classes[None]
        for kept, values, far in zip(nearest, _apart(known, part, slice(None)), (LOW * LOW, 2, 2)):
            if values is not None:
                kept.append(np.where(same, far, values).min(axis=1))
    nearest = [np.concatenate(kept) if kept else None for kept in nearest]
    exact = np.logical_and.reduce([values < EXACT for values in nearest[::2] if values is not None])
    if exact.all():
        return tuple(None if values is None else np.zeros_like(values) for values in nearest)
    return tuple(None if values is None else values[~exact] for values in nearest)


def _few(others: Apart) -> tuple[int | None, float | None]:
    """The bits and the distance up to which at most 1 % of the images of `_others` have one of another class."""
    bits, _, distance = others
    if bits is not None:  # the integer below that of the first image too many
        bits = max(0, int(np.quantile(bits, OTHERS, method="higher")) - 1)
    return bits, None if distance is None else float(np.quantile(distance, OTHERS, method="lower"))


def _own(sources, model, known: tuple) -> dict[str, Apart]:
    """The distances of a sample of images from their own copies, for each of `CHANGES`."""
    hashed, waves, features = known
    sizes = [len(source) for source in sources]
    rows = np.unique(np.linspace(0, sum(sizes) - 1, min(sum(sizes), BLOCK)).astype(int))
    found = {change: ([], [], []) for change in CHANGES}
    for source, at in zip(sources, np.cumsum([0, *sizes])):
        of = rows[(rows >= at) & (rows < at + len(source))]
        for name, change in CHANGES.items() if len(of) else ():
            bits, low, distances = found[name]
            copies = np.stack([_changed(image, change) for image in source.images[of - at]])
            if hashed is not None:
                again, shape = _hashed(copies)
                bits.append(np.bitwise_count(again ^ hashed[of]))
                low.append((1 - (shape * waves[of]).sum(dim=1)).clamp_(min=0).numpy())
            if features is not None:
                made = Images("copies", copies, source.labels[of - at], source.class_names)
                seen = torch.nn.functional.normalize(backbones.compute(made, model).float(), dim=1)
                distances.append(1 - (seen * features[of]).sum(dim=1).numpy())
    return {change: tuple(np.concatenate(part) if part else None for part in of) for change, of in found.items()}


def _most(own: list[Apart]) -> tuple[int | None, float | None]:
    """The bits and the distance within which 95 % of images and their own copies are."""
    bits, _, distance = (None if of[0] is None else np.concatenate(of) for of in zip(*own))
    return (
        None if bits is None else int(np.quantile(bits, OWN, method="higher")),
        None if distance is None else float(np.quantile(distance, OWN)),
    )


def _found(own: dict[str, Apart], others: Apart, by: str, most: tuple, alone: bool) -> tuple:
    """These thresholds, or frequencies instead of the hash and, if better alone, of features, as in `find`."""

    def near(apart: Apart, most: tuple) -> float:
        return (_closeness(apart, by, most) <= 1).mean()

    def found(most: tuple) -> float:
        return min(near(apart, most) for apart in own.values())

    if found(most) >= LEAST:
        return most
    gains = {most: found(most) - near(others, most)}
    for far in np.unique(np.concatenate([waves for _, waves, _ in own.values()])).clip(EXACT**2).tolist():
        # Two copies of an image are up to twice as far from each other as from it, which is four times by the cosine.
        # For "both" the mistaken share is an upper bound: the nearest by frequencies may be far by features.
        seen, twice = ((None, times * far, None if alone else most[2]) for times in (1, 4))
        if (mistaken := near(others, twice)) <= MISTAKEN:
            gains[twice] = min(MOST, found(seen)) - mistaken
    return max(gains, key=gains.get)


def _changed(image: np.ndarray, change: Callable[[Image.Image], Image.Image]) -> np.ndarray:
    height, width = image.shape[:2]
    copy = change(_picture(image)).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(copy).reshape(image.shape)


def _encoded_again(picture: Image.Image) -> Image.Image:
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=75)
    return Image.open(written)


def _rescaled(picture: Image.Image) -> Image.Image:
    return picture.resize(tuple(max(1, side * 4 // 5) for side in picture.size), Image.Resampling.BICUBIC)


def _thumbnail(picture: Image.Image) -> Image.Image:
    picture.thumbnail((THUMBNAIL, THUMBNAIL), Image.Resampling.BICUBIC)
    return _encoded_again(picture)


SLIGHT = {"saved as JPEG": _encoded_again, "at 80 % of the size": _rescaled}
CHANGES = SLIGHT | {f"as thumbnails of {THUMBNAIL} pixels": _thumbnail}


def _compare(known: tuple, classes, splits, by: str, most: tuple, progress) -> tuple[dict, pd.DataFrame]:
    """The columns of `Copies.images` from the comparison of all pairs, and the numbers of pairs."""
    n, asked = len(classes), [None if least is None else of for of, least in zip(known, most)]
    nearest, closeness = np.full(n, -1), np.full(n, np.inf, np.float32)
    group, counts = np.arange(n), np.zeros((len(STEPS), 3), int)
    with tqdm(total=n, desc="comparing", unit="image", delay=5, disable=not progress) as bar:
        for at in range(0, n, BLOCK):
            rows, rest = np.arange(at, min(at + BLOCK, n)), slice(at, n)
            close = _closeness(_apart(asked, rows, rest), by, most)
            close[np.tril_indices(len(rows), m=close.shape[1])] = np.inf  # itself, and pairs already compared
            for axis, here, there in ((1, rows, at), (0, np.arange(at, n), at)):
                best = close.argmin(axis=axis)
                value = np.take_along_axis(close, np.expand_dims(best, axis), axis).squeeze(axis)
                nearer = value < closeness[here]
                nearest[here[nearer]], closeness[here[nearer]] = best[nearer] + there, value[nearer]
            i, j = np.nonzero(close <= max(STEPS.values()))
            values, i, j = close[i, j], i + at, j + at
            kind = np.where(splits[i] != splits[j], 2, (classes[i] != classes[j]).astype(int))
            counts += [np.bincount(kind[values <= step], minlength=3) for step in STEPS.values()]
            joined = values <= 1
            if joined.any():  # the groups that the pairs of this block join
                pairs = sparse.coo_array((np.ones(joined.sum(), bool), (group[i[joined]], group[j[joined]])), (n, n))
                group = sparse.csgraph.connected_components(pairs, directed=False)[1][group]
            bar.update(len(rows))
    found = {"group": pd.factorize(group)[0], "nearest": nearest}
    others = np.maximum(nearest, 0)
    hashed, *vectors = known
    found["bits"] = np.bitwise_count(hashed ^ hashed[others]) if hashed is not None else np.full(n, -1)
    for name, of in zip(("frequencies", "distance"), vectors):
        pair = (of * of[others]).sum(dim=1).numpy() if of is not None else np.full(n, np.nan)
        found[name] = np.maximum(1 - pair.astype(float), 0)
    found["closeness"] = closeness
    kinds = ["within a class", "across classes", "across splits"]
    table = pd.DataFrame(counts, pd.Index(list(STEPS), name="pairs up to"), kinds)
    return found, table.loc[:, kinds if len(np.unique(splits)) > 1 else kinds[:2]]


def sheet(found: Copies, each: int = 6) -> Figure:
    """The pairs of `Copies.examples` as pictures, with their distances; ≠ if their classes differ.

    Parameters
    ----------
    found : Copies
    each : int
        Pairs per kind.

    Raises
    ------
    InputError
        Features without images; ``each`` below 1.
    """
    if not found.sources:
        raise InputError(f"sheet: {found.name} has features, and no pictures to show")
    from matplotlib import pyplot as plt

    table = found.examples(each)
    kinds = list(dict.fromkeys(table["pair"]))
    figure = plt.figure(figsize=(1.7 * each, 1.35 * len(kinds) + 0.1), layout="constrained")
    rows = figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]
    for row, kind in zip(rows, kinds):
        row.suptitle(kind, x=0.01, ha="left", fontsize="medium")
        axes = row.subplots(1, 2 * each)
        for ax in axes:
            ax.axis("off")
        for ax, other, pair in zip(axes[::2], axes[1::2], table[table["pair"] == kind].itertuples()):
            for place, i in ((ax, pair.a), (other, pair.b)):
                place.imshow(_picture(_pixels(found.sources, i)), cmap="gray", vmin=0, vmax=255)
            said = [f"{pair.bits} bits"] * (pair.bits >= 0) + [f"{pair.distance:.3f}"] * (pair.distance >= 0)
            said += [f"{pair.frequencies:.1g}"] if found.frequencies else []
            ax.set_title(", ".join(said) + " ≠" * (not pair.same_class), fontsize="small", loc="left")
    return figure


def write_sheet(found: Copies, path: str | Path, each: int = 6) -> None:
    """Write the picture by `sheet` to a .png, .pdf or .svg."""
    from matplotlib import pyplot as plt

    figure = sheet(found, each)
    replace_file(Path(path), lambda part: figure.savefig(part, dpi=150))
    plt.close(figure)


def _pixels(sources: Sequence[Images], i: int) -> np.ndarray:
    for source in sources:
        if i < len(source):
            return source.images[i : i + 1][0]
        i -= len(source)
    raise IndexError(i)
