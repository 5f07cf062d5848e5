"""The table of engines is whole: nothing stands alone in it, and what it names is there."""

from __future__ import annotations

import pytest

from harness.model.engine import (
    BROWSERS,
    DEFAULT_ENGINE,
    HISTORICAL_ENGINE,
    OPTIONAL_ENGINES,
    Capability,
    Driver,
    Engine,
    engines_of,
    speaking,
)
from harness.model.kind import Kind
from harness.model.metric import Source
from harness.model.protocol import Protocol
from harness.study.metrics import metrics_of, unobserved
from harness.study.rules import ABILITIES


@pytest.mark.parametrize("protocol", Protocol)
def test_each_protocol_has_an_engine_and_a_server(protocol: Protocol) -> None:
    assert speaking(protocol)
    assert any(protocol in ability.protocols for ability in ABILITIES.values())


@pytest.mark.parametrize("engine", Engine)
def test_what_an_engine_gets_by_default_fits_it(engine: Engine) -> None:
    traits = engine.traits
    assert traits.usual_protocol in traits.protocols
    assert set(traits.protocols) <= ABILITIES[traits.server].protocols
    assert engine.traits.drivers
    assert traits.devices


@pytest.mark.parametrize("driver", Driver)
def test_a_driver_knows_what_it_steers(driver: Driver) -> None:
    assert driver.engines
    assert all(driver in engine.traits.drivers for engine in driver.engines)


@pytest.mark.parametrize("engine", BROWSERS)
def test_what_an_engine_does_not_tell_is_a_metric(engine: Engine) -> None:
    metrics = metrics_of(Kind.LOAD).items()
    filmed = {key for key, each in metrics if each.source is Source.FILM and each.unit.is_number}
    told = {
        Capability.FIRST_PAINT: {"fcp_ms"},
        Capability.LARGEST_PAINT: {"lcp_ms"},
        Capability.SHIFTS: {"cls"},
        Capability.TASKS: {"tbt_ms"},
        Capability.TRACE: filmed,
    }
    for capability, told_of in told.items():
        assert engine.can(capability) == told_of.isdisjoint(unobserved(engine))


def test_the_default_engine_and_its_driver_stand_first() -> None:
    assert next(iter(Engine)) is DEFAULT_ENGINE
    assert DEFAULT_ENGINE.traits.drivers[0] is next(iter(Driver))
    assert speaking(Protocol.HTTP1)[0] is DEFAULT_ENGINE
    assert speaking(Protocol.SPDY) == (Engine.QTWEBKIT,)


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_has_engines_and_each_of_them_steers_something(kind: Kind) -> None:
    assert engines_of(kind)
    assert (kind is Kind.LOAD) == (engines_of(kind) == BROWSERS)


def test_a_generator_steers_itself_and_loads_no_page() -> None:
    generators = [engine for engine in Engine if engine not in BROWSERS]
    assert {engine.value for engine in generators} == {"k6", "wrk", "h2load", "spdy-client"}
    assert all([driver.value for driver in engine.traits.drivers] == [engine.value] for engine in generators)
    assert {*speaking(Protocol.H2)} >= {Engine.CHROMIUM, Engine.FIREFOX, Engine.WEBKIT}
    assert speaking(Protocol.H2, Kind.REQUESTS) == (Engine.H2LOAD,)
    assert speaking(Protocol.SPDY, Kind.USERS) == (Engine.SPDY_CLIENT,)


@pytest.mark.parametrize("engine", engines_of(Kind.USERS))
def test_users_are_like_a_browser_that_speaks_their_protocols_and_take_what_it_takes(engine: Engine) -> None:
    users, browser = engine.traits, engine.browser.traits
    assert engine.browser in BROWSERS
    assert set(users.protocols) <= set(browser.protocols)
    assert (users.codings, users.takes) == (browser.codings, browser.takes)


@pytest.mark.parametrize("engine", BROWSERS)
def test_a_browser_is_like_itself(engine: Engine) -> None:
    assert engine.browser is engine


def test_engines_that_a_machine_may_lack_are_browsers_and_not_the_default_one() -> None:
    lacking = {*OPTIONAL_ENGINES, HISTORICAL_ENGINE}
    assert lacking <= {engine.value for engine in BROWSERS} - {DEFAULT_ENGINE.value}


def test_the_default_engine_records_live_pages() -> None:
    assert DEFAULT_ENGINE.can(Capability.WIRE_BODIES)
