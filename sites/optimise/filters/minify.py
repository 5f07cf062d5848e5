"""Style sheets and scripts without what a browser needs not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE, is_whole, text_of
from sites.optimise import cssminify, script
from sites.optimise.document import Document, Element, Notes, edit_elements
from sites.optimise.markup import Token
from sites.optimise.page import Note, Page, Resource
from sites.optimise.references import is_style_element


@dataclass(frozen=True)
class _Language:
    """What is minified: which files, which elements, how, and what may not come to stand in an element."""

    kind: str
    element: str
    is_file: Callable[[Resource], bool]
    is_inline: Callable[[Element], bool]
    minified: Callable[[str], str | None]
    breaks_out: Callable[[str], bool]
    rejected: str


def rewrite_css(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Style sheets and the content of <style> elements, minified where that makes them shorter."""
    return _rewrite(page, _CSS)


def rewrite_javascript(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Scripts and the content of <script> elements, minified where that makes them shorter."""
    return _rewrite(page, _JAVASCRIPT)


def _rewrite(page: Page, language: _Language) -> tuple[Page, Notes]:
    files = [_file(each, language) for each in page.resources.values() if language.is_file(each)]
    page = page.with_resources(each for each in files if isinstance(each, Resource))
    page, notes = edit_elements(
        page, [language.element], lambda document, element: _element(document, element, language)
    )
    return page, (*(each for each in files if isinstance(each, Note)), *notes)


def _file(resource: Resource, language: _Language) -> Resource | Note | None:
    text = text_of(resource.body, resource.header("Content-Type"), language.kind)
    if text is None or not is_whole(text.text):
        return Note(resource.url, UNREADABLE)
    short = language.minified(text.text)
    if short is None:
        return Note(resource.url, language.rejected)
    body = text.encoded(short) if len(short) < len(text.text) else None
    return None if body is None else resource.with_body(body)


def _element(document: Document, element: Element, language: _Language) -> list[Token] | Note | None:
    if not element.content.strip() or not language.is_inline(element):
        return None
    short = language.minified(element.content)
    if short is None:
        return Note(document.url, f"{language.rejected} in the document")
    if len(short) >= len(element.content) or language.breaks_out(short):
        return None
    return element.with_content(short, document)


def _is_inline_script(element: Element) -> bool:
    kind = (element.tag.get("type") or "").strip().lower()
    return "src" not in element.tag.names and (script.is_classic(element.tag) or kind == "module")


_CSS = _Language(
    kind="css",
    element="style",
    is_file=lambda resource: resource.is_style,
    is_inline=lambda element: is_style_element(element.tag),
    minified=cssminify.minified,
    breaks_out=lambda css: "</style" in css.lower(),
    rejected="the style sheet cannot be minified for certain",
)
_JAVASCRIPT = _Language(
    kind="javascript",
    element="script",
    is_file=lambda resource: resource.is_script,
    is_inline=_is_inline_script,
    minified=script.minified,
    breaks_out=script.breaks_out,
    rejected="the script cannot be minified for certain",
)
