"""Style sheets: as tokens, the URLs in them, their imports. Pure, over text.

The tokens keep every character, and are told apart in linear time (CSS Syntax Module Level 3, section 4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import tinycss2  # type: ignore[import-untyped, unused-ignore]  # has no types
from tinycss2.serializer import (  # type: ignore[import-untyped, unused-ignore]
    serialize_string_value,
)

from sites.optimise.page import LeftAlone
from sites.urls import resolve, same_origin

_ESCAPE = r"\\(?:[0-9A-Fa-f]{1,6}(?:\r\n|[ \t\n\r\f])?|[^\n\r\f0-9A-Fa-f])"
_NAME_CHAR = rf"(?:[\w-]|[^\x00-\x7f]|{_ESCAPE})"
_IDENT = rf"(?:--|-?(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE})){_NAME_CHAR}*+"
_NUMBER = r"[+-]?(?:\d*\.\d+|\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\n\r\f]++)
    |(?P<comment>/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)
    |(?P<string>"(?:[^"\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+"|'(?:[^'\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+')
    |(?P<url>[uU][rR][lL]\([ \t\n\r\f]*+(?:[^"'()\\ \t\n\r\f\x00-\x1f\x7f]|{_ESCAPE})++[ \t\n\r\f]*+\))
    |(?P<bad_url>[uU][rR][lL]\((?![ \t\n\r\f]*+["')])(?:[^)\\]|\\.)*+\))
    |(?P<bad>\x00|/\*.*+|[uU][rR][lL]\((?![ \t\n\r\f]*+["')]).*+
        |"(?:[^"\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+|'(?:[^'\\\n\r\f]|\\(?:\r\n|[^\r]|\r))*+)
    |(?P<cd><!--|-->)
    |(?P<number>{_NUMBER})(?P<unit>%|{_IDENT})?
    |(?P<at>@{_IDENT})
    |(?P<hash>\#{_NAME_CHAR}++)
    |(?P<function>{_IDENT}\()
    |(?P<ident>{_IDENT})
    |(?P<delim>.)
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
CLOSING = {"}": "{", ")": "(", "]": "["}
Node = Any  # tinycss2 has no types
_URL_HINT = re.compile(r"(?i)url\(|@import|image-set\(|src\(")
_CUSTOM = re.compile(r"(?i)--|initial-value|result")
_BORROWS = re.compile(r"(?i)var\(|\(\s*--|(?<![\w-])--[\w-]++\(|\\")
_BORROWED_STRING = re.compile(r"(?i)(?:image-set|src)\([^()]*var\(")
_BARE = re.compile(r"[A-Za-z0-9_./:?&=%#~+,;@!*$-]+")


class Token(NamedTuple):
    """A token: its kind, as the groups of the pattern are named, and how it is written."""

    kind: str
    text: str

    @property
    def opens(self) -> str:
        """The bracket it opens, "" if none."""
        return "(" if self.kind == "function" else self.text if self.text in ("{", "(", "[") else ""


def tokens(css: str) -> Iterator[Token]:
    """The tokens of a text; joined they are the text. `bad` is a string, comment or url() that is not closed.

    A `bad_url` is closed, but no URL: `url(var(--a)`.
    """
    for match in _TOKEN.finditer(css):
        yield Token(match.lastgroup or "", match[0])


@dataclass(frozen=True)
class Import:
    """One @import: what it imports, under which media query ("" for all)."""

    url: str
    media: str


def is_well_formed(css: str) -> bool:
    """Whether every bracket, string and comment is closed, and every rule, so that text can follow it as it stands.

    Outside of blocks a semicolon ends at-rules alone; elsewhere it begins the next rule.
    """
    opened: list[str] = []
    begun: Token | None = None  # the first token of the rule that has not ended
    for token in tokens(css):
        if token.kind in ("bad", "bad_url") or token.text == "\\":
            return False
        if begun is None and token.kind not in ("space", "comment", "cd"):
            begun = token
        if token.opens:
            opened.append(token.opens)
        elif token.text in CLOSING and (not opened or opened.pop() != CLOSING[token.text]):
            return False
        ends = token.text == "}" or (token.text == ";" and begun is not None and begun.kind == "at")
        if ends and not opened:
            begun = None
    return begun is None


def has_rule(css: str, name: str) -> bool:
    """Whether a text may hold an at-rule of this name (lower case)."""
    if f"@{name}" in css.lower():
        return True
    return (
        "@" in css and "\\" in css and any("\\" in token.text for token in tokens(css) if token.kind == "at")
    )


@lru_cache(maxsize=256)
def rebased(css: str, old_base: str, new_base: str, *, lent: bool = False) -> str | None:
    """A sheet moved from one base URL to another: its relative URLs follow. None when it cannot be read.

    LeftAlone where they cannot: `lent` says that custom properties of the page hold relative URLs.
    """
    if resolve(old_base, "x") == resolve(new_base, "x"):
        return css
    refuse_lent_urls(css, lent)
    return with_urls(css, lambda url: shortened_url(_absolute(old_base, url), new_base))


def refuse_lent_urls(css: str, lent: bool) -> None:
    """A sheet whose custom properties hold relative URLs, or that may use those of others.

    Where var() stands is what such a URL is relative to, whichever sheet it is written in. So does Chromium 156; a
    registered property of syntax <url> is relative to its own sheet.
    """
    if lends_any(css) or (lent and _BORROWS.search(css)) or _BORROWED_STRING.search(css):
        raise LeftAlone("a url() in a custom property is relative to the style sheet that uses it")


def lends_any(css: str) -> bool:
    """Whether a custom property in a text, or what may come in its place, holds a relative URL."""
    if not (_CUSTOM.search(css) and _URL_HINT.search(css)) and "\\" not in css:
        return False
    name, lending, before = "", False, ""
    for token in tokens(css):
        if token.text in (";", "}") or (token.text == "{" and not lending):
            name, lending = "", False
        elif token.text == ":" and not lending:
            lending = name.startswith("--") or name.lower() in ("initial-value", "result")
        elif token.kind == "ident" and not lending:
            name = token.text
        url = _written_url(token, before) if lending else None
        if url is not None and _is_relative(url):
            return True
        before = before if token.kind in ("space", "comment") else token.text
    return False


def _written_url(token: Token, before: str) -> str | None:
    if token.kind == "url":
        return token.text[4:-1].strip()
    within = token.kind == "string" and before.lower().endswith(("url(", "image-set(", "src("))
    return token.text[1:-1].strip() if within else None


def _is_relative(url: str) -> bool:
    """Whether its meaning depends on the base URL; what is escaped may."""
    return "\\" in url or _absolute("http://one.example/a/", url) != _absolute("http://two.example/b/", url)


def with_urls(css: str, change: Callable[[str], str]) -> str | None:
    """A sheet with every URL changed; None when it has tokens that are no CSS, or is nested beyond measure."""
    if "\\" not in css and not _URL_HINT.search(css):
        return css
    nodes = tinycss2.parse_component_value_list(css)
    try:
        changed = _change(nodes, change)
        return str(tinycss2.serialize(nodes)) if changed else css
    except (ValueError, RecursionError):
        return None


def split_imports(css: str) -> tuple[tuple[Import, ...], str] | None:
    """The imports at the head of a sheet, and the rest of it without them.

    None when an import has a condition beside media (layer, supports, scope), when another stands behind anything but
    imports, or when the sheet cannot be read. Such another is void behind a rule and valid behind an unknown at-rule,
    which is where engines differ.
    """
    if not has_rule(css, "import"):
        return (), without_charset(css)
    nodes = tinycss2.parse_component_value_list(css)
    imports: list[Import] = []
    kept: list[Node] = []
    position = 0
    while position < len(nodes):
        node = nodes[position]
        if node.type in ("whitespace", "comment"):
            kept.append(node)
            position += 1
            continue
        if node.type != "at-keyword" or node.lower_value not in ("import", "charset"):
            break
        end = next((at for at in range(position, len(nodes)) if nodes[at] == ";"), len(nodes))
        if node.lower_value == "import":
            rule = _import(nodes[position + 1 : end])
            if rule is None:
                return None
            imports.append(rule)
        position = end + 1
    if has_late_import(nodes[position:]):
        return None
    try:
        return tuple(imports), str(tinycss2.serialize(kept + nodes[position:]))
    except RecursionError:
        return None


def without_charset(css: str) -> str:
    """Without the @charset that only means something at the very head of a file."""
    return re.sub(r'\A@charset "[^"]{1,60}";\s*', "", css)


def _import(prelude: Sequence[Node]) -> Import | None:
    words = [node for node in prelude if node.type not in ("whitespace", "comment")]
    url = _url_of(words[0]) if words else None
    if url is None:
        return None
    if is_conditional(words[1:]):
        return None
    after = prelude[list(prelude).index(words[0]) + 1 :]
    return Import(url, str(tinycss2.serialize(after)).strip())


def has_late_import(nodes: Sequence[Node]) -> bool:
    """Whether an @import stands behind the head of a sheet."""
    return any(node.type == "at-keyword" and node.lower_value == "import" for node in nodes)


def is_conditional(condition: Sequence[Node]) -> bool:
    """Whether an import has a condition beside media queries: layer, supports(), scope(), or one of tomorrow."""
    names = (getattr(node, "lower_value", "") for node in condition)
    return "layer" in names or any(node.type in ("function", "{} block", "error") for node in condition)


def _url_of(node: Node) -> str | None:
    if node.type in ("url", "string"):
        return str(node.value)
    if node.type == "function" and node.lower_name == "url" and node.arguments:
        inner = next((argument for argument in node.arguments if argument.type == "string"), None)
        return None if inner is None else str(inner.value)
    return None


def _change(nodes: Sequence[Node], change: Callable[[str], str], *, strings: bool = False) -> bool:
    """ElementChange URLs in place; ValueError at a token that is no CSS. `strings`: bare strings here are URLs."""
    changed = False
    keyword = ""
    for node in nodes:
        if node.type == "error":
            raise ValueError(node.message)
        if node.type == "at-keyword":
            keyword = node.lower_value
        elif node == ";":
            keyword = ""
        elif keyword == "namespace":
            continue
        elif node.type == "url":
            changed |= _set(node, change, "url({})")
        elif node.type == "string" and (strings or keyword == "import"):
            changed |= _set(node, change, "{}")
            keyword = ""
        elif node.type == "function":
            inner = node.lower_name in ("url", "src") or node.lower_name.endswith("image-set")
            changed |= _change(node.arguments, change, strings=inner)
        elif node.type in ("{} block", "() block", "[] block"):
            changed |= _change(node.content, change)
            keyword = ""
    return changed


def _set(node: Node, change: Callable[[str], str], form: str) -> bool:
    new = change(node.value)
    if new == node.value:
        return False
    node.value = new
    quoted = f'"{serialize_string_value(new)}"'
    node.representation = form.format(new if form != "{}" and _BARE.fullmatch(new) else quoted)
    return True


def _absolute(base: str, url: str) -> str:
    """Data URLs and pure fragments stay what they are, and so does what no browser can ask for."""
    if not url.strip() or url.startswith("#") or re.match(r"(?i)[a-z][a-z0-9+.-]*:(?!//)", url):
        return url
    reference, mark, fragment = url.strip().partition("#")
    resolved = resolve(base, reference)
    # An empty query (`font.eot?#iefix`) asks for the same.
    return url if resolved is None else f"{resolved.removesuffix('?')}{mark}{fragment}"


def shortened_url(url: str, base: str) -> str:
    """An absolute URL as it may be written under `base`: without scheme and host where those are its own."""
    if not url.startswith(("http://", "https://")) or not same_origin(url, base):
        return url
    parts = urlsplit(url)
    short = url[len(parts.scheme) + 3 + len(parts.netloc) :]
    return short if short.startswith("/") and not short.startswith("//") else url


def ends_style(css: str) -> bool:
    """Whether a style sheet would end the element that it stands in."""
    return "</style" in css.lower()
