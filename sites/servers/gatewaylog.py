"""The gateway's request log, one JSON object per line, as values. Pure."""

from __future__ import annotations

import json
import re

from harness.errors import TestbedFailed
from sites.servedrequest import Match, ServedRequest

# Those that the log names as we do; `host`, `answer` and `upgrade` are read below.
AS_LOGGED = (
    "started_us",
    "duration_us",
    "client_address",
    "client_port",
    "server_address",
    "server_port",
    "protocol",
    "method",
    "target",
    "status",
    "body_bytes",
    "bytes_sent",
    "bytes_received",
    "requests_before",
    "tls",
    "resumed",
    "depth",
)
BODY_BYTES = re.compile(rb'"body_bytes":(\d+)')  # in a line, for those who need no more of it


def parse_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one. The gateway's clock has steps of 1 ms.

    Of SPDY, `requests_before` counts the SYN_STREAM frames of the connection before this one. A request that the
    browser gave up has the status it was answered with, 499 if there was none yet.
    """
    try:
        entry = json.loads(line)
        return ServedRequest(
            **{name: entry[name] for name in AS_LOGGED},
            host=entry["host"].lower(),
            match=Match(entry["answer"] or Match.MISS),
            websocket=entry["upgrade"].lower() == "websocket",
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise TestbedFailed(
            f"the gateway's request log holds a strange line ({error}): {line[:200]!r}"
        ) from error
