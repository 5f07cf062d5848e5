"""In which terms a variant's requests are told: what its filters did to the addresses of a page's files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sites.asked import normalised
from sites.mediatype import SCRIPT_TYPES
from sites.optimise.derive import VariantReport
from sites.optimise.document import open_document
from sites.optimise.markup import Tag
from sites.optimise.page import Page

_STYLES = frozenset({"text/css"})
_IMAGES = frozenset({"image"})  # each of them
# What each filter makes part of another file. Of anything else that the page no longer names no filter is the reason.
_JOINING: Mapping[str, frozenset[str]] = {
    "flatten_css_imports": _STYLES,
    "combine_css": _STYLES,
    "inline_css": _STYLES,
    "combine_javascript": SCRIPT_TYPES,
    "inline_javascript": SCRIPT_TYPES,
    "inline_images": _IMAGES,
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
    def of(cls, report: VariantReport, original: Page, made: Page) -> Terms:
        """The terms of a variant: from the report on it, its original's page and its own.

        A file is joined when a step that joins files of its kind leaves nothing that names it, or when no element names
        it any more: a rule of a style sheet may go on naming a picture, and apply to nothing.
        """
        kinds = {normalised(url): resource.mime for url, resource in original.resources.items()}
        joined: set[str] = set()
        renamed: dict[str, str] = {}
        before = report.before
        for step in report.steps:
            gone = {_name(url) for url in set(before.unscripted) - set(step.inventory.unscripted)}
            joined |= _of_kinds(gone, kinds, [step.filter])
            if step.filter == _RENAMING:
                new = step.inventory.bytes.keys() - before.bytes.keys()  # `shard1.host/path` and so on
                renamed = {_name(url): _name(url.partition(".")[2]) for url in new}
            before = step.inventory
        added = {_name(url) for url in before.bytes.keys() - report.before.bytes.keys()}
        named = [(renamed.get(url, url), tag.get("loading") == "lazy") for url, tag in _named(made)]
        at_once, lazy = ({url for url, waits in named if waits is late} for late in (False, True))
        unnamed = {url for url, _ in _named(original)} - at_once - lazy
        joined |= _of_kinds(unnamed, kinds, [step.filter for step in report.steps])
        may_wait = any(step.filter == _WAITING for step in report.steps)
        waiting = frozenset(lazy - at_once if may_wait else ())
        return cls(frozenset(joined), frozenset(added - renamed.keys()), renamed, waiting)

    def original(self, url: str) -> str:
        """What a request of the variant asks for, as the original would have asked for it."""
        name = normalised(url)
        return self.renamed.get(name, name)

    @property
    def unasked(self) -> frozenset[str]:
        """What a whole variant need not ask for."""
        return self.joined | self.waiting


AS_RECORDED = Terms()


def _named(page: Page) -> Iterator[tuple[str, Tag]]:
    """The files that elements of the page's documents name, each with an element that does."""
    for document in filter(None, (open_document(page, url) for url in page.documents)):
        for element in document.named("img", "input", "link", "script"):
            found = document.referred(element.tag.get("href" if element.name == "link" else "src"))
            if found is not None:
                yield normalised(found.url), element.tag


def _of_kinds(urls: Iterable[str], kinds: Mapping[str, str], filters: Iterable[str]) -> set[str]:
    """The URLs of files of the kinds that filters join."""
    taken = frozenset().union(*(_JOINING.get(name, frozenset()) for name in filters))
    return {url for url in urls if (mime := kinds.get(url, "")) in taken or mime.partition("/")[0] in taken}


def _name(url: str) -> str:
    """A URL of an inventory, which has no scheme, as it counts."""
    return normalised(f"any://{url}")
