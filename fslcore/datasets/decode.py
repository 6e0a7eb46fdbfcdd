"""Any image file as 8-bit RGB, scaled by its format; lost content raises an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageColor, UnidentifiedImageError

from ..errors import InputError, quoted

__all__ = ["Lost", "centre_square", "colour", "cut", "is_image", "large_allowed", "rgb", "squeezed"]

# Formats that Pillow recognises and does not draw: films, containers, pages.
NO_IMAGE = {"BUFR", "GRIB", "HDF5", "MPEG", "WMF"}
NO_IMAGE_ENDINGS = {".bufr", ".grib", ".h5", ".hdf", ".mpeg", ".mpg", ".pdf", ".ps"}
FOREIGN = {  # image formats that Pillow does not read
    ".heic",
    ".heif",
    ".hif",
    ".jxl",
    ".jxr",
    ".svg",
    ".svgz",
    ".xcf",
    ".emf",
    ".wmf",
    ".arw",
    ".cr2",
    ".cr3",
    ".dng",
    ".nef",
    ".orf",
    ".raf",
    ".rw2",
}
HEIC = {b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"}
SLACK = 0.1  # tolerance of floats around 0 … 1, as after resampling
DIM = 1 / 16  # of the range of its format; an image that stays below needs a white level
UPRIGHT = {  # EXIF orientation of the camera
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
BITS_PER_SAMPLE, PHOTOMETRIC, WHITE_IS_ZERO = 258, 262, 0  # of TIFF


class Lost(InputError):
    """An image that varies in its file but is one flat colour when decoded."""


def colour(ground: str) -> str:
    """Return the name of a colour, if Pillow knows it.

    Raises
    ------
    InputError
        Pillow does not know it.
    """
    try:
        ImageColor.getrgb(ground)
    except (ValueError, AttributeError, TypeError):
        raise InputError(
            "ground must be the name of a colour, such as white, black or grey, got "
            f"{quoted(ground)}"
        ) from None
    return ground


@contextmanager
def large_allowed() -> Iterator[None]:
    """No warning of a large image meanwhile; a decompression bomb is an error.

    For the main thread: the filters of warnings belong to the process, so threads that decode leave
    them as they are.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def is_image(file: Path) -> bool:
    """Whether a file is an image that Pillow reads, by its content.

    Raises
    ------
    InputError
        The file has the suffix of an image but is none, has a format that Pillow does not read, or
        cannot be opened.
    """
    ending = file.suffix.lower()
    looks = ending in FOREIGN or (
        ending in Image.registered_extensions() and ending not in NO_IMAGE_ENDINGS
    )
    try:
        if not file.is_file():
            raise FileNotFoundError
        with large_allowed(), Image.open(file) as image:
            if image.format not in NO_IMAGE:
                return True
        error: Exception = UnidentifiedImageError()
    except (PermissionError, Image.DecompressionBombError) as found:
        looks, error = True, found
    except Exception as found:  # files that are not images raise anything
        error = found
    if looks or _brand(file) in HEIC:
        raise InputError(f"unreadable image {file} ({_reason(file, error)})")
    return False


def rgb(file: Path, ground: str = "white", white: float | None = None) -> Image.Image:
    """The first picture of a file, as 8-bit RGB, rotated by its EXIF orientation.

    Transparent parts show the ``ground``. Numbers of more than 8 bits are scaled by their format,
    never by the content of the image: 16-bit grey by 65535, TIFF of fewer bits by its
    BitsPerSample, floats from 0 … 1. An image that stays below a sixteenth of the range needs
    another white level, and so do 32-bit integers: ``white`` sets this value. Within
    `large_allowed`, any thread may call it.

    Raises
    ------
    InputError
        A file that cannot be decoded, or whose white level is unknown.
    Lost
        It has one colour only after decoding, for example white on transparent.
    """
    try:
        with Image.open(file) as image:
            # Pillow keeps 8 of 16 bits of colours.
            is_halved = ";16" in str([tile.args for tile in image.tile])
            image.load()
            if image.mode.startswith(("I", "F")):
                decoded = _eight_bits(image, white)
            elif is_halved:
                decoded = _scaled(image, white)
            else:
                decoded = image
            if decoded.has_transparency_data:
                composite = Image.new("RGBA", decoded.size, ground)
                composite.alpha_composite(decoded.convert("RGBA"))
                decoded = composite
            decoded = decoded.convert("RGB")
            if not _varies(decoded) and _varies(image):
                raise Lost(_why_lost(image, decoded, ground))
            turn = image.getexif().get(ExifTags.Base.Orientation)
            return decoded.transpose(UPRIGHT[turn]) if turn in UPRIGHT else decoded
    except InputError as error:
        raise type(error)(f"image {file}: {error}") from None
    except Exception as error:  # Pillow's readers raise anything on a broken file
        raise InputError(f"unreadable image {file} ({_reason(file, error)})") from None


def centre_square(image: Image.Image, size: int) -> np.ndarray:
    """The centre square of an RGB image at ``size`` × ``size`` pixels, (size, size, 3) uint8."""
    side = min(image.size)
    left = (image.width - side) // 2
    top = (image.height - side) // 2
    box = (left, top, left + side, top + side)
    return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC, box))


def squeezed(image: Image.Image, size: int) -> np.ndarray:
    """A whole RGB image at ``size`` × ``size``, like torchvision's ``Resize([size, size])``."""
    return np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))


def cut(image: Image.Image, box: np.ndarray, size: int, released: bool = False) -> np.ndarray:
    """The content of a box of an RGB image (left, top, right, bottom), squeezed to (size, size, 3)
    uint8.

    For ``released``, the box is cut out first and then `squeezed`, as released code does.
    """
    left, top, right, bottom = (float(edge) for edge in box)
    inside = (
        max(left, 0.0),
        max(top, 0.0),
        min(right, image.width),
        min(bottom, image.height),
    )
    if inside[2] - inside[0] < 1 or inside[3] - inside[1] < 1:
        raise InputError(
            f"box {left:g} {top:g} {right:g} {bottom:g} is not in an image of "
            f"{image.width}x{image.height}"
        )
    if released:
        x, y, x_end, y_end = map(round, inside)
        return squeezed(image.crop((x, y, x_end, y_end)), size)
    return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC, inside))


def _eight_bits(image: Image.Image, white: float | None) -> Image.Image:
    """A grey image of 16-bit or 32-bit numbers in 8 bits; LA if one of its greys is transparent."""
    values = np.asarray(image).astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError("it holds NaN or infinity")
    low = values.min()
    high = values.max()
    tags = getattr(image, "tag_v2", {})
    if white is not None:
        full = white
    elif image.mode == "F":
        full = 1.0
        if low < -SLACK or high > 1 + SLACK:
            raise InputError(
                f"it holds floats from {low:g} to {high:g}, and 0 to 1 is read; {_say_white(255)}"
            )
    elif image.mode == "I" and image.format != "PPM":  # Pillow gives PGM from 0 to 65535
        raise InputError(
            f"numbers from {low:g} to {high:g} of a type without a known white; {_say_white(high)}"
        )
    else:
        full = 2 ** min(np.atleast_1d(tags.get(BITS_PER_SAMPLE, 16))[0], 16) - 1
    if white is None and 0 < high < DIM * full:
        raise InputError(
            f"it holds numbers up to {high:g} of {full:g}, all nearly black; {_say_white(4095)}"
        )
    scaled = (255 * np.clip(values / full, 0, 1)).round().astype(np.uint8)
    if tags.get(PHOTOMETRIC) == WHITE_IS_ZERO:
        scaled = 255 - scaled
    clear = image.info.get("transparency")
    if clear is None:
        return Image.fromarray(scaled)
    alpha = np.where(values == clear, 0, 255).astype(np.uint8)
    return Image.merge("LA", (Image.fromarray(scaled), Image.fromarray(alpha)))


def _scaled(image: Image.Image, white: float | None) -> Image.Image:
    """Colours of 16 bits, of which Pillow gives the upper 8, scaled like greys."""
    high = int(np.max(image.convert("RGB").getextrema()))
    if white is None:
        if 0 < high < DIM * 255:
            raise InputError(
                f"it holds colours of 16 bits up to about {256 * high} of 65535, all nearly black; "
                f"{_say_white(4095)}, or save it with 8 bits per colour, since only the upper 8 "
                "are read"
            )
        return image
    bands = [
        band
        if name == "A"
        else band.point([min(255, round(v * 65535 / white)) for v in range(256)])
        for name, band in zip(image.getbands(), image.split())
    ]
    return Image.merge(image.mode, bands)


def _say_white(value: float) -> str:
    return f"say which value is white, as in folder:PATH?white={value:g}"


def _varies(image: Image.Image) -> bool:
    """Whether any channel, including transparency, has two values."""
    if image.mode == "P":
        image = image.convert("RGBA")
    if image.mode.startswith("I;"):  # some of these modes have no extremes
        return bool(np.ptp(np.asarray(image)))
    return any(low < high for low, high in np.reshape(image.getextrema(), (-1, 2)))


def _why_lost(image: Image.Image, decoded: Image.Image, ground: str) -> str:
    flat = "#{:02x}{:02x}{:02x}".format(*np.asarray(decoded)[0, 0])
    if image.has_transparency_data:
        contrast = "black" if ImageColor.getrgb(ground)[:3] == (255, 255, 255) else "white"
        return (
            f"laid on {ground} it is all {flat}; give it another ground, as in "
            f"folder:PATH?ground={contrast}"
        )
    return f"decoded it is all {flat}, and its file is not; {_say_white(4095)}"


def _reason(file: Path, error: Exception) -> str:
    if file.is_dir():
        return "a folder"
    if not file.exists():
        return "no such file" + (f", a link to {file.readlink()}" if file.is_symlink() else "")
    if not file.is_file():
        return "not a file"
    if _brand(file) in HEIC:
        return "HEIC, which Pillow does not read; save it as JPEG or PNG"
    if isinstance(error, UnidentifiedImageError):
        return "empty" if not file.stat().st_size else "not a kind of image that Pillow reads"
    reason = getattr(error, "strerror", None) or error or type(error).__name__
    return " ".join(str(reason).split())


def _brand(file: Path) -> bytes:
    """The brand in a file of the ISO family (HEIC, AVIF, MP4); empty for others."""
    if not file.is_file():  # opening a pipe would block
        return b""
    try:
        with open(file, "rb") as opened:
            head = opened.read(12)
    except OSError:
        return b""
    return head[8:] if head[4:8] == b"ftyp" else b""
