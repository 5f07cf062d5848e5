"""Studies and small recordings of every format, damaged by a seed as by a typing error or by a malicious hand."""

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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.hostile.site import START, html, text
from sites import warc
from sites.response import Response

ODD = (
    "0", "-1", "1e308", "-1e-308", "inf", "nan", "99999999999999999999999999", "1_000", "0x7fffffffffffffff", "true",
    '""', '"\\u0000"', '"' + "x" * 100_000 + '"', "[]", "{}", '[["h2"]]', "{a = 1}", "1979-05-27T07:32:00Z",
    '"../../etc"',    '"[bold red]markup[/]"', '"\\u001b[31m"', '"<script>alert(1)</script>"', '"page\\nline"',
    '"\\U0001F600"', "'''", "=",
)  # fmt: skip
TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_][\w.-]*|\d[\w.]*|[\[\]{}=,]')

TextMutation = Callable[[str, random.Random], str]


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Some bytes of it are others."""
    made = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def repeated(data: bytes, chance: random.Random) -> bytes:
    """A piece of it stands there twice, or is missing."""
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.randrange(1, 2000))
    return data[:end] + data[start:] if chance.random() < 0.5 else data[:start] + data[end:]


def token_replaced(text: str, chance: random.Random) -> str:
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    one = chance.choice(tokens)
    return text[: one.start()] + chance.choice(ODD) + text[one.end() :]


def tokens_swapped(text: str, chance: random.Random) -> str:
    tokens = list(TOKEN.finditer(text))
    if len(tokens) < 2:
        return text
    first, second = sorted(chance.sample(tokens, 2), key=lambda each: each.start())
    return (
        text[: first.start()]
        + second[0]
        + text[first.end() : second.start()]
        + first[0]
        + text[second.end() :]
    )


def value_replaced(text: str, chance: random.Random) -> str:
    """The value of a key is another one."""
    matches = list(re.finditer(r"(?m)^[\w ]+= *(.+)$", text))
    if not matches:
        return text
    one = chance.choice(matches)
    return text[: one.start(1)] + chance.choice(ODD) + text[one.end(1) :]


def key_added(text: str, chance: random.Random) -> str:
    key = chance.choice(
        ("unknown", "nam", "pages", "tcp", '"a b"', "links.x", "[links]", "x" * 10_000, '"\\u001b[2J"')
    )
    line = f"{key} = {chance.choice(ODD)}\n" if not key.startswith("[") else f"{key}\n"
    return line + text if chance.random() < 0.5 else text + "\n" + line


def nested(text: str, chance: random.Random) -> str:
    depth = chance.choice((50, 2000, 200_000))
    return (
        f"deep = {'[' * depth}{']' * depth}\n{text}"
        if chance.random() < 0.5
        else f"{text}\nd = {'{a=' * depth}1{'}' * depth}"
    )


def bytes_flipped(text: str, chance: random.Random) -> str:
    return flipped(text.encode(), chance).decode("latin-1")


def line_moved(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [text]
    line = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.choice((0, 1, 2))):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return "".join(lines)


TEXT_MUTATIONS: tuple[TextMutation, ...] = (
    token_replaced, tokens_swapped, value_replaced, value_replaced, key_added, nested, bytes_flipped, line_moved,
)  # fmt: skip


def mutated_text(text: str, chance: random.Random) -> str:
    """One to three mutations, one after the other."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = chance.choice(TEXT_MUTATIONS)(text, chance)
    return text


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
            "request": {"method": "GET", "url": response.url, "headers": []},
            "response": {
                "status": response.status,
                "headers": [{"name": name, "value": value} for name, value in response.headers],
                "content": {
                    "mimeType": response.mime,
                    "text": base64.b64encode(response.body).decode(),
                    "encoding": "base64",
                },
            },
            "timings": {"wait": 3},
        }
        for response in responses()
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
    matches = list(
        re.finditer(rb"(?<=: )\d+|(?<=\": )\d+|WARC/1\.\d|HTTP/1\.1|https?://[\w./]+|\"[a-z]\w+\"", data)
    )
    if not matches:
        return flipped(data, chance)
    one = chance.choice(matches)
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
            *sorted(file for file in path.rglob("*") if file.is_file()),
        ]
        for victim in chance.sample(victims, 2):
            victim.write_bytes(damaged(victim.read_bytes(), chance))
    else:
        path.write_bytes(bomb())
