"""What the elements that refer to style sheets and scripts say, as far as it decides what may be done to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sites.optimise import stylesheet
from sites.optimise.document import Document, open_document
from sites.optimise.markup import Chars, Comment, Tag, Token
from sites.optimise.page import Page

# Attributes that lose their meaning once the file is part of the document or of another file.
FILE_ATTRIBUTES = frozenset(
    {"integrity", "crossorigin", "charset", "referrerpolicy", "fetchpriority", "nonce"}
)
STYLE_ATTRIBUTES = FILE_ATTRIBUTES | {"rel", "href", "type", "media", "id"}
SCRIPT_ATTRIBUTES = FILE_ATTRIBUTES | {"src", "type", "language", "id", "defer"}


def is_style_sheet(tag: Tag) -> bool:
    """Whether a <link> is a style sheet in force from the start (no alternate, none that a title switches)."""
    relations = (tag.get("rel") or "").lower().split()
    kind = (tag.get("type") or "text/css").partition(";")[0].strip().lower()
    switched = bool(tag.get("title")) or "disabled" in tag.names
    return "stylesheet" in relations and "alternate" not in relations and kind == "text/css" and not switched


def is_style_element(tag: Tag) -> bool:
    """Whether a <style> holds CSS, and not the source of a script that makes CSS of it."""
    return (tag.get("type") or "text/css").strip().lower() == "text/css"


def media_of(tag: Tag) -> str:
    """The media query of a style sheet, "" for all."""
    media = " ".join((tag.get("media") or "").lower().split())
    return "" if media == "all" else media


def has_handlers(tag: Tag) -> bool:
    """Whether something is to happen on its load or error event."""
    return any(name.startswith("on") for name in tag.names)


def reads_itself(image: Tag) -> bool:
    """Whether an event handler of an image names its address (`this.src`)."""
    return any("src" in (each.value or "") for each in image.attributes if each.name.startswith("on"))


def is_idle(token: Token) -> bool:
    """White space, or a comment that nobody reads."""
    if isinstance(token, Chars):
        return not token.within and not token.source.strip("\t\n\f\r ")
    return isinstance(token, Comment) and not token.is_conditional


def only_idle(tokens: Iterable[Token]) -> bool:
    return all(is_idle(token) for token in tokens)


def script_texts(page: Page) -> Sequence[str]:
    """Everything of the page in which a script may stand, byte for byte as latin-1."""
    bodies = [each.body for each in page.resources.values() if each.is_script]
    return [
        body.decode("latin-1") for body in (*bodies, *(page.resources[url].body for url in page.documents))
    ]


def is_named(identifier: str | None, document: Document) -> bool:
    """Whether a script or anything else of the page may ask for this id: it stands somewhere in quotes or after #."""
    if not identifier:
        return False
    pattern = re.compile(rf"[\"'#]{re.escape(identifier)}(?![\w-])")
    own = sum(  # an id that is written without quotes is not found
        len(pattern.findall(attribute.source))
        for element in document.elements
        for attribute in element.tag.attributes
        if attribute.name == "id" and attribute.value == identifier
    )
    texts = (
        text for text in script_texts(document.page) if identifier in text
    )  # a search much faster than the pattern
    return sum(len(pattern.findall(text)) for text in texts) > own


def lends_urls(page: Page) -> bool:
    """Whether a custom property of the page may hold a relative URL: in a style sheet, an element, or by a script."""
    if any(
        resource.is_style and stylesheet.lends_urls(resource.body.decode("latin-1"))
        for resource in page.resources.values()
    ):
        return True
    if any("setProperty" in text and "url(" in text for text in script_texts(page)):
        return True
    documents = filter(None, (open_document(page, url) for url in page.documents))
    return any(
        stylesheet.lends_urls(element.content if element.name == "style" else element.tag.get("style") or "")
        for document in documents
        for element in document.elements
        if element.name == "style" or "style" in element.tag.names
    )
