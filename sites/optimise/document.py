"""A document of a page, as filters see it: tokens, its elements, and edits that cannot lose its encoding.

And what the elements that refer to style sheets and scripts say, as far as it decides what may be done to them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from sites.charset import UNREADABLE, Text, is_whole, standard_name, still_declared
from sites.mediatype import words
from sites.optimise import stylesheet
from sites.optimise.lookups import ElementChange, Replacement, may_be_script, replaced, unnoticed
from sites.optimise.markup import Chars, Comment, MarkupToken, Tag, parse, source_of
from sites.optimise.page import FORBIDDEN, LeftAlone, Note, Page, Resource, base_url, document_text
from sites.urls import resolve

Notes = tuple[Note, ...]
MAX_OPEN = 400
_VOID = words("area base br col embed hr img input link meta source track wbr")


@dataclass(frozen=True)
class Element:
    """A start tag; for a raw text element (script, style, title) also its content and end tag: tokens[start:end]."""

    start: int
    end: int
    tag: Tag
    content: str

    @property
    def name(self) -> str:
        return self.tag.name

    def with_tag(self, tag: Tag, document: Document) -> list[MarkupToken]:
        """Its tokens with another start tag."""
        return [tag, *document.tokens[self.start + 1 : self.end]]

    def retagged(self, tag: Tag, document: Document) -> Replacement:
        """That as a change to the document."""
        return self.start, self.end, self.with_tag(tag, document)

    def with_content(self, content: str, document: Document) -> list[MarkupToken]:
        """Its tokens with another content; it must have one."""
        return [self.tag, Chars(content, self.name), *document.tokens[self.start + 2 : self.end]]


@dataclass(frozen=True)
class Document:
    """One HTML document of a page."""

    page: Page
    resource: Resource
    text: Text
    tokens: tuple[MarkupToken, ...]

    @property
    def url(self) -> str:
        return self.resource.url

    @cached_property
    def base(self) -> str:
        """What its relative references are resolved against."""
        return base_url(self.url, self.tokens)

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """HTML elements in order, without those in `template` (inert) and in SVG or MathML."""
        return tuple(_elements(self.tokens))

    @cached_property
    def images_shown(self) -> Counter[str | None]:
        """How often each URL is the source of an image or a graphical button."""
        return Counter(
            self.page.url_of(self.base, element.tag.get("src") or "")
            for element in self.named("img", "input")
        )

    @cached_property
    def pictured(self) -> frozenset[int]:
        """Where the images stand that a <picture> shows, of several."""
        return frozenset(
            image.start
            for image, ancestors in images_with_ancestors(self)
            if any(ancestor.name == "picture" for ancestor in ancestors)
        )

    def named(self, *names: str) -> Iterator[Element]:
        """The elements of these names."""
        return (element for element in self.elements if element.name in names)

    def referred(self, reference: str | None) -> Resource | None:
        """What a reference in this document leads to, if it is in the page and can be looked into."""
        resource = self.page.get(self.base, reference) if reference else None
        return resource if resource is not None and resource.usable else None

    def reference_of(self, tag: Tag) -> str:
        """The absolute URL an element refers to, for notes."""
        reference = tag.get("href" if tag.name == "link" else "src") or ""
        return resolve(self.base, reference) or reference[:100]

    def text_of(self, resource: Resource, kind: str, tag: Tag) -> Text | None:
        """A style sheet (css) or script (javascript) as text, as this element of the document refers to it."""
        return resource.text(kind, standard_name(tag.get("charset")) or self.text.encoding)

    def whole_text_of(self, resource: Resource, kind: str, tag: Tag) -> Text:
        """That, to stand elsewhere. LeftAlone where it cannot be told, or has bytes that are no characters."""
        text = self.text_of(resource, kind, tag)
        if text is None or not is_whole(text.text):
            raise LeftAlone(UNREADABLE)
        return text


@dataclass(frozen=True)
class Edit:
    """What a filter makes of a document: its new tokens, other resources it changed or added, and notes."""

    tokens: Sequence[MarkupToken]
    resources: tuple[Resource, ...] = ()
    notes: Notes = ()

    @classmethod
    def of(cls, document: Document, changes: Sequence[ElementChange], notes: Iterable[Note] = ()) -> Edit:
        """The changes to a document that nobody on the page notices."""
        kept, left = unnoticed(document.page, document.tokens, changes)
        files = tuple(resource for change in kept for resource in change.resources)
        return cls(replaced(document.tokens, kept), files, (*notes, *left))


def edit_documents(page: Page, change: Callable[[Document], Edit]) -> tuple[Page, Notes]:
    """Apply a change to every document of the page."""
    notes: list[Note] = []
    for url in page.documents:
        document = open_document(page, url)
        if document is None:
            notes.append(Note(url, "the document's encoding cannot be told for certain"))
            continue
        if not document.resource.may_change:
            notes.append(Note(url, FORBIDDEN))
            continue
        edit = change(document)
        notes += edit.notes
        html = source_of(edit.tokens)
        body = document.text.encoded(html)
        if body is None:
            notes.append(Note(url, f"the result does not fit into {document.text.encoding}"))
            continue
        page = page.with_resources(edit.resources)
        if html != document.text.text:
            page = page.with_resources([_document_with(page.resources[url], document.text, body)])
    return page, tuple(notes)


def edit_elements(
    page: Page,
    names: Iterable[str],
    change: Callable[[Document, Element], Iterable[MarkupToken] | Note | None],
) -> tuple[Page, Notes]:
    """Put tokens in the place of elements: `change` gives them, or a note why not, or None where it has no part."""

    def edit(document: Document) -> Edit:
        changes: list[ElementChange] = []
        notes: list[Note] = []
        for element in document.named(*names):
            made = change(document, element)
            if isinstance(made, Note):
                notes.append(made)
            elif made is not None:
                url = document.reference_of(element.tag) or document.url
                changes.append(ElementChange(url, [(element.start, element.end, list(made))]))
        return Edit.of(document, changes, notes)

    return edit_documents(page, edit)


def documents_of(page: Page) -> Iterator[Document]:
    """The documents of the page whose encoding can be told."""
    return filter(None, (open_document(page, url) for url in page.documents))


def open_document(page: Page, url: str) -> Document | None:
    """A document of the page; None when its encoding cannot be told for certain."""
    text = document_text(page.resources[url])
    return None if text is None else Document(page, page.resources[url], text, parse(text.text))


def _document_with(resource: Resource, text: Text, body: bytes) -> Resource:
    """The encoding goes into the header when a browser would no longer find it in the first bytes."""
    changed = resource.with_body(body)
    if still_declared(text, resource.body, body):
        return changed
    return changed.with_header("Content-Type", f"{resource.mime}; charset={text.encoding}")


def _elements(tokens: Sequence[MarkupToken]) -> Iterator[Element]:
    templates = 0
    for index, token in enumerate(tokens):
        if not isinstance(token, Tag) or token.foreign:
            continue
        if token.name == "template":
            templates = max(0, templates + (-1 if token.closing else 1))
        elif not token.closing and not templates:
            yield _element(tokens, index, token)


def _element(tokens: Sequence[MarkupToken], index: int, tag: Tag) -> Element:
    end, content = index + 1, ""
    if end < len(tokens):
        following = tokens[end]
        if isinstance(following, Chars) and following.within == tag.name:
            content, end = following.source, end + 1
    if end < len(tokens) and (content or tag.name in ("script", "style")):
        following = tokens[end]
        if isinstance(following, Tag) and following.closing and following.name == tag.name:
            end += 1
    return Element(index, end, tag, content)


def images_with_ancestors(document: Document) -> Iterator[tuple[Element, tuple[Tag, ...]]]:
    """Every <img> with the start tags that are not closed before it, by the order of tags alone."""
    images = {element.start: element for element in document.named("img")}
    opened: list[Tag] = []
    for index, token in enumerate(document.tokens):
        if not isinstance(token, Tag):
            continue
        if index in images:
            yield images[index], tuple(opened)
        elif token.closing:
            place = next((at for at in range(len(opened) - 1, -1, -1) if opened[at].name == token.name), None)
            if place is not None:
                del opened[place:]
        elif token.name not in _VOID and len(opened) < MAX_OPEN:
            opened.append(token)


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
    return any(
        "src" in (attribute.value or "") for attribute in image.attributes if attribute.name.startswith("on")
    )


def is_idle(token: MarkupToken) -> bool:
    """White space, or a comment that nobody reads."""
    if isinstance(token, Chars):
        return not token.within and not token.source.strip("\t\n\f\r ")
    return isinstance(token, Comment) and not token.is_conditional


def only_idle(tokens: Iterable[MarkupToken]) -> bool:
    return all(is_idle(token) for token in tokens)


def script_texts(page: Page) -> Sequence[str]:
    """Everything of the page in which a script may stand, byte for byte as latin-1."""
    return [
        resource.body.decode("latin-1")
        for url, resource in page.resources.items()
        if may_be_script(resource) or url in page.documents
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
        resource.is_style and stylesheet.lends_any(resource.body.decode("latin-1"))
        for resource in page.resources.values()
    ):
        return True
    if any("setProperty" in text and "url(" in text for text in script_texts(page)):
        return True
    return any(
        stylesheet.lends_any(element.content if element.name == "style" else element.tag.get("style") or "")
        for document in documents_of(page)
        for element in document.elements
        if element.name == "style" or "style" in element.tag.names
    )
