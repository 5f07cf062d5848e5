"""Synthetic pictures of an exact file size: landscapes as JPEG, drawings as PNG.

Whole-number arithmetic on a documented random stream (PCG64) gives the same pixels on every machine. The
file size is reached by the strength of the picture's own grain, as with film; what is left, less than one per
cent, is a comment. The bytes depend on the encoder in Pillow, the size never does.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Pixels = NDArray[np.int32]
Colour = tuple[int, int, int]

JPEG_QUALITY = 92
PNG_LEVEL = 6
STRONGEST = 1024  # grain
FULL_ENOUGH = 0.995
PNG_START = b"\x89PNG\r\n\x1a\n"
COMMENT = b"Harbour Notes picture desk. "
SHORTEST_COMMENT = 24  # what the longer of the two forms takes around its text


@dataclass(frozen=True)
class Picture:
    """A picture to make: `kind` is jpg or png, `size_bytes` the exact file size, `seed` what it shows."""

    name: str
    width: int
    height: int
    size_bytes: int
    seed: int

    @property
    def kind(self) -> str:
        return self.name.rpartition(".")[2]

    def encoded(self) -> bytes:
        """The file. ValueError when no strength of grain gives the size."""
        if self.kind == "jpg":
            return _pad_jpeg(_closest(self, _film(self)), self.size_bytes)
        return _pad_png(_closest(self, _print(self)), self.size_bytes)


def _closest(picture: Picture, encode: Callable[[int], bytes]) -> bytes:
    """An encoding that fills the file but for the comment, by interpolating the strength of the grain."""
    room = picture.size_bytes - SHORTEST_COMMENT
    weak, strong = 0, STRONGEST
    best, largest = encode(weak), len(encode(strong))
    if not len(best) <= room < largest:
        raise ValueError(
            f"{picture.name} cannot have {picture.size_bytes} bytes: {len(best)} without grain, "
            f"{largest} with the strongest"
        )
    while strong - weak > 1 and len(best) < room * FULL_ENOUGH:
        share = (room - len(best)) / (largest - len(best))
        middle = min(max(weak + round(share * (strong - weak)), weak + 1), strong - 1)
        data = encode(middle)
        if len(data) <= room:
            weak, best = middle, data
        else:
            strong, largest = middle, len(data)
    return best


def _noise(width: int, height: int, cell: tuple[int, int], seed: int) -> Pixels:
    """Smooth noise, 0 to 255: random values `cell` pixels apart, blended in between."""
    columns, rows = width // cell[0] + 2, height // cell[1] + 2
    raw: NDArray[np.uint64] = np.random.PCG64(seed).random_raw(columns * rows)
    lattice = (raw >> np.uint64(56)).astype(np.int32).reshape(rows, columns)
    column, across = _between(width, cell[0])
    row, down = _between(height, cell[1])
    lines: Pixels = lattice[:, column] * (256 - across) + lattice[:, column + 1] * across
    noise: Pixels = (lines[row] * (256 - down[:, None]) + lines[row + 1] * down[:, None]) >> 16
    return noise


def _between(length: int, cell: int) -> tuple[Pixels, Pixels]:
    """For each pixel the lattice point before it and how far it is to the next, 0 to 256, eased."""
    position = np.arange(length, dtype=np.int32)
    part = position % cell * 256 // cell
    return position // cell, part * part * (768 - 2 * part) >> 16


def _clouds(width: int, height: int, cell: tuple[int, int], seed: int, octaves: int = 5) -> Pixels:
    """Noise with detail at every scale, 0 to 255: each octave half as coarse and half as strong."""
    total = np.zeros((height, width), dtype=np.int32)
    for octave in range(octaves):
        size = (max(cell[0] >> octave, 1), max(cell[1] >> octave, 1))
        total += _noise(width, height, size, seed * 16 + octave) >> (octave + 1)
    return total * 256 // 248


def _blend(one: Colour, other: Colour, share: Pixels) -> Pixels:
    """Colours between two, per element of `share` (0 to 256)."""
    first, second = np.array(one, dtype=np.int32), np.array(other, dtype=np.int32)
    return (first * (256 - share[..., None]) + second * share[..., None]) >> 8


# Sky above, sky at the horizon, far hills, near ground.
SCENES: tuple[tuple[Colour, Colour, Colour, Colour], ...] = (
    ((74, 128, 190), (214, 228, 238), (128, 152, 176), (46, 78, 42)),
    ((46, 58, 104), (246, 176, 118), (122, 92, 122), (34, 30, 44)),
    ((142, 162, 178), (226, 228, 224), (156, 166, 168), (92, 84, 62)),
    ((96, 160, 208), (232, 236, 220), (112, 142, 120), (122, 116, 44)),
    ((122, 130, 146), (206, 206, 204), (104, 118, 130), (38, 54, 58)),
)


def landscape(width: int, height: int, seed: int) -> Pixels:
    """Hills behind hills under a clouded sky; every second one has water in front."""
    high, low, far, near = SCENES[seed % len(SCENES)]
    rows = np.arange(height, dtype=np.int32)[:, None]
    picture = _blend(high, low, np.broadcast_to(np.minimum(rows * 400 // height, 256), (height, width)))
    cover = np.maximum(_clouds(width, height, (width // 2, height // 5), seed) - 118, 0) * 3
    picture = picture + (250 - picture) * np.minimum(cover, 220)[..., None] // 256
    layers = 4 + seed % 3
    for layer in range(layers):
        height_of_base = height * (44 + 46 * layer // layers) // 100
        skyline = _clouds(width, 1, (width // (2 + layer), 1), seed * 7 + layer)[0] - 128
        ridge = height_of_base + skyline * height // (520 + 160 * layer)
        colour = _blend(far, near, np.full((1, 1), 256 * layer // (layers - 1)))
        ground = _clouds(width, height, (64 >> min(layer, 2), 24), seed * 5 + layer) - 128
        hill = colour + colour * ground[..., None] * (1 + layer) // 512
        picture = np.where((rows >= ridge)[..., None], hill, picture)
    if seed % 2:
        waves = _clouds(width, height, (90, 8), seed * 3) - 128
        water = _blend(low, far, np.full((1, 1), 150)) + waves[..., None] * 2 // 3
        picture = np.where((rows >= height * 74 // 100)[..., None], water, picture)
    return picture


def drawing(width: int, height: int, seed: int) -> Pixels:
    """A map: heights in steps of colour, with contour lines and a coast."""
    land = _clouds(width, height, (max(width * 2 // 5, 8), max(height // 2, 8)), seed, octaves=4)
    steps = np.array(
        [(148, 190, 214), (174, 208, 224), (238, 228, 190), (206, 216, 164), (174, 196, 132), (146, 172, 108),
         (190, 164, 118), (222, 206, 178)],
        dtype=np.int32,
    )  # fmt: skip
    level = np.clip((land - 64) // 18, 0, 7)
    picture = steps[level]
    edge = (level != np.roll(level, 1, axis=0)) | (level != np.roll(level, 1, axis=1))
    picture[edge] = picture[edge] * 5 // 8
    picture[[0, -1], :] = 90
    picture[:, [0, -1]] = 90
    return picture


def _film(picture: Picture) -> Callable[[int], bytes]:
    """A photograph as JPEG, with grain as fine as a pixel."""
    pixels = landscape(picture.width, picture.height, picture.seed)
    grain = _noise(picture.width, picture.height, (1, 1), picture.seed + 90)[..., None] - 128
    return lambda strength: jpeg(pixels + grain * strength // (2 * STRONGEST))


def _print(picture: Picture) -> Callable[[int], bytes]:
    """A map as PNG, on paper with specks: up to half the pixels are a little darker."""
    pixels = drawing(picture.width, picture.height, picture.seed)
    paper = _noise(picture.width, picture.height, (1, 1), picture.seed + 90)[..., None] * 8
    paper += _noise(picture.width, picture.height, (1, 1), picture.seed + 91)[..., None] // 32
    return lambda strength: png(_image(np.where(paper < strength, pixels - 5, pixels)))


def jpeg(pixels: Pixels, quality: int = JPEG_QUALITY) -> bytes:
    """Baseline, 4:2:0, plain Huffman tables: as cameras and editors wrote them in 2012."""
    return _saved(_image(pixels), "JPEG", quality=quality)


def png(image: Image.Image, level: int = PNG_LEVEL) -> bytes:
    return _saved(image, "PNG", compress_level=level)


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file: length, type, content, checksum."""
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def draw_polygon(image: Image.Image, written: str, unit: float, fill: int | Colour, lower: int = 0) -> None:
    """Draw a polygon, written as in SVG, whose coordinates are so many pixels long, `lower` pixels down."""
    points = [tuple(map(int, point.split(","))) for point in written.split()]
    ImageDraw.Draw(image).polygon([(x * unit, y * unit + lower) for x, y in points], fill=fill)


def _image(pixels: Pixels) -> Image.Image:
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _saved(image: Image.Image, kind: str, **options: int) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _comment(length: int) -> bytes:
    return (COMMENT * (length // len(COMMENT) + 1))[:length]


def _pad_jpeg(data: bytes, size: int) -> bytes:
    """A comment segment behind the start marker: FF FE, its length, text."""
    length = size - len(data) - 2
    return data[:2] + b"\xff\xfe" + length.to_bytes(2, "big") + _comment(length - 2) + data[2:]


def _pad_png(data: bytes, size: int) -> bytes:
    """A tEXt chunk before the end chunk: keyword and text."""
    chunk = png_chunk(b"tEXt", b"Comment\0" + _comment(size - len(data) - 20))
    return data[:-12] + chunk + data[-12:]
