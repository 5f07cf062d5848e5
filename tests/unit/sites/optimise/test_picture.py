"""What pictures show beside their pixels stays, or they stay; each reason is one that Chromium was seen to go by."""

from __future__ import annotations

import os
import signal
import struct
import zlib
from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image, ImageCms

from sites.optimise import outside, picture
from sites.optimise.page import LeftAlone
from tests.unit.sites.optimise.pages import photo, png

LOSSLESS: dict[str, Callable[[bytes], bytes]] = {
    "stripped": picture.stripped,
    "packed": lambda data: picture.packed_png(data, 2),
    "webp": lambda data: picture.webp(data, None, 4),
}
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREY_PROFILE = PROFILE[:16] + b"GRAY" + PROFILE[20:]
CHROMATICITIES = struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000)


def gamma(value: int) -> tuple[bytes, bytes]:
    return b"gAMA", struct.pack(">I", value)


def slope(x: int, y: int) -> tuple[int, int, int]:
    return x * 4, y * 5, 90


def reason(data: bytes, change: str) -> str:
    """Why a lossless change does not apply; "" when it does, and then every pixel must be what it was."""
    try:
        picture.check(data, 1 << 30)
        made = LOSSLESS[change](data)
    except LeftAlone as why:
        return str(why)
    before, after = (Image.open(BytesIO(each)).convert("RGBA") for each in (data, made))
    visible = [bytes(each) for each in (before.convert("RGBa").tobytes(), after.convert("RGBa").tobytes())]
    assert visible[0] == visible[1]
    return ""


@pytest.mark.parametrize(
    ("chunks", "left_alone"),
    [
        ([gamma(100_000)], True),
        ([gamma(45_455)], False),
        ([gamma(45_455), (b"cHRM", CHROMATICITIES)], True),
        ([(b"sRGB", b"\0"), gamma(45_455), (b"cHRM", CHROMATICITIES)], False),
        ([(b"cICP", bytes([9, 16, 0, 1]))], True),
        ([(b"iCCP", b"x\0\0" + zlib.compress(PROFILE)), gamma(45_455), (b"cHRM", CHROMATICITIES)], False),
        ([(b"iCCP", b"x\0\0" + zlib.compress(GREY_PROFILE))], True),
        ([(b"pHYs", struct.pack(">IIB", 2000, 5000, 1)), (b"sBIT", b"\5\5\5")], False),
    ],
)
def test_colours_that_a_chunk_explains(chunks: list[tuple[bytes, bytes]], left_alone: bool) -> None:
    data = png(slope, *chunks)
    assert bool(reason(data, "webp")) == left_alone
    assert reason(data, "stripped") == reason(data, "packed") == ""
    kept = {name for name, _ in chunks}
    for name in ("stripped", "packed"):
        assert all(each in LOSSLESS[name](data) for each in kept)
    with pytest.raises(LeftAlone) if left_alone else BytesIO():
        picture.resized(data, (32, 24), 85)


def test_a_colour_that_stands_for_nothing_stays_transparent() -> None:
    def barred(x: int, y: int) -> tuple[int, int, int]:
        return (255, 0, 255) if 10 <= x < 30 else slope(x, y)

    keyed = png(barred, (b"tRNS", struct.pack(">HHH", 255, 0, 255)))
    made = (picture.webp(keyed, None, 4), picture.avif(keyed, 90, 8), picture.resized(keyed, (32, 24), 85))
    for data in made:
        image = Image.open(BytesIO(data)).convert("RGBA")
        alpha = [image.getpixel((at * image.width // 64, 8))[3] for at in (4, 20, 40)]  # type: ignore[index]
        assert [each > 250 for each in alpha] == [True, False, True]
    grey = png(lambda x, _: (x,), (b"tRNS", struct.pack(">H", 20)), kind=(0, 8))
    assert reason(grey, "webp") == ""
    small = png(lambda x, _: (x % 4,), (b"tRNS", struct.pack(">H", 1)), kind=(0, 2))
    assert "transparent shade" in reason(small, "webp")
    palette = (b"PLTE", bytes(range(192))), (b"tRNS", bytes(range(0, 240, 4)))
    assert reason(png(lambda x, _: (x,), *palette, kind=(3, 8)), "webp") == ""
    assert reason(png(lambda x, y: (x * 4, y * 5), kind=(4, 8)), "webp") == ""


@pytest.mark.parametrize("kind", [(0, 16), (2, 16), (4, 16), (6, 16)])
def test_more_than_eight_bits_are_kept(kind: tuple[int, int]) -> None:
    data = png(lambda x, y: (x * 1000, y * 1000, 9, 65_535)[: {0: 1, 2: 3, 4: 2, 6: 4}[kind[0]]], kind=kind)
    assert "more than 8 bits" in reason(data, "webp")
    assert LOSSLESS["packed"](data)[24] == 16


def test_one_frame_beside_the_still_picture_is_an_animation() -> None:
    assert "animated" in reason(png(slope, (b"acTL", struct.pack(">II", 1, 0))), "stripped")


def exif(orientation: int = 1, resolution: int = 0, named: tuple[int, int] | None = None) -> Image.Exif:
    made = Image.Exif()
    made[0x0112] = orientation
    if resolution:
        made[0x011A] = made[0x011B] = resolution
    if named:
        details = made.get_ifd(0x8769)
        details[0xA002], details[0xA003] = named
    return made


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (exif(orientation=6), "orientation"),
        (exif(resolution=144, named=(32, 24)), "size it is shown in"),
        (exif(resolution=144, named=(64, 48)), ""),
        (exif(resolution=300, named=(4000, 3000)), ""),
        (exif(resolution=144), ""),
        (exif(named=(32, 24)), ""),
    ],
)
def test_exif_that_shows(data: Image.Exif, expected: str) -> None:
    still = Image.open(BytesIO(png(slope)))
    file = BytesIO()
    still.save(file, "PNG", exif=data)
    for changed in ("stripped", "webp"):
        assert expected in reason(file.getvalue(), changed)
        assert bool(expected) == bool(reason(file.getvalue(), changed))
    for change in (
        picture.stripped,
        lambda data: picture.webp(data, 80, 4),
        lambda data: picture.avif(data, 60, 9),
    ):
        try:
            change(photo(exif=data))
            left = ""
        except LeftAlone as why:
            left = str(why)
        assert (expected in left, bool(left)) == (True, bool(expected))


def test_jpeg_files_that_are_more_or_other_than_they_seem() -> None:
    bright = photo()
    note = b'http://ns.adobe.com/xap/1.0/\0<x hdrgm:Version="1.0"/>'
    mapped = bright[:2] + b"\xff\xe1" + struct.pack(">H", len(note) + 2) + note + bright[2:]
    arithmetic = bright.replace(b"\xff\xc0", b"\xff\xc9", 1)
    for data, expected in ((mapped, "gain map"), (arithmetic, "do not decode")):
        with pytest.raises(LeftAlone, match=expected):
            picture.check(data, 1 << 30)
    grey, cmyk = BytesIO(), BytesIO()
    Image.open(BytesIO(bright)).convert("L").save(grey, "JPEG", quality=95, icc_profile=GREY_PROFILE)
    Image.open(BytesIO(bright)).convert("CMYK").save(cmyk, "JPEG", quality=95)
    assert Image.open(BytesIO(picture.jpeg(grey.getvalue(), 85))).info["icc_profile"] == GREY_PROFILE
    for data in (grey.getvalue(), cmyk.getvalue()):
        picture.stripped(data)
        with pytest.raises(LeftAlone):
            picture.webp(data, 80, 4)
        with pytest.raises(LeftAlone):
            picture.resized(data, (32, 24), 85)


def test_a_file_on_which_mozjpeg_dies_is_left_alone() -> None:
    """It leaves its process when coefficients are out of range, as those of a damaged file may be."""
    photograph = photo()
    assert picture.progressive(photograph)
    process = outside._mozjpeg._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(LeftAlone, match="cannot be read"):
        picture.progressive(photograph)
    assert picture.progressive(photograph)
