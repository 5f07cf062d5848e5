"""What a recipe is: a page that coldload can make by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from sites.archive import Archive, Response, write_archive
from sites.recipes.packages import Package, fetch
from sites.warc import About


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
