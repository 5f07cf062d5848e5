"""nginx as the replay server of one archive, on one address per protocol (those of HTTP/1.1 and HTTP/2).

Each response is a file that nginx sends; a script in its Lua module finds it and sets status and headers, see
`nginxfiles`. The settings that matter stand, explained, in configs/servers/nginx.template.

What differs from other servers: a path with a broken percent-encoding (/100%) or that leads out of the root (/..%2f) is
refused with 400 before any rule, and every answer with a body says Accept-Ranges.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.model.serversettings import NginxSettings
from harness.system.command import Command
from harness.system.program import run
from sites.servers.closestfiles import scripts as closest_scripts
from sites.servers.nginxdocument import EARLY_REQUESTS, native_document
from sites.servers.nginxfiles import write_answers
from sites.servers.nginxlog import BODY_BYTES, LOG_FORMAT, parse_line
from sites.servers.serverstatus import StatusPage, nginx_status
from sites.servers.serving import ListeningAddress, Program, Setup, rendered, required

MODULE_FOLDER = Path("/usr/lib/nginx/modules")
ANSWER_HEADER = "Coldload-Answer"


@dataclass(frozen=True)
class NginxFixed:
    """What no study sets; the template says what each is for. What a study may set: `NginxSettings`."""

    timeout_s: int = 300
    header_bytes: int = 131072
    h2_chunk_bytes: int = 8192


FIXED = NginxFixed()
STATUS_KEEP_ALIVE_S = 86_400  # longer than any study's step


def described(setup: Setup) -> dict[str, Any]:
    """All settings that may change a figure."""
    return {**asdict(FIXED), **setup.settings_of(NginxSettings).described}


def status(setup: Setup) -> StatusPage | None:
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
    return rendered(
        "nginx.template",
        folder=setup.folder,
        module_folder=MODULE_FOLDER,
        settings=NginxSettings() if is_backend else setup.settings_of(NginxSettings),
        fixed=FIXED,
        status=None if is_backend else status(setup),
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


def command(folder: Path) -> Command:
    """What starts nginx on the files in a folder."""
    return Command.of("nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf")


def version() -> str:
    """Nginx's name and version."""
    found = re.search(r"nginx/\S+", run(Command.of("nginx", "-v"), timeout_s=30, with_stderr=True))
    return found[0] if found else "nginx, version unknown"


NGINX = Program(
    described,
    write_answers,
    configure,
    lambda folder: [command(folder)],
    version,
    parse_line,
    BODY_BYTES,
    status,
)
