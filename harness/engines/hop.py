"""A proxy between a browser and the link, on the client host: SOCKS5, bytes as they come.

It can end TLS there, with certificates of the testbed's own, so that what travels over the link has none: for
`spdy-plain`, as the historical engine speaks SPDY inside TLS only, and for what a page that is loaded over plain http
asks for under https all the same (a script put the link together). Request headers of SPDY can go on compressed. Every
request of QtWebKit passes it, by all protocols, so that all have the same hop; of Chromium's only those under https of
a page loaded over plain http. It also tells how many connections there were and how long each took to be made.

A name is looked up once, as a browser does; names that DNS has no say in have their addresses from the settings. Runs
as a program on the client host, `python3 -m harness.engines.hop SETTINGS`; its standard input is the socket it
listens on, on the browser's host; others, of which each stands for one host and port, are among the settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import json
import socket
import ssl
import sys
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
PORT = 1080  # the browser's host is fresh for each trial: nobody else can have it
BACKLOG = 512
CHUNK_BYTES = 65536
SOCKS5, CONNECT, DOMAIN_NAME, SUCCEEDED, FAILED = 5, 1, 3, 0, 4
HTTP, HTTPS = 80, 443
ADDRESS_BYTES = {1: 4, 4: 16}  # of IPv4 and IPv6, by their SOCKS type
NO_ADDRESS = bytes([1, 0, 0, 0, 0, 0, 0])

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Security:
    """The loopback end of TLS: certificates by host name, their key, and the protocol to agree on.

    A host that has none gets the `substitute`, a certificate and its key, as from servers. `https_port` is where the
    server has what the browser looks for at 443. `compresses`: request headers of SPDY go on compressed.
    """

    certificates: dict[str, str]
    key: str
    substitute: tuple[str, str]
    protocol: str
    https_port: int = HTTPS
    compresses: bool = False

    def context(self, host: str) -> ssl.SSLContext:
        """For one connection."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own = self.certificates.get(host)
        made.load_cert_chain(*((own, self.key) if own else self.substitute))
        made.set_alpn_protocols([self.protocol])
        return made


class Hop:
    """Takes connections; `tell` gets what became of each. With `security` it ends TLS itself.

    `addresses` are those of names that are not looked up. All other IP addresses are `elsewhere`, by default where they
    say. Nobody gets through to `refused` names.
    """

    def __init__(
        self,
        tell: Callable[[dict[str, Any]], None],
        security: Security | None = None,
        addresses: Mapping[str, str] | None = None,
        elsewhere: str | None = None,
        refused: Collection[str] = (),
    ) -> None:
        self._tell = tell
        self._security = security
        self._known = addresses or {}
        self._elsewhere = elsewhere
        self._refused = refused
        self._addresses: dict[str, asyncio.Future[str]] = {}

    async def serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        wanted: tuple[str, int] | None = None,
    ) -> None:
        """One connection from the browser, until both sides have ended; it tells by SOCKS where to, if not `wanted`."""
        remote: asyncio.StreamWriter | None = None
        security: Security | None = None
        succeeded = b"" if wanted else bytes([SOCKS5, SUCCEEDED, 0]) + NO_ADDRESS
        try:
            host, port = wanted or await _greeting(reader, writer)
            self._refuse(host)
            _at_once(writer)
            security = None if port == HTTP else self._security  # ws:// comes here, too
            if security is None:
                there, remote = await self._connected(host, port)
                writer.write(succeeded)
            else:  # TLS on loopback is our own affair: it takes place while the connection is made
                at_server = security.https_port if port == HTTPS else port
                connecting = asyncio.ensure_future(self._connected(host, at_server))
                connecting.add_done_callback(_seen)
                writer.write(succeeded)
                await writer.start_tls(security.context(host))
                there, remote = await connecting
            rewritten = HeaderCompressor().rewritten if security and security.compresses else _as_it_came
            up = _pump(reader, remote, rewritten, functools.partial(_acknowledge, writer))
            await asyncio.gather(up, _pump(there, writer))
        except _Refused as refusal:
            self._tell({"failed": str(refusal)})
            if security is None and wanted is None:
                writer.write(bytes([SOCKS5, FAILED, 0]) + NO_ADDRESS)
        except (
            OSError,
            asyncio.IncompleteReadError,
            ValueError,
        ) as error:  # its peer will notice that a side went away
            self._tell({"ended": str(error)})
        finally:
            for side in (writer, remote):
                if side is not None:
                    side.close()

    def _refuse(self, host: str) -> None:
        if host in self._refused:
            raise _Refused(f"{host} is a name that the browser asks for by itself")

    async def _connected(self, host: str, port: int) -> Streams:
        began_ms, before = time.time() * 1000, time.perf_counter()
        try:
            address = await self._address(host)
            looked_up = time.perf_counter()
            reader, writer = await asyncio.open_connection(address, port, limit=CHUNK_BYTES)
        except OSError as error:
            raise _Refused(f"{host}:{port}: {error}") from error
        _at_once(writer)
        took_ms = (time.perf_counter() - looked_up) * 1000
        local, remote = (writer.get_extra_info(name) for name in ("sockname", "peername"))
        self._tell(
            {
                "name": host,
                "remote": f"{remote[0]}:{remote[1]}",
                "local": f"{local[0]}:{local[1]}",
                "connect_ms": round(took_ms, 3),
                "lookup_ms": round((looked_up - before) * 1000, 3),
                "began_ms": round(began_ms, 3),
            }
        )
        return reader, writer

    async def _address(self, host: str) -> str:
        if host in self._known:
            return self._known[host]
        if self._elsewhere and _is_address(host):
            return self._elsewhere
        if host not in self._addresses:
            self._addresses[host] = asyncio.ensure_future(_looked_up(host))
        return await asyncio.shield(self._addresses[host])


def _seen(connecting: asyncio.Future[Streams]) -> None:
    """Nobody waits for a connection when the browser went away before it was made."""
    if not connecting.cancelled():
        connecting.exception()


class _Refused(Exception):
    """There is no connection to where the browser wants to."""


async def _greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """The beginning of RFC 1928, without authentication: where the browser wants to. ValueError when it is another
    protocol: a page can ask for what listens here, too, and is told nothing.
    """
    version, methods = await reader.readexactly(2)
    if version != SOCKS5:
        raise ValueError(f"no SOCKS: it begins with {version}")
    await reader.readexactly(methods)
    writer.write(bytes([SOCKS5, 0]))
    _, command, _, kind = await reader.readexactly(4)
    if kind == DOMAIN_NAME:
        name = await reader.readexactly((await reader.readexactly(1))[0])
        host = name.decode("ascii").strip("[]")  # an IPv6 address may come as it stands in a URL
    else:
        host = str(ipaddress.ip_address(await reader.readexactly(ADDRESS_BYTES[kind])))
    port = int.from_bytes(await reader.readexactly(2))
    if command != CONNECT:
        raise _Refused(f"SOCKS command {command} for {host}:{port}")
    return host, port


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _looked_up(host: str) -> str:
    addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(addresses[0][4][0])


def _at_once(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _acknowledge(writer: asyncio.StreamWriter) -> None:
    """Now, and not 40 ms later: QtWebKit holds a small packet back until the one before is acknowledged (Nagle)."""
    # Where the browser's side is closed nobody waits, and what was read still goes on.
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def _as_it_came(data: bytes) -> bytes:
    return data


async def _pump(
    source: asyncio.StreamReader,
    target: asyncio.StreamWriter,
    rewritten: Callable[[bytes], bytes] = _as_it_came,
    read: Callable[[], None] | None = None,
) -> None:
    """Bytes one way until they end; then the other side hears of the end. `read` is called for each piece."""
    with contextlib.suppress(ConnectionError):  # the receiver went away first: nothing is left to do
        while data := await source.read(CHUNK_BYTES):
            if read:
                read()
            target.write(rewritten(data))
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
        else:
            target.close()


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
    """Request headers of SPDY/3 as Chromium of 2012 sent them: compressed, with the dictionary that both ends know.

    QtWebKit sends them at zlib's level 0 and without the dictionary (QSpdyProtocolHandler, because of the CRIME attack
    of September 2012). These are the requests of one connection. The engine sends headers in no other frame than
    SYN_STREAM.
    """

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


async def main(settings: dict[str, Any]) -> None:
    with Path(settings["log"]).open("w", encoding="utf-8") as log:

        def tell(found: dict[str, Any]) -> None:
            log.write(json.dumps(found) + "\n")
            log.flush()

        security = Security(**settings["security"]) if settings["security"] else None
        hop = Hop(tell, security, settings["addresses"], settings["elsewhere"], settings["refused"])
        listening = socket.socket(fileno=sys.stdin.fileno())
        server = await asyncio.start_server(hop.serve, sock=listening, backlog=BACKLOG, limit=CHUNK_BYTES)
        for descriptor, (host, port) in settings["direct"]:
            serve = functools.partial(hop.serve, wanted=(host, port))
            own = socket.socket(fileno=descriptor)
            await asyncio.start_server(serve, sock=own, backlog=BACKLOG, limit=CHUNK_BYTES)
        tell({"listening": PORT})
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
