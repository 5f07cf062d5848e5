"""What happens when parts of a cluster are killed, for `benchmarks/cluster.py`."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from benchmarks.clusterground import Ground, kill
from benchmarks.waitingstudy import checked, kills_told, logged, whole_lines

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
        named = [each.pid for each in below if "spawn_main" in " ".join(each.cmdline())]
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
