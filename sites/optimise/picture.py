"""One image file to another, by the codecs' own libraries. Pure; the same input gives the same bytes.

Every function raises `LeftAlone` with the reason when it does not apply or the file cannot be read.
"""

from __future__ import annotations

from io import BytesIO

import oxipng
from PIL import Image, UnidentifiedImageError

from sites.optimise import appearance, jpegtran
from sites.optimise.appearance import APP2, PNG_START, READ_ERRORS, LeftAlone

BYTES_PER_PIXEL = 4
MAX_QUALITY = 100
# JPEG segments kept: JFIF, ICC profile, Adobe's colour transform; the others are EXIF, XMP, thumbnails, comments.
_KEPT_MARKERS = frozenset({0xE0, 0xE2, 0xEE})
_COMMENT = 0xFE
# PNG chunks that do not change how the image looks (PNG specification, 11.3).
_IDLE_CHUNKS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf"})
# The luminance table of the JPEG standard (Annex K), which libjpeg scales by the quality.
_STANDARD_TABLE = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip


Image.MAX_IMAGE_PIXELS = None  # `check` has a limit of its own, before anything is decoded


def check(data: bytes, limit_bytes: int) -> None:
    """LeftAlone when the file is no image, more than one picture, or larger than the limit once it is decoded."""
    image = _open(data)
    if image.width * image.height * BYTES_PER_PIXEL > limit_bytes:
        raise LeftAlone("it has too many pixels")
    appearance.refuse_animated(image, data)
    if image.format == "JPEG":
        appearance.refuse_gain_map(data)
        appearance.refuse_coding(data)


def size_of(data: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    return _open(data).size


def jpeg(data: bytes, limit: int) -> bytes:
    """A JPEG file at quality `limit`, when its own is higher."""
    image = _loaded(data)
    quality = quality_of(image)
    if quality is None or quality <= limit:
        raise LeftAlone(f"its quality is not above {limit}")
    appearance.refuse_colour_model(image)
    appearance.refuse_profile(image, image.mode)
    return _saved(image, "JPEG", quality=limit, optimize=True, subsampling="4:2:0", exif=_exif(image))


def progressive(data: bytes) -> bytes:
    """A JPEG file as a progressive one with the same coefficients and all its metadata."""
    _loaded(data)  # jpegtran would repair a file cut short; browsers show it as it is
    made = jpegtran.progressive(data)
    if made is None:
        raise LeftAlone("it cannot be read")
    return made


def packed_png(data: bytes, effort: int) -> bytes:
    """A PNG file with the same pixels."""
    _loaded(data)
    try:
        return bytes(oxipng.optimize_from_memory(data, level=effort, optimize_alpha=False))
    except oxipng.PngError as error:
        raise LeftAlone("it cannot be read") from error


def webp(data: bytes, limit: int | None, effort: int) -> bytes:
    """A WebP file at quality `limit` (not above that of a JPEG source); lossless when it is None."""
    image = _loaded(data)
    pixels = _pixels(image, data)
    if limit is None:
        return _saved(pixels, "WEBP", lossless=True, method=effort)
    return _saved(pixels, "WEBP", quality=min(limit, quality_of(image) or limit), method=effort)


def avif(data: bytes, quality: int, speed: int) -> bytes:
    """An AVIF file; one thread, since the number of threads changes the bytes."""
    return _saved(_pixels(_loaded(data), data), "AVIF", quality=quality, speed=speed, max_threads=1)


def resized(data: bytes, shown: tuple[int, int], limit: int) -> bytes:
    """The file at the size it is shown in, in its own format, when that has fewer pixels."""
    image = _loaded(data)
    if shown[0] >= image.width or shown[1] >= image.height:
        raise LeftAlone("it is shown at its own size or larger")
    kind = image.format or ""
    if kind not in ("JPEG", "PNG"):
        raise LeftAlone("it is neither JPEG nor PNG")
    small = _pixels(image, data).resize(shown, Image.Resampling.LANCZOS)
    if kind == "JPEG":
        quality = min(quality_of(image) or limit, MAX_QUALITY)
        return _saved(small, kind, quality=quality, optimize=True)
    return _saved(small, kind, optimize=True)


def stripped(data: bytes) -> bytes:
    """A JPEG or PNG file without metadata; the pixels, and how they are coded, stay."""
    image = _open(data)
    if image.format not in ("JPEG", "PNG"):
        raise LeftAlone("it is neither JPEG nor PNG")
    appearance.refuse_exif_that_shows(image)
    return _stripped_jpeg(data) if image.format == "JPEG" else _stripped_png(data)


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
    except READ_ERRORS as error:
        raise LeftAlone("it cannot be read") from error


def _loaded(data: bytes) -> Image.Image:
    image = _open(data)
    try:
        image.load()
    except READ_ERRORS as error:
        raise LeftAlone("it is cut short or damaged") from error
    return image


def _exif(image: Image.Image) -> bytes:
    return bytes(image.info.get("exif", b""))


def _pixels(image: Image.Image, data: bytes) -> Image.Image:
    """In RGB or RGBA, as WebP and AVIF need it (grey and palettes are widened), when that is all the file shows."""
    appearance.refuse_exif_that_shows(image)
    appearance.refuse_colour_chunks(data)
    appearance.refuse_deep(data)
    appearance.refuse_small_key(image, data)
    appearance.refuse_colour_model(image)
    mode = "RGBA" if image.has_transparency_data else "RGB"
    appearance.refuse_profile(image, mode)
    return image if image.mode == mode else image.convert(mode)


def _saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    if image.info.get("icc_profile"):
        options.setdefault("icc_profile", image.info["icc_profile"])
    try:
        image.save(file, kind, **{key: value for key, value in options.items() if value is not None})
    except READ_ERRORS as error:
        raise LeftAlone(f"it cannot be written as {kind}") from error
    return file.getvalue()


def _stripped_jpeg(data: bytes) -> bytes:
    kept = [data[:2]]
    for marker, start, end in appearance.jpeg_segments(data):
        idle = (0xE0 <= marker <= 0xEF and marker not in _KEPT_MARKERS) or marker == _COMMENT
        multi_picture = marker == APP2 and not data.startswith(b"ICC_PROFILE\0", start + 4)
        if not (idle or multi_picture):
            kept.append(data[start:end])
    return b"".join(kept)


def _stripped_png(data: bytes) -> bytes:
    kept = [
        data[start:end] for name, start, end in appearance.png_chunk_places(data) if name not in _IDLE_CHUNKS
    ]
    return PNG_START + b"".join(kept)
