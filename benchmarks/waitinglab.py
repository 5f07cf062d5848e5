"""A lab that measures nothing: a trial waits. What is left is the cost of conducting.

$WAITING_S is how long a trial takes, $WAITING_LOG a folder in which every attempt that ended is noted.
`python -m benchmarks.waitinglab` is one in a lane; `benchmarks/waitingworker.py` makes a worker of Dask one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import TestbedFailed
from harness.model.engine import Engine
from harness.outcome import Outcome
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.labprocess import ENTERED, Assignment, Wire
from harness.run.work import Block, Made
from harness.system.files import utc_text


class WaitingLab:
    """Every trial waits, and counts."""

    def __init__(self) -> None:
        self.lacking: Mapping[Engine, str] = {}
        self.environment: Mapping[str, Any] = {
            "programs": {engine.value: "none" for engine in Engine},
            "link": {"backend": "none"},
            "archives": {},
        }
        self._killed = False
        self._wait_s = float(os.environ.get("WAITING_S", "1"))
        log = os.environ.get("WAITING_LOG")
        self._log = Path(log) / f"{os.getpid()}.txt" if log else None

    def open(self, assignment: Assignment) -> None:
        pass

    def kill(self) -> None:
        self._killed = True

    def run(self, block: Block) -> Iterator[Made]:
        for due in block.trials:
            started = datetime.now(UTC)
            time.sleep(self._wait_s)
            if self._killed:
                raise TestbedFailed("the lab was killed")
            record = Record(
                due.planned,
                Outcome.OK,
                None,
                utc_text(started, "milliseconds"),
                Observation(plt_ms=self._wait_s * 1000),
                0.0,
                attempt=due.attempt,
                restart=due.restart,
            )
            if self._log is not None:
                with self._log.open("a") as file:
                    file.write(f"{due.planned.trial} {due.attempt}\n")
            yield Made(record, repeated=False, files=Path("/nonexistent"))


def main() -> None:
    """Serve the other end until it has gone."""
    wire = Wire()
    try:
        wire.tell(ENTERED, None)
        wire.told()
        wire.answer(WaitingLab())
    except (EOFError, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
