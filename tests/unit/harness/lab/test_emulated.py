"""A link in the words of what emulates it: our own emulator, which checks them, and the kernel's tc."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.lab.emulated import specification
from harness.lab.needs import linkem_program
from harness.lab.netem import disciplines
from harness.model.direction import Direction, Discipline, GilbertElliott, Queue, RandomLoss, Way
from harness.model.rate import ConstantRate, RateFormat, RecordedRate
from harness.system.command import Command
from harness.system.program import run

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


def test_netem_gets_ethernet_frames_and_the_chances_of_loss() -> None:
    bursty = replace(PLAIN, queue=Queue(Discipline.CODEL, 45_000), loss=GilbertElliott(0.01, 0.3, 0.1))
    netem, tbf, codel = disciplines(bursty, 75, "link0")
    assert "netem delay 75000us" in netem
    assert "loss gemodel 1.000000% 30.000000% 90.000000% 0.000000%" in netem
    assert f"tbf rate {round(1.6e6 * 1514 / 1500)}bit burst 1514 limit {31 * 1514}" in tbf
    assert "codel limit 30 target 5ms interval 100ms" in codel
    assert len(disciplines(PLAIN, 75, "link0")) == 2
