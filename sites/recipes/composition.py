"""Pages of today: put together from files of ours, libraries and photographs of npm packages, and third parties.

The files of ours lie in a folder of this package, each under the address it is served at: `HOST/PATH`. The documents
are templates of Jinja, which know the `device`. A library that is named for an address comes before our file of that
address, as a bundler joins them; a photograph is made for every address of one that a file of ours names.

A page asks for `/photo/NUMBER/WIDTHxHEIGHT.KIND` of a host. The number says which photograph and which part of it: from
the second round on parts of the same photographs, every other round mirrored. The pixels depend on Pillow, the address
names all else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import jinja2
from PIL import Image, ImageOps

from harness.model.engine import DESKTOP, MOBILE, Device
from sites.recipes.recipe import PINNED, Package, Recipe, read_files
from sites.recipes.template import CONTENT_TYPES, Template
from sites.response import Response

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
PHOTOGRAPH_PACKAGES: tuple[Package, ...] = tuple(dict.fromkeys(PINNED[name] for name, _ in PHOTOGRAPHS))
PHOTOGRAPH_LICENCE = "photographs MIT"
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
            for package in PHOTOGRAPH_PACKAGES
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


# A picture of one transparent pixel, as trackers send it.
PIXEL = bytes.fromhex(
    "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
)
UNCACHED = ("Cache-Control", "no-store")
TEXTS = (".html", ".js", ".json", ".css")
_PHOTOGRAPH = re.compile(r"(//[\w.-]+)?((?:/[\w.-]+)*/photo/(\d+)/(\d+)x(\d+)\.(jpg|webp))")

Library = tuple[Package, str]  # a file of a package


@dataclass(frozen=True)
class PageHosts:
    """Hosts of a page. All addresses are without the scheme.

    `folder` holds the files that are ours; of a folder that pages share, those of `hosts` count. `libraries` are files
    of packages by the address that they are served at, `texts` scripts of ours that no file holds. `pixels` are
    pictures that count something, `silent` what answers a beacon with nothing (204), `moved` redirects by their
    targets.
    """

    folder: str
    hosts: tuple[str, ...] = ()
    libraries: Mapping[str, Sequence[Library]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    pixels: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)

    @property
    def packages(self) -> tuple[Package, ...]:
        return tuple(dict.fromkeys(package for parts in self.libraries.values() for package, _ in parts))

    def holds(self, address: str) -> bool:
        """Whether an address is of these hosts."""
        return not self.hosts or address.partition("/")[0] in self.hosts

    def of(self, *hosts: str) -> PageHosts:
        """What some of the hosts have."""
        kept = replace(self, hosts=hosts)
        return replace(
            kept,
            libraries={address: parts for address, parts in self.libraries.items() if kept.holds(address)},
            pixels=tuple(filter(kept.holds, self.pixels)),
            silent=tuple(filter(kept.holds, self.silent)),
            moved={address: target for address, target in self.moved.items() if kept.holds(address)},
        )

    def files(self, packages: Path) -> Iterator[tuple[str, bytes]]:
        """Every file, those of packages and ours of the same address as one."""
        ours = _below(files("sites.recipes").joinpath(self.folder))
        own = {address: body for address, body in ours if self.holds(address)}
        own |= {address: text.encode() for address, text in self.texts.items()}
        wanted = [library for parts in self.libraries.values() for library in parts]
        held = {
            package: read_files(package, packages, *(path for holder, path in wanted if holder == package))
            for package in self.packages
        }
        for address, parts in self.libraries.items():
            joined = [held[package][path] for package, path in parts]
            own[address] = b"\n".join([*joined, *([own[address]] if address in own else [])])
        yield from sorted(own.items())


@dataclass(frozen=True)
class Composition:
    """A page: `template` is its document's host with what it refers to on hosts that serve packages and fonts."""

    template: Template
    parts: tuple[PageHosts, ...]

    @property
    def packages(self) -> tuple[Package, ...]:
        """Every package that the page is made of."""
        parts = (package for part in self.parts for package in part.packages)
        return tuple(dict.fromkeys((*self.template.packages, *parts, *PHOTOGRAPH_PACKAGES)))

    def responses(self, device: Device, packages: Path) -> Iterator[Response]:
        """The document, then all else, as a device gets it. All packages are in the folder."""
        site = self.template
        texts: dict[str, bytes] = {}
        for part in self.parts:
            for address, body in part.files(packages):
                texts[address] = rendered(body, device) if address.endswith(".html") else body
        start = f"{site.host}/index.html"
        yield site.response(f"{site.host}/", texts[start])
        for address in sorted(texts.keys() - {start}):
            yield site.response(address, texts[address])
        photographs = Photographs(packages)
        for address, cut in sorted(photographs_of(texts).items()):
            yield site.response(address, photographs.encoded(cut))
        yield from site.others(packages)
        for part in self.parts:
            for address in part.pixels:
                yield counted(site.response(address, PIXEL))
            for address in part.silent:
                yield replace(counted(site.response(address, b"")), status=204, reason="No Content")
            for address, target in part.moved.items():
                redirect = counted(site.response(address, b""))
                headers = (*redirect.headers, ("Location", f"{site.scheme}://{target}"))
                yield replace(redirect, status=302, reason="Found", headers=headers)


def recipes_of_devices(name: str, composition: Composition, summary: str, licence: str) -> tuple[Recipe, ...]:
    """A page as a desktop gets it, and with `-phone` behind its name as a phone does."""
    return tuple(
        Recipe(
            name=f"{name}{behind}",
            start_url=composition.template.start_url,
            summary=f"{summary}{told}.",
            licence=licence,
            made=partial(composition.responses, device),
            packages=composition.packages,
            spare=True,
        )
        for device, behind, told in ((DESKTOP, "", ""), (MOBILE, "-phone", "; as a phone gets it"))
    )


def rendered(document: bytes, device: Device) -> bytes:
    """A document of ours as a device gets it."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(document.decode()).render(device=device.name).encode()


def photographs_of(texts: Mapping[str, bytes]) -> dict[str, Cut]:
    """The photographs that files name, by address; one without a host is of the file's own."""
    cuts = {}
    for address, body in texts.items():
        if address.endswith(TEXTS):
            own = address.partition("/")[0]
            for host, path, number, width, height, kind in _PHOTOGRAPH.findall(body.decode()):
                cuts[f"{host.removeprefix('//') or own}{path}"] = Cut(
                    int(number), int(width), int(height), kind
                )
    return cuts


def counted(response: Response) -> Response:
    """As servers answer that count requests: never from a cache, and nothing has no type."""
    left_out = ("Cache-Control", "Last-Modified", *(() if response.body else ("Content-Type",)))
    kept = (header for header in response.headers if header[0] not in left_out)
    return replace(response, headers=(*kept, UNCACHED))


def _below(folder: Traversable, at: str = "") -> Iterator[tuple[str, bytes]]:
    """The files below a folder by their paths in it."""
    for entry in folder.iterdir():
        path = f"{at}{entry.name}"
        if entry.is_dir():
            yield from _below(entry, f"{path}/")
        elif entry.name.rpartition(".")[2] in CONTENT_TYPES:
            yield path, entry.read_bytes()
