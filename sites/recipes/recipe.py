"""What a recipe is: a page that coldload can make by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sites.archive import Archive, Response, write_archive
from sites.warc import About


@dataclass(frozen=True)
class Recipe:
    """A page made at set-up. `responses` gets the folder where downloaded packages are kept.

    The responses are the same every time. `crawled` asks for the page to be archived by serving these
    responses and crawling them, as a live site is; otherwise they are the archive.
    """

    name: str
    start_url: str
    summary: str
    licence: str
    responses: Callable[[Path], Iterable[Response]]
    crawled: bool = False

    def archive(self, root: Path, packages: Path) -> Archive:
        """Make the page and store it under its own name; what it downloads is kept in `packages`."""
        return write_archive(
            root,
            self.name,
            About(self.start_url, "recipe", "", (self.summary, f"Licence: {self.licence}")),
            self.responses(packages),
        )
