"""What a study file says of what makes the load: `engine`, `engines` and `drivers`, or `generator`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.model.engine import (
    BROWSER_DRIVERS,
    BROWSERS,
    DEFAULT_ENGINE,
    Driver,
    Engine,
    engines_of,
    speaking,
)
from harness.model.kind import Kind
from harness.model.protocol import Protocol
from harness.study.rules import unspoken


def engines_in(data: Mapping[str, Any], kind: Kind, protocols: Iterable[Protocol]) -> tuple[Engine, ...]:
    """What the study names, or the usual one; each protocol and each engine must have something to do."""
    engines = _browsers(data) if kind is Kind.LOAD else _generators(data, kind)
    for protocol in protocols:
        if not set(speaking(protocol, kind)).intersection(engines):
            raise StudyError(unspoken(protocol, engines[0], kind))
    for engine in engines:
        if not any(protocol in engine.traits.protocols for protocol in protocols):
            key = "engines" if kind is Kind.LOAD else "generator"
            raise StudyError(f"{key}: {engine} speaks none of the protocols; leave it out")
    return engines


def drivers_in(data: Mapping[str, Any], engines: Iterable[Engine]) -> tuple[Driver, ...]:
    """The study's drivers; an engine for which it names none has its usual one."""
    named = tuple(keys.enums(data, "drivers", BROWSER_DRIVERS)) if "drivers" in data else ()
    steered = {driver.engine for driver in named}
    return (*named, *(engine.drivers[0] for engine in engines if engine not in steered))


def by_engine(data: Mapping[str, Any], key: str, default: Mapping[Engine, str]) -> dict[Engine, Any]:
    """One value for all engines, or a table with one for some: `server = {qtwebkit = "nginx"}`."""
    value = data.get(key, default)
    if isinstance(value, dict) and key in data:
        keys.table(key, value, tuple(Engine))
        for name in value:
            if name not in default:
                raise StudyError(f"{key}: {name} is no engine of this study; leave it out")
    return {
        engine: value.get(engine, default[engine]) if isinstance(value, dict) else value for engine in default
    }


def _browsers(data: Mapping[str, Any]) -> tuple[Engine, ...]:
    """`engine` names one, `engines` several."""
    if "engine" in data and "engines" in data:
        raise StudyError("engine and engines: leave one of them out")
    if "engines" in data:
        return tuple(keys.enums(data, "engines", BROWSERS))
    return (keys.enum("engine", data.get("engine", DEFAULT_ENGINE), BROWSERS),)


def _generators(data: Mapping[str, Any], kind: Kind) -> tuple[Engine, ...]:
    """`generator` names one or a list of several."""
    able = engines_of(kind)
    value = data.get("generator", able[0])
    if isinstance(value, list):
        return tuple(keys.enums(data, "generator", able))
    return (keys.enum("generator", value, able),)
