"""nginx as the replay server of one archive, on one address per protocol (all but h3).

Each response is a file that nginx sends; a script in its Lua module finds it and sets status and headers, see
`nginxfiles`. The settings that matter stand, explained, in configs/servers/nginx.template.

What differs from other servers: a path with a broken percent-encoding (/100%) or that leads out of the root (/..%2f) is
refused with 400 before any rule, and every answer with a body says Accept-Ranges.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jinja2

from harness.command import Command
from harness.errors import EnvironmentLacks
from harness.model import TLS_VERSIONS
from harness.process import run, running
from sites.certificates import Authority
from sites.materialise import Site
from sites.servers import Server, Service, names_at, refuse_without_site
from sites.servers.nginxfiles import write_answers
from sites.servers.nginxlog import LOG_FORMAT, parse_line
from sites.servers.probe import all_answer
from sites.urls import DEFAULT_PORTS

MODULE_FOLDER = Path("/usr/lib/nginx/modules")
READY_TIMEOUT_S = 60.0  # enough to read thousands of certificates


@dataclass(frozen=True)
class Settings:
    """What may be set; the template says what each is for."""

    workers: int = 2
    timeout_s: int = 300
    header_bytes: int = 131072
    h2_streams: int = 128
    h2_chunk_bytes: int = 8192


@contextlib.contextmanager
def serving(
    sites: Mapping[str, Site],
    services: Sequence[Service],
    authority: Authority,
    folder: Path,
    *,
    network: Path | None,
    on_host: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    tls: str = TLS_VERSIONS[0],
) -> Iterator[Server]:
    """Serve the sites (by scheme) on the services; every file of the server lies in `folder`."""
    settings = Settings()
    refuse_without_site(sites, services)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, site in sites.items():
        write_answers(folder / scheme, site)
    script = importlib.resources.files("sites.servers") / "answers.lua"
    (folder / "answers.lua").write_text(script.read_text(encoding="utf-8"))
    certificates = authority.certificate_files(sites["https"].names if "https" in sites else (), folder)
    text = configuration(
        folder, sites, services, certificates, key_file=authority.key_file, settings=settings, tls=tls
    )
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    log = folder / "access.log"
    log.touch()

    def ready() -> bool:
        with on_host():
            return all_answer(services, sites, authority)

    command = Command.of("nginx", "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf")
    with running(
        command.on(network).as_ordinary_user(),
        folder / "error.log",
        ready=ready,
        ready_timeout_s=READY_TIMEOUT_S,
    ) as process:
        described = {"server": version(), "certificates": len(certificates), "tls": tls, **asdict(settings)}
        yield Server(process, log, described, parse_line)


def configuration(
    folder: Path,
    sites: Mapping[str, Site],
    services: Sequence[Service],
    certificates: Mapping[str, Path],
    *,
    key_file: Path,
    settings: Settings,
    tls: str,
) -> str:
    """The text of nginx.conf. `certificates` are the files by host name."""
    for module in ("ndk_http_module", "ngx_http_lua_module"):
        if not (MODULE_FOLDER / f"{module}.so").is_file():
            raise EnvironmentLacks(
                f"nginx's {module} is not in {MODULE_FOLDER}; install the Debian package libnginx-mod-http-lua"
            )
    template = importlib.resources.files("configs") / "servers" / "nginx.template"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701 - not HTML
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        folder=folder,
        module_folder=MODULE_FOLDER,
        settings=settings,
        tls=tls,
        key_file=key_file.resolve(),
        log_format=LOG_FORMAT,
        services=[_service(service, sites[service.protocol.scheme], certificates) for service in services],
    )


def _service(service: Service, site: Site, certificates: Mapping[str, Path]) -> dict[str, object]:
    """What the template needs of one service; the first name's server also answers unknown names."""
    secure = service.protocol.scheme == "https"
    return {
        "protocol": service.protocol,
        "address": f"[{service.address}]" if ":" in service.address else service.address,
        "scheme": service.protocol.scheme,
        "wire": service.protocol.wire,
        "keep_alive": service.protocol.keep_alive,
        "ports": (DEFAULT_PORTS[service.protocol.scheme], *site.ports),
        "certificates": {name: certificates[name] for name in names_at(service, site) if secure},
    }


def version() -> str:
    """Nginx's name and version."""
    found = re.search(r"nginx/\S+", run(Command.of("nginx", "-v"), timeout_s=30, with_stderr=True))
    return found[0] if found else "nginx, version unknown"
