"""What a browser asks for around a page, not for it: icons and manifests. Pure but for reading the archive."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from sites.archive import Archive, Response
from sites.coding import coding_of, decode
from sites.mediatype import HTML_TYPES
from sites.urls import resolve

RELATIONS = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest"})


def peripheral_urls(archive: Archive) -> frozenset[str]:
    """The URLs, without their scheme, that documents of the archive name as icon or manifest, and /favicon.ico."""
    found = {f"{entry.url.split('/', 3)[2]}/favicon.ico" for entry in archive.entries}
    for entry in archive.entries:
        if entry.mime in HTML_TYPES and entry.status == 200:
            found.update(_named(archive.read(entry)))
    return frozenset(found)


def _named(document: Response) -> Iterator[str]:
    try:
        body = decode(document.body, coding_of(document.header("Content-Encoding")))
    except ValueError:  # served as recorded, and as unreadable for the browser
        return
    links = _Links()
    links.feed(body.decode("utf-8", "replace"))
    base = resolve(document.url, links.base) or document.url
    for reference in links.references:
        target = resolve(base, reference)
        if target is not None:
            yield target.partition("://")[2]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = self.base or attributes.get("href", "")
        if tag == "link" and RELATIONS & set(attributes.get("rel", "").lower().split()):
            self.references.append(attributes.get("href", ""))
