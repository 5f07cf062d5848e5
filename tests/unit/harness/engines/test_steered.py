"""What it means for a trial that a program which is steered does not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engines.steered import asked
from harness.errors import Outcome, TrialFailed
from harness.system.process import conversing
from harness.system.program import Command


@pytest.mark.parametrize("outcome", [None, Outcome.PAGE_TIMEOUT])
def test_silence_is_a_time_out_of_nothing_but_a_load(outcome: Outcome | None, tmp_path: Path) -> None:
    more = () if outcome is None else (outcome,)
    with (
        conversing(Command.of("sleep", "60"), tmp_path / "log") as program,
        pytest.raises(TrialFailed, match="it says nothing") as caught,
    ):
        asked(program, {"console": True}, 0.1, "it says nothing", *more)
    assert caught.value.outcome is (outcome or Outcome.PAGE_ERROR)
