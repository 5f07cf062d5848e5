"""What comes from workers arrives as it was told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from harness.cluster.connection import RemoteWorker
from harness.cluster.executor import Arrived, Inbox, fetch_files
from harness.cluster.messages import Ended, of_bytes, to_bytes
from harness.records import RecordLine
from harness.run.directory import open_run
from tests.unit.harness.run.test_attempts import FIRST, PLAN, SECOND, record


def test_messages_keep_what_they_say() -> None:
    told = [
        ("preparing", "a"),
        ("ended", Ended(RecordLine.of(record(SECOND, 2, None)), repeated=False, files={})),
    ]
    assert of_bytes(to_bytes(told)) == told


def test_attempts_with_files_wait_for_whoever_fetches_them_and_all_else_keeps_its_order() -> None:
    inbox = Inbox()
    plain = Ended(RecordLine.of(record(FIRST, 1, None)), False, {})
    kept = Ended(RecordLine.of(record(SECOND, 1, None)), False, {"load.har": 3})
    for told in (
        [("preparing", "a"), ("ended", plain), ("ended", kept)],
        [("preparing", "b")],
    ):
        inbox.arrive((0.0, {"sender": "one", "told": to_bytes(told)}))
    assert [each.content for each in inbox.gathered(0.0)] == ["a", plain, "b"]
    assert list(inbox.with_files("other")) == []
    assert list(inbox.with_files("one")) == [kept]
    assert list(inbox.with_files("one")) == []
    inbox.put(Arrived("one", "ended", kept))
    assert [each.content for each in inbox.gathered(0.0)] == [kept]


class Keeper:
    """A worker that has a file of three bytes, and gives a part of it."""

    def quick(self, _: object, _folder: str, _name: str, offset: int, length: int) -> Any:
        return b"har"[offset : offset + length]


KILLED = """
import os, signal, sys
from pathlib import Path
from harness.cluster.executor import fetch_files
from harness.cluster.messages import Ended

class Killing:
    def quick(self, *_):
        os.kill(os.getpid(), signal.SIGKILL)

fetch_files(Killing(), Ended(None, False, {"load.har": 3}), Path(sys.argv[1]))
"""


def test_files_come_all_at_once_and_what_a_killed_command_had_of_them_goes(tmp_path: Path) -> None:
    trials = tmp_path / "run" / "trials"
    with open_run(tmp_path / "run", PLAN) as run:
        ended = Ended(RecordLine.of(record(FIRST, 1, None)), False, {"load.har": 3})
        folder = run.trial_folder(FIRST.trial)
        fetch_files(cast("RemoteWorker", Keeper()), ended, folder)
        assert [path.read_bytes() for path in folder.iterdir()] == [b"har"]
        assert list(trials.iterdir()) == [folder]
    another = trials / SECOND.trial
    done = subprocess.run([sys.executable, "-P", "-c", KILLED, str(another)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(trials.iterdir())) == 2
    with open_run(tmp_path / "run", PLAN):
        assert list(trials.iterdir()) == [folder]
