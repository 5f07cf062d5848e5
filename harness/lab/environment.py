"""What a run was made on and with: machine, kernel, versions, settings. Stored as environment.json."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import harness
from harness.engines import fonts
from harness.engines.browsers import browser_settings
from harness.errors import ColdloadError, EnvironmentLacks
from harness.lab.emulated import linkem_program
from harness.lab.preflight import debian_packages, debian_release
from harness.lab.testbed import SERVERS, Testbed
from harness.model.condition import RECORDED_COMPRESSION, Compression
from harness.model.engine import Engine
from harness.model.settings import NameSide, TcpSettings
from harness.study.study import EngineSetup, Study
from harness.system import roots
from harness.system.enclosure import is_machines_root
from harness.system.files import utc_now
from harness.system.program import Command, run, version_line
from sites.archive import Archive
from sites.optimise.derive import report_of

Programs = Mapping[str, Callable[[], str]]  # by name, each with what asks for its version


class MachineFacts(TypedDict):
    """Hardware and kernel."""

    system: str | None
    """name of the distribution"""
    kernel: str
    """release of the kernel"""
    architecture: str
    """as the kernel names it"""
    processor: str | None
    """model of the processor; null where the kernel does not tell"""
    cores: int
    """CPUs that coldload may use"""
    memory_kib: int
    """memory of the machine"""
    load_average: list[float]
    """the kernel's, over 1, 5 and 15 minutes"""
    python: str
    """version of Python"""
    as_root: bool
    """whether coldload ran as the machine's root"""


class DebianFacts(TypedDict):
    """The distribution."""

    release: str | None
    """release of Debian; null on another distribution"""
    packages: Mapping[str, str] | None
    """versions of the packages that coldload asks for; null where nothing tells of them"""
    roots: Mapping[str, Mapping[str, Any]]
    """roots in use, by their purpose: `release`, `made_utc`, `packages`"""


class ReplaySettings(TypedDict):
    """How archives are served, and how far the hosts of a page are beyond the link."""

    origins: str
    """one server address for all hosts, or those of the recording"""
    determinism: bool
    """whether pages get the same chance and date in every load"""
    compression: list[str]
    """how text travels: all that were measured"""
    think_time: str
    """how long the server waits before it answers"""
    dns: NotRequired[str]
    """on which side of the link names are looked up; absent for the server's"""
    distance: NotRequired[str]
    """what the study says of distances; absent where all hosts are equally far"""
    distances_ms: NotRequired[Mapping[str, Mapping[str, float]]]
    """how far each host is beyond the link, by archive"""


class ServedBy(TypedDict):
    """What answers an engine."""

    name: str
    """name of the server in the study"""
    program: NotRequired[str]
    """what it runs; absent for a server that the study does not set up"""
    tls: str
    """version of TLS"""
    tls_resumption: bool
    """whether the connections of a load may resume its TLS sessions"""
    settings: Mapping[str, Mapping[str, object]]
    """settings by archive and compression; `certificate_...` is what the server sends in a handshake"""


class FactorSettings(TypedDict):
    """What may be otherwise with a factor, whether it is or not."""

    tcp: Mapping[str, Any]
    """TCP settings of both hosts"""
    replay: ReplaySettings
    """how archives are served"""
    servers: Mapping[str, ServedBy]
    """what answers, by engine"""


# `with` is no name of Python, so that its text cannot stand below it.
_With = TypedDict("_With", {"with": Annotated[str, "what recorded it"]})


class ServedArchive(_With):
    """An archive of the run."""

    digest: str
    """digest of the content"""
    start_url: str
    """URL of the page"""
    addresses: list[list[str]]
    """hosts that share a server address; empty: all do"""
    notes: list[str]
    """notes of the recording"""
    changed_for_replay: Mapping[str, list[str]]
    """what was changed so that the page can be replayed, by scheme and compression"""
    unchanged: NotRequired[list[str]]
    """of a variant that is its original: what each filter left alone, and why; absent for others"""


class Environment(TypedDict):
    """environment.json."""

    taken_utc: str
    """when the run was begun"""
    coldload: str
    """version of coldload"""
    machine: MachineFacts
    """hardware and kernel"""
    debian: DebianFacts
    """the distribution"""
    programs: Mapping[str, str | None]
    """version of each program; null where it is missing"""
    packages: Mapping[str, str]
    """versions of Python's packages"""
    link: Mapping[str, Any]
    """`backend`: devices of the emulator; `tcp`: TCP settings of both hosts"""
    fonts: Mapping[str, Any]
    """how many `fonts` the browsers had, and a `digest` of their names, styles and versions"""
    browser: Mapping[str, object]
    """Chromium's `flags`, `preferences` and `unresolved` names; settings of others by engine"""
    replay: ReplaySettings
    """how archives are served"""
    servers: Mapping[str, ServedBy]
    """what answers, by engine (and server, where it has several)"""
    factors: NotRequired[Mapping[str, FactorSettings]]
    """what is so with each factor, by its name; absent without factors"""
    archives: Mapping[str, ServedArchive]
    """archives of the run, by name"""
    study: Mapping[str, Any]
    """`timeout_s` and `keep` of the study"""
    lanes: NotRequired[list[Mapping[str, Any]]]
    """`lane`, `cpus` and memory (`memory_gib`) of each lane; absent without lanes"""
    continued: NotRequired[list[Environment]]
    """the same of each later call of the run; absent where there was none"""


PACKAGES = ("selenium", "playwright", "warcio", "cryptography", "numpy", "pandas", "scipy", "matplotlib")


def describe_environment(
    testbed: Testbed, archives: Mapping[Engine, Mapping[str, Archive]], study: Study, browsers: Programs
) -> Environment:
    """Everything that may change a figure and is not in the study itself.

    `archives` are those of each engine, `browsers` what engines run by.
    """
    told: Environment = {
        "taken_utc": utc_now(),
        "coldload": harness.__version__,
        "machine": describe_machine(),
        "debian": _distribution(),
        "programs": program_versions(browsers),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "link": {"backend": testbed.device.value, "tcp": _tcp(testbed.tcp)},
        "fonts": fonts.described(),
        "browser": browser_settings({setup.engine for part in study.parts for setup in part.setups}),
        "replay": _replay(testbed, study),
        "servers": _servers(testbed, study),
        "archives": {
            name: _archive(testbed, archive) for name, archive in distinct_archives(archives).items()
        },
        "study": {"timeout_s": study.timeout_s, "keep": list(study.keep)},
    }
    if study.factors:
        told["factors"] = {part.factor: _factor(testbed, part) for part in study.factors}
    return told


def _archive(testbed: Testbed, archive: Archive) -> ServedArchive:
    told: ServedArchive = {
        "digest": archive.digest,
        "start_url": archive.start_url,
        "with": archive.captured_with,
        "addresses": [list(hosts) for hosts in _groups(testbed, archive.name)],
        "notes": list(archive.notes),
        "changed_for_replay": _replay_notes(testbed, archive.name),
    }
    report = report_of(archive.folder)
    if report is not None and report.unchanged:
        told["unchanged"] = list(report.why_unchanged)
    return told


def _replay(testbed: Testbed, study: Study) -> ReplaySettings:
    """How archives are served by a study or factor, and how far its pages' hosts are beyond the link."""
    replay = study.setups[0].replays[0]  # the others differ in TLS and compression alone
    told: ReplaySettings = {
        "origins": replay.origins.value,
        "determinism": replay.determinism,
        "compression": [str(compression) for compression in study.compressions],
        "think_time": str(replay.think_time),
    }
    if replay.dns is not NameSide.SERVER:
        told["dns"] = replay.dns.value
    if replay.distance:
        told["distance"] = str(replay.distance)
        told["distances_ms"] = _distances(testbed, study.factor)
    return told


def _distances(testbed: Testbed, factor: str) -> dict[str, dict[str, float]]:
    """How far each host is beyond the link, in ms, by archive."""
    return {
        name: {
            host: endpoint.distances_ms.get(service.address, 0.0)
            for service in endpoint.services[1:]
            for host in service.hosts or ()
        }
        for (name, *_, changed), endpoint in testbed.endpoints.items()
        if changed == factor
    }


def _servers(testbed: Testbed, study: Study) -> dict[str, ServedBy]:
    """The servers of a study or factor, by engine."""
    return {_served(study, setup): _served_by(testbed, setup, study.factor) for setup in study.setups}


def _served_by(testbed: Testbed, setup: EngineSetup, factor: str) -> ServedBy:
    told: ServedBy = {
        "name": setup.server.name,
        "tls": setup.replays[0].tls,
        "tls_resumption": setup.replays[0].tls_resumption,
        "settings": _server_settings(testbed, setup, factor),
    }
    if setup.server.settings is not None:
        told["program"] = setup.server.program
    return told


def _tcp(tcp: TcpSettings) -> dict[str, Any]:
    """The settings of both hosts; that destinations are not remembered, which is usual, is left out."""
    return {
        name: value
        for name, value in asdict(tcp).items()
        if (name, value) != ("remembers_destinations", False)
    }


def _factor(testbed: Testbed, part: Study) -> FactorSettings:
    """What may be otherwise with a factor, whether it is or not."""
    return {"tcp": _tcp(part.tcp), "replay": _replay(testbed, part), "servers": _servers(testbed, part)}


def _replay_notes(testbed: Testbed, page: str) -> dict[str, list[str]]:
    """What was changed of an archive so that it can be replayed, by scheme and compression."""
    return {
        _with(compression, endpoint.protocol.scheme): list(endpoint.site.notes)
        for (name, _, _, compression, *_), endpoint in testbed.endpoints.items()
        if name == page
    }


def _groups(testbed: Testbed, page: str) -> tuple[tuple[str, ...], ...]:
    """The hosts of a page that have an address of their own together; () when all names have the same one.

    () also where nothing serves it, as when the only engine that loads it is missing.
    """
    groups = (endpoint.groups for (name, *_), endpoint in testbed.endpoints.items() if name == page)
    return next(groups, ())


def _served(study: Study, setup: EngineSetup) -> str:
    """The engine, with its server where it has several: `k6, nginx`."""
    several = len(study.servers[setup.engine]) > 1
    return f"{setup.engine}, {setup.server}" if several else setup.engine.value


def _server_settings(testbed: Testbed, setup: EngineSetup, factor: str) -> dict[str, Mapping[str, object]]:
    """The settings that matter of the replay servers of a setup, by archive and compression."""
    return {
        _with(compression, name): endpoint.server.settings
        for (name, _, engine, compression, server, changed), endpoint in testbed.endpoints.items()
        if engine is setup.engine and server in ("", setup.server.name) and changed == factor
    }


def _with(compression: Compression, what: str) -> str:
    """As in `agency, gzip-6`; what is compressed as it was recorded goes without saying."""
    return what if compression == RECORDED_COMPRESSION else f"{what}, {compression}"


def distinct_archives(archives: Mapping[Engine, Mapping[str, Archive]]) -> dict[str, Archive]:
    """The archives by name; where engines get other bytes, one for each, as in `agency--core, qtwebkit`."""
    named_archives: dict[str, Archive] = {}
    for engine, made in archives.items():
        for name, archive in made.items():
            others = {collection[name].digest for collection in archives.values() if name in collection}
            named_archives.setdefault(name if len(others) == 1 else f"{name}, {engine}", archive)
    return named_archives


def describe_machine() -> MachineFacts:
    """Hardware and kernel."""
    return {
        "system": _os_name(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_kib": int((_proc_value("/proc/meminfo", "MemTotal") or "0 kB").split()[0]),
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
        "as_root": is_machines_root(),
    }


def processor() -> str | None:
    """The model of the processor; None where the kernel does not tell."""
    return _proc_value("/proc/cpuinfo", "model name")


def program_versions(browsers: Programs) -> dict[str, str | None]:
    """Name and version of each program as it says them; None where it is missing."""
    asked: Programs = {
        **browsers,
        "dnsmasq": partial(version_line, "dnsmasq", "--version"),
        "linkem": partial(version_line, str(linkem_program()), "--version"),
        **{name: server.version for name, server in SERVERS.items()},
    }
    return {name: _unless_missing(ask) for name, ask in asked.items()}


def _unless_missing(ask: Callable[[], str]) -> str | None:
    try:
        return ask()
    except EnvironmentLacks:
        return None


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _proc_value(path: str, key: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _distribution() -> DebianFacts:
    return {
        "release": debian_release() or None,
        "packages": _versions([package.name for package in debian_packages() if package.is_offered]),
        "roots": {
            purpose: {"release": root.release, "made_utc": root.made_utc, "packages": _listed(root)}
            for purpose, root in _roots_in_use().items()
        },
    }


def _roots_in_use() -> Mapping[str, roots.Root]:
    """The roots that a run would use, by their purpose."""
    candidates = {
        roots.Purpose.LAB: roots.around(),
        roots.Purpose.HISTORICAL: roots.of_the_historical_engine(),
    }
    return {purpose.value: root for purpose, root in candidates.items() if root is not None}


def _versions(names: list[str]) -> dict[str, str] | None:
    with contextlib.suppress(ColdloadError):  # no dpkg, as on another distribution
        query = Command.of("dpkg-query", "--show", r"--showformat=${Package} ${Version}\n", *names)
        rows = (line.split() for line in run(query, ok_codes=(0, 1)).splitlines())
        return {row[0]: row[1] for row in rows if len(row) == 2}
    return None


def _listed(root: roots.Root) -> dict[str, str]:
    names = {package.name for package in debian_packages()}
    return {name: version for name, version in root.packages.items() if name in names}
