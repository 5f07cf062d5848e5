"""JSON lines of unknown origin: one object each, of numbers, texts and sizes that can be reckoned with and written.

Ours are made so; what differs was damaged or made by somebody else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec

from harness.errors import RecordsError, UsageError
from harness.input.shown import one_line, shown
from harness.input.textfile import open_file

MAX_LINE_BYTES = 20_000_000
BUFFER_BYTES = 1 << 18  # many records
MAX_DEPTH = 20
MAX_WHOLE = 2**63  # what tables of numbers hold
# A string, or one without end, at which the parser stops; nothing is read twice.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[{\]}]")
_HALF = re.compile("[\ud800-\udfff]")
_MAYBE_TOO_LARGE = re.compile(rb"[^\d.]\d{19}")  # a whole number
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_MANY_DIGITS = b"0" * 19
_WHERE = re.compile(r"(?P<why>.*) - at `\$\.(?P<key>\w+)(?P<below>[^`]*)`", re.DOTALL)  # as msgspec tells it

Count = Annotated[int, msgspec.Meta(ge=0)]
Thing = TypeVar("Thing")


def lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """(number from 1, the line, whether it ends with a newline) of each line that is not blank.

    Of a line that is too long only the beginning is read, which `parse` then refuses, and nothing of what follows.
    """
    with open_file(path, BUFFER_BYTES) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if not line.isspace():
                yield number, line.removesuffix(b"\n"), line.endswith(b"\n")
            if len(line) > MAX_LINE_BYTES:
                return


def nothing(_: int) -> None:
    """Says nothing of a line that was cut off."""


def each(
    path: Path, make: Callable[[bytes], Thing], cut: Callable[[int], object] = nothing
) -> Iterator[tuple[int, Thing]]:
    """(number from 1, what `make` makes of it) of each line of a run's file; nothing where there is no file.

    A last line without its end is still being written, or was cut off by a kill: `cut` is told its number. RecordsError
    names a line for which `make` raises ValueError, LookupError, TypeError or UsageError.
    """
    try:
        for number, line, ended in lines(path) if path.exists() else ():
            if not ended and len(line) <= MAX_LINE_BYTES:
                cut(number)
                return
            try:
                yield number, make(line)
            except (ValueError, LookupError, TypeError, UsageError) as error:
                raise RecordsError(
                    f"{path}:{number} is damaged ({one_line(str(error))}); mend or remove that line"
                ) from error
    except OSError as error:
        raise RecordsError(f"cannot read {path}: {error.strerror}") from error


def read(path: Path) -> dict[str, Any]:
    """The object of a file; ValueError, in one line, when it is none of ours, OSError when it cannot be read."""
    with open_file(path) as file:
        return parse(file.read(MAX_LINE_BYTES + 1))


def parse(text: bytes) -> dict[str, Any]:
    """The object of a line or file; ValueError, in one line, when it is none of ours.

    Halves of characters, which JSON can hold and no file can, become the replacement character.
    """
    if len(text) > MAX_LINE_BYTES:
        raise ValueError(f"over {MAX_LINE_BYTES // 10**6} MB long")
    _refuse_depth(text)
    data = _quickly(text)
    if data is None:
        read = json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, parse_float=_finite)
        data = _whole_characters(read)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - of the text, as all others
    return data


def part(holder: Any, key: str) -> Mapping[str, Any]:
    """An object inside another one; empty where there is none, of JSON that may hold anything."""
    inner = holder.get(key) if isinstance(holder, dict) else None
    return inner if isinstance(inner, dict) else {}


def leaves(data: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Objects within each other as (dotted key, text)."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from leaves(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, str(data)


def decoded(text: bytes, decoder: msgspec.json.Decoder[Thing]) -> Thing:
    """`parse`, as a value of the decoder's type; the ValueError also says what is of another type."""
    if len(text) <= MAX_LINE_BYTES:
        try:
            return decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    data = parse(text)
    try:
        return decoder.decode(msgspec.json.encode(data))
    except msgspec.ValidationError as error:
        where = _WHERE.fullmatch(str(error))
        if where is None:
            raise
        value = data.get(where["key"])
        raise ValueError(f"{where['key']}{where['below']} is {shown(value)}: {where['why']}") from error


def _quickly(text: bytes) -> object:
    """What msgspec reads, in a fifth of the time; None for what it refuses, and for what it may not refuse."""
    # Few lines have so many digits in a row, and that is seen in a tenth of the time that the expression takes.
    if _MANY_DIGITS in text.translate(_ZEROS) and _MAYBE_TOO_LARGE.search(text):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _refuse_depth(text: bytes) -> None:
    """ValueError for what would exhaust the parser's stack, and the stack of everybody who walks over it later."""
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} brackets within each other")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; what was not observed is null")


def _whole(text: str) -> int:
    if len(text) > 20 or not -MAX_WHOLE <= (number := int(text)) < MAX_WHOLE:
        raise ValueError(f"the number {text[:30]}{'…' * (len(text) > 30)} is too large")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:30]} is too large")
    return number


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_whole_characters(inner) for inner in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(each) for key, each in value.items()}
    return value
