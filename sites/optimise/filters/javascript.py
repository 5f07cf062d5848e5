"""When scripts run."""

from __future__ import annotations

import base64

from harness.model.filtersettings import FilterSettings
from sites.charset import UNREADABLE, is_whole
from sites.optimise import script
from sites.optimise.document import Document, Edit, Element, Notes, edit_documents
from sites.optimise.lookups import ElementChange, Replacement
from sites.optimise.page import Note, Page


def defer_javascript(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """Every classic script of a document runs, in order, after it is parsed; inline ones become data URLs for it."""
    return edit_documents(page, _defer)


def _defer(document: Document) -> Edit:
    scripts = [
        element
        for element in document.named("script")
        if script.is_classic(element.tag) and not {"async", "defer"} & element.tag.names
    ]
    reason = next((why for why in (_why_not(document, element) for element in scripts) if why), None)
    if reason is not None:
        return Edit(document.tokens, notes=(Note(document.url, reason),))
    changes: list[Replacement] = []
    for element in scripts:
        if "src" in element.tag.names:
            tag = element.tag.with_attribute("defer", None)
            changes.append((element.start, element.end, element.with_tag(tag, document)))
        elif element.content.strip():
            data = base64.b64encode(element.content.encode()).decode()
            url = f"data:text/javascript;charset=utf-8;base64,{data}"
            tag = element.tag.with_attribute("defer", None).with_attribute("src", url)
            closing = document.tokens[element.start + 2 : element.end]
            changes.append((element.start, element.end, [tag, *closing]))
    return Edit.of(document, [ElementChange(document.url, changes)])


def _why_not(document: Document, element: Element) -> str | None:
    """Why the scripts of a document cannot all be deferred."""
    text = element.content
    if "src" in element.tag.names:
        found = document.referred(element.tag.get("src"))
        if found is None:
            return "a script is not in the archive, so what it does is not known"
        text = found.body.decode("latin-1")
        if script.looks_around(text):  # it stays in its file, but runs when others have been read
            return "a script looks for script elements"
    elif not is_whole(text):  # data URLs are in UTF-8
        return UNREADABLE
    else:
        reason = script.why_not_movable(text)
        if reason:
            return reason
    return "a script writes into the document" if script.writes(text) else None
