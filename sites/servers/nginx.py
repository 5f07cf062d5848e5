"""nginx as the replay server of one archive, on one address per protocol (those of HTTP/1.1 and HTTP/2).

Each response is a file that nginx sends; a script in its Lua module (answers.lua) finds it by a hash of what was asked
for and sets status and headers. The settings that matter stand, explained, in configs/servers/nginx.template.

What differs from other servers: a path with a broken percent-encoding (/100%) or that leads out of the root (/..%2f) is
refused with 400 before any rule, and every answer with a body says Accept-Ranges.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.model.serversettings import NginxSettings
from harness.system.program import Command, run
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.closestfiles import closest_scripts, file_name, write_closest
from sites.servers.server import (
    BODILESS,
    MISS_HEADERS,
    PREFLIGHT_HEADERS,
    WIRE_NAMES,
    Match,
    ServedRequest,
    Status,
    StatusPage,
    strange,
)
from sites.servers.serving import STATUS_KEEP_ALIVE_S, ListeningAddress, Program, Setup, rendered, required
from sites.urls import parse_url

MODULE_FOLDER = Path("/usr/lib/nginx/modules")
ANSWER_HEADER = "Coldload-Answer"


# What no study sets; the template says what each is for. What a study may set: `NginxSettings`.
FIXED = {"timeout_s": 300, "header_bytes": 131072, "h2_chunk_bytes": 8192}


def described(setup: Setup) -> dict[str, Any]:
    """All settings that may change a figure."""
    return {**FIXED, **setup.settings_of(NginxSettings).described}


def status_page(setup: Setup) -> StatusPage | None:
    """Where it tells its status, if it is to."""
    return setup.status_page(nginx_status)


def configure(setup: Setup) -> dict[str, str]:
    """nginx.conf and the scripts it runs."""
    return {"nginx.conf": configuration(setup), **scripts(setup)}


def configuration(
    setup: Setup, *, listeners: Sequence[ListeningAddress] | None = None, is_backend: bool = False
) -> str:
    """The text of nginx.conf, by default for the listeners of the set-up.

    A backend has the usual settings, writes no log and tells in a header of each answer how it was found.
    """
    for module in ("ndk_http_module", "ngx_http_lua_module"):
        required(MODULE_FOLDER / f"{module}.so", "nginx", "install the Debian package libnginx-mod-http-lua")
    settings = NginxSettings() if is_backend else setup.settings_of(NginxSettings)
    return rendered(
        "nginx.template",
        settings.template,
        folder=setup.folder,
        module_folder=MODULE_FOLDER,
        settings=settings,
        fixed=FIXED,
        status=None if is_backend else status_page(setup),
        status_keep_alive_s=STATUS_KEEP_ALIVE_S,
        tls=setup.tls,
        tls_resumption=setup.tls_resumption,
        log_format=LOG_FORMAT,
        listeners=setup.listeners if listeners is None else listeners,
        answer_header=ANSWER_HEADER if is_backend else None,
        early_requests=EARLY_REQUESTS if setup.closed_loop and not is_backend else None,
        documents={scheme: native_document(site) for scheme, site in setup.sites.items()}
        if setup.closed_loop and not is_backend
        else {},
        # text/html is compressed whatever the list says, and may not stand in it.
        coded_types=[mime for mime in setup.coded_types if mime != "text/html"]
        if setup.coded_types
        else None,
        gzip_level=setup.compression.level,
    )


def scripts(setup: Setup) -> dict[str, str]:
    """The texts of answers.lua and what it loads."""
    answers = importlib.resources.files("sites.servers") / "answers.lua"
    return {"answers.lua": answers.read_text(encoding="utf-8"), **closest_scripts(setup.sites.values())}


# Of a connection, that are logged in a closed loop: enough to see how deep it is pipelined.
EARLY_REQUESTS = 8
# What stands for itself in nginx.conf, and in a path what nginx takes as it is.
_PLAIN_PATH = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*)?")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9-]+")
_PLAIN_VALUE = re.compile(r"[\x20-\x7e]*")  # quoted, all but what begins a variable
_TYPE = re.compile(r"(?P<mime>[a-z0-9/_.+-]+)(?:; charset=(?P<charset>[A-Za-z0-9_-]+))?")


@dataclass(frozen=True)
class NativeAnswer:
    """One response as directives of nginx: the path, the file of the body, the type, and the other headers."""

    host: str
    path: str
    file: str
    mime: str
    charset: str | None
    headers: tuple[tuple[str, str], ...]


def native_document(site: Site) -> NativeAnswer | None:
    """The answer to the site's start URL without the script; None where that has to give it as it was recorded.

    Finding an answer in Lua costs several times what nginx spends on sending it. In a closed loop, where one URL is
    asked for without a pause, that cost would be what is measured.
    """
    url = parse_url(site.start_url)
    served = next(
        (response for response in site.objects if response.key == (url.authority, url.target)), None
    )
    if served is None or served.status != 200 or served.think_ms or not _PLAIN_PATH.fullmatch(served.target):
        return None
    headers = {name.lower(): (name, value) for name, value in served.headers}
    kind = _TYPE.fullmatch(headers.pop("content-type", ("", ""))[1])
    repeated = len(headers) + 1 < len(served.headers)
    if kind is None or repeated or not all(_is_plain(name, value) for name, value in headers.values()):
        return None
    return NativeAnswer(
        host=served.host,
        path=served.target,
        file=file_name(served.host, served.target),
        mime=kind["mime"],
        charset=kind["charset"],
        headers=tuple((name, _quoted(value)) for name, value in headers.values()),
    )


def _is_plain(name: str, value: str) -> bool:
    return bool(_PLAIN_NAME.fullmatch(name) and _PLAIN_VALUE.fullmatch(value)) and "$" not in value


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme.

    `heads/` and `bodies/` hold the responses by host and target: the head is a line with status, microseconds to wait
    and the header by which a browser asks whether the response still holds, then the headers. How it finds those that
    answer for others: `sites.servers.closestfiles`.
    """
    for kind in ("heads", "bodies"):
        (folder / kind).mkdir(parents=True)
    for served in site.objects:
        body = b"" if served.status in BODILESS else served.body
        _write(folder, file_name(served.host, served.target), _first_line(served), served.headers, body=body)
    _write(folder, "miss", "404 0", MISS_HEADERS)
    _write(folder, "preflight", "204 0", PREFLIGHT_HEADERS)
    write_closest(folder, site)


def _first_line(served: ServedObject) -> str:
    question = " {}: {}".format(*served.validator) if served.validator else ""
    return f"{served.status} {served.think_ms * 1000:.0f}{question}"


def _write(
    folder: Path, name: str, first_line: str, headers: Sequence[tuple[str, str]], *, body: bytes = b""
) -> None:
    lines = [first_line, *(f"{field}: {value}" for field, value in headers)]
    head = "".join(f"{line}\n" for line in lines)
    (folder / "heads" / name).write_bytes(head.encode("latin-1", "replace"))
    (folder / "bodies" / name).write_bytes(body)


# The request log.
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
        return ServedRequest.logged(
            values,
            started_us=round(float(values["ended_s"]) * 1e6) - duration_us,
            duration_us=duration_us,
            protocol=protocol,
            method=method,
            target=rest.rpartition(" ")[0] or rest,
            requests_before=None if protocol == "h2" else int(values["requests"]) - 1,
            tls=values["tls"] or None,
            resumed=values["reused"] == "r",
            match=Match(values["answer"] or Match.MISS),
            depth=2 if values["pipelined"] == "p" else None,
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise strange("nginx's request log holds a strange line", line, error) from error


STUB_STATUS = re.compile(
    r"Active connections: \d+ \nserver accepts handled requests\n \d+ \d+ (?P<requests>\d+) \n"
    r"Reading: (?P<reading>\d+) Writing: (?P<writing>\d+) Waiting: \d+ \n"
)


def nginx_status(text: str) -> Status:
    """stub_status. Requests in hand are those that it reads or answers."""
    match = STUB_STATUS.fullmatch(text)
    if match is None:
        raise strange("nginx's status page says something strange", text)
    return Status(
        workers_busy=int(match["reading"]) + int(match["writing"]) - 1,
        hits=int(match["requests"]),
    )


def version() -> str:
    """Nginx's name and version."""
    match = re.search(r"nginx/\S+", run(Command.of("nginx", "-v"), timeout_s=30, with_stderr=True))
    return match[0] if match else "nginx, version unknown"


def commands(folder: Path) -> list[Command]:
    """What starts nginx on the files in a folder."""
    return [Command.of("nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf")]


NGINX = Program(described, write_answers, configure, commands, version, parse_line, BODY_BYTES, status_page)
