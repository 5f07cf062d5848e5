"""React's Flight, the stream of rows in which Next.js sends the content of a page to its scripts. Pure.

A row is `<id>:<JSON>` up to the end of the line, or `<id>:T<length>,<text>`: a long text with its length in bytes of
UTF-8 (hexadecimal) and nothing behind it. With another length the browser reads on into the next row, and the page's
scripts fail. Other letters than T stand for binary data, likewise with a length.

The stream is a body of its own, or documents hold it in strings of scripts, which may end anywhere within a row:
`self.__next_f.push([1,"..."])`, and `(self.__FLIGHT_DATA||=[]).push("...")` of rsc-html-stream.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

# One change of a body: from where to where, and what is to stand there. Lists of them are in the order of the body.
TextEdit = tuple[int, int, bytes]

_STRING = re.compile(
    rb'(?s)__(?:next_f\.push\(\[([13]),|FLIGHT_DATA\|\|=\[\]\)\.push\()"((?:[^"\\]++|\\.)*+)(?=")'
)
_BINARY = b"3"  # data in base64, with which no more of the stream is read here
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # of surrogates: one character
_PIECE = re.compile(rb"(?s)([^\\]*+)(" + _PAIR + rb"|\\u[0-9a-fA-F]{4}|\\.|\Z)")
_CONTROLS = bytes.maketrans(b"bfnrtv", b"\b\f\n\r\t\v")
_ROW = re.compile(rb"[0-9a-f]{0,16}:(?:[A-Za-z]([0-9a-f]{1,8}),)?")


def with_lengths(body: bytes, edits: list[TextEdit]) -> list[TextEdit]:
    """These changes of a body, and those of the lengths of the texts that they change."""
    lengths: list[TextEdit] = []
    for row in _edited_rows(body, edits):
        change = sum(len(new) - (end - start) for start, end, new in row.edits)
        if change:
            first, *others = row.digits  # of which a string's end may be in the middle
            lengths.append((first, first + 1, b"%x" % (row.length + change)))
            lengths += ((digit, digit + 1, b"") for digit in others)
    return sorted(edits + lengths) if lengths else edits


def outside_texts(body: bytes, edits: list[TextEdit]) -> list[TextEdit]:
    """These changes of a body without those of texts that have a length."""
    inside = {edit for row in _edited_rows(body, edits) for edit in row.edits}
    return [edit for edit in edits if edit not in inside] if inside else edits


@dataclass(frozen=True)
class _Row:
    """A row with a length, the places of its digits in the body, and the edits of its text."""

    length: int
    digits: Sequence[int]
    edits: Sequence[TextEdit]


@dataclass(frozen=True)
class _FlightStream:
    """A stream as the browser reads it. `strings` are where it stands in the body, from where to where.

    It is made of pieces: the bytes of one are those of the body, but for an escape at its end. `at` is where pieces
    begin in the stream, `places` where they do in the body.
    """

    content: bytes
    strings: Sequence[tuple[int, int]]
    at: Sequence[int]
    places: Sequence[int]

    def place(self, at: int) -> int:
        """Where in the body a character of the stream begins."""
        piece = bisect_right(self.at, at) - 1
        return self.places[piece] + at - self.at[piece]

    def located(self, edits: list[TextEdit]) -> Iterator[tuple[int, TextEdit]]:
        """The edits of the stream, each with its place there."""
        number = 0
        for edit in edits:
            while number < len(self.strings) and edit[0] >= self.strings[number][1]:
                number += 1
            if number == len(self.strings):
                return
            if edit[0] >= self.strings[number][0]:
                piece = bisect_right(self.places, edit[0]) - 1
                yield self.at[piece] + edit[0] - self.places[piece], edit


def _edited_rows(body: bytes, edits: list[TextEdit]) -> Iterator[_Row]:
    """The rows with a length that edits change, as far as the stream can be read."""
    if not edits:
        return
    stream = _stream(body)
    located = stream.located(edits)
    edit = next(located, None)
    at = 0
    while edit and (row := _ROW.match(stream.content, at)):
        if row[1] is None:
            at = stream.content.find(b"\n", row.end()) + 1
            if not at:
                return
            continue
        length = int(row[1], 16)
        at = row.end() + length
        if at > len(stream.content):
            return
        inside: list[TextEdit] = []
        while edit and edit[0] < at:
            if edit[0] >= row.end():
                inside.append(edit[1])
            edit = next(located, None)
        if inside:
            yield _Row(length, [stream.place(digit) for digit in range(*row.span(1))], inside)


def _stream(body: bytes) -> _FlightStream:
    found = takewhile(lambda string: string[1] != _BINARY, _STRING.finditer(body))
    strings = [string.span(2) for string in found]
    if not strings:
        return _FlightStream(body, [(0, len(body))], [0], [0])
    content, at, places = bytearray(), array("q"), array("q")
    for start, end in strings:
        for piece in _PIECE.finditer(body, start, end):
            at.append(len(content))
            places.append(piece.start())
            content += piece[1]
            content += _unescaped(piece[2])
    return _FlightStream(bytes(content), strings, at, places)


def _unescaped(escape: bytes) -> bytes:
    """The character of an escape, which is none at the end of a string. A lone surrogate takes three bytes."""
    if len(escape) <= 2:
        return escape[1:].translate(_CONTROLS)
    character = bytes.fromhex(escape.replace(b"\\u", b"").decode())
    return character.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")
