"""What conducting a run on many machines costs, and what happens when parts of it are killed.

    .venv/bin/python -m benchmarks.cluster [--workers 1 8 32] [--times 3]    efficiency, records per second
    .venv/bin/python -m benchmarks.cluster --kills 50 [--seed 1]             kills; nothing may be lost, nothing twice

Coordinator, scheduler and workers are the real ones; trials only wait (`benchmarks/waitinglab.py`). Figures are the
median with the least and the most.

Efficiency: how much of their time workers were at trials of a second, from the first trial of a worker to the end of
its last one; and of all of them together, arrival and end included. What a further machine costs of a core says how
many of them one coordinator and one scheduler carry, if each ends a trial every second, which no real one does.

Records per second: trials that do not wait. They come as fast as the workers make them, so what the coordinator takes
is said by its processor time for one, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from distributed import Client

from benchmarks import common
from benchmarks.clusterground import URL, Ground, Meter, conduct, ended, kill
from benchmarks.waitinglab import FEW, PROTOCOLS, checked, kills_told, logged, records, whole_lines
from harness.errors import ColdloadError
from harness.records import StoredRecord

BLOCKS_PER_KILL = 15  # so that the run lasts longer than the kills


class Havoc:
    """Scheduler, workers and coordinator, killed at random instants and started again by what would do so in life: the
    restart loop of a service, a nanny, a person who gives the same command.
    """

    WORKERS = 4
    TRIAL_S = 0.1

    def __init__(self, folder: Path, seed: int, blocks: int) -> None:
        self._blocks = blocks
        self._random = random.Random(seed)  # noqa: S311
        self._log = folder / "made"
        self._log.mkdir()
        self.ground = Ground(folder, self.TRIAL_S, self._log)
        self.kills: Counter[str] = Counter()
        self.stored: list[bytes] = []  # what records.jsonl held at the kills
        self._scheduler = self.ground.scheduler()
        self._workers = [self._worker(number) for number in range(self.WORKERS)]
        self._stopped: dict[int, float] = {}  # by number of the worker: when it goes on
        self._coordinator = self._conducting()

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        return [self._scheduler, self._coordinator, *self._workers]

    def go_on(self) -> bool:
        """Start again what has ended; False once the coordinator has ended well."""
        if self._scheduler.poll() is not None:
            self._scheduler = self.ground.scheduler()
        for number, worker in enumerate(self._workers):
            if worker.poll() is not None:
                kill(worker)
                self._workers[number] = self._worker(number)
        for number, until in list(self._stopped.items()):
            if time.monotonic() > until:
                del self._stopped[number]
                self._signal(self._workers[number], signal.SIGCONT)
        code = self._coordinator.poll()
        if code == 0:
            return False
        if code is not None:
            self._coordinator = self._conducting()
        return True

    def strike(self) -> None:
        """Kill or stop something."""
        self.stored.append(whole_lines(self.ground.folder / "run"))
        what = self._random.choice(("worker", "nanny", "scheduler", "coordinator", "stop"))
        number = self._random.randrange(self.WORKERS)
        if what == "scheduler":
            kill(self._scheduler)
        elif what == "coordinator":
            kill(self._coordinator)
        elif what == "stop" and number not in self._stopped:
            self._signal(self._workers[number], signal.SIGSTOP)
            self._stopped[number] = time.monotonic() + self._random.uniform(1, 12)
        elif what == "nanny" and number % 2:
            self._workers[number].kill()  # the nanny alone; its worker has to end by itself
        else:
            what = "worker"
            inner = self._inner(self._workers[number])
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGKILL)
        self.kills[what] += 1

    def made(self) -> Counter[tuple[str, int]]:
        """The attempts that ended at workers."""
        return logged(self._log)

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        return self.ground.worker(number, nanny=bool(number % 2))

    def _conducting(self) -> subprocess.Popen[bytes]:
        words = ("-m", "benchmarks.cluster", "--conduct", str(self.ground.folder), str(self._blocks))
        return self.ground.start("python", *words)

    @staticmethod
    def _inner(process: subprocess.Popen[bytes]) -> int:
        """The worker below a nanny; without one the process itself."""
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        named = [child.pid for child in below if "spawn_main" in " ".join(child.cmdline())]
        return named[0] if named else process.pid

    @staticmethod
    def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def havoc(kills: int, seed: int) -> None:
    """Kill so often, let the run end, and check its records."""
    blocks = BLOCKS_PER_KILL * kills
    with tempfile.TemporaryDirectory() as name:
        run = Havoc(Path(name), seed, blocks)
        source = random.Random(seed)  # noqa: S311
        try:
            strike_at = time.monotonic() + 8
            while run.go_on():
                time.sleep(0.1)
                if run.kills.total() < kills and time.monotonic() > strike_at:
                    run.strike()
                    strike_at = time.monotonic() + source.uniform(0.2, 6)
        finally:
            for process in run.processes:
                kill(process)
        assert run.kills.total() == kills, (
            f"the run ended after {run.kills.total()} kills; give it more blocks"
        )
        told = checked(run.ground.folder / "run", blocks, run.stored, run.made())
        print(f"{kills_told(run.kills)}: {told}")


MANY = 100  # links of a study whose blocks are large
FLOODING, FLOOD_BLOCKS = 4, 60  # workers whose trials take no time, and their blocks
WAIT_S = 1.0
BLOCKS_PER_WORKER = 4


@dataclass(frozen=True)
class Measured:
    """Of one run. `made` are its records."""

    workers: int
    made: Sequence[StoredRecord]
    meter: Meter


def measure(workers: int, wait_s: float, blocks: int, links: int = FEW) -> Measured:
    """A run of so many blocks on so many workers."""
    with tempfile.TemporaryDirectory() as name:
        ground = Ground(Path(name), wait_s)
        os.environ.update(ground.environment)
        processes = [ground.scheduler()]
        with ended(processes):
            processes += [ground.worker(number) for number in range(workers)]
            wait_for_workers(workers)
            meter = conduct(ground.folder, blocks, links, scheduler=processes[0].pid)
        made = records(ground.folder / "run")
        assert (
            len({record.trial for record in made}) == blocks * links * PROTOCOLS
        )  # some perhaps in two goes
        return Measured(workers, made, meter)


def measure_efficiency(workers: int, times: int) -> tuple[float, float]:
    """Print how much of their time workers are at trials; the cores that coordinator and scheduler use meanwhile."""
    runs = [measure(workers, WAIT_S, blocks=BLOCKS_PER_WORKER * workers) for _ in range(times)]
    own, together = zip(*(efficiency(run.made) for run in runs), strict=True)
    ours = [run.meter.cpu_s / run.meter.seconds for run in runs]
    theirs = [run.meter.other_cpu_s / run.meter.seconds for run in runs]
    print(
        f"{workers:3} workers, {len(runs[0].made):5,} trials of {WAIT_S:g} s: "
        f"at trials {common.spread(own, 1)} % of their time, {common.spread(together, 1)} % with arrival and end; "
        f"cores: coordinator {common.spread(ours, 3)}, scheduler {common.spread(theirs, 3)}",
        flush=True,
    )
    return statistics.median(ours), statistics.median(theirs)


def carried(few: int, cores_of_few: float, many: int, cores_of_many: float) -> float:
    """How many machines one core is enough for, where one more costs as much as from a few of them to many."""
    each = (cores_of_many - cores_of_few) / (many - few)
    return few + (1 - cores_of_few) / each


def measure_flood(workers: int, blocks: int, times: int) -> None:
    """Print how many records came in a second, and how many the coordinator takes."""
    runs = [measure(workers, 0.0, blocks, MANY) for _ in range(times)]
    came = [run.meter.trials / run.meter.seconds for run in runs]
    costs_us = [run.meter.cpu_s / run.meter.trials * 1e6 for run in runs]
    takes = [1e6 / cost_us for cost_us in costs_us]
    print(
        f"{workers:3} workers, {len(runs[0].made):5,} trials of 0 s: {common.spread(came, 0)} records/s came; "
        f"the coordinator needs {common.spread(costs_us, 0)} us of a core for one, and so takes "
        f"{common.spread(takes, 0)} records/s",
        flush=True,
    )


def wait_for_workers(number: int) -> None:
    """Until so many are there."""
    with Client(URL, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=300)


def started(record: StoredRecord) -> float:
    return datetime.fromisoformat(record.started_utc or "").timestamp()


def efficiency(made: Sequence[StoredRecord]) -> tuple[float, float]:
    """In percent: of the mean worker, from its first trial to the end of its last one; of all of them together."""
    starts = defaultdict(list)
    for record in made:
        starts[record.machine].append(started(record))
    own = [len(times) * WAIT_S / (max(times) - min(times) + WAIT_S) for times in starts.values()]
    first, last = min(map(min, starts.values())), max(map(max, starts.values()))
    together = len(made) * WAIT_S / len(starts) / (last - first + WAIT_S)
    return 100 * statistics.fmean(own), 100 * together


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--kills", type=int, help="kill so often")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=3, help="how often each is measured")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 8, 32])
    parser.add_argument("--conduct", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    if arguments.conduct:
        folder, blocks = arguments.conduct
        try:
            conduct(Path(folder), int(blocks), hung_s=5)
        except ColdloadError as error:
            raise SystemExit(f"{error}") from error
    elif arguments.kills:
        havoc(arguments.kills, arguments.seed)
    else:
        print(f"load average before: {os.getloadavg()[0]:.1f}")
        cores = {workers: measure_efficiency(workers, arguments.times) for workers in arguments.workers}
        if len(cores) > 1:
            few, many = min(cores), max(cores)
            ours, theirs = (
                carried(few, of_few, many, of_many)
                for of_few, of_many in zip(cores[few], cores[many], strict=True)
            )
            print(f"by that a core carries {ours:,.0f} machines as coordinator, {theirs:,.0f} as scheduler")
        measure_flood(FLOODING, FLOOD_BLOCKS, arguments.times)


if __name__ == "__main__":
    main()
