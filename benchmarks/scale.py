"""What a run of a hundred thousand records costs: to plan, to go on with, to report, to take data from.

    .venv/bin/python -m benchmarks.scale [--pages 50] [--trials 33] [--times 3] [--keep DIR] [--only report plan ...]

Makes up a study of pages by five protocols, four variants and three links, writes a finished and a half-finished run
of it with the project's own writers, and gives every command a process of its own, several times. Prints wall time,
CPU time and the largest memory, each as the median with the least and the most, and whether the medians are within the
targets. To go on takes what `coldload run` needs until it begins to prepare what the next trial loads; it is then
interrupted. Nothing in these runs was measured.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.largerun import LargeRun

COLDLOAD = (sys.executable, "-m", "harness.cli")
WHAT = ("plan", "resume", "report", "records")
GOING_ON = b"going on with"
INTERRUPTED = 130
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
        return self._cost(words, lambda _, output: output.read())

    def until_prepared(self, run: str) -> Cost:
        """`coldload run` until it has told how far the run is, and says the next thing."""

        def told(pid: int, output: IO[bytes]) -> None:
            next((line for line in output if line.startswith(GOING_ON)), None)
            output.readline()
            os.kill(pid, signal.SIGINT)

        return self._cost(("run", str(self.study), "--out", str(self.folder / run)), told)

    def _cost(self, words: Sequence[str], read: Callable[[int, IO[bytes]], object]) -> Cost:
        """Of a command until its output was read as far as wanted; its memory is that until its end."""
        began = time.monotonic()
        command = [*COLDLOAD, *words]
        with (
            tempfile.TemporaryFile("w+") as said,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=said, env=self.environment, cwd=self.folder
            ) as process,
        ):
            assert process.stdout is not None
            read(process.pid, process.stdout)
            wall = time.monotonic() - began
            process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in (0, INTERRUPTED):
                said.seek(0)
                raise SystemExit(f"coldload {' '.join(words)} ended with {process.returncode}: {said.read()}")
        return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--trials", type=int, default=33)
    parser.add_argument("--times", type=int, default=3, help="how often each is measured")
    parser.add_argument("--only", nargs="+", choices=WHAT, default=WHAT)
    parser.add_argument("--keep", type=Path, help="keep the runs here; those that are there are used again")
    chosen = parser.parse_args()
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
                    _span([cost.wall_s for cost in costs], 1),
                    _span([cost.cpu_s for cost in costs], 1),
                    _span([cost.memory_mb for cost in costs], 0),
                )
                print(LINE.format(name, *told, _verdict(TARGETS.get(what), costs)), flush=True)
        html = bench.folder / "out" / "report.html"
        if html.exists():
            print(f"report.html: {html.stat().st_size / 1e6:.1f} MB")
    return 0


def _verdict(target: Target | None, costs: Sequence[Cost]) -> str:
    return "" if target is None else f"{target}: {'met' if target.is_met(costs) else 'missed'}"


def _span(values: Sequence[float], digits: int) -> str:
    """Median, least and most."""
    middle = statistics.median(values)
    return f"{middle:.{digits}f} [{min(values):.{digits}f} to {max(values):.{digits}f}]"


if __name__ == "__main__":
    sys.exit(main())
