"""How files come: in the document or from which host, which are asked for early or late, how long they are kept."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urldefrag, urlsplit, urlunsplit

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE, text_of
from sites.optimise import script, stylesheet
from sites.optimise.document import (
    FILE_ATTRIBUTES,
    Document,
    Edit,
    Element,
    Notes,
    documents_of,
    edit_documents,
    edit_elements,
    has_handlers,
    is_named,
    is_style_sheet,
    lends_urls,
    media_of,
    reads_itself,
    script_texts,
)
from sites.optimise.lookups import ElementChange
from sites.optimise.markup import Chars, MarkupToken, Tag, end_tag
from sites.optimise.page import FORBIDDEN, PRELOADED, LeftAlone, Note, Page, Resource
from sites.served import HEADER_LIMIT_CHARACTERS
from sites.urls import resolve, same_origin

INLINED_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)
_PIXELS = re.compile(r"\b(?:getImageData|toDataURL|toBlob|tex(?:Sub)?Image[23]D|captureStream|VideoFrame)\b")


@dataclass(frozen=True)
class _Inlinable:
    """How one kind of file moves into the document, by which filter.

    `reference` is what an element refers to (None: it is no such element), `content` the text that takes the
    place of the file, `start` the tag it then stands in. `content` raises LeftAlone.
    """

    filter: str
    element: str
    name: str
    reference: Callable[[Tag], str | None]
    is_file: Callable[[Resource], bool]
    content: Callable[[Document, Resource, Tag], str]
    start: Callable[[Tag], Tag]


def inline_css(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Style sheets up to the size limit become <style> elements; their relative URLs follow."""
    kind = replace(_CSS, content=partial(_style_content, lends_urls(page)))
    return _inline(page, kind, settings.css_inline_max_bytes)


def inline_javascript(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Scripts up to the size limit that the parser waits for move into their elements."""
    return _inline(page, _JAVASCRIPT, settings.js_inline_max_bytes)


def _inline(page: Page, kind: _Inlinable, limit_bytes: int) -> tuple[Page, Notes]:
    def change(document: Document, element: Element) -> list[MarkupToken] | Note | None:
        resource = document.referred(kind.reference(element.tag))
        if resource is None or not kind.is_file(resource):
            return None
        if len(resource.body) > limit_bytes:
            return _too_large(resource, kind.filter, limit_bytes)
        try:
            _check_element(document, element.tag, resource, kind)
            content = kind.content(document, resource, element.tag)
        except LeftAlone as why:
            return Note(resource.url, str(why))
        start = kind.start(element.tag)
        return [start, Chars(content, start.name), end_tag(start.name)]

    return edit_elements(page, [kind.element], change)


def _too_large(resource: Resource, name: str, limit_bytes: int) -> Note:
    reason = f"larger than {limit_bytes:,} bytes ({name}.max_bytes)"
    return Note(resource.url, reason, f"{len(resource.body):,} bytes")


def _check_element(document: Document, tag: Tag, found: Resource, kind: _Inlinable) -> None:
    reason = document.page.why_apart(found)
    if reason:
        raise LeftAlone(reason)
    if has_handlers(tag):
        raise LeftAlone(f"a script waits for the {kind.name} to load")
    if is_named(tag.get("id"), document):
        raise LeftAlone("a script may ask for the element by its id")


def _style_content(lent: bool, document: Document, found: Resource, tag: Tag) -> str:
    text = document.whole_text_of(found, "css", tag)
    moved = stylesheet.rebased(text.text, found.url, document.base, lent=lent)
    if moved is None or not stylesheet.is_well_formed(moved):
        raise LeftAlone("the style sheet is not well formed")
    if stylesheet.ends_style(moved) or document.text.encoded(moved) is None:
        raise LeftAlone("the style sheet cannot stand in the document")
    return stylesheet.without_charset(moved)


def _style_tag(link: Tag) -> Tag:
    kept = link.without("rel", "href", "type", *FILE_ATTRIBUTES)
    tail = ">" if kept.tail.endswith("/>") else kept.tail
    return Tag("<style", "style", False, kept.attributes, tail)


def _script_content(document: Document, found: Resource, tag: Tag) -> str:
    text = document.whole_text_of(found, "javascript", tag)
    if document.text.encoded(text.text) is None or script.breaks_out(text.text):
        raise LeftAlone("the script cannot stand in the document")
    reason = script.why_not_movable(text.text)
    if reason:
        raise LeftAlone(reason)
    return text.text


_CSS = _Inlinable(
    filter="inline_css",
    element="link",
    name="style sheet",
    reference=lambda tag: tag.get("href") if is_style_sheet(tag) else None,
    is_file=lambda resource: resource.is_style,
    content=partial(_style_content, True),
    start=_style_tag,
)
_JAVASCRIPT = _Inlinable(
    filter="inline_javascript",
    element="script",
    name="script",
    reference=lambda tag: tag.get("src") if script.holds_up(tag) else None,
    is_file=lambda resource: resource.is_script,
    content=_script_content,
    start=lambda tag: tag.without("src", *FILE_ATTRIBUTES),
)


def inline_images(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images up to the size limit become data URLs, where the document shows them once."""

    def change(document: Document, element: Element) -> list[MarkupToken] | Note | None:
        tag = element.tag
        if element.name == "input" and (tag.get("type") or "").lower() != "image":
            return None
        image = document.referred(tag.get("src"))
        if image is None or image.mime not in INLINED_IMAGES:
            return None
        if len(image.body) > settings.image_inline_max_bytes:
            return _too_large(image, "inline_images", settings.image_inline_max_bytes)
        reason = _why_not_inline(document, element, image)
        if reason:
            return Note(image.url, reason)
        fragment = urldefrag(tag.get("src") or "").fragment  # names a part of an SVG file
        data = base64.b64encode(image.body).decode()
        url = f"data:{image.mime};base64,{data}" + (f"#{fragment}" if fragment else "")
        return element.with_tag(tag.with_attribute("src", url), document)

    return edit_elements(page, ["img", "input"], change)


def _why_not_inline(document: Document, image: Element, found: Resource) -> str | None:
    reason = document.page.why_apart(found)
    if reason:
        return reason
    if reads_itself(image.tag):
        return "the image asks for its own address"
    if is_chosen_or_late(image.tag) or document.images_shown[found.url] > 1:
        return "the image is shown more than once, lazily, or has a srcset"
    if image.start in document.pictured:  # in the document it would travel also where it is not chosen
        return "the browser chooses among several images"
    if found.mime == "image/svg+xml" and not names_encoding(found):
        return "only its header names its encoding"
    return None


def names_encoding(svg: Resource) -> bool:
    """Whether an SVG file reads the same without its header."""
    sent, alone = text_of(svg.body, svg.header("Content-Type"), "xml"), text_of(svg.body, None, "xml")
    return sent is not None and alone is not None and sent.text == alone.text


def is_chosen_or_late(image: Tag) -> bool:
    """Whether a browser chooses among several files of an image, or loads it when it comes near."""
    return "srcset" in image.names or (image.get("loading") or "").lower() == "lazy"


def extend_cache(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images, style sheets and scripts get a year; what must not be stored, shared or changed stays."""
    value = f"max-age={settings.cache_seconds}"
    wanted = [
        resource
        for resource in page.resources.values()
        if may_be_kept(resource) and resource.header("Cache-Control") != value
    ]
    left = {resource.url: why for resource in wanted if (why := _why_not_kept(resource))}
    changed = [
        resource.with_header("Cache-Control", value) for resource in wanted if resource.url not in left
    ]
    return page.with_resources(changed), tuple(Note(url, why) for url, why in left.items())


def _why_not_kept(resource: Resource) -> str | None:
    if resource.is_never_fresh:
        return "another header forbids to keep it"
    return None if resource.may_change else FORBIDDEN


def may_be_kept(resource: Resource) -> bool:
    """Whether it is a part of the page that its server lets caches store and share."""
    fit = resource.is_style or resource.is_script or (resource.usable and resource.mime.startswith("image/"))
    return fit and resource.caching.isdisjoint({"no-store", "private"})


def shard(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images and scripts of the document's own host, where <img src> and <script src> name them, on other names.

    A file always lands on the same name. It also stays where it was, for style sheets and scripts that ask for it.
    """

    def change(document: Document) -> Edit:
        changes: list[ElementChange] = []
        notes: list[Note] = []
        pixels = reads_pixels(page)
        for element in document.named("img", "script"):
            resource = document.referred(element.tag.get("src"))
            if resource is None or not same_origin(resource.url, document.url):
                continue
            reason = why_not_elsewhere(document, element.tag, resource, pixels=pixels)
            if reason:
                notes.append(Note(resource.url, reason))
                continue
            url = _sharded(resource.url, settings.shards)
            fragment = urlsplit(element.tag.get("src") or "").fragment  # names a part of an SVG file
            tag = element.tag.with_attribute("src", f"{url}#{fragment}" if fragment else url)
            moved = replace(resource, url=url, changed=True)
            changes.append(ElementChange(resource.url, [element.retagged(tag, document)], (moved,)))
        return Edit.of(document, changes, notes)

    return edit_documents(page, change)


def why_not_elsewhere(document: Document, tag: Tag, found: Resource, *, pixels: bool) -> str | None:
    """The reason why a file must come from the host of its document. `pixels`: a script reads those of images."""
    if {"crossorigin", "integrity"} & tag.names or is_kept_to_origin(found):
        return "another host would have to allow the file by CORS"
    if asks_for_permission(document.resource) and found.header("Cross-Origin-Resource-Policy") is None:
        return (
            "the document takes no file of another host that does not allow it (Cross-Origin-Embedder-Policy)"
        )
    if found.url in document.page.preloaded:
        return PRELOADED
    if is_address(urlsplit(document.url).hostname or ""):
        return "the host is an IP address, below which there are no names"
    return _why_not_image(tag, pixels=pixels) if tag.name == "img" else _why_not_script(document, tag, found)


def _why_not_image(tag: Tag, *, pixels: bool) -> str | None:
    if "srcset" in tag.names:
        return "the image is one of a choice"
    if reads_itself(tag):
        return "the image asks for its own address"
    return "a script reads the pixels of images" if pixels else None


def _why_not_script(document: Document, tag: Tag, found: Resource) -> str | None:
    if not script.is_classic(tag):
        return "a module is loaded by CORS"
    text = document.text_of(found, "javascript", tag)
    return UNREADABLE if text is None else script.why_not_movable(text.text)


def is_kept_to_origin(found: Resource) -> bool:
    """Whether its server gives a file to pages of its own origin only."""
    return (found.header("Cross-Origin-Resource-Policy") or "").strip().lower() == "same-origin"


def asks_for_permission(document: Resource) -> bool:
    """Whether a document takes files of other origins only where a header of theirs allows it. Under `credentialless`
    it takes those of elements without `crossorigin`, which come without cookies.
    """
    policy = (document.header("Cross-Origin-Embedder-Policy") or "").partition(";")[0]
    return policy.strip().lower() == "require-corp"


def is_address(host: str) -> bool:
    """Whether a host is an IP address: its last part is a number, or it is an IPv6 address."""
    return ":" in host or host.rstrip(".").rpartition(".")[2].isdecimal()


def reads_pixels(page: Page) -> bool:
    """Whether a script of the page reads pixels: a canvas with an image of another host does not give them."""
    return any(_PIXELS.search(text) for text in script_texts(page))


def _sharded(url: str, shards: int) -> str:
    parts = urlsplit(url)
    number = int.from_bytes(hashlib.sha256(url.encode()).digest()[:4], "big") % shards + 1
    return urlunsplit(parts._replace(netloc=f"shard{number}.{parts.netloc}"))


def hint_preload_subresources(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """A Link header on each document names the style sheets and scripts that hold up its display."""
    changed = []
    for document in documents_of(page):
        value = ""
        for hint in dict.fromkeys(_hints(document)):
            longer = f"{value}, {hint}" if value else hint
            if len(longer) + len("Link: ") <= HEADER_LIMIT_CHARACTERS:
                value = longer
        if value:
            headers = (*document.resource.headers, ("Link", value))
            changed.append(replace(document.resource, headers=headers, changed=True))
    return page.with_resources(changed), ()


def _hints(document: Document) -> list[str]:
    hints = []
    for element in document.named("link", "script"):
        tag = element.tag
        if element.name == "link":
            kind, reference = "style", tag.get("href") if is_style_sheet(tag) else None
        else:
            kind, reference = "script", tag.get("src") if script.holds_up(tag) else None
        url = resolve(document.base, reference) if reference else None
        media = media_of(tag) if kind == "style" else ""
        if url is not None and may_be_hinted(tag, media):
            mode = tag.get("crossorigin")
            cors = "" if mode is None else f"; crossorigin={mode}" if mode else "; crossorigin"
            where = f'; media="{media}"' if media else ""
            hints.append(f"<{url}>; rel=preload; as={kind}{cors}{where}")
    return hints


def may_be_hinted(tag: Tag, media: str) -> bool:
    """Whether a header can hint at the file of an element as that asks for it. With an integrity digest the hint would
    have to hold it, too, or the file is loaded twice; a quote would end the media query.
    """
    return "integrity" not in tag.names and '"' not in media


def lazyload_images(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images behind the first few get loading="lazy"; those that say how they load stay."""

    def change(document: Document) -> Edit:
        late = list(document.named("img"))[settings.lazyload_skip :]
        lazy = [
            ElementChange(
                document.reference_of(image.tag),
                [image.retagged(image.tag.with_attribute("loading", "lazy"), document)],
            )
            for image in late
            if may_wait(image.tag)
        ]
        return Edit.of(document, lazy)

    return edit_documents(page, change)


def may_wait(image: Tag) -> bool:
    """Whether an image names a file and does not say itself when that is loaded."""
    source = image.get("src") or ""
    return bool(source) and not source.startswith("data:") and not {"loading", "fetchpriority"} & image.names
