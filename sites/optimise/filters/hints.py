"""Hints in the document: what to load early, what to load late."""

from __future__ import annotations

from dataclasses import replace

from harness.model.filtersettings import FilterSettings
from sites.optimise.document import (
    Document,
    Edit,
    Notes,
    edit_documents,
    open_document,
)
from sites.optimise.lookups import ElementChange
from sites.optimise.markup import Tag
from sites.optimise.page import Page
from sites.optimise.references import is_style_sheet, media_of
from sites.optimise.script import is_classic
from sites.served import HEADER_LIMIT_CHARACTERS
from sites.urls import resolve


def hint_preload_subresources(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """A Link header on each document names the style sheets and scripts that hold up its display."""
    changed = []
    for document in filter(None, (open_document(page, url) for url in page.documents)):
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
            waits = is_classic(tag) and not {"async", "defer"} & tag.names
            kind, reference = "script", tag.get("src") if waits else None
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
                [
                    (
                        image.start,
                        image.end,
                        image.with_tag(image.tag.with_attribute("loading", "lazy"), document),
                    )
                ],
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
