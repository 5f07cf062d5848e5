"""The oracle of the transmitter: what a packet should take, worked out by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.errors import StudyError
from harness.lab.emulated import linkem_program
from harness.model.rate import ConstantRate, RateFormat, RecordedRate, transmitter
from harness.system.program import Command, run

MS = 1_000_000


def test_a_packet_takes_its_bits_over_the_rate_and_waits_for_the_one_before() -> None:
    wire = transmitter(ConstantRate(12), 0)
    assert wire.send(5 * MS, 1500) == 6 * MS
    assert wire.send(5 * MS, 750) == 6.5 * MS
    assert wire.send(100 * MS, 1500) == 101 * MS


def test_a_step_takes_effect_in_the_middle_of_a_packet() -> None:
    steps = RecordedRate.of(RateFormat.STEPS, "s", "0 12\n1000 6\n")
    wire = transmitter(steps, 7 * MS)
    assert wire.send(7 * MS, 1500) == 8 * MS
    # Half a packet at 12 Mbit/s until the step, the other half at 6.
    assert wire.send(1006 * MS + MS // 2, 1500) == 1008 * MS
    assert steps.mean_mbps == 12


def test_a_packet_leaves_at_the_next_opportunity_and_small_ones_share_it() -> None:
    trace = RecordedRate.of(RateFormat.TRACE, "t", "2\n5\n5\n10\n")
    wire = transmitter(trace, 0)
    assert wire.send(0, 1000) == 2 * MS
    assert wire.send(1 * MS, 500) == 2 * MS  # what is left of the same opportunity
    assert wire.send(1 * MS, 1500) == 5 * MS
    assert wire.send(1 * MS, 1500) == 5 * MS
    assert wire.send(1 * MS, 1500) == 10 * MS
    assert wire.send(13 * MS, 1500) == 15 * MS  # the trace repeats after its last line
    assert trace.mean_mbps == 4.8


def test_an_opportunity_that_nobody_waited_for_is_lost() -> None:
    wire = transmitter(RecordedRate.of(RateFormat.TRACE, "t", "2\n4\n"), 0)
    assert wire.send(2 * MS, 100) == 4 * MS
    assert wire.send(4 * MS, 100) == 6 * MS


NOISE = (
    "-1",
    "2.5",
    "x",
    "",
    "# said",
    "1e3",
    "+4",
    "\x0c",
    "_",
    "0 1",
    "7 7 7",
    " ",
    "0",
    "3\t2",
    "5 nan",
    "5 0",
)


def noisy(form: RateFormat, source: random.Random) -> str:
    """A file of up to four lines, of which some make no sense."""
    lines, at = [], 0
    for _ in range(source.randrange(5)):
        good = f"{at}" if form is RateFormat.TRACE else f"{at} {source.randrange(1, 9)}"
        lines.append(source.choice(NOISE) if source.random() < 0.2 else good)
        at += source.randrange(-1, 5)
    return source.choice(("\n", "\r\n", "\n\n")).join(lines)


def accepted(form: RateFormat, text: str) -> bool:
    try:
        RecordedRate.of(form, "file", text)
    except StudyError as error:
        return "\n" in str(error)  # an error of one line is a refusal as it should be
    return True


@pytest.mark.thorough
@pytest.mark.parametrize("form", list(RateFormat))
def test_study_and_emulator_agree_on_which_files_make_sense(form: RateFormat, tmp_path: Path) -> None:
    """Seeded random files: what a study accepts runs, and what the emulator would refuse is refused at once."""
    source = random.Random(7)  # noqa: S311  # the same files each time, not a secret
    verdicts = []
    for _ in range(200):
        text = noisy(form, source)
        file = tmp_path / "file"
        file.write_bytes(text.encode())
        verdicts.append(accepted(form, text))
        run(Command.of(linkem_program(), "check", f"{form}={file}"), ok_codes=(0 if verdicts[-1] else 2,))
    assert 20 < sum(verdicts) < 180
