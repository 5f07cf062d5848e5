"""What makes the loads of a study: engines, their drivers, what is observed of a page, and how much load there is."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.engine import (
    BROWSER_DRIVERS,
    BROWSERS,
    DEFAULT_ENGINE,
    Capability,
    Driver,
    Engine,
    engines_of,
    speaking,
)
from harness.model.kind import AT_REST, FILM, TRACE, VITALS, Kind, Requests, Users, Workload
from harness.model.protocol import Protocol
from harness.study.metrics import metrics_of
from harness.study.rules import unspoken

if TYPE_CHECKING:
    from harness.model.metric import Metric

# What is observed of a page, by the words that ask for it, and what an engine must offer for that.
NEEDED: Mapping[str, Capability] = {
    TRACE: Capability.TRACE,
    FILM: Capability.TRACE,
    VITALS: Capability.LARGEST_PAINT,
}


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
    steered = {engine for driver in named for engine in driver.engines}
    usual = (engine.traits.drivers[0] for engine in engines if engine not in steered)
    return tuple(dict.fromkeys((*named, *usual)))


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


def _asked_for(metrics: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    """The metrics of loads that are only known where a study asks for their probe."""
    for key in metrics:
        metric = metrics_of(Kind.LOAD).get(key)
        if metric is not None and metric.asked_by is not None:
            yield key, metric


def refuse_blind(asked: Iterable[str], engines: Collection[Engine]) -> None:
    """StudyError for a trace or film of an engine that has none, and for vitals that no engine of the study has.

    A load that is traced or filmed takes longer, so it must not stand beside one of an engine that cannot be. Vitals
    are looked at when the load has ended: beside engines that have none those of the others are had.
    """
    for word in asked:
        needed = NEEDED.get(word)
        blind = [engine for engine in engines if needed is not None and not engine.can(needed)]
        if blind and (word != VITALS or len(blind) == len(engines)):
            able = ", ".join(browser for browser in BROWSERS if needed is not None and browser.can(needed))
            raise StudyError(
                f"{word} of {blind[0]} cannot be had; leave {word} out, or choose an engine that can ({able})"
            )


def vitals_in(
    data: Mapping[str, Any], kept: Collection[str], metrics: Iterable[str], engines: Collection[Engine]
) -> bool:
    """The study's `vitals`; left out, they are observed when the study is about one of them.

    Observing takes 2 to 10 s a trial, which a study of page-load times alone should not pay. What is kept of pages at
    rest takes it, too. StudyError when a metric of claims or figures would not be observed.
    """
    about = list(metrics)
    wanted = next((key for key, metric in _asked_for(about) if metric.asked_by == VITALS), None)
    vitals = keys.truth(data, VITALS, default=wanted is not None or not AT_REST.isdisjoint(kept))
    if vitals and VITALS in data:
        refuse_blind([VITALS], engines)
    if wanted is not None and not vitals:
        raise StudyError(f"vitals is false, and the study is about {wanted}; leave vitals out, or {wanted}")
    if FILM in kept and not vitals:
        raise StudyError(
            f"vitals is false, and a film goes on until the page rests; leave vitals out, or {FILM}"
        )
    refuse_unobserved("the study is about", about, vitals=vitals, kept=kept)
    return vitals


def refuse_unobserved(why: str, metrics: Iterable[str], *, vitals: bool, kept: Collection[str]) -> None:
    """StudyError, in a line that begins with `why`, for the first metric of loads that would not be observed."""
    for key, metric in _asked_for(metrics):
        if metric.asked_by == VITALS:
            if not vitals:
                raise StudyError(f"{why} {key}, which a load tells that is observed; say vitals = true")
        elif metric.asked_by not in kept:
            raise StudyError(f'{why} {key}, which a {metric.source} tells; say keep = ["{metric.asked_by}"]')


USERS_KEYS = (
    *("from", "to", "over_s", "steps", "step_s"),
    *("think_s", "page_timeout_s", "bucket_s", "slower_than_s"),
)
REQUESTS_KEYS = ("connections", "depth", "seconds", "warm_s")
MAX_ENTRIES = 50


def workloads_of(data: Mapping[str, Any], kind: Kind) -> tuple[Workload | None, ...]:
    """One crowd, or a loop for every number of connections and depth; a load has none."""
    if kind is Kind.USERS:
        return (_users(_needed(data, "users", USERS_KEYS, "from = 1, to = 100, over_s = 60")),)
    if kind is Kind.REQUESTS:
        return _loops(_needed(data, "requests", REQUESTS_KEYS, "connections = [16, 64]"))
    return (None,)


def _needed(data: Mapping[str, Any], key: str, known: tuple[str, ...], example: str) -> Mapping[str, Any]:
    if key not in data:
        raise StudyError(f"a study of kind {key} needs a table [{key}], as in {key} = {{{example}}}")
    return keys.table(key, data[key], known)


def _users(table: Mapping[str, Any]) -> Users:
    values = {("start" if key == "from" else key): value for key, value in table.items()}
    if "steps" in values:
        values["steps"] = tuple(keys.entries(table, "steps"))
    return Users(**values)


def _loops(table: Mapping[str, Any]) -> tuple[Requests, ...]:
    times = {key: table[key] for key in ("seconds", "warm_s") if key in table}
    return tuple(
        Requests(connections=connections, depth=depth, **times)
        for connections, depth in itertools.product(
            _listed(table, "connections", None), _listed(table, "depth", 1)
        )
    )


def _listed(table: Mapping[str, Any], key: str, default: int | None) -> list[Any]:
    """One number, or a list of several."""
    value = table.get(key, default)
    if value is None:
        raise StudyError(f"requests: {key} is missing; give a number or a list, as in {key} = [16, 64]")
    numbers = keys.entries(table, key) if isinstance(value, list) else [value]
    if len(numbers) > MAX_ENTRIES:
        raise StudyError(f"{key} is {shown(value)}; it may hold {MAX_ENTRIES} entries")
    return numbers
