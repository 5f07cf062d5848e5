"""JSON of unknown origin: what is quick reads the same as what is careful, and refuses no less."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.errors import RecordsError
from harness.input import jsontext

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=20)  # halves of characters, too
NUMBERS = st.integers(-(2**70), 2**70) | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def carefully(text: bytes) -> dict[str, Any] | None:
    """The object as Python's own parser reads it, under the rules of `jsontext.parse`; None for one it refuses."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return jsontext._whole_characters(data) if isinstance(data, dict) and _is_sound(data) else None


def _is_sound(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return -jsontext.MAX_WHOLE <= value < jsontext.MAX_WHOLE
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(_is_sound, inner))


def same(text: bytes) -> None:
    expected = carefully(text)
    if expected is None:
        with pytest.raises(ValueError):  # noqa: PT011 - for whatever reason
            jsontext.parse(text)
    else:
        found = jsontext.parse(text)
        assert repr(found) == repr(expected)  # 1 is not 1.0, nor is -0.0 0.0


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans())
def test_any_object_is_read_as_the_careful_parser_reads_it(data: dict[str, Any], plain: bool) -> None:
    same(json.dumps(data, ensure_ascii=plain).encode(errors="surrogatepass"))


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example("9223372036854775807")
@example("9223372036854775808")
@example("-9223372036854775808")
@example("-9223372036854775809")
@example("18446744073709551615")
@example("18446744073709551616")
@example("0.00012345678901234567")
@example("1e400")
@example("-0")
@example("100000000000000000000e-30")
def test_any_number_is_read_as_the_careful_parser_reads_it(number: str) -> None:
    for text in (f'{{"a":{number}}}', f'{{"a": [{number} , 1]}}'):
        same(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1} x',
        b'{"a": 01}',
        b'{"a": 1, "a": 2}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b'{"a": "\x01"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a"',
        b"[]",
        b"1",
        b"",
    ],
)
def test_damage_is_refused_or_read_as_the_careful_parser_reads_it(text: bytes) -> None:
    try:
        same(text)
    except UnicodeDecodeError as error:
        pytest.fail(f"Python's own error came through: {error}")


def test_brackets_are_counted_before_a_parser_works() -> None:
    deep = jsontext.MAX_DEPTH
    same(b'{"a":' * deep + b"1" + b"}" * deep)
    with pytest.raises(ValueError, match="more than 20 brackets within each other"):
        jsontext.parse(b'{"a":' * (deep + 1) + b"1" + b"}" * (deep + 1))
    same(b'{"a": "' + b"[" * 1000 + b'"}')  # in a text they are text
    same(b'{"a": [' + b"[]," * 1000 + b"1]}")


def test_lines_are_numbered_and_a_cut_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"a": 1}\n\n  \n{"a": 2}\n{"a"')
    assert [*jsontext.lines(path)] == [(1, b'{"a": 1}', True), (4, b'{"a": 2}', True), (5, b'{"a"', False)]


def test_of_a_line_that_is_too_long_the_beginning_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsontext, "MAX_LINE_BYTES", 10)
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 12345678901234567890}\n{"a": 3}\n')
    (_, first, _), (number, second, ended) = jsontext.lines(path)
    assert (jsontext.parse(first), number, ended) == ({"a": 1}, 2, False)
    with pytest.raises(ValueError, match="long"):
        jsontext.parse(second)


class Typed(msgspec.Struct):
    name: str = "none"
    number: int | None = None
    below: dict[str, int] = {}  # msgspec copies it


TYPED = msgspec.json.Decoder(Typed)


def test_a_line_that_is_not_ended_is_told_and_a_missing_file_has_none(tmp_path: Path) -> None:
    path, cut = tmp_path / "lines", list[int]()
    assert list(jsontext.each(tmp_path / "none", jsontext.parse)) == []
    path.write_text('{"a": 1}\n\n{"a": 2}\n{"a"')
    assert list(jsontext.each(path, jsontext.parse, cut.append)) == [(1, {"a": 1}), (3, {"a": 2})]
    assert cut == [4]


@pytest.mark.parametrize("line", ["x", "[]", '{"a": {}}', "{}", '{"a": "no number"}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "lines").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(RecordsError, match=r"lines:2 is damaged \(.*\); mend or remove that line"):
        list(jsontext.each(tmp_path / "lines", lambda text: int(jsontext.parse(text)["a"])))


def test_a_type_is_read_as_it_is_and_half_characters_are_replaced() -> None:
    assert jsontext.decoded(b'{"name": "a", "number": 2, "more": []}', TYPED) == Typed("a", 2)
    assert jsontext.decoded(rb'{"name": "\ud800"}', TYPED).name == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"name": 3}', "name is 3: Expected `str`"),
        (b'{"number": true}', "number is True: Expected `int | null`"),
        (b'{"number": 1e400}', "is too large"),
        (b'{"number": NaN}', "NaN is not JSON"),
        (b'{"below": {"a": "b"}}', "below"),
        (b'{"more": ' + b"[" * 10**5, "more than 20 brackets"),
        (b"[]", "not a JSON object"),
        (b'{"name": "' + b"x" * 20_000_000 + b'"}', "over 20 MB long"),
    ],
)
def test_what_is_of_another_type_is_one_line(text: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        jsontext.decoded(text, TYPED)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
