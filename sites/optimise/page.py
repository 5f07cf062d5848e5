"""What a filter works on: a page as one frozen value, with decoded bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sites.archive import Archive, Response
from sites.charset import Text, text_of
from sites.coding import KNOWN, coding_of, decode, encode
from sites.mediatype import HTML_TYPES, SCRIPT_TYPES
from sites.optimise.markup import Tag, parse
from sites.urls import resolve

# Headers that describe a body which is no longer the one sent.
BODY_HEADERS = frozenset({"content-length", "content-md5", "content-range", "digest", "etag", "repr-digest"})
_ANY_SIZE = 2**62
# What some servers write and every browser takes.
_IMAGE_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


@dataclass(frozen=True)
class Resource:
    """One response with its decoded body.

    `origin` is the recorded response that it is or was made from, `changed` tells which of the two, and `rewritten`
    whether the body is another one. `coded_bytes` is the recorded size of the body as it travelled. `pixels` holds
    an image to encode lossy forms from, when the body is itself an encoding with loss made here.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    coding: str = ""
    coded_bytes: int = 0
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
        size = len(response.body)
        return cls(response.url, response.status, response.headers, body, coding, size, origin=response)

    @property
    def mime(self) -> str:
        """The media type without parameters; images by the registered name of theirs."""
        written = (self.header("Content-Type") or "").partition(";")[0].strip().lower()
        return _IMAGE_ALIASES.get(written, written)

    @property
    def usable(self) -> bool:
        """Whether a filter may look into the body: it was answered with 200 and could be decoded."""
        return self.status == 200 and self.coding != "?" and bool(self.body)

    @property
    def is_script(self) -> bool:
        return self.usable and self.mime in SCRIPT_TYPES

    @property
    def is_style(self) -> bool:
        return self.usable and self.mime == "text/css"

    @property
    def is_html(self) -> bool:
        return self.usable and self.mime in HTML_TYPES

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def with_header(self, name: str, value: str) -> Resource:
        """With that header set, in its old place if it was there."""
        if self.header(name) is None:
            return replace(self, headers=(*self.headers, (name, value)), changed=True)
        kept = tuple((key, value if key.lower() == name.lower() else old) for key, old in self.headers)
        return replace(self, headers=kept, changed=True)

    def with_body(self, body: bytes, mime: str | None = None, *, pixels: bytes | None = None) -> Resource:
        """With another body, and another media type if one is given."""
        headers = tuple(header for header in self.headers if header[0].lower() not in BODY_HEADERS)
        changed = replace(
            self,
            body=body,
            headers=headers,
            changed=True,
            rewritten=True,
            pixels=pixels,
            coded_bytes=self._coded_bytes(),
        )
        return changed.with_header("Content-Type", mime) if mime else changed

    def _coded_bytes(self) -> int:
        """What makes `encode` choose the brotli quality of the origin, whatever the body becomes."""
        if self.coding != "br" or self.rewritten:
            return self.coded_bytes
        ahead = encode(self.body, "br", self.coded_bytes) != encode(self.body, "br", _ANY_SIZE)
        return 0 if ahead else _ANY_SIZE

    @cached_property
    def wire_body(self) -> bytes:
        """The body as it travels: as recorded, or coded anew the way it was."""
        if not self.rewritten:
            return self.origin.body
        return encode(self.body, self.coding, self.coded_bytes)

    def to_response(self) -> Response:
        """What the derived archive stores."""
        if not self.changed:
            return self.origin
        return replace(self.origin, url=self.url, headers=self.headers, body=self.wire_body)


@dataclass(frozen=True)
class Note:
    """What a filter left alone or had to do: at which URL, and why. One reason reads the same wherever it occurs.

    `detail` is what the reason says of this URL alone, as its size.
    """

    url: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Page:
    """A start URL and the resources around it, in recorded order; of several captures of a URL the one replayed."""

    start_url: str
    resources: Mapping[str, Resource]

    @classmethod
    def of(cls, archive: Archive) -> Page:
        """The page an archive holds. Of several captures the last with status 200 counts, else the last."""
        found: dict[str, Resource] = {}
        for response in archive.responses():
            known = found.get(response.url)
            if known is None or response.status == 200 or known.status != 200:
                found[response.url] = Resource.of(response)
        return cls(archive.start_url, found)

    def with_resources(self, changed: Iterable[Resource]) -> Page:
        """With resources replaced, or added at the end."""
        return replace(self, resources={**self.resources, **{each.url: each for each in changed}})

    def get(self, base: str, reference: str) -> Resource | None:
        """What a reference leads to, when it is in the page and no redirect."""
        url = resolve(base, reference) if reference.strip() else None
        return self.resources.get(url) if url else None

    @cached_property
    def documents(self) -> tuple[str, ...]:
        """URLs of the HTML documents a browser shows: the start document, and frames within."""
        queue = [self.start_url]
        for url in queue:  # grows while it is walked
            queue += [frame for frame in self._frames(url) if frame not in queue]
        return tuple(url for url in queue if url in self.resources and self.resources[url].is_html)

    def _frames(self, url: str) -> Iterator[str]:
        """Where a redirect leads, or the frames of a document."""
        found = self.resources.get(url)
        if found is None:
            return
        location = found.header("Location") if 300 <= found.status < 400 else None
        if location and (target := resolve(url, location)):
            yield target
        text = document_text(found)
        if text is None:
            return
        tokens = parse(text.text)
        base = base_url(url, tokens)
        for token in tokens:
            if isinstance(token, Tag) and token.name in ("iframe", "frame") and not token.closing:
                source = token.get("src")
                if source and (target := resolve(base, source)):
                    yield target


def document_text(resource: Resource) -> Text | None:
    """The text of an HTML document, None when it is none or its encoding cannot be told for certain."""
    if not resource.is_html or resource.mime != "text/html":  # XHTML has a grammar of its own
        return None
    return text_of(resource.body, resource.header("Content-Type"), "html")


def base_url(url: str, tokens: Iterable[object]) -> str:
    """What relative references of a document are resolved against: its URL, or its first <base href>."""
    for token in tokens:
        if isinstance(token, Tag) and token.name == "base" and not token.closing:
            reference = token.get("href")
            if reference is not None:
                return resolve(url, reference) or url
    return url
