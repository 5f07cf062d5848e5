"""Who looks for the elements of a document: the style sheets and scripts of its page.

A filter that takes an element away, or changes one, may do so as long as every selector of the page finds the same
elements as before, and none whose changed attributes a script reads. That is tried out: both forms of the document
are parsed (lexbor) and asked by all selectors. It tells, and makes nothing: a page gets the tokens, never the tree.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import unquote_to_bytes, urlsplit

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from sites.mediatype import words
from sites.optimise.markup import Chars, MarkupToken, Tag, parse
from sites.optimise.page import Note, Page, Resource, document_text
from sites.optimise.scriptfacts import SHEETS, Lookup, ScriptFacts, facts_of

Replacement = tuple[int, int, Sequence[MarkupToken]]
MAX_WORK = 10_000_000  # elements times selectors
MAX_DEPTH = 3_000
MAX_TRIALS = 64
_MARK = "coldload-element"
_MAY_STAY_OPEN = words(
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr thead tbody tfoot option "
    "optgroup colgroup rp rt html head body"
)
_UNSHOWN = frozenset({"head", "script", "style", "link", "meta", "title", "base", "template", "noscript"})
_PRELUDE = re.compile(r"([^{};]*)([{};]|\Z)")
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
# What makes a selector depend on more than the element itself, its ancestors and their classes.
_DEPENDENT = re.compile(r"[\[+~]|:(?:nth-|first-child|first-of|last-|only-|empty|has\()")
_KNOWN = (
    "nth-child|nth-last-child|nth-of-type|nth-last-of-type|first-child|last-child|only-child|first-of-type|"
    "last-of-type|only-of-type|empty|not|is|where|has|root"
)
_PSEUDO = re.compile(
    rf"(\"[^\"]*\"|'[^']*')|(?<!\\)::?(?!(?:{_KNOWN})(?![\w-]))[\w-]+(?:\((?:[^()]|\([^()]*\))*\))?"
)
_NOT = re.compile(r":not\((?:[^()]|\([^()]*\))*\)")
_LONGEST_SELECTOR = 1000


@dataclass(frozen=True)
class ElementChange:
    """One thing that a filter does to a document, whole or not at all: ranges of tokens (start, end, new tokens), and
    the files that come with them. `url` is where a note says so.
    """

    url: str
    replacements: Sequence[Replacement]
    resources: tuple[Resource, ...] = ()


def replaced(tokens: Sequence[MarkupToken], changes: Iterable[ElementChange]) -> list[MarkupToken]:
    """The tokens with all changes made; their ranges must not overlap."""
    result: list[MarkupToken] = []
    position = 0
    everything = (replacement for change in changes for replacement in change.replacements)
    for start, end, new in sorted(everything, key=lambda each: each[:2]):
        result += tokens[position:start]
        result += new
        position = end
    return result + list(tokens[position:])


def unnoticed(
    page: Page, tokens: Sequence[MarkupToken], changes: Sequence[ElementChange]
) -> tuple[list[ElementChange], list[Note]]:
    """The changes to a document of the page that nobody notices, and why the others are left alone."""
    if all(_keeps_tags(tokens, change) for change in changes):
        return list(changes), []
    view = _View(tokens, changes, lookups_of(page))
    if view.is_beyond_measure:
        reason = "the page is too large or too deep to tell who looks for the element"
        return [], [Note(change.url, reason) for change in changes]
    kept, notes = list(changes), []
    while kept and (noticed := view.noticed(kept)):
        blamed = _concerned(kept, noticed) or _guilty(kept, list(noticed), view)
        looking = min(lookup.selector for lookup in noticed)[:60]
        notes += [
            Note(change.url, f"a script or style sheet looks for the element ({looking})")
            for change in blamed
        ]
        gone = {id(change) for change in blamed}
        kept = [change for change in kept if id(change) not in gone]
    return kept, notes


def lookups_of(page: Page) -> frozenset[Lookup]:
    """What the style sheets and scripts of a page look for."""
    sheets = [
        resource.body.decode("utf-8", "replace") for resource in page.resources.values() if resource.is_style
    ]
    sheets += [text for url in page.documents for text in _contents(page.resources[url], "style")]
    scripts = (facts.lookups for facts in script_facts(page))
    return frozenset().union(*scripts, *map(_styled, sheets))


def reads_sheets(page: Page) -> bool:
    """Whether a script looks into the style sheets of a document (`document.styleSheets`)."""
    return any(SHEETS in (lookup.selector for lookup in facts.lookups) for facts in script_facts(page))


def script_facts(page: Page) -> Iterator[ScriptFacts]:
    """What each script of a page asks for."""
    return map(facts_of, scripts_of(page))


def scripts_of(page: Page) -> Iterator[str]:
    """All scripts of a page: files, script elements, event handlers."""
    for resource in page.resources.values():
        if may_be_script(resource):
            yield resource.body.decode("utf-8", "replace")
    for url in page.documents:
        yield from _contents(page.resources[url], "script")
        yield from _in_attributes(_tokens(page.resources[url]))


def may_be_script(resource: Resource) -> bool:
    """Whether a browser runs it where a script element asks for it, though it may be sent as something else."""
    unnamed = resource.mime in ("", "text/plain", "application/octet-stream")
    return resource.is_script or (
        resource.usable and (unnamed or urlsplit(resource.url).path.endswith(".js"))
    )


def _tokens(document: Resource) -> tuple[MarkupToken, ...]:
    text = document_text(document)
    return parse(document.body.decode("latin-1") if text is None else text.text)


def _contents(document: Resource, element: str) -> Iterator[str]:
    """What stands in elements of that name."""
    return (
        token.source for token in _tokens(document) if isinstance(token, Chars) and token.within == element
    )


def _in_attributes(tokens: Iterable[MarkupToken]) -> Iterator[str]:
    """Event handlers, and URLs that are scripts."""
    for tag in _starts(tokens):
        for attribute in tag.attributes:
            value = (attribute.value or "").strip()
            if value and attribute.name.startswith("on"):
                yield value
            elif value[:11].lower() == "javascript:":
                yield value[11:]
            elif tag.name == "script" and value[:5].lower() == "data:":
                yield _of_data(value)


def _of_data(url: str) -> str:
    """The content of a data URL, "" when it is broken."""
    head, _, data = url.partition(",")
    try:
        content = base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
    except ValueError:
        return ""
    return content.decode("utf-8", "replace")


@lru_cache(maxsize=1024)
def _styled(css: str) -> frozenset[Lookup]:
    """The selectors of a style sheet that what stands beside an element, or its attributes, can turn."""
    preludes = (found[1].strip() for found in _PRELUDE.finditer(_CSS_COMMENT.sub("", css)) if found[2] == "{")
    return frozenset(
        Lookup(text, styles=True)
        for text in preludes
        if not text.startswith("@") and len(text) <= _LONGEST_SELECTOR and _DEPENDENT.search(text)
    )


@lru_cache(maxsize=20_000)
def reduced(selector: str) -> str:
    """A selector without what lies in time or beside the tree (`:hover`, `::before`): it finds no fewer elements. ""
    for one that takes everything, or everything but something.
    """
    text = _PSEUDO.sub(lambda found: found[1] or "", selector).replace("&", "*")
    for _ in range(3):
        text = re.sub(r":(?:not|is|where|has)\(\s*\)", "", text)
    text = re.sub(r"([>+~])\s*(?=[>+~,)]|\Z)", r"\1 *", text)
    text = re.sub(r"(\A|,)\s*(?=[>+~])", r"\1* ", text).strip()
    return "" if _NOT.sub("", text).strip() in ("", "*") else text


def _keeps_tags(tokens: Sequence[MarkupToken], change: ElementChange) -> bool:
    """Whether every start tag stays the one it was."""
    return all(
        [id(tag) for tag in _starts(tokens[start:end])] == [id(tag) for tag in _starts(new)]
        for start, end, new in change.replacements
    )


def _starts(tokens: Iterable[MarkupToken]) -> Iterator[Tag]:
    return (token for token in tokens if isinstance(token, Tag) and not token.closing)


def _concerned(
    changes: Sequence[ElementChange], noticed: Mapping[Lookup, set[LookupMatch]]
) -> list[ElementChange]:
    """The changes of elements that are found no more, or only now, or with other attributes."""
    numbers = {number for found in noticed.values() for number, _ in found}
    return [
        change
        for change in changes
        if any(str(at) in numbers for start, end, _ in change.replacements for at in range(start, end))
    ]


def _guilty(changes: list[ElementChange], lookups: list[Lookup], view: _View) -> list[ElementChange]:
    """The changes beside which something else is found, by halving; all of them where that takes too long."""
    guilty: list[ElementChange] = []
    queue = [changes]
    for trial, some in enumerate(queue):  # grows while it is walked
        if trial > MAX_TRIALS:
            return changes
        if view.noticed(some, lookups):
            if len(some) == 1:
                guilty += some
            else:
                queue += [some[: len(some) // 2], some[len(some) // 2 :]]
    return guilty or changes


LookupMatch = tuple[
    str, tuple[str | None, ...]
]  # an element by the number of its token, and the attributes that are read


class _View:
    """A document as lookups see it, before and after changes."""

    def __init__(
        self, tokens: Sequence[MarkupToken], changes: Sequence[ElementChange], lookups: Collection[Lookup]
    ) -> None:
        self._tokens = tokens
        self._numbers = {id(token): number for number, token in enumerate(tokens)}
        parts = [
            ([tag.name for tag in _starts(tokens[start:end])], [tag.name for tag in _starts(new)])
            for change in changes
            for start, end, new in change.replacements
        ]
        stay = all(old == new for old, new in parts)  # then only attributes of elements count
        self._lookups = [
            lookup for lookup in lookups if not (stay and lookup.styles and "[" not in lookup.selector)
        ]

    @property
    def is_beyond_measure(self) -> bool:
        """Whether there is too much to try, or elements are nested so deep that the parser takes long."""
        depth = deepest = 0
        for token in self._tokens:
            if isinstance(token, Tag) and token.name not in _MAY_STAY_OPEN:
                depth = max(0, depth + (-1 if token.closing else 1))
                deepest = max(deepest, depth)
        elements = sum(1 for _ in _starts(self._tokens))
        return deepest > MAX_DEPTH or elements * len(self._lookups) > MAX_WORK

    def noticed(
        self, changes: Sequence[ElementChange], among: Collection[Lookup] | None = None
    ) -> dict[Lookup, set[LookupMatch]]:
        """The lookups by which the changes show, with what they find on one side only."""
        lookups = self._lookups if among is None else among
        after = _found(self._marked(changes), lookups)
        return {
            lookup: set(self._before[lookup]) ^ set(after[lookup])
            for lookup in lookups
            if self._before[lookup] != after[lookup]
        }

    @cached_property
    def _before(self) -> dict[Lookup, list[LookupMatch]]:
        return _found(self._marked([]), self._lookups)

    def _marked(self, changes: Sequence[ElementChange]) -> str:
        """The document with the number of its token on every element. The first that comes in the place of an element
        has the number of that.
        """
        numbers = dict(self._numbers)
        for change in changes:
            for start, _, new in change.replacements:
                first = next(_starts(new), None)
                if first is not None:
                    numbers.setdefault(id(first), start)
        return "".join(_with_number(token, numbers) for token in replaced(self._tokens, changes))


def _with_number(token: MarkupToken, numbers: Mapping[int, int]) -> str:
    if isinstance(token, Chars) and token.within:
        return ""
    number = numbers.get(id(token))
    if not isinstance(token, Tag) or token.closing or number is None:
        return token.source
    return f'{token.opening} {_MARK}="{number}"{token.source[len(token.opening) :]}'


def _found(html: str, lookups: Iterable[Lookup]) -> dict[Lookup, list[LookupMatch]]:
    tree = LexborHTMLParser(html)
    return {lookup: list(_matches(tree, lookup)) for lookup in lookups}


def _matches(tree: LexborHTMLParser, lookup: Lookup) -> Iterator[LookupMatch]:
    selector = reduced(lookup.selector)
    try:
        nodes = tree.css(selector) if selector else []
    except (SelectolaxError, UnicodeEncodeError):  # no browser finds anything by it either
        return
    for node in nodes[:1] if lookup.first else nodes:
        if lookup.styles and node.tag in _UNSHOWN:
            continue
        attributes = node.attributes
        number = attributes.get(_MARK)
        if number is not None:
            yield (
                number,
                tuple(
                    attributes.get(name, "") if name in attributes else None for name in sorted(lookup.reads)
                ),
            )
