"""A cluster on this machine whose workers only wait, for `benchmarks/cluster.py`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
from rich.console import Console

from benchmarks.waitinglab import FEW, study_of, write_page
from harness.cluster.connection import HUNG_S
from harness.cluster.running import ClusterChoice, on_cluster
from harness.cluster.trust import SchedulerAddress
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.coordinator import Until, run_study
from harness.run.directory import open_run
from harness.run.progress import Pace, PlainProgress

PORT = 28787
URL = f"tcp://127.0.0.1:{PORT}"
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "1000",
    "DASK_LOGGING__DISTRIBUTED": "error",
}


class Ground:
    """A folder with an archive, a scheduler and workers, each of them a process."""

    def __init__(self, folder: Path, wait_s: float, log: Path | None = None) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            **SETTINGS,
            "COLDLOAD_CACHE": str(folder / "cache"),
            "COLDLOAD_ARCHIVES": str(folder / "archives"),
            "WAITING_S": str(wait_s),
            **({"WAITING_LOG": str(log)} if log else {}),
        }
        write_page(folder)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        """A program beside this interpreter."""
        environment = {**self.environment, **variables}
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            program = Path(sys.executable).with_name(words[0])
            return subprocess.Popen(
                [str(program), *words[1:]], env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def scheduler(self) -> subprocess.Popen[bytes]:
        return self.start("dask", "scheduler", "--host", URL, "--dashboard-address", "127.0.0.1:0")

    def worker(self, number: int, *, nanny: bool = False) -> subprocess.Popen[bytes]:
        return self.start(
            *("dask", "worker", URL, "--nthreads", "1", "--resources", "lab=1", "--memory-limit", "0"),
            *("--no-dashboard", "--local-directory", str(self.folder / "dask"), "--death-timeout", "5"),
            *("--preload", "benchmarks.waitinglab", "--nanny" if nanny else "--no-nanny"),
            COLDLOAD_MACHINE=f"lab-{number:02d}",
        )


@contextlib.contextmanager
def ended(processes: list[subprocess.Popen[bytes]]) -> Iterator[None]:
    """The processes, and what they started, are gone after the block."""
    try:
        yield
    finally:
        for process in processes:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """It and its whole session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Meter(PlainProgress):
    """Notes the time, and the processor time of this process and another one, at the first trial and at the last."""

    def __init__(self, folder: Path, total: int, other: int | None = None) -> None:
        file = (folder / "progress.log").open("a")
        super().__init__(
            Console(file=file, width=200, highlight=False, soft_wrap=True, emoji=False), Pace(total, 0)
        )
        self._other = psutil.Process(other) if other is not None else None
        self._began: tuple[float, ...] | None = None
        self._total_trials = total
        self._ended = 0
        self.trials = self.seconds = self.cpu_s = self.other_cpu_s = 0.0

    def trial_ended(self, planned: PlannedTrial, record: RecordLine) -> None:
        super().trial_ended(planned, record)
        self._ended += 1
        if self._began is None:
            self._began = self._now()
        elif self._ended == self._total_trials:
            self.trials, self.seconds, self.cpu_s, self.other_cpu_s = (
                now - before for now, before in zip(self._now(), self._began, strict=True)
            )

    def _now(self) -> tuple[float, ...]:
        other_s = sum(self._other.cpu_times()[:2]) if self._other is not None else 0.0
        return self._ended, time.monotonic(), time.process_time(), other_s


def conduct(
    folder: Path, blocks: int, links: int = FEW, hung_s: float = HUNG_S, scheduler: int | None = None
) -> Meter:
    """Run, or go on with, the study of waiting trials."""
    study, plan = study_of(blocks, links)
    where = ClusterChoice(SchedulerAddress.parse(URL), hung_s=hung_s)
    meter = Meter(folder, len(plan.trials), scheduler)
    with open_run(folder / "run", plan) as run:
        run_study(study, run, folder / "archives", meter, Until(), partial(on_cluster, where))
    return meter
