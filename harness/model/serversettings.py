"""What a study may set of its servers, by the servers' own names: one frozen class per program.

The defaults are those of page loads. What a study leaves out of Apache's limits follows from the rest so that, as in a
page load, all workers start with the server and stay.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.model.protocol import Protocol

LONGEST_S = 3600
MOST_WORKERS = 20_000  # of Apache's threads or processes together
# Names of other times, and settings that something else of the study decides: what to write instead.
INSTEAD = {
    "MaxClients": "MaxRequestWorkers, as it is called today",
    "MaxRequestsPerChild": "MaxConnectionsPerChild, as it is called today",
    "KeepAlive": "the protocol, which says it: http1 and https1 keep connections, http1-close and https1-close do not",
    "ThreadLimit": "ThreadsPerChild alone; the limit follows it",
    "DeflateCompressionLevel": "the study's compression, as in gzip-6-dynamic",
    "gzip_comp_level": "the study's compression, as in gzip-6-dynamic",
}


def _number(called: str, default: int | None, least: int, most: int) -> Any:
    return field(default=default, metadata={"called": called, "range": (least, most)})


def _word(called: str, default: str, *known: str) -> Any:
    return field(default=default, metadata={"called": called, "known": known})


def _truth(called: str, *, default: bool) -> Any:
    return field(default=default, metadata={"called": called})


@dataclass(frozen=True)
class ServerTemplate:
    """A user's template of a server's configuration in place of the one that ships: the name of its file, its text."""

    file: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.file} {self.sha256}"


@dataclass(frozen=True)
class ServerSettings:
    """The settings of one server. Without a `template` its configuration is made from configs/servers."""

    template: ServerTemplate | None = None

    @property
    def described(self) -> dict[str, Any]:
        """By the server's own names."""
        told = {setting.metadata["called"]: getattr(self, setting.name) for setting in settable(self)}
        return told if self.template is None else {**told, "template": str(self.template)}

    @property
    def workers(self) -> int | None:
        """How many requests, or connections, can be served at a time at most; None where nothing limits them so."""
        return None

    @property
    def slots(self) -> int | None:
        """How many connections can be open at a time at most; None where nothing limits them."""
        return None

    @property
    def slots_per_idle(self) -> int | None:
        """How many connections each idle worker lets in beside one for each worker there is; None: as many as `slots`,
        whatever the workers do.
        """
        return None

    @property
    def most_cores(self) -> int | None:
        """How many cores it can keep busy; None: all there are."""
        return None

    @property
    def logs_requests(self) -> bool:
        """Whether it writes a line per request."""
        return True

    def refuse_unless_spoken(self, protocol: Protocol) -> None:
        """StudyError when the server cannot speak a protocol under these settings."""


def settable(settings: ServerSettings) -> tuple[Field[Any], ...]:
    """What a study may set, each with the server's own name in `called`."""
    return tuple(setting for setting in fields(settings) if "called" in setting.metadata)


@dataclass(frozen=True)
class Tuning:
    """How a server is set up: its settings, None: the usual ones, and whether it tells its status while it works.

    `name` and `factor` tell it from others that serve the same (`harness.model.condition.Served`).
    """

    settings: ServerSettings | None = None
    status: bool = False
    name: str = ""
    factor: str = ""


# The mechanisms of locks between Apache's processes. Those by a lock on a file hold no thread of the same process up.
THREAD_MUTEXES = ("posixsem", "pthread", "sysvsem")
FILE_MUTEXES = ("fcntl", "flock")


@dataclass(frozen=True)
class ApacheSettings(ServerSettings):
    """Apache's: its MPM and the limits of that, connections, and a cache of answers as they are sent (`mod_cache`)."""

    mpm: str = _word("mpm", "event", "event", "worker", "prefork")
    server_limit: int = _number("ServerLimit", 1, 1, MOST_WORKERS)
    start_servers: int = _number("StartServers", 1, 1, MOST_WORKERS)
    threads_per_child: int = _number("ThreadsPerChild", 256, 1, MOST_WORKERS)
    max_request_workers: int = _number("MaxRequestWorkers", 256, 1, MOST_WORKERS)
    min_spare_threads: int = _number("MinSpareThreads", 1, 1, MOST_WORKERS)
    max_spare_threads: int = _number("MaxSpareThreads", 256, 1, MOST_WORKERS)
    min_spare_servers: int = _number("MinSpareServers", 1, 1, MOST_WORKERS)
    max_spare_servers: int = _number("MaxSpareServers", 256, 1, MOST_WORKERS)
    max_connections_per_child: int = _number("MaxConnectionsPerChild", 0, 0, 10**9)
    async_request_worker_factor: int = _number("AsyncRequestWorkerFactor", 2, 1, 1000)
    listen_backlog: int = _number("ListenBacklog", 4096, 1, 4096)  # the most that the host's kernel takes
    timeout: int = _number("Timeout", 300, 1, LONGEST_S)
    keep_alive_timeout: int = _number("KeepAliveTimeout", 300, 1, LONGEST_S)
    max_keep_alive_requests: int = _number("MaxKeepAliveRequests", 0, 0, 10**9)
    h2_streams: int = _number("H2MaxSessionStreams", 100, 1, 10_000)
    h2_min_workers: int = _number("H2MinWorkers", 64, 1, 1000)
    h2_max_workers: int = _number("H2MaxWorkers", 64, 1, 1000)
    mutex: str = _word("Mutex", "posixsem", *THREAD_MUTEXES, *FILE_MUTEXES)
    mod_cache: str = _word("mod_cache", "off", "off", "disk", "socache")

    def __post_init__(self) -> None:
        self._refuse_too_many()
        if self.threaded and self.mutex in FILE_MUTEXES:
            raise StudyError(
                f"Mutex is {self.mutex}, a lock on a file, which holds up no thread of the same process (with it the "
                f"{self.mpm} MPM's caches break); use {' or '.join(THREAD_MUTEXES)}"
            )
        if self.h2_min_workers > self.h2_max_workers:
            raise StudyError(
                f"H2MinWorkers is {self.h2_min_workers}, above H2MaxWorkers = {self.h2_max_workers}; lower it"
            )

    def _refuse_too_many(self) -> None:
        """Apache would lower such limits itself, with a line in a log that nobody reads."""
        most, per_child = self.max_request_workers, self.threads_per_child if self.threaded else 1
        if most > self.server_limit * per_child:
            threads = f" x ThreadsPerChild = {per_child}" if self.threaded else ""
            raise StudyError(
                f"MaxRequestWorkers is {most}, above ServerLimit = {self.server_limit}{threads}, which is "
                f"{self.server_limit * per_child}; raise ServerLimit to {math.ceil(most / per_child)} or leave it out"
            )
        if most % per_child:
            raise StudyError(
                f"MaxRequestWorkers is {most}; it must be a multiple of ThreadsPerChild = {per_child}, such as "
                f"{max(most // per_child, 1) * per_child}"
            )
        if self.start_servers > self.server_limit:
            raise StudyError(
                f"StartServers is {self.start_servers}, above ServerLimit = {self.server_limit}; lower it"
            )

    @property
    def threaded(self) -> bool:
        return self.mpm != "prefork"

    @property
    def workers(self) -> int:
        return self.max_request_workers

    @property
    def slots(self) -> int | None:
        """Of the event MPM, when all workers are idle (docs/mod/event.html, AsyncRequestWorkerFactor).

        The others have a worker for each connection.
        """
        per_idle = self.slots_per_idle
        return None if per_idle is None else self.workers * (1 + per_idle)

    @property
    def slots_per_idle(self) -> int | None:
        return self.async_request_worker_factor if self.mpm == "event" else None

    @property
    def described(self) -> dict[str, Any]:
        """Those that this MPM has."""
        return {name: value for name, value in super().described.items() if name not in OF_OTHERS[self.mpm]}

    def refuse_unless_spoken(self, protocol: Protocol) -> None:
        if protocol is Protocol.H2 and not self.threaded:
            raise StudyError(
                f"Apache's prefork MPM speaks no HTTP/2, but {protocol} is asked for; use worker or event"
            )


OF_THREADS = frozenset({"ThreadsPerChild", "MinSpareThreads", "MaxSpareThreads"})
OF_PROCESSES = frozenset({"MinSpareServers", "MaxSpareServers"})
OF_EVENT = frozenset({"AsyncRequestWorkerFactor"})
OF_OTHERS = {"event": OF_PROCESSES, "worker": OF_PROCESSES | OF_EVENT, "prefork": OF_THREADS | OF_EVENT}


@dataclass(frozen=True)
class NginxSettings(ServerSettings):
    """nginx's: its processes, their connections, how it sends, and whether it logs requests.

    With `sendfile` and `tcp_nopush` answers to pipelined requests share packets; over TLS neither has an effect.
    Without a log nothing of nginx proves protocols.
    """

    worker_processes: int = _number("worker_processes", 2, 1, 512)
    worker_connections: int = _number("worker_connections", 4096, 16, 10_000)
    keepalive_timeout: int = _number("keepalive_timeout", 300, 1, LONGEST_S)
    keepalive_requests: int = _number("keepalive_requests", 1_000_000, 1, 10**9)
    h2_streams: int = _number("http2_max_concurrent_streams", 128, 1, 10_000)
    sendfile: bool = _truth("sendfile", default=False)
    tcp_nopush: bool = _truth("tcp_nopush", default=False)
    access_log: bool = _truth("access_log", default=True)

    def __post_init__(self) -> None:
        if self.tcp_nopush and not self.sendfile:
            raise StudyError(
                "tcp_nopush has no effect without sendfile; set sendfile = true, or leave it out"
            )

    @property
    def slots(self) -> int:
        return self.worker_processes * self.worker_connections

    @property
    def most_cores(self) -> int:
        return self.worker_processes

    @property
    def logs_requests(self) -> bool:
        return self.access_log


@dataclass(frozen=True)
class CaddySettings(ServerSettings):
    """Caddy's: how long it keeps idle connections, how many threads run at a time (None: one per core), and whether it
    counts requests in hand, which costs it an eighth more CPU for each.
    """

    idle_timeout: int = _number("idle_timeout", 300, 1, LONGEST_S)
    gomaxprocs: int | None = _number("GOMAXPROCS", None, 1, 512)
    metrics: bool = _truth("metrics", default=False)

    @property
    def most_cores(self) -> int | None:
        return self.gomaxprocs


@dataclass(frozen=True)
class GatewaySettings(ServerSettings):
    """The gateway's: whether the browser's windows of SPDY limit what is sent, and whether answers of a higher priority
    go first. It is one process with one thread, and nginx behind it.
    """

    spdy_flow_control: bool = _truth("spdy_flow_control", default=True)
    spdy_priorities: bool = _truth("spdy_priorities", default=False)

    @property
    def most_cores(self) -> int:
        return 1 + NginxSettings().worker_processes


USUAL: Mapping[str, ServerSettings] = {
    "apache": ApacheSettings(),
    "caddy": CaddySettings(),
    "nginx": NginxSettings(),
    "spdy-gateway": GatewaySettings(),
}


def server_settings(program: str, table: Mapping[str, Any]) -> ServerSettings:
    """The settings of a server from its table in a study; StudyError with one line about the first mistake."""
    usual = USUAL[keys.choice("program", program, tuple(USUAL))]
    known = {setting.metadata["called"]: setting for setting in settable(usual)}
    for key in table:
        if key in INSTEAD:
            raise StudyError(f"{key} cannot be set for {program}; instead use {INSTEAD[key]}")
    keys.refuse_unknown(table, tuple(known), f"the settings of {program}")
    given = {known[key].name: _checked(key, value, known[key].metadata) for key, value in table.items()}
    if isinstance(usual, ApacheSettings):
        _refuse_those_of_other_mpms(table)
        given = _completed(given)
    return replace(usual, **given)


def _checked(key: str, value: Any, allowed: Mapping[str, Any]) -> Any:
    if "range" in allowed:
        return keys.checked_number(key, value, *allowed["range"], whole=True)
    if "known" in allowed:
        return keys.choice(key, value, allowed["known"])
    return keys.truth({key: value}, key, default=False)


def _refuse_those_of_other_mpms(table: Mapping[str, Any]) -> None:
    mpm = table.get("mpm", ApacheSettings.mpm)
    for key in table:
        if key in OF_OTHERS[mpm]:
            owners = [other for other, lacking in OF_OTHERS.items() if key not in lacking]
            raise StudyError(
                f"{key} means nothing to Apache's {mpm} MPM; leave it out, or use {' or '.join(owners)}"
            )


def _completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Apache's limits, with what the study leaves out: all workers start with the server and stay."""
    usual = ApacheSettings()
    prefork = given.get("mpm") == "prefork"
    limit = given.get("server_limit")
    per_child = 1 if prefork else given.get("threads_per_child")
    most = given.get("max_request_workers")
    if most is None and per_child:
        most = per_child * (limit or max(usual.workers // per_child, 1))
    most = most or usual.workers
    if per_child is None:
        per_child = math.ceil(most / limit) if limit else most
    limit = limit or math.ceil(most / per_child)
    settings = {
        "threads_per_child": usual.threads_per_child if prefork else per_child,
        "max_request_workers": most,
        "server_limit": limit,
        "start_servers": min(limit, math.ceil(most / per_child)),
        "max_spare_servers" if prefork else "max_spare_threads": most,
        "h2_min_workers": min(usual.h2_min_workers, given.get("h2_max_workers", usual.h2_max_workers)),
        "h2_max_workers": max(usual.h2_max_workers, given.get("h2_min_workers", 0)),
        **given,
    }
    _refuse_spare_that_apache_changes(given, settings, per_child)
    return settings


def _refuse_spare_that_apache_changes(
    given: Mapping[str, Any], found: Mapping[str, Any], per_child: int
) -> None:
    """Apache raises a MaxSpare... that is too near to MinSpare... without a word."""
    for kind in ("threads", "servers"):
        least = found.get(f"min_spare_{kind}", 1) + per_child
        if f"max_spare_{kind}" in given and given[f"max_spare_{kind}"] < least:
            name = kind.capitalize()
            raise StudyError(
                f"MaxSpare{name} is {given[f'max_spare_{kind}']}; Apache makes at least MinSpare{name}"
                f"{' + ThreadsPerChild' if kind == 'threads' else ' + 1'} = {least} of it; raise it or leave it out"
            )
