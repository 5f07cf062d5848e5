"""A study file (TOML) as one frozen, validated value. Unknown keys and impossible values are refused by name."""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import StudyError
from harness.model import NAME_PATTERN, Condition, Driver, Engine, Link, Origins, Protocol, TcpSettings
from harness.variants import PLAIN, parse_variant

SERVERS = ("apache",)
KEPT_FILES = ("netlog", "pcap", "screenshot")
MAX_TRIALS = 10_000
STUDY_KEYS = (
    "name",
    "title",
    "pages",
    "variants",
    "protocols",
    "links",
    "engine",
    "drivers",
    "origins",
    "server",
    "tcp",
    "trials",
    "seed",
    "timeout_s",
    "keep",
)
TCP_KEYS = ("congestion_control", "initial_window", "slow_start_after_idle")
LINK_KEYS = ("name", "down_mbps", "up_mbps", "rtt_ms", "queue_down_bytes", "queue_up_bytes", "source")

Kind = TypeVar("Kind", bound=StrEnum)


@dataclass(frozen=True)
class Study:
    """What is measured: the conditions are the product of pages, variants, protocols, links and drivers."""

    name: str
    title: str
    pages: tuple[str, ...]
    variants: tuple[str, ...]
    protocols: tuple[Protocol, ...]
    links: tuple[Link, ...]
    engine: Engine
    drivers: tuple[Driver, ...]
    origins: Origins
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
            Condition(page, variant, protocol, link, self.engine, driver, self.origins, self.server)
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
    return parse_study(text, str(path))


def parse_study(text: str, where: str) -> Study:
    """`read_study` on text; `where` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{where} is not TOML: {error}") from error
    try:
        return _study(data)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from error


def shipped_studies() -> dict[str, Path]:
    """The studies that ship with the project, by name."""
    folder = Path(str(resources.files("configs"))) / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def named_link(name: str) -> Link:
    """A link of configs/links by name."""
    folder = Path(str(resources.files("configs"))) / "links"
    known = {path.stem: path for path in folder.glob("*.toml")}
    if name not in known:
        raise StudyError(
            f"no link is named {name!r}{_nearest(name, known)}; there are: {', '.join(sorted(known))}"
        )
    data = tomllib.loads(known[name].read_text(encoding="utf-8"))
    links = _links_of({"name": name, **data})
    return links[0]


def _shipped_hint() -> str:
    return f"shipped studies: {', '.join(str(path) for path in shipped_studies().values())}"


def _study(data: Mapping[str, Any]) -> Study:
    _refuse_unknown(data, STUDY_KEYS, "the study")
    name = _text(data, "name")
    if not NAME_PATTERN.fullmatch(name):
        raise StudyError(f"name is {name!r}; it may hold letters, digits, '.', '_' and '-' only")
    return Study(
        name=name,
        title=_text(data, "title", name),
        pages=_names(data, "pages"),
        variants=_variants(data),
        protocols=tuple(_enums(data, "protocols", Protocol)),
        links=_links(data),
        engine=_enum("engine", data.get("engine", "chromium"), Engine),
        drivers=tuple(_enums(data, "drivers", Driver, [Driver.PLAYWRIGHT])),
        origins=_enum("origins", data.get("origins", "single"), Origins),
        server=_choice("server", data.get("server", "apache"), SERVERS),
        tcp=_tcp(data.get("tcp", {})),
        trials=int(_number(data, "trials", 5, 1, MAX_TRIALS, whole=True)),
        seed=int(_number(data, "seed", 0, 0, 2**63 - 1, whole=True)) if "seed" in data else None,
        timeout_s=_number(data, "timeout_s", 60, 1, 3600),
        keep=_choices(data, "keep", KEPT_FILES, ()),
    )


def _tcp(table: Any) -> TcpSettings:
    if not isinstance(table, dict):
        raise StudyError(f"tcp must be a table, found {table!r}")
    _refuse_unknown(table, TCP_KEYS, "[tcp]")
    default = TcpSettings()
    after_idle = table.get("slow_start_after_idle", default.slow_start_after_idle)
    if not isinstance(after_idle, bool):
        raise StudyError(f"slow_start_after_idle must be true or false, found {after_idle!r}")
    return TcpSettings(
        congestion_control=_text(table, "congestion_control", default.congestion_control),
        initial_window=int(_number(table, "initial_window", default.initial_window, 1, 1000, whole=True)),
        slow_start_after_idle=after_idle,
    )


def _nearest(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def _refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in data:
        if key not in known:
            raise StudyError(
                f"unknown key {key!r} in {where}{_nearest(key, known)}; known: {', '.join(known)}"
            )


def _text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise StudyError(f"{key} must be a text, found {value!r}")
    return value


def _number(
    data: Mapping[str, Any],
    key: str,
    default: float | None,
    least: float,
    most: float,
    *,
    whole: bool = False,
) -> float:
    value = data.get(key, default)
    return _checked_number(key, value, least, most, whole=whole)


def _checked_number(key: str, value: Any, least: float, most: float, *, whole: bool = False) -> float:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        hint = " (write the bare number; the unit stands in the key)" if isinstance(value, str) else ""
        raise StudyError(f"{key} must be a {'whole ' if whole else ''}number, found {value!r}{hint}")
    if not least <= value <= most:  # also refuses NaN
        raise StudyError(f"{key} is {value:g}; it must be {least:g} to {most:g}")
    return float(value) if not whole else value


def _list(data: Mapping[str, Any], key: str, default: list[Any] | None = None) -> list[Any]:
    value = data.get(key, default)
    if not isinstance(value, list) or (not value and key in data):
        raise StudyError(f"{key} must be a list with at least one entry, found {value!r}")
    for entry in value:
        if value.count(entry) > 1:
            raise StudyError(f"{key} holds {entry!r} twice")
    return value


def _names(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = _list(data, key)
    for name in names:
        if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
            raise StudyError(f"{key} holds {name!r}, which cannot be the name of an archive")
    return tuple(names)


def _choice(key: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise StudyError(f"{key}: unknown {value!r}; known: {', '.join(known)}")
    return str(value)


def _choices(
    data: Mapping[str, Any], key: str, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(_choice(key, value, known) for value in _list(data, key, list(default)))


def _variants(data: Mapping[str, Any]) -> tuple[str, ...]:
    """A variant is a text, or a list of filters and sets."""
    names = []
    for entry in _list(data, "variants", [PLAIN]):
        parts = entry if isinstance(entry, list) else [entry]
        if not parts or not all(isinstance(part, str) for part in parts):
            raise StudyError(f"variants holds {entry!r}; a variant is a text or a list of filters and sets")
        names.append(parse_variant(",".join(parts)).name)
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"variants holds {name!r} twice")
    return tuple(names)


def _enum(key: str, value: Any, kind: type[Kind]) -> Kind:
    try:
        return kind(value)
    except ValueError as error:
        known = [member.value for member in kind]
        near = _nearest(value, known) if isinstance(value, str) else ""
        raise StudyError(f"{key}: unknown {value!r}{near}; known: {', '.join(known)}") from error


def _enums(
    data: Mapping[str, Any], key: str, kind: type[Kind], default: list[Kind] | None = None
) -> list[Kind]:
    return [_enum(key, value, kind) for value in _list(data, key, default)]


def _links(data: Mapping[str, Any]) -> tuple[Link, ...]:
    links: list[Link] = []
    for entry in _list(data, "links"):
        if isinstance(entry, str):
            links.append(named_link(entry))
        elif isinstance(entry, dict):
            links.extend(_links_of(entry))
        else:
            raise StudyError(f"links holds {entry!r}; an entry is a table or the name of a link")
    names = [link.name for link in links]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"two links are named {name!r}")
    return tuple(links)


def _links_of(table: Mapping[str, Any]) -> list[Link]:
    """One link per round-trip time of the table."""
    _refuse_unknown(table, LINK_KEYS, "a link")
    for key in ("down_mbps", "rtt_ms"):
        if key not in table:
            raise StudyError(f"a link needs {key}")
    times = _list(table, "rtt_ms") if isinstance(table["rtt_ms"], list) else [table["rtt_ms"]]
    name = table.get("name")
    if name is not None and len(times) > 1:
        raise StudyError(f"link {name!r} has {len(times)} round-trip times; a named link has one")
    down = _link_number(table, "down_mbps")
    up = _link_number(table, "up_mbps") if "up_mbps" in table else down
    queues = {
        key: int(_checked_number(key, table[key], 1, 2**40, whole=True))
        for key in ("queue_down_bytes", "queue_up_bytes")
        if key in table
    }
    return [
        Link.of(
            down,
            _checked_number("rtt_ms", time, float("-inf"), float("inf")),
            up,
            name=None if name is None else str(name),
            queue_down_bytes=queues.get("queue_down_bytes"),
            queue_up_bytes=queues.get("queue_up_bytes"),
        )
        for time in times
    ]


def _link_number(table: Mapping[str, Any], key: str) -> float:
    """A number of a link; its range is the business of `Link`."""
    return _checked_number(key, table[key], float("-inf"), float("inf"))
