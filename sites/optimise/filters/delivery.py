"""How files come: from which host, what is asked for early and what late, how long they are kept."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE
from sites.optimise import script
from sites.optimise.document import (
    Document,
    Edit,
    Notes,
    documents_of,
    edit_documents,
    is_style_sheet,
    media_of,
    reads_itself,
    script_texts,
)
from sites.optimise.lookups import ElementChange
from sites.optimise.markup import Tag
from sites.optimise.page import Note, Page, Resource
from sites.optimise.script import holds_up
from sites.served import HEADER_LIMIT_CHARACTERS
from sites.urls import resolve, same_origin

_PIXELS = re.compile(r"\b(?:getImageData|toDataURL|toBlob|tex(?:Sub)?Image[23]D|captureStream|VideoFrame)\b")


def extend_cache(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images, style sheets and scripts get a year; what must not be stored, or not be shared, stays."""
    value = f"max-age={settings.cache_seconds}"
    changed = [
        each.with_header("Cache-Control", value)
        for each in page.resources.values()
        if may_be_kept(each) and each.header("Cache-Control") != value
    ]
    return page.with_resources(changed), ()


def may_be_kept(resource: Resource) -> bool:
    """Whether it is a part of the page that its server lets caches store and share."""
    control = (resource.header("Cache-Control") or "").lower()
    fit = resource.is_style or resource.is_script or (resource.usable and resource.mime.startswith("image/"))
    return fit and not any(word in control for word in ("no-store", "private"))


def shard(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images and scripts of the document's own host, where <img src> and <script src> name them, on other names.

    A file always lands on the same name. It also stays where it was, for style sheets and scripts that ask for it.
    """

    def change(document: Document) -> Edit:
        changes: list[ElementChange] = []
        notes: list[Note] = []
        pixels = reads_pixels(page)
        for element in document.named("img", "script"):
            found = document.referred(element.tag.get("src"))
            if found is None or not same_origin(found.url, document.url):
                continue
            reason = why_not_elsewhere(document, element.tag, found, pixels=pixels)
            if reason:
                notes.append(Note(found.url, reason))
                continue
            url = _sharded(found.url, settings.shards)
            fragment = urlsplit(element.tag.get("src") or "").fragment  # names a part of an SVG file
            tag = element.tag.with_attribute("src", f"{url}#{fragment}" if fragment else url)
            moved = replace(found, url=url, changed=True)
            changes.append(ElementChange(found.url, [element.retagged(tag, document)], (moved,)))
        return Edit.of(document, changes, notes)

    return edit_documents(page, change)


def why_not_elsewhere(document: Document, tag: Tag, found: Resource, *, pixels: bool) -> str | None:
    """The reason why a file must come from the host of its document. `pixels`: a script reads those of images."""
    if {"crossorigin", "integrity"} & tag.names or is_kept_to_origin(found):
        return "another host would have to allow the file by CORS"
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
    text = document.text_of(found, "javascript")
    return UNREADABLE if text is None else script.why_not_movable(text.text)


def is_kept_to_origin(found: Resource) -> bool:
    """Whether its server gives a file to pages of its own origin only."""
    return (found.header("Cross-Origin-Resource-Policy") or "").strip().lower() == "same-origin"


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
            kind, reference = "script", tag.get("src") if holds_up(tag) else None
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
