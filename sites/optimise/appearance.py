"""What a picture file shows beside its pixels: colours, transparency, EXIF, more than one picture. Pure.

Every `refuse_...` raises `LeftAlone` where a filter would lose it. What Chromium 156 goes by was measured: of a PNG
file cICP, then iCCP or sRGB, then gAMA (with cHRM, if there is one); of EXIF the orientation, and the resolution where
the size that EXIF names is the one that the resolution gives.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from PIL import Image

READ_ERRORS = (OSError, ValueError, SyntaxError, struct.error, zlib.error)
PNG_START = b"\x89PNG\r\n\x1a\n"
START_OF_SCAN, APP1, APP2 = 0xDA, 0xE1, 0xE2
_DEPTH_AT = 24  # of the bits per channel, in the IHDR chunk
_USUAL_GAMMA = range(
    45_450, 45_461
)  # 1/2.2, which every browser takes for sRGB where no cHRM stands beside it
_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _EXIF_IFD = 0x0112, 0x011A, 0x011B, 0x8769
_WIDTH, _HEIGHT = 0xA002, 0xA003
_EXIF_DPI = 72  # at which a picture has its own size
_ROUNDING_PX = 2
_CHROMIUM_DECODES = frozenset({0xC0, 0xC1, 0xC2})  # baseline, extended, progressive; all Huffman-coded
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_GAIN_MAPS = (b"hdrgm", b"HDRGainMap", b"urn:iso:std:iso:ts:21496")
_GREY, _GREY_PROFILE, _RGB_PROFILE = frozenset({"1", "L", "LA"}), b"GRAY", b"RGB "


class LeftAlone(Exception):  # no error: the reason why an image stays as it is
    """Why an image is not changed."""


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
    if profile and {_GREY_PROFILE if each in _GREY else _RGB_PROFILE for each in (image.mode, mode)} != {
        profile[16:20]
    }:
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
    return {name: (start, end) for name, start, end in png_chunk_places(data)}


def png_chunk_places(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of every chunk of a PNG file, in order; of what is none, nothing."""
    position = len(PNG_START) if data.startswith(PNG_START) else len(data)
    while position + 12 <= len(data):
        end = position + 12 + int.from_bytes(data[position : position + 4], "big")
        yield data[position + 4 : position + 8], position, end
        position = end
