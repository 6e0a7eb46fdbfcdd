"""A data set by one string, as used in notebooks and on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import sources
from ..catalogue import registered_datasets
from ..errors import InputError, quoted, suggestion, whole
from ..paths import at_home
from .listing import PARTED_RELEASES, READERS, cards

if TYPE_CHECKING:
    from .images import Images

__all__ = ["check_name", "fetchable", "load", "names", "path_forms", "reader", "source_of"]

Settings = dict[str, Any]  # of a reader, by the names of its arguments


def _colour(ground: str) -> str:
    from .decode import colour  # late, with Pillow

    return colour(ground)


SETTINGS: dict[
    str, Mapping[str, Callable[[str], Any]]
] = {  # after a question mark: settings of the readers
    "folder": {"ground": _colour, "white": float},
    "cub": {"splits": str},
    "meta-album": {"test_set": int},
    "quickdraw": {"per_class": int},
    **{name: {"part": str} for name in PARTED_RELEASES},
}
#: Settings that a fetched data set requires, where papers split it differently.
NEEDED: dict[str, tuple[str, tuple[object, ...]]] = {
    "cub": ("splits", ("chen", "fewstab", "meta-dataset")),
    "meta-album": ("test_set", (0, 1, 2)),
}


def reader(name: str) -> Callable[..., Images]:
    """The reader of the user's own data, by a name of `fslcore.datasets.listing.READERS`; it takes
    a path and a split.
    """
    from .papers import PAPERS  # late, with pandas
    from .releases import load_quickdraw, load_release

    if name == "quickdraw":
        return load_quickdraw
    return PAPERS[name] if name in PAPERS else partial(load_release, name)


def names(split: str = "novel") -> list[str]:
    """Names of the embedded data sets, and of those that other packages make from them; for several
    domains, NAME/DOMAIN.
    """
    splits = {name: card["splits"] for name, card in cards().items()}
    for name, entry in registered_datasets().items():
        splits[name] = splits[entry.embedded]
    names = []
    for name, domains_by_split in sorted(splits.items()):
        domains = domains_by_split.get(split, {})
        if domains:
            names.append(name)
        if len(domains) > 1:
            names += [f"{name}/{domain}" for domain in domains]
    return names


def path_forms() -> list[str]:
    """Forms that name a folder: ``folder:PATH`` and one for each of the papers' data sets."""
    return [f"{kind}:PATH" for kind in ("folder", *READERS)]


def fetchable() -> dict[str, bool]:
    """Data sets that ``fslcore fetch`` brings: whether each is available, by name."""
    return {name: sources.at_hand(name) is not None for name in READERS}


def check_name(spec: str, split: str = "novel") -> None:
    """Raise `InputError` if `load` does not know the name; reads no image."""
    _read_as(spec, split)


def _read_as(text: str, split: str) -> tuple[str, str | Path, Settings]:
    """The kind of a data set, its folder or (for kind '') embedded name, and the settings."""
    spec, settings = _settings(text)
    kind, colon, path = spec.partition(":")
    if not colon and kind in READERS:
        return kind, _folder_of(text, kind, split, settings), settings
    if colon and f"{kind}:PATH" in path_forms():
        if not path:  # the empty path would be the current folder
            raise InputError(
                f"dataset must be {kind}:PATH with the path of a folder, got {quoted(spec)}"
            )
        if not at_home(path, "dataset").is_dir():
            raise InputError(f"dataset: no folder {path}")
        return kind, path, settings
    if spec not in names(split):
        allowed = [*names(split), *path_forms()]
        if Path(spec).exists():
            form = "features" if Path(spec).is_file() else "folder"
            similar = f" (did you mean {form}:{spec}?)"
        else:
            similar = suggestion(f"{kind}:PATH" if colon else spec, [*allowed, *READERS])
        raise InputError(
            f"dataset must be one of {', '.join(allowed)}, got {quoted(spec)}{similar}"
        )
    return "", spec, settings


def source_of(spec: str, split: str = "novel") -> str:
    """The name in `fslcore.sources` for a bare name: cub-fewstab for cub?splits=fewstab."""
    name, settings = _settings(spec)
    source = _source_of(name, split, settings)
    return sources.read().aliases.get(source, source)


def _source_of(name: str, split: str, settings: Settings) -> str:
    """NAME-SETTING or NAME-SPLIT, if it is a source of its own; else NAME."""
    for value in (*settings.values(), split):
        if f"{name}-{value}" in sources.read().data:
            return f"{name}-{value}"
    return name


def _folder_of(text: str, name: str, split: str, settings: Settings) -> Path:
    """The folder of a fetched data set; some settings and splits have their own."""
    key, allowed = NEEDED.get(name, ("", ()))
    if key and key not in settings:
        raise InputError(
            f"dataset = {text}; papers split {name} differently, so name the split: "
            + ", ".join(f"{name}?{key}={value}" for value in allowed)
        )
    source = _source_of(name, split, settings)
    folder = sources.at_hand(source)
    if folder is None:
        raise InputError(
            f"dataset = {text}; {source} is not in {sources.data_folder()}: fslcore fetch {source} "
            f"brings it ({name}:PATH names a folder of yours)"
        )
    return folder


def load(spec: str, split: str = "novel", size: int | None = None) -> Images:
    """``clipart``, ``glyphs/latin`` …, ``folder:PATH`` for a folder of class folders, ``cub:PATH``
    and the like.

    ``dtd`` and the other names of `fetchable` are data sets brought by ``fslcore fetch``; they have
    the same content and digest as ``dtd:PATH``.

    ``folder:PATH?ground=black`` sets the background for transparent images in `load_folder`, and
    ``folder:PATH?white=4095`` the white level of deep images; ``cub:PATH?splits=meta-dataset``,
    ``meta-album:PATH?test_set=0``, ``quickdraw:PATH?per_class=1000`` and ``food101:PATH?part=test``
    select the split, set or images of a release.

    Parameters
    ----------
    spec : str
        One of `names` or of `path_forms`.
    split : str
        ``novel``, ``validation`` or ``base``; a folder of class folders has no splits and is
        read completely.
    size : int, optional
        Pixels, 8 to 2048, at which the user's own images are read and used
        (`fslcore.models.backbones.match_input_size`). By default images are read at the size of the backbone;
        those of `fslcore.datasets.papers`, and quickdraw, at their own pixels.

    Raises
    ------
    InputError
        A size for an embedded data set, whose pixels are fixed; an unknown name (the message lists
        the known ones) or missing folder; a name of `fetchable` with other numbers of classes and
        images than `fslcore.sources` lists; and as for the reader.
    """
    # Late: with pandas, Pillow and pyarrow.
    from .embedded import load_embedded
    from .folder import SIZES, load_folder

    if size is not None:
        whole("size", size, *SIZES)
    kind, path, settings = _read_as(spec, split)
    if kind:
        if size is not None:
            settings["size"] = size
        is_folder = kind == "folder"
        read = partial(load_folder, name=spec) if is_folder else partial(reader(kind), split=split)
        images = read(path, **settings)
        _check_counts(images, spec, split)
        if ":" not in spec:
            images = _called(images, spec)
        return replace(images, side=size)
    if size is not None:
        raise InputError(
            f"size = {size}; the pixels of {path} are fixed; {', '.join(path_forms())} take a size"
        )
    name, _, domain = str(path).partition("/")
    if name in registered_datasets():
        return _function_of(name)(domain or None, split=split, **settings)
    return load_embedded(name, split=split, domain=domain or None)


def _function_of(name: str) -> Callable[..., Images]:
    """The function that makes a registered data set; its module is imported when it is first asked for."""
    module, _, attribute = registered_datasets()[name].place.partition(":")
    function: Callable[..., Images] = getattr(import_module(module), attribute)
    return function


def _check_counts(images: Images, spec: str, split: str) -> None:
    """Refuse a data set with other numbers of classes and images than are listed."""
    source = sources.read().data.get(source_of(spec, split))
    if source is None or spec != source.reader:
        return
    if problem := source.miscount(split, len(images.class_names), len(images)):
        raise InputError(f"dataset = {spec}; {problem}; NAME:PATH reads a folder whatever it holds")


def _called(images: Images, name: str) -> Images:
    """The images under a name without a path of this machine, at every size."""
    read = images.at_size
    at_size = read and (lambda size: _called(read(size), name))
    return replace(images, name=name, at_size=at_size)


def _settings(spec: str) -> tuple[str, Settings]:
    """Name and settings of ``NAME?KEY=VALUE&KEY=VALUE``; a path may contain a question mark."""
    has_path = ":" in spec
    name, mark, query = spec.rpartition("?") if has_path else spec.partition("?")
    kind = name.partition(":" if has_path else "/")[0]
    allowed = SETTINGS.get(kind, {})
    if not has_path and kind in registered_datasets():
        allowed = registered_datasets()[kind].settings
    first, equals, _ = query.partition("=")
    if not mark or (has_path and first not in allowed):
        # A path, unless the text before the question mark is one.
        if mark and equals and allowed and not _is_folder(spec) and _is_folder(name):
            raise _unknown(spec, first, allowed)
        return spec, {}
    if not allowed:
        raise InputError(f"dataset = {spec}; {name} takes no settings")
    settings: Settings = {}
    for part in query.split("&"):
        key, _, value = part.partition("=")
        if key not in allowed:
            raise _unknown(spec, key, allowed)
        try:
            settings[key] = allowed[key](value)
        except InputError:
            raise
        except ValueError:
            raise InputError(
                f"dataset = {spec}; {key} = {value} is not an allowed number"
            ) from None
    return name, settings


def _is_folder(spec: str) -> bool:
    return at_home(spec.partition(":")[2], "dataset").is_dir()


def _unknown(spec: str, key: str, allowed: Iterable[str]) -> InputError:
    can = f"{', '.join(allowed)} can be set, not {key or 'nothing'}"
    return InputError(f"dataset = {spec}; {can}{suggestion(key, allowed)}")
