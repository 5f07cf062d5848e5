"""What a page needs, read as a browser would: references in HTML, style sheets and redirects, without scripts.

And what a browser asks for around a page, not for it: icons and manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser

from sites.archive import Archive
from sites.charset import charset_of, standard_name
from sites.coding import coding_of, decode
from sites.htcache import url_key
from sites.mediatype import HTML_TYPES
from sites.response import Response
from sites.urls import resolve

_LEGACY_FONT = re.compile(r"\.eot(?:\?|$)", re.IGNORECASE)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_REFERENCE = re.compile(
    r"""url\(\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'()]*+))\s*+\)|@import\s+(?:"([^"]*)"|'([^']*)')""",
    re.IGNORECASE,
)
_SRCSET_URL = re.compile(r"([^\s,]\S*[^\s,]|[^\s,])(?:,+(?=\s|$)|\s+[^,]*|$)")
_LOADED_LINKS = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest"})
_AROUND = frozenset({"icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest"})
_LOADED_ATTRIBUTES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("script", "img", "source", "input", "audio", "track", "embed"), ("src",)),
    **dict.fromkeys(("image", "use"), ("href", "xlink:href")),
    **dict.fromkeys(("body", "table", "td"), ("background",)),
    "video": ("src", "poster"),
    "object": ("data",),
}


def missing(responses: Mapping[str, Response], start: str) -> list[str]:
    """What the page at `start` needs and `responses` (by `url_key`, decoded) do not hold, in page order."""
    return [url for url, response in walk(responses, start) if response is None]


def walk(responses: Mapping[str, Response], start: str) -> Iterator[tuple[str, Response | None]]:
    """Every URL a browser requests by itself for the page at `start`, in page order, with its response.

    URLs are as the page writes them, responses are found whatever the case of percent escapes.
    """
    queue = [(start, True)]
    known = {start}
    for url, is_document in queue:  # grows while it is walked
        answer = responses.get(url_key(url))
        if answer is None:
            yield url, None
            continue
        response = replace(answer, url=url)
        yield url, response
        base, references = _references(response, is_document)
        for reference, leads_to_document in references:
            target = resolve(base, reference) if reference.strip() else None
            if target is not None and target not in known and not _LEGACY_FONT.search(target):
                known.add(target)
                queue.append((target, leads_to_document))


def _references(response: Response, is_document: bool) -> tuple[str, list[tuple[str, bool]]]:
    """The base URL and the references a browser follows by itself, each with whether it is a document."""
    if response.location:
        return response.url, [(response.location, is_document)]
    if response.status != 200:
        return response.url, []
    if is_document and "html" in response.mime:
        page = _Page()
        page.feed(_text(response))
        return resolve(response.url, page.base) or response.url, page.references
    if response.mime == "text/css":
        return response.url, [(reference, False) for reference in _css_references(_text(response))]
    return response.url, []


def peripheral_urls(archive: Archive) -> frozenset[str]:
    """The URLs, without their scheme, that documents of the archive name as icon or manifest, and /favicon.ico."""
    urls = {f"{entry.url.split('/', 3)[2]}/favicon.ico" for entry in archive.entries}
    for entry in archive.entries:
        if entry.mime in HTML_TYPES and entry.status == 200:
            urls.update(_named(archive.read(entry)))
    return frozenset(urls)


def _named(document: Response) -> Iterator[str]:
    try:
        body = decode(document.body, coding_of(document.header("Content-Encoding")))
    except ValueError:  # served as recorded, and as unreadable for the browser
        return
    page = _Page()
    page.feed(body.decode("utf-8", "replace"))
    base = resolve(document.url, page.base) or document.url
    for reference in page.around:
        target = resolve(base, reference)
        if target is not None:
            yield target.partition("://")[2]


class _Page(HTMLParser):
    """What a document has a browser load: `references`, each with whether it is a document, what it names `around` the
    page, and its base.
    """

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.references: list[tuple[str, bool]] = []
        self.around: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base":
            self.base = self.base or attributes.get("href", "")
        if tag in ("iframe", "frame"):
            self.references.append((attributes.get("src", ""), True))
        files = [attributes.get(name, "") for name in _LOADED_ATTRIBUTES.get(tag, ())]
        relations = set(attributes.get("rel", "").lower().split()) if tag == "link" else set()
        if relations & _LOADED_LINKS:
            files.append(attributes.get("href", ""))
        if relations & _AROUND:
            self.around.append(attributes.get("href", ""))
        for name in ("srcset", "imagesrcset"):
            files += _SRCSET_URL.findall(attributes.get(name, ""))
        files += _css_references(attributes.get("style", ""))
        self.references += [(file, False) for file in files]

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.references += [(file, False) for file in _css_references(data)]


def _css_references(text: str) -> list[str]:
    return ["".join(groups) for groups in _CSS_REFERENCE.findall(_CSS_COMMENT.sub("", text))]


def _text(response: Response) -> str:
    named = standard_name(charset_of(response.header("Content-Type")))
    try:
        return response.body.decode(named or "utf-8", "replace")
    except LookupError:  # an encoding of browsers that Python lacks
        return response.body.decode("utf-8", "replace")
