"""Style sheets without white space, comments and zeros that no engine reads; every other token stays as it is written.

What is not understood (an at-rule of tomorrow, a filter of Internet Explorer) stays as a whole, and all around it is
minified. Time and memory are linear in the length of the sheet. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from sites.mediatype import words
from sites.optimise.stylesheet import CLOSING, Token, tokens

# At-rules by what their block holds. What stands in none of them is not looked into.
_GROUPS = frozenset({"media", "supports", "layer", "container", "scope", "starting-style", "document"})
_DESCRIPTORS = words("font-face property page counter-style font-palette-values view-transition position-try")
_KNOWN_BLOCKS = _GROUPS | _DESCRIPTORS | {"keyframes"}
_STATEMENTS = frozenset({"import", "layer", "namespace"})
_FEATURES = frozenset({"media", "supports", "container"})  # whose prelude holds `(name: value)`
_TOP, _KEYFRAMES, _BLOCK = "top", "keyframes", "block"
_VENDOR = re.compile(r"\A-[a-z]+-")

_COMBINATORS = frozenset(">~+")
_COMPARED = frozenset("<>=")
_NUMBER = re.compile(r"([+-]?)0*+([0-9]*+)\.([0-9]*[1-9])0*+(%|[A-Za-z]*+)")
_SELECTOR_KINDS = frozenset({"ident", "hash", "function", "string", "space", "comment"})
_SELECTOR_DELIMS = frozenset(".:*&|,>~+[]()=^$")
Tight = Callable[[Token, Token, Sequence[str]], bool]


def minified(css: str) -> str | None:
    """The sheet in fewer characters. None where a string, a comment, an address or a bracket is not closed."""
    return _Minifier().of(css) if _is_closed(css) else None


def _is_closed(css: str) -> bool:
    """Whether everything that opens is closed. A closing bracket that was never open is a character like others."""
    opened: list[str] = []
    for token in tokens(css):
        if token.kind == "bad" or token.text == "\\":  # would escape what comes to stand behind it
            return False
        _follow(opened, token)
    return not opened


def _follow(opened: list[str], token: Token) -> None:
    """Keep account of the brackets, and functions by name, that are open after a token."""
    if token.opens:
        opened.append(token.text.lower())
    elif token.text in CLOSING and opened and opened[-1].endswith(CLOSING[token.text]):
        opened.pop()


class _Minifier:
    """One pass over the tokens of a sheet: statements are gathered, and written when they end."""

    def __init__(self) -> None:
        self._out: list[str] = []
        self._blocks: list[str] = [_TOP]
        self._statement: list[Token] = []
        self._within: list[str] = []  # brackets that are open within the statement

    def of(self, css: str) -> str:
        for token in tokens(css):
            self._take(token)
        self._end("")
        short = "".join(self._out)
        # A @charset that was not the first thing of the file must not become it.
        moved = short[:8].lower() == "@charset" and css[:8].lower() != "@charset"
        return f" {short}" if moved else short

    def _take(self, token: Token) -> None:
        if self._within:
            self._gather(token)
            if not self._within and token.text == "}" and _at_name(self._statement):
                self._end("")
        elif token.text == "{" and not self._is_custom_property():
            self._open(token)
        elif token.text == ";":
            self._end(";")
        elif token.text == "}" and len(self._blocks) > 1:
            self._close()
        elif token.kind in ("space", "comment", "cd") and not self._statement:
            if token.kind == "cd" or token.text.startswith("/*!"):
                self._out.append(token.text)
        else:
            self._gather(token)

    def _gather(self, token: Token) -> None:
        self._statement.append(token)
        _follow(self._within, token)

    def _is_custom_property(self) -> bool:
        """Whether braces belong to a value: `--name: {...}`."""
        written = (token.text for token in self._statement if token.kind not in ("space", "comment"))
        name, colon = next(written, ""), next(written, "")
        return self._blocks[-1] != _TOP and name.startswith("--") and colon == ":"

    def _open(self, brace: Token) -> None:
        name = _at_name(self._statement)
        kind = _VENDOR.sub("", name)
        if name and kind not in _KNOWN_BLOCKS:
            self._gather(brace)
            return
        if name:
            tight = _tight_in_feature if kind in _FEATURES else _tight_in_value
            prelude = _squeezed(self._statement, _tight_in_selector if kind == "scope" else tight)
        elif self._blocks[-1] == _KEYFRAMES:
            prelude = _squeezed(self._statement, _tight_in_value)
        else:
            prelude = _selectors(self._statement)
        self._out += [prelude, "{"]
        self._blocks.append(_KEYFRAMES if kind == "keyframes" else _BLOCK)
        self._statement = []

    def _close(self) -> None:
        self._end("")
        if self._out[-1] == ";":
            self._out.pop()
        self._out.append("}")
        self._blocks.pop()

    def _end(self, mark: str) -> None:
        """At a semicolon, or at the end of a block. Outside of blocks a semicolon ends nothing but at-rules."""
        statement, self._statement = self._statement, []
        name = _at_name(statement)
        if name in _STATEMENTS:
            self._out.append(_squeezed(statement, _tight_in_value) + mark)
        elif name or self._blocks[-1] == _TOP:
            self._out.append(_as_written(statement) + mark)
        elif statement:
            self._out += [_declaration(statement), mark]


def _at_name(statement: Sequence[Token]) -> str:
    """The name of an at-rule in lower case; "" for what is none."""
    return statement[0].text[1:].lower() if statement and statement[0].kind == "at" else ""


def _as_written(statement: Iterable[Token]) -> str:
    return "".join(token.text for token in statement).strip(" \t\n\r\f")


def _declaration(statement: Sequence[Token]) -> str:
    colon = next((at for at, token in enumerate(statement) if token.text == ":"), None)
    if colon is None:
        return _as_written(statement)
    name, value = _squeezed(statement[:colon], _never), statement[colon + 1 :]
    if name.startswith("--") or name.lower() == "initial-value":
        return f"{name}:{_squeezed(value, _never, comments=True) or ' ' * bool(value)}"  # empty is not none
    if not _is_plain(value):
        return f"{name}:{_as_written(value)}"
    return f"{name}:{_squeezed(map(_without_zeros, value), _tight_in_value)}"


def _is_plain(value: Iterable[Token]) -> bool:
    """Whether a value is in CSS alone: not a filter or an expression of Internet Explorer."""
    return not any(
        token.text in ("=", ":", "{", "@", "\\") or token.text.lower() == "expression(" for token in value
    )


def _selectors(statement: Sequence[Token]) -> str:
    """The selectors of a rule, as they are written when they hold anything that selectors do not."""
    opened: list[str] = []
    for token in statement:
        if not opened and token.kind not in _SELECTOR_KINDS and token.text not in _SELECTOR_DELIMS:
            return _as_written(statement)
        _follow(opened, token)
    return _squeezed(statement, _tight_in_selector)


def _without_zeros(token: Token) -> Token:
    """`0.50` as `.5`. `1.0` stays: it is no integer, which `1` is."""
    number = _NUMBER.fullmatch(token.text) if token.kind in ("number", "unit") else None
    return Token(token.kind, f"{number[1]}{number[2]}.{number[3]}{number[4]}") if number else token


def _squeezed(statement: Iterable[Token], tight: Tight, *, comments: bool = False) -> str:
    """Tokens with the white space between them that is needed. `comments`: they stay, as all else does."""
    out: list[str] = []
    opened: list[str] = []
    last: Token | None = None
    space = comment = False
    for token in statement:
        if token.kind == "space":
            space = True
            continue
        if token.kind == "comment" and not comments and not token.text.startswith("/*!"):
            comment = True
            continue
        if last is not None:
            if space and (last.text == "--" or not tight(last, token, opened)):  # `-- >` is no `-->`
                out.append(" ")
            elif comment and not space:
                out.append("/**/")  # keeps apart what it kept apart
        _follow(opened, token)
        out.append(token.text)
        last, space, comment = token, False, False
    return "".join(out)


def _never(_one: Token, _other: Token, _opened: Sequence[str]) -> bool:
    return False


def _tight_in_value(one: Token, other: Token, opened: Sequence[str]) -> bool:
    """Whether no white space is needed between two tokens of a value, or of a selector inside `selector()`."""
    if "selector(" in opened:
        return _tight_in_selector(one, other, opened)
    if one.text == "," and other.text == ")":
        return False  # an empty fallback of var()
    if one.opens or other.text in CLOSING or "," in (one.text, other.text) or "!" in (one.text, other.text):
        return True
    divided = "/" in (one.text, other.text) or "*" in (one.text, other.text)
    return divided and not {one.text, other.text} <= {"/", "*"} and "comment" not in (one.kind, other.kind)


def _tight_in_feature(one: Token, other: Token, opened: Sequence[str]) -> bool:
    """Also around the colon of `(name: value)` and the signs of `(width >= 1px)`."""
    if opened and opened[-1] in ("(", "style("):
        if one.text == ":" and other.text == ")":
            return False  # an empty custom property
        if ":" in (one.text, other.text):
            return True
        compared = one.text in _COMPARED, other.text in _COMPARED
        if any(compared):
            return not all(compared)
    return _tight_in_value(one, other, opened)


def _tight_in_selector(one: Token, other: Token, opened: Sequence[str]) -> bool:
    """Whether white space between two tokens of a selector is none that stands for a descendant."""
    if "=" in (one.text, other.text) and one.kind == other.kind == "delim":
        return False  # `~ =` is no `~=`
    if opened and opened[-1] == "[":
        return not (one.kind == other.kind == "ident")
    if one.opens == "(" or other.text == ")" or "," in (one.text, other.text):
        return True
    counted = opened and "nth-" in opened[-1]  # `2n + 1`
    number = other.kind in ("number", "unit")
    return not counted and not number and (one.text in _COMBINATORS or other.text in _COMBINATORS)
