"""Style sheets and scripts: minified, imports resolved, moved into the head, run later."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE, Text, is_whole
from sites.mediatype import words
from sites.optimise import cssminify, script, stylesheet
from sites.optimise.document import (
    Document,
    Edit,
    Element,
    Notes,
    documents_of,
    edit_documents,
    edit_elements,
    is_style_element,
    is_style_sheet,
    lends_urls,
)
from sites.optimise.lookups import ElementChange, Replacement, reads_sheets
from sites.optimise.markup import MarkupToken, Tag, end_tag, start_tag
from sites.optimise.page import FORBIDDEN, LeftAlone, Note, Page, Resource

MAX_IMPORT_DEPTH = 10
# Event handlers of what may have loaded, or failed to, before its document is parsed.
_EARLY = words(
    "onload onerror onloadstart onloadedmetadata onloadeddata oncanplay oncanplaythrough onreadystatechange"
)
_WINDOWS = words("body frameset")  # whose handlers are the window's
# The names in a handler that stand in no text and behind no dot, and those that it has without any script.
_NAMES = re.compile(r"""(?s)"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w$.])([A-Za-z_$][\w$]*)""")
_OWN_NAMES = words("this event null true false")


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
    files = [_file(resource, language) for resource in page.resources.values() if language.is_file(resource)]
    page = page.with_resources(file for file in files if isinstance(file, Resource))
    page, notes = edit_elements(
        page, [language.element], lambda document, element: _element(document, element, language)
    )
    return page, (*(note for note in files if isinstance(note, Note)), *notes)


def _file(resource: Resource, language: _Language) -> Resource | Note | None:
    if not resource.may_change:
        return Note(resource.url, FORBIDDEN)
    text = resource.text(language.kind)
    if text is None or not is_whole(text.text):
        return Note(resource.url, UNREADABLE)
    short = language.minified(text.text)
    if short is None:
        return Note(resource.url, language.rejected)
    body = text.encoded(short) if len(short) < len(text.text) else None
    return None if body is None else resource.with_body(body)


def _element(document: Document, element: Element, language: _Language) -> list[MarkupToken] | Note | None:
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
    breaks_out=stylesheet.ends_style,
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


def flatten_css_imports(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Each @import at the head of a style sheet is replaced by the sheet, its relative URLs and media kept."""
    notes: list[Note] = []
    changed = []
    read = reads_sheets(page)
    flattening = _Flattening(page, lends_urls(page), settings.css_flatten_max_bytes)
    encodings = {document.text.encoding for document in documents_of(page)}
    around = encodings.pop() if len(encodings) == 1 else ""  # the encoding of sheets that name none
    for resource in page.resources.values():
        text = resource.text("css", around) if resource.is_style else None
        if text is None or not stylesheet.has_rule(text.text, "import"):
            continue
        if not resource.may_change:
            notes.append(Note(resource.url, FORBIDDEN))
            continue
        if read:
            notes.append(Note(resource.url, "a script looks into the style sheets of the document"))
            continue
        try:
            flat = flattening.flat(text, resource.url)
        except LeftAlone as why:
            notes.append(Note(resource.url, str(why)))
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


class _Flattening:
    """The style sheets of a page with their imports in place. Each is joined once for each place that asks for it at
    the same depth, so imports that multiply cost what they add.
    """

    def __init__(self, page: Page, lent: bool, most: int):
        self._page = page
        self._lent = lent
        self._most = most
        self._joined: dict[tuple[str, str, str, int], str] = {}

    def flat(self, css: Text, url: str, depth: int = MAX_IMPORT_DEPTH) -> str:
        """LeftAlone says why it cannot be done, also as soon as there are over `most` characters; all imports of a
        sheet are resolved, or none.
        """
        if not is_whole(css.text):
            raise LeftAlone(UNREADABLE)
        split = stylesheet.split_imports(css.text)
        if split is None:
            raise LeftAlone(
                "an import has a condition other than media, stands behind a rule, or cannot be read"
            )
        imports, rest = split
        if imports and stylesheet.has_rule(rest, "namespace"):  # which must stand before all rules
            raise LeftAlone("a style sheet that imports declares a namespace")
        if imports and not depth:
            raise LeftAlone("imports are nested too deeply")
        parts = []
        for rule in imports:
            moved = self._imported(self._page.url_of(url, rule.url) or "", url, css.encoding, depth - 1)
            parts.append(f"@media {rule.media}{{{moved}}}" if rule.media else moved)
            if sum(map(len, parts)) + len(parts) > self._most:
                raise LeftAlone(f"larger than {self._most} bytes with its imports")
        return "\n".join([*parts, rest]) if imports else css.text

    def _imported(self, source: str, into: str, around: str, depth: int) -> str:
        """The sheet `source` and its own imports, as it has to stand in the sheet `into`, which is in the encoding
        `around`.
        """
        known = self._joined.get((source, into, around, depth))
        if known is not None:
            return known
        imported = self._page.resources.get(source)
        text = imported.text("css", around) if imported is not None and imported.is_style else None
        if imported is None or text is None:
            raise LeftAlone("what it imports is not in the archive")
        if imported.why_apart:
            raise LeftAlone(f"what it imports: {imported.why_apart}")
        if stylesheet.has_rule(text.text, "namespace") or not stylesheet.is_well_formed(text.text):
            raise LeftAlone("what it imports cannot be joined")
        flat = stylesheet.without_charset(self.flat(text, imported.url, depth))
        moved = stylesheet.rebased(flat, imported.url, into, lent=self._lent)
        if moved is None:
            raise LeftAlone("what it imports cannot be read")
        self._joined[source, into, around, depth] = moved
        return moved


def inline_import_to_link(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """A <style> that holds nothing but @import becomes one <link> per import."""
    return edit_elements(page, ["style"], lambda _document, element: _linked(element))


def _linked(element: Element) -> list[MarkupToken] | None:
    known = is_style_element(element.tag) and element.tag.names <= {"type", "media"}
    if not known or "@import" not in element.content.lower():
        return None
    split = stylesheet.split_imports(element.content)
    if (
        split is None
        or split[1].strip()
        or (any(rule.media for rule in split[0]) and element.tag.get("media"))
    ):
        return None
    links: list[MarkupToken] = []
    for rule in split[0]:
        media = rule.media or element.tag.get("media")
        attributes = [("rel", "stylesheet"), ("href", rule.url), *([("media", media)] if media else [])]
        links.append(start_tag("link", attributes))
    return links


def move_css_to_head(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Style sheets of the body move to the end of the head, in their order."""
    return edit_documents(page, _move)


def _move(document: Document) -> Edit:
    place = _end_of_head(document.tokens)
    if place is None:
        return Edit(document.tokens, notes=(Note(document.url, "the document writes no end of its head"),))
    moved: list[MarkupToken] = []
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


def _end_of_head(tokens: tuple[MarkupToken, ...]) -> int | None:
    for index, token in enumerate(tokens):
        if isinstance(token, Tag) and (token.name == "body" or (token.name == "head" and token.closing)):
            return index
    return None


def defer_javascript(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Every classic script of a document runs, in order, after it is parsed; inline ones become data URLs for it."""
    return edit_documents(page, _defer)


def _defer(document: Document) -> Edit:
    scripts = [
        element
        for element in document.named("script")
        if script.holds_up(element.tag) and ("src" in element.tag.names or element.content.strip())
    ]
    reason = next((why for why in (_why_not(document, element) for element in scripts) if why), None)
    reason = reason or _why_overtaken(document, scripts) or _why_called(document, scripts)
    if reason is not None:
        return Edit(document.tokens, notes=(Note(document.url, reason),))
    changes: list[Replacement] = []
    for element in scripts:
        if "src" in element.tag.names:
            tag = element.tag.with_attribute("defer", None)
            changes.append(element.retagged(tag, document))
        else:
            data = base64.b64encode(element.content.encode()).decode()
            url = f"data:text/javascript;charset=utf-8;base64,{data}"
            tag = element.tag.without("async").with_attribute("defer", None).with_attribute("src", url)
            closing = document.tokens[element.start + 2 : element.end]
            changes.append((element.start, element.end, [tag, *closing]))
    return Edit.of(document, [ElementChange(document.url, changes)])


def _why_overtaken(document: Document, scripts: Sequence[Element]) -> str | None:
    """Why another script, which runs after one of these now, could run before it if they were deferred."""
    if not scripts:
        return None
    first, last = scripts[0].start, scripts[-1].start
    others = list(document.named("script"))
    if any(other.start < last and script.is_deferred(other.tag) for other in others):
        return "a script that is deferred stands before one that is not"
    if any(other.start > first and script.is_async(other.tag) for other in others):
        return "a script that waits for no other stands behind one that would be deferred"
    return None


def _why_called(document: Document, scripts: Sequence[Element]) -> str | None:
    """Why an event handler behind one of these scripts, which finds it run now, could run before it if that were
    deferred. Handlers of the scripts themselves come behind them all the same.
    """
    if not scripts:
        return None
    places = {element.start for element in scripts}
    handlers = (
        attribute.value or ""
        for at, token in enumerate(document.tokens)
        if isinstance(token, Tag)
        and at > scripts[0].start
        and at not in places
        and token.name not in _WINDOWS
        for attribute in token.attributes
        if attribute.name in _EARLY
    )
    if any(name and name not in _OWN_NAMES for handler in handlers for name in _NAMES.findall(handler)):
        return "an event handler may run before the scripts that stand before it"
    return None


def _why_not(document: Document, element: Element) -> str | None:
    """Why the scripts of a document cannot all be deferred."""
    text = element.content
    if "src" in element.tag.names:
        resource = document.referred(element.tag.get("src"))
        if resource is None:
            return "a script is not in the archive, so what it does is not known"
        text = resource.body.decode("latin-1")
        if script.looks_around(text):  # it stays in its file, but runs when others have been read
            return "a script looks for script elements"
    elif not is_whole(text):  # data URLs are in UTF-8
        return UNREADABLE
    else:
        reason = script.why_not_movable(text)
        if reason:
            return reason
    return "a script writes into the document" if script.writes(text) else None
