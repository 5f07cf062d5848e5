"""What a page's bodies weigh as they travel, and which of them a load asks for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sites.htcache import url_key
from sites.optimise.page import Page
from sites.requisites import walk
from sites.response import Response
from sites.urls import resolve, shared_length


@dataclass(frozen=True)
class Size:
    """What a browser asks for: requests, and bytes of the bodies as they travel."""

    requests: int
    bytes: int


@dataclass(frozen=True)
class Inventory:
    """The bytes of each body of a page, and the URLs that a browser asks for which runs no scripts.

    URLs are without scheme and fragment, since a page is replayed over another scheme than it was recorded by;
    redirects from one scheme to the other are left out. Every candidate of a srcset is among the `unscripted`.
    """

    bytes: Mapping[str, int]
    unscripted: tuple[str, ...]

    @classmethod
    def of(cls, page: Page) -> Inventory:
        """The inventory of a page."""
        responses = {
            url_key(url): Response(url, each.status, each.headers, each.body)
            for url, each in page.resources.items()
        }
        found = [url for url, response in walk(responses, page.start_url) if response is not None]
        kept = {
            bare(url): len(each.wire_body)
            for url, each in page.resources.items()
            if not (300 <= each.status < 400 and _same(url, each.header("Location")))
        }
        return cls(kept, tuple(dict.fromkeys(name for url in found if (name := bare(url)) in kept)))

    @property
    def size(self) -> Size:
        """What is asked for without running scripts."""
        return self._size(self.unscripted)

    def size_of_load(self, original: Inventory, asked: Collection[str]) -> Size:
        """What a load asks for, where a load of the original asked for the URLs `asked`.

        Of these, those that are still referred to, or that only scripts ask for; and the files that filters added.
        """
        loaded = original.asked(asked)
        new = [name for name in self.unscripted if name not in original.bytes]
        gone = set(original.unscripted) - set(self.unscripted)
        return self._size([*new, *(name for name in self.bytes if name in loaded and name not in gone)])

    def asked(self, urls: Collection[str]) -> frozenset[str]:
        """What answered requests: the body recorded for the URL, else that of the closest query of its path."""
        return frozenset(filter(None, (self._answer(bare(url)) for url in urls)))

    def _answer(self, name: str) -> str | None:
        if name in self.bytes:
            return name
        path = name.partition("?")[0]
        alike = [each for each in self.bytes if each.partition("?")[0] == path]
        return max(alike, key=lambda each: (shared_length([each, name]), -len(each)), default=None)

    def _size(self, names: Collection[str]) -> Size:
        return Size(len(names), sum(self.bytes[name] for name in names))


def bare(url: str) -> str:
    """A URL as it is told from others here: without scheme and fragment, whatever the case of its percent escapes."""
    return url_key(url).partition("://")[2].partition("#")[0]


def _same(url: str, location: str | None) -> bool:
    target = resolve(url, location) if location else None
    return target is not None and bare(target) == bare(url)
