"""Apache httpd as the replay server of one archive, on one address per protocol.

Each response is a file that mod_asis sends and mod_rewrite finds by a hash of what was asked for, or for what was not
recorded a script in mod_lua (`sites.servers.closestfiles`). The settings that matter stand, explained, in
configs/servers/apache.template.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from harness.model.condition import CODINGS, Compression
from harness.model.serversettings import USUAL, ApacheSettings
from harness.system.program import Command, run
from sites.materialise import Site
from sites.served import VALIDATORS, ServedObject
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
from sites.servers.serving import PROBE_HOST, STATUS_KEEP_ALIVE_S, Program, Setup, rendered, required

MODULE_FOLDER = Path("/usr/lib/apache2/modules")
WAIT_SUFFIX = ".us"
MODULES = ("authz_core", "rewrite", "headers", "asis", "ssl", "http2", "lua")


@dataclass(frozen=True)
class Coder:
    """What compresses while Apache sends: its module, filter, and the directive that sets the level."""

    module: str
    filter: str
    directive: str


CODERS = {
    "gzip": Coder("deflate", "DEFLATE", "DeflateCompressionLevel"),
    "brotli": Coder("brotli", "BROTLI_COMPRESS", "BrotliCompressionQuality"),
}
CACHE_MODULES = {
    "off": (),
    "disk": ("cache", "cache_disk"),
    "socache": ("cache", "cache_socache", "socache_shmcb"),
}


# What no study sets; the template says what each is for. What a study may set: `ApacheSettings`.
FIXED = {"request_line_bytes": 131072, "h2_window_bytes": 65535}
# Likewise, where a study asks for a cache: room, the largest answer in it, and how long answers stay. Shared memory is
# divided into 256 parts, and an answer has to fit into one of them.
CACHE = {"cache_bytes": 256 * 2**20, "cache_object_bytes": 1_000_000, "cache_expire_s": 86_400}


def described(setup: Setup) -> dict[str, Any]:
    """All settings that may change a figure."""
    chosen = setup.settings_of(ApacheSettings)
    return {**FIXED, **chosen.described, **(CACHE if chosen.mod_cache != "off" else {})}


def status_page(setup: Setup) -> StatusPage | None:
    """Where it tells its status, if it is to."""
    return setup.status_page(apache_status)


def configure(setup: Setup) -> dict[str, str]:
    """httpd.conf and the scripts it runs."""
    answers = importlib.resources.files("sites.servers") / "apache.lua"
    return {
        "httpd.conf": configuration(setup),
        "apache.lua": answers.read_text(encoding="utf-8"),
        "folder.lua": f'return "{setup.folder}/"\n',
        **closest_scripts(setup.sites.values()),
    }


def configuration(setup: Setup) -> str:
    """The text of httpd.conf."""
    thinking = _thinks(setup.sites)
    coder = CODERS.get(setup.compression.kind) if setup.coded_types else None
    settings = setup.settings_of(ApacheSettings)
    page = status_page(setup)
    modules = (
        f"mpm_{settings.mpm}",
        # Under prefork mod_http2 does nothing but start its threads.
        *(name for name in MODULES if settings.threaded or name != "http2"),
        *(["filter", coder.module] if coder else []),
        *CACHE_MODULES[settings.mod_cache],
        *(["status"] if page else []),
    )
    for module in modules:
        required(MODULE_FOLDER / f"mod_{module}.so", "apache", "install the Debian package apache2-bin")
    return rendered(
        "apache.template",
        settings.template,
        folder=setup.folder,
        modules=modules,
        thinking=thinking,
        module_folder=MODULE_FOLDER,
        settings=settings,
        usual=USUAL["apache"],
        fixed=FIXED,
        cache=CACHE,
        status=page,
        status_keep_alive_s=STATUS_KEEP_ALIVE_S,
        tls=setup.tls,
        tls_resumption=setup.tls_resumption,
        log_format=LOG_FORMAT,
        listeners=setup.listeners,
        probe_host=PROBE_HOST,
        coder=coder,
        level=setup.compression.level,
        coded_types=setup.coded_types,
    )


def _thinks(sites: Mapping[str, Site]) -> bool:
    """Whether any response is to be waited for."""
    return any(served.think_ms for site in sites.values() for served in site.objects)


def write_answers(folder: Path, site: Site) -> None:
    """Every answer of a site, in a folder of its own for each scheme.

    `objects/` holds the responses, by host and target, `kept/` what tells a browser that it may go on using one, by the
    response's name and how it asks. A file in `objects/` with WAIT_SUFFIX holds the microseconds to wait before it.
    """
    objects, kept = folder / "objects", folder / "kept"
    objects.mkdir(parents=True)
    kept.mkdir()
    (folder / "miss").write_bytes(_message(404, MISS_HEADERS, b""))
    (folder / "preflight").write_bytes(_message(204, PREFLIGHT_HEADERS, b""))
    for served in site.objects:
        name = file_name(served.host, served.target)
        file = objects / name
        file.write_bytes(as_is(served, site.scheme))
        for value in _asked_with(served, site.compression):
            question = kept / file_name("", f"{name} {value}")
            question.write_bytes(_message(304, served.headers, b""))
        if served.think_ms:
            file.with_suffix(WAIT_SUFFIX).write_text(f"{served.think_ms * 1000:.0f}")
    write_closest(folder, site)


def _asked_with(served: ServedObject, compression: Compression) -> Iterator[str]:
    """The values with which a browser may ask whether the response still holds.

    Apache's coders write the coding into the tag of what they compress. DeflateAlterETag, against that, is of 2.4.58.
    """
    if served.validator is None:
        return
    asks, value = served.validator
    yield value
    if compression.dynamic and asks == VALIDATORS["etag"] and value.endswith('"'):
        yield f'{value[:-1]}-{CODINGS[compression.kind]}"'


def as_is(served: ServedObject, scheme: str) -> bytes:
    """A response as mod_asis reads it: status, headers, empty line, body."""
    headers = [
        (name, _absolute(value, served.host, scheme) if name.lower() == "location" else value)
        for name, value in served.headers
    ]
    return _message(served.status, headers, b"" if served.status in BODILESS else served.body)


def _message(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"Status: {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if status not in BODILESS:
        lines.append(f"Content-Length: {len(body)}")  # Apache would find it out for GET, but not for HEAD
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _absolute(location: str, host: str, scheme: str) -> str:
    """A Location that starts with a slash is one that mod_asis would follow itself instead of sending it."""
    if location.startswith("//"):
        return f"{scheme}:{location}"
    return f"{scheme}://{host}{location}" if location.startswith("/") else location


# The request log: one per field of a line, tabs between them.
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
        return ServedRequest.logged(
            values | {"host": _unescaped(values["host"]), "status": values["status"].replace("-", "0")},
            started_us=int(values["started_us"]),
            duration_us=int(values["duration_us"]),
            protocol=protocol,
            method=method,
            target=target,
            requests_before=None if protocol == "h2" else int(values["requests_before"]),
            tls=None if values["tls"] == "-" else values["tls"],
            resumed=values["resumed"] == "Resumed",
            match=Match.MISS if values["answer"] == "-" else Match(values["answer"]),
        )
    except (KeyError, ValueError) as error:
        raise strange("Apache's request log holds a strange line", line, error) from error


def _request_line(text: str) -> tuple[str, str]:
    """Method and target; empty where a client sent nothing of the kind."""
    method, _, rest = text.partition(" ")
    target, _, _ = rest.rpartition(" ")
    return method, target or rest


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED[found[2]], text)


def apache_status(text: str) -> Status:
    """mod_status, as `?auto` writes it: a line for each value."""
    values = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        return Status(
            workers_busy=int(values["BusyWorkers"]) - 1,
            workers_idle=int(values["IdleWorkers"]),
            hits=int(values["Total Accesses"]),
            bytes=int(values["Total kBytes"]) * 1024,
            mpm=values["ServerMPM"],
        )
    except (KeyError, ValueError) as error:
        raise strange("Apache's status page says something strange", text, error) from error


def version() -> str:
    """Apache's name and version."""
    said = run(Command.of("apache2", "-v"), timeout_s=30)
    match = re.search(r"Apache/\S+", said)
    return match[0] if match else "Apache, version unknown"


def commands(folder: Path) -> list[Command]:
    """What starts Apache on the files in a folder."""
    return [Command.of("apache2", "-DFOREGROUND", "-d", folder, "-f", folder / "httpd.conf")]


APACHE = Program(described, write_answers, configure, commands, version, parse_line, BODY_BYTES, status_page)
