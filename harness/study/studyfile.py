"""A study file (TOML) as a `Study`. Unknown keys and impossible values are refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.input import keys, tomltext
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.compression import RECORDED, Compression
from harness.model.condition import Origins
from harness.model.device import DESKTOP, DEVICES
from harness.model.dimensions import dimensions_of
from harness.model.engine import BROWSER_DRIVERS, BROWSERS, DEFAULT_ENGINE, Driver, Engine, speaking
from harness.model.link import Backend
from harness.model.protocol import Protocol
from harness.model.settings import TLS_VERSIONS, Replay, TcpSettings, ThinkTime
from harness.model.variant import PLAIN, Variant, factorial, parse_variant
from harness.study.abilities import ABILITIES
from harness.study.claimfile import claims_of
from harness.study.linkfile import links_of
from harness.study.rules import check, unspoken
from harness.study.study import Study
from harness.study.trials import USUAL_TRIALS, Trials

KEPT_FILES = ("netlog", "pcap", "screenshot")
STUDY_KEYS = (
    "name",
    "title",
    "pages",
    "variants",
    "protocols",
    "links",
    "link_backend",
    "engine",
    "engines",
    "drivers",
    "device",
    "origins",
    "determinism",
    "compression",
    "think_time",
    "server",
    "tls",
    "tls_resumption",
    "tcp",
    "trials",
    "seed",
    "timeout_s",
    "keep",
    "aa",
    "claims",
)
TCP_KEYS = ("congestion_control", "initial_window", "slow_start_after_idle")


def read_study(path: Path) -> Study:
    """Read and validate a study file; raises StudyError with one line that names the file and the key."""
    try:
        text = tomltext.read_text(path)
    except FileNotFoundError as error:
        raise StudyError(f"no study file {path}; {_shipped_hint()}") from error
    except tomltext.TomlRefusedError as error:
        raise StudyError(f"cannot read the study file {path}: {error}") from error
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot read the study file {path}: {why}") from error
    return parse_study(text, str(path), path.parent)


def parse_study(text: str, where: str, folder: Path = Path()) -> Study:
    """`read_study` on text; `where` names it in errors, files that it names are looked for in `folder`."""
    try:
        data = tomltext.parse(text)
    except tomltext.TomlRefusedError as error:
        raise StudyError(f"{where}: {error}") from error
    try:
        return _study(data, folder)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from error


def shipped_studies() -> dict[str, Path]:
    """The studies that ship with the project, by name."""
    folder = Path(str(resources.files("configs"))) / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _shipped_hint() -> str:
    return f"studies that ship: {', '.join(shipped_studies())}"


def _study(data: Mapping[str, Any], folder: Path) -> Study:
    keys.refuse_unknown(data, STUDY_KEYS, "the study")
    name = keys.text(data, "name")
    if not NAME_PATTERN.fullmatch(name):
        raise StudyError(f"name is {shown(name)}; it may hold letters, digits, '.', '_' and '-' only")
    protocols = tuple(keys.enums(data, "protocols", Protocol))
    engines = _engines(data, protocols)
    device = DEVICES[keys.choice("device", data.get("device", DESKTOP.name), tuple(DEVICES))]
    servers = {
        engine: keys.choice("server", value, tuple(ABILITIES))
        for engine, value in _by_engine(
            data, "server", {engine: engine.traits.server for engine in engines}
        ).items()
    }
    replays = {
        engine: _replay(data, keys.choice("tls", value, TLS_VERSIONS))
        for engine, value in _by_engine(
            data, "tls", {engine: engine.traits.tls for engine in engines}
        ).items()
    }
    study = Study(
        name=name,
        title=keys.text(data, "title", name),
        pages=_names(data, "pages"),
        variants=_variants(data),
        compressions=_compressions(data),
        protocols=protocols,
        links=links_of(data, folder),
        link_backend=keys.enum("link_backend", data["link_backend"], Backend)
        if "link_backend" in data
        else None,
        engines=engines,
        drivers=_drivers(data, engines),
        device=device,
        replays=replays,
        servers=servers,
        tcp=_tcp(keys.table("tcp", data["tcp"], TCP_KEYS) if "tcp" in data else {}),
        trials=Trials.parse(data.get("trials", USUAL_TRIALS)),
        seed=int(keys.number(data, "seed", 0, 0, 2**63 - 1, whole=True)) if "seed" in data else None,
        timeout_s=keys.number(data, "timeout_s", 60, 1, 3600),
        keep=keys.choices(data, "keep", KEPT_FILES, ()),
        aa=keys.truth(data, "aa", default=Study.aa),
    )
    for condition in study.conditions:
        check(condition, replace(replays[condition.engine], compression=condition.compression))
    for driver in study.drivers:
        if driver.engine not in engines:
            raise StudyError(f"drivers: {driver} steers {driver.engine}, which is no engine of this study")
    return replace(study, claims=claims_of(data, [dimensions_of(each) for each in study.conditions]))


def _engines(data: Mapping[str, Any], protocols: Iterable[Protocol]) -> tuple[Engine, ...]:
    """`engine` names one, `engines` several; each protocol and each engine must have something to do."""
    if "engine" in data and "engines" in data:
        raise StudyError("engine and engines: leave one of them out")
    if "engines" in data:
        engines = tuple(keys.enums(data, "engines", BROWSERS))
    else:
        engines = (keys.enum("engine", data.get("engine", DEFAULT_ENGINE), BROWSERS),)
    for protocol in protocols:
        if not set(speaking(protocol)).intersection(engines):
            raise StudyError(unspoken(protocol, engines[0]))
    for engine in engines:
        if not any(protocol in engine.traits.protocols for protocol in protocols):
            raise StudyError(f"engines: {engine} speaks none of the protocols; leave it out")
    return engines


def _drivers(data: Mapping[str, Any], engines: Iterable[Engine]) -> tuple[Driver, ...]:
    """The study's drivers; an engine for which it names none has its usual one."""
    named = tuple(keys.enums(data, "drivers", BROWSER_DRIVERS)) if "drivers" in data else ()
    steered = {driver.engine for driver in named}
    return (*named, *(engine.drivers[0] for engine in engines if engine not in steered))


def _by_engine(data: Mapping[str, Any], key: str, default: Mapping[Engine, str]) -> dict[Engine, Any]:
    """One value for all engines, or a table with one for some: `server = {qtwebkit = "nginx"}`."""
    value = data.get(key, default)
    if isinstance(value, dict) and key in data:
        keys.table(key, value, BROWSERS)
        for name in value:
            if name not in default:
                raise StudyError(f"{key}: {name} is no engine of this study; leave it out")
    return {
        engine: value.get(engine, default[engine]) if isinstance(value, dict) else value for engine in default
    }


def _replay(data: Mapping[str, Any], tls: str) -> Replay:
    """The settings of an engine that gets this version of TLS, but for the compression."""
    return Replay(
        origins=keys.enum("origins", data.get("origins", "single"), Origins),
        determinism=keys.truth(data, "determinism", default=Replay.determinism),
        think_time=ThinkTime.parse(data.get("think_time", "none")),
        tls_resumption=keys.truth(data, "tls_resumption", default=Replay.tls_resumption),
        tls=tls,
    )


def _compressions(data: Mapping[str, Any]) -> tuple[Compression, ...]:
    """One compression, or a list of several."""
    value = data.get("compression", RECORDED)
    found = []
    for entry in keys.entries(data, "compression") if isinstance(value, list) else [value]:
        if not isinstance(entry, str):
            raise StudyError(f"compression is {shown(entry)}; it must be text, or a list of texts")
        found.append(Compression.parse(entry))
        if found.count(found[-1]) > 1:
            raise StudyError(f"compression holds {shown(entry)} twice")
    return tuple(found)


def _tcp(table: Mapping[str, Any]) -> TcpSettings:
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
            raise StudyError(f"{key} holds {shown(name)}, which cannot be the name of an archive")
    return tuple(found)


def _variants(data: Mapping[str, Any]) -> tuple[Variant, ...]:
    """A list of variants, each a text or a list of filters and sets; or `{ factorial = variant }`."""
    if isinstance(data.get("variants"), dict):
        table = keys.table("variants", data["variants"], ("factorial",))
        return factorial(_variant(table.get("factorial")))
    variants = [parse_variant(_variant(entry)) for entry in keys.entries(data, "variants", [PLAIN])]
    names = [variant.name for variant in variants]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"variants holds {shown(name)} twice")
    return tuple(variants)


def _variant(entry: Any) -> str:
    parts = entry if isinstance(entry, list) else [entry]
    if not parts or not all(isinstance(part, str) for part in parts):
        raise StudyError(f"variants holds {shown(entry)}; a variant is a text or a list of filters and sets")
    return ",".join(parts)
