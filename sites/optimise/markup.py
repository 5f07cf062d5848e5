"""HTML as tokens that keep every byte: what no filter touches comes out as it went in. Pure.

Tokenisation follows the HTML standard (section 13.2.5) with the feedback of tree construction that matters to it:
raw text elements, foreign content, script data with comments inside. Scripting is on, so `noscript` is raw text.
The unit tests hold it against a conforming parser.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from html import entities

from sites.mediatype import words

SPACE = "\t\n\f\r "


RAW_ELEMENTS = words("script style xmp iframe noembed noframes noscript textarea title")
_FOREIGN = frozenset({"svg", "math"})
# Elements inside foreign content whose own content is HTML again.
_INTEGRATION = words("foreignobject desc title mi mo mn ms mtext annotation-xml")
# Start tags that end foreign content.
_BREAKOUT = words(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)


@dataclass(frozen=True)
class Attribute:
    """`source` holds the white space before it; `value` is decoded, None when there is no equals sign."""

    source: str
    name: str
    value: str | None

    @classmethod
    def of(cls, name: str, value: str | None) -> Attribute:
        """A new attribute, in double quotes."""
        if value is None:
            return cls(f" {name}", name, None)
        escaped = value.replace("&", "&amp;").replace('"', "&quot;")
        return cls(f' {name}="{escaped}"', name, value)


@dataclass(frozen=True)
class Chars:
    """Text. `within` is the raw text element it is the content of, "" for normal text."""

    source: str
    within: str = ""


@dataclass(frozen=True)
class Comment:
    """A comment in its regular form `<!-- -->`."""

    source: str

    @property
    def is_conditional(self) -> bool:
        """Whether Internet Explorer reads into it."""
        return "[if" in self.source.lower() or "[endif]" in self.source.lower()


@dataclass(frozen=True)
class Other:
    """Document type, CDATA, and everything else that is neither text nor tag: never changed."""

    source: str


@dataclass(frozen=True)
class Tag:
    """A start or end tag. `name` is in lower case; `foreign`: it stands in SVG or MathML."""

    opening: str
    name: str
    closing: bool
    attributes: tuple[Attribute, ...]
    tail: str
    foreign: bool = False

    @property
    def source(self) -> str:
        return self.opening + "".join(attribute.source for attribute in self.attributes) + self.tail

    @property
    def names(self) -> frozenset[str]:
        """The names of its attributes."""
        return frozenset(attribute.name for attribute in self.attributes)

    def get(self, name: str) -> str | None:
        """The value of an attribute: "" when it has none, None when the attribute is not there."""
        return next((attribute.value or "" for attribute in self.attributes if attribute.name == name), None)

    def with_attribute(self, name: str, value: str | None) -> Tag:
        """With the attribute set, in its place or at the end. One without value goes to the end, where nothing can run
        into its name.
        """
        if value is None and name in self.names:
            return self.without(name).with_attribute(name, value)
        if name not in self.names:
            kept = self.attributes
            if kept and not self.tail.startswith((">", *SPACE)):  # `a=b/>`: the slash is the value's
                kept = (*kept[:-1], replace(kept[-1], source=kept[-1].source + " "))
            return replace(self, attributes=(*kept, Attribute.of(name, value)))
        new = Attribute.of(name, value)
        return replace(
            self,
            attributes=tuple(new if attribute.name == name else attribute for attribute in self.attributes),
        )

    def without(self, *names: str) -> Tag:
        """Without those attributes. White space keeps the others apart from what comes to stand before them."""
        kept = [attribute for attribute in self.attributes if attribute.name not in names]
        if len(kept) == len(self.attributes):
            return self
        attributes = tuple(replace(attribute, source=_apart(attribute.source)) for attribute in kept)
        moved = kept and kept[-1] is not self.attributes[-1]
        return replace(self, attributes=attributes, tail=_apart(self.tail) if moved else self.tail)


MarkupToken = Chars | Comment | Other | Tag


def ends_a_value(following: str) -> bool:
    """Whether a value without quotes ends where this begins."""
    return following.startswith((*SPACE, ">"))


def _apart(source: str) -> str:
    return source if ends_a_value(source) else f" {source}"


def start_tag(name: str, attributes: Iterable[tuple[str, str | None]]) -> Tag:
    """A new start tag."""
    return Tag(f"<{name}", name, False, tuple(Attribute.of(key, value) for key, value in attributes), ">")


def end_tag(name: str) -> Tag:
    """A new end tag."""
    return Tag(f"</{name}", name, True, (), ">")


def source_of(tokens: Iterable[MarkupToken]) -> str:
    """The text that the tokens are."""
    return "".join(token.source for token in tokens)


@lru_cache(maxsize=16)
def parse(text: str) -> tuple[MarkupToken, ...]:
    """The tokens of a document; `source_of` gives the very text back."""
    return tuple(_Tokens(text))


_S = r"[\t\n\f\r ]"
_NAME = re.compile(r"</?([A-Za-z][^\t\n\f\r />]*)")
_ATTRIBUTE = re.compile(
    rf"(?P<source>[\t\n\f\r /]*(?P<name>=?[^\t\n\f\r />=]+|=)"
    rf"(?P<value>{_S}*={_S}*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\t\n\f\r >\"'][^\t\n\f\r >]*)"
    rf"|[\"'][\s\S]*\Z|(?=>)))?)"
)
_REFERENCE = re.compile(r"&(?:#(?:[0-9]+|[xX][0-9A-Fa-f]+);?|[A-Za-z][A-Za-z0-9]*(?:;|(=?)))")
_TAIL = re.compile(r"[\t\n\f\r /]*>")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT_MARK = re.compile(r"<!--|-->|<(/?)script(?=[\t\n\f\r />])", re.IGNORECASE)


class _Tokens:
    """One pass over a text. `_foreign` is the stack of foreign elements and integration points that are open."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._foreign: list[str] = []

    def __iter__(self) -> Iterator[MarkupToken]:
        text, position, pending = self.text, 0, 0
        while (mark := text.find("<", position)) >= 0:
            token = self._markup(mark)
            if token is None:  # a `<` that opens nothing is text
                position = mark + 1
                continue
            if mark > pending:
                yield Chars(text[pending:mark])
            yield token
            pending = position = mark + len(token.source)
            if isinstance(token, Tag) and not token.closing and not token.foreign:
                end = self._raw_end(token.name, position)
                if end > position:
                    yield Chars(text[position:end], token.name)
                    pending = position = end
        if pending < len(text):
            yield Chars(text[pending:])

    def _markup(self, mark: int) -> MarkupToken | None:
        text = self.text
        if text.startswith("<!--", mark):
            return self._comment(mark)
        if text.startswith("<![CDATA[", mark) and self._in_foreign:
            return Other(text[mark : self._after("]]>", mark)])
        if text.startswith(("<!", "<?"), mark):
            return Other(text[mark : self._after(">", mark)])
        name = _NAME.match(text, mark)
        if name is not None:
            return self._tag(mark, name)
        if text.startswith("</", mark) and mark + 2 < len(text):
            return Other(text[mark : self._after(">", mark)])
        return None

    def _comment(self, mark: int) -> MarkupToken:
        """`<!-->` and `<!--->` are comments, too, though not regular ones."""
        for short in ("<!-->", "<!--->"):
            if self.text.startswith(short, mark):
                return Other(short)
        end = _COMMENT_END.search(self.text, mark + 4)
        if end is None:
            return Other(self.text[mark:])
        return Comment(self.text[mark : end.end()])

    def _tag(self, mark: int, name: re.Match[str]) -> MarkupToken:
        text, position = self.text, name.end()
        attributes = []
        while (found := _ATTRIBUTE.match(text, position)) is not None:
            attributes.append(_attribute(found))
            position = found.end()
        tail = _TAIL.match(text, position)
        if tail is None:  # the end of the document inside a tag: a browser drops what there is
            return Other(text[mark:])
        closing = text.startswith("</", mark)
        lower = name[1].lower()
        foreign = self._enter(lower, closing, tail[0].endswith("/>"), attributes)
        return Tag(name[0], lower, closing, tuple(attributes), tail[0], foreign)

    @property
    def _in_foreign(self) -> bool:
        return bool(self._foreign) and self._foreign[-1] in _FOREIGN

    def _enter(self, name: str, closing: bool, empty: bool, attributes: list[Attribute]) -> bool:
        """Keep the stack of foreign elements; tells whether this tag itself is a foreign one."""
        if closing:
            if name in self._foreign:
                while self._foreign.pop() != name:
                    pass
                return True
            return self._in_foreign
        inside = self._in_foreign
        font = name == "font" and any(attribute.name in ("color", "face", "size") for attribute in attributes)
        if inside and (name in _BREAKOUT or font):
            while self._in_foreign:
                self._foreign.pop()
            return False
        html_again = inside and name in _INTEGRATION and _is_html(name, attributes, self._foreign[-1])
        if not empty and (name in _FOREIGN or html_again):
            self._foreign.append(name)
        return inside or name in _FOREIGN

    def _raw_end(self, name: str, position: int) -> int:
        """Where the raw text ends that begins at `position` inside an element called `name`."""
        if name == "plaintext":
            return len(self.text)
        if name not in RAW_ELEMENTS:
            return position
        if name == "script":
            return self._script_end(position)
        end = re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search(self.text, position)
        return end.start() if end else len(self.text)

    def _script_end(self, position: int) -> int:
        """Script data: within `<!--`, a `<script` hides the next `</script`."""
        escaped = hidden = False
        while (found := _SCRIPT_MARK.search(self.text, position)) is not None:
            position = found.end()
            if found[0] == "<!--":
                if not escaped:
                    position -= 2  # `<!-->` closes itself
                escaped = True
            elif found[0] == "-->":
                escaped = hidden = False
            elif not found[1]:
                hidden = escaped
            elif hidden:
                hidden = False
            else:
                return found.start()
        return len(self.text)

    def _after(self, end: str, mark: int) -> int:
        place = self.text.find(end, mark)
        return len(self.text) if place < 0 else place + len(end)


def _attribute(found: re.Match[str]) -> Attribute:
    value = None
    if found["value"] is not None:
        value = next((found[kind] for kind in ("double", "single", "bare") if found[kind] is not None), "")
        value = _REFERENCE.sub(_character, value) if "&" in value else value
    return Attribute(found["source"], found["name"].lower(), value)


def _character(found: re.Match[str]) -> str:
    """A character reference in an attribute: one without semicolon must not run on (`?a=1&copy=2` is a query)."""
    reference, after = found[0], found[1]
    if after or not (reference[1] == "#" or reference[1:] in entities.html5):
        return reference
    return html.unescape(reference)


def _is_html(name: str, attributes: list[Attribute], parent: str) -> bool:
    """Whether the content of this foreign element is HTML."""
    if name == "annotation-xml":
        encoding = next(
            (attribute.value or "" for attribute in attributes if attribute.name == "encoding"), ""
        )
        return encoding.lower() in ("text/html", "application/xhtml+xml")
    return (name in ("foreignobject", "desc", "title")) == (parent == "svg")
