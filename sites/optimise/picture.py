"""One image file to another, by the codecs' own libraries. Pure; the same input gives the same bytes.

Every function raises `LeftAlone` with the reason when it does not apply or the file cannot be read; `refuse_...` where
something would be lost that a picture file shows beside its pixels: colours, transparency, EXIF, more than one picture.
What Chromium 156 goes by was measured: of a PNG file cICP, then iCCP or sRGB, then gAMA (with cHRM, if there is one);
of EXIF the orientation, and the resolution where the size that EXIF names is the one that the resolution gives.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO

import oxipng
from PIL import Image, UnidentifiedImageError

from sites.optimise import outside
from sites.optimise.page import LeftAlone

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
READ_ERRORS = (OSError, ValueError, SyntaxError, struct.error, zlib.error)
PNG_START = b"\x89PNG\r\n\x1a\n"
START_OF_SCAN, APP1, APP2 = 0xDA, 0xE1, 0xE2
_DEPTH_AT = 24  # of the bits per channel, in the IHDR chunk
# 1/2.2, which every browser takes for sRGB where no cHRM stands beside it.
_USUAL_GAMMA = range(45_450, 45_461)
_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _EXIF_IFD = 0x0112, 0x011A, 0x011B, 0x8769
_WIDTH, _HEIGHT = 0xA002, 0xA003
_EXIF_DPI = 72  # at which a picture has its own size
_ROUNDING_PX = 2
_CHROMIUM_DECODES = frozenset({0xC0, 0xC1, 0xC2})  # baseline, extended, progressive; all Huffman-coded
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_GAIN_MAPS = (b"hdrgm", b"HDRGainMap", b"urn:iso:std:iso:ts:21496")
_GREY, _GREY_PROFILE, _RGB_PROFILE = frozenset({"1", "L", "LA"}), b"GRAY", b"RGB "
Image.MAX_IMAGE_PIXELS = None  # `check` has a limit of its own, before anything is decoded


def check(data: bytes, limit_bytes: int) -> None:
    """LeftAlone when the file is no image, more than one picture, or larger than the limit once it is decoded."""
    image = _open(data)
    if image.width * image.height * BYTES_PER_PIXEL > limit_bytes:
        raise LeftAlone("it has too many pixels")
    refuse_animated(image, data)
    if image.format == "JPEG":
        refuse_gain_map(data)
        refuse_coding(data)


def size_of(data: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    return _open(data).size


def jpeg(data: bytes, limit: int) -> bytes:
    """A JPEG file at quality `limit`, when its own is higher."""
    image = _loaded(data)
    quality = quality_of(image)
    if quality is None or quality <= limit:
        raise LeftAlone(f"its quality is not above {limit}")
    refuse_colour_model(image)
    refuse_profile(image, image.mode)
    return _saved(image, "JPEG", quality=limit, optimize=True, subsampling="4:2:0", exif=_exif(image))


def progressive(data: bytes) -> bytes:
    """A JPEG file as a progressive one with the same coefficients and all its metadata."""
    _loaded(data)  # jpegtran would repair a file cut short; browsers show it as it is
    made = outside.made_progressive(data)
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
    refuse_exif_that_shows(image)
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
    refuse_exif_that_shows(image)
    refuse_colour_chunks(data)
    refuse_deep(data)
    refuse_small_key(image, data)
    refuse_colour_model(image)
    mode = "RGBA" if image.has_transparency_data else "RGB"
    refuse_profile(image, mode)
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
    for marker, start, end in jpeg_segments(data):
        idle = (0xE0 <= marker <= 0xEF and marker not in _KEPT_MARKERS) or marker == _COMMENT
        multi_picture = marker == APP2 and not data.startswith(b"ICC_PROFILE\0", start + 4)
        if not (idle or multi_picture):
            kept.append(data[start:end])
    return b"".join(kept)


def _stripped_png(data: bytes) -> bytes:
    kept = [data[start:end] for name, start, end in png_chunk_spans(data) if name not in _IDLE_CHUNKS]
    return PNG_START + b"".join(kept)


def refuse_animated(image: Image.Image, data: bytes) -> None:
    """An animation, or a file of several pictures. One frame beside the still picture of a PNG makes it one."""
    if getattr(image, "is_animated", False) or b"acTL" in png_chunks(data):
        raise LeftAlone("it is animated, or holds several pictures")


def refuse_colour_chunks(data: bytes) -> None:
    """A PNG file whose chunks give its colours a meaning that other formats and a file written anew do not carry."""
    chunks = png_chunks(data)
    if b"cICP" in chunks:
        raise LeftAlone("its colours are those of a cICP chunk")
    start = chunks[b"gAMA"][0] + 8 if b"gAMA" in chunks else len(data)
    gamma = int.from_bytes(data[start : start + 4], "big")
    profiled = b"sRGB" in chunks or b"iCCP" in chunks
    if (gamma and gamma not in _USUAL_GAMMA) or (b"cHRM" in chunks and not profiled):
        raise LeftAlone("its colours are those of a gAMA or cHRM chunk")


def refuse_deep(data: bytes) -> None:
    """A PNG file with 16 bits per channel."""
    if data.startswith(PNG_START) and data[_DEPTH_AT : _DEPTH_AT + 1] == b"\x10":
        raise LeftAlone("it has more than 8 bits per channel")


def refuse_small_key(image: Image.Image, data: bytes) -> None:
    """A grey PNG file of less than 8 bits with a transparent shade, which Pillow counts in other steps."""
    small = data.startswith(PNG_START) and data[_DEPTH_AT] < 8
    if small and image.mode in ("1", "L") and "transparency" in image.info:
        raise LeftAlone("it is grey of less than 8 bits, with a transparent shade")


def refuse_colour_model(image: Image.Image) -> None:
    """Pixels that are neither RGB nor grey, or a colour profile of another model than that of the pixels."""
    if image.mode in ("CMYK", "YCCK", "LAB") or image.mode.startswith(("I", "F")):
        raise LeftAlone("it is neither in RGB nor grey, or has more than 8 bits per channel")


def refuse_profile(image: Image.Image, mode: str) -> None:
    """A colour profile that does not fit both the pixels there are and those of `mode`: a browser would ignore it."""
    profile = image.info.get("icc_profile")
    if profile and {
        _GREY_PROFILE if colour_mode in _GREY else _RGB_PROFILE for colour_mode in (image.mode, mode)
    } != {profile[16:20]}:
        raise LeftAlone("its colour profile is not one for such pixels")


def refuse_exif_that_shows(image: Image.Image) -> None:
    """An orientation or a resolution in EXIF that a browser goes by."""
    try:
        exif = image.getexif()
        orientation = exif.get(_ORIENTATION, 1)
        resolution = exif.get(_X_RESOLUTION), exif.get(_Y_RESOLUTION)
        details = exif.get_ifd(_EXIF_IFD)
        named = details.get(_WIDTH), details.get(_HEIGHT)
        sized = named != image.size and all(map(_is_size_by_resolution, image.size, resolution, named))
    except (*READ_ERRORS, TypeError, ArithmeticError, LookupError) as error:
        raise LeftAlone("its EXIF data cannot be read") from error
    if orientation != 1:
        raise LeftAlone("its orientation stands in EXIF")
    if sized:
        raise LeftAlone("the size it is shown in stands in EXIF")


def _is_size_by_resolution(own: int, resolution: float | None, named: int | None) -> bool:
    if not resolution or not named:
        return False
    return abs(own * _EXIF_DPI / float(resolution) - named) <= _ROUNDING_PX


def refuse_gain_map(data: bytes) -> None:
    """A JPEG file with a second picture that makes the first brighter on screens that can show it."""
    for marker, start, end in jpeg_segments(data):
        segment = data[start:end] if marker in (APP1, APP2) else b""
        if any(name in segment for name in _GAIN_MAPS):
            raise LeftAlone("it holds a gain map for brighter screens")


def refuse_coding(data: bytes) -> None:
    """A JPEG file that is coded in a way browsers do not decode: what they do not show must not appear."""
    frames = [marker for marker, _, _ in jpeg_segments(data) if marker in _FRAMES]
    if any(marker not in _CHROMIUM_DECODES for marker in frames):
        raise LeftAlone("it is coded in a way that browsers do not decode")


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker, start and end of every segment before the first scan; then the rest of the file as one."""
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            raise LeftAlone("its segments cannot be told apart")
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
            continue
        if marker == START_OF_SCAN:
            yield marker, position, len(data)
            return
        end = position + 2 + int.from_bytes(data[position + 2 : position + 4], "big")
        yield marker, position, end
        position = end
    raise LeftAlone("it holds no scan")


def png_chunks(data: bytes) -> dict[bytes, tuple[int, int]]:
    """Start and end of the last chunk of each name in a PNG file; of what is none, nothing."""
    return {name: (start, end) for name, start, end in png_chunk_spans(data)}


def png_chunk_spans(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of every chunk of a PNG file, in order; of what is none, nothing."""
    position = len(PNG_START) if data.startswith(PNG_START) else len(data)
    while position + 12 <= len(data):
        end = position + 12 + int.from_bytes(data[position : position + 4], "big")
        yield data[position + 4 : position + 8], position, end
        position = end
