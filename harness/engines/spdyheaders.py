"""Request headers of SPDY/3 as Chromium of 2012 sent them: compressed, with the dictionary that both ends know.

QtWebKit sends them at zlib's level 0 and without the dictionary (QSpdyProtocolHandler, because of the CRIME attack of
September 2012). The hop, which ends the browser's TLS for `spdy-plain`, can write them anew. Pure.
"""

from __future__ import annotations

import zlib

# The dictionary of draft 3 of SPDY, 2.6.10.1: names and values, each behind its length in four bytes, then more text.
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _counted(word: str) -> bytes:
    value = word.replace("_", " ").encode()
    return len(value).to_bytes(4) + value


DICTIONARY = b"".join(map(_counted, _WORDS.split())) + _TEXT.encode()
# Those of Chromium (net/spdy/spdy_framer.cc, kCompressorLevel and the two below it).
LEVEL, WINDOW_BITS, MEMORY_LEVEL = 9, 11, 1
HEAD_BYTES = 8  # of a frame: what it is, its flags in one byte, its length in three
SYN_STREAM = bytes((0x80, 3, 0, 1))
BEFORE_HEADERS = 10  # bytes of a SYN_STREAM: two streams, the priority, a slot


class HeaderCompressor:
    """The requests of one connection. The engine sends headers in no other frame than SYN_STREAM."""

    def __init__(self) -> None:
        self._pending = b""
        self._taken = zlib.decompressobj()
        self._given = zlib.compressobj(
            LEVEL, zlib.DEFLATED, WINDOW_BITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
        )

    def rewritten(self, data: bytes) -> bytes:
        """What of these bytes and of those before is whole frames; ValueError when headers cannot be read."""
        self._pending += data
        written = []
        while len(self._pending) >= HEAD_BYTES:
            end = HEAD_BYTES + int.from_bytes(self._pending[5:HEAD_BYTES])
            if len(self._pending) < end:
                break
            frame, self._pending = self._pending[:end], self._pending[end:]
            written.append(self._compressed(frame) if frame.startswith(SYN_STREAM) else frame)
        return b"".join(written)

    def _compressed(self, frame: bytes) -> bytes:
        fixed = frame[HEAD_BYTES : HEAD_BYTES + BEFORE_HEADERS]
        try:
            headers = self._taken.decompress(frame[HEAD_BYTES + BEFORE_HEADERS :])
        except zlib.error as error:
            raise ValueError(f"the browser sent headers of SPDY that cannot be read: {error}") from error
        body = fixed + self._given.compress(headers) + self._given.flush(zlib.Z_SYNC_FLUSH)
        return frame[:5] + len(body).to_bytes(3) + body
