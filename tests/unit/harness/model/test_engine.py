"""The table of engines is whole: nothing stands alone in it, and what it names is there."""

from __future__ import annotations

import pytest

from harness.model.engine import DEFAULT_ENGINE, Driver, Engine, speaking
from harness.model.metric import Source
from harness.model.observation import METRICS
from harness.model.protocol import Protocol
from harness.study.abilities import ABILITIES


@pytest.mark.parametrize("protocol", Protocol)
def test_each_protocol_has_an_engine_and_a_server(protocol: Protocol) -> None:
    assert speaking(protocol)
    assert any(protocol in ability.protocols for ability in ABILITIES.values())


@pytest.mark.parametrize("engine", Engine)
def test_what_an_engine_gets_by_default_fits_it(engine: Engine) -> None:
    traits = engine.traits
    assert traits.usual_protocol in traits.protocols
    assert set(traits.protocols) <= ABILITIES[traits.server].protocols
    assert engine.drivers
    assert traits.devices


@pytest.mark.parametrize("engine", Engine)
def test_what_an_engine_does_not_tell_is_a_metric(engine: Engine) -> None:
    nowhere = {key for key, each in METRICS.items() if each.source is Source.NOWHERE}
    assert nowhere <= engine.traits.unseen <= METRICS.keys()
    assert engine.traits.tells_of_paints == ("fcp_ms" not in engine.traits.unseen)


def test_the_default_engine_and_its_driver_stand_first() -> None:
    assert next(iter(Engine)) is DEFAULT_ENGINE
    assert DEFAULT_ENGINE.drivers[0] is next(iter(Driver))
    assert speaking(Protocol.HTTP1)[0] is DEFAULT_ENGINE
    assert speaking(Protocol.SPDY) == (Engine.QTWEBKIT,)
