"""A worker of Dask whose lab only waits: `dask worker ... --preload benchmarks.waitingworker`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from distributed import Worker

from benchmarks.waitinglab import WaitingLab
from harness.cluster.worker import dask_teardown, set_up
from harness.run.work import Watcher

__all__ = ["dask_setup", "dask_teardown"]


@contextlib.contextmanager
def waiting_lab(_watcher: Watcher, _log: Path) -> Iterator[WaitingLab]:
    yield WaitingLab()


async def dask_setup(worker: Worker) -> None:
    """Dask calls this when the worker starts."""
    await set_up(worker, waiting_lab)
