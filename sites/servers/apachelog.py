"""Apache's request log: the format we ask for, and its lines as values. Pure."""

from __future__ import annotations

import re

from harness.errors import TestbedFailed
from sites.servedrequest import Match, ServedRequest
from sites.servers.server import WIRE_NAMES

# One per field of a line; tabs between them. %O and %I count bytes on the socket: the first request of a TLS
# connection also has its handshake, and those of HTTP/2 their frames.
FIELDS = {
    "started_us": "%{usec}t",
    "duration_us": "%D",
    "client_address": "%a",
    "client_port": "%{remote}p",
    "server_address": "%A",
    "server_port": "%{local}p",
    "protocol": "%H",
    "host": "%{Host}i",
    "status": "%>s",
    "body_bytes": "%B",
    "bytes_sent": "%O",
    "bytes_received": "%I",
    "requests_before": "%k",
    "tls": "%{SSL_PROTOCOL}x",
    "resumed": "%{SSL_SESSION_RESUMED}x",
    "answer": "%>{ANSWER}e",
    "upgrade": "%{Upgrade}i",
    "request": "%r",
}
LOG_FORMAT = r"\t".join(FIELDS.values())
# The bytes of a body in a line, for those who need no more of it.
BODY_BYTES = re.compile(rb"^(?:[^\t\n]*\t){%d}(\d+)" % [*FIELDS].index("body_bytes"), re.MULTILINE)
_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|([\\"tnrbvf]))')
_ESCAPED = {"\\": "\\", '"': '"', "t": "\t", "n": "\n", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}


def parse_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one."""
    values = dict(zip(FIELDS, line.rstrip("\n").split("\t"), strict=False))
    try:
        protocol = WIRE_NAMES.get(values["protocol"], values["protocol"])
        method, target = _request_line(_unescaped(values["request"]))
        return ServedRequest(
            started_us=int(values["started_us"]),
            duration_us=int(values["duration_us"]),
            client_address=values["client_address"],
            client_port=int(values["client_port"]),
            server_address=values["server_address"],
            server_port=int(values["server_port"]),
            protocol=protocol,
            method=method,
            host=_unescaped(values["host"]).lower(),
            target=target,
            status=int(values["status"].replace("-", "0")),
            body_bytes=int(values["body_bytes"]),
            bytes_sent=int(values["bytes_sent"]),
            bytes_received=int(values["bytes_received"]),
            requests_before=None if protocol == "h2" else int(values["requests_before"]),
            tls=None if values["tls"] == "-" else values["tls"],
            resumed=values["resumed"] == "Resumed",
            match=Match.MISS if values["answer"] == "-" else Match(values["answer"]),
            websocket=values["upgrade"].lower() == "websocket",
        )
    except (KeyError, ValueError) as error:
        raise TestbedFailed(f"Apache's request log holds a strange line ({error}): {line[:200]!r}") from error


def _request_line(text: str) -> tuple[str, str]:
    """Method and target; empty where a client sent nothing of the kind."""
    method, _, rest = text.partition(" ")
    target, _, _ = rest.rpartition(" ")
    return method, target or rest


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED[found[2]], text)
