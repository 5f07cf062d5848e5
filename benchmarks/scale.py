"""What a run of a hundred thousand records costs: to plan, to go on with, to report, to take data from.

    .venv/bin/python -m benchmarks.scale [--pages 50] [--trials 33] [--times 3] [--keep DIR] [--only report plan ...]

Makes up a study of pages by five protocols, four variants and three links, writes a finished and a half-finished run
of it with the project's own writers, and gives every command a process of its own, several times. Prints wall time,
CPU time and the largest memory, each as the median with the least and the most, and whether the medians are within the
targets. To go on takes what `coldload run` needs until it begins to prepare what the next trial loads; it is then
interrupted. Nothing in these runs was measured.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks import common, quoted
from harness.errors import Outcome
from harness.model.condition import Condition
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import Record
from harness.run.directory import open_run
from harness.study.plan import Plan
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from harness.system.files import utc_text

SEED = 2012
FIRST_TRIAL = datetime(2026, 1, 1, tzinfo=UTC)
TRIPS = {"http1-close": 13.0, "http1": 7.5, "https1": 9.5, "h2": 6.0, "h3": 5.0}
VARIANTS = {"plain": 1.0, "minify": 0.96, "inline": 0.85, "core": 0.75}
RTTS_MS = (20, 50, 100)
NOISE, DRIFT = 0.02, 0.01  # of the logarithm of a time: between trials, between blocks
LEFT_OUT, TIMED_OUT = 0.01, 0.001  # shares of the attempts
LATE_US = 400_000  # by which packets of a disturbed attempt are overdue: more than the limit


@dataclass(frozen=True)
class LargeRun:
    """How much is made up: pages by five protocols, four variants and three links, so many trials of each.

    `share`: how much of the plan was made when the run ended.
    """

    pages: int = 50
    trials: int = 33
    share: float = 1.0

    @property
    def page_names(self) -> list[str]:
        return [f"page-{number:02d}" for number in range(1, self.pages + 1)]

    @property
    def study_text(self) -> str:
        """The study's file."""
        return (
            'name = "large"\ntitle = "A large study"\nserver = "caddy"\n'
            f"pages = {_listed(self.page_names)}\nprotocols = {_listed(TRIPS)}\nvariants = {_listed(VARIANTS)}\n"
            f"trials = {self.trials}\nseed = {SEED}\n[[links]]\ndown_mbps = 10\nrtt_ms = {list(RTTS_MS)}\n"
        )

    def write(self, folder: Path) -> int:
        """Make the run directory; the number of its records.

        Lines are those of `RunDirectory.append`, which has each on disk before the next: that would take hours here.
        """
        plan = make_plan(parse_study(self.study_text, "study.toml"), SEED)
        count = 0
        with open_run(folder, plan) as run, run.records_path.open("w") as file:
            for record in self.records(run.plan):
                file.write(json.dumps(record.to_json()) + "\n")
                count += 1
        return count

    def records(self, plan: Plan) -> Iterator[Record]:
        """Those of the attempts at the trials that were made, in their order."""
        random = np.random.default_rng(SEED)
        drifts = random.normal(0, DRIFT, plan.blocks + 1)
        for planned in plan.trials[: round(self.share * len(plan.trials))]:
            disturbed, hung = random.random(2) < (LEFT_OUT, TIMED_OUT)
            ms = usual_ms(planned.condition) * math.exp(drifts[planned.block] + random.normal(0, NOISE))
            attempt = _attempt(planned, ms)
            if disturbed:
                yield replace(attempt, left_out="late-packets-down", observation=_seen(planned, ms, LATE_US))
                yield replace(attempt, attempt=2)
            elif hung:
                reason = "no load event within 120 s"
                yield replace(
                    attempt, outcome=Outcome.PAGE_TIMEOUT, reason=reason, observation=_hung(planned)
                )
            else:
                yield attempt

    def archive(self, root: Path) -> None:
        """Archives of the pages, as small as may be, so that the study can be planned and run."""
        for name in self.page_names:
            page = "<!doctype html><title>large</title><p>One of many pages.</p>"
            common.archived(root, name, common.html(f"http://{name}.example/", page))


def usual_ms(condition: Condition) -> float:
    """Something like a page-load time; pages differ by their number."""
    size = 1 + int(condition.page.rpartition("-")[2]) % 10 / 10
    trips = TRIPS[condition.protocol] * condition.link.rtt_ms
    return VARIANTS[condition.variant.name] * size * (400 + trips)


def _attempt(planned: PlannedTrial, ms: float) -> Record:
    """The first attempt at a trial, which counts."""
    started = utc_text(FIRST_TRIAL + timedelta(seconds=2 * planned.order), "milliseconds")
    digest = f"{planned.condition.page}-{planned.condition.variant}"
    return Record(planned, Outcome.OK, None, started, _seen(planned, ms, 40), 820.0, digest)


def _seen(planned: PlannedTrial, ms: float, stalled_us: int) -> Observation:
    """What a load told: as much as a real record holds."""
    bytes_down = round(VARIANTS[planned.condition.variant.name] * 1_150_000)
    return Observation(
        navigate_ms=ms * 1.01,
        plt_ms=ms,
        ttfb_ms=ms * 0.1,
        dcl_ms=ms * 0.4,
        fcp_ms=ms * 0.45,
        painted=True,
        requests=24,
        requests_after_load=1,
        failed_requests=0,
        missed_requests=0,
        fuzzy_requests=0,
        cache_hits=0,
        connections=6,
        connect_ms=planned.condition.link.rtt_ms,
        bytes_down=bytes_down,
        bytes_up=40_000 + planned.order % 100,
        bytes_body=bytes_down - 30_000,
        protocols={"http/1.1": 24},
        service_requests=0,
        relayed_requests=0,
        server_requests=24,
        server_connections=6,
        pipelining_depth=1,
        link_reading=_reading(bytes_down, stalled_us),
        client_cpu_s=1.4,
        server_cpu_s=0.03,
        foreign_cpu_share=0.01,
        steal_share=0.0,
        console_errors=(),
        console_error_count=0,
        server_stopped_ms=0.0,
        server_late_ms=10.1,
        server_thread_late_ms=3.5,
        client_stopped_ms=0.0,
        client_late_ms=376.9,
        client_thread_late_ms=42.1,
        requested_digest=f"{planned.condition.page}",
    )


def _hung(planned: PlannedTrial) -> Observation:
    """What a load told that timed out: as far as it went, and no times of the page."""
    seen = _seen(planned, 0.0, 40)
    return replace(seen, navigate_ms=None, plt_ms=None, ttfb_ms=None, dcl_ms=None, fcp_ms=None, painted=None)


def _reading(bytes_down: int, stalled_us: int) -> dict[str, Any]:
    """The emulator's counters."""
    way = {
        **dict.fromkeys(("packets_in", "packets_out"), 820),
        **dict.fromkeys(("bytes_in", "bytes_out"), bytes_down),
        **dict.fromkeys(("drops_queue", "drops_loss", "drops_codel", "drops_device", "oversize"), 0),
        **dict.fromkeys(("malformed", "write_errors", "held_packets", "lateness_p50_us"), 0),
        "max_queue_bytes": 121_500,
        "lateness_p99_us": 300,
        "lateness_max_us": 9013,
        "late_1ms": 10,
        "late_5ms": 4,
        "stalled_us": stalled_us,
    }
    return {
        "backend": "tun",
        "scheduling": "fifo",
        "arrivals": "kernel",
        "seed": 2,
        "down": way,
        "up": {**way, "stalled_us": 40},
        "pcap_packets": None,
        "pcap_error": None,
        "cpu_user_s": 0.022345,
        "cpu_system_s": 0.089669,
        "elapsed_s": 5.082331,
    }


def _listed(names: Iterable[str]) -> str:
    return json.dumps(list(names))  # an array of texts is the same in TOML


COLDLOAD = (sys.executable, "-m", "harness.cli")
WHAT = ("plan", "resume", "report", "records")
GOING_ON = b"going on with"
INTERRUPTED = 130
# Linux gives a process the peak memory of the one that started it, and a benchmark's own may be the larger one. So a
# small process starts the command, passes SIGTERM on, and writes its CPU time (s) and peak memory (MB).
STARTER = """
import json, resource, signal, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
code = child.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], file)
sys.exit(code)
"""
LINE = "{:22}  {:>20}  {:>20}  {:>22}  {}"


@dataclass(frozen=True)
class Cost:
    """Of one process and those that it started: `memory_mb` is that of the largest of them."""

    wall_s: float
    cpu_s: float
    memory_mb: float


@dataclass(frozen=True)
class Target:
    """What a command may cost on two cores."""

    wall_s: float = math.inf
    memory_mb: float = math.inf

    def __str__(self) -> str:
        bounds = ((self.wall_s, "s"), (self.memory_mb, "MB"))
        return ", ".join(f"{bound:g} {unit}" for bound, unit in bounds if bound < math.inf)

    def is_met(self, costs: Sequence[Cost]) -> bool:
        """By the medians."""
        wall = statistics.median(cost.wall_s for cost in costs)
        return wall <= self.wall_s and statistics.median(cost.memory_mb for cost in costs) <= self.memory_mb


TARGETS = {"plan": Target(10), "resume": Target(5), "report": Target(60, 1500)}


@dataclass(frozen=True)
class Bench:
    """The study with its archives, a finished run and one that was interrupted halfway."""

    folder: Path
    large: LargeRun

    @property
    def study(self) -> Path:
        return self.folder / "large.toml"

    @property
    def environment(self) -> Mapping[str, str]:
        made = {"COLDLOAD_ARCHIVES": self.folder / "archives", "COLDLOAD_CACHE": self.folder / "cache"}
        return os.environ | {name: str(path) for name, path in made.items()}

    def make(self) -> None:
        if self.study.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self.large.archive(self.folder / "archives")
        for name, share in (("whole", 1.0), ("half", 0.5)):
            began = time.monotonic()
            count = LargeRun(self.large.pages, self.large.trials, share).write(self.folder / name)
            print(f"{name}: {count:,} records written in {time.monotonic() - began:.0f} s", flush=True)
        self.study.write_text(self.large.study_text)

    def measured(self, *words: str) -> Cost:
        """A command that runs to its end."""
        return self.cost_of((*COLDLOAD, *words))

    def cost_of(self, command: Sequence[str]) -> Cost:
        """A program of any kind that runs to its end."""
        return self._cost(command, lambda _, output: output.read())

    def until_prepared(self, run: str) -> Cost:
        """`coldload run` until it has told how far the run is, and says the next thing."""

        def told(pid: int, output: IO[bytes]) -> None:
            next((line for line in output if line.startswith(GOING_ON)), None)
            output.readline()
            os.kill(pid, signal.SIGTERM)  # SIGINT stays ignored in what a script starts in the background

        return self._cost((*COLDLOAD, "run", str(self.study), "--out", str(self.folder / run)), told)

    def _cost(self, command: Sequence[str], read: Callable[[int, IO[bytes]], object]) -> Cost:
        """Of a command until its output was read as far as wanted; its CPU time and memory are those until its end."""
        began, used = time.monotonic(), self.folder / "used.json"
        with (
            tempfile.TemporaryFile("w+") as said,
            subprocess.Popen(
                [sys.executable, "-c", STARTER, str(used), *command],
                stdout=subprocess.PIPE,
                stderr=said,
                env=self.environment,
                cwd=self.folder,
            ) as process,
        ):
            assert process.stdout is not None
            read(process.pid, process.stdout)
            wall = time.monotonic() - began
            process.stdout.read()
            if process.wait() not in (0, INTERRUPTED):
                said.seek(0)
                raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {said.read()}")
        return Cost(wall, *json.loads(used.read_text()))


def measurements(bench: Bench) -> Mapping[str, Mapping[str, Callable[[], Cost]]]:
    """What is measured, by what it is about and by its name."""
    whole, out = str(bench.folder / "whole"), bench.folder / "out"

    def report() -> Cost:
        return bench.measured("report", whole, "--out", str(out))

    def first_report() -> Cost:
        shutil.rmtree(bench.folder / "cache", ignore_errors=True)
        return report()

    def records(kind: str) -> Cost:
        where = ("--where", "protocol == 'h2' and outcome == 'ok'")
        return bench.measured(
            "records", whole, *where, f"--{kind}", "--out", str(bench.folder / f"h2.{kind}")
        )

    return {
        "plan": {"plan": lambda: bench.measured("plan", str(bench.study))},
        "resume": {
            "go on with half of it": lambda: bench.until_prepared("half"),
            "go on with all of it": lambda: bench.until_prepared("whole"),
        },
        "report": {"first report": first_report, "next report": report},
        "records": {
            "records as CSV": lambda: records("csv"),
            "records as Parquet": lambda: records("parquet"),
        },
    }


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--trials", type=int, default=33)
    parser.add_argument("--times", type=int, default=3, help="how often each is measured")
    parser.add_argument("--only", nargs="+", choices=WHAT, default=WHAT)
    parser.add_argument("--keep", type=Path, help="keep the runs here; those that are there are used again")
    quoted.add_into(parser)
    chosen = parser.parse_args()
    part, figures = quoted.Part("scale", "commands"), []
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(
            (chosen.keep or Path(temporary) / "large").resolve(), LargeRun(chosen.pages, chosen.trials)
        )
        bench.make()
        print(LINE.format("what", "wall (s)", "CPU (s)", "memory (MB)", "target"))
        for what in chosen.only:
            for name, measure in measurements(bench)[what].items():
                costs = [measure() for _ in range(chosen.times)]
                told = (
                    common.spread([cost.wall_s for cost in costs], 1),
                    common.spread([cost.cpu_s for cost in costs], 1),
                    common.spread([cost.memory_mb for cost in costs], 0),
                )
                print(LINE.format(name, *told, _verdict(TARGETS.get(what), costs)), flush=True)
                figures.append(
                    {"command": name, **dict(zip(("wall_s", "cpu_s", "memory_mb"), told, strict=True))}
                )
        html = bench.folder / "out" / "report.html"
        if html.exists():
            print(f"report.html: {html.stat().st_size / 1e6:.1f} MB")
    if chosen.into:
        part.keep(chosen.into, figures, ["command"])
    return 0


def _verdict(target: Target | None, costs: Sequence[Cost]) -> str:
    return "" if target is None else f"{target}: {'met' if target.is_met(costs) else 'missed'}"


if __name__ == "__main__":
    sys.exit(main())
