"""The recording of an archive as a WARC file: one warcinfo record with the metadata, then the responses.

Every record is a gzip member of its own, so that one response is read without its neighbours. The same input
gives the same bytes: record ids are made of the content and dates are the recorded ones. The address of the server
is in `WARC-IP-Address`, as the standard has it; its think time and the round trip to it, which the standard has no
fields for, in `Coldload-Wait-Ms` and `Coldload-Connect-Ms`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import IO, Any
from urllib.parse import quote

import msgspec

from harness.errors import ArchiveError
from harness.system.files import utc_text
from sites.response import BODY_LIMIT_BYTES, RecordedLoad, Response

# Never stored: the recorder's cookies and credentials, and transfer coding, which has been removed from the body.
COOKIE_HEADERS = frozenset(
    {"set-cookie", "set-cookie2", "cookie", "cookie2", "authorization", "proxy-authorization"}
)
DROPPED_HEADERS = COOKIE_HEADERS | {"transfer-encoding"}
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)  # a WARC record must have a date
RECORD_LIMIT_BYTES = BODY_LIMIT_BYTES + 1_000_000  # with its headers
IP_HEADER, WAIT_HEADER, CONNECT_HEADER = "WARC-IP-Address", "Coldload-Wait-Ms", "Coldload-Connect-Ms"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")
_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_TOO_LONG = f"a record does not say its length, or has more than {RECORD_LIMIT_BYTES / 1e6:g} MB"


@dataclass(frozen=True)
class About:
    """What an archive says of itself. `load`: the load that was recorded, where the recording tells its times."""

    start_url: str
    captured_with: str
    user_agent: str
    notes: tuple[str, ...]
    load: RecordedLoad | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Recorded:
    """A response as it stands in a WARC. `offset` and `length` are its gzip member."""

    response: Response
    head_sha256: str
    body_sha256: str
    offset: int
    length: int


class WarcDamagedError(Exception):
    """The file is not what `write` wrote."""


class Writer:
    """Writes one WARC from its metadata and responses."""

    def __init__(self, file: IO[bytes], about: About) -> None:
        self._file = file
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415

        self._writer = WARCWriter(file, gzip=True, warc_version="1.1")
        self._written = 0
        known = {name: value for name, value in asdict(about).items() if value is not None}
        said = json.dumps(known, sort_keys=True)
        block = f"software: coldload\r\nformat: WARC File Format 1.1\r\ncoldload: {said}\r\n".encode()
        headers = {"WARC-Record-ID": _record_id(said), "WARC-Date": iso_date(UNDATED)}
        record = self._writer.create_warc_record(
            "", "warcinfo", payload=BytesIO(block), length=len(block), warc_headers_dict=headers
        )
        self._writer.write_record(record)

    def add(self, response: Response) -> Recorded:
        """Write a response; as `read` will find it."""
        headers = _kept_headers(response)
        from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415

        head = StatusAndHeaders(
            f"{response.status} {clean(response.reason)}".strip(),
            headers,
            protocol="HTTP/1.1",
        )
        server = _server_headers(response)
        head_sha256, body_sha256 = _head_sha256(head), sha256(response.body)
        content = f"{self._written} {response.url} {head_sha256} {body_sha256}"
        record = self._writer.create_warc_record(
            response.url,
            "response",
            payload=BytesIO(response.body),
            length=len(response.body),
            http_headers=head,
            warc_headers_dict={
                "WARC-Record-ID": _record_id("\n".join([content, *server.values()])),
                "WARC-Date": iso_date(response.date or UNDATED),
                **server,
            },
        )
        offset = self._file.tell()
        self._writer.write_record(record)
        self._written += 1
        written = replace(response, headers=tuple(headers))
        return Recorded(written, head_sha256, body_sha256, offset, self._file.tell() - offset)


def read(file: IO[bytes]) -> tuple[About, Iterable[Recorded]]:
    """The metadata and the responses, in order; WarcDamagedError when the file is damaged."""
    records = _records(file)
    iterator, first = next(records, (None, None))
    about = _about(first.raw_stream.read()) if first is not None and first.rec_type == "warcinfo" else None
    if iterator is None or about is None:
        raise WarcDamagedError("it does not start with coldload's metadata")
    return about, _responses(iterator, records)


def read_at(file: IO[bytes], offset: int) -> Response:
    """The response whose gzip member starts at `offset`; WarcDamagedError when there is none."""
    file.seek(offset)
    _, record = next(_records(file), (None, None))
    response = None if record is None else _response(record)
    if response is None:
        raise WarcDamagedError(f"there is no response at offset {offset}")
    return response


def iso_date(date: datetime) -> str:
    """UTC with microseconds, as WARC and the metadata write it; a date without zone is UTC."""
    return utc_text(date, "microseconds")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_header_name(text: str) -> bool:
    """Whether a header can have that name."""
    return _TOKEN.fullmatch(text) is not None


def clean(text: str) -> str:
    """One line of ASCII: what does not fit is percent-encoded, as UTF-8, or byte by byte what was no UTF-8 when it was
    read (`surrogateescape`).
    """
    line = _BREAKS.sub(" ", text).strip()
    if line.isascii():
        return line
    try:
        return quote(line, safe=_ASCII, errors="surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        return quote(line, safe=_ASCII, errors="surrogatepass")


def _records(file: IO[bytes]) -> Iterator[tuple[Any, Any]]:
    """Pairs of warcio's iterator, which knows the offsets, and the record it is at."""
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    try:
        iterator = ArchiveIterator(file)
        iterator.reader = _bounded_reader()(file)
        for record in iterator:
            if record.length is None or record.length > RECORD_LIMIT_BYTES:
                raise WarcDamagedError(_TOO_LONG)
            yield iterator, record
    except (ArchiveLoadFailed, EOFError, OSError, ValueError) as error:
        raise WarcDamagedError(" ".join(str(error).split()) or type(error).__name__) from error


@functools.cache
def _bounded_reader() -> Any:
    """The reader of warcio, made to refuse a gzip member, so a record, that decompresses to more than any of ours."""
    from warcio.bufferedreaders import DecompressingBufferedReader  # noqa: PLC0415

    class Reader(DecompressingBufferedReader):  # type: ignore[misc, unused-ignore]
        def _process_read(self, data: bytes) -> None:
            super()._process_read(data)
            if self.decompressor and self.num_block_read > RECORD_LIMIT_BYTES:
                raise WarcDamagedError(_TOO_LONG)

    return Reader


def _responses(iterator: Any, records: Iterator[tuple[Any, Any]]) -> Iterator[Recorded]:
    for _, record in records:
        response = _response(record)
        if response is not None:
            where = (iterator.get_record_offset(), iterator.get_record_length())
            yield Recorded(response, _head_sha256(record.http_headers), sha256(response.body), *where)


def _response(record: Any) -> Response | None:
    if record.rec_type != "response" or record.http_headers is None:
        return None
    status, _, reason = record.http_headers.statusline.partition(" ")
    body = record.raw_stream.read()
    if len(body) != record.length - record.http_headers.total_len:
        raise WarcDamagedError("it ends within a response")
    wait, connect = map(record.rec_headers.get_header, (WAIT_HEADER, CONNECT_HEADER))
    try:
        date = datetime.fromisoformat(record.rec_headers.get_header("WARC-Date"))
        return Response(
            url=record.rec_headers.get_header("WARC-Target-URI"),
            status=int(status),
            headers=tuple(record.http_headers.headers),
            body=body,
            date=None if date == UNDATED else date,
            reason=reason,
            ip=record.rec_headers.get_header(IP_HEADER),
            wait_ms=None if wait is None else float(wait),
            connect_ms=None if connect is None else float(connect),
        )
    except (ArchiveError, ValueError, TypeError) as error:
        raise WarcDamagedError(f"a response record is not coldload's: {error}") from error


def _about(block: bytes) -> About | None:
    for line in block.decode(errors="replace").splitlines():
        key, _, value = line.partition(": ")
        if key == "coldload":
            try:
                return msgspec.convert(json.loads(value), About)
            except ValueError:
                return None
    return None


def _kept_headers(response: Response) -> list[tuple[str, str]]:
    """Headers that can be written and read back unchanged; Content-Length agrees with the stored body."""
    return [
        (name, str(len(response.body)) if name.lower() == "content-length" else clean(value))
        for name, value in response.headers
        if name.lower() not in DROPPED_HEADERS and is_header_name(name)
    ]


def _server_headers(response: Response) -> dict[str, str]:
    """What is known of the server that gave the response, as WARC headers."""
    known = {IP_HEADER: response.ip, WAIT_HEADER: response.wait_ms, CONNECT_HEADER: response.connect_ms}
    return {name: str(value) for name, value in known.items() if value is not None}


def _head_sha256(head: Any) -> str:
    lines = [head.statusline, *(f"{name}: {value}" for name, value in head.headers)]
    return sha256("\n".join(lines).encode())


def _record_id(content: str) -> str:
    import uuid  # noqa: PLC0415  # for a writer alone

    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}>"
