"""Neighbouring style sheets, and neighbouring scripts, as one file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from harness.model.filtersettings import FilterSettings
from sites.optimise import script, stylesheet
from sites.optimise.document import (
    FILE_ATTRIBUTES,
    SCRIPT_ATTRIBUTES,
    STYLE_ATTRIBUTES,
    Document,
    Edit,
    Element,
    Notes,
    edit_documents,
    is_named,
    is_style_sheet,
    lends_urls,
    media_of,
    only_idle,
)
from sites.optimise.lookups import ElementChange, Replacement
from sites.optimise.markup import MarkupToken, Tag, end_tag
from sites.optimise.page import LeftAlone, Note, Page, Resource
from sites.urls import origin, resolve

# Elements that neither load nor run anything may stand between two style sheets that are combined.
_HARMLESS = frozenset({"meta", "title"})
# What an element no longer says once its file is joined; how a browser asks for it (`_mode`) stays.
_LOST = {"id", *FILE_ATTRIBUTES} - {"crossorigin", "fetchpriority"}


CombinedPart = tuple[Element, Resource, str]


@dataclass(frozen=True)
class _Combinable:
    """How one kind of file is combined.

    `part` makes a part of an element (None: it is no such file), parts with the same `key` may be joined, `joined`
    gives URL and text of the joint file, `refer` the tokens that refer to it. `part` and `joined` raise LeftAlone.
    """

    element: str
    part: Callable[[Document, Element], CombinedPart | None]
    key: Callable[[CombinedPart], object]
    joined: Callable[[Sequence[CombinedPart]], tuple[str, str]]
    refer: Callable[[Tag, str], list[MarkupToken]]


def combine_css(page: Page, _settings: FilterSettings) -> tuple[Page, Notes]:
    """<link>s of one host and one media query that are fetched alike, with nothing between them, become one."""
    joined = partial(_joined_css, lends_urls(page))
    kind = _Combinable("link", _style_part, _style_key, joined, _link_to)
    return edit_documents(page, lambda document: _combine(document, kind))


def combine_javascript(page: Page, settings: FilterSettings) -> tuple[Page, Notes]:
    """<script src>s of one host that are fetched alike, with nothing between them, become one, up to the size limit."""
    joined = partial(_joined_scripts, settings.max_combined_js_bytes)
    kind = _Combinable("script", _script_part, _script_key, joined, _script_at)
    return edit_documents(page, lambda document: _combine(document, kind))


def _combine(document: Document, kind: _Combinable) -> Edit:
    """Group what may be combined, join each group, and refer to the joint file where the first part was."""
    notes: list[Note] = []
    changes: list[ElementChange] = []
    for group in _groups(document, kind, notes):
        for parts in _longest(group, kind, notes):
            url, text = kind.joined(parts)
            first = parts[0][0]
            gone: list[Replacement] = [(element.start, element.end, ()) for element, _, _ in parts[1:]]
            refer = (first.start, first.end, kind.refer(first.tag, url))
            changes.append(ElementChange(parts[0][1].url, [refer, *gone], (_file(url, text, parts),)))
    return Edit.of(document, changes, notes)


def _groups(document: Document, kind: _Combinable, notes: list[Note]) -> Iterator[list[CombinedPart]]:
    """Runs of parts with the same key and nothing between that loads, runs or shows."""
    group: list[CombinedPart] = []
    for element in document.named(kind.element):
        try:
            made = kind.part(document, element)
        except LeftAlone as why:
            notes.append(Note(document.reference_of(element.tag), str(why)))
            made = None
        if made is not None and group and may_be_joined(document, kind, group, made):
            group.append(made)
            continue
        yield group
        group = [] if made is None else [made]
    yield group


def may_be_joined(
    document: Document, kind: _Combinable, group: list[CombinedPart], part: CombinedPart
) -> bool:
    """Whether a part is like those of a group and follows the last of them."""
    return kind.key(group[0]) == kind.key(part) and are_adjacent(document, group[-1][0], part[0])


def are_adjacent(document: Document, one: Element, other: Element) -> bool:
    """Whether nothing that loads, runs or shows stands between two elements."""
    between = document.tokens[one.end : other.start]
    harmless = [
        element
        for element in document.elements
        if one.end <= element.start < other.start
        and (element.name in _HARMLESS or (element.name == "link" and not is_style_sheet(element.tag)))
    ]
    covered = {index for neighbour in harmless for index in range(neighbour.start, neighbour.end)}
    if one.name == "script" and harmless:
        return False
    return only_idle(token for index, token in enumerate(between, one.end) if index not in covered)


def _longest(group: list[CombinedPart], kind: _Combinable, notes: list[Note]) -> Iterator[list[CombinedPart]]:
    """Split a group into the longest runs that can be joined; runs of one are left alone."""
    run: list[CombinedPart] = []
    for part in group:
        try:
            kind.joined([*run, part])
        except LeftAlone as why:
            notes.append(Note(part[1].url, str(why)))
            if len(run) > 1:
                yield run
            run = [part]
            continue
        run.append(part)
    if len(run) > 1:
        yield run


def _style_part(document: Document, element: Element) -> CombinedPart | None:
    tag = element.tag
    sheet = document.referred(tag.get("href")) if is_style_sheet(tag) else None
    if sheet is None or not sheet.is_style:
        return None
    _check_tag(document, tag, sheet, STYLE_ATTRIBUTES)
    text = document.whole_text_of(sheet, "css", tag)
    if not stylesheet.is_well_formed(text.text):
        raise LeftAlone("a style sheet is not well formed")
    if stylesheet.has_rule(text.text, "namespace"):
        raise LeftAlone("a style sheet declares a namespace")
    return element, sheet, stylesheet.without_charset(text.text)


def _script_part(document: Document, element: Element) -> CombinedPart | None:
    tag = element.tag
    resource = document.referred(tag.get("src")) if script.is_classic(tag) else None
    if resource is None or not resource.is_script or "async" in tag.names:
        return None
    _check_tag(document, tag, resource, SCRIPT_ATTRIBUTES)
    text = document.whole_text_of(resource, "javascript", tag)
    if not script.parses(text.text):
        raise LeftAlone("the minifier rejects the script")
    reason = script.why_not_movable(text.text)
    if reason:
        raise LeftAlone(reason)
    if script.is_strict(text.text):
        raise LeftAlone("a script is in strict mode as a whole")
    return element, resource, text.text


def _check_tag(document: Document, tag: Tag, found: Resource, known: frozenset[str]) -> None:
    reason = document.page.why_apart(found)
    if reason:
        raise LeftAlone(reason)
    if has_own_attributes(tag, known):
        raise LeftAlone("an element has attributes of its own that the joint one could not keep")
    if is_named(tag.get("id"), document):
        raise LeftAlone("a script may ask for the element by its id")


def has_own_attributes(tag: Tag, known: frozenset[str]) -> bool:
    """Whether an element has attributes, event handlers among them, that the joint one could not keep."""
    return bool(tag.names - known)


def _style_key(part: CombinedPart) -> object:
    return origin(part[1].url), media_of(part[0].tag), _mode(part[0].tag)


def _script_key(part: CombinedPart) -> object:
    return origin(part[1].url), "defer" in part[0].tag.names, _mode(part[0].tag)


def _mode(tag: Tag) -> object:
    """How a browser asks for the file of an element: whether by CORS and with cookies, and how urgently."""
    cors = tag.get("crossorigin")
    mode = None if cors is None else cors.lower() or "anonymous"
    return mode, (tag.get("fetchpriority") or "auto").lower()


def _joined_css(lent: bool, parts: Sequence[CombinedPart]) -> tuple[str, str]:
    """URL and text of the joint sheet. An @import works at the head of a file only."""
    folder = resolve(parts[0][1].url, ".") or ""
    texts = []
    for number, (_, resource, text) in enumerate(parts):
        if number and stylesheet.has_rule(text, "import"):
            raise LeftAlone("a style sheet with @import can only be the first")
        moved = stylesheet.rebased(text, resource.url, folder, lent=lent)
        if moved is None:
            raise LeftAlone("a style sheet is not well formed")
        texts.append(moved)
    return _address(parts, texts, "css"), "\n".join(texts)


def _joined_scripts(limit: int, parts: Sequence[CombinedPart]) -> tuple[str, str]:
    texts = [text for _, _, text in parts]
    joint = "\n;\n".join(texts)
    if any(
        script.writes(text) for text in texts[:-1]
    ):  # what it writes may be a script, which then runs too late
        raise LeftAlone("a script that writes into the document can only be the last")
    if len(parts) > 1 and len(joint.encode()) > limit:
        raise LeftAlone(f"the joint script would be larger than {limit} bytes")
    if len(parts) > 1 and not script.parses(joint):
        raise LeftAlone("the scripts declare the same name")
    if any(script.comes_too_early(text, texts[:number]) for number, text in enumerate(texts)):
        raise LeftAlone("a script declares a name that one before it uses")
    return _address(parts, texts, "js"), joint


def _address(parts: Sequence[CombinedPart], texts: Sequence[str], suffix: str) -> str:
    """Beside the first of the parts, so that it is of their origin."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:10]
    return resolve(parts[0][1].url, f"combined-{digest}.{suffix}") or ""


def _file(url: str, text: str, parts: Sequence[CombinedPart]) -> Resource:
    """Sent as its parts were: with the headers of the first, coded if one of them was."""
    model = next((each for _, each, _ in parts if each.coding), parts[0][1])
    return replace(model.with_body(text.encode(), f"{model.mime}; charset=utf-8"), url=url)


def _link_to(tag: Tag, url: str) -> list[MarkupToken]:
    return [tag.without(*_LOST).with_attribute("href", url)]


def _script_at(tag: Tag, url: str) -> list[MarkupToken]:
    return [tag.without(*_LOST).with_attribute("src", url), end_tag("script")]
