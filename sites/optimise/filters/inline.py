"""Small files become part of the document."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urldefrag

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE
from sites.optimise import script, stylesheet
from sites.optimise.document import Document, Element, Notes, edit_elements
from sites.optimise.markup import Chars, Tag, Token, end_tag
from sites.optimise.page import Note, Page, Resource
from sites.optimise.references import (
    FILE_ATTRIBUTES,
    has_handlers,
    is_named,
    is_style_sheet,
    lends_urls,
    reads_itself,
)

INLINED_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)


class _UninlinableError(Exception):  # control flow within this module: why a file stays outside
    pass


@dataclass(frozen=True)
class _Inlinable:
    """How one kind of file moves into the document, by which filter.

    `reference` is what an element refers to (None: it is no such element), `content` the text that takes the
    place of the file, `start` the tag it then stands in. `content` raises _UninlinableError.
    """

    filter: str
    element: str
    name: str
    reference: Callable[[Tag], str | None]
    is_file: Callable[[Resource], bool]
    content: Callable[[Document, Resource], str]
    start: Callable[[Tag], Tag]


def inline_css(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Style sheets up to the size limit become <style> elements; their relative URLs follow."""
    kind = replace(_CSS, content=partial(_style_content, lends_urls(page)))
    return _inline(page, kind, settings.css_inline_max_bytes)


def inline_javascript(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Scripts up to the size limit that the parser waits for move into their elements."""
    return _inline(page, _JAVASCRIPT, settings.js_inline_max_bytes)


def _inline(page: Page, kind: _Inlinable, limit_bytes: int) -> tuple[Page, Notes]:
    def change(document: Document, element: Element) -> list[Token] | Note | None:
        found = document.referred(kind.reference(element.tag))
        if found is None or not kind.is_file(found):
            return None
        if len(found.body) > limit_bytes:
            return _too_large(found, kind.filter, limit_bytes)
        try:
            _check_element(document, element.tag, kind)
            content = kind.content(document, found)
        except _UninlinableError as why:
            return Note(found.url, str(why))
        start = kind.start(element.tag)
        return [start, Chars(content, start.name), end_tag(start.name)]

    return edit_elements(page, [kind.element], change)


def _too_large(resource: Resource, name: str, limit_bytes: int) -> Note:
    reason = f"larger than {limit_bytes:,} bytes ({name}.max_bytes)"
    return Note(resource.url, reason, f"{len(resource.body):,} bytes")


def _check_element(document: Document, tag: Tag, kind: _Inlinable) -> None:
    if has_handlers(tag):
        raise _UninlinableError(f"a script waits for the {kind.name} to load")
    if is_named(tag.get("id"), document):
        raise _UninlinableError("a script may ask for the element by its id")


def _style_content(lent: bool, document: Document, found: Resource) -> str:
    text = document.text_of(found, "css")
    if text is None:
        raise _UninlinableError(UNREADABLE)
    try:
        moved = stylesheet.rebased(text.text, found.url, document.base, lent=lent)
    except stylesheet.Immovable as why:
        raise _UninlinableError(str(why)) from None
    if moved is None or not stylesheet.is_well_formed(moved):
        raise _UninlinableError("the style sheet is not well formed")
    if ends_style(moved) or document.text.encoded(moved) is None:
        raise _UninlinableError("the style sheet cannot stand in the document")
    return stylesheet.without_charset(moved)


def ends_style(css: str) -> bool:
    """Whether a style sheet would end the element that it stands in."""
    return "</style" in css.lower()


def _style_tag(link: Tag) -> Tag:
    kept = link.without("rel", "href", "type", *FILE_ATTRIBUTES)
    tail = ">" if kept.tail.endswith("/>") else kept.tail
    return Tag("<style", "style", False, kept.attributes, tail)


def _script_reference(tag: Tag) -> str | None:
    waits = script.is_classic(tag) and not {"async", "defer"} & tag.names
    return tag.get("src") if waits else None


def _script_content(document: Document, found: Resource) -> str:
    text = document.text_of(found, "javascript")
    if text is None:
        raise _UninlinableError(UNREADABLE)
    if document.text.encoded(text.text) is None or script.breaks_out(text.text):
        raise _UninlinableError("the script cannot stand in the document")
    reason = script.why_not_movable(text.text)
    if reason:
        raise _UninlinableError(reason)
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
    reference=_script_reference,
    is_file=lambda resource: resource.is_script,
    content=_script_content,
    start=lambda tag: tag.without("src", *FILE_ATTRIBUTES),
)


def inline_images(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images up to the size limit become data URLs, where the document shows them once."""

    def change(document: Document, element: Element) -> list[Token] | Note | None:
        tag = element.tag
        if element.name == "input" and (tag.get("type") or "").lower() != "image":
            return None
        found = document.referred(tag.get("src"))
        if found is None or found.mime not in INLINED_IMAGES:
            return None
        if len(found.body) > settings.image_inline_max_bytes:
            return _too_large(found, "inline_images", settings.image_inline_max_bytes)
        if reads_itself(tag):
            return Note(found.url, "the image asks for its own address")
        if is_chosen_or_late(tag) or document.images_shown[found.url] > 1:
            return Note(found.url, "the image is shown more than once, lazily, or has a srcset")
        fragment = urldefrag(tag.get("src") or "").fragment  # names a part of an SVG file
        data = base64.b64encode(found.body).decode()
        url = f"data:{found.mime};base64,{data}" + (f"#{fragment}" if fragment else "")
        return element.with_tag(tag.with_attribute("src", url), document)

    return edit_elements(page, ["img", "input"], change)


def is_chosen_or_late(image: Tag) -> bool:
    """Whether a browser chooses among several files of an image, or loads it when it comes near."""
    return "srcset" in image.names or (image.get("loading") or "").lower() == "lazy"
