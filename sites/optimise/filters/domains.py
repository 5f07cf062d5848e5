"""Host names."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from sites.optimise.document import Document, Edit, Notes, Replacement, edit_documents, replaced
from sites.optimise.markup import Tag
from sites.optimise.origin import same_origin
from sites.optimise.page import Page, Resource
from sites.optimise.script import is_classic
from sites.optimise.settings import FilterSettings


def shard(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """Images and scripts of the document's own host, where <img src> and <script src> name them, on other names.

    A file always lands on the same name. It also stays where it was, for style sheets and scripts that ask for it.
    """

    def change(document: Document) -> Edit:
        changes: list[Replacement] = []
        moved: dict[str, Resource] = {}
        for element in document.named("img", "script"):
            found = document.referred(element.tag.get("src")) if _fits(element.tag) else None
            if found is None or not same_origin(found.url, document.url):
                continue
            url = _sharded(found.url, settings.shards)
            moved[url] = replace(found, url=url, changed=True)
            fragment = urlsplit(element.tag.get("src") or "").fragment  # names a part of an SVG file
            tag = element.tag.with_attribute("src", f"{url}#{fragment}" if fragment else url)
            changes.append((element.start, element.end, element.with_tag(tag, document)))
        return Edit(replaced(document.tokens, changes), tuple(moved.values()))

    return edit_documents(page, change)


def _fits(tag: Tag) -> bool:
    """Whether the file may come from another host: not if CORS, or a choice among several, is in play."""
    return "crossorigin" not in tag.names and (
        is_classic(tag) if tag.name == "script" else "srcset" not in tag.names
    )


def _sharded(url: str, shards: int) -> str:
    parts = urlsplit(url)
    number = int.from_bytes(hashlib.sha256(url.encode()).digest()[:4], "big") % shards + 1
    return urlunsplit(parts._replace(netloc=f"shard{number}.{parts.netloc}"))
