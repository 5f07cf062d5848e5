"""What style sheets do to the size of images, as far as that can be told without a browser. Pure.

A rule is taken to match an image when nothing in its selector speaks against it: the element's type, its classes and
its id are compared; what a selector asks for beside that is taken to hold. What scripts write is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import chain

import tinycss2  # type: ignore[import-untyped, unused-ignore]  # has no types

from sites.mediatype import words
from sites.optimise.markup import Tag
from sites.optimise.stylesheet import Node

MAX_DEPTH = 40
MAX_SUBJECTS = 200
MAX_ALIKE = 500  # rules that ask for one class, id or type; of more, only that is compared
# Properties that can show an image larger than its attributes say, or in other proportions.
_SIZES = words(
    "width height min-width min-height inline-size block-size min-inline-size min-block-size aspect-ratio "
    "object-fit object-view-box content all flex flex-basis flex-grow animation animation-name "
    "-webkit-animation -webkit-animation-name"
)
# Those that an image also gets from what it stands in.
_FROM_OUTSIDE = words("zoom scale transform -webkit-transform image-rendering")
_HARMLESS = re.compile(r"(?i)0(?:px)?|none|auto|fill|normal|smooth|1|100%|scale-down")
_PSEUDO_ELEMENTS = words("before after first-line first-letter")
_BY_PROPORTIONS = {
    ("height", "auto"),
    ("block-size", "auto"),
    ("aspect-ratio", "auto"),
    ("object-fit", "fill"),
    ("object-fit", "cover"),
    ("object-fit", "contain"),
    ("object-fit", "scale-down"),
}
_MAGNIFYING = re.compile(r"(?i)(?:scale[xyz3d]*|matrix(?:3d)?|perspective)\(")


class Effect(IntEnum):
    """What style sheets may do to the size of an image."""

    NONE = 0
    PROPORTIONS = 1  # the size follows the picture's own proportions
    SIZE = 2


@dataclass(frozen=True)
class _Sizing:
    """What a rule does to an image that it matches, and whether to all that stands inside what it matches."""

    own: Effect = Effect.NONE
    inside: bool = False

    def __or__(self, other: _Sizing) -> _Sizing:
        return _Sizing(max(self.own, other.own), self.inside or other.inside)


@dataclass(frozen=True)
class _Compound:
    """The part of a selector that stands for the element itself: words like `img`, `.class`, `#id`, in lower case."""

    asked: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """One of the words, the rarest kind first; "" when there is none."""
        return min(self.asked, key=lambda word: (word[0] != "#", word[0] != ".", word), default="")


_ANYTHING = _Compound()


class Sizes:
    """What all style sheets of a page together do to its images."""

    def __init__(self, sheets: Iterable[str]) -> None:
        self._sheets = sheets
        self._known: dict[tuple[str | None, ...], _Sizing] = {}

    def effect(self, image: Tag, ancestors: Iterable[Tag]) -> Effect:
        """What may be done to this image."""
        sizing = self._of(image)
        if sizing.inside or any(self._of(tag).inside for tag in ancestors):
            return Effect.SIZE
        return sizing.own

    @cached_property
    def _rules(self) -> dict[str, dict[_Compound, _Sizing]]:
        rules: dict[str, dict[_Compound, _Sizing]] = {}
        for compound, sizing in chain.from_iterable(map(_rules_of, self._sheets)):
            alike = rules.setdefault(compound.key, {})
            short = _Compound(frozenset(filter(None, [compound.key])))
            kept = compound if len(alike) < MAX_ALIKE else short
            alike[kept] = alike.get(kept, _Sizing()) | sizing
        return rules

    def _of(self, tag: Tag) -> _Sizing:
        name = (tag.name, tag.get("class"), tag.get("id"), tag.get("style"))
        if name not in self._known:
            self._known[name] = self._looked_up(tag)
        return self._known[name]

    def _looked_up(self, tag: Tag) -> _Sizing:
        has = {tag.name, *(f".{word}" for word in (tag.get("class") or "").lower().split())}
        has.add(f"#{(tag.get('id') or '').lower()}")
        sizing = _declared(_content(tag.get("style") or ""))
        for key in (*has, ""):
            for compound, each in self._rules.get(key, {}).items():
                if compound.asked <= has:
                    sizing |= each
        return sizing


def _rules_of(css: str) -> Iterator[tuple[_Compound, _Sizing]]:
    nodes = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    yield from _walked(nodes, (), 0)


def _walked(
    nodes: Sequence[Node], parents: tuple[_Compound, ...], depth: int
) -> Iterator[tuple[_Compound, _Sizing]]:
    """What changes sizes, with what is inside other rules. What is nested beyond measure matches everything."""
    if depth > MAX_DEPTH:
        yield _ANYTHING, _Sizing(Effect.SIZE, inside=True)
        return
    sizing = _declared(nodes)
    if sizing != _Sizing():
        yield from ((parent, sizing) for parent in parents)
    for node in nodes:
        if node.type in ("qualified-rule", "at-rule") and node.content is not None:
            inner = _subjects(node.prelude, parents) if node.type == "qualified-rule" else parents
            yield from _walked(_content(node.content), inner, depth + 1)


def _content(written: str | Sequence[Node]) -> Sequence[Node]:
    content: Sequence[Node] = tinycss2.parse_blocks_contents(
        written, skip_comments=True, skip_whitespace=True
    )
    return content


def _declared(nodes: Iterable[Node]) -> _Sizing:
    sizing = _Sizing()
    for node in nodes:
        if node.type == "declaration" and node.lower_name in _SIZES | _FROM_OUTSIDE:
            try:
                value = tinycss2.serialize(node.value).strip().lower()
            except RecursionError:
                value = "nested beyond measure"
            sizing |= _sizing_of(node.lower_name, value)
    return sizing


def _sizing_of(name: str, value: str) -> _Sizing:
    if name in _FROM_OUTSIDE:
        flat = "transform" in name and not _MAGNIFYING.search(value) and "var(" not in value
        return _Sizing(inside=not (flat or _HARMLESS.fullmatch(value)))
    if (name, value) in _BY_PROPORTIONS:
        return _Sizing(Effect.PROPORTIONS)
    harmless = name not in ("width", "inline-size", "content", "object-fit") and _HARMLESS.fullmatch(value)
    return _Sizing() if harmless else _Sizing(Effect.SIZE)


def _subjects(prelude: Sequence[Node], parents: tuple[_Compound, ...]) -> tuple[_Compound, ...]:
    """What the selectors of a rule stand for; those of pseudo-elements stand for no image."""
    subjects: set[_Compound] = set()
    selector: list[Node] = []
    for node in [*prelude, ","]:
        if node == ",":
            subjects.update(_subject(selector, parents))
            selector = []
        else:
            selector.append(node)
    return tuple(subjects) if len(subjects) <= MAX_SUBJECTS else (_ANYTHING,)


def _subject(selector: list[Node], parents: tuple[_Compound, ...]) -> Iterator[_Compound]:
    while selector and selector[-1].type == "whitespace":
        selector.pop()
    asked: set[str] = set()
    nested, before = False, ""
    for node in selector:
        value = str(getattr(node, "value", "")).lower()
        if node.type == "whitespace" or (node.type == "literal" and value in (">", "+", "~", "|")):
            asked, nested = set(), False
        elif node.type == "ident" and (before == "::" or (before == ":" and value in _PSEUDO_ELEMENTS)):
            return
        elif node.type == "ident" and before != ":":
            asked.add(f".{value}" if before == "." else value)
        elif node.type == "hash":
            asked.add(f"#{value}")
        nested = nested or node == "&"
        before = before + value if node.type == "literal" and before + value == "::" else value
    own = _Compound(frozenset(asked))
    yield from (_Compound(own.asked | parent.asked) for parent in parents) if nested else (own,)
