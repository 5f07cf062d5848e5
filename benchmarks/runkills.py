"""Runs whose parts are killed at random instants, and that are gone on with by the same command, until they end whole.

    .venv/bin/python -m benchmarks.runkills [--kills 200] [--lanes 2] [--seed 1]

The command is killed, or one of its lanes; without lanes the command alone. All of it is real but the lab, where
a trial waits (`benchmarks/waitinglab.py`). For workers of Dask: `benchmarks/cluster.py --kills`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks import common
from benchmarks.waitinglab import (
    FEW,
    WaitingLab,
    checked,
    kills_told,
    logged,
    study_of,
    whole_lines,
    write_page,
)
from harness.cli.telling import console
from harness.errors import ColdloadError
from harness.lab.lab import Archives
from harness.run.coordinator import Coordinator, Until, run_study
from harness.run.directory import open_run
from harness.run.lanecrew import LaneJob, assignment_of, lane_crew
from harness.run.lanes import Lane
from harness.run.openlab import Here
from harness.run.progress import Pace, PlainProgress
from harness.run.work import Crew
from harness.study.study import Study
from harness.system.program import Command
from harness.system.topology import Core

BLOCKS = 60  # of a run; when one has ended before the kills have, another one is begun
TRIAL_S = 0.02
INSTANTS_S = (0.0, 2.0)  # from the start of the command, or from the first record that it adds
OF_LANES = 0.7  # of the kills, where there are lanes
STILL_S = 120.0  # without a record: then a run hangs
PROGRAM = Command.of(sys.executable, "-P", "-m", "benchmarks.waitinglab").dying_with_us()


def conduct(folder: Path, lanes: int) -> None:
    """Run the study of waiting trials, or go on with it."""

    @contextlib.contextmanager
    def crew(study: Study, archives: Archives, coordinator: Coordinator) -> Iterator[Crew]:
        if not lanes:
            yield Here(WaitingLab())
            return
        assignment = assignment_of(study, archives, coordinator.left, coordinator.run.folder)

        def job(lane: Lane) -> LaneJob:
            return assignment, coordinator.watcher(coordinator.listener, lane=lane.number, lanes=lanes)

        cores = [Lane(number, (Core(0, (0,)),), 2**30) for number in range(1, lanes + 1)]
        with lane_crew(cores, job, coordinator.listener.warned, program=PROGRAM) as made:
            yield made

    study, plan = study_of(BLOCKS, FEW)
    with open_run(folder / "run", plan) as run:
        run_study(
            study,
            run,
            folder / "archives",
            PlainProgress(console(), Pace(len(plan.trials), 0)),
            Until(),
            crew,
        )


class Struck:
    """A run in a folder, and what was killed of it."""

    def __init__(self, folder: Path, lanes: int, source: random.Random) -> None:
        self._folder = folder
        self._lanes = lanes
        self._source = source
        self._log = folder / "made"
        self._log.mkdir()
        self._stored: list[bytes] = []  # what records.jsonl held at the kills
        self.kills: Counter[str] = Counter()
        write_page(folder)

    def carried_out(self, most: int) -> str:
        """Carry the run out to its end, with so many kills at most; a line about it. AssertionError when it is not
        whole, or stands still.
        """
        code = None
        while code != 0:
            process = self._start()
            try:
                code = self._outlived(process, most)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return f"{checked(self._folder / 'run', BLOCKS, self._stored, logged(self._log))}"

    def _start(self) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "benchmarks.runkills", "--conduct", str(self._folder)]
        variables = {"WAITING_S": str(TRIAL_S), "WAITING_LOG": str(self._log)}
        with (self._folder / "told.log").open("ab") as log:
            return subprocess.Popen(
                [*words, "--lanes", str(self._lanes)],
                env={**os.environ, **variables},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _outlived(self, process: subprocess.Popen[bytes], most: int) -> int | None:
        """Kill lanes of a command until it ends, then its exit code; None once it was killed itself."""
        while True:
            if self.kills.total() == most:
                self._wait(process, for_more=False)
                return process.returncode
            if self._source.random() < 1 / 2:
                self._wait(process, for_more=True)
            try:
                return process.wait(self._source.uniform(*INSTANTS_S))
            except subprocess.TimeoutExpired:
                self._stored.append(whole_lines(self._folder / "run"))
            lanes = psutil.Process(process.pid).children() if self._lanes else []
            if lanes and self._source.random() < OF_LANES:
                with contextlib.suppress(psutil.NoSuchProcess):
                    self._source.choice(lanes).kill()
                    self.kills["lane"] += 1
            else:
                process.kill()
                self.kills["command"] += 1
                return None

    def _wait(self, process: subprocess.Popen[bytes], *, for_more: bool) -> None:
        """Until it ends by itself, or adds a record; AssertionError when it does neither."""
        seen, since_s = whole_lines(self._folder / "run"), time.monotonic()
        while process.poll() is None:
            time.sleep(0.02)
            now = whole_lines(self._folder / "run")
            if now != seen:
                if for_more:
                    return
                seen, since_s = now, time.monotonic()
            assert time.monotonic() - since_s < STILL_S, f"the run stands still: {self._told()}"

    def _told(self) -> str:
        return (self._folder / "told.log").read_text()[-1000:]


def havoc(kills: int, lanes: int, seed: int) -> list[str]:
    """Kill so often, over as many runs as that takes; a line about each."""
    source = random.Random(seed)  # noqa: S311
    lines = []
    while kills:
        with tempfile.TemporaryDirectory() as name:
            struck = Struck(Path(name), lanes, source)
            told = struck.carried_out(kills)
            kills -= struck.kills.total()
            lines.append(f"{kills_told(struck.kills)}: {told}")
    return lines


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how often something is killed")
    parser.add_argument("--lanes", type=int, default=2, help="0: the command measures itself")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conduct", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.conduct:
        try:
            conduct(arguments.conduct, arguments.lanes)
        except ColdloadError as error:
            raise SystemExit(f"{error}") from error
    else:
        for line in havoc(arguments.kills, arguments.lanes, arguments.seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
