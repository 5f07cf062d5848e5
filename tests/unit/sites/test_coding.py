"""Bodies are decoded as browsers decode them, and encoded the same way every time."""

from __future__ import annotations

import gzip
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sites.coding import TooLargeError, coding_of, decode, encode, is_coded, level_of
from tests.unit.sites.prose import prose

EMPTY = {"br": b";"}  # as brotli writes that there is nothing
CODINGS = ("", "gzip", "deflate", "br", "zstd")


@given(st.binary(max_size=3000), st.sampled_from(CODINGS))
def test_what_is_encoded_decodes_to_itself(body: bytes, coding: str) -> None:
    coded = encode(body, coding)
    assert decode(coded, coding) == body
    assert encode(body, coding) == coded


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_cut_short_is_not_decoded_in_part(coding: str) -> None:
    coded = encode(bytes(range(256)) * 50, coding)
    with pytest.raises(ValueError, match="body is not"):
        decode(coded[:-5], coding)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_would_fill_the_machine_is_not_decoded(coding: str) -> None:
    coded = encode(bytes(3_000_000), coding)
    assert len(coded) < 5000
    with pytest.raises(TooLargeError, match="more than 2,999,999 bytes"):
        decode(coded, coding, 2_999_999)
    assert len(decode(coded, coding, 3_000_000)) == 3_000_000


def test_members_and_frames_add_up() -> None:
    part = bytes(2000)
    for coding in ("gzip", "zstd"):
        with pytest.raises(TooLargeError):
            decode(encode(part, coding) * 3, coding, 5999)
        assert decode(encode(part, coding) * 3, coding) == bytes(6000)


def test_gzip_in_members_and_deflate_without_header() -> None:
    assert decode(gzip.compress(b"a") + gzip.compress(b"b"), "gzip") == b"ab"
    noise = random.Random(1).randbytes(3000)  # noqa: S311
    assert (
        decode(gzip.compress(noise) + gzip.compress(b"b") + b"what no decoder reads", "gzip") == noise + b"b"
    )
    assert decode(gzip.compress(b"") * 50_000, "gzip") == b""  # each as quickly as the last
    raw = zlib.compressobj(wbits=-15)
    assert decode(raw.compress(b"abc") + raw.flush(), "deflate") == b"abc"


def test_gzip_carries_no_time() -> None:
    assert encode(b"x", "gzip")[4:8] == bytes(4)


TRIED = {
    "gzip": (1, 2, 3, 4, 5, 6, 9),
    "deflate": (1, 2, 3, 4, 5, 6, 9),
    "br": (1, 4, 5, 9, 11),
    "zstd": (1, 3, 6, 9, 19),
}
ALL = {"gzip": range(1, 10), "deflate": range(1, 10), "br": range(12), "zstd": range(1, 20)}


@pytest.mark.parametrize("coding", TRIED)
def test_the_coded_size_tells_the_level(coding: str) -> None:
    text = prose()
    sizes = {level: len(encode(text, coding, level)) for level in ALL[coding]}
    assert [level_of(text, coding, sizes[level]) for level in TRIED[coding]] == list(TRIED[coding])
    for size in sizes.values():  # of a level that is not tried, the nearest one
        chosen = level_of(text, coding, size)
        assert chosen is not None
        assert abs(sizes[chosen] - size) <= 20 + min(abs(sizes[level] - size) for level in TRIED[coding])


def test_the_usual_level_stays_where_the_size_tells_no_other() -> None:
    assert encode(prose(), "br") == encode(prose(), "br", 5)
    assert [level_of(prose(), coding, 100) for coding in ("", "?")] == [None, None]
    assert [level_of(prose(), coding, len(prose())) for coding in TRIED] == [None] * 4
    short = prose(60)
    named = len(encode(short, "gzip")) + len("screen.css") + 1  # the header names the file
    assert level_of(short, "gzip", named) == 6
    assert [level_of(prose() * times, "br", 100) for times in (1, 150)] == [11, 5]  # that would take too long


def test_names_of_codings() -> None:
    assert [coding_of(name) for name in (None, " GZIP ", "x-gzip", "identity")] == ["", "gzip", "gzip", ""]
    assert [coding_of(name) for name in ("UTF-8", "none", "gzip, identity", "gzip,", ";")] == [""] * 5
    assert coding_of("GZIP , x-gzip") == "gzip, gzip"  # browsers undo both; served as recorded
    with pytest.raises(ValueError, match="not known"):
        decode(b"x", "compress")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_was_cut_short_is_coded_all_the_same(coding: str) -> None:
    body = b"".join(b"word%d, " % (number * number % 977) for number in range(9000))
    coded = encode(body, coding, 11 if coding == "br" else None)
    for length in (300, 1000, len(coded) // 2, len(coded) - 1, len(coded)):
        assert is_coded(coded[:length], coding), length
    assert is_coded(coded[:5], coding, cut=True)
    raw = zlib.compressobj(wbits=-15)
    assert is_coded((raw.compress(body) + raw.flush())[:5000], "deflate")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("cut", [True, False])
def test_text_is_not_coded_whatever_it_begins_with(coding: str, *, cut: bool) -> None:
    words = ("html>", "et x = 1;", "supports (x: y) {}", "bc", "function f() {}", "é")
    texts = [chr(first) + word for first in range(0x20, 0x7F) for word in words] + ["\n\t{}"]
    for text in texts:
        if text.encode() != EMPTY.get(coding):
            assert not is_coded(text.encode(), coding, cut=cut), text
            assert not is_coded((text * 50).encode(), coding, cut=cut), text
