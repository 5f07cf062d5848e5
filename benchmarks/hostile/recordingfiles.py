"""Small recordings of every format, damaged by a seed."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.hostile.mutation import ODD, cut, flipped, repeated
from benchmarks.hostile.site import START, html, text
from sites import warc
from sites.response import Response

MIRROR = Path(__file__).parents[2] / "tests" / "data" / "httrack" / "plain"
EVIL_NAMES = (
    "../evil.warc.gz",
    "/etc/evil.warc",
    "archive/../../evil.warc.gz",
    "archive/\0.warc",
    "a" * 5000,
)
BOMB_BYTES = 2_000_000_000
KINDS = ("warc", "warc.gz", "wacz", "har", "mirror")


def responses() -> list[Response]:
    style = text(START + "s.css", "p{color:red}" * 50, "text/css")
    zipped = text(
        START + "z.js", gzip.compress(b"let x = 1;" * 99), "text/javascript", Content_Encoding="gzip"
    )
    moved = Response(START + "old", 301, (("Location", "/"), ("Content-Type", "text/html")), b"")
    picture = Response(START + "p.png", 200, (("Content-Type", "image/png"),), bytes(range(256)) * 8)
    return [
        text(START, html(body='<img src="p.png"><script src="z.js"></script>')),
        style,
        zipped,
        moved,
        picture,
    ]


def warc_file() -> bytes:
    """An uncompressed WARC, so that what is flipped is not all caught by gzip."""
    file = io.BytesIO()
    writer = warc.Writer(file, warc.About(START, "", "", ()))
    for response in responses():
        writer.add(response)
    return b"".join(_members(file.getvalue()))


def _members(data: bytes) -> Iterator[bytes]:
    while data:
        member = zlib.decompressobj(31)
        yield member.decompress(data) + member.flush()
        data = member.unused_data


def har_file() -> bytes:
    entries = [
        {
            "startedDateTime": "2024-05-06T07:08:09Z",
            "request": {"method": "GET", "url": each.url, "headers": []},
            "response": {
                "status": each.status,
                "headers": [{"name": name, "value": value} for name, value in each.headers],
                "content": {
                    "mimeType": each.mime,
                    "text": base64.b64encode(each.body).decode(),
                    "encoding": "base64",
                },
            },
            "timings": {"wait": 3},
        }
        for each in responses()
    ]
    return json.dumps(
        {"log": {"version": "1.2", "creator": {"name": "t"}, "pages": [], "entries": entries}}
    ).encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return file.getvalue()


def wacz_file(recording: bytes, name: str = "archive/data.warc.gz") -> bytes:
    page = json.dumps({"url": START}).encode()
    return zipped({name: gzip.compress(recording), "pages/pages.jsonl": page, "datapackage.json": b"{}"})


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Bytes flipped, cut, doubled, or numbers in its text that lie."""
    return chance.choice((flipped, flipped, cut, repeated, lying))(data, chance)


def lying(data: bytes, chance: random.Random) -> bytes:
    """A length, a status or another number, or a word of the structure, is replaced."""
    found = list(
        re.finditer(rb"(?<=: )\d+|(?<=\": )\d+|WARC/1\.\d|HTTP/1\.1|https?://[\w./]+|\"[a-z]\w+\"", data)
    )
    if not found:
        return flipped(data, chance)
    one = chance.choice(found)
    return data[: one.start()] + chance.choice(ODD).encode() + data[one.end() :]


def bomb() -> bytes:
    """Some kB that become 2 GB."""
    coder, piece = zlib.compressobj(9, zlib.DEFLATED, 31), b"\0" * 1_000_000
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://site.example/\r\n"
    head += (
        b"WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: %d\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" % BOMB_BYTES
    )
    parts = [
        coder.compress(head),
        *(coder.compress(piece) for _ in range(BOMB_BYTES // len(piece))),
        coder.flush(),
    ]
    return b"".join(parts)


def write(kind: str, path: Path, chance: random.Random) -> None:
    """The recording of a case, mutated; a mirror is a folder."""
    recording = warc_file()
    if kind == "warc":
        path.write_bytes(damaged(recording, chance))
    elif kind == "warc.gz":
        inner = gzip.compress(damaged(recording, chance))
        path.write_bytes(inner if chance.random() < 0.7 else damaged(inner, chance))
    elif kind == "wacz":
        inner = damaged(recording, chance) if chance.random() < 0.5 else recording
        name = chance.choice(EVIL_NAMES) if chance.random() < 0.2 else "archive/data.warc.gz"
        whole = wacz_file(inner, name)
        path.write_bytes(whole if inner != recording or chance.random() < 0.3 else damaged(whole, chance))
    elif kind == "har":
        path.write_bytes(damaged(har_file(), chance))
    elif kind == "mirror":
        shutil.copytree(MIRROR, path)
        victims = [
            path / "hts-cache" / "new.zip",
            *sorted(each for each in path.rglob("*") if each.is_file()),
        ]
        for victim in chance.sample(victims, 2):
            victim.write_bytes(damaged(victim.read_bytes(), chance))
    else:
        path.write_bytes(bomb())
