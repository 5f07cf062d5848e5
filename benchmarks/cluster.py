"""What conducting a run on many machines costs, and what happens when parts of it are killed.

    .venv/bin/python -m benchmarks.cluster [--workers 1 8 32] [--times 3]    efficiency, records per second
    .venv/bin/python -m benchmarks.cluster --kills 50 [--seed 1]             kills; nothing may be lost, nothing twice

With --into DIR what came of it is kept for documents to quote.

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from distributed import Client

from benchmarks import common, quoted
from benchmarks.clusterground import URL, Ground, Meter, conduct, ended, kill
from benchmarks.waitinglab import FEW, PROTOCOLS, Whole, checked, kills_told, logged, records, whole_lines
from harness.errors import ColdloadError
from harness.records import StoredRecord

STRUCK = {  # what each strike is called
    "coordinator": "SIGKILL to the coordinator",
    "nanny": "SIGKILL to a nanny",
    "scheduler": "SIGKILL to the scheduler",
    "stop": "SIGSTOP to a worker, for 1 to 12 s, as a cut network would",
    "worker": "SIGKILL to a worker",
}
ORPHAN_S = 60  # for it to see that its nanny has gone, and to end its trial
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
        self._orphaned: dict[int, int] = {}  # likewise: the process that a nanny left behind
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
                self._orphans_end(number)
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

    def _orphans_end(self, number: int) -> None:
        """Wait until the worker whose nanny was killed has ended by itself; an error when it does not."""
        pid = self._orphaned.pop(number, None)
        if self._stopped.pop(number, None) is not None:
            self._signal(self._workers[number], signal.SIGCONT)
        with contextlib.suppress(psutil.NoSuchProcess):
            if pid is not None and pid != self._workers[number].pid:
                psutil.Process(pid).wait(ORPHAN_S)

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
            self._orphaned[number] = self._inner(self._workers[number])
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


def havoc(kills: int, seed: int, into: Path | None) -> None:
    """Kill so often, let the run end, check its records, and keep what came of it."""
    blocks = BLOCKS_PER_KILL * kills
    part = quoted.Part("cluster", "kills")
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
    if into:
        part.keep(into, [*_came_of(run.kills, told)], ["figure"])


def _came_of(kills: Counter[str], told: Whole) -> Iterator[dict[str, str]]:
    """Rows of the figures that documents quote."""
    counted = {
        **{STRUCK[what]: count for what, count in sorted(kills.items())},
        "kills and stops": kills.total(),
        "blocks that are whole": told.blocks,
        "records, each there once": told.records,
        "attempts that ended and were made again": told.ended - told.records,
    }
    for figure, count in counted.items():
        yield {"figure": figure, "reached": f"{count:,}"}


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


@dataclass(frozen=True)
class Efficiency:
    """Of some runs on so many workers: percent of their time at trials, each by itself and all with arrival and end;
    the cores that coordinator and scheduler use meanwhile.
    """

    workers: int
    trials: int
    own: Sequence[float]
    together: Sequence[float]
    coordinator: Sequence[float]
    scheduler: Sequence[float]

    @classmethod
    def of(cls, runs: Sequence[Measured]) -> Efficiency:
        own, together = zip(*(efficiency(run.made) for run in runs), strict=True)
        return cls(
            runs[0].workers,
            len(runs[0].made),
            own,
            together,
            [run.meter.cpu_s / run.meter.seconds for run in runs],
            [run.meter.other_cpu_s / run.meter.seconds for run in runs],
        )

    def quoted(self) -> dict[str, str]:
        """A row of the figures that documents quote."""
        return {
            "workers": f"{self.workers}",
            "trials": f"{self.trials:,}",
            "at_trials_percent": common.spread(self.own, 1),
            "with_arrival_and_end_percent": common.spread(self.together, 1),
            "cores_of_the_coordinator": common.spread(self.coordinator, 3),
            "cores_of_the_scheduler": common.spread(self.scheduler, 3),
        }


def measure_efficiency(workers: int, times: int) -> Efficiency:
    """How much of their time workers are at trials."""
    runs = [measure(workers, WAIT_S, blocks=BLOCKS_PER_WORKER * workers) for _ in range(times)]
    return Efficiency.of(runs)


def carried(few: int, cores_of_few: float, many: int, cores_of_many: float) -> float:
    """How many machines one core is enough for, where one more costs as much as from a few of them to many."""
    each = (cores_of_many - cores_of_few) / (many - few)
    return few + (1 - cores_of_few) / each


def carried_by_a_core(few: Efficiency, many: Efficiency) -> dict[str, str]:
    """How many machines one core is enough for, by its name."""
    return {
        who: f"{carried(few.workers, statistics.median(of_few), many.workers, statistics.median(of_many)):,.0f}"
        for who, of_few, of_many in (
            ("machines that a core carries as coordinator", few.coordinator, many.coordinator),
            ("machines that a core carries as scheduler", few.scheduler, many.scheduler),
        )
    }


def measure_flood(workers: int, blocks: int, times: int) -> dict[str, str]:
    """How many records came in a second, and how many the coordinator takes."""
    runs = [measure(workers, 0.0, blocks, MANY) for _ in range(times)]
    costs_us = [run.meter.cpu_s / run.meter.trials * 1e6 for run in runs]
    return {
        f"records of {workers} workers whose trials take no time": f"{len(runs[0].made):,}",
        "records a second": common.spread([run.meter.trials / run.meter.seconds for run in runs], 0),
        "us of a core that the coordinator needs for one": common.spread(costs_us, 0),
        "records a second that a core takes as coordinator": common.spread(
            [1e6 / cost_us for cost_us in costs_us], 0
        ),
    }


def measure_costs(workers: Sequence[int], times: int, into: Path | None) -> None:
    """Print what machines cost, and keep it."""
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    part, taken = quoted.Part("cluster", "efficiency"), dict[int, Efficiency]()
    for number in workers:
        taken[number] = measure_efficiency(number, times)
        print("; ".join(f"{name} {value}" for name, value in taken[number].quoted().items()), flush=True)
    if into:
        part.keep(into, [each.quoted() for each in taken.values()], ["workers"])
    part = quoted.Part("cluster", "records")
    told = carried_by_a_core(taken[min(taken)], taken[max(taken)]) if len(taken) > 1 else {}
    told |= measure_flood(FLOODING, FLOOD_BLOCKS, times)
    for name, value in told.items():
        print(f"{name}: {value}")
    if into:
        part.keep(into, [{"figure": name, "reached": value} for name, value in told.items()], ["figure"])


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
    quoted.add_into(parser)
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
        havoc(arguments.kills, arguments.seed, arguments.into)
    else:
        measure_costs(arguments.workers, arguments.times, arguments.into)


if __name__ == "__main__":
    main()
