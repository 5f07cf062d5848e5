"""A link in the words of the emulator, which checks them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.lab.emulated import linkem_program, specification
from harness.model.link import Direction, Discipline, GilbertElliott, Queue, RandomLoss, Way
from harness.model.rate import ConstantRate, RateFormat, RecordedRate
from harness.system.program import Command, run

PLAIN = Direction(Way.DOWN, ConstantRate(1.6), Queue(Discipline.DROP_TAIL, 45_000))
TRACE = RecordedRate.of(RateFormat.TRACE, "t", "1\n2\n")


@pytest.mark.parametrize(
    ("direction", "canonical"),
    [
        (PLAIN, "rate_mbps=1.6,delay_ms=75,jitter_ms=0,queue=droptail:45000,loss=0,seed=3"),
        (
            replace(PLAIN, queue=Queue(Discipline.CODEL, 9000), loss=RandomLoss(2.5), jitter_ms=1.25),
            "rate_mbps=1.6,delay_ms=75,jitter_ms=1.25,queue=codel:9000,loss=0.025,seed=3",
        ),
        (
            replace(PLAIN, queue=Queue(Discipline.UNLIMITED, None), loss=GilbertElliott(0.01, 0.3, 0.1)),
            "rate_mbps=1.6,delay_ms=75,jitter_ms=0,queue=unlimited,loss_ge=0.01:0.3:0.1:1,seed=3",
        ),
        (
            replace(PLAIN, rate=TRACE),
            "trace={}/down.trace,delay_ms=75,jitter_ms=0,queue=droptail:45000,loss=0,seed=3",
        ),
    ],
    ids=["plain", "codel, loss, jitter", "bursts", "trace"],
)
def test_the_emulator_understands_a_direction_as_it_is_meant(
    direction: Direction, canonical: str, tmp_path: Path
) -> None:
    said = run(Command.of(linkem_program(), "check", specification(direction, 75, 3, tmp_path)))
    assert said.strip() == canonical.format(tmp_path)


def test_the_emulator_gets_the_very_trace(tmp_path: Path) -> None:
    specification(replace(PLAIN, rate=TRACE), 0, 1, tmp_path)
    assert hashlib.sha256((tmp_path / "down.trace").read_bytes()).hexdigest() == TRACE.sha256
