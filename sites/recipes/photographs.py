"""Photographs of npm packages, cut to the sizes in which pages of today show them.

A page asks for `/photo/NUMBER/WIDTHxHEIGHT.KIND` of a host. The number says which photograph and which part of it: from
the second round on parts of the same photographs, every other round mirrored. The pixels depend on Pillow, the address
names all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageOps

from sites.recipes.recipe import PINNED, Package, read_files

PHOTOGRAPHS: tuple[tuple[str, str], ...] = (
    *(
        ("paper-kit-2", f"assets/img/{name}.jpg")
        for name in (
            *("antoine-barres", "bruno-abatti", "daniel-olahh", "daniel-olahs", "fabio-mangione"),
            *("federico-beccari", "ilya-yakover", "joshua-stannard", "login-image", "soroush-karimi"),
            "uriel-soberanes",
        )
    ),
    ("startbootstrap-landing-page", "img/intro-bg.jpg"),
    ("startbootstrap-landing-page", "img/banner-bg.jpg"),
    ("startbootstrap-agency", "dist/assets/img/header-bg.jpg"),
    ("startbootstrap-creative", "img/header.jpg"),
    *(("startbootstrap-clean-blog", f"img/{name}-bg.jpg") for name in ("contact", "home", "post")),
)
PACKAGES: tuple[Package, ...] = tuple(dict.fromkeys(PINNED[name] for name, _ in PHOTOGRAPHS))
LICENCE = "photographs MIT"
# Left, upper, right and lower edge in hundredths of the photograph, by round.
PARTS = ((0, 0, 100, 100), (0, 10, 65, 75), (30, 20, 100, 90), (20, 0, 80, 60))
QUALITY: Mapping[str, tuple[str, int]] = {"jpg": ("JPEG", 86), "webp": ("WEBP", 82)}


class Cut(NamedTuple):
    """A photograph as a page shows it; width and height in pixels, `kind` is jpg or webp."""

    number: int
    width: int
    height: int
    kind: str


class Photographs:
    """The photographs of packages that lie in a folder."""

    def __init__(self, packages: Path) -> None:
        self._files = {
            (package.name, path): body
            for package in PACKAGES
            for path, body in read_files(
                package, packages, *(path for name, path in PHOTOGRAPHS if name == package.name)
            ).items()
        }

    def encoded(self, cut: Cut) -> bytes:
        """The file: progressive JPEG, or WebP."""
        round_, number = divmod(cut.number, len(PHOTOGRAPHS))
        with Image.open(BytesIO(self._files[PHOTOGRAPHS[number]])) as whole:
            left, upper, right, lower = PARTS[round_ % len(PARTS)]
            width, height = whole.width / 100, whole.height / 100
            part = whole.convert("RGB").crop(
                (round(left * width), round(upper * height), round(right * width), round(lower * height))
            )
        shown = ImageOps.fit(part, (cut.width, cut.height), Image.Resampling.LANCZOS)
        file = BytesIO()
        form, quality = QUALITY[cut.kind]
        (ImageOps.mirror(shown) if round_ % 2 else shown).save(
            file, form, quality=quality, progressive=True, method=4
        )
        return file.getvalue()
