"""Disturbs loads on purpose: how far each disturbance biases a load, what its record says, and what rules would drop.

    .venv/bin/python -m benchmarks.disturbance [--minutes 15] [--out FILE] [--into DIR]
    .venv/bin/python -m benchmarks.disturbance --from FILE

A fast, a short and a long load of the dummy page over h2. Disturbances: programs beside the testbed that want the
cores, all the time, for a share of it or in bursts; an emulator that wakes up late; a runner that is stopped for a
while. They take turns at random with undisturbed loads, at least every third. With --out all records go to a file, from
which the tables can be printed again. The limits of harness/model/soundness.py and harness/probes/processor.py follow
from them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.rules import NOTHING, Row, Rule, by_disturbance, by_rule, telling, with_ratios
from harness.errors import Outcome
from harness.lab.emulated import STALL_VARIABLE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.soundness import FOREIGN_CPU_LIMIT, STALLED_LIMIT
from harness.probes.probe import TrialOptions
from harness.probes.processor import WAITING_LIMIT
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.trial import BrowserLab, browser_lab, run_trial
from sites.archive import archives_root, open_archive

PAGE = "dummy-2012"
LOADS = {"fast": Link.of(100, 20), "short": Link.of(10, 50), "long": Link.of(2.5, 50)}
WARM_UP_S = 0.2  # until a program that was started wants a core


def _rule(stalled: float, foreign: float, waits: float = 0) -> Rule:
    """Drops what is stalled for longer, or has more of others and, if that is asked for, of waits."""
    others = {"foreign": foreign} | ({"client thread": waits} if waits else {})
    return Rule(({"stalled": stalled}, others))


IN_FORCE = _rule(STALLED_LIMIT, FOREIGN_CPU_LIMIT, WAITING_LIMIT)
RULES = (
    Rule(),
    Rule(({"stalled": 0.03},)),
    _rule(0.01, 0.1, 0.1),
    IN_FORCE,
    _rule(0.03, 0.1),
    _rule(0.03, 0.2, 0.1),
    _rule(0.05, 0.1, 0.1),
)

# A program that wants a core for a share of each 0.1 s, and one that wants it now and then for 50 to 300 ms.
STEADY = """
import time
while True:
    until = time.monotonic() + 0.1 * {share}
    while time.monotonic() < until: pass
    time.sleep(0.1 * (1 - {share}))
"""
BURSTS = """
import random, time
while True:
    time.sleep(random.expovariate(1 / {gap_s}))
    until = time.monotonic() + random.uniform(0.05, 0.3)
    while time.monotonic() < until: pass
"""
# Stops a process for so many ms, time and again.
STOPS = """
import os, signal, sys, time
pid, stopped_s = int(sys.argv[1]), int(sys.argv[2]) / 1000
while True:
    time.sleep(0.25)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(stopped_s)
    os.kill(pid, signal.SIGCONT)
"""
# Starts programs outside the enclosure, where the testbed sees them as others': all that a line names, in place of
# those of the line before.
KEEPER = """
import json, subprocess, sys
running = []
for line in sys.stdin:
    for each in running:
        each.kill()
        each.wait()
    running = [subprocess.Popen(words, stdin=subprocess.DEVNULL) for words in json.loads(line)]
    print("done", flush=True)
for each in running:
    each.kill()
"""


@dataclass(frozen=True)
class Disturbance:
    """Programs that run beside a load, how an emulator is late, as `MS:EVERY_MS`, and for how long the runner is
    stopped at a time.
    """

    name: str
    code: str = ""
    programs: int = 0
    prefix: tuple[str, ...] = ()
    stall: str | None = None
    runner_stops_ms: int = 0

    @property
    def commands(self) -> list[list[str]]:
        return [[*self.prefix, sys.executable, "-c", self.code]] * self.programs


def steady(share: float, programs: int = 1, *prefix: str, called: str = "") -> Disturbance:
    return Disturbance(
        f"{programs} program{'s' * (programs > 1)}, {share:.0%}{called}",
        STEADY.format(share=share),
        programs,
        prefix,
    )


UNDISTURBED = Disturbance(NOTHING)
IDLE = ("chrt", "--idle", "0")
DISTURBANCES = (
    steady(0.25),
    steady(0.5),
    steady(1),
    steady(1, 2),
    steady(1, 4),
    steady(1, 1, *IDLE, called=", idle priority"),
    steady(1, 2, *IDLE, called=", idle priority"),
    Disturbance("bursts, 1 a second", BURSTS.format(gap_s=1), 1),
    Disturbance("bursts, 1 in 4 seconds, 2 programs", BURSTS.format(gap_s=4), 2),
    *(
        Disturbance(f"link late by {ms} ms each {every} ms", stall=f"{ms}:{every}")
        for ms, every in ((3, 100), (8, 200), (8, 50), (20, 200), (30, 1000), (100, 1000))
    ),
    *(Disturbance(f"runner stopped for {ms} ms, time and again", runner_stops_ms=ms) for ms in (50, 100)),
)


class Keeper:
    """Keeps the programs of one disturbance running."""

    def __init__(self) -> None:
        words = [sys.executable, "-c", KEEPER]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, disturbance: Disturbance) -> None:
        """Only these, from now on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(disturbance.commands), file=self._process.stdin, flush=True)
        self._process.stdout.readline()
        if disturbance.programs:
            time.sleep(WARM_UP_S)

    def close(self) -> None:
        self._process.communicate()


@contextlib.contextmanager
def late_link(stall: str | None) -> Iterator[None]:
    """Emulators that are started meanwhile are late."""
    if stall is not None:
        os.environ[STALL_VARIABLE] = stall
    try:
        yield
    finally:
        os.environ.pop(STALL_VARIABLE, None)


@contextlib.contextmanager
def stopped_runner(stops_ms: int) -> Iterator[None]:
    """The runner, which this process is, is stopped time and again meanwhile."""
    if not stops_ms:
        yield
        return
    words = [sys.executable, "-c", STOPS, str(os.getpid()), str(stops_ms)]
    with subprocess.Popen(words) as stopping:
        try:
            yield
        finally:
            stopping.kill()


def one_round(number: int) -> list[tuple[str, Disturbance]]:
    """Each load with each disturbance, in random order; undisturbed first, last, and after every second one."""
    turns: list[tuple[str, Disturbance]] = []
    for kind in LOADS:
        shuffled = list(DISTURBANCES)
        random.Random(f"{kind}-{number}").shuffle(shuffled)  # noqa: S311  # an order, no secret
        for index, disturbance in enumerate(shuffled):
            turns += [(kind, UNDISTURBED)] * (index % 2 == 0) + [(kind, disturbance)]
        turns.append((kind, UNDISTURBED))
    return turns


def measure(opened: BrowserLab, keeper: Keeper, minutes: float) -> Iterator[dict[str, Any]]:
    """Whole rounds until the time is over."""
    end, number, loaded = time.monotonic() + 60 * minutes, 0, 0
    while time.monotonic() < end:
        number += 1
        for kind, disturbance in one_round(number):
            loaded += 1
            planned = common.planned(loaded, common.condition(PAGE, link=LOADS[kind]))
            keeper.run(disturbance)
            with late_link(disturbance.stall), stopped_runner(disturbance.runner_stops_ms):
                record = run_trial(
                    opened.testbed, opened.browsers, planned, TrialOptions(), WORKSPACE / "kept"
                )
            keeper.run(UNDISTURBED)
            yield {
                "kind": kind,
                "round": number,
                "disturbance": disturbance.name,
                "programs": disturbance.programs,
                "record": record.to_json(),
            }


def record(out: Path, minutes: float) -> int:
    """Measure, with every record written at once."""
    keeper = Keeper()

    def command() -> int:
        with browser_lab({PAGE: open_archive(archives_root(), PAGE)}, [Protocol.H2]) as opened:
            common.keep_rows(measure(opened, keeper, minutes), out)
        return 0

    try:
        return enclosed(command)
    finally:
        keeper.close()


def report(rows: list[dict[str, Any]]) -> Mapping[str, tuple[list[Row], Sequence[str]]]:
    """The rows of each table, by its name, and by which columns they are called."""
    loads = with_ratios(rows)
    return {
        "loads": ([*by_disturbance(loads, IN_FORCE)], ["load", "disturbance"]),
        "rules": ([*by_rule(loads, RULES)], ["rule", "load"]),
        "telling": ([*telling(loads)], ["measure"]),
    }


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=15)
    common.add_rows(parser)
    given = parser.parse_args()
    rows = common.kept_rows(given, lambda out: record(out, given.minutes))
    failed = sum(common.record_of(row["record"]).outcome != Outcome.OK for row in rows)
    repeated = sum(common.record_of(row["record"]).unsound is not None for row in rows)
    print(f"of {len(rows)} loads {failed} failed; a run would repeat {repeated}")
    if not with_ratios(rows):
        raise SystemExit("no load that went well was left undisturbed, so there is nothing to compare with")
    for name, (table, called) in report(rows).items():
        print(f"\n{common.as_table(table, len(called))}")
        if given.into:
            common.part_of("disturbance", name, rows).keep(given.into, table, called)
    return 0


if __name__ == "__main__":
    sys.exit(main())
