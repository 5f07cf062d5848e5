"""Caddy's request log, one JSON object per line, as values. Pure."""

from __future__ import annotations

import json
import re

from harness.errors import TestbedFailed
from sites.servedrequest import Match, ServedRequest
from sites.servers.server import WIRE_NAMES

TLS_NAMES = {0x0303: "TLSv1.2", 0x0304: "TLSv1.3"}
BODY_BYTES = re.compile(rb'"size":(\d+)')  # in a line, for those who need no more of it


def parse_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one.

    Caddy does not log bytes on the socket, nor how many requests a connection has carried.
    """
    try:
        entry = json.loads(line)
        request = entry["request"]
        tls = request.get("tls")
        duration_us = entry["duration"] // 1000
        return ServedRequest(
            started_us=int(entry["ts"] // 1000) - duration_us,
            duration_us=duration_us,
            client_address=request["remote_ip"],
            client_port=int(request["remote_port"]),
            server_address=entry["server_address"],
            server_port=int(entry["server_port"]),
            protocol=WIRE_NAMES.get(request["proto"], request["proto"]),
            method=request["method"],
            host=request["host"].lower(),
            target=request["uri"],
            status=entry["status"],
            body_bytes=entry["size"],
            bytes_sent=None,
            bytes_received=None,
            requests_before=None,
            tls=TLS_NAMES.get(tls["version"], str(tls["version"])) if tls else None,
            resumed=bool(tls and tls["resumed"]),
            match=Match(entry["answer"]),
            websocket=(entry.get("upgrade") or "").lower() == "websocket",
        )
    except (KeyError, ValueError, TypeError) as error:
        raise TestbedFailed(f"Caddy's request log holds a strange line ({error}): {line[:200]!r}") from error
