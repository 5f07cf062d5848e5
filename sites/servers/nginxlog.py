"""nginx's request log: the format we ask for, and its lines as values. Pure."""

from __future__ import annotations

import json
import re

from harness.errors import TestbedFailed
from sites.servedrequest import Match, ServedRequest
from sites.servers.server import WIRE_NAMES

FIELDS = {
    "ended_s": "$msec",
    "duration_s": "$request_time",
    "client_address": "$remote_addr",
    "client_port": "$remote_port",
    "server_address": "$server_addr",
    "server_port": "$server_port",
    "protocol": "$server_protocol",
    "host": "$http_host",
    "status": "$status",
    "body_bytes": "$body_bytes_sent",
    "bytes_sent": "$bytes_sent",
    "bytes_received": "$request_length",
    "requests": "$connection_requests",
    "tls": "$ssl_protocol",
    "reused": "$ssl_session_reused",
    "answer": "$answer",
    "upgrade": "$http_upgrade",
    "pipelined": "$pipe",
    "request": "$request",
}
LOG_FORMAT = "{" + ",".join(f'"{name}":"{variable}"' for name, variable in FIELDS.items()) + "}"
BODY_BYTES = re.compile(rb'"body_bytes":"(\d+)"')  # in a line, for those who need no more of it


def parse_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one. nginx's clock has steps of 1 ms.

    Of the depth nginx only tells that a request was pipelined, when it came in one piece with an earlier one: 2 stands
    for 2 or more.
    """
    try:
        values = json.loads(line)
        protocol = WIRE_NAMES.get(values["protocol"], values["protocol"])
        duration_us = round(float(values["duration_s"]) * 1e6)
        method, _, rest = values["request"].partition(" ")
        return ServedRequest(
            started_us=round(float(values["ended_s"]) * 1e6) - duration_us,
            duration_us=duration_us,
            client_address=values["client_address"],
            client_port=int(values["client_port"]),
            server_address=values["server_address"],
            server_port=int(values["server_port"]),
            protocol=protocol,
            method=method,
            host=values["host"].lower(),
            target=rest.rpartition(" ")[0] or rest,
            status=int(values["status"]),
            body_bytes=int(values["body_bytes"]),
            bytes_sent=int(values["bytes_sent"]),
            bytes_received=int(values["bytes_received"]),
            requests_before=None if protocol == "h2" else int(values["requests"]) - 1,
            tls=values["tls"] or None,
            resumed=values["reused"] == "r",
            match=Match(values["answer"] or Match.MISS),
            websocket=values["upgrade"].lower() == "websocket",
            depth=2 if values["pipelined"] == "p" else None,
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise TestbedFailed(f"nginx's request log holds a strange line ({error}): {line[:200]!r}") from error
