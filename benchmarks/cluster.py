"""What conducting a run on many machines costs, and what happens when parts of it are killed.

    python -m benchmarks.cluster                    efficiency with 1, 8 and 32 workers; records per second
    python -m benchmarks.cluster --kills 50         kills at random instants; nothing may be lost, nothing twice

Coordinator, scheduler and workers are the real ones; trials only wait (`benchmarks/waitinglab.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from harness.cli.console import PlainConsole
from harness.cluster.address import SchedulerAddress
from harness.cluster.connection import HUNG_S
from harness.cluster.running import ClusterChoice, run_study_on
from harness.errors import ColdloadError
from harness.run.directory import open_run
from harness.run.progress import PlainProgress
from harness.study.plan import Plan, make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.archive import Response, write_archive
from sites.warc import About

PORT = 28787
URL = f"tcp://127.0.0.1:{PORT}"
PROTOCOLS = 5
FEW, MANY = 2, 100  # links: times PROTOCOLS, the trials of a block
BLOCKS_PER_KILL = 15  # so that the run lasts longer than the kills
SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "1000",
    "DASK_LOGGING__DISTRIBUTED": "error",
}
STUDY = """
name = "waiting"
pages = ["page"]
protocols = ["http1-close", "http1", "https1-close", "https1", "h2"]
trials = {{least = {blocks}, attempts = 3}}
aa = false
seed = 1
"""
LINK = """
[[links]]
down_mbps = {}
rtt_ms = 20
"""


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
        page = Response("https://site.example/", 200, (("Content-Type", "text/html"),), b"<p>a page")
        write_archive(folder / "archives", "page", About(page.url, "a benchmark", "", ()), [page])

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


def study_of(blocks: int, links: int) -> tuple[Study, str, Plan]:
    text = STUDY.format(blocks=blocks) + "".join(map(LINK.format, range(1, links + 1)))
    study = parse_study(text, "waiting.toml")
    return study, text, make_plan(study, 1)


def conduct(folder: Path, blocks: int, links: int = FEW, hung_s: float = HUNG_S) -> None:
    """Run, or go on with, the study of waiting trials."""
    study, text, plan = study_of(blocks, links)
    where = ClusterChoice(SchedulerAddress.parse(URL), hung_s=hung_s)
    with (folder / "progress.log").open("a") as file, open_run(folder / "run", text, plan) as run:
        listener = PlainProgress(
            PlainConsole(file=file, width=200, highlight=False, soft_wrap=True, emoji=False),
            len(plan.trials),
            0,
        )
        run_study_on(where, study, run, folder / "archives", listener)


def records(run: Path) -> list[dict[str, Any]]:
    path = run / "records.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def measure(workers: int, wait_s: float, blocks: int, links: int = FEW) -> None:
    """Print how much of their time workers were at trials, or how many records came in a second."""
    with tempfile.TemporaryDirectory() as name:
        ground = Ground(Path(name), wait_s)
        os.environ.update(ground.environment)
        processes = [ground.scheduler()]
        with ended(processes):
            processes += [ground.worker(number) for number in range(workers)]
            wait_for_workers(workers)
            cpu_s = time.process_time()
            conduct(ground.folder, blocks, links)
            cpu_s, end_s = time.process_time() - cpu_s, time.time()
        made = records(ground.folder / "run")
        assert len({each["trial"] for each in made}) == blocks * links * PROTOCOLS
        trials = f"{workers:3} workers, {len(made):6,} trials of {wait_s:g} s"
        if wait_s:
            print(f"{trials}: {efficiency(made, wait_s)}")
        else:
            came = len(made) / (end_s - min(started(each) for each in made))
            print(
                f"{trials}: {came:,.0f} records/s came; the coordinator needs "
                f"{cpu_s / len(made) * 1e6:.0f} us of a core for one, and so takes {len(made) / cpu_s:,.0f}/s"
            )


def wait_for_workers(number: int) -> None:
    """Until so many are there."""
    from distributed import Client  # noqa: PLC0415  # this process needs none in the mode of kills

    with Client(URL, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(number, timeout=300)


def started(record: dict[str, Any]) -> float:
    return datetime.fromisoformat(record["started_utc"]).timestamp()


def efficiency(made: Sequence[dict[str, Any]], wait_s: float) -> str:
    """Of each worker, from its first trial to the end of its last one; and of all of them together."""
    starts = defaultdict(list)
    for each in made:
        starts[each["machine"]].append(started(each))
    own = [len(times) * wait_s / (max(times) - min(times) + wait_s) for times in starts.values()]
    first, last = min(map(min, starts.values())), max(map(max, starts.values()))
    together = len(made) * wait_s / len(starts) / (last - first + wait_s)
    return (
        f"at work {100 * sum(own) / len(own):.1f} % of their time (least {100 * min(own):.1f} %), "
        f"{100 * together:.1f} % with arrival and end"
    )


class Havoc:
    """Scheduler, workers and coordinator, killed at random instants and started again by what would do so in life: the
    restart loop of a service, a nanny, a person who gives the same command.
    """

    WORKERS = 4
    WAIT_S = 0.1

    def __init__(self, folder: Path, seed: int, blocks: int) -> None:
        self._blocks = blocks
        self._random = random.Random(seed)  # noqa: S311
        self._log = folder / "made"
        self._log.mkdir()
        self.ground = Ground(folder, self.WAIT_S, self._log)
        self.kills: Counter[str] = Counter()
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
        lines = (line.split() for path in self._log.iterdir() for line in path.read_text().splitlines())
        return Counter((trial, int(attempt)) for trial, attempt in lines)

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
        print(checked(run, records(run.ground.folder / "run"), blocks))


def checked(run: Havoc, made: Sequence[dict[str, Any]], blocks: int) -> str:
    """A line about a run that is whole; AssertionError for one that is not."""
    _, _, plan = study_of(blocks, FEW)
    attempts = Counter((each["trial"], each["attempt"]) for each in made)
    assert max(attempts.values()) == 1, "an attempt was recorded twice"
    goes: defaultdict[tuple[int, int], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in made:
        goes[each["block"], each.get("restart", 0)][each["machine"]].add(each["trial"])
    assert all(len(machines) == 1 for machines in goes.values()), "a go at a block is of two machines"
    for block in range(1, plan.blocks + 1):
        planned = {trial.trial for trial in plan.trials if trial.block == block}
        of_block = [
            trials
            for (number, _), machines in goes.items()
            if number == block
            for trials in machines.values()
        ]
        assert planned in of_block, f"no go at block {block} is whole"
    at_workers = run.made()
    unknown = attempts.keys() - at_workers.keys()
    assert not unknown, f"{len(unknown)} records are of attempts that nobody made"
    kills = ", ".join(f"{count} {what}" for what, count in sorted(run.kills.items()))
    return (
        f"{run.kills.total()} kills ({kills}): {blocks} blocks are whole, {len(made)} records, none twice; "
        f"{sum(at_workers.values()) - len(made)} of {sum(at_workers.values())} attempts ended and were not recorded, "
        f"{len(goes) - blocks} goes at blocks were left behind"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, help="kill so often")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 32])
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
        for workers in arguments.workers:
            measure(workers, 1.0, blocks=4 * workers)
        measure(4, 0.0, blocks=40, links=MANY)


if __name__ == "__main__":
    main()
