"""One image file to another, by the codecs' own libraries. Pure; the same input gives the same bytes.

Every function raises `LeftAlone` with the reason when it does not apply or the file cannot be read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO

import mozjpeg_lossless_optimization as mozjpeg  # type: ignore[import-untyped, unused-ignore]  # has no types
import oxipng
from PIL import Image, UnidentifiedImageError

BYTES_PER_PIXEL = 4
MAX_QUALITY = 100
_READ_ERRORS = (OSError, ValueError, SyntaxError, struct.error, zlib.error)
# JPEG segments kept: JFIF, ICC profile, Adobe's colour transform; the others are EXIF, XMP, thumbnails, comments.
_KEPT_MARKERS = frozenset({0xE0, 0xE2, 0xEE})
_COMMENT = 0xFE
# PNG chunks that do not change how the image looks (PNG specification, 11.3).
_IDLE_CHUNKS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf"})
_PNG_START = b"\x89PNG\r\n\x1a\n"
_ORIENTATION = 0x0112
# The luminance table of the JPEG standard (Annex K), which libjpeg scales by the quality.
_STANDARD_TABLE = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip


Image.MAX_IMAGE_PIXELS = None  # `check` has a limit of its own, before anything is decoded


class LeftAlone(Exception):  # no error: the reason why an image stays as it is
    """Why an image is not changed."""


def check(data: bytes, limit_bytes: int) -> None:
    """LeftAlone when the file is no image, animated, or larger than the limit once it is decoded."""
    image = _open(data)
    if image.width * image.height * BYTES_PER_PIXEL > limit_bytes:
        raise LeftAlone("it has too many pixels")
    if getattr(image, "is_animated", False):
        raise LeftAlone("it is animated")


def jpeg(data: bytes, limit: int) -> bytes:
    """A JPEG file at quality `limit`, when its own is higher."""
    image = _loaded(data)
    quality = quality_of(image)
    if quality is None or quality <= limit:
        raise LeftAlone(f"its quality is not above {limit}")
    if image.mode not in ("RGB", "L"):
        raise LeftAlone("it is neither in RGB nor grey")
    return _saved(image, "JPEG", quality=limit, optimize=True, subsampling="4:2:0", exif=_exif(image))


def progressive(data: bytes) -> bytes:
    """A JPEG file as a progressive one with the same coefficients and all its metadata."""
    _loaded(data)  # jpegtran would repair a file cut short; browsers show it as it is
    try:
        return bytes(mozjpeg.optimize(data, copy=mozjpeg.COPY_MARKERS.ALL))
    except ValueError as error:
        raise LeftAlone("it cannot be read") from error


def packed_png(data: bytes, effort: int) -> bytes:
    """A PNG file with the same pixels."""
    _loaded(data)
    try:
        return bytes(oxipng.optimize_from_memory(data, level=effort, optimize_alpha=False))
    except oxipng.PngError as error:
        raise LeftAlone("it cannot be read") from error


def webp(data: bytes, limit: int | None, effort: int) -> bytes:
    """A WebP file at quality `limit` (not above that of a JPEG source); lossless when it is None."""
    image = _upright(_loaded(data))
    if limit is None:
        return _saved(_rgb(image), "WEBP", lossless=True, method=effort)
    return _saved(_rgb(image), "WEBP", quality=min(limit, quality_of(image) or limit), method=effort)


def avif(data: bytes, quality: int, speed: int) -> bytes:
    """An AVIF file; one thread, since the number of threads changes the bytes."""
    image = _rgb(_upright(_loaded(data)))
    return _saved(image, "AVIF", quality=quality, speed=speed, max_threads=1)


def resized(data: bytes, shown: tuple[int, int], limit: int) -> bytes:
    """The file at the size it is shown in, in its own format, when that has fewer pixels."""
    image = _upright(_loaded(data))
    size = (min(image.width, shown[0]), min(image.height, shown[1]))
    if size == image.size:
        raise LeftAlone("it is shown at its own size or larger")
    kind = image.format or ""
    if kind == "JPEG":
        quality = min(quality_of(image) or limit, MAX_QUALITY)
        small = image.resize(size, Image.Resampling.LANCZOS)
        return _saved(small, kind, quality=quality, optimize=True, icc_profile=image.info.get("icc_profile"))
    if kind != "PNG":
        raise LeftAlone("it is neither JPEG nor PNG")
    small = _rgb(image).resize(size, Image.Resampling.LANCZOS)
    return _saved(small, kind, optimize=True, icc_profile=image.info.get("icc_profile"))


def stripped(data: bytes) -> bytes:
    """A JPEG or PNG file without metadata; the pixels, and how they are coded, stay."""
    image = _open(data)
    if image.format == "JPEG":
        _upright(image)
        return _stripped_jpeg(data)
    if image.format == "PNG":
        return _stripped_png(data)
    raise LeftAlone("it is neither JPEG nor PNG")


def quality_of(image: Image.Image) -> int | None:
    """The quality a JPEG file was encoded at, as libjpeg counts it; None for other formats.

    The scale factor is estimated from the sum of the luminance table, so that tables of other encoders get the
    quality nearest to them.
    """
    tables: dict[int, list[int]] | None = getattr(image, "quantization", None)
    if not tables:
        return None
    scale = 100 * sum(tables[min(tables)]) / sum(_STANDARD_TABLE)
    quality = 5000 / scale if scale > 100 else (200 - scale) / 2
    return max(1, min(MAX_QUALITY, round(quality)))


def _open(data: bytes) -> Image.Image:
    try:
        return Image.open(BytesIO(data), formats=("JPEG", "PNG", "WEBP", "GIF", "AVIF"))
    except UnidentifiedImageError as error:
        raise LeftAlone("it is no image that can be read") from error
    except _READ_ERRORS as error:
        raise LeftAlone("it cannot be read") from error


def _loaded(data: bytes) -> Image.Image:
    image = _open(data)
    try:
        image.load()
    except _READ_ERRORS as error:
        raise LeftAlone("it is cut short or damaged") from error
    return image


def _exif(image: Image.Image) -> bytes:
    return bytes(image.info.get("exif", b""))


def _upright(image: Image.Image) -> Image.Image:
    """LeftAlone when the orientation stands in EXIF, which other formats and a stripped file do not carry."""
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except _READ_ERRORS as error:
        raise LeftAlone("its EXIF data cannot be read") from error
    if orientation != 1:
        raise LeftAlone("its orientation stands in EXIF")
    return image


def _rgb(image: Image.Image) -> Image.Image:
    """In RGB or RGBA, as WebP and AVIF need it; grey with alpha and palettes are widened."""
    if image.mode in ("RGB", "RGBA"):
        return image
    if image.mode in ("CMYK", "YCCK", "LAB") or image.mode.startswith(("I", "F")):
        raise LeftAlone("it is neither in RGB nor grey, or has more than 8 bits")
    clear = "A" in image.mode or "a" in image.mode or "transparency" in image.info
    return image.convert("RGBA" if clear else "RGB")


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    if image.info.get("icc_profile"):
        options.setdefault("icc_profile", image.info["icc_profile"])
    try:
        image.save(file, kind, **{key: value for key, value in options.items() if value is not None})
    except _READ_ERRORS as error:
        raise LeftAlone(f"it cannot be written as {kind}") from error
    return file.getvalue()


def _stripped_jpeg(data: bytes) -> bytes:
    kept = [data[:2]]
    for marker, start, end in _segments(data):
        idle = (0xE0 <= marker <= 0xEF and marker not in _KEPT_MARKERS) or marker == _COMMENT
        multi_picture = marker == 0xE2 and not data.startswith(b"ICC_PROFILE\0", start + 4)
        if not (idle or multi_picture):
            kept.append(data[start:end])
    return b"".join(kept)


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker, start and end of every segment before the first scan; then the rest of the file as one."""
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            raise LeftAlone("its segments cannot be told apart")
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        if marker == 0xDA:
            yield marker, position, len(data)
            return
        end = position + 2 + int.from_bytes(data[position + 2 : position + 4], "big")
        yield marker, position, end
        position = end
    raise LeftAlone("it holds no scan")


def _stripped_png(data: bytes) -> bytes:
    kept, position = [_PNG_START], len(_PNG_START)
    while position + 12 <= len(data):
        end = position + 12 + int.from_bytes(data[position : position + 4], "big")
        if data[position + 4 : position + 8] not in _IDLE_CHUNKS:
            kept.append(data[position:end])
        position = end
    return b"".join(kept)
