"""Control groups of a run: gone with their block, and those of a killed run with the next one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.system.accounts import MOUNT, GroupAccount, account
from harness.system.process import running
from harness.system.program import Command
from tests.system.conftest import inside

pytestmark = pytest.mark.lengthy


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
def test_a_group_goes_with_its_block_and_that_of_a_killed_run_with_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / "name"

    def die() -> int:
        with account(os.getpid()) as made:
            assert isinstance(made, GroupAccount)
            left.write_text(made.folder.name)
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def again() -> tuple[bool, bool, bool]:
        with running(Command.of("sleep", "60"), tmp_path / "log") as process:
            with account(process.pid) as made:
                assert isinstance(made, GroupAccount)
                assert made.pids() == [process.pid]
                there = made.folder.exists()
            return (MOUNT / left.read_text()).exists(), there, made.folder.exists()

    with pytest.raises(AssertionError, match="no answer"):
        inside(die)
    dead, own, after = inside(again)
    assert (dead, own, after) == (False, True, False)
