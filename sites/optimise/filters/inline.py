"""Small files become part of the document."""

from __future__ import annotations

import base64
from collections import Counter

from sites.optimise import script, stylesheet
from sites.optimise.document import Document, Edit, Element, Notes, Replacement, edit_documents, replaced
from sites.optimise.links import FILE_ATTRIBUTES, has_handlers, is_named, is_style_sheet
from sites.optimise.markup import Chars, Token, end_tag, start_tag
from sites.optimise.page import Note, Page, Resource
from sites.optimise.settings import Settings
from sites.urls import resolve

INLINED_IMAGES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)


def inline_css(page: Page, settings: Settings) -> tuple[Page, Notes]:
    """Style sheets up to the size limit become <style> elements; their relative URLs follow."""

    def change(document: Document) -> Edit:
        notes: list[Note] = []
        changes: list[Replacement] = []
        for element in document.named("link"):
            found = document.referred(element.tag.get("href")) if is_style_sheet(element.tag) else None
            if found is None or not found.is_style or len(found.body) > settings.css_inline_max_bytes:
                continue
            content = _style_content(document, element, found)
            if isinstance(content, Note):
                notes.append(content)
                continue
            kept = [
                (each.name, each.value)
                for each in element.tag.attributes
                if each.name not in FILE_ATTRIBUTES | {"rel", "href", "type"}
            ]
            style: list[Token] = [start_tag("style", kept), Chars(content, "style"), end_tag("style")]
            changes.append((element.start, element.end, style))
        return Edit(replaced(document.tokens, changes), notes=tuple(notes))

    return edit_documents(page, change)


def _style_content(document: Document, element: Element, found: Resource) -> str | Note:
    if has_handlers(element.tag):
        return Note(found.url, "a script waits for the style sheet to load")
    if is_named(element.tag.get("id"), document):
        return Note(found.url, "a script may ask for the element by its id")
    text = document.text_of(found, "css")
    moved = None if text is None else stylesheet.rebased(text.text, found.url, document.base)
    if moved is None or not stylesheet.is_well_formed(moved):
        return Note(found.url, "the style sheet is not well formed")
    if "</style" in moved.lower() or document.text.encoded(moved) is None:
        return Note(found.url, "the style sheet cannot stand in the document")
    return stylesheet.without_charset(moved)


def inline_javascript(page: Page, settings: Settings) -> tuple[Page, Notes]:
    """Scripts up to the size limit that the parser waits for move into their elements."""

    def change(document: Document) -> Edit:
        notes: list[Note] = []
        changes: list[Replacement] = []
        for element in document.named("script"):
            tag = element.tag
            waits = script.is_classic(tag) and not {"async", "defer"} & tag.names
            found = document.referred(tag.get("src")) if waits else None
            if found is None or not found.is_script or len(found.body) > settings.js_inline_max_bytes:
                continue
            content = _script_content(document, element, found)
            if isinstance(content, Note):
                notes.append(content)
                continue
            inline = tag.without("src", *FILE_ATTRIBUTES)
            changes.append(
                (element.start, element.end, [inline, Chars(content, "script"), end_tag("script")])
            )
        return Edit(replaced(document.tokens, changes), notes=tuple(notes))

    return edit_documents(page, change)


def _script_content(document: Document, element: Element, found: Resource) -> str | Note:
    if has_handlers(element.tag):
        return Note(found.url, "a script waits for the script to load")
    if is_named(element.tag.get("id"), document):
        return Note(found.url, "a script may ask for the element by its id")
    text = document.text_of(found, "javascript")
    if text is None or document.text.encoded(text.text) is None or script.breaks_out(text.text):
        return Note(found.url, "the script cannot stand in the document")
    reason = script.why_not_movable(text.text)
    return Note(found.url, reason) if reason else text.text


def inline_images(page: Page, settings: Settings) -> tuple[Page, Notes]:
    """Images up to the size limit become data URLs, where the document shows them once."""

    def change(document: Document) -> Edit:
        notes: list[Note] = []
        changes: list[Replacement] = []
        images = list(document.named("img", "input"))
        uses = Counter(resolve(document.base, each.tag.get("src") or "") for each in images)
        for element in images:
            tag = element.tag
            if element.name == "input" and (tag.get("type") or "").lower() != "image":
                continue
            found = document.referred(tag.get("src"))
            if (
                found is None
                or found.mime not in INLINED_IMAGES
                or len(found.body) > settings.image_inline_max_bytes
            ):
                continue
            if uses[found.url] > 1 or "srcset" in tag.names or (tag.get("loading") or "").lower() == "lazy":
                notes.append(Note(found.url, "the image is shown more than once, lazily, or has a srcset"))
                continue
            url = f"data:{found.mime};base64,{base64.b64encode(found.body).decode()}"
            changes.append((element.start, element.start + 1, [tag.with_attribute("src", url)]))
        return Edit(replaced(document.tokens, changes), notes=tuple(notes))

    return edit_documents(page, change)
