"""What a filter works on: a page as one frozen value, with decoded bodies; and what they weigh as they travel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness.model.protocol import Headers
from sites.archive import Archive
from sites.charset import Text, text_of
from sites.coding import KNOWN, coding_of, decode, encode, level_of
from sites.htcache import url_key
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES
from sites.optimise.markup import Tag, parse
from sites.requisites import walk
from sites.response import Response, WithHeaders
from sites.urls import resolve, shared_length

# Headers that describe a body which is no longer the one sent.
BODY_HEADERS = frozenset({"content-length", "content-md5", "content-range", "digest", "etag", "repr-digest"})
_PRELOADING = {"preload", "modulepreload"}
_PRELOAD = re.compile(
    r"<([^<>]*)>\s*(?:;(?:[^<\",;]|\"[^\"]*\")*)*?;\s*rel\s*=\s*\"?[^<\",;]*\b(?:module)?preload\b",
    re.IGNORECASE,
)
PRELOADED = "the page preloads it"  # and would do so, too, where it is named no more
# What a server says of a file that holds for one answer or one user. A file that others are put into holds for all.
_FOR_ONE = frozenset({"no-cache", "no-store", "private"})
FORBIDDEN = "its server forbids to change it (no-transform)"
APART = "its server does not let caches keep or share it"
# What some servers write and every browser takes.
_IMAGE_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


@dataclass(frozen=True)
class Resource(WithHeaders):
    """One response with its decoded body.

    `origin` is the recorded response that it is or was made from, `changed` tells which of the two, and `rewritten`
    whether the body is another one. That is coded at `level`, the recorded body's (None: the usual one). `pixels` holds
    an image to encode lossy forms from, when the body is itself an encoding with loss made here.
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    coding: str = ""
    level: int | None = None
    origin: Response = field(repr=False, kw_only=True)
    changed: bool = False
    rewritten: bool = False
    pixels: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, response: Response) -> Resource:
        """A recorded response. A body that cannot be decoded stays coded, and is then no text to any filter."""
        coding = coding_of(response.header("Content-Encoding"))
        try:
            body = decode(response.body, coding) if coding in KNOWN else None
        except ValueError:
            body = None
        if body is None:
            return cls(response.url, response.status, response.headers, response.body, "?", origin=response)
        return cls(response.url, response.status, response.headers, body, coding, origin=response)

    @property
    def mime(self) -> str:
        """The media type without parameters; images by the registered name of theirs."""
        return _IMAGE_ALIASES.get(super().mime, super().mime)

    @property
    def usable(self) -> bool:
        """Whether a filter may look into the body: it was answered with 200 and could be decoded."""
        return self.status == 200 and self.coding != "?" and bool(self.body)

    @property
    def caching(self) -> frozenset[str]:
        """The directives of its Cache-Control, in lower case and without their values."""
        said = ",".join(value for name, value in self.headers if name.lower() == "cache-control").lower()
        return frozenset(directive.partition("=")[0].strip() for directive in said.split(","))

    @property
    def may_change(self) -> bool:
        """Whether its server lets others change the body (no `no-transform`)."""
        return "no-transform" not in self.caching

    @property
    def is_never_fresh(self) -> bool:
        """Whether `Pragma: no-cache` or `Vary: *` make browsers ask again, whatever `Cache-Control` says."""
        forbidding = {("pragma", "no-cache"), ("vary", "*")}
        said = ((name.lower(), value.lower().split(",")) for name, value in self.headers)
        return any((name, word.strip()) in forbidding for name, values in said for word in values)

    @property
    def why_apart(self) -> str | None:
        """Why its server does not let the body be put into another file; None where it does."""
        if not self.may_change:
            return FORBIDDEN
        return APART if self.is_never_fresh or self.caching & _FOR_ONE else None

    @property
    def is_script(self) -> bool:
        return self.usable and self.mime in SCRIPT_TYPES

    @property
    def is_style(self) -> bool:
        return self.usable and self.mime == "text/css"

    @property
    def is_html(self) -> bool:
        return self.usable and self.mime in HTML_TYPES

    def text(self, kind: str, fallback: str = "") -> Text | None:
        """The body as text of that kind, see `text_of`."""
        return text_of(self.body, self.header("Content-Type"), kind, fallback)

    def with_header(self, name: str, value: str) -> Resource:
        """With that header set, in its old place if it was there."""
        if self.header(name) is None:
            return replace(self, headers=(*self.headers, (name, value)), changed=True)
        kept = tuple((key, value if key.lower() == name.lower() else old) for key, old in self.headers)
        return replace(self, headers=kept, changed=True)

    def with_body(self, body: bytes, mime: str | None = None, *, pixels: bytes | None = None) -> Resource:
        """With another body, and another media type if one is given."""
        headers = tuple(header for header in self.headers if header[0].lower() not in BODY_HEADERS)
        level = self.level if self.rewritten else level_of(self.body, self.coding, len(self.origin.body))
        changed = replace(
            self,
            body=body,
            headers=headers,
            changed=True,
            rewritten=True,
            pixels=pixels,
            level=level,
        )
        return changed.with_header("Content-Type", mime) if mime else changed

    @cached_property
    def wire_body(self) -> bytes:
        """The body as it travels: as recorded, or coded anew at the level it was."""
        if not self.rewritten:
            return self.origin.body
        return encode(self.body, self.coding, self.level)

    def to_response(self) -> Response:
        """What the derived archive stores."""
        if not self.changed:
            return self.origin
        return replace(self.origin, url=self.url, headers=self.headers, body=self.wire_body)


@dataclass(frozen=True)
class Note:
    """What a filter left alone or had to do. One reason reads the same wherever it occurs."""

    url: str
    """URL"""
    reason: str
    """why it was left alone, or what had to be done"""
    detail: str = ""
    """what the reason says of this URL alone, as its size"""


class LeftAlone(Exception):  # no error: the reason why a filter changes nothing
    """Why something stays as it is; the reason of a note."""


@dataclass(frozen=True)
class Page:
    """A start URL and the resources around it, in recorded order; of several captures of a URL the one replayed."""

    start_url: str
    resources: Mapping[str, Resource]

    @classmethod
    def of(cls, archive: Archive) -> Page:
        """The page an archive holds. Of several captures the last with status 200 counts, else the last."""
        resources: dict[str, Resource] = {}
        for response in archive.responses():
            known = resources.get(response.url)
            if known is None or response.status == 200 or known.status != 200:
                resources[response.url] = Resource.of(response)
        return cls(archive.start_url, resources)

    def with_resources(self, changed: Iterable[Resource]) -> Page:
        """With resources replaced, or added at the end."""
        return replace(self, resources={**self.resources, **{resource.url: resource for resource in changed}})

    def why_apart(self, resource: Resource) -> str | None:
        """Why one of its files must not come to stand in another one; None where it may."""
        return PRELOADED if resource.url in self.preloaded else resource.why_apart

    def get(self, base: str, reference: str) -> Resource | None:
        """What a reference leads to, when it is in the page and no redirect."""
        return self.resources.get(self.url_of(base, reference) or "")

    def url_of(self, base: str, reference: str) -> str | None:
        """Where a reference leads to in a replay, whose links all have one scheme: a URL as it was recorded.

        None when it is not http(s).
        """
        url = resolve(base, reference) if reference.strip() else None
        return self._answering.get(_address(url), url) if url else None

    @cached_property
    def _answering(self) -> Mapping[str, str]:
        """The URLs that are answered with 200, by their addresses; of two schemes the start URL's counts."""
        scheme = self.start_url.partition(":")[0]
        urls = (url for url, resource in self.resources.items() if resource.status == 200)
        return {_address(url): url for url in sorted(urls, key=lambda url: url.startswith(f"{scheme}:"))}

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """URLs of the HTML documents a browser shows: the start document, and frames within."""
        queue = [self.start_url]
        for url in queue:  # grows while it is walked
            queue += [frame for frame in self._frames(url) if frame not in queue]
        return tuple(url for url in queue if url in self.resources and self.resources[url].is_html)

    @cached_property
    def preloaded(self) -> frozenset[str]:
        """The URLs that its documents name in `<link rel=preload>` or `modulepreload`, or in such a Link header."""
        return frozenset(filter(None, (preload for url in self.documents for preload in self._preloads(url))))

    def _preloads(self, url: str) -> Iterator[str | None]:
        document = self.resources[url]
        text = document_text(document)
        tokens = () if text is None else parse(text.text)
        base = base_url(url, tokens)
        links = (
            token for token in tokens if isinstance(token, Tag) and token.name == "link" and not token.closing
        )
        for link in links:
            if _PRELOADING & set((link.get("rel") or "").lower().split()):
                yield self.url_of(base, link.get("href") or "")
        for name, value in document.headers:
            if name.lower() == "link":
                yield from (self.url_of(url, reference) for reference in _PRELOAD.findall(value))

    def _frames(self, url: str) -> Iterator[str]:
        """Where a redirect leads, or the frames of a document."""
        resource = self.resources.get(url)
        if resource is None:
            return
        if resource.location and (target := self.url_of(url, resource.location)):
            yield target
        text = document_text(resource)
        if text is None:
            return
        tokens = parse(text.text)
        base = base_url(url, tokens)
        for token in tokens:
            if isinstance(token, Tag) and token.name in ("iframe", "frame") and not token.closing:
                source = token.get("src")
                if source and (target := self.url_of(base, source)):
                    yield target


def document_text(resource: Resource) -> Text | None:
    """The text of an HTML document, None when it is none or its encoding cannot be told for certain."""
    if not resource.is_html or resource.mime != "text/html":  # XHTML has a grammar of its own
        return None
    return resource.text("html")


def base_url(url: str, tokens: Iterable[object]) -> str:
    """What relative references of a document are resolved against: its URL, or its first <base href>."""
    for token in tokens:
        if isinstance(token, Tag) and token.name == "base" and not token.closing:
            reference = token.get("href")
            if reference is not None:
                return resolve(url, reference) or url
    return url


@dataclass(frozen=True)
class Size:
    """What a browser asks for: requests, and bytes of the bodies as they travel."""

    requests: int
    bytes: int


@dataclass(frozen=True)
class Inventory:
    """What a page has, and what a browser asks for which runs no scripts.

    URLs are without scheme and fragment, since a page is replayed over another scheme than it was recorded by;
    redirects from one scheme to the other are left out. Every candidate of a srcset is among the `unscripted`.
    """

    bytes: Mapping[str, int]
    """bytes of each body, by URL"""
    unscripted: tuple[str, ...]
    """URLs that a browser asks for which runs no scripts"""

    @classmethod
    def of(cls, page: Page) -> Inventory:
        """The inventory of a page."""
        responses = [
            Response(url, each.status, each.headers, each.body) for url, each in page.resources.items()
        ]
        found = {
            **{url_key(_of_other_scheme(response.url)): response for response in responses},
            **{url_key(response.url): response for response in responses},
        }
        urls = [url for url, response in walk(found, page.start_url) if response is not None]
        kept = {
            bare(url): len(each.wire_body)
            for url, each in page.resources.items()
            if not _same(url, each.location)
        }
        return cls(kept, tuple(dict.fromkeys(name for url in urls if (name := bare(url)) in kept)))

    @property
    def size(self) -> Size:
        """What is asked for without running scripts."""
        return self._size(self.unscripted)

    def size_of_load(self, original: Inventory, asked: Collection[str]) -> Size:
        """What a load asks for, where a load of the original asked for the URLs `asked`.

        Of these, those that are still referred to, or that only scripts ask for; and the files that filters added. A
        file that `shard` moved is no new one: it counts where the load asked for it at its old address.
        """
        loaded = original.asked(asked)
        unasked = original.bytes.keys() - loaded
        new = [
            name
            for name in self.unscripted
            if name not in original.bytes and address_before_shard(name) not in unasked
        ]
        gone = set(original.unscripted) - set(self.unscripted)
        return self._size([*new, *(name for name in self.bytes if name in loaded and name not in gone)])

    def asked(self, urls: Collection[str]) -> frozenset[str]:
        """What answered requests: the body recorded for the URL, else that of the closest query of its path."""
        return frozenset(filter(None, (self._answer(bare(url)) for url in urls)))

    def _answer(self, name: str) -> str | None:
        if name in self.bytes:
            return name
        path = name.partition("?")[0]
        alike = [candidate for candidate in self.bytes if candidate.partition("?")[0] == path]
        return max(alike, key=lambda each: (shared_length([each, name]), -len(each)), default=None)

    def _size(self, names: Collection[str]) -> Size:
        return Size(len(names), sum(self.bytes[name] for name in names))


def _address(url: str) -> str:
    """A canonical URL without its scheme."""
    return url.partition("://")[2]


def _of_other_scheme(url: str) -> str:
    """The same address under http in place of https, or the reverse."""
    return f"{'http' if url.startswith('https:') else 'https'}://{_address(url)}"


def bare(url: str) -> str:
    """A URL as it is told from others here: without scheme and fragment, whatever the case of its percent escapes."""
    return url_key(url).partition("://")[2].partition("#")[0]


def address_before_shard(name: str) -> str:
    """The old address of a file that `shard` moved: `host/path` of `shard1.host/path`."""
    return name.partition(".")[2]


def _same(url: str, location: str | None) -> bool:
    target = resolve(url, location) if location else None
    return target is not None and bare(target) == bare(url)
