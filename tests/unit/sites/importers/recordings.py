"""Small recordings of every format, made by the libraries that others make theirs with."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from warcio.statusandheaders import (  # type: ignore[import-untyped, unused-ignore]
    StatusAndHeaders,
)
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped, unused-ignore]

HTML, CSS = ("Content-Type", "text/html"), ("Content-Type", "text/css")
PAGE = "https://site.example/"
DATE = "2024-05-06T07:08:09Z"


class Warc:
    """Writes a WARC record by record; `data` is the file."""

    def __init__(self, *, gzip: bool = True) -> None:
        self._buffer = BytesIO()
        self._writer = WARCWriter(self._buffer, gzip=gzip, warc_version="1.1")

    @property
    def data(self) -> bytes:
        return self._buffer.getvalue()

    def response(
        self,
        url: str = PAGE,
        body: bytes = b"<p>hello",
        *headers: tuple[str, str],
        status: str = "200 OK",
        **warc: str,
    ) -> Warc:
        head = StatusAndHeaders(status, list(headers), protocol="HTTP/1.1")
        return self.record("response", url, body, head, **warc)

    def record(
        self, kind: str, url: str, body: bytes = b"", head: StatusAndHeaders | None = None, /, **warc: str
    ) -> Warc:
        named = {name.replace("_", "-"): value for name, value in {"WARC_Date": DATE, **warc}.items()}
        record = self._writer.create_warc_record(
            url, kind, payload=BytesIO(body), length=len(body), http_headers=head, warc_headers_dict=named
        )
        self._writer.write_record(record)
        return self

    def request(self, url: str, method: str = "GET", *headers: tuple[str, str], **warc: str) -> Warc:
        head = StatusAndHeaders(f"{method} / HTTP/1.1", list(headers), is_http_request=True)
        return self.record("request", url, b"", head, **warc)

    def raw(self, url: str, block: bytes, kind: str = "response", **warc: str) -> Warc:
        """A record whose block is given byte by byte, without compression; use with gzip=False."""
        named = {
            "WARC-Type": kind,
            "WARC-Target-URI": url,
            "WARC-Date": DATE,
            "Content-Type": "application/http; msgtype=response",
            **{name.replace("_", "-"): value for name, value in warc.items()},
            "Content-Length": str(len(block)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self._buffer.write(b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n")
        return self


def entry(
    url: str = PAGE, text: str | bytes | None = "<p>hello", mime: str = "text/html", **changes: Any
) -> dict[str, Any]:
    """A HAR entry as browsers write it; `changes` replace keys of the response or, if it has none, of the entry."""
    content: dict[str, Any] = {"mimeType": mime, "size": -1 if text is None else len(text)}
    if isinstance(text, bytes):
        content |= {"text": base64.b64encode(text).decode(), "encoding": "base64"}
    elif text is not None:
        content["text"] = text
    response = {
        "status": 200,
        "statusText": "OK",
        "headers": [{"name": ":status", "value": "200"}, {"name": "content-type", "value": mime}],
        "content": content,
        "redirectURL": "",
        "bodySize": -1,
    }
    made = {
        "startedDateTime": "2024-05-06T07:08:09.5+02:00",
        "request": {
            "method": "GET",
            "url": url,
            "headers": [
                {"name": "Cookie", "value": "secret=1"},
                {"name": "User-Agent", "value": "Browser/1"},
            ],
            "postData": {"text": "secret=2"},
            "cookies": [{"name": "secret", "value": "3"}],
        },
        "response": response,
        "serverIPAddress": "192.0.2.7",
        "timings": {"wait": 12.5},
    }
    for key, value in changes.items():
        (response if key in response else made)[key] = value
    return made


def har(*entries: Mapping[str, Any], pages: Sequence[Mapping[str, Any]] = ()) -> bytes:
    log = {"version": "1.2", "creator": {"name": "Tool", "version": "2"}, "pages": pages, "entries": entries}
    return json.dumps({"log": log}).encode()


def wacz(files: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return buffer.getvalue()


def saved(folder: Path, data: bytes, name: str = "recording") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
