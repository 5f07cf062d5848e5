"""Apache httpd as the replay server of one archive, on one address per protocol.

Each response is a file that mod_asis sends and mod_rewrite finds, or for what was not recorded a script in mod_lua, see
`apachefiles`. The settings that matter
stand, explained, in configs/servers/apache.template.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.model.serversettings import USUAL, ApacheSettings
from harness.system.command import Command
from harness.system.program import run
from sites.materialise import Site
from sites.servers.apachefiles import write_answers
from sites.servers.apachelog import BODY_BYTES, LOG_FORMAT, parse_line
from sites.servers.closestfiles import scripts as closest_scripts
from sites.servers.probe import PROBE_HOST
from sites.servers.serverstatus import StatusPage, apache_status
from sites.servers.serving import Program, Setup, rendered, required

MODULE_FOLDER = Path("/usr/lib/apache2/modules")
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


@dataclass(frozen=True)
class ApacheFixed:
    """What no study sets; the template says what each is for. What a study may set: `ApacheSettings`."""

    request_line_bytes: int = 131072
    h2_window_bytes: int = 65535


@dataclass(frozen=True)
class ApacheCache:
    """Those of the cache, where a study asks for one: room, the largest answer in it, and how long answers stay.

    Shared memory is divided into 256 parts, and an answer has to fit into one of them.
    """

    cache_bytes: int = 256 * 2**20
    cache_object_bytes: int = 1_000_000
    cache_expire_s: int = 86_400


FIXED = ApacheFixed()
CACHE = ApacheCache()
STATUS_KEEP_ALIVE_S = 86_400  # longer than any study's step


def described(setup: Setup) -> dict[str, Any]:
    """All settings that may change a figure."""
    chosen = setup.settings_of(ApacheSettings)
    return {**asdict(FIXED), **chosen.described, **(asdict(CACHE) if chosen.mod_cache != "off" else {})}


def status(setup: Setup) -> StatusPage | None:
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
    page = status(setup)
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


def version() -> str:
    """Apache's name and version."""
    said = run(Command.of("apache2", "-v"), timeout_s=30)
    found = re.search(r"Apache/\S+", said)
    return found[0] if found else "Apache, version unknown"


def commands(folder: Path) -> list[Command]:
    """What starts Apache on the files in a folder."""
    return [Command.of("apache2", "-DFOREGROUND", "-d", folder, "-f", folder / "httpd.conf")]


APACHE = Program(described, write_answers, configure, commands, version, parse_line, BODY_BYTES, status)
