"""A worker whose laboratory measures nothing: a trial waits. What is left is the cost of conducting.

`dask worker ... --preload benchmarks.waitinglab`; $WAITING_S is how long a trial takes, $WAITING_LOG a folder in which
every attempt that ended is noted.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distributed import Worker

from harness.cluster.worker import dask_teardown, set_up
from harness.errors import TestbedFailed
from harness.model.engine import Engine
from harness.outcome import Outcome
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.labprocess import Assignment
from harness.run.work import Block, Made, Watcher
from harness.system.clock import utc_text

__all__ = ["dask_setup", "dask_teardown"]


class WaitingLaboratory:
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
                raise TestbedFailed("the laboratory was killed")
            record = Record(
                due.planned,
                Outcome.OK,
                None,
                utc_text(started, "milliseconds"),
                Observation(plt_ms=self._wait_s * 1000),
                0.0,
                attempt=due.attempt,
            )
            if self._log is not None:
                with self._log.open("a") as file:
                    file.write(f"{due.planned.trial} {due.attempt}\n")
            yield Made(record, repeated=False, files=Path("/nonexistent"))


@contextlib.contextmanager
def waiting_laboratory(_watcher: Watcher, _log: Path) -> Iterator[WaitingLaboratory]:
    yield WaitingLaboratory()


async def dask_setup(worker: Worker) -> None:
    """Dask calls this when the worker starts."""
    await set_up(worker, waiting_laboratory)
