"""Host names."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE
from sites.optimise import script
from sites.optimise.document import Document, Edit, Notes, edit_documents
from sites.optimise.lookups import ElementChange
from sites.optimise.markup import Tag
from sites.optimise.origin import same_origin
from sites.optimise.page import Note, Page, Resource
from sites.optimise.references import reads_itself, script_texts

_PIXELS = re.compile(r"\b(?:getImageData|toDataURL|toBlob|tex(?:Sub)?Image[23]D|captureStream|VideoFrame)\b")


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
            changed = (element.start, element.end, element.with_tag(tag, document))
            changes.append(ElementChange(found.url, [changed], (replace(found, url=url, changed=True),)))
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
