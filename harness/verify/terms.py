"""In which terms a variant's requests are told: what its filters did to the addresses of a page's files. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sites.asked import normalised
from sites.mediatype import SCRIPT_TYPES
from sites.optimise.derive import VariantReport
from sites.optimise.document import open_document
from sites.optimise.page import Page

_STYLES = frozenset({"text/css"})
_IMAGES = "image/"
# What each filter makes part of another file. Of anything else that the page no longer names no filter is the reason.
_JOINING: Mapping[str, frozenset[str]] = {
    "flatten_css_imports": _STYLES,
    "combine_css": _STYLES,
    "inline_css": _STYLES,
    "combine_javascript": SCRIPT_TYPES,
    "inline_javascript": SCRIPT_TYPES,
    "inline_images": frozenset({_IMAGES}),
}
_RENAMING, _WAITING = "shard", "lazyload_images"


@dataclass(frozen=True)
class Terms:
    """What filters did to the files of a page; URLs as `normalised` writes them. The original has none of it.

    `joined` are part of other files or of the document, `added` are the files that filters made, `renamed` leads from
    a file's new address to its old one, and `waiting` are images that load when they come near.
    """

    joined: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()

    @classmethod
    def of(cls, report: VariantReport, kinds: Mapping[str, str], made: Callable[[], Page]) -> Terms:
        """The terms of a variant: from the report on it, the media types of its original by URL, and its own page."""
        types = {normalised(url): mime for url, mime in kinds.items()}
        joined: set[str] = set()
        renamed: dict[str, str] = {}
        before = report.before
        for step in report.steps:
            gone = {_name(url) for url in set(before.unscripted) - set(step.inventory.unscripted)}
            taken = _JOINING.get(step.filter, frozenset())
            joined |= {url for url in gone if _is_of(types.get(url, ""), taken)}
            if step.filter == _RENAMING:
                new = step.inventory.bytes.keys() - before.bytes.keys()  # `shard1.host/path` and so on
                renamed = {_name(url): _name(url.partition(".")[2]) for url in new}
            before = step.inventory
        added = {_name(url) for url in before.bytes.keys() - report.before.bytes.keys()}
        waits = any(step.filter == _WAITING for step in report.steps)
        waiting = {renamed.get(url, url) for url in _lazy_images(made())} if waits else set()
        return cls(frozenset(joined), frozenset(added - renamed.keys()), renamed, frozenset(waiting))

    def original(self, url: str) -> str:
        """What a request of the variant asks for, as the original would have asked for it."""
        name = normalised(url)
        return self.renamed.get(name, name)

    @property
    def unasked(self) -> frozenset[str]:
        """What a whole variant need not ask for."""
        return self.joined | self.waiting


AS_RECORDED = Terms()


def _lazy_images(page: Page) -> Iterator[str]:
    """The images that documents of the page leave until they come near."""
    for document in filter(None, (open_document(page, url) for url in page.documents)):
        for element in document.named("img"):
            found = document.referred(element.tag.get("src"))
            if found is not None and element.tag.get("loading") == "lazy":
                yield normalised(found.url)


def _is_of(mime: str, kinds: Collection[str]) -> bool:
    return any(mime == kind or (kind.endswith("/") and mime.startswith(kind)) for kind in kinds)


def _name(url: str) -> str:
    """A URL of an inventory, which has no scheme, as it counts."""
    return normalised(f"any://{url}")
