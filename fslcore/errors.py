"""The one exception for input that the user can correct, and the checks that raise it.

Every message is one line: the argument, what it must be, and what was found. Each check returns its value in the
checked type, so that ``tasks = whole("tasks", tasks, minimum=2)`` is one step.
"""

import difflib
import math
import numbers
import operator
import os
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from types import FrameType
from typing import SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")
U = TypeVar("U")
HUGE = 1e30  # magnitude of values whose powers are taken


class InputError(ValueError):
    """Bad input: the message is one line that names the argument, what it must be, and the value."""


def whole(name: str, value: object, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number from ``minimum`` to ``maximum``; booleans and 5.0 are refused.

    Raises
    ------
    InputError
        Another type, or outside the range.
    """
    integer = None
    if isinstance(value, SupportsIndex) and not isinstance(value, (bool, np.bool_)):
        with suppress(TypeError):  # an array of several numbers
            integer = operator.index(value)
    if integer is None or not _is_within(integer, minimum, maximum):
        raise InputError(
            f"{name} must be an integer{_range(minimum, maximum)}, got {quoted(value)}"
        )
    return integer


def number(
    name: str,
    value: object,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    over: float | None = None,
    under: float | None = None,
    infinite: bool = False,
) -> float:
    """A real number, with inclusive (minimum, maximum) or exclusive (over, under) bounds; never NaN.

    Parameters
    ----------
    infinite : bool
        Whether ±infinity is allowed too.

    Raises
    ------
    InputError
        Another type, NaN, infinity unless allowed, or outside the range.
    """
    scalar = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
    real = math.nan
    if isinstance(scalar, (numbers.Real, Decimal)) and not isinstance(scalar, bool):
        with suppress(OverflowError, ValueError):  # 10**400; a signalling NaN
            real = float(scalar)
    bounds = (minimum, maximum, over, under)
    if math.isnan(real) or not (infinite or math.isfinite(real)) or not _is_within(real, *bounds):
        is_bounded = any(bound is not None for bound in bounds)
        kind = "number" if infinite or is_bounded else "finite number"
        raise InputError(f"{name} must be a {kind}{_range(*bounds)}, got {quoted(value)}")
    return real


def flag(name: str, value: object) -> bool:
    """True or False.

    Raises
    ------
    InputError
        Anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False, got {quoted(value)}")
    return bool(value)


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """One of the allowed names.

    Raises
    ------
    InputError
        Another name; the message lists those allowed, and a similar one.
    """
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        similar = suggestion(value, names)
        listed = f"one of {len(names)} names" if similar and len(names) > 20 else either(names)
        raise InputError(f"{name} must be {listed}, got {quoted(value)}{similar}")
    return value


def suggestion(name: object, names: Iterable[str]) -> str:
    """``; did you mean '…'?`` if one of these names is similar, else an empty text."""
    similar = difflib.get_close_matches(name, list(names), 1) if isinstance(name, str) else []
    return f"; did you mean {similar[0]!r}?" if similar else ""


def either(names: Iterable[str]) -> str:
    """Names as a message lists those that are allowed: ``'open' or 'closed'``."""
    *others, last = [repr(name) for name in names]
    return f"{', '.join(others)} or {last}" if others else last


def floats(
    name: str,
    values: ArrayLike,
    ndim: int | None = 1,
    *,
    finite: bool = True,
    extreme: bool = False,
) -> NDArray[np.float64]:
    """An array of real numbers, as 64-bit floats.

    Parameters
    ----------
    ndim : int or None
        Number of dimensions; None for any.
    finite : bool
        Whether NaN and infinity are refused.
    extreme : bool
        Whether the largest magnitude may lie outside 1e-30 to 1e30, as that of p-values may. Elsewhere it may not, as
        variances of variances take eighth powers, which would overflow, or vanish.

    Raises
    ------
    InputError
        Not an array of real numbers (ragged, text, complex, objects), masked values, another
        number of dimensions, NaN or infinity, values that are all too small, or one that is too large, to compute with.
    """
    result = array(name, values, "an array of numbers", float)
    if result.dtype.kind not in "biuf":
        raise InputError(f"{name} must contain real numbers, got {result.dtype}")
    _check_dimensions(name, result, ndim)
    result = result.astype(float)
    if not finite:
        return result
    if not np.isfinite(result).all():
        n_refused = int((~np.isfinite(result)).sum())
        raise InputError(
            f"{name} must be finite, got NaN or infinity in {n_refused} of {result.size} values"
        )
    largest = np.abs(result).max(initial=0.0)
    if not extreme and largest and not 1 / HUGE <= largest <= HUGE:
        raise InputError(
            f"{name} must have a largest magnitude of 0 or {1 / HUGE:g} to {HUGE:g}, got {largest:g}"
        )
    return result


def broadcast(**values: ArrayLike) -> list[NDArray[np.float64]]:
    """Arrays of numbers, broadcast against each other; raises `InputError` if they do not."""
    arrays = {name: floats(name, value, None, finite=False) for name, value in values.items()}
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
        raise InputError(f"arrays must have shapes that broadcast, got {shapes}") from None


def wholes(name: str, values: ArrayLike, ndim: int | None = None) -> np.ndarray:
    """An array of whole numbers, unchanged except that unsigned types become signed, so that -1 is possible.

    Raises
    ------
    InputError
        Not an array of whole numbers (5.0 and True are none), masked values, another number of
        dimensions.
    """
    result = array(name, values, "an array of integers")
    if result.dtype.kind not in "iu":
        raise InputError(f"{name} must contain integers, got {result.dtype} (shape {result.shape})")
    _check_dimensions(name, result, ndim)
    if result.dtype.kind == "i":
        return result
    if result.max(initial=0) > np.iinfo(np.int64).max:
        raise InputError(f"{name} must contain integers of at most 63 bits, got {result.max()}")
    return result.astype(np.int64)


def array(name: str, values: ArrayLike, allowed: str, of_objects: type | None = None) -> np.ndarray:
    """Values as an array without masked values; object arrays, as from pandas, are converted to ``of_objects``."""
    if np.ma.is_masked(values):
        n_masked = int(np.ma.getmaskarray(values).sum())
        raise InputError(
            f"{name} must have no masked values, got {n_masked} of {np.size(values)}; remove them first"
        )
    try:
        result = np.asarray(detached(values))
        return result.astype(of_objects) if of_objects and result.dtype == object else result
    except (
        ValueError,
        TypeError,
        RuntimeError,
    ):  # the last of a list of tensors that carry gradients
        raise InputError(f"{name} must be {allowed}, got {quoted(values)}") from None


def detached(values: object) -> object:
    """The values; for a tensor of PyTorch, which is not imported here, a detached one that NumPy can read."""
    if not hasattr(values, "detach"):
        return values
    tensor = values.detach().cpu()
    return (
        tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
    )  # a type that NumPy does not have


def _check_dimensions(name: str, values: np.ndarray, ndim: int | None) -> None:
    if ndim is not None and values.ndim != ndim:
        dimensions = "1 dimension" if ndim == 1 else f"{ndim} dimensions"
        raise InputError(f"{name} must have {dimensions}, got shape {values.shape}")


def labels(name: str, values: ArrayLike, count: int | None = None) -> np.ndarray:
    """A class (or a group) for each image: numbers, or texts.

    Parameters
    ----------
    count : int, optional
        Number of images.

    Raises
    ------
    InputError
        Not one dimension, empty, another number of images, masked values, NaN or infinity, None,
        other objects, or texts and numbers together.
    """
    result = array(name, values, "one number or string per image")
    if result.ndim != 1 or not result.size or (count is not None and len(result) != count):
        shape = "(N,)" if count is None else f"({count},)"
        raise InputError(f"{name} must have shape {shape}, one per image, got shape {result.shape}")
    if result.dtype.kind == "f" and not np.isfinite(result).all():
        n_refused = int((~np.isfinite(result)).sum())
        raise InputError(
            f"{name} must be finite, got NaN or infinity for {n_refused} of {result.size} images"
        )
    if result.dtype == object:
        are_texts = all(isinstance(label, str) for label in result)
        valid = are_texts or all(
            isinstance(label, numbers.Real) and math.isfinite(label) for label in result
        )
    else:
        valid = result.dtype.kind in "biufSUT"
    if not valid:
        raise InputError(
            f"{name} must be numbers alone or strings alone, without None and NaN, got {quoted(values)}"
        )
    return result


@overload
def instance(name: str, value: object, kind: type[T]) -> T: ...


@overload
def instance(name: str, value: object, kind: tuple[type[T], type[U]]) -> T | U: ...


def instance(name: str, value: object, kind: type | tuple[type, ...]) -> object:
    """A value of this class, or of one of these classes.

    Raises
    ------
    InputError
        A value of another class.
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise InputError(
            f"{name} must be of type {' or '.join(k.__name__ for k in kinds)}, got {quoted(value)}"
        )
    return value


def check_together(**values: object) -> None:
    """Raise `InputError` if some of these arguments are None and others are not."""
    given = [name for name, value in values.items() if value is not None]
    if 0 < len(given) < len(values):
        raise InputError(f"{_joined(values)} must be given together, got {_joined(given)} alone")


def check_unique(name: str, values: Iterable[object]) -> None:
    """Raise `InputError` if a value is in the list twice."""
    for value, count in Counter(values).items():
        if count > 1:
            raise InputError(f"{name} must be different, got {value!r} more than once")


def check_memory(name: str, value: int, need: float) -> None:
    """Raise `InputError` if a number of items takes more bytes of memory than this machine has."""
    if need > memory():
        raise InputError(
            f"{name} = {value:,} needs about {need / 2**30:,.0f} GiB of memory, and this machine has "
            f"{memory() / 2**30:,.0f} GiB"
        )


def memory() -> float:
    """Bytes of memory of this machine; infinite if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def missing(package: str, extra: str = "evaluate") -> str:
    """The message for a package that is not installed, with the command that installs it.

    The command is that for a copy of the repository: under these names the package index may have nothing, or
    packages of others.
    """
    return f"this needs the package {package}; in a copy of the repository, {installation(extra)} installs it"


def installation(extra: str) -> str:
    """The command that installs fslcore with an extra, to be typed in a copy of the repository."""
    names = "book,captions" if extra == "captions" else extra
    data = "" if extra == "report" else " ./data"  # reports do without the data
    return f"pip install '.[{names}]'{data}"


def reason(error: BaseException) -> str:
    """The message of a foreign error, with its kind, shortened to one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")


class FslcoreWarning(UserWarning):
    """What the user should know of a result that is computed all the same; ``warnings`` filters it."""


def warn(message: str) -> None:
    """Warn the user in one line, as of the first caller outside this package; a command prints it."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(message), FslcoreWarning, stacklevel=level)


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON from its pairs, for ``json.loads(…, object_pairs_hook=unique_keys)``.

    Raises
    ------
    ValueError
        A key that stands twice, of which Python would take the last.
    """
    content = dict(pairs)
    if len(content) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"a key must appear once in an object, got {shown(repeated)} twice")
    return content


def shown(value: object) -> str:
    """A value in a message, shortened to one line."""
    text = " ".join((value if isinstance(value, str) and value else repr(value)).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def quoted(value: object) -> str:
    """A value's ``repr``, shortened to one line."""
    return shown(repr(value))


def _joined(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def visible(text: str) -> str:
    r"""The text with each control character as its escape, as \x1b.

    These include ends of lines, tabs, invisible characters and those that change the direction of text; not the
    two that join letters, which some scripts need.
    """
    if text.isprintable():
        return text
    return "".join(c.encode("unicode_escape").decode() if _is_control(c) else c for c in text)


def _is_control(sign: str) -> bool:
    return (
        unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") and sign not in "\u200c\u200d"
    )


def _is_within(
    value: float,
    minimum: float | None,
    maximum: float | None,
    over: float | None = None,
    under: float | None = None,
) -> bool:
    reaches = (minimum is None or value >= minimum) and (over is None or value > over)
    return reaches and (maximum is None or value <= maximum) and (under is None or value < under)


def _range(
    minimum: float | None,
    maximum: float | None,
    over: float | None = None,
    under: float | None = None,
) -> str:
    """Inclusive and exclusive bounds, as `` >= 1`` or `` from 1 to 64``."""
    if minimum is not None and maximum is not None:
        return f" from {_plain(minimum)} to {_plain(maximum)}"
    if over is not None and under is not None:
        return f" between {_plain(over)} and {_plain(under)}"
    bounds = {">=": minimum, ">": over, "<=": maximum, "<": under}
    parts = [f"{sign} {_plain(bound)}" for sign, bound in bounds.items() if bound is not None]
    return f" {' and '.join(parts)}" if parts else ""


def _plain(bound: float) -> str:
    return f"{bound:g}" if abs(bound) < 1e6 else f"{bound:,}"
