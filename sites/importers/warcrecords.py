"""The records of a WARC file, plain or gzip-compressed, and the heads and bodies of HTTP in them.

warcio parses them. What it takes for the end of a file that is cut short, or prints to the terminal, is an error here.
"""

from __future__ import annotations

import gzip
import http.client
import logging
import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any

# warcio has no types.
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped, unused-ignore]
from warcio.bufferedreaders import DecompressingBufferedReader  # type: ignore[import-untyped, unused-ignore]
from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped, unused-ignore]
from warcio.statusandheaders import (  # type: ignore[import-untyped, unused-ignore]
    StatusAndHeaders,
    StatusAndHeadersParser,
)

from harness.errors import ArchiveError
from sites.importers.recording import why

GZIP_MAGIC = b"\x1f\x8b"
LINE_LIMIT_BYTES = 1_000_000
_CHUNKED = re.compile(rb"[0-9A-Fa-f]{1,8}[ \t]*(;[^\r\n]*)?\r\n")


logging.getLogger("warcio").setLevel(logging.ERROR)  # its warnings are not for the user


def records(file: IO[bytes]) -> Iterator[Any]:
    """The records, each to be read before the next; ArchiveError when the file is no WARC or is damaged."""
    source = _Source(file)
    iterator = _Iterator(source, no_record_parse=True)
    # Unlike warcio's own, this reader does not gather a line without end.
    iterator.reader = _Reader(source, decomp_type=None)
    number = 0
    try:
        for record in iterator:
            number += 1
            if not isinstance(record.length, int) or iterator.known_format != "warc":
                raise _damaged(
                    number, "it has no length" if iterator.known_format == "warc" else "it is no WARC"
                )
            yield record
            iterator.read_to_end()
            if record.raw_stream.limit > 0:
                raise _damaged(number, "the file ends within it")
            if iterator.err_count:
                raise _damaged(number, "it is longer than it says")
    except (ArchiveLoadFailed, AttributeError, EOFError, LookupError, TypeError, ValueError) as error:
        raise _damaged(number + 1, why(error)) from error
    if number == 0:
        raise ArchiveError("it holds no record; give a WARC file, plain or gzip-compressed")
    if iterator.offset != source.count:
        raise _damaged(number + 1, "the file ends within it")


def _damaged(number: int, found: str) -> ArchiveError:
    return ArchiveError(f"it is damaged or cut short at record {number}: {found}; fetch or record it again")


class _Iterator(ArchiveIterator):  # type: ignore[misc, unused-ignore]
    """warcio's iterator without its messages to the terminal; `err_count` tells."""

    INC_RECORD = ""


class _Reader(DecompressingBufferedReader):  # type: ignore[misc, unused-ignore]
    def readline(self, length: int | None = None) -> bytes:
        line: bytes = super().readline(length or LINE_LIMIT_BYTES)
        return line


class _Source:
    """The bytes of a WARC, decompressed and counted. All gzip members are read, however records lie in them."""

    def __init__(self, file: IO[bytes]) -> None:
        start = file.read(2)
        file.seek(0)
        self._file = gzip.GzipFile(fileobj=file) if start == GZIP_MAGIC else file
        self.count = 0

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, OSError, zlib.error) as error:
            damage = "ends too early" if isinstance(error, EOFError) else f"is damaged ({error})"
            raise ArchiveError(f"its gzip compression {damage}; fetch or record it again") from error
        self.count += len(data)
        return data

    def tell(self) -> int:
        return self.count


class _HeadParser(StatusAndHeadersParser):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def decode_header(line: bytes) -> str:
        """As warcio does it, but a Location keeps the bytes that are no UTF-8: a browser asks for them."""
        if line.partition(b":")[0].strip().lower() == b"location":
            return line.decode("utf-8", "surrogateescape")
        text: str = StatusAndHeadersParser.decode_header(line)
        return text


def http_head(payload: IO[bytes]) -> StatusAndHeaders | None:
    """Start line and headers; None when there are none."""
    try:
        head = _HeadParser([], verify=False).parse(payload)
    except EOFError:
        return None
    return head if head.statusline else None


def final_head(payload: IO[bytes]) -> tuple[StatusAndHeaders | None, int]:
    """The head of a response and how many interim ones (`103 Early Hints`) were passed over to come to it.

    None when they do not end within `LINE_LIMIT_BYTES`.
    """
    heads = BytesIO(payload.read(LINE_LIMIT_BYTES))
    passed = 0
    while True:
        head, at = http_head(heads), heads.tell()
        another = head is not None and 100 <= status(head) < 200 and heads.read(5) == b"HTTP/"
        heads.seek(at)
        if not another:
            break
        passed += 1
    payload.seek(at)
    return (head if at < LINE_LIMIT_BYTES else None), passed


def status(head: StatusAndHeaders) -> int:
    """The status; 0 when there is none."""
    word = head.statusline.partition(" ")[0]
    return int(word) if re.fullmatch(r"[0-9]{1,4}", word) else 0


def without_chunks(data: bytes) -> tuple[bytes, bool] | None:
    """The body without its transfer coding, and whether its end is missing; None when it has no such coding."""
    if not _CHUNKED.match(data):
        return None
    stream = _Connection(b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n" + data)
    response = http.client.HTTPResponse(stream)  # type: ignore[arg-type]
    body = BytesIO()
    try:
        response.begin()
        while piece := response.read1():  # `read` loses what came of the last chunk
            body.write(piece)
    except http.client.IncompleteRead:
        return body.getvalue(), True
    except (http.client.HTTPException, ValueError):
        return None
    return body.getvalue(), False


class _Connection:
    """As much of a socket as http.client wants."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object) -> IO[bytes]:
        return BytesIO(self._data)
