"""Request headers of SPDY, rewritten on their way: what a server reads of them, and how much smaller they are. And who
does not speak SOCKS.
"""

from __future__ import annotations

import asyncio
import contextlib
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

from harness.engines.hop import DICTIONARY, LOOPBACK, SYN_STREAM, HeaderCompressor, Hop

DICTIONARY_ID = 0xE3C6A7C2  # Adler-32 of the dictionary of SPDY/3
FIXED = bytes(10)
PING = b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"
DATA = b"\x00\x00\x00\x01\x01\x00\x00\x05hello"


def header(path: str) -> bytes:
    words = {":method": "GET", ":path": path, ":host": "site.example", "user-agent": "Mozilla/5.0 (X11)" * 8}
    pairs = [len(text).to_bytes(4) + text.encode() for pair in words.items() for text in pair]
    return len(words).to_bytes(4) + b"".join(pairs)


def sent(headers: Sequence[bytes]) -> list[bytes]:
    """SYN_STREAM frames as QtWebKit writes them: zlib's level 0, no dictionary, one stream for all."""
    stream = zlib.compressobj(0)
    bodies = [FIXED + stream.compress(each) + stream.flush(zlib.Z_SYNC_FLUSH) for each in headers]
    return [SYN_STREAM + b"\x01" + len(body).to_bytes(3) + body for body in bodies]


def read(frames: bytes) -> tuple[list[bytes], list[bytes]]:
    """The headers of the SYN_STREAM frames as a server reads them, and all other frames."""
    stream, headers, others = zlib.decompressobj(zdict=DICTIONARY), [], []
    while frames:
        end = 8 + int.from_bytes(frames[5:8])
        frame, frames = frames[:end], frames[end:]
        if frame.startswith(SYN_STREAM):
            assert frame[4:5] == b"\x01"
            assert frame[8:18] == FIXED
            headers.append(stream.decompress(frame[18:]))
        else:
            others.append(frame)
    return headers, others


def test_the_dictionary_is_that_of_spdy_3() -> None:
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == DICTIONARY_ID


@pytest.mark.parametrize("cut", [1, 7, 100, 100_000])
def test_headers_arrive_as_they_were_sent_wherever_the_bytes_are_cut(cut: int) -> None:
    headers = [header(f"/{number}.png") for number in range(30)]
    frames = sent(headers)
    whole = b"".join((frames[0], PING, *frames[1:], DATA))
    compressor = HeaderCompressor()
    parts = [compressor.rewritten(whole[at : at + cut]) for at in range(0, len(whole), cut)]
    assert read(b"".join(parts)) == (headers, [PING, DATA])
    assert len(b"".join(parts)) < len(whole) / 4


def test_a_frame_waits_until_it_is_whole() -> None:
    (frame,) = sent([header("/")])
    compressor = HeaderCompressor()
    assert compressor.rewritten(frame[:-1]) == b""
    assert read(compressor.rewritten(frame[-1:])) == ([header("/")], [])


def test_headers_that_cannot_be_read_are_named() -> None:
    frame = SYN_STREAM + b"\x01" + (13).to_bytes(3) + FIXED + b"abc"
    with pytest.raises(ValueError, match="headers of SPDY that cannot be read"):
        HeaderCompressor().rewritten(frame)


@pytest.mark.parametrize("request_", [b"GET / HTTP/1.1\r\n" + bytes(100), b"\x16\x03\x01" + bytes(100)])
def test_what_is_no_socks_gets_no_answer(request_: bytes) -> None:
    """To Firefox a byte would be an answer: HTTP of before 1.0 has no head."""
    told: list[dict[str, Any]] = []

    async def answer() -> bytes:
        server = await asyncio.start_server(Hop(told.append).serve, LOOPBACK, 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(request_)
            read = b""
            with contextlib.suppress(ConnectionResetError):
                read = await reader.read()
            writer.close()
            return read

    assert asyncio.run(answer()) == b""
    assert [each["ended"].partition(":")[0] for each in told] == ["no SOCKS"]
