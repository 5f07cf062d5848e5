"""Style sheets: their imports resolved, moved into the head."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin

from harness.model.filtersettings import FilterSettings
from sites.charset import Text, text_of
from sites.optimise import stylesheet
from sites.optimise.document import (
    Document,
    Edit,
    Element,
    Notes,
    edit_documents,
    edit_elements,
)
from sites.optimise.lookups import ElementChange, Replacement, reads_sheets
from sites.optimise.markup import Tag, Token, end_tag, start_tag
from sites.optimise.page import Note, Page, Resource
from sites.optimise.references import is_style_element, is_style_sheet, lends_urls

MAX_IMPORT_DEPTH = 10


def _text(resource: Resource) -> Text | None:
    return text_of(resource.body, resource.header("Content-Type"), "css")


def flatten_css_imports(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Each @import at the head of a style sheet is replaced by the sheet, its relative URLs and media kept."""
    notes: list[Note] = []
    changed = []
    read = reads_sheets(page)
    lent = lends_urls(page)
    for resource in page.resources.values():
        text = _text(resource) if resource.is_style else None
        if text is None or not stylesheet.has_rule(text.text, "import"):
            continue
        if read:
            notes.append(Note(resource.url, "a script looks into the style sheets of the document"))
            continue
        try:
            flat = _flattened(text.text, resource.url, page.resources, MAX_IMPORT_DEPTH, lent)
        except ValueError as error:
            notes.append(Note(resource.url, str(error)))
            continue
        body = text.encoded(flat)
        if body is None:
            notes.append(Note(resource.url, f"what it imports does not fit into {text.encoding}"))
        elif len(body) > settings.css_flatten_max_bytes:
            notes.append(
                Note(resource.url, f"larger than {settings.css_flatten_max_bytes} bytes with its imports")
            )
        elif flat != text.text:  # its @charset is gone
            mime = None if text.declared or body.isascii() else f"text/css; charset={text.encoding}"
            changed.append(resource.with_body(body, mime))
    return page.with_resources(changed), tuple(notes)


def _flattened(css: str, url: str, resources: Mapping[str, Resource], depth: int, lent: bool) -> str:
    """ValueError says why it cannot be done; all imports of a sheet are resolved, or none."""
    split = stylesheet.split_imports(css)
    if split is None:
        raise ValueError(
            "an import has a condition other than media, stands behind a rule, or cannot be read"
        )
    imports, rest = split
    if imports and not depth:
        raise ValueError("imports are nested too deeply")
    parts = []
    for each in imports:
        imported = resources.get(urljoin(url, each.url).partition("#")[0])
        text = _text(imported) if imported is not None and imported.is_style else None
        if imported is None or text is None:
            raise ValueError("what it imports is not in the archive")
        if stylesheet.has_rule(text.text, "namespace") or not stylesheet.is_well_formed(text.text):
            raise ValueError("what it imports cannot be joined")
        flat = _flattened(text.text, imported.url, resources, depth - 1, lent)
        moved = stylesheet.rebased(stylesheet.without_charset(flat), imported.url, url, lent=lent)
        if moved is None:
            raise ValueError("what it imports cannot be read")
        parts.append(f"@media {each.media}{{{moved}}}" if each.media else moved)
    return "\n".join([*parts, rest]) if imports else css


def inline_import_to_link(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """A <style> that holds nothing but @import becomes one <link> per import."""
    return edit_elements(page, ["style"], lambda _document, element: _linked(element))


def _linked(element: Element) -> list[Token] | None:
    known = is_style_element(element.tag) and element.tag.names <= {"type", "media"}
    if not known or "@import" not in element.content.lower():
        return None
    split = stylesheet.split_imports(element.content)
    if (
        split is None
        or split[1].strip()
        or (any(each.media for each in split[0]) and element.tag.get("media"))
    ):
        return None
    links: list[Token] = []
    for each in split[0]:
        media = each.media or element.tag.get("media")
        attributes = [("rel", "stylesheet"), ("href", each.url), *([("media", media)] if media else [])]
        links.append(start_tag("link", attributes))
    return links


def move_css_to_head(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Style sheets of the body move to the end of the head, in their order."""
    return edit_documents(page, _move)


def _move(document: Document) -> Edit:
    place = _end_of_head(document.tokens)
    if place is None:
        return Edit(document.tokens, notes=(Note(document.url, "the document writes no end of its head"),))
    moved: list[Token] = []
    changes: list[Replacement] = []
    for element in document.named("link", "style"):
        wanted = is_style_element if element.name == "style" else is_style_sheet
        if element.start > place and wanted(element.tag):
            moved += document.tokens[element.start : element.end]
            if element.name == "style" and not isinstance(moved[-1], Tag):
                moved.append(end_tag("style"))
            changes.append((element.start, element.end, ()))
    return Edit.of(
        document, [ElementChange(document.url, [(place, place, moved), *changes])] if changes else []
    )


def _end_of_head(tokens: tuple[Token, ...]) -> int | None:
    for index, token in enumerate(tokens):
        if isinstance(token, Tag) and (token.name == "body" or (token.name == "head" and token.closing)):
            return index
    return None
