"""A study file (TOML) as one frozen, validated value. Unknown keys and impossible values are refused by name."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from harness import keys
from harness.errors import StudyError
from harness.model import (
    DEFAULT_TLS,
    DESKTOP,
    DEVICES,
    NAME_PATTERN,
    TLS_VERSIONS,
    Backend,
    Compression,
    Condition,
    Device,
    Driver,
    Engine,
    Link,
    Origins,
    Protocol,
    Replay,
    TcpSettings,
    ThinkTime,
)
from harness.servers import ABILITIES, DEFAULT_SERVERS, refuse_unless_able
from harness.study_links import links_of
from harness.variants import PLAIN, parse_variant

KEPT_FILES = ("netlog", "pcap", "screenshot")
MAX_TRIALS = 10_000
STUDY_KEYS = (
    "name",
    "title",
    "pages",
    "variants",
    "protocols",
    "links",
    "link_backend",
    "engine",
    "drivers",
    "device",
    "origins",
    "determinism",
    "compression",
    "think_time",
    "server",
    "tls",
    "tcp",
    "trials",
    "seed",
    "timeout_s",
    "keep",
)
TCP_KEYS = ("congestion_control", "initial_window", "slow_start_after_idle")


@dataclass(frozen=True)
class Study:
    """What is measured: the conditions are the product of pages, variants, protocols, links and drivers."""

    name: str
    title: str
    pages: tuple[str, ...]
    variants: tuple[str, ...]
    protocols: tuple[Protocol, ...]
    links: tuple[Link, ...]
    link_backend: Backend | None
    engine: Engine
    drivers: tuple[Driver, ...]
    device: Device
    replay: Replay
    server: str
    tcp: TcpSettings
    trials: int
    seed: int | None
    timeout_s: float
    keep: tuple[str, ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Every cell, in the order of the file."""
        cells = itertools.product(self.pages, self.variants, self.links, self.protocols, self.drivers)
        return tuple(
            Condition(
                page,
                variant,
                protocol,
                link,
                self.engine,
                driver,
                self.replay.origins,
                self.server,
                self.device,
            )
            for page, variant, link, protocol, driver in cells
        )


def read_study(path: Path) -> Study:
    """Read and validate a study file; raises StudyError with one line that names the file and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StudyError(f"no study file {path}; {_shipped_hint()}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"cannot read the study file {path}: {error}") from error
    return parse_study(text, str(path), path.parent)


def parse_study(text: str, where: str, folder: Path = Path()) -> Study:
    """`read_study` on text; `where` names it in errors, files that it names are looked for in `folder`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{where} is not TOML: {error}") from error
    try:
        return _study(data, folder)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from error


def shipped_studies() -> dict[str, Path]:
    """The studies that ship with the project, by name."""
    folder = Path(str(resources.files("configs"))) / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _shipped_hint() -> str:
    return f"shipped studies: {', '.join(str(path) for path in shipped_studies().values())}"


def _study(data: Mapping[str, Any], folder: Path) -> Study:
    keys.refuse_unknown(data, STUDY_KEYS, "the study")
    name = keys.text(data, "name")
    if not NAME_PATTERN.fullmatch(name):
        raise StudyError(f"name is {name!r}; it may hold letters, digits, '.', '_' and '-' only")
    protocols = tuple(keys.enums(data, "protocols", Protocol))
    engine = keys.enum("engine", data.get("engine", Engine.CHROMIUM), Engine)
    for protocol in protocols:
        protocol.refuse_unless_spoken_by(engine)
    server = keys.choice("server", data.get("server", DEFAULT_SERVERS[engine]), tuple(ABILITIES))
    return Study(
        name=name,
        title=keys.text(data, "title", name),
        pages=_names(data, "pages"),
        variants=_variants(data),
        protocols=protocols,
        links=links_of(data, folder),
        link_backend=keys.enum("link_backend", data["link_backend"], Backend)
        if "link_backend" in data
        else None,
        engine=engine,
        drivers=tuple(keys.enums(data, "drivers", Driver, [Driver.PLAYWRIGHT])),
        device=DEVICES[keys.choice("device", data.get("device", DESKTOP.name), tuple(DEVICES))],
        replay=_replay(data, protocols, server, engine),
        server=server,
        tcp=_tcp(data.get("tcp", {})),
        trials=int(keys.number(data, "trials", 5, 1, MAX_TRIALS, whole=True)),
        seed=int(keys.number(data, "seed", 0, 0, 2**63 - 1, whole=True)) if "seed" in data else None,
        timeout_s=keys.number(data, "timeout_s", 60, 1, 3600),
        keep=keys.choices(data, "keep", KEPT_FILES, ()),
    )


def _replay(data: Mapping[str, Any], protocols: Iterable[Protocol], server: str, engine: Engine) -> Replay:
    replay = Replay(
        origins=keys.enum("origins", data.get("origins", "single"), Origins),
        determinism=keys.truth(data, "determinism", default=Replay.determinism),
        compression=Compression.parse(keys.text(data, "compression", "recorded")),
        think_time=_think_time(data.get("think_time", "none")),
        tls=keys.choice("tls", data.get("tls", DEFAULT_TLS[engine]), TLS_VERSIONS),
    )
    refuse_unless_able(server, protocols, replay.think_time)
    replay.refuse_unless_for(protocols)
    return replay


def _think_time(value: Any) -> ThinkTime:
    if value in ("none", "recorded"):
        return ThinkTime(recorded=value == "recorded")
    if isinstance(value, str):
        raise StudyError(f'think_time: unknown {value!r}; it is "none", "recorded" or a number of ms')
    return ThinkTime(keys.checked_number("think_time", value, float("-inf"), float("inf")))


def _tcp(table: Any) -> TcpSettings:
    if not isinstance(table, dict):
        raise StudyError(f"tcp must be a table, found {table!r}")
    keys.refuse_unknown(table, TCP_KEYS, "[tcp]")
    default = TcpSettings()
    return TcpSettings(
        congestion_control=keys.text(table, "congestion_control", default.congestion_control),
        initial_window=int(keys.number(table, "initial_window", default.initial_window, 1, 1000, whole=True)),
        slow_start_after_idle=keys.truth(
            table, "slow_start_after_idle", default=default.slow_start_after_idle
        ),
    )


def _names(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = keys.entries(data, key)
    for name in found:
        if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
            raise StudyError(f"{key} holds {name!r}, which cannot be the name of an archive")
    return tuple(found)


def _variants(data: Mapping[str, Any]) -> tuple[str, ...]:
    """A variant is a text, or a list of filters and sets."""
    names = []
    for entry in keys.entries(data, "variants", [PLAIN]):
        parts = entry if isinstance(entry, list) else [entry]
        if not parts or not all(isinstance(part, str) for part in parts):
            raise StudyError(f"variants holds {entry!r}; a variant is a text or a list of filters and sets")
        names.append(parse_variant(",".join(parts)).name)
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"variants holds {name!r} twice")
    return tuple(names)
