"""The server of the protocols of 2012: a gateway in Node in front of nginx, all on one host.

The gateway (gateway/gateway.js) terminates HTTP/1.1, with keep-alive (pipelined or not) and without, and SPDY/3, each
with and without TLS. It sends every request on to nginx over the host's loopback: all protocols take the same way to
the same answers. The settings that matter stand, explained, in configs/servers/gateway.template; nginx has its own.

What differs from other servers: what nginx refuses is refused (sites.servers.nginx), so are methods that Node's parser
does not know, unlogged; socket bytes are logged without TLS.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.model.protocol import Protocol
from harness.model.serversettings import GatewaySettings, NginxSettings
from harness.system.program import Command
from sites.certificates import SUBSTITUTE_NAME
from sites.mediatype import words
from sites.servers import nginx
from sites.servers.nodepackages import node, node_modules, node_version, refuse_unless_loadable
from sites.servers.server import Match, ServedRequest, strange
from sites.servers.serving import (
    LOG_NAME,
    ListeningAddress,
    Program,
    Setup,
    in_url,
    rendered,
)

CONFIGURATION = "gateway.json"
TLS_CONFIGURATION = "openssl.cnf"
FIRST_BACKEND_PORT = 8001


# What no study sets; the template says what each is for. What a study may set: `GatewaySettings`.
FIXED = {
    "timeout_s": 300,
    "header_bytes": 131072,
    # What browsers and servers of the time had in common and is safe; which of the two is decided by the key.
    "ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
    "spdy_streams": 100,
    "spdy_chunk_bytes": 8192,
}


def described(setup: Setup) -> dict[str, Any]:
    """The gateway's settings, and nginx's behind it."""
    own = setup.settings_of(GatewaySettings).described
    return {"gateway": {**FIXED, **own}, "nginx": {**nginx.FIXED, **NginxSettings().described}}


def configure(setup: Setup) -> dict[str, str]:
    """The files of both programs."""
    backends = backends_of(setup)
    return {
        CONFIGURATION: configuration(setup, backends),
        TLS_CONFIGURATION: rendered("openssl.template"),
        "nginx.conf": nginx.configuration(setup, listeners=list(backends.values()), is_backend=True),
        **nginx.scripts(setup),
    }


def backends_of(setup: Setup) -> dict[str, ListeningAddress]:
    """Where nginx listens, by the scheme of the site: on the scheme's first address, on a port that no page uses."""
    backends: dict[str, ListeningAddress] = {}
    for service in setup.services:
        scheme = service.protocol.scheme
        taken = setup.sites[scheme].ports
        port = next(port for port in itertools.count(FIRST_BACKEND_PORT) if port not in taken)
        backends.setdefault(
            scheme, ListeningAddress(Protocol.HTTP1, in_url(service.address), scheme, (port,))
        )
    return backends


def configuration(setup: Setup, backends: Mapping[str, ListeningAddress]) -> str:
    """The text of gateway.json."""
    return rendered(
        "gateway.template",
        fixed=FIXED,
        settings=setup.settings_of(GatewaySettings),
        log=str(setup.folder / LOG_NAME),
        tls=setup.tls,
        answer_header=nginx.ANSWER_HEADER,
        backends={
            scheme: {"host": each.address.strip("[]"), "port": each.ports[0]}
            for scheme, each in backends.items()
        },
        listeners=[
            {
                "address": listener.address.strip("[]"),
                "port": port,
                "wire": listener.protocol.wire,
                "scheme": listener.scheme,
                "encrypted": listener.protocol.encrypted,
                "keep_alive": listener.protocol.keep_alive,
                "certificates": {
                    virtual.name: {"certificate": str(virtual.certificate), "key": str(virtual.key)}
                    for virtual in listener.virtual_hosts
                    if virtual.certificate
                },
                "unnamed": listener.unnamed,
                "others": SUBSTITUTE_NAME,
            }
            for listener in setup.listeners
            for port in listener.ports
        ],
    )


# The values of the request log that are as we have them; `ServedRequest.logged` reads others.
AS_LOGGED = words("started_us duration_us protocol method target requests_before tls resumed depth")
BODY_BYTES = re.compile(rb'"body_bytes":(\d+)')  # in a line, for those who need no more of it


def parse_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one. The gateway's clock has steps of 1 ms.

    Of SPDY, `requests_before` counts the SYN_STREAM frames of the connection before this one. A request that the
    browser gave up has the status it was answered with, 499 if there was none yet.
    """
    try:
        entry = json.loads(line)
        own = {name: entry[name] for name in AS_LOGGED}
        return ServedRequest.logged(entry, **own, match=Match(entry["answer"] or Match.MISS))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise strange("the gateway's request log holds a strange line", line, error) from error


def commands(folder: Path) -> list[Command]:
    """What starts nginx, and the gateway, which listens as soon as nginx does."""
    refuse_unless_loadable()
    script = importlib.resources.files("sites.servers") / "gateway" / "gateway.js"
    tls = f"--openssl-config={folder / TLS_CONFIGURATION}"
    gateway = Command.of(node(), tls, str(script), folder / CONFIGURATION)
    return [*nginx.commands(folder), gateway.with_environment(NODE_PATH=str(node_modules()))]


def version() -> str:
    """The names and versions of both."""
    return f"spdy-gateway/Node {node_version()} before {nginx.version()}"


SPDY_GATEWAY = Program(described, nginx.write_answers, configure, commands, version, parse_line, BODY_BYTES)
